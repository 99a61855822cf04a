//! Tables 1 and 2 of Oberhuber, Dytrych, Launey, Langr, Draayer (2021): whole runs, from the file of matrix elements to the file of
//! tensor strengths, on one process or several.
//!
//! In: a table of the paper and a [`Setup`]. Out: [`PaperTable`]. Each run is `eigenforge su3 transform`, or the
//! [published sum](super::published_sum), in a process of its own with an empty cache of tables and kernels, under `mpirun`
//! where there are several; its wall time counts. The matrix elements are those of the Minnesota force, written once; only
//! their number matters. The strengths of all runs of a space must agree.

use super::published::PublishedTable;
use super::{MeasuredColumn, PaperError, PaperTable, Setup, not_redrawn};
use eigenforge_runtime::{Device, say};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Largest N_max of the published sum on the CPU and on a card.
const LARGEST_SUM: [u32; 2] = [6, 12];
/// Largest difference of two runs' strengths relative to the largest number.
const SAME: f64 = 1e-12;
/// The interaction.
const FORCE: &str = "[force]\nhw = 20.0\nminnesota = {}\n";

/// Measures one table.
///
/// # Errors
/// A table that is not redrawn, a run that fails, strengths that differ.
pub(super) fn measure(table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
    match table.number {
        1 => processes(table, &mut Runs::new(setup)?),
        2 => spaces(table, &mut Runs::new(setup)?),
        _ => Err(not_redrawn(table, "no code measures it")),
    }
}

/// Where and by how many a run is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    n_max: u32,
    /// 1, or as many as `mpirun` starts.
    processes: u32,
    /// One thread a process, or all cores for one.
    on_device: bool,
    published_sum: bool,
}

/// Runs and their results.
struct Runs<'a> {
    setup: &'a Setup,
    program: PathBuf,
    folder: tempfile::TempDir,
    scale: u32,
    cores: u32,
    seconds: HashMap<Way, f64>,
    strengths: HashMap<u32, Vec<f64>>,
    notes: Vec<String>,
}

