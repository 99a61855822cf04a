//! The matrix of H in a space of configuration state functions, and a count of its elements before it is made.
//!
//! In: integrals and a space. Out: [`Csr`] without the core energy, in Hartree, without elements up to [`THRESHOLD`] of
//! [`Integrals::unit`]. The rows of a configuration are made together: a block of as many rows as it has functions, with the
//! columns of all configurations that H couples to it. Threads share the configurations.

use super::CsfSpace;
use super::blocks::{Blocks, Coupled};
use crate::integrals::Integrals;
use crate::matrix::{MatrixError, THRESHOLD, check};
use crate::non_zeros::Census;
use eigenforge_product::sparse::Csr;
use eigenforge_runtime::{Device, DeviceError};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Configurations per task.
const CHUNK: usize = 16;

/// Bytes per non-zero: its value and its column.
const NON_ZERO_BYTES: u64 = 12;

/// Configurations whose elements are all counted, and of how many some of more are.
const COUNTED: usize = 4_000;
const SAMPLED: usize = 1_000;

/// Rows of some configurations, one after another.
struct Rows {
    lengths: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl CsfSpace {
    /// The matrix of H, without the core energy.
    ///
    /// # Errors
    /// Integrals that do not fit the space; too little memory.
    pub fn matrix(&self, integrals: &Integrals) -> Result<Csr, MatrixError> {
        self.matrix_rows(integrals, 0..self.len() as usize)
    }

    /// Some of its rows; the others are empty.
    pub(super) fn matrix_rows(&self, integrals: &Integrals, wanted: Range<usize>) -> Result<Csr, MatrixError> {
        check(integrals, self.orbitals, self.irreps.as_ref().map(|(irreps, _)| &irreps[..]))?;
        let (blocks, rows) = (Blocks::new(integrals, self), self.len() as usize);
        let places = self.configurations.words.len();
        let made = AtomicU64::new(0);
        // The rows of tasks are freed as they are moved to the matrix.
        let room = Device::cpu().memory().free / NON_ZERO_BYTES;
        let part = |task: usize| {
            let part = self.part(&blocks, task * CHUNK..((task + 1) * CHUNK).min(places), &wanted);
            let all = made.fetch_add(part.columns.len() as u64, Ordering::Relaxed) + part.columns.len() as u64;
            if all > room { Err(self.no_room(all)) } else { Ok(part) }
        };
        let parts: Vec<Rows> = (0..places.div_ceil(CHUNK)).into_par_iter().map(part).collect::<Result<_, _>>()?;
        let mut start = vec![0u64];
        for length in parts.iter().flat_map(|part| &part.lengths) {
            start.push(start.last().copied().unwrap_or(0) + u64::from(*length));
        }
        let non_zeros = start[rows] as usize;
        let (mut columns, mut values) = (vec![0u32; non_zeros], vec![0.0; non_zeros]);
        let (mut rest, mut tasks) = ((&mut columns[..], &mut values[..]), Vec::new());
        for part in parts {
            let own = (rest.0.split_at_mut(part.columns.len()), rest.1.split_at_mut(part.columns.len()));
            tasks.push((part, own.0.0, own.1.0));
            rest = (own.0.1, own.1.1);
        }
        tasks.into_par_iter().for_each(|(part, columns, values)| {
            columns.copy_from_slice(&part.columns);
            values.copy_from_slice(&part.values);
        });
        Ok(Csr::new(start, columns, values)?)
    }

    fn no_room(&self, elements: u64) -> DeviceError {
        let what = format!("a matrix of {} configuration state functions and over {elements} non-zeros", self.len());
        let error = Device::cpu().check_memory(&what, u64::MAX);
        error.err().unwrap_or_else(|| unreachable!("no device has so many bytes"))
    }

    fn part(&self, blocks: &Blocks<'_>, places: Range<usize>, wanted: &Range<usize>) -> Rows {
        let threshold = THRESHOLD * blocks.integrals.unit();
        let mut made = Rows { lengths: Vec::new(), columns: Vec::new(), values: Vec::new() };
        let (mut coupled, mut block) = (Coupled::default(), Vec::new());
        for place in places {
            let (first, rows) = (self.configurations.first[place], self.configurations.functions(place));
            let own = first as usize..first as usize + rows;
            if own.end <= wanted.start || wanted.end <= own.start {
                made.lengths.extend(std::iter::repeat_n(0, rows));
                continue;
            }
            blocks.coupled(place, &mut coupled, |_| true);
            let width = coupled.found.iter().map(|(other, ..)| self.configurations.functions(*other as usize)).sum();
            block.clear();
            block.resize(rows * width, 0.0);
            let mut column = 0;
            for found in &coupled.found {
                blocks.add(coupled.terms(*found), &mut block, width, column);
                column += self.configurations.functions(found.0 as usize);
            }
            for (row, values) in own.zip(block.chunks(width)) {
                let before = made.columns.len();
                if wanted.contains(&row) {
                    let mut values = values.iter();
                    for (other, ..) in &coupled.found {
                        let other = *other as usize;
                        let columns = self.configurations.first[other]..self.configurations.first[other + 1];
                        for (column, value) in columns.zip(&mut values) {
                            if value.abs() > threshold {
                                made.columns.push(column as u32);
                                made.values.push(*value);
                            }
                        }
                    }
                }
                made.lengths.push((made.columns.len() - before) as u32);
            }
        }
        made.columns.shrink_to_fit();
        made.values.shrink_to_fit();
        made
    }
}

/// Non-zeros of the matrix; of many configurations estimated from some of them. Accidental zeros are counted.
fn count(integrals: &Integrals, space: &CsfSpace, sample: usize) -> u128 {
    let (blocks, places) = (Blocks::new(integrals, space), space.configurations.words.len());
    let step = places.div_ceil(sample).max(1);
    let counted = |place: usize| {
        let (mut coupled, mut mask, mut elements) = (Coupled::default(), Vec::new(), 0);
        blocks.coupled(place, &mut coupled, |_| true);
        let rows = space.configurations.functions(place);
        for found in &coupled.found {
            let columns = space.configurations.functions(found.0 as usize);
            elements += blocks.elements(coupled.terms(*found), rows, columns, &mut mask);
        }
        [u128::from(elements), rows as u128]
    };
    let add = |a: [u128; 2], b: [u128; 2]| [a[0] + b[0], a[1] + b[1]];
    let [elements, rows] =
        (0..places.div_ceil(step)).into_par_iter().map(|at| counted(at * step)).reduce(|| [0; 2], add);
    (elements * u128::from(space.len())).div_ceil(rows.max(1))
}

/// The elements of a space as plans count them; 0 of integrals that do not fit it, which are refused later.
pub(crate) fn census(integrals: &Integrals, space: &CsfSpace, is_stored: bool) -> Census {
    let fits = check(integrals, space.orbitals, None).is_ok();
    let is_sampled = space.configurations.words.len() > COUNTED;
    // Most of the time goes into coefficients, of which a matrix needs all, and a product without one few.
    let sample = match (is_sampled, is_stored) {
        (false, _) => COUNTED,
        (true, true) => SAMPLED,
        (true, false) => SAMPLED / 8,
    };
    let non_zeros = if fits { count(integrals, space, sample) } else { 0 };
    Census { non_zeros, is_sampled, singles: [0; 2], same: [0; 2] }
}
