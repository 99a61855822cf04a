//! H on a device: the one type that every solver multiplies with.
//!
//! The plan is made from the model's structure, its text from the plan; on the CPU the same structure runs through
//! [`HostMultiply`].

use super::across::{AcrossCards, Exchanged, Panels};
use super::cpu::HostMultiply;
use super::error::PrepareError;
use super::mean_field::MeanField;
use super::model::Model;
use super::norm::NormBounds;
use super::prepared::Prepared;
use super::ranks::RankMultiply;
use super::several::{SeveralKernels, SeveralPlans};
use super::tables::tables;
use crate::basis::Sector;
use crate::sparse::SparseOperator;
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, LinearOperator, NamedTables, Scalar, Vector, trace,
};
use eigenforge_templates::exact::AT_ONCE;
use eigenforge_templates::{Cost, KernelText, Launch, ScalarType};
use std::sync::{Arc, Mutex, OnceLock};

/// H of one model on one device.
pub struct Hamiltonian {
    device: Device,
    prepared: Arc<Prepared>,
    /// Whether vectors hold real and imaginary parts.
    complex: bool,
    bounds: NormBounds,
    mean_field: Option<MeanField>,
    engine: Engine,
}

enum Engine {
    Cpu(Arc<HostMultiply>),
    Kernels(Box<Kernels>),
    /// A stored matrix, on any device.
    Stored(Box<SparseOperator>),
    /// One rank of several.
    Ranks(Arc<RankMultiply>),
}

/// The multiply as generated kernels.
pub(super) struct Kernels {
    device: Device,
    prepared: Arc<Prepared>,
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: NamedTables,
    partials: Mutex<(Buffer<f64>, Buffer<f64>)>,
    across: Mutex<AcrossCards>,
    /// Of several vectors at once: planned when there are several.
    several: OnceLock<SeveralKernels>,
}

impl Hamiltonian {
    /// Plans the multiply by all of H, generates and compiles its kernels (where kernels run) and uploads its tables.
    pub fn new(model: &Model, scalar: ScalarType, device: &Device) -> Result<Hamiltonian, PrepareError> {
        Hamiltonian::with_plan(model, Prepared::whole(model, scalar)?, device)
    }

    /// The multiply of a given plan, such as another shape of tile: it must be of this model. A plan by
    /// [`Prepared::new`] leaves out the model's [constant](Model::constant), as solvers do.
    pub fn with_plan(model: &Model, prepared: Prepared, device: &Device) -> Result<Hamiltonian, PrepareError> {
        if let Prepared::Symmetric(rows) = &prepared
            && !rows.are_made_on(device)
        {
            return Hamiltonian::with_plan(model, Prepared::Stored(rows.stored()?), device);
        }
        if let Some(ranks) = device.ranks() {
            device.check_overrides()?;
            device.check_work(&format!("one multiply of {}", model.name()), prepared.work())?;
            let prepared = if device.runs_kernels() { prepared.for_warp(model, device.warp()) } else { prepared };
            let multiply = RankMultiply::new(&prepared, ranks, device)?;
            let (device, bound) = (multiply.device(device)?, multiply.norm_bound()?);
            let of_rows = bound.map(|whole| NormBounds { whole, moving: whole });
            let bounds = of_rows.or_else(|| NormBounds::new(&prepared, model)).unwrap_or(NormBounds::UNKNOWN);
            let engine = Engine::Ranks(Arc::new(multiply));
            return Ok(Hamiltonian::of_engine(model, Arc::new(prepared), engine, bounds, &device));
        }
        if let Prepared::Stored(matrix) = &prepared {
            let matrix = matrix.on(device)?;
            return Ok(Hamiltonian::stored(model, prepared, matrix, device));
        }
        let prepared = prepared.for_warp(model, device.warp()).for_cards(device)?;
        let text = prepared.text()?;
        Hamiltonian::built(model, prepared, &text, device)
    }

    fn stored(model: &Model, prepared: Prepared, matrix: SparseOperator, device: &Device) -> Hamiltonian {
        let (device, complex) = (device.clone(), model.is_complex());
        let whole = LinearOperator::<f64>::norm_bound(&matrix);
        let bounds = NormBounds { whole, moving: whole };
        let engine = Engine::Stored(Box::new(matrix));
        Hamiltonian { device, prepared: Arc::new(prepared), complex, bounds, mean_field: None, engine }
    }

