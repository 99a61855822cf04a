//! Measured numbers on disk: a small sealed file for each device and driver, in a folder beside the kernel cache.
//!
//! In: a device's name and its driver. Out: what was measured there. A torn or altered file, or a file of another device, is ignored
//! with a warning.

use crate::jit::Settings;
use crate::private::{self, Trust};
use crate::say_once;
use crate::sealed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Largest size of a file in bytes.
const LIMIT: u64 = 1 << 16;
/// Raised when the meaning of the numbers changes; older files are then ignored.
const SCHEMA: u32 = 1;

/// A file's contents.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    schema: u32,
    device: String,
    driver: String,
    values: T,
}

/// The folder of measured numbers.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The folder `<kernel cache>-machines`; `None` if there is no cache, or if other users may write to it.
    pub fn open(settings: &Settings) -> Option<Store> {
        Some(Store { folder: settings.beside_cache("-machines")? })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, device: &str, driver: &str) -> PathBuf {
        let mut hash = blake3::Hasher::new();
        for part in [device, driver] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        self.folder.join(format!("{}.ron", &hash.finalize().to_hex()[..32]))
    }

    /// The numbers of a device; a file that cannot be used counts as missing, with a warning on standard error.
    pub fn find<T: DeserializeOwned + Plausible>(&self, device: &str, driver: &str) -> Option<T> {
        let path = self.path(device, driver);
        match read::<T>(&path, device, driver) {
            Ok(values) => values,
            Err(why) => {
                say_once(format_args!(
                    "warning: the rates measured for {device} are left aside, {}: {why}; `eigenforge doctor --measure` measures \
                     them again",
                    path.display()
                ));
                None
            }
        }
    }

    /// Keeps numbers, replacing earlier ones, and returns the file.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep<T: Serialize>(&self, device: &str, driver: &str, values: &T) -> io::Result<PathBuf> {
        let path = self.path(device, driver);
        let kept = Kept { schema: SCHEMA, device: device.into(), driver: driver.into(), values };
        private::replace(&path, sealed::seal(&kept)?.as_bytes())?;
        Ok(path)
    }
}

/// Numbers that are checked to be rates.
pub trait Plausible {
    /// Whether every rate is a positive number.
    fn is_plausible(&self) -> bool;
}

/// `None` if there is no such file.
fn read<T: DeserializeOwned + Plausible>(path: &Path, device: &str, driver: &str) -> Result<Option<T>, String> {
    let text = match Trust::current_user().read_text(path, LIMIT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| error.to_string())?,
    };
    let text = sealed::unseal(&text).ok_or("the file is torn or altered")?;
    let kept: Kept<T> =
        ron::from_str(text).map_err(|error| format!("it is of another version of eigenforge ({error})"))?;
    if kept.schema != SCHEMA {
        return Err(format!("it has schema {}, and this eigenforge reads {SCHEMA}", kept.schema));
    }
    if (kept.device.as_str(), kept.driver.as_str()) != (device, driver) {
        return Err(format!("it holds the rates of {} with driver {}", kept.device, kept.driver));
    }
    if !kept.values.is_plausible() {
        return Err("it holds a rate that is no positive number".into());
    }
    Ok(Some(kept.values))
}

#[cfg(test)]
mod tests {
    use super::super::{Card, Processor};
    use super::*;

    #[test]
    fn what_is_kept_is_found_for_the_same_device_and_driver_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store { folder: folder.path().join("machines") };
        assert_eq!(store.find::<Card>("a card", "13.0"), None);
        store.keep("a card", "13.0", &Card::A100).unwrap();
        store.keep("a processor", "none", &Processor::XEON).unwrap();
        assert_eq!(store.find("a card", "13.0"), Some(Card::A100));
        assert_eq!(store.find("a processor", "none"), Some(Processor::XEON));
        assert_eq!(store.find::<Card>("a card", "13.1"), None);
        assert_eq!(store.find::<Card>("another card", "13.0"), None);
        let quicker = Card { memory_rate: 5e12, ..Card::A100 };
        store.keep("a card", "13.0", &quicker).unwrap();
        assert_eq!(store.find("a card", "13.0"), Some(quicker));
    }

    #[test]
    fn torn_altered_and_foreign_files_are_left_aside_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store { folder: folder.path().join("machines") };
        let path = store.keep("a card", "13.0", &Card::H200).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let why = || read::<Card>(&path, "a card", "13.0").unwrap_err();
        for length in [0, 1, whole.len() / 2, whole.len() - 2] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(why().contains("torn"), "{length} bytes: {}", why());
            assert_eq!(store.find::<Card>("a card", "13.0"), None);
        }
        std::fs::write(&path, whole.replace("4300000000000", "9300000000000")).unwrap();
        assert!(why().contains("altered"), "{}", why());
        // Whole, and of another device.
        let other = store.keep("another card", "13.0", &Card::A100).unwrap();
        std::fs::copy(&other, &path).unwrap();
        assert!(why().contains("it holds the rates of another card"), "{}", why());
        assert_eq!(store.find::<Card>("a card", "13.0"), None);
        // Whole, and with other numbers.
        let kept = Kept { schema: SCHEMA, device: "a card".into(), driver: "13.0".into(), values: 7 };
        std::fs::write(&path, sealed::seal(&kept).unwrap()).unwrap();
        assert!(why().contains("another version"), "{}", why());
        let kept = Kept { schema: SCHEMA + 1, device: "a card".into(), driver: "13.0".into(), values: Card::H200 };
        std::fs::write(&path, sealed::seal(&kept).unwrap()).unwrap();
        assert!(why().contains("schema"), "{}", why());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("machines"), "a file in the way").unwrap();
        let store = Store { folder: folder.path().join("machines") };
        assert!(store.keep("a card", "13.0", &Card::H200).is_err());
    }
}
