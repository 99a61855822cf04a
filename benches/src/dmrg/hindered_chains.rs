//! `eigenforge bench dmrg --hindered-chains N`: chains whose charges hardly move, by searches alone and by exact diagonalisation.
//!
//! In: how many, a seed. Out: how many have all their energies. Weak hops (0.02, 0.05) stand between strong ones (1.0), with
//! interactions and potentials as large: the charges of the pieces hardly change, and every distribution of them has an
//! eigenstate where sweeps may end. Spinless fermions and spins ½ of 12 to 16 sites, a quarter of up to 20, electrons of 6 to 8;
//! three targets, some with more, some with `weights`. Without the check of small sectors
//! ([`Options::check`](eigenforge::dmrg::Options::check)), every state is found by its search, as in sectors too large to
//! diagonalise. The other side is Lanczos. A case that went wrong is printed as its model file.

use super::DmrgBenchError;
use super::random_chains::exact_energies;
use crate::dice::Dice;
use eigenforge::dmrg::{Options, run};
use eigenforge::input::DmrgFile;
use std::io::Write;

/// Energies are right to this, where strong hops are 1.
const RIGHT: f64 = 1e-8;

/// A case as a model file.
pub fn model_file(seed: u64, case: u64) -> String {
    let mut dice = Dice::of_case(seed, case);
    let kind = dice.below(3);
    let sites = match kind {
        0 => 6 + dice.below(3),
        _ if dice.one_in(4) => 12 + dice.below(9),
        _ => 12 + dice.below(5),
    };
    let weak = [0.02, 0.05][dice.below(2)];
    let hops: Vec<f64> = (1..sites).map(|_| if dice.one_in(2) { weak } else { 1.0 }).collect();
    let mut between = |least: f64, most: f64, count: usize| -> Vec<f64> {
        let number = |_| (100.0 * (least + 0.5 * (most - least) * (1.0 + dice.number()))).round() / 100.0;
        (0..count).map(number).collect()
    };
    let (joined, own) = (between(-1.0, 4.0, sites - 1), between(-2.0, 2.0, sites));
    let repulsion = between(0.0, 6.0, sites);
    let (model, sector) = match kind {
        0 => {
            let (up, down) = (1 + dice.below(sites - 1), 1 + dice.below(sites - 1));
            let model =
                format!("name = \"hubbard\"\nt = {hops:?}\nu = {repulsion:?}\nv = {joined:?}\npotential = {own:?}");
            (model, format!("up = {up}\ndown = {down}"))
        }
        1 => {
            let up = sites / 2 - dice.below(2);
            let model = format!("name = \"hubbard\"\nt = {hops:?}\nu = 0.0\nv = {joined:?}\npotential = {own:?}");
            (model, format!("up = {up}\ndown = 0"))
        }
        _ => {
            let two_sz = (sites % 2) as i64 + 2 * dice.below(2) as i64;
            let model = format!("name = \"xxz\"\njxy = {hops:?}\njz = {joined:?}\nfield = {own:?}");
            (model, format!("two_sz = {two_sz}"))
        }
    };
    let targets = if dice.one_in(4) { 4 + dice.below(3) } else { 3 };
    let weights = if dice.one_in(6) { format!("weights = {:?}\n", vec![1.0; targets]) } else { String::new() };
    let seed = 1 + dice.below(1000);
    format!(
        "[model]\n{model}\n\n[lattice]\nkind = \"chain\"\nsize = {sites}\n\n[sector]\n{sector}\n\n\
         [dmrg]\nstates = 100\nsweeps = 30\ntargets = {targets}\nseed = {seed}\n{weights}"
    )
}

/// One case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The largest distance of an energy.
    pub error: f64,
    /// Whether a warning says that the states may not be the lowest.
    pub is_warned: bool,
}

/// Solves a model file both ways; `None` if the sector has too few states, or Lanczos did not converge.
///
/// # Errors
/// A file that is refused, a solve that fails.
pub fn compare(text: &str) -> Result<Option<Outcome>, DmrgBenchError> {
    let file = DmrgFile::parse("hindered", text).map_err(|error| DmrgBenchError::RandomChain(format!("{error:?}")))?;
    let Some(exact) = exact_energies(&file)? else { return Ok(None) };
    let found = run(&file.chain()?, &Options { check: false, ..file.options() }, None, |_| {})?;
    let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy));
    let error = energies.zip(&exact).fold(0.0f64, |most, (found, exact)| most.max((found - exact).abs()));
    let is_warned = found.warnings.iter().any(|said| said.contains("may not be the lowest"));
    Ok(Some(Outcome { error, is_warned }))
}

/// Runs it and prints the count.
///
/// # Errors
/// An energy that is wrong without a word; a solve that fails.
pub fn command(count: u64, seed: u64, out: &mut dyn Write) -> Result<(), DmrgBenchError> {
    let (mut right, mut wrong, mut silent, mut skipped) = (0, 0, 0, 0);
    for case in 0..count {
        let text = model_file(seed, case);
        match compare(&text)? {
            None => skipped += 1,
            Some(Outcome { error, .. }) if error <= RIGHT => right += 1,
            Some(Outcome { error, is_warned }) => {
                wrong += 1;
                silent += u64::from(!is_warned);
                writeln!(out, "case {case} of seed {seed}: off by {error:.1e}, warned: {is_warned}\n{text}")?;
            }
        }
    }
    writeln!(
        out,
        "| hindered chains, seed {seed} | all energies right | one wrong, warned | one wrong, nothing said | not compared |\n\
         |---|---|---|---|---|\n\
         | {count} | {right} | {} | {silent} | {skipped} |",
        wrong - silent
    )?;
    if silent > 0 {
        return Err(DmrgBenchError::RandomChain(format!("{silent} of {count} are wrong and nothing was said")));
    }
    Ok(())
}
