//! The result of a run of any family: one record, printed as text, as JSON, and written as files.
//!
//! Energies are in the units of the model's amplitudes (t, J; Hartree for molecules), times in seconds, memory in bytes.
//! Numbers that are not finite (a diverged residual) are `null` in JSON, come back as NaN, and are named in `warnings`.

use super::irreps::norm_svg;
use super::json;
use super::record::nullable;
use super::units::{energy_label, energy_unit};
use super::{
    ChainRecord, CostRecord, EnergyFormat, KernelRecord, LatticeRecord, MatrixRecord, MemoryRecord, Method,
    ModelRecord, MoleculeRecord, ReportError, Seconds, Spectrum, StatesFound, Stop, TensorRecord, publish,
};
use crate::observable::{Average, Averages};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The result of a run and how it was obtained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of the fields, [`super::SCHEMA`]; 0 of reports that did not say it.
    #[serde(default)]
    pub schema: u32,
    /// The model file.
    pub model: ModelRecord,
    /// The energies, the lowest ascending, those of another part of the spectrum in its order: eigenvalues, or ⟨H⟩ of the states that DMRG found; none of a transformation.
    #[serde(deserialize_with = "nullable")]
    pub energies: Vec<f64>,
    /// Why it ended.
    pub stop: Stop,
    /// What found the energies or strengths; if the choice was left to "auto", what it chose.
    pub solver: Method,
    /// Why "auto" chose it; `null` where the solver was named.
    #[serde(default)]
    pub solver_reason: Option<String>,
    /// Averages over the lowest level, or the first of another part of the spectrum.
    pub observables: LevelAverages,
    /// Averages of the file's own observables in each state, of a degenerate level over all of its states, in the order of the energies.
    #[serde(default)]
    pub state_observables: Vec<Averages>,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    pub kernels: Vec<KernelRecord>,
    /// Where the time went.
    pub seconds: Seconds,
    /// Versions by name: eigenforge, and of what was used nvrtc, driver, …
    pub versions: BTreeMap<String, String>,
    /// Seed of the start vectors; 0 of a transformation.
    pub seed: u64,
    /// In parts of the norm of H: on the residual norms, or on the change of the energy by a sweep; 0 of a transformation,
    /// which is a finite sum.
    pub tolerance: f64,
    /// The norm of H without the constant, as computed: an upper bound. (1 in reports of old, whose tolerance was absolute.)
    #[serde(default = "one")]
    pub norm: f64,
    /// What a careful reader must know, such as a multiplet that `states` cuts.
    pub warnings: Vec<String>,
    /// What the planner said would be resident.
    pub memory: MemoryRecord,
    /// Least work of the main part of the run, and what it took.
    #[serde(default)]
    pub cost: CostRecord,
    /// What the family adds.
    #[serde(flatten)]
    pub family: FamilyRecord,
}

/// The pictures that a report may have beside it.
const PICTURES: [&str; 5] =
    ["convergence.svg", "structure_factor.svg", "energy.svg", "entropy.svg", "mutual_information.svg"];

/// What each family adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "lowercase")]
pub enum FamilyRecord {
    /// A lattice model that was diagonalised.
    Lattice(Box<LatticeRecord>),
    /// A molecule.
    Molecule(Box<MoleculeRecord>),
    /// A Hermitian matrix.
    Matrix(Box<MatrixRecord>),
    /// A chain that DMRG swept.
    Chain(Box<ChainRecord>),
    /// An interaction that was transformed.
    Tensors(Box<TensorRecord>),
}

/// Averages over all states of the lowest level that were found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LevelAverages {
    /// How many states the averages run over.
    pub averaged_over: usize,
    /// The averages by the names of their observables; matrices are \[site i\]\[site j\].
    #[serde(flatten)]
    pub averages: Averages,
}

fn one() -> f64 {
    1.0
}

impl Outcome {
    /// What a lattice model adds.
    pub fn lattice(&self) -> Option<&LatticeRecord> {
        match &self.family {
            FamilyRecord::Lattice(record) => Some(record),
            _ => None,
        }
    }

    /// The certificates of a diagonalisation.
    pub fn spectrum(&self) -> Option<&Spectrum> {
        match &self.family {
            FamilyRecord::Lattice(record) => Some(&record.spectrum),
            FamilyRecord::Molecule(record) => Some(&record.spectrum),
            FamilyRecord::Matrix(record) => Some(&record.spectrum),
            FamilyRecord::Chain(_) | FamilyRecord::Tensors(_) => None,
        }
    }

