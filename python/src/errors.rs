//! Errors of the library as Python's exceptions, which `eigenforge/errors.py` defines.

use eigenforge::Error;
use eigenforge_command::Failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The exception of an error of the library.
pub(crate) fn raised(error: Error) -> PyErr {
    let excerpt = excerpt(&error);
    let failure = Failure::new(error);
    exception(&failure, excerpt.as_deref())
}

/// The exception of an input that is refused here.
pub(crate) fn input_error(text: &str, help: &str) -> PyErr {
    let help = (!help.is_empty()).then(|| help.to_string());
    exception(&Failure { error: text.into(), help, problems: Vec::new(), kind: "input", code: 2 }, None)
}

/// The exception of a fault that is found here.
pub(crate) fn fault(text: String) -> PyErr {
    exception(&Failure { error: text, help: None, problems: Vec::new(), kind: "fault", code: 1 }, None)
}

/// The places in a model's text at which something is wrong, as the command shows them.
fn excerpt(error: &Error) -> Option<String> {
    let Error::Input(input) = error else { return None };
    let mut text = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    miette::GraphicalReportHandler::new_themed(theme).with_width(120).render_report(&mut text, input).ok()?;
    Some(text)
}

fn exception(failure: &Failure, excerpt: Option<&str>) -> PyErr {
    Python::attach(|py| made(py, failure, excerpt).unwrap_or_else(|_| PyRuntimeError::new_err(failure.error.clone())))
}

fn made(py: Python<'_>, failure: &Failure, excerpt: Option<&str>) -> PyResult<PyErr> {
    let class =
        py.import("eigenforge.errors")?.getattr(if failure.kind == "input" { "InputError" } else { "RunError" })?;
    let problems = PyList::empty(py);
    for problem in &failure.problems {
        let entry = PyDict::new(py);
        entry.set_item("error", &problem.error)?;
        entry.set_item("help", problem.help.as_deref())?;
        entry.set_item("line", problem.line)?;
        entry.set_item("column", problem.column)?;
        problems.append(entry)?;
    }
    let arguments = (failure.error.as_str(), failure.help.as_deref(), problems, excerpt);
    Ok(PyErr::from_value(class.call1(arguments)?))
}
