//! The states that a sketch adds to a bond.
//!
//! In: random rows Y of Hψ outside the kept states V, for each sector of a block. Out: its strongest directions over all sectors,
//! orthonormal, and orthogonal to V, to rounding.
//!
//! The Gram matrix of the rows of a sector, Y Yᵀ = W Λ Wᵀ, is of as many rows as the sketch, so it is decomposed at no cost;
//! Λ/k are the weights that decide, the states are Yᵀ W Λ^(−1/2). Rounding has left them nearly orthonormal;
//! `block/orthonormal.rs` makes them so.
//!
//! Left states of complex ψ come in pairs (u, iu), rows of Y are complex as they lie, and J takes y to iy. Their Gram matrix is Hermitian,
//! ⟨y_k|y_l⟩ = y_k · y_l − i y_k · J y_l, and its eigenvectors a + ib give the pairs (Σ a_k y_k + b_k J y_k, Σ −b_k y_k + a_k J y_k).

use super::limits::ExpansionLimits;
use super::sketch::{Sketch, SketchBlock, VARIANCE, copy, plain, transposed};
use crate::block::orthonormal::{SectorColumns, orthonormal};
use crate::block::state::Isometry;
use crate::block::truncate::{TruncationLimits, choose};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{OperandSpace, Record, RecordStage};
use faer::{Mat, c64};

/// Weights below this part of all that the sketch had are rounding errors.
const ROUNDING: f64 = 1e-26;
/// Weights below this part of the largest of their sector are left for another visit: their states would not be orthonormal.
const WEAKEST: f64 = 1e-10;

/// Orthonormal states outside the kept ones.
pub(super) struct Directions<B> {
    /// Those of each sector of the enlarged block.
    pub(super) blocks: Vec<SectorColumns>,
    /// All of them.
    pub(super) data: B,
}

/// The Gram matrix of a sector, decomposed.
struct GramSpectrum {
    /// Eigenvalues, descending.
    values: Vec<f64>,
    /// Eigenvectors in their order, as columns of numbers.
    vectors: Vec<f64>,
    /// Their imaginary parts; empty of real rows.
    imaginary: Vec<f64>,
}

impl GramSpectrum {
    /// What states are made of, as columns over Y and behind it J Y: one column of each eigenvector of real rows, two of complex ones.
    fn coefficients(&self, rows: usize, count: usize) -> Vec<f64> {
        let mut out = Vec::new();
        let places = (0..count).map(|k| (self.values[k].sqrt().recip(), k * rows..(k + 1) * rows));
        for (factor, place) in places {
            let real = || self.vectors[place.clone()].iter().map(|x| factor * x);
            out.extend(real());
            if !self.imaginary.is_empty() {
                let imaginary = || self.imaginary[place.clone()].iter().map(|x| factor * x);
                out.extend(imaginary());
                out.extend(imaginary().map(|x| -x));
                out.extend(real());
            }
        }
        out
    }
}

/// J Y of every sector: i times each row.
fn turned_rows<E: Engine>(engine: &E, sketch: &Sketch<E::Buffer>) -> Result<E::Buffer, DmrgError> {
    let mut stage = RecordStage::default();
    for SketchBlock { offset, rows, columns, .. } in &sketch.blocks {
        // Real parts stand in even columns, imaginary parts in odd ones.
        let columns_from =
            |first: usize| copy(plain(OperandSpace::Input, offset + first * rows, 2 * rows), [*rows, columns / 2]);
        let real = Record { coefficient: -1.0, stride: 2 * rows, ..columns_from(1) };
        let imaginary = Record { first: *rows, stride: 2 * rows, ..columns_from(0) };
        stage.push(rows * columns, vec![real, imaginary]);
    }
    Ok(engine.run(&stage, Operands::default().set(OperandSpace::Input, &sketch.data))?)
}

