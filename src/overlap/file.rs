//! A vectors.npz, the basis of its vectors, and the report of its run.

use super::OverlapError;
use crate::dmrg::MatrixProductState;
use crate::input::InputFile;
use crate::report::{MATRIX_PRODUCTS, read_matrix_products};
use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use num_complex::Complex64;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Energies of one level of a file without a report are this close, in parts of the largest.
const ONE_LEVEL: f64 = 1e-9;

/// The contents of a file.
pub(super) struct VectorFile {
    /// Its path.
    pub(super) path: PathBuf,
    /// An energy per row.
    pub(super) energies: Vec<f64>,
    /// A vector per row; none of matrix-product states.
    pub(super) vectors: Array2<Complex64>,
    /// Matrix-product states.
    pub(super) states: Vec<MatrixProductState>,
    /// What the words of states are: one word, two species, or α and β.
    kind: &'static str,
    words: Vec<(u128, u128)>,
    /// The report beside it, if it is of these energies.
    report: Option<Value>,
}

/// The report beside a file, if it is of these energies.
fn report_of(path: &Path, energies: &[f64]) -> Option<Value> {
    let text = std::fs::read_to_string(path.with_file_name("report.json")).unwrap_or_default();
    let of_these = |report: &Value| {
        let known = report["energies"].as_array().map(|list| list.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
        known.is_some_and(|known| known == energies)
    };
    serde_json::from_str(&text).ok().filter(of_these)
}

impl VectorFile {
    /// Reads a file, or vectors.npz or mps.npz in a folder.
    pub(super) fn read(path: &Path) -> Result<VectorFile, OverlapError> {
        let in_folder = || {
            let names = ["vectors.npz", MATRIX_PRODUCTS].map(|name| path.join(name));
            let [vectors, products] = names;
            if !vectors.is_file() && products.is_file() { products } else { vectors }
        };
        let path = if path.is_dir() { in_folder() } else { path.to_path_buf() };
        let refused = |why: String| OverlapError::Read { file: path.clone(), why };
        let fault = |error: &dyn std::fmt::Display| refused(error.to_string());
        let opened = File::open(&path).map_err(|error| fault(&error))?;
        let mut npz = NpzReader::new(opened).map_err(|error| fault(&error))?;
        let names = npz.names().map_err(|error| fault(&error))?;
        let has = |name: &str| names.iter().any(|known| known.trim_end_matches(".npy") == name);
        if has("energies") && has("sites") {
            let energies: Array1<f64> = npz.by_name("energies").map_err(|error| fault(&error))?;
            let states = read_matrix_products(&mut npz).map_err(refused)?;
            let (energies, vectors, kind) = (energies.to_vec(), Array2::zeros((0, 0)), "matrix-product states");
            let report = report_of(&path, &energies);
            return Ok(VectorFile { path, energies, vectors, states, kind, words: Vec::new(), report });
        }
        if let Some(missing) = ["energies", "vectors"].into_iter().find(|name| !has(name)) {
            return Err(refused(format!("it has no array `{missing}`")));
        }
        let energies: Array1<f64> = npz.by_name("energies").map_err(|error| fault(&error))?;
        if npz.by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix3>("vectors").is_ok() {
            return Err(refused("its vectors are of quaternions, whose overlaps are no numbers".into()));
        }
        let vectors: Array2<Complex64> = match npz.by_name("vectors") {
            Ok(vectors) => vectors,
            Err(_) => {
                let real: Array2<f64> = npz.by_name("vectors").map_err(|error| fault(&error))?;
                real.mapv(Complex64::from)
            }
        };
        let mut list =
            |name: &str| -> Result<Array1<u64>, OverlapError> { npz.by_name(name).map_err(|error| fault(&error)) };
        let (kind, words): (_, Vec<(u128, u128)>) = if has("up_states") && has("down_states") {
            let (up, down) = (list("up_states")?, list("down_states")?);
            let pairs = down.iter().flat_map(|down| up.iter().map(move |up| (u128::from(*up), u128::from(*down))));
            ("up and down electrons", pairs.collect())
        } else if has("alpha_states") && has("beta_states") {
            let (up, down) = (list("alpha_states")?, list("beta_states")?);
            let pairs = up.iter().zip(&down).map(|(up, down)| (u128::from(*up), u128::from(*down)));
            ("determinants", pairs.collect())
        } else if has("states") {
            let words = match list("states") {
                Ok(words) => words.iter().map(|word| (u128::from(*word), 0)).collect(),
                Err(_) => {
                    let halves: Array2<u64> = npz.by_name("states").map_err(|error| fault(&error))?;
                    halves.rows().into_iter().map(|half| (u128::from(half[0]) | u128::from(half[1]) << 64, 0)).collect()
                }
            };
            ("words of sites", words)
        } else {
            return Err(refused("it has no basis states: neither `states`, `up_states` nor `alpha_states`".into()));
        };
        let (rows, dimension) = vectors.dim();
        if rows != energies.len() || dimension != words.len() {
            let (states, energies) = (words.len(), energies.len());
            return Err(refused(format!(
                "it has {rows} vectors of {dimension} numbers for {energies} energies and {states} basis states"
            )));
        }
        let energies = energies.to_vec();
        let report = report_of(&path, &energies);
        Ok(VectorFile { path, energies, vectors, states: Vec::new(), kind, words, report })
    }

    /// The place in the second file of each basis state of the first; `None` where the order is the same.
    pub(super) fn order(files: &[VectorFile; 2]) -> Result<Option<Vec<usize>>, OverlapError> {
        let [a, b] = files;
        let differ = |what, first: String, second: String| OverlapError::Basis {
            what,
            first,
            second,
            files: [a.path.clone(), b.path.clone()],
        };
        if a.kind != b.kind {
            return Err(differ("the kind of basis states", a.kind.into(), b.kind.into()));
        }
        type Read = fn(&Value) -> Option<String>;
        let compared: [(&'static str, Read); 4] = [
            ("the number of sites", sites),
            ("what a site carries", kinds),
            ("the sector", sector),
            ("the symmetry", symmetry),
        ];
        for (what, read) in compared {
            let [first, second] = [&a.report, &b.report].map(|report| report.as_ref().and_then(read));
            if let (Some(first), Some(second)) = (first, second)
                && first != second
            {
                return Err(differ(what, first, second));
            }
        }
        let [first, second] = files.each_ref().map(|file| file.words.len());
        if first != second {
            return Err(differ("the number of basis states", first.to_string(), second.to_string()));
        }
        if a.words == b.words {
            return Ok(None);
        }
        let places: HashMap<(u128, u128), usize> =
            b.words.iter().enumerate().map(|(place, word)| (*word, place)).collect();
        let place = |(number, word): (usize, &(u128, u128))| {
            let shown = |word: &(u128, u128)| format!("{:#b}", word.0 | word.1 << 64);
            places.get(word).copied().ok_or_else(|| {
                let name = "a basis state (another sector, lattice or space)";
                differ(name, shown(word), format!("not there, {} in its place", shown(&b.words[number])))
            })
        };
        a.words.iter().enumerate().map(place).collect::<Result<Vec<usize>, _>>().map(Some)
    }
}

fn sites(report: &Value) -> Option<String> {
    report.pointer("/lattice/sites").or_else(|| report.get("orbitals")).map(Value::to_string)
}

/// What the sites of the report's model carry, each kind once.
fn kinds(report: &Value) -> Option<String> {
    let (text, sites) = (report.pointer("/model/text")?.as_str()?, report.pointer("/lattice/sites")?.as_u64()?);
    let Ok(InputFile::Lattice(file)) = InputFile::parse("model", text, Path::new("")) else { return None };
    let mut kinds: Vec<String> = file.model.site_kinds(sites as usize).iter().map(ToString::to_string).collect();
    kinds.dedup();
    Some(kinds.join(", "))
}

fn sector(report: &Value) -> Option<String> {
    report.get("sector").map(Value::to_string)
}

/// Its symmetry in words; "none" of a lattice model without.
fn symmetry(report: &Value) -> Option<String> {
    report.get("lattice")?;
    let text = report.pointer("/symmetry/text").and_then(Value::as_str);
    Some(text.unwrap_or("none").to_string())
}

/// What the report says of a file's vectors.
pub(super) struct RunSide {
    /// The vectors of each level.
    pub(super) levels: Vec<Range<usize>>,
    /// What must be known of them.
    pub(super) warnings: Vec<String>,
}

impl RunSide {
    pub(super) fn new(file: &VectorFile) -> RunSide {
        let (shown, count) = (file.path.display(), file.energies.len());
        let ranges = |sizes: Vec<usize>| -> Vec<Range<usize>> {
            let mut end = 0;
            let next = |size| {
                end += size;
                end - size..end
            };
            sizes.into_iter().map(next).collect()
        };
        let number = |level: &Value, key: &str| level[key].as_u64().map(|number| number as usize);
        let known = file.report.as_ref().and_then(|report| report["levels"].as_array());
        let sizes =
            known.and_then(|levels| levels.iter().map(|level| number(level, "returned")).collect::<Option<Vec<_>>>());
        match (sizes.filter(|sizes| sizes.iter().sum::<usize>() == count), known) {
            (Some(sizes), Some(levels)) => {
                let cut = levels.iter().any(|level| number(level, "returned") != number(level, "multiplicity"));
                let text =
                    format!("{shown} has not all states of its last level: which of them is the solver's choice");
                RunSide { levels: ranges(sizes), warnings: cut.then_some(text).into_iter().collect() }
            }
            _ => {
                let largest = file.energies.iter().fold(0.0f64, |largest, energy| largest.max(energy.abs()));
                let mut sizes: Vec<usize> = Vec::new();
                for (place, energy) in file.energies.iter().enumerate() {
                    let joined = place > 0 && (energy - file.energies[place - 1]).abs() <= ONE_LEVEL * largest;
                    match sizes.last_mut().filter(|_| joined) {
                        Some(size) => *size += 1,
                        None => sizes.push(1),
                    }
                }
                let close = format!("energies closer than {ONE_LEVEL:.0e} of the largest count as one level");
                let text = match &file.report {
                    Some(_) => format!("the report beside {shown} lists no levels: {close}"),
                    None => format!(
                        "{shown} has no report.json of its run beside it: its sector and symmetry are not compared, and {close}"
                    ),
                };
                RunSide { levels: ranges(sizes), warnings: vec![text] }
            }
        }
    }
}
