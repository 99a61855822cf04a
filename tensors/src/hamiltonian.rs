//! Terms of a Hamiltonian beside the interaction: kinetic energy, Coulomb, centre of mass, oscillator.
//!
//! In: `[hamiltonian]`. Out: operators of relative motion and of the centre of mass of a pair, for [`super::rotation`]. With
//! R = (r1 + r2)/√2, r = (r1 − r2)/√2 and the momenta alike, a nucleus of A nucleons has
//!
//! ```text
//! T_rel  = Σ_{i<j} (p_i − p_j)²/(2mA)              = 2/A Σ_{i<j} p²/2m
//! V_osc  = c Σ_{i<j} mω² (r_i − r_j)²/(2A)         = 2/A c Σ_{i<j} mω² r²/2
//! V_C    = Σ_{i<j protons} e²/|r_i − r_j|          = Σ_{i<j} e²/(√2 r)
//! β N_cm = β/ħω (H_cm − 3/2 ħω)                    = β Σ_{i<j} [N_R/(A−1) − (A−2)/(A(A−1)) N_r]
//! ```
//! where N_R and N_r are the quanta of R and r (D. H. Gloeckner and R. D. Lawson, Phys. Lett. B 53 (1974) 313, for the last). Between
//! oscillator functions positive at infinity, n = (N − L)/2, b² = ħ²/(m ħω), ρ = r/b,
//!
//! ```text
//! ⟨n|p²/2m|n⟩ = ⟨n|mω²r²/2|n⟩ = ħω/2 (N + 3/2),    ⟨n−1|p²/2m|n⟩ = −⟨n−1|mω²r²/2|n⟩ = −ħω/2 √(n (n + L + 1/2))
//! ⟨n|1/ρ|m⟩ = ± √(n! m!/[Γ(n+L+3/2) Γ(m+L+3/2)]) Σ_k (½)_{n−k}/(n−k)! (½)_{m−k}/(m−k)! (k+L)!/k!,    ± = (−1)^{n+m}
//! ```
//! The last expands L_n^{L+1/2} in L_k^{L}, whose coefficients are positive, so no digits cancel.

use super::interaction::InteractionError;
use super::plan::Plan;
use super::relative::Relative;
use super::rotation::RotatedElements;
use super::table_cache::TableCache;
use serde::{Deserialize, Serialize};
use std::fmt;

/// e² in MeV fm (CODATA 2018: α ħc).
const CHARGE_SQUARED: f64 = 1.439_964_548;

/// The most nucleons of a nucleus.
const MOST_NUCLEONS: u32 = 1_000;

/// `[hamiltonian]`: what is added to the two-body elements of the interaction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NuclearTerms {
    /// ħω of the oscillator functions in MeV.
    pub hw: f64,
    /// Whether T_rel is added.
    pub kinetic: bool,
    /// Whether two protons repel each other.
    pub coulomb: bool,
    /// β: MeV for each quantum of the centre of mass.
    pub lawson: f64,
    /// c: the strength of the oscillator potential in units of mω².
    pub oscillator: f64,
    /// A.
    pub nucleons: u32,
    /// ħ²/m in MeV fm², which the Coulomb term needs.
    pub hbar2_over_m: f64,
}

impl NuclearTerms {
    /// T_rel of two nucleons in functions of this ħω in MeV, and nothing else.
    pub fn new(hw: f64) -> NuclearTerms {
        let hbar2_over_m = super::force::HBAR_SQUARED_OVER_M;
        NuclearTerms { hw, kinetic: true, coulomb: false, lawson: 0.0, oscillator: 0.0, nucleons: 2, hbar2_over_m }
    }

