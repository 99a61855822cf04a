//! Averages by name, as a number, a list by site, or a matrix by pair of sites.
//!
//! In JSON a number, a list, a list of rows; `null` stands for a number that is not finite and is read back as NaN.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The values of one observable.
#[derive(Clone, Debug, PartialEq)]
pub enum Average {
    /// ⟨O⟩
    Whole(f64),
    /// ⟨O_i⟩
    Sites(Array1<f64>),
    /// ⟨O_ij⟩
    Pairs(Array2<f64>),
}

/// Averages by the names of their observables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Averages(BTreeMap<String, Average>);

impl Average {
    /// A square matrix from its elements, row by row; a list if they are not as many as a square has.
    pub(super) fn of_pairs(values: Vec<f64>) -> Average {
        let sites = values.len().isqrt();
        match Array2::from_shape_vec((sites, sites), values.clone()) {
            Ok(matrix) => Average::Pairs(matrix),
            Err(_) => Average::Sites(values.into()),
        }
    }

    /// All its values, row by row.
    pub fn values(&self) -> Vec<f64> {
        match self {
            Average::Whole(value) => vec![*value],
            Average::Sites(values) => values.to_vec(),
            Average::Pairs(values) => values.iter().copied().collect(),
        }
    }
}

impl Averages {
    /// The values of an observable.
    pub fn get(&self, name: &str) -> Option<&Average> {
        self.0.get(name)
    }

    /// ⟨O⟩ of an observable with one value.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Average::Whole(value)) => Some(*value),
            _ => None,
        }
    }

    /// ⟨O_i⟩ of an observable with one value per site.
    pub fn sites(&self, name: &str) -> Option<ArrayView1<'_, f64>> {
        match self.get(name) {
            Some(Average::Sites(values)) => Some(values.view()),
            _ => None,
        }
    }

    /// ⟨O_ij⟩ of an observable with one value per pair of sites.
    pub fn pairs(&self, name: &str) -> Option<ArrayView2<'_, f64>> {
        match self.get(name) {
            Some(Average::Pairs(values)) => Some(values.view()),
            _ => None,
        }
    }

    /// Adds an observable, in place of one of the same name.
    pub fn insert(&mut self, name: &str, average: Average) {
        self.0.insert(name.into(), average);
    }

    /// Takes an observable out.
    pub fn remove(&mut self, name: &str) -> Option<Average> {
        self.0.remove(name)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Average)> {
        self.0.iter().map(|(name, average)| (name.as_str(), average))
    }
}

impl FromIterator<(String, Average)> for Averages {
    fn from_iter<I: IntoIterator<Item = (String, Average)>>(averages: I) -> Averages {
        Averages(averages.into_iter().collect())
    }
}

impl Serialize for Average {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Average::Whole(value) => value.serialize(to),
            Average::Sites(values) => to.collect_seq(values),
            Average::Pairs(values) => to.collect_seq(values.rows().into_iter().map(|row| row.to_vec())),
        }
    }
}

/// The shapes that JSON can have.
#[derive(Deserialize)]
#[serde(untagged)]
enum Nested {
    One(Option<f64>),
    List(Vec<Option<f64>>),
    Rows(Vec<Vec<Option<f64>>>),
}

impl<'de> Deserialize<'de> for Average {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Average, D::Error> {
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Ok(match Nested::deserialize(from)? {
            Nested::One(value) => Average::Whole(number(value)),
            Nested::List(values) => Average::Sites(values.into_iter().map(number).collect()),
            Nested::Rows(rows) if rows.iter().all(|row| row.len() == rows.len()) => {
                Average::of_pairs(rows.into_iter().flatten().map(number).collect())
            }
            Nested::Rows(_) => {
                return Err(serde::de::Error::custom("expected a square matrix, found rows of another length"));
            }
        })
    }
}
