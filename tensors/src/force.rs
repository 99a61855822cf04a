//! Nucleon–nucleon forces as sums of Gaussians: central with exchange, spin–orbit and tensor, including Minnesota.
//!
//! In: a TOML file with `[force]`. Out: an interaction of relative motion. Strengths in MeV, lengths in fm, r = |r1 − r2|:
//!
//! ```text
//! V = Σ V_i e^{−(r/a_i)²} (W + M P_r + B P_σ − H P_τ)  +  Σ V_i e^{−(r/a_i)²} (W + M P_r) L·S  +  Σ V_i e^{−(r/a_i)²} (W + M P_r) S12
//! Minnesota = ½ [V_R + ½ (1 + P_σ) V_t + ½ (1 − P_σ) V_s] [u + (2 − u) P_r],
//! V_R = 200 e^{−1.487 r²}, V_t = −178 e^{−0.639 r²}, V_s = −91.85 e^{−0.465 r²}
//! ```
//! (D. R. Thompson, M. LeMere, Y. C. Tang, Nucl. Phys. A 286 (1977) 53). P_r = (−1)^L, P_σ = ±1 for S = 1, 0, and
//! −P_τ = P_r P_σ between antisymmetric states. In the oscillator basis with x = (r/b)²/2, b² = (ħ²/m)/ħω, γ = 2b²/a², a
//! Gaussian has elements that the generating function of the Laguerre polynomials gives as sums of positive terms,
//!
//! ```text
//! ∫ x^{β−1} e^{−(1+γ)x} L_n^{β−1}(x) L_m^{β−1}(x) dx = Γ(β) (1+γ)^{−β} Σ_k (β)_k/k! r^{2k} (β+k)_{n−k}/(n−k)! (β+k)_{m−k}/(m−k)! q^{n+m−2k},
//! q = γ/(1+γ), r = 1/(1+γ)
//! ```
//! so none of their digits cancel; elements between L and L + 2 take L_n^{β−2} = L_n^{β−1} − L_{n−1}^{β−1}.

use super::plan::Plan;
use super::relative::Relative;
use eigenforge_runtime::input_file::{FileKind, read_text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// ħ²/m of a nucleon in MeV fm², the value of Thompson, LeMere and Tang.
pub(super) const HBAR_SQUARED_OVER_M: f64 = 41.47;

/// Limit, because each has a table of integrals by radial numbers and L.
const MOST_GAUSSIANS: usize = 1_000;

/// Whether a file is a force, judged by its ending.
pub(super) fn recognised(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}

/// A file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForceFile {
    force: Force,
}

/// `[force]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// ħω in MeV.
    pub hw: f64,
    /// Minnesota's exchange parameter u, if that force is included.
    pub minnesota: Option<Minnesota>,
    /// Central Gaussians.
    #[serde(default)]
    pub central: Vec<Gaussian>,
    /// Gaussians that multiply L·S.
    #[serde(default)]
    pub spin_orbit: Vec<Gaussian>,
    /// Gaussians that multiply S12.
    #[serde(default)]
    pub tensor: Vec<Gaussian>,
    /// ħ²/m in MeV fm².
    #[serde(default = "hbar_squared_over_m")]
    pub hbar2_over_m: f64,
}

/// `minnesota = { u = 1.0 }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minnesota {
    /// 1: a force in even L only; 2: without exchange.
    #[serde(default = "one")]
    pub u: f64,
}

/// V e^{−(r/a)²} (W + M P_r + B P_σ − H P_τ).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// V in MeV.
    pub strength: f64,
    /// a in fm.
    pub range: f64,
    /// W.
    #[serde(default = "one")]
    pub wigner: f64,
    /// M.
    #[serde(default)]
    pub majorana: f64,
    /// B, of central forces.
    #[serde(default)]
    pub bartlett: f64,
    /// H, of central forces.
    #[serde(default)]
    pub heisenberg: f64,
}

fn one() -> f64 {
    1.0
}

fn hbar_squared_over_m() -> f64 {
    HBAR_SQUARED_OVER_M
}

