//! One site: its states, their charges, and the matrices of the elementary operators among them.
//!
//! * Local moment of spin S: states m = −S … S ascending, charge 2m. S = σ/2 for spin ½.
//! * Electron: |0⟩, |↑⟩, |↓⟩, |↑↓⟩ = c†↑ c†↓ |0⟩, charges (N↑, N↓).
//!
//! **Fermion signs** (Jordan, Wigner 1928). Along the chosen order of the sites the modes are (site, ↑), (site, ↓), so
//! c_{pσ} = P ⊗ … ⊗ P ⊗ c_σ ⊗ 1 ⊗ …, with the parity P = (−1)^n on every site before p. With that all operators are
//! plain tensor products and a state is a plain tensor. The configurations of the operator IR have all ↑ modes before
//! all ↓ modes, which differs by a sign for each configuration: a change of basis that no energy and no expectation
//! value of an operator built here sees, because every operator comes from the algebra of c and c†, never from signs of
//! that basis.

use super::charges::Charges;
use crate::operator::{Content, Factor, Operator, Spin};

/// A d × d matrix of one site, `values[row * d + column]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// d.
    pub dimension: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Matrix {
    /// The identity.
    pub fn identity(dimension: usize) -> Matrix {
        let values = (0..dimension * dimension).map(|k| if k % (dimension + 1) == 0 { 1.0 } else { 0.0 }).collect();
        Matrix { dimension, values }
    }

    fn zero(dimension: usize) -> Matrix {
        Matrix { dimension, values: vec![0.0; dimension * dimension] }
    }

    fn set(mut self, row: usize, column: usize, value: f64) -> Matrix {
        self.values[row * self.dimension + column] = value;
        self
    }

    /// Element.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.dimension + column]
    }

    /// self · other.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let d = self.dimension;
        let element = |k: usize| (0..d).map(|j| self.at(k / d, j) * other.at(j, k % d)).sum();
        Matrix { dimension: d, values: (0..d * d).map(element).collect() }
    }

    /// The elements that are not zero: (row, column, value).
    pub fn nonzeros(&self) -> Vec<(usize, usize, f64)> {
        let d = self.dimension;
        let found = self.values.iter().enumerate().filter(|(_, value)| **value != 0.0);
        found.map(|(k, value)| (k / d, k % d, *value)).collect()
    }
}

/// The kind of site that a model has everywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Site {
    /// |0⟩, |↑⟩, |↓⟩, |↑↓⟩.
    Electron,
    /// A spin of 2S.
    Moment {
        /// 2S.
        two_s: u32,
        /// Charges of its states.
        charges: Vec<Charges>,
    },
}

const ELECTRON: [Charges; 4] = [Charges([0, 0]), Charges([1, 0]), Charges([0, 1]), Charges([1, 1])];

impl Site {
    /// The site of an operator; one without any factor is taken for `otherwise`.
    pub fn of(operator: &Operator, otherwise: Content) -> Site {
        let content = if operator.content() == Content::Nothing { otherwise } else { operator.content() };
        match content {
            Content::Fermions => Site::Electron,
            _ => {
                let two_s = operator.two_s();
                let charge = |level: u32| Charges([2 * level as i32 - two_s as i32, 0]);
                Site::Moment { two_s, charges: (0..=two_s).map(charge).collect() }
            }
        }
    }

    /// Number of states.
    pub fn dimension(&self) -> usize {
        self.charges().len()
    }

    /// Charges of the states.
    pub fn charges(&self) -> &[Charges] {
        match self {
            Site::Electron => &ELECTRON,
            Site::Moment { charges, .. } => charges,
        }
    }

    /// P = (−1)^n; the identity of a moment.
    pub fn parity(&self) -> Matrix {
        match self {
            Site::Electron => Matrix::identity(4).set(1, 1, -1.0).set(2, 2, -1.0),
            Site::Moment { two_s, .. } => Matrix::identity(*two_s as usize + 1),
        }
    }

    /// The matrix of a factor at its own site; `None` for a factor that this kind of site does not have.
    pub fn matrix(&self, factor: Factor) -> Option<Matrix> {
        let d = self.dimension();
        match (self, factor) {
            (Site::Electron, Factor::Create(Spin::Up, _)) => Some(Matrix::zero(4).set(1, 0, 1.0).set(3, 2, 1.0)),
            (Site::Electron, Factor::Annihilate(Spin::Up, _)) => Some(Matrix::zero(4).set(0, 1, 1.0).set(2, 3, 1.0)),
            // c†↓ c†↑ |0⟩ = −|↑↓⟩.
            (Site::Electron, Factor::Create(Spin::Down, _)) => Some(Matrix::zero(4).set(2, 0, 1.0).set(3, 1, -1.0)),
            (Site::Electron, Factor::Annihilate(Spin::Down, _)) => Some(Matrix::zero(4).set(0, 2, 1.0).set(1, 3, -1.0)),
            (Site::Moment { two_s, .. }, factor) if !factor.is_fermion() => {
                let s = 0.5 * f64::from(*two_s);
                let z = |level: usize| level as f64 - s;
                let root = |m: f64, to: f64| (s * (s + 1.0) - m * to).sqrt();
                let mut matrix = Matrix::zero(d);
                for level in 0..d {
                    matrix = match factor {
                        Factor::Raise(_) if level + 1 < d => {
                            matrix.set(level + 1, level, root(z(level), z(level) + 1.0))
                        }
                        Factor::Lower(_) if level > 0 => matrix.set(level - 1, level, root(z(level), z(level) - 1.0)),
                        Factor::Sz(_) => matrix.set(level, level, z(level)),
                        _ => matrix,
                    };
                }
                Some(matrix)
            }
            _ => None,
        }
    }
}
