//! Predicted seconds of a bond on the CPU and on a card, before either has run: the basis of `--device auto`.
//!
//! In: a chain, a number of states. Out: the work of its middle bond (operations and records of H x, length of ψ, sizes
//! of its sectors), planned by the code that plans a run, over blocks whose states are distributed as in
//! [`Shares::estimated`]; from it, seconds by measured rates. Middle bonds take nearly all of a long chain's time. A
//! state that needs fewer states than allowed takes less on both; only the comparison matters.

use super::blocks::Side;
use super::bond::TwoSiteBond;
use super::chain::Chain;
use super::counting::CountingEngine;
use super::error::DmrgError;
use super::shares::Shares;
use super::superblock::Superblock;
use eigenforge_runtime::Device;
use serde::Serialize;

/// The work of the middle bond.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// States of its blocks.
    pub states: usize,
    /// Operations of a product with H.
    pub flops: f64,
    /// Records of a product.
    pub records: usize,
    /// Elements of ψ.
    pub dimension: usize,
    /// Rows and columns of each sector of ψ.
    pub sectors: Vec<(usize, usize)>,
}

/// Predicted seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The work that was predicted.
    pub work: Work,
    /// Seconds per bond on the CPU.
    pub cpu: f64,
    /// Seconds per bond on the card.
    pub card: f64,
    /// The card of that prediction.
    pub of_card: String,
}

/// The card of a prediction: one NVIDIA H200, whose rates were measured, or another scaled by its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct CardRates {
    /// The card as named in the report.
    name: String,
    /// Double-precision operations per second relative to an H200.
    speed: f64,
}

impl CardRates {
    /// Operations per second from an H200's attributes: 132 multiprocessors, 64 units each, 1.98 GHz.
    const H200: f64 = 33.5e12;

    /// The H200 whose rates were measured, for machines without a card.
    pub fn h200() -> CardRates {
        CardRates { name: "one NVIDIA H200, whose rates these are".into(), speed: 1.0 }
    }

    /// A device: the H200's rates, with products scaled by the device's attributes.
    pub fn of(device: &Device) -> CardRates {
        let Device::Cuda(card) = device else { return CardRates::h200() };
        let name = format!("{}, by rates of an H200 and this card's double precision", card.name());
        CardRates { name, speed: card.double_precision_rate().map_or(1.0, |rate| rate / CardRates::H200) }
    }
}

/// Products with H at a bond of a settled sweep.
const PRODUCTS: f64 = 4.0;
/// Passes over vectors in that many iterations, without the products: 4k + 7 at k = 1 … 4.
const PASSES: f64 = 68.0;

