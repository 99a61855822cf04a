//! Sums over an ensemble of what operators make of its states: S(ω) at temperatures, with errors.
//!
//! In: transitions of one sector after the other, exact ones and those of samples. Out: of each operator and temperature the curve
//! S(ω) = Σ e^(−K_m/T) w δ(ω − …) / Z with K = H − µN, its moments, ∫ e^(−ω/T) S dω, and standard errors by the jackknife of the ratios over the
//! samples (B. Efron, Ann. Stat. 7, 1 (1979)). Energies are counted from the lowest so far, so that no exponential overflows.

use super::energy_bins::{EnergyBins, bin_bytes};
use crate::exact::{TransitionSample, Transitions};
use eigenforge_runtime::{Device, DeviceError};

/// Which sums something is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SumOf {
    /// What is known exactly, by all steps and by half of them.
    Exact,
    /// A sample by all of its steps.
    Sample(usize),
    /// All samples by half of their steps.
    Halves,
}

/// The sums of an operator at a temperature.
#[derive(Clone, Debug, Default)]
struct Sums {
    bins: EnergyBins,
    /// Σ e^(−K_n/T) w, by detailed balance that of A†.
    reverse: f64,
}

/// Sums of each operator, and Z, at a temperature.
#[derive(Clone, Debug, Default)]
struct TemperatureSums {
    operators: Vec<Sums>,
    z: f64,
}

/// A curve with its errors.
#[derive(Clone, Debug)]
pub(super) struct EnsembleCurve {
    pub curve: Vec<f64>,
    pub errors: Vec<f64>,
    /// ∫ ωⁿ S dω, and ∫ e^(−ω/T) S dω.
    pub numbers: [f64; 4],
    /// The errors of these.
    pub number_errors: [f64; 4],
    /// The change of the curve from half of the steps to all, in parts of its largest value.
    pub change: f64,
}

/// Sums over an ensemble.
pub(super) struct EnsembleSums<'a> {
    temperatures: &'a [f64],
    eta: f64,
    /// The sign of ω in the curves.
    sign: f64,
    lowest: f64,
    exact: Vec<TemperatureSums>,
    samples: Vec<Vec<TemperatureSums>>,
    halves: Vec<TemperatureSums>,
    /// The widest window of ω for which there was room.
    width: f64,
}

impl<'a> EnsembleSums<'a> {
    pub(super) fn new(
        (temperatures, eta, sign): (&'a [f64], f64, f64),
        operators: usize,
        samples: usize,
    ) -> EnsembleSums<'a> {
        let one = TemperatureSums { operators: vec![Sums::default(); operators], z: 0.0 };
        let all = vec![one; temperatures.len()];
        let samples = vec![all.clone(); samples];
        let (lowest, exact, width) = (f64::INFINITY, all.clone(), 0.0);
        EnsembleSums { temperatures, eta, sign, lowest, exact, samples, halves: all, width }
    }

    /// The lowest K so far.
    pub(super) fn lowest(&self) -> f64 {
        self.lowest
    }

    /// Counts energies from here, if it is lower.
    fn count_from(&mut self, k: f64) {
        if k >= self.lowest {
            return;
        }
        let raised = self.lowest - k;
        self.lowest = k;
        if raised.is_infinite() {
            return;
        }
        let all = self.samples.iter_mut().chain([&mut self.exact, &mut self.halves]);
        for own in all {
            for (sums, temperature) in own.iter_mut().zip(self.temperatures) {
                let factor = (-raised / temperature).exp();
                sums.z *= factor;
                for operator in &mut sums.operators {
                    operator.bins.scale(factor);
                    operator.reverse *= factor;
                }
            }
        }
    }

    fn sums_mut(&mut self, of: SumOf) -> &mut Vec<TemperatureSums> {
        match of {
            SumOf::Exact => &mut self.exact,
            SumOf::Sample(number) => &mut self.samples[number],
            SumOf::Halves => &mut self.halves,
        }
    }

    /// Adds states: energies with their part of the trace of 1; `shift` is µN of them.
    pub(super) fn add_states(&mut self, of: SumOf, lines: &[[f64; 2]], shift: f64) {
        let lowest =
            lines.iter().filter(|line| line[1] > 0.0).map(|line| line[0] - shift).fold(f64::INFINITY, f64::min);
        self.count_from(lowest);
        let (from, temperatures) = (self.lowest, self.temperatures);
        for (sums, temperature) in self.sums_mut(of).iter_mut().zip(temperatures) {
            let part = |[energy, weight]: &[f64; 2]| weight * (-(energy - shift - from).max(0.0) / temperature).exp();
            sums.z += lines.iter().map(part).sum::<f64>();
        }
    }

