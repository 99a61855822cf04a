//! Configuration interaction: integrals, determinants, and the multiply planned for a machine.

use super::plan::identity_of;
use super::{PlanDetails, PlannedChoice, Problem};
use crate::basis::{Sector, count};
use crate::ci::{self, CiError, CiPlan, CiProblem, CiSolve, Molecule, MoleculeError, StoragePlan};
use crate::exact::Received;
use crate::input::CiFile;
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError, StructureKind, block_operations, solver_programs};
use crate::report::energy_text;
use eigenforge_product::{Diagonalisation, Eigenproblem, MultiplyPlan};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{Solver, SpectrumPart};
use std::cell::OnceCell;
use std::fmt::Write;

/// The largest number of orbitals whose operator is written out: some 1.5 N⁴ terms, 10 million.
const MOST_WRITTEN: usize = 50;

/// A file with `[ci]`, with its integrals and determinants.
pub struct MoleculeProblem {
    /// The file.
    pub file: CiFile,
    /// The molecule.
    pub molecule: Molecule,
    /// The machine that it is planned for: an H200 unless another is named.
    machine: Machine,
    /// How H is multiplied there, planned on demand because a stored matrix takes time.
    plan: OnceCell<CiPlan>,
}

/// Determinants or configuration state functions up to which the states nearest to an energy are found by dense diagonalisation.
const DENSE_NEAR: u64 = 2000;

impl MoleculeProblem {
    /// Reads the integrals, and lists the determinants.
    ///
    /// # Errors
    /// A file is refused; orbitals, electrons or irreps that do not exist.
    pub fn read(mut file: CiFile) -> Result<MoleculeProblem, MoleculeError> {
        let molecule = Molecule::read(&file.ci)?;
        file.solve.resolve(molecule.dimension());
        Ok(MoleculeProblem { file, molecule, machine: Machine::h200(), plan: OnceCell::new() })
    }

    /// The same with no more states asked for than the space has.
    pub(super) fn at_most_all(mut self) -> MoleculeProblem {
        let all = usize::try_from(self.molecule.dimension()).unwrap_or(usize::MAX);
        self.file.solve.states = self.file.solve.states.min(all);
        self
    }

    /// This problem planned for another machine than an H200.
    pub fn planned_for(self, machine: Machine) -> MoleculeProblem {
        MoleculeProblem { machine, plan: OnceCell::new(), ..self }
    }

    /// The solve that the file asks for.
    pub fn solve(&self) -> Diagonalisation<CiProblem<'_>> {
        let spec = &self.file.solve;
        let dimension = self.molecule.dimension();
        let solver = spec.solver.unwrap_or_else(|| match (CiSolve::choose(dimension), spec.part) {
            // A filter takes thousands of products, and Davidson's method has no diagonal of one.
            (Solver::Davidson, SpectrumPart::Nearest(_)) if dimension <= DENSE_NEAR => Solver::Dense,
            (Solver::Davidson, SpectrumPart::Nearest(_)) => Solver::Lanczos,
            (chosen, _) => chosen,
        });
        CiProblem::new(&self.molecule.integrals, &self.molecule.space)
            .csfs(self.molecule.csfs.as_ref())
            .complex(self.molecule.complex.as_deref())
            .storage(self.file.ci.storage)
            .format(self.file.ci.format)
            .solve()
            .solver(solver)
            .options(spec.options())
    }

    /// How several cards would get x in a multiply; `None` on the CPU, and for a stored matrix that is too small to be divided.
    ///
    /// # Errors
    /// The plan cannot be made.
    pub fn sharing(&self, cards: usize) -> Result<Option<String>, StageError> {
        let cards = cards.try_into().unwrap_or(u32::MAX);
        let received = self.plan()?.multiply.as_ref().and_then(|multiply| multiply.0.received(cards));
        Ok(received.map(|received: Received| received.describe()))
    }

    /// How H is multiplied, planned on first use.
    fn plan(&self) -> Result<&CiPlan, CiError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = CiProblem::multiply_on(&self.solve(), &self.machine)?;
        Ok(self.plan.get_or_init(|| plan))
    }
}

/// The ways of multiplying, and the one that is planned.
struct MoleculePlan<'p> {
    molecule: &'p Molecule,
    machine: &'p Machine,
    plan: &'p CiPlan,
}

impl MoleculePlan<'_> {
    fn multiply(&self) -> Option<&MultiplyPlan> {
        self.plan.multiply.as_ref()
    }
}

