//! Transitions of a sector at a temperature: what an operator A makes of all of its states.
//!
//! S(ω) = (1/Z) Σ_mn e^(−E_m/T) |⟨n|A|m⟩|² δ(ω − E_n + E_m). In: a model in its sector, the sectors that A leads to. Out: lines, each with the
//! energy E_m that is weighed, the energy E_n, and the weight. Small sectors have all of them, by dense matrices. Of a large one a random vector |r⟩
//! has a chain of Krylov vectors v_a with Ritz values ε_i, and A|r⟩ one of ṽ_b with ε̃_j in the sector that A leads to:
//!
//! Σ_r ⟨r|ψ_i⟩ ⟨ψ_i|A†|ψ̃_j⟩ ⟨ψ̃_j|A|r⟩,   ⟨ψ_i|A†|ψ̃_j⟩ from ⟨A v_a|ṽ_b⟩
//!
//! (J. Jaklič and P. Prelovšek, Adv. Phys. 49, 1 (2000), equation 3.14). Of real H the real and the imaginary part of A are taken one after the
//! other: what they have together is imaginary, and has no trace.

use super::super::model::Model;
use super::super::response::{Action, CHAIN_VECTORS, LevelStates, ResponseTarget};
use super::super::solve::RunError;
use super::random::seed_of;
use super::real_states::RealStates;
use super::samples::SampleOptions;
use eigenforge_core::operator::OperatorError;
use eigenforge_product::Hamiltonian;
use eigenforge_runtime::solvers::{KrylovChain, krylov_chain, krylov_vectors, symmetric_eigen};
use eigenforge_runtime::{Device, SolveError, trace};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// ‖A|r⟩‖² below this part of the sum of A's squared coefficients is rounding.
const NOTHING: f64 = 1e-24;

/// Transitions from states of some energies to states of others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    /// The energies E_m.
    pub initial: Vec<f64>,
    /// The energies E_n.
    pub final_states: Vec<f64>,
    /// Their weights, those of one E_m after those of another.
    pub weights: Vec<f64>,
}

/// A sample of a sector: its part of Z, and the transitions of each operator.
#[derive(Clone, Debug, Default)]
pub struct TransitionSample {
    /// Energies with their part of the trace of 1.
    pub lines: Vec<[f64; 2]>,
    /// Of each operator, all parts of it.
    pub transitions: Vec<Vec<Transitions>>,
}

/// Both with all steps and with half of them.
#[derive(Clone, Debug, Default)]
pub struct TransitionSamples {
    /// By all steps.
    pub whole: TransitionSample,
    /// By half of them.
    pub half: TransitionSample,
}

/// The Krylov space of a vector that an operator has made, with its overlaps.
struct ExcitedChain {
    chain: KrylovChain,
    constant: f64,
}

/// So many steps of a chain, or all where it has ended by itself.
fn part_of(chain: &KrylovChain, halved: bool) -> usize {
    let all = chain.alpha.len();
    if halved && !chain.closed { all.div_ceil(2) } else { all }
}

impl ExcitedChain {
    /// The transitions between its Ritz states and those of the vector that A acted on.
    fn transitions(
        &self,
        (values, vectors, constant): (&[f64], &[Vec<f64>], f64),
        share: f64,
        halved: bool,
    ) -> Result<Transitions, SolveError> {
        let steps = part_of(&self.chain, halved);
        let (reached, excited) = self.chain.ritz(steps)?;
        let length = self.chain.weight.sqrt();
        // ⟨A v_a|ψ̃_j⟩ ⟨ψ̃_j|A|r⟩.
        let by_vector: Vec<Vec<f64>> = (0..values.len())
            .into_par_iter()
            .map(|a| {
                let overlaps = &self.chain.overlaps[a];
                let of_state = |state: &Vec<f64>| {
                    let along: f64 = state.iter().zip(overlaps).map(|(s, overlap)| s * overlap).sum();
                    length * state[0] * along
                };
                excited.iter().map(of_state).collect()
            })
            .collect();
        let rows = vectors.par_iter().flat_map_iter(|own| {
            let mut row = vec![0.0; reached.len()];
            for (part, by_state) in own.iter().zip(&by_vector) {
                row.iter_mut().zip(by_state).for_each(|(sum, value)| *sum += share * own[0] * part * value);
            }
            row
        });
        Ok(Transitions {
            weights: rows.collect(),
            initial: values.iter().map(|value| value + constant).collect(),
            final_states: reached.iter().map(|value| value + self.constant).collect(),
        })
    }
}

/// The real vectors of amplitudes in a model: of a real one both parts, which have the same eigenvectors.
fn real_parts(model: &Model, made: &[Complex64]) -> Vec<Vec<f64>> {
    match model.is_complex() {
        true => vec![model.real_vector(made)],
        false => vec![made.iter().map(|a| a.re).collect(), made.iter().map(|a| a.im).collect()],
    }
}

