//! `eigenforge bench hubbard`: our multiply and LOBPCG beside cuSPARSE and cuBLAS, or, without a card, beside a
//! text-book multiply on the CPU.
//!
//! In: a case (`paper`, `4x4:5,5`, a MODEL.toml) and a device. Out: [`HubbardBench`], a table or JSON.
//! A result that differs from the baseline's is an error: no time is printed for a wrong product.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_runtime::solvers::{Preconditioner, SolveOptions, Solver, Start, solve};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, SolveError, Vector};
use eigenforge_templates::ScalarType;

use super::case::Case;
use super::kronecker::{Hubbard, KroneckerProblem};
use super::report::{HubbardBench, MultiplyTime, SolveTime, StartTime, pass_milliseconds};
use super::vendor::{self, VendorError, VendorOptions, VendorReport};
use super::{Fingerprint, median, seeded};
use eigenforge::exact::{Hamiltonian, PrepareError};
use eigenforge::input::{InputError, ModelFile};
use eigenforge::operator::OperatorError;
use eigenforge::report::ReportError;
use eigenforge_runtime::timing::copy_bandwidth;

/// Options that `--sizes` does not take. What needs `--sizes` names them too: clap does not ask for an option that conflicts with
/// one that is there.
const NOT_OF_SIZES: [&str; 7] =
    ["case", "overrides", "first_iteration", "multiply_only", "tolerance", "max_iterations", "seed"];

/// Arguments of `bench hubbard`.
#[derive(Clone, Debug, clap::Args)]
pub struct HubbardArguments {
    /// `paper` (4x4, 7 up, 7 down), LXxLY:UP,DOWN (open boundaries, t = 1, U = 4), or a MODEL.toml
    /// [default: paper on a GPU, 4x4:5,5 on the CPU]
    #[arg(long)]
    pub case: Option<Case>,
    /// auto, cpu, cuda, cuda:N or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Time the multiply alone
    #[arg(long, conflicts_with = "sizes")]
    pub multiply_only: bool,
    /// Leave out cuSPARSE and cuBLAS, which run beside a card
    #[arg(long)]
    pub no_vendor: bool,
    /// The multiply alone, over sectors of 10^2 to 10^9 states (open chains, ladders and rectangles)
    #[arg(long, conflicts_with_all = ["case", "overrides", "first_iteration"])]
    pub sizes: bool,
    /// With --sizes: draw the multiples of the memory floor against the dimension
    #[arg(long, value_name = "FILE.svg", requires = "sizes", conflicts_with_all = NOT_OF_SIZES)]
    pub picture: Option<PathBuf>,
    /// With --sizes: leave out sectors of more states [default: as memory allows on a GPU, 20000000 on the CPU]
    #[arg(long, value_name = "STATES", requires = "sizes", conflicts_with_all = NOT_OF_SIZES)]
    pub largest: Option<usize>,
    /// Timed multiplies
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Residual at which LOBPCG stops, ours and the baseline's
    #[arg(long, default_value_t = 1e-8, conflicts_with_all = ["sizes", "multiply_only"])]
    pub tolerance: f64,
    /// Bound of the iterations of both
    #[arg(long, default_value_t = 5000, conflicts_with_all = ["sizes", "multiply_only"])]
    pub max_iterations: usize,
    /// Seed of the start vectors
    #[arg(long, default_value_t = 1, conflicts_with_all = ["sizes", "multiply_only"])]
    pub seed: u64,
    /// Time the edited kernel files of this folder (see `eigenforge inspect --dump`) in place of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
    /// Do one iteration and say so: what the timing of the start runs in a process of its own
    #[arg(long, hide = true)]
    pub first_iteration: bool,
}

/// Why a bench has no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The model file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file with another model.
    #[error("{name} holds the model {model}; `bench hubbard` times the Hubbard model, name = \"hubbard\"")]
    NotHubbard {
        /// The file.
        name: String,
        /// What it holds.
        model: &'static str,
    },
    /// The model.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Generating or loading its kernels.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The solver.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Two programs disagree on H x or on the energy.
    #[error("{what}: eigenforge has {ours}, {other} has {theirs}; one of them is wrong, so no time is reported")]
    Disagree {
        /// Which number.
        what: &'static str,
        /// The other program.
        other: &'static str,
        /// Our value.
        ours: String,
        /// Its value.
        theirs: String,
    },
    /// The process that times the start.
    #[error("timing the start of a new process: {reason}")]
    Start {
        /// What happened.
        reason: String,
    },
    /// The report could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
    /// The picture could not be drawn or written.
    #[error(transparent)]
    Picture(#[from] ReportError),
}

