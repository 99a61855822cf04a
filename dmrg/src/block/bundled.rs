//! Operators of a block and a site that change the charges alike, side by side: how they are made, and products with all of them.
//!
//! A group of K operators maps a sector of C states to one of R states by K matrices, stored as elements (row, k, column).
//! One below the other they are R·K × C, so that z_k = A_k x of all is one product. z is then R × K·C' of the columns k +
//! K·column, and so are the operators of the other side, wherefore Σ_k z_k B_kᵀ is one product too.
//!
//! Operators that are [passed on](crate::chain::bundles) are such matrices of the block alone, at the place of each state of the site:
//! with d states a d-th of the elements or less, and of the operations of A_k x.

use super::blocks::{Part, Side};
use super::enlarged::{EnlargedOperators, Enlarging, OperatorBlock, Piece};
use super::environment::{BlockOperator, DenseBlock};
use super::state::Isometry;
use crate::chain::bundles::{BundleList, BundleLists, Bundles, BundlesOfSite, Signs};
use crate::chain::operator_sum::Entry;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Backend;
use eigenforge_runtime::records::{AssembledPart, Assembly, AssemblyTerm, Operand, OperandSpace, Record, RecordStage};
use std::sync::OnceLock;

/// The operators of a group between some states of two sectors, all of them but where they are passed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideBySide {
    /// The sector that they map to.
    pub(crate) row: usize,
    /// The first of its states.
    pub(crate) first_row: usize,
    /// How many of them.
    pub(crate) rows: usize,
    /// The first state of the sector that they map from.
    pub(crate) first_column: usize,
    /// How many of them.
    pub(crate) columns: usize,
    /// How many operators.
    pub(crate) count: usize,
    /// What multiplies the matrices: 1 or −1.
    pub(crate) coefficient: f64,
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

    /// z_k = A_k · (the columns of the input at `offset`, of `stride` rows): R × K·`columns`.
    pub(crate) fn onto_columns(
        &self,
        first: &mut RecordStage,
        (offset, stride, columns): (usize, usize, usize),
    ) -> Operand {
        let offset = offset + self.first_column;
        let x = Operand { space: OperandSpace::Input, offset, stride, transposed: false };
        self.times(first, x, columns)
    }

    /// z_k = A_k · (the rows of the input at `offset`)ᵀ, all `rows` of them: R × K·`rows`.
    pub(crate) fn onto_rows(&self, first: &mut RecordStage, offset: usize, rows: usize) -> Operand {
        let offset = offset + self.first_column * rows;
        let x = Operand { space: OperandSpace::Input, offset, stride: rows, transposed: true };
        self.times(first, x, rows)
    }

    fn times(&self, first: &mut RecordStage, x: Operand, columns: usize) -> Operand {
        let rows = self.rows * self.count;
        let product = Record::product(self.stacked(), x, self.columns, [rows, columns]);
        let offset = first.push(rows * columns, vec![Record { coefficient: self.coefficient, ..product }]);
        Operand { space: OperandSpace::Between, offset, stride: self.rows, transposed: false }
    }
}

impl<B> EnlargedOperators<B> {
    /// The operators of a group that map from a sector; nothing where there are none, or where one operator is alone. No two parts have
    /// rows or columns in common.
    pub(crate) fn side_by_side(&self, group: usize, sector: usize) -> impl Iterator<Item = SideBySide> + Clone {
        let operators = &self.groups[group];
        let count = operators.len();
        let block = self.blocks[operators[0]][sector].as_ref().filter(|_| count > 1);
        block.into_iter().flat_map(move |OperatorBlock { row, pieces, .. }| {
            pieces.iter().filter_map(move |piece| {
                let Piece { first_row, first_column, rows, columns, coefficient, matrix } = *piece;
                let Operand { space, offset, .. } = matrix?;
                let row = *row;
                Some(SideBySide { row, first_row, rows, first_column, columns, count, coefficient, space, offset })
            })
        })
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
            let Some(OperatorBlock { row, .. }) = self.blocks[members[0]][column] else { continue };
            let (Some(to), Some(from)) = (kept.block(row), kept.block(column)) else { continue };
            // Uᵀ A_k of all parts as columns k + K·column; one below the other they meet U.
            let stride = to.columns * members.len();
            let onto = |a: SideBySide| {
                let (space, offset) = (OperandSpace::Input, to.offset + a.first_row);
                let u = Operand { space, offset, stride: to.rows, transposed: true };
                let product = Record::product(u, a.abreast(), a.rows, [to.columns, a.count * a.columns]);
                Record { coefficient: a.coefficient, first: stride * a.first_column, ..product }
            };
            let half = first.push(stride * from.rows, self.side_by_side(group, column).map(onto).collect());
            let half = Operand { space: OperandSpace::Between, offset: half, stride, transposed: false };
            let u = Operand { space: OperandSpace::Input, offset: from.offset, stride: from.rows, transposed: false };
            let offset =
                second.push(stride * from.columns, vec![Record::product(half, u, from.rows, [stride, from.columns])]);
            for (k, list) in lists.iter_mut().enumerate() {
                let (row, column) = (to.kept_sector, from.kept_sector);
                list.push(DenseBlock { row, column, offset: offset + k * to.columns, stride });
            }
        }
        for (b, list) in members.iter().zip(lists) {
            operators[*b] = BlockOperator::Dense(list);
        }
    }
}

