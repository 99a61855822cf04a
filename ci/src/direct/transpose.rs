//! Eight rows of eight numbers by columns: what turns the rows of strings into lanes and back.
//!
//! The compiler makes gathers of a loop that copies number by number, which take three times as long as shuffles of whole registers.

use super::super::vector_number::{LANES, Square};

/// Number by number.
#[inline(always)]
pub(super) fn transpose_numbers(rows: &Square) -> Square {
    std::array::from_fn(|column| std::array::from_fn(|row| rows[row][column]))
}

/// By registers of eight numbers: pairs of rows first, then quarters of registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose_registers(rows: &Square) -> Square {
    use std::arch::x86_64::*;
    // SAFETY: a row has eight numbers.
    let rows = rows.each_ref().map(|row| unsafe { _mm512_loadu_pd(row.as_ptr()) });
    let mut columns = [[0.0; LANES]; LANES];
    // SAFETY: a column has eight numbers.
    let mut write = |column: usize, from| unsafe { _mm512_storeu_pd(columns[column].as_mut_ptr(), from) };
    let even: [__m512d; 4] = std::array::from_fn(|pair| _mm512_unpacklo_pd(rows[2 * pair], rows[2 * pair + 1]));
    let odd: [__m512d; 4] = std::array::from_fn(|pair| _mm512_unpackhi_pd(rows[2 * pair], rows[2 * pair + 1]));
    for (first, of_pairs) in [(0, even), (1, odd)] {
        let near = [0, 2].map(|pair| _mm512_shuffle_f64x2::<0x88>(of_pairs[pair], of_pairs[pair + 1]));
        let far = [0, 2].map(|pair| _mm512_shuffle_f64x2::<0xdd>(of_pairs[pair], of_pairs[pair + 1]));
        write(first, _mm512_shuffle_f64x2::<0x88>(near[0], near[1]));
        write(first + 2, _mm512_shuffle_f64x2::<0x88>(far[0], far[1]));
        write(first + 4, _mm512_shuffle_f64x2::<0xdd>(near[0], near[1]));
        write(first + 6, _mm512_shuffle_f64x2::<0xdd>(far[0], far[1]));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_columns() {
        let rows: Square = std::array::from_fn(|row| std::array::from_fn(|column| (10 * row + column) as f64));
        let columns = transpose_numbers(&rows);
        assert!((0..64).all(|k| columns[k % 8][k / 8] == rows[k / 8][k % 8]));
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            assert_eq!(unsafe { transpose_registers(&rows) }, columns);
        }
    }
}
