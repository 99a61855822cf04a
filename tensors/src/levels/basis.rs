//! Two nucleons in the SU(3)-coupled basis, with isospin.
//!
//! In: the most quanta, J, the parity. Out: states made of [a†(na 0) × a†(nb 0)]^{(λ μ) κ L, S; J}|0⟩ of a proton in na and a neutron
//! in nb. The exchange of the nucleons exchanges na and nb and has the sign e = (−1)^{μ+S}, so
//!
//! ```text
//! na < nb:  |T = 1⟩ = (|na nb⟩ + e|nb na⟩)/√2,  |T = 0⟩ = (|na nb⟩ − e|nb na⟩)/√2;     na = nb:  T = 1 if e = 1, else T = 0
//! ```
//! The quanta of the centre of mass, N_cm = (na + nb)/2 + ½ (a1†·a2 + a2†·a1), act in the SU(2) that commutes with SU(3), on
//! |(na 0)(nb 0)(λ μ)⟩ as on a spin λ/2 with projection m = (na − nb)/2 (see [`crate::brackets`]):
//!
//! ```text
//! ⟨na+1 nb−1|N_cm|na nb⟩ = ½ √((λ/2 − m)(λ/2 + m + 1)),    ⟨na nb|N_cm|na nb⟩ = (na + nb)/2
//! ```

use crate::space::ShellPair;
use eigenforge_su3::Irrep;
use std::collections::HashMap;

/// A state of the basis.
#[derive(Debug, Clone, Copy)]
pub(super) struct CoupledState {
    /// na ≤ nb.
    pub pair: ShellPair,
    /// (λ μ).
    pub irrep: Irrep,
    /// L, S.
    pub momenta: [u32; 2],
}

/// Where |na nb (λ μ) κ = 1, L S⟩ is in the basis: the states of T = 0 and 1 whose sum it is, and their amplitudes; of an absent one 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub first: [usize; 2],
    pub amplitudes: [f64; 2],
}

/// All states of one J and parity, T = 0 first.
#[derive(Debug)]
pub(super) struct CoupledBasis {
    pub j: u32,
    /// na + nb is even or odd.
    pub odd: bool,
    pub states: Vec<CoupledState>,
    /// How many of them have T = 0.
    pub isoscalar: usize,
    /// By pair with na ≤ nb, (λ μ), L, S: the first κ of each T.
    places: HashMap<(ShellPair, Irrep, [u32; 2]), [Option<usize>; 2]>,
}

impl CoupledBasis {
    pub(super) fn new(quanta_max: u32, j: u32, odd: bool) -> CoupledBasis {
        let mut basis = CoupledBasis { j, odd, states: Vec::new(), isoscalar: 0, places: HashMap::new() };
        for t in [0, 1] {
            for quanta in (u32::from(odd)..=quanta_max).step_by(2) {
                for pair in (0..=quanta / 2).map(|a| ShellPair { a, b: quanta - a }) {
                    pair.irreps().for_each(|irrep| basis.add(t, pair, irrep));
                }
            }
            if t == 0 {
                basis.isoscalar = basis.states.len();
            }
        }
        basis
    }

    fn add(&mut self, t: u32, pair: ShellPair, irrep: Irrep) {
        for s in [0, 1] {
            if pair.a == pair.b && (exchange_sign(irrep, s) > 0.0) != (t == 1) {
                continue;
            }
            for l in self.j.abs_diff(s)..=self.j + s {
                let kappa_max = irrep.kappa_max(l) as usize;
                if kappa_max == 0 {
                    continue;
                }
                let momenta = [l, s];
                self.places.entry((pair, irrep, momenta)).or_default()[t as usize] = Some(self.states.len());
                self.states.extend(vec![CoupledState { pair, irrep, momenta }; kappa_max]);
            }
        }
    }

    /// Where the states of an ordered pair are; `None` if there are none.
    pub(super) fn place(&self, pair: ShellPair, irrep: Irrep, momenta: [u32; 2]) -> Option<Place> {
        let ordered = if pair.a <= pair.b { pair } else { pair.exchanged() };
        let found = self.places.get(&(ordered, irrep, momenta))?;
        let sign = exchange_sign(irrep, momenta[1]);
        let half = 0.5f64.sqrt();
        let amplitudes = match pair.a.cmp(&pair.b) {
            std::cmp::Ordering::Less => [half, half],
            std::cmp::Ordering::Greater => [-sign * half, sign * half],
            std::cmp::Ordering::Equal => [1.0, 1.0],
        };
        let amplitude = |t: usize| if found[t].is_some() { amplitudes[t] } else { 0.0 };
        Some(Place { first: found.map(|at| at.unwrap_or(0)), amplitudes: [0, 1].map(amplitude) })
    }

    /// N_cm as (row, column, value); entries of one place add up.
    pub(super) fn centre_of_mass(&self) -> Vec<(usize, usize, f64)> {
        let of_state = |(at, state): (usize, &CoupledState)| (at, at, 0.5 * f64::from(state.pair.quanta()));
        let mut entries: Vec<(usize, usize, f64)> = self.states.iter().enumerate().map(of_state).collect();
        for (ordered, irrep, momenta) in self.places.keys() {
            let orders = if ordered.a == ordered.b { 1 } else { 2 };
            for pair in [*ordered, ordered.exchanged()].into_iter().take(orders).filter(|pair| pair.b > 0) {
                let moved = ShellPair { a: pair.a + 1, b: pair.b - 1 };
                let [Some(from), Some(to)] = [pair, moved].map(|pair| self.place(pair, *irrep, *momenta)) else {
                    continue;
                };
                // 2m
                let (spin, projection) = (i64::from(irrep.lambda), i64::from(pair.a) - i64::from(pair.b));
                let hop = 0.25 * (((spin - projection) * (spin + projection + 2)) as f64).sqrt();
                for kappa in 0..irrep.kappa_max(momenta[0]) as usize {
                    for (t, value) in
                        [0, 1].map(|t| hop * from.amplitudes[t] * to.amplitudes[t]).into_iter().enumerate()
                    {
                        let [row, column] = [to.first[t] + kappa, from.first[t] + kappa];
                        entries.extend([(row, column, value), (column, row, value)]);
                    }
                }
            }
        }
        entries.retain(|(.., value)| *value != 0.0);
        entries
    }
}

/// (−1)^{μ+S}.
fn exchange_sign(irrep: Irrep, s: u32) -> f64 {
    if (irrep.mu + s).is_multiple_of(2) { 1.0 } else { -1.0 }
}
