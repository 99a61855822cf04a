//! The kernel files of a device: finds the text for a name, compiles and loads each text once, and lists them for the
//! report. Threads compile different texts at the same time. Cards and simulated devices share this code; each loads
//! texts in its own way.

use super::kernel::{Kernel, LoadedKernel};
use crate::error::Result;
use crate::jit::{Chosen, JitError, Overrides};
use eigenforge_templates::KernelText;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

#[derive(Default)]
pub(super) struct Library {
    overrides: Mutex<Arc<Overrides>>,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    /// By name and text, in the order of first use.
    slots: Vec<Arc<Slot>>,
    places: HashMap<(String, String), usize>,
}

/// One text: locked while it is compiled, so that it is compiled once while other texts compile in parallel.
#[derive(Default)]
struct Slot {
    kernel: Mutex<Option<(Kernel, LoadedKernel)>>,
}

impl Loaded {
    fn slot(&mut self, name: &str, text: &str) -> Arc<Slot> {
        let next = self.slots.len();
        let place = *self.places.entry((name.into(), text.into())).or_insert(next);
        if place == next {
            self.slots.push(Arc::default());
        }
        self.slots[place].clone()
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
        let slot = self.loaded().slot(&chosen.text.name, &chosen.text.text);
        let mut held = slot.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((kernel, _)) = &*held {
            return Ok(kernel.clone());
        }
        let (kernel, record) = load(&chosen)?;
        *held = Some((kernel.clone(), record));
        Ok(kernel)
    }

    /// Reserves slots for texts in the order of first use, before threads compile them in any order.
    pub(super) fn reserve(&self, texts: &[KernelText]) -> Result<()> {
        let overrides = self.overrides();
        for text in texts {
            let chosen = overrides.apply(text).map_err(JitError::from)?;
            self.loaded().slot(&chosen.text.name, &chosen.text.text);
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

    /// The kernels loaded so far, in the order of first use.
    pub(super) fn records(&self) -> Vec<LoadedKernel> {
        let slots = self.loaded().slots.clone();
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
