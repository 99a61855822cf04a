//! The work on some groups of quadruples: numbers in, coefficients, numbers out, and what to say of them.
//!
//! In: a [`Source`], which groups. Out: their strengths (or elements) with their shares of the [`Summary`]. A group needs nothing
//! of another, so they may be done in pieces that fit into memory, in any order, by any process: the bits are the same.
//!
//! [`Summary`]: super::Summary

use super::channel::ByChannel;
use super::csv::TableError;
use super::device::{self, DeviceTransformError};
use super::plan::{Group, Plan};
use super::source::Source;
use super::summary::Share;
use super::tables::Tables;
use super::{binary, exchange, paper};
use eigenforge_runtime::{Device, trace};
use rayon::prelude::*;
use std::time::Instant;

/// Elements into strengths, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// u → C.
    Forward,
    /// C → u.
    Inverse,
}

impl Direction {
    /// What goes in.
    pub fn input(self) -> binary::Kind {
        if self == Direction::Forward { binary::Kind::Elements } else { binary::Kind::Strengths }
    }

    /// What comes out.
    pub fn output(self) -> binary::Kind {
        if self == Direction::Forward { binary::Kind::Strengths } else { binary::Kind::Elements }
    }
}

impl Direction {
    fn share(self, group: &Group, input: &[f64], output: &[f64]) -> Share {
        match self {
            Direction::Forward => Share::new(group, input, output),
            Direction::Inverse => Share::new(group, output, input),
        }
    }
}

/// How strengths are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// The chain of products.
    Factorised,
    /// The published sum, forward only.
    Paper,
}

impl Algorithm {
    /// The words of a model file and of `--algorithm`.
    pub const WORDS: [(&'static str, Algorithm); 2] =
        [("factorised", Algorithm::Factorised), ("paper", Algorithm::Paper)];
}

/// A transformation.
pub struct Job<'a> {
    /// The space.
    pub plan: &'a Plan,
    /// The input.
    pub source: &'a dyn Source,
    /// Coefficients of the pairs of shells; W⁰ is taken up as needed.
    pub tables: Tables,
    /// Which way.
    pub direction: Direction,
    /// How.
    pub algorithm: Algorithm,
    /// Where the time went.
    pub spent: Spent,
}

/// Wall-clock seconds by stage, and counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Reading or computing the input.
    pub input: f64,
    /// W⁰.
    pub tables: f64,
    /// The transformation.
    pub transform: f64,
    /// Innermost terms of the published sum.
    pub terms: u64,
}

/// A group that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Which.
    pub group: usize,
    /// Its numbers, a vector a channel.
    pub vectors: Vec<Vec<f64>>,
    /// The largest deviation from orthogonality of its W⁰.
    pub defect: f64,
    /// Of each channel.
    pub shares: Vec<Share>,
}

impl Job<'_> {
    /// Does some groups of the plan, on all cores.
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub fn work(&mut self, groups: &[usize]) -> Result<Vec<Finished>, TableError> {
        let of: Vec<&Group> = groups.iter().map(|at| &self.plan.groups[*at]).collect();
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        let inputs: Vec<Vec<Vec<f64>>> =
            of.par_iter().map(|group| self.source.group(group)).collect::<Result<_, _>>()?;
        self.spent.input += lap();
        self.tables.take_up(&of);
        self.spent.tables += lap();
        let done: Vec<(Finished, u64)> = groups
            .par_iter()
            .zip(inputs)
            .map(|(at, input)| {
                let group = &self.plan.groups[*at];
                let (vectors, terms) = self.transform(group, &input);
                let pairs = input.par_iter().zip(&vectors);
                let shares = pairs.map(|(input, output)| self.direction.share(group, input, output)).collect();
                (Finished { group: *at, vectors, defect: self.tables.defect_of(group), shares }, terms)
            })
            .collect();
        self.spent.terms += done.iter().map(|(_, terms)| terms).sum::<u64>();
        self.spent.transform += lap();
        Ok(done.into_iter().map(|(finished, _)| finished).collect())
    }

    /// Every channel; one that equals an earlier one, as nn does pp without Coulomb's force, is copied.
    fn transform(&self, group: &Group, input: &[Vec<f64>]) -> (Vec<Vec<f64>>, u64) {
        let first_like: Vec<usize> =
            (0..input.len()).map(|at| (0..at).find(|other| input[*other] == input[at]).unwrap_or(at)).collect();
        let done: Vec<(Vec<f64>, u64)> = input
            .par_iter()
            .enumerate()
            .map(|(at, numbers)| if first_like[at] == at { self.one(group, numbers) } else { (Vec::new(), 0) })
            .collect();
        let terms = done.iter().map(|(_, terms)| terms).sum();
        (first_like.iter().map(|at| done[*at].0.clone()).collect(), terms)
    }

    fn one(&self, group: &Group, numbers: &[f64]) -> (Vec<f64>, u64) {
        let mut out = vec![0.0; group.length];
        let mut terms = 0;
        match (self.direction, self.algorithm) {
            (Direction::Inverse, _) => exchange::inverse(group, &self.tables, numbers, &mut out),
            (_, Algorithm::Factorised) => exchange::forward(group, &self.tables, numbers, &mut out),
            (_, Algorithm::Paper) => terms = paper::forward_group(group, &self.tables, numbers, &mut out),
        }
        (out, terms)
    }
}

