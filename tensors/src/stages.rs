//! What a transformation says while it runs, and the seconds that it keeps of it.

use super::partial::Partial;
use super::pieces::PieceTimes;
use super::plan::Plan;
use super::work::WorkTimes;
use eigenforge_core::words::span;
use std::time::Instant;

/// Is told of each stage: its name, and what was done.
pub(crate) type Tell<'t> = &'t (dyn Fn(&str, &str) + Sync);

/// Seconds by stage.
pub(crate) type StageSeconds = Vec<(&'static str, f64)>;

/// How far a run is.
pub(crate) struct Progress<'t> {
    /// Groups that are not done.
    pub wanted: Vec<usize>,
    total: usize,
    done: usize,
    started: Instant,
    tell: Tell<'t>,
}

impl<'t> Progress<'t> {
    /// Of what is not on disk yet.
    pub(crate) fn new(plan: &Plan, partial: &Partial, tell: Tell<'t>) -> Progress<'t> {
        let known = partial.known();
        if !known.is_empty() {
            let (there, all, path) = (known.len(), plan.groups.len(), partial.path().display());
            tell("resume", &format!("{there} of {all} groups are saved in {path}"));
        }
        let wanted: Vec<usize> = (0..plan.groups.len()).filter(|at| !known.contains_key(at)).collect();
        let total = wanted.iter().map(|at| plan.groups[*at].length).sum();
        Progress { wanted, total, done: 0, started: Instant::now(), tell }
    }

    /// The first piece begins.
    pub(crate) fn start(&mut self) {
        self.started = Instant::now();
    }

    pub(crate) fn done(&mut self, plan: &Plan, groups: &[usize]) {
        self.done += groups.iter().map(|at| plan.groups[*at].length).sum::<usize>();
    }

    pub(crate) fn show(&self, name: &str, what: &str) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = elapsed * (self.total - self.done) as f64 / self.done.max(1) as f64;
        let share = 100.0 * self.done as f64 / self.total.max(1) as f64;
        (self.tell)(name, &format!("{what}, {share:.0} %, {elapsed:.2} s, {} left", span(left)));
    }
}

/// Tells of stages, and keeps the seconds of each.
pub(crate) struct Stages<'t> {
    /// By the clock, one after the other.
    pub seconds: StageSeconds,
    /// Of the threads of the pieces, which overlap.
    pub busy: StageSeconds,
    last: Instant,
    tell: Tell<'t>,
}

impl<'t> Stages<'t> {
    pub(crate) fn new(tell: Tell<'t>) -> Stages<'t> {
        Stages { seconds: Vec::new(), busy: Vec::new(), last: Instant::now(), tell }
    }

    pub(crate) fn say(&self, name: &str, what: &str) {
        (self.tell)(name, what);
    }

    pub(crate) fn done(&mut self, name: &'static str, what: &str) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        self.add(name, seconds);
        self.say(name, &format!("{what}, {seconds:.2} s"));
    }

    /// The pieces: one stage by the clock, in which three threads are busy side by side.
    pub(crate) fn of_pieces(&mut self, spent: &WorkTimes, pieces: &PieceTimes, kernels: bool) {
        self.last = Instant::now();
        let PieceTimes { flow, elapsed } = pieces;
        let by_the_clock = elapsed - flow.beginning;
        if kernels {
            self.add("kernels", flow.beginning);
            self.say(
                "kernels",
                &format!("compiled, and W0 computed, while the first pieces were read: {:.2} s", flow.beginning),
            );
        }
        self.add("pieces", by_the_clock);
        self.busy = vec![
            ("read", spent.input),
            ("tables", spent.tables),
            ("transform", spent.transform),
            ("write", flow.writing),
        ];
        let words: Vec<String> = self.busy.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
        let what = format!("{}: {} s of overlapping work", flow.pieces, words.join(", "));
        self.say("pieces", &format!("{what}, {by_the_clock:.2} s elapsed"));
    }

    fn add(&mut self, name: &'static str, seconds: f64) {
        match self.seconds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.seconds.push((name, seconds)),
        }
    }
}
