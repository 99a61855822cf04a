//! How H x runs in a solve on a card.
//!
//! Three of the paper's strategies (Nemes, Barcza, Nagy, Legeza and Szolgay 2014, section 7) run the operation records
//! through cuBLAS, product by product; `planned` runs them in one generated launch per stage. The records are always the
//! planned ones: the paper's own list, with dense site operators, is in the member `benches` (`dmrg::full_block`). The
//! rest of a run (blocks, truncation, vectors) is the same, and so are the energies.

use super::error::DmrgError;
use eigenforge_runtime::Device;
use serde::Serialize;

/// How H x runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

    /// Refuses a strategy that a device does not support.
    ///
    /// # Errors
    /// A cuBLAS strategy without a card.
    pub fn check(self, device: &Device) -> Result<(), DmrgError> {
        match self == Strategy::Planned || device.is_cuda() {
            true => Ok(()),
            false => Err(self.refused(device.name())),
        }
    }

    /// The error of an engine without cuBLAS.
    pub(super) fn refused(self, found: String) -> DmrgError {
        DmrgError::NeedsCard { strategy: self.name(), found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_card_has_more_than_the_planned_one() {
        let cpu = Device::cpu();
        Strategy::Planned.check(&cpu).unwrap();
        for strategy in &Strategy::ALL[1..] {
            let said = strategy.check(&cpu).unwrap_err().to_string();
            let (name, found) = (strategy.name(), cpu.name());
            assert!(said.contains(&format!("strategy = \"{name}\"")) && said.contains(&found), "{said}");
            assert!(said.contains("--device cuda:0") && said.contains("\"planned\""), "what to do: {said}");
        }
    }

    #[test]
    fn a_report_names_them_as_files_do() {
        for strategy in Strategy::ALL {
            assert_eq!(serde_json::to_string(&strategy).unwrap(), format!("\"{}\"", strategy.name()));
        }
    }
}
