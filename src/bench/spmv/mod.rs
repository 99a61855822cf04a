//! Sparse matrix times vector: what `eigenforge spmv` prints of one matrix, and a table of several.
//!
//! In: a matrix (a file, or one of the paper's synthetic families), a wish, a device. Out: [`SpmvReport`]: statistics
//! of the rows, bytes of every format, the format chosen and why, milliseconds, GB/s (1e9 bytes of the stored matrix, x
//! and y), and the multiple of the floor: 12 bytes a non-zero and both vectors, at the speed of a copy measured in the
//! same run. A product that differs from the plain one's is an error: no time is printed for a wrong product.

mod report;
mod source;

pub use report::{Other, SpmvReport, TimedCandidate, table};
pub use source::{FormatWish, MatrixSource, read_molecule};

use super::hubbard::chain;
use super::memory_limit::copy_bandwidth;
use super::vendor::{self, VendorError};
use super::{median, seeded};
use crate::ci::{MatrixError, MoleculeError};
use crate::input::InputError;
use crate::sparse::{
    Candidate, Choice, Csr, CsrError, Layout, LayoutError, MatrixMarketError, NpzError, RowStatistics, SparseError,
    SparseOperator, Target, Wish, memory_table,
};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector};
use eigenforge_templates::ScalarType;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a non-zero in compressed rows: a double and a 32-bit column.
const CSR_BYTES: f64 = 12.0;
/// A sample lasts at least so many milliseconds on a card, so that launches do not count.
const SAMPLE: f64 = 2.0;
/// Candidates within this factor of the model's best are timed.
const WORTH_TIMING: f64 = 2.5;
/// Candidates that are timed, at most, and samples of each.
const MOST_TIMED: usize = 8;
const RACE_SAMPLES: usize = 5;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct SpmvOptions {
    /// Format, vectors, precision.
    pub wish: Wish,
    /// Whether to time others beside it.
    pub compare: bool,
    /// Whether a card chooses among candidates by time.
    pub race: bool,
    /// Timed samples.
    pub repeats: usize,
    /// The card that cuSPARSE is run on.
    pub ordinal: usize,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum SpmvError {
    /// No such file, or none that may be read.
    #[error(
        "{}: {source}; expected the path of a matrix: FILE.mtx (Matrix Market), FILE.npz (scipy.sparse.save_npz of a CSR or CSC \
         matrix) or FILE.toml with [ci]; or synthetic:32768:SEED, synthetic:1048576:SEED", file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A Matrix Market file.
    #[error("{}: {wrong}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        wrong: MatrixMarketError,
    },
    /// A file whose matrix is not symmetric.
    #[error("{}: expected a symmetric matrix, as Hamiltonians are; {wrong} (rows and columns from 0); write {instead}", file.display())]
    Asymmetric {
        /// The file.
        file: PathBuf,
        /// The first pair that differs.
        wrong: CsrError,
        /// What may be written in its place.
        instead: &'static str,
    },
    /// A SciPy archive.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// A matrix that cannot be made.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// A model file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A model file without `[ci]`.
    #[error("{}: expected a file with [ci]; the Hamiltonian of a model on a lattice is not stored as a matrix", file.display())]
    NoMolecule {
        /// The file.
        file: PathBuf,
    },
    /// Integrals or determinants.
    #[error(transparent)]
    Molecule(#[from] MoleculeError),
    /// Matrix elements.
    #[error(transparent)]
    Elements(#[from] MatrixError),
    /// Storing it or generating its kernels.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A wrong product.
    #[error("{what}: row {row} of A x is {found:e} instead of {expected:e}; no time is reported for a wrong product")]
    Disagree {
        /// Whose product.
        what: String,
        /// The row that is furthest off.
        row: usize,
        /// What it came to.
        found: f64,
        /// The plain sum.
        expected: f64,
    },
}

impl SpmvError {
    /// Whether the user's file is at fault.
    pub fn is_of_the_input(&self) -> bool {
        match self {
            SpmvError::Missing { .. }
            | SpmvError::File { .. }
            | SpmvError::Asymmetric { .. }
            | SpmvError::Sparse(SparseError::Layout(LayoutError::Asymmetric(_)))
            | SpmvError::Npz(_)
            | SpmvError::Matrix(_)
            | SpmvError::Input(_) => true,
            SpmvError::NoMolecule { .. } | SpmvError::Molecule(_) => true,
            SpmvError::Elements(error) => !matches!(error, MatrixError::Memory(_)),
            _ => false,
        }
    }
}

/// Timed samples where none are asked for: fewer where one takes long.
pub fn samples(device: &Device) -> usize {
    match device {
        Device::Cuda(_) => 21,
        Device::Cpu(_) => 11,
        Device::Sim(_) => 1,
    }
}

/// Chooses, multiplies, checks, times.
///
/// # Errors
/// The device's, a layout that does not fit, a wrong product.
pub fn run(name: &str, matrix: Csr, options: &SpmvOptions, device: &Device) -> Result<SpmvReport, SpmvError> {
    let matrix = Arc::new(matrix);
    let statistics = RowStatistics::of(&matrix);
    let choice = Choice::new(&matrix, &statistics, Target::of(device), options.wish);
    let wish = options.wish;
    let problem = Problem::new(&matrix, wish, device)?;

    let mut candidates = vec![];
    let mut best = choice.best().clone();
    let mut reason = choice.reason.clone();
    if device.is_cuda() && options.race {
        (candidates, best) = problem.race(name, &choice)?;
        if candidates.len() > 1 && best.layout != choice.best().layout {
            reason = format!("{}: the quickest of {} timed on this card", best.format, candidates.len());
        }
    }
    let operator = SparseOperator::with_layout(name, matrix.clone(), &best.layout, wish, device)?;
    let milliseconds = problem.time(&operator, options.repeats, "eigenforge")?;
    let n = matrix.rows();
    let copy = copy_bandwidth(device, n)?;
    let vectors = 16.0 * f64::from(wish.vectors) * n as f64;
    let floor = 1e-6 * (CSR_BYTES * matrix.non_zeros() as f64 + vectors) / copy;
    let in_rows = 12 * matrix.non_zeros() + 8 * (n as u64 + 1);
    let stored_bytes = operator.plan().map_or(in_rows, |plan| plan.matrix_bytes());
    let moved = stored_bytes as f64 + vectors;
    let boundary = match best.format {
        crate::sparse::Format::Hybrid { boundary } => boundary,
        _ => statistics.shortest,
    };
    let (format, shape) = match operator.plan() {
        Some(plan) => (best.format.to_string(), plan.to_string()),
        None => ("CSR".into(), "rows shared out by non-zeros".into()),
    };
    if operator.plan().is_none() {
        reason = "the CPU multiplies compressed rows as they stand".into();
    }
    let others = if options.compare { problem.others(options)? } else { vec![] };
    Ok(SpmvReport {
        matrix: name.into(),
        memory: memory_table(&matrix, &statistics, boundary),
        statistics,
        stored_bytes,
        format,
        shape,
        reason,
        device: device.name(),
        vectors: wish.vectors,
        values: if operator.plan().is_some() { wish.values } else { ScalarType::F64 },
        milliseconds,
        gb_per_second: 1e-6 * moved / milliseconds,
        copy_gb_per_second: copy,
        multiple_of_floor: milliseconds / floor,
        multiple_of_stored: milliseconds * copy / (1e-6 * moved),
        candidates,
        others,
    })
}

/// How far a product may be from the plain one: relative to Σ |A x| of the row, and beside that.
#[derive(Clone, Copy)]
struct Precision {
    relative: f64,
    absolute: f64,
}

/// Of a sum in f64.
const PRECISION: Precision = Precision { relative: 1e-12, absolute: 0.0 };

/// A matrix with its vectors and the plain product.
struct Problem<'a> {
    matrix: &'a Arc<Csr>,
    wish: Wish,
    device: &'a Device,
    host: Vec<f64>,
    /// A x of the first vector, and Σ |A x| of each row.
    exact: Vec<(f64, f64)>,
    x: Vec<Vector<f64>>,
}

impl<'a> Problem<'a> {
    fn new(matrix: &'a Arc<Csr>, wish: Wish, device: &'a Device) -> Result<Problem<'a>, SpmvError> {
        let n = matrix.rows();
        let host = seeded::vector(n, seeded::SEED_X);
        let x = (0..u64::from(wish.vectors)).map(|v| match v {
            0 => device.upload(&host),
            _ => device.upload(&seeded::vector(n, seeded::SEED_X + 16 * v)),
        });
        let x = x.collect::<Result<_, _>>()?;
        let row = |row: usize| {
            let (columns, values) = matrix.row(row);
            let terms = columns.iter().zip(values).map(|(column, value)| value * host[*column as usize]);
            terms.fold((0.0, 0.0), |(sum, size): (f64, f64), term| (sum + term, size + term.abs()))
        };
        let exact = (0..n).into_par_iter().map(row).collect();
        Ok(Problem { matrix, wish, device, host, exact, x })
    }

    /// Holds a product of the first vector against the plain one.
    fn agree(&self, what: &str, y: &[f64], precision: Precision) -> Result<(), SpmvError> {
        let off = |(row, (y, (exact, size))): (usize, (&f64, &(f64, f64)))| {
            let wrong = (y - exact).abs() > precision.relative * size + precision.absolute || y.is_nan();
            wrong.then_some((row, *y, *exact))
        };
        match y.iter().zip(&self.exact).enumerate().find_map(off) {
            None if y.len() == self.exact.len() => Ok(()),
            found => {
                let (row, found, expected) = found.unwrap_or((y.len(), f64::NAN, f64::NAN));
                Err(SpmvError::Disagree { what: what.into(), row, found, expected })
            }
        }
    }

    /// What a product may be off by.
    fn precision(&self, operator: &SparseOperator) -> Precision {
        let Some(plan) = operator.plan() else { return PRECISION };
        let relative = if self.wish.values == ScalarType::F32 { 1e-7 } else { PRECISION.relative };
        let absolute = if plan.is_half() {
            // Each product is rounded to 2^-62 of the largest that a row may come to.
            let longest = self.matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            let most = self.host.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            longest as f64 * 2f64.powi(-62) * LinearOperator::<f64>::norm_bound(operator) * most
        } else {
            0.0
        };
        Precision { relative, absolute }
    }

    /// Median milliseconds of one multiply of all vectors, after its product was checked.
    fn time(&self, operator: &SparseOperator, samples: usize, what: &str) -> Result<f64, SpmvError> {
        let n = self.matrix.rows();
        let nan = vec![f64::NAN; n];
        let mut y = self.x.iter().map(|_| self.device.upload(&nan)).collect::<Result<Vec<Vector<f64>>, _>>()?;
        let x: Vec<&Vector<f64>> = self.x.iter().collect();
        let dots = operator.apply_block(&x, &mut y)?;
        let precision = self.precision(operator);
        self.agree(what, &y[0].download()?, precision)?;
        let dot: f64 = self.exact.iter().zip(&self.host).map(|((y, _), x)| x * y).sum();
        let size: f64 = self.exact.iter().zip(&self.host).map(|((_, size), x)| x.abs() * size).sum();
        let x_size: f64 = self.host.iter().map(|x| x.abs()).sum();
        let allowed = precision.relative * size + precision.absolute * x_size;
        if (dots[0] - dot).abs() > allowed || dots[0].is_nan() {
            let what = format!("{what}, x·A x in place of a row");
            return Err(SpmvError::Disagree { what, row: n, found: dots[0], expected: dot });
        }
        let mut once = || operator.multiply_block(&x, &mut y);
        let (done, single) = self.device.time(&mut once)?;
        done?;
        let (runs, samples) = match self.device {
            Device::Cuda(_) => ((SAMPLE / single.max(1e-3)).ceil().clamp(1.0, 256.0) as usize, samples),
            Device::Cpu(_) | Device::Sim(_) => (1, samples),
        };
        let mut times = Vec::with_capacity(samples);
        for _ in 0..samples {
            let (done, milliseconds) = self.device.time(|| (0..runs).try_for_each(|_| once()))?;
            done?;
            times.push(milliseconds / runs as f64);
        }
        Ok(median(&times))
    }

    /// Times the model's best candidates, then the quickest with other numbers of lanes and threads.
    fn race(&self, name: &str, choice: &Choice) -> Result<(Vec<TimedCandidate>, Candidate), SpmvError> {
        let most = WORTH_TIMING * choice.best().milliseconds;
        let near = choice.candidates.iter().filter(|candidate| candidate.milliseconds <= most).take(MOST_TIMED);
        let (mut timed, mut quickest) = (vec![], None::<(f64, Candidate)>);
        let mut try_one = |candidate: &Candidate, quickest: &mut Option<(f64, Candidate)>| -> Result<(), SpmvError> {
            let built =
                SparseOperator::with_layout(name, self.matrix.clone(), &candidate.layout, self.wish, self.device);
            let (shape, milliseconds) = match built {
                Ok(operator) => {
                    let parts = operator.plan().map_or(String::new(), |plan| plan.to_string());
                    let shape = format!("{}: {parts}", candidate.format);
                    let milliseconds = self.time(&operator, RACE_SAMPLES, &shape)?;
                    if quickest.as_ref().is_none_or(|(best, _)| milliseconds < *best) {
                        *quickest = Some((milliseconds, candidate.clone()));
                    }
                    (shape, Some(milliseconds))
                }
                // What this card has no room for is no candidate.
                Err(SparseError::Device(DeviceError::Launch(why))) => (format!("{}: {why}", candidate.format), None),
                Err(SparseError::Layout(why)) => (format!("{}: {why}", candidate.format), None),
                Err(other) => return Err(other.into()),
            };
            timed.push(TimedCandidate { shape, modelled_milliseconds: candidate.milliseconds, milliseconds });
            Ok(())
        };
        for candidate in near {
            try_one(candidate, &mut quickest)?;
        }
        if let Some((_, best)) = quickest.clone() {
            for layout in variants(&best.layout) {
                try_one(&Candidate { layout, ..best.clone() }, &mut quickest)?;
            }
        }
        let best = quickest.map_or_else(|| choice.best().clone(), |(_, best)| best);
        Ok((timed, best))
    }

    /// cuSPARSE on a card, a plain loop elsewhere.
    fn others(&self, options: &SpmvOptions) -> Result<Vec<Other>, SpmvError> {
        if self.device.is_cuda() {
            let found = match vendor::spmv(self.matrix, &self.host, options.ordinal, options.repeats) {
                Ok(found) => found,
                Err(
                    error @ (VendorError::LibraryMissing { .. }
                    | VendorError::TooLong { .. }
                    | VendorError::TooLarge { .. }),
                ) => {
                    let note = Some(chain(&error));
                    return Ok(vec![Other { name: "cuSPARSE".into(), milliseconds: None, note }]);
                }
                Err(error) => {
                    let note = Some(chain(&error));
                    return Ok(vec![Other { name: "cuSPARSE".into(), milliseconds: None, note }]);
                }
            };
            for one in found.iter().filter(|one| one.outcome.is_ok()) {
                self.agree(&one.name, &one.y, PRECISION)?;
            }
            let other = |one: vendor::VendorSpmv| Other {
                name: one.name,
                milliseconds: one.outcome.as_ref().ok().copied(),
                note: one.outcome.err(),
            };
            return Ok(found.into_iter().map(other).collect());
        }
        let mut y = vec![f64::NAN; self.matrix.rows()];
        let mut once = || {
            let started = Instant::now();
            y.par_iter_mut().enumerate().for_each(|(row, y)| {
                let (columns, values) = self.matrix.row(row);
                *y = columns.iter().zip(values).map(|(column, value)| value * self.host[*column as usize]).sum();
            });
            started.elapsed().as_secs_f64() * 1e3
        };
        once();
        let times: Vec<f64> = (0..options.repeats).map(|_| once()).collect();
        self.agree("the plain loop", &y, PRECISION)?;
        let name = "plain loop over compressed rows".into();
        Ok(vec![Other { name, milliseconds: Some(median(&times)), note: None }])
    }
}

