//! The memory plan: the peak memory of a run, found before it allocates, and the limits applied to it.
//!
//! In: the chain, how many states each sector keeps at each cut ([`Shares`]), a [`Budget`]. Out: bytes by item at the
//! fullest bond of a sweep, found by a [dry run](counting) with buffers that have lengths only. There are two dry
//! runs: one where no buffer is evicted, and one where all evictable buffers are, which gives the minimum for one bond.
//!
//! On a card the planned memory is reserved, with a margin, and the run stays within it: if the plan or the card is too
//! small, evictable buffers move to other cards of the device, host memory and disk ([`residency`](eigenforge_runtime::residency)). On the CPU
//! memory is allocated as needed, and buffers are evicted only at the limit. A run that fits nowhere is refused, with the
//! number of states that would fit.
//!
//! Of several cards the plan is that of the first, which has the buffers: it holds a part of V and W only where a solve is shared out, and what
//! leaves it goes to the others as far as the budget has room there.
//!
//! Before a run the shares are a guess (a ground state spreads its states over fewer sectors than a random one). After
//! the sweeps with fewer states the shares are known, and a second plan predicts the memory to a few per cent. The plan
//! covers the sweeps: the variance afterwards uses H², for which blocks and vectors of the sweeps are freed.

pub(super) mod counting;
pub(super) mod forecast;
pub(crate) mod memory_plan;
pub(super) mod refine;
pub(super) mod shares;

use crate::block::blocks::Side;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::options::Options;
use crate::sweep::sweeper::Sweeper;
use crate::sweep_plan::SweepPlan;
use counting::{CountedBuffer, CountingEngine};
use eigenforge_runtime::residency::{Budget, ProcessorKind};
use eigenforge_runtime::solvers::lean::{DavidsonLimits, WIDTH};
pub use memory_plan::MemoryPlan;
pub(super) use shares::Shares;

/// What a memory plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Largest number of states.
    pub states: usize,
    /// Whether a sweep has noise, whose perturbation of the density matrices needs memory.
    pub noisy: bool,
    /// Number of target states.
    pub targets: usize,
    /// Whether the shares were measured.
    pub measured: bool,
    /// Whether bonds are solved with one site, to which states are added.
    pub expands: bool,
}

impl MemoryRequest {
    /// The request for `states` states in the sweeps from `first` up to `behind`, before shares are measured.
    pub fn first(options: &Options, states: usize, first: usize, behind: usize) -> MemoryRequest {
        let (noisy, targets, expands) = (options.has_noise(first, behind), options.targets, options.expands());
        MemoryRequest { states, noisy, targets, measured: false, expands }
    }
}

/// Smallest basis: the two vectors of a restart, and two to continue.
const NARROWEST: usize = 4;
/// Margin on a card: this fraction (1/8) of the prediction, plus bytes.
const MARGIN: (u64, u64) = (8, 4 << 20);
/// Granularity of reservations on a card, in bytes.
const GRAIN: u64 = 2 << 20;
/// Fraction (1/5) of a bond's minimum that is left free, because free stretches may be too short for a request.
const SLACK: u64 = 5;

/// The fullest bond of a sweep: total bytes where the buffers are, and those of blocks, kept states and the solver's vectors; the rest of the
/// solver's vectors, which other cards have.
#[derive(Clone, Copy, Default)]
struct Fullest {
    all: u64,
    blocks: u64,
    kept: u64,
    vectors: u64,
    spread: u64,
}

