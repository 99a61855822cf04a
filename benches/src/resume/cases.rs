//! Inputs of `eigenforge bench resume`: one for each way in which a state is saved, each a fraction of a second long.
//!
//! In: nothing. Out: a list of [`Case`]s, whose files are written by the bench. All numbers are made here, so that the bench needs no
//! files but its own.

use eigenforge_runtime::seeded::element;
use std::fmt::Write as _;

/// A problem, and other keys to resume it with.
pub struct Case {
    /// Family and what is special.
    pub name: &'static str,
    /// The model file; `FOLDER` stands for the folder of the run's files.
    pub text: String,
    /// What the command line adds.
    pub arguments: &'static [&'static str],
    /// (text in the file, another one): the same with other keys.
    pub other: Option<(&'static str, &'static str)>,
    /// Energies may differ by so much after a kill.
    pub close: f64,
    /// Whether the command line says how often a state is saved.
    pub is_timed: bool,
}

/// Energies that no truncation blurs.
const EXACT: f64 = 1e-9;
/// Energies of sweeps that end where truncation costs more than a sweep gains.
const TRUNCATED: f64 = 1e-6;

/// All cases.
pub fn list() -> Vec<Case> {
    [exact(), molecules(), chains(), others()].into_iter().flatten().collect()
}

/// Spins on a ring in fields of their own.
fn ring(sites: usize, solve: &str) -> String {
    format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.8\nfield = {:?}\n[lattice]\nkind = \"chain\"\nsize = {sites}\n\
         boundary = \"periodic\"\n[sector]\ntwo_sz = {}\n[solve]\n{solve}\n",
        numbers(sites, 0.3),
        sites % 2
    )
}

fn numbers(count: usize, size: f64) -> Vec<f64> {
    (0..count as u64).map(|k| (1e3 * size * element(7, k)).round() / 1e3).collect()
}

fn exact() -> Vec<Case> {
    let case = |name, text, other| Case { name, text, arguments: &[], other, close: EXACT, is_timed: true };
    let solver = |solver: &str, more: &str| ring(14, &format!("solver = \"{solver}\"\n{more}"));
    vec![
        case("lobpcg", solver("lobpcg", "seed = 3"), Some(("seed = 3", "seed = 4"))),
        case("lobpcg, 3 states", solver("lobpcg", "states = 3\nguard = 3"), Some(("guard = 3", "guard = 0"))),
        case("lobpcg, 2 states, jacobi", solver("lobpcg", "states = 2\npreconditioner = \"jacobi\""), None),
        case("lanczos", solver("lanczos", "seed = 3"), Some(("seed = 3", "seed = 4"))),
        case("lanczos, 4 states", solver("lanczos", "states = 4\ntolerance = 1e-6"), Some(("1e-6", "1e-11"))),
        case("davidson", solver("davidson", "tolerance = 1e-9"), Some(("1e-9", "1e-12"))),
        case("davidson, 3 states", solver("davidson", "states = 3"), Some(("states = 3", "states = 2"))),
        case("olsen", solver("olsen", "seed = 3"), Some(("seed = 3", "seed = 4"))),
        case("dense", ring(11, "solver = \"dense\"\nstates = 3\ntolerance = 1e-10"), Some(("1e-10", "1e-3"))),
        case("f32", solver("lanczos", "precision = \"f32\"\ntolerance = 1e-5"), Some(("lanczos", "lobpcg"))),
    ]
    .into_iter()
    .map(|case| if case.name == "f32" { Case { close: 1e-4, ..case } } else { case })
    .chain([Case {
        name: "complex momentum sector",
        text: "[model]\nname = \"hubbard\"\nt = 1.0\nu = 3.0\n[lattice]\nkind = \"chain\"\nsize = 8\nboundary = \"periodic\"\n\
               [sector]\nup = 4\ndown = 3\n[symmetry]\nk = 1\n[solve]\nsolver = \"lobpcg\"\nstates = 2\nseed = 5\n"
            .into(),
        arguments: &[],
        other: Some(("k = 1", "k = 2")),
        close: EXACT,
        is_timed: true,
    }])
    .collect()
}

