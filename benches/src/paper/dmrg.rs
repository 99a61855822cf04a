//! Tables 2 to 5 of Nemes, Barcza, Nagy, Legeza, Szolgay (2014): chains that grow to their full length at a fixed m, all m states
//! kept, every solve from a random vector, as the paper's runs.
//!
//! In: a table of the paper and a [`Setup`]. Out: [`PaperTable`]. The paper gives no lengths of chains; ours have 40 sites
//! (Heisenberg) and 46 (Hubbard). Energies of the same chain on two devices must agree before a time is printed.

use super::published::PublishedTable;
use super::{MeasuredColumn, PaperError, PaperTable, Setup, not_redrawn};
use crate::dmrg::sweeps::Case;
use eigenforge::dmrg::{CpuShare, DmrgError, Engine, GrowthRecord, Mode, Options, StartVectors, Strategy, grow};
use eigenforge_runtime::backend::{Backend, DeviceBackend, HostBackend};
use eigenforge_runtime::{Device, say};

/// States of the paper's runs.
const STATES: usize = 4_096;
/// Largest relative difference of two devices' energies: of the solver's tolerance.
const SAME_ENERGY: f64 = 1e-7;

/// Measures one table.
///
/// # Errors
/// A table that is not redrawn, a device that fails, energies that differ.
pub(super) fn measure(table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
    let runs = Runs::new(setup);
    match table.number {
        1 => Err(not_redrawn(
            table,
            "the kernel that runs Davidson's method does the four lines together, and nothing times them apart; \
             `eigenforge bench dmrg` times line 3 beside cuBLAS",
        )),
        2 if !setup.device.is_cuda() => Err(not_redrawn(table, "its strategies are cuBLAS's, which needs a card")),
        2 => runs.strategies(table),
        3 => runs.devices(table, Model::Heisenberg),
        4 => runs.devices(table, Model::Hubbard),
        5 => runs.models(table),
        _ => Err(not_redrawn(table, "no code measures it")),
    }
}

#[derive(Clone, Copy)]
enum Model {
    Heisenberg,
    Hubbard,
}

/// What a whole run came to.
struct Run {
    seconds: f64,
    flops: f64,
    largest: usize,
    /// Products of a step of full size, on average.
    products: f64,
    energy: f64,
    full_steps: usize,
}

struct Runs<'a> {
    setup: &'a Setup,
    states: usize,
    sites: [usize; 2],
    note: String,
}

impl<'a> Runs<'a> {
    fn new(setup: &'a Setup) -> Runs<'a> {
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
             {hubbard} with U = 4, half \
             filled; grown site by site, solves from random vectors"
        );
        Runs { setup, states, sites, note }
    }

    fn case(&self, model: Model) -> Result<Case, PaperError> {
        let (name, sites) = match model {
            Model::Heisenberg => ("heisenberg", self.sites[0]),
            Model::Hubbard => ("hubbard", self.sites[1]),
        };
        let what = format!("{name}:{sites}:{}", self.states);
        what.parse().map_err(|said| PaperError::Run { what: what.clone(), said })
    }

    /// Grows a chain.
    fn grown(&self, engine: &mut impl Engine, model: Model) -> Result<Run, PaperError> {
        let case = self.case(model)?;
        let (start, m) = (StartVectors::Random, self.states);
        let options =
            Options { states: vec![m], least: m, mode: Mode::Infinite, start, sweeps: 0, ..Options::default() };
        let chain = case.chain()?;
        let steps = grow(engine, &chain, &options.in_units(&chain.units), |_| {})?.records;
        let full: Vec<&GrowthRecord> = steps.iter().filter(|step| step.kept >= m).collect();
        let run = Run {
            seconds: steps.iter().map(|step| step.seconds).sum(),
            flops: steps.iter().map(|step| step.flops).sum(),
            largest: steps.iter().map(|step| step.dimension).max().unwrap_or(0),
            products: full.iter().map(|step| step.products as f64).sum::<f64>() / full.len().max(1) as f64,
            energy: steps.last().map_or(f64::NAN, |step| chain.units.energy(step.energy)),
            full_steps: full.len(),
        };
        say!("{case}: {:.2} s", run.seconds);
        Ok(run)
    }

    fn on_device(&self, model: Model, strategy: Strategy) -> Result<Run, PaperError> {
        let mut engine = DeviceBackend::new(&self.setup.device).map_err(DmrgError::from)?;
        engine.configure(strategy, CpuShare::default()).map_err(DmrgError::from)?;
        self.grown(&mut engine, model)
    }

    /// Where kernels run there, else on the CPU.
    fn anywhere(&self, model: Model) -> Result<Run, PaperError> {
        if self.setup.device.runs_kernels() {
            self.on_device(model, Strategy::Planned)
        } else {
            self.grown(&mut HostBackend::default(), model)
        }
    }

    fn table(&self, table: &PublishedTable, measured: Vec<MeasuredColumn>, mut notes: Vec<String>) -> PaperTable {
        notes.insert(0, self.note.clone());
        if matches!(self.setup.device, Device::Sim(_)) {
            notes.push("the simulator checks the kernels; its times say nothing of a card".into());
        }
        let device = Some(format!("{}; CPU: {}", self.setup.device.name(), Device::cpu().name()));
        PaperTable { published: table.clone(), measured, device, notes }
    }

