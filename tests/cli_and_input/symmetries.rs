//! `[symmetry]` by the command: report, plan, files, checkpoints, sweeps of k, what is refused, and the page about it.

use super::command::{failed, run, stderr, stdout};
use super::gallery::root;
use eigenforge::input::InputFile;
use eigenforge::report::{Outcome, ParameterSweepRecord};
use eigenforge_runtime::Device;
use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use num_complex::Complex64;
use std::path::Path;

const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.8\n[lattice]\nkind = \"chain\"\nsize = 12\nboundary = \"periodic\"\n\
                    [sector]\ntwo_sz = 0\n[symmetry]\n";

pub(super) fn solve(text: &str, more: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.toml");
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let arguments: Vec<&str> = ["solve", &file, "--json"].iter().chain(more).copied().collect();
    run(&arguments)
}

fn report(text: &str, more: &[&str]) -> Outcome {
    let output = solve(text, more);
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    Outcome::from_json(stdout(&output)).unwrap()
}

#[test]
fn the_processor_and_the_simulator_agree() {
    for keys in ["k = 3\nspin_inversion = -1", "k = 6\nreflection = -1\nspin_inversion = 1"] {
        let text = format!("{RING}{keys}\n[solve]\nstates = 2\nsolver = \"lanczos\"\n");
        let [processor, simulated] = ["cpu", "sim"].map(|device| report(&text, &["--device", device]));
        assert!(processor.dimension() == simulated.dimension() && processor.dimension() < 924 / 12);
        for (a, b) in processor.energies.iter().zip(&simulated.energies) {
            assert!((a - b).abs() < 1e-9, "{keys}: {a} and {b}");
        }
        let bond = |outcome: &Outcome| outcome.observables.averages.pairs("sdots").unwrap()[[0, 1]];
        assert!((bond(&processor) - bond(&simulated)).abs() < 1e-7);
    }
}

#[test]
fn a_plan_has_the_group_and_both_dimensions() {
    for stage in ["plan", "cost", "ir"] {
        let output = run(&["inspect", "examples/heisenberg_momentum.toml", "--stage", stage]);
        let told = stdout(&output);
        assert!(output.status.success(), "{}", stderr(&output));
        for part in ["translation along x: k = 0 of 0 to 23", "group of 96 elements", "dimension 28,968 of 2,704,156"] {
            assert!(told.contains(part), "{stage}: {}", told.chars().take(600).collect::<String>());
        }
    }
    let data = run(&["inspect", "examples/heisenberg_momentum.toml", "--stage", "ir-ron"]);
    assert_eq!(data.status.code(), Some(2));
    assert!(stderr(&data).contains("[symmetry]") && stderr(&data).contains("leave"), "{}", stderr(&data));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.npz").display().to_string();
    let export = run(&["export", "examples/heisenberg_momentum.toml", "--output", &file]);
    assert_eq!(export.status.code(), Some(2));
    assert!(stderr(&export).contains("leave [symmetry] out"), "{}", stderr(&export));
}

/// A stage of a file has these words.
fn check_stage(place: &str, stage: &str, parts: &[&str]) {
    let output = run(&["inspect", place, "--stage", stage]);
    let told = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for part in parts {
        assert!(told.contains(part), "{stage}, {part}: {}", told.chars().take(2000).collect::<String>());
    }
}

