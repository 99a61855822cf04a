//! The entanglement of the levels of a run: density matrices of sets of sites.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The density matrix of a set of sites in a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntanglementRecord {
    /// The set.
    pub sites: Vec<usize>,
    /// The number of the level, from 0.
    pub level: usize,
    /// How many states of it were found: the matrix is the mean of theirs.
    pub states: usize,
    /// −tr ρ ln ρ.
    pub von_neumann: f64,
    /// −ln tr ρ².
    pub renyi_2: f64,
    /// The largest eigenvalues of ρ, descending.
    pub weights: Vec<f64>,
}

/// Eigenvalues that a line of the summary shows.
const SHOWN: usize = 4;

/// A line for each set and level.
pub(super) fn write_entanglement(records: &[EntanglementRecord], out: &mut String) -> std::fmt::Result {
    if records.is_empty() {
        return Ok(());
    }
    let set = |record: &EntanglementRecord| record.sites.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let width = records.iter().map(|record| set(record).len()).max().unwrap_or(0).max(5);
    writeln!(out, "  level   {:width$}      -tr rho ln rho      -ln tr rho^2   largest eigenvalues of rho", "sites")?;
    for record in records {
        let EntanglementRecord { level, von_neumann, renyi_2, .. } = record;
        let weights: Vec<String> = record.weights.iter().take(SHOWN).map(|weight| format!("{weight:.8}")).collect();
        let (set, weights) = (set(record), weights.join(" "));
        writeln!(out, "  {level:>5}   {set:width$}   {von_neumann:>17.10}   {renyi_2:>15.10}   {weights}")?;
    }
    writeln!(out)
}
