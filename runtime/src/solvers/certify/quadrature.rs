//! What a chain of Lanczos says of states that it does not show.
//!
//! In: α and β of m steps from a start g. Out: how large a part of g a state at a given place below the Ritz values can have. The steps
//! fix 2m moments of the spectral measure of g; the largest mass that a measure with these moments has at a place is the
//! Christoffel function 1 / Σ p_j², p_j the orthonormal polynomials there (Akhiezer 1965, section 2.5; Golub and Meurant 2010). It is the square
//! of the residual that minimal residuals reach for (A − λ) z = g: a state at λ has the same part of the residual as of g.

/// The polynomials at one place, as the steps go on.
#[derive(Clone, Debug)]
pub(super) struct Christoffel {
    at: f64,
    /// p_j and p_{j−1}, and Σ p_j², all over a common factor.
    now: f64,
    before: f64,
    sum: f64,
    /// The logarithm of the factor's square.
    logarithm: f64,
    beta: f64,
}

impl Christoffel {
    /// Before the first step.
    pub(super) fn new(at: f64) -> Christoffel {
        Christoffel { at, now: 1.0, before: 0.0, sum: 0.0, logarithm: 0.0, beta: 0.0 }
    }

    /// Takes in a step: Σ then includes p_j.
    pub(super) fn push(&mut self, alpha: f64, beta: f64) {
        self.sum += self.now * self.now;
        let next = (self.at - alpha) * self.now - self.beta * self.before;
        (self.before, self.now, self.beta) = (self.now, next / beta, beta);
        let large = self.now.abs();
        if large > 1e100 {
            self.logarithm += 2.0 * large.ln();
            (self.now, self.before, self.sum) = (self.now / large, self.before / large, self.sum / (large * large));
        }
    }

    /// ln Σ p_j².
    pub(super) fn logarithm(&self) -> f64 {
        self.sum.max(f64::MIN_POSITIVE).ln() + self.logarithm
    }

    /// ln p_{j+1}²: how much the steps have made of a state here.
    pub(super) fn growth(&self) -> f64 {
        2.0 * self.now.abs().max(f64::MIN_POSITIVE).ln() + self.logarithm
    }
}

/// The highest place between `from` and `to` at which the steps allow a state no more than e^(−`enough`) of the start; `from` if there is
/// none.
pub(super) fn empty_up_to(alpha: &[f64], beta: &[f64], (from, to): (f64, f64), enough: f64) -> f64 {
    let is_empty = |at: f64| {
        let mut polynomials = Christoffel::new(at);
        alpha.iter().zip(beta).for_each(|(alpha, beta)| polynomials.push(*alpha, *beta));
        polynomials.logarithm() >= enough
    };
    let (mut low, mut high) = (from, to);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if is_empty(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal matrix with these values, from a start with these squares, by Lanczos in full.
    fn steps(values: &[f64], squares: &[f64], count: usize) -> (Vec<f64>, Vec<f64>) {
        let mut basis = vec![squares.iter().map(|square| square.sqrt()).collect::<Vec<f64>>()];
        let (mut alpha, mut beta) = (vec![], vec![]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for _ in 0..count {
            let v = basis.last().unwrap().clone();
            let mut next: Vec<f64> = v.iter().zip(values).map(|(v, value)| v * value).collect();
            alpha.push(dot(&v, &next));
            for _ in 0..2 {
                for b in &basis {
                    let overlap = dot(b, &next);
                    next.iter_mut().zip(b).for_each(|(next, b)| *next -= overlap * b);
                }
            }
            let length = dot(&next, &next).sqrt();
            beta.push(length);
            next.iter_mut().for_each(|next| *next /= length);
            basis.push(next);
        }
        (alpha, beta)
    }

    #[test]
    fn a_state_has_no_more_of_the_start_than_the_steps_allow() {
        let values: Vec<f64> = std::iter::once(-1.0).chain((0..60).map(|k| f64::from(k) / 60.0)).collect();
        for hidden in [1e-2, 1e-6, 1e-10] {
            let mut squares = vec![(1.0 - hidden) / 60.0; 61];
            squares[0] = hidden;
            let (alpha, beta) = steps(&values, &squares, 30);
            let mut polynomials = Christoffel::new(-1.0);
            let mut last = f64::NEG_INFINITY;
            for (alpha, beta) in alpha.iter().zip(&beta) {
                polynomials.push(*alpha, *beta);
                assert!(polynomials.logarithm() <= -hidden.ln() + 1e-3, "the bound holds");
                last = polynomials.logarithm();
                // Once the state is a Ritz vector, rounding grows.
                if last > -hidden.ln() - 1e-3 {
                    break;
                }
            }
            assert!(last > -hidden.ln() - 0.1, "and is reached: {last} for {}", -hidden.ln());
        }
        let (alpha, beta) = steps(&values[1..], &[1.0 / 60.0; 60], 25);
        let reached = empty_up_to(&alpha, &beta, (-1.0, 0.0), (60.0f64 * 1e6).ln());
        assert!(reached > -0.2 && reached < 0.0, "nothing lies far below 0: {reached}");
    }

    #[test]
    fn long_chains_do_not_overflow() {
        let mut polynomials = Christoffel::new(-10.0);
        (0..2000).for_each(|_| polynomials.push(0.0, 0.5));
        assert!(polynomials.logarithm().is_finite() && polynomials.logarithm() > 1e4);
        assert!(polynomials.growth() > polynomials.logarithm() - 1.0);
    }
}