/// Runs from the left end to the right; the way back is the mirror image.
fn rehearse(
    chain: &Chain,
    shares: &Shares,
    Budget { processor, cards, .. }: Budget,
    asked: MemoryRequest,
    (width, leaves): (usize, bool),
) -> Result<Fullest, DmrgError> {
    let engine = CountingEngine::new(chain, shares, (processor, cards), width, leaves);
    let mut sweeper = Sweeper::rehearsal(engine, chain)?;
    let limits = TruncationLimits { most: asked.states, least: 1, discarded: 0.0, factored: None };
    let davidson = DavidsonLimits::new(1.0, 1);
    let noise = if asked.noisy { 1.0 } else { 0.0 };
    let sweep = SweepPlan { limits, factor_rows: 0, noise, davidson, expands: asked.expands, random: None };
    let mut fullest = Fullest::default();
    for (p, grows) in Sweeper::<CountingEngine<'_>>::path(chain.sites).filter(|(_, grows)| *grows == Side::Left) {
        let engine = sweeper.engine();
        engine.cut.set(p + 1);
        engine.ledger.restart();
        let here = |counted: &mut dyn Iterator<Item = &CountedBuffer>| counted.map(CountedBuffer::here).sum::<u64>();
        let blocks = here(&mut sweeper.left.iter().chain(&sweeper.right).flatten().map(|block| &block.data));
        let kept = here(&mut sweeper.kept.iter().flatten().map(|kept| &kept.data));
        let wave = sweeper.wave().here();
        sweeper.update(p, grows, &sweep)?;
        // Each lower state has kept states of its own and one vector at the bond; averaged states have three. Of a complex
        // chain a search stays orthogonal to ψ and to iψ.
        let others = (chain.copies() * asked.targets.saturating_sub(1)) as u64 * (kept + 3 * wave);
        let all = sweeper.engine().ledger.peak() + others;
        if all > fullest.all {
            let engine = sweeper.engine();
            fullest = Fullest { all, blocks, kept, vectors: engine.solver(), spread: engine.spread.get() };
        }
    }
    Ok(fullest)
}

/// The plan of a sweep with these shares.
///
/// # Errors
/// A bond does not fit; the error has the number of states that would.
pub(super) fn plan(
    chain: &Chain,
    shares: &Shares,
    asked: MemoryRequest,
    budget: Budget,
) -> Result<MemoryPlan, DmrgError> {
    let Budget { processor, memory, other_cards, .. } = budget;
    let rehearsed = |width, leaves| rehearse(chain, shares, budget, asked, (width, leaves));
    let Fullest { all: whole, blocks, kept, vectors: own, spread } = rehearsed(WIDTH, false)?;
    let vectors = own + spread;
    let MemoryRequest { states, measured, .. } = asked;
    let plan = MemoryPlan {
        states,
        measured,
        blocks,
        kept,
        vectors,
        spread,
        whole,
        bond: whole,
        width: WIDTH,
        ..MemoryPlan::default()
    };
    let margin = if processor == ProcessorKind::Card { whole / MARGIN.0 + MARGIN.1 } else { 0 };
    if whole <= memory {
        let reserved = if margin > 0 { whole.saturating_add(margin).next_multiple_of(GRAIN) } else { whole };
        let bond = rehearsed(WIDTH, true)?.all;
        return Ok(MemoryPlan { bond, ..plan }.placed(memory.min(reserved), other_cards));
    }
    let mut least = 0;
    for width in [WIDTH, 16, 12, 8, NARROWEST] {
        let found = rehearsed(width, true)?;
        least = found.all + if processor == ProcessorKind::Card { found.all / SLACK } else { 0 };
        if least <= memory {
            let (whole, spread) = (whole - own.saturating_sub(found.vectors), found.spread);
            let plan = MemoryPlan { vectors: found.vectors + spread, spread, whole, bond: found.all, width, ..plan };
            return Ok(plan.placed(memory, other_cards));
        }
    }
    // Everything grows as the square of the number of states.
    let fits = (states as f64 * (memory as f64 / least as f64).sqrt()) as usize;
    Err(DmrgError::Memory { needed: least, free: memory, states: fits.max(1) })
}

/// The plan before a run, from guessed shares.
///
/// # Errors
/// The chain cannot be planned, or its plan needs more memory than there is, with the numbers.
pub fn plan_memory(chain: &Chain, asked: MemoryRequest, budget: Budget) -> Result<MemoryPlan, DmrgError> {
    plan(chain, &Shares::estimated(chain, asked.states), asked, budget)
}
