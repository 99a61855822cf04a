//! Where every number of an operator of rank J0 is.
//!
//! In: a space, J0 and the parity of the operator. Out: groups of constant (na + nb, nc + nd), as in [`crate::Plan`]. In a group
//!
//! * reduced elements are ordered by quadruple of shells, by J', by J, then row-major [bra state][ket state];
//! * strengths are ordered by (λf μf), (λi μi), (S0, L0), then row-major [(λ0 μ0) κ0 ρ0][bra pair][ket pair][(Sf, Si)].
//!
//! Both have the same number of entries.

use crate::plan::{SPINS, irrep_pairs, spins_of};
use crate::space::{OscillatorSpace, ShellPair};
use eigenforge_su3::{Irrep, product};
use std::ops::RangeInclusive;

/// J0 and the parity of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) j0: u32,
    /// 0 if bra and ket have the same parity, 1 if not.
    pub(super) parity: u32,
}

/// Spin and orbital rank of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorRank {
    pub(super) s0: u32,
    pub(super) l0: u32,
    /// Its first coupling: how many (Sf, Si) the ranks before it have.
    pub(super) first: usize,
}

/// The layout.
#[derive(Debug)]
pub(super) struct RankedPlan {
    pub(super) space: OscillatorSpace,
    pub(super) rank: Rank,
    /// (S0, L0), ascending.
    pub(super) tensors: Vec<TensorRank>,
    pub(super) groups: Vec<RankedGroup>,
    /// Numbers of one channel.
    pub(super) length: usize,
}

/// Quadruples with the same quanta in the bra and in the ket.
#[derive(Debug)]
pub(super) struct RankedGroup {
    /// na + nb, nc + nd.
    pub(super) quanta: [u32; 2],
    pub(super) bras: Vec<ShellPair>,
    pub(super) kets: Vec<ShellPair>,
    /// First number of the group.
    pub(super) start: usize,
    pub(super) length: usize,
    /// At [bra · kets.len() + ket].
    pub(super) quadruples: Vec<RankedQuadruple>,
    pub(super) products: Vec<RankedProduct>,
}

/// Elements of four shells; offsets count from the group's start.
#[derive(Debug)]
pub(super) struct RankedQuadruple {
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) blocks: Vec<RankedBlock>,
}

/// Elements of J' and J; offsets count from the quadruple's.
#[derive(Debug)]
pub(super) struct RankedBlock {
    /// J', J.
    pub(super) j: [u32; 2],
    pub(super) offset: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Strengths of two irreps; offsets count from the group's start.
#[derive(Debug)]
pub(super) struct RankedProduct {
    /// (λf μf), (λi μi).
    pub(super) irreps: [Irrep; 2],
    /// Positions in `bras` of the pairs that contain (λf μf).
    pub(super) bras: Vec<usize>,
    /// Positions in `kets` of the pairs that contain (λi μi).
    pub(super) kets: Vec<usize>,
    pub(super) offset: usize,
    pub(super) length: usize,
    /// First strength and number of (λ0 μ0) κ0 ρ0 of each [`TensorRank`].
    pub(super) tensors: Vec<[usize; 2]>,
}

impl Rank {
    /// (S0, L0) that couple to J0.
    pub(super) fn tensors(self) -> Vec<TensorRank> {
        let (mut tensors, mut first) = (Vec::new(), 0);
        for s0 in 0..=2 {
            for l0 in self.j0.abs_diff(s0)..=self.j0 + s0 {
                tensors.push(TensorRank { s0, l0, first });
                first += spins_of(s0).len();
            }
        }
        tensors
    }

    /// L0 of all of them.
    pub(super) fn orbital_ranks(self) -> RangeInclusive<u32> {
        self.j0.saturating_sub(2)..=self.j0 + 2
    }

    /// J that couples with J' to J0.
    fn kets(self, j_bra: u32) -> RangeInclusive<u32> {
        j_bra.abs_diff(self.j0)..=j_bra + self.j0
    }

    /// Whether J', J and J0 form a triangle.
    pub(super) fn allows(self, [j_bra, j_ket]: [u32; 2]) -> bool {
        self.kets(j_bra).contains(&j_ket)
    }

    /// (na + nb, nc + nd) of all groups.
    fn quanta(self, space: OscillatorSpace) -> impl Iterator<Item = [u32; 2]> {
        let all = (0..=space.quanta_max()).flat_map(move |bra| (0..=space.quanta_max()).map(move |ket| [bra, ket]));
        all.filter(move |[bra, ket]| (bra + ket) % 2 == self.parity)
    }

