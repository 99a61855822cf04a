//! What a transformation says while it runs, and the seconds that it keeps of it.

use super::flow::Flow;
use super::plan::Plan;
use eigenforge_core::words::span;
use std::time::Instant;

/// Is told of each stage: its name, and what was done.
pub(crate) type Tell<'t> = &'t (dyn Fn(&str, &str) + Sync);

/// Seconds by stage.
pub(crate) type StageSeconds = Vec<(&'static str, f64)>;

/// How far a run is.
pub(crate) struct Progress<'t> {
    plan: &'t Plan,
    /// Numbers of one channel, of all groups and of those that are done.
    total: usize,
    done: usize,
    /// Portions, of all groups and of those that are done.
    portions: usize,
    portions_done: usize,
    /// Processes that work on them, if there are several.
    workers: Option<usize>,
    started: Instant,
    shown: Instant,
    tell: Tell<'t>,
}

impl<'t> Progress<'t> {
    /// Of these groups.
    pub(crate) fn new(plan: &'t Plan, wanted: &[usize], tell: Tell<'t>) -> Progress<'t> {
        let total = wanted.iter().map(|at| plan.groups[*at].length).sum();
        let now = Instant::now();
        let (done, portions, portions_done, workers) = (0, 0, 0, None);
        Progress { plan, total, done, portions, portions_done, workers, started: now, shown: now, tell }
    }

    /// The first of so many portions begins, here or by other processes.
    pub(crate) fn start(&mut self, portions: usize, workers: Option<usize>) {
        let now = Instant::now();
        (self.portions, self.workers, self.started, self.shown) = (portions, workers, now, now);
    }

    /// A portion is finished. Those of processes are many and are shown every two seconds.
    pub(crate) fn done(&mut self, groups: &[usize], by: Option<&str>) {
        self.done += groups.iter().map(|at| self.plan.groups[*at].length).sum::<usize>();
        self.portions_done += 1;
        if self.workers.is_none() {
            let by = by.map_or(String::new(), |worker| format!(" by {worker}"));
            self.show("piece", &format!("{} of {}{by}", self.portions_done, self.portions));
        } else if self.shown.elapsed().as_secs_f64() > 2.0 {
            self.shown = Instant::now();
            self.show_workers();
        }
    }

    pub(crate) fn show_workers(&self) {
        self.show("team", &format!("{} workers", self.workers.unwrap_or_default()));
    }

    fn show(&self, name: &str, what: &str) {
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
    pub(crate) fn of_pieces(&mut self, flow: &Flow, kernels: bool) {
        self.last = Instant::now();
        let by_the_clock = flow.elapsed - flow.beginning;
        if kernels {
            self.add("kernels", flow.beginning);
            self.say(
                "kernels",
                &format!("compiled, and W0 computed, while the first pieces were read: {:.2} s", flow.beginning),
            );
        }
        self.add("pieces", by_the_clock);
        self.busy = vec![
            ("read", flow.reading),
            ("tables", flow.tables),
            ("transform", flow.transform),
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
