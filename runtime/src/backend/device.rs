//! A device that runs kernels: buffers and Davidson's vectors stay in its memory.
//!
//! ```text
//! RecordStage → one launch (records::card::Products)       y = H x → V, W, λ, ‖r‖ (solvers::lean, generated kernels)
//! symmetric matrices → their eigenvectors, all at once (eigenvectors.rs)
//! ```
//!
//! Only these cross to the host: three numbers per product, eigenvalues, copies of buffers, and, where the CPU has a share
//! of y = H x, what its records read. The simulated device takes the same path, so its kernels are tested without a card.

use super::cards::OtherCards;
use super::eigenvectors::{Decomposer, MatrixSpectrum, PivotedCholesky};
use super::{Backend, Operands, texts};
use crate::device::{Device, Eigensolver};
use crate::error::{BackendError, DeviceError};
use crate::records::card::{DeviceBuffers, Multiplier, Products};
use crate::records::{CpuShare, RecordStage, SPACE_LIST, Strategy, TwoStages};
use crate::residency::{
    Budget, MemoryLimits, PlannedMemory, Pool, PoolBuffer, ProcessorKind, Usage, elements_on_each_of, locked,
};
use crate::solvers::lean::{self, CardWork, DavidsonLimits, DavidsonResult, DeviceDavidson, TextChoice};
use crate::trace;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that runs kernels, with everything that a run keeps there between solves.
pub struct DeviceBackend {
    device: Device,
    products: Products,
    /// What computes H x in solves.
    pub(super) multiplier: Multiplier,
    pub(super) pool: Arc<Pool>,
    pub(super) davidson: Mutex<DeviceDavidson>,
    pub(super) decomposer: Decomposer,
    /// A vector of ones, as long as the longest that was needed.
    ones: Mutex<Option<PoolBuffer>>,
    /// Of several cards those beside this one, which leads.
    pub(super) others: Option<OtherCards>,
}

/// The most vectors that a solve on a device can stay orthogonal to.
pub fn most_projected() -> usize {
    lean::most_below()
}

impl DeviceBackend {
    /// Initial number of [ones](DeviceBackend::with_ones).
    pub const LEAST_ONES: usize = 1 << 8;

    /// Compiles the kernels or takes them from the cache.
    ///
    /// # Errors
    /// The device is the CPU, which runs no kernels; the compiler or cuSOLVER is missing.
    pub fn new(device: &Device) -> Result<DeviceBackend, BackendError> {
        DeviceBackend::within(device, MemoryLimits::of(device, None, None, std::env::temp_dir()))
    }

    /// The same within limits: evictable buffers move to host memory and then to disk when memory is short.
    ///
    /// # Errors
    /// See [`DeviceBackend::new`].
    pub fn within(device: &Device, limits: MemoryLimits) -> Result<DeviceBackend, BackendError> {
        let _setting_up = trace::span("dmrg", "set up the card");
        let pool = Pool::new(device, limits)?;
        let eigensolver = std::thread::scope(|scope| {
            // cuSOLVER is loaded while the kernels compile.
            let eigensolver = scope.spawn(|| Eigensolver::new(device));
            let compiled = texts::compile_together(device);
            let eigensolver = eigensolver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            compiled.and(eigensolver)
        })?;
        let room = pool.clone();
        let products = Products::new(device)?.with_memory(move |len| room.vector(len));
        Ok(DeviceBackend {
            device: device.clone(),
            multiplier: Multiplier::new(device, &products, Strategy::Planned, CpuShare::default())?,
            products,
            davidson: Mutex::new(DeviceDavidson::new(device, &pool)?),
            decomposer: Decomposer::new(device, eigensolver)?,
            pool,
            ones: Mutex::default(),
            others: None,
        })
    }

