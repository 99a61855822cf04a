//! Groups of quadruples dealt out to workers: the master–worker scheme of Oberhuber et al. (2021), whatever carries the words.
//!
//! In: the portions of groups that are wanted. Out: each done by one worker, handed to the master as it comes. The master deals
//! the portions with the most work first and gives whoever reports the next one, so nobody waits for long; a group's numbers do not
//! depend on who computes it or with what, and sums over groups are taken in the order of the plan, so any number of workers
//! gives the same bits. On CPUs a portion is a group ([`by_work`]); on devices it is larger ([`portions`]), as each has a text of its
//! own to compile and one launch does all of it.

use super::plan::Plan;
use super::work::{DeviceWorkError, FinishedGroup, bytes_of, pieces};

/// What a worker says.
#[derive(Debug)]
pub enum Report {
    /// That it is there.
    Ready,
    /// The groups of a portion.
    Finished(Vec<FinishedGroup>),
    /// Why it cannot go on.
    Failed(String),
}

/// Why a team did not finish.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A worker's words.
    #[error("worker {worker}: {reason}")]
    Worker {
        /// Its number.
        worker: usize,
        /// What it said.
        reason: String,
    },
    /// The results cannot be kept.
    #[error(transparent)]
    Keep(#[from] std::io::Error),
    /// The connection.
    #[error("between the processes: {0}")]
    Connection(String),
}

/// The master's end.
pub trait Master {
    /// Number of workers.
    fn workers(&self) -> usize;

    /// The next report, whoever it is from.
    ///
    /// # Errors
    ///
    /// Of the connection.
    fn receive(&mut self) -> Result<(usize, Report), TeamError>;

    /// Gives a worker a portion; `None` sends it home.
    ///
    /// # Errors
    ///
    /// Of the connection.
    fn send(&mut self, worker: usize, portion: Option<&[usize]>) -> Result<(), TeamError>;
}

/// A worker's end.
pub trait Worker {
    /// Reports.
    ///
    /// # Errors
    ///
    /// Of the connection.
    fn report(&mut self, report: Report) -> Result<(), TeamError>;

    /// The next portion.
    ///
    /// # Errors
    ///
    /// Of the connection.
    fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError>;
}

/// Deals `portions`; `keep` gets the groups of each as it is done. After a failure nobody gets another portion, and all are sent
/// home.
///
/// # Errors
///
/// Those of a worker, of `keep`, or of the connection.
pub fn deal(
    master: &mut dyn Master,
    portions: Vec<Vec<usize>>,
    mut keep: impl FnMut(Vec<FinishedGroup>) -> std::io::Result<()>,
) -> Result<(), TeamError> {
    let mut portions = portions.into_iter();
    let mut failed = None;
    let mut at_work = master.workers();
    while at_work > 0 {
        let (worker, report) = master.receive()?;
        match report {
            Report::Ready => {}
            Report::Finished(finished) if failed.is_none() => failed = keep(finished).err().map(TeamError::Keep),
            Report::Finished(_) => {}
            Report::Failed(reason) => failed = failed.or(Some(TeamError::Worker { worker, reason })),
        }
        let next = if failed.is_none() { portions.next() } else { None };
        at_work -= usize::from(next.is_none());
        master.send(worker, next.as_deref())?;
    }
    failed.map_or(Ok(()), Err)
}

/// Works until sent home; `done` does a portion.
///
/// # Errors
///
/// Of the connection; what goes wrong in the work is reported to the master.
pub fn work(
    worker: &mut dyn Worker,
    mut done: impl FnMut(&[usize]) -> Result<Vec<FinishedGroup>, DeviceWorkError>,
) -> Result<(), TeamError> {
    worker.report(Report::Ready)?;
    while let Some(portion) = worker.next()? {
        let report = match done(&portion) {
            Ok(finished) => Report::Finished(finished),
            Err(error) => Report::Failed(error.to_string()),
        };
        worker.report(report)?;
    }
    Ok(())
}

/// Portions that a worker with a device takes, about: few texts to compile, and nobody waits long for the last.
const PORTIONS_A_WORKER: u64 = 3;

/// Portions of about equal numbers for workers with devices, none of more than `bytes` unless it is one group, those with the most
/// first.
pub fn portions(
    plan: &Plan,
    groups: impl Iterator<Item = usize>,
    channels: usize,
    workers: usize,
    bytes: u64,
) -> Vec<Vec<usize>> {
    let groups: Vec<usize> = groups.collect();
    let of = |groups: &[usize]| groups.iter().map(|at| bytes_of(&plan.groups[*at], channels)).sum::<u64>();
    let share = of(&groups).div_ceil(PORTIONS_A_WORKER * workers.max(1) as u64);
    let mut portions = pieces(plan, groups.into_iter(), channels, share.min(bytes));
    portions.sort_by_key(|portion| std::cmp::Reverse(of(portion)));
    portions
}

