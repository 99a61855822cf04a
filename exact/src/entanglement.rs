//! Reduced density matrices of sets of sites, and their entropies.
//!
//! In: amplitudes of a state in the order of a model's basis, or of the states of a level, and the sites of A. Out: the eigenvalues of
//! ρ_A = tr_rest |ψ⟩⟨ψ|, descending; of several states of the mean over them, which no choice of a basis of the level changes.
//!
//! |ψ⟩ = Σ ψ(a, b) |a⟩ |b⟩ with a of the sites of A and b of the rest. The modes of fermions stand as |n⟩ = Π c†_i↑ Π c†_j↓ |0⟩: those of A are
//! brought in front, with the sign of every pair that changes places, so that ρ_A is the one whose averages are those of operators on A. Charges
//! and other structure divide ψ(a, b) into blocks that share no a and no b; each is found by what it connects, so no charge need be named. Of a
//! block the smaller side is diagonalised, as ρ_A and ρ_rest have the same eigenvalues.

use super::model::Model;
use super::response::{LevelStates, ResponseTarget, layout_of};
use super::solve::RunError;
use eigenforge_core::operator::{SiteLayout, Spin, build};
use eigenforge_core::words::{grouped, size};
use eigenforge_runtime::solvers::symmetric_eigen;
use eigenforge_runtime::{Device, SolveError};
use ndarray::Array2;
use num_complex::Complex64;
use std::borrow::Cow;
use std::collections::HashMap;

/// Rows of a block that is diagonalised at most: some minutes, and 0.5 GiB of a complex one.
pub const LARGEST_BLOCK: usize = 4096;

/// States of A up to which a density matrix is written: 0.25 GiB of complex numbers.
pub const LARGEST_MATRIX: usize = 4096;

/// −Σ w ln w over the eigenvalues of a density matrix.
pub fn von_neumann_entropy(eigenvalues: &[f64]) -> f64 {
    // Of a product state 0, not −0 or what rounding leaves below it.
    eigenvalues.iter().filter(|w| **w > 0.0).fold(0.0, |sum, w| sum - w * w.ln()).max(0.0)
}

/// −ln Σ w² over them: the second of Rényi's entropies.
pub fn second_renyi_entropy(eigenvalues: &[f64]) -> f64 {
    let purity: f64 = eigenvalues.iter().map(|w| w * w).sum();
    (-purity.ln()).max(0.0)
}

/// A set of sites, as masks of a layout's words.
struct Subset {
    /// The bits of A.
    mask: u128,
    /// Of each fermion mode of A its bit, and the bits of the modes of the rest that stand before it.
    modes: Vec<(u128, u128)>,
}

impl Subset {
    fn new(layout: &SiteLayout, sites: &[usize]) -> Subset {
        let mut mask = 0;
        let mut ordered: Vec<(Spin, usize, u128)> = Vec::new();
        for digit in layout.digits() {
            let bits = ((1u128 << digit.width) - 1) << digit.shift;
            if sites.contains(&digit.site) {
                mask |= bits;
            }
            ordered.extend(digit.mode.map(|mode| (mode, digit.site, bits)));
        }
        ordered.sort_unstable_by_key(|(mode, site, _)| (*mode, *site));
        let (mut before, mut modes) = (0, Vec::new());
        for (_, _, bit) in ordered {
            if mask & bit != 0 { modes.push((bit, before)) } else { before |= bit }
        }
        Subset { mask, modes }
    }

    /// Whether the sign changes when the modes of A are brought in front.
    fn is_negative(&self, word: u128) -> bool {
        let occupied = self.modes.iter().filter(|(bit, _)| word & bit != 0);
        occupied.map(|(_, before)| (word & before).count_ones()).sum::<u32>() % 2 == 1
    }
}

/// Numbers of things in the order in which they come: words, each of one of several states.
#[derive(Default)]
pub(super) struct Numbering(pub(super) HashMap<(usize, u128), usize>);

impl Numbering {
    fn number(&mut self, key: (usize, u128)) -> usize {
        let next = self.0.len();
        *self.0.entry(key).or_insert(next)
    }
}

/// The root of a place in a forest, whose path is shortened.
fn root(parents: &mut [usize], mut place: usize) -> usize {
    while parents[place] != place {
        parents[place] = parents[parents[place]];
        place = parents[place];
    }
    place
}

/// An element of ψ(a, b).
pub(super) type Element = (usize, usize, Complex64);

