//! The points of a sweep of parameters are solved: one after the other on one device, each on one card of several, or by several ranks.
//!
//! In: the points and the cards. Out: a row for each point, in the order of the list. While a card is at work on a point, the host makes the
//! next one ready: its plan and its kernels. Of several cards each takes the next point, the largest first; points that need the memory of
//! several cards come last, each on all of them. Several ranks take points in rounds (`over_ranks`), and rank 0 has the rows.

use super::over_ranks::Rounds;
use super::{CheckpointRequest, RunContext, RunObserver, Solvable, queue, solvable};
use crate::Error;
use crate::ci::{CsfError, MoleculeError, SpaceError};
use crate::dmrg::SweepProgress;
use crate::exact::{RunError, SharedKernels};
use crate::input::{InputFile, ParameterSweep};
use crate::operator::{OperatorError, SymmetryError};
use crate::problem::sweep::{Sharing, shared_kernels};
use crate::problem::{LatticeProblem, MoleculeProblem};
use crate::report::{Certificate, ParameterSweepRecord, ReportError, SCHEMA, SweptOutcome, publish};
use eigenforge_runtime::Device;
use eigenforge_runtime::input_file::{FileKind, read_bytes};
use eigenforge_runtime::solvers::Progress;
use eigenforge_templates::exact::CoefficientArguments;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

/// The record of a finished point in its checkpoint folder.
const FINISHED: &str = "point.json";

/// Solves every point, on a device of several cards as many at a time: what was found, and why it is not all. `each` sees the record
/// after each point, whose rows are in the order of the list; with an output folder the report and the files of a point are written to a
/// folder of the point's name in it. After a failure no point is begun, and those at work end.
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
        schema: SCHEMA,
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
    let rounds = context.ranks.as_ref().map(|ranks| Rounds::new(ranks, &context.device)).transpose()?;
    let mut cards = match (&rounds, &sweep.points[..]) {
        (Some(rounds), _) => rounds.cards().to_vec(),
        // All cards work on it together.
        (None, [_]) => vec![context.device.clone()],
        (None, _) => Device::cards_of(&context.device)?,
    };
    cards.truncate(sweep.points.len());
    // Held to the end: a card that nobody has open is started anew for every point.
    let open = |name: &String| if name == "auto" { Ok(Device::best_with_reason().0) } else { Device::parse(name) };
    let devices = cards.iter().map(open).collect::<Result<Vec<Device>, _>>()?;
    let shared = if devices[0].runs_kernels() { shared_kernels(sweep).map_err(RunError::from)? } else { None };
    record.shared_texts = shared.as_ref().map_or(0, SharedKernels::texts);
    let arguments = shared.map_or(Vec::new(), |shared| shared.arguments());
    let workers = rounds.as_ref().map_or(cards.len(), Rounds::workers);
    let order = match workers {
        1 => (0..sweep.points.len()).collect(),
        several => {
            let sharing = Sharing::new(sweep, several);
            context
                .observer
                .plan(&rounds.as_ref().map_or_else(|| sharing.heading(), |rounds| rounds.heading(&sharing)))?;
            sharing.order
        }
    };
    let problem = |number: usize| point_problem(sweep, number, arguments.get(number).cloned().flatten());
    let solve = |place: &Place, number: usize| solve_point(sweep, number, problem(number)?, place, context, output);
    let whole = match &rounds {
        Some(rounds) => rounds.all_cards(),
        None => context.device.clone(),
    };
    // Points that need more memory than a place has, where the cards may have it together.
    let together = |number: usize, error: Error| {
        context
            .observer
            .remark(&format!("{}: on all cards together, because one has too little memory", sweep.label(number)));
        let whole = Place { device: whole.clone(), card: None, runs: 1 };
        match solve(&whole, number) {
            // Why it does not fit says more than that it takes one card.
            Err(refused) if refused.takes_one_card() => Err(error),
            point => point,
        }
    };
    let mut add = |row| {
        record.points.push(row);
        record.seconds = context.start.elapsed().as_secs_f64();
        each(record);
    };
    let mut rows = Rows::new(sweep, context, &mut add);
    match &rounds {
        None => {
            let places = places(&cards, 1);
            let mut take = |number, point| rows.take(number, point);
            let large = match &devices[..] {
                [device] if device.runs_kernels() && order.len() > 1 => std::thread::scope(|scope| {
                    let ahead = PreparedAhead::new(scope, device, &order, &problem);
                    let solve = |place: &Place, number: usize| {
                        solve_point(sweep, number, ahead.problem(number)?, place, context, output)
                    };
                    in_turn(sweep, &places, &order, solve, &mut take)
                }),
                _ => in_turn(sweep, &places, &order, solve, &mut take),
            };
            drop(devices);
            for (number, error) in large {
                if rows.failure.is_some() {
                    break;
                }
                let _ = rows.take(number, together(number, error));
            }
        }
        Some(rounds) => {
            let places = places(&cards, rounds.on_this_machine());
            for round in rounds.split(&order) {
                let mut found = Vec::new();
                let large = in_turn(sweep, &places, rounds.own_points(round), solve, |number, point| {
                    found.push((number, point));
                    ControlFlow::Continue(())
                });
                found.extend(large.into_iter().map(|(number, error)| (number, together(number, error))));
                for (number, point) in rounds.gather(found)? {
                    let _ = rows.take(number, point);
                }
                if rounds.has_failed(rows.failure.is_some())? {
                    break;
                }
            }
        }
    }
    rows.finish()?;
    record.join_levels();
    record.magnetisation = record.magnetisation();
    record.seconds = context.start.elapsed().as_secs_f64();
    Ok(())
}

