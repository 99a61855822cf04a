//! The two families of configuration-interaction matrices that the hybrid format was measured on (Mahmoud, Hoffmann,
//! Reza 2018, section 4 and Table 3), by a seeded generator: the paper's own matrices were never published.
//!
//! | rows | left tenth of the columns | the other columns |
//! |---|---|---|
//! | 32,768 | 21,463,040 non-zeros (Table 3, all ten matrices), 655 a row on average | 9,660,000 to 9,680,000, 1 % dense |
//! | 1,048,576 | 30 a row on average | 19 a row on average (the paper prints no statistics of these) |
//! | 10,000,000 | the same | the same (ten times the paper's largest) |
//!
//! Within a region every position is equally likely to hold a non-zero, so rows differ in length: row lengths are
//! binomial, with a fixed total. For 32,768 rows that gives a mean of 950, a deviation of 29 and a longest row of about
//! 1,070, where Table 3 has 1,060 to 1,079; ELLPACK then takes 13 % more than CSR (Table 5: 402.41 against 356.44 MiB,
//! 12.9 %). Table 5's sliced ELLPACK, 398.12 MiB, has slices whose height the paper does not give; with 32 rows per slice
//! it is 6 % more than CSR here.
//!
//! Columns are drawn without repetition, values uniform in [-1, 1). The matrix is not symmetric: it is for multiplies
//! only. The same seed gives the same matrix on every machine: only sums, products and quotients of doubles are used.

use eigenforge::input::MatrixSource;
use eigenforge::sparse::{Csr, CsrError};
use eigenforge_runtime::seeded;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// A synthetic matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// Number of rows and of columns.
    pub rows: u32,
    /// Columns of the reference region.
    pub reference_columns: u32,
    /// Non-zeros of all rows in the reference region.
    pub reference: u64,
    /// Non-zeros of all rows in the expansion region.
    pub expansion: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// An invalid name of a synthetic matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a matrix; expected FILE.mtx, FILE.npz, FILE.toml with [ci], synthetic:ROWS:SEED with 32768, \
     1048576 or 10000000 rows, SEED a whole number"
)]
pub struct SyntheticError(String);

/// A matrix of a bench: one that `spmv` takes, or a synthetic one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchMatrix {
    /// A file or standard input.
    Source(MatrixSource),
    /// One of the paper's families.
    Synthetic(Synthetic),
}

impl FromStr for BenchMatrix {
    type Err = SyntheticError;
    fn from_str(text: &str) -> Result<BenchMatrix, SyntheticError> {
        if text.starts_with("synthetic:") {
            return text.parse().map(BenchMatrix::Synthetic);
        }
        text.parse().map(BenchMatrix::Source).map_err(|_| SyntheticError(text.to_string()))
    }
}

impl fmt::Display for BenchMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchMatrix::Source(source) => source.fmt(f),
            BenchMatrix::Synthetic(synthetic) => synthetic.fmt(f),
        }
    }
}

impl Synthetic {
    /// One of the paper's sizes; `None` for any other.
    pub fn of_paper(rows: u32, seed: u64) -> Option<Synthetic> {
        let reference_columns = rows / 10;
        match rows {
            // 9.66 to 9.68 million: seeds differ in the number too, as the paper's ten matrices do.
            32_768 => {
                let expansion = 9_660_000 + seed % 11 * 2_000;
                Some(Synthetic { rows, reference_columns, reference: 21_463_040, expansion, seed })
            }
            1_048_576 | 10_000_000 => {
                let of_each = |number: u64| number * u64::from(rows);
                Some(Synthetic { rows, reference_columns, reference: of_each(30), expansion: of_each(19), seed })
            }
            _ => None,
        }
    }

    /// Builds the matrix.
    ///
    /// # Errors
    /// More non-zeros than a region has positions.
    pub fn matrix(&self) -> Result<Csr, CsrError> {
        let region = self.rows - self.reference_columns;
        let room = |columns: u32| u64::from(self.rows) * u64::from(columns);
        if self.reference > room(self.reference_columns) || self.expansion > room(region) {
            return Err(CsrError::Column { row: 0, column: self.rows, rows: self.rows as usize });
        }
        let reference = self.lengths(self.reference, self.reference_columns, 2);
        let expansion = self.lengths(self.expansion, region, 3);
        let mut row_start = vec![0u64];
        for (reference, expansion) in reference.iter().zip(&expansion) {
            row_start.push(row_start[row_start.len() - 1] + u64::from(reference + expansion));
        }
        let columns = (0..self.rows).into_par_iter().flat_map_iter(|row| {
            let mut random = self.random(row, 1);
            let mut columns = random.sample(reference[row as usize], self.reference_columns, 0);
            columns.extend(random.sample(expansion[row as usize], region, self.reference_columns));
            columns
        });
        let columns: Vec<u32> = columns.collect();
        let values = seeded::vector(columns.len(), self.seed ^ 0x5EED);
        Csr::new(row_start, columns, values)
    }

