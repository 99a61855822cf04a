//! The plan of the eigenvectors of many symmetric matrices at once: text, tasks and launches.
//!
//! In: the rows of each matrix. Out: the launches in their order with the table that they share: matrices of a few rows and
//! of a thousand go through the same launches, of which only those for columns
//! before the last [`resident_rows`] are for the long ones alone.

use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::text::{KernelText, PRELUDE, TextError, render};
use serde::{Deserialize, Serialize};

/// Words of a matrix, as the text declares them.
const MATRIX_WORDS: usize = 4;
/// Words of a merge: matrix, first row, rows of both halves, which Q is written.
const MERGE_WORDS: usize = 5;
/// Vectors of so many elements in a matrix's work beside four of its own size.
const WORK_VECTORS: usize = 15;
/// Bytes of shared memory that a merge takes a row.
const MERGE_BYTES: usize = 7 * 8 + 7 * 4;
/// Rows of merges for which a few threads are enough, and these.
const FEW_ROWS: usize = 8;
const FEW_THREADS: u32 = 64;
/// Rows of a merge from which on more threads are quicker.
const LONG_MERGE: usize = 64;
/// Bytes of shared memory that a kernel may declare itself, and as many that the driver takes a block.
const FIXED_BYTES: usize = 1024;
/// Rows that a block keeps at most: eight lanes for two columns, in blocks of 640 threads.
const RESIDENT_MOST: usize = 160;

/// Every number that the text is written for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EigenpairsPlan {
    /// Name of the file, for people.
    pub name: String,
    /// Rows of a matrix, at most; a multiple of 32.
    pub most: usize,
    /// Rows of a merge that multiplies by its vectors itself.
    pub direct: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of them that a multiprocessor holds at least.
    pub blocks: u32,
    /// Threads of a block that has a long merge.
    pub merge_threads: u32,
    /// Rows of a matrix that a block keeps, at most; a multiple of 32.
    pub resident_most: usize,
    /// Threads of a block that has a whole matrix.
    pub wide: u32,
    /// Reflections that a block fetches at a time.
    pub batch: usize,
    /// Rows of a tile of products.
    pub tile_rows: usize,
    /// Columns of a tile: four a warp.
    pub tile_columns: usize,
}

/// A matrix of `rows` × `rows`, column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymmetricRows {
    /// Its first element.
    pub first: usize,
    /// Rows.
    pub rows: usize,
    /// Where its first eigenvalue goes.
    pub values: usize,
}

/// A launch with the numbers that are passed by value.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The launch.
    pub launch: Launch,
    /// Numbers by name.
    pub numbers: Vec<(&'static str, i64)>,
}

/// Launches in their order, with what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigenpairs {
    /// Matrices, then tasks.
    pub table: Vec<u64>,
    /// Elements of work.
    pub work: usize,
    /// Launches.
    pub steps: Vec<Step>,
}

/// Two neighbouring parts of a matrix.
#[derive(Clone, Copy)]
struct Merge {
    matrix: usize,
    begin: usize,
    halves: [usize; 2],
}

#[derive(Serialize)]
struct Parameters {
    reduced: Vec<String>,
    tridiagonal: Vec<String>,
    merged: Vec<String>,
    updated: Vec<String>,
    transformed: Vec<String>,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a EigenpairsPlan,
    prelude: &'a str,
    words: usize,
    merge_words: usize,
    parameters: Parameters,
}

/// Rows of a matrix that one block keeps in so many bytes of shared memory: 160 in the 227 KiB of sm_90.
pub fn resident_rows(shared_bytes: usize) -> usize {
    let fits = |rows: &usize| resident_bytes(*rows) + FIXED_BYTES <= shared_bytes;
    (1..=RESIDENT_MOST / 8).map(|k| 8 * k).rev().find(fits).unwrap_or(8)
}

/// Bytes of shared memory for so many rows: the matrix with columns 8 modulo 16 numbers apart, and five vectors.
fn resident_bytes(rows: usize) -> usize {
    8 * rows * ((rows + 7) / 16 * 16 + 8 + 5)
}

