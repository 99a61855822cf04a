//! The formats of whole rows: CSR with one thread or one warp per row, ELLPACK, ELLPACK-R, sliced ELLPACK and sliced ELLPACK-R, and the
//! published hybrid with its Algorithm 7 (Mahmoud, Hoffmann, Reza 2018, sections 3 and 4).

use super::super::baseline::{Baseline, NONE, Step, THREADS, Table, integers, real, row_length, row_start};
use eigenforge::sparse::Csr;
use eigenforge_templates::launch::Access;
use rayon::prelude::*;

const Y: &[(&str, Access)] = &[("y", Access::Out)];

fn blocks(rows: usize, lanes: u64, threads: u32) -> u64 {
    (rows as u64 * lanes).div_ceil(u64::from(threads))
}

/// CSR, one thread or one warp per row.
pub fn csr(matrix: &Csr, warp_a_row: bool) -> Baseline {
    let constants = [("ROWS", matrix.rows() as u64), ("THREADS", u64::from(THREADS))];
    let (name, entry, source, lanes) = match warp_a_row {
        false => ("CSR, one thread per row", "csr_scalar", include_str!("../../../cuda/csr_scalar.cu"), 1),
        true => ("CSR, one warp per row", "csr_vector", include_str!("../../../cuda/csr_vector.cu"), 32),
    };
    Baseline {
        name: name.into(),
        rows: matrix.rows(),
        tables: vec![
            ("row_start", Table::U32(row_start(matrix))),
            ("columns", Table::U32(matrix.columns().to_vec())),
            ("values", Table::F64(matrix.values().to_vec())),
        ],
        text: Baseline::text(entry, source, &constants, &[entry]),
        steps: vec![Step {
            entry,
            blocks: blocks(matrix.rows(), lanes, THREADS),
            threads: THREADS,
            parameters: &["row_start", "columns", "values", "x", "y"],
            writes: Y,
        }],
        on_host: Box::new(|tables, x, y| {
            let (start, columns, values) =
                (integers(tables, "row_start"), integers(tables, "columns"), real(tables, "values"));
            y.par_iter_mut().enumerate().for_each(|(row, y)| {
                let elements = start[row] as usize..start[row + 1] as usize;
                *y = elements.map(|k| values[k] * x[columns[k] as usize]).sum();
            });
        }),
    }
}

/// ELLPACK, with the rows' lengths (ELLPACK-R) or with [`NONE`] after the last element of a row.
pub fn ellpack(matrix: &Csr, lengths: bool) -> Baseline {
    let rows = matrix.rows();
    let (length, pitch) = (row_length(matrix), rows.next_multiple_of(32));
    let width = length.iter().max().copied().unwrap_or(0) as usize;
    let (mut columns, mut values) = (vec![NONE; pitch * width], vec![0.0; pitch * width]);
    for row in 0..rows {
        for (k, (column, value)) in matrix.row(row).0.iter().zip(matrix.row(row).1).enumerate() {
            columns[k * pitch + row] = *column;
            values[k * pitch + row] = *value;
        }
    }
    let mut constants = vec![("ROWS", rows as u64), ("THREADS", u64::from(THREADS)), ("PITCH", pitch as u64)];
    let mut tables = vec![("columns", Table::U32(columns)), ("values", Table::F64(values))];
    let (entry, source): (&'static str, _) = if lengths {
        tables.push(("row_length", Table::U32(length)));
        ("ellpack_r", include_str!("../../../cuda/ellpack_r.cu"))
    } else {
        constants.extend([("WIDTH", width as u64), ("NONE", u64::from(NONE))]);
        ("ellpack", include_str!("../../../cuda/ellpack.cu"))
    };
    Baseline {
        name: if lengths { "ELLPACK-R" } else { "ELLPACK" }.into(),
        rows,
        tables,
        text: Baseline::text(entry, source, &constants, &[entry]),
        steps: vec![Step {
            entry,
            blocks: blocks(rows, 1, THREADS),
            threads: THREADS,
            parameters: match lengths {
                true => &["columns", "values", "row_length", "x", "y"],
                false => &["columns", "values", "x", "y"],
            },
            writes: Y,
        }],
        on_host: Box::new(move |tables, x, y| {
            let (columns, values, length) =
                (integers(tables, "columns"), real(tables, "values"), integers(tables, "row_length"));
            y.par_iter_mut().enumerate().for_each(|(row, y)| {
                let end = length.get(row).map_or(width, |length| *length as usize);
                *y = row_of(columns, values, (0..end).map(|k| k * pitch + row), x);
            });
        }),
    }
}

