//! A sector as blocks: the columns that have the same rows, with H within a block as a Kronecker sum.

use super::among::{ROWS, add_column, pack};
use super::couplings::Couplings;
use super::diagonal::{BlockDiagonal, SplitDiagonal};
use super::lines;
use super::runs::{LANES, Rows, Run, Shared, TASK, WIDE};
use super::split::{SplitTerms, WordMove};
use super::within::{multiply_columns, turn};
use crate::kronecker::SpeciesMatrix;
use eigenforge_core::basis::LinTables;
use eigenforge_product::HostRows;
use eigenforge_runtime::Scalar;
use eigenforge_runtime::ranks::nearest;
use eigenforge_templates::exact::{DiagonalPlan, FlipGroup, StateWord};
use rayon::prelude::*;
use std::ops::Range;

/// H by blocks.
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    /// The columns in the order of their elements: first element, block, column.
    order: Vec<(usize, u32, u32)>,
    /// Groups of columns for the first pass, (block, first column), and the groups of each task.
    groups: Vec<(u32, u32)>,
    group_tasks: Vec<Range<usize>>,
    /// Tiles of rows for the second pass, (block, first row), and the tiles of each task.
    tiles: Vec<(u32, u32)>,
    tile_tasks: Vec<Range<usize>>,
    /// The elements of y that are made: all, or whole columns of a rank.
    elements: Range<usize>,
}

/// Columns with the same rows.
struct Block {
    rows: usize,
    /// First element of each column.
    starts: Vec<usize>,
    /// The columns of y that are made.
    made: Range<usize>,
    /// Elements within columns.
    low: Rows,
    /// Elements among columns.
    high: Rows,
    diagonal: BlockDiagonal,
    /// Terms of two species that are not in `diagonal`, with the low and the high words.
    species: Option<(SpeciesTerms, Vec<u64>, Vec<u64>)>,
    couplings: Couplings,
}

/// Diagonal terms of both species.
enum SpeciesTerms {
    /// coefficient · (how many of these bits are set in both words): the repulsion of a uniform Hubbard model, worth a loop of its
    /// own.
    Count(f64, u64),
    /// Any, term by term: where a table of patterns would be larger than vectors.
    Plan(DiagonalPlan),
}

impl SpeciesTerms {
    fn value(&self, low: u64, high: u64) -> f64 {
        match self {
            SpeciesTerms::Count(u, mask) => u * f64::from((low & high & mask).count_ones()),
            SpeciesTerms::Plan(plan) => plan.of_pair(low, high),
        }
    }
}

/// Tables may be as large as this, whatever the sector.
const SMALL: f64 = (64u64 << 20) as f64;
/// Bytes of the tables for each state of the sector, beyond which the multiply goes row by row: two vectors.
const BYTES_A_STATE: f64 = 16.0;

/// Scratch memory of a task.
#[derive(Default)]
struct Scratch {
    narrow: Lanes<LANES>,
    wide: Lanes<WIDE>,
    sum: Vec<f64>,
}

/// Columns side by side, and the table of the diagonal's patterns in them.
#[derive(Default)]
struct Lanes<const W: usize> {
    x: Vec<Run<W>>,
    patterns: Vec<Run<W>>,
}

impl Blocks {
    /// A Kronecker sum: one block, without couplings.
    pub(crate) fn of_species(up: &SpeciesMatrix, down: &SpeciesMatrix, diagonal: &DiagonalPlan) -> Blocks {
        let high = rows_of(down);
        Blocks::new(vec![Block::of_columns(rows_of(up), high, &up.states, &down.states, diagonal)])
    }

    /// I ⊗ A + D for some columns with the words `highs`: what each column does by itself.
    pub(crate) fn within_columns(low: &SpeciesMatrix, highs: &[u64], diagonal: &DiagonalPlan) -> Blocks {
        let none = Rows { start: vec![0; highs.len() + 1], ..Rows::new() };
        Blocks::new(vec![Block::of_columns(rows_of(low), none, &low.states, highs, diagonal)])
    }

