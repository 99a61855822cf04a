//! The model file: TOML in, a checked [`ModelFile`] out.
//!
//! Sections `[model]`, `[lattice]`, `[sector]` are required (`[sector]` not with `name = "terms"`), or `[ci]` for a molecule, or `[su3]` for
//! an interaction; `[solve]`, `[observables]` and `[output]` are not. Nothing is guessed: a key that is not known is refused with the nearest one that is, and every
//! problem of a file is shown at its place.
//!
//! docs/lattices.md, "The model file", has the tables of the keys, with meanings and defaults; docs/models.md, docs/symmetries.md,
//! docs/molecules.md, docs/dmrg.md and docs/su3.md those of the other sections. [`SolveSpec`] and [`OutputSpec`] hold the defaults of
//! their sections.
//!
//! In place of a value, `{ sweep = [1, 2, 4] }` solves the file for each value of the list ([`ParameterSweep`]).
//!
//! A weight multiplies t, or both Jxy and Jz. Lists of one value per bond follow [`Lattice::bonds`].

mod charges;
mod ci;
mod dmrg;
mod drives;
mod entanglement;
mod evolve;
mod family;
mod imports;
pub(crate) mod interval;
mod lattice;
mod matrix;
mod model;
mod model_file;
mod nearest;
mod observables;
mod orbital_chain;
mod other_format;
mod problem;
mod section;
mod sector;
mod sectors;
mod site_sums;
mod solve;
mod spectrum;
mod su3;
mod sweep;
mod symmetry;
mod terms;
mod thermal;
mod time_function;

pub use dmrg::{DmrgSpec, WrittenStart};
pub use drives::{Drive, DrivenOperator};
pub use entanglement::EntanglementSpec;
pub use evolve::{EvolveSpec, PulseForm, StartSpec, VectorPotential};
pub use family::Family;
pub use lattice::parse_lattice;
pub use matrix::{MatrixFile, MatrixFileError, MatrixNameError, MatrixSource, read_molecule};
pub use model::ModelSpec;
pub(crate) use nearest::nearest as nearest_word;
pub use observables::{ObservableText, ObservablesSpec};
pub(crate) use orbital_chain::{OrbitalChain, S_SQUARED, TWO_BODY};
pub use problem::{InputError, InputProblem, TooManyStates, Wrong};
pub(crate) use sector::{sector_keys, sector_text};
pub use solve::{ALL_STATES, OutputSpec, SOLVERS, SolveSpec};
pub use spectrum::{AveragedStates, SpectrumMethod, SpectrumSpec, WantedMomenta};
pub use sweep::{JoinedPoint, MOST_POINTS, ParameterSweep, SweptPoint};
pub(crate) use sweep::{label_of, short, value_of};
pub use terms::TermsSpec;
pub use thermal::{ThermalEnsemble, ThermalMethod, ThermalSpec};
pub use time_function::TimeFunction;

use crate::basis::LISTED_BITS;
use crate::basis::Sector;
use crate::ci::{CiSpec, SpaceSpec};
use crate::dmrg::{Chain, DmrgError, Options, narrow_order};
use crate::lattice::Lattice;
use crate::observable::{Names, Observable};
use crate::operator::{OperatorError, SiteKind, Symmetry};
use crate::path::FamilyFault;
use crate::su3::{InteractionInput, Su3Spec};
use crate::words::grouped;
use eigenforge_runtime::input_file::{FileKind, STANDARD_INPUT, check_ending, read_text_bytes, shown_name};
use eigenforge_runtime::solvers::{Preconditioner, Start};
use eigenforge_templates::ScalarType;
use miette::NamedSource;
use model::ModelKind;
use section::{ParsedText, Problems, Section, Source};
use std::fmt;
use std::path::{Path, PathBuf};

/// A model file that has been read and checked: the sector exists on the lattice and every list has its length.
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// Name of the file, as error messages and reports show it.
    pub name: String,
    /// The whole text, kept for the report.
    pub text: String,
    /// `[model]`.
    pub model: ModelSpec,
    /// `[lattice]`.
    pub lattice: Lattice,
    /// `[sector]`.
    pub sector: Sector,
    /// `[symmetry]`; `None` if there is no such section.
    pub symmetry: Option<Symmetry>,
    /// `[solve]`, with defaults.
    pub solve: SolveSpec,
    /// `[observables]`, with defaults.
    pub observables: ObservablesSpec,
    /// The operators that its texts describe.
    pub observed: Vec<Observable>,
    /// `[entanglement]`; `None` if there is no such section.
    pub entanglement: Option<EntanglementSpec>,
    /// `[spectrum]`; `None` if there is no such section.
    pub spectrum: Option<SpectrumSpec>,
    /// `[thermal]`; `None` if there is no such section.
    pub thermal: Option<ThermalSpec>,
    /// `[evolve]`; `None` if there is no such section.
    pub evolve: Option<EvolveSpec>,
    /// H(t) where numbers of the model are functions of time; `model` then has their values at time 0.
    pub driven: Option<DrivenOperator>,
    /// `[output]`, with defaults.
    pub output: OutputSpec,
}

