//! The numbers of a processor that cost models use.

use super::store::Plausible;
use serde::{Deserialize, Serialize};

/// The cores of a processor and their rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// Number of cores that threads run on.
    pub cores: usize,
    /// Double-precision operations per second of one core, in a product of large matrices.
    pub core_rate: f64,
    /// Bytes per second that one core moves.
    pub core_memory_rate: f64,
    /// Bytes per second that any number of cores moves at most.
    pub memory_rate: f64,
}

impl Plausible for Processor {
    fn is_plausible(&self) -> bool {
        let rates = [self.core_rate, self.core_memory_rate, self.memory_rate];
        rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
    }
}

impl Processor {
    /// The Intel Xeon host of an NVIDIA H200; every CPU rate was fitted on 16 of its cores (docs/performance.md,
    /// 2026-11-22). `doctor --measure` there: 40 to 73 GFLOP/s, 11 to 13 GB/s, 108 to 151 GB/s, depending on other programs on the machine.
    pub const XEON: Processor = Processor { cores: 16, core_rate: 72e9, core_memory_rate: 12e9, memory_rate: 150e9 };

    /// An estimate: this number of cores of that Xeon.
    pub const fn of_cores(cores: usize) -> Processor {
        Processor { cores, ..Processor::XEON }
    }

    /// Bytes per second that all cores move together.
    pub fn stream_rate(&self) -> f64 {
        (self.core_memory_rate * self.cores as f64).min(self.memory_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cores_share_the_memory() {
        assert_eq!(Processor::of_cores(2).stream_rate(), 2.0 * Processor::XEON.core_memory_rate);
        assert_eq!(Processor::of_cores(16).stream_rate(), Processor::XEON.memory_rate);
        assert_eq!(Processor::of_cores(16), Processor::XEON);
    }
}
