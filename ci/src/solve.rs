//! Solving: integrals and a space in, certified states with their spins out.
//!
//! H is multiplied in one of two ways ([`Storage`]): as a sparse matrix whose rows are computed once from string tables,
//! in a generated kernel's format on devices that run kernels; or straight from the integrals, full CI by its own dense
//! products, other spaces row by row. A plan of memory and time ([`CiSolve::storage_plan`]) decides before anything is
//! built.

use super::direct::{DirectError, DirectFullCi};
use super::guess::{self, WithGuess};
use super::matrix::{CiHamiltonian, MatrixError, THRESHOLD};
use super::on_the_fly::{OnTheFly, OnTheFlyError};
use super::ranks::OverRanks;
use super::storage::{ProductKind, Storage, StorageError, StoragePlan, StorageRequest, StorageTarget};
use super::tune::{lanes_name, lanes_named, layouts, shape_named};
use super::{Census, Integrals, Space, constant};
use super::{CountError, LoweringError, MoleculeError};
use eigenforge_core::path::FamilyError;
use eigenforge_product::ranks::RankPlan;
use eigenforge_product::solve_options;
use eigenforge_product::sparse::{
    Candidate, Csr, Format, FormatChoice, FormatName, FormatRanking, FormatRequest, RowStatistics, SparseError,
    SparseOperator, Stored, Target, plans_by_vectors,
};
use eigenforge_runtime::machine::{Card, Machine};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::solvers::{self, Eigenpairs, LaunchedProgram, MatrixOutline, SolveOptions, Solver, StopReason};
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, DeviceError, Everywhere, LinearOperator, SolveError, Vector, trace};
use eigenforge_templates::ci::{FullCiShape, StringCounts};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use ndarray::{Array1, Array2, ArrayView1};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The largest space that [`CiSolve::choose`] diagonalises densely: a tenth of a second.
const SMALL: u64 = 400;
/// Name of a stored matrix in its generated texts.
pub(super) const NAME: &str = "ci";

