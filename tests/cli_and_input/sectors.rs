//! Small sectors of many sites by the command, absurd counts refused at once, warnings of a definition in the report.

use super::command::{run, stderr, stdout};
use eigenforge::report::Outcome;
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
