//! Normal ordering: any product of factors in, a sum of normal-ordered products out.
//!
//! Fermions: {c_a, c†_b} = δ_ab. Spins of one site: [Sᶻ, S^±] = ±S^±, [S⁺, S⁻] = 2Sᶻ. Bosons of one site keep their order,
//! since b and b† of a site with a cut have no simple commutator. i comes last, and i i = −1. Everything else commutes. The
//! rewriting swaps one neighbouring pair at a time and adds the commutator; it ends because every commutator term is
//! shorter, or as long and closer to the order.

use super::{Factor, Product};
use std::collections::BTreeMap;

/// Adds `coefficient` · (the product of `factors`) to `terms`, normal-ordered.
pub(super) fn order_into(terms: &mut BTreeMap<Product, f64>, factors: Product, coefficient: f64) {
    let mut pending = vec![(factors, coefficient)];
    'next: while let Some((mut factors, mut coefficient)) = pending.pop() {
        let mut k = 0;
        while k + 1 < factors.len() {
            match exchange(factors[k], factors[k + 1]) {
                Exchange::InOrder => k += 1,
                Exchange::Vanishes => continue 'next,
                Exchange::MinusOne => {
                    factors.drain(k..k + 2);
                    coefficient = -coefficient;
                    k = k.saturating_sub(1);
                }
                Exchange::Swap { sign, rest } => {
                    for (extra, weight) in rest {
                        let mut shorter = factors[..k].to_vec();
                        shorter.extend(extra);
                        shorter.extend(&factors[k + 2..]);
                        pending.push((shorter, weight * coefficient));
                    }
                    coefficient *= sign;
                    factors.swap(k, k + 1);
                    k = k.saturating_sub(1);
                }
            }
        }
        *terms.entry(factors).or_insert(0.0) += coefficient;
    }
}

/// The exchange of two neighbours.
enum Exchange {
    InOrder,
    /// The product is zero (Pauli).
    Vanishes,
    /// i i = −1.
    MinusOne,
    /// a b = sign · b a + rest.
    Swap {
        sign: f64,
        rest: Vec<(Product, f64)>,
    },
}

fn exchange(a: Factor, b: Factor) -> Exchange {
    use Factor::*;
    let swap = |sign, rest| Exchange::Swap { sign, rest };
    match (a, b) {
        (ImaginaryUnit, ImaginaryUnit) => Exchange::MinusOne,
        (_, ImaginaryUnit) => Exchange::InOrder,
        (ImaginaryUnit, _) => swap(1.0, vec![]),
        (Create(s, i), Create(t, j)) | (Annihilate(t, j), Annihilate(s, i)) => match (s, i).cmp(&(t, j)) {
            std::cmp::Ordering::Less => Exchange::InOrder,
            std::cmp::Ordering::Equal => Exchange::Vanishes,
            std::cmp::Ordering::Greater => swap(-1.0, vec![]),
        },
        (Create(..), Annihilate(..)) => Exchange::InOrder,
        (Annihilate(s, i), Create(t, j)) if (s, i) == (t, j) => swap(-1.0, vec![(vec![], 1.0)]),
        (Annihilate(..), Create(..)) => swap(-1.0, vec![]),
        (Create(..) | Annihilate(..), _) => Exchange::InOrder,
        (_, Create(..) | Annihilate(..)) => swap(1.0, vec![]),
        (x, y) if x.site() < y.site() => Exchange::InOrder,
        (x, y) if x.site() > y.site() => swap(1.0, vec![]),
        (x, y) if x.spin_rank() <= y.spin_rank() => Exchange::InOrder,
        // Refused later: a site has bosons or a spin.
        (x, y) if x.is_boson() != y.is_boson() => swap(1.0, vec![]),
        // Sz S+ = S+ Sz + S+
        (Sz(_), Raise(i)) => swap(1.0, vec![(vec![Raise(i)], 1.0)]),
        // S- Sz = Sz S- + S-
        (Lower(_), Sz(i)) => swap(1.0, vec![(vec![Lower(i)], 1.0)]),
        // S- S+ = S+ S- - 2 Sz
        (Lower(_), Raise(i)) => swap(1.0, vec![(vec![Sz(i)], -2.0)]),
        (a, b) => unreachable!("{a:?} {b:?} are in order"),
    }
}

