//! The model file: TOML in, a checked [`ModelFile`] out.
//!
//! Sections `[model]`, `[lattice]`, `[sector]` are required, `[solve]` and `[output]` are not. Nothing is guessed: a key
//! that is not known is refused with the nearest one that is, and every problem of a file is shown at its place.
//!
//! | section | key | meaning | default |
//! |---|---|---|---|
//! | `[model]` | `name` | `"hubbard"` or `"xxz"` | required |
//! | hubbard | `t` | hopping: a number, or one a bond; the Hamiltonian has −t | required |
//! | | `u` | repulsion: a number, or one a site | required |
//! | | `potential` | ε of Σ ε_i n_i: a number, or one a site | 0 |
//! | | `mu` | chemical potential of −μ Σ n_i: a number | 0 |
//! | | `v` | V of Σ_⟨ij⟩ V_ij n_i n_j: a number, or one a bond; **not** multiplied by the bond's weight | 0 |
//! | xxz | `spin` | 0.5, 1, 1.5, … | 0.5 |
//! | | `jxy`, `jz` | couplings, > 0 antiferromagnetic: a number, or one a bond; times the bond's weight | required |
//! | | `field` | h of Σ h_i Sz_i: a number, or one a site | 0 |
//! | | `single_ion` | D of Σ D_i (Sz_i)²: a number, or one a site | 0 |
//! | `[lattice]` | `kind` | `"chain"`, `"ladder"`, `"square"`, `"triangular"`, `"honeycomb"`, `"kagome"` | this, or `sites` |
//! | | `size` | `10` for a chain, else two lengths; ladder `[length, legs]` | required with `kind` |
//! | | `boundary` | `"open"`, `"periodic"` (of a ladder: its length only), or one a direction | open |
//! | | `double_bonds` | weight 2 for a bond that a periodic length of 2 makes twice | false: weight 1 |
//! | | `weights` | a weight for each kind of bond, such as `[leg, rung]` | 1 |
//! | | `further` | weights of the 2nd, 3rd, … neighbours' bonds | none |
//! | | `sites`, `edges` | any graph: `edges = [[0, 1, 1.0], …]`, weight 1 if left out | |
//! | `[sector]` | `up`, `down` | particle numbers (hubbard) | required |
//! | | `two_sz` | twice the total Sz (xxz) | required |
//! | `[solve]` | all keys | see [`SolveSpec`] | see there |
//! | `[output]` | all keys | see [`OutputSpec`] | nothing is written |
//!
//! A weight multiplies t, or both Jxy and Jz. Lists of one value a bond follow [`Lattice::bonds`].

mod lattice;
mod model;
mod nearest;
mod problem;
mod section;
mod sector;
mod solve;

pub use model::ModelSpec;
pub use problem::{InputError, Problem, TooManyStates, Wrong};
pub use sector::SectorSpec;
pub use solve::{OutputSpec, PreconditionerChoice, SolveSpec, SolverChoice, StartChoice};

use crate::lattice::Lattice;
use miette::NamedSource;
use model::Family;
use section::{Problems, Section};
use std::fmt;
use std::path::Path;
use toml::de::DeTable;

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
    pub sector: SectorSpec,
    /// `[solve]`, with defaults.
    pub solve: SolveSpec,
    /// `[output]`, with defaults.
    pub output: OutputSpec,
}

