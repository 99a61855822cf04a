//! Overlaps of canonical states with states projected to good angular momentum, exact but for one root.
//!
//! In: an irrep by (a, b), a = min(λ, μ), b = max(λ, μ), a canonical state (p, q) with 2Λ = t = b + p − q, and K, L, M ≥ 0.
//! Out: J. P. Draayer and Y. Akiyama, J. Math. Phys. 14 (1973) 1904, eq. 26 at M_Λ = Λ, divided by d^Λ_{M/2,Λ}(π/2):
//!
//! ```text
//! F = (−1)^{L−p} (2L+1) 4^{−p} 2^{t/2} √( C(a,p) C(b,q) C(a+b+1,q) C(2L,L−K) / [C(2L,L−M) C(p+b+1,q) C(t,(t+M)/2)] )
//!     · Σ_g C(p,g) I(a−g, g, (a+K)/2) I(p−g, t−p+g, (t+M)/2) S_g
//! S_g = Σ_h (−1)^h C(L−K,h) C(L+K,L−M−h) ∫₀¹ x^i (1−x)^j (1−2x)^k dx,    i = s−h, i+j = a+b+L−p−q, k = p+q−g
//! s = a+b+L − q − (a+K+t+M)/2
//! ```
//! with I(m, n, s) the coefficient of x^s in (1+x)^m (1−x)^n. The printed equation has a sum over reciprocal binomials where
//! the integral stands; its terms alternate and cost all digits in floating point beyond λ + μ + L ≈ 25. Here every number
//! is an integer over one denominator, lcm(1, …, a+b+L+1), which the integrals divide (they are entries of Leibniz's
//! harmonic triangle and their differences). The integers are i128 where a bound shows that they fit, else of any size.

use crate::exact::{Binomials, Scaled};
use num_bigint::BigInt;
use num_integer::Integer;
use std::ops::{AddAssign, Mul, Sub};

/// What the exact sums need of a number.
pub(super) trait Whole: Clone + From<i64> + for<'a> AddAssign<&'a Self> + Send + Sync {
    /// self · other.
    fn times(&self, other: &Self) -> Self;
    /// self − other.
    fn minus(&self, other: &Self) -> Self;
    /// self / other, without a rest.
    fn exact_quotient(&self, other: &Self) -> Self;
    /// The least common multiple.
    fn common_multiple(&self, other: &Self) -> Self;
    /// Rounded once.
    fn scaled(&self) -> Scaled;
}

macro_rules! whole {
    ($type:ty, $scaled:expr) => {
        impl Whole for $type {
            fn times(&self, other: &Self) -> Self {
                Mul::mul(self, other)
            }
            fn minus(&self, other: &Self) -> Self {
                Sub::sub(self, other)
            }
            fn exact_quotient(&self, other: &Self) -> Self {
                self / other
            }
            fn common_multiple(&self, other: &Self) -> Self {
                self.lcm(other)
            }
            fn scaled(&self) -> Scaled {
                $scaled(self)
            }
        }
    };
}
whole!(i128, |n: &i128| Scaled::new(*n as f64));
whole!(BigInt, Scaled::integer);

/// Whether i128 holds every sum of the irrep up to `l_max`: the bits of each factor's bound, added.
pub(super) fn fits_128_bits(a: i64, b: i64, l_max: i64) -> bool {
    let n = a + b + l_max + 1;
    // lcm(1, …, n) < 3^n (Hanson 1972); in practice e^n, which is what ψ(n) < 1.04 n (Rosser and Schoenfeld 1962) says.
    let denominator = (1.04 * n as f64 * std::f64::consts::LOG2_E).ceil() as i64;
    let terms = 64 - (a + 1).leading_zeros() as i64;
    // S_g: C(2L, L−M) in all; the binomials of g: 2^p ≤ 2^a, I ≤ 2^a, I ≤ 2^t ≤ 2^(a+b).
    denominator + 2 * l_max + 2 * a + (a + b) + terms < 126
}

