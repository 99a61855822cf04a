//! Solving: integrals and a space in, certified states with their spins out.
//!
//! H is multiplied as a sparse matrix whose rows are computed once, or straight from the integrals ([`Storage`]). The choice is made by
//! memory and time ([`CiProblem::storage_plan`]) before anything is built; the same plan ([`CiProblem::multiply_on`]) is shown and run.

mod problem;
mod solution;

pub use problem::CiProblem;
pub use solution::CiSolution;

use super::error::CiError;
use super::estimate::{ProductKind, StorageError, StorageTarget};
use super::storage::{StoragePlan, StorageRequest};
use super::used::StorageUsed;
use super::way::{NAME, Request};
use super::{CsfSpace, Integrals, Space, constant, guess, ways};
use eigenforge_product::sparse::{FormatChoice, FormatName};
use eigenforge_product::{Diagonalisable, Diagonalisation, Eigenproblem, Eigenstates, Hamiltonian, MultiplyPlan};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, DeviceError};
use std::borrow::Cow;

/// The largest space that [`CiSolve::choose`] diagonalises densely: a tenth of a second.
const SMALL: u64 = 400;

/// A solve of a molecule: by Davidson's method, with the storage that takes the least time.
pub struct CiSolve;

impl CiSolve {
    /// Starts a solve of these integrals in this space.
    #[expect(clippy::new_ret_no_self, reason = "its name starts a builder")]
    pub fn new<'a>(integrals: &'a Integrals, space: &'a Space) -> Diagonalisation<CiProblem<'a>> {
        CiProblem::new(integrals, space).solve()
    }

    /// The solver for so many determinants or configuration state functions: dense diagonalisation of up to 400, otherwise
    /// Davidson's method.
    pub fn choose(dimension: u64) -> Solver {
        if dimension <= SMALL { Solver::Dense } else { Solver::Davidson }
    }
}

/// A solve of a molecule, as functions take it.
pub(super) type Solve<'a> = Diagonalisation<CiProblem<'a>>;

impl<'a> CiProblem<'a> {
    /// The cost of each way of multiplying on this device, which is used, and why.
    ///
    /// # Errors
    /// `storage = "direct"` where it does not exist; nothing fits, with the numbers and advice.
    pub fn storage_plan(solve: &Solve<'_>, device: &Device) -> Result<StoragePlan, StorageError> {
        let own = requested(solve, |asked| asked.plan(StorageTarget::from_device(device), &device.name()));
        agreed(own, device)
    }

    /// The same where it exists, without a search for what else would fit.
    pub fn fitting_plan(solve: &Solve<'_>, device: &Device) -> Option<StoragePlan> {
        let own = requested(solve, |asked| asked.choice(StorageTarget::from_device(device)).map_err(drop));
        agreed(own, device).ok()
    }

    /// The same for a machine, which need not be present.
    ///
    /// # Errors
    /// See [`CiProblem::storage_plan`].
    pub fn storage_plan_on(solve: &Solve<'_>, machine: &Machine) -> Result<StoragePlan, StorageError> {
        requested(solve, |asked| asked.plan(StorageTarget::from_machine(machine), machine.name()))
    }

    /// How H is multiplied on a machine, which need not be present: the choice, and the plan of the multiply.
    ///
    /// # Errors
    /// See [`CiProblem::storage_plan`]; integrals that do not fit the space, too little memory.
    pub fn multiply_on(solve: &Solve<'_>, machine: &Machine) -> Result<CiPlan, CiError> {
        let (storage, integrals) = (CiProblem::storage_plan_on(solve, machine)?, solve.problem.without_constant().0);
        let request = Request::new(&integrals, solve.problem.space, StorageTarget::from_machine(machine));
        let request = Request { csfs: solve.problem.csfs, complex: solve.problem.complex, ..request };
        let multiply = machine.card.as_ref().map(|_| multiply(storage.way, &completed(solve, request))).transpose()?;
        Ok(CiPlan { storage, multiply })
    }

    /// H of the problem on a device, without the energy that is common to all determinants, and that energy; for what needs its products alone.
    ///
    /// # Errors
    /// Nothing fits, with numbers; integrals that do not fit the space; kernels that do not compile.
    pub fn on_device(solve: &Solve<'_>, device: &Device) -> Result<(Hamiltonian<'static>, f64), CiError> {
        let (integrals, constant) = solve.problem.without_constant();
        let storage = CiProblem::storage_plan(solve, device)?;
        let plan = multiply(storage.way, &request(solve, &integrals, device))?;
        Ok((Hamiltonian::new(plan, NAME, device)?, constant))
    }

    /// The integrals without the part common to all determinants, and that part.
    pub(super) fn without_constant(&self) -> (Cow<'a, Integrals>, f64) {
        constant::take_out(self.integrals, self.space.alpha().electrons() + self.space.beta().electrons())
    }
}

fn requested<R>(solve: &Solve<'_>, plan: impl FnOnce(&StorageRequest<'_>) -> R) -> R {
    let CiProblem { integrals, space, csfs, complex, storage, wish, census } = &solve.problem;
    let parts = complex.map_or(1, |_| 2);
    let solver = |rows: u64| solve.resident(rows.saturating_mul(parts));
    let (csfs, complex, storage, format) = (*csfs, *complex, *storage, wish.format);
    plan(&StorageRequest { integrals, space, csfs, complex, solver: &solver, storage, format, census })
}

