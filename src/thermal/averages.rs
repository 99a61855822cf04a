//! Thermal averages from traces, with their errors.
//!
//! In: lines of every sector, temperatures. Out: a value and a standard error of each quantity at each temperature.
//!
//! Sample r of every sector together is one sample of all traces. An average is a ratio of means over samples; its error is that of the
//! jackknife, √((R − 1)/R Σ_r (θ_r − θ̄)²) with θ_r the ratio without sample r (B. Efron, Ann. Stat. 7, 1 (1979)). Energies are counted from the
//! lowest, so that no exponential overflows.

use super::sectors::Member;
use crate::exact::{SectorTrace, TraceLine};
use eigenforge_runtime::SolveError;
use rayon::prelude::*;

/// The lines of a sector.
#[derive(Clone, Debug)]
pub(super) struct SectorLines {
    pub members: Vec<Member>,
    pub exact: Vec<TraceLine>,
    /// Those of each sample.
    pub samples: Vec<Vec<TraceLine>>,
}

impl SectorLines {
    /// Those of a trace; with the first half of the steps of chains that have not ended by themselves where `half`.
    ///
    /// # Errors
    /// The eigensolver's.
    pub(super) fn new(members: &[Member], found: &SectorTrace, half: bool) -> Result<SectorLines, SolveError> {
        let lines = |sample: &crate::exact::TraceSample| {
            let halves = half && !sample.is_closed();
            sample.lines(if halves { sample.steps().div_ceil(2) } else { sample.steps() })
        };
        let samples = found.samples.par_iter().map(lines).collect::<Result<_, _>>()?;
        Ok(SectorLines { members: members.to_vec(), exact: found.exact.clone(), samples })
    }

    /// The lowest energy, less µN; of what has no weight to speak of none.
    pub(super) fn lowest(&self, mu: f64) -> f64 {
        let number = self.members.first().map_or(0, |member| member.number);
        let lines = self.exact.iter().chain(self.samples.iter().flatten()).filter(|line| line.weight > NO_WEIGHT);
        lines.map(|line| line.energy - mu * number as f64).fold(f64::INFINITY, f64::min)
    }
}

/// What quantities are counted from, so that differences lose no digits: the lowest K, with M and N of a state that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub k: f64,
    pub member: Member,
}

impl Origin {
    /// Of all sectors.
    pub(super) fn new(sectors: &[SectorLines], mu: f64) -> Origin {
        let lowest = sectors.iter().min_by(|a, b| a.lowest(mu).total_cmp(&b.lowest(mu)));
        let member = lowest.and_then(|sector| sector.members.first()).copied();
        let k = lowest.map_or(0.0, |sector| sector.lowest(mu));
        Origin { k, member: member.unwrap_or(Member { two_sz: 0, number: 0 }) }
    }
}

/// Parts of a trace below it are rounding.
pub(super) const NO_WEIGHT: f64 = 1e-10;

/// What the averages are of.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    /// Of the grand ensemble.
    pub mu: Option<f64>,
    /// Whether χ is there.
    pub susceptibility: bool,
    /// Names of the operators.
    pub operators: &'a [String],
    pub temperatures: &'a [f64],
}

/// A quantity at all temperatures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    pub name: String,
    pub values: Vec<f64>,
    pub errors: Vec<f64>,
}

/// Traces of 1, K, K², M, M², N, N², and of each operator behind them, counted from the origin; K in parts of T.
type Traces = Vec<f64>;

const OPERATORS: usize = 7;

