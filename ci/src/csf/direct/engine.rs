//! The multiply y = Cᵀ H C x on a card: `expand`, the determinants' multiply, `contract`.

use eigenforge_product::{Hamiltonian, Multiply, MultiplyPlan, PrepareError, ProductEngine};
use eigenforge_runtime::{
    Arguments, Device, DeviceError, ElementFunction, Kernel, LinearOperator, NamedTables, PerScalar, Scalar, TableList,
    Vector, trace,
};
use eigenforge_templates::ci::SpinTransformPlan;
use eigenforge_templates::{Cost, Launch};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Determinants before and after their multiply.
type Both<T> = Mutex<[Vector<T>; 2]>;

/// The multiply of configuration state functions on a device that runs kernels.
pub(super) struct CsfEngine {
    determinants: Hamiltonian<'static>,
    kernel: Kernel,
    launches: [Launch; 2],
    tables: NamedTables,
    diagonal: ElementFunction,
    cost: Cost,
    functions: usize,
    /// Those of single precision have no elements: the texts are of double precision.
    scratch: (Both<f64>, Both<f32>),
}

struct OfScratch<'a>(PhantomData<&'a ()>);

impl<'a> PerScalar for OfScratch<'a> {
    type Of<T: Scalar> = &'a Both<T>;
}

impl CsfEngine {
    /// Compiles the texts and uploads the tables.
    ///
    /// # Errors
    /// A text that does not compile; memory of the device.
    pub(super) fn new(
        determinants: Arc<dyn Multiply>,
        plan: &SpinTransformPlan,
        tables: TableList<'static>,
        diagonal: &[f64],
        device: &Device,
    ) -> Result<CsfEngine, PrepareError> {
        let cost = [determinants.cost(), plan.cost()];
        let determinants = Hamiltonian::new(MultiplyPlan(determinants), &plan.name, device)?;
        device.check_memory("determinants of configuration state functions", plan.table_bytes() + 16 * plan.rows)?;
        let (kernel, launches) = (device.compile(&plan.text()?)?, plan.launches()?);
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let _uploading = trace::span("set up", "tables to the device");
        let tables = NamedTables::uploaded(device, tables)?;
        let of_diagonal = ElementFunction::stored_diagonal(Arc::new(device.buffer(diagonal)?));
        let rows = plan.rows as usize;
        Ok(CsfEngine {
            determinants,
            kernel,
            launches,
            tables,
            diagonal: of_diagonal,
            cost: Cost { flops: cost[0].flops + cost[1].flops, bytes: cost[0].bytes + cost[1].bytes },
            functions: diagonal.len(),
            // Rows without a function of this spin stay 0.
            scratch: (
                Mutex::new([device.zeros(rows)?, device.zeros(rows)?]),
                Mutex::new([device.zeros(0)?, device.zeros(0)?]),
            ),
        })
    }

    /// A bound of the norm of H of the determinants.
    pub(super) fn norm(&self) -> f64 {
        LinearOperator::<f64>::norm_bound(&self.determinants)
    }

    /// y = Cᵀ H C x, with what multiplies determinants.
    fn run<T: Scalar, R>(
        &self,
        x: &Vector<T>,
        y: &mut Vector<T>,
        multiply: impl FnOnce(&Vector<T>, &mut Vector<T>) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        let scratch = T::choose::<OfScratch<'_>>(&self.scratch.0, &self.scratch.1);
        let mut scratch = scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let [expanded, product] = &mut *scratch;
        let [expand, contract] = &self.launches;
        let vectors = Arguments::new().read("x", x).write("expanded", &mut *expanded);
        self.kernel.launch(expand, vectors.tables(&self.tables))?;
        let found = multiply(expanded, product)?;
        let vectors = Arguments::new().read("product", &*product).write("y", y);
        self.kernel.launch(contract, vectors.tables(&self.tables))?;
        Ok(found)
    }
}

impl ProductEngine for CsfEngine {}

impl<T: Scalar> LinearOperator<T> for CsfEngine {
    fn dimension(&self) -> usize {
        self.functions
    }

    fn device(&self) -> &Device {
        LinearOperator::<T>::device(&self.determinants)
    }

    /// x·y is that of the determinants: C has orthonormal columns.
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.run(x, y, |x, y| self.determinants.apply(x, y))
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(x, y, |x, y| self.determinants.multiply(x, y))
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        Some(self.diagonal.clone())
    }

    fn norm_bound(&self) -> f64 {
        self.norm()
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
