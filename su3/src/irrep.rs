//! Irreps (λ μ) of SU(3): dimension, angular momenta, products.
//!
//! In: labels. Out: dim = (λ+1)(μ+1)(λ+μ+2)/2, how often L occurs in (λ μ), and how often (λ3 μ3) occurs in a product:
//! M. F. O'Reilly, J. Math. Phys. 23 (1982) 2022, proposition 7a.

use std::fmt;

/// An irreducible representation of SU(3), by Elliott's labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Irrep {
    /// λ: columns of one box.
    pub lambda: u32,
    /// μ: columns of two boxes.
    pub mu: u32,
}

impl Irrep {
    /// (λ μ).
    pub const fn new(lambda: u32, mu: u32) -> Irrep {
        Irrep { lambda, mu }
    }

    /// (μ λ).
    pub const fn conjugate(self) -> Irrep {
        Irrep { lambda: self.mu, mu: self.lambda }
    }

    /// Number of states.
    pub fn dimension(self) -> u64 {
        let (l, m) = (u64::from(self.lambda), u64::from(self.mu));
        (l + 1) * (m + 1) * (l + m + 2) / 2
    }

    /// The largest L, λ + μ.
    pub fn l_max(self) -> u32 {
        self.lambda + self.mu
    }

    /// κ_max: how often L occurs.
    ///
    /// ```
    /// use eigenforge_su3::Irrep;
    /// let kappas: Vec<u32> = (0..=6).map(|l| Irrep::new(4, 2).kappa_max(l)).collect();
    /// assert_eq!(kappas, [1, 0, 2, 1, 2, 1, 1]); // L = 0, 2², 3, 4², 5, 6
    /// ```
    pub fn kappa_max(self, l: u32) -> u32 {
        let half = |n: u32| (n + 1).saturating_sub(l) / 2;
        (self.lambda + self.mu + 2).saturating_sub(l) / 2 - half(self.lambda) - half(self.mu)
    }

    /// Pairs (L, κ_max) with κ_max ≥ 1, L ascending.
    pub fn angular_momenta(self) -> impl Iterator<Item = (u32, u32)> {
        (0..=self.l_max()).map(move |l| (l, self.kappa_max(l))).filter(|(_, kappa_max)| *kappa_max > 0)
    }

    /// Elliott's K of κ = 1: the lowest, in steps of two, of the K that L has.
    pub(crate) fn lowest_k(self, l: u32) -> u32 {
        let (a, b) = if self.uses_highest() { (self.lambda, self.mu) } else { (self.mu, self.lambda) };
        let k = l.saturating_sub(b);
        let k = k + (k + a) % 2;
        if k == 0 { 2 * ((l + b) % 2) } else { k }
    }

    /// Whether the states of good L are projected from the highest-weight state (λ < μ) or the lowest-weight one.
    pub(crate) fn uses_highest(self) -> bool {
        self.lambda < self.mu
    }
}

impl fmt::Display for Irrep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} {})", self.lambda, self.mu)
    }
}

/// ρ_max: how often (λ3 μ3) occurs in (λ1 μ1) × (λ2 μ2).
///
/// ```
/// use eigenforge_su3::{Irrep, multiplicity};
/// assert_eq!(multiplicity(Irrep::new(1, 1), Irrep::new(1, 1), Irrep::new(1, 1)), 2); // 8 × 8 ∋ 8 + 8
/// ```
pub fn multiplicity(first: Irrep, second: Irrep, third: Irrep) -> u32 {
    let [[l1, m1], [l2, m2], [l3, m3]] = [first, second, third].map(|x| [i64::from(x.lambda), i64::from(x.mu)]);
    let shift = l1 - m1 + l2 - m2 - l3 + m3;
    if shift % 3 != 0 {
        return 0;
    }
    let c = shift / 3;
    let d = c + m1 + m2 - m3;
    let inside = -m1.min(m2) <= c
        && c <= l1.min(l2)
        && (0..=(m1 + m2).min(l2 + m2).min(l1 + m1)).contains(&d)
        && (0..=(l1 + m1).min(l1 + l2).min(l2 + m2)).contains(&(d + c));
    if !inside {
        return 0;
    }
    let above = m2.min(l1 + m1).min(d).min(l1 - c);
    let below = [d - m1, d - l2, -c, d - c - m1, d + c - l2].into_iter().fold(0, i64::max);
    u32::try_from(1 + above - below).unwrap_or(0)
}

/// (λ1 μ1) × (λ2 μ2) = Σ ρ_max (λ3 μ3), λ3 and then μ3 ascending.
///
/// ```
/// use eigenforge_su3::{Irrep, product};
/// let quarks: Vec<String> = product(Irrep::new(1, 0), Irrep::new(1, 0)).iter().map(|(x, _)| x.to_string()).collect();
/// assert_eq!(quarks, ["(0 1)", "(2 0)"]);
/// ```
pub fn product(first: Irrep, second: Irrep) -> Vec<(Irrep, u32)> {
    let largest = first.l_max() + second.l_max();
    let labels = (0..=largest).flat_map(|lambda| (0..=largest - lambda).map(move |mu| Irrep::new(lambda, mu)));
    labels.map(|third| (third, multiplicity(first, second, third))).filter(|(_, rho_max)| *rho_max > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// dim1 · dim2 = Σ ρ_max dim3, and (2L+1) κ_max over L is the dimension: every pair up to λ, μ ≤ 5.
    #[test]
    fn dimensions_add_up() {
        let all: Vec<Irrep> = (0..=5).flat_map(|l| (0..=5).map(move |m| Irrep::new(l, m))).collect();
        for &first in &all {
            let rotations: u64 = first.angular_momenta().map(|(l, kappa)| u64::from((2 * l + 1) * kappa)).sum();
            assert_eq!(rotations, first.dimension(), "{first}");
            for &second in &all {
                let sum: u64 = product(first, second).iter().map(|(x, rho)| x.dimension() * u64::from(*rho)).sum();
                assert_eq!(sum, first.dimension() * second.dimension(), "{first} x {second}");
            }
        }
    }

    #[test]
    fn k_takes_kappa_max_values_up_to_the_least_of_l_and_the_label() {
        for (lambda, mu) in [(8, 4), (4, 8), (6, 6), (3, 5), (7, 0), (0, 7)] {
            let irrep = Irrep::new(lambda, mu);
            for (l, kappa_max) in irrep.angular_momenta() {
                let last = irrep.lowest_k(l) + 2 * (kappa_max - 1);
                assert!(last <= l.min(lambda.min(mu)), "{irrep} L = {l}: K = {last}");
            }
        }
    }
}
