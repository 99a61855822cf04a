//! H by second quantisation alone: operators on the Fock space of 2n modes, one sign at a time.
//!
//! Mode p is (p, α), mode n + p is (p, β); a†_m on |n⟩ = Π a†_m |0⟩, modes ascending, gives (−1)^(electrons below m). H
//! = Σ h_pq a†_pσ a_qσ + ½ Σ (pq|rs) a†_pσ a†_rτ a_sτ a_qσ, all sums over all orbitals: no Slater–Condon rule is used.

use eigenforge::ci::{Integrals, Occupation, pair};
use std::collections::HashMap;

/// ⟨I|H|J⟩ of all J for one I, as a map from (α word, β word); without the core energy.
pub fn column(integrals: &Integrals, (up, down): (Occupation, Occupation)) -> HashMap<(Occupation, Occupation), f64> {
    let n = integrals.orbitals;
    let state = up as u64 | (down as u64) << n;
    let mut column = HashMap::new();
    let mut add = |state: u64, value: f64| {
        let (up, down) = (state & ((1 << n) - 1), state >> n);
        *column.entry((Occupation::from(up), Occupation::from(down))).or_insert(0.0) += value;
    };
    for spin in [0, n] {
        for p in 0..n {
            for q in 0..n {
                if let Some((state, sign)) = act(state, &[(false, q + spin), (true, p + spin)]) {
                    add(state, sign * one(integrals, spin, p, q));
                }
                for other in [0, n] {
                    for r in 0..n {
                        for s in 0..n {
                            let operators =
                                [(false, q + spin), (false, s + other), (true, r + other), (true, p + spin)];
                            if let Some((state, sign)) = act(state, &operators) {
                                add(state, 0.5 * sign * two(integrals, [spin, other], [p, q, r, s]));
                            }
                        }
                    }
                }
            }
        }
    }
    column
}

/// h_pq of a spin, 0 for α.
fn one(integrals: &Integrals, spin: usize, p: usize, q: usize) -> f64 {
    match &integrals.beta {
        Some(beta) if spin > 0 => beta.one[pair(p, q)],
        _ => integrals.one(p, q),
    }
}

/// (pq|rs) of the spins of pq and of rs, 0 for α.
fn two(integrals: &Integrals, spins: [usize; 2], [p, q, r, s]: [usize; 4]) -> f64 {
    let pairs = integrals.orbitals * (integrals.orbitals + 1) / 2;
    let (left, right) = (pair(p, q), pair(r, s));
    match (&integrals.beta, spins) {
        (None, _) | (_, [0, 0]) => integrals.two(p, q, r, s),
        (Some(beta), [0, _]) => beta.mixed[left * pairs + right],
        (Some(beta), [_, 0]) => beta.mixed[right * pairs + left],
        (Some(beta), _) => beta.two[pair(left, right)],
    }
}

/// Creators (true) and annihilators in the order in which they act.
pub fn act(mut state: u64, operators: &[(bool, usize)]) -> Option<(u64, f64)> {
    let mut sign = 1.0;
    for (creates, mode) in operators {
        if (state >> mode & 1 == 1) == *creates {
            return None;
        }
        if (state & ((1 << mode) - 1)).count_ones() % 2 == 1 {
            sign = -sign;
        }
        state ^= 1 << mode;
    }
    Some((state, sign))
}
