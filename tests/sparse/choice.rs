//! What the model chooses, and that nothing of a matrix is lost on the way to its tables.

use super::matrices::random;
use super::symmetric::symmetric;
use eigenforge::sparse::{
    Columns, Csr, Format, FormatName, FormatRanking, FormatRequest, RowStatistics, Stored, Target, Values,
};
use eigenforge_benches::synthetic::Synthetic;
use eigenforge_runtime::machine::Card;
use eigenforge_templates::ScalarType;
use eigenforge_templates::sparse::{ColumnWord, RowStorage};

/// A tenth of an H200 with little shared memory.
const SMALL_CARD: Target = Target::all_of(Card { multiprocessors: 13, shared_bytes: 24 << 10, ..Card::H200 });

/// Rows as those of the paper's larger family, few of them.
fn paper_like() -> Csr {
    Synthetic { rows: 20_000, reference_columns: 2_000, reference: 600_000, expansion: 380_000, seed: 1 }
        .matrix()
        .unwrap()
}

fn choose(matrix: &Csr, target: Target, wish: FormatRequest) -> FormatRanking {
    FormatRanking::new(matrix, &RowStatistics::new(matrix), target, wish)
}

#[test]
fn dense_columns_on_the_left_go_to_windows_and_uniform_ones_do_not() {
    // Two fifths of the paper's larger family, on as much of a card.
    let part =
        Synthetic { rows: 400_000, reference_columns: 40_000, reference: 12_000_000, expansion: 7_600_000, seed: 1 };
    let target = Target::all_of(Card { multiprocessors: 52, shared_bytes: 160 << 10, ..Card::H200 });
    let choice = choose(&part.matrix().unwrap(), target, FormatRequest::default());
    let Format::Panels { width, windows } = choice.best().format else { panic!("{}", choice.reason) };
    let staged = u64::from(width) * u64::from(windows);
    assert!((15_000..60_000).contains(&staged), "{}", choice.reason);
    assert!(choice.reason.contains("shared memory"), "{}", choice.reason);
    // Columns all over a long x: no window holds enough of them.
    let uniform = random(60_000, 3, |_| 5);
    let choice = choose(&uniform, SMALL_CARD, FormatRequest::default());
    assert!(choice.best().layout.parts.iter().all(|part| part.staged == 0), "{}", choice.reason);
}

#[test]
fn a_boundary_is_where_every_row_still_has_non_zeros_or_what_was_asked_for() {
    let matrix = paper_like();
    let (statistics, mut boundaries) = (RowStatistics::new(&matrix), vec![]);
    assert!(statistics.shortest < 40 && statistics.longest > 60, "rows of different lengths");
    let wish = |boundary| FormatRequest { format: Some(FormatName::Hybrid), boundary, ..FormatRequest::default() };
    for candidate in choose(&matrix, Target::H200, wish(None)).candidates {
        let Format::Hybrid { boundary } = candidate.format else { panic!("{candidate:?}") };
        // None pads, but those of a half, of nine tenths and of all rows.
        let (shortest, [_, _, median, most, _]) = (statistics.shortest, statistics.percentiles);
        let pads = [median, most, statistics.longest];
        assert!(boundary <= shortest || pads.contains(&boundary), "{boundary} of {shortest} and {pads:?}");
        boundaries.push(boundary);
    }
    assert!(boundaries.len() > 2 && boundaries.contains(&statistics.shortest), "{boundaries:?}");
    let asked = choose(&matrix, Target::H200, wish(Some(17)));
    assert_eq!(asked.candidates.len(), 1);
    assert_eq!(asked.best().format, Format::Hybrid { boundary: 17 });
    assert!(asked.reason.contains("as requested"));
    // A boundary past the longest row: everything in ELLPACK, and no tail.
    let whole = choose(&matrix, Target::H200, wish(Some(1_000)));
    assert_eq!(whole.best().layout.parts.len(), 1);
}

/// Few rows that are long: everything in ELLPACK would be nothing but padding, so the best boundary leaves their ends to CSR.
#[test]
fn a_hybrid_s_boundary_is_not_that_of_a_few_long_rows() {
    let matrix = random(40_000, 5, |row| if row % 1000 == 7 { 3_000 } else { 20 + row % 3 });
    let wish = FormatRequest { format: Some(FormatName::Hybrid), ..FormatRequest::default() };
    let choice = choose(&matrix, Target::H200, wish);
    let Format::Hybrid { boundary } = choice.best().format else { panic!("{}", choice.reason) };
    assert!((1..=20).contains(&boundary), "{}", choice.reason);
    let longest = choice.candidates.iter().find(|candidate| candidate.format == Format::Hybrid { boundary: 3_000 });
    assert!(longest.is_none_or(|all| all.milliseconds > 20.0 * choice.best().milliseconds), "{}", choice.reason);
    // And of all formats none that pads so.
    let free = choose(&matrix, Target::H200, FormatRequest::default());
    assert!(free.best().bytes < 2 * 12 * matrix.non_zeros(), "{}", free.reason);
}

