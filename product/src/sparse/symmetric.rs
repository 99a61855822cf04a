//! y = A x of a symmetric matrix from its upper triangle, in 64-bit fixed point: on the CPU and by generated kernels,
//! with the same bits on both for any order and number of threads.
//!
//! In: a [`Stored`] half. Out: y, and x·y if requested. The arithmetic, its error and the kernels:
//! `templates/src/sparse/symmetric.rs`. Several vectors are multiplied one after the other.

use super::hybrid::{Columns, Stored, Values};
use super::kernels::upload;
use super::operator::SparseError;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, NamedTables, Scalar, Vector};
use eigenforge_templates::Launch;
use eigenforge_templates::sparse::SparsePlan;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows whose x·y is summed at a time on the CPU.
const CHUNK: usize = 1024;

/// Half of a matrix on a device.
pub(super) struct Half {
    pub(super) plan: SparsePlan,
    /// Only on devices that run kernels.
    pub(super) diagonal: Option<Arc<Buffer<f64>>>,
    /// ‖A‖_∞.
    norm: f64,
    engine: Engine,
}

enum Engine {
    Cpu(Stored),
    Kernels { kernel: Kernel, launches: Vec<Launch>, tables: NamedTables, work: Box<Mutex<Work>> },
}

/// Scratch memory of a product.
struct Work {
    most: Buffer<u64>,
    sums: Buffer<u64>,
    partials: Buffer<f64>,
    dot: Buffer<f64>,
}

impl Half {
    /// `norm` is the largest row sum of magnitudes of the whole matrix.
    pub(super) fn new(stored: Stored, diagonal: &[f64], norm: f64, device: &Device) -> Result<Half, SparseError> {
        let plan = stored.plan.clone();
        let mut on_device = None;
        let engine = if device.runs_kernels() && plan.rows > 0 {
            let (plan, tables) = upload(stored, device)?;
            on_device = Some(Arc::new(device.buffer(diagonal)?));
            let kernel = device.compile(&plan.text()?)?;
            let launches = plan.launches().map_err(DeviceError::from)?;
            launches.iter().try_for_each(|launch| kernel.check(launch))?;
            let zeros = |count: u64| device.buffer(&vec![0u64; count as usize]);
            let work = Work {
                most: zeros(plan.largest_blocks())?,
                sums: zeros(plan.rows)?,
                partials: device.buffer(&vec![0.0; plan.partials() as usize])?,
                dot: device.buffer(&[0.0])?,
            };
            Engine::Kernels { kernel, launches, tables, work: Box::new(Mutex::new(work)) }
        } else {
            Engine::Cpu(stored)
        };
        Ok(Half { plan, diagonal: on_device, norm, engine })
    }

    /// y = A x; x·y if `summed`, which waits for the device, and on the CPU in any case.
    pub(super) fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<f64, DeviceError> {
        let (kernel, launches, tables, work) = match &self.engine {
            Engine::Cpu(stored) => return on_cpu(stored, self.norm, x, y),
            Engine::Kernels { kernel, launches, tables, work } => (kernel, launches, tables, work),
        };
        let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
        let Work { most, sums, partials, dot } = &mut *work;
        for launch in launches.iter().filter(|launch| summed || launch.entry != "multiply_finish") {
            let count = partials.len() as i64;
            let given = Arguments::new().read("x", x).write("y_0", &mut *y).f64("norm", self.norm);
            let given = given.write("most", &mut *most).write("sums", &mut *sums).write("partials", &mut *partials);
            let given = given.i64("with_x_dot_y", i64::from(summed)).i64("count", count).i64("place", 0);
            let given = given.write("x_dot_y", &mut *dot).tables(tables);
            kernel.launch(launch, given.needed(launch))?;
        }
        if summed { Ok(dot.download()?[0]) } else { Ok(f64::NAN) }
    }
}

/// Units of the integer sums: 2^k and 2^-k, with k from `scale_of` in symmetric.cu.jinja.
fn scale_of(bound: f64) -> Option<(f64, f64)> {
    // Infinite and undefined ones too.
    if bound.is_nan() || bound >= 2f64.powi(1023) {
        return None;
    }
    let exponent = (bound.to_bits() >> 52).max(1) as i64;
    let k = (1084 - exponent).min(1022);
    let power = |k: i64| f64::from_bits(((1023 + k) as u64) << 52);
    Some((power(k), power(-k)))
}

