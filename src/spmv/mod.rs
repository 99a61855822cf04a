//! Sparse matrix times vector: what `eigenforge spmv` prints of one matrix, and a table of several.
//!
//! In: a matrix, a wish, a device. Out: [`SpmvReport`]: statistics
//! of the rows, bytes of every format, the format chosen and why, milliseconds, GB/s (1e9 bytes of the stored matrix, x
//! and y), and the multiple of the floor: the bytes of an element in compressed rows (12, of complex numbers 20, of quaternions 36)
//! and both vectors, at the speed of a copy measured in the same run. A product that differs from the plain one's is an error: no time is printed for a wrong product.

mod report;

pub use report::{Other, SpmvReport, TimedCandidate, table};

use crate::input::MatrixFileError;
use crate::path::FamilyError;
use crate::sparse::{
    Candidate, Csr, Format, FormatRanking, FormatRequest, LayoutError, RowStatistics, SparseError, SparseOperator,
    Target, memory_table,
};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::timing::{copy_bandwidth, median};
use eigenforge_runtime::tune::{Choice, Choices, Timing};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector, seeded};
use eigenforge_templates::ScalarType;
use rayon::prelude::*;
use std::sync::Arc;

/// The sign of part p of a x from part q of x, of quaternions with i j = k; those of the first rows and columns for fewer parts.
const SIGNS: [[f64; 4]; 4] =
    [[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 1.0]];
/// Least milliseconds of a sample on a card, so that the time of launches does not count.
const SAMPLE: f64 = 2.0;
/// Samples of each candidate that is timed.
const RACE_SAMPLES: usize = 5;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct SpmvOptions {
    /// Format, vectors, precision.
    pub wish: FormatRequest,
    /// Whether a card chooses among candidates by time.
    pub race: FormatRace,
    /// Timed samples.
    pub repeats: usize,
}

/// How a card chooses the format. Other devices take the model's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatRace {
    /// The format that an earlier run on this card timed and kept; without one the candidates are timed now.
    #[default]
    Kept,
    /// The candidates are timed, whatever is kept.
    Anew,
    /// The model's choice; nothing is timed.
    Never,
}

/// What another program made of the same matrix and vector.
#[derive(Clone, Debug)]
pub struct PeerProduct {
    /// The program and its algorithm.
    pub name: String,
    /// Median milliseconds of one multiply, or why it was not timed.
    pub outcome: Result<f64, String>,
    /// y = A x, which is compared before the time is printed.
    pub y: Vec<f64>,
}

/// Multiplies a matrix by a vector in other ways, and times each.
pub type Peers<'a> = dyn Fn(&Csr, &[f64]) -> Vec<PeerProduct> + 'a;

/// Why a matrix was not timed.
#[derive(Debug, thiserror::Error)]
pub enum SpmvError {
    /// No matrix.
    #[error(transparent)]
    Source(#[from] MatrixFileError),
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
            SpmvError::Source(error) => error.is_of_the_input(),
            SpmvError::Sparse(SparseError::Layout(LayoutError::Asymmetric(_))) => true,
            _ => false,
        }
    }
}

/// Default number of timed samples: fewer on devices where one takes long.
pub fn samples(device: &Device) -> usize {
    match device {
        Device::Cuda(_) => 21,
        Device::Cpu(_) => 11,
        Device::Sim(_) => 1,
    }
}

/// Chooses, multiplies, checks, times; `peers` are timed beside it.
///
/// # Errors
/// The device's, a layout that does not fit, a wrong product.
pub fn run(
    name: &str,
    matrix: Csr,
    options: &SpmvOptions,
    device: &Device,
    peers: Option<&Peers<'_>>,
) -> Result<SpmvReport, SpmvError> {
    Ok(multiply((name, matrix), None, options, device, peers)?.0)
}

