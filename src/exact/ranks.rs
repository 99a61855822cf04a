//! y = H x over several ranks on CPUs: each has a share of every vector.
//!
//! A Kronecker sum D + I ⊗ A_up + A_dn ⊗ I is a matrix of the vector, a column for each down string. A rank has whole columns, so
//! up hops are its own. For down hops the vector is transposed, which makes columns of the rows, and the result is transposed back:
//!
//! ```text
//! y = (D + I ⊗ A_up) x       this rank's columns (down strings)
//! x → xᵀ                     each rank sends every other the part of its columns in the other's rows
//! z = (I ⊗ A_dn) xᵀ          this rank's rows (up strings)
//! y += zᵀ                    the same way back
//! ```
//!
//! Of any other H a rank makes its own rows of y, and gathers all of x first. Its tables are those of one process, a stored matrix too
//! ([`RankPlan`] counts what ranks keep for exchanges, and send). Blocks of columns are multiplied as on one process (`cpu/`), so
//! shares are cut where columns begin.

use super::cpu::HostMultiply;
use super::model::Model;
use super::prepared::Prepared;
use super::stored::OwnRows;
use super::structure::Moves;
use eigenforge_runtime::ranks::{Ranks, equal};
use eigenforge_runtime::{Device, DeviceError, Scalar, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{DiagonalPlan, KroneckerPlan};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// What each rank holds and sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    /// Number of ranks.
    pub ranks: usize,
    /// Elements of the largest share of a vector.
    pub largest_share: u64,
    /// Whether a multiply transposes the vector; else every rank gathers it.
    pub transposes: bool,
    /// Elements that the largest share's rank keeps for the exchange.
    pub kept: u64,
    /// Elements that the largest share's rank sends in one multiply.
    pub sent: u64,
}

impl RankPlan {
    /// The plan for so many ranks.
    pub(super) fn new(model: &Model, ranks: usize) -> RankPlan {
        let (dimension, count) = (model.dimension(), ranks.max(1) as u64);
        let share = dimension.div_ceil(count);
        match (&model.structure().moves, model.basis().species()) {
            (Moves::Kronecker { .. }, Some((up, down))) => {
                let (rows, columns) = (up.len() as u64, down.len() as u64);
                let [own_rows, own_columns] = [rows, columns].map(|length| length.div_ceil(count));
                let (share, turned) = (own_columns * rows, own_rows * columns);
                let sent = own_columns * (rows - own_rows) + own_rows * (columns - own_columns);
                RankPlan { ranks, largest_share: share, transposes: true, kept: 2 * share.max(turned), sent }
            }
            _ => {
                RankPlan { ranks, largest_share: share, transposes: false, kept: dimension, sent: share * (count - 1) }
            }
        }
    }
}

impl RankPlan {
    /// What ranks do that share nothing.
    pub const ALONE: &str = "each diagonalises the whole matrix by itself, which is small; rank 0 reports\n";

    /// The same for people: what each rank holds, keeps and sends, of elements of this type.
    pub fn describe(&self, scalar: ScalarType) -> String {
        let mib = |elements: u64| format!("{:.1} MiB", elements as f64 * scalar.bytes() as f64 / f64::from(1 << 20));
        let how = match self.transposes {
            true => "sends to transpose a vector and back",
            false => "sends for every rank to have the whole vector",
        };
        format!(
            "each holds up to {} of a vector, keeps {} for exchanges, and in a multiply {how} {}; averages and vectors in files are \
             gathered by rank 0\n",
            mib(self.largest_share),
            mib(self.kept),
            mib(self.sent)
        )
    }
}

/// H over ranks, as one of them has it.
pub(super) struct RankMultiply {
    ranks: Arc<Ranks>,
    /// Where vectors are cut.
    bounds: Vec<usize>,
    engine: Engine,
    room: Mutex<Room>,
}

enum Engine {
    /// A Kronecker sum.
    Transposed { up: HostMultiply, down: HostMultiply, columns: Lines, rows: Lines },
    /// Rows of y, of a whole x.
    Host(HostMultiply),
    /// The same by the rows of a stored matrix.
    Matrix(OwnRows),
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

    fn of(&self, rank: usize) -> usize {
        self.bounds[rank + 1] - self.bounds[rank]
    }
}

/// Memory for the exchange, kept from multiply to multiply.
#[derive(Default)]
struct Room([Vec<u64>; 2]);

