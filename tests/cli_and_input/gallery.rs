//! The gallery of bad model files: every `tests/input/NAME.toml` must be refused with exactly the text of `NAME.txt`.
//!
//! A new case is a new .toml; `UPDATE_EXPECT=1 cargo test --test cli_and_input` writes its .txt, to be read before it is
//! committed.

use eigenforge::input::InputFile;
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into()).into()
}

fn toml_files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() > 3, "{folder} has only {} model files", files.len());
    files
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn shown(name: &str, text: &str) -> Result<InputFile, String> {
    InputFile::parse(name, text, Path::new("")).map_err(|error| {
        let mut out = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(110);
        handler.render_report(&mut out, &error).unwrap();
        out
    })
}

#[test]
fn every_bad_file_is_refused_with_its_message() {
    for path in toml_files("tests/input") {
        let text = std::fs::read_to_string(&path).unwrap();
        match shown(&file_name(&path), &text) {
            Ok(file) => panic!("{} was accepted: {file:?}", path.display()),
            Err(message) => expect_test::expect_file![path.with_extension("txt")].assert_eq(&message),
        }
    }
}

#[test]
fn every_message_file_has_its_model_file() {
    for entry in std::fs::read_dir(root().join("tests/input")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.with_extension("toml").exists(), "{} belongs to nothing", path.display());
    }
}

#[test]
fn every_example_is_accepted() {
    for path in toml_files("examples") {
        let file = InputFile::read(&path).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        match file {
            InputFile::Lattice(file) => assert!(file.dimension().unwrap() > 0),
            InputFile::Dmrg(file) => {
                assert!(file.model.dimension().is_some_and(|states| states > 0) && file.dmrg.options.sweeps > 0);
            }
            InputFile::Su3(file) => assert!(file.su3.interaction.file().is_none_or(Path::exists)),
            InputFile::Matrix(file) => assert!(file.matrix.rows() > 0),
            InputFile::Ci(file) => assert!(eigenforge::ci::Molecule::read(&file.ci).unwrap().space.len() > 0),
            InputFile::Sweep(sweep) => assert!(sweep.points.len() > 1),
        }
    }
}

proptest! {
    /// Whatever is cut out of, or put into, a good file, there is an answer and a message that can be drawn.
    #[test]
    fn a_damaged_file_never_panics(
        case in 0usize..1000,
        cut in 0usize..600,
        length in 0usize..12,
        put in prop::sample::select(vec![
            "", "-", "nan", "\"", "[", "]", "]]", "=", "1e400", "99999999999999999999", "é", "\n[solve]\n", "\u{0}",
            "[0, 0]", "'''", "0x", "{", "#", "true", "-1", "up", "size = [1]\n",
        ]),
    ) {
        let files: Vec<PathBuf> = toml_files("examples");
        let text = std::fs::read_to_string(&files[case % files.len()]).unwrap();
        let letters: Vec<char> = text.chars().collect();
        let cut = cut.min(letters.len());
        let end = (cut + length).min(letters.len());
        let damaged: String = letters[..cut].iter().chain(&put.chars().collect::<Vec<_>>()).chain(&letters[end..]).collect();
        let _ = shown("damaged.toml", &damaged);
    }
}
