//! Every verb × option × family: the option does what it says, or is refused by name with exit code 2.
//!
//! The options come from the command's own definition, so an option without a row fails here, as does a row without an option.

#[path = "options/rows.rs"]
mod rows;

use super::command::{run, stderr, stdout};
use super::gallery::root;
use clap::{Arg, Command};
use eigenforge_runtime::jit::{Jit, Settings};
use eigenforge_runtime::testing;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rows::ROWS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

/// A cell of the table: the command line without the option, the option as given, and what must come of it.
pub struct Row {
    pub verb: &'static str,
    /// Without dashes; "" for the verb itself.
    pub option: &'static str,
    pub family: &'static str,
    pub base: &'static [&'static str],
    pub given: &'static [&'static str],
    pub expected: Expected,
}

/// What an option must do.
pub enum Expected {
    /// Exit code 0 or 3, and this text is printed that is not printed without the option.
    Shows(&'static str),
    /// Exit code 0, and this text is printed; the verb does not run without the option, or does the same by default.
    Runs(&'static str),
    /// Exit code 0, and this file is there that was not there without the option.
    Writes(&'static str),
    /// Exit code 0, and the text without and with the option is as this says.
    Changes(fn(&str, &str) -> bool),
    /// As `Runs`, where NVRTC is on this machine.
    Compiles(&'static str),
    /// As `Runs`, where the tests run on a card; elsewhere the command line is parsed.
    OnACard(&'static str),
    /// Exit code 2, and the error has all these words.
    Refused(&'static [&'static str]),
    /// Exit code 1, and the error has all these words.
    Fails(&'static [&'static str]),
}

/// The families of a verb's input.
fn families(verb: &str) -> &'static [&'static str] {
    match verb {
        "solve" | "inspect" | "build" | "tune" => &["lattice", "ci", "dmrg", "su3", "matrix"],
        "spmv" => &["ci", "lattice", "dmrg", "su3"],
        "spectrum" | "thermal" | "evolve" => &["lattice", "ci", "dmrg", "su3", "matrix"],
        "export" => &["lattice", "ci", "dmrg", "su3", "matrix"],
        "count" | "bench ci" => &["ci"],
        "bench spmv" => &["matrix"],
        "bench hubbard" | "bench spins" | "bench symmetries" => &["lattice"],
        "bench devices" => &["lattice", "ci"],
        "bench dmrg" => &["dmrg"],
        verb if verb.starts_with("su3") || verb == "bench su3" => &["su3"],
        _ => &["any"],
    }
}

/// Families whose file a verb does not take at all: one row says so.
fn refuses_whole(verb: &str, family: &str) -> bool {
    matches!(
        (verb, family),
        ("tune", "dmrg" | "matrix")
            | ("spmv", "lattice" | "dmrg" | "su3")
            | ("spectrum" | "thermal" | "evolve", "dmrg" | "su3" | "matrix")
            | ("thermal" | "evolve", "ci")
            | ("export", "ci" | "dmrg" | "su3" | "matrix")
    )
}

/// The verbs that do something, with their options.
fn verbs(command: &Command, path: &str, out: &mut BTreeMap<String, Vec<String>>) {
    let mut of_verb = command.get_subcommands().filter(|verb| verb.get_name() != "help").peekable();
    if of_verb.peek().is_none() {
        let long = |option: &Arg| option.get_long().map(str::to_string).filter(|_| !option.is_hide_set());
        let options = command.get_arguments().filter_map(long).filter(|name| name != "help" && name != "version");
        out.insert(path.trim().to_string(), options.collect());
    }
    of_verb.for_each(|verb| verbs(verb, &format!("{path} {}", verb.get_name()), out));
}

#[test]
fn every_option_of_every_verb_has_a_row_for_every_family() {
    let mut known = BTreeMap::new();
    verbs(&eigenforge_command::definition(), "", &mut known);
    assert!(known.len() > 15, "{known:?}");
    let mut wanted = BTreeSet::new();
    for (verb, options) in &known {
        for family in families(verb) {
            wanted.insert((verb.clone(), String::new(), *family));
            if !refuses_whole(verb, family) {
                wanted.extend(options.iter().map(|option| (verb.clone(), option.clone(), *family)));
            }
        }
    }
    let found: BTreeSet<_> =
        ROWS.iter().map(|row| (row.verb.to_string(), row.option.to_string(), row.family)).collect();
    let missing: Vec<_> = wanted.difference(&found).collect();
    let stale: Vec<_> = found.difference(&wanted).collect();
    assert!(missing.is_empty(), "options without a row in tests/cli_and_input/options/rows.rs: {missing:#?}");
    assert!(stale.is_empty(), "rows without an option: {stale:#?}");
}

/// What the rows' command lines name: `@L`, `@C`, `@D`, `@S`, `@F` model files, `@x` a path in a folder of this test's own.
struct Inputs(tempfile::TempDir);

impl Inputs {
    fn new() -> Inputs {
        let inputs = Inputs(tempfile::tempdir().unwrap());
        let write = |name: &str, text: &str| std::fs::write(inputs.0.path().join(name), text).unwrap();
        let ring = "[lattice]\nkind = \"chain\"\nsize = 7\n[sector]\nup = 3\ndown = 3\n";
        write("lattice.toml", &format!("[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n{ring}"));
        let spins = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\n";
        write("chain.toml", &format!("{spins}[sector]\ntwo_sz = 0\n[dmrg]\nstates = 16\n"));
        let window = "[spectrum]\nof = \"Sz\"\nq = [1]\nomega = { from = 0.0, to = 4.0, points = 9 }\n";
        let small = spins.replace("size = 8", "size = 6\nboundary = \"periodic\"");
        let evolve = "[evolve]\nstart = { up = [0, 2, 4] }\nuntil = 1.0\ntimes = 3\n";
        write("evolve.toml", &format!("{small}[sector]\ntwo_sz = 0\n{evolve}"));
        let open = small.replace("periodic", "open");
        let steps = "step = 0.1\ntolerance = 1e-4\n";
        write("evolve_chain.toml", &format!("{open}[sector]\ntwo_sz = 0\n[dmrg]\nstates = 16\n{evolve}{steps}"));
        write("spectrum.toml", &format!("{small}[sector]\ntwo_sz = 0\n{window}"));
        write("thermal.toml", &format!("{small}[thermal]\ntemperatures = [0.1, 1.0]\n"));
        let swept = small.replace("jz = 1.0", "jz = { sweep = [0.5, 1.0] }");
        write("evolve_sweep.toml", &format!("{swept}[sector]\ntwo_sz = 0\n{evolve}"));
        write("spectrum_sweep.toml", &format!("{swept}[sector]\ntwo_sz = 0\n{window}"));
        write("thermal_sweep.toml", &format!("{swept}[thermal]\ntemperatures = [0.1, 1.0]\n"));
        let hydrogen = root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP");
        let ionised = "[spectrum]\nof = \"remove_up\"\nomega = { from = -2.0, to = 0.0, points = 9 }\n";
        write("spectrum_ci.toml", &format!("[ci]\nfcidump = {hydrogen:?}\n{ionised}"));
        let integrals = root().join("tests/data/ci/H2O_sto3g_0.96.FCIDUMP");
        write("molecule.toml", &format!("[ci]\nfcidump = {integrals:?}\n"));
        let jisp = root().join("tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat");
        write("interaction.toml", &format!("[su3]\ninteraction = {jisp:?}\nn_max = 2\noutput = \"su3.csv\"\n"));
        // Small enough for the simulation.
        let interaction = format!("[su3]\ninteraction = {jisp:?}\nn_max = 1\noutput = \"short_su3.csv\"\n");
        write("short_interaction.toml", &interaction);
        let short = spins.replace("size = 8", "size = 4");
        write("short_chain.toml", &format!("{short}[sector]\ntwo_sz = 0\n[dmrg]\nstates = 4\n"));
        write("hydrogen.toml", &format!("[ci]\nfcidump = {hydrogen:?}\n[solve]\nsolver = \"davidson\"\n"));
        let swept = "{ sweep = [1.0, 4.0] }";
        write("lattice_sweep.toml", &format!("[model]\nname = \"hubbard\"\nt = 1.0\nu = {swept}\n{ring}"));
        write(
            "molecule_sweep.toml",
            &format!("[ci]\nfcidump = {hydrogen:?}\nspace = {{ sweep = [\"fci\", \"cisd\"] }}\n"),
        );
        write("chain_sweep.toml", &format!("{short}[sector]\ntwo_sz = 0\n[dmrg]\nstates = {{ sweep = [2, 4] }}\n"));
        let folder = inputs.0.path().join("sweep");
        std::fs::create_dir(&folder).unwrap();
        let spaces =
            format!("[su3]\ninteraction = {jisp:?}\nn_max = {{ sweep = [1, 2] }}\noutput = \"sweep/su3.csv\"\n");
        write("interaction_sweep.toml", &spaces);
        write("force.toml", "[force]\nkind = \"gaussians\"\n");
        write("one.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1.0\n2 2 2.0\n");
        let elements = |row: usize| format!("{row} {row} {}\n{} {row} -1\n", row * row, row + 1);
        let elements: String = (1..60).map(elements).collect();
        let header = "%%MatrixMarket matrix coordinate real symmetric";
        write("matrix.mtx", &format!("{header}\n60 60 119\n{elements}60 60 3600\n"));
        let labels = "lambda1,mu1,kappa1,L1,lambda2,mu2,kappa2,L2,lambda3,mu3,kappa3,L3,rho\n";
        write("coefficients.csv", &format!("{labels}1,0,1,1,1,0,1,1,2,0,1,0,1\n"));
        write("symbols.csv", "type,twoj1,twoj2,twoj3,twoj4,twoj5,twoj6,twoj7,twoj8,twoj9\n6j,2,2,2,2,2,2,,,\n");
        let vectors = ["solve", "@L", "--device", "cpu", "--vectors", "--output", "@vectors"];
        assert_eq!(inputs.run(&vectors).status.code(), Some(0));
        for (model, edits) in [
            ("@L", "@edits-l"),
            ("@C", "@edits-c"),
            ("@D", "@edits-d"),
            ("@L", "@marked-l"),
            ("@C", "@marked-c"),
            ("@D", "@marked-d"),
            ("@S", "@edits-s"),
            ("@S", "@marked-s"),
            ("@M", "@edits-m"),
            ("@M", "@marked-m"),
            ("@short_interaction.toml", "@marked-short-s"),
        ] {
            let output = inputs.run(&["inspect", model, "--dump", edits]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let folder = inputs.word(edits);
            let first = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let first = first.filter(|path| path.extension().is_some_and(|extension| extension == "cu")).min().unwrap();
            let text = std::fs::read_to_string(&first).unwrap();
            std::fs::write(&first, format!("{text}\n// edited by hand\n")).unwrap();
        }
        inputs
    }

    fn word(&self, word: &str) -> String {
        let Some(name) = word.strip_prefix('@') else { return word.into() };
        let name = match name {
            "L" => "lattice.toml",
            "C" => "molecule.toml",
            "D" => "chain.toml",
            "S" => "interaction.toml",
            "M" => "matrix.mtx",
            "F" => "force.toml",
            other => other,
        };
        self.0.path().join(name).to_str().unwrap().into()
    }

    fn run(&self, words: &[&str]) -> Output {
        let words: Vec<String> = words.iter().map(|word| self.word(word)).collect();
        run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn message(output: &Output) -> String {
    let text = format!("{}{}", stdout(output), stderr(output));
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

impl Row {
    /// What is wrong with the cell. `plain` holds what was printed without options so far.
    fn fault(&self, inputs: &Inputs, plain: &mut BTreeMap<&'static [&'static str], String>) -> Option<String> {
        let verb: Vec<&str> = self.verb.split(' ').collect();
        let mut without =
            || plain.entry(self.base).or_insert_with(|| message(&inputs.run(&[&verb, self.base].concat()))).clone();
        let with = || inputs.run(&[&verb, self.base, self.given].concat());
        let done = |output: &Output, codes: &[i32]| {
            let code = output.status.code();
            (!code.is_some_and(|code| codes.contains(&code))).then(|| format!("exit {code:?}: {}", message(output)))
        };
        match &self.expected {
            Expected::Shows(text) => {
                let before = without();
                let output = with();
                let lacks =
                    (!message(&output).contains(text)).then(|| format!("'{text}' is not in {}", message(&output)));
                let already = before.contains(text).then(|| format!("'{text}' is printed without the option"));
                done(&output, &[0, 3]).or(lacks).or(already)
            }
            Expected::Runs(text) => runs(&with(), text, done),
            Expected::Compiles(text) => {
                Jit::for_tests(&Settings::from_env().unwrap()).and_then(|_| runs(&with(), text, done))
            }
            Expected::OnACard(text) => {
                if testing::card().is_some() {
                    return runs(&with(), text, done);
                }
                let words = [&["eigenforge"], &verb[..], self.base, self.given].concat();
                let words = words.iter().map(|word| inputs.word(word));
                eigenforge_command::definition().try_get_matches_from(words).err().map(|error| error.to_string())
            }
            Expected::Writes(file) => {
                without();
                let path = inputs.word(file);
                let early = Path::new(&path).exists().then(|| format!("{file} is there without the option"));
                let output = with();
                early.or(done(&output, &[0])).or((!Path::new(&path).exists()).then(|| format!("no {file}")))
            }
            Expected::Changes(as_wanted) => {
                let (before, output) = (without(), with());
                let after = message(&output);
                let same = || format!("not as wanted:\n{before}\n{after}");
                done(&output, &[0]).or((!as_wanted(&before, &after)).then(same))
            }
            Expected::Refused(words) => lacks(&with(), words, |output| done(output, &[2])),
            Expected::Fails(words) => lacks(&with(), words, |output| done(output, &[1])),
        }
    }
}

fn lacks(output: &Output, words: &[&str], done: impl Fn(&Output) -> Option<String>) -> Option<String> {
    let silent = words.iter().find(|word| !message(output).contains(**word));
    done(output).or(silent.map(|word| format!("'{word}' is not in {}", message(output))))
}

fn runs(output: &Output, text: &str, done: impl Fn(&Output, &[i32]) -> Option<String>) -> Option<String> {
    let lacks = (!message(output).contains(text)).then(|| format!("'{text}' is not in {}", message(output)));
    done(output, &[0]).or(lacks)
}

#[test]
fn an_option_does_what_it_says_or_is_refused_by_name() {
    let inputs = Inputs::new();
    // The cells of a verb and a family in their order, one group beside another.
    let groups: BTreeSet<_> = ROWS.iter().map(|row| (row.verb, row.family)).collect();
    let of_group = |group: &(&str, &str)| {
        let mut plain = BTreeMap::new();
        let mut fault = |row: &Row| {
            let why = row.fault(&inputs, &mut plain)?;
            Some(format!("{} --{} of {} {:?} {:?}: {why}", row.verb, row.option, row.family, row.base, row.given))
        };
        ROWS.iter().filter(|row| (row.verb, row.family) == *group).filter_map(&mut fault).collect::<Vec<_>>()
    };
    let faults: Vec<String> = groups.into_par_iter().flat_map_iter(|group| of_group(&group)).collect();
    assert!(faults.is_empty(), "{} cells of {}:\n{}", faults.len(), ROWS.len(), faults.join("\n\n"));
}