/// A file about a molecule, read and checked as far as that goes without its integrals.
#[derive(Debug, Clone)]
pub struct CiFile {
    /// Name of the file, as error messages and reports show it.
    pub name: String,
    /// The whole text, kept for the report.
    pub text: String,
    /// `[ci]`, its paths taken from the folder of the file.
    pub ci: CiSpec,
    /// `[solve]`, with defaults.
    pub solve: SolveSpec,
    /// `[observables]`, with defaults; sites are the orbitals of the space.
    pub observables: ObservablesSpec,
    /// `[spectrum]`; `None` if there is no such section.
    pub spectrum: Option<SpectrumSpec>,
    /// `[output]`, with defaults.
    pub output: OutputSpec,
}

/// A model on a lattice, or the orbitals of a molecule, to be solved by DMRG; its `[solve]` holds defaults only.
#[derive(Debug, Clone)]
pub struct DmrgFile {
    /// Model, lattice, sector, output.
    pub model: ModelFile,
    /// `[dmrg]`.
    pub dmrg: DmrgSpec,
    /// The molecule of a file that also has `[ci]`, or whose model is an FCIDUMP file; its active orbitals are the sites.
    pub(crate) orbitals: Option<OrbitalChain>,
}

/// A file about an interaction.
#[derive(Debug, Clone)]
pub struct Su3File {
    /// Name of the file, as error messages and reports show it.
    pub name: String,
    /// The whole text, kept for the report.
    pub text: String,
    /// `[su3]`, its paths taken from the folder of the file.
    pub su3: Su3Spec,
}

/// Any kind of file.
#[derive(Debug, Clone)]
pub enum InputFile {
    /// A model on a lattice, to be diagonalised.
    Lattice(Box<ModelFile>),
    /// A model on a lattice, for DMRG.
    Dmrg(Box<DmrgFile>),
    /// A molecule.
    Ci(Box<CiFile>),
    /// An interaction, into SU(3) tensors.
    Su3(Box<Su3File>),
    /// A Hermitian matrix.
    Matrix(Box<MatrixFile>),
    /// Any of these with a list of values for some of its keys.
    Sweep(Box<ParameterSweep>),
}

impl InputFile {
    /// Reads and checks a file, or standard input for `-`; one with a section `[dmrg]` is for DMRG, one with `[ci]` alone about a
    /// molecule, one with `[su3]` about an interaction; one that ends in .npz, .mtx or .mtx.gz is a matrix.
    ///
    /// # Errors
    /// The file cannot be read, or everything that is wrong with it.
    pub fn read(path: &Path) -> Result<InputFile, InputError> {
        if let Some(file) = InputFile::read_matrix(path)? {
            return Ok(file);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        InputFile::parse(&shown_name(path), &text_of(path)?, folder)
    }

    /// Checks the text of a file; `name` is what errors call it, `folder` where its paths begin.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<InputFile, InputError> {
        InputFile::parse_with(name, Source { text, folder }, InputFile::read_point)
    }

    /// A file whose points, or which itself, a reader takes.
    fn parse_with(
        name: &str,
        source: Source<'_>,
        read_point: fn(&str, &ParsedText<'_>) -> Result<InputFile, InputError>,
    ) -> Result<InputFile, InputError> {
        let parsed = ParsedText::new(source);
        match ParameterSweep::read(name, &parsed, read_point)? {
            Some(sweep) => Ok(InputFile::Sweep(Box::new(sweep))),
            None => read_point(name, &parsed),
        }
    }

    /// Reads a file like [`InputFile::read`], whose model may have numbers that are functions of `time` ([`ModelFile::driven`]).
    ///
    /// # Errors
    /// As of [`InputFile::read`]; a text that is no function of time.
    pub fn read_evolving(path: &Path) -> Result<InputFile, InputError> {
        if let Some(file) = InputFile::read_matrix(path)? {
            return Ok(file);
        }
        let (name, text, folder) = (shown_name(path), text_of(path)?, path.parent().unwrap_or(Path::new("")));
        InputFile::parse_evolving(&name, &text, folder)
    }

    /// Checks the text of such a file.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse_evolving(name: &str, text: &str, folder: &Path) -> Result<InputFile, InputError> {
        InputFile::parse_with(name, Source { text, folder }, InputFile::read_evolving_point)
    }

