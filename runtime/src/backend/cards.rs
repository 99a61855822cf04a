//! Several cards of one machine on one run: what they share, and what each has beside the one that leads.
//!
//! Buffers of a run (operators of blocks, kept states, ψ) are read in the memory of the first card, which leads, and so is what is not
//! shared out; those that are not read for a while may be in the memory of the others ([`residency`](crate::residency)). Every card is a
//! [`OneCard`] of its own, with its stream, kernels, libraries and pool. They share:
//!
//! * **Solves.** Blocks of y = H x by cost ([`CardShares`]), with V, W and all vectors of Davidson's method in the same parts
//!   ([`over_cards`]). Each card gets, once for a solve, copies of the operators that its records read.
//! * **Decompositions** and factors of matrices, whole matrices by cost (`matrices_over_cards.rs`).
//!
//! Both only from a size on; what is smaller the first card does alone, because several would take longer. The sizes are fixed, so that the
//! same number of cards gives the same bits.
//!
//! What arrives from other cards is in vectors that are allocated for it, beside the pool, and kept for the next solve.

use super::Operands;
use super::one_card::{OneCard, buffers};
use crate::device::{Arrival, CopiedRun, Device, Links, Mover, Vector};
use crate::error::{BackendError, DeviceError};
use crate::records::card::DeviceBuffers;
use crate::records::{CardShare, CardShares, SPACE_LIST, SPACES, TwoStages};
use crate::residency::{MemoryLimits, PlannedMemory, PoolBuffer, Spare, elements_on_each_of};
use crate::solvers::lean::over_cards::{self, SolveCard};
use crate::solvers::lean::{CardWork, DavidsonLimits, DavidsonResult, TextChoice};
use std::sync::{Arc, PoisonError};

/// Operations of a product with H from which it is shared out among cards, by an estimate: an H200 does as many in 2 ms, of which four
/// cards save 1.5; to collect x, the copies of operators by product, and the waits of an iteration take about 1.
pub const LEAST_SHARED_FLOPS: f64 = 5e10;
/// Rows of a matrix whose decomposition is worth the copies to another card and back.
const LEAST_ROWS: usize = 512;
/// The part of another card's memory for its pool; the rest is for vectors that arrive from elsewhere.
const POOL: f64 = 0.6;

/// What a card does of a product with H, holds and receives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CardLoad {
    /// Operations of its part of a product.
    pub flops: f64,
    /// Elements of its part of a vector.
    pub elements: usize,
    /// Bytes of operators that it receives once per solve.
    pub operator_bytes: u64,
    /// Bytes of x that it receives for each product.
    pub x_bytes: u64,
}

/// How a product is shared out among up to `cards` cards, the one that leads first; only that one if it cannot be shared out.
pub fn card_loads(product: &TwoStages, cards: usize) -> Vec<CardLoad> {
    let whole = CardLoad { flops: product.flops(), elements: product.second.length, ..CardLoad::default() };
    let Some(shares) = CardShares::new(product, cards) else { return vec![whole] };
    let load = |(card, share): (usize, &CardShare)| CardLoad {
        flops: share.product.flops(),
        elements: share.length,
        operator_bytes: if card == 0 { 0 } else { share.operator_bytes() },
        x_bytes: 8 * (product.second.length - share.length) as u64,
    };
    shares.cards.iter().enumerate().map(load).collect()
}

/// The cards beside the one that leads.
pub(super) struct OtherCards {
    pub(super) cards: Vec<OneCard>,
    pub(super) links: Links,
    /// By card, the leader first: vectors that every card sees.
    spare: Vec<Arc<Spare<Vector<f64>>>>,
    /// Sizes from which work is shared out.
    least_flops: f64,
    pub(super) least_rows: usize,
    /// Cards see each other's memory as long as their device is open.
    whole: Device,
}

/// A vector that every card sees, kept for reuse when dropped.
pub(super) struct Lent {
    vector: Option<Vector<f64>>,
    spare: Arc<Spare<Vector<f64>>>,
}

impl Lent {
    pub(super) fn vector(&self) -> &Vector<f64> {
        self.vector.as_ref().expect("a vector is there until it is dropped")
    }

