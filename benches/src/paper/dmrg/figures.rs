//! The measured figures of the paper, drawn anew.
//!
//! In: the number of a figure. Out: [`PaperFigure`]. Where the paper has a figure for each of its two cards, ours stands for the
//! second one's, and the first one's number is refused with a hint.

use super::super::figure::{PaperFigure, Series};
use super::super::published::Paper;
use super::super::{PaperError, Setup};
use super::lines::{self, Timed};
use super::runs::{Model, Place, Runs};
use super::steps::Step;
use crate::dmrg::projection::Case;
use crate::dmrg::{cpu_shares, projection};
use eigenforge::dmrg::SuperblockForm;
use eigenforge_runtime::records::CpuShare;
use eigenforge_runtime::solvers::lean::WIDTH;
use eigenforge_runtime::{Device, say};

/// Figures that can be asked for, with what they show.
pub(in super::super) const FIGURES: [(u32, &str); 16] = [
    (1, "Heisenberg: size of the superblock"),
    (2, "Hubbard: size of the superblock"),
    (3, "Heisenberg: a step, its Davidson search and the search's products"),
    (4, "Hubbard: a step, its Davidson search and the search's products"),
    (5, "Heisenberg: memory that is left beside the projection, and what V needs"),
    (7, "V^T w of 5e5 rows, no shuffles"),
    (8, "V^T w of 1e5 rows, shuffles"),
    (9, "V^T w of 5e5 rows, shuffles"),
    (10, "V^T w of 1e6 rows, shuffles"),
    (11, "V y of 5e5 rows"),
    (12, "Heisenberg: memory of the strategies"),
    (14, "strategies by size of the matrices"),
    (17, "Heisenberg: H x on CPU and device together"),
    (18, "Hubbard: H x on CPU and device together"),
    (19, "Heisenberg: parts of a run on the CPU and on the device"),
    (20, "Hubbard: parts of a run on the CPU and on the device"),
];

/// Vectors of V in figures 7 to 11.
const WIDTHS: [usize; 12] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32];
/// Belts of the paper's kernel.
const BELTS: [usize; 4] = [4, 8, 16, 32];
/// Sizes of figure 14.
const SIZES: [usize; 9] = [64, 100, 200, 400, 800, 1_000, 1_500, 2_000, 3_000];

/// Measures a figure.
///
/// # Errors
/// A device that fails, results that differ, a device that has no such thing.
pub(in super::super) fn measure(number: u32, runs: &mut Runs<'_>) -> Result<PaperFigure, PaperError> {
    match number {
        1 => sizes(number, runs, Model::Heisenberg),
        2 => sizes(number, runs, Model::Hubbard),
        3 => parts_by_states(number, runs, Model::Heisenberg),
        4 => parts_by_states(number, runs, Model::Hubbard),
        5 => free_memory(number, runs),
        7 => inner_products(number, runs.setup, 500_000, false),
        8 => inner_products(number, runs.setup, 100_000, true),
        9 => inner_products(number, runs.setup, 500_000, true),
        10 => inner_products(number, runs.setup, 1_000_000, true),
        11 => combinations(number, runs.setup, 500_000),
        12 => footprints(number, runs),
        14 => strategies(number, runs.setup),
        17 => hybrid(number, runs, Model::Heisenberg),
        18 => hybrid(number, runs, Model::Hubbard),
        19 => acceleration(number, runs, Model::Heisenberg),
        20 => acceleration(number, runs, Model::Hubbard),
        _ => Err(PaperError::NoSuchFigure { number, why: "no code measures it".into() }),
    }
}

/// What figure it is, without its numbers.
fn empty(number: u32, x: &'static str, y: &'static str) -> PaperFigure {
    let caption = FIGURES.iter().find(|(known, _)| *known == number).map_or("", |(_, caption)| caption);
    PaperFigure {
        paper: Paper::Dmrg,
        number,
        caption: caption.into(),
        x,
        y,
        digits: 3,
        points: Vec::new(),
        series: Vec::new(),
        device: None,
        notes: Vec::new(),
    }
}

/// The last step of each number of kept states, with that number: blocks of a full step hold as many before it.
fn by_states(steps: &[Step]) -> Vec<&Step> {
    let mut last: Vec<&Step> = Vec::new();
    for step in steps {
        match last.last() {
            Some(before) if before.kept == step.kept => {
                *last.last_mut().unwrap_or_else(|| unreachable!("just seen")) = step
            }
            _ => last.push(step),
        }
    }
    last
}

fn states_of(steps: &[&Step]) -> Vec<String> {
    steps.iter().map(|step| step.kept.to_string()).collect()
}

