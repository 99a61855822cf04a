//! Several vectors multiplied at once: which multiplies of 2, 3, … vectors there are, and how a block is divided among them.

use super::multiply::Multiply;
use eigenforge_templates::exact::VectorDivision;
use std::sync::Arc;

/// Fewer numbers than this take no text of several vectors: a multiply takes less than 0.1 ms then, and NVRTC a second.
const LEAST_NUMBERS: u64 = 1 << 22;

/// The plans for several vectors at once.
#[derive(Default)]
pub struct SeveralPlans {
    /// Predicted milliseconds of one vector.
    pub one: Option<f64>,
    /// Multiplies of 2, 3, … vectors with their milliseconds; `None` where it is quicker to divide them.
    pub plans: Vec<Option<(Arc<dyn Multiply>, f64)>>,
}

impl SeveralPlans {
    /// Those that are predicted to be quicker than any division into smaller numbers, of vectors of `numbers` elements; none where a
    /// multiply is too short for it to matter.
    pub fn quicker(self, numbers: usize) -> SeveralPlans {
        if (numbers as u64) < LEAST_NUMBERS {
            return SeveralPlans::default();
        }
        let mut found = self;
        for vectors in 2..=found.plans.len() as u32 + 1 {
            if found.division(vectors).groups != [vectors] {
                found.plans[vectors as usize - 2] = None;
            }
        }
        found
    }

    /// The same with times for which as many vectors as possible are multiplied at once.
    pub fn forced(self) -> SeveralPlans {
        let plans = self.plans.into_iter().map(|plan| plan.map(|(multiply, _)| (multiply, 1.0)));
        SeveralPlans { one: Some(1.0), plans: plans.collect() }
    }

    /// The plans that there are.
    pub fn plans(&self) -> impl Iterator<Item = &Arc<dyn Multiply>> {
        self.plans.iter().flatten().map(|(multiply, _)| multiply)
    }

    /// How `vectors` vectors are divided.
    pub fn division(&self, vectors: u32) -> VectorDivision {
        VectorDivision::new(vectors, |count| match count {
            0 => None,
            1 => self.one,
            _ => self.plans.get(count as usize - 2)?.as_ref().map(|(_, milliseconds)| *milliseconds),
        })
    }
}
