//! Random numbers, integrals and orders from a seed (splitmix64, Steele, Lea and Flood 2014).

use eigenforge::ci::Integrals;

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

    /// The same with an irrep for each orbital, and 0 wherever they forbid an integral.
    pub fn integrals_with_irreps(&mut self, orbitals: usize, up: usize, down: usize) -> Integrals {
        let full = self.integrals(orbitals, up, down);
        let irreps: Vec<u8> = (0..orbitals).map(|_| 1 + self.below(4) as u8).collect();
        let mut kept = Integrals { irreps: irreps.clone(), ..full.clone() };
        let product = |orbitals: &[usize]| orbitals.iter().fold(0, |product, p| product ^ (irreps[*p] - 1));
        use eigenforge::ci::pair;
        for p in 0..orbitals {
            for q in 0..orbitals {
                if product(&[p, q]) != 0 {
                    kept.one[pair(p, q)] = 0.0;
                }
                for r in 0..orbitals {
                    for s in 0..orbitals {
                        if product(&[p, q, r, s]) != 0 {
                            kept.two[pair(pair(p, q), pair(r, s))] = 0.0;
                        }
                    }
                }
            }
        }
        kept
    }
}
