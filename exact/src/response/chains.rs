//! Lanczos chains, or series of moments, of what an operator makes of a level, and what is read off them.
//!
//! A chain gives G as a continued fraction, G = w / (z − α₀ − β₀² / (z − α₁ − …)) with w = ‖A|a⟩‖² (R. Haydock, V. Heine and M. J. Kelly,
//! J. Phys. C 5, 2845 (1972)); its first moments are exact.

use super::super::model::Model;
use super::super::solve::RunError;
use super::excited::LevelStates;
use super::series::ResponseSeries;
use crate::PrepareError;
use crate::way::{Request, SPARE};
use eigenforge_core::operator::{Operator, build};
use eigenforge_core::words::grouped;
use eigenforge_product::Hamiltonian;
use eigenforge_runtime::solvers::{Damping, KrylovChain, krylov_chain};
use eigenforge_runtime::{Device, LinearOperator, Memory, SolveError, trace};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Steps between two looks at the curve.
const LOOK: usize = 10;
/// A curve that changes by so little of its largest value has converged.
const UNCHANGED: f64 = 1e-10;
/// States of sectors in which chains are followed to their end: some minutes of two cores.
const MOST_EXACT: u64 = 2048;
/// Bytes of a state of a sector that is reached: its amplitude, and both parts of it in a start.
const HOST_BYTES: u64 = 32;
/// Vectors of a chain on a device that keeps a table beside them: three of the recurrence and a few more.
pub(crate) const CHAIN_VECTORS: u64 = 6;
/// Poles this close, in parts of the width of the chains' spectrum, are one: copies of a converged one, or the same from two chains.
const SAME_POLE: f64 = 1e-10;
/// Weights below this part of all are left out of the list.
const LEAST_WEIGHT: f64 = 1e-11;
/// ‖A|a⟩‖² below this part of the sum of A's squared coefficients is what the error of the level leaves.
const NOTHING: f64 = 1e-16;
/// ‖v‖² of the imaginary part below this part of all is rounding.
const ROUNDING: f64 = 1e-28;

/// How far chains are followed.
#[derive(Clone, Debug)]
pub struct ChainOptions {
    /// Steps at most; `usize::MAX` for chains to their end, in sectors of at most 2,048 states.
    pub steps: usize,
    /// The energies at which the curve is looked at, counted from that of the level; without any, chains end by themselves or after all steps.
    pub omega: Vec<f64>,
    /// The half width of a pole.
    pub eta: f64,
    /// Moments that are damped so, in place of chains.
    pub damping: Option<Damping>,
}

impl ChainOptions {
    /// Refuses chains to their end in a sector that is too large.
    fn check_size(&self, states: u64) -> Result<(), SolveError> {
        if self.steps < usize::MAX || states <= MOST_EXACT {
            return Ok(());
        }
        let value = format!("exact, in a sector of {states} states");
        Err(SolveError::Option { name: "method", value, expected: "lanczos, or sectors of at most 2048 states" })
    }
}

/// A chain of one vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResponseChain {
    /// The chain.
    pub chain: KrylovChain,
    /// Whether it ended by itself, or because its curve no longer changed.
    pub settled: bool,
    /// What its weight counts: 1 / g.
    pub(super) share: f64,
    /// What its eigenvalues are counted from.
    zero: f64,
}

/// A sector that was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachedSector {
    /// Its charges, and the momentum where there is one.
    pub name: String,
    /// Its states.
    pub states: u64,
}

/// What an operator makes of a level.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Response {
    /// The chains of all states, sectors and parts.
    pub chains: Vec<ResponseChain>,
    /// The series of moments in their place.
    pub series: Vec<ResponseSeries>,
    /// The sectors that they are in; none where the operator leads nowhere.
    pub sectors: Vec<ReachedSector>,
}

/// What an operator makes of a level: the starts of chains in every sector that is reached, on the host.
#[derive(Debug)]
pub struct ResponseStarts(Vec<SectorStarts>);

#[derive(Debug)]
struct SectorStarts {
    /// The model whose vectors they are.
    solved: Model,
    sector: ReachedSector,
    starts: Vec<Vec<f64>>,
}

