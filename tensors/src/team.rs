//! Distribution of groups of quadruples to workers: the master–worker scheme of Oberhuber et al. (2021), over any
//! transport.
//!
//! In: the requested portions of groups. Out: each done by one worker and passed to the master when it is ready. The
//! master assigns the portions with the most work first and gives the next one to each worker that reports, so no worker
//! waits for long; a group's numbers do not depend on who computes it, and sums over groups are taken in the order of the
//! plan, so any number of workers gives the same bits. On CPUs a portion is one group ([`by_work`]); on devices it is
//! larger ([`portions`]), because each has its own text to compile and one launch does all of it.

use super::plan::Plan;
use super::work::{DeviceWorkError, FinishedGroup, bytes_of, pieces};

/// A worker's report.
#[derive(Debug)]
pub(crate) enum Report {
    /// It is ready.
    Ready,
    /// The groups of a portion.
    Finished(Vec<FinishedGroup>),
    /// Why it failed.
    Failed(String),
}

/// Why a team did not finish.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A worker failed.
    #[error("worker {worker}: {reason}")]
    Worker {
        /// Its number.
        worker: usize,
        /// Its message.
        reason: String,
    },
    /// The results cannot be saved.
    #[error(transparent)]
    Keep(#[from] std::io::Error),
    /// The connection.
    #[error("the connection between the processes failed: {0}")]
    Connection(String),
}

/// The master's end.
pub(crate) trait Master {
    /// Number of workers.
    fn workers(&self) -> usize;

    /// The next report from any worker.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    fn receive(&mut self) -> Result<(usize, Report), TeamError>;

    /// Assigns a portion to a worker; `None` ends the worker.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    fn send(&mut self, worker: usize, portion: Option<&[usize]>) -> Result<(), TeamError>;
}

/// A worker's end.
pub(crate) trait Worker {
    /// Reports.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    fn report(&mut self, report: Report) -> Result<(), TeamError>;

    /// Receives the next portion.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError>;
}

/// Assigns `portions`; `keep` gets the groups of each when it is done. After a failure no more portions are assigned, and
/// all workers are ended.
///
/// # Errors
///
/// Errors of a worker, of `keep`, or of the connection.
pub(crate) fn deal(
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

/// Works until ended; `done` computes a portion.
///
/// # Errors
///
/// Errors of the connection; errors of the work are reported to the master.
pub(crate) fn work(
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

/// Approximate number of portions per worker with a device: few texts to compile, and a short wait for the last.
const PORTIONS_A_WORKER: u64 = 3;

/// Portions of about equal numbers for workers with devices, none larger than `bytes` unless it is a single group, those
/// with the most work first.
pub(crate) fn portions(
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

/// Portions of one group each, those with the most multiplications first.
pub(crate) fn by_work(plan: &Plan, groups: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
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
    use super::super::source::TensorSource;
    use super::super::space::OscillatorSpace;
    use super::super::table_cache::TableCache;
    use super::super::tables::Tables;
    use super::super::work::{Direction, Job};
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

    fn job<'a>(plan: &'a Plan, source: &'a dyn TensorSource) -> Job<'a> {
        let tables = Tables::of_pairs(plan, TableCache::off()).expect("small labels");
        Job::new(plan, source, tables, Direction::Forward)
    }

    fn by_team(
        plan: &Plan,
        source: &dyn TensorSource,
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
        let plan = Plan::new(OscillatorSpace { n_max: 3 });
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

    impl TensorSource for Torn {
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
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        for workers in [1, 4] {
            let dealt = by_work(&plan, 0..plan.groups.len());
            let error = by_team(&plan, &Torn, workers, dealt).expect_err("one group cannot be read").to_string();
            assert!(error.contains("number 17 of channel pp"), "{error}");
        }
    }
}
