//! What each of several ranks holds, keeps and sends.

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
    /// Whether a rank that does not transpose has the whole vector a piece at a time.
    pub in_pieces: bool,
    /// Elements that the largest share's rank keeps for the exchange where it multiplies.
    pub kept: u64,
    /// Elements that the largest share's rank sends in one multiply.
    pub sent: u64,
}

impl RankPlan {
    /// The plan for ranks that gather whole vectors.
    pub fn gathering(dimension: u64, ranks: usize, on_cards: bool) -> RankPlan {
        let count = ranks.max(1) as u64;
        let largest_share = dimension.div_ceil(count);
        // The rows that a card makes are not always those of its share.
        let kept = dimension + if on_cards { largest_share } else { 0 };
        let sent = largest_share * (count - 1);
        RankPlan { ranks, largest_share, transposes: false, in_pieces: false, kept, sent }
    }

    /// The plan for ranks that share the vector a piece at a time, and keep so many elements for it.
    pub fn by_pieces(dimension: u64, ranks: usize, kept: u64) -> RankPlan {
        RankPlan { in_pieces: true, kept, ..RankPlan::gathering(dimension, ranks, true) }
    }

    /// Bytes of a whole vector, or a little more.
    pub fn vector_bytes(&self, scalar: ScalarType) -> u64 {
        self.largest_share.saturating_mul(self.ranks as u64).saturating_mul(scalar.bytes() as u64)
    }

    /// Bytes that all ranks keep for exchanges.
    pub fn kept_bytes(&self, scalar: ScalarType) -> u64 {
        self.kept.saturating_mul(self.ranks as u64).saturating_mul(scalar.bytes() as u64)
    }
}

impl RankPlan {
    /// What ranks do that share nothing.
    pub const ALONE: &str = "each diagonalises the whole matrix by itself, which is small; rank 0 reports\n";

    /// The same for people: what each rank holds, keeps and sends, of elements of this type.
    pub fn describe(&self, scalar: ScalarType) -> String {
        let mib = |elements: u64| format!("{:.1} MiB", elements as f64 * scalar.bytes() as f64 / f64::from(1 << 20));
        let how = match (self.transposes, self.in_pieces) {
            (true, _) => "sends to transpose a vector and back",
            (false, false) => "sends for every rank to have the whole vector",
            (false, true) => "sends for every rank to have the whole vector, a piece at a time,",
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