    /// What certifies each energy: ‖Hx − λx‖, of DMRG the variance, where it was computed. A transformation has no energies and
    /// one certificate, the defect of its coefficients.
    pub fn certificates(&self) -> Vec<Option<f64>> {
        match (&self.family, self.spectrum()) {
            (_, Some(spectrum)) => spectrum.residuals.iter().copied().map(Some).collect(),
            (FamilyRecord::Chain(chain), _) => chain.variances.clone(),
            (FamilyRecord::Tensors(tensors), _) => vec![Some(tensors.summary.defect)],
            _ => Vec::new(),
        }
    }

    /// States of the sector or determinants of the space; 0 of a chain, whose sector is not listed, and of a transformation.
    pub fn dimension(&self) -> u64 {
        match &self.family {
            FamilyRecord::Lattice(record) => record.dimension,
            FamilyRecord::Molecule(record) => record.dimension,
            FamilyRecord::Matrix(record) => record.dimension,
            FamilyRecord::Chain(_) | FamilyRecord::Tensors(_) => 0,
        }
    }

    /// How often each level is there by the irrep of its symmetry sector.
    pub(super) fn degeneracy(&self) -> usize {
        match &self.family {
            FamilyRecord::Lattice(record) => record.degeneracy,
            _ => 1,
        }
    }

    /// ⟨S²⟩ of the lowest level: the sum of ⟨S_i·S_j⟩ over all pairs, where the standard averages have them.
    pub(super) fn total_spin_squared(&self) -> Option<f64> {
        Some(self.observables.averages.pairs("sdots")?.sum())
    }

    /// The states of a diagonalisation, as the table and the warnings show them.
    pub(super) fn states<'a>(&'a self, spectrum: &'a Spectrum) -> StatesFound<'a> {
        spectrum.states(&self.energies, (self.tolerance, self.norm), self.stop)
    }

    /// Whether every returned state meets the tolerance.
    pub fn converged(&self) -> bool {
        match (&self.family, self.spectrum()) {
            (_, Some(spectrum)) => self.states(spectrum).converged(),
            (FamilyRecord::Chain(chain), _) => self.stop != Stop::Sweeps && chain.excited_converged(),
            _ => true,
        }
    }

    /// Adds what a careful reader must know: cut multiplets, multiplicities that are only bounds, states that did not
    /// converge, numbers that are not finite. To be called once, when everything else is filled in.
    #[must_use]
    pub fn with_warnings(mut self) -> Outcome {
        let mut warnings = self.spectrum().map_or(Vec::new(), |spectrum| self.states(spectrum).warnings());
        if let Some(state) = self.energies.iter().position(|energy| !energy.is_finite()) {
            warnings.push(format!("the energy of state {state} is not a finite number; it is null in JSON"));
        }
        let bad = |averages: &Averages| -> Vec<String> {
            // Some NaN in a list are places that its text leaves out.
            let is_bad = |(_, average): &(&str, &Average)| {
                let values = average.values();
                values.iter().any(|value| value.is_infinite())
                    || (!values.is_empty() && values.iter().all(|value| value.is_nan()))
            };
            averages.iter().filter(is_bad).map(|(name, _)| name.to_string()).collect()
        };
        for name in bad(&self.observables.averages) {
            warnings.push(format!("the observable {name} is not finite and was left out"));
            self.observables.averages.remove(&name);
        }
        for (state, averages) in self.state_observables.iter_mut().enumerate() {
            for name in bad(averages) {
                warnings.push(format!("the observable {name} of state {state} is not finite and was left out"));
                averages.remove(&name);
            }
        }
        self.warnings.extend(warnings);
        self
    }