/// Where a point is solved.
pub(super) struct Place {
    /// The device by its name.
    device: String,
    /// What progress calls it, where others work beside it.
    card: Option<String>,
    /// Points that are solved at the same time.
    runs: usize,
}

impl Place {
    /// What the run of a point is given there.
    pub(super) fn context(
        &self,
        (sweep, number): (&ParameterSweep, usize),
        context: &RunContext,
        checkpoint: Option<CheckpointRequest>,
    ) -> RunContext {
        let own = match &self.card {
            Some(card) => context.observer.beside_others(&format!("{card}  {}", sweep.label(number))),
            None => Arc::clone(&context.observer),
        };
        RunContext {
            start: Instant::now(),
            device: self.device.clone(),
            ranks: None,
            runs: self.runs,
            overrides: context.overrides.clone(),
            tuned: context.tuned,
            checkpoint,
            observer: Arc::new(PointObserver { whole: Arc::clone(&context.observer), own, first: number == 0 }),
        }
    }
}

/// A place for each card, of so many processes on this machine that each have as many.
pub(super) fn places(cards: &[String], processes: usize) -> Vec<Place> {
    let of = |(name, label): (&String, String)| {
        let card = (cards.len() > 1).then_some(label);
        Place { device: name.clone(), card, runs: cards.len() * processes }
    };
    cards.iter().zip(Device::card_labels(cards)).map(of).collect()
}

/// Solves points, each at one place; returns those that need more memory than a place has, with its error, where several cards may have
/// it together.
fn in_turn(
    sweep: &ParameterSweep,
    places: &[Place],
    order: &[usize],
    solve: impl Fn(&Place, usize) -> Result<SweptOutcome, Error> + Sync,
    mut take: impl FnMut(usize, Result<SweptOutcome, Error>) -> ControlFlow<()>,
) -> Vec<(usize, Error)> {
    let mut large = Vec::new();
    queue::run(places, order, solve, |number, point| match point {
        Err(error) if places.len() > 1 && error.needs_more_memory() && takes_several_cards(sweep, number) => {
            large.push((number, error));
            ControlFlow::Continue(())
        }
        point => take(number, point),
    });
    large.sort_by_key(|(number, _)| *number);
    large
}

/// Whether several cards have the memory that a point needs together: a group of an interaction is on one of them in any case, and so
/// are the blocks of a chain.
fn takes_several_cards(sweep: &ParameterSweep, number: usize) -> bool {
    matches!(sweep.points[number].file, InputFile::Lattice(_) | InputFile::Ci(_))
}

