//! The sums in generated kernels, on the device that has the vectors; what comes back is sums of blocks, added here in order.

use super::halves::Halves;
use super::moves::batches;
use super::tables::{DeviceTables, Moves};
use super::{PairSums, Prepared, Weights};
use crate::{Model, PrepareError};
use eigenforge_core::basis::{Sector, count};
use eigenforge_core::operator::Word;
use eigenforge_core::path::GeneratedFile;
use eigenforge_runtime::{Arguments, Device, DeviceError, HostTable, Kernel, NamedTables, Scalar, Vector, trace};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{AveragesPlan, AveragesSizes};
use ndarray::ArrayView2;

/// Blocks of `row_moments`, whose sums come back one by one: two rounds of four on each multiprocessor of an H200.
const WEIGHT_BLOCKS: usize = 1056;

/// One block of `row_moments`: some rows and some columns of a class.
struct Task {
    low: u64,
    row: u64,
    rows: u64,
    column: u64,
    columns: u64,
    weights: u64,
}

/// Cuts the classes: into tiles of a row for each thread, and these by columns where there are few tiles; several tiles
/// one after the other where there are many.
fn tasks(halves: &Halves, threads: usize) -> Vec<Task> {
    let tiles: usize = halves.classes.iter().map(|class| class.lows.len().div_ceil(threads)).sum();
    let rows_at_once = threads * tiles.div_ceil(WEIGHT_BLOCKS).max(1);
    let parts = (WEIGHT_BLOCKS / tiles.max(1)).max(1);
    let (mut tasks, mut weights) = (Vec::new(), 0);
    for class in &halves.classes {
        let columns_at_once = class.columns.len().div_ceil(parts).max(64);
        for row in (0..class.lows.len()).step_by(rows_at_once) {
            for column in class.columns.clone().step_by(columns_at_once) {
                let rows = rows_at_once.min(class.lows.len() - row) as u64;
                let columns = columns_at_once.min(class.columns.end - column) as u64;
                let (low, row, column) = ((class.lows.start + row) as u64, row as u64, column as u64);
                tasks.push(Task { low, row, rows, column, columns, weights });
                weights += rows;
            }
        }
    }
    tasks
}

/// Σ over pairs of sites of the states on which S⁺ᵢS⁻ⱼ does not vanish.
fn products(model: &Model) -> f64 {
    let (sites, two_s) = (model.sites(), model.operator().two_s() as usize);
    let pairs = (sites * sites.saturating_sub(1) / 2) as f64;
    match model.sector() {
        Sector::Fermions { up, down } => {
            let others = |electrons: usize| match electrons {
                0 => 0.0,
                electrons => count(sites.saturating_sub(2), electrons - 1) as f64,
            };
            pairs * others(*up) * others(*down)
        }
        Sector::Spins { two_sz } => {
            let total = (i128::from(*two_sz) + (sites * two_s) as i128) / 2;
            match usize::try_from(total) {
                Ok(total) if total <= MOST_LEVELS => pairs * states_moved(sites, two_s, total),
                _ => pairs * model.dimension() as f64,
            }
        }
        Sector::Charges(_) | Sector::Flavours(_) => pairs * model.dimension() as f64,
    }
}

/// Levels added up, beyond which every state counts as one that S⁺ᵢS⁻ⱼ moves.
const MOST_LEVELS: usize = 1 << 20;

/// Words of `sites` levels from 0 to `two_s` that add up to `total`, the first below the top and the second above the bottom.
fn states_moved(sites: usize, two_s: usize, total: usize) -> f64 {
    // Words of all sites but two, by their levels added up.
    let mut words = vec![0.0; total + 1];
    words[0] = 1.0;
    for _ in 2..sites {
        let mut window = 0.0;
        let sums = |(sum, count): (usize, &f64)| {
            window += count;
            if sum > two_s {
                window -= words[sum - two_s - 1];
            }
            window
        };
        words = words.iter().enumerate().map(sums).collect();
    }
    // So many pairs of levels of the two add up to `both`.
    let pairs = |both: usize| both.min(2 * two_s - both) as f64;
    (1..2 * two_s.max(1)).filter(|both| *both <= total).map(|both| pairs(both) * words[total - both]).sum()
}

/// `sites` are those of the low and of the high word, `most_rows` the rows of the longest column.
fn plan_of(model: &Model, scalar: ScalarType, sites: [usize; 2], most_rows: u64) -> AveragesPlan {
    let width = match model.basis().word() {
        Word::Fermions { .. } | Word::Sites(_) => 1,
        Word::Spins { width, .. } => *width,
    };
    let states = [model.dimension(), most_rows];
    AveragesPlan::new(scalar, sites.map(|sites| sites as u32), width, states, products(model))
}

