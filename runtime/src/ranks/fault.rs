//! The fault of one rank, told to all.

use super::{Ranks, WORDS, hash};
use crate::error::{DeviceError, Result};

/// The first word of a rank that has failed.
const FAILED: u64 = 1;

/// Why the ranks no longer work together.
pub(super) enum Fault {
    /// A rank failed, with its message.
    Failed { rank: usize, message: String },
    /// A rank is at another step than rank 0.
    Apart { rank: usize, what: String },
}

impl Fault {
    pub(super) fn error(&self) -> DeviceError {
        match self {
            Fault::Failed { rank, message } => DeviceError::RankFailed { rank: *rank, message: message.clone() },
            Fault::Apart { rank, what } => DeviceError::RanksApart { rank: *rank, what: what.clone() },
        }
    }
}

impl Ranks {
    /// The error of ranks that no longer work together.
    pub(super) fn go_on(&self) -> Result<()> {
        self.ended.get().map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Whether a rank has failed, this one or another; then nothing more is sent.
    pub fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Tells all ranks that this one cannot go on; they hear of it at their next step. Does nothing where a rank failed before.
    pub fn fail(&self, message: &str) {
        if self.has_ended() {
            return;
        }
        let mut own = [0; WORDS];
        (own[0], own[1], own[3]) = (FAILED, hash("a fault"), message.len() as u64);
        // A rank that is gone hears nothing.
        if let Ok(all) = self.by.words(&own) {
            let _ = self.hear(&all, message);
        }
    }

    /// The error of the first rank that failed, if any did; `own` is this rank's message if it is that one.
    pub(super) fn hear(&self, all: &[[u64; WORDS]], own: &str) -> Result<()> {
        let Some(rank) = all.iter().position(|words| words[0] == FAILED) else { return Ok(()) };
        let mut message = vec![0; all[rank][3] as usize];
        let sent: &[u8] = if rank == self.rank() { own.as_bytes() } else { &[] };
        let mut receive: Vec<&mut [u8]> = all.iter().map(|_| <&mut [u8]>::default()).collect();
        receive[rank] = &mut message;
        self.pieces(&vec![sent; all.len()], &mut receive)?;
        let message = String::from_utf8_lossy(&message).into_owned();
        Err(self.ended.get_or_init(|| Fault::Failed { rank, message }).error())
    }
}
