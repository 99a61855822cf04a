//! H on a device: the one type that every solver multiplies with.
//!
//! The plan is made from the model's structure, its text from the plan; on the CPU the same structure runs through
//! [`HostMultiply`].

use super::cpu::HostMultiply;
use super::mean_field::MeanField;
use super::model::Model;
use super::prepared::Prepared;
use super::tables::Tables;
use crate::basis::Sector;
use crate::operator::OperatorError;
use crate::sparse::{SparseError, SparseOperator};
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Everywhere, Kernel, LinearOperator, OnDevice, Scalar,
    Vector, trace,
};
use eigenforge_templates::exact::{AT_ONCE, KroneckerPlan};
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, Launch, ScalarType, TextError};
use std::sync::{Arc, Mutex};

/// H of one model on one device.
pub struct Hamiltonian {
    device: Device,
    prepared: Arc<Prepared>,
    /// Whether vectors hold real and imaginary parts.
    complex: bool,
    norm_bound: f64,
    mean_field: Option<MeanField>,
    engine: Engine,
}

enum Engine {
    Cpu(Arc<HostMultiply>),
    Kernels(Box<Kernels>),
    /// A stored matrix, on any device.
    Stored(Box<SparseOperator>),
}

/// The multiply as generated kernels.
struct Kernels {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    partials: Mutex<(Buffer<f64>, Buffer<f64>)>,
    /// On several cards, where they do not exchange rows, copies of x for the down hops of a Kronecker sum, which read each column of
    /// another card many times.
    copies: Mutex<Option<Everywhere>>,
    /// What the cards exchange.
    exchanged: Mutex<Option<Exchanged>>,
}

/// Memory for the rows that cards exchange in a multiply, a part on each card.
struct Exchanged {
    /// Rows of x that were fetched, by chunks.
    staged: Box<dyn OnDevice + Send>,
    /// What the down hops add to the rows of each card.
    across: Box<dyn OnDevice + Send>,
    /// Chunks of a card.
    chunks: i32,
}

impl Exchanged {
    fn new(plan: &KroneckerPlan, device: &Device) -> Result<Option<Exchanged>, DeviceError> {
        let Some(exchange) = plan.exchange() else { return Ok(None) };
        let memory = |part: u64| -> Result<Box<dyn OnDevice + Send>, DeviceError> {
            let len = (part * u64::from(device.cards_at_work())) as usize;
            Ok(match plan.scalar {
                ScalarType::F64 => Box::new(device.zeros::<f64>(len)?),
                ScalarType::F32 => Box::new(device.zeros::<f32>(len)?),
            })
        };
        let (staged, across) = (memory(exchange.staged)?, memory(exchange.across)?);
        Ok(Some(Exchanged { staged, across, chunks: exchange.chunks as i32 }))
    }
}

/// Why a model could not be put on a device.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The plan could not be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The text could not be made.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<SparseError> for PrepareError {
    fn from(error: SparseError) -> PrepareError {
        match error {
            SparseError::Text(error) => PrepareError::Text(error),
            SparseError::Device(error) => PrepareError::Device(error),
            SparseError::Layout(error) => unreachable!("a ranked layout fits its matrix: {error}"),
        }
    }
}

impl Hamiltonian {
    /// Plans the multiply by all of H, generates and compiles its kernels (where kernels run) and uploads its tables.
    pub fn new(model: &Model, scalar: ScalarType, device: &Device) -> Result<Hamiltonian, PrepareError> {
        Hamiltonian::with_plan(model, Prepared::whole(model, scalar)?, device)
    }

