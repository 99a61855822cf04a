//! Operators of a cut that change the charges alike: they have the same blocks, which stand [side by side](Assembly) in memory.
//!
//! A molecule of n orbitals has some n² operators at a cut, of about a hundred changes of charges. One by one its products are those of
//! small matrices; side by side they are two a change and a sector.
//!
//! [`Assembly`]: eigenforge_runtime::records::Assembly

use super::operator_sum::{Entry, OperatorCut};
use super::terms::LocalOperators;
use eigenforge_runtime::records::{AssemblyLists, IDENTITY};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The operators of a cut in groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bundles {
    /// The operators of each, ascending.
    pub(crate) groups: Vec<Vec<usize>>,
    /// Group of each operator, and its number in it.
    pub(crate) places: Vec<(usize, usize)>,
}

impl OperatorCut {
    /// Each operator as a group.
    pub(crate) fn one_by_one(&self) -> Bundles {
        let (groups, places) = (0..self.width()).map(|b| (vec![b], (b, 0))).unzip();
        Bundles { groups, places }
    }

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

/// Which operators of a block the operators of block and site add up.
pub(crate) struct BundleLists {
    /// Of each group, for the states to · n + from of the site.
    pub(crate) of_group: Vec<Vec<Vec<BundleList>>>,
    /// What they say.
    pub(crate) shared: Arc<AssemblyLists>,
}

/// The list of a group between two states of the site from one group of the block.
#[derive(Clone, Copy)]
pub(crate) struct BundleList {
    /// The group of the block; `None` for its identity.
    pub(crate) group: Option<usize>,
    /// Its number.
    pub(crate) first: usize,
}

/// The lists of each site, from the left and from the right, once they were made.
#[derive(Clone, Default)]
pub(crate) struct KnownLists(Arc<[Vec<OnceLock<BundleLists>>; 2]>);

impl KnownLists {
    /// None of so many sites.
    pub(crate) fn of_sites(sites: usize) -> KnownLists {
        let none = || (0..sites).map(|_| OnceLock::new()).collect();
        KnownLists(Arc::new([none(), none()]))
    }

    /// Those of a site.
    pub(crate) fn known(&self, from_left: bool, site: usize) -> &OnceLock<BundleLists> {
        &self.0[usize::from(from_left)][site]
    }
}

/// One entry of a list.
struct Source {
    group: usize,
    states: usize,
    from: Option<usize>,
    k: usize,
    number: u32,
    coefficient: f64,
}

impl BundleLists {
    /// From the table of a site of so many states; `ends` gives the operators of an entry at the block and behind the site, `is_identity`
    /// says whether one of the block is its identity.
    pub(crate) fn new(
        ends: impl Fn(&Entry) -> (usize, usize),
        (table, local): (&[Entry], &LocalOperators),
        states: usize,
        [bundles, behind]: [&Bundles; 2],
        is_identity: impl Fn(usize) -> bool,
    ) -> BundleLists {
        let mut found: Vec<Source> = Vec::with_capacity(2 * table.len());
        let mut elements: Vec<Option<Vec<(usize, usize, f64)>>> = vec![None; local.len()];
        for entry in table {
            let (inner, outer) = ends(entry);
            let ((group, k), (from, number)) = (bundles.places[outer], behind.places[inner]);
            let (from, number) = if is_identity(inner) { (None, IDENTITY) } else { (Some(from), number as u32) };
            // The identity has one number on sites of any dimension.
            let of = elements[entry.operator].get_or_insert_with(|| match entry.operator {
                0 => (0..states).map(|state| (state, state, 1.0)).collect(),
                operator => local.get(operator).matrix.nonzeros(),
            });
            found.extend(of.iter().map(|(to, column, value)| Source {
                group,
                states: to * states + column,
                from,
                k,
                number,
                coefficient: entry.coefficient * value,
            }));
        }
        let place = |source: &Source| (source.group, source.states, source.from);
        found.sort_unstable_by_key(|source| (place(source), source.k, source.number));
        let mut of_group = vec![vec![Vec::new(); states * states]; bundles.groups.len()];
        let mut lists = AssemblyLists::default();
        for list in found.chunk_by(|a, b| place(a) == place(b)) {
            let Source { group, states, from, .. } = list[0];
            of_group[group][states].push(BundleList { group: from, first: lists.starts.len() });
            let mut rest = list.iter().peekable();
            for k in 0..bundles.groups[group].len() {
                lists.starts.push(lists.entries.len() as u32);
                while let Some(source) = rest.next_if(|source| source.k == k) {
                    lists.entries.push((source.number, source.coefficient));
                }
            }
            lists.starts.push(lists.entries.len() as u32);
        }
        BundleLists { of_group, shared: Arc::new(lists) }
    }
}
