//! The lean Davidson with V, W and the vectors in parts, one on each of several cards.
//!
//! A card's part of a vector is that of the blocks of y = H x that it computes ([`CardShares`](crate::records::CardShares)), so W is
//! written where it stays. Before a product every card collects all of the newest column of V. The kernels are those of one card, each on
//! its own part: what they leave of sums is the card's share, which the host adds up in the order of the cards and gives back to all,
//! with the eigenpairs of the small matrix. That is three short waits of the host in an iteration beside that of one card; products that
//! are worth several cards take far longer.
//!
//! ```text
//! collect x → product → projected ⇒ G, its eigenpairs ⇒ corrected ⇒ ‖r‖², ‖t‖², s ⇒ orthogonalised ⇒ ‖t‖², s ⇒ appended
//!                                ⇒ : by way of the host, a few numbers of each card
//! ```
//! The same number of cards gives the same bits.

use super::super::{Basis, DavidsonLimits, DavidsonResult, Iteration, Next, search};
use super::{DeviceDavidson, KEPT, NEXT_TO_NOTHING, Place};
use crate::dense::{View, eigen};
use crate::device::{Arrival, Links, Mover, Vector};
use crate::error::{BackendError, DeviceError};
use crate::records::CardShare;
use crate::records::card::RecordsMultiply;
use crate::residency::PoolBuffer;
use crate::trace;
use eigenforge_templates::eigen::{DavidsonNumbers, DavidsonPlan, Extent};
use std::collections::VecDeque;

/// What one card brings to a solve.
pub(crate) struct SolveCard<'a> {
    /// Its kernels.
    pub kernels: &'a mut DeviceDavidson,
    /// Its blocks of y = H x.
    pub multiply: RecordsMultiply<'a>,
    /// Which these are.
    pub share: &'a CardShare,
    /// Memory for all of x, that every card sees.
    pub x: &'a mut Vector<f64>,
    /// Memory for a part of a vector, that every card sees.
    pub vector: &'a mut Vector<f64>,
    /// The same for the diagonal of H.
    pub diagonal: &'a mut Vector<f64>,
}

/// The small matrices and numbers, which all cards have alike.
struct Small {
    plan: DavidsonPlan,
    matrices: Vec<f64>,
    numbers: DavidsonNumbers,
}

/// A card at work.
struct AtWork<'a> {
    own: SolveCard<'a>,
    v: PoolBuffer,
    w: PoolBuffer,
    stride: usize,
}

/// One solve.
struct OverCards<'a, 'l> {
    cards: Vec<AtWork<'a>>,
    links: &'l Links,
    small: Small,
    /// Elements of a whole vector.
    n: usize,
    /// Columns of V for the vectors to stay orthogonal to.
    below: usize,
    most: usize,
}

/// Replaces `vector`, on the first card, by the lowest eigenvector among the vectors orthogonal to `against`.
pub(crate) fn solve(
    cards: Vec<SolveCard<'_>>,
    links: &Links,
    diagonal: &PoolBuffer,
    vector: &mut PoolBuffer,
    limits: DavidsonLimits,
    against: &[&PoolBuffer],
) -> Result<DavidsonResult, BackendError> {
    let n = vector.len();
    let (mut columns, mut at_work) = (None, Vec::with_capacity(cards.len()));
    for own in cards {
        let stride = own.kernels.stride(own.share.length, against.len());
        // The first card decides, so that the bits do not depend on what is free on the others.
        let columns = *columns.get_or_insert_with(|| own.kernels.columns(n, stride, against.len()));
        let (v, w) = own.kernels.memory(Place { n: own.share.length, stride, columns })?;
        at_work.push(AtWork { own, v, w, stride });
    }
    let cards = at_work;
    let small = Small::new(&cards[0].own.kernels.plan);
    let mut solve = OverCards { cards, links, small, n, below: 0, most: 0 };
    solve.hand_out(diagonal.vector(), |card| &mut *card.diagonal)?;
    for lower in against {
        solve.hand_out(lower.vector(), |card| &mut *card.vector)?;
        solve.begin_column(solve.below)?;
        let DavidsonNumbers { is_exhausted, squares: (before, after), .. } = solve.small.numbers;
        solve.below += usize::from(!is_exhausted && after > NEXT_TO_NOTHING.max(NEXT_TO_NOTHING * before));
    }
    solve.hand_out(vector.vector(), |card| &mut *card.vector)?;
    solve.begin_column(solve.below)?;
    solve.most = columns.unwrap_or(1).saturating_sub(solve.below);
    let found = search(&mut solve, limits)?;
    let sources = solve.cards.iter().enumerate().map(|(number, card)| {
        let runs = card.own.share.stretches.clone();
        (number, &*card.own.vector, runs)
    });
    let sources = sources.collect();
    links.run(&mut [Arrival { card: 0, target: vector.vector_mut(), sources, mover: Mover::Target }])?;
    for AtWork { own, v, w, .. } in solve.cards {
        own.kernels.pool.park([v, w]);
    }
    Ok(found)
}