/// Why a force cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ForceError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// An I/O error.
        source: std::io::Error,
    },
    /// The text is not a force.
    #[error(
        "{path}: {source}\nexpected [force] with hw and at least one of minnesota = {{ u = 1.0 }}, central, spin_orbit, tensor = \
         [{{ strength = -50.0, range = 1.5, wigner = 1.0, majorana = 0.0 }}]"
    )]
    Toml {
        /// The file.
        path: String,
        /// The parser's error.
        source: Box<toml::de::Error>,
    },
    /// An invalid parameter.
    #[error("{path}: {what}: expected {expected}, found {found}")]
    Parameter {
        /// The file.
        path: String,
        /// Its name.
        what: String,
        /// The accepted values.
        expected: &'static str,
        /// The value.
        found: f64,
    },
    /// A force without terms.
    #[error("{path}: [force] has no terms; expected at least one of minnesota, central, spin_orbit, tensor")]
    Empty {
        /// The file.
        path: String,
    },
}

impl Force {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Text that is not a force, invalid parameters.
    pub fn read(path: &Path) -> Result<Force, ForceError> {
        let name = || path.display().to_string();
        let text = read_text(path, FileKind::FORCE).map_err(|source| ForceError::Read { path: name(), source })?;
        let file: ForceFile =
            toml::from_str(&text).map_err(|source| ForceError::Toml { path: name(), source: Box::new(source) })?;
        file.force.check(name)?;
        Ok(file.force)
    }

    /// The force of a model file, whose other sections are not looked at.
    ///
    /// # Errors
    ///
    /// A section `[force]` that is none, invalid parameters.
    pub fn of_model_file(name: &str, text: &str) -> Result<Force, ForceError> {
        #[derive(Deserialize)]
        struct ModelFile {
            force: Force,
        }
        let name = || name.to_string();
        let file: ModelFile =
            toml::from_str(text).map_err(|source| ForceError::Toml { path: name(), source: Box::new(source) })?;
        file.force.check(name)?;
        Ok(file.force)
    }

    fn check(&self, name: impl Fn() -> String) -> Result<(), ForceError> {
        let fault = |what: String, expected, found| Err(ForceError::Parameter { path: name(), what, expected, found });
        for (what, value) in [("hw", self.hw), ("hbar2_over_m", self.hbar2_over_m)] {
            if !(value > 0.0 && value.is_finite()) {
                return fault(what.into(), "a positive number", value);
            }
        }
        if let Some(Minnesota { u }) = self.minnesota.filter(|minnesota| !minnesota.u.is_finite()) {
            return fault("u of minnesota".into(), "a finite number", u);
        }
        let lists = [("central", &self.central), ("spin_orbit", &self.spin_orbit), ("tensor", &self.tensor)];
        let gaussians = lists.iter().map(|(_, list)| list.len()).sum::<usize>();
        if gaussians > MOST_GAUSSIANS {
            return fault("the number of Gaussians".into(), "1000 at most", gaussians as f64);
        }
        for (list, (at, gaussian)) in
            lists.iter().flat_map(|(list, all)| all.iter().enumerate().map(move |x| (list, x)))
        {
            let place = |what: &str| format!("{what} of {list}, entry {}", at + 1);
            if !(gaussian.range > 0.0 && gaussian.range.is_finite()) {
                return fault(place("range"), "a positive number of fm", gaussian.range);
            }
            let Gaussian { strength, wigner, majorana, bartlett, heisenberg, .. } = *gaussian;
            if let Some(found) = [strength, wigner, majorana, bartlett, heisenberg].into_iter().find(|x| !x.is_finite())
            {
                return fault(place("a number"), "a finite number", found);
            }
            let spins = [bartlett, heisenberg].into_iter().find(|x| *x != 0.0);
            if let Some(found) = spins.filter(|_| *list != "central") {
                return fault(
                    place("bartlett or heisenberg"),
                    "0, because spin-orbit and tensor forces act in S = 1 only",
                    found,
                );
            }
        }
        if self.minnesota.is_none() && lists.iter().all(|(_, list)| list.is_empty()) {
            return Err(ForceError::Empty { path: name() });
        }
        Ok(())
    }

    /// Its matrix elements for all states that a plan needs.
    pub fn relative(&self, plan: &Plan) -> Relative {
        self.relative_to(plan.space().quanta_max())
    }

