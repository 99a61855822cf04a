//! Solving a model: `Lobpcg::new(&model).tolerance(1e-10).run(&device)` and its kin.

mod forecast;
mod ranks;

use super::observables::PreparedAverages;
use super::way::SPARE;
use super::{Hamiltonian, Model, PrepareError, ShapeSource, averages_of};
use super::{averages, complex};
use eigenforge_core::observable::{Averages, Observable};
use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::FamilyError;
use eigenforge_product::{PlannedChoice, solve_options};
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::solvers::{self, Eigenpairs, Level, Preconditioner, SolveOptions, Solver, StopReason};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Scalar, SolveError, Vector, trace};
use eigenforge_templates::{Cost, ScalarType};
use num_complex::Complex64;
use std::time::Instant;

/// The largest sector that is diagonalised as a whole where the choice is left to [`Solve::choose`]: a second or so.
const SMALL: usize = 1000;
/// Vectors that certification holds beside those of the smallest solver.
const CERTIFYING: u64 = 2;

/// Why a solve failed. A solve that did not converge is not an error; its [`Solution`] reports it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The model could not be put on the device.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The solver refused or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The model itself.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

/// LOBPCG: fused for one state, a block with soft locking for several.
pub struct Lobpcg;

/// Lanczos: for the ground state with as many vectors as memory allows, three at least; thick restart for several.
pub struct Lanczos;

/// Davidson: for matrices with a dominant diagonal, as in configuration interaction; the fewest multiplies there.
pub struct Davidson;

/// Olsen: one state with two vectors, for matrices with a dominant diagonal whose vectors fill the memory.
pub struct Olsen;

/// The whole matrix, diagonalised on the host.
pub struct Dense;

macro_rules! start {
    ($($name:ident),*) => {$(
        impl $name {
            /// Starts a solve of the model with this solver.
            #[expect(clippy::new_ret_no_self, reason = "the solver's name starts a builder")]
            pub fn new(model: &Model) -> Solve<'_> {
                Solve::new(model, Solver::$name)
            }
        }
    )*};
}
start!(Lobpcg, Lanczos, Davidson, Olsen, Dense);

/// A solve being put together. Defaults: one state, tolerance 1e-10 on ‖Hx − λx‖ / ‖H‖, 2,000 iterations, certified.
#[derive(Clone)]
pub struct Solve<'m> {
    model: &'m Model,
    solver: Solver,
    options: SolveOptions,
    tuned: bool,
    scalar: ScalarType,
    observables: Vec<Observable>,
}