/// The generated file of a model's averages. The lengths of its tables are left out.
///
/// # Errors
/// A sector without tables; a text that its plan does not fit.
pub(crate) fn generated(model: &Model, scalar: ScalarType) -> Result<GeneratedFile, PrepareError> {
    let (sites, most_rows) = match (model.basis().word(), model.basis().species()) {
        (Word::Fermions { sites }, Some((up, _))) => ([*sites; 2], up.len() as u64),
        (word, _) => {
            let tables = model.basis().lin_tables()?;
            let sites = match word {
                Word::Spins { sites, width, .. } => {
                    let low = (tables.low_bits / width) as usize;
                    [low, sites - low]
                }
                _ => [0; 2],
            };
            (sites, tables.parts.iter().map(|part| part.count).max().unwrap_or(0))
        }
    };
    let plan = plan_of(model, scalar, sites, most_rows);
    let launches = plan.launches(&AveragesSizes::default()).map_err(DeviceError::from)?;
    Ok(GeneratedFile::new(plan.text()?, launches.to_vec(), Some(plan.cost())))
}

/// Lengths of the tables of the sector; those of the moves are zero.
fn sizes_of(halves: &Halves, tasks: &[Task]) -> AveragesSizes {
    AveragesSizes {
        low_words: halves.lows.len() as u64,
        columns: halves.columns.len() as u64,
        tasks: tasks.len() as u64,
        row_weights: tasks.iter().map(|task| task.rows).sum(),
        ..AveragesSizes::default()
    }
}

/// The kernels of one model, compiled, with the sector's columns.
struct Kernels<'a> {
    device: &'a Device,
    halves: &'a Halves,
    plan: AveragesPlan,
    kernel: Kernel,
    columns: NamedTables,
}

