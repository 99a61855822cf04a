//! Vector programs on a device: compiled once, run many times, the same numbers on CPU and GPU up to rounding.
//!
//! On a device that runs kernels the program becomes a kernel. On the CPU it becomes a list of loops over chunks that
//! stay in the first-level cache ([`compile`](self) and `execute`).

mod compile;
mod execute;
mod loops;

use crate::device::{Arguments, Buffer, Device, ElementArgument, ElementFunction, Kernel, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use compile::Code;
use eigenforge_templates::vector_program::{Access, VectorProgram};
use eigenforge_templates::{Cost, ElementFunctionText, Launch, ScalarType};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A vector argument of a run.
pub enum Bind<'a, T: Scalar> {
    /// For a vector declared `in`.
    In(&'a Vector<T>),
    /// For a vector declared `out` or `inout`.
    Out(&'a mut Vector<T>),
}

impl<T: Scalar> Bind<'_, T> {
    fn vector(&self) -> &Vector<T> {
        match self {
            Bind::In(vector) => vector,
            Bind::Out(vector) => vector,
        }
    }
}

/// A vector program compiled for one device, one scalar type and one set of element functions.
pub struct Program {
    program: VectorProgram,
    scalar: ScalarType,
    functions: Vec<ElementFunction>,
    device: Device,
    backend: Backend,
}

enum Backend {
    /// With the sums of the last run.
    Cpu(Code, Mutex<Vec<f64>>),
    Kernels {
        kernel: Kernel,
        planned: Box<Mutex<Planned>>,
    },
}

/// The launch for the last length, and memory for its sums; made at the first run.
#[derive(Default)]
struct Planned {
    n: usize,
    /// What ranks that ran it together must have the same.
    check: u64,
    launch: Option<Launch>,
    sums: Option<Sums>,
}

/// Device memory of the sums: partial sums of the blocks, the number of finished blocks, totals.
struct Sums {
    partials: Buffer<f64>,
    arrived: Buffer<u32>,
    totals: Buffer<f64>,
}

impl Program {
    pub(crate) fn new(
        device: &Device,
        program: &VectorProgram,
        scalar: ScalarType,
        functions: &[ElementFunction],
    ) -> Result<Program> {
        let given: Vec<&str> = functions.iter().map(|f| f.text.name.as_str()).collect();
        if given != program.functions {
            return Err(DeviceError::Arguments {
                what: format!("element functions of program {}", program.name),
                expected: format!("[{}]", program.functions.join(", ")),
                found: format!("[{}]", given.join(", ")),
            });
        }
        let backend = match device {
            Device::Cpu(_) => Backend::Cpu(Code::new(program, scalar), Mutex::default()),
            Device::Cuda(_) | Device::Sim(_) => {
                let texts: Vec<ElementFunctionText> = functions.iter().map(|f| f.text.clone()).collect();
                let text = VectorProgram { warp: device.warp(), ..program.clone() }.text(scalar, &texts)?;
                Backend::Kernels { kernel: device.compile(&text)?, planned: Box::default() }
            }
        };
        let (program, functions, device) = (program.clone(), functions.to_vec(), device.clone());
        Ok(Program { program, scalar, functions, device, backend })
    }

    /// The program it was compiled from.
    pub fn program(&self) -> &VectorProgram {
        &self.program
    }

    /// The minimal work of one run over vectors of length `n`.
    pub fn cost(&self, n: usize) -> Cost {
        self.program.cost(n, self.scalar)
    }

    /// Runs over all elements; vectors and scalars in the program's order. Returns the sums in the program's order.
    pub fn run<T: Scalar>(&self, vectors: &mut [Bind<'_, T>], scalars: &[f64]) -> Result<Vec<f64>> {
        self.queue(vectors, scalars)?;
        self.sums()
    }

    /// The same without waiting for the device; [`Program::sums`] returns the sums of the last run.
    pub fn queue<T: Scalar>(&self, vectors: &mut [Bind<'_, T>], scalars: &[f64]) -> Result<()> {
        let n = self.check(vectors, scalars)?;
        let here = vectors.first().map_or(0..0, |bind| bind.vector().here());
        // Ranks that computed with other numbers have gone different ways.
        let check = scalars.iter().fold(n as u64, |check, scalar| check.rotate_left(5) ^ scalar.to_bits());
        match &self.backend {
            Backend::Cpu(code, sums) => {
                let mut found = execute::run(code, &self.functions, vectors, scalars, here);
                self.add_up(check, &mut found)?;
                *sums.lock().unwrap_or_else(PoisonError::into_inner) = found;
                Ok(())
            }
            Backend::Kernels { kernel, planned } => {
                let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
                planned.check = check;
                self.launch(kernel, &mut planned, vectors, scalars, here)
            }
        }
    }

    /// Adds up sums over the ranks of the device, if it has any.
    fn add_up(&self, check: u64, sums: &mut [f64]) -> Result<()> {
        self.device.ranks().map_or(Ok(()), |ranks| ranks.add_up(&self.program.name, check, sums))
    }

    /// The sums of the last run, in the program's order; empty before the first. Waits for the device.
    pub fn sums(&self) -> Result<Vec<f64>> {
        match &self.backend {
            Backend::Cpu(_, sums) => Ok(sums.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            Backend::Kernels { planned, .. } => {
                let planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(sums) = &planned.sums else { return Ok(Vec::new()) };
                let mut found = sums.totals.download()?;
                self.add_up(planned.check, &mut found)?;
                Ok(found)
            }
        }
    }

    /// Checks the arguments against the declarations; returns the common length.
    fn check<T: Scalar>(&self, vectors: &[Bind<'_, T>], scalars: &[f64]) -> Result<usize> {
        let fault = |what: &str, expected: String, found: String| DeviceError::Arguments {
            what: format!("program {}, {what}", self.program.name),
            expected,
            found,
        };
        if T::TYPE != self.scalar {
            return Err(fault("vectors", self.scalar.cuda().into(), T::TYPE.cuda().into()));
        }
        if vectors.len() != self.program.vectors.len() {
            return Err(fault("vectors", self.program.vectors.len().to_string(), vectors.len().to_string()));
        }
        if scalars.len() != self.program.scalars.len() {
            return Err(fault("scalars", self.program.scalars.len().to_string(), scalars.len().to_string()));
        }
        let n = vectors.first().map_or(0, |v| v.vector().len());
        for (bind, declared) in vectors.iter().zip(&self.program.vectors) {
            let what = format!("vector {}", declared.name);
            let vector = bind.vector();
            if matches!(bind, Bind::In(_)) != (declared.access == Access::In) {
                let found = if matches!(bind, Bind::In(_)) { "Bind::In" } else { "Bind::Out" };
                return Err(fault(&what, format!("a binding for {:?}", declared.access), found.into()));
            }
            if vector.len() != n {
                return Err(fault(&what, format!("{n} elements"), vector.len().to_string()));
            }
            if vector.here() != vectors[0].vector().here() {
                let expected = format!("the share {:?}", vectors[0].vector().here());
                return Err(fault(&what, expected, format!("{:?}", vector.here())));
            }
            if !vector.device().is_same(&self.device) {
                return Err(DeviceError::WrongDevice {
                    what,
                    expected: self.device.name(),
                    found: vector.device().name(),
                });
            }
        }
        Ok(n)
    }

    fn launch<T: Scalar>(
        &self,
        kernel: &Kernel,
        planned: &mut Planned,
        vectors: &mut [Bind<'_, T>],
        scalars: &[f64],
        here: Range<usize>,
    ) -> Result<()> {
        let n = here.len();
        let (launch, sums) = planned.prepare(self, n)?;
        let mut names = launch.parameters.iter().map(|parameter| parameter.name.as_str());
        let mut name = || names.next().unwrap_or_default();
        let mut arguments = Arguments::new();
        for bind in vectors {
            arguments = match bind {
                Bind::In(vector) => arguments.read(name(), *vector),
                Bind::Out(vector) => arguments.write(name(), *vector),
            };
        }
        for scalar in scalars {
            arguments = arguments.f64(name(), *scalar);
        }
        for argument in self.functions.iter().flat_map(|f| &f.arguments) {
            arguments = match argument {
                ElementArgument::Memory(memory) => arguments.read(name(), &**memory),
                ElementArgument::I64(v) => arguments.i64(name(), *v),
                ElementArgument::U64(v) => arguments.u64(name(), *v),
                ElementArgument::U32(v) => arguments.u32(name(), *v),
                ElementArgument::F64(v) => arguments.f64(name(), *v),
            };
        }
        if !self.functions.is_empty() {
            arguments = arguments.i64(name(), here.start as i64);
        }
        let Some(Sums { partials, arrived, totals }) = sums else {
            return kernel.launch(launch, arguments.i64("n", n as i64));
        };
        let arguments = arguments.write("partials", partials).write("arrived", arrived).write("totals", totals);
        kernel.launch(launch, arguments.i64("n", n as i64))
    }
}

impl Planned {
    /// The launch for vectors of `n` elements, and memory for its sums if it has any.
    fn prepare(&mut self, program: &Program, n: usize) -> Result<(&Launch, Option<&mut Sums>)> {
        let launch = match self.launch.take() {
            Some(launch) if self.n == n => launch,
            _ => {
                let texts: Vec<ElementFunctionText> = program.functions.iter().map(|f| f.text.clone()).collect();
                program.program.launch(n, program.device.cards_at_work(), program.scalar, &texts)?
            }
        };
        let count = program.program.sums.len();
        let needed = count * launch.grid[0] as usize;
        if self.sums.as_ref().map_or(0, |sums| sums.partials.len()) < needed {
            let device = &program.device;
            let (partials, totals) = (device.buffer(&vec![0.0; needed])?, device.buffer(&vec![0.0; count])?);
            self.sums = Some(Sums { partials, arrived: device.buffer(&[0u32])?, totals });
        }
        self.n = n;
        Ok((self.launch.insert(launch), self.sums.as_mut()))
    }
}
