//! The solver where the choice is left open: by the rows of the matrix, the states that are wanted and the memory.

use super::{Diagonalisation, Eigenproblem};
use eigenforge_runtime::solvers::{Preconditioner, Solver};

/// The largest matrix that is diagonalised as a whole where the choice is left open: a second or so.
const SMALL: u64 = 1000;

impl<P: Eigenproblem> Diagonalisation<P> {
    /// The solve with the usual solver, and why; `is_small` says in words what it has so few of, `fits` whether a solve fits in memory, and
    /// `is_scarce` whether memory has no room for the basis of Lanczos, but for the vectors of LOBPCG beside all that the product keeps.
    ///
    /// The whole spectrum of up to 1,000 rows; Lanczos for one state, since a step takes the fewest passes over memory, and with thick
    /// restarts for several, since it needs half to a third of a block's multiplies and no more passes for each, also where certification
    /// has to find the other members of multiplets (table in docs/performance.md). LOBPCG with the diagonal as preconditioner for one state
    /// where memory has no room for the basis of Lanczos, which would then multiply twice in each step; block LOBPCG for several where only
    /// that fits. A preconditioner or guard vectors ask for LOBPCG.
    pub fn usual_solver(
        self,
        is_small: impl Fn(u64) -> String,
        fits: impl Fn(&Self) -> bool,
        is_scarce: impl Fn(&Self) -> bool,
    ) -> (Self, String) {
        let states = self.options.states;
        let with = |solver| self.clone().solver(solver);
        let dimension = self.problem.dimension();
        let (solver, why) = if dimension <= SMALL {
            (Solver::Dense, format!("{}, {SMALL} at most", is_small(dimension)))
        } else if self.options.preconditioner != Preconditioner::None {
            (Solver::Lobpcg, "a preconditioner was requested".into())
        } else if self.options.guard.is_some() {
            (Solver::Lobpcg, "guard vectors were requested".into())
        } else if states == 1 && is_scarce(&self) {
            let why =
                "with jacobi; memory has no room for the basis of Lanczos, which would multiply twice in each step";
            return (with(Solver::Lobpcg).preconditioner(Preconditioner::Jacobi), why.into());
        } else if states == 1 {
            (Solver::Lanczos, "for one state its steps are the fewest passes over memory".into())
        } else if !fits(&with(Solver::Lanczos)) && fits(&with(Solver::Lobpcg)) {
            (Solver::Lobpcg, format!("the basis of Lanczos for {states} states would not fit in memory"))
        } else {
            (Solver::Lanczos, format!("for {states} states it needs fewer multiplies than a block"))
        };
        (with(solver), why)
    }
}
