//! H on a device: the one type that every solver multiplies with.
//!
//! The plan is made from the model's structure, its text from the plan; on the CPU the same structure runs through
//! [`KroneckerCpu`] or [`GeneralCpu`]. A pass costs what [`eigenforge_templates::exact`] says.

use super::general_cpu::GeneralCpu;
use super::kronecker_cpu::KroneckerCpu;
use super::mean_field::MeanField;
use super::model::Model;
use super::species::SpeciesMatrix;
use super::structure::Moves;
use super::tables::Tables;
use crate::basis::{LinTables, Sector};
use crate::operator::OperatorError;
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel, LinearOperator, Scalar, Vector, trace,
};
use eigenforge_templates::exact::{DownShape, GeneralPlan, KroneckerPlan, NeighbourWords, TableSizes};
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, Launch, LaunchError, ScalarType, TextError};
use std::sync::{Arc, Mutex};

/// Everything fixed about the multiply of one model: its plan, and the tables that go with it.
#[derive(Clone)]
pub enum Prepared {
    /// A Kronecker sum.
    Kronecker {
        /// The plan.
        plan: Box<KroneckerPlan>,
        /// Hops of the up electrons.
        up: SpeciesMatrix,
        /// Hops of the down electrons.
        down: SpeciesMatrix,
    },
    /// Any other operator.
    General {
        /// The plan.
        plan: Box<GeneralPlan>,
        /// Its ranks.
        tables: LinTables,
    },
}

impl Prepared {
    /// Plans the multiply of a model for vectors of `scalar`.
    pub fn new(model: &Model, scalar: ScalarType) -> Result<Prepared, OperatorError> {
        let _planning = trace::span("generate", "plan");
        let structure = model.structure();
        match (&structure.moves, model.basis().species(), model.sector()) {
            (
                Moves::Kronecker { up, down },
                Some((up_states, down_states)),
                Sector::Fermions { up: n_up, down: n_down },
            ) => {
                let up = SpeciesMatrix::new(model.sites(), n_up, up_states, up);
                let down = SpeciesMatrix::new(model.sites(), n_down, down_states, down);
                let plan = KroneckerPlan::new(
                    model.name().to_string(),
                    scalar,
                    model.sites() as u32,
                    up.plan(),
                    down.plan(),
                    structure.diagonal.clone(),
                    model.sources(),
                );
                Ok(Prepared::Kronecker { plan: Box::new(plan), up, down })
            }
            (Moves::General(groups), ..) => {
                let tables = model.basis().lin_tables()?;
                let sizes = TableSizes {
                    low_bits: tables.low_bits,
                    parts: tables.parts.len() as u64,
                    low_states: tables.low_states.len() as u64,
                    high_parts: tables.high_offset.len() as u64,
                };
                let plan = GeneralPlan::new(
                    model.name().to_string(),
                    scalar,
                    sizes,
                    model.dimension(),
                    structure.diagonal.clone(),
                    groups.clone(),
                    model.sources(),
                );
                Ok(Prepared::General { plan: Box::new(plan), tables })
            }
            (Moves::Kronecker { .. }, ..) => unreachable!("only fermions split into species"),
        }
    }

