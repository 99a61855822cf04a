//! A planned multiply, as users hold it.

use super::error::PrepareError;
use super::multiply::{Multiply, ShownText};
use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::GeneratedFile;
use eigenforge_runtime::NamedTables;
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, Launch};
use std::sync::Arc;

/// A planned multiply by one H: its text, its launch shape and its cost. Clones share tables.
#[derive(Clone)]
pub struct MultiplyPlan(pub Arc<dyn Multiply>);

impl MultiplyPlan {
    /// The plan of a way to multiply.
    pub fn new(way: impl Multiply + 'static) -> MultiplyPlan {
        MultiplyPlan(Arc::new(way))
    }

    /// Rows of the matrix.
    pub fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// The launch shape in words.
    pub fn shape(&self) -> String {
        self.0.shape()
    }

    /// The plan as RON.
    pub fn plan_text(&self) -> String {
        self.0.plan_text()
    }

    /// The least work of one multiply.
    pub fn cost(&self) -> Cost {
        self.0.cost()
    }

    /// The generated CUDA; of a stored matrix that of its format on an H200.
    ///
    /// # Errors
    /// A plan that has no text.
    pub fn text(&self) -> Result<KernelText, PrepareError> {
        match self.0.kernels() {
            Some(kernels) => Ok(kernels.text()?),
            None => Ok(self.0.shown_texts()?.remove(0).text),
        }
    }

    /// The launches of one multiply, in order. Lengths that packing decides are left open.
    ///
    /// # Errors
    /// A shape that no device runs.
    pub fn launches(&self) -> Result<Vec<Launch>, PrepareError> {
        match self.0.kernels() {
            Some(kernels) => Ok(kernels.launches(&NamedTables::new())?),
            None => Ok(self.0.shown_texts()?.remove(0).launches),
        }
    }

    /// All its texts, those of several vectors at once included, as files with their launches.
    ///
    /// # Errors
    /// A plan that has no text or no launches.
    pub fn generated(&self) -> Result<Vec<GeneratedFile>, PrepareError> {
        let file = |ShownText { text, launches, cost, when }| GeneratedFile::new(text, launches, cost).launched(when);
        Ok(self.0.shown_texts()?.into_iter().map(file).collect())
    }

    /// The same in each launch shape that is worth timing, its own first.
    pub fn candidates(&self) -> Vec<MultiplyPlan> {
        let mut candidates: Vec<MultiplyPlan> = self.0.candidates().into_iter().map(MultiplyPlan).collect();
        if candidates.is_empty() {
            candidates.push(self.clone());
        }
        candidates
    }

    /// The same H as a stored matrix with states in the same order; `None` where there is none.
    ///
    /// # Errors
    /// No room for the matrix.
    pub fn stored(&self) -> Result<Option<MultiplyPlan>, OperatorError> {
        Ok(self.0.stored()?.map(MultiplyPlan))
    }

    /// The same with a change of one way's plan; `None` where it goes another way.
    #[must_use]
    pub fn changed<W: Clone + 'static>(&self, change: impl FnOnce(&mut W)) -> Option<MultiplyPlan>
    where
        MultiplyPlan: From<W>,
    {
        let mut way = self.way::<W>()?.clone();
        change(&mut way);
        Some(way.into())
    }

    /// The diagonal as an element function of vector programs: its CUDA text and parameters.
    pub fn diagonal_text(&self) -> ElementFunctionText {
        self.0.diagonal_text()
    }

    /// The plan of one way to multiply, to look at; `None` where it goes another way.
    pub fn way<W: 'static>(&self) -> Option<&W> {
        self.0.as_any().downcast_ref()
    }
}
