//! What `bench hubbard` found, as one JSON object or as a table.
//!
//! Times in milliseconds or seconds, bandwidths in GB/s (1e9 bytes, read and written). A pass is one read or one
//! write of a whole vector at the copy bandwidth measured in the same run, the best of several copies on the same cores or
//! the same card.

use eigenforge::words::grouped;
use std::fmt;

use serde::Serialize;

use super::Fingerprint;
use super::vendor::VendorReport;

/// Passes of the multiply at the memory limit: x read and y written by one half, x and y read and y written by the
/// other.
pub const MULTIPLY_PASSES: f64 = 5.0;

/// The time of a multiply.
#[derive(Clone, Debug, Serialize)]
pub struct MultiplyTime {
    /// Median.
    pub milliseconds: f64,
    /// Smallest.
    pub best_milliseconds: f64,
    /// The median over the time of one pass.
    pub passes: f64,
    /// A vector's share of a multiply of four, the median; where it was measured.
    pub of_four_milliseconds: Option<f64>,
}

/// One of our solvers, one state, no preconditioner.
#[derive(Clone, Debug, Serialize)]
pub struct SolveTime {
    /// Mean over all iterations.
    pub iteration_milliseconds: f64,
    /// The mean over the time of one pass.
    pub passes: f64,
    /// Iterations to the tolerance.
    pub iterations: usize,
    /// Wall time to the tolerance.
    pub seconds: f64,
    /// The ground state's energy.
    pub energy: f64,
    /// ‖H x − E x‖, recomputed.
    pub residual: f64,
    /// Why it stopped.
    pub stop: String,
}