    /// The generated CUDA.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let _writing = trace::span("generate", "kernel text");
        match self {
            Prepared::Kronecker { plan, .. } => plan.text(),
            Prepared::General { plan, .. } => plan.text(),
        }
    }

    /// The launches of one multiply, in order. `words` are those of the packed neighbours, which [`Prepared::neighbours`]
    /// counts; a general multiply has none.
    pub fn launches(&self, words: NeighbourWords) -> Result<Vec<Launch>, LaunchError> {
        match self {
            Prepared::Kronecker { plan, .. } => plan.launches(words),
            Prepared::General { plan, .. } => plan.launches(),
        }
    }

    /// Words of the packed neighbours, by packing them.
    pub fn neighbours(&self) -> NeighbourWords {
        match self {
            Prepared::Kronecker { plan, up, down } => NeighbourWords {
                up: up.packed_slices().1.len() as u64,
                down: match plan.shape.down {
                    DownShape::Tile { columns, .. } => down.packed_rows(columns as usize).1.len() as u64,
                    DownShape::Runs { .. } => 0,
                },
            },
            Prepared::General { .. } => NeighbourWords { up: 0, down: 0 },
        }
    }

    /// The diagonal as an element function of vector programs: its CUDA text and parameters.
    pub fn diagonal_text(&self) -> ElementFunctionText {
        match self {
            Prepared::Kronecker { plan, .. } => plan.diagonal_element(),
            Prepared::General { plan, .. } => plan.diagonal_element(),
        }
    }

    /// Shapes of this multiply that are worth timing, its own first.
    pub fn candidates(&self) -> Vec<Prepared> {
        match self {
            Prepared::Kronecker { plan, up, down } => {
                let shaped = |shape| {
                    let plan = Box::new(KroneckerPlan { shape, ..(**plan).clone() });
                    Prepared::Kronecker { plan, up: up.clone(), down: down.clone() }
                };
                plan.candidates().into_iter().map(shaped).collect()
            }
            Prepared::General { plan, tables } => {
                let shaped = |shape| {
                    let plan = Box::new(GeneralPlan { shape, ..(**plan).clone() });
                    Prepared::General { plan, tables: tables.clone() }
                };
                plan.candidates().into_iter().map(shaped).collect()
            }
        }
    }

    /// The shape in words.
    pub fn shape(&self) -> String {
        match self {
            Prepared::Kronecker { plan, .. } => plan.shape.to_string(),
            Prepared::General { plan, .. } => plan.shape.to_string(),
        }
    }

    /// The plan as RON.
    pub fn plan_text(&self) -> String {
        match self {
            Prepared::Kronecker { plan, .. } => eigenforge_templates::ron(&**plan),
            Prepared::General { plan, .. } => eigenforge_templates::ron(&**plan),
        }
    }

    /// The least work of one multiply.
    pub fn cost(&self) -> Cost {
        match self {
            Prepared::Kronecker { plan, .. } => plan.cost(),
            Prepared::General { plan, .. } => plan.cost(),
        }
    }

    fn dimension(&self) -> usize {
        match self {
            Prepared::Kronecker { plan, .. } => plan.dimension() as usize,
            Prepared::General { plan, .. } => plan.dimension as usize,
        }
    }

    /// Largest row sum of |H|: a bound of the spectrum.
    fn norm_bound(&self, model: &Model) -> f64 {
        let diagonal: f64 = model
            .operator()
            .terms()
            .filter(|(p, _)| crate::operator::transition::is_diagonal(p))
            .map(|(p, c)| {
                let s = 0.5 * f64::from(model.operator().two_s());
                let spins = p.iter().filter(|factor| !factor.is_fermion()).count();
                c.abs() * s.powi(spins as i32)
            })
            .sum();
        let moves = match self {
            Prepared::Kronecker { up, down, .. } => up.norm_bound() + down.norm_bound(),
            Prepared::General { plan, .. } => {
                let largest = |group: &eigenforge_templates::exact::FlipGroup| {
                    group.terms.iter().map(|term| term.amplitude.abs()).fold(0.0, f64::max) * group.terms.len() as f64
                };
                plan.groups.iter().map(largest).sum()
            }
        };
        diagonal + moves
    }
}

/// H of one model on one device.
pub struct Hamiltonian {
    device: Device,
    prepared: Arc<Prepared>,
    norm_bound: f64,
    mean_field: Option<MeanField>,
    engine: Engine,
}

enum Engine {
    Cpu(Arc<Host>),
    Kernels(Box<Kernels>),
}

enum Host {
    Kronecker(KroneckerCpu),
    General(GeneralCpu),
}

impl Host {
    fn diagonal(&self, index: usize) -> f64 {
        match self {
            Host::Kronecker(host) => host.diagonal(index),
            Host::General(host) => host.diagonal(index),
        }
    }
}

/// The multiply as generated kernels.
struct Kernels {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: Tables,
    partials: Mutex<(Buffer<f64>, Buffer<f64>)>,
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

impl Hamiltonian {
    /// Plans the multiply, generates and compiles its kernels (where kernels run) and uploads its tables.
    pub fn new(model: &Model, scalar: ScalarType, device: &Device) -> Result<Hamiltonian, PrepareError> {
        Hamiltonian::with_plan(model, Prepared::new(model, scalar)?, device)
    }

    /// The same for a plan of one's own, such as another shape of tile: it must be of this model.
    pub fn with_plan(model: &Model, prepared: Prepared, device: &Device) -> Result<Hamiltonian, PrepareError> {
        let text = prepared.text()?;
        Hamiltonian::with_text(model, prepared, &text, device)
    }