impl<'a> Runs<'a> {
    fn new(setup: &'a Setup) -> Result<Runs<'a>, PaperError> {
        let by_device = match setup.device {
            Device::Cuda(_) => 1,
            Device::Cpu(_) => 2,
            Device::Sim(_) => 4,
        };
        let scale = setup.scale.unwrap_or(by_device);
        // A test's program is not the command.
        let program = std::env::var_os("EIGENFORGE_BIN").map_or_else(std::env::current_exe, |path| Ok(path.into()))?;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let mut notes = vec![
            format!("whole runs: wall time of `eigenforge su3 transform` with nothing cached; {cores} cores"),
            "the published sum is Algorithm 4 of the paper, the others a chain of matrix products".into(),
        ];
        if scale > 1 {
            notes.push(format!("scale {scale}: N_max of each row divided by {scale}"));
        }
        Ok(Runs {
            setup,
            program,
            folder: tempfile::tempdir()?,
            scale,
            cores,
            seconds: HashMap::new(),
            strengths: HashMap::new(),
            notes,
        })
    }

    fn n_max(&self, row: &str) -> u32 {
        row.split(',').next().and_then(|n_max| n_max.trim().parse::<u32>().ok()).unwrap_or(0) / self.scale
    }

    fn failed(what: &str, output: &std::process::Output) -> PaperError {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = said.len().saturating_sub(3);
        PaperError::Run { what: what.into(), said: said[last..].join("; ") }
    }

    /// The matrix elements of a space, as 8-byte numbers.
    fn elements(&self, n_max: u32) -> Result<PathBuf, PaperError> {
        let file = self.folder.path().join(format!("elements_{n_max}.bin"));
        if !file.is_file() {
            let force = self.folder.path().join("force.toml");
            std::fs::write(&force, FORCE)?;
            let mut command = Command::new(&self.program);
            command.args(["su3", "elements", "--n-max", &n_max.to_string(), "--interaction"]);
            let output = command.arg(&force).arg("--output").arg(&file).output()?;
            if !output.status.success() {
                return Err(Runs::failed("su3 elements", &output));
            }
        }
        Ok(file)
    }

    /// Wall seconds of a run, done once.
    fn seconds(&mut self, way: Way) -> Result<f64, PaperError> {
        if let Some(seconds) = self.seconds.get(&way) {
            return Ok(*seconds);
        }
        let Way { n_max, processes, on_device, published_sum } = way;
        let elements = self.elements(n_max)?;
        let cache = tempfile::tempdir()?;
        let result = self.folder.path().join("strengths.bin");
        let mut command = if processes > 1 {
            let mut command = Command::new("mpirun");
            command.args(["-n", &processes.to_string()]).arg(&self.program).env("RAYON_NUM_THREADS", "1");
            // Open MPI refuses the root of a container otherwise.
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command
        } else {
            Command::new(&self.program)
        };
        let device = match (on_device, &self.setup.device) {
            (true, Device::Cuda(_)) => format!("cuda:{}", self.setup.ordinal),
            (true, Device::Sim(_)) => "sim".into(),
            _ => "cpu".into(),
        };
        if published_sum {
            command.args(["bench", "paper", "su3", "--device", &device, "--published-sum"]);
            command.arg(&elements).arg(n_max.to_string()).arg(&result);
        } else {
            command.args(["su3", "transform", "--n-max", &n_max.to_string(), "--device", &device]);
            if self.setup.device.is_cuda() && on_device {
                command.arg("--no-tune");
            }
            command.arg("--interaction").arg(&elements).arg("--output").arg(&result);
        }
        command.env("EIGENFORGE_CACHE", cache.path());
        let started = Instant::now();
        let name = if published_sum { "the published sum" } else { "su3 transform" };
        let what = format!("{name} at N_max = {n_max}, {processes} process(es)");
        let output =
            command.output().map_err(|error| PaperError::Run { what: what.clone(), said: error.to_string() })?;
        let seconds = started.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(Runs::failed(&what, &output));
        }
        self.compare(n_max, &result)?;
        for file in std::fs::read_dir(self.folder.path())?.flatten() {
            if file.file_name().to_string_lossy().starts_with("strengths") {
                std::fs::remove_file(file.path())?;
            }
        }
        let terms = String::from_utf8_lossy(&output.stdout);
        let terms = if published_sum { format!(", {}", terms.trim()) } else { String::new() };
        say!("{name}, N_max = {n_max}, {processes} process(es), {device}: {seconds:.2} s{terms}");
        self.seconds.insert(way, seconds);
        Ok(seconds)
    }

    /// Holds the strengths against those of the space's first run.
    fn compare(&mut self, n_max: u32, file: &Path) -> Result<(), PaperError> {
        let bytes = std::fs::read(file)?;
        // A short header, then the numbers of each channel.
        let each = eigenforge::su3::OscillatorSpace { n_max }.counts().elements as usize;
        let channels = bytes.len() / (8 * each).max(1);
        let numbers = bytes.rchunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap_or_default()));
        let found: Vec<f64> = numbers.take(channels * each).collect();
        let expected = self.strengths.entry(n_max).or_insert_with(|| found.clone());
        let largest = expected.iter().fold(0.0f64, |most, number| most.max(number.abs()));
        let worst = found
            .iter()
            .zip(&*expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, |most, difference| if difference > most || difference.is_nan() { difference } else { most });
        if found.len() == expected.len() && worst <= SAME * largest {
            return Ok(());
        }
        let difference = worst / largest;
        Err(PaperError::Strengths { n_max, difference })
    }
}

