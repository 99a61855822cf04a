//! y = A x on a device: the type that solvers multiply a sparse matrix with.
//!
//! On the CPU rows are shared out by non-zeros and multiplied as they stand in compressed rows; where kernels run, the
//! matrix is stored as its layout says and multiplied by the text generated for that. Several vectors are multiplied with
//! one pass over the matrix on either. Sums are in f64 and in a fixed order.

use super::Csr;
use super::choose::{Choice, Wish};
use super::hybrid::{Columns, LayoutError, Stored, Values};
use super::layout::{Layout, Target};
use super::statistics::RowStatistics;
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementArgument, ElementFunction, Kernel, LinearOperator, OnDevice, Scalar,
    Vector, trace,
};
use eigenforge_templates::exact::IndexWord;
use eigenforge_templates::sparse::{SparsePlan, Storage};
use eigenforge_templates::{Cost, ElementFunctionText, Launch, ScalarType, TextError};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Vectors that one pass over the matrix may serve.
const MOST_VECTORS: usize = 8;
/// Names of the parameters that are vectors.
const X: [&str; MOST_VECTORS] = ["x_0", "x_1", "x_2", "x_3", "x_4", "x_5", "x_6", "x_7"];
const Y: [&str; MOST_VECTORS] = ["y_0", "y_1", "y_2", "y_3", "y_4", "y_5", "y_6", "y_7"];
/// Non-zeros and rows of a task on the CPU; fixed, so that sums do not depend on the number of threads.
const TASK: u64 = 1 << 15;

/// Why a matrix could not be put on a device.
#[derive(Debug, thiserror::Error)]
pub enum SparseError {
    /// The layout does not fit the matrix.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The text could not be made.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A sparse matrix on one device.
pub struct SparseOperator {
    device: Device,
    rows: usize,
    norm_bound: f64,
    cost: Cost,
    diagonal: Arc<Vec<f64>>,
    engine: Engine,
}

enum Engine {
    Cpu { matrix: Arc<Csr>, tasks: Vec<usize> },
    Kernels(Box<Kernels>),
}

/// The multiply as generated kernels, one text a number of vectors.
struct Kernels {
    device: Device,
    plan: SparsePlan,
    tables: Vec<(String, Box<dyn OnDevice + Send + Sync>)>,
    diagonal: Arc<Buffer<f64>>,
    compiled: Mutex<HashMap<u32, Compiled>>,
    shared_bytes: u64,
}

/// The kernels for one number of vectors, and the memory that goes with it.
struct Compiled {
    kernel: Kernel,
    launches: Vec<Launch>,
    partials: Buffer<f64>,
    dots: Buffer<f64>,
    interleaved: Option<Box<dyn OnDevice + Send + Sync>>,
}

impl SparseOperator {
    /// The matrix in the layout that the model likes best for this device and wish.
    ///
    /// # Errors
    /// The device's: too little memory, kernels that do not compile.
    pub fn new(name: &str, matrix: Arc<Csr>, wish: Wish, device: &Device) -> Result<SparseOperator, SparseError> {
        if !device.runs_kernels() {
            return Ok(SparseOperator::on_cpu(matrix, device));
        }
        let statistics = RowStatistics::of(&matrix);
        let choice = Choice::new(&matrix, &statistics, Target::of(device), wish);
        SparseOperator::with_layout(name, matrix, &choice.best().layout, wish, device)
    }

    /// The matrix in a layout of one's own, which the CPU does not use.
    ///
    /// # Errors
    /// A layout that does not fit the matrix, or the device's.
    pub fn with_layout(
        name: &str,
        matrix: Arc<Csr>,
        layout: &Layout,
        wish: Wish,
        device: &Device,
    ) -> Result<SparseOperator, SparseError> {
        if !device.runs_kernels() {
            device.check_overrides()?;
            return Ok(SparseOperator::on_cpu(matrix, device));
        }
        let stored = {
            let _storing = trace::span("set up", "matrix to its format");
            Stored::new(name, &matrix, layout, wish.scalar, wish.values)?
        };
        SparseOperator::with_stored(&matrix, stored, device)
    }