const STATES: &str = "states kept of a block";

/// Figures 1 and 2.
fn sizes(number: u32, runs: &mut Runs<'_>, model: Model) -> Result<PaperFigure, PaperError> {
    let run = runs.run(model, runs.anywhere(), SuperblockForm::Planned)?;
    let steps = by_states(&run.steps);
    let series = |name: &str, of: &dyn Fn(&Step) -> f64| Series::new(name, steps.iter().map(|s| Some(of(s))).collect());
    Ok(PaperFigure {
        points: states_of(&steps),
        series: vec![
            series("no charge fixed", &|step| step.unrestricted),
            series("the sector of the run", &|step| step.dimension as f64),
            series("its largest pair of sectors", &|step| step.largest_sector as f64),
        ],
        notes: vec![runs.note.clone(), "the last step of each number of kept states".into()],
        ..empty(number, STATES, "elements of the superblock's vector")
    })
}

/// Figures 3 and 4.
fn parts_by_states(number: u32, runs: &mut Runs<'_>, model: Model) -> Result<PaperFigure, PaperError> {
    let places = match runs.anywhere() {
        Place::Cpu => vec![("CPU", Place::Cpu)],
        device => vec![("CPU", Place::Cpu), ("device", device)],
    };
    let mut figure = empty(number, STATES, "s a step");
    for (name, place) in places {
        let run = runs.run(model, place, SuperblockForm::Planned)?;
        let steps = by_states(&run.steps);
        figure.points = states_of(&steps);
        let mut add = |what: &str, of: &dyn Fn(&Step) -> f64| {
            let values = steps.iter().map(|step| Some(of(step))).collect();
            figure.series.push(Series::new(format!("{name}, {what}"), values));
        };
        add("whole step", &|step| step.seconds);
        add("Davidson", &|step| step.solve);
        add("H x", &|step| step.product * step.products as f64);
        add("truncations", &|step| step.truncation);
    }
    figure.device = Some(runs.places());
    figure.notes = vec![
        runs.note.clone(),
        "planned records; H x: the products of the search at the time of one, measured apart".into(),
    ];
    figure.digits = 5;
    Ok(figure)
}

/// Figure 5.
fn free_memory(number: u32, runs: &mut Runs<'_>) -> Result<PaperFigure, PaperError> {
    let run = runs.run(Model::Heisenberg, runs.anywhere(), SuperblockForm::LeftRight)?;
    let steps = by_states(&run.steps);
    let memory = runs.setup.device.memory().total as f64;
    let giga = |of: &dyn Fn(&Step) -> f64| steps.iter().map(|step| Some(1e-9 * of(step))).collect::<Vec<_>>();
    Ok(PaperFigure {
        points: states_of(&steps),
        series: vec![
            Series::new("left beside 4Streams", giga(&|step| (memory - step.memory.four_streams()).max(0.0))),
            Series::new("V", giga(&|step| (WIDTH.min(step.dimension) * 8 * step.dimension) as f64)),
            Series::new("V and W", giga(&|step| (2 * WIDTH.min(step.dimension) * 8 * step.dimension) as f64)),
        ],
        device: Some(runs.places()),
        notes: vec![runs.note.clone(), format!("a basis of {WIDTH} vectors; the paper's list of records (LR)")],
        ..empty(number, STATES, "10^9 bytes")
    })
}

/// Figure 12.
fn footprints(number: u32, runs: &mut Runs<'_>) -> Result<PaperFigure, PaperError> {
    let place = runs.anywhere();
    let list = runs.run(Model::Heisenberg, place, SuperblockForm::LeftRight)?;
    let planned = runs.run(Model::Heisenberg, place, SuperblockForm::Planned)?;
    let (steps, ours) = (by_states(&list.steps), by_states(&planned.steps));
    let mega =
        |steps: &[&Step], of: &dyn Fn(&Step) -> f64| steps.iter().map(|s| Some(1e-6 * of(s))).collect::<Vec<_>>();
    Ok(PaperFigure {
        points: states_of(&steps),
        series: vec![
            Series::new("4Streams", mega(&steps, &|step| step.memory.four_streams())),
            Series::new("NoStreams", mega(&steps, &|step| step.memory.no_streams())),
            Series::new("ours, the same records", mega(&steps, &|step| step.memory.planned())),
            Series::new("ours, planned records", mega(&ours, &|step| step.memory.planned())),
        ],
        notes: vec![
            runs.note.clone(),
            "counted from the records: 4Streams holds A, B, X, X' and an intermediate a stream, NoStreams A, B, X' and the \
             segment and intermediate at work; ours all intermediates"
                .into(),
        ],
        ..empty(number, STATES, "10^6 bytes")
    })
}