/// What launches are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Rows of a matrix that a block keeps ([`resident_rows`]).
    pub resident: usize,
    /// Bytes of shared memory that a block may have.
    pub shared_bytes: usize,
    /// Multiprocessors; 0 where blocks cannot wait for each other.
    pub multiprocessors: usize,
}

/// Elements that a launch may touch.
#[derive(Clone, Copy)]
struct Sizes {
    matrices: usize,
    table: usize,
    work: usize,
    values: usize,
    list: usize,
}

impl EigenpairsPlan {
    /// The names of the kernels.
    pub const ENTRIES: [&str; 5] = ["reduced", "tridiagonal", "merged", "updated", "transformed"];

    /// The plan of DMRG's density matrices.
    pub fn new(name: impl Into<String>) -> EigenpairsPlan {
        EigenpairsPlan {
            name: name.into(),
            most: 1024,
            direct: 16,
            threads: 256,
            blocks: 4,
            merge_threads: 512,
            resident_most: RESIDENT_MOST,
            wide: 640,
            batch: 8,
            tile_rows: 64,
            tile_columns: 32,
        }
    }

    /// Elements of the work of a matrix.
    pub fn work(rows: usize) -> usize {
        4 * rows * rows + WORK_VECTORS * rows
    }

    fn parameters(entry: &str, sizes: Sizes) -> Vec<Parameter> {
        let memory = |name, len: usize| Parameter::memory(name, Element::F64, Access::InOut, len as u64);
        let (matrices, work) = (memory("matrices", sizes.matrices), memory("work", sizes.work));
        let table = Parameter::table("table", Element::U64, sizes.table as u64);
        let number = |name| Parameter::number(name, Number::I64);
        let arrived = Parameter::memory("arrived", Element::U32, Access::InOut, sizes.list as u64);
        match entry {
            "reduced" => {
                let numbers = ["resident", "parts"].map(number);
                [matrices, table, work, arrived].into_iter().chain(numbers).collect()
            }
            "tridiagonal" => vec![matrices, table, work, arrived, number("resident")],
            "merged" => vec![table, work, number("first")],
            "updated" => vec![table, work, number("merges"), number("first")],
            _ => vec![matrices, table, work, memory("values", sizes.values), number("first")],
        }
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// A fault of the template.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let sizes = Sizes { matrices: 1, table: 1, work: 1, values: 1, list: 1 };
        let of = |entry| -> Vec<String> {
            EigenpairsPlan::parameters(entry, sizes).iter().map(|p| format!("{} {}", p.cuda(), p.name)).collect()
        };
        let parameters = Parameters {
            reduced: of("reduced"),
            tridiagonal: of("tridiagonal"),
            merged: of("merged"),
            updated: of("updated"),
            transformed: of("transformed"),
        };
        let view = View { plan: self, prelude: PRELUDE, words: MATRIX_WORDS, merge_words: MERGE_WORDS, parameters };
        let text = render("eigenpairs.cu.jinja", include_str!("../../cuda/eigenpairs.cu.jinja"), &view)?;
        let entries = EigenpairsPlan::ENTRIES.map(String::from).to_vec();
        Ok(KernelText { name: format!("{}_eigenpairs", self.name), text, plan: crate::text::ron(self), entries })
    }

