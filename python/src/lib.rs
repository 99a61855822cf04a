//! What the Python package `eigenforge` calls.
//!
//! ```text
//! expressions, lattice, keys → the text of a model file → checked problem → report (JSON), arrays
//! operator, words, lattice     eigenforge/model.py, text   problem           arrays
//! ```
//!
//! A model of Python's is a model file: the package writes its text, and the library reads it as it reads any. `multiply` is y = H x on arrays of
//! the caller, `full_ci` that of molecules and their density matrices in PySCF's order, `calls` what every long call does (Python's lock, Ctrl-C, forks), `errors` makes exceptions.

mod arrays;
mod calls;
mod errors;
mod full_ci;
mod lattice;
mod multiply;
mod observer;
mod operator;
mod problem;
mod text;
mod words;

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these words, the program's name first; returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let code = py.detach(|| eigenforge_command::main(words));
    (0..=u8::MAX).find(|number| std::process::ExitCode::from(*number) == code).unwrap_or(1)
}

/// The verbs of the command, each with its words, such as "su3 solve", and its options without dashes.
#[pyfunction]
fn verbs() -> Vec<(String, Vec<String>)> {
    fn collect(verb: &clap::Command, path: &str, found: &mut Vec<(String, Vec<String>)>) {
        let mut inner = verb.get_subcommands().filter(|verb| verb.get_name() != "help").peekable();
        if inner.peek().is_none() {
            let names = verb.get_arguments().filter_map(|option| option.get_long()).map(String::from).collect();
            found.push((path.trim().into(), names));
        }
        inner.for_each(|verb| collect(verb, &format!("{path} {}", verb.get_name()), found));
    }
    let mut found = Vec::new();
    collect(&eigenforge_command::definition(), "", &mut found);
    found
}

#[pymodule]
mod _eigenforge {
    #[pymodule_export]
    use super::{
        command,
        full_ci::{FullCi, density_matrices, spin_squares},
        lattice::LatticeData,
        multiply::Multiply,
        operator::{HermitianConjugate, Operator, c, cdag, chirality, n, operator, products, sdots, sum},
        problem::{ProblemText, Report},
        text::{json_of_toml, toml_of_json},
        verbs,
    };

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
