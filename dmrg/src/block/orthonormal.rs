//! Columns that are nearly orthonormal made so to rounding, by products.
//!
//! In: matrices in a buffer, perhaps kept states V of the same sectors. Out: the same with orthonormal columns, orthogonal to V:
//! X ← X (3 − Xᵀ X) / 2 − V Vᵀ X (Newton and Schulz; Björck, Bowie 1971), until the next step is rounding.

use super::state::Isometry;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};

/// ‖Xᵀ X − 1‖² + ‖Vᵀ X‖² whose next is rounding.
const NEARLY: f64 = 1e-15;
/// Steps; two are usual.
const STEPS: usize = 10;

/// A matrix of states of one sector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectorColumns {
    /// The sector of the enlarged block.
    pub(crate) sector: usize,
    /// First element, column-major.
    pub(crate) offset: usize,
    /// States of the sector.
    pub(crate) rows: usize,
    /// Columns.
    pub(crate) columns: usize,
}

fn matrix(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

/// Makes the columns in `data`, which follow each other as listed, orthonormal and orthogonal to the states of `against`; `None` if they
/// did not become so.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn orthonormal<E: Backend>(
    engine: &E,
    mut data: E::Buffer,
    list: &[SectorColumns],
    against: Option<&Isometry<E::Buffer>>,
) -> Result<Option<E::Buffer>, DmrgError> {
    let (mut overlaps, mut next) = (RecordStage::default(), RecordStage::default());
    for SectorColumns { sector, offset, rows, columns } in list {
        let (size, count) = ([*rows, *columns], *columns);
        let x = matrix(OperandSpace::Input, *offset, *rows);
        let turned = Operand { transposed: true, ..x };
        let square = Record::product(turned, x, *rows, [count, count]);
        let one = Record { action: Action::Diagonal, coefficient: -1.0, ..square };
        let at = overlaps.push(count * count, vec![square, one]);
        let square = Record::product(x, matrix(OperandSpace::Between, at, count), count, size);
        let same = Record { action: Action::Copy { a: x }, ..square };
        let mut records = vec![same, Record { coefficient: -0.5, ..square }];
        if let Some(kept) = against.and_then(|states| states.block(*sector)) {
            let v = matrix(OperandSpace::Right, kept.offset, kept.rows);
            let overlap = Record::product(Operand { transposed: true, ..v }, x, *rows, [kept.columns, count]);
            let at = overlaps.push(kept.columns * count, vec![overlap]);
            let back = Record::product(v, matrix(OperandSpace::Between, at, kept.columns), kept.columns, size);
            records.push(Record { coefficient: -1.0, ..back });
        }
        next.push(rows * columns, records);
    }
    for _ in 0..STEPS {
        let operands = Operands::default().set(OperandSpace::Input, &data);
        let operands = against.map_or(operands, |states| operands.set(OperandSpace::Right, &states.data));
        let overlap = engine.run(&overlaps, operands)?;
        let error = engine.dot(&overlap, &overlap)?;
        let improved = engine.run(&next, operands.set(OperandSpace::Between, &overlap))?;
        data = improved;
        if error <= NEARLY {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