    /// The launches for these matrices inside `matrices` elements, their eigenvalues inside `values`.
    ///
    /// # Errors
    /// A grid that CUDA does not have.
    pub fn launches(
        &self,
        list: &[SymmetricRows],
        card: Card,
        matrices: usize,
        values: usize,
    ) -> Result<Eigenpairs, LaunchError> {
        let mut list: Vec<SymmetricRows> = list.iter().copied().filter(|matrix| matrix.rows > 0).collect();
        // The longest first: it decides when the launch is over.
        list.sort_by_key(|matrix| std::cmp::Reverse(matrix.rows));
        let mut table = Vec::new();
        let mut work = 0;
        for SymmetricRows { first, rows, values } in &list {
            table.extend([*first, *rows, work, *values].map(|number| number as u64));
            work += EigenpairsPlan::work(*rows);
        }
        let levels = levels(&list);
        let merges_first = table.len();
        for (depth, merges) in levels.iter().enumerate() {
            for Merge { matrix, begin, halves: [upper, lower] } in merges {
                table.extend([*matrix, *begin, *upper, *lower, depth % 2].map(|number| number as u64));
            }
        }
        let mut tiles_of = Vec::new();
        let mut before = 0;
        for merges in &levels {
            let first = table.len();
            for (k, merge) in merges.iter().enumerate() {
                let tiles = self.tiles(merge) as u64;
                table.extend((0..tiles).flat_map(|tile| [(before + k) as u64, tile]));
            }
            tiles_of.push((first, (table.len() - first) / 2));
            before += merges.len();
        }
        let vectors_first = table.len();
        // Two a warp.
        let together = self.threads as usize / 16;
        for (k, matrix) in list.iter().enumerate() {
            table.extend((0..matrix.rows).step_by(together).flat_map(|first| [k as u64, first as u64]));
        }
        let vectors = (table.len() - vectors_first) / 2;
        let sizes = Sizes { matrices, table: table.len(), work, values, list: list.len() };
        let mut steps = self.tridiagonal_steps(&list, card, sizes)?;
        let mut first = merges_first + MERGE_WORDS * levels.iter().map(Vec::len).sum::<usize>();
        for (merges, (tiles_first, tiles)) in levels.iter().zip(tiles_of).rev() {
            first -= MERGE_WORDS * merges.len();
            steps.push(self.merged_step(merges, first, sizes)?);
            let numbers = vec![("merges", merges_first as i64), ("first", tiles_first as i64)];
            steps.push(self.step("updated", tiles, 0, sizes, numbers)?);
        }
        // Reflections are fetched with as many elements as the lanes of a warp have room for.
        let longest = list.first().map_or(0, |matrix| matrix.rows).next_power_of_two().max(64);
        let numbers = vec![("first", vectors_first as i64)];
        steps.push(self.step("transformed", vectors, 8 * self.batch * longest, sizes, numbers)?);
        steps.retain(|step| step.launch.grid[0] > 0);
        Ok(Eigenpairs { table, work, steps })
    }

