//! `eigenforge bench results`: the recorded figures of `benches/results` as Markdown tables.
//!
//! In: a family, or none for all. Out: for each table its caption, the commands that measure it again, device, date and commit, and its
//! rows. Nothing is measured. docs/performance.md shows some of these tables; the tests below compare the page with what is printed here.

use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use std::io::Write;
use toml::{Spanned, Value, value::Datetime};

/// Families and their files.
const FILES: [(&str, &str); 13] = [
    ("machine", include_str!("../results/machine.toml")),
    ("hubbard", include_str!("../results/hubbard.toml")),
    ("solvers", include_str!("../results/solvers.toml")),
    ("cpu", include_str!("../results/cpu.toml")),
    ("spins", include_str!("../results/spins.toml")),
    ("symmetries", include_str!("../results/symmetries.toml")),
    ("devices", include_str!("../results/devices.toml")),
    ("ci", include_str!("../results/ci.toml")),
    ("matrices", include_str!("../results/matrices.toml")),
    ("su3", include_str!("../results/su3.toml")),
    ("dmrg", include_str!("../results/dmrg.toml")),
    ("commands", include_str!("../results/commands.toml")),
    ("build", include_str!("../results/build.toml")),
];

/// The longest line of text around a table, in characters.
const LINE: usize = 150;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub struct ResultsArguments {
    /// One family of tables [default: all]
    #[arg(value_name = "FAMILY", value_parser = PossibleValuesParser::new(FILES.map(|(family, _)| family)))]
    pub family: Option<String>,
}

/// A file of `benches/results`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultsFile {
    /// The heading.
    title: String,
    table: Vec<RecordedTable>,
}

/// The figures of one run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedTable {
    /// Unique in its family.
    name: String,
    caption: String,
    /// Commands that measure the figures.
    #[serde(default)]
    commands: Vec<String>,
    /// Files of the repository that the commands read and do not name.
    #[serde(default)]
    inputs: Vec<String>,
    /// Left out where no device counts.
    device: Option<String>,
    /// Versions of the driver and of other programs.
    software: Option<String>,
    date: Option<Datetime>,
    /// The commit that was measured.
    commit: Option<String>,
    columns: Vec<String>,
    /// One per column, empty without a unit; left out if no column has one.
    #[serde(default)]
    units: Vec<String>,
    /// Texts and numbers; a number is printed with the digits of the file.
    rows: Vec<Vec<Spanned<Value>>>,
    note: Option<String>,
}

impl RecordedTable {
    /// Caption, source, rows and note.
    fn markdown(&self, source: &str) -> String {
        let commands = self.commands.iter().map(|command| format!("`{command}`"));
        let inputs = self.inputs.iter().map(|input| format!("`{input}`"));
        let run = [self.device.clone(), self.software.clone()];
        let date = self.date.map(|date| date.to_string());
        let commit = self.commit.as_ref().map(|commit| format!("commit {commit}"));
        let facts = commands.chain(inputs).chain(run.into_iter().flatten()).chain(date).chain(commit);
        let facts: Vec<String> = facts.collect();
        let heads = self.columns.iter().enumerate().map(|(k, name)| match self.units.get(k) {
            Some(unit) if !unit.is_empty() => format!("{name}, {unit}"),
            _ => name.clone(),
        });
        let end = if facts.is_empty() { "" } else { "." };
        let mut lines = wrapped(format!("{}. {}{end}", self.caption, facts.join(", ")).trim_end());
        lines.extend([String::new(), row(heads), format!("|{}", "---|".repeat(self.columns.len()))]);
        lines.extend(self.rows.iter().map(|cells| row(cells.iter().map(|value| cell(source, value)))));
        if let Some(note) = &self.note {
            lines.push(String::new());
            lines.extend(wrapped(note));
        }
        lines.join("\n") + "\n"
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
    format!("|{}", cells.replace("  |", " |"))
}

/// A text, or a number as the file has it: `1_234` is 1,234, and a minus sign is −.
fn cell(source: &str, value: &Spanned<Value>) -> String {
    match value.get_ref() {
        Value::String(text) => text.clone(),
        _ => {
            let digits = source[value.span()].replace('_', ",");
            digits.strip_prefix('-').map(|rest| format!("−{rest}")).unwrap_or(digits)
        }
    }
}

/// Lines of at most [`LINE`] characters, unless a quoted command is longer; a line never ends within one.
fn wrapped(text: &str) -> Vec<String> {
    let (mut words, mut quoted): (Vec<String>, bool) = (Vec::new(), false);
    for word in text.split(' ') {
        match words.last_mut().filter(|_| quoted) {
            Some(command) => *command += &format!(" {word}"),
            None => words.push(word.to_string()),
        }
        quoted ^= word.matches('`').count() % 2 == 1;
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= LINE) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word),
        }
    }
    lines
}