impl<'m> Solve<'m> {
    /// Starts a solve with a solver chosen at run time.
    pub fn new(model: &'m Model, solver: Solver) -> Solve<'m> {
        let (options, scalar, observables) = (SolveOptions::default(), ScalarType::F64, Vec::new());
        Solve { model, solver, options, tuned: true, scalar, observables }
    }

    solve_options!();

    fn identity(&self) -> String {
        self.model.working().identity()
    }

    /// Sets whether to use the launch shape that [`super::tune`] chose for this problem on this card, if there is one; true by
    /// default.
    pub fn tuned(mut self, tuned: bool) -> Self {
        self.tuned = tuned;
        self
    }

    /// Announces the observables that [`Solution::level_averages`] or [`Solution::state_averages`] will be asked for: while a device
    /// looks for the states, the host makes the tables that their averages need there. Without, it makes them when it is asked.
    pub fn observables(mut self, observables: Vec<Observable>) -> Self {
        self.observables = observables;
        self
    }

    /// The tables of the announced observables; nothing where they can't be made, which shows when the averages are asked for.
    fn prepared_averages(&self) -> Option<(Vec<Observable>, PreparedAverages)> {
        let working = self.model.working_observables(&self.observables).ok()?;
        let prepared = PreparedAverages::new(self.model.averaged(), &working).ok()?;
        Some((self.observables.clone(), prepared))
    }

    /// Sets the most vectors that Lanczos for one state keeps in addition to the three it needs, of which fewer than 16
    /// count as none; by default what memory allows.
    pub fn keep_vectors(mut self, vectors: usize) -> Self {
        self.options.keep_vectors = Some(vectors);
        self
    }

    /// The number type that [`Solve::memory_plan`] and [`Solve::choose`] count with, that of the vectors; f64 unless given.
    /// [`Solve::run_in`] takes it from its own type.
    pub fn scalar(mut self, scalar: ScalarType) -> Self {
        self.scalar = scalar;
        self
    }

    /// The device memory of the run: a name and the bytes of each item. Vectors that are kept only if there is room come last.
    pub fn memory_plan(&self, device: &Device) -> Vec<(String, u64)> {
        let dimension = self.dimension();
        let exchanged = self.model.in_real_gauge().exchanged(self.scalar, device).map_or(0, |(_, bytes)| bytes);
        let rows = self.room(device).map(|room| room.min(self.model.in_real_gauge().kept_bytes(self.scalar, device)));
        let tables = self.table_bytes(device).saturating_add(exchanged).saturating_add(rows.unwrap_or(0));
        let options = self.real_options();
        let kept = match self.scalar {
            ScalarType::F64 => solvers::optional_vectors::<f64>(device, dimension, tables, self.solver, &options),
            ScalarType::F32 => solvers::optional_vectors::<f32>(device, dimension, tables, self.solver, &options),
        };
        let rows = rows.map(|bytes| ("a table of partners, as far as there is room".into(), bytes));
        self.needed(device).into_iter().chain(rows).chain(kept).collect()
    }

    /// The options for the real matrix: a complex H has each state twice.
    pub(super) fn real_options(&self) -> SolveOptions {
        let wanted = self.options.states;
        let is_complex = self.model.in_real_gauge().is_complex();
        let states = if is_complex { complex::real_states(wanted) } else { wanted };
        SolveOptions { states, ..self.options.clone() }
    }

    /// Elements of the vectors that the solver works on.
    fn dimension(&self) -> usize {
        usize::try_from(self.model.in_real_gauge().dimension()).unwrap_or(usize::MAX)
    }

    /// The memory that it needs.
    fn needed(&self, device: &Device) -> Vec<(String, u64)> {
        let vectors = solvers::resident(self.dimension(), self.scalar.bytes(), self.solver, &self.real_options());
        let tables = ("tables of the Hamiltonian".into(), self.table_bytes(device));
        let exchanged = self.model.in_real_gauge().exchanged(self.scalar, device);
        let exchanged = exchanged.map(|(what, bytes)| (what.into(), bytes));
        [vectors, tables].into_iter().chain(exchanged).chain(self.rank_bytes(device)).collect()
    }

    /// Bytes of the tables of the multiply; on the CPU those of its blocks too.
    fn table_bytes(&self, device: &Device) -> u64 {
        let model = self.model.in_real_gauge();
        let each = model.table_bytes_on(self.scalar, device);
        // Every rank has all tables.
        each.saturating_mul(device.ranks().map_or(1, |ranks| ranks.count() as u64))
    }

    /// Bytes that the multiply may keep beside its tables: what the solver's vectors and those of certification leave of a card; `None`
    /// where it keeps nothing.
    fn room(&self, device: &Device) -> Option<u64> {
        let kept = self.model.in_real_gauge().kept_bytes(self.scalar, device);
        (kept > 0).then(|| {
            let eigenforge_runtime::Memory { free, total } = device.memory();
            let vector = (self.dimension() as u64).saturating_mul(self.scalar.bytes() as u64);
            let certifying = if self.options.certify { CERTIFYING * vector } else { 0 };
            let others = self.needed_bytes(device).saturating_add(certifying).saturating_add(total / SPARE);
            self.options.memory_limit.map_or(free, |limit| free.min(limit)).saturating_sub(others)
        })
    }

    fn needed_bytes(&self, device: &Device) -> u64 {
        self.needed(device).iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The model.
    pub(super) fn model(&self) -> &'m Model {
        self.model
    }

    /// The type of vectors that it counts with.
    pub(super) fn scalar_type(&self) -> ScalarType {
        self.scalar
    }

    /// The observables that were announced.
    pub(super) fn announced(&self) -> &[Observable] {
        &self.observables
    }

    /// The solver.
    pub fn solver(&self) -> Solver {
        self.solver
    }

    /// Chooses the solver for this problem and leaves the other options as they are; returns the reason as well.
    ///
    /// The whole spectrum of a sector of up to 1,000 states; Lanczos for one state, since a step takes the fewest passes
    /// over memory, and with thick restarts for several, since it needs half to a third of a block's multiplies and no more
    /// passes for each, also where certification has to find the other members of multiplets (table in
    /// docs/performance.md); block LOBPCG for several where only that fits in memory. A preconditioner or guard vectors ask
    /// for LOBPCG.
    pub fn choose(self, device: &Device) -> (Solve<'m>, String) {
        let free = device.memory().free;
        let (solver, why) = self.choice(|solve| solve.needed_bytes(device) <= free);
        (Solve { solver, ..self }, why)
    }

    /// The same for a card that need not be present, with all of its memory for vectors.
    pub fn choose_on(self, card: &Card) -> Solve<'m> {
        let vectors = |solve: &Solve<'_>| {
            solvers::resident(solve.dimension(), solve.scalar.bytes(), solve.solver, &solve.real_options()).1
        };
        let (solver, _) = self.choice(|solve| vectors(solve) <= card.memory_bytes);
        Solve { solver, ..self }
    }

    fn choice(&self, fits: impl Fn(&Solve<'_>) -> bool) -> (Solver, String) {
        let states = self.options.states;
        let with = |solver| Solve { solver, ..self.clone() };
        let dimension = self.dimension();
        if dimension <= SMALL {
            (Solver::Dense, format!("the sector has {dimension} states, {SMALL} at most"))
        } else if self.options.preconditioner != Preconditioner::None {
            (Solver::Lobpcg, "a preconditioner was requested".into())
        } else if self.options.guard.is_some() {
            (Solver::Lobpcg, "guard vectors were requested".into())
        } else if states == 1 {
            (Solver::Lanczos, "for one state its steps are the fewest passes over memory".into())
        } else if !fits(&with(Solver::Lanczos)) && fits(&with(Solver::Lobpcg)) {
            (Solver::Lobpcg, format!("the basis of Lanczos for {states} states would not fit in memory"))
        } else {
            (Solver::Lanczos, format!("for {states} states it needs fewer multiplies than a block"))
        }
    }

    /// Refuses averages of states on pairs of strings that do not fit beside the states that were found: they are taken in all states of
    /// the sector without the exchange.
    fn check_averages(&self, device: &Device) -> Result<(), DeviceError> {
        let (averaged, solved) = (self.model.averaged(), self.dimension() as u64);
        if self.observables.is_empty() || averaged.dimension() == solved || averaged.symmetric().is_some() {
            return Ok(());
        }
        let bytes = self.scalar.bytes() as u64;
        let whole = averaged.dimension().saturating_mul(bytes);
        let eigenforge_runtime::Memory { free, total } = device.memory();
        let host = Device::cpu().memory();
        // The host makes the whole vector of one that it fetched; where it is the device, beside the states.
        let needed = whole.saturating_add(solved.saturating_mul(bytes * self.options.states.max(1) as u64));
        let (device, needed, free, total) = match (needed > free, device.runs_kernels()) {
            (true, _) => (device.name(), needed, free, total),
            (false, true) => ("host".into(), whole + solved * bytes, host.free, host.total),
            (false, false) => return Ok(()),
        };
        if needed <= free {
            return Ok(());
        }
        let what = "averages of the state without its parity under the exchange of spins".into();
        let fits = "energies alone fit: [observables] standard = false, and no observables of your own".into();
        Err(DeviceError::Memory { what, device, needed, free, total, fits })
    }

    /// Refuses a run whose vectors alone do not fit with any solver, before tables are made.
    pub fn check_vectors(&self, device: &Device) -> Result<(), DeviceError> {
        let vectors = |solver| {
            let (name, bytes) = solvers::resident(self.dimension(), self.scalar.bytes(), solver, &self.real_options());
            (bytes, name)
        };
        let eigenforge_runtime::Memory { free, total } = device.memory();
        let solvers = [self.solver, Solver::Lobpcg, Solver::Davidson, Solver::Olsen];
        let (needed, what) = vectors(Solver::Lanczos);
        if needed <= free || solvers.into_iter().any(|solver| vectors(solver).0 <= free) {
            return Ok(());
        }
        let fits = self.largest_sector(free, needed);
        Err(DeviceError::Memory { what, device: device.name(), needed, free, total, fits })
    }

    /// How large a sector would fit in place of this one.
    fn largest_sector(&self, free: u64, needed: u64) -> String {
        let largest = free as f64 / needed as f64 * self.dimension() as f64;
        format!("a sector of about {} states would fit", largest as u64)
    }

    /// Refuses a run that does not fit, before anything is allocated, and says what would fit.
    fn check_memory(&self, device: &Device) -> Result<(), DeviceError> {
        self.check_vectors(device)?;
        self.check_averages(device)?;
        let (plan, needed) = (self.needed(device), self.needed_bytes(device));
        let eigenforge_runtime::Memory { free, total } = device.memory();
        if needed <= free {
            return Ok(());
        }
        let mut others = vec![(Solver::Lanczos, "Lanczos"), (Solver::Lobpcg, "LOBPCG")];
        if self.options.states == 1 {
            others.push((Solver::Olsen, "Olsen, for a diagonal that varies,"));
        }
        let fits = |(solver, name): (Solver, &'static str)| {
            let other = Solve { solver, ..self.clone() };
            (other.needed_bytes(device) <= free).then_some(name)
        };
        let advice = match others.into_iter().find_map(fits) {
            Some(name) => format!("{name} fits: choose it with `solver`"),
            None => self.largest_sector(free, needed),
        };
        let what: Vec<&str> = plan.iter().map(|(name, _)| name.as_str()).collect();
        let device = device.name();
        Err(DeviceError::Memory { what: what.join(" and "), device, needed, free, total, fits: advice })
    }

    /// Runs in double precision on a device.
    ///
    /// # Errors
    /// The problem does not fit, the device or compiler fails, or the checkpoint is of another run.
    pub fn run(&self, device: &Device) -> Result<Solution<'m>, RunError> {
        self.run_in::<f64>(device)
    }

    /// Runs with vectors of another number type: f32 takes half the memory and traffic. Sums are always in f64. Residuals with f32
    /// reach about 1e-6 of the norm of H.
    ///
    /// # Errors
    /// As of [`Solve::run`].
    pub fn run_in<T: Scalar>(&self, device: &Device) -> Result<Solution<'m, T>, RunError> {
        if self.scalar != T::TYPE {
            return self.clone().scalar(T::TYPE).run_in(device);
        }
        if let Some((place, own)) = self.whole_solve(device) {
            return own.run_in(&place);
        }
        let start = Instant::now();
        if let Some(ranks) = device.ranks() {
            ranks.check_same("the model and its solver", &(self.identity() + self.solver.name()))?;
        }
        self.check_memory(device)?;
        let setting_up = trace::span("set up", "set up");
        let model = self.model.working();
        let rule = model.multiply_in_room(T::TYPE, self.room(device)).map_err(PrepareError::from)?;
        let (multiply, source) =
            if self.tuned { model.in_tuned_shape(rule, device)? } else { (rule, ShapeSource::Rule) };
        let _ahead = solvers::compile_ahead(device, self.solver, &self.real_options(), self.outline(&multiply));
        if device.is_cuda()
            && device.ranks().is_none()
            && !model.basis().is_listed()
            && let Some(kernels) = multiply.0.kernels()
        {
            // The compiler takes both at once, and averages are nearly always wanted.
            let averages = averages::generated(model, T::TYPE)?;
            device.compile_all(&[kernels.text().map_err(PrepareError::from)?, averages.text])?;
        }
        let hamiltonian = Hamiltonian::with_plan(model, multiply, device)?;
        let (shape, way) = (hamiltonian.shape(), hamiltonian.way_name());
        drop(setting_up);
        let setup_seconds = start.elapsed().as_secs_f64();
        let solving = trace::span("solver", "solve");
        let constant = model.constant();
        let wanted = self.options.states;
        if wanted as u64 > self.model.states() {
            return Err(SolveError::States { states: wanted, dimension: self.model.states() as usize }.into());
        }
        let options = SolveOptions { taken_out: constant, ..self.real_options() };
        // Of several ranks the first averages on its cores.
        let early = device.runs_kernels() && device.ranks().is_none() && !self.observables.is_empty();
        let (pairs, prepared) = std::thread::scope(|scope| {
            let preparing = early.then(|| scope.spawn(|| self.prepared_averages()));
            let pairs = solvers::solve::<T>(&hamiltonian, self.solver, &options);
            let prepared =
                preparing.and_then(|made| made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            pairs.map(|pairs| (pairs, prepared))
        })?;
        drop(solving);
        let (pairs, partners) = match model.is_complex() {
            true => complex::folded(pairs, wanted)?,
            false => (pairs, Vec::new()),
        };
        let cost = LinearOperator::<T>::cost(&hamiltonian);
        let multiply_seconds = solvers::time_multiply::<T>(&hamiltonian, &pairs)?;
        Ok(Solution {
            model: self.model,
            device: device.clone(),
            energies: pairs.values.iter().map(|value| value + constant).collect(),
            levels: pairs.levels.iter().map(|level| Level { value: level.value + constant, ..level.clone() }).collect(),
            pairs,
            partners,
            cost,
            setup_seconds,
            multiply_seconds,
            shape,
            way,
            source,
            prepared,
        })
    }
}

