//! H across every cut of the chain as a minimal sum of left ⊗ right operators (a matrix product operator).
//!
//! In: [`Terms`]. Out: for each site a sparse table of entries (from, to, coefficient, local operator), so that H = Σ Π
//! W, with the fewest operators at every cut that a symbolic sum can have.
//!
//! From left to right, at each site: take the graph whose left vertices are (operator so far, operator here), whose right
//! vertices are the distinct remainders of terms, and whose edges are the terms. It is covered by as few vertices as
//! possible; each chosen vertex becomes one operator of the cut (Ren, Li, Jiang, Shuai, J. Chem. Phys. 153, 084118
//! (2020), section II.C). A left vertex is passed on unchanged and its terms keep their coefficients; a right vertex gets
//! the sum of all left operators that need this remainder, the *complementary* operator (Xiang 1996). Identities and
//! single-site operators therefore stay symbolic. A nearest-neighbour Heisenberg chain has 5 operators, a Hubbard chain
//! 6.

use super::charges::Charges;
use super::cover::minimum_cover;
use super::site_list::SiteList;
use super::terms::{LocalOperators, OperatorId, Term, Terms};
use std::collections::HashMap;

/// W[from, to] ∋ coefficient · operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Operator of the cut to the left.
    pub from: usize,
    /// Operator of the cut to the right.
    pub to: usize,
    /// Its coefficient.
    pub coefficient: f64,
    /// The operator of the site.
    pub operator: OperatorId,
}

/// The operators of a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCut {
    /// How much each changes the charges of the left part.
    pub changes: Vec<Charges>,
    /// The operator that is the identity of the left part: terms that have not started.
    pub left_identity: Option<usize>,
    /// The operator whose right part is the identity: terms that have ended.
    pub right_identity: Option<usize>,
}

impl OperatorCut {
    /// Number of operators.
    pub fn width(&self) -> usize {
        self.changes.len()
    }

    fn end() -> OperatorCut {
        OperatorCut { changes: vec![Charges::default()], left_identity: Some(0), right_identity: Some(0) }
    }
}

/// The whole sum.
#[derive(Clone, Debug)]
pub struct OperatorSum {
    /// One table per site.
    pub sites: Vec<Vec<Entry>>,
    /// Cuts 0 … N; the first and the last have one operator.
    pub cuts: Vec<OperatorCut>,
    /// The one-site operators.
    pub operators: LocalOperators,
    /// Sites that the longest term spans beyond its first.
    pub range: usize,
}

/// The remainder of a term after a site: 0 for nothing, else one more than the index of its first operator.
type Rest = usize;

/// Interned remainders, each as (position, operator, next remainder): equal remainders have equal numbers.
#[derive(Default)]
struct Rests {
    list: Vec<(usize, OperatorId, Rest)>,
    known: HashMap<(usize, OperatorId, Rest), Rest>,
}

impl Rests {
    fn number(&mut self, term: &Term) -> Rest {
        term.operators.iter().rev().fold(0, |behind, (position, operator)| {
            let key = (*position, *operator, behind);
            *self.known.entry(key).or_insert_with(|| {
                self.list.push(key);
                self.list.len()
            })
        })
    }

    /// The operator at a position, and the remainder after it.
    fn split(&self, rest: Rest, position: usize) -> (OperatorId, Rest) {
        match rest.checked_sub(1).map(|index| self.list[index]) {
            Some((at, operator, behind)) if at == position => (operator, behind),
            _ => (0, rest),
        }
    }
}

/// A term in progress.
struct Pending {
    from: usize,
    coefficient: f64,
    rest: Rest,
}

/// Numbers keys in order of appearance.
struct Numbering<K> {
    list: Vec<K>,
    known: HashMap<K, usize>,
}

impl<K: Copy + Eq + std::hash::Hash> Numbering<K> {
    fn new() -> Numbering<K> {
        Numbering { list: Vec::new(), known: HashMap::new() }
    }

    fn number(&mut self, key: K) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            self.list.push(key);
            self.list.len() - 1
        })
    }
}

impl OperatorSum {
    /// The sum of the terms of a model on `sites` sites.
    pub fn new(terms: Terms, sites: usize) -> OperatorSum {
        let mut rests = Rests::default();
        let span = |term: &Term| term.operators.last().map_or(0, |last| last.0 - term.operators[0].0);
        let range = terms.list.iter().map(span).max().unwrap_or(0);
        let mut pending: Vec<Pending> = terms
            .list
            .iter()
            .map(|term| Pending { from: 0, coefficient: term.coefficient, rest: rests.number(term) })
            .collect();
        let mut sum = OperatorSum {
            sites: Vec::with_capacity(sites),
            cuts: vec![OperatorCut::end()],
            operators: terms.operators,
            range,
        };
        for position in 0..sites {
            pending = sum.pass(position, position + 1 == sites, &rests, pending);
        }
        sum
    }