/// The rows of a record, which are in the order of the list while points end in any order.
pub(super) struct Rows<'s, 'r, R> {
    sweep: &'s ParameterSweep,
    context: &'s RunContext,
    /// Takes a row, of which `added` are in the record.
    add_row: &'r mut dyn FnMut(R),
    added: usize,
    /// Points that ended before an earlier one of the list did; all that is before `next` is in the record.
    waiting: Vec<(usize, Result<R, Error>)>,
    next: usize,
    /// The first failure of the list.
    failure: Option<Error>,
}

impl<'s, 'r, R> Rows<'s, 'r, R> {
    /// No rows yet.
    pub(super) fn new(
        sweep: &'s ParameterSweep,
        context: &'s RunContext,
        add_row: &'r mut dyn FnMut(R),
    ) -> Rows<'s, 'r, R> {
        Rows { sweep, context, add_row, added: 0, waiting: Vec::new(), next: 0, failure: None }
    }

    /// Takes a point that has ended, and adds all rows that now have their turn. A failure is a break.
    pub(super) fn take(&mut self, number: usize, point: Result<R, Error>) -> ControlFlow<()> {
        let failed = point.as_ref().is_err_and(|error| !is_empty_sector(error));
        self.waiting.push((number, point));
        while let Some(place) = self.waiting.iter().position(|(number, _)| *number == self.next) {
            let (number, point) = self.waiting.swap_remove(place);
            self.next += 1;
            self.add(number, point);
        }
        if failed || self.failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn add(&mut self, number: usize, point: Result<R, Error>) {
        // A symmetry sector without states and an irrep without determinants have no row; the last point is refused if none has.
        let last = number + 1 == self.sweep.points.len() && self.added == 0;
        match point {
            Ok(row) => {
                (self.add_row)(row);
                self.added += 1;
            }
            Err(error) if is_empty_sector(&error) && !last => {
                self.context.observer.remark(&format!("{}: {error}", self.sweep.label(number)));
            }
            Err(source) if self.failure.is_none() => {
                self.failure = Some(Error::Point { at: self.sweep.label(number), source: Box::new(source) });
            }
            // One failure is told.
            Err(_) => {}
        }
    }

    /// Adds the rows behind points that were not solved, and says why those were not.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|(number, _)| *number);
        waiting.into_iter().for_each(|(number, point)| self.add(number, point));
        self.failure.map_or(Ok(()), Err)
    }
}

/// Whether a point has no states.
pub(super) fn is_empty_sector(error: &Error) -> bool {
    matches!(error, Error::OfRank { no_states: true, .. })
        || matches!(
            error,
            Error::Molecule(
                MoleculeError::Space(SpaceError::Empty { .. }) | MoleculeError::Csf(CsfError::Empty { .. })
            )
        )
        || matches!(error, Error::Operator(OperatorError::Symmetry(why)) if matches!(**why, SymmetryError::NoStates { .. }))
}

/// A problem that another thread may make ready.
type PointProblem = Box<dyn Solvable + Send>;

/// A thread that makes one ready.
type Preparing<'scope> = ScopedJoinHandle<'scope, Result<PointProblem, Error>>;

/// The problem of a point.
fn point_problem(
    sweep: &ParameterSweep,
    number: usize,
    arguments: Option<Arc<CoefficientArguments>>,
) -> Result<PointProblem, Error> {
    Ok(match &sweep.points[number].file {
        InputFile::Lattice(file) => {
            let problem = LatticeProblem::new((**file).clone())?.sharing(arguments);
            // Symmetry sectors differ in size, and a small one may have fewer states than others are asked for.
            let of_symmetries = sweep.charges || sweep.keys.iter().any(|key| key.starts_with("symmetry."));
            Box::new(if of_symmetries { problem.at_most_all() } else { problem })
        }
        // So do the irreps and spins of a molecule.
        InputFile::Ci(file) if sweep.keys.iter().any(|key| ["ci.irrep", "ci.two_s"].contains(&&key[..])) => {
            Box::new(MoleculeProblem::read((**file).clone())?.at_most_all())
        }
        file => solvable(file.clone())?,
    })
}