impl Room {
    /// Two lists of so many numbers.
    fn of<T: Scalar>(&mut self, lengths: [usize; 2]) -> [&mut [T]; 2] {
        let mut lengths = lengths.into_iter();
        self.0.each_mut().map(|words| {
            let length = lengths.next().unwrap_or(0);
            words.resize(words.len().max((length * size_of::<T>()).div_ceil(8)), 0);
            // SAFETY: numbers of 4 or 8 bytes without padding, for which every pattern of bits is a value; there is room for them.
            unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<T>(), length) }
        })
    }
}

impl RankMultiply {
    /// This rank's part of a plan.
    pub(super) fn new(prepared: &Prepared, ranks: &Arc<Ranks>) -> RankMultiply {
        let (count, rank) = (ranks.count(), ranks.rank());
        let (engine, bounds) = match prepared {
            Prepared::Kronecker { plan, up, down } => {
                let (rows, columns) = (Lines::new(up.states.len(), count), Lines::new(down.states.len(), count));
                let own = |words: &[u64], lines: &Lines| words[lines.bounds[rank]..lines.bounds[rank + 1]].to_vec();
                let of_up = HostMultiply::within_columns(up, &own(&down.states, &columns), &plan.diagonal);
                let of_down = HostMultiply::within_columns(down, &own(&up.states, &rows), &no_diagonal(plan));
                let bounds = columns.bounds.iter().map(|bound| bound * rows.count).collect();
                (Engine::Transposed { up: of_up, down: of_down, columns, rows }, bounds)
            }
            Prepared::Stored(matrix) => {
                let bounds = equal(matrix.elements().rows(), count);
                (Engine::Matrix(OwnRows::of_matrix(matrix, bounds[rank]..bounds[rank + 1])), bounds)
            }
            other => {
                let (host, bounds) = HostMultiply::new(other).of_share(prepared.dimension(), count, rank);
                (Engine::Host(host), bounds)
            }
        };
        RankMultiply { ranks: ranks.clone(), bounds, engine, room: Mutex::default() }
    }

    /// The device whose vectors are cut as this multiply wants them.
    pub(super) fn device(&self, device: &Device) -> Result<Device, DeviceError> {
        device.cut_at(self.bounds.clone())
    }

    /// A bound of the norm by the rows of a stored matrix; `None` without one.
    pub(super) fn norm_bound(&self) -> Result<Option<f64>, DeviceError> {
        let Engine::Matrix(rows) = &self.engine else { return Ok(None) };
        self.ranks.largest("norm of the matrix", rows.norm_bound()).map(Some)
    }

    /// The diagonal element of an index, which is of this rank's share.
    pub(super) fn diagonal(&self, index: usize) -> f64 {
        let first = self.bounds[self.ranks.rank()];
        match &self.engine {
            Engine::Transposed { up, .. } => up.diagonal(index - first),
            Engine::Host(host) => host.diagonal(index),
            Engine::Matrix(rows) => rows.diagonal(index - first),
        }
    }