    /// Any operator on a sector; `None` where the tables would be larger than vectors.
    pub(crate) fn of_tables(tables: &LinTables, diagonal: &DiagonalPlan, groups: &[FlipGroup]) -> Option<Blocks> {
        let counts = (tables.low_bits, tables.low_states.len(), tables.parts.len());
        if tables.shared_lows || table_bytes(counts, tables.dimension(), diagonal, groups) == 0 {
            return None;
        }
        let terms = SplitTerms::new(groups, tables.low_bits);
        let mut firsts: Vec<(u64, u64)> = tables.parts.iter().map(|part| (part.first_low, part.count)).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let mut columns: Vec<Vec<usize>> = vec![Vec::new(); firsts.len()];
        for (number, part) in tables.parts.iter().enumerate() {
            columns[firsts.partition_point(|(first, _)| *first < part.first_low)].push(number);
        }
        let block = |(columns, (first, count)): (&Vec<usize>, &(u64, u64))| {
            let lows = &tables.low_states[*first as usize..][..*count as usize];
            Block::of_parts(tables, columns, lows, diagonal, &terms)
        };
        Some(Blocks::new(columns.par_iter().zip(&firsts).map(block).collect()))
    }

    fn new(blocks: Vec<Block>) -> Blocks {
        let numbered = || (0..).zip(&blocks);
        let cut = |of: fn(&Block) -> (Range<usize>, usize, usize)| {
            let (mut list, mut tasks, mut first, mut elements) = (Vec::new(), Vec::new(), 0, 0);
            for (number, block) in numbered() {
                let (range, step, other) = of(block);
                for start in range.clone().step_by(step) {
                    list.push((number, start as u32));
                    elements += step.min(range.end - start) * other;
                    if elements >= TASK {
                        tasks.push(first..list.len());
                        (first, elements) = (list.len(), 0);
                    }
                }
            }
            if first < list.len() {
                tasks.push(first..list.len());
            }
            (list, tasks)
        };
        let (groups, group_tasks) = cut(|block| (block.made.clone(), block.columns_at_once(), block.rows));
        let (tiles, tile_tasks) = cut(|block| {
            let rows = if block.high.columns.is_empty() || block.made.is_empty() { 0 } else { block.rows };
            (0..rows, block.rows_at_once(), block.made.len())
        });
        let of_block = |(number, block): (u32, &Block)| {
            let columns: Vec<_> = (0..).zip(&block.starts).map(|(column, start)| (*start, number, column)).collect();
            columns
        };
        let mut order: Vec<(usize, u32, u32)> = numbered().flat_map(of_block).collect();
        order.sort_unstable();
        let elements = 0..blocks.iter().map(|block| block.rows * block.starts.len()).sum();
        Blocks { order, groups, group_tasks, tiles, tile_tasks, elements, blocks }
    }
}

/// What each task gives, in order. One task is done here: the other cores would begin later than it ends.
fn of_tasks<S>(
    tasks: &[Range<usize>],
    scratch: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, &Range<usize>) -> f64 + Sync + Send,
) -> Vec<f64> {
    match tasks {
        [only] => vec![work(&mut scratch(), only)],
        _ => tasks.par_iter().map_init(scratch, work).collect(),
    }
}

impl HostRows for Blocks {
    fn dimension(&self) -> usize {
        self.blocks.iter().map(|block| block.rows * block.starts.len()).sum()
    }