    /// A matrix that is stored already, on a device that runs kernels.
    ///
    /// # Errors
    /// The device's.
    pub fn with_stored(matrix: &Csr, stored: Stored, device: &Device) -> Result<SparseOperator, SparseError> {
        device.check_work(&format!("one multiply of {}", stored.plan.name), stored.plan.cost().flops)?;
        let (rows, diagonal) = (matrix.rows(), diagonal(matrix));
        let (cost, norm_bound) = (stored.plan.cost(), norm_bound(matrix));
        let kernels = Kernels::new(stored, &diagonal, device)?;
        let engine = Engine::Kernels(Box::new(kernels));
        Ok(SparseOperator { device: device.clone(), rows, norm_bound, cost, diagonal: Arc::new(diagonal), engine })
    }

    fn on_cpu(matrix: Arc<Csr>, device: &Device) -> SparseOperator {
        let (rows, non_zeros) = (matrix.rows(), matrix.non_zeros());
        let weight = |row: usize| matrix.row_start()[row] + row as u64;
        let mut tasks = vec![0];
        (1..=rows).for_each(|row| {
            if weight(row) - weight(tasks[tasks.len() - 1]) >= TASK || row == rows {
                tasks.push(row);
            }
        });
        let cost = Cost {
            flops: 2.0 * non_zeros as f64,
            bytes: 12.0 * non_zeros as f64 + 8.0 * (rows as f64 + 1.0) + 16.0 * rows as f64,
        };
        SparseOperator {
            device: device.clone(),
            rows,
            norm_bound: norm_bound(&matrix),
            cost,
            diagonal: Arc::new(diagonal(&matrix)),
            engine: Engine::Cpu { matrix, tasks },
        }
    }

    /// y_j = A x_j where nobody asks for x_j·y_j: need not wait for the device.
    ///
    /// # Errors
    /// Vectors of another length or device.
    pub fn multiply_block<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    /// The plan, where kernels run.
    pub fn plan(&self) -> Option<&SparsePlan> {
        match &self.engine {
            Engine::Cpu { .. } => None,
            Engine::Kernels(kernels) => Some(&kernels.plan),
        }
    }

    /// y_j = A x_j, and all x_j·y_j if `summed` (on the CPU in any case).
    fn run<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let wrong = |expected: String, found: String| {
            Err(DeviceError::Arguments { what: "multiply by a sparse matrix".into(), expected, found })
        };
        if x.len() != y.len() {
            return wrong("as many results as vectors".into(), format!("{} and {}", y.len(), x.len()));
        }
        let lengths = x.iter().map(|x| x.len()).chain(y.iter().map(|y| y.len()));
        if let Some(length) = lengths.into_iter().find(|length| *length != self.rows) {
            return wrong(format!("vectors of {} elements", self.rows), length.to_string());
        }
        if self.rows == 0 {
            return Ok(vec![0.0; x.len()]);
        }
        let mut dots = Vec::with_capacity(x.len());
        match &self.engine {
            Engine::Kernels(kernels) => {
                let most = kernels.most_vectors();
                for (x, y) in x.chunks(most).zip(y.chunks_mut(most)) {
                    dots.extend(kernels.apply(x, y, summed)?);
                }
            }
            Engine::Cpu { matrix, tasks } => {
                for (x, y) in x.chunks(MOST_VECTORS).zip(y.chunks_mut(MOST_VECTORS)) {
                    dots.extend(on_host(matrix, tasks, x, y)?);
                }
            }
        }
        Ok(dots)
    }
}

/// A(i, i) for all i.
fn diagonal(matrix: &Csr) -> Vec<f64> {
    (0..matrix.rows()).into_par_iter().map(|row| matrix.at(row, row as u32)).collect()
}

/// Largest row sum of |A|.
fn norm_bound(matrix: &Csr) -> f64 {
    let sum = |row: usize| matrix.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
    (0..matrix.rows()).into_par_iter().map(sum).reduce(|| 0.0, f64::max)
}

