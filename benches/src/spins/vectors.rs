//! `bench spins --vectors K`: K vectors at once beside K launches of one vector.
//!
//! In: a Hamiltonian and its plan. Out: the times of a block of K vectors with all x·y, multiplied at once wherever there is a text for
//! it and one after the other, and how the plan would divide the block. All products are compared before.

use super::cases::Case;
use super::{Fingerprint, SpinsBenchError, WARM, agree, median, seeded};
use eigenforge::exact::{Hamiltonian, Model, MultiplyPlan};
use eigenforge_runtime::{Device, LinearOperator, Vector};
use serde::Serialize;

/// Times of a block of vectors.
#[derive(Clone, Debug, Serialize)]
pub struct VectorsTime {
    /// Vectors of the block.
    pub vectors: u32,
    /// Median of the multiply with as many at once as there are texts for.
    pub at_once_milliseconds: f64,
    /// How many these are, in order.
    pub at_once: Vec<u32>,
    /// Median of one launch after the other.
    pub apart_milliseconds: f64,
    /// What the plan chooses.
    pub chosen: Vec<u32>,
}

impl std::fmt::Display for VectorsTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = |groups: &[u32]| groups.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ");
        let VectorsTime { vectors, at_once_milliseconds, at_once, apart_milliseconds, chosen } = self;
        write!(
            f,
            "{vectors} vectors: {at_once_milliseconds:.4} ms as {}, {apart_milliseconds:.4} ms one by one, {:.2} x; the plan \
             takes {}",
            words(at_once),
            apart_milliseconds / at_once_milliseconds,
            words(chosen)
        )
    }
}

/// Both times of a block of `vectors` vectors.
pub(super) fn timed(
    (case, model, prepared): (&Case, &Model, &MultiplyPlan),
    device: &Device,
    vectors: u32,
    repeats: u32,
) -> Result<VectorsTime, SpinsBenchError> {
    let n = usize::try_from(model.dimension()).unwrap_or(usize::MAX);
    let blocks = 16 * n as u64 * u64::from(vectors);
    device.check_memory("two blocks of vectors and the tables of a multiply", blocks + 2 * model.table_bytes())?;
    let hamiltonian = model.hamiltonian(prepared.clone(), device)?;
    let chosen = hamiltonian.vectors_at_once(vectors as usize);
    let hamiltonian = hamiltonian.with_vectors_at_once(vectors);
    let at_once = hamiltonian.vectors_at_once(vectors as usize);
    let (together, at_once_milliseconds) = block(&hamiltonian, vectors, repeats)?;
    let (alone, apart_milliseconds) = block(&hamiltonian.with_vectors_at_once(1), vectors, repeats)?;
    for (one, other) in together.iter().zip(&alone) {
        agree(case, "a launch of its own", one, other)?;
    }
    Ok(VectorsTime { vectors, at_once_milliseconds, at_once, apart_milliseconds, chosen })
}

/// The products of a block of seeded vectors, and the median time of the multiply.
fn block(hamiltonian: &Hamiltonian, vectors: u32, repeats: u32) -> Result<(Vec<Fingerprint>, f64), SpinsBenchError> {
    let (device, n) = (LinearOperator::<f64>::device(hamiltonian), LinearOperator::<f64>::dimension(hamiltonian));
    let host = |number: u32| seeded::vector(n, seeded::SEED_X + u64::from(number));
    let x: Vec<Vector<f64>> = (0..vectors).map(|number| device.upload(&host(number))).collect::<Result<_, _>>()?;
    let mut y: Vec<Vector<f64>> = (0..vectors).map(|_| device.zeros(n)).collect::<Result<_, _>>()?;
    let of_x: Vec<&Vector<f64>> = x.iter().collect();
    let mut times = Vec::new();
    let warm = if repeats == 1 { 0 } else { WARM };
    for _ in 0..warm + repeats as usize {
        let (products, milliseconds) = device.time(|| hamiltonian.apply_block(&of_x, &mut y))?;
        products?;
        times.push(milliseconds);
    }
    let fingerprint = |(number, y): (u32, &Vector<f64>)| Ok(Fingerprint::new(&host(number), &y.download()?));
    let products = (0..).zip(&y).map(fingerprint).collect::<Result<Vec<_>, SpinsBenchError>>()?;
    Ok((products, median(&times[warm..])))
}
