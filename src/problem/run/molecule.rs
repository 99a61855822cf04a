//! What only a molecule has of a run: spins, densities, observables of orbitals.

use super::diagonalise::{Diagonalised, Findings, Gathering};
use super::molecule_levels::{MoleculeLevels, Orbitals, Wanted, dipole_moment};
use super::records::{shape_record, spectrum};
use super::transitions::Transitions;
use super::{BringVectors, WriteFile};
use crate::Error;
use crate::ci::{
    CiProblem, CiSolution, CiSpec, Molecule, NaturalOrbitals, OneBody, Space, SpinTwoBody, Strings, TwoBody,
    natural_orbitals, write_densities,
};
use crate::input::SolveSpec;
use crate::problem::{MoleculeProblem, Problem};
use crate::report::{
    BasisStates, FamilyRecord, LevelAverages, Method, ModelRecord, MoleculeRecord, StateVectors, VectorRows,
};
use eigenforge_product::Diagonalisation;
use eigenforge_runtime::solvers::StopReason;
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ScalarType;
use ndarray::{Array2, Array4};
use ndarray_npy::WritableElement;
use num_complex::Complex64;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

impl<'p> Diagonalised<'p, f64> for MoleculeProblem {
    type Matrix = CiProblem<'p>;

    fn spec(&self) -> &SolveSpec {
        &self.file.solve
    }

    fn record(&self) -> ModelRecord {
        ModelRecord { name: "ci".into(), file: self.file.name.clone(), text: self.file.text.clone() }
    }

    fn matrix(&'p self) -> Diagonalisation<CiProblem<'p>> {
        self.solve()
    }

    fn heading(&self) -> Result<String, Error> {
        self.file.observed(self.molecule.integrals.orbitals)?;
        Ok(self.describe())
    }

    /// The states, and a level at a time once more.
    fn gathering(&self, solve: &Diagonalisation<CiProblem<'p>>, device: &Device) -> Option<Gathering> {
        let file = &self.file;
        // What has no room at all is refused by the solve, with the numbers of each way.
        let fits = CiProblem::fitting_plan(solve, device).is_some();
        let plan = solve.rank_plan(device).filter(|_| fits && (file.ci.averages || file.output.vectors))?;
        let words = [
            "whole vectors on rank 0, for averages and files,",
            "the host of a rank, beside its share of the solve,",
            "write `averages = false` in [ci] and leave out --vectors, or start fewer ranks on a machine",
        ];
        let vectors = file.solve.states as u64 + 1;
        Some(Gathering { bytes: vectors.saturating_mul(plan.vector_bytes(ScalarType::F64)), words })
    }

    fn findings(
        &'p self,
        solve: &Diagonalisation<CiProblem<'p>>,
        solution: CiSolution<'p>,
    ) -> Result<Findings<'p>, Error> {
        match self.molecule.complex {
            Some(_) => self.findings_over::<Complex64>(solve, solution),
            None => self.findings_over::<f64>(solve, solution),
        }
    }
}

impl MoleculeProblem {
    fn findings_over<'p, T: Orbitals + WritableElement + 'p>(
        &'p self,
        solve: &Diagonalisation<CiProblem<'p>>,
        solution: CiSolution<'p>,
    ) -> Result<Findings<'p>, Error> {
        let MoleculeProblem { file, molecule, .. } = self;
        let observed = file.observed(molecule.integrals.orbitals)?;
        // Of several ranks the first has whole vectors, and reports.
        let reports = solution.device().ranks().is_none_or(|ranks| ranks.is_first());
        let (averages, transitions) = (file.ci.averages, file.ci.transitions);
        let wanted =
            Wanted { averages, states: file.output.vectors || transitions, observed: &observed, molecule, reports };
        let (levels, fault) = MoleculeLevels::<T>::new(&molecule.space, &solution, &wanted)?;
        let asked = reports && (!observed.is_empty() || file.ci.dipole.is_some());
        // What was solved is not lost for want of memory.
        let fault = match fault {
            Some(error) => Some(format!("the observables were left out: {error}")),
            None if asked && !file.ci.averages => {
                Some("the observables were left out: the file has averages = false".into())
            }
            None => None,
        };
        let (averages, states) =
            if observed.is_empty() || fault.is_some() { Default::default() } else { levels.averages() };
        let has_properties = file.ci.averages && reports;
        let properties = has_properties.then(|| Properties::new(self, &levels.lowest)).transpose()?;
        let (pairs, how) = (solution.eigenpairs(), solution.storage_used());
        let transitions = (transitions && has_properties)
            .then(|| Transitions::new(molecule, &pairs.levels, &levels.states))
            .transpose()?;
        let method = match pairs.stop {
            StopReason::Dense => Method::Dense,
            _ => solve.solver.into(),
        };
        let notes = file.solve.without_effect().into_iter();
        let notes = notes
            .chain(
                file.spectrum.iter().map(|_| "the file has [spectrum]: `eigenforge spectrum` makes its curves".into()),
            )
            .chain(molecule.from_complex.then(|| FROM_COMPLEX.into()))
            .chain((has_properties && molecule.is_unrestricted()).then(|| NO_SPINS.into()))
            .chain((file.ci.density && file.output.folder.is_none()).then(|| NO_FOLDER.into()))
            .chain(molecule.symmetry.note().filter(|_| file.ci.irrep.is_some()).map(String::from))
            .chain(pairs.notes.iter().cloned())
            .chain(levels.warnings.iter().cloned())
            .chain(fault)
            .collect();
        let (up, down) = molecule.integrals.spins();
        let family = FamilyRecord::Molecule(Box::new(MoleculeRecord {
            ci: CiSpec { two_s: molecule.csfs.as_ref().map(|csfs| csfs.two_s() as i64), ..file.ci.clone() },
            space: molecule.words.clone(),
            orbitals: molecule.integrals.orbitals,
            electrons: [up, down],
            dimension: molecule.dimension(),
            core_energy: molecule.integrals.core,
            spectrum: spectrum((pairs, file.solve.part), solution.constant(), &levels.spins)
                .with_statistics(molecule.space.len()),
            leading_determinants: levels.leading.clone(),
            s_squared: levels.s_squared.clone(),
            natural_occupations: properties
                .iter()
                .filter_map(|found| found.natural.as_ref())
                .flat_map(|natural| natural.occupations.to_vec())
                .collect(),
            dipole: properties.as_ref().and_then(|found| found.dipole.clone()),
            dipoles: levels.dipoles.clone(),
            transitions: transitions.iter().flat_map(|found| &found.records).cloned().collect(),
            multiply: Some(how.choice.clone()),
            storage: how.storage,
            format: how.format,
            format_reason: how.reason.clone(),
            non_zeros: how.non_zeros,
            shape: how.shape.as_ref().map(|used| shape_record(&used.name, &used.source)),
        }));
        let lowest = LevelAverages { averaged_over: levels.lowest.nrows(), averages };
        let (vectors, level) = (levels.states, levels.lowest);
        let vectors = (file.output.vectors && reports).then(|| -> BringVectors<'p> {
            let energies = solution.energies().to_vec();
            Box::new(move || state_vectors(&molecule.space, energies, T::rows(vectors)))
        });
        let mut files: Vec<WriteFile<'p>> = Vec::new();
        if let Some(properties) = properties.filter(|_| file.ci.density) {
            let densities = transitions.map(|found| found.densities);
            files.push(Box::new(move |folder| properties.write(folder, self, &level, densities.as_ref())));
        }
        Ok(Findings { family, method, notes, lowest, states, vectors, files })
    }
}

