//! When memory is planned: before a run from guessed sectors, and again once sweeps with fewer states have shown the
//! sectors.
//!
//! In: the sweeper at the end of each sweep. Out: the plan for the following sweeps.

use super::shares::Shares;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::memory::{self, MemoryPlan, MemoryRequest};
use crate::options::Options;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::residency::{ProcessorKind, Usage};
use serde::{Deserialize, Serialize};

/// The memory plan of a run, and its actual memory use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// The last plan.
    pub plan: MemoryPlan,
    /// Bytes of the computing processor's memory taken at the end of the sweeps: the reservation on a card, the peak on
    /// the CPU.
    pub taken: u64,
    /// Peak use until then.
    pub peak: Usage,
    /// Peak use including variance and averages: H² has more operators than H, and the plan does not cover it.
    pub measured: Usage,
}

/// The current plan, and the measured shares.
pub(crate) struct Planner {
    most: usize,
    plan: Option<MemoryPlan>,
    /// Shares of the newest sweep, and of the last one with fewer states.
    shares: Option<Shares>,
    before: Option<Shares>,
}

impl Planner {
    /// Makes the first plan and applies it to the engine, unless the engine does not count.
    ///
    /// # Errors
    /// A bond does not fit in memory.
    pub(crate) fn begin<E: Engine>(engine: &mut E, chain: &Chain, options: &Options) -> Result<Planner, DmrgError> {
        let most = options.states.iter().copied().max().unwrap_or(1);
        let Some(budget) = engine.budget() else {
            return Ok(Planner { most, plan: None, shares: None, before: None });
        };
        let whole = options.first_whole();
        let plan = memory::plan_memory(chain, MemoryRequest::first(options, most, whole, options.sweeps), budget)?;
        // Until the sectors are known, apply the plan of the sweeps with fewer states.
        let early = (0..whole).map(|sweep| options.states_of(sweep)).max();
        let early =
            early.map(|states| memory::plan_memory(chain, MemoryRequest::first(options, states, 0, whole), budget));
        engine.apply_plan(&early.transpose()?.unwrap_or(plan).memory())?;
        let plan = Some(plan);
        Ok(Planner { most, plan, shares: None, before: None })
    }

    /// Makes the sweeper record which states would stay if the final number of states were allowed.
    pub(crate) fn watch<E: Engine>(&self, sweeper: &mut Sweeper<'_, E>) {
        sweeper.foresees = self.most;
    }

    /// Called after sweep `done`, with ψ at the first bond; returns the plan of the following sweeps if it is new.
    ///
    /// # Errors
    /// A bond does not fit in memory.
    pub(crate) fn after<E: Engine>(
        &mut self,
        sweeper: &mut Sweeper<'_, E>,
        options: &Options,
        done: usize,
    ) -> Result<Option<MemoryPlan>, DmrgError> {
        let (Some(budget), Some(plan)) = (sweeper.engine.budget(), self.plan) else { return Ok(None) };
        let (states, next) = (options.states_of(done), options.states_of(done + 1));
        if plan.measured || done + 1 >= options.sweeps {
            return Ok(None);
        }
        let measured = Shares::measured(sweeper, states);
        if let Some(last) = self.shares.replace(measured).filter(|last| last.states() < states) {
            self.before = Some(last);
        }
        let Some(shares) = self.shares.as_ref().filter(|_| next == self.most) else { return Ok(None) };
        let chain = sweeper.chain;
        let asked = MemoryRequest { measured: true, ..MemoryRequest::first(options, next, done + 1, options.sweeps) };
        let shares = if states < next { &shares.grown(chain, self.before.as_ref(), next) } else { shares };
        let plan = memory::plan(chain, shares, asked, budget)?;
        // Memory taken by earlier sweeps stays taken. States that have not converged show fewer sectors than will be
        // kept, so on a card, where nothing else uses the memory, at least the guess is reserved.
        let guessed =
            if budget.processor == ProcessorKind::Card { self.plan.map_or(0, |plan| plan.reserved) } else { 0 };
        let taken = sweeper.engine.reserved().max(guessed);
        let plan = plan.placed(plan.reserved.max(taken), budget.other_cards);
        sweeper.engine.apply_plan(&plan.memory())?;
        sweeper.engine.specialise(options.text, plan.elements())?;
        self.plan = Some(plan);
        Ok(Some(plan))
    }

    /// The last plan and the engine's memory use at the end of the sweeps.
    pub(crate) fn memory_use<E: Engine>(&self, engine: &E) -> Option<MemoryUse> {
        let peak = engine.usage();
        Some(MemoryUse { plan: self.plan?, taken: engine.reserved(), peak, measured: peak })
    }
}