impl PlanDetails for MoleculePlan<'_> {
    fn memory(&self) -> Vec<(String, u64)> {
        let tables = self.multiply().and_then(|multiply| multiply.0.table_bytes());
        tables.into_iter().map(|(what, bytes)| (what.into(), bytes)).collect()
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        let storage = PlannedChoice::from(&self.plan.storage);
        let format = self.multiply().and_then(|multiply| multiply.0.format()).and_then(|stored| stored.choice());
        [storage].into_iter().chain(format).collect()
    }

    fn cost_text(&self) -> String {
        let tables = self.multiply().map_or(String::new(), |multiply| multiply.0.cost_text());
        ways(self.molecule, &self.plan.storage, self.machine) + &tables
    }
}

impl Problem for MoleculeProblem {
    fn describe(&self) -> String {
        let (solve, integrals) = (&self.file.solve, &self.molecule.integrals);
        let states = solve.states_text();
        format!(
            "model    H = E_core + sum h_pq a+_p a_q + 1/2 sum (pq|rs) a+_p a+_r a_s a_q, {} orbitals{}, in Hartree\n         \
             {}: {} orbitals, core energy {}\n{}\
             space    {}\n\
             solve    solver {}, {states}, tolerance {:e} on |Hx - Ex| / |H|, at most {} iterations, seed {}{}\n",
            match (&self.molecule.complex, self.molecule.from_complex) {
                (Some(_), _) => "complex",
                (None, true) => "real (every imaginary part in the file is 0)",
                (None, false) => "real",
            },
            if self.molecule.is_unrestricted() { " of each spin" } else { "" },
            self.file.ci.fcidump.display(),
            integrals.orbitals,
            energy_text(integrals.core, 0.0),
            self.molecule.symmetry.describe().map_or(String::new(), |words| format!("         {words}\n")),
            self.molecule.describe(),
            solve.solver_name(),
            solve.tolerance,
            solve.max_iterations,
            solve.seed,
            if solve.certify { ", multiplets certified" } else { ", multiplets not certified" }
        )
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let (integrals, orbitals) = (&self.molecule.integrals, self.molecule.integrals.orbitals);
        if orbitals > MOST_WRITTEN {
            let terms = 1.5 * (orbitals as f64).powi(4);
            return Err(StageError::NoStage {
                stage: Stage::Ir,
                family: format!("a molecule of {orbitals} orbitals"),
                why: format!(
                    "its operator has some {terms:.0e} terms; it is written for {MOST_WRITTEN} orbitals at most"
                ),
            });
        }
        let (up, down) = integrals.spins();
        let operator = self.molecule.operator().reduced();
        // The operator knows its electrons, but not the selection of determinants.
        let dimension = count(orbitals, up).saturating_mul(count(orbitals, down));
        let sector = Sector::Fermions { up, down };
        Ok(OperatorIr::new("ci", orbitals, sector, dimension, StructureKind::General, &operator))
    }

    /// The space in which it is solved, and the terms.
    fn operator_text(&self) -> Result<String, StageError> {
        Ok(format!("solved in {}\n{}", self.molecule.describe(), self.operator()?))
    }

    fn identity(&self) -> Result<String, StageError> {
        Ok(identity_of(&[&self.describe(), &self.solve().problem.identity()]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        Ok(Box::new(MoleculePlan { molecule: &self.molecule, machine: &self.machine, plan: self.plan()? }))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let Some(multiply) = &self.plan()?.multiply else { return Ok(Vec::new()) };
        let mut files = multiply.generated().map_err(CiError::from)?;
        let solve = self.solve();
        files.extend(solver_programs(solve.problem.dimension(), &solve.rehearsed(multiply))?);
        Ok(files)
    }

    fn block_operations(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let solve = self.solve();
        block_operations(solve.problem.dimension(), solve.scalar)
    }
}

/// Bytes and seconds of both ways, and the choice.
fn ways(molecule: &Molecule, plan: &StoragePlan, machine: &Machine) -> String {
    let (name, source) = match &machine.card {
        Some(card) => (format!("one {}", card.name), card.source),
        None => (machine.processor.name.clone(), machine.processor.source),
    };
    let mut out = format!(
        "{}\npredicted by counts alone with the rates of {name} ({source}), for a solve of {} products; `solve` chooses by the memory \
         and the rates of the device that is there:\n",
        molecule.describe(),
        ci::PRODUCTS
    );
    // Writing to a String cannot fail.
    for way in &plan.ways {
        let _ = writeln!(
            out,
            "  {:<7} {:>10.2} MB  set up {:>8.3} s  product {:>9.4} ms  in all {:>8.3} s  {}",
            way.way.to_string(),
            way.bytes as f64 / 1e6,
            way.set_up,
            1e3 * way.product,
            way.seconds(),
            way.what
        );
    }
    let _ = writeln!(out, "{}", plan.reason);
    out
}