/// Sliced ELLPACK of `slice` rows, with the rows' lengths (sliced ELLPACK-R) or without.
pub fn sliced_ellpack(matrix: &Csr, slice: usize, lengths: bool) -> Baseline {
    let rows = matrix.rows();
    let length = row_length(matrix);
    let mut start = vec![0u32];
    for of_slice in length.chunks(slice) {
        start.push(start[start.len() - 1] + of_slice.iter().max().copied().unwrap_or(0) * slice as u32);
    }
    let stored = start[start.len() - 1] as usize;
    let (mut columns, mut values) = (vec![NONE; stored], vec![0.0; stored]);
    for row in 0..rows {
        let first = start[row / slice] as usize + row % slice;
        for (k, (column, value)) in matrix.row(row).0.iter().zip(matrix.row(row).1).enumerate() {
            columns[first + k * slice] = *column;
            values[first + k * slice] = *value;
        }
    }
    let mut constants = vec![("ROWS", rows as u64), ("THREADS", u64::from(THREADS)), ("SLICE", slice as u64)];
    let mut tables =
        vec![("slice_start", Table::U32(start)), ("columns", Table::U32(columns)), ("values", Table::F64(values))];
    let (entry, source): (&'static str, _) = if lengths {
        tables.push(("row_length", Table::U32(length)));
        ("sliced_ellpack_r", include_str!("../../../cuda/sliced_ellpack_r.cu"))
    } else {
        constants.push(("NONE", u64::from(NONE)));
        ("sliced_ellpack", include_str!("../../../cuda/sliced_ellpack.cu"))
    };
    Baseline {
        name: format!("sliced ELLPACK{}, {slice} rows", if lengths { "-R" } else { "" }),
        rows,
        tables,
        text: Baseline::text(entry, source, &constants, &[entry]),
        steps: vec![Step {
            entry,
            blocks: blocks(rows, 1, THREADS),
            threads: THREADS,
            parameters: match lengths {
                true => &["slice_start", "columns", "values", "row_length", "x", "y"],
                false => &["slice_start", "columns", "values", "x", "y"],
            },
            writes: Y,
        }],
        on_host: Box::new(move |tables, x, y| {
            let (start, columns, values) =
                (integers(tables, "slice_start"), integers(tables, "columns"), real(tables, "values"));
            let length = integers(tables, "row_length");
            y.par_iter_mut().enumerate().for_each(|(row, y)| {
                let (first, end) = (start[row / slice] as usize, start[row / slice + 1] as usize);
                let end = length.get(row).map_or((end - first) / slice, |length| *length as usize);
                *y = row_of(columns, values, (0..end).map(|k| first + row % slice + k * slice), x);
            });
        }),
    }
}

/// Sum over a row whose elements stand at `places`, up to the first that is padding.
fn row_of(columns: &[u32], values: &[f64], places: impl Iterator<Item = usize>, x: &[f64]) -> f64 {
    let elements = places.take_while(|at| columns[*at] != NONE);
    elements.map(|at| values[at] * x[columns[at] as usize]).sum()
}

/// The published hybrid: the first `boundary` non-zeros of each row as ELLPACK, the others as CSR, multiplied by Algorithm 7 with
/// blocks of `threads` threads: 16, or a multiple of 32.
pub fn hybrid(matrix: &Csr, boundary: usize, threads: u32) -> Baseline {
    let rows = matrix.rows();
    let lanes = threads.min(32);
    let (mut entries, mut entry_columns) = (vec![0.0; rows * boundary], vec![0u32; rows * boundary]);
    let (mut tail, mut tail_columns, mut start, mut end) = (vec![], vec![], vec![], vec![]);
    for row in 0..rows {
        let (columns, values) = matrix.row(row);
        let cut = columns.len().min(boundary);
        entries[row * boundary..][..cut].copy_from_slice(&values[..cut]);
        entry_columns[row * boundary..][..cut].copy_from_slice(&columns[..cut]);
        start.push(tail.len() as u32);
        tail.extend_from_slice(&values[cut..]);
        tail_columns.extend_from_slice(&columns[cut..]);
        end.push(tail.len() as u32);
    }
    let constants = [
        ("ROWS", rows as u64),
        ("THREADS", u64::from(threads)),
        ("LANES", u64::from(lanes)),
        ("BOUNDARY", boundary as u64),
    ];
    Baseline {
        name: format!("Algorithm 7, blocks of {threads}"),
        rows,
        tables: vec![
            ("NonZerosEntries", Table::F64(entries)),
            ("ELLPACK_Column", Table::U32(entry_columns)),
            ("Value", Table::F64(tail)),
            ("CSR_Column", Table::U32(tail_columns)),
            ("StartArr", Table::U32(start)),
            ("EndArr", Table::U32(end)),
            ("AllNonZerosCount", Table::U32(row_length(matrix))),
        ],
        text: Baseline::text("algorithm_7", include_str!("../../../cuda/algorithm_7.cu"), &constants, &["algorithm_7"]),
        steps: vec![Step {
            entry: "algorithm_7",
            blocks: blocks(rows, u64::from(lanes), threads),
            threads,
            parameters: &[
                "NonZerosEntries",
                "ELLPACK_Column",
                "Value",
                "CSR_Column",
                "StartArr",
                "EndArr",
                "AllNonZerosCount",
                "x",
                "y",
            ],
            writes: Y,
        }],
        on_host: Box::new(move |tables, x, y| {
            let (entries, entry_columns) = (real(tables, "NonZerosEntries"), integers(tables, "ELLPACK_Column"));
            let (tail, tail_columns) = (real(tables, "Value"), integers(tables, "CSR_Column"));
            let (start, end) = (integers(tables, "StartArr"), integers(tables, "EndArr"));
            y.par_iter_mut().enumerate().for_each(|(row, y)| {
                let term = |values: &[f64], columns: &[u32], k: usize| values[k] * x[columns[k] as usize];
                let first =
                    (row * boundary..(row + 1) * boundary).map(|k| term(entries, entry_columns, k)).sum::<f64>();
                let rest = (start[row] as usize..end[row] as usize).map(|k| term(tail, tail_columns, k)).sum::<f64>();
                *y = first + rest;
            });
        }),
    }
}
