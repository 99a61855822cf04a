//! Random numbers, integrals and orders from a seed (splitmix64, Steele, Lea and Flood 2014).

use eigenforge::ci::{BetaIntegrals, Integrals, pair};

pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From −1 to 1.
    pub fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for k in (1..list.len()).rev() {
            list.swap(k, self.below(k + 1));
        }
    }

    /// This many numbers from −1 to 1.
    pub fn vector(&mut self, len: u64) -> Vec<f64> {
        (0..len).map(|_| self.number()).collect()
    }

    /// Random integrals of this many orbitals.
    pub fn integrals(&mut self, orbitals: usize, up: usize, down: usize) -> Integrals {
        let mut integrals = Integrals::zero(orbitals);
        (integrals.electrons, integrals.two_sz) = (up + down, up as i64 - down as i64);
        integrals.core = self.number();
        integrals.one.iter_mut().for_each(|value| *value = self.number());
        integrals.two.iter_mut().for_each(|value| *value = self.number());
        integrals
    }

    /// The same with other orbitals for β electrons.
    pub fn unrestricted(&mut self, orbitals: usize, up: usize, down: usize) -> Integrals {
        let mut beta = BetaIntegrals::zero(orbitals);
        let BetaIntegrals { one, two, mixed } = &mut beta;
        one.iter_mut().chain(two).chain(mixed).for_each(|value| *value = self.number());
        Integrals { beta: Some(Box::new(beta)), ..self.integrals(orbitals, up, down) }
    }

    /// With an irrep for each orbital, and 0 wherever they forbid an integral.
    pub fn integrals_with_irreps(&mut self, orbitals: usize, up: usize, down: usize) -> Integrals {
        let full = self.integrals(orbitals, up, down);
        self.with_irreps(full)
    }

    /// The same with other orbitals for β electrons, of the same irreps.
    pub fn unrestricted_with_irreps(&mut self, orbitals: usize, up: usize, down: usize) -> Integrals {
        let full = self.unrestricted(orbitals, up, down);
        self.with_irreps(full)
    }

    fn with_irreps(&mut self, mut kept: Integrals) -> Integrals {
        let orbitals = kept.orbitals;
        kept.irreps = (0..orbitals).map(|_| 1 + self.below(4) as u8).collect();
        let pairs: Vec<u8> = (0..orbitals)
            .flat_map(|p| (0..=p).map(move |q| (p, q)))
            .map(|(p, q)| (kept.irreps[p] - 1) ^ (kept.irreps[q] - 1))
            .collect();
        let count = pairs.len();
        let of_spin = |one: &mut [f64], two: &mut [f64]| {
            one.iter_mut().zip(&pairs).filter(|(_, irrep)| **irrep != 0).for_each(|(value, _)| *value = 0.0);
            for (left, right) in (0..count).flat_map(|left| (0..=left).map(move |right| (left, right))) {
                if pairs[left] != pairs[right] {
                    two[pair(left, right)] = 0.0;
                }
            }
        };
        of_spin(&mut kept.one, &mut kept.two);
        if let Some(beta) = &mut kept.beta {
            of_spin(&mut beta.one, &mut beta.two);
            let forbidden = |at: usize| pairs[at / count] != pairs[at % count];
            let mixed = beta.mixed.iter_mut().enumerate().filter(|(at, _)| forbidden(*at));
            mixed.for_each(|(_, value)| *value = 0.0);
        }
        kept
    }
}
