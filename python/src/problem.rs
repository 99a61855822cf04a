//! The problem of a model's text: shown, solved, made into curves.

use crate::arrays::arrays;
use crate::calls::long;
use crate::errors::{input_error, raised};
use crate::multiply::Multiply;
use crate::observer::{Observer, Told};
use eigenforge::Error;
use eigenforge::evolve::file_evolution;
use eigenforge::export::{ExportFormat, export};
use eigenforge::input::{Family, InputFile, MatrixFile, ModelFile};
use eigenforge::inspection::open_for;
use eigenforge::path::Stage;
use eigenforge::problem::run::{
    CheckpointRequest, MakeCurves, RunContext, Solvable, solvable, solve_sweep, sweep_curves,
};
use eigenforge::problem::{Inspection, RunPlan, inspect};
use eigenforge::report::{BasisStates, CurveReport, NamedArray, ReportError, StateVectors};
use eigenforge::runtime::Device;
use eigenforge::runtime::jit::Overrides;
use eigenforge::runtime::machine::Machine;
use eigenforge::sparse::{Csr, NumberKind};
use eigenforge::spectrum::file_spectrum;
use eigenforge::thermal::file_thermal;
use num_complex::Complex64;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Elements of all vectors up to which they are brought to the host unasked.
const BROUGHT: u128 = 1 << 27;
/// The architecture of compiled stages where none is given.
const ARCH: &str = "sm_90";

/// Writes the files of a report.
type WriteReport = Box<dyn Fn(&Path) -> Result<Vec<PathBuf>, ReportError> + Send + Sync>;

/// What a run leaves behind.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct Report {
    /// As of `--json`.
    #[pyo3(get)]
    json: String,
    /// As on a terminal.
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    converged: bool,
    write: WriteReport,
}

#[pymethods]
impl Report {
    /// Writes report and pictures into a folder, and returns the paths.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| (self.write)(&folder)).map_err(|error| raised(error.into()))
    }
}

/// A checked model file.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct ProblemText {
    file: InputFile,
    /// Why symmetries were left out of `sectors = "all"`.
    notes: Vec<String>,
}

/// What a run takes beside its problem.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunOptions {
    device: String,
    vectors: Option<bool>,
    checkpoint: Option<PathBuf>,
    checkpoint_every: f64,
    resume: bool,
    overrides: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
}

impl RunOptions {
    fn context(&self, py: Python<'_>, told: &Arc<Told>) -> RunContext {
        let progress = self.progress.as_ref().map(|call| call.clone_ref(py));
        let observer = Arc::new(Observer::new(progress, Arc::clone(told)));
        let checkpoint = self.checkpoint.clone();
        let (seconds, resume) = (self.checkpoint_every, self.resume);
        RunContext {
            overrides: self.overrides.clone(),
            checkpoint: checkpoint.map(|folder| CheckpointRequest { folder, seconds, resume }),
            ..RunContext::new(Instant::now(), &self.device, observer)
        }
    }
}

/// What a verb makes of a file, or of every point of a sweep.
fn curves<R: CurveReport + Send + Sync + 'static>(
    file: &InputFile,
    make: MakeCurves<R>,
    context: &RunContext,
) -> Result<Report, Error> {
    let InputFile::Sweep(sweep) = file else {
        let found = make(file.clone(), context)?;
        let (json, summary, converged) = (found.to_json()?, found.summary(), found.converged());
        return Ok(Report { json, summary, converged, write: Box::new(move |folder| found.write(folder)) });
    };
    let (mut record, done) = sweep_curves(sweep, make, context, None, &mut |_| {});
    done?;
    let (json, summary, converged) = (record.to_json()?, record.summary(), record.converged());
    // As the command writes them: a folder of its own for each point.
    for (number, point) in record.points.iter_mut().enumerate() {
        point.folder = Some(sweep.folder_name(number));
    }
    let write = move |folder: &Path| {
        let mut files = record.write(folder)?;
        for point in &record.points {
            files.extend(point.report.write(&folder.join(point.folder.as_deref().unwrap_or_default()))?);
        }
        Ok(files)
    };
    Ok(Report { json, summary, converged, write: Box::new(write) })
}

impl ProblemText {
    fn lattice(&self, what: &str) -> Result<&ModelFile, Error> {
        match &self.file {
            InputFile::Lattice(file) => Ok(file),
            InputFile::Sweep(sweep) => {
                let (what, family) = (format!("{what} of a sweep"), Family::from_file(&sweep.points[0].file));
                Err(Error::not_of_family(family, &what, "give every swept key one value"))
            }
            file => {
                let why = "it is of lattice models that are diagonalised";
                Err(Error::not_of_family(Family::from_file(file), what, why))
            }
        }
    }

