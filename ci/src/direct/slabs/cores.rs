//! Strings of two electrons fewer, and the strings that two electrons make of each.
//!
//! In: strings of one spin. Out: for each M of two electrons fewer and each irrep of a pair of orbitals, the strings a⁺_p a⁺_q|M⟩, p < q,
//! ascending, with their pair and sign. With them all pairs of electrons of one spin are dense products ([`eigenforge_templates::ci::SlabPlan`]).

use super::super::super::integrals::SpinIntegrals;
use super::super::super::strings::{Occupation, Strings};
use eigenforge_runtime::{HostTable, TableList};
use rayon::prelude::*;

/// The pairs p < q of different orbitals: q (q − 1) / 2 + p.
fn two(p: usize, q: usize) -> usize {
    q * (q - 1) / 2 + p
}

/// (pr|qs) − (ps|qr) of the pairs p < q and r < s, a row for each pair.
pub(super) fn exchanged(integrals: SpinIntegrals<'_>) -> Vec<f64> {
    let n = integrals.orbitals;
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|q| (0..q).map(move |p| (p, q))).collect();
    let row = |(p, q): &(usize, usize)| {
        let value = |(r, s): &(usize, usize)| integrals.two(*p, *r, *q, *s) - integrals.two(*p, *s, *q, *r);
        pairs.iter().map(value).collect::<Vec<_>>()
    };
    pairs.par_iter().flat_map_iter(row).collect()
}

/// Σ |⟨word|H|J⟩| over the double moves of one spin.
pub(super) fn doubles(exchanged: &[f64], orbitals: usize, word: Occupation) -> f64 {
    let (pairs, inside) = (orbitals * orbitals.saturating_sub(1) / 2, |p: usize| word >> p & 1 == 1);
    let of = |wanted: bool| {
        let side: Vec<usize> = (0..orbitals).filter(|p| inside(*p) == wanted).collect();
        let below = |(k, q): (usize, &usize)| side[..k].iter().map(|p| two(*p, *q)).collect::<Vec<_>>();
        side.iter().enumerate().flat_map(below).collect::<Vec<usize>>()
    };
    let (from, to) = (of(true), of(false));
    from.iter().map(|row| to.iter().map(|column| exchanged[row * pairs + column].abs()).sum::<f64>()).sum()
}

/// The strings above each M.
pub(super) struct Cores {
    /// First of each M and irrep, followed by all.
    start: Vec<u32>,
    /// Irrep of M with what the kernel compares classes with.
    class: Vec<u16>,
    target: Vec<u32>,
    /// Pair, and whether the sign is −1 in the highest bit.
    word: Vec<u16>,
}

impl Cores {
    /// Of so many electrons in orbitals of these irreps; `class` of an M, and the rank of a string.
    pub(super) fn new(
        electrons: usize,
        irreps: &[u8],
        of_pairs: u32,
        class: impl Fn(Occupation) -> usize + Sync,
        rank: impl Fn(Occupation) -> Option<u32> + Sync,
    ) -> Cores {
        let mut cores = Cores { start: vec![0], class: Vec::new(), target: Vec::new(), word: Vec::new() };
        let Some(fewer) = electrons.checked_sub(2) else { return cores };
        let list = Strings::up_to_level(irreps.len(), fewer, fewer);
        let above = |core: &Occupation| {
            let empty: Vec<usize> = (0..irreps.len()).filter(|p| core >> p & 1 == 0).collect();
            let mut found: Vec<Vec<(u32, u16)>> = vec![Vec::new(); of_pairs as usize];
            for (k, q) in empty.iter().enumerate() {
                for p in &empty[..k] {
                    let Some(rank) = rank(core | 1 << p | 1 << q) else { continue };
                    let below = |orbital: usize| (core & ((1 << orbital) - 1)).count_ones();
                    let odd = (below(*p) + below(*q)) % 2 == 1;
                    let word = two(*p, *q) as u16 | u16::from(odd) << 15;
                    found[usize::from(irreps[*p] ^ irreps[*q])].push((rank, word));
                }
            }
            found.iter_mut().for_each(|found| found.sort_unstable());
            (class(*core) as u16, found)
        };
        let found: Vec<_> = list.words().par_iter().map(above).collect();
        for (class, irreps) in found {
            cores.class.push(class);
            for strings in irreps {
                cores.target.extend(strings.iter().map(|(rank, _)| *rank));
                cores.word.extend(strings.iter().map(|(_, word)| *word));
                cores.start.push(cores.target.len() as u32);
            }
        }
        cores
    }

    /// Strings of two electrons fewer.
    pub(super) fn len(&self) -> u64 {
        self.class.len() as u64
    }

    /// Strings above all of them.
    pub(super) fn additions(&self) -> u64 {
        self.target.len() as u64
    }

    fn counts(&self) -> impl Iterator<Item = u64> {
        self.start.windows(2).map(|pair| u64::from(pair[1] - pair[0]))
    }

    /// Most strings above one M in one irrep.
    pub(super) fn most(&self) -> u64 {
        self.counts().max().unwrap_or(0)
    }

    /// Elements of all dense products.
    pub(super) fn products(&self) -> u64 {
        self.counts().map(|count| count * count).sum()
    }

    /// Of each string those that it lies above: places among the strings above all M, with −1 in the highest bit. Targets are counted in classes
    /// that begin at `first` of the class of M and the irrep of the pair.
    pub(super) fn parents(&self, strings: usize, first: impl Fn(usize, usize) -> u32) -> Vec<u32> {
        let each = self.target.len() / strings.max(1);
        let irreps = (self.start.len() - 1) / self.class.len().max(1);
        let (mut filled, mut parents) = (vec![0usize; strings], vec![0; self.target.len()]);
        for (list, ends) in self.start.windows(2).enumerate() {
            let first = first(usize::from(self.class[list / irreps]), list % irreps) as usize;
            for place in ends[0]..ends[1] {
                let string = first + self.target[place as usize] as usize;
                parents[string * each + filled[string]] = place | u32::from(self.word[place as usize] >> 15) << 31;
                filled[string] += 1;
            }
        }
        parents
    }

    /// The tables, by these names.
    pub(super) fn tables(self, names: [&'static str; 4]) -> TableList<'static> {
        let tables: [HostTable<'static>; 4] =
            [self.start.into(), self.class.into(), self.target.into(), self.word.into()];
        names.into_iter().zip(tables).collect()
    }
}
