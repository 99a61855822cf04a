//! The multiply y = Cᵀ H C x: on cores by the rows of the determinants' multiply on the host, on cards by [`CsfEngine`].

use super::engine::CsfEngine;
use super::transform::{Scratch, Transform};
use eigenforge_product::{
    GeneratedKernels, HostProduct, HostRows, Multiply, NormBounds, PrepareError, ProductEngine, ShownText,
};
use eigenforge_runtime::{Device, PerScalar, Scalar};
use eigenforge_templates::ci::SpinTransformPlan;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType, Warp};
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The multiply of configuration state functions as determinants.
pub(super) struct CsfMultiply {
    /// That of the determinants.
    determinants: Arc<dyn Multiply>,
    transform: Arc<Transform>,
    plan: SpinTransformPlan,
    diagonal: Arc<Vec<f64>>,
    name: &'static str,
    /// Of the determinants, once kernels have found it.
    norm: OnceLock<f64>,
}

impl CsfMultiply {
    pub(super) fn new(
        determinants: Arc<dyn Multiply>,
        transform: Transform,
        diagonal: Vec<f64>,
        (name, warp): (&'static str, Warp),
    ) -> CsfMultiply {
        let (plan, transform) = (transform.plan(warp), Arc::new(transform));
        CsfMultiply { determinants, transform, plan, diagonal: diagonal.into(), name, norm: OnceLock::new() }
    }
}

impl Multiply for CsfMultiply {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn way_name(&self) -> &'static str {
        self.name
    }

    fn scalar(&self) -> ScalarType {
        ScalarType::F64
    }

    fn dimension(&self) -> usize {
        self.transform.functions()
    }

    fn shape(&self) -> String {
        self.determinants.shape()
    }

    fn plan_text(&self) -> String {
        format!("{}\n{}", self.determinants.plan_text(), eigenforge_templates::ron(&self.plan))
    }

    fn cost(&self) -> Cost {
        let (product, change) = (self.determinants.cost(), self.plan.cost());
        Cost { flops: product.flops + change.flops, bytes: product.bytes + change.bytes }
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        None
    }

    fn diagonal_text(&self) -> ElementFunctionText {
        ElementFunctionText::stored_diagonal(self.dimension() as u64)
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        let what = format!("vectors of {} determinants", self.transform.determinants());
        Device::cpu().check_memory(&what, 24 * self.transform.determinants() as u64)?;
        let (transform, diagonal) = (self.transform.clone(), self.diagonal.clone());
        let scratch = Mutex::new(transform.scratch());
        Ok(Box::new(HostFunctions { determinants: self.determinants.host()?, transform, diagonal, scratch }))
    }

    /// C has orthonormal columns, so a bound of the determinants holds, and as one of the diagonal too.
    fn norm_bounds(&self) -> NormBounds {
        let whole = *self.norm.get_or_init(|| self.determinants.norm_bounds().whole);
        NormBounds { whole, moving: 2.0 * whole }
    }

    fn table_bytes(&self) -> Option<(&'static str, u64)> {
        let (_, of_determinants) = self.determinants.table_bytes()?;
        let bytes = of_determinants + self.plan.table_bytes() + 16 * self.plan.rows + 8 * self.dimension() as u64;
        Some(("tables of determinants and their functions", bytes))
    }

    fn cost_text(&self) -> String {
        let (rows, bytes) = (self.plan.determinants(), self.plan.table_bytes() as f64 / 1e6);
        format!(
            "{}functions are expanded in {rows} determinants: {bytes:.2} MB of tables\n",
            self.determinants.cost_text()
        )
    }

    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let mut shown = self.determinants.shown_texts()?;
        let (text, launches, cost) = (self.plan.text()?, self.plan.launches()?.into(), Some(self.plan.cost()));
        shown.push(ShownText { text, launches, cost, when: "before and after each multiply" });
        Ok(shown)
    }

    fn own_engine(&self, device: &Device) -> Result<Option<Box<dyn ProductEngine>>, PrepareError> {
        if !device.runs_kernels() {
            return Ok(None);
        }
        let determinants = self.determinants.clone();
        let engine = CsfEngine::new(determinants, &self.plan, self.transform.tables(), &self.diagonal, device)?;
        self.norm.get_or_init(|| engine.norm());
        Ok(Some(Box::new(engine)))
    }
}

/// All rows on the host.
struct HostFunctions {
    determinants: Box<dyn HostProduct>,
    transform: Arc<Transform>,
    diagonal: Arc<Vec<f64>>,
    scratch: Mutex<Scratch>,
}

impl HostFunctions {
    fn multiply(&self, x: &[f64], y: &mut [f64]) -> f64 {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let product = |x: &[f64], y: &mut [f64]| self.determinants.typed::<f64>().rows(x, 0, y);
        self.transform.multiply((x, y), &mut scratch, product)
    }

    /// Vectors of single precision are multiplied in double precision.
    fn multiply_widened(&self, x: &[f32], y: &mut [f32]) -> f64 {
        let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let mut wide = vec![0.0; y.len()];
        let dot = self.multiply(&x, &mut wide);
        f32::store(&wide, y);
        dot
    }
}

/// A multiply of one type of vectors.
struct MakeRows;

impl PerScalar for MakeRows {
    type Of<T: Scalar> = fn(&HostFunctions, &[T], &mut [T]) -> f64;
}

impl HostRows for HostFunctions {
    fn dimension(&self) -> usize {
        self.transform.functions()
    }

    /// All of them: the way is for one process.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        debug_assert_eq!((first, y.len()), (0, x.len()));
        T::choose::<MakeRows>(HostFunctions::multiply, HostFunctions::multiply_widened)(self, x, y)
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal[index]
    }
}
