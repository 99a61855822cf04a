//! The work on some groups of quadruples: input numbers, coefficients, output numbers, and their summary.
//!
//! In: a [`TensorSource`], and the groups. Out: their strengths (or elements) with their shares of the [`Summary`]. Groups are
//! independent, so they may be processed in pieces that fit into memory, in any order, by any process: the bits are the
//! same.
//!
//! [`Summary`]: super::Summary

use super::csv::TableError;
use super::plan::{Group, Plan};
use super::source::TensorSource;
use super::summary::Share;
use super::tables::Tables;
use super::{binary, exchange};
use eigenforge_runtime::trace;
use eigenforge_templates::su3::Ways;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Elements into strengths, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// u → C.
    Forward,
    /// C → u.
    Inverse,
}

impl Direction {
    /// The kind of the input.
    pub fn input(self) -> binary::TensorKind {
        if self == Direction::Forward { binary::TensorKind::Elements } else { binary::TensorKind::Strengths }
    }

    /// The kind of the output.
    pub fn output(self) -> binary::TensorKind {
        if self == Direction::Forward { binary::TensorKind::Strengths } else { binary::TensorKind::Elements }
    }

    /// Whether a device processes groups in several portions; otherwise all at once.
    pub(crate) fn has_portions(self) -> bool {
        self == Direction::Forward
    }

    /// Whose kernels it needs.
    pub(crate) fn ways(self) -> Ways {
        match self {
            Direction::Forward => Ways::Forward,
            Direction::Inverse => Ways::Back,
        }
    }

    fn group_share(self, group: &Group, input: &[f64], output: &[f64]) -> Share {
        match self {
            Direction::Forward => Share::new(group, input, output),
            Direction::Inverse => Share::new(group, output, input),
        }
    }
}

/// A transformation.
pub(super) struct Job<'a> {
    /// The space.
    pub plan: &'a Plan,
    /// The input.
    pub source: &'a dyn TensorSource,
    /// Coefficients of the pairs of shells; W⁰ is loaded as needed.
    pub tables: Tables,
    /// The direction.
    pub direction: Direction,
    /// Whether a shape of the kernels that was tuned on the card is used.
    pub tuned: bool,
}

/// A finished group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FinishedGroup {
    /// Its number.
    pub group: usize,
    /// Its numbers, a vector per channel. Processes send them behind the rest.
    #[serde(skip)]
    pub vectors: Vec<Vec<f64>>,
    /// The largest deviation from orthogonality of its W⁰.
    pub defect: f64,
    /// Share of each channel.
    pub shares: Vec<Share>,
}

impl<'a> Job<'a> {
    /// Nothing is done yet.
    pub(crate) fn new(plan: &'a Plan, source: &'a dyn TensorSource, tables: Tables, direction: Direction) -> Job<'a> {
        Job { plan, source, tables, direction, tuned: true }
    }

    /// Transforms some groups of the plan on all cores; adds the seconds of W⁰ and of the transformation.
    pub(super) fn work(
        &mut self,
        groups: &[usize],
        inputs: &[Vec<Vec<f64>>],
        [tables, transform]: &mut [f64; 2],
    ) -> Vec<FinishedGroup> {
        let of: Vec<&Group> = groups.iter().map(|at| &self.plan.groups[*at]).collect();
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        self.tables.load_groups(&of);
        *tables += lap();
        let done = groups
            .par_iter()
            .zip(inputs)
            .map(|(at, input)| {
                let group = &self.plan.groups[*at];
                self.finished(*at, input, self.transform(group, input), self.tables.defect_of(group))
            })
            .collect();
        *transform += lap();
        done
    }

    /// A group with its share of the summary.
    pub(super) fn finished(&self, at: usize, input: &[Vec<f64>], vectors: Vec<Vec<f64>>, defect: f64) -> FinishedGroup {
        let (group, pairs) = (&self.plan.groups[at], input.par_iter().zip(&vectors));
        let shares = pairs.map(|(input, output)| self.direction.group_share(group, input, output)).collect();
        FinishedGroup { group: at, vectors, defect, shares }
    }

    /// Transforms every channel; one that equals an earlier one, as nn equals pp without the Coulomb force, is copied.
    fn transform(&self, group: &Group, input: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let first_like: Vec<usize> =
            (0..input.len()).map(|at| (0..at).find(|other| input[*other] == input[at]).unwrap_or(at)).collect();
        let done: Vec<Vec<f64>> = input
            .par_iter()
            .enumerate()
            .map(|(at, numbers)| if first_like[at] == at { self.one(group, numbers) } else { Vec::new() })
            .collect();
        first_like.iter().map(|at| done[*at].clone()).collect()
    }

    fn one(&self, group: &Group, numbers: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; group.length];
        match self.direction {
            Direction::Forward => exchange::forward(group, &self.tables, numbers, &mut out),
            Direction::Inverse => exchange::inverse(group, &self.tables, numbers, &mut out),
        }
        out
    }
}

