//! `eigenforge bench dmrg --random-chains N`: random chains and graphs by DMRG and by exact diagonalisation.
//!
//! In: how many, a seed. Out: how many energies were right, wrong, warned of. Each case is a model file of 4 to 12 sites with more
//! states kept than it has: spins ½ and 1 and electrons, on chains, rings and graphs whose edges are not along the chain, with
//! couplings that vanish, have either sign, are equal, or are down to 1e-9 of the others, with fields, orders, several targets,
//! weights, and energies in units from 1e-12 to 1e12. They are what sweeps end in the wrong state of. The other side is the
//! `solve` of the same text without `[dmrg]`. A case that went wrong is printed as its model file.

use eigenforge::dmrg::{DmrgResult, SweepStop, UpdateChoice, run};
use eigenforge::exact::{Dense, Lanczos, Model};
use eigenforge::input::DmrgFile;
use std::fmt::Write as _;
use std::io::Write;

use super::DmrgBenchError;
use crate::dice::Dice;
use eigenforge::basis::Sector;
use eigenforge_runtime::Device;

/// Energies are right to this part of the norm of H.
const RIGHT: f64 = 1e-8;
/// The exact side is whole-matrix up to this dimension.
const DENSE: u64 = 400;

impl Dice {
    /// In [−1, 1), to three digits: files that people can read.
    pub(crate) fn number(&mut self) -> f64 {
        (1e3 * self.value()).round() / 1e3
    }

    /// Some amplitudes of one character.
    fn amplitudes(&mut self, count: usize) -> Vec<f64> {
        let tiny = [1e-1, 2e-2, 1e-3, 1e-5, 1e-7, 1e-9][self.below(6)];
        match self.below(8) {
            0 => vec![0.0; count],
            1 => vec![1.0; count],
            2 => vec![tiny; count],
            3 => (0..count).map(|_| [0.0, 1.0, -1.0][self.below(3)]).collect(),
            4 => (0..count).map(|_| if self.one_in(2) { 0.0 } else { self.number() }).collect(),
            5 => (0..count).map(|_| if self.one_in(2) { tiny * self.number() } else { self.number() }).collect(),
            _ => (0..count).map(|_| self.number()).collect(),
        }
    }
}

/// A case as a model file.
pub fn model_file(seed: u64, case: u64) -> String {
    let mut dice = Dice::of_case(seed, case);
    let kind = dice.below(5);
    let sites = match kind {
        0..=2 => 4 + dice.below(9),
        3 => 4 + dice.below(4),
        _ => 3 + dice.below(4),
    };
    let edges = edges(&mut dice, sites);
    let edge_list: Vec<String> = edges.iter().map(|(i, j, weight)| format!("[{i}, {j}, {weight:?}]")).collect();
    let edge_list = edge_list.join(", ");
    let unit = if dice.one_in(4) { [1e-12, 1e-9, 1e-4, 1e6, 1e12][dice.below(5)] } else { 1.0 };
    let list = |numbers: Vec<f64>| format!("{:?}", numbers.iter().map(|x| x * unit).collect::<Vec<f64>>());
    let fields = |dice: &mut Dice| if dice.one_in(2) { vec![0.0; sites] } else { dice.amplitudes(sites) };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match kind {
        0..=3 => {
            let spin = if kind == 3 { "spin = 1\n" } else { "" };
            let (jxy, jz) = (list(dice.amplitudes(edges.len())), list(dice.amplitudes(edges.len())));
            let field = list(fields(&mut dice));
            let most = if kind == 3 { 2 * sites } else { sites };
            let two_sz = (most % 2) as i64 + 2 * (dice.below(3) as i64 - 1);
            let two_sz = two_sz.min(most as i64);
            writeln!(text, "[model]\nname = \"xxz\"\n{spin}jxy = {jxy}\njz = {jz}\nfield = {field}\n").and_then(|()| {
                writeln!(text, "[lattice]\nsites = {sites}\nedges = [{edge_list}]\n\n[sector]\ntwo_sz = {two_sz}\n")
            })
        }
        _ => {
            let u = if dice.one_in(2) { vec![4.0; sites] } else { dice.amplitudes(sites) };
            let (t, v, u) = (list(dice.amplitudes(edges.len())), list(fields_of(&mut dice, edges.len())), list(u));
            let potential = list(fields(&mut dice));
            let mu = unit * if dice.one_in(4) { 1e3 * dice.number() } else { 0.0 };
            let (up, down) = (1 + dice.below(sites - 1), dice.below(sites));
            writeln!(
                text,
                "[model]\nname = \"hubbard\"\nt = {t}\nu = {u}\nv = {v}\npotential = {potential}\nmu = {mu:?}\n"
            )
            .and_then(|()| {
                writeln!(
                    text,
                    "[lattice]\nsites = {sites}\nedges = [{edge_list}]\n\n[sector]\nup = {up}\ndown = {down}\n"
                )
            })
        }
    };
    text + &dmrg_section(&mut dice, sites)
}