/// The elements by blocks that share no row and no column.
fn blocks(elements: &[Element], rows: usize, columns: usize) -> Vec<Vec<Element>> {
    let mut parents: Vec<usize> = (0..rows + columns).collect();
    for (row, column, _) in elements {
        let (a, b) = (root(&mut parents, *row), root(&mut parents, rows + column));
        parents[a] = b;
    }
    let mut found = Numbering::default();
    let mut list: Vec<Vec<Element>> = Vec::new();
    for element in elements {
        let number = found.number((root(&mut parents, element.0), 0));
        if number == list.len() {
            list.push(Vec::new());
        }
        list[number].push(*element);
    }
    list
}

/// ψ of a block, its shorter side the rows.
struct Block {
    rows: usize,
    columns: usize,
    elements: Vec<Element>,
}

impl Block {
    fn new(block: &[Element]) -> Block {
        let [mut rows, mut columns] = [Numbering::default(), Numbering::default()];
        let place = |(a, b, value): &Element| (rows.number((*a, 0)), columns.number((*b, 0)), *value);
        let elements: Vec<Element> = block.iter().map(place).collect();
        let (rows, columns) = (rows.0.len(), columns.0.len());
        match rows <= columns {
            true => Block { rows, columns, elements },
            false => {
                let elements = elements.into_iter().map(|(a, b, value)| (b, a, value)).collect();
                Block { rows: columns, columns: rows, elements }
            }
        }
    }
}

/// The eigenvalues of ψψ† of a block.
fn of_block(block: Block) -> Result<Vec<f64>, SolveError> {
    let Block { rows: short, columns: long, elements } = block;
    let [mut re, mut im] = [Array2::<f64>::zeros((short, long)), Array2::zeros((short, long))];
    for (a, b, value) in elements {
        (re[[a, b]], im[[a, b]]) = (value.re, value.im);
    }
    let is_real = im.iter().all(|value| *value == 0.0);
    let symmetric = re.dot(&re.t()) + im.dot(&im.t());
    if is_real {
        return Ok(symmetric_eigen(short, &symmetric.iter().copied().collect::<Vec<_>>())?.0);
    }
    // (S, −A; A, S) has every eigenvalue of S + iA twice.
    let turned = im.dot(&re.t()) - re.dot(&im.t());
    let mut matrix = vec![0.0; 4 * short * short];
    for i in 0..short {
        for j in 0..short {
            for (row, column, value) in [
                (i, j, symmetric[[i, j]]),
                (short + i, short + j, symmetric[[i, j]]),
                (i, short + j, -turned[[i, j]]),
                (short + i, j, turned[[i, j]]),
            ] {
                matrix[row * 2 * short + column] = value;
            }
        }
    }
    Ok(symmetric_eigen(2 * short, &matrix)?.0.into_iter().step_by(2).collect())
}

/// Why there is no density matrix of a set of sites.
#[derive(Debug, thiserror::Error)]
pub enum EntanglementError {
    /// A site that the lattice has not.
    #[error("there is no site {site}: sites are 0 to {last}")]
    Site {
        /// It.
        site: usize,
        /// The last that there is.
        last: usize,
    },
    /// A matrix that is too large to be written.
    #[error("{states} states of these sites, of {LARGEST_MATRIX} at most: take fewer sites")]
    Matrix {
        /// Its states.
        states: usize,
    },
    /// A block that is too large.
    #[error("a block of {states} states, of {LARGEST_BLOCK} at most: take fewer sites, or a smaller sector")]
    Block {
        /// Its states.
        states: usize,
    },
    /// Too little memory of the host.
    #[error(
        "{words} words of the sector without its symmetry take about {needed} of the host's memory, of which {free} are free"
    )]
    Memory {
        /// Words.
        words: String,
        /// Bytes that they take.
        needed: String,
        /// Bytes that are free.
        free: String,
    },
    /// The eigenvalues.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The states without the symmetry.
    #[error(transparent)]
    Expand(#[from] RunError),
}

/// About the bytes that a word of the sector without its symmetry takes, for each state: amplitudes, elements, blocks, numbers of words.
const BYTES_A_WORD: u64 = 224;

