//! The kernel files of a device: finds the text for a name, compiles and loads each text once, and lists them for the
//! report. Threads compile different texts at the same time, also ahead of the run: only what the run then asks for is listed. Cards
//! and simulated devices share this code; each loads texts in its own way.

use super::kernel::{Kernel, LoadedKernel};
use crate::error::Result;
use crate::jit::{Chosen, JitError, Overrides};
use eigenforge_templates::KernelText;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

#[derive(Default)]
pub(super) struct Library {
    overrides: Mutex<Arc<Overrides>>,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    /// By name and text, each with whether the run has asked for it.
    slots: HashMap<(String, String), (Arc<Slot>, bool)>,
    /// Those that the run has asked for, in the order of first use.
    used: Vec<Arc<Slot>>,
}

/// One text: locked while it is compiled, so that it is compiled once while other texts compile in parallel.
#[derive(Default)]
struct Slot {
    kernel: Mutex<Option<(Kernel, LoadedKernel)>>,
}

impl Slot {
    /// The kernel, which `load` makes if nobody has.
    fn kernel(
        &self,
        chosen: &Chosen<'_>,
        load: impl FnOnce(&Chosen<'_>) -> Result<(Kernel, LoadedKernel)>,
    ) -> Result<Kernel> {
        let mut held = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((kernel, _)) = &*held {
            return Ok(kernel.clone());
        }
        let (kernel, record) = load(chosen)?;
        *held = Some((kernel.clone(), record));
        Ok(kernel)
    }
}

impl Loaded {
    /// The slot of a text that the run asks for, if it `is_used`, or will ask for.
    fn slot(&mut self, text: &KernelText, is_used: bool) -> Arc<Slot> {
        let (slot, was_used) = self.slots.entry((text.name.clone(), text.text.clone())).or_default();
        if is_used && !*was_used {
            *was_used = true;
            self.used.push(slot.clone());
        }
        slot.clone()
    }
}

impl Library {
    pub(super) fn new(overrides: Overrides) -> Library {
        Library { overrides: Mutex::new(Arc::new(overrides)), loaded: Mutex::default() }
    }

    /// The kernel of a text, or of the edited text that replaces it; `load` is called for a new text.
    pub(super) fn kernel(
        &self,
        text: &KernelText,
        load: impl FnOnce(&Chosen<'_>) -> Result<(Kernel, LoadedKernel)>,
    ) -> Result<Kernel> {
        let overrides = self.overrides();
        let chosen = overrides.apply(text).map_err(JitError::from)?;
        let slot = self.loaded().slot(&chosen.text, true);
        slot.kernel(&chosen, load)
    }

    /// Loads a text ahead of the run. Nothing happens where edited texts may replace it; a text that fails does so again, with its error,
    /// when the run asks for it.
    pub(super) fn prepare(&self, text: &KernelText, load: impl FnOnce(&Chosen<'_>) -> Result<(Kernel, LoadedKernel)>) {
        if !self.overrides().is_empty() {
            return;
        }
        let slot = self.loaded().slot(text, false);
        if let Err(error) = slot.kernel(&Chosen { text: Cow::Borrowed(text), edited: None }, load) {
            tracing::debug!(%error, "{} was compiled ahead", text.name);
        }
    }

    /// Whether a text is loaded already.
    pub(super) fn has_loaded(&self, text: &KernelText) -> bool {
        let loaded = self.loaded();
        let found = loaded.slots.get(&(text.name.clone(), text.text.clone()));
        found.is_some_and(|(slot, _)| slot.kernel.try_lock().is_ok_and(|held| held.is_some()))
    }

    /// Reserves slots for texts in the order of first use, before threads compile them in any order.
    pub(super) fn reserve(&self, texts: &[KernelText]) -> Result<()> {
        let overrides = self.overrides();
        for text in texts {
            let chosen = overrides.apply(text).map_err(JitError::from)?;
            self.loaded().slot(&chosen.text, true);
        }
        Ok(())
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the edited texts for kernels loaded from now on.
    pub(super) fn set_overrides(&self, overrides: Overrides) {
        self.share_overrides(Arc::new(overrides));
    }

    /// Edited texts that another device has too.
    pub(super) fn share_overrides(&self, overrides: Arc<Overrides>) {
        *self.overrides.lock().unwrap_or_else(PoisonError::into_inner) = overrides;
    }

    pub(super) fn overrides(&self) -> Arc<Overrides> {
        self.overrides.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The kernels that the run has asked for, in the order of first use.
    pub(super) fn records(&self) -> Vec<LoadedKernel> {
        let slots = self.loaded().used.clone();
        let record = |slot: &Arc<Slot>| {
            // One that a thread is compiling is not loaded.
            let held = match slot.kernel.try_lock() {
                Ok(held) => held,
                Err(TryLockError::Poisoned(held)) => held.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            held.as_ref().map(|(_, record)| record.clone())
        };
        slots.iter().filter_map(record).collect()
    }
}
