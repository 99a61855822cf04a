//! The down species by runs: A↓ split at a cut of the sites, so that few indices are left to load.
//!
//! A down state is (high | low), the low part being the first `low_sites` sites. States ascend, so the states that share a
//! high part are contiguous, with all low states of one particle number: a *run*. Runs of one particle number have one
//! *kind*. A term of A↓ factors into a high part, which maps run to run with one coefficient, and a low part, one of few
//! *cases*. Terms without a high part act within a run and are the same for every run of a kind: they are unrolled.
//! The rest is a table of *steps*: (source run, case, coefficient) for each target run.
//!
//! Case 0 is the low identity: a whole run times the coefficient, as for a hop among high sites.

use super::{DownShape, Hop, SpeciesPlan};
use std::collections::BTreeMap;

/// The low factor of a term: (−1)^popcount(l & sign) to l ⊕ flip where (l & care) == pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    care: u64,
    pattern: u64,
    flip: u64,
    sign: u64,
}

impl Case {
    const IDENTITY: Case = Case { care: 0, pattern: 0, flip: 0, sign: 0 };

    fn sign_of(&self, low: u64) -> f64 {
        if (low & self.sign).count_ones() % 2 == 1 { -1.0 } else { 1.0 }
    }

    /// How the target column differs from the source column.
    fn about(&self) -> String {
        let sites = |mask: u64| (0..64u32).filter(move |site| mask >> site & 1 == 1);
        let site = |site: u32| match (self.flip >> site & 1, self.pattern >> site & 1) {
            (1, 1) => format!("an electron arrives at site {site}"),
            (1, _) => format!("one leaves site {site}"),
            (_, 1) => format!("site {site} is occupied"),
            _ => format!("site {site} is empty"),
        };
        sites(self.care).map(site).collect::<Vec<_>>().join(", ")
    }
}

/// All runs whose low parts have the same number of particles.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// Particles in the low part.
    pub particles: u32,
    /// The low words, ascending: the columns of a run.
    pub words: Vec<u64>,
    /// For each source column, the columns of the same run that it adds to: (column, coefficient).
    pub own: Vec<Vec<(usize, f64)>>,
    /// For each case, what it adds: (target column, column of the other run, sign). Empty for the identity.
    pub cases: Vec<Vec<(usize, usize, f64)>>,
}

/// The task of one warp: a part of the columns of a run.
#[derive(Clone, Copy, Debug)]
struct Task {
    run: usize,
    /// Index of its function in [`Runs::parts`].
    part: usize,
}

/// Some columns of a kind, summed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Index in [`Runs::kinds`].
    pub kind: usize,
    /// First column.
    pub first: usize,
    /// Number of columns.
    pub count: usize,
}

/// The structure that determines text and tables.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Kinds that occur, by particle number.
    pub kinds: Vec<Kind>,
    /// The functions of the text.
    pub parts: Vec<Part>,
    /// (first column, kind) of each run, by high word ascending.
    runs: Vec<(u64, usize)>,
    /// (source run, case, coefficient) for each run.
    steps: Vec<Vec<(usize, usize, f64)>>,
    tasks: Vec<Task>,
    cases: Vec<Case>,
}

/// The tables that the kernel reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTables {
    /// For each warp's task: the function of the text.
    pub task_part: Vec<u32>,
    /// For each task: its run.
    pub task_run: Vec<u32>,
    /// For each run: its first column.
    pub run_column: Vec<u32>,
    /// For each run: the first of its steps; one entry more than there are runs.
    pub run_steps: Vec<u32>,
    /// For each step: first column of the source run.
    pub step_column: Vec<u32>,
    /// For each step: its case.
    pub step_case: Vec<u32>,
    /// For each step: its coefficient.
    pub step_coefficient: Vec<f64>,
}

/// Most unrolled statements: one function of 4,096 terms takes NVRTC 17 s, but each of these is a function of a few
/// hundred.
const STATEMENTS: usize = 12_000;