/// A group of operators of block and site, and what they add up.
#[derive(Clone, Copy)]
struct GroupPlan<'a> {
    /// How many.
    count: usize,
    /// Their lists, for the states to · n + from of the site.
    lists: &'a [Vec<BundleList>],
    /// The groups of the block.
    sources: &'a [Sources],
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
    pub(super) fn bundled<E: Backend<Buffer = B>>(
        &self,
        engine: &E,
        together: &BundlesOfSite<'_>,
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        let BundlesOfSite { cut: bundles, behind, lists: known } = *together;
        let own = OnceLock::new();
        let lists = known.unwrap_or(&own).get_or_init(|| self.lists(bundles, behind));
        let mut assembly = Assembly { lists: lists.shared.clone(), ..Assembly::default() };
        let sources = self.sources(behind);
        let identity = match self.side {
            Side::Left => self.cut.left_identity,
            Side::Right => self.cut.right_identity,
        };
        let sectors = &self.enlarged.sectors;
        let mut blocks = vec![Vec::new(); self.cut.width()];
        for (group, operators) in bundles.groups.iter().enumerate() {
            let change = self.cut.changes[operators[0]];
            let signs = known.and(bundles.passed_on[group][usize::from(self.side == Side::Right)].as_ref());
            let plan = GroupPlan { count: operators.len(), lists: &lists.of_group[group], sources: &sources };
            let mut copies = vec![None; self.block.sectors.len()];
            let mut block_of = |column: usize| {
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
                if let Some(signs) = signs {
                    let mut of_block =
                        |from: usize| *copies[from].get_or_insert_with(|| self.copied(&mut assembly, from, plan));
                    let pieces = self.passed_on((row, column), (operators.len(), signs), &mut of_block);
                    return (!pieces.is_empty()).then_some(OperatorBlock { row, column, pieces });
                }
                let offset = self.place(&mut assembly, (row, column), plan)?;
                let (rows, space) = (sectors.dimension(row), self.side.spaces().1);
                let matrix = Operand { space, offset, stride: rows * operators.len(), transposed: false };
                Some(OperatorBlock { row, column, pieces: vec![whole_piece([rows, columns], Some(matrix))] })
            };
            blocks[operators[0]] = (0..sectors.len()).map(&mut block_of).collect();
        }
        let sums = engine.assemble(&assembly, &self.block.data)?;
        let summed = assembly.blocks.len();
        let Bundles { groups, places, .. } = bundles.clone();
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

    /// The pieces of operators that are passed on; `of_block` gives the sector of the block that they map one to, and the first element.
    fn passed_on(
        &self,
        (row, column): (usize, usize),
        (count, signs): (usize, &Signs),
        of_block: &mut impl FnMut(usize) -> Option<(usize, usize)>,
    ) -> Vec<Piece> {
        let piece = |from: &Part| {
            let (to, offset) = of_block(from.block)?;
            let (_, first_row) = self.enlarged.place(to, from.state).filter(|(sector, _)| *sector == row)?;
            let rows = self.block.sectors.dimension(to);
            let (space, stride) = (self.side.spaces().1, rows * count);
            Some(Piece {
                first_row,
                first_column: from.first,
                rows,
                columns: from.dimension,
                coefficient: if signs[from.state] { -1.0 } else { 1.0 },
                matrix: Some(Operand { space, offset, stride, transposed: false }),
            })
        };
        self.enlarged.parts[column].iter().filter_map(piece).collect()
    }

    /// Plans the operators of a group that is passed on as matrices of the block, from one of its sectors: the sector that they map to,
    /// and the first element; `None` if they are zero.
    fn copied(
        &self,
        assembly: &mut Assembly,
        column: usize,
        GroupPlan { count, lists, sources }: GroupPlan<'_>,
    ) -> Option<(usize, usize)> {
        let begun = assembly.terms.len();
        let mut reached = None;
        // The site's matrix is ±1 on every state, so those of its first one say which operators of the block.
        for list in &lists[0] {
            let Sources { count, places } = &sources[list.group?];
            let Some((row, first)) = places[column] else { continue };
            debug_assert!(reached.is_none_or(|known| known == row), "operators of one change of charges");
            reached = Some(row);
            assembly.terms.push(AssemblyTerm { first, count: *count, list: list.first });
        }
        let row = reached?;
        let [rows, columns] = [row, column].map(|sector| self.block.sectors.dimension(sector));
        let offset = assembly.length;
        assembly.blocks.push((assembly.parts.len(), offset));
        let terms = (begun, assembly.terms.len() - begun);
        assembly.parts.push(AssembledPart { first: offset, rows, columns, height: rows, count, terms });
        assembly.length += rows * count * columns;
        Some((row, offset))
    }

    /// Plans a block of operators between two sectors. Returns its first element; `None` if it is zero.
    fn place(
        &self,
        assembly: &mut Assembly,
        (row, column): (usize, usize),
        GroupPlan { count, lists, sources }: GroupPlan<'_>,
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
