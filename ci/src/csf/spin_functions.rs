//! Genealogical spin functions of singly occupied orbitals (Yamanouchi 1937; Kotani 1955; Pauncz 1979, chapter 2).
//!
//! In: k open shells, 2S, 2M. Out: C(k, k/2 − M) rows, one per spin pattern, and f = C(k, k/2 − S) − C(k, k/2 − S − 1)
//! columns, one per path of cumulative spins 0 → T₁ → … → S; the columns are orthonormal. The coefficient is a product of
//! Clebsch–Gordan factors. An electron of m = ±½ couples a spin T to T′ with, after it, the projection M:
//!
//! | m | T′ = T + ½ | T′ = T − ½ |
//! |---|---|---|
//! | +½ | √((T + ½ + M) / (2T + 1)) | −√((T + ½ − M) / (2T + 1)) |
//! | −½ | √((T + ½ − M) / (2T + 1)) | √((T + ½ + M) / (2T + 1)) |
//!
//! Creators stand in the order of the orbitals, α before β in a doubly occupied one, which commutes with all others.

/// The spin functions of k open shells.
#[derive(Debug)]
pub(super) struct SpinFunctions {
    /// Spins of the open shells, a bit each, the lowest orbital the least significant, 1 for α; ascending.
    pub(super) patterns: Vec<u32>,
    /// Number of functions.
    pub(super) count: usize,
    /// Start of each pattern's non-zero coefficients.
    start: Vec<u32>,
    /// Function and coefficient.
    coefficients: Vec<(u16, f64)>,
}

impl SpinFunctions {
    /// The functions of `open` shells with 2S and 2M; none where these are impossible.
    pub(super) fn new(open: usize, two_s: usize, two_m: i64) -> SpinFunctions {
        let paths = paths(open, two_s);
        let possible = two_m.unsigned_abs() as usize <= open && (open as i64 + two_m) % 2 == 0;
        let up = (open as i64 + two_m) / 2;
        let of_spin = |pattern: &u32| possible && i64::from(pattern.count_ones()) == up;
        let patterns: Vec<u32> = (0..1u32 << open).filter(of_spin).collect();
        let (mut start, mut coefficients) = (vec![0], Vec::new());
        for pattern in &patterns {
            let row = paths.iter().zip(0u16..).map(|(path, function)| (function, coefficient(*pattern, *path, open)));
            coefficients.extend(row.filter(|(_, value)| *value != 0.0));
            start.push(coefficients.len() as u32);
        }
        SpinFunctions { patterns, count: paths.len(), start, coefficients }
    }

    /// Functions and coefficients of a pattern by its place in the list.
    pub(super) fn row(&self, pattern: usize) -> &[(u16, f64)] {
        &self.coefficients[self.start[pattern] as usize..self.start[pattern + 1] as usize]
    }

    /// The place of a pattern in the list.
    pub(super) fn place(&self, pattern: u32) -> Option<usize> {
        self.patterns.binary_search(&pattern).ok()
    }
}

/// Paths of cumulative spins that end at S, a bit per step, 1 for T + ½; those that rise early come last.
fn paths(open: usize, two_s: usize) -> Vec<u32> {
    let ends = |path: &u32| {
        let mut two_t = 0i64;
        let stays = (0..open).all(|step| {
            two_t += if path >> step & 1 == 1 { 1 } else { -1 };
            two_t >= 0
        });
        stays && two_t == two_s as i64
    };
    (0..1u32 << open).filter(ends).collect()
}

/// The product of a path's factors for the spins of a pattern; 0 where a projection exceeds its spin.
fn coefficient(pattern: u32, path: u32, open: usize) -> f64 {
    let (mut two_t, mut two_m, mut squared, mut negative) = (0i64, 0i64, 1.0, false);
    for shell in 0..open {
        let (is_up, rises) = (pattern >> shell & 1 == 1, path >> shell & 1 == 1);
        two_m += if is_up { 1 } else { -1 };
        // Twice T + ½ ± M.
        let numerator = two_t + 1 + if is_up == rises { two_m } else { -two_m };
        squared *= numerator as f64 / (2 * (two_t + 1)) as f64;
        negative ^= is_up && !rises;
        two_t += if rises { 1 } else { -1 };
        if two_m.abs() > two_t || squared == 0.0 {
            return 0.0;
        }
    }
    if negative { -squared.sqrt() } else { squared.sqrt() }
}
