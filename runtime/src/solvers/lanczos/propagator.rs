//! exp(−iHt) ψ and exp(−Ht) ψ in Krylov spaces of real vectors.
//!
//! In: a real symmetric H, a complex ψ. A chain of the real start x has an orthonormal basis V and a tridiagonal T, and f(H) x = ‖x‖ V f(T) e₁.
//!
//! * Real H: ψ = a + ib has a chain for a and one for b, of which one that is zero costs nothing;
//!   Re ψ(t) = cos(Ht) a + sin(Ht) b, Im ψ(t) = cos(Ht) b − sin(Ht) a.
//! * Complex H, which stands as a real one on (Re, Im): x = (a, b) has one chain, and ψ(t) = cos(Ht) x − J sin(Ht) x with J (a, b) = (−b, a).
//!
//! Both take as many multiplies as a chain of complex vectors. All vectors of a chain are kept, on the device. In imaginary time, and where vectors
//! are short, each is made orthogonal to all before it. Long ones in real time are not: the bound of [`super::exponential`] needs no orthogonal
//! basis. With A V = V T + β_m v_{m+1} e_mᵀ + F, where F is the rounding of the steps, and w(t) = ‖x‖ V exp(−iTt) e₁, the difference e of w and
//! exp(−iAt) x obeys
//!
//! e′ = −iA e + i ‖x‖ (β_m v_{m+1} e_mᵀ + F) exp(−iTt) e₁,   e(0) = 0,
//!
//! and T is symmetric, so ‖e(t)‖ ≤ ‖x‖ (β_m ∫₀ᵗ |[exp(−iTs)]_{m1}| ds + ‖F‖ t), whatever the overlaps of the columns of V (V. Druskin and
//! L. Knizhnerman, Numer. Linear Algebra Appl. 2, 205 (1995)). Vectors that repeat make a basis less good, which the bound shows.

use super::super::run::Run;
use super::SHORT;
use super::exponential::{BoundedStep, SmallExponential, TimeAxis, longest_step, lowest_value};
use super::recurrence::{Recurrence, sums};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// Vectors of a chain that are always worth their memory.
const USUAL: usize = 36;
/// More hardly make a step longer for each of them.
const MOST: usize = 72;
/// So many vectors of a chain do not make a step longer.
const LOST: f64 = 12.0;
/// Passes over a vector in a step of the recurrence, and of the state at its end.
const PASSES: f64 = 5.0;

/// Vectors of a chain at most. A step of m takes m multiplies of `passes` over a vector, and m passes for the state at its end and at each time
/// within it; it reaches as far as about m − 12 of them divided by the half width of the spectrum. The cost of a unit of time with so many times in
/// it is the least at 12 + √(12 (passes + 5) half width / times). Bases that are made orthogonal, which takes m² passes, have 36.
pub(super) fn useful_vectors(passes: f64, half_width: f64, times: f64) -> usize {
    let best = LOST + (LOST * (passes + PASSES) * half_width / times).sqrt();
    (best as usize).clamp(USUAL, MOST)
}

/// Whether the vectors of a chain are made orthogonal to all before them.
pub(super) fn is_orthogonal(axis: TimeAxis, dimension: usize) -> bool {
    axis == TimeAxis::Imaginary || dimension <= SHORT
}

/// Vectors of a chain at most of an evolution to a time, which wants states at so many.
pub(super) fn most_vectors<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    axis: TimeAxis,
    (until, times): (f64, usize),
) -> usize {
    if is_orthogonal(axis, operator.dimension()) {
        return USUAL;
    }
    let vector = (operator.dimension() * size_of::<T>()) as f64;
    useful_vectors(operator.cost().bytes / vector, 0.5 * operator.norm_bound(), times as f64 / until)
}
/// Fewer make steps that are too short.
pub(super) const FEWEST: usize = 6;
/// Steps of a chain between two looks whether it is long enough.
const LOOK: usize = 4;
/// A part of ψ this short is rounding; its length is counted as an error.
const NOTHING: f64 = 1e-17;
/// Roundings of a step, and of each radian of its fastest phase.
const ROUNDINGS: f64 = 4.0;
/// β of so many roundings of the norm of A is none.
const CLOSED: f64 = 64.0;

/// A complex state as real vectors: two of the length of H, or of a complex H one.
#[derive(Debug)]
pub(super) struct Parts<T: Scalar>(pub Vec<Vector<T>>);

