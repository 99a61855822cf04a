//! `eigenforge bench ci`: sparse matrices of configuration interaction, ours beside cuSPARSE, one table.
//!
//! In: matrices (files, molecules, the paper's two synthetic families; by default all that the repository has), a device. Out: for each the time of a multiply,
//! its multiple of the floor of 12 bytes a non-zero, the quickest other program in the same run, and what eight vectors at
//! once take. Products are compared before a time is printed.

use super::ci_direct;
use super::peers::device_peers;
use super::synthetic::{BenchMatrix, Synthetic};
use eigenforge::input::{MatrixFileError, MatrixSource, read_molecule};
use eigenforge::sparse::{CsrError, FormatRequest, Triangle};
use eigenforge::spmv::{self, FormatRace, SpmvError, SpmvOptions, SpmvReport};
use eigenforge_runtime::Device;
use std::io::Write;
use std::path::Path;

/// Vectors of the second multiply.
const SEVERAL: u32 = 8;
/// Matrices and molecules that the repository has, from its folder on.
const COMMITTED: [&str; 11] = [
    "tests/data/ci_matrices/H2O_sto3g_0.96_det_levfull.npz",
    "tests/data/ci_matrices/H2O_631g_fc_0.96_det_lev2.npz",
    "tests/data/ci_matrices/H2O_631g_fc_0.96_csf_lev2.npz",
    "benches/ci/N2_sto3g_2.0_det_levfull_refirrep.toml",
    "benches/ci/LiH_631g_1.6_det_levfull.toml",
    "benches/ci/OH_631g_fc_0.97_det_lev3.toml",
    "benches/ci/H2O_631g_fc_0.96_det_lev3_refirrep.toml",
    "benches/ci/H2O_631g_fc_0.96_det_lev3.toml",
    "benches/ci/H2O_631Gd_C2v_det_lev2.toml",
    "benches/ci/h2o_q.toml",
    "benches/ci/h2o_gd.toml",
];
/// Rows of the paper's two families.
const FAMILIES: [u32; 2] = [32_768, 1_048_576];

/// Arguments of `bench ci`.
#[derive(Clone, Debug, clap::Args)]
pub struct CiArguments {
    /// Matrices as `spmv` takes them, molecules among them, or synthetic:ROWS:SEED (32768, 1048576 or 10000000 rows); by default one of each synthetic family, and those of benches/ci and
    /// tests/data/ci_matrices where this folder is eigenforge's repository
    pub matrices: Vec<BenchMatrix>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Matrices of each synthetic family, where none are named
    #[arg(long, default_value_t = 1, conflicts_with = "matrices")]
    pub seeds: u64,
    /// The named .npz archives hold the upper triangle
    #[arg(long)]
    pub upper: bool,
    /// Molecules (MODEL.toml) without a matrix: products by every shape of their kernel beside the stored matrix
    #[arg(long, requires = "matrices", conflicts_with_all = ["seeds", "upper", "details"])]
    pub direct: bool,
    /// Print what each matrix is stored as, and why
    #[arg(long)]
    pub details: bool,
    /// Timed samples [default: 21 on a card, 11 on the CPU, 1 with sim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
}

/// The paper's families, and of what the repository has what is here.
fn by_default(seeds: u64) -> Vec<BenchMatrix> {
    let synthetic = FAMILIES.iter().flat_map(|rows| (1..=seeds).map(|seed| (*rows, seed)));
    let synthetic = synthetic.filter_map(|(rows, seed)| Synthetic::of_paper(rows, seed)).map(BenchMatrix::Synthetic);
    let (here, missing): (Vec<&str>, Vec<&str>) = COMMITTED.iter().partition(|file| Path::new(file).is_file());
    if !missing.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "left out, for this folder is not eigenforge's repository: {}",
            missing.join(", ")
        );
    }
    synthetic.chain(here.iter().filter_map(|file| file.parse().ok())).collect()
}

/// Runs it and writes the table.
///
/// # Errors
/// A matrix that cannot be read, a wrong product, a device that fails.
pub fn command(arguments: &CiArguments, out: &mut dyn Write) -> Result<(), CiBenchError> {
    let device = Device::parse(&arguments.device).map_err(SpmvError::from)?;
    device.check_alone("a bench").map_err(SpmvError::from)?;
    if arguments.direct {
        return direct(arguments, &device, out);
    }
    let triangle = if arguments.upper { Triangle::Upper } else { Triangle::Full };
    let sources = if arguments.matrices.is_empty() { by_default(arguments.seeds) } else { arguments.matrices.clone() };
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    let repeats = arguments.repeats.map_or_else(|| spmv::samples(&device), |repeats| repeats as usize);
    let options = |vectors| SpmvOptions {
        wish: FormatRequest { vectors, ..FormatRequest::default() },
        race: FormatRace::Anew,
        repeats,
    };
    let peers = device_peers(&device, ordinal, repeats);
    let (mut one, mut several): (Vec<SpmvReport>, Vec<SpmvReport>) = (Vec::new(), Vec::new());
    for source in &sources {
        let matrix = match source {
            BenchMatrix::Source(source) => source.read(triangle).map_err(SpmvError::from)?,
            BenchMatrix::Synthetic(synthetic) => synthetic.matrix()?,
        };
        let report = spmv::run(&source.to_string(), matrix.clone(), &options(1), &device, Some(&peers))?;
        if arguments.details {
            writeln!(out, "{report}")?;
        }
        one.push(report);
        several.push(spmv::run(&source.to_string(), matrix, &options(SEVERAL), &device, None)?);
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
        let BenchMatrix::Source(MatrixSource::Molecule(file)) = source else {
            return Err(SpmvError::from(MatrixFileError::NoMolecule { file: source.to_string().into() }).into());
        };
        let molecule = read_molecule(file).map_err(SpmvError::from)?;
        ci_direct::run(
            file,
            &molecule,
            device,
            arguments.repeats.map_or_else(|| spmv::samples(device), |repeats| repeats as usize),
            out,
        )?;
    }
    Ok(())
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum CiBenchError {
    /// A matrix or its multiply.
    #[error(transparent)]
    Spmv(#[from] SpmvError),
    /// A synthetic matrix that cannot be made.
    #[error(transparent)]
    Synthetic(#[from] CsrError),
    /// A product without a matrix.
    #[error(transparent)]
    Direct(#[from] ci_direct::DirectBenchError),
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests run in the folder of the repository, or know it by name.
    #[test]
    fn everything_that_the_table_is_made_of_is_committed() {
        let root =
            std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
        for file in COMMITTED {
            assert!(Path::new(&root).join(file).is_file(), "{file}");
            assert!(matches!(file.parse(), Ok(BenchMatrix::Source(_))), "{file}");
        }
    }
}
