//! DMRG: a model along a chain.

use super::{PlanDetails, PlannedChoice, PlannedWay, Problem};
use crate::basis::Sector;
use crate::dmrg::inspect::MiddleBond;
use crate::dmrg::{
    self, BasisChoice, CardsPlan, Chain, DmrgError, Forecast, MatrixProductState, Mode, Options, StartVectors,
    TextChoice, UpdateChoice,
};
use crate::input::{DmrgFile, OrbitalChain, WrittenStart, sector_text};
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError, StructureKind};
use crate::report::read_matrix_products;
use eigenforge_runtime::backend;
use eigenforge_runtime::machine::Machine;
use eigenforge_templates::Cost;
use ndarray_npy::NpzReader;
use std::fs::File;
use std::sync::Arc;

/// A file with `[dmrg]`, its chain and its options.
pub struct ChainProblem {
    /// The file.
    pub file: DmrgFile,
    /// The model along the chain.
    pub chain: Chain,
    /// The file's options.
    pub options: Options,
    /// The machine that seconds are predicted for.
    machine: Machine,
}

impl ChainProblem {
    /// Creates the problem of a file.
    ///
    /// # Errors
    /// A model that cannot be laid out as a chain; options that contradict each other.
    pub fn new(file: DmrgFile) -> Result<ChainProblem, DmrgError> {
        let (chain, mut options) = (file.chain()?, file.options());
        options.written = file.dmrg.start_file.as_ref().map(written_state).transpose()?.map(Arc::new);
        options.check()?;
        Ok(ChainProblem { file, chain, options, machine: Machine::h200() })
    }

    /// What each of so many cards would do, hold and receive at the middle bond.
    ///
    /// # Errors
    /// The plan cannot be made.
    pub fn sharing(&self, cards: usize) -> Result<String, DmrgError> {
        let most = self.options.states.iter().copied().max().unwrap_or(1);
        Ok(CardsPlan::new(&self.chain, most, cards)?.to_string())
    }

    /// This problem with seconds predicted for another machine than an H200.
    pub fn planned_for(self, machine: Machine) -> ChainProblem {
        ChainProblem { machine, ..self }
    }
}

/// The state of a file that `[dmrg]` or `[evolve]` begins from.
///
/// # Errors
/// A file that cannot be read, or has no such state.
pub(crate) fn written_state(start: &WrittenStart) -> Result<MatrixProductState, DmrgError> {
    let (shown, wanted) = (start.path.display(), start.state);
    let expected = "a state of a file of `eigenforge solve --vectors`, mps.npz";
    let refused = |found: String| DmrgError::Start { expected: expected.into(), found };
    let opened = File::open(&start.path).map_err(|error| refused(format!("{shown}: {error}")))?;
    let mut npz = NpzReader::new(opened).map_err(|error| refused(format!("{shown}: {error}")))?;
    let mut states = read_matrix_products(&mut npz).map_err(|why| refused(format!("{shown}: {why}")))?;
    match wanted < states.len() {
        true => Ok(states.swap_remove(wanted)),
        false => Err(refused(format!("state = {wanted} of {shown}, which has {}, from 0", states.len()))),
    }
}

/// The plan of a chain: its middle bond, which takes nearly all of the time.
struct ChainPlan {
    about: String,
    bond: MiddleBond,
    text: TextChoice,
    /// Whether states with `weights` share a basis, and how many they are; 1 without.
    bases: (BasisChoice, usize),
}

impl ChainPlan {
    /// Whose bases the states of the middle bond have, if there are several.
    fn bases(&self) -> String {
        let (choice, states) = self.bases;
        let is_common = choice.is_common(self.bond.flops, self.bond.dimension, states);
        match states {
            1 => String::new(),
            _ => format!("bases of the {states} states: {}\n", if is_common { "a common one" } else { "one each" }),
        }
    }

    /// Whose text Davidson's sweeps have on a card.
    fn text(&self) -> String {
        format!("sweeps of Davidson on a card: {}\n", self.text.describe(self.bond.dimension))
    }
}

impl PlanDetails for ChainPlan {
    fn memory(&self) -> Vec<(String, u64)> {
        self.bond.memory.clone()
    }

    fn work(&self) -> Vec<(String, Cost)> {
        vec![("a product with H of the middle bond".into(), Cost { flops: self.bond.flops, bytes: 0.0 })]
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        let Forecast { cpu, card, .. } = self.bond.forecast;
        let way = |name: &str, seconds| PlannedWay::new(name, None, seconds);
        vec![PlannedChoice {
            of: "the device of --device auto, by a bond".into(),
            ways: std::iter::once(way("CPU", cpu)).chain(card.map(|card| way("card", card))).collect(),
            chosen: None,
            why: self.bond.forecast.describe(),
        }]
    }

    /// The records of the middle bond.
    fn plan_text(&self) -> String {
        format!("{}{}{}{}", self.bond, self.text(), self.bases(), self.bond.records())
    }

    fn cost_text(&self) -> String {
        format!("{}{}{}{}", self.about, self.bond, self.text(), self.bases())
    }
}