    /// Refuses transitions whose window of ω has no room in bins as narrow as `eta` asks for.
    fn check_room(&mut self, found: &Transitions) -> Result<(), DeviceError> {
        let ends =
            |list: &[f64]| list.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [a.min(*x), b.max(*x)]);
        let ([low, high], [least, most]) = (ends(&found.initial), ends(&found.final_states));
        let width = (most - low) - (least - high);
        if width > self.width {
            let sums = (self.samples.len() + 2) * self.exact.iter().map(|sums| sums.operators.len()).sum::<usize>();
            let what =
                format!("{sums} curves over a width of {width:.3e}, 32 points in a half width `eta` = {}", self.eta);
            Device::cpu().check_memory(&what, bin_bytes(width, self.eta).saturating_mul(sums as u64))?;
            self.width = width;
        }
        Ok(())
    }

    /// Adds transitions of an operator; states of lower energy than those that were added have only rounding.
    ///
    /// # Errors
    /// No room for poles as narrow as they are over so wide a spectrum.
    pub(super) fn add_transitions(
        &mut self,
        of: SumOf,
        operator: usize,
        found: &Transitions,
        shift: f64,
    ) -> Result<(), DeviceError> {
        self.check_room(found)?;
        let (from, temperatures, eta, sign) = (self.lowest, self.temperatures, self.eta, self.sign);
        for (sums, temperature) in self.sums_mut(of).iter_mut().zip(temperatures) {
            let sums = &mut sums.operators[operator];
            let factor = |energy: f64| (-(energy - shift - from) / temperature).exp();
            let rows = found.weights.chunks(found.final_states.len().max(1));
            for (initial, row) in found.initial.iter().zip(rows) {
                let own = factor(initial.max(from + shift));
                for (energy, weight) in found.final_states.iter().zip(row).filter(|(_, weight)| **weight != 0.0) {
                    if own > 0.0 {
                        sums.bins.add(sign * (energy - initial), own * weight, eta);
                    }
                    sums.reverse += weight * factor(*energy);
                }
            }
        }
        Ok(())
    }

    /// Adds a sample of a sector, and half of its steps.
    ///
    /// # Errors
    /// As of [`EnsembleSums::add_transitions`].
    pub(super) fn add_sample(&mut self, of: SumOf, sample: &TransitionSample, shift: f64) -> Result<(), DeviceError> {
        self.add_states(of, &sample.lines, shift);
        for (operator, parts) in sample.transitions.iter().enumerate() {
            parts.iter().try_for_each(|found| self.add_transitions(of, operator, found, shift))?;
        }
        Ok(())
    }

    /// The curve of an operator at a temperature.
    pub(super) fn curve(&self, operator: usize, temperature: usize, omega: &[f64]) -> EnsembleCurve {
        let parts = |sums: &TemperatureSums| -> Vec<f64> {
            let own = &sums.operators[operator];
            let mut all = own.bins.curve(omega, self.eta);
            all.extend(own.bins.moments);
            all.push(own.reverse);
            all.push(sums.z);
            all
        };
        let ratios = |parts: Vec<f64>| -> Vec<f64> {
            let z = parts[parts.len() - 1];
            parts[..parts.len() - 1].iter().map(|part| part / z).collect()
        };
        let exact = parts(&self.exact[temperature]);
        let samples: Vec<Vec<f64>> = self.samples.iter().map(|own| parts(&own[temperature])).collect();
        let count = samples.len() as f64;
        let mut all = vec![0.0; exact.len()];
        samples.iter().for_each(|own| all.iter_mut().zip(own).for_each(|(sum, own)| *sum += own));
        let mean = |left_out: Option<&Vec<f64>>| -> Vec<f64> {
            let kept = if left_out.is_some() { count - 1.0 } else { count };
            let rest = |place: usize| all[place] - left_out.map_or(0.0, |own| own[place]);
            let part = |place: usize| if kept > 0.0 { rest(place) / kept } else { 0.0 };
            ratios(exact.iter().enumerate().map(|(place, exact)| exact + part(place)).collect())
        };
        let values = mean(None);
        let without: Vec<Vec<f64>> =
            if samples.len() < 2 { Vec::new() } else { samples.iter().map(|own| mean(Some(own))).collect() };
        let error = |place: usize| {
            let middle = without.iter().map(|own| own[place]).sum::<f64>() / count;
            let spread: f64 = without.iter().map(|own| (own[place] - middle).powi(2)).sum();
            if without.is_empty() { 0.0 } else { ((count - 1.0) / count * spread).sqrt() }
        };
        let errors: Vec<f64> = (0..values.len()).map(error).collect();
        let halves = parts(&self.halves[temperature]);
        let half = exact.iter().zip(&halves).map(|(exact, half)| exact + if count > 0.0 { half / count } else { 0.0 });
        let half = ratios(half.collect());
        let points = omega.len();
        let largest = values[..points].iter().map(|value| value.abs()).fold(0.0, f64::max);
        let apart = values[..points].iter().zip(&half).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let last = |list: &[f64]| [0, 1, 2, 3].map(|k| list[points + k]);
        EnsembleCurve {
            numbers: last(&values),
            number_errors: last(&errors),
            curve: values[..points].to_vec(),
            errors: errors[..points].to_vec(),
            change: if largest > 0.0 { apart / largest } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Energies of a sector and their transitions, from numbers that repeat.
    fn sector(seed: usize, from: f64) -> TransitionSample {
        let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0;
        let initial: Vec<f64> = (0..5).map(|k| from + 3.0 * number(seed + k)).collect();
        let final_states = (0..7).map(|k| from + 4.0 * number(seed + 50 + k)).collect();
        let weights = (0..35).map(|k| number(seed + 100 + k)).collect();
        let lines = initial.iter().map(|energy| [*energy, 1.0 + number(seed)]).collect();
        TransitionSample { lines, transitions: vec![vec![Transitions { initial, final_states, weights }]] }
    }

    /// Whatever the order of the sectors, sums are those over all lines, exact ones and means over samples.
    #[test]
    fn sums_are_those_over_all_lines() {
        let (temperatures, eta) = ([0.05, 0.7, 20.0], 0.07);
        let omega: Vec<f64> = (0..50).map(|k| -5.0 + 0.2 * f64::from(k)).collect();
        let sectors = [(sector(1, 30.0), 0.3), (sector(300, -100.0), -0.2), (sector(600, 2.0), 0.9)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut sums = EnsembleSums::new((&temperatures, eta, 1.0), 1, 2);
            for place in order {
                let (own, shift) = &sectors[place];
                if place == 0 {
                    sums.add_sample(SumOf::Exact, own, *shift).unwrap();
                    continue;
                }
                for (sample, factor) in [1.0, 1.1].into_iter().enumerate() {
                    let mut own = own.clone();
                    own.transitions[0][0].weights.iter_mut().for_each(|weight| *weight *= factor);
                    sums.add_sample(SumOf::Sample(sample), &own, *shift).unwrap();
                    sums.add_sample(SumOf::Halves, &own, *shift).unwrap();
                }
            }
            let lines = || sectors.iter().flat_map(|(own, shift)| own.lines.iter().map(move |line| (line, shift)));
            let lowest = lines().map(|(line, shift)| line[0] - shift).fold(f64::INFINITY, f64::min);
            assert_eq!(sums.lowest(), lowest);
            for (place, temperature) in temperatures.iter().enumerate() {
                let factor = |energy: f64, shift: f64| (-(energy - shift - lowest) / temperature).exp();
                let z: f64 = lines().map(|(line, shift)| line[1] * factor(line[0], *shift)).sum();
                let (mut curve, mut numbers) = (vec![0.0; omega.len()], [0.0; 4]);
                for (number, (own, shift)) in sectors.iter().enumerate() {
                    let Transitions { initial, final_states, weights } = &own.transitions[0][0];
                    for (k, weight) in weights.iter().enumerate() {
                        let (from, to) = (initial[k / 7], final_states[k % 7]);
                        let weight = weight * if number == 0 { 1.0 } else { 1.05 } / z;
                        let own = weight * factor(from, *shift);
                        for (sum, at) in curve.iter_mut().zip(&omega) {
                            *sum += own * eta / std::f64::consts::PI / ((at - to + from).powi(2) + eta * eta);
                        }
                        (0..3).for_each(|power| numbers[power] += own * (to - from).powi(power as i32));
                        numbers[3] += weight * factor(to, *shift);
                    }
                }
                let found = sums.curve(0, place, &omega);
                let largest = curve.iter().copied().fold(0.0, f64::max);
                assert!(found.curve.iter().zip(&curve).all(|(a, b)| (a - b).abs() < 1e-5 * largest));
                let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                assert!(found.numbers.iter().zip(&numbers).all(same), "{:?} {numbers:?}", found.numbers);
                assert!(found.change < 1e-12 && found.errors.iter().all(|error| error.is_finite()));
                // Where samples have all of the weight, two that differ by a tenth leave an error of a twentieth of the mean, less 5 %.
                assert!(
                    temperature > &1.0
                        || found.errors.iter().zip(&found.curve).all(|(e, s)| (e / s - 0.05 / 1.05).abs() < 1e-6)
                );
            }
        }
    }
}
