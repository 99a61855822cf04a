//! The sums in generated kernels, on the device that has the vectors; what comes back is sums of blocks, added here in order.

use super::halves::Halves;
use super::moves::{MoveTables, batches};
use super::{PairSums, Wanted, Weights};
use crate::basis::{Sector, count};
use crate::exact::{Model, PrepareError};
use crate::operator::{Product, Word};
use crate::path::GeneratedFile;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, Scalar, Vector, trace};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{AveragesPlan, AveragesSizes};
use ndarray::ArrayView2;

/// Blocks of a launch where the sector is large enough, on every card, so that sums have the same bits: fifteen on each
/// multiprocessor of an H200.
const BLOCKS: usize = 2048;
/// Blocks of `row_moments`, whose sums come back one by one: two rounds of four on each multiprocessor of an H200.
const WEIGHT_BLOCKS: usize = 1056;
/// States from which a term is given another block.
const STATES_A_BLOCK: u64 = 1 << 14;

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
        Sector::Charges(_) => pairs * model.dimension() as f64,
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

/// `sites` are those of the low and of the high word.
fn plan_of(model: &Model, scalar: ScalarType, sites: [usize; 2]) -> AveragesPlan {
    let width = match model.basis().word() {
        Word::Fermions { .. } | Word::Sites(_) => 1,
        Word::Spins { width, .. } => *width,
    };
    AveragesPlan::new(scalar, sites.map(|sites| sites as u32), width, model.dimension(), products(model))
}

/// The generated file of a model's averages. The lengths of its tables are left out.
///
/// # Errors
/// A sector without tables; a text that its plan does not fit.
pub(in crate::exact) fn generated(model: &Model, scalar: ScalarType) -> Result<GeneratedFile, PrepareError> {
    let sites = match model.basis().word() {
        Word::Fermions { sites } => [*sites; 2],
        Word::Sites(_) => [0; 2],
        Word::Spins { sites, width, .. } => {
            let low = (model.basis().lin_tables()?.low_bits / width) as usize;
            [low, sites - low]
        }
    };
    let plan = plan_of(model, scalar, sites);
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
    column_start: Buffer<u64>,
    column_class: Buffer<u32>,
}

impl<'a> Kernels<'a> {
    fn new(model: &Model, halves: &'a Halves, scalar: ScalarType, device: &'a Device) -> Result<Self, PrepareError> {
        let _planning = trace::span("observables", "plan of averages");
        let plan = AveragesPlan { warp: device.warp(), ..plan_of(model, scalar, halves.sites) };
        let kernel = device.compile(&plan.text()?)?;
        let start: Vec<u64> = halves.columns.iter().map(|column| column.start as u64).collect();
        let class: Vec<u32> = halves.columns.iter().map(|column| column.class as u32).collect();
        let (column_start, column_class) = (device.buffer(&start)?, device.buffer(&class)?);
        Ok(Kernels { device, halves, plan, kernel, column_start, column_class })
    }
}

