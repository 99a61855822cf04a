//! A problem with a list of values for some of its keys: one problem for each point.

use super::plan::identity_of;
use super::{LatticeProblem, PlanDetails, PlannedChoice, Problem};
use crate::exact::{ShareError, SharedKernels};
use crate::input::{InputFile, ParameterSweep};
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError};
use crate::su3::OscillatorSpace;
use eigenforge_runtime::machine::Machine;
use eigenforge_templates::Cost;
use rayon::prelude::*;

/// Which points of a lattice model share a text; `None` of other families.
///
/// # Errors
/// A point that cannot be planned.
pub(super) fn shared_kernels(sweep: &ParameterSweep) -> Result<Option<SharedKernels>, ShareError> {
    let mut shared = SharedKernels::default();
    for point in &sweep.points {
        let InputFile::Lattice(file) = &point.file else { return Ok(None) };
        if file.symmetry.is_some() {
            shared.add_stored();
            continue;
        }
        shared.add(&file.to_model()?, file.solve.precision)?;
    }
    Ok(Some(shared))
}

/// How the points of a sweep are shared out among cards, each on one of them: the next point to the card that is free, the largest
/// first, for the last one decides when all have ended.
pub struct Sharing {
    cards: usize,
    /// The points in the order in which they are begun.
    pub(super) order: Vec<usize>,
    /// The predicted work of each point, in units of its family; 1 for all where it is not known of some.
    work: Vec<f64>,
    known: bool,
}

impl Sharing {
    /// The points of a sweep on `cards` cards.
    pub fn new(sweep: &ParameterSweep, cards: usize) -> Sharing {
        let work: Option<Vec<f64>> = sweep.points.par_iter().map(|point| predicted_work(&point.file)).collect();
        let (known, work) = (work.is_some(), work.unwrap_or_else(|| vec![1.0; sweep.points.len()]));
        let mut order: Vec<usize> = (0..work.len()).collect();
        order.sort_by(|a, b| work[*b].total_cmp(&work[*a]));
        Sharing { cards: cards.max(1), order, work, known }
    }

    /// A line that says how they are shared.
    pub fn heading(&self) -> String {
        format!("cards    {}: each takes the next of {} points, {}\n", self.cards, self.order.len(), self.order_text())
    }

    /// The same of so many ranks that take points in rounds.
    pub(super) fn rounds_heading(&self, ranks: usize) -> String {
        let points = match self.cards {
            cards if cards == ranks => "each takes a point of every round".into(),
            cards => format!("they take {cards} points in every round, each as many as it has cards"),
        };
        format!("ranks    {ranks}: {points}, {}\n", self.order_text())
    }

    /// The points of each round of ranks with one card each, or their cores.
    pub fn describe_ranks(&self, sweep: &ParameterSweep) -> String {
        let round = |(number, points): (usize, &[usize])| {
            let points: Vec<String> = points.iter().map(|point| sweep.label(*point)).collect();
            format!("         round {}: {}\n", number + 1, points.join("; "))
        };
        let rounds: String = self.order.chunks(self.cards).enumerate().map(round).collect();
        self.rounds_heading(self.cards) + &rounds
    }

    /// In which order they are begun.
    fn order_text(&self) -> &'static str {
        if self.known { "largest first" } else { "in the order of the list" }
    }

    /// The predicted points of each card, and the longest share.
    pub fn describe(&self, sweep: &ParameterSweep) -> String {
        let whole: f64 = self.work.iter().sum();
        let share = |work: f64| if whole > 0.0 { 100.0 * work / whole } else { 0.0 };
        let mut cards = vec![(0.0, Vec::new()); self.cards];
        for point in &self.order {
            let free = (0..self.cards).min_by(|a, b| f64::total_cmp(&cards[*a].0, &cards[*b].0)).unwrap_or(0);
            cards[free].0 += self.work[*point];
            cards[free].1.push(sweep.label(*point));
        }
        let line = |(card, (work, points)): (usize, &(f64, Vec<String>))| {
            format!("         card {card}, {:.1} % of the work: {}\n", share(*work), points.join("; "))
        };
        let lines: String = cards.iter().enumerate().map(line).collect();
        let longest = cards.iter().map(|(work, _)| *work).fold(0.0, f64::max);
        let basis = if self.known { "the sizes of the points" } else { "points alone, whose sizes are not known yet" };
        format!("{}{lines}         the largest share is {:.1} %, counted by {basis}\n", self.heading(), share(longest))
    }
}

