//! Solving: integrals and a space in, certified states with their spins out.
//!
//! H is multiplied as a sparse matrix whose rows are computed once, or straight from the integrals ([`Storage`]). The choice is made by
//! memory and time ([`CiSolve::storage_plan`]) before anything is built; the same plan ([`CiSolve::multiply_on`]) is shown and run.

mod forecast;

use super::error::CiError;
use super::estimate::{ProductKind, StorageError, StorageTarget};
use super::on_device::CiOperator;
use super::storage::{Storage, StoragePlan, StorageRequest};
use super::used::StorageUsed;
use super::way::Request;
use super::{Census, Integrals, Space, constant, guess, ways};
use eigenforge_product::ranks::RankPlan;
use eigenforge_product::sparse::{FormatChoice, FormatName, FormatRequest};
use eigenforge_product::{MultiplyPlan, solve_options};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{self, Eigenpairs, LaunchedProgram, MatrixOutline, SolveOptions, Solver, StopReason};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector, trace};
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use ndarray::{Array1, Array2, ArrayView1};
use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Instant;

/// The largest space that [`CiSolve::choose`] diagonalises densely: a tenth of a second.
const SMALL: u64 = 400;

/// A solve being put together. Defaults: one state by Davidson, tolerance 1e-10 on ‖Hx − Ex‖ / ‖H‖, certified.
#[derive(Clone)]
pub struct CiSolve<'a> {
    integrals: &'a Integrals,
    pub(super) space: &'a Space,
    solver: Solver,
    storage: Storage,
    pub(super) wish: FormatRequest,
    pub(crate) tuned: bool,
    options: SolveOptions,
    /// What [`CiSolve::storage_plan`] counts in the space, once.
    census: OnceLock<Census>,
}