    /// The format of a stored matrix on this device, in words; `None` if there is none, or on the CPU.
    pub(super) fn format(&self) -> Option<String> {
        match &self.engine {
            Engine::Stored(matrix) => matrix.plan().map(ToString::to_string),
            _ => None,
        }
    }

    /// The same with an edited text, which the CPU device does not use. Its kernels must take what the plan passes. A stored matrix
    /// has the texts of its format on the device, and no other is taken. Vectors of a block are multiplied one after the other, all by
    /// this text.
    pub fn with_text(
        model: &Model,
        prepared: Prepared,
        text: &KernelText,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        Ok(Hamiltonian::built(model, prepared, text, device)?.with_vectors_at_once(1))
    }

    fn built(
        model: &Model,
        prepared: Prepared,
        text: &KernelText,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        if let Prepared::Stored(_) = &prepared {
            let (expected, found) = ("the texts of its format".into(), format!("the text {}", text.name));
            return Err(DeviceError::Arguments { what: "multiply by a stored matrix".into(), expected, found }.into());
        }
        let bounds = NormBounds::new(&prepared, model).unwrap_or(NormBounds::UNKNOWN);
        device.check_work(&format!("one multiply of {}", model.name()), prepared.work())?;
        let prepared = Arc::new(prepared);
        let engine = if device.runs_kernels() {
            Engine::Kernels(Box::new(Kernels::new(&prepared, text, device)?))
        } else {
            device.check_overrides()?;
            Engine::Cpu(Arc::new(HostMultiply::new(&prepared)))
        };
        Ok(Hamiltonian::of_engine(model, prepared, engine, bounds, device))
    }

    fn of_engine(
        model: &Model,
        prepared: Arc<Prepared>,
        engine: Engine,
        bounds: NormBounds,
        device: &Device,
    ) -> Hamiltonian {
        let mean_field = match (&*prepared, model.sector()) {
            (Prepared::Kronecker { .. }, Sector::Fermions { up, down }) => {
                MeanField::new(model.operator(), model.sites(), [*up, *down])
            }
            _ => None,
        };
        let (device, complex) = (device.clone(), model.is_complex());
        Hamiltonian { device, prepared, complex, bounds, mean_field, engine }
    }

    /// The same, with up to `most` vectors of a block at once wherever generated kernels have a text for it, quicker or not; 1: one
    /// after the other. Without this the plan decides.
    #[must_use]
    pub fn with_vectors_at_once(mut self, most: u32) -> Hamiltonian {
        if let Engine::Kernels(kernels) = &mut self.engine {
            let plans = SeveralPlans::forced(&self.prepared, most);
            kernels.several = OnceLock::from(SeveralKernels::new(plans, &self.device));
        }
        self
    }

    /// How a block of vectors is divided among multiplies of several at once: `[4, 1]` of five.
    pub fn vectors_at_once(&self, vectors: usize) -> Vec<u32> {
        match &self.engine {
            Engine::Kernels(kernels) => kernels.several().division(vectors),
            Engine::Cpu(_) | Engine::Stored(_) | Engine::Ranks(_) => vec![1; vectors],
        }
    }

    /// The plan with its tables.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

impl Kernels {
    pub(super) fn new(prepared: &Arc<Prepared>, text: &KernelText, device: &Device) -> Result<Kernels, PrepareError> {
        let kernel = device.compile(text)?;
        let _tables = trace::span("set up", "tables to the device");
        let (tables, words) = tables(prepared, &kernel, device)?;
        let launches = prepared.launches(words).map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let partials = match &**prepared {
            Prepared::Kronecker { plan, .. } => plan.partials(),
            Prepared::General { plan, .. } => plan.partials(),
            Prepared::Symmetric(rows) => rows.plan().partials(),
            Prepared::Strings(rows) => rows.plan().partials(),
            Prepared::Pairs(rows) => rows.plan().partials(),
            Prepared::Stored(_) => unreachable!("it has kernels of its own"),
        };
        let partials = Mutex::new((device.buffer(&vec![0.0; partials as usize])?, device.buffer(&[0.0; AT_ONCE])?));
        // Made before the vectors of a solver, which take what is left.
        let across = AcrossCards::new(prepared, device)?;
        let (device, prepared, across) = (device.clone(), prepared.clone(), Mutex::new(across));
        Ok(Kernels { device, prepared, kernel, launches, tables, partials, across, several: OnceLock::new() })
    }

