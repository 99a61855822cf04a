//! The device that a run asks for.

use super::RunContext;
use crate::Error;
use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_runtime::{Device, DeviceError, trace};

/// The device that was asked for, with the run's edited kernels, and why it is the CPU if that needs saying.
///
/// # Errors
/// A device that is not there; edited kernels for one that runs none.
pub fn open_device(context: &RunContext) -> Result<(Device, Option<String>), Error> {
    let opening = trace::span("set up", "open the device");
    if let Some(ranks) = &context.ranks {
        if !["auto", "cpu"].contains(&context.device.as_str()) {
            let what = format!("--device {}", context.device);
            let instead = "exact diagonalisation over processes is for CPUs: take --device cpu, or one process with the cards of one machine, such as --device cuda:all".into();
            return Err(DeviceError::NotOverRanks { what, instead }.into());
        }
        let device = Device::of_ranks(ranks);
        override_kernels(&device, context)?;
        return Ok((device, None));
    }
    let (device, reason) = match context.device.as_str() {
        "auto" => Device::best_with_reason(),
        name => (Device::parse(name)?, None),
    };
    drop(opening);
    let on_cpu = reason.map(|reason| format!("using the CPU: {reason}"));
    on_cpu.iter().for_each(|line| context.observer.remark(line));
    override_kernels(&device, context)?;
    Ok((device, on_cpu))
}

/// Hands the run's edited kernels to its device, which refuses them if it runs no generated text.
pub(super) fn override_kernels(device: &Device, context: &RunContext) -> Result<(), DeviceError> {
    let read = context.overrides.as_deref().map_or_else(Overrides::from_env, Overrides::read);
    device.set_overrides(read.map_err(JitError::from)?)
}
