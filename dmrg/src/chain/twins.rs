//! Operators of the right part of a cut that are transposes of each other ("twins"): only one of the two is computed.
//!
//! In: an [`OperatorSum`] such as that of H². Out: for each cut and operator b, the operator a and the factor with B_b =
//! factor · B_aᵀ, where a is computed. The parts are real, so in H² the pairs S⁺ S⁺ and S⁻ S⁻ are twins, and S⁺ Sᶻ and S⁻
//! Sᶻ; Sᶻ Sᶻ is its own transpose. Twins are found from the last site to the first: B_b = Σ c W ⊗ B_to has the transpose
//! Σ c Wᵀ ⊗ B_toᵀ.

use super::operator_sum::{Entry, OperatorSum};
use super::terms::OperatorId;
use std::collections::HashMap;

/// B = factor · B_ofᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Twin {
    /// The other operator.
    pub of: usize,
    /// The factor.
    pub factor: f64,
}

/// Coefficients that differ by less than this relative amount are equal.
const ROUNDING: f64 = 1e-15;

impl OperatorSum {
    /// For each cut and operator, the operator with a lower number whose right part is the transpose, if there is one.
    pub(crate) fn right_twins(&self) -> Vec<Vec<Option<Twin>>> {
        let transposed = self.operators.transposed();
        let mut list = vec![vec![None]];
        let mut behind = vec![Some(Twin { of: 0, factor: 1.0 })];
        for (table, cut) in self.sites.iter().zip(&self.cuts).rev() {
            let mut parts: Vec<Vec<Entry>> = vec![Vec::new(); cut.width()];
            let place = |entry: &Entry| (entry.to, entry.operator);
            table.iter().for_each(|entry| parts[entry.from].push(*entry));
            parts.iter_mut().for_each(|part| part.sort_by_key(place));
            let mut at: HashMap<Vec<(usize, OperatorId)>, Vec<usize>> = HashMap::new();
            for (operator, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
                at.entry(part.iter().map(place).collect()).or_default().push(operator);
            }
            let turned = |entry: &Entry| {
                let (twin, (operator, factor)): (Twin, _) = (behind[entry.to]?, transposed[entry.operator]?);
                let coefficient = entry.coefficient * twin.factor * factor;
                Some(Entry { from: 0, to: twin.of, coefficient, operator })
            };
            let twin = |part: &Vec<Entry>| {
                let mut turned = part.iter().map(turned).collect::<Option<Vec<Entry>>>()?;
                turned.sort_by_key(place);
                let candidates = at.get(&turned.iter().map(place).collect::<Vec<_>>())?;
                candidates.iter().find_map(|of| {
                    let factor = turned[0].coefficient / parts[*of][0].coefficient;
                    let close = |(a, b): (&Entry, &Entry)| {
                        (a.coefficient - factor * b.coefficient).abs() <= ROUNDING * a.coefficient.abs()
                    };
                    turned.iter().zip(&parts[*of]).all(close).then_some(Twin { of: *of, factor })
                })
            };
            behind = parts.iter().map(twin).collect();
            let mut chosen: Vec<Option<Twin>> = Vec::with_capacity(behind.len());
            for (operator, twin) in behind.iter().enumerate() {
                chosen.push(twin.filter(|twin| twin.of < operator && chosen[twin.of].is_none()));
            }
            list.push(chosen);
        }
        list.reverse();
        list
    }

    /// The same sum without the entries that form the right parts of these operators.
    pub(crate) fn remove_twins(&self, twins: &[Vec<Option<Twin>>]) -> OperatorSum {
        let stays = |cut: usize, table: &Vec<Entry>| {
            table.iter().filter(|entry| twins[cut][entry.from].is_none()).copied().collect::<Vec<_>>()
        };
        let sites = self.sites.iter().enumerate().map(|(site, table)| stays(site, table)).collect();
        OperatorSum { sites, cuts: self.cuts.clone(), operators: self.operators.clone(), range: self.range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chain;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::{hubbard, xxz};

    /// The right parts of all operators at each cut as dense matrices, row by row.
    fn right_parts(sum: &OperatorSum) -> Vec<Vec<Vec<f64>>> {
        let mut parts = vec![vec![vec![1.0]]];
        for (table, cut) in sum.sites.iter().zip(&sum.cuts).rev() {
            let behind = &parts[parts.len() - 1];
            let size = (behind[0].len() as f64).sqrt() as usize;
            let d = sum.operators.get(0).matrix.dimension;
            let mut here = vec![vec![0.0; (d * size).pow(2)]; cut.width()];
            for entry in table {
                for (row, column, value) in sum.operators.get(entry.operator).matrix.nonzeros() {
                    for (k, element) in behind[entry.to].iter().enumerate() {
                        let (i, j) = (row * size + k / size, column * size + k % size);
                        here[entry.from][i * d * size + j] += entry.coefficient * value * element;
                    }
                }
            }
            parts.push(here);
        }
        parts.reverse();
        parts
    }

    #[test]
    fn twins_are_transposes_and_many_operators_have_one() {
        let lattice = Lattice::square([3, 2]);
        let bonds = lattice.bonds().len();
        let spins = xxz(&lattice, &vec![1.0; bonds], &vec![0.7; bonds], &[0.1; 6], &[0.0; 6]);
        let chain = Lattice::chain(4).open();
        let electrons = hubbard(&chain, &[1.0, 0.4, 0.9], &[3.0; 4], &[0.3; 4], 0.0, &[0.2; 3]);
        let sectors = [Sector::Spins { two_sz: 0 }, Sector::Fermions { up: 2, down: 1 }];
        for (operator, sector) in [spins, electrons].into_iter().zip(sectors) {
            let chain = Chain::new(&operator, sector.clone(), None).unwrap();
            let square = chain.sum.squared(&chain.local);
            let (twins, parts) = (square.right_twins(), right_parts(&square));
            assert_eq!(twins.len(), square.cuts.len());
            let mut most = (0, 0);
            for (cut, (twins, parts)) in twins.iter().zip(&parts).enumerate() {
                let size = (parts[0].len() as f64).sqrt() as usize;
                for (b, twin) in twins.iter().enumerate() {
                    let Some(Twin { of, factor }) = *twin else { continue };
                    assert!(twins[of].is_none(), "cut {cut}: {of} is computed, for {b} is not");
                    for k in 0..size * size {
                        let expected = factor * parts[of][k % size * size + k / size];
                        assert!((parts[b][k] - expected).abs() < 1e-13, "cut {cut}: {b} is {factor} times {of}ᵀ");
                    }
                }
                most = most.max((twins.len(), twins.iter().flatten().count()));
            }
            println!("{sector:?}: {} of {} operators are another's transpose", most.1, most.0);
            assert!(most.1 * 4 > most.0, "{} of {}", most.1, most.0);
        }
    }
}
