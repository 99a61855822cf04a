//! Spectra of a molecule: ionisation, attachment and dipole absorption.
//!
//! In: a file with `[ci]` and `[spectrum]`. Out: a [`SpectrumRecord`] with the sum of all orbitals or directions, and each by itself. Of removing and
//! adding an electron of spin σ the curve of orbital p is that of a_pσ and a†_pσ: its weight is ⟨n_pσ⟩ and 1 − ⟨n_pσ⟩. Of the dipole that of a
//! direction is of µ_x without the level's own states, and a pole of weight w at ω has the oscillator strength f = 2/3 ω w (R. C. Hilborn,
//! Am. J. Phys. 50, 982 (1982), in atomic units). The states of a level at other 2Sz are made by S⁻ and S⁺.

use super::molecule_states::{LevelMembers, SpinSector};
use super::record::{LevelSectorRecord, SpectrumCurve, SpectrumRecord};
use super::run::{chain_options, curve, faults, window};
use crate::Error;
use crate::ci::{
    CiBasis, CiError, CiProblem, CiSolution, Integrals, LadderOperator, Molecule, MoleculeError, OneElectron, Space,
    SpaceError, SpaceSpec, one_electron_product,
};
use crate::exact::{ChainOptions, ReachedSector, Response};
use crate::input::{AveragedStates, CiFile, Family, InputProblem, SpectrumSpec, Wrong};
use crate::problem::run::{ChosenDevice, PieceSaver, RunContext, choose_device, setting};
use crate::problem::{MoleculeProblem, Problem};
use crate::report::{KernelRecord, ModelRecord, SCHEMA};
use eigenforge_product::Hamiltonian;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, trace};
use ndarray::Array2;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// ‖A|a⟩‖² below this is what the error of the level leaves.
const NOTHING: f64 = 1e-16;
/// The names of the dipole's components.
const DIRECTIONS: [&str; 3] = ["x", "y", "z"];
/// Elements of a dipole below this part of its largest are rounding.
const ROUNDING: f64 = 1e-12;

/// What acts on the level, one curve for each.
enum Excitation {
    /// a_p or a†_p.
    Ladder(LadderOperator),
    /// A component of the dipole in the active orbitals, of α and of β electrons, and the irrep that it has, less 1.
    Dipole(Box<[Array2<f64>; 2]>, Option<u8>),
}

/// α and β electrons, and the irrep.
type TargetKey = (usize, usize, Option<u8>);

impl Excitation {
    /// Those of a file, each with its label.
    fn all(file: &CiFile, molecule: &Molecule, spec: &SpectrumSpec) -> Result<Vec<(String, Excitation)>, Error> {
        let Molecule { window, integrals, dipole, .. } = molecule;
        if spec.of == "dipole" {
            let Some(components) = dipole else {
                let meaning = "the file of the dipole's integrals: dipole = \"h2o.dipole\"";
                let what = Wrong::MissingKey { table: "ci".into(), key: "dipole", meaning };
                return Err(file.refused(InputProblem { what, span: spec.of_span.clone() }).into());
            };
            let of = |(one, name): (&OneElectron, &str)| {
                let one = one.submatrices(&window.active);
                let irrep = irrep_of(&one, &integrals.irreps);
                (name.to_string(), Excitation::Dipole(Box::new(one), irrep))
            };
            return Ok(components.iter().zip(DIRECTIONS).map(of).collect());
        }
        let (adds, is_beta) = (spec.of.starts_with("add"), spec.of.ends_with("dn"));
        let of = |(orbital, number): (usize, &usize)| {
            (format!("orbital {}", number + 1), Excitation::Ladder(LadderOperator { orbital, is_beta, adds }))
        };
        Ok(window.active.iter().enumerate().map(of).collect())
    }

    /// The electrons and the irrep of what it makes of a sector; `None` where it makes nothing.
    fn target(&self, sector: &SpinSector, irreps: &[u8]) -> Option<TargetKey> {
        let orbitals = sector.space.orbitals();
        let product = |own: Option<u8>| Some(1 + ((sector.space.irrep()? - 1) ^ own?));
        match self {
            Excitation::Ladder(ladder) => {
                let (up, down) = ladder.electrons(sector.electrons(), orbitals)?;
                Some((up, down, product(irreps.get(ladder.orbital).map(|irrep| irrep - 1))))
            }
            Excitation::Dipole(_, irrep) => {
                let (up, down) = sector.electrons();
                Some((up, down, product(*irrep)))
            }
        }
    }

