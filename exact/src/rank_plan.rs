//! What each of several ranks holds, keeps and sends of a lattice model.

use crate::model::Model;
use crate::structure::Moves;
use eigenforge_product::ranks::RankPlan;

/// The plan for so many ranks, each on its CPU cores or on a card.
pub(super) fn rank_plan(model: &Model, ranks: usize, on_cards: bool) -> RankPlan {
    let (dimension, count) = (model.dimension(), ranks.max(1) as u64);
    match (&model.structure().moves, model.basis().species()) {
        (Moves::Kronecker { .. }, Some((up, down))) if !model.way().stores_matrix() => {
            let (rows, columns) = (up.len() as u64, down.len() as u64);
            let [own_rows, own_columns] = [rows, columns].map(|length| length.div_ceil(count));
            let (share, turned) = (own_columns * rows, own_rows * columns);
            let sent = own_columns * (rows - own_rows) + own_rows * (columns - own_columns);
            // A card has what came and its product, and what is added to its share.
            let kept = if on_cards { 2 * share.max(turned) + share } else { 2 * share.max(turned) };
            RankPlan { ranks, largest_share: share, transposes: true, in_pieces: false, kept, sent }
        }
        _ => RankPlan::gathering(dimension, ranks, on_cards),
    }
}