/// Wall time of a new process from its start to the end of its first iteration.
#[derive(Clone, Debug, Serialize)]
pub struct StartTime {
    /// With an empty kernel cache.
    pub cold_seconds: f64,
    /// Again, with the kernels cached by the first.
    pub warm_seconds: f64,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct HubbardBench {
    /// The case as given.
    pub case: String,
    /// Lattice, sector and amplitudes.
    pub title: String,
    /// n_up · n_dn.
    pub dimension: usize,
    /// Where ours ran.
    pub device: String,
    /// Threads of the CPU half.
    pub threads: usize,
    /// Bytes read and written per second by a large copy.
    pub copy_gb_per_second: f64,
    /// Numbers of our H x for seeded vectors.
    pub check: Fingerprint,
    /// Our multiply.
    pub multiply: MultiplyTime,
    /// Our LOBPCG.
    pub lobpcg: Option<SolveTime>,
    /// Our Lanczos from a mean field's determinant, what `solver = "auto"` takes.
    pub lanczos: Option<SolveTime>,
    /// Cold and warm start.
    pub start: Option<StartTime>,
    /// cuSPARSE and cuBLAS on the same card.
    pub vendor: Option<VendorReport>,
    /// The text-book multiply by compressed rows on all cores, where there is no card.
    pub plain: Option<MultiplyTime>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

impl HubbardBench {
    /// Milliseconds of one pass over a vector.
    pub fn pass_milliseconds(&self) -> f64 {
        pass_milliseconds(self.dimension, self.copy_gb_per_second)
    }
}

/// Milliseconds to read or write `dimension` doubles.
pub fn pass_milliseconds(dimension: usize, gb_per_second: f64) -> f64 {
    8e-6 * dimension as f64 / gb_per_second
}

impl fmt::Display for HubbardBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}; dimension {}", self.case, self.title, grouped(self.dimension as u128))?;
        let pass = self.pass_milliseconds();
        writeln!(
            f,
            "{}, {} CPU threads; copy {:.0} GB/s, one pass over a vector {pass:.3} ms",
            self.device, self.threads, self.copy_gb_per_second
        )?;
        writeln!(f)?;
        let line = |f: &mut fmt::Formatter<'_>, what: &str, ours: String, other: String, ratio: String| {
            writeln!(f, "| {what:<34} | {ours:>20} | {other:>20} | {ratio:>7} |")
        };
        let other = if self.vendor.is_some() { "cuSPARSE + cuBLAS" } else { "compressed rows" };
        line(f, "", "eigenforge".into(), other.into(), "faster".into())?;
        writeln!(f, "|{:-<36}|{:->22}|{:->22}|{:->9}|", "", "", "", "")?;
        let times =
            |ours: f64, other: Option<f64>| other.map_or(String::new(), |other| format!("{:.2} x", other / ours));
        let number = |value: Option<f64>, unit: &str| value.map_or(String::new(), |value| format!("{value:.3} {unit}"));

        let ours = self.multiply.milliseconds;
        let vendor = self.vendor.as_ref();
        let multiply = vendor.map(|v| v.multiply_milliseconds).or(self.plain.as_ref().map(|plain| plain.milliseconds));
        line(f, "multiply y = H x", format!("{ours:.3} ms"), number(multiply, "ms"), times(ours, multiply))?;
        let best = self.plain.as_ref().map(|plain| plain.best_milliseconds);
        let ours_best = self.multiply.best_milliseconds;
        line(f, "  best", format!("{ours_best:.3} ms"), number(best, "ms"), times(ours_best, best))?;
        if let Some(share) = self.multiply.of_four_milliseconds {
            let ratio = format!("{:.2} x", ours / share);
            line(f, "  of four at once, a vector", format!("{share:.3} ms"), "one".into(), ratio)?;
        }
        let floor = MULTIPLY_PASSES * pass;
        line(
            f,
            &format!("  over its floor, {MULTIPLY_PASSES:.0} passes = {floor:.2} ms"),
            format!("{:.2} x", ours / floor),
            multiply.map_or(String::new(), |other| format!("{:.2} x", other / floor)),
            String::new(),
        )?;
        if self.plain.is_some() {
            line(
                f,
                "  best over the same",
                format!("{:.2} x", ours_best / floor),
                best.map_or(String::new(), |other| format!("{:.2} x", other / floor)),
                String::new(),
            )?;
        }
        for part in vendor.iter().flat_map(|vendor| &vendor.parts) {
            line(
                f,
                &format!("  {}: {}", part.name, part.choice),
                String::new(),
                format!("{:.3} ms", part.milliseconds),
                String::new(),
            )?;
        }
        if let Some(solve) = &self.lobpcg {
            let other = vendor.and_then(|vendor| vendor.lobpcg.as_ref());
            let (ours, theirs) = (solve.iteration_milliseconds, other.map(|other| other.iteration_milliseconds));
            line(f, "LOBPCG iteration", format!("{ours:.3} ms"), number(theirs, "ms"), times(ours, theirs))?;
            line(
                f,
                "  in passes",
                format!("{:.1}", solve.passes),
                theirs.map_or(String::new(), |t| format!("{:.1}", t / pass)),
                String::new(),
            )?;
            let theirs = other.map(|other| other.seconds);
            line(
                f,
                "time to tolerance",
                format!("{:.3} s", solve.seconds),
                number(theirs, "s"),
                times(solve.seconds, theirs),
            )?;
            line(
                f,
                "  iterations",
                solve.iterations.to_string(),
                other.map_or(String::new(), |o| o.iterations.to_string()),
                String::new(),
            )?;
            line(
                f,
                "  energy",
                format!("{:.10}", solve.energy),
                other.map_or(String::new(), |o| format!("{:.10}", o.energy)),
                String::new(),
            )?;
            line(
                f,
                "  residual",
                format!("{:.1e}", solve.residual),
                other.map_or(String::new(), |o| format!("{:.1e}", o.residual)),
                String::new(),
            )?;
            line(
                f,
                "  stop",
                solve.stop.clone(),
                other.map_or(String::new(), |o| if o.converged { "Converged".into() } else { "MaxIterations".into() }),
                String::new(),
            )?;
        }
        if let Some(solve) = &self.lanczos {
            let theirs = vendor.and_then(|vendor| vendor.lobpcg.as_ref()).map(|other| other.seconds);
            line(
                f,
                "time to tolerance, Lanczos",
                format!("{:.3} s", solve.seconds),
                number(theirs, "s (LOBPCG)"),
                times(solve.seconds, theirs),
            )?;
            for (what, ours) in [
                ("  steps", solve.iterations.to_string()),
                ("  energy", format!("{:.10}", solve.energy)),
                ("  residual", format!("{:.1e}", solve.residual)),
            ] {
                line(f, what, ours, String::new(), String::new())?;
            }
        }
        if let Some(start) = &self.start {
            line(
                f,
                "start to first iteration, cold",
                format!("{:.3} s", start.cold_seconds),
                String::new(),
                String::new(),
            )?;
            line(
                f,
                "start to first iteration, warm",
                format!("{:.3} s", start.warm_seconds),
                String::new(),
                String::new(),
            )?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's vector, 1.05 GB, at 4.3 TB/s: 0.24 ms (measured on an H200).
    #[test]
    fn a_pass_is_a_vector_over_the_bandwidth() {
        assert!((pass_milliseconds(130_873_600, 4300.0) - 0.2435).abs() < 1e-4);
    }
}
