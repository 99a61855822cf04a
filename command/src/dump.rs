//! `eigenforge inspect MODEL.toml --dump DIR`: the generated files of a model, to be read, edited and run with `--override`.
//!
//! In: the files, a folder. Out: `NAME.cu` and `NAME.ron` ([`dumped_names`]), each written whole or not at all. What is there and differs may
//! be somebody's edit, so nothing at all is written then unless forced.

use super::error::CommandError;
use eigenforge::path::GeneratedFile;
use eigenforge::report::{ReportError, check_folder, publish};
use eigenforge_runtime::input_file::{FileKind, read_bytes};
use eigenforge_runtime::jit::{dumped_names, dumped_plan};
use eigenforge_runtime::solvers::EVERY_SIZE;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Writes the files and says which.
///
/// # Errors
/// Files that are there and differ, unless `force`; a folder that cannot be written.
pub(super) fn write(files: &[GeneratedFile], folder: &Path, force: bool) -> Result<String, CommandError> {
    let two = |(file, name): (&GeneratedFile, String)| {
        let at = |extension| folder.join(format!("{name}.{extension}"));
        [(at("cu"), file.text.text.clone()), (at("ron"), dumped_plan(&file.text))]
    };
    check_folder(folder, &[])?;
    let names = dumped_names(files.iter().map(|file| &file.text));
    let wanted: Vec<(PathBuf, String)> = files.iter().zip(names).flat_map(two).collect();
    // What is there and cannot be read, or is no regular file, differs.
    let there =
        |path: &PathBuf| path.symlink_metadata().ok().map(|_| read_bytes(path, FileKind::KERNEL).unwrap_or_default());
    let differs = |(path, text): &&(PathBuf, String)| there(path).is_some_and(|found| found != text.as_bytes());
    let differing: Vec<String> = wanted.iter().filter(differs).map(|(path, _)| path.display().to_string()).collect();
    if !force && !differing.is_empty() {
        return Err(CommandError::WouldOverwrite { files: differing });
    }
    let (mut out, mut sizes) = (String::new(), 0);
    let follows = files.iter().flat_map(|file| [file.when == EVERY_SIZE; 2]);
    for ((path, text), follows) in wanted.iter().zip(follows) {
        let found = there(path);
        let how = if found.as_ref().is_some_and(|found| found == text.as_bytes()) { "unchanged" } else { "wrote" };
        if how == "wrote" {
            let failed = |source| ReportError::Write { file: path.clone(), source };
            publish(path, |file| file.write_all(text.as_bytes()).map_err(failed))?;
        }
        // Of the many sizes of block operations those alone that were edited.
        match follows && (how == "unchanged" || found.is_none()) {
            true => sizes += 1,
            false => drop(writeln!(out, "{how:<9} {}", path.display())),
        }
    }
    if sizes > 0 {
        let (place, sizes) = (folder.display(), sizes / 2);
        let _ = writeln!(out, "          {place}: {sizes} block operations {EVERY_SIZE}");
    }
    Ok(out)
}

/// What to do next.
pub(super) fn next(model: &Path, folder: &Path) -> String {
    let (model, folder) = (model.display(), folder.display());
    format!(
        "\nEdit a .cu, keep the .ron beside it, then\n    eigenforge inspect {model} --stage resources --override {folder}    \
         # does it compile? no GPU needed\n    eigenforge solve {model} --device cuda --override {folder}\n"
    )
}
