//! Tables and measured figures of Nemes, Barcza, Nagy, Legeza, Szolgay (2014): chains that grow to their full length at a fixed m,
//! all m states kept, every solve from a random vector, as the paper's runs.
//!
//! In: a table or a figure of the paper and a [`Setup`]. Out: [`PaperTable`], [`PaperFigure`]. The paper gives no lengths of chains;
//! ours have 40 sites (Heisenberg) and 46 (Hubbard). Energies of the same chain on two devices must agree before a time is printed.
//!
//! | file | question it answers |
//! |---|---|
//! | `runs.rs`, `steps.rs` | whole runs, each once an invocation; what a step of one comes to |
//! | `ceilings.rs` | what H x could take at best on the paper's devices |
//! | `lines.rs` | Vᵀw and V y by themselves, and the paper's kernel |
//! | `figures.rs` | the figures |

mod ceilings;
mod figures;
mod lines;
mod runs;
mod steps;

pub(super) use figures::{FIGURES, measure as figure};
pub(super) use runs::Runs;

use super::published::PublishedTable;
use super::{MeasuredColumn, PaperError, PaperTable, not_redrawn};
use eigenforge::dmrg::SuperblockForm;
use eigenforge_runtime::Device;
use eigenforge_runtime::records::Strategy;
use runs::{Model, Place, Run};

/// Measures one table.
///
/// # Errors
/// A table that is not redrawn, a device that fails, energies that differ.
pub(super) fn measure(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    match table.number {
        1 => lines_of_davidson(table, runs),
        2 if !runs.setup.device.is_cuda() => Err(not_redrawn(table, "its strategies are cuBLAS's, which needs a card")),
        2 => strategies(table, runs),
        3 => devices(table, runs, Model::Heisenberg),
        4 => devices(table, runs, Model::Hubbard),
        5 => models(table, runs),
        _ => Err(not_redrawn(table, "no code measures it")),
    }
}

fn finished(
    table: &PublishedTable,
    runs: &Runs<'_>,
    measured: Vec<MeasuredColumn>,
    mut notes: Vec<String>,
) -> PaperTable {
    notes.insert(0, runs.note.clone());
    if matches!(runs.setup.device, Device::Sim(_)) {
        notes.push("the simulator checks the kernels; its times say nothing of a card".into());
    }
    PaperTable { published: table.clone(), measured, device: Some(runs.places()), notes }
}

/// Table 1: the operations of every iteration of a run, each line by itself.
fn lines_of_davidson(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    let mut columns: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for (k, model) in [Model::Heisenberg, Model::Hubbard].into_iter().enumerate() {
        let run = runs.run(model, runs.anywhere(), SuperblockForm::Planned)?;
        for (name, [transposed, plain]) in lines::replay(&run.steps, runs.setup)? {
            let column = match columns.iter_mut().find(|(known, _)| *known == name) {
                Some((_, column)) => column,
                None => {
                    columns.push((name, vec![None; 8]));
                    &mut columns.last_mut().unwrap_or_else(|| unreachable!("it was pushed")).1
                }
            };
            for (line, seconds) in [transposed, plain, transposed, plain].into_iter().enumerate() {
                column[4 * k + line] = Some(seconds);
            }
        }
    }
    let measured = columns.into_iter().map(|(name, cells)| MeasuredColumn::new(name, "s", 3, cells)).collect();
    let notes = vec![
        "each operation of every iteration of the run by itself, at its length and width, a basis of at most 20 \
         vectors; lines 3 and 12 are one operation, and so are 5 and 13, since nothing leaves the device"
            .into(),
        "in a run one generated kernel does the four lines together".into(),
    ];
    Ok(finished(table, runs, measured, notes))
}

