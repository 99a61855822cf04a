//! Where vectors live and programs run: the CPU (rayon), one CUDA device (driver API, loaded at run time), or a device
//! simulated on the CPU, which runs the generated CUDA text itself under checks ([`crate::simulate`]).
//!
//! A [`Device`] is a cheap handle. [`Vector`]s are solver vectors, [`Buffer`]s are tables of kernels, [`Kernel`]s are
//! compiled CUDA files; vector programs ([`crate::vector_program::Program`]) run on every kind of device and give the
//! same numbers up to rounding. Same device, same run: same bits.
//!
//! Kernels start in only one place, [`Kernel::launch`], which checks named [`Arguments`] against the plan's
//! [`eigenforge_templates::Launch`] and both against the text.

mod arena;
mod arguments;
mod attributes;
mod background;
mod caller;
mod capacity;
mod card_links;
mod card_memory;
mod column_copies;
mod context;
mod copies;
mod cpu;
mod cuda;
mod dense_eigensolver;
mod eigensolver;
mod element_function;
mod events;
mod everywhere;
mod host_tables;
mod kernel;
mod lanes;
mod library;
mod links;
mod mapping;
mod marks;
mod matrix_products;
mod memory;
mod module;
mod named_tables;
mod names;
mod part;
mod peer_copies;
mod pinned;
mod place;
mod recorder;
mod shared;
mod side_copies;
mod sim;
mod staging;
mod streams;
mod striped;
mod team;
mod tensor_maps;
mod vector;
mod window;

pub use arena::Arena;
pub use arguments::Arguments;
pub(crate) use attributes::CardAttributes;
pub(crate) use background::BackgroundCompilation;
pub use background::CompilationAhead;
pub use caller::CallerStream;
pub use capacity::Memory;
pub use card_links::CardLinks;
pub use column_copies::{ColumnCopies, StridedColumns};
pub use copies::{Copies, Transfer};
pub(crate) use cpu::Cpu;
pub(crate) use cuda::Cuda;
pub(crate) use dense_eigensolver::dense_eigenvalues;
pub use eigensolver::{Eigensolver, SymmetricMatrix};
pub use element_function::{ElementFunction, random_start};
pub use events::DeviceSpan;
pub use everywhere::Everywhere;
pub use host_tables::{HostTable, TableList};
pub use kernel::{Kernel, LoadedKernel};
pub use lanes::{LanePart, LaneTimes, Lanes, Launched, Passage};
pub(crate) use links::{Arrival, CopiedRun, Links, Mover};
pub(crate) use marks::Mark;
pub use matrix_products::{MatrixBlock, MatrixCall, MatrixOperand, MatrixPlace, MatrixProducts};
pub use memory::{Buffer, OnDevice};
pub use named_tables::{ElementArgument, NamedTables, SharedMemory};
pub(crate) use peer_copies::{PeerCopies, PeerCopy};
pub use pinned::Pinned;
pub use recorder::{RecordedProgram, Recorder};
pub use side_copies::{PendingCopy, SideCopies};
pub use sim::Checks;
pub(crate) use sim::Sim;
pub use tensor_maps::{MappedMatrix, tensor_maps};
pub use vector::Vector;
pub use window::Window;

use crate::error::{DeviceError, Result};
use crate::jit::{JitError, Overrides, Settings};
use crate::ranks::Ranks;
use crate::scalar::{Pod, Scalar};
use crate::simulate::{Schedule, Simulator};
use crate::vector_program::{Bind, Program};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{KernelText, ScalarType, Warp};
use library::Library;
pub(crate) use part::Part;
use place::MemoryPlace;
use std::sync::Arc;

/// A place to compute. Clones refer to the same device.
#[derive(Clone)]
pub enum Device {
    /// All cores of this machine.
    Cpu(Arc<Cpu>),
    /// One CUDA device.
    Cuda(Arc<Cuda>),
    /// All generated text run on the CPU, under checks. Slow; for small problems.
    Sim(Arc<Sim>),
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// CUDA device 0 if driver, device and NVRTC are there, else the CPU.
    pub fn best() -> Result<Device> {
        Ok(Device::best_with_reason().0)
    }

