//! The generated multiply on a device: tables uploaded, one text per number of vectors compiled on first use, launches
//! with arguments by name.

use super::halo::Halo;
use super::hybrid::{Columns, Stored, Values};
use super::layout::Target;
use super::operator::{MOST_VECTORS, SparseError};
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, HostTable, Kernel, NamedTables, OnDevice, Scalar, Vector, trace,
};
use eigenforge_templates::exact::IndexWord;
use eigenforge_templates::sparse::{ColumnWord, RowStorage, SparsePlan};
use eigenforge_templates::{Launch, ScalarType};
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Names of the parameters that are vectors.
const X: [&str; MOST_VECTORS] = ["x_0", "x_1", "x_2", "x_3", "x_4", "x_5", "x_6", "x_7"];
const Y: [&str; MOST_VECTORS] = ["y_0", "y_1", "y_2", "y_3", "y_4", "y_5", "y_6", "y_7"];

/// The multiply as generated kernels, one text per number of vectors.
pub(super) struct Kernels {
    device: Device,
    pub(super) plan: SparsePlan,
    /// For 1, 2, … vectors at once.
    plans: Vec<SparsePlan>,
    /// Those of the matrix, and places and lists of what each of several cards collects of x.
    tables: NamedTables,
    pub(super) halo: Option<Box<Halo>>,
    pub(super) diagonal: Arc<Buffer<f64>>,
    compiled: Mutex<HashMap<u32, Compiled>>,
}

/// The kernels for one number of vectors, and their memory.
struct Compiled {
    kernel: Kernel,
    launches: Vec<Launch>,
    partials: Buffer<f64>,
    dots: Buffer<f64>,
    interleaved: Option<Box<dyn OnDevice + Send + Sync>>,
}

impl Kernels {
    pub(super) fn new(stored: Stored, diagonal: &[f64], device: &Device) -> Result<Kernels, SparseError> {
        let halo = stored.halo.clone();
        let (plan, mut tables) = upload(stored, device)?;
        if let Some(halo) = &halo {
            tables.upload(device, "halo", HostTable::U64(halo.places().into()))?;
            tables.upload(device, "halo_columns", HostTable::U32(halo.columns().into()))?;
        }
        let plans = plans_by_vectors(&plan, Target::new(device));
        let diagonal = Arc::new(device.buffer(diagonal)?);
        let kernels =
            Kernels { device: device.clone(), plan, plans, tables, halo, diagonal, compiled: Mutex::default() };
        if kernels.plan.rows > 0 {
            let compiled = kernels.compile(1)?;
            kernels.compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(1, compiled);
        }
        Ok(kernels)
    }

    /// Most vectors in one pass over the matrix.
    pub(super) fn most_vectors(&self) -> usize {
        self.plans.len()
    }

