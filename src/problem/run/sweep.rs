//! The points of a sweep of parameters are solved one after the other.

use super::{CheckpointRequest, RunContext, RunObserver, solvable};
use crate::Error;
use crate::dmrg::SweepProgress;
use crate::exact::{RunError, SharedKernels};
use crate::input::{InputFile, ParameterSweep};
use crate::operator::{OperatorError, SymmetryError};
use crate::problem::LatticeProblem;
use crate::problem::sweep::shared_kernels;
use crate::report::{Certificate, ParameterSweepRecord, ReportError, SweptOutcome, publish};
use eigenforge_runtime::Device;
use eigenforge_runtime::solvers::Progress;
use eigenforge_templates::exact::CoefficientArguments;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The record of a finished point in its checkpoint folder.
const FINISHED: &str = "point.json";

/// Solves every point in turn: what was found, and why it is not all. `each` sees the record after each point; with an output
/// folder the report and the files of a point are written to a folder of the point's name in it.
///
/// With a checkpoint folder, each point has a folder of its own in it, and a run that goes on takes points that were finished from
/// there. A disk that takes no files costs the files, not the sweep: the observer is told.
pub fn solve_sweep(
    sweep: &ParameterSweep,
    context: &RunContext,
    output: Option<&Path>,
    each: &mut dyn FnMut(&ParameterSweepRecord),
) -> (ParameterSweepRecord, Result<(), Error>) {
    let mut record = ParameterSweepRecord {
        file: sweep.name.clone(),
        text: sweep.text.clone(),
        keys: sweep.keys.clone(),
        whole: sweep.whole,
        certificate: match sweep.points[0].file {
            InputFile::Dmrg(_) => Certificate::Variance,
            InputFile::Su3(_) => Certificate::Defect,
            _ => Certificate::Residual,
        },
        ..ParameterSweepRecord::default()
    };
    let done = solve_points(sweep, context, output, &mut record, each);
    (record, done)
}

fn solve_points(
    sweep: &ParameterSweep,
    context: &RunContext,
    output: Option<&Path>,
    record: &mut ParameterSweepRecord,
    each: &mut dyn FnMut(&ParameterSweepRecord),
) -> Result<(), Error> {
    context.observer.plan(&sweep.describe())?;
    // Held to the end: a card that nobody has open is started anew for every point.
    let device = if context.device == "auto" { Device::best_with_reason().0 } else { Device::parse(&context.device)? };
    let shared = if device.runs_kernels() { shared_kernels(sweep).map_err(RunError::from)? } else { None };
    record.shared_texts = shared.as_ref().map_or(0, SharedKernels::texts);
    let arguments = shared.map_or(Vec::new(), |shared| shared.arguments());
    for number in 0..sweep.points.len() {
        let arguments = arguments.get(number).cloned().flatten();
        let point = solve_point(sweep, number, arguments, context, output);
        // A symmetry sector without states has no row; the last point is refused if none has.
        let last = number + 1 == sweep.points.len() && record.points.is_empty();
        if let (Err(error), false) = (&point, last)
            && is_empty_sector(error)
        {
            context.observer.remark(&format!("{}: {error}", sweep.label(number)));
            continue;
        }
        record.points.push(point.map_err(|source| Error::Point { at: sweep.label(number), source: Box::new(source) })?);
        record.seconds = context.start.elapsed().as_secs_f64();
        each(record);
    }
    record.levels = record.lowest_levels();
    record.seconds = context.start.elapsed().as_secs_f64();
    Ok(())
}

/// Whether a point has no states.
fn is_empty_sector(error: &Error) -> bool {
    matches!(error, Error::Operator(OperatorError::Symmetry(why)) if matches!(**why, SymmetryError::NoStates { .. }))
}