/// How long a point takes, in units that are those of all points of its family; `None` of molecules, whose determinants are not counted
/// before the integrals are read.
fn predicted_work(file: &InputFile) -> Option<f64> {
    match file {
        InputFile::Lattice(file) => match &file.symmetry {
            // States that are left out would all be listed to be counted.
            Some(_) if file.operator().forbidden().is_empty() => {
                let Ok(model) = file.to_model() else { return Some(0.0) };
                Some(model.dimension() as f64 * if model.is_complex() { 2.0 } else { 1.0 })
            }
            _ => file.dimension().map(|states| states as f64),
        },
        InputFile::Dmrg(file) => {
            let states = file.dmrg.options.states.iter().copied().max().unwrap_or(1) as f64;
            Some(file.model.lattice.sites().len() as f64 * states.powi(3))
        }
        InputFile::Su3(file) => Some(OscillatorSpace { n_max: file.su3.n_max }.counts().elements as f64),
        InputFile::Ci(_) | InputFile::Matrix(_) | InputFile::Sweep(_) => None,
    }
}

/// A model file with sweeps; what it shows of a point is of the first.
pub struct SweepProblem {
    /// The file of each point.
    pub sweep: ParameterSweep,
    open: OpenFile,
    first: Box<dyn Problem>,
    machine: Machine,
}

/// The problem of a file on a machine.
type OpenFile = fn(&InputFile, &Machine) -> Result<Box<dyn Problem>, StageError>;

impl SweepProblem {
    /// The problems of a sweep, which `open` opens, planned for a machine.
    ///
    /// # Errors
    /// The errors of `open` for the first point.
    pub fn new(sweep: ParameterSweep, machine: &Machine, open: OpenFile) -> Result<SweepProblem, StageError> {
        let first = open(&sweep.points[0].file, machine)?;
        Ok(SweepProblem { sweep, open, first, machine: machine.clone() })
    }

    /// "point 1 of 4: u = 1".
    fn heading(&self) -> String {
        format!("// point 1 of {}: {}\n", self.sweep.points.len(), self.sweep.label(0))
    }
}

/// The plan of a sweep: of its first point, and which points share kernels.
struct SweepPlan<'p> {
    about: String,
    heading: String,
    first: Box<dyn PlanDetails + 'p>,
}

impl PlanDetails for SweepPlan<'_> {
    fn memory(&self) -> Vec<(String, u64)> {
        self.first.memory()
    }

    fn work(&self) -> Vec<(String, Cost)> {
        self.first.work()
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        self.first.choices()
    }

    fn plan_text(&self) -> String {
        format!("{}{}{}", self.about, self.heading, self.first.plan_text())
    }

    fn cost_text(&self) -> String {
        format!("{}{}", self.heading, self.first.cost_text())
    }
}

impl Problem for SweepProblem {
    fn describe(&self) -> String {
        self.sweep.describe() + &self.first.describe()
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let why =
            "each point of a sweep has an operator of its own; give the file one value, or take --stage ir".into();
        Err(StageError::NoStage { stage: Stage::IrRon, family: "a sweep of parameters".into(), why })
    }

    fn operator_text(&self) -> Result<String, StageError> {
        Ok(self.heading() + &self.first.operator_text()?)
    }

    fn identity(&self) -> Result<String, StageError> {
        Ok(identity_of(&[&self.sweep.describe(), &self.first.identity()?]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let texts = shared_kernels(&self.sweep)?.map_or(String::new(), |shared| shared.describe());
        let about = self.sweep.describe() + &texts;
        Ok(Box::new(SweepPlan { about, heading: self.heading(), first: self.first.details()? }))
    }

    /// The files of all points, each text once.
    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let arguments = shared_kernels(&self.sweep)?.map_or(Vec::new(), |shared| shared.arguments());
        let mut files: Vec<GeneratedFile> = Vec::new();
        for (number, point) in self.sweep.points.iter().enumerate() {
            let mut of_point = match &point.file {
                InputFile::Lattice(file) => {
                    LatticeProblem::new((**file).clone())?.sharing(arguments[number].clone()).generated()?
                }
                file => (self.open)(file, &self.machine)?.generated()?,
            };
            // Curves of a point have kernels of their own.
            if point.file.has_curves() {
                of_point.extend((self.open)(&point.file, &self.machine)?.generated()?);
            }
            for file in of_point {
                if !files.iter().any(|other| other.text.text == file.text.text) {
                    files.push(file);
                }
            }
        }
        Ok(files)
    }
}
