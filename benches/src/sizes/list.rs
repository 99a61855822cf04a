//! The sectors that `bench hubbard --sizes` times: open chains, ladders and rectangles from 10² to 10⁹ states.
//!
//! In: nothing. Out: cases in the order of their dimension. Where the plan changes its strategy the list has a sector on
//! each side, so that a cliff shows: columns that share a block (up to 512 up states), tiles and runs (256), columns in
//! shared memory and in global memory (20,479 of f64), the packed index of 16 bits (32,767 with a sign).

use crate::case::Case;

/// (length in x, length in y, electrons of each spin).
const SECTORS: [(usize, usize, usize); 26] = [
    (5, 1, 2),  // 10² = 100
    (4, 2, 2),  // 28² = 784
    (4, 2, 3),  // 56² = 3,136
    (4, 2, 4),  // 70² = 4,900
    (3, 3, 4),  // 126² = 15,876
    (10, 1, 4), // 210² = 44,100
    (5, 2, 5),  // 252² = 63,504: the last by tiles
    (11, 1, 4), // 330² = 108,900: by runs
    (11, 1, 5), // 462² = 213,444: two columns a block
    (4, 3, 5),  // 792² = 627,264: one
    (4, 3, 6),  // 924² = 853,776
    (13, 1, 5), // 1,287² = 1,656,369
    (7, 2, 5),  // 2,002² = 4,008,004
    (5, 3, 5),  // 3,003² = 9,018,009
    (7, 2, 7),  // 3,432² = 11,778,624
    (4, 4, 5),  // 4,368² = 19,079,424: the CPU's case
    (5, 3, 7),  // 6,435² = 41,409,225
    (4, 4, 6),  // 8,008² = 64,128,064
    (4, 4, 7),  // 11,440² = 130,873,600: the paper's case
    (4, 4, 8),  // 12,870² = 165,636,900
    (6, 3, 6),  // 18,564² = 344,622,096
    (17, 1, 7), // 19,448² = 378,224,704: the last column that fits shared memory
    (17, 1, 8), // 24,310² = 590,976,100: from global memory
    (6, 3, 7),  // 31,824² = 1,012,766,976
    (6, 3, 8),  // 43,758² = 1,914,762,564: an index of more than 15 bits
    (6, 3, 9),  // 48,620² = 2,363,904,400
];

/// The list.
pub fn sectors() -> Vec<Case> {
    let case = |(length_x, length_y, n)| Case::Rectangle { length_x, length_y, up: n, down: n };
    SECTORS.into_iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_templates::ScalarType;

    /// Ascending, from 10² to 10⁹, without a gap of more than a factor of eight.
    #[test]
    fn the_list_covers_the_range() {
        let dimension = |case: &Case| case.model_file().unwrap().to_model().unwrap().dimension();
        let dimensions: Vec<u64> = sectors().iter().map(dimension).collect();
        assert_eq!((dimensions[0], dimensions[25]), (100, 2_363_904_400));
        assert!(dimensions.windows(2).all(|pair| pair[0] < pair[1] && pair[1] < 8 * pair[0]), "{dimensions:?}");
    }

    /// The strategies of the comments are those of the plan.
    #[test]
    fn the_strategies_change_where_the_list_says() {
        let shape = |text: &str| {
            let case: Case = text.parse().unwrap();
            case.model_file().unwrap().to_model().unwrap().multiply_without_constant(ScalarType::F64).unwrap().shape()
        };
        assert!(shape("5x2:5,5").contains("tiles") && shape("11x1:4,4").contains("runs"));
        assert!(shape("11x1:5,5").contains("up: 2 columns") && shape("4x3:5,5").contains("up: 1 columns"));
        assert!(shape("17x1:7,7").contains("shared") && shape("17x1:8,8").contains("global"));
    }
}