impl Small {
    fn new(plan: &DavidsonPlan) -> Small {
        let values = vec![0.0; plan.width];
        let numbers = DavidsonNumbers { residual_squared: 0.0, is_exhausted: false, squares: (0.0, 0.0), values };
        Small { plan: plan.clone(), matrices: vec![0.0; plan.small()], numbers }
    }

    /// Takes in the new row of G, of which each card has a share, and the eigenpairs of VᵀW.
    fn project(&mut self, cards: &[Vec<f64>], width: usize, below: usize) -> Result<(), BackendError> {
        let row = below + width - 1;
        for column in 0..=row {
            let at = self.plan.matrix_at(row, column);
            self.matrices[at] = cards.iter().map(|card| card[at]).sum();
        }
        let element = |e: usize| {
            let (i, j) = (e % width, e / width);
            self.matrices[self.plan.matrix_at(below + i.max(j), below + i.min(j))]
        };
        let matrix: Vec<f64> = (0..width * width).map(element).collect();
        if matrix.iter().any(|element| !element.is_finite()) {
            // The search ends with it, as on one card.
            self.numbers.values.fill(f64::NAN);
            return Ok(());
        }
        let (values, vectors) = eigen(View::new(&matrix, width, width))?;
        self.numbers.values[..width].copy_from_slice(&values);
        for pair in 0..width {
            let at = self.plan.vector_at(pair);
            (0..width).for_each(|i| self.matrices[at + i] = vectors[(i, pair)]);
        }
        self.numbers.is_exhausted = false;
        Ok(())
    }

    /// Takes in the overlaps of the correction.
    fn overlaps(&mut self, cards: &[Vec<f64>]) {
        for at in self.plan.overlaps() {
            self.matrices[at] = cards.iter().map(|card| card[at]).sum();
        }
    }
}

impl OverCards<'_, '_> {
    /// The columns of the search on a card.
    fn search_columns(card: &AtWork<'_>, width: usize, below: usize) -> Extent {
        Extent { n: card.own.share.length, stride: card.stride, width, below }
    }

    /// Copies a vector of the first card in parts to all.
    fn hand_out(
        &mut self,
        whole: &Vector<f64>,
        to: impl for<'v> Fn(&'v mut SolveCard<'_>) -> &'v mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        let mut arrivals = Vec::with_capacity(self.cards.len());
        for (number, card) in self.cards.iter_mut().enumerate() {
            let runs = card.own.share.stretches.iter().map(|[at, from, count]| [*from, *at, *count]).collect();
            card.own.kernels.clock.received(if number == 0 { 0 } else { 8 * card.own.share.length as u64 });
            let sources = vec![(0, whole, runs)];
            arrivals.push(Arrival { card: number, target: to(&mut card.own), sources, mover: Mover::Source });
        }
        self.links.run(&mut arrivals)
    }

    /// Every card collects a column of V.
    fn collect(&mut self, column: usize) -> Result<(), DeviceError> {
        let (mut targets, mut sources) = (Vec::new(), Vec::new());
        for AtWork { own, v, stride, .. } in &mut self.cards {
            sources.push((&*v, [column * *stride, own.share.start, own.share.length]));
            targets.push(&mut *own.x);
        }
        let all = || sources.iter().enumerate().map(|(from, (v, run))| (from, v.vector(), vec![*run]));
        let arrival = |(card, target)| Arrival { card, target, sources: all().collect(), mover: Mover::Source };
        self.links.run(&mut targets.into_iter().enumerate().map(arrival).collect::<Vec<_>>())
    }

    /// The small matrices and numbers of every card.
    fn read(&self) -> Result<(Vec<Vec<f64>>, Vec<DavidsonNumbers>), DeviceError> {
        let of = |card: &AtWork<'_>| Ok((card.own.kernels.small.download()?, card.own.kernels.read_numbers()?));
        let found = self.cards.iter().map(of).collect::<Result<Vec<_>, DeviceError>>()?;
        Ok(found.into_iter().unzip())
    }

    /// Gives every card those of all.
    fn write(&mut self) -> Result<(), DeviceError> {
        let numbers = self.small.plan.write_numbers(&self.small.numbers);
        for card in &mut self.cards {
            card.own.kernels.small.write(&self.small.matrices)?;
            card.own.kernels.numbers.write(&numbers)?;
        }
        Ok(())
    }

