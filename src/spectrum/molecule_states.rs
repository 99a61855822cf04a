//! The states of a level of a molecule, in each sector of n_α and n_β.
//!
//! In: a solve, the number of a level. Out: an orthonormal basis of the level in every sector: what the solve has, and what S⁻ and S⁺ make of it, for
//! H has the same energies at every Sz of a spin.

use crate::Error;
use crate::ci::{CiSolution, Molecule, OneBody, SharpLevel, Space, flip_spin};
use crate::input::AveragedStates;
use ndarray::{Array2, ArrayView1};
use std::collections::BTreeMap;
use std::fmt;

/// States of the level with as many α and β electrons.
pub(super) struct SpinSector {
    /// Their determinants.
    pub space: Space,
    /// One state per row.
    pub vectors: Array2<f64>,
    /// The name of the irrep, of one alone.
    irrep: Option<String>,
}

impl SpinSector {
    /// α and β electrons.
    pub(super) fn electrons(&self) -> (usize, usize) {
        (self.space.alpha().electrons(), self.space.beta().electrons())
    }

    /// "3 + 2 electrons".
    pub(super) fn name((up, down): (usize, usize), irrep: Option<String>) -> String {
        format!("{up} + {down} electrons{}", irrep.map_or(String::new(), |irrep| format!(", {irrep}")))
    }

    /// Takes the parts along its states out of a vector over a space of as many electrons.
    pub(super) fn take_out(&self, space: &Space, vector: &mut [f64]) {
        let place = |row: u64| {
            let (up, down) = self.space.determinant(row);
            space.row(up, down).map(|row| row as usize)
        };
        let places: Vec<Option<usize>> = (0..self.space.len()).map(place).collect();
        for state in self.vectors.rows() {
            let known = || places.iter().zip(state).filter_map(|(place, value)| Some(((*place)?, *value)));
            let overlap: f64 = known().map(|(place, value)| value * vector[place]).sum();
            known().for_each(|(place, value)| vector[place] -= overlap * value);
        }
    }
}

impl fmt::Display for SpinSector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SpinSector::name(self.electrons(), self.irrep.clone()))
    }
}

/// A level.
pub(super) struct LevelMembers {
    /// Its energy.
    pub energy: f64,
    /// The same without what all determinants share, and that.
    parts: [f64; 2],
    /// Its states.
    pub sectors: Vec<SpinSector>,
    /// Whether they have converged.
    pub converged: bool,
}

impl LevelMembers {
    /// A level of a solution, whole or in the sector of the solve.
    ///
    /// # Errors
    /// A copy from the device; too little memory.
    pub(super) fn new(
        solution: &CiSolution<'_>,
        molecule: &Molecule,
        (level, average): (usize, AveragedStates),
        warnings: &mut Vec<String>,
    ) -> Result<LevelMembers, Error> {
        let (space, pairs) = (solution.space(), solution.eigenpairs());
        let vectors = solution.level_states::<f64>(level)?;
        let converged = pairs.residuals.iter().all(|residual| *residual <= 2.0 * pairs.tolerance);
        if !converged {
            warnings
                .push("the level has not converged: more `max_iterations` in [solve], or a larger `tolerance`".into());
        }
        if !solution.levels()[level].complete {
            warnings.push("the level may have more states than were found: the average is over those".into());
        }
        let (energy, parts) = (solution.levels()[level].value, [pairs.levels[level].value, solution.constant()]);
        let whole = average == AveragedStates::Level;
        if whole && molecule.is_unrestricted() {
            warnings.push(
                "unrestricted orbitals: the average is over the states with this 2Sz, for S- needs the overlap of both sets of orbitals"
                    .into(),
            );
        }
        let spins = match whole && !molecule.is_unrestricted() {
            true => {
                let sharp = SharpLevel::new(space, vectors.clone())?;
                let spins = sharp.two_s();
                if spins.is_none() {
                    warnings.push(
                        "the level's states have no definite spin: the average is over those with this 2Sz".into(),
                    );
                }
                spins.map(|spins| (sharp.states, spins))
            }
            false => None,
        };
        let irrep = space.irrep().map(|irrep| molecule.symmetry.label(irrep));
        let sectors = match spins {
            Some((states, spins)) => multiplets(molecule, space, (&states, &spins), irrep)?,
            None => vec![SpinSector { space: space.clone(), vectors, irrep }],
        };
        Ok(LevelMembers { energy, parts, sectors, converged })
    }

    /// Its energy less a constant, in digits that a large common part does not cost.
    pub(super) fn energy_above(&self, constant: f64) -> f64 {
        self.parts[0] + (self.parts[1] - constant)
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.sectors.iter().map(|sector| sector.vectors.nrows()).sum()
    }

    /// ⟨n_pα⟩ and ⟨n_pβ⟩ of each orbital, over all states.
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn occupations(&self) -> Result<[Vec<f64>; 2], Error> {
        let orbitals = self.sectors[0].space.orbitals();
        let mut occupations = [vec![0.0; orbitals], vec![0.0; orbitals]];
        for sector in &self.sectors {
            let one = OneBody::new(&sector.space, &sector.vectors)?;
            let part = sector.vectors.nrows() as f64 / self.states() as f64;
            for (all, own) in occupations.iter_mut().zip([&one.alpha, &one.beta]) {
                all.iter_mut().zip(own.diag()).for_each(|(sum, own)| *sum += part * own);
            }
        }
        Ok(occupations)
    }
}

/// What S⁻ and S⁺ make of states with these spins, sector by sector from the highest 2Sz.
fn multiplets(
    molecule: &Molecule,
    space: &Space,
    (states, spins): (&Array2<f64>, &[u32]),
    irrep: Option<String>,
) -> Result<Vec<SpinSector>, Error> {
    let (up, down) = (space.alpha().electrons() as i64, space.beta().electrons() as i64);
    let mut found: BTreeMap<i64, (Space, Vec<Vec<f64>>)> = BTreeMap::new();
    for (state, two_s) in states.rows().into_iter().zip(spins) {
        let mut add = |two_sz: i64, space: &Space, vector: Vec<f64>| {
            found.entry(-two_sz).or_insert_with(|| (space.clone(), Vec::new())).1.push(vector);
        };
        add(up - down, space, state.to_vec());
        for raises in [false, true] {
            let (mut own, mut vector, mut counts) = (space.clone(), state.to_vec(), (up, down));
            loop {
                let next = if raises { (counts.0 + 1, counts.1 - 1) } else { (counts.0 - 1, counts.1 + 1) };
                if (next.0 - next.1).unsigned_abs() > u64::from(*two_s) {
                    break;
                }
                let to = Space::full(space.orbitals(), next.0 as usize, next.1 as usize)?;
                let to = match space.irrep() {
                    Some(irrep) => to.in_irrep(&molecule.integrals.irreps, irrep)?,
                    None => to,
                };
                vector = normalised(flip_spin(&own, &to, raises, &vector));
                (own, counts) = (to, next);
                add(next.0 - next.1, &own, vector.clone());
            }
        }
    }
    let sector = |(space, rows): (Space, Vec<Vec<f64>>)| {
        let mut vectors = Array2::zeros((rows.len(), space.len() as usize));
        for (mut row, own) in vectors.rows_mut().into_iter().zip(&rows) {
            row.assign(&ArrayView1::from(own));
        }
        SpinSector { space, vectors, irrep: irrep.clone() }
    };
    Ok(found.into_values().map(sector).collect())
}

fn normalised(mut vector: Vec<f64>) -> Vec<f64> {
    let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|value| *value /= norm);
    vector
}
