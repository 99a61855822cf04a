//! H on a device: the one type that every solver multiplies with.

use super::engine::{ProductEngine, placed_engine};
use super::error::PrepareError;
use super::multiply::{Multiply, NormBounds};
use super::plan::MultiplyPlan;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, PartOrder, Scalar, Vector, interrupt};
use eigenforge_templates::{Cost, KernelText};
use std::sync::Arc;

/// What makes a first guess of the lowest state on a device.
type Guess<'a> = Box<dyn Fn(&Device) -> Result<Option<ElementFunction>, DeviceError> + Send + Sync + 'a>;

/// H of one problem on one device, or on that of one of several ranks.
pub struct Hamiltonian<'a> {
    multiply: Arc<dyn Multiply>,
    engine: Box<dyn ProductEngine>,
    bounds: NormBounds,
    /// Whether vectors hold real and imaginary parts, and how.
    complex: bool,
    part_order: PartOrder,
    guess: Option<Guess<'a>>,
}

impl<'a> Hamiltonian<'a> {
    /// Puts a multiply on a device: fits it to the device, compiles its kernels (where kernels run) and uploads its tables. `name` is that of
    /// the problem in messages.
    ///
    /// # Errors
    /// The device's: too little memory, kernels that do not compile.
    pub fn new(plan: MultiplyPlan, name: &str, device: &Device) -> Result<Hamiltonian<'a>, PrepareError> {
        Hamiltonian::placed(plan, None, name, device)
    }

    /// The same with an edited text, which the CPU device does not use. Its kernels must take what the plan passes. A stored matrix
    /// has the texts of its format on the device, and no other is taken. Vectors of a block are multiplied one after the other, all by
    /// this text.
    ///
    /// # Errors
    /// A text of a stored matrix; the device's.
    pub fn with_text(
        plan: MultiplyPlan,
        text: &KernelText,
        name: &str,
        device: &Device,
    ) -> Result<Hamiltonian<'a>, PrepareError> {
        if plan.0.kernels().is_none() {
            let (expected, found) = ("the texts of its format".into(), format!("the text {}", text.name));
            return Err(DeviceError::Arguments { what: "multiply by a stored matrix".into(), expected, found }.into());
        }
        Ok(Hamiltonian::placed(plan, Some(text), name, device)?.with_vectors_at_once(1))
    }

    fn placed(
        plan: MultiplyPlan,
        edited: Option<&KernelText>,
        name: &str,
        device: &Device,
    ) -> Result<Hamiltonian<'a>, PrepareError> {
        let (multiply, engine, bounds) = placed_engine(plan.0, edited, name, device)?;
        Ok(Hamiltonian { multiply, engine, bounds, complex: false, part_order: PartOrder::Halves, guess: None })
    }

    /// The same whose vectors hold real and imaginary parts.
    #[must_use]
    pub fn complex(self, complex: bool) -> Hamiltonian<'a> {
        Hamiltonian { complex, ..self }
    }

    /// The same whose vectors hold numbers of so many parts, one number after the other.
    #[must_use]
    pub fn of_numbers(self, parts: usize) -> Hamiltonian<'a> {
        Hamiltonian { complex: parts > 1, part_order: PartOrder::Numbers(parts), ..self }
    }

    /// The same with another first guess of the lowest state than that of its multiply.
    #[must_use]
    pub fn guessing(
        self,
        guess: impl Fn(&Device) -> Result<Option<ElementFunction>, DeviceError> + Send + Sync + 'a,
    ) -> Hamiltonian<'a> {
        Hamiltonian { guess: Some(Box::new(guess)), ..self }
    }

    /// The same, with up to `most` vectors of a block at once wherever generated kernels have a text for it, quicker or not; 1: one
    /// after the other. Without this the plan decides.
    #[must_use]
    pub fn with_vectors_at_once(mut self, most: u32) -> Hamiltonian<'a> {
        self.engine.force_several(most);
        self
    }

    /// How a block of vectors is divided among multiplies of several at once: `[4, 1]` of five.
    pub fn vectors_at_once(&self, vectors: usize) -> Vec<u32> {
        self.engine.division(vectors)
    }

    /// The way that was taken on this device, by its name in plans and reports.
    pub fn way_name(&self) -> &'static str {
        self.multiply.way_name()
    }

    /// The launch shape, or the format of a stored matrix on this device, in words.
    pub fn shape(&self) -> String {
        self.engine.format().unwrap_or_else(|| self.multiply.shape())
    }

    /// How the cards of the device get x of a stored matrix, in words.
    pub fn sharing(&self) -> Option<String> {
        self.engine.sharing()
    }

    /// Refuses vectors of another length.
    fn check<T: Scalar>(&self, x: &[&Vector<T>], y: &[Vector<T>]) -> Result<(), DeviceError> {
        interrupt::check()?;
        let n = self.multiply.dimension();
        match x.iter().map(|x| x.len()).chain(y.iter().map(Vector::len)).find(|length| *length != n) {
            None => Ok(()),
            Some(found) => {
                let (expected, found) = (format!("vectors of {n} elements"), found.to_string());
                Err(DeviceError::Arguments { what: "multiply by H".into(), expected, found })
            }
        }
    }
}

impl<T: Scalar> LinearOperator<T> for Hamiltonian<'_> {
    fn dimension(&self) -> usize {
        self.multiply.dimension()
    }

    fn device(&self) -> &Device {
        self.engine.typed::<T>().device()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.check(&[x], std::slice::from_ref(y))?;
        self.engine.typed().apply(x, y)
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.check(&[x], std::slice::from_ref(y))?;
        self.engine.typed().multiply(x, y)
    }

    /// Several at once where that is predicted to be quicker, else one after the other without waiting in between: what a small
    /// sector takes is mostly the wait.
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.check(x, y)?;
        self.engine.typed().apply_block(x, y)
    }

    fn multiply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<(), DeviceError> {
        self.check(x, y)?;
        self.engine.typed().multiply_block(x, y)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        self.engine.typed::<T>().diagonal()
    }

    fn guess(&self) -> Result<Option<ElementFunction>, DeviceError> {
        let device = self.engine.typed::<T>().device();
        self.guess.as_ref().map_or_else(|| self.multiply.guess(device), |guess| guess(device))
    }

    fn is_complex(&self) -> bool {
        self.complex
    }

    fn part_order(&self) -> PartOrder {
        self.part_order
    }

    fn norm_bound(&self) -> f64 {
        self.bounds.whole
    }

    fn moving_bound(&self) -> f64 {
        self.bounds.moving
    }

    fn cost(&self) -> Cost {
        self.engine.typed::<T>().cost()
    }
}
