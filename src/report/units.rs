//! The unit of energies in labels of pictures.
//!
//! In: the family of a run, the name and the text of its model. Out: "E / t" or "E / J" where that amplitude is 1, "E / Hartree" of molecules, else "E".

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amplitude_of_one_is_the_unit() {
        assert_eq!(energy_label("lattice", "xxz", "[model]\njxy = 1.0\njz = 0.5\n"), "E / J");
        assert_eq!(energy_label("lattice", "xxz", "[model]\njxy = 2.0\njz = 2\n"), "E");
        assert_eq!(energy_label("lattice", "hubbard", "[model]\nt = 1\nu = 4.0\n"), "E / t");
        assert_eq!(energy_label("molecule", "ci", ""), "E / Hartree");
        assert_eq!(energy_label("lattice", "terms", "not toml ="), "E");
    }
}