impl LevelStates {
    /// The response of the level to an operator; `momentum` is that of what the operator makes, where the model is in a sector of one. The parts
    /// of A|a⟩ along the states in `left_out` are taken out.
    ///
    /// # Errors
    /// An operator that the sites do not have; sectors that are too large; the device's.
    pub fn response(
        &self,
        operator: &Operator,
        momentum: Option<&[i64]>,
        left_out: &[&LevelStates],
        options: &ChainOptions,
        device: &Device,
    ) -> Result<Response, RunError> {
        self.followed(&self.starts(operator, momentum, left_out, options)?, options, device)
    }

    /// The part of [`LevelStates::response`] that the cores have: what the operator makes of the states.
    ///
    /// # Errors
    /// An operator that the sites do not have; sectors that are too large.
    pub fn starts(
        &self,
        operator: &Operator,
        momentum: Option<&[i64]>,
        left_out: &[&LevelStates],
        options: &ChainOptions,
    ) -> Result<ResponseStarts, RunError> {
        let mut sectors = Vec::new();
        let size: f64 = operator.terms().map(|(_, coefficient)| coefficient * coefficient).sum();
        for target in self.model.response_targets(operator, momentum)? {
            let (solved, states) = (target.model.in_own_conjugates(), target.model.states());
            options.check_size(states)?;
            let host = HOST_BYTES.saturating_mul(states);
            Device::cpu()
                .check_memory("what an operator makes of a state, and the start of its chain, on the host", host)?;
            let mut starts = Vec::new();
            for state in 0..self.states.len() {
                let mut vector = self.excited_in(state, &target.operator, solved)?;
                for level in left_out {
                    level.take_out(&mut vector, solved)?;
                }
                if norm2(&vector) > NOTHING * size {
                    starts.extend(real_starts(solved, vector));
                }
            }
            let sector = ReachedSector { name: target.model.sector_text(), states };
            sectors.push(SectorStarts { solved: solved.clone(), sector, starts });
        }
        Ok(ResponseStarts(sectors))
    }

    /// The part of [`LevelStates::response`] that the device has: the chains of what the operator made.
    ///
    /// # Errors
    /// The device's.
    pub fn followed(
        &self,
        starts: &ResponseStarts,
        options: &ChainOptions,
        device: &Device,
    ) -> Result<Response, RunError> {
        let mut response = Response::default();
        for SectorStarts { solved, sector, starts } in &starts.0 {
            let _sector = trace::span("response", "a sector");
            response.sectors.push(sector.clone());
            if starts.is_empty() {
                continue;
            }
            let hamiltonian = solved.on_device(device, ScalarType::F64, CHAIN_VECTORS)?;
            let zero = self.energy_without_constant + (self.constant - solved.constant());
            let share = 1.0 / self.states.len() as f64;
            for start in starts {
                let _chain = trace::span("response", "chain");
                response.follow(&hamiltonian, start, (share, zero), options)?;
            }
        }
        Ok(response)
    }

    /// Takes the level's own states out of a vector of the same sector, or of one that has it; leaves one of another sector as it is.
    fn take_out(&self, vector: &mut [Complex64], model: &Model) -> Result<(), RunError> {
        let has_own = match (self.model.symmetry_group(), model.symmetry_group()) {
            (Some((own, _)), Some((group, _))) => own.has_sector_in(group),
            (Some(_), None) => true,
            (None, group) => group.is_none(),
        };
        if !has_own || model.sector().charge_values() != self.model.sector().charge_values() {
            return Ok(());
        }
        for state in 0..self.states.len() {
            let own = self.excited_in(state, &build::scalar(1.0), model)?;
            let parts = own.par_chunks(PART).zip(vector.par_chunks(PART));
            let each: Vec<Complex64> =
                parts.map(|(own, v)| own.iter().zip(v).map(|(a, b)| a.conj() * b).sum()).collect();
            let overlap: Complex64 = each.iter().sum();
            vector.par_iter_mut().with_min_len(PART).zip(&own).for_each(|(v, own)| *v -= overlap * own);
        }
        Ok(())
    }
}

/// Elements that a thread takes at a time.
const PART: usize = 1 << 14;