/// What is asked for on a device.
pub(super) fn request<'r>(solve: &'r Solve<'_>, integrals: &'r Integrals, device: &'r Device) -> Request<'r> {
    let CiProblem { space, csfs, complex, .. } = solve.problem;
    let request = Request { complex, ..Request::on_device(integrals, space, csfs, device) };
    completed(solve, request)
}

fn completed<'r>(solve: &Solve<'_>, request: Request<'r>) -> Request<'r> {
    let (_, reserved) = solve.resident(solve.problem.dimension());
    Request { wish: solve.problem.wish, reserved, ..request }
}

impl<'a> Diagonalisable<f64> for CiProblem<'a> {
    type Solution = CiSolution<'a>;

    fn diagonalise(solve: &Solve<'a>, device: &Device) -> Result<CiSolution<'a>, CiError> {
        let set_up = solve.set_up(device)?;
        let CiProblem { integrals: all, space, csfs, complex, .. } = solve.problem;
        let (states, dimension) = (solve.options.states, solve.problem.rows());
        if states as u64 > dimension {
            let functions = csfs.map_or("determinants", |_| "configuration state functions");
            return Err(CiError::States { states, dimension, functions });
        }
        check_format(solve, device)?;
        let (integrals, constant) = solve.problem.without_constant();
        let storage = CiProblem::storage_plan(solve, device)?;
        let choice =
            if device.ranks().is_some() { None } else { CiProblem::earlier_shape(solve, storage.way, device)? };
        let shape = choice.as_ref().map(|choice| choice.shape.clone());
        let plan = multiply(storage.way, &Request { shape, ..request(solve, &integrals, device) })?;
        let _ahead = solve.compile_ahead(device, &plan);
        let operator = Hamiltonian::new(plan.clone(), NAME, device)?;
        let operator = if complex.is_some() { operator.of_numbers(2) } else { operator };
        let operator = operator.guessing(|device| match (csfs, complex) {
            (_, Some(complex)) => guess::guess(complex, space, device),
            (Some(csfs), None) => csfs.guess(&integrals).map(|listed| guess::function(listed, device)).transpose(),
            (None, None) => guess::guess(&*integrals, space, device),
        });
        let how = StorageUsed::new(storage, &plan, (&operator, device), choice);
        let (pairs, seconds) = solve.search(set_up, &operator, constant)?;
        let (pairs, _) = solve.problem.image().fold(pairs, states)?;
        let states = Eigenstates::new((&operator, device), (pairs, seconds), constant)?;
        Ok(CiSolution { integrals: all, space, csfs, states, how })
    }
}

/// Refuses formats that ranks do not have.
fn check_format(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
    let wish = solve.problem.wish.format;
    let other = |(_, known): &&(&'static str, FormatChoice)| *known == wish && *known != Some(FormatName::Csr);
    if let Some((word, Some(_))) = FormatName::WORDS.iter().find(other).filter(|_| device.ranks().is_some()) {
        let what = format!("format = \"{word}\"");
        let instead = "each has its rows of the matrix, compressed: leave `format` out".into();
        return Err(DeviceError::NotOverRanks { what, instead });
    }
    Ok(())
}

/// How H of a molecule is multiplied: what was chosen and what was not, and the plan of the multiply.
pub struct CiPlan {
    /// What each way would take, which was chosen, and why.
    pub storage: StoragePlan,
    /// The multiply; of a machine without a card, where nothing is generated, it is not planned.
    pub multiply: Option<MultiplyPlan>,
}

/// The multiply of configuration state functions without a matrix on a device; `space` has their determinants with one Sz.
///
/// # Errors
/// Determinants that the device only stores; integrals that do not fit the space; too little memory.
pub fn csf_product(
    integrals: &Integrals,
    csfs: &CsfSpace,
    space: &Space,
    device: &Device,
) -> Result<MultiplyPlan, CiError> {
    let request = Request::on_device(integrals, space, Some(csfs), device);
    if ways::way(ProductKind::Direct, &request).is_none() {
        let why = ways::refusal(ProductKind::Direct, &request).unwrap_or_else(|| "there is no such way".into());
        return Err(StorageError::StoredOnly { word: "direct", device: device.name(), why }.into());
    }
    multiply(ProductKind::Direct, &request)
}

/// The multiply of a kind.
fn multiply(kind: ProductKind, request: &Request<'_>) -> Result<MultiplyPlan, CiError> {
    let way = ways::way(kind, request);
    let way = way.unwrap_or_else(|| unreachable!("it was chosen of the ways that there are"));
    Ok(MultiplyPlan(way.plan(request)?))
}

/// Ranks of several machines may know other rates: they go the first one's way.
fn agreed<E>(own: Result<StoragePlan, E>, device: &Device) -> Result<StoragePlan, E> {
    let Some(ranks) = device.ranks() else { return own };
    let number = |way: ProductKind| way as u8;
    let first = ranks.from_first("how H is multiplied", &[own.as_ref().map_or(u8::MAX, |plan| number(plan.way))]);
    let mut plan = own?;
    let other = [ProductKind::Stored, ProductKind::Direct, ProductKind::Table]
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
        let identity = |space: &Space| CiProblem::new(&integrals, space).identity();
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
