//! Several vectors multiplied at once by columns in shared memory: the plan, and the time that it is predicted to take.
//!
//! ```text
//! read once for all vectors   words of the lists, rows of factors, amplitudes, the diagonal, where columns begin
//! read for each vector        its own column (to shared memory), whole columns and partners of others (from L2)
//! ```
//!
//! The columns of k vectors need k times the shared memory, or a smaller low part, whose terms beyond it are more. So k vectors at
//! once are quicker where columns are short or lists are long, and slower than k launches elsewhere.
//!
//! The rates are those of one H200 at work on one vector (docs/notes/general-multiply.md): what an element of each list takes, divided among what
//! is read once and what is read for each vector by the lines of L1 that it loads. For two vectors their order is that of measured
//! times; four take more than two launches of two (the same note), so that there is no text for them.

use super::coefficients::CoefficientArguments;
use super::lists::ColumnLists;
use super::shape::{SHARED_BYTES, STAGED_BYTES};
use super::{GeneralPlan, GeneralShape, GeneralStrategy, PredictedTimes, TableSizes};
use crate::ScalarType;
use crate::text::TextError;

/// Most vectors multiplied at once: a thread has a sum for each.
pub const MOST_VECTORS: u32 = 2;

/// Picoseconds of an H200 for a row: once, and for each vector of 8 bytes a number.
struct Rate {
    once: f64,
    each: f64,
}

/// An element within the low part. 0.17 ms for 16.3 words in each of 40,116,600 rows (J1-J2 ring of 28), 0.55 ms for 15 of 155,117,520
/// (kagome torus of 30).
const LOW: Rate = Rate { once: 0.05, each: 0.2 };
/// An element of a whole column. 0.66 ms for 12.5 (J1-J2 ring), 2.2 ms for 11 (kagome).
const WHOLE: Rate = Rate { once: 0.1, each: 1.2 };
/// An element across. 0.26 ms for 3 (J1-J2 ring), 1.35 ms for 3 (kagome); half of that is until the factor's row is known.
const CROSS: Rate = Rate { once: 1.2, each: 1.2 };
/// The row itself: x, y, diagonal. 0.35 ms and 0.9 ms.
const ROW: Rate = Rate { once: 1.0, each: 6.0 };
/// How much slower columns of others are read where shared memory leaves less to the cache, for each [`STAGED_BYTES`] of a block
/// beyond the first: kagome takes 4.8, 5.5 and 7.1 ms with one, two and four columns.
const CACHE_LOST: f64 = 0.25;
/// The part of the time that several vectors must save to be worth a text of their own.
const LEAST_GAIN: f64 = 0.03;

impl Rate {
    /// Picoseconds for `vectors` vectors with numbers of `width` times 8 bytes.
    fn picoseconds(&self, vectors: f64, width: f64) -> f64 {
        self.once + self.each * vectors * width
    }
}

impl GeneralPlan {
    /// The plan for several vectors at once with these lists, in the shape that is predicted to be quickest; `None` where their columns
    /// do not fit shared memory, or the plan has none.
    pub fn for_vectors(&self, vectors: u32, sizes: TableSizes, lists: &ColumnLists) -> Option<GeneralPlan> {
        let GeneralStrategy::Staged { .. } = self.shape.strategy else { return None };
        let TableSizes { low_bits, parts, low_states, high_parts } = sizes;
        let plan = |columns: u32| {
            let shape = GeneralShape::of_vectors(self.scalar, self.dimension, lists, columns);
            let lists = Some(lists.clone());
            GeneralPlan { low_bits, parts, low_states, high_parts, lists, shape, vectors, ..self.clone() }
        };
        let bytes = |columns: u32| lists.shared_bytes(columns * vectors, self.scalar.bytes() as u64);
        let columns = [1, 2].map(|columns| columns * lists.together()).into_iter();
        let plans = columns.filter(|columns| bytes(*columns) <= SHARED_BYTES).map(plan);
        let quickest = plans.min_by(|a, b| a.picoseconds_a_row().total_cmp(&b.picoseconds_a_row()))?;
        let apart = f64::from(vectors) * self.predicted_milliseconds()?;
        let predicted = Some(PredictedTimes { together: quickest.predicted_milliseconds()?, apart });
        Some(GeneralPlan { coefficients: self.arguments_of(&quickest).ok().flatten(), predicted, ..quickest })
    }

    /// The coefficients that are arguments here, as those of another text in which the same coefficients follow each other.
    fn arguments_of(&self, other: &GeneralPlan) -> Result<Option<CoefficientArguments>, TextError> {
        let Some(arguments) = self.fitting_arguments() else { return Ok(None) };
        Ok(arguments.of_text(&self.collect_coefficients()?, other.collect_coefficients()?))
    }

