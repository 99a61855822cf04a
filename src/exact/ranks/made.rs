//! The kernels that make rows of a plan on one rank's card, and which elements of y those of each rank make: blocks of rows, or columns of
//! states with the same high part.

use crate::exact::error::PrepareError;
use crate::exact::prepared::Prepared;
use crate::exact::tables::tables;
use crate::ranks::{RowKernels, joined, share};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementFunction};
use eigenforge_templates::Launch;
use eigenforge_templates::exact::GeneralStrategy;
use std::iter::once;
use std::ops::Range;

/// The kernels of one rank with the diagonal, for a plan whose kernels make rows; `None` where it has others, or no block for each rank.
pub(super) fn row_kernels(
    prepared: &Prepared,
    ranks: &Ranks,
    card: &Device,
) -> Result<Option<(RowKernels, ElementFunction)>, PrepareError> {
    let partials = match prepared {
        Prepared::General { plan, .. } => plan.partials(),
        Prepared::Symmetric(rows) => rows.plan().partials(),
        Prepared::Strings(rows) => rows.plan().partials(),
        Prepared::Kronecker { .. } | Prepared::Stored(_) | Prepared::Pairs(_) => return Ok(None),
    };
    let text = prepared.text()?;
    let (rank, count) = (ranks.rank() as u32, ranks.count() as u32);
    let kernel = card.compile(&text.for_card(rank, count))?;
    // Tables that kernels make are whole on every card.
    let makes_tables = if matches!(prepared, Prepared::Symmetric(_)) { card.compile(&text)? } else { kernel.clone() };
    let (tables, words) = tables(prepared, &makes_tables, card)?;
    let launches = prepared.launches(words).map_err(DeviceError::from)?;
    let multiply = launches.into_iter().find(|launch| launch.entry == "multiply" && launch.grid[0] >= count);
    let Some(multiply) = multiply else { return Ok(None) };
    let made = (0..ranks.count()).map(|rank| made(prepared, &multiply, rank, ranks.count())).collect();
    let diagonal = ElementFunction::of_tables(prepared.diagonal_text(), &tables);
    let (of_rank, place) = ((kernel, multiply), (card, ranks.rank()));
    let kernels = RowKernels::new(of_rank, tables, (made, prepared.dimension()), partials, place)?;
    Ok(Some((kernels, diagonal)))
}

/// The elements of y that the kernel of card `card` of `cards` makes.
fn made(prepared: &Prepared, multiply: &Launch, card: usize, cards: usize) -> Vec<Range<usize>> {
    let share = |count: usize, card: usize| share(count, card, cards).start;
    let (grid, threads) = (multiply.grid[0] as usize, multiply.block as usize);
    // Of complex vectors the same elements of both parts.
    let both = |runs: Vec<Range<usize>>, imaginary: Option<usize>| {
        let shifted =
            imaginary.map(|first| runs.iter().map(|run| run.start + first..run.end + first).collect::<Vec<_>>());
        joined(runs.into_iter().chain(shifted.into_iter().flatten()).collect())
    };
    match prepared {
        Prepared::General { plan, lists, .. } => match (lists.as_deref(), plan.shape.strategy) {
            (Some(lists), GeneralStrategy::Staged { columns }) => {
                let half = prepared.dimension() / 2;
                let (imaginary, rows) = match lists.sizes.complex {
                    true => (Some(half), half),
                    false => (None, prepared.dimension()),
                };
                let parts = &lists.tables.parts;
                let tasks = lists.task_columns(columns);
                let tasks: Vec<&[u32]> = tasks.chunks(lists.sizes.taken(columns) as usize).collect();
                let bound = |card: usize| {
                    tasks.partition_point(|task| (parts[task[0] as usize].start as usize) < share(rows, card))
                };
                let own = tasks[bound(card)..bound(card + 1)].iter().flat_map(|task| task.iter());
                let column = |column: &u32| {
                    let part = &parts[*column as usize];
                    part.start as usize..(part.start + part.count) as usize
                };
                both(own.filter(|column| **column != u32::MAX).map(column).collect(), imaginary)
            }
            _ => {
                let dimension = prepared.dimension();
                both(once(share(dimension, card)..share(dimension, card + 1)).collect(), None)
            }
        },
        Prepared::Symmetric(rows) => {
            let states = rows.plan().states as usize;
            let [first, end] = [share(grid, card), share(grid, card + 1)].map(|block| block * threads);
            let turn = |turn: usize| (turn + first).min(states)..(turn + end).min(states);
            let runs = (0..states).step_by(grid * threads).map(turn).collect();
            both(runs, rows.plan().complex.then_some(states))
        }
        Prepared::Strings(rows) => {
            let [first, end] =
                [card, card + 1].map(|card| rows.place_of_block(share(grid, card) as u64, threads as u64));
            both(
                once(first as usize..end as usize).collect(),
                rows.plan().complex.then_some(rows.plan().states as usize),
            )
        }
        Prepared::Kronecker { .. } | Prepared::Stored(_) | Prepared::Pairs(_) => Vec::new(),
    }
}
