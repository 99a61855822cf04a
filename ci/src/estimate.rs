//! What a way to multiply costs on a machine, and the machine as this sees it.

use eigenforge_product::sparse::Target;
use eigenforge_runtime::machine::{Card, Machine, Processor};
use eigenforge_runtime::{Device, Memory};
use eigenforge_templates::Warp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of ways to multiply by H.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProductKind {
    /// A sparse matrix.
    Stored,
    /// From the integrals.
    Direct,
    /// From a table that a card makes of the integrals.
    Table,
}

impl fmt::Display for ProductKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProductKind::Stored => "stored",
            ProductKind::Direct => "direct",
            ProductKind::Table => "table",
        })
    }
}

/// Products of a certified solve of one state, over which the set-up is amortised.
pub const PRODUCTS: f64 = 100.0;

/// Seconds of one core to list one move: the time of the Xeon cores beside an H200 is used for all processors, since no rate measures this
/// integer work.
pub(super) const SECONDS_A_MOVE: f64 = 1.5e-7;
/// Overhead of any product on a card, in launches: its launches, and barriers of blocks with little work; 20 µs on an
/// H200.
pub(super) const LAUNCHES: f64 = 2e-5 / Card::H200.launch_seconds;

/// The cost of one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The way.
    pub way: ProductKind,
    /// What it stores on the device, in words.
    pub what: String,
    /// Bytes on the device; of several ranks, on all of them.
    pub bytes: u64,
    /// Bytes on the devices of several ranks for what they send each other.
    pub exchanged: u64,
    /// Bytes on the host while it is set up.
    pub host_bytes: u64,
    /// Seconds to set it up.
    pub set_up: f64,
    /// Seconds of a product.
    pub product: f64,
}

impl Estimate {
    /// Seconds of a whole solve.
    pub fn seconds(&self) -> f64 {
        self.set_up + PRODUCTS * self.product
    }
}

/// Neither way fits, or the requested one does not exist.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A product straight from the integrals was requested where it does not exist.
    #[error(
        "storage = \"direct\" with a list of {rows} determinants on {device}: there only rows of full CI and of spaces up to \
         a level of excitation can be recomputed; use storage = \"stored\" or --device cpu"
    )]
    NotDirect {
        /// Determinants of the list.
        rows: u64,
        /// The device.
        device: String,
    },
    /// A table was asked for where there is none.
    #[error(
        "storage = \"table\" on {device}: {why}; tables are of spaces up to a level of excitation, on one card. Use storage = \"direct\", \
         \"stored\" or \"auto\""
    )]
    NoTable {
        /// The device.
        device: String,
        /// Why not.
        why: String,
    },
    /// No matrix was requested of configuration state functions whose determinants are only stored.
    #[error(
        "storage = \"{word}\" of configuration state functions on {device}: {why}; use storage = {}\"stored\" or \"auto\"",
        if *word == "table" { "\"direct\", " } else { "" }
    )]
    StoredOnly {
        /// What was requested.
        word: &'static str,
        /// The device.
        device: String,
        /// Why not.
        why: String,
    },
    /// Too little memory.
    #[error("{plan}\nneither fits {device} with {free:.2} GiB free: {nearest}")]
    Memory {
        /// What each item would take.
        plan: String,
        /// The device.
        device: String,
        /// The device's memory in GiB.
        free: f64,
        /// Advice on what would fit.
        nearest: String,
    },
}

/// The properties of the device that matter here.
#[derive(Clone, Copy)]
pub(super) struct StorageTarget {
    pub processor: Processor,
    /// The card, if generated kernels run there.
    pub card: Option<Card>,
    /// The width of its warps.
    pub warp: Warp,
    pub free: u64,
    pub host_free: u64,
    /// Of processes that solve together: how many there are, and on this machine.
    pub ranks: Option<[u64; 2]>,
    /// Cards that solve together.
    pub cards: u32,
}

impl StorageTarget {
    pub(super) fn from_device(device: &Device) -> StorageTarget {
        let (Memory { free, .. }, host) = (device.memory(), Device::cpu().memory());
        let place = StorageTarget {
            free,
            host_free: host.free,
            warp: device.warp(),
            cards: device.cards_at_work(),
            ..StorageTarget::from_machine(&Machine::new(device))
        };
        let Some(ranks) = device.ranks() else { return place };
        // What all of them see alike; a rank that failed is heard of at the next step.
        let least =
            |free: u64| ranks.largest("free memory of the hosts", -(free as f64)).map_or(free, |least| -least as u64);
        let of_ranks = [ranks.count(), ranks.on_this_machine()].map(|count| count as u64);
        StorageTarget { host_free: least(host.free), ranks: Some(of_ranks), ..place }
    }

    /// A machine, which need not be present: all of a card's memory, or without a card the free memory of this computer.
    pub(super) fn from_machine(machine: &Machine) -> StorageTarget {
        let processor = machine.processor.values;
        let Some(card) = machine.card.as_ref().map(|card| card.values) else {
            let Memory { free, .. } = Device::cpu().memory();
            let warp = Warp::NVIDIA;
            return StorageTarget { processor, card: None, warp, free, host_free: free, ranks: None, cards: 1 };
        };
        let free = Target::all_of(card).free_bytes;
        let (warp, host_free) = (Warp::NVIDIA, u64::MAX);
        StorageTarget { processor, card: Some(card), warp, free, host_free, ranks: None, cards: 1 }
    }

    /// Whether a way fits beside so many bytes of vectors.
    pub(super) fn holds(&self, way: &Estimate, vectors: u64) -> bool {
        way.bytes.saturating_add(way.exchanged).saturating_add(vectors) <= self.free && way.host_bytes <= self.host_free
    }

    /// What a way takes of so many rows if ranks share them: each has all tables, and a whole x or a piece of it; of a stored matrix its
    /// own rows, on the host, where its cores multiply them, with where all rows begin.
    pub(super) fn shared(&self, way: Estimate, rows: u64) -> Estimate {
        let Some([ranks, here]) = self.ranks else { return way };
        let (vector, share) = (8 * rows, 8 * rows.div_ceil(ranks));
        match (way.way, self.card.is_some()) {
            (ProductKind::Direct | ProductKind::Table, on_cards) => {
                let whole = vector + if on_cards { share } else { 0 };
                let each = if way.exchanged > 0 { way.exchanged } else { whole };
                Estimate {
                    bytes: way.bytes.saturating_mul(ranks),
                    exchanged: each.saturating_mul(ranks),
                    host_bytes: way.host_bytes.saturating_mul(here),
                    ..way
                }
            }
            (ProductKind::Stored, on_cards) => {
                let on_hosts = (way.bytes / ranks).saturating_add(2 * vector);
                let (bytes, exchanged) =
                    if on_cards { (0, 0) } else { (way.bytes + vector * (ranks - 1), vector * ranks) };
                let what = if on_cards { format!("{} on the hosts", way.what) } else { way.what };
                Estimate { what, bytes, exchanged, host_bytes: on_hosts.saturating_mul(here), ..way }
            }
        }
    }

    pub(super) fn cores(&self) -> f64 {
        self.processor.cores as f64
    }
}

pub(super) fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

pub(super) fn bytes(exact: u128) -> u64 {
    u64::try_from(exact).unwrap_or(u64::MAX)
}
