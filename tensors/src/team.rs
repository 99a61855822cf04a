//! The team that does a transformation: workers that take portions of the groups, and one place for what they finish.
//!
//! In: for each worker its portions. Out: every group passed to [`Keep`], as soon as it is finished. There are three kinds of workers:
//!
//! | worker | its portions | how it gets them |
//! |---|---|---|
//! | all cores of a process | pieces that fit into memory, in the order of the plan | [`Team::work`] |
//! | a card | its share of the groups, plan by plan ([`super::cards`]) | [`Team::work`], side by side with other cards |
//! | a process | the next of all portions, the most work first | [`serve`], when it has finished its last one |
//!
//! Within a process a worker reads the next portion and writes the last while it is at work on one ([`super::flow`]). A process that
//! works for another ([`follow`]) is again a team of its cores, or of one card, that keeps what it finishes by sending it. After a
//! failure nobody begins another portion, and what is finished is kept. A group's numbers do not depend on who computes them, and
//! sums over groups are taken in the order of the plan, so any team gives the same bits. Portions for processes are the
//! master–worker scheme of Oberhuber et al. (2021).

use super::error::TransformError;
use super::flow::{self, Flow, Steps};
use super::plan::Plan;
use super::processes::{Connection, Message, TeamError};
use super::shares::bytes_of;
use super::source::TensorSource;
use super::work::{FinishedGroup, read};
use eigenforge_runtime::interrupt::{self, Saving};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Takes the groups of a finished portion, and the name of the worker where there are several.
pub(crate) type Keep<'k> = dyn FnMut(Vec<FinishedGroup>, Option<&str>) -> Result<(), TransformError> + Send + 'k;

/// Waits for a portion that was begun.
pub(crate) type Pending<'w> = Box<dyn FnOnce() -> Result<Vec<FinishedGroup>, TransformError> + Send + 'w>;

/// A worker within this process.
pub(crate) trait Worker<'w>: Send {
    /// Prepares itself, while its first portions are read.
    fn begin(&mut self) -> Result<(), TransformError>;

    /// Begins portion `at` of its own: these groups, with a vector per group and channel.
    fn start(&mut self, at: usize, groups: &[usize], inputs: Vec<Vec<Vec<f64>>>)
    -> Result<Pending<'w>, TransformError>;

    /// Waits for what is under way: seconds of its tables, and of the transformation.
    fn end(&mut self) -> Result<[f64; 2], TransformError>;
}

/// A worker and its portions.
pub(crate) struct Member<'m, 'w> {
    /// What it is called beside others.
    pub label: String,
    pub portions: Vec<Vec<usize>>,
    /// Bytes of its portions that may be in memory at a time.
    pub room: u64,
    pub worker: &'m mut dyn Worker<'w>,
}

/// Workers of this process, and where they put what they finish.
pub(crate) struct Team<'t> {
    plan: &'t Plan,
    source: &'t dyn TensorSource,
    keep: Mutex<&'t mut Keep<'t>>,
    failed: AtomicBool,
    saving: Option<Saving>,
    started: Instant,
}

impl<'t> Team<'t> {
    /// Its time is counted from here. With a `place` where finished groups are saved, a signal ends the run once the portions under
    /// way are kept.
    pub(crate) fn new(
        plan: &'t Plan,
        source: &'t dyn TensorSource,
        place: Option<&Path>,
        keep: &'t mut Keep<'t>,
    ) -> Team<'t> {
        let (keep, failed) = (Mutex::new(keep), AtomicBool::new(false));
        let (saving, started) = (place.map(Saving::to), Instant::now());
        Team { plan, source, keep, failed, saving, started }
    }

    /// Has all workers do their portions at the same time. If one fails, the others end after the portions that they are at.
    ///
    /// # Errors
    /// The first worker's that failed, with its name where there are several.
    pub(crate) fn work(&self, members: Vec<Member<'_, '_>>) -> Result<Vec<Flow>, TransformError> {
        let count = members.len();
        let run = |member: Member<'_, '_>| {
            let label = member.label.clone();
            let done = self.work_of(member, count > 1);
            done.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
                .map_err(|error| in_several(error, count, &label))
        };
        let done: Vec<Result<Flow, TransformError>> = std::thread::scope(|scope| {
            let threads: Vec<_> = members.into_iter().map(|member| scope.spawn(|| run(member))).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        done.into_iter().collect()
    }

    fn work_of(&self, member: Member<'_, '_>, several: bool) -> Result<Flow, TransformError> {
        let Member { label, portions, room, worker } = member;
        let (plan, source, by) = (self.plan, self.source, several.then_some(&*label));
        let channels = source.channels().len();
        let needed = |groups: &Vec<usize>| groups.iter().map(|at| bytes_of(&plan.groups[*at], channels)).sum();
        let bytes: Vec<u64> = portions.iter().map(needed).collect();
        let steps = Steps {
            read: |at: usize| -> Result<_, TransformError> { Ok(read(plan, source, &portions[at])?) },
            finish: |_, pending: Pending<'_>| pending(),
            write: |_, finished| {
                let mut keep = self.keep.lock().unwrap_or_else(PoisonError::into_inner);
                keep(finished, by)
            },
        };
        let working = &mut *worker;
        let begin = move || working.begin().map(|()| working);
        let flow = flow::through(
            &bytes,
            room,
            steps,
            begin,
            |w, at, inputs| w.start(at, &portions[at], inputs),
            || self.is_stopped(),
        )?;
        let [tables, transform] = worker.end()?;
        Ok(Flow { tables, transform, elapsed: self.started.elapsed().as_secs_f64(), ..flow })
    }

    fn is_stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.saving.is_some() && interrupt::pending().is_some()
    }
}

