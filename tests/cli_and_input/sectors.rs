//! Small sectors of many sites by the command, absurd counts refused at once, warnings of a definition in the report.

use super::command::{run, stderr, stdout};
use eigenforge::report::Outcome;
use ndarray::Array2;
use ndarray_npy::NpzReader;
use std::time::{Duration, Instant};

/// Runs `solve` on a text; what came back and how long it took.
fn solve(text: &str, more: &[&str]) -> (std::process::Output, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.toml");
    std::fs::write(&file, text).unwrap();
    let (started, file) = (Instant::now(), file.display().to_string());
    let arguments: Vec<&str> = ["solve", &file, "--json"].iter().chain(more).copied().collect();
    (run(&arguments), started.elapsed())
}

fn report(text: &str, more: &[&str]) -> (Outcome, Duration) {
    let (output, time) = solve(text, more);
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    (Outcome::from_json(stdout(&output)).unwrap(), time)
}

fn ring_of_spins(sites: usize, spin: f64, two_sz: i64) -> String {
    format!(
        "[model]\nname = \"xxz\"\nspin = {spin:?}\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n\
         boundary = \"periodic\"\n[sector]\ntwo_sz = {two_sz}\n"
    )
}

/// One magnon, E = N S² − 4S at k = π (Bloch 1930): as many states as sites, not 2^64, and done in a blink.
#[test]
fn a_magnon_on_64_sites_is_64_states_in_a_blink() {
    for (sites, spin, two_sz, expected) in
        [(64, 0.5, 62, 14.0), (62, 0.5, 60, 13.5), (56, 0.5, -54, 12.0), (32, 1.5, 94, 66.0)]
    {
        let (report, time) = report(&ring_of_spins(sites, spin, two_sz), &["--device", "cpu"]);
        assert_eq!(report.dimension(), sites as u64);
        assert!((report.energies[0] - expected).abs() < 1e-9, "{sites}: {:?}", report.energies);
        let sz: f64 = report.observables.averages.sites("sz").unwrap().sum();
        assert!((2.0 * sz - two_sz as f64).abs() < 1e-9, "{sz}");
        assert!(time < Duration::from_secs(10), "{sites} sites took {time:?}");
    }
    let electron = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 60\nboundary = \
                    \"periodic\"\n[sector]\nup = 1\ndown = 0\n";
    let (report, time) = report(electron, &["--device", "cpu"]);
    assert_eq!(report.dimension(), 60);
    assert!((report.energies[0] + 2.0).abs() < 1e-9 && time < Duration::from_secs(10), "{time:?}");
}