/// A target, prepared for many vectors.
struct PreparedTarget<'a> {
    /// That of the chains.
    model: &'a Model,
    action: Action<'a>,
    hamiltonian: Hamiltonian<'static>,
    /// Σ c² of the operator's terms.
    size: f64,
}

impl PreparedTarget<'_> {
    /// The real vectors of what A makes of a state: of a real H in the target one of each part.
    fn images(&self, amplitudes: &[Complex64]) -> Vec<Vec<f64>> {
        real_parts(self.model, &self.action.applied(amplitudes))
    }

    /// The chains of what A makes of the first of the vectors, with the overlaps of what it makes of all.
    fn chains(&self, vectors: &[Vec<Complex64>], steps: usize) -> Result<Vec<ExcitedChain>, RunError> {
        let images: Vec<Vec<Vec<f64>>> = vectors.iter().map(|vector| self.images(vector)).collect();
        let mut chains = Vec::new();
        for part in 0..images[0].len() {
            let start = &images[0][part];
            if start.iter().map(|x| x * x).sum::<f64>() <= NOTHING * self.size {
                continue;
            }
            let others: Vec<&[f64]> = images.iter().map(|image| image[part].as_slice()).collect();
            let chain = krylov_chain(&self.hamiltonian, start, &others, steps, |_| false)?;
            chains.push(ExcitedChain { chain, constant: self.model.constant() });
        }
        Ok(chains)
    }
}

impl Model {
    /// The samples of the transitions from this sector, one random vector after the other, without the levels that are known; `targets` has the
    /// sectors that each operator leads to. Given to `visit` with their number.
    ///
    /// # Errors
    /// No room for the Krylov vectors; the device's; those of `visit`.
    pub fn sampled_transitions<E: From<RunError>>(
        &self,
        targets: &[Vec<ResponseTarget>],
        levels: &[LevelStates],
        options: &SampleOptions,
        device: &Device,
        mut visit: impl FnMut(usize, TransitionSamples) -> Result<(), E>,
    ) -> Result<(), E> {
        let _sampled = trace::span("thermal", "a sampled sector");
        let known: usize = levels.iter().map(|level| level.states.len()).sum();
        let rest = self.states().saturating_sub(known as u64);
        if rest == 0 {
            return Ok(());
        }
        let largest = targets.iter().flatten().map(|target| target.model.states()).max().unwrap_or(0);
        // The Krylov vectors, what A makes of them, and both parts of that.
        let bytes = (32 * options.steps as u64 + 64).saturating_mul(self.states().max(largest));
        let of_run = |error: RunError| E::from(error);
        let what = "Krylov vectors and what the operator makes of them, on the host";
        Device::cpu().check_memory(what, bytes).map_err(|error| of_run(error.into()))?;
        let states = RealStates::new(self);
        let taken = states.directions(levels).map_err(|error| of_run(error.into()))?;
        let hamiltonian = states.model.on_device(device, ScalarType::F64, CHAIN_VECTORS).map_err(of_run)?;
        let mut prepared: Vec<Vec<PreparedTarget<'_>>> = Vec::new();
        for list in targets {
            let own = list.iter().map(|target| self.prepared(target, options.steps, device));
            prepared.push(own.collect::<Result<_, RunError>>().map_err(of_run)?);
        }
        let name = self.sector_text();
        for sample in 0..options.samples {
            let _chain = trace::span("thermal", "chain");
            let start = states.random(seed_of(options.seed, &name, sample), &taken);
            let found = krylov_vectors(&hamiltonian, &start, options.steps).map_err(|error| of_run(error.into()))?;
            let made = transition_samples(states, &prepared, found, (rest as f64, options.steps)).map_err(of_run)?;
            visit(sample, made)?;
        }
        Ok(())
    }

    fn prepared<'a>(
        &'a self,
        target: &'a ResponseTarget,
        steps: usize,
        device: &Device,
    ) -> Result<PreparedTarget<'a>, RunError> {
        let size = target.operator.terms().map(|(_, coefficient)| coefficient * coefficient).sum();
        let model = target.model.in_own_conjugates();
        let hamiltonian = model.on_device(device, ScalarType::F64, CHAIN_VECTORS + steps as u64)?;
        let action = Action::new(&target.operator, self, model)?;
        Ok(PreparedTarget { model, action, hamiltonian, size })
    }

    /// All transitions of a small sector to small ones, by dense matrices.
    ///
    /// # Errors
    /// More elements than a dense matrix may have; an operator that the sites do not have.
    pub fn whole_transitions(
        &self,
        targets: &[Vec<ResponseTarget>],
        known: &mut KnownLevels,
    ) -> Result<TransitionSample, RunError> {
        let _whole = trace::span("thermal", "a dense sector");
        let own = known.of_model(self)?;
        let line = |energy: &f64| [*energy, own.share];
        let mut sample = TransitionSample { lines: own.values.iter().map(line).collect(), transitions: Vec::new() };
        for list in targets {
            let mut found = Vec::new();
            for target in list {
                found.push(own.transitions(self, target, &*known.of_model(&target.model)?)?);
            }
            sample.transitions.push(found);
        }
        Ok(sample)
    }
}

