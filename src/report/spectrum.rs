//! What a diagonalisation certifies: residuals, levels, multiplicities. Lattice models and molecules share it.

use super::record::nullable;
use super::{HistoryPoint, LevelRecord, LevelSpinRecord, LevelStatistics, StatesFound, Stop};
use eigenforge_runtime::solvers::{SpectrumPart, StartUsed};
use serde::{Deserialize, Serialize};

/// Certificates of the eigenvalues, and how they were found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spectrum {
    /// Which eigenvalues these are, and so their order; left out of the lowest.
    #[serde(default, skip_serializing_if = "is_lowest")]
    pub which: SpectrumPart,
    /// ‖Hx − λx‖ of each energy, recomputed in f64.
    #[serde(deserialize_with = "nullable")]
    pub residuals: Vec<f64>,
    /// How far each energy may be off: its residual, or less where the distance to other levels is known.
    #[serde(default, deserialize_with = "nullable")]
    pub uncertainties: Vec<f64>,
    /// What rounding may leave between equal energies, from the norm of H.
    #[serde(default)]
    pub rounding: f64,
    /// What all states have in common, such as -mu N or the energy of nuclei and cores; in the energies, taken out before the
    /// solve.
    #[serde(default)]
    pub constant: f64,
    /// The energies less the constant, with the digits that a large constant costs them.
    #[serde(default, deserialize_with = "nullable")]
    pub energies_without_constant: Vec<f64>,
    /// The multiplicity of each energy's level.
    pub multiplicities: Vec<usize>,
    /// The levels, each energy once.
    pub levels: Vec<LevelRecord>,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Multiplications with H, certification included.
    pub multiplies: usize,
    /// Why states did not converge and what would help; `null` where all did.
    #[serde(default)]
    pub advice: Option<String>,
    /// What the search started from.
    #[serde(default)]
    pub start: StartUsed,
    /// The first energy and its residual by iteration.
    pub history: Vec<HistoryPoint>,
    /// Of neighbouring levels, where all states of the sector were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_statistics: Option<LevelStatistics>,
}

/// Whether they are the lowest.
fn is_lowest(part: &SpectrumPart) -> bool {
    *part == SpectrumPart::Lowest
}

/// "lowest", "highest" or "nearest": the word of the first level.
pub(super) fn first_word(part: SpectrumPart) -> &'static str {
    match part {
        SpectrumPart::Lowest => "lowest",
        SpectrumPart::Highest => "highest",
        SpectrumPart::Nearest(_) => "nearest",
    }
}

impl Spectrum {
    /// The statistics of its levels, which are all of a sector of so many states; nothing where states are missing.
    pub(crate) fn with_statistics(self, dimension: u64) -> Spectrum {
        let states: u64 = self.levels.iter().map(|level| level.multiplicity as u64).sum();
        let level_statistics = (states == dimension).then(|| LevelStatistics::new(&self.levels)).flatten();
        Spectrum { level_statistics, ..self }
    }

    /// The multiplicity of each returned energy, from the levels in their order.
    pub fn multiplicities_of(levels: &[LevelRecord]) -> Vec<usize> {
        levels.iter().flat_map(|level| std::iter::repeat_n(level.multiplicity, level.returned)).collect()
    }

    /// Whether the multiplicity of each energy is certain.
    pub(super) fn certain(&self) -> Vec<bool> {
        self.levels.iter().flat_map(|level| std::iter::repeat_n(level.complete, level.returned)).collect()
    }

    /// The total spins of each energy's level as text; `None` where no level has them.
    pub(super) fn spin_texts(&self) -> Option<Vec<String>> {
        let text = |level: &LevelRecord| level.spin.as_ref().map_or(String::new(), LevelSpinRecord::text);
        let texts = self.levels.iter().flat_map(|level| std::iter::repeat_n(text(level), level.returned)).collect();
        self.levels.iter().any(|level| level.spin.is_some()).then_some(texts)
    }

    /// The states, as the table and the warnings show them.
    pub(super) fn states<'a>(
        &'a self,
        energies: &'a [f64],
        (tolerance, norm): (f64, f64),
        stop: Stop,
    ) -> StatesFound<'a> {
        StatesFound {
            energies,
            residuals: &self.residuals,
            uncertainties: &self.uncertainties,
            levels: &self.levels,
            constant: self.constant,
            without_constant: &self.energies_without_constant,
            tolerance,
            norm,
            stop,
            advice: self.advice.as_deref(),
        }
    }
}