/// Why there is no solution. A solve that did not converge is not an error; its [`CiSolution`] reports it.
#[derive(Debug, thiserror::Error)]
pub enum CiError {
    /// The matrix could not be built.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// There is no product straight from the integrals.
    #[error(transparent)]
    Direct(#[from] DirectError),
    /// Rows cannot be recomputed in each product.
    #[error(transparent)]
    OnTheFly(#[from] OnTheFlyError),
    /// The matrix could not be put on the device.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The solver failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An error of memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More states than determinants.
    #[error("states = {states}, but the space has {dimension} determinants: ask for at most {dimension}")]
    States {
        /// Requested states.
        states: usize,
        /// Determinants.
        dimension: u64,
    },
    /// Neither way of multiplying fits, or the requested one does not exist.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl CiError {
    /// Whether the input is at fault; otherwise the error occurred while running.
    pub fn is_of_the_input(&self) -> bool {
        match self {
            CiError::States { .. } | CiError::Storage(StorageError::NotDirect { .. }) => true,
            CiError::Device(DeviceError::NotOverRanks { .. }) => true,
            CiError::Solve(error) => error.is_of_the_input(),
            CiError::Matrix(error) => !matches!(error, MatrixError::Memory(_)),
            CiError::Direct(error) => !matches!(error, DirectError::Memory(_)),
            CiError::OnTheFly(error) => {
                !matches!(error, OnTheFlyError::Device(_) | OnTheFlyError::Matrix(MatrixError::Memory(_)))
            }
            _ => false,
        }
    }

    /// The device error, from whichever stage.
    pub fn device(&self) -> Option<&DeviceError> {
        match self {
            CiError::Device(error)
            | CiError::Sparse(SparseError::Device(error))
            | CiError::Direct(DirectError::Memory(error))
            | CiError::OnTheFly(OnTheFlyError::Device(error)) => Some(error),
            CiError::Solve(SolveError::Device(error)) => Some(error),
            _ => None,
        }
    }
}

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
        let chosen = plan.and_then(|plan| plan.ways.into_iter().find(|way| way.way == plan.way));
        // The rows of a direct product are spread over x.
        let direct = chosen.as_ref().is_some_and(|way| way.way == ProductKind::Direct);
        let vector = self.space.len().saturating_mul(size_of::<f64>() as u64);
        let by_slabs = if direct { DirectFullCi::of_more_cards(self.integrals, self.space, device) } else { None };
        let copies = match by_slabs {
            Some(bytes) => Some(("a piece of x and panels of rows on each card", bytes)).filter(|_| bytes > 0),
            None => {
                let copies = Everywhere::bytes_for(device, vector).ok().flatten().filter(|_| direct);
                copies.map(|bytes| ("a copy of x on each card", bytes))
            }
        };
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
        let chosen = plan.iter().flat_map(|plan| plan.ways.iter().filter(|way| way.way == plan.way)).next();
        Some(match chosen {
            Some(way) if by_kernels && ranks > 1 && DirectFullCi::is_by_slabs(self.integrals, self.space, device) => {
                RankPlan::by_pieces(self.space.len(), ranks, way.exchanged / 8 / ranks as u64)
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
        let solver = |rows: u64| {
            let dimension = usize::try_from(rows).unwrap_or(usize::MAX);
            solvers::resident(dimension, size_of::<f64>(), self.solver, &self.options)
        };
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
        let plan = self.storage_plan(device)?;
        let start = Instant::now();
        let (integrals, constant) = self.without_constant();
        let setting_up = trace::span("set up", "set up");
        let (operator, how) = match (device.ranks(), plan.way) {
            (Some(ranks), way) => self.distributed(ranks, &integrals, device, (way, plan.reason))?,
            (None, ProductKind::Direct) => self.direct(&integrals, device, plan.reason)?,
            (None, ProductKind::Stored) => self.stored(&integrals, device)?,
        };
        let operator = WithGuess { inner: operator, integrals: &integrals, space: self.space };
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

    fn distributed(
        &self,
        ranks: &Arc<Ranks>,
        integrals: &Integrals,
        device: &Device,
        (way, reason): (ProductKind, String),
    ) -> Result<(Box<dyn LinearOperator<f64> + 'a>, StorageUsed), CiError> {
        ranks.check_same("the molecule and its solver", &(self.identity() + self.solver.name()))?;
        let other =
            |(_, known): &&(&'static str, FormatChoice)| *known == self.wish.format && *known != Some(FormatName::Csr);
        if let Some((word, Some(_))) = FormatName::WORDS.iter().find(other) {
            let what = format!("format = \"{word}\"");
            let instead = "each has its rows of the matrix, compressed: leave `format` out".into();
            return Err(DeviceError::NotOverRanks { what, instead }.into());
        }
        let operator = OverRanks::new(integrals, self.space, way, device)?;
        let format = (way == ProductKind::Stored).then_some(Format::Csr);
        let reason = device.runs_kernels().then_some(reason);
        let how = StorageUsed { storage: way, format, reason, non_zeros: operator.non_zeros(), shape: None };
        Ok((Box::new(operator), how))
    }

    fn direct(
        &self,
        integrals: &Integrals,
        device: &Device,
        reason: String,
    ) -> Result<(Box<dyn LinearOperator<f64> + 'a>, StorageUsed), CiError> {
        let _listing = trace::span("set up", "moves of the strings");
        let choice = self.earlier_shape(ProductKind::Direct, device)?;
        let name = choice.as_ref().map(|choice| choice.shape.as_str());
        let (operator, shape): (Box<dyn LinearOperator<f64> + 'a>, _) = match self.space.is_complete() {
            true => {
                let pick = |strings: &StringCounts| {
                    let rule = FullCiShape::choose(strings);
                    shape_named(name, rule, rule.candidates(strings))
                };
                let (operator, shape) = DirectFullCi::picked(integrals, self.space, pick, device)?;
                (Box::new(operator), shape.map(|shape| shape.to_string()))
            }
            false => {
                let lanes = name.and_then(lanes_named);
                let operator = OnTheFly::with_lanes(integrals, self.space, lanes, device)?;
                let shape = operator.lanes.map(lanes_name);
                (Box::new(operator), shape)
            }
        };
        let reason = device.runs_kernels().then_some(reason);
        let shape = shape.map(|shape| ShapeUsed::new(shape, choice));
        Ok((operator, StorageUsed { storage: ProductKind::Direct, format: None, reason, non_zeros: None, shape }))
    }

    /// The vector programs that a run launches on a card, for an H with this diagonal.
    pub fn rehearsed(&self, diagonal: ElementFunctionText) -> Vec<LaunchedProgram> {
        let (integrals, _) = self.without_constant();
        let outline = MatrixOutline {
            dimension: self.space.len(),
            scalar: ScalarType::F64,
            diagonal: Some(diagonal),
            guess: guess::text(&integrals, self.space),
            has_partners: false,
        };
        solvers::rehearse(self.solver, &self.options, &outline)
    }

    /// The stored matrix and its multiply on a card, which need not be present.
    ///
    /// # Errors
    /// The matrix cannot be built.
    pub fn stored_matrix_on(&self, card: Card) -> Result<StoredMatrix, CiError> {
        let (integrals, _) = self.without_constant();
        let (matrix, target) = (self.matrix(&integrals)?, Target::all_of(card));
        let choice = self.choice(&matrix, target);
        let stored = Stored::new(NAME, &matrix, &choice.best().layout, self.wish.scalar, self.wish.values);
        let plans = plans_by_vectors(&stored.map_err(SparseError::from)?.plan, target);
        Ok(StoredMatrix { matrix, choice, plans })
    }

    /// The integrals without the part common to all determinants, and that part.
    pub(super) fn without_constant(&self) -> (Cow<'a, Integrals>, f64) {
        constant::take_out(self.integrals, self.space.alpha().electrons() + self.space.beta().electrons())
    }

    pub(super) fn matrix(&self, integrals: &Integrals) -> Result<Csr, CiError> {
        let _making = trace::span("set up", "matrix elements");
        Ok(CiHamiltonian::new(integrals, self.space, THRESHOLD)?.matrix()?)
    }

    /// The format of a stored matrix, given the solver's vectors.
    pub(super) fn choice(&self, matrix: &Csr, target: Target) -> FormatRanking {
        let (_, vectors) = solvers::resident(matrix.rows(), size_of::<f64>(), self.solver, &self.options);
        FormatRanking::new(matrix, &RowStatistics::new(matrix), target.reserve(vectors), self.wish)
    }

    fn stored(
        &self,
        integrals: &Integrals,
        device: &Device,
    ) -> Result<(Box<dyn LinearOperator<f64> + 'a>, StorageUsed), CiError> {
        let matrix = Arc::new(self.matrix(integrals)?);
        let non_zeros = Some(matrix.non_zeros());
        if !device.runs_kernels() && self.wish.format != Some(FormatName::Symmetric) {
            let format = Some(Format::Csr);
            let how = StorageUsed { storage: ProductKind::Stored, format, reason: None, non_zeros, shape: None };
            return Ok((Box::new(SparseOperator::new(NAME, matrix, self.wish, device)?), how));
        }
        let ranking = self.choice(&matrix, Target::new(device));
        let choice = self.earlier_shape(ProductKind::Stored, device)?;
        let named = |other: &Candidate| choice.as_ref().is_some_and(|choice| other.name() == choice.shape);
        let best = layouts(&ranking).into_iter().find(named).unwrap_or_else(|| ranking.best().clone());
        let operator = SparseOperator::with_layout(NAME, matrix, &best.layout, self.wish, device)?;
        let of_cards = operator.halo().map_or(String::new(), |halo| format!("; of several cards {halo}"));
        let (format, reason) = (Some(best.format), Some(ranking.reason + &of_cards));
        let shape = device.runs_kernels().then(|| ShapeUsed::new(best.name(), choice));
        Ok((Box::new(operator), StorageUsed { storage: ProductKind::Stored, format, reason, non_zeros, shape }))
    }
}

/// A stored matrix as in a run, without a device.
pub struct StoredMatrix {
    /// The matrix, in compressed rows.
    pub matrix: Csr,
    /// Its formats, and why one was chosen.
    pub choice: FormatRanking,
    /// The multiply for 1, 2, … vectors at once.
    pub plans: Vec<SparsePlan>,
}

/// How H was multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageUsed {
    /// As a matrix, or from the integrals.
    pub storage: ProductKind,
    /// The format of a stored matrix.
    pub format: Option<Format>,
    /// Why this format, or why no matrix on a card.
    pub reason: Option<String>,
    /// Elements of a stored matrix.
    pub non_zeros: Option<u64>,
    /// The shape of the generated product; none where no kernel runs.
    pub shape: Option<ShapeUsed>,
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

impl FamilyError for CiError {
    fn is_of_the_input(&self) -> bool {
        CiError::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        CiError::device(self)
    }
}

eigenforge_core::errors_of_the_input!(MoleculeError, LoweringError, CountError);

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