    /// Reads a file like [`InputFile::read`], for all symmetry sectors of a lattice model: each symmetry with a name that H has and
    /// that the file does not name is "all". With it come the reasons why others are not. Files of other families are as they are.
    ///
    /// # Errors
    /// As of [`InputFile::read`].
    pub fn read_all_sectors(path: &Path) -> Result<(InputFile, Vec<String>), InputError> {
        if let Some(file) = InputFile::read_matrix(path)? {
            return Ok((file, Vec::new()));
        }
        let (name, text, folder) = (shown_name(path), text_of(path)?, path.parent().unwrap_or(Path::new("")));
        InputFile::parse_all_sectors(&name, &text, folder)
    }

    /// Checks the text of such a file.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse_all_sectors(name: &str, text: &str, folder: &Path) -> Result<(InputFile, Vec<String>), InputError> {
        let file = InputFile::with_states_of_sector(name, &sectors::with_some(text), folder)?;
        // Which symmetries H has may depend on the charges.
        let points: Vec<&InputFile> = match &file {
            InputFile::Sweep(sweep) if sweep.charges => sweep.points.iter().map(|point| &point.file).collect(),
            InputFile::Sweep(sweep) => vec![&sweep.points[0].file],
            file => vec![file],
        };
        let of_lattices = points.into_iter().filter_map(|file| match file {
            InputFile::Lattice(file) => Some(&**file),
            _ => None,
        });
        let of_lattices: Vec<&ModelFile> = of_lattices.collect();
        if of_lattices.is_empty() {
            return Ok((file, Vec::new()));
        }
        let (text, notes) = sectors::with_all(&of_lattices, text);
        Ok((InputFile::parse(name, &text, folder)?, notes))
    }

    /// The same with as many states as the sector has where more are asked for.
    fn with_states_of_sector(name: &str, text: &str, folder: &Path) -> Result<InputFile, InputError> {
        let whole = InputFile::parse(name, text, folder);
        let most = whole.as_ref().err().and_then(InputError::most_states);
        match (most, most.and_then(|_| sweep::states_key(ParsedText::new(Source { text, folder }).any_table()))) {
            (Some(most), Some(place)) => {
                let (before, after) = (&text[..place.start], &text[place.end..]);
                InputFile::parse(name, &format!("{before}{most}{after}"), folder)
            }
            _ => whole,
        }
    }

    /// The matrix of a file whose ending is that of one.
    fn read_matrix(path: &Path) -> Result<Option<InputFile>, InputError> {
        let file = MatrixFile::read(path).map_err(|fault| InputError::Matrix(FamilyFault::new(fault)))?;
        Ok(file.map(|file| InputFile::Matrix(Box::new(file))))
    }

    /// The whole text; of a matrix what it is, in a line.
    pub fn text(&self) -> &str {
        match self {
            InputFile::Lattice(file) => &file.text,
            InputFile::Dmrg(file) => &file.model.text,
            InputFile::Ci(file) => &file.text,
            InputFile::Su3(file) => &file.text,
            InputFile::Matrix(file) => &file.text,
            InputFile::Sweep(sweep) => &sweep.text,
        }
    }

    /// Whether a lattice model has a section of a verb that makes curves.
    pub(crate) fn has_curves(&self) -> bool {
        match self {
            InputFile::Lattice(file) => file.spectrum.is_some() || file.thermal.is_some() || file.evolve.is_some(),
            _ => false,
        }
    }

    /// `[output]`; none of an interaction, whose result is a file of its own. Of a sweep, that of all points.
    pub fn output(&self) -> Option<&OutputSpec> {
        match self {
            InputFile::Lattice(file) => Some(&file.output),
            InputFile::Dmrg(file) => Some(&file.model.output),
            InputFile::Ci(file) => Some(&file.output),
            InputFile::Su3(_) => None,
            InputFile::Matrix(file) => Some(&file.output),
            InputFile::Sweep(sweep) => sweep.points[0].file.output(),
        }
    }

    /// Checks a text without sweeps whose model may have functions of `time`.
    fn read_evolving_point(name: &str, parsed: &ParsedText<'_>) -> Result<InputFile, InputError> {
        if parsed.has_section("dmrg") {
            return match DmrgFile::read_driven(name, parsed) {
                Some(file) => Ok(InputFile::Dmrg(Box::new(file?))),
                None => InputFile::read_point(name, parsed),
            };
        }
        match ModelFile::read_driven(name, parsed) {
            Some(file) => Ok(InputFile::Lattice(Box::new(file?))),
            None => InputFile::read_point(name, parsed),
        }
    }

    /// Checks a text without sweeps.
    fn read_point(name: &str, parsed: &ParsedText<'_>) -> Result<InputFile, InputError> {
        let is_chain = parsed.has_section("dmrg") && !parsed.has_section("su3");
        Ok(match ["ci", "su3", "dmrg"].into_iter().find(|section| parsed.has_section(section)) {
            Some("ci") if is_chain => InputFile::Dmrg(Box::new(DmrgFile::read(name, parsed)?)),
            Some("ci") => InputFile::Ci(Box::new(CiFile::read(name, parsed)?)),
            Some("su3") => InputFile::Su3(Box::new(Su3File::read(name, parsed)?)),
            Some(_) => {
                drives::refuse(name, parsed)?;
                InputFile::Dmrg(Box::new(DmrgFile::read(name, parsed)?))
            }
            None => {
                drives::refuse(name, parsed)?;
                InputFile::Lattice(Box::new(ModelFile::read_parsed(name, parsed)?))
            }
        })
    }
}