fn norm2(vector: &[Complex64]) -> f64 {
    vector.par_iter().with_min_len(PART).map(Complex64::norm_sqr).sum()
}

/// A complex vector as those on which a real matrix acts: of a complex H its two parts in one, else each by itself, in the phase that makes
/// the imaginary one least.
fn real_starts(model: &Model, mut vector: Vec<Complex64>) -> Vec<Vec<f64>> {
    if model.is_complex() {
        let (re, im) = (vector.par_iter().map(|v| v.re), vector.par_iter().map(|v| v.im));
        return vec![re.chain(im).collect()];
    }
    let squares: Vec<Complex64> = vector.par_chunks(PART).map(|part| part.iter().map(|v| v * v).sum()).collect();
    let turn = Complex64::from_polar(1.0, -0.5 * squares.iter().sum::<Complex64>().arg());
    vector.par_iter_mut().with_min_len(PART).for_each(|v| *v *= turn);
    let least = ROUNDING * norm2(&vector);
    let part = |part: fn(&Complex64) -> f64| vector.par_iter().with_min_len(PART).map(part).collect::<Vec<f64>>();
    let length2 = |part: &[f64]| -> f64 {
        let sums: Vec<f64> = part.par_chunks(PART).map(|own| own.iter().map(|x| x * x).sum()).collect();
        sums.iter().sum()
    };
    [part(|v| v.re), part(|v| v.im)].into_iter().filter(|part| length2(part) > least).collect()
}

impl Model {
    /// H of the sector on a device for vectors of a type, in the order of its basis, with a table of partners where there is room beside so many
    /// of them. It leaves [`Model::constant`] out.
    ///
    /// # Errors
    /// The device's: too little memory, kernels that do not compile.
    pub fn on_device(
        &self,
        device: &Device,
        scalar: ScalarType,
        vectors: u64,
    ) -> Result<Hamiltonian<'static>, RunError> {
        self.placed(device, (scalar, vectors), 0.0)
    }

    /// The same with [`Model::constant`] in the diagonal.
    ///
    /// # Errors
    /// As of [`Model::on_device`].
    pub fn whole_on_device(
        &self,
        device: &Device,
        scalar: ScalarType,
        vectors: u64,
    ) -> Result<Hamiltonian<'static>, RunError> {
        self.placed(device, (scalar, vectors), self.constant())
    }

    fn placed(
        &self,
        device: &Device,
        (scalar, vectors): (ScalarType, u64),
        constant: f64,
    ) -> Result<Hamiltonian<'static>, RunError> {
        let room = (self.kept_bytes(scalar, device) > 0).then(|| {
            let Memory { free, total } = device.memory();
            let vectors = vectors.saturating_mul(self.dimension().saturating_mul(scalar.bytes() as u64));
            let tables = self.table_bytes_on(scalar, device);
            free.saturating_sub(vectors).saturating_sub(tables).saturating_sub(total / SPARE)
        });
        let plan =
            self.planned(&Request { scalar, constant, arguments: self.shared(), room }).map_err(PrepareError::from)?;
        Ok(self.hamiltonian(plan, device)?)
    }
}

/// A chain until its curve no longer changes, and whether that ended it.
fn followed(
    hamiltonian: &dyn LinearOperator<f64>,
    start: &[f64],
    zero: f64,
    options: &ChainOptions,
) -> Result<(KrylovChain, bool), SolveError> {
    let (mut last, mut quiet) = (Vec::new(), 0);
    let chain = krylov_chain(hamiltonian, start, &[], options.steps, |chain| {
        if !chain.alpha.len().is_multiple_of(LOOK) {
            return false;
        }
        let curve: Vec<Complex64> = options.omega.iter().map(|omega| unit(chain, omega + zero, options.eta)).collect();
        let change = curve.iter().zip(&last).map(|(a, b): (&Complex64, &Complex64)| (a - b).norm()).fold(0.0, f64::max);
        let largest = curve.iter().map(|g| g.norm()).fold(0.0, f64::max);
        let is_same = !curve.is_empty() && last.len() == curve.len() && change <= UNCHANGED * largest;
        (quiet, last) = (if is_same { quiet + 1 } else { 0 }, curve);
        quiet >= 2
    })?;
    Ok((chain, quiet >= 2))
}

