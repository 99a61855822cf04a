//! Weights by energy, on a grid much finer than the width of a pole.
//!
//! In: poles. Out: Σ w L(ω − pole) with L a Lorentzian. Each weight is divided among four points of the grid so that cubic polynomials are exact
//! (Lagrange): with 32 points in a half width the curve is exact to 1e-6 of its largest value.

use std::f64::consts::PI;

/// Points of the grid in a half width.
const POINTS: f64 = 32.0;

/// Bytes of the bins of poles in a window.
pub(super) fn bin_bytes(width: f64, eta: f64) -> u64 {
    // More than is needed, as they grow.
    (16.0 * width / eta * POINTS) as u64
}

/// Weights by energy, with their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct EnergyBins {
    first: i64,
    weights: Vec<f64>,
    /// Σ w, Σ w ω and Σ w ω².
    pub moments: [f64; 3],
}

impl EnergyBins {
    /// Adds a pole.
    pub(super) fn add(&mut self, omega: f64, weight: f64, eta: f64) {
        for (power, moment) in self.moments.iter_mut().enumerate() {
            *moment += weight * omega.powi(power as i32);
        }
        let place = omega * POINTS / eta;
        let below = place.floor();
        let s = place - below;
        let first = below as i64 - 1;
        self.reach(first, first + 3);
        let at = (first - self.first) as usize;
        let parts = [
            -s * (s - 1.0) * (s - 2.0) / 6.0,
            (s + 1.0) * (s - 1.0) * (s - 2.0) / 2.0,
            -(s + 1.0) * s * (s - 2.0) / 2.0,
            (s + 1.0) * s * (s - 1.0) / 6.0,
        ];
        self.weights[at..].iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
    }

    /// Makes room for these points.
    fn reach(&mut self, first: i64, last: i64) {
        if self.weights.is_empty() {
            self.first = first;
        }
        if first < self.first {
            // More than is needed, so that it is seldom made longer.
            let more = (self.first - first) as usize + self.weights.len() / 2;
            self.weights.splice(0..0, std::iter::repeat_n(0.0, more));
            self.first -= more as i64;
        }
        let length = (last - self.first + 1) as usize;
        if length > self.weights.len() {
            self.weights.resize(length + length / 2, 0.0);
        }
    }

    /// Multiplies all weights.
    pub(super) fn scale(&mut self, factor: f64) {
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self.moments.iter_mut().for_each(|moment| *moment *= factor);
    }

    /// Σ w L(ω − pole), of the half width `eta` that the bins were filled with.
    pub(super) fn curve(&self, omega: &[f64], eta: f64) -> Vec<f64> {
        let filled: Vec<(f64, f64)> = self
            .weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(k, weight)| ((self.first + k as i64) as f64 * eta / POINTS, *weight))
            .collect();
        let at = |omega: &f64| {
            filled.iter().map(|(pole, weight)| weight / ((omega - pole).powi(2) + eta * eta)).sum::<f64>()
        };
        omega.iter().map(|omega| eta / PI * at(omega)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_those_of_all_poles() {
        let eta = 0.05;
        let poles: Vec<(f64, f64)> =
            (0..500).map(|k| (7.0 * (f64::from(k) * 1.3).sin(), (f64::from(k) * 0.7).cos())).collect();
        let mut bins = EnergyBins::default();
        poles.iter().for_each(|(pole, weight)| bins.add(*pole, *weight, eta));
        let omega: Vec<f64> = (0..300).map(|k| -8.0 + 0.0533 * f64::from(k)).collect();
        let lorentzian = |x: f64| eta / (PI * (x * x + eta * eta));
        for (found, omega) in bins.curve(&omega, eta).into_iter().zip(&omega) {
            let wanted: f64 = poles.iter().map(|(pole, weight)| weight * lorentzian(omega - pole)).sum();
            assert!((found - wanted).abs() < 2e-6 / (PI * eta) * 5.0, "{omega}: {found} {wanted}");
        }
        for (power, moment) in bins.moments.into_iter().enumerate() {
            let wanted: f64 = poles.iter().map(|(pole, weight)| weight * pole.powi(power as i32)).sum();
            assert!((moment - wanted).abs() < 1e-10 * (1.0 + wanted.abs()));
        }
    }
}
