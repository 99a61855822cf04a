//! σ = H C by the generated kernels of a product by slabs: on a device, or by one of several ranks.

use super::super::device_tables::starts_of_rows;
use super::rank::{RankPart, cuts, element_cuts, own_row_start};
use super::tables::SlabTables;
use eigenforge_product::ranks::RankShares;
use eigenforge_product::{PrepareError, ProductEngine, RankRows, RankRowsOf};
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, LinearOperator, NamedTables, OnDevice, Scalar,
    Vector, trace,
};
use eigenforge_templates::ci::{SlabLaunches, SlabPlan};
use eigenforge_templates::{Cost, Launch};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(super) struct SlabKernels {
    device: Device,
    kernel: Kernel,
    launches: SlabLaunches,
    plan: SlabPlan,
    norm: f64,
    tables: NamedTables,
    diagonal: ElementFunction,
    /// As one of several ranks, with the places where vectors are cut.
    rank: Option<(RankPart, Vec<usize>)>,
    scratch: Mutex<Scratch>,
}

/// A piece of C of all rows.
enum Piece {
    /// Of several cards: one in the memory of each.
    Spread(Buffer<f64>),
    /// Of several ranks.
    Own(Vector<f64>),
}

impl Piece {
    fn memory(&self) -> &(dyn OnDevice + 'static) {
        match self {
            Piece::Spread(buffer) => buffer,
            Piece::Own(vector) => vector,
        }
    }

    fn memory_mut(&mut self) -> &mut (dyn OnDevice + 'static) {
        match self {
            Piece::Spread(buffer) => buffer,
            Piece::Own(vector) => vector,
        }
    }
}

/// Scratch memory of a product.
struct Scratch {
    /// Partial sums of x·y, and their sum; ranks have another way.
    dot: Option<[Buffer<f64>; 2]>,
    fetched: Option<Piece>,
    /// A panel of rows turned into columns, each card's in its own memory.
    turned: Option<Buffer<f64>>,
    /// Of a panel of columns what is added up afterwards, likewise.
    v: Buffer<f64>,
}

impl Scratch {
    fn new(plan: &SlabPlan, launches: &SlabLaunches, card: &Device, of_rank: bool) -> Result<Scratch, DeviceError> {
        let memory = |elements: u64| match of_rank {
            true => card.empty_buffer(elements.max(1) as usize),
            false if plan.cards == card.cards_at_work() => {
                card.spread_buffer(elements.max(1) as usize * plan.cards as usize)
            }
            // Vectors too short to be spread are all on the first card.
            false => card.buffer(&vec![0.0; elements.max(1) as usize]),
        };
        let fetched = || match of_rank {
            true => card.zeros(plan.piece_room() as usize).map(Piece::Own),
            false => memory(plan.piece_room()).map(Piece::Spread),
        };
        let sums = || Ok::<_, DeviceError>([card.buffer(&vec![0.0; plan.partials() as usize])?, card.buffer(&[0.0])?]);
        Ok(Scratch {
            fetched: launches.fetch.is_some().then(fetched).transpose()?,
            dot: (!of_rank).then(sums).transpose()?,
            turned: launches.beta.is_some().then(|| memory(plan.turned())).transpose()?,
            v: memory(plan.v_room())?,
        })
    }
}

