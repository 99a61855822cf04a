//! A product whose kernel makes rows of y from a whole x: one launch, and one more where x·y is wanted.
//!
//! In: a compiled text with its launches and tables. Out: y on the device of the text, on one card or shared out among several.

use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Everywhere, Kernel, NamedTables, Scalar, Vector,
};
use eigenforge_templates::{Launch, ScalarType};
use std::sync::{Mutex, PoisonError};

/// The product on a device that runs kernels.
pub(crate) struct ProductKernels {
    kernel: Kernel,
    /// `multiply` of `x`, `y` and `partials`, then `multiply_finish`.
    launches: Vec<Launch>,
    tables: NamedTables,
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

impl ProductKernels {
    /// Of vectors of `length` elements. The kernel writes `partials` partial sums of x·y.
    ///
    /// # Errors
    /// Memory of the device.
    pub(crate) fn new(
        (kernel, launches): (Kernel, Vec<Launch>),
        tables: NamedTables,
        diagonal: ElementFunction,
        (length, partials): (usize, usize),
        device: &Device,
    ) -> Result<ProductKernels, DeviceError> {
        let scratch = Scratch {
            copies: Everywhere::new(device, length, ScalarType::F64)?,
            partials: device.buffer(&vec![0.0; partials])?,
            dot: device.buffer(&[0.0])?,
        };
        Ok(ProductKernels { kernel, launches, tables, diagonal, scratch: Mutex::new(scratch) })
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub(crate) fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<f64, DeviceError> {
        let mut guard = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dot, copies } = &mut *guard;
        if let Some(copies) = copies {
            copies.begin(x)?;
            copies.finish()?;
        }
        for launch in self.launches.iter().filter(|launch| summed || launch.entry != "multiply_finish") {
            let count = partials.len() as i64;
            let vectors = match &*copies {
                Some(copies) => Arguments::new().read("x", copies),
                None => Arguments::new().read("x", x),
            };
            let vectors = vectors.write("y", y).write("partials", partials).write("x_dot_y", dot);
            let vectors = vectors.i64("count", count).i64("place", 0).tables(&self.tables);
            self.kernel.launch(launch, vectors.needed(launch))?;
        }
        if summed { Ok(dot.download()?[0]) } else { Ok(f64::NAN) }
    }

    /// The diagonal as a function of the index.
    pub(crate) fn diagonal(&self) -> ElementFunction {
        self.diagonal.clone()
    }
}
