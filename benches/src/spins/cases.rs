//! The Hamiltonians of `bench spins`, as model files: each in the size that is timed on a card, and in one for the CPU. On lattices whose
//! ends may be joined there are two cases: open, a chain or a lattice by its name, and periodic, a ring or a torus.

use eigenforge::input::ModelFile;

/// A Hamiltonian in two sizes.
#[derive(Clone, Copy)]
pub struct Case {
    /// What `--only` takes.
    pub name: &'static str,
    /// The name of the same Hamiltonian with its ends joined, where that is a case too.
    periodic: Option<&'static str>,
    /// Whether the ends are joined.
    is_periodic: bool,
    /// The model file without `[lattice]` and `[sector]`.
    model: &'static str,
    /// `[lattice]` and `[sector]` for a card.
    large: &'static str,
    /// The same for the CPU.
    small: &'static str,
}

const HEISENBERG: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n";

/// The cases as they are written down; all are open.
const OPEN: &[Case] = &[
    Case {
        name: "chain",
        periodic: Some("ring"),
        is_periodic: false,
        model: HEISENBERG,
        large: "[lattice]\nkind = \"chain\"\nsize = 28\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 22\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "long chain",
        periodic: Some("long ring"),
        is_periodic: false,
        model: HEISENBERG,
        large: "[lattice]\nkind = \"chain\"\nsize = 32\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 24\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "J1-J2 chain",
        periodic: Some("J1-J2 ring"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
                H = \"sum(<i, j> in bonds; sdots(i, j)) + sum(<i, j> in lattice.bonds_at(2); 0.5 * sdots(i, j))\"\n",
        large: "[lattice]\nkind = \"chain\"\nsize = 28\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 22\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "square",
        periodic: Some("square torus"),
        is_periodic: false,
        model: HEISENBERG,
        large: "[lattice]\nkind = \"square\"\nsize = [6, 5]\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"square\"\nsize = [6, 4]\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "triangular",
        periodic: Some("triangular torus"),
        is_periodic: false,
        model: HEISENBERG,
        large: "[lattice]\nkind = \"triangular\"\nsize = [6, 5]\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"triangular\"\nsize = [6, 4]\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "kagome",
        periodic: Some("kagome torus"),
        is_periodic: false,
        model: HEISENBERG,
        large: "[lattice]\nkind = \"kagome\"\nsize = [5, 2]\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"kagome\"\nsize = [4, 2]\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "disordered chain",
        periodic: Some("disordered ring"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
                H = \"sum(<i, j> in bonds; (1.0 + 0.3 * (i * i * 0.7).cos()) * sdots(i, j)) + sum(i in sites; 0.4 * (i * 1.3).sin() * sz(i))\"\n",
        large: "[lattice]\nkind = \"chain\"\nsize = 28\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 22\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "ring exchange",
        periodic: None,
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
                H = \"\"\"\nsum(<i, j> in bonds; sdots(i, j))\n\
                + sum(i in sites if i % 2 == 0 && i + 3 < SITES;\n\
                  0.26 * (sdots(i, i + 1) * sdots(i + 2, i + 3) + sdots(i, i + 2) * sdots(i + 1, i + 3)\n\
                  - sdots(i, i + 3) * sdots(i + 1, i + 2)))\n\"\"\"\n",
        large: "[lattice]\nkind = \"ladder\"\nsize = [14, 2]\nboundary = [\"open\", \"open\"]\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"ladder\"\nsize = [11, 2]\nboundary = [\"open\", \"open\"]\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "spin-1 chain",
        periodic: Some("spin-1 ring"),
        is_periodic: false,
        model: "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\nspin = 1\n",
        large: "[lattice]\nkind = \"chain\"\nsize = 18\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 14\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "t-J",
        periodic: Some("t-J torus"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"tj\"\n\
                H = \"\"\"\nsum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.))\n\
                + sum(<i, j> in bonds; 0.4 * (sdots(i, j) - 0.25 * n(i) * n(j)))\n\"\"\"\n",
        large: "[lattice]\nkind = \"square\"\nsize = [5, 4]\n[sector]\nup = 9\ndown = 9\n",
        small: "[lattice]\nkind = \"square\"\nsize = [4, 4]\n[sector]\nup = 7\ndown = 7\n",
    },
    Case {
        name: "SU(3) flavours",
        periodic: Some("SU(3) flavours on a ring"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"flavours 3\"\n\
                H = \"\"\"\nsum(<i, j> in bonds, f in 0..3; -1.0 * (cdag(i, Flavour(f)) * c(j, Flavour(f)) + h.c.))\n\
                + sum(i in sites, f in 0..3, g in 0..3 if f < g; 4.0 * n(i, Flavour(f)) * n(i, Flavour(g)))\n\"\"\"\n",
        large: "[lattice]\nkind = \"chain\"\nsize = 10\n[sector]\nflavours = [4, 4, 4]\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 8\n[sector]\nflavours = [3, 3, 3]\n",
    },
    Case {
        name: "Kondo",
        periodic: None,
        is_periodic: false,
        model: "[model]\nname = \"terms\"\n\
                H = \"\"\"\nsum(i in sites if i % 2 == 0, s in [Up, Down];\n\
                  -1.0 * (cdag(i, s) * c((i + 2) % SITES, s) + h.c.))\n\
                + sum(i in sites if i % 2 == 0; 1.4 * sdots(i, i + 1))\n\"\"\"\n",
        large: "site = KONDO 10\n[lattice]\nsites = 20\nedges = [[0, 2]]\n[sector]\nparticles = 10\ntwo_sz = 0\n",
        small: "site = KONDO 8\n[lattice]\nsites = 16\nedges = [[0, 2]]\n[sector]\nparticles = 8\ntwo_sz = 0\n",
    },
    Case {
        name: "pair hopping",
        periodic: None,
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"electron\"\n\
                H = \"\"\"\nsum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.))\n\
                + sum(<i, j> in bonds; -0.6 * (cdag(i, Up) * cdag(i, Down) * c(j, Down) * c(j, Up) + h.c.))\n\
                + sum(i in sites; 4.0 * n(i, Up) * n(i, Down))\n\"\"\"\n",
        large: "[lattice]\nkind = \"square\"\nsize = [4, 4]\nboundary = [\"open\", \"open\"]\n[sector]\nup = 7\ndown = 7\n",
        small: "[lattice]\nkind = \"square\"\nsize = [4, 3]\nboundary = [\"open\", \"open\"]\n[sector]\nup = 6\ndown = 6\n",
    },
    Case {
        name: "qubits in a field",
        periodic: Some("qubits in a field on a ring"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"qubit\"\n\
                H = \"sum(<i, j> in bonds; -1.0 * Z(i) * Z(j)) + sum(i in sites; -1.1 * X(i) + 0.2 * Z(i))\"\n",
        large: "[lattice]\nkind = \"chain\"\nsize = 25\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 20\n",
    },
    Case {
        name: "Kitaev honeycomb",
        periodic: Some("Kitaev honeycomb torus"),
        is_periodic: false,
        model: "[model]\nname = \"terms\"\nsite = \"qubit\"\n\
                [[term]]\noperators = \"X X\"\non = { kind = \"x\" }\n[[term]]\noperators = \"Y Y\"\non = { kind = \"y\" }\n\
                [[term]]\noperators = \"Z Z\"\non = { kind = \"z\" }\n",
        large: "[lattice]\nkind = \"honeycomb\"\nsize = [4, 3]\n[sector]\nparity = 1\n",
        small: "[lattice]\nkind = \"honeycomb\"\nsize = [3, 3]\n[sector]\nparity = 1\n",
    },
    Case {
        name: "chain with phases",
        periodic: Some("ring with flux"),
        is_periodic: false,
        model: FLUX,
        large: "[lattice]\nkind = \"chain\"\nsize = 28\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"chain\"\nsize = 20\n[sector]\ntwo_sz = 0\n",
    },
    Case {
        name: "kagome with flux",
        periodic: Some("kagome torus with flux"),
        is_periodic: false,
        model: FLUX,
        large: "[lattice]\nkind = \"kagome\"\nsize = [5, 2]\n[sector]\ntwo_sz = 0\n",
        small: "[lattice]\nkind = \"kagome\"\nsize = [3, 2]\n[sector]\ntwo_sz = 0\n",
    },
];

/// Flips with a phase on every bond: complex.
const FLUX: &str = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
    H = \"sum(<i, j> in bonds; 0.5 * ((0.3.cos() + I * 0.3.sin()) * sp(i) * sm(j) + h.c.) + sz(i) * sz(j))\"\n";

/// All cases: each open one, and behind it the same with its ends joined.
pub fn cases() -> impl Iterator<Item = Case> {
    let both = |case: &Case| {
        let periodic = case.periodic.map(|name| Case { name, is_periodic: true, ..*case });
        [Some(*case), periodic].into_iter().flatten()
    };
    OPEN.iter().flat_map(both)
}

impl Case {
    /// The model file.
    ///
    /// # Panics
    /// A case that is not a model file, which the tests find.
    pub fn file(&self, large: bool) -> ModelFile {
        let rest = if large { self.large } else { self.small };
        // Keys of [model] that depend on the size stand before [lattice].
        let (key, tables) = match rest.split_once('\n') {
            Some((key, tables)) if key.starts_with("site = KONDO ") => (key, tables),
            _ => ("", rest),
        };
        let kinds = key.strip_prefix("site = KONDO ").map_or_else(String::new, |pairs| {
            let pairs = pairs.parse().unwrap_or(1);
            format!("site = [{}]\n", ["\"electron\", \"spin 1/2\""].repeat(pairs).join(", "))
        });
        let number =
            |text: &str| text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<usize>().ok()).next();
        let sites = match rest.split_once("sites = ") {
            Some((_, sites)) => number(sites).unwrap_or(0),
            None => rest.split_once("size = [").and_then(|(_, size)| number(size)).unwrap_or(0) * 2,
        };
        let model = self.model.replacen("name = \"terms\"\n", &format!("name = \"terms\"\n{kinds}"), 1);
        // Sections in any order: terms may follow the lattice.
        let text = format!("{model}{tables}");
        let text = text.replace("SITES", &sites.to_string());
        let text = match self.is_periodic {
            true => text.replacen("\nsize = ", "\nboundary = \"periodic\"\nsize = ", 1),
            false => text,
        };
        ModelFile::parse(self.name, &text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_model_in_both_sizes() {
        use eigenforge::lattice::Boundary;
        for case in cases() {
            for large in [false, true] {
                let file = case.file(large);
                // The names say what is measured.
                let joined = ["ring", "torus"].iter().any(|word| case.name.split(' ').any(|part| part == *word));
                let joined = joined && case.name != "ring exchange";
                let ends = file.lattice.boundaries();
                assert_eq!(ends.contains(&Boundary::Periodic), joined, "{}: {ends:?}", case.name);
                assert!(!joined || !ends.contains(&Boundary::Open), "{}: {ends:?}", case.name);
                if !large {
                    assert!(file.to_model().is_ok(), "{}: {:?}", case.name, file.to_model().err());
                }
            }
        }
    }
}