impl<T: Scalar> Parts<T> {
    pub(super) fn zeros(operator: &dyn LinearOperator<T>) -> Result<Parts<T>, SolveError> {
        let count = if operator.is_complex() { 1 } else { 2 };
        let vectors = (0..count).map(|_| operator.device().zeros(operator.dimension()));
        Ok(Parts(vectors.collect::<Result<_, _>>()?))
    }

    /// Of real and imaginary amplitudes, divided by a length.
    pub(super) fn write(&mut self, [re, im]: [&[f64]; 2], length: f64) -> Result<(), SolveError> {
        let scaled = |values: &[f64]| values.iter().map(|value| T::from_f64(value / length)).collect::<Vec<T>>();
        match &mut self.0[..] {
            [whole] => {
                whole.write_part(0, &scaled(re))?;
                whole.write_part(re.len(), &scaled(im))?;
            }
            [a, b] => {
                a.write_part(0, &scaled(re))?;
                b.write_part(0, &scaled(im))?;
            }
            _ => unreachable!("one vector or two"),
        }
        Ok(())
    }

    pub(super) fn norm(&self, run: &Run<'_, T>) -> Result<f64, SolveError> {
        let mut sum = 0.0;
        for vector in &self.0 {
            sum += run.algebra.dot(vector, vector)?;
        }
        Ok(sum.sqrt())
    }

    pub(super) fn scale(&mut self, run: &Run<'_, T>, factor: f64) -> Result<(), SolveError> {
        self.0.iter_mut().try_for_each(|vector| Ok(run.algebra.scale(vector, factor)?))
    }
}

/// The bases of a state, and what is made of them.
pub(super) struct Propagator<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    axis: TimeAxis,
    chains: Vec<Recurrence<'a, T>>,
    /// Whether each vector is made orthogonal to all before it.
    orthogonal: bool,
    /// Of the chains that are not zero.
    small: Vec<Option<SmallExponential>>,
    /// Where sin(Ht) x of a complex H is made.
    turned: Option<Vector<T>>,
    /// What rounding adds to a bound: a step, and a unit of time.
    rounding: [f64; 2],
    /// The length of parts that were left out.
    left_out: f64,
}

/// Vectors of the length of H that a propagator has beside its bases: of a real H three of each recurrence, of a complex one three of the
/// only one, sin x and what turns it.
pub(super) const VECTORS_BESIDE: usize = 6;

