//! Who is told of a run: a callable of Python's, and a list of what was said.

use crate::calls::SIGINT;
use eigenforge::dmrg::SweepProgress;
use eigenforge::problem::run::RunObserver;
use eigenforge::runtime::interrupt;
use eigenforge::runtime::solvers::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// What a run said on its way, and what its callable raised.
#[derive(Default)]
pub(crate) struct Told {
    remarks: Mutex<Vec<String>>,
    raised: Mutex<Option<PyErr>>,
}

impl Told {
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The outcome of a run, or what its callable raised, which ended it.
    pub(crate) fn checked<T>(&self, found: PyResult<T>) -> PyResult<T> {
        match self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => {
                interrupt::clear();
                Err(error)
            }
            None => found,
        }
    }
}

/// The observer of a call.
pub(crate) struct Observer {
    progress: Option<Py<PyAny>>,
    told: Arc<Told>,
}

impl Observer {
    pub(crate) fn new(progress: Option<Py<PyAny>>, told: Arc<Told>) -> Observer {
        Observer { progress, told }
    }

    /// Calls the callable with a dictionary; what it raises ends the run.
    fn tell(&self, entries: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) {
        let Some(call) = &self.progress else { return };
        Python::attach(|py| {
            let dictionary = PyDict::new(py);
            let called = entries(&dictionary).and_then(|()| call.call1(py, (dictionary,)));
            if let Err(error) = called {
                self.told.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                interrupt::stop(SIGINT);
            }
        });
    }
}

impl RunObserver for Observer {
    fn remark(&self, text: &str) {
        self.told.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
    }

    fn iteration(&self, progress: &Progress) {
        self.tell(|entries| {
            entries.set_item("phase", progress.phase.name())?;
            entries.set_item("iteration", progress.iteration)?;
            entries.set_item("energies", progress.energies.clone())?;
            entries.set_item("residual", progress.residual)?;
            entries.set_item("tolerance", progress.tolerance)?;
            entries.set_item("elapsed", progress.elapsed)?;
            entries.set_item("remaining", progress.remaining)
        });
    }

    fn bond(&self, progress: &SweepProgress<'_>) {
        self.tell(|entries| {
            entries.set_item("phase", "sweep")?;
            entries.set_item("iteration", progress.sweep)?;
            entries.set_item("part", progress.part)?;
            entries.set_item("energies", vec![progress.bond.energy])?;
            entries.set_item("elapsed", progress.elapsed)
        });
    }
}
