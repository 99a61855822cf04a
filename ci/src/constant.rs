//! Removes from the integrals what adds the same energy to every determinant, before a solve.
//!
//! In: integrals and the number of electrons. Out: the integrals without the constant, and its energy. In addition to the
//! core energy these are a potential common to all orbitals, h_pp = m, which adds m N, and a charging energy, (pp|qq) = m
//! for all p and q, which adds m N (N − 1) / 2. The m is the median. In molecules it is not special and nothing is
//! removed; in a model with a chemical potential it may be so large that the digits of everything else are lost.

use super::Integrals;
use super::integrals::{pair, triangle};
use std::borrow::Cow;

/// A constant is removed only if at most this fraction of Σ |integral| remains.
const SHARE: f64 = 0.1;

/// Removes the constant; returns it with the core energy.
pub(super) fn take_out(integrals: &Integrals, electrons: usize) -> (Cow<'_, Integrals>, f64) {
    let (n, orbitals) = (electrons as f64, 0..integrals.orbitals);
    let density = |p| pair(p, p);
    let potential: Vec<usize> = orbitals.clone().map(density).collect();
    let charging =
        orbitals.clone().flat_map(|p| (0..=p).map(move |q| pair(density(p), density(q)))).collect::<Vec<_>>();
    let pairs = triangle(integrals.orbitals);
    let mixed: Vec<usize> =
        orbitals.clone().flat_map(|p| orbitals.clone().map(move |q| density(p) * pairs + density(q))).collect();
    let [ones, twos] = integrals.lists();
    let places_of_two = [&charging, &charging, &mixed];
    let one = common(ones.into_iter().zip([&potential, &potential]));
    let two = common(twos.into_iter().zip(places_of_two));
    let constant = integrals.core + one * n + two * 0.5 * n * (n - 1.0);
    if one == 0.0 && two == 0.0 {
        return (Cow::Borrowed(integrals), constant);
    }
    let mut rest = integrals.clone();
    let less =
        |values: &mut Vec<f64>, places: &[usize], common| places.iter().for_each(|place| values[*place] -= common);
    less(&mut rest.one, &potential, one);
    less(&mut rest.two, &charging, two);
    if let Some(beta) = &mut rest.beta {
        less(&mut beta.one, &potential, one);
        less(&mut beta.two, &charging, two);
        less(&mut beta.mixed, &mixed, two);
    }
    (Cow::Owned(rest), constant)
}

/// The median of integrals at some places of each list if little remains without it, otherwise 0.
fn common<'a>(lists: impl Iterator<Item = (&'a [f64], &'a Vec<usize>)>) -> f64 {
    let of_list = |(values, places): (&'a [f64], &'a Vec<usize>)| {
        places.iter().filter_map(move |place| values.get(*place).copied())
    };
    let mut values: Vec<f64> = lists.flat_map(of_list).collect();
    values.sort_by(f64::total_cmp);
    let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let sum = |shift: f64| values.iter().map(|value| (value - shift).abs()).sum::<f64>();
    if median != 0.0 && sum(median) < SHARE * sum(0.0) { median } else { 0.0 }
}
