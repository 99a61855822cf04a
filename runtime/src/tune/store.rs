//! Stored choices: one small RON file each, written beside its place and renamed. A folder that others may write to is
//! not used.

use crate::jit::Settings;
use crate::private::{self, Trust};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Size limit of a choice in bytes.
const LIMIT: u64 = 1 << 20;

/// The conditions under which a choice is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Hash of the text from the rule's shape.
    pub problem: String,
    /// The card.
    pub device: String,
    /// The CUDA version of its driver, such as "13.0".
    pub driver: String,
    /// Version of eigenforge.
    pub generator: String,
}

/// The outcome of a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Its conditions.
    pub conditions: Conditions,
    /// The problem's name, for display.
    pub name: String,
    /// The chosen shape, by its name in the family.
    pub shape: String,
    /// Its time, in milliseconds.
    pub milliseconds: f64,
    /// The time of the rule's shape in the same race.
    pub rule_milliseconds: f64,
    /// Every candidate with its time.
    pub tried: Vec<(String, f64)>,
}

/// The folder of choices.
#[derive(Clone, Debug)]
pub struct Choices {
    folder: Option<PathBuf>,
}

impl Conditions {
    /// The hash of all of them.
    pub fn key(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for part in [&self.problem, &self.device, &self.driver, &self.generator] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }
}

impl Choices {
    /// The folder `<kernel cache>-tuned`; none if there is no cache, or if others may write to it.
    pub fn open(settings: &Settings) -> Choices {
        Choices { folder: settings.beside_cache("-tuned") }
    }

    /// No folder: nothing is found or stored.
    pub fn none() -> Choices {
        Choices { folder: None }
    }

    /// The folder of choices, if any.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn path(&self, conditions: &Conditions) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.ron", &conditions.key()[..32])))
    }

    /// Stores a choice, and returns its file; else why there is none, with what to do.
    pub fn keep_or_say(&self, choice: &Choice) -> Result<PathBuf, String> {
        match self.keep(choice) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => {
                Err("the kernel cache is off, and choices are kept beside it: name a folder in EIGENFORGE_CACHE".into())
            }
            Err(error) => Err(format!("{error}; name a writable folder in EIGENFORGE_CACHE")),
        }
    }

    /// The choice for these conditions. A file that is unreadable, or has other conditions, is ignored.
    pub fn find(&self, conditions: &Conditions) -> Option<Choice> {
        let text = Trust::current_user().read_text(&self.path(conditions)?, LIMIT).ok()?;
        match ron::from_str::<Choice>(&text) {
            Ok(choice) if choice.conditions == *conditions => Some(choice),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!("a tuned choice cannot be read and is left aside: {error}");
                None
            }
        }
    }

    /// Stores a choice, replacing an earlier one; returns its file, `None` if nothing is stored.
    pub fn keep(&self, choice: &Choice) -> io::Result<Option<PathBuf>> {
        let Some(path) = self.path(&choice.conditions) else { return Ok(None) };
        let text = ron::ser::to_string_pretty(choice, Default::default()).map_err(io::Error::other)?;
        private::replace(&path, text.as_bytes())?;
        Ok(Some(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> Choice {
        let conditions = Conditions {
            problem: "abc".into(),
            device: "a card".into(),
            driver: "13.0".into(),
            generator: "0.1.0".into(),
        };
        let tried = vec![("one".into(), 2.0), ("two".into(), 1.5)];
        let (name, shape) = ("a problem".into(), "(threads: 256)".into());
        Choice { conditions, name, shape, milliseconds: 1.5, rule_milliseconds: 2.0, tried }
    }

    fn choices(folder: &Path) -> Choices {
        Choices { folder: Some(folder.join("tuned")) }
    }

    #[test]
    fn a_choice_is_found_under_its_own_conditions_only() {
        let folder = tempfile::tempdir().unwrap();
        let (choices, choice) = (choices(folder.path()), choice());
        assert_eq!(choices.find(&choice.conditions), None);
        let path = choices.keep(&choice).unwrap().unwrap();
        assert_eq!(choices.find(&choice.conditions), Some(choice.clone()));
        let changes: [fn(&mut Conditions); 4] = [
            |c| c.problem = "abd".into(),
            |c| c.device = "another card".into(),
            |c| c.driver = "13.1".into(),
            |c| c.generator = "0.1.1".into(),
        ];
        for change in changes {
            let mut other = choice.conditions.clone();
            change(&mut other);
            assert_eq!(choices.find(&other), None);
            // Even under the other's name it is not taken for the other's.
            std::fs::copy(&path, choices.path(&other).unwrap()).unwrap();
            assert_eq!(choices.find(&other), None);
        }
        let better = Choice { milliseconds: 1.0, ..choice.clone() };
        choices.keep(&better).unwrap();
        assert_eq!(choices.find(&choice.conditions), Some(better));
    }

    #[test]
    fn torn_files_count_as_never_tuned_and_no_folder_keeps_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (choices, choice) = (choices(folder.path()), choice());
        let path = choices.keep(&choice).unwrap().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 1, whole.len() / 2, whole.len() - 2] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(choices.find(&choice.conditions), None, "{length} bytes");
        }
        let none = Choices::none();
        assert_eq!(none.keep(&choice).unwrap(), None);
        assert_eq!(none.find(&choice.conditions), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_that_the_caller_tells() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tuned"), "a file in the way").unwrap();
        assert!(choices(folder.path()).keep(&choice()).is_err());
    }
}
