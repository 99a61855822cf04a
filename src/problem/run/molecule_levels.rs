//! What is computed from the vectors of a molecule's levels, one level after the other.
//!
//! In: a solution. Out: of each level its spins and the averages of the file's observables, both of the whole level as far as it was
//! found, so that no number depends on which vectors of a degenerate level a solver returned; the states for vectors.npz, which are
//! eigenstates of S²; a basis of the lowest level, for density matrices.

use crate::Error;
use crate::ci::{
    CiSolution, DensityError, LeadingDeterminant, Molecule, OneBody, OneElectron, OrbitalNumber, SharpLevel, Space,
    density_products,
};
use crate::observable::{self, Averages, Observable};
use crate::operator::{Charge, Product, SiteKind};
use crate::report::{LevelSpinRecord, SpinCount, VectorRows};
use eigenforge_runtime::solvers::Level;
use eigenforge_runtime::trace;
use ndarray::{Array2, ArrayRef2, ArrayView1, s};
use num_complex::Complex64;

/// Leading determinants of a state at most, and the least weight of one.
const MOST_LEADING: usize = 10;
const LEAST_WEIGHT: f64 = 1e-3;

/// What is wanted of the vectors.
pub(super) struct Wanted<'a> {
    /// Spins, and a basis of the lowest level.
    pub averages: bool,
    /// The states.
    pub states: bool,
    /// Averages of these.
    pub observed: &'a [Observable],
    /// Dipole moments, where the molecule has their integrals.
    pub molecule: &'a Molecule,
    /// Whether this process reports; of several ranks the first has whole vectors.
    pub reports: bool,
}

/// What the levels have.
pub(super) struct MoleculeLevels<T = f64> {
    /// The returned states, one per row, if they are wanted.
    pub states: Array2<T>,
    /// An orthonormal basis of the lowest level, one vector per row.
    pub lowest: Array2<T>,
    /// ⟨S²⟩ of each returned state; none of unrestricted orbitals.
    pub s_squared: Vec<f64>,
    /// The leading determinants of each returned state.
    pub leading: Vec<Vec<LeadingDeterminant>>,
    /// The dipole of each level.
    pub dipoles: Vec<Vec<f64>>,
    /// The spins of each level; likewise.
    pub spins: Vec<LevelSpinRecord>,
    /// States that have no definite spin.
    pub warnings: Vec<String>,
    /// Averages of each level.
    averages: Vec<Averages>,
    /// States of each level that were returned.
    returned: Vec<usize>,
}

impl<T: Orbitals> MoleculeLevels<T> {
    /// Copies each level to the host and evaluates it there; every rank calls it.
    ///
    /// # Errors
    /// A copy from the device fails; too little memory; why the averages could not be taken stands in the second place, and they are left
    /// out.
    pub(super) fn new(
        space: &Space,
        solution: &CiSolution<'_>,
        wanted: &Wanted<'_>,
    ) -> Result<(MoleculeLevels<T>, Option<Error>), Error> {
        let (mut found, mut faults) = (MoleculeLevels::<T>::empty(), [None, None]);
        if !wanted.averages && !wanted.states {
            return Ok((found, None));
        }
        for (number, level) in solution.eigenpairs().levels.iter().enumerate() {
            // Where rank 0 fails the others still send what they have.
            let vectors = solution.level_states::<T>(number)?;
            if !wanted.reports || faults[0].is_some() {
                continue;
            }
            if wanted.averages && faults[1].is_none() {
                match T::averages(space, &vectors, wanted.observed) {
                    Ok(averages) => found.averages.push(averages),
                    Err(error) => faults[1] = Some(error),
                }
            }
            faults[0] = found.add(space, (level, solution.energies().len()), vectors, wanted).err();
        }
        let [fault, of_averages] = faults;
        fault.map_or(Ok((found, of_averages)), Err)
    }

