//! y = H x over several ranks: each has a share of every vector, in the memory of its cores or of its card.
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
//!
//! On cards the hops within columns are those of a Kronecker sum without down hops (`columns`), and the rows those that one of several cards
//! makes of the same plan (`rows`). Stored matrices and pairs of strings are multiplied by the cores, of
//! a rank that has a card too. Messages go from card to card where they can ([`CardLinks`]).

mod columns;
mod plan;
mod rows;
mod turns;

pub use plan::RankPlan;

use super::cpu::HostMultiply;
use super::multiply::{PrepareError, host_diagonal};
use super::prepared::Prepared;
use super::stored::OwnRows;
use columns::Columns;
use eigenforge_runtime::ranks::{Ranks, equal};
use eigenforge_runtime::{
    Bind, CardLinks, Device, DeviceError, ElementArgument, ElementFunction, Program, Scalar, Vector,
};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::exact::{DiagonalPlan, KroneckerPlan};
use eigenforge_templates::launch::{Element, Number, Parameter};
use eigenforge_templates::vector_program::VectorProgram;
use rows::RowKernels;
use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use turns::{add, join, split, turn};

/// H over ranks, as one of them has it.
pub(super) struct RankMultiply {
    ranks: Arc<Ranks>,
    /// Where vectors are cut.
    bounds: Vec<usize>,
    engine: Engine,
    /// From card to card; without, messages go by way of the host.
    links: Option<Arc<CardLinks>>,
    room: Mutex<Room>,
}

enum Engine {
    /// A Kronecker sum.
    Transposed { up: Columns, down: Columns, columns: Lines, rows: Lines },
    /// Rows of y, of a whole x, by kernels.
    Kernels(Box<RowKernels>),
    /// The same on the host.
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
struct Room {
    words: [Vec<u64>; 2],
    /// On a card: what is added to a share, with the program that adds it.
    added: Kept,
}

impl Room {
    /// Two lists of so many numbers.
    fn of<T: Scalar>(&mut self, lengths: [usize; 2]) -> [&mut [T]; 2] {
        let mut lengths = lengths.into_iter();
        self.words.each_mut().map(|words| {
            let length = lengths.next().unwrap_or(0);
            words.resize(words.len().max((length * size_of::<T>()).div_ceil(8)), 0);
            // SAFETY: numbers of 4 or 8 bytes without padding, for which every pattern of bits is a value; there is room for them.
            unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<T>(), length) }
        })
    }
}