/// A family's heading, and its tables by name. The files are part of the program, and a test reads every one.
fn tables(source: &str) -> (String, Vec<(String, String)>) {
    let file: ResultsFile = toml::from_str(source).unwrap_or_else(|error| panic!("benches/results: {error}"));
    (file.title, file.table.iter().map(|table| (table.name.clone(), table.markdown(source))).collect())
}

/// Recorded tables as Markdown: those of one family, or all.
pub fn markdown(family: Option<&str>) -> String {
    let files = FILES.iter().filter(|(name, _)| family.is_none_or(|family| family == *name));
    let sections = files.map(|(_, source)| {
        let (title, tables) = tables(source);
        let tables: Vec<String> = tables.into_iter().map(|(_, text)| text).collect();
        format!("## {title}\n\n{}", tables.join("\n"))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// Prints [`markdown`].
///
/// # Errors
///
/// If the text cannot be written.
pub fn command(arguments: &ResultsArguments, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(markdown(arguments.family.as_deref()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn page() -> String {
        std::fs::read_to_string(root().join("docs/performance.md")).unwrap()
    }

    #[test]
    fn every_file_is_a_table_of_full_rows_with_inputs_that_exist() {
        let files: BTreeSet<String> = std::fs::read_dir(root().join("benches/results"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(files, FILES.iter().map(|(family, _)| format!("{family}.toml")).collect());
        for (family, source) in FILES {
            let file: ResultsFile = toml::from_str(source).unwrap_or_else(|error| panic!("{family}: {error}"));
            let names: BTreeSet<&str> = file.table.iter().map(|table| table.name.as_str()).collect();
            assert_eq!(names.len(), file.table.len(), "{family}: a name twice");
            for table in &file.table {
                let place = format!("{family}.{}", table.name);
                assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{place}: rows and columns");
                assert!(table.units.is_empty() || table.units.len() == table.columns.len(), "{place}: units");
                for input in &table.inputs {
                    assert!(root().join(input).exists(), "{place}: {input} is not there");
                }
            }
        }
    }

    /// After each marker `<!-- results FAMILY.TABLE -->` stands the printed table, and no table stands elsewhere.
    #[test]
    fn the_page_shows_what_is_printed() {
        let page = page();
        let mut marked = 0;
        let mut families = BTreeSet::new();
        for part in page.split("<!-- results ").skip(1) {
            let (name, rest) = part.split_once(" -->\n").expect("a marker ends its line");
            let (family, table) = name.split_once('.').expect("FAMILY.TABLE");
            let (_, source) =
                FILES.iter().find(|(name, _)| *name == family).unwrap_or_else(|| panic!("no family {family}"));
            let (_, tables) = tables(source);
            let (_, text) = tables.iter().find(|(name, _)| name == table).unwrap_or_else(|| panic!("no table {name}"));
            let shown: Vec<&str> = rest.lines().take(text.lines().count()).collect();
            assert_eq!(shown.join("\n") + "\n", *text, "docs/performance.md, {name}");
            assert!(
                rest[text.len()..].is_empty() || rest[text.len()..].starts_with('\n'),
                "{name}: a blank line follows"
            );
            marked += text.lines().filter(|line| line.starts_with('|')).count();
            families.insert(family);
        }
        assert_eq!(page.lines().filter(|line| line.starts_with('|')).count(), marked, "tables without a marker");
        let missing: Vec<&str> = FILES.iter().map(|(name, _)| *name).filter(|name| !families.contains(name)).collect();
        assert!(missing.is_empty(), "families without a table on the page: {missing:?}");
    }

    #[test]
    fn numbers_keep_their_digits_and_commands_stay_on_a_line() {
        let source = "rows = [[\"a\", 1_234, -2.30, 4.9e-5]]";
        #[derive(Deserialize)]
        struct Rows {
            rows: Vec<Vec<Spanned<Value>>>,
        }
        let Rows { rows } = toml::from_str(source).unwrap();
        assert_eq!(row(rows[0].iter().map(|value| cell(source, value))), "| a | 1,234 | −2.30 | 4.9e-5 |");
        let text = format!("{} `eigenforge bench results hubbard`, and more.", "word ".repeat(25).trim());
        assert_eq!(wrapped(&text).last().unwrap(), "`eigenforge bench results hubbard`, and more.");
    }
}
