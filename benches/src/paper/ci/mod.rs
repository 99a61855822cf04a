//! The tables of Mahmoud, Hoffmann, Reza (2018): what the ten random matrices of each size are like, what formats of them take, and
//! how fast they multiply: ours, the paper's own kernel, its rivals, and the formats it grew from.
//!
//! In: a table of the paper and a [`Setup`]. Out: [`PaperTable`]. Every product is compared with the plain sum before its time
//! is printed; on the CPU the formats are multiplied from their own arrays by all cores, elsewhere by the kernels of
//! benches/cuda.

mod csr5;
mod merge;
mod rows;
#[cfg(test)]
mod tests;
mod timing;

use super::baseline::Baseline;
use super::published::PublishedTable;
use super::{MeasuredColumn, PaperError, PaperTable, Setup, not_redrawn};
use crate::synthetic::Synthetic;
use eigenforge::ci::{Reference, StateCounts};
use eigenforge::sparse::{Csr, RowStatistics, memory_table};
use eigenforge_runtime::{Device, say};
use rayon::prelude::*;
use timing::Timer;

/// Matrices of each size.
const MATRICES: u64 = 10;
/// Rows of the two sizes.
const SMALL: u32 = 32_768;
const LARGE: u32 = 1_048_576;
/// The boundary of the small matrices (Table 3), and ours for the large ones, of which the paper says nothing.
const BOUNDARY: [u32; 2] = [655, 30];
/// By how much the matrices are made smaller for a simulated device, if nothing is said.
const OF_SIMULATION: [u32; 2] = [64, 1_024];
/// Rows of a slice: a warp.
const SLICE: usize = 32;

/// Measures one table.
///
/// # Errors
/// A table that is not redrawn, a device that fails, a wrong product.
pub(super) fn measure(table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
    match table.number {
        1 => configuration_state_functions(table),
        2 => Err(not_redrawn(table, "it describes the authors' card; `eigenforge doctor` describes this machine's")),
        3 => Family::small(setup).non_zeros(table),
        4 => Family::small(setup).sparsity(table),
        5 => Family::small(setup).memory(table),
        6 => Family::small(setup).block_size(table, setup, 16),
        7 => Family::small(setup).block_size(table, setup, 32),
        8 => Family::small(setup).block_size(table, setup, 64),
        9 => Family::small(setup).programs(table, setup),
        10 => Family::large(setup).programs(table, setup),
        _ => Err(not_redrawn(table, "no code measures it")),
    }
}

fn configuration_state_functions(table: &PublishedTable) -> Result<PaperTable, PaperError> {
    let counts = StateCounts::configuration_state_functions(19, 10, 0, Reference::high_spin(10, 0), &[])?;
    // Level 0 is the reference alone.
    let cells = counts.cumulative().into_iter().skip(1).map(|count| Some(count as f64)).collect();
    Ok(PaperTable {
        published: table.clone(),
        measured: vec![MeasuredColumn::new("CSFs", "", 0, cells)],
        device: None,
        notes: vec!["up to each level, the reference counted".into()],
    })
}

/// The ten matrices of one size.
struct Family {
    matrices: Vec<Synthetic>,
    boundary: u32,
    note: String,
}

impl Family {
    /// Densities are those of the paper at every scale.
    fn small(setup: &Setup) -> Family {
        let scale = scale_of(setup, OF_SIMULATION[0]);
        let rows = (SMALL / scale).max(32);
        let smaller = |seed| {
            let full = Synthetic::of_paper(SMALL, seed)?;
            let share = (f64::from(rows) / f64::from(SMALL)).powi(2);
            let part = |number: u64| (number as f64 * share).round() as u64;
            let (reference, expansion) = (part(full.reference), part(full.expansion));
            Some(Synthetic { rows, reference_columns: rows / 10, reference, expansion, seed })
        };
        let boundary = (f64::from(BOUNDARY[0]) * f64::from(rows) / f64::from(SMALL)).round() as u32;
        let note = match scale {
            1 => format!("random matrices of the paper's densities, BOUNDARY = {boundary}"),
            _ => format!(
                "scale {scale}: {rows} rows and columns of the paper's densities instead of {SMALL}, BOUNDARY = \
                 {boundary} instead \
                 of {}",
                BOUNDARY[0]
            ),
        };
        Family { matrices: (1..=MATRICES).filter_map(smaller).collect(), boundary, note }
    }

    /// Rows have as many non-zeros at every scale.
    fn large(setup: &Setup) -> Family {
        let scale = scale_of(setup, OF_SIMULATION[1]);
        let rows = (LARGE / scale).max(1_024);
        let smaller = |seed| {
            let full = Synthetic::of_paper(LARGE, seed)?;
            let part = |number: u64| number / u64::from(LARGE) * u64::from(rows);
            let (reference, expansion) = (part(full.reference), part(full.expansion));
            Some(Synthetic { rows, reference_columns: rows / 10, reference, expansion, seed })
        };
        let note = match scale {
            1 => "random matrices".into(),
            _ => format!("scale {scale}: {rows} rows and columns instead of {LARGE}, as many non-zeros a row"),
        };
        Family { matrices: (1..=MATRICES).filter_map(smaller).collect(), boundary: BOUNDARY[1], note }
    }

