//! σ = H C by the generated kernel: tables uploaded once, diagonal and norm bound computed on the device.

use super::super::device_table::{RankTables, Table, Tables, read_all, read_everywhere, upload};
use super::OnTheFlyError;
use super::device_tables::DeviceTables;
use crate::ranks::{RowKernels, share};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Everywhere, Kernel, Vector, trace};
use eigenforge_templates::ci::RowsPlan;
use eigenforge_templates::{Launch, ScalarType};
use std::iter::once;
use std::sync::{Arc, Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(super) struct Kernels {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    diagonal: Arc<Buffer<f64>>,
    scratch: Mutex<Scratch>,
    /// Largest row sum of |H|.
    pub norm_bound: f64,
}

/// Scratch memory of a product.
struct Scratch {
    partials: Buffer<f64>,
    dot: Buffer<f64>,
    /// Several cards read the same elements of x many times, so each has all of it, if there is room.
    copies: Option<Everywhere>,
}

impl Kernels {
    /// Compiles the text, uploads the tables, fills the diagonal, sums the rows.
    pub(super) fn new(tables: DeviceTables, device: &Device) -> Result<Kernels, OnTheFlyError> {
        let DeviceTables { plan, tables } = tables;
        let SetUp { kernel, launches, tables, diagonal, norm_bound } = SetUp::new(&plan, tables, device)?;
        let (nothing, blocks) = (|len: usize| device.buffer(&vec![f64::NAN; len]), plan.blocks as usize);
        let copies = Everywhere::new(device, plan.rows as usize, ScalarType::F64)?;
        let scratch = Mutex::new(Scratch { partials: nothing(blocks)?, dot: nothing(1)?, copies });
        Ok(Kernels { kernel, launches, tables, diagonal, scratch, norm_bound })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(super) fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dot, copies } = &mut *guard;
        let count = partials.len() as i64;
        let arguments = Arguments::new().read("diagonal", &*self.diagonal);
        let arguments = read_everywhere(arguments, copies, x)?.write("y", y).write("partials", partials);
        self.kernel.launch(&self.launches[0], read_all(arguments, &self.tables))?;
        if !summed {
            return Ok(f64::NAN);
        }
        let arguments =
            Arguments::new().read("partials", partials).i64("count", count).i64("place", 0).write("x_dot_y", dot);
        self.kernel.launch(&self.launches[1], arguments)?;
        Ok(dot.download()?[0])
    }

    /// The diagonal as a function of the index.
    pub(super) fn diagonal(&self) -> ElementFunction {
        ElementFunction::stored_diagonal(self.diagonal.clone())
    }
}

/// What does not depend on where vectors are.
struct SetUp {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    diagonal: Arc<Buffer<f64>>,
    norm_bound: f64,
}

impl SetUp {
    /// Compiles the text, uploads the tables, fills the diagonal, sums the rows.
    fn new(plan: &RowsPlan, tables: Vec<(&'static str, Table)>, device: &Device) -> Result<SetUp, OnTheFlyError> {
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the product row by row and its diagonal", plan.table_bytes())?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        let set_up = plan.set_up_launches().map_err(DeviceError::from)?;
        launches.iter().chain(&set_up).try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = upload(device, tables)?;
        let nothing = |len: usize| device.buffer(&vec![f64::NAN; len]);
        let (mut diagonal, blocks) = (device.spread_buffer(plan.rows as usize)?, plan.blocks as usize);
        kernel.launch(&set_up[0], read_all(Arguments::new().write("diagonal_out", &mut diagonal), &tables))?;
        let mut largest = nothing(blocks)?;
        let arguments = Arguments::new().read("diagonal", &diagonal).write("largest", &mut largest);
        kernel.launch(&set_up[1], read_all(arguments, &tables))?;
        let norm_bound = largest.download()?.into_iter().fold(0.0, f64::max);
        Ok(SetUp { kernel, launches, tables, diagonal: Arc::new(diagonal), norm_bound })
    }
}

/// The kernel of one rank of so many, with the diagonal and a bound of the norm; `None` where there is no block for each. A warp makes one
/// row, so that the rows of a rank are a run.
pub(super) fn of_rank(
    tables: DeviceTables,
    card: &Device,
    [rank, ranks]: [usize; 2],
) -> Result<Option<(RowKernels, ElementFunction, f64)>, OnTheFlyError> {
    let DeviceTables { mut plan, tables } = tables;
    let (rows, of_block) = (plan.rows as usize, (plan.threads / plan.warp.lanes()) as usize);
    plan.blocks = u32::try_from(rows.div_ceil(of_block)).unwrap_or(u32::MAX);
    if (plan.blocks as usize) < ranks || plan.blocks as usize * of_block < rows {
        return Ok(None);
    }
    let whole = SetUp::new(&plan, tables, card)?;
    let kernel = card.compile(&plan.text()?.for_card(rank as u32, ranks as u32))?;
    let bound = |rank: usize| (share(plan.blocks as usize, rank, ranks).start * of_block).min(rows);
    let made = (0..ranks).map(|rank| once(bound(rank)..bound(rank + 1)).collect()).collect();
    let diagonal = ElementFunction::stored_diagonal(whole.diagonal.clone());
    let tables = Box::new(RankTables { before: vec![("diagonal", whole.diagonal)], after: whole.tables });
    let multiply = (kernel, whole.launches[0].clone());
    let rows = RowKernels::new(multiply, tables, (made, rows), u64::from(plan.blocks), (card, rank))?;
    Ok(Some((rows, diagonal, whole.norm_bound)))
}
