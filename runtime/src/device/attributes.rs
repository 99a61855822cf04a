//! What the driver reports of a card: its shape, its clocks, and the rates that follow from them.

use super::cuda::Cuda;
use cudarc::driver::sys::CUdevice_attribute::{self, *};

/// The attributes of a card; `None` for what its driver does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CardAttributes {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block may request, in bytes.
    pub shared_bytes: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes_of_all: u32,
    /// Bytes of the L2 cache.
    pub l2_bytes: u64,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Highest clock, in hertz.
    pub clock: Option<f64>,
    /// Bytes per second of device memory, by its clock and the width of its bus.
    pub peak_memory_rate: Option<f64>,
    /// Double-precision operations per second: one multiply-add per clock and unit, without tensor cores.
    pub fp64_rate: Option<f64>,
}

impl Cuda {
    /// What the driver reports.
    pub fn attributes(&self) -> CardAttributes {
        let attribute = |which: CUdevice_attribute| self.context().attribute(which).ok().filter(|value| *value > 0);
        let number = |which| attribute(which).map(f64::from);
        let clock = number(CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map(|kilohertz| 1e3 * kilohertz);
        let bus = number(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
        let memory_clock = number(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
        let ratio = number(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
        // Single-precision units per multiprocessor: 64 for Volta, Turing and the A100, else 128.
        let units = if [70, 72, 75, 80].contains(&self.arch().0) { 64.0 } else { 128.0 };
        let multiprocessors = self.multiprocessors();
        // 48 KiB are every card's.
        let shared_bytes = self.shared_bytes_per_block().unwrap_or(48 << 10);
        let of_all = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
        CardAttributes {
            multiprocessors,
            shared_bytes,
            shared_bytes_of_all: of_all.unwrap_or(shared_bytes),
            l2_bytes: self.l2_bytes().unwrap_or(0),
            memory_bytes: self.context().memory().total,
            clock,
            // Twice a clock, eight bits a byte.
            peak_memory_rate: memory_clock.zip(bus).map(|(kilohertz, bits)| 2e3 * kilohertz * bits / 8.0),
            fp64_rate: clock.zip(ratio).map(|(hertz, ratio)| 2.0 * hertz * f64::from(multiprocessors) * units / ratio),
        }
    }
}
