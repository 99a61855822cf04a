//! A model whose lowest states are wanted, as a solve asks of it.

use super::super::averages;
use super::super::rank_plan::rank_plan;
use super::{Model, PrepareError, RunError, Solve, memory};
use crate::observables::PreparedAverages;
use eigenforge_core::observable::Observable;
use eigenforge_product::ranks::RankPlan;
use eigenforge_product::{Eigenproblem, MultiplyPlan, RealImage, product_seconds};
use eigenforge_runtime::machine::{Card, Machine};
use eigenforge_runtime::{Device, DeviceError};
use eigenforge_templates::{Cost, ElementFunctionText, KernelText};

/// Bytes of an element of a stored matrix in f64, with its column.
const ELEMENT_BYTES: f64 = 12.0;

/// A model whose lowest states are wanted, and what will be averaged over them.
#[derive(Clone)]
pub struct ModelProblem<'m> {
    /// The model.
    pub model: &'m Model,
    /// The observables that [`Solution::level_averages`](super::Solution::level_averages) or
    /// [`Solution::state_averages`](super::Solution::state_averages) will be asked for: while a device looks for the states, the host makes
    /// the tables that their averages need there. Without, it makes them when it is asked.
    pub observables: Vec<Observable>,
}

impl<'m> From<&'m Model> for ModelProblem<'m> {
    fn from(model: &'m Model) -> ModelProblem<'m> {
        ModelProblem { model, observables: Vec::new() }
    }
}

impl ModelProblem<'_> {
    /// The tables of the announced observables; nothing where they can't be made, which shows when the averages are asked for.
    pub(super) fn prepared_averages(&self) -> Option<(Vec<Observable>, PreparedAverages)> {
        let working = self.model.working_observables(&self.observables).ok()?;
        let prepared = PreparedAverages::new(self.model.averaged(), &working).ok()?;
        Some((self.observables.clone(), prepared))
    }

    /// What [`Solve::choose`] makes of a solve on a card that need not be present, with all of its memory.
    pub fn choose_on<'a>(solve: Solve<'a>, card: &Card) -> Solve<'a> {
        let fits = |solve: &Solve<'_>| solve.resident(solve.problem.dimension()).1 <= card.memory_bytes;
        solve.usual_solver(|_| String::new(), fits, |solve| memory::is_scarce_on(solve, card)).0
    }
}

impl<'m> Eigenproblem for ModelProblem<'m> {
    type Error = RunError;

    const PROBLEM_AND_SOLVER: &'static str = "the model and its solver";

    fn identity(&self) -> String {
        self.model.working().identity()
    }

    fn dimension(&self) -> u64 {
        self.model.in_real_gauge().dimension()
    }

    fn is_complex(&self) -> bool {
        self.model.in_real_gauge().is_complex()
    }

    fn real_states(&self, states: usize) -> usize {
        if self.is_complex() { RealImage::LATTICE.states(states) } else { states }
    }

    fn guess_text(&self, multiply: &MultiplyPlan) -> Option<ElementFunctionText> {
        multiply.0.guess_text()
    }

    /// The usual one ([`Diagonalisation::usual_solver`](eigenforge_product::Diagonalisation::usual_solver)).
    fn choose(solve: Solve<'m>, device: &Device) -> (Solve<'m>, Option<String>) {
        let free = device.memory().free;
        let fits = |solve: &Solve<'_>| memory::needed_bytes(solve, device) <= free;
        let is_scarce = |solve: &Solve<'_>| memory::is_scarce(solve, device);
        let (solve, why) =
            solve.usual_solver(|dimension| format!("the sector has {dimension} states"), fits, is_scarce);
        (solve, Some(why))
    }

    fn check_vectors(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
        memory::check_vectors(solve, device)
    }

    fn memory_plan(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
        memory::plan(solve, device)
    }

    fn over_ranks(&self, ranks: usize, on_cards: bool) -> RankPlan {
        rank_plan(self.model.in_real_gauge(), ranks, on_cards)
    }

    fn product_seconds(solve: &Solve<'_>) -> Result<impl Fn(&Machine) -> Option<[f64; 2]>, RunError> {
        // The least work of a product with H.
        let (model, dimension) = (solve.problem.model.working(), solve.problem.dimension() as f64);
        let cost = match model.stored_elements() {
            Some((elements, _)) => {
                let (elements, vector) = (elements as f64, dimension * solve.scalar.bytes() as f64);
                Cost { flops: 2.0 * elements, bytes: ELEMENT_BYTES * elements + 2.0 * vector }
            }
            None => {
                let multiply = model.multiply_without_constant(solve.scalar).map_err(PrepareError::from)?;
                Cost { flops: multiply.0.work(), ..multiply.cost() }
            }
        };
        Ok(move |machine: &Machine| Some([0.0, product_seconds(cost, machine)]))
    }

