//! The same symbols in f64, for tables of many: integer sums in 128 bits, prefactors in f64, a few units in the last place.
//!
//! The sums have no rounding, so nothing cancels. Labels whose sums might leave 128 bits take the exact way.

use super::nine_j::{closes, factors, intermediate};
use super::six_j::{RacahSum, triads};
use super::{clebsch_gordan, sign, triangle, wigner_6j};
use crate::error::LabelError;
use crate::exact::Scaled;
use num_bigint::BigInt;

/// Rows of Pascal's triangle whose entries, summed with signs, stay within 128 bits.
const ROWS: usize = 124;

/// Tables of binomials and factorials, and the symbols computed from them.
///
/// ```
/// use eigenforge_su3::{Symbols, wigner_6j};
/// # fn main() -> Result<(), eigenforge_su3::LabelError> {
/// let two_j = [6, 5, 5, 9, 10, 6];
/// let quick = Symbols::new().six_j(two_j)?;
/// assert!((quick - wigner_6j(two_j)?.to_f64()).abs() < 1e-17); // -√(13/41580)
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Symbols {
    binomials: Vec<Vec<i128>>,
    factorials: Vec<f64>,
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols::new()
    }
}

impl Symbols {
    /// Fills the tables; 8,000 numbers.
    pub fn new() -> Symbols {
        let mut binomials: Vec<Vec<i128>> = vec![vec![1]];
        for n in 1..=ROWS {
            let last = &binomials[n - 1];
            let inner = (1..n).map(|k| last[k - 1] + last[k]);
            binomials.push(std::iter::once(1).chain(inner).chain([1]).collect());
        }
        let mut factorial = BigInt::from(1);
        let factorials = (0..=ROWS + 2).map(|n| {
            factorial *= n.max(1);
            Scaled::integer(&factorial).to_f64()
        });
        Symbols { factorials: factorials.collect(), binomials }
    }

    /// ⟨j1 m1 j2 m2|j3 m3⟩ from doubled arguments.
    ///
    /// # Errors
    ///
    /// The errors of [`clebsch_gordan`].
    pub fn clebsch_gordan(&self, two_j: [i64; 3], two_m: [i64; 3]) -> Result<f64, LabelError> {
        let ([j1, j2, j3], [m1, m2, m3]) = (two_j, two_m);
        let valid = (0..3).all(|i| two_m[i].abs() <= two_j[i] && (two_j[i] + two_m[i]) % 2 == 0);
        if !valid || (j1 + j2 + j3) / 2 + 1 > ROWS as i64 {
            return clebsch_gordan(two_j, two_m).map(|exact| exact.to_f64());
        }
        if m1 + m2 != m3 || !triangle(j1, j2, j3) {
            return Ok(0.0);
        }
        let [a, b, c] = [(j1 + j2 - j3) / 2, (j1 - j2 + j3) / 2, (j2 + j3 - j1) / 2];
        let (first, second) = ((j1 - m1) / 2, (j2 + m2) / 2);
        let mut sum = 0i128;
        for z in 0.max(first - b).max(second - c)..=a.min(first).min(second) {
            let term = self.choose(a, z) * self.choose(b, first - z) * self.choose(c, second - z);
            sum += if z % 2 == 0 { term } else { -term };
        }
        let real = |n, k| self.choose(n, k) as f64;
        let above = real(j1, a) * real(j2, a);
        let below = real((j1 + j2 + j3) / 2 + 1, a) * real(j1, first) * real(j2, second) * real(j3, (j3 - m3) / 2);
        Ok(sum as f64 * (above / below).sqrt())
    }

    /// {j1 j2 j3; j4 j5 j6} from doubled arguments.
    ///
    /// # Errors
    ///
    /// The errors of [`wigner_6j`].
    pub fn six_j(&self, two_j: [i64; 6]) -> Result<f64, LabelError> {
        let closes = two_j.iter().all(|j| *j >= 0) && triads(two_j).iter().all(|[a, b, c]| triangle(*a, *b, *c));
        if !closes {
            return wigner_6j(two_j).map(|exact| exact.to_f64());
        }
        let racah = RacahSum::new(two_j);
        // Bits of the largest term: C(n, k) < 2^n.
        if racah.last + 1 + racah.spans.iter().sum::<i64>() > 120 {
            return wigner_6j(two_j).map(|exact| exact.to_f64());
        }
        let mut sum = 0i128;
        for t in racah.first..=racah.last {
            let inner = (0..3).map(|i| self.choose(racah.spans[i], t - racah.alpha[i + 1]));
            let term = inner.fold(self.choose(t + 1, t - racah.alpha[0]), |product, factor| product * factor);
            sum += if t % 2 == 0 { term } else { -term };
        }
        let factorial = |n: i64| self.factorials[n as usize];
        let front = factorial(racah.alpha[0] + 1) / racah.spans.iter().map(|span| factorial(*span)).product::<f64>();
        Ok(sum as f64 * triads(two_j).into_iter().fold(front, |product, triad| product * self.delta(triad)))
    }

    /// The 9j symbol from doubled arguments, as the sum over products of three 6j symbols. With a spin ½ among them the
    /// sum has two terms at most.
    ///
    /// # Errors
    ///
    /// The errors of [`super::wigner_9j`].
    pub fn nine_j(&self, two_j: [i64; 9]) -> Result<f64, LabelError> {
        if two_j.iter().any(|j| *j < 0) {
            return super::wigner_9j(two_j).map(|exact| exact.to_f64());
        }
        if !closes(two_j) {
            return Ok(0.0);
        }
        let mut sum = 0.0;
        for k in intermediate(two_j) {
            let [first, second, third] = factors(two_j, k);
            sum += (sign(k) * (k + 1)) as f64 * self.six_j(first)? * self.six_j(second)? * self.six_j(third)?;
        }
        Ok(sum)
    }

    fn choose(&self, n: i64, k: i64) -> i128 {
        if k < 0 || k > n { 0 } else { self.binomials[n as usize][k as usize] }
    }

    /// Δ(abc).
    fn delta(&self, [a, b, c]: [i64; 3]) -> f64 {
        let factorial = |sum: i64| self.factorials[(sum / 2) as usize];
        let above = factorial(a + b - c) * factorial(a - b + c) * factorial(b + c - a);
        (above / self.factorials[((a + b + c) / 2 + 1) as usize]).sqrt()
    }
}
