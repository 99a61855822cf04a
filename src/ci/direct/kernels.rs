//! σ = H C by the generated kernel: tables uploaded once, launches with their arguments by name.

use super::super::device_table::{Tables, read_all, read_everywhere, upload};
use super::device_tables::DeviceTables;
use super::error::DirectError;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Everywhere, Kernel, Vector, trace};
use eigenforge_templates::{Launch, ScalarType};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(super) struct Kernels {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    diagonal: ElementFunction,
    scratch: Mutex<Scratch>,
}

/// Scratch memory of a product.
struct Scratch {
    partials: Buffer<f64>,
    dot: Buffer<f64>,
    /// Several cards read the same elements of x many times, so each has all of it, if there is room.
    copies: Option<Everywhere>,
}

impl Kernels {
    /// Compiles the text and uploads the tables.
    pub(super) fn new(tables: DeviceTables, device: &Device) -> Result<Kernels, DirectError> {
        let DeviceTables { plan, product, diagonal } = tables;
        device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
        device.check_memory("tables of the direct product", plan.table_bytes())?;
        let kernel = device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = upload(device, product)?;
        let diagonal = diagonal.function(&tables, device)?;
        let zeros = |len: usize| device.buffer(&vec![0.0; len]);
        let scratch = Scratch {
            copies: Everywhere::new(device, plan.rows as usize, ScalarType::F64)?,
            partials: zeros(plan.alpha_strings as usize)?,
            dot: zeros(1)?,
        };
        Ok(Kernels { kernel, launches, tables, diagonal, scratch: Mutex::new(scratch) })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(super) fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dot, copies } = &mut *guard;
        let count = partials.len() as i64;
        let arguments = read_everywhere(Arguments::new(), copies, x)?.write("y", y).write("partials", partials);
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
        self.diagonal.clone()
    }
}
