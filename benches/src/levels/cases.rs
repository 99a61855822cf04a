//! Random models with many degenerate levels: clusters with rotations, couplings that vanish, energies around 0, units far from 1.
//!
//! In: a seed and a number. Out: the text of a model file. Two thirds conserve the total spin.

use eigenforge::input::InputFile;
use eigenforge_runtime::seeded;
use std::path::Path;

/// The largest sector.
const MOST_STATES: u128 = 320;

/// A random model.
pub(super) struct Case {
    /// Its text without `[solve]`.
    pub text: String,
    states: usize,
    draws: Draws,
}

/// Random numbers of one case.
#[derive(Clone)]
struct Draws {
    seed: u64,
    next: u64,
}

impl Draws {
    fn new(seed: u64, number: u64) -> Draws {
        Draws { seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03), next: 0 }
    }

    fn unit(&mut self) -> f64 {
        self.next += 1;
        0.5 + 0.5 * seeded::element(self.seed, self.next)
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count - 1)
    }

    fn one_of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }

    /// A coupling of three digits, now and then 0.
    fn coupling(&mut self, unit: i32) -> String {
        let value = if self.below(6) == 0 { 0.0 } else { (2000.0 * self.unit() - 1000.0).round() / 1000.0 };
        format!("{value}e{unit}")
    }
}

const LATTICES: [&str; 11] = [
    "kind = \"chain\"\nsize = 4\nboundary = \"periodic\"",
    "kind = \"chain\"\nsize = 6\nboundary = \"periodic\"",
    "kind = \"chain\"\nsize = 8\nboundary = \"periodic\"",
    "kind = \"chain\"\nsize = 6\nboundary = \"open\"",
    "kind = \"square\"\nsize = [3, 3]\nboundary = \"periodic\"",
    "kind = \"square\"\nsize = [3, 2]\nboundary = [\"periodic\", \"open\"]",
    "kind = \"square\"\nsize = [[2, 2], [-2, 2]]",
    "kind = \"triangular\"\nsize = [3, 3]\nboundary = \"periodic\"",
    "kind = \"triangular\"\nsize = [[2, 0], [1, 4]]",
    "kind = \"honeycomb\"\nsize = [2, 2]\nboundary = \"periodic\"",
    "kind = \"kagome\"\nsize = [2, 2]\nboundary = \"periodic\"",
];

/// What a bond has, by kind of site: with the total spin, and without.
const BONDS: [(&str, &[&str], &[&str]); 6] = [
    ("spin 1/2", &["sdots(i, j)"], &["0.5 * (sp(i) * sm(j) + h.c.)", "sz(i) * sz(j)", "sdots(i, j)"]),
    ("spin 1/2", &["sdots(i, j)"], &["sdots(i, j)", "(sp(i) * sm(j) + h.c.)"]),
    ("spin 1", &["sdots(i, j)", "sdots(i, j) * sdots(i, j)"], &["sz(i) * sz(j)", "(sp(i) * sm(j) + h.c.)"]),
    (
        "electron",
        &["(cdag(i, Up) * c(j, Up) + cdag(i, Down) * c(j, Down) + h.c.)", "n(i) * n(j)", "sdots(i, j)"],
        &["(cdag(i, Up) * c(j, Up) + h.c.)", "(cdag(i, Down) * c(j, Down) + h.c.)", "sz(i) * sz(j)"],
    ),
    (
        "tj",
        &["(cdag(i, Up) * c(j, Up) + cdag(i, Down) * c(j, Down) + h.c.)", "sdots(i, j)", "n(i) * n(j)"],
        &["(cdag(i, Up) * c(j, Up) + cdag(i, Down) * c(j, Down) + h.c.)", "sz(i) * sz(j)"],
    ),
    ("spinless", &["(cdag(i) * c(j) + h.c.)", "n(i) * n(j)"], &["(cdag(i) * c(j) + h.c.)", "n(i) * n(j)"]),
];

impl Case {
    /// A case by its number: the first of its draws whose sector is small.
    pub(super) fn new(seed: u64, number: u64) -> Case {
        let mut draws = Draws::new(seed, number);
        loop {
            let text = model(&mut draws);
            if let Ok(InputFile::Lattice(file)) = InputFile::parse("random.toml", &text, Path::new(""))
                && let Some(states) = file.dimension().filter(|states| (1..=MOST_STATES).contains(states))
            {
                return Case { text, states: states as usize, draws };
            }
        }
    }

    fn solved(&self, solver: &str, states: usize, seed: usize) -> String {
        format!("{}[solve]\nsolver = \"{solver}\"\nstates = {states}\nseed = {seed}\n", self.text)
    }

    /// All states.
    pub(super) fn dense_text(&self) -> String {
        self.solved("dense", self.states, 1)
    }

    /// A few by iterative solvers, with random seeds.
    pub(super) fn few(&self) -> Vec<String> {
        let mut draws = self.draws.clone();
        let states = 1 + draws.below(6.min(self.states));
        let mut one = |solver: &str| self.solved(solver, states, 1 + draws.below(1_000_000));
        match self.states {
            0..=8 => Vec::new(),
            _ => vec![one("lanczos"), one("lobpcg"), one("davidson")],
        }
    }

    /// The lowest of each symmetry sector.
    pub(super) fn by_sectors(&self) -> String {
        let mut draws = self.draws.clone();
        // Every sector has one.
        let states = if self.states > 60 { 1 + draws.below(3) } else { 1 };
        self.solved("dense", states, 1)
    }
}

/// The solver of a text of [`Case::few`].
pub(super) fn solver_of(text: &str) -> &str {
    text.rsplit_once("solver = \"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default()
}

fn model(draws: &mut Draws) -> String {
    let lattice = LATTICES[draws.below(LATTICES.len())];
    let (site, conserving, others) = BONDS[draws.below(BONDS.len())];
    let bonds = if draws.below(3) < 2 { conserving } else { others };
    let unit = if draws.below(4) == 0 { draws.below(13) as i32 - 6 } else { 0 };
    let mut terms = Vec::new();
    for (number, bond) in bonds.iter().enumerate() {
        // The first is always there.
        if number == 0 || draws.below(2) == 0 {
            terms.push(format!("sum(<i, j> in bonds; {} * {bond})", draws.coupling(unit)));
        }
        if draws.below(3) == 0 {
            terms.push(format!("sum(<i, j> in lattice.bonds_at(2); {} * {bond})", draws.coupling(unit)));
        }
    }
    if site == "electron" && draws.below(3) > 0 {
        terms.push(format!("sum(i in sites; {} * n(i, Up) * n(i, Down))", draws.coupling(unit)));
    }
    let (sector, observable) = match site {
        "electron" | "tj" => (format!("up = {}\ndown = {}", draws.below(5), draws.below(5)), "n(0) * n(1)"),
        "spinless" => (format!("particles = {}", draws.below(7)), "n(0) * n(1)"),
        _ => (format!("two_sz = {}", draws.below(8)), draws.one_of(&["sdots(0, 1)", "sz(0) * sz(2)"])),
    };
    format!(
        "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{}\"\n[lattice]\n{lattice}\n[sector]\n{sector}\n[observables]\n\
         own = \"{observable}\"\n",
        terms.join(" + ")
    )
}