/// Integrals of sites on a line: hops, repulsions that fall off with the distance, some exchange.
fn integrals(orbitals: usize, electrons: usize) -> String {
    let mut text = format!(
        " &FCI NORB={orbitals},NELEC={electrons},MS2=0,\n  ORBSYM={}\n  ISYM=1,\n &END\n",
        "1,".repeat(orbitals)
    );
    for i in 0..orbitals {
        for j in 0..=i {
            let apart = (i - j) as f64;
            let _ = writeln!(text, "{:.6} {} {} {} {}", 4.0 / (1.0 + 1.5 * apart), i + 1, i + 1, j + 1, j + 1);
            if apart > 0.0 {
                let _ = writeln!(text, "{:.6} {} {} {} {}", 0.1 / apart, i + 1, j + 1, i + 1, j + 1);
                let _ = writeln!(text, "{:.6} {} {} 0 0", -1.0 / (apart * apart), i + 1, j + 1);
            } else {
                let _ = writeln!(text, "{:.6} {} {} 0 0", -0.2 * element(9, i as u64) - 3.0, i + 1, i + 1);
            }
        }
    }
    text + " 0.5 0 0 0 0\n"
}

fn molecules() -> Vec<Case> {
    let text = |space: &str, solve: &str| format!("[ci]\nfcidump = \"FOLDER/INTEGRALS\"\n{space}\n[solve]\n{solve}\n");
    let case = |name, text, other| Case { name, text, arguments: &[], other, close: EXACT, is_timed: true };
    vec![
        case(
            "ci, davidson",
            text("space = \"fci\"\nstates = 2", "solver = \"davidson\"\nseed = 2"),
            Some(("seed = 2", "seed = 3")),
        ),
        case("ci, olsen", text("space = \"fci\"", "solver = \"olsen\"\ntolerance = 1e-8"), Some(("1e-8", "1e-11"))),
        case("cisd, lanczos", text("space = \"cisdt\"", "solver = \"lanczos\""), Some(("cisdt", "cisd"))),
        case(
            "ci, lobpcg",
            text("space = \"fci\"\nstates = 2", "solver = \"lobpcg\"\nguard = 3"),
            Some(("guard = 3", "guard = 1")),
        ),
    ]
}

/// The integrals that the molecules' files name.
pub fn integrals_file() -> String {
    integrals(8, 8)
}

fn chains() -> Vec<Case> {
    let case = |name, text: String, other, close| Case { name, text, arguments: &[], other, close, is_timed: false };
    let spins = |sites: usize, field: f64, dmrg: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\nfield = {:?}\n[lattice]\nkind = \"chain\"\nsize = {sites}\n\
             [sector]\ntwo_sz = 0\n[dmrg]\n{dmrg}\n",
            numbers(sites, field)
        )
    };
    let electrons = |dmrg: &str| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"ladder\"\nsize = [6, 2]\nboundary = \"open\"\n\
             [sector]\nup = 5\ndown = 6\n[dmrg]\n{dmrg}\n"
        )
    };
    let kondo = |targets: usize| {
        format!(
            "[model]\nname = \"terms\"\nsite = [\"electron\", \"spin 1/2\", \"electron\", \"spin 1/2\", \"electron\", \"spin 1/2\", \
             \"electron\", \"spin 1/2\"]\nH = \"sum(i in [0, 2, 4, 6]; 1.4 * sdots(i, i + 1)) + sum(i in [0, 2, 4], s in [Up, Down]; \
             -1.0 * (cdag(i, s) * c(i + 2, s) + h.c.))\"\n[lattice]\nsites = 8\nedges = []\n[sector]\nparticles = 4\ntwo_sz = 0\n\
             [dmrg]\nstates = 40\nsweeps = 12\ntargets = {targets}\n"
        )
    };
    let pieces = |dmrg: &str| {
        let hops: Vec<f64> = (1..12).map(|k| if k % 3 == 0 { 0.02 } else { 1.0 }).collect();
        format!(
            "[model]\nname = \"xxz\"\njxy = {hops:?}\njz = {:?}\nfield = {:?}\n[lattice]\nkind = \"chain\"\nsize = 12\n\
             [sector]\ntwo_sz = 0\n[dmrg]\n{dmrg}\n",
            numbers(11, 3.0),
            numbers(12, 2.0)
        )
    };
    let flux = "[model]\nname = \"terms\"\nsite = \"spinless\"\nH = \"sum(<i, j> in bonds; -1.0 * (cdag(i) * c(j) + h.c.) + 1.5 * n(i) * n(j)) \
                + 0.7 * I * (cdag(0) * c(5) - cdag(5) * c(0)) + 0.4 * I * (cdag(3) * c(9) - cdag(9) * c(3))\"\n[lattice]\nkind = \"chain\"\nsize = 12\n\
                [sector]\nparticles = 6\n[dmrg]\nstates = 80\ntargets = 2\n";
    vec![
        case("dmrg", spins(24, 0.2, "states = 32"), Some(("states = 32", "states = 64")), TRUNCATED),
        case("dmrg, ladder", electrons("states = 40"), Some(("states = 40", "states = 80")), 1e-5),
        case(
            "dmrg, lists",
            spins(20, 0.3, "states = [16, 24, 32]\nnoise = [1e-3, 1e-4]"),
            Some(("24, 32]", "32, 48]")),
            TRUNCATED,
        ),
        case(
            "dmrg, infinite",
            spins(24, 0.0, "states = 32\nmode = \"infinite\""),
            Some(("\"infinite\"", "\"finite\"")),
            TRUNCATED,
        ),
        case(
            "dmrg, 3 targets",
            spins(14, 0.5, "states = 64\ntargets = 3"),
            Some(("targets = 3", "targets = 4")),
            EXACT,
        ),
        case(
            "dmrg, polish",
            spins(16, 0.4, "states = 24\ntargets = 2\npolish = true"),
            Some(("true", "false")),
            TRUNCATED,
        ),
        case(
            "dmrg, weights",
            spins(14, 0.5, "states = 48\ntargets = 2\nweights = [1, 1]"),
            Some(("[1, 1]", "[2, 1]")),
            TRUNCATED,
        ),
        case("dmrg, complex", flux.into(), Some(("states = 80", "states = 120")), TRUNCATED),
        case("dmrg, done again", kondo(2), Some(("targets = 2", "targets = 3")), EXACT),
        case("dmrg, pieces", pieces("states = 64\ntargets = 3\nseed = 2"), Some(("seed = 2", "seed = 3")), EXACT),
        case("dmrg, tighter", spins(18, 0.3, "states = 32\ntolerance = 1e-6"), Some(("1e-6", "1e-11")), TRUNCATED),
        case(
            "dmrg, too few sweeps",
            spins(20, 0.3, "states = 32\nsweeps = 3"),
            Some(("sweeps = 3", "sweeps = 20")),
            TRUNCATED,
        ),
    ]
}

