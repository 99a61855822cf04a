//! Extrapolates the energy to zero discarded weight.
//!
//! In: (discarded weight, energy) of sweeps that had settled at different numbers of states. Out: the intercept of the
//! straight line through them (the error of a variational energy is linear in the discarded weight; White and Huse
//! 1993, Legeza and Fáth 1996) with an error bar. Energies scatter about the line in proportion to the weight, so
//! deviations count relative to it; the error bar is the larger of half the distance extrapolated over and that scatter
//! at the smallest weight.

use serde::{Deserialize, Serialize};

/// An extrapolated energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extrapolated {
    /// Energy at zero discarded weight.
    pub energy: f64,
    /// Its error bar.
    pub error: f64,
    /// Number of points on the line.
    pub points: usize,
}

/// Extrapolates; `None` with fewer than two different weights, or with one that is zero.
pub(crate) fn extrapolate(points: &[(f64, f64)]) -> Option<Extrapolated> {
    let smallest = points.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let largest = points.iter().map(|point| point.0).fold(0.0, f64::max);
    if points.len() < 2 || smallest <= 0.0 || smallest > 0.99 * largest {
        return None;
    }
    // E / w = a / w + b: a line in 1 / w whose slope is the energy, with deviations of equal size. The lowest energy is
    // subtracted first to avoid losing digits.
    let best = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let n = points.len() as f64;
    let scaled = points.iter().map(|(w, energy)| (smallest / w, (energy - best) / w));
    let (x, y) = scaled.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let spread: f64 = scaled.clone().map(|point| (point.0 - x).powi(2)).sum();
    let slope = scaled.clone().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    let deviations = scaled.map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum::<f64>();
    let scatter = (deviations / (n - 2.0).max(1.0)).sqrt() * smallest;
    let below = slope * smallest;
    Some(Extrapolated { energy: best + below, error: (0.5 * below.abs()).max(scatter), points: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_followed_to_its_intercept() {
        let found = extrapolate(&[(4e-6, -1.0 + 8e-5), (1e-6, -1.0 + 2e-5), (2e-6, -1.0 + 4e-5)]).unwrap();
        assert!((found.energy + 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.error - 0.5 * 2e-5).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_weight_is_no_line() {
        assert_eq!(extrapolate(&[(1e-6, -1.0)]), None);
        assert_eq!(extrapolate(&[(1e-6, -1.0), (1e-6, -1.1)]), None);
        assert_eq!(extrapolate(&[(0.0, -1.0), (0.0, -1.0)]), None);
    }
}