    /// y = H x; returns xᵀy, the same on all ranks.
    pub(super) fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let rank = self.ranks.rank();
        let own = self.bounds[rank]..self.bounds[rank + 1];
        if x.here() != own || y.here() != own {
            let (expected, found) = (format!("the shares {own:?}"), format!("{:?} and {:?}", x.here(), y.here()));
            return Err(DeviceError::Arguments { what: "multiply by H over ranks".into(), expected, found });
        }
        let elsewhere = || DeviceError::WrongDevice {
            what: "multiply by H over ranks".into(),
            expected: "CPUs".into(),
            found: "device memory".into(),
        };
        let (x, y) = (x.share().ok_or_else(elsewhere)?, y.share_mut().ok_or_else(elsewhere)?);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let dot = match &self.engine {
            Engine::Transposed { up, down, columns, rows } => {
                let of_up = up.apply(x, y);
                of_up + self.add_across(down, (columns, rows), x, y, &mut room)?
            }
            Engine::Host(host) => host.apply_part(self.gather(x, &mut room)?, own.start, y),
            Engine::Matrix(rows) => rows.multiply(self.gather(x, &mut room)?, y),
        };
        let mut sum = [dot];
        self.ranks.add_up("x·y of a multiply", 0, &mut sum)?;
        Ok(sum[0])
    }

    /// All of x.
    fn gather<'r, T: Scalar>(&self, x: &[T], room: &'r mut Room) -> Result<&'r [T], DeviceError> {
        let length = self.bounds.last().copied().unwrap_or(0);
        let [whole, _] = room.of::<T>([length, 0]);
        let mut parts = split(whole, self.bounds.windows(2).map(|pair| pair[1] - pair[0]));
        self.ranks.exchange("gather x", &vec![x; self.ranks.count()], &mut parts)?;
        Ok(whole)
    }

    /// y += hops among this rank's columns; returns their part of xᵀy, of the elements that this rank had after the first transpose.
    fn add_across<T: Scalar>(
        &self,
        down: &HostMultiply,
        (columns, rows): (&Lines, &Lines),
        x: &[T],
        y: &mut [T],
        room: &mut Room,
    ) -> Result<f64, DeviceError> {
        let rank = self.ranks.rank();
        let (own_columns, own_rows) = (columns.of(rank), rows.of(rank));
        let (here, turned) = (own_columns * rows.count, own_rows * columns.count);
        let longer = here.max(turned);
        let [a, b] = room.of::<T>([longer, longer]);
        // Each rank's rows of these columns, a row's elements side by side.
        let to_rows = |to: usize| own_columns * rows.of(to);
        let to_columns = |to: usize| own_rows * columns.of(to);
        let mut parts = split(&mut a[..here], (0..self.ranks.count()).map(to_rows));
        parts.iter_mut().zip(&rows.bounds).for_each(|(part, first)| turn(x, rows.count, *first, own_columns, part));
        self.exchange("transpose", a, here, b, turned, (to_rows, to_columns))?;
        // A row's elements by all ranks, one column of xᵀ.
        let turned_x = &mut a[..turned];
        join(&b[..turned], &columns.bounds, own_rows, turned_x);
        let dot = down.apply(turned_x, &mut b[..turned]);
        // Back: of each rank's columns these rows.
        let mut parts = split(&mut a[..turned], (0..self.ranks.count()).map(to_columns));
        parts.iter_mut().zip(&columns.bounds).for_each(|(part, first)| turn(b, columns.count, *first, own_rows, part));
        self.exchange("transpose back", a, turned, b, here, (to_columns, to_rows))?;
        add(&b[..here], &rows.bounds, own_columns, y);
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

/// The same plan's diagonal with nothing in it.
fn no_diagonal(plan: &KroneckerPlan) -> DiagonalPlan {
    DiagonalPlan { sites: plan.diagonal.sites, ..DiagonalPlan::default() }
}

/// Parts of these lengths, one after the other.
fn split<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let part = |length: usize| {
        let (own, rest) = std::mem::take(&mut values).split_at_mut(length);
        values = rest;
        own
    };
    lengths.map(part).collect()
}

/// Rows that are turned together: a run of 128 bytes of each column.
const TURNED: usize = 16;

/// The rows from `first` on of `columns` columns of `height` numbers → one row after the other.
fn turn<T: Scalar>(x: &[T], height: usize, first: usize, columns: usize, rows: &mut [T]) {
    if columns == 0 {
        return;
    }
    rows.par_chunks_mut(TURNED * columns).enumerate().for_each(|(group, rows)| {
        let first = first + group * TURNED;
        let count = rows.len() / columns;
        for column in 0..columns {
            let run = &x[column * height + first..][..count];
            run.iter().enumerate().for_each(|(row, value)| rows[row * columns + column] = *value);
        }
    });
}

/// Rows by rank, each rank's one after the other → whole rows.
fn join<T: Scalar>(parts: &[T], bounds: &[usize], rows: usize, to: &mut [T]) {
    let width = bounds.last().copied().unwrap_or(0);
    to.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, to)| {
        for pair in bounds.windows(2) {
            let count = pair[1] - pair[0];
            to[pair[0]..pair[1]].copy_from_slice(&parts[rows * pair[0] + row * count..][..count]);
        }
    });
}

/// y += what came back: columns by rank, of each rank its rows of one column after the other.
fn add<T: Scalar>(parts: &[T], bounds: &[usize], columns: usize, y: &mut [T]) {
    let height = bounds.last().copied().unwrap_or(0);
    y.par_chunks_mut(height.max(1)).enumerate().for_each(|(column, y)| {
        for pair in bounds.windows(2) {
            let count = pair[1] - pair[0];
            let more = &parts[columns * pair[0] + column * count..][..count];
            y[pair[0]..pair[1]].iter_mut().zip(more).for_each(|(y, more)| *y = T::from_f64(y.to_f64() + more.to_f64()));
        }
    });
}