    /// Numbers of one channel and of its largest group, without a layout.
    pub(super) fn count(self, space: OscillatorSpace) -> [u64; 2] {
        let states =
            |quanta: u32, j: u32| -> u64 { space.pairs_of(quanta).map(|pair| pair.jj_states(j).len() as u64).sum() };
        let all: Vec<Vec<u64>> =
            (0..=space.quanta_max()).map(|quanta| (0..=quanta + 1).map(|j| states(quanta, j)).collect()).collect();
        let of_group = |[bra, ket]: [u32; 2]| -> u64 {
            let (bra, ket) = (&all[bra as usize], &all[ket as usize]);
            let partners = |j: usize| ket.iter().enumerate().filter(move |(k, _)| self.allows([j as u32, *k as u32]));
            bra.iter().enumerate().map(|(j, count)| count * partners(j).map(|(_, count)| count).sum::<u64>()).sum()
        };
        self.quanta(space).map(of_group).fold([0, 0], |[sum, largest], count| [sum + count, largest.max(count)])
    }
}

impl TensorRank {
    /// (Sf, Si) with this S0.
    pub(super) fn spins(self) -> impl ExactSizeIterator<Item = [u32; 2]> {
        spins_of(self.s0).iter().map(|spin| [SPINS[*spin][0], SPINS[*spin][1]])
    }
}

impl RankedPlan {
    pub(super) fn new(space: OscillatorSpace, rank: Rank) -> RankedPlan {
        let tensors = rank.tensors();
        let (mut groups, mut length) = (Vec::new(), 0);
        for quanta in rank.quanta(space) {
            let group = RankedGroup::new(space, rank, &tensors, quanta, length);
            length += group.length;
            groups.push(group);
        }
        RankedPlan { space, rank, tensors, groups, length }
    }

    /// The group of a number.
    pub(super) fn group_of(&self, place: usize) -> &RankedGroup {
        &self.groups[self.groups.partition_point(|group| group.start + group.length <= place)]
    }

    /// The group of two pairs of shells, and their quadruple's number; `None` beyond the space or of the other parity.
    pub(super) fn quadruple(&self, [bra, ket]: [ShellPair; 2]) -> Option<(&RankedGroup, usize)> {
        let at = self.groups.binary_search_by_key(&[bra.quanta(), ket.quanta()], |group| group.quanta).ok()?;
        let group = &self.groups[at];
        let [b, k] = [group.bras.binary_search(&bra).ok()?, group.kets.binary_search(&ket).ok()?];
        Some((group, b * group.kets.len() + k))
    }
}

impl RankedGroup {
    fn new(space: OscillatorSpace, rank: Rank, tensors: &[TensorRank], quanta: [u32; 2], start: usize) -> RankedGroup {
        let [bras, kets]: [Vec<ShellPair>; 2] = quanta.map(|quanta| space.pairs_of(quanta).collect());
        let (mut quadruples, mut length) = (Vec::new(), 0);
        for bra in &bras {
            for ket in &kets {
                let quadruple = RankedQuadruple::new(rank, [*bra, *ket], length);
                length += quadruple.length;
                quadruples.push(quadruple);
            }
        }
        let (mut products, mut offset) = (Vec::new(), 0);
        for (irreps, [bras, kets]) in irrep_pairs(&bras, &kets) {
            let product = RankedProduct::new(tensors, irreps, [bras, kets], offset);
            offset += product.length;
            products.push(product);
        }
        RankedGroup { quanta, bras, kets, start, length, quadruples, products }
    }

    /// Pairs of shells of a quadruple.
    pub(super) fn pairs(&self, quadruple: usize) -> [ShellPair; 2] {
        [self.bras[quadruple / self.kets.len()], self.kets[quadruple % self.kets.len()]]
    }
}

impl RankedQuadruple {
    fn new(rank: Rank, [bra, ket]: [ShellPair; 2], offset: usize) -> RankedQuadruple {
        let (mut blocks, mut length) = (Vec::new(), 0);
        for j_bra in 0..=bra.j_max() {
            for j_ket in rank.kets(j_bra).filter(|j| *j <= ket.j_max()) {
                let (rows, columns) = (bra.jj_states(j_bra).len(), ket.jj_states(j_ket).len());
                if rows * columns > 0 {
                    blocks.push(RankedBlock { j: [j_bra, j_ket], offset: length, rows, columns });
                    length += rows * columns;
                }
            }
        }
        RankedQuadruple { offset, length, blocks }
    }
}

impl RankedProduct {
    fn new(ranks: &[TensorRank], [f, i]: [Irrep; 2], [bras, kets]: [Vec<usize>; 2], offset: usize) -> RankedProduct {
        let irreps = product(f, i);
        let mut length = 0;
        let of = |rank: &TensorRank| {
            let rows = irreps.iter().map(|(irrep, rho_max)| (rho_max * irrep.kappa_max(rank.l0)) as usize).sum();
            let first = length;
            length += rows * bras.len() * kets.len() * rank.spins().len();
            [first, rows]
        };
        let tensors = ranks.iter().map(of).collect();
        RankedProduct { irreps: [f, i], bras, kets, offset, length, tensors }
    }

    /// Columns of a [`TensorRank`].
    pub(super) fn columns(&self, rank: TensorRank) -> usize {
        self.bras.len() * self.kets.len() * rank.spins().len()
    }
}