/// The point that will be next on a card, made ready by the host's cores while another is solved there.
struct PreparedAhead<'scope, 'env, P> {
    scope: &'scope Scope<'scope, 'env>,
    device: &'env Device,
    order: &'env [usize],
    problem: &'env P,
    /// Its number, and the thread that makes it ready.
    next: Mutex<Option<(usize, Preparing<'scope>)>>,
}

impl<'scope, 'env, P: Fn(usize) -> Result<PointProblem, Error> + Sync> PreparedAhead<'scope, 'env, P> {
    fn new(
        scope: &'scope Scope<'scope, 'env>,
        device: &'env Device,
        order: &'env [usize],
        problem: &'env P,
    ) -> PreparedAhead<'scope, 'env, P> {
        PreparedAhead { scope, device, order, problem, next: Mutex::new(None) }
    }

    /// The problem of a point; begins with the next one.
    fn problem(&self, number: usize) -> Result<PointProblem, Error> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = next.take().filter(|(of, _)| *of == number).map(|(_, thread)| thread.join());
        let following = self.order.iter().skip_while(|own| **own != number).nth(1);
        if let Some(following) = following.copied() {
            let (device, problem) = (self.device, self.problem);
            let prepare = move || {
                let found = problem(following)?;
                found.prepare(device);
                Ok(found)
            };
            *next = Some((following, self.scope.spawn(prepare)));
        }
        drop(next);
        match ready {
            Some(found) => found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => (self.problem)(number),
        }
    }
}

fn solve_point(
    sweep: &ParameterSweep,
    number: usize,
    problem: PointProblem,
    place: &Place,
    context: &RunContext,
    output: Option<&Path>,
) -> Result<SweptOutcome, Error> {
    let (point, name) = (&sweep.points[number], sweep.folder_name(number));
    let mut checkpoint = point_checkpoint(context, &name);
    // What the command line changes of the file stands in the description, and what other files hold in the problem's identity.
    let identity = match &checkpoint {
        Some(_) => format!("{}\n{}\n{}", point.file.text(), problem.describe(), problem.identity()?),
        None => String::new(),
    };
    if let Some(request) = &mut checkpoint {
        if let Some(found) = finished::<SweptOutcome>(request, &identity) {
            return Ok(named_by_folder(found, output, name));
        }
        // A point that was never begun has nothing to go on from.
        request.resume &= request.folder.is_dir();
    }
    if let (InputFile::Su3(_), Some(folder)) = (&point.file, output) {
        let folder = folder.join(&name);
        std::fs::create_dir_all(&folder).map_err(|source| ReportError::Folder { folder, source })?;
    }
    let own = place.context((sweep, number), context, checkpoint.clone());
    let solved = problem.solve(&own)?;
    let row = SweptOutcome::new(&sweep.keys, point, &solved.outcome)?;
    let kept = checkpoint.map_or(Ok(()), |request| keep(&request, &identity, &row));
    // A transformation writes its own files, beside its strengths.
    let folder = output.filter(|_| !matches!(point.file, InputFile::Su3(_))).map(|folder| folder.join(&name));
    let written = solved.write(folder.as_deref()).map(drop);
    for fault in [kept, written].into_iter().filter_map(Result::err) {
        context.observer.remark(&format!("warning: {}: {fault}", sweep.label(number)));
    }
    Ok(named_by_folder(row, output, name))
}

/// The row with the name of its folder, where that was written, by this run or by the one that finished the point.
fn named_by_folder(row: SweptOutcome, output: Option<&Path>, name: String) -> SweptOutcome {
    let folder = output.filter(|output| output.join(&name).is_dir()).map(|_| name);
    SweptOutcome { folder, ..row }
}

/// Where a point of this name is saved.
pub(super) fn point_checkpoint(context: &RunContext, name: &str) -> Option<CheckpointRequest> {
    let request = context.checkpoint.as_ref()?;
    Some(CheckpointRequest { folder: request.folder.join(name), ..request.clone() })
}

