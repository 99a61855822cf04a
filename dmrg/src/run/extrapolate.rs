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

/// Weights up to this are rounding.
const ROUNDING: f64 = 1e-14;

/// Why [`extrapolate`] has no energy of these points, where `discarded` is more than rounding, and a list of states that would have one:
/// `states` are those that were asked for, and the first `noisy` sweeps have noise.
pub(crate) fn reason(points: &[(f64, f64)], states: &[usize], noisy: usize, discarded: f64) -> Option<String> {
    let most = states.iter().copied().max().unwrap_or(1);
    if discarded <= ROUNDING || most < 2 {
        return None;
    }
    let list: Vec<String> = [(most / 2, noisy + 3), (most, 3)]
        .into_iter()
        .flat_map(|(states, sweeps)| std::iter::repeat_n(states.to_string(), sweeps))
        .collect();
    let list = format!("states = [{}]", list.join(", "));
    Some(match points.len() {
        settled @ ..2 => format!(
            "sweeps without noise settled at {settled} number(s) of states, and a line takes two; give each several sweeps, such as {list}"
        ),
        _ => format!(
            "the discarded weights are as good as equal; numbers of states farther apart, such as {list}, have a line through them"
        ),
    })
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
        assert_eq!((reason(&[], &[64], 0, 1e-20), reason(&[], &[1], 0, 0.1)), (None, None), "exact; nothing to halve");
        let one = reason(&[(1e-6, -1.0)], &[64], 1, 1e-6).unwrap();
        assert!(
            one.contains("settled at 1 number(s)") && one.contains("states = [32, 32, 32, 32, 64, 64, 64]"),
            "{one}"
        );
        let equal = reason(&[(1e-6, -1.0), (1e-6, -1.1)], &[63, 64], 0, 1e-6).unwrap();
        assert!(equal.contains("as good as equal"), "{equal}");
    }
}
