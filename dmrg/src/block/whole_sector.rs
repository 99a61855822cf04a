//! Exact diagonalisation of a small sector: its lowest levels, independent of what sweeps can reach.
//!
//! In: a chain. Out: its configurations in the sector, position 0 the most significant digit, and the lowest eigenpairs
//! of the operator sum over them. A sweep sees H through two sites at a time and keeps undeclared charges that H
//! conserves, so it may end in an eigenstate above the lowest. Exact diagonalisation does not: the matrix is built from
//! the terms, one by one, and each level is searched from a random vector, which has a part in every eigenvector, by
//! Lanczos' method (Davidson's with no preconditioner) orthogonal to those below. Where terms differ in size by orders, that and a
//! decomposition of the whole matrix are good to the rounding of the largest: Davidson's method then refines each level by the
//! diagonal, whose elements are summed without loss, until the rounding of what the level sees.

use super::start::Random;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::chain::site::Site;
use crate::chain::terms::Term;
use crate::error::DmrgError;
use eigenforge_product::sparse::Csr;
use eigenforge_runtime::dense::{View, eigen};
use eigenforge_runtime::solvers::lean::{DavidsonLimits, HostDavidson};
use rayon::prelude::*;

/// Dimensions up to this are diagonalised densely.
const DENSE: usize = 300;
/// Residual norms of levels, in the units of the chain times its norm.
const RESIDUAL: f64 = 1e-11;
/// Most products for one level.
const PRODUCTS: usize = 3000;
/// Vectors before a restart.
const WIDTH: usize = 30;
/// The residual norm and the products of a level's refinement.
const FINE: f64 = 1e-8;
const REFINING: usize = 300;

/// The configurations of a sector.
pub(crate) struct WholeSector {
    /// Each has the state of position p at bits `shift(p)`; ascending.
    pub(crate) codes: Vec<u128>,
    bits: u32,
    sites: usize,
}

/// The lowest levels of a sector.
pub(crate) struct Levels {
    /// Eigenvalues of the operator sum, ascending.
    pub values: Vec<f64>,
    /// Their eigenvectors over the configurations.
    pub vectors: Vec<Vec<f64>>,
    /// ‖Hx − λx‖ of each.
    pub residuals: Vec<f64>,
}

impl WholeSector {
    /// All configurations; `None` if there are more than `most`, or more sites than fit in a code.
    pub(crate) fn new(chain: &Chain, most: usize) -> Option<WholeSector> {
        let states = chain.local.iter().map(Site::dimension).max().unwrap_or(1);
        let bits = (usize::BITS - (states - 1).leading_zeros()).max(1);
        let dimension = chain.reachable.dimension(&chain.local);
        if bits as usize * chain.sites > 128 || dimension.is_nan() || dimension > 1.01 * most as f64 {
            return None;
        }
        let mut codes = vec![(0u128, Charges::default())];
        for p in 0..chain.sites {
            let grow = |(code, charges): &(u128, Charges)| {
                let (code, charges) = (*code, *charges);
                let next = chain
                    .site(p)
                    .charges()
                    .iter()
                    .enumerate()
                    .map(move |(state, own)| (code << bits | state as u128, charges + *own));
                next.filter(|(_, charges)| chain.reachable.allows(p + 1, *charges)).collect::<Vec<_>>()
            };
            codes = codes.iter().flat_map(grow).collect();
        }
        Some(WholeSector { codes: codes.into_iter().map(|(code, _)| code).collect(), bits, sites: chain.sites })
    }

    /// Number of configurations.
    pub(crate) fn dimension(&self) -> usize {
        self.codes.len()
    }

    /// The first bit of a position's state.
    fn shift(&self, position: usize) -> u32 {
        (self.sites - 1 - position) as u32 * self.bits
    }

    /// The state of a position.
    pub(crate) fn state(&self, code: u128, position: usize) -> usize {
        (code >> self.shift(position)) as usize & ((1 << self.bits) - 1)
    }

