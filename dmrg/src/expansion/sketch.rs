//! A few random rows of what two sites would add: H ψ outside the states of the next bond, at the cost of one site.
//!
//! In: ψ = C Vᵀ with its site in the near block, C between the near states (l, s) and the kept states V of the far block, which are
//! columns over the states (s', r) of its enlarged block. Out: for each pair of sectors of the two enlarged blocks, whether V has any
//! states there or not, Y = Ωᵀ Hψ (1 − V Vᵀ) with random Ω of k columns; the rows of Y span what Hψ has outside V but for its small
//! parts (the range finder of Halko, Martinsson, Tropp, SIAM Rev. 53, 217 (2011), as McCulloch and Osborne, arXiv 2403.00562, take it;
//! Gleis, Li, von Delft, Phys. Rev. Lett. 130, 246402 (2023) find the same space by two decompositions).
//!
//! Hψ = Σ_b A_b C Vᵀ B_bᵀ is multiplied from Ω inwards, so every product has only k rows:
//! Y = Σ_b ((Ωᵀ A_b) C Vᵀ) B_bᵀ. Terms with an identity on the far block add nothing outside V. Those with an identity on the near block
//! count: with them the part of Hψ in the near states of ψ, which a solve of the next site reaches anyway, vanishes as the sweeps settle.

use crate::block::blocks::{Enlarged, Sectors, Side, WaveLayout};
use crate::block::bond::Frame;
use crate::block::enlarged::{EnlargedOperators, OperatorBlock, Piece};
use crate::block::projection::onto_rows;
use crate::block::start::Random;
use crate::block::state::{Isometry, KeptBlock};
use crate::block::truncate::is_multiple_of_identity;
use crate::chain::charges::Charges;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};
use std::borrow::Cow;

/// Random rows for each state that is wanted, and for each sector besides.
const ROWS: f64 = 1.25;
const ROWS_OF_SECTOR: usize = 4;
/// Mean square of an element of Ω.
pub(super) const VARIANCE: f64 = 1.0 / 3.0;

/// ψ at a site and the states of the bond beside it that may be more.
pub(super) struct Sketching<'a, B> {
    /// The side of the block that holds the site of ψ.
    pub(super) near: Side,
    /// ψ around its site.
    pub(super) frame: &'a Frame,
    /// ψ.
    pub(super) wave: &'a B,
    /// The operators of the near block with their buffers.
    pub(super) operators: &'a EnlargedOperators<B>,
    /// The next site and the block behind it.
    pub(super) far: &'a Enlarged,
    /// Its operators.
    pub(super) far_operators: &'a EnlargedOperators<B>,
    /// Its kept states V.
    pub(super) states: &'a Isometry<B>,
    /// The charges of the chain.
    pub(super) total: Charges,
}

/// Rows of Y in one sector of the far block.
#[derive(Clone, Copy, Debug)]
pub(super) struct SketchBlock {
    /// The sector of the near block that completes it.
    near: usize,
    /// The sector of the far block.
    pub(super) sector: usize,
    /// First element; `rows` × `columns`, column-major.
    pub(super) offset: usize,
    /// Rows k.
    pub(super) rows: usize,
    /// States of the sector.
    pub(super) columns: usize,
}

/// The rows of all sectors.
pub(super) struct Sketch<B> {
    /// By sector.
    pub(super) blocks: Vec<SketchBlock>,
    /// Y.
    pub(super) data: B,
    /// ‖Ωᵀ Hψ‖² before the projection, of which rounding errors are a part.
    pub(super) square: f64,
}

pub(super) fn plain(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

pub(super) fn transposed(operand: Operand) -> Operand {
    Operand { transposed: true, ..operand }
}

pub(super) fn copy(a: Operand, [rows, columns]: [usize; 2]) -> Record {
    Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns }
}

/// The kept states of a sector as an operand of a space.
pub(super) fn kept_operand(space: OperandSpace, block: &KeptBlock) -> Operand {
    plain(space, block.offset, block.rows)
}

/// The transpose of a piece.
pub(super) fn transpose_piece(piece: &Piece) -> Piece {
    let matrix = piece.matrix.map(|matrix| Operand { transposed: !matrix.transposed, ..matrix });
    Piece {
        first_row: piece.first_column,
        first_column: piece.first_row,
        rows: piece.columns,
        columns: piece.rows,
        matrix,
        ..*piece
    }
}

