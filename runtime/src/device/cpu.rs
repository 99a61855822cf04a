//! The CPU as a device: rayon's global pool. Results do not depend on the number of threads.
//!
//! With [ranks](crate::ranks) it is this rank's cores, and its vectors hold this rank's share.

use super::part::Part;
use super::recorder::Recorder;
use crate::ranks::Ranks;
use std::sync::Arc;

/// All cores of this machine, or those of one rank.
#[derive(Default)]
pub struct Cpu {
    part: Option<Part>,
    recorder: Option<Arc<Recorder>>,
}

impl Cpu {
    /// The machine this runs on.
    pub fn new() -> Cpu {
        Cpu::default()
    }

    /// One rank's cores.
    pub(super) fn of_part(part: Part) -> Cpu {
        Cpu { part: Some(part), recorder: None }
    }

    /// The same with a list of the programs that a card would launch.
    pub(super) fn recorded() -> Cpu {
        Cpu { part: None, recorder: Some(Arc::default()) }
    }

    /// The list of what a card would launch, if it keeps one.
    pub(super) fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref()
    }

    /// What it has as one of several ranks.
    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    fn ranks(&self) -> Option<&Arc<Ranks>> {
        self.part.as_ref().map(Part::ranks)
    }

    /// The processor's name, the number of threads in use, and of ranks.
    pub fn name(&self) -> String {
        let threads = rayon::current_num_threads();
        let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        let model = model.unwrap_or_else(|| std::env::consts::ARCH.into());
        match self.ranks() {
            None => format!("{model} ({threads} threads)"),
            Some(ranks) => format!("{} ranks, each {model} ({threads} threads)", ranks.count()),
        }
    }
}