    /// Of y the elements that are made, all or those of a share of columns.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let before_lines = match &self.blocks[..] {
            [block] => lines::rows_before_lines(y, block.rows, lines::LONG),
            _ => None,
        };
        assert_eq!(first..first + y.len(), self.elements, "the elements that are made");
        let (result, before) = (Shared(y.as_mut_ptr()), self.elements.start);
        let first_pass = |scratch: &mut Scratch, task: &Range<usize>| -> f64 {
            let group = |(number, first): &(u32, u32)| {
                let (block, first) = (&self.blocks[*number as usize], *first as usize);
                let Scratch { narrow, wide, sum } = &mut *scratch;
                match block.columns_at_once() {
                    LANES => block.group(first, x, (&result, before), narrow, sum, before_lines),
                    _ => block.group(first, x, (&result, before), wide, sum, before_lines),
                }
            };
            self.groups[task.clone()].iter().map(group).sum()
        };
        let first = of_tasks(&self.group_tasks, Scratch::default, first_pass);
        let second_pass = |(narrow, wide): &mut (Vec<Run<LANES>>, Vec<Run<ROWS>>), task: &Range<usize>| -> f64 {
            let tile = |(number, first): &(u32, u32)| {
                let (block, first) = (&self.blocks[*number as usize], *first as usize);
                match block.rows_at_once() {
                    LANES => block.tile(first, x, (&result, before), narrow),
                    _ => block.tile(first, x, (&result, before), wide),
                }
            };
            self.tiles[task.clone()].iter().map(tile).sum()
        };
        let second = of_tasks(&self.tile_tasks, Default::default, second_pass);
        first.iter().sum::<f64>() + second.iter().sum::<f64>()
    }

    fn diagonal(&self, index: usize) -> f64 {
        if let [block] = &self.blocks[..] {
            return block.element(index % block.rows, index / block.rows);
        }
        let (start, block, column) = self.order[self.order.partition_point(|(start, ..)| *start <= index) - 1];
        self.blocks[block as usize].element(index - start, column as usize)
    }

    /// Shares begin and end where columns do.
    fn cut(&self, shares: usize) -> Vec<usize> {
        let places: Vec<usize> = self.order.iter().map(|(start, ..)| *start).chain([self.elements.end]).collect();
        nearest(&places, shares)
    }

    fn only(mut self, share: Range<usize>) -> Blocks {
        for block in &mut self.blocks {
            let before = |bound: usize| block.starts.partition_point(|start| *start < bound);
            block.made = before(share.start)..before(share.end);
        }
        Blocks { elements: share, ..Blocks::new(self.blocks) }
    }
}

/// A matrix of one species in compressed rows.
fn rows_of(matrix: &SpeciesMatrix) -> Rows {
    let values = matrix.amplitudes.reals();
    Rows {
        start: matrix.row_start.clone(),
        columns: matrix.columns.clone(),
        amplitudes: matrix.numbers.iter().map(|number| values[*number as usize]).collect(),
    }
}

impl Block {
    /// Columns one after the other, without couplings.
    fn of_columns(low: Rows, high: Rows, lows: &[u64], highs: &[u64], diagonal: &DiagonalPlan) -> Block {
        let rows = lows.len();
        let starts: Vec<usize> = (0..highs.len()).map(|column| column * rows).collect();
        Block {
            low,
            high,
            couplings: Couplings::none(starts.len()),
            made: 0..starts.len(),
            starts,
            ..Block::with_diagonal(diagonal, u64::BITS, lows, highs)
        }
    }