    pub(super) fn vector_mut(&mut self) -> &mut Vector<f64> {
        self.vector.as_mut().expect("a vector is there until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.spare.give_back(self.vector.take());
    }
}

/// What a solve needs on one card.
struct Room {
    x: Lent,
    vector: Lent,
    diagonal: Lent,
    /// Copies of operators; none on the first card.
    operators: [Option<Lent>; SPACES],
}

impl OtherCards {
    /// For the cards of a device, the first of which leads.
    pub(super) fn new(whole: &Device, cards: &[Device], limits: &MemoryLimits) -> Result<OtherCards, BackendError> {
        let own = |card: &Device| {
            let memory = limits.memory.min((POOL * card.memory().free as f64) as u64);
            OneCard::new(card, MemoryLimits { memory, host: 0, other_cards: Vec::new(), ..limits.clone() })
        };
        // Texts are in the cache since the first card was set up; modules are loaded side by side.
        let opened: Result<Vec<_>, BackendError> = std::thread::scope(|scope| {
            let opened: Vec<_> = cards[1..].iter().map(|card| scope.spawn(move || own(card))).collect();
            let joined = opened.into_iter().map(|backend| backend.join());
            joined.map(|backend| backend.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        // A simulated device has no size from which several are quicker: all is shared out, so that all is tested.
        let (least_flops, least_rows) = if whole.is_cuda() { (LEAST_SHARED_FLOPS, LEAST_ROWS) } else { (0.0, 0) };
        let spare = cards.iter().map(|_| Arc::default()).collect();
        Ok(OtherCards {
            cards: opened?,
            links: Links::new(cards)?,
            spare,
            least_flops,
            least_rows,
            whole: whole.clone(),
        })
    }

    /// Cards beside the one that leads.
    pub(super) fn count(&self) -> usize {
        self.cards.len()
    }

    /// All cards as one device.
    pub(super) fn team(&self) -> &Device {
        &self.whole
    }

    /// The cards beside the one that leads.
    pub(super) fn cards_mut(&mut self) -> impl Iterator<Item = &mut OneCard> {
        self.cards.iter_mut()
    }

    pub(super) fn release(&mut self) {
        self.cards.iter().for_each(|card| drop(card.pool.unpark()));
        self.spare.iter().for_each(|spare| spare.clear());
    }

    /// Sets aside V and W on every card.
    pub(super) fn apply_plan(&mut self, plan: &PlannedMemory) -> Result<(), BackendError> {
        let bytes = plan.vectors_on_each_of(1 + self.count());
        self.cards.iter_mut().try_for_each(|card| card.set_aside(plan.width, bytes))
    }

    pub(super) fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), BackendError> {
        let elements = elements_on_each_of(elements, 1 + self.count());
        self.cards.iter_mut().try_for_each(|card| card.specialise(choice, elements))
    }

    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.cards.iter().flat_map(OneCard::warnings)
    }

    pub(super) fn work(&self) -> impl Iterator<Item = CardWork> + '_ {
        self.cards.iter().map(OneCard::work)
    }

    /// How a product is shared out; `None` if the first card does it alone.
    pub(super) fn shares(&self, product: &TwoStages) -> Option<CardShares> {
        if product.flops() < self.least_flops {
            return None;
        }
        CardShares::new(product, 1 + self.count())
    }

    /// A vector on a card that all cards see, of at least so many elements.
    pub(super) fn lend(&self, card: usize, length: usize) -> Result<Lent, DeviceError> {
        let spare = &self.spare[card];
        let vector = match spare.take(length, Vector::len) {
            Some(vector) => vector,
            None => {
                // All are too short. There are as many as a solve needs: the new one takes the place of one of them.
                spare.drop_shortest(Vector::len);
                self.links.card(card).zeros((length + length / 8).next_multiple_of(1 << 10))?
            }
        };
        Ok(Lent { vector: Some(vector), spare: spare.clone() })
    }

