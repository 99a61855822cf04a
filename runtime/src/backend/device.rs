//! A device that runs kernels: buffers and Davidson's vectors stay in its memory.
//!
//! ```text
//! RecordStage → one launch (records::card::Products)       y = H x → V, W, λ, ‖r‖ (solvers::lean, generated kernels)
//! symmetric matrices → their eigenvectors, all at once (eigenvectors.rs)
//! ```
//!
//! Only these cross to the host: three numbers per product, eigenvalues, copies of buffers, and, where a bench gives the
//! CPU a share of y = H x, what its records read. The simulated device takes the same path, so its kernels are tested without a card.

use super::cards::OtherCards;
use super::eigenvectors::{MatrixSpectrum, PivotedCholesky};
use super::one_card::{OneCard, buffers};
use super::{Backend, Operands};
use crate::device::Device;
use crate::error::{BackendError, DeviceError};
use crate::records::{Assembly, CpuShare, RecordStage, Strategy, TwoStages};
use crate::residency::{
    Budget, MemoryLimits, PlannedMemory, Pool, PoolBuffer, ProcessorKind, Usage, elements_on_each_of, locked,
};
use crate::solvers::lean::{self, CardWork, DavidsonLimits, DavidsonResult, TextChoice};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// A device that runs kernels, with everything that a run keeps there between solves.
pub struct DeviceBackend {
    /// The card; of several the one that leads.
    card: OneCard,
    /// A vector of ones, as long as the longest that was needed.
    ones: Mutex<Option<PoolBuffer>>,
    /// Of several cards those beside the one that leads.
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
        DeviceBackend::limited(device, MemoryLimits::new(device, None, None, std::env::temp_dir()))
    }

    /// A backend with limited memory: evictable buffers move to host memory and then to disk when memory is short.
    ///
    /// # Errors
    /// See [`DeviceBackend::new`].
    pub fn limited(device: &Device, limits: MemoryLimits) -> Result<DeviceBackend, BackendError> {
        Ok(DeviceBackend { card: OneCard::new(device, limits)?, ones: Mutex::default(), others: None })
    }

    /// The same for a device of several cards, which are its [members](Device::members): the first leads, the others take shares of what
    /// is large enough. `limits` are those of each card. A device of one card is that card.
    ///
    /// # Errors
    /// See [`DeviceBackend::new`].
    pub fn of_cards(device: &Device, cards: &[Device], limits: MemoryLimits) -> Result<DeviceBackend, BackendError> {
        let card = OneCard::with_pool(&cards[0], Pool::of_cards(device, cards, limits.clone())?)?;
        let others = (cards.len() > 1).then(|| OtherCards::new(device, cards, &limits)).transpose()?;
        Ok(DeviceBackend { card, ones: Mutex::default(), others })
    }

    /// For `eigenforge bench` and tests: solves compute y = H x in a way of Nemes et al. (2014, section 7), with a share of the CPU.
    /// Runs of users take the planned way with everything on the card, which was the quickest at every size.
    ///
    /// # Errors
    /// A share that is none; several cards and a share; a device or a machine without cuBLAS; the device fails.
    #[doc(hidden)]
    pub fn set_paper_product(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), BackendError> {
        if !share.is_possible() {
            let (expected, found) = (CpuShare::EXPECTED.into(), share.to_string());
            return Err(DeviceError::Arguments { what: "the CPU's share of H x".into(), expected, found }.into());
        }
        if let Some(others) = self.others.as_ref().filter(|_| share != CpuShare::default()) {
            let (what, device) = ("a share of the CPU in H x".into(), others.team().name());
            return Err(DeviceError::SeveralCards { what, device }.into());
        }
        let others = self.others.iter_mut().flat_map(|others| others.cards_mut());
        std::iter::once(&mut self.card).chain(others).try_for_each(|card| card.set_paper_product(strategy, share))
    }

    /// The pool of device memory.
    pub fn pool(&self) -> &Pool {
        &self.card.pool
    }

    /// The memory it may use.
    pub fn limits(&self) -> Budget {
        let pool = &self.card.pool;
        let (memory, other_cards, host) = (pool.limit(), pool.other_cards_limit(), pool.host_limit());
        let cards = 1 + self.others.as_ref().map_or(0, OtherCards::count);
        Budget { processor: ProcessorKind::Card, cards, memory, other_cards, host }
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
                ones.insert(self.card.pool.upload(&vec![1.0; length])?)
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
            Some(others) => others.decompose(&self.card, matrices, list),
            None => Ok(self.card.decomposer.decompose(&self.card.pool, matrices.vector_mut(), list)?),
        }
    }

    /// Whether [`factorise`](DeviceBackend::factorise) takes a matrix of this many rows with up to this many columns of its factor.
    pub fn factorises(&self, rows: usize, most: usize) -> bool {
        self.card.decomposer.factorises(rows, most)
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
        match &self.others {
            Some(others) => others.factorise(&self.card, matrices, list, least),
            None => Ok(self.card.decomposer.factorise(&self.card.pool, matrices.vector(), list, least)?),
        }
    }

    fn stage(&self, stage: &RecordStage, operands: Operands<'_, PoolBuffer>) -> Result<PoolBuffer, DeviceError> {
        let mut output = self.card.pool.take(stage.length)?;
        if stage.length > 0 {
            let prepared = self.card.products.prepare(stage)?;
            self.card.products.run(&prepared, &buffers(operands), output.vector_mut())?;
        }
        Ok(output)
    }
}

