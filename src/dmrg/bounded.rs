//! The engine of the CPU within a limit of memory: every number that a run keeps is counted, and what the sweep has left behind
//! goes to the disk where memory is short.
//!
//! The numbers are those of [`Host`], to the last bit, wherever they have been. V and W of Davidson's method are reserved for
//! as many vectors as the plan allows, so that what is held does not depend on how many products a bond takes.

use super::blocks::{Side, WaveLayout};
use super::bond::Bond;
use super::davidson;
use super::engine::{Engine, Operands};
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::host::{Host, slices};
use super::memory::{Budget, MemoryPlan, Processor, Usage};
use super::records::{self, Stage};
use super::storage::{Ledger, Store, Stored};
use super::superblock::Superblock;
use super::tall::dot;
use super::truncate::{self, Limits, Truncated, Wave};
use eigenforge_runtime::Device;
use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All cores of this machine, and so many bytes of its memory.
pub struct Bounded {
    host: Host,
    memory: Arc<Memory>,
    /// Bytes that the solver keeps from bond to bond.
    kept: u64,
    /// Bytes of V and W at the fullest bond of the plan: room that is not given away while they are shorter.
    planned: u64,
}

/// What all numbers of an engine share.
struct Memory {
    limit: u64,
    leave_above: AtomicU64,
    ledger: Arc<Ledger>,
    store: Arc<Store<Vec<f64>>>,
}

/// Numbers in host memory, or away on the disk.
pub struct Numbers {
    place: Place,
    memory: Arc<Memory>,
}

enum Place {
    Here(Vec<f64>),
    Away(Stored<Vec<f64>>),
    Nowhere,
}

/// Part of the free memory that a run may take unless it is told.
const USED: f64 = 0.8;

/// Bytes of so many numbers.
fn bytes(len: usize) -> u64 {
    8 * len as u64
}

impl Default for Bounded {
    /// Within four fifths of the memory that is free, and the system's folder for temporary files.
    fn default() -> Bounded {
        Bounded::within(Bounded::default_limit(), std::env::temp_dir())
    }
}

impl Bounded {
    /// Four fifths of the memory that is free.
    pub fn default_limit() -> u64 {
        (USED * Device::cpu().memory().free as f64) as u64
    }

    /// What it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: Processor::Host, memory: self.memory.limit, host: 0 }
    }

    /// Within so many bytes, with a folder for what they have no room for.
    pub fn within(limit: u64, scratch: PathBuf) -> Bounded {
        let ledger = Arc::<Ledger>::default();
        let store = Store::new(ledger.clone(), 0, scratch, |len| Ok(vec![0.0; len]));
        let leave_above = AtomicU64::new(u64::MAX);
        Bounded {
            host: Host::default(),
            memory: Arc::new(Memory { limit, leave_above, ledger, store }),
            kept: 0,
            planned: 0,
        }
    }

    fn numbers(&self, values: Vec<f64>) -> Numbers {
        self.memory.ledger.take(bytes(values.len()));
        Numbers { place: Place::Here(values), memory: self.memory.clone() }
    }

    /// Counts what the solver keeps.
    fn count_solver(&mut self) {
        let now = self.host.bytes();
        self.memory.ledger.give_back(self.kept);
        self.memory.ledger.take(now);
        self.kept = now;
    }

    fn counted(&self, truncated: Truncated) -> Result<Truncated<Numbers>, DmrgError> {
        truncated.carried(|data| Ok(self.numbers(data)))
    }
}

impl Deref for Numbers {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        match &self.place {
            Place::Here(values) => values,
            Place::Away(_) | Place::Nowhere => unreachable!("a sweep fetches what it reads"),
        }
    }
}

impl Numbers {
    /// Gives the place up.
    fn moved(&mut self) -> Place {
        let place = std::mem::replace(&mut self.place, Place::Nowhere);
        if let Place::Here(values) = &place {
            self.memory.ledger.give_back(bytes(values.len()));
        }
        place
    }

    /// Its values, to be written.
    fn values_mut(&mut self) -> &mut Vec<f64> {
        match &mut self.place {
            Place::Here(values) => values,
            Place::Away(_) | Place::Nowhere => unreachable!("a sweep fetches what it writes"),
        }
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.moved();
    }
}

/// Elements of the workspace of a decomposition of ψ: singular vectors of both sides, and both copies of what is kept.
pub(super) fn decomposing(layout: &WaveLayout, kept: usize, centre: usize) -> usize {
    let of = |s: &super::blocks::PairedSector| (s.rows + s.columns) * s.rows.min(s.columns);
    layout.sectors.iter().map(of).sum::<usize>() + 2 * (kept + centre)
}

