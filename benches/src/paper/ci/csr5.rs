//! CSR5 (W. Liu, B. Vinter, CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication, ICS 2015), the
//! paper's rival. Tiles of 32 lanes times σ non-zeros; σ by the authors' rule for NVIDIA's cards.
//!
//! Two things differ from the authors' program. A row that begins with a tile is stored at once, so y need not be zero before; and
//! rows without non-zeros are cleared by a launch, where there are any.

use super::super::baseline::{Baseline, Step, THREADS, Table, integers, real, row_start};
use eigenforge::sparse::Csr;
use eigenforge_templates::launch::Access;
use rayon::prelude::*;

/// Lanes of a tile.
const OMEGA: usize = 32;
/// Bits of `tile_row`: the first non-zero begins its row; empty rows lie between the tile's.
const STARTS: u32 = 0x4000_0000;
const HOLES: u32 = 0x8000_0000;
const ROW: u32 = 0x3fff_ffff;

/// Non-zeros of a lane in a tile, by non-zeros of a row (section 3.2 there: r = 4, s = 32, t = 256, u = 6).
fn sigma_of(matrix: &Csr) -> usize {
    match matrix.columns().len() / matrix.rows().max(1) {
        0..=4 => 4,
        of_row @ 5..=32 => of_row,
        33..=256 => 32,
        _ => 6,
    }
}

/// CSR5 of a matrix.
pub fn csr5(matrix: &Csr) -> Baseline {
    csr5_of(matrix, sigma_of(matrix))
}

/// CSR5 with `sigma` non-zeros of a lane in a tile, 1 to 32.
pub(super) fn csr5_of(matrix: &Csr, sigma: usize) -> Baseline {
    let (rows, non_zeros) = (matrix.rows(), matrix.columns().len());
    let start = row_start(matrix);
    let tile = OMEGA * sigma;
    let tiles = non_zeros / tile;
    let tail = tiles * tile;
    let tail_row = start[1..].partition_point(|end| *end as usize <= tail);
    let y_bits = usize::BITS as usize - tile.leading_zeros() as usize;
    let words = if y_bits + 5 + sigma <= 32 { 1 } else { 2 };
    let empty = start.windows(2).any(|pair| pair[0] == pair[1]);

    let mut described = Tiles::default();
    let (mut columns, mut values) = (matrix.columns().to_vec(), matrix.values().to_vec());
    for number in 0..tiles {
        described.add(number * tile, sigma, &start, (y_bits, words));
        for lane in 0..OMEGA {
            for step in 0..sigma {
                let (from, to) = (number * tile + lane * sigma + step, number * tile + step * OMEGA + lane);
                columns[to] = matrix.columns()[from];
                values[to] = matrix.values()[from];
            }
        }
    }
    // A table of the kernels has at least one element.
    let filled = |mut table: Vec<u32>| {
        if table.is_empty() {
            table.push(0);
        }
        Table::U32(table)
    };
    let constants = [
        ("ROWS", rows as u64),
        ("THREADS", u64::from(THREADS)),
        ("SIGMA", sigma as u64),
        ("TILES", tiles as u64),
        ("TAIL", tail as u64),
        ("TAIL_ROW", tail_row as u64),
        ("Y_BITS", y_bits as u64),
        ("WORDS", words as u64),
    ];
    Baseline {
        name: "CSR5".into(),
        rows,
        tables: vec![
            ("row_start", Table::U32(start)),
            ("tile_row", filled(described.row)),
            ("descriptor", filled(described.descriptor)),
            ("empty_start", filled(described.empty_start)),
            ("empty_offset", filled(described.empty_offset)),
            ("columns", filled(columns)),
            ("values", Table::F64(if values.is_empty() { vec![0.0] } else { values })),
            ("calibrator", Table::F64(vec![0.0; tiles.max(1)])),
        ],
        text: Baseline::text(
            "csr5",
            include_str!("../../../cuda/csr5.cu"),
            &constants,
            &["csr5_clear", "csr5_tiles", "csr5_calibrate", "csr5_tail"],
        ),
        steps: steps(empty, rows, tiles, rows - tail_row),
        on_host: Box::new(move |tables, x, y| on_host(tables, x, y, (tiles, sigma, tail_row))),
    }
}

fn steps(empty: bool, rows: usize, tiles: usize, tail_rows: usize) -> Vec<Step> {
    let step = |entry, work: usize, parameters, writes| {
        let blocks = work.div_ceil(THREADS as usize) as u64;
        Step { entry, blocks, threads: THREADS, parameters, writes }
    };
    let mut steps = vec![];
    if empty {
        steps.push(step("csr5_clear", rows, &["y"], &[("y", Access::Out)]));
    }
    if tiles > 0 {
        steps.push(step(
            "csr5_tiles",
            tiles * 32,
            &["tile_row", "descriptor", "empty_start", "empty_offset", "columns", "values", "x", "calibrator", "y"],
            &[("calibrator", Access::Out), ("y", Access::InOut)],
        ));
        steps.push(step("csr5_calibrate", tiles, &["tile_row", "calibrator", "y"], &[("y", Access::InOut)]));
    }
    if tail_rows > 0 {
        let parameters = &["row_start", "columns", "values", "x", "y"];
        steps.push(step("csr5_tail", tail_rows * 32, parameters, &[("y", Access::InOut)]));
    }
    steps
}