/// Vectors of a complex sector, spread over the whole sector by the formula of the page, are eigenvectors of H and of T.
#[test]
fn written_vectors_are_eigenvectors_of_the_whole_sector() {
    let (folder, sites, k) = (tempfile::tempdir().unwrap(), 12usize, 5);
    let output = folder.path().display().to_string();
    let found = report(&format!("{RING}k = {k}\n"), &["--device", "cpu", "--vectors", "--output", &output]);
    let mut npz = NpzReader::new(std::fs::File::open(folder.path().join("vectors.npz")).unwrap()).unwrap();
    let states: Array1<u64> = npz.by_name("states").unwrap();
    let vectors: Array2<Complex64> = npz.by_name("vectors").unwrap();
    assert_eq!(states.len() as u64, found.dimension());
    assert!(states.iter().is_sorted());
    let turned = |word: u64, by: usize| (word << by | word >> (sites - by)) & ((1 << sites) - 1);
    let mut whole = vec![Complex64::ZERO; 1 << sites];
    for (state, amplitude) in states.iter().zip(vectors.row(0)) {
        let stabiliser = (0..sites).filter(|by| turned(*state, *by) == *state).count();
        let norm = ((sites * stabiliser) as f64).sqrt();
        for by in 0..sites {
            let character = Complex64::from_polar(1.0, -std::f64::consts::TAU * (k * by) as f64 / sites as f64);
            whole[turned(*state, by) as usize] += character.conj() * amplitude / norm;
        }
    }
    assert!((whole.iter().map(Complex64::norm_sqr).sum::<f64>() - 1.0).abs() < 1e-9);
    let character = Complex64::from_polar(1.0, -std::f64::consts::TAU * k as f64 / sites as f64);
    let mut product = vec![Complex64::ZERO; whole.len()];
    for (word, amplitude) in whole.iter().enumerate() {
        // T moves the amplitude of a word to the turned word.
        let there = turned(word as u64, 1) as usize;
        assert!((amplitude - character * whole[there]).norm() < 1e-12);
        for i in 0..sites {
            let pair = 1 << i | 1 << ((i + 1) % sites);
            let differ = (word & pair).count_ones() == 1;
            product[word] += amplitude * if differ { -0.2 } else { 0.2 };
            if differ {
                product[word ^ pair] += amplitude * 0.5;
            }
        }
    }
    let rest: f64 = product.iter().zip(&whole).map(|(h, x)| (h - x * found.energies[0]).norm_sqr()).sum();
    assert!(rest.sqrt() < 1e-8, "{rest}");
}

#[test]
fn a_checkpoint_belongs_to_its_sector() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run").display().to_string();
    let options = ["--device", "cpu", "--solver", "lobpcg", "--checkpoint", &place, "--checkpoint-every", "1e-9"];
    let cut: Vec<&str> = options.iter().copied().chain(["--max-iterations", "8"]).collect();
    let text = RING.replace("size = 12", "size = 16");
    solve(&format!("{text}k = 0\n"), &cut);
    let resume: Vec<&str> = options.iter().copied().chain(["--resume"]).collect();
    let resumed = report(&format!("{text}k = 0\n"), &resume);
    let fresh = report(&format!("{text}k = 0\n"), &["--device", "cpu"]);
    assert!((resumed.energies[0] - fresh.energies[0]).abs() < 1e-8);
    let other = solve(&format!("{text}k = 8\n"), &resume);
    assert!(!other.status.success(), "a checkpoint of k = 0 went on as k = 8");
}