impl<'a> CiSolve<'a> {
    /// A solve of these integrals in this space.
    pub fn new(integrals: &'a Integrals, space: &'a Space) -> CiSolve<'a> {
        let options = SolveOptions::default();
        let (wish, census) = (FormatRequest::default(), OnceLock::new());
        CiSolve {
            integrals,
            space,
            solver: Solver::Davidson,
            storage: Storage::Auto,
            wish,
            tuned: true,
            options,
            census,
        }
    }

    /// The solver for a space: dense diagonalisation of up to 400 determinants, otherwise Davidson's method.
    pub fn choose(space: &Space) -> Solver {
        if space.len() <= SMALL { Solver::Dense } else { Solver::Davidson }
    }

    /// Sets the solver.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// The solver.
    pub fn method(&self) -> Solver {
        self.solver
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

    /// Whether a shape of the product that [`CiSolve::tune`] chose on this card is used; true by default.
    pub fn tuned(mut self, tuned: bool) -> Self {
        self.tuned = tuned;
        self
    }

    /// Takes Olsen's method, which has two vectors, in place of Davidson's where the vectors of this do not fit; and says so.
    pub fn fitting(self, device: &Device) -> (CiSolve<'a>, Option<String>) {
        if self.solver != Solver::Davidson || self.options.states > 1 || self.fitting_plan(device).is_some() {
            return (self, None);
        }
        let fewer = self.clone().solver(Solver::Olsen);
        match fewer.fitting_plan(device) {
            Some(_) => (fewer, Some("the vectors of davidson would not fit in memory".into())),
            None => (self, None),
        }
    }

    solve_options!();

    /// Identifies the problem: a hash of the integrals and the determinants.
    pub fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for number in self.integrals.one.iter().chain(&self.integrals.two) {
            hash.update(&number.to_le_bytes());
        }
        self.space.identify(&mut hash);
        hash.finalize().to_hex().to_string()
    }

    /// Planned memory on this device: a name and the bytes of each item, the matrix or the tables of strings first. If
    /// nothing fits, and so nothing will run, the solver's memory alone.
    pub fn memory_plan(&self, device: &Device) -> Vec<(String, u64)> {
        if let Some(own) = self.replicated(device) {
            return own.memory_plan(&Device::cpu());
        }
        let dimension = usize::try_from(self.space.len()).unwrap_or(usize::MAX);
        let plan = self.fitting_plan(device);
        let way = plan.as_ref().and_then(|plan| ways::way(plan.way, &self.request(self.integrals, device)));
        let copies = way.and_then(|way| way.exchanged(&self.request(self.integrals, device), device));
        let chosen = plan.and_then(|plan| plan.ways.into_iter().find(|way| way.way == plan.way));
        let tables = chosen.as_ref().map(|way| (way.what.clone(), way.bytes));
        let exchanged = chosen.filter(|way| way.exchanged > 0).zip(device.ranks());
        let exchanged = exchanged.map(|(way, ranks)| (format!("what {} ranks exchange", ranks.count()), way.exchanged));
        let copies = copies.map(|(what, bytes)| (what.into(), bytes));
        let items: Vec<_> = tables.into_iter().chain(copies).chain(exchanged).collect();
        let bytes = items.iter().map(|(_, bytes)| bytes).sum();
        let needed = solvers::resident(dimension, size_of::<f64>(), self.solver, &self.options);
        let kept = solvers::optional_vectors::<f64>(device, dimension, bytes, self.solver, &self.options);
        items.into_iter().chain([needed]).chain(kept).collect()
    }

    /// What each of several ranks holds and sends; `None` without ranks, and where each diagonalises the whole matrix by itself.
    pub fn rank_plan(&self, device: &Device) -> Option<RankPlan> {
        let ranks = device.ranks()?.count();
        if self.solver == Solver::Dense {
            return None;
        }
        // Where nothing fits, of the way that such a space goes: the refusal that follows has the numbers.
        let plan = self.fitting_plan(device);
        let is_direct = plan.as_ref().map_or(self.space.is_complete(), |plan| plan.way == ProductKind::Direct);
        let by_kernels = is_direct && device.runs_kernels();
        let chosen = plan.as_ref().and_then(|plan| plan.ways.iter().find(|way| way.way == plan.way));
        let way = chosen.and_then(|chosen| ways::way(chosen.way, &self.request(self.integrals, device)));
        Some(match (chosen, way.is_some_and(|way| way.is_by_pieces())) {
            (Some(chosen), true) if ranks > 1 => {
                RankPlan::by_pieces(self.space.len(), ranks, chosen.exchanged / 8 / ranks as u64)
            }
            _ => RankPlan::gathering(self.space.len(), ranks, by_kernels),
        })
    }

    /// The same of so many ranks, each on its CPU cores.
    pub fn over_ranks(&self, ranks: usize) -> Option<RankPlan> {
        (self.solver != Solver::Dense).then(|| RankPlan::gathering(self.space.len(), ranks, false))
    }

    /// A solve that each of several ranks does by itself, as a whole: that of a small matrix. Rank 0 alone saves it.
    fn replicated(&self, device: &Device) -> Option<CiSolve<'a>> {
        let ranks = device.ranks().filter(|_| self.solver == Solver::Dense)?;
        let mut own = self.clone();
        own.options.checkpoint.take_if(|_| !ranks.is_first());
        Some(own)
    }

    /// The cost of each way of multiplying on this device, which is used, and why.
    ///
    /// # Errors
    /// `storage = "direct"` where it does not exist; nothing fits, with the numbers and advice.
    pub fn storage_plan(&self, device: &Device) -> Result<StoragePlan, StorageError> {
        let own = self.storage_on(|asked| asked.plan(StorageTarget::from_device(device), &device.name()));
        agreed(own, device)
    }

    /// The same where it exists, without a search for what else would fit.
    pub fn fitting_plan(&self, device: &Device) -> Option<StoragePlan> {
        let own = self.storage_on(|asked| asked.choice(StorageTarget::from_device(device)).map_err(drop));
        agreed(own, device).ok()
    }

    /// The same for a machine, which need not be present.
    ///
    /// # Errors
    /// See [`CiSolve::storage_plan`].
    pub fn storage_plan_on(&self, machine: &Machine) -> Result<StoragePlan, StorageError> {
        self.storage_on(|asked| asked.plan(StorageTarget::from_machine(machine), machine.name()))
    }

    fn storage_on<R>(&self, plan: impl FnOnce(&StorageRequest<'_>) -> R) -> R {
        let solver = |rows: u64| self.resident(rows);
        plan(&StorageRequest {
            integrals: self.integrals,
            space: self.space,
            solver: &solver,
            storage: self.storage,
            format: self.wish.format,
            census: &self.census,
        })
    }

    /// Runs in double precision on a device.
    pub fn run(&self, device: &Device) -> Result<CiSolution<'a>, CiError> {
        if let Some(own) = self.replicated(device) {
            return own.run(&Device::cpu());
        }
        let (states, dimension) = (self.options.states, self.space.len());
        if states as u64 > dimension {
            return Err(CiError::States { states, dimension });
        }
        let (integrals, constant) = self.without_constant();
        let storage = self.storage_plan(device)?;
        let start = Instant::now();
        let setting_up = trace::span("set up", "set up");
        self.check_ranks(device)?;
        let choice = if device.ranks().is_some() { None } else { self.earlier_shape(storage.way, device)? };
        let shape = choice.as_ref().map(|choice| choice.shape.clone());
        let plan = multiply(storage.way, &Request { shape, ..self.request(&integrals, device) })?;
        let outline = self.outline(plan.0.diagonal_text());
        let _ahead = solvers::compile_ahead(device, self.solver, &self.options, outline);
        let operator = CiOperator::new(&plan, device)?.with_guess(&integrals, self.space);
        let how = StorageUsed::new(storage, &plan, &operator, choice);
        drop(setting_up);
        let setup_seconds = start.elapsed().as_secs_f64();
        let solving = trace::span("solver", "solve");
        let options = SolveOptions { taken_out: constant, ..self.options.clone() };
        let pairs = solvers::solve::<f64>(&operator, self.solver, &options)?;
        drop(solving);
        let multiply_seconds = solvers::time_multiply(&operator, &pairs)?;
        Ok(CiSolution {
            integrals: self.integrals,
            space: self.space,
            device: device.clone(),
            energies: pairs.values.iter().map(|value| value + constant).collect(),
            constant,
            pairs,
            how,
            cost: operator.cost(),
            setup_seconds,
            multiply_seconds,
        })
    }

    /// How H is multiplied on a machine, which need not be present: the choice, and the plan of the multiply.
    ///
    /// # Errors
    /// See [`CiSolve::storage_plan`]; integrals that do not fit the space, too little memory.
    pub fn multiply_on(&self, machine: &Machine) -> Result<CiPlan, CiError> {
        let (storage, integrals) = (self.storage_plan_on(machine)?, self.without_constant().0);
        let request = Request::new(&integrals, self.space, StorageTarget::from_machine(machine));
        let multiply = machine.card.as_ref().map(|_| multiply(storage.way, &self.completed(request))).transpose()?;
        Ok(CiPlan { storage, multiply })
    }

    /// What is asked for on a device.
    pub(super) fn request<'r>(&'r self, integrals: &'r Integrals, device: &'r Device) -> Request<'r> {
        self.completed(Request::on_device(integrals, self.space, device))
    }

    fn completed<'r>(&self, request: Request<'r>) -> Request<'r> {
        let (_, reserved) = self.resident(self.space.len());
        Request { wish: self.wish, reserved, ..request }
    }

    /// The least memory of the solver, with a description.
    fn resident(&self, rows: u64) -> (String, u64) {
        let dimension = usize::try_from(rows).unwrap_or(usize::MAX);
        solvers::resident(dimension, size_of::<f64>(), self.solver, &self.options)
    }

    /// Refuses ranks that solve something else, and formats that ranks do not have.
    fn check_ranks(&self, device: &Device) -> Result<(), CiError> {
        let Some(ranks) = device.ranks() else { return Ok(()) };
        ranks.check_same("the molecule and its solver", &(self.identity() + self.solver.name()))?;
        let other =
            |(_, known): &&(&'static str, FormatChoice)| *known == self.wish.format && *known != Some(FormatName::Csr);
        if let Some((word, Some(_))) = FormatName::WORDS.iter().find(other) {
            let what = format!("format = \"{word}\"");
            let instead = "each has its rows of the matrix, compressed: leave `format` out".into();
            return Err(DeviceError::NotOverRanks { what, instead }.into());
        }
        Ok(())
    }

    /// The vector programs that a run launches on a card, for an H with this diagonal.
    pub fn rehearsed(&self, diagonal: ElementFunctionText) -> Vec<LaunchedProgram> {
        solvers::rehearse(self.solver, &self.options, &self.outline(diagonal))
    }

    /// What is known of H with this diagonal before it is made.
    fn outline(&self, diagonal: ElementFunctionText) -> MatrixOutline {
        let (integrals, _) = self.without_constant();
        MatrixOutline {
            dimension: self.space.len(),
            scalar: ScalarType::F64,
            diagonal: Some(diagonal),
            guess: guess::text(&integrals, self.space),
            is_complex: false,
        }
    }

    /// The integrals without the part common to all determinants, and that part.
    pub(super) fn without_constant(&self) -> (Cow<'a, Integrals>, f64) {
        constant::take_out(self.integrals, self.space.alpha().electrons() + self.space.beta().electrons())
    }
}

