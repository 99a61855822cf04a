//! Target architectures: names (`sm_90`), and the CUDA versions that support each.
//!
//! In: a compute capability or a name. Out: [`Arch`], and sentences for errors such as "sm_100 needs CUDA 12.8 or newer".
//! The table is NVIDIA's release notes of NVRTC (first version that accepts `--gpu-architecture=sm_NN`, and the last one
//! for those that CUDA 12 and 13 dropped).

use super::error::JitError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A target architecture, `sm_90` and the like: ten times the compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Arch(pub u32);

/// Architecture, first CUDA version that supports it, last one that does (`None`: still supported).
const KNOWN: &[(u32, &str, Option<&str>)] = &[
    (35, "5.0", Some("11.8")),
    (37, "6.5", Some("11.8")),
    (50, "6.5", Some("12.9")),
    (52, "6.5", Some("12.9")),
    (53, "7.0", Some("12.9")),
    (60, "8.0", Some("12.9")),
    (61, "8.0", Some("12.9")),
    (62, "8.0", Some("12.9")),
    (70, "9.0", Some("12.9")),
    (72, "9.2", Some("12.9")),
    (75, "10.0", None),
    (80, "11.0", None),
    (86, "11.1", None),
    (87, "11.4", None),
    (88, "13.0", None),
    (89, "11.8", None),
    (90, "11.8", None),
    (100, "12.8", None),
    (101, "12.8", Some("12.9")),
    (103, "12.9", None),
    (110, "13.0", None),
    (120, "12.8", None),
    (121, "12.9", None),
];

/// The oldest architecture in the table.
const OLDEST: u32 = 35;

impl Arch {
    /// The architecture of a card with compute capability `major.minor`.
    pub fn from_capability(major: u32, minor: u32) -> Arch {
        Arch(10 * major + minor)
    }

    /// The target for an NVRTC of version `nvrtc`: compute capability 9.0 with its architecture-specific features, such
    /// as registers passed between warps, for CUDA 12.0 and later.
    pub(crate) fn target(self, nvrtc: (u32, u32)) -> String {
        let everything = if self.0 == 90 && nvrtc >= (12, 0) { "a" } else { "" };
        format!("{}{everything}", self.0)
    }

    /// Advice if the NVRTC, of version `have`, does not support this architecture.
    pub(crate) fn remedy(self, have: (u32, u32)) -> String {
        let parse = |version: &str| -> Option<(u32, u32)> {
            let (major, minor) = version.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        match KNOWN.iter().find(|known| known.0 == self.0) {
            Some(&(_, first, _)) if parse(first) > Some(have) => {
                format!("NVRTC is too old: {self} needs CUDA {first} or newer")
            }
            Some(&(_, _, Some(last))) if parse(last) < Some(have) => {
                format!("NVRTC is too new: CUDA {last} is the last one that knows {self}")
            }
            Some(&(_, first, _)) => {
                format!("CUDA {first} should know {self}: this NVRTC seems to be built without it")
            }
            None => format!("eigenforge does not know {self} either: if the card is newer than it, take a newer CUDA"),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl FromStr for Arch {
    type Err = JitError;

    /// Reads `sm_90`, `90` or `9.0`.
    fn from_str(text: &str) -> Result<Arch, JitError> {
        let trimmed = text.trim();
        let digits = trimmed.strip_prefix("sm_").unwrap_or(trimmed);
        let number = match digits.split_once('.') {
            Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
            _ => digits.to_string(),
        };
        let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        match number.parse::<u32>() {
            Ok(value) if plain && (OLDEST..1000).contains(&value) => Ok(Arch(value)),
            _ => Err(JitError::ArchName { found: text.to_string() }),
        }
    }
}

/// `sm_75, sm_80, …` for messages.
pub(crate) fn names(archs: &[Arch]) -> String {
    archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for text in ["sm_90", "90", "9.0", " sm_90 "] {
            assert_eq!(text.parse::<Arch>().unwrap(), Arch(90), "{text:?}");
        }
        assert_eq!("10.3".parse::<Arch>().unwrap(), Arch(103));
        assert_eq!(Arch::from_capability(12, 1).to_string(), "sm_121");
        for text in [
            "",
            "sm_",
            "sm_90a",
            "compute_90",
            "+90",
            "-1",
            "9",
            "9.",
            "9.00",
            "99999999999",
            "sm_1",
            "sm_20",
            "sm_999999999999",
        ] {
            let message = text.parse::<Arch>().expect_err(text).to_string();
            assert!(message.contains("sm_90"), "{message}");
        }
    }

    #[test]
    fn a_remedy_names_the_cuda_version() {
        assert_eq!(Arch(100).remedy((12, 4)), "NVRTC is too old: sm_100 needs CUDA 12.8 or newer");
        assert_eq!(Arch(90).remedy((11, 7)), "NVRTC is too old: sm_90 needs CUDA 11.8 or newer");
        assert_eq!(Arch(70).remedy((13, 0)), "NVRTC is too new: CUDA 12.9 is the last one that knows sm_70");
        assert!(Arch(150).remedy((13, 0)).contains("newer CUDA"));
    }
}