/// The averages over orthonormal vectors on a device that runs kernels. The host makes tables of moves while the device sums.
///
/// # Errors
/// A text that does not compile; memory for the tables (some 64 MB at most for a large sector, twice that on the host).
pub(in crate::exact) fn on_device<T: Scalar>(
    model: &Model,
    multiplet: &[&Vector<T>],
    device: &Device,
    products: &[Product],
) -> Result<Vec<f64>, PrepareError> {
    if super::listed_layout(model).is_some() || super::without_rows(model)?.is_some() {
        let vectors = multiplet.iter().map(|vector| vector.download()).collect::<Result<Vec<Vec<T>>, _>>()?;
        let vectors: Vec<&[T]> = vectors.iter().map(Vec::as_slice).collect();
        return Ok(super::on_host(model, &vectors, products)?);
    }
    let halves = &Halves::new(model.basis())?;
    let wanted = Wanted::new(halves, products);
    let (mut sums, share) = (PairSums::new(halves), 1.0 / multiplet.len().max(1) as f64);
    let mut moved = Vec::new();
    let parts = &batches(halves, &wanted.moved);
    std::thread::scope(|scope| -> Result<(), PrepareError> {
        let make = |k: usize| {
            let part = *parts.get(k)?;
            Some(scope.spawn(move || {
                let _making = trace::span("observables", "tables of moves");
                MoveTables::new(halves, part)
            }))
        };
        let mut next = make(0);
        let kernels = Kernels::new(model, halves, T::TYPE, device)?;
        if !wanted.weighted.is_empty() {
            for vector in multiplet {
                sums.add_weights(halves, &kernels.weights(vector)?, share);
            }
        }
        for (k, part) in parts.iter().enumerate() {
            let Some(making) = next.take() else { unreachable!("one for each part") };
            let tables = making.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            next = make(k + 1);
            let moves = Moves::new(device, tables)?;
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
        let table = |of: fn(&Task) -> u64| device.buffer(&tasks.iter().map(of).collect::<Vec<u64>>());
        let column = |of: &dyn Fn(&super::halves::Column) -> u64| {
            device.buffer(&halves.columns.iter().map(of).collect::<Vec<u64>>())
        };
        let word = column(&|column| column.word)?;
        let rows = column(&|column| halves.classes[column.class].lows.len() as u64)?;
        let mut moments = device.zeros::<f64>(tasks.len() * self.plan.moments() as usize)?;
        let mut row_weights = device.zeros::<f64>(sizes.row_weights as usize)?;
        let mut column_weights = device.zeros::<f64>(halves.columns.len())?;
        let [row_launch, column_launch, _] = self.plan.launches(&sizes)?;
        self.kernel.launch(
            &row_launch,
            Arguments::new()
                .read("x", vector)
                .write("moments", &mut moments)
                .write("row_weights", &mut row_weights)
                .read("task_low", &table(|task| task.low)?)
                .read("task_row", &table(|task| task.row)?)
                .read("task_rows", &table(|task| task.rows)?)
                .read("task_column", &table(|task| task.column)?)
                .read("task_columns", &table(|task| task.columns)?)
                .read("task_weights", &table(|task| task.weights)?)
                .read("column_start", &self.column_start)
                .read("column_word", &word)
                .read("low_words", &device.buffer(&halves.lows)?),
        )?;
        let arguments = Arguments::new()
            .read("x", vector)
            .write("weights", &mut column_weights)
            .i64("columns", halves.columns.len() as i64)
            .read("column_start", &self.column_start)
            .read("column_rows", &rows);
        self.kernel.launch(&column_launch, arguments)?;
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

    fn transitions<T: Scalar>(&self, moves: &Moves, vector: &Vector<T>) -> Result<Vec<f64>, DeviceError> {
        let _moving = trace::span("observables", "sums of moves");
        let terms = moves.term_columns.len();
        if terms == 0 {
            return Ok(moves.tables.of_products(std::iter::empty()));
        }
        let by_states = self.plan.dimension.div_ceil(STATES_A_BLOCK) as usize;
        let chunks = BLOCKS.div_ceil(terms).min(by_states).max(1);
        let columns = self.halves.columns.len() as u64;
        let sizes = AveragesSizes { columns, chunks: chunks as u64, ..moves.sizes() };
        let [_, _, launch] = self.plan.launches(&sizes)?;
        let mut sums = self.device.zeros::<f64>(terms * chunks)?;
        let arguments = Arguments::new()
            .read("x", vector)
            .write("sums", &mut sums)
            .i64("chunks", chunks as i64)
            .i64("classes", self.halves.classes.len() as i64)
            .read("column_start", &self.column_start)
            .read("column_class", &self.column_class);
        self.kernel.launch(&launch, moves.pass(arguments))?;
        let of_terms = sums.download()?;
        Ok(moves.tables.of_products(of_terms.chunks_exact(chunks).map(|parts| parts.iter().sum())))
    }
}

/// [`MoveTables`] on the device.
struct Moves {
    tables: MoveTables,
    term_columns: Buffer<u32>,
    term_low: Buffer<u32>,
    column_lists: Buffer<u32>,
    column_pairs: Buffer<u64>,
    low_lists: Buffer<u32>,
    row_lists: Buffer<u32>,
    row_amplitude: Buffer<f64>,
    row_pairs: Buffer<u64>,
}

impl Moves {
    fn new(device: &Device, tables: MoveTables) -> Result<Moves, DeviceError> {
        let _uploading = trace::span("observables", "upload of moves");
        Ok(Moves {
            term_columns: device.buffer(&tables.term_columns)?,
            term_low: device.buffer(&tables.term_low)?,
            column_lists: device.buffer(&tables.column_lists)?,
            column_pairs: device.buffer(&tables.column_pairs)?,
            low_lists: device.buffer(&tables.low_lists)?,
            row_lists: device.buffer(&tables.row_lists)?,
            row_amplitude: device.buffer(&tables.row_amplitude)?,
            row_pairs: device.buffer(&tables.row_pairs)?,
            tables,
        })
    }

    fn sizes(&self) -> AveragesSizes {
        AveragesSizes {
            terms: self.term_columns.len() as u64,
            column_lists: self.column_lists.len() as u64 - 1,
            column_pairs: self.column_pairs.len() as u64,
            low_cells: self.low_lists.len() as u64 - 1,
            row_lists: self.row_amplitude.len() as u64,
            row_pairs: self.row_pairs.len() as u64,
            ..AveragesSizes::default()
        }
    }

    fn pass<'a>(&'a self, arguments: Arguments<'a>) -> Arguments<'a> {
        arguments
            .read("term_columns", &self.term_columns)
            .read("term_low", &self.term_low)
            .read("column_lists", &self.column_lists)
            .read("column_pairs", &self.column_pairs)
            .read("low_lists", &self.low_lists)
            .read("row_lists", &self.row_lists)
            .read("row_amplitude", &self.row_amplitude)
            .read("row_pairs", &self.row_pairs)
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
