//! `eigenforge bench dmrg`: what DMRG's inner loops take, beside the vendor's library in the same run.
//!
//! In: a device. Out: tables that begin with `|`: the belts, inner products of a vector with all vectors of Davidson's
//! space ([`belt`]); with `--projection` H x by operation records ([`projection`]); with `--sweeps` whole sweeps on CPU and
//! card ([`sweeps`]); with `--random-chains` random models beside exact diagonalisation ([`random_chains`], with `--scales`
//! [`scaled_chains`]), with `--hindered-chains` those whose charges hardly move ([`hindered_chains`]); with `--cpu-shares` beside either, at
//! these shares of the CPU ([`cpu_shares`]); with `--growth` chains
//! that grow at a fixed m ([`growth`]).

pub mod belt;
pub mod belts;
pub mod cpu_shares;
pub mod double_double;
pub mod full_block;
pub mod growth;
pub mod hindered_chains;
pub mod levels;
pub mod projection;
pub mod random_chains;
pub mod scaled_chains;
pub mod scales;
pub mod sweeps;

use super::vendor::VendorError;
use belt::{Belt, Shape};
use eigenforge::dmrg::{DmrgError, StartVectors, UpdateChoice};
use eigenforge_runtime::records::CpuShare;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, DeviceError};
use std::io::Write;

/// Arguments of `bench dmrg`. An option that needs another names what that conflicts with: clap does not ask for an option that
/// conflicts with one that is there.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("of_chains").args(["sweeps", "growth"]).multiple(true))]
#[command(group = clap::ArgGroup::new("of_shares").args(["sweeps", "projection"]).multiple(true))]
pub struct DmrgArguments {
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Lengths of the vectors
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["sweeps", "growth", "projection"], default_values_t = [500_000, 1_000_000, 4_000_000])]
    pub lengths: Vec<usize>,
    /// Vectors of a belt
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["sweeps", "growth", "projection"], default_values_t = [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24], value_parser = width)]
    pub widths: Vec<usize>,
    /// Time sweeps on the CPU and the card in place of belts
    #[arg(long)]
    pub sweeps: bool,
    /// Grow chains at a fixed number of states on the card in place of belts
    #[arg(long, conflicts_with = "sweeps")]
    pub growth: bool,
    /// Start each solve of `--growth` from a random vector, as the paper does
    #[arg(long, requires = "growth", conflicts_with_all = ["sweeps", "projection", "lengths", "widths", "repeats", "cpu_shares", "sizes"])]
    pub random: bool,
    /// Chains of `--sweeps` or `--growth` with their states; without, those of docs/performance.md
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["projection", "lengths", "widths", "repeats", "sizes"], requires = "of_chains")]
    pub chains: Vec<sweeps::Case>,
    /// Seconds that each chain of `--sweeps` may take on each device, about
    #[arg(long, default_value_t = 10.0, requires = "sweeps", conflicts_with_all = ["growth", "projection", "lengths", "widths", "repeats", "sizes"])]
    pub seconds: f64,
    /// H x in place of the belts: superblocks of the paper's size, as it has them and planned, by every strategy
    #[arg(long, conflicts_with_all = ["sweeps", "growth"])]
    pub projection: bool,
    /// Shares of the CPU in H x beside the card, 0 to 1 or auto: with --sweeps a row each, with --projection a table in place of
    /// the strategies
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["growth", "lengths", "widths"], requires = "of_shares")]
    pub cpu_shares: Vec<CpuShare>,
    /// Sizes of blocks for products of one size, with --projection
    #[arg(long, value_delimiter = ',', requires = "projection", conflicts_with_all = ["cpu_shares", "sweeps", "growth", "lengths", "widths"], default_values_t = [64, 128, 256, 300, 512, 768, 1024, 1704, 2048])]
    pub sizes: Vec<usize>,
    /// Compare so many random chains and graphs of 4 to 12 sites with exact diagonalisation, in place of timing
    #[arg(long, value_name = "N")]
    pub random_chains: Option<u64>,
    /// Compare so many chains whose charges hardly move with exact diagonalisation, in place of timing
    #[arg(long, value_name = "N", conflicts_with = "random_chains")]
    pub hindered_chains: Option<u64>,
    /// Chains of 3 to 10 sites in `--random-chains` whose terms differ in size by orders (penalties, a large U), beside their levels in
    /// double doubles
    #[arg(long, requires = "random_chains")]
    pub scales: bool,
    /// The eigensolver that takes the place of DMRG in `--scales`
    #[arg(long, requires = "scales", value_parser = solver)]
    pub solver: Option<Solver>,
    /// How many sites a bond's solve of `--random-chains` or `--sweeps` has
    #[arg(long, default_value = "auto", value_parser = update, conflicts_with = "scales")]
    pub update: UpdateChoice,
    /// Of `--random-chains` and `--hindered-chains`
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Timed samples
    #[arg(long, default_value_t = 21, conflicts_with_all = ["sweeps", "growth"], value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
}