impl ModelFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, or everything that is wrong with it.
    pub fn read(path: &Path) -> Result<ModelFile, InputError> {
        let bytes = std::fs::read(path).map_err(|source| InputError::Read { path: path.into(), source })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            InputError::NotText { path: path.into(), valid }
        })?;
        ModelFile::parse(&path.display().to_string(), &text)
    }

    /// Checks the text of a file; `name` is what errors call it.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn parse(name: &str, text: &str) -> Result<ModelFile, InputError> {
        let problems = Problems::default();
        let file = ModelFile::collect(name, text, &problems);
        match file.filter(|_| problems.is_empty()) {
            Some(file) => Ok(file),
            None => {
                let text = NamedSource::new(name, text.to_string()).with_language("TOML");
                Err(InputError::Invalid { text, problems: problems.into_sorted() })
            }
        }
    }

    fn collect(name: &str, text: &str, problems: &Problems) -> Option<ModelFile> {
        if text.trim().is_empty() {
            problems.add(0..0, Wrong::Empty);
            return None;
        }
        let (parsed, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            problems.add(error.span().unwrap_or(0..0), Wrong::Syntax { message: error.message().into() });
        }
        if !errors.is_empty() {
            return None;
        }
        let file = Section::new("", parsed.get_ref(), 0..0, problems);
        for (table, example) in REQUIRED {
            if !file.has(table) {
                problems.add(0..0, Wrong::MissingTable { table, example });
            }
        }
        let drafted = file.open("model").and_then(|section| model::read(section, problems));
        let lattice = file.open("lattice").and_then(|section| lattice::read(section, problems));
        let sector_section = file.open("sector");
        let solve_section = file.open("solve");
        let states_place = solve_section.as_ref().map_or(0..0, |section| section.place("states"));
        let solve = solve_section.map_or_else(SolveSpec::default, |section| solve::read(section, problems));
        let output = file.open("output").map_or_else(OutputSpec::default, solve::read_output);
        file.finish("section", |_| None);

        let (family, draft) = drafted?;
        let sector = sector_section.and_then(|section| sector::read(section, family));
        let lattice = lattice?;
        let model = draft.and_then(|draft| draft.on(&lattice, problems));
        // A spin model whose spin could not be read has no parity to check.
        let two_s = match (&model, family) {
            (Some(ModelSpec::Xxz { two_s, .. }), _) => Some(*two_s),
            (_, Family::Hubbard) => Some(1),
            (_, Family::Xxz) => None,
        };
        let sector = sector.zip(two_s).and_then(|(draft, two_s)| draft.on(lattice.sites().len(), two_s, problems));
        let (model, sector) = (model?, sector?);
        let file = ModelFile { name: name.into(), text: text.into(), model, lattice, sector, solve, output };
        if let Err(error) = file.check_states() {
            problems.add(states_place, Wrong::TooManyStates(error));
        }
        Some(file)
    }

    /// Number of states of the sector; `None` above 2¹²⁷.
    pub fn dimension(&self) -> Option<u128> {
        self.sector.dimension(self.lattice.sites().len(), self.two_s())
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

    /// Twice the spin of a site: of fermions 1.
    pub fn two_s(&self) -> u32 {
        match &self.model {
            ModelSpec::Hubbard { .. } => 1,
            ModelSpec::Xxz { two_s, .. } => *two_s,
        }
    }
}

/// What is about to be solved, with every convention and default in the open.
impl fmt::Display for ModelFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let solve = &self.solve;
        let dimension = self.dimension().map_or("more than 2^127".into(), grouped);
        writeln!(out, "model    {}: {}", self.model.name(), self.model.formula())?;
        writeln!(out, "         {}", self.model.amplitudes())?;
        writeln!(out, "lattice  {}", self.lattice.describe())?;
        writeln!(out, "sector   {}: dimension {dimension}", self.sector.describe())?;
        let states = if solve.states == 1 { "1 state".into() } else { format!("{} states", solve.states) };
        let guard = solve.guard.map_or(String::new(), |guard| format!(", {guard} guard vectors"));
        write!(
            out,
            "solve    solver {}, {states}{guard}, tolerance {:e} on |Hx - λx|, at most {} iterations, preconditioner {}, \
             seed {}{}{}",
            solve.solver.name(),
            solve.tolerance,
            solve.max_iterations,
            solve.preconditioner.name(),
            solve.seed,
            if solve.start == StartChoice::Random { ", random start" } else { "" },
            if solve.certify { ", multiplets certified" } else { ", multiplets not certified" }
        )
    }
}

/// 130873600 → "130,873,600".
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

const REQUIRED: [(&str, &str); 3] = [
    ("model", "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0"),
    ("lattice", "[lattice]\nkind = \"square\"\nsize = [4, 4]\nboundary = [\"open\", \"open\"]"),
    ("sector", "[sector]\nup = 4\ndown = 4"),
];

#[cfg(test)]
mod tests;
