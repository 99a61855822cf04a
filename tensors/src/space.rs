//! Two nucleons in the harmonic oscillator: shells, pairs of shells, jj-coupled states, and how many there are.
//!
//! In: N_max. Out: the space counted in Oberhuber et al. (2021), tables 1 and 2: shells n ≤ N_max + 1, pairs with na + nb
//! ≤ N_max + 2 (two nucleons above a filled s shell may hold two quanta more than N_max), both orders of a pair. A state
//! is |na la ja, nb lb jb; J⟩ with l = n, n − 2, …, j = l ± ½; bra and ket agree in J and parity.

use eigenforge_su3::Irrep;

/// Shells na of the left and nb of the right nucleon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ShellPair {
    /// Quanta of the left one.
    pub a: u32,
    /// Quanta of the right one.
    pub b: u32,
}

/// A jj-coupled state of a pair of shells, without J.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JjState {
    /// la.
    pub la: u32,
    /// 2ja.
    pub two_ja: u32,
    /// lb.
    pub lb: u32,
    /// 2jb.
    pub two_jb: u32,
}

/// The two-body space of an N_max.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OscillatorSpace {
    /// N_max.
    pub n_max: u32,
}

impl JjState {
    /// The state with a and b exchanged, without its sign.
    pub(super) fn exchanged(self) -> JjState {
        JjState { la: self.lb, two_ja: self.two_jb, lb: self.la, two_jb: self.two_ja }
    }
}

impl ShellPair {
    /// (nb, na).
    pub(super) fn exchanged(self) -> ShellPair {
        ShellPair { a: self.b, b: self.a }
    }

    /// na + nb.
    pub(super) fn quanta(self) -> u32 {
        self.a + self.b
    }

    /// States with total J: la, ja, lb, jb ascending in this order.
    pub fn jj_states(self, j: u32) -> Vec<JjState> {
        let mut states = Vec::new();
        for (la, two_ja) in orbits(self.a) {
            for (lb, two_jb) in orbits(self.b) {
                if two_ja.abs_diff(two_jb) <= 2 * j && 2 * j <= two_ja + two_jb {
                    states.push(JjState { la, two_ja, lb, two_jb });
                }
            }
        }
        states
    }

    /// (la, lb) that couple to L, ascending.
    pub(super) fn orbital_pairs(self, l: u32) -> Vec<(u32, u32)> {
        let all = momenta(self.a).flat_map(|la| momenta(self.b).map(move |lb| (la, lb)));
        all.filter(|(la, lb)| la.abs_diff(*lb) <= l && l <= la + lb).collect()
    }

    /// The largest J, na + nb + 1.
    pub(super) fn j_max(self) -> u32 {
        self.quanta() + 1
    }

    /// (na 0) × (nb 0) = Σ (na + nb − 2k, k), k = 0, …, min(na, nb).
    pub(super) fn irreps(self) -> impl Iterator<Item = Irrep> {
        (0..=self.a.min(self.b)).map(move |k| Irrep::new(self.quanta() - 2 * k, k))
    }
}

/// l = n mod 2, …, n − 2, n.
pub(super) fn momenta(n: u32) -> impl Iterator<Item = u32> {
    (n % 2..=n).step_by(2)
}

/// (l, 2j) of a shell, ascending.
pub(super) fn orbits(n: u32) -> impl Iterator<Item = (u32, u32)> {
    momenta(n)
        .flat_map(|l| [2 * l as i64 - 1, 2 * l as i64 + 1].map(|two_j| (l, two_j)))
        .filter_map(|(l, two_j)| u32::try_from(two_j).ok().map(|two_j| (l, two_j)))
}

impl OscillatorSpace {
    /// The most quanta of one nucleon.
    pub(super) fn shell_max(self) -> u32 {
        self.n_max + 1
    }

    /// The most quanta of two.
    pub(super) fn quanta_max(self) -> u32 {
        self.n_max + 2
    }

    /// Whether a pair of shells is in the space.
    pub(super) fn contains(self, pair: ShellPair) -> bool {
        pair.a <= self.shell_max() && pair.b <= self.shell_max() && pair.quanta() <= self.quanta_max()
    }

    /// Pairs with na + nb = `quanta`, na ascending.
    pub(super) fn pairs_of(self, quanta: u32) -> impl Iterator<Item = ShellPair> {
        (0..=quanta).map(move |a| ShellPair { a, b: quanta - a }).filter(move |pair| self.contains(*pair))
    }

    /// The counts of the space.
    pub fn counts(self) -> Counts {
        let quanta = || 0..=self.quanta_max();
        let mut counts = Counts { n_max: self.n_max, ..Counts::default() };
        counts.orbits = (0..=self.shell_max()).map(|n| orbits(n).count() as u64).sum();
        counts.shell_pairs = quanta().map(|n| self.pairs_of(n).count() as u64).sum();
        for parity in 0..2 {
            let even_or_odd = || quanta().filter(move |n| n % 2 == parity);
            let pairs: Vec<ShellPair> = even_or_odd().flat_map(|n| self.pairs_of(n)).collect();
            counts.quadruples += (pairs.len() as u64).pow(2);
            let irreps: u64 = even_or_odd().map(|n| u64::from(n / 2 + 1)).sum();
            counts.irrep_pairs += irreps * irreps;
            for j in 0..=self.quanta_max() + 1 {
                let states: u64 = pairs.iter().map(|pair| pair.jj_states(j).len() as u64).sum();
                counts.states += states;
                counts.largest_block = counts.largest_block.max(states);
                counts.elements += states * states;
            }
        }
        counts
    }
}

/// Sizes of a space; elements and strengths are counted for one of the channels pn, pp, nn.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// N_max.
    pub n_max: u32,
    /// Orbits n l j of a nucleon.
    pub orbits: u64,
    /// Ordered pairs of shells.
    pub shell_pairs: u64,
    /// Quadruples of shells with bra and ket of the same parity.
    pub quadruples: u64,
    /// Pairs of irreps (λf μf), (λi μi) of the same parity.
    pub irrep_pairs: u64,
    /// jj-coupled states of two nucleons, over all J.
    pub states: u64,
    /// The most states with one J and parity.
    pub largest_block: u64,
    /// Two-body matrix elements.
    pub elements: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oberhuber et al. (2021), section 5: inputs for N_max = 8, 10, 12, 14; three numbers (pp, nn, pn) per element.
    #[test]
    fn the_papers_four_counts() {
        let counted = [8, 10, 12, 14].map(|n_max| 3 * OscillatorSpace { n_max }.counts().elements);
        assert_eq!(counted, [2_300_760, 8_143_452, 24_578_196, 65_615_742]);
        let largest = OscillatorSpace { n_max: 14 }.counts();
        assert_eq!((largest.orbits, largest.shell_pairs, largest.quadruples), (136, 151, 11_425));
        assert_eq!((largest.irrep_pairs, largest.largest_block), (3321, 1368));
    }
}