impl Runs {
    /// Splits a species; `None` for another shape or a cut without a high part.
    pub fn new(sites: u32, species: &SpeciesPlan, shape: DownShape) -> Option<Runs> {
        let DownShape::Runs { low_sites, outputs, .. } = shape else { return None };
        if low_sites == 0 || low_sites >= sites || sites > 32 || outputs == 0 {
            return None;
        }
        let (low_mask, particles) = ((1u64 << low_sites) - 1, species.particles);
        let low_part = |hop: &Hop| Case {
            care: hop.care & low_mask,
            pattern: hop.pattern & low_mask,
            flip: hop.flip & low_mask,
            sign: hop.sign & low_mask,
        };
        let is_own = |hop: &Hop| (hop.care | hop.flip | hop.sign) & !low_mask == 0;

        let low_words = |count: u32| (0..1u64 << low_sites).filter(move |low| low.count_ones() == count);
        let mut cases = vec![Case::IDENTITY];
        cases.extend(species.hops.iter().filter(|hop| !is_own(hop)).map(low_part));
        cases.sort();
        cases.dedup();
        let rank = |low: u64| low_words(low.count_ones()).take_while(|other| *other < low).count();

        let high_words = 0..1u64 << (sites - low_sites);
        let occurs = |high: u64| particles.checked_sub(high.count_ones()).filter(|count| *count <= low_sites);
        let kind_numbers: Vec<u32> =
            (0..=low_sites).filter(|count| high_words.clone().any(|high| occurs(high) == Some(*count))).collect();
        let kinds: Vec<Kind> = kind_numbers
            .iter()
            .map(|count| {
                let words: Vec<u64> = low_words(*count).collect();
                let own = |word: &u64| {
                    let hops = species.hops.iter().filter(|hop| is_own(hop));
                    let mut to: BTreeMap<usize, f64> = BTreeMap::new();
                    // A is symmetric: what a column receives from others it also gives to them.
                    for hop in hops.filter(|hop| word & hop.care == hop.pattern) {
                        *to.entry(rank(word ^ hop.flip)).or_default() += low_part(hop).sign_of(*word) * hop.amplitude;
                    }
                    to.into_iter().filter(|(_, coefficient)| *coefficient != 0.0).collect()
                };
                let case = |case: &Case| match *case {
                    Case::IDENTITY => vec![],
                    case => words
                        .iter()
                        .enumerate()
                        .filter(|(_, word)| **word & case.care == case.pattern)
                        .map(|(column, word)| (column, rank(word ^ case.flip), case.sign_of(*word)))
                        .collect(),
                };
                Kind {
                    particles: *count,
                    own: words.iter().map(own).collect(),
                    cases: cases.iter().map(case).collect(),
                    words,
                }
            })
            .collect();

        let kind_of = |count: u32| kind_numbers.iter().position(|number| *number == count);
        let mut first_column = 0;
        let (mut runs, mut run_of) = (Vec::new(), BTreeMap::new());
        for high in high_words {
            let Some(kind) = occurs(high).and_then(kind_of) else { continue };
            run_of.insert(high, runs.len());
            runs.push((first_column, kind));
            first_column += kinds[kind].words.len() as u64;
        }
        let steps: Vec<Vec<(usize, usize, f64)>> = run_of
            .iter()
            .map(|(high, run)| {
                let word = high << low_sites;
                let mut to: BTreeMap<(usize, usize), f64> = BTreeMap::new();
                for hop in species.hops.iter().filter(|hop| !is_own(hop)) {
                    if word & hop.care & !low_mask != hop.pattern & !low_mask {
                        continue;
                    }
                    let Some(from) = run_of.get(&(high ^ hop.flip >> low_sites)) else { continue };
                    let Ok(case) = cases.binary_search(&low_part(hop)) else { continue };
                    if case > 0 && kinds[runs[*run].1].cases[case].is_empty() {
                        continue;
                    }
                    let odd = (word & hop.sign & !low_mask).count_ones() % 2 == 1;
                    *to.entry((*from, case)).or_default() += if odd { -hop.amplitude } else { hop.amplitude };
                }
                to.into_iter().map(|((from, case), coefficient)| (from, case, coefficient)).collect()
            })
            .collect();

        let mut parts = Vec::new();
        for (kind, each) in kinds.iter().enumerate() {
            let (columns, pieces) = (each.words.len(), each.words.len().div_ceil(outputs as usize));
            parts.extend((0..pieces).map(|piece| {
                let (first, end) = (piece * columns / pieces, (piece + 1) * columns / pieces);
                Part { kind, first, count: end - first }
            }));
        }
        // The long ones first, parts of one run together: they read the same columns.
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by_key(|run| std::cmp::Reverse(kinds[runs[*run].1].words.len()));
        let mut tasks = Vec::new();
        for run in order {
            let of_run = parts.iter().enumerate().filter(|(_, part)| part.kind == runs[run].1);
            tasks.extend(of_run.map(|(part, _)| Task { run, part }));
        }
        Some(Runs { kinds, steps, tasks, parts, runs, cases })
    }

    /// Whether the text is short enough to compile in a second or two.
    pub fn is_short(&self) -> bool {
        let of_kind = |kind: &Kind| -> usize {
            kind.own.iter().map(|to| to.len() + 1).sum::<usize>() + kind.cases.iter().map(Vec::len).sum::<usize>()
        };
        self.kinds.iter().map(of_kind).sum::<usize>() <= STATEMENTS
    }

    /// A case in words.
    pub fn about(&self, case: usize) -> String {
        self.cases[case].about()
    }

    /// Number of tasks.
    pub fn task_count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// Number of runs.
    pub fn run_count(&self) -> u64 {
        self.runs.len() as u64
    }

    /// Number of steps.
    pub fn step_count(&self) -> u64 {
        self.steps.iter().map(|steps| steps.len() as u64).sum()
    }

    /// The tables of the kernel.
    pub fn tables(&self) -> RunTables {
        let mut tables = RunTables {
            task_part: self.tasks.iter().map(|task| task.part as u32).collect(),
            task_run: self.tasks.iter().map(|task| task.run as u32).collect(),
            run_column: self.runs.iter().map(|(column, _)| *column as u32).collect(),
            run_steps: vec![0],
            step_column: vec![],
            step_case: vec![],
            step_coefficient: vec![],
        };
        for steps in &self.steps {
            for (from, case, coefficient) in steps {
                tables.step_column.push(tables.run_column[*from]);
                tables.step_case.push(*case as u32);
                tables.step_coefficient.push(*coefficient);
            }
            tables.run_steps.push(tables.step_column.len() as u32);
        }
        tables
    }
}
