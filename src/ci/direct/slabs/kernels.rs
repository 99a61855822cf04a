//! σ = H C by the generated kernels of a product by slabs.

use super::super::super::device_table::{Tables, upload};
use super::super::error::DirectError;
use super::tables::SlabTables;
use crate::ci::direct::kernels::Diagonal;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, Vector, trace};
use eigenforge_templates::Launch;
use eigenforge_templates::ci::{SlabLaunches, SlabPlan};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(in super::super) struct SlabKernels {
    kernel: Kernel,
    launches: SlabLaunches,
    plan: SlabPlan,
    tables: Tables,
    diagonal: Diagonal,
    scratch: Mutex<Scratch>,
}

/// Scratch memory of a product.
struct Scratch {
    partials: Buffer<f64>,
    dot: Buffer<f64>,
    /// Of several cards: a piece of C in the memory of each.
    fetched: Option<Buffer<f64>>,
    /// A panel of rows turned into columns, and what is added to it; each card's in its own memory.
    panels: Option<[Buffer<f64>; 2]>,
}

impl SlabKernels {
    /// Compiles the text and uploads the tables.
    pub(in super::super) fn new(tables: SlabTables, device: &Device) -> Result<SlabKernels, DirectError> {
        let SlabTables { plan, product, diagonal, .. } = tables;
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the direct product", plan.table_bytes())?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        let pairs = launches.alpha.iter().chain(launches.beta.iter().flatten()).chain(&launches.dot);
        let all = launches.fetch.iter().chain([&launches.both]).chain(pairs);
        all.into_iter().try_for_each(|launch| kernel.check(launch))?;
        let of_diagonal = plan.diagonal_launch().map_err(DeviceError::from)?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = upload(device, product)?;
        let diagonal = Diagonal::new(of_diagonal, upload(device, diagonal)?, plan.rows);
        let memory = |elements: u64| match plan.cards == device.cards_at_work() {
            true => device.spread_buffer(elements.max(1) as usize * plan.cards as usize),
            // Vectors too short to be spread are all on the first card.
            false => device.buffer(&vec![0.0; elements.max(1) as usize]),
        };
        let panel = || memory(plan.turned());
        let scratch = Scratch {
            fetched: launches.fetch.is_some().then(|| memory(plan.piece_room())).transpose()?,
            partials: device.buffer(&vec![0.0; plan.partials() as usize])?,
            dot: device.buffer(&[0.0])?,
            panels: launches.beta.is_some().then(|| Ok::<_, DeviceError>([panel()?, panel()?])).transpose()?,
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
        let Scratch { partials, dot, fetched, panels } = &mut *guard;
        let SlabLaunches { fetch, both, alpha, beta, dot: [parts, sum] } = &self.launches;
        for piece in 0..self.plan.pieces() as i32 {
            if let (Some(fetch), Some(fetched)) = (fetch, &mut *fetched) {
                let vectors = Arguments::new().read("x", x).write("fetched", fetched);
                self.kernel.launch(fetch, self.and_tables(fetch, vectors).i32("piece", piece))?;
            }
            for launch in std::iter::once(both).chain(alpha) {
                let many = match fetched {
                    Some(fetched) => Arguments::new().read("of_many", &*fetched),
                    None => Arguments::new().read("of_many", x),
                };
                let vectors = many.write("y", &mut *y);
                self.kernel.launch(launch, self.and_tables(launch, vectors).i32("piece", piece))?;
            }
        }
        if let (Some([turn, multiply, back]), Some([turned, added])) = (beta, panels) {
            for (class, panels) in self.plan.panels.iter().enumerate() {
                for panel in 0..*panels {
                    let vectors =
                        Arguments::new().read("x", x).write("turned", &mut *turned).write("added", &mut *added);
                    self.kernel.launch(turn, of_panel(self.and_tables(turn, vectors), class, panel))?;
                    let vectors = Arguments::new().read("turned", &*turned).write("added", &mut *added);
                    self.kernel.launch(multiply, of_panel(self.and_tables(multiply, vectors), class, panel))?;
                    let vectors = Arguments::new().read("added", &*added).write("y", &mut *y);
                    self.kernel.launch(back, of_panel(self.and_tables(back, vectors), class, panel))?;
                }
            }
        }
        if !summed {
            return Ok(f64::NAN);
        }
        let count = partials.len() as i64;
        self.kernel.launch(parts, Arguments::new().read("x", x).read("y", &*y).write("partials", &mut *partials))?;
        let arguments = Arguments::new().read("partials", &*partials).i64("count", count).i64("place", 0);
        self.kernel.launch(sum, arguments.write("x_dot_y", &mut *dot))?;
        Ok(dot.download()?[0])
    }

    /// The launch's tables after its vectors, in the order of its parameters.
    fn and_tables<'a>(&'a self, launch: &'a Launch, vectors: Arguments<'a>) -> Arguments<'a> {
        let find = |name: &str| self.tables.iter().find(|(table, _)| *table == name);
        let wanted = launch.parameters.iter().filter_map(|parameter| find(&parameter.name));
        wanted.fold(vectors, |arguments, (name, memory)| arguments.read(name, &**memory))
    }

    /// The diagonal as a function of the index, made when it is first asked for.
    pub(in super::super) fn diagonal(&self, device: &Device) -> Option<ElementFunction> {
        self.diagonal.function(&self.kernel, device, &self.tables)
    }
}

/// Adds the numbers of a panel.
fn of_panel(arguments: Arguments<'_>, class: usize, panel: u32) -> Arguments<'_> {
    arguments.i32("own_class", class as i32).i32("panel", panel as i32)
}