/// The multiply on the CPU.
fn on_host<T: Scalar>(
    matrix: &Csr,
    tasks: &[usize],
    x: &[&Vector<T>],
    y: &mut [Vector<T>],
) -> Result<Vec<f64>, DeviceError> {
    let elsewhere = || DeviceError::WrongDevice {
        what: "multiply by a sparse matrix".into(),
        expected: "vectors on the CPU".into(),
        found: "device memory".into(),
    };
    let x: Vec<&[T]> = x.iter().map(|x| x.as_host().ok_or_else(elsewhere)).collect::<Result<_, _>>()?;
    // The tasks' shares of every y.
    let mut shares: Vec<(usize, Vec<&mut [T]>)> =
        tasks[..tasks.len() - 1].iter().map(|first| (*first, vec![])).collect();
    for y in y {
        let mut rest = y.as_host_mut().ok_or_else(elsewhere)?;
        for (share, pair) in shares.iter_mut().zip(tasks.windows(2)) {
            let (own, after) = rest.split_at_mut(pair[1] - pair[0]);
            share.1.push(own);
            rest = after;
        }
    }
    let task = |(first, mut y): (usize, Vec<&mut [T]>)| -> [f64; MOST_VECTORS] {
        let mut dots = [0.0; MOST_VECTORS];
        let count = y.first().map_or(0, |y| y.len());
        for at in 0..count {
            let (columns, values) = matrix.row(first + at);
            let mut sums = [0.0; MOST_VECTORS];
            match x[..] {
                [x] => sums[0] = row_times(columns, values, x),
                _ => {
                    for (column, value) in columns.iter().zip(values) {
                        x.iter().zip(&mut sums).for_each(|(x, sum)| *sum += value * x[*column as usize].to_f64());
                    }
                }
            }
            for (v, y) in y.iter_mut().enumerate() {
                y[at] = T::from_f64(sums[v]);
                dots[v] += x[v][first + at].to_f64() * sums[v];
            }
        }
        dots
    };
    let of_tasks: Vec<[f64; MOST_VECTORS]> = shares.into_par_iter().map(task).collect();
    Ok((0..x.len()).map(|v| of_tasks.iter().map(|dots| dots[v]).sum()).collect())
}

/// A row times a vector, in four sums so that gathers overlap.
fn row_times<T: Scalar>(columns: &[u32], values: &[f64], x: &[T]) -> f64 {
    let mut sums = [0.0; 4];
    let (column_fours, column_rest) = columns.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    for (columns, values) in column_fours.iter().zip(value_fours) {
        for k in 0..4 {
            sums[k] += values[k] * x[columns[k] as usize].to_f64();
        }
    }
    let rest = column_rest.iter().zip(value_rest).map(|(column, value)| value * x[*column as usize].to_f64());
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest.sum::<f64>()
}

impl Kernels {
    fn new(stored: Stored, diagonal: &[f64], device: &Device) -> Result<Kernels, SparseError> {
        let _uploading = trace::span("set up", "matrix to the device");
        let Stored { plan, block_start, parts } = stored;
        device.check_memory(&format!("the matrix {}", plan.name), plan.matrix_bytes())?;
        let mut tables: Vec<(String, Box<dyn OnDevice + Send + Sync>)> =
            vec![("block_start".into(), Box::new(device.buffer(&block_start)?))];
        for (number, (part, layout)) in parts.into_iter().zip(&plan.parts).enumerate() {
            let mut add = |name: &str, memory| tables.push((format!("{name}_{number}"), memory));
            match &part.values {
                Values::F64(values) => add("values", boxed(device.buffer(values)?)),
                Values::F32(values) => add("values", boxed(device.buffer(values)?)),
            }
            match &part.columns {
                Columns::U16(columns) => add("columns", boxed(device.buffer(columns)?)),
                Columns::U32(columns) => add("columns", boxed(device.buffer(columns)?)),
            }
            if !part.base.is_empty() {
                add("base", boxed(device.buffer(&part.base)?));
            }
            match plan.starts {
                _ if part.start.is_empty() => {}
                IndexWord::U64 => add("start", boxed(device.buffer(&part.start)?)),
                _ => add("start", boxed(device.buffer(&part.start.iter().map(|at| *at as u32).collect::<Vec<_>>())?)),
            }
            if layout.storage == Storage::SlicedEll {
                add("order", boxed(device.buffer(&part.order)?));
            }
        }
        let shared_bytes = u64::from(Target::of(device).shared_bytes);
        let diagonal = Arc::new(device.buffer(diagonal)?);
        let kernels =
            Kernels { device: device.clone(), plan, tables, diagonal, compiled: Mutex::default(), shared_bytes };
        if kernels.plan.rows > 0 {
            let compiled = kernels.compile(1)?;
            kernels.compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(1, compiled);
        }
        Ok(kernels)
    }

    /// The plan for so many vectors: with its windows of x in shared memory where they fit beside the sums, without them
    /// where only the sums do.
    fn plan_for(&self, vectors: u32) -> Option<SparsePlan> {
        // What the text declares by itself: a number a warp.
        let fixed = 8 * u64::from(self.plan.threads / 32);
        let fits = |plan: &SparsePlan| plan.shared_bytes() + fixed <= self.shared_bytes;
        let with_windows = self.plan.with_vectors(vectors);
        if fits(&with_windows) {
            return Some(with_windows);
        }
        let mut without = with_windows;
        without.parts.iter_mut().for_each(|part| part.staged = 0);
        fits(&without).then_some(without)
    }