/// How H of a molecule is multiplied: what was chosen and what was not, and the plan of the multiply.
pub struct CiPlan {
    /// What each way would take, which was chosen, and why.
    pub storage: StoragePlan,
    /// The multiply; of a machine without a card, where nothing is generated, it is not planned.
    pub multiply: Option<MultiplyPlan>,
}

/// The multiply of a kind.
fn multiply(kind: ProductKind, request: &Request<'_>) -> Result<MultiplyPlan, CiError> {
    let way = ways::way(kind, request);
    let way = way.unwrap_or_else(|| unreachable!("it was chosen of the ways that there are"));
    Ok(MultiplyPlan(way.plan(request)?))
}

/// The result of a solve.
#[derive(Debug)]
pub struct CiSolution<'a> {
    integrals: &'a Integrals,
    space: &'a Space,
    device: Device,
    energies: Vec<f64>,
    constant: f64,
    pairs: Eigenpairs<f64>,
    how: StorageUsed,
    cost: Cost,
    setup_seconds: f64,
    multiply_seconds: Option<f64>,
}

impl<'a> CiSolution<'a> {
    /// Total energies in Hartree, core included, ascending.
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }

    /// ‖Hx − Ex‖ of each state, recomputed after the solve.
    pub fn residuals(&self) -> &[f64] {
        &self.pairs.residuals
    }

    /// Why the solver stopped.
    pub fn stop(&self) -> StopReason {
        self.pairs.stop
    }

    /// The energy common to all determinants: the core energy, and a potential common to all orbitals if the integrals
    /// contain one. Part of the energies, not of the values of [`CiSolution::eigenpairs`].
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// Everything the solver reports; its values leave out [`CiSolution::constant`].
    pub fn eigenpairs(&self) -> &Eigenpairs<f64> {
        &self.pairs
    }

    /// How H was multiplied.
    pub fn storage_used(&self) -> &StorageUsed {
        &self.how
    }

    /// The integrals.
    pub fn integrals(&self) -> &'a Integrals {
        self.integrals
    }

    /// The space.
    pub fn space(&self) -> &'a Space {
        self.space
    }

    /// The device it ran on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Seconds from integrals to an operator ready on the device.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }

    /// Least work of one multiply.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Seconds of one multiply on this device, measured after the solve.
    pub fn multiply_seconds(&self) -> Option<f64> {
        self.multiply_seconds
    }

    /// The state of [`CiSolution::energies`]\[`state`\], normalised: one number per determinant, in the order of the space.
    ///
    /// # Errors
    /// The copy from the device fails.
    pub fn vector(&self, state: usize) -> Result<Array1<f64>, DeviceError> {
        Ok(self.pairs.vectors[state].download()?.into())
    }

    /// All states, states × dimension: row k is [`CiSolution::vector`]`(k)`.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn vectors(&self) -> Result<Array2<f64>, DeviceError> {
        self.matrix_of(&self.pairs.vectors.iter().take(self.energies.len()).collect::<Vec<_>>())
    }

    /// An orthonormal basis of the lowest level, as far as known: multiplicity × dimension, one vector per row.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn ground_multiplet(&self) -> Result<Array2<f64>, DeviceError> {
        self.level_vectors(0)
    }

    /// The same of any level, in the order of its levels.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn level_vectors(&self, level: usize) -> Result<Array2<f64>, DeviceError> {
        self.matrix_of(&self.pairs.level_vectors(level))
    }

    /// Of several ranks the first has whole vectors, and the others have rows of no elements.
    fn matrix_of(&self, vectors: &[&Vector<f64>]) -> Result<Array2<f64>, DeviceError> {
        if let Some(ranks) = self.device.ranks() {
            let own = if ranks.is_first() { self.space.len() as usize } else { 0 };
            let mut whole = Vec::with_capacity(vectors.len() * own);
            for vector in vectors {
                vector.to_first(|slab| {
                    whole.extend_from_slice(slab);
                    Ok::<_, DeviceError>(())
                })?;
            }
            return Ok(Array2::from_shape_vec((vectors.len(), own), whole)
                .unwrap_or_else(|error| unreachable!("every slab has come: {error}")));
        }
        let dimension = vectors.first().map_or(0, |vector| vector.len());
        let mut matrix = Array2::zeros((vectors.len(), dimension));
        for (mut row, vector) in matrix.rows_mut().into_iter().zip(vectors) {
            row.assign(&ArrayView1::from(&vector.download()?));
        }
        Ok(matrix)
    }
}

