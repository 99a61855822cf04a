//! H by one way to multiply, on a device.

use eigenforge::ci::{self, Hamiltonian, Integrals, Space};
use eigenforge::runtime::{Bind, Device, LinearOperator};
use eigenforge_templates::ScalarType;
use eigenforge_templates::ci::FullCiShape;
use eigenforge_templates::vector_program::VectorProgram;

/// Full CI, in a shape or in the model's.
pub fn full_ci(
    integrals: &Integrals,
    space: &Space,
    shape: Option<FullCiShape>,
    device: &Device,
) -> impl LinearOperator<f64> + use<> {
    let plan = ci::full_ci(integrals, space, shape, device).unwrap_or_else(|error| panic!("{shape:?}: {error}"));
    Hamiltonian::new(plan, "ci", device).unwrap_or_else(|error| panic!("{shape:?}: {error}"))
}

/// Row by row, with a number of lanes or the model's.
pub fn row_by_row(
    integrals: &Integrals,
    space: &Space,
    lanes: Option<u32>,
    device: &Device,
) -> impl LinearOperator<f64> + use<> {
    let plan = ci::row_by_row(integrals, space, lanes, device).unwrap_or_else(|error| panic!("{lanes:?}: {error}"));
    Hamiltonian::new(plan, "ci", device).unwrap_or_else(|error| panic!("{lanes:?}: {error}"))
}

/// The same from a table of at most so many bytes, or of all rows.
pub fn element_table(
    integrals: &Integrals,
    space: &Space,
    most: Option<u64>,
    device: &Device,
) -> impl LinearOperator<f64> + use<> {
    let plan = ci::element_table(integrals, space, most, device).unwrap_or_else(|error| panic!("{most:?}: {error}"));
    Hamiltonian::new(plan, "ci", device).unwrap_or_else(|error| panic!("{most:?}: {error}"))
}

/// The diagonal that vector programs compute; of a rank, of all.
pub fn diagonal(operator: &dyn LinearOperator<f64>) -> Vec<f64> {
    let program = VectorProgram::parse("program copy\nvectors d : out\nfunctions diagonal\nd = diagonal\n").unwrap();
    let device = operator.device();
    let mut found = device.upload(&vec![f64::NAN; operator.dimension()]).unwrap();
    let diagonal = operator.diagonal().unwrap().named("diagonal");
    device.program(&program, ScalarType::F64, &[diagonal]).unwrap().run(&mut [Bind::Out(&mut found)], &[]).unwrap();
    found.download().unwrap()
}