/// Gives portions out to the processes, and ends them. After a failure no more are given out.
///
/// # Errors
/// Errors of a worker, of `keep`, or of the connection.
pub(crate) fn serve(
    processes: &mut dyn Connection,
    portions: Vec<Vec<usize>>,
    keep: &mut Keep<'_>,
) -> Result<(), TransformError> {
    let (mut portions, mut at_work) = (portions.into_iter(), processes.workers());
    let mut outcome = Ok(());
    while at_work > 0 {
        let (worker, message) = processes.receive()?;
        outcome = outcome.and_then(|()| match message {
            Message::Finished(finished) => keep(finished, None),
            Message::Failed(reason) => Err(TeamError::Worker { worker, reason }.into()),
            Message::Ready | Message::Portion(_) => Ok(()),
        });
        let next = portions.next().filter(|_| outcome.is_ok());
        at_work -= usize::from(next.is_none());
        processes.send(worker, Message::Portion(next.unwrap_or_default()))?;
    }
    outcome
}

/// Works for process 0 until it ends this one: `work` does the groups of a portion.
///
/// # Errors
/// Errors of the connection; those of the work are sent to process 0.
pub(crate) fn follow(
    processes: &mut dyn Connection,
    mut work: impl FnMut(Vec<usize>) -> Result<Vec<FinishedGroup>, TransformError>,
) -> Result<(), TeamError> {
    processes.send(0, Message::Ready)?;
    while let (_, Message::Portion(portion)) = processes.receive()?
        && !portion.is_empty()
    {
        let done = work(portion).map_or_else(|error| Message::Failed(error.to_string()), Message::Finished);
        processes.send(0, done)?;
    }
    Ok(())
}

/// An error with the worker's name where there are several.
pub(crate) fn in_several(error: impl Into<TransformError>, workers: usize, label: &str) -> TransformError {
    match workers {
        1 => error.into(),
        _ => TransformError::Card { card: label.into(), source: Box::new(error.into()) },
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::{ByChannel, Channel};
    use super::super::csv::TableError;
    use super::super::local::on_device;
    use super::super::plan::Group;
    use super::super::shares::{device_portions, single_portions};
    use super::super::source::TensorSource;
    use super::super::space::OscillatorSpace;
    use super::super::table_cache::TableCache;
    use super::super::tables::Tables;
    use super::super::work::{Direction, Job};
    use super::*;
    use eigenforge_runtime::Device;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// One end of the connection to workers that are threads; number 0 leads.
    struct ThreadEnd {
        number: usize,
        inbox: Receiver<(usize, Message)>,
        others: Vec<Sender<(usize, Message)>>,
    }

    impl Connection for ThreadEnd {
        fn workers(&self) -> usize {
            self.others.len() - 1
        }

        fn send(&mut self, to: usize, message: Message) -> Result<(), TeamError> {
            self.others[to].send((self.number, message)).map_err(|error| TeamError::Connection(error.to_string()))
        }

        fn receive(&mut self) -> Result<(usize, Message), TeamError> {
            self.inbox.recv().map_err(|error| TeamError::Connection(error.to_string()))
        }
    }

    fn job<'a>(plan: &'a Plan, source: &'a dyn TensorSource) -> Job<'a> {
        let tables = Tables::of_pairs(plan, TableCache::off()).expect("small labels");
        Job::new(plan, source, tables, Direction::Forward)
    }

    /// The groups done by this thread alone.
    fn groups_of_one(job: &mut Job<'_>, groups: &[usize]) -> Result<Vec<FinishedGroup>, TransformError> {
        let mut all = Vec::new();
        on_device(job, groups, &Device::cpu(), 1 << 30, &mut |finished, _| {
            all.extend(finished);
            Ok(())
        })?;
        Ok(all)
    }

    fn by_team(
        plan: &Plan,
        source: &dyn TensorSource,
        workers: usize,
        dealt: Vec<Vec<usize>>,
    ) -> Result<Vec<FinishedGroup>, TransformError> {
        let (others, inboxes): (Vec<_>, Vec<_>) = (0..=workers).map(|_| channel()).unzip();
        let ends = inboxes.into_iter().enumerate();
        let mut ends = ends.map(|(number, inbox)| ThreadEnd { number, inbox, others: others.clone() });
        let (mut leader, mut done) = (ends.next().unwrap(), Vec::new());
        std::thread::scope(|scope| {
            for mut end in ends {
                scope.spawn(move || {
                    let mut job = job(plan, source);
                    follow(&mut end, |portion| groups_of_one(&mut job, &portion))
                        .expect("the leader outlives its workers")
                });
            }
            serve(&mut leader, dealt, &mut |finished, _| {
                done.extend(finished);
                Ok(())
            })
        })?;
        done.sort_by_key(|finished: &FinishedGroup| finished.group);
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
        let all: Vec<usize> = (0..plan.groups.len()).collect();
        let alone = groups_of_one(&mut job(&plan, &source), &all).expect("numbers in memory");
        assert!(alone.len() > 10);
        for workers in [1, 2, 7] {
            for dealt in [single_portions(&plan, &all), device_portions(&plan, &all, 1, workers, u64::MAX)] {
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
            let dealt = single_portions(&plan, &(0..plan.groups.len()).collect::<Vec<_>>());
            let error = by_team(&plan, &Torn, workers, dealt).expect_err("one group cannot be read").to_string();
            assert!(error.contains("number 17 of channel pp"), "{error}");
        }
    }
}
