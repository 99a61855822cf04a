//! H on a device: the one type that every solver multiplies with.
//!
//! The plan is made from the model's structure, its text from the plan; on the CPU the same structure runs through
//! [`KroneckerCpu`] or [`GeneralCpu`]. A pass costs what [`eigenforge_templates::exact`] says.

use super::general_cpu::GeneralCpu;
use super::kronecker_cpu::KroneckerCpu;
use super::model::Model;
use super::species::SpeciesMatrix;
use super::structure::Moves;
use crate::basis::{LinTables, Sector};
use crate::operator::OperatorError;
use eigenforge_runtime::{
    Buffer, Device, DeviceError, ElementArgument, ElementFunction, Kernel, KernelArg, LinearOperator, Scalar, Vector,
    trace,
};
use eigenforge_templates::exact::{GeneralPlan, IndexWord, KroneckerPlan};
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, ScalarType, TextError};
use std::sync::{Arc, Mutex};

/// Everything fixed about the multiply of one model: its plan, and the tables that go with it.
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
                let plan = GeneralPlan::new(
                    model.name().to_string(),
                    scalar,
                    tables.low_bits,
                    tables.parts.len() as u64,
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

    /// The diagonal as an element function of vector programs: its CUDA text and parameters.
    pub fn diagonal_text(&self) -> ElementFunctionText {
        match self {
            Prepared::Kronecker { plan, .. } => plan.diagonal_element(),
            Prepared::General { plan, .. } => plan.diagonal_element(),
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
    engine: Engine,
}

enum Engine {
    Cpu(Arc<Host>),
    Cuda(Box<Cuda>),
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

struct Cuda {
    kernel: Kernel,
    tables: Tables,
    partials: Mutex<(Buffer<f64>, Buffer<f64>)>,
}

enum Tables {
    Kronecker {
        up_start: Buffer<u32>,
        up_words: Words,
        down_start: Buffer<u32>,
        down_words: Words,
        up_states: Arc<Buffer<u32>>,
        down_states: Arc<Buffer<u32>>,
    },
    General {
        part: [Arc<Buffer<u64>>; 4],
        high_offset: Buffer<u64>,
        low_index: Buffer<u32>,
        terms: Option<Terms>,
    },
}

/// Packed neighbours in the plan's word.
enum Words {
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

/// The terms of an operator that is too long to be written out.
struct Terms {
    flip: Buffer<u64>,
    start: Buffer<u32>,
    care: Buffer<u64>,
    pattern: Buffer<u64>,
    sign: Buffer<u64>,
    amplitude: Buffer<f64>,
}

impl Words {
    fn new(device: &Device, word: IndexWord, words: &[u64]) -> Result<Words, DeviceError> {
        // A species without hops still needs a table to point at.
        let words = if words.is_empty() { &[0][..] } else { words };
        Ok(match word {
            IndexWord::U16 => Words::U16(device.buffer(&words.iter().map(|word| *word as u16).collect::<Vec<_>>())?),
            IndexWord::U32 => Words::U32(device.buffer(&words.iter().map(|word| *word as u32).collect::<Vec<_>>())?),
            IndexWord::U64 => Words::U64(device.buffer(words)?),
        })
    }

    fn argument(&self) -> KernelArg<'_> {
        match self {
            Words::U16(buffer) => KernelArg::Memory(buffer),
            Words::U32(buffer) => KernelArg::Memory(buffer),
            Words::U64(buffer) => KernelArg::Memory(buffer),
        }
    }
}

/// State words of one species; a pair of them fits 64 bits, so each fits 32.
fn state_words(device: &Device, words: &[u64]) -> Result<Arc<Buffer<u32>>, DeviceError> {
    Ok(Arc::new(device.buffer(&words.iter().map(|word| *word as u32).collect::<Vec<_>>())?))
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
    /// Plans the multiply, generates and compiles its kernels (on CUDA) and uploads its tables.
    pub fn new(model: &Model, scalar: ScalarType, device: &Device) -> Result<Hamiltonian, PrepareError> {
        let prepared = Prepared::new(model, scalar)?;
        let norm_bound = prepared.norm_bound(model);
        let engine = if device.is_cuda() {
            Engine::Cuda(Box::new(Cuda::new(&prepared, device)?))
        } else {
            Engine::Cpu(Arc::new(match &prepared {
                Prepared::Kronecker { up, down, plan } => Host::Kronecker(KroneckerCpu::new(up, down, &plan.diagonal)),
                Prepared::General { plan, tables } => {
                    Host::General(GeneralCpu::new(tables.clone(), plan.diagonal.clone(), plan.groups.clone()))
                }
            }))
        };
        Ok(Hamiltonian { device: device.clone(), prepared: Arc::new(prepared), norm_bound, engine })
    }

    /// The plan with its tables.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

impl Cuda {
    fn new(prepared: &Prepared, device: &Device) -> Result<Cuda, PrepareError> {
        let kernel = device.compile(&prepared.text()?)?;
        let _tables = trace::span("set up", "tables to the device");
        let (tables, partials) = match prepared {
            Prepared::Kronecker { plan, up, down } => {
                let (up_start, up_words) = up.packed_slices();
                let (down_start, down_words) = down.packed_rows(plan.down_columns as usize);
                let tables = Tables::Kronecker {
                    up_start: device.buffer(&up_start)?,
                    up_words: Words::new(device, plan.up.word, &up_words)?,
                    down_start: device.buffer(&down_start)?,
                    down_words: Words::new(device, plan.down.word, &down_words)?,
                    up_states: state_words(device, &up.states)?,
                    down_states: state_words(device, &down.states)?,
                };
                (tables, plan.partials())
            }
            Prepared::General { plan, tables } => (Tables::general(plan, tables, device)?, u64::from(plan.blocks)),
        };
        let partials = Mutex::new((device.buffer(&vec![0.0; partials as usize])?, device.buffer(&[0.0])?));
        Ok(Cuda { kernel, tables, partials })
    }

    fn apply<T: Scalar>(&self, prepared: &Prepared, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let mut guard = self.partials.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (partials, dot) = &mut *guard;
        let count = match (prepared, &self.tables) {
            (
                Prepared::Kronecker { plan, .. },
                Tables::Kronecker { up_start, up_words, down_start, down_words, up_states, down_states },
            ) => {
                let arguments = [
                    KernelArg::Memory(x),
                    KernelArg::MemoryMut(y),
                    KernelArg::MemoryMut(partials),
                    KernelArg::Memory(up_start),
                    up_words.argument(),
                    KernelArg::Memory(&**up_states),
                    KernelArg::Memory(&**down_states),
                ];
                let grid = [plan.up_blocks() as u32, 1, 1];
                self.kernel.launch("multiply_up", grid, plan.up_threads, plan.up_shared() as u32, &arguments)?;
                if plan.has_down() {
                    let arguments = [
                        KernelArg::Memory(x),
                        KernelArg::MemoryMut(y),
                        KernelArg::MemoryMut(partials),
                        KernelArg::Memory(down_start),
                        down_words.argument(),
                    ];
                    let grid = [plan.down_blocks() as u32, 1, 1];
                    let (threads, shared) = (plan.down_rows * plan.down_lanes, plan.down_shared() as u32);
                    self.kernel.launch("multiply_down", grid, threads, shared, &arguments)?;
                }
                plan.partials()
            }
            (Prepared::General { plan, .. }, Tables::General { part, high_offset, low_index, terms }) => {
                let mut arguments = vec![KernelArg::Memory(x), KernelArg::MemoryMut(y), KernelArg::MemoryMut(partials)];
                arguments.extend(part.iter().map(|table| KernelArg::Memory(&**table)));
                arguments.extend([KernelArg::Memory(high_offset), KernelArg::Memory(low_index)]);
                if let Some(terms) = terms {
                    arguments.extend([
                        KernelArg::Memory(&terms.flip),
                        KernelArg::Memory(&terms.start),
                        KernelArg::Memory(&terms.care),
                        KernelArg::Memory(&terms.pattern),
                        KernelArg::Memory(&terms.sign),
                        KernelArg::Memory(&terms.amplitude),
                    ]);
                }
                self.kernel.launch("multiply", [plan.blocks, 1, 1], plan.threads, 0, &arguments)?;
                u64::from(plan.blocks)
            }
            _ => unreachable!("tables are made from the plan"),
        };
        let arguments = [KernelArg::Memory(partials), KernelArg::I64(count as i64), KernelArg::MemoryMut(dot)];
        self.kernel.launch("multiply_finish", [1, 1, 1], 1024, 0, &arguments)?;
        Ok(dot.download()?[0])
    }
}

impl Tables {
    fn general(plan: &GeneralPlan, tables: &LinTables, device: &Device) -> Result<Tables, DeviceError> {
        let column = |of: fn(&crate::basis::HighPart) -> u64| -> Result<Arc<Buffer<u64>>, DeviceError> {
            Ok(Arc::new(device.buffer(&tables.parts.iter().map(of).collect::<Vec<u64>>())?))
        };
        let part = [
            column(|part| part.start)?,
            column(|part| part.high)?,
            column(|part| part.first_low)?,
            Arc::new(device.buffer(&tables.low_states)?),
        ];
        let terms = if plan.unrolled { None } else { Some(Terms::new(plan, device)?) };
        Ok(Tables::General {
            part,
            high_offset: device.buffer(&tables.high_offset)?,
            low_index: device.buffer(&tables.low_index)?,
            terms,
        })
    }
}

impl Terms {
    fn new(plan: &GeneralPlan, device: &Device) -> Result<Terms, DeviceError> {
        let all: Vec<_> = plan.groups.iter().flat_map(|group| &group.terms).collect();
        let mut start = vec![0u32];
        for group in &plan.groups {
            start.push(start[start.len() - 1] + group.terms.len() as u32);
        }
        Ok(Terms {
            flip: device.buffer(&plan.groups.iter().map(|group| group.flip).collect::<Vec<_>>())?,
            start: device.buffer(&start)?,
            care: device.buffer(&all.iter().map(|term| term.care).collect::<Vec<_>>())?,
            pattern: device.buffer(&all.iter().map(|term| term.pattern).collect::<Vec<_>>())?,
            sign: device.buffer(&all.iter().map(|term| term.sign).collect::<Vec<_>>())?,
            amplitude: device.buffer(&all.iter().map(|term| term.amplitude).collect::<Vec<_>>())?,
        })
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
        let n = self.prepared.dimension();
        if x.len() != n || y.len() != n {
            let found = format!("{} and {}", x.len(), y.len());
            return Err(DeviceError::Arguments {
                what: "multiply by H".into(),
                expected: format!("vectors of {n} elements"),
                found,
            });
        }
        match &self.engine {
            Engine::Cuda(cuda) => cuda.apply(&self.prepared, x, y),
            Engine::Cpu(host) => {
                let (Some(x), Some(y)) = (x.as_host(), y.as_host_mut()) else {
                    return Err(DeviceError::WrongDevice {
                        what: "multiply by H".into(),
                        expected: "vectors on the CPU".into(),
                        found: "device memory".into(),
                    });
                };
                Ok(match &**host {
                    Host::Kronecker(host) => host.apply(x, y),
                    Host::General(host) => host.apply(x, y),
                })
            }
        }
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
            (Engine::Cuda(cuda), prepared) => cuda.diagonal(prepared),
        })
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.prepared.cost()
    }
}

impl Cuda {
    fn diagonal(&self, prepared: &Prepared) -> ElementFunction {
        let arguments = match &self.tables {
            Tables::Kronecker { up_states, down_states, .. } => {
                vec![ElementArgument::Memory(up_states.clone()), ElementArgument::Memory(down_states.clone())]
            }
            Tables::General { part, .. } => {
                part.iter().map(|table| ElementArgument::Memory(table.clone() as Arc<_>)).collect()
            }
        };
        // The host form is for the CPU engine; on a CUDA device only the text runs.
        let host = Arc::new(|_: usize, out: &mut [f64]| out.fill(f64::NAN));
        ElementFunction { text: prepared.diagonal_text(), arguments, host }
    }
}