    /// What it makes of a state.
    fn act(&self, from: &SpinSector, to: &Space, vector: &[f64]) -> Vec<f64> {
        match self {
            Excitation::Ladder(ladder) => ladder.act(&from.space, to, vector),
            Excitation::Dipole(one, _) => {
                let mut made = one_electron_product(&from.space, to, one, vector);
                from.take_out(to, &mut made);
                made
            }
        }
    }
}

/// The irrep, less 1, of a one-electron operator; `None` if it has several.
fn irrep_of(one: &[Array2<f64>; 2], irreps: &[u8]) -> Option<u8> {
    let largest = one.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
    let mut found = None;
    for ((p, q), value) in one.iter().flat_map(|matrix| matrix.indexed_iter()) {
        if value.abs() <= ROUNDING * largest {
            continue;
        }
        let own = (irreps.get(p)? - 1) ^ (irreps.get(q)? - 1);
        if *found.get_or_insert(own) != own {
            return None;
        }
    }
    found.or(Some(0))
}

/// The spectrum of a molecule that a file asks for.
///
/// # Errors
/// A file without `[spectrum]`; a space, functions or orbitals of which there is none; what a solve refuses; the device's.
pub(super) fn molecule_spectrum(file: CiFile, context: &RunContext) -> Result<SpectrumRecord, Error> {
    let Some(spec) = file.spectrum.clone() else {
        let example = "[spectrum]\nof = \"remove_up\"\nomega = { from = -2.0, to = 0.0, points = 401 }";
        let what = Wrong::MissingTable { table: "spectrum", example };
        return Err(file.refused(InputProblem { what, span: 0..0 }).into());
    };
    check(&file)?;
    let problem = MoleculeProblem::read(file)?;
    let molecule = &problem.molecule;
    let excitations = Excitation::all(&problem.file, molecule, &spec)?;
    let (from, to, points) = spec.omega;
    context.observer.plan(&format!(
        "{}spectrum of {}: {} curves and their sum, ω from {from} to {to} at {points} points, eta {}, at most {} steps\n",
        problem.describe(),
        spec.of,
        excitations.len(),
        spec.eta,
        spec.steps
    ))?;
    let started = Instant::now();
    let mut saver = PieceSaver::open(context.checkpoint.as_ref(), settings(&problem, &spec)?)?;
    let mut warnings = Vec::new();
    let (level, device) = level(&problem, &spec, (context, &saver), &mut warnings)?;
    let level_seconds = started.elapsed().as_secs_f64();

    let omega = window(&spec);
    let sign = if spec.of.starts_with("remove") { -1.0 } else { 1.0 };
    let drawn: Vec<f64> = omega.iter().map(|omega| sign * omega).collect();
    let options = chain_options(&spec, &drawn);
    let operators: Vec<&Excitation> = excitations.iter().map(|(_, excitation)| excitation).collect();
    let responses = responses(&problem, &level, &operators, &options, (&device, context), &mut saver)?;
    let occupations = level.occupations()?;
    let rule = |excitation: &Excitation| match excitation {
        Excitation::Ladder(LadderOperator { orbital, is_beta, adds }) => {
            let own = occupations[usize::from(*is_beta)][*orbital];
            Some(if *adds { 1.0 - own } else { own })
        }
        Excitation::Dipole(..) => None,
    };
    let mut sum = Response::default();
    responses.iter().for_each(|response| sum.add(response.clone(), 1.0));
    let of_all: Option<f64> = operators.iter().map(|excitation| rule(excitation)).sum();
    let made = |label: &str, response: &Response, rule: Option<f64>| -> Result<SpectrumCurve, Error> {
        let made = curve(None, response, &drawn, &spec, (sign, rule))?;
        let strength = |pole: &[f64; 2]| 2.0 / 3.0 * pole[0] * pole[1];
        let oscillator_strengths = (spec.of == "dipole").then(|| made.poles.iter().map(strength).collect());
        Ok(SpectrumCurve { label: Some(label.into()), oscillator_strengths, ..made })
    };
    let mut curves = vec![made("sum", &sum, of_all)?];
    for ((label, excitation), response) in excitations.iter().zip(&responses) {
        curves.push(made(label, response, rule(excitation))?);
    }
    context.observer.finished();
    warnings.extend(faults(&curves));
    let file = &problem.file;
    let sector = |own: &SpinSector| LevelSectorRecord { sector: own.to_string(), states: own.vectors.nrows() };
    Ok(SpectrumRecord {
        schema: SCHEMA,
        model: ModelRecord { name: "ci".into(), file: file.name.clone(), text: file.text.clone() },
        lattice: None,
        of: spec.of.clone(),
        method: spec.method.word().into(),
        energy: level.energy,
        level: level.sectors.iter().map(sector).collect(),
        temperatures: Vec::new(),
        samples: 0,
        eta: spec.eta,
        omega,
        total_weight: curves[0].moments[0],
        converged: level.converged && curves.iter().all(SpectrumCurve::converged),
        curves,
        conductivity: None,
        device: device.name(),
        kernels: KernelRecord::list(&device),
        seconds: [level_seconds, context.start.elapsed().as_secs_f64()],
        warnings,
    })
}

