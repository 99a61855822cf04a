//! The diagonal of H of configuration state functions, without its matrix.
//!
//! In: integrals and a space. Out: ⟨P λ|H|P λ⟩ of every function, in Hartree, without the core energy: the energy of the configuration and
//! the exchange of its open shells ([`super::blocks`], first line of the table).

use super::CsfSpace;
use super::blocks::Blocks;
use crate::integrals::Integrals;
use crate::matrix::{MatrixError, check};
use eigenforge_runtime::Device;
use rayon::prelude::*;

/// Configurations per task.
const CHUNK: usize = 64;

impl CsfSpace {
    /// The diagonal elements of all functions.
    ///
    /// # Errors
    /// Integrals that do not fit the space; too little memory.
    pub(super) fn diagonal(&self, integrals: &Integrals) -> Result<Vec<f64>, MatrixError> {
        check(integrals, self.orbitals, self.irreps.as_ref().map(|(irreps, _)| &irreps[..]))?;
        let (blocks, places) = (Blocks::new(integrals, self), self.configurations.words.len());
        Device::cpu().check_memory("the diagonal of configuration state functions", 8 * self.len())?;
        let part = |task: usize| {
            let mut found = Vec::new();
            for place in task * CHUNK..((task + 1) * CHUNK).min(places) {
                let first = found.len();
                found.resize(first + self.configurations.functions(place), 0.0);
                blocks.diagonal_elements(place, &mut found[first..]);
            }
            found
        };
        Ok((0..places.div_ceil(CHUNK)).into_par_iter().flat_map_iter(part).collect())
    }
}
