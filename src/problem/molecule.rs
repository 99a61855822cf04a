//! Configuration interaction: integrals, determinants, and the multiply planned for a machine.

use super::plan::identity_of;
use super::{PlanDetails, PlannedChoice, PlannedWay, Problem};
use crate::basis::{Sector, count};
use crate::ci::{
    self, CiError, CiSolve, DirectError, DirectFullCi, Estimate, Molecule, MoleculeError, OnTheFly, OnTheFlyError,
    ProductKind, StoragePlan, StoredMatrix, electrons,
};
use crate::exact::Received;
use crate::input::CiFile;
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError, StructureKind, solver_programs};
use crate::report::energy_text;
use crate::sparse::{Candidate, Format, Halo, RowStatistics, SparseError, Target, memory_table};
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::machine::Machine;
use eigenforge_templates::ci::{FullCiProduct, RowsPlan};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{ElementFunctionText, LaunchError, ScalarType};
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
    /// The plan and the product for that machine, computed on demand because a stored matrix takes time.
    product: OnceCell<(StoragePlan, Product)>,
}

/// How H is multiplied.
enum Product {
    /// Full CI, straight from the integrals.
    FullCi(FullCiProduct, ElementFunctionText),
    /// Rows recomputed in each product.
    Rows(Box<RowsPlan>),
    /// A stored matrix.
    Matrix(Box<StoredMatrix>),
    /// No generated kernel: the machine has no card.
    Host,
}

impl MoleculeProblem {
    /// Reads the integrals, and lists the determinants.
    ///
    /// # Errors
    /// A file is refused; orbitals, electrons or irreps that do not exist.
    pub fn read(file: CiFile) -> Result<MoleculeProblem, MoleculeError> {
        let molecule = Molecule::read(&file.ci)?;
        Ok(MoleculeProblem { file, molecule, machine: Machine::h200(), product: OnceCell::new() })
    }

    /// The same with no more states asked for than the space has.
    pub(super) fn at_most_all(mut self) -> MoleculeProblem {
        let all = usize::try_from(self.molecule.space.len()).unwrap_or(usize::MAX);
        self.file.solve.states = self.file.solve.states.min(all);
        self
    }

    /// This problem planned for another machine than an H200.
    pub fn planned_for(self, machine: Machine) -> MoleculeProblem {
        MoleculeProblem { machine, product: OnceCell::new(), ..self }
    }

    /// The solve that the file asks for.
    pub fn solve(&self) -> CiSolve<'_> {
        let spec = &self.file.solve;
        let solver = spec.solver.unwrap_or_else(|| CiSolve::choose(&self.molecule.space));
        CiSolve::new(&self.molecule.integrals, &self.molecule.space)
            .solver(solver)
            .storage(self.file.ci.storage)
            .format(self.file.ci.format)
            .options(spec.options())
    }

    /// How several cards would get x in a multiply; `None` on the CPU, and for a stored matrix that is too small to be divided.
    ///
    /// # Errors
    /// The plan cannot be made.
    pub fn sharing(&self, cards: usize) -> Result<Option<String>, StageError> {
        let cards = cards.try_into().unwrap_or(u32::MAX);
        let vector = self.molecule.space.len().saturating_mul(size_of::<f64>() as u64);
        Ok(match &self.product()?.1 {
            Product::Matrix(stored) => {
                let blocks = stored.choice.best().layout.block_start(&stored.matrix);
                Halo::new(&stored.matrix, &blocks, cards, ScalarType::F64).map(|halo| halo.describe())
            }
            Product::FullCi(..) | Product::Rows(_) => Some(Received::copies(cards, vector).describe()),
            Product::Host => None,
        })
    }

    /// The plan and the product, made on first use.
    fn product(&self) -> Result<&(StoragePlan, Product), CiError> {
        if let Some(made) = self.product.get() {
            return Ok(made);
        }
        let plan = self.solve().storage_plan_on(&self.machine)?;
        let (integrals, space) = (&self.molecule.integrals, &self.molecule.space);
        let card = self.machine.card.as_ref().map(|card| card.values);
        let product = match (plan.way, card) {
            (_, None) => Product::Host,
            (ProductKind::Direct, Some(card)) if space.is_complete() => {
                let (plan, diagonal) = DirectFullCi::plan(integrals, space, Target::all_of(card))?;
                Product::FullCi(plan, diagonal)
            }
            (ProductKind::Direct, Some(card)) => {
                Product::Rows(Box::new(OnTheFly::plan(integrals, space, Target::all_of(card))?))
            }
            (ProductKind::Stored, Some(card)) => Product::Matrix(Box::new(self.solve().stored_matrix_on(card)?)),
        };
        Ok(self.product.get_or_init(|| (plan, product)))
    }
}

impl Product {
    /// The product's texts, with their launches and costs.
    fn files(&self) -> Result<Vec<GeneratedFile>, CiError> {
        let refused = |error: LaunchError| DeviceError::from(error);
        Ok(match self {
            Product::FullCi(plan, _) => {
                let launches = plan.launches().map_err(refused)?;
                vec![GeneratedFile::new(plan.text().map_err(DirectError::from)?, launches, Some(plan.cost()))]
            }
            Product::Rows(plan) => {
                let mut launches = plan.launches().map_err(refused)?;
                launches.extend(plan.set_up_launches().map_err(refused)?);
                vec![GeneratedFile::new(plan.text().map_err(OnTheFlyError::from)?, launches, None)]
            }
            Product::Matrix(stored) => {
                let file = |plan: &SparsePlan| -> Result<GeneratedFile, CiError> {
                    let text = plan.text().map_err(SparseError::from)?;
                    Ok(GeneratedFile::new(text, plan.launches().map_err(refused)?, Some(plan.cost())))
                };
                stored.plans.iter().map(file).collect::<Result<_, _>>()?
            }
            Product::Host => Vec::new(),
        })
    }
}

