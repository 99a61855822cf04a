//! σ = H C by the generated kernel: tables uploaded once, launches with their arguments by name.

use super::super::device_table::{Tables, read_all, read_everywhere, upload};
use super::device_tables::DeviceTables;
use super::error::DirectError;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Everywhere, Kernel, Vector, trace};
use eigenforge_templates::ci::FullCiPlan;
use eigenforge_templates::{Launch, ScalarType};
use std::sync::{Arc, Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(super) struct Kernels {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    diagonal: Arc<Buffer<f64>>,
    scratch: Mutex<Scratch>,
}

/// Scratch memory of a product.
struct Scratch {
    partials: Buffer<f64>,
    dot: Buffer<f64>,
    /// Several cards read the same elements of x many times, so each has all of it, if there is room.
    copies: Option<Everywhere>,
    fields: Option<Buffer<f64>>,
}

impl Kernels {
    /// Compiles the text, uploads the tables, fills the diagonal.
    pub(super) fn new(tables: DeviceTables, device: &Device) -> Result<Kernels, DirectError> {
        let DeviceTables { plan, product, diagonal } = tables;
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the direct product and its diagonal", plan.table_bytes() + 8 * plan.rows)?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = upload(device, product)?;
        let of_diagonal = upload(device, diagonal)?;
        let diagonal = fill_diagonal(&plan, &kernel, device, &tables, &of_diagonal)?;
        let parameter = |name: &str| launches[0].parameters.iter().any(|parameter| parameter.name == name);
        let field = parameter("fields").then(|| plan.field() as usize + 1);
        let zeros = |len: usize| device.buffer(&vec![0.0; len]);
        let scratch = Scratch {
            copies: Everywhere::new(device, plan.rows as usize, ScalarType::F64)?,
            partials: zeros(plan.blocks as usize)?,
            dot: zeros(1)?,
            // Each card writes those of its own blocks.
            fields: field.map(|field| device.spread_buffer(field * plan.blocks as usize)).transpose()?,
        };
        Ok(Kernels { kernel, launches, tables, diagonal: Arc::new(diagonal), scratch: Mutex::new(scratch) })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(super) fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dot, fields, copies } = &mut *guard;
        let count = partials.len() as i64;
        let arguments = read_everywhere(Arguments::new(), copies, x)?.write("y", y).write("partials", partials);
        let arguments = match fields {
            Some(fields) => arguments.write("fields", fields),
            None => arguments,
        };
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

fn fill_diagonal(
    plan: &FullCiPlan,
    kernel: &Kernel,
    device: &Device,
    product: &Tables,
    own: &Tables,
) -> Result<Buffer<f64>, DeviceError> {
    let launch = plan.diagonal_launch().map_err(DeviceError::from)?;
    kernel.check(&launch)?;
    let mut diagonal = device.spread_buffer(plan.rows as usize)?;
    let shared = product.iter().filter(|(name, _)| ["row_start", "alpha_class"].contains(name));
    let arguments = shared.fold(Arguments::new().write("diagonal_out", &mut diagonal), |arguments, (name, memory)| {
        arguments.read(name, &**memory)
    });
    kernel.launch(&launch, read_all(arguments, own))?;
    Ok(diagonal)
}