/// What has no spectrum.
fn check(file: &CiFile) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::not_of_family(Family::Ci, "spectrum", why));
    if file.ci.space != SpaceSpec::Full {
        return refuse(
            "its spaces of one electron more or less are full ones: write space = \"fci\", with `frozen`, `orbitals` or `active` for fewer orbitals",
        );
    }
    if file.ci.basis == CiBasis::Csf {
        return refuse("operators act on determinants: leave `basis` out; `two_s` chooses the spin of the level");
    }
    Ok(())
}

/// The level that a spectrum starts from, with its device.
fn level(
    problem: &MoleculeProblem,
    spec: &SpectrumSpec,
    (context, saver): (&RunContext, &PieceSaver),
    warnings: &mut Vec<String>,
) -> Result<(LevelMembers, Device), Error> {
    let (file, molecule) = (&problem.file, &problem.molecule);
    if molecule.complex.is_some() {
        let (what, path) = ("`spectrum`", file.ci.fcidump.clone());
        let instead = "write the integrals over real orbitals";
        return Err(MoleculeError::Complex { what, path, instead }.into());
    }
    let most = usize::try_from(molecule.dimension()).unwrap_or(usize::MAX);
    let mut states = file.solve.states.max(spec.state + 1).min(most);
    let asked = |states: usize| {
        let observer = Arc::clone(&context.observer);
        let solve = problem.solve().states(states).tuned(context.tuned);
        solve.progress(move |progress| observer.iteration(progress))
    };
    let choose = |states: usize, device: &Device| match file.solve.solver {
        None => asked(states).choose(device).0,
        Some(_) => asked(states),
    };
    let forecast = |machine: &Machine, device: Option<&Device>| {
        choose(states, device.unwrap_or(&Device::cpu())).forecast(machine, device)
    };
    let ChosenDevice { device, on_cpu, line } = choose_device(context, forecast)?;
    device.check_alone("spectrum")?;
    warnings.extend(on_cpu);
    context.observer.plan(&(line + &format!("device   {}\n", device.name())))?;
    loop {
        let solve = choose(states, &device);
        let solve = match saver.part_request(&format!("level-of-{states}")) {
            Some(request) => solve.checkpoint(request.folder, request.seconds, request.resume),
            None => solve,
        };
        let solution: CiSolution<'_> = solve.run_in::<f64>(&device)?;
        let levels = solution.levels().len();
        if levels <= spec.state && states < most {
            states = states.saturating_mul(2).min(most);
            continue;
        }
        if levels <= spec.state {
            let (expected, found) =
                (format!("from 0 to {}: the space has {levels} levels", levels - 1), spec.state.to_string());
            let what = Wrong::OutOfRange { key: "state".into(), expected, found };
            return Err(file.refused(InputProblem { what, span: spec.state_span.clone() }).into());
        }
        let members = LevelMembers::new(&solution, molecule, (spec.state, spec.average), warnings)?;
        if spec.average == AveragedStates::Level && file.ci.irrep.is_some() {
            warnings.push(
                "states of the level in other irreps are not looked for: leave `irrep` out of [ci], or write average = \"sector\""
                    .into(),
            );
        }
        return Ok((members, device));
    }
}

