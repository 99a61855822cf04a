//! What each of several ranks holds, keeps and sends.

use crate::exact::model::Model;
use crate::exact::structure::Moves;
use eigenforge_templates::ScalarType;

/// What each rank holds and sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    /// Number of ranks.
    pub ranks: usize,
    /// Elements of the largest share of a vector.
    pub largest_share: u64,
    /// Whether a multiply transposes the vector; else every rank gathers it.
    pub transposes: bool,
    /// Elements that the largest share's rank keeps for the exchange where it multiplies.
    pub kept: u64,
    /// Elements that the largest share's rank sends in one multiply.
    pub sent: u64,
}

impl RankPlan {
    /// The plan for so many ranks, each on its CPU cores or on a card.
    pub(in crate::exact) fn new(model: &Model, ranks: usize, on_cards: bool) -> RankPlan {
        let (dimension, count) = (model.dimension(), ranks.max(1) as u64);
        let share = dimension.div_ceil(count);
        match (&model.structure().moves, model.basis().species()) {
            (Moves::Kronecker { .. }, Some((up, down))) => {
                let (rows, columns) = (up.len() as u64, down.len() as u64);
                let [own_rows, own_columns] = [rows, columns].map(|length| length.div_ceil(count));
                let (share, turned) = (own_columns * rows, own_rows * columns);
                let sent = own_columns * (rows - own_rows) + own_rows * (columns - own_columns);
                // A card has what came and its product, and what is added to its share.
                let kept = if on_cards { 2 * share.max(turned) + share } else { 2 * share.max(turned) };
                RankPlan { ranks, largest_share: share, transposes: true, kept, sent }
            }
            _ => {
                // The rows that a card makes are not always those of its share.
                let kept = dimension + if on_cards { share } else { 0 };
                RankPlan { ranks, largest_share: share, transposes: false, kept, sent: share * (count - 1) }
            }
        }
    }
}

impl RankPlan {
    /// What ranks do that share nothing.
    pub const ALONE: &str = "each diagonalises the whole matrix by itself, which is small; rank 0 reports\n";

    /// The same for people: what each rank holds, keeps and sends, of elements of this type.
    pub fn describe(&self, scalar: ScalarType) -> String {
        let mib = |elements: u64| format!("{:.1} MiB", elements as f64 * scalar.bytes() as f64 / f64::from(1 << 20));
        let how = match self.transposes {
            true => "sends to transpose a vector and back",
            false => "sends for every rank to have the whole vector",
        };
        format!(
            "each holds up to {} of a vector, keeps {} for exchanges, and in a multiply {how} {}; averages and vectors in files are \
             gathered by rank 0\n",
            mib(self.largest_share),
            mib(self.kept),
            mib(self.sent)
        )
    }
}