impl Backend for DeviceBackend {
    type Buffer = PoolBuffer;

    fn device(&self) -> Device {
        self.card.device.clone()
    }

    fn upload(&self, data: Vec<f64>) -> Result<PoolBuffer, BackendError> {
        Ok(self.card.pool.upload(&data)?)
    }

    fn download<'b>(&self, buffer: &'b PoolBuffer) -> Result<Cow<'b, [f64]>, BackendError> {
        Ok(Cow::Owned(buffer.copy()?))
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, PoolBuffer>) -> Result<PoolBuffer, BackendError> {
        Ok(self.stage(stage, operands)?)
    }

    fn assemble(&self, assembly: &Assembly, source: &PoolBuffer) -> Result<PoolBuffer, BackendError> {
        Ok(self.card.assemble(assembly, source)?)
    }

    fn dot(&self, x: &PoolBuffer, y: &PoolBuffer) -> Result<f64, BackendError> {
        Ok(locked(&self.card.davidson).inner(x, y)?)
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
        let OneCard { multiplier, pool, davidson, .. } = match &mut self.others {
            Some(others) => match others.shares(product) {
                Some(shares) => {
                    let vectors = (diagonal, vector, against);
                    return others.solve(&mut self.card, &shares, operands, vectors, limits);
                }
                None => &mut self.card,
            },
            None => &mut self.card,
        };
        let davidson = davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = multiplier.prepare(product, buffers(operands), pool)?;
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
        let OneCard { multiplier, pool, davidson, .. } = &mut self.card;
        let davidson = davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = multiplier.prepare(product, buffers(operands), pool)?;
        davidson.solve_together(&mut multiply, diagonal, vectors, limits, against)
    }

    fn max_projected(&self) -> usize {
        most_projected()
    }

    fn release(&mut self) {
        drop(self.card.pool.unpark());
        self.others.iter_mut().for_each(OtherCards::release);
    }

    fn pack(&mut self) -> Result<(), BackendError> {
        self.card.pool.pack()
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn apply_plan(&mut self, plan: &PlannedMemory) -> Result<(), BackendError> {
        drop(self.card.pool.unpark());
        self.card.pool.apply_plan(plan)?;
        let cards = 1 + self.others.as_ref().map_or(0, OtherCards::count);
        self.card.set_aside(plan.width, plan.vectors_on_each_of(cards))?;
        self.others.as_mut().map_or(Ok(()), |others| others.apply_plan(plan))
    }

    fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), BackendError> {
        let cards = 1 + self.others.as_ref().map_or(0, OtherCards::count);
        self.card.specialise(choice, elements_on_each_of(elements, cards))?;
        self.others.as_mut().map_or(Ok(()), |others| others.specialise(choice, elements))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = locked(&self.card.davidson).warnings();
        warnings.extend(self.others.iter().flat_map(OtherCards::warnings).chain(self.card.pool.warnings()));
        warnings.sort_unstable();
        warnings.dedup();
        warnings
    }

    fn work(&self) -> Vec<CardWork> {
        let own = locked(&self.card.davidson).work();
        std::iter::once(own).chain(self.others.iter().flat_map(OtherCards::work)).collect()
    }

    fn reserved(&self) -> u64 {
        self.card.pool.reserved()
    }

    fn usage(&self) -> Usage {
        self.card.pool.usage()
    }
}
