//! How y = H x runs on a card.
//!
//! Three of the paper's strategies (Nemes, Barcza, Nagy, Legeza and Szolgay 2014, section 7) run the operation records
//! through cuBLAS, product by product; `planned` runs them in one generated launch per stage. The records are always the
//! same, and so are the results.

use serde::{Deserialize, Serialize};

/// How H x runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// One launch of the generated kernel per stage; on the CPU one task per output block.
    #[default]
    #[serde(rename = "planned")]
    Planned,
    /// cuBLAS products, with output blocks distributed over four streams.
    #[serde(rename = "4streams")]
    FourStreams,
    /// cuBLAS products, one after the other.
    #[serde(rename = "nostreams")]
    NoStreams,
    /// cuBLAS products on four streams with the operators in host memory, copied before each product that reads them: a
    /// design that the paper outlines for blocks that do not fit on the card.
    #[serde(rename = "nostreamstorage")]
    NoStreamStorage,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 4] =
        [Strategy::Planned, Strategy::FourStreams, Strategy::NoStreams, Strategy::NoStreamStorage];

    /// Its name in `[dmrg] strategy`.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Planned => "planned",
            Strategy::FourStreams => "4streams",
            Strategy::NoStreams => "nostreams",
            Strategy::NoStreamStorage => "nostreamstorage",
        }
    }

    /// A line for the report.
    pub fn describe(self) -> &'static str {
        match self {
            Strategy::Planned => {
                "records of a stage in one launch of a generated kernel; on the CPU, one task an output block"
            }
            Strategy::FourStreams => "records through cuBLAS, output blocks dealt out to four streams",
            Strategy::NoStreams => "records through cuBLAS, one after the other",
            Strategy::NoStreamStorage => {
                "records through cuBLAS on four streams, operators copied from host memory before each product"
            }
        }
    }
}