/// E(k), and sectors without states.
#[test]
fn momenta_are_swept() {
    let text = format!("{RING}k = {{ sweep = [0, 1, 11, 6] }}\n");
    let output = solve(&text, &["--device", "cpu"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
    let energies: Vec<f64> = table.points.iter().map(|point| point.energies[0]).collect();
    assert!((energies[1] - energies[2]).abs() < 1e-9 && energies[0] < energies[1].min(energies[3]), "{energies:?}");
    // All spins up have k = 0 alone.
    let up = text.replace("two_sz = 0", "two_sz = 12");
    let output = solve(&up, &["--device", "cpu"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(table.points.len(), 1);
    assert!(stderr(&output).contains("k = 11: ") && stderr(&output).contains("dimension 0"), "{}", stderr(&output));
    let one = up.replace("{ sweep = [0, 1, 11, 6] }", "1");
    let output = solve(&one, &["--device", "cpu"]);
    assert_eq!(failed(&output), 2);
    assert!(stdout(&output).contains("dimension 0"), "{}", stdout(&output));
}

/// All sectors of a file by `--sectors all`: the energies with the number of sectors that have them, and the record.
pub(super) fn tower(text: &str, more: &[&str]) -> (Vec<(f64, usize)>, ParameterSweepRecord) {
    let output = solve(text, &[&["--device", "cpu", "--sectors", "all"], more].concat());
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    let table: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
    let of_point = |point: &eigenforge::report::SweptOutcome| {
        let times = (1 + point.joined.len()) * point.degeneracy;
        point.energies.iter().map(move |energy| (*energy, times)).collect::<Vec<_>>()
    };
    let mut energies: Vec<(f64, usize)> = table.points.iter().flat_map(of_point).collect();
    energies.sort_by(|a, b| a.0.total_cmp(&b.0));
    (energies, table)
}

/// Sectors with the energies of another, as text.
pub(super) fn texts(joined: &[eigenforge::input::JoinedPoint]) -> String {
    joined.iter().map(|joined| &joined.text[..]).collect::<Vec<_>>().join("; ")
}

/// Clusters whose reflection is a translation or the identity, beside `storage` alone and with more states than any sector has: every state
/// of the space is told, Σ E = tr H = 0 and Σ E² = tr H² = bonds · 3/16 · 2^N of the Heisenberg model.
#[test]
fn towers_of_small_clusters_have_every_state() {
    for (kind, size, boundary, bonds) in [
        ("ladder", "[2, 2]", "\"periodic\"", 4),
        ("ladder", "[2, 3]", "\"periodic\"", 7),
        ("ladder", "[2, 2]", "[\"periodic\", \"periodic\"]", 4),
        ("chain", "2", "\"periodic\"", 1),
        ("chain", "3", "\"periodic\"", 3),
        ("square", "[2, 2]", "\"periodic\"", 4),
        ("square", "[2, 3]", "[\"periodic\", \"open\"]", 7),
        ("triangular", "[2, 3]", "\"periodic\"", 15),
    ] {
        let model = format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"{kind}\"\nsize = {size}\nboundary = {boundary}\n"
        );
        for more in ["", "[symmetry]\nstorage = \"stored\"\n", "[symmetry]\nspin_inversion = \"none\"\n"] {
            let text = format!("{model}[sector]\ntwo_sz = \"all\"\n[solve]\nstates = 1000\n{more}");
            let (_, table) = tower(&text, &[]);
            let what = format!("{kind} {size} {boundary} {more}");
            let sum = |of: fn(f64) -> f64| {
                table.levels.iter().map(|level| level.states as f64 * of(level.energy)).sum::<f64>()
            };
            let states = sum(|_| 1.0);
            let spins = sum(|energy| energy * energy);
            let sites = states.log2();
            assert!(sites.fract() == 0.0 && table.whole == Some(states as u64), "{what}: {states} states");
            assert!(sum(|energy| energy).abs() < 1e-9, "{what}");
            assert!((spins - 3.0 / 16.0 * f64::from(bonds) * states).abs() < 1e-9, "{what}: {spins}");
            assert!(table.levels.iter().all(|level| level.complete && level.spins.is_some()), "{what}");
            assert!(!table.summary().contains("NaN") && !table.to_csv().contains("NaN"), "{what}");
        }
    }
}

/// One state of one sector is asked of all with `--states` beyond it too; a file that names an impossible sign is refused with the reason.
#[test]
fn signs_that_a_small_cluster_has_not_are_told() {
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"ladder\"\nsize = [2, 2]\n\
                boundary = \"periodic\"\n[sector]\ntwo_sz = 0\n[symmetry]\nk = KEY\nreflection = -1\n";
    let (energies, _) = tower(&text.replace("KEY", "\"all\""), &["--states", "100"]);
    assert!(!energies.is_empty(), "k = 1 has the reflection -1");
    let refused = solve(&text.replace("KEY", "0"), &["--device", "cpu"]);
    assert!(stderr(&refused).contains("are the same element"), "{}", stderr(&refused));
}

/// cos π + i sin π is −1 but for a rounding: particle–hole symmetry is that of real hops, and S is told beside a field of 2e-16.
#[test]
fn roundings_of_coefficients_break_no_symmetry() {
    let ring = "[lattice]\nkind = \"chain\"\nsize = 4\nboundary = \"periodic\"\n";
    let hops = format!(
        "[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"sum(<i, j> in bonds, s in [Up, Down]; (phi.cos() + I * phi.sin()) * \
         cdag(i, s) * c(j, s) + h.c.)\"\n[parameters]\nphi = 3.141592653589793\n{ring}[sector]\nup = 2\ndown = 2\n[symmetry]\n\
         particle_hole = 1\n"
    );
    assert!((report(&hops, &["--device", "cpu"]).energies[0] + 4.0).abs() < 1e-12);
    let stray = format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\nfield = [2e-16, 0.0, 0.0, 0.0]\n{ring}[sector]\ntwo_sz = 0\n"
    );
    let spins: Vec<Option<f64>> = report(&stray, &["--device", "cpu", "--states", "6"])
        .spectrum()
        .unwrap()
        .levels
        .iter()
        .map(|level| level.spin.as_ref().and_then(|spin| spin.s))
        .collect();
    assert_eq!(spins, [Some(0.0), Some(1.0), None, Some(2.0)], "0 has S = 0 and 1");
    let field = stray.replace("2e-16", "1e-9");
    assert!(report(&field, &["--device", "cpu"]).spectrum().unwrap().levels[0].spin.is_none());
}

/// Every symmetry sector once, joined ones counted: the spectrum of the whole sector with its multiplicities. Lattices with and
/// without rotations, open and periodic, fermions and spins, real and complex H, signs given and left out.
#[test]
fn all_sectors_together_are_the_whole_spectrum() {
    let lattice = |kind: &str, size: &str, boundary: &str| {
        format!("[lattice]\nkind = \"{kind}\"\nsize = {size}\nboundary = {boundary}\n")
    };
    let xxz = "[model]\nname = \"xxz\"\njxy = 0.9\njz = 0.7\n";
    let hubbard = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 3.3\n";
    // Complex, and different at k and −k: Dzyaloshinskii and Moriya's term around a ring with a field.
    let twisted = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
                   H = \"sum(<i, j> in bonds; 0.8 * sdots(i, j) + 0.3 * (I * sp(i) * sm(j) + h.c.))\"\n";
    let spinless = "[model]\nname = \"terms\"\nsite = \"spinless\"\n\
                    H = \"sum(<i, j> in bonds; -1.0 * (cdag(i) * c(j) + h.c.) + 1.3 * n(i) * n(j))\"\n";
    let three = lattice("chain", "8", "\"periodic\"").replace("size = 8\n", "size = 8\nfurther = [0.4]\n");
    let (torus, cylinder) = ("\"periodic\"", "[\"periodic\", \"open\"]");
    for (text, points, sectors) in [
        (format!("{xxz}{}[sector]\ntwo_sz = 0\n", lattice("chain", "8", torus)), 12, 18),
        (format!("{xxz}{three}[sector]\ntwo_sz = 2\n"), 7, 10),
        (format!("{xxz}{}[sector]\ntwo_sz = 0\n", lattice("chain", "7", "\"open\"").replace('7', "8")), 4, 4),
        (format!("{xxz}{}[sector]\ntwo_sz = 0\n[symmetry]\nreflection = -1\n", lattice("chain", "8", torus)), 3, 3),
        (format!("{xxz}{}[sector]\ntwo_sz = 1\n", lattice("triangular", "[3, 3]", torus)), 10, 27),
        (format!("{xxz}{}[sector]\ntwo_sz = 0\n", lattice("honeycomb", "[2, 2]", torus)), 13, 30),
        (format!("{xxz}{}[sector]\ntwo_sz = 8\n", lattice("kagome", "[2, 2]", torus)), 10, 20),
        (format!("{hubbard}{}[sector]\nup = 3\ndown = 3\n", lattice("square", "[3, 2]", cylinder)), 12, 16),
        (format!("{hubbard}{}[sector]\nup = 2\ndown = 1\n", lattice("square", "[3, 3]", torus)), 9, 22),
        // Particle–hole symmetry of a half-filled bipartite lattice, which an even number of spinless fermions has not beside momenta.
        (format!("{hubbard}{}[sector]\nup = 2\ndown = 2\n", lattice("chain", "4", torus)), 14, 18),
        (format!("{hubbard}{}[sector]\nup = 3\ndown = 3\n", lattice("square", "[3, 2]", "\"open\"")), 16, 16),
        (format!("{spinless}{}[sector]\nparticles = 3\n", lattice("chain", "6", torus)), 8, 12),
        (format!("{spinless}{}[sector]\nparticles = 4\n", lattice("chain", "8", torus)), 7, 10),
        (format!("{twisted}{}[sector]\ntwo_sz = 0\n", lattice("chain", "6", torus)), 6, 6),
    ] {
        let one = Path::new("one");
        let InputFile::Lattice(file) = InputFile::parse("plain", &text, one).unwrap() else { panic!("{text}") };
        let dimension = file.dimension().unwrap() as usize;
        let all = dimension.to_string();
        let (found, table) = tower(&text, &["--states", &all, "--solver", "dense"]);
        let counted = table.points.iter().map(|point| (1 + point.joined.len()) * point.degeneracy).sum::<usize>();
        assert_eq!((table.points.len(), counted), (points, sectors), "{text}");
        let states: usize = found.iter().map(|(_, times)| times).sum();
        if text.contains("reflection = -1") {
            assert!(states < dimension);
            continue;
        }
        assert_eq!(states, dimension, "{text}");
        let plain = report(&text, &["--device", "cpu", "--states", &all, "--solver", "dense"]);
        let spread: Vec<f64> = found.iter().flat_map(|(energy, times)| vec![*energy; *times]).collect();
        for (a, b) in spread.iter().zip(&plain.energies) {
            assert!((a - b).abs() < 1e-10, "{text}: {a} and {b}");
        }
        // And the levels that are told.
        assert!(table.levels.iter().all(|level| level.complete), "{text}");
        assert_eq!(table.levels.iter().map(|level| level.states).sum::<u64>() as usize, dimension, "{text}");
    }
}

/// Irreps beside momenta that are swept, named, or fixed: each point has those of its own little group, and no others are joined.
#[test]
fn irreps_beside_other_keys() {
    let torus = |kind: &str, size: &str, more: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"{kind}\"\nsize = {size}\nboundary = \"periodic\"\n\
             {more}"
        )
    };
    let points = |text: &str| match InputFile::parse("all", text, Path::new("")) {
        Ok(InputFile::Sweep(sweep)) => {
            let point = |point: &eigenforge::input::SweptPoint| (point.values.join(" "), texts(&point.joined));
            Ok(sweep.points.iter().map(point).collect::<Vec<_>>())
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(format!("{:?}", miette::Report::new(error))),
    };
    let square = |symmetry: &str| torus("square", "[4, 4]", &format!("[sector]\ntwo_sz = 0\n[symmetry]\n{symmetry}\n"));
    let labels = |text: &str| points(text).unwrap().into_iter().map(|(values, _)| values).collect::<Vec<_>>();
    let gamma = ["A1", "A2", "B1", "B2", "E"].map(|label| format!("[0, 0] {label}"));
    let edge = ["A1", "A2"].map(|label| format!("[1, 0] {label}"));
    let swept = labels(&square("k = { sweep = [[1, 0], [0, 0]] }\nirrep = \"all\""));
    assert_eq!(swept, [&edge[..], &gamma].concat());
    let swept = labels(&square("k = { sweep = [[0, 0], [1, 0]] }\nirrep = \"all\""));
    assert_eq!(swept, [&gamma[..], &edge].concat());
    // The first momentum has no irrep A; those that have it are one star.
    let text = torus("square", "[6, 6]", "[sector]\ntwo_sz = 34\n[symmetry]\nk = \"all\"\nirrep = \"A\"\n");
    assert_eq!(
        points(&text).unwrap(),
        [("[1, 2]".into(), "[1, 4]; [2, 1]; [2, 5]; [4, 1]; [4, 5]; [5, 2]; [5, 4]".into())]
    );
    // B1 of one M point is B2 of another.
    let honeycomb = "[sector]\ntwo_sz = 0\n[symmetry]\nk = \"all\"\nirrep = { sweep = [\"B1\", \"B2\"] }\n";
    let found = points(&torus("honeycomb", "[2, 2]", honeycomb)).unwrap();
    let joined: Vec<&str> = found.iter().map(|(_, joined)| joined.as_str()).collect();
    assert_eq!((found.len(), joined.concat().as_str()), (6, "[1, 0][1, 0]"), "{found:?}");
    let weighted = square("k = \"all\"\npoint_group = \"D4\"\nirrep = \"E\"");
    for (text, said) in [
        (square("irrep = \"all\"\nreflection = -1"), "one of the mirrors"),
        (square("k = [1, 0]\nirrep = \"all\"\nreflection = { sweep = [\"none\", 1] }"), "one of the mirrors"),
        (weighted.replace("boundary", "weights = [1.0, 0.5]\nboundary"), "not invariant under rotation by 90 degrees"),
        (
            square(
                "irrep = \"E\"\ngenerators = [{ permutation = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], character = 1 }]",
            ),
            "may tell them apart",
        ),
    ] {
        // Lines are broken where a terminal ends.
        let told = match InputFile::parse("all", &text, Path::new("")) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text}"),
        };
        assert!(told.contains(said), "{text}\n{told}");
    }
}