impl RankMultiply {
    /// This rank's part of a plan.
    pub(super) fn new(prepared: &Prepared, ranks: &Arc<Ranks>, device: &Device) -> Result<RankMultiply, PrepareError> {
        let (count, rank) = (ranks.count(), ranks.rank());
        let by_kernels = match device.runs_kernels() {
            true => RowKernels::new(prepared, ranks, &device.of_this_rank())?,
            false => None,
        };
        let (engine, bounds) = match (by_kernels, prepared) {
            (Some(kernels), _) => {
                let bounds = kernels.bounds();
                (Engine::Kernels(Box::new(kernels)), bounds)
            }
            (None, Prepared::Kronecker { plan, up, down }) => {
                let (rows, columns) = (Lines::new(up.states.len(), count), Lines::new(down.states.len(), count));
                let own = |words: &[u64], lines: &Lines| words[lines.bounds[rank]..lines.bounds[rank + 1]].to_vec();
                let of_up = Columns::new(plan, up, &own(&down.states, &columns), &plan.diagonal, device)?;
                let of_down = Columns::new(plan, down, &own(&up.states, &rows), &no_diagonal(plan), device)?;
                let bounds = columns.bounds.iter().map(|bound| bound * rows.count).collect();
                (Engine::Transposed { up: of_up, down: of_down, columns, rows }, bounds)
            }
            (None, Prepared::Stored(matrix)) => {
                let bounds = equal(matrix.elements().rows(), count);
                (Engine::Matrix(OwnRows::of_matrix(matrix, bounds[rank]..bounds[rank + 1])), bounds)
            }
            (None, other) => {
                let (host, bounds) = HostMultiply::new(other).of_share(prepared.dimension(), count, rank);
                (Engine::Host(host), bounds)
            }
        };
        let links = device.card_links().cloned();
        Ok(RankMultiply { ranks: ranks.clone(), bounds, engine, links, room: Mutex::default() })
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

    /// The diagonal; on a card a table of this rank's share where the kernels have no function of it.
    pub(super) fn diagonal(self: &Arc<Self>, prepared: &Prepared, device: &Device) -> Option<ElementFunction> {
        let own = self.bounds[self.ranks.rank()]..self.bounds[self.ranks.rank() + 1];
        let first = own.start;
        let element: Box<dyn Fn(usize) -> f64 + Send + Sync> = match (&self.engine, prepared) {
            (Engine::Kernels(kernels), _) => return Some(kernels.diagonal(prepared)),
            (Engine::Transposed { .. }, Prepared::Kronecker { plan, up, down }) => {
                let (up, down, sites) = (up.states.clone(), down.states.clone(), plan.sites);
                let diagonal = plan.diagonal.clone();
                Box::new(move |index| {
                    let (column, row) = (index / up.len(), index % up.len());
                    diagonal.of_state(up[row] | down[column] << sites)
                })
            }
            _ => {
                let own = self.clone();
                Box::new(move |index| match &own.engine {
                    Engine::Host(host) => host.diagonal(index),
                    Engine::Matrix(rows) => rows.diagonal(index - first),
                    Engine::Transposed { .. } | Engine::Kernels(_) => f64::NAN,
                })
            }
        };
        if !device.runs_kernels() {
            return Some(host_diagonal(element));
        }
        // A card of no elements has one that nobody reads.
        let mut values: Vec<f64> = own.map(element).collect();
        values.resize(values.len().max(1), 0.0);
        stored_here(&values, first, device).ok()
    }

    /// y = H x; returns xᵀy, the same on all ranks.
    pub(super) fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let rank = self.ranks.rank();
        let own = self.bounds[rank]..self.bounds[rank + 1];
        if x.here() != own || y.here() != own {
            let (expected, found) = (format!("the shares {own:?}"), format!("{:?} and {:?}", x.here(), y.here()));
            return Err(DeviceError::Arguments { what: "multiply by H over ranks".into(), expected, found });
        }
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let dot = match &self.engine {
            Engine::Transposed { up, down, columns, rows } => {
                let of_up = up.of_share(x, y)?;
                of_up
                    + match &self.links {
                        Some(links) => self.add_across_cards(links, down, (columns, rows), x, y, &mut room)?,
                        None => self.add_across(down, (columns, rows), x, y, &mut room)?,
                    }
            }
            Engine::Kernels(kernels) => match &self.links {
                Some(links) => kernels.apply(&self.ranks, |whole| links.gather(x, whole), y)?,
                None => {
                    let gathered = self.gather(&here(x)?, &mut room)?;
                    kernels.apply(&self.ranks, |whole| whole.write_first(gathered), y)?
                }
            },
            Engine::Host(host) => {
                let whole = self.gather(&here(x)?, &mut room)?;
                written(y, |y| host.apply_part(whole, own.start, y))?
            }
            Engine::Matrix(rows) => {
                let whole = self.gather(&here(x)?, &mut room)?;
                written(y, |y| rows.multiply(whole, y))?
            }
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
        down: &Columns,
        (columns, rows): (&Lines, &Lines),
        x: &Vector<T>,
        y: &mut Vector<T>,
        room: &mut Room,
    ) -> Result<f64, DeviceError> {
        let rank = self.ranks.rank();
        let (own_columns, own_rows) = (columns.of(rank), rows.of(rank));
        let (share, turned) = (own_columns * rows.count, own_rows * columns.count);
        let longer = share.max(turned);
        let mut added = room.added.take();
        let [a, b] = room.of::<T>([longer, longer]);
        let x = here(x)?;
        // Each rank's rows of these columns, a row's elements side by side.
        let to_rows = |to: usize| own_columns * rows.of(to);
        let to_columns = |to: usize| own_rows * columns.of(to);
        let mut parts = split(&mut a[..share], (0..self.ranks.count()).map(to_rows));
        parts.iter_mut().zip(&rows.bounds).for_each(|(part, first)| turn(&x, rows.count, *first, own_columns, part));
        self.exchange("transpose", a, share, b, turned, (to_rows, to_columns))?;
        // A row's elements by all ranks, one column of xᵀ.
        let turned_x = &mut a[..turned];
        join(&b[..turned], &columns.bounds, own_rows, turned_x);
        let dot = down.of_columns(turned_x, &mut b[..turned])?;
        // Back: of each rank's columns these rows.
        let mut parts = split(&mut a[..turned], (0..self.ranks.count()).map(to_columns));
        parts.iter_mut().zip(&columns.bounds).for_each(|(part, first)| turn(b, columns.count, *first, own_rows, part));
        self.exchange("transpose back", a, turned, b, share, (to_columns, to_rows))?;
        let parts = &b[..share];
        match y.share_mut() {
            Some(y) => add(parts, &rows.bounds, own_columns, y),
            None => {
                let mut sum = vec![T::default(); share];
                add(parts, &rows.bounds, own_columns, &mut sum);
                let adder = kept(&mut added, || Adder::<T>::new(y))?;
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
        down: &Columns,
        (columns, rows): (&Lines, &Lines),
        x: &Vector<T>,
        y: &mut Vector<T>,
        room: &mut Room,
    ) -> Result<f64, DeviceError> {
        let rank = self.ranks.rank();
        let (own_columns, own_rows) = (columns.of(rank), rows.of(rank));
        let longer = (own_columns * rows.count).max(own_rows * columns.count);
        let make = || {
            let card = y.device().of_this_rank();
            Ok(Turned { a: card.zeros(longer)?, b: card.zeros(longer)?, adder: Adder::new(y)? })
        };
        let Turned::<T> { a, b, adder } = kept(&mut room.added, make)?;
        let times = |bounds: &[usize], factor: usize| bounds.iter().map(|bound| bound * factor).collect::<Vec<_>>();
        let (by_rows, by_columns) = (times(&rows.bounds, own_columns), times(&columns.bounds, own_rows));
        // A row's elements of these columns side by side, and to the rank that has the row.
        links.transpose(x, [rows.count, own_columns], a)?;
        links.exchange((a, &by_rows), (b, &by_columns))?;
        for pair in columns.bounds.windows(2) {
            let shape = [pair[1] - pair[0], own_rows];
            links.copy_columns((b, own_rows * pair[0]), shape, (a, pair[0], columns.count))?;
        }
        let dot = down.of_vectors(a, b)?;
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

/// Memory of one type of number or the other.
type Kept = Option<Box<dyn Any + Send>>;

/// What is kept in a place, made where there is nothing of its type.
fn kept<V: Send + 'static>(
    place: &mut Kept,
    make: impl FnOnce() -> Result<V, DeviceError>,
) -> Result<&mut V, DeviceError> {
    if !place.as_ref().is_some_and(|found| found.is::<V>()) {
        *place = Some(Box::new(make()?));
    }
    Ok(place.as_mut().and_then(|found| found.downcast_mut()).unwrap_or_else(|| unreachable!("it is of this type")))
}

fn elsewhere() -> DeviceError {
    let what = "multiply by H over ranks".into();
    DeviceError::WrongDevice { what, expected: "CPUs".into(), found: "device memory".into() }
}

/// A rank's share on the host.
fn here<T: Scalar>(x: &Vector<T>) -> Result<Cow<'_, [T]>, DeviceError> {
    if let Some(share) = x.share() {
        return Ok(Cow::Borrowed(share));
    }
    let mut values = vec![T::default(); x.here().len()];
    x.read_here(&mut values)?;
    Ok(Cow::Owned(values))
}

/// Has a rank's share written on the host, wherever it is.
fn written<T: Scalar>(y: &mut Vector<T>, write: impl FnOnce(&mut [T]) -> f64) -> Result<f64, DeviceError> {
    if let Some(share) = y.share_mut() {
        return Ok(write(share));
    }
    let mut values = vec![T::default(); y.here().len()];
    let dot = write(&mut values);
    y.write_here(&values)?;
    Ok(dot)
}

/// A diagonal of the elements from place `first` on, as a table on a card.
fn stored_here(values: &[f64], first: usize, device: &Device) -> Result<ElementFunction, DeviceError> {
    let parameters =
        vec![Parameter::table("values", Element::F64, values.len() as u64), Parameter::number("first", Number::I64)];
    let text = ElementFunctionText::new("", "double", "diagonal", parameters, "values[i - first]");
    let arguments = vec![ElementArgument::Memory(Arc::new(device.buffer(values)?)), ElementArgument::I64(first as i64)];
    let host = Arc::new(|_: usize, out: &mut [f64]| out.fill(f64::NAN));
    Ok(ElementFunction { text, arguments, host })
}
