//! The kernel files of a device: the text that stands for a name, each text compiled and loaded once, and what the report
//! says of it. The same for a card and for the CPU in place of one; how a text is loaded is theirs.

use super::kernel::{Kernel, KernelRecord};
use crate::error::Result;
use crate::jit::{Chosen, JitError, Overrides};
use eigenforge_templates::KernelText;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
pub(super) struct Library {
    overrides: Mutex<Arc<Overrides>>,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    /// By name and text.
    kernels: HashMap<(String, String), Kernel>,
    records: Vec<KernelRecord>,
}

impl Library {
    pub(super) fn new(overrides: Overrides) -> Library {
        Library { overrides: Mutex::new(Arc::new(overrides)), loaded: Mutex::default() }
    }

    /// The kernel of a text, or of the edited one that stands in for it; `load` is called for a text that is new.
    pub(super) fn kernel(
        &self,
        text: &KernelText,
        load: impl FnOnce(&Chosen<'_>) -> Result<(Kernel, KernelRecord)>,
    ) -> Result<Kernel> {
        let overrides = self.overrides();
        let chosen = overrides.apply(text).map_err(JitError::from)?;
        let id = (chosen.text.name.clone(), chosen.text.text.clone());
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded.kernels.get(&id) {
            return Ok(kernel.clone());
        }
        let (kernel, record) = load(&chosen)?;
        loaded.records.push(record);
        loaded.kernels.insert(id, kernel.clone());
        Ok(kernel)
    }

    /// Loads several texts at once, each in a thread of its own; those that are loaded already are left out. The records
    /// come in the order of `texts`.
    pub(super) fn kernels(
        &self,
        texts: &[&KernelText],
        load: impl Fn(&Chosen<'_>) -> Result<(Kernel, KernelRecord)> + Sync,
    ) -> Result<()> {
        let overrides = self.overrides();
        let mut fresh: Vec<((String, String), Chosen<'_>)> = Vec::new();
        for text in texts {
            let chosen = overrides.apply(text).map_err(JitError::from)?;
            let id = (chosen.text.name.clone(), chosen.text.text.clone());
            let known = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).kernels.contains_key(&id);
            if !known && fresh.iter().all(|(other, _)| *other != id) {
                fresh.push((id, chosen));
            }
        }
        let results: Vec<Result<(Kernel, KernelRecord)>> = std::thread::scope(|scope| {
            let load = &load;
            let threads: Vec<_> = fresh.iter().map(|(_, chosen)| scope.spawn(move || load(chosen))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        for ((id, _), result) in fresh.into_iter().zip(results) {
            let (kernel, record) = result?;
            // Another thread may have been quicker.
            if let Entry::Vacant(place) = loaded.kernels.entry(id) {
                place.insert(kernel);
                loaded.records.push(record);
            }
        }
        Ok(())
    }

    /// Edited texts in place of those loaded from now on.
    pub(super) fn set_overrides(&self, overrides: Overrides) {
        *self.overrides.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(overrides);
    }

    pub(super) fn overrides(&self) -> Arc<Overrides> {
        self.overrides.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was loaded so far, in the order of first use.
    pub(super) fn records(&self) -> Vec<KernelRecord> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).records.clone()
    }
}
