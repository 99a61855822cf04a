//! A first guess of the lowest state: that of the determinants with the lowest energies, diagonalised by themselves.
//!
//! In: integrals and a space of any size. Out: up to [`MOST`] rows and their coefficients. The energies of all determinants are not
//! computed, as there may be 10¹⁰: from the lowest orbitals on, each spin takes the string that is lowest in the field of the other
//! until neither changes, then determinants are made of the lowest strings of both spins. (The primary space of full-CI programs:
//! Olsen, Jørgensen and Simons 1990.)

use super::integrals::Integrals;
use super::slater_condon::{matrix_element, same_spin_energy};
use super::space::Space;
use super::strings::{Occupation, Strings, occupied, reference};
use super::vector_number::VectorNumber;
use eigenforge_core::operator::Spin;
use eigenforge_runtime::{Device, DeviceError, ElementArgument, ElementFunction};
use eigenforge_templates::ElementFunctionText;
use rayon::prelude::*;
use std::sync::Arc;

/// Most determinants of a guess.
const MOST: usize = 400;
/// Strings of each spin from which they are made, as many times as there are irreps.
const STRINGS: usize = 64;
/// The spins of both lists of strings.
const SPINS: [Spin; 2] = [Spin::Up, Spin::Down];
/// Rounds until the strings have settled.
const ROUNDS: usize = 8;

/// The guess as a function of the row; `None` if the strings that were looked at form no determinant of the space, or if these have no
/// finite matrix.
///
/// # Errors
/// The device's.
pub(super) fn guess<T: VectorNumber>(
    integrals: &Integrals<T>,
    space: &Space,
    device: &Device,
) -> Result<Option<ElementFunction>, DeviceError> {
    let found = lowest(integrals, space);
    if found.is_empty() {
        return Ok(None);
    }
    let element = |i: usize, j: usize| matrix_element(integrals, found[i].1, found[j].1);
    let n = found.len();
    // Of a real matrix the lower triangle.
    let is_read = |at: usize| at % n <= at / n || !T::KIND.is_real();
    let matrix: Vec<T> =
        (0..n * n).into_par_iter().map(|at| if is_read(at) { element(at / n, at % n) } else { T::default() }).collect();
    let Ok((_, mut states)) = T::eigen(n, &matrix) else { return Ok(None) };
    let (state, parts) = (states.swap_remove(0), T::PARTS as u64);
    let mut values = Vec::with_capacity(T::PARTS * n);
    state.into_iter().for_each(|value| value.push(&mut values));
    let rows = found.iter().flat_map(|(row, _)| (0..parts).map(move |part| parts * row + part));
    Ok(Some(function(rows.zip(values).collect(), device)?))
}

/// The text of [`guess`]; `None` where it gives none.
pub(crate) fn text<T: VectorNumber>(integrals: &Integrals<T>, space: &Space) -> Option<ElementFunctionText> {
    let found = T::PARTS * lowest(integrals, space).len();
    (found > 0).then(|| ElementFunctionText::listed(found as u64))
}

/// A function that is 0 but at these rows, which ascend.
pub(super) fn function(listed: Vec<(u64, f64)>, device: &Device) -> Result<ElementFunction, DeviceError> {
    let mut arguments = Vec::new();
    if device.runs_kernels() {
        let (rows, values): (Vec<u64>, Vec<f64>) = listed.iter().copied().unzip();
        arguments.push(ElementArgument::Memory(Arc::new(device.buffer(&rows)?)));
        arguments.push(ElementArgument::Memory(Arc::new(device.buffer(&values)?)));
    }
    let text = ElementFunctionText::listed(listed.len() as u64);
    let host = move |start: usize, out: &mut [f64]| {
        out.fill(0.0);
        let end = (start + out.len()) as u64;
        let first = listed.partition_point(|(row, _)| *row < start as u64);
        for (row, value) in listed[first..].iter().take_while(|(row, _)| *row < end) {
            out[*row as usize - start] = *value;
        }
    };
    Ok(ElementFunction { text, arguments, host: Arc::new(host) })
}