/// Most vectors of a product.
const MOST_WIDTH: usize = 64;

/// An eigensolver on the command line.
fn solver(text: &str) -> Result<Solver, String> {
    let words = || Solver::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let found = Solver::WORDS.iter().find(|(word, _)| *word == text).map(|(_, solver)| *solver);
    found.ok_or_else(|| format!("expected one of {}", words()))
}

/// A word of `update` on the command line.
fn update(text: &str) -> Result<UpdateChoice, String> {
    let words = || UpdateChoice::ALL.map(UpdateChoice::name).join(", ");
    UpdateChoice::ALL
        .into_iter()
        .find(|choice| choice.name() == text)
        .ok_or_else(|| format!("expected one of {}", words()))
}

/// A width on the command line.
fn width(text: &str) -> Result<usize, String> {
    let most = MOST_WIDTH;
    match text.parse() {
        Ok(width) if (1..=most).contains(&width) => Ok(width),
        _ => Err(format!("expected a number of vectors from 1 to {most}")),
    }
}

/// Chains at the paper's m of lengths that the paper does not give: 9 steps of full size and 18.
const PAPER: [&str; 2] = ["heisenberg:40:4096", "hubbard:46:4096"];

/// What was asked for, or the default.
fn chains(asked: &[sweeps::Case], default: &[&str]) -> Vec<sweeps::Case> {
    match asked {
        [] => default.iter().filter_map(|text| text.parse().ok()).collect(),
        asked => asked.to_vec(),
    }
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum DmrgBenchError {
    /// Ours.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The vendor's.
    #[error(transparent)]
    Vendor(#[from] VendorError),
    /// Sums that differ.
    #[error(
        "{width} inner products of {length} elements: number {number} is {found:e} by cuBLAS and {expected:e} by ours; no \
         time is reported for a wrong sum"
    )]
    Disagree {
        /// Vectors.
        width: usize,
        /// Their length.
        length: usize,
        /// Which product.
        number: usize,
        /// The vendor's.
        found: f64,
        /// Ours.
        expected: f64,
    },
    /// A chain.
    #[error(transparent)]
    Dmrg(#[from] DmrgError),
    /// Products that differ.
    #[error(
        "{case}: element {element} is {found:e} by cuBLAS ({strategy}) and {expected:e} by ours; no time is reported for a \
         wrong product"
    )]
    Differs {
        /// Which list of records.
        case: String,
        /// The vendor's way.
        strategy: &'static str,
        /// Which element.
        element: usize,
        /// The vendor's.
        found: f64,
        /// Ours.
        expected: f64,
    },
    /// A random chain that could not be compared, or came out wrong.
    #[error("random chains: {0}")]
    RandomChain(String),
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// Runs it and writes the tables.
///
/// # Errors
/// A device that fails, sums that disagree.
pub fn command(arguments: &DmrgArguments, out: &mut dyn Write) -> Result<(), DmrgBenchError> {
    let device = Device::parse(&arguments.device)?;
    device.check_alone("a bench")?;
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    writeln!(out, "{}", device.name())?;
    if let Some(count) = arguments.random_chains {
        return match arguments.scales {
            true => scaled_chains::command(count, arguments.seed, arguments.solver, out),
            false => random_chains::command(count, arguments.seed, arguments.update, out),
        };
    }
    if let Some(count) = arguments.hindered_chains {
        return hindered_chains::command(count, arguments.seed, out);
    }
    if arguments.sweeps {
        let chains = chains(&arguments.chains, &["heisenberg:100:128", "heisenberg:100:512", "hubbard:40:256"]);
        return sweeps::command(&chains, &arguments.cpu_shares, (arguments.update, arguments.seconds), &device, out);
    }
    if arguments.growth {
        let start = if arguments.random { StartVectors::Random } else { StartVectors::Carried };
        return growth::command(&chains(&arguments.chains, &PAPER), start, &device, out);
    }
    if arguments.projection && !arguments.cpu_shares.is_empty() {
        return cpu_shares::tables(&arguments.cpu_shares, &device, arguments.repeats as usize, out);
    }
    if arguments.projection {
        return projection::tables(&arguments.sizes, &device, ordinal, arguments.repeats as usize, out);
    }
    writeln!(
        out,
        "| V^T w, vectors | length | ms | TB/s | cuBLAS dgemv, ms | TB/s | faster |\n|---|---|---|---|---|---|---|"
    )?;
    for &length in &arguments.lengths {
        for &width in &arguments.widths {
            let belt = Belt::time(Shape { length, width }, &device, ordinal, arguments.repeats as usize)?;
            writeln!(out, "{belt}")?;
        }
    }
    Ok(())
}