/// Eigenvalues and eigenvectors of the Gram matrix of each sector; `turned` is J Y where rows are complex.
fn spectra<E: Engine>(
    engine: &E,
    sketch: &Sketch<E::Buffer>,
    turned: Option<&E::Buffer>,
) -> Result<Vec<GramSpectrum>, DmrgError> {
    let (mut gram, mut list) = (RecordStage::default(), Vec::with_capacity(sketch.blocks.len()));
    for SketchBlock { offset, rows, columns, .. } in &sketch.blocks {
        let y = plain(OperandSpace::Input, *offset, *rows);
        let with = |other| Record::product(y, transposed(other), *columns, [*rows, *rows]);
        list.push((gram.push(rows * rows, vec![with(y)]), *rows));
        if turned.is_some() {
            gram.push(rows * rows, vec![with(plain(OperandSpace::Between, *offset, *rows))]);
        }
    }
    let operands = Operands::default().set(OperandSpace::Input, &sketch.data);
    let Some(turned) = turned else {
        let found = engine.eigenpairs(engine.run(&gram, operands)?, &list)?;
        let of = |(values, vectors)| GramSpectrum { values, vectors, imaginary: Vec::new() };
        return Ok(found.into_iter().map(of).collect());
    };
    let gram = engine.run(&gram, operands.set(OperandSpace::Between, turned))?;
    let gram = engine.download(&gram)?;
    let of = |(first, rows): &(usize, usize)| {
        let rows = *rows;
        let at = |i: usize, j: usize| first + i + j * rows;
        let matrix = Mat::from_fn(rows, rows, |i, j| c64::new(gram[at(i, j)], -gram[at(i, j) + rows * rows]));
        let found = matrix.self_adjoint_eigen(faer::Side::Lower);
        let found = found.map_err(|_| BackendError::Decomposition { rows, columns: rows })?;
        let values = found.S().column_vector().iter().rev().map(|value| value.re).collect();
        let numbers = |part: fn(c64) -> f64| -> Vec<f64> {
            (0..rows).rev().flat_map(|k| found.U().col(k).iter().map(|x| part(*x)).collect::<Vec<f64>>()).collect()
        };
        Ok(GramSpectrum { values, vectors: numbers(|x| x.re), imaginary: numbers(|x| x.im) })
    };
    list.iter().map(of).collect()
}

impl<B> Directions<B> {
    /// The `room` strongest directions of a sketch outside `states`; `None` where it has none.
    ///
    /// # Errors
    /// A number is not finite; errors of the engine.
    pub(super) fn new<E: Engine<Buffer = B>>(
        engine: &E,
        sketch: &Sketch<B>,
        states: &Isometry<B>,
        (room, wanted): (usize, ExpansionLimits),
    ) -> Result<Option<Directions<B>>, DmrgError> {
        let turned = if wanted.in_pairs { Some(turned_rows(engine, sketch)?) } else { None };
        let spectra = spectra(engine, sketch, turned.as_ref())?;
        let weights = |(GramSpectrum { values, .. }, block): (&GramSpectrum, &SketchBlock)| -> Vec<f64> {
            let least = (ROUNDING * sketch.square).max(WEAKEST * values.first().copied().unwrap_or(0.0));
            let of_row = block.rows as f64 * VARIANCE;
            values.iter().map(|value| if *value > least { value / of_row } else { 0.0 }).collect()
        };
        let weights: Vec<Vec<f64>> = spectra.iter().zip(&sketch.blocks).map(weights).collect();
        if weights.iter().flatten().sum::<f64>() <= wanted.discarded {
            return Ok(None);
        }
        let limits = TruncationLimits { most: room, least: 0, discarded: wanted.discarded, factored: None };
        let counts = choose(&weights.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
        let (mut coefficients, mut stage, mut blocks) = (Vec::new(), RecordStage::default(), Vec::new());
        let width = if wanted.in_pairs { 2 } else { 1 };
        for ((block, spectrum), count) in sketch.blocks.iter().zip(&spectra).zip(counts) {
            if count == 0 {
                continue;
            }
            let (k, columns, first) = (block.rows, width * count, coefficients.len());
            coefficients.extend(spectrum.coefficients(k, count));
            let part = |space, behind: usize| {
                let scaled = plain(OperandSpace::Right, first + behind, width * k);
                Record::product(transposed(plain(space, block.offset, k)), scaled, k, [block.columns, columns])
            };
            let mut records = vec![part(OperandSpace::Input, 0)];
            records.extend(wanted.in_pairs.then(|| part(OperandSpace::Between, k)));
            let offset = stage.push(block.columns * columns, records);
            blocks.push(SectorColumns { sector: block.sector, offset, rows: block.columns, columns });
        }
        if blocks.is_empty() {
            return Ok(None);
        }
        let coefficients = engine.upload(coefficients)?;
        let operands =
            Operands::default().set(OperandSpace::Input, &sketch.data).set(OperandSpace::Right, &coefficients);
        let operands = turned.iter().fold(operands, |operands, turned| operands.set(OperandSpace::Between, turned));
        let data = engine.run(&stage, operands)?;
        Ok(orthonormal(engine, data, &blocks, Some(states))?.map(|data| Directions { blocks, data }))
    }
}
