//! Statistics of a matrix's rows, from which a format is chosen.
//!
//! In: a [`Csr`]. Out: non-zeros per row, as a histogram and its summary, and the bytes of the formats of Mahmoud,
//! Hoffmann and Reza (2018, section 4.1) with 4-byte columns and 8 bytes for each real part of a value.

use super::Csr;
use super::hybrid::SYMMETRY;
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use std::fmt;

/// Row lengths of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowStatistics {
    /// Rows.
    pub rows: usize,
    /// Non-zeros.
    pub non_zeros: u64,
    /// Shortest row.
    pub shortest: u32,
    /// Longest row.
    pub longest: u32,
    /// Mean number of non-zeros per row.
    pub mean: f64,
    /// Standard deviation of the row length.
    pub deviation: f64,
    /// Lengths that 1, 10, 50, 90 and 99 % of the rows do not exceed.
    pub percentiles: [u32; 5],
    /// Rows without non-zeros.
    pub empty: u64,
    /// Rows by length: entry k is the number of rows with k non-zeros.
    #[serde(skip)]
    pub histogram: Vec<u64>,
}

impl RowStatistics {
    /// Counts the rows of a matrix.
    pub fn new(matrix: &Csr) -> RowStatistics {
        let length = |row: usize| (matrix.row_start()[row + 1] - matrix.row_start()[row]) as usize;
        let longest = (0..matrix.rows()).into_par_iter().map(length).max().unwrap_or(0);
        let mut histogram = vec![0u64; longest + 1];
        (0..matrix.rows()).for_each(|row| histogram[length(row)] += 1);
        let (rows, non_zeros) = (matrix.rows(), matrix.non_zeros());
        let mean = non_zeros as f64 / rows.max(1) as f64;
        let square = |(length, count): (usize, &u64)| *count as f64 * (length as f64 - mean).powi(2);
        let variance = histogram.iter().enumerate().map(square).sum::<f64>() / rows.max(1) as f64;
        let at_percent = |percent: u64| {
            let wanted = (rows as u64 * percent).div_ceil(100);
            let mut seen = 0;
            let found = histogram.iter().position(|count| {
                seen += count;
                seen >= wanted
            });
            found.unwrap_or(0) as u32
        };
        RowStatistics {
            rows,
            non_zeros,
            shortest: if rows == 0 { 0 } else { histogram.iter().position(|count| *count > 0).unwrap_or(0) as u32 },
            longest: longest as u32,
            mean,
            deviation: variance.sqrt(),
            percentiles: [1, 10, 50, 90, 99].map(at_percent),
            empty: if rows == 0 { 0 } else { histogram[0] },
            histogram,
        }
    }

    /// Non-zeros beyond the first `boundary` of each row.
    pub fn tail(&self, boundary: u32) -> u64 {
        let beyond = |(length, count): (usize, &u64)| (length as u64).saturating_sub(u64::from(boundary)) * count;
        self.histogram.iter().enumerate().map(beyond).sum()
    }
}

/// A format whose bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFormat {
    /// Compressed sparse rows.
    Csr,
    /// ELLPACK: as many places per row as the longest has.
    Ellpack,
    /// Sliced ELLPACK of 32 rows, in the order of the matrix.
    SlicedEllpack,
    /// ELLPACK up to a boundary, the rest in compressed rows.
    Hybrid {
        /// Most non-zeros of a row in the ELLPACK part.
        boundary: u32,
    },
    /// The upper triangle of a symmetric matrix, in compressed rows.
    SymmetricHalf,
}

impl fmt::Display for CountedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountedFormat::Csr => f.pad("CSR"),
            CountedFormat::Ellpack => f.pad("ELLPACK"),
            CountedFormat::SlicedEllpack => f.pad("sliced ELLPACK (32 rows)"),
            CountedFormat::Hybrid { boundary } => f.pad(&format!("hybrid, BOUNDARY {boundary}")),
            CountedFormat::SymmetricHalf => f.pad("symmetric half"),
        }
    }
}