    /// Non-zeros of each row in a region of this many columns: binomial, with the sum `total`.
    fn lengths(&self, total: u64, columns: u32, purpose: u64) -> Vec<u32> {
        let positions = u64::from(self.rows) * u64::from(columns);
        let law = Binomial::new(columns, total as f64 / (positions.max(1)) as f64);
        let mut lengths: Vec<u32> =
            (0..self.rows).into_par_iter().map(|row| law.draw(&mut self.random(row, purpose))).collect();
        // The excess or deficit, a few per thousand, is spread over random rows, one each.
        let mut found: u64 = lengths.iter().copied().map(u64::from).sum();
        let mut random = self.random(0, purpose + 2);
        while found != total {
            let length = &mut lengths[random.below(self.rows) as usize];
            if found < total && *length < columns {
                (*length, found) = (*length + 1, found + 1);
            } else if found > total && *length > 0 {
                (*length, found) = (*length - 1, found - 1);
            }
        }
        lengths
    }

    /// The random numbers of a row, for one purpose.
    fn random(&self, row: u32, purpose: u64) -> Random {
        Random { seed: self.seed.wrapping_mul(0xA076_1D64_78BD_642F) ^ purpose, next: u64::from(row) << 32 }
    }
}

/// Number of successes in this many trials, drawn as a sum over groups of trials with few each.
struct Binomial {
    groups: u32,
    /// A whole group, and the last one.
    group: Trials,
    last: Trials,
    /// Whether failures are drawn instead.
    turned: bool,
    trials: u32,
}

/// A group of trials, by inversion: each probability follows from the previous one.
struct Trials {
    trials: u32,
    /// p / (1 − p), and the probability of no success.
    odds: f64,
    none: f64,
}

/// Most mean successes of a group: e^-16 is far from the smallest double.
const OF_GROUP: f64 = 16.0;

impl Binomial {
    fn new(trials: u32, probability: f64) -> Binomial {
        let turned = probability > 0.5;
        let p = if turned { 1.0 - probability } else { probability };
        let size = if p * f64::from(trials) > OF_GROUP { ((OF_GROUP / p) as u32).max(1) } else { trials.max(1) };
        let (groups, rest) = (trials / size, trials % size);
        Binomial { groups, group: Trials::new(size, p), last: Trials::new(rest, p), turned, trials }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let groups: u32 = (0..self.groups).map(|_| self.group.draw(random)).sum();
        let drawn = groups + self.last.draw(random);
        if self.turned { self.trials - drawn } else { drawn }
    }
}

impl Trials {
    fn new(trials: u32, p: f64) -> Trials {
        let none = (0..trials).fold(1.0, |product, _| product * (1.0 - p));
        Trials { trials, odds: p / (1.0 - p), none }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let (mut left, mut probability, mut number) = (random.unit(), self.none, 0);
        while left >= probability && number < self.trials {
            left -= probability;
            probability *= self.odds * f64::from(self.trials - number) / f64::from(number + 1);
            number += 1;
        }
        number
    }
}