/// The result of a solve.
#[derive(Debug)]
pub struct Solution<'m, T: Scalar = f64> {
    model: &'m Model,
    device: Device,
    energies: Vec<f64>,
    levels: Vec<Level>,
    pairs: Eigenpairs<T>,
    /// Of a complex H: the other real vectors of each level.
    partners: complex::LevelPartners<T>,
    cost: Cost,
    setup_seconds: f64,
    multiply_seconds: Option<f64>,
    shape: String,
    way: &'static str,
    source: ShapeSource,
    /// The announced observables, and what their averages need.
    prepared: Option<(Vec<Observable>, PreparedAverages)>,
}

impl<T: Scalar> Solution<'_, T> {
    /// The lowest energy.
    pub fn energy(&self) -> f64 {
        self.energies[0]
    }

    /// The requested energies, ascending.
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }

    /// The energy that all states of the sector share, [`Model::constant`] of [`Model::working`]. Energies and levels contain it; the values of
    /// [`Solution::eigenpairs`] do not, so a large constant costs them no digits.
    pub fn constant(&self) -> f64 {
        self.model.working().constant()
    }

    /// ‖Hx − λx‖ of each state, recomputed in f64 after the solve.
    pub fn residuals(&self) -> &[f64] {
        &self.pairs.residuals
    }

    /// Energy levels with their multiplicities in this sector.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Why the solver stopped.
    pub fn stop(&self) -> StopReason {
        self.pairs.stop
    }

    /// Everything the solver reports; its values leave out [`Solution::constant`], and its vectors are in the order of the basis of
    /// [`Model::working`], or in that of [`StringRows`](super::StringRows) or [`PairRows`](super::PairRows).
    pub fn eigenpairs(&self) -> &Eigenpairs<T> {
        &self.pairs
    }

    /// Least work of one multiply.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Seconds of one multiply on this device, measured after the solve.
    pub fn multiply_seconds(&self) -> Option<f64> {
        self.multiply_seconds
    }

    /// Seconds from model to a Hamiltonian ready on the device: tables, text, compilation.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }

    /// The launch shape of the generated multiply and where it comes from; `None` if no generated kernels ran.
    pub fn shape(&self) -> Option<(&str, &ShapeSource)> {
        self.device.runs_kernels().then_some((self.shape.as_str(), &self.source))
    }

    /// How H was multiplied: [`Model::multiply_choice`], with the way that the device took.
    pub fn multiply_choice(&self) -> PlannedChoice {
        self.model.in_real_gauge().multiply_choice().with_taken(self.way, &self.device.name())
    }

    /// The device it ran on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A state vector in the order of the model's basis; of a complex H all real parts, then all imaginary parts.
    pub fn vector(&self, state: usize) -> Result<Vec<f64>, DeviceError> {
        let vector = self.downloaded(state)?;
        Ok(match T::as_f64(&vector) {
            Some(values) => values.to_vec(),
            None => vector.into_iter().map(T::to_f64).collect(),
        })
    }

    /// A state vector in the order of the model's basis.
    fn downloaded(&self, state: usize) -> Result<Vec<T>, DeviceError> {
        Ok(self.model.users_vector(self.pairs.vectors[state].download()?))
    }

    /// The vectors of a complex H, in the order of the states; those of one level are orthonormal.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn complex_vectors(&self) -> Result<Vec<Vec<Complex64>>, DeviceError> {
        let vectors =
            (0..self.pairs.vectors.len()).map(|state| self.downloaded(state)).collect::<Result<Vec<Vec<T>>, _>>()?;
        let mut found = Vec::new();
        for level in &self.levels {
            let first = found.len();
            found.extend(complex::orthonormal(&vectors[first..first + level.returned]));
        }
        Ok(found)
    }

    /// The standard averages over the whole ground multiplet of the sector, as far as it was found: densities and spins of
    /// every site, correlations of every pair.
    pub fn observables(&self) -> Result<Averages, RunError> {
        self.level_averages(&self.model.standard_observables())
    }

    /// The model.
    pub(super) fn model(&self) -> &Model {
        self.model
    }

    /// Orthonormal vectors of a level, as far as it was found; of a complex H two real ones for each state.
    pub(super) fn level_vectors(&self, level: usize) -> Vec<&Vector<T>> {
        let partners = self.partners.get(level).into_iter().flatten();
        self.pairs.level_vectors(level).into_iter().chain(partners).collect()
    }

    /// Averages of observables over the whole ground multiplet of the sector, as far as it was found. Of several ranks the first has
    /// them; every rank asks.
    ///
    /// # Errors
    /// An operator that the model's sites do not have; the device's.
    pub fn level_averages(&self, observables: &[Observable]) -> Result<Averages, RunError> {
        self.averages_in(0, observables)
    }

    /// Averages of observables over the whole level of one of the states that were found, as far as the level was found: what a single
    /// vector of several has is the solver's choice.
    ///
    /// # Errors
    /// A state that was not found; as of [`Solution::level_averages`].
    pub fn state_averages(&self, state: usize, observables: &[Observable]) -> Result<Averages, RunError> {
        let mut end = 0;
        let level = self.levels.iter().position(|level| {
            end += level.returned;
            state < end
        });
        let not_found = || SolveError::Option {
            name: "state",
            value: state.to_string(),
            expected: "the number of a state that was found, from 0",
        };
        self.averages_in(level.ok_or_else(not_found)?, observables)
    }

    fn averages_in(&self, level: usize, observables: &[Observable]) -> Result<Averages, RunError> {
        let _observing = trace::span("observables", "observables");
        let announced = self.prepared.as_ref().filter(|(announced, _)| announced == observables);
        let prepared = announced.map(|(_, prepared)| prepared);
        self.with_whole(&self.level_vectors(level), |device, vectors| {
            self.averages_on(device, vectors, observables, prepared)
        })
    }

    /// What is made of whole vectors, on the device that has them; of several ranks by the first, which gathers them.
    pub(super) fn with_whole<R: Default>(
        &self,
        vectors: &[&Vector<T>],
        make: impl FnOnce(&Device, &[&Vector<T>]) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        match self.device.ranks() {
            Some(ranks) => self.with_gathered(ranks, vectors, make),
            None => make(&self.device, vectors),
        }
    }

    pub(super) fn averages_on(
        &self,
        device: &Device,
        vectors: &[&Vector<T>],
        observables: &[Observable],
        prepared: Option<&PreparedAverages>,
    ) -> Result<Averages, RunError> {
        let averaged = self.model.averaged();
        let in_order = |vector: &&Vector<T>| -> Result<Vector<T>, DeviceError> {
            let values = vector.download()?;
            device.upload(&self.model.to_average(&values).unwrap_or(values))
        };
        let ordered = match self.model.has_own_order() {
            true => vectors.iter().map(in_order).collect::<Result<Vec<_>, _>>()?,
            false => Vec::new(),
        };
        let ordered: Vec<&Vector<T>> = ordered.iter().collect();
        let vectors = if ordered.is_empty() { vectors } else { &ordered };
        Ok(match prepared {
            Some(prepared) => prepared.averages(averaged, vectors, device, observables)?,
            None => averages_of(averaged, vectors, device, &self.model.working_observables(observables)?)?,
        })
    }

    /// ⟨O⟩ over the whole ground multiplet of the sector.
    ///
    /// # Errors
    /// As of [`Solution::level_averages`].
    pub fn expectation(&self, operator: eigenforge_core::operator::Operator) -> Result<f64, RunError> {
        let averages = self.level_averages(&[Observable::scalar("O", operator)])?;
        Ok(averages.scalar("O").unwrap_or(f64::NAN))
    }
}