/// Numbers of some groups: for each, one vector per channel.
///
/// # Errors
///
/// Errors of the source.
pub(super) fn read(plan: &Plan, source: &dyn TensorSource, groups: &[usize]) -> Result<Vec<Vec<Vec<f64>>>, TableError> {
    let _reading = trace::span("set up", "read the input");
    groups.par_iter().map(|at| source.group(&plan.groups[*at])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::device::{BegunPortion, DeviceGroups, Layouts, Slots};
    use super::super::error::TransformError;
    use super::super::local::on_device;
    use super::super::space::OscillatorSpace;
    use super::*;
    use eigenforge_runtime::{Device, Lanes};
    use std::sync::Arc;

    /// A device gives the same bits for one portion, for several and for one portion per group; close to those of the
    /// CPU.
    #[test]
    fn portions_do_not_change_the_bits() {
        use super::super::TableCache;
        use super::super::channel::{ByChannel, Channel};
        let plan = Plan::new(OscillatorSpace { n_max: 2 });
        let vector = |seed: usize| (0..plan.length).map(|i| ((i * i + seed) as f64).sin()).collect::<Vec<f64>>();
        let source = ByChannel { vectors: vec![(Channel::Pn, vector(1)), (Channel::Pp, vector(2))], left_out: 0 };
        let job = |direction| {
            let tables = Tables::of_pairs(&plan, TableCache::off()).unwrap();
            Job::new(&plan, &source, tables, direction)
        };
        // Not all of the groups, as in a resumed run.
        let groups: Vec<usize> = (0..plan.groups.len()).filter(|at| *at != 2).collect();
        let alone = |job: &mut Job<'_>, device: &Device| {
            let mut all = Vec::new();
            let mut keep = |finished: Vec<FinishedGroup>, _: Option<&str>| -> Result<(), TransformError> {
                all.extend(finished);
                Ok(())
            };
            on_device(job, &groups, device, 1 << 30, &mut keep).unwrap();
            all
        };
        for device in eigenforge_runtime::testing::kernel_devices(eigenforge_runtime::simulate::Schedule::Forward) {
            for direction in [Direction::Forward, Direction::Inverse] {
                let expected = alone(&mut job(direction), &Device::cpu());
                let whole = alone(&mut job(direction), &device);
                for (found, expected) in whole.iter().zip(&expected) {
                    assert_eq!(found.group, expected.group);
                    for (a, b) in found.vectors.concat().iter().zip(&expected.vectors.concat()) {
                        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
                    }
                }
                if !direction.has_portions() {
                    continue;
                }
                for most in [1, 2] {
                    let portions: Vec<Vec<usize>> = groups.chunks(most).map(<[usize]>::to_vec).collect();
                    let job = job(direction);
                    let layouts = Layouts::new(&plan, &job.tables, 2, direction.ways(), &portions);
                    let lanes = Arc::new(Lanes::new(&device, "card").unwrap());
                    let mut ours = DeviceGroups::new(layouts, &device, lanes.clone()).unwrap();
                    // All are begun before the first is waited for.
                    let inputs: Vec<_> =
                        portions.iter().map(|portion| read(&plan, &source, portion).unwrap()).collect();
                    let begun: Vec<BegunPortion> =
                        (0..portions.len()).map(|at| ours.start(at, &inputs[at]).unwrap()).collect();
                    let mut slots = Slots::new(&device);
                    let mut found = Vec::new();
                    for (at, begun) in begun.into_iter().enumerate() {
                        let outputs = begun.finish(&mut slots).unwrap();
                        let groups = portions[at].iter().zip(&inputs[at]).zip(outputs).zip(ours.defects(at));
                        found.extend(
                            groups.map(|(((at, input), output), defect)| job.finished(*at, input, output, *defect)),
                        );
                    }
                    assert_eq!(found, whole, "{most} groups a portion");
                    ours.settle().unwrap();
                    let bytes = 16 * groups.iter().map(|at| plan.groups[*at].length as u64).sum::<u64>();
                    let times = lanes.times();
                    assert_eq!([times.bytes_to_device, times.bytes_to_host], [bytes; 2]);
                }
            }
        }
    }
}