/// ⟨v₀| (z − T)⁻¹ |v₀⟩ at z = energy + iη.
fn unit(chain: &KrylovChain, energy: f64, eta: f64) -> Complex64 {
    let z = Complex64::new(energy, eta);
    let steps = chain.alpha.iter().zip(&chain.beta).rev();
    steps.enumerate().fold(Complex64::ZERO, |tail, (place, (alpha, beta))| {
        // The last β leads out of the chain.
        let beta = if place == 0 { 0.0 } else { *beta };
        (z - alpha - beta * beta * tail).inv()
    })
}

impl ResponseChain {
    fn resolvent(&self, omega: f64, eta: f64) -> Complex64 {
        self.share * self.chain.weight * unit(&self.chain, omega + self.zero, eta)
    }

    /// Its part of Σ_n |⟨n|A|a⟩|² / (E_n − E). Poles whose weight is rounding may be the level itself.
    fn static_sum(&self) -> Result<f64, SolveError> {
        let least = f64::EPSILON * self.chain.weight;
        let poles = self.chain.poles()?.into_iter().filter(|[_, weight]| *weight > least);
        Ok(poles.map(|[value, weight]| self.share * weight / (value - self.zero)).sum())
    }

    /// Its first half.
    fn first_half(&self) -> ResponseChain {
        ResponseChain { chain: self.chain.shortened(self.chain.alpha.len().div_ceil(2)), ..*self }
    }
}

impl Response {
    /// Adds the chain or series of a vector under a real H; its weight counts as `share`, and ω from `zero`.
    ///
    /// # Errors
    /// As of [`krylov_chain`]; chains to their end in a sector of more than 2,048 states.
    pub fn follow(
        &mut self,
        hamiltonian: &dyn LinearOperator<f64>,
        start: &[f64],
        (share, zero): (f64, f64),
        options: &ChainOptions,
    ) -> Result<(), SolveError> {
        options.check_size(if hamiltonian.is_complex() { start.len() / 2 } else { start.len() } as u64)?;
        if let Some(damping) = options.damping {
            self.series.push(ResponseSeries::new(hamiltonian, start, (share, zero), damping, options)?);
            return Ok(());
        }
        let (chain, ended) = followed(hamiltonian, start, zero, options)?;
        let settled = ended || chain.closed;
        self.chains.push(ResponseChain { chain, settled, share, zero });
        Ok(())
    }

    /// Adds that of other states of the level, as so much of all.
    pub fn add(&mut self, other: Response, part: f64) {
        let scaled = |chain: ResponseChain| ResponseChain { share: part * chain.share, ..chain };
        self.chains.extend(other.chains.into_iter().map(scaled));
        let scaled = |series: ResponseSeries| ResponseSeries { share: part * series.share, ..series };
        self.series.extend(other.series.into_iter().map(scaled));
        for sector in other.sectors {
            if !self.sectors.contains(&sector) {
                self.sectors.push(sector);
            }
        }
    }

    /// G(ω) with the half width η, by chains.
    pub fn resolvent(&self, omega: f64, eta: f64) -> Complex64 {
        self.chains.iter().map(|chain| chain.resolvent(omega, eta)).sum()
    }