    /// A line of numbers for each matrix, by column; the last row of a table with averages has them.
    fn columns(
        &self,
        table: &PublishedTable,
        names: &[(&str, &'static str, usize)],
        line: impl Fn(&Synthetic, &Csr) -> Result<Vec<Option<f64>>, PaperError>,
    ) -> Result<Vec<MeasuredColumn>, PaperError> {
        let mut cells: Vec<Vec<Option<f64>>> = vec![vec![]; names.len()];
        for (k, synthetic) in self.matrices.iter().enumerate() {
            let numbers = line(synthetic, &synthetic.matrix()?)?;
            say!("Table {}: matrix {} of {} done", table.number, k + 1, self.matrices.len());
            cells.iter_mut().zip(numbers).for_each(|(cells, number)| cells.push(number));
        }
        if table.rows().last().is_some_and(|row| row.0 == "Average") {
            cells.iter_mut().for_each(|cells| cells.push(average(cells)));
        }
        let columns = names.iter().zip(cells);
        Ok(columns.map(|((name, unit, digits), cells)| MeasuredColumn::new(*name, unit, *digits, cells)).collect())
    }

    fn non_zeros(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let names = [
            ("first tenth of the columns", "", 0),
            ("the others", "", 0),
            ("total", "", 0),
            ("longest row", "", 0),
            ("its number", "", 0),
            ("in ELLPACK", "", 0),
        ];
        let boundary = u64::from(self.boundary);
        let measured = self.columns(table, &names, |synthetic, matrix| {
            let reference = in_reference(synthetic, matrix);
            let lengths = || matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]);
            let longest = lengths().max().unwrap_or(0);
            let number = lengths().position(|length| length == longest).unwrap_or(0);
            let in_ellpack: u64 = lengths().map(|length| length.min(boundary)).sum();
            let total = matrix.non_zeros();
            let numbers = [reference, total - reference, total, longest, number as u64, in_ellpack];
            Ok(numbers.map(|number| Some(number as f64)).to_vec())
        })?;
        let ellpack = format!("in ELLPACK: the first {boundary} non-zeros of each row, the paper's reference region");
        self.table(table, measured, None, vec![ellpack])
    }

    fn sparsity(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let names = [("reference", "", 6), ("expansion", "", 6), ("total", "", 6)];
        let measured = self.columns(table, &names, |synthetic, matrix| {
            let (rows, columns) = (f64::from(synthetic.rows), f64::from(synthetic.reference_columns));
            let reference = in_reference(synthetic, matrix) as f64;
            let total = matrix.non_zeros() as f64;
            let zeros = |non_zeros: f64, columns: f64| Some(1.0 - non_zeros / (rows * columns));
            Ok(vec![zeros(reference, columns), zeros(total - reference, rows - columns), zeros(total, rows)])
        })?;
        let regions = "the paper divides by 3,276.8 columns, a tenth exactly; ours has whole columns";
        self.table(table, measured, None, vec![regions.into()])
    }

