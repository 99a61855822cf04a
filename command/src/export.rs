//! `eigenforge export MODEL.toml --output FILE`: H of a lattice model as a matrix, as Pauli strings or as products at sites.
//! [`eigenforge::export`] does the work.

use super::VerbEnd;
use super::arguments::ExportArguments;
use super::error::CommandError;
use super::output::{SCHEMA, print, print_json, results_in};
use super::refuse::refusal;
use eigenforge::export::{ExportFormat, Exported, export};
use eigenforge::input::InputFile;
use eigenforge::problem::Family;
use eigenforge::report::check_file;

/// Runs the verb.
pub(super) fn run(arguments: &ExportArguments) -> Result<VerbEnd, CommandError> {
    let input = InputFile::read(&arguments.model)?;
    let of_family = |why: &str| Err(refusal(Family::from_file(&input), "export", why));
    let file = match &input {
        InputFile::Lattice(file) => file,
        InputFile::Sweep(_) => {
            return of_family("its points have matrices of their own; give every swept key one value");
        }
        InputFile::Dmrg(_) => return of_family("leave [dmrg] out to write H of its sector"),
        InputFile::Ci(_) => {
            return of_family(
                "its matrix is that of `spmv`; the same H on orbitals as sites is name = \"terms\" with `fcidump`",
            );
        }
        InputFile::Matrix(_) => return of_family("it is written already, and `spmv` multiplies it"),
        InputFile::Su3(_) => {
            return of_family(
                "there is no H of a sector; `su3 elements` writes its matrix elements, and an me2j file becomes H by name = \"terms\" with `me2j`",
            );
        }
    };
    let format = match arguments.format.or(ExportFormat::of_name(&arguments.output)) {
        Some(format) => format,
        None => return Err(CommandError::ExportFormat { file: arguments.output.clone() }),
    };
    check_output(arguments)?;
    let exported = export(&file.to_model()?, format, &arguments.output)?;
    results_in(&exported.file);
    match arguments.json {
        true => {
            let Exported { file, bytes, rows, elements, complex, .. } = exported;
            print_json(&serde_json::json!({
                "schema": SCHEMA, "file": file, "bytes": bytes, "rows": rows, "elements": elements, "complex": complex,
            }))?;
        }
        false => print(&exported.to_string()),
    }
    Ok(VerbEnd::Done)
}

/// Refuses an output that cannot be written, or a file that would be lost.
fn check_output(arguments: &ExportArguments) -> Result<(), CommandError> {
    let file = &arguments.output;
    check_file(file)?;
    if !arguments.force && file.is_file() {
        return Err(CommandError::FileExists { file: file.clone() });
    }
    Ok(())
}