    /// Σ_n |⟨n|A|a⟩|² / (E_n − E) by all steps and by the first half, for a level below all that A reaches.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn static_sums(&self) -> Result<[f64; 2], SolveError> {
        let whole = self.chains.iter().map(ResponseChain::static_sum).sum::<Result<f64, _>>()?;
        if self.is_closed() {
            return Ok([whole; 2]);
        }
        let half = self.chains.iter().map(|chain| chain.first_half().static_sum()).sum::<Result<f64, _>>()?;
        Ok([whole, half])
    }

    /// S(ω) = −Im G / π, of series by their kernel.
    pub fn curve(&self, omega: &[f64], eta: f64) -> Vec<f64> {
        let series = |omega: f64| self.series.iter().map(|series| series.density(omega)).sum::<f64>();
        let of_chains = |omega: f64| -self.resolvent(omega, eta).im / std::f64::consts::PI;
        omega.par_iter().map(|omega| of_chains(*omega) + series(*omega)).collect()
    }

    /// The largest width of a pole of a series at the centre of its spectrum; `None` of chains.
    pub fn resolution(&self) -> Option<f64> {
        self.series.iter().map(ResponseSeries::resolution).reduce(f64::max)
    }

    /// The largest change of the curve from the first half of the steps to all of them, in parts of its largest value.
    pub fn change(&self, omega: &[f64], eta: f64) -> f64 {
        // The curve of a series is that of its kernel.
        if self.chains.is_empty() {
            return 0.0;
        }
        let half = Response { chains: self.chains.iter().map(ResponseChain::first_half).collect(), ..self.clone() };
        let (whole, half) = (self.curve(omega, eta), half.curve(omega, eta));
        let largest = whole.iter().copied().fold(0.0, f64::max);
        let change = whole.iter().zip(&half).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        match self.is_closed() || largest == 0.0 {
            true => 0.0,
            // A step alone has no half.
            false if self.steps() < 2 => 1.0,
            false => change / largest,
        }
    }

    /// Whether every chain ended by itself, or because its curve no longer changed, and every series makes poles as narrow as was asked for.
    pub fn is_settled(&self) -> bool {
        self.chains.iter().all(|chain| chain.settled) && self.series.iter().all(ResponseSeries::is_settled)
    }

    /// Whether every chain ended by itself, so that poles and curve are exact.
    pub fn is_closed(&self) -> bool {
        self.series.is_empty() && self.chains.iter().all(|chain| chain.chain.closed)
    }

    /// Steps of the longest chain, or multiplies of the longest series.
    pub fn steps(&self) -> usize {
        let chains = self.chains.iter().map(|chain| chain.chain.alpha.len());
        chains.chain(self.series.iter().map(|series| series.moments.multiplies)).max().unwrap_or(0)
    }

    /// ∫ S dω, ∫ ω S dω and ∫ ω² S dω.
    pub fn moments(&self) -> [f64; 3] {
        let of_chain = |ResponseChain { chain, share, zero, .. }: &ResponseChain| {
            let Some(alpha) = chain.alpha.first() else { return [0.0; 3] };
            let (weight, first) = (share * chain.weight, alpha - zero);
            // Behind the last step of a closed chain β is rounding.
            let beta = if chain.closed && chain.alpha.len() == 1 { 0.0 } else { chain.beta[0] };
            [weight, weight * first, weight * (first * first + beta * beta)]
        };
        let all = self.chains.iter().map(of_chain).chain(self.series.iter().map(ResponseSeries::powers));
        all.fold([0.0; 3], |sum, own| [0, 1, 2].map(|power| sum[power] + own[power]))
    }

    /// (ω, weight) of the poles, ascending; equal ones joined, those without weight left out. Of chains that have not ended the outer ones have
    /// converged, and the others stand for many.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn poles(&self) -> Result<Vec<[f64; 2]>, SolveError> {
        let mut all: Vec<[f64; 2]> = Vec::new();
        for ResponseChain { chain, share, zero, .. } in &self.chains {
            all.extend(chain.poles()?.into_iter().map(|[value, weight]| [value - zero, share * weight]));
        }
        all.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let width = all.last().map_or(0.0, |last| last[0]) - all.first().map_or(0.0, |first| first[0]);
        let rounding = self.chains.iter().map(|chain| 16.0 * f64::EPSILON * chain.zero.abs()).fold(0.0, f64::max);
        let same = (SAME_POLE * width).max(rounding);
        let mut joined: Vec<[f64; 2]> = Vec::new();
        for [omega, weight] in all {
            match joined.last_mut().filter(|last| omega - last[0] <= same) {
                Some(last) => {
                    let sum = last[1] + weight;
                    if sum > 0.0 {
                        last[0] += (omega - last[0]) * weight / sum;
                    }
                    last[1] = sum;
                }
                None => joined.push([omega, weight]),
            }
        }
        let total: f64 = joined.iter().map(|pole| pole[1]).sum();
        joined.retain(|pole| pole[1] > LEAST_WEIGHT * total);
        Ok(joined)
    }
}

impl std::fmt::Display for ReachedSector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} states)", self.name, grouped(self.states.into()))
    }
}