    /// Whether vectors are brought to the host, where the caller leaves that open.
    fn brings(&self) -> bool {
        match &self.file {
            InputFile::Lattice(file) => {
                let states = |dimension| if file.solve.all { dimension } else { file.solve.states as u128 };
                file.dimension().is_some_and(|dimension| dimension.saturating_mul(states(dimension)) <= BROUGHT)
            }
            InputFile::Ci(_) => true,
            InputFile::Matrix(file) => {
                let states = if file.solve.all { file.matrix.rows() } else { file.solve.states as u64 };
                u128::from(file.matrix.real_rows()) * u128::from(states) <= BROUGHT
            }
            _ => false,
        }
    }

    /// The file with eigenvectors wanted or not.
    fn with_vectors(&self, wanted: bool) -> InputFile {
        let mut file = self.file.clone();
        match &mut file {
            InputFile::Lattice(file) => file.output.vectors = wanted,
            InputFile::Ci(file) => file.output.vectors = wanted,
            InputFile::Matrix(file) => file.output.vectors = wanted,
            _ => {}
        }
        file
    }
}

#[pymethods]
impl ProblemText {
    /// A Hermitian matrix by its compressed rows, of real or complex numbers; `keys` is the text of `[solve]` and `[output]`.
    #[staticmethod]
    fn of_matrix(
        py: Python<'_>,
        row_start: PyReadonlyArray1<'_, u64>,
        columns: PyReadonlyArray1<'_, u32>,
        values: &Bound<'_, PyAny>,
        keys: &str,
    ) -> PyResult<ProblemText> {
        let (kind, values) = match values.extract::<PyReadonlyArray1<'_, f64>>() {
            Ok(values) => (NumberKind::Real, values.as_array().to_vec()),
            Err(_) => {
                let values: PyReadonlyArray1<'_, Complex64> = values.extract()?;
                (NumberKind::Complex, values.as_array().iter().flat_map(|number| [number.re, number.im]).collect())
            }
        };
        let (row_start, columns) = (row_start.as_array().to_vec(), columns.as_array().to_vec());
        let file = long(py, || {
            let matrix = Csr::of_numbers(kind, row_start, columns, values)?;
            Ok(MatrixFile::new("the matrix", matrix)?.with_keys(keys)?)
        })?;
        Ok(ProblemText { file: InputFile::Matrix(Box::new(file)), notes: Vec::new() })
    }

    /// Checks a text: `name` is what errors call it, `folder` where its paths begin, `sectors` "" or "all".
    #[new]
    fn new(name: &str, text: &str, folder: PathBuf, verb: &str, sectors: &str) -> PyResult<ProblemText> {
        let read = |file: Result<InputFile, _>| file.map(|file| (file, Vec::new()));
        if !["", "all"].contains(&sectors) {
            return Err(input_error(&format!("sectors: expected \"all\", found \"{sectors}\""), ""));
        }
        let read = match (verb, sectors) {
            (_, "all") => InputFile::parse_all_sectors(name, text, &folder),
            ("evolve", _) => read(InputFile::parse_evolving(name, text, &folder)),
            _ => read(InputFile::parse(name, text, &folder)),
        };
        let (file, notes) = read.map_err(|error| raised(error.into()))?;
        Ok(ProblemText { file, notes })
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// What `[output]` names.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.file.output().and_then(|output| output.folder.clone())
    }

    /// The states of the sector, the charges of the model and all defaults, as the first lines of a run.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        long(py, || Ok(open_for(&self.file, &Machine::h200())?.describe()))
    }

    /// A stage as text.
    #[pyo3(signature = (stage, kernel=None, arch=None, machine=None))]
    fn inspect(
        &self,
        py: Python<'_>,
        stage: &str,
        kernel: Option<&str>,
        arch: Option<&str>,
        machine: Option<&str>,
    ) -> PyResult<String> {
        let stages = || Stage::WORDS.map(|(word, _)| word).join(", ");
        let (_, stage) = Stage::WORDS
            .into_iter()
            .find(|(word, _)| *word == stage)
            .ok_or_else(|| input_error(&format!("expected a stage of {}, found \"{stage}\"", stages()), ""))?;
        let machine = named_machine(machine)?;
        let arch = arch.unwrap_or(ARCH);
        long(py, || {
            let problem = open_for(&self.file, &machine)?;
            let overrides = Overrides::default();
            let inspection = Inspection { stage, arch, kernel, overrides: &overrides, machine: &machine };
            Ok(inspect(&*problem, &inspection)?.text)
        })
    }

    /// Memory, work, choices and kernels as JSON.
    #[pyo3(signature = (machine=None))]
    fn plan(&self, py: Python<'_>, machine: Option<&str>) -> PyResult<String> {
        let machine = named_machine(machine)?;
        long(py, || {
            let problem = open_for(&self.file, &machine)?;
            Ok(serde_json::to_string(&RunPlan::new(&*problem, &machine)?).map_err(ReportError::from)?)
        })
    }

    /// Solves it: the report, arrays of the vectors by name or None, and what the run said on its way.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        options: RunOptions,
    ) -> PyResult<(Report, Option<Bound<'py, PyDict>>, Vec<String>)> {
        let told = Arc::new(Told::default());
        let context = options.context(py, &told);
        let wanted = options.vectors.unwrap_or_else(|| self.brings());
        let found = match &self.file {
            InputFile::Sweep(sweep) => long(py, || {
                let (record, done) = solve_sweep(sweep, &context, None, &mut |_| {});
                done?;
                let (json, summary, converged) = (record.to_json()?, record.summary(), record.converged());
                Ok((Report { json, summary, converged, write: Box::new(move |folder| record.write(folder)) }, None))
            }),
            _ => long(py, || {
                let problem = solvable(self.with_vectors(wanted))?;
                solved(&*problem, &context)
            }),
        };
        let (report, vectors) = told.checked(found)?;
        let vectors = vectors.map(|vectors| arrays(py, vectors)).transpose()?;
        Ok((report, vectors, told.remarks()))
    }

    /// Makes the curves of a verb.
    fn curves(&self, py: Python<'_>, verb: &str, options: RunOptions) -> PyResult<(Report, Vec<String>)> {
        let told = Arc::new(Told::default());
        let (context, vectors) = (options.context(py, &told), options.vectors == Some(true));
        let found = long(py, || {
            let mut file = self.file.clone();
            match &mut file {
                InputFile::Dmrg(file) if verb == "evolve" => file.model.output.vectors |= vectors,
                file if vectors => {
                    let why =
                        "only matrix-product states of one run are kept at the end: leave vectors out, or add dmrg";
                    return Err(Error::not_of_family(Family::from_file(file), "vectors of a curve", why));
                }
                _ => {}
            }
            match verb {
                "spectrum" => curves(&file, file_spectrum, &context),
                "thermal" => curves(&file, file_thermal, &context),
                _ => curves(&file, file_evolution, &context),
            }
        });
        Ok((told.checked(found)?, told.remarks()))
    }

    /// y = H x on a device, in the order of the basis.
    fn multiply(&self, py: Python<'_>, device: &str) -> PyResult<Multiply> {
        long(py, || {
            if let InputFile::Matrix(file) = &self.file {
                if file.matrix.is_times_i() {
                    let why = "the matrix is real and skew-symmetric, and i times it is Hermitian: give 1j * A";
                    return Err(Error::not_of_family(Family::Matrix, "a linear operator", why));
                }
                return Multiply::of_matrix(&file.matrix, &Device::parse(device)?);
            }
            let file = self.lattice("a linear operator")?;
            Multiply::of_model(file.to_model()?, file.solve.precision, &Device::parse(device)?)
        })
    }

    /// The basis states, arrays by name.
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let states = long(py, || {
            let model = self.lattice("a list of basis states")?.to_model()?;
            model.check_list()?;
            Ok(BasisStates::from(&model).into_arrays())
        })?;
        arrays(py, states)
    }

    /// Writes H as SciPy's archive.
    fn write_matrix(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        long(py, || {
            let model = self.lattice("a matrix")?.to_model()?;
            export(&model, ExportFormat::Npz, &file)?;
            Ok(())
        })
    }
}

fn named_machine(word: Option<&str>) -> PyResult<Machine> {
    let word = word.unwrap_or("h200");
    Machine::named(word).ok_or_else(|| {
        input_error(&format!("expected a machine of {}, found \"{word}\"", Machine::WORDS.join(", ")), "")
    })
}

/// Arrays by their names.
type Arrays = Vec<(&'static str, NamedArray)>;

fn solved(problem: &dyn Solvable, context: &RunContext) -> Result<(Report, Option<Arrays>), Error> {
    let solved = problem.solve(context)?;
    let vectors = solved.vectors.map(|bring| bring().map(StateVectors::into_arrays)).transpose()?.transpose()?;
    let outcome = solved.outcome;
    let (json, summary, converged) = (outcome.to_json()?, outcome.summary(), outcome.converged());
    Ok((Report { json, summary, converged, write: Box::new(move |folder| outcome.write(folder)) }, vectors))
}
