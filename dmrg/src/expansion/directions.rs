//! The states that a sketch adds to a bond.
//!
//! In: random rows Y of Hψ outside the kept states V, for each sector of a block. Out: its strongest directions over all sectors,
//! orthonormal, and orthogonal to V, to rounding.
//!
//! The Gram matrix of the rows of a sector, Y Yᵀ = W Λ Wᵀ, is of as many rows as the sketch, so it is decomposed at no cost;
//! Λ/k are the weights that decide, the states are Yᵀ W Λ^(−1/2). Rounding has left them nearly orthonormal;
//! `block/orthonormal.rs` makes them so.

use super::sketch::{Sketch, SketchBlock, plain, product, transposed};
use crate::block::orthonormal::{SectorColumns, orthonormal};
use crate::block::state::Isometry;
use crate::block::truncate::{TruncationLimits, choose};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{OperandSpace, RecordStage};

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
            blocks.push(SectorColumns { sector: block.sector, offset, rows, columns: count });
        }
        if blocks.is_empty() {
            return Ok(None);
        }
        let coefficients = engine.upload(coefficients)?;
        let data = engine.run(&stage, input.set(OperandSpace::Right, &coefficients))?;
        Ok(orthonormal(engine, data, &blocks, Some(states))?.map(|data| Directions { blocks, data }))
    }
}
