//! What `su3 transform` says on standard error while it runs, and the seconds that it keeps of it.

use super::output::span;
use super::su3_pieces::Pieces;
use eigenforge::su3::Plan;
use eigenforge::su3::partial::Partial;
use eigenforge::su3::work::WorkTimes;
use eigenforge_runtime::say;
use std::path::Path;
use std::time::Instant;

/// How far it is.
pub(super) struct Progress {
    /// Groups that are not done.
    pub wanted: Vec<usize>,
    total: usize,
    done: usize,
    pub started: Instant,
}

impl Progress {
    /// Of what does not stand yet.
    pub fn new(plan: &Plan, partial: &Partial, output: &Path) -> Progress {
        let known = partial.known();
        if !known.is_empty() {
            let (there, all) = (known.len(), plan.groups.len());
            say!("{:>10}  {there} of {all} groups stand in {}.partial", "resume", output.display());
        }
        let wanted: Vec<usize> = (0..plan.groups.len()).filter(|at| !known.contains_key(at)).collect();
        let total = wanted.iter().map(|at| plan.groups[*at].length).sum();
        Progress { wanted, total, done: 0, started: Instant::now() }
    }

    pub fn done(&mut self, plan: &Plan, groups: &[usize]) {
        self.done += groups.iter().map(|at| plan.groups[*at].length).sum::<usize>();
    }

    pub fn show(&self, name: &str, what: &str) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = elapsed * (self.total - self.done) as f64 / self.done.max(1) as f64;
        let share = 100.0 * self.done as f64 / self.total.max(1) as f64;
        say!("{name:>10}  {what}, {share:.0} %, {elapsed:.2} s, {} left", span(left));
    }
}

/// Progress by stage on standard error, and the seconds of each.
pub(super) struct Stages {
    /// By the clock, one after the other.
    pub seconds: Vec<(&'static str, f64)>,
    /// Of the threads of the pieces, which overlap.
    pub busy: Vec<(&'static str, f64)>,
    last: Instant,
    quiet: bool,
}

impl Stages {
    pub fn new() -> Stages {
        Stages { seconds: Vec::new(), busy: Vec::new(), last: Instant::now(), quiet: false }
    }

    /// Of a worker.
    pub fn quiet() -> Stages {
        Stages { quiet: true, ..Stages::new() }
    }

    pub fn say(&self, name: &str, what: &str) {
        if !self.quiet {
            say!("{name:>10}  {what}");
        }
    }

    pub fn done(&mut self, name: &'static str, what: String) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        self.add(name, seconds);
        self.say(name, &format!("{what}, {seconds:.2} s"));
    }

    /// The pieces: one stage by the clock, in which three threads are busy side by side.
    pub fn of_pieces(&mut self, spent: &WorkTimes, pieces: Pieces, kernels: bool) {
        self.last = Instant::now();
        let Pieces { flow, elapsed } = pieces;
        let by_the_clock = elapsed - flow.beginning;
        if kernels {
            self.add("kernels", flow.beginning);
            self.say("kernels", &format!("compiled, W0 made, while pieces were read: {:.2} s", flow.beginning));
        }
        self.add("pieces", by_the_clock);
        self.busy = vec![
            ("read", spent.input),
            ("tables", spent.tables),
            ("transform", spent.transform),
            ("write", flow.writing),
        ];
        let words: Vec<String> = self.busy.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
        let what = format!("{}: {} s of work side by side", flow.pieces, words.join(", "));
        self.say("pieces", &format!("{what}, {by_the_clock:.2} s by the clock"));
    }

    fn add(&mut self, name: &'static str, seconds: f64) {
        match self.seconds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.seconds.push((name, seconds)),
        }
    }
}