/// The same parts with half and twice the lanes, and with other threads a block.
fn variants(layout: &Layout) -> Vec<Layout> {
    let lanes = |scale: &dyn Fn(u32) -> u32| {
        let mut layout = layout.clone();
        layout.parts.iter_mut().for_each(|part| part.lanes = scale(part.lanes).clamp(1, 32));
        layout
    };
    let threads = |threads: u32| Layout { threads, ..layout.clone() };
    let fewer = layout.threads / 2 / 32 * 32;
    let all = [
        lanes(&|lanes| lanes * 2),
        lanes(&|lanes| lanes / 2),
        threads(fewer.max(64)),
        threads((2 * layout.threads).min(1024)),
    ];
    all.into_iter().filter(|other| other != layout).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::Synthetic;

    fn small() -> Csr {
        Synthetic { rows: 200, reference_columns: 40, reference: 2_200, expansion: 900, seed: 2 }.matrix().unwrap()
    }

    fn options(compare: bool) -> SpmvOptions {
        SpmvOptions { wish: Wish::default(), compare, race: true, repeats: 3, ordinal: 0 }
    }

    #[test]
    fn a_report_of_the_cpu_has_times_and_the_memory_of_every_format() {
        let report = run("small", small(), &options(true), &Device::cpu()).unwrap();
        assert!(report.milliseconds > 0.0 && report.multiple_of_floor > 0.0 && report.gb_per_second > 0.0);
        assert_eq!(report.memory[0].bytes, 12 * (200 * 11 + 900) + 4 * 201);
        assert!(report.others[0].milliseconds.unwrap() > 0.0);
        let text = report.to_string();
        assert!(text.contains("200 rows, 3,100 non-zeros") && text.contains("x the floor"), "{text}");
        assert!(table(&[report]).lines().nth(2).unwrap().contains("small"));
    }

    #[test]
    fn a_wrong_product_is_an_error() {
        let matrix = Arc::new(small());
        let device = Device::cpu();
        let problem = Problem::new(&matrix, Wish::default(), &device).unwrap();
        let mut y: Vec<f64> = problem.exact.iter().map(|(y, _)| *y).collect();
        problem.agree("right", &y, PRECISION).unwrap();
        let kept = y[17];
        for wrong in [kept + 1e-6, f64::NAN] {
            y[17] = wrong;
            let error = problem.agree("wrong", &y, PRECISION).unwrap_err().to_string();
            assert!(error.contains("row 17 of A x"), "{error}");
        }
        assert!(problem.agree("short", &y[..3], PRECISION).is_err());
    }

    #[test]
    fn sources_are_told_by_their_names() {
        let source = |text: &str| text.parse::<MatrixSource>();
        assert_eq!(source("a/b.mtx").unwrap().to_string(), "b");
        assert!(matches!(source("water.npz"), Ok(MatrixSource::Npz(_))));
        assert_eq!(source("synthetic:32768:7").unwrap().to_string(), "synthetic:32768:7");
        assert!(source("water.txt").is_err() && source("synthetic:5:1").is_err());
    }
}
