//! Vector programs on a device: compiled once, run many times, the same numbers on CPU and GPU up to rounding.
//!
//! Where kernels run the program is one of them (and a second small one for the sums). On the CPU it becomes a list of
//! loops over chunks that stay in the first-level cache ([`compile`](self) and `execute`).

mod compile;
mod execute;
mod loops;

use crate::device::{Arguments, Buffer, Device, ElementArgument, ElementFunction, Kernel, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use compile::Code;
use eigenforge_templates::vector_program::{Access, VectorProgram};
use eigenforge_templates::{Cost, ElementFunctionText, Launch, ScalarType};
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
    Cpu(Code),
    Kernels { kernel: Kernel, planned: Mutex<Planned> },
}

/// The launches of the last length, and memory for their sums; made at the first run.
#[derive(Default)]
struct Planned {
    n: usize,
    launches: Vec<Launch>,
    sums: Option<Sums>,
}

/// Device memory of the two-stage sums.
struct Sums {
    partials: Buffer<f64>,
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
            Device::Cpu(_) => Backend::Cpu(Code::new(program, scalar)),
            Device::Cuda(_) | Device::Sim(_) => {
                let texts: Vec<ElementFunctionText> = functions.iter().map(|f| f.text.clone()).collect();
                Backend::Kernels { kernel: device.compile(&program.text(scalar, &texts)?)?, planned: Mutex::default() }
            }
        };
        let (program, functions, device) = (program.clone(), functions.to_vec(), device.clone());
        Ok(Program { program, scalar, functions, device, backend })
    }

    /// The program it was compiled from.
    pub fn program(&self) -> &VectorProgram {
        &self.program
    }

    /// The least work of one run over vectors of length `n`.
    pub fn cost(&self, n: usize) -> Cost {
        self.program.cost(n, self.scalar)
    }

    /// Runs over all elements; vectors and scalars in the program's order. Returns the sums in the program's order.
    pub fn run<T: Scalar>(&self, vectors: &mut [Bind<'_, T>], scalars: &[f64]) -> Result<Vec<f64>> {
        let n = self.check(vectors, scalars)?;
        match &self.backend {
            Backend::Cpu(code) => Ok(execute::run(code, &self.functions, vectors, scalars, n)),
            Backend::Kernels { kernel, planned } => self.launch(kernel, planned, vectors, scalars, n),
        }
    }

    /// Compares the arguments with the declarations; returns the common length.
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
            if !vector.device().same(&self.device) {
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
        planned: &Mutex<Planned>,
        vectors: &mut [Bind<'_, T>],
        scalars: &[f64],
        n: usize,
    ) -> Result<Vec<f64>> {
        let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
        let Planned { launches, sums, .. } = planned.of(self, n)?;
        let Some((sweep, finish)) = launches.split_first() else { return Ok(Vec::new()) };
        let mut names = sweep.parameters.iter().map(|parameter| parameter.name.as_str());
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
        let (Some(Sums { partials, totals }), [finish]) = (sums, finish) else {
            kernel.launch(sweep, arguments.i64("n", n as i64))?;
            return Ok(Vec::new());
        };
        kernel.launch(sweep, arguments.write("partials", partials).i64("n", n as i64))?;
        let blocks = sweep.grid[0] as i32;
        let arguments = Arguments::new().read("partials", partials).i32("blocks", blocks).write("sums", totals);
        kernel.launch(finish, arguments)?;
        totals.download()
    }
}

impl Planned {
    /// The launches for vectors of `n` elements, and room for their sums.
    fn of(&mut self, program: &Program, n: usize) -> Result<&mut Planned> {
        if self.launches.is_empty() || self.n != n {
            let texts: Vec<ElementFunctionText> = program.functions.iter().map(|f| f.text.clone()).collect();
            self.launches = program.program.launches(n, program.scalar, &texts)?;
            self.n = n;
        }
        let count = program.program.sums.len();
        let needed = count * self.launches.first().map_or(0, |sweep| sweep.grid[0] as usize);
        if self.sums.as_ref().map_or(0, |sums| sums.partials.len()) < needed {
            let partials = program.device.buffer(&vec![0.0; needed])?;
            self.sums = Some(Sums { partials, totals: program.device.buffer(&vec![0.0; count])? });
        }
        Ok(self)
    }
}
