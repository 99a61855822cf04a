//! `eigenforge solve MODEL.toml`, for a file with `[dmrg]`: operator → chain → sweeps → report.

use super::Outcome;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::{print, span};
use super::record::{kernel_records, versions, warnings_of};
use super::{overrides, refuse};
use eigenforge::dmrg::bounded::Bounded;
use eigenforge::dmrg::forecast::Forecast;
use eigenforge::dmrg::memory::{Asked, Budget, MemoryPlan};
use eigenforge::dmrg::resident::{self, Resident};
use eigenforge::dmrg::{
    self, Chain, Checkpoint, Correlations, Found, Options, Stop, Strategy, Told, memory, ordering, site::Kind,
};
use eigenforge::input::DmrgFile;
use eigenforge::problem::{ChainProblem, Family, Problem};
use eigenforge::report::{DmrgReport, DmrgSeconds, MemoryItem, MemoryRecord, ModelRecord, SiteAverages};
use eigenforge::words::size;
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options of the command line that have no meaning here.
fn check(arguments: &SolveArguments) -> Result<(), CommandError> {
    refuse::options(
        Family::Dmrg,
        &[
            ("--solver", arguments.solver.is_some(), "DMRG is the solver of a file with [dmrg]"),
            ("--states", arguments.states.is_some(), "write `states`, the states kept, in [dmrg]"),
            ("--max-iterations", arguments.max_iterations.is_some(), "write `sweeps` in [dmrg]"),
            ("--checkpoint-every", arguments.checkpoint_every.is_some(), "DMRG saves after every half sweep"),
            ("--vectors", arguments.vectors, "a DMRG state cannot be written as a vector over a basis"),
            ("--no-tune", arguments.no_tune, "`eigenforge tune` times lattice models only"),
        ],
    )
}

/// Solves and reports; `start` is when the verb began.
pub(super) fn solve(arguments: &SolveArguments, file: &DmrgFile, start: Instant) -> Result<Outcome, CommandError> {
    check(arguments)?;
    let problem = ChainProblem::new(file.clone())?;
    let ChainProblem { chain, options, .. } = &problem;
    let (device, why) = device(&arguments.device, chain, options)?;
    overrides::give(&device, arguments.overrides.as_deref())?;
    let engine = Chosen::new(&device, file)?;
    let (most, budget) = (options.states.iter().copied().max().unwrap_or(1), engine.budget());
    let asked = Asked::first(options, most, options.first_whole(), options.sweeps);
    if !arguments.json {
        print(&(problem.describe() + &why))?;
    }
    let plan = memory::first_plan(chain, asked, budget)?;
    if !arguments.json {
        print(&format!("memory   {}\n\n", planned(&plan, budget)))?;
    }
    let setup = start.elapsed().as_secs_f64();
    let checkpoint =
        arguments.checkpoint.as_ref().map(|folder| Checkpoint { folder: folder.clone(), resume: arguments.resume });
    let display = Display::new(arguments.json);
    let tell = |told: &Told<'_>| display.show(told);
    let found = match engine {
        Chosen::Host(engine) => dmrg::run_on(engine, chain, options, checkpoint.as_ref(), tell),
        Chosen::Card(engine) => dmrg::run_on(*engine, chain, options, checkpoint.as_ref(), tell),
    };
    display.finish();
    let mut report = record(file, chain, found?, memory_of(&plan, budget), &device);
    report.seconds.setup = setup;
    report.seconds.total = start.elapsed().as_secs_f64();
    print(&if arguments.json { report.to_json()? + "\n" } else { report.summary() })?;
    if arguments.json {
        report.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    }
    if let Some(folder) = &file.model.output.folder {
        for file in report.write(folder)? {
            say!("wrote {}", file.display());
        }
    }
    Ok(if report.converged() { Outcome::Done } else { Outcome::NotConverged })
}

