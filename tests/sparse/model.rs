//! The model behind a choice, on matrices that its constants were not fitted to: boundaries of irregular rows, and the time that
//! gathers take.

use super::matrices::random;
use eigenforge::sparse::{Csr, Format, FormatName, FormatRanking, FormatRequest, RowStatistics, Target};

fn choose(matrix: &Csr, format: FormatName) -> FormatRanking {
    let wish = FormatRequest { format: Some(format), ..FormatRequest::default() };
    FormatRanking::new(matrix, &RowStatistics::new(matrix), Target::H200, wish)
}

/// Most rows have 9 to 39 non-zeros anywhere, every hundredth 300: ELLPACK of the longest would store eleven zeros for each of
/// them.
#[test]
fn boundaries_of_irregular_rows_leave_the_long_ones_to_the_tail() {
    for seed in [11, 12, 13] {
        let usual = |row: usize| 9 + (row.wrapping_mul(2_654_435_761 + seed as usize) >> 9) % 31;
        let matrix = random(6_000, seed, |row| if row % 100 == 7 { 300 } else { usual(row) });
        let length = |row: usize| matrix.row(row).0.len() as u32;
        let shortest = (0..matrix.rows()).map(length).min().unwrap();
        let longest = (0..matrix.rows()).map(length).max().unwrap();
        // What every row has in the first 2,048 of its columns.
        let within = |row: usize| matrix.row(row).0.iter().filter(|column| **column < 2_048).count() as u32;
        let common = (0..matrix.rows()).map(within).min().unwrap();
        let choice = choose(&matrix, FormatName::Hybrid);
        let boundary = |format: &Format| match format {
            Format::Hybrid { boundary } => *boundary,
            other => panic!("{other:?}"),
        };
        let tried: Vec<u32> = choice.candidates.iter().map(|candidate| boundary(&candidate.format)).collect();
        for expected in [common, shortest, longest].into_iter().filter(|boundary| *boundary > 0) {
            assert!(tried.contains(&expected), "seed {seed}: {expected} is not among {tried:?}");
        }
        assert!(boundary(&choice.best().format) < 40, "seed {seed}: {}", choice.reason);
        let padded = choice.candidates.iter().find(|candidate| boundary(&candidate.format) == longest).unwrap();
        assert!(padded.bytes > 5 * choice.best().bytes, "{} and {}", padded.bytes, choice.best().bytes);
    }
}

/// Five non-zeros a row, anywhere in a vector that is much longer than L1: each gathers a sector of 32 bytes from L2, which then
/// takes longer than memory does. t = (values, columns, row starts, x, y and sectors) / L2's 5.6e12 bytes a second.
#[test]
fn gathers_from_l2_take_what_their_sectors_take() {
    for (rows, each) in [(300_000u64, 5), (500_000, 3), (200_000, 11)] {
        let matrix = random(rows as usize, rows, |_| each);
        let non_zeros = matrix.non_zeros();
        let through_memory = (12 * non_zeros + 4 * rows + 16 * rows) as f64;
        let expected = 1e3 * (through_memory + 32.0 * non_zeros as f64) / 5.6e12;
        assert!(expected > 1.5e3 * through_memory / 4.3e12, "memory is no bound here");
        let found = choose(&matrix, FormatName::Csr).best().milliseconds;
        // Some of x is in L1, and neighbours share a sector.
        assert!((0.85 * expected..=expected).contains(&found), "{rows} rows: {found} for {expected} ms");
    }
}
