//! Choosing the shape of a molecule's product on the card it will run on.
//!
//! | product | what its shapes differ in |
//! |---|---|
//! | full CI from the integrals | threads, tiles, blocks per multiprocessor |
//! | rows made in each product | lanes over the moves of a β string |
//! | a stored matrix | format, lanes, threads |
//!
//! In: a solve and a CUDA device. Out: the fastest shape, kept beside the kernel cache for later runs
//! ([`eigenforge_runtime::tune`]).

use super::direct::DirectError;
use super::error::CiError;
use super::estimate::ProductKind;
use super::solve::{CiProblem, Solve, request};
use super::way::{NAME, NamedPlan};
use super::ways;
use eigenforge_product::{Eigenproblem, Hamiltonian, Multiply, MultiplyPlan, PrepareError};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::tune::{Choice, Choices, ShapeRace, TimedProduct, Tuning, check_device};
use eigenforge_runtime::{Device, DeviceError, LinearOperator};
use std::sync::Arc;

impl CiProblem<'_> {
    /// Times every shape of the product on the device and keeps the fastest; `name` is the molecule's, for display.
    ///
    /// # Errors
    /// Another device than a CUDA card; a product that does not fit; a shape whose numbers differ, which is a fault of
    /// eigenforge.
    pub fn tune(solve: &Solve<'_>, name: &str, device: &Device) -> Result<Tuning, CiError> {
        check_device(device)?;
        CiProblem::race(solve, name, device, &Choices::open(&Settings::from_env().map_err(DeviceError::from)?))
    }

    /// The shape that an earlier run tuned for this product on this device.
    pub(super) fn earlier_shape(
        solve: &Solve<'_>,
        way: ProductKind,
        device: &Device,
    ) -> Result<Option<Choice>, CiError> {
        if !solve.tuned {
            return Ok(None);
        }
        Choice::earlier(device, || Ok(solve.problem.tuned_problem(way)))
    }

    /// What a choice is for: the matrix, and how it is multiplied.
    fn tuned_problem(&self, way: ProductKind) -> String {
        format!("molecule {} {way} {:?}", self.identity(), self.wish)
    }

    fn race(solve: &Solve<'_>, name: &str, device: &Device, choices: &Choices) -> Result<Tuning, CiError> {
        let plan = CiProblem::storage_plan(solve, device)?;
        let (integrals, _) = solve.problem.without_constant();
        let request = request(solve, &integrals, device);
        let way = ways::way(plan.way, &request);
        let shapes = way.map_or(Ok(Vec::new()), |way| way.shapes(&request))?;
        let table_bytes = plan.ways.iter().find(|way| way.way == plan.way).map_or(0, |way| way.bytes);
        let length = usize::try_from(solve.problem.dimension()).unwrap_or(usize::MAX);
        let problem = solve.problem.tuned_problem(plan.way);
        // C read once and σ written once, and a matrix or a table.
        let bytes = 16.0 * length as f64 + if plan.way == ProductKind::Direct { 0.0 } else { table_bytes as f64 };
        let race = ShapeRace { name, problem: &problem, length, bytes, table_bytes };
        let built = |(shape, plan): NamedPlan<'_>| (shape, plan().and_then(|multiply| timed(multiply, device)));
        race.run(device, choices, shapes.into_iter().map(built), unfit)
    }
}

/// The product of a shape on a device.
fn timed<'b>(multiply: Arc<dyn Multiply>, device: &Device) -> Result<TimedProduct<'b>, CiError> {
    let operator = Hamiltonian::new(MultiplyPlan(multiply), NAME, device)?;
    Ok(Box::new(move |x, y| operator.apply(x, y).map(Some)))
}

/// Why a card cannot run a shape, if that is what the error says.
fn unfit(error: &CiError) -> Option<String> {
    match error {
        CiError::Prepare(PrepareError::Layout(why)) => Some(why.to_string()),
        CiError::Direct(DirectError::Plan(why)) => Some(why.to_string()),
        other => match other.device()? {
            DeviceError::Launch(why) => Some(why.to_string()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::storage::Storage;
    use super::super::{Integrals, Space};
    use super::*;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::devices_of_many_launches;

    /// A chain of sites with one-electron hops and a repulsion that differs from pair to pair.
    fn integrals(orbitals: usize) -> Integrals {
        let mut integrals = Integrals::zero(orbitals);
        let number = |at: usize| 0.3 + 0.1 * (at as f64 * 1.7).sin();
        integrals.electrons = 4;
        integrals.one.iter_mut().enumerate().for_each(|(at, one)| *one = -number(at));
        integrals.two.iter_mut().enumerate().for_each(|(at, two)| *two = 0.5 * number(at + 5));
        integrals
    }

    /// All shapes of all products run, and give the numbers of the rule's; their names tell them apart.
    #[test]
    fn every_shape_gives_the_numbers_of_the_rule() {
        let integrals = integrals(4);
        let full = Space::full(4, 2, 2).unwrap();
        let part = Space::excitations(4, 2, 2, 2).unwrap();
        for device in devices_of_many_launches(Schedule::Forward) {
            for (space, storage, least) in
                [(&full, Storage::Direct, 4), (&part, Storage::Direct, 6), (&full, Storage::Stored, 3)]
            {
                let solve = CiProblem::new(&integrals, space).storage(storage).solve();
                let tuning = CiProblem::race(&solve, "a chain", &device, &Choices::none()).unwrap();
                let mut names: Vec<&str> = tuning.timings.iter().map(|timing| timing.name.as_str()).collect();
                assert!(names.len() >= least, "{storage:?}: {names:?}, left out {:?}", tuning.left_out);
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), tuning.timings.len(), "{storage:?}: two shapes of one name");
            }
        }
    }
}
