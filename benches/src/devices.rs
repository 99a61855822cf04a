//! `eigenforge bench devices`: y = H x on several cards that work as one device, beside one of them.
//!
//! In: model files, a set of cards. Out: for each model its states, the median time of a multiply with x·y on the first card and on all,
//! and two parts that cannot be waited for less: what one card's time divided by their number is (kernels), and what the bytes that the
//! busiest card receives take at the rate of whole copies, which is measured in the same run (links). Every product is checked before
//! its time is printed: z·Hx is x·Hz, and one card has the same x·Hx, z·Hx and ‖Hx‖.

use super::median;
use eigenforge::ci::{self, DirectError, Hamiltonian, Molecule, MoleculeError, OnTheFlyError};
use eigenforge::exact::PrepareError;
use eigenforge::input::{InputError, InputFile, ModelFile};
use eigenforge::operator::OperatorError;
use eigenforge::words::{grouped, size};

use eigenforge_runtime::{Bind, Device, DeviceError, Everywhere, LinearOperator, Program, Scalar, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Multiplies before the timed ones.
const WARM: usize = 2;
/// Elements of the vector whose copies are timed.
const COPIED: usize = 1 << 27;
/// The sums by which products are compared.
const SUMS: &str =
    "program bench_devices\nvectors x y z : in\nsum xx = x * x\nsum xy = x * y\nsum zy = z * y\nsum yy = y * y\n";

/// Arguments of `bench devices`.
#[derive(Clone, Debug, clap::Args)]
pub struct DevicesArguments {
    /// Model files of lattices and of molecules, such as those in benches/devices
    #[arg(required = true, value_name = "MODEL.toml")]
    pub models: Vec<PathBuf>,
    /// Several cards: cuda:0-3, cuda:0,2, cuda:all, or sim:N
    #[arg(long, default_value = "cuda:all")]
    pub device: String,
    /// Timed multiplies
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum DevicesBenchError {
    /// A file that is not accepted.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A model that cannot be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A multiply that cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A molecule that cannot be read.
    #[error(transparent)]
    Molecule(#[from] MoleculeError),
    /// A molecule in configuration state functions.
    #[error(
        "{0}: bench devices multiplies from the integrals of determinants; leave basis = \"csf\" out, or time the stored matrix by bench ci"
    )]
    Csf(String),
    /// A product of full CI.
    #[error(transparent)]
    Direct(#[from] DirectError),
    /// A product of another space.
    #[error(transparent)]
    OnTheFly(#[from] OnTheFlyError),
    /// Neither a model on a lattice nor a molecule.
    #[error(
        "{0}: bench devices multiplies models on a lattice and molecules; `eigenforge solve` with one card and with several prints the times \
         of other problems"
    )]
    Family(PathBuf),
    /// One card.
    #[error("--device {0}: bench devices compares several cards with one of them; name some, such as cuda:0-1")]
    OneCard(String),
    /// A product is wrong.
    #[error("{model}: {what} differ by {difference:.1e} of |x| |Hx|, expected {tolerance:.0e} at most")]
    Differs {
        /// The file.
        model: String,
        /// What was compared.
        what: &'static str,
        /// The difference.
        difference: f64,
        /// The largest that is let pass.
        tolerance: f64,
    },
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// One model.
#[derive(Clone, Debug, Serialize)]
pub struct DevicesTime {
    /// Its file.
    pub model: String,
    /// Elements of a vector.
    pub elements: u64,
    /// Their type in CUDA.
    pub scalar: String,
    /// Cards at work; fewer than asked for where a vector has too few pages.
    pub cards: u32,
    /// Median of a multiply on the first card; `None` where it has too little memory.
    pub one_milliseconds: Option<f64>,
    /// Median on all cards.
    pub milliseconds: f64,
    /// One card's time divided by the number of cards.
    pub kernel_milliseconds: Option<f64>,
    /// Bytes that each card receives in a multiply; `None` where they are not known beforehand.
    pub received_bytes: Option<Vec<u64>>,
    /// What the largest of them takes at the rate of copies; `None` without cards.
    pub link_milliseconds: Option<f64>,
}

/// Runs it and writes the table.
///
/// # Errors
/// A file of another family, one card alone, a wrong product, a device that fails.
pub fn command(arguments: &DevicesArguments, out: &mut dyn Write) -> Result<(), DevicesBenchError> {
    let names = Device::cards_of(&arguments.device)?;
    if names.len() < 2 {
        return Err(DevicesBenchError::OneCard(arguments.device.clone()));
    }
    let sources = arguments.models.iter().map(|path| match InputFile::read(path)? {
        InputFile::Lattice(file) => Ok(Source::Lattice(file)),
        InputFile::Ci(file) => Ok(Source::Molecule(file.name.clone(), Box::new(Molecule::read(&file.ci)?))),
        _ => Err(DevicesBenchError::Family(path.clone())),
    });
    let sources = sources.collect::<Result<Vec<Source>, DevicesBenchError>>()?;
    let (one, all) = (Device::parse(&names[0])?, Device::parse(&arguments.device)?);
    let rate = copy_rate(&all)?;
    if !arguments.json {
        let rate = rate.map_or(String::new(), |rate| format!("; copies {:.0} GB/s into each card", 1e-9 * rate));
        writeln!(out, "{}{rate}; y = H x with x·y", all.name())?;
        writeln!(
            out,
            "| model | elements | one card, ms | {} cards, ms | one / all | kernels, ms | received by a card | links, ms |",
            names.len()
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    }
    let mut times = Vec::new();
    for source in &sources {
        let found = match source {
            Source::Lattice(file) if file.solve.precision == ScalarType::F32 => {
                lattice::<f32>(file, [&one, &all], rate, arguments.repeats)?
            }
            Source::Lattice(file) => lattice::<f64>(file, [&one, &all], rate, arguments.repeats)?,
            Source::Molecule(name, molecule) if molecule.csfs.is_some() => {
                return Err(DevicesBenchError::Csf(name.clone()));
            }
            Source::Molecule(name, molecule) => of_molecule(name, molecule, [&one, &all], rate, arguments.repeats)?,
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

fn row(time: &DevicesTime, out: &mut dyn Write) -> std::io::Result<()> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    let received = time.received_bytes.as_ref().map_or_else(String::new, |bytes| {
        let (least, most) = (bytes.iter().min().copied(), bytes.iter().max().copied());
        match (least.unwrap_or(0), most.unwrap_or(0)) {
            (least, most) if least == most => size(most),
            (least, most) => format!("{} to {}", size(least), size(most)),
        }
    });
    writeln!(
        out,
        "| {} | {} {} | {} | {:.3} | {} | {} | {received} | {} |",
        time.model,
        grouped(u128::from(time.elements)),
        time.scalar,
        number(time.one_milliseconds),
        time.milliseconds,
        time.one_milliseconds.map_or_else(String::new, |one| format!("{:.2} x", one / time.milliseconds)),
        number(time.kernel_milliseconds),
        number(time.link_milliseconds)
    )?;
    out.flush()
}

/// Bytes a second into each card where all copy a vector at once; `None` where no copies are made.
fn copy_rate(device: &Device) -> Result<Option<f64>, DeviceError> {
    let Some(mut copies) = Everywhere::new(device, COPIED, ScalarType::F64)? else { return Ok(None) };
    let from: Vector<f64> = device.zeros(COPIED)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let (done, milliseconds) = device.time(|| {
            copies.begin(&from)?;
            copies.finish()
        })?;
        done?;
        times.push(milliseconds);
    }
    // What a card has itself is copied within it, beside.
    let received = COPIED as f64 * 8.0 * (1.0 - 1.0 / f64::from(device.cards_at_work()));
    Ok(Some(received / (1e-3 * median(&times[1..]))))
}

/// A file that was read.
enum Source {
    Lattice(Box<ModelFile>),
    Molecule(String, Box<Molecule>),
}

fn lattice<T: Scalar>(
    file: &ModelFile,
    devices: [&Device; 2],
    rate: Option<f64>,
    repeats: u32,
) -> Result<DevicesTime, DevicesBenchError> {
    let model = file.to_model()?;
    let model = model.working();
    let vector = model.dimension().saturating_mul(T::TYPE.bytes() as u64);
    let product = |device: &Device| -> Result<Box<dyn LinearOperator<T>>, DevicesBenchError> {
        Ok(Box::new(model.hamiltonian(model.multiply(T::TYPE)?, device)?))
    };
    let received = model.received(T::TYPE, devices[1].cards_for(vector)?)?.map(|received| received.bytes);
    compared(&file.name, model.dimension(), model.table_bytes(), received, (&product, devices, rate, repeats))
}

fn of_molecule(
    name: &str,
    molecule: &Molecule,
    devices: [&Device; 2],
    rate: Option<f64>,
    repeats: u32,
) -> Result<DevicesTime, DevicesBenchError> {
    let Molecule { integrals, space, .. } = molecule;
    let product = |device: &Device| -> Result<Box<dyn LinearOperator<f64> + '_>, DevicesBenchError> {
        let plan = match space.is_complete() {
            true => ci::full_ci(integrals, space, None, device)?,
            false => ci::row_by_row(integrals, space, None, device)?,
        };
        Ok(Box::new(Hamiltonian::new(plan, "ci", device)?))
    };
    // Each card gets what the others have of x once.
    let (rows, cards) = (space.len(), u64::from(devices[1].cards_for(8 * space.len())?));
    let received = (0..cards).map(|_| 8 * (rows - rows / cards)).collect();
    compared(name, rows, 0, (cards > 1).then_some(received), (&product, devices, rate, repeats))
}

/// Makes a product on a device.
type Make<'m, T> = &'m dyn Fn(&Device) -> Result<Box<dyn LinearOperator<T> + 'm>, DevicesBenchError>;

/// The product on one card, where it has room for three vectors and so many bytes of tables, beside all.
fn compared<T: Scalar>(
    name: &str,
    elements: u64,
    table_bytes: u64,
    received_bytes: Option<Vec<u64>>,
    (product, [one, all], rate, repeats): (Make<'_, T>, [&Device; 2], Option<f64>, u32),
) -> Result<DevicesTime, DevicesBenchError> {
    let vector = elements.saturating_mul(T::TYPE.bytes() as u64);
    let cards = all.cards_for(vector)?;
    let ours = timed::<T>(name, product, all, repeats)?;
    let room = one.memory().free > vector.saturating_mul(3).saturating_add(table_bytes);
    let alone = if room { Some(timed::<T>(name, product, one, repeats)?) } else { None };
    if let Some(alone) = &alone {
        agree::<T>(name, "the products of one card and of all", ours.difference(alone))?;
    }
    let most = received_bytes.as_ref().and_then(|bytes| bytes.iter().max().copied());
    Ok(DevicesTime {
        model: name.into(),
        elements,
        scalar: T::TYPE.cuda().into(),
        cards,
        one_milliseconds: alone.as_ref().map(|alone| alone.milliseconds),
        milliseconds: ours.milliseconds,
        kernel_milliseconds: alone.map(|alone| alone.milliseconds / f64::from(cards)),
        link_milliseconds: most.zip(rate).map(|(bytes, rate)| 1e3 * bytes as f64 / rate),
        received_bytes,
    })
}

/// A multiply of the seeded vector x, with the sums that it is compared by.
struct Timed {
    milliseconds: f64,
    /// x·x, x·Hx, z·Hx, ‖Hx‖².
    sums: [f64; 4],
}

impl Timed {
    /// The largest difference, relative to ‖x‖ ‖Hx‖; NaN where a sum is.
    fn difference(&self, other: &Timed) -> f64 {
        let scale = (self.sums[0] * self.sums[3]).sqrt();
        let norms = (self.sums[3].sqrt() - other.sums[3].sqrt()).abs() * self.sums[0].sqrt();
        let products = [1, 2].map(|at| (self.sums[at] - other.sums[at]).abs());
        let worst =
            products.into_iter().fold(norms, |worst, next| if next > worst || next.is_nan() { next } else { worst });
        if scale == 0.0 { worst } else { worst / scale }
    }
}

fn agree<T: Scalar>(name: &str, what: &'static str, difference: f64) -> Result<(), DevicesBenchError> {
    let tolerance = match T::TYPE {
        ScalarType::F64 => 1e-12,
        ScalarType::F32 => 1e-5,
    };
    if difference <= tolerance {
        return Ok(());
    }
    Err(DevicesBenchError::Differs { model: name.into(), what, difference, tolerance })
}

fn timed<T: Scalar>(
    name: &str,
    product: Make<'_, T>,
    device: &Device,
    repeats: u32,
) -> Result<Timed, DevicesBenchError> {
    let hamiltonian = product(device)?;
    let len = hamiltonian.dimension();
    let sums = |program: &Program, x: &Vector<T>, y: &Vector<T>, z: &Vector<T>| -> Result<[f64; 4], DeviceError> {
        let sums = program.run(&mut [Bind::In(x), Bind::In(y), Bind::In(z)], &[])?;
        Ok(std::array::from_fn(|at| sums[at]))
    };
    let program = VectorProgram::parse(SUMS).unwrap_or_else(|error| unreachable!("a built-in program parses: {error}"));
    let program = device.program(&program, T::TYPE, &[])?;
    let (x, z) = (device.random::<T>(len, 1)?, device.random::<T>(len, 2)?);
    let mut y: Vector<T> = device.zeros(len)?;
    hamiltonian.apply(&z, &mut y)?;
    let x_hz = sums(&program, &z, &y, &x)?[2];
    let mut times = Vec::new();
    let warm = if repeats == 1 { 0 } else { WARM };
    for _ in 0..warm + repeats as usize {
        let (product, milliseconds) = device.time(|| hamiltonian.apply(&x, &mut y))?;
        product?;
        times.push(milliseconds);
    }
    let found = Timed { milliseconds: median(&times[warm..]), sums: sums(&program, &x, &y, &z)? };
    let scale = (found.sums[0] * found.sums[3]).sqrt();
    let difference = if scale == 0.0 { (found.sums[2] - x_hz).abs() } else { (found.sums[2] - x_hz).abs() / scale };
    agree::<T>(name, "z·Hx and x·Hz", difference)?;
    Ok(found)
}
