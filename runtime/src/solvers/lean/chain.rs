//! The chain's own text of Davidson's sweeps: when it is made, and which launches it takes over.
//!
//! In: the largest vector of the settled bonds, and how many sweeps are left. Out: for each number of columns a kernel, as soon as it is
//! compiled; until then, and where none can be made, the text for every chain goes on. Both give the same bits, so that a result does not
//! depend on when a kernel became ready.

use crate::device::{BackgroundCompilation, Device, Kernel};
use crate::error::DeviceError;
use eigenforge_templates::eigen::{DavidsonChainPlan, DavidsonPlan, Extent};
use eigenforge_templates::{KernelText, Launch};
use serde::{Deserialize, Serialize};

/// Whose text the sweeps of Davidson's method on a card have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextChoice {
    /// The chain's own where it is predicted to pay, compiled while the sweeps go on.
    #[default]
    Planned,
    /// The text for every chain.
    General,
    /// The chain's own from the first sweep with settled sectors on, which waits for it.
    Chain,
}

impl TextChoice {
    /// All of them.
    pub const ALL: [TextChoice; 3] = [TextChoice::Planned, TextChoice::General, TextChoice::Chain];

    /// Its name in `[dmrg] text`.
    pub fn name(self) -> &'static str {
        match self {
            TextChoice::Planned => "planned",
            TextChoice::General => "general",
            TextChoice::Chain => "chain",
        }
    }

    /// Whether a chain whose settled bonds have up to `elements` elements gets a text of its own.
    pub fn is_own(self, elements: usize) -> bool {
        match self {
            TextChoice::Planned => elements > least_elements(),
            TextChoice::General => false,
            TextChoice::Chain => elements > 0,
        }
    }

    /// Why, for the plan and the report.
    pub fn describe(self, elements: usize) -> String {
        let least = least_elements();
        let (vectors, more) = (format!("vectors of up to {elements} elements"), "each thread of a sweep reads several");
        match self {
            TextChoice::General => "the text for every chain, as asked for".into(),
            TextChoice::Chain => format!("the chain's own text once the sectors are settled, as asked for ({vectors})"),
            TextChoice::Planned if self.is_own(elements) => {
                format!("the chain's own text once the sectors are settled: {vectors}, more than {least}, so {more}")
            }
            TextChoice::Planned => {
                format!("the text for every chain: {vectors}, so that no thread reads more than one ({least} threads)")
            }
        }
    }
}

fn least_elements() -> usize {
    DavidsonChainPlan::least_elements(&DavidsonPlan::new(""))
}

/// The kernels of one chain.
pub(super) struct ChainSweeps {
    device: Device,
    plans: Vec<DavidsonChainPlan>,
    kernels: Vec<Option<Kernel>>,
    /// While texts compile.
    compilation: Option<BackgroundCompilation>,
    /// Whether a text is compiled where it is first needed.
    at_first_use: bool,
    warnings: Vec<String>,
}

impl ChainSweeps {
    /// For bonds of at most `elements` elements. The texts are compiled beside the run, or where they are first needed if the choice is
    /// [`TextChoice::Chain`].
    pub(super) fn begin(
        device: &Device,
        general: &DavidsonPlan,
        choice: TextChoice,
        elements: usize,
    ) -> Result<ChainSweeps, DeviceError> {
        let plans = DavidsonChainPlan::all(general, elements);
        let at_first_use = choice == TextChoice::Chain;
        let (kernels, texts) = (vec![None; plans.len()], texts(&plans)?);
        let (device, warnings) = (device.clone(), Vec::new());
        let mut sweeps = ChainSweeps { device, kernels, plans, compilation: None, at_first_use, warnings };
        if !at_first_use {
            match BackgroundCompilation::begin(&sweeps.device, texts) {
                Ok(compilation) => sweeps.compilation = Some(compilation),
                Err(error) => sweeps.warn(&error.to_string()),
            }
        }
        Ok(sweeps)
    }

    /// Whether these are the texts for bonds of at most `elements` elements.
    pub(super) fn is_for(&self, elements: usize) -> bool {
        self.plans.first().is_some_and(|plan| plan.stride == elements.next_multiple_of(32))
    }

