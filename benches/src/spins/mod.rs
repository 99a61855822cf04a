//! `eigenforge bench spins`: y = H x of Hamiltonians beyond the Hubbard model, beside the stored matrix.
//!
//! In: a device. Out: for each Hamiltonian the time of a multiply with x·y, its multiple of the floor of five passes over a vector at
//! the speed of copies in the same run, and the quickest product with the stored matrix (cuSPARSE on a card, a plain loop on
//! the CPU) where it fits. Every product is compared before its time is printed: with the stored matrix, or with the CPU's
//! multiply by blocks.

mod cases;
mod vectors;

use super::peers::device_peers;
use super::report::{MULTIPLY_PASSES, pass_milliseconds};
use super::{Fingerprint, median, seeded};
use cases::{Case, cases};
use eigenforge::exact::{Model, Moves, MultiplyPlan, PrepareError};
use eigenforge::operator::OperatorError;
use eigenforge::sparse::{Csr, CsrError};
use eigenforge::words::grouped;
use eigenforge_runtime::timing::{copy_bandwidth, least_milliseconds};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector};
use eigenforge_templates::ScalarType;
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
pub use vectors::VectorsTime;

/// Most elements of a matrix that is stored beside: cuSPARSE's indices have 32 bits.
const LARGEST_STORED: u64 = 800_000_000;
/// Most states whose product is compared with the CPU's.
const LARGEST_COMPARED: u64 = 700_000_000;
/// Largest difference of two products, relative to ‖x‖ ‖Hx‖.
const TOLERANCE: f64 = 1e-11;
/// Multiplies before the timed ones.
const WARM: usize = 3;

/// Arguments of `bench spins`.
#[derive(Clone, Debug, clap::Args)]
pub struct SpinsArguments {
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Only Hamiltonians whose names contain this
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// The smaller size of each Hamiltonian, which the CPU takes anyway
    #[arg(long)]
    pub small: bool,
    /// Without the stored matrix
    #[arg(long)]
    pub no_stored: bool,
    /// Also time every shape of the kernels
    #[arg(long)]
    pub shapes: bool,
    /// Also time a block of K vectors, several at once beside a launch for each
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=8))]
    pub vectors: Option<u32>,
    /// Timed samples
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum SpinsBenchError {
    /// A model that cannot be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A multiply that cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The stored matrix.
    #[error(transparent)]
    Csr(#[from] CsrError),
    /// Two products differ.
    #[error(
        "{case}: the product differs from that of {other} by {difference:.1e} of |x| |Hx|, expected {TOLERANCE:.0e} at most"
    )]
    Differs {
        /// The Hamiltonian.
        case: String,
        /// The other program.
        other: String,
        /// The difference.
        difference: f64,
    },
    /// No Hamiltonian has that name.
    #[error("--only {name}: no Hamiltonian's name contains that; there are {names}")]
    NoCase {
        /// What was asked for.
        name: String,
        /// All names.
        names: String,
    },
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// One Hamiltonian.
#[derive(Clone, Debug, Serialize)]
pub struct SpinsTime {
    /// Its name.
    pub case: String,
    /// States of the sector; a complex vector has twice as many numbers.
    pub states: u64,
    /// Median of a multiply with x·y.
    pub milliseconds: f64,
    /// Five passes over a vector, or the least time in which the device returns a number.
    pub floor_milliseconds: f64,
    /// The quickest product with the stored matrix, and its name.
    pub stored: Option<(String, f64)>,
    /// The shape of the kernels.
    pub shape: String,
    /// All shapes that were timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<(String, f64)>,
    /// The times of a block of vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorsTime>,
    /// What the product was compared with.
    pub compared_with: String,
}

