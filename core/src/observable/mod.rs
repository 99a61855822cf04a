//! An observable is an operator: ⟨O⟩ of any operator, Hermitian or not, for the whole system, per site or per pair of sites.
//!
//! ```text
//! text of a model file ─ read ─┐
//! sum!, operator::build ───────┼→ Observable (named operators) → distinct products → the family's averages → Averages
//! standard lists ──────────────┘
//! ```
//!
//! An operator is a linear combination of normal-ordered products, so all that a family of states has to compute is the average
//! of a product ([`evaluate`] collects the distinct ones): in exact diagonalisation by moves of rows and columns on the device
//! that holds the vector, for a molecule from its density matrices, along a chain from ψ around one site. Products that change
//! a number which the sector fixes have average zero and are left out, and P and P† are computed once, since states are real.
//! (Because of that, O and its Hermitian part have the same average; i(O − O†) has average zero.)
//!
//! | file | question it answers |
//! |---|---|
//! | `average` | how are the numbers laid out, in memory and in JSON? |
//! | `evaluate` | which products are needed, and what do they add up to? |
//! | `standard` | which observables does every run report? |
//! | `read` | what does the text of an observable mean on this lattice? |
//!
//! A new standard observable is one entry of a list in `standard`; reports, JSON and all families follow.

mod average;
mod evaluate;
mod read;
mod standard;
#[cfg(test)]
mod tests;

pub use average::{Average, Averages};
pub use evaluate::evaluate;
pub use evaluate::{Evaluation, most_electrons};
pub use read::{Names, ParameterValue, ReadError, read_observable, read_operator};
pub use standard::{one_body, pairs, sites};

use crate::operator::Operator;
use rayon::prelude::*;

/// How many values an observable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    Whole,
    /// One value per site.
    Sites,
    /// One value per ordered pair of sites.
    Pairs,
}

/// A named operator, or one per site or pair of sites.
#[derive(Clone, Debug, PartialEq)]
pub struct Observable {
    /// Its name in reports.
    pub name: String,
    /// How many values it has.
    pub shape: Shape,
    /// The operators: one; one per site; or one per pair of sites, row by row.
    pub operators: Vec<Operator>,
    /// Numbers of the operators that stand for no place: their values are NaN.
    pub left_out: Vec<usize>,
}

impl Observable {
    /// ⟨O⟩ of one operator.
    pub fn scalar(name: &str, operator: Operator) -> Observable {
        Observable { name: name.into(), shape: Shape::Whole, operators: vec![operator], left_out: Vec::new() }
    }

    /// ⟨O_i⟩ of every site.
    pub fn by_site(name: &str, sites: usize, operator: impl Fn(usize) -> Operator) -> Observable {
        Observable {
            name: name.into(),
            shape: Shape::Sites,
            operators: (0..sites).map(operator).collect(),
            left_out: Vec::new(),
        }
    }

    /// ⟨O_ij⟩ of every ordered pair of sites, i = j included.
    pub fn by_pair(name: &str, sites: usize, operator: impl Fn(usize, usize) -> Operator + Sync) -> Observable {
        let operators = (0..sites * sites).into_par_iter().map(|k| operator(k / sites, k % sites)).collect();
        Observable { name: name.into(), shape: Shape::Pairs, operators, left_out: Vec::new() }
    }

    /// The values of its operators as its average.
    pub fn average(&self, mut values: Vec<f64>) -> Average {
        self.left_out.iter().for_each(|place| values[*place] = f64::NAN);
        match self.shape {
            Shape::Whole => Average::Whole(values.first().copied().unwrap_or(f64::NAN)),
            Shape::Sites => Average::Sites(values.into()),
            Shape::Pairs => Average::of_pairs(values),
        }
    }
}
