//! The levels of a whole sector, put together from its symmetry sectors.
//!
//! In: the rows of a sweep over symmetry sectors. Out: the lowest levels of all of them, ascending, each with how many states it has,
//! their total spins, and in which sectors they are. They are the levels of the whole sector if the symmetry sectors together have all of
//! its states. Where each sector was asked for its highest levels, or those nearest to an energy, it is these of all sectors, in that order.
//! Levels of sectors are one level if their energies differ by no more than how far each may be from an eigenvalue: its
//! residual, and the rounding of H, which is a share of its norm. Where charges run over all of their values it is the levels of all
//! sectors. Beyond the last level that was computed of a sector with more states nothing is listed, for states could be missing there.

use super::level_spin::{one_spin, spins_text};
use super::{EnergyFormat, KeyValues, LevelRecord, MomentumRecord, ParameterSweepRecord, SpinCount, SweptOutcome};
use eigenforge_runtime::solvers::SpectrumPart;
use eigenforge_runtime::solvers::levels::{BoundedEnergy, group_levels};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Levels that a terminal shows.
const SHOWN: usize = 16;

/// Sectors that a terminal names of a level.
const NAMED: usize = 2;

/// A level of all symmetry sectors of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SectorLevel {
    /// The lowest energy of the level's states.
    pub energy: f64,
    /// How far it may be off, with the rounding of H.
    pub residual: f64,
    /// Its states, those of sectors that were joined included.
    pub states: u64,
    /// Whether these are all in the sectors of the sweep; else there may be more.
    pub complete: bool,
    /// How many of its states have each total spin, ascending; `None` where they are not all known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spins: Option<Vec<SpinCount>>,
    /// How far it is above the first: of the highest, 0 or less.
    #[serde(default)]
    pub above: f64,
    /// S, where all of its states have the same.
    #[serde(default)]
    pub s: Option<f64>,
    /// The symmetry sectors with a state in it.
    pub sectors: Vec<LevelSector>,
    /// The same in words, such as "k = 1 and 9, spin_inversion = -1".
    pub texts: Vec<String>,
}

/// The states of a level in one symmetry sector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelSector {
    /// The number of the row, from 0, at which it was solved, or its equal was.
    pub point: usize,
    /// Momentum, irrep, signs and charges by their keys.
    pub values: KeyValues,
    /// Its momentum, if it has one.
    pub momentum: Option<MomentumRecord>,
    /// How many states of the level are in it.
    pub states: u64,
    /// How many of these have each total spin; `null` where it is not known.
    pub spins: Option<Vec<SpinCount>>,
}

/// A level of a sector.
struct Found<'r> {
    bounded: BoundedEnergy,
    point: usize,
    level: &'r LevelRecord,
}

/// How far an energy is from where a part of the spectrum begins, less a number that is the same for all: levels are listed by it. That number
/// keeps the digits of energies far from the centre.
fn distance(part: SpectrumPart, energy: f64) -> f64 {
    match part {
        SpectrumPart::Lowest => energy,
        SpectrumPart::Highest => -energy,
        SpectrumPart::Nearest(centre) if centre >= 0.0 => f64::max(-energy, energy - 2.0 * centre),
        SpectrumPart::Nearest(centre) => f64::max(energy, 2.0 * centre - energy),
    }
}

impl SweptOutcome {
    /// Which of its levels were looked for.
    pub(super) fn part(&self) -> SpectrumPart {
        let which = self.report.get("which").cloned();
        which.and_then(|which| serde_json::from_value(which).ok()).unwrap_or_default()
    }

    /// Whether its levels have all states of the sector.
    fn has_all_states(&self) -> bool {
        self.levels.iter().map(|level| level.multiplicity as u64).sum::<u64>() == self.dimension
    }

