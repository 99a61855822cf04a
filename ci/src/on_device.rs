//! H on a device: the one type that every solver multiplies with.

use super::{Integrals, Space, guess, way::NAME};
use eigenforge_product::{MultiplyPlan, Placed, PrepareError, place};
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Vector};
use eigenforge_templates::Cost;

/// H of a molecule on one device, or on that of one of several ranks: without the core energy, in Hartree.
pub struct CiOperator<'a> {
    placed: Placed,
    /// What a first guess is made of.
    guess: Option<(&'a Integrals, &'a Space)>,
}

impl<'a> CiOperator<'a> {
    /// Puts a multiply that was planned for a device on it: compiles, uploads.
    ///
    /// # Errors
    /// The device's: too little memory, kernels that do not compile.
    pub fn new(plan: &MultiplyPlan, device: &Device) -> Result<CiOperator<'a>, PrepareError> {
        Ok(CiOperator { placed: place(plan.0.clone(), None, NAME, device)?, guess: None })
    }

    /// The same with a first guess of the lowest state.
    #[must_use]
    pub fn with_guess(self, integrals: &'a Integrals, space: &'a Space) -> CiOperator<'a> {
        CiOperator { guess: Some((integrals, space)), ..self }
    }

    /// How the cards of the device get x of a stored matrix, in words.
    pub(super) fn sharing(&self) -> Option<String> {
        self.placed.engine.sharing()
    }

    fn inner(&self) -> &dyn LinearOperator<f64> {
        self.placed.engine.typed()
    }
}

impl LinearOperator<f64> for CiOperator<'_> {
    fn dimension(&self) -> usize {
        self.placed.multiply.dimension()
    }

    fn device(&self) -> &Device {
        self.inner().device()
    }

    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64, DeviceError> {
        self.placed.check(&[x], std::slice::from_ref(y))?;
        self.inner().apply(x, y)
    }

    fn multiply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        self.placed.check(&[x], std::slice::from_ref(y))?;
        self.inner().multiply(x, y)
    }

    fn apply_block(&self, x: &[&Vector<f64>], y: &mut [Vector<f64>]) -> Result<Vec<f64>, DeviceError> {
        self.placed.check(x, y)?;
        self.inner().apply_block(x, y)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        self.inner().diagonal()
    }

    fn guess(&self) -> Result<Option<ElementFunction>, DeviceError> {
        self.guess.map_or(Ok(None), |(integrals, space)| guess::guess(integrals, space, self.device()))
    }

    fn norm_bound(&self) -> f64 {
        self.inner().norm_bound()
    }

    fn cost(&self) -> Cost {
        self.inner().cost()
    }
}