/// Table 2; ours stand in the rows of the K20.
fn strategies(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    let mut cells: [Vec<Option<f64>>; 5] = std::array::from_fn(|_| vec![None, None]);
    for model in [Model::Heisenberg, Model::Hubbard] {
        let mut by = |strategy, form| runs.run(model, Place::Device(strategy), form);
        let one = by(Strategy::NoStreams, SuperblockForm::LeftRight)?;
        let four = by(Strategy::FourStreams, SuperblockForm::LeftRight)?;
        let list = by(Strategy::Planned, SuperblockForm::LeftRight)?;
        let planned = by(Strategy::Planned, SuperblockForm::Planned)?;
        for (name, other) in [("4Streams", &four), ("one launch a stage", &list), ("planned records", &planned)] {
            one.same_energy(name, other)?;
        }
        let decrease = 100.0 * (1.0 - four.seconds() / one.seconds());
        let numbers = [one.seconds(), four.seconds(), decrease, list.seconds(), planned.seconds()];
        cells.iter_mut().zip(numbers).for_each(|(cells, number)| cells.push(Some(number)));
    }
    let [one, four, decrease, list, planned] = cells;
    let measured = vec![
        MeasuredColumn::new("NoStreams", "s", 2, one),
        MeasuredColumn::new("4Streams", "s", 2, four),
        MeasuredColumn::new("decrease", "%", 2, decrease),
        MeasuredColumn::new("one launch a stage", "s", 2, list),
        MeasuredColumn::new("planned records", "s", 2, planned),
    ];
    let notes = vec![
        "the first four columns multiply by the paper's list of records (LR), the last by planned ones; NoStreams and \
         4Streams are cuBLAS's products, the others one launch of the generated kernel per stage"
            .into(),
    ];
    Ok(finished(table, runs, measured, notes))
}

/// Tables 3 and 4; ours stand in the rows of the Xeon E5, without and with its card.
fn devices(table: &PublishedTable, runs: &mut Runs<'_>, model: Model) -> Result<PaperTable, PaperError> {
    let (list, planned) = (SuperblockForm::LeftRight, SuperblockForm::Planned);
    let cpu = runs.run(model, Place::Cpu, planned)?;
    let mut notes =
        vec![format!("{} steps of full size; energy {:.9}", cpu.full_steps(runs.states).count(), cpu.energy())];
    let (mut time, mut faster) = (vec![None, None, Some(cpu.seconds()), None], vec![None, None, Some(1.0), None]);
    let (mut time_of_list, mut rate) = (vec![None; 4], vec![None; 4]);
    if runs.setup.device.runs_kernels() {
        let card = runs.run(model, runs.anywhere(), planned)?;
        let by_list = runs.run(model, runs.anywhere(), list)?;
        cpu.same_energy("the device", &card)?;
        cpu.same_energy("the device, the paper's records", &by_list)?;
        (time[3], faster[3]) = (Some(card.seconds()), Some(cpu.seconds() / card.seconds()));
        (time_of_list[3], rate[3]) = (Some(by_list.seconds()), Some(1e-12 * by_list.flops() / by_list.seconds()));
    } else {
        let by_list = runs.run(model, Place::Cpu, list)?;
        cpu.same_energy("the paper's records", &by_list)?;
        (time_of_list[2], rate[2]) = (Some(by_list.seconds()), Some(1e-12 * by_list.flops() / by_list.seconds()));
        notes.push("no device that runs kernels: the CPU alone".into());
    }
    notes.push("in the rows of the Xeon E5: this CPU, and the device with everything on it".into());
    if runs.setup.device.runs_kernels() {
        notes.push("the paper's records (LR) on this CPU: --device cpu, which takes a smaller m".into());
    }
    let product = cpu.steps.iter().map(|step| step.flops).fold(0.0, f64::max);
    notes.push(format!("the largest product, planned records: {product:.3e} flop; at the peak rates of devices:"));
    notes.extend(ceilings::lines(product));
    let measured = vec![
        MeasuredColumn::new("time", "s", 2, time),
        MeasuredColumn::new("speed-up", "", 2, faster),
        MeasuredColumn::new("the paper's records", "s", 2, time_of_list),
        MeasuredColumn::new("the same", "TFLOP/s", 2, rate),
    ];
    Ok(finished(table, runs, measured, notes))
}

