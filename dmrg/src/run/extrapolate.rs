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

/// The last sweeps at one number of states, without noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visited {
    pub discarded: f64,
    pub energy: f64,
    /// By how much the last sweep changed the energy.
    pub change: f64,
}

/// A last sweep that changes the energy by less than this part of what truncation costs moves the line by far less than its error bar.
const SMALL: f64 = 0.02;

/// (discarded weight, energy) where sweeps had settled: to `improvement` of the discarded weight or to `tolerance`. Where fewer than two
/// have, to [`SMALL`] of the distance from the line through all, since in molecules truncation costs a hundred times its weight and more.
pub(crate) fn settled(visited: &[Visited], improvement: f64, tolerance: f64) -> Vec<(f64, f64)> {
    let points = |chosen: &dyn Fn(&Visited) -> bool| -> Vec<(f64, f64)> {
        visited.iter().filter(|point| chosen(point)).map(|point| (point.discarded, point.energy)).collect()
    };
    let strict = points(&|point| point.change <= (improvement * point.discarded).max(tolerance));
    let Some(line) = extrapolate(&points(&|_| true)).filter(|_| strict.len() < 2) else { return strict };
    let loose = points(&|point| point.change <= SMALL * (point.energy - line.energy));
    if loose.len() < 2 { strict } else { loose }
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
    fn sweeps_settle_to_the_weight_or_to_what_truncation_costs() {
        let visited = |discarded, energy, change| Visited { discarded, energy, change };
        // Cr2, whose truncations cost 200 times their weight.
        let cr2 = [(6.61e-5, -2086.40917, 1.7e-4), (3.26e-5, -2086.415274, 9.0e-5), (1.8e-5, -2086.418408, 3.4e-5)];
        let list: Vec<Visited> = cr2.iter().map(|(w, energy, change)| visited(*w, *energy, *change)).collect();
        let found = settled(&list, 0.01, 1e-12);
        assert_eq!(found.len(), 3);
        let line = extrapolate(&found).unwrap();
        assert!((line.energy + 2086.4222).abs() < 3e-4 && line.error > 1e-3, "{line:?}");
        // One that still falls is left out; two that have settled to their weights are enough.
        let falling: Vec<Visited> =
            [visited(6.61e-5, -2086.40917, 2e-3)].into_iter().chain(list[1..].iter().copied()).collect();
        assert_eq!(settled(&falling, 0.01, 1e-12).len(), 2);
        let both = [visited(2e-6, -1.0, 1e-9), visited(1e-6, -1.00001, 1e-9), visited(4e-6, -0.9999, 1e-7)];
        assert_eq!(settled(&both, 0.01, 1e-12), vec![(2e-6, -1.0), (1e-6, -1.00001)]);
        assert!(settled(&[visited(4e-6, -1.0, 1e-3), visited(2e-6, -1.0001, 1e-3)], 0.01, 1e-12).is_empty());
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
