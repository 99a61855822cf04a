//! Commands that the documentation quotes: each is one that the program's own definition takes, and the files that it names are
//! there. Tables of figures name the command that prints them.

use super::gallery::root;
use clap::error::ErrorKind;
use std::path::Path;

/// The pages.
const PAGES: [&str; 43] = [
    "README.md",
    "docs/README.md",
    "docs/python.md",
    "docs/lattices.md",
    "docs/models.md",
    "docs/symmetries.md",
    "docs/spectra.md",
    "docs/thermal.md",
    "docs/evolution.md",
    "docs/molecules.md",
    "docs/dmrg.md",
    "docs/su3.md",
    "docs/matrices.md",
    "docs/running.md",
    "docs/record.md",
    "docs/recipes/structure_factor.md",
    "docs/recipes/gap_and_extrapolation.md",
    "docs/recipes/magnetisation.md",
    "docs/recipes/tower.md",
    "docs/inspecting.md",
    "docs/extending.md",
    "docs/dependencies.md",
    "docs/limits.md",
    "docs/papers.md",
    "docs/performance.md",
    "docs/notes/README.md",
    "docs/notes/build.md",
    "docs/notes/configuration-interaction.md",
    "docs/notes/dmrg-beyond-memory.md",
    "docs/notes/dmrg-on-a-card.md",
    "docs/notes/general-multiply.md",
    "docs/notes/kronecker-kernels.md",
    "docs/notes/several-cards.md",
    "docs/notes/simulator-and-tests.md",
    "docs/notes/solvers.md",
    "docs/notes/stored-matrices.md",
    "docs/notes/su3.md",
    "docs/notes/symmetry-sectors.md",
    "benches/README.md",
    "kernels_generated/README.md",
    "examples/hubbard_4x4.toml",
    "examples/hubbard_observables.toml",
    "examples/water_ci.toml",
];

/// First words of a command.
const PROGRAMS: [&str; 6] = ["eigenforge", "cargo", "python3", "nsys", "ncu", "mpirun"];

/// A command as a page has it.
struct Quoted {
    place: String,
    text: String,
    /// In a line of text, where the model file may be left out.
    inline: bool,
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Without a prompt, settings of the environment and a comment; nothing where it is no command.
fn command_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches("# ").trim().trim_start_matches("$ ");
    let line = line.split(" #").next().unwrap_or("").trim();
    let mut words = line.split_whitespace();
    let first = words.find(|word| !word.contains('=') || word.starts_with('-'))?;
    let script = first.starts_with("gpu/") && first.ends_with(".sh");
    if !PROGRAMS.contains(&first) && !script {
        return None;
    }
    // A profiler or mpirun around the program.
    let from = if ["nsys", "ncu", "mpirun"].contains(&first) { line.find("eigenforge ")? } else { line.find(first)? };
    Some(line[from..].to_string())
}

/// Commands of a page: indented or fenced lines, with what follows in brackets on the next ones, and code within lines.
fn quoted(name: &str, text: &str) -> Vec<Quoted> {
    let comments = name.ends_with(".toml");
    let (mut found, mut fence): (Vec<Quoted>, Option<bool>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(["", "console", "sh", "text"].contains(&language)) };
            continue;
        }
        let is_code = fence.unwrap_or(line.starts_with("    ") || comments && line.starts_with("#   "));
        if is_code && line.trim_start().starts_with('[') && line.trim_start().starts_with("[-") {
            if let Some(last) = found.last_mut() {
                last.text += &format!(" {}", line.split(" #").next().unwrap_or("").trim());
            }
        } else if is_code {
            found.extend(command_of(line).map(|text| Quoted { place, text, inline: false }));
        } else if fence.is_none() {
            let spans = line.split('`').skip(1).step_by(2).filter_map(command_of);
            found.extend(spans.map(|text| Quoted { place: place.clone(), text, inline: true }));
        }
    }
    found
}

/// A word of a usage line as somebody would write it: the first of several, a number or a name for a placeholder.
fn filled(word: &str) -> String {
    let word = word.split('|').next().unwrap_or(word).replace("cuda:N", "cuda:0").replace(",…", "");
    let numbers = [("K", "3"), ("N", "1"), ("T", "1e-6"), ("S", "1"), ("F", "labels"), ("B", "3"), ("SIZE", "2GiB")];
    let number = numbers.into_iter().find(|(name, _)| *name == word);
    number.map_or(if word == "MATRIX" { "matrix.npz".into() } else { word }, |(_, number)| number.into())
}

/// The words that are always there, and those of each pair of brackets.
fn parts(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let words = |text: &str| -> Vec<String> {
        text.split_whitespace().filter(|word| !["…", "..."].contains(word)).map(filled).collect()
    };
    let (mut fixed, mut optional, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').unwrap_or((after, ""));
        fixed.extend(words(before));
        optional.push(words(inside));
        rest = after;
    }
    fixed.extend(words(rest));
    (fixed, optional)
}

fn parses(words: &[String], inline: bool) -> Result<(), String> {
    let words = std::iter::once("eigenforge").chain(words.iter().map(String::as_str));
    match eigenforge_command::definition().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) if inline && error.kind() == ErrorKind::MissingRequiredArgument => Ok(()),
        Err(error) if inline && error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// What is wrong with a command of the program.