    /// Moves the terms past one site: returns its table, the next cut, and the terms in progress.
    fn pass(&mut self, position: usize, last: bool, rests: &Rests, pending: Vec<Pending>) -> Vec<Pending> {
        let before = &self.cuts[position];
        let (mut rows, mut columns) = (Numbering::new(), Numbering::new());
        let mut weights: HashMap<(usize, usize), f64> = HashMap::new();
        let mut edges: Vec<Vec<usize>> = Vec::new();
        for term in &pending {
            let (operator, behind) = rests.split(term.rest, position);
            let (row, column) = (rows.number((term.from, operator)), columns.number(behind));
            edges.resize(rows.list.len(), Vec::new());
            match weights.entry((row, column)) {
                std::collections::hash_map::Entry::Occupied(mut weight) => *weight.get_mut() += term.coefficient,
                std::collections::hash_map::Entry::Vacant(weight) => {
                    weight.insert(term.coefficient);
                    edges[row].push(column);
                }
            }
        }
        let is_identity = |row: usize| {
            let (from, operator) = rows.list[row];
            before.left_identity == Some(from) && operator == 0
        };
        let mut by_row = minimum_cover(&edges, columns.list.len()).left;
        for row in 0..edges.len() {
            // Coefficients move left where this loses nothing, so that right parts have none; the end has one operator.
            if last || edges[row].len() == 1 && !is_identity(row) {
                by_row[row] = false;
            }
        }
        let mut table = Vec::new();
        let mut cut = OperatorCut { changes: Vec::new(), left_identity: None, right_identity: None };
        let mut next = Vec::new();
        let change = |row: usize| {
            let (from, operator) = rows.list[row];
            before.changes[from] + self.operators.get(operator).change
        };
        for row in (0..edges.len()).filter(|row| by_row[*row]) {
            let (from, operator) = rows.list[row];
            let to = cut.changes.len();
            cut.changes.push(change(row));
            table.push(Entry { from, to, coefficient: 1.0, operator });
            if is_identity(row) {
                cut.left_identity = Some(to);
            }
            for &column in &edges[row] {
                let coefficient = weights[&(row, column)];
                next.push(Pending { from: to, coefficient, rest: columns.list[column] });
            }
        }
        let mut number = vec![None; columns.list.len()];
        for row in (0..edges.len()).filter(|row| !by_row[*row]) {
            let (from, operator) = rows.list[row];
            for &column in &edges[row] {
                let to = *number[column].get_or_insert_with(|| {
                    let rest = columns.list[column];
                    cut.changes.push(change(row));
                    next.push(Pending { from: cut.changes.len() - 1, coefficient: 1.0, rest });
                    if rest == 0 {
                        cut.right_identity = Some(cut.changes.len() - 1);
                    }
                    cut.changes.len() - 1
                });
                table.push(Entry { from, to, coefficient: weights[&(row, column)], operator });
            }
        }
        self.sites.push(table);
        self.cuts.push(cut);
        next
    }

    /// The largest number of operators at a cut.
    pub fn width(&self) -> usize {
        self.cuts.iter().map(OperatorCut::width).max().unwrap_or(0)
    }

    /// The sum for H²: at each cut the pairs of operators, at each site their products; multiples of each other are
    /// merged.
    pub fn squared(&self, local: &SiteList) -> OperatorSum {
        let mut operators = self.operators.clone();
        let pair = |cut: &OperatorCut, a: Option<usize>| Some(a? * cut.width() + a?);
        let cuts: Vec<OperatorCut> = self
            .cuts
            .iter()
            .map(|cut| OperatorCut {
                changes: cut.changes.iter().flat_map(|a| cut.changes.iter().map(|b| *a + *b)).collect(),
                left_identity: pair(cut, cut.left_identity),
                right_identity: pair(cut, cut.right_identity),
            })
            .collect();
        let mut sites = Vec::with_capacity(self.sites.len());
        for (position, table) in self.sites.iter().enumerate() {
            let (before, behind) = (self.cuts[position].width(), self.cuts[position + 1].width());
            let charges = local.site(position).charges();
            let mut squared = Vec::new();
            for a in table {
                for b in table {
                    if let Some((operator, factor)) = operators.product(a.operator, b.operator, charges) {
                        squared.push(Entry {
                            from: a.from * before + b.from,
                            to: a.to * behind + b.to,
                            coefficient: factor * a.coefficient * b.coefficient,
                            operator,
                        });
                    }
                }
            }
            sites.push(squared);
        }
        OperatorSum { sites, cuts, operators, range: self.range }.merged()
    }
}