/// An interaction of relative motion with random numbers (`su3`): every row that N and J allow.
pub fn interaction(n_max: i64, j_max: i64) -> String {
    let mut text = format!("# RELATIVE LSJT\n1\n0 0 0 0 0\n{n_max} {j_max}\n");
    let motions: Vec<(i64, i64)> =
        (0..=n_max).flat_map(|n| (0..=n).filter(move |l| (n - l) % 2 == 0).map(move |l| (n, l))).collect();
    let mut number = 0;
    for s in 0..2i64 {
        for t in 0..2i64 {
            for j in 0..=j_max {
                let is_state = |l: i64| (l + s + t) % 2 == 1 && (l - s).abs() <= j && j <= l + s;
                for (k, (n, l)) in motions.iter().enumerate() {
                    for (m, r) in &motions[k..] {
                        if (l - r) % 2 == 0 && is_state(*l) && is_state(*r) {
                            number += 1;
                            let value = 3.0 * element(11, number);
                            let _ = writeln!(text, "0 {n} {l} {s} {j} {t} {m} {r} {s} {j} {t} {value:.6}");
                        }
                    }
                }
            }
        }
    }
    text
}

fn others() -> Vec<Case> {
    let sweep = "[model]\nname = \"hubbard\"\nt = 1.0\nu = { sweep = [0.5, 1.0, 2.0, 4.0] }\n[lattice]\nkind = \"chain\"\nsize = 7\n\
                 boundary = \"periodic\"\n[sector]\nup = 3\ndown = 3\n[solve]\nsolver = \"lanczos\"\nseed = 2\ntolerance = 1e-8\n";
    let swept = "[model]\nname = \"xxz\"\njxy = 1.0\njz = { sweep = [0.5, 1.0, 1.5] }\n[lattice]\nkind = \"chain\"\nsize = 16\n\
                 [sector]\ntwo_sz = 0\n[dmrg]\nstates = 24\n";
    let sectors = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\nboundary = \"periodic\"\n\
                   [sector]\ntwo_sz = 0\n[solve]\nsolver = \"lobpcg\"\nseed = 2\n";
    let tensors = "[su3]\ninteraction = \"FOLDER/INTERACTION\"\nn_max = 7\noutput = \"FOLDER/tensors.bin\"\n";
    let case = |name, text: &str, other, close| Case {
        name,
        text: text.into(),
        arguments: &[],
        other,
        close,
        is_timed: false,
    };
    vec![
        Case { is_timed: true, ..case("sweep of a lattice", sweep, Some(("1e-8", "1e-11")), EXACT) },
        case("sweep of a chain", swept, Some(("states = 24", "states = 48")), TRUNCATED),
        Case {
            arguments: &["--sectors", "all"],
            is_timed: true,
            ..case("all sectors", sectors, Some(("seed = 2", "seed = 3")), EXACT)
        },
        case("su3", tensors, Some(("n_max = 7", "n_max = 6")), 0.0),
    ]
}
