//! What a sweep of parameters leaves behind: a row for each point, with the whole report of the point behind it.
//!
//! In: the [`Outcome`] of each point. Out: JSON, and the files of a folder: sweep.json, sweep.csv, tower.csv and pictures.

use super::levels::SectorLevel;
use super::magnetisation::Magnetisation;
use super::outcome::{text_file, write_pictures};
use super::sweep_picture::PICTURES;
use super::{FamilyRecord, LevelRecord, LevelSpinRecord, Outcome, ReportError, json};
use crate::input::{JoinedPoint, SweptPoint, label_of, value_of};
use crate::su3::ChannelSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// KeyValues by their keys, such as "model.u".
pub type KeyValues = serde_json::Map<String, serde_json::Value>;

/// A sector whose energies are those of a sector that was solved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JoinedSector {
    /// By what is different: "9" of k = 9, "two_sz = -2, k = 9".
    pub text: String,
    /// The value of each key.
    pub values: KeyValues,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptOutcome {
    /// "u = 4, jz = 1".
    pub label: String,
    /// The value of each key: a number, a list or a text; `null` for a sign that the sector has not.
    pub values: KeyValues,
    /// The same as written in the file, in the order of the keys.
    pub texts: Vec<String>,
    /// The folder with its report, in that of the sweep; `None` where none was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Momenta, irreps and charges whose sectors have the same energies and were not solved again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<JoinedSector>,
    /// States of the sector or determinants of the space; 0 of a chain and of a transformation.
    #[serde(default)]
    pub dimension: u64,
    /// How often each of its levels is there: the states of its irrep.
    #[serde(default = "super::lattice::one", skip_serializing_if = "super::lattice::is_one")]
    pub degeneracy: usize,
    /// The lowest energies; none of a transformation.
    #[serde(deserialize_with = "super::record::nullable")]
    pub energies: Vec<f64>,
    /// The states of each energy's level, as far as is known; none of DMRG and of a transformation.
    pub multiplicities: Vec<usize>,
    /// S of each energy's level; `null` where it is not known or the level has several.
    pub s: Vec<Option<f64>>,
    /// ⟨S²⟩ of each energy's level, the mean over it; `null` where it is not known.
    pub s_squared: Vec<Option<f64>>,
    /// Their levels, with the total spins; none of DMRG and of a transformation.
    pub levels: Vec<LevelRecord>,
    /// How far each energy may be off; empty of DMRG and of a transformation.
    #[serde(deserialize_with = "super::record::nullable")]
    pub uncertainties: Vec<f64>,
    /// What rounding may leave between equal energies, from the norm of H.
    pub rounding: f64,
    /// Σ C² of the strengths of a transformation, by channel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub norms: BTreeMap<String, f64>,
    /// ‖Hx − λx‖ of each energy, of DMRG its variance, of a transformation its defect; `null` where it was not computed.
    pub certificates: Vec<Option<f64>>,
    /// Whether all states meet the tolerance.
    pub converged: bool,
    /// The lowest level's averages of the observables that have one value.
    pub observables: BTreeMap<String, f64>,
    /// Seconds of the point, from its model to its report.
    pub seconds: f64,
    /// The whole report of the point.
    pub report: serde_json::Value,
}

/// What shows how good a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// ‖Hx − λx‖.
    #[default]
    Residual,
    /// ⟨H²⟩ − ⟨H⟩² of a matrix-product state.
    Variance,
    /// How far the coefficients of a transformation are from orthogonal.
    Defect,
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A sweep when it ends, and after each point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParameterSweepRecord {
    /// The version of the fields, [`super::SCHEMA`].
    pub schema: u32,
    /// Name of the model file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The keys that change, such as "model.u".
    pub keys: Vec<String>,
    /// What the certificates are.
    pub certificate: Certificate,
    /// How many texts of a generated multiply the points share; 0 where no generated kernel ran.
    pub shared_texts: usize,
    /// The points so far.
    pub points: Vec<SweptOutcome>,
    /// States of the sectors whose symmetry sectors the points are; `None` where anything else changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<u64>,
    /// The lowest levels of those sectors, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<SectorLevel>,
    /// What must be known of these levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The magnetisation against the field, where sectors of several 2Sz were solved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub magnetisation: Option<Magnetisation>,
    /// From start to end.
    pub seconds: f64,
}

