//! `eigenforge bench hubbard --sizes`: the multiply from 10² to 10⁹ states, each size beside its floor and cuSPARSE.
//!
//! In: a device, the options of `bench hubbard`. Out: [`SizesBench`], a table or JSON, and a picture. Every product is
//! compared before its time is printed: with cuSPARSE's, or with the text-book multiply on the CPU.
//!
//! The floor of a size is the larger of two times: five passes over a vector, x twice and y three times, at the speed of
//! copies between two vectors of that very size (the cache's where they stay in it, as the multiply's do when it is timed
//! again and again on the same vectors); and the least time in which the device returns any number at all, since a
//! multiply returns x·y. cuSPARSE's returns none: beside it stands the multiply that makes y alone.

mod list;
mod picture;
mod report;

pub use report::{Cliff, LeftOut, Limit, SizeTime, SizesBench};

use std::io::Write;

use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector};

use super::case::Case;
use super::hubbard::{BenchError, HubbardArguments, agree, chain, four_at_once, vendor_beside};
use super::kronecker::{Hubbard, KroneckerProblem};
use super::report::{MULTIPLY_PASSES, pass_milliseconds};
use super::{Fingerprint, median, seeded};
use eigenforge::exact::Model;
use eigenforge::report::{ReportError, publish};
use eigenforge_runtime::timing::{copy_bandwidth, least_milliseconds, series_bandwidth};
use eigenforge_templates::ScalarType;

/// Largest sector without a GPU unless another was asked for: 4x4, 5 + 5 and a second or two.
const LARGEST_ON_CPU: usize = 20_000_000;
/// Largest sector that cuSPARSE is timed on: above, making and uploading its operands takes longer than all the rest.
const LARGEST_OF_VENDOR: usize = 200_000_000;
/// Largest sector whose product is compared on the host where cuSPARSE has none: four vectors of 8 GB.
const LARGEST_COMPARED: usize = 1_100_000_000;
/// From this length on a vector fits no cache, and copies have the speed of [`copy_bandwidth`].
const LARGE: usize = 1 << 27;
/// A copy that is so much faster than one of large vectors came from a cache.
const CACHED: f64 = 1.25;
/// Multiplies before the timed ones.
const WARM: usize = 3;

/// Runs it and writes table or JSON, and the picture.
///
/// # Errors
/// A wrong product, a device that fails, a file that cannot be written. A sector that does not fit is no error.
pub fn command(device: &Device, arguments: &HubbardArguments, out: &mut dyn Write) -> Result<(), BenchError> {
    let bench = run(device, arguments)?;
    if let Some(path) = &arguments.picture {
        let svg = bench.picture()?;
        let written = |file: &mut std::fs::File| {
            file.write_all(svg.as_bytes()).map_err(|source| ReportError::Write { file: path.clone(), source })
        };
        publish(path, written)?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&bench).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    write!(out, "{bench}")?;
    if let Some(path) = &arguments.picture {
        writeln!(out, "picture: {}", path.display())?;
    }
    Ok(())
}

/// Times every sector of the list that fits.
///
/// # Errors
/// The errors of [`command`].
pub fn run(device: &Device, arguments: &HubbardArguments) -> Result<SizesBench, BenchError> {
    let largest = arguments.largest.unwrap_or(if device.is_cuda() { usize::MAX } else { LARGEST_ON_CPU });
    let copy = copy_bandwidth(device, 0)?;
    let least = least_milliseconds(device)?;
    let mut bench = SizesBench {
        device: device.name(),
        threads: rayon::current_num_threads(),
        copy_gb_per_second: copy,
        least_milliseconds: least,
        sizes: Vec::new(),
        left_out: Vec::new(),
        cliffs: Vec::new(),
        notes: Vec::new(),
    };
    for case in list::sectors() {
        let model = case.model_file()?.to_model()?;
        let dimension = usize::try_from(model.dimension()).unwrap_or(usize::MAX);
        let reason = if dimension > largest {
            Some(format!("more than the {largest} states of --largest"))
        } else {
            too_large(&model, device)?
        };
        match reason {
            Some(reason) => bench.left_out.push(LeftOut { case: case.to_string(), dimension, reason }),
            None => bench.sizes.push(one(&case, device, arguments, (copy, least), &mut bench.notes)?),
        }
    }
    bench.cliffs = report::cliffs(&bench.sizes);
    Ok(bench)
}

/// Why a sector cannot be timed here, if it cannot.
fn too_large(model: &Model, device: &Device) -> Result<Option<String>, BenchError> {
    let checked = memory_and_work(model, device, model.multiply_without_constant(ScalarType::F64)?.cost().flops);
    match checked {
        Ok(()) => Ok(None),
        Err(error @ (DeviceError::Memory { .. } | DeviceError::TooSlow { .. })) => Ok(Some(error.to_string())),
        Err(other) => Err(other.into()),
    }
}