    fn several(&self) -> &SeveralKernels {
        self.several.get_or_init(|| SeveralKernels::new(SeveralPlans::predicted(&self.prepared), &self.device))
    }

    /// y_j = H x_j for up to [`AT_ONCE`] vectors. Returns all x_j·y_j if `summed`, which waits for the device; else
    /// nothing.
    pub(super) fn apply<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        summed: bool,
    ) -> Result<Vec<f64>, DeviceError> {
        let groups = match x.len() {
            1 => vec![1],
            count => self.several().division(count),
        };
        let mut guard = self.partials.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (partials, dots) = &mut *guard;
        let mut first = 0;
        for count in groups {
            let (range, place) = (first..first + count as usize, summed.then_some(first));
            first = range.end;
            match (&x[range.clone()], &mut y[range]) {
                ([x], [y]) => self.launch(x, y, place, partials, dots)?,
                (x, y) => self.several().launch(x, y, place, dots)?,
            }
        }
        Ok(if summed { dots.download()?[..x.len()].to_vec() } else { Vec::new() })
    }

    /// Starts y = H x, with x·y into a place of `dots` if one is given.
    fn launch<T: Scalar>(
        &self,
        x: &Vector<T>,
        y: &mut Vector<T>,
        place: Option<usize>,
        partials: &mut Buffer<f64>,
        dots: &mut Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let mut across = self.across.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let AcrossCards::Copies(copies, _) = &mut *across {
            copies.begin(x)?;
        }
        if let AcrossCards::Panels(panels) = &mut *across {
            self.launch_panels(panels, x, y, partials)?;
        }
        let summed = |launch: &&Launch| place.is_some() || launch.entry != "multiply_finish";
        for launch in self.launches.iter().filter(summed) {
            let (count, place) = (partials.len() as i64, place.unwrap_or(0) as i64);
            let vectors = Arguments::new().write("y", &mut *y).write("partials", &mut *partials).tables(&self.tables);
            let vectors = vectors.i64("count", count).i64("place", place).write("x_dot_y", &mut *dots);
            let vectors = match (launch.entry.as_str(), &mut *across) {
                (entry, AcrossCards::Copies(copies, reader)) if entry == *reader => {
                    // Made beside the up hops of a Kronecker sum, which read a card's own columns alone.
                    copies.finish()?;
                    vectors.read("x", &*copies)
                }
                ("multiply_down", AcrossCards::Exchanged(Exchanged { staged, added, chunks })) => {
                    for chunk in -1..*chunks {
                        let rows = Arguments::new().read("x", x).write("staged", &mut **staged).i32("chunk", chunk);
                        self.kernel.launch(launch, rows.write("across", &mut **added).tables(&self.tables))?;
                    }
                    continue;
                }
                ("multiply_panels", AcrossCards::Panels(_)) => continue,
                (_, AcrossCards::Exchanged(exchanged)) => vectors.read("x", x).read("across", &*exchanged.added),
                _ => vectors.read("x", x),
            };
            self.kernel.launch(launch, vectors.needed(launch))?;
        }
        Ok(())
    }

    /// Starts y = H x on pairs of strings, panel after panel, each made a launch before and added a launch later.
    fn launch_panels<T: Scalar>(
        &self,
        panels: &mut Panels,
        x: &Vector<T>,
        y: &mut Vector<T>,
        partials: &mut Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let Panels { staged, across, count } = panels;
        let [launch, ..] = &self.launches[..] else { unreachable!("the kernels of pairs of strings") };
        for panel in -1..=*count {
            let vectors = Arguments::new().read("x", x).write("y", &mut *y).write("partials", &mut *partials);
            let vectors = vectors.write("staged", &mut **staged).write("across", &mut **across).i32("panel", panel);
            self.kernel.launch(launch, vectors.tables(&self.tables))?;
        }
        Ok(())
    }