    /// Threads on a multiprocessor for which the text leaves registers: 64 for each, or 128 where there are many sums. With 64 sums of
    /// more than four columns spill, and so do complex ones (sm_90, NVRTC 13.5).
    pub(super) fn resident_threads(&self, columns: u32) -> u32 {
        let complex = self.lists.as_ref().is_some_and(|lists| lists.complex);
        if complex || columns * self.vectors > 4 { 512 } else { 1024 }
    }

    /// Predicted time of a multiply by columns, divided by the rows: in picoseconds, of one H200. Zero without columns.
    fn picoseconds_a_row(&self) -> f64 {
        let (Some(lists), GeneralStrategy::Staged { columns }) = (&self.lists, self.shape.strategy) else { return 0.0 };
        let own = (self.parts / u64::from(lists.together())).max(1) as f64;
        let rows = (lists.slices * u64::from(self.warp.lanes())).max(1) as f64;
        let taken = f64::from(lists.taken(columns));
        // A complex number is a pair.
        let width = f64::from(lists.together()) * if self.scalar == ScalarType::F32 { 0.5 } else { 1.0 };
        let vectors = f64::from(self.vectors);
        let bytes = lists.shared_bytes(columns * self.vectors, self.scalar.bytes() as u64) as f64;
        let beyond = (bytes / STAGED_BYTES as f64 - 1.0).max(0.0);
        let low = lists.low.words as f64 / rows * (LOW.once / taken + LOW.each * vectors * width);
        let others = lists.whole.words as f64 / own * WHOLE.picoseconds(vectors, width)
            + lists.cross.words as f64 / own * CROSS.picoseconds(vectors, width);
        low + others * (1.0 + CACHE_LOST * beyond) + ROW.picoseconds(vectors, width)
    }

    /// Predicted milliseconds of a multiply of its vectors on one H200; `None` without columns in shared memory.
    pub fn predicted_milliseconds(&self) -> Option<f64> {
        let lists = self.lists.as_ref()?;
        let rows = self.dimension as f64 / f64::from(lists.together());
        let GeneralStrategy::Staged { .. } = self.shape.strategy else { return None };
        Some(self.picoseconds_a_row() * rows * 1e-9)
    }
}

/// The quickest way to multiply some vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorDivision {
    /// How many are multiplied at once, in order.
    pub groups: Vec<u32>,
    /// The time of all.
    pub milliseconds: f64,
}

impl VectorDivision {
    /// Divides `vectors` vectors into groups; `milliseconds(k)` is the time of k at once, `None` if there is no such text. A text of
    /// several vectors must save 3 % of the time of the best division into smaller groups.
    pub fn new(vectors: u32, milliseconds: impl Fn(u32) -> Option<f64>) -> VectorDivision {
        let mut best: Vec<VectorDivision> = vec![VectorDivision { groups: Vec::new(), milliseconds: 0.0 }];
        for count in 1..=vectors {
            let with = |last: u32| {
                let (own, rest) = (milliseconds(last)?, &best[(count - last) as usize]);
                let groups = [&[last], &rest.groups[..]].concat();
                Some(VectorDivision { groups, milliseconds: own + rest.milliseconds })
            };
            // A text that does not pay for its own number pays for no other.
            let is_kept = |last: &u32| best[*last as usize].groups == [*last];
            let smaller = (1..count.min(MOST_VECTORS + 1)).rev().filter(is_kept).filter_map(with);
            let divided = smaller.min_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
            let whole = with(count).filter(|_| count <= MOST_VECTORS);
            let pays = |whole: &VectorDivision, divided: &VectorDivision| {
                whole.milliseconds < (1.0 - LEAST_GAIN) * divided.milliseconds
            };
            best.push(match (whole, divided) {
                (Some(whole), Some(divided)) if pays(&whole, &divided) => whole,
                (_, Some(divided)) => divided,
                (Some(whole), None) => whole,
                (None, None) => VectorDivision { groups: vec![1; count as usize], milliseconds: f64::INFINITY },
            });
        }
        best.swap_remove(vectors as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs, where they pay.
    #[test]
    fn vectors_are_divided_where_it_is_quickest() {
        let groups = |vectors, times: &[f64]| {
            VectorDivision::new(vectors, |k| times.get(k as usize - 1).copied().filter(|time| *time > 0.0)).groups
        };
        assert_eq!(groups(0, &[1.0]), [0u32; 0]);
        assert_eq!(groups(3, &[1.0]), [1, 1, 1]);
        assert_eq!(groups(2, &[1.0, 1.5]), [2]);
        assert_eq!(groups(5, &[1.0, 1.5]), [2, 2, 1]);
        assert_eq!(groups(4, &[1.0, 1.95]), [1, 1, 1, 1], "a fortieth is no gain");
        assert_eq!(groups(3, &[1.0, 0.0]), [1, 1, 1], "no text for two");
    }
}
