//! Progress on standard error: a bar on a terminal, plain lines otherwise; and the plan before a run.
//!
//! In: what a run tells its [`RunObserver`]. Out: of an eigensolver iteration, energy, residual, time left, with a bar that shows
//! how much of the way the residual has come on a logarithmic scale; of a sweep bond, energy, states, discarded weight, time.

use super::output::print;
use eigenforge::dmrg::SweepProgress;
use eigenforge::problem::run::RunObserver;
use eigenforge::report::energy_text;
use eigenforge::words::span;
use eigenforge_runtime::say;
use eigenforge_runtime::solvers::{Progress, SolvePhase};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(2);
const STEPS: u64 = 1000;

/// Shows progress; shared with the run.
pub(super) struct Display {
    /// Whether standard output is for one JSON object.
    json: bool,
    /// What is before the lines of a run beside others: its card and its point.
    what: String,
    bar: Option<ProgressBar>,
    /// All bars of the terminal.
    bars: Option<MultiProgress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Option<SolvePhase>,
    first_residual: f64,
    last_line: Option<Instant>,
    /// What was said at once.
    remarks: Vec<String>,
}

impl State {
    /// Whether it is time for another plain line.
    fn is_due(&mut self, at_once: bool) -> bool {
        let due = at_once || self.last_line.is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
        if due {
            self.last_line = Some(Instant::now());
        }
        due
    }
}

impl Display {
    /// A bar if standard error is a terminal.
    pub fn new(json: bool) -> Display {
        let draw = || MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        Display::grouped(std::io::stderr().is_terminal().then(draw), json, String::new())
    }

    /// A bar among those of a terminal.
    fn grouped(bars: Option<MultiProgress>, json: bool, what: String) -> Display {
        let bar = bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new(STEPS));
            let style = ProgressStyle::with_template("{prefix:>8} [{bar:24}] {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar
        });
        Display { json, what, bar, bars, state: Mutex::default() }
    }

    /// A line above the bars.
    pub fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| say!("{text}")),
            None => say!("{text}"),
        }
    }

    /// Takes the bar away.
    pub fn take_away(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// What the run said at once, which need not be said again.
    pub fn remarks(&self) -> Vec<String> {
        self.state().remarks.clone()
    }

    /// A stage with the card and the point before it.
    fn prefixed(&self, stage: &str) -> String {
        if self.what.is_empty() { stage.into() } else { format!("{}  {stage}", self.what) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl RunObserver for Display {
    fn plan(&self, text: &str) -> std::io::Result<()> {
        if !self.json {
            print(text);
        }
        Ok(())
    }

    fn remark(&self, text: &str) {
        self.line(text);
        self.state().remarks.push(text.into());
    }

    fn iteration(&self, progress: &Progress) {
        let mut state = self.state();
        let new_phase = state.phase != Some(progress.phase);
        if new_phase {
            state.phase = Some(progress.phase);
            state.first_residual = progress.residual;
        }
        if let Some(bar) = &self.bar {
            bar.set_prefix(self.prefixed(progress.phase.name()));
            bar.set_position(way(state.first_residual, progress.residual, progress.tolerance));
            bar.set_message(iteration_line(progress));
        } else if state.is_due(new_phase) {
            say!("{:>8}  {}", self.prefixed(progress.phase.name()), iteration_line(progress));
        }
    }

    fn stage(&self, name: &str, text: &str) {
        say!("{name:>10}  {text}");
    }

    fn bond(&self, progress: &SweepProgress<'_>) {
        if let Some(plan) = progress.memory.filter(|_| !self.json) {
            let line = format!("memory   {} from now on\n", plan.describe());
            match &self.bar {
                Some(bar) => bar.suspend(|| print(&line)),
                None => print(&line),
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_prefix(self.prefixed(&format!("{}{}", stage(progress), progress.grown.unwrap_or(progress.sweep))));
            bar.set_position((1000.0 * progress.part) as u64);
            bar.set_message(bond_line(progress));
        } else if self.state().is_due(progress.part == 1.0) {
            let stage = self.prefixed(&stage(progress));
            say!("{stage}{:>3}  {}", progress.grown.unwrap_or(progress.sweep), bond_line(progress));
        }
    }

    fn finished(&self) {
        self.take_away();
    }

    fn beside_others(&self, what: &str) -> Arc<dyn RunObserver> {
        Arc::new(Display::grouped(self.bars.clone(), self.json, what.into()))
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // A point that failed has not finished.
        self.take_away();
    }
}

/// Thousandths of the way from the first residual down to the tolerance, in logarithms.
fn way(first: f64, now: f64, tolerance: f64) -> u64 {
    let whole = (first / tolerance).ln();
    let come = (first / now).ln();
    let part = come / whole;
    if part.is_finite() { (part.clamp(0.0, 1.0) * STEPS as f64) as u64 } else { 0 }
}

fn iteration_line(progress: &Progress) -> String {
    let Some(energy) = progress.energies.first().map(|energy| energy_text(*energy, 0.0)) else {
        return span(progress.elapsed); // a phase without iterations
    };
    let left = progress.remaining.map_or(String::new(), |seconds| format!(", {} left", span(seconds)));
    format!(
        "iteration {:>5}  energy {energy:>16}  residual {:>8.1e}  {}{left}",
        progress.iteration,
        progress.residual,
        span(progress.elapsed)
    )
}

/// "growth", "sweep ", or "state 2, sweep " above the lowest.
fn stage(progress: &SweepProgress<'_>) -> String {
    match (progress.grown, progress.target) {
        (Some(_), _) => "growth".into(),
        (None, 0) => "sweep ".into(),
        (None, target) => format!("state {target}, sweep "),
    }
}

/// Bond, energy, states, discarded weight, time, time left in this sweep.
fn bond_line(progress: &SweepProgress<'_>) -> String {
    let left = progress.record.seconds * (1.0 - progress.part) / progress.part.max(1e-9);
    format!(
        "bond {:>4}  energy {:>17}  m {:>5}  discarded {:>8.1e}  {}, {} left of {} sweeps at most",
        progress.bond.bond,
        energy_text(progress.record.energy, 0.0),
        progress.record.kept,
        progress.record.discarded,
        span(progress.elapsed),
        span(
            left + progress.record.seconds / progress.part.max(1e-9)
                * progress.sweeps.saturating_sub(1 + progress.sweep) as f64
        ),
        progress.sweeps
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(phase: SolvePhase, elapsed: f64, residual: f64) -> Progress {
        Progress {
            phase,
            iteration: 7,
            energies: vec![-1.5],
            residual,
            tolerance: 1e-8,
            elapsed,
            remaining: Some(30.0),
        }
    }

    #[test]
    fn a_line_has_iteration_energy_residual_and_time_left() {
        let line = iteration_line(&progress(SolvePhase::Lobpcg, 12.0, 1e-3));
        assert_eq!(line, "iteration     7  energy    -1.5000000000  residual   1.0e-3  12 s, 30 s left");
    }

    #[test]
    fn the_bar_moves_with_the_logarithm_of_the_residual() {
        assert_eq!(way(1.0, 1e-4, 1e-8), 500);
        assert_eq!(way(1.0, 1e-9, 1e-8), 1000);
        assert_eq!(way(1.0, 3.0, 1e-8), 0);
        assert_eq!(way(f64::NAN, 1.0, 1e-8), 0);
        assert_eq!(way(1.0, 0.0, 1e-8), 0, "no residual at all is no division by zero");
        assert_eq!(way(1.0, 0.5, 0.0), 0, "nor is a norm of 0");
    }
}