/// Table 2: a row per N_max, one process with all cores.
fn spaces(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    let rows: Vec<u32> = table.rows().iter().map(|row| runs.n_max(row.0)).collect();
    let with_device = runs.setup.device.runs_kernels();
    let limit = LARGEST_SUM[usize::from(runs.setup.device.is_cuda())];
    let mut cells: [Vec<Option<f64>>; 4] = Default::default();
    for n_max in rows {
        let way = |on_device, published_sum| Way { n_max, processes: 1, on_device, published_sum };
        let cpu = runs.seconds(way(false, false))?;
        let device = if with_device { Some(runs.seconds(way(true, false))?) } else { None };
        let sum = if n_max <= limit { Some(runs.seconds(way(with_device, true))?) } else { None };
        let numbers = [Some(cpu), device, device.map(|seconds| cpu / seconds), sum];
        cells.iter_mut().zip(numbers).for_each(|(cells, number)| cells.push(number));
    }
    runs.notes.push(format!("the published sum to N_max = {limit}: beyond it takes hours"));
    let [cpu, device, faster, sum] = cells;
    let sum_name = if with_device { "published sum, CPU + device" } else { "published sum, CPU" };
    let mut measured = vec![MeasuredColumn::new("CPU", "s", 2, cpu)];
    if with_device {
        measured.push(MeasuredColumn::new("CPU + device", "s", 2, device));
        measured.push(MeasuredColumn::new("speed-up", "", 2, faster));
    }
    measured.push(MeasuredColumn::new(sum_name, "s", 2, sum));
    Ok(finish(runs, table, measured))
}

/// Table 1: a row per N_max and number of processes; as many as there are cores.
fn processes(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    let with_device = runs.setup.device.runs_kernels();
    let mut cells: [Vec<Option<f64>>; 5] = Default::default();
    let mut first = HashMap::new();
    let mut without_mpi = None;
    for (row, _) in table.rows() {
        let n_max = runs.n_max(row);
        let workers = row.split([',', '+']).nth(1).and_then(|workers| workers.trim().parse::<u32>().ok()).unwrap_or(0);
        let alone = runs.seconds(Way { n_max, processes: 1, on_device: false, published_sum: false })?;
        let mut numbers = [Some(alone), None, None, None, None];
        if workers < runs.cores && without_mpi.is_none() {
            let way = |on_device| Way { n_max, processes: workers + 1, on_device, published_sum: false };
            match runs.seconds(way(false)) {
                Ok(seconds) => {
                    let (base_workers, base) = *first.entry(n_max).or_insert((workers, seconds));
                    let efficiency = base * f64::from(base_workers) / (seconds * f64::from(workers));
                    let device = if with_device { Some(runs.seconds(way(true))?) } else { None };
                    numbers = [
                        Some(alone),
                        Some(seconds),
                        Some(efficiency),
                        device,
                        device.map(|on_device| seconds / on_device),
                    ];
                }
                Err(PaperError::Run { said, .. }) => without_mpi = Some(said),
                Err(other) => return Err(other),
            }
        }
        cells.iter_mut().zip(numbers).for_each(|(cells, number)| cells.push(number));
    }
    runs.notes.push(match without_mpi {
        None => {
            format!("processes of one thread each, as far as {} cores go; efficiency by the first of them", runs.cores)
        }
        Some(why) => format!("no runs of several processes: {why}"),
    });
    let [alone, cpu, efficiency, device, faster] = cells;
    let mut measured = vec![
        MeasuredColumn::new("one process, all cores", "s", 2, alone),
        MeasuredColumn::new("CPU", "s", 2, cpu),
        MeasuredColumn::new("efficiency", "", 2, efficiency),
    ];
    if with_device {
        measured.push(MeasuredColumn::new("CPU + device", "s", 2, device));
        measured.push(MeasuredColumn::new("speed-up", "", 2, faster));
    }
    Ok(finish(runs, table, measured))
}

fn finish(runs: &mut Runs<'_>, table: &PublishedTable, measured: Vec<MeasuredColumn>) -> PaperTable {
    let notes = std::mem::take(&mut runs.notes);
    let mut redrawn = PaperTable { published: table.clone(), measured, device: None, notes };
    if matches!(runs.setup.device, Device::Sim(_)) {
        redrawn.notes.push("the simulator checks the kernels; its times say nothing of a card".into());
    }
    redrawn.device = Some(format!("{}; CPU: {}", runs.setup.device.name(), Device::cpu().name()));
    redrawn
}
