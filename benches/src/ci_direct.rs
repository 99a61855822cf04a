//! `eigenforge bench ci --direct`: products of configuration interaction without a matrix, by every shape of their kernel, beside
//! the stored matrix.
//!
//! In: a molecule, a device. Out: for full CI the milliseconds of the shape that the model takes and of others, for other
//! spaces those by lanes; the seconds until each is ready, compilation included where it is not cached; the stored matrix
//! in its best format. Every product is compared with the stored matrix's before a time is printed; where that does not fit, with the first.

use super::seeded;
use eigenforge::ci::{
    self, CiError, CiProblem, CsfSpace, DirectError, Hamiltonian, MatrixError, Molecule, OnTheFlyError, ProductKind,
};
use eigenforge::exact::PrepareError;
use eigenforge::sparse::{Csr, FormatRequest, SparseOperator, Target};
use eigenforge::spmv::SpmvError;
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector};
use eigenforge_templates::ci::{FieldShape, FullCiShape, SlabShape};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Multiplies in a sample.
const MULTIPLIES: usize = 10;
/// Milliseconds of a product that is long.
const LONG: f64 = 20.0;
/// Largest difference of a product, relative to its norm.
const CLOSE: f64 = 1e-9;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum DirectBenchError {
    /// The file.
    #[error(transparent)]
    Source(#[from] SpmvError),
    /// The stored matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// Configuration state functions.
    #[error(transparent)]
    Functions(#[from] CiError),
    /// Full CI.
    #[error(transparent)]
    Direct(#[from] DirectError),
    /// Other spaces.
    #[error(transparent)]
    OnTheFly(#[from] OnTheFlyError),
    /// The product on the device.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A product that is another's.
    #[error(
        "the product by {what} differs from the stored matrix's by {difference:e} of its norm; expected {CLOSE:e} at most"
    )]
    Differs {
        /// Of which shape.
        what: String,
        /// Relative to the norm.
        difference: f64,
    },
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// A molecule with its vectors on a device.
struct Bench<'a> {
    device: &'a Device,
    x: Vector<f64>,
    y: Vector<f64>,
    /// By the stored matrix, or the first product.
    expected: Option<Vec<f64>>,
    repeats: usize,
    rows: Vec<(f64, String)>,
}

impl Bench<'_> {
    /// Milliseconds of a product, the best of several samples, after it was compared.
    fn time(&mut self, what: String, operator: &dyn LinearOperator<f64>) -> Result<f64, DirectBenchError> {
        operator.multiply(&self.x, &mut self.y)?;
        let found = self.y.download()?;
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let expected = self.expected.get_or_insert_with(|| found.clone());
        let apart = norm(&mut found.iter().zip(&*expected).map(|(a, b)| a - b));
        let difference = apart / norm(&mut expected.iter().copied()).max(f64::MIN_POSITIVE);
        if difference.is_nan() || difference > CLOSE {
            return Err(DirectBenchError::Differs { what, difference });
        }
        let (done, mut best) = self.device.time(|| operator.multiply(&self.x, &mut self.y))?;
        done?;
        for _ in 0..self.repeats {
            // One of a long product is enough.
            let multiplies = if best < LONG { MULTIPLIES } else { 1 };
            let many = || (0..multiplies).try_for_each(|_| operator.multiply(&self.x, &mut self.y));
            let (done, milliseconds) = self.device.time(many)?;
            done?;
            best = best.min(milliseconds / multiplies as f64);
        }
        self.rows.push((best, what));
        Ok(best)
    }
}

/// Writes the table of one molecule.
///
/// # Errors
/// A file that is no molecule's, a wrong product, a device that fails.
pub fn run(
    file: &Path,
    molecule: &Molecule,
    device: &Device,
    repeats: usize,
    out: &mut dyn Write,
) -> Result<(), DirectBenchError> {
    let Molecule { space, csfs, .. } = molecule;
    let started = Instant::now();
    let stored = match matrix(molecule, device) {
        Ok(matrix) => {
            let non_zeros = matrix.non_zeros();
            let matrix = SparseOperator::new("ci", Arc::new(matrix), FormatRequest::default(), device);
            let ready = started.elapsed().as_secs_f64();
            Some((matrix.map_err(SpmvError::from)?, format!("stored ({non_zeros} non-zeros), ready in {ready:.3} s")))
        }
        Err(error @ (MatrixError::Rows { .. } | MatrixError::Memory(_))) if csfs.is_some() || space.is_complete() => {
            writeln!(out, "not stored: {error}\n")?;
            None
        }
        Err(error) => return Err(error.into()),
    };
    let rows = molecule.dimension();
    let x: Vec<f64> = (0..rows).map(|i| seeded::element(seeded::SEED_Z, i)).collect();
    let (x, y) = (device.upload(&x)?, device.zeros::<f64>(x.len())?);
    let mut bench = Bench { device, x, y, expected: None, repeats, rows: Vec::new() };
    if let Some((stored, what)) = stored {
        bench.time(what, &stored)?;
    }
    match csfs {
        Some(csfs) => functions(&mut bench, molecule, csfs)?,
        None if space.is_complete() => shapes(&mut bench, molecule)?,
        None => lanes(&mut bench, molecule)?,
    }
    bench.rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    writeln!(out, "{}, {} rows, {}\n\n| product | ms |\n|---|---|", file.display(), rows, device.name())?;
    for (milliseconds, what) in &bench.rows {
        writeln!(out, "| {what} | {milliseconds:.4} |")?;
    }
    Ok(())
}

/// The stored matrix, unless the host has no memory for it by the plan: counting 10¹¹ elements to refuse them takes minutes.
fn matrix(molecule: &Molecule, device: &Device) -> Result<Csr, MatrixError> {
    let Molecule { integrals, space, csfs, .. } = molecule;
    let problem = CiProblem::new(integrals, space).csfs(csfs.as_ref());
    let plan = CiProblem::storage_plan(&problem.solve(), device).ok();
    let host = Device::cpu().memory();
    let stored = plan.into_iter().flat_map(|plan| plan.ways).find(|way| way.way == ProductKind::Stored);
    match stored.filter(|way| way.host_bytes > host.free) {
        Some(way) => Err(MatrixError::Memory(DeviceError::Memory {
            what: way.what,
            device: "the host".into(),
            needed: way.host_bytes,
            free: host.free,
            total: host.total,
            fits: "a smaller space would fit".into(),
        })),
        None => match csfs {
            Some(csfs) => csfs.matrix(integrals),
            None => ci::matrix(integrals, space, ci::THRESHOLD),
        },
    }
}

/// Full CI, by shape; those that the plan refuses are passed over.
fn shapes(bench: &mut Bench<'_>, molecule: &Molecule) -> Result<(), DirectBenchError> {
    let Molecule { integrals, space, .. } = molecule;
    let started = Instant::now();
    let ours = Hamiltonian::new(ci::full_ci(integrals, space, None, bench.device)?, "ci", bench.device)?;
    let ready = started.elapsed().as_secs_f64();
    bench.time(format!("as the model has it, ready in {ready:.3} s"), &ours)?;
    let mut all = Vec::new();
    // Where strings are long whole fields do not fit.
    if matches!(ci::full_ci_shape(integrals, space, Target::new(bench.device))?, FullCiShape::Fields(_)) {
        for (threads, columns) in [(128, 2), (256, 2), (512, 1)] {
            let of = |pair_tile, resident| {
                FullCiShape::Fields(FieldShape { pair_tile, columns, chunk: 64, threads, resident })
            };
            all.extend([2, 3].into_iter().flat_map(|resident| [8, 10, 12].map(|tile| of(tile, resident))));
        }
    }
    for (both_warps, stages, alone_across, panel) in
        [(16, 4, 4, 256), (16, 3, 4, 1024), (16, 2, 2, 1024), (8, 3, 4, 256), (8, 2, 4, 1024)]
    {
        all.push(FullCiShape::Slabs(SlabShape { both_warps, stages, alone_across, panel, piece: 1536 }));
    }
    for shape in all.into_iter().filter(|_| bench.device.runs_kernels()) {
        let plan = match ci::full_ci(integrals, space, Some(shape), bench.device) {
            Err(DirectError::Plan(_)) => continue,
            plan => plan?,
        };
        match Hamiltonian::new(plan, "ci", bench.device) {
            Ok(operator) => bench.time(format!("{shape:?}"), &operator)?,
            Err(PrepareError::Device(DeviceError::Launch(_))) => continue,
            Err(error) => return Err(error.into()),
        };
    }
    Ok(())
}

/// Configuration state functions as determinants, where the device has such a way.
fn functions(bench: &mut Bench<'_>, molecule: &Molecule, csfs: &CsfSpace) -> Result<(), DirectBenchError> {
    let started = Instant::now();
    let plan = match ci::csf_product(&molecule.integrals, csfs, &molecule.space, bench.device) {
        // Only stored there.
        Err(CiError::Storage(_)) => return Ok(()),
        plan => plan?,
    };
    let name = plan.0.way_name();
    let ours = Hamiltonian::new(plan, "ci", bench.device)?;
    bench.time(format!("{name}, ready in {:.3} s", started.elapsed().as_secs_f64()), &ours)?;
    Ok(())
}

/// Any other space, by lanes per row.
fn lanes(bench: &mut Bench<'_>, molecule: &Molecule) -> Result<(), DirectBenchError> {
    let Molecule { integrals, space, .. } = molecule;
    let started = Instant::now();
    let plan = ci::row_by_row(integrals, space, None, bench.device)?;
    let ours = Hamiltonian::new(plan.clone(), "ci", bench.device)?;
    let ready = started.elapsed().as_secs_f64();
    let elements = plan.cost().flops / 2.0;
    bench.time(format!("as the model has it ({elements} elements), ready in {ready:.3} s"), &ours)?;
    for lanes in [1, 2, 4, 8, 16, 32].into_iter().filter(|_| bench.device.runs_kernels()) {
        let operator =
            Hamiltonian::new(ci::row_by_row(integrals, space, Some(lanes), bench.device)?, "ci", bench.device)?;
        bench.time(format!("{lanes} lanes"), &operator)?;
    }
    Ok(())
}
