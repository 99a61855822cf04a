//! A simulated device: host memory, and the generated text compiled by the C++ compiler ([`crate::simulate`]).
//!
//! Everything above a [`super::Kernel`] is the same as on CUDA: the same text, the same launches, the same checks before
//! each. Launches run with watched accesses; under [`Checks::Every`] each runs under both checks, which must leave the same bytes.

use super::arguments::{Arguments, Value};
use super::kernel::{Engine, Kernel, Limits, LoadedKernel};
use super::library::Library;
use super::part::Part;
use super::place::MemoryPlace;
use crate::error::{DeviceError, Result};
use crate::jit::Chosen;
use crate::simulate::{Argument, Check, MOST_SHARED_BYTES, Schedule, SimulateError, Simulated, Simulator};
use crate::trace;
use eigenforge_templates::launch::{Access, MOST_THREADS, Number, ParameterKind};
use eigenforge_templates::{KernelText, Launch, Warp};
use std::sync::Arc;
use std::time::Instant;

/// Limit on the predicted seconds of one multiply; the vector updates of an iteration take about as long again.
const PATIENCE: f64 = 2.0;
/// Seconds per floating-point operation of a multiply with watched accesses, in addition to some 10 ms per launch.
/// Measured on one core of a server's AMD EPYC: 107 ns for the Hubbard ring of 10 sites, 33 ns for the Heisenberg ring of
/// 20.
const SECONDS_A_FLOP: f64 = 1e-7;

/// What launches run under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// [`Check::Accesses`].
    Watched,
    /// Both checks.
    Every,
}

/// A simulated device.
pub struct Sim {
    setup: Arc<Setup>,
    library: Arc<Library>,
    part: Option<Part>,
}

struct Setup {
    simulator: Simulator,
    /// Cards that work as this device.
    cards: u32,
    schedule: Schedule,
    checks: Checks,
    place: MemoryPlace,
}

/// A kernel file on a simulated device.
pub(super) struct SimKernel {
    simulated: Simulated,
    /// The text of each card, where several work as one device.
    each: Vec<Simulated>,
    setup: Arc<Setup>,
}

impl Sim {
    pub(super) fn new(simulator: Simulator, schedule: Schedule, checks: Checks, cards: u32) -> Sim {
        let of = if cards == 1 { String::new() } else { format!(" for {cards} cards as one device") };
        let name = format!("simulation of the CUDA text on the CPU{of} ({}; {schedule})", simulator.version());
        let place = MemoryPlace::Simulated(name.into());
        let setup = Arc::new(Setup { simulator, cards, schedule, checks, place });
        Sim { setup, library: Arc::default(), part: None }
    }

    /// One of its cards as a device of its own.
    pub(super) fn one_card(&self) -> Sim {
        let Setup { simulator, schedule, checks, .. } = &*self.setup;
        Sim::new(simulator.clone(), *schedule, *checks, 1)
    }

    /// The same device, with the kernels loaded so far, for the vectors of a rank or of none.
    pub(super) fn of_part(&self, part: Option<Part>) -> Sim {
        Sim { setup: self.setup.clone(), library: self.library.clone(), part }
    }

    /// What it has as one of several ranks.
    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Compiler and schedule, for the report.
    pub fn name(&self) -> String {
        match &self.part {
            None => self.setup.place.name().into(),
            Some(part) => format!("{} ranks, each a {}", part.ranks().count(), self.setup.place.name()),
        }
    }

    pub(super) fn warp(&self) -> Warp {
        self.setup.simulator.warp()
    }

    /// Where its memory is.
    pub(super) fn place(&self) -> MemoryPlace {
        self.setup.place.clone()
    }

    /// Number of cards that work as this device.
    pub(super) fn cards_at_work(&self) -> u32 {
        self.setup.cards
    }

    /// Compiles a kernel file, or finds its programs in the cache; each text is compiled once.
    pub(super) fn kernel(&self, text: &KernelText) -> Result<Kernel> {
        self.library.kernel(text, |chosen| self.load(chosen))
    }

    /// The same ahead of a run that will ask for it.
    pub(super) fn prepare(&self, text: &KernelText) {
        self.library.prepare(text, |chosen| self.load(chosen));
    }