fn text_of(path: &Path) -> Result<String, InputError> {
    let unreadable = |source| InputError::Read { path: path.into(), source };
    let bytes = read_text_bytes(path, FileKind::MODEL).map_err(unreadable)?;
    if let Some(refusal) = other_format::refusal(path, &bytes) {
        return Err(refusal);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        InputError::NotText { path: path.into(), valid }
    })?;
    check_last_number(&text).map_err(unreadable)?;
    Ok(text)
}

/// Refuses a text that ends within a line on what may be half a number: `u = 4.0` that was cut is `u = 4`.
fn check_last_number(text: &str) -> std::io::Result<()> {
    let ends_open = |last: &str| {
        let value = last.split('#').next().unwrap_or_default();
        !last.contains('#') && value.ends_with(|end: char| end.is_ascii_digit() || "._".contains(end))
    };
    if text.rsplit('\n').next().is_some_and(ends_open) { check_ending(text) } else { Ok(()) }
}

/// A path of a file, from the folder that the file is in; `-` in a file is the name of a file.
fn resolve_path(folder: &Path, path: &Path) -> PathBuf {
    let path = folder.join(path);
    if path.as_os_str() == STANDARD_INPUT { Path::new(".").join(path) } else { path }
}

/// Checks a text by `collect`; every problem is shown at its place.
fn checked<T>(name: &str, text: &str, collect: impl FnOnce(&Problems) -> Option<T>) -> Result<T, InputError> {
    let problems = Problems::default();
    match collect(&problems).filter(|_| problems.is_empty()) {
        Some(file) => Ok(file),
        None => {
            let problems = problems.into_sorted().into_iter().map(|problem| problem.clipped(text)).collect();
            let text = NamedSource::new(name, text.to_string()).with_language("TOML");
            Err(InputError::Invalid { text, problems })
        }
    }
}

impl CiFile {
    /// Checks the text of a file; `name` is what errors call it, `folder` where its paths begin.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<CiFile, InputError> {
        CiFile::read(name, &ParsedText::new(Source { text, folder }))
    }

    fn read(name: &str, parsed: &ParsedText<'_>) -> Result<CiFile, InputError> {
        checked(name, parsed.source.text, |problems| CiFile::collect(name, parsed, problems))
    }

    fn collect(name: &str, parsed: &ParsedText<'_>, problems: &Problems) -> Option<CiFile> {
        let Source { text, folder } = parsed.source;
        let file = Section::new("", parsed.table(problems)?, 0..0, problems);
        let why = "a file describes a molecule, [ci], or a model on a lattice";
        file.refuse_others(
            "ci",
            &["model", "lattice", "sector", "symmetry", "dmrg", "su3", "entanglement", "thermal", "evolve"],
            why,
        );
        let section = file.open("ci");
        let has_storage = section.as_ref().is_some_and(|section| section.has("storage"));
        let (mut ci, states) = section.and_then(|section| ci::read(section, false))?;
        let solve = file.open("solve");
        let own = solve.as_ref().is_some_and(|section| section.has("states"));
        let storage_place = solve.as_ref().map_or(0..0, |section| section.place("storage"));
        let mut solve = solve.map_or_else(SolveSpec::default, |section| solve::read(section, problems));
        if let Some(states) = states {
            if own && (solve.all || states != solve.states) {
                let why = "give `states` once, in [ci] or in [solve]";
                problems.add(file.place("ci"), Wrong::Conflict { key: "ci.states", other: "solve.states", why });
            }
            solve.states = states;
        }
        solve.share_storage(("[ci]", has_storage.then_some(ci.storage)), storage_place.clone(), problems);
        ci.storage = solve.storage();
        if !has_storage && ci::has_needless_format(&ci) {
            problems
                .add(storage_place, Wrong::Conflict { key: "storage", other: "ci.format", why: ci::NEEDLESS_FORMAT });
        }
        let observables = file
            .open("observables")
            .map_or_else(ObservablesSpec::default, |section| observables::collect(section, problems));
        if solve.precision != ScalarType::F64 {
            let why = "configuration interaction uses f64 vectors only; leave `precision` out";
            problems.add(file.place("solve"), Wrong::Conflict { key: "precision", other: "ci", why });
        }
        let output = file.open("output").map_or_else(OutputSpec::default, solve::read_output);
        let spectrum = file.open("spectrum").and_then(|section| spectrum::read_of_molecule(section, problems));
        file.finish("section", |_| None);
        ci.fcidump = resolve_path(folder, &ci.fcidump);
        if let SpaceSpec::File(path) = &mut ci.space {
            *path = resolve_path(folder, path);
        }
        if let Some(path) = &mut ci.dipole {
            *path = resolve_path(folder, path);
        }
        Some(CiFile { name: name.into(), text: text.into(), ci, solve, observables, spectrum, output })
    }
}