impl SlabKernels {
    /// Compiles the text and uploads the tables; those of a rank are of as many cards as ranks, apart.
    pub(super) fn new(tables: SlabTables, device: &Device) -> Result<SlabKernels, PrepareError> {
        let SlabTables { mut plan, product, diagonal, norm_bound: norm } = tables;
        let (card, row_start) = (device.of_this_rank(), starts_of_rows(&product));
        let mut text = plan.text()?;
        let mut own = None;
        if let Some(ranks) = device.ranks() {
            let strings = cuts(row_start.len(), ranks.count());
            let elements = element_cuts(&strings, &row_start, plan.rows);
            plan.rows = (elements[ranks.rank() + 1] - elements[ranks.rank()]) as u64;
            text = plan.text()?.for_card(ranks.rank() as u32, plan.cards);
            let rows = own_row_start(&row_start, &(elements[ranks.rank()]..elements[ranks.rank() + 1]));
            own =
                Some((RankPart::new(ranks, &device.cut_at(elements.clone())?, &strings, plan.piece)?, elements, rows));
        }
        card.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        card.check_memory("tables of the direct product", plan.table_bytes())?;
        let (kernel, launches) = (card.compile(&text)?, plan.launches()?);
        launches.clone().all().iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let mut tables = NamedTables::uploaded(&card, product)?;
        let mut of_diagonal = tables.clone();
        of_diagonal.extend(NamedTables::uploaded(&card, diagonal)?);
        let diagonal = ElementFunction::of_tables(plan.diagonal_element(), &of_diagonal);
        let rank = match own {
            // The diagonal counts elements of all ranks, the product those of its own.
            Some((part, elements, rows)) => {
                tables.upload(&card, "row_start", rows)?;
                Some((part, elements))
            }
            None => None,
        };
        let scratch = Mutex::new(Scratch::new(&plan, &launches, &card, rank.is_some())?);
        Ok(SlabKernels { device: device.clone(), kernel, launches, plan, norm, tables, diagonal, rank, scratch })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    fn run<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = &mut *guard;
        for piece in 0..self.plan.pieces() as i32 {
            if let (Some(fetch), Some(fetched)) = (&self.launches.fetch, &mut scratch.fetched) {
                let vectors = Arguments::new().read("x", x).write("fetched", fetched.memory_mut());
                self.start(fetch, vectors, &[("piece", piece)])?;
                if let (Some((rank, _)), Piece::Own(fetched)) = (&self.rank, fetched) {
                    rank.all_gather(fetched)?;
                }
            }
            self.add_piece(x, y, piece, scratch)?;
        }
        if let (Some([turn, multiply, add]), Some(turned)) = (&self.launches.beta, &mut scratch.turned) {
            let v = &mut scratch.v;
            for (class, panels) in self.plan.panels.iter().enumerate() {
                for panel in 0..*panels as i32 {
                    let numbers = [("own_class", class as i32), ("panel", panel)];
                    self.start(turn, Arguments::new().read("x", x).write("turned", &mut *turned), &numbers)?;
                    self.start(multiply, Arguments::new().read("turned", &*turned).write("v", &mut *v), &numbers)?;
                    self.start(add, Arguments::new().read("v", &*v).write("y", &mut *y), &numbers)?;
                }
            }
        }
        if !summed {
            return Ok(f64::NAN);
        }
        let (Some([partials, dot]), [parts, sum]) = (&mut scratch.dot, &self.launches.dot) else {
            return self.rank.as_ref().map_or(Ok(f64::NAN), |(rank, _)| rank.dot(x, y));
        };
        let count = partials.len() as i64;
        self.kernel.launch(parts, Arguments::new().read("x", x).read("y", &*y).write("partials", &mut *partials))?;
        let arguments = Arguments::new().read("partials", &*partials).i64("count", count).i64("place", 0);
        self.kernel.launch(sum, arguments.write("x_dot_y", &mut *dot))?;
        Ok(dot.download()?[0])
    }

    /// What a piece of x, or all of it, gives: electrons of both spins, then pairs of α electrons panel by panel.
    fn add_piece<T: Scalar>(
        &self,
        x: &Vector<T>,
        y: &mut Vector<T>,
        piece: i32,
        scratch: &mut Scratch,
    ) -> Result<(), DeviceError> {
        let of_many: &dyn OnDevice = match &scratch.fetched {
            Some(fetched) => fetched.memory(),
            None => x,
        };
        let vectors = Arguments::new().read("of_many", of_many).write("y", &mut *y);
        self.start(&self.launches.both, vectors, &[("piece", piece)])?;
        let Some([multiply, add]) = &self.launches.alpha else { return Ok(()) };
        for (class, width) in self.plan.classes.iter().enumerate() {
            let (first, end) = match self.plan.cards {
                1 => (0, *width),
                _ => (piece as u32 * self.plan.piece, width.min(&((piece as u32 + 1) * self.plan.piece)).to_owned()),
            };
            for first_column in (first..end).step_by(self.plan.panel as usize) {
                let columns = self.plan.panel.min(end - first_column) as i32;
                let numbers = [
                    ("own_class", class as i32),
                    ("first_column", first_column as i32),
                    ("columns", columns),
                    ("piece", piece),
                ];
                let vectors = Arguments::new().read("of_many", of_many).write("v", &mut scratch.v);
                self.start(multiply, vectors, &numbers)?;
                self.start(add, Arguments::new().read("v", &scratch.v).write("y", &mut *y), &numbers[..3])?;
            }
        }
        Ok(())
    }

    /// Starts a launch on these vectors, with its tables and these numbers.
    fn start<'a>(
        &'a self,
        launch: &'a Launch,
        vectors: Arguments<'a>,
        numbers: &[(&'static str, i32)],
    ) -> Result<(), DeviceError> {
        let arguments = numbers.iter().fold(vectors, |arguments, (name, number)| arguments.i32(name, *number));
        self.kernel.launch(launch, arguments.tables(&self.tables))
    }
}

impl ProductEngine for SlabKernels {}

impl<T: Scalar> LinearOperator<T> for SlabKernels {
    fn dimension(&self) -> usize {
        self.plan.rows as usize
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.run(x, y, true)
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        Some(self.diagonal.clone())
    }

    fn norm_bound(&self) -> f64 {
        self.norm
    }

    fn cost(&self) -> Cost {
        self.plan.cost()
    }
}

impl<T: Scalar> RankRowsOf<T> for SlabKernels {
    /// The sum of all ranks is the first one's part.
    fn apply(&self, _: &RankShares, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let dot = self.run(x, y, true)?;
        Ok(if self.rank.as_ref().is_none_or(|(rank, _)| rank.is_first()) { dot } else { 0.0 })
    }
}

impl RankRows for SlabKernels {
    fn bounds(&self) -> Vec<usize> {
        self.rank.as_ref().map_or_else(|| vec![0, self.plan.rows as usize], |(_, bounds)| bounds.clone())
    }

    fn diagonal(&self, _: &RankShares, _: &Device) -> Option<ElementFunction> {
        Some(self.diagonal.clone())
    }
}