/// The same program's values over several points.
fn gathered(rows: &[Vec<Timed>], value: impl Fn(usize, f64) -> f64) -> Vec<Series> {
    let mut names: Vec<String> = Vec::new();
    for timed in rows.iter().flatten() {
        if !names.contains(&timed.name) {
            names.push(timed.name.clone());
        }
    }
    let of = |name: &String| {
        let cell = |(k, row): (usize, &Vec<Timed>)| {
            row.iter().find(|timed| timed.name == *name).map(|timed| value(k, timed.seconds))
        };
        Series::new(name.clone(), rows.iter().enumerate().map(cell).collect())
    };
    names.iter().map(of).collect()
}

/// Rows of V after the scale, and what is said of it.
fn rows_of(setup: &Setup, rows: usize) -> (usize, String) {
    let by_device = if matches!(setup.device, Device::Sim(_)) { 500 } else { 1 };
    let scale = setup.scale.map_or(by_device, |scale| scale as usize);
    let length = (rows / scale).max(32);
    (length, format!("{length} rows (paper: {rows}), data that is in no cache; sums compared first"))
}

/// The device, and the CPU beside it if they are two.
fn both(setup: &Setup) -> Vec<(&'static str, Device)> {
    match setup.device.runs_kernels() {
        true => vec![("", setup.device.clone()), ("CPU, ", Device::cpu())],
        false => vec![("CPU, ", setup.device.clone())],
    }
}

/// Figures 7 to 10.
fn inner_products(number: u32, setup: &Setup, rows: usize, shuffle: bool) -> Result<PaperFigure, PaperError> {
    let figure = speeds(number, setup, rows, |length, width, device| {
        let belts: Vec<(usize, bool)> = BELTS.iter().filter(|b| **b <= width.max(4)).map(|b| (*b, shuffle)).collect();
        lines::transposed(length, width, &belts, device, setup.ordinal, setup.repeats)
    })?;
    let note = "bytes of V and w, each once; more than 24 vectors are two programs of ours";
    Ok(PaperFigure { notes: [figure.notes, vec![note.into()]].concat(), ..figure })
}

/// Figure 11.
fn combinations(number: u32, setup: &Setup, rows: usize) -> Result<PaperFigure, PaperError> {
    let figure = speeds(number, setup, rows, |length, width, device| {
        lines::combined(length, width, device, setup.ordinal, setup.repeats)
    })?;
    Ok(PaperFigure { notes: [figure.notes, vec!["bytes of V and of the result, each once".into()]].concat(), ..figure })
}

/// GB/s of an operation with V and one vector more, by number of vectors.
fn speeds(
    number: u32,
    setup: &Setup,
    rows: usize,
    time: impl Fn(usize, usize, &Device) -> Result<Vec<Timed>, PaperError>,
) -> Result<PaperFigure, PaperError> {
    let (length, said) = rows_of(setup, rows);
    let mut table = Vec::new();
    for width in WIDTHS {
        let mut row = Vec::new();
        for (place, device) in both(setup) {
            let timed = time(length, width, &device)?;
            row.extend(timed.into_iter().map(|timed| Timed { name: format!("{place}{}", timed.name), ..timed }));
        }
        table.push(row);
    }
    let speed = |k: usize, seconds: f64| 1e-9 * 8.0 * length as f64 * (WIDTHS[k] + 1) as f64 / seconds;
    Ok(PaperFigure {
        digits: 1,
        points: WIDTHS.map(|width| width.to_string()).to_vec(),
        series: gathered(&table, speed),
        device: Some(format!("{}; CPU: {}", setup.device.name(), Device::cpu().name())),
        notes: vec![said],
        ..empty(number, "vectors", "GB/s")
    })
}

/// Figure 14.
fn strategies(number: u32, setup: &Setup) -> Result<PaperFigure, PaperError> {
    let by_device = match setup.device {
        Device::Cuda(_) => 1,
        Device::Cpu(_) => return Err(needs_kernels(number, setup)),
        Device::Sim(_) => 16,
    };
    let scale = setup.scale.unwrap_or(by_device) as usize;
    let (mut points, mut rates) = (Vec::new(), Vec::new());
    for size in SIZES.map(|size| (size / scale).max(4)) {
        let case = Case::uniform_of(size, 10_000_000 / (scale * scale));
        let timed = projection::measured(&case, &setup.device, setup.ordinal, setup.repeats)
            .map_err(|error| PaperError::Run { what: case.name.clone(), said: error.to_string() })?;
        say!("{}", case.name);
        points.push(size.to_string());
        let row: Vec<Timed> = timed
            .into_iter()
            .map(|(name, milliseconds)| Timed { name, seconds: 1e-3 * milliseconds / case.flops() })
            .collect();
        rates.push(row);
    }
    Ok(PaperFigure {
        digits: 1,
        points,
        series: gathered(&rates, |_, seconds_a_flop| 1e-9 / seconds_a_flop),
        device: Some(setup.device.name()),
        notes: vec!["output blocks of one size, together some 10^7 elements, each the sum of four products".into()],
        ..empty(number, "rows of a matrix", "GFLOP/s")
    })
}

