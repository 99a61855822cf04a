//! The CPU as a device: rayon's global pool. Results do not depend on the number of threads.
//!
//! With [ranks](crate::ranks) it is this rank's cores, and its vectors hold this rank's share.

use super::Memory;
use super::capacity::host_memory;
use crate::error::Result;
use crate::ranks::{Ranks, equal};
use std::ops::Range;
use std::sync::Arc;

/// All cores of this machine, or those of one rank.
#[derive(Debug, Default)]
pub struct Cpu {
    part: Option<Part>,
}

/// One rank's part.
#[derive(Debug)]
struct Part {
    ranks: Arc<Ranks>,
    /// Where vectors of the length that it ends with are cut; empty where all are cut into equal shares.
    bounds: Vec<usize>,
}

impl Cpu {
    /// The machine this runs on.
    pub fn new() -> Cpu {
        Cpu::default()
    }

    /// One rank's cores.
    pub(super) fn of_ranks(ranks: Arc<Ranks>, bounds: Vec<usize>) -> Cpu {
        Cpu { part: Some(Part { ranks, bounds }) }
    }

    /// The ranks that it is one of.
    pub(super) fn ranks(&self) -> Option<&Arc<Ranks>> {
        self.part.as_ref().map(|part| &part.ranks)
    }

    /// Where a vector of so many elements is cut.
    pub(super) fn bounds(&self, length: usize) -> Vec<usize> {
        match &self.part {
            None => vec![0, length],
            Some(part) if part.bounds.last() == Some(&length) => part.bounds.clone(),
            Some(part) => equal(length, part.ranks.count()),
        }
    }

    /// The elements of a vector of so many that are here.
    pub(super) fn share(&self, length: usize) -> Range<usize> {
        let (bounds, rank) = (self.bounds(length), self.ranks().map_or(0, |ranks| ranks.rank()));
        bounds[rank]..bounds[rank + 1]
    }

    /// Free and total memory. Of several ranks all that they have together, as if each had what the poorest has.
    pub(super) fn memory(&self) -> Memory {
        let here = host_memory();
        let Some(ranks) = self.ranks() else { return here };
        let share = |bytes: u64| -> Result<f64> {
            let own = bytes / ranks.on_this_machine().max(1) as u64;
            Ok(-ranks.largest("memory", -(own as f64))? * ranks.count() as f64)
        };
        // Ranks that no longer work together have nothing; the next step says why.
        let [free, total] = [here.free, here.total].map(|bytes| share(bytes).unwrap_or(0.0) as u64);
        Memory { free, total }
    }

    /// The longest time of all ranks.
    pub(super) fn longest(&self, milliseconds: f64) -> Result<f64> {
        self.ranks().map_or(Ok(milliseconds), |ranks| ranks.largest("time", milliseconds))
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
