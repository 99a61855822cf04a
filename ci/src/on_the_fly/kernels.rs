//! σ = H C by the generated kernel: tables uploaded once, diagonal and norm bound computed on the device.

use super::OnTheFlyError;
use super::device_tables::DeviceTables;
use eigenforge_product::ranks::{RowKernels, share};
use eigenforge_product::{ProductKernels, Traffic};
use eigenforge_runtime::{
    Arguments, Device, DeviceError, ElementArgument, ElementFunction, Kernel, NamedTables, TableList, trace,
};
use eigenforge_templates::ci::RowsPlan;
use eigenforge_templates::{Launch, ScalarType};
use std::iter::once;
use std::sync::Arc;

/// The product on a device that runs kernels, the diagonal, and a bound of the norm.
///
/// # Errors
/// A text that does not compile; memory of the device.
pub(super) fn kernels(
    tables: DeviceTables,
    device: &Device,
) -> Result<(ProductKernels, ElementFunction, f64), OnTheFlyError> {
    let DeviceTables { plan, tables } = tables;
    let SetUp { kernel, launches, tables, diagonal, norm_bound } = SetUp::new(&plan, tables, device)?;
    let copies = Traffic::Copies(plan.rows as usize, ScalarType::F64, "multiply");
    let kernels = ProductKernels::new((kernel, launches), tables, (copies, plan.blocks as usize), device)?;
    Ok((kernels, diagonal, norm_bound))
}

/// What does not depend on where vectors are.
struct SetUp {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: NamedTables,
    diagonal: ElementFunction,
    norm_bound: f64,
}

impl SetUp {
    /// Compiles the text, uploads the tables, fills the diagonal, sums the rows.
    fn new(plan: &RowsPlan, tables: TableList<'static>, device: &Device) -> Result<SetUp, OnTheFlyError> {
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the product row by row and its diagonal", plan.table_bytes())?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        let set_up = plan.set_up_launches().map_err(DeviceError::from)?;
        launches.iter().chain(&set_up).try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let mut tables = NamedTables::uploaded(device, tables)?;
        let mut diagonal = device.spread_buffer(plan.rows as usize)?;
        kernel.launch(&set_up[0], Arguments::new().write("diagonal_out", &mut diagonal).tables(&tables))?;
        let diagonal = Arc::new(diagonal);
        tables.insert("diagonal", ElementArgument::Memory(diagonal.clone()));
        let mut largest = device.buffer(&vec![f64::NAN; plan.blocks as usize])?;
        kernel.launch(&set_up[1], Arguments::new().write("largest", &mut largest).tables(&tables))?;
        let norm_bound = largest.download()?.into_iter().fold(0.0, f64::max);
        let diagonal = ElementFunction::stored_diagonal(diagonal);
        Ok(SetUp { kernel, launches, tables, diagonal, norm_bound })
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
    let multiply = (kernel, whole.launches[0].clone());
    let rows = RowKernels::new(multiply, whole.tables, (made, rows), u64::from(plan.blocks), (card, rank))?;
    Ok(Some((rows, whole.diagonal, whole.norm_bound)))
}