impl InputError {
    /// A problem at a place of a file with this name and text.
    fn at_place((name, text): (&str, &str), problem: InputProblem) -> InputError {
        let source = NamedSource::new(name, text.to_string()).with_language("TOML");
        InputError::Invalid { text: source, problems: vec![problem.clipped(text)] }
    }
}

impl CiFile {
    /// A problem at a place of the file.
    pub(crate) fn refused(&self, problem: InputProblem) -> InputError {
        InputError::at_place((&self.name, &self.text), problem)
    }

    /// The observables of the file, whose sites are the orbitals of the space.
    ///
    /// # Errors
    /// Texts that describe no operator of these orbitals, each at its place.
    pub fn observed(&self, orbitals: usize) -> Result<Vec<Observable>, InputError> {
        checked(&self.name, &self.text, |problems| {
            let kinds = vec![SiteKind::Electrons; orbitals];
            let names = Names::new(kinds, None, Vec::new());
            let observables = self.observables.read(&names, &self.text, problems);
            self.observables.check_electrons(&observables, problems);
            Some(observables)
        })
    }
}

impl Su3File {
    /// Checks the text of a file; `name` is what errors call it, `folder` where its paths begin.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Su3File, InputError> {
        Su3File::read(name, &ParsedText::new(Source { text, folder }))
    }

    fn read(name: &str, parsed: &ParsedText<'_>) -> Result<Su3File, InputError> {
        let Source { text, folder } = parsed.source;
        checked(name, text, |problems| {
            let file = Section::new("", parsed.table(problems)?, 0..0, problems);
            let why = "[su3] must be alone in its file: an interaction has no lattice, sector or eigensolver";
            file.refuse_others(
                "su3",
                &[
                    "model",
                    "lattice",
                    "sector",
                    "symmetry",
                    "dmrg",
                    "solve",
                    "observables",
                    "entanglement",
                    "spectrum",
                    "thermal",
                    "evolve",
                    "output",
                ],
                why,
            );
            let force = file.has("force").then(|| su3::force(&file, name, text));
            let terms = file.open("hamiltonian").and_then(|section| su3::hamiltonian(section, force.as_ref()));
            let spec = file.open("su3").and_then(|section| su3::read(section, force, terms));
            file.finish("section", |_| None);
            let mut spec = spec?;
            if let InteractionInput::File(path) = &mut spec.interaction {
                *path = resolve_path(folder, path);
            }
            spec.output = resolve_path(folder, &spec.output);
            Some(Su3File { name: name.into(), text: text.into(), su3: spec })
        })
    }
}

impl DmrgFile {
    /// Checks the text of a file; `name` is what errors call it. Its paths begin in the working folder.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str) -> Result<DmrgFile, InputError> {
        DmrgFile::read(name, &ParsedText::new(Source { text, folder: Path::new("") }))
    }

    fn read(name: &str, parsed: &ParsedText<'_>) -> Result<DmrgFile, InputError> {
        checked(name, parsed.source.text, |problems| {
            let file = Section::new("", parsed.table(problems)?, 0..0, problems);
            if file.has("ci") {
                return orbital_chain::collect(file, name, parsed.source, problems);
            }
            if file.has("solve") {
                let why = "[dmrg] has its own keys for what [solve] sets for a diagonalisation";
                file.problem("solve", Wrong::Conflict { key: "solve", other: "dmrg", why });
                file.open("solve");
            }
            let (section, place) = (file.open("dmrg"), file.place("dmrg"));
            let model = ModelFile::collect_from(file, name, parsed.source, problems);
            let sites = model.as_ref().map(|model| model.lattice.sites().len());
            let sites = sites.map(|count| dmrg::SiteNumbers { numbers: (0..count).collect(), what: "site" });
            let dmrg = section.map(|section| dmrg::read(section, sites, parsed.source.folder));
            let (model, dmrg) = (model?, dmrg?);
            if let Err(error) = model.operator().refuse_projections("DMRG") {
                problems.add(place, Wrong::Operator(error));
            }
            let orbitals = OrbitalChain::from_terms(&model);
            Some(DmrgFile { model, dmrg, orbitals })
        })
    }

    /// The model along the chain, in the order of the file or one of short bonds; of orbitals, that of their exchange integrals.
    ///
    /// # Errors
    /// A model that cannot be laid out as a chain.
    pub fn chain(&self) -> Result<Chain, DmrgError> {
        if let Some(orbitals) = &self.orbitals {
            return orbitals.chain(&self.model.operator(), self.model.sector.clone(), self.dmrg.order.as_deref());
        }
        let order = self.dmrg.order.clone().unwrap_or_else(|| narrow_order(&self.model.lattice));
        Chain::new(&self.model.operator(), self.model.sector.clone(), Some(order))
    }

    /// What the file asks for.
    pub fn options(&self) -> Options {
        let own = self.orbitals.iter().flat_map(|orbitals| orbitals.observables(&self.dmrg.options));
        let usual = || self.orbitals.as_ref().map(|_| OrbitalChain::usual_noise(self.dmrg.options.sweeps));
        Options {
            noise: self.dmrg.options.noise.clone().or_else(usual),
            standard: self.model.observables.standard,
            vectors: self.model.output.vectors,
            observables: self.model.observed.iter().cloned().chain(own).collect(),
            ..self.dmrg.options.clone()
        }
    }
}

