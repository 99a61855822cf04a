//! Where vectors live and programs run: the CPU (rayon) or one CUDA device (driver API, loaded at run time).
//!
//! A [`Device`] is a cheap handle. [`Vector`]s are solver vectors, [`Buffer`]s are tables of kernels, [`Kernel`]s are
//! compiled CUDA files; vector programs ([`crate::vector_program::Program`]) run on either kind of device and give the
//! same numbers up to rounding. Same device, same run: same bits.

mod cpu;
mod cuda;
mod element_function;
mod events;
mod kernel;
mod memory;
mod vector;

pub use cpu::Cpu;
pub use cuda::Cuda;
pub use element_function::{ElementArgument, ElementFunction, HostFunction, random_start};
pub use events::DeviceSpan;
pub use kernel::{Kernel, KernelArg, KernelRecord};
pub use memory::{Buffer, Memory, OnDevice};
pub use vector::Vector;

use crate::error::{DeviceError, Result};
use crate::scalar::{Pod, Scalar};
use crate::vector_program::{Bind, Program};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{KernelText, ScalarType};
use std::sync::Arc;

/// A place to compute. Clones refer to the same device.
#[derive(Clone)]
pub enum Device {
    /// All cores of this machine.
    Cpu(Arc<Cpu>),
    /// One CUDA device.
    Cuda(Arc<Cuda>),
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// CUDA device 0 if driver, device and NVRTC are there, else the CPU.
    pub fn best() -> Result<Device> {
        Ok(Device::best_with_reason().0)
    }

    /// [`Device::best`], and when it is the CPU although there is a CUDA driver, why: no device, no NVRTC, an NVRTC too new
    /// for the driver. Without a driver there is nothing to explain.
    pub fn best_with_reason() -> (Device, Option<String>) {
        match Device::cuda(0) {
            Ok(device) => (device, None),
            Err(error) => {
                tracing::info!(%error, "no CUDA device: using the CPU");
                (Device::cpu(), worth_telling(&error))
            }
        }
    }

    /// All cores of this machine.
    pub fn cpu() -> Device {
        Device::Cpu(Arc::new(Cpu::new()))
    }

