//! The chain of a vector that is given: α and β of its Krylov space, from which its resolvent follows.
//!
//! In: A, a vector φ. Out: ‖φ‖² and the tridiagonal matrix T of A in the basis v₀ = φ/‖φ‖, v₁, …, so that
//! ⟨φ| f(A) |φ⟩ ≈ ‖φ‖² f(T)₀₀. The chain is closed when β falls to rounding: then this is exact. Short vectors are kept, and each is made
//! orthogonal to all before it. Of long ones, where that would take most of the time, it is left out: copies of converged poles appear, which
//! share the weight of one, and f(T)₀₀ converges as well.
//!
//! With overlaps ⟨v_j|b⟩ of other vectors b it has ⟨φ| f(A) |b⟩ ≈ ‖φ‖ Σ_j f(T)₀ⱼ ⟨v_j|b⟩ too: f(A)|φ⟩ ≈ ‖φ‖ Σ_j f(T)_j₀ v_j holds also where
//! the v_j are not orthogonal (V. Druskin and L. Knizhnerman, Numer. Linear Algebra Appl. 2, 205 (1995)), though not by single poles.

use super::super::run::Run;
use super::super::{SolveOptions, symmetric_eigen};
use super::VECTORS;
use super::projected::Projected;
use super::recurrence::{Recurrence, scale_of, sum};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use serde::{Deserialize, Serialize};

/// Elements of vectors that are kept orthogonal.
pub(in super::super) const SHORT: usize = 1 << 14;
/// β of so many roundings of the norm of A is none.
const CLOSED: f64 = 64.0;

/// The tridiagonal matrix of a Krylov space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// ⟨v_j|b⟩ of each vector b that was given beside φ, a number for each step.
    pub overlaps: Vec<Vec<f64>>,
}

/// An eigenvalue of T with what it has of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct RitzLine {
    /// The eigenvalue.
    pub value: f64,
    /// Its part of ‖φ‖².
    pub weight: f64,
    /// Its part of ⟨φ|b⟩ of each b.
    pub overlaps: Vec<f64>,
}

impl KrylovChain {
    /// The chain after so many of its steps.
    pub fn shortened(&self, steps: usize) -> KrylovChain {
        let steps = steps.min(self.alpha.len());
        let first = |list: &Vec<f64>| list[..steps].to_vec();
        KrylovChain {
            alpha: first(&self.alpha),
            beta: first(&self.beta),
            overlaps: self.overlaps.iter().map(first).collect(),
            closed: self.closed && steps == self.alpha.len(),
            ..*self
        }
    }

    /// Eigenvalues of T after so many steps, ascending, and its eigenvectors.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn ritz(&self, steps: usize) -> Result<(Vec<f64>, Vec<Vec<f64>>), SolveError> {
        let n = steps.min(self.alpha.len());
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = self.alpha[i];
            if i + 1 < n {
                (matrix[i * n + i + 1], matrix[(i + 1) * n + i]) = (self.beta[i], self.beta[i]);
            }
        }
        symmetric_eigen(n, &matrix)
    }

    /// Eigenvalues of T, ascending, with the parts of ‖φ‖² that they have.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn poles(&self) -> Result<Vec<[f64; 2]>, SolveError> {
        Ok(self.lines()?.into_iter().map(|line| [line.value, line.weight]).collect())
    }

    /// Eigenvalues of T, ascending, with their parts of ‖φ‖² and of ⟨φ|b⟩ of each b: Σ f(value) · part is ⟨φ| f(A) |b⟩.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn lines(&self) -> Result<Vec<RitzLine>, SolveError> {
        let (values, vectors) = self.ritz(self.alpha.len())?;
        let length = self.weight.sqrt();
        let of_pair = |(value, vector): (&f64, &Vec<f64>)| {
            let along = |overlaps: &Vec<f64>| -> f64 { overlaps.iter().zip(vector).map(|(own, v)| own * v).sum() };
            RitzLine {
                value: *value,
                weight: self.weight * vector[0] * vector[0],
                overlaps: self.overlaps.iter().map(|own| length * vector[0] * along(own)).collect(),
            }
        };
        Ok(values.iter().zip(&vectors).map(of_pair).collect())
    }
}

/// The chain of `start`, of at most `steps` steps, with the overlaps of its vectors with `others`. `is_enough` is asked after each step.
///
/// # Errors
/// No room for three vectors and the others; numbers that are not finite.
pub fn krylov_chain<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    start: &[T],
    others: &[&[T]],
    steps: usize,
    is_enough: impl FnMut(&KrylovChain) -> bool,
) -> Result<KrylovChain, SolveError> {
    chain(operator, start, others, steps, |_, _| Ok(()), is_enough)
}

/// The chain of `start`, of at most `steps` steps, with its vectors, of length 1.
///
/// # Errors
/// As of [`krylov_chain`].
pub fn krylov_vectors<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    start: &[T],
    steps: usize,
) -> Result<(KrylovChain, Vec<Vec<f64>>), SolveError> {
    let mut vectors = Vec::new();
    let take = |vector: &Vector<T>, scale: f64| {
        vectors.push(vector.download()?.iter().map(|value| scale * value.to_f64()).collect());
        Ok(())
    };
    let chain = chain(operator, start, &[], steps, take, |_| false)?;
    Ok((chain, vectors))
}

/// A chain; `see` is given each of its vectors with the number that makes its length 1.
fn chain<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    start: &[T],
    others: &[&[T]],
    steps: usize,
    mut see: impl FnMut(&Vector<T>, f64) -> Result<(), SolveError>,
    mut is_enough: impl FnMut(&KrylovChain) -> bool,
) -> Result<KrylovChain, SolveError> {
    let options = SolveOptions::default();
    let run = Run::new(operator, &options);
    run.plan_memory(operator, "a Lanczos chain", VECTORS + others.len(), "")?;
    let others = others.iter().map(|other| operator.device().upload(other)).collect::<Result<Vec<_>, _>>()?;
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
    let overlaps = vec![Vec::new(); others.len()];
    let mut chain = KrylovChain { weight, orthogonal: capacity > 0, overlaps, ..KrylovChain::default() };
    if weight <= 0.0 {
        return Ok(KrylovChain { closed: true, ..chain });
    }
    run.finite(weight, 0)?;
    recurrence.begin()?;
    for step in 0..steps {
        for (other, overlaps) in others.iter().zip(&mut chain.overlaps) {
            let overlap = recurrence.scale * run.algebra.dot(other, recurrence.vector(step))?;
            overlaps.push(run.finite(overlap, step)?);
        }
        see(recurrence.vector(step), recurrence.scale)?;
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
    pub(super) fn orthogonalised(&mut self) -> Result<bool, SolveError> {
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
