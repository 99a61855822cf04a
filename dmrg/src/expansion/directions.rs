//! The states that a sketch adds to a bond.
//!
//! In: random rows Y of Hψ outside the kept states V, for each sector of a block. Out: its strongest directions over all sectors,
//! orthonormal, and orthogonal to V, to rounding.
//!
//! The Gram matrix of the rows of a sector, Y Yᵀ = W Λ Wᵀ, is of as many rows as the sketch, so it is decomposed at no cost;
//! Λ/k are the weights that decide, the states are Yᵀ W Λ^(−1/2). Rounding has left them nearly orthonormal: steps of Newton
//! and Schulz, X ← X (3 − Xᵀ X) / 2 − V Vᵀ X (Björck, Bowie 1971), make them so.

use super::sketch::{Sketch, SketchBlock, copy, plain, product, states_of, transposed};
use crate::block::state::Isometry;
use crate::block::truncate::{TruncationLimits, choose};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Action, OperandSpace, Record, RecordStage};

/// Weights below this part of all that the sketch had are rounding errors.
const ROUNDING: f64 = 1e-26;
/// Weights below this part of the largest of their sector are left for another visit: their states would not be orthonormal.
const WEAKEST: f64 = 1e-10;
/// ‖Xᵀ X − 1‖² + ‖Vᵀ X‖² whose next is rounding.
const NEARLY: f64 = 1e-15;
/// Steps towards orthonormal states; two are usual.
const STEPS: usize = 6;

/// Orthonormal states outside the kept ones.
pub(super) struct Directions<B> {
    /// Sectors of the enlarged block with first element and number of states of each; rows as the sector has states.
    pub blocks: Vec<DirectionsBlock>,
    /// All of them.
    pub data: B,
}

/// The new states of one sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectionsBlock {
    /// The sector of the enlarged block.
    pub sector: usize,
    /// First element, column-major.
    pub offset: usize,
    /// States of the sector.
    pub rows: usize,
    /// New states.
    pub columns: usize,
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
        room: usize,
    ) -> Result<Option<Directions<B>>, DmrgError> {
        let (mut gram, mut list) = (RecordStage::default(), Vec::with_capacity(sketch.blocks.len()));
        for SketchBlock { offset, rows, columns, .. } in &sketch.blocks {
            let y = plain(OperandSpace::Input, *offset, *rows);
            let record = product(y, transposed(y), *columns, [*rows, *rows]);
            list.push((gram.push(rows * rows, vec![record]), *rows));
        }
        let input = Operands::default().set(OperandSpace::Input, &sketch.data);
        let pairs = engine.eigenpairs(engine.run(&gram, input)?, &list)?;
        let weights: Vec<Vec<f64>> = pairs
            .iter()
            .zip(&list)
            .map(|((values, _), (_, rows))| {
                let least = (ROUNDING * sketch.square).max(WEAKEST * values.first().copied().unwrap_or(0.0));
                values.iter().map(|value| if *value > least { value / *rows as f64 } else { 0.0 }).collect()
            })
            .collect();
        let limits = TruncationLimits { most: room, least: 0, discarded: 0.0, factored: None };
        let counts = choose(&weights.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
        let (mut coefficients, mut stage, mut blocks) = (Vec::new(), RecordStage::default(), Vec::new());
        for ((block, (values, vectors)), count) in sketch.blocks.iter().zip(&pairs).zip(counts) {
            if count == 0 {
                continue;
            }
            let k = block.rows;
            let scaled = plain(OperandSpace::Right, coefficients.len(), k);
            for (value, vector) in values.iter().zip(vectors.chunks_exact(k)).take(count) {
                let factor = value.sqrt().recip();
                coefficients.extend(vector.iter().map(|x| factor * x));
            }
            let y = transposed(plain(OperandSpace::Input, block.offset, k));
            let rows = block.columns;
            let offset = stage.push(rows * count, vec![product(y, scaled, k, [rows, count])]);
            blocks.push(DirectionsBlock { sector: block.sector, offset, rows, columns: count });
        }
        if blocks.is_empty() {
            return Ok(None);
        }
        let coefficients = engine.upload(coefficients)?;
        let data = engine.run(&stage, input.set(OperandSpace::Right, &coefficients))?;
        Directions { blocks, data }.orthonormal(engine, states)
    }

    /// The same to rounding; `None` if they did not become so.
    fn orthonormal<E: Engine<Buffer = B>>(
        mut self,
        engine: &E,
        states: &Isometry<B>,
    ) -> Result<Option<Directions<B>>, DmrgError> {
        let (mut overlaps, mut next) = (RecordStage::default(), RecordStage::default());
        for DirectionsBlock { sector, offset, rows, columns } in &self.blocks {
            let (size, count) = ([*rows, *columns], *columns);
            let x = plain(OperandSpace::Input, *offset, *rows);
            let square = product(transposed(x), x, *rows, [count, count]);
            let one = Record { action: Action::Diagonal, coefficient: -1.0, ..square };
            let at = overlaps.push(count * count, vec![square, one]);
            let square = product(x, plain(OperandSpace::Between, at, count), count, size);
            let mut records = vec![copy(x, size), Record { coefficient: -0.5, ..square }];
            if let Some(kept) = states.block(*sector) {
                let v = states_of(OperandSpace::Right, kept);
                let overlap = product(transposed(v), x, *rows, [kept.columns, count]);
                let at = overlaps.push(kept.columns * count, vec![overlap]);
                let back = product(v, plain(OperandSpace::Between, at, kept.columns), kept.columns, size);
                records.push(Record { coefficient: -1.0, ..back });
            }
            next.push(rows * columns, records);
        }
        for _ in 0..STEPS {
            let operands = Operands::default().set(OperandSpace::Input, &self.data);
            let operands = operands.set(OperandSpace::Right, &states.data);
            let overlap = engine.run(&overlaps, operands)?;
            let error = engine.dot(&overlap, &overlap)?;
            self.data = engine.run(&next, operands.set(OperandSpace::Between, &overlap))?;
            if error <= NEARLY {
                return Ok(Some(self));
            }
        }
        Ok(None)
    }
}