    /// The multiply of a given plan, such as another shape of tile: it must be of this model. A plan by
    /// [`Prepared::new`] leaves out the model's [constant](Model::constant), as solvers do.
    pub fn with_plan(model: &Model, prepared: Prepared, device: &Device) -> Result<Hamiltonian, PrepareError> {
        if let Prepared::Stored(matrix) = &prepared {
            let matrix = matrix.on(device)?;
            return Ok(Hamiltonian::stored(model, prepared, matrix, device));
        }
        if let Prepared::Symmetric(rows) = &prepared {
            if !rows.are_made_on(device) {
                return Hamiltonian::with_plan(model, Prepared::Stored(rows.stored()?), device);
            }
            device.check_alone("H of a symmetry sector by rows that are made as they are multiplied")?;
        }
        let prepared = prepared.for_warp(model, device.warp()).for_cards(device)?;
        let text = prepared.text()?;
        Hamiltonian::with_text(model, prepared, &text, device)
    }

    fn stored(model: &Model, prepared: Prepared, matrix: SparseOperator, device: &Device) -> Hamiltonian {
        let (device, complex) = (device.clone(), model.is_complex());
        let norm_bound = LinearOperator::<f64>::norm_bound(&matrix);
        let engine = Engine::Stored(Box::new(matrix));
        Hamiltonian { device, prepared: Arc::new(prepared), complex, norm_bound, mean_field: None, engine }
    }

    /// The format of a stored matrix on this device, in words; `None` if there is none, or on the CPU.
    pub(super) fn format(&self) -> Option<String> {
        match &self.engine {
            Engine::Stored(matrix) => matrix.plan().map(ToString::to_string),
            _ => None,
        }
    }

    /// The same with an edited text, which the CPU device does not use. Its kernels must take what the plan passes. A stored matrix
    /// has the texts of its format on the device, and no other is taken.
    pub fn with_text(
        model: &Model,
        prepared: Prepared,
        text: &KernelText,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        if let Prepared::Stored(_) = &prepared {
            let (expected, found) = ("the texts of its format".into(), format!("the text {}", text.name));
            return Err(DeviceError::Arguments { what: "multiply by a stored matrix".into(), expected, found }.into());
        }
        let norm_bound = prepared.norm_bound(model);
        device.check_work(&format!("one multiply of {}", model.name()), prepared.work())?;
        let engine = if device.runs_kernels() {
            Engine::Kernels(Box::new(Kernels::new(&prepared, text, device)?))
        } else {
            device.check_overrides()?;
            Engine::Cpu(Arc::new(HostMultiply::new(&prepared)))
        };
        let mean_field = match (&prepared, model.sector()) {
            (Prepared::Kronecker { .. }, Sector::Fermions { up, down }) => {
                MeanField::new(model.operator(), model.sites(), [*up, *down])
            }
            _ => None,
        };
        let (device, complex) = (device.clone(), model.is_complex());
        Ok(Hamiltonian { device, prepared: Arc::new(prepared), complex, norm_bound, mean_field, engine })
    }

    /// The plan with its tables.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

impl Kernels {
    fn new(prepared: &Prepared, text: &KernelText, device: &Device) -> Result<Kernels, PrepareError> {
        let kernel = device.compile(text)?;
        let _tables = trace::span("set up", "tables to the device");
        let (tables, words) = Tables::new(prepared, prepared.argument_values()?, &kernel, device)?;
        let launches = prepared.launches(words).map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let partials = match prepared {
            Prepared::Kronecker { plan, .. } => plan.partials(),
            Prepared::General { plan, .. } => plan.partials(),
            Prepared::Symmetric(rows) => rows.plan().partials(),
            Prepared::Stored(_) => unreachable!("it has kernels of its own"),
        };
        let partials = Mutex::new((device.buffer(&vec![0.0; partials as usize])?, device.buffer(&[0.0; AT_ONCE])?));
        // Made before the vectors of a solver, which take what is left.
        let (exchanged, copies) = match prepared {
            Prepared::Kronecker { plan, .. } => match Exchanged::new(plan, device)? {
                Some(exchanged) => (Some(exchanged), None),
                None => (None, Everywhere::new(device, prepared.dimension(), plan.scalar)?),
            },
            Prepared::General { .. } | Prepared::Stored(_) | Prepared::Symmetric(_) => (None, None),
        };
        let (copies, exchanged) = (Mutex::new(copies), Mutex::new(exchanged));
        Ok(Kernels { kernel, launches, tables, partials, copies, exchanged })
    }