    /// Table 2; ours stand in the rows of the K20.
    fn strategies(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let mut cells: [Vec<Option<f64>>; 4] = std::array::from_fn(|_| vec![None, None]);
        for model in [Model::Heisenberg, Model::Hubbard] {
            let one = self.on_device(model, Strategy::NoStreams)?;
            let four = self.on_device(model, Strategy::FourStreams)?;
            let planned = self.on_device(model, Strategy::Planned)?;
            same_energy("4Streams", &one, &four)?;
            same_energy("planned", &one, &planned)?;
            let decrease = 100.0 * (1.0 - four.seconds / one.seconds);
            let numbers = [one.seconds, four.seconds, decrease, planned.seconds];
            cells.iter_mut().zip(numbers).for_each(|(cells, number)| cells.push(Some(number)));
        }
        let [one, four, decrease, planned] = cells;
        let measured = vec![
            MeasuredColumn::new("NoStreams", "s", 2, one),
            MeasuredColumn::new("4Streams", "s", 2, four),
            MeasuredColumn::new("decrease", "%", 2, decrease),
            MeasuredColumn::new("planned", "s", 2, planned),
        ];
        Ok(self.table(table, measured, vec!["planned: one launch of the generated kernel per stage".into()]))
    }

    /// Tables 3 and 4; ours stand in the rows of the Xeon E5, without and with its card.
    fn devices(&self, table: &PublishedTable, model: Model) -> Result<PaperTable, PaperError> {
        let cpu = self.grown(&mut HostBackend::default(), model)?;
        let mut cells = vec![None, None, Some(cpu.seconds), None];
        let mut faster = vec![None, None, Some(1.0), None];
        let mut notes = vec![format!("{} steps of full size; energy {:.9}", cpu.full_steps, cpu.energy)];
        if self.setup.device.runs_kernels() {
            let card = self.on_device(model, Strategy::Planned)?;
            same_energy("the device", &cpu, &card)?;
            cells[3] = Some(card.seconds);
            faster[3] = Some(cpu.seconds / card.seconds);
        } else {
            notes.push("no device that runs kernels: the CPU alone".into());
        }
        notes.push("in the rows of the Xeon E5: this CPU, and the device with everything on it".into());
        let measured = vec![MeasuredColumn::new("time", "s", 2, cells), MeasuredColumn::new("speed-up", "", 2, faster)];
        Ok(self.table(table, measured, notes))
    }

    /// Table 5.
    fn models(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let line = |run: &Run| {
            [run.seconds, run.flops, run.largest as f64, f64::NAN, f64::NAN, f64::NAN, f64::NAN, run.products]
        };
        let (heisenberg, hubbard) = (self.anywhere(Model::Heisenberg)?, self.anywhere(Model::Hubbard)?);
        let number = |value: f64| (!value.is_nan()).then_some(value);
        let [a, b] = [line(&heisenberg), line(&hubbard)];
        let ratio = a.iter().zip(&b).map(|(a, b)| number(b / a)).collect();
        let column = |name, line: [f64; 8]| MeasuredColumn::new(name, "", 2, line.map(number).to_vec());
        let measured = vec![column("Heisenberg", a), column("Hubbard", b), MeasuredColumn::new("ratio", "", 2, ratio)];
        let notes = vec![
            "operations are those of planned records, which share products; iterations are products of a step of \
             full size"
                .into(),
            "sectors, sizes of matrices and the footprint are not recorded by a run; `eigenforge inspect --stage \
             plan` prints those of \
             a model file"
                .into(),
        ];
        Ok(self.table(table, measured, notes))
    }
}

fn same_energy(what: &str, one: &Run, other: &Run) -> Result<(), PaperError> {
    if (one.energy - other.energy).abs() <= SAME_ENERGY * one.energy.abs() {
        return Ok(());
    }
    Err(PaperError::Energies { what: what.into(), expected: one.energy, found: other.energy })
}

#[cfg(test)]
mod tests {
    use super::super::published::{Paper, tables};
    use super::*;

    /// Eight states of 40 and 46 sites on the CPU: every run reaches its m, and the Heisenberg chain's energy per site lies between
    /// the dimers' -3/8 and the infinite chain's 1/4 - ln 2 (Hulthén 1938).
    #[test]
    fn whole_runs_are_redrawn_on_the_cpu() {
        let setup = Setup { device: Device::cpu(), ordinal: 0, scale: Some(512), repeats: 1 };
        let table = |number: usize| measure(&tables(Paper::Dmrg)[number - 1], &setup);
        let redrawn = table(3).unwrap();
        assert!(redrawn.measured[0].cells[2].is_some_and(|seconds| seconds > 0.0), "{redrawn}");
        let energy = redrawn.notes[1].rsplit(' ').next().unwrap().parse::<f64>().unwrap() / 40.0;
        assert!(energy < -0.375 && energy > 0.25 - 2f64.ln(), "{energy}: {redrawn}");
        let models = table(5).unwrap();
        let [heisenberg, hubbard] = [0, 1].map(|column: usize| models.measured[column].cells[1].unwrap());
        assert!(hubbard > heisenberg && models.measured[2].cells[1] == Some(hubbard / heisenberg), "{models}");
        assert!(table(1).unwrap_err().to_string().contains("times line 3 beside cuBLAS"));
        assert!(table(2).unwrap_err().to_string().contains("needs a card"));
    }
}