    /// The same for a device of several cards, which are its [members](Device::members): the first leads, the others take shares of what
    /// is large enough. `limits` are those of each card. A device of one card is that card.
    ///
    /// # Errors
    /// See [`DeviceBackend::new`].
    pub fn of_cards(device: &Device, cards: &[Device], limits: MemoryLimits) -> Result<DeviceBackend, BackendError> {
        let mut leader = DeviceBackend::within(&cards[0], limits.clone())?;
        if cards.len() > 1 {
            leader.others = Some(OtherCards::new(device, cards, &limits)?);
        }
        Ok(leader)
    }

    /// The pool of device memory.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The memory it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: ProcessorKind::Card, memory: self.pool.limit(), host: self.pool.host_limit() }
    }

    /// Works with a buffer of at least `length` ones, kept from call to call.
    ///
    /// # Errors
    /// Not enough memory; the error of the work.
    pub fn with_ones<R>(
        &self,
        length: usize,
        work: impl FnOnce(&PoolBuffer) -> Result<R, BackendError>,
    ) -> Result<R, BackendError> {
        let mut ones = locked(&self.ones);
        let ones = match ones.take().filter(|ones| ones.len() >= length) {
            Some(enough) => ones.insert(enough),
            None => {
                let length = length.next_power_of_two().max(DeviceBackend::LEAST_ONES);
                ones.insert(self.pool.upload(&vec![1.0; length])?)
            }
        };
        work(ones)
    }

    /// Replaces symmetric matrices in a buffer, each given by its first element and its number of rows, by their
    /// eigenvectors.
    ///
    /// # Errors
    /// A number is not finite; the device fails.
    pub fn decompose(
        &self,
        matrices: &mut PoolBuffer,
        list: &[(usize, usize)],
    ) -> Result<Vec<MatrixSpectrum>, BackendError> {
        match &self.others {
            Some(others) => self.decompose_over_cards(others, matrices, list),
            None => Ok(self.decomposer.decompose(&self.pool, matrices.vector_mut(), list)?),
        }
    }

    /// Whether [`factorise`](DeviceBackend::factorise) takes a matrix of this many rows with up to this many columns of its factor.
    pub fn factorises(&self, rows: usize, most: usize) -> bool {
        self.decomposer.factorises(rows, most)
    }

    /// Factors of positive matrices in a buffer, each given by its first element, its number of rows and the most columns of its
    /// factor: A = L Lᵀ + R with no diagonal element of R above `least`, where the columns suffice.
    ///
    /// # Errors
    /// The device fails.
    pub fn factorise(
        &self,
        matrices: &PoolBuffer,
        list: &[(usize, usize, usize)],
        least: f64,
    ) -> Result<PivotedCholesky, BackendError> {
        Ok(self.decomposer.factorise(&self.pool, matrices, list, least)?)
    }

    /// The buffers of a launch.
    pub(super) fn buffers<'a>(operands: Operands<'a, PoolBuffer>) -> DeviceBuffers<'a> {
        let with = |buffers: DeviceBuffers<'a>, space| {
            operands.get(space).map_or(buffers, |held: &'a PoolBuffer| buffers.with(space, held.vector()))
        };
        SPACE_LIST.into_iter().fold(DeviceBuffers::default(), with)
    }

    fn stage(&self, stage: &RecordStage, operands: Operands<'_, PoolBuffer>) -> Result<PoolBuffer, DeviceError> {
        let mut output = self.pool.take(stage.length)?;
        if stage.length > 0 {
            let prepared = self.products.prepare(stage)?;
            self.products.run(&prepared, &DeviceBackend::buffers(operands), output.vector_mut())?;
        }
        Ok(output)
    }
}