    /// Checks its numbers.
    ///
    /// # Errors
    /// A number out of its range.
    pub fn check(&self) -> Result<(), InteractionError> {
        let fault = |key, expected, found| Err(InteractionError::Hamiltonian { key, expected, found });
        for (key, value) in [("hw", self.hw), ("hbar2_over_m", self.hbar2_over_m)] {
            if !(value > 0.0 && value.is_finite()) {
                return fault(key, "a positive number", value);
            }
        }
        for (key, value) in [("lawson", self.lawson), ("oscillator", self.oscillator)] {
            if !value.is_finite() {
                return fault(key, "a finite number", value);
            }
        }
        if !(2..=MOST_NUCLEONS).contains(&self.nucleons) {
            return fault("nucleons", "a whole number from 2 to 1000", self.nucleons.into());
        }
        Ok(())
    }

    /// Its two-body elements in a plan's space.
    ///
    /// # Errors
    /// A number out of its range; angular momenta beyond the range of the symbols.
    pub(super) fn elements(&self, plan: &Plan, cache: &TableCache) -> Result<RotatedElements, InteractionError> {
        self.check()?;
        let quanta_max = plan.space().quanta_max();
        let rotated = RotatedElements::new(self.common(quanta_max), plan, cache)?;
        Ok(rotated.with_protons(self.coulomb.then(|| self.repulsion(quanta_max))))
    }

    /// What any two nucleons have.
    fn common(&self, quanta_max: u32) -> Relative {
        let a = f64::from(self.nucleons);
        let kinetic = if self.kinetic { 2.0 / a } else { 0.0 };
        let potential = 2.0 / a * self.oscillator;
        let of_relative = -self.lawson * (a - 2.0) / (a * (a - 1.0));
        let relative = Relative::of_formula(quanta_max, |[n, l], [n2, l2], _, _| match n.abs_diff(n2) {
            0 if l == l2 => (kinetic + potential) * self.hw / 2.0 * (f64::from(n) + 1.5) + of_relative * f64::from(n),
            2 if l == l2 => (potential - kinetic) * self.hw / 2.0 * radial_step(n.max(n2), l),
            _ => 0.0,
        });
        relative.with_centre(self.lawson / (a - 1.0))
    }

    /// What two protons have in addition.
    pub(super) fn repulsion(&self, quanta_max: u32) -> Relative {
        let b = (self.hbar2_over_m / self.hw).sqrt();
        let strength = CHARGE_SQUARED / (2.0f64.sqrt() * b);
        Relative::of_formula(quanta_max, |[n, l], [n2, l2], _, _| {
            if l == l2 { strength * inverse_distance([(n - l) / 2, (n2 - l) / 2], l) } else { 0.0 }
        })
    }
}

impl fmt::Display for NuclearTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms = Vec::new();
        let mut add = |there: bool, term: String| terms.extend(there.then_some(term));
        add(self.kinetic, "T_rel".into());
        add(self.coulomb, "Coulomb".into());
        add(self.lawson != 0.0, format!("{} N_cm", self.lawson));
        add(self.oscillator != 0.0, format!("{} V_osc", self.oscillator));
        let terms = if terms.is_empty() { "nothing".into() } else { terms.join(" + ") };
        write!(f, "{terms} ({} nucleons, hw = {} MeV)", self.nucleons, self.hw)
    }
}

/// √(n (n + L + 1/2)) of the upper of two neighbours.
fn radial_step(quanta: u32, l: u32) -> f64 {
    let n = f64::from((quanta - l) / 2);
    (n * (n + f64::from(l) + 0.5)).sqrt()
}

