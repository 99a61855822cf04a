//! Numbers as products without a matrix read them from vectors, which hold the real parts of each number side by side.
//!
//! In registers eight numbers are *lanes*, the parts of one kind side by side: a complex product is four real ones, lane by lane.

use super::orbital_number::OrbitalNumber;
use eigenforge_runtime::Scalar;
use num_complex::Complex64;

/// Numbers per register, and real ones per cache line.
pub(super) const LANES: usize = 8;

/// Eight rows of eight real parts.
pub(super) type Square = [[f64; LANES]; LANES];

/// A number of vectors.
pub(super) trait VectorNumber: OrbitalNumber + 'static {
    /// Real parts.
    const PARTS: usize;

    /// Eight numbers.
    type Lanes: Copy + Send + Sync;

    /// Eight zeros.
    const ZEROS: Self::Lanes;

    /// The number at a place of a vector.
    fn read<S: Scalar>(parts: &[S], place: usize) -> Self;

    /// Writes it to a place of a vector.
    fn write<S: Scalar>(self, parts: &mut [S], place: usize);

    /// Eight numbers by their lanes.
    fn lanes(number: impl Fn(usize) -> Self) -> Self::Lanes;

    /// Eight rows of numbers, a row a lane, as eight lines of lanes; `transpose` is that of real parts.
    fn lines(rows: &[[Self; LANES]; LANES], transpose: impl Fn(&Square) -> Square) -> [Self::Lanes; LANES];

    /// Eight lines of lanes as eight rows of numbers, a row a lane.
    fn rows(lines: &[Self::Lanes; LANES], transpose: impl Fn(&Square) -> Square) -> [[Self; LANES]; LANES];

    /// Adds a number to that of a lane.
    fn add_to_lane(self, lanes: &mut Self::Lanes, lane: usize);

    /// sum += self × from, lane by lane.
    fn add_scaled(self, sum: &mut Self::Lanes, from: &Self::Lanes);

    /// sum += values × from, lane by lane.
    fn add_product(sum: &mut Self::Lanes, values: &Self::Lanes, from: &Self::Lanes);
}

impl VectorNumber for f64 {
    const PARTS: usize = 1;
    type Lanes = [f64; LANES];
    const ZEROS: [f64; LANES] = [0.0; LANES];

    #[inline(always)]
    fn read<S: Scalar>(parts: &[S], place: usize) -> f64 {
        parts[place].to_f64()
    }

    #[inline(always)]
    fn write<S: Scalar>(self, parts: &mut [S], place: usize) {
        parts[place] = S::from_f64(self);
    }

    #[inline(always)]
    fn lanes(number: impl Fn(usize) -> f64) -> [f64; LANES] {
        std::array::from_fn(number)
    }

    #[inline(always)]
    fn lines(rows: &Square, transpose: impl Fn(&Square) -> Square) -> Square {
        transpose(rows)
    }

    #[inline(always)]
    fn rows(lines: &Square, transpose: impl Fn(&Square) -> Square) -> Square {
        transpose(lines)
    }

    #[inline(always)]
    fn add_to_lane(self, lanes: &mut [f64; LANES], lane: usize) {
        lanes[lane] += self;
    }

    #[inline(always)]
    fn add_scaled(self, sum: &mut [f64; LANES], from: &[f64; LANES]) {
        sum.iter_mut().zip(from).for_each(|(sum, from)| *sum += self * from);
    }

    #[inline(always)]
    fn add_product(sum: &mut [f64; LANES], values: &[f64; LANES], from: &[f64; LANES]) {
        sum.iter_mut().zip(values.iter().zip(from)).for_each(|(sum, (value, from))| *sum += value * from);
    }
}

impl VectorNumber for Complex64 {
    const PARTS: usize = 2;
    /// Real parts, imaginary parts.
    type Lanes = [[f64; LANES]; 2];
    const ZEROS: [[f64; LANES]; 2] = [[0.0; LANES]; 2];

    #[inline(always)]
    fn read<S: Scalar>(parts: &[S], place: usize) -> Complex64 {
        Complex64::new(parts[2 * place].to_f64(), parts[2 * place + 1].to_f64())
    }

    #[inline(always)]
    fn write<S: Scalar>(self, parts: &mut [S], place: usize) {
        parts[2 * place] = S::from_f64(self.re);
        parts[2 * place + 1] = S::from_f64(self.im);
    }

    #[inline(always)]
    fn lanes(number: impl Fn(usize) -> Complex64) -> [[f64; LANES]; 2] {
        [std::array::from_fn(|lane| number(lane).re), std::array::from_fn(|lane| number(lane).im)]
    }

    #[inline(always)]
    fn lines(rows: &[[Complex64; LANES]; LANES], transpose: impl Fn(&Square) -> Square) -> [[[f64; LANES]; 2]; LANES] {
        let re = transpose(&rows.map(|row| row.map(|number| number.re)));
        let im = transpose(&rows.map(|row| row.map(|number| number.im)));
        std::array::from_fn(|line| [re[line], im[line]])
    }

    #[inline(always)]
    fn rows(lines: &[[[f64; LANES]; 2]; LANES], transpose: impl Fn(&Square) -> Square) -> [[Complex64; LANES]; LANES] {
        let (re, im) = (transpose(&lines.map(|line| line[0])), transpose(&lines.map(|line| line[1])));
        std::array::from_fn(|lane| std::array::from_fn(|k| Complex64::new(re[lane][k], im[lane][k])))
    }

    #[inline(always)]
    fn add_to_lane(self, lanes: &mut [[f64; LANES]; 2], lane: usize) {
        lanes[0][lane] += self.re;
        lanes[1][lane] += self.im;
    }

    #[inline(always)]
    fn add_scaled(self, [re, im]: &mut [[f64; LANES]; 2], from: &[[f64; LANES]; 2]) {
        for lane in 0..LANES {
            re[lane] += self.re * from[0][lane] - self.im * from[1][lane];
            im[lane] += self.re * from[1][lane] + self.im * from[0][lane];
        }
    }

    #[inline(always)]
    fn add_product([re, im]: &mut [[f64; LANES]; 2], values: &[[f64; LANES]; 2], from: &[[f64; LANES]; 2]) {
        for lane in 0..LANES {
            re[lane] += values[0][lane] * from[0][lane] - values[1][lane] * from[1][lane];
            im[lane] += values[0][lane] * from[1][lane] + values[1][lane] * from[0][lane];
        }
    }
}
