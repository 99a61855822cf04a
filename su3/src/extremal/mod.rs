//! Canonical coupling coefficients of an extremal product state, ⟨(λ1μ1) ε1Λ1; (λ2μ2) ε2Λ2 ‖ (λ3μ3) E⟩_ρ.
//!
//! In: three irreps. Out: W_ρ for the highest-weight state E = H of (λ3 μ3) (ε3 = −λ3 − 2μ3, 2Λ3 = λ3) or the lowest-weight
//! one, orthonormal over ρ. Steps (Draayer and Akiyama 1973, eqs. 20 to 23 and 35; J. Herko et al., arXiv:2505.08993,
//! eqs. A.19, A.22, 43 and 48):
//!
//! 1. for each ρ the largest η for which (λ2−η, μ2−η) still couples ρ − 1 times one step further: [`seed`] gives a solution
//!    of the highest-weight condition there, on the row with (λ1 μ1) in its own highest-weight state;
//! 2. from that row down to the highest weight of (λ2−η, μ2−η), η steps up to that of (λ2 μ2): [`ladder`];
//! 3. from the row where (λ2 μ2) is in its highest-weight state to all rows: [`ladder::fill`];
//! 4. Gram–Schmidt in the order of ρ, twice, and the sign of the entry with ε1 highest and Λ2 largest.
//!
//! The subspaces of step 1 form a flag (ρ = 1, then 1 and 2, …), and only the flag enters step 4.

mod ladder;
mod seed;

use crate::irrep::{Irrep, multiplicity};
use crate::wigner::sign;

/// W_ρ over its support.
#[derive(Debug)]
pub struct Extremal {
    first: Irrep,
    second: Irrep,
    third: Irrep,
    highest: bool,
    rho_max: usize,
    /// p1 + q1 + p2 + q2.
    sum: i64,
    /// At [((p1 (μ1+1) + q1) (λ2+1) + p2) ρ_max + ρ − 1].
    values: Vec<f64>,
}

/// Labels as signed integers.
#[derive(Debug, Clone, Copy)]
struct Triple {
    l1: i64,
    m1: i64,
    l2: i64,
    m2: i64,
    l3: i64,
    m3: i64,
}

impl Triple {
    fn new(first: Irrep, second: Irrep, third: Irrep) -> Triple {
        let [[l1, m1], [l2, m2], [l3, m3]] = [first, second, third].map(|x| [i64::from(x.lambda), i64::from(x.mu)]);
        Triple { l1, m1, l2, m2, l3, m3 }
    }

    /// With (λ2−η, μ2−η).
    fn reduced(self, eta: i64) -> Triple {
        Triple { l2: self.l2 - eta, m2: self.m2 - eta, ..self }
    }

    /// p1 + q1 + p2 + q2 of the product's highest-weight state.
    fn sum(self) -> i64 {
        (2 * (self.l1 + self.l2 + self.m3) + self.m1 + self.m2 + self.l3) / 3
    }

    /// λ1 + λ2 − λ3 + μ1 + μ2 − μ3.
    fn phase(self) -> i64 {
        self.l1 + self.l2 - self.l3 + self.m1 + self.m2 - self.m3
    }

    /// Position of (p1, q1; p2) in a table with `per` numbers a state.
    fn position(self, p1: i64, q1: i64, p2: i64, per: usize) -> usize {
        ((p1 * (self.m1 + 1) + q1) * (self.l2 + 1) + p2) as usize * per
    }

    fn states(self) -> usize {
        ((self.l1 + 1) * (self.m1 + 1) * (self.l2 + 1)) as usize
    }
}

/// |a − b| ≤ c ≤ a + b; parities agree by construction.
fn couples(a: i64, b: i64, c: i64) -> bool {
    (a - b).abs() <= c && c <= a + b
}

/// A solution of the highest-weight condition: where the recursions to [`Extremal`] begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// (λ2 μ2) are reduced by this much.
    pub eta: u32,
    /// p2 of the first number.
    pub first: u32,
    /// X(p2) up to a common factor, p2 ascending.
    pub values: Vec<f64>,
}