/// The same with noise: the perturbation's products, density matrices three times over with their eigenvectors.
pub(super) fn decomposing_with_noise(between: usize, densities: usize, kept: usize, centre: usize) -> usize {
    between + 4 * densities + 2 * (kept + centre)
}

impl Engine for Bounded {
    type Buffer = Numbers;

    fn upload(&self, data: Vec<f64>) -> Result<Numbers, DmrgError> {
        Ok(self.numbers(data))
    }

    fn download<'b>(&self, buffer: &'b Numbers) -> Result<Cow<'b, [f64]>, DmrgError> {
        match &buffer.place {
            Place::Away(stored) => Ok(Cow::Owned(stored.copy()?)),
            _ => Ok(Cow::Borrowed(buffer)),
        }
    }

    fn run(&self, stage: &Stage, operands: Operands<'_, Numbers>) -> Result<Numbers, DmrgError> {
        let mut output = vec![0.0; stage.length];
        records::run(stage, slices(operands), &mut output);
        Ok(self.numbers(output))
    }

    fn dot(&self, x: &Numbers, y: &Numbers) -> Result<f64, DmrgError> {
        Ok(dot(x, y))
    }

    fn leave(&self, buffer: &mut Numbers) -> Result<(), DmrgError> {
        let held = self.memory.ledger.held().saturating_add(self.planned.saturating_sub(self.kept));
        if held <= self.memory.leave_above.load(Ordering::Relaxed) {
            return Ok(());
        }
        match buffer.moved() {
            Place::Here(values) => buffer.place = Place::Away(self.memory.store.put(values)?),
            other => buffer.place = other,
        }
        Ok(())
    }

    fn expect(&self, buffer: &mut Numbers, _: usize) -> Result<(), DmrgError> {
        if let Place::Away(stored) = &buffer.place { stored.fetch() } else { Ok(()) }
    }

    fn arrive(&self, buffer: &mut Numbers) -> Result<(), DmrgError> {
        match buffer.moved() {
            Place::Away(stored) => *buffer = self.numbers(stored.take()?),
            Place::Here(values) => *buffer = self.numbers(values),
            Place::Nowhere => {}
        }
        Ok(())
    }

    fn release(&mut self) {
        self.host.release();
        self.count_solver();
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn hold_to(&mut self, plan: &MemoryPlan) {
        self.memory.leave_above.store(plan.leave_above, Ordering::Relaxed);
        self.host.set_width(plan.width);
        self.planned = plan.vectors;
    }

    fn usage(&self) -> Usage {
        Usage { memory: self.memory.ledger.peak(), host: 0, disk: self.memory.store.ledgers().1.peak() }
    }

    fn diagonal(
        &self,
        bond: &Bond<Numbers>,
        left: &Environment<Numbers>,
        right: &Environment<Numbers>,
    ) -> Result<Numbers, DmrgError> {
        Ok(self.numbers(bond.diagonal(left, right)))
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Numbers>,
        diagonal: &Numbers,
        wave: &mut Numbers,
        limits: davidson::Limits,
    ) -> Result<davidson::Found, DmrgError> {
        self.solve_against(superblock, operands, diagonal, wave, limits, &[])
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Numbers>,
        diagonal: &Numbers,
        wave: &mut Numbers,
        limits: davidson::Limits,
        against: &[Numbers],
    ) -> Result<davidson::Found, DmrgError> {
        self.host.reserve(wave.len(), superblock.first.length);
        self.count_solver();
        let against: Vec<Vec<f64>> = against.iter().map(|phi| phi.to_vec()).collect();
        self.host.solve_slices(superblock, slices(operands), diagonal, wave.values_mut(), limits, &against)
    }

    fn truncate(&self, wave: Wave<'_, Numbers>, side: Side, limits: Limits) -> Result<Truncated<Numbers>, DmrgError> {
        let truncated = truncate::truncate(wave, side, limits)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.memory.ledger.touch(bytes(decomposing(wave.layout, kept, centre)));
        self.counted(truncated)
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, Numbers>,
        side: Side,
        limits: Limits,
        operators: &EnlargedOperators<Numbers>,
        operands: Operands<'_, Numbers>,
        noise: f64,
    ) -> Result<Truncated<Numbers>, DmrgError> {
        let (first, second) = truncate::perturbation_stages(wave, side, operators);
        let truncated = truncate::truncate_with_noise(wave, side, limits, operators, slices(operands), noise)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.memory.ledger.touch(bytes(decomposing_with_noise(first.length, second.length, kept, centre)));
        self.counted(truncated)
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        self.memory.ledger.give_back(std::mem::take(&mut self.kept));
    }
}