/// Table 5.
fn models(table: &PublishedTable, runs: &mut Runs<'_>) -> Result<PaperTable, PaperError> {
    let states = runs.states;
    let line = |run: &Run| {
        let full = || run.full_steps(states);
        let mean = |of: &dyn Fn(&steps::Step) -> f64| full().map(of).sum::<f64>() / full().count().max(1) as f64;
        let most = |of: &dyn Fn(&steps::Step) -> f64| run.steps.iter().map(of).fold(0.0, f64::max);
        [
            run.seconds(),
            run.flops(),
            most(&|step| step.dimension as f64),
            most(&|step| step.largest_sector as f64),
            mean(&|step| step.sectors as f64),
            most(&|step| step.matrix),
            1e-6 * most(&|step| step.memory.four_streams()),
            mean(&|step| step.products as f64),
        ]
    };
    let mut by = |model| runs.run(model, runs.anywhere(), SuperblockForm::LeftRight);
    let [a, b] = [line(&*by(Model::Heisenberg)?), line(&*by(Model::Hubbard)?)];
    let ratio = a.iter().zip(&b).map(|(a, b)| Some(b / a)).collect();
    let column = |name, line: [f64; 8]| MeasuredColumn::new(name, "", 2, line.map(Some).to_vec());
    let measured = vec![column("Heisenberg", a), column("Hubbard", b), MeasuredColumn::new("ratio", "", 2, ratio)];
    let notes = vec![
        "by the paper's list of records (LR); sectors and iterations are means over the steps of full size, a matrix is \
         (m n k)^(1/3) of a product, averaged over the products of a step, and the largest of the steps is printed"
            .into(),
        "footprint: 4Streams as the paper defines it, in 10^6 bytes, counted from the records".into(),
    ];
    Ok(finished(table, runs, measured, notes))
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::super::published::{Paper, tables};
    use super::*;

    /// Eight states of 40 and 46 sites on the CPU: every run reaches its m, and the Heisenberg chain's energy per site lies between
    /// the dimers' -3/8 and the infinite chain's 1/4 - ln 2 (Hulthén 1938).
    #[test]
    fn whole_runs_are_redrawn_on_the_cpu() {
        let setup = Setup { device: Device::cpu(), ordinal: 0, scale: Some(512), repeats: 1 };
        let mut runs = Runs::new(&setup);
        let mut table = |number: usize| measure(&tables(Paper::Dmrg)[number - 1], &mut runs);
        let redrawn = table(3).unwrap();
        assert!(redrawn.measured[0].cells[2].is_some_and(|seconds| seconds > 0.0), "{redrawn}");
        assert!(redrawn.measured[2].cells[2].is_some_and(|seconds| seconds > 0.0), "{redrawn}");
        let ceilings = redrawn.notes.iter().filter(|note| note.contains("ms at least")).count();
        assert!(ceilings == 6 && redrawn.to_string().contains("FPGA Virtex-6 XC6VSX475T"), "{redrawn}");
        let energy = redrawn.notes[1].rsplit(' ').next().unwrap().parse::<f64>().unwrap() / 40.0;
        assert!(energy < -0.375 && energy > 0.25 - 2f64.ln(), "{energy}: {redrawn}");
        let models = table(5).unwrap();
        for row in 1..7 {
            let [heisenberg, hubbard] = [0, 1].map(|column: usize| models.measured[column].cells[row].unwrap());
            assert!(heisenberg > 0.0 && models.measured[2].cells[row] == Some(hubbard / heisenberg), "{models}");
        }
        let sectors = [0, 1].map(|column: usize| models.measured[column].cells[4].unwrap());
        assert!(sectors[1] > sectors[0], "{models}");
        let lines = table(1).unwrap();
        assert!(
            lines.measured.iter().all(|column| column.cells.iter().all(|cell| cell.is_some_and(|s| s > 0.0))),
            "{lines}"
        );
        assert!(table(2).unwrap_err().to_string().contains("needs a card"));
    }
}