/// The device of a name, and a line that says why where it was left to us: the one that is predicted to be quicker.
fn device(name: &str, chain: &Chain, options: &Options) -> Result<(Device, String), CommandError> {
    if name != "auto" {
        let device = Device::parse(name)?;
        options.strategy.check(&device)?;
        options.cpu_share.check(&device)?;
        return Ok((device, String::new()));
    }
    let (best, reason) = Device::best_with_reason();
    if let Some(reason) = reason {
        say!("no CUDA device is used: {reason}");
    }
    if options.strategy != Strategy::Planned {
        options.strategy.check(&best)?;
        return Ok((best, format!("device   the card: strategy = \"{}\" runs there\n", options.strategy.name())));
    }
    if options.cpu_share.needs_a_card() {
        options.cpu_share.check(&best)?;
        return Ok((best, "device   the card: a part of H x is for the CPU beside it\n".into()));
    }
    if !best.is_cuda() || options.targets > resident::most_targets() {
        return Ok((Device::cpu(), String::new()));
    }
    let most = options.states.iter().copied().max().unwrap_or(1);
    let forecast = Forecast::of(chain, most, &Machine::of(&best))?;
    let (device, word) = if forecast.prefers_the_card() { (best, "card") } else { (Device::cpu(), "CPU") };
    Ok((device, format!("device   the {word}: {}\n", forecast.describe())))
}

/// The engine of the device, within the limits of the file.
enum Chosen {
    Host(Bounded),
    Card(Box<Resident>),
}

impl Chosen {
    fn new(device: &Device, file: &DmrgFile) -> Result<Chosen, CommandError> {
        let spec = &file.dmrg;
        // The output folder, or what is there of the way to it.
        let beside = |folder: &PathBuf| {
            let named = folder.ancestors().filter(|path| !path.as_os_str().is_empty());
            named.chain([Path::new(".")]).find(|path| path.is_dir()).map(Path::to_path_buf)
        };
        let output = file.model.output.folder.as_ref().and_then(beside);
        let scratch = spec.scratch.clone().or(output).unwrap_or_else(std::env::temp_dir);
        if device.runs_kernels() {
            let limits = resident::Limits::of(device, spec.memory, spec.host_memory, scratch);
            return Ok(Chosen::Card(Box::new(Resident::within(device, limits)?)));
        }
        let limit = spec.memory.unwrap_or(Bounded::default_limit());
        Ok(Chosen::Host(Bounded::within(limit, scratch)))
    }

    fn budget(&self) -> Budget {
        match self {
            Chosen::Host(engine) => engine.limits(),
            Chosen::Card(engine) => engine.limits(),
        }
    }
}

/// The plan by item, against what may be held.
fn memory_of(plan: &MemoryPlan, budget: Budget) -> MemoryRecord {
    let items = plan.items().into_iter().map(|(name, bytes)| MemoryItem { name, bytes }).collect();
    MemoryRecord { items, planned_bytes: plan.whole, available_bytes: budget.memory }
}

/// One line.
fn planned(plan: &MemoryPlan, budget: Budget) -> String {
    let items: Vec<String> = plan.items().iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
    format!("{} of {} at most: {}", plan.describe(), size(budget.memory), items.join(", "))
}

fn record(file: &DmrgFile, chain: &Chain, found: Found, memory: MemoryRecord, device: &Device) -> DmrgReport {
    let model = &file.model;
    let mut by_site: Vec<_> = chain.order.iter().copied().zip(found.sites).collect();
    by_site.sort_by_key(|(site, _)| *site);
    let sweeps = found.sweeps.iter().chain(found.excited.iter().flat_map(|state| &state.sweeps));
    let flops = sweeps.map(|sweep| sweep.flops).chain(found.growth.iter().map(|step| step.flops)).sum();
    let electrons = matches!(chain.site.kind, Kind::Electrons);
    let density = |mode: usize| -> Option<Vec<f64>> {
        by_site.iter().map(|(_, averages)| averages.densities.as_ref()?.get(mode).copied()).collect()
    };
    let pairs: Option<Vec<f64>> = by_site.iter().map(|(_, averages)| averages.pairs).collect();
    let flavours = (0..chain.site.kind.modes().len()).map(density).collect::<Option<Vec<_>>>();
    let sites = SiteAverages {
        n_up: density(0).filter(|_| electrons),
        n_dn: density(1).filter(|_| electrons),
        n_flavour: flavours.filter(|densities| !electrons && !densities.is_empty()),
        double_occupancy: pairs,
        sz: by_site.iter().map(|(_, averages)| averages.sz).collect(),
    };
    DmrgReport {
        model: ModelRecord { name: model.model.name().into(), file: model.name.clone(), text: model.text.clone() },
        dmrg: file.dmrg.clone(),
        lattice: model.lattice.describe(),
        sector: model.sector.clone(),
        order: chain.order.clone(),
        longest_bond: ordering::bandwidth(&model.lattice, &chain.order),
        operator_sum_width: chain.sum.width(),
        norm: chain.units.scale * chain.units.norm,
        energies: std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect(),
        variances: std::iter::once(found.variance).chain(found.excited.iter().map(|state| state.variance)).collect(),
        energy: found.energy,
        average: found.average,
        variance: found.variance,
        extrapolated: found.extrapolated,
        discarded: match found.sweeps.last() {
            Some(sweep) => sweep.discarded,
            None => found.growth.iter().map(|step| step.discarded).fold(0.0, f64::max),
        },
        stop: match found.stop {
            Stop::Converged => "converged",
            Stop::Sweeps => "sweeps",
            Stop::Grown => "grown",
        }
        .into(),
        polish: found.polish,
        growth: found.growth,
        excited: found.excited,
        flops,
        sweeps: found.sweeps,
        check: found.check,
        restarts: found.restarts,
        resumed_sweeps: found.resumed,
        cuts: found.cuts,
        sites,
        correlations: found.correlations.map(|found| by_lattice_site(found, &chain.order)),
        device: device.name(),
        kernels: kernel_records(device),
        seconds: DmrgSeconds { sweeps: found.sweeping, measure: found.measuring, ..DmrgSeconds::default() },
        versions: versions(device),
        warnings: warnings_of(chain.warnings.iter().cloned().chain(found.warnings).collect(), device),
        memory,
        memory_held: found.memory,
    }
}