/// The transitions of a random vector: its chain, and those of what each operator makes of it.
fn transition_samples(
    states: RealStates<'_>,
    targets: &[Vec<PreparedTarget<'_>>],
    (chain, vectors): (KrylovChain, Vec<Vec<f64>>),
    (rest, steps): (f64, usize),
) -> Result<TransitionSamples, RunError> {
    let vectors: Vec<Vec<Complex64>> = vectors.iter().map(|vector| states.amplitudes(vector)).collect();
    let mut samples = TransitionSamples::default();
    let constant = states.model.constant();
    let mut both = Vec::new();
    for halved in [false, true] {
        let (values, states) = chain.ritz(part_of(&chain, halved))?;
        let line = |(value, state): (&f64, &Vec<f64>)| [value + constant, rest * state[0] * state[0]];
        let lines = values.iter().zip(&states).map(line).collect();
        if halved {
            samples.half.lines = lines
        } else {
            samples.whole.lines = lines
        }
        both.push((values, states));
    }
    for list in targets {
        let mut found: [Vec<Transitions>; 2] = Default::default();
        for target in list {
            for excited in target.chains(&vectors, steps)? {
                for ((values, states), (found, halved)) in both.iter().zip(found.iter_mut().zip([false, true])) {
                    found.push(excited.transitions((values, states, constant), rest, halved)?);
                }
            }
        }
        let [whole, half] = found;
        samples.whole.transitions.push(whole);
        samples.half.transitions.push(half);
    }
    Ok(samples)
}

/// The levels of small sectors by the names of these, so that none is diagonalised for each of the momenta that lead to it.
#[derive(Debug, Default)]
pub struct KnownLevels {
    levels: HashMap<String, Arc<DenseLevels>>,
    elements: usize,
}

/// Elements of eigenvectors that are kept at most: 1 GiB.
const MOST_ELEMENTS: usize = 1 << 27;

impl KnownLevels {
    fn of_model(&mut self, model: &Model) -> Result<Arc<DenseLevels>, RunError> {
        let name = model.sector_text();
        if let Some(known) = self.levels.get(&name) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(DenseLevels::new(model)?);
        let elements = found.values.len().pow(2);
        if self.elements + elements > MOST_ELEMENTS {
            *self = KnownLevels::default();
        }
        self.elements += elements;
        self.levels.insert(name, Arc::clone(&found));
        Ok(found)
    }
}

/// All levels of a small sector.
#[derive(Debug)]
struct DenseLevels {
    values: Vec<f64>,
    /// In its own conjugates where it has such.
    vectors: Vec<Vec<f64>>,
    /// Of a complex H each level is there twice.
    share: f64,
}

impl DenseLevels {
    fn new(model: &Model) -> Result<DenseLevels, RunError> {
        let own = model.in_own_conjugates();
        let n = own.dimension() as usize;
        let matrix: Vec<f64> = own.dense()?.iter().copied().collect();
        let (values, vectors) = symmetric_eigen(n, &matrix)?;
        Ok(DenseLevels { values, vectors, share: model.states() as f64 / n as f64 })
    }

    fn transitions(
        &self,
        model: &Model,
        target: &ResponseTarget,
        there: &DenseLevels,
    ) -> Result<Transitions, OperatorError> {
        let (states, solved) = (RealStates::new(model), target.model.in_own_conjugates());
        let action = Action::new(&target.operator, model, solved)?;
        let rows = self.vectors.par_iter().flat_map_iter(|vector| {
            // Of a complex H each pair of real vectors has |⟨n|A|m⟩|² once together.
            let parts = real_parts(solved, &action.applied(&states.amplitudes(vector)));
            let weight = move |state: &Vec<f64>| -> f64 {
                let along = |part: &Vec<f64>| part.iter().zip(state).map(|(a, b)| a * b).sum::<f64>();
                self.share * parts.iter().map(|part| along(part).powi(2)).sum::<f64>()
            };
            there.vectors.iter().map(weight).collect::<Vec<f64>>()
        });
        Ok(Transitions { weights: rows.collect(), initial: self.values.clone(), final_states: there.values.clone() })
    }
}

#[cfg(test)]
mod tests;
