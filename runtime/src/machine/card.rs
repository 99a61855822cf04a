//! The numbers of a GPU that cost models use, for known cards and for others.
//!
//! In: the name of a card, or what its driver reports. Out: a [`Card`]. The rates of the H200 and the H100 were measured. Those of the
//! other cards in the table are the data sheet's, times the fraction of its data sheet that an H200 reaches;
//! `eigenforge doctor --measure` replaces them by measured ones.

use super::store::Plausible;
use crate::device::CardAttributes;
use serde::{Deserialize, Serialize};

/// The size of a card and its rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Largest shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// L1 cache and shared memory of a multiprocessor together, in bytes.
    pub l1_bytes: u64,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Bytes per second that copies read and write in device memory.
    pub memory_rate: f64,
    /// Bytes per second from the L2 cache, all multiprocessors together.
    pub l2_rate: f64,
    /// Atomic additions per second to 64-bit words spread over L2.
    pub atomic_rate: f64,
    /// Floating-point operations per second in double precision without tensor cores; a fused multiply-add counts as two.
    pub fp64_rate: f64,
    /// Seconds between the starts of small kernels in a queue.
    pub launch_seconds: f64,
    /// Seconds of the shortest kernel if the host waits for its result.
    pub round_trip_seconds: f64,
}

/// Fraction of the data sheet's memory rate that copies reach: an H200's 4.3 of 4.8 TB/s.
const OF_DATA_SHEET: f64 = 4.3 / 4.8;
/// Highest clock of an H200, in hertz.
const H200_CLOCK: f64 = 1.98e9;

impl Plausible for Card {
    fn is_plausible(&self) -> bool {
        let rates = [
            self.memory_rate,
            self.l2_rate,
            self.atomic_rate,
            self.fp64_rate,
            self.launch_seconds,
            self.round_trip_seconds,
        ];
        rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
    }
}

impl Card {
    /// NVIDIA H200 (SXM), on which every cost model was fitted.
    pub const H200: Card = Card {
        // Data sheet, and cuDeviceGetAttribute.
        multiprocessors: 132,
        shared_bytes: 227 << 10,
        l1_bytes: 256 << 10,
        memory_bytes: 140 << 30,
        // Copies, one H200, driver 580.159, CUDA 13.0, 2026-11-20 (data sheet: 4.8e12).
        memory_rate: 4.3e12,
        // Gathers spread over 8 MiB and additions spread over 16 MiB: `doctor --measure`, driver 580.159, 2026-11-22.
        l2_rate: 5.16e12,
        atomic_rate: 1.06e11,
        // 132 multiprocessors, 64 units each, 1.98 GHz (data sheet: 34e12, tensor cores 67e12; measured: 33.0e12).
        fp64_rate: 33.5e12,
        // `doctor --measure`: 3.7 to 5.1 and 11.4 to 13.6 microseconds.
        launch_seconds: 4e-6,
        round_trip_seconds: 12e-6,
    };

    /// NVIDIA H100 SXM5, 80 GB: an H200 with less memory, which is slower. `doctor --measure`, driver 580.159, 2026-11-22 (data sheet:
    /// 3.35e12 bytes/s).
    pub const H100: Card =
        Card { memory_bytes: 79 << 30, memory_rate: 2.97e12, l2_rate: 4.40e12, atomic_rate: 9.1e10, ..Card::H200 };

    /// NVIDIA A100 SXM4, 80 GB. Data sheet: 108 multiprocessors, 1.41 GHz, 2.039e12 bytes/s, 9.7e12 operations/s; the tuning guide
    /// for the NVIDIA Ampere architecture has 163 KiB of shared memory per block, 192 KiB of L1. L2 and atomics were not measured; per
    /// multiprocessor and clock they are taken from an H200.
    pub const A100: Card = Card {
        multiprocessors: 108,
        shared_bytes: 163 << 10,
        l1_bytes: 192 << 10,
        memory_bytes: 79 << 30,
        memory_rate: 2.039e12 * OF_DATA_SHEET,
        l2_rate: by_clock(Card::H200.l2_rate, 108, 1.41e9),
        atomic_rate: by_clock(Card::H200.atomic_rate, 108, 1.41e9),
        fp64_rate: 9.7e12,
        ..Card::H200
    };

    /// NVIDIA GeForce RTX 4090. NVIDIA Ada GPU architecture, appendix: 128 multiprocessors, 2.52 GHz, 1.008e12 bytes/s, 1.29e12
    /// operations/s (a sixty-fourth of single precision), 128 KiB of L1; 99 KiB of shared memory per block (tuning guide). L2 and
    /// atomics as for the A100.
    pub const RTX_4090: Card = Card {
        multiprocessors: 128,
        shared_bytes: 99 << 10,
        l1_bytes: 128 << 10,
        memory_bytes: 23 << 30,
        memory_rate: 1.008e12 * OF_DATA_SHEET,
        l2_rate: by_clock(Card::H200.l2_rate, 128, 2.52e9),
        atomic_rate: by_clock(Card::H200.atomic_rate, 128, 2.52e9),
        fp64_rate: 1.29e12,
        ..Card::H200
    };