/// Rows and columns by lattice site in place of the position.
fn by_lattice_site(found: Correlations, order: &[usize]) -> Correlations {
    let position = ordering::positions(order);
    let sorted = |matrix: Vec<Vec<f64>>| {
        let row = |i: &usize| position.iter().map(|j| matrix[*i][*j]).collect();
        position.iter().map(row).collect::<Vec<Vec<f64>>>()
    };
    let cdag_c = found.cdag_c.map(|modes| modes.into_iter().map(sorted).collect());
    Correlations { szsz: found.szsz.map(sorted), sdots: found.sdots.map(sorted), nn: found.nn.map(sorted), cdag_c }
}

/// Between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(2);

/// Progress by bond and sweep on standard error: a bar on a terminal, plain lines otherwise.
struct Display {
    /// Whether standard output is for one JSON object.
    json: bool,
    bar: Option<ProgressBar>,
    last: std::cell::Cell<Option<Instant>>,
}

impl Display {
    fn new(json: bool) -> Display {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{prefix:>8} [{bar:24}] {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar
        });
        Display { json, bar, last: std::cell::Cell::new(None) }
    }

    fn show(&self, told: &Told<'_>) {
        if let Some(plan) = told.memory.filter(|_| !self.json) {
            let line = format!("memory   {} from here on\n", plan.describe());
            // A reader that has gone is told of at the end of the run.
            let _ = match &self.bar {
                Some(bar) => bar.suspend(|| print(&line)),
                None => print(&line),
            };
        }
        if let Some(bar) = &self.bar {
            bar.set_prefix(format!("{}{}", stage(told), told.grown.unwrap_or(told.sweep)));
            bar.set_position((1000.0 * told.part) as u64);
            bar.set_message(line(told));
            return;
        }
        let due = self.last.get().is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
        if due || told.part == 1.0 {
            self.last.set(Some(Instant::now()));
            say!("{}{:>3}  {}", stage(told), told.grown.unwrap_or(told.sweep), line(told));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// "growth", "sweep ", or "state 2, sweep " above the lowest.
fn stage(told: &Told<'_>) -> String {
    match (told.grown, told.target) {
        (Some(_), _) => "growth".into(),
        (None, 0) => "sweep ".into(),
        (None, target) => format!("state {target}, sweep "),
    }
}

/// Bond, energy, states, discarded weight, time, time left in this sweep.
fn line(told: &Told<'_>) -> String {
    let left = told.record.seconds * (1.0 - told.part) / told.part.max(1e-9);
    format!(
        "bond {:>4}  energy {:>17.10}  m {:>5}  discarded {:>8.1e}  {}, {} left of {} sweeps at most",
        told.bond.bond,
        told.record.energy,
        told.record.kept,
        told.record.discarded,
        span(told.elapsed),
        span(left + told.record.seconds / told.part.max(1e-9) * told.sweeps.saturating_sub(1 + told.sweep) as f64),
        told.sweeps
    )
}
