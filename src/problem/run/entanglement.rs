//! The density matrices of a file's sets of sites in every level that a run found.

use super::WriteFile;
use crate::exact::{DensityMatrix, LevelStates, RunError, Solution, second_renyi_entropy, von_neumann_entropy};
use crate::problem::LatticeProblem;
use crate::report::{EntanglementRecord, LevelDensityMatrix, write_level_density_matrices};
use eigenforge_runtime::Scalar;

/// What `[entanglement]` adds to a run. Of several ranks the first has it; every rank asks.
#[derive(Default)]
pub(super) struct Entanglement {
    /// Entropies and eigenvalues.
    pub(super) records: Vec<EntanglementRecord>,
    /// What was left out, with the reason: it costs the run nothing else.
    pub(super) left_out: Vec<String>,
    /// The matrices themselves, where there is a folder for them.
    pub(super) matrices: Vec<LevelDensityMatrix>,
}

impl Entanglement {
    pub(super) fn new<T: Scalar>(problem: &LatticeProblem, solution: &Solution<'_, T>) -> Entanglement {
        let mut found = Entanglement::default();
        let Some(wanted) = &problem.file.entanglement else { return found };
        for level in 0..solution.levels().len() {
            if let Err(error) = found.add(problem, solution, level, &wanted.sites, wanted.weights) {
                found.left_out.push(format!("the entanglement of level {level} was left out: {error}"));
            }
        }
        found
    }

    fn add<T: Scalar>(
        &mut self,
        problem: &LatticeProblem,
        solution: &Solution<'_, T>,
        level: usize,
        sets: &[Vec<usize>],
        weights: usize,
    ) -> Result<(), RunError> {
        let LevelStates { states, .. } = solution.level_states(level)?;
        let is_first = solution.device().ranks().is_none_or(|ranks| ranks.rank() == 0);
        let sets = if is_first { sets } else { &[] };
        let spectra = problem.model.entanglement_spectra(&states, sets)?;
        for (sites, spectrum) in sets.iter().zip(spectra) {
            match spectrum {
                Ok(mut values) => {
                    let (von_neumann, renyi_2) = (von_neumann_entropy(&values), second_renyi_entropy(&values));
                    values.truncate(weights);
                    let (sites, states) = (sites.clone(), states.len());
                    self.records.push(EntanglementRecord {
                        sites,
                        level,
                        states,
                        von_neumann,
                        renyi_2,
                        weights: values,
                    });
                }
                Err(error) => self.left_out.push(refused("the density matrix", sites, level, &error)),
            }
        }
        if problem.file.output.folder.is_none() {
            return Ok(());
        }
        let matrices = problem.model.density_matrices(&states, sets)?;
        for (set, (sites, matrix)) in sets.iter().zip(matrices).enumerate() {
            match matrix {
                Ok(DensityMatrix { levels, elements }) => {
                    let sites = sites.clone();
                    self.matrices.push(LevelDensityMatrix { level, set, sites, levels, elements });
                }
                Err(error) => self.left_out.push(refused("the file of the density matrix", sites, level, &error)),
            }
        }
        Ok(())
    }
}

/// Why a set is left out of a level.
fn refused(what: &str, sites: &[usize], level: usize, error: &dyn std::fmt::Display) -> String {
    let sites: Vec<String> = sites.iter().map(usize::to_string).collect();
    format!("{what} of sites {} was left out of level {level}: {error}", sites.join(" "))
}

/// The file of the matrices, if there are any.
pub(super) fn write_density_matrices<'p>(matrices: Vec<LevelDensityMatrix>) -> Vec<WriteFile<'p>> {
    if matrices.is_empty() {
        return Vec::new();
    }
    vec![Box::new(move |folder| Ok(write_level_density_matrices(folder, &matrices)?))]
}