/// Runs it and writes the table.
///
/// # Errors
/// A name that no Hamiltonian has, a wrong product, a device that fails. A Hamiltonian that does not fit is left out with the reason.
pub fn command(arguments: &SpinsArguments, out: &mut dyn Write) -> Result<(), SpinsBenchError> {
    let device = Device::parse(&arguments.device)?;
    device.check_alone("a bench")?;
    let wanted = |case: &Case| arguments.only.as_ref().is_none_or(|name| case.name.contains(name.as_str()));
    let chosen: Vec<Case> = cases().filter(wanted).collect();
    if chosen.is_empty() {
        let names = cases().map(|case| case.name).collect::<Vec<_>>().join(", ");
        return Err(SpinsBenchError::NoCase { name: arguments.only.clone().unwrap_or_default(), names });
    }
    let (copy, least) = (copy_bandwidth(&device, 0)?, least_milliseconds(&device)?);
    let mut times = Vec::new();
    if !arguments.json {
        writeln!(out, "{}; copies {copy:.0} GB/s; floor: 5 passes over a vector", device.name())?;
        writeln!(out, "| Hamiltonian | states | ms | of the floor | stored matrix, ms | faster by | shape |")?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
    }
    for case in &chosen {
        let found = match one(case, &device, arguments, (copy, least)) {
            Err(SpinsBenchError::Device(error @ DeviceError::Memory { .. })) => {
                writeln!(std::io::stderr(), "left out: {}: {error}", case.name)?;
                continue;
            }
            found => found?,
        };
        if !arguments.json {
            row(&found, out)?;
        }
        times.push(found);
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&times).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn row(time: &SpinsTime, out: &mut dyn Write) -> std::io::Result<()> {
    let (stored, faster) = time.stored.as_ref().map_or_else(Default::default, |(name, milliseconds)| {
        (format!("{milliseconds:.3} ({name})"), format!("{:.1} x", milliseconds / time.milliseconds))
    });
    writeln!(
        out,
        "| {} | {} | {:.3} | {:.2} | {stored} | {faster} | {} |",
        time.case,
        grouped(u128::from(time.states)),
        time.milliseconds,
        time.milliseconds / time.floor_milliseconds,
        time.shape
    )?;
    if let Some(vectors) = &time.vectors {
        writeln!(out, "  {vectors}")?;
    }
    for (shape, milliseconds) in &time.shapes {
        writeln!(out, "  {milliseconds:9.4} ms  {shape}")?;
    }
    out.flush()
}

fn one(
    case: &Case,
    device: &Device,
    arguments: &SpinsArguments,
    (copy, least): (f64, f64),
) -> Result<SpinsTime, SpinsBenchError> {
    let model = case.file(device.is_cuda() && !arguments.small).to_model()?;
    let model = model.working();
    let n = usize::try_from(model.dimension()).unwrap_or(usize::MAX);
    device.check_memory("x, y and the tables of a multiply", 16 * n as u64 + model.table_bytes())?;
    let prepared = model.multiply(ScalarType::F64)?;
    let (ours, milliseconds) = timed(model, prepared.clone(), device, arguments.repeats)?;
    let mut shapes = Vec::new();
    if arguments.shapes && device.runs_kernels() {
        for candidate in prepared.candidates() {
            let shape = candidate.shape();
            match timed(model, candidate, device, arguments.repeats) {
                Ok((found, milliseconds)) => {
                    agree(case, &shape, &ours, &found)?;
                    shapes.push((shape, milliseconds));
                }
                // More shared memory than this card has, or more registers.
                Err(SpinsBenchError::Prepare(PrepareError::Device(DeviceError::Launch(_)))) => {}
                Err(other) => return Err(other),
            }
        }
        shapes.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    let block = |vectors| vectors::timed((case, model, &prepared), device, vectors, arguments.repeats);
    let vectors = arguments.vectors.map(block).transpose()?;
    let x = seeded::vector(n, seeded::SEED_X);
    let mut compared_with = "nothing".to_string();
    let mut stored = None;
    if !arguments.no_stored
        && let Some(matrix) = stored_matrix(model)?
    {
        let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
        for peer in device_peers(device, ordinal, arguments.repeats as usize)(&matrix, &x) {
            let Ok(milliseconds) = peer.outcome else { continue };
            agree(case, &peer.name, &ours, &Fingerprint::new(&x, &peer.y))?;
            compared_with = "the stored matrix".into();
            if stored.as_ref().is_none_or(|(_, best)| milliseconds < *best) {
                stored = Some((peer.name, milliseconds));
            }
        }
    }
    if stored.is_none() && device.is_cuda() && model.dimension() <= LARGEST_COMPARED {
        let (theirs, _) = timed(model, model.multiply(ScalarType::F64)?, &Device::cpu(), 1)?;
        agree(case, "the CPU", &ours, &theirs)?;
        compared_with = "the CPU's multiply".into();
    }
    Ok(SpinsTime {
        case: case.name.into(),
        states: model.states(),
        milliseconds,
        floor_milliseconds: (MULTIPLY_PASSES * pass_milliseconds(n, copy)).max(least),
        stored,
        shape: if device.runs_kernels() { prepared.shape() } else { "blocks of the CPU".into() },
        shapes,
        vectors,
        compared_with,
    })
}

fn agree(case: &Case, other: &str, ours: &Fingerprint, theirs: &Fingerprint) -> Result<(), SpinsBenchError> {
    let difference = ours.difference(theirs);
    if difference <= TOLERANCE {
        return Ok(());
    }
    Err(SpinsBenchError::Differs { case: case.name.into(), other: other.into(), difference })
}

/// The product's numbers, and the median time of a multiply with x·y.
fn timed(
    model: &Model,
    prepared: MultiplyPlan,
    device: &Device,
    repeats: u32,
) -> Result<(Fingerprint, f64), SpinsBenchError> {
    let hamiltonian = model.hamiltonian(prepared, device)?;
    let host = seeded::vector(LinearOperator::<f64>::dimension(&hamiltonian), seeded::SEED_X);
    let (x, mut y): (Vector<f64>, Vector<f64>) = (device.upload(&host)?, device.zeros(host.len())?);
    let mut times = Vec::new();
    let warm = if repeats == 1 { 0 } else { WARM };
    for _ in 0..warm + repeats as usize {
        let (product, milliseconds) = device.time(|| hamiltonian.apply(&x, &mut y))?;
        product?;
        times.push(milliseconds);
    }
    Ok((Fingerprint::new(&host, &y.download()?), median(&times[warm..])))
}

/// All of H, row by row from its terms; `None` where that is too large, or H is a Kronecker sum.
fn stored_matrix(model: &Model) -> Result<Option<Csr>, SpinsBenchError> {
    let Moves::General(groups) = &model.structure().moves else { return Ok(None) };
    let n = model.dimension();
    if n > LARGEST_STORED / 4 {
        return Ok(None);
    }
    let tables = model.basis().lin_tables()?;
    let (diagonal, constant) = (&model.structure().diagonal, model.constant());
    let row = |row: u64| -> Vec<(u32, f64)> {
        let state = tables.state(row);
        let mut elements = vec![(row as u32, diagonal.of_state(state) + constant)];
        for group in groups {
            let acts = group.terms.iter().filter(|term| state & term.care == term.pattern);
            let sign = |sign: u64| if (state & sign).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
            let amplitude: f64 = acts.map(|term| sign(term.sign) * term.amplitude).sum();
            if amplitude != 0.0
                && let Some(column) = tables.checked_index(state ^ group.flip)
            {
                elements.push((column as u32, amplitude));
            }
        }
        elements.sort_unstable_by_key(|(column, _)| *column);
        elements
    };
    let sample: usize = (0..64).map(|k| row(k * (n - 1) / 64).len()).max().unwrap_or(1);
    if n * sample as u64 > LARGEST_STORED {
        return Ok(None);
    }
    let (mut start, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    // Some rows at a time, so that they are not all there twice.
    const PIECE: u64 = 1 << 20;
    for first in (0..n).step_by(PIECE as usize) {
        let rows: Vec<Vec<(u32, f64)>> = (first..(first + PIECE).min(n)).into_par_iter().map(row).collect();
        for row in rows {
            columns.extend(row.iter().map(|(column, _)| *column));
            values.extend(row.iter().map(|(_, value)| *value));
            start.push(columns.len() as u64);
        }
    }
    Ok(Some(Csr::new(start, columns, values)?))
}