/// Few states of each sector: what is told of the levels is true of the whole sector, and what may be missing is not told.
#[test]
fn levels_of_a_tower_end_where_states_could_be_missing() {
    let text = RING.replace("jz = 0.8", "jz = 1.0").replace("[symmetry]\n", "");
    let (_, table) = tower(&text, &["--states", "2"]);
    let plain = report(&text, &["--device", "cpu", "--states", "40", "--solver", "dense"]);
    let mut place = 0;
    for level in &table.levels {
        assert!((level.energy - plain.energies[place]).abs() < 1e-8);
        let states = plain.energies[place..].iter().take_while(|energy| **energy - level.energy < 1e-7).count();
        assert!(states == level.states as usize || !level.complete && states > level.states as usize, "{level:?}");
        place += states;
    }
    assert!(table.levels.len() > 4 && table.levels[..table.levels.len() - 1].iter().all(|level| level.complete));
    // The lowest level is a singlet, the lowest of k = 6 with the other parity a triplet.
    let spin = |k: &str, inversion: &str| {
        let wanted = |point: &&eigenforge::report::SweptOutcome| point.texts[0] == k && point.texts[2] == inversion;
        let lowest = table.points.iter().filter(wanted).min_by(|a, b| a.energies[0].total_cmp(&b.energies[0]));
        lowest.unwrap().levels[0].spin.clone().unwrap().spins.unwrap()[0].s
    };
    assert_eq!((spin("0", "1"), spin("6", "-1")), (0.0, 1.0));
    assert!(table.levels.iter().all(|level| level.spins.is_some()));
    // Beside a momentum that the reflection turns round, --sectors all leaves its sign out, and says so.
    let one = text.clone() + "[symmetry]\nk = 1\n";
    let output = solve(&one, &["--device", "cpu", "--sectors", "all"]);
    let table: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(table.keys, ["symmetry.spin_inversion"]);
    assert!(stderr(&output).contains("`reflection` is left out"), "{}", stderr(&output));
}

