//! What `bench hubbard --case` names: `paper`, `4x4:5,5` or a MODEL.toml.
//!
//! In: the text. Out: a rectangle with open boundaries and a filling, or the path of a model file.
//! Errors say what was expected and what was found.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use eigenforge::input::{InputError, ModelFile};

/// A problem to time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Case {
    /// An open rectangle, t = 1, U = 4.
    Rectangle {
        /// Sites in x.
        length_x: usize,
        /// Sites in y.
        length_y: usize,
        /// Up electrons.
        up: usize,
        /// Down electrons.
        down: usize,
    },
    /// A Hubbard model in a file.
    File(PathBuf),
}

/// What is wrong with the text of a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// Not one of the three forms.
    #[error("case {text:?}: expected `paper`, LXxLY:UP,DOWN such as 4x4:5,5, or the path of a MODEL.toml")]
    Form {
        /// What was given.
        text: String,
    },
    /// More electrons of a spin than sites.
    #[error("case {text:?}: {particles} electrons of one spin on {sites} sites; at most one fits on each")]
    TooMany {
        /// What was given.
        text: String,
        /// Electrons of one spin.
        particles: usize,
        /// Sites.
        sites: usize,
    },
    /// Too large for any machine this is meant for.
    #[error("case {text:?}: {sites} sites; the bench takes 1 to 24 (its sparse factors have 32-bit indices)")]
    Sites {
        /// What was given.
        text: String,
        /// Sites.
        sites: usize,
    },
}

impl FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Case, CaseError> {
        if text == "paper" {
            return Ok(Case::Rectangle { length_x: 4, length_y: 4, up: 7, down: 7 });
        }
        if text.ends_with(".toml") {
            return Ok(Case::File(PathBuf::from(text)));
        }
        let form = || CaseError::Form { text: text.to_string() };
        let pair = |part: &str, separator: char| -> Option<(usize, usize)> {
            let (a, b) = part.split_once(separator)?;
            Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
        };
        let (shape, filling) = text.split_once(':').ok_or_else(form)?;
        let (length_x, length_y) = pair(shape, 'x').ok_or_else(form)?;
        let (up, down) = pair(filling, ',').ok_or_else(form)?;
        let sites = length_x.saturating_mul(length_y);
        if !(1..=24).contains(&sites) {
            return Err(CaseError::Sites { text: text.to_string(), sites });
        }
        if up.max(down) > sites {
            return Err(CaseError::TooMany { text: text.to_string(), particles: up.max(down), sites });
        }
        Ok(Case::Rectangle { length_x, length_y, up, down })
    }
}

impl Case {
    /// The model file of the case: read, or written here for a rectangle.
    pub fn model_file(&self) -> Result<ModelFile, InputError> {
        match self {
            Case::File(path) => ModelFile::read(path),
            Case::Rectangle { length_x, length_y, up, down } => {
                let text = format!(
                    "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n\n\
                     [lattice]\nkind = \"square\"\nsize = [{length_x}, {length_y}]\nboundary = [\"open\", \"open\"]\n\n\
                     [sector]\nup = {up}\ndown = {down}\n"
                );
                ModelFile::parse(&self.to_string(), &text)
            }
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Case::Rectangle { length_x, length_y, up, down } => write!(f, "{length_x}x{length_y}:{up},{down}"),
            Case::File(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms() {
        let rectangle = |length_x, length_y, up, down| Case::Rectangle { length_x, length_y, up, down };
        assert_eq!("paper".parse(), Ok(rectangle(4, 4, 7, 7)));
        assert_eq!("4x4:5,5".parse(), Ok(rectangle(4, 4, 5, 5)));
        assert_eq!("examples/a.toml".parse(), Ok(Case::File("examples/a.toml".into())));
    }

    #[test]
    fn wrong_cases_say_what_was_expected() {
        for (text, part) in [
            ("", "expected `paper`"),
            ("4x4", "expected `paper`"),
            ("4x4:5", "expected `paper`"),
            ("4x-4:5,5", "expected `paper`"),
            ("4x4:17,1", "17 electrons of one spin on 16 sites"),
            ("0x4:0,0", "0 sites"),
            ("18446744073709551615x2:1,1", "sites"),
        ] {
            let error = text.parse::<Case>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    /// 4×4 open has 24 bonds (the paper's 144,144 = 24 · 6,006), and the case reads back as itself.
    #[test]
    fn the_papers_lattice_has_24_bonds() {
        let case: Case = "paper".parse().unwrap();
        let file = case.model_file().unwrap();
        assert_eq!(file.lattice.bonds().len(), 24);
        assert_eq!(case.to_string().parse(), Ok(case));
    }
}
