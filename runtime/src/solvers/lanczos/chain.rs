//! The chain of a vector that is given: α and β of its Krylov space, from which its resolvent follows.
//!
//! In: A, a vector φ. Out: ‖φ‖² and the tridiagonal matrix T of A in the basis v₀ = φ/‖φ‖, v₁, …, so that
//! ⟨φ| f(A) |φ⟩ ≈ ‖φ‖² f(T)₀₀. The chain is closed when β falls to rounding: then this is exact. Short vectors are kept, and each is made
//! orthogonal to all before it. Of long ones, where that would take most of the time, it is left out: copies of converged poles appear, which
//! share the weight of one, and f(T)₀₀ converges as well.

use super::super::run::Run;
use super::super::{SolveOptions, symmetric_eigen};
use super::VECTORS;
use super::projected::Projected;
use super::recurrence::{Recurrence, scale_of, sum};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// Elements of vectors that are kept orthogonal.
const SHORT: usize = 1 << 14;
/// β of so many roundings of the norm of A is none.
const CLOSED: f64 = 64.0;

/// The tridiagonal matrix of a Krylov space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KrylovChain {
    /// ‖φ‖².
    pub weight: f64,
    /// The diagonal.
    pub alpha: Vec<f64>,
    /// β between each vector and the next; the last leads out of the chain.
    pub beta: Vec<f64>,
    /// Whether the chain ends by itself.
    pub closed: bool,
    /// Whether all vectors were kept orthogonal.
    pub orthogonal: bool,
}

impl KrylovChain {
    /// Eigenvalues of T, ascending, with the parts of ‖φ‖² that they have.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn poles(&self) -> Result<Vec<[f64; 2]>, SolveError> {
        let n = self.alpha.len();
        let mut matrix = vec![0.0; n * n];
        for (i, alpha) in self.alpha.iter().enumerate() {
            matrix[i * n + i] = *alpha;
            if i + 1 < n {
                (matrix[i * n + i + 1], matrix[(i + 1) * n + i]) = (self.beta[i], self.beta[i]);
            }
        }
        let (values, vectors) = symmetric_eigen(n, &matrix)?;
        let weighted = values.iter().zip(&vectors).map(|(value, vector)| [*value, self.weight * vector[0] * vector[0]]);
        Ok(weighted.collect())
    }
}

/// The chain of `start`, of at most `steps` steps. `is_enough` is asked after each step.
///
/// # Errors
/// No room for three vectors; numbers that are not finite.
pub fn krylov_chain<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    start: &[T],
    steps: usize,
    mut is_enough: impl FnMut(&KrylovChain) -> bool,
) -> Result<KrylovChain, SolveError> {
    let options = SolveOptions::default();
    let run = Run::new(operator, &options);
    run.plan_memory(operator, "a Lanczos chain", VECTORS, "")?;
    let steps = steps.min(operator.dimension());
    // One more than the steps, for the vector that the last makes.
    let is_short = operator.dimension() <= SHORT && run.spare(operator, VECTORS) > steps;
    let capacity = if is_short { steps + 1 } else { 0 };
    let mut recurrence = Recurrence::new(&run, operator, capacity)?;
    recurrence.start().write_part(0, start)?;
    let weight = {
        let own = recurrence.start();
        run.algebra.dot(own, own)?
    };
    let mut chain = KrylovChain { weight, orthogonal: capacity > 0, ..KrylovChain::default() };
    if weight <= 0.0 {
        return Ok(KrylovChain { closed: true, ..chain });
    }
    run.finite(weight, 0)?;
    recurrence.begin()?;
    for step in 0..steps {
        recurrence.advance(step)?;
        chain.orthogonal &= recurrence.orthogonalised()?;
        chain.alpha.push(recurrence.projected.alpha()[step]);
        chain.beta.push(recurrence.beta);
        let is_whole = chain.orthogonal && step + 1 == operator.dimension();
        chain.closed = recurrence.beta <= CLOSED * T::EPSILON * run.norm || is_whole;
        if chain.closed || is_enough(&chain) {
            break;
        }
    }
    Ok(chain)
}

impl<T: Scalar> Recurrence<'_, T> {
    /// Makes the newest vector orthogonal to all kept ones, and says whether they all are.
    fn orthogonalised(&mut self) -> Result<bool, SolveError> {
        let newest = self.projected.size();
        if self.filled <= newest {
            return Ok(false);
        }
        let (before, rest) = self.slots.split_at_mut(newest);
        let vector: &mut Vector<T> = &mut rest[0];
        let list: Vec<&Vector<T>> = before.iter().collect();
        let overlaps = self.run.algebra.gram(&list, &[&*vector])?;
        // u = length · v on both sides.
        let c: Vec<f64> = overlaps.iter().zip(&self.scales).map(|(row, scale)| -row[0] * scale).collect();
        sum(self.run, vector, before, &c, &self.scales[..newest], true)?;
        self.beta = self.run.algebra.dot(vector, vector)?.sqrt();
        self.scale = scale_of(self.beta);
        self.scales[newest] = self.scale;
        self.projected = Projected::chain(
            self.projected.alpha().to_vec(),
            [&self.projected.beta()[..newest - 1], &[self.beta]].concat(),
        );
        Ok(true)
    }
}
