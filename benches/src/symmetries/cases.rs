//! The symmetry sectors of `bench symmetries`, as model files: some for a card, smaller ones for the CPU.

use eigenforge::input::{InputError, ModelFile};

/// A symmetry sector.
pub struct Case {
    /// What `--only` takes.
    pub name: &'static str,
    /// The model file; a `[symmetry]` in it gives way to the keys of the case.
    model: &'static str,
    /// The keys of `[symmetry]`.
    keys: &'static str,
    /// Of a complex sector, the case with real vectors and the same group whose time per state its own is compared with.
    pub real: Option<&'static str>,
}

impl Case {
    const fn new(name: &'static str, model: &'static str, keys: &'static str) -> Case {
        Case { name, model, keys, real: None }
    }

    /// The model file, with H multiplied as `storage` says.
    ///
    /// # Errors
    /// What the file has against it, which only a change of the file format brings about.
    pub fn file(&self, storage: &str) -> Result<ModelFile, InputError> {
        let model = self.model.split("[symmetry]").next().unwrap_or_default();
        ModelFile::parse(self.name, &format!("{model}[symmetry]\n{}\nstorage = \"{storage}\"\n", self.keys))
    }
}

/// A Heisenberg ring, 2Sz = 0.
macro_rules! ring {
    ($sites:literal) => {
        concat!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nboundary = \"periodic\"\nsize = ",
            $sites,
            "\n[sector]\ntwo_sz = 0\n"
        )
    };
}

/// A Heisenberg torus, 2Sz = 0.
macro_rules! torus {
    ($kind:literal, $size:literal) => {
        concat!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"",
            $kind,
            "\"\nboundary = \"periodic\"\nsize = ",
            $size,
            "\n[sector]\ntwo_sz = 0\n"
        )
    };
}

/// A Hubbard torus, t = 1, U = 4.
macro_rules! hubbard {
    ($size:literal, $up:literal, $down:literal) => {
        concat!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"square\"\nboundary = \"periodic\"\nsize = ",
            $size,
            "\n[sector]\nup = ",
            $up,
            "\ndown = ",
            $down,
            "\n"
        )
    };
}

const REFLECTED: &str = "k = 0\nreflection = 1";
const INVERTED: &str = "k = 0\nreflection = 1\nspin_inversion = 1";
const A1: &str = "k = [0, 0]\nirrep = \"A1\"\nspin_inversion = 1";
const A: &str = "k = [0, 0]\nirrep = \"A\"\nspin_inversion = 1";
const A_OF_C6: &str = "k = [0, 0]\nirrep = \"A\"\npoint_group = \"C6\"\nspin_inversion = 1";
const E2: &str = "k = [0, 0]\nirrep = \"E2\"\nspin_inversion = 1";
const C2: &str = "k = [0, 0]\nirrep = \"A\"\npoint_group = \"C2\"";
const TRANSLATIONS: &str = "k = [0, 0]";

const SQUARE: &str = include_str!("../../symmetry/square_6x6.toml");
const TRIANGULAR: &str = include_str!("../../symmetry/triangular_6x6.toml");
const KAGOME: &str = include_str!("../../symmetry/kagome_36.toml");

/// The sectors for a card.
pub const LARGE: &[Case] = &[
    Case::new("ring 28, reflection", ring!(28), REFLECTED),
    Case::new("ring 28, reflection, inversion", ring!(28), INVERTED),
    Case::new("ring 32, reflection", ring!(32), REFLECTED),
    Case::new("ring 32, reflection, inversion", ring!(32), INVERTED),
    Case::new("ring 36, reflection", ring!(36), REFLECTED),
    Case::new("ring 36, reflection, inversion", ring!(36), INVERTED),
    Case::new("ring 40, reflection", ring!(40), REFLECTED),
    Case::new("ring 40, reflection, inversion", ring!(40), INVERTED),
    Case::new("square 6 x 6, Gamma, A1", SQUARE, A1),
    Case::new("triangular 6 x 6, Gamma, A1", TRIANGULAR, A1),
    Case::new("triangular 6 x 6, Gamma, A of C6", TRIANGULAR, A_OF_C6),
    Case { real: Some("triangular 6 x 6, Gamma, A of C6"), ..Case::new("triangular 6 x 6, Gamma, E2", TRIANGULAR, E2) },
    Case::new("kagome 36, Gamma, A1", KAGOME, A1),
    Case::new("Hubbard 4 x 5, translations, C2", hubbard!("[4, 5]", 10, 10), C2),
    Case::new("Hubbard 4 x 5, translations", hubbard!("[4, 5]", 10, 10), TRANSLATIONS),
];

/// The sectors for the CPU.
pub const SMALL: &[Case] = &[
    Case::new("ring 20, reflection", ring!(20), REFLECTED),
    Case::new("ring 20, reflection, inversion", ring!(20), INVERTED),
    Case::new("ring 24, reflection", ring!(24), REFLECTED),
    Case::new("ring 24, reflection, inversion", ring!(24), INVERTED),
    Case::new("square 4 x 4, Gamma, A1", torus!("square", "[4, 4]"), A1),
    Case::new("triangular 4 x 4, Gamma, A1", torus!("triangular", "[4, 4]"), A1),
    Case::new("triangular 4 x 4, Gamma, A of C6", torus!("triangular", "[4, 4]"), A_OF_C6),
    Case {
        real: Some("triangular 4 x 4, Gamma, A of C6"),
        ..Case::new("triangular 4 x 4, Gamma, E2", torus!("triangular", "[4, 4]"), E2)
    },
    Case::new("kagome 3 x 2, Gamma, A", torus!("kagome", "[3, 2]"), A),
    Case::new("Hubbard 3 x 3, translations, C2", hubbard!("[3, 3]", 5, 4), C2),
    Case::new("Hubbard 3 x 3, translations", hubbard!("[3, 3]", 5, 4), TRANSLATIONS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_is_made_and_has_the_group_that_it_is_compared_with() {
        for list in [SMALL, LARGE] {
            let model = |name: &str| {
                let case = list.iter().find(|case| case.name == name).unwrap();
                case.file("direct").unwrap().to_model().unwrap_or_else(|error| panic!("{name}: {error}"))
            };
            for case in list {
                let sector = model(case.name);
                assert_eq!(sector.is_complex(), case.real.is_some(), "{}", case.name);
                if let Some(real) = case.real.map(model) {
                    assert!(real.states().abs_diff(sector.states()) < 1 + sector.states() / 10, "{}", case.name);
                }
            }
        }
    }
}
