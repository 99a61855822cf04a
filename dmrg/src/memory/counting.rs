//! A dry run: the code of a sweep over buffers that have a length but no content.
//!
//! In: how many states each sector keeps at every cut. Out: the work of a bond and, through a [`Ledger`], the memory in
//! use at every moment, including the workspaces of the engine that is simulated. Memory plans and work predictions thus
//! come from the code that runs.

use super::shares::Shares;
use crate::block::blocks::{Sectors, Side};
use crate::block::bond::{TwoSiteBond, carried_over};
use crate::block::enlarged::EnlargedOperators;
use crate::block::environment::Environment;
use crate::block::state::Isometry;
use crate::block::truncate::{Centre, CentreBlock, Truncated, TruncationLimits, Wave, perturbation_stages};
use crate::chain::Chain;
use crate::engine::Engine;
use crate::engine::card::diagonal_stages;
use crate::engine::host::{decomposing, decomposing_with_noise};
use crate::error::DmrgError;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::backend::{Backend, DeviceBackend, LEAST_SHARED_FLOPS, Operands, card_loads, workspace};
use eigenforge_runtime::records::{Assembly, OperandSpace, RecordStage, TwoStages};
use eigenforge_runtime::residency::{Evict, Ledger, ProcessorKind, elements_on_each_of};
use eigenforge_runtime::solvers::lean::{DavidsonLimits, DavidsonResult, WIDTH};
use eigenforge_runtime::{BackendError, DeviceSpan};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The engine that counts.
pub struct CountingEngine<'s> {
    shares: &'s Shares,
    total: crate::chain::charges::Charges,
    processor: ProcessorKind,
    /// Cards that share out solves.
    cards: usize,
    width: usize,
    /// Whether evictable buffers leave at once.
    leaves: bool,
    /// Bytes of the memory of the simulated engine.
    pub ledger: Arc<Ledger>,
    /// The cut at which the next truncation keeps states.
    pub cut: Cell<usize>,
    /// Operations of all stages run so far.
    pub flops: Cell<f64>,
    /// Bytes of V and W that other cards hold.
    pub(super) spread: Cell<u64>,
    /// What the solver keeps from bond to bond: V and W, intermediates, the longest vector of ones.
    vectors: RefCell<Vec<CountedBuffer>>,
    between: RefCell<Vec<CountedBuffer>>,
    ones: RefCell<Vec<CountedBuffer>>,
}

/// Bytes of `len` numbers, saturating: a run may be larger than any machine.
fn bytes(len: usize) -> u64 {
    (len as u64).saturating_mul(8)
}

/// A buffer with a length only.
pub struct CountedBuffer {
    len: usize,
    /// Whether it is in the engine's memory.
    is_here: bool,
    /// Whether it leaves as soon as it is evictable.
    leaves: bool,
    ledger: Arc<Ledger>,
}

impl Drop for CountedBuffer {
    fn drop(&mut self) {
        self.ledger.give_back(self.here());
    }
}

impl CountedBuffer {
    /// Bytes in the engine's memory; 0 when evicted.
    pub fn here(&self) -> u64 {
        if self.is_here { bytes(self.len) } else { 0 }
    }
}