fn solve_point(
    sweep: &ParameterSweep,
    number: usize,
    arguments: Option<Arc<CoefficientArguments>>,
    context: &RunContext,
    output: Option<&Path>,
) -> Result<SweptOutcome, Error> {
    let (point, name) = (&sweep.points[number], sweep.folder_name(number));
    let request = context.checkpoint.as_ref();
    let mut checkpoint =
        request.map(|request| CheckpointRequest { folder: request.folder.join(&name), ..request.clone() });
    let problem = match &point.file {
        InputFile::Lattice(file) => {
            let problem = LatticeProblem::new((**file).clone())?.sharing(arguments);
            // Symmetry sectors differ in size, and a small one may have fewer states than others are asked for.
            let of_symmetries = sweep.keys.iter().any(|key| key.starts_with("symmetry."));
            Box::new(if of_symmetries { problem.at_most_all() } else { problem })
        }
        file => solvable(file.clone())?,
    };
    // What the command line changes of the file stands in the description.
    let identity = format!("{}\n{}", point.file.text(), problem.describe());
    if let Some(request) = &mut checkpoint {
        if let Some(found) = finished(request, &identity) {
            return Ok(found);
        }
        // A point that was never begun has nothing to go on from.
        request.resume &= request.folder.is_dir();
    }
    if let (InputFile::Su3(_), Some(folder)) = (&point.file, output) {
        let folder = folder.join(&name);
        std::fs::create_dir_all(&folder).map_err(|source| ReportError::Folder { folder, source })?;
    }
    let own = RunContext {
        start: Instant::now(),
        device: context.device.clone(),
        overrides: context.overrides.clone(),
        tuned: context.tuned,
        checkpoint: checkpoint.clone(),
        observer: Arc::new(PointObserver { observer: Arc::clone(&context.observer), first: number == 0 }),
    };
    let solved = problem.solve(&own)?;
    let row = SweptOutcome::of(&point.values, &point.joined, &solved.outcome)?;
    let kept = checkpoint.map_or(Ok(()), |request| keep(&request, &identity, &row));
    // A transformation writes its own files, beside its strengths.
    let folder = output.filter(|_| !matches!(point.file, InputFile::Su3(_))).map(|folder| folder.join(name));
    let written = solved.write(folder.as_deref()).map(drop);
    for fault in [kept, written].into_iter().filter_map(Result::err) {
        context.observer.remark(&format!("warning: {}: {fault}", sweep.label(number)));
    }
    Ok(row)
}

/// Keeps the row of a finished point.
fn keep(request: &CheckpointRequest, identity: &str, row: &SweptOutcome) -> Result<(), Error> {
    let text = serde_json::to_vec(&(identity, row)).map_err(ReportError::from)?;
    let path = request.folder.join(FINISHED);
    publish(&path, |file| file.write_all(&text).map_err(|source| ReportError::Write { file: path.clone(), source }))?;
    Ok(())
}

/// The row of a point that an earlier run finished, if the run goes on and the point is the same.
fn finished(request: &CheckpointRequest, identity: &str) -> Option<SweptOutcome> {
    let kept = std::fs::read(request.folder.join(FINISHED)).ok().filter(|_| request.resume)?;
    let (of, row): (String, SweptOutcome) = serde_json::from_slice(&kept).ok()?;
    (of == identity).then_some(row)
}

/// Passes on what a point tells; what is planned, of the first point only.
struct PointObserver {
    observer: Arc<dyn RunObserver>,
    first: bool,
}

impl RunObserver for PointObserver {
    fn plan(&self, text: &str) -> std::io::Result<()> {
        if self.first { self.observer.plan(text) } else { Ok(()) }
    }

    fn remark(&self, text: &str) {
        if self.first {
            self.observer.remark(text);
        }
    }

    fn iteration(&self, progress: &Progress) {
        self.observer.iteration(progress);
    }

    fn bond(&self, progress: &SweepProgress<'_>) {
        self.observer.bond(progress);
    }

    fn finished(&self) {
        self.observer.finished();
    }
}