impl Problem for ChainProblem {
    fn describe(&self) -> String {
        describe(&self.file, &self.chain, &self.options)
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let model = &self.file.model;
        if let Sector::Flavours(_) = model.sector {
            let why = "an operator of flavours has no form as data yet; --stage ir prints it".into();
            let family = "fermions of several flavours".into();
            return Err(StageError::NoStage { stage: Stage::IrRon, family, why });
        }
        let dimension = model.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX);
        let operator = model.operator().reduced();
        let structure = StructureKind::classify(&operator);
        let sector = model.sector.clone();
        Ok(OperatorIr::new(&model.problem_name(), self.chain.order.len(), sector, dimension, structure, &operator))
    }

    /// The terms, and the operators at each cut of the chain.
    fn operator_text(&self) -> Result<String, StageError> {
        let terms = match self.operator() {
            Ok(ir) => ir.to_string(),
            Err(_) => self.file.model.operator().to_string(),
        };
        Ok(format!("{terms}\n{}", dmrg::inspect::operator_sum(&self.chain)))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let bond = dmrg::inspect::middle_bond(&self.chain, &self.options, &self.machine)?;
        let Options { text, basis, weights, .. } = &self.options;
        let states = weights.as_ref().map_or(1, Vec::len);
        Ok(Box::new(ChainPlan { about: self.describe(), bond, text: *text, bases: (*basis, states) }))
    }

    /// The same five files for every chain, of which only the records differ; and the sweeps of Davidson's method for this one.
    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let files = backend::generated().map_err(DmrgError::from)?;
        let elements = dmrg::inspect::middle_elements(&self.chain, &self.options)?;
        let own = backend::generated_for_chain(elements).map_err(DmrgError::from)?;
        let own = Some(own).filter(|_| self.options.text.is_own(elements));
        let files = files.into_iter().chain(own);
        Ok(files.into_iter().map(|(text, launches)| GeneratedFile::new(text, launches, None)).collect())
    }
}

/// Describes the problem before it is solved, with every convention and default.
fn describe(file: &DmrgFile, chain: &Chain, options: &Options) -> String {
    let model = &file.model;
    let numbered = chain.order.iter().enumerate().all(|(position, site)| position == *site);
    let order = if numbered { "as numbered".into() } else { format!("{:?}", chain.order) };
    let list = |of: &dyn Fn(usize) -> String, until: usize| (0..until).map(of).collect::<Vec<_>>().join(", ");
    let until = (0..options.sweeps).find(|sweep| options.is_settled(*sweep)).map_or(options.sweeps, |sweep| sweep + 1);
    let grown = match options.mode {
        Mode::Finite => String::new(),
        Mode::Infinite => "         the chain is grown by the infinite-lattice algorithm first\n".into(),
    };
    let written = file
        .dmrg
        .start_file
        .as_ref()
        .map_or(String::new(), |start| format!("start    state {} of {}\n", start.state, start.path.display()));
    let vectors = match options.start {
        StartVectors::Carried => "",
        StartVectors::Random => "; each solve from a random vector",
    };
    let update = match options.update {
        UpdateChoice::Expanding => "; one site at a time, whose bonds grow",
        UpdateChoice::Auto | UpdateChoice::TwoSite => "",
    };
    let numbers = match &chain.gauge {
        Some(gauge) => {
            format!("numbers  real: a gauge removes the phases; states found there are multiplied by {gauge}\n")
        }
        None if chain.is_complex() => "numbers  complex: no gauge removes the phases; an auxiliary site of two states, real and imaginary\n         \
             part, at the left end of the chain carries them\n"
            .into(),
        None => String::new(),
    };
    let targets = match (options.targets, &options.weights) {
        (1, _) => String::new(),
        (targets, None) => format!("         the {targets} lowest states, each orthogonal to those below\n"),
        (targets, Some(weights)) => {
            format!("         the {targets} lowest states in one set of kept states, by weights {weights:?}\n")
        }
    };
    let truncation = match options.improvement {
        0.0 => String::new(),
        part => format!(", or by less than {part} of the discarded weight"),
    };
    let plan = if options.sweeps == 0 {
        format!("dmrg     {} states, no sweeps; seed {}{vectors}\n", options.states_of(0), options.seed)
    } else {
        format!(
            "dmrg     states by sweep {}; noise {}; at most {} sweeps, until the energy changes by less than {:e} \
             of the norm of H, {:.1e}{truncation}; seed {}{update}{vectors}\n",
            list(&|sweep| options.states_of(sweep).to_string(), until),
            list(&|sweep| scientific(options.noise_of(sweep)), until),
            options.sweeps,
            options.tolerance,
            options.tolerance * chain.units.scale * chain.units.norm,
            options.seed,
        )
    };
    let head = match &file.orbitals {
        Some(orbitals) => of_orbitals(orbitals, file, chain),
        None => format!(
            "model    {}: {}\n         {}\nlattice  {}\nsector   {}\n{numbers}\
             chain    {} sites {order}, longest bond {}, at most {} operators at a cut\n",
            model.model.name(),
            model.model.formula(),
            model.model.amplitudes(),
            model.lattice.describe(),
            sector_text(&model.sector),
            chain.order.len(),
            dmrg::bandwidth(&model.lattice, &chain.order),
            chain.sum.width(),
        ),
    };
    format!(
        "{head}{plan}{written}{grown}{targets}\
         H x      records of a stage in one launch of a generated kernel; on the CPU, one task per output block\n"
    )
}

/// The first lines of a chain of orbitals.
fn of_orbitals(orbitals: &OrbitalChain, file: &DmrgFile, chain: &Chain) -> String {
    let order = if file.dmrg.order.is_some() { "as given" } else { "by exchange integrals" };
    let numbers = orbitals.numbers(&chain.order);
    let dropped = match orbitals.dropped {
        0.0 => String::new(),
        dropped => format!("         integrals of {dropped:.1e} altogether are left out\n"),
    };
    format!(
        "model    {}, {}\n         {}\n{dropped}\
         chain    orbitals {numbers:?}, {order}; at most {} operators at a cut\n",
        file.model.model.formula(),
        file.model.model.amplitudes(),
        orbitals.describe(),
        chain.sum.width(),
    )
}

/// 1e-4, and 0 for none.
fn scientific(number: f64) -> String {
    if number == 0.0 { "0".into() } else { format!("{number:e}") }
}