impl ModelFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, or everything that is wrong with it.
    pub fn read(path: &Path) -> Result<ModelFile, InputError> {
        let (text, folder) = (text_of(path)?, path.parent().unwrap_or(Path::new("")));
        ModelFile::read_parsed(&shown_name(path), &ParsedText::new(Source { text: &text, folder }))
    }

    /// Checks the text of a file; `name` is what errors call it. Its paths begin in the working folder.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str) -> Result<ModelFile, InputError> {
        ModelFile::read_parsed(name, &ParsedText::new(Source { text, folder: Path::new("") }))
    }

    fn read_parsed(name: &str, parsed: &ParsedText<'_>) -> Result<ModelFile, InputError> {
        checked(name, parsed.source.text, |problems| ModelFile::collect(name, parsed, problems))
    }

    fn collect(name: &str, parsed: &ParsedText<'_>, problems: &Problems) -> Option<ModelFile> {
        let table = parsed.table(problems)?;
        let file = Section::new("", table, 0..0, problems);
        for (section, wrong) in [("ci", Wrong::Molecule), ("dmrg", Wrong::Dmrg)] {
            if file.has(section) {
                file.problem(section, wrong);
                return None;
            }
        }
        let collected = ModelFile::collect_from(file, name, parsed.source, problems)?;
        if matches!(collected.model, ModelSpec::SpinHubbard { .. }) {
            let section = Section::new("", table, 0..0, problems);
            problems.add(section.place("model"), Wrong::FlavoursNeedDmrg);
        }
        Some(collected)
    }

    fn collect_from(file: Section<'_>, name: &str, source: Source<'_>, problems: &Problems) -> Option<ModelFile> {
        let drafted = file.open("model").and_then(|section| model::read(section, &file, problems));
        let any_sector = matches!(drafted, Some((ModelKind::Terms, _))) || file.has("thermal");
        for (table, example) in REQUIRED {
            if !(file.has(table) || (any_sector && table == "sector")) {
                problems.add(0..0, Wrong::MissingTable { table, example });
            }
        }
        let most = SiteLimit::new(file.has("dmrg"), drafted.as_ref());
        let lattice = file.open("lattice").and_then(|section| lattice::read(section, most, problems));
        let sector_place = if file.has("sector") { file.place("sector") } else { file.place("model") };
        let sector_section = file.open("sector");
        let exchange = sector_section.as_ref().filter(|section| section.has("exchange"));
        let has_symmetry = file.has("symmetry") || exchange.is_some();
        let mut symmetry = file.open("symmetry").and_then(|section| symmetry::read(section, problems));
        if let Some(sector) = exchange {
            symmetry = symmetry::with_exchange_of(sector, symmetry, problems);
        }
        if file.has("dmrg") {
            let why =
                "DMRG has no lattice symmetries: leave [symmetry] out, or leave [dmrg] out to diagonalise exactly";
            symmetry.take().into_iter().for_each(|draft| draft.refuse(problems, "dmrg", why));
        }
        let solve_section = file.open("solve");
        let [states_place, storage_place] =
            ["states", "storage"].map(|key| solve_section.as_ref().map_or(0..0, |section| section.place(key)));
        let mut solve = solve_section.map_or_else(SolveSpec::default, |section| solve::read(section, problems));
        let of_symmetry = symmetry.as_ref().and_then(symmetry::Draft::storage);
        solve.share_storage(("[symmetry]", of_symmetry), storage_place, problems);
        let observables = file
            .open("observables")
            .map_or_else(ObservablesSpec::default, |section| observables::collect(section, problems));
        let spectrum = file.open("spectrum").map(|section| spectrum::read(section, problems));
        let thermal_place = file.place("thermal");
        let has_thermal = file.has("thermal");
        let thermal = file.open("thermal").and_then(|section| thermal::read(section, thermal_place.clone(), problems));
        // Of a lattice that could not be read any site will do.
        let sites = lattice.as_ref().map_or(usize::MAX, |lattice| lattice.sites().len());
        let entanglement = file.open("entanglement").map(|section| entanglement::read(section, sites, problems));
        let evolve =
            file.open("evolve").map(|section| evolve::read(section, source, (sites, file.has("dmrg")), problems));
        let exact = "it is made of exact states: leave it out, or leave [dmrg] out to diagonalise exactly";
        let ensemble = "[sector] is an ensemble for [thermal], and one sector for the other: write two files";
        for (key, other, why) in [
            ("spectrum", "dmrg", exact),
            ("thermal", "dmrg", exact),
            ("entanglement", "dmrg", "a chain reports the entropy of every cut: leave it out"),
            ("thermal", "evolve", ensemble),
        ] {
            if file.has(key) && file.has(other) {
                file.problem(key, Wrong::Conflict { key, other, why });
            }
        }
        if let Some(key) = solve.unusual_key() {
            let why = "its curves begin at the lowest states: leave it out, or write two files";
            for other in ["spectrum", "thermal", "evolve"].into_iter().filter(|other| file.has(other)) {
                file.problem("solve", Wrong::Conflict { key, other, why });
            }
        }
        let output = file.open("output").map_or_else(OutputSpec::default, solve::read_output);
        file.finish("section", |_| None);

        let (family, draft) = drafted?;
        let sector = match sector_section {
            None if any_sector => None,
            Some(section) if has_thermal => {
                Some(thermal::read_sector(section, family, thermal.as_ref().map(|spec| spec.ensemble))?)
            }
            section => Some(section.and_then(|section| sector::read(section, family))?),
        };
        let lattice = lattice?;
        let model = draft.and_then(|draft| draft.resolve(&lattice, source, &observables, problems));
        // A spin model whose spin could not be read has no parity to check.
        let two_s = match (&model, family) {
            (Some(ModelSpec::Xxz { two_s, .. }), _) => Some(*two_s),
            (Some(ModelSpec::SpinHubbard { two_f, .. }), _) => Some(*two_f),
            (_, ModelKind::Hubbard | ModelKind::Terms) => Some(1),
            (_, ModelKind::Xxz | ModelKind::SpinHubbard) => None,
        };
        // Without a section, the sector of a file of integrals, or all states.
        let of_file = || match &model {
            Some(ModelSpec::Terms(terms)) => terms.sector.clone(),
            _ => Vec::new(),
        };
        let sector =
            sector.or_else(|| any_sector.then(|| sector::Draft::Charges { charges: of_file(), named: Vec::new() }));
        let declared = match &model {
            Some(ModelSpec::Terms(terms)) => Some(&terms.charges[..]),
            Some(_) => Some(&[][..]),
            None => None,
        };
        let sector = sector
            .zip(two_s)
            .and_then(|(draft, two_s)| draft.resolve((lattice.sites().len(), two_s), declared, problems));
        let (model, sector) = (model?, sector?);
        let (name, text, observed) = (name.into(), source.text, Vec::new());
        let mut file = ModelFile {
            name,
            text: text.into(),
            model,
            lattice,
            sector,
            symmetry: None,
            solve,
            observables,
            observed,
            entanglement: entanglement.flatten(),
            spectrum: spectrum.flatten(),
            thermal: None,
            evolve: evolve.flatten(),
            driven: None,
            output,
        };
        file.observed = file.observables.read(&file.names(), text, problems);
        let checked = match (&file.model, &file.sector) {
            (ModelSpec::Terms(terms), Sector::Charges(charges)) => terms.check_sector(charges),
            (_, Sector::Charges(charges)) => sector::check_charges(&file.declared_operator(), charges),
            _ => Ok(()),
        };
        if let Err(wrong) = checked {
            problems.add(sector_place, wrong);
            return None;
        }
        if let Some(spec) = thermal {
            if let Err(InputProblem { what, span }) = file.check_ensemble(&spec) {
                problems.add(span, what);
            }
            file.thermal = Some(spec);
        }
        if has_symmetry {
            let symmetry = symmetry.filter(|_| !matches!(file.sector, Sector::Flavours(_)))?;
            if !symmetry.is_none() {
                file.symmetry = Some(symmetry.resolve(&file.operator(), &file.sector, problems)?);
            }
        }
        if let Err(error) = file.check_states() {
            problems.add(states_place, Wrong::TooManyStates(error));
        }
        Some(file)
    }

    /// Number of states of the sector; `None` above 2¹²⁷.
    pub fn dimension(&self) -> Option<u128> {
        match (&self.model, &self.sector) {
            (ModelSpec::Terms(terms), Sector::Charges(charges)) => terms.operator.dimension(charges),
            (_, Sector::Charges(charges)) => self.declared_operator().dimension(charges),
            _ => sector::dimension(&self.sector, self.lattice.sites().len(), self.two_s()),
        }
    }

    /// Whether the sector has as many states as are asked for; to be asked again when a command line changes `states`.
    ///
    /// # Errors
    /// [`TooManyStates`], with both numbers.
    pub fn check_states(&self) -> Result<(), TooManyStates> {
        match self.dimension() {
            Some(dimension) if dimension < self.solve.states as u128 => {
                Err(TooManyStates { states: self.solve.states, dimension })
            }
            _ => Ok(()),
        }
    }

    /// Twice the spin of a site: of electrons 1, of fermions with flavours 2F.
    pub fn two_s(&self) -> u32 {
        match &self.model {
            ModelSpec::Hubbard { .. } | ModelSpec::Terms(_) => 1,
            ModelSpec::SpinHubbard { two_f, .. } => *two_f,
            ModelSpec::Xxz { two_s, .. } => *two_s,
        }
    }
}