/// ⟨n|1/ρ|m⟩ of one L.
fn inverse_distance([n, m]: [u32; 2], l: u32) -> f64 {
    // L!/Γ(L + 3/2)
    let lowest = (1..=l).fold(2.0 / std::f64::consts::PI.sqrt(), |g, l| g * f64::from(l) / (f64::from(l) + 0.5));
    let norm = |n: u32| (1..=n).map(|i| f64::from(i) / (f64::from(i + l) + 0.5)).product::<f64>();
    // (½)_k/k! and (L+1)_k/k!
    let half = |k: u32| (1..=k).map(|i| (f64::from(i) - 0.5) / f64::from(i)).product::<f64>();
    let rising = |k: u32| (1..=k).map(|i| f64::from(l + i) / f64::from(i)).product::<f64>();
    let sum: f64 = (0..=n.min(m)).map(|k| half(n - k) * half(m - k) * rising(k)).sum();
    let sign = if (n + m).is_multiple_of(2) { 1.0 } else { -1.0 };
    sign * lowest * (norm(n) * norm(m)).sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between normalised functions positive at infinity, by the trapezium rule; the r' integral of T by f'' = −p².
    fn function([n, l]: [u32; 2], r: f64) -> f64 {
        let (mut before, mut now) = (0.0, 1.0);
        for i in 0..n {
            let (i, a, x) = (f64::from(i), f64::from(l) + 0.5, r * r);
            (before, now) = (now, ((2.0 * i + 1.0 + a - x) * now - (i + a) * before) / (i + 1.0));
        }
        let sign = if n.is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * r.powi(l as i32) * (-r * r / 2.0).exp() * now
    }

    fn between(bra: [u32; 2], ket: [u32; 2], value: impl Fn(f64) -> f64) -> f64 {
        let step = 1e-3;
        let sum = |f: &dyn Fn(f64) -> f64| (1..14_000).map(|i| f(f64::from(i) * step)).sum::<f64>() * step;
        let norm = |state| sum(&|r| (function(state, r) * r).powi(2));
        sum(&|r| function(bra, r) * function(ket, r) * r * r * value(r)) / (norm(bra) * norm(ket)).sqrt()
    }

    /// T = H_osc − V_osc, so r² gives both; 1/ρ: the error of the trapezium rule at the origin falls with L.
    #[test]
    fn the_elements_are_those_of_quadrature() {
        let terms = NuclearTerms { kinetic: false, oscillator: 1.0, ..NuclearTerms::new(2.0) };
        let kinetic = NuclearTerms::new(2.0).common(20);
        let potential = terms.common(20);
        for (n, m, l) in [(0, 0, 0), (0, 1, 0), (3, 2, 1), (4, 4, 5), (1, 2, 6), (0, 2, 3)] {
            let [bra, ket] = [[2 * n + l, l], [2 * m + l, l]];
            let spin = if l == 0 { [0, 0] } else { [1, l] };
            let r_squared = between([n, l], [m, l], |r| r * r);
            let whole = if n == m { f64::from(2 * n + l) + 1.5 } else { 0.0 } * 2.0;
            let [t, v] = [&kinetic, &potential].map(|x| x.element(bra, ket, spin[0], spin[1]).unwrap());
            assert!((v - r_squared).abs() < 1e-11, "{n} {m} {l}: {v} {r_squared}");
            assert!((t - (whole - r_squared)).abs() < 1e-11, "{n} {m} {l}: {t}");
            let quadrature = between([n, l], [m, l], |r| 1.0 / r);
            let error = if l == 0 { 1e-6 } else { 1e-11 };
            let found = inverse_distance([n, m], l);
            assert!((found - quadrature).abs() < error, "{n} {m} {l}: {found} {quadrature}");
        }
    }

    #[test]
    fn numbers_out_of_their_range_are_refused() {
        let good = NuclearTerms::new(20.0);
        assert!(good.check().is_ok());
        for (bad, said) in [
            (NuclearTerms { hw: f64::NAN, ..good }, "hw: expected a positive number, found NaN"),
            (NuclearTerms { hbar2_over_m: 0.0, ..good }, "hbar2_over_m: expected a positive number, found 0"),
            (NuclearTerms { lawson: f64::INFINITY, ..good }, "lawson: expected a finite number, found inf"),
            (NuclearTerms { oscillator: f64::NAN, ..good }, "oscillator: expected a finite number"),
            (NuclearTerms { nucleons: 1, ..good }, "nucleons: expected a whole number from 2 to 1000, found 1"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.contains(said), "{said} is not in {error}");
        }
    }
}
