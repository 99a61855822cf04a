//! Merge-based CSR (D. Merrill, M. Garland, Merge-based parallel sparse matrix-vector multiplication, SC 2016): three launches, the
//! search for each tile's first row, the sums, and the carries of rows that go on in the next tile.

use super::super::baseline::{Baseline, Step, THREADS, Table, integers, real, row_start};
use eigenforge::sparse::Csr;
use eigenforge_templates::launch::Access;
use rayon::prelude::*;

/// Steps of the merge that a thread takes; seven are the authors' choice for 8-byte values.
const ITEMS: usize = 7;

/// Merge-based CSR of a matrix.
pub fn merge(matrix: &Csr) -> Baseline {
    let (rows, non_zeros) = (matrix.rows(), matrix.columns().len());
    let tile = THREADS as usize * ITEMS;
    let tiles = (rows + non_zeros).div_ceil(tile);
    let constants = [
        ("ROWS", rows as u64),
        ("NON_ZEROS", non_zeros as u64),
        ("THREADS", u64::from(THREADS)),
        ("ITEMS", ITEMS as u64),
        ("TILES", tiles as u64),
    ];
    let threads = u64::from(THREADS);
    let step = |entry, blocks, parameters, writes| Step { entry, blocks, threads: THREADS, parameters, writes };
    Baseline {
        name: "merge-based CSR".into(),
        rows,
        tables: vec![
            ("row_start", Table::U32(row_start(matrix))),
            ("columns", Table::U32(matrix.columns().to_vec())),
            ("values", Table::F64(matrix.values().to_vec())),
            ("tile_row", Table::U32(vec![0; tiles + 1])),
            ("carry_row", Table::U32(vec![0; tiles])),
            ("carry_value", Table::F64(vec![0.0; tiles])),
        ],
        text: Baseline::text(
            "merge",
            include_str!("../../../cuda/merge.cu"),
            &constants,
            &["merge_search", "merge_multiply", "merge_carry"],
        ),
        steps: vec![
            step(
                "merge_search",
                (tiles as u64 + 1).div_ceil(threads),
                &["row_start", "tile_row"],
                &[("tile_row", Access::Out)],
            ),
            step(
                "merge_multiply",
                tiles as u64,
                &["row_start", "columns", "values", "tile_row", "x", "y", "carry_row", "carry_value"],
                &[("y", Access::Out), ("carry_row", Access::Out), ("carry_value", Access::Out)],
            ),
            step(
                "merge_carry",
                (tiles as u64).div_ceil(threads),
                &["carry_row", "carry_value", "y"],
                &[("y", Access::InOut)],
            ),
        ],
        on_host: Box::new(move |tables, x, y| {
            let (start, columns, values) =
                (integers(tables, "row_start"), integers(tables, "columns"), real(tables, "values"));
            // A stretch of the merge per core: complete rows and the carry of the last.
            let stretch = (rows + non_zeros).div_ceil(rayon::current_num_threads()).max(1);
            let pieces = (0..(rows + non_zeros).div_ceil(stretch)).into_par_iter().map(|piece| {
                let (from, to) = (piece * stretch, ((piece + 1) * stretch).min(rows + non_zeros));
                let mut row = ends_before(from, &start[1..], non_zeros);
                let mut next = from - row;
                let (mut found, mut sum) = (vec![], 0.0);
                for _ in from..to {
                    if row < rows && next >= start[row + 1] as usize {
                        found.push((row, sum));
                        (sum, row) = (0.0, row + 1);
                    } else {
                        sum += values[next] * x[columns[next] as usize];
                        next += 1;
                    }
                }
                (found, (row, sum))
            });
            let pieces: Vec<_> = pieces.collect();
            y.fill(0.0);
            for (found, (row, carry)) in pieces {
                found.into_iter().for_each(|(row, sum)| y[row] += sum);
                if row < rows {
                    y[row] += carry;
                }
            }
        }),
    }
}

/// Row ends among the first `diagonal` steps of the merge.
fn ends_before(diagonal: usize, ends: &[u32], non_zeros: usize) -> usize {
    let (mut low, mut high) = (diagonal.saturating_sub(non_zeros), diagonal.min(ends.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        if ends[middle] as usize + middle < diagonal { low = middle + 1 } else { high = middle }
    }
    low
}