/// How many sites a file may have, which is asked before there is a lattice.
#[derive(Debug, Clone, Copy)]
enum SiteLimit {
    /// The bits of a site, and those of a state.
    Bits(u32, u32),
    /// A chain of DMRG.
    Chain,
}

impl SiteLimit {
    fn new(dmrg: bool, drafted: Option<&(ModelKind, Option<model::Draft>)>) -> SiteLimit {
        match drafted {
            _ if dmrg => SiteLimit::Chain,
            Some((ModelKind::Xxz, Some(model::Draft::Xxz { two_s, .. }))) => {
                SiteLimit::Bits(u32::BITS - two_s.leading_zeros(), LISTED_BITS)
            }
            Some((ModelKind::Terms, Some(model::Draft::Terms(draft)))) => {
                SiteLimit::Bits(draft.bits_a_site(), LISTED_BITS)
            }
            // Flavours need [dmrg], which is what will be said of them.
            Some((ModelKind::SpinHubbard, _)) => SiteLimit::Chain,
            // The word of each species.
            _ => SiteLimit::Bits(1, u64::BITS),
        }
    }

    /// Refuses what is beyond it.
    fn check(self, sites: usize) -> Result<(), Wrong> {
        let most = crate::dmrg::MOST_SITES;
        match self {
            SiteLimit::Bits(width, limit) => {
                let bits = sites as u128 * u128::from(width);
                match bits > u128::from(limit) {
                    true => Err(Wrong::TooManyBits(OperatorError::TooManySites { sites, bits, limit })),
                    false => Ok(()),
                }
            }
            SiteLimit::Chain if sites > most => Err(Wrong::ChainTooLong { sites, most }),
            SiteLimit::Chain => Ok(()),
        }
    }
}

