//! Progress on standard error: a bar on a terminal, plain lines otherwise.
//!
//! In: the solver's [`Progress`]. Out: iteration, energy, residual, time left. The bar shows how much of the way the
//! residual has come on a logarithmic scale, from its first value to the tolerance. Seconds a phase are kept for the
//! report.

use super::output::span;
use eigenforge::report::energy_text;
use eigenforge_runtime::say;
use eigenforge_runtime::solvers::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(2);
const STEPS: u64 = 1000;

/// Shows progress; shared with the solver.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Option<&'static str>,
    first_residual: f64,
    last_line: Option<Instant>,
    /// (phase, elapsed when it began), in order.
    phases: Vec<(&'static str, f64)>,
}

impl Display {
    /// A bar if standard error is a terminal.
    pub fn new() -> Display {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{prefix:>8} [{bar:24}] {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar
        });
        Display { bar, state: Mutex::default() }
    }

    /// Called by the solver.
    pub fn show(&self, progress: &Progress) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new_phase = state.phase != Some(progress.phase);
        if new_phase {
            state.phase = Some(progress.phase);
            state.first_residual = progress.residual;
            state.phases.push((progress.phase, progress.elapsed));
        }
        if let Some(bar) = &self.bar {
            bar.set_prefix(progress.phase);
            bar.set_position(way(state.first_residual, progress.residual, progress.tolerance));
            bar.set_message(line(progress));
            return;
        }
        let due = state.last_line.is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
        if new_phase || due {
            state.last_line = Some(Instant::now());
            say!("{:>8}  {}", progress.phase, line(progress));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Seconds of the phases named `phase`, of a solve that took `total`.
    pub fn seconds_of(&self, phase: &str, total: f64) -> f64 {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let ends = state.phases.iter().skip(1).map(|(_, start)| *start).chain([total]);
        let spans = state.phases.iter().zip(ends);
        // Not `sum`, whose empty sum of floats is −0.
        spans
            .filter(|((name, _), _)| *name == phase)
            .fold(0.0, |seconds, ((_, start), end)| seconds + (end - start).max(0.0))
    }
}

/// Thousandths of the way from the first residual down to the tolerance, in logarithms.
fn way(first: f64, now: f64, tolerance: f64) -> u64 {
    let whole = (first / tolerance).ln();
    let come = (first / now).ln();
    let part = come / whole;
    if part.is_finite() { (part.clamp(0.0, 1.0) * STEPS as f64) as u64 } else { 0 }
}

fn line(progress: &Progress) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(phase: &'static str, elapsed: f64, residual: f64) -> Progress {
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
        let line = line(&progress("lobpcg", 12.0, 1e-3));
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

    #[test]
    fn seconds_are_told_apart_by_phase() {
        let display = Display::new();
        for (phase, elapsed) in [("lobpcg", 0.0), ("lobpcg", 2.0), ("certify", 3.0), ("certify", 4.0)] {
            display.show(&progress(phase, elapsed, 0.1));
        }
        assert_eq!(display.seconds_of("lobpcg", 5.0), 3.0);
        assert_eq!(display.seconds_of("certify", 5.0), 2.0);
        assert_eq!(display.seconds_of("dense", 5.0), 0.0);
    }
}
