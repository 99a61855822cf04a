//! A state as one can take it away: a right-canonical matrix-product state on the host.
//!
//! In: the [isometries](crate::block::state) that a search leaves. Out: for each position the tensor B[l, s, r] with left bond l, state s of the
//! site and right bond r in blocks of one charge, with Σ_sr B[l, s, r] B[l', s, r] = δ_ll'. The amplitude of a product state is the product of the
//! matrices B[·, s, ·] of its sites, in the basis of [`crate::chain::site`]: modes in the order of the chain, ↑ before ↓ on each site.

use crate::block::blocks::{Sectors, Side};
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::engine::Engine;
use crate::error::DmrgError;
use std::ops::Range;

/// A block of a tensor: one state of the site, one sector of each bond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteTensorBlock {
    /// The state of the site.
    pub state: usize,
    /// Its states of the left bond.
    pub left: Range<usize>,
    /// Its states of the right bond.
    pub right: Range<usize>,
    /// The first of its values, left states by right states, row by row.
    pub first: usize,
}

/// The tensor of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteTensor {
    /// The site of the lattice.
    pub site: usize,
    /// The charges of each state of the site.
    pub charges: Vec<Vec<i32>>,
    /// All blocks that are not zero.
    pub blocks: Vec<SiteTensorBlock>,
    /// Their values.
    pub values: Vec<f64>,
}

/// A state of a chain, of length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixProductState {
    /// A tensor for each position.
    pub tensors: Vec<SiteTensor>,
    /// For the bonds from the left end to the right one, the charges of the part to the left in each state.
    pub bonds: Vec<Vec<Vec<i32>>>,
    /// The imaginary part of the first tensor's values, in their order; empty of a real state. All other tensors are real.
    pub imaginary: Vec<f64>,
}

impl Chain {
    /// The fixed charges of a label, and its irrep where irreps are conserved.
    pub(crate) fn listed(&self, charges: Charges) -> Vec<i32> {
        let irrep = self.irreps.as_ref().map(|_| i32::from(charges.1));
        charges.0[..self.numbers.len()].iter().copied().chain(irrep).collect()
    }

    /// The label of such a list; `None` where it has not as many charges.
    pub(crate) fn unlisted(&self, list: &[i32]) -> Option<Charges> {
        let (numbers, irrep) = list.split_at_checked(self.numbers.len())?;
        let mut label = Charges::default();
        label.0[..numbers.len()].copy_from_slice(numbers);
        label.1 = match (irrep, &self.irreps) {
            ([irrep], Some(_)) => u8::try_from(*irrep).ok()?,
            ([], None) => 0,
            _ => return None,
        };
        Some(label)
    }
}

/// The states of a bond by the sectors of what is to its right.
fn bond(chain: &Chain, sectors: &Sectors) -> Vec<Vec<i32>> {
    let of =
        |sector| std::iter::repeat_n(chain.listed(chain.total - sectors.charges(sector)), sectors.dimension(sector));
    (0..sectors.len()).flat_map(of).collect()
}

/// The first state of each sector of a bond.
fn starts(sectors: &Sectors) -> Vec<usize> {
    let mut next = 0;
    let start = |sector| {
        next += sectors.dimension(sector);
        next - sectors.dimension(sector)
    };
    (0..sectors.len()).map(start).collect()
}