    /// [`Device::best`], and if it is the CPU although there is a CUDA driver, the reason: no device, no NVRTC, an NVRTC
    /// too new for the driver. Without a driver there is no reason to give.
    pub fn best_with_reason() -> (Device, Option<String>) {
        match Device::cuda(0) {
            Ok(device) => (device, None),
            Err(error) => {
                tracing::info!(%error, "no CUDA device: using the CPU");
                (Device::cpu(), cpu_fallback_reason(&error))
            }
        }
    }

    /// All cores of this machine.
    pub fn cpu() -> Device {
        Device::Cpu(Arc::new(Cpu::new()))
    }

    /// The cores, with a list of the vector programs that a card would launch in their place.
    pub fn recording() -> Device {
        Device::Cpu(Arc::new(Cpu::recorded()))
    }

    /// That list, if the device keeps one.
    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        match self {
            Device::Cpu(cpu) => cpu.recorder(),
            Device::Cuda(_) | Device::Sim(_) => None,
        }
    }

    /// This device as that of one of several ranks: vectors hold the rank's share, and programs add up their sums over all ranks. Every
    /// rank makes the same calls in the same order. `sharing` ranks share the device, this one included.
    ///
    /// # Errors
    /// A device of several cards, or of a rank.
    pub fn over_ranks(&self, ranks: &Arc<Ranks>, sharing: usize) -> Result<Device> {
        self.check_alone("a rank's device")?;
        if self.part().is_some() {
            let instead = "it is that of a rank already".into();
            return Err(DeviceError::NotOverRanks { what: self.name(), instead });
        }
        Ok(self.of_part(Some(Part::new(ranks, sharing))))
    }

    /// The same device with another part of what ranks share.
    fn of_part(&self, part: Option<Part>) -> Device {
        match self {
            Device::Cpu(_) => Device::Cpu(Arc::new(part.map_or_else(Cpu::new, Cpu::of_part))),
            Device::Cuda(cuda) => Device::Cuda(Arc::new(cuda.of_part(part))),
            Device::Sim(sim) => Device::Sim(Arc::new(sim.of_part(part))),
        }
    }

    /// The same with messages from card to card, if it is a card and all ranks have one of their own; else itself, with the reason. Every
    /// rank calls it.
    ///
    /// # Errors
    /// A rank that failed.
    pub fn linked(&self) -> Result<(Device, Option<String>)> {
        let (Some(part), Device::Cuda(cuda)) = (self.part(), self) else { return Ok((self.clone(), None)) };
        Ok(match CardLinks::new(part.ranks(), cuda.context())? {
            Ok(links) => (self.of_part(Some(part.linked(links))), None),
            Err(reason) => (self.clone(), Some(reason)),
        })
    }

    /// The links from this rank's card to those of the others, where there are any.
    pub fn card_links(&self) -> Option<&Arc<CardLinks>> {
        self.part()?.links()
    }

    /// The same device for vectors that this rank has as a whole; without ranks the device itself.
    #[must_use]
    pub fn of_this_rank(&self) -> Device {
        self.part().map_or_else(|| self.clone(), |_| self.of_part(None))
    }

    /// The same, with vectors of the length that `bounds` ends with cut at those places: one share per rank, the first from 0. Without
    /// ranks it is the device itself.
    ///
    /// # Errors
    /// Bounds that do not ascend from 0, or another number of shares than ranks.
    pub fn cut_at(&self, bounds: Vec<usize>) -> Result<Device> {
        let Some(part) = self.part() else { return Ok(self.clone()) };
        if bounds.len() != part.ranks().count() + 1 || bounds[0] != 0 || !bounds.is_sorted() {
            let expected = format!("{} bounds that ascend from 0", part.ranks().count() + 1);
            return Err(DeviceError::Arguments {
                what: "shares of a vector".into(),
                expected,
                found: format!("{bounds:?}"),
            });
        }
        Ok(self.of_part(Some(part.cut_at(bounds))))
    }

    /// What it has as one of several ranks.
    pub(crate) fn part(&self) -> Option<&Part> {
        match self {
            Device::Cpu(cpu) => cpu.part(),
            Device::Cuda(cuda) => cuda.part(),
            Device::Sim(sim) => sim.part(),
        }
    }

    /// The ranks that this device is one of; `None` where it is alone.
    pub fn ranks(&self) -> Option<&Arc<Ranks>> {
        self.part().map(Part::ranks)
    }

    /// CUDA device `ordinal`.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Ok(Device::Cuda(Cuda::open(&[ordinal])?))
    }

    /// Several CUDA devices of one kind as one: long vectors are spread over their memory, and a kernel that works on such a vector
    /// is shared out. The first does what is not. The same cards in the same order give the same bits.
    ///
    /// # Errors
    /// No card, one that is not there or is named twice; cards of two kinds, or that cannot see each other's memory.
    pub fn cuda_team(ordinals: &[usize]) -> Result<Device> {
        let twice = |at: usize| ordinals[..at].contains(&ordinals[at]);
        if ordinals.is_empty() || (0..ordinals.len()).any(twice) {
            return Err(DeviceError::Arguments {
                what: "the cards of a device".into(),
                expected: "one card or more, each named once".into(),
                found: format!("{ordinals:?}"),
            });
        }
        Ok(Device::Cuda(Cuda::open(ordinals)?))
    }

    /// Number of cards that work as this device: 1 but for [`Device::cuda_team`] and `sim:N`.
    pub fn cards_at_work(&self) -> u32 {
        match self {
            Device::Cpu(_) => 1,
            Device::Cuda(cuda) => cuda.cards_at_work(),
            Device::Sim(sim) => sim.cards_at_work(),
        }
    }

    /// The cards over which a vector of so many bytes is spread; 1 where it stays on one.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn cards_for(&self, bytes: u64) -> Result<u32> {
        match self {
            Device::Cpu(_) => Ok(1),
            Device::Cuda(cuda) => cuda.cards_for(bytes),
            // The parts of a simulated vector have no pages.
            Device::Sim(sim) => Ok(sim.cards_at_work()),
        }
    }

    /// Refuses several cards for what takes one.
    ///
    /// # Errors
    /// The device is several cards.
    pub fn check_alone(&self, what: &str) -> Result<()> {
        match self.cards_at_work() {
            1 => Ok(()),
            _ => Err(DeviceError::SeveralCards { what: what.into(), device: self.name() }),
        }
    }

    /// Number of CUDA devices; 0 without a driver.
    pub fn cards() -> usize {
        context::cards()
    }

    /// CUDA device `ordinal` with a separate compiler, cache and options. Its memory is separate too: vectors of another
    /// handle of the same card are refused.
    pub fn cuda_with(ordinal: usize, settings: &Settings) -> Result<Device> {
        Ok(Device::Cuda(Arc::new(Cuda::open_with(&[ordinal], settings)?)))
    }

    /// A simulated device, with this machine's C++ compiler; threads take turns in the order of `schedule`. It starts
    /// with the edited texts of `EIGENFORGE_OVERRIDE`.
    pub fn simulated(schedule: Schedule) -> Result<Device> {
        let device = Device::simulated_by(Simulator::find()?, schedule, Checks::Watched);
        device.set_overrides(Overrides::from_env().map_err(JitError::from)?)?;
        Ok(device)
    }

    /// [`Device::simulated`] with a given compiler and selectable checks.
    pub fn simulated_by(simulator: Simulator, schedule: Schedule, checks: Checks) -> Device {
        Device::Sim(Arc::new(Sim::new(simulator, schedule, checks, 1)))
    }

    /// [`Device::simulated`] for `cards` cards that work as one device: each text is run as each card runs it.
    pub fn simulated_team(cards: u32, schedule: Schedule) -> Result<Device> {
        let device = Device::Sim(Arc::new(Sim::new(Simulator::find()?, schedule, Checks::Watched, cards.max(1))));
        device.set_overrides(Overrides::from_env().map_err(JitError::from)?)?;
        Ok(device)
    }

    /// `auto`, `cpu`, `cuda`, `cuda:N`, several cards as `cuda:0-3`, `cuda:0,2` or `cuda:all`, `sim`, `sim:CARDS`, `sim:reverse` or
    /// `sim:random:SEED`.
    pub fn parse(name: &str) -> Result<Device> {
        let unknown = || DeviceError::UnknownDevice(name.into());
        match name.split_once(':') {
            None if name == "auto" => Device::best(),
            None if name == "cpu" => Ok(Device::cpu()),
            None if name == "cuda" => Device::cuda(0),
            None if name == "sim" => Device::simulated(Schedule::Forward),
            Some(("cuda", "all")) => Device::cuda_team(&names::all_ordinals()),
            Some(("cuda", cards)) => Device::cuda_team(&names::ordinals(cards).ok_or_else(unknown)?),
            Some(("sim", order)) => match names::simulated_cards(order) {
                Some(cards) => Device::simulated_team(cards, Schedule::Forward),
                None => Device::simulated(Schedule::parse(order).ok_or_else(unknown)?),
            },
            _ => Err(unknown()),
        }
    }

    /// Description for the report.
    pub fn name(&self) -> String {
        match self {
            Device::Cpu(cpu) => cpu.name(),
            Device::Cuda(cuda) => cuda.name(),
            Device::Sim(sim) => sim.name(),
        }
    }

    /// Free and total memory now; of several ranks all that they have together, and every rank must ask.
    pub fn memory(&self) -> Memory {
        let here = match self {
            Device::Cpu(_) | Device::Sim(_) => capacity::host_memory(),
            Device::Cuda(cuda) => cuda.context().memory(),
        };
        self.part().map_or(here, |part| part.memory(here))
    }

    /// Whether it is a card.
    pub fn is_cuda(&self) -> bool {
        matches!(self, Device::Cuda(_))
    }

    /// Whether generated kernels run on it: a card or a simulated device.
    pub fn runs_kernels(&self) -> bool {
        matches!(self, Device::Cuda(_) | Device::Sim(_))
    }

    /// Whether both handles refer to one device.
    pub fn is_same(&self, other: &Device) -> bool {
        self.place().is_same(&other.place())
    }

    /// Where its memory is.
    pub(crate) fn place(&self) -> MemoryPlace {
        match self {
            Device::Cpu(_) => MemoryPlace::Host,
            Device::Cuda(cuda) => MemoryPlace::Card(cuda.context().clone()),
            Device::Sim(sim) => sim.place(),
        }
    }

    /// Returns an error, with the numbers, if `needed` bytes do not fit; allocates nothing.
    pub fn check_memory(&self, what: &str, needed: u64) -> Result<()> {
        self.memory().check(what, &self.name(), needed)
    }

    /// Refuses problems too large to simulate: `flops` are those of one multiply. Other devices accept everything.
    pub fn check_work(&self, what: &str, flops: f64) -> Result<()> {
        match self {
            Device::Cpu(_) | Device::Cuda(_) => Ok(()),
            Device::Sim(sim) => sim.check_work(what, flops),
        }
    }

    /// A vector of zeros.
    pub fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        Vector::zeros(self, len)
    }

    /// A copy of host data.
    pub fn upload<T: Scalar>(&self, values: &[T]) -> Result<Vector<T>> {
        let mut vector = Vector::zeros(self, values.len())?;
        vector.write(values)?;
        Ok(vector)
    }

    /// Zeros in the host memory that this device copies fastest.
    pub fn pinned(&self, len: usize) -> Result<Pinned> {
        Pinned::zeros(self, len)
    }

    /// Uniform in [-1, 1), a function of seed and index only: the same numbers on every device.
    pub fn random<T: Scalar>(&self, len: usize, seed: u64) -> Result<Vector<T>> {
        let mut vector = Vector::zeros(self, len)?;
        self.fill_random(&mut vector, seed)?;
        Ok(vector)
    }

    /// Overwrites a vector with [`Device::random`]'s numbers.
    pub fn fill_random<T: Scalar>(&self, vector: &mut Vector<T>, seed: u64) -> Result<()> {
        let program = element_function::random_program();
        self.program(&program, T::TYPE, &[random_start(seed)])?.run(&mut [Bind::Out(vector)], &[])?;
        Ok(())
    }

    /// A table for kernels, copied from the host.
    pub fn buffer<U: Pod>(&self, values: &[U]) -> Result<Buffer<U>> {
        Buffer::new(self.place(), values)
    }

    /// A table that a kernel writes before anything reads it.
    pub fn empty_buffer<U: Pod + Default>(&self, len: usize) -> Result<Buffer<U>> {
        Buffer::empty(self.place(), len)
    }

    /// A table of zeros for kernels that the cards of a device share out, each with a part of it; [`Buffer::on_every_card`] makes of it one
    /// that each card has.
    ///
    /// # Errors
    /// No memory.
    pub fn spread_buffer<U: Pod + Default>(&self, len: usize) -> Result<Buffer<U>> {
        Buffer::spread(self.place(), self.cards_at_work(), len)
    }

    /// Compiles a vector program for this device, or takes it from the device's cache.
    pub fn program(
        &self,
        program: &VectorProgram,
        scalar: ScalarType,
        functions: &[ElementFunction],
    ) -> Result<Program> {
        if let Some(recorder) = self.recorder() {
            recorder.note(program, scalar, functions);
        }
        Program::new(self, program, scalar, functions)
    }

    /// The width of its warps, which its plans have. The CPU has none: plans for it are those of an NVIDIA GPU.
    pub fn warp(&self) -> Warp {
        match self {
            Device::Cpu(_) => Warp::default(),
            Device::Cuda(cuda) => cuda.warp(),
            Device::Sim(sim) => sim.warp(),
        }
    }

    /// Compiles and loads a generated CUDA file; refused on the CPU.
    ///
    /// # Errors
    /// A text for warps of another width than the device has; a text that does not compile.
    pub fn compile(&self, text: &KernelText) -> Result<Kernel> {
        let width = self.warp().lanes();
        if let Some(found) = Warp::declared(&text.text).filter(|found| *found != width) {
            return Err(DeviceError::WarpWidth { kernel: text.name.clone(), found, width, device: self.name() });
        }
        match self {
            Device::Cpu(_) => Err(DeviceError::WrongDevice {
                what: format!("kernel '{}'", text.name),
                expected: "a CUDA device".into(),
                found: "the CPU".into(),
            }),
            Device::Cuda(cuda) => cuda.kernel(text),
            Device::Sim(sim) => sim.kernel(text),
        }
    }

    /// [`Device::compile`] of several files, each on its own thread.
    ///
    /// # Errors
    /// The error of the first file that fails.
    pub fn compile_all(&self, texts: &[KernelText]) -> Result<Vec<Kernel>> {
        if let Some(library) = self.library() {
            library.reserve(texts)?;
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = texts.iter().map(|text| scope.spawn(|| self.compile(text))).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|kernel| kernel.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Those of some texts that a card would have to compile: they are neither loaded nor in the kernel cache. None on other devices.
    pub fn cold_texts<'t>(&self, texts: &'t [KernelText]) -> Vec<&'t KernelText> {
        match self {
            Device::Cuda(cuda) => texts.iter().filter(|text| cuda.is_cold(text)).collect(),
            Device::Cpu(_) | Device::Sim(_) => Vec::new(),
        }
    }

    /// Whether a card would have to be started first: there is a driver, and no card is open in this process. Starts nothing.
    pub fn card_is_asleep() -> bool {
        !Cuda::is_any_open() && crate::jit::driver_version().is_ok()
    }

    /// Compiles and loads a file that a run will ask for, as far as that can be done: errors are left to who asks.
    fn prepare(&self, text: &KernelText) {
        match self {
            Device::Cuda(cuda) => cuda.prepare(text),
            Device::Sim(sim) => sim.prepare(text),
            Device::Cpu(_) => {}
        }
    }

    /// The kernel files; `None` where no kernels run.
    fn library(&self) -> Option<&Library> {
        match self {
            Device::Cpu(_) => None,
            Device::Cuda(cuda) => Some(cuda.library()),
            Device::Sim(sim) => Some(sim.library()),
        }
    }

    /// From now on, edited texts replace generated ones of the same names in every kernel file compiled through any
    /// handle of this device. A CUDA device starts with those of `EIGENFORGE_OVERRIDE`.
    ///
    /// # Errors
    /// The device is the CPU, which runs no generated text.
    pub fn set_overrides(&self, overrides: Overrides) -> Result<()> {
        match self.library() {
            Some(library) => library.set_overrides(overrides),
            None => overrides.refuse_for(&self.name()).map_err(JitError::from)?,
        }
        Ok(())
    }

    /// An error if this device runs no generated text but `EIGENFORGE_OVERRIDE` names an edited one.
    pub fn check_overrides(&self) -> Result<()> {
        match self.library() {
            Some(_) => Ok(()),
            None => self.set_overrides(Overrides::from_env().map_err(JitError::from)?),
        }
    }

    /// Whether edited texts may replace generated ones.
    pub fn has_overrides(&self) -> bool {
        self.library().is_some_and(|library| !library.overrides().is_empty())
    }

    /// A line for each edited text that has replaced none of the kernel files compiled so far.
    pub fn unused_overrides(&self) -> Vec<String> {
        self.library().map_or_else(Vec::new, |library| library.overrides().unused())
    }

    /// Every kernel file loaded so far, in the order of first use.
    pub fn kernels_used(&self) -> Vec<LoadedKernel> {
        self.library().map_or_else(Vec::new, Library::records)
    }

    /// Waits until everything launched so far is done.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Device::Cpu(_) | Device::Sim(_) => Ok(()),
            Device::Cuda(cuda) => cuda.synchronize(),
        }
    }

    /// Milliseconds that `work` keeps the device busy: CUDA events, or the wall clock elsewhere; the longest of all ranks.
    pub fn time<R>(&self, work: impl FnOnce() -> R) -> Result<(R, f64)> {
        let (result, milliseconds) = match self {
            Device::Cpu(_) | Device::Sim(_) => {
                let start = std::time::Instant::now();
                let result = work();
                (result, start.elapsed().as_secs_f64() * 1e3)
            }
            Device::Cuda(cuda) => cuda.time(work)?,
        };
        Ok((result, self.part().map_or(Ok(milliseconds), |part| part.longest(milliseconds))?))
    }
}

/// Why CUDA is not used, in one line; `None` without a driver.
fn cpu_fallback_reason(error: &DeviceError) -> Option<String> {
    match error {
        DeviceError::NoDriver => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_the_cpu_is_one_line_and_none_without_a_driver() {
        assert_eq!(cpu_fallback_reason(&DeviceError::NoDriver), None);
        let nvrtc = JitError::DriverTooOld { nvrtc: (13, 5), path: "libnvrtc.so.13".into(), driver: (12, 4) };
        let reason = cpu_fallback_reason(&nvrtc.into()).unwrap();
        assert!(reason.contains("NVRTC 13.5") && reason.contains("too new for this driver"), "{reason}");
        let searched = vec!["here".into(), "there".into()];
        let reason = cpu_fallback_reason(&JitError::NoNvrtc { searched }.into()).unwrap();
        assert!(reason.contains("pip install") && reason.lines().count() == 1, "{reason}");
        let reason = cpu_fallback_reason(&DeviceError::NoDevice { ordinal: 0, count: 0 }).unwrap();
        assert!(reason.contains("no CUDA device"), "{reason}");
    }
}
