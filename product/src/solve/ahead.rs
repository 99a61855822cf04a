//! What is known of a run before it: the programs of its solver, the texts that it compiles, and where it will be sooner done.
//!
//! In: a solve and a [`Machine`]. Out: a [`SolveForecast`]. Nothing is made for it that the run would not make: of listed states neither the
//! matrix nor its rows, of which only the number of elements counts.

use super::{Diagonalisation, Eigenproblem};
use crate::forecast::{SolveCourse, SolveForecast};
use crate::plan::MultiplyPlan;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{self, LaunchedProgram, MatrixOutline};
use eigenforge_runtime::{CompilationAhead, Device};
use eigenforge_templates::{KernelText, Warp};

impl<P: Eigenproblem> Diagonalisation<P> {
    /// What is known of H before it is made, multiplied in this way.
    fn outline(&self, multiply: &MultiplyPlan) -> MatrixOutline {
        MatrixOutline {
            dimension: self.problem.dimension(),
            scalar: self.scalar,
            diagonal: Some(multiply.diagonal_text()),
            guess: self.problem.guess_text(multiply),
            is_complex: self.problem.is_complex(),
        }
    }

    /// The vector programs that a run launches on a card.
    pub fn rehearsed(&self, multiply: &MultiplyPlan) -> Vec<LaunchedProgram> {
        solvers::rehearse(self.solver, &self.real_options(), &self.outline(multiply))
    }

    /// Begins to compile what goes with the multiply, and the most common of them, for a card.
    pub fn compile_ahead(&self, device: &Device, multiply: &MultiplyPlan) -> Option<CompilationAhead> {
        // What has no text is refused where it is asked for.
        let beside = P::compiled_beside(self).ok().flatten();
        solvers::compile_ahead(device, self.solver, &self.real_options(), self.outline(multiply), beside)
    }

    /// The texts that a common run compiles on a card with warps of this width: the multiply, what goes with it, and the solver's programs.
    /// Of a stored matrix the solver's alone, since the others are known when the matrix is made.
    ///
    /// # Errors
    /// A plan that has no text.
    pub fn common_texts(&self, machine: &Machine, warp: Warp) -> Result<Vec<KernelText>, P::Error> {
        let programs = |outline| solvers::common_texts(self.solver, &self.real_options(), &outline, warp);
        let Some(multiply) = P::compiled_multiply(self, machine)? else {
            let (dimension, is_complex) = (self.problem.dimension(), self.problem.is_complex());
            return Ok(programs(MatrixOutline::stored(dimension, self.scalar, is_complex)));
        };
        let fitted = multiply.0.with_warp(warp).unwrap_or_else(|| multiply.0.clone());
        let text = fitted.kernels().map(|kernels| kernels.text().map_err(crate::PrepareError::from)).transpose()?;
        let others = text.into_iter().chain(P::compiled_beside(self)?);
        Ok(others.chain(programs(self.outline(&multiply))).collect())
    }

    /// Predicts for all cores of a machine, and for its card, which is `device` if it is open.
    ///
    /// # Errors
    /// A plan that cannot be made.
    pub fn forecast(&self, machine: &Machine, device: Option<&Device>) -> Result<SolveForecast, P::Error> {
        let texts = device.map_or(Ok(Vec::new()), |device| self.common_texts(machine, device.warp()))?;
        let cold = device.map_or(Vec::new(), |device| device.cold_texts(&texts));
        self.forecast_with(machine, &cold)
    }

    /// The same where a card must compile these texts.
    ///
    /// # Errors
    /// A plan that cannot be made.
    pub fn forecast_with(&self, machine: &Machine, texts: &[&KernelText]) -> Result<SolveForecast, P::Error> {
        let course = SolveCourse::new(self.solver, &self.real_options(), self.problem.dimension(), self.scalar);
        Ok(SolveForecast::new(course, machine, P::product_seconds(self)?, texts))
    }
}