impl Model {
    /// A hash of terms, sites, what they carry, and sector, which identifies the problem in checkpoints.
    pub fn identity(&self) -> String {
        let mut head = format!("{} sites, {}, 2S = {}\n", self.sites(), self.sector(), self.operator().two_s());
        if let Some(sector) = self.symmetric() {
            head += &format!("{:?}\n{}", self.operator().kinds_or_implied(), sector.group().identity());
            if sector.is_by_species() {
                head += if sector.has_pairs() { "as pairs of strings\n" } else { "in the order of strings\n" };
            }
        }
        if self.basis().is_by_charge() {
            head += "by the charge of the high part\n";
        }
        if let Some(kinds) = self.operator().kinds() {
            head += &format!("{kinds:?}, without {:?}\n", self.operator().forbidden());
        }
        let terms = self.operator().terms().map(|(product, coefficient)| format!("{coefficient:?} {product:?}\n"));
        let text: String = std::iter::once(head).chain(terms).collect();
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}

impl FamilyError for RunError {
    fn is_of_the_input(&self) -> bool {
        match self {
            RunError::Prepare(error) => error.is_of_the_input(),
            RunError::Solve(error) => error.is_of_the_input(),
            RunError::Device(_) | RunError::Operator(_) => false,
        }
    }

    fn device(&self) -> Option<&DeviceError> {
        match self {
            RunError::Prepare(error) => error.device(),
            RunError::Device(error) | RunError::Solve(SolveError::Device(error)) => Some(error),
            _ => None,
        }
    }
}
