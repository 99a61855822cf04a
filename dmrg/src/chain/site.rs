//! One site: its states, their charges, and the matrices of the elementary operators among them.
//!
//! * Local moment of spin S: states m = −S … S ascending, charge 2m. S = σ/2 for spin ½. Qubits and bosons have levels as well.
//! * Fermions of q flavours, electrons with q = 2: state s holds flavour f where bit f of s is set, c†_f … c†_g |0⟩ with
//!   flavours ascending, so |0⟩, |↑⟩, |↓⟩, |↑↓⟩ = c†↑ c†↓ |0⟩. t-J electrons lack the last of them.
//!
//! A complex chain has an auxiliary site of two states beside those of the model ([`Site::of_phases`]).
//!
//! A chain has a list of them ([`SiteList`](super::site_list::SiteList)), because its sites may differ.
//!
//! **Fermion signs** (Jordan, Wigner 1928). Along the chosen order of the sites the modes are (site, ↑), (site, ↓) (or
//! flavour by flavour), so c_{pσ} = P ⊗ … ⊗ P ⊗ c_σ ⊗ 1 ⊗ …, with the parity P = (−1)^n on every site before p. All
//! operators are then plain tensor products and a state is a plain tensor. The configurations of the operator IR have all
//! ↑ modes before all ↓ modes, which differs by a sign for each configuration. This change of basis affects no energy and
//! no expectation value of an operator built here, because every operator comes from the algebra of c and c†, never from
//! signs of that basis.

use super::charges::{COUNT, Charges};
use eigenforge_core::operator::{Charge, Factor, SiteKind, Spin, local_element};

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
    pub fn element(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.dimension + column]
    }

    /// self · other.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let d = self.dimension;
        let element = |k: usize| (0..d).map(|j| self.element(k / d, j) * other.element(j, k % d)).sum();
        Matrix { dimension: d, values: (0..d * d).map(element).collect() }
    }

    /// Σ factor · matrix, of matrices of this dimension.
    pub fn combination<'m>(dimension: usize, parts: impl Iterator<Item = (&'m Matrix, f64)>) -> Matrix {
        let mut sum = Matrix::zero(dimension);
        for (matrix, factor) in parts {
            sum.values.iter_mut().zip(&matrix.values).for_each(|(sum, value)| *sum += factor * value);
        }
        sum
    }

    /// Rows as columns.
    pub fn transposed(&self) -> Matrix {
        let n = self.dimension;
        Matrix { dimension: n, values: (0..n * n).map(|k| self.element(k % n, k / n)).collect() }
    }

    /// An upper bound of its norm: the square root of its largest column sum times its largest row sum; exact for ladders
    /// and diagonals.
    pub fn norm_bound(&self) -> f64 {
        let d = self.dimension;
        let largest = |sum: &dyn Fn(usize) -> f64| (0..d).map(sum).fold(0.0, f64::max);
        let rows = largest(&|row| (0..d).map(|column| self.element(row, column).abs()).sum());
        let columns = largest(&|column| (0..d).map(|row| self.element(row, column).abs()).sum());
        (rows * columns).sqrt()
    }

    /// The elements that are not zero: (row, column, value).
    pub fn nonzeros(&self) -> Vec<(usize, usize, f64)> {
        let d = self.dimension;
        let found = self.values.iter().enumerate().filter(|(_, value)| **value != 0.0);
        found.map(|(k, value)| (k / d, k % d, *value)).collect()
    }
}

/// The local Hilbert space of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// What it carries; `None` for the auxiliary site of a complex chain.
    pub kind: Option<SiteKind>,
    charges: Vec<Charges>,
}

impl Site {
    /// A site of a kind, with these fixed charges, which are the same on each site; `irrep` is that of an orbital, 0 for none.
    pub(crate) fn new(kind: SiteKind, charges: &[Charge], irrep: u8) -> Site {
        let label = |state: u64| {
            let value = |k: usize| charges.get(k).map_or(0, |charge| kind.charge(*charge, 0, state) as i32);
            Charges(std::array::from_fn::<_, COUNT, _>(value), if state.count_ones() % 2 == 1 { irrep } else { 0 })
        };
        Site { kind: Some(kind), charges: kind.states().map(label).collect() }
    }

    /// Number of states.
    pub fn dimension(&self) -> usize {
        self.charges.len()
    }

    /// Charges of the states.
    pub fn charges(&self) -> &[Charges] {
        &self.charges
    }

    /// The auxiliary site of a complex chain, which carries the phases: real part, imaginary part, without charges. Its operator
    /// is J = [[0, −1], [1, 0]], which stands for i.
    pub(crate) fn of_phases() -> Site {
        Site { kind: None, charges: vec![Charges::default(); 2] }
    }

    /// The fermion modes; none of a site with levels.
    pub(crate) fn modes(&self) -> Vec<Spin> {
        self.kind.map_or(Vec::new(), SiteKind::modes)
    }

    /// P = (−1)^n; the identity for a moment, a qubit or bosons.
    pub fn parity(&self) -> Matrix {
        let identity = Matrix::identity(self.dimension());
        if self.modes().is_empty() {
            return identity;
        }
        let odd = (0..self.dimension()).filter(|state| state.count_ones() % 2 == 1);
        odd.fold(identity, |matrix, state| matrix.set(state, state, -1.0))
    }

    /// The matrix of a factor on its own site; `None` if this kind of site does not have it.
    pub fn matrix(&self, factor: Factor) -> Option<Matrix> {
        let Some(kind) = self.kind else {
            let turn = Matrix::zero(2).set(0, 1, -1.0).set(1, 0, 1.0);
            return (factor == Factor::ImaginaryUnit).then_some(turn);
        };
        match factor {
            Factor::ImaginaryUnit => None,
            factor if !kind.has(factor) => None,
            Factor::Create(spin, _) | Factor::Annihilate(spin, _) => {
                let bit = self.modes().iter().position(|mode| *mode == spin)?;
                Some(ladder(self.dimension(), bit, matches!(factor, Factor::Create(..))))
            }
            factor => Some(of_levels(kind.top(), factor)),
        }
    }
}

/// c† or c of the mode at a bit: a sign for each occupied mode before it. States that the site does not have are left out.
fn ladder(dimension: usize, bit: usize, creates: bool) -> Matrix {
    let empty = (0..dimension).filter(|state| state >> bit & 1 == 0 && (state | 1 << bit) < dimension);
    empty.fold(Matrix::zero(dimension), |matrix, state| {
        let before = state & ((1 << bit) - 1);
        let sign = if before.count_ones() % 2 == 1 { -1.0 } else { 1.0 };
        let full = state | 1 << bit;
        let (row, column) = if creates { (full, state) } else { (state, full) };
        matrix.set(row, column, sign)
    })
}

/// An operator of a spin, a qubit or bosons with levels 0 … `top`, by the elements of exact diagonalisation.
fn of_levels(top: u32, factor: Factor) -> Matrix {
    let moved = |level: u32| Some((level, local_element(&[factor], level, top)?));
    (0..=top).filter_map(moved).fold(Matrix::zero(top as usize + 1), |matrix, (from, (to, value))| {
        matrix.set(to as usize, from as usize, value)
    })
}