    fn compile(&self, vectors: u32) -> Result<Compiled, SparseError> {
        let plan = &self.plans[vectors as usize - 1];
        let kernel = self.device.compile(&plan.text()?)?;
        let launches = plan.launches().map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let length = plan.collected() as usize;
        let interleaved: Option<Box<dyn OnDevice + Send + Sync>> = match (vectors, plan.scalar) {
            (1, _) if plan.halo.is_none() => None,
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
    pub(super) fn apply<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        summed: bool,
    ) -> Result<Vec<f64>, DeviceError> {
        let vectors_at_once = x.len() as u32;
        let mut guard = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = match guard.entry(vectors_at_once) {
            Entry::Occupied(compiled) => compiled.into_mut(),
            Entry::Vacant(place) => place.insert(self.compile(vectors_at_once).map_err(|error| match error {
                SparseError::Device(error) => error,
                other => DeviceError::Arguments {
                    what: format!("the multiply of {} for {vectors_at_once} vectors", self.plan.name),
                    expected: "a text".into(),
                    found: other.to_string(),
                },
            })?),
        };
        let Compiled { kernel, launches, partials, dots, interleaved } = compiled;
        for launch in launches.iter().filter(|launch| summed || launch.entry != "multiply_finish") {
            let vectors = x.iter().zip(X).fold(Arguments::new(), |vectors, (x, name)| vectors.read(name, *x));
            let vectors = y.iter_mut().zip(Y).fold(vectors, |vectors, (y, name)| vectors.write(name, y));
            // What all rows read: written by a kernel of its own, or one x as it is.
            let vectors = match interleaved.as_deref_mut() {
                Some(together) if self.halo.is_some() => vectors.write("x_of_cards", together),
                Some(together) => vectors.write("x", together),
                None => vectors.read("x", x[0]),
            };
            let count = partials.len() as i64 / i64::from(vectors_at_once);
            let vectors = vectors.write("partials", &mut *partials).write("x_dot_y", &mut *dots);
            let vectors = vectors.i64("count", count).i64("place", 0).i64("with_x_dot_y", i64::from(summed));
            kernel.launch(launch, vectors.tables(&self.tables).needed(launch))?;
        }
        if summed { dots.download() } else { Ok(vec![f64::NAN; x.len()]) }
    }
}

/// The plans of a run on this kind of device, one for each number of vectors at once: 1, 2, … . The solver decides which
/// it uses. Windows of x are kept in shared memory if they fit beside the sums; without them there may be more vectors.
/// Half of a symmetric matrix multiplies one vector after the other.
pub fn plans_by_vectors(plan: &SparsePlan, target: Target) -> Vec<SparsePlan> {
    if plan.is_half() {
        return vec![plan.clone()];
    }
    let fits = |plan: &SparsePlan| plan.shared_bytes() + plan.scratch_bytes() <= u64::from(target.card.shared_bytes);
    let of = |vectors: u32| {
        let with_windows = plan.with_vectors(vectors);
        if fits(&with_windows) {
            return Some(with_windows);
        }
        let mut without = with_windows;
        for part in without.parts.iter_mut().filter(|part| part.staged > 0) {
            (part.staged, part.shared_by_pairs) = (0, true);
        }
        fits(&without).then_some(without)
    };
    let most = MOST_VECTORS as u32 / plan.numbers.parts() as u32;
    let most = (1..=most).rev().find(|vectors| of(*vectors).is_some()).unwrap_or(1);
    (1..=most).map(|vectors| of(vectors).unwrap_or_else(|| plan.with_vectors(vectors))).collect()
}

impl Values {
    fn table(&self) -> HostTable<'_> {
        match self {
            Values::F64(values) => HostTable::from(values),
            Values::F32(values) => HostTable::from(values),
        }
    }
}

/// Uploads the tables to the device, if they fit.
pub(super) fn upload(stored: Stored, device: &Device) -> Result<(SparsePlan, NamedTables), SparseError> {
    let _uploading = trace::span("set up", "matrix to the device");
    let Stored { plan, block_start, parts, dictionary, .. } = stored;
    let collected = plan.halo.map_or(0, |_| plan.scalar.bytes() as u64 * plan.collected());
    device.check_memory(&format!("the matrix {}", plan.name), plan.matrix_bytes() + collected)?;
    let mut tables = NamedTables::new();
    tables.upload(device, "block_start", &block_start)?;
    dictionary.map_or(Ok(()), |numbers| tables.upload(device, "dictionary", numbers.table()))?;
    for (number, (part, layout)) in parts.into_iter().zip(&plan.parts).enumerate() {
        let mut add = |name: &str, table| tables.upload(device, format!("{name}_{number}"), table);
        if layout.columns != ColumnWord::Coded32 {
            add("values", part.values.table())?;
        }
        match &part.columns {
            Columns::U16(columns) => add("columns", HostTable::from(columns))?,
            Columns::U32(columns) => add("columns", HostTable::from(columns))?,
        }
        if !part.base.is_empty() {
            add("base", HostTable::from(&part.base))?;
        }
        if !part.start.is_empty() {
            let word = if plan.starts == IndexWord::U64 { IndexWord::U64 } else { IndexWord::U32 };
            add("start", HostTable::narrowed(word, &part.start))?;
        }
        if layout.storage == RowStorage::SlicedEll {
            add("order", HostTable::from(&part.order))?;
        }
    }
    Ok((plan, tables))
}
