//! y = H x by generated kernels, on one card or on several that work as one device.
//!
//! In: a compiled text with its launches and tables. Out: y, and x·y where it is wanted, of one vector or of a block.

use super::engine::ProductEngine;
use super::error::PrepareError;
use super::multiply::{GeneratedKernels, Multiply, NormBounds};
use super::several::SeveralPlans;
use super::traffic::{CardTraffic, Traffic};
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, LinearOperator, NamedTables, Scalar, Vector, trace,
};
use eigenforge_templates::exact::{AT_ONCE, MOST_VECTORS};
use eigenforge_templates::{Cost, KernelText, Launch};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Names of the parameters that are vectors, where a launch has several.
const X: [&str; MOST_VECTORS as usize] = ["x_0", "x_1"];
const Y: [&str; MOST_VECTORS as usize] = ["y_0", "y_1"];

/// A compiled text with its launches and tables.
pub struct ProductKernels {
    kernel: Kernel,
    /// Those that make y, then `multiply_finish`.
    launches: Vec<Launch>,
    tables: NamedTables,
    scratch: Mutex<Scratch>,
}

/// Scratch memory of a product.
struct Scratch {
    /// Of each vector, one after the other.
    partials: Buffer<f64>,
    /// x·y of each vector of a block.
    dots: Buffer<f64>,
    traffic: CardTraffic,
}

impl ProductKernels {
    /// `partials` partial sums of x·y, of all vectors of a launch.
    ///
    /// # Errors
    /// Memory of the device.
    pub fn new(
        (kernel, launches): (Kernel, Vec<Launch>),
        tables: NamedTables,
        (traffic, partials): (Traffic, usize),
        device: &Device,
    ) -> Result<ProductKernels, DeviceError> {
        let partials = device.buffer(&vec![0.0; partials])?;
        let dots = device.buffer(&[0.0; AT_ONCE])?;
        // Made before the vectors of a solver, which take what is left.
        let traffic = CardTraffic::new(traffic, device)?;
        Ok(ProductKernels { kernel, launches, tables, scratch: Mutex::new(Scratch { partials, dots, traffic }) })
    }

    /// Compiles a text and makes its tables.
    ///
    /// # Errors
    /// A text that does not compile; memory of the device.
    pub fn compiled(kernels: &dyn GeneratedKernels, text: &KernelText, device: &Device) -> Result<Self, PrepareError> {
        let kernel = device.compile(text)?;
        let _tables = trace::span("set up", "tables to the device");
        let tables = kernels.tables(&|| Ok(kernel.clone()), device)?;
        let launches = kernels.launches(&tables)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let partials = (kernels.partials() * u64::from(kernels.vectors())) as usize;
        Ok(ProductKernels::new((kernel, launches), tables, (kernels.traffic(), partials), device)?)
    }

    /// y = H x; x·y if `summed`, which waits for the device, else NaN.
    pub fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<f64, DeviceError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dots, traffic } = &mut *scratch;
        self.launch(&[x], std::slice::from_mut(y), summed.then_some(0), (partials, dots, traffic))?;
        if summed { Ok(dots.download()?[0]) } else { Ok(f64::NAN) }
    }

    /// The same of as many vectors as its launches take, without waiting: x_j·y_j into the places of `dots` from `place` on, if one is given.
    pub fn start<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        place: Option<usize>,
        dots: &mut Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, traffic, .. } = &mut *scratch;
        self.launch(x, y, place, (partials, dots, traffic))
    }

    fn launch<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        place: Option<usize>,
        (partials, dots, traffic): (&mut Buffer<f64>, &mut Buffer<f64>, &mut CardTraffic),
    ) -> Result<(), DeviceError> {
        if let [x] = x {
            traffic.begin(x)?;
        }
        let count = (partials.len() / x.len().max(1)) as i64;
        for launch in self.launches.iter().filter(|launch| place.is_some() || launch.entry != "multiply_finish") {
            for step in traffic.steps(&launch.entry) {
                let vectors = Arguments::new().write("partials", &mut *partials).write("x_dot_y", &mut *dots);
                let vectors = vectors.i64("count", count).i64("place", place.unwrap_or(0) as i64);
                let vectors = match (x, &mut *y) {
                    ([x], [y]) => traffic.arguments(launch, step, x, vectors.write("y", y))?,
                    (x, y) => {
                        let vectors = x.iter().zip(X).fold(vectors, |vectors, (x, name)| vectors.read(name, *x));
                        y.iter_mut().zip(Y).fold(vectors, |vectors, (y, name)| vectors.write(name, y))
                    }
                };
                self.kernel.launch(launch, vectors.tables(&self.tables).needed(launch))?;
            }
        }
        Ok(())
    }
}

