//! `eigenforge solve MOLECULE.toml`, for a file with `[ci]`: integrals → determinants → solver → spins, densities, report.

use super::Outcome;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::progress::Display;
use super::record::{kernel_records, stop_word, versions, warnings_of};
use super::solve::{memory_lines, memory_record, open_device};
use crate::ci::{Integrals, Solution, Solve, Space, Storage};
use crate::input::{
    CiFile, CiSpec, FormatChoice, PreconditionerChoice, SolverChoice, SpaceSpec, StorageChoice, grouped,
};
use crate::report::{
    CiReport, CiSeconds, HistoryPoint, LevelRecord, MemoryRecord, ModelRecord, RunReport, state_warnings,
};
use crate::sparse::FormatName;
use eigenforge_runtime::solvers::{Preconditioner, Solver, StopReason};
use eigenforge_runtime::trace;
use std::sync::Arc;
use std::time::Instant;

/// The integrals and determinants that a file asks for.
pub(super) struct Molecule {
    /// Frozen cores folded in, other orbitals cut off.
    pub integrals: Integrals,
    pub space: Space,
}

impl Molecule {
    /// Reads integrals, and lists determinants.
    pub(super) fn read(ci: &CiSpec) -> Result<Molecule, CommandError> {
        let _reading = trace::span("generate", "read integrals");
        let mut integrals = Integrals::read(&ci.fcidump)?;
        if let Some(two_sz) = ci.two_sz {
            integrals = integrals.with_two_sz(two_sz)?;
        }
        integrals = integrals.freeze(ci.frozen)?;
        if let Some(orbitals) = ci.orbitals {
            integrals = integrals.keep(orbitals)?;
        }
        let (orbitals, (up, down)) = (integrals.orbitals, integrals.spins());
        let space = match &ci.space {
            SpaceSpec::Full => Space::full(orbitals, up, down)?,
            SpaceSpec::Excitations(level) => Space::excitations(orbitals, up, down, *level)?,
            SpaceSpec::File(path) => Space::from_file(path)?,
        };
        let space = match ci.irrep {
            Some(irrep) => space.in_irrep(&integrals.irreps, irrep)?,
            None => space,
        };
        Ok(Molecule { integrals, space })
    }

    /// Which determinants, in words.
    fn space_words(&self, ci: &CiSpec) -> String {
        let irrep = ci.irrep.map_or(String::new(), |irrep| format!(", irrep {irrep}"));
        let frozen = if ci.frozen == 0 { String::new() } else { format!(", {} orbitals frozen", ci.frozen) };
        format!("{}{irrep}{frozen}", ci.space.describe())
    }

    /// What is about to be solved, with every convention and default in the open.
    fn describe(&self, file: &CiFile) -> String {
        let (integrals, (up, down), solve) = (&self.integrals, self.integrals.spins(), &file.solve);
        let states = if solve.states == 1 { "1 state".into() } else { format!("{} states", solve.states) };
        format!(
            "model    H = E_core + sum h_pq a+_p a_q + 1/2 sum (pq|rs) a+_p a+_r a_s a_q, real orbitals, in Hartree\n         \
             {}: {} orbitals, core energy {:.10}\n\
             space    {} of {up} + {down} electrons: {} determinants\n\
             solve    solver {}, {states}, tolerance {:e} on |Hx - Ex|, at most {} iterations, seed {}{}\n",
            file.ci.fcidump.display(),
            integrals.orbitals,
            integrals.core,
            self.space_words(&file.ci),
            grouped(u128::from(self.space.len())),
            solve.solver.name(),
            solve.tolerance,
            solve.max_iterations,
            solve.seed,
            if solve.certify { ", multiplets certified" } else { ", multiplets not certified" }
        )
    }
}

/// Solves and reports; `start` is when the verb began.
pub(super) fn solve(arguments: &SolveArguments, file: &CiFile, start: Instant) -> Result<Outcome, CommandError> {
    let molecule = Molecule::read(&file.ci)?;
    if !arguments.json {
        print(&molecule.describe(file))?;
    }
    let (device, on_cpu) = open_device(arguments)?;
    let display = Arc::new(Display::new(file.solve.tolerance));
    let solve = options(arguments, file, &molecule, &display);
    let memory = memory_record(&device, solve.memory_plan(&device));
    if !arguments.json {
        print(&memory_lines(&memory))?;
    }
    let read_seconds = start.elapsed().as_secs_f64();
    let solution = solve.run(&device);
    display.finish();
    let solution = solution?;
    let properties = Instant::now();
    let mut report = record(file, &molecule, &solution, memory);
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
        report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    }
    if let Some(folder) = &file.output.folder {
        let files = vec![report.write(folder)?];
        files.iter().for_each(|file| eprintln!("wrote {}", file.display()));
    }
    Ok(if report.converged() { Outcome::Done } else { Outcome::NotConverged })
}

