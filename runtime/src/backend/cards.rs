//! Several cards of one machine on one run: what they share, and what each has beside the one that leads.
//!
//! Buffers of a run (operators of blocks, kept states, ψ) are in the memory of the first card, which leads, and so is what is not shared
//! out. Every card is a [`DeviceBackend`] of its own, with its stream, kernels, libraries and pool. They share:
//!
//! * **Solves.** Blocks of y = H x by cost ([`CardShares`]), with V, W and all vectors of Davidson's method in the same parts
//!   ([`over_cards`]). Each card gets, once for a solve, copies of the operators that its records read.
//! * **Decompositions** of symmetric matrices, whole matrices by cost.
//!
//! Both only from a size on; what is smaller the first card does alone, because several would take longer. The sizes are fixed, so that the
//! same number of cards gives the same bits.
//!
//! What arrives from other cards is in vectors that are allocated for it, beside the pool, and kept for the next solve.

use super::device::DeviceBackend;
use super::eigenvectors::MatrixSpectrum;
use super::{Backend, Operands};
use crate::device::{Arrival, CopiedRun, Device, Links, Mover, Vector};
use crate::error::{BackendError, DeviceError};
use crate::records::card::DeviceBuffers;
use crate::records::{CardShare, CardShares, CpuShare, SPACE_LIST, SPACES, Strategy, TwoStages};
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
    backends: Vec<DeviceBackend>,
    links: Links,
    /// By card, the leader first: vectors that every card sees.
    spare: Vec<Arc<Spare<Vector<f64>>>>,
    /// Sizes from which work is shared out.
    least_flops: f64,
    least_rows: usize,
    /// Cards see each other's memory as long as their device is open.
    _whole: Device,
}

/// A vector that every card sees, kept for reuse when dropped.
struct Lent {
    vector: Option<Vector<f64>>,
    spare: Arc<Spare<Vector<f64>>>,
}

impl Lent {
    fn vector(&self) -> &Vector<f64> {
        self.vector.as_ref().expect("a vector is there until it is dropped")
    }

