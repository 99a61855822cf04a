//! The best that devices could do with the products of a bond: one row per device, below Tables 3 and 4.
//!
//! In: floating-point operations of one product H x. Out: double-precision ceilings and the milliseconds they allow, a
//! line each. The FPGA rows are the paper's estimate (Nemes et al. 2014, section 8): as many multiply-add units as fit,
//! two operations each per cycle.

/// A device and its ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ceiling {
    /// Its name.
    device: &'static str,
    /// Double-precision floating-point operations per second.
    flops: f64,
    /// The source of the number.
    source: &'static str,
}

/// Operations per second of multiply-add units at a clock in MHz.
const fn counted(units: u32, megahertz: f64) -> f64 {
    2.0 * units as f64 * megahertz * 1e6
}

/// All rows, slowest first.
const CEILINGS: [Ceiling; 6] = [
    Ceiling {
        device: "FPGA Virtex-6 XC6VSX475T",
        flops: counted(114, 437.82),
        source: "estimate of 2014: 114 multiply-add units at 437.82 MHz",
    },
    Ceiling {
        device: "FPGA Virtex-7 XC7VX1140T",
        flops: counted(193, 443.65),
        source: "estimate of 2014: 193 multiply-add units at 443.65 MHz",
    },
    Ceiling { device: "NVIDIA GTX 570", flops: 0.18e12, source: "theoretical maximum, as the paper of 2014 has it" },
    Ceiling { device: "NVIDIA K20", flops: 1.17e12, source: "theoretical maximum, as the paper of 2014 has it" },
    Ceiling { device: "NVIDIA H200, cuBLAS", flops: 60.8e12, source: "measured: one product of 4096 x 4096" },
    Ceiling { device: "NVIDIA H200", flops: 67e12, source: "data sheet, tensor cores in double precision" },
];

/// A line per device for a product of `flops` operations.
pub(super) fn lines(flops: f64) -> Vec<String> {
    let line = |Ceiling { device, flops: most, source }: &Ceiling| {
        format!("{device:<26} {:>10.2} GFLOP/s {:>12.4} ms at least  ({source})", 1e-9 * most, 1e3 * flops / most)
    };
    CEILINGS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nemes et al. 2014, section 8: 99.82 and 171.2 GFLOP/s.
    #[test]
    fn the_estimate_of_fpgas_by_counting() {
        let speed = |name: &str| CEILINGS.iter().find(|c| c.device.contains(name)).map(|c| 1e-9 * c.flops).unwrap();
        assert!((speed("Virtex-6") - 99.82).abs() < 0.005 && (speed("Virtex-7") - 171.2).abs() < 0.05);
        assert!(CEILINGS.windows(2).all(|two| two[0].flops < two[1].flops));
        let lines = lines(2.31e11);
        assert!(lines[1].contains("1348.91") && lines.len() == CEILINGS.len(), "{lines:?}");
    }
}