/// The solve that file and command line ask for.
fn options<'m>(arguments: &SolveArguments, file: &CiFile, molecule: &'m Molecule, display: &Arc<Display>) -> Solve<'m> {
    let (spec, shown) = (&file.solve, Arc::clone(display));
    let solver = match spec.solver {
        SolverChoice::Auto | SolverChoice::Davidson => Solver::Davidson,
        SolverChoice::Lobpcg => Solver::Lobpcg,
        SolverChoice::Lanczos => Solver::Lanczos,
        SolverChoice::Dense => Solver::Dense,
    };
    let mut solve = Solve::new(&molecule.integrals, &molecule.space)
        .solver(solver)
        .storage(match file.ci.storage {
            StorageChoice::Auto => Storage::Auto,
            StorageChoice::Stored => Storage::Stored,
            StorageChoice::Direct => Storage::Direct,
        })
        .format(match file.ci.format {
            FormatChoice::Auto => None,
            FormatChoice::Hybrid => Some(FormatName::Hybrid),
            FormatChoice::Csr => Some(FormatName::Csr),
            FormatChoice::SlicedEll => Some(FormatName::SlicedEll),
            FormatChoice::Panels => Some(FormatName::Panels),
        })
        .states(spec.states)
        .tolerance(spec.tolerance)
        .max_iterations(spec.max_iterations)
        .seed(spec.seed)
        .preconditioner(match spec.preconditioner {
            PreconditionerChoice::None => Preconditioner::None,
            PreconditionerChoice::Jacobi => Preconditioner::Jacobi,
        })
        .certify(spec.certify)
        .progress(move |progress| shown.show(progress));
    if let Some(guard) = spec.guard {
        solve = solve.guard(guard);
    }
    if let Some(folder) = &arguments.checkpoint {
        solve = solve.checkpoint(folder, arguments.checkpoint_every, arguments.resume);
    }
    solve
}

/// The report without spins, densities and times.
fn record(file: &CiFile, molecule: &Molecule, solution: &Solution<'_>, memory: MemoryRecord) -> CiReport {
    let (pairs, core, how) = (solution.eigenpairs(), molecule.integrals.core, solution.how());
    let levels: Vec<LevelRecord> = pairs
        .levels
        .iter()
        .map(|level| LevelRecord {
            energy: level.value + core,
            multiplicity: level.multiplicity,
            returned: level.returned,
            complete: level.complete,
        })
        .collect();
    let (up, down) = molecule.integrals.spins();
    let stop = stop_word(pairs.stop);
    let mut warnings = warnings_of(pairs.notes.clone(), solution.device());
    warnings.extend(state_warnings(&levels, &pairs.residuals, file.solve.tolerance, stop));
    let history = pairs.history.iter();
    CiReport {
        model: ModelRecord { name: "ci".into(), file: file.name.clone(), text: file.text.clone() },
        ci: file.ci.clone(),
        space: molecule.space_words(&file.ci),
        orbitals: molecule.integrals.orbitals,
        electrons: [up, down],
        dimension: molecule.space.len(),
        core_energy: core,
        energies: solution.energies().to_vec(),
        residuals: pairs.residuals.clone(),
        s_squared: Vec::new(),
        multiplicities: RunReport::multiplicities_of(&levels),
        levels,
        natural_occupations: Vec::new(),
        iterations: pairs.iterations,
        multiplies: pairs.multiplies,
        stop: stop.into(),
        solver: match (pairs.stop, file.solve.solver) {
            (StopReason::Dense, _) => "dense",
            (_, SolverChoice::Auto) => "davidson",
            (_, solver) => solver.name(),
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
        warnings,
        memory,
        history: history.map(|&(iteration, energy, residual)| HistoryPoint { iteration, energy, residual }).collect(),
    }
}