impl Extremal {
    /// A seed a ρ for the extremal state that (λ3 μ3) is projected from; of the conjugate irreps where that is the
    /// lowest-weight state. For who does the recursions elsewhere; empty when (λ3 μ3) is not in the product.
    pub fn seeds([first, second, third]: [Irrep; 3]) -> Vec<Seed> {
        let irreps = [first, second, third];
        let [a, b, c] = if third.uses_highest() { irreps } else { irreps.map(Irrep::conjugate) };
        let triple = Triple::new(a, b, c);
        let of = |rho| {
            let eta = most_reduced(triple, rho);
            let found = seed::seed(triple.reduced(eta));
            let first = found.first().map_or(0, |(p2, _)| *p2 as u32);
            Seed { eta: eta as u32, first, values: found.into_iter().map(|(_, x)| x).collect() }
        };
        (1..=multiplicity(a, b, c)).map(of).collect()
    }

    /// W_ρ for E = H if `highest`, else for the lowest-weight state. Empty when (λ3 μ3) is not in the product.
    pub fn new(first: Irrep, second: Irrep, third: Irrep, highest: bool) -> Extremal {
        // DA 35: the lowest-weight state is the highest-weight one of the conjugate irreps.
        let [a, b, c] = if highest { [first, second, third] } else { [first, second, third].map(Irrep::conjugate) };
        let rho_max = multiplicity(a, b, c) as usize;
        let triple = Triple::new(a, b, c);
        let mut extremal = Extremal { first, second, third, highest, rho_max, sum: triple.sum(), values: Vec::new() };
        if rho_max > 0 {
            extremal.values = highest_weight(triple, rho_max);
        }
        extremal
    }

    /// ρ_max.
    pub fn rho_max(&self) -> usize {
        self.rho_max
    }

    /// W_ρ of the multiplets (p1, q1) and (p2, q2), ρ from 1; zero off the support.
    pub fn value(&self, [p1, q1]: [u32; 2], [p2, q2]: [u32; 2], rho: usize) -> f64 {
        let mut found = 0.0;
        self.for_each(|[a, b], values| {
            if [a, b] == [[p1, q1], [p2, q2]] && (1..=self.rho_max).contains(&rho) {
                found = values[rho - 1];
            }
        });
        found
    }

    /// Calls `visit([[p1, q1], [p2, q2]], W_ρ for all ρ)` on the support, including the sign (−1)^{ρ_max−ρ} … of DA 35 when E is
    /// the lowest-weight state.
    pub fn for_each(&self, mut visit: impl FnMut([[u32; 2]; 2], &[f64])) {
        let own = Triple::new(self.first, self.second, self.third);
        let triple = if self.highest {
            own
        } else {
            Triple::new(self.first.conjugate(), self.second.conjugate(), self.third.conjugate())
        };
        let mut signed = vec![0.0; self.rho_max];
        for (p1, q1) in (0..=triple.l1).flat_map(|p| (0..=triple.m1).map(move |q| (p, q))) {
            for p2 in support(triple, self.sum, p1, q1) {
                let q2 = self.sum - p1 - q1 - p2;
                let values = &self.values[triple.position(p1, q1, p2, self.rho_max)..][..self.rho_max];
                if self.highest {
                    visit([[p1 as u32, q1 as u32], [p2 as u32, q2 as u32]], values);
                    continue;
                }
                let (t1, t2) = (triple.m1 + p1 - q1, triple.m2 + p2 - q2);
                let overall = sign(own.phase() + (t1 + t2 - own.m3) / 2);
                for (rho, (signed, value)) in signed.iter_mut().zip(values).enumerate() {
                    *signed = (overall * sign((self.rho_max - 1 - rho) as i64)) as f64 * value;
                }
                // (p, q) of the conjugate irrep is (λ − q, μ − p) of the irrep itself.
                let state = |p: i64, q: i64, l: i64, m: i64| [(l - q) as u32, (m - p) as u32];
                visit([state(p1, q1, own.l1, own.m1), state(p2, q2, own.l2, own.m2)], &signed);
            }
        }
    }
}

