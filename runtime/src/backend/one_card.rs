//! One card, or its simulation, with everything that a run keeps there between solves: alone, the one that leads several, or one of the others.

use super::eigenvectors::Decomposer;
use super::{Operands, texts};
use crate::device::{Device, Eigensolver};
use crate::error::{BackendError, DeviceError};
use crate::records::card::{Assembling, DeviceBuffers, Multiplier, Products};
use crate::records::{Assembly, CpuShare, SPACE_LIST, Strategy};
use crate::residency::{MemoryLimits, Pool, PoolBuffer, locked};
use crate::solvers::lean::{CardWork, DeviceDavidson, TextChoice};
use crate::trace;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A card of a run.
pub(super) struct OneCard {
    pub device: Device,
    pub products: Products,
    /// What computes H x in solves.
    pub multiplier: Multiplier,
    pub pool: Arc<Pool>,
    pub davidson: Mutex<DeviceDavidson>,
    pub decomposer: Decomposer,
    /// What puts operators side by side; few chains need it.
    assembling: OnceLock<Assembling>,
}

impl OneCard {
    /// Compiles the kernels or takes them from the cache.
    ///
    /// # Errors
    /// The device is the CPU, which runs no kernels; the compiler or cuSOLVER is missing.
    pub(super) fn new(device: &Device, limits: MemoryLimits) -> Result<OneCard, BackendError> {
        OneCard::with_pool(device, Pool::new(device, limits)?)
    }

    /// The same with a pool of the card.
    ///
    /// # Errors
    /// See [`OneCard::new`].
    pub(super) fn with_pool(device: &Device, pool: Arc<Pool>) -> Result<OneCard, BackendError> {
        let _setting_up = trace::span("dmrg", "set up the card");
        let eigensolver = std::thread::scope(|scope| {
            // cuSOLVER is loaded while the kernels compile.
            let eigensolver = scope.spawn(|| Eigensolver::new(device));
            let compiled = texts::compile_together(device);
            let eigensolver = eigensolver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            compiled.and(eigensolver)
        })?;
        let room = pool.clone();
        let products = Products::new(device)?.with_memory(move |len| room.vector(len));
        Ok(OneCard {
            device: device.clone(),
            multiplier: Multiplier::new(device, &products, Strategy::Planned, CpuShare::default())?,
            products,
            davidson: Mutex::new(DeviceDavidson::new(device, &pool)?),
            decomposer: Decomposer::new(device, eigensolver)?,
            assembling: OnceLock::new(),
            pool,
        })
    }

    pub(super) fn set_paper_product(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), BackendError> {
        self.multiplier = Multiplier::new(&self.device, &self.products, strategy, share)?;
        Ok(())
    }

    /// Matrices side by side.
    pub(super) fn assemble(&self, assembly: &Assembly, source: &PoolBuffer) -> Result<PoolBuffer, DeviceError> {
        let assembling = match self.assembling.get() {
            Some(assembling) => assembling,
            None => {
                let compiled = Assembling::new(&self.device)?;
                self.assembling.get_or_init(|| compiled)
            }
        };
        let mut output = self.pool.take(assembly.length)?;
        assembling.run(assembly, source.vector(), output.vector_mut())?;
        Ok(output)
    }

    pub(super) fn davidson(&mut self) -> &mut DeviceDavidson {
        self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps memory for V and W, of so many vectors, with this many bytes together.
    pub(super) fn set_aside(&mut self, width: usize, bytes: u64) -> Result<(), BackendError> {
        drop(self.pool.unpark());
        Ok(self.davidson().apply_plan(width, bytes)?)
    }

    pub(super) fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), BackendError> {
        Ok(self.davidson().specialise(choice, elements)?)
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        locked(&self.davidson).warnings()
    }

    pub(super) fn work(&self) -> CardWork {
        locked(&self.davidson).work()
    }
}

/// The buffers of a launch.
pub(super) fn buffers<'a>(operands: Operands<'a, PoolBuffer>) -> DeviceBuffers<'a> {
    let with = |buffers: DeviceBuffers<'a>, space| {
        operands.get(space).map_or(buffers, |held: &'a PoolBuffer| buffers.set(space, held.vector()))
    };
    SPACE_LIST.into_iter().fold(DeviceBuffers::default(), with)
}
