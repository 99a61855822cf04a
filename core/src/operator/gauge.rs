//! The gauge in which an operator with complex coefficients is real, if there is one.
//!
//! In: a reduced, checked operator on sites of any kind. Out: a phase θ for each digit n of a state (a fermion mode, the level of a spin,
//! the number of bosons), and the real operator U† O U with U = exp(−i Σ θ n).
//!
//! A product P that changes the digits by Δ becomes exp(i θ·Δ) P. Every product with a coefficient c therefore asks for
//! θ·Δ = −arg c modulo π. The Δ are integers, so the equations are solved like a lattice of integer vectors: Euclid's steps
//! between rows bring them to echelon form, and "modulo π" survives each step. A row that vanishes is a loop, whose flux must be
//! 0 or π; the rows that are left have a solution by substitution. The solution counts only if rounding alone keeps the
//! coefficients from being real, so a flux that is small but not zero stays.

use super::{Factor, Operator, Product, SiteLayout};
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// Phases of the digits of a state.
#[derive(Clone, Debug)]
pub struct Gauge {
    layout: SiteLayout,
    phases: Vec<f64>,
}

impl Gauge {
    /// The gauge in which an operator is real, and the operator in it; `None` if it is real as it is, or in no such gauge.
    pub fn find(operator: &Operator) -> Option<(Gauge, Operator)> {
        if !operator.is_complex() {
            return None;
        }
        let layout = SiteLayout::new(&operator.kinds_or_implied());
        let mut coefficients: BTreeMap<&[Factor], Complex64> = BTreeMap::new();
        for (product, value) in operator.terms() {
            let (product, unit) = without_unit(product);
            *coefficients.entry(product).or_default() += value * unit;
        }
        let mut equations = Equations::default();
        for (product, coefficient) in &coefficients {
            equations.add(layout.change(product), -coefficient.arg())?;
        }
        let phases = equations.solution(layout.digits().len());
        let gauge = Gauge { layout, phases };
        let tolerance = gauge.rounding();
        let mut terms = BTreeMap::new();
        for (product, coefficient) in coefficients {
            let turned = coefficient * Complex64::cis(gauge.turn(product));
            if turned.im.abs() > tolerance * coefficient.norm() {
                return None;
            }
            terms.insert(product.to_vec(), coefficient.norm().copysign(turned.re));
        }
        let real = operator.with_terms(terms);
        Some((gauge, real))
    }

    /// The most that rounding leaves of a phase: four units in the last place of π for each step of a path through all digits.
    fn rounding(&self) -> f64 {
        4.0 * PI * f64::EPSILON * (self.phases.len() + 4) as f64
    }

    /// θ·Δ of a product.
    fn turn(&self, product: &[Factor]) -> f64 {
        self.layout.change(product).iter().zip(&self.phases).map(|(change, phase)| *change as f64 * phase).sum()
    }

    /// The real part of an operator in this gauge; its average in a real state is that of the whole operator.
    pub fn real_part(&self, operator: &Operator) -> Operator {
        let mut terms: BTreeMap<Product, f64> = BTreeMap::new();
        for (product, value) in operator.terms() {
            let (product, unit) = without_unit(product);
            let turned = value * unit * Complex64::cis(self.turn(product));
            *terms.entry(product.to_vec()).or_insert(0.0) += turned.re;
        }
        operator.with_terms(terms)
    }

    /// exp(−i Σ θ n) of a state with these digits.
    pub fn phase(&self, digits: &[u32]) -> Complex64 {
        let turn: f64 = digits.iter().zip(&self.phases).map(|(digit, phase)| f64::from(*digit) * phase).sum();
        Complex64::cis(-turn)
    }
}

/// The angles in units of π, as far as a line goes.
impl std::fmt::Display for Gauge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 8;
        let angle = |phase: &f64| {
            let text = format!("{:.4}", phase / PI);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            if text == "-0" { "0".to_string() } else { text.to_string() }
        };
        let angles: Vec<String> = self.phases.iter().take(SHOWN).map(angle).collect();
        let more = if self.phases.len() > SHOWN { ", …" } else { "" };
        write!(f, "exp(-i Σ θ n), θ/π = {}{more} for the modes and levels n of the sites", angles.join(", "))
    }
}

impl Operator {
    /// The same in a gauge in which it is real, if it is reduced, checked and complex, and there is one.
    pub fn in_real_gauge(self) -> (Option<Gauge>, Operator) {
        match Gauge::find(&self) {
            Some((gauge, real)) => (Some(gauge), real),
            None => (None, self),
        }
    }

    /// Its terms with real coefficients: what is left of its average, as far as that is real, in a real state.
    pub fn real_part(&self) -> Operator {
        let real = self.terms().filter(|(product, _)| product.last() != Some(&Factor::ImaginaryUnit));
        self.with_terms(real.map(|(product, value)| (product.to_vec(), value)).collect())
    }
}

/// A product without the imaginary unit, and the unit or 1.
fn without_unit(product: &[Factor]) -> (&[Factor], Complex64) {
    match product {
        [factors @ .., Factor::ImaginaryUnit] => (factors, Complex64::I),
        factors => (factors, Complex64::ONE),
    }
}

/// An angle modulo 2π, near 0.
fn wrapped(angle: f64) -> f64 {
    angle - (angle / (2.0 * PI)).round() * 2.0 * PI
}

