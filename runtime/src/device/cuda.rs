//! One CUDA device, a card or several that work as one: its context, the compiler, and the kernel files loaded so far.
//!
//! Calls into the driver are in `context.rs`, `card_memory.rs`, `module.rs` (functions and the launch), `mapping.rs` (memory
//! that grows), `staging.rs` (short copies) and `copies.rs` (a second stream).

use super::context::{Context, driver};
use super::kernel::{Engine, Kernel, LoadedKernel};
use super::library::Library;
use super::mapping::granularity;
use super::module::Module;
use super::part::Part;
use crate::error::{DeviceError, Result};
use crate::jit::{self, Arch, Chosen, Jit, Overrides, Settings};
use crate::trace;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute};
use eigenforge_templates::{KernelText, Warp, WarpError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One CUDA device: its primary context, a stream, the compiler and the kernels loaded so far; of several cards that work as one
/// those of the first, which has the others.
pub struct Cuda {
    context: Arc<Context>,
    /// The numbers of its cards.
    ordinals: Vec<usize>,
    jit: Arc<Jit>,
    arch: Arch,
    multiprocessors: u32,
    warp: Warp,
    library: Arc<Library>,
    part: Option<Part>,
}

/// Devices that are open in this process, by the numbers of their cards.
static OPEN: Mutex<BTreeMap<Vec<usize>, Weak<Cuda>>> = Mutex::new(BTreeMap::new());

impl Cuda {
    /// Opens a device of one card or several, and finds NVRTC. All live handles of the same cards are the same, so that memory
    /// made through one may be used through another.
    pub(super) fn open(ordinals: &[usize]) -> Result<Arc<Cuda>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cuda) = open.get(ordinals).and_then(Weak::upgrade) {
            return Ok(cuda);
        }
        let cuda = Arc::new(Cuda::open_with(ordinals, &Settings::from_env()?)?);
        open.insert(ordinals.to_vec(), Arc::downgrade(&cuda));
        Ok(cuda)
    }

    /// Whether a device is open in this process.
    pub(super) fn is_any_open() -> bool {
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().any(|cuda| cuda.strong_count() > 0)
    }

    /// Opens a separate device with the given compiler, cache and options.
    pub(super) fn open_with(ordinals: &[usize], settings: &Settings) -> Result<Cuda> {
        let context = Arc::new(Context::open_team(ordinals)?);
        let jit = Jit::with_settings(settings)?;
        let library = Library::new(Overrides::from_env().map_err(jit::JitError::from)?);
        if let Ok(version) = jit::driver_version() {
            jit.check_driver(version)?;
        }
        let major = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let multiprocessors = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let lanes = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?;
        let warp = Warp::try_from(lanes).map_err(|WarpError { found }| DeviceError::Arguments {
            what: "the width of the device's warps".into(),
            expected: "8, 16 or 32 lanes".into(),
            found: found.to_string(),
        })?;
        let arch = Arch::from_capability(major, minor);
        let (jit, library) = (Arc::new(jit), Arc::new(library));
        Ok(Cuda { context, ordinals: ordinals.to_vec(), jit, arch, multiprocessors, warp, library, part: None })
    }

    /// The same card, with the kernels loaded so far, for the vectors of a rank or of none.
    pub(super) fn of_part(&self, part: Option<Part>) -> Cuda {
        let Cuda { context, ordinals, jit, arch, multiprocessors, warp, library, .. } = self;
        Cuda {
            context: context.clone(),
            ordinals: ordinals.clone(),
            jit: jit.clone(),
            arch: *arch,
            multiprocessors: *multiprocessors,
            warp: *warp,
            library: library.clone(),
            part,
        }
    }

    /// What it has as one of several ranks.
    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// The card's name and number, `NVIDIA H200 (cuda:0)`.
    pub fn name(&self) -> String {
        match &self.part {
            None => self.context.name().into(),
            Some(part) => format!("{} ranks, this one on {}", part.ranks().count(), self.context.name()),
        }
    }

    /// The card's name as the driver has it, `NVIDIA H200`.
    pub fn model(&self) -> &str {
        self.context.model()
    }

    /// The architecture kernels are compiled for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether it has a tensor memory accelerator, which copies parts of matrices to shared memory, and useful
    /// double-precision tensor cores: compute capability 9.0.
    pub fn has_tensor_memory_accelerator(&self) -> bool {
        self.arch.0 == 90
    }

    /// The width of its warps.
    pub(super) fn warp(&self) -> Warp {
        self.warp
    }

    /// Number of multiprocessors, for grids.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Bytes of shared memory that a block may request.
    pub fn shared_bytes_per_block(&self) -> Result<u32> {
        self.context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    }

    /// Bytes of the L2 cache.
    pub fn l2_bytes(&self) -> Result<u64> {
        self.context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map(u64::from)
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.context.synchronize()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Compiles (or takes from the cache) and loads a kernel file; the same text is loaded once.
    pub(super) fn kernel(&self, text: &KernelText) -> Result<Kernel> {
        self.library.kernel(text, |chosen| self.load(chosen))
    }

    /// Whether a text would have to be compiled.
    pub(super) fn is_cold(&self, text: &KernelText) -> bool {
        !self.library.has_loaded(text) && !self.jit.has_cached(text, self.arch)
    }

    /// The same ahead of a run that will ask for it.
    pub(super) fn prepare(&self, text: &KernelText) {
        self.library.prepare(text, |chosen| self.load(chosen));
    }

    fn load(&self, chosen: &Chosen<'_>) -> Result<(Kernel, LoadedKernel)> {
        let text = &*chosen.text;
        let start = std::time::Instant::now();
        let mut compiling = trace::span("compile", &text.name);
        let cubin = chosen.compile(&self.jit, self.arch)?;
        compiling.note("cached", cubin.cached);
        compiling.note("kernels", text.entries.join(" "));
        drop(compiling);
        let loading = trace::span("load", &text.name);
        let module = Module::load(&self.context, text, &cubin, self.arch)?;
        let each = self.load_each(chosen)?;
        let shared = self.shared_bytes_per_block()?;
        let kernel = Kernel::new(text, Engine::Cuda(module, each), |engine, entry| match engine {
            Engine::Cuda(module, _) => module.limits(entry, shared),
            Engine::Sim(_) => unreachable!("a cubin was loaded"),
        })?;
        drop(loading);
        Ok((kernel, LoadedKernel::new(chosen, &cubin, start.elapsed().as_secs_f64())))
    }

    /// The text of each card, where several work as one device: compiled at once.
    fn load_each(&self, chosen: &Chosen<'_>) -> Result<Vec<Module>> {
        let cards = self.context.cards();
        if cards == 1 {
            return Ok(Vec::new());
        }
        let load = |card: usize| {
            let text = Cow::Owned(chosen.text.for_card(card as u32, cards as u32));
            let own = Chosen { text, edited: chosen.edited.clone() };
            let cubin = own.compile(&self.jit, self.arch)?;
            let context = match self.context.team() {
                Some(team) if card > 0 => team.other(card),
                _ => &self.context,
            };
            Module::load(context, &own.text, &cubin, self.arch)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cards).map(|card| scope.spawn(move || load(card))).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|module| module.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// The numbers of its cards, the leader's first.
    pub(super) fn ordinals(&self) -> &[usize] {
        &self.ordinals
    }

    /// Number of cards that work as this device.
    pub(super) fn cards_at_work(&self) -> u32 {
        self.context.cards() as u32
    }

    pub(super) fn cards_for(&self, bytes: u64) -> Result<u32> {
        let cards = self.context.cards();
        let is_spread = cards > 1 && bytes.div_ceil(granularity(&self.context)? as u64) >= cards as u64;
        Ok(if is_spread { cards as u32 } else { 1 })
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn time<R>(&self, work: impl FnOnce() -> R) -> Result<(R, f64)> {
        self.context.enter()?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver("cuEventCreate"));
        let (start, end) = (event()?, event()?);
        // SAFETY: events and stream are valid until destroyed below.
        unsafe {
            result::event::record(start, self.context.stream()).map_err(driver("cuEventRecord"))?;
            let result_of_work = work();
            self.context.enter()?;
            result::event::record(end, self.context.stream()).map_err(driver("cuEventRecord"))?;
            result::event::synchronize(end).map_err(driver("cuEventSynchronize"))?;
            let milliseconds = result::event::elapsed(start, end).map_err(driver("cuEventElapsedTime"))?;
            let _ = result::event::destroy(start);
            let _ = result::event::destroy(end);
            Ok((result_of_work, f64::from(milliseconds)))
        }
    }
}