/// Ranks of several machines may know other rates: they go the first one's way.
fn agreed<E>(own: Result<StoragePlan, E>, device: &Device) -> Result<StoragePlan, E> {
    let Some(ranks) = device.ranks() else { return own };
    let number = |way| u8::from(way == ProductKind::Direct);
    let first = ranks.from_first("how H is multiplied", &[own.as_ref().map_or(2, |plan| number(plan.way))]);
    let mut plan = own?;
    let other = [ProductKind::Stored, ProductKind::Direct]
        .into_iter()
        .find(|way| first.as_deref().is_ok_and(|first| first == [number(*way)]));
    if let Some(way) = other.filter(|way| *way != plan.way) {
        (plan.way, plan.reason) = (way, format!("{way}, as rank 0 chose"));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checkpoints of another problem are refused.
    #[test]
    fn a_problem_is_known_by_all_its_determinants() {
        let integrals = Integrals::zero(9);
        let identity = |space: &Space| CiSolve::new(&integrals, space).identity();
        let full = Space::full(9, 4, 4).unwrap();
        let mut list: Vec<_> = (0..full.len() - 1).map(|row| full.determinant(row)).collect();
        assert!(list.len() > 15_000);
        let listed = |list: &[_]| Space::from_determinants(9, list).unwrap();
        let first = identity(&listed(&list));
        assert_eq!(identity(&listed(&list)), first);
        let last = full.determinant(full.len() - 1);
        for row in [1, 4097, list.len() - 1] {
            let kept = std::mem::replace(&mut list[row], last);
            assert_ne!(identity(&listed(&list)), first, "row {row} is another determinant");
            list[row] = kept;
        }
        list.swap(5, 6);
        assert_ne!(identity(&listed(&list)), first, "another order");
        let irreps = [1, 2, 3, 4, 1, 2, 3, 4, 1];
        let others = [
            Space::excitations(9, 4, 4, 2).unwrap(),
            Space::excitations(9, 4, 4, 3).unwrap(),
            full.clone().in_irrep(&irreps, 1).unwrap(),
            full.clone().in_irrep(&irreps, 2).unwrap(),
            full.clone().in_irrep(&[1, 2, 3, 4, 1, 2, 3, 1, 4], 1).unwrap(),
            listed(&(0..full.len()).map(|row| full.determinant(row)).collect::<Vec<_>>()),
            full,
        ];
        let mut identities: Vec<String> = others.iter().map(identity).collect();
        identities.sort();
        identities.dedup();
        assert_eq!(identities.len(), others.len());
    }
}