    fn compiled_multiply(solve: &Solve<'_>, _: &Machine) -> Result<Option<MultiplyPlan>, RunError> {
        let model = solve.problem.model.working();
        let is_generated = !model.way().stores_matrix();
        Ok(is_generated.then(|| model.multiply_without_constant(solve.scalar)).transpose()?)
    }

    /// The kernels of averages, which are nearly always wanted.
    fn compiled_beside(solve: &Solve<'_>) -> Result<Option<KernelText>, RunError> {
        let model = solve.problem.model.averaged();
        if model.listed_terms().is_none() {
            return Ok(Some(averages::generated(model, solve.scalar)?.text));
        }
        let rows = model.made_rows(solve.scalar).filter(|_| !solve.problem.observables.is_empty());
        Ok(rows.map(|rows| rows.plan().text()).transpose().map_err(PrepareError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InSector, Lanczos, Lobpcg, samples};
    use eigenforge_core::basis::{Down, Up};
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models;
    use eigenforge_runtime::solvers::{Preconditioner, SolveOptions, Solver};
    use eigenforge_templates::Warp;

    /// Room for 30 vectors: enough for every solver, too little for the basis of Lanczos.
    #[test]
    fn where_lanczos_would_multiply_twice_lobpcg_has_the_diagonal() {
        let model = samples::xxz(&Lattice::chain(14).periodic(), 1.0, 2.0, 0);
        let solve = Lanczos::new(&model);
        let scarce = |vectors: u64| {
            let limit = Some(8 * vectors * model.dimension());
            solve.clone().options(SolveOptions { memory_limit: limit, ..solve.options.clone() })
        };
        let chosen = |vectors: u64| {
            let (chosen, why) = scarce(vectors).choose(&Device::cpu());
            (chosen.solver, chosen.options.preconditioner, why.unwrap())
        };
        let (solver, preconditioner, why) = chosen(30);
        assert_eq!((solver, preconditioner), (Solver::Lobpcg, Preconditioner::Jacobi));
        assert!(why.contains("with jacobi") && why.contains("multiply twice"), "{why}");
        let (solver, preconditioner, _) = chosen(300);
        assert_eq!((solver, preconditioner), (Solver::Lanczos, Preconditioner::None));
        let energy = |solve: Solve<'_>| solve.run(&Device::cpu()).unwrap().energies()[0];
        let [lobpcg, twice] = [scarce(30).choose(&Device::cpu()).0, scarce(30)].map(energy);
        assert!((lobpcg - twice).abs() < 1e-10, "{lobpcg} {twice}");
        // The same on cards that need not be present.
        let card = Card { memory_bytes: 40 * 8 * model.dimension(), ..Card::H200 };
        let chosen = [card, Card::H200].map(|card| ModelProblem::choose_on(solve.clone(), &card));
        let chosen = chosen.map(|solve| (solve.solver, solve.options.preconditioner));
        assert_eq!(chosen, [(Solver::Lobpcg, Preconditioner::Jacobi), (Solver::Lanczos, Preconditioner::None)]);
    }

    /// Compiled in a tenth of a second each, by as many threads as there are cores.
    #[test]
    fn a_thousand_states_are_for_the_cores_and_a_hundred_million_for_a_card() {
        let machine = Machine::h200();
        let small = samples::xxz(&Lattice::chain(12).periodic(), 1.0, 1.0, 0);
        assert_eq!(small.dimension(), 924);
        let solve = Lanczos::new(&small);
        let texts = solve.common_texts(&machine, Warp::NVIDIA).unwrap();
        assert!(texts.len() > 8, "{:?}", texts.iter().map(|text| &text.name).collect::<Vec<_>>());
        let cold = solve.forecast_with(&machine, &texts.iter().collect::<Vec<_>>()).unwrap();
        assert!(!cold.prefers_the_card() && cold.ends_before_a_card_starts(), "{cold:?}");
        // The paper's 4 x 4 sites with 7 and 7 electrons: 130,873,600 states.
        let (open, bonds) = (Lattice::square([4, 4]).open(), [1.0; 24]);
        let hubbard = models::hubbard(&open, &bonds, &[4.0; 16], &[0.0; 16], 0.0, &[0.0; 24]);
        let large = hubbard.sector(Up(7), Down(7)).unwrap();
        let solve = Lobpcg::new(&large);
        let texts = solve.common_texts(&machine, Warp::NVIDIA).unwrap();
        let cold = solve.forecast_with(&machine, &texts.iter().collect::<Vec<_>>()).unwrap();
        assert!(cold.prefers_the_card() && !cold.ends_before_a_card_starts(), "{cold:?}");
    }
}
