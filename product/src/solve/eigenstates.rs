//! The states that a solve found, with what it took.

use eigenforge_runtime::solvers::{self, Eigenpairs, Level, StopReason};
use eigenforge_runtime::{Device, LinearOperator, Scalar, SolveError};
use eigenforge_templates::Cost;

/// The states of an operator that were asked for.
#[derive(Debug)]
pub struct Eigenstates<T: Scalar = f64> {
    device: Device,
    energies: Vec<f64>,
    levels: Vec<Level>,
    constant: f64,
    pairs: Eigenpairs<T>,
    cost: Cost,
    setup_seconds: f64,
    multiply_seconds: Option<f64>,
}

impl<T: Scalar> Eigenstates<T> {
    /// Eigenpairs of an operator on a device, from which `constant` was taken out; times a multiply.
    ///
    /// # Errors
    /// The device's.
    pub fn new(
        (operator, device): (&dyn LinearOperator<T>, &Device),
        (pairs, setup_seconds): (Eigenpairs<T>, f64),
        constant: f64,
    ) -> Result<Eigenstates<T>, SolveError> {
        Ok(Eigenstates {
            device: device.clone(),
            energies: pairs.values.iter().map(|value| value + constant).collect(),
            levels: pairs.levels.iter().map(|level| Level { value: level.value + constant, ..level.clone() }).collect(),
            constant,
            cost: operator.cost(),
            setup_seconds,
            multiply_seconds: solvers::time_multiply(operator, &pairs)?,
            pairs,
        })
    }

    /// The first energy: the lowest, unless another part of the spectrum was asked for.
    pub fn energy(&self) -> f64 {
        self.energies[0]
    }

    /// The requested energies, the lowest ascending, the highest descending, others by their distance from the energy asked for; of a molecule in Hartree, core included.
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }

    /// The energy that all basis states share; of a molecule the core energy, and a potential common to all orbitals if the integrals
    /// contain one. Energies and levels contain it; the values of [`Eigenstates::eigenpairs`] do not, so a large constant costs them no
    /// digits.
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// ‖Hx − λx‖ of each state, recomputed in f64 after the solve.
    pub fn residuals(&self) -> &[f64] {
        &self.pairs.residuals
    }

    /// Energy levels with their multiplicities in this sector or space.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Why the solver stopped.
    pub fn stop(&self) -> StopReason {
        self.pairs.stop
    }

    /// Everything the solver reports; its values leave out [`Eigenstates::constant`], and its vectors are in the order in which H was
    /// multiplied.
    pub fn eigenpairs(&self) -> &Eigenpairs<T> {
        &self.pairs
    }

    /// The device it ran on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Least work of one multiply.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Seconds of one multiply on this device, measured after the solve.
    pub fn multiply_seconds(&self) -> Option<f64> {
        self.multiply_seconds
    }

    /// Seconds from the problem to an operator ready on the device: tables, text, compilation.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }
}
