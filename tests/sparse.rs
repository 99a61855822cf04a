//! Sparse matrices in every format: y = A x and x·y on the CPU and by the generated text on a simulated device, against
//! sums over the rows of the matrix; and real configuration-interaction matrices with the products that others
//! computed.

#[path = "sparse/choice.rs"]
mod choice;
#[path = "sparse/command.rs"]
mod command;
#[path = "sparse/formats.rs"]
mod formats;
#[path = "sparse/matrices.rs"]
mod matrices;
#[path = "sparse/reference.rs"]
mod reference;
#[path = "sparse/resources.rs"]
mod resources;
#[path = "sparse/symmetric.rs"]
mod symmetric;

use eigenforge::runtime::simulate::{Schedule, SimulateError, Simulator};
use eigenforge::runtime::{Checks, Device};

/// A simulated device, every launch under both checks; the card where `EIGENFORGE_TEST_DEVICE=cuda` says there is one.
/// None, after a printed line that says why, where there is no host compiler.
fn kernel_devices(schedule: Schedule) -> Vec<Device> {
    let mut devices = vec![];
    match Simulator::find() {
        Ok(simulator) => devices.push(Device::simulated_by(simulator, schedule, Checks::Every)),
        Err(error @ SimulateError::NoCompiler { .. }) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
    if std::env::var("EIGENFORGE_TEST_DEVICE").is_ok_and(|device| device == "cuda") {
        devices.push(Device::cuda(0).expect("EIGENFORGE_TEST_DEVICE=cuda needs a CUDA device"));
    }
    devices
}
