//! Removes from the integrals what adds the same energy to every determinant, before a solve.
//!
//! In: integrals and the number of electrons. Out: the integrals without the constant, and its energy. In addition to the
//! core energy these are a potential common to all orbitals, h_pp = m, which adds m N, and a charging energy, (pp|qq) = m
//! for all p and q, which adds m N (N − 1) / 2. The m is the median. In molecules it is not special and nothing is
//! removed; in a model with a chemical potential it may be so large that the digits of everything else are lost.

use super::Integrals;
use super::integrals::pair;
use std::borrow::Cow;

/// A constant is removed only if at most this fraction of Σ |integral| remains.
const SHARE: f64 = 0.1;

/// Removes the constant; returns it with the core energy.
pub(super) fn take_out(integrals: &Integrals, electrons: usize) -> (Cow<'_, Integrals>, f64) {
    let (n, orbitals) = (electrons as f64, 0..integrals.orbitals);
    let potential: Vec<usize> = orbitals.clone().map(|p| pair(p, p)).collect();
    let charging = orbitals.flat_map(|p| (0..=p).map(move |q| pair(pair(p, p), pair(q, q)))).collect::<Vec<_>>();
    let (one, two) = (common(&integrals.one, &potential), common(&integrals.two, &charging));
    let constant = integrals.core + one * n + two * 0.5 * n * (n - 1.0);
    if one == 0.0 && two == 0.0 {
        return (Cow::Borrowed(integrals), constant);
    }
    let mut rest = integrals.clone();
    potential.iter().for_each(|place| rest.one[*place] -= one);
    charging.iter().for_each(|place| rest.two[*place] -= two);
    (Cow::Owned(rest), constant)
}

/// The median of some integrals if little remains without it, otherwise 0.
fn common(integrals: &[f64], places: &[usize]) -> f64 {
    let mut values: Vec<f64> = places.iter().filter_map(|place| integrals.get(*place).copied()).collect();
    values.sort_by(f64::total_cmp);
    let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let sum = |shift: f64| values.iter().map(|value| (value - shift).abs()).sum::<f64>();
    if median != 0.0 && sum(median) < SHARE * sum(0.0) { median } else { 0.0 }
}