impl Backend for DeviceBackend {
    type Buffer = PoolBuffer;

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), BackendError> {
        self.multiplier = Multiplier::new(&self.device, &self.products, strategy, share)?;
        match &mut self.others {
            Some(others) => others.configure(strategy, share),
            None => Ok(()),
        }
    }

    fn upload(&self, data: Vec<f64>) -> Result<PoolBuffer, BackendError> {
        Ok(self.pool.upload(&data)?)
    }

    fn download<'b>(&self, buffer: &'b PoolBuffer) -> Result<Cow<'b, [f64]>, BackendError> {
        Ok(Cow::Owned(buffer.copy()?))
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, PoolBuffer>) -> Result<PoolBuffer, BackendError> {
        Ok(self.stage(stage, operands)?)
    }

    fn dot(&self, x: &PoolBuffer, y: &PoolBuffer) -> Result<f64, BackendError> {
        Ok(locked(&self.davidson).inner(x, y)?)
    }

    fn eigenvalues(&self, mut matrices: PoolBuffer, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, BackendError> {
        Ok(self.decompose(&mut matrices, list)?.into_iter().map(|spectrum| spectrum.values).collect())
    }

    fn eigenpairs(
        &self,
        mut matrices: PoolBuffer,
        list: &[(usize, usize)],
    ) -> Result<Vec<(Vec<f64>, Vec<f64>)>, BackendError> {
        let spectra = self.decompose(&mut matrices, list)?;
        let vectors = matrices.copy()?;
        let pair = |((first, rows), spectrum): (&(usize, usize), MatrixSpectrum)| {
            let mut columns: Vec<&[f64]> = vectors[*first..][..rows * rows].chunks(*rows.max(&1)).collect();
            if spectrum.ascending {
                columns.reverse();
            }
            (spectrum.values, columns.concat())
        };
        Ok(list.iter().zip(spectra).map(pair).collect())
    }

    fn solve(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, PoolBuffer>,
        diagonal: &PoolBuffer,
        vector: &mut PoolBuffer,
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        if let Some(shares) = self.others.as_ref().and_then(|others| others.shares(product)) {
            return self.solve_over_cards(&shares, operands, diagonal, vector, limits, against);
        }
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = self.multiplier.prepare(product, DeviceBackend::buffers(operands), &self.pool)?;
        davidson.solve(&mut multiply, diagonal, vector, limits, against)
    }

    fn solve_together(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, PoolBuffer>,
        diagonal: &PoolBuffer,
        vectors: &mut [&mut PoolBuffer],
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        // Over several cards the states are found one after the other, each by a solve that is shared out.
        if self.others.as_ref().is_some_and(|others| others.shares(product).is_some()) {
            return Ok(None);
        }
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = self.multiplier.prepare(product, DeviceBackend::buffers(operands), &self.pool)?;
        davidson.solve_together(&mut multiply, diagonal, vectors, limits, against)
    }

    fn max_projected(&self) -> usize {
        most_projected()
    }

    fn release(&mut self) {
        drop(self.pool.unpark());
        self.others.iter_mut().for_each(OtherCards::release);
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn apply_plan(&mut self, plan: &PlannedMemory) -> Result<(), BackendError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(self.pool.unpark());
        self.pool.apply_plan(plan)?;
        let cards = 1 + self.others.as_ref().map_or(0, OtherCards::count);
        davidson.apply_plan(plan.width, plan.vectors_on_each_of(cards))?;
        self.others.as_mut().map_or(Ok(()), |others| others.apply_plan(plan))
    }

    fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), BackendError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let cards = 1 + self.others.as_ref().map_or(0, OtherCards::count);
        davidson.specialise(choice, elements_on_each_of(elements, cards))?;
        self.others.as_mut().map_or(Ok(()), |others| others.specialise(choice, elements))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = locked(&self.davidson).warnings();
        warnings.extend(self.others.iter().flat_map(OtherCards::warnings));
        warnings.sort_unstable();
        warnings.dedup();
        warnings
    }

    fn work(&self) -> Vec<CardWork> {
        let own = locked(&self.davidson).work();
        std::iter::once(own).chain(self.others.iter().flat_map(OtherCards::work)).collect()
    }

    fn reserved(&self) -> u64 {
        self.pool.reserved()
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
    }
}
