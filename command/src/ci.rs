//! `eigenforge solve MOLECULE.toml`, for a file with `[ci]`: integrals → determinants → solver → spins, densities, report.

use super::Outcome;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::progress::Display;
use super::record::{kernel_records, stop_word, versions, warnings_of};
use super::refuse;
use super::solve::{memory_lines, memory_record, open_device};
use eigenforge::ci::natural::natural_orbitals;
use eigenforge::ci::{
    CiSolution, CiSolve, Molecule, NaturalOrbitals, OneBody, OneElectron, Space, Spin, density, spin,
};
use eigenforge::input::CiFile;
use eigenforge::problem::{Family, MoleculeProblem, Problem};
use eigenforge::report::{
    BasisStates, CiReport, CiSeconds, HistoryPoint, LevelRecord, MemoryRecord, ModelRecord, RunReport, VectorFile,
};
use eigenforge_runtime::say;
use eigenforge_runtime::solvers::StopReason;
use eigenforge_runtime::trace;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// (α word, β word) of every row, for vectors.npz.
fn determinants(space: &Space) -> Result<Vec<[u64; 2]>, CommandError> {
    let words = |row: u64| {
        let (up, down) = space.determinant(row);
        Some([u64::try_from(up).ok()?, u64::try_from(down).ok()?])
    };
    let orbitals = space.orbitals();
    (0..space.len()).map(words).collect::<Option<_>>().ok_or(CommandError::WideStrings { orbitals })
}

/// Solves and reports; `start` is when the verb began.
pub(super) fn solve(arguments: &SolveArguments, file: &CiFile, start: Instant) -> Result<Outcome, CommandError> {
    refuse::options(Family::Ci, &[("--no-tune", arguments.no_tune, "`eigenforge tune` times lattice models only")])?;
    let problem = MoleculeProblem::read(file.clone())?;
    let molecule = &problem.molecule;
    if !arguments.json {
        print(&problem.describe())?;
    }
    let (device, on_cpu) = open_device(arguments)?;
    let display = Arc::new(Display::new());
    let solve = options(arguments, &problem, &display);
    let memory = memory_record(&device, solve.memory_plan(&device));
    if !arguments.json {
        print(&memory_lines(&memory))?;
    }
    let read_seconds = start.elapsed().as_secs_f64();
    let solution = solve.run(&device);
    display.finish();
    let solution = solution?;
    let properties = Instant::now();
    let states = (0..file.solve.states).map(|state| solution.vector(state)).collect::<Result<Vec<_>, _>>()?;
    let multiplet = solution.ground_multiplet()?;
    let mut report = record(file, molecule, &solution, memory);
    let found = Properties::of(file, molecule, &states, &multiplet)?;
    found.tell(&mut report);
    let solve_seconds = solution.eigenpairs().seconds;
    let certify = display.seconds_of("certify", solve_seconds);
    report.seconds = CiSeconds {
        read: read_seconds,
        setup: solution.setup_seconds(),
        solve: solve_seconds - certify,
        certify,
        properties: properties.elapsed().as_secs_f64(),
        total: start.elapsed().as_secs_f64(),
    };
    report.warnings.splice(0..0, on_cpu);
    print(&if arguments.json { report.to_json()? + "\n" } else { report.summary() })?;
    if arguments.json {
        report.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    }
    if let Some(folder) = &file.output.folder {
        let mut files = vec![report.write(folder)?];
        if file.output.vectors {
            let determinants = BasisStates::Determinants(&determinants(&molecule.space)?);
            files
                .push(VectorFile { energies: &report.energies, vectors: &states, states: determinants }.write(folder)?);
        }
        if file.ci.density {
            files.push(found.write(folder, file, molecule, &multiplet)?);
        }
        files.iter().for_each(|file| say!("wrote {}", file.display()));
    }
    Ok(if report.converged() { Outcome::Done } else { Outcome::NotConverged })
}

/// What is computed from the vectors.
struct Properties {
    spins: Vec<Spin>,
    /// Averages over the lowest level, in the orbitals of the space.
    one: OneBody,
    natural: NaturalOrbitals,
    dipole: Option<Vec<f64>>,
}

