//! The runtime's tests: one binary, one module a subject. EIGENFORGE_TEST_DEVICE=cuda runs them on the GPU as well.

#[path = "runtime/checkpoints.rs"]
mod checkpoints;
#[path = "runtime/davidson.rs"]
mod davidson;
#[path = "runtime/devices.rs"]
mod devices;
#[path = "runtime/launches.rs"]
mod launches;
#[path = "runtime/operators.rs"]
mod operators;
#[path = "runtime/overrides.rs"]
mod overrides;
#[path = "runtime/programs.rs"]
mod programs;
#[path = "runtime/solvers.rs"]
mod solvers;

use eigenforge_runtime::Device;

/// The CPU, and the GPU if EIGENFORGE_TEST_DEVICE asks for it (then its absence is a failure).
fn test_devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu()];
    if let Ok(name) = std::env::var("EIGENFORGE_TEST_DEVICE")
        && name != "cpu"
    {
        devices.push(Device::parse(&name).expect("EIGENFORGE_TEST_DEVICE names a device that is here"));
    }
    devices
}