/// Largest relative difference of two products.
const SAME_PRODUCT: f64 = 1e-12;
/// Largest dimension that LOBPCG is run for without a GPU unless a smaller job was asked for.
const CPU_SOLVE_LIMIT: usize = 4_000_000;
/// The line by which a process says that its first iteration is done.
const FIRST_ITERATION: &str = "first iteration done";

/// Runs the bench and writes its table or JSON.
pub fn command(arguments: &HubbardArguments, out: &mut dyn Write) -> Result<(), BenchError> {
    let device = Device::parse(&arguments.device)?;
    device.check_alone("a bench")?;
    let overrides = arguments.overrides.as_ref().map_or_else(Overrides::from_env, Overrides::read);
    device.set_overrides(overrides.map_err(JitError::from).map_err(DeviceError::from)?)?;
    if arguments.sizes {
        return super::sizes::command(&device, arguments, out);
    }
    let default = if device.is_cuda() { (4, 7) } else { (4, 5) };
    let standard = Case::Rectangle { length_x: default.0, length_y: default.0, up: default.1, down: default.1 };
    let case = arguments.case.clone().unwrap_or(standard);
    if arguments.first_iteration {
        first_iteration(&case, &device)?;
        writeln!(out, "{FIRST_ITERATION}")?;
        return Ok(out.flush()?);
    }
    let bench = run(&case, &device, arguments)?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&bench).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        write!(out, "{bench}")?;
    }
    Ok(())
}

/// Runs every part of the bench.
pub fn run(case: &Case, device: &Device, arguments: &HubbardArguments) -> Result<HubbardBench, BenchError> {
    let file = case.model_file()?;
    let hubbard = Hubbard::from_file(&file)
        .ok_or_else(|| BenchError::NotHubbard { name: file.name.clone(), model: file.model.name() })?;
    let title = hubbard.title.clone();
    let problem = KroneckerProblem::new(hubbard);
    let repeats = arguments.repeats as usize;
    let copy = copy_bandwidth(device, problem.dimension())?;

    let (multiply, check, [lobpcg, lanczos], mut notes) = ours(&file, device, arguments, copy)?;
    let start = if arguments.multiply_only { None } else { Some(start_times(case, arguments)?) };
    let (mut baseline, mut plain) = (None, None);
    if device.is_cuda() && !arguments.no_vendor {
        match vendor_beside(&problem, arguments, !arguments.multiply_only) {
            Ok(report) => baseline = Some(report),
            Err(error) => notes.push(format!("no cuSPARSE and cuBLAS baseline: {}", chain(&error))),
        }
    } else if !device.is_cuda() {
        let (time, theirs) = plain_multiply(&problem, repeats, copy);
        agree("x·Hx", "the plain multiply", &check, &theirs)?;
        plain = Some(time);
    }
    if let Some(report) = &baseline {
        agree("x·Hx", "cuSPARSE", &check, &report.check)?;
        if let (Some(ours), Some(theirs)) = (&lobpcg, &report.lobpcg)
            && theirs.converged
            && ours.stop == "Converged"
            && (ours.energy - theirs.energy).abs() > 1e-7
        {
            let (ours, theirs) = (format!("{:.12}", ours.energy), format!("{:.12}", theirs.energy));
            return Err(BenchError::Disagree { what: "energy", other: "the baseline", ours, theirs });
        }
    }
    let overridden = device.kernels_used().into_iter().filter_map(|kernel| Some((kernel.name, kernel.overridden?)));
    notes.extend(overridden.map(|(name, file)| format!("OVERRIDDEN: {} ran in place of {name}", file.display())));
    notes.extend(device.unused_overrides());
    Ok(HubbardBench {
        case: case.to_string(),
        title,
        dimension: problem.dimension(),
        device: device.name(),
        threads: rayon::current_num_threads(),
        copy_gb_per_second: copy,
        check,
        multiply,
        lobpcg,
        lanczos,
        start,
        vendor: baseline,
        plain,
        notes,
    })
}