    fn load(&self, chosen: &Chosen<'_>) -> Result<(Kernel, LoadedKernel)> {
        let text = &*chosen.text;
        let mut compiling = trace::span("compile", &text.name);
        let start = Instant::now();
        let cards = if self.setup.cards == 1 { 0 } else { self.setup.cards };
        // Of several cards each has a text of its own, and most never launch the one that they are made of.
        let simulated = self.setup.simulator.uncompiled(text);
        if cards == 0 {
            simulated.compile()?;
        }
        let each = (0..cards).map(|card| self.setup.simulator.build(&text.for_card(card, cards)));
        let each = each.collect::<Result<Vec<_>, _>>()?;
        compiling.note("cached", simulated.was_kept());
        compiling.note("kernels", text.entries.join(" "));
        let record = LoadedKernel {
            name: text.name.clone(),
            key: simulated.key().into(),
            cached: simulated.was_kept(),
            overridden: chosen.edited.clone(),
            folder: Some(simulated.folder().to_path_buf()),
            resources: Vec::new(),
            note: None,
            seconds: start.elapsed().as_secs_f64(),
        };
        let engine = Engine::Sim(SimKernel { simulated, each, setup: self.setup.clone() });
        // The linker places static shared memory apart from the dynamic part, so it does not count here.
        let limits = Limits { threads: MOST_THREADS, fixed_shared: 0, shared: u64::from(MOST_SHARED_BYTES) };
        Ok((Kernel::new(text, engine, |_, _| Ok(limits))?, record))
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    /// Refuses work that would take too long; see [`super::Device::check_work`].
    pub(super) fn check_work(&self, what: &str, flops: f64) -> Result<()> {
        let seconds = flops * SECONDS_A_FLOP;
        if seconds <= PATIENCE {
            return Ok(());
        }
        Err(DeviceError::TooSlow { what: what.into(), flops, seconds, limit: PATIENCE })
    }
}

impl SimKernel {
    /// Where the memory is that it takes.
    pub(super) fn place(&self) -> MemoryPlace {
        self.setup.place.clone()
    }

    /// Cards that have a text.
    pub(super) fn cards(&self) -> usize {
        self.each.len().max(1)
    }

    /// Runs a checked launch, on each card after the other if it is shared out. Each buffer has exactly the elements of the plan.
    pub(super) fn run(&self, launch: &Launch, arguments: &mut Arguments<'_>, shared_out: bool) -> Result<()> {
        if self.each.is_empty() || !shared_out {
            return self.run_on(None, launch, arguments);
        }
        (0..self.each.len()).try_for_each(|card| self.run_on(Some(card), launch, arguments))
    }

    fn run_on(&self, card: Option<usize>, launch: &Launch, arguments: &mut Arguments<'_>) -> Result<()> {
        let mut contents: Vec<Vec<u8>> = Vec::with_capacity(launch.parameters.len());
        for (value, parameter) in arguments.values().zip(&launch.parameters) {
            let mut bytes = Vec::new();
            if let (Some(memory), ParameterKind::Memory { len, .. }) = (value.memory(), &parameter.kind) {
                memory.append_to(*len as usize, &mut bytes);
            }
            contents.push(bytes);
        }
        let mut passed: Vec<Argument<'_>> = Vec::with_capacity(contents.len());
        for ((value, bytes), parameter) in arguments.values().zip(&mut contents).zip(&launch.parameters) {
            passed.push(match (value, &parameter.kind) {
                (Value::Number(number, bytes), _) => number_argument(*number, *bytes),
                // What another card wrote stays.
                (_, ParameterKind::Memory { access: Access::Out, .. }) if card.is_none() => Argument::Out(bytes),
                (_, ParameterKind::Memory { access: Access::Out | Access::InOut, .. }) => Argument::InOut(bytes),
                _ => Argument::In(bytes),
            });
        }
        self.run_checked(card, launch, &mut passed).map_err(|error| named(error, launch))?;
        drop(passed);
        for (value, bytes) in arguments.values().zip(&contents) {
            if let Value::Write(memory) = value {
                memory.copy_from_bytes(bytes);
            }
        }
        Ok(())
    }

    fn run_checked(
        &self,
        card: Option<usize>,
        launch: &Launch,
        passed: &mut [Argument<'_>],
    ) -> Result<(), SimulateError> {
        let Launch { entry, grid, block, shared_bytes, .. } = launch;
        let (block, schedule) = ([*block, 1, 1], self.setup.schedule);
        let simulated = card.map_or(&self.simulated, |card| &self.each[card]);
        match self.setup.checks {
            Checks::Watched => {
                simulated.launch_under(Check::Accesses, entry, *grid, block, *shared_bytes, passed, schedule)
            }
            Checks::Every => simulated.launch(entry, *grid, block, *shared_bytes, passed, schedule),
        }
    }
}

/// Replaces argument numbers by names in a fault's message.
fn named(mut error: SimulateError, launch: &Launch) -> DeviceError {
    if let SimulateError::Fault(fault) = &mut error {
        for (k, parameter) in launch.parameters.iter().enumerate().rev() {
            fault.message = fault.message.replace(&format!("argument {k}"), &format!("argument `{}`", parameter.name));
        }
    }
    error.into()
}

fn number_argument(number: Number, bytes: [u8; 8]) -> Argument<'static> {
    let [a, b, c, d, ..] = bytes;
    let four = [a, b, c, d];
    match number {
        Number::I64 => Argument::I64(i64::from_ne_bytes(bytes)),
        Number::U64 => Argument::U64(u64::from_ne_bytes(bytes)),
        Number::I32 => Argument::I32(i32::from_ne_bytes(four)),
        Number::U32 => Argument::U32(u32::from_ne_bytes(four)),
        Number::F64 => Argument::F64(f64::from_ne_bytes(bytes)),
        Number::F32 => Argument::F32(f32::from_ne_bytes(four)),
    }
}
