//! σ = H C by the generated kernels of a product by slabs.

use super::super::device_tables::starts_of_rows;
use super::super::error::DirectError;
use super::rank::{RankPart, cuts, element_cuts, own_row_start};
use super::tables::SlabTables;
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, NamedTables, OnDevice, Vector, trace,
};
use eigenforge_templates::Launch;
use eigenforge_templates::ci::{SlabLaunches, SlabPlan};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(crate) struct SlabKernels {
    kernel: Kernel,
    launches: SlabLaunches,
    plan: SlabPlan,
    tables: NamedTables,
    diagonal: ElementFunction,
    /// As one of several ranks.
    rank: Option<RankPart>,
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

impl SlabKernels {
    /// Compiles the text and uploads the tables.
    pub(in super::super) fn new(tables: SlabTables, device: &Device) -> Result<SlabKernels, DirectError> {
        let SlabTables { plan, product, diagonal, .. } = tables;
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the direct product", plan.table_bytes())?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        let pairs = launches.alpha.iter().flatten().chain(launches.beta.iter().flatten()).chain(&launches.dot);
        let all = launches.fetch.iter().chain([&launches.both]).chain(pairs);
        all.into_iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = NamedTables::uploaded(device, product)?;
        let diagonal = diagonal.function(&tables, device)?;
        let memory = |elements: u64| match plan.cards == device.cards_at_work() {
            true => device.spread_buffer(elements.max(1) as usize * plan.cards as usize),
            // Vectors too short to be spread are all on the first card.
            false => device.buffer(&vec![0.0; elements.max(1) as usize]),
        };
        let scratch = Scratch {
            fetched: launches.fetch.is_some().then(|| memory(plan.piece_room())).transpose()?.map(Piece::Spread),
            dot: Some([device.buffer(&vec![0.0; plan.partials() as usize])?, device.buffer(&[0.0])?]),
            turned: launches.beta.is_some().then(|| memory(plan.turned())).transpose()?,
            v: memory(plan.v_room())?,
        };
        Ok(SlabKernels { kernel, launches, plan, tables, diagonal, rank: None, scratch: Mutex::new(scratch) })
    }

    /// The product of one rank, by tables of as many cards as ranks, apart: with the places where vectors are cut, between the rows of
    /// ranks.
    pub(in super::super) fn of_rank(
        tables: SlabTables,
        device: &Device,
    ) -> Result<(SlabKernels, Vec<usize>), DirectError> {
        let SlabTables { mut plan, product, diagonal, .. } = tables;
        let (card, rank) = (device.of_this_rank(), device.ranks().map_or(0, |ranks| ranks.rank()));
        let row_start = starts_of_rows(&product);
        let strings = cuts(row_start.len(), plan.cards as usize);
        let elements = element_cuts(&strings, &row_start, plan.rows);
        let own = elements[rank]..elements[rank + 1];
        plan.rows = own.len() as u64;
        card.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        card.check_memory("tables of the direct product", plan.table_bytes())?;
        let kernel = card.compile(&plan.text()?.for_card(rank as u32, plan.cards))?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        launches.clone().all().iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let mut tables = NamedTables::uploaded(&card, product)?;
        // The diagonal counts elements of all ranks, the product those of its own.
        let diagonal = diagonal.function(&tables, &card)?;
        tables.upload(&card, "row_start", own_row_start(&row_start, &own))?;
        let memory = |elements: u64| card.empty_buffer::<f64>(elements.max(1) as usize);
        let scratch = Scratch {
            fetched: launches
                .fetch
                .is_some()
                .then(|| card.zeros(plan.piece_room() as usize))
                .transpose()?
                .map(Piece::Own),
            dot: None,
            turned: launches.beta.is_some().then(|| memory(plan.turned())).transpose()?,
            v: memory(plan.v_room())?,
        };
        let rank = RankPart::new(&device.cut_at(elements.clone())?, &strings, plan.piece)?;
        let scratch = Mutex::new(scratch);
        Ok((SlabKernels { kernel, launches, plan, tables, diagonal, rank, scratch }, elements))
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(crate) fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = &mut *guard;
        for piece in 0..self.plan.pieces() as i32 {
            if let (Some(fetch), Some(fetched)) = (&self.launches.fetch, &mut scratch.fetched) {
                let vectors = Arguments::new().read("x", x).write("fetched", fetched.memory_mut());
                self.start(fetch, vectors, &[("piece", piece)])?;
                if let (Some(rank), Piece::Own(fetched)) = (&self.rank, fetched) {
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
            return self.rank.as_ref().map_or(Ok(f64::NAN), |rank| rank.dot(x, y));
        };
        let count = partials.len() as i64;
        self.kernel.launch(parts, Arguments::new().read("x", x).read("y", &*y).write("partials", &mut *partials))?;
        let arguments = Arguments::new().read("partials", &*partials).i64("count", count).i64("place", 0);
        self.kernel.launch(sum, arguments.write("x_dot_y", &mut *dot))?;
        Ok(dot.download()?[0])
    }

    /// What a piece of x, or all of it, gives: electrons of both spins, then pairs of α electrons panel by panel.
    fn add_piece(
        &self,
        x: &Vector<f64>,
        y: &mut Vector<f64>,
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

    /// The diagonal as a function of the index.
    pub(crate) fn diagonal(&self) -> ElementFunction {
        self.diagonal.clone()
    }
}