    /// y_j = H x_j for up to [`AT_ONCE`] vectors. Returns all x_j·y_j if `summed`, which waits for the device; else
    /// nothing.
    fn apply<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let mut guard = self.partials.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (partials, dots) = &mut *guard;
        for (place, (x, y)) in x.iter().zip(y.iter_mut()).enumerate() {
            self.launch(x, y, summed.then_some(place), partials, dots)?;
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
        let mut exchanged = self.exchanged.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut copies = self.copies.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(copies) = &mut *copies {
            copies.begin(x)?;
        }
        for launch in &self.launches {
            let arguments = Arguments::new();
            if let ("multiply_down", Some(copies)) = (launch.entry.as_str(), &mut *copies) {
                // Made beside the up hops, which read a card's own columns alone.
                copies.finish()?;
                let vectors = arguments.read("x", &*copies).write("y", &mut *y).write("partials", &mut *partials);
                self.kernel.launch(launch, self.tables.pass("multiply_down", vectors))?;
                continue;
            }
            if let ("multiply_down", Some(Exchanged { staged, across, chunks })) =
                (launch.entry.as_str(), &mut *exchanged)
            {
                for chunk in -1..*chunks {
                    let vectors =
                        Arguments::new().read("x", x).write("staged", &mut **staged).write("across", &mut **across);
                    let arguments = self.tables.pass("multiply_down", vectors).i32("chunk", chunk);
                    self.kernel.launch(launch, arguments)?;
                }
                continue;
            }
            let arguments = match (launch.entry.as_str(), place) {
                ("multiply_finish", None) => continue,
                ("multiply_finish", Some(place)) => {
                    let count = partials.len() as i64;
                    arguments
                        .read("partials", &*partials)
                        .i64("count", count)
                        .i64("place", place as i64)
                        .write("x_dot_y", &mut *dots)
                }
                (entry, _) => {
                    let vectors = arguments.read("x", x).write("y", &mut *y).write("partials", &mut *partials);
                    let vectors = match &*exchanged {
                        Some(exchanged) => vectors.read("across", &*exchanged.across),
                        None => vectors,
                    };
                    self.tables.pass(entry, vectors)
                }
            };
            self.kernel.launch(launch, arguments)?;
        }
        Ok(())
    }

    fn diagonal(&self, prepared: &Prepared) -> ElementFunction {
        // The host form is for the CPU engine; where kernels run only the text does.
        let host = Arc::new(|_: usize, out: &mut [f64]| out.fill(f64::NAN));
        ElementFunction { text: prepared.diagonal_text(), arguments: self.tables.of_diagonal(), host }
    }
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
                    for (x, y) in x.iter().zip(y) {
                        let (x, y) = Vector::both_on_host("multiply by H", x, y)?;
                        dots.push(host.apply(x, y));
                    }
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

    /// One after the other, but without waiting in between: what a small sector takes is mostly the wait.
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.run(x, y, true)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        Some(match (&self.engine, &*self.prepared) {
            (Engine::Cpu(host), _) => {
                let host = host.clone();
                let text = ElementFunctionText { name: "diagonal".into(), source: String::new(), parameters: vec![] };
                let fill = move |start: usize, out: &mut [f64]| {
                    out.iter_mut().enumerate().for_each(|(k, out)| *out = host.diagonal(start + k));
                };
                ElementFunction { text, arguments: vec![], host: Arc::new(fill) }
            }
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
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        match &self.engine {
            Engine::Stored(matrix) => LinearOperator::<T>::cost(&**matrix),
            _ => self.prepared.cost(),
        }
    }
}