/// The files of the page are read, and its numbers are those of the program.
#[test]
fn the_page_has_files_that_are_read() {
    let page = std::fs::read_to_string(root().join("docs/symmetries.md")).unwrap();
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 5);
    let whole = match InputFile::parse("page", blocks[0], Path::new("")).unwrap() {
        InputFile::Lattice(file) => file.to_model().unwrap(),
        other => panic!("{other:?}"),
    };
    assert!(page.contains("28,968 states instead of 2,704,156"));
    assert_eq!(whole.states(), 28_968);
    let four = RING.replace("size = 12", "size = 4").replace("[symmetry]\n", blocks[1]);
    let by_name = RING.replace("size = 12", "size = 4") + "k = 1\n";
    let states = |text: &str| match InputFile::parse("page", text, Path::new("")).unwrap() {
        InputFile::Lattice(file) => file.to_model().unwrap().identity(),
        other => panic!("{other:?}"),
    };
    assert_eq!(states(&four), states(&by_name));
    let square = RING.replace("[lattice]\nkind = \"chain\"\nsize = 12\nboundary = \"periodic\"\n", "");
    let square = square.replace("[symmetry]\n", blocks[2]);
    let InputFile::Lattice(square) = InputFile::parse("page", &square, Path::new("")).unwrap() else {
        panic!("{square}")
    };
    assert!(square.to_model().unwrap().symmetry_text().unwrap().contains("irrep B1 of D4"));
    let all = RING.replace("[symmetry]\n", blocks[3]);
    let InputFile::Sweep(all) = InputFile::parse("page", &all, Path::new("")).unwrap() else { panic!("{all}") };
    assert_eq!((all.points.len(), all.whole), (14, Some(924)));
    let charges = RING.replace("[sector]\ntwo_sz = 0\n[symmetry]\n", blocks[4]);
    let InputFile::Sweep(charges) = InputFile::parse("page", &charges, Path::new("")).unwrap() else {
        panic!("{charges}")
    };
    assert_eq!((charges.points.len(), charges.whole, charges.charges), (7, Some(4096), true));
}

