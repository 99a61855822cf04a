//! The paper's whole runs, each once an invocation.
//!
//! In: a model, a place, a form of H x. Out: the steps of the run. m is the paper's 4,096 on a card, less elsewhere.

use super::super::{PaperError, Setup};
use super::steps::{DeviceProducts, Step};
use crate::dmrg::sweeps::Case;
use eigenforge::dmrg::{DmrgError, Mode, Options, StartVectors, SuperblockForm, grow_observed};
use eigenforge_runtime::backend::{DeviceBackend, HostBackend};
use eigenforge_runtime::records::{CpuShare, Strategy};
use eigenforge_runtime::{Device, say};
use std::rc::Rc;

/// States of the paper's runs.
const STATES: usize = 4_096;
/// Largest relative difference of two devices' energies: of the solver's tolerance.
const SAME_ENERGY: f64 = 1e-7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Model {
    Heisenberg,
    Hubbard,
}

/// Where a run runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Cpu,
    Device(Strategy),
}

/// What a whole run came to.
pub(super) struct Run {
    pub steps: Vec<Step>,
}

impl Run {
    pub(super) fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }

    /// Of all products with H.
    pub(super) fn flops(&self) -> f64 {
        self.steps.iter().map(|step| step.flops * step.products as f64).sum()
    }

    pub(super) fn energy(&self) -> f64 {
        self.steps.last().map_or(f64::NAN, |step| step.energy)
    }

    /// Those that kept all states.
    pub(super) fn full_steps(&self, states: usize) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.kept >= states)
    }

    pub(super) fn same_energy(&self, what: &str, other: &Run) -> Result<(), PaperError> {
        let (expected, found) = (self.energy(), other.energy());
        if (expected - found).abs() <= SAME_ENERGY * expected.abs() {
            return Ok(());
        }
        Err(PaperError::Energies { what: what.into(), expected, found })
    }
}

/// The runs so far.
pub(in super::super) struct Runs<'a> {
    pub(super) setup: &'a Setup,
    /// m.
    pub(super) states: usize,
    pub(super) note: String,
    sites: [usize; 2],
    done: Vec<((Model, Place, SuperblockForm), Rc<Run>)>,
}

impl<'a> Runs<'a> {
    pub(in super::super) fn new(setup: &'a Setup) -> Runs<'a> {
        let (by_device, sites) = match setup.device {
            Device::Cuda(_) => (1, [40, 46]),
            Device::Cpu(_) => (64, [40, 46]),
            Device::Sim(_) => (512, [8, 6]),
        };
        let scale = setup.scale.unwrap_or(by_device) as usize;
        let states = (STATES / scale).max(4);
        let [heisenberg, hubbard] = sites;
        let scaled = if scale > 1 { format!("scale {scale}: ") } else { String::new() };
        let note = format!(
            "{scaled}m = {states} (paper: {STATES}), Heisenberg chain of {heisenberg} sites, Hubbard chain of \
             {hubbard} with U = 4, half filled; grown site by site, solves from random vectors"
        );
        Runs { setup, states, sites, note, done: Vec::new() }
    }

    /// The device where it runs kernels, else the CPU.
    pub(super) fn anywhere(&self) -> Place {
        if self.setup.device.runs_kernels() { Place::Device(Strategy::Planned) } else { Place::Cpu }
    }

    /// What a table's or figure's head says.
    pub(super) fn places(&self) -> String {
        format!("{}; CPU: {}", self.setup.device.name(), Device::cpu().name())
    }

    fn case(&self, model: Model) -> Result<Case, PaperError> {
        let (name, sites) = match model {
            Model::Heisenberg => ("heisenberg", self.sites[0]),
            Model::Hubbard => ("hubbard", self.sites[1]),
        };
        let what = format!("{name}:{sites}:{}", self.states);
        what.parse().map_err(|said| PaperError::Run { what: what.clone(), said })
    }

    /// The run, from before if it was done.
    ///
    /// # Errors
    /// The device's.
    pub(super) fn run(&mut self, model: Model, place: Place, form: SuperblockForm) -> Result<Rc<Run>, PaperError> {
        let key = (model, place, form);
        if let Some((_, run)) = self.done.iter().find(|(done, _)| *done == key) {
            return Ok(run.clone());
        }
        let case = self.case(model)?;
        let m = self.states;
        let options = Options {
            states: vec![m],
            least: m,
            mode: Mode::Infinite,
            start: StartVectors::Random,
            sweeps: 0,
            ..Options::default()
        };
        let chain = case.chain()?.with_superblock(form);
        let (options, mut steps) = (options.in_units(&chain.units), Vec::new());
        match place {
            Place::Cpu => {
                grow_observed(&mut HostBackend::default(), &chain, &options, |step| {
                    steps.push(Step::on_host(step));
                    Ok(())
                })?;
            }
            Place::Device(strategy) => {
                let device = &self.setup.device;
                let mut engine = DeviceBackend::new(device).map_err(DmrgError::from)?;
                engine.set_paper_product(strategy, CpuShare::default()).map_err(DmrgError::from)?;
                let products = DeviceProducts::new(device, strategy)?;
                grow_observed(&mut engine, &chain, &options, |step| {
                    steps.push(products.step(step)?);
                    Ok(())
                })?;
            }
        }
        steps.iter_mut().for_each(|step| step.energy = chain.units.energy(step.energy));
        let run = Rc::new(Run { steps });
        say!("{case}, {} records, {place:?}: {:.2} s", form.name(), run.seconds());
        self.done.push((key, run.clone()));
        Ok(run)
    }
}
