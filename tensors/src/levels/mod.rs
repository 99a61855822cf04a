//! Levels of two nucleons from the tensors of their Hamiltonian.
//!
//! In: strengths of a file, or an interaction with `[hamiltonian]` that is transformed first. Out: the levels by J, parity and T.
//!
//! ```text
//! elements, terms → C, group by group → H in the SU(3)-coupled basis (`matrix`) → + β N_cm (`basis`) → levels
//! ```
//! The basis has all pairs with na + nb ≤ N_max + 1, the complete part of the space: there the centre of mass separates exactly, and a
//! level without its quanta is one of relative motion with N ≤ N_max + 1. β N_cm, with β beyond the spectrum of H, keeps states of
//! different N_cm apart (D. H. Gloeckner and R. D. Lawson, Phys. Lett. B 53 (1974) 313); energies are ⟨H⟩, without it.

mod basis;
mod matrix;
mod record;

pub use record::{CoupledComponent, NuclearLevel, NuclearLevels};

use super::channel::Channel;
use super::error::TransformError;
use super::interaction::InteractionError;
use super::memory::Memory;
use super::plan::{Group, Plan};
use super::source::TensorSource;
use super::space::OscillatorSpace;
use super::table_cache::TableCache;
use super::tables::Tables;
use super::work::Direction;
use super::{Su3Spec, exchange};
#[cfg(test)]
mod tests;

use basis::CoupledBasis;
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::{DeviceError, solvers};
use matrix::CoupledMatrices;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

/// Which levels are wanted.
#[derive(Debug, Clone, Copy)]
pub struct LevelRequest {
    /// The nucleons.
    pub channel: Channel,
    /// How many, lowest first.
    pub count: usize,
    /// The most quanta of the centre of mass.
    pub centre_quanta: u32,
}

impl Default for LevelRequest {
    fn default() -> LevelRequest {
        LevelRequest { channel: Channel::Pn, count: 10, centre_quanta: 0 }
    }
}

/// Elements between T = 0 and 1 up to this part of the largest are rounding.
const ROUNDING: f64 = 1e-11;
/// An |H − Hᵀ| beyond this part of the largest |H| is told.
const ASYMMETRIC: f64 = 1e-8;
/// Components with less weight are not listed.
const LEAST_WEIGHT: f64 = 1e-6;

impl Su3Spec {
    /// The levels of two nucleons; `output` and `format` are not looked at. With [`Direction::Inverse`] the input is strengths of the
    /// whole Hamiltonian, to which the terms of `hamiltonian` are added if there are any.
    ///
    /// # Errors
    ///
    /// An interaction without `hamiltonian`, a channel that the input does not have, what cannot be read or held.
    pub fn levels(&self, request: &LevelRequest) -> Result<NuclearLevels, TransformError> {
        let started = Instant::now();
        if self.direction == Direction::Forward && self.hamiltonian.is_none() {
            return Err(InteractionError::NoKineticEnergy.into());
        }
        let plan = Plan::new(OscillatorSpace { n_max: self.n_max });
        let quanta_max = self.n_max + 1;
        let (limit, of_matrices) = (Memory::limit(self), 2 * CoupledMatrices::bytes(quanta_max));
        // Refuses what cannot be, before anything is read.
        Memory::new(limit, &plan, 1, of_matrices)?;
        let input = Input::open(self, &plan, request.channel)?;
        let mut tables = Tables::of_pairs(&plan, cache()?)?;
        Memory::new(limit, &plan, Channel::ALL.len(), of_matrices + input.resident() + tables.resident())?;
        let mut matrices = CoupledMatrices::new(quanta_max, tables.coupler())?;
        // Two of a kind have ¼ of all orders of a pair, and each of their states is two of these.
        let factor = if request.channel == Channel::Pn { 1.0 } else { 0.5 };
        let complete = |group: &&Group| group.bra_quanta.max(group.ket_quanta) <= quanta_max;
        for group in plan.groups.iter().filter(complete) {
            tables.load_groups(&[group]);
            matrices.add(group, &tables, &input.strengths(group, &tables)?, factor);
        }
        tables.cache().evict();
        let mut found = NuclearLevels::new(self, request, &matrices.bases, tables.defect);
        let CoupledMatrices { bases, values, .. } = matrices;
        let solved: Vec<Solved> = bases
            .par_iter()
            .zip(values)
            .map(|(basis, matrix)| Solved::new(basis, matrix, request))
            .collect::<Result<_, _>>()?;
        for solved in solved {
            found.asymmetry = found.asymmetry.max(solved.asymmetry);
            found.isospin_mixing = found.isospin_mixing.max(solved.isospin_mixing);
            found.levels.extend(solved.levels);
        }
        if found.asymmetry > ASYMMETRIC {
            found.warnings.push(
                "H is not symmetric, levels are those of its symmetric part; is a tensor without its adjoint?".into(),
            );
        }
        found.levels.sort_by(|a, b| a.energy.total_cmp(&b.energy).then(a.j.cmp(&b.j)));
        found.levels.truncate(request.count);
        found.seconds = started.elapsed().as_secs_f64();
        Ok(found)
    }
}