/// A term of Hψ between two sectors of the far block.
struct SketchTerm<'a> {
    /// Its operators on the near and the far block.
    a: Cow<'a, OperatorBlock>,
    b: Cow<'a, OperatorBlock>,
    /// C: first element, rows and columns of its sector.
    centre: (usize, usize, usize),
    /// V of the sector.
    states: &'a KeptBlock,
    /// The block of Y that it adds to.
    target: usize,
}

impl<B> Sketching<'_, B> {
    fn near_sectors(&self) -> &Sectors {
        let enlarged = if self.near == Side::Left { &self.frame.left } else { &self.frame.right };
        &enlarged.sectors
    }

    /// The rows of every sector that has states outside `kept`, for about `room` more states in all.
    fn blocks(&self, room: usize, kept: &Isometry<B>) -> Vec<SketchBlock> {
        let far = &self.far.sectors;
        let layout = match self.near {
            Side::Left => WaveLayout::new(self.near_sectors(), far, self.total),
            Side::Right => WaveLayout::new(far, self.near_sectors(), self.total),
        };
        let free = |sector: usize| far.dimension(sector) - kept.block(sector).map_or(0, |kept| kept.columns);
        let pairs = layout.sectors.iter().map(|pair| match self.near {
            Side::Left => (pair.left, pair.right),
            Side::Right => (pair.right, pair.left),
        });
        let open: Vec<(usize, usize)> = pairs.filter(|(_, sector)| free(*sector) > 0).collect();
        let all: usize = open.iter().map(|(_, sector)| far.dimension(*sector)).sum();
        let (mut offset, mut blocks) = (0, Vec::with_capacity(open.len()));
        for (near, sector) in open {
            let columns = far.dimension(sector);
            let share = (ROWS * room as f64 * columns as f64 / all as f64).ceil() as usize;
            let share = share.saturating_add(ROWS_OF_SECTOR);
            let rows = share.min(free(sector)).min(self.near_sectors().dimension(near));
            blocks.push(SketchBlock { near, sector, offset, rows, columns });
            offset += rows * columns;
        }
        blocks
    }

    /// The terms of Hψ that cross the bond and end in these blocks.
    fn terms(&self, blocks: &[SketchBlock]) -> Vec<SketchTerm<'_>> {
        let mut target_of = vec![None; self.near_sectors().len()];
        blocks.iter().enumerate().for_each(|(index, block)| target_of[block.near] = Some(index));
        let kept_of = |sector: usize| self.states.blocks.iter().find(|block| block.kept_sector == sector);
        let mut terms = Vec::new();
        for pair in &self.frame.layout.sectors {
            let (near, kept) = match self.near {
                Side::Left => (pair.left, pair.right),
                Side::Right => (pair.right, pair.left),
            };
            let Some(states) = kept_of(kept) else { continue };
            for operator in 0..self.operators.blocks.len() {
                let near = self.operators.block(operator, near);
                let far = self.far_operators.block(operator, states.enlarged_sector);
                let (Some(a), Some(b)) = (near, far) else { continue };
                let Some(target) = target_of[a.row].filter(|target| blocks[*target].sector == b.row) else { continue };
                let d = self.far.sectors.dimension(b.column);
                if b.row != b.column || !is_multiple_of_identity(&b.pieces, d) {
                    terms.push(SketchTerm { a, b, centre: (pair.offset, pair.rows, pair.columns), states, target });
                }
            }
        }
        terms
    }

    /// Y outside the states `kept`, V or more of them, from the buffers of the operators of both sides. `None` where they are all.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn run<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        (room, seed): (usize, u64),
        operands: Operands<'_, B>,
        kept: &Isometry<B>,
    ) -> Result<Option<Sketch<B>>, DmrgError> {
        let blocks = self.blocks(room, kept);
        let terms = self.terms(&blocks);
        if terms.is_empty() {
            return Ok(None);
        }
        let (mut begins, mut length) = (Vec::with_capacity(blocks.len()), 0);
        for block in &blocks {
            begins.push(length);
            length += block.rows * self.near_sectors().dimension(block.near);
        }
        let mut random = Random::new(seed);
        let random = engine.upload((0..length).map(|_| random.number()).collect())?;
        let [mut near, mut centre, mut wide] = [(); 3].map(|()| RecordStage::default());
        let mut rows = RecordStage::default();
        blocks.iter().for_each(|block| {
            rows.push(block.rows * block.columns, Vec::new());
        });
        for SketchTerm { a, b, centre: (first, height, width), states, target } in terms {
            let k = blocks[target].rows;
            let (inner, bond) = if self.near == Side::Left { (height, width) } else { (width, height) };
            let pieces = a.pieces.iter().map(|piece| onto_rows(&transpose_piece(piece), begins[target], k, k));
            let at = near.push(k * inner, pieces.collect());
            let (x, c) = (plain(OperandSpace::Between, at, k), plain(OperandSpace::Input, first, height));
            let c = if self.near == Side::Left { c } else { transposed(c) };
            let at = centre.push(k * bond, vec![Record::product(x, c, inner, [k, bond])]);
            let (x, v) = (plain(OperandSpace::Between, at, k), transposed(kept_operand(OperandSpace::Input, states)));
            let at = wide.push(k * states.rows, vec![Record::product(x, v, bond, [k, states.rows])]);
            rows.groups[target].records.extend(b.pieces.iter().map(|piece| onto_rows(piece, at, k, k)));
        }
        let between = engine.run(&near, operands.set(OperandSpace::Input, &random))?;
        let chained = Operands::default().set(OperandSpace::Between, &between).set(OperandSpace::Input, self.wave);
        let between = engine.run(&centre, chained)?;
        let chained = Operands::default().set(OperandSpace::Between, &between);
        let between = engine.run(&wide, chained.set(OperandSpace::Input, &self.states.data))?;
        let data = engine.run(&rows, operands.set(OperandSpace::Input, &between))?;
        let square = engine.dot(&data, &data)?;
        let data = project_out(engine, &blocks, &data, kept)?;
        Ok(Some(Sketch { blocks, data, square }))
    }
}