    /// The record as JSON, in lines.
    ///
    /// # Errors
    /// The serialiser refuses a value, which no report contains.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::text(self)
    }

    /// A record of any family read back.
    ///
    /// # Errors
    /// Text that is not such a record.
    pub fn from_json(text: &str) -> Result<Outcome, ReportError> {
        let mut value: serde_json::Value = serde_json::from_str(text)?;
        if let Some(record) = value.as_object_mut() {
            // Reports of before families had one record.
            record.entry("family").or_insert_with(|| "lattice".into());
            // Those before schemas told the lattice and the symmetry in a sentence.
            for key in ["lattice", "symmetry"] {
                if let Some(text) = record.get(key).filter(|value| value.is_string()).cloned() {
                    record.insert(key.into(), serde_json::json!({ "text": text }));
                }
            }
            if let Some(observables) = record.get_mut("observables").and_then(|found| found.as_object_mut()) {
                observables.retain(|_, average| !average.is_null());
            }
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Writes `folder`/report.json and the family's pictures, and removes those that an earlier report there had and this one has not;
    /// returns the paths of what was written.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let report = folder.join("report.json");
        let again = report.is_file();
        let mut files = vec![text_file(&report, &(self.to_json()? + "\n"))?];
        files.extend(write_pictures(folder, self.pictures()?, &PICTURES, again)?);
        Ok(files)
    }

    /// Writes the report and the picture of a transformation under names of their own; returns these.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub(crate) fn write_as(&self, report: &Path, picture: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = vec![text_file(report, &(self.to_json()? + "\n"))?];
        if let FamilyRecord::Tensors(record) = &self.family {
            files.push(text_file(picture, &norm_svg(&record.summary)?)?);
        }
        Ok(files)
    }

    /// The unit of its energies for labels: " / J".
    pub(super) fn energy_unit(&self) -> &'static str {
        let is_molecule = match &self.family {
            FamilyRecord::Matrix(_) => return " (unit of the elements)",
            FamilyRecord::Molecule(_) => true,
            FamilyRecord::Chain(chain) => chain.molecule.is_some(),
            FamilyRecord::Lattice(_) | FamilyRecord::Tensors(_) => false,
        };
        let family = if is_molecule { "molecule" } else { "lattice" };
        energy_unit(energy_label(family, &self.model.name, &self.model.text))
    }

    /// File names and SVG texts.
    fn pictures(&self) -> Result<Vec<(&'static str, String)>, ReportError> {
        let mut pictures = Vec::new();
        if self.spectrum().is_some_and(|spectrum| !spectrum.history.is_empty()) {
            pictures.push(("convergence.svg", self.convergence_svg()?));
        }
        let spins = match &self.family {
            FamilyRecord::Lattice(record) => record.structure_factor.as_ref().map(|found| (found, &record.lattice)),
            FamilyRecord::Chain(record) => record.structure_factor.as_ref().map(|found| (found, &record.lattice)),
            _ => None,
        };
        if let Some((found, cluster)) = spins {
            pictures.push(("structure_factor.svg", found.svg(&self.model.name, cluster)?));
        }
        if let FamilyRecord::Chain(chain) = &self.family {
            if !chain.search.sweeps.is_empty() {
                let picture = chain.energy_svg(&self.model.name, self.energy_unit(), self.energies[0])?;
                pictures.push(("energy.svg", picture));
            }
            pictures.push(("entropy.svg", chain.entropy_svg(&self.model.name)?));
            if let Some(molecule) = chain.molecule.as_ref().filter(|found| !found.mutual_information.is_empty()) {
                pictures.push(("mutual_information.svg", molecule.mutual_information_svg()?));
            }
        }
        Ok(pictures)
    }

    /// Text for a terminal, without colours, ending in a newline.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_summary(&mut out);
        out
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        out.write_str(&KernelRecord::overridden_text(&self.kernels))?;
        match &self.family {
            FamilyRecord::Lattice(record) => record.write_summary(self, out)?,
            FamilyRecord::Molecule(record) => record.write_summary(self, out)?,
            FamilyRecord::Matrix(record) => self.write_matrix(record, out)?,
            FamilyRecord::Chain(record) => record.write_summary(self, out)?,
            FamilyRecord::Tensors(record) => record.write_summary(self, out)?,
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }

    /// The summary of a matrix.
    fn write_matrix(&self, record: &MatrixRecord, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}: {}\n", self.model.file, record.matrix)?;
        self.write_states(out, ("", 15), None)?;
        self.write_stop(out)?;
        writeln!(out, "{}", record.solved_text())?;
        self.write_seconds(out, "")?;
        self.write_cost(out)?;
        // Not how the shape was found: no other is timed.
        record.shape.as_ref().map_or(Ok(()), |used| writeln!(out, "product {}", used.shape))
    }

    /// The table of a diagonalisation's states; `more` is a further column: its heading and a text for each state.
    pub(super) fn write_states(
        &self,
        out: &mut String,
        (unit, width): (&str, usize),
        more: Option<(String, Vec<String>)>,
    ) -> std::fmt::Result {
        let Some(spectrum) = self.spectrum() else { return Ok(()) };
        let (states, certain) = (self.states(spectrum), spectrum.certain());
        let heading = more.as_ref().map_or(String::new(), |(heading, _)| format!("   {heading}"));
        writeln!(out, "  state   {:>width$}     residual{heading}   multiplicity", format!("energy{unit}"))?;
        for (state, energy) in states.column(width).iter().enumerate() {
            let residual = spectrum.residuals.get(state).copied().unwrap_or(f64::NAN);
            let multiplicity = spectrum.multiplicities.get(state).map_or("?".into(), usize::to_string);
            let bound = if certain.get(state).copied().unwrap_or(false) { "  " } else { ">=" };
            let flag = if states.meets_tolerance(state) { "" } else { "   NOT CONVERGED" };
            let further =
                more.as_ref().and_then(|(_, texts)| texts.get(state)).map_or(String::new(), |t| format!("   {t}"));
            writeln!(out, "  {state:>5}   {energy}   {residual:>10.2e}{further}   {bound}{multiplicity:>10}{flag}")?;
        }
        writeln!(out)?;
        for (energy, spins) in states.mixed_levels() {
            writeln!(out, "the level at {energy} has states of several spins: {spins}")?;
        }
        if let Some(line) = states.constant_line() {
            writeln!(out, "{line}")?;
        }
        spectrum.level_statistics.map_or(Ok(()), |statistics| statistics.write_summary(out))
    }

    /// How an eigensolver ended, and what the residuals are measured by.
    pub(super) fn write_stop(&self, out: &mut String) -> std::fmt::Result {
        let Some(spectrum) = self.spectrum() else { return Ok(()) };
        let how = match self.stop {
            Stop::Dense => "whole spectrum",
            Stop::Stagnated => "STAGNATED above the tolerance",
            Stop::MaxIterations => "STOPPED at max_iterations",
            Stop::Converged | Stop::Sweeps | Stop::Grown | Stop::Finished => "converged",
        };
        let (iterations, multiplies) = (spectrum.iterations, spectrum.multiplies);
        writeln!(out, "{how} by {} on {}: {iterations} iterations, {multiplies} multiplies", self.solver, self.device)?;
        writeln!(out, "{}", self.states(spectrum).tolerance_line())?;
        self.solver_reason.as_ref().map_or(Ok(()), |why| writeln!(out, "solver \"auto\" chose {}: {why}", self.solver))
    }

    /// Where the time went; `rate` is said of the solve.
    pub(super) fn write_seconds(&self, out: &mut String, rate: &str) -> std::fmt::Result {
        let Seconds { setup, compile, solve, certify, observables, total } = self.seconds;
        writeln!(
            out,
            "{total:.2} s: setup {setup:.2}, compile {compile:.2}, solve {solve:.2}{rate}, certify {certify:.2}, observables \
             {observables:.2}"
        )
    }

    /// What the main part of the run took, beside its floor.
    pub(super) fn write_cost(&self, out: &mut String) -> std::fmt::Result {
        match self.cost.to_string() {
            line if line.is_empty() => Ok(()),
            line => writeln!(out, "{line}"),
        }
    }

    /// The file's own observables: values as they are, lists and matrices by how many numbers they have.
    pub(super) fn write_observables(&self, out: &mut String) -> std::fmt::Result {
        let Some(first) = self.state_observables.first() else { return Ok(()) };
        for (name, _) in first.iter() {
            // Below 1e-14 all is rounding of what symmetry makes 0.
            let all = self.state_observables.iter().filter_map(|averages| averages.scalar(name));
            let format = EnergyFormat::new(all.map(|value| (value, 1e-14)));
            let shown = |averages: &Averages| match averages.get(name) {
                Some(Average::Whole(value)) => format.text(*value, 0.0),
                Some(Average::Sites(values)) => format!("{} values{}", values.len(), left_out(values.iter())),
                Some(Average::Pairs(values)) => {
                    format!("{} x {} values{}", values.nrows(), values.ncols(), left_out(values.iter()))
                }
                None => "not finite".into(),
            };
            let by_state: Vec<String> = self.state_observables.iter().map(shown).collect();
            let whole = matches!(first.get(name), Some(Average::Whole(_)));
            let text = if whole { by_state.join(", ") } else { by_state[0].clone() + " in the report" };
            writeln!(out, "<{name}> {text}")?;
        }
        match self.spectrum().is_some_and(|spectrum| spectrum.multiplicities.iter().any(|states| *states > 1)) {
            true => writeln!(out, "states of one level have the mean over the level"),
            false => Ok(()),
        }
    }
}

/// How many places an observable leaves out, in words.
fn left_out<'v>(values: impl Iterator<Item = &'v f64>) -> String {
    match values.filter(|value| value.is_nan()).count() {
        0 => String::new(),
        count => format!(", {count} left out,"),
    }
}

/// Writes pictures into a folder; where an earlier report was `replaced`, those of `all` that are not among them go, for they were of that
/// report. Links and what is no file stay.
pub(super) fn write_pictures(
    folder: &Path,
    pictures: Vec<(&'static str, String)>,
    all: &[&str],
    replaced: bool,
) -> Result<Vec<PathBuf>, ReportError> {
    for name in all.iter().filter(|name| replaced && !pictures.iter().any(|(own, _)| own == *name)) {
        let path = folder.join(name);
        if std::fs::symlink_metadata(&path).is_ok_and(|data| data.is_file()) {
            std::fs::remove_file(&path).map_err(|source| ReportError::Write { file: path.clone(), source })?;
        }
    }
    pictures.into_iter().map(|(name, picture)| text_file(&folder.join(name), &picture)).collect()
}

pub(crate) fn text_file(path: &Path, text: &str) -> Result<PathBuf, ReportError> {
    publish(path, |file| {
        file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { file: path.into(), source })
    })
}