/// H on a device that runs kernels.
pub(crate) struct KernelEngine {
    device: Device,
    multiply: Arc<dyn Multiply>,
    norm_bound: f64,
    one: ProductKernels,
    /// Of several vectors at once: planned when there are several.
    several: OnceLock<SeveralKernels>,
}

impl KernelEngine {
    /// Compiles the text of a multiply, and uploads its tables; with bounds of the norm.
    ///
    /// # Errors
    /// A text that does not compile; memory of the device.
    pub(crate) fn new(
        multiply: Arc<dyn Multiply>,
        text: &KernelText,
        device: &Device,
    ) -> Result<(KernelEngine, NormBounds), PrepareError> {
        let kernels = multiply.kernels().unwrap_or_else(|| unreachable!("a way without kernels has its own engine"));
        let one = ProductKernels::compiled(kernels, text, device)?;
        let (bounds, device) = (multiply.norm_bounds(), device.clone());
        Ok((KernelEngine { device, norm_bound: bounds.whole, one, several: OnceLock::new(), multiply }, bounds))
    }

    fn several(&self) -> &SeveralKernels {
        self.several.get_or_init(|| SeveralKernels::new(self.multiply.several(), &self.device))
    }

    /// y_j = H x_j for up to [`AT_ONCE`] vectors. Returns all x_j·y_j if `summed`, which waits for the device; else nothing.
    fn run<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let groups = match x.len() {
            1 => vec![1],
            count => self.several().plans.division(count as u32).groups,
        };
        let mut scratch = self.one.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { partials, dots, traffic } = &mut *scratch;
        let mut first = 0;
        for count in groups {
            let (range, place) = (first..first + count as usize, summed.then_some(first));
            first = range.end;
            match (&x[range.clone()], &mut y[range]) {
                (x @ [_], y) => self.one.launch(x, y, place, (partials, dots, traffic))?,
                (x, y) => self.several().start(x, y, place, dots)?,
            }
        }
        Ok(if summed { dots.download()?[..x.len()].to_vec() } else { Vec::new() })
    }
}

impl ProductEngine for KernelEngine {
    fn division(&self, vectors: usize) -> Vec<u32> {
        self.several().plans.division(vectors as u32).groups
    }

    fn force_several(&mut self, most: u32) {
        let plans = self.multiply.forced_several(most);
        self.several = OnceLock::from(SeveralKernels::new(plans, &self.device));
    }
}

impl<T: Scalar> LinearOperator<T> for KernelEngine {
    fn dimension(&self) -> usize {
        self.multiply.dimension()
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.one.apply(x, y, true)
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.one.apply(x, y, false).map(drop)
    }

    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        let (at_once, mut dots) = (AT_ONCE.min(x.len().max(1)), Vec::with_capacity(x.len()));
        for (x, y) in x.chunks(at_once).zip(y.chunks_mut(at_once)) {
            dots.extend(self.run(x, y, true)?);
        }
        Ok(dots)
    }

    fn multiply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<(), DeviceError> {
        let at_once = AT_ONCE.min(x.len().max(1));
        x.chunks(at_once).zip(y.chunks_mut(at_once)).try_for_each(|(x, y)| self.run(x, y, false).map(drop))
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        Some(ElementFunction::of_tables(self.multiply.diagonal_text(), &self.one.tables))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.multiply.cost()
    }
}

/// The kernels of several vectors at once, each compiled when it is first needed.
struct SeveralKernels {
    device: Device,
    plans: SeveralPlans,
    compiled: Vec<OnceLock<ProductKernels>>,
}

impl SeveralKernels {
    fn new(plans: SeveralPlans, device: &Device) -> SeveralKernels {
        let compiled = plans.plans.iter().map(|_| OnceLock::new()).collect();
        SeveralKernels { device: device.clone(), plans, compiled }
    }

    /// Starts y_j = H x_j of as many vectors as one of the plans has, with x_j·y_j into the places of `dots` from `place` on.
    fn start<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        place: Option<usize>,
        dots: &mut Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let number = x.len() - 2;
        let kernels = match self.compiled[number].get() {
            Some(kernels) => kernels,
            None => {
                let made = self.compile(number)?;
                self.compiled[number].get_or_init(|| made)
            }
        };
        kernels.start(x, y, place, dots)
    }

    fn compile(&self, number: usize) -> Result<ProductKernels, DeviceError> {
        let planned = self.plans.plans[number].as_ref().and_then(|(multiply, _)| multiply.kernels());
        let kernels = planned.unwrap_or_else(|| unreachable!("vectors are divided among plans that there are"));
        let text = kernels.text().map_err(PrepareError::from);
        let compiled = text.and_then(|text| ProductKernels::compiled(kernels, &text, &self.device));
        compiled.map_err(|error| match error {
            PrepareError::Device(error) => error,
            other => DeviceError::Arguments {
                what: format!("the multiply of {} vectors", number + 2),
                expected: "a text".into(),
                found: other.to_string(),
            },
        })
    }
}