fn program_fault(text: &str, inline: bool) -> Result<(), String> {
    let (fixed, optional) = parts(text);
    parses(&fixed, inline)?;
    for (number, group) in optional.iter().enumerate() {
        let alone = [fixed.clone(), group.clone()].concat();
        // An option may need one that stands before it.
        let with_others = [fixed.clone(), optional[..=number].concat()].concat();
        parses(&alone, inline).or_else(|why| parses(&with_others, inline).map_err(|_| why))?;
    }
    Ok(())
}

/// What is wrong with a command of cargo.
fn cargo_fault(text: &str) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |option: &str| words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1)).copied();
    let folder = match after("-p") {
        None | Some("eigenforge") => root(),
        Some(package) => root().join(package.strip_prefix("eigenforge-").unwrap_or(package)),
    };
    let exists = |path: String| if folder.join(&path).exists() { Ok(()) } else { Err(format!("{path} is not there")) };
    if let Some(name) = after("--example") {
        return exists(format!("examples/{name}.rs"));
    }
    if let Some(name) = after("--test") {
        return exists(format!("tests/{name}.rs"));
    }
    match words.get(1).copied() {
        Some("run") => match text.split_once(" -- ") {
            Some((_, rest)) => program_fault(rest, false),
            None if text.trim_end().ends_with("--") => Ok(()),
            None => Err("what is run?".into()),
        },
        Some("xtask") => {
            let verbs = std::fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
            let verb = words.get(2).copied().unwrap_or("");
            verbs.contains(&format!("\"{verb}\"")).then_some(()).ok_or(format!("cargo xtask has no {verb}"))
        }
        Some("build" | "test" | "doc" | "clippy" | "fmt" | "install" | "tree") => Ok(()),
        other => Err(format!("cargo {other:?} is not known here")),
    }
}

/// Files of the repository that the command names: words with a slash, made of small letters up to it.
fn file_fault(text: &str) -> Result<(), String> {
    for word in text.split_whitespace().filter(|word| word.contains('/') && !word.contains("//")) {
        let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
        if folder.starts_with('/') || folder.contains(['$', '[', '<']) || !root().join(folder).exists() {
            return Err(format!("{word}: the folder is not there"));
        }
        let fits = |found: &str| match name.split_once('*') {
            Some((start, end)) => found.starts_with(start) && found.ends_with(end),
            None => found == name,
        };
        let entries = std::fs::read_dir(root().join(folder)).map_err(|error| error.to_string())?;
        if !entries.flatten().any(|entry| fits(&entry.file_name().to_string_lossy())) {
            return Err(format!("{word} is not there"));
        }
    }
    Ok(())
}

#[test]
fn every_quoted_command_is_one_that_runs() {
    let mut faults = Vec::new();
    let mut seen = 0;
    let recorded = quoted("eigenforge bench results", &eigenforge_benches::results::markdown(None));
    let pages = PAGES.iter().flat_map(|name| quoted(name, &page(name)));
    for command in pages.chain(recorded) {
        let Quoted { place, text, inline } = command;
        seen += 1;
        let first = text.split_whitespace().next().unwrap_or("");
        let wrong = match first {
            "eigenforge" => program_fault(text.trim_start_matches("eigenforge"), inline),
            "cargo" => cargo_fault(&text),
            _ => Ok(()),
        };
        if let Err(why) = wrong.and_then(|()| file_fault(&text)) {
            faults.push(format!("{place}: {text}\n    {}", why.trim()));
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A command in the text that belongs to a table: from the heading, or the table before, to the end of the paragraph after it.
#[test]
fn every_table_of_figures_names_its_command() {
    let named = |text: &str| {
        let programs = ["`eigenforge ", "`gpu/", "`benches/", "`python3 ", "`cargo ", "    git grep "];
        programs.iter().any(|program| text.contains(program))
    };
    let mut faults = Vec::new();
    for (name, from, least) in [("README.md", "## Speed", 1), ("docs/performance.md", "# ", 13)] {
        let text = page(name);
        let section = &text[text.find(from).unwrap_or_else(|| panic!("{name} has no {from}"))..];
        let end = section[1..].find("\n## When").map_or(section.len(), |at| at + 1);
        let lines: Vec<&str> = section[..end].lines().collect();
        let (mut before, mut at, mut tables) = (0, 0, 0);
        while at < lines.len() {
            if lines[at].starts_with('#') {
                before = at;
            }
            if !lines[at].starts_with('|') {
                at += 1;
                continue;
            }
            let start = at;
            while at < lines.len() && lines[at].starts_with('|') {
                at += 1;
            }
            let after = lines[at..].iter().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
            let around = [lines[before..start].to_vec(), after.copied().collect()].concat().join("\n");
            tables += 1;
            if !named(&around) {
                faults.push(format!("{name}: the table that begins {}", lines[start]));
            }
            before = at;
        }
        assert!(tables >= least, "{name}: only {tables} tables");
    }
    assert!(faults.is_empty(), "no command beside\n{}", faults.join("\n"));
}

#[test]
fn commands_that_do_not_run_are_found() {
    for wrong in ["solve", "solve m.toml --sovler dense", "bench hubbard [--no-such]", "inspect m.toml --stage binary"]
    {
        assert!(program_fault(wrong, false).is_err(), "{wrong}");
    }
    assert!(program_fault("solve m.toml [--checkpoint DIR] [--resume] [--states K]", false).is_ok());
    assert!(
        cargo_fault("cargo run --release --example no_such").is_err() && cargo_fault("cargo xtask no_such").is_err()
    );
    assert!(file_fault("eigenforge solve examples/no_such.toml").is_err());
    assert!(file_fault("eigenforge bench ci benches/ci/*.toml").is_ok() && Path::new(&root()).exists());
}