fn memory_and_work(model: &Model, device: &Device, flops: f64) -> Result<(), DeviceError> {
    let n = model.dimension();
    let here = n.saturating_mul(16).saturating_add(model.table_bytes());
    // x, y, D and the other y
    let host = if n > LARGEST_COMPARED as u64 { 0 } else { n.saturating_mul(32) };
    let what = "x and y, the tables of a multiply, and what they are compared with";
    if device.is_cuda() {
        device.check_memory(what, here)?;
        Device::cpu().check_memory(what, host)?;
    } else {
        device.check_memory(what, here.saturating_add(host))?;
    }
    device.check_work("one multiply", flops)
}

/// Times one sector.
fn one(
    case: &Case,
    device: &Device,
    arguments: &HubbardArguments,
    (copy, least): (f64, f64),
    notes: &mut Vec<String>,
) -> Result<SizeTime, BenchError> {
    let file = case.model_file()?;
    let model = file.to_model()?;
    let hamiltonian = model.hamiltonian(model.multiply(ScalarType::F64)?, device)?;
    let shape = hamiltonian.shape();
    let n = LinearOperator::<f64>::dimension(&hamiltonian);
    let bandwidth = if n >= LARGE { copy } else { series_bandwidth(device, n)? };

    let compared = n <= LARGEST_COMPARED;
    let (x, host): (Vector<f64>, Vec<f64>) = if compared {
        let host = seeded::vector(n, seeded::SEED_X);
        (device.upload(&host)?, host)
    } else {
        notes.push(format!("{case}: the product was not compared, it has more than {LARGEST_COMPARED} elements"));
        (device.random(n, seeded::SEED_X)?, Vec::new())
    };
    let mut y: Vector<f64> = device.zeros(n)?;
    let mut times = Vec::new();
    for _ in 0..WARM + arguments.repeats as usize {
        let (product, milliseconds) = device.time(|| hamiltonian.apply(&x, &mut y))?;
        product?;
        times.push(milliseconds);
    }
    let times = &times[WARM..];
    let mut alone = Vec::new();
    for _ in 0..WARM + arguments.repeats as usize {
        let (product, milliseconds) = device.time(|| hamiltonian.multiply(&x, &mut y))?;
        product?;
        alone.push(milliseconds);
    }
    let alone = median(&alone[WARM..]);
    let four = four_at_once(&hamiltonian, arguments.repeats)?;
    let ours = if compared { Some(Fingerprint::new(&host, &y.download()?)) } else { None };
    // the other program's vectors want the memory
    drop((x, y, hamiltonian));

    let mut vendor = None;
    if let Some(ours) = ours {
        let hubbard = Hubbard::from_file(&file)
            .ok_or_else(|| BenchError::NotHubbard { name: file.name.clone(), model: file.model.name() })?;
        let problem = KroneckerProblem::new(hubbard);
        if device.is_cuda() && !arguments.no_vendor && n <= LARGEST_OF_VENDOR {
            match vendor_beside(&problem, arguments, false) {
                Ok(report) => {
                    agree("x·Hx", "cuSPARSE", &ours, &report.check)?;
                    vendor = Some(report.multiply_milliseconds);
                }
                Err(error) => notes.push(format!("{case}: no cuSPARSE beside it: {}", chain(&error))),
            }
        }
        if vendor.is_none() {
            let mut theirs = vec![0.0; n];
            problem.multiply(&problem.diagonal(), &host, &mut theirs);
            agree("x·Hx", "the plain multiply", &ours, &Fingerprint::new(&host, &theirs))?;
        }
    }

    let passes = MULTIPLY_PASSES * pass_milliseconds(n, bandwidth);
    let limit = match () {
        () if least > passes => Limit::Start,
        () if bandwidth > CACHED * copy => Limit::Cache,
        () => Limit::Memory,
    };
    let (milliseconds, floor_milliseconds) = (median(times), passes.max(least));
    Ok(SizeTime {
        case: case.to_string(),
        dimension: n,
        // the plan's shape is that of generated kernels
        strategy: if device.runs_kernels() { shape } else { "loops of the CPU".into() },
        milliseconds,
        alone_milliseconds: alone,
        best_milliseconds: times.iter().copied().fold(f64::INFINITY, f64::min),
        floor_milliseconds,
        of_four_milliseconds: four,
        limit,
        of_floor: milliseconds / floor_milliseconds,
        vendor_milliseconds: vendor,
        vendor_of_floor: vendor.map(|vendor| vendor / floor_milliseconds),
        faster: vendor.map(|vendor| vendor / alone),
    })
}
