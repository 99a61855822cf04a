//! Checkpoints of an evolution.
//!
//! In: the state between two steps, and how far the evolution is. Out: a state on disk ([`super::super::checkpoint`]) with ψ, ψ(0) for overlaps, and
//! what the visitor has seen; from it the evolution goes on as if it had not ended, step by step.

use super::super::checkpoint::{Owner, Saver, Settings};
use super::super::run::Run;
use super::evolution::{EvolutionOptions, EvolutionVisitor, NormOfState, Start};
use super::exponential::TimeAxis;
use super::propagator::Parts;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// What the solver is called in a header.
const NAME: &str = "evolution";

/// How far an evolution is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedEvolution {
    pub steps: usize,
    pub multiplies: usize,
    /// Times that the visitor has seen.
    pub seen: usize,
    pub now: f64,
    pub bound: f64,
    /// Of H(t): the part of the bound that is an estimate, and the length of the next step.
    pub estimated: f64,
    pub length: f64,
    /// Of imaginary time.
    pub norm: NormOfState,
}

impl Default for SavedEvolution {
    fn default() -> SavedEvolution {
        let (steps, multiplies, seen, norm) = (0, 0, 0, NormOfState::new(TimeAxis::Real));
        SavedEvolution { steps, multiplies, seen, now: 0.0, bound: 0.0, estimated: 0.0, length: f64::INFINITY, norm }
    }
}

impl SavedEvolution {
    fn numbers(&self) -> [f64; 10] {
        let SavedEvolution { multiplies, seen, now, bound, estimated, length, norm, .. } = *self;
        let NormOfState { log_norm, lowest, growth, is_first, .. } = norm;
        let first = f64::from(u8::from(is_first));
        [multiplies as f64, seen as f64, now, bound, estimated, length, log_norm, lowest, growth, first]
    }

    fn of_numbers(steps: usize, numbers: &[f64]) -> Option<SavedEvolution> {
        let [multiplies, seen, now, bound, estimated, length, log_norm, lowest, growth, first] = *numbers else {
            return None;
        };
        let norm = NormOfState { log_norm, lowest, growth, is_first: first > 0.0, ..NormOfState::new(TimeAxis::Real) };
        let (multiplies, seen) = (multiplies as usize, seen as usize);
        Some(SavedEvolution { steps, multiplies, seen, now, bound, estimated, length, norm })
    }
}

/// Saves an evolution from time to time; does nothing without a folder.
pub(super) struct EvolutionSaver(Saver);

impl EvolutionSaver {
    /// # Errors
    /// A folder of another run, or one that cannot be read.
    pub(super) fn open<T: Scalar>(
        operator: &dyn LinearOperator<T>,
        options: &EvolutionOptions,
    ) -> Result<EvolutionSaver, SolveError> {
        let (scalar, settings) = (T::TYPE.cuda(), Settings::default());
        let owner = Owner { solver: NAME, dimension: operator.dimension(), states: 1, scalar, settings };
        Ok(EvolutionSaver(Saver::open(options.checkpoint.as_ref(), &owner, operator.device())?))
    }

    /// Where the evolution goes on, with the start and the state as they were; `None` from the start.
    ///
    /// # Errors
    /// Notes that the visitor cannot read, files that cannot be; the device's.
    pub(super) fn resume<T: Scalar, V: EvolutionVisitor<T>>(
        &mut self,
        run: &Run<'_, T>,
        (start, state): (&mut Start<T>, &mut Parts<T>),
        visitor: &mut V,
    ) -> Result<Option<SavedEvolution>, SolveError> {
        let Some(saved) = self.0.take_resumed() else { return Ok(None) };
        let count = state.0.len();
        let known = SavedEvolution::of_numbers(saved.iteration, &saved.scalars);
        let known = known.filter(|_| saved.vectors.len() > count && visitor.restore(&saved.notes));
        let Some(known) = known else {
            let (value, expected) =
                ("a state that cannot be read".into(), "a state of this version: use another folder");
            return Err(SolveError::Option { name: "checkpoint", value, expected });
        };
        let (of_state, of_start) = saved.vectors.split_at(count);
        for (vector, saved) in state.0.iter_mut().zip(of_state) {
            saved.restore(vector)?;
        }
        let mut own = Parts(Vec::new());
        for saved in of_start {
            let mut vector = state.0[0].duplicate()?;
            saved.restore(&mut vector)?;
            own.0.push(vector);
        }
        *start = Start::restored(run, own, count == 1)?;
        Ok(Some(known))
    }

    /// Saves the state between two steps, if it is time or a signal waits.
    ///
    /// # Errors
    /// The device's; a signal.
    pub(super) fn save_if_due<T: Scalar, V: EvolutionVisitor<T>>(
        &mut self,
        course: &SavedEvolution,
        start: &Start<T>,
        state: &Parts<T>,
        visitor: &V,
    ) -> Result<(), SolveError> {
        if !self.0.due()? {
            return Ok(());
        }
        let vectors: Vec<_> = state.0.iter().chain(&start.vectors().0).collect();
        self.0.save_with_notes(NAME, course.steps, (&course.numbers(), visitor.notes()), &vectors)
    }

    /// Signals no longer wait.
    ///
    /// # Errors
    /// A signal that came since the last save.
    pub(super) fn ended(&mut self) -> Result<(), SolveError> {
        self.0.search_has_ended()
    }
}
