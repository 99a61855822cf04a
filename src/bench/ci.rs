//! `eigenforge bench ci`: sparse matrices of configuration interaction, ours beside cuSPARSE, one table.
//!
//! In: matrices (files, molecules, or the paper's two synthetic families), a device. Out: for each the time of a multiply,
//! its multiple of the floor of 12 bytes a non-zero, the quickest other program in the same run, and what eight vectors at
//! once take. Products are compared before a time is printed.

use super::ci_direct;
use super::spmv::{self, MatrixSource, SpmvError, SpmvOptions, SpmvReport};
use crate::sparse::{Synthetic, Triangle, Wish};
use eigenforge_runtime::Device;
use std::io::Write;

/// Vectors of the second multiply.
const SEVERAL: u32 = 8;
/// Rows of the paper's two families.
const FAMILIES: [u32; 2] = [32_768, 1_048_576];

/// Arguments of `bench ci`.
#[derive(Clone, Debug, clap::Args)]
pub struct CiArguments {
    /// Matrices as `spmv` takes them, molecules among them; by default one of each synthetic family
    pub matrices: Vec<MatrixSource>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Matrices of each synthetic family, where none are named
    #[arg(long, default_value_t = 1)]
    pub seeds: u64,
    /// Archives hold the upper triangle
    #[arg(long)]
    pub upper: bool,
    /// Molecules (MODEL.toml) without a matrix: products by every shape of their kernel beside the stored matrix
    #[arg(long, requires = "matrices", conflicts_with_all = ["seeds", "upper", "details"])]
    pub direct: bool,
    /// Print what each matrix is stored as, and why
    #[arg(long)]
    pub details: bool,
    /// Timed samples
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
}

/// Runs it and writes the table.
///
/// # Errors
/// A matrix that cannot be read, a wrong product, a device that fails.
pub fn command(arguments: &CiArguments, out: &mut dyn Write) -> Result<(), CiBenchError> {
    let device = Device::parse(&arguments.device).map_err(SpmvError::from)?;
    if arguments.direct {
        return direct(arguments, &device, out);
    }
    let triangle = if arguments.upper { Triangle::Upper } else { Triangle::Full };
    let synthetic = FAMILIES.iter().flat_map(|rows| (1..=arguments.seeds).map(|seed| (*rows, seed)));
    let synthetic = synthetic.filter_map(|(rows, seed)| Synthetic::of_paper(rows, seed)).map(MatrixSource::Synthetic);
    let sources = if arguments.matrices.is_empty() { synthetic.collect() } else { arguments.matrices.clone() };
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    let options = |vectors, compare| SpmvOptions {
        wish: Wish { vectors, ..Wish::default() },
        compare,
        race: true,
        repeats: arguments.repeats as usize,
        ordinal,
    };
    let (mut one, mut several): (Vec<SpmvReport>, Vec<SpmvReport>) = (Vec::new(), Vec::new());
    for source in &sources {
        let matrix = source.read(triangle)?;
        let report = spmv::run(&source.to_string(), matrix.clone(), &options(1, true), &device)?;
        if arguments.details {
            writeln!(out, "{report}")?;
        }
        one.push(report);
        several.push(spmv::run(&source.to_string(), matrix, &options(SEVERAL, false), &device)?);
    }
    writeln!(out, "{}", device.name())?;
    write!(out, "{}", spmv::table(&one))?;
    writeln!(out, "\n| {SEVERAL} vectors at once | ms | times of one | a vector, times faster |\n|---|---|---|---|")?;
    for (one, several) in one.iter().zip(&several) {
        let times = several.milliseconds / one.milliseconds;
        let faster = f64::from(SEVERAL) / times;
        writeln!(out, "| {} | {:.4} | {times:.2} x | {faster:.2} x |", one.matrix, several.milliseconds)?;
    }
    Ok(())
}

/// The tables of [`ci_direct`], one per molecule.
fn direct(arguments: &CiArguments, device: &Device, out: &mut dyn Write) -> Result<(), CiBenchError> {
    for source in &arguments.matrices {
        let MatrixSource::Molecule(file) = source else {
            return Err(SpmvError::NoMolecule { file: source.to_string().into() }.into());
        };
        let molecule = spmv::read_molecule(file)?;
        ci_direct::run(file, &molecule, device, arguments.repeats as usize, out)?;
    }
    Ok(())
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum CiBenchError {
    /// A matrix or its multiply.
    #[error(transparent)]
    Spmv(#[from] SpmvError),
    /// A product without a matrix.
    #[error(transparent)]
    Direct(#[from] ci_direct::DirectBenchError),
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}
