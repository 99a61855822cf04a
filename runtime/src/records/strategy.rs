//! How y = H x runs on a card.
//!
//! Three of the paper's strategies (Nemes, Barcza, Nagy, Legeza and Szolgay 2014, section 7) run the operation records
//! through cuBLAS, product by product; `planned` runs them in one generated launch per stage. The records are always the
//! same, and so are the results. Runs of users take `planned`; the others are for `eigenforge bench`.

/// How H x runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// One launch of the generated kernel per stage; on the CPU one task per output block.
    #[default]
    Planned,
    /// cuBLAS products, with output blocks distributed over four streams.
    FourStreams,
    /// cuBLAS products, one after the other.
    NoStreams,
    /// cuBLAS products on four streams with the operators in host memory, copied before each product that reads them: a
    /// design that the paper outlines for blocks that do not fit on the card.
    NoStreamStorage,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 4] =
        [Strategy::Planned, Strategy::FourStreams, Strategy::NoStreams, Strategy::NoStreamStorage];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Planned => "planned",
            Strategy::FourStreams => "4streams",
            Strategy::NoStreams => "nostreams",
            Strategy::NoStreamStorage => "nostreamstorage",
        }
    }
}