    fn vector_mut(&mut self) -> &mut Vector<f64> {
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
            DeviceBackend::within(card, MemoryLimits { memory, host: 0, ..limits.clone() })
        };
        // Texts are in the cache since the first card was set up; modules are loaded side by side.
        let backends: Result<Vec<_>, BackendError> = std::thread::scope(|scope| {
            let opened: Vec<_> = cards[1..].iter().map(|card| scope.spawn(move || own(card))).collect();
            let joined = opened.into_iter().map(|backend| backend.join());
            joined.map(|backend| backend.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        // A simulated device has no size from which several are quicker: all is shared out, so that all is tested.
        let (least_flops, least_rows) = if whole.is_cuda() { (LEAST_SHARED_FLOPS, LEAST_ROWS) } else { (0.0, 0) };
        let spare = cards.iter().map(|_| Arc::default()).collect();
        Ok(OtherCards {
            backends: backends?,
            links: Links::new(cards)?,
            spare,
            least_flops,
            least_rows,
            _whole: whole.clone(),
        })
    }

    /// Cards beside the one that leads.
    pub(super) fn count(&self) -> usize {
        self.backends.len()
    }

    /// # Errors
    /// A share of the CPU, which has one card beside it.
    pub(super) fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), BackendError> {
        if share != CpuShare::default() {
            let what = "a share of the CPU in H x (`cpu_share`)".into();
            return Err(DeviceError::SeveralCards { what, device: self._whole.name() }.into());
        }
        self.backends.iter_mut().try_for_each(|backend| backend.configure(strategy, share))
    }

    pub(super) fn release(&mut self) {
        self.backends.iter_mut().for_each(Backend::release);
        self.spare.iter().for_each(|spare| spare.clear());
    }

    /// Sets aside V and W on every card.
    pub(super) fn apply_plan(&mut self, plan: &PlannedMemory) -> Result<(), BackendError> {
        let bytes = plan.vectors_on_each_of(1 + self.count());
        self.backends.iter_mut().try_for_each(|backend| {
            let davidson = backend.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
            drop(backend.pool.unpark());
            Ok(davidson.apply_plan(plan.width, bytes)?)
        })
    }

    pub(super) fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), BackendError> {
        let elements = elements_on_each_of(elements, 1 + self.count());
        self.backends.iter_mut().try_for_each(|backend| backend.specialise(choice, elements))
    }

    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.backends.iter().flat_map(Backend::warnings)
    }

    pub(super) fn work(&self) -> impl Iterator<Item = CardWork> + '_ {
        self.backends.iter().flat_map(Backend::work)
    }

    /// How a product is shared out; `None` if the first card does it alone.
    pub(super) fn shares(&self, product: &TwoStages) -> Option<CardShares> {
        if product.flops() < self.least_flops {
            return None;
        }
        CardShares::new(product, 1 + self.count())
    }

    /// A vector on a card that all cards see, of at least so many elements.
    fn lend(&self, card: usize, length: usize) -> Result<Lent, DeviceError> {
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

impl DeviceBackend {
    /// What a card brings to a solve.
    fn solve_card<'a>(
        &'a mut self,
        share: &'a CardShare,
        (product, buffers): (&TwoStages, DeviceBuffers<'a>),
        (x, vector, diagonal): (&'a mut Lent, &'a mut Lent, &'a mut Lent),
    ) -> Result<SolveCard<'a>, DeviceError> {
        Ok(SolveCard {
            multiply: self.multiplier.prepare(product, buffers, &self.pool)?,
            kernels: self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner),
            share,
            x: x.vector_mut(),
            vector: vector.vector_mut(),
            diagonal: diagonal.vector_mut(),
        })
    }

    /// A solve that is shared out.
    pub(super) fn solve_over_cards(
        &mut self,
        shares: &CardShares,
        operands: Operands<'_, PoolBuffer>,
        diagonal: &PoolBuffer,
        vector: &mut PoolBuffer,
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        let Some(mut others) = self.others.take() else {
            unreachable!("there are shares only for several cards");
        };
        let solved = self.solve_with(&mut others, shares, operands, diagonal, vector, limits, against);
        self.others = Some(others);
        solved
    }

    #[expect(clippy::too_many_arguments, reason = "those of a solve, and the cards")]
    fn solve_with(
        &mut self,
        others: &mut OtherCards,
        shares: &CardShares,
        operands: Operands<'_, PoolBuffer>,
        diagonal: &PoolBuffer,
        vector: &mut PoolBuffer,
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        let mut rooms = others.rooms(shares, operands)?;
        let OtherCards { backends, links, .. } = others;
        let mut rooms = rooms.iter_mut().zip(&shares.cards);
        let Some((room, share)) = rooms.next() else { unreachable!("the first card has a share") };
        let in_place = (&share.product, DeviceBackend::buffers(operands));
        // Tables of records are made for all cards at once.
        let cards = std::thread::scope(|scope| {
            let prepared: Vec<_> = backends
                .iter_mut()
                .zip(rooms)
                .map(|(backend, (Room { x, vector, diagonal, operators }, share))| {
                    scope.spawn(move || {
                        let copies = SPACE_LIST.into_iter().zip(&*operators);
                        let buffers = copies.fold(DeviceBuffers::default(), |buffers, (space, copy)| {
                            copy.as_ref().map_or(buffers, |copy| buffers.with(space, copy.vector()))
                        });
                        let card = backend.solve_card(share, (&share.of_copies(), buffers), (x, vector, diagonal))?;
                        card.kernels.received(share.operator_bytes());
                        Ok::<_, DeviceError>(card)
                    })
                })
                .collect();
            let first = self.solve_card(share, in_place, (&mut room.x, &mut room.vector, &mut room.diagonal));
            let joined = prepared.into_iter().map(|card| card.join());
            let others = joined.map(|card| card.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(first).chain(others).collect::<Result<Vec<_>, _>>()
        })?;
        over_cards::solve(cards, links, diagonal, vector, limits, against)
    }

    /// Decomposes large matrices on all cards, whole matrices by cost; the spectra are in the order of the list.
    pub(super) fn decompose_over_cards(
        &self,
        others: &OtherCards,
        matrices: &mut PoolBuffer,
        list: &[(usize, usize)],
    ) -> Result<Vec<MatrixSpectrum>, BackendError> {
        let owners = owners(list, others.least_rows, 1 + others.count());
        let of = |card: usize| -> Vec<usize> { (0..list.len()).filter(|k| owners[*k] == card).collect() };
        let elements = |numbers: &[usize]| numbers.iter().map(|k| list[*k].1 * list[*k].1).sum::<usize>();
        let shares: Vec<Vec<usize>> = (1..=others.count()).map(of).collect();
        // Where each card has its matrices, side by side, and the runs that come and go.
        let places = |numbers: &Vec<usize>| {
            let mut at = 0;
            let place = |k: &usize| {
                at += list[*k].1 * list[*k].1;
                (at - list[*k].1 * list[*k].1, list[*k].1)
            };
            numbers.iter().map(place).collect::<Vec<_>>()
        };
        let there: Vec<Vec<(usize, usize)>> = shares.iter().map(places).collect();
        let lend = |(card, numbers): (usize, &Vec<usize>)| others.lend(1 + card, elements(numbers));
        let mut lent = shares.iter().enumerate().map(lend).collect::<Result<Vec<_>, _>>()?;
        let runs = |card: usize, back: bool| -> Vec<CopiedRun> {
            let run = |(k, (at, rows)): (&usize, &(usize, usize))| {
                let (here, there) = (list[*k].0, *at);
                if back { [there, here, rows * rows] } else { [here, there, rows * rows] }
            };
            shares[card].iter().zip(&there[card]).map(run).collect()
        };
        let mut arrivals: Vec<Arrival<'_>> = Vec::with_capacity(lent.len());
        for (card, target) in lent.iter_mut().enumerate() {
            let sources = vec![(0, matrices.vector(), runs(card, false))];
            arrivals.push(Arrival { card: 1 + card, target: target.vector_mut(), sources, mover: Mover::Source });
        }
        others.links.run(&mut arrivals)?;
        let own = of(0);
        let here: Vec<(usize, usize)> = own.iter().map(|k| list[*k]).collect();
        let found = std::thread::scope(|scope| {
            let begun: Vec<_> = others
                .backends
                .iter()
                .zip(lent.iter_mut().zip(&there))
                .map(|(backend, (matrices, places))| {
                    let decomposer = &backend.decomposer;
                    scope.spawn(move || decomposer.decompose(&backend.pool, matrices.vector_mut(), places))
                })
                .collect();
            let first = self.decomposer.decompose(&self.pool, matrices.vector_mut(), &here);
            let joined = begun.into_iter().map(|spectra| spectra.join());
            let others = joined.map(|spectra| spectra.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(first).chain(others).collect::<Result<Vec<_>, _>>()
        })?;
        let sources = lent.iter().enumerate().map(|(card, lent)| (1 + card, lent.vector(), runs(card, true)));
        let sources = sources.collect();
        others.links.run(&mut [Arrival { card: 0, target: matrices.vector_mut(), sources, mover: Mover::Target }])?;
        let numbers = own.into_iter().chain(shares.into_iter().flatten());
        let mut spectra: Vec<(usize, MatrixSpectrum)> = numbers.zip(found.into_iter().flatten()).collect();
        spectra.sort_by_key(|(number, _)| *number);
        Ok(spectra.into_iter().map(|(_, spectrum)| spectrum).collect())
    }
}

/// The card of each matrix: large ones by the cube of their rows, the largest first; the others stay with the first.
fn owners(list: &[(usize, usize)], least_rows: usize, cards: usize) -> Vec<usize> {
    let (mut owners, mut loads) = (vec![0; list.len()], vec![0.0f64; cards]);
    let mut order: Vec<usize> = (0..list.len()).filter(|k| list[*k].1 >= least_rows.max(1)).collect();
    order.sort_by_key(|k| std::cmp::Reverse(list[*k].1));
    for k in order {
        let least = (0..cards).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        loads[least] += (list[k].1 as f64).powi(3);
        owners[k] = least;
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::{View, eigen};
    use crate::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
    use crate::seeded::vector;
    use crate::testing::teams;

    /// A random symmetric matrix whose diagonal grows.
    fn symmetric(n: usize, seed: u64) -> Vec<f64> {
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

    fn of_team(team: &Device) -> DeviceBackend {
        let limits = MemoryLimits::of(team, Some(1 << 28), Some(1 << 28), std::env::temp_dir());
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
                let (levels, _) = eigen(View::whole(&a, n, n)).unwrap();
                let matrix = engine.upload(a.clone()).unwrap();
                let diagonal = engine.upload((0..n).map(|i| a[i * (n + 1)]).collect()).unwrap();
                let operands = Operands::default().with(OperandSpace::Left, &matrix);
                let limits = DavidsonLimits { tolerance: 1e-7, products: 40 };
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
            let refused = engine.configure(Strategy::Planned, CpuShare::Part(0.5)).unwrap_err().to_string();
            assert!(refused.contains("cpu_share"), "{refused}");
        }
    }

    /// Spectra and vectors of matrices of many sizes, on more cards than there are large ones.
    #[test]
    fn memcheck_decompositions_over_cards_are_those_of_one() {
        for team in teams(&[3]) {
            let mut engine = of_team(&team);
            engine.others.iter_mut().for_each(|others| others.least_rows = 5);
            let sizes = [7, 1, 9, 5];
            let (mut data, mut list) = (vec![f64::NAN; 3], Vec::new());
            for (k, n) in sizes.into_iter().enumerate() {
                list.push((data.len(), n));
                data.extend(symmetric(n, 20 + k as u64));
                data.push(-7.5);
            }
            let mut matrices = engine.upload(data.clone()).unwrap();
            let found = engine.decompose(&mut matrices, &list).unwrap();
            let vectors = matrices.download().unwrap();
            for ((first, n), spectrum) in list.iter().copied().zip(found) {
                let a = &data[first..first + n * n];
                let (mut expected, _) = eigen(View::whole(a, n, n)).unwrap();
                expected.reverse();
                for (k, (value, expected)) in spectrum.values.iter().zip(&expected).enumerate() {
                    assert!((value - expected).abs() < 1e-12 * n as f64, "{n}: {value} is not {expected}");
                    let column = if spectrum.ascending { n - 1 - k } else { k };
                    let x = &vectors[first + column * n..][..n];
                    for i in 0..n {
                        let product: f64 = (0..n).map(|j| a[i + j * n] * x[j]).sum();
                        assert!((product - value * x[i]).abs() < 1e-11 * n as f64, "{n}, {k}, {i}");
                    }
                }
                assert_eq!(vectors[first + n * n], -7.5, "beside the matrices nothing changes");
            }
        }
    }

    #[test]
    fn the_largest_matrices_go_first_and_small_ones_stay() {
        let list: Vec<(usize, usize)> = [100, 600, 900, 512, 511, 700].into_iter().map(|rows| (0, rows)).collect();
        assert_eq!(owners(&list, 512, 3), [0, 2, 0, 2, 0, 1]);
        assert_eq!(owners(&list, 1000, 3), [0; 6]);
        assert_eq!(owners(&[], 512, 3), [0usize; 0]);
    }

    #[test]
    fn copies_lie_one_after_the_other_and_end_with_their_source() {
        assert_eq!(side_by_side(&[32..64, 96..160], 150), [[32, 0, 32], [96, 32, 54]]);
        assert_eq!(side_by_side(&[], 5), [[0usize; 3]; 0]);
    }
}