/// Groups of a result that was computed for all of a plan at once, as a device does, with the defect of each group's W⁰.
pub fn of_whole(
    plan: &Plan,
    defects: &[f64],
    direction: Direction,
    input: &ByChannel,
    output: &ByChannel,
) -> Vec<Finished> {
    let of = |(at, group): (usize, &Group)| {
        let part = |vector: &[f64]| vector[group.start..][..group.length].to_vec();
        let vectors: Vec<Vec<f64>> = output.vectors.iter().map(|(_, vector)| part(vector)).collect();
        let pairs = input.vectors.iter().zip(&vectors);
        let shares = pairs.map(|((_, input), output)| direction.share(group, &part(input), output)).collect();
        Finished { group: at, vectors, defect: defects[at], shares }
    };
    plan.groups.par_iter().enumerate().map(of).collect()
}

/// Does some groups of the plan on a device, all at once, as a plan of their own.
///
/// # Errors
///
/// Those of the source; memory that the device does not have, with the numbers.
pub fn on_device(job: &mut Job, groups: &[usize], device: &Device) -> Result<Vec<Finished>, DeviceWorkError> {
    let of: Vec<&Group> = groups.iter().map(|at| &job.plan.groups[*at]).collect();
    let mut clock = Instant::now();
    let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
    let part = device::part_of(job.plan, groups);
    let way = match (job.direction, job.algorithm) {
        (Direction::Inverse, _) => device::Direction::Inverse,
        (Direction::Forward, Algorithm::Factorised) => device::Direction::Forward,
        (Direction::Forward, Algorithm::Paper) => device::Direction::Paper,
    };
    if way == device::Direction::Paper {
        job.tables.take_up(&of);
    }
    let channels = job.source.channels();
    // The compiler keeps one core busy for each file; the others read.
    let (ready, input, reading) = std::thread::scope(|scope| {
        let (part, tables, count) = (&part, &job.tables, channels.len());
        let ready = scope.spawn(move || device::Channels::new(part, tables, count, way, device));
        let (started, input) = (Instant::now(), read(job.source, &of));
        let reading = started.elapsed().as_secs_f64();
        (ready.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), input, reading)
    });
    let (ready, vectors) = (ready?, input?);
    let input = ByChannel { vectors: channels.into_iter().zip(vectors).collect(), left_out: 0 };
    job.spent.input += reading;
    job.spent.tables += (lap() - reading).max(0.0);
    let output = ready.transform(&input)?;
    let mut finished = of_whole(&part, ready.defects(), job.direction, &input, &output);
    finished.iter_mut().for_each(|finished| finished.group = groups[finished.group]);
    job.spent.transform += lap();
    Ok(finished)
}

