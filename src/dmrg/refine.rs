//! When the memory plan is made: before a run by a guess of the sectors, and again when sweeps with fewer states have shown them.
//!
//! In: the sweeper at the end of each sweep. Out: the plan that the engine is held to from there on.

use super::chain::Chain;
use super::engine::Engine;
use super::error::DmrgError;
use super::memory::{self, MemoryPlan, MemoryRequest, Processor, Usage};
use super::options::Options;
use super::shares::Shares;
use super::sweep::Sweeper;
use serde::Serialize;

/// What a run was held to, and what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// The last plan.
    pub plan: MemoryPlan,
    /// Bytes of the memory where it computed that were taken when the sweeps were over: on a card what was reserved, on the CPU the most
    /// that was held.
    pub taken: u64,
    /// The most that was held until then.
    pub peak: Usage,
    /// The same with variance and averages: H² has more operators than H, and the plan is not of them.
    pub measured: Usage,
}

/// The plan so far, and what was measured.
pub(super) struct Planner {
    most: usize,
    plan: Option<MemoryPlan>,
    /// Of the newest sweep, and of the last with fewer states.
    shares: Option<Shares>,
    before: Option<Shares>,
}

impl Planner {
    /// Makes the first plan, unless the engine does not count, and holds the engine to it.
    ///
    /// # Errors
    /// A bond does not fit in memory.
    pub fn begin<E: Engine>(engine: &mut E, chain: &Chain, options: &Options) -> Result<Planner, DmrgError> {
        let most = options.states.iter().copied().max().unwrap_or(1);
        let Some(budget) = engine.budget() else {
            return Ok(Planner { most, plan: None, shares: None, before: None });
        };
        let whole = options.first_whole();
        let plan = memory::first_plan(chain, MemoryRequest::first(options, most, whole, options.sweeps), budget)?;
        // Until the sectors are known, what the sweeps with fewer states ask for.
        let early = (0..whole).map(|sweep| options.states_of(sweep)).max();
        let early =
            early.map(|states| memory::first_plan(chain, MemoryRequest::first(options, states, 0, whole), budget));
        engine.apply_plan(&early.transpose()?.unwrap_or(plan))?;
        let plan = Some(plan);
        Ok(Planner { most, plan, shares: None, before: None })
    }

    /// Lets the sweeper look which states would stay if all could that are allowed in the end.
    pub fn watch<E: Engine>(&self, sweeper: &mut Sweeper<'_, E>) {
        sweeper.foresees = self.most;
    }

    /// Told that sweep `done` is over, with ψ at the first bond; gives the plan of the sweeps that follow if it is a new one.
    ///
    /// # Errors
    /// A bond does not fit in memory.
    pub fn after<E: Engine>(
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
        // What the sweeps before have taken is taken; and states that have not converged show fewer sectors than will be kept,
        // so that a card, where nothing else has the memory, reserves what the guess was.
        let guessed = if budget.processor == Processor::Card { self.plan.map_or(0, |plan| plan.reserved) } else { 0 };
        let taken = sweeper.engine.reserved().max(guessed);
        let plan = MemoryPlan { reserved: plan.reserved.max(taken), ..plan };
        sweeper.engine.apply_plan(&plan)?;
        self.plan = Some(plan);
        Ok(Some(plan))
    }

    /// The last plan beside what the engine has taken and held, at the end of the sweeps.
    pub fn held<E: Engine>(&self, engine: &E) -> Option<MemoryUse> {
        let peak = engine.usage();
        Some(MemoryUse { plan: self.plan?, taken: engine.reserved(), peak, measured: peak })
    }
}
