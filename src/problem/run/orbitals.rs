//! What a chain of orbitals has of a run: spins, entropies, densities.

use super::WriteFile;
use crate::Error;
use crate::ci::{NaturalOrbitals, OneBody, OneElectron, TwoBody, TwoBodyElements, natural_orbitals, write_densities};
use crate::dmrg::{Chain, DmrgResult, OrbitalEntropies, remove_pair_densities};
use crate::input::{DmrgFile, OrbitalChain, S_SQUARED, TWO_BODY};
use crate::observable::Averages;
use crate::report::OrbitalsRecord;
use std::path::{Path, PathBuf};

/// The names of the one-particle density matrices among the averages.
const ONE_BODY: [&str; 2] = ["cdag_c_up", "cdag_c_dn"];

/// The molecule's part of the report, and its files.
pub(super) struct OrbitalFindings<'p> {
    pub record: OrbitalsRecord,
    pub files: Vec<WriteFile<'p>>,
}

impl<'p> OrbitalFindings<'p> {
    /// Of the orbitals of a file; takes what only this needs out of the averages.
    ///
    /// # Errors
    /// A matrix cannot be decomposed; too little memory for all orbitals.
    pub(super) fn new(
        file: &'p DmrgFile,
        orbitals: &'p OrbitalChain,
        chain: &Chain,
        found: &mut DmrgResult,
    ) -> Result<OrbitalFindings<'p>, Error> {
        let n = orbitals.orbitals();
        let entropies = OrbitalEntropies::new(&found.averages, n)?.unwrap_or_default();
        let densities = Densities::new(orbitals, &found.averages)?;
        let s_squared = found.state_averages.iter().filter_map(|averages| averages.scalar(S_SQUARED)).collect();
        let (up, down) = orbitals.integrals.spins();
        let record = OrbitalsRecord {
            ci: orbitals.ci.clone(),
            space: orbitals.describe(),
            orbitals: n,
            numbers: orbitals.numbers.clone(),
            electrons: [up, down],
            core_energy: orbitals.integrals.core,
            order: orbitals.numbers(&chain.order),
            dropped_integrals: orbitals.dropped,
            s_squared,
            orbital_entropies: entropies.single,
            mutual_information: entropies.mutual,
            occupations: densities.as_ref().map_or(Vec::new(), |found| found.one.total().diag().to_vec()),
            natural_occupations: densities.as_ref().map_or(Vec::new(), |found| found.natural.occupations.to_vec()),
            dipole: densities.as_ref().and_then(|found| found.dipole.clone()),
        };
        for averages in std::iter::once(&mut found.averages).chain(&mut found.state_averages) {
            remove_internal(averages, file);
        }
        if file.model.observed.is_empty() {
            found.state_averages.clear();
        }
        let mut files: Vec<WriteFile<'p>> = Vec::new();
        if let Some(densities) = densities.filter(|found| found.two.is_some()) {
            files.push(Box::new(move |folder| densities.write(folder, orbitals)));
        }
        Ok(OrbitalFindings { record, files })
    }
}

/// Takes out what the file did not ask for.
fn remove_internal(averages: &mut Averages, file: &DmrgFile) {
    remove_pair_densities(averages);
    let own = ONE_BODY.into_iter().filter(|_| !file.dmrg.options.correlations);
    own.chain([S_SQUARED, TWO_BODY]).for_each(|name| drop(averages.remove(name)));
}

/// Density matrices of the lowest state in the active orbitals.
struct Densities {
    one: OneBody,
    two: Option<TwoBody>,
    natural: NaturalOrbitals,
    dipole: Option<Vec<f64>>,
}

impl Densities {
    /// `None` without averages.
    fn new(orbitals: &OrbitalChain, averages: &Averages) -> Result<Option<Densities>, Error> {
        let [Some(alpha), Some(beta)] = ONE_BODY.map(|name| averages.pairs(name).map(|matrix| matrix.to_owned()))
        else {
            return Ok(None);
        };
        let one = OneBody { alpha, beta, overlap: 1.0 };
        let elements = averages.sites(TWO_BODY).map(|values| values.to_vec());
        let two = elements.and_then(|values| TwoBodyElements::new(orbitals.orbitals()).matrix(&values));
        let natural = natural_orbitals(&one, &orbitals.integrals.irreps)?;
        let whole = one.in_all_orbitals(&orbitals.window)?;
        let moment = |components: &Vec<OneElectron>| components.iter().map(|one| one.expectation(&whole)).collect();
        let dipole = orbitals.dipole.as_ref().map(moment).transpose()?;
        Ok(Some(Densities { one, two, natural, dipole }))
    }

    /// Writes density.npz, frozen orbitals included.
    fn write(&self, folder: &Path, orbitals: &OrbitalChain) -> Result<PathBuf, Error> {
        let one = self.one.in_all_orbitals(&orbitals.window)?;
        let two = self.two.as_ref().map(|two| two.in_all_orbitals(&self.one, &orbitals.window)).transpose()?;
        let natural = natural_orbitals(&one, &orbitals.symmetry.irreps)?;
        let two = two.as_ref().map_or(Vec::new(), TwoBody::arrays);
        Ok(write_densities(folder, &one, &two, Some(&natural), None)?)
    }
}
