//! The integrals of an FCIDUMP file as an operator: orbital p is site p.
//!
//! In: the file, and sites of kind electron. Out: H = E_core + Σ h_pq c†_pσ c_qσ + ½ Σ (pq|rs) c†_pσ c†_rτ c_sτ c_qσ, and the numbers
//! of electrons that the file names. Where each spin has its own orbitals, site p is the p-th orbital of either spin.

use super::Imported;
use crate::ci::{FcidumpHeader, Integrals, SymmetryKeys, electrons};
use crate::operator::{Charge, SiteKind};
use std::path::Path;

/// The most orbitals: 1.5 N⁴ products of 130 bytes are 90 MB.
const MOST_ORBITALS: usize = 26;

/// Reads a file.
///
/// # Errors
/// A file that cannot be read, or whose orbitals are not the sites.
pub(super) fn read(path: &Path, kinds: &[SiteKind], symmetry: SymmetryKeys) -> Result<Imported, String> {
    if let Some(site) = kinds.iter().position(|kind| *kind != SiteKind::Electrons) {
        let kind = kinds[site];
        return Err(format!(
            "orbitals hold electrons, found site {site} of kind \"{kind}\": write site = \"electron\""
        ));
    }
    let header = FcidumpHeader::read(path).map_err(|error| error.to_string())?;
    let (orbitals, sites) = (header.orbitals, kinds.len());
    if orbitals != sites {
        return Err(format!(
            "{} has {orbitals} orbitals, one for each site, found {sites} sites: write sites = {orbitals}, edges = [] in [lattice]",
            path.display()
        ));
    }
    if orbitals > MOST_ORBITALS {
        return Err(format!(
            "an operator has at most {MOST_ORBITALS} orbitals, found {orbitals}: use a file with [ci]"
        ));
    }
    let (integrals, irreps) = Integrals::read_with(path, symmetry).map_err(|error| error.to_string())?;
    let (up, down) = integrals.spins();
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let line = format!("the integrals of {name}: {orbitals} orbitals, {up} + {down} electrons");
    let operator = electrons(&integrals);
    let sector = vec![(Charge::Up, up as i64), (Charge::Down, down as i64)];
    // A chain of orbitals that averages densities and spins has one set of them.
    let molecule = (!integrals.is_unrestricted()).then_some((integrals, irreps));
    Ok(Imported { sector, molecule, ..Imported::new(operator, line) })
}
