//! Predicted seconds of a bond on the CPU and on a card, before either has run: the basis of `--device auto`.
//!
//! In: a chain, a number of states. Out: the work of its middle bond (operations and records of H x, length of ψ, sizes
//! of its sectors), planned by the code that plans a run, over blocks whose states are distributed as in
//! [`Shares::estimated`]; from it, seconds by the rates of a [`Machine`]. The fraction of a rate that each step reaches
//! was fitted on an NVIDIA H200 and 16 cores of an Intel Xeon (docs/performance.md). Middle bonds take nearly all of a
//! long chain's time. A state that needs fewer states than allowed takes less on both; only the comparison matters.

use super::counting::{CountedBuffer, CountingEngine};
use super::shares::Shares;
use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::chain::Chain;
use crate::error::DmrgError;
use eigenforge_runtime::machine::{Card, Machine, Processor};
use eigenforge_runtime::records::TwoStages;
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
    /// Seconds per bond on the card, if there is one.
    pub card: Option<f64>,
    /// The machine whose rates these are.
    pub machine: Machine,
}

/// Products with H at a bond of a settled sweep.
const PRODUCTS: f64 = 4.0;
/// Passes over vectors in that many iterations, without the products: 4k + 7 at k = 1 … 4.
const PASSES: f64 = 68.0;

/// The middle bond of a chain, planned over blocks that have sizes but no numbers.
pub(crate) struct PlannedBond {
    /// Position of its left site.
    pub position: usize,
    /// States kept on its left and on its right.
    pub(crate) kept: [usize; 2],
    /// The layout of ψ and the operators of both sides.
    pub(crate) bond: TwoSiteBond<CountedBuffer>,
    /// H as records.
    pub(crate) product: TwoStages,
}

impl PlannedBond {
    /// The middle bond with `states` states, which the sectors share as [estimated](Shares::estimated).
    ///
    /// # Errors
    /// Errors of the engine; the counting engine has none today.
    pub(crate) fn middle(chain: &Chain, states: usize) -> Result<PlannedBond, DmrgError> {
        let position = (chain.sites - 2) / 2;
        let shares = Shares::estimated(chain, states);
        let engine = CountingEngine::free(chain, &shares);
        let left = engine.block(chain, Side::Left, position)?;
        let right = engine.block(chain, Side::Right, position + 2)?;
        let bond = TwoSiteBond::new(&engine, chain, &chain.sum, position, &left, &right)?;
        let product = bond.superblock();
        Ok(PlannedBond { position, kept: [left.sectors.total(), right.sectors.total()], bond, product })
    }

    /// Its work.
    fn work(&self) -> Work {
        let records = [&self.product.first, &self.product.second].map(|stage| stage.counts()).map(|(a, b)| a + b);
        let layout = &self.bond.frame.layout;
        Work {
            states: self.kept[0].max(self.kept[1]),
            flops: self.product.flops(),
            records: records.iter().sum(),
            dimension: layout.length,
            sectors: layout.sectors.iter().map(|s| (s.rows, s.columns)).collect(),
        }
    }
}

/// Seconds of a bond on a processor.
fn processor_seconds(work: &Work, processor: &Processor) -> f64 {
    /// Fraction of a core's rate that products of blocks reach, 37 of the Xeon's 72 GFLOP/s; n cores reach √n times that,
    /// because blocks are small and uneven (16 cores of an Intel Xeon, chains of `bench dmrg --sweeps`).
    const OF_CORE: f64 = 37e9 / Processor::XEON.core_rate;
    /// The same for singular value decompositions, by their operations as counted below: 80 GFLOP/s.
    const DECOMPOSING: f64 = 80e9 / Processor::XEON.core_rate;
    /// Overhead of a record in seconds, for any number of cores.
    const RECORD: f64 = 1.2e-6;
    /// Seconds of a bond's planning and small steps.
    const BOND: f64 = 0.5e-3;
    let (core, cores) = (processor.core_rate, processor.cores as f64);
    let multiply = work.flops / (OF_CORE * core * cores.sqrt()) + RECORD * work.records as f64;
    let vectors = PASSES * 8.0 * work.dimension as f64 / processor.stream_rate();
    let decompose = |(rows, columns): &(usize, usize)| {
        let (rows, columns) = (*rows as f64, *columns as f64);
        20.0 * rows * columns * rows.min(columns) / (DECOMPOSING * core)
    };
    let each = work.sectors.iter().map(decompose);
    let truncate = (each.clone().sum::<f64>() / cores).max(each.fold(0.0, f64::max));
    // Carrying the operators of the growing block costs about as much as a product.
    (PRODUCTS + 1.0) * multiply + vectors + truncate + BOND
}

