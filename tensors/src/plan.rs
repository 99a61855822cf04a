//! The layout of a transformation's numbers: plain data, for the CPU code and for generated kernels.
//!
//! In: a [`OscillatorSpace`]. Out: groups of constant (na + nb, nc + nd), which the transformation never mixes. In a group
//!
//! * matrix elements are ordered by quadruple of shells (bra pair, then ket pair), by J, then row-major [bra state][ket
//!   state];
//! * strengths are ordered by (λf μf), (λi μi), S0, then row-major [(λ0 μ0) κ0 ρ0][bra pair][ket pair][(Sf, Si)].
//!
//! Both have the same number of entries, because the transformation is square. A channel is one such vector.

use super::space::{OscillatorSpace, ShellPair};
use eigenforge_su3::{Irrep, product};
use serde::Serialize;

/// (Sf, Si, S0) that a two-body scalar has.
pub(super) const SPINS: [[u32; 3]; 6] = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1], [1, 1, 2]];

/// The layout of a space.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// N_max.
    pub n_max: u32,
    /// Ordered by bra quanta, then ket quanta.
    pub groups: Vec<Group>,
    /// Numbers of one channel.
    pub length: usize,
}

/// Quadruples with the same quanta in the bra and in the ket.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// na + nb.
    pub bra_quanta: u32,
    /// nc + nd.
    pub ket_quanta: u32,
    /// Pairs of shells of the bra.
    pub bras: Vec<ShellPair>,
    /// Pairs of shells of the ket.
    pub kets: Vec<ShellPair>,
    /// First number of the group, among elements and among strengths.
    pub start: usize,
    /// Numbers of the group.
    pub length: usize,
    /// At [bra · kets.len() + ket].
    pub quadruples: Vec<Quadruple>,
    /// Products of irreps, (λf μf) with k ascending, then (λi μi).
    pub products: Vec<IrrepPair>,
}

/// Elements of four shells; offsets count from the group's start.
#[derive(Debug, Clone, Serialize)]
pub struct Quadruple {
    /// First element.
    pub offset: usize,
    /// Number of elements.
    pub length: usize,
    /// By J, ascending.
    pub blocks: Vec<JBlock>,
}

/// Elements of one J.
#[derive(Debug, Clone, Serialize)]
pub struct JBlock {
    /// J.
    pub j: u32,
    /// First element, from the quadruple's.
    pub offset: usize,
    /// States of the bra.
    pub rows: usize,
    /// States of the ket.
    pub columns: usize,
}

/// Strengths of two irreps; offsets count from the group's start.
#[derive(Debug, Clone, Serialize)]
pub struct IrrepPair {
    /// (λf μf) as [λ, μ].
    pub bra: [u32; 2],
    /// (λi μi) as [λ, μ], of the annihilators: (0 nd) × (0 nc).
    pub ket: [u32; 2],
    /// First strength.
    pub offset: usize,
    /// Number of strengths.
    pub length: usize,
    /// Positions in `bras` of the pairs that contain (λf μf).
    pub bras: Vec<usize>,
    /// Positions in `kets` of the pairs that contain (λi μi).
    pub kets: Vec<usize>,
    /// S0 = 0, 1, 2; matrices of rows (λ0 μ0) κ0 ρ0 and columns bra pair, ket pair, spin.
    pub tensors: [TensorBlock; 3],
}

/// Strengths of one S0.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TensorBlock {
    /// First strength, from the product's.
    pub offset: usize,
    /// Number of (λ0 μ0) κ0 ρ0.
    pub rows: usize,
    /// bras · kets · spins.
    pub columns: usize,
    /// Number of (Sf, Si) with this S0.
    pub spins: usize,
}

/// Positions in [`SPINS`] of the combinations with this S0.
pub(super) fn spins_of(s0: u32) -> &'static [usize] {
    match s0 {
        0 => &[0, 3],
        1 => &[1, 2, 4],
        _ => &[5],
    }
}

impl IrrepPair {
    /// (λf μf).
    pub fn bra_irrep(&self) -> Irrep {
        Irrep::new(self.bra[0], self.bra[1])
    }

    /// (λi μi).
    pub fn ket_irrep(&self) -> Irrep {
        Irrep::new(self.ket[0], self.ket[1])
    }
}

impl Group {
    /// How many numbers its W⁰ has.
    pub fn w0(&self) -> u64 {
        let tensors = self.products.iter().flat_map(|product| &product.tensors);
        tensors.map(|block| (block.rows * block.rows) as u64).sum()
    }
}

impl Plan {
    /// Lays out a space.
    pub fn new(space: OscillatorSpace) -> Plan {
        let (mut groups, mut length) = (Vec::new(), 0);
        for bra_quanta in 0..=space.quanta_max() {
            for ket_quanta in (bra_quanta % 2..=space.quanta_max()).step_by(2) {
                let group = Group::new(space, bra_quanta, ket_quanta, length);
                length += group.length;
                groups.push(group);
            }
        }
        Plan { n_max: space.n_max, groups, length }
    }

    /// The space.
    pub(super) fn space(&self) -> OscillatorSpace {
        OscillatorSpace { n_max: self.n_max }
    }

