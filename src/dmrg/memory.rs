//! The memory plan: what a run will hold at most, found before it allocates, and what it is then held to.
//!
//! In: the chain, how many states each sector keeps at each cut ([`Shares`]), a [`Budget`]. Out: bytes by item at the fullest
//! bond of a sweep, found by [rehearsing](super::shapes) a sweep with buffers that have lengths only; how wide Davidson's basis may be;
//! above how many bytes blocks and kept states leave for host memory or the disk; what goes there. What cannot be done that way is
//! refused with the number of states that can.
//!
//! Before a run the shares are a guess (a ground state spreads its states over fewer sectors than a random one). When the sweeps
//! with fewer states are done they are known, and the plan is made again: that one holds to a few per cent. It is of the sweeps:
//! the variance afterwards works with H², of which the blocks and vectors of the sweeps make room.

use super::blocks::Side;
use super::chain::Chain;
use super::davidson::{self, WIDTH};
use super::error::DmrgError;
use super::shapes::{Counted, Shapes};
pub use super::shares::Shares;
use super::sweep::{SweepPlan, Sweeper};
use super::truncate::Limits;
use serde::Serialize;

/// Who computes, and by whose rules memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// This machine's cores: what has left goes to the disk.
    Host,
    /// A card: what has left goes to host memory, and to the disk when that is full.
    Card,
}

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Who computes.
    pub processor: Processor,
    /// Bytes of the memory where it computes.
    pub memory: u64,
    /// Bytes of host memory for what has left a card.
    pub host: u64,
}

/// Bytes that were held at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// In the memory where it computes.
    pub memory: u64,
    /// In host memory beside a card.
    pub host: u64,
    /// On the disk.
    pub disk: u64,
}

/// What is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// States at most.
    pub states: usize,
    /// Whether a sweep has noise, which takes room for what perturbs the density matrices.
    pub noisy: bool,
    /// Whether the shares were measured.
    pub measured: bool,
}

/// What a run is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// With so many states.
    pub states: usize,
    /// Whether the shares of the sectors were measured, by sweeps with fewer states.
    pub measured: bool,
    /// Operators of blocks that are here at the fullest bond.
    pub blocks: u64,
    /// Kept states that are here.
    pub kept: u64,
    /// V and W of Davidson's method.
    pub vectors: u64,
    /// The most of each memory.
    pub most: Usage,
    /// Vectors of Davidson's basis.
    pub width: usize,
    /// What a sweep has left behind leaves the memory while more bytes than this are held.
    pub leave_above: u64,
}

/// The vectors of a restart, and some to go on with.
const NARROWEST: usize = 4;

impl MemoryPlan {
    /// (what it is, bytes), adding up to the most that is held where it computes.
    pub fn items(&self) -> Vec<(String, u64)> {
        let rest = self.most.memory.saturating_sub(self.blocks + self.kept + self.vectors);
        vec![
            ("operators of all blocks".into(), self.blocks),
            ("kept states".into(), self.kept),
            (format!("V and W, {} vectors each", self.width), self.vectors),
            ("products and decompositions of a bond".into(), rest),
        ]
    }

    /// "planned 1.23 GiB (and 0.50 GiB in host memory, 2.00 GiB on disk)".
    pub fn describe(&self) -> String {
        let kind = if self.measured { "by the sectors as measured" } else { "by a guess of the sectors" };
        format!("{}, {} states, {kind}", self.most.describe(), self.states)
    }
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        0..1048576 => format!("{:.1} KiB", b / 1024.0),
        1048576..1073741824 => format!("{:.1} MiB", b / 1048576.0),
        _ => format!("{:.2} GiB", b / 1073741824.0),
    }
}

impl Usage {
    /// The larger of both, memory by memory.
    pub fn or(self, other: Usage) -> Usage {
        Usage {
            memory: self.memory.max(other.memory),
            host: self.host.max(other.host),
            disk: self.disk.max(other.disk),
        }
    }

    /// "1.23 GiB, 0.50 GiB beside it in host memory, 2.00 GiB on disk".
    pub fn describe(&self) -> String {
        let mut text = size(self.memory);
        for (bytes, place) in [(self.host, "beside it in host memory"), (self.disk, "on disk")] {
            if bytes > 0 {
                text += &format!(", {} {place}", size(bytes));
            }
        }
        text
    }
}