fn fields_of(dice: &mut Dice, count: usize) -> Vec<f64> {
    if dice.one_in(2) { vec![0.0; count] } else { dice.amplitudes(count) }
}

/// `[dmrg]`, with more states than any of these chains has at a cut.
fn dmrg_section(dice: &mut Dice, sites: usize) -> String {
    let mut text = format!("[dmrg]\nstates = 256\nseed = {}\n", 1 + dice.below(100));
    if dice.one_in(3) {
        let mut order: Vec<usize> = (0..sites).collect();
        (1..sites).rev().for_each(|k| order.swap(k, dice.below(k + 1)));
        let _ = writeln!(text, "order = {order:?}");
    }
    if dice.one_in(3) {
        let targets = 2 + dice.below(3);
        let _ = writeln!(text, "targets = {targets}");
        if dice.one_in(2) {
            let weights: Vec<f64> = (0..targets).map(|_| 1.0 + dice.below(3) as f64).collect();
            let _ = writeln!(text, "weights = {weights:?}");
        }
    }
    text
}

/// A chain, a ring, a graph, or a chain with far bonds; some with weights.
fn edges(dice: &mut Dice, sites: usize) -> Vec<(usize, usize, f64)> {
    let mut pairs: Vec<(usize, usize)> = (1..sites).map(|j| (j - 1, j)).collect();
    match dice.below(4) {
        0 => {}
        1 if sites > 2 => pairs.push((0, sites - 1)),
        2 => {
            for _ in 0..1 + dice.below(3) {
                let (i, j) = (dice.below(sites), dice.below(sites));
                pairs.push((i.min(j), i.max(j)));
            }
        }
        _ => pairs = (1..sites).map(|j| (dice.below(j), j)).collect(),
    }
    pairs.retain(|(i, j)| i != j);
    pairs.sort_unstable();
    pairs.dedup();
    let weighted = dice.one_in(3);
    pairs.into_iter().map(|(i, j)| (i, j, if weighted { 2.0 * dice.number() + 0.001 } else { 1.0 })).collect()
}

/// How a case came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every energy is right, and nothing was said against it.
    Right,
    /// Every energy is right, and there was a warning or a flag.
    RightWarned,
    /// An energy is wrong, or a state was missed, and that was said.
    WrongWarned,
    /// An energy is wrong, and nothing was said.
    Wrong,
    /// The sector has fewer states than were asked for, or the exact side did not converge.
    Skipped,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What became of it.
    pub verdict: Verdict,
    /// The worst energy's distance, relative to the norm of H.
    pub error: f64,
    /// Whether sweeps were done again.
    pub restarted: bool,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Solves a model file both ways.
///
/// # Errors
/// A file that is refused, a solve that fails.
pub fn compare(text: &str) -> Result<Outcome, DmrgBenchError> {
    let file = DmrgFile::parse("random", text).map_err(|error| DmrgBenchError::RandomChain(format!("{error:?}")))?;
    let skipped = Outcome { verdict: Verdict::Skipped, error: 0.0, restarted: false, warnings: Vec::new() };
    let Some(exact) = exact_energies(&file)? else { return Ok(skipped) };
    let (chain, options) = (file.chain()?, file.options());
    let found = run(&chain, &options, None, |_| {})?;
    let norm = (chain.units.norm * chain.units.scale).max(f64::MIN_POSITIVE);
    let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy));
    // What is printed has no more digits than its largest part.
    let rounding = 1e-14 * exact.iter().fold(0.0f64, |most, energy| most.max(energy.abs()));
    let error = energies.zip(&exact).map(|(found, exact)| ((found - exact).abs() - rounding).max(0.0) / norm);
    let error = error.fold(0.0, f64::max);
    let said = !found.warnings.is_empty() || !is_converged(&found);
    let right = error <= RIGHT && found.excited.len() + 1 == exact.len();
    let verdict = match (right, said) {
        (true, false) => Verdict::Right,
        (true, true) => Verdict::RightWarned,
        (false, true) => Verdict::WrongWarned,
        (false, false) => Verdict::Wrong,
    };
    Ok(Outcome { verdict, error, restarted: !found.restarts.is_empty(), warnings: found.warnings })
}