/// Some groups, one after another in a vector a channel.
fn read(source: &dyn Source, groups: &[&Group]) -> Result<Vec<Vec<f64>>, TableError> {
    let _reading = trace::span("set up", "read the input");
    let parts: Vec<Vec<Vec<f64>>> = groups.par_iter().map(|group| source.group(group)).collect::<Result<_, _>>()?;
    let whole = |at: usize| -> Vec<f64> {
        let mut vector = Vec::with_capacity(groups.iter().map(|group| group.length).sum());
        parts.iter().for_each(|part| vector.extend_from_slice(&part[at]));
        vector
    };
    Ok((0..source.channels().len()).into_par_iter().map(whole).collect())
}

/// Why a device did not do its groups.
#[derive(Debug, thiserror::Error)]
pub enum DeviceWorkError {
    /// The input.
    #[error(transparent)]
    Source(#[from] TableError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceTransformError),
}

/// Numbers W⁰ of a group.
pub fn w0_of(group: &Group) -> u64 {
    let tensors = group.products.iter().flat_map(|product| &product.tensors);
    tensors.map(|block| (block.rows * block.rows) as u64).sum()
}

/// Bytes that a group takes while it is worked on: input, output and intermediate numbers, and W⁰.
pub fn bytes_of(group: &Group, channels: usize) -> u64 {
    8 * (4 * (channels * group.length) as u64 + 2 * group.length as u64 + w0_of(group))
}

/// Groups that are worked on together: consecutive ones of `wanted` up to so many bytes, each group at least by itself.
pub fn pieces(plan: &Plan, wanted: impl Iterator<Item = usize>, channels: usize, bytes: u64) -> Vec<Vec<usize>> {
    let (mut pieces, mut held): (Vec<Vec<usize>>, u64) = (Vec::new(), 0);
    for at in wanted {
        let needed = bytes_of(&plan.groups[at], channels);
        match pieces.last_mut().filter(|_| held + needed <= bytes) {
            Some(piece) => {
                piece.push(at);
                held += needed;
            }
            None => {
                pieces.push(vec![at]);
                held = needed;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::super::space::Space;
    use super::*;

    /// What was done at once is the same, group by group, as what was done in pieces; both ways.
    #[test]
    fn whole_results_are_cut_into_the_same_groups() {
        use super::super::{TableCache, forward, inverse};
        let plan = Plan::new(Space { n_max: 2 });
        let u: Vec<f64> = (0..plan.length).map(|i| ((i * i) as f64).sin()).collect();
        let tables = Tables::new(&plan).expect("small labels");
        let of = |vector| ByChannel { vectors: vec![(super::super::Channel::Nn, vector)], left_out: 0 };
        let c = of(forward(&plan, &tables, &u));
        let back = of(inverse(&plan, &tables, &c.vectors[0].1));
        for (direction, input, output) in [(Direction::Forward, of(u), &c), (Direction::Inverse, c.clone(), &back)] {
            let tables = Tables::of_pairs(&plan, TableCache::off()).expect("small labels");
            let (source, algorithm) = (&input, Algorithm::Factorised);
            let mut job = Job { plan: &plan, source, tables, direction, algorithm, spent: Spent::default() };
            let pieces = pieces(&plan, 0..plan.groups.len(), 1, 0);
            let done: Vec<Finished> = pieces.iter().flat_map(|piece| job.work(piece).expect("in memory")).collect();
            let tables = Tables::new(&plan).expect("small labels");
            let defects: Vec<f64> = plan.groups.iter().map(|group| tables.defect_of(group)).collect();
            assert_eq!(done, of_whole(&plan, &defects, direction, &input, output));
        }
    }

    #[test]
    fn pieces_keep_the_limit_and_hold_every_group_once() {
        let plan = Plan::new(Space { n_max: 4 });
        let of = |group: &usize| bytes_of(&plan.groups[*group], 3);
        let largest = (0..plan.groups.len()).map(|group| of(&group)).max().expect("groups");
        for limit in [0, largest, 3 * largest, u64::MAX] {
            let pieces = pieces(&plan, 0..plan.groups.len(), 3, limit);
            assert_eq!(pieces.concat(), (0..plan.groups.len()).collect::<Vec<_>>());
            assert!(pieces.iter().all(|piece| piece.len() == 1 || piece.iter().map(of).sum::<u64>() <= limit));
            assert!(limit != 0 || pieces.len() == plan.groups.len());
            assert!(limit != u64::MAX || pieces.len() == 1);
        }
    }
}