fn cache() -> Result<TableCache, DeviceError> {
    Ok(TableCache::open(&Settings::from_env()?))
}

/// Where the strengths of one channel come from.
struct Input {
    source: Box<dyn TensorSource>,
    /// Of the channel.
    position: usize,
    direction: Direction,
    /// Elements that are added to strengths, for the same channel.
    terms: Option<(Box<dyn TensorSource>, usize)>,
}

impl Input {
    fn open(spec: &Su3Spec, plan: &Plan, channel: Channel) -> Result<Input, TransformError> {
        let of_strengths = spec.direction == Direction::Inverse;
        let terms = match spec.hamiltonian.filter(|_| of_strengths) {
            Some(terms) => {
                let terms: Box<dyn TensorSource> = Box::new(terms.elements(plan, &cache()?)?);
                Some((terms, channel as usize))
            }
            None => None,
        };
        let source = match of_strengths {
            true => spec.interaction.open(plan, spec.direction, &cache()?)?,
            false => spec.open(plan, &cache()?)?,
        };
        let channels = source.channels();
        let position = channels.iter().position(|found| *found == channel).ok_or_else(|| {
            let found = channels.iter().map(|channel| channel.word()).collect::<Vec<_>>().join(", ");
            InteractionError::NoChannel { input: spec.interaction.to_string(), channel: channel.word(), found }
        })?;
        Ok(Input { source, position, direction: spec.direction, terms })
    }

    /// Bytes held permanently.
    fn resident(&self) -> u64 {
        self.source.resident() + self.terms.as_ref().map_or(0, |(terms, _)| terms.resident())
    }

    /// The strengths of a group.
    fn strengths(&self, group: &Group, tables: &Tables) -> Result<Vec<f64>, TransformError> {
        let of_elements = |source: &dyn TensorSource, position: usize| -> Result<Vec<f64>, TransformError> {
            let mut strengths = vec![0.0; group.length];
            exchange::forward(group, tables, &source.group(group)?[position], &mut strengths);
            Ok(strengths)
        };
        if self.direction == Direction::Forward {
            return of_elements(&*self.source, self.position);
        }
        let mut strengths = self.source.group(group)?.swap_remove(self.position);
        if let Some((terms, position)) = &self.terms {
            strengths.iter_mut().zip(of_elements(&**terms, *position)?).for_each(|(sum, term)| *sum += term);
        }
        Ok(strengths)
    }
}

/// The levels of one J and parity.
struct Solved {
    levels: Vec<NuclearLevel>,
    /// The largest |H − Hᵀ| and |H| between T = 0 and 1, relative to the largest |H|.
    asymmetry: f64,
    isospin_mixing: f64,
}

