//! σ = H C by the generated kernels of a product by slabs.

use super::super::super::device_table::{Tables, upload};
use super::super::error::DirectError;
use super::tables::SlabTables;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, OnDevice, Vector, trace};
use eigenforge_templates::Launch;
use eigenforge_templates::ci::{SlabLaunches, SlabPlan};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(in super::super) struct SlabKernels {
    kernel: Kernel,
    launches: SlabLaunches,
    plan: SlabPlan,
    tables: Tables,
    diagonal: ElementFunction,
    scratch: Mutex<Scratch>,
}

/// Scratch memory of a product.
struct Scratch {
    partials: Buffer<f64>,
    dot: Buffer<f64>,
    /// Of several cards: a piece of C in the memory of each.
    fetched: Option<Buffer<f64>>,
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
        let tables = upload(device, product)?;
        let diagonal = diagonal.function(&tables, device)?;
        let memory = |elements: u64| match plan.cards == device.cards_at_work() {
            true => device.spread_buffer(elements.max(1) as usize * plan.cards as usize),
            // Vectors too short to be spread are all on the first card.
            false => device.buffer(&vec![0.0; elements.max(1) as usize]),
        };
        let scratch = Scratch {
            fetched: launches.fetch.is_some().then(|| memory(plan.piece_room())).transpose()?,
            partials: device.buffer(&vec![0.0; plan.partials() as usize])?,
            dot: device.buffer(&[0.0])?,
            turned: launches.beta.is_some().then(|| memory(plan.turned())).transpose()?,
            v: memory(plan.v_room())?,
        };
        Ok(SlabKernels { kernel, launches, plan, tables, diagonal, scratch: Mutex::new(scratch) })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(in super::super) fn apply(
        &self,
        x: &Vector<f64>,
        y: &mut Vector<f64>,
        summed: bool,
    ) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = &mut *guard;
        for piece in 0..self.plan.pieces() as i32 {
            if let (Some(fetch), Some(fetched)) = (&self.launches.fetch, &mut scratch.fetched) {
                let vectors = Arguments::new().read("x", x).write("fetched", fetched);
                self.start(fetch, vectors, &[("piece", piece)])?;
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
        let ([parts, sum], Scratch { partials, dot, .. }) = (&self.launches.dot, scratch);
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
            Some(fetched) => fetched,
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

    /// Starts a launch on these vectors, with its tables and then these numbers.
    fn start(
        &self,
        launch: &Launch,
        vectors: Arguments<'_>,
        numbers: &[(&'static str, i32)],
    ) -> Result<(), DeviceError> {
        let arguments = self.and_tables(launch, vectors);
        let arguments = numbers.iter().fold(arguments, |arguments, (name, number)| arguments.i32(name, *number));
        self.kernel.launch(launch, arguments)
    }

    /// The launch's tables after its vectors, in the order of its parameters.
    fn and_tables<'a>(&'a self, launch: &'a Launch, vectors: Arguments<'a>) -> Arguments<'a> {
        let find = |name: &str| self.tables.iter().find(|(table, _)| *table == name);
        let wanted = launch.parameters.iter().filter_map(|parameter| find(&parameter.name));
        wanted.fold(vectors, |arguments, (name, memory)| arguments.read(name, &**memory))
    }

    /// The diagonal as a function of the index.
    pub(in super::super) fn diagonal(&self) -> ElementFunction {
        self.diagonal.clone()
    }
}
