//! Operators of a block and a site that change the charges alike, side by side: how they are made, and products with all of them.
//!
//! A group of K operators maps a sector of C states to one of R states by K matrices, stored as elements (row, k, column).
//! One below the other they are R·K × C, so that z_k = A_k x of all is one product. z is then R × K·C' of the columns k +
//! K·column, and so are the operators of the other side, wherefore Σ_k z_k B_kᵀ is one product too.

use super::blocks::Side;
use super::enlarged::{EnlargedOperators, Enlarging, OperatorBlock, Piece};
use super::environment::{BlockOperator, DenseBlock};
use super::state::Isometry;
use crate::chain::bundles::{BundleList, BundleLists, Bundles};
use crate::chain::operator_sum::Entry;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Backend;
use eigenforge_runtime::records::{AssembledPart, Assembly, AssemblyTerm, Operand, OperandSpace, Record, RecordStage};
use std::sync::OnceLock;

/// The operators of a group between two sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideBySide {
    /// The sector that they map to.
    pub(crate) row: usize,
    /// States of that sector.
    pub(crate) rows: usize,
    /// States of the one that they map from.
    pub(crate) columns: usize,
    /// How many operators.
    pub(crate) count: usize,
    space: OperandSpace,
    offset: usize,
}

impl SideBySide {
    /// R·K × C.
    pub(crate) fn stacked(&self) -> Operand {
        Operand { space: self.space, offset: self.offset, stride: self.rows * self.count, transposed: false }
    }

    /// R × K·C.
    pub(crate) fn abreast(&self) -> Operand {
        Operand { space: self.space, offset: self.offset, stride: self.rows, transposed: false }
    }

    /// z_k = A_k · (the columns of the input at `offset`, of `stride` rows): R × K·`columns`. Returns its first element.
    pub(crate) fn onto_columns(
        &self,
        first: &mut RecordStage,
        (offset, stride, columns): (usize, usize, usize),
    ) -> usize {
        let x = Operand { space: OperandSpace::Input, offset, stride, transposed: false };
        self.times(first, x, columns)
    }

    /// z_k = A_k · (the rows of the input at `offset`)ᵀ, all `rows` of them: R × K·`rows`. Returns its first element.
    pub(crate) fn onto_rows(&self, first: &mut RecordStage, offset: usize, rows: usize) -> usize {
        let x = Operand { space: OperandSpace::Input, offset, stride: rows, transposed: true };
        self.times(first, x, rows)
    }

    fn times(&self, first: &mut RecordStage, x: Operand, columns: usize) -> usize {
        let rows = self.rows * self.count;
        first.push(rows * columns, vec![Record::product(self.stacked(), x, self.columns, [rows, columns])])
    }
}

/// The matrices of a stage's output at `offset`, `rows` each, beside each other.
pub(crate) fn abreast_at(offset: usize, rows: usize) -> Operand {
    Operand { space: OperandSpace::Between, offset, stride: rows, transposed: false }
}

impl<B> EnlargedOperators<B> {
    /// The operators of a group that map from a sector; `None` where there are none, or where one operator is alone.
    pub(crate) fn side_by_side(&self, group: usize, sector: usize) -> Option<SideBySide> {
        let operators = &self.groups[group];
        let OperatorBlock { row, pieces, .. } = self.blocks[operators[0]][sector].as_ref()?;
        let Piece { rows, columns, matrix, .. } = pieces[0];
        let Operand { space, offset, .. } = matrix.filter(|_| operators.len() > 1)?;
        Some(SideBySide { row: *row, rows, columns, count: operators.len(), space, offset })
    }

    /// Uᵀ A_k U of the operators of a group, side by side again.
    pub(super) fn project_together(
        &self,
        group: usize,
        kept: &Isometry<B>,
        operators: &mut [BlockOperator],
        [first, second]: [&mut RecordStage; 2],
    ) {
        let members = &self.groups[group];
        let mut lists = vec![Vec::new(); members.len()];
        for column in 0..self.blocks[members[0]].len() {
            let Some(a) = self.side_by_side(group, column) else { continue };
            let (Some(to), Some(from)) = (kept.block(a.row), kept.block(column)) else { continue };
            let half = a.onto_columns(first, (from.offset, from.rows, from.columns));
            let u = Operand { space: OperandSpace::Input, offset: to.offset, stride: to.rows, transposed: true };
            let record = Record::product(u, abreast_at(half, a.rows), a.rows, [to.columns, a.count * from.columns]);
            let offset = second.push(to.columns * a.count * from.columns, vec![record]);
            for (k, list) in lists.iter_mut().enumerate() {
                let (row, column) = (to.kept_sector, from.kept_sector);
                list.push(DenseBlock { row, column, offset: offset + k * to.columns, stride: to.columns * a.count });
            }
        }
        for (b, list) in members.iter().zip(lists) {
            operators[*b] = BlockOperator::Dense(list);
        }
    }
}

/// The operators of a group of a block.
struct Sources {
    /// How many have a matrix.
    count: usize,
    /// For each sector the one that they map to, and their first element.
    places: Vec<Option<(usize, usize)>>,
}