/// More than 64 bits: the states are listed, on the CPU and in the simulator; files have two numbers for each.
#[test]
fn magnons_on_more_than_64_bits() {
    for (sites, spin, two_sz, expected) in [(100, 0.5, 98, 23.0), (128, 0.5, -126, 30.0), (40, 1.5, 118, 84.0)] {
        for device in ["cpu", "sim"] {
            let (report, _) = report(&ring_of_spins(sites, spin, two_sz), &["--device", device]);
            assert_eq!(report.dimension(), sites as u64);
            assert!((report.energies[0] - expected).abs() < 1e-9, "{sites} by {device}: {:?}", report.energies);
            let sz: f64 = report.observables.averages.sites("sz").unwrap().sum();
            assert!((2.0 * sz - two_sz as f64).abs() < 1e-9, "{sz}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().display().to_string();
    let more = ["--device", "cpu", "--states", "3", "--vectors", "--output", &output, "--solver", "lanczos"];
    let (found, _) = report(&ring_of_spins(70, 0.5, 66), &more);
    let mut npz = NpzReader::new(std::fs::File::open(folder.path().join("vectors.npz")).unwrap()).unwrap();
    let states: Array2<u64> = npz.by_name("states").unwrap();
    let vectors: Array2<f64> = npz.by_name("vectors").unwrap();
    assert_eq!((states.dim(), vectors.dim()), ((70 * 69 / 2, 2), (3, 70 * 69 / 2)));
    assert!(
        states.rows().into_iter().all(|state| state[0].count_ones() + state[1].count_ones() == 68 && state[1] < 64)
    );
    // The energy of the first vector by its bits: Σ (S·S − 1/4) of neighbours moves a spin where they differ.
    let words: Vec<u128> = states.rows().into_iter().map(|s| u128::from(s[0]) | u128::from(s[1]) << 64).collect();
    let mut energy = 0.0;
    for (k, word) in words.iter().enumerate() {
        for i in 0..70 {
            let pair = 1u128 << i | 1u128 << ((i + 1) % 70);
            let differ = (word & pair).count_ones() == 1;
            energy += if differ { -0.25 } else { 0.25 } * vectors[[0, k]].powi(2);
            if differ {
                let reached = words.binary_search(&(word ^ pair)).unwrap();
                energy += 0.5 * vectors[[0, k]] * vectors[[0, reached]];
            }
        }
    }
    assert!((energy - found.energies[0]).abs() < 1e-8, "{energy} and {}", found.energies[0]);
}

/// A run that was cut off goes on from its checkpoint.
#[test]
fn a_checkpoint_of_listed_states() {
    let (folder, text) = (tempfile::tempdir().unwrap(), ring_of_spins(90, 0.5, 86));
    let place = folder.path().join("run").display().to_string();
    let options = ["--device", "cpu", "--solver", "lanczos", "--checkpoint", &place, "--checkpoint-every", "1e-9"];
    let cut: Vec<&str> = options.iter().copied().chain(["--max-iterations", "20"]).collect();
    solve(&text, &cut);
    assert!(folder.path().join("run").exists());
    let more: Vec<&str> = options.iter().copied().chain(["--resume"]).collect();
    let (resumed, _) = report(&text, &more);
    let (fresh, _) = report(&text, &["--device", "cpu", "--solver", "lanczos"]);
    assert!((resumed.energies[0] - fresh.energies[0]).abs() < 1e-8);
}

/// Sectors of more than 64 bits that are too large, and words of more than 128, with the numbers.
#[test]
fn long_states_that_do_not_fit_are_refused_at_once() {
    let qubits = "[model]\nname = \"terms\"\nsite = \"qubit\"\nH = \"sum(<i, j> in bonds; Z(i) * Z(j)) + sum(i in sites; \
                  X(i))\"\n[lattice]\nkind = \"chain\"\nsize = 80\n[sector]\n";
    let pairs = "[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"sum(<i, j> in bonds; cdag(i, Up) * cdag(i, Down) * c(j, Down) * \
                 c(j, Up) + h.c.)\"\n[lattice]\nkind = \"square\"\nsize = [10, 10]\n[sector]\nup = 1\ndown = 1\n";
    for (text, expected) in [
        (ring_of_spins(100, 0.5, 0), ["100 sites need 100 bits", "about 1.009e29"]),
        (ring_of_spins(129, 0.5, 127), ["129 sites need 129 bits", "has 128"]),
        (qubits.to_string(), ["80 sites need 80 bits", "about 1.209e24"]),
        (pairs.to_string(), ["100 sites need 200 bits", "has 128"]),
    ] {
        let (output, time) = solve(&text, &[]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}{told}");
        assert!(expected.iter().all(|part| told.contains(part)), "{told}");
        assert!(time < Duration::from_secs(10), "{time:?}");
    }
}

#[test]
fn a_plan_says_how_listed_states_are_stored() {
    for stage in ["plan", "cost"] {
        let output = run(&["inspect", "examples/two_magnons.toml", "--stage", stage]);
        let told = stdout(&output);
        assert!(output.status.success() && told.contains("all 4,950 are listed"), "{told}{}", stderr(&output));
        assert!(told.contains("of 100 bits") && told.contains("stored sparse matrix"), "{told}");
    }
}

/// A million sites, or shells of neighbours on 270,000, are refused before anything of that number is made.
#[test]
fn absurd_counts_are_refused_at_once() {
    let chain = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 1000000\n[sector]\ntwo_sz \
                 = 0\n";
    let kagome = chain.replace("\"chain\"\nsize = 1000000", "\"kagome\"\nsize = [300, 300]\nfurther = [0.5]");
    for text in [chain.to_string(), kagome, format!("{chain}[dmrg]\nstates = 64\n")] {
        let (output, time) = solve(&text, &[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let told = stderr(&output);
        assert!(
            told.contains("need 1000000 bits") || told.contains("need 270000 bits") || told.contains("at most 8192")
        );
        assert!(time < Duration::from_secs(5), "{time:?}: {text}");
    }
}

#[test]
fn a_definition_s_warnings_stand_in_the_report() {
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\nsingle_ion = 0.3\n[lattice]\nkind = \"chain\"\nsize = \
                4\n[sector]\ntwo_sz = 0\n";
    let (output, _) = solve(text, &["--device", "cpu"]);
    let report = Outcome::from_json(stdout(&output)).unwrap();
    let found: Vec<&String> = report.warnings.iter().filter(|warning| warning.contains("spin 1/2")).collect();
    assert!(found.len() == 1 && found[0].contains("built-in xxz:3") && found[0].contains("spin = 1"), "{found:?}");
    assert!(stderr(&output).contains("is a constant for spin 1/2"));
    let spin_one = text.replace("\"xxz\"", "\"xxz\"\nspin = 1");
    let (report, _) = self::report(&spin_one, &["--device", "cpu"]);
    assert!(!report.warnings.iter().any(|warning| warning.contains("spin 1/2")), "{:?}", report.warnings);
}
