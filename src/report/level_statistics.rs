//! The statistics of neighbouring levels of a whole sector: what tells chaotic spectra from integrable ones.
//!
//! In: all levels of a sector. Out: ⟨r⟩, the mean of r_n = min(δ_n, δ_(n+1)) / max(δ_n, δ_(n+1)) over the gaps δ_n between neighbouring levels
//! (V. Oganesyan and D. A. Huse, Phys. Rev. B 75, 155111 (2007)). No density of states is taken out, which the ratio of neighbours has no need
//! of. Random matrices have 0.5307 if real (GOE) and 0.5996 if complex (GUE), independent levels 2 ln 2 − 1 = 0.3863 (Y. Y. Atas,
//! E. Bogomolny, O. Giraud and G. Roux, Phys. Rev. Lett. 110, 084101 (2013), table I).

use super::LevelRecord;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// ⟨r⟩ of the levels of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelStatistics {
    /// ⟨r⟩.
    pub mean_ratio: f64,
    /// Its standard error, as if the ratios were independent.
    pub standard_error: f64,
    /// How many ratios it is the mean of.
    pub ratios: usize,
    /// Levels, each counted once however many states it has.
    pub levels: usize,
    /// How many of them have several states.
    pub degenerate: usize,
}

impl LevelStatistics {
    /// Of all levels of a sector, in any order; `None` of fewer than four, which have no two ratios.
    pub fn new(levels: &[LevelRecord]) -> Option<LevelStatistics> {
        let mut energies: Vec<f64> = levels.iter().map(|level| level.energy).collect();
        energies.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = energies.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let ratio = |pair: &[f64]| pair[0].min(pair[1]) / pair[0].max(pair[1]);
        // Levels of different energies are apart, so no gap is 0.
        let ratios: Vec<f64> = gaps.windows(2).map(ratio).collect();
        if ratios.len() < 2 || ratios.iter().any(|ratio| !ratio.is_finite()) {
            return None;
        }
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(LevelStatistics {
            mean_ratio: mean,
            standard_error: (variance / count).sqrt(),
            ratios: ratios.len(),
            levels: levels.len(),
            degenerate: levels.iter().filter(|level| level.multiplicity > 1).count(),
        })
    }

    /// Lines of the summary.
    pub(super) fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let LevelStatistics { mean_ratio, standard_error, ratios, levels, degenerate } = self;
        writeln!(
            out,
            "level statistics: <r> {mean_ratio:.4} +- {standard_error:.4} of {ratios} ratios of neighbouring gaps, {levels} levels (GOE \
             0.5307, GUE 0.5996, Poisson 0.3863)"
        )?;
        match degenerate {
            0 => Ok(()),
            count => writeln!(
                out,
                "  {count} of these levels have several states and count once: a symmetry that [symmetry] leaves in mixes its sectors, \
                 which lowers <r>"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(energies: impl Iterator<Item = f64>) -> Vec<LevelRecord> {
        let level = |energy| LevelRecord { energy, multiplicity: 1, returned: 1, complete: true, spin: None };
        energies.map(level).collect()
    }

    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Independent levels: 2 ln 2 − 1; equal gaps: 1; a level of two states is one.
    #[test]
    fn independent_levels_have_the_ratio_of_poisson() {
        let mut state = 7;
        let found = LevelStatistics::new(&levels((0..20_000).map(|_| uniform(&mut state)))).unwrap();
        let poisson = 2.0 * 2f64.ln() - 1.0;
        assert!((found.mean_ratio - poisson).abs() < 4.0 * found.standard_error, "{found:?}");
        assert!(found.standard_error < 0.003 && found.ratios == 19_998, "{found:?}");
        let mut ladder = levels((0..10).map(f64::from));
        ladder[3].multiplicity = 2;
        let found = LevelStatistics::new(&ladder).unwrap();
        assert!((found.mean_ratio - 1.0).abs() < 1e-12 && found.standard_error < 1e-12, "{found:?}");
        assert_eq!((found.levels, found.degenerate, found.ratios), (10, 1, 8));
        assert_eq!(LevelStatistics::new(&ladder[..3]), None);
    }

    /// Real symmetric random matrices: 0.5307 by Atas et al.
    #[test]
    fn real_random_matrices_have_the_ratio_of_the_orthogonal_ensemble() {
        let (n, mut state, mut sum, mut error) = (120, 3, 0.0, 0.0);
        for _ in 0..10 {
            let mut gauss =
                || (-2.0 * uniform(&mut state).ln()).sqrt() * (std::f64::consts::TAU * uniform(&mut state)).cos();
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let value = gauss() * if i == j { 2f64.sqrt() } else { 1.0 };
                    (matrix[i * n + j], matrix[j * n + i]) = (value, value);
                }
            }
            let (values, _) = eigenforge_runtime::solvers::symmetric_eigen(n, &matrix).unwrap();
            let found = LevelStatistics::new(&levels(values.into_iter())).unwrap();
            (sum, error) = (sum + found.mean_ratio / 10.0, error + found.standard_error.powi(2) / 100.0);
        }
        assert!((sum - 0.5307).abs() < 3.0 * error.sqrt() && error.sqrt() < 0.01, "{sum} +- {}", error.sqrt());
    }
}
