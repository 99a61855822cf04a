//! The energy at no discarded weight.
//!
//! In: (discarded weight, energy) of sweeps that had settled at different numbers of states. Out: the intercept of the
//! straight line through them (the error of a variational energy is linear in the discarded weight; White and Huse
//! 1993, Legeza and Fáth 1996) with an error bar: the larger of a fifth of the distance extrapolated over, which is the
//! custom of the field, and the scatter about the line.

use serde::Serialize;

/// An extrapolated energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extrapolated {
    /// At no discarded weight.
    pub energy: f64,
    /// Its error bar.
    pub error: f64,
    /// Points of the line.
    pub points: usize,
}

/// Extrapolates; `None` with fewer than two different weights.
pub fn extrapolate(points: &[(f64, f64)]) -> Option<Extrapolated> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let largest = points.iter().map(|p| p.0).fold(0.0, f64::max);
    if points.len() < 2 || spread.sqrt() <= 1e-3 * largest || largest == 0.0 {
        return None;
    }
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread;
    let energy = y - slope * x;
    let best = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let scatter = points.iter().map(|p| (p.1 - energy - slope * p.0).powi(2)).sum::<f64>() / (n - 2.0).max(1.0);
    Some(Extrapolated { energy, error: (0.2 * (energy - best).abs()).max(scatter.sqrt()), points: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_followed_to_its_intercept() {
        let found = extrapolate(&[(4e-6, -1.0 + 8e-5), (1e-6, -1.0 + 2e-5), (2e-6, -1.0 + 4e-5)]).unwrap();
        assert!((found.energy + 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.error - 0.2 * 2e-5).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_weight_is_no_line() {
        assert_eq!(extrapolate(&[(1e-6, -1.0)]), None);
        assert_eq!(extrapolate(&[(1e-6, -1.0), (1e-6, -1.1)]), None);
        assert_eq!(extrapolate(&[(0.0, -1.0), (0.0, -1.0)]), None);
    }
}