fn needs_kernels(number: u32, setup: &Setup) -> PaperError {
    let why = format!("it needs a device that runs kernels, and {} does not", setup.device.name());
    PaperError::NoSuchFigure { number, why }
}

/// Figures 17 and 18.
fn hybrid(number: u32, runs: &mut Runs<'_>, model: Model) -> Result<PaperFigure, PaperError> {
    let setup = runs.setup;
    if !setup.device.runs_kernels() {
        return Err(needs_kernels(number, setup));
    }
    // A block of n sites has 2^n states, or 4^n.
    let (bits, least) = if model == Model::Heisenberg { (1, 6) } else { (2, 2) };
    let most = (runs.states.ilog2() as usize / bits).max(least);
    let mut figure = empty(number, "states of a block", "GFLOP/s");
    let shares = [CpuShare::default(), CpuShare::Part(0.05), CpuShare::Part(0.2), CpuShare::Auto];
    let mut rows = Vec::new();
    for sites in least..=most {
        let (length, form) = (2 * sites + 2, SuperblockForm::LeftRight);
        let case = if bits == 1 { Case::heisenberg(length, form) } else { Case::hubbard(length, form) };
        let wrong = |error: crate::dmrg::DmrgBenchError| PaperError::Run {
            what: format!("blocks of {sites} sites"),
            said: error.to_string(),
        };
        let case = case.map_err(wrong)?;
        let timed = cpu_shares::times(&case, &shares, &setup.device, setup.repeats).map_err(wrong)?;
        figure.points.push((1u64 << (bits * sites)).to_string());
        let host = projection::on_host(&case, 1);
        let mut row = vec![Timed { name: "CPU alone".into(), seconds: host / case.flops() }];
        for (share, milliseconds) in shares.iter().zip(timed) {
            let name = match share {
                CpuShare::Auto => "both, share auto".into(),
                CpuShare::Part(0.0) => "device alone".into(),
                part => format!("both, {part} on the CPU"),
            };
            row.push(Timed { name, seconds: 1e-3 * milliseconds / case.flops() });
        }
        rows.push(row);
    }
    figure.series = gathered(&rows, |_, seconds_a_flop| 1e-9 / seconds_a_flop);
    figure.device = Some(runs.places());
    figure.digits = 1;
    figure.notes = vec![
        "the bond between two blocks that keep all states, the paper's list of records (LR); copies of x and of the CPU's \
         blocks included; products compared first"
            .into(),
    ];
    Ok(figure)
}

/// Figures 19 and 20.
fn acceleration(number: u32, runs: &mut Runs<'_>, model: Model) -> Result<PaperFigure, PaperError> {
    let device = match runs.anywhere() {
        Place::Cpu => return Err(needs_kernels(number, runs.setup)),
        device => device,
    };
    let parts = |run: &super::runs::Run| {
        let sum = |of: &dyn Fn(&Step) -> f64| run.steps.iter().map(of).sum::<f64>();
        let products = sum(&|step| step.product * step.products as f64);
        let (solve, all) = (sum(&|step| step.solve), sum(&|step| step.seconds));
        [products, (solve - products).max(0.0), (all - solve).max(0.0), all]
    };
    let cpu = parts(&*runs.run(model, Place::Cpu, SuperblockForm::Planned)?);
    let device = parts(&*runs.run(model, device, SuperblockForm::Planned)?);
    let series = |name: &str, values: [f64; 4]| Series::new(name, values.map(Some).to_vec());
    let ratio = std::array::from_fn(|k| cpu[k] / device[k].max(1e-9));
    Ok(PaperFigure {
        points: ["H x", "matrix-vector operations", "the rest", "all"].map(String::from).to_vec(),
        series: vec![series("CPU", cpu), series("device", device), series("times faster", ratio)],
        device: Some(runs.places()),
        notes: vec![
            runs.note.clone(),
            "planned records; matrix-vector operations: Davidson's search without its products".into(),
        ],
        ..empty(number, "part of a run", "s")
    })
}
