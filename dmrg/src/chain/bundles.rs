//! Operators of a cut that change the charges alike: they have the same blocks, which stand [side by side](Assembly) in memory.
//!
//! A molecule of n orbitals has some n² operators at a cut, of a hundred changes of charges at most. With operators one by one
//! its products are those of small matrices, hundreds of thousands a bond; side by side they are two a change and a sector.
//!
//! [`Assembly`]: eigenforge_runtime::records::Assembly

use super::operator_sum::OperatorCut;
use std::collections::BTreeMap;

/// The operators of a cut in groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bundles {
    /// The operators of each, ascending.
    pub groups: Vec<Vec<usize>>,
    /// Group of each operator, and its number in it.
    pub places: Vec<(usize, usize)>,
}

impl OperatorCut {
    /// The groups of the cut. The identity of each side is its own, because it needs no matrix.
    pub(crate) fn bundles(&self) -> Bundles {
        let alone = |b: usize| [self.left_identity, self.right_identity].map(|identity| identity == Some(b));
        let mut by_change: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (b, change) in self.changes.iter().enumerate() {
            by_change.entry((alone(b), *change)).or_default().push(b);
        }
        let groups: Vec<Vec<usize>> = by_change.into_values().collect();
        let mut places = vec![(0, 0); self.width()];
        for (group, operators) in groups.iter().enumerate() {
            operators.iter().enumerate().for_each(|(k, b)| places[*b] = (group, k));
        }
        Bundles { groups, places }
    }
}
