//! Integrals in a space, whose lowest states are wanted, as a solve asks of them.

use super::super::estimate::ProductKind;
use super::super::storage::{BasisCensus, Storage, StoragePlan};
use super::super::{CsfSpace, Integrals, Space, guess, ways};
use super::{CiError, Solve, request};
use eigenforge_product::ranks::RankPlan;
use eigenforge_product::sparse::{FormatName, FormatRequest, NumberKind};
use eigenforge_product::{Diagonalisation, Eigenproblem, MultiplyPlan, RealImage};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use eigenforge_templates::ElementFunctionText;
use num_complex::Complex64;
use std::sync::{Arc, OnceLock};

/// H of these integrals in this space, and how it is multiplied.
#[derive(Clone)]
pub struct CiProblem<'a> {
    pub(super) integrals: &'a Integrals,
    pub(crate) space: &'a Space,
    /// The functions that vectors are over, in place of determinants.
    pub(crate) csfs: Option<&'a CsfSpace>,
    /// The integrals over complex orbitals, in place of real ones, of which they have the numbers of orbitals and electrons.
    pub(crate) complex: Option<&'a Integrals<Complex64>>,
    pub(super) storage: Storage,
    pub(crate) wish: FormatRequest,
    /// What [`CiProblem::storage_plan`] counts in the space, once for all clones.
    pub(super) census: Arc<OnceLock<BasisCensus>>,
}

impl<'a> CiProblem<'a> {
    /// The integrals in this space, stored as takes the least time.
    pub fn new(integrals: &'a Integrals, space: &'a Space) -> CiProblem<'a> {
        let (wish, census) = (FormatRequest::default(), Arc::default());
        CiProblem { integrals, space, csfs: None, complex: None, storage: Storage::Auto, wish, census }
    }

    /// Searches among configuration state functions, whose determinants with one Sz the space has; `None` among all determinants.
    /// Returned vectors are over the determinants.
    pub fn csfs(mut self, csfs: Option<&'a CsfSpace>) -> Self {
        self.csfs = csfs;
        self
    }

    /// Integrals over complex orbitals in place of the real ones, which then give numbers of orbitals and electrons alone.
    pub fn complex(mut self, complex: Option<&'a Integrals<Complex64>>) -> Self {
        self.complex = complex;
        self
    }

    /// The real image that a solver works on.
    pub(super) fn image(&self) -> RealImage {
        RealImage::of_matrix(if self.complex.is_some() { NumberKind::Complex } else { NumberKind::Real })
    }

    /// Rows of H: determinants, or configuration state functions.
    pub(super) fn rows(&self) -> u64 {
        self.csfs.map_or_else(|| self.space.len(), CsfSpace::len)
    }

    /// Sets how H is multiplied.
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// Sets the format of a stored matrix on devices that run kernels; by default the one with the fewest modelled bytes.
    pub fn format(mut self, format: Option<FormatName>) -> Self {
        self.wish.format = format;
        self
    }

    /// Starts a solve by Davidson's method.
    pub fn solve(self) -> Diagonalisation<CiProblem<'a>> {
        Diagonalisation::new(self, Solver::Davidson)
    }
}

