//! Total spin: its square, and whether an operator conserves it.
//!
//! In: what each site carries; an operator. Out: S² = Σ_i S_i² + 2 Σ_{i<j} S_i·S_j of electrons and moments, and whether
//! [H, S⁺] = 0, S⁺ = Σ_i S⁺_i. Of a Hermitian H its conjugate gives [H, S⁻] = 0, and both [H, Sᶻ] = 0 and [H, S²] = 0. The commutator is
//! taken term by term in normal order, so it is exact but for the rounding of the coefficients. Sites without a spin (bosons, qubits,
//! fermions of flavours) are left as they are.

use super::{Factor, Operator, Product, SiteKind, Spin, normal};
use std::collections::BTreeMap;

/// What is left of terms that cancel, in roundings of those terms.
const ROUNDINGS: f64 = 16.0;

/// The same in roundings of the largest coefficient: the sine of 2π is one.
const ROUNDINGS_OF_SCALE: f64 = 4.0;

/// S⁺ of a site; `None` where it has no spin.
fn raising(kind: SiteKind, site: usize) -> Option<Product> {
    match kind {
        SiteKind::Electrons | SiteKind::Tj => {
            Some(vec![Factor::Create(Spin::Up, site), Factor::Annihilate(Spin::Down, site)])
        }
        SiteKind::Moments { .. } => Some(vec![Factor::Raise(site)]),
        _ => None,
    }
}

/// S² of all sites that have a spin; `None` where none has.
pub fn total_spin_squared(kinds: &[SiteKind]) -> Option<Operator> {
    let sites: Vec<usize> = (0..kinds.len()).filter(|site| raising(kinds[*site], *site).is_some()).collect();
    let mut sum = Operator::zero();
    for (place, i) in sites.iter().enumerate() {
        for j in &sites[place..] {
            let times = if i == j { 1.0 } else { 2.0 };
            sum.add_terms(kinds[*i].dot(*i, kinds[*j], *j)?, times);
        }
    }
    // Terms of different pairs may have cancelled.
    (!sites.is_empty()).then(|| 1.0 * sum)
}

impl Operator {
    /// Whether it commutes with the total spin, and leaves out no state that the spin needs.
    pub fn conserves_total_spin(&self) -> bool {
        let kinds = self.kinds_or_implied();
        // Empty and doubly occupied sites have spin 0.
        let is_singlet = |(site, state): &(usize, u64)| match kinds[*site] {
            SiteKind::Electrons => matches!(state, 0 | 3),
            SiteKind::Tj => *state == 0,
            kind => raising(kind, *site).is_none(),
        };
        if !self.forbidden().iter().flatten().all(is_singlet) {
            return false;
        }
        // Of each product in the commutator: what terms of H add up to, and how large they are.
        let mut sums: BTreeMap<Product, (f64, f64)> = BTreeMap::new();
        for (product, coefficient) in self.terms() {
            for (product, value) in commutator_with_raising(product, &kinds) {
                let sum = sums.entry(product).or_insert((0.0, 0.0));
                *sum = (sum.0 + coefficient * value, sum.1 + (coefficient * value).abs());
            }
        }
        // A stray term that is lost when it is added to the largest coefficient is a rounding of that.
        let scale = self.terms().fold(0.0f64, |most, (_, coefficient)| most.max(coefficient.abs()));
        sums.values().all(|(sum, size)| sum.abs() <= f64::EPSILON * (ROUNDINGS * size).max(ROUNDINGS_OF_SCALE * scale))
    }
}

/// [P, S⁺] of a product P: only the spins of its own sites matter.
fn commutator_with_raising(product: &[Factor], kinds: &[SiteKind]) -> BTreeMap<Product, f64> {
    let mut sites: Vec<usize> = product.iter().map(|factor| factor.site()).filter(|site| *site < kinds.len()).collect();
    sites.sort_unstable();
    sites.dedup();
    let mut ordered = BTreeMap::new();
    for raising in sites.into_iter().filter_map(|site| raising(kinds[site], site)) {
        normal::order_into(&mut ordered, [product, &raising].concat(), 1.0);
        normal::order_into(&mut ordered, [&raising, product].concat(), -1.0);
    }
    let mut reduced = BTreeMap::new();
    for (product, value) in ordered.into_iter().filter(|(_, value)| *value != 0.0) {
        normal::reduce_spin_into(&mut reduced, &product, value, &|site: usize| kinds[site].two_s(), false);
    }
    reduced.retain(|_, value| *value != 0.0);
    reduced
}

