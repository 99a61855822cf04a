//! Rows of y = H x by the kernels of one rank's card, of a whole x.
//!
//! The kernels are those of a card among several that work as one device, of as many cards as ranks: with the same grid each does its
//! share. Which elements of y those are follows from the plan, and the caller says. They are not always the elements of the rank's share, whose
//! bounds know nothing of columns or strings: what belongs to another rank is sent to it.
//!
//! ```text
//! shares of x → x, on every card      gathered by the ranks
//! multiply                            into a window of y that covers what the kernel makes
//! window → share                      on the card; pieces of other ranks' shares are exchanged
//! ```

use super::room::{Kept, get_or_make};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, NamedTables, Scalar, Vector, Window};
use eigenforge_templates::Launch;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The kernels of one rank.
pub struct RowKernels {
    card: Device,
    kernel: Kernel,
    multiply: Launch,
    /// The blocks that work on this card.
    own_blocks: Range<usize>,
    tables: NamedTables,
    /// Of each rank: the runs of y that its kernel makes, ascending.
    made: Vec<Vec<Range<usize>>>,
    length: usize,
    /// Partial sums, and memory for x and for the window of y.
    room: Mutex<(Buffer<f64>, Kept)>,
}

/// Memory for vectors of one type of number.
struct Vectors<T: Scalar> {
    x: Vector<T>,
    window: Window<T>,
}

impl RowKernels {
    /// From the launch `multiply` of the text of this rank's card; `made` has the runs of y that the kernel of each rank makes, of vectors of
    /// `length` elements. The kernel writes `partials` partial sums of x·y, one a block.
    ///
    /// # Errors
    /// The card's.
    pub fn new(
        (kernel, multiply): (Kernel, Launch),
        tables: NamedTables,
        (made, length): (Vec<Vec<Range<usize>>>, usize),
        partials: u64,
        (card, rank): (&Device, usize),
    ) -> Result<RowKernels, DeviceError> {
        let own_blocks = part_range(multiply.grid[0] as usize, rank, made.len());
        let room = Mutex::new((card.buffer(&vec![0.0; partials as usize])?, None));
        Ok(RowKernels { card: card.clone(), kernel, multiply, own_blocks, tables, made, length, room })
    }

    /// Elements of a rank's share, but for the last ones: all as long, so that they are gathered in one message.
    fn each(&self) -> usize {
        self.length.div_ceil(self.made.len())
    }

    /// Where vectors are cut.
    pub fn bounds(&self) -> Vec<usize> {
        (0..=self.made.len()).map(|rank| (rank * self.each()).min(self.length)).collect()
    }

    /// This rank's share of y = H x, of the whole x that `gather` writes; returns the part of xᵀy of the rows that it made.
    pub(crate) fn apply<T: Scalar>(
        &self,
        ranks: &Ranks,
        gather: impl FnOnce(&mut Vector<T>) -> Result<(), DeviceError>,
        y: &mut Vector<T>,
    ) -> Result<f64, DeviceError> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let (partials, vectors) = &mut *room;
        let own = &self.made[ranks.rank()];
        let places = own.first().map_or(0, |run| run.start)..own.last().map_or(0, |run| run.end);
        let vectors = get_or_make(vectors, || {
            Ok(Vectors {
                x: self.card.zeros::<T>(self.each() * self.made.len())?,
                window: Window::<T>::new(&self.card, places, self.length)?,
            })
        })?;
        gather(&mut vectors.x)?;
        let arguments = Arguments::new().read("x", &vectors.x).write("y", &mut vectors.window);
        self.kernel.launch(&self.multiply, arguments.write("partials", &mut *partials).tables(&self.tables))?;
        let dot = partials.download()?[self.own_blocks.clone()].iter().sum();
        self.hand_over(ranks, &vectors.window, y)?;
        Ok(dot)
    }

    /// Brings what was made to the shares that it belongs to.
    fn hand_over<T: Scalar>(&self, ranks: &Ranks, window: &Window<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        let (me, shares) = (ranks.rank(), y.shares());
        for run in common(&self.made[me], &shares[me]) {
            window.copy_to(run, y)?;
        }
        let length = |runs: &[Range<usize>]| runs.iter().map(|run| run.len()).sum::<usize>();
        let mut sent: Vec<Vec<T>> = Vec::with_capacity(ranks.count());
        let mut received: Vec<Vec<T>> = Vec::with_capacity(ranks.count());
        for other in 0..ranks.count() {
            let (to, from) = match other == me {
                true => (Vec::new(), Vec::new()),
                false => (common(&self.made[me], &shares[other]), common(&self.made[other], &shares[me])),
            };
            let mut values = vec![T::default(); length(&to)];
            let mut at = 0;
            for run in to {
                window.read(run.start, &mut values[at..at + run.len()])?;
                at += run.len();
            }
            sent.push(values);
            received.push(vec![T::default(); length(&from)]);
        }
        // The same on all ranks: whether there is anything to send.
        let anything = (0..ranks.count()).any(|rank| self.made[rank].iter().any(|run| !is_within(run, &shares[rank])));
        if !anything {
            return Ok(());
        }
        let send: Vec<&[T]> = sent.iter().map(Vec::as_slice).collect();
        let mut receive: Vec<&mut [T]> = received.iter_mut().map(Vec::as_mut_slice).collect();
        ranks.exchange("rows of other ranks", &send, &mut receive)?;
        for (other, values) in received.iter().enumerate().filter(|(other, _)| *other != me) {
            let mut at = 0;
            for run in common(&self.made[other], &shares[me]) {
                y.write_here_part(run.start, &values[at..at + run.len()])?;
                at += run.len();
            }
        }
        Ok(())
    }
}

/// What one of several has of so many items: the same as in the kernels.
pub fn part_range(count: usize, card: usize, cards: usize) -> Range<usize> {
    let first = |card: usize| (count as u128 * card as u128 / cards as u128) as usize;
    first(card)..first(card + 1)
}

fn is_within(run: &Range<usize>, share: &Range<usize>) -> bool {
    run.is_empty() || (share.start <= run.start && run.end <= share.end)
}

/// The parts of runs that are in a share.
fn common(runs: &[Range<usize>], share: &Range<usize>) -> Vec<Range<usize>> {
    let part = |run: &Range<usize>| run.start.max(share.start)..run.end.min(share.end);
    runs.iter().map(part).filter(|part| part.start < part.end).collect()
}

/// Runs in ascending order, those that touch as one.
pub fn joined(mut runs: Vec<Range<usize>>) -> Vec<Range<usize>> {
    runs.retain(|run| !run.is_empty());
    runs.sort_unstable_by_key(|run| run.start);
    let mut found: Vec<Range<usize>> = Vec::new();
    for run in runs {
        match found.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => found.push(run),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_are_one_and_are_cut_by_shares() {
        let runs = joined(vec![7..9, 0..2, 4..4, 2..4, 9..9, 12..15]);
        assert_eq!(runs, [0..4, 7..9, 12..15]);
        assert_eq!(common(&runs, &(3..13)), [3..4, 7..9, 12..13]);
        assert!(common(&runs, &(4..7)).is_empty());
        assert!(is_within(&(3..3), &(7..9)) && is_within(&(7..8), &(7..9)) && !is_within(&(6..8), &(7..9)));
    }
}
