//! The optical conductivity, from the spectrum of a current.
//!
//! In: the response of a level of one state to J along a direction, ⟨J⟩ and ⟨K⟩ ([`super::current`]). Out: for N sites, with e = ħ = 1 and the
//! nearest-neighbour distance as the length,
//!
//! ```text
//! Re σ(ω) = 2π D δ(ω) + (π/N) Σ_n |⟨n|J|0⟩|² / ω_n [δ(ω − ω_n) + δ(ω + ω_n)],     D = (1/N) [−⟨K⟩/2 − Σ_n |⟨n|J|0⟩|² / ω_n] = (1/2N) ∂²E/∂A²
//! ```
//!
//! (W. Kohn, Phys. Rev. 133, A171 (1964); D. J. Scalapino, S. R. White and S. Zhang, Phys. Rev. B 47, 7995 (1993)), so that ∫ Re σ dω over all ω is
//! −(π/N) ⟨K⟩. D may be negative: half-filled rings of 4n sites have such a D.

use crate::exact::Response;
use crate::input::SpectrumSpec;
use eigenforge_runtime::SolveError;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;

/// A Drude weight that changes by less of ⟨K⟩/2N from half of the steps to all has converged.
const SAME: f64 = 1e-6;

/// The optical conductivity of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConductivityRecord {
    /// The direction, of length 1.
    pub direction: [f64; 2],
    /// D.
    pub drude_weight: f64,
    /// ⟨K⟩, of the whole cluster.
    pub kinetic_energy: f64,
    /// ⟨J⟩, of the whole cluster: the persistent current where H has a flux.
    pub current: f64,
    /// Σ_n |⟨n|J|0⟩|² / ω_n.
    pub regular_weight: f64,
    /// The change of D from half of the steps to all.
    pub change: f64,
    /// Re σ(ω) without the part at ω = 0, each pole with the half width eta.
    pub curve: Vec<f64>,
}

impl ConductivityRecord {
    /// From the response to J, ⟨J⟩ and ⟨K⟩.
    pub(super) fn new(
        response: &Response,
        [current, kinetic_energy]: [f64; 2],
        sites: usize,
        spec: &SpectrumSpec,
        omega: &[f64],
    ) -> Result<ConductivityRecord, SolveError> {
        let [regular_weight, half] = response.static_sums()?;
        let volume = sites as f64;
        let poles = response.poles()?;
        let lorentzian = |x: f64| spec.eta / (PI * (x * x + spec.eta * spec.eta));
        let at = |omega: &f64| -> f64 {
            let pole = |[at, weight]: &[f64; 2]| weight / at * (lorentzian(omega - at) + lorentzian(omega + at));
            PI / volume * poles.iter().map(pole).sum::<f64>()
        };
        Ok(ConductivityRecord {
            direction: spec.direction(),
            drude_weight: (-0.5 * kinetic_energy - regular_weight) / volume,
            kinetic_energy,
            current,
            regular_weight,
            change: (regular_weight - half).abs() / volume,
            curve: omega.iter().map(at).collect(),
        })
    }

    /// Whether D no longer changes with the steps.
    pub(super) fn converged(&self, sites: usize) -> bool {
        self.change <= SAME * (0.5 * self.kinetic_energy / sites as f64).abs()
    }
}

impl fmt::Display for ConductivityRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y] = self.direction;
        write!(f, "conductivity along [{x}, {y}]: Drude weight {:.10}", self.drude_weight)?;
        writeln!(f, " (change {:.1e} from half of the steps)", self.change)?;
        write!(f, "<K> {:.10}, <J> {:.10}", self.kinetic_energy, self.current)?;
        write!(f, ", sum of |<n|J|0>|^2/w {:.10}", self.regular_weight)
    }
}