impl<'s> CountingEngine<'s> {
    /// Simulates an engine of so many cards, or of the CPU, whose solver has `width` vectors; `leaves` says whether evictable buffers leave
    /// at once. What is counted is the memory of the first card.
    pub fn new(
        chain: &Chain,
        shares: &'s Shares,
        (processor, cards): (ProcessorKind, usize),
        width: usize,
        leaves: bool,
    ) -> CountingEngine<'s> {
        let (cut, vectors, between, ones) = (Cell::new(0), RefCell::default(), RefCell::default(), RefCell::default());
        let (ledger, total) = (Arc::default(), chain.total);
        let (flops, spread) = (Cell::new(0.0), Cell::new(0));
        CountingEngine {
            shares,
            total,
            processor,
            cards,
            width,
            leaves,
            ledger,
            cut,
            flops,
            spread,
            vectors,
            between,
            ones,
        }
    }

    /// Simulates the CPU with unlimited memory.
    pub fn free(chain: &Chain, shares: &'s Shares) -> CountingEngine<'s> {
        CountingEngine::new(chain, shares, (ProcessorKind::Host, 1), WIDTH, false)
    }

    /// The block of a cut.
    ///
    /// # Errors
    /// Errors of the engine; this engine has none today.
    pub fn block(&self, chain: &Chain, side: Side, p: usize) -> Result<Environment<CountedBuffer>, DmrgError> {
        let mut block = Environment::end_on(self)?;
        let sites: Vec<usize> = match side {
            Side::Left => (0..p).collect(),
            Side::Right => (p..chain.sites).rev().collect(),
        };
        for site in sites {
            block = self.grown(chain, side, site, &block)?.0;
        }
        Ok(block)
    }

    /// A block with the site next to it, and the states kept from it.
    fn grown(
        &self,
        chain: &Chain,
        side: Side,
        site: usize,
        behind: &Environment<CountedBuffer>,
    ) -> Result<(Environment<CountedBuffer>, Isometry<CountedBuffer>), DmrgError> {
        let (cut, next) = if side == Side::Left { (site, site + 1) } else { (site + 1, site) };
        let enlarged = chain.enlarge(side, &behind.sectors, cut);
        self.cut.set(next);
        let tables = self.isometry(&enlarged.sectors, side);
        let elements = tables.blocks.iter().map(|block| block.rows * block.columns).sum();
        let kept = tables.carried(|()| Ok::<_, DmrgError>(self.buffer(elements)))?;
        let block = carried_over(self, chain, &chain.sum, side, cut, behind, &enlarged, &kept)?;
        Ok((block, kept))
    }

    /// A buffer of `len` numbers.
    fn buffer(&self, len: usize) -> CountedBuffer {
        self.ledger.take(bytes(len));
        CountedBuffer { len, is_here: true, leaves: self.leaves, ledger: self.ledger.clone() }
    }

    /// Counts `len` numbers for a moment.
    fn touch(&self, len: usize) {
        self.ledger.touch(bytes(len));
    }

    /// Bytes of V and W.
    pub fn solver(&self) -> u64 {
        self.vectors.borrow().iter().map(CountedBuffer::here).sum()
    }

    /// Ensures that `list` holds buffers of at least these lengths.
    fn keep(&self, list: &RefCell<Vec<CountedBuffer>>, lengths: &[usize]) {
        let mut list = list.borrow_mut();
        if list.len() != lengths.len() || list.iter().zip(lengths).any(|(held, len)| held.len < *len) {
            list.clear();
            list.extend(lengths.iter().map(|len| self.buffer(*len)));
        }
    }

    /// The number of states kept in each sector at the cut, and their tables.
    fn isometry(&self, own: &Sectors, side: Side) -> Isometry<()> {
        let shares = self.shares.cut(self.cut.get());
        let count = |q: usize| {
            let charges = if side == Side::Left { own.charges(q) } else { self.total - own.charges(q) };
            // Sectors of less than half a state are left out, as truncation leaves them out.
            (shares.get(&charges).copied().unwrap_or(0.0).round() as usize).min(own.dimension(q))
        };
        Isometry::tables_of(own, &(0..own.len()).map(count).collect::<Vec<_>>())
    }

    /// Workspace of a truncation beyond its results, from the lengths of what it works with.
    fn truncated(
        &self,
        wave: Wave<'_, CountedBuffer>,
        side: Side,
        noisy: Option<(usize, usize)>,
    ) -> Truncated<CountedBuffer> {
        let own = wave.sectors_of(side);
        let kept = self.isometry(own, side);
        let (mut blocks, mut length) = (Vec::new(), 0);
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            blocks.push(kept.block(wave.block_sector(side, index)).map(|block| {
                let (rows, columns) = match side {
                    Side::Left => (block.columns, sector.columns),
                    Side::Right => (sector.rows, block.columns),
                };
                length += rows * columns;
                CentreBlock { offset: length - rows * columns, rows, columns }
            }));
        }
        let states: usize = kept.blocks.iter().map(|block| block.rows * block.columns).sum();
        let around = match (self.processor, noisy) {
            (ProcessorKind::Host, None) => decomposing(wave.layout, states, length),
            (ProcessorKind::Host, Some((between, densities))) => {
                decomposing_with_noise(between, densities, states, length)
            }
            (ProcessorKind::Card, noisy) => {
                noisy.map_or(0, |(between, _)| between) + workspace((0..own.len()).map(|q| own.dimension(q)))
            }
        };
        self.touch(around);
        let made = |len| Ok::<_, DmrgError>(self.buffer(len));
        let centre = Centre { blocks, data: self.buffer(length) };
        let kept = kept.carried(|()| made(states)).unwrap_or_else(|_| unreachable!("counting does not fail"));
        Truncated { kept, centre, discarded: 0.0, weights: Vec::new(), spectrum: Vec::new() }
    }
}

impl<'c, 's> Sweeper<'c, CountingEngine<'s>> {
    /// All right blocks exist, as a leftward sweep leaves them, and ψ is at the first bond.
    pub(crate) fn rehearsal(
        engine: CountingEngine<'s>,
        chain: &'c Chain,
    ) -> Result<Sweeper<'c, CountingEngine<'s>>, DmrgError> {
        let mut sweeper = Sweeper::empty(engine, chain)?;
        for site in (2..chain.sites).rev() {
            let (block, kept) = sweeper.engine.grown(chain, Side::Right, site, sweeper.block(Side::Right, site + 1))?;
            (sweeper.right[site], sweeper.kept[site]) = (Some(block), Some(kept));
            sweeper.mark_evictable(&[Evictable::Kept(site), Evictable::Block(Side::Right, site + 1)])?;
        }
        let length = sweeper.frame(0).layout.length;
        sweeper.wave = sweeper.engine.buffer(length);
        Ok(sweeper)
    }
}

impl Evict for CountedBuffer {
    fn mark_evictable(&mut self) -> Result<(), BackendError> {
        if self.leaves {
            self.ledger.give_back(self.here());
            self.is_here = false;
        }
        Ok(())
    }