impl<'a, T: Scalar> Propagator<'a, T> {
    /// With room for bases of this many vectors.
    pub(super) fn new(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        axis: TimeAxis,
        vectors: usize,
    ) -> Result<Propagator<'a, T>, SolveError> {
        let count = if operator.is_complex() { 1 } else { 2 };
        let chains = (0..count).map(|_| Recurrence::new(run, operator, vectors)).collect::<Result<Vec<_>, _>>()?;
        let is_turned = operator.is_complex() && axis == TimeAxis::Real;
        let turned = is_turned.then(|| operator.device().zeros(operator.dimension())).transpose()?;
        let (small, rounding) = ((0..count).map(|_| None).collect(), [0.0; 2]);
        let orthogonal = is_orthogonal(axis, operator.dimension());
        Ok(Propagator { run, operator, axis, chains, orthogonal, small, turned, rounding, left_out: 0.0 })
    }

    /// Makes bases of a state of length 1, as long as a step of `longest` with an error of `allowed` needs them, at most as long as there is room.
    pub(super) fn begin(&mut self, state: &Parts<T>, longest: f64, allowed: f64) -> Result<(), SolveError> {
        self.left_out = 0.0;
        let share = allowed / self.chains.len() as f64;
        for (number, vector) in state.0.iter().enumerate() {
            let length = self.run.finite(self.run.algebra.dot(vector, vector)?, 0)?.sqrt();
            if length <= NOTHING {
                self.small[number] = None;
                self.left_out += length;
                continue;
            }
            self.chains[number].start().copy_from(vector)?;
            self.small[number] = Some(self.chain(number, (longest, share), length)?);
        }
        let largest = self.exponentials().map(SmallExponential::largest).fold(0.0, f64::max);
        self.rounding = [ROUNDINGS * T::EPSILON, ROUNDINGS * T::EPSILON * largest];
        Ok(())
    }

    fn chain(
        &mut self,
        number: usize,
        (longest, allowed): (f64, f64),
        length: f64,
    ) -> Result<SmallExponential, SolveError> {
        let (axis, dimension, norm) = (self.axis, self.operator.dimension(), self.operator.norm_bound());
        let (chain, orthogonal) = (&mut self.chains[number], self.orthogonal);
        chain.begin()?;
        loop {
            let step = chain.projected.size();
            chain.advance(step)?;
            let size = step + 1;
            let is_kept = if orthogonal { chain.orthogonalised()? } else { chain.filled > size };
            let is_closed = chain.beta <= CLOSED * T::EPSILON * norm || (orthogonal && size == dimension);
            if is_closed || !is_kept || size.is_multiple_of(LOOK) {
                let small = SmallExponential::new(chain.projected.alpha(), chain.projected.beta(), length)?;
                // What is reached with a basis this long is worth looking at where the step is not much longer.
                let is_enough = || {
                    let found = longest_step(&[&small], axis, longest, |_| allowed);
                    found.step >= longest && found.bound <= allowed
                };
                if is_closed || !is_kept || (small.half_width() * longest <= size as f64 && is_enough()) {
                    return Ok(small);
                }
            }
        }
    }

    fn exponentials(&self) -> impl Iterator<Item = &SmallExponential> {
        self.small.iter().flatten()
    }

    /// The lowest value of the projected H, and the length of the state's part along its vector.
    pub(super) fn lowest(&self) -> (f64, f64) {
        let value = lowest_value(&self.exponentials().collect::<Vec<_>>());
        let weights = self.exponentials().map(|small| small.lowest_weight());
        (value, weights.fold(0.0, f64::hypot))
    }

    /// The longest step with an error that is allowed, or that rounding would make in any case. The bound counts rounding.
    pub(super) fn longest_step(&self, longest: f64, allowed: impl Fn(f64) -> f64) -> BoundedStep {
        let made: Vec<&SmallExponential> = self.exponentials().collect();
        if made.is_empty() {
            return BoundedStep { step: longest, bound: self.left_out };
        }
        let [once, for_time] = self.rounding;
        let found = longest_step(&made, self.axis, longest, |time| allowed(time).max(once + for_time * time));
        BoundedStep { bound: found.bound + once + for_time * found.step + self.left_out, ..found }
    }

    /// Writes the state `time` after that of the bases; in imaginary time exp(−(H − lowest) t) ψ, not of length 1.
    pub(super) fn state(&mut self, time: f64, to: &mut Parts<T>) -> Result<(), SolveError> {
        if self.axis == TimeAxis::Imaginary {
            let (shift, _) = self.lowest();
            for (number, to) in to.0.iter_mut().enumerate() {
                match &self.small[number] {
                    Some(small) => {
                        self.combine(number, &[&small.decay(time, shift)], std::slice::from_mut(to), false)?;
                    }
                    None => self.run.algebra.scale(to, 0.0)?,
                }
            }
            return Ok(());
        }
        match &mut to.0[..] {
            [whole] => {
                let Some(small) = &self.small[0] else { return Ok(()) };
                let [cos, sin] = small.cosine_and_sine(time);
                self.combine(0, &[&cos], std::slice::from_mut(whole), false)?;
                let Some(mut made) = self.turned.take() else { unreachable!("made for a complex H") };
                self.combine(0, &[&sin], std::slice::from_mut(&mut made), false)?;
                let turned = self.run.algebra.turned(&made)?;
                self.turned = Some(made);
                self.run.algebra.combine(std::slice::from_mut(whole), &[&turned], &[vec![-1.0]], true)?;
            }
            both => {
                let made: Vec<Option<[Vec<f64>; 2]>> =
                    self.small.iter().map(|small| small.as_ref().map(|small| small.cosine_and_sine(time))).collect();
                let mut is_begun = false;
                for (number, coefficients) in made.iter().enumerate() {
                    let Some([cos, sin]) = coefficients else { continue };
                    let minus: Vec<f64> = sin.iter().map(|s| -s).collect();
                    let (to_re, to_im) = if number == 0 { (cos, &minus) } else { (sin, cos) };
                    self.combine(number, &[to_re, to_im], both, is_begun)?;
                    is_begun = true;
                }
            }
        }
        Ok(())
    }

    /// to ← Σ c_j v_j of a chain with each list of coefficients, plus `to` itself if `add`.
    fn combine(&self, number: usize, c: &[&[f64]], to: &mut [Vector<T>], add: bool) -> Result<(), SolveError> {
        let chain = &self.chains[number];
        let count = c.first().map_or(0, |c| c.len());
        sums(self.run, to, &chain.slots[..count], c, &chain.scales, add)
    }
}