/// What is about to be solved, with every convention and default in the open.
impl fmt::Display for ModelFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let solve = &self.solve;
        let dimension = self
            .dimension()
            .map_or("too many states to count".into(), |dimension| format!("dimension {}", grouped(dimension)));
        writeln!(out, "model    {}: {}", self.model.name(), self.model.formula())?;
        writeln!(out, "         {}", self.model.amplitudes())?;
        writeln!(out, "lattice  {}", self.lattice.describe())?;
        writeln!(out, "sector   {}: {dimension}", sector_text(&self.sector))?;
        let states = solve.states_text();
        let guard = solve.guard.map_or(String::new(), |guard| format!(", {guard} guard vectors"));
        // A solver that is chosen later brings its own.
        let is_open = solve.solver.is_none() && solve.preconditioner == Preconditioner::None;
        let preconditioner = match is_open {
            true => String::new(),
            false => format!(", preconditioner {}", solve.preconditioner.name()),
        };
        write!(
            out,
            "solve    solver {}, {states}{guard}, tolerance {:e} on |Hx - λx| / |H|, at most {} iterations{preconditioner}, \
             seed {}{}{}{}",
            solve.solver_name(),
            solve.tolerance,
            solve.max_iterations,
            solve.seed,
            if solve.start == Start::Random { ", random start" } else { "" },
            if solve.certify { ", multiplets certified" } else { ", multiplets not certified" },
            if solve.precision == ScalarType::F32 { ", vectors of f32" } else { "" }
        )
    }
}

const REQUIRED: [(&str, &str); 3] = [
    ("model", "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0"),
    ("lattice", "[lattice]\nkind = \"square\"\nsize = [4, 4]\nboundary = [\"open\", \"open\"]"),
    ("sector", "[sector]\nup = 4\ndown = 4"),
];

#[cfg(test)]
mod tests;