/// A matrix that is all of a block, or the identity.
fn whole_piece([rows, columns]: [usize; 2], matrix: Option<Operand>) -> Piece {
    Piece { first_row: 0, first_column: 0, rows, columns, coefficient: 1.0, matrix }
}

impl<B> Enlarging<'_, B> {
    /// Makes all operators side by side.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn bundled<E: Backend<Buffer = B>>(&self, engine: &E) -> Result<EnlargedOperators<B>, DmrgError> {
        let (bundles, behind) = (self.cut.bundles(), self.behind.bundles());
        let own = OnceLock::new();
        let lists = self.lists.unwrap_or(&own).get_or_init(|| self.lists(&bundles, &behind));
        let mut assembly = Assembly { lists: lists.shared.clone(), ..Assembly::default() };
        let sources = self.sources(&behind);
        let identity = match self.side {
            Side::Left => self.cut.left_identity,
            Side::Right => self.cut.right_identity,
        };
        let sectors = &self.enlarged.sectors;
        let mut blocks = vec![Vec::new(); self.cut.width()];
        for (group, operators) in bundles.groups.iter().enumerate() {
            let change = self.cut.changes[operators[0]];
            let block_of = |column: usize| {
                let columns = sectors.dimension(column);
                if identity == Some(operators[0]) {
                    return Some(OperatorBlock {
                        row: column,
                        column,
                        pieces: vec![whole_piece([columns, columns], None)],
                    });
                }
                let charges = sectors.charges(column);
                let reached = if self.side == Side::Left { charges + change } else { charges - change };
                let row = sectors.find(reached)?;
                let of_states = &lists.of_group[group];
                let offset = self.place(&mut assembly, (row, column), operators.len(), of_states, &sources)?;
                let (rows, space) = (sectors.dimension(row), self.side.spaces().1);
                let matrix = Operand { space, offset, stride: rows * operators.len(), transposed: false };
                Some(OperatorBlock { row, column, pieces: vec![whole_piece([rows, columns], Some(matrix))] })
            };
            blocks[operators[0]] = (0..sectors.len()).map(block_of).collect();
        }
        let sums = engine.assemble(&assembly, &self.block.data)?;
        let summed = assembly.blocks.len();
        let Bundles { groups, places } = bundles;
        Ok(EnlargedOperators { blocks, groups, places, sums, summed })
    }

    /// Which operators of the block each of the table's adds up.
    fn lists(&self, bundles: &Bundles, behind: &Bundles) -> BundleLists {
        let is_identity = |inner: usize| matches!(self.block.operators[inner], BlockOperator::Identity);
        let ends = |entry: &Entry| match self.side {
            Side::Left => (entry.from, entry.to),
            Side::Right => (entry.to, entry.from),
        };
        BundleLists::new(ends, (self.table, self.operators), self.enlarged.states(), [bundles, behind], is_identity)
    }

    /// Each group of the block's operators.
    fn sources(&self, behind: &Bundles) -> Vec<Sources> {
        let of = |operators: &Vec<usize>| {
            let mut places = vec![None; self.block.sectors.len()];
            let first = &self.block.operators[operators[0]];
            if let BlockOperator::Dense(list) = first {
                list.iter().for_each(|dense| places[dense.column] = Some((dense.row, dense.offset)));
            }
            Sources { count: operators.len(), places }
        };
        behind.groups.iter().map(of).collect()
    }

    /// Plans a block of operators between two sectors. Returns its first element; `None` if it is zero.
    fn place(
        &self,
        assembly: &mut Assembly,
        (row, column): (usize, usize),
        count: usize,
        lists: &[Vec<BundleList>],
        sources: &[Sources],
    ) -> Option<usize> {
        let (begun, of_block) = (assembly.terms.len(), assembly.parts.len());
        let (height, states) = (self.enlarged.sectors.dimension(row), self.enlarged.states());
        let offset = assembly.length;
        for from in &self.enlarged.parts[column] {
            for to in &self.enlarged.parts[row] {
                let first_term = assembly.terms.len();
                for list in &lists[to.state * states + from.state] {
                    let term = match list.group {
                        None => (to.block == from.block).then_some((0, 1)),
                        Some(group) => {
                            let Sources { count, places } = &sources[group];
                            places[from.block].filter(|(row, _)| *row == to.block).map(|(_, first)| (first, *count))
                        }
                    };
                    let term = term.map(|(first, count)| AssemblyTerm { first, count, list: list.first });
                    assembly.terms.extend(term);
                }
                assembly.parts.push(AssembledPart {
                    first: offset + to.first + height * count * from.first,
                    rows: to.dimension,
                    columns: from.dimension,
                    height,
                    count,
                    terms: (first_term, assembly.terms.len() - first_term),
                });
            }
        }
        if assembly.terms.len() == begun {
            assembly.parts.truncate(of_block);
            return None;
        }
        assembly.blocks.push((of_block, offset));
        assembly.length += height * count * self.enlarged.sectors.dimension(column);
        Some(offset)
    }
}
