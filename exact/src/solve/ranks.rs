//! A solve by several ranks: what each holds and sends, which solves each does by itself, and whole vectors on rank 0.

use super::super::RankPlan;
use super::super::rank_plan::rank_plan;
use super::{RunError, Solution, Solve};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, Scalar, Vector};

impl<'m> Solve<'m> {
    /// What each of several ranks holds and sends; `None` without ranks, and where each diagonalises the whole matrix by itself.
    pub fn rank_plan(&self, device: &Device) -> Option<RankPlan> {
        self.over_ranks(device.ranks()?.count(), device.runs_kernels())
    }

    /// The same of so many ranks, each on its CPU cores or on a card.
    pub fn over_ranks(&self, ranks: usize, on_cards: bool) -> Option<RankPlan> {
        (self.solver != Solver::Dense).then(|| rank_plan(self.model.in_real_gauge(), ranks, on_cards))
    }

    /// Bytes that all ranks keep for their exchanges.
    pub(super) fn rank_bytes(&self, device: &Device) -> Option<(String, u64)> {
        let plan = self.rank_plan(device)?;
        Some((format!("what {} ranks exchange", plan.ranks), plan.kept_bytes(self.scalar)))
    }

    /// A solve that each of several ranks does by itself, as a whole: that of a small matrix. Rank 0 alone saves it.
    pub(super) fn whole_solve(&self, device: &Device) -> Option<(Device, Solve<'m>)> {
        let ranks = device.ranks().filter(|_| self.solver == Solver::Dense)?;
        let mut own = self.clone();
        own.options.checkpoint.take_if(|_| !ranks.is_first());
        Some((Device::cpu(), own))
    }
}

impl<T: Scalar> Solution<'_, T> {
    /// Rank 0 gathers the vectors and makes something of them; the other ranks have nothing.
    pub(super) fn with_gathered<R: Default>(
        &self,
        ranks: &Ranks,
        vectors: &[&Vector<T>],
        make: impl FnOnce(&Device, &[&Vector<T>]) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        let here = Device::cpu();
        let mut whole = Vec::new();
        for vector in vectors {
            let (mut gathered, mut first) = (here.zeros(if ranks.is_first() { vector.len() } else { 0 })?, 0);
            vector.to_first(|slab| {
                first += slab.len();
                gathered.write_part(first - slab.len(), slab)
            })?;
            whole.push(gathered);
        }
        match ranks.is_first() {
            true => make(&here, &whole.iter().collect::<Vec<_>>()),
            false => Ok(R::default()),
        }
    }
}