impl Solved {
    fn new(basis: &CoupledBasis, mut matrix: Vec<f64>, request: &LevelRequest) -> Result<Solved, TransformError> {
        let (order, isoscalar) = (basis.states.len(), basis.isoscalar);
        let identical = request.channel != Channel::Pn;
        let largest = matrix.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let mut solved = Solved { levels: Vec::new(), asymmetry: 0.0, isospin_mixing: 0.0 };
        for row in 0..order {
            for column in 0..row {
                let [lower, upper] = [matrix[row * order + column], matrix[column * order + row]];
                let mean = 0.5 * (lower + upper);
                [matrix[row * order + column], matrix[column * order + row]] = [mean, mean];
                if identical && column < isoscalar {
                    continue;
                }
                solved.asymmetry = solved.asymmetry.max((lower - upper).abs() / largest);
                if row >= isoscalar && column < isoscalar {
                    solved.isospin_mixing = solved.isospin_mixing.max(mean.abs() / largest);
                }
            }
        }
        let parts = match solved.isospin_mixing > ROUNDING {
            _ if identical => vec![(isoscalar..order, Some(1))],
            true => vec![(0..order, None)],
            false => vec![(0..isoscalar, Some(0)), (isoscalar..order, Some(1))],
        };
        let centre = basis.centre_of_mass();
        for (states, isospin) in parts {
            let within = |at: &usize| states.contains(at);
            let block: Vec<f64> =
                states.clone().flat_map(|row| &matrix[row * order..][states.clone()]).copied().collect();
            let centre = centre.iter().filter(|(row, column, _)| within(row) && within(column));
            let centre: Vec<_> =
                centre.map(|(row, column, value)| (row - states.start, column - states.start, *value)).collect();
            let of_block = Block { basis, start: states.start, isospin, matrix: block, centre };
            solved.levels.extend(of_block.levels(request)?);
        }
        Ok(solved)
    }
}

/// H of one J, parity and T.
struct Block<'b> {
    basis: &'b CoupledBasis,
    /// The first state.
    start: usize,
    /// `None` if H mixes T.
    isospin: Option<u32>,
    matrix: Vec<f64>,
    /// N_cm.
    centre: Vec<(usize, usize, f64)>,
}

impl Block<'_> {
    fn levels(&self, request: &LevelRequest) -> Result<Vec<NuclearLevel>, TransformError> {
        let order = self.matrix.len().isqrt();
        // No eigenvalue is beyond the largest sum of a row.
        let sum = |row: &[f64]| row.iter().map(|value| value.abs()).sum::<f64>();
        let bound = self.matrix.chunks_exact(order.max(1)).map(sum).fold(f64::MIN_POSITIVE, f64::max);
        let mut shifted = self.matrix.clone();
        self.centre.iter().for_each(|(row, column, value)| shifted[row * order + column] += 2.5 * bound * value);
        let (_, vectors) = solvers::symmetric_eigen(order, &shifted).map_err(TransformError::Eigenvalues)?;
        let wanted = |vector: &Vec<f64>| -> Option<NuclearLevel> {
            let centre_quanta =
                self.centre.iter().map(|(row, column, value)| vector[*row] * value * vector[*column]).sum();
            (centre_quanta < f64::from(request.centre_quanta) + 0.5).then(|| self.level(vector, centre_quanta))
        };
        let mut levels: Vec<NuclearLevel> = vectors.par_iter().filter_map(wanted).collect();
        levels.sort_by(|a, b| a.energy.total_cmp(&b.energy));
        levels.truncate(request.count);
        Ok(levels)
    }

    fn level(&self, vector: &[f64], centre_quanta: f64) -> NuclearLevel {
        let dot = |row: &[f64]| row.iter().zip(vector).map(|(h, x)| h * x).sum::<f64>();
        let energy = self.matrix.chunks_exact(vector.len()).zip(vector).map(|(row, x)| x * dot(row)).sum();
        let mut weights: BTreeMap<[u32; 4], f64> = BTreeMap::new();
        for (state, x) in self.basis.states[self.start..].iter().zip(vector) {
            let [l, s] = state.momenta;
            *weights.entry([state.irrep.lambda, state.irrep.mu, l, s]).or_default() += x * x;
        }
        let listed = weights.into_iter().filter(|(_, weight)| *weight >= LEAST_WEIGHT);
        let mut components: Vec<CoupledComponent> =
            listed.map(|([lambda, mu, l, s], weight)| CoupledComponent { lambda, mu, l, s, weight }).collect();
        components.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let parity = if self.basis.odd { -1 } else { 1 };
        NuclearLevel { energy, j: self.basis.j, parity, isospin: self.isospin, centre_quanta, components }
    }
}