/// The same of a vector that is given, the first of several; with y = A x. Random numbers stand in for one that is not.
///
/// # Errors
/// As of [`run`]; a vector of another length.
pub fn multiply(
    (name, matrix): (&str, Csr),
    x: Option<Vec<f64>>,
    options: &SpmvOptions,
    device: &Device,
    peers: Option<&Peers<'_>>,
) -> Result<(SpmvReport, Vec<f64>), SpmvError> {
    let matrix = Arc::new(matrix);
    let statistics = RowStatistics::new(&matrix);
    let choice = FormatRanking::new(&matrix, &statistics, Target::new(device), options.wish);
    let wish = options.wish;
    let problem = Problem::new(&matrix, x, wish, device)?;

    let Chosen { best, candidates, mut reason } = match options.race {
        FormatRace::Never => Chosen::by_the_model(&choice),
        _ if !device.is_cuda() => Chosen::by_the_model(&choice),
        race => problem.chosen(name, &choice, race)?,
    };
    let operator = SparseOperator::with_layout(name, matrix.clone(), &best.layout, wish, device)?;
    let milliseconds = problem.time(&operator, options.repeats, "eigenforge")?;
    let n = matrix.vector_length();
    let copy = copy_bandwidth(device, n)?;
    let vectors = 16.0 * f64::from(wish.vectors) * n as f64;
    let element = 4 + 8 * matrix.parts() as u64;
    let floor = 1e-6 * ((element * matrix.non_zeros()) as f64 + vectors) / copy;
    let stored_bytes = operator.plan().map_or(matrix.bytes(), |plan| plan.matrix_bytes());
    let moved = stored_bytes as f64 + vectors;
    let boundary = match best.format {
        Format::Hybrid { boundary } => boundary,
        _ => statistics.shortest,
    };
    let (format, shape) = match operator.plan() {
        Some(plan) => (best.format, plan.to_string()),
        None => (Format::Csr, "rows shared out by non-zeros".into()),
    };
    if operator.plan().is_none() {
        reason = "the CPU multiplies compressed rows as they stand".into();
    }
    let others = peers.map_or(Ok(vec![]), |peers| problem.others(peers))?;
    let y = problem.product(&operator)?;
    let report = SpmvReport {
        schema: crate::files::SCHEMA,
        matrix: name.into(),
        memory: memory_table(&matrix, &statistics, boundary),
        statistics,
        numbers: matrix.kind(),
        element_bytes: element,
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
    };
    Ok((report, y))
}

/// The candidate that runs.
struct Chosen {
    best: Candidate,
    /// What was timed for that now.
    candidates: Vec<TimedCandidate>,
    /// Why it runs.
    reason: String,
}

impl Chosen {
    fn by_the_model(ranking: &FormatRanking) -> Chosen {
        Chosen { best: ranking.best().clone(), candidates: vec![], reason: ranking.reason.clone() }
    }
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
    wish: FormatRequest,
    device: &'a Device,
    host: Vec<f64>,
    /// A x of the first vector, and Σ |A x| of each row, by their real parts.
    exact: Vec<(f64, f64)>,
    x: Vec<Vector<f64>>,
}