/// Reports name a format as they print it.
impl Serialize for CountedFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Bytes of one format with 4-byte columns and 8 bytes for each real part of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormatBytes {
    /// The format.
    pub format: CountedFormat,
    /// Bytes.
    pub bytes: u64,
}

/// CSR, ELLPACK, sliced ELLPACK of 32 rows in order, and the hybrid at `boundary`, counted as in the paper (Table 8); the
/// hybrid includes start and end of each tail. For a real symmetric matrix also its upper triangle in CSR, with the 64-bit
/// sums of its multiply.
pub fn memory_table(matrix: &Csr, statistics: &RowStatistics, boundary: u32) -> Vec<FormatBytes> {
    let (rows, non_zeros) = (statistics.rows as u64, statistics.non_zeros);
    let element = 4 + 8 * matrix.parts() as u64;
    let slices = matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<u64>>();
    let sliced: u64 = slices.chunks(32).map(|rows| 32 * rows.iter().max().copied().unwrap_or(0)).sum();
    let tail = statistics.tail(boundary);
    let ends = if tail > 0 { 8 * rows } else { 0 };
    let mut formats = vec![
        (CountedFormat::Csr, element * non_zeros + 4 * (rows + 1)),
        (CountedFormat::Ellpack, element * rows * u64::from(statistics.longest)),
        (CountedFormat::SlicedEllpack, element * sliced + 4 * (rows.div_ceil(32) + 1)),
        (CountedFormat::Hybrid { boundary }, element * (rows * u64::from(boundary) + tail) + ends),
    ];
    if matrix.kind().is_real() && matrix.check_symmetric(SYMMETRY).is_ok() {
        let of_row = |row: usize| (matrix.row(row).0.len() - matrix.diagonal_on(row)) as u64;
        let upper: u64 = (0..statistics.rows).into_par_iter().map(of_row).sum();
        formats.push((CountedFormat::SymmetricHalf, 12 * upper + 4 * (rows + 1) + 8 * rows));
    }
    formats.into_iter().map(|(format, bytes)| FormatBytes { format, bytes }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 rows with 0, 1, 3 and 4 non-zeros.
    fn matrix() -> Csr {
        let columns = vec![2, 0, 1, 2, 0, 1, 2, 3];
        Csr::new(vec![0, 0, 1, 4, 8], columns, vec![1.0; 8]).unwrap()
    }

    #[test]
    fn rows_are_counted() {
        let found = RowStatistics::new(&matrix());
        assert_eq!((found.shortest, found.longest, found.empty, found.mean), (0, 4, 1, 2.0));
        assert_eq!(found.histogram, [1, 1, 0, 1, 1]);
        assert!((found.deviation - 2.5f64.sqrt()).abs() < 1e-15);
        assert_eq!(found.percentiles, [0, 0, 1, 4, 4]);
        assert_eq!([0, 1, 3, 4, 9].map(|boundary| found.tail(boundary)), [8, 5, 1, 0, 0]);
        let none = RowStatistics::new(&Csr::new(vec![0], vec![], vec![]).unwrap());
        assert_eq!((none.rows, none.longest, none.empty), (0, 0, 0));
    }

    #[test]
    fn formats_are_counted_as_the_paper_does() {
        let (matrix, statistics) = (matrix(), RowStatistics::new(&matrix()));
        let bytes: Vec<u64> = memory_table(&matrix, &statistics, 3).iter().map(|line| line.bytes).collect();
        assert_eq!(bytes, [12 * 8 + 20, 12 * 16, 12 * 32 * 4 + 8, 12 * (12 + 1) + 32]);
        assert_eq!(memory_table(&matrix, &statistics, 4)[3].bytes, 12 * 16);
        // Symmetric: two of the diagonal and one of a pair stand for four elements.
        let symmetric = Csr::new(vec![0, 2, 4, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0]).unwrap();
        let half = memory_table(&symmetric, &RowStatistics::new(&symmetric), 1).pop().unwrap();
        assert_eq!((half.format.to_string().as_str(), half.bytes), ("symmetric half", 12 * 3 + 4 * 4 + 8 * 3));
    }
}