    /// A block that has a diagonal only.
    fn with_diagonal(plan: &DiagonalPlan, low_bits: u32, lows: &[u64], highs: &[u64]) -> Block {
        let across = plan.cross();
        let split = SplitDiagonal::new(plan, low_bits);
        let bytes = (8 * split.functions() * (lows.len() + highs.len())) as f64;
        let too_large = bytes > SMALL && bytes > BYTES_A_STATE * lows.len() as f64 * highs.len() as f64;
        let species = match (&across.counts[..], plan.sites > 0) {
            ([group], true) if across.products.is_empty() && group.right == Some((StateWord::Down, 0)) => {
                Some(SpeciesTerms::Count(group.coefficient, group.mask))
            }
            (_, true) if too_large => Some(SpeciesTerms::Plan(across.clone())),
            _ => None,
        };
        let split = match &species {
            Some(_) => {
                let counts = plan.counts.iter().filter(|group| !across.counts.contains(group)).cloned().collect();
                let products = plan.products.iter().filter(|term| !across.products.contains(term)).cloned().collect();
                SplitDiagonal::new(&DiagonalPlan { counts, products, ..plan.clone() }, low_bits)
            }
            None => split,
        };
        let diagonal = split.of_block(lows, highs);
        let species = species.map(|terms| (terms, lows.to_vec(), highs.to_vec()));
        let (none, no_columns) = (Couplings::none(0), Vec::new());
        Block {
            rows: lows.len(),
            starts: no_columns,
            made: 0..0,
            low: Rows::new(),
            high: Rows::new(),
            diagonal,
            species,
            couplings: none,
        }
    }

    /// The block of some columns of a sector.
    fn of_parts(
        tables: &LinTables,
        columns: &[usize],
        lows: &[u64],
        diagonal: &DiagonalPlan,
        terms: &SplitTerms,
    ) -> Block {
        let highs: Vec<u64> = columns.iter().map(|part| tables.parts[*part].high).collect();
        let part_of = |high: u64| tables.part_with(high);
        let row_of = |low: u64| lows.binary_search(&low).ok().map(|row| row as u32);
        let column_of = |high: u64| columns.binary_search(&part_of(high)?).ok().map(|column| column as u32);
        let reached = |high: u64, low: u64| {
            let part = &tables.parts[part_of(high)?];
            let lows = &tables.low_states[part.first_low as usize..][..part.count as usize];
            lows.binary_search(&low).ok().map(|row| row as u32)
        };
        let first_of = |high: u64| Some(tables.parts[part_of(high)?].start);
        Block {
            starts: columns.iter().map(|part| tables.parts[*part].start as usize).collect(),
            made: 0..columns.len(),
            low: matrix(lows, &terms.low, row_of),
            high: matrix(&highs, &terms.high, column_of),
            couplings: Couplings::new(terms, (lows, &highs), first_of, reached),
            ..Block::with_diagonal(diagonal, tables.low_bits, lows, &highs)
        }
    }

    /// How many columns a group has.
    fn columns_at_once(&self) -> usize {
        if self.starts.len() <= LANES { LANES } else { WIDE }
    }

    /// How many rows a tile has: one of few rows would be mostly padding.
    fn rows_at_once(&self) -> usize {
        if self.rows < ROWS { LANES } else { ROWS }
    }

    fn element(&self, row: usize, column: usize) -> f64 {
        let of_species = self.species.as_ref();
        let of_species = of_species.map_or(0.0, |(terms, lows, highs)| terms.value(lows[row], highs[column]));
        self.diagonal.element(row, column) + of_species
    }