    /// The group of these quanta, which must be of the same parity and within the space.
    pub(super) fn group(&self, bra_quanta: u32, ket_quanta: u32) -> Option<&Group> {
        let key = (bra_quanta, ket_quanta);
        let at = self.groups.binary_search_by_key(&key, |group| (group.bra_quanta, group.ket_quanta)).ok()?;
        Some(&self.groups[at])
    }
}

impl Group {
    fn new(space: OscillatorSpace, bra_quanta: u32, ket_quanta: u32, start: usize) -> Group {
        Group::of_pairs([bra_quanta, ket_quanta], space.pairs_of(bra_quanta), space.pairs_of(ket_quanta), start)
    }

    /// The group of some of the pairs with these quanta, ascending; numbers begin at `start`.
    pub(super) fn of_pairs(
        [bra_quanta, ket_quanta]: [u32; 2],
        bras: impl Iterator<Item = ShellPair>,
        kets: impl Iterator<Item = ShellPair>,
        start: usize,
    ) -> Group {
        let (bras, kets): (Vec<ShellPair>, Vec<ShellPair>) = (bras.collect(), kets.collect());
        let (mut quadruples, mut length) = (Vec::new(), 0);
        for bra in &bras {
            for ket in &kets {
                let quadruple = Quadruple::new(*bra, *ket, length);
                length += quadruple.length;
                quadruples.push(quadruple);
            }
        }
        let products = products(&bras, &kets);
        Group { bra_quanta, ket_quanta, bras, kets, start, length, quadruples, products }
    }
}

impl Quadruple {
    fn new(bra: ShellPair, ket: ShellPair, offset: usize) -> Quadruple {
        let (mut blocks, mut length) = (Vec::new(), 0);
        for j in 0..=bra.j_max().min(ket.j_max()) {
            let (rows, columns) = (bra.jj_states(j).len(), ket.jj_states(j).len());
            if rows * columns > 0 {
                blocks.push(JBlock { j, offset: length, rows, columns });
                length += rows * columns;
            }
        }
        Quadruple { offset, length, blocks }
    }
}

/// A pair of irreps (λf μf), (λi μi), and the positions of the pairs of shells of bra and ket that contain them.
pub(super) type Holders = ([Irrep; 2], [Vec<usize>; 2]);

/// Products of irreps, (λf μf) with k ascending, then (λi μi).
pub(super) fn irrep_pairs(bras: &[ShellPair], kets: &[ShellPair]) -> Vec<Holders> {
    let irreps_of = |pairs: &[ShellPair]| {
        let mut irreps: Vec<Irrep> = pairs.iter().flat_map(|pair| pair.irreps()).collect();
        irreps.sort_unstable_by_key(|irrep| irrep.mu);
        irreps.dedup();
        irreps
    };
    let holding =
        |pairs: &[ShellPair], mu: u32| (0..pairs.len()).filter(|p| pairs[*p].a.min(pairs[*p].b) >= mu).collect();
    let mut found = Vec::new();
    for f in irreps_of(bras) {
        for i in irreps_of(kets).into_iter().map(Irrep::conjugate) {
            found.push(([f, i], [holding(bras, f.mu), holding(kets, i.lambda)]));
        }
    }
    found
}

fn products(bras: &[ShellPair], kets: &[ShellPair]) -> Vec<IrrepPair> {
    let (mut products, mut offset) = (Vec::new(), 0);
    for ([f, i], [bras, kets]) in irrep_pairs(bras, kets) {
        let irreps = product(f, i);
        let mut length = 0;
        let tensors = [0, 1, 2].map(|s0| {
            let rows = irreps.iter().map(|(irrep, rho_max)| (rho_max * irrep.kappa_max(s0)) as usize).sum();
            let columns = bras.len() * kets.len() * spins_of(s0).len();
            let block = TensorBlock { offset: length, rows, columns, spins: spins_of(s0).len() };
            length += rows * columns;
            block
        });
        let [bra, ket] = [f, i].map(|irrep| [irrep.lambda, irrep.mu]);
        products.push(IrrepPair { bra, ket, offset, length, bras, kets, tensors });
        offset += length;
    }
    products
}

/// Labels of the rows of a [`TensorBlock`], of L0 = S0: ((λ0 μ0), κ0, ρ0), ascending.
pub(super) fn tensor_labels(f: Irrep, i: Irrep, l0: u32) -> Vec<(Irrep, u32, u32)> {
    let mut labels = Vec::new();
    for (irrep, rho_max) in product(f, i) {
        labels.extend((1..=irrep.kappa_max(l0)).flat_map(|kappa| (1..=rho_max).map(move |rho| (irrep, kappa, rho))));
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transformation is square: as many strengths as elements, group by group (Oberhuber et al. 2021 count the inputs).
    #[test]
    fn as_many_strengths_as_elements() {
        for (n_max, elements) in [(2, 2760), (8, 766_920)] {
            let plan = Plan::new(OscillatorSpace { n_max });
            assert_eq!(plan.length, elements);
            for group in &plan.groups {
                let strengths: usize = group.products.iter().map(|product| product.length).sum();
                assert_eq!(strengths, group.length, "{} {}", group.bra_quanta, group.ket_quanta);
            }
        }
    }
}
