//! The memory plan: what a run will hold at most, found before it allocates, and what it is then held to.
//!
//! In: the chain, how many states each sector keeps at each cut ([`Shares`]), a [`Budget`]. Out: bytes by item at the fullest
//! bond of a sweep, found by [rehearsing](super::shapes) it with buffers that have lengths only. It is rehearsed twice: with
//! everything that a sweep leaves behind staying where it is, and with nothing of it, which is what a bond must have.
//!
//! On a card what is planned is reserved, with a margin for what is not foreseen, and the run lives within it: where a plan
//! was too small, or the card is, what was left behind leaves for host memory and the disk
//! ([`resident`](super::resident)). On the CPU memory is taken as it is needed, and only a limit makes anything leave.
//! What no memory can hold is refused with the number of states that can.
//!
//! Before a run the shares are a guess (a ground state spreads its states over fewer sectors than a random one). When the sweeps
//! with fewer states are done they are known, and the plan is made again: that one predicts to a few per cent. It is of the sweeps:
//! the variance afterwards works with H², of which the blocks and vectors of the sweeps make room.

use super::blocks::Side;
use super::chain::Chain;
use super::counting::{CountedBuffer, CountingEngine};
use super::davidson::{self, WIDTH};
use super::error::DmrgError;
pub use super::memory_plan::{Budget, MemoryPlan, Processor, Usage};
use super::options::Options;
pub use super::shares::Shares;
use super::sweep::Sweeper;
use super::sweep_plan::SweepPlan;
use super::truncate::TruncationLimits;

/// What is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// States at most.
    pub states: usize,
    /// Whether a sweep has noise, which takes room for what perturbs the density matrices.
    pub noisy: bool,
    /// States that are looked for.
    pub targets: usize,
    /// Whether the shares were measured.
    pub measured: bool,
}

impl MemoryRequest {
    /// So many states in the sweeps from `first` on, until `behind`, before there are any.
    pub fn first(options: &Options, states: usize, first: usize, behind: usize) -> MemoryRequest {
        MemoryRequest { states, noisy: options.has_noise(first, behind), targets: options.targets, measured: false }
    }
}

/// The vectors of a restart, and some to go on with.
const NARROWEST: usize = 4;
/// Part of what is foreseen that is reserved beside it on a card, and bytes.
const MARGIN: (u64, u64) = (8, 4 << 20);
/// Bytes in which a card's memory is reserved.
const GRAIN: u64 = 2 << 20;
/// Part of what a bond must have that is left free beside it, for stretches that are too short for what is asked next.
const SLACK: u64 = 5;

/// The fullest bond of a sweep: what is held there in all, and of that blocks, kept states and the solver's vectors.
#[derive(Clone, Copy, Default)]
struct Fullest {
    all: u64,
    blocks: u64,
    kept: u64,
    vectors: u64,
}

/// Goes from the left end to the right; the way back holds the same, mirrored.
fn rehearse(
    chain: &Chain,
    shares: &Shares,
    processor: Processor,
    asked: MemoryRequest,
    (width, leaves): (usize, bool),
) -> Result<Fullest, DmrgError> {
    let engine = CountingEngine::new(chain, shares, processor, width, leaves);
    let mut sweeper = Sweeper::rehearsal(engine, chain)?;
    let limits = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0 };
    let davidson = davidson::DavidsonLimits { tolerance: 1.0, products: 1 };
    let noise = if asked.noisy { 1.0 } else { 0.0 };
    let sweep = SweepPlan { limits, noise, davidson, random: None };
    let mut fullest = Fullest::default();
    for (p, grows) in Sweeper::<CountingEngine<'_>>::path(chain.sites).filter(|(_, grows)| *grows == Side::Left) {
        let engine = sweeper.engine();
        engine.cut.set(p + 1);
        engine.ledger.restart();
        let here = |counted: &mut dyn Iterator<Item = &CountedBuffer>| counted.map(CountedBuffer::here).sum::<u64>();
        let blocks = here(&mut sweeper.left.iter().chain(&sweeper.right).flatten().map(|block| &block.data));
        let kept = here(&mut sweeper.kept.iter().flatten().map(|kept| &kept.data));
        let wave = sweeper.wave().here();
        sweeper.step(p, grows, &sweep)?;
        // Each state below has kept states of its own, and is a vector of the bond; averaged ones are three.
        let others = (asked.targets as u64).saturating_sub(1) * (kept + 3 * wave);
        let all = sweeper.engine().ledger.peak() + others;
        if all > fullest.all {
            fullest = Fullest { all, blocks, kept, vectors: sweeper.engine().solver() };
        }
    }
    Ok(fullest)
}

/// The plan of a sweep with these shares.
///
/// # Errors
/// A bond does not fit in memory, with the number of states that would.
pub fn plan(chain: &Chain, shares: &Shares, asked: MemoryRequest, budget: Budget) -> Result<MemoryPlan, DmrgError> {
    let Budget { processor, memory, .. } = budget;
    let rehearsed = |width, leaves| rehearse(chain, shares, processor, asked, (width, leaves));
    let Fullest { all: whole, blocks, kept, vectors } = rehearsed(WIDTH, false)?;
    let MemoryRequest { states, measured, .. } = asked;
    let plan =
        MemoryPlan { states, measured, blocks, kept, vectors, whole, bond: whole, reserved: whole, width: WIDTH };
    let margin = if processor == Processor::Card { whole / MARGIN.0 + MARGIN.1 } else { 0 };
    if whole <= memory {
        let reserved = if margin > 0 { whole.saturating_add(margin).next_multiple_of(GRAIN) } else { whole };
        let reserved = memory.min(reserved);
        return Ok(MemoryPlan { bond: rehearsed(WIDTH, true)?.all, reserved, ..plan });
    }
    let mut least = 0;
    for width in [WIDTH, 16, 12, 8, NARROWEST] {
        let found = rehearsed(width, true)?;
        least = found.all + if processor == Processor::Card { found.all / SLACK } else { 0 };
        if least <= memory {
            let whole = whole - vectors.saturating_sub(found.vectors);
            return Ok(MemoryPlan { vectors: found.vectors, whole, bond: found.all, reserved: memory, width, ..plan });
        }
    }
    // Everything grows as the square of the number of states.
    let fits = (states as f64 * (memory as f64 / least as f64).sqrt()) as usize;
    Err(DmrgError::Memory { needed: least, free: memory, states: fits.max(1) })
}

/// The plan before a run, by a guess of the sectors.
///
/// # Errors
/// See [`plan`].
pub fn first_plan(chain: &Chain, asked: MemoryRequest, budget: Budget) -> Result<MemoryPlan, DmrgError> {
    plan(chain, &Shares::estimated(chain, asked.states), asked, budget)
}