pub(super) fn is_converged(found: &DmrgResult) -> bool {
    found.stop == SweepStop::Converged && found.excited.iter().all(|state| state.stop == SweepStop::Converged)
}

/// The lowest energies by exact diagonalisation; `None` if there are fewer states, or it did not converge.
pub(super) fn exact_energies(file: &DmrgFile) -> Result<Option<Vec<f64>>, DmrgBenchError> {
    let sector = file.model.sector.clone();
    if let Sector::Flavours(_) | Sector::Charges(_) = sector {
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| DmrgBenchError::RandomChain(error.to_string());
    let targets = file.dmrg.options.targets;
    // In units of the largest amplitude, as any tolerance is meant.
    let operator = file.model.operator();
    let largest = operator.terms().map(|(_, coefficient)| coefficient.abs()).fold(0.0, f64::max);
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let model = Model::new(operator * (1.0 / unit), sector).map_err(|error| failed(&error))?;
    if model.dimension() < targets as u64 {
        return Ok(None);
    }
    let device = Device::cpu();
    let solution = if model.dimension() <= DENSE {
        Dense::new(&model).states(targets).run(&device)
    } else {
        Lanczos::new(&model).states(targets).tolerance(1e-10).run(&device)
    };
    let solution = solution.map_err(|error| failed(&error))?;
    let pairs = solution.eigenpairs();
    let good = pairs.residuals.iter().take(targets).all(|residual| *residual < 1e-6);
    Ok(good.then(|| solution.energies()[..targets].iter().map(|value| value * unit).collect()))
}

/// What became of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right, nothing said.
    pub right: usize,
    /// Right, with a warning.
    pub right_warned: usize,
    /// Wrong, with a warning.
    pub wrong_warned: usize,
    /// Wrong, nothing said.
    pub wrong: usize,
    /// Not compared.
    pub skipped: usize,
    /// Cases whose sweeps were done again.
    pub restarted: usize,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        *match outcome.verdict {
            Verdict::Right => &mut self.right,
            Verdict::RightWarned => &mut self.right_warned,
            Verdict::WrongWarned => &mut self.wrong_warned,
            Verdict::Wrong => &mut self.wrong,
            Verdict::Skipped => &mut self.skipped,
        } += 1;
        self.restarted += usize::from(outcome.restarted);
    }
}

/// The same with an update; one-site sweeps have no `weights`.
fn with_update(text: &str, update: UpdateChoice) -> String {
    let expands = update == UpdateChoice::Expanding;
    let lines = text.lines().filter(|line| !(expands && line.starts_with("weights")));
    lines.map(|line| format!("{line}\n")).collect::<String>() + &format!("update = \"{}\"\n", update.name())
}

/// Compares `count` cases from number `first` on; what is not plainly right is written to `out` with its model file.
///
/// # Errors
/// A solve that fails, an output that cannot be written.
pub fn many(
    seed: u64,
    (first, count): (u64, u64),
    update: UpdateChoice,
    out: &mut dyn Write,
) -> Result<Tally, DmrgBenchError> {
    let mut tally = Tally::default();
    for case in first..first + count {
        let text = with_update(&model_file(seed, case), update);
        let outcome = match compare(&text) {
            Ok(outcome) => outcome,
            Err(error) => {
                writeln!(out, "case {case} of seed {seed} failed\n{text}")?;
                return Err(error);
            }
        };
        if !matches!(outcome.verdict, Verdict::Right | Verdict::Skipped) {
            let Outcome { verdict, error, warnings, .. } = &outcome;
            writeln!(
                out,
                "case {case} of seed {seed}: {verdict:?}, off by {error:.1e} of the norm; {warnings:?}\n{text}"
            )?;
        }
        tally.add(&outcome);
    }
    Ok(tally)
}

/// Runs it and prints the count.
///
/// # Errors
/// An energy that is wrong without a word; a solve that fails.
pub fn command(count: u64, seed: u64, update: UpdateChoice, out: &mut dyn Write) -> Result<(), DmrgBenchError> {
    let tally = many(seed, (0, count), update, out)?;
    let Tally { right, right_warned, wrong_warned, wrong, skipped, restarted } = tally;
    writeln!(
        out,
        "| random chains, seed {seed} | right | right, warned | wrong, warned | wrong, nothing said | not compared | done again |\n\
         |---|---|---|---|---|---|---|\n\
         | {count} | {right} | {right_warned} | {wrong_warned} | {wrong} | {skipped} | {restarted} |"
    )?;
    if wrong > 0 {
        return Err(DmrgBenchError::RandomChain(format!("{wrong} of {count} energies are wrong and nothing was said")));
    }
    Ok(())
}
