//! H on a device: the one type that every solver multiplies with.

use super::model::Model;
use eigenforge_product::{MultiplyPlan, Placed, PrepareError, place};
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Scalar, Vector};
use eigenforge_templates::{Cost, KernelText, ScalarType};

/// H of one model on one device.
pub struct Hamiltonian {
    placed: Placed,
    /// Whether vectors hold real and imaginary parts.
    complex: bool,
}

impl Hamiltonian {
    /// Plans the multiply by all of H, generates and compiles its kernels (where kernels run) and uploads its tables.
    ///
    /// # Errors
    /// A plan that cannot be made; the device's.
    pub fn new(model: &Model, scalar: ScalarType, device: &Device) -> Result<Hamiltonian, PrepareError> {
        Hamiltonian::with_plan(model, model.multiply(scalar)?, device)
    }

    /// The multiply of a given plan, such as another shape of tile: it must be of this model. A plan by
    /// [`Model::multiply_without_constant`] leaves out the model's [constant](Model::constant), as solvers do.
    ///
    /// # Errors
    /// The device's.
    pub fn with_plan(model: &Model, plan: MultiplyPlan, device: &Device) -> Result<Hamiltonian, PrepareError> {
        Hamiltonian::placed(model, plan, None, device)
    }

    /// The same with an edited text, which the CPU device does not use. Its kernels must take what the plan passes. A stored matrix
    /// has the texts of its format on the device, and no other is taken. Vectors of a block are multiplied one after the other, all by
    /// this text.
    ///
    /// # Errors
    /// A text of a stored matrix; the device's.
    pub fn with_text(
        model: &Model,
        plan: MultiplyPlan,
        text: &KernelText,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        if plan.0.kernels().is_none() {
            let (expected, found) = ("the texts of its format".into(), format!("the text {}", text.name));
            return Err(DeviceError::Arguments { what: "multiply by a stored matrix".into(), expected, found }.into());
        }
        Ok(Hamiltonian::placed(model, plan, Some(text), device)?.with_vectors_at_once(1))
    }

    fn placed(
        model: &Model,
        plan: MultiplyPlan,
        edited: Option<&KernelText>,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        Ok(Hamiltonian { placed: place(plan.0, edited, model.name(), device)?, complex: model.is_complex() })
    }

    /// The same, with up to `most` vectors of a block at once wherever generated kernels have a text for it, quicker or not; 1: one
    /// after the other. Without this the plan decides.
    #[must_use]
    pub fn with_vectors_at_once(mut self, most: u32) -> Hamiltonian {
        self.placed.engine.force_several(most);
        self
    }

    /// How a block of vectors is divided among multiplies of several at once: `[4, 1]` of five.
    pub fn vectors_at_once(&self, vectors: usize) -> Vec<u32> {
        self.placed.engine.division(vectors)
    }

    /// The way that was taken on this device, by its name in plans and reports.
    pub fn way_name(&self) -> &'static str {
        self.placed.multiply.way_name()
    }

    /// The launch shape, or the format of a stored matrix on this device, in words.
    pub fn shape(&self) -> String {
        self.placed.engine.format().unwrap_or_else(|| self.placed.multiply.shape())
    }
}

impl<T: Scalar> LinearOperator<T> for Hamiltonian {
    fn dimension(&self) -> usize {
        self.placed.multiply.dimension()
    }

    fn device(&self) -> &Device {
        self.placed.engine.typed::<T>().device()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.placed.check(&[x], std::slice::from_ref(y))?;
        self.placed.engine.typed().apply(x, y)
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.placed.check(&[x], std::slice::from_ref(y))?;
        self.placed.engine.typed().multiply(x, y)
    }

    /// Several at once where that is predicted to be quicker, else one after the other without waiting in between: what a small
    /// sector takes is mostly the wait.
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.placed.check(x, y)?;
        self.placed.engine.typed().apply_block(x, y)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        self.placed.engine.typed::<T>().diagonal()
    }

    fn guess(&self) -> Result<Option<ElementFunction>, DeviceError> {
        self.placed.multiply.guess(self.placed.engine.typed::<T>().device())
    }

    fn is_complex(&self) -> bool {
        self.complex
    }

    fn norm_bound(&self) -> f64 {
        self.placed.bounds.whole
    }

    fn moving_bound(&self) -> f64 {
        self.placed.bounds.moving
    }

    fn cost(&self) -> Cost {
        self.placed.engine.typed::<T>().cost()
    }
}
