//! `eigenforge bench su3`: two-body matrix elements into SU(3) × SU(2) tensors and back.
//!
//! In: values of N_max, a device. Out: one table per subject: what is made once (plan, coefficients, kernels), what a transformation
//! takes on the device and with copies, beside the CPU and the published sum over all labels on the same device. Every
//! result is compared with the CPU's before a time is printed.

mod row;

use super::{median, seeded};
use eigenforge::su3::DeviceTransformError;
use eigenforge_runtime::say;
use eigenforge_runtime::{Device, DeviceError};
use eigenforge_su3::LabelError;
use row::Row;
use std::io::Write;

/// Arguments of `bench su3`.
#[derive(Clone, Debug, clap::Args)]
pub struct Su3Arguments {
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Spaces; 20 is 743 million elements and needs 40 GB of memory on the host
    #[arg(long, value_delimiter = ',', default_values_t = [8, 10, 12, 14], value_parser = clap::value_parser!(u32).range(0..=24))]
    pub n_max: Vec<u32>,
    /// Largest N_max of the published sum, which runs where the transformation does
    #[arg(long, default_value_t = 12)]
    pub paper: u32,
    /// Channels: 3 for pn, pp, nn
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3))]
    pub channels: u32,
    /// Timed samples of what runs on the device; of the published sum and of a CPU beside a card one
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum Su3BenchError {
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernels.
    #[error(transparent)]
    Transform(#[from] DeviceTransformError),
    /// The coefficients.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// Results that differ.
    #[error(
        "N_max = {n_max}, {what}: the largest difference from the CPU is {difference:e} of the largest number; no time is \
         reported for a wrong result"
    )]
    Disagree {
        /// N_max.
        n_max: u32,
        /// Which result.
        what: &'static str,
        /// ‖a − b‖_∞ / ‖b‖_∞.
        difference: f64,
    },
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// Runs it and writes the tables.
///
/// # Errors
/// A device that fails, results that disagree.
pub fn command(arguments: &Su3Arguments, out: &mut dyn Write) -> Result<(), Su3BenchError> {
    let device = Device::parse(&arguments.device)?;
    device.check_alone("a bench")?;
    writeln!(out, "{}; CPU: {}; {} channels", device.name(), Device::cpu().name(), arguments.channels)?;
    let mut rows = Vec::new();
    for n_max in &arguments.n_max {
        let row = Row::measure(*n_max, arguments, &device)?;
        say!("N_max = {n_max}: done");
        rows.push(row);
    }
    row::write(&rows, out)?;
    Ok(())
}

/// ‖a − b‖_∞ / ‖b‖_∞, NaN where one is.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    use rayon::prelude::*;
    // not f64::max, which would drop a NaN
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let largest = expected.par_iter().map(|x| x.abs()).reduce(|| 0.0, larger);
    let worst = found.par_iter().zip(expected).map(|(a, b)| (a - b).abs()).reduce(|| 0.0, larger);
    worst / largest
}