/// Equations row·θ = phase modulo π with integer rows, in echelon form: by the first digit that a row has.
#[derive(Default)]
struct Equations {
    rows: BTreeMap<usize, (Vec<i64>, f64)>,
}

impl Equations {
    /// How far a loop may be from a multiple of π to be worth solving; the coefficients themselves decide in the end.
    const LOOP: f64 = 1e-6;

    /// Adds an equation; `None` if no θ fulfils it and the others, or if its numbers grow too large.
    fn add(&mut self, mut row: Vec<i64>, mut phase: f64) -> Option<()> {
        for digit in 0..row.len() {
            if row[digit] == 0 {
                continue;
            }
            let Some((pivot, of_pivot)) = self.rows.get_mut(&digit) else {
                self.rows.insert(digit, (row, phase));
                return Some(());
            };
            loop {
                let times = row[digit] / pivot[digit];
                for (entry, other) in row.iter_mut().zip(&*pivot) {
                    *entry = entry.checked_sub(times.checked_mul(*other)?)?;
                }
                phase = wrapped(phase - times as f64 * *of_pivot);
                if row[digit] == 0 {
                    break;
                }
                std::mem::swap(&mut row, pivot);
                std::mem::swap(&mut phase, of_pivot);
            }
        }
        let flux = phase - (phase / PI).round() * PI;
        (flux.abs() < Self::LOOP).then_some(())
    }

    /// A θ that fulfils all equations, 0 where they leave it open.
    fn solution(&self, digits: usize) -> Vec<f64> {
        let mut theta = vec![0.0; digits];
        for (digit, (row, phase)) in self.rows.iter().rev() {
            let later = row.iter().zip(&theta).skip(digit + 1);
            let rest: f64 = later.map(|(entry, theta)| *entry as f64 * theta).sum();
            theta[*digit] = wrapped((phase - rest) / row[*digit] as f64);
        }
        theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::SiteKind;
    use crate::operator::build::{self, imaginary_unit};

    fn hop(i: usize, j: usize, phase: f64) -> Operator {
        let term = (build::scalar(phase.cos()) + phase.sin() * imaginary_unit()) * build::sp(i) * build::sm(j);
        term.clone() + term.adjoint()
    }

    fn ring(sites: usize, flux: f64) -> Operator {
        (0..sites).map(|i| hop(i, (i + 1) % sites, flux / sites as f64)).sum::<Operator>().reduced()
    }

    #[test]
    fn a_ring_is_real_for_a_flux_of_zero_or_pi_alone() {
        for sites in [3, 8, 31, 62] {
            for flux in [0.0, PI, -3.0 * PI, 2.0 * PI] {
                // No phase at all is no gauge.
                let found = Gauge::find(&ring(sites, flux));
                assert_eq!(found.is_some(), flux != 0.0, "{sites} sites, flux {flux}");
            }
            for flux in [0.3, 0.5 * PI, 1e-9, PI + 1e-11] {
                assert!(Gauge::find(&ring(sites, flux)).is_none(), "{sites} sites, flux {flux}");
            }
        }
        let (_, real) = Gauge::find(&ring(5, PI)).unwrap();
        let signs: f64 = (0..5).map(|i| real.coefficient(&hop_product(i, (i + 1) % 5)).signum()).product();
        assert_eq!(signs, -1.0, "half a flux quantum is an odd number of minus signs");
    }

    fn hop_product(i: usize, j: usize) -> Product {
        let product = build::sp(i) * build::sm(j);
        product.terms().next().unwrap().0.to_vec()
    }

    #[test]
    fn pairs_fix_a_phase_up_to_halves() {
        // 2θ = −φ modulo π, and a hop that needs the other of its two solutions.
        let pair = |i: usize, phase: f64| {
            let term = (build::scalar(phase.cos()) + phase.sin() * imaginary_unit()) * build::bdag(i) * build::bdag(i);
            term.clone() + term.adjoint()
        };
        let move_one = |phase: f64| {
            let term = (build::scalar(phase.cos()) + phase.sin() * imaginary_unit()) * build::bdag(0) * build::b(1);
            term.clone() + term.adjoint()
        };
        let bosons = |h: Operator| h.on_kinds(&[SiteKind::Bosons { most: 3 }; 2]).reduced();
        for (hop, possible) in [(0.35, true), (0.35 + 0.5 * PI, true), (0.35 + 0.25 * PI, false), (0.0, false)] {
            let h = bosons(pair(0, 1.0) + pair(1, 0.3) + move_one(hop));
            assert_eq!(Gauge::find(&h).is_some(), possible, "hop {hop}");
        }
    }

    #[test]
    fn a_relation_of_rows_is_found_where_no_row_is_a_combination_of_the_others() {
        // 2a and 3a give a, in integers: 3 (2a) = 2 (3a).
        let mut equations = Equations::default();
        equations.add(vec![2], 0.4).unwrap();
        assert!(equations.add(vec![3], 0.9).is_none(), "2a = 0.4 and 3a = 0.9 modulo π have no solution");
        let mut equations = Equations::default();
        equations.add(vec![2], 0.4).unwrap();
        equations.add(vec![3], 0.6 + PI).unwrap();
        let a = equations.solution(1)[0];
        assert!((2.0 * a - 0.4).sin().abs() < 1e-14 && (3.0 * a - 0.6).sin().abs() < 1e-14, "{a}");
    }
}