/// The work of the middle bond with `states` states.
///
/// # Errors
/// Errors of the engine; the counting engine has none today.
pub fn work(chain: &Chain, states: usize) -> Result<Work, DmrgError> {
    let middle = (chain.sites - 2) / 2;
    let shares = Shares::estimated(chain, states);
    let engine = CountingEngine::free(chain, &shares);
    let (left, right) = (engine.block(chain, Side::Left, middle)?, engine.block(chain, Side::Right, middle + 2)?);
    let bond = TwoSiteBond::new(&engine, chain, &chain.sum, middle, &left, &right)?;
    let superblock = Superblock::new(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
    let records = [&superblock.first, &superblock.second].map(|stage| stage.counts()).map(|(a, b)| a + b);
    Ok(Work {
        states: left.sectors.total().max(right.sectors.total()),
        flops: superblock.flops(),
        records: records.iter().sum(),
        dimension: bond.frame.layout.length,
        sectors: bond.frame.layout.sectors.iter().map(|s| (s.rows, s.columns)).collect(),
    })
}

/// Rates of a processor with this many threads.
struct Processor {
    threads: f64,
}

impl Processor {
    /// Operations per second of one core in products of blocks; n cores reach √n times that, because blocks are small and
    /// uneven (16 cores of an Intel Xeon, chains of `bench dmrg --sweeps`).
    const CORE: f64 = 37e9;
    /// Overhead of a record in seconds, for any number of cores.
    const RECORD: f64 = 1.2e-6;
    /// Operations per second of one core in singular value decompositions.
    const DECOMPOSING: f64 = 80e9;
    /// Seconds of a bond's planning and small steps.
    const BOND: f64 = 0.5e-3;
    /// Bytes per second that one core moves, and that all cores move.
    const BYTES: [f64; 2] = [12e9, 150e9];

    fn seconds(&self, work: &Work) -> f64 {
        let multiply = work.flops / (Processor::CORE * self.threads.sqrt()) + Processor::RECORD * work.records as f64;
        let bytes = (Processor::BYTES[0] * self.threads).min(Processor::BYTES[1]);
        let vectors = PASSES * 8.0 * work.dimension as f64 / bytes;
        let decompose = |(rows, columns): &(usize, usize)| {
            let (rows, columns) = (*rows as f64, *columns as f64);
            20.0 * rows * columns * rows.min(columns) / Processor::DECOMPOSING
        };
        let each = work.sectors.iter().map(decompose);
        let truncate = (each.clone().sum::<f64>() / self.threads).max(each.fold(0.0, f64::max));
        // Carrying the operators of the growing block costs about as much as a product.
        (PRODUCTS + 1.0) * multiply + vectors + truncate + Processor::BOND
    }
}

/// Seconds of a bond on a card by the rates of an H200; `speed` is its double precision relative to an H200.
fn card_seconds(work: &Work, speed: f64) -> f64 {
    /// Operations per second in products of blocks.
    const FLOPS: f64 = 15e12;
    /// Bytes per second of the vector kernels.
    const BYTES: f64 = 3e12;
    /// Overhead of an iteration (product and vector kernels) in seconds: six launches and a wait.
    const ITERATION: f64 = 100e-6;
    /// Seconds of a bond's other launches, copies and waits.
    const BOND: f64 = 0.5e-3;
    /// Seconds that the host takes to plan a record and cut it into tiles.
    const RECORD: f64 = 2.5e-6;
    let multiply = work.flops / (FLOPS * speed);
    let vectors = PASSES * 8.0 * work.dimension as f64 / BYTES;
    // The growing block alternates between the sides.
    let longest = work.sectors.iter().map(|(rows, columns)| (rows + columns) / 2).max().unwrap_or(0);
    (PRODUCTS + 1.0) * multiply
        + vectors
        + PRODUCTS * ITERATION
        + BOND
        + RECORD * work.records as f64
        + decomposition_seconds(longest) / speed.min(1.0)
}

/// Seconds for the eigenvectors of all density matrices of a bond: the launches end when the longest matrix is done.
fn decomposition_seconds(longest: usize) -> f64 {
    /// Launches, the table, and the copy of the weights.
    const BEGIN: f64 = 0.1e-3;
    /// A matrix of 100 rows; grows with the power 1.5 (0.28 ms in all for 64 rows, 1.1 for 200, 2.4 to 3.1 for 440).
    const HUNDRED: f64 = 0.38e-3;
    BEGIN + HUNDRED * (longest as f64 / 100.0).powf(1.5)
}

impl Forecast {
    /// Predicts for the largest number of states of a run, this many CPU threads, and a card.
    ///
    /// # Errors
    /// Errors of the engine; the counting engine has none today.
    pub fn of(chain: &Chain, states: usize, threads: usize, card: &CardRates) -> Result<Forecast, DmrgError> {
        let work = work(chain, states)?;
        let cpu = Processor { threads: threads as f64 }.seconds(&work);
        Ok(Forecast { cpu, card: card_seconds(&work, card.speed), work, of_card: card.name.clone() })
    }

    /// Whether the card is predicted to be faster.
    pub fn prefers_the_card(&self) -> bool {
        self.card < self.cpu
    }

    /// A line for the report.
    pub fn describe(&self) -> String {
        let Forecast { work, cpu, card, of_card } = self;
        format!(
            "a bond of {} states, {:.2e} flop a product in {} records: {:.1} ms predicted on this CPU by rates \
             of a Xeon, {:.1} ms on {of_card}",
            work.states,
            work.flops,
            work.records,
            1e3 * cpu,
            1e3 * card
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::Sector;
    use crate::lattice::Lattice;
    use crate::models;

    /// With 64 states the blocks of 12 sites are complete, so the work is known exactly.
    #[test]
    fn a_chain_whose_blocks_are_whole_has_the_shapes_of_a_run() {
        let lattice = Lattice::chain(14).open();
        let operator = models::xxz(&lattice, &[1.0; 13], &[1.0; 13], &[0.0; 14], &[0.0; 14]);
        let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
        let work = work(&chain, 1 << 10).unwrap();
        assert!(work.states <= 64 && work.dimension <= 3432, "binomial(14, 7) states in all: {work:?}");
        assert!(work.flops > 0.0 && work.records > 10);
    }

    #[test]
    fn few_states_are_for_the_cpu_and_thousands_for_a_card() {
        let lattice = Lattice::chain(100).open();
        let operator = models::xxz(&lattice, &[1.0; 99], &[1.0; 99], &[0.0; 100], &[0.0; 100]);
        let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
        let at = |states| Forecast::of(&chain, states, 16, &CardRates::h200()).unwrap();
        assert!(!at(32).prefers_the_card(), "{:?}", at(32));
        assert!(at(2048).prefers_the_card(), "{:?}", at(2048));
        assert!(at(2048).work.flops > 100.0 * at(128).work.flops);
        // A graphics card's double precision is a sixty-fourth of its single precision: the CPU is faster.
        let small = CardRates { name: "small".into(), speed: 0.6e12 / CardRates::H200 };
        assert!(!Forecast::of(&chain, 2048, 64, &small).unwrap().prefers_the_card());
        assert!(at(2048).describe().contains("on one NVIDIA H200, whose rates these are"));
    }

    /// Milliseconds of a bond by clocks on an H200, 2026-11-22 (docs/tried.md, "Where a bond's time goes").
    #[test]
    fn a_bond_on_a_card_is_foretold_within_a_factor_of_what_clocks_said() {
        let lattice = Lattice::chain(64).open();
        let (one, none) = (vec![1.0; 63], vec![0.0; 64]);
        let heisenberg = models::xxz(&lattice, &one, &one, &none, &none);
        let hubbard = models::hubbard(&lattice, &one, &[4.0; 64], &none, 0.0, &[0.0; 63]);
        let sectors = [Sector::Spins { two_sz: 0 }, Sector::Fermions { up: 32, down: 32 }];
        for ((operator, sector), (states, measured)) in
            [heisenberg, hubbard].iter().zip(sectors).zip([(128, 0.78e-3), (1024, 4.8e-3)])
        {
            let chain = Chain::new(operator, sector, None).unwrap();
            let found = Forecast::of(&chain, states, 16, &CardRates::h200()).unwrap();
            let ratio = found.card / measured;
            assert!((0.4..2.5).contains(&ratio), "{ratio} of {measured} s: {found:?}");
        }
    }
}
