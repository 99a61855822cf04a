//! `eigenforge bench symmetries`: y = H x in symmetry sectors without a matrix, beside the stored matrix.
//!
//! In: a device, and ways to multiply (`--storage`). Out: for each sector and way its number of states, the elements of its group, the time to list its states, the time of a
//! multiply with x·y and that time by the number of states, and the time of a product with the stored matrix on the same device where it
//! fits. For a complex sector also its time per state over that of a real one with the same group. Every product is checked before its
//! time is printed: z·Hx is x·Hz, and the stored matrix has the same.

mod cases;

use super::{Fingerprint, median, seeded};
use cases::{Case, LARGE, SMALL};
use eigenforge::exact::{Model, MultiplyPlan, PairRows, PrepareError, StringRows};
use eigenforge::input::InputError;
use eigenforge::operator::{OperatorError, SymmetryError};
use eigenforge::words::grouped;
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector};
use eigenforge_templates::ScalarType;
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// Most elements of a matrix that is stored beside: the host makes it.
const LARGEST_STORED: u64 = 500_000_000;
/// Largest difference of two products, relative to ‖x‖ ‖Hx‖.
const TOLERANCE: f64 = 1e-11;
/// Multiplies before the timed ones.
const WARM: usize = 3;

/// Arguments of `bench symmetries`.
#[derive(Clone, Debug, clap::Args)]
pub struct SymmetriesArguments {
    /// auto, cpu, cuda, cuda:N, several cards as cuda:0-1, or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Only sectors whose names contain this: of those for the device, or if none has it, of the others
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// The smaller sectors, which the CPU takes anyway
    #[arg(long)]
    pub small: bool,
    /// Ways to multiply, each timed: direct, table, auto; as a list, one after the other on the same device
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "direct",
          value_parser = ["direct", "table", "auto"])]
    pub storage: Vec<String>,
    /// Without the stored matrix
    #[arg(long)]
    pub no_stored: bool,
    /// Timed samples
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum SymmetriesBenchError {
    /// A model file that is not accepted.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A sector that cannot be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A multiply that cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A product is wrong.
    #[error("{case}: {what} differ by {difference:.1e} of |x| |Hx|, expected {TOLERANCE:.0e} at most")]
    Differs {
        /// The sector.
        case: String,
        /// What was compared.
        what: &'static str,
        /// The difference.
        difference: f64,
    },
    /// No sector has that name.
    #[error("--only {name}: no sector's name contains that; there are {names}")]
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

impl SymmetriesBenchError {
    /// Whether the sector is too large for the memory.
    fn is_of_memory(&self) -> bool {
        let operator = |error: &OperatorError| {
            let too_many = |error: &SymmetryError| {
                matches!(error, SymmetryError::NoRoom { .. } | SymmetryError::TooManyStates { .. })
            };
            matches!(error, OperatorError::NoRoomForMatrix { .. })
                || matches!(error, OperatorError::Symmetry(error) if too_many(error))
        };
        match self {
            SymmetriesBenchError::Operator(error) | SymmetriesBenchError::Prepare(PrepareError::Operator(error)) => {
                operator(error)
            }
            SymmetriesBenchError::Device(error) | SymmetriesBenchError::Prepare(PrepareError::Device(error)) => {
                matches!(error, DeviceError::Memory { .. })
            }
            _ => false,
        }
    }
}

/// One sector.
#[derive(Clone, Debug, Serialize)]
pub struct SymmetriesTime {
    /// Its name.
    pub case: String,
    /// The word of `[symmetry]` by which it was multiplied.
    pub storage: String,
    /// Its states; a complex vector has twice as many numbers.
    pub states: u64,
    /// States of the sector without symmetry.
    pub plain_states: u64,
    /// Elements of the group.
    pub elements: u64,
    /// Whether amplitudes are complex.
    pub complex: bool,
    /// The time to list the states, with the tables that are made for it; kernels are compiled before.
    pub basis_milliseconds: f64,
    /// Median of a multiply with x·y.
    pub milliseconds: f64,
    /// The same by the number of states.
    pub nanoseconds_per_state: f64,
    /// Median of a product with the stored matrix on the same device.
    pub stored_milliseconds: Option<f64>,
    /// Of a complex sector, its time per state over that of the real one with the same group, if that was timed too.
    pub over_real: Option<f64>,
    /// How rows are made.
    pub shape: String,
}

/// Runs it and writes the table.
///
/// # Errors
/// A name that no sector has, a wrong product, a device that fails. A sector that does not fit is left out with the reason.
pub fn command(arguments: &SymmetriesArguments, out: &mut dyn Write) -> Result<(), SymmetriesBenchError> {
    let device = Device::parse(&arguments.device)?;
    let cases = chosen(arguments, &device)?;
    if !arguments.json {
        writeln!(out, "{}; y = H x in symmetry sectors without a matrix", device.name())?;
        writeln!(
            out,
            "| sector | storage | states | elements | basis, ms | multiply, ms | ns per state | stored, ms | stored / ours | complex / real |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?;
    }
    let mut times: Vec<SymmetriesTime> = Vec::new();
    let each = cases.into_iter().flat_map(|case| arguments.storage.iter().map(move |storage| (case, storage)));
    let mut earlier: Option<(&str, Fingerprint)> = None;
    for (case, storage) in each {
        let mut found = match one(case, storage, &device, (arguments, &mut earlier)) {
            Err(error) if error.is_of_memory() => {
                writeln!(std::io::stderr(), "left out: {}, {storage}: {error}", case.name)?;
                continue;
            }
            found => found?,
        };
        let is_real = |time: &&SymmetriesTime| case.real == Some(time.case.as_str()) && time.storage == *storage;
        let real = times.iter().find(is_real);
        found.over_real = real.map(|real| found.nanoseconds_per_state / real.nanoseconds_per_state);
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

/// The sectors for the device, or those that are named.
fn chosen(arguments: &SymmetriesArguments, device: &Device) -> Result<Vec<&'static Case>, SymmetriesBenchError> {
    let (own, others) = if device.is_cuda() && !arguments.small { (LARGE, SMALL) } else { (SMALL, LARGE) };
    let Some(name) = &arguments.only else { return Ok(own.iter().collect()) };
    let named =
        |list: &'static [Case]| list.iter().filter(|case| case.name.contains(name.as_str())).collect::<Vec<_>>();
    let found = [own, others].map(named).into_iter().find(|found| !found.is_empty());
    found.ok_or_else(|| {
        let names = own.iter().chain(others).map(|case| case.name).collect::<Vec<_>>().join("; ");
        SymmetriesBenchError::NoCase { name: name.clone(), names }
    })
}

fn row(time: &SymmetriesTime, out: &mut dyn Write) -> std::io::Result<()> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    let ratio = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3} x"));
    writeln!(
        out,
        "| {} | {} | {} | {} | {:.1} | {:.3} | {:.3} | {} | {} | {} |",
        time.case,
        time.storage,
        grouped(u128::from(time.states)),
        time.elements,
        time.basis_milliseconds,
        time.milliseconds,
        time.nanoseconds_per_state,
        number(time.stored_milliseconds),
        ratio(time.stored_milliseconds.map(|stored| stored / time.milliseconds)),
        ratio(time.over_real)
    )?;
    out.flush()
}

/// One sector by one way; the fingerprint of its product must be that of the way before, if that has states in the same order.
fn one<'c>(
    case: &'c Case,
    storage: &str,
    device: &Device,
    (arguments, earlier): (&SymmetriesArguments, &mut Option<(&'c str, Fingerprint)>),
) -> Result<SymmetriesTime, SymmetriesBenchError> {
    let users = case.file(storage)?.to_model()?;
    // Where it is multiplied by strings, states have another order; complex ones may be their own conjugates.
    let model = users.working();
    let n = model.dimension();
    if device.runs_kernels() {
        device.check_memory("x, y and the tables of a symmetry sector", 16 * n + model.table_bytes())?;
    } else {
        model.check_list()?;
    }
    let prepared = model.multiply(ScalarType::F64)?;
    let (group, plain_states) = model.symmetry_size().unwrap_or((1, n));
    let ours = timed(case, model, &prepared, device, arguments.repeats)?;
    let stored = if arguments.no_stored { None } else { stored(case, model, &prepared, device, arguments.repeats)? };
    if let Some(stored) = &stored {
        agree(case, "the products with and without a stored matrix", ours.product.difference(&stored.product))?;
    }
    let ordered = prepared.way::<PairRows>().is_none() && prepared.way::<StringRows>().is_none();
    if let Some((_, other)) = earlier.as_ref().filter(|(name, _)| *name == case.name && ordered) {
        agree(case, "the products by two ways", ours.product.difference(other))?;
    }
    *earlier = ordered.then_some((case.name, ours.product));
    Ok(SymmetriesTime {
        case: case.name.into(),
        storage: storage.into(),
        states: model.states(),
        plain_states,
        elements: group,
        complex: users.is_complex(),
        basis_milliseconds: ours.basis_milliseconds,
        milliseconds: ours.milliseconds,
        nanoseconds_per_state: 1e6 * ours.milliseconds / model.states() as f64,
        stored_milliseconds: stored.map(|stored| stored.milliseconds),
        over_real: None,
        shape: ours.shape,
    })
}

/// The product with the stored matrix; `None` where that is too large.
fn stored(
    case: &Case,
    direct: &Model,
    prepared: &MultiplyPlan,
    device: &Device,
    repeats: u32,
) -> Result<Option<Timed>, SymmetriesBenchError> {
    if prepared.way::<PairRows>().is_some() {
        // Its states have another order and signs, and no matrix of their own.
        return Ok(None);
    }
    if direct.stored_elements().is_none_or(|(elements, _)| elements > LARGEST_STORED) {
        return Ok(None);
    }
    let of_matrix = || -> Result<Option<Timed>, SymmetriesBenchError> {
        let matrix = prepared.stored()?;
        matrix.map(|matrix| timed(case, direct, &matrix, device, repeats)).transpose()
    };
    match of_matrix() {
        Ok(found) => Ok(found),
        Err(error) if error.is_of_memory() => Ok(None),
        Err(error) => Err(error),
    }
}

fn agree(case: &Case, what: &'static str, difference: f64) -> Result<(), SymmetriesBenchError> {
    if difference <= TOLERANCE {
        return Ok(());
    }
    Err(SymmetriesBenchError::Differs { case: case.name.into(), what, difference })
}

/// A multiply.
struct Timed {
    product: Fingerprint,
    basis_milliseconds: f64,
    milliseconds: f64,
    shape: String,
}

/// The product's numbers, the time to list the states, and the median time of a multiply with x·y.
fn timed(
    case: &Case,
    model: &Model,
    prepared: &MultiplyPlan,
    device: &Device,
    repeats: u32,
) -> Result<Timed, SymmetriesBenchError> {
    if device.runs_kernels() {
        // Compiles, so that what is timed does not.
        model.hamiltonian(prepared.clone(), device)?;
    }
    let started = Instant::now();
    let hamiltonian = model.hamiltonian(prepared.clone(), device)?;
    device.synchronize()?;
    let basis_milliseconds = 1e3 * started.elapsed().as_secs_f64();
    let host = seeded::vector(LinearOperator::<f64>::dimension(&hamiltonian), seeded::SEED_X);
    let (mut x, mut y): (Vector<f64>, Vector<f64>) = (device.upload(&host)?, device.zeros(host.len())?);
    let mut times = Vec::new();
    let warm = if repeats == 1 { 0 } else { WARM };
    for _ in 0..warm + repeats as usize {
        let (product, milliseconds) = device.time(|| hamiltonian.apply(&x, &mut y))?;
        product?;
        times.push(milliseconds);
    }
    let product = Fingerprint::new(&host, &y.download()?);
    // H is Hermitian: of complex vectors these are real parts.
    x.write(&seeded::vector(host.len(), seeded::SEED_Z))?;
    hamiltonian.apply(&x, &mut y)?;
    let x_hz = Fingerprint::new(&host, &y.download()?).x_hx;
    agree(case, "z·Hx and x·Hz", (product.z_hx - x_hz).abs() / (product.x_x.sqrt() * product.hx_norm))?;
    let shape = hamiltonian.shape();
    Ok(Timed { product, basis_milliseconds, milliseconds: median(&times[warm..]), shape })
}
