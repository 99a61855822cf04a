//! Ours against the reference: energies, multiplicities, residuals, observables, each with its tolerance.
//!
//! A test collects every difference of every case before it fails, so that one run shows all that is wrong.

use std::time::Instant;

use super::ours::Solved;

/// Largest allowed error of an energy.
pub const ENERGY: f64 = 1e-9;
/// Largest allowed error of an observable.
pub const OBSERVABLE: f64 = 1e-7;
/// Residuals asked of the solver.
pub const TOLERANCE: f64 = 1e-8;

/// What differs, over all cases of a test.
#[derive(Default)]
pub struct Differences {
    found: Vec<String>,
    checks: usize,
}

impl Differences {
    /// Notes a difference unless `right`.
    pub fn check(&mut self, right: bool, what: impl FnOnce() -> String) {
        self.checks += 1;
        if !right {
            self.found.push(what());
        }
    }

    /// |ours − reference| ≤ tolerance · max(1, |reference|), NaN being wrong.
    pub fn number(&mut self, what: &str, ours: f64, reference: f64, tolerance: f64) {
        let right = (ours - reference).abs() <= tolerance * reference.abs().max(1.0);
        self.check(right, || {
            format!("{what}: {ours:.12} instead of {reference:.12}, off by {:.1e}", (ours - reference).abs())
        });
    }

    /// Every number of a list.
    pub fn list(&mut self, what: &str, ours: &[f64], reference: &[f64], tolerance: f64) {
        self.check(ours.len() == reference.len(), || {
            format!("{what}: {} values instead of {}", ours.len(), reference.len())
        });
        for (k, (ours, reference)) in ours.iter().zip(reference).enumerate() {
            self.number(&format!("{what}[{k}]"), *ours, *reference, tolerance);
        }
    }

    /// Every number of a matrix.
    pub fn matrix(&mut self, what: &str, ours: &[Vec<f64>], reference: &[Vec<f64>], tolerance: f64) {
        self.check(ours.len() == reference.len(), || {
            format!("{what}: {} rows instead of {}", ours.len(), reference.len())
        });
        for (k, (ours, reference)) in ours.iter().zip(reference).enumerate() {
            self.list(&format!("{what}[{k}]"), ours, reference, tolerance);
        }
    }

    /// Energies, multiplicities and residuals of the lowest levels. The reference's last level may be cut by its
    /// list; ours may be cut by the number of states asked for, and must then say so.
    pub fn levels(
        &mut self,
        what: &str,
        ours: &Solved,
        eigenvalues: &[f64],
        levels: &[(f64, usize)],
        last_may_be_cut: bool,
    ) {
        self.list(&format!("{what}: energies"), &ours.values, eigenvalues, ENERGY);
        self.check(ours.converged, || format!("{what}: not converged: {}", ours.stop));
        let worst =
            ours.residuals.iter().fold(0.0, |worst: f64, r| if r.is_nan() { f64::INFINITY } else { worst.max(*r) });
        self.check(worst <= 10.0 * TOLERANCE, || format!("{what}: a residual of {worst:.1e} by our own multiply"));
        for (k, (value, multiplicity)) in levels.iter().enumerate() {
            let Some(level) = ours.levels.get(k) else {
                self.check(false, || format!("{what}: {} levels instead of {}", ours.levels.len(), levels.len()));
                return;
            };
            self.number(&format!("{what}: level {k}"), level.value, *value, ENERGY);
            let cut = last_may_be_cut && k + 1 == levels.len();
            if !cut && level.complete {
                self.check(level.multiplicity == *multiplicity, || {
                    format!(
                        "{what}: level {k} ({value:.9}) is {}-fold instead of {multiplicity}-fold",
                        level.multiplicity
                    )
                });
            }
            if k + 1 < levels.len() {
                self.check(level.complete, || {
                    format!("{what}: level {k} ({value:.9}) is said to be cut, and is not the last")
                });
            }
        }
    }

    /// Fails with everything found.
    pub fn finish(self) {
        assert!(self.checks > 0, "nothing was checked");
        assert!(
            self.found.is_empty(),
            "{} of {} checks failed:\n{}",
            self.found.len(),
            self.checks,
            self.found.join("\n")
        );
        println!("{} checks", self.checks);
    }
}

/// Prints the time of one case.
pub fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let started = Instant::now();
    let result = work();
    println!("{what:40} {:8.3} s", started.elapsed().as_secs_f64());
    result
}
