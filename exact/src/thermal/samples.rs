//! Chains of random vectors, and the traces that they give.
//!
//! Of a random vector |r⟩ there are two estimates of Tr e^(−H/T) A: ⟨r| e^(−H/T) A |r⟩ (finite-temperature Lanczos), and ⟨r| e^(−H/2T) A e^(−H/2T) |r⟩,
//! the average in a canonical thermal pure quantum state (S. Sugiura and A. Shimizu, Phys. Rev. Lett. 111, 010401 (2013)). Both have the same
//! Tr e^(−H/T) f(H). In the Ritz states |i⟩ of a chain the second is Σ_ij e^(−(ε_i + ε_j)/2T) ⟨r|i⟩ ⟨i|A|j⟩ ⟨j|r⟩: lines at (ε_i + ε_j)/2.

use super::super::model::Model;
use super::super::response::{Action, CHAIN_VECTORS, LevelStates};
use super::super::solve::RunError;
use super::random::seed_of;
use super::real_states::{RealStates, dot};
use eigenforge_core::operator::Operator;
use eigenforge_runtime::solvers::{KrylovChain, krylov_chain, krylov_vectors};
use eigenforge_runtime::{Device, SolveError, overlapped, trace};
use eigenforge_templates::ScalarType;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Bytes of an element of a vector on the host: the start and the next one, its amplitudes, and those of an image.
const HOST_BYTES: u64 = 56;
/// Those of each operator's images, also of the next start.
const IMAGE_BYTES: u64 = 16;

/// Elements of vectors up to which each core follows a chain of its own: more stay in no cache.
const MOST_AT_ONCE: u64 = 1 << 16;

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
        let states = RealStates::new(self);
        let dimension = states.model.dimension();
        let host = (HOST_BYTES + IMAGE_BYTES * observables.len() as u64).saturating_mul(dimension);
        Device::cpu().check_memory("a random vector and what operators make of it, on the host", host)?;
        let parts: Vec<Operator> = observables.iter().map(|operator| self.part_within(operator)).collect();
        let actions = states.actions(&parts)?;
        let exact = self.known_lines(levels, &parts)?;
        let known: usize = levels.iter().map(|level| level.states.len()).sum();
        let rest = self.states().saturating_sub(known as u64);
        let mut found = SectorTrace { states: self.states(), exact, samples: Vec::new() };
        if rest == 0 {
            return Ok(found);
        }
        let taken = states.directions(levels)?;
        let hamiltonian = states.model.on_device(device, ScalarType::F64, CHAIN_VECTORS + actions.len() as u64)?;
        let name = self.sector_text();
        let at_once = !device.runs_kernels() && dimension <= MOST_AT_ONCE;
        let keeps = options.pure_states && !actions.is_empty();
        if keeps {
            let chains = if at_once { options.samples.min(rayon::current_num_threads()) } else { 1 };
            let bytes = 40u64.saturating_mul((chains * options.steps) as u64).saturating_mul(dimension);
            let what = "Krylov vectors and what an operator makes of them, on the host";
            Device::cpu().check_memory(what, bytes)?;
        }
        // The start of a chain, and what operators make of it.
        let start = |sample: usize| {
            let start = states.random(seed_of(options.seed, &name, sample), &taken);
            let amplitudes = if keeps || actions.is_empty() { Vec::new() } else { states.amplitudes(&start) };
            let image = |action| states.image(action, &amplitudes);
            let images: Vec<Vec<f64>> = if keeps { Vec::new() } else { actions.iter().map(image).collect() };
            (start, images)
        };
        let followed = |(start, images): (Vec<f64>, Vec<Vec<f64>>)| -> Result<TraceSample, SolveError> {
            let _chain = trace::span("thermal", "chain");
            let (chain, elements) = if keeps {
                let (chain, vectors) = krylov_vectors(&hamiltonian, &start, options.steps)?;
                (chain, actions.iter().map(|action| elements_of(action, states, &vectors)).collect())
            } else {
                let images: Vec<&[f64]> = images.iter().map(Vec::as_slice).collect();
                (krylov_chain(&hamiltonian, &start, &images, options.steps, |_| false)?, Vec::new())
            };
            Ok(TraceSample { chain, elements, share: rest as f64, constant: self.constant() })
        };
        if at_once {
            let samples = (0..options.samples).into_par_iter().map(|sample| followed(start(sample)));
            found.samples = samples.collect::<Result<_, _>>()?;
            return Ok(found);
        }
        let mut ahead = None;
        for sample in 0..options.samples {
            let own = ahead.take().unwrap_or_else(|| start(sample));
            // While a card follows a chain, the cores make the start of the next.
            let has_next = device.runs_kernels() && sample + 1 < options.samples;
            let (made, next) = overlapped(|| followed(own), has_next.then_some(|| Some(start(sample + 1))));
            ahead = next;
            found.samples.push(made?);
        }
        Ok(found)
    }
}

/// Re (⟨v_a|A|v_b⟩ + ⟨v_b|A|v_a⟩) / 2, which is all that the average in a state of real coefficients has of A.
fn elements_of(action: &Action<'_>, states: RealStates<'_>, vectors: &[Vec<f64>]) -> Vec<f64> {
    let image = |vector: &Vec<f64>| states.image(action, &states.amplitudes(vector));
    let images: Vec<Vec<f64>> = vectors.iter().map(image).collect();
    let row = |own: &Vec<f64>| images.iter().map(|image| dot(own, image)).collect::<Vec<f64>>();
    let (all, elements): (usize, Vec<f64>) = (vectors.len(), vectors.iter().flat_map(row).collect());
    let pairs = (0..all).flat_map(|a| (0..all).map(move |b| (a, b)));
    pairs.map(|(a, b)| 0.5 * (elements[a * all + b] + elements[b * all + a])).collect()
}