impl Properties {
    fn of(
        file: &CiFile,
        molecule: &Molecule,
        states: &[Vec<f64>],
        multiplet: &[Vec<f64>],
    ) -> Result<Properties, CommandError> {
        let _properties = trace::span("observables", "spins and densities");
        let one = density::one_body(&molecule.space, multiplet)?;
        let natural = natural_orbitals(&one, &molecule.integrals.irreps)?;
        let whole = one.in_all_orbitals(file.ci.frozen, molecule.all_orbitals)?;
        let moment = |components: &Vec<OneElectron>| components.iter().map(|one| one.expectation(&whole)).collect();
        let dipole = molecule.dipole.as_ref().map(moment).transpose()?;
        Ok(Properties { spins: spin::spins(&molecule.space, states)?, one, natural, dipole })
    }

    fn tell(&self, report: &mut CiReport) {
        report.s_squared = self.spins.iter().map(|spin| spin.square).collect();
        report.natural_occupations = self.natural.occupations.clone();
        report.dipole = self.dipole.clone();
        let told = self.spins.iter().enumerate().filter_map(|(state, spin)| Some((state, spin.warning()?)));
        report.warnings.extend(told.map(|(state, warning)| format!("state {state}: {warning}")));
    }

    /// Writes density.npz, frozen orbitals included.
    fn write(
        &self,
        folder: &Path,
        file: &CiFile,
        molecule: &Molecule,
        multiplet: &[Vec<f64>],
    ) -> Result<PathBuf, CommandError> {
        let (frozen, all) = (file.ci.frozen, molecule.all_orbitals);
        let one = self.one.in_all_orbitals(frozen, all)?;
        let two = density::two_body(&molecule.space, multiplet)?.in_all_orbitals(&self.one, frozen, all)?;
        let natural = natural_orbitals(&one, &molecule.all_irreps)?;
        Ok(density::write(folder, &one, Some(&two), Some(&natural))?)
    }
}

/// The solve that file and command line ask for.
fn options<'p>(arguments: &SolveArguments, problem: &'p MoleculeProblem, display: &Arc<Display>) -> CiSolve<'p> {
    let shown = Arc::clone(display);
    let mut solve = problem.solve().progress(move |progress| shown.show(progress));
    if let Some(folder) = &arguments.checkpoint {
        solve = solve.checkpoint(folder, arguments.seconds_between_saves(), arguments.resume);
    }
    solve
}

/// The report without spins, densities and times.
fn record(file: &CiFile, molecule: &Molecule, solution: &CiSolution<'_>, memory: MemoryRecord) -> CiReport {
    let (pairs, constant, how) = (solution.eigenpairs(), solution.constant(), solution.storage_used());
    let levels: Vec<LevelRecord> = pairs
        .levels
        .iter()
        .map(|level| LevelRecord {
            energy: level.value + constant,
            multiplicity: level.multiplicity,
            returned: level.returned,
            complete: level.complete,
        })
        .collect();
    let (up, down) = molecule.integrals.spins();
    let stop = stop_word(pairs.stop);
    let history = pairs.history.iter();
    CiReport {
        model: ModelRecord { name: "ci".into(), file: file.name.clone(), text: file.text.clone() },
        ci: file.ci.clone(),
        space: molecule.words.clone(),
        orbitals: molecule.integrals.orbitals,
        electrons: [up, down],
        dimension: molecule.space.len(),
        core_energy: molecule.integrals.core,
        energies: solution.energies().to_vec(),
        residuals: pairs.residuals.clone(),
        uncertainties: pairs.uncertainties(),
        constant,
        energies_without_constant: pairs.values.clone(),
        s_squared: Vec::new(),
        multiplicities: RunReport::multiplicities_of(&levels),
        levels,
        natural_occupations: Vec::new(),
        dipole: None,
        iterations: pairs.iterations,
        multiplies: pairs.multiplies,
        stop: stop.into(),
        solver: match (pairs.stop, file.solve.solver) {
            (StopReason::Dense, _) => "dense",
            (_, None) => "davidson",
            (_, Some(solver)) => solver.name(),
        }
        .into(),
        start: pairs.start.into(),
        storage: how.storage.into(),
        format: how.format.clone(),
        format_reason: how.reason.clone(),
        non_zeros: how.non_zeros,
        device: solution.device().name(),
        kernels: kernel_records(solution.device()),
        seconds: CiSeconds::default(),
        versions: versions(solution.device()),
        seed: file.solve.seed,
        tolerance: file.solve.tolerance,
        norm: pairs.norm,
        warnings: warnings_of(pairs.notes.clone(), solution.device()),
        memory,
        history: history
            .map(|&(iteration, energy, residual)| HistoryPoint { iteration, energy: energy + constant, residual })
            .collect(),
    }
    .with_warnings()
}