    fn empty() -> MoleculeLevels<T> {
        let none = || Array2::from_elem((0, 0), T::default());
        let (s_squared, leading, dipoles, spins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (warnings, averages, returned) = (Vec::new(), Vec::new(), Vec::new());
        MoleculeLevels {
            states: none(),
            lowest: none(),
            s_squared,
            leading,
            dipoles,
            spins,
            warnings,
            averages,
            returned,
        }
    }

    /// Adds a level; `all` states were returned of all levels.
    fn add(
        &mut self,
        space: &Space,
        (level, all): (&Level, usize),
        vectors: Array2<T>,
        wanted: &Wanted<'_>,
    ) -> Result<(), Error> {
        let (is_lowest, first) = (self.returned.is_empty(), self.returned.iter().sum::<usize>());
        self.returned.push(level.returned);
        // S² of unrestricted orbitals needs the overlap of both sets.
        let has_spins = !wanted.molecule.is_unrestricted();
        let states = match wanted.averages && has_spins {
            true => {
                let _spins = trace::span("observables", "spins of a level");
                let sharp = SharpLevel::new(space, vectors)?;
                let squares = sharp.spins.iter().map(|spin| spin.square);
                self.s_squared.extend(squares.clone().take(level.returned));
                let mean = squares.sum::<f64>() / sharp.spins.len() as f64;
                self.spins.push(LevelSpinRecord::new(mean, sharp.two_s().map(|two_s| SpinCount::all(&two_s))));
                let warnings =
                    (0..level.returned).filter_map(|member| Some((member, sharp.warning(member, level.complete)?)));
                self.warnings.extend(warnings.map(|(member, text)| format!("state {}: {text}", first + member)));
                sharp.states
            }
            false => vectors,
        };
        if wanted.averages {
            let returned = states.rows().into_iter().take(level.returned);
            let leading = |row: ArrayView1<T>| LeadingDeterminant::list(space, &row, MOST_LEADING, LEAST_WEIGHT);
            self.leading.extend(returned.map(leading));
            if wanted.molecule.has_dipole() {
                self.dipoles.extend(dipole_moment(wanted.molecule, &OneBody::new(space, &states)?)?);
            }
        }
        if wanted.states {
            if is_lowest {
                self.states = Array2::from_elem((all, states.ncols()), T::default());
            }
            self.states
                .slice_mut(s![first..first + level.returned, ..])
                .assign(&states.slice(s![..level.returned, ..]));
        }
        if is_lowest && wanted.averages {
            self.lowest = states;
        }
        Ok(())
    }

    /// The averages of the lowest level, and those of each returned state: of its level.
    pub(super) fn averages(&self) -> (Averages, Vec<Averages>) {
        let lowest = self.averages.first().cloned().unwrap_or_default();
        let each = self.averages.iter().zip(&self.returned);
        (lowest, each.flat_map(|(averages, returned)| std::iter::repeat_n(averages.clone(), *returned)).collect())
    }
}

/// What differs over real and over complex orbitals.
pub(super) trait Orbitals: OrbitalNumber {
    /// Averages of observables over some states, one per row.
    ///
    /// # Errors
    /// Over complex orbitals there are none.
    fn averages(space: &Space, states: &ArrayRef2<Self>, observables: &[Observable]) -> Result<Averages, Error>;

    /// The integrals of the dipole, x, y and z, if there are any.
    fn dipole(molecule: &Molecule) -> Option<&Vec<OneElectron<Self>>>;

    /// The rows of vectors.npz.
    fn rows(states: Array2<Self>) -> VectorRows;
}

impl Orbitals for f64 {
    fn averages(space: &Space, states: &ArrayRef2<f64>, observables: &[Observable]) -> Result<Averages, Error> {
        averages(space, states, observables)
    }

    fn dipole(molecule: &Molecule) -> Option<&Vec<OneElectron>> {
        molecule.dipole.as_ref()
    }

    fn rows(states: Array2<f64>) -> VectorRows {
        VectorRows::Real(states)
    }
}

impl Orbitals for Complex64 {
    fn averages(_: &Space, _: &ArrayRef2<Complex64>, observables: &[Observable]) -> Result<Averages, Error> {
        if observables.is_empty() { Ok(Averages::default()) } else { Err(Error::ComplexOrbitals) }
    }

    fn dipole(molecule: &Molecule) -> Option<&Vec<OneElectron<Complex64>>> {
        molecule.complex_dipole.as_ref()
    }

    fn rows(states: Array2<Complex64>) -> VectorRows {
        VectorRows::Complex(states)
    }
}

/// The dipole moment in e a₀, x y z, of γ in the active orbitals; `None` without its integrals.
///
/// # Errors
/// A matrix of other orbitals.
pub(super) fn dipole_moment<T: Orbitals>(
    molecule: &Molecule,
    one: &OneBody<T>,
) -> Result<Option<Vec<f64>>, DensityError> {
    let whole = one.in_all_orbitals(&molecule.window)?;
    let component = |one: &OneElectron<T>| one.expectation(&whole).map(|moment| moment.re_and_im().0);
    T::dipole(molecule).map(|components| components.iter().map(component).collect()).transpose()
}

/// Averages of observables over some states, one per row, from their density matrices.
fn averages(space: &Space, states: &ArrayRef2<f64>, observables: &[Observable]) -> Result<Averages, Error> {
    if observables.is_empty() {
        return Ok(Averages::default());
    }
    let orbitals = vec![SiteKind::Electrons; space.orbitals()];
    let charges = [Charge::Up, Charge::Down];
    let average = |products: &[Product]| density_products(space, states, products);
    Ok(observable::evaluate(observables, &orbitals, &charges, false, average)?)
}
