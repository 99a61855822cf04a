//! Chains of random vectors, and the traces that they give.
//!
//! Of a random vector |r⟩ there are two estimates of Tr e^(−H/T) A: ⟨r| e^(−H/T) A |r⟩ (finite-temperature Lanczos), and ⟨r| e^(−H/2T) A e^(−H/2T) |r⟩,
//! the average in a canonical thermal pure quantum state (S. Sugiura and A. Shimizu, Phys. Rev. Lett. 111, 010401 (2013)). Both have the same
//! Tr e^(−H/T) f(H). In the Ritz states |i⟩ of a chain the second is Σ_ij e^(−(ε_i + ε_j)/2T) ⟨r|i⟩ ⟨i|A|j⟩ ⟨j|r⟩: lines at (ε_i + ε_j)/2.

use super::super::model::Model;
use super::super::response::{Action, CHAIN_VECTORS, LevelStates};
use super::super::solve::RunError;
use super::levels::{actions, inner};
use super::random::{normal, seed_of};
use eigenforge_core::operator::Operator;
use eigenforge_runtime::solvers::{KrylovChain, krylov_chain, krylov_vectors};
use eigenforge_runtime::{Device, SolveError, trace};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Bytes of an element of a vector on the host: the start, its amplitudes, and those of an image. Each operator's image stays beside them.
const HOST_BYTES: u64 = 40;

/// An energy with its part of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceLine {
    /// The energy.
    pub energy: f64,
    /// Its part of Tr 1.
    pub weight: f64,
    /// Its part of Tr A of each operator.
    pub values: Vec<f64>,
}

/// How large sectors are sampled.
#[derive(Clone, Debug)]
pub struct SampleOptions {
    /// Random vectors of each sector.
    pub samples: usize,
    /// Steps of a chain at most.
    pub steps: usize,
    /// Where the random numbers begin.
    pub seed: u64,
    /// Whether averages are those of thermal pure quantum states.
    pub pure_states: bool,
}

/// The traces of a sector.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SectorTrace {
    /// Its states: Tr 1.
    pub states: u64,
    /// The levels that are known.
    pub exact: Vec<TraceLine>,
    /// What random vectors say of the rest, each of all of it.
    pub samples: Vec<TraceSample>,
}

/// A random vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceSample {
    chain: KrylovChain,
    /// Of pure states Re ⟨v_a|A + A†|v_b⟩ / 2 at a · vectors + b of each operator, v the vectors of the chain.
    #[serde(default)]
    elements: Vec<Vec<f64>>,
    /// The states that it stands for.
    share: f64,
    constant: f64,
}

impl TraceSample {
    /// Steps of the chain.
    pub fn steps(&self) -> usize {
        self.chain.alpha.len()
    }

    /// Whether the chain ended by itself: then f(H)|r⟩ is exact.
    pub fn is_closed(&self) -> bool {
        self.chain.closed
    }

    /// The lines of the chain after so many steps. Parts of Tr A have a meaning in sums over all of them.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn lines(&self, steps: usize) -> Result<Vec<TraceLine>, SolveError> {
        if !self.elements.is_empty() {
            return self.lines_of_pairs(steps);
        }
        let share = self.share / self.chain.weight;
        let lines = self.chain.shortened(steps).lines()?;
        let line = |line: eigenforge_runtime::solvers::RitzLine| TraceLine {
            energy: line.value + self.constant,
            weight: share * line.weight,
            values: line.overlaps.iter().map(|overlap| share * overlap).collect(),
        };
        Ok(lines.into_iter().map(line).collect())
    }

    /// The lines of a pure state: one of each Ritz state, and one of each two, which has parts of Tr A alone.
    fn lines_of_pairs(&self, steps: usize) -> Result<Vec<TraceLine>, SolveError> {
        let (values, states) = self.chain.ritz(steps)?;
        let all = self.chain.alpha.len();
        // ⟨v_a|A|j⟩ of each operator, then ⟨i|A|j⟩.
        let along = |elements: &Vec<f64>, j: &Vec<f64>| -> Vec<f64> {
            (0..j.len()).map(|a| j.iter().enumerate().map(|(b, part)| elements[a * all + b] * part).sum()).collect()
        };
        let of_state = |(number, j): (usize, &Vec<f64>)| {
            let images: Vec<Vec<f64>> = self.elements.iter().map(|elements| along(elements, j)).collect();
            let of_pair = |(before, i): (usize, &Vec<f64>)| {
                let is_one = before == number;
                let times = self.share * i[0] * j[0] * if is_one { 1.0 } else { 2.0 };
                let element = |image: &Vec<f64>| times * i.iter().zip(image).map(|(a, b)| a * b).sum::<f64>();
                TraceLine {
                    energy: 0.5 * (values[before] + values[number]) + self.constant,
                    weight: if is_one { times } else { 0.0 },
                    values: images.iter().map(element).collect(),
                }
            };
            states[..=number].iter().enumerate().map(of_pair).collect::<Vec<_>>()
        };
        Ok(states.par_iter().enumerate().flat_map_iter(of_state).collect())
    }
}

