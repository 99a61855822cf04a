//! Random matrices of shapes that formats trip over, and the oracle: sums over rows in the order of their columns, with
//! the sum of magnitudes that errors are relative to.

use eigenforge::sparse::{Csr, NumberKind, Quaternion};

/// Numbers from a hash of a counter.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
    /// In [-1, 1).
    pub fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / 2f64.powi(52) - 1.0
    }
}

/// A matrix whose row r has `length(r)` non-zeros at random columns.
pub fn random(rows: usize, seed: u64, length: impl Fn(usize) -> usize) -> Csr {
    let mut random = Random::new(seed);
    let (mut row_start, mut columns, mut values) = (vec![0u64], vec![], vec![]);
    for row in 0..rows {
        let mut own = std::collections::BTreeSet::new();
        while own.len() < length(row).min(rows) {
            own.insert(random.below(rows as u64) as u32);
        }
        values.extend(own.iter().map(|_| random.number()));
        columns.extend(own);
        row_start.push(columns.len() as u64);
    }
    Csr::new(row_start, columns, values).unwrap()
}

/// The shapes: name and matrix.
pub fn shapes(seed: u64) -> Vec<(&'static str, Csr)> {
    vec![
        ("empty rows", random(133, seed, |row| if row % 3 == 0 { 0 } else { row % 11 })),
        ("one long row", random(150, seed + 1, |row| if row == 77 { 150 } else { 3 })),
        ("equal lengths", random(96, seed + 2, |_| 24)),
        ("no non-zeros", random(40, seed + 3, |_| 0)),
        ("one row", random(1, seed + 4, |_| 1)),
        ("no rows", random(0, seed + 5, |_| 0)),
        ("mixed", random(301, seed + 6, |row| (row * row) % 40)),
    ]
}

/// The same places with numbers of another kind: random ones, or one of so many.
pub fn with_numbers(matrix: &Csr, kind: NumberKind, seed: u64, values: Option<u64>) -> Csr {
    let mut random = Random::new(seed);
    let mut number = |_| -> Vec<f64> { (0..kind.parts()).map(|_| random.number()).collect() };
    let few: Vec<Vec<f64>> = (0..values.unwrap_or(0)).map(&mut number).collect();
    let numbers: Vec<f64> = match values {
        None => (0..matrix.non_zeros()).flat_map(number).collect(),
        Some(count) => {
            let mut random = Random::new(seed + 1);
            (0..matrix.non_zeros()).flat_map(|_| few[random.below(count) as usize].clone()).collect()
        }
    };
    Csr::of_numbers(kind, matrix.row_start().to_vec(), matrix.columns().to_vec(), numbers).unwrap()
}

/// The product of quaternions (a, b, c, d) = a + b i + c j + d k, i j = k.
pub fn times([a, b, c, d]: Quaternion, [e, f, g, h]: Quaternion) -> Quaternion {
    [
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ]
}

/// The real matrix that does to the parts of vectors, side by side, what a matrix of complex numbers or quaternions does to its vectors.
pub fn real_image(matrix: &Csr) -> Csr {
    let parts = matrix.parts();
    let (mut row_start, mut columns, mut values) = (vec![0u64], vec![], vec![]);
    for (row, part) in (0..matrix.rows()).flat_map(|row| (0..parts).map(move |part| (row, part))) {
        let (own, numbers) = matrix.row(row);
        for (column, number) in own.iter().zip(numbers.chunks(parts)) {
            let a: Quaternion = std::array::from_fn(|part| number.get(part).copied().unwrap_or(0.0));
            for unit in 0..parts {
                columns.push(column * parts as u32 + unit as u32);
                values.push(times(a, std::array::from_fn(|part| f64::from(part == unit)))[part]);
            }
        }
        row_start.push(columns.len() as u64);
    }
    Csr::new(row_start, columns, values).unwrap()
}

/// y = A x, and Σ |A x| of each row.
pub fn product(matrix: &Csr, x: &[f64]) -> Vec<(f64, f64)> {
    let row = |row: usize| {
        let (columns, values) = matrix.row(row);
        let terms = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]);
        terms.fold((0.0, 0.0), |(sum, size): (f64, f64), term| (sum + term, size + term.abs()))
    };
    (0..matrix.rows()).map(row).collect()
}

/// Vectors by seed.
pub fn vector(length: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed ^ 0xABCD);
    (0..length).map(|_| random.number()).collect()
}