/// Integer tables of one irrep.
pub(super) struct Overlaps<'a, T> {
    a: i64,
    b: i64,
    real: &'a Binomials,
    /// C(n, k).
    binomials: Vec<Vec<T>>,
    /// I(n−m, m, s) at [n][m][s].
    krawtchouk: Vec<Vec<Vec<T>>>,
    /// ∫ x^i (1−x)^(N−k−i) (1−2x)^k dx times the denominator, at [N − b][k][i].
    integrals: Vec<Vec<Vec<T>>>,
    denominator: T,
}

impl<'a, T: Whole> Overlaps<'a, T> {
    /// Tables for angular momenta up to `l_max`; `real` must reach 2 (a + b) + 1.
    pub(super) fn new(a: i64, b: i64, l_max: i64, real: &'a Binomials) -> Overlaps<'a, T> {
        let binomials = pascal::<T>(a + b + l_max + 1);
        let krawtchouk = krawtchouk(&binomials[..=(a + b) as usize]);
        let denominator = (1..=a + b + l_max + 1).fold(T::from(1), |all, n| all.common_multiple(&T::from(n)));
        let integrals = (b..=a + b + l_max).map(|n| integrals(n, a + b, &binomials[n as usize], &denominator));
        let integrals = integrals.collect();
        Overlaps { a, b, real, binomials, krawtchouk, integrals, denominator }
    }

    /// S_g for g = 0..=min(a, sum), in units of 1/denominator; sum = p + q.
    pub(super) fn inner_sums(&self, sum: i64, k: i64, l: i64, m: i64) -> Vec<T> {
        // s depends on p and q by their sum only: t = b + p − q.
        let s = self.a + self.b + l - (self.a + k + self.b + m + sum) / 2;
        let weights: Vec<T> = (0..=(l - k).min(l - m))
            .map(|h| {
                let weight = self.choose(l - k, h).times(self.choose(l + k, l - m - h));
                if h % 2 == 0 { weight } else { T::from(0).minus(&weight) }
            })
            .collect();
        let of = |g: i64| {
            let integrals = &self.integrals[(self.a + l - g) as usize][(sum - g) as usize];
            let mut total = T::from(0);
            for (h, weight) in weights.iter().enumerate() {
                total += &weight.times(&integrals[s as usize - h]);
            }
            total
        };
        (0..=self.a.min(sum)).map(of).collect()
    }

    /// F of the state (p, q), from the sums of p + q and its front factor of [`Overlaps::front`].
    pub(super) fn overlap(&self, [p, q]: [i64; 2], [k, l, m]: [i64; 3], inner_sums: &[T], front: Scaled) -> f64 {
        let t = self.b + p - q;
        let mut total = T::from(0);
        for g in 0.max(p - t)..=p {
            let krawtchouk = self.krawtchouk[self.a as usize][g as usize][((self.a + k) / 2) as usize]
                .times(&self.krawtchouk[t as usize][(t - p + g) as usize][((t + m) / 2) as usize]);
            total += &self.choose(p, g).times(&krawtchouk).times(&inner_sums[g as usize]);
        }
        let c = |n, k| self.real.get(n, k);
        let ratio = c(2 * l, l - k).quotient(c(2 * l, l - m)).quotient(c(t, (t + m) / 2)).root();
        let sign = if (l - p) % 2 == 0 { 1.0 } else { -1.0 };
        let size = Scaled::new(sign * (2 * l + 1) as f64).times(front).times(ratio);
        size.times(total.scaled().quotient(self.denominator.scaled())).to_f64()
    }

    /// 4^{−p} 2^{t/2} √( C(a,p) C(b,q) C(a+b+1,q) / C(p+b+1,q) ).
    pub(super) fn front(&self, [p, q]: [i64; 2]) -> Scaled {
        let c = |n, k| self.real.get(n, k);
        let (a, b) = (self.a, self.b);
        let square = c(a, p).times(c(b, q)).times(c(a + b + 1, q)).quotient(c(p + b + 1, q));
        square.times_two_to(b + p - q - 4 * p).root()
    }

    /// C(n, k), rounded.
    pub(super) fn real_binomial(&self, n: i64, k: i64) -> Scaled {
        self.real.get(n, k)
    }

    fn choose(&self, n: i64, k: i64) -> &T {
        &self.binomials[n as usize][k as usize]
    }
}

fn pascal<T: Whole>(last: i64) -> Vec<Vec<T>> {
    let mut rows = vec![vec![T::from(1)]];
    for n in 1..=last as usize {
        let above = &rows[n - 1];
        let inner = (1..n).map(|k| {
            let mut sum = above[k - 1].clone();
            sum += &above[k];
            sum
        });
        rows.push(std::iter::once(T::from(1)).chain(inner).chain([T::from(1)]).collect());
    }
    rows
}

/// Coefficients of (1+x)^(n−m) (1−x)^m: those of n − 1 and m − 1 times 1 − x.
fn krawtchouk<T: Whole>(binomials: &[Vec<T>]) -> Vec<Vec<Vec<T>>> {
    let mut all: Vec<Vec<Vec<T>>> = Vec::with_capacity(binomials.len());
    for (n, row) in binomials.iter().enumerate() {
        let mut polynomials = vec![row.clone()];
        for m in 1..=n {
            let shorter = &all[n - 1][m - 1];
            let coefficient = |s: usize| match s {
                0 => shorter[0].clone(),
                s if s == n => T::from(0).minus(&shorter[s - 1]),
                s => shorter[s].minus(&shorter[s - 1]),
            };
            polynomials.push((0..=n).map(coefficient).collect());
        }
        all.push(polynomials);
    }
    all
}

/// denominator · ∫ x^i (1−x)^j (1−2x)^k over i + j + k = n, k ≤ `k_max`: k = 0 is 1 / [(n+1) C(n,i)], and (1−2x) = (1−x) − x.
fn integrals<T: Whole>(n: i64, k_max: i64, binomials: &[T], denominator: &T) -> Vec<Vec<T>> {
    let beta = |c: &T| denominator.exact_quotient(&c.times(&T::from(n + 1)));
    let mut rows: Vec<Vec<T>> = vec![binomials.iter().map(beta).collect()];
    for k in 1..=k_max.min(n) as usize {
        let last = &rows[k - 1];
        rows.push((0..last.len() - 1).map(|i| last[i].minus(&last[i + 1])).collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_both_sizes_give_the_same_doubles() {
        let real = Binomials::up_to(80);
        for (a, b) in [(0i64, 3i64), (2, 5), (4, 4), (5, 11)] {
            let l_max = a + b;
            assert!(fits_128_bits(a, b, l_max));
            let (short, long) =
                (Overlaps::<i128>::new(a, b, l_max, &real), Overlaps::<BigInt>::new(a, b, l_max, &real));
            for (l, k, m) in [(l_max, a % 2, 1), (l_max / 2, a, 0), (l_max - 1, a, l_max - 1)] {
                for [p, q] in (0..=a).flat_map(|p| (0..=b).map(move |q| [p, q])) {
                    let t = b + p - q;
                    if t < m || (t + m) % 2 != 0 || k > l || k > a {
                        continue;
                    }
                    let value =
                        short.overlap([p, q], [k, l, m], &short.inner_sums(p + q, k, l, m), short.front([p, q]));
                    let other = long.overlap([p, q], [k, l, m], &long.inner_sums(p + q, k, l, m), long.front([p, q]));
                    assert_eq!(value.to_bits(), other.to_bits(), "({a} {b}) p = {p}, q = {q}, K L M = {k} {l} {m}");
                }
            }
        }
    }
}