impl Model {
    /// The trace over the sector from levels that were solved, none of them twice, and random vectors for the rest; `observables` are invariant
    /// under the symmetry group of the sector. Random numbers follow from the seed and the sector's name.
    ///
    /// # Errors
    /// An operator that the sites do not have; no room; the device's.
    pub fn sampled_trace(
        &self,
        observables: &[Operator],
        levels: &[LevelStates],
        options: &SampleOptions,
        device: &Device,
    ) -> Result<SectorTrace, RunError> {
        let _sampled = trace::span("thermal", "a sampled sector");
        let host = (HOST_BYTES + 8 * observables.len() as u64).saturating_mul(self.dimension());
        Device::cpu().check_memory("a random vector and what operators make of it, on the host", host)?;
        let parts: Vec<Operator> = observables.iter().map(|operator| self.part_within(operator)).collect();
        let actions = actions(self, &parts)?;
        let exact = levels.iter().map(|level| level.line(&actions)).collect();
        let known: usize = levels.iter().map(|level| level.states.len()).sum();
        let rest = self.states().saturating_sub(known as u64);
        let mut found = SectorTrace { states: self.states(), exact, samples: Vec::new() };
        if rest == 0 {
            return Ok(found);
        }
        let taken: Vec<Vec<f64>> =
            levels.iter().flat_map(|level| &level.states).flat_map(|state| self.directions(state)).collect();
        let hamiltonian = self.on_device(device, ScalarType::F64, CHAIN_VECTORS + actions.len() as u64)?;
        let name = self.sector_text();
        let keeps = options.pure_states && !actions.is_empty();
        if keeps {
            let bytes = 40u64.saturating_mul(options.steps as u64).saturating_mul(self.dimension());
            let what = "Krylov vectors and what an operator makes of them, on the host";
            Device::cpu().check_memory(what, bytes)?;
        }
        for sample in 0..options.samples {
            let _chain = trace::span("thermal", "chain");
            let start = self.random_start(seed_of(options.seed, &name, sample), &taken);
            if keeps {
                let (chain, vectors) = krylov_vectors(&hamiltonian, &start, options.steps)?;
                let vectors: Vec<Vec<Complex64>> = vectors.iter().map(|vector| self.amplitudes(vector)).collect();
                let elements = actions.iter().map(|action| elements_of(action, &vectors)).collect();
                found.samples.push(TraceSample { chain, elements, share: rest as f64, constant: self.constant() });
                continue;
            }
            let amplitudes = if actions.is_empty() { Vec::new() } else { self.amplitudes(&start) };
            let images: Vec<Vec<f64>> =
                actions.iter().map(|action| self.real_vector(&action.applied(&amplitudes))).collect();
            let images: Vec<&[f64]> = images.iter().map(Vec::as_slice).collect();
            let chain = krylov_chain(&hamiltonian, &start, &images, options.steps, |_| false)?;
            found.samples.push(TraceSample {
                chain,
                elements: Vec::new(),
                share: rest as f64,
                constant: self.constant(),
            });
        }
        Ok(found)
    }

    /// The directions of a state among real vectors: of a complex H also that of i times the state.
    pub(super) fn directions(&self, state: &[Complex64]) -> Vec<Vec<f64>> {
        let own = self.real_vector(state);
        match self.is_complex() {
            true => {
                let turned: Vec<Complex64> = state.iter().map(|a| Complex64::I * a).collect();
                vec![own, self.real_vector(&turned)]
            }
            false => vec![own],
        }
    }

    /// A random vector of length 1 without the directions that are taken.
    pub(super) fn random_start(&self, seed: u64, taken: &[Vec<f64>]) -> Vec<f64> {
        let mut vector = normal(seed, self.dimension() as usize);
        // The second time takes out what rounding has left.
        for direction in taken.iter().chain(taken) {
            let overlap = dot(direction, &vector);
            vector.par_iter_mut().zip(direction).with_min_len(1 << 14).for_each(|(v, own)| *v -= overlap * own);
        }
        let length = dot(&vector, &vector).sqrt();
        vector.par_iter_mut().with_min_len(1 << 14).for_each(|v| *v /= length);
        vector
    }
}

/// Re (⟨v_a|A|v_b⟩ + ⟨v_b|A|v_a⟩) / 2, which is all that the average in a state of real coefficients has of A.
fn elements_of(action: &Action<'_>, vectors: &[Vec<Complex64>]) -> Vec<f64> {
    let images: Vec<Vec<Complex64>> = vectors.iter().map(|vector| action.applied(vector)).collect();
    let row = |own: &Vec<Complex64>| images.iter().map(|image| inner(own, image)).collect::<Vec<f64>>();
    let (all, elements): (usize, Vec<f64>) = (vectors.len(), vectors.par_iter().flat_map_iter(row).collect());
    let pairs = (0..all).flat_map(|a| (0..all).map(move |b| (a, b)));
    pairs.map(|(a, b)| 0.5 * (elements[a * all + b] + elements[b * all + a])).collect()
}

/// Σ a b, in parts of the same length whatever the threads.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let parts = a.par_chunks(1 << 14).zip(b.par_chunks(1 << 14));
    let sums: Vec<f64> = parts.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
    sums.iter().sum()
}
