//! What a text may speak of: sites, lattice, parameters; and which parameters it has read.

use crate::lattice::Lattice;
use crate::operator::SiteKind;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// One number for all sites, bonds and pairs: `u`, and `u[i]` is the same.
    One(f64),
    /// A list: `u[i]` by site, or by the number of a bond.
    List(Vec<f64>),
    /// A list of lists: `j[p][q]` by pair, or a list of pairs of sites.
    Rows(Vec<Vec<f64>>),
}

impl ParameterValue {
    /// All its numbers.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            ParameterValue::One(value) => vec![*value],
            ParameterValue::List(values) => values.clone(),
            ParameterValue::Rows(rows) => rows.concat(),
        }
    }
}

/// What a text may speak of.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    /// What each site carries; of a molecule each orbital.
    pub kinds: Vec<SiteKind>,
    /// The lattice; none of a molecule.
    pub lattice: Option<&'a Lattice>,
    parameters: Vec<(String, ParameterValue)>,
    /// Of each parameter that was read, how many of its elements and of the columns of its lists: one more than the last of them, or all.
    reads: RefCell<BTreeMap<String, [usize; 2]>>,
}

impl<'a> Names<'a> {
    /// Sites, the lattice if there is one, and the model's parameters.
    pub fn new(
        kinds: Vec<SiteKind>,
        lattice: Option<&'a Lattice>,
        parameters: Vec<(String, ParameterValue)>,
    ) -> Names<'a> {
        Names { kinds, lattice, parameters, reads: RefCell::default() }
    }

    /// The parameters by name.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.parameters.iter().map(|(name, parameter)| (name.as_str(), parameter))
    }

    /// The parameter of a name.
    pub(super) fn parameter(&self, name: &str) -> Option<&ParameterValue> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, parameter)| parameter)
    }

    /// Notes that so many elements of a parameter were read.
    pub(super) fn read(&self, name: &str, elements: usize) {
        self.note_read(name, [elements, 0]);
    }

    /// Notes that so many columns of a parameter's lists were read.
    pub(super) fn read_columns(&self, name: &str, columns: usize) {
        self.note_read(name, [0, columns]);
    }

    fn note_read(&self, name: &str, read: [usize; 2]) {
        if self.parameter(name).is_some() {
            let mut reads = self.reads.borrow_mut();
            let most = reads.entry(name.into()).or_default();
            *most = [read[0].max(most[0]), read[1].max(most[1])];
        }
    }

    /// Notes that a whole parameter was read.
    pub fn note(&self, name: &str) {
        self.note_read(name, [usize::MAX; 2]);
    }

    /// How many elements of a parameter, and columns of its lists, texts have read so far; `None` if they have not named it.
    pub fn elements_read(&self, name: &str) -> Option<[usize; 2]> {
        self.reads.borrow().get(name).copied()
    }
}
