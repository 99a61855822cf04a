//! y = H x for a Kronecker sum D + I ⊗ A_up + A_dn ⊗ I, a matrix with a column for each down string, by two transposes of the vector.
//!
//! ```text
//! y = (D + I ⊗ A_up) x       this rank's columns (down strings)
//! x → xᵀ                     each rank sends every other the part of its columns in the other's rows
//! z = (I ⊗ A_dn) xᵀ          this rank's rows (up strings)
//! y += zᵀ                    the same way back
//! ```
//!
//! By way of the host, or from card to card ([`CardLinks`]).

use super::columns::Columns;
use super::tables::diagonal_tables;
use super::turns::{add, join, turn};
use super::{KroneckerMultiply, SpeciesMatrix};
use eigenforge_product::ranks::{RankShares, Room, get_or_make, here, split};
use eigenforge_product::{Multiply, PrepareError, RankRows, RankRowsOf};
use eigenforge_runtime::ranks::{Ranks, equal};
use eigenforge_runtime::{Bind, CardLinks, Device, DeviceError, ElementFunction, Program, Scalar, Vector};
use eigenforge_templates::exact::{DiagonalPlan, KroneckerPlan};
use eigenforge_templates::vector_program::VectorProgram;
use std::sync::Arc;

/// A Kronecker sum, as one rank has it.
pub(super) struct Transposed {
    whole: KroneckerMultiply,
    ranks: Arc<Ranks>,
    links: Option<Arc<CardLinks>>,
    up: Columns,
    down: Columns,
    columns: Lines,
    rows: Lines,
}

/// How many lines of the vector as a matrix there are, and where they are cut.
struct Lines {
    bounds: Vec<usize>,
    count: usize,
}

impl Lines {
    fn new(count: usize, ranks: usize) -> Lines {
        Lines { bounds: equal(count, ranks), count }
    }

    fn length(&self, rank: usize) -> usize {
        self.bounds[rank + 1] - self.bounds[rank]
    }
}

impl Transposed {
    /// This rank's columns and rows of a plan, on a device whose links are used where it has any.
    pub(super) fn new(
        whole: &KroneckerMultiply,
        ranks: &Arc<Ranks>,
        device: &Device,
    ) -> Result<Transposed, PrepareError> {
        let KroneckerMultiply { plan, up, down, .. } = whole;
        let rank = ranks.rank();
        let lines = |species: &SpeciesMatrix| Lines::new(species.states.len(), ranks.count());
        let (rows, columns) = (lines(up), lines(down));
        let own = |words: &[u64], lines: &Lines| words[lines.bounds[rank]..lines.bounds[rank + 1]].to_vec();
        let of_up = Columns::new(whole, up, &own(&down.states, &columns), &plan.diagonal, device)?;
        let of_down = Columns::new(whole, down, &own(&up.states, &rows), &no_diagonal(plan), device)?;
        let (ranks, links) = (ranks.clone(), device.card_links().cloned());
        Ok(Transposed { whole: whole.clone(), ranks, links, up: of_up, down: of_down, columns, rows })
    }