    fn diagonal(&self, prepared: &Prepared) -> ElementFunction {
        ElementFunction::of_tables(prepared.diagonal_text(), &self.tables)
    }
}

/// A diagonal on the CPU by its elements.
pub(super) fn host_diagonal(element: impl Fn(usize) -> f64 + Send + Sync + 'static) -> ElementFunction {
    ElementFunction::host_diagonal(move |start, out| {
        out.iter_mut().enumerate().for_each(|(k, out)| *out = element(start + k));
    })
}

impl Hamiltonian {
    /// y_j = H x_j, and all x_j·y_j if `summed` (on the CPU in any case).
    fn run<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let n = self.prepared.dimension();
        if let Some(found) = x.iter().map(|x| x.len()).chain(y.iter().map(Vector::len)).find(|len| *len != n) {
            let (expected, found) = (format!("vectors of {n} elements"), found.to_string());
            return Err(DeviceError::Arguments { what: "multiply by H".into(), expected, found });
        }
        let (at_once, mut dots) = (AT_ONCE.min(x.len().max(1)), Vec::with_capacity(x.len()));
        for (x, y) in x.chunks(at_once).zip(y.chunks_mut(at_once)) {
            match &self.engine {
                Engine::Kernels(kernels) => dots.extend(kernels.apply(x, y, summed)?),
                Engine::Cpu(host) => {
                    let both = x.iter().zip(y).map(|(x, y)| Vector::both_on_host("multiply by H", x, y));
                    let (x, mut y): (Vec<&[T]>, Vec<&mut [T]>) =
                        both.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
                    dots.extend(host.apply_block(&x, &mut y));
                }
                Engine::Ranks(ranks) => {
                    let each = x.iter().zip(y).map(|(x, y)| ranks.apply(x, y));
                    dots.extend(each.collect::<Result<Vec<f64>, _>>()?);
                }
                Engine::Stored(matrix) if summed => dots.extend(matrix.apply_block(x, y)?),
                Engine::Stored(matrix) => matrix.multiply_block(x, y)?,
            }
        }
        Ok(dots)
    }
}

impl<T: Scalar> LinearOperator<T> for Hamiltonian {
    fn dimension(&self) -> usize {
        self.prepared.dimension()
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        Ok(self.run(&[x], std::slice::from_mut(y), true)?.first().copied().unwrap_or(f64::NAN))
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(&[x], std::slice::from_mut(y), false).map(drop)
    }

    /// Several at once where that is predicted to be quicker, else one after the other without waiting in between: what a small
    /// sector takes is mostly the wait.
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.run(x, y, true)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        Some(match (&self.engine, &*self.prepared) {
            (Engine::Cpu(host), _) => {
                let host = host.clone();
                host_diagonal(move |index| host.diagonal(index))
            }
            (Engine::Ranks(ranks), prepared) => return ranks.diagonal(prepared, &self.device),
            (Engine::Kernels(kernels), prepared) => kernels.diagonal(prepared),
            (Engine::Stored(matrix), _) => return LinearOperator::<T>::diagonal(&**matrix),
        })
    }

    fn guess(&self) -> Result<Option<ElementFunction>, DeviceError> {
        match (&self.mean_field, &*self.prepared) {
            (Some(mean_field), Prepared::Kronecker { up, down, .. }) => mean_field.guess(up, down, &self.device),
            _ => Ok(None),
        }
    }

    /// i x of a complex H.
    fn partner(&self, x: &Vector<T>) -> Result<Option<Vector<T>>, DeviceError> {
        if !self.complex {
            return Ok(None);
        }
        let values = x.download()?;
        let (re, im) = values.split_at(values.len() / 2);
        let turned: Vec<T> = im.iter().map(|im| T::from_f64(-im.to_f64())).chain(re.iter().copied()).collect();
        Ok(Some(self.device.upload(&turned)?))
    }

    fn norm_bound(&self) -> f64 {
        self.bounds.whole
    }

    fn moving_bound(&self) -> f64 {
        self.bounds.moving
    }

    fn cost(&self) -> Cost {
        match &self.engine {
            Engine::Stored(matrix) => LinearOperator::<T>::cost(&**matrix),
            _ => self.prepared.cost(),
        }
    }
}
