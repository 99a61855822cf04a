//! kernels_generated/README.md quotes the generated files: every quoted line must still stand in the file it names.
//!
//! A heading names a file of the gallery in backticks. Below it, each line of a `cuda` block is a line of that file, each
//! piece of code in the first column of a table stands somewhere in it, and `…` in a piece leaves something out.

use super::gallery::root;

/// What is quoted from which file: (file, piece, whether it is a whole line).
fn quotations(readme: &str) -> Vec<(String, String, bool)> {
    let (mut file, mut code, mut found) = (None, false, Vec::new());
    for line in readme.lines() {
        if line.starts_with("```") {
            code = line.trim() == "```cuda";
        } else if let (true, Some(file)) = (code, &file) {
            let piece = line.trim();
            if !piece.is_empty() {
                found.push((String::clone(file), piece.to_string(), true));
            }
        } else if line.starts_with('#') {
            file = backticks(line).into_iter().next();
        } else if let (Some(row), Some(file)) = (line.strip_prefix("| "), &file) {
            // A bar inside code is written \| in a table.
            let row = row.replace("\\|", "\u{0}");
            let first = row.split('|').next().unwrap_or_default().replace('\u{0}', "|");
            found.extend(backticks(&first).into_iter().map(|piece| (String::clone(file), piece, false)));
        }
    }
    found
}

fn backticks(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Whether the parts of a piece, around each `…`, stand in a line in their order.
fn stands(piece: &str, line: &str) -> bool {
    let mut rest = line;
    piece.split('…').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Quotations that the files do not have.
fn missing(readme: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let absent = |(file, piece, whole): &(String, String, bool)| {
        let Some(text) = read(file) else { return Some(format!("no file {file}")) };
        let found = text.lines().any(|line| if *whole { line.trim() == piece } else { stands(piece, line) });
        (!found).then(|| format!("{file} has no {piece}"))
    };
    quotations(readme).iter().filter_map(absent).collect()
}

#[test]
fn every_quoted_line_stands_in_its_file() {
    let folder = root().join("kernels_generated");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(quotations(&readme).len() > 60, "only {} quotations", quotations(&readme).len());
    let absent = missing(&readme, |file| std::fs::read_to_string(folder.join(file)).ok());
    assert!(absent.is_empty(), "kernels_generated/README.md: {}", absent.join("\n"));
}

#[test]
fn a_quotation_that_no_file_has_is_found() {
    let readme = "## `a.cu`\n```cuda\n  sum += value;\n\n```\n| in the text | means |\n|---|---|\n| `x … z`, `p \\| q` | … |\n\
                  ```\nno cuda\n```\n## `b.cu`\n| `y` | … |\n";
    let files = |file: &str| match file {
        "a.cu" => Some("    sum += value;\nx y z\np | q".to_string()),
        _ => Some("y".into()),
    };
    assert_eq!(missing(readme, files), [""; 0]);
    let changed = |file: &str| files(file).map(|text| text.replace('+', "-").replace("x y z", "z x"));
    assert_eq!(missing(readme, changed), ["a.cu has no sum += value;", "a.cu has no x … z"]);
    assert_eq!(missing("# `c.cu`\n| `y` |\n", |_| None), ["no file c.cu"]);
}
