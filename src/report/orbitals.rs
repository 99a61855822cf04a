//! What the report of a chain says of a molecule: spins, entropies of orbitals, mutual information, natural occupations, dipole.
//!
//! Energies are total, in Hartree, the core energy included. In `order` and in the summary orbitals have the numbers of the FCIDUMP file (of the
//! sites of `terms`); the lists of the report have the active orbitals from the first on.

use super::ReportError;
use super::plot::{Axis, MapColumn, map, picture};
use super::units::write_dipole;
use crate::ci::CiSpec;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Pairs that a summary shows.
const SHOWN_PAIRS: usize = 8;

/// What only a chain of orbitals has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrbitalsRecord {
    /// Its `[ci]`.
    pub ci: CiSpec,
    /// Electrons, orbitals and irrep in words.
    pub space: String,
    /// Active orbitals.
    pub orbitals: usize,
    /// Their numbers in `order` and the summary: those of the FCIDUMP file, or of sites of `terms`.
    pub numbers: Vec<usize>,
    /// Electrons of each spin in them.
    pub electrons: [usize; 2],
    /// Energy of nuclei and frozen cores.
    pub core_energy: f64,
    /// The orbitals along the chain, by these numbers.
    pub order: Vec<usize>,
    /// Σ |h_pq| + Σ |(pq|rs)| of the integrals that were left out of H.
    pub dropped_integrals: f64,
    /// ⟨S²⟩ of each state.
    pub s_squared: Vec<f64>,
    /// The entropy of each active orbital in the lowest state.
    pub orbital_entropies: Vec<f64>,
    /// s_p + s_q − s_pq of each pair of active orbitals in the lowest state, 0 on the diagonal.
    pub mutual_information: Vec<Vec<f64>>,
    /// Occupation of each active orbital in the lowest state.
    pub occupations: Vec<f64>,
    /// Occupations of the natural orbitals of the lowest state, descending.
    pub natural_occupations: Vec<f64>,
    /// Dipole moment of the lowest state in e a₀, x y z, where its integrals are given.
    pub dipole: Option<Vec<f64>>,
}

impl OrbitalsRecord {
    /// The number of an active orbital.
    fn number(&self, orbital: usize) -> usize {
        self.numbers[orbital]
    }

    /// The mutual information of each pair, with the orbitals along the chain on both axes; dark where it is largest.
    pub(super) fn mutual_information_svg(&self) -> Result<String, ReportError> {
        let active: Vec<usize> =
            self.order.iter().filter_map(|number| self.numbers.iter().position(|own| own == number)).collect();
        let rows: Vec<Vec<f64>> =
            active.iter().map(|p| active.iter().map(|q| self.mutual_information[*p][*q]).collect()).collect();
        let columns: Vec<MapColumn<'_>> =
            (0..rows.len()).map(|place| ([place as f64 + 0.5, place as f64 + 1.5], rows[place].as_slice())).collect();
        let range = [0.5, rows.len() as f64 + 0.5];
        let order: Vec<String> = self.order.iter().map(usize::to_string).collect();
        let title = format!("mutual information of orbitals {}", order.join(" "));
        let axes = ["place along the chain", "place along the chain"].map(Axis::new);
        picture((640, 600), |area| {
            map(area, &title, [&axes[0], &axes[1]], range, &columns).map_err(|error| error.to_string().into())
        })
    }

    pub(super) fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let order: Vec<String> = self.order.iter().map(usize::to_string).collect();
        writeln!(out, "orbitals in the order of the chain: {}", order.join(" "))?;
        if !self.s_squared.is_empty() {
            // Rounding may leave −1e-15 of a singlet.
            let spins: Vec<String> = self.s_squared.iter().map(|spin| format!("{:.6}", spin.max(0.0))).collect();
            writeln!(out, "<S^2>        {}", spins.join(" "))?;
        }
        self.write_entropies(out)?;
        if !self.natural_occupations.is_empty() {
            let shown: Vec<String> = self.natural_occupations.iter().map(|n| format!("{n:.4}")).collect();
            writeln!(out, "natural occupations of the lowest state: {}", shown.join(" "))?;
        }
        write_dipole(out, self.dipole.as_deref())
    }

    /// A row per orbital, and the pairs that are most entangled.
    fn write_entropies(&self, out: &mut String) -> std::fmt::Result {
        if self.orbital_entropies.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n  orbital   occupation        entropy")?;
        for (orbital, entropy) in self.orbital_entropies.iter().enumerate() {
            let occupation = self.occupations.get(orbital).copied().unwrap_or(f64::NAN);
            writeln!(out, "  {:>7}   {occupation:>10.6}   {entropy:>12.10}", self.number(orbital))?;
        }
        let rows = self.mutual_information.iter().enumerate();
        let mut pairs: Vec<(usize, usize, f64)> = rows
            .flat_map(|(p, row)| row.iter().enumerate().skip(p + 1).map(move |(q, information)| (p, q, *information)))
            .collect();
        pairs.sort_by(|one, other| other.2.total_cmp(&one.2).then((one.0, one.1).cmp(&(other.0, other.1))));
        let shown: Vec<String> = pairs
            .iter()
            .take(SHOWN_PAIRS)
            .map(|(p, q, information)| format!("{}-{} {information:.6}", self.number(*p), self.number(*q)))
            .collect();
        writeln!(out, "mutual information, largest: {}\n", shown.join(", "))
    }
}