    /// y += hops among this rank's columns; returns their part of xᵀy, of the elements that this rank had after the first transpose.
    fn add_across<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, room: &mut Room) -> Result<f64, DeviceError> {
        let (rank, columns, rows) = (self.ranks.rank(), &self.columns, &self.rows);
        let (own_columns, own_rows) = (columns.length(rank), rows.length(rank));
        let (share, turned) = (own_columns * rows.count, own_rows * columns.count);
        let longer = share.max(turned);
        let mut added = room.added.take();
        let [a, b] = room.numbers::<T>([longer, longer]);
        let x = here(x)?;
        // Each rank's rows of these columns, a row's elements side by side.
        let to_rows = |to: usize| own_columns * rows.length(to);
        let to_columns = |to: usize| own_rows * columns.length(to);
        let mut parts = split(&mut a[..share], (0..self.ranks.count()).map(to_rows));
        parts.iter_mut().zip(&rows.bounds).for_each(|(part, first)| turn(&x, rows.count, *first, own_columns, part));
        self.exchange("transpose", a, share, b, turned, (to_rows, to_columns))?;
        // A row's elements by all ranks, one column of xᵀ.
        let turned_x = &mut a[..turned];
        join(&b[..turned], &columns.bounds, own_rows, turned_x);
        let dot = self.down.of_columns(turned_x, &mut b[..turned])?;
        // Back: of each rank's columns these rows.
        let mut parts = split(&mut a[..turned], (0..self.ranks.count()).map(to_columns));
        parts.iter_mut().zip(&columns.bounds).for_each(|(part, first)| turn(b, columns.count, *first, own_rows, part));
        self.exchange("transpose back", a, turned, b, share, (to_columns, to_rows))?;
        let parts = &b[..share];
        match y.local_mut() {
            Some(y) => add(parts, &rows.bounds, own_columns, y),
            None => {
                let mut sum = vec![T::default(); share];
                add(parts, &rows.bounds, own_columns, &mut sum);
                let adder = get_or_make(&mut added, || Adder::<T>::new(y))?;
                adder.more.write_here(&sum)?;
                adder.program.queue(&mut [Bind::Out(y), Bind::In(&adder.more)], &[])?;
            }
        }
        room.added = added;
        Ok(dot)
    }

    /// The same from card to card.
    fn add_across_cards<T: Scalar>(
        &self,
        links: &CardLinks,
        x: &Vector<T>,
        y: &mut Vector<T>,
        room: &mut Room,
    ) -> Result<f64, DeviceError> {
        let (rank, columns, rows) = (self.ranks.rank(), &self.columns, &self.rows);
        let (own_columns, own_rows) = (columns.length(rank), rows.length(rank));
        let longer = (own_columns * rows.count).max(own_rows * columns.count);
        let make = || {
            let card = y.device().of_this_rank();
            Ok(Turned { a: card.zeros(longer)?, b: card.zeros(longer)?, adder: Adder::new(y)? })
        };
        let Turned::<T> { a, b, adder } = get_or_make(&mut room.added, make)?;
        let times = |bounds: &[usize], factor: usize| bounds.iter().map(|bound| bound * factor).collect::<Vec<_>>();
        let (by_rows, by_columns) = (times(&rows.bounds, own_columns), times(&columns.bounds, own_rows));
        // A row's elements of these columns side by side, and to the rank that has the row.
        links.transpose(x, [rows.count, own_columns], a)?;
        links.exchange((a, &by_rows), (b, &by_columns))?;
        for pair in columns.bounds.windows(2) {
            let shape = [pair[1] - pair[0], own_rows];
            links.copy_columns((b, own_rows * pair[0]), shape, (a, pair[0], columns.count))?;
        }
        let dot = self.down.of_vectors(a, b)?;
        // Back to the ranks that have the columns.
        links.transpose(b, [columns.count, own_rows], a)?;
        links.exchange((a, &by_columns), (b, &by_rows))?;
        for pair in rows.bounds.windows(2) {
            let shape = [pair[1] - pair[0], own_columns];
            links.copy_columns((b, own_columns * pair[0]), shape, (&mut adder.more, pair[0], rows.count))?;
        }
        adder.program.queue(&mut [Bind::Out(y), Bind::In(&adder.more)], &[])?;
        Ok(dot)
    }

    /// Sends a's first elements and receives b's, with the lengths for each rank.
    fn exchange<T: Scalar>(
        &self,
        what: &str,
        a: &[T],
        sent: usize,
        b: &mut [T],
        received: usize,
        (to, from): (impl Fn(usize) -> usize, impl Fn(usize) -> usize),
    ) -> Result<(), DeviceError> {
        let (mut rest, mut send) = (&a[..sent], Vec::new());
        for rank in 0..self.ranks.count() {
            let (own, after) = rest.split_at(to(rank));
            send.push(own);
            rest = after;
        }
        let mut receive = split(&mut b[..received], (0..self.ranks.count()).map(from));
        self.ranks.exchange(what, &send, &mut receive)
    }
}

impl<T: Scalar> RankRowsOf<T> for Transposed {
    fn apply(&self, shares: &RankShares, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let within = self.up.of_share(x, y)?;
        let across = match &self.links {
            Some(links) => self.add_across_cards(links, x, y, &mut shares.room())?,
            None => self.add_across(x, y, &mut shares.room())?,
        };
        Ok(within + across)
    }
}

impl RankRows for Transposed {
    fn bounds(&self) -> Vec<usize> {
        self.columns.bounds.iter().map(|bound| bound * self.rows.count).collect()
    }

    fn diagonal(&self, shares: &RankShares, device: &Device) -> Option<ElementFunction> {
        if device.runs_kernels() {
            let tables = diagonal_tables(&self.whole, &device.of_this_rank());
            let text = self.whole.diagonal_text();
            let function = tables.map(|tables| ElementFunction::of_tables(text, &tables));
            return shares.of_all("the diagonal of every rank", function);
        }
        let KroneckerMultiply { plan, up, down, .. } = self.whole.clone();
        Some(ElementFunction::host_diagonal(move |first, out| {
            for (index, out) in (first..).zip(out) {
                let (column, row) = (index / up.states.len(), index % up.states.len());
                *out = plan.diagonal.of_state(up.states[row] | down.states[column] << plan.sites);
            }
        }))
    }
}

/// The same plan's diagonal with nothing in it.
fn no_diagonal(plan: &KroneckerPlan) -> DiagonalPlan {
    DiagonalPlan { sites: plan.diagonal.sites, ..DiagonalPlan::default() }
}

/// Memory of a card for what is turned and for what came, and what adds it.
struct Turned<T: Scalar> {
    a: Vector<T>,
    b: Vector<T>,
    adder: Adder<T>,
}

/// y += more, on a card.
struct Adder<T: Scalar> {
    more: Vector<T>,
    program: Program,
}

impl<T: Scalar> Adder<T> {
    fn new(y: &Vector<T>) -> Result<Adder<T>, DeviceError> {
        let program = VectorProgram::parse("program add_across\nvectors y : inout\nvectors more : in\ny = y + more\n")
            .unwrap_or_else(|error| unreachable!("the program that adds parses: {error}"));
        Ok(Adder { more: y.device().zeros(y.len())?, program: y.device().program(&program, T::TYPE, &[])? })
    }
}
