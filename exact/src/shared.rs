//! One compiled text for models that differ in coefficients only, as the points of a sweep do.
//!
//! In: models. Out: the same, those with texts that are equal but for their coefficients sharing one: what differs is an argument of
//! its kernels. A model's numbers do not depend on whether it shares a text.

use super::model::Model;
use super::solve::RunError;
use super::way::Request;
use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::FamilyError;
use eigenforge_product::PrepareError;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::{CoefficientArguments, CollectedCoefficients};
use eigenforge_templates::{ScalarType, TextError};
use std::sync::Arc;

/// Why models cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// A plan could not be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A text could not be made.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl From<ShareError> for RunError {
    fn from(error: ShareError) -> RunError {
        match error {
            ShareError::Operator(error) => error.into(),
            ShareError::Text(error) => PrepareError::Text(error).into(),
        }
    }
}

/// Lets models share compiled kernels where they differ in coefficients only, for vectors of `T`; returns how many texts they
/// have.
///
/// # Errors
/// A model that cannot be planned.
pub fn share_kernels<T: Scalar>(models: &mut [Model]) -> Result<usize, ShareError> {
    let mut sharing = SharedKernels::default();
    for model in models.iter() {
        sharing.add(model, T::TYPE)?;
    }
    let arguments = sharing.arguments();
    for (model, arguments) in models.iter_mut().zip(arguments) {
        model.share_arguments(arguments);
    }
    Ok(sharing.texts())
}

/// Finds out which models share a text, without keeping the models.
#[derive(Default)]
pub struct SharedKernels {
    /// The number of each model's text; `None` for a stored matrix, whose coefficients are data, and for a symmetry sector.
    text_of: Vec<Option<usize>>,
    /// The coefficients of the models of each text.
    texts: Vec<Vec<CollectedCoefficients>>,
}

impl SharedKernels {
    /// Adds a model.
    ///
    /// # Errors
    /// As of [`share_kernels`].
    pub fn add(&mut self, model: &Model, scalar: ScalarType) -> Result<(), ShareError> {
        if model.working().basis().is_listed() || model.working().way().stores_matrix() {
            self.add_stored();
            return Ok(());
        }
        let request = Request { scalar, constant: 0.0, arguments: None, room: None };
        let found = model.working().planned(&request)?.0.coefficients()?;
        let number = self.texts.iter().position(|text| text[0].is_alike(&found));
        let number = number.unwrap_or_else(|| {
            self.texts.push(Vec::new());
            self.texts.len() - 1
        });
        self.texts[number].push(found);
        self.text_of.push(Some(number));
        Ok(())
    }

    /// Adds a model whose matrix is stored, so that no text of a multiply is its own.
    pub fn add_stored(&mut self) {
        self.text_of.push(None);
    }

    /// How many texts there are.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// For each text, its models (counted from 1), how many coefficients are numbers, and the values of those that are arguments.
    /// Every line ends in a line feed.
    pub fn describe(&self) -> String {
        const SHOWN: usize = 8;
        let texts = self.texts.iter().enumerate().map(|(number, text)| {
            let models = (1..).zip(&self.text_of).filter(|(_, of)| **of == Some(number)).map(|(model, _)| model.to_string());
            let models = models.collect::<Vec<_>>().join(", ");
            let arguments = CoefficientArguments::new(text).unwrap_or_default();
            let (all, count) = (arguments.constants() + arguments.len(), arguments.len());
            let values: Vec<Vec<f64>> = text.iter().filter_map(|own| arguments.values(own)).collect();
            let column = |k: usize| values.iter().map(|own| own[k].to_string()).collect::<Vec<_>>().join(", ");
            let lines = (0..count.min(SHOWN)).map(|k| format!("           coefficients[{k}] = {}\n", column(k)));
            let more = if count > SHOWN { format!("           and {} more\n", count - SHOWN) } else { String::new() };
            format!(
                "kernels  text {} of {}, for points {models}: of {all} coefficients {count} differ and are arguments\n{}{more}",
                number + 1,
                self.texts.len(),
                lines.collect::<String>()
            )
        });
        texts.collect()
    }

    /// The arguments of each model, in the order in which they were added; `None` where all coefficients are numbers.
    pub fn arguments(&self) -> Vec<Option<Arc<CoefficientArguments>>> {
        let of = |text: &Vec<_>| CoefficientArguments::new(text).filter(|found| !found.is_empty()).map(Arc::new);
        let arguments: Vec<Option<Arc<CoefficientArguments>>> = self.texts.iter().map(of).collect();
        self.text_of.iter().map(|number| arguments[(*number)?].clone()).collect()
    }
}

impl FamilyError for ShareError {}
