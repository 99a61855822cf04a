//! One run of a solver's vector program on a device, with the model's own diagonal where the program asks for one.

use super::multiply::start;
use eigenforge::exact::Model;
use eigenforge::runtime::{Bind, Device, ElementFunction, LinearOperator, Scalar, Vector};
use eigenforge_templates::vector_program::{Access, VectorProgram};

/// What a run leaves, widened to double.
pub struct Run {
    pub vectors: Vec<Vec<f64>>,
    pub sums: Vec<f64>,
}

impl Run {
    /// All of it as bits.
    pub fn bits(&self) -> impl Iterator<Item = u64> {
        self.vectors.iter().flatten().chain(&self.sums).map(|value| value.to_bits())
    }
}

/// Outputs start as NaN, scalars at 0.7, 0.25, -0.2, ….
pub fn run<T: Scalar>(device: &Device, model: &Model, program: &VectorProgram) -> Run {
    let hamiltonian =
        model.hamiltonian(model.multiply(T::TYPE).unwrap(), device).unwrap_or_else(|error| panic!("{error}"));
    let n = LinearOperator::<T>::dimension(&hamiltonian);
    let diagonal = |_: &String| LinearOperator::<T>::diagonal(&hamiltonian).unwrap();
    let functions: Vec<ElementFunction> = program.functions.iter().map(diagonal).collect();
    let compiled = device.program(program, T::TYPE, &functions).unwrap_or_else(|error| panic!("{error}"));
    let scalars: Vec<f64> = (0..program.scalars.len()).map(|k| 0.7 - 0.45 * k as f64).collect();
    let first = |(v, access): (usize, Access)| match access {
        Access::Out => vec![T::from_f64(f64::NAN); n],
        Access::In | Access::InOut => start(n, v),
    };
    let accesses = program.vectors.iter().map(|declared| declared.access).enumerate();
    let mut vectors: Vec<Vector<T>> = accesses.map(|v| device.upload(&first(v)).unwrap()).collect();
    let mut binds: Vec<Bind<'_, T>> = vectors
        .iter_mut()
        .zip(&program.vectors)
        .map(|(v, d)| if d.access == Access::In { Bind::In(v) } else { Bind::Out(v) })
        .collect();
    let what = |error| panic!("{} of {} on {device:?}: {error}", program.name, model.name());
    let sums = compiled.run(&mut binds, &scalars).unwrap_or_else(what);
    let wide = |vector: &Vector<T>| vector.download().unwrap().iter().map(|value| value.to_f64()).collect();
    Run { vectors: vectors.iter().map(wide).collect(), sums }
}