/// Rows and words of determinants of low energy, by row.
fn lowest<T: VectorNumber>(integrals: &Integrals<T>, space: &Space) -> Vec<(u64, (Occupation, Occupation))> {
    let spins = [space.alpha(), space.beta()];
    let own = [0, 1].map(|spin| -> Vec<f64> {
        let words = spins[spin].words().par_iter();
        words.map(|word| same_spin_energy(integrals.of_spin(SPINS[spin]), *word)).collect()
    });
    let in_field = |spin: usize, other: Occupation, count| {
        let felt = |p| integrals.felt(SPINS[spin], T::pair(integrals.orbitals, p, p), occupied(other)).real();
        in_field(&(0..integrals.orbitals).map(felt).collect::<Vec<_>>(), spins[spin], &own[spin], count)
    };
    let mut best = spins.map(|strings| reference(strings.electrons()));
    for _ in 0..ROUNDS {
        let before = best;
        for spin in [0, 1] {
            if let Some(lowest) = in_field(spin, best[1 - spin], 1).first() {
                best[spin] = *lowest;
            }
        }
        if best == before {
            break;
        }
    }
    let irreps = space.irreps().map_or(1, |_| 8);
    let [up, down] = [0, 1].map(|spin| in_field(spin, best[1 - spin], STRINGS * irreps));
    let energy = |up, down| matrix_element(integrals, (up, down), (up, down)).real();
    let of = |up: Occupation| {
        let row = move |down| space.row(up, down).map(|row| (energy(up, down), row, (up, down)));
        down.iter().copied().filter_map(row).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = up.par_iter().flat_map_iter(|up| of(*up)).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut found: Vec<_> = found.into_iter().take(MOST).map(|(_, row, words)| (row, words)).collect();
    found.sort_unstable();
    found
}

/// The `count` strings with the lowest energy in a field, which each orbital's electron feels, ascending by it.
fn in_field(felt: &[f64], strings: &Strings, own: &[f64], count: usize) -> Vec<Occupation> {
    let energy = |(word, own): (&Occupation, &f64)| (own + occupied(*word).map(|p| felt[p]).sum::<f64>(), *word);
    let mut all: Vec<_> = strings.words().par_iter().zip(own).map(energy).collect();
    let order = |a: &(f64, Occupation), b: &(f64, Occupation)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if count < all.len() {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all.into_iter().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::solvers::symmetric_eigen;

    /// Numbers without a pattern.
    fn integrals(orbitals: usize, irreps: Vec<u8>) -> Integrals {
        let mut integrals = Integrals { irreps, ..Integrals::zero(orbitals) };
        let mut k = 0.0;
        let mut next = || {
            k += 1.0;
            f64::sin(7.0 * k * k + k)
        };
        integrals.one.iter_mut().chain(&mut integrals.two).for_each(|value| *value = next());
        integrals
    }

    /// Where all determinants are looked at, the guess is the lowest state: of full, truncated and listed spaces.
    #[test]
    fn of_a_small_space_it_is_the_lowest_state() {
        let integrals = integrals(5, Vec::new());
        let full = || Space::full(5, 3, 2).unwrap();
        let listed: Vec<_> = (0..full().len()).step_by(3).map(|row| full().determinant(row)).collect();
        for space in [
            full(),
            Space::excitations(5, 3, 2, 2).unwrap(),
            Space::from_determinants(5, &listed).unwrap(),
            full().in_irrep(&[1, 2, 1, 3, 4], 2).unwrap(),
        ] {
            let n = space.len() as usize;
            let found = guess(&integrals, &space, &Device::cpu()).unwrap().unwrap();
            let mut x = vec![f64::NAN; n];
            let (first, last) = x.split_at_mut(n / 3);
            (found.host)(0, first);
            (found.host)(n / 3, last);
            let words: Vec<_> = (0..n as u64).map(|row| space.determinant(row)).collect();
            let element = |at: usize| matrix_element(&integrals, words[at / n], words[at % n]);
            let matrix: Vec<f64> = (0..n * n).map(element).collect();
            let lowest = symmetric_eigen(n, &matrix).unwrap().0[0];
            assert!((x.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            for (row, x_row) in matrix.chunks(n).zip(&x) {
                let y: f64 = row.iter().zip(&x).map(|(element, x)| element * x).sum();
                assert!((y - lowest * x_row).abs() < 1e-10, "{n} rows: {y}, {lowest}");
            }
        }
    }

    /// Of a large space it has the rows asked for at most, ascending, and lies below every one of its determinants.
    #[test]
    fn of_a_large_space_it_is_short_and_low() {
        let integrals = integrals(14, Vec::new());
        let space = Space::full(14, 6, 5).unwrap();
        let found = lowest(&integrals, &space);
        assert!(found.len() == MOST && found.is_sorted_by(|a, b| a.0 < b.0));
        assert!(found.iter().all(|(row, (up, down))| space.row(*up, *down) == Some(*row)));
        let energy = |words: &(u64, (Occupation, Occupation))| matrix_element(&integrals, words.1, words.1);
        let least = found.iter().map(energy).fold(f64::INFINITY, f64::min);
        // A thousand determinants of the space, evenly spread: none is lower than the lowest of the guess.
        let others = (0..space.len()).step_by(4001).map(|row| {
            let words = space.determinant(row);
            matrix_element(&integrals, words, words)
        });
        assert!(others.fold(f64::INFINITY, f64::min) >= least);
    }
}