    fn step(
        &self,
        entry: &str,
        blocks: usize,
        shared: usize,
        sizes: Sizes,
        numbers: Vec<(&'static str, i64)>,
    ) -> Result<Step, LaunchError> {
        let parameters = EigenpairsPlan::parameters(entry, sizes);
        Ok(Step { launch: Launch::new(entry, blocks as u64, self.threads, shared as u64, parameters)?, numbers })
    }

    /// Columns down to the resident rows, then one launch for the rest.
    fn tridiagonal_steps(&self, list: &[SymmetricRows], card: Card, sizes: Sizes) -> Result<Vec<Step>, LaunchError> {
        let Card { resident, shared_bytes, multiprocessors } = card;
        let longest = list.first().map_or(0, |matrix| matrix.rows);
        let many = list.iter().filter(|matrix| matrix.rows > resident).count();
        // A warp a column, as long as all blocks are there at the same time: a multiprocessor has at least the shared memory
        // that one block may have.
        let shared = 3 * 8 * longest;
        let held = (self.blocks as usize).min(shared_bytes / (shared + 2 * FIXED_BYTES)).max(1);
        let room = multiprocessors * held;
        let parts = longest.div_ceil(self.threads as usize / 32).min(room / many.max(1)).max(1);
        let resident_number = ("resident", resident as i64);
        let numbers = vec![resident_number, ("parts", parts as i64)];
        let mut columns = self.step("reduced", many * parts, shared, sizes, numbers)?;
        columns.launch.together = parts > 1;
        let mut steps = vec![columns];
        let rows = longest.min(resident);
        let mut last = self.step("tridiagonal", list.len(), resident_bytes(rows), sizes, vec![resident_number])?;
        // Eight lanes for two columns.
        last.launch.block = (4 * rows as u32).next_multiple_of(32).clamp(64, self.wide);
        steps.push(last);
        Ok(steps)
    }

    fn merged_step(&self, merges: &[Merge], first: usize, sizes: Sizes) -> Result<Step, LaunchError> {
        let longest = merges.iter().map(Merge::rows).max().unwrap_or(0);
        let mut step =
            self.step("merged", merges.len(), MERGE_BYTES * longest, sizes, vec![("first", first as i64)])?;
        if longest <= FEW_ROWS {
            step.launch.block = FEW_THREADS;
        } else if longest > LONG_MERGE {
            step.launch.block = self.merge_threads;
        }
        Ok(step)
    }

    /// Tiles of the products of a merge; none where it makes them itself.
    fn tiles(&self, merge: &Merge) -> usize {
        if merge.rows() <= self.direct {
            return 0;
        }
        let rows: usize = merge.halves.iter().map(|rows| rows.div_ceil(self.tile_rows)).sum();
        rows * merge.rows().div_ceil(self.tile_columns)
    }
}

impl Merge {
    fn rows(&self) -> usize {
        self.halves.iter().sum()
    }
}

/// The merges of all matrices by depth: the last of each first, as it is halved and halved again.
fn levels(list: &[SymmetricRows]) -> Vec<Vec<Merge>> {
    let mut levels: Vec<Vec<Merge>> = Vec::new();
    let mut parts: Vec<(usize, usize, usize)> =
        list.iter().enumerate().map(|(k, matrix)| (k, 0, matrix.rows)).collect();
    loop {
        parts.retain(|(_, _, rows)| *rows > 1);
        if parts.is_empty() {
            return levels;
        }
        let halved = |(matrix, begin, rows): &(usize, usize, usize)| {
            let upper = rows / 2;
            Merge { matrix: *matrix, begin: *begin, halves: [upper, rows - upper] }
        };
        let merges: Vec<Merge> = parts.iter().map(halved).collect();
        let of = |Merge { matrix, begin, halves: [upper, lower] }: &Merge| {
            [(*matrix, *begin, *upper), (*matrix, begin + upper, *lower)]
        };
        parts = merges.iter().flat_map(of).collect();
        levels.push(merges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_merged_with_its_neighbour_once() {
        let list = [1usize, 2, 7, 100].map(|rows| SymmetricRows { first: 0, rows, values: 0 });
        let levels = levels(&list);
        assert_eq!(levels.len(), 7, "100 rows are halved seven times");
        for (k, matrix) in list.iter().enumerate() {
            let mut between: Vec<usize> = levels
                .iter()
                .flatten()
                .filter(|merge| merge.matrix == k)
                .map(|merge| merge.begin + merge.halves[0])
                .collect();
            between.sort_unstable();
            assert_eq!(between, (1..matrix.rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn many_blocks_take_columns_until_the_rest_fits_one() {
        let (plan, resident) = (EigenpairsPlan::new("test"), resident_rows(227 << 10));
        assert_eq!(resident, 160);
        let list = [170, 30].map(|rows| SymmetricRows { first: 0, rows, values: 0 });
        let card = Card { resident, shared_bytes: 227 << 10, multiprocessors: 132 };
        let found = plan.launches(&list, card, 170 * 170 + 30 * 30, 200).unwrap();
        let count = |entry: &str| found.steps.iter().filter(|step| step.launch.entry == entry).count();
        assert_eq!((count("reduced"), count("tridiagonal"), count("merged")), (1, 1, 8));
        // A warp a column; where blocks cannot wait for each other, one block.
        let blocks = |card| plan.launches(&list, card, 170 * 170 + 30 * 30, 200).unwrap().steps[0].launch.grid[0];
        assert_eq!((blocks(card), blocks(Card { multiprocessors: 0, ..card })), (22, 1));
        // Merges of 22, 43, 85 and 170 rows make no products of their own.
        assert_eq!((count("updated"), count("transformed")), (4, 1));
    }
}