impl Wanted<'_> {
    /// The names of the quantities.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<&str> = vec!["ln_z", "energy", "heat_capacity", "entropy"];
        names.extend(self.susceptibility.then_some("susceptibility"));
        names.extend(self.mu.iter().flat_map(|_| ["grand_energy", "particles", "dn_dmu"]));
        names.into_iter().map(str::to_string).chain(self.operators.iter().cloned()).collect()
    }

    /// All quantities.
    pub(super) fn quantities(&self, sectors: &[SectorLines], origin: Origin) -> Vec<Quantity> {
        let of_temperature = |temperature: &f64| self.estimates(sectors, origin, *temperature);
        let by_temperature: Vec<Vec<[f64; 2]>> = self.temperatures.par_iter().map(of_temperature).collect();
        let part = |place: usize, part: usize| by_temperature.iter().map(|own| own[place][part]).collect();
        let quantity = |(place, name)| Quantity { name, values: part(place, 0), errors: part(place, 1) };
        self.names().into_iter().enumerate().map(quantity).collect()
    }

    /// Value and error of each quantity.
    fn estimates(&self, sectors: &[SectorLines], origin: Origin, temperature: f64) -> Vec<[f64; 2]> {
        let samples = sectors.iter().map(|sector| sector.samples.len()).max().unwrap_or(0);
        let mut exact = self.nothing();
        let mut sampled = vec![self.nothing(); samples];
        for sector in sectors {
            self.add(&mut exact, sector, &sector.exact, origin, temperature);
            for (sums, lines) in sampled.iter_mut().zip(&sector.samples) {
                self.add(sums, sector, lines, origin, temperature);
            }
        }
        let mut all = self.nothing();
        sampled.iter().for_each(|own| all.iter_mut().zip(own).for_each(|(sum, own)| *sum += own));
        let mean = |count: f64, left_out: Option<&Traces>| -> Traces {
            let rest = |place: usize| all[place] - left_out.map_or(0.0, |own| own[place]);
            exact
                .iter()
                .enumerate()
                .map(|(place, exact)| exact + if count > 0.0 { rest(place) / count } else { 0.0 })
                .collect()
        };
        let count = samples as f64;
        let values = self.ratios(&mean(count, None), origin, temperature);
        if samples < 2 {
            return values.into_iter().map(|value| [value, 0.0]).collect();
        }
        let without: Vec<Vec<f64>> =
            sampled.iter().map(|own| self.ratios(&mean(count - 1.0, Some(own)), origin, temperature)).collect();
        let error = |place: usize| {
            let middle = without.iter().map(|own| own[place]).sum::<f64>() / count;
            let spread: f64 = without.iter().map(|own| (own[place] - middle).powi(2)).sum();
            ((count - 1.0) / count * spread).sqrt()
        };
        values.into_iter().enumerate().map(|(place, value)| [value, error(place)]).collect()
    }

    fn nothing(&self) -> Traces {
        vec![0.0; OPERATORS + self.operators.len()]
    }

    fn add(&self, sums: &mut Traces, sector: &SectorLines, lines: &[TraceLine], origin: Origin, temperature: f64) {
        let mu = self.mu.unwrap_or(0.0);
        for line in lines {
            // All members have the same numbers of particles, or µ is 0.
            let number = sector.members.first().map_or(0, |member| member.number) as f64;
            // What is below the lowest has no weight but that of rounding.
            let k = ((line.energy - mu * number - origin.k) / temperature).max(0.0);
            let factor = (-k).exp();
            if factor == 0.0 {
                continue;
            }
            let weight = factor * line.weight;
            let members = sector.members.len() as f64;
            sums[0] += members * weight;
            sums[1] += members * weight * k;
            sums[2] += members * weight * k * k;
            for member in &sector.members {
                let from = origin.member;
                let (m, n) = (0.5 * (member.two_sz - from.two_sz) as f64, (member.number - from.number) as f64);
                [(3, m), (4, m * m), (5, n), (6, n * n)]
                    .into_iter()
                    .for_each(|(place, own)| sums[place] += weight * own);
            }
            let operators = sums[OPERATORS..].iter_mut().zip(&line.values);
            operators.for_each(|(sum, value)| *sum += members * factor * value);
        }
    }

    /// The quantities of traces, in the order of their names.
    fn ratios(&self, traces: &Traces, origin: Origin, temperature: f64) -> Vec<f64> {
        let z = traces[0];
        let mean = |place: usize| traces[place] / z;
        let variance = |first: usize| (mean(first + 1) - mean(first).powi(2)).max(0.0);
        let (grand, number) = (temperature * mean(1) + origin.k, mean(5) + origin.member.number as f64);
        let energy = grand + self.mu.unwrap_or(0.0) * number;
        let mut found = vec![z.ln() - origin.k / temperature, energy, variance(1), mean(1) + z.ln()];
        found.extend(self.susceptibility.then(|| variance(3) / temperature));
        if self.mu.is_some() {
            found.extend([grand, number, variance(5) / temperature]);
        }
        found.extend((0..self.operators.len()).map(|place| mean(OPERATORS + place)));
        found
    }
}

impl Wanted<'_> {
    /// Of a quantity: what its values are counted from where they are compared, and a difference that means nothing; `sizes` are the sums of the
    /// coefficients of the operators.
    pub(super) fn scale(&self, name: &str, origin: Origin, sizes: &[f64]) -> [f64; 2] {
        let warmest = self.temperatures.last().copied().unwrap_or(1.0);
        let number = origin.member.number as f64;
        match name {
            "energy" => [origin.k + self.mu.unwrap_or(0.0) * number, NOTHING * warmest],
            "grand_energy" => [origin.k, NOTHING * warmest],
            "susceptibility" | "dn_dmu" => [0.0, NOTHING / warmest],
            "ln_z" | "heat_capacity" | "entropy" | "particles" => [0.0, NOTHING],
            own => {
                let place = self.operators.iter().position(|name| name == own);
                [0.0, NOTHING * place.map_or(1.0, |place| sizes[place])]
            }
        }
    }
}

/// Differences below it, in natural units, mean nothing.
const NOTHING: f64 = 1e-6;

/// How much a quantity changes at most from one estimate to another, in parts of its largest value.
pub(super) fn change(first: &Quantity, second: &Quantity, [from, least]: [f64; 2]) -> f64 {
    let largest = second.values.iter().map(|value| (value - from).abs()).fold(least, f64::max);
    let apart = first.values.iter().zip(&second.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    if apart == 0.0 || !largest.is_finite() { 0.0 } else { apart / largest }
}
