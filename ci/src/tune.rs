//! Choosing the shape of a molecule's product on the card it will run on.
//!
//! | product | what its shapes differ in |
//! |---|---|
//! | full CI from the integrals | threads, tiles, blocks per multiprocessor |
//! | rows made in each product | lanes over the moves of a β string |
//! | a stored matrix | format, lanes, threads |
//!
//! In: a [`CiSolve`] and a CUDA device. Out: the fastest shape, kept beside the kernel cache for later runs
//! ([`eigenforge_runtime::tune`]).

use super::direct::{DirectError, DirectFullCi};
use super::on_the_fly::OnTheFly;
use super::solve::{CiError, CiSolve, NAME};
use super::storage::ProductKind;
use eigenforge_product::sparse::{Candidate, FormatRanking, SparseError, SparseOperator, Target};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::tune::{Choice, Choices, ShapeRace, TimedProduct, Tuning, check_device};
use eigenforge_runtime::{Device, DeviceError, LinearOperator};
use eigenforge_templates::ci::FullCiShape;
use std::sync::Arc;

/// Numbers of lanes of a product row by row, those of a warp among them.
const LANES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// A product that is not built yet.
type Build<'b> = Box<dyn FnOnce() -> Result<Box<dyn LinearOperator<f64> + 'b>, CiError> + 'b>;

/// The name of a number of lanes.
pub(super) fn lanes_name(lanes: u32) -> String {
    format!("{lanes} lanes for the moves of a string")
}

/// The number of lanes of a name.
pub(super) fn lanes_named(name: &str) -> Option<u32> {
    LANES.into_iter().find(|lanes| lanes_name(*lanes) == name)
}

/// The layouts of a stored matrix that are worth timing, the model's choice first; their names are unique.
pub(super) fn layouts(ranking: &FormatRanking) -> Vec<Candidate> {
    ranking.worth_timing().cloned().chain(ranking.best().variants()).collect()
}

impl CiSolve<'_> {
    /// Times every shape of the product on the device and keeps the fastest; `name` is the molecule's, for display.
    ///
    /// # Errors
    /// Another device than a CUDA card; a product that does not fit; a shape whose numbers differ, which is a fault of
    /// eigenforge.
    pub fn tune(&self, name: &str, device: &Device) -> Result<Tuning, CiError> {
        check_device(device)?;
        self.race(name, device, &Choices::open(&Settings::from_env().map_err(DeviceError::from)?))
    }

    /// The shape that an earlier run tuned for this product on this device.
    pub(super) fn earlier_shape(&self, way: ProductKind, device: &Device) -> Result<Option<Choice>, CiError> {
        if !self.tuned {
            return Ok(None);
        }
        Choice::earlier(device, || Ok(self.tuned_problem(way)))
    }

    /// What a choice is for: the matrix, and how it is multiplied.
    fn tuned_problem(&self, way: ProductKind) -> String {
        format!("molecule {} {way} {:?}", self.identity(), self.wish)
    }

    fn race(&self, name: &str, device: &Device, choices: &Choices) -> Result<Tuning, CiError> {
        let plan = self.storage_plan(device)?;
        let (integrals, _) = self.without_constant();
        let (integrals, space, target) = (&*integrals, self.space, Target::new(device));
        let (mut shapes, mut bytes): (Vec<(String, Build<'_>)>, f64) = (Vec::new(), 0.0);
        match plan.way {
            ProductKind::Direct if space.is_complete() => {
                bytes = DirectFullCi::plan(integrals, space, target)?.0.cost().bytes;
                for shape in DirectFullCi::shapes(integrals, space, target)? {
                    let build = move || {
                        Ok(Box::new(DirectFullCi::with_shape(integrals, space, Some(shape), device)?) as Box<_>)
                    };
                    shapes.push((shape.to_string(), Box::new(build)));
                }
            }
            ProductKind::Direct => {
                let rule = OnTheFly::plan(integrals, space, target)?;
                bytes = rule.cost().bytes;
                let fits = |lanes: &u32| *lanes != rule.lanes && *lanes <= rule.warp.lanes();
                let others = LANES.into_iter().filter(fits);
                for lanes in std::iter::once(rule.lanes).chain(others) {
                    let build =
                        move || Ok(Box::new(OnTheFly::with_lanes(integrals, space, Some(lanes), device)?) as Box<_>);
                    shapes.push((lanes_name(lanes), Box::new(build)));
                }
            }
            ProductKind::Stored => {
                let matrix = Arc::new(self.matrix(integrals)?);
                bytes += 12.0 * matrix.non_zeros() as f64 + 16.0 * matrix.rows() as f64;
                for candidate in layouts(&self.choice(&matrix, target)) {
                    let (matrix, shape) = (matrix.clone(), candidate.name());
                    let build = move || {
                        let layout = &candidate.layout;
                        let operator = SparseOperator::with_layout(NAME, matrix, layout, self.wish, device)?;
                        Ok(Box::new(operator) as Box<_>)
                    };
                    shapes.push((shape, Box::new(build)));
                }
            }
        }
        let table_bytes = plan.ways.iter().find(|way| way.way == plan.way).map_or(0, |way| way.bytes);
        let length = usize::try_from(space.len()).unwrap_or(usize::MAX);
        let problem = self.tuned_problem(plan.way);
        let race = ShapeRace { name, problem: &problem, length, bytes, table_bytes };
        race.run(device, choices, shapes.into_iter().map(built), unfit)
    }
}

/// The product of a shape, built.
fn built<'b>((shape, build): (String, Build<'b>)) -> (String, Result<TimedProduct<'b>, CiError>) {
    let product = build().map(|operator| -> TimedProduct<'b> { Box::new(move |x, y| operator.apply(x, y).map(Some)) });
    (shape, product)
}

/// Why a card cannot run a shape, if that is what the error says.
fn unfit(error: &CiError) -> Option<String> {
    match error {
        CiError::Sparse(SparseError::Layout(why)) => Some(why.to_string()),
        CiError::Direct(DirectError::Plan(why)) => Some(why.to_string()),
        other => match other.device()? {
            DeviceError::Launch(why) => Some(why.to_string()),
            _ => None,
        },
    }
}

/// The shape of a name among those worth timing, or the rule's.
pub(super) fn shape_named(name: Option<&str>, rule: FullCiShape, candidates: Vec<FullCiShape>) -> FullCiShape {
    candidates.into_iter().find(|shape| Some(shape.to_string().as_str()) == name).unwrap_or(rule)
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
                let solve = CiSolve::new(&integrals, space).storage(storage);
                let tuning = solve.race("a chain", &device, &Choices::none()).unwrap();
                let mut names: Vec<&str> = tuning.timings.iter().map(|timing| timing.name.as_str()).collect();
                assert!(names.len() >= least, "{storage:?}: {names:?}, left out {:?}", tuning.left_out);
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), tuning.timings.len(), "{storage:?}: two shapes of one name");
            }
        }
    }

    #[test]
    fn names_lead_back_to_lanes() {
        assert!(LANES.into_iter().all(|lanes| lanes_named(&lanes_name(lanes)) == Some(lanes)));
        assert_eq!(lanes_named("3 lanes"), None);
    }
}