    /// The known cards: the word for `--machine`, the driver's name, the numbers.
    pub(super) const TABLES: [(&str, &str, Card); 4] = [
        ("h200", "NVIDIA H200", Card::H200),
        ("h100", "NVIDIA H100 80GB HBM3", Card::H100),
        ("a100", "NVIDIA A100-SXM4-80GB", Card::A100),
        ("rtx4090", "NVIDIA GeForce RTX 4090", Card::RTX_4090),
    ];

    /// A card that is not in the table: an H200's rates scaled by the clocks, bus widths and multiprocessors that the driver
    /// reports, or by multiprocessors alone where it does not report more.
    pub(super) fn estimated(attributes: &CardAttributes) -> Card {
        let CardAttributes { multiprocessors, shared_bytes, shared_bytes_of_all, memory_bytes, .. } = *attributes;
        let clock = attributes.clock.unwrap_or(H200_CLOCK);
        let alike = f64::from(multiprocessors) / f64::from(Card::H200.multiprocessors);
        let peak = attributes.peak_memory_rate;
        Card {
            multiprocessors,
            shared_bytes,
            // L1 has 28 KiB more than the shared memory of all blocks: 256, 192, 128 KiB on compute capability 9.0, 8.0, 8.9.
            l1_bytes: u64::from(shared_bytes_of_all) + (28 << 10),
            memory_bytes,
            memory_rate: peak.map_or(Card::H200.memory_rate * alike, |peak| peak * OF_DATA_SHEET),
            l2_rate: by_clock(Card::H200.l2_rate, multiprocessors, clock),
            atomic_rate: by_clock(Card::H200.atomic_rate, multiprocessors, clock),
            fp64_rate: attributes.fp64_rate.unwrap_or(Card::H200.fp64_rate * alike),
            ..Card::H200
        }
    }
}

/// A rate of an H200 scaled to another card by multiprocessors and highest clock.
const fn by_clock(rate: f64, multiprocessors: u32, clock: f64) -> f64 {
    rate * (multiprocessors as f64 * clock) / (132.0 * H200_CLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_of_cards_that_could_be() {
        for (word, name, card) in Card::TABLES {
            assert!(name.starts_with("NVIDIA "), "{word}");
            assert!(card.memory_rate < card.l2_rate, "{word}: a cache is quicker than the memory behind it");
            assert!((5e11..1e13).contains(&card.memory_rate) && (1e12..2e13).contains(&card.l2_rate), "{word}");
            assert!((1e12..5e13).contains(&card.fp64_rate) && (1e10..1e12).contains(&card.atomic_rate), "{word}");
            assert!(card.launch_seconds < card.round_trip_seconds && card.round_trip_seconds < 1e-3, "{word}");
            assert!(u64::from(card.shared_bytes) < card.l1_bytes && card.l1_bytes <= 256 << 10, "{word}");
            assert!((64..256).contains(&card.multiprocessors) && card.memory_bytes > 16 << 30, "{word}");
        }
        // In the order of their memories.
        assert!(Card::TABLES.windows(2).all(|two| two[0].2.memory_rate > two[1].2.memory_rate));
    }

    /// The estimates from what drivers report agree with the tables of the known cards.
    #[test]
    fn an_estimate_of_a_known_card_is_near_its_table() {
        let reported = [
            // Multiprocessors, shared memory of a block and of all blocks, clock, memory's clock, bus, operations.
            (Card::H200, 132, 227, 228, 1.98e9, 3.201e9, 6016.0, 33.45e12),
            (Card::H100, 132, 227, 228, 1.98e9, 2.619e9, 5120.0, 33.45e12),
            (Card::A100, 108, 163, 164, 1.41e9, 1.593e9, 5120.0, 9.75e12),
            (Card::RTX_4090, 128, 99, 100, 2.52e9, 10.501e9, 384.0, 1.29e12),
        ];
        for (table, multiprocessors, block, all, clock, memory_clock, bus, fp64) in reported {
            let found = Card::estimated(&CardAttributes {
                multiprocessors,
                shared_bytes: block << 10,
                shared_bytes_of_all: all << 10,
                l2_bytes: 50 << 20,
                memory_bytes: table.memory_bytes,
                clock: Some(clock),
                peak_memory_rate: Some(2.0 * memory_clock * bus / 8.0),
                fp64_rate: Some(fp64),
            });
            let shape = |card: &Card| (card.multiprocessors, card.shared_bytes, card.l1_bytes, card.memory_bytes);
            assert_eq!(shape(&found), shape(&table));
            let rates = |card: &Card| [card.memory_rate, card.l2_rate, card.atomic_rate, card.fp64_rate];
            for (found, table) in rates(&found).iter().zip(rates(&table)) {
                // L2 is the least certain: an H100's delivers less per clock than an H200's.
                assert!((0.8..1.25).contains(&(found / table)), "{found:e} for {table:e}");
            }
        }
    }

    #[test]
    fn a_driver_that_says_little_still_gives_a_card() {
        let attributes = CardAttributes {
            multiprocessors: 66,
            shared_bytes: 99 << 10,
            shared_bytes_of_all: 100 << 10,
            l2_bytes: 0,
            memory_bytes: 8 << 30,
            clock: None,
            peak_memory_rate: None,
            fp64_rate: None,
        };
        let found = Card::estimated(&attributes);
        assert_eq!(found.memory_rate, Card::H200.memory_rate / 2.0);
        assert_eq!(found.fp64_rate, Card::H200.fp64_rate / 2.0);
    }
}