/// The response of the level to each operator. H of each sector that is reached is made once.
fn responses(
    problem: &MoleculeProblem,
    level: &LevelMembers,
    excitations: &[&Excitation],
    options: &ChainOptions,
    (device, context): (&Device, &RunContext),
    saver: &mut PieceSaver,
) -> Result<Vec<Response>, Error> {
    let (molecule, file) = (&problem.molecule, &problem.file);
    let mut reached: BTreeMap<TargetKey, Vec<(usize, &SpinSector)>> = BTreeMap::new();
    for (number, excitation) in excitations.iter().enumerate() {
        for sector in &level.sectors {
            if let Some(key) = excitation.target(sector, &molecule.integrals.irreps) {
                reached.entry(key).or_default().push((number, sector));
            }
        }
    }
    let mut responses = vec![Response::default(); excitations.len()];
    let share = 1.0 / level.states() as f64;
    let all = reached.len();
    for (place, (key, actions)) in reached.into_iter().enumerate() {
        let (up, down, irrep) = key;
        let space = Space::full(molecule.integrals.orbitals, up, down)?;
        let space = match irrep.map(|irrep| space.clone().in_irrep(&molecule.integrals.irreps, irrep)) {
            Some(Err(SpaceError::Empty { .. })) => continue,
            Some(space) => space?,
            None => space,
        };
        let two_sz = up as i64 - down as i64;
        let integrals = Integrals { electrons: up + down, two_sz, ..molecule.integrals.clone() };
        let target = Target {
            name: SpinSector::name((up, down), irrep.map(|irrep| molecule.symmetry.label(irrep))),
            space,
            integrals,
        };
        context.observer.stage("spectrum", &format!("{} of {all}: {}", place + 1, target.name));
        let mut hamiltonian = None;
        for (number, sector) in actions {
            let name = format!("{} from {sector}, curve {number}", target.name);
            let own = saver.piece_or(&name, || {
                let (hamiltonian, constant) = match &hamiltonian {
                    Some(known) => known,
                    None => hamiltonian.insert(target.hamiltonian(file, device)?),
                };
                let _chain = trace::span("response", "chains");
                let mut own = Response::default();
                for state in sector.vectors.rows() {
                    let start = excitations[number].act(sector, &target.space, &state.to_vec());
                    if start.iter().map(|value| value * value).sum::<f64>() > NOTHING {
                        own.follow(hamiltonian, &start, (share, level.energy_above(*constant)), options)?;
                    }
                }
                own.sectors.push(ReachedSector { name: target.name.clone(), states: target.space.len() });
                Ok::<_, Error>(own)
            })?;
            responses[number].add(own, 1.0);
        }
    }
    Ok(responses)
}

/// A space that is reached, with the integrals of as many electrons.
struct Target {
    name: String,
    space: Space,
    integrals: Integrals,
}

impl Target {
    /// H there without its constant, and that.
    fn hamiltonian(&self, file: &CiFile, device: &Device) -> Result<(Hamiltonian<'static>, f64), CiError> {
        let bytes = 4 * size_of::<f64>() as u64 * self.space.len();
        Device::cpu()
            .check_memory("what an operator makes of a state, and the start of its chain, on the host", bytes)?;
        let problem = CiProblem::new(&self.integrals, &self.space).storage(file.ci.storage).format(file.ci.format);
        CiProblem::on_device(&problem.solve().solver(Solver::Lanczos), device)
    }
}

/// What a run must have the same to go on from the finished pieces of another.
fn settings(problem: &MoleculeProblem, spec: &SpectrumSpec) -> Result<Vec<(String, String)>, Error> {
    let model = blake3::hash(problem.identity()?.as_bytes()).to_hex().to_string();
    let dipole =
        problem.molecule.dipole.iter().flatten().flat_map(|one| one.values.iter().chain(one.beta.iter().flatten()));
    let mut hash = blake3::Hasher::new();
    dipole.for_each(|value| {
        hash.update(&value.to_le_bytes());
    });
    Ok(vec![
        ("problem".into(), model),
        ("dipole".into(), hash.finalize().to_hex().to_string()),
        setting("of", &spec.of),
        setting("omega", spec.omega),
        setting("eta", spec.eta),
        setting("steps", spec.steps),
        setting("method", spec.method),
        setting("state", spec.state),
        setting("average", spec.average),
        setting("tolerance", problem.file.solve.tolerance),
    ])
}
