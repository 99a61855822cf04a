//! This machine's cores with a limit on memory: every buffer is counted, and evictable ones go to disk when memory is short.
//!
//! Results equal those of [`HostBackend`] to the last bit, whether or not buffers were evicted. V and W of Davidson's
//! method are reserved for as many vectors as the plan allows, so that memory use does not depend on how many products a
//! solve takes.

use super::host::{HostBackend, assembled, output, output_of_both, slices};
use super::{Backend, Operands};
use crate::dense::long_vectors::dot;
use crate::device::Device;
use crate::error::BackendError;
use crate::records::{Assembly, RecordStage, TwoStages};
use crate::residency::{Budget, HostBuffer, HostMemory, PlannedMemory, ProcessorKind, Usage};
use crate::solvers::lean::{DavidsonLimits, DavidsonResult};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// All cores, with a limit on memory.
pub struct BoundedHostBackend {
    host: HostBackend,
    memory: Arc<HostMemory>,
    /// Bytes that the solver keeps from solve to solve.
    kept: u64,
}

/// Default share of the free memory.
const USED: f64 = 0.8;

/// Bytes of `len` numbers.
fn bytes(len: usize) -> u64 {
    8 * len as u64
}

impl Default for BoundedHostBackend {
    /// Four fifths of the free memory, and the system's folder for temporary files.
    fn default() -> BoundedHostBackend {
        BoundedHostBackend::new(BoundedHostBackend::default_limit(), std::env::temp_dir())
    }
}

impl BoundedHostBackend {
    /// Four fifths of the memory that is free.
    pub fn default_limit() -> u64 {
        (USED * Device::cpu().memory().free as f64) as u64
    }

    /// A host backend with a memory limit in bytes, and a scratch folder for evicted buffers.
    pub fn new(limit: u64, scratch: PathBuf) -> BoundedHostBackend {
        BoundedHostBackend { host: HostBackend::default(), memory: HostMemory::new(limit, scratch), kept: 0 }
    }

    /// The memory it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: ProcessorKind::Host, cards: 1, memory: self.memory.limit(), other_cards: 0, host: 0 }
    }

    /// Counts the memory that the solver keeps.
    fn count_solver(&mut self) {
        let now = self.host.bytes();
        self.memory.ledger().give_back(self.kept);
        self.memory.ledger().take(now);
        self.kept = now;
    }
}

impl Backend for BoundedHostBackend {
    type Buffer = HostBuffer;

    fn upload(&self, data: Vec<f64>) -> Result<HostBuffer, BackendError> {
        self.memory.buffer(data)
    }

    fn download<'b>(&self, buffer: &'b HostBuffer) -> Result<Cow<'b, [f64]>, BackendError> {
        buffer.copy()
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, HostBuffer>) -> Result<HostBuffer, BackendError> {
        self.memory.make_room(bytes(stage.length))?;
        self.memory.buffer(output(stage, operands, self.memory.vector(stage.length)))
    }

    fn run_both(&self, stages: &TwoStages, operands: Operands<'_, HostBuffer>) -> Result<HostBuffer, BackendError> {
        let elements = stages.second.length + stages.scratch();
        self.memory.make_room(bytes(elements))?;
        self.memory.ledger().touch(bytes(elements));
        self.memory.buffer(output_of_both(stages, operands, self.memory.vector(stages.second.length)))
    }

    fn assemble(&self, assembly: &Assembly, source: &HostBuffer) -> Result<HostBuffer, BackendError> {
        self.memory.make_room(bytes(assembly.length))?;
        self.memory.buffer(assembled(assembly, source, self.memory.vector(assembly.length)))
    }

    fn dot(&self, x: &HostBuffer, y: &HostBuffer) -> Result<f64, BackendError> {
        Ok(dot(x, y))
    }

    fn solve(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, HostBuffer>,
        diagonal: &HostBuffer,
        vector: &mut HostBuffer,
        limits: DavidsonLimits,
        against: &[&HostBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        self.memory.make_room(self.host.missing(vector.len(), product.first.length))?;
        self.host.reserve(vector.len(), product.first.length);
        self.count_solver();
        let against: Vec<&[f64]> = against.iter().map(|phi| &***phi).collect();
        self.host.solve_slices(product, slices(operands), diagonal, vector.values_mut(), limits, &against)
    }

    fn solve_together(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, HostBuffer>,
        diagonal: &HostBuffer,
        vectors: &mut [&mut HostBuffer],
        limits: DavidsonLimits,
        against: &[&HostBuffer],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        // A residual and a correction of each state are beside the basis.
        let n = diagonal.len();
        let beside = 2 * vectors.len() * n;
        self.memory.make_room(self.host.missing(n, product.first.length) + bytes(beside))?;
        self.host.reserve(n, product.first.length);
        self.count_solver();
        let against: Vec<&[f64]> = against.iter().map(|phi| &***phi).collect();
        let mut slices_of: Vec<&mut [f64]> =
            vectors.iter_mut().map(|vector| vector.values_mut().as_mut_slice()).collect();
        let found =
            self.host.solve_slices_together(product, slices(operands), diagonal, &mut slices_of, limits, &against);
        self.count_work(beside)?;
        self.count_solver();
        found
    }

    fn release(&mut self) {
        self.host.release();
        self.count_solver();
    }

    fn make_room(&self, elements: usize) -> Result<(), BackendError> {
        self.memory.make_room(bytes(elements))
    }

    fn count_work(&self, elements: usize) -> Result<(), BackendError> {
        self.make_room(elements)?;
        self.memory.ledger().touch(bytes(elements));
        Ok(())
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn apply_plan(&mut self, plan: &PlannedMemory) -> Result<(), BackendError> {
        self.memory.apply_plan(plan.step);
        self.host.set_width(plan.width);
        Ok(())
    }

    fn reserved(&self) -> u64 {
        self.memory.ledger().peak()
    }

    fn usage(&self) -> Usage {
        self.memory.usage()
    }
}

impl Drop for BoundedHostBackend {
    fn drop(&mut self) {
        self.memory.ledger().give_back(std::mem::take(&mut self.kept));
    }
}