    /// Elements from one column to the next in all kernels, if there is one.
    pub(super) fn stride(&self) -> Option<usize> {
        let is_any = self.at_first_use || self.kernels.iter().any(Option::is_some);
        self.plans.first().filter(|_| is_any).map(|plan| plan.stride)
    }

    /// Takes the kernels that have become ready.
    pub(super) fn refresh(&mut self) {
        let ready = self.compilation.as_ref().map_or(Vec::new(), BackgroundCompilation::ready);
        for (number, compiled) in ready {
            self.take(number, compiled);
        }
        if self.kernels.iter().all(Option::is_some) {
            self.compilation = None;
        }
    }

    fn take(&mut self, number: usize, compiled: Result<Kernel, DeviceError>) {
        match compiled {
            Ok(kernel) => self.kernels[number] = Some(kernel),
            Err(error) => {
                // One that fails tells of all: they have one template.
                (self.compilation, self.at_first_use) = (None, false);
                self.warn(&error.to_string());
            }
        }
    }

    fn warn(&mut self, why: &str) {
        let why: String = why.lines().next().unwrap_or_default().chars().take(200).collect();
        self.warnings.push(format!(
            "the chain's own text of Davidson's sweeps does not compile, so the text for every chain went on; the energies are the same, \
             and `text = \"general\"` in [dmrg] leaves the attempt out ({why})"
        ));
    }

    /// Sentences for the report.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The kernel and the launch of a sweep, if this chain has one for its columns.
    pub(super) fn launch(&mut self, entry: &str, extent: Extent) -> Option<Result<(Kernel, Launch), DeviceError>> {
        let columns = DavidsonChainPlan::columns_of(entry, extent)?;
        let is_own = |plan: &DavidsonChainPlan| plan.columns == columns && plan.stride == extent.stride;
        let at = self.plans.iter().position(is_own)?;
        if self.at_first_use && self.kernels[at].is_none() {
            let compiled = self.plans[at].text().map_err(DeviceError::from).and_then(|text| self.device.compile(&text));
            self.take(at, compiled);
        }
        let kernel = self.kernels[at].clone()?;
        Some(self.plans[at].launch(entry, extent).map(|launch| (kernel, launch)).map_err(DeviceError::from))
    }
}

fn texts(plans: &[DavidsonChainPlan]) -> Result<Vec<KernelText>, DeviceError> {
    Ok(plans.iter().map(DavidsonChainPlan::text).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::test_device;

    #[test]
    fn short_vectors_keep_the_text_for_every_chain() {
        assert!(!TextChoice::Planned.is_own(60_000) && TextChoice::Planned.is_own(70_000));
        assert!(TextChoice::Chain.is_own(10) && !TextChoice::General.is_own(1 << 22));
        let said = TextChoice::Planned.describe(60_000);
        assert!(said.contains("60000 elements") && said.contains("67584 threads"), "{said}");
    }

    /// The run goes on with what is ready, in the order of the columns.
    #[test]
    fn kernels_that_compile_beside_the_run_become_ready() {
        let Some(device) = test_device() else { return };
        let general = DavidsonPlan { width: 2, warp: device.warp(), ..DavidsonPlan::new("test") };
        let mut sweeps = ChainSweeps::begin(&device, &general, TextChoice::Planned, 100).unwrap();
        let extent = Extent { n: 90, stride: 128, width: 2, below: 0 };
        while sweeps.compilation.is_some() {
            sweeps.refresh();
            std::thread::yield_now();
        }
        assert_eq!((sweeps.stride(), sweeps.warnings().len()), (Some(128), 0));
        let (_, launch) = sweeps.launch("projected", extent).unwrap().unwrap();
        assert_eq!(launch.entry, "projected");
        assert!(sweeps.launch("appended", extent).is_none(), "every chain's");
        assert!(sweeps.launch("projected", Extent { width: 3, ..extent }).is_none(), "planned away");
        assert!(sweeps.launch("projected", Extent { stride: 256, ..extent }).is_none(), "another distance");
    }
}
