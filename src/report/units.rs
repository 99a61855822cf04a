//! The unit of energies in labels of pictures, and the line of a dipole.
//!
//! In: the family of a run, the name and the text of its model. Out: "E / t" or "E / J" where that amplitude is 1, "E / Hartree" of molecules, else "E".

use std::fmt::Write;

/// The label.
pub(super) fn energy_label(family: &str, model: &str, text: &str) -> &'static str {
    let parsed = text.parse::<toml::Table>().unwrap_or_default();
    let section = parsed.get("model").and_then(toml::Value::as_table);
    let is_one = |key: &str| {
        let value = section.and_then(|section| section.get(key));
        value.and_then(|value| value.as_float().or(value.as_integer().map(|whole| whole as f64))) == Some(1.0)
    };
    match model {
        _ if family == "molecule" => "E / Hartree",
        "hubbard" | "spin_hubbard" if is_one("t") => "E / t",
        "xxz" if is_one("jxy") || is_one("jz") => "E / J",
        _ => "E",
    }
}

/// The unit of such a label, to stand behind the name of a quantity: " / J", or in words where no amplitude is 1.
pub(super) fn energy_unit(label: &str) -> &str {
    label.strip_prefix('E').filter(|unit| !unit.is_empty()).unwrap_or(" (unit of the couplings)")
}

/// The label of a key that changes: "u / t" of an amplitude of the model where energies have that unit, else its name.
pub(super) fn key_label(key: &str, energy: &str) -> String {
    let name = crate::input::short(key);
    let unit = energy.strip_prefix('E').unwrap_or_default();
    let is_amplitude = key.starts_with("model.") && !["spin", "name"].contains(&name);
    if is_amplitude { format!("{name}{unit}") } else { name.into() }
}

/// Debye in one e a₀ (CODATA 2018).
const DEBYE: f64 = 2.541_746_473;

/// The line of a dipole in e a₀, if there is one.
pub(super) fn write_dipole(out: &mut String, dipole: Option<&[f64]>) -> std::fmt::Result {
    let Some(dipole) = dipole else { return Ok(()) };
    let shown: Vec<String> = dipole.iter().map(|component| format!("{component:.6}")).collect();
    let length = dipole.iter().map(|component| component * component).sum::<f64>().sqrt();
    writeln!(out, "dipole {} e a0, {:.4} Debye", shown.join(" "), length * DEBYE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amplitude_of_one_is_the_unit() {
        assert_eq!(energy_label("lattice", "xxz", "[model]\njxy = 1.0\njz = 0.5\n"), "E / J");
        assert_eq!(energy_label("lattice", "xxz", "[model]\njxy = 2.0\njz = 2\n"), "E");
        assert_eq!(energy_label("lattice", "hubbard", "[model]\nt = 1\nu = 4.0\n"), "E / t");
        assert_eq!(energy_label("molecule", "ci", ""), "E / Hartree");
        assert_eq!((energy_unit("E / t"), energy_unit("E")), (" / t", " (unit of the couplings)"));
        assert_eq!(key_label("model.u", "E / t"), "u / t");
        assert_eq!((key_label("lattice.size", "E / t"), key_label("model.u", "E")), ("size".into(), "u".into()));
        assert_eq!(energy_label("lattice", "terms", "not toml ="), "E");
    }
}
