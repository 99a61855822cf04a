//! One text for several plans that differ in coefficients: which of them are arguments, and their values for each plan.

use super::coefficients::{CoefficientArguments, CoefficientWriter, CollectedCoefficients, NAME};
use super::{GeneralPlan, GeneralShape, KroneckerPlan, KroneckerShape};
use crate::launch::{Element, Parameter};
use crate::text::TextError;

macro_rules! shared_texts {
    ($($plan:ident: $shape:ty),*) => {$(
        impl $plan {
            /// The coefficients of the multiply and, after them, of the diagonal as an element function.
            ///
            /// # Errors
            /// A template and the plan do not match.
            pub fn collect_coefficients(&self) -> Result<CollectedCoefficients, TextError> {
                let plan = $plan { coefficients: None, ..self.clone() };
                let writer = CoefficientWriter::collector();
                let text = plan.written(&writer)?;
                let multiply = writer.collected(text);
                let writer = CoefficientWriter::collector();
                let text = plan.diagonal_written(&writer).source;
                Ok(multiply.followed_by(writer.collected(text)))
            }

            /// The plan in another shape, with numbers for coefficients.
            pub fn with_shape(&self, shape: $shape) -> $plan {
                $plan { shape, coefficients: None, ..self.clone() }
            }

            /// The plan with arguments in place of coefficients that differ, if its text is the one that they are of.
            ///
            /// # Errors
            /// As of [`Self::collect_coefficients`].
            pub fn sharing(&self, arguments: &CoefficientArguments) -> Result<$plan, TextError> {
                let fits = arguments.fit(&self.collect_coefficients()?);
                Ok($plan { coefficients: fits.then(|| arguments.clone()), ..self.clone() })
            }

            /// The arguments, if the text is still the one that they are of: a plan whose shape was changed since has numbers.
            pub(super) fn fitting_arguments(&self) -> Option<&CoefficientArguments> {
                let arguments = self.coefficients.as_ref()?;
                arguments.fit(&self.collect_coefficients().ok()?).then_some(arguments)
            }

            /// The elements of the array `coefficients`; `None` of a plan that shares no text.
            ///
            /// # Errors
            /// As of [`Self::collect_coefficients`].
            pub fn argument_values(&self) -> Result<Option<Vec<f64>>, TextError> {
                let Some(arguments) = &self.coefficients else { return Ok(None) };
                let values = arguments.values(&self.collect_coefficients()?);
                // Where the text has numbers nothing reads the array.
                Ok(Some(values.unwrap_or_else(|| vec![0.0; arguments.len()])))
            }

            /// The array as a parameter.
            pub(super) fn coefficient_table(&self) -> Option<Parameter> {
                let arguments = self.coefficients.as_ref()?;
                Some(Parameter::table(NAME, Element::F64, arguments.len() as u64))
            }
        }
    )*};
}
shared_texts!(KroneckerPlan: KroneckerShape, GeneralPlan: GeneralShape);
