//! The diagonal of H on a device: Σ_b diag(A_b)_i diag(B_b)_j as two stages of records.
//!
//! The diagonals of all operators become the columns of one matrix per sector and side, copied with a stride one longer
//! than a column's; a product of two such matrices is a sector of the diagonal of H.

use crate::block::blocks::WaveLayout;
use crate::block::bond::TwoSiteBond;
use crate::block::enlarged::EnlargedOperators;
use crate::block::environment::Environment;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::{Backend, DeviceBackend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
use eigenforge_runtime::residency::PoolBuffer;

/// Diagonals of the operators of one sector of a side.
struct Columns {
    offset: usize,
    rows: usize,
}

/// Copies the diagonals of one side's operators that map a sector to itself.
fn columns<B>(
    operators: &EnlargedOperators<B>,
    sector: usize,
    rows: usize,
    both: &[usize],
    stage: &mut RecordStage,
) -> Columns {
    let mut records = Vec::new();
    for (column, operator) in both.iter().enumerate() {
        let Some(block) = operators.block(*operator, sector) else { continue };
        for piece in block.pieces.iter().filter(|piece| piece.first_row == piece.first_column) {
            let along = |space, offset, stride| Operand { space, offset, stride, transposed: true };
            let a = match piece.matrix {
                Some(matrix) => along(matrix.space, matrix.offset, matrix.stride + 1),
                None => along(OperandSpace::Input, 0, 1),
            };
            records.push(Record {
                action: Action::Copy { a },
                coefficient: piece.coefficient,
                first: piece.first_row + column * rows,
                stride: rows,
                rows: piece.rows.min(piece.columns),
                columns: 1,
            });
        }
    }
    Columns { offset: stage.push(rows * both.len(), records), rows }
}

/// The stages, and the length of the longest identity's diagonal.
pub(crate) fn stages<B>(
    left: &EnlargedOperators<B>,
    right: &EnlargedOperators<B>,
    layout: &WaveLayout,
) -> (RecordStage, RecordStage, usize) {
    let (mut first, mut second) = (RecordStage::default(), RecordStage { groups: Vec::new(), length: layout.length });
    let mut longest = 0;
    for sector in &layout.sectors {
        let both: Vec<usize> = (0..left.blocks.len())
            .filter(|b| left.maps_to_itself(*b, sector.left) && right.maps_to_itself(*b, sector.right))
            .collect();
        longest = longest.max(sector.rows).max(sector.columns);
        let mut records = Vec::new();
        if !both.is_empty() {
            let a = columns(left, sector.left, sector.rows, &both, &mut first);
            let b = columns(right, sector.right, sector.columns, &both, &mut first);
            let operand = |of: &Columns, transposed| Operand {
                space: OperandSpace::Between,
                offset: of.offset,
                stride: of.rows,
                transposed,
            };
            records.push(Record {
                action: Action::Product { a: operand(&a, false), b: operand(&b, true), inner: both.len() },
                coefficient: 1.0,
                first: 0,
                stride: sector.rows,
                rows: sector.rows,
                columns: sector.columns,
            });
        }
        second.groups.push(RecordGroup { offset: sector.offset, length: sector.rows * sector.columns, records });
    }
    (first, second, longest)
}

/// The diagonal of H over ψ.
pub(super) fn diagonal(
    engine: &DeviceBackend,
    bond: &TwoSiteBond<PoolBuffer>,
    left: &Environment<PoolBuffer>,
    right: &Environment<PoolBuffer>,
) -> Result<PoolBuffer, BackendError> {
    let (first, second, longest) = stages(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
    engine.with_ones(longest, |ones| {
        let between = engine.run(&first, bond.operands(left, right).set(OperandSpace::Input, ones))?;
        engine.run(&second, Operands::default().set(OperandSpace::Between, &between))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::blocks::Side;
    use crate::chain::Chain;
    use crate::options::Options;
    use crate::sweep::sweeper::Sweeper;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::operator::Operator;
    use eigenforge_runtime::backend::Backend;
    use eigenforge_runtime::backend::HostBackend;

    /// Bonds of a chain with couplings of every kind, in the middle of a sweep.
    #[test]
    fn the_stages_give_what_the_loops_give() {
        let lattice = Lattice::chain(8).open();
        let model: Operator =
            eigenforge_core::models::hubbard(&lattice, &[1.0; 7], &[3.0; 8], &[0.1; 8], 0.0, &[0.2; 7]);
        let chain = Chain::new(&model, Sector::Fermions { up: 4, down: 4 }, None).unwrap();
        let mut sweeper = Sweeper::random(HostBackend::default(), &chain, 20, 3).unwrap();
        let plan = Options { states: vec![20], ..Options::default() }.plan(4);
        for p in 0..4 {
            sweeper.step(p, Side::Left, &plan).unwrap();
        }
        let (engine, (left, right)) = (sweeper.engine(), sweeper.environments(4));
        let bond = TwoSiteBond::new(engine, &chain, &chain.sum, 4, left, right).unwrap();
        let (first, second, longest) = stages(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
        let ones = vec![1.0; longest];
        let between = engine.run(&first, bond.operands(left, right).set(OperandSpace::Input, &ones)).unwrap();
        let found = engine.run(&second, Operands::default().set(OperandSpace::Between, &between)).unwrap();
        let expected = bond.diagonal(left, right);
        let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(largest > 1.0, "a diagonal that could be wrong");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-13 * largest, "{found} is not {expected}");
        }
    }
}
