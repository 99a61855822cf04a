//! The two families of configuration-interaction matrices that the hybrid format was measured on (Mahmoud, Hoffmann,
//! Reza 2018, section 4 and Table 3), by a seeded generator: the paper's own matrices were never published.
//!
//! | rows | left tenth of the columns | the other columns |
//! |---|---|---|
//! | 32,768 | 655 non-zeros a row (655 · 32,768 = 21,463,040, as printed) | 295 or 296 a row, 1 % dense: 9.66 to 9.68 million |
//! | 1,048,576 | 30 a row | 19 a row (the paper prints no statistics of these) |
//!
//! Columns are drawn without repetition, values uniform in [-1, 1). The matrix is not symmetric: it is for multiplies
//! only.

use super::{Csr, CsrError};
use crate::bench::seeded;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// A synthetic matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// Rows, and columns.
    pub rows: u32,
    /// Columns of the reference region.
    pub reference_columns: u32,
    /// Non-zeros of each row in the reference region.
    pub reference: u32,
    /// Non-zeros of all rows in the expansion region, shared out evenly.
    pub expansion: u64,
    /// Of the random numbers.
    pub seed: u64,
}

/// What a synthetic matrix may be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no matrix; expected FILE.mtx, FILE.npz, FILE.toml with [ci], synthetic:32768:SEED or synthetic:1048576:SEED, SEED a \
     whole number"
)]
pub struct SyntheticError(String);

impl Synthetic {
    /// One of the paper's sizes; `None` for any other.
    pub fn of_paper(rows: u32, seed: u64) -> Option<Synthetic> {
        let reference_columns = rows / 10;
        match rows {
            // 9.66 to 9.68 million: seeds differ in the number too, as the paper's ten matrices do.
            32_768 => {
                let expansion = 9_660_000 + seed % 11 * 2_000;
                Some(Synthetic { rows, reference_columns, reference: 655, expansion, seed })
            }
            1_048_576 => {
                Some(Synthetic { rows, reference_columns, reference: 30, expansion: 19 * u64::from(rows), seed })
            }
            _ => None,
        }
    }

    /// Non-zeros of a row in the expansion region: the remainder goes to the first rows.
    fn expansion_of(&self, row: u32) -> u64 {
        let rows = u64::from(self.rows).max(1);
        self.expansion / rows + u64::from(u64::from(row) < self.expansion % rows)
    }

    /// Makes it.
    ///
    /// # Errors
    /// More non-zeros a row than there are columns.
    pub fn matrix(&self) -> Result<Csr, CsrError> {
        let region = self.rows - self.reference_columns;
        if self.reference > self.reference_columns || self.expansion_of(0) > u64::from(region) {
            return Err(CsrError::Column { row: 0, column: self.rows, rows: self.rows as usize });
        }
        let mut row_start = vec![0u64];
        for row in 0..self.rows {
            row_start.push(row_start[row as usize] + u64::from(self.reference) + self.expansion_of(row));
        }
        let columns = (0..self.rows).into_par_iter().flat_map_iter(|row| {
            let mut random =
                Random { seed: self.seed.wrapping_mul(0xA076_1D64_78BD_642F) ^ 1, next: u64::from(row) << 32 };
            let mut columns = random.sample(self.reference, self.reference_columns, 0);
            columns.extend(random.sample(self.expansion_of(row) as u32, region, self.reference_columns));
            columns
        });
        let columns: Vec<u32> = columns.collect();
        let values = seeded::vector(columns.len(), self.seed ^ 0x5EED);
        Csr::new(row_start, columns, values)
    }
}

/// Numbers from a hash of a counter, a range of it a row.
struct Random {
    seed: u64,
    next: u64,
}

impl Random {
    /// Below `bound`, by the upper half of a product (Lemire 2019); the bias, below 2^-32, does not matter here.
    fn below(&mut self, bound: u32) -> u32 {
        self.next += 1;
        let unit = seeded::element(self.seed, self.next) * 0.5 + 0.5;
        ((unit * f64::from(bound)) as u32).min(bound - 1)
    }

    /// `count` different columns of `first..first + region`, ascending (Floyd's sample: Bentley, Floyd 1987).
    fn sample(&mut self, count: u32, region: u32, first: u32) -> Vec<u32> {
        let mut taken = std::collections::BTreeSet::new();
        for last in region - count..region {
            let column = self.below(last + 1);
            if !taken.insert(column) {
                taken.insert(last);
            }
        }
        taken.into_iter().map(|column| first + column).collect()
    }
}

impl FromStr for Synthetic {
    type Err = SyntheticError;
    fn from_str(text: &str) -> Result<Synthetic, SyntheticError> {
        let refused = || SyntheticError(text.to_string());
        let mut parts = text.strip_prefix("synthetic:").ok_or_else(refused)?.split(':');
        let rows = parts.next().and_then(|rows| rows.parse().ok()).ok_or_else(refused)?;
        let seed = parts.next().and_then(|seed| seed.parse().ok()).ok_or_else(refused)?;
        Synthetic::of_paper(rows, seed).filter(|_| parts.next().is_none()).ok_or_else(refused)
    }
}

impl fmt::Display for Synthetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "synthetic:{}:{}", self.rows, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_sizes_have_the_paper_s_counts() {
        for seed in 0..20 {
            let small = Synthetic::of_paper(32_768, seed).unwrap();
            assert_eq!(u64::from(small.reference) * u64::from(small.rows), 21_463_040); // Table 3
            assert!((9_660_000..=9_680_000).contains(&small.expansion));
        }
        assert_eq!("synthetic:1048576:3".parse::<Synthetic>().unwrap().expansion, 19 << 20);
        for wrong in ["synthetic:7:1", "synthetic:32768", "synthetic:32768:x", "synthetic:32768:1:2", "32768:1"] {
            assert!(wrong.parse::<Synthetic>().unwrap_err().to_string().contains("SEED"), "{wrong}");
        }
    }

    #[test]
    fn a_small_one_has_its_regions() {
        let small = Synthetic { rows: 500, reference_columns: 50, reference: 13, expansion: 2_750, seed: 4 };
        let matrix = small.matrix().unwrap();
        assert_eq!(matrix.non_zeros(), 500 * 13 + 2_750);
        for row in 0..500 {
            assert_eq!(matrix.row(row).0.iter().filter(|column| **column < 50).count(), 13);
        }
        assert_eq!(matrix, small.matrix().unwrap());
        assert_ne!(matrix, Synthetic { seed: 5, ..small }.matrix().unwrap());
        // Every column of the expansion region is as likely as the others: 5.5 rows a column on average.
        let mut counts = [0u32; 500];
        matrix.columns().iter().for_each(|column| counts[*column as usize] += 1);
        assert!(counts[50..].iter().all(|count| *count < 20), "{counts:?}");
        assert!(Synthetic { reference: 51, ..small }.matrix().is_err());
    }
}