    fn ensure_resident(&mut self) -> Result<(), BackendError> {
        if !self.is_here {
            self.is_here = true;
            self.ledger.take(self.here());
        }
        Ok(())
    }
}

impl Backend for CountingEngine<'_> {
    type Buffer = CountedBuffer;

    fn upload(&self, data: Vec<f64>) -> Result<CountedBuffer, BackendError> {
        Ok(self.buffer(data.len()))
    }

    fn download<'b>(&self, _: &'b CountedBuffer) -> Result<Cow<'b, [f64]>, BackendError> {
        Ok(Cow::Borrowed(&[]))
    }

    fn run(&self, stage: &RecordStage, _: Operands<'_, CountedBuffer>) -> Result<CountedBuffer, BackendError> {
        self.flops.set(self.flops.get() + stage.flops());
        Ok(self.buffer(stage.length))
    }

    fn assemble(&self, assembly: &Assembly, _: &CountedBuffer) -> Result<CountedBuffer, BackendError> {
        Ok(self.buffer(assembly.length))
    }

    fn dot(&self, _: &CountedBuffer, _: &CountedBuffer) -> Result<f64, BackendError> {
        Ok(0.0)
    }

    /// Values that give every matrix the same share of the largest.
    fn eigenpairs(&self, _: CountedBuffer, list: &[(usize, usize)]) -> Result<Vec<(Vec<f64>, Vec<f64>)>, BackendError> {
        let values = |rows: usize| (0..rows).map(|k| (rows - k) as f64 / rows as f64).collect();
        Ok(list.iter().map(|(_, rows)| (values(*rows), vec![0.0; rows * rows])).collect())
    }

    fn solve(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, CountedBuffer>,
        _: &CountedBuffer,
        wave: &mut CountedBuffer,
        _: DavidsonLimits,
        _: &[&CountedBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        let of = |space| operands.get(space).map_or(0, |buffer: &CountedBuffer| buffer.len);
        let copied: usize = [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum]
            .into_iter()
            .map(of)
            .sum();
        let (n, width, between) = (wave.len, self.width.min(wave.len).max(1), product.first.length);
        match self.processor {
            ProcessorKind::Host => {
                self.keep(&self.vectors, &[(2 * width + 1) * n]);
                self.keep(&self.between, &[between]);
            }
            ProcessorKind::Card => {
                // Blocks are not cut: the first card's part may be larger than most.
                let part = match product.flops() < LEAST_SHARED_FLOPS || self.cards < 2 {
                    true => n,
                    false => {
                        let planned = card_loads(product, self.cards).first().map_or(n, |load| load.elements);
                        planned.max(elements_on_each_of(n, self.cards)).min(n)
                    }
                };
                let [whole, own] = [n, part].map(|elements| width * elements.next_multiple_of(32));
                self.keep(&self.vectors, &[own; 2]);
                if self.vectors.borrow().iter().all(|kept| kept.len == own) {
                    self.spread.set(bytes(2 * whole.saturating_sub(own)));
                }
                // The operators and x once more, where they stream.
                self.touch(between + copied + n);
            }
        }
        Ok(DavidsonResult { value: 0.0, residual: 0.0, products: 0, first: f64::NAN })
    }

    /// A common basis takes the memory of one state's.
    fn solve_together(
        &mut self,
        _: &TwoStages,
        _: Operands<'_, CountedBuffer>,
        _: &CountedBuffer,
        _: &mut [&mut CountedBuffer],
        _: DavidsonLimits,
        _: &[&CountedBuffer],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        Ok(None)
    }
}

impl Engine for CountingEngine<'_> {
    fn span(&self, _: &str) -> Option<DeviceSpan> {
        None
    }

    fn diagonal(
        &self,
        bond: &TwoSiteBond<CountedBuffer>,
        _: &Environment<CountedBuffer>,
        _: &Environment<CountedBuffer>,
    ) -> Result<CountedBuffer, DmrgError> {
        if self.processor == ProcessorKind::Card {
            let (first, _, longest) = diagonal_stages(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
            self.keep(&self.ones, &[longest.next_power_of_two().max(DeviceBackend::LEAST_ONES)]);
            self.touch(first.length + bond.frame.layout.length);
        }
        Ok(self.buffer(bond.frame.layout.length))
    }

    fn truncate(
        &self,
        wave: Wave<'_, CountedBuffer>,
        side: Side,
        _: TruncationLimits,
    ) -> Result<Truncated<CountedBuffer>, DmrgError> {
        Ok(self.truncated(wave, side, None))
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, CountedBuffer>,
        side: Side,
        _: TruncationLimits,
        operators: &EnlargedOperators<CountedBuffer>,
        _: Operands<'_, CountedBuffer>,
        _: f64,
    ) -> Result<Truncated<CountedBuffer>, DmrgError> {
        let (first, second) = perturbation_stages(wave, side, operators);
        Ok(self.truncated(wave, side, Some((first.length, second.length))))
    }
}
