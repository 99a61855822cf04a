//! Interactions in formats that are not read, by name.
//!
//! In: the beginning of a file that no reader has recognised. Out: what it seems to be, in an error that lists what is read.

use super::csv::TableError;
use eigenforge_runtime::input_file::{FileKind, TextFile};
use std::io::{self, Read};
use std::path::Path;

/// Bytes that are looked at.
const START: u64 = 1 << 13;

/// What is read, for messages.
const READ: &str = "an interaction is a table of labels (a CSV header `channel,na,…`), relative motion (`# RELATIVE LSJT`), an H2 file of \
                    version 0, 15099 or 15200, me2j (a name that ends in .me2j, .me2j.gz or .me2j.bin, or `me2j` in the first line), a force \
                    (the ending .toml) or a .bin of `su3 elements`";

/// Refuses a file that is no table of labels.
///
/// # Errors
///
/// A file that cannot be read; one whose first line that is no comment has no comma.
pub(super) fn check_table(path: &Path) -> Result<(), TableError> {
    let text = beginning(path).map_err(|source| TableError::Read { path: path.to_path_buf(), source })?;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
    let found = known(&text, name.strip_suffix(".gz").unwrap_or(&name));
    let first = text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty()).unwrap_or_default();
    if found.is_none() && (first.is_empty() || first.contains(',')) {
        return Ok(());
    }
    let found = found.map_or_else(
        || "this file is in no known format".into(),
        |found| format!("this seems to be {found}, which is not read"),
    );
    Err(TableError::Content { path: path.to_path_buf(), reason: format!("{found}: {READ}") })
}

/// Whether a file is a table of labels with a column `J0`, of an operator of any rank.
pub(super) fn has_rank(path: &Path) -> bool {
    let text = beginning(path).unwrap_or_default();
    let header = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    header.split(',').any(|name| name.trim() == "J0")
}

/// Refuses an operator of rank J0 where a scalar is needed.
///
/// # Errors
///
/// A file with a column `J0`.
pub(super) fn check_scalar(path: &Path) -> Result<(), TableError> {
    if !has_rank(path) {
        return Ok(());
    }
    let reason = "this is an operator of rank J0 (it has a column `J0`), but a scalar was expected; `eigenforge su3 transform` takes \
                  both";
    Err(TableError::Content { path: path.to_path_buf(), reason: reason.into() })
}

fn beginning(path: &Path) -> io::Result<String> {
    let mut start = Vec::new();
    TextFile::open(path, FileKind::INTERACTION)?.take(START).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

/// A format by its first lines, or by its name where these say nothing.
fn known(text: &str, name: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default().to_lowercase();
    if first.trim_start_matches('#').trim_start().starts_with("relative-cm") {
        return Some("an operator of relative and centre-of-mass motion (RELATIVE-CM LSJT)");
    }
    if first.contains("me3j") || name.contains(".me3j") {
        return Some("a file of three-body elements (me3j)");
    }
    let snt = "an interaction of KSHELL (.snt)";
    let int = "an interaction of NuShellX or OXBASH (.int)";
    if name.ends_with(".snt") {
        return Some(snt);
    }
    if name.ends_with(".int") {
        return Some(int);
    }
    // Both have comments that begin with `!`; KSHELL's first line of numbers has four whole ones.
    let numbers = text.lines().find(|line| !line.trim_start().starts_with(['!', '#']) && !line.trim().is_empty())?;
    let words: Vec<&str> = numbers.split_whitespace().collect();
    let commented = text.lines().any(|line| line.trim_start().starts_with('!'));
    let whole = |word: &&str| word.parse::<i64>().is_ok();
    let real = |word: &&str| word.parse::<f64>().is_ok();
    match commented && words.iter().all(real) && words.first().is_some_and(whole) {
        true if words.len() == 4 && words.iter().all(whole) => Some(snt),
        true if words.len() > 1 => Some(int),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_are_not_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            check_table(&path).map_err(|error| error.to_string())
        };
        for (name, text, said) in [
            ("a.dat", "# RELATIVE-CM LSJT\n#\n1\n0 0 0 0 0\n2\n", "RELATIVE-CM"),
            ("b.dat", "(*** nsopt/me3j-f2 ***)\n 1.0 2.0\n", "me3j"),
            ("c.me3j", "NNN int\n1.0\n", "me3j"),
            ("d.snt", "1.0\n", "KSHELL"),
            ("e.txt", "! model space\n 3 3 8 8\n 1 0 2 3 -1\n", "KSHELL"),
            ("f.int", "63 1.6 2.1 -3.9\n", "NuShellX"),
            ("g.txt", "! usdb\n 63 2.1117 -3.9257 -3.2079 16.0\n", "NuShellX"),
            ("h.txt", "1 2 3 4 0.5\n", "no known format"),
        ] {
            let error = check(name, text).unwrap_err();
            assert!(error.contains(said) && error.contains("an interaction is a table of labels"), "{name}: {error}");
        }
        assert!(check("i.csv", "# rows = 1\nchannel,na,nb\n").is_ok());
    }
}