/// Of orbitals of each spin.
const NO_SPINS: &str =
    "unrestricted orbitals: no <S^2> and no natural occupations, which need the overlap of both sets of orbitals";

/// Of densities without a place for their file.
const NO_FOLDER: &str = "`density` writes density.npz into an output folder, and there is none: give --output DIR";

/// Of integrals that were written as complex numbers and are real.
const FROM_COMPLEX: &str =
    "every imaginary part of the integrals is 0, and they have the symmetry of real orbitals: solved as real ones";

/// What is computed from the lowest level.
struct Properties<T> {
    /// Averages over the level, in the orbitals of the space.
    one: OneBody<T>,
    /// Of one set of orbitals for both spins: γ^α + γ^β of two needs their overlap.
    natural: Option<NaturalOrbitals<T>>,
    dipole: Option<Vec<f64>>,
}

impl<T: Orbitals + WritableElement> Properties<T> {
    fn new(problem: &MoleculeProblem, lowest: &Array2<T>) -> Result<Properties<T>, Error> {
        let _properties = trace::span("observables", "densities");
        let molecule = &problem.molecule;
        let one = OneBody::new(&molecule.space, lowest)?;
        let is_usual = !molecule.is_unrestricted();
        let natural = is_usual.then(|| natural_orbitals(&one, &molecule.integrals.irreps)).transpose()?;
        let dipole = dipole_moment(molecule, &one)?;
        Ok(Properties { one, natural, dipole })
    }

    /// Writes density.npz, frozen orbitals included.
    fn write(
        &self,
        folder: &Path,
        problem: &MoleculeProblem,
        lowest: &Array2<T>,
        transitions: Option<&[Array4<T>; 2]>,
    ) -> Result<PathBuf, Error> {
        let molecule = &problem.molecule;
        let one = self.one.in_all_orbitals(&molecule.window)?;
        let Molecule { space, window, .. } = molecule;
        if molecule.is_unrestricted() {
            let two = SpinTwoBody::new(space, lowest)?.in_all_orbitals(&self.one, window)?;
            return Ok(write_densities(folder, &one, &two.arrays(), None, transitions)?);
        }
        let two = TwoBody::new(space, lowest)?.in_all_orbitals(&self.one, window)?;
        let natural = natural_orbitals(&one, &molecule.symmetry.irreps)?;
        Ok(write_densities(folder, &one, &two.arrays(), Some(&natural), transitions)?)
    }
}

fn state_vectors(space: &Space, energies: Vec<f64>, vectors: VectorRows) -> Result<StateVectors, Error> {
    let is_wide = |strings: &Strings| strings.words().iter().any(|word| u64::try_from(*word).is_err());
    if is_wide(space.alpha()) || is_wide(space.beta()) {
        return Err(Error::WideStrings { orbitals: space.orbitals() });
    }
    let words = |strings: &Strings, rank: fn((u32, u32)) -> u32| -> Vec<u64> {
        let word = |row: usize| strings.words()[rank(space.ranks(row as u64)) as usize] as u64;
        (0..space.len() as usize).into_par_iter().map(word).collect()
    };
    let determinants = [words(space.alpha(), |ranks| ranks.0), words(space.beta(), |ranks| ranks.1)];
    let states_of = BasisStates::Determinants(determinants);
    Ok(StateVectors { energies, vectors, states: states_of })
}