/// Before anything is listed, with the numbers.
#[test]
fn sectors_that_are_too_large_are_refused_at_once() {
    let started = std::time::Instant::now();
    let output = solve(&(RING.replace("size = 12", "size = 44") + "k = 1\n"), &["--device", "cpu"]);
    assert_eq!(failed(&output), 2);
    let told = stdout(&output);
    assert!(
        told.contains("the symmetry sector has 47,820,414,961 states") && told.contains("take fewer sites"),
        "{told}"
    );
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

/// What does not fit could be solved in sectors: the symmetries are named, but where the file could not have them.
#[test]
fn symmetries_that_would_make_room_are_named() {
    if Device::cpu().memory().total > 300 << 30 {
        return; // 381 GiB are the least of these.
    }
    let large = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"square\"\nsize = [5, 4]\n[sector]\nup = 10\ndown = 10\n";
    let refused = |text: &str, options: &[&str]| {
        let output = solve(text, &[&["--device", "cpu"], options].concat());
        assert_eq!(failed(&output), 1);
        (stdout(&output).to_string(), stderr(&output).replace("\n  │ ", " "))
    };
    let (_, told) = refused(large, &[]);
    assert!(told.contains("`--sectors all` solves smaller ones") && told.contains("exchange"), "{told}");
    let (_, told) = refused(&large.replace("down = 10", "down = 9"), &[]);
    assert!(told.contains("would fit") && !told.contains("exchange"), "{told}");
    let alone = format!("{large}exchange = 1\n[observables]\nstandard = false\n");
    let (_, told) = refused(&alone, &[]);
    assert!(told.contains("would fit") && !told.contains("--sectors"), "{told}");
    let (printed, told) = refused(&alone, &["--sectors", "all"]);
    assert!((printed + &told).contains("`exchange` in [sector] stands alone"), "{told}");
}

/// Without a matrix: the same energies and averages on the processor, in the simulator and with a matrix; refused where no kernel
/// makes the rows.
#[test]
fn rows_are_made_without_a_matrix() {
    for keys in ["k = 7\nreflection = 1\nspin_inversion = 1", "k = 1\nspin_inversion = 1"] {
        let text = |storage: &str| {
            let solver = "[solve]\nsolver = \"lanczos\"\n";
            format!("{}{keys}\nstorage = \"{storage}\"\n{solver}", RING.replace("size = 12", "size = 14"))
        };
        let stored = report(&text("stored"), &["--device", "cpu"]);
        for (storage, device) in [("direct", "cpu"), ("direct", "sim"), ("table", "sim")] {
            let direct = report(&text(storage), &["--device", device]);
            assert!((stored.energies[0] - direct.energies[0]).abs() < 1e-9, "{keys} on {device}");
            let bond = |outcome: &Outcome| outcome.observables.averages.pairs("sdots").unwrap()[[0, 3]];
            assert!((bond(&stored) - bond(&direct)).abs() < 1e-7, "{keys} on {device}");
        }
    }
    let blocked = RING.replace("size = 12", "size = 70").replace("two_sz = 0", "two_sz = 66");
    let output = solve(&(blocked + "k = 0\nstorage = \"direct\"\n"), &["--device", "cpu"]);
    assert_eq!(failed(&output), 2);
    assert!(stdout(&output).contains("64 bits at most, and these have 70"), "{}", stdout(&output));
}

/// The exchange of spins alone, in either section: the plan says that it is on pairs of strings; energies, averages and vectors are those of the
/// stored matrix; both parities have the levels of the whole model.
#[test]
fn the_exchange_of_spins_is_multiplied_on_pairs() {
    let file = |sector: &str, symmetry: &str| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 5\n[sector]\nup = 2\ndown = 2\n{sector}\n\
             [symmetry]\n{symmetry}\n[solve]\nstates = 2\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model.toml");
    std::fs::write(&place, file("exchange = 1", "storage = \"direct\"")).unwrap();
    let place = place.display().to_string();
    for (stage, parts) in [
        ("plan", &["by pairs of 10 strings, P = +1: panels of 32 rows, hops by a list", "of tables", "of panels"][..]),
        ("cuda", &["multiply_panels", "of the last one", "X^T = P X with P = 1"]),
        ("cost", &["multiply"]),
    ] {
        check_stage(&place, stage, parts);
    }
    let solved = |text: &str, name: &str, device: &str| {
        let output = folder.path().join(name).display().to_string();
        let found = report(text, &["--device", device, "--vectors", "--output", &output]);
        let mut npz = NpzReader::new(std::fs::File::open(Path::new(&output).join("vectors.npz")).unwrap()).unwrap();
        let states: Array1<u64> = npz.by_name("states").unwrap();
        let vectors: Array2<f64> = npz.by_name("vectors").unwrap();
        (found, states, vectors)
    };
    let mut levels = Vec::new();
    for sign in [1, -1] {
        let exchange = format!("exchange = {sign}\n");
        let (expected, states, vectors) =
            solved(&file("", &(exchange.clone() + "storage = \"stored\"")), &format!("s{sign}"), "cpu");
        levels.extend(expected.energies.clone());
        for device in ["cpu", "sim"] {
            let direct = file(&exchange, "storage = \"direct\"");
            let (found, own, on_pairs) = solved(&direct, &format!("{device}{sign}"), device);
            assert_eq!(states, own, "documented order");
            for (a, b) in expected.energies.iter().zip(&found.energies) {
                assert!((a - b).abs() < 1e-9, "{device}: {a} and {b}");
            }
            let overlap = vectors.row(0).dot(&on_pairs.row(0));
            assert!((overlap.abs() - 1.0).abs() < 1e-7, "{device}: {overlap}");
            let bond = |outcome: &Outcome| outcome.observables.averages.pairs("sdots").map(|pairs| pairs[[0, 1]]);
            let (a, b) = (bond(&expected).unwrap(), bond(&found).unwrap());
            assert!((a - b).abs() < 1e-7, "{device}: {a} and {b}");
        }
    }
    levels.sort_by(f64::total_cmp);
    let whole = report(&file("", "").replace("[symmetry]\n", ""), &["--device", "cpu"]);
    assert!((levels[0] - whole.energies[0]).abs() < 1e-9 && (levels[1] - whole.energies[1]).abs() < 1e-9, "{levels:?}");
    let twice = solve(&file("exchange = 1", "exchange = 1"), &["--device", "cpu"]);
    assert_eq!(failed(&twice), 2);
    assert!(stdout(&twice).contains("give it once"), "{}", stdout(&twice));
}

/// Electrons by strings: the plan says so, and energies, averages and vectors are those of the stored matrix.
#[test]
fn electrons_are_multiplied_by_strings() {
    let file = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"square\"\nsize = [3, 2]\nboundary = \"periodic\"\n\
                [sector]\nup = 3\ndown = 2\n[symmetry]\nk = [1, 0]\n";
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model.toml");
    std::fs::write(&place, format!("{file}storage = \"direct\"\n")).unwrap();
    let place = place.display().to_string();
    for (stage, parts) in [
        ("plan", &["multiply without a matrix, by strings: ", "of tables", "strings: 20"][..]),
        ("cuda", &["symmetry_strings_6_sites_multiply", "hops of U to rows with all strings"]),
        ("cost", &["multiply"]),
    ] {
        check_stage(&place, stage, parts);
    }
    let solved = |storage: &str, device: &str| {
        let output = folder.path().join(format!("{storage}_{device}")).display().to_string();
        let text = format!("{file}storage = \"{storage}\"\n[solve]\nstates = 2\n");
        let found = report(&text, &["--device", device, "--vectors", "--output", &output]);
        let mut npz = NpzReader::new(std::fs::File::open(Path::new(&output).join("vectors.npz")).unwrap()).unwrap();
        let states: Array1<u64> = npz.by_name("states").unwrap();
        let vectors: Array2<Complex64> = npz.by_name("vectors").unwrap();
        (found, states, vectors)
    };
    let (expected, states, vectors) = solved("stored", "cpu");
    for device in ["cpu", "sim"] {
        let (found, own, of_strings) = solved("direct", device);
        assert_eq!(states, own, "documented order");
        for (a, b) in expected.energies.iter().zip(&found.energies) {
            assert!((a - b).abs() < 1e-9, "{device}: {a} and {b}");
        }
        let overlap: Complex64 = vectors.row(0).iter().zip(of_strings.row(0)).map(|(a, b)| a.conj() * b).sum();
        assert!(
            (overlap.norm() - 1.0).abs() < 1e-7 || expected.energies[1] - expected.energies[0] < 1e-6,
            "{device}: {overlap}"
        );
        let bond = |outcome: &Outcome| outcome.observables.averages.pairs("sdots").map(|pairs| pairs[[0, 1]]);
        let (a, b) = (bond(&expected).unwrap(), bond(&found).unwrap());
        assert!((a - b).abs() < 1e-7, "{device}: {a} and {b}");
    }
}