impl<'a> Kernels<'a> {
    fn new(model: &Model, halves: &'a Halves, scalar: ScalarType, device: &'a Device) -> Result<Self, PrepareError> {
        let _planning = trace::span("observables", "plan of averages");
        let plan = AveragesPlan { warp: device.warp(), ..plan_of(model, scalar, halves.sites, halves.most_rows()) };
        let kernel = device.compile(&plan.text()?)?;
        let start: Vec<u64> = halves.columns.iter().map(|column| column.start as u64).collect();
        let class: Vec<u32> = halves.columns.iter().map(|column| column.class as u32).collect();
        let rows: Vec<u64> = halves.columns.iter().map(|column| halves.rows(column.class).len() as u64).collect();
        let tables: [(&str, HostTable<'_>); 3] =
            [("column_start", start.into()), ("column_class", class.into()), ("column_rows", rows.into())];
        let mut columns = NamedTables::uploaded(device, tables)?;
        columns.insert_count("columns", halves.columns.len() as u64);
        columns.insert_count("classes", halves.classes.len() as u64);
        columns.insert_count("most_rows", halves.most_rows());
        Ok(Kernels { device, halves, plan, kernel, columns })
    }
}

/// The averages over orthonormal vectors on a device that runs kernels. The host makes tables of moves while the device sums.
///
/// # Errors
/// A text that does not compile; memory for the tables (some 64 MB at most for a large sector, twice that on the host).
pub(super) fn on_device<T: Scalar>(
    model: &Model,
    multiplet: &[&Vector<T>],
    device: &Device,
    prepared: &Prepared,
) -> Result<Vec<f64>, PrepareError> {
    let Prepared { halves, wanted, first } = prepared;
    let (mut sums, share) = (PairSums::new(halves), 1.0 / multiplet.len().max(1) as f64);
    let mut moved = Vec::new();
    let parts = &batches(halves, &wanted.moved);
    std::thread::scope(|scope| -> Result<(), PrepareError> {
        let make = |k: usize| {
            let part = *parts.get(k).filter(|_| k > 0 || first.is_none())?;
            Some(scope.spawn(move || DeviceTables::new(halves, part)))
        };
        let mut next = make(0);
        let kernels = Kernels::new(model, halves, T::TYPE, device)?;
        if !wanted.weighted.is_empty() {
            for vector in multiplet {
                sums.add_weights(halves, &kernels.weights(vector)?, share);
            }
        }
        for (k, part) in parts.iter().enumerate() {
            let made = next.take().map(|making| making.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            next = make(k + 1);
            let Some(tables) = made.as_ref().or(first.as_ref()) else { unreachable!("one for each part") };
            let moves = Moves::new(device, kernels.plan.staged, tables)?;
            for vector in multiplet {
                let found = kernels.transitions(&moves, vector)?;
                moved.extend(
                    part.iter().zip(found).map(|(product, sum)| (product.number, share * product.factor * sum)),
                );
            }
        }
        Ok(())
    })?;
    Ok(wanted.values(halves, &sums, moved))
}

impl Kernels<'_> {
    fn weights<T: Scalar>(&self, vector: &Vector<T>) -> Result<Weights, DeviceError> {
        let _weighing = trace::span("observables", "sums of weights");
        let (device, halves) = (self.device, self.halves);
        let tasks = tasks(halves, self.plan.threads as usize);
        let sizes = sizes_of(halves, &tasks);
        let task = |number: fn(&Task) -> u64| tasks.iter().map(number).collect::<Vec<u64>>().into();
        let words: Vec<u64> = halves.columns.iter().map(|column| column.word).collect();
        let given: [(&str, HostTable<'_>); 8] = [
            ("task_low", task(|task| task.low)),
            ("task_row", task(|task| task.row)),
            ("task_rows", task(|task| task.rows)),
            ("task_column", task(|task| task.column)),
            ("task_columns", task(|task| task.columns)),
            ("task_weights", task(|task| task.weights)),
            ("column_word", words.into()),
            ("low_words", (&halves.lows).into()),
        ];
        let tables = NamedTables::uploaded(device, given)?;
        let mut moments = device.zeros::<f64>(tasks.len() * self.plan.moments() as usize)?;
        let mut row_weights = device.zeros::<f64>(sizes.row_weights as usize)?;
        let mut column_weights = device.zeros::<f64>(halves.columns.len())?;
        let [row_launch, column_launch, _] = self.plan.launches(&sizes)?;
        let vectors =
            Arguments::new().read("x", vector).write("moments", &mut moments).write("row_weights", &mut row_weights);
        self.kernel.launch(&row_launch, vectors.tables(&tables).tables(&self.columns))?;
        let vectors = Arguments::new().read("x", vector).write("weights", &mut column_weights);
        self.kernel.launch(&column_launch, vectors.tables(&self.columns))?;
        let mut weights = Weights::new(halves);
        weights.columns = column_weights.download()?;
        let (moments, of_rows) = (moments.download()?, row_weights.download()?);
        let shape = weights.moments.raw_dim();
        let length = weights.moments.len();
        for (task, found) in tasks.iter().zip(moments.chunks_exact(length)) {
            let found = ArrayView2::from_shape(shape, found).unwrap_or_else(|_| unreachable!("cut to this shape"));
            weights.moments += &found;
            let (first, low) = (task.weights as usize, task.low as usize);
            let found = &of_rows[first..first + task.rows as usize];
            weights.rows[low..].iter_mut().zip(found).for_each(|(sum, weight)| *sum += weight);
        }
        Ok(weights)
    }

    fn transitions<T: Scalar>(&self, moves: &Moves<'_>, vector: &Vector<T>) -> Result<Vec<f64>, DeviceError> {
        let _moving = trace::span("observables", "sums of moves");
        if moves.tables.tasks.is_empty() {
            return Ok(moves.tables.moves.of_products(std::iter::empty()));
        }
        let sizes = moves.sizes(self.halves);
        let [_, _, launch] = self.plan.launches(&sizes)?;
        let mut sums = self.device.zeros::<f64>(sizes.sums as usize)?;
        let vectors = Arguments::new().read("x", vector).write("sums", &mut sums);
        self.kernel.launch(&launch, vectors.tables(&moves.named).tables(&self.columns))?;
        let mut of_terms = vec![0.0; moves.tables.moves.term_low.len()];
        let found = sums.download()?;
        for task in &moves.tables.tasks {
            let of_task = &found[task.sums as usize..(task.sums + task.terms) as usize];
            of_terms[task.term as usize..].iter_mut().zip(of_task).for_each(|(sum, part)| *sum += part);
        }
        Ok(moves.tables.moves.of_products(of_terms.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::states_moved;

    #[test]
    fn states_that_an_exchange_moves_are_counted() {
        for (sites, two_s) in [(2, 1), (5, 1), (4, 2), (3, 3)] {
            let words: Vec<Vec<usize>> = (0..(two_s + 1usize).pow(sites as u32))
                .map(|word| (0..sites as u32).map(|site| word / (two_s + 1).pow(site) % (two_s + 1)).collect())
                .collect();
            for total in 0..=sites * two_s {
                let moved = |word: &&Vec<usize>| word.iter().sum::<usize>() == total && word[0] < two_s && word[1] > 0;
                assert_eq!(states_moved(sites, two_s, total), words.iter().filter(moved).count() as f64);
            }
        }
    }
}