fn on_cpu<T: Scalar>(stored: &Stored, norm: f64, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
    let (x, y) = Vector::both_on_host("multiply by a sparse matrix", x, y)?;
    let magnitude = |x: &T| x.to_f64().abs().to_bits();
    let most = f64::from_bits(x.par_iter().map(magnitude).max().unwrap_or(0));
    let Some((up, down)) = scale_of(norm * most) else {
        y.fill(T::from_f64(f64::NAN));
        return Ok(f64::NAN);
    };
    let sums: Vec<AtomicU64> = x.par_iter().map(|_| AtomicU64::new(0)).collect();
    let part = &stored.parts[0];
    match (&part.values, &part.columns) {
        (Values::F64(values), Columns::U16(columns)) => add_products(stored, values, columns, x, up, &sums),
        (Values::F64(values), Columns::U32(columns)) => add_products(stored, values, columns, x, up, &sums),
        (Values::F32(values), Columns::U16(columns)) => add_products(stored, values, columns, x, up, &sums),
        (Values::F32(values), Columns::U32(columns)) => add_products(stored, values, columns, x, up, &sums),
    }
    let chunks = y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).zip(sums.par_chunks(CHUNK));
    let dots: Vec<f64> = chunks
        .map(|((y, x), sums)| {
            let rows = y.iter_mut().zip(x).zip(sums);
            rows.fold(0.0, |dot, ((y, x), sum)| {
                let found = sum.load(Ordering::Relaxed).cast_signed() as f64 * down;
                *y = T::from_f64(found);
                dot + x.to_f64() * found
            })
        })
        .collect();
    Ok(dots.iter().sum())
}

/// Adds every product to the sums of its row and, off the diagonal, of its column.
fn add_products<T: Scalar, V: Copy + Into<f64> + Sync, C: Copy + Into<u32> + Sync>(
    stored: &Stored,
    values: &[V],
    columns: &[C],
    x: &[T],
    up: f64,
    sums: &[AtomicU64],
) {
    let (pack, start) = (stored.plan.parts[0].pack as usize, &stored.parts[0].start);
    let fixed = |product: f64| ((product * up).round_ties_even() as i64).cast_unsigned();
    let of_row = |row: usize| {
        let range = start[row] as usize * pack..start[row + 1] as usize * pack;
        let x_of_row = x[row].to_f64();
        let mut own = 0u64;
        for (value, column) in values[range.clone()].iter().zip(&columns[range]) {
            let (a, j): (f64, u32) = ((*value).into(), (*column).into());
            own = own.wrapping_add(fixed(a * x[j as usize].to_f64()));
            if j as usize != row {
                sums[j as usize].fetch_add(fixed(a * x_of_row), Ordering::Relaxed);
            }
        }
        sums[row].fetch_add(own, Ordering::Relaxed);
    };
    stored.block_start.par_windows(2).for_each(|pair| (pair[0] as usize..pair[1] as usize).for_each(of_row));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// bound · 2^k < 2^62, and at least half of that, as far as powers of two allow.
    #[test]
    fn the_scale_leaves_no_bit_unused() {
        for bound in [1.0, 1.5, 2.0 - f64::EPSILON, 3e300, 7e-200, f64::from_bits(0x7FDF_FFFF_FFFF_FFFF)] {
            let (up, down) = scale_of(bound).unwrap();
            assert_eq!(up * down, 1.0);
            assert!(bound * up < 2f64.powi(62) && bound * up >= 2f64.powi(61), "{bound:e}");
        }
        for tiny in [0.0, f64::from_bits(1), f64::MIN_POSITIVE] {
            let (up, down) = scale_of(tiny).unwrap();
            assert_eq!((up, down), (2f64.powi(1022), 2f64.powi(-1022)), "{tiny:e}");
        }
        for none in [2f64.powi(1023), f64::INFINITY, f64::NAN] {
            assert_eq!(scale_of(none), None);
        }
    }
}