pub(super) fn agree(
    what: &'static str,
    other: &'static str,
    ours: &Fingerprint,
    theirs: &Fingerprint,
) -> Result<(), BenchError> {
    let difference = ours.difference(theirs);
    if difference <= SAME_PRODUCT {
        return Ok(());
    }
    let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?} (relative difference {difference:.1e})"));
    Err(BenchError::Disagree { what, other, ours, theirs })
}

/// An error with its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

/// The operator of the file, ready on the device.
fn hamiltonian(file: &ModelFile, device: &Device) -> Result<Hamiltonian<'static>, BenchError> {
    let model = file.to_model()?;
    Ok(model.hamiltonian(model.multiply(ScalarType::F64)?, device)?)
}

/// To the residual norm of the arguments, which is the baseline's too: ours are told it as a share of the norm.
fn options(arguments: &HubbardArguments, norm: f64, max_iterations: usize) -> SolveOptions {
    SolveOptions {
        states: 1,
        tolerance: arguments.tolerance / norm,
        max_iterations,
        seed: arguments.seed,
        preconditioner: Preconditioner::None,
        // As the baseline, which knows no better.
        start: Start::Random,
        certify: false,
        ..SolveOptions::default()
    }
}

type Ours = (MultiplyTime, Fingerprint, [Option<SolveTime>; 2], Vec<String>);

/// Our multiply, our LOBPCG, and Lanczos from a mean field.
fn ours(file: &ModelFile, device: &Device, arguments: &HubbardArguments, copy: f64) -> Result<Ours, BenchError> {
    let operator = hamiltonian(file, device)?;
    let n = LinearOperator::<f64>::dimension(&operator);
    let host = seeded::vector(n, seeded::SEED_X);
    let x = device.upload(&host)?;
    let mut y: Vector<f64> = device.zeros(n)?;
    operator.apply(&x, &mut y)?;
    let check = Fingerprint::new(&host, &y.download()?);
    drop(host);
    let mut times = Vec::new();
    for _ in 0..arguments.repeats {
        let (product, milliseconds) = device.time(|| operator.apply(&x, &mut y))?;
        product?;
        times.push(milliseconds);
    }
    drop((x, y));
    let mut multiply = multiply_time(&times, n, copy);
    multiply.of_four_milliseconds = four_at_once(&operator, arguments.repeats)?;

    let mut notes = Vec::new();
    let too_long = !device.is_cuda() && n > CPU_SOLVE_LIMIT;
    if too_long && !arguments.multiply_only {
        notes.push(format!("LOBPCG left out on the CPU above a dimension of {CPU_SOLVE_LIMIT}"));
    }
    if arguments.multiply_only || too_long {
        return Ok((multiply, check, [None, None], notes));
    }
    let norm = LinearOperator::<f64>::norm_bound(&operator);
    let solved = |solver, start| -> Result<SolveTime, SolveError> {
        let options = |iterations| SolveOptions { start, ..options(arguments, norm, iterations) };
        solve::<f64>(&operator, solver, &options(2))?; // compiles what the solver needs
        let found = solve::<f64>(&operator, solver, &options(arguments.max_iterations))?;
        let iteration_milliseconds = 1e3 * found.seconds / found.iterations.max(1) as f64;
        Ok(SolveTime {
            iteration_milliseconds,
            passes: iteration_milliseconds / pass_milliseconds(n, copy),
            iterations: found.iterations,
            seconds: found.seconds,
            energy: found.values.first().copied().unwrap_or(f64::NAN),
            residual: found.residuals.first().copied().unwrap_or(f64::NAN),
            stop: format!("{:?}", found.stop),
        })
    };
    let lobpcg = solved(Solver::Lobpcg, Start::Random)?;
    let lanczos = solved(Solver::Lanczos, Start::Guess)?;
    Ok((multiply, check, [Some(lobpcg), Some(lanczos)], notes))
}

fn multiply_time(times: &[f64], dimension: usize, copy: f64) -> MultiplyTime {
    let milliseconds = median(times);
    let best_milliseconds = times.iter().copied().fold(f64::INFINITY, f64::min);
    let passes = milliseconds / pass_milliseconds(dimension, copy);
    MultiplyTime { milliseconds, best_milliseconds, passes, of_four_milliseconds: None }
}