#[cfg(test)]
mod tests {
    use super::super::build::*;
    use super::*;

    fn electrons(sites: usize) -> Vec<SiteKind> {
        vec![SiteKind::Electrons; sites]
    }

    #[test]
    fn hamiltonians_that_conserve_the_spin_are_told_from_others() {
        let hop = |i, j, spin| cdag(i, spin) * c(j, spin) + cdag(j, spin) * c(i, spin);
        let hubbard = |up: f64, down: f64| {
            up * hop(0, 1, Spin::Up) + down * hop(0, 1, Spin::Down) + 4.0 * n(0, Spin::Up) * n(0, Spin::Down)
        };
        let exchange = |xy: f64, z: f64, i, j| 0.5 * xy * (sp(i) * sm(j) + sm(i) * sp(j)) + z * sz(i) * sz(j);
        let mixed = [SiteKind::Electrons, SiteKind::Moments { two_s: 3 }, SiteKind::Bosons { most: 2 }];
        let kondo = SiteKind::Electrons.dot(0, mixed[1], 1).unwrap() + 0.3 * (bdag(2) + b(2)) * n_total(0);
        let cases = [
            (hubbard(1.0, 1.0), true),
            (hubbard(1.0, 1.0 + 1e-12), false),
            (hubbard(1.0, 1.0) + 0.1 * electron_sz(1), false),
            // 0.1 + 0.2 is not 0.3, and yet these are one coupling.
            (exchange(0.1, 0.1, 0, 1) + exchange(0.2, 0.2, 0, 1) + exchange(0.3, 0.3, 1, 2), true),
            (exchange(0.1 + 0.2, 0.3, 0, 1), true),
            (exchange(0.7, 0.7001, 0, 1), false),
            (sz(0) * sz(0) * 1e-3 + sdots(0, 1).spin(2), false),
            (kondo.clone().on_kinds(&mixed), true),
            ((kondo + 0.2 * sz(1) * (bdag(2) + b(2))).on_kinds(&mixed), false),
            // Scalar chirality, complex: S_0·(S_1 × S_2).
            (
                sx(0) * (sy(1) * sz(2) - sz(1) * sy(2))
                    + sy(0) * (sz(1) * sx(2) - sx(1) * sz(2))
                    + sz(0) * (sx(1) * sy(2) - sy(1) * sx(2)),
                true,
            ),
            (sx(0) * sy(1) - sy(0) * sx(1), false),
            (sdots(0, 1).forbid(&[(0, 1), (1, 1)]), false),
            (hubbard(1.0, 1.0).on_kinds(&electrons(2)).forbid(&[(0, 3), (1, 3)]), true),
            (hubbard(1.0, 1.0).on_kinds(&electrons(2)).forbid(&[(0, 1), (1, 3)]), false),
        ];
        for (number, (operator, expected)) in cases.into_iter().enumerate() {
            assert_eq!(operator.reduced().conserves_total_spin(), expected, "case {number}: {operator}");
        }
    }

    /// S² of two spins ½ and an electron: 3/4 each, twice the three products.
    #[test]
    fn the_square_is_that_of_all_pairs() {
        let kinds =
            [SiteKind::Moments { two_s: 1 }, SiteKind::Electrons, SiteKind::Qubits, SiteKind::Moments { two_s: 1 }];
        let square = total_spin_squared(&kinds).unwrap().on_kinds(&kinds).reduced();
        assert_eq!(square.coefficient(&[]), 1.5);
        assert_eq!(square.coefficient(&[Factor::Sz(0), Factor::Sz(3)]), 2.0);
        assert_eq!(square.coefficient(&[Factor::Raise(0), Factor::Lower(3)]), 1.0);
        assert!(square.conserves_total_spin());
        assert_eq!(total_spin_squared(&[SiteKind::Qubits, SiteKind::Flavours(2)]), None);
    }
}