/// The p2 that belong to (p1, q1).
fn support(triple: Triple, sum: i64, p1: i64, q1: i64) -> impl Iterator<Item = i64> {
    let rest = sum - p1 - q1;
    let t1 = triple.m1 + p1 - q1;
    let (first, last) = (0.max(rest - triple.m2), triple.l2.min(rest));
    // t2 = μ2 + p2 − q2 = μ2 + 2 p2 − rest.
    (first..=last).filter(move |p2| couples(t1, triple.m2 + 2 * p2 - rest, triple.l3))
}

fn highest_weight(triple: Triple, rho_max: usize) -> Vec<f64> {
    let mut values = vec![0.0; triple.states() * rho_max];
    for rho in 1..=rho_max {
        let eta = most_reduced(triple, rho as u32);
        let reduced = triple.reduced(eta);
        let mut row = ladder::descend(reduced, &seed::seed(reduced));
        for l2 in reduced.l2 + 1..=triple.l2 {
            row = ladder::stretch(triple, &row, l2);
        }
        let largest = row.iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
        for (p1, q1) in (0..=triple.l1).flat_map(|p| (0..=triple.m1).map(move |q| (p, q))) {
            if p1 + q1 == triple.sum() - triple.l2 - triple.m2 {
                let w = row[(p1 * (triple.m1 + 1) + q1) as usize];
                values[triple.position(p1, q1, triple.l2, rho_max) + rho - 1] = w / largest;
            }
        }
    }
    ladder::fill(triple, &mut values, rho_max);
    orthonormalise(&mut values, rho_max);
    fix_signs(triple, &mut values, rho_max);
    values
}

/// The smallest η ≥ 0 with multiplicity ρ − 1 for (λ2−η−1, μ2−η−1).
fn most_reduced(triple: Triple, rho: u32) -> i64 {
    let irrep = |l: i64, m: i64| Some(Irrep::new(u32::try_from(l).ok()?, u32::try_from(m).ok()?));
    let of = |eta: i64| {
        let [first, third] = [irrep(triple.l1, triple.m1)?, irrep(triple.l3, triple.m3)?];
        Some(multiplicity(first, irrep(triple.l2 - eta, triple.m2 - eta)?, third))
    };
    (0..).find(|eta| of(eta + 1).unwrap_or(0) < rho).unwrap_or(0)
}

/// Gram–Schmidt over ρ with the plain dot product, twice.
fn orthonormalise(values: &mut [f64], rho_max: usize) {
    for rho in 0..rho_max {
        for _ in 0..2 {
            for earlier in 0..rho {
                let overlap: f64 = values.chunks_exact(rho_max).map(|w| w[rho] * w[earlier]).sum();
                values.chunks_exact_mut(rho_max).for_each(|w| w[rho] -= overlap * w[earlier]);
            }
            let norm = values.chunks_exact(rho_max).map(|w| w[rho] * w[rho]).sum::<f64>().sqrt();
            values.chunks_exact_mut(rho_max).for_each(|w| w[rho] /= norm);
        }
    }
}

/// (−1)^{φ + ρ_max − ρ + (λ1 + 2Λ2 − λ3)/2} is the sign at (λ1 μ1)'s highest weight and the largest Λ2.
fn fix_signs(triple: Triple, values: &mut [f64], rho_max: usize) {
    let sum = triple.sum();
    let Some(p2) = support(triple, sum, triple.l1, triple.m1).last() else { return };
    let t2 = triple.m2 + 2 * p2 - (sum - triple.l1 - triple.m1);
    let at = triple.position(triple.l1, triple.m1, p2, rho_max);
    for rho in 1..=rho_max {
        let wanted = sign(triple.phase() + (rho_max - rho) as i64 + (triple.l1 + t2 - triple.l3) / 2);
        if values[at + rho - 1] * wanted as f64 <= 0.0 {
            values.chunks_exact_mut(rho_max).for_each(|w| w[rho - 1] = -w[rho - 1]);
        }
    }
}