impl SweptOutcome {
    /// The row of an outcome.
    ///
    /// # Errors
    /// A report that does not fit JSON.
    pub fn new(keys: &[String], point: &SweptPoint, outcome: &Outcome) -> Result<SweptOutcome, ReportError> {
        let certificates = outcome.certificates();
        let averages = outcome.observables.averages.iter();
        let observables = averages.filter_map(|(name, _)| {
            let value = outcome.observables.averages.scalar(name)?;
            Some((name.to_string(), value))
        });
        let channels = match &outcome.family {
            FamilyRecord::Tensors(tensors) => &tensors.summary.channels[..],
            _ => &[],
        };
        let norm = |channel: &ChannelSummary| (channel.channel.word().to_string(), channel.norm_of_strengths);
        let levels = || outcome.spectrum().into_iter().flat_map(|spectrum| &spectrum.levels);
        let spins = |of: fn(&LevelSpinRecord) -> Option<f64>| {
            let each = levels().map(|level| (level.spin.as_ref().and_then(of), level.returned));
            each.flat_map(|(spin, returned)| std::iter::repeat_n(spin, returned)).collect()
        };
        let by_key =
            |texts: &[String]| keys.iter().cloned().zip(texts.iter().map(|text| value_of(text))).collect::<KeyValues>();
        let joined = |joined: &JoinedPoint| JoinedSector { text: joined.text.clone(), values: by_key(&joined.values) };
        Ok(SweptOutcome {
            label: label_of(keys, &point.values),
            values: by_key(&point.values),
            texts: point.values.clone(),
            folder: None,
            joined: point.joined.iter().map(joined).collect(),
            multiplicities: outcome.spectrum().map_or(Vec::new(), |spectrum| spectrum.multiplicities.clone()),
            s: spins(|spin| spin.s),
            s_squared: spins(|spin| Some(spin.s_squared)),
            dimension: outcome.dimension(),
            degeneracy: outcome.degeneracy(),
            energies: outcome.energies.clone(),
            levels: outcome.spectrum().map_or(Vec::new(), |spectrum| spectrum.levels.clone()),
            uncertainties: outcome.spectrum().map_or(Vec::new(), |spectrum| spectrum.uncertainties.clone()),
            rounding: outcome.spectrum().map_or(0.0, |spectrum| spectrum.rounding),
            norms: channels.iter().map(norm).collect(),
            certificates,
            converged: outcome.converged(),
            observables: observables.collect(),
            seconds: outcome.seconds.total,
            report: serde_json::to_value(outcome)?,
        })
    }

    /// The total spins of each energy's level, "0 1 1"; nothing where they are unknown.
    pub(super) fn spins_text(&self) -> String {
        let text = |level: &LevelRecord| level.spin.as_ref().map_or("?".into(), LevelSpinRecord::text);
        let known = self.levels.iter().filter(|_| self.has_spins());
        let texts: Vec<String> = known.flat_map(|level| std::iter::repeat_n(text(level), level.returned)).collect();
        texts.join(" ")
    }

    /// ⟨S²⟩ of each energy's level, "0.0000 2.0000".
    pub(super) fn squares_text(&self) -> String {
        // Rounding may leave −1e-15 of a singlet, which would print as −0.
        let text = |square: &Option<f64>| match square {
            Some(square) if square.abs() < 5e-5 => "0.0000".into(),
            Some(square) => format!("{square:.4}"),
            None => "?".into(),
        };
        self.s_squared.iter().map(text).collect::<Vec<String>>().join(" ")
    }

    /// The states of each energy's level, "1 3 3".
    pub(super) fn multiplicities_text(&self) -> String {
        self.multiplicities.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn has_spins(&self) -> bool {
        self.levels.iter().any(|level| level.spin.is_some())
    }
}

impl ParameterSweepRecord {
    /// Whether every point converged.
    pub fn converged(&self) -> bool {
        self.points.iter().all(|point| point.converged)
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::text(self)
    }

    /// "u = 4, jz = 1" of a point.
    pub fn label(&self, point: usize) -> String {
        self.points[point].label.clone()
    }

    /// Writes `folder`/sweep.csv, which is quick enough to be done after every point.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write_table(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        text_file(&folder.join("sweep.csv"), &self.to_csv())
    }

    /// Writes `folder`/sweep.json, sweep.csv, tower.csv where levels of symmetry sectors were put together, and the pictures that there are,
    /// and removes pictures that an earlier sweep there had and this one has not; returns the paths of what was written.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let json = folder.join("sweep.json");
        let again = json.is_file();
        let json = text_file(&json, &(self.to_json()? + "\n"))?;
        let mut files = vec![self.write_table(folder)?, json];
        if !self.levels.is_empty() {
            files.push(text_file(&folder.join("tower.csv"), &self.tower_csv())?);
        }
        files.extend(write_pictures(folder, self.pictures()?, &PICTURES, again)?);
        Ok(files)
    }
}
