//! Integrals that were written as complex numbers and are over real orbitals.
//!
//! In: complex integrals and the line of each of two electrons, 0 of those that were not given. Out: the real ones, if every imaginary part is
//! 0 and (pq|rs) = (pq|sr) everywhere. A file that gives only one of the two may be meant either way: eightfold, where the other is equal, or
//! fourfold, where it is 0. It is refused, unless it gives both of some pair and so is fourfold.

use super::entries::Place;
use super::{AGREEMENT, FcidumpError};
use crate::integrals::{BetaIntegrals, Integrals, pair, triangle};
use crate::orbital_number::OrbitalNumber;
use num_complex::Complex64;

/// The real integrals, if they are over real orbitals.
///
/// # Errors
/// Real numbers that may be meant either way.
pub(super) fn from_complex(
    integrals: &Integrals<Complex64>,
    lines: &[Vec<u32>],
) -> Result<Option<Integrals>, FcidumpError> {
    let [ones, twos] = integrals.lists();
    let is_complex = |lists: &[&[Complex64]]| lists.iter().any(|list| list.iter().any(|value| value.im != 0.0));
    if is_complex(&twos) {
        return Ok(None);
    }
    let n = integrals.orbitals;
    let pairs = <f64 as OrbitalNumber>::pair_list(n);
    let number = |(p, q): (usize, usize)| Complex64::pair(n, p, q);
    let (mut eightfold, mut gives_both, mut alone) = (true, false, None);
    for (list, (values, lines)) in twos.iter().zip(lines).enumerate() {
        let place = |left, right| if list == 2 { left * n * n + right } else { pair(left, right) };
        for (left, right) in pairs.iter().flat_map(|left| pairs.iter().map(move |right| (*left, *right))) {
            let [own, other] = [right, (right.1, right.0)].map(|right| place(number(left), number(right)));
            if own == other || left.0 == left.1 {
                continue;
            }
            let given = [own, other].map(|place| lines[place] > 0);
            gives_both |= given == [true, true];
            if (values[own] - values[other]).size() > AGREEMENT * values[own].size().max(1.0) {
                eightfold = false;
                if given != [true, true] {
                    alone = alone.or(Some(Place::Two(left.0, left.1, right.0, right.1)));
                }
            }
        }
    }
    match (eightfold, alone) {
        (true, _) => {}
        (false, Some(place)) if !gives_both => return Err(FcidumpError::Symmetry { name: place.to_string() }),
        (false, _) => return Ok(None),
    }
    // Real (ij|kl) beside a complex h: a field, or phases of hops.
    if is_complex(&ones) {
        return Ok(None);
    }
    let one = |values: &[Complex64]| pairs.iter().map(|pq| values[number(*pq)].re).collect::<Vec<f64>>();
    let two = |values: &[Complex64]| {
        let mut real = vec![0.0; triangle(pairs.len())];
        for (left, pq) in pairs.iter().enumerate() {
            for (right, rs) in pairs.iter().enumerate().take(left + 1) {
                real[pair(left, right)] = values[pair(number(*pq), number(*rs))].re;
            }
        }
        real
    };
    let beta = integrals.beta.as_ref().map(|_| {
        let mixed = pairs.iter().flat_map(|pq| pairs.iter().map(|rs| twos[2][number(*pq) * n * n + number(*rs)].re));
        Box::new(BetaIntegrals { one: one(ones[1]), two: two(twos[1]), mixed: mixed.collect() })
    });
    let Integrals { electrons, two_sz, core, .. } = *integrals;
    Ok(Some(Integrals {
        orbitals: n,
        electrons,
        two_sz,
        core,
        one: one(ones[0]),
        two: two(twos[0]),
        beta,
        irreps: Vec::new(),
    }))
}
