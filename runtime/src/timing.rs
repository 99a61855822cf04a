//! Timing on a device: medians, and memory-copy limits measured in the same run with the same clock.
//!
//! In: a device, a length. Out: bytes read and written per second by a copy (GB/s, 1e9 bytes), and the least time for any
//! request with a result.

use crate::{Bind, Device, DeviceError, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;

/// Middle value of a few times; NaN for none.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Number of copies, of which the fastest counts.
const TRIES: usize = 11;
/// Doubles moved in total by a series of copies of short vectors, and the most copies in it.
const SERIES: usize = 1 << 22;
const MOST_COPIES: usize = 64;

/// Bytes read and written per second by a copy between two vectors too large for any cache, in GB: the best of several,
/// as for a limit.
///
/// # Errors
/// Device errors, such as too little memory.
pub fn copy_bandwidth(device: &Device, dimension: usize) -> Result<f64, DeviceError> {
    let smallest: usize = if device.is_cuda() { 1 << 27 } else { 1 << 24 };
    series_bandwidth(device, dimension.clamp(smallest, 4 * smallest))
}

/// The same between two vectors of exactly this length, copied repeatedly: as fast as the cache if they stay in it, and
/// for the shortest as fast as copies can be started.
///
/// # Errors
/// Device errors, such as too little memory.
pub fn series_bandwidth(device: &Device, length: usize) -> Result<f64, DeviceError> {
    let from: Vector<f64> = device.upload(&vec![1.0; length])?;
    let mut to: Vector<f64> = device.zeros(length)?;
    to.copy_from(&from)?; // the first touches the pages of a host vector
    let copies = (SERIES / length.max(1)).clamp(1, MOST_COPIES);
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let (copied, milliseconds) = device.time(|| (0..copies).try_for_each(|_| to.copy_from(&from)))?;
        copied?;
        best = best.min(milliseconds / copies as f64);
    }
    Ok(16e-6 * length as f64 / best)
}

/// Milliseconds to read one number, sum its square and return the sum: the minimum for anything that returns a number.
/// The median of several.
///
/// # Errors
/// Device errors.
pub fn least_milliseconds(device: &Device) -> Result<f64, DeviceError> {
    let program = VectorProgram::parse("program least\nvectors x : in\nsum square = x * x\n").map_err(|error| {
        DeviceError::Arguments {
            what: "the program that does next to nothing".into(),
            expected: "a program".into(),
            found: error.to_string(),
        }
    })?;
    let program = device.program(&program, ScalarType::F64, &[])?;
    let x: Vector<f64> = device.upload(&[1.0])?;
    let mut times = Vec::new();
    for _ in 0..3 * TRIES {
        let (sums, milliseconds) = device.time(|| program.run(&mut [Bind::In(&x)], &[]))?;
        sums?;
        times.push(milliseconds);
    }
    Ok(median(&times[TRIES..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    /// Between what the slowest memory and the fastest cache of any machine could do.
    #[test]
    fn a_copy_has_a_speed() {
        let device = Device::cpu();
        for length in [1, 1000, 1 << 20] {
            let speed = series_bandwidth(&device, length).unwrap();
            assert!(speed > 1e-6 && speed < 1e5, "{length}: {speed} GB/s");
        }
        let least = least_milliseconds(&device).unwrap();
        assert!(least > 0.0 && least < 1e3, "{least} ms");
    }
}