    /// Its matrix elements up to some quanta.
    pub fn relative_to(&self, quanta_max: u32) -> Relative {
        let b_squared = self.hbar2_over_m / self.hw;
        let tables = |list: &[Gaussian]| -> Vec<(Gaussian, Radial)> {
            list.iter().map(|g| (*g, Radial::new(2.0 * b_squared / (g.range * g.range), quanta_max))).collect()
        };
        let mut central = self.central.clone();
        central.extend(self.minnesota.into_iter().flat_map(Minnesota::gaussians));
        let [central, spin_orbit, tensor] = [central, self.spin_orbit.clone(), self.tensor.clone()].map(|x| tables(&x));
        Relative::of_formula(quanta_max, |bra, ket, s, j| {
            let mut sum = 0.0;
            if bra[1] == ket[1] {
                sum += central.iter().map(|(g, radial)| g.factor(bra[1], s) * radial.element(bra, ket)).sum::<f64>();
            }
            if bra[1] == ket[1] && s == 1 {
                let square = |x: u32| f64::from(x * (x + 1));
                let ls = (square(j) - square(bra[1]) - 2.0) / 2.0;
                sum += spin_orbit
                    .iter()
                    .map(|(g, radial)| ls * g.factor(bra[1], s) * radial.element(bra, ket))
                    .sum::<f64>();
            }
            if s == 1 {
                let s12 = tensor_element(bra[1], ket[1], j);
                sum +=
                    tensor.iter().map(|(g, radial)| s12 * g.factor(bra[1], s) * radial.element(bra, ket)).sum::<f64>();
            }
            sum
        })
    }
}

impl Minnesota {
    /// Its three Gaussians.
    fn gaussians(self) -> [Gaussian; 3] {
        let (even, exchange) = (self.u / 2.0, (2.0 - self.u) / 2.0);
        let term = |strength: f64, kappa: f64, spin: f64, spin_exchange: f64| Gaussian {
            strength,
            range: 1.0 / kappa.sqrt(),
            wigner: even * spin,
            majorana: exchange * spin,
            bartlett: even * spin_exchange,
            heisenberg: exchange * spin_exchange,
        };
        [term(200.0, 1.487, 1.0, 0.0), term(-178.0, 0.639, 0.5, 0.5), term(-91.85, 0.465, 0.5, -0.5)]
    }
}

impl Gaussian {
    /// V (W + M P_r + B P_σ − H P_τ) in a state of L and S.
    fn factor(&self, l: u32, s: u32) -> f64 {
        let parity = if l.is_multiple_of(2) { 1.0 } else { -1.0 };
        let spin = if s == 1 { 1.0 } else { -1.0 };
        let exchange = self.wigner + self.majorana * parity + self.bartlett * spin + self.heisenberg * parity * spin;
        self.strength * exchange
    }
}

/// ⟨(L' 1)J|S12|(L 1)J⟩.
fn tensor_element(l: u32, l2: u32, j: u32) -> f64 {
    let x = f64::from(j);
    match (l, l2) {
        (l, l2) if l == l2 && l == j => 2.0,
        (l, l2) if l == l2 && l + 1 == j => -2.0 * (x - 1.0) / (2.0 * x + 1.0),
        (l, l2) if l == l2 && l == j + 1 => -2.0 * (x + 2.0) / (2.0 * x + 1.0),
        (l, l2) if l != l2 && l.min(l2) + 1 == j && l.max(l2) == j + 1 => {
            6.0 * (x * (x + 1.0)).sqrt() / (2.0 * x + 1.0)
        }
        _ => 0.0,
    }
}

/// ⟨N' L'|e^{−γx}|N L⟩ for L' = L and L ± 2.
#[derive(Debug)]
struct Radial {
    /// By 2β = 2L + 3, then n, m: the integral with both polynomials of order β − 1, over Γ(β).
    integrals: Vec<Vec<Vec<f64>>>,
}

impl Radial {
    fn new(gamma: f64, quanta_max: u32) -> Radial {
        let of_l = |l: u32| {
            let count = (quanta_max / 2 + 2) as usize;
            (0..count).map(|n| (0..count).map(|m| integral(f64::from(l) + 1.5, gamma, n, m)).collect()).collect()
        };
        Radial { integrals: (0..=quanta_max + 2).map(of_l).collect() }
    }

    /// Between normalised functions, positive at infinity.
    fn element(&self, bra: [u32; 2], ket: [u32; 2]) -> f64 {
        let (lower, upper) = if bra[1] <= ket[1] { (bra, ket) } else { (ket, bra) };
        let (n, m) = (((lower[0] - lower[1]) / 2) as usize, ((upper[0] - upper[1]) / 2) as usize);
        let l = lower[1];
        let integral = if upper[1] == l {
            self.integrals[l as usize][n][m]
        } else {
            // x^{β−1}, β = L + 5/2: L_n^{β−2} = L_n^{β−1} − L_{n−1}^{β−1}, L_m^{β} = Σ_{j ≤ m} L_j^{β−1}
            let g = &self.integrals[l as usize + 1];
            (0..=m).map(|j| g[n][j] - if n > 0 { g[n - 1][j] } else { 0.0 }).sum()
        };
        let beta = f64::from(l + upper[1] + 3) / 2.0;
        // n! Γ(β) / Γ(n + L + 3/2), and the same for m: the factors under the root are close to one.
        let norm = |n: usize, l: u32| {
            let first = f64::from(l) + 1.5;
            (1..=n).map(|i| i as f64 / (first + i as f64 - 1.0)).product::<f64>() * gamma_ratio(beta, first)
        };
        let sign = if (n + m).is_multiple_of(2) { 1.0 } else { -1.0 };
        sign * (norm(n, l) * norm(m, upper[1])).sqrt() * integral
    }
}

