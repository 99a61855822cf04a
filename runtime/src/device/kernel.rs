//! A generated file, compiled and loaded, and the checks before each launch.
//!
//! In: the plan's [`Launch`] and named [`Arguments`]. The launch is checked against the text's own declaration and the
//! limits of text, compiled kernel and device; the arguments are checked against the launch. Only then does the kernel
//! run, on a CUDA device (`module`) or on the CPU that simulates one (`sim`).

use super::arguments::Arguments;
use super::module::Module;
use super::place::MemoryPlace;
use super::sim::SimKernel;
use crate::error::{DeviceError, Result};
use crate::jit::{Chosen, Cubin, KernelResources};
use eigenforge_templates::signature::Signature;
use eigenforge_templates::{KernelText, Launch};
use std::collections::HashMap;
use std::sync::Arc;

/// The report's entry on a kernel file.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedKernel {
    /// The file's name.
    pub name: String,
    /// Its key in the cache.
    pub key: String,
    /// Whether the cubin, or the simulating program, came from the cache.
    pub cached: bool,
    /// The edited file that ran instead of the generated text.
    pub overridden: Option<std::path::PathBuf>,
    /// The folder with text, plan, log and cubin; or text and programs.
    pub folder: Option<std::path::PathBuf>,
    /// Registers, spills and memory of each kernel; empty for a simulation.
    pub resources: Vec<KernelResources>,
    /// A note for the report, such as a cache that cannot be written.
    pub note: Option<String>,
    /// Seconds from text to loaded module.
    pub seconds: f64,
}

impl LoadedKernel {
    pub(super) fn new(chosen: &Chosen, cubin: &Cubin, seconds: f64) -> LoadedKernel {
        LoadedKernel {
            seconds,
            name: chosen.text.name.clone(),
            overridden: chosen.edited.clone(),
            key: cubin.key.clone(),
            cached: cubin.cached,
            folder: cubin.folder.clone(),
            resources: cubin.resources.clone(),
            note: cubin.note.clone(),
        }
    }
}

/// A CUDA file, compiled and loaded. Clones refer to the same file.
#[derive(Clone)]
pub struct Kernel {
    loaded: Arc<Loaded>,
}

struct Loaded {
    name: String,
    entries: HashMap<String, Entry>,
    engine: Engine,
}

pub(super) enum Engine {
    /// For one card, or the first of several; and for several that work as one device the text of each.
    Cuda(Module, Vec<Module>),
    Sim(SimKernel),
}

impl Engine {
    /// Where the memory is that its kernels take.
    fn place(&self) -> MemoryPlace {
        match self {
            Engine::Cuda(module, _) => MemoryPlace::Card(module.context().clone()),
            Engine::Sim(kernel) => kernel.place(),
        }
    }
}

/// One kernel's properties from its text and compilation.
struct Entry {
    signature: Signature,
    limits: Limits,
}

/// The device's limits for one compiled kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest number of threads per block, from registers and launch bounds.
    pub threads: u32,
    /// Bytes of shared memory declared in the text.
    pub fixed_shared: u64,
    /// Largest number of bytes of shared memory per block.
    pub shared: u64,
}

impl Kernel {
    /// Reads the declarations of all entries; `limits` returns the device's limits for one.
    pub(super) fn new(
        text: &KernelText,
        engine: Engine,
        limits: impl Fn(&Engine, &str) -> Result<Limits>,
    ) -> Result<Kernel> {
        let mut entries = HashMap::new();
        for name in &text.entries {
            let Some(signature) = Signature::read(&text.text, name) else {
                return Err(DeviceError::Arguments {
                    what: format!("the text of {}", text.name),
                    expected: format!("a kernel named {name} with its parameters in one pair of parentheses"),
                    found: "none".into(),
                });
            };
            entries.insert(name.clone(), Entry { signature, limits: limits(&engine, name)? });
        }
        Ok(Kernel { loaded: Arc::new(Loaded { name: text.name.clone(), entries, engine }) })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// Starts a kernel as planned, on all cards of the device where its vectors are spread over them. It runs after everything launched before it; on a CUDA device an error inside the
    /// kernel is returned by a later call. An empty grid is checked and starts nothing.
    ///
    /// # Errors
    /// Before anything runs, with names and numbers: the text's declaration, grid, block or shared memory do not fit the
    /// launch ([`DeviceError::Launch`]); an argument has another name, type, access, length or device
    /// ([`DeviceError::Arguments`]).
    pub fn launch<'a>(&self, launch: &'a Launch, arguments: Arguments<'a>) -> Result<()> {
        self.check(launch)?;
        let mut arguments = arguments.bound(launch);
        arguments.check(launch, &self.loaded.engine.place())?;
        if launch.grid.contains(&0) {
            return Ok(());
        }
        // Blocks that wait for each other run on one card, and so does a launch too small to give each card a block.
        let shared_out = |cards: usize| !launch.together && launch.grid[0] as usize >= cards && arguments.are_spread();
        match &self.loaded.engine {
            Engine::Cuda(alone, each) => match alone.context().team() {
                Some(team) if shared_out(each.len()) => {
                    // Before the cards are held: a card's copy of a table is made on the leader's stream.
                    let values = (0..each.len()).map(|card| arguments.on_card(card)).collect::<Result<Vec<_>>>()?;
                    let mut values = values.into_iter().map(Some).collect::<Vec<_>>();
                    team.start(alone.context(), |card, _| {
                        each[card].start(launch, values[card].take().unwrap_or_default())
                    })
                }
                _ => {
                    let values = arguments.on_card(0)?;
                    alone.context().enter()?;
                    alone.start(launch, values)
                }
            },
            Engine::Sim(kernel) => {
                let shared_out = shared_out(kernel.cards());
                kernel.run(launch, &mut arguments, shared_out)
            }
        }
    }

    /// Checks a launch against the text's declaration and the limits of text, compiled kernel and device.
    /// [`Kernel::launch`] does so each time; calling it earlier finds a text that does not match its plan.
    pub fn check(&self, launch: &Launch) -> Result<()> {
        let Loaded { name, entries, .. } = &*self.loaded;
        let Some(Entry { signature, limits }) = entries.get(&launch.entry) else {
            let mut known: Vec<&str> = entries.keys().map(String::as_str).collect();
            known.sort_unstable();
            return Err(DeviceError::Arguments {
                what: format!("a kernel of {name}"),
                expected: format!("one of {}", known.join(", ")),
                found: launch.entry.clone(),
            });
        };
        launch.check_shape()?;
        signature.check(launch)?;
        launch.check_threads(limits.threads, "the compiled kernel on this device")?;
        Ok(launch.check_shared(limits.fixed_shared, limits.shared)?)
    }
}