    /// Its levels, each with how far it may be off.
    fn bounded_levels(&self, number: usize) -> impl Iterator<Item = Found<'_>> {
        let mut first = 0;
        self.levels.iter().map(move |level| {
            let errors = self.uncertainties.iter().skip(first).take(level.returned);
            first += level.returned;
            let error = errors.fold(0.0f64, |most, error| most.max(*error));
            // Adding the constant rounds, too.
            let rounding = self.rounding + f64::EPSILON * level.energy.abs();
            Found { bounded: BoundedEnergy { energy: level.energy, error, rounding }, point: number, level }
        })
    }

    /// The momentum of one of its sectors: of its own, or of one that was joined.
    pub(super) fn momentum_of(&self, values: &KeyValues) -> Option<MomentumRecord> {
        let found = match values.get("symmetry.k") {
            None => self.report.pointer("/symmetry/momentum")?,
            Some(k) => {
                let is_k = |momentum: &&serde_json::Value| {
                    momentum["k"] == *k || momentum["k"].as_array().is_some_and(|all| all[..] == [k.clone()])
                };
                self.report.pointer("/lattice/momenta")?.as_array()?.iter().find(is_k)?
            }
        };
        serde_json::from_value(found.clone()).ok()
    }

    /// How often each of its energies is there, in the sectors that were joined and by its irrep.
    fn copies(&self) -> u64 {
        (1 + self.joined.len() as u64) * self.degeneracy as u64
    }

    /// The momenta and irreps of its own charges that were joined.
    pub(super) fn joined_places(&self) -> Vec<&str> {
        self.joined.iter().map(|joined| &joined.text[..]).filter(|text| !text.contains(" = ")).collect()
    }

    /// The charges that were joined, "two_sz = -2", each with all momenta that it has.
    pub(super) fn joined_sectors(&self) -> Vec<&str> {
        // Those of another momentum or irrep follow from them.
        let plain = |text: &&str| text.contains(" = ") && !text.contains("k = ") && !text.contains("irrep = ");
        self.joined.iter().map(|joined| &joined.text[..]).filter(plain).collect()
    }
}

impl ParameterSweepRecord {
    /// Which levels of its points were looked for, where that is the same of all.
    pub(super) fn part(&self) -> SpectrumPart {
        self.points.first().map_or(SpectrumPart::Lowest, SweptOutcome::part)
    }

