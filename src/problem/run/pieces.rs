//! Checkpoints of runs that consist of pieces: the momenta of a spectrum, the sectors of an ensemble.
//!
//! In: finished pieces, as JSON. Out: a state on disk with all of them so far; a run that goes on takes from it what is finished. The pieces of
//! another run are refused by what differs. A signal ends the run at once, with the pieces that were saved.

use super::CheckpointRequest;
use crate::operator::Operator;
use eigenforge_runtime::SolveError;
use eigenforge_runtime::interrupt::Interrupted;
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::state_folder::{self, Header, StateFolder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// Version of the layout.
const SCHEMA: u32 = 1;

/// The contents of `header.ron`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename = "Header")]
struct PieceHeader {
    schema: u32,
    /// What must be the same, by name.
    settings: Vec<(String, String)>,
    /// The finished pieces, by name.
    pieces: BTreeMap<String, String>,
}

/// The finished pieces of a run, on disk where a folder was asked for.
pub(crate) struct PieceSaver {
    target: Option<PieceTarget>,
    header: PieceHeader,
}

struct PieceTarget {
    states: StateFolder,
    request: CheckpointRequest,
    last: Instant,
    _lock: Option<Lock>,
}

impl PieceSaver {
    /// Opens the folder that is asked for, if one is. `settings` are what a run to go on from must have the same.
    ///
    /// # Errors
    /// A folder of another run, or in use, or one that cannot be read.
    pub(crate) fn open(
        request: Option<&CheckpointRequest>,
        settings: Vec<(String, String)>,
    ) -> Result<PieceSaver, SolveError> {
        let mut header = PieceHeader { schema: SCHEMA, settings, pieces: BTreeMap::new() };
        let Some(request) = request else { return Ok(PieceSaver { target: None, header }) };
        let path = request.folder.display().to_string();
        let fault = |source| SolveError::Checkpoint { path: path.clone(), source };
        let Some(states) = StateFolder::open(&request.folder, "pieces-").map_err(fault)? else {
            return Ok(PieceSaver { target: None, header });
        };
        let lock = Lock::of_folder(&request.folder)?;
        for (_, state) in states.list().map_err(fault)?.into_iter().rev() {
            let old: PieceHeader = match state_folder::read_header(&state, SCHEMA, 0) {
                Header::Whole(old) => old,
                Header::OtherSchema(found) => {
                    return Err(SolveError::OldCheckpoint { path: state, found, expected: SCHEMA });
                }
                Header::Damaged => {
                    state_folder::pass_over(&state, "header.ron");
                    continue;
                }
            };
            for (what, expected) in &header.settings {
                let found = old.settings.iter().find(|(key, _)| key == what).map_or("unknown", |(_, value)| value);
                if found != expected {
                    let (folder, what, found) = (path.clone(), what.clone(), found.into());
                    return Err(SolveError::OtherCheckpoint { folder, what, found, expected: expected.clone() });
                }
            }
            if request.resume {
                header.pieces = old.pieces;
            }
            break;
        }
        let target = PieceTarget { states, request: request.clone(), last: Instant::now(), _lock: lock };
        Ok(PieceSaver { target: Some(target), header })
    }

    /// A finished piece; `None` where it is not there, or cannot be read.
    pub(crate) fn piece<P: DeserializeOwned>(&self, name: &str) -> Option<P> {
        serde_json::from_str(self.header.pieces.get(name)?).ok()
    }

    /// The piece of this name: the finished one, or one that is made, and saved if it is time.
    ///
    /// # Errors
    /// Those of making it; a signal while it is saved.
    pub(crate) fn piece_or<P: Serialize + DeserializeOwned, E: From<SolveError>>(
        &mut self,
        name: &str,
        make: impl FnOnce() -> Result<P, E>,
    ) -> Result<P, E> {
        if let Some(found) = self.piece(name) {
            return Ok(found);
        }
        let made = make()?;
        let Some(target) = &mut self.target else { return Ok(made) };
        // What is no JSON is made again.
        self.header.pieces.extend(serde_json::to_string(&made).ok().map(|text| (name.to_string(), text)));
        if target.last.elapsed().as_secs_f64() >= target.request.seconds {
            let header = &self.header;
            target.states.save(|_| Ok(header.clone())).map_err(|end: Interrupted| SolveError::from(end))?;
            target.last = Instant::now();
        }
        Ok(made)
    }

    /// Where a part of the run has a checkpoint of its own.
    pub(crate) fn part_request(&self, part: &str) -> Option<CheckpointRequest> {
        let request = &self.target.as_ref()?.request;
        Some(CheckpointRequest { folder: request.folder.join(part), ..request.clone() })
    }
}

/// A part of a model file as a setting: its text, in one line.
pub(crate) fn setting(key: &str, value: impl std::fmt::Debug) -> (String, String) {
    (key.to_string(), format!("{value:?}"))
}

/// Operators as a setting: a hash of their terms.
pub(crate) fn operators_setting<'o>(key: &str, operators: impl IntoIterator<Item = &'o Operator>) -> (String, String) {
    let mut hash = blake3::Hasher::new();
    for operator in operators {
        operator.terms().for_each(|term| {
            hash.update(format!("{term:?} ").as_bytes());
        });
        hash.update(b"; ");
    }
    (key.to_string(), hash.finalize().to_hex()[..SHORT].to_string())
}

/// Digits of a hash in a message.
const SHORT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &std::path::Path, resume: bool, of: &str) -> Result<PieceSaver, SolveError> {
        let request = CheckpointRequest { folder: folder.into(), seconds: 0.0, resume };
        PieceSaver::open(Some(&request), vec![setting("of", of)])
    }

    #[test]
    fn finished_pieces_are_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let make = |value: f64| move || Ok::<f64, SolveError>(value);
        {
            let mut first = open(folder.path(), false, "Sz").unwrap();
            assert_eq!(first.piece_or("q = 1", make(0.1)).unwrap(), 0.1);
            assert_eq!(first.piece_or("q = 2", make(1.0 / 3.0)).unwrap(), 1.0 / 3.0);
            assert!(open(folder.path(), true, "Sz").is_err(), "the folder is in use");
        }
        let mut again = open(folder.path(), true, "Sz").unwrap();
        assert_eq!(again.piece_or("q = 2", make(9.0)).unwrap(), 1.0 / 3.0);
        assert_eq!(again.piece_or("q = 3", make(9.0)).unwrap(), 9.0);
        drop(again);
        let error = open(folder.path(), true, "Sp").err().unwrap().to_string();
        assert!(error.contains("its of is \"Sz\", this run's is \"Sp\""), "{error}");
        // Without resuming, everything is made.
        assert!(open(folder.path(), false, "Sz").unwrap().piece::<f64>("q = 2").is_none());
    }
}