    /// Vectors that one pass over the matrix serves.
    fn most_vectors(&self) -> usize {
        (1..=MOST_VECTORS).rev().find(|vectors| self.plan_for(*vectors as u32).is_some()).unwrap_or(1)
    }

    fn compile(&self, vectors: u32) -> Result<Compiled, SparseError> {
        let plan = self.plan_for(vectors).unwrap_or_else(|| self.plan.with_vectors(vectors));
        let kernel = self.device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let length = (plan.rows * u64::from(vectors)) as usize;
        let interleaved: Option<Box<dyn OnDevice + Send + Sync>> = match (vectors, plan.scalar) {
            (1, _) => None,
            (_, ScalarType::F64) => Some(Box::new(self.device.zeros::<f64>(length)?)),
            (_, ScalarType::F32) => Some(Box::new(self.device.zeros::<f32>(length)?)),
        };
        Ok(Compiled {
            kernel,
            launches,
            partials: self.device.buffer(&vec![0.0; plan.partials() as usize])?,
            dots: self.device.buffer(&vec![0.0; vectors as usize])?,
            interleaved,
        })
    }

    /// y_j = A x_j; the x_j·y_j if `summed`, which waits for the device.
    fn apply<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let vectors = x.len() as u32;
        let mut guard = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if !guard.contains_key(&vectors) {
            let compiled = self.compile(vectors).map_err(|error| match error {
                SparseError::Device(error) => error,
                other => DeviceError::Arguments {
                    what: format!("the multiply of {} for {vectors} vectors", self.plan.name),
                    expected: "a text".into(),
                    found: other.to_string(),
                },
            })?;
            guard.insert(vectors, compiled);
        }
        let Some(compiled) = guard.get_mut(&vectors) else { return Ok(vec![]) };
        let Compiled { kernel, launches, partials, dots, interleaved } = compiled;
        for launch in launches.iter().filter(|launch| summed || launch.entry != "multiply_finish") {
            let arguments = Arguments::new();
            let arguments = match (launch.entry.as_str(), interleaved.as_deref_mut()) {
                ("interleave", Some(together)) => {
                    let each = x.iter().zip(X).fold(arguments, |arguments, (x, name)| arguments.read(name, *x));
                    each.write("x", together)
                }
                ("multiply_finish", _) => {
                    let count = partials.len() as i64 / i64::from(vectors);
                    arguments.read("partials", partials).i64("count", count).write("x_dot_y", dots)
                }
                (_, together) => {
                    let arguments = match together {
                        Some(together) => arguments.read("x", &*together),
                        None => arguments.read("x", x[0]),
                    };
                    let outputs = y.iter_mut().zip(Y).fold(arguments, |arguments, (y, name)| arguments.write(name, y));
                    let tables = self.tables.iter();
                    tables.fold(outputs.write("partials", partials), |arguments, (name, memory)| {
                        arguments.read(name, &**memory)
                    })
                }
            };
            kernel.launch(launch, arguments)?;
        }
        if summed { dots.download() } else { Ok(vec![f64::NAN; x.len()]) }
    }
}

fn boxed<U: eigenforge_runtime::Pod>(buffer: Buffer<U>) -> Box<dyn OnDevice + Send + Sync> {
    Box::new(buffer)
}

impl<T: Scalar> LinearOperator<T> for SparseOperator {
    fn dimension(&self) -> usize {
        self.rows
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        Ok(self.run(&[x], std::slice::from_mut(y), true)?[0])
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(&[x], std::slice::from_mut(y), false).map(drop)
    }

    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.run(x, y, true)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let (text, arguments) = match &self.engine {
            Engine::Cpu { .. } => {
                (ElementFunctionText { name: "diagonal".into(), source: String::new(), parameters: vec![] }, vec![])
            }
            Engine::Kernels(kernels) => (
                SparsePlan::diagonal_element(self.rows as u64),
                vec![ElementArgument::Memory(kernels.diagonal.clone())],
            ),
        };
        let diagonal = self.diagonal.clone();
        let fill = move |start: usize, out: &mut [f64]| out.copy_from_slice(&diagonal[start..start + out.len()]);
        Some(ElementFunction { text, arguments, host: Arc::new(fill) })
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