    fn project(&mut self, width: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let own = OverCards::search_columns(card, width, self.below);
            card.own.kernels.project(own, &card.v, &card.w)?;
        }
        let (matrices, _) = self.read()?;
        self.small.project(&matrices, width, self.below)?;
        Ok(self.write()?)
    }

    fn correct(&mut self, width: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let own = OverCards::search_columns(card, width, self.below);
            let SolveCard { kernels, vector, diagonal, .. } = &mut card.own;
            kernels.correct(own, &card.v, &card.w, (diagonal, 0), vector)?;
        }
        let (matrices, numbers) = self.read()?;
        self.small.overlaps(&matrices);
        self.small.numbers.residual_squared = numbers.iter().map(|card| card.residual_squared).sum();
        self.small.numbers.squares.0 = numbers.iter().map(|card| card.squares.0).sum();
        Ok(self.write()?)
    }

    /// V and W become the two lowest Ritz vectors and their products; what is small follows alike on every card.
    fn restart(&mut self, width: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let own = OverCards::search_columns(card, width, self.below);
            card.own.kernels.restart(own, &mut card.v, &mut card.w, KEPT)?;
        }
        self.small.matrices = self.cards[0].own.kernels.small.download()?;
        Ok(())
    }

    /// Takes `columns` columns out of the vectors; the first of them are those to stay orthogonal to.
    fn orthogonalise(&mut self, columns: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let all = OverCards::search_columns(card, columns, 0);
            let SolveCard { kernels, vector, .. } = &mut card.own;
            kernels.orthogonalise(all, &card.v, vector)?;
        }
        let (matrices, numbers) = self.read()?;
        self.small.overlaps(&matrices);
        let after = numbers.iter().map(|card| card.squares.1).sum();
        let before = if columns == 0 { after } else { self.small.numbers.squares.0 };
        self.small.numbers.squares = (before, after);
        Ok(self.write()?)
    }

    /// Makes the vectors a column behind so many others.
    fn append(&mut self, columns: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let all = OverCards::search_columns(card, columns, 0);
            let SolveCard { kernels, vector, .. } = &mut card.own;
            kernels.append(all, &mut card.v, vector)?;
        }
        self.small.numbers.is_exhausted = self.cards[0].own.kernels.read_numbers()?.is_exhausted;
        Ok(())
    }

    /// Orthonormalises vectors with unknown overlaps twice and appends them.
    fn begin_column(&mut self, columns: usize) -> Result<(), BackendError> {
        self.orthogonalise(0)?;
        if columns > 0 {
            self.orthogonalise(columns)?;
            self.orthogonalise(columns)?;
        }
        self.append(columns)
    }
}

impl Basis for OverCards<'_, '_> {
    fn complete(&self) -> usize {
        self.n.saturating_sub(self.below)
    }

    fn most(&self) -> usize {
        self.most
    }

    fn multiply(&mut self, column: usize) -> Result<(), BackendError> {
        let _product = trace::span("dmrg", "product with H over cards");
        let marks = self.cards.iter().map(|card| card.own.kernels.clock.mark()).collect::<Result<VecDeque<_>, _>>()?;
        self.collect(self.below + column)?;
        let collected: usize = self.cards.iter().map(|card| card.own.share.length).sum();
        for (card, mark) in self.cards.iter_mut().zip(marks) {
            let SolveCard { kernels, multiply, share, .. } = &mut card.own;
            kernels.clock.collected(multiply.flops(), mark)?;
            kernels.clock.received(8 * (collected - share.length) as u64);
        }
        let run = |AtWork { own, w, stride, .. }: &mut AtWork<'_>| {
            own.multiply.run_into(own.x, 0, w.vector_mut(), column * *stride)?;
            own.kernels.clock.end()
        };
        let Some((first, others)) = self.cards.split_first_mut() else { return Ok(()) };
        // Each card's calls are queued by a thread of its own: there are hundreds.
        Ok(std::thread::scope(|scope| {
            let others: Vec<_> = others.iter_mut().map(|card| scope.spawn(move || run(card))).collect();
            let first = run(first);
            let joined = others.into_iter().map(|other| other.join());
            let ended = joined.map(|other| other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.fold(first, Result::and)
        })?)
    }

    fn iterate(&mut self, width: usize, next: Next, _: DavidsonLimits) -> Result<Iteration, BackendError> {
        let _vectors = trace::span("dmrg", "vectors of Davidson over cards");
        self.project(width)?;
        self.correct(width)?;
        let residual_squared = self.small.numbers.residual_squared;
        let mut all = self.below + width;
        if next == Next::Restart {
            self.restart(width)?;
            all = self.below + KEPT;
        }
        if next != Next::Nothing {
            self.orthogonalise(all)?;
            self.append(all)?;
        }
        self.cards.iter_mut().try_for_each(|card| card.own.kernels.clock.read())?;
        let DavidsonNumbers { is_exhausted, values, .. } = &self.small.numbers;
        let values = values.iter().copied().take(width).collect();
        Ok(Iteration { values, residual: residual_squared.sqrt(), exhausted: *is_exhausted })
    }

    fn finish(&mut self, width: usize) -> Result<(), BackendError> {
        for card in &mut self.cards {
            let own = OverCards::search_columns(card, width, self.below);
            let SolveCard { kernels, vector, .. } = &mut card.own;
            kernels.combine(own, &card.v, vector, 0)?;
        }
        Ok(())
    }
}