impl<'a> Problem<'a> {
    fn new(
        matrix: &'a Arc<Csr>,
        x: Option<Vec<f64>>,
        wish: FormatRequest,
        device: &'a Device,
    ) -> Result<Problem<'a>, SpmvError> {
        let n = matrix.vector_length();
        let host = x.unwrap_or_else(|| seeded::vector(n, seeded::SEED_X));
        if host.len() != n {
            let (expected, found) = (format!("a vector of {n} elements"), host.len().to_string());
            return Err(DeviceError::Arguments { what: "multiply by a matrix".into(), expected, found }.into());
        }
        let x = (0..u64::from(wish.vectors)).map(|v| match v {
            0 => device.upload(&host),
            _ => device.upload(&seeded::vector(n, seeded::SEED_X + 16 * v)),
        });
        let x = x.collect::<Result<_, _>>()?;
        let exact = plain_product(matrix, &host);
        Ok(Problem { matrix, wish, device, host, exact, x })
    }

    /// The product of the first vector.
    fn product(&self, operator: &SparseOperator) -> Result<Vec<f64>, SpmvError> {
        let mut y = self.device.zeros::<f64>(self.matrix.vector_length())?;
        operator.multiply(&self.x[0], &mut y)?;
        Ok(y.download()?)
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
                Err(SpmvError::Disagree { what: what.into(), row: row / self.matrix.parts(), found, expected })
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
        let n = self.matrix.vector_length();
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

    /// What a kept choice is for: the matrix, and how it is multiplied.
    fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        self.matrix.identify(&mut hash);
        format!("matrix {} {:?}", hash.finalize().to_hex(), self.wish)
    }

    /// The choice of an earlier run on this card, unless `race` asks for another; else that of a race, which is kept.
    fn chosen(&self, name: &str, ranking: &FormatRanking, race: FormatRace) -> Result<Chosen, SpmvError> {
        let identity = self.identity();
        if race == FormatRace::Kept {
            let earlier = Choice::earlier(self.device, || Ok::<_, SpmvError>(identity.clone()))?;
            let named = |earlier: &Choice| ranking.named(&earlier.shape);
            if let Some((earlier, best)) = earlier.and_then(|earlier| named(&earlier).map(|best| (earlier, best))) {
                let tried = earlier.tried.len();
                let reason = format!("{}: kept of {tried} that an earlier run timed on this card", best.format);
                return Ok(Chosen { best, candidates: vec![], reason });
            }
        }
        let (candidates, timings) = self.race(name, ranking)?;
        if timings.is_empty() {
            return Ok(Chosen { candidates, ..Chosen::by_the_model(ranking) });
        }
        let choice = Choice::fastest(&identity, name, self.device, &timings);
        let settings = Settings::from_env().map_err(DeviceError::from)?;
        let kept = match Choices::open(&settings).keep_or_say(&choice) {
            Ok(_) => "kept for later runs".into(),
            Err(why) => format!("not kept: {why}"),
        };
        let best = ranking.named(&choice.shape).unwrap_or_else(|| ranking.best().clone());
        let reason = match best.layout == ranking.best().layout {
            true => format!("{}; {kept}", ranking.reason),
            false => format!("{}: the quickest of {} timed on this card; {kept}", best.format, candidates.len()),
        };
        Ok(Chosen { best, candidates, reason })
    }

    /// Times the model's best candidates, then the quickest with other numbers of lanes and threads.
    fn race(&self, name: &str, ranking: &FormatRanking) -> Result<(Vec<TimedCandidate>, Vec<Timing>), SpmvError> {
        let mut timings: Vec<Timing> = vec![];
        let (mut timed, mut quickest) = (vec![], None::<(f64, Candidate)>);
        let mut try_one = |candidate: &Candidate, quickest: &mut Option<(f64, Candidate)>| -> Result<(), SpmvError> {
            let built =
                SparseOperator::with_layout(name, self.matrix.clone(), &candidate.layout, self.wish, self.device);
            let (shape, milliseconds) = match built {
                Ok(operator) => {
                    let parts = operator.plan().map_or(String::new(), |plan| plan.to_string());
                    let shape = format!("{}: {parts}", candidate.format);
                    let milliseconds = self.time(&operator, RACE_SAMPLES, &shape)?;
                    timings.push(Timing { name: candidate.name(), milliseconds });
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
        for candidate in ranking.worth_timing() {
            try_one(candidate, &mut quickest)?;
        }
        if let Some((_, best)) = quickest.clone() {
            for other in best.variants() {
                try_one(&other, &mut quickest)?;
            }
        }
        Ok((timed, timings))
    }

    /// What others take, each with its product compared.
    fn others(&self, peers: &Peers<'_>) -> Result<Vec<Other>, SpmvError> {
        let other = |peer: PeerProduct| {
            if peer.outcome.is_ok() {
                self.agree(&peer.name, &peer.y, PRECISION)?;
            }
            let (milliseconds, note) = match peer.outcome {
                Ok(milliseconds) => (Some(milliseconds), None),
                Err(note) => (None, Some(note)),
            };
            Ok(Other { name: peer.name, milliseconds, note })
        };
        peers(self.matrix, &self.host).into_iter().map(other).collect()
    }
}

/// A x, and Σ |A x| of each row, by their real parts.
fn plain_product(matrix: &Csr, x: &[f64]) -> Vec<(f64, f64)> {
    let parts = matrix.parts();
    let row = |row: usize| {
        let (columns, values) = matrix.row(row);
        let mut sums = [(0.0, 0.0); 4];
        for (column, value) in columns.iter().zip(values.chunks_exact(parts)) {
            let x = &x[*column as usize * parts..][..parts];
            for (p, (sum, size)) in sums.iter_mut().enumerate().take(parts) {
                // Part p of the product has part q of x with part p xor q of the element.
                for (q, x) in x.iter().enumerate() {
                    let term = SIGNS[p][q] * value[p ^ q] * x;
                    (*sum, *size) = (*sum + term, *size + term.abs());
                }
            }
        }
        sums.into_iter().take(parts)
    };
    (0..matrix.rows()).into_par_iter().flat_map_iter(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Csr {
        Csr::sample(200)
    }

    /// The product plus `error` in its first row, in half a millisecond.
    fn peer(error: f64) -> impl Fn(&Csr, &[f64]) -> Vec<PeerProduct> {
        move |matrix, x| {
            let row = |row| matrix.row(row).0.iter().zip(matrix.row(row).1).map(|(c, a)| a * x[*c as usize]).sum();
            let mut y: Vec<f64> = (0..matrix.rows()).map(row).collect();
            y[0] += error;
            vec![PeerProduct { name: "another program".into(), outcome: Ok(0.5), y }]
        }
    }

    #[test]
    fn a_report_of_the_cpu_has_times_and_the_memory_of_every_format() {
        let options = SpmvOptions { wish: FormatRequest::default(), race: FormatRace::Kept, repeats: 3 };
        let run = |peers: &Peers<'_>| run("small", small(), &options, &Device::cpu(), Some(peers));
        let report = run(&peer(0.0)).unwrap();
        assert!(report.milliseconds > 0.0 && report.multiple_of_floor > 0.0 && report.gb_per_second > 0.0);
        assert_eq!(report.memory[0].bytes, 12 * (200 * 11 + 900) + 4 * 201);
        assert_eq!(report.others[0].milliseconds, Some(0.5));
        assert!(run(&peer(1e-6)).unwrap_err().to_string().contains("another program: row 0 of A x"));
        let text = report.to_string();
        assert!(text.contains("200 rows, 3,100 non-zeros") && text.contains("x the floor"), "{text}");
        assert!(table(&[report]).lines().nth(2).unwrap().contains("small"));
    }

    #[test]
    fn a_wrong_product_is_an_error() {
        let matrix = Arc::new(small());
        let device = Device::cpu();
        let problem = Problem::new(&matrix, None, FormatRequest::default(), &device).unwrap();
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
}
