//! Transitions between the levels of a molecule.
//!
//! In: the returned states, their levels, the dipole's integrals. Out: ⟨i| a†_pσ a_qσ |j⟩ of each two states in the orbitals of the file, and of each
//! two levels the strength S = Σ |⟨a|µ|b⟩|² over the states of both and, with g states of the lower one, f = 2/3 ΔE S / g (R. C. Hilborn, Am. J.
//! Phys. 50, 982 (1982), in atomic units), which do not depend on the basis of a level. Bras are conjugated.

use super::molecule_levels::Orbitals;
use crate::Error;
use crate::ci::{DensityError, Molecule, OneBody, OneElectron, OrbitalNumber};
use crate::report::TransitionRecord;
use eigenforge_runtime::solvers::Level;
use eigenforge_runtime::{Device, trace};
use ndarray::{Array2, Array4, s};
use rayon::prelude::*;

/// What the transitions of a run are.
pub(super) struct Transitions<T> {
    /// Of each two levels, where the dipole's integrals are given.
    pub records: Vec<TransitionRecord>,
    /// ⟨i| a†_pσ a_qσ |j⟩ at \[i, j, p, q\] of α and of β electrons.
    pub densities: [Array4<T>; 2],
}

impl<T: Orbitals> Transitions<T> {
    /// Of states in rows, level after level.
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn new(molecule: &Molecule, levels: &[Level], states: &Array2<T>) -> Result<Transitions<T>, Error> {
        let _transitions = trace::span("observables", "transitions");
        let (count, n) = (states.nrows(), molecule.window.all);
        let bytes = 2 * size_of::<T>() as u64 * (count as u64 * n as u64).pow(2);
        Device::cpu().check_memory(&format!("transition density matrices of {count} states"), bytes)?;
        let mut densities = [(); 2].map(|()| Array4::from_elem((count, count, n, n), T::default()));
        let mut moments = vec![Vec::new(); count * count];
        for i in 0..count {
            // Small spaces have little to share out within a pair.
            let of_pair = |j: usize| -> Result<(OneBody<T>, Vec<T>), DensityError> {
                let own = OneBody::transition(&molecule.space, &states.row(i), &states.row(j))?;
                let own = own.in_all_orbitals(&molecule.window)?;
                let moment =
                    |components: &Vec<OneElectron<T>>| components.iter().map(|one| one.expectation(&own)).collect();
                let moments: Option<Vec<T>> = T::dipole(molecule).map(moment).transpose()?;
                Ok((own, moments.unwrap_or_default()))
            };
            let pairs = (i..count).into_par_iter().map(of_pair).collect::<Result<Vec<_>, _>>()?;
            for (j, (own, moment)) in (i..count).zip(pairs) {
                for (all, matrix) in densities.iter_mut().zip([&own.alpha, &own.beta]) {
                    all.slice_mut(s![i, j, .., ..]).assign(matrix);
                    all.slice_mut(s![j, i, .., ..]).assign(&matrix.t().mapv(T::conjugate));
                }
                moments[j * count + i] = moment.iter().map(|value| value.conjugate()).collect();
                moments[i * count + j] = moment;
            }
        }
        let records = if molecule.has_dipole() { records(levels, count, &moments) } else { Vec::new() };
        Ok(Transitions { records, densities })
    }
}

/// A moment with the phase that makes its largest component real and positive, over real orbitals as it is: real parts, imaginary parts.
fn with_phase<T: OrbitalNumber>(moment: &[T]) -> (Vec<f64>, Option<Vec<f64>>) {
    let largest = moment.iter().max_by(|a, b| a.size().total_cmp(&b.size())).copied().unwrap_or_default();
    let phase = match T::KIND.is_real() || largest.size() == 0.0 {
        true => T::from(1.0),
        false => largest.conjugate() * (1.0 / largest.size()),
    };
    let (real, imaginary): (Vec<f64>, Vec<Option<f64>>) =
        moment.iter().map(|value| (*value * phase).re_and_im()).unzip();
    (real, imaginary.into_iter().collect())
}

fn records<T: OrbitalNumber>(levels: &[Level], count: usize, moments: &[Vec<T>]) -> Vec<TransitionRecord> {
    let mut first = 0;
    let places: Vec<std::ops::Range<usize>> = levels
        .iter()
        .map(|level| {
            first += level.returned;
            first - level.returned..first
        })
        .collect();
    let mut records = Vec::new();
    for (first, second) in (0..levels.len()).flat_map(|a| (a + 1..levels.len()).map(move |b| (a, b))) {
        // Levels of another part of the spectrum do not ascend.
        let falls = levels[second].value < levels[first].value;
        let (from, to) = if falls { (second, first) } else { (first, second) };
        let (lower, upper) = (&places[from], &places[to]);
        let pairs = lower.clone().flat_map(|i| upper.clone().map(move |j| i * count + j));
        let strength =
            pairs.map(|pair| moments[pair].iter().map(|moment| moment.size().powi(2)).sum::<f64>()).sum::<f64>();
        let energy = levels[to].value - levels[from].value;
        let is_single = lower.len() == 1 && upper.len() == 1;
        let moment = is_single.then(|| with_phase(&moments[lower.start * count + upper.start]));
        let (dipole, imaginary) = moment.map_or((None, None), |(real, imaginary)| (Some(real), imaginary));
        records.push(TransitionRecord {
            from,
            to,
            energy,
            strength,
            oscillator_strength: 2.0 / 3.0 * energy * strength / lower.len() as f64,
            dipole,
            imaginary,
            complete: [from, to].iter().all(|level| levels[*level].complete),
            cut: [from, to].iter().any(|level| levels[*level].returned < levels[*level].multiplicity),
        });
    }
    records
}
