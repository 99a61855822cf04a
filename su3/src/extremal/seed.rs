//! A solution of the highest-weight condition on the row where (λ1 μ1) is in its highest-weight state.
//!
//! In: (λ1 μ1), (λ2 μ2) already reduced, (λ3 μ3). Out: X(p2) up to a common factor, Draayer and Akiyama 1973, eq. 20. Its sum
//! is taken in f64, and again in integers when its terms cancel.

use super::{Triple, couples};
use crate::exact::Scaled;
use num_bigint::BigInt;
use num_traits::Zero;

/// Sums that lose more than two bits are taken in integers.
const CANCELLATION: f64 = 0.25;

/// (p2, X(p2)), p2 ascending, the largest |X| of order one.
pub(super) fn seed(triple: Triple) -> Vec<(i64, f64)> {
    let Triple { l1, m1, l2, m2, l3, m3 } = triple;
    let s = (2 * l2 + m2 - (l1 + 2 * m1 - l3 - 2 * m3)) / 3;
    let inside = |p2: &i64| couples(l1, m2 + 2 * p2 - s, l3);
    let p2s: Vec<i64> = (0.max(s - m2)..=l2.min(s)).filter(inside).collect();
    if p2s.len() == 1 {
        return vec![(p2s[0], 1.0)];
    }
    let sums: Vec<Scaled> = p2s.iter().map(|p2| alternating_sum(triple, s, *p2)).collect();
    let (smallest, largest) = (p2s.first().copied().unwrap_or(0), p2s.last().copied().unwrap_or(0));
    let weights = p2s.iter().map(|p2| weight(triple, *p2, smallest, largest));
    let values: Vec<Scaled> = sums.iter().zip(weights).map(|(sum, weight)| sum.times(weight.root())).collect();
    let top = values.iter().map(|x| x.exponent_or_least()).max().unwrap_or(0);
    p2s.iter().zip(values).map(|(p2, x)| (*p2, x.times_two_to(-top).to_f64())).collect()
}

/// n, a, b, c, d of DA 20.
fn labels(triple: Triple) -> [i64; 5] {
    let Triple { l1, m1, l2, m2, l3, m3 } = triple;
    let n = (l1 + l2 - l3 + 2 * (m1 + m2 - m3)) / 3;
    [n, (l2 + l3 - l1 - n) / 2, (l3 + l1 - l2 + n + 2) / 2, (l1 + l2 - l3 - n) / 2, (l1 + l2 + l3 + 2 - n) / 2]
}

/// F = (−1)^{p̃} Σ_i C(p̃, i) ∏_{j<i} (p2+j+1)(μ1+λ2+μ2−n+j+2) ∏_{i≤j<p̃} (a+j+1)(b−j−1), p̃ = μ2 − q2.
fn alternating_sum(triple: Triple, s: i64, p2: i64) -> Scaled {
    let [n, a, b, ..] = labels(triple);
    let p = triple.m2 - (s - p2);
    let below = |j: i64| (p2 + j + 1) * (triple.m1 + triple.l2 + triple.m2 - n + j + 2);
    let above = |j: i64| (a + j + 1) * (b - j - 1);
    let phase = if p % 2 == 0 { 1.0 } else { -1.0 };
    let (mut sum, mut absolute) = (Scaled::new(0.0), Scaled::new(0.0));
    let tails = tails(p, above);
    let mut head = Scaled::new(1.0);
    for i in 0..=p {
        let term = head.times(tails[i as usize]);
        sum = sum.plus(term);
        absolute = absolute.plus(term.absolute());
        // C(p, i+1) = C(p, i) (p−i) / (i+1)
        head = head.times(Scaled::new((below(i) * (p - i)) as f64)).quotient(Scaled::new((i + 1) as f64));
    }
    if absolute.times(Scaled::new(CANCELLATION)).exceeds(sum) {
        sum = exact_sum(p, below, above);
    }
    sum.times(Scaled::new(phase))
}

/// ∏_{i≤j<p} above(j) for i = 0..=p.
fn tails(p: i64, above: impl Fn(i64) -> i64) -> Vec<Scaled> {
    let mut tails = vec![Scaled::new(1.0); p as usize + 1];
    for j in (0..p).rev() {
        tails[j as usize] = tails[j as usize + 1].times(Scaled::new(above(j) as f64));
    }
    tails
}

fn exact_sum(p: i64, below: impl Fn(i64) -> i64, above: impl Fn(i64) -> i64) -> Scaled {
    let (mut sum, mut head) = (BigInt::zero(), BigInt::from(1));
    for i in 0..=p {
        sum += (i..p).fold(head.clone(), |product, j| product * above(j));
        head = head * below(i) * (p - i) / (i + 1);
    }
    Scaled::integer(&sum)
}

/// G / C(n+1+p2, p2) of DA 20, under the root; q̃ = λ2 − p2.
fn weight(triple: Triple, p2: i64, smallest: i64, largest: i64) -> Scaled {
    let Triple { l2, m2, .. } = triple;
    let [n, a, b, c, d] = labels(triple);
    let q = l2 - p2;
    let choose = |n: i64, k: i64| (1..=k).fold(Scaled::new(1.0), |all, i| all.times(ratio(n - k + i, i)));
    let product = (l2 - largest..l2 - smallest).fold(Scaled::new(1.0), |all, j| {
        let factor = if j < q {
            [a + n - j, b - n + j, c + n - j, d + n - j, l2 + m2 - j + 1]
                .into_iter()
                .fold(Scaled::new(1.0), |product, factor| product.times(Scaled::new(factor as f64)))
        } else {
            Scaled::new((m2 - n + j + 1) as f64)
        };
        all.times(factor)
    });
    Scaled::new((l2 - 2 * q + n + 1) as f64).times(choose(n, q)).times(product).quotient(choose(n + 1 + p2, p2))
}

fn ratio(a: i64, b: i64) -> Scaled {
    Scaled::new(a as f64).quotient(Scaled::new(b as f64))
}