impl Model {
    /// Whether the words of the sector without its symmetry have room on the host for the density matrices of so many states at once.
    ///
    /// # Errors
    /// They have not.
    pub fn check_entanglement(&self, states: usize) -> Result<(), EntanglementError> {
        let words = self.plain().map_err(RunError::from)?.dimension();
        let needed = words.saturating_mul(BYTES_A_WORD).saturating_mul(states.max(1) as u64);
        let free = Device::cpu().memory().free;
        match needed <= free {
            true => Ok(()),
            false => {
                let (needed, free) = (size(needed), size(free));
                Err(EntanglementError::Memory { words: grouped(words.into()), needed, free })
            }
        }
    }

    /// The eigenvalues of the density matrices of sets of sites in a state of length 1, descending; of several states of the means over
    /// them. A set that has none says why.
    ///
    /// # Errors
    /// No room for the sector without its symmetry.
    pub fn entanglement_spectra(
        &self,
        states: &[Vec<Complex64>],
        subsets: &[Vec<usize>],
    ) -> Result<Vec<Result<Vec<f64>, EntanglementError>>, EntanglementError> {
        let level = PlainLevel::new(self, states)?;
        let spectrum = |sites: &Vec<usize>| -> Result<Vec<f64>, EntanglementError> {
            let Matrix { rows, columns, elements } = level.matrix(sites)?;
            let all = blocks(&elements, rows.0.len(), columns);
            drop((elements, rows));
            let all: Vec<Block> = all.into_iter().map(|block| Block::new(&block)).collect();
            if let Some(states) = all.iter().map(|block| block.rows).find(|rows| *rows > LARGEST_BLOCK) {
                return Err(EntanglementError::Block { states });
            }
            let mut values = Vec::new();
            for block in all {
                values.extend(of_block(block)?);
            }
            values.sort_by(|a, b| b.total_cmp(a));
            Ok(values)
        };
        Ok(subsets.iter().map(spectrum).collect())
    }
}

/// States of a level in the sector without its symmetry, each of length 1/√(their number).
pub(super) struct PlainLevel<'s> {
    pub(super) layout: SiteLayout,
    plain: Model,
    states: Cow<'s, [Vec<Complex64>]>,
}

/// ψ(a, b) of a set of sites A: rows are numbered by the word of A, columns by those of the rest in each state.
pub(super) struct Matrix {
    pub(super) rows: Numbering,
    pub(super) columns: usize,
    pub(super) elements: Vec<Element>,
}

impl<'s> PlainLevel<'s> {
    /// States of length 1 of a model.
    ///
    /// # Errors
    /// No room for the sector without its symmetry.
    pub(super) fn new(model: &Model, states: &'s [Vec<Complex64>]) -> Result<PlainLevel<'s>, EntanglementError> {
        model.check_entanglement(states.len())?;
        let plain = model.plain().map_err(RunError::from)?;
        let states = match model.symmetric() {
            Some(_) => {
                let target = ResponseTarget { model: plain.clone(), operator: build::scalar(1.0) };
                let level = LevelStates::new(model.clone(), states.to_vec());
                let plain = |state| level.excited(state, &target).map_err(RunError::from);
                Cow::Owned((0..states.len()).map(plain).collect::<Result<_, _>>()?)
            }
            None => Cow::Borrowed(states),
        };
        Ok(PlainLevel { layout: layout_of(&plain), plain, states })
    }

    /// ψ(a, b) with the sites of A in front.
    ///
    /// # Errors
    /// A site that there is not.
    pub(super) fn matrix(&self, sites: &[usize]) -> Result<Matrix, EntanglementError> {
        let last = self.plain.sites().saturating_sub(1);
        if let Some(site) = sites.iter().find(|site| **site > last) {
            return Err(EntanglementError::Site { site: *site, last });
        }
        let (subset, share) = (Subset::new(&self.layout, sites), 1.0 / (self.states.len().max(1) as f64).sqrt());
        let [mut rows, mut columns] = [Numbering::default(), Numbering::default()];
        let mut elements = Vec::new();
        for (state, amplitudes) in self.states.iter().enumerate() {
            for (index, value) in amplitudes.iter().enumerate().filter(|(_, value)| **value != Complex64::ZERO) {
                let word = self.plain.basis().state(index as u64);
                let value = if subset.is_negative(word) { -share * value } else { share * value };
                let row = rows.number((0, word & subset.mask));
                elements.push((row, columns.number((state, word & !subset.mask)), value));
            }
        }
        Ok(Matrix { rows, columns: columns.0.len(), elements })
    }
}