    /// y = H x without the elements among columns, for up to `W` columns; returns their part of xᵀy.
    fn group<T: Scalar, const W: usize>(
        &self,
        first: usize,
        x: &[T],
        (result, before): (&Shared<T>, usize),
        Lanes { x: turned, patterns }: &mut Lanes<W>,
        sum: &mut Vec<f64>,
        before_lines: Option<usize>,
    ) -> f64 {
        let last = self.made.end - 1;
        let width = W.min(last + 1 - first);
        // A missing column repeats the last.
        let columns: [usize; W] = std::array::from_fn(|lane| (first + lane).min(last));
        let of_x: [&[T]; W] = columns.map(|column| &x[self.starts[column]..][..self.rows]);
        turned.resize(self.rows, Run([0.0; W]));
        turn(&of_x, turned);
        let mut of_y: [&mut [T]; W] = std::array::from_fn(|lane| match lane < width {
            // SAFETY: a column belongs to one group, and a group to one task.
            true => unsafe { result.run(self.starts[first + lane] - before, self.rows) },
            false => Default::default(),
        });
        let high = columns.map(|column| self.diagonal.high[column]);
        let diagonal = (&self.diagonal.low[..], &high);
        let dots = match &self.species {
            Some((SpeciesTerms::Count(u, mask), lows, highs)) => {
                // Copies, which stores to y cannot change.
                let (u, mask, words) = (*u, *mask, columns.map(|column| highs[column]));
                let count = move |row: usize| words.map(|word| u * f64::from((lows[row] & word & mask).count_ones()));
                multiply_columns(&self.low, diagonal, count, turned, &mut of_y, before_lines)
            }
            Some((SpeciesTerms::Plan(plan), lows, highs)) => {
                let words = columns.map(|column| highs[column]);
                let of_row = |row: usize| words.map(|word| plan.of_pair(lows[row], word));
                multiply_columns(&self.low, diagonal, of_row, turned, &mut of_y, before_lines)
            }
            None if self.diagonal.is_across() => {
                self.diagonal.fill(first, patterns);
                let of_row = |row: usize| patterns[self.diagonal.of_row[row] as usize].0;
                multiply_columns(&self.low, diagonal, of_row, turned, &mut of_y, before_lines)
            }
            None => multiply_columns(&self.low, diagonal, |_| [0.0; W], turned, &mut of_y, before_lines),
        };
        let mut dot = dots[..width].iter().sum();
        for (lane, y) in of_y.into_iter().enumerate().take(width) {
            dot += self.couplings.add(first + lane, x, of_x[lane], y, sum);
        }
        dot
    }

    /// y += the elements among columns, for up to `N` rows; returns their part of xᵀy.
    fn tile<T: Scalar, const N: usize>(
        &self,
        first: usize,
        x: &[T],
        (result, before): (&Shared<T>, usize),
        tile: &mut Vec<Run<N>>,
    ) -> f64 {
        let height = N.min(self.rows - first);
        tile.resize(self.starts.len(), Run([0.0; N]));
        pack(x, (&self.starts, self.rows), first, tile);
        let mut dot = [0.0; N];
        for column in self.made.clone() {
            // SAFETY: rows `first..first + height` of a block's columns belong to this tile alone.
            let out = unsafe { result.run(self.starts[column] + first - before, height) };
            add_column(&self.high, tile, column, out, &mut dot);
        }
        dot[..height].iter().sum()
    }
}

/// An estimate of the bytes of all tables of a sector, from its (bits of the low word, low words, columns) and states; 0 where they
/// would be too large, and the multiply goes row by row.
pub(super) fn table_bytes(
    (low_bits, lows, columns): (u32, usize, usize),
    dimension: u64,
    diagonal: &DiagonalPlan,
    groups: &[FlipGroup],
) -> u64 {
    let functions = SplitDiagonal::new(diagonal, low_bits).functions();
    let terms = SplitTerms::new(groups, low_bits).table_bytes(lows, columns);
    // Of each row and each column: its numbers, and those of the functions across.
    let bytes = terms + (8 * (functions + 2) * (lows + columns)) as f64;
    if bytes > SMALL && bytes > BYTES_A_STATE * dimension as f64 { 0 } else { bytes as u64 }
}

/// The matrix of moves among some words.
fn matrix(words: &[u64], moves: &[(WordMove, f64)], find: impl Fn(u64) -> Option<u32>) -> Rows {
    let mut rows = Rows::new();
    for word in words {
        let element = |(of, amplitude): &(WordMove, f64)| {
            let (reached, odd) = of.image(*word)?;
            Some((find(reached)?, if odd { -amplitude } else { *amplitude }))
        };
        let mut row: Vec<(u32, f64)> = moves.iter().filter_map(element).collect();
        row.sort_by_key(|(column, _)| *column);
        row.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        rows.push(row.into_iter().filter(|(_, amplitude)| *amplitude != 0.0));
    }
    rows
}
