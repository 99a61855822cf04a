//! The profiler lines to copy: NVIDIA's tools around the user's own command.
//!
//! In: the problem's generated files, the most used first, and a `solve` command line. Out: a line for Nsight Systems, which shows the solver's phases (NVTX) above
//! the kernels, and one for Nsight Compute, which measures one multiply after three that warm up.

use eigenforge::path::GeneratedFile;
use std::ffi::{OsStr, OsString};

/// The two lines, each ending in a newline. `command` is the program and its arguments.
pub(super) fn lines(files: &[GeneratedFile], command: &[OsString]) -> String {
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let command = command.join(" ");
    let Some(file) = files.first() else { return String::new() };
    let kernel = file.text.entries.first().map_or("", String::as_str);
    let name = file.text.name.strip_suffix("_multiply").unwrap_or(&file.text.name);
    format!(
        "nsys profile --trace=cuda,nvtx -o {name} {command}\n\
         ncu --kernel-name {kernel} --launch-skip 3 --launch-count 1 --set full -o {name}_{kernel} {command}\n"
    )
}

/// This process's command line without `--trace FILE`, which a profiler has no use for.
pub(super) fn own_command() -> Vec<OsString> {
    without_trace(std::env::args_os())
}

fn without_trace(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut kept, mut skip) = (Vec::new(), false);
    for word in words {
        match word.to_str() {
            _ if skip => skip = false,
            Some("--trace") => skip = true,
            Some(text) if text.starts_with("--trace=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge::exact::InSector;
    use eigenforge::lattice::Lattice;
    use eigenforge::models;

    fn words(text: &[&str]) -> Vec<OsString> {
        text.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_user_s_own_words_are_quoted_and_the_trace_is_left_out() {
        let given =
            words(&["eigenforge", "solve", "my model's.toml", "--trace", "t.json", "--states", "3", "--trace=u"]);
        let kept = without_trace(given.into_iter());
        assert_eq!(kept, words(&["eigenforge", "solve", "my model's.toml", "--states", "3"]));
        let ring = Lattice::chain(4).periodic();
        let spins = models::xxz(&ring, &[1.0; 4], &[1.0; 4], &[0.0; 4], &[0.0; 4]).two_sz(0).unwrap().named("ring");
        assert_eq!(
            lines(&spins.generated().unwrap(), &kept),
            "nsys profile --trace=cuda,nvtx -o ring eigenforge solve 'my model'\\''s.toml' --states 3\n\
             ncu --kernel-name multiply --launch-skip 3 --launch-count 1 --set full -o ring_multiply eigenforge \
             solve 'my model'\\''s.toml' --states 3\n"
        );
        assert_eq!(quoted(OsStr::new("")), "''");
    }
}