    /// The same with an edited text, which the CPU device does not use. Its kernels must take what the plan passes.
    pub fn with_text(
        model: &Model,
        prepared: Prepared,
        text: &KernelText,
        device: &Device,
    ) -> Result<Hamiltonian, PrepareError> {
        let norm_bound = prepared.norm_bound(model);
        device.check_work(&format!("one multiply of {}", model.name()), prepared.cost().flops)?;
        let engine = if device.runs_kernels() {
            Engine::Kernels(Box::new(Kernels::new(&prepared, text, device)?))
        } else {
            device.check_overrides()?;
            Engine::Cpu(Arc::new(match &prepared {
                Prepared::Kronecker { up, down, plan } => Host::Kronecker(KroneckerCpu::new(up, down, &plan.diagonal)),
                Prepared::General { plan, tables } => {
                    Host::General(GeneralCpu::new(tables.clone(), plan.diagonal.clone(), plan.groups.clone()))
                }
            }))
        };
        let mean_field = match (&prepared, model.sector()) {
            (Prepared::Kronecker { .. }, Sector::Fermions { up, down }) => {
                MeanField::new(model.operator(), model.sites(), [up, down])
            }
            _ => None,
        };
        Ok(Hamiltonian { device: device.clone(), prepared: Arc::new(prepared), norm_bound, mean_field, engine })
    }

    /// The plan with its tables.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

impl Kernels {
    fn new(prepared: &Prepared, text: &KernelText, device: &Device) -> Result<Kernels, DeviceError> {
        let kernel = device.compile(text)?;
        let _tables = trace::span("set up", "tables to the device");
        let (tables, words) = Tables::new(prepared, device)?;
        let launches = prepared.launches(words)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let partials = match prepared {
            Prepared::Kronecker { plan, .. } => plan.partials(),
            Prepared::General { plan, .. } => u64::from(plan.shape.blocks),
        };
        let partials = Mutex::new((device.buffer(&vec![0.0; partials as usize])?, device.buffer(&[0.0])?));
        Ok(Kernels { kernel, launches, tables, partials })
    }

    /// y = H x; returns x·y if `summed`, which waits for the device.
    fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<Option<f64>, DeviceError> {
        let mut guard = self.partials.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (partials, dot) = &mut *guard;
        for launch in self.launches.iter().filter(|launch| summed || launch.entry != "multiply_finish") {
            let arguments = Arguments::new();
            let arguments = match launch.entry.as_str() {
                "multiply_finish" => {
                    let count = partials.len() as i64;
                    arguments.read("partials", partials).i64("count", count).write("x_dot_y", dot)
                }
                entry => {
                    let vectors = arguments.read("x", x).write("y", y).write("partials", partials);
                    self.tables.pass(entry, vectors)
                }
            };
            self.kernel.launch(launch, arguments)?;
        }
        Ok(if summed { Some(dot.download()?[0]) } else { None })
    }

    fn diagonal(&self, prepared: &Prepared) -> ElementFunction {
        // The host form is for the CPU engine; where kernels run only the text does.
        let host = Arc::new(|_: usize, out: &mut [f64]| out.fill(f64::NAN));
        ElementFunction { text: prepared.diagonal_text(), arguments: self.tables.of_diagonal(), host }
    }
}

impl Hamiltonian {
    /// y = H x, and x·y if `summed` (on the CPU in any case).
    fn run<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>, summed: bool) -> Result<Option<f64>, DeviceError> {
        let n = self.prepared.dimension();
        if x.len() != n || y.len() != n {
            let (expected, found) = (format!("vectors of {n} elements"), format!("{} and {}", x.len(), y.len()));
            return Err(DeviceError::Arguments { what: "multiply by H".into(), expected, found });
        }
        match &self.engine {
            Engine::Kernels(kernels) => kernels.apply(x, y, summed),
            Engine::Cpu(host) => {
                let (Some(x), Some(y)) = (x.as_host(), y.as_host_mut()) else {
                    let (expected, found) = ("vectors on the CPU".into(), "device memory".into());
                    return Err(DeviceError::WrongDevice { what: "multiply by H".into(), expected, found });
                };
                Ok(Some(match &**host {
                    Host::Kronecker(host) => host.apply(x, y),
                    Host::General(host) => host.apply(x, y),
                }))
            }
        }
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
        Ok(self.run(x, y, true)?.unwrap_or(f64::NAN))
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
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
        })
    }

    fn guess(&self) -> Result<Option<ElementFunction>, DeviceError> {
        match (&self.mean_field, &*self.prepared) {
            (Some(mean_field), Prepared::Kronecker { up, down, .. }) => mean_field.guess(up, down, &self.device),
            _ => Ok(None),
        }
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.prepared.cost()
    }
}
