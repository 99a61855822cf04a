//! Vector programs on a device: compiled once, run many times, the same numbers on CPU and GPU up to rounding.
//!
//! On CUDA the program is one generated kernel (and a second small one for the sums). On the CPU it becomes a list of
//! loops over chunks that stay in the first-level cache ([`compile`](self) and `execute`).

mod compile;
mod execute;
mod loops;

use crate::device::{Buffer, Device, ElementArgument, ElementFunction, Kernel, KernelArg, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use compile::Code;
use eigenforge_templates::vector_program::{Access, THREADS, VectorProgram, blocks};
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
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
    Cuda { kernel: Kernel, sums: Mutex<Option<Sums>> },
}

/// Device memory of the two-stage sums, made at the first run.
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
            Device::Cuda(_) => {
                let texts: Vec<ElementFunctionText> = functions.iter().map(|f| f.text.clone()).collect();
                Backend::Cuda { kernel: device.compile(&program.text(scalar, &texts)?)?, sums: Mutex::new(None) }
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
            Backend::Cuda { kernel, sums } => self.launch(kernel, sums, vectors, scalars, n),
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
        sums: &Mutex<Option<Sums>>,
        vectors: &mut [Bind<'_, T>],
        scalars: &[f64],
        n: usize,
    ) -> Result<Vec<f64>> {
        let name = &self.program.name;
        let count = self.program.sums.len();
        let grid = blocks(n, self.scalar);
        let mut guard = sums.lock().unwrap_or_else(PoisonError::into_inner);
        if count > 0 && guard.as_ref().is_none_or(|s| s.partials.len() < count * grid as usize) {
            let partials = self.device.buffer(&vec![0.0; count * grid as usize])?;
            *guard = Some(Sums { partials, totals: self.device.buffer(&vec![0.0; count])? });
        }
        let mut arguments: Vec<KernelArg<'_>> = Vec::new();
        for bind in vectors {
            arguments.push(match bind {
                Bind::In(vector) => KernelArg::Memory(*vector),
                Bind::Out(vector) => KernelArg::MemoryMut(*vector),
            });
        }
        arguments.extend(scalars.iter().map(|s| KernelArg::F64(*s)));
        for argument in self.functions.iter().flat_map(|f| &f.arguments) {
            arguments.push(match argument {
                ElementArgument::Memory(memory) => KernelArg::Memory(&**memory),
                ElementArgument::I64(v) => KernelArg::I64(*v),
                ElementArgument::U64(v) => KernelArg::U64(*v),
                ElementArgument::U32(v) => KernelArg::U32(*v),
                ElementArgument::F64(v) => KernelArg::F64(*v),
            });
        }
        let Some(Sums { partials, totals }) = guard.as_mut() else {
            arguments.push(KernelArg::I64(n as i64));
            kernel.launch(name, [grid, 1, 1], THREADS, 0, &arguments)?;
            return Ok(Vec::new());
        };
        arguments.push(KernelArg::MemoryMut(partials));
        arguments.push(KernelArg::I64(n as i64));
        kernel.launch(name, [grid, 1, 1], THREADS, 0, &arguments)?;
        drop(arguments);
        let arguments = [KernelArg::Memory(partials), KernelArg::I32(grid as i32), KernelArg::MemoryMut(totals)];
        kernel.launch(&format!("{name}_finish"), [count as u32, 1, 1], THREADS, 0, &arguments)?;
        totals.download()
    }
}