/// Portions of a group each, those with the most multiplications first.
pub fn by_work(plan: &Plan, groups: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let work = |group: &usize| -> u64 {
        let blocks = plan.groups[*group].products.iter().flat_map(|product| &product.tensors);
        blocks.map(|block| (block.rows * block.rows * block.columns) as u64).sum()
    };
    let mut groups: Vec<usize> = groups.collect();
    groups.sort_by_key(|group| std::cmp::Reverse(work(group)));
    groups.into_iter().map(|group| vec![group]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::channel::{ByChannel, Channel};
    use super::super::csv::TableError;
    use super::super::plan::Group;
    use super::super::source::Source;
    use super::super::space::Space;
    use super::super::table_cache::TableCache;
    use super::super::tables::Tables;
    use super::super::work::{Algorithm, Direction, Job, WorkTimes};
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Workers as threads.
    struct Threads {
        reports: Receiver<(usize, Report)>,
        workers: Vec<Sender<Option<Vec<usize>>>>,
    }

    struct Thread {
        number: usize,
        reports: Sender<(usize, Report)>,
        portions: Receiver<Option<Vec<usize>>>,
    }

    impl Master for Threads {
        fn workers(&self) -> usize {
            self.workers.len()
        }

        fn receive(&mut self) -> Result<(usize, Report), TeamError> {
            self.reports.recv().map_err(|error| TeamError::Connection(error.to_string()))
        }

        fn send(&mut self, worker: usize, portion: Option<&[usize]>) -> Result<(), TeamError> {
            let portion = portion.map(<[usize]>::to_vec);
            self.workers[worker].send(portion).map_err(|error| TeamError::Connection(error.to_string()))
        }
    }

    impl Worker for Thread {
        fn report(&mut self, report: Report) -> Result<(), TeamError> {
            self.reports.send((self.number, report)).map_err(|error| TeamError::Connection(error.to_string()))
        }

        fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError> {
            self.portions.recv().map_err(|error| TeamError::Connection(error.to_string()))
        }
    }

    fn job<'a>(plan: &'a Plan, source: &'a dyn Source) -> Job<'a> {
        let tables = Tables::of_pairs(plan, TableCache::off()).expect("small labels");
        let (direction, algorithm) = (Direction::Forward, Algorithm::Factorised);
        Job { plan, source, tables, direction, algorithm, spent: WorkTimes::default() }
    }

    fn by_team(
        plan: &Plan,
        source: &dyn Source,
        workers: usize,
        dealt: Vec<Vec<usize>>,
    ) -> Result<Vec<FinishedGroup>, TeamError> {
        let (to_master, reports) = channel();
        let mut done = Vec::new();
        std::thread::scope(|scope| {
            let mut senders = Vec::new();
            for number in 0..workers {
                let (sender, portions) = channel();
                senders.push(sender);
                let mut thread = Thread { number, reports: to_master.clone(), portions };
                scope.spawn(move || {
                    let mut job = job(plan, source);
                    let done = |portion: &[usize]| Ok(job.work(portion)?);
                    work(&mut thread, done).expect("the master outlives its workers")
                });
            }
            let mut master = Threads { reports, workers: senders };
            deal(&mut master, dealt, |finished| {
                done.extend(finished);
                Ok(())
            })
        })?;
        done.sort_by_key(|finished| finished.group);
        Ok(done)
    }

    #[test]
    fn any_number_of_workers_gives_the_same_bits() {
        let plan = Plan::new(Space { n_max: 3 });
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let vector: Vec<f64> = (0..plan.length).map(|_| next()).collect();
        let source = ByChannel { vectors: vec![(Channel::Pn, vector)], left_out: 0 };
        let alone = job(&plan, &source).work(&(0..plan.groups.len()).collect::<Vec<_>>()).expect("numbers in memory");
        assert!(alone.len() > 10);
        for workers in [1, 2, 7] {
            for dealt in
                [by_work(&plan, 0..plan.groups.len()), portions(&plan, 0..plan.groups.len(), 1, workers, u64::MAX)]
            {
                assert!(dealt.len() >= workers.min(3));
                let found = by_team(&plan, &source, workers, dealt).expect("numbers in memory");
                assert_eq!(found, alone, "{workers} workers");
            }
        }
    }

    /// A source with one group that cannot be read.
    struct Torn;

    impl Source for Torn {
        fn channels(&self) -> Vec<Channel> {
            vec![Channel::Pp]
        }

        fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError> {
            if (group.bra_quanta, group.ket_quanta) == (2, 2) {
                return Err(TableError::NotFinite { path: "v.bin".into(), channel: "pp", at: 17 });
            }
            Ok(vec![vec![1.0; group.length]])
        }

        fn resident(&self) -> u64 {
            0
        }

        fn describe(&self) -> &'static str {
            "torn"
        }
    }

    #[test]
    fn a_failure_sends_everybody_home_and_is_told() {
        let plan = Plan::new(Space { n_max: 1 });
        for workers in [1, 4] {
            let dealt = by_work(&plan, 0..plan.groups.len());
            let error = by_team(&plan, &Torn, workers, dealt).expect_err("one group cannot be read").to_string();
            assert!(error.contains("number 17 of channel pp"), "{error}");
        }
    }
}