    fn memory(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let names = [
            ("CSR", "MiB", 2),
            ("ELLPACK", "MiB", 2),
            ("sliced ELLPACK, 32 rows", "MiB", 2),
            ("sliced ELLPACK, 4,096 rows", "MiB", 2),
            ("proposed model", "MiB", 2),
            ("merge-based CSR", "MiB", 2),
            ("CSR5", "MiB", 2),
        ];
        let measured = self.columns(table, &names, |_, matrix| {
            let bytes = memory_table(matrix, &RowStatistics::new(matrix), self.boundary);
            let of = |k: usize| bytes.get(k).map(|format| format.bytes);
            let sliced: u64 = {
                let lengths: Vec<u64> = matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]).collect();
                let slices = lengths.chunks(4_096).map(|rows| rows.len() as u64 * rows.iter().max().unwrap_or(&0));
                slices.sum()
            };
            // The paper's hybrid has three arrays of rows, ours two.
            let hybrid = of(3).map(|bytes| bytes + 4 * matrix.rows() as u64);
            let (merge, csr5) = (merge::merge(matrix).bytes(), csr5::csr5(matrix).bytes());
            let all = [of(0), of(1), of(2), Some(12 * sliced), hybrid, Some(merge), Some(csr5)];
            Ok(all.map(|bytes| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20))).to_vec())
        })?;
        let note = "counted by the paper's formulas; sliced ELLPACK at two heights, for the paper gives none; \
            merge-based CSR and CSR5 \
                    with their work space";
        self.table(table, measured, None, vec![note.into()])
    }

    /// Tables 6 to 8: five runs of Algorithm 7 on the first matrix.
    fn block_size(&self, table: &PublishedTable, setup: &Setup, threads: u32) -> Result<PaperTable, PaperError> {
        let matrix = self.matrices[0].matrix()?;
        let timer = Timer::new(&matrix, setup)?;
        let baseline = rows::hybrid(&matrix, self.boundary as usize, threads);
        let (mut low, mut high, mut mean) = (vec![], vec![], vec![]);
        let runs = table.rows().len() - 1;
        for _ in 0..runs {
            let times = timer.baseline(&baseline)?;
            low.push(times.iter().copied().reduce(f64::min));
            high.push(times.iter().copied().reduce(f64::max));
            mean.push(Some(times.iter().sum::<f64>() / times.len() as f64));
        }
        mean.push(average(&mean));
        let names = [("min", low), ("max", high), ("avg", mean)];
        let column = |(name, cells): (&str, Vec<Option<f64>>)| MeasuredColumn::new(name, "ms", 4, cells);
        let mut notes = vec![format!("matrix 1, {} samples a run", setup.repeats)];
        if !setup.device.runs_kernels() {
            notes.push("the CPU has no blocks: the format's arrays multiplied by all cores".into());
        }
        self.table(table, names.map(column).to_vec(), Some(&setup.device), notes)
    }

    /// Tables 9 and 10, and their figures.
    fn programs(&self, table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
        let boundary = self.boundary as usize;
        type Make<'a> = Box<dyn Fn(&Csr) -> Baseline + 'a>;
        let formats: Vec<(&str, Make<'_>)> = vec![
            ("CSR5", Box::new(csr5::csr5)),
            ("Algorithm 7, blocks of 32", Box::new(move |matrix| rows::hybrid(matrix, boundary, 32))),
            ("Algorithm 7, blocks of 16", Box::new(move |matrix| rows::hybrid(matrix, boundary, 16))),
            ("merge-based CSR", Box::new(merge::merge)),
            ("CSR, one warp per row", Box::new(|matrix| rows::csr(matrix, true))),
            ("CSR, one thread per row", Box::new(|matrix| rows::csr(matrix, false))),
            ("ELLPACK", Box::new(|matrix| rows::ellpack(matrix, false))),
            ("ELLPACK-R", Box::new(|matrix| rows::ellpack(matrix, true))),
            ("sliced ELLPACK", Box::new(|matrix| rows::sliced_ellpack(matrix, SLICE, false))),
            ("sliced ELLPACK-R", Box::new(|matrix| rows::sliced_ellpack(matrix, SLICE, true))),
        ];
        let mut names = vec![("eigenforge", "ms", 4), ("cuSPARSE CSR", "ms", 4), ("cuSPARSE sliced ELLPACK", "ms", 4)];
        names.extend(formats.iter().map(|(name, _)| (*name, "ms", 4)));
        let measured = self.columns(table, &names, |synthetic, matrix| {
            let timer = Timer::new(matrix, setup)?;
            let mut line = vec![Some(timer.eigenforge(&synthetic.to_string(), matrix)?)];
            line.extend(timer.vendor(matrix)?);
            for (_, make) in &formats {
                line.push(Some(timer.median_of(&make(matrix))?));
            }
            Ok(line)
        })?;
        let mut notes = vec!["each product compared with the plain sum before its time was taken".into()];
        if setup.device.is_cuda() {
            notes.push("cuSPARSE CSR: the quickest of its three algorithms, with and without preprocessing".into());
        } else {
            notes.push("cuSPARSE runs on a card only".into());
        }
        self.table(table, measured, Some(&setup.device), notes)
    }

    fn table(
        &self,
        table: &PublishedTable,
        measured: Vec<MeasuredColumn>,
        device: Option<&Device>,
        mut notes: Vec<String>,
    ) -> Result<PaperTable, PaperError> {
        notes.insert(0, self.note.clone());
        if let Some(Device::Sim(_)) = device {
            notes.push("the simulator checks the kernels; its milliseconds say nothing of a card".into());
        }
        let device = device.map(Device::name);
        Ok(PaperTable { published: table.clone(), measured, device, notes })
    }
}

fn scale_of(setup: &Setup, of_simulation: u32) -> u32 {
    setup.scale.unwrap_or(if matches!(setup.device, Device::Sim(_)) { of_simulation } else { 1 })
}

/// Non-zeros in the columns of the reference region.
fn in_reference(synthetic: &Synthetic, matrix: &Csr) -> u64 {
    matrix.columns().par_iter().filter(|column| **column < synthetic.reference_columns).count() as u64
}

fn average(cells: &[Option<f64>]) -> Option<f64> {
    let numbers: Vec<f64> = cells.iter().copied().collect::<Option<_>>()?;
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}