/// Seconds of a bond on a card.
fn card_seconds(work: &Work, card: &Card) -> f64 {
    /// Fraction of a card's rate without tensor cores that products of blocks reach: 15 of an H200's 33.5 TFLOP/s.
    const OF_FLOPS: f64 = 15e12 / Card::H200.fp64_rate;
    /// Fraction of the rate of copies that the vector kernels reach: 3 of 4.3 TB/s.
    const OF_MEMORY: f64 = 3e12 / Card::H200.memory_rate;
    /// Launches of an iteration: a product and the vector kernels.
    const LAUNCHES: f64 = 6.0;
    /// Overhead of an iteration in seconds, without its launches and its wait: 100 µs with both on an H200.
    const HOST: f64 = 100e-6 - LAUNCHES * Card::H200.launch_seconds - Card::H200.round_trip_seconds;
    /// Seconds of a bond's other launches, copies and waits.
    const BOND: f64 = 0.5e-3;
    /// Seconds that the host takes to plan a record and cut it into tiles.
    const RECORD: f64 = 2.5e-6;
    let multiply = work.flops / (OF_FLOPS * card.fp64_rate);
    let vectors = PASSES * 8.0 * work.dimension as f64 / (OF_MEMORY * card.memory_rate);
    let iteration = HOST + LAUNCHES * card.launch_seconds + card.round_trip_seconds;
    // The growing block alternates between the sides.
    let longest = work.sectors.iter().map(|(rows, columns)| (rows + columns) / 2).max().unwrap_or(0);
    (PRODUCTS + 1.0) * multiply
        + vectors
        + PRODUCTS * iteration
        + BOND
        + RECORD * work.records as f64
        + decomposition_seconds(longest) / (card.fp64_rate / Card::H200.fp64_rate).min(1.0)
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
    /// Predicts for the largest number of states of a run, all cores of a machine, and its card.
    ///
    /// # Errors
    /// Errors of the engine; the counting engine has none today.
    pub fn new(chain: &Chain, states: usize, machine: &Machine) -> Result<Forecast, DmrgError> {
        Ok(Forecast::of_bond(&PlannedBond::middle(chain, states)?, machine))
    }

    /// Predicts for a planned middle bond.
    pub(crate) fn of_bond(bond: &PlannedBond, machine: &Machine) -> Forecast {
        let work = bond.work();
        let cpu = processor_seconds(&work, &machine.processor.values);
        let card = machine.card.as_ref().map(|card| card_seconds(&work, &card.values));
        Forecast { cpu, card, work, machine: machine.clone() }
    }

    /// Whether there is a card that is predicted to be faster.
    pub fn prefers_the_card(&self) -> bool {
        self.card.is_some_and(|card| card < self.cpu)
    }

    /// A line for the report.
    pub fn describe(&self) -> String {
        let Forecast { work, cpu, card, machine } = self;
        let on_card = machine.card_words().zip(*card);
        let on_card = on_card.map(|(words, seconds)| format!(", {:.1} ms on {words}", 1e3 * seconds));
        format!(
            "predicted for a bond of {} states ({:.2e} flop per product, {} records): {:.1} ms on {}{}",
            work.states,
            work.flops,
            work.records,
            1e3 * cpu,
            machine.processor_words(),
            on_card.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models;
    use eigenforge_runtime::machine::RateSource;

    /// A card beside this many Xeon cores.
    fn machine(cores: usize, card: Card) -> Machine {
        let mut machine = Machine::h200();
        (machine.processor.values, machine.processor.source) = (Processor::of_cores(cores), RateSource::Estimated);
        machine.card.as_mut().unwrap().values = card;
        machine
    }

    /// With 64 states the blocks of 12 sites are complete, so the work is known exactly.
    #[test]
    fn a_chain_whose_blocks_are_whole_has_the_shapes_of_a_run() {
        let lattice = Lattice::chain(14).open();
        let operator = models::xxz(&lattice, &[1.0; 13], &[1.0; 13], &[0.0; 14], &[0.0; 14]);
        let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
        let work = PlannedBond::middle(&chain, 1 << 10).unwrap().work();
        assert!(work.states <= 64 && work.dimension <= 3432, "binomial(14, 7) states in all: {work:?}");
        assert!(work.flops > 0.0 && work.records > 10);
    }

    #[test]
    fn few_states_are_for_the_cpu_and_thousands_for_a_card() {
        let lattice = Lattice::chain(100).open();
        let operator = models::xxz(&lattice, &[1.0; 99], &[1.0; 99], &[0.0; 100], &[0.0; 100]);
        let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
        let at = |states| Forecast::new(&chain, states, &machine(16, Card::H200)).unwrap();
        assert!(!at(32).prefers_the_card(), "{:?}", at(32));
        assert!(at(2048).prefers_the_card(), "{:?}", at(2048));
        assert!(at(2048).work.flops > 100.0 * at(128).work.flops);
        // A graphics card's double precision is a sixty-fourth of its single precision: the CPU is faster.
        let small = Card { fp64_rate: 0.6e12, ..Card::H200 };
        assert!(!Forecast::new(&chain, 2048, &machine(64, small)).unwrap().prefers_the_card());
        // With half of an H200's rates a card is still faster than 16 cores, and slower than an H200.
        let half =
            Card { memory_rate: 0.5 * Card::H200.memory_rate, fp64_rate: 0.5 * Card::H200.fp64_rate, ..Card::H200 };
        let slower = Forecast::new(&chain, 2048, &machine(16, half)).unwrap();
        assert!(slower.prefers_the_card() && slower.card > at(2048).card);
        // Without a card, none is preferred or mentioned.
        let alone = Forecast::new(&chain, 2048, &Machine { card: None, ..machine(16, Card::H200) }).unwrap();
        assert!(!alone.prefers_the_card() && alone.describe().ends_with("(rates of a Xeon)"), "{}", alone.describe());
        assert!(at(2048).describe().contains("on one NVIDIA H200 (built-in rates)"));
    }

    /// Milliseconds of a bond by clocks on an H200, 2026-11-22 (docs/notes/dmrg-on-a-card.md).
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
            let found = Forecast::new(&chain, states, &machine(16, Card::H200)).unwrap();
            let ratio = found.card.unwrap() / measured;
            assert!((0.4..2.5).contains(&ratio), "{ratio} of {measured} s: {found:?}");
        }
    }

    /// An H200 and Xeon cores have the same seconds as when their rates were in this file (710e192).
    #[test]
    fn the_seconds_of_an_h200_are_those_that_were_fitted() {
        let work = Work {
            states: 900,
            flops: 3.1e10,
            records: 700,
            dimension: 1_200_000,
            sectors: vec![(300, 280), (90, 130)],
        };
        let longest = 0.1e-3 + 0.38e-3 * (290.0f64 / 100.0).powf(1.5);
        let card = 5.0 * 3.1e10 / 15e12 + 68.0 * 8.0 * 1.2e6 / 3e12 + 4.0 * 100e-6 + 0.5e-3 + 2.5e-6 * 700.0 + longest;
        assert!((card_seconds(&work, &Card::H200) / card - 1.0).abs() < 1e-12);
        let multiply = 3.1e10 / (37e9 * 4.0) + 1.2e-6 * 700.0;
        let decompose = 20.0 * 300.0 * 280.0 * 280.0 / 80e9;
        let cpu = 5.0 * multiply + 68.0 * 8.0 * 1.2e6 / 150e9 + decompose + 0.5e-3;
        assert!((processor_seconds(&work, &Processor::of_cores(16)) / cpu - 1.0).abs() < 1e-12);
    }
}