/// A vector's share of a multiply of four, the median; nothing where eight vectors do not fit.
pub(super) fn four_at_once(operator: &Hamiltonian, repeats: u32) -> Result<Option<f64>, DeviceError> {
    let (device, n) = (LinearOperator::<f64>::device(operator), LinearOperator::<f64>::dimension(operator));
    if (n as u64).saturating_mul(8 * 8) > device.memory().free {
        return Ok(None);
    }
    let x = (0..4).map(|k| device.random(n, seeded::SEED_X + k)).collect::<Result<Vec<Vector<f64>>, _>>()?;
    let mut y = (0..4).map(|_| device.zeros(n)).collect::<Result<Vec<Vector<f64>>, _>>()?;
    let x: Vec<&Vector<f64>> = x.iter().collect();
    let mut times = Vec::new();
    for _ in 0..=repeats {
        let (products, milliseconds) = device.time(|| operator.apply_block(&x, &mut y))?;
        products?;
        times.push(milliseconds / 4.0);
    }
    Ok(Some(median(&times[1..])))
}

/// The text-book multiply on all cores.
fn plain_multiply(problem: &KroneckerProblem, repeats: usize, copy: f64) -> (MultiplyTime, Fingerprint) {
    let diagonal = problem.diagonal();
    let x = seeded::vector(problem.dimension(), seeded::SEED_X);
    let mut y = vec![0.0; problem.dimension()];
    problem.multiply(&diagonal, &x, &mut y);
    let check = Fingerprint::new(&x, &y);
    let once = |_| {
        let started = Instant::now();
        problem.multiply(&diagonal, &x, &mut y);
        started.elapsed().as_secs_f64() * 1e3
    };
    let times: Vec<f64> = (0..repeats.min(7)).map(once).collect();
    (multiply_time(&times, problem.dimension(), copy), check)
}

/// The baseline on the card that was asked for; its LOBPCG too if `solve`.
pub(super) fn vendor_beside(
    problem: &KroneckerProblem,
    arguments: &HubbardArguments,
    solve: bool,
) -> Result<VendorReport, VendorError> {
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    let options = VendorOptions {
        seed: arguments.seed,
        tolerance: arguments.tolerance,
        max_iterations: arguments.max_iterations,
        repeats: arguments.repeats as usize,
        solve,
    };
    vendor::run(problem, ordinal, &options)
}

/// Everything up to the end of one iteration.
fn first_iteration(case: &Case, device: &Device) -> Result<(), BenchError> {
    let operator = hamiltonian(&case.model_file()?, device)?;
    let one = SolveOptions { max_iterations: 1, certify: false, ..SolveOptions::default() };
    solve::<f64>(&operator, Solver::Lobpcg, &one)?;
    Ok(())
}

/// A new process with an empty kernel cache, then another with what the first left there.
fn start_times(case: &Case, arguments: &HubbardArguments) -> Result<StartTime, BenchError> {
    let failed = |error: std::io::Error| BenchError::Start { reason: error.to_string() };
    let cache = tempfile::tempdir().map_err(failed)?;
    let mut seconds = [0.0; 2];
    for seconds in &mut seconds {
        *seconds = start_time(case, arguments, cache.path())?;
    }
    Ok(StartTime { cold_seconds: seconds[0], warm_seconds: seconds[1] })
}

fn start_time(case: &Case, arguments: &HubbardArguments, cache: &Path) -> Result<f64, BenchError> {
    let failed = |error: std::io::Error| BenchError::Start { reason: error.to_string() };
    let program = std::env::current_exe().map_err(failed)?;
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(["bench", "hubbard", "--first-iteration", "--device", &arguments.device, "--case", &case.to_string()])
        .env("EIGENFORGE_CACHE", cache)
        .env_remove("EIGENFORGE_CACHE_READONLY")
        .envs(arguments.overrides.iter().map(|folder| ("EIGENFORGE_OVERRIDE", folder)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // up to the line, not to the end of the process, which has gigabytes to give back
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let output = child.wait_with_output().map_err(failed)?;
    if line.trim() == FIRST_ITERATION && output.status.success() {
        return Ok(seconds);
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(BenchError::Start { reason: if reason.is_empty() { output.status.to_string() } else { reason } })
}
