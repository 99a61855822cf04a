//! Whether several states of a bond share one basis, or are searched for one after the other.

use serde::{Deserialize, Serialize};

/// Operations of a product per element and state above the first from which a common basis is predicted to pay. It saves a tenth of the
/// products, but each works on as many times the vectors: docs/notes/dmrg-on-a-card.md.
const LEAST_FLOPS: f64 = 20_000.0;

/// The bases of the states that share their kept states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BasisChoice {
    /// A common one at each bond where it is predicted to pay.
    #[default]
    Planned,
    /// A common one (Davidson–Liu) wherever it has room for all states.
    Common,
    /// One for each state, orthogonal to the states before.
    Each,
}

impl BasisChoice {
    /// All of them.
    pub const ALL: [BasisChoice; 3] = [BasisChoice::Planned, BasisChoice::Common, BasisChoice::Each];

    /// Its name in `[dmrg] basis`.
    pub fn name(self) -> &'static str {
        match self {
            BasisChoice::Planned => "planned",
            BasisChoice::Common => "common",
            BasisChoice::Each => "each",
        }
    }

    /// Whether so many states of `n` elements, with products of `flops` operations, take a common basis.
    pub fn is_common(self, flops: f64, n: usize, states: usize) -> bool {
        states > 1
            && match self {
                BasisChoice::Planned => flops > LEAST_FLOPS * n as f64 * (states - 1) as f64,
                BasisChoice::Common => true,
                BasisChoice::Each => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_basis_for_long_products() {
        let planned = |flops, n, states| BasisChoice::Planned.is_common(flops, n, states);
        assert!(planned(4.1e9, 100_000, 3) && !planned(3.9e9, 100_000, 3) && !planned(1e12, 10, 1));
        assert!(BasisChoice::Common.is_common(0.0, 10, 2) && !BasisChoice::Each.is_common(1e12, 10, 2));
    }
}
