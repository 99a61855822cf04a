//! A way to multiply at a place: the cores of the host, a card or several, or one of several ranks.
//!
//! In: a [`Multiply`] and a device. Out: a [`ProductEngine`], which is the matrix as solvers see it.

use super::error::PrepareError;
use super::host::HostEngine;
use super::kernels::KernelEngine;
use super::multiply::{Multiply, NormBounds};
use super::rank::RankEngine;
use crate::sparse::SparseOperator;
use eigenforge_runtime::{Device, DeviceError, LinearOperator, PerScalar, Scalar};
use eigenforge_templates::KernelText;
use std::marker::PhantomData;
use std::sync::Arc;

/// H on one device, for vectors of either type of number.
pub trait ProductEngine: LinearOperator<f64> + LinearOperator<f32> {
    /// How a block of vectors is divided among multiplies of several at once: `[4, 1]` of five.
    fn division(&self, vectors: usize) -> Vec<u32> {
        vec![1; vectors]
    }

    /// Takes up to `most` vectors at once wherever kernels have a text for it, quicker or not; 1: one after the other.
    fn force_several(&mut self, _most: u32) {}

    /// The format of a stored matrix on this device, in words.
    fn format(&self) -> Option<String> {
        None
    }

    /// How the cards of the device get x of a stored matrix, in words.
    fn sharing(&self) -> Option<String> {
        None
    }
}

impl ProductEngine for HostEngine {}

impl ProductEngine for SparseOperator {
    fn format(&self) -> Option<String> {
        self.plan().map(ToString::to_string)
    }

    fn sharing(&self) -> Option<String> {
        self.halo().map(ToString::to_string)
    }
}

struct OperatorOfType<'a>(PhantomData<&'a ()>);

impl<'a> PerScalar for OperatorOfType<'a> {
    type Of<T: Scalar> = &'a dyn LinearOperator<T>;
}

impl dyn ProductEngine {
    /// The matrix for vectors of one type.
    pub fn typed<T: Scalar>(&self) -> &dyn LinearOperator<T> {
        T::choose::<OperatorOfType<'_>>(self, self)
    }
}

/// A multiply as it runs on a device, what runs it, and bounds of its norm.
pub(super) type PlacedEngine = (Arc<dyn Multiply>, Box<dyn ProductEngine>, NormBounds);

/// Fits a multiply to a device, compiles and uploads. `edited` stands in for the generated text.
///
/// # Errors
/// The plan has no text; the device's: too little memory, kernels that do not compile.
pub(super) fn placed_engine(
    multiply: Arc<dyn Multiply>,
    edited: Option<&KernelText>,
    name: &str,
    device: &Device,
) -> Result<PlacedEngine, PrepareError> {
    let multiply = multiply.replacement(device)?.unwrap_or(multiply);
    let what = format!("one multiply of {name}");
    if let Some(ranks) = device.ranks() {
        if let Some(text) = edited {
            let (expected, found) = ("the generated texts".into(), format!("the text {}", text.name));
            return Err(DeviceError::Arguments { what: "multiply over ranks".into(), expected, found }.into());
        }
        device.check_overrides()?;
        device.check_work(&what, multiply.work())?;
        let multiply = if device.runs_kernels() { fitted(multiply, device) } else { multiply };
        let (engine, bounds) = RankEngine::new(&multiply, ranks, device)?;
        return Ok((multiply, Box::new(engine), bounds));
    }
    if let Some(engine) = multiply.own_engine(device)? {
        let bounds = multiply.norm_bounds();
        return Ok((multiply, engine, bounds));
    }
    let multiply = match edited {
        Some(_) => multiply,
        None => {
            let fitted = fitted(multiply, device);
            let vector = fitted.dimension() as u64 * fitted.scalar().bytes() as u64;
            fitted.shared_among(device.cards_for(vector)?).unwrap_or(fitted)
        }
    };
    device.check_work(&what, multiply.work())?;
    if let Some(kernels) = multiply.kernels().filter(|_| device.runs_kernels()) {
        let text = match edited {
            Some(text) => text.clone(),
            None => kernels.text()?,
        };
        let (engine, bounds) = KernelEngine::new(multiply.clone(), &text, device)?;
        return Ok((multiply, Box::new(engine), bounds));
    }
    device.check_overrides()?;
    let bounds = multiply.norm_bounds();
    let about = (multiply.dimension(), bounds.whole, multiply.cost());
    let engine = Box::new(HostEngine::new(device, multiply.host()?, about));
    Ok((multiply, engine, bounds))
}

/// The multiply for the warps of a device.
fn fitted(multiply: Arc<dyn Multiply>, device: &Device) -> Arc<dyn Multiply> {
    multiply.with_warp(device.warp()).unwrap_or(multiply)
}