/// Keeps the row of a finished point.
pub(super) fn keep(request: &CheckpointRequest, identity: &str, row: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_vec(&(identity, row)).map_err(ReportError::from)?;
    let path = request.folder.join(FINISHED);
    publish(&path, |file| file.write_all(&text).map_err(|source| ReportError::Write { file: path.clone(), source }))?;
    Ok(())
}

/// The row of a point that an earlier run finished, if the run goes on and the point is the same.
pub(super) fn finished<R: DeserializeOwned>(request: &CheckpointRequest, identity: &str) -> Option<R> {
    let kept = read_bytes(&request.folder.join(FINISHED), FileKind::STATE).ok().filter(|_| request.resume)?;
    let (of, row): (String, R) = serde_json::from_slice(&kept).ok()?;
    (of == identity).then_some(row)
}

/// Passes on what a point tells; what is planned, of the first point only.
struct PointObserver {
    /// Of the sweep.
    whole: Arc<dyn RunObserver>,
    /// Of the point.
    own: Arc<dyn RunObserver>,
    first: bool,
}

impl RunObserver for PointObserver {
    fn plan(&self, text: &str) -> std::io::Result<()> {
        if self.first { self.whole.plan(text) } else { Ok(()) }
    }

    fn remark(&self, text: &str) {
        if self.first {
            self.whole.remark(text);
        }
    }

    fn iteration(&self, progress: &Progress) {
        self.own.iteration(progress);
    }

    fn bond(&self, progress: &SweepProgress<'_>) {
        self.own.bond(progress);
    }

    fn finished(&self) {
        self.own.finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::run::Silent;
    use crate::report::KeyValues;
    use eigenforge_runtime::DeviceError;
    use std::time::Duration;

    fn sweep(points: usize, more: &str) -> ParameterSweep {
        let values: Vec<String> = (0..points).map(|point| point.to_string()).collect();
        let text = format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = {{ sweep = [{}] }}\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\n\
             two_sz = 0\n{more}",
            values.join(", ")
        );
        let InputFile::Sweep(sweep) = InputFile::parse("chain.toml", &text, Path::new(".")).unwrap() else {
            panic!("{text}")
        };
        *sweep
    }

    fn row(number: usize) -> SweptOutcome {
        SweptOutcome {
            label: format!("jz = {number}"),
            values: KeyValues::new(),
            texts: vec![number.to_string()],
            folder: None,
            joined: Vec::new(),
            multiplicities: Vec::new(),
            s: Vec::new(),
            s_squared: Vec::new(),
            dimension: 6,
            degeneracy: 1,
            energies: vec![number as f64],
            levels: Vec::new(),
            uncertainties: Vec::new(),
            rounding: 0.0,
            norms: Default::default(),
            certificates: vec![Some(0.0)],
            converged: true,
            observables: Default::default(),
            seconds: 0.0,
            report: serde_json::Value::Null,
        }
    }

    fn too_little() -> Error {
        let (what, device, fits) = ("vectors".into(), "a card".into(), "less".into());
        DeviceError::Memory { what, device, needed: 2, free: 1, total: 1, fits }.into()
    }

    /// What is left of a sweep: the numbers of its rows, how many rows there were each time, the points that are too large for one
    /// card, the failure.
    type Left = (Vec<String>, Vec<usize>, Vec<usize>, Option<String>);

    /// A sweep on cards, whose points end when `solve` has them end.
    fn left(sweep: &ParameterSweep, cards: usize, solve: impl Fn(usize) -> Result<SweptOutcome, Error> + Sync) -> Left {
        let context = RunContext::new(Instant::now(), "sim", Arc::new(Silent));
        let (mut record, mut seen) = (ParameterSweepRecord::default(), Vec::new());
        let mut add = |row| {
            record.points.push(row);
            seen.push(record.points.len());
        };
        let mut rows = Rows::new(sweep, &context, &mut add);
        let places = places(&vec!["sim".into(); cards], 1);
        let order = Sharing::new(sweep, cards).order;
        let large =
            in_turn(sweep, &places, &order, |_, number| solve(number), |number, point| rows.take(number, point));
        let failure = rows.finish().err().map(|error| error.to_string());
        let large = large.into_iter().map(|(number, _)| number).collect();
        (record.points.iter().map(|point| point.texts[0].clone()).collect(), seen, large, failure)
    }

