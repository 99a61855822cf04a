//! How H was multiplied in a run.

use super::estimate::ProductKind;
use super::storage::StoragePlan;
use eigenforge_product::sparse::Format;
use eigenforge_product::{Hamiltonian, MultiplyPlan, PlannedChoice};
use eigenforge_runtime::Device;
use eigenforge_runtime::tune::{Choice, ShapeUsed};

/// How H was multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageUsed {
    /// As a matrix, or from the integrals.
    pub storage: ProductKind,
    /// What each way would take, and why this one.
    pub choice: PlannedChoice,
    /// The format of a stored matrix.
    pub format: Option<Format>,
    /// Why this format, or why no matrix on a card.
    pub reason: Option<String>,
    /// Elements of a stored matrix.
    pub non_zeros: Option<u64>,
    /// The shape of the generated product; none where no kernel runs.
    pub shape: Option<ShapeUsed>,
}

impl StorageUsed {
    pub(super) fn new(
        plan: StoragePlan,
        multiply: &MultiplyPlan,
        (operator, device): (&Hamiltonian<'_>, &Device),
        choice: Option<Choice>,
    ) -> StorageUsed {
        let stored = multiply.0.format();
        let of_cards = operator.sharing().map_or(String::new(), |sharing| format!("; of several cards {sharing}"));
        let of_format = stored.as_ref().and_then(|stored| Some(stored.ranking?.reason.clone() + &of_cards));
        let by_kernels = device.runs_kernels();
        let shape = (by_kernels && device.ranks().is_none()).then(|| ShapeUsed::new(multiply.shape(), choice));
        StorageUsed {
            storage: plan.way,
            choice: PlannedChoice::from(&plan),
            format: stored.as_ref().map(|stored| stored.format),
            reason: of_format.or_else(|| by_kernels.then_some(plan.reason)),
            non_zeros: stored.map(|stored| stored.non_zeros),
            shape,
        }
    }
}