/// The ways of multiplying, and the one that is planned.
struct MoleculePlan<'p> {
    molecule: &'p Molecule,
    machine: &'p Machine,
    storage: &'p StoragePlan,
    product: &'p Product,
}

impl PlanDetails for MoleculePlan<'_> {
    fn memory(&self) -> Vec<(String, u64)> {
        match self.product {
            Product::FullCi(kernel, _) => vec![("tables of strings and integrals".into(), kernel.table_bytes())],
            Product::Rows(kernel) => vec![("tables of strings and integrals".into(), kernel.table_bytes())],
            Product::Matrix(stored) => vec![("the stored matrix".into(), stored.plans[0].matrix_bytes())],
            Product::Host => Vec::new(),
        }
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        let way =
            |way: &Estimate| PlannedWay { name: way.way.to_string(), bytes: Some(way.bytes), seconds: way.seconds() };
        let storage = PlannedChoice {
            of: "how H is multiplied".into(),
            ways: self.storage.ways.iter().map(way).collect(),
            chosen: Some(self.storage.way.to_string()),
            why: self.storage.reason.clone(),
        };
        let format = |stored: &StoredMatrix| PlannedChoice {
            of: "format of the matrix".into(),
            ways: stored.choice.candidates.iter().map(way_of_format).collect(),
            chosen: Some(stored.choice.best().format.to_string()),
            why: stored.choice.reason.clone(),
        };
        let of_matrix = if let Product::Matrix(stored) = self.product { Some(format(stored)) } else { None };
        [storage].into_iter().chain(of_matrix).collect()
    }

    fn cost_text(&self) -> String {
        let mut out = ways(self.molecule, self.storage, self.machine);
        // Writing to a String cannot fail.
        let _ = match self.product {
            Product::FullCi(kernel, _) => {
                let bytes = kernel.table_bytes() as f64 / 1e6;
                writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}")
            }
            Product::Rows(kernel) => {
                let bytes = kernel.table_bytes() as f64 / 1e6;
                let _ = writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}");
                writeln!(out, "one product: at most {:.3e} elements, computed in each product", kernel.elements as f64)
            }
            Product::Matrix(stored) => {
                out += &of_matrix(stored);
                Ok(())
            }
            Product::Host => Ok(()),
        };
        out
    }
}

/// A format with its modelled time of one product.
fn way_of_format(candidate: &Candidate) -> PlannedWay {
    let seconds = 1e-3 * candidate.milliseconds;
    PlannedWay { name: candidate.format.to_string(), bytes: Some(candidate.bytes), seconds }
}

impl Problem for MoleculeProblem {
    fn describe(&self) -> String {
        let (solve, integrals) = (&self.file.solve, &self.molecule.integrals);
        let states = if solve.states == 1 { "1 state".into() } else { format!("{} states", solve.states) };
        format!(
            "model    H = E_core + sum h_pq a+_p a_q + 1/2 sum (pq|rs) a+_p a+_r a_s a_q, real orbitals, in Hartree\n         \
             {}: {} orbitals, core energy {}\n{}\
             space    {}\n\
             solve    solver {}, {states}, tolerance {:e} on |Hx - Ex| / |H|, at most {} iterations, seed {}{}\n",
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
        let operator = electrons(integrals).reduced();
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
        Ok(identity_of(&[&self.describe(), &self.solve().identity()]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let (storage, product) = self.product()?;
        Ok(Box::new(MoleculePlan { molecule: &self.molecule, machine: &self.machine, storage, product }))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let product = &self.product()?.1;
        let mut files = product.files()?;
        if matches!(product, Product::Host) {
            return Ok(files);
        }
        let rows = self.molecule.space.len();
        files.iter_mut().skip(1).for_each(|file| file.when = "for blocks of vectors");
        let diagonal = match product {
            Product::FullCi(_, diagonal) => diagonal.clone(),
            _ => ElementFunctionText::stored_diagonal(rows),
        };
        let programs = self.solve().rehearsed(diagonal);
        files.extend(solver_programs(rows, &programs)?);
        Ok(files)
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

/// Non-zeros, bytes of each format, and the choice.
fn of_matrix(StoredMatrix { matrix, choice, plans }: &StoredMatrix) -> String {
    let plan = &plans[0];
    let statistics = RowStatistics::new(matrix);
    let boundary = if let Format::Hybrid { boundary } = choice.best().format { boundary } else { statistics.shortest };
    let mut out = String::new();
    let (shortest, longest) = (statistics.shortest, statistics.longest);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} non-zeros, {shortest} to {longest} a row", matrix.non_zeros());
    for line in memory_table(matrix, &statistics, boundary) {
        let _ = writeln!(out, "  {:<28} {:>12.2} MB", line.format, line.bytes as f64 / 1e6);
    }
    let _ = writeln!(out, "  {:<28} {:>12.2} MB: {plan}", "as stored", plan.matrix_bytes() as f64 / 1e6);
    let _ = writeln!(out, "{}", choice.reason);
    out
}