    /// Puts together the lowest levels of all points; none where the points are not all symmetry sectors of one, or did not all converge.
    pub(crate) fn join_levels(&mut self) {
        if self.whole.is_none() || !self.converged() {
            return;
        }
        let part = self.part();
        let mut found: Vec<Found<'_>> =
            self.points.iter().enumerate().flat_map(|(number, point)| point.bounded_levels(number)).collect();
        found.sort_by(|a, b| a.bounded.energy.total_cmp(&b.bounded.energy));
        // Up to here every sector's levels are known.
        let unfinished = self.points.iter().enumerate().filter(|(_, point)| !point.has_all_states());
        let last = unfinished.filter_map(|(number, point)| point.bounded_levels(number).last());
        let known = last
            .map(|found| distance(part, found.bounded.energy) + found.bounded.error + found.bounded.rounding)
            .fold(f64::INFINITY, f64::min);
        let groups = group_levels(&found.iter().map(|found| found.bounded).collect::<Vec<_>>());
        let mut rest = &found[..];
        let mut grouped = Vec::new();
        for size in groups.sizes {
            let (level, others) = rest.split_at(size);
            grouped.push(level);
            rest = others;
        }
        grouped.sort_by(|a, b| distance(part, a[0].bounded.energy).total_cmp(&distance(part, b[0].bounded.energy)));
        let is_known =
            |level: &&&[Found<'_>]| distance(part, level[0].bounded.energy) - level[0].bounded.error <= known;
        let mut levels: Vec<SectorLevel> =
            grouped.iter().take_while(is_known).map(|level| self.level_of_all(level)).collect();
        let told = levels.last().map_or(f64::NEG_INFINITY, |level| distance(part, level.energy));
        let undecided = groups.undecided.filter(|undecided| distance(part, undecided.energy) <= told);
        self.warnings = undecided.map(|undecided| undecided.warning()).into_iter().collect();
        let first = levels.first().map_or(0.0, |level| level.energy);
        levels.iter_mut().for_each(|level| level.above = level.energy - first);
        self.levels = levels;
    }

    /// Levels of sectors that are one level.
    fn level_of_all(&self, level: &[Found<'_>]) -> SectorLevel {
        let mut points: Vec<usize> = level.iter().map(|found| found.point).collect();
        points.sort_unstable();
        points.dedup();
        let copies = |found: &Found<'_>| self.points[found.point].copies();
        let mut spins = Some(Vec::new());
        for found in level {
            let own = found.level.spin.as_ref().and_then(|spin| spin.spins.as_ref()).filter(|spins| !spins.is_empty());
            match (&mut spins, own) {
                (Some(sum), Some(own)) => SpinCount::add(sum, own, copies(found)),
                _ => spins = None,
            }
        }
        SectorLevel {
            above: 0.0,
            s: one_spin(spins.as_deref()),
            sectors: level.iter().flat_map(|found| self.sectors_of(found)).collect(),
            energy: level[0].bounded.energy,
            residual: level[0].bounded.error + level[0].bounded.rounding,
            states: level.iter().map(|found| copies(found) * found.level.multiplicity as u64).sum(),
            complete: level.iter().all(|found| found.level.complete),
            spins,
            texts: points.into_iter().map(|point| self.sector_text(point)).collect(),
        }
    }

    /// The sector of a level and those that were joined to it, each with its states.
    fn sectors_of(&self, found: &Found<'_>) -> Vec<LevelSector> {
        let row = &self.points[found.point];
        let times = row.degeneracy as u64;
        let spins = found.level.spin.as_ref().and_then(|spin| spin.spins.clone()).filter(|spins| !spins.is_empty());
        let spins = spins.map(|spins| {
            let of = |spin: SpinCount| SpinCount { states: times * spin.states, ..spin };
            spins.into_iter().map(of).collect::<Vec<_>>()
        });
        let values = std::iter::once(&row.values).chain(row.joined.iter().map(|joined| &joined.values));
        let sector = |values: &KeyValues| LevelSector {
            point: found.point,
            momentum: row.momentum_of(values),
            values: values.clone(),
            states: times * found.level.multiplicity as u64,
            spins: spins.clone(),
        };
        values.map(sector).collect()
    }

    /// "k = 1 and 9, spin_inversion = -1".
    fn sector_text(&self, point: usize) -> String {
        let (row, label) = (&self.points[point], self.label(point));
        let own: Vec<&str> = label.split(", ").filter(|part| !part.ends_with(" = none")).collect();
        let label = self.with_places(point, own.join(", "), &row.joined_places());
        match &row.joined_sectors()[..] {
            [] => label,
            others => format!("{label}, and at {}", others.join("; ")),
        }
    }

    /// A sector with the momenta or irreps that were joined to it.
    fn with_places(&self, point: usize, label: String, joined: &[&str]) -> String {
        let Some(last) = joined.last() else { return label };
        let key = |name: &str| self.keys.iter().position(|key| key == name);
        let own = match (key("symmetry.k"), key("symmetry.irrep")) {
            (Some(k), _) => format!("k = {}", self.points[point].texts[k]),
            (None, Some(irrep)) => format!("irrep = {}", self.points[point].texts[irrep]),
            (None, None) => return label,
        };
        let several = match &joined[..joined.len() - 1] {
            [] => format!("{own} and {last}"),
            others => format!("{own}, {} and {last}", others.join(", ")),
        };
        label.replacen(&own, &several, 1)
    }

    /// Whether the sectors are those of all values of a charge.
    pub(super) fn runs_over_charges(&self) -> bool {
        self.whole.is_some() && self.keys.iter().any(|key| key.starts_with("sector."))
    }

    /// The levels for a terminal; nothing if there are none.
    pub(super) fn write_levels(&self, out: &mut String) {
        let (Some(whole), false) = (self.whole, self.levels.is_empty()) else { return };
        let shown = &self.levels[..self.levels.len().min(SHOWN)];
        let energies: Vec<(f64, f64)> = shown.iter().map(|level| (level.energy, level.residual)).collect();
        let format = EnergyFormat::new(energies.iter().copied());
        let texts: Vec<String> = energies.iter().map(|(energy, known)| format.text(*energy, *known)).collect();
        let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max("energy".len());
        let together: u64 = self.points.iter().map(|point| point.dimension * point.copies()).sum();
        let words = crate::words::grouped;
        let (all, sector) = match self.runs_over_charges() {
            true => ("all sectors", "these charges"),
            false => ("the whole sector", "the sector"),
        };
        let _ = writeln!(
            out,
            "\n{} of {} ({} of the {} states of {sector})",
            match self.part() {
                SpectrumPart::Lowest => "lowest levels".into(),
                SpectrumPart::Highest => "highest levels".into(),
                SpectrumPart::Nearest(energy) => format!("levels nearest to {energy}"),
            },
            if together == whole { all } else { "the sectors above" },
            words(together.into()),
            words(whole.into())
        );
        let spins: Vec<String> =
            shown.iter().map(|level| level.spins.as_ref().map_or(String::new(), |spins| spins_text(spins))).collect();
        let wide = spins.iter().map(String::len).max().filter(|wide| *wide > 0);
        // No column where no level has spins.
        let column = |text: &str| wide.map_or(String::new(), |wide| format!("   {text:>wide$}"));
        let _ = writeln!(out, "  {:>width$}   {:>10}   {:>11}{}   in", "energy", "above", "states", column("S"));
        for ((level, energy), spins) in shown.iter().zip(&texts).zip(&spins) {
            let states = if level.complete { level.states.to_string() } else { format!("{} or more", level.states) };
            let mut sectors = level.texts[..level.texts.len().min(NAMED)].join("; ");
            if level.texts.len() > NAMED {
                let _ = write!(sectors, "; {} more", level.texts.len() - NAMED);
            }
            let above = level.above;
            let _ = writeln!(out, "  {energy:>width$}   {above:>10.6}   {states:>11}{}   {sectors}", column(spins));
        }
        if self.levels.len() > shown.len() {
            let _ = writeln!(out, "  {} more in the report", self.levels.len() - shown.len());
        }
    }
}