/// Some rows are empty and some very long: a boundary that every row has would be CSR, that of the longest mostly zeros.
#[test]
fn a_boundary_may_lie_between_the_shortest_and_the_longest_row() {
    let matrix = random(40_000, 6, |row| match row % 200 {
        7 => 0,
        8 => 2_000,
        _ => 40,
    });
    let wish = FormatRequest { format: Some(FormatName::Hybrid), ..FormatRequest::default() };
    let choice = choose(&matrix, Target::H200, wish);
    assert_eq!(choice.best().format, Format::Hybrid { boundary: 40 }, "{}", choice.reason);
}

#[test]
fn narrow_columns_are_stored_narrow() {
    let words = |matrix: &Csr, format| {
        let choice = choose(matrix, Target::H200, FormatRequest { format: Some(format), ..FormatRequest::default() });
        choice.best().layout.parts.iter().map(|part| part.columns).collect::<Vec<_>>()
    };
    assert_eq!(words(&random(65_536, 1, |_| 2), FormatName::Csr), [ColumnWord::Absolute16]);
    assert_eq!(words(&random(65_537, 1, |_| 2), FormatName::Csr), [ColumnWord::Absolute32]);
    // Enough neighbours a lane that steps of 16 bits pay for their base.
    let rows = 70_000u32;
    let near: Vec<u32> = (0..rows).flat_map(|row| (0..20).map(move |k| (row / 2 + 50 * k) % 30_000 + 40 * k)).collect();
    let mut near: Vec<Vec<u32>> = near.chunks(20).map(<[u32]>::to_vec).collect();
    near.iter_mut().for_each(|row| {
        row.sort_unstable();
        row.dedup();
    });
    let mut start = vec![0u64];
    near.iter().for_each(|row| start.push(start[start.len() - 1] + row.len() as u64));
    let columns = near.concat();
    let values = vec![1.0; columns.len()];
    let matrix = Csr::new(start, columns, values).unwrap();
    assert_eq!(words(&matrix, FormatName::SlicedEll), [ColumnWord::Delta16]);
}

/// Every non-zero is in the tables once, in its row's order, whatever the format; the rest is zeros.
#[test]
fn nothing_is_lost_in_a_format() {
    let matrix = paper_like();
    let sum: f64 = matrix.values().iter().sum();
    for candidate in choose(&matrix, SMALL_CARD, FormatRequest::default()).candidates {
        let stored = Stored::new("lossless", &matrix, &candidate.layout, ScalarType::F64, ScalarType::F64).unwrap();
        let what = candidate.format.to_string();
        assert_eq!(stored.plan.non_zeros(), matrix.non_zeros(), "{what}");
        let mut found = (0u64, 0.0);
        for (part, plan) in stored.parts.iter().zip(&stored.plan.parts) {
            let Values::F64(values) = &part.values else { panic!("{what}") };
            found.0 += values.iter().filter(|value| **value != 0.0).count() as u64;
            found.1 += values.iter().sum::<f64>();
            let columns = match &part.columns {
                Columns::U16(columns) => columns.len(),
                Columns::U32(columns) => columns.len(),
            };
            assert_eq!((values.len() as u64, columns as u64), (plan.stored(), plan.stored()), "{what}");
            let last = part.start.last().copied().unwrap_or(plan.packs);
            let per_start = if plan.storage == RowStorage::SlicedEll { 32 } else { 1 };
            assert_eq!(last * per_start, plan.packs, "{what}");
        }
        assert_eq!(found.0, matrix.values().iter().filter(|value| **value != 0.0).count() as u64, "{what}");
        assert!((found.1 - sum).abs() < 1e-9, "{what}");
        // The model's bytes are those that are stored, to the padding of slices.
        let ratio = stored.plan.matrix_bytes() as f64 / candidate.bytes as f64;
        assert!((0.95..1.15).contains(&ratio), "{what}: {ratio}");
    }
}

/// Half of a symmetric matrix takes half of the bytes and an atomic add per element: it is faster where memory is slow
/// compared with L2, and not on an H200.
#[test]
fn a_card_of_slow_memory_takes_half_of_a_symmetric_matrix_and_an_h200_does_not() {
    let matrix = symmetric(30_000, 5, |_| 40);
    let format = |card: Card| choose(&matrix, Target::all_of(card), FormatRequest::default()).best().format;
    assert_ne!(format(Card::H200), Format::Symmetric);
    let slow = Card { memory_rate: Card::H200.memory_rate / 20.0, ..Card::H200 };
    assert_eq!(format(slow), Format::Symmetric);
}
