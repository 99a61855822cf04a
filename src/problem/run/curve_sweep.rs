//! The points of a sweep of spectra, thermal averages or evolutions are made: one after the other, or each on one card of several.
//!
//! In: the points, the function of the verb. Out: a row for each point, in the order of the list; the files of a point in a folder of its name.
//! What a sweep of solves shares with it is in `sweep`: cards, the order of rows, finished points of a checkpoint.

use super::sweep::{Place, Rows, finished, keep, places, point_checkpoint};
use super::{RunContext, queue};
use crate::Error;
use crate::input::{InputFile, ParameterSweep};
use crate::problem::sweep::Sharing;
use crate::problem::{Family, open_for};
use crate::report::{CurveReport, CurveSweepRecord, SweptCurve};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use std::path::Path;
use std::time::Instant;

/// The function of a verb: the report of a file with one value for each key.
pub type MakeCurves<R> = fn(InputFile, &RunContext) -> Result<R, Error>;

/// Makes the curves of every point: what was found, and why it is not all. `each` sees the record after each point. With an output folder the
/// files of a point are written to a folder of the point's name in it. After a failure no point is begun, and those at work end.
///
/// With a checkpoint folder each point has a folder of its own in it, and a run that goes on takes finished points from there. A disk that takes
/// no files costs the files, not the sweep: the observer is told.
pub fn sweep_curves<R: CurveReport + Send>(
    sweep: &ParameterSweep,
    make: MakeCurves<R>,
    context: &RunContext,
    output: Option<&Path>,
    each: &mut dyn FnMut(&CurveSweepRecord<R>),
) -> (CurveSweepRecord<R>, Result<(), Error>) {
    let mut record = CurveSweepRecord::new(sweep);
    let done = make_points(sweep, make, context, output, &mut record, each);
    record.seconds = context.start.elapsed().as_secs_f64();
    (record, done)
}

fn make_points<R: CurveReport + Send>(
    sweep: &ParameterSweep,
    make: MakeCurves<R>,
    context: &RunContext,
    output: Option<&Path>,
    record: &mut CurveSweepRecord<R>,
    each: &mut dyn FnMut(&CurveSweepRecord<R>),
) -> Result<(), Error> {
    if sweep.sectors {
        let why = "a value \"all\" stands for sectors, whose curves are not put together: give the values themselves, { sweep = [0, 1, 2] }";
        return Err(Error::not_of_family(Family::from_file(&sweep.points[0].file), R::VERB, why));
    }
    context.observer.plan(&sweep.describe())?;
    let mut cards = match &sweep.points[..] {
        [_] => vec![context.device.clone()],
        _ => Device::cards_of(&context.device)?,
    };
    cards.truncate(sweep.points.len());
    // Held to the end: a card that nobody has open is started anew for every point.
    let open = |name: &String| if name == "auto" { Ok(Device::best_with_reason().0) } else { Device::parse(name) };
    let _devices = cards.iter().map(open).collect::<Result<Vec<Device>, _>>()?;
    let order = match cards.len() {
        1 => (0..sweep.points.len()).collect(),
        several => {
            let sharing = Sharing::new(sweep, several);
            context.observer.plan(&sharing.heading())?;
            sharing.order
        }
    };
    let mut add = |row| {
        record.points.push(row);
        record.seconds = context.start.elapsed().as_secs_f64();
        each(record);
    };
    let mut rows = Rows::new(sweep, context, &mut add);
    let point = |place: &Place, number: usize| make_point(sweep, number, make, (place, context), output);
    queue::run(&places(&cards, 1), &order, point, |number, point| rows.take(number, point));
    rows.finish()
}

/// What a finished point must have the same: its text, and what the files that it names hold.
fn identity(verb: &str, file: &InputFile) -> Result<String, Error> {
    let evolve = match file {
        InputFile::Lattice(file) => file.evolve.as_ref(),
        InputFile::Dmrg(file) => file.model.evolve.as_ref(),
        _ => None,
    };
    let start = evolve.map_or_else(String::new, |evolve| evolve.start.file_hash());
    Ok(format!("{verb}\n{}\n{}\n{start}", file.text(), open_for(file, &Machine::h200())?.identity()?))
}

fn make_point<R: CurveReport>(
    sweep: &ParameterSweep,
    number: usize,
    make: MakeCurves<R>,
    (place, context): (&Place, &RunContext),
    output: Option<&Path>,
) -> Result<SweptCurve<R>, Error> {
    let (file, name) = (&sweep.points[number].file, sweep.folder_name(number));
    let mut checkpoint = point_checkpoint(context, &name);
    let identity = checkpoint.as_ref().map_or(Ok(String::new()), |_| identity(R::VERB, file))?;
    let kept = checkpoint.as_ref().and_then(|request| finished::<SweptCurve<R>>(request, &identity));
    let is_new = kept.is_none();
    let row = match kept {
        Some(row) => row,
        None => {
            // A point that was never begun has nothing to go on from.
            checkpoint.iter_mut().for_each(|request| request.resume &= request.folder.is_dir());
            let started = Instant::now();
            let report = make(file.clone(), &place.context((sweep, number), context, checkpoint.clone()))?;
            SweptCurve::new(sweep, number, report, started.elapsed().as_secs_f64())
        }
    };
    let saved = checkpoint.filter(|_| is_new).map_or(Ok(()), |request| keep(&request, &identity, &row));
    let written = output.map_or(Ok(()), |folder| row.report.write(&folder.join(&name)).map(drop).map_err(Error::from));
    for fault in [saved, written].into_iter().filter_map(Result::err) {
        context.observer.remark(&format!("warning: {}: {fault}", sweep.label(number)));
    }
    let folder = output.filter(|output| output.join(&name).is_dir()).map(|_| name);
    Ok(SweptCurve { folder, ..row })
}
