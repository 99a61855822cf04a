//! Operators of a cut that change the charges alike: they have the same blocks, which stand [side by side](Assembly) in memory.
//!
//! A molecule of n orbitals has some n² operators at a cut, of about a hundred changes of charges. One by one its products are those of
//! small matrices; side by side they are two a change and a sector.
//!
//! On one side of a cut most of them are an operator of the block beside the identity of the site, or its parity. These are groups of their
//! own, *passed on*: their matrices are those of the block, once for each state of the site.
//!
//! [`Assembly`]: eigenforge_runtime::records::Assembly

use super::operator_sum::{Entry, OperatorCut, OperatorSum};
use super::site::Matrix;
use super::terms::LocalOperators;
use eigenforge_runtime::records::{AssemblyLists, IDENTITY};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Operators that are passed on alike, from which on a group of their own pays.
const WORTH_A_GROUP: usize = 8;

/// The operators of a cut in groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bundles {
    /// The operators of each, ascending.
    pub(crate) groups: Vec<Vec<usize>>,
    /// Group of each operator, and its number in it.
    pub(crate) places: Vec<(usize, usize)>,
    /// Of each group, from the left and from the right: the signs of the site's states, if all its operators are passed on.
    pub(crate) passed_on: Vec<[Option<Signs>; 2]>,
}

/// For each state of a site whether the operator of the block changes its sign.
pub(crate) type Signs = Vec<bool>;

impl OperatorCut {
    /// Each operator as a group.
    pub(crate) fn one_by_one(&self) -> Bundles {
        let (groups, places) = (0..self.width()).map(|b| (vec![b], (b, 0))).unzip();
        Bundles { groups, places, passed_on: vec![[None, None]; self.width()] }
    }
}

impl OperatorSum {
    /// The groups of cut `p`, between sites of so many states. The identity of each side is its own, because it needs no matrix.
    pub(crate) fn bundles(&self, p: usize, states: [usize; 2]) -> Bundles {
        let cut = &self.cuts[p];
        let mut passed_on = self.passed_on(p, states);
        let mut alike: BTreeMap<_, usize> = BTreeMap::new();
        cut.changes.iter().zip(&passed_on).for_each(|key| *alike.entry(key).or_default() += 1);
        let few: Vec<bool> = cut.changes.iter().zip(&passed_on).map(|key| alike[&key] < WORTH_A_GROUP).collect();
        passed_on.iter_mut().zip(few).filter(|(_, few)| *few).for_each(|(signs, _)| *signs = [None, None]);
        let alone = |b: usize| [cut.left_identity, cut.right_identity].map(|identity| identity == Some(b));
        let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (b, (change, signs)) in cut.changes.iter().zip(passed_on).enumerate() {
            alike.entry((alone(b), *change, signs)).or_default().push(b);
        }
        let (passed_on, groups): (Vec<_>, Vec<_>) = alike.into_iter().map(|((.., signs), list)| (signs, list)).unzip();
        let mut places = vec![(0, 0); cut.width()];
        for (group, operators) in groups.iter().enumerate() {
            operators.iter().enumerate().for_each(|(k, b)| places[*b] = (group, k));
        }
        Bundles { groups, places, passed_on }
    }

    /// Of each operator of cut `p` the signs with which it is passed on, from the left and from the right.
    fn passed_on(&self, p: usize, states: [usize; 2]) -> Vec<[Option<Signs>; 2]> {
        let mut found = vec![[None, None]; self.cuts[p].width()];
        let mut of_side = |side: usize, table: &[Entry], ends: &dyn Fn(&Entry) -> (usize, usize), identity| {
            let mut entries = vec![0; found.len()];
            table.iter().for_each(|entry| entries[ends(entry).1] += 1);
            for entry in table {
                let (inner, outer) = ends(entry);
                if entries[outer] == 1 && identity != Some(inner) {
                    found[outer][side] = match entry.operator {
                        0 => Some(vec![false; states[side]]),
                        operator => signs(&self.operators.get(operator).matrix),
                    };
                }
            }
        };
        if p > 0 {
            of_side(0, &self.sites[p - 1], &|entry| (entry.from, entry.to), self.cuts[p - 1].left_identity);
        }
        if p < self.sites.len() {
            of_side(1, &self.sites[p], &|entry| (entry.to, entry.from), self.cuts[p + 1].right_identity);
        }
        found
    }
}

/// The signs of a matrix that is a multiple of ±1 on each state, against that of the first state.
fn signs(matrix: &Matrix) -> Option<Signs> {
    let nonzeros = matrix.nonzeros();
    let (_, _, first) = *nonzeros.first()?;
    let is_diagonal = nonzeros.len() == matrix.dimension && nonzeros.iter().all(|(row, column, _)| row == column);
    let is_sign = is_diagonal && nonzeros.iter().all(|(_, _, value)| value.abs() == first.abs());
    is_sign.then(|| nonzeros.iter().map(|(_, _, value)| *value != first).collect())
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

/// The groups of each cut, and the lists of each site from the left and from the right, once they were made.
#[derive(Clone, Default)]
pub(crate) struct KnownBundles {
    cuts: Arc<[OnceLock<Bundles>]>,
    lists: Arc<[[OnceLock<BundleLists>; 2]]>,
}

impl KnownBundles {
    /// None of so many sites.
    pub(crate) fn of_sites(sites: usize) -> KnownBundles {
        let cuts = (0..=sites).map(|_| OnceLock::new()).collect();
        KnownBundles { cuts, lists: (0..sites).map(|_| Default::default()).collect() }
    }

    /// Those of a cut.
    pub(crate) fn cut(&self, p: usize) -> &OnceLock<Bundles> {
        &self.cuts[p]
    }

    /// Those of a site.
    pub(crate) fn site(&self, from_left: bool, site: usize) -> &OnceLock<BundleLists> {
        &self.lists[site][usize::from(from_left)]
    }
}

/// What the operators of a block and a site need to stand side by side.
#[derive(Clone, Copy)]
pub(crate) struct BundlesOfSite<'a> {
    /// The groups of the cut behind the site, away from the block.
    pub(crate) cut: &'a Bundles,
    /// The groups of the cut between block and site.
    pub(crate) behind: &'a Bundles,
    /// Where lists are kept from one visit of the site to the next; `None` where a block takes no site.
    pub(crate) lists: Option<&'a OnceLock<BundleLists>>,
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