/// Γ(a)/Γ(b) for a − b = −1, 0, 1.
fn gamma_ratio(a: f64, b: f64) -> f64 {
    if a > b {
        b
    } else if a < b {
        1.0 / a
    } else {
        1.0
    }
}

/// ∫ x^{β−1} e^{−(1+γ)x} L_n^{β−1} L_m^{β−1} dx / Γ(β).
fn integral(beta: f64, gamma: f64, n: usize, m: usize) -> f64 {
    let (q, r) = (gamma / (1.0 + gamma), 1.0 / (1.0 + gamma));
    // (β + k)_{n−k}/(n−k)!
    let rising = |k: usize, n: usize| (0..n - k).map(|i| (beta + (k + i) as f64) / (i + 1) as f64).product::<f64>();
    let term =
        |k: usize| rising(0, k) * r.powi(2 * k as i32) * rising(k, n) * rising(k, m) * q.powi((n + m - 2 * k) as i32);
    (0..=n.min(m)).map(term).sum::<f64>() * r.powf(beta)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ R R' e^{−γx} r² dr by the trapezium rule on r, which converges exponentially for such functions.
    fn by_quadrature(gamma: f64, bra: [u32; 2], ket: [u32; 2]) -> f64 {
        let laguerre = |n: u32, a: f64, x: f64| {
            let (mut before, mut now) = (0.0, 1.0);
            for i in 0..n {
                let i = f64::from(i);
                (before, now) = (now, ((2.0 * i + 1.0 + a - x) * now - (i + a) * before) / (i + 1.0));
            }
            now
        };
        let function = |[n, l]: [u32; 2], r: f64| {
            let nodes = (n - l) / 2;
            let sign = if nodes % 2 == 0 { 1.0 } else { -1.0 };
            sign * r.powi(l as i32) * (-r * r / 2.0).exp() * laguerre(nodes, f64::from(l) + 0.5, r * r)
        };
        let step = 1e-3;
        let sum = |f: &dyn Fn(f64) -> f64| (1..14_000).map(|i| f(f64::from(i) * step)).sum::<f64>() * step;
        let norm = |state| sum(&|r| (function(state, r) * r).powi(2));
        let overlap = sum(&|r| function(bra, r) * function(ket, r) * r * r * (-gamma * r * r).exp());
        overlap / (norm(bra) * norm(ket)).sqrt()
    }

    #[test]
    fn gaussians_have_the_elements_of_quadrature() {
        for gamma in [0.0, 0.07, 0.9, 6.0] {
            let radial = Radial::new(gamma, 18);
            for (bra, ket) in [
                ([0, 0], [0, 0]),
                ([6, 0], [2, 0]),
                ([7, 3], [11, 3]),
                ([18, 0], [18, 0]),
                ([18, 18], [18, 18]),
                ([2, 0], [2, 2]),
                ([8, 4], [12, 2]),
                ([16, 2], [14, 4]),
                ([1, 1], [9, 3]),
            ] {
                let (found, expected) = (radial.element(bra, ket), by_quadrature(gamma, bra, ket));
                assert!((found - expected).abs() < 2e-13, "{gamma} {bra:?} {ket:?}: {found:e} {expected:e}");
                assert_eq!(found, radial.element(ket, bra));
            }
        }
    }

    #[test]
    fn the_tensor_operator_has_trace_zero_and_eigenvalues_two_and_minus_four() {
        for j in 1..6u32 {
            let [a, b, c] = [(j - 1, j - 1), (j - 1, j + 1), (j + 1, j + 1)].map(|(l, l2)| tensor_element(l, l2, j));
            assert!((a + c + 2.0).abs() < 1e-14 && (a * c - b * b + 8.0).abs() < 1e-13, "J = {j}");
        }
    }
}