    /// Bits per site.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The operator sum over the configurations.
    ///
    /// # Errors
    /// Coefficients that are not finite.
    pub(crate) fn matrix(&self, chain: &Chain) -> Result<Csr, DmrgError> {
        let row = |code: &u128| {
            let mut found = Vec::new();
            for term in &chain.terms {
                self.apply(chain, term, 0, *code, term.coefficient, &mut found);
            }
            let mut row: Vec<(u32, f64)> = Vec::with_capacity(found.len());
            found.sort_by_key(|(code, _)| *code);
            for equal in found.chunk_by(|(a, _), (b, _)| a == b) {
                let Ok(column) = self.codes.binary_search(&equal[0].0) else { continue };
                row.push((column as u32, sum(equal.iter().map(|(_, value)| *value))));
            }
            row
        };
        let rows: Vec<Vec<(u32, f64)>> = self.codes.par_iter().map(row).collect();
        let starts = std::iter::once(0).chain(rows.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let (starts, columns) = (starts.collect(), rows.iter().flatten().map(|(column, _)| *column).collect());
        let matrix = Csr::new(starts, columns, rows.iter().flatten().map(|(_, value)| *value).collect());
        matrix.map_err(|_| chain.not_finite([0, 1]))
    }

    /// Applies the factors of a term from number `k` on to a configuration; returns configurations with amplitudes.
    fn apply(&self, chain: &Chain, term: &Term, k: usize, code: u128, value: f64, found: &mut Vec<(u128, f64)>) {
        let Some((position, operator)) = term.operators.get(k) else {
            found.push((code, value));
            return;
        };
        let matrix = &chain.sum.operators.get(*operator).matrix;
        let (shift, from) = (self.shift(*position), self.state(code, *position));
        let without = code & !(((1u128 << self.bits) - 1) << shift);
        for to in 0..matrix.dimension {
            let element = matrix.element(to, from);
            if element != 0.0 {
                self.apply(chain, term, k + 1, without | (to as u128) << shift, value * element, found);
            }
        }
    }

    /// The lowest `count` levels, fewer if the sector has fewer states; `None` if a search does not converge.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn lowest(&self, chain: &Chain, count: usize) -> Result<Option<Levels>, DmrgError> {
        let (matrix, n) = (self.matrix(chain)?, self.dimension());
        let count = count.min(n);
        if n <= DENSE {
            return refined(chain, &matrix, dense(&matrix, count)?).map(Some);
        }
        let tolerance = RESIDUAL * chain.units.norm;
        // With a constant diagonal the correction is the residual.
        let flat = vec![1e3 * chain.units.norm.max(1.0); n];
        let (mut random, mut davidson) = (Random::new(1), HostDavidson::of_width(WIDTH));
        let mut levels = Levels { values: Vec::new(), vectors: Vec::new(), residuals: Vec::new() };
        for _ in 0..count {
            let mut vector: Vec<f64> = (0..n).map(|_| random.number()).collect();
            let below: Vec<&[f64]> = levels.vectors.iter().map(Vec::as_slice).collect();
            let limits = DavidsonLimits::new(tolerance, PRODUCTS);
            let multiply = |x: &[f64], y: &mut [f64]| multiply(&matrix, x, y);
            let found = davidson.solve(multiply, &flat, &mut vector, limits, &below)?;
            // If levels are close the residual stops at rounding; a value is then accurate to its square over the gap.
            if found.residual.is_nan() || found.residual > 1e3 * tolerance {
                return Ok(None);
            }
            levels.values.push(found.value);
            levels.residuals.push(found.residual);
            levels.vectors.push(vector);
        }
        refined(chain, &matrix, levels).map(Some)
    }
}

impl Levels {
    fn sort(&mut self) {
        let numbers = self.values.drain(..).zip(self.residuals.drain(..));
        let mut list: Vec<((f64, f64), Vec<f64>)> = numbers.zip(self.vectors.drain(..)).collect();
        list.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        let (numbers, vectors): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        ((self.values, self.residuals), self.vectors) = (numbers.into_iter().unzip(), vectors);
    }
}

/// The levels with errors of the size of the rounding of H, from the lowest on, each orthogonal to those before.
fn refined(chain: &Chain, matrix: &Csr, levels: Levels) -> Result<Levels, DmrgError> {
    let diagonal: Vec<f64> = (0..matrix.rows()).map(|row| element(matrix, row)).collect();
    let mut davidson = HostDavidson::of_width(WIDTH);
    let mut fine = Levels { values: Vec::new(), vectors: Vec::new(), residuals: Vec::new() };
    for mut vector in levels.vectors {
        let below: Vec<&[f64]> = fine.vectors.iter().map(Vec::as_slice).collect();
        let limits = chain.units.limits(DavidsonLimits::new(FINE, REFINING));
        let multiply = |x: &[f64], y: &mut [f64]| multiply(matrix, x, y);
        let found = davidson.solve(multiply, &diagonal, &mut vector, limits, &below)?;
        fine.values.push(found.value);
        fine.residuals.push(found.residual);
        fine.vectors.push(vector);
    }
    fine.sort();
    Ok(fine)
}

/// A diagonal element.
fn element(matrix: &Csr, row: usize) -> f64 {
    let (columns, values) = matrix.row(row);
    columns.iter().position(|column| *column as usize == row).map_or(0.0, |k| values[k])
}

/// Σ x to the rounding of the sum itself (Neumaier 1974).
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for x in values {
        let next = sum + x;
        lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        sum = next;
    }
    sum + lost
}

/// y = A x.
fn multiply(matrix: &Csr, x: &[f64], y: &mut [f64]) {
    const ROWS: usize = 1024;
    y.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, y)| {
        for (k, y) in y.iter_mut().enumerate() {
            let (columns, values) = matrix.row(chunk * ROWS + k);
            *y = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum();
        }
    });
}

fn dense(matrix: &Csr, count: usize) -> Result<Levels, DmrgError> {
    let n = matrix.rows();
    let mut full = vec![0.0; n * n];
    for row in 0..n {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).for_each(|(column, value)| full[row + *column as usize * n] = *value);
    }
    let (values, vectors) = eigen(View::new(&full, n, n))?;
    let vectors = (0..count).map(|k| (0..n).map(|i| vectors[(i, k)]).collect()).collect();
    Ok(Levels { values: values[..count].to_vec(), vectors, residuals: vec![0.0; count] })
}
