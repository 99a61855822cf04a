//! `eigenforge count`: determinants and configuration state functions by excitation level, as Table 1 of Mahmoud, Hoffmann
//! and Reza (2018) has them.

use super::VerbEnd;
use super::arguments::CountArguments;
use super::error::CommandError;
use super::output::{SCHEMA, print, print_json};
use eigenforge::ci::{FcidumpHeader, IrrepLabel, MoleculeError, Reference, StateCounts, SymmetryKeys};
use eigenforge::words::grouped;
use std::fmt::Write;

/// Runs the verb.
pub(super) fn run(arguments: &CountArguments) -> Result<VerbEnd, CommandError> {
    let (orbitals, electrons, two_sz, irreps, unrestricted) = match &arguments.fcidump {
        Some(path) => {
            let header = FcidumpHeader::read(path).map_err(MoleculeError::from)?;
            let symmetry = header.symmetry(SymmetryKeys::default(), None).map_err(MoleculeError::from)?;
            if let Some(irrep) = arguments.irrep {
                symmetry.number(&IrrepLabel::Number(irrep)).map_err(MoleculeError::from)?;
            }
            (
                header.orbitals,
                header.electrons,
                header.two_sz.unsigned_abs() as usize,
                symmetry.irreps,
                header.unrestricted,
            )
        }
        None => {
            let electrons = arguments.electrons.unwrap_or(0);
            (arguments.orbitals.unwrap_or(0), electrons, electrons % 2, Vec::new(), false)
        }
    };
    let two_s = arguments.two_s.unwrap_or(two_sz);
    let reference = Reference::high_spin(electrons, two_s);
    let functions = StateCounts::configuration_state_functions(orbitals, electrons, two_s, reference, &irreps)?;
    let down = electrons.saturating_sub(two_s) / 2;
    let all = StateCounts::determinants(orbitals, electrons - down, down, &irreps)?;
    let (functions, all) = match arguments.irrep {
        Some(irrep) => (functions.cumulative_in_irrep(irrep), all.cumulative_in_irrep(irrep)),
        None => (functions.cumulative(), all.cumulative()),
    };
    if arguments.json {
        let of_level = |(level, (functions, all)): (usize, (&u128, &u128))| LevelCount {
            level,
            functions: (!unrestricted).then_some(*functions),
            determinants: *all,
        };
        let levels = functions.iter().zip(&all).enumerate().map(of_level).collect();
        print_json(&CountRecord { schema: SCHEMA, orbitals, electrons, two_s, irrep: arguments.irrep, levels })?;
        return Ok(VerbEnd::Done);
    }
    let spin = if unrestricted { "unrestricted, 2Sz" } else { "2S" };
    let mut out =
        format!("{electrons} electrons in {orbitals} orbitals, {spin} = {two_s}, up to each excitation level\n\n");
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  level  {:>32}  {:>32}", "configuration state functions", "determinants");
    for (level, (functions, all)) in functions.iter().zip(&all).enumerate() {
        // Functions of one spin have one set of orbitals.
        let functions = if unrestricted { "none".into() } else { grouped(*functions) };
        let _ = writeln!(out, "  {level:>5}  {functions:>32}  {:>32}", grouped(*all));
    }
    print(&out);
    Ok(VerbEnd::Done)
}

/// The counts for programs.
#[derive(serde::Serialize)]
struct CountRecord {
    schema: u32,
    orbitals: usize,
    electrons: usize,
    two_s: usize,
    irrep: Option<u8>,
    levels: Vec<LevelCount>,
}

/// States up to an excitation level.
#[derive(serde::Serialize)]
struct LevelCount {
    level: usize,
    /// Configuration state functions; `null` of unrestricted orbitals.
    functions: Option<u128>,
    determinants: u128,
}
