//! The width of a warp: how many threads run together and exchange registers.

use crate::files;
use serde::{Deserialize, Serialize};

/// The lanes of a warp: 8, 16 or 32. Every plan has it, and every text that is made from the plan declares it in its prelude,
/// as `WARP`. Masks of lanes have 32 bits, so there can't be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Warp(u32);

/// A number of lanes that no text can be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a warp of {found} lanes; generated text is for warps of 8, 16 or 32 lanes")]
pub struct WarpError {
    /// The number.
    pub found: u32,
}

/// How the prelude declares it.
const DECLARED: &str = "constexpr int WARP = ";

impl Warp {
    /// That of all NVIDIA GPUs, and of the instructions of their tensor cores.
    pub const NVIDIA: Warp = Warp(32);

    /// Lanes.
    pub const fn lanes(self) -> u32 {
        self.0
    }

    /// The width that a text declares; `None` for a text without the prelude.
    pub fn declared(text: &str) -> Option<u32> {
        let (_, after) = text.split_once(DECLARED)?;
        after.split_once(';')?.0.parse().ok()
    }

    /// The prelude of every generated file: integer names, warp and block sums, bit operations.
    pub fn prelude(self) -> String {
        files::PRELUDE.source.replace("${ warp }", &self.0.to_string())
    }
}

impl Default for Warp {
    fn default() -> Warp {
        Warp::NVIDIA
    }
}

impl TryFrom<u32> for Warp {
    type Error = WarpError;

    fn try_from(lanes: u32) -> Result<Warp, WarpError> {
        if [8, 16, 32].contains(&lanes) { Ok(Warp(lanes)) } else { Err(WarpError { found: lanes }) }
    }
}

impl From<Warp> for u32 {
    fn from(warp: Warp) -> u32 {
        warp.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_for_which_width_it_is() {
        for lanes in [8, 16, 32] {
            let warp = Warp::try_from(lanes).unwrap();
            assert_eq!(Warp::declared(&warp.prelude()), Some(lanes));
        }
        assert_eq!(Warp::declared("__global__ void f() {}"), None);
        assert_eq!(Warp::try_from(64).unwrap_err().to_string().split(';').next(), Some("a warp of 64 lanes"));
    }
}