/// Goes from the left end to the right; the way back holds the same, mirrored. Where numbers leave it goes back too, and that
/// way is measured: what stayed and what left then depends on a sweep before, as it does in a run.
fn rehearse(
    chain: &Chain,
    shares: &Shares,
    budget: Budget,
    asked: Asked,
    (width, leave_above): (usize, u64),
) -> Result<MemoryPlan, DmrgError> {
    let engine = Shapes::new(chain, shares, budget.processor, width, leave_above, budget.host);
    let mut sweeper = Sweeper::rehearsal(engine, chain)?;
    let limits = Limits { most: usize::MAX, least: 1, discarded: 0.0 };
    let davidson = davidson::Limits { tolerance: 1.0, products: 1 };
    let noise = if asked.noisy { 1.0 } else { 0.0 };
    let sweep = SweepPlan { limits, noise, davidson, random: None };
    let (mut fullest, mut plan) = (0, None);
    let measured = if leave_above == u64::MAX { Side::Left } else { Side::Right };
    let path = Sweeper::<Shapes<'_>>::path(chain.sites).filter(|(_, grows)| *grows == Side::Left || *grows == measured);
    for (p, grows) in path {
        let engine = sweeper.engine();
        engine.cut.set(p + 1);
        if grows != measured {
            sweeper.step(p, grows, &sweep)?;
            continue;
        }
        engine.ledger.restart();
        let here = |counted: &mut dyn Iterator<Item = &Counted>| counted.map(Counted::here).sum::<u64>();
        let blocks = here(&mut sweeper.left.iter().chain(&sweeper.right).flatten().map(|block| &block.data));
        let kept = here(&mut sweeper.kept.iter().flatten().map(|kept| &kept.data));
        sweeper.step(p, grows, &sweep)?;
        let (engine, most) = (sweeper.engine(), Usage::default());
        let peak = engine.ledger.peak();
        if peak > fullest {
            let (Asked { states, measured, .. }, vectors) = (asked, engine.solver());
            fullest = peak;
            plan = Some(MemoryPlan { states, measured, blocks, kept, vectors, most, width, leave_above });
        }
    }
    let most = Usage { memory: fullest, ..sweeper.engine().usage() };
    let plan = plan.map(|plan| MemoryPlan { most, ..plan });
    let nothing = || DmrgError::TooShort { sites: chain.sites };
    plan.ok_or_else(nothing)
}

/// The plan of a sweep with these shares.
///
/// # Errors
/// A bond that does not fit, with the number of states that would.
pub fn plan(chain: &Chain, shares: &Shares, asked: Asked, budget: Budget) -> Result<MemoryPlan, DmrgError> {
    let rehearsed = |width, leave_above| rehearse(chain, shares, budget, asked, (width, leave_above));
    let whole = rehearsed(WIDTH, u64::MAX)?;
    if whole.most.memory <= budget.memory {
        return Ok(whole);
    }
    let least = rehearsed(NARROWEST, 0)?;
    let needed = least.most.memory;
    if needed > budget.memory {
        // Everything grows as the square of the number of states.
        let fits = (asked.states as f64 * (budget.memory as f64 / needed as f64).sqrt()) as usize;
        return Err(DmrgError::Memory { needed, free: budget.memory, states: fits.max(1) });
    }
    for width in [WIDTH, 16, 12, 8] {
        if rehearsed(width, 0)?.most.memory > budget.memory {
            continue;
        }
        let mut leave_above = budget.memory;
        while leave_above > 0 {
            let found = rehearsed(width, leave_above)?;
            let over = found.most.memory.saturating_sub(budget.memory);
            if over == 0 {
                return Ok(found);
            }
            leave_above = leave_above.saturating_sub(over.max(budget.memory / 32));
        }
        return rehearsed(width, 0);
    }
    Ok(least)
}

/// The plan before a run, by a guess of the sectors.
///
/// # Errors
/// Those of [`plan`].
pub fn first_plan(chain: &Chain, states: usize, noisy: bool, budget: Budget) -> Result<MemoryPlan, DmrgError> {
    plan(chain, &Shares::estimated(chain, states), Asked { states, noisy, measured: false }, budget)
}