    #[test]
    fn rows_are_in_the_order_of_the_list_whatever_ends_first() {
        let sweep = sweep(12, "");
        let all: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        for cards in [1, 2, 4, 5] {
            let solve = |number: usize| {
                std::thread::sleep(Duration::from_millis([9, 1, 4, 0][number % 4]));
                Ok(row(number))
            };
            let (rows, seen, large, failure) = left(&sweep, cards, solve);
            assert_eq!((rows, failure), (all.clone(), None), "{cards} cards");
            assert!(seen == (1..=12).collect::<Vec<_>>() && large.is_empty(), "{seen:?}");
        }
    }

    #[test]
    fn a_failure_ends_the_queue_and_keeps_what_others_found() {
        let sweep = sweep(60, "");
        for cards in [1, 3] {
            let solve = |number: usize| {
                std::thread::sleep(Duration::from_millis(2 * (number as u64 % 3)));
                if number == 4 { Err(DeviceError::NoDriver.into()) } else { Ok(row(number)) }
            };
            let (rows, _, _, failure) = left(&sweep, cards, solve);
            let failure = failure.unwrap();
            assert!(failure.contains("jz = 4"), "{failure}");
            assert!(rows[..4] == ["0", "1", "2", "3"] && rows.len() < 30, "{cards} cards: {rows:?}");
            assert!(cards > 1 || rows.len() == 4, "{rows:?}");
            assert!(rows.is_sorted_by_key(|row| row.parse::<usize>().unwrap()), "{rows:?}");
        }
    }

    #[test]
    fn what_does_not_fit_one_card_is_left_for_all_of_them() {
        let solve = |number: usize| if number % 3 == 1 { Err(too_little()) } else { Ok(row(number)) };
        let (rows, _, large, failure) = left(&sweep(7, ""), 2, solve);
        assert_eq!((rows, large, failure), (["0", "2", "3", "5", "6"].map(String::from).into(), vec![1, 4], None));
        // One card has no others, and the blocks of a chain are on one in any case.
        let (_, _, large, failure) = left(&sweep(7, ""), 1, solve);
        assert!(large.is_empty() && failure.is_some());
        let (_, _, large, failure) = left(&sweep(7, "[dmrg]\nstates = 4\n"), 2, solve);
        assert!(large.is_empty() && failure.is_some());
    }

    #[test]
    fn the_largest_points_are_first() {
        let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = SIZE\nboundary = \
                    \"periodic\"\n[sector]\ntwo_sz = 0\nMORE";
        let of = |size: &str, more: &str| {
            let text = text.replace("SIZE", size).replace("MORE", more);
            let InputFile::Sweep(sweep) = InputFile::parse("ring.toml", &text, Path::new(".")).unwrap() else {
                panic!("{text}")
            };
            let sharing = Sharing::new(&sweep, 2);
            let labels: Vec<String> = sharing.order.iter().map(|point| sweep.label(*point)).collect();
            (labels, sharing.describe(&sweep))
        };
        let (labels, said) = of("{ sweep = [4, 8, 6, 10] }", "");
        assert_eq!(labels, ["size = 10", "size = 8", "size = 6", "size = 4"]);
        // 252, 70, 20 and 6 states.
        assert!(said.contains("card 0, 72.4 % of the work: size = 10\n"), "{said}");
        assert!(said.contains("card 1, 27.6 % of the work: size = 8; size = 6; size = 4\n"), "{said}");
        // Complex vectors are twice as long, and each element is two numbers.
        let (labels, _) = of("8", "[symmetry]\nk = \"all\"\n");
        assert_eq!(labels, ["k = 2", "k = 1", "k = 3", "k = 0", "k = 4"]);
    }
}