/// Numbers from a hash of a counter, with one range per row.
struct Random {
    seed: u64,
    next: u64,
}

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.next += 1;
        seeded::element(self.seed, self.next) * 0.5 + 0.5
    }

    /// Below `bound`, by the upper half of a product (Lemire 2019); the bias, below 2^-32, does not matter here.
    fn below(&mut self, bound: u32) -> u32 {
        ((self.unit() * f64::from(bound)) as u32).min(bound - 1)
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
            assert_eq!(small.reference, 21_463_040); // Table 3
            assert!((9_660_000..=9_680_000).contains(&small.expansion));
        }
        let large: Synthetic = "synthetic:1048576:3".parse().unwrap();
        assert_eq!((large.reference, large.expansion), (30 << 20, 19 << 20));
        let largest: Synthetic = "synthetic:10000000:1".parse().unwrap();
        assert_eq!((largest.reference, largest.expansion), (300_000_000, 190_000_000));
        let named = |text: &str| text.parse::<BenchMatrix>();
        assert_eq!(named("synthetic:32768:7").unwrap().to_string(), "synthetic:32768:7");
        assert!(named("synthetic:5:1").is_err() && matches!(named("a/b.mtx"), Ok(BenchMatrix::Source(_))));
        for wrong in ["synthetic:7:1", "synthetic:32768", "synthetic:32768:x", "synthetic:32768:1:2", "32768:1"] {
            assert!(wrong.parse::<Synthetic>().unwrap_err().to_string().contains("SEED"), "{wrong}");
        }
    }

    /// Table 3: longest rows from 1,060 to 1,079, mean 950. Table 5: ELLPACK 402.41 MiB where CSR takes 356.44. The lengths
    /// alone, as the matrix has them: it would take a second or two.
    #[test]
    fn rows_of_the_smaller_family_are_as_uneven_as_the_paper_s() {
        let mut longest_of = vec![];
        for seed in 1..=10 {
            let matrix = Synthetic::of_paper(32_768, seed).unwrap();
            let region = matrix.rows - matrix.reference_columns;
            let reference = matrix.lengths(matrix.reference, matrix.reference_columns, 2);
            let expansion = matrix.lengths(matrix.expansion, region, 3);
            let lengths: Vec<u64> = reference.iter().zip(&expansion).map(|(a, b)| u64::from(a + b)).collect();
            let (total, longest) = (lengths.iter().sum::<u64>(), *lengths.iter().max().unwrap());
            assert_eq!(total, matrix.reference + matrix.expansion);
            let mean = total as f64 / 32_768.0;
            let variance = lengths.iter().map(|length| (*length as f64 - mean).powi(2)).sum::<f64>() / 32_768.0;
            // n p (1 - p) of both regions: 655 * 0.8 and 295 * 0.99.
            assert!((949.0..951.0).contains(&mean) && (variance - 816.0).abs() < 25.0, "{mean} {variance}");
            let padding = longest as f64 * 32_768.0 / total as f64 - 1.0;
            assert!((0.10..0.16).contains(&padding), "seed {seed}: {padding}");
            let slices: u64 = lengths.chunks(32).map(|rows| 32 * rows.iter().max().unwrap()).sum();
            let padding = slices as f64 / total as f64 - 1.0;
            assert!((0.05..0.08).contains(&padding), "slices, seed {seed}: {padding}");
            longest_of.push(longest);
        }
        let mean = longest_of.iter().sum::<u64>() as f64 / 10.0;
        assert!((1_060.0..1_080.0).contains(&mean), "longest rows {longest_of:?}; the paper's are 1,070.5 on average");
    }

    #[test]
    fn a_binomial_number_has_its_mean_and_its_variance() {
        for (trials, p) in [(0, 0.5), (1, 0.3), (40, 0.1), (700, 0.2), (700, 0.9), (90, 1.0), (90, 0.0)] {
            let (law, matrix) = (Binomial::new(trials, p), Synthetic::of_paper(32_768, 7).unwrap());
            let drawn = (0..20_000).map(|row| f64::from(law.draw(&mut matrix.random(row, 9)))).collect::<Vec<_>>();
            assert!(drawn.iter().all(|number| (0.0..=f64::from(trials)).contains(number)));
            let mean = drawn.iter().sum::<f64>() / 2e4;
            let variance = drawn.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / 2e4;
            let (expected, spread) = (f64::from(trials) * p, f64::from(trials) * p * (1.0 - p));
            assert!((mean - expected).abs() <= 0.04 * spread.sqrt(), "{trials} {p}: {mean}");
            assert!((variance - spread).abs() <= 0.06 * spread, "{trials} {p}: {variance} for {spread}");
        }
    }

    #[test]
    fn a_small_one_has_its_regions() {
        let small = Synthetic { rows: 500, reference_columns: 50, reference: 6_500, expansion: 2_750, seed: 4 };
        let matrix = small.matrix().unwrap();
        assert_eq!(matrix.non_zeros(), 6_500 + 2_750);
        let left = |row: usize| matrix.row(row).0.iter().filter(|column| **column < 50).count();
        assert_eq!((0..500).map(left).sum::<usize>(), 6_500);
        assert!((0..500).any(|row| left(row) < 9) && (0..500).any(|row| left(row) > 17), "rows differ");
        assert_eq!(matrix, small.matrix().unwrap());
        assert_ne!(matrix, Synthetic { seed: 5, ..small }.matrix().unwrap());
        // Every column of the expansion region is as likely as the others: 5.5 rows per column on average.
        let mut counts = [0u32; 500];
        matrix.columns().iter().for_each(|column| counts[*column as usize] += 1);
        assert!(counts[50..].iter().all(|count| *count < 20), "{counts:?}");
        // As many as there are positions, and one more.
        let full = Synthetic { rows: 20, reference_columns: 2, reference: 40, expansion: 0, seed: 1 };
        assert_eq!(full.matrix().unwrap().non_zeros(), 40);
        assert!(Synthetic { reference: 41, ..full }.matrix().is_err());
    }
}