impl Eigenproblem for CiProblem<'_> {
    type Error = CiError;

    const PROBLEM_AND_SOLVER: &'static str = "the molecule and its solver";

    /// A hash of the integrals and the determinants.
    fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let complex = self.complex.iter().flat_map(|complex| complex.values()).flat_map(|value| [value.re, value.im]);
        for number in self.integrals.values().chain(complex) {
            hash.update(&number.to_le_bytes());
        }
        self.space.identify(&mut hash);
        self.csfs.iter().for_each(|csfs| csfs.identify(&mut hash));
        hash.finalize().to_hex().to_string()
    }

    /// Real parts of a vector.
    fn dimension(&self) -> u64 {
        self.rows().saturating_mul(self.complex.map_or(1, |_| 2))
    }

    fn is_complex(&self) -> bool {
        self.complex.is_some()
    }

    fn real_states(&self, states: usize) -> usize {
        self.image().states(states)
    }

    fn guess_text(&self, _: &MultiplyPlan) -> Option<ElementFunctionText> {
        if let Some(complex) = self.complex {
            return guess::text(complex, self.space);
        }
        let integrals = self.without_constant().0;
        match self.csfs {
            Some(csfs) => Some(ElementFunctionText::listed(csfs.guess_rows(&integrals) as u64)),
            None => guess::text(&*integrals, self.space),
        }
    }

    /// Olsen's method, which has two vectors, in place of Davidson's where the vectors of this do not fit.
    fn choose(solve: Diagonalisation<Self>, device: &Device) -> (Diagonalisation<Self>, Option<String>) {
        let fits = |solve: &Solve<'_>| CiProblem::fitting_plan(solve, device).is_some();
        if solve.solver != Solver::Davidson || solve.options.states > 1 || fits(&solve) {
            return (solve, None);
        }
        let olsen = solve.clone().solver(Solver::Olsen);
        match fits(&olsen) {
            true => (olsen, Some("the vectors of davidson would not fit in memory".into())),
            false => (solve, None),
        }
    }

    /// The matrix or the tables of strings first. If nothing fits, and so nothing will run, the solver's memory alone.
    fn memory_plan(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
        if solve.is_replicated(device) {
            return CiProblem::memory_plan(solve, &Device::cpu());
        }
        let integrals = solve.problem.integrals;
        let plan = CiProblem::fitting_plan(solve, device);
        let way = plan.as_ref().and_then(|plan| ways::way(plan.way, &request(solve, integrals, device)));
        let copies = way.and_then(|way| way.exchanged(&request(solve, integrals, device), device));
        let chosen = plan.and_then(|plan| plan.ways.into_iter().find(|way| way.way == plan.way));
        let tables = chosen.as_ref().map(|way| (way.what.clone(), way.bytes));
        let exchanged = chosen.filter(|way| way.exchanged > 0).zip(device.ranks());
        let exchanged = exchanged.map(|(way, ranks)| (format!("what {} ranks exchange", ranks.count()), way.exchanged));
        let copies = copies.map(|(what, bytes)| (what.into(), bytes));
        let items: Vec<_> = tables.into_iter().chain(copies).chain(exchanged).collect();
        let kept = solve.optional_vectors(device, items.iter().map(|(_, bytes)| bytes).sum());
        items.into_iter().chain([solve.resident(solve.problem.dimension())]).chain(kept).collect()
    }

    fn rank_plan(solve: &Solve<'_>, ranks: usize, device: &Device) -> RankPlan {
        let (CiProblem { integrals, space, csfs, .. }, dimension) = (solve.problem.clone(), solve.problem.dimension());
        // Where nothing fits, of the way that such a space goes: the refusal that follows has the numbers.
        let plan = CiProblem::fitting_plan(solve, device);
        let is_direct =
            plan.as_ref().map_or(csfs.is_none() && space.is_complete(), |plan| plan.way != ProductKind::Stored);
        let by_kernels = is_direct && device.runs_kernels();
        let chosen = plan.as_ref().and_then(|plan| plan.ways.iter().find(|way| way.way == plan.way));
        let way = chosen.and_then(|chosen| ways::way(chosen.way, &request(solve, integrals, device)));
        match (chosen, way.is_some_and(|way| way.is_by_pieces())) {
            (Some(chosen), true) if ranks > 1 => {
                RankPlan::by_pieces(dimension, ranks, chosen.exchanged / 8 / ranks as u64)
            }
            _ => RankPlan::gathering(dimension, ranks, by_kernels),
        }
    }

    fn over_ranks(&self, ranks: usize, on_cards: bool) -> RankPlan {
        RankPlan::gathering(self.dimension(), ranks, on_cards)
    }

    /// Those by which the [way](StoragePlan) to multiply is chosen on a machine.
    fn product_seconds(solve: &Solve<'_>) -> Result<impl Fn(&Machine) -> Option<[f64; 2]>, CiError> {
        Ok(|machine: &Machine| {
            let StoragePlan { ways, way, .. } = CiProblem::storage_plan_on(solve, machine).ok()?;
            ways.iter().find(|estimate| estimate.way == way).map(|estimate| [estimate.set_up, estimate.product])
        })
    }

    fn compiled_multiply(solve: &Solve<'_>, machine: &Machine) -> Result<Option<MultiplyPlan>, CiError> {
        let is_stored = |plan: StoragePlan| plan.way == ProductKind::Stored;
        if CiProblem::storage_plan_on(solve, machine).map_or(true, is_stored) {
            return Ok(None);
        }
        Ok(CiProblem::multiply_on(solve, machine)?.multiply)
    }
}