    /// Vectors for a solve on each card, with the operators that the others read.
    fn rooms(&self, shares: &CardShares, operands: Operands<'_, PoolBuffer>) -> Result<Vec<Room>, DeviceError> {
        let mut rooms = Vec::with_capacity(shares.cards.len());
        for (card, share) in shares.cards.iter().enumerate() {
            let mut operators: [Option<Lent>; SPACES] = Default::default();
            for (operators, ranges) in operators.iter_mut().zip(&share.reads).filter(|(_, ranges)| !ranges.is_empty()) {
                if card > 0 {
                    *operators = Some(self.lend(card, ranges.iter().map(|range| range.len()).sum())?);
                }
            }
            let [x, vector, diagonal] = [shares.collected, share.length, share.length].map(|len| self.lend(card, len));
            rooms.push(Room { x: x?, vector: vector?, diagonal: diagonal?, operators });
        }
        let mut arrivals = Vec::new();
        for (card, (room, share)) in rooms.iter_mut().zip(&shares.cards).enumerate() {
            for ((space, to), ranges) in SPACE_LIST.into_iter().zip(&mut room.operators).zip(&share.reads) {
                if let (Some(to), Some(from)) = (to, operands.get(space)) {
                    let from = from.vector();
                    let sources = vec![(0, from, side_by_side(ranges, from.len()))];
                    arrivals.push(Arrival { card, target: to.vector_mut(), sources, mover: Mover::Source });
                }
            }
        }
        self.links.run(&mut arrivals)?;
        Ok(rooms)
    }
}

/// The ranges of a vector of `len` elements, copied one after the other.
fn side_by_side(ranges: &[std::ops::Range<usize>], len: usize) -> Vec<CopiedRun> {
    let mut at = 0;
    let run = |range: &std::ops::Range<usize>| {
        at += range.len();
        [range.start, at - range.len(), range.end.min(len).saturating_sub(range.start)]
    };
    ranges.iter().map(run).collect()
}

impl OneCard {
    /// What a card brings to a solve.
    fn solve_card<'a>(
        &'a mut self,
        share: &'a CardShare,
        (product, buffers): (&TwoStages, DeviceBuffers<'a>),
        (x, vector, diagonal): (&'a mut Lent, &'a mut Lent, &'a mut Lent),
    ) -> Result<SolveCard<'a>, DeviceError> {
        let OneCard { multiplier, pool, davidson, .. } = self;
        Ok(SolveCard {
            multiply: multiplier.prepare(product, buffers, pool)?,
            kernels: davidson.get_mut().unwrap_or_else(PoisonError::into_inner),
            share,
            x: x.vector_mut(),
            vector: vector.vector_mut(),
            diagonal: diagonal.vector_mut(),
        })
    }
}

impl OtherCards {
    /// A solve that is shared out; the vectors are the diagonal of H, the start vector, and those to stay orthogonal to.
    pub(super) fn solve(
        &mut self,
        first: &mut OneCard,
        shares: &CardShares,
        operands: Operands<'_, PoolBuffer>,
        (diagonal, vector, against): (&PoolBuffer, &mut PoolBuffer, &[&PoolBuffer]),
        limits: DavidsonLimits,
    ) -> Result<DavidsonResult, BackendError> {
        let mut rooms = self.rooms(shares, operands)?;
        let OtherCards { cards, links, .. } = self;
        let mut rooms = rooms.iter_mut().zip(&shares.cards);
        let Some((room, share)) = rooms.next() else { unreachable!("the first card has a share") };
        let in_place = (&share.product, buffers(operands));
        // Tables of records are made for all cards at once.
        let cards = std::thread::scope(|scope| {
            let prepared: Vec<_> = cards
                .iter_mut()
                .zip(rooms)
                .map(|(card, (Room { x, vector, diagonal, operators }, share))| {
                    scope.spawn(move || {
                        let copies = SPACE_LIST.into_iter().zip(&*operators);
                        let buffers = copies.fold(DeviceBuffers::default(), |buffers, (space, copy)| {
                            copy.as_ref().map_or(buffers, |copy| buffers.set(space, copy.vector()))
                        });
                        let card = card.solve_card(share, (&share.of_copies(), buffers), (x, vector, diagonal))?;
                        card.kernels.received(share.operator_bytes());
                        Ok::<_, DeviceError>(card)
                    })
                })
                .collect();
            let first = first.solve_card(share, in_place, (&mut room.x, &mut room.vector, &mut room.diagonal));
            let joined = prepared.into_iter().map(|card| card.join());
            let others = joined.map(|card| card.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(first).chain(others).collect::<Result<Vec<_>, _>>()
        })?;
        over_cards::solve(cards, links, diagonal, vector, limits, against)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Backend, DeviceBackend};
    use super::*;
    use crate::dense::{View, eigen};
    use crate::records::{Action, CpuShare, Operand, OperandSpace, Record, RecordGroup, RecordStage, Strategy};
    use crate::seeded::vector;
    use crate::testing::teams;

    /// A random symmetric matrix whose diagonal grows.
    pub(in crate::backend) fn symmetric(n: usize, seed: u64) -> Vec<f64> {
        let random = vector(n * n, seed);
        let element = |k: usize| {
            let (i, j) = (k % n, k / n);
            0.5 * (random[i + j * n] + random[j + i * n]) + if i == j { 0.3 * i as f64 } else { 0.0 }
        };
        (0..n * n).map(element).collect()
    }

    /// y = A x by blocks of x and y: y_i = Σ_j A_ij x_j, for odd j by way of an intermediate.
    fn by_blocks(sizes: &[usize]) -> TwoStages {
        let n: usize = sizes.iter().sum();
        let starts: Vec<usize> = sizes.iter().scan(0, |at, size| Some(std::mem::replace(at, *at + size))).collect();
        let operand = |space, offset, stride| Operand { space, offset, stride, transposed: false };
        let (mut first, mut second) = (RecordStage::default(), RecordStage { groups: Vec::new(), length: n });
        for (i, rows) in sizes.iter().copied().enumerate() {
            let mut records = Vec::new();
            for (j, inner) in sizes.iter().copied().enumerate() {
                let a = operand(OperandSpace::Left, starts[i] + n * starts[j], n);
                let b = operand(OperandSpace::Input, starts[j], inner);
                let action = Action::Product { a, b, inner };
                let product = Record { action, coefficient: 1.0, first: 0, stride: rows, rows, columns: 1 };
                records.push(match j % 2 {
                    0 => product,
                    _ => {
                        let at = first.push(rows, vec![product]);
                        let a = operand(OperandSpace::Between, at, rows);
                        Record { action: Action::Copy { a }, ..product }
                    }
                });
            }
            second.groups.push(RecordGroup { offset: starts[i], length: rows, records });
        }
        TwoStages { first, second }
    }

    pub(in crate::backend) fn of_team(team: &Device) -> DeviceBackend {
        let limits = MemoryLimits::new(team, Some(1 << 28), Some(1 << 28), std::env::temp_dir());
        DeviceBackend::of_cards(team, &team.members().unwrap(), limits).unwrap()
    }

    /// The lowest eigenvalues of matrices of more and of fewer blocks than cards, the second orthogonal to the first, with restarts; the
    /// same bits again.
    #[test]
    fn memcheck_solves_over_cards_are_those_of_the_matrix() {
        for team in teams(&[3]) {
            let mut engine = of_team(&team);
            // As if every product were large on a card too.
            engine.others.iter_mut().for_each(|others| others.least_flops = 0.0);
            engine.apply_plan(&PlannedMemory { reserved: 1 << 20, step: 1 << 20, vectors: 1 << 14, width: 5 }).unwrap();
            for (sizes, seed) in [(vec![5, 1, 7, 0, 4], 3), (vec![6, 3], 4)] {
                let n: usize = sizes.iter().sum();
                let (a, product) = (symmetric(n, seed), by_blocks(&sizes));
                let (levels, _) = eigen(View::new(&a, n, n)).unwrap();
                let matrix = engine.upload(a.clone()).unwrap();
                let diagonal = engine.upload((0..n).map(|i| a[i * (n + 1)]).collect()).unwrap();
                let operands = Operands::default().set(OperandSpace::Left, &matrix);
                let limits = DavidsonLimits::new(1e-7, 40);
                let mut below: Vec<PoolBuffer> = Vec::new();
                for level in &levels[..2 - sizes.len() % 2] {
                    let found = [(); 2].map(|()| {
                        let mut x = engine.upload(vector(n, 9)).unwrap();
                        let against: Vec<&PoolBuffer> = below.iter().collect();
                        let found = engine.solve(&product, operands, &diagonal, &mut x, limits, &against).unwrap();
                        (found, x)
                    });
                    let [(found, x), (again, y)] = found;
                    assert!((found.value - level).abs() < 1e-12, "{} is not {level}: {sizes:?}", found.value);
                    assert!(found.residual <= 1e-7 && found.products > 5, "{found:?}");
                    let x_host = x.download().unwrap();
                    assert!(found == again && x_host == y.download().unwrap(), "the same bits");
                    for i in 0..n {
                        let product: f64 = (0..n).map(|j| a[i + j * n] * x_host[j]).sum();
                        assert!((product - level * x_host[i]).abs() < 2e-7, "element {i}");
                    }
                    below.push(x);
                }
            }
            let work = engine.work();
            assert!(work.len() == team.cards_at_work() as usize && work[1..].iter().all(|card| card.received > 0));
            let refused = engine.set_paper_product(Strategy::Planned, CpuShare::Part(0.5)).unwrap_err().to_string();
            assert!(refused.contains("a share of the CPU") && refused.contains("takes one card"), "{refused}");
        }
    }

    #[test]
    fn copies_lie_one_after_the_other_and_end_with_their_source() {
        assert_eq!(side_by_side(&[32..64, 96..160], 150), [[32, 0, 32], [96, 32, 54]]);
        assert_eq!(side_by_side(&[], 5), [[0usize; 3]; 0]);
    }
}
