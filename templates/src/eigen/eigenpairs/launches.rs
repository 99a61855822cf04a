//! The launches for the eigenvectors of many matrices, and the tasks of their blocks.
//!
//! In: the rows of each matrix, the card. Out: a table (matrices, merges, tiles, vectors) and the launches that read
//! their tasks from it: columns of long matrices, the rest of all, each level of merges with its products, reflections.

use super::{
    CardLimits, EigenpairsLaunches, EigenpairsPlan, FIXED_BYTES, MERGE_WORDS, Sizes, Step, SymmetricRows,
    resident_bytes,
};
use crate::launch::LaunchError;

/// Bytes of shared memory of a merge, per row.
const MERGE_BYTES: usize = 7 * 8 + 7 * 4;
/// Rows of a merge above which more threads are faster.
const LONG_MERGE: usize = 64;
/// Rows of merges for which a few threads suffice, and their number.
const FEW_ROWS: usize = 8;
const FEW_THREADS: u32 = 64;

/// Two neighbouring parts of a matrix.
#[derive(Clone, Copy)]
struct Merge {
    matrix: usize,
    begin: usize,
    halves: [usize; 2],
}

impl EigenpairsPlan {
    /// Whether a matrix of this many rows fits the launches: within the limit of the text, and within a block's shared
    /// memory for its last merge and the reflections that are loaded together.
    pub fn takes(&self, rows: usize, card: CardLimits) -> bool {
        let bytes = (MERGE_BYTES * rows).max(self.fetched_bytes(rows));
        rows <= self.most && bytes + 2 * FIXED_BYTES <= card.shared_bytes
    }

    /// Bytes of reflections loaded together: as many elements as the lanes of a warp can hold.
    fn fetched_bytes(&self, rows: usize) -> usize {
        8 * self.batch * rows.next_power_of_two().max(64)
    }

    /// The launches for these matrices inside `matrices` elements, their eigenvalues inside `values`.
    ///
    /// # Errors
    /// A grid that exceeds CUDA's limits.
    pub fn launches(
        &self,
        list: &[SymmetricRows],
        card: CardLimits,
        matrices: usize,
        values: usize,
    ) -> Result<EigenpairsLaunches, LaunchError> {
        let mut list: Vec<SymmetricRows> = list.iter().copied().filter(|matrix| matrix.rows > 0).collect();
        // The longest first: it determines when the launch ends.
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
        // Two per warp.
        let together = 2 * (self.threads / self.warp.lanes()) as usize;
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
        let longest = list.first().map_or(0, |matrix| matrix.rows);
        let numbers = vec![("first", vectors_first as i64)];
        steps.push(self.step("transformed", vectors, self.fetched_bytes(longest), sizes, numbers)?);
        steps.retain(|step| step.launch.grid[0] > 0);
        Ok(EigenpairsLaunches { table, work, steps })
    }

    fn step(
        &self,
        entry: &str,
        blocks: usize,
        shared: usize,
        sizes: Sizes,
        numbers: Vec<(&'static str, i64)>,
    ) -> Result<Step, LaunchError> {
        let launch = self.kernel(entry, sizes).launch(blocks as u64, self.threads, shared as u64)?;
        Ok(Step { launch, numbers })
    }

    /// Columns down to the resident rows, then one launch for the rest.
    fn tridiagonal_steps(
        &self,
        list: &[SymmetricRows],
        card: CardLimits,
        sizes: Sizes,
    ) -> Result<Vec<Step>, LaunchError> {
        let CardLimits { resident, shared_bytes, multiprocessors } = card;
        let longest = list.first().map_or(0, |matrix| matrix.rows);
        let many = list.iter().filter(|matrix| matrix.rows > resident).count();
        // One warp per column, as long as all blocks are resident: a multiprocessor has at least the shared memory
        // available to one block.
        let shared = 3 * 8 * longest;
        let held = (self.blocks as usize).min(shared_bytes / (shared + 2 * FIXED_BYTES)).max(1);
        let room = multiprocessors * held;
        let parts = longest.div_ceil((self.threads / self.warp.lanes()) as usize).min(room / many.max(1)).max(1);
        let resident_number = ("resident", resident as i64);
        let numbers = vec![resident_number, ("parts", parts as i64)];
        let mut columns = self.step("reduced", many * parts, shared, sizes, numbers)?;
        columns.launch.together = parts > 1;
        let mut steps = vec![columns];
        let rows = longest.min(resident);
        let mut last = self.step("tridiagonal", list.len(), resident_bytes(rows), sizes, vec![resident_number])?;
        // Eight lanes for two columns.
        last.launch.block = (4 * rows as u32).next_multiple_of(self.warp.lanes()).clamp(64, self.wide);
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

    /// Tiles of the products of a merge; none if the merge computes them itself.
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

/// The merges of all matrices by depth: the last of each first, halving repeatedly.
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
    use super::super::resident_rows;
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
    fn what_has_no_room_in_shared_memory_is_not_taken() {
        let card = |kibibytes: usize| CardLimits { resident: 160, shared_bytes: kibibytes << 10, multiprocessors: 132 };
        let (few, long) = (EigenpairsPlan::new("test"), EigenpairsPlan::long("test"));
        assert!(few.takes(1024, card(227)) && !few.takes(1025, card(227)));
        assert!(long.takes(1716, card(227)) && long.takes(2048, card(227)) && !long.takes(2049, card(227)));
        // 84 bytes per row: 163 KiB have room for 1,962.
        assert!(long.takes(1962, card(163)) && !long.takes(1963, card(163)));
        assert!(few.takes(1024, card(99)) && !long.takes(1300, card(99)));
    }

    #[test]
    fn many_blocks_take_columns_until_the_rest_fits_one() {
        let (plan, resident) = (EigenpairsPlan::new("test"), resident_rows(227 << 10));
        assert_eq!(resident, 160);
        let list = [170, 30].map(|rows| SymmetricRows { first: 0, rows, values: 0 });
        let card = CardLimits { resident, shared_bytes: 227 << 10, multiprocessors: 132 };
        let found = plan.launches(&list, card, 170 * 170 + 30 * 30, 200).unwrap();
        let count = |entry: &str| found.steps.iter().filter(|step| step.launch.entry == entry).count();
        assert_eq!((count("reduced"), count("tridiagonal"), count("merged")), (1, 1, 8));
        // One warp per column; one block if blocks cannot wait for each other.
        let blocks = |card| plan.launches(&list, card, 170 * 170 + 30 * 30, 200).unwrap().steps[0].launch.grid[0];
        assert_eq!((blocks(card), blocks(CardLimits { multiprocessors: 0, ..card })), (22, 1));
        // Merges of 22, 43, 85 and 170 rows launch no products.
        assert_eq!((count("updated"), count("transformed")), (4, 1));
    }
}