/// The descriptors of all tiles.
#[derive(Default)]
struct Tiles {
    row: Vec<u32>,
    descriptor: Vec<u32>,
    empty_start: Vec<u32>,
    empty_offset: Vec<u32>,
}

impl Tiles {
    /// Adds the tile whose first non-zero is number `first`.
    fn add(&mut self, first: usize, sigma: usize, start: &[u32], (y_bits, words): (usize, usize)) {
        let last = first + OMEGA * sigma;
        // The row of the first non-zero; rows that end before it, empty ones too, are passed over.
        let row = start[1..].partition_point(|end| *end as usize <= first);
        let mut flags = [0u32; OMEGA];
        flags[0] = 1;
        let mut begun = vec![row];
        for (next, begin) in start.iter().enumerate().take(start.len() - 1).skip(row + 1) {
            let begin = *begin as usize;
            if begin >= last {
                break;
            }
            if start[next + 1] as usize > begin {
                flags[(begin - first) / sigma] |= 1 << ((begin - first) % sigma);
                begun.push(next);
            }
        }
        let holes = begun.last().is_some_and(|end| end - row + 1 != begun.len());
        let starts = start[row] as usize == first;
        self.row.push(row as u32 | if starts { STARTS } else { 0 } | if holes { HOLES } else { 0 });
        self.empty_start.push(self.empty_offset.len() as u32);
        if holes {
            self.empty_offset.extend(begun.iter().map(|begun| (begun - row) as u32));
        }
        let mut before = 0;
        let mut packed = vec![0u32; words * OMEGA];
        for lane in 0..OMEGA {
            let after = flags[lane + 1..].iter().take_while(|flags| **flags == 0).count() as u32;
            packed[lane] = after | before << 5;
            match words {
                1 => packed[lane] |= flags[lane] << (y_bits + 5),
                _ => packed[OMEGA + lane] = flags[lane],
            }
            before += flags[lane].count_ones();
        }
        self.descriptor.extend(packed);
    }
}

/// From the tiles' own arrays: each core adds up rows of some tiles, then the pieces are added.
fn on_host(tables: &[(&'static str, Table)], x: &[f64], y: &mut [f64], of: (usize, usize, usize)) {
    let (tiles, sigma, tail_row) = of;
    let (tile_row, descriptor) = (integers(tables, "tile_row"), integers(tables, "descriptor"));
    let (empty_start, empty_offset) = (integers(tables, "empty_start"), integers(tables, "empty_offset"));
    let (columns, values, start) = (integers(tables, "columns"), real(tables, "values"), integers(tables, "row_start"));
    let words = descriptor.len() / (OMEGA * tiles.max(1));
    let y_bits = usize::BITS as usize - (OMEGA * sigma).leading_zeros() as usize;
    let of_tile = |tile: usize| {
        let described = &descriptor[tile * words * OMEGA..][..words * OMEGA];
        let row = |segment: usize| {
            let offset = match tile_row[tile] & HOLES {
                0 => segment as u32,
                _ => empty_offset[empty_start[tile] as usize + segment],
            };
            (tile_row[tile] & ROW) + offset
        };
        let (mut found, mut sum, mut segment) = (vec![], 0.0, 0);
        for lane in 0..OMEGA {
            let flags = if words == 1 { described[lane] >> (y_bits + 5) } else { described[OMEGA + lane] };
            for step in 0..sigma {
                if flags >> step & 1 == 1 && (lane, step) != (0, 0) {
                    found.push((row(segment), sum));
                    (sum, segment) = (0.0, segment + 1);
                }
                let at = (tile * sigma + step) * OMEGA + lane;
                sum += values[at] * x[columns[at] as usize];
            }
        }
        found.push((row(segment), sum));
        found
    };
    let found: Vec<Vec<(u32, f64)>> = (0..tiles).into_par_iter().map(of_tile).collect();
    y.fill(0.0);
    found.into_iter().flatten().for_each(|(row, sum)| y[row as usize] += sum);
    let tail = tiles * OMEGA * sigma;
    for row in tail_row..y.len() {
        let elements = (start[row] as usize).max(tail)..start[row + 1] as usize;
        y[row] += elements.map(|k| values[k] * x[columns[k] as usize]).sum::<f64>();
    }
}
