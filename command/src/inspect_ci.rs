//! `eigenforge inspect MOLECULE.toml`, for a file with `[ci]`: what would multiply on a card of an H200's shape, in numbers, and
//! its generated files: the stored matrix or the product straight from the integrals, and the solvers' vector programs.

use super::arguments::StageName;
use super::ci::solve_of;
use super::error::CommandError;
use super::generated::{self, Generated};
use eigenforge::ci::{
    self, CiError, DirectError, DirectFullCi, Molecule, OnTheFly, OnTheFlyError, StoragePlan, StoredMatrix, Way,
};
use eigenforge::input::{CiFile, InputFile};
use eigenforge::sparse::{Format, RowStatistics, SparseError, Target, memory_table};
use eigenforge_runtime::{DeviceError, solvers};
use eigenforge_templates::ci::{FullCiPlan, RowsPlan};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{ElementFunctionText, LaunchError, ScalarType};
use std::fmt::Write;

/// The stages plan and cost as text.
pub(super) fn text(file: &CiFile, stage: StageName, kernel: Option<&str>) -> Result<String, CommandError> {
    if stage == StageName::Plan {
        let files = generated::of(&InputFile::Ci(Box::new(file.clone())), kernel)?;
        return Ok(files.iter().map(|(text, _)| format!("{}\n", text.plan)).collect());
    }
    let molecule = Molecule::read(&file.ci)?;
    let plan = storage_plan(file, &molecule)?;
    let mut out = ways(&molecule, &plan);
    // Writing to a String cannot fail.
    let _ = match Product::of(file, &molecule, &plan)? {
        Product::FullCi(kernel) => {
            let (cost, bytes) = (kernel.cost(), kernel.table_bytes() as f64 / 1e6);
            let _ = writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}");
            writeln!(out, "one product: {:.3e} flop, {:.3e} bytes", cost.flops, cost.bytes)
        }
        Product::Rows(kernel) => {
            let bytes = kernel.table_bytes() as f64 / 1e6;
            let _ = writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}");
            writeln!(out, "one product: at most {:.3e} elements, made anew", kernel.elements as f64)
        }
        Product::Matrix(stored) => {
            out += &of_matrix(&stored);
            Ok(())
        }
    };
    Ok(out)
}

/// The product's text and the solvers' vector programs, each with its launches.
pub(super) fn generated(file: &CiFile) -> Result<Vec<Generated>, CommandError> {
    let molecule = Molecule::read(&file.ci)?;
    let product = Product::of(file, &molecule, &storage_plan(file, &molecule)?)?;
    let refused = |error: LaunchError| DeviceError::from(error);
    let mut files: Vec<Generated> = match product {
        Product::FullCi(plan) => {
            let mut launches = plan.launches().map_err(refused)?;
            launches.push(plan.diagonal_launch().map_err(refused)?);
            vec![(plan.text().map_err(|error| CiError::from(DirectError::from(error)))?, launches)]
        }
        Product::Rows(plan) => {
            let mut launches = plan.launches().map_err(refused)?;
            launches.extend(plan.set_up_launches().map_err(refused)?);
            vec![(plan.text().map_err(|error| CiError::from(OnTheFlyError::from(error)))?, launches)]
        }
        Product::Matrix(stored) => {
            let file = |plan: &SparsePlan| -> Result<Generated, CommandError> {
                let text = plan.text().map_err(|error| CiError::from(SparseError::from(error)))?;
                Ok((text, plan.launches().map_err(refused)?))
            };
            stored.plans.iter().map(file).collect::<Result<_, _>>()?
        }
    };
    let rows = molecule.space.len();
    let diagonal = [ElementFunctionText::stored_diagonal(rows)];
    for program in solvers::vector_programs() {
        let functions = if program.functions.is_empty() { &[][..] } else { &diagonal };
        let launch = program.launch(usize::try_from(rows).unwrap_or(usize::MAX), ScalarType::F64, functions);
        let text = program.text(ScalarType::F64, functions).map_err(|error| CiError::from(SparseError::from(error)))?;
        files.push((text, vec![launch.map_err(refused)?]));
    }
    Ok(files)
}

fn storage_plan(file: &CiFile, molecule: &Molecule) -> Result<StoragePlan, CommandError> {
    Ok(solve_of(file, molecule).storage_plan_of_h200().map_err(CiError::from)?)
}

/// What multiplies.
enum Product {
    /// Full CI, straight from the integrals.
    FullCi(Box<FullCiPlan>),
    /// Rows made anew in each product.
    Rows(Box<RowsPlan>),
    /// A stored matrix.
    Matrix(Box<StoredMatrix>),
}

impl Product {
    fn of(file: &CiFile, molecule: &Molecule, plan: &StoragePlan) -> Result<Product, CommandError> {
        let (integrals, space) = (&molecule.integrals, &molecule.space);
        Ok(match plan.way {
            Way::Direct if space.is_complete() => {
                let plan = DirectFullCi::plan(integrals, space, Target::H200).map_err(CiError::from)?;
                Product::FullCi(Box::new(plan))
            }
            Way::Direct => {
                let plan = OnTheFly::plan(integrals, space, Target::H200).map_err(CiError::from)?;
                Product::Rows(Box::new(plan))
            }
            Way::Stored => Product::Matrix(Box::new(solve_of(file, molecule).stored_matrix_of_h200()?)),
        })
    }
}

/// Both ways' bytes and seconds, and which was chosen.
fn ways(molecule: &Molecule, plan: &StoragePlan) -> String {
    let mut out = format!(
        "{}\npredicted by counts alone with the rates of one NVIDIA H200, for a solve of {} products; another card has other \
         rates, and `solve` chooses by the memory and the shape of the card that is there:\n",
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

/// Non-zeros, bytes of each format, and what was chosen.
fn of_matrix(StoredMatrix { matrix, choice, plans }: &StoredMatrix) -> String {
    let plan = &plans[0];
    let statistics = RowStatistics::of(matrix);
    let boundary = if let Format::Hybrid { boundary } = choice.best().format { boundary } else { statistics.shortest };
    let mut out = String::new();
    let (shortest, longest) = (statistics.shortest, statistics.longest);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} non-zeros, {shortest} to {longest} a row", matrix.non_zeros());
    for line in memory_table(matrix, &statistics, boundary) {
        let _ = writeln!(out, "  {:<28} {:>12.2} MB", line.format, line.bytes as f64 / 1e6);
    }
    let (bytes, cost) = (plan.matrix_bytes() as f64 / 1e6, plan.cost());
    let _ = writeln!(out, "  {:<28} {bytes:>12.2} MB: {plan}", "as stored");
    let _ = writeln!(out, "one multiply: {:.3e} flop, {:.3e} bytes", cost.flops, cost.bytes);
    let _ = writeln!(out, "{}", choice.reason);
    out
}
