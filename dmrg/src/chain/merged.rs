//! Merges operators of a cut that are multiples of each other ("deparallelisation" in Hubig, McCulloch, Schollwöck, Phys.
//! Rev. B 95, 035129 (2017)).
//!
//! In: an [`OperatorSum`], such as that of H². Out: the same sum with fewer operators at its cuts. The sum of H² has a
//! pair (a, b) of operators of H for each order of the two factors. If a and b act on different sites they commute, so
//! (a, b) and (b, a) merge; multiples of 1 merge with 1. Of the 25 pairs of a Heisenberg chain 11 remain; of 400 with
//! couplings to the sixth neighbour, 186.

use super::operator_sum::{Entry, OperatorCut, OperatorSum};
use super::terms::OperatorId;
use std::collections::HashMap;

/// The signature that decides whether two operators are multiples: for each entry the neighbour, the operator, and the
/// bits of coefficient / first coefficient.
type Pattern = Vec<(usize, OperatorId, u64)>;

impl OperatorSum {
    /// Merges from the left, where left parts are multiples, then from the right.
    pub(crate) fn merged(mut self) -> OperatorSum {
        for cut in 1..self.sites.len() {
            self.merge(cut, true);
        }
        for cut in (1..self.sites.len()).rev() {
            self.merge(cut, false);
        }
        self
    }

    /// Merges the operators of one cut whose left parts (else: right parts) are multiples of each other, and drops those
    /// without such a part.
    fn merge(&mut self, cut: usize, left: bool) {
        // Entries that form the parts, and those that continue from them.
        let (made, onward) = if left { (cut - 1, cut) } else { (cut, cut - 1) };
        let here = |entry: &Entry| if left { entry.to } else { entry.from };
        let there = |entry: &Entry| if left { entry.from } else { entry.to };
        let width = self.cuts[cut].width();
        let mut parts: Vec<Vec<Entry>> = vec![Vec::new(); width];
        let nonzero = self.sites[made].iter().filter(|entry| entry.coefficient != 0.0);
        nonzero.for_each(|entry| parts[here(entry)].push(*entry));
        let OperatorCut { left_identity, right_identity, .. } = self.cuts[cut];
        for part in &mut parts {
            part.sort_by_key(|entry| (there(entry), entry.operator));
        }
        let pattern = |operator: usize| -> Option<(Pattern, f64)> {
            let scale = parts[operator].first()?.coefficient;
            let ratio = |entry: &Entry| (entry.coefficient / scale).to_bits();
            Some((parts[operator].iter().map(|entry| (there(entry), entry.operator, ratio(entry))).collect(), scale))
        };
        let is_identity = |operator: usize| [left_identity, right_identity].contains(&Some(operator));
        // The first operator of each pattern with the size of its part. The operator whose part is the identity
        // represents the multiples of it; since its other side changes, that side must not be the identity too.
        let mut first_of: HashMap<Pattern, (usize, f64)> = HashMap::new();
        let identity = if left { left_identity } else { right_identity };
        if let Some(operator) = identity.filter(|_| left_identity != right_identity)
            && let Some((pattern, scale)) = pattern(operator)
        {
            first_of.insert(pattern, (operator, scale));
        }
        // For each operator its representative and the factor; `None` if it has no part.
        let mut stand: Vec<Option<(usize, f64)>> = Vec::with_capacity(width);
        for operator in 0..width {
            stand.push(if is_identity(operator) {
                Some((operator, 1.0))
            } else {
                pattern(operator).map(|(pattern, scale)| {
                    let (chosen, of_chosen) = *first_of.entry(pattern).or_insert((operator, scale));
                    (chosen, scale / of_chosen)
                })
            });
        }
        let kept: Vec<usize> =
            (0..width).filter(|operator| stand[*operator].is_some_and(|(chosen, _)| chosen == *operator)).collect();
        if kept.len() == width {
            return;
        }
        let mut number = vec![0; width];
        kept.iter().enumerate().for_each(|(new, old)| number[*old] = new);
        let moved = |entry: &Entry, operator: usize, coefficient: f64| {
            let (from, to) = if left { (entry.from, operator) } else { (operator, entry.to) };
            Entry { from, to, coefficient, operator: entry.operator }
        };
        let stays = |entry: &&Entry| stand[here(entry)].is_some_and(|(chosen, _)| chosen == here(entry));
        self.sites[made] =
            self.sites[made].iter().filter(stays).map(|e| moved(e, number[here(e)], e.coefficient)).collect();
        // On the other side of the cut, the entries of merged operators are added.
        let mut sums: HashMap<(usize, usize, OperatorId), f64> = HashMap::new();
        let mut order = Vec::new();
        for entry in &self.sites[onward] {
            let at_cut = if left { entry.from } else { entry.to };
            let Some((chosen, factor)) = stand[at_cut] else { continue };
            let new = number[chosen];
            let (from, to) = if left { (new, entry.to) } else { (entry.from, new) };
            let key = (from, to, entry.operator);
            let sum = sums.entry(key).or_insert_with(|| {
                order.push(key);
                0.0
            });
            *sum += factor * entry.coefficient;
        }
        let entry = |key: &(usize, usize, OperatorId)| {
            let (from, to, operator) = *key;
            Entry { from, to, coefficient: sums[key], operator }
        };
        self.sites[onward] = order.iter().map(entry).filter(|entry| entry.coefficient != 0.0).collect();
        let renumbered = |operator: Option<usize>| operator.map(|old| number[old]);
        self.cuts[cut] = OperatorCut {
            changes: kept.iter().map(|old| self.cuts[cut].changes[*old]).collect(),
            left_identity: renumbered(left_identity),
            right_identity: renumbered(right_identity),
        };
    }
}