impl MatrixProductState {
    /// Of the isometries of all positions.
    ///
    /// # Errors
    /// Copies from the engine.
    pub(crate) fn new<E: Engine>(
        engine: &E,
        chain: &Chain,
        isometries: &[Isometry<E::Buffer>],
    ) -> Result<MatrixProductState, DmrgError> {
        let (end, auxiliary) = (Sectors::end(), chain.sites - chain.order.len());
        let mut tensors = Vec::new();
        for (p, isometry) in isometries.iter().enumerate() {
            let behind = isometries.get(p + 1).map_or(&end, |next| &next.kept);
            let enlarged = chain.enlarge(Side::Right, behind, p + auxiliary + 1);
            let (lefts, rights) = (starts(&isometry.kept), starts(behind));
            let data = engine.download(&isometry.data)?;
            let (mut blocks, mut values) = (Vec::new(), Vec::new());
            for block in &isometry.blocks {
                let left = lefts[block.kept_sector];
                for part in &enlarged.parts[block.enlarged_sector] {
                    let right = rights[part.block];
                    blocks.push(SiteTensorBlock {
                        state: part.state,
                        left: left..left + block.columns,
                        right: right..right + part.dimension,
                        first: values.len(),
                    });
                    for column in 0..block.columns {
                        let from = block.offset + column * block.rows + part.first;
                        values.extend_from_slice(&data[from..from + part.dimension]);
                    }
                }
            }
            let charges = chain.site(p + auxiliary).charges().iter().map(|own| chain.listed(*own)).collect();
            tensors.push(SiteTensor { site: chain.order[p], charges, blocks, values });
        }
        let kept = isometries.iter().map(|isometry| &isometry.kept).chain([&end]);
        let bonds = kept.map(|sectors| bond(chain, sectors)).collect();
        Ok(MatrixProductState { tensors, bonds, imaginary: Vec::new() })
    }

    /// ⟨self|other⟩ of two states of one chain: real and imaginary part.
    ///
    /// # Errors
    /// What is different of the two chains.
    pub fn overlap(&self, other: &MatrixProductState) -> Result<[f64; 2], &'static str> {
        let [own, there] = [self, other].map(|state| state.tensors.first().map_or(&[][..], |first| &first.values));
        let mut sum = [self.overlap_from(other, own, there)?, 0.0];
        if !self.imaginary.is_empty() && !other.imaginary.is_empty() {
            sum[0] += self.overlap_from(other, &self.imaginary, &other.imaginary)?;
        }
        if !other.imaginary.is_empty() {
            sum[1] += self.overlap_from(other, own, &other.imaginary)?;
        }
        if !self.imaginary.is_empty() {
            sum[1] -= self.overlap_from(other, &self.imaginary, there)?;
        }
        Ok(sum)
    }

    /// The overlap with these values in the first tensors.
    fn overlap_from(&self, other: &MatrixProductState, first: &[f64], of_other: &[f64]) -> Result<f64, &'static str> {
        let [own, there] = [self, other].map(|state| state.tensors.iter().map(|tensor| (tensor.site, &tensor.charges)));
        if !own.eq(there) {
            return Err("sites, their order, their states or charges");
        }
        if self.bonds.last() != other.bonds.last() {
            return Err("sectors");
        }
        // Row by row, states of this by those of the other.
        let mut overlaps = vec![1.0];
        for (p, (own, there)) in self.tensors.iter().zip(&other.tensors).enumerate() {
            let (values, of_other) = if p == 0 { (first, of_other) } else { (&own.values[..], &there.values[..]) };
            let [_, width] = [self, other].map(|state| state.bonds[p].len());
            let [rows, columns] = [self, other].map(|state| state.bonds[p + 1].len());
            let mut next = vec![0.0; rows * columns];
            for a in &own.blocks {
                for b in there.blocks.iter().filter(|b| b.state == a.state) {
                    if self.bonds[p][a.left.start] != other.bonds[p][b.left.start] {
                        continue;
                    }
                    for (i, l) in a.left.clone().enumerate() {
                        // Σ_l' O[l, l'] B[l', r'] of the row l.
                        let mut row = vec![0.0; b.right.len()];
                        for (j, m) in b.left.clone().enumerate() {
                            let factor = overlaps[l * width + m];
                            let from = &of_other[b.first + j * b.right.len()..][..b.right.len()];
                            row.iter_mut().zip(from).for_each(|(sum, value)| *sum += factor * value);
                        }
                        let from = &values[a.first + i * a.right.len()..][..a.right.len()];
                        for (r, value) in a.right.clone().zip(from) {
                            let to = &mut next[r * columns + b.right.start..][..b.right.len()];
                            to.iter_mut().zip(&row).for_each(|(sum, own)| *sum += value * own);
                        }
                    }
                }
            }
            overlaps = next;
        }
        Ok(overlaps[0])
    }
}