/// Reduces the spin part of a normal-ordered product for spin S = two_s/2 and adds it to `terms`:
/// (S⁺)ᵃ(Sᶻ)ᵇ(S⁻)ᶜ with a, c > 0 loses a pair by S⁺ f(Sᶻ) S⁻ = [S(S+1) − Sᶻ(Sᶻ−1)] f(Sᶻ−1); a or c > 2S vanishes;
/// for spin ½ also (Sᶻ)² = ¼, S⁺Sᶻ = −½S⁺ and SᶻS⁻ = −½S⁻. `shortest`: of other spins a polynomial in Sᶻ becomes the one of lowest degree
/// with its values at the levels that S⁺ and S⁻ leave, so that a site has (2S + 1)² products however many factors were multiplied.
pub(super) fn reduce_spin_into(
    terms: &mut BTreeMap<Product, f64>,
    product: &[Factor],
    coefficient: f64,
    two_s: &impl Fn(usize) -> u32,
    shortest: bool,
) {
    let mut partial: Vec<(Product, f64)> =
        vec![(product.iter().copied().filter(|factor| factor.is_fermion()).collect(), coefficient)];
    let mut sites: Vec<usize> = product.iter().filter(|f| f.has_level()).map(|f| f.site()).collect();
    sites.dedup();
    for site in sites {
        let bosons = || product.iter().filter(|factor| factor.is_boson() && factor.site() == site);
        if bosons().next().is_some() {
            partial.iter_mut().for_each(|(factors, _)| factors.extend(bosons()));
        }
        let count = |which: Factor| product.iter().filter(|factor| **factor == which).count();
        let (a, b, c) = (count(Factor::Raise(site)), count(Factor::Sz(site)), count(Factor::Lower(site)));
        let local = reduce_site([a, b, c], two_s(site), shortest);
        let mut next = Vec::with_capacity(partial.len() * local.len());
        for (head, weight) in &partial {
            for &(raise, sz, lower, factor) in &local {
                let mut factors = head.clone();
                factors.extend(std::iter::repeat_n(Factor::Raise(site), raise));
                factors.extend(std::iter::repeat_n(Factor::Sz(site), sz));
                factors.extend(std::iter::repeat_n(Factor::Lower(site), lower));
                next.push((factors, weight * factor));
            }
        }
        partial = next;
    }
    let unit = product.last().filter(|factor| **factor == Factor::ImaginaryUnit);
    for (mut factors, weight) in partial {
        factors.extend(unit);
        *terms.entry(factors).or_insert(0.0) += weight;
    }
}

/// (S⁺)ᵃ (Sᶻ)ᵇ (S⁻)ᶜ as a sum of (a', b', c', weight) with a' c' = 0.
fn reduce_site([a, b, c]: [usize; 3], two_s: u32, shortest: bool) -> Vec<(usize, usize, usize, f64)> {
    if a > two_s as usize || c > two_s as usize {
        return vec![];
    }
    // A polynomial in Sz between a raisers and c lowerers, lowest power first.
    let mut polynomial = vec![0.0; b + 1];
    polynomial[b] = 1.0;
    let (mut raise, mut lower) = (a, c);
    let s = 0.5 * f64::from(two_s);
    while raise > 0 && lower > 0 {
        let shifted = shift_argument(&polynomial);
        let casimir = [s * (s + 1.0), 1.0, -1.0];
        polynomial = vec![0.0; shifted.len() + 2];
        for (i, p) in shifted.iter().enumerate() {
            for (j, q) in casimir.iter().enumerate() {
                polynomial[i + j] += p * q;
            }
        }
        raise -= 1;
        lower -= 1;
    }
    if two_s == 1 {
        // Sz² = 1/4 folds the polynomial to two coefficients; next to S+ on its left or S- on its right Sz is −1/2.
        let (mut even, mut odd) = (0.0, 0.0);
        for (power, p) in polynomial.iter().enumerate() {
            let folded = p * 0.25f64.powi((power / 2) as i32);
            if power % 2 == 0 { even += folded } else { odd += folded }
        }
        polynomial = if raise + lower > 0 { vec![even - 0.5 * odd] } else { vec![even, odd] };
    }
    let levels = two_s as usize + 1 - raise.max(lower);
    if shortest && polynomial.len() > levels {
        polynomial = interpolated(&polynomial, (0..levels).map(|level| level as f64 - s).collect());
    }
    let nonzero = polynomial.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
    nonzero.map(|(power, weight)| (raise, power, lower, *weight)).collect()
}

/// The polynomial of lowest degree with the same values at these places, lowest power first (Newton's divided differences).
fn interpolated(polynomial: &[f64], places: Vec<f64>) -> Vec<f64> {
    let value = |z: f64| polynomial.iter().rev().fold(0.0, |sum, weight| sum * z + weight);
    let mut differences: Vec<f64> = places.iter().map(|place| value(*place)).collect();
    for order in 1..places.len() {
        for k in (order..places.len()).rev() {
            differences[k] = (differences[k] - differences[k - 1]) / (places[k] - places[k - order]);
        }
    }
    let mut found = vec![0.0; places.len()];
    for (difference, place) in differences.iter().zip(&places).rev() {
        // found · (z − place) + difference
        for power in (1..found.len()).rev() {
            found[power] = found[power - 1] - place * found[power];
        }
        found[0] = difference - place * found[0];
    }
    found
}

/// f(z) → f(z − 1), by Horner's rule.
fn shift_argument(polynomial: &[f64]) -> Vec<f64> {
    let mut shifted = vec![0.0; polynomial.len()];
    for p in polynomial.iter().rev() {
        // shifted · (z − 1) + p; the top coefficient is still zero, so nothing is lost.
        for power in (1..shifted.len()).rev() {
            shifted[power] = shifted[power - 1] - shifted[power];
        }
        shifted[0] = p - shifted[0];
    }
    shifted
}