    /// CUDA device `ordinal`.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Ok(Device::Cuda(Cuda::open(ordinal)?))
    }

    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    pub fn parse(name: &str) -> Result<Device> {
        match name {
            "auto" => Device::best(),
            "cpu" => Ok(Device::cpu()),
            "cuda" => Device::cuda(0),
            _ => match name.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
                Some(ordinal) => Device::cuda(ordinal),
                None => Err(DeviceError::UnknownDevice(name.into())),
            },
        }
    }

    /// What it is, for the report.
    pub fn name(&self) -> String {
        match self {
            Device::Cpu(cpu) => cpu.name(),
            Device::Cuda(cuda) => cuda.name(),
        }
    }

    /// Free and total memory now.
    pub fn memory(&self) -> Memory {
        match self {
            Device::Cpu(_) => memory::host_memory(),
            Device::Cuda(cuda) => cuda.memory(),
        }
    }

    /// Whether kernels run on it.
    pub fn is_cuda(&self) -> bool {
        matches!(self, Device::Cuda(_))
    }

    /// Whether both handles are of one device.
    pub fn same(&self, other: &Device) -> bool {
        match (self, other) {
            (Device::Cpu(_), Device::Cpu(_)) => true,
            (Device::Cuda(a), Device::Cuda(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Refuses, with the numbers, what would not fit; nothing is allocated.
    pub fn check_memory(&self, what: &str, needed: u64) -> Result<()> {
        let Memory { free, total } = self.memory();
        if needed <= free {
            return Ok(());
        }
        let fits = format!("{:.1} % of it would fit", 100.0 * free as f64 / needed as f64);
        Err(DeviceError::Memory { what: what.into(), device: self.name(), needed, free, total, fits })
    }

    /// A vector of zeros.
    pub fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        Vector::zeros(self, len)
    }

    /// A copy of host data.
    pub fn upload<T: Scalar>(&self, values: &[T]) -> Result<Vector<T>> {
        let mut vector = Vector::zeros(self, values.len())?;
        vector.write(values)?;
        Ok(vector)
    }

    /// Uniform in [-1, 1), a function of seed and index alone: the same numbers on every device.
    pub fn random<T: Scalar>(&self, len: usize, seed: u64) -> Result<Vector<T>> {
        let mut vector = Vector::zeros(self, len)?;
        self.fill_random(&mut vector, seed)?;
        Ok(vector)
    }

    /// Overwrites a vector with [`Device::random`]'s numbers.
    pub fn fill_random<T: Scalar>(&self, vector: &mut Vector<T>, seed: u64) -> Result<()> {
        let program = element_function::random_program();
        self.program(&program, T::TYPE, &[random_start(seed)])?.run(&mut [Bind::Out(vector)], &[])?;
        Ok(())
    }

    /// A table for kernels, copied from the host.
    pub fn buffer<U: Pod>(&self, values: &[U]) -> Result<Buffer<U>> {
        Buffer::new(self, values)
    }

    /// Compiles a vector program for this device; a program that was compiled before comes from the device's cache.
    pub fn program(
        &self,
        program: &VectorProgram,
        scalar: ScalarType,
        functions: &[ElementFunction],
    ) -> Result<Program> {
        Program::new(self, program, scalar, functions)
    }

    /// Compiles and loads a generated CUDA file; refused on the CPU.
    pub fn compile(&self, text: &KernelText) -> Result<Kernel> {
        match self {
            Device::Cpu(_) => Err(DeviceError::WrongDevice {
                what: format!("kernel '{}'", text.name),
                expected: "a CUDA device".into(),
                found: "the CPU".into(),
            }),
            Device::Cuda(cuda) => cuda.kernel(text),
        }
    }

    /// Every kernel file loaded so far, in the order of first use.
    pub fn kernels_used(&self) -> Vec<KernelRecord> {
        match self {
            Device::Cpu(_) => Vec::new(),
            Device::Cuda(cuda) => cuda.kernels_used(),
        }
    }

    /// Waits until everything launched so far is done.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Device::Cpu(_) => Ok(()),
            Device::Cuda(cuda) => cuda.synchronize(),
        }
    }

    /// Milliseconds that `work` keeps the device busy: CUDA events, or the wall clock on the CPU.
    pub fn time<R>(&self, work: impl FnOnce() -> R) -> Result<(R, f64)> {
        match self {
            Device::Cpu(_) => {
                let start = std::time::Instant::now();
                let result = work();
                Ok((result, start.elapsed().as_secs_f64() * 1e3))
            }
            Device::Cuda(cuda) => cuda.time(work),
        }
    }
}

/// Why CUDA is not used, in one line; nothing where there is no driver.
fn worth_telling(error: &DeviceError) -> Option<String> {
    match error {
        DeviceError::NoDriver => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit::JitError;

    #[test]
    fn the_reason_for_the_cpu_is_one_line_and_none_without_a_driver() {
        assert_eq!(worth_telling(&DeviceError::NoDriver), None);
        let nvrtc = JitError::DriverTooOld { nvrtc: (13, 5), path: "libnvrtc.so.13".into(), driver: (12, 4) };
        let reason = worth_telling(&nvrtc.into()).unwrap();
        assert!(reason.contains("NVRTC 13.5") && reason.contains("too new for this driver"), "{reason}");
        let searched = vec!["here".into(), "there".into()];
        let reason = worth_telling(&JitError::NoNvrtc { searched }.into()).unwrap();
        assert!(reason.contains("pip install") && reason.lines().count() == 1, "{reason}");
        let reason = worth_telling(&DeviceError::NoDevice { ordinal: 0, count: 0 }).unwrap();
        assert!(reason.contains("no CUDA device"), "{reason}");
    }
}
