//! A way of the cores alone: rows on the host, with what is known of them before they are multiplied.

use super::error::PrepareError;
use super::host::{HostProduct, HostRows};
use super::multiply::{GeneratedKernels, Multiply, NormBounds};
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use std::any::Any;

/// The multiply by rows on the host; of one of several ranks by its own rows, with the numbers of all.
pub struct CoresMultiply<R> {
    /// The rows.
    pub rows: R,
    /// A bound of the norm.
    pub norm: f64,
    /// The least work of one multiply.
    pub cost: Cost,
    /// How it is done, in words.
    pub shape: &'static str,
}

impl<R: HostRows + Clone> Multiply for CoresMultiply<R> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn way_name(&self) -> &'static str {
        self.shape
    }

    fn scalar(&self) -> ScalarType {
        ScalarType::F64
    }

    fn dimension(&self) -> usize {
        self.rows.dimension()
    }

    fn shape(&self) -> String {
        self.shape.into()
    }

    fn plan_text(&self) -> String {
        self.shape()
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        None
    }

    fn diagonal_text(&self) -> ElementFunctionText {
        ElementFunctionText::stored_diagonal(self.dimension() as u64)
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        Ok(Box::new(self.rows.clone()))
    }

    fn norm_bounds(&self) -> NormBounds {
        NormBounds { whole: self.norm, moving: self.norm }
    }
}