impl<B> Sketch<B> {
    /// Estimate of ‖Hψ‖² outside the states that the sketch left out: of each sector a mean over its rows.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn weight<E: Engine<Buffer = B>>(&self, engine: &E) -> Result<f64, DmrgError> {
        let mut stage = RecordStage::default();
        for SketchBlock { offset, rows, columns, .. } in &self.blocks {
            let y = plain(OperandSpace::Input, *offset, *rows);
            let coefficient = (*rows as f64 * VARIANCE).sqrt().recip();
            stage.push(rows * columns, vec![Record { coefficient, ..copy(y, [*rows, *columns]) }]);
        }
        let scaled = engine.run(&stage, Operands::default().set(OperandSpace::Input, &self.data))?;
        Ok(engine.dot(&scaled, &scaled)?)
    }
}

/// Y (1 − V Vᵀ) of states V.
fn project_out<E: Engine>(
    engine: &E,
    blocks: &[SketchBlock],
    data: &E::Buffer,
    states: &Isometry<E::Buffer>,
) -> Result<E::Buffer, DmrgError> {
    let (mut overlaps, mut rest) = (RecordStage::default(), RecordStage::default());
    for block in blocks {
        let size = [block.rows, block.columns];
        let y = plain(OperandSpace::Input, block.offset, block.rows);
        let mut records = vec![copy(y, size)];
        if let Some(kept) = states.block(block.sector) {
            let v = kept_operand(OperandSpace::Right, kept);
            let at = overlaps.push(
                block.rows * kept.columns,
                vec![Record::product(y, v, block.columns, [block.rows, kept.columns])],
            );
            let overlap = plain(OperandSpace::Between, at, block.rows);
            records.push(Record { coefficient: -1.0, ..Record::product(overlap, transposed(v), kept.columns, size) });
        }
        rest.push(block.rows * block.columns, records);
    }
    let operands = Operands::default().set(OperandSpace::Input, data).set(OperandSpace::Right, &states.data);
    let overlap = engine.run(&overlaps, operands)?;
    Ok(engine.run(&rest, operands.set(OperandSpace::Between, &overlap))?)
}
