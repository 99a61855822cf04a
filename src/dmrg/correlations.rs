//! Averages of products of two one-site operators, read off while ψ is carried along the chain.
//!
//! In: ψ around each site in turn, the kinds of pairs and their places. Out: ⟨A_p B_q⟩ of each. A block holds one operator for
//! each of its sites and each distinct (A, what lies between); around site q those of the sites before it meet the partner B at
//! q. Two fermion operators have the parity P = (−1)^n at every site between (Jordan, Wigner 1928), and A = c† P.

use super::backend::Operands;
use super::blocks::{Sectors, Side};
use super::bond::Frame;
use super::charges::Charges;
use super::engine::Engine;
use super::enlarged::{EnlargedOperators, Enlarging, OperatorBlock, Piece};
use super::environment::Environment;
use super::error::DmrgError;
use super::measure::expectation;
use super::observed::ObservedPlan;
use super::operator_sum::{Entry, OperatorCut};
use super::records::{OperandSpace, RecordStage};
use super::state::Isometry;
use super::superblock::Superblock;
use super::terms::OperatorId;
use std::collections::BTreeMap;

/// The one-site operators of a pair of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairKind {
    /// At the site that comes first in the chain.
    pub earlier: OperatorId,
    /// At every site between.
    pub between: OperatorId,
    /// At the site that comes last.
    pub later: OperatorId,
}

/// Averages by kind and positions.
pub(super) type PairValues = BTreeMap<(usize, [usize; 2]), f64>;

/// Collects the averages of pairs site by site.
pub(super) struct Correlator<'p, B> {
    plan: &'p ObservedPlan<'p>,
    /// The distinct (earlier, between) of the kinds.
    begun: Vec<(OperatorId, OperatorId)>,
    /// The pairs that end at each position: kind, first position.
    ends: BTreeMap<usize, Vec<(usize, usize)>>,
    left: Environment<B>,
    values: PairValues,
}

impl<'p, B> Correlator<'p, B> {
    /// For the pairs of a plan; `None` if it has none.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new<E: Engine<Buffer = B>>(plan: &'p ObservedPlan<'p>, engine: &E) -> Result<Option<Self>, DmrgError> {
        if plan.wanted.is_empty() {
            return Ok(None);
        }
        let mut begun: Vec<_> = plan.kinds.iter().map(|kind| (kind.earlier, kind.between)).collect();
        begun.sort_unstable();
        begun.dedup();
        let mut ends: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        plan.wanted.iter().for_each(|(kind, [first, last])| ends.entry(*last).or_default().push((*kind, *first)));
        Ok(Some(Correlator { plan, begun, ends, left: Environment::end_on(engine)?, values: PairValues::new() }))
    }

    /// Operators of the cut behind site `p`: the identity, then one per begun pair for each site up to `p`.
    fn carried(&self, p: usize) -> (Vec<Entry>, OperatorCut) {
        let begun = self.begun.len();
        let entry = |from, to, operator: OperatorId| Entry { from, to, coefficient: 1.0, operator };
        let through = (0..p * begun).map(|k| entry(k + 1, k + 1, self.begun[k % begun].1));
        let first = (0..begun).map(|k| entry(0, 1 + p * begun + k, self.begun[k].0));
        let nothing = std::iter::once(entry(0, 0, 0));
        (nothing.chain(through).chain(first).collect(), neutral(1 + (p + 1) * begun))
    }

    /// Measures the pairs that end at site `p`, with ψ around it. Returns the operators of the enlarged block.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn around_site<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        frame: &Frame,
        wave: &B,
        p: usize,
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        let mut of_left = vec![1; frame.left.sectors.len()];
        frame.layout.sectors.iter().for_each(|sector| of_left[sector.left] = sector.columns);
        let enlarged = |table: &[Entry], cut: &OperatorCut| {
            let (operators, enlarged) = (&self.plan.operators, &frame.left);
            let left = Enlarging { side: Side::Left, block: &self.left, table, operators, enlarged, cut };
            left.operators(engine, &of_left)
        };
        let whole = whole(&frame.right.sectors);
        let operands = Operands::default().with(OperandSpace::Left, &self.left.data);
        let mut values = Vec::new();
        for (kind, first) in self.ends.get(&p).into_iter().flatten() {
            let PairKind { earlier, between, later } = self.plan.kinds[*kind];
            let begun = self.begun.binary_search(&(earlier, between)).unwrap_or_else(|_| unreachable!("listed above"));
            let from = 1 + first * self.begun.len() + begun;
            let ends = Entry { from, to: 0, coefficient: 1.0, operator: later };
            let pairs = enlarged(&[ends], &neutral(1))?;
            let superblock = Superblock::new(&pairs, &whole, &frame.layout);
            let value = expectation(engine, &superblock, operands.with(OperandSpace::LeftSum, &pairs.sums), wave)?;
            values.push(((*kind, [*first, p]), value));
        }
        let (table, cut) = self.carried(p);
        let carried = enlarged(&table, &cut);
        self.values.extend(values);
        carried
    }

    /// Carries the operators of an enlarged block over to the kept states.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn carry<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        operators: &EnlargedOperators<B>,
        kept: &Isometry<B>,
    ) -> Result<(), DmrgError> {
        let operands =
            Operands::default().with(OperandSpace::Left, &self.left.data).with(OperandSpace::LeftSum, &operators.sums);
        self.left = Environment::project(engine, operators, operands, kept, Some(0))?;
        Ok(())
    }

    /// The averages.
    pub fn finish(self) -> PairValues {
        self.values
    }
}

/// A cut of so many operators; how they change the charges follows from their blocks.
fn neutral(width: usize) -> OperatorCut {
    OperatorCut { changes: vec![Charges::default(); width], left_identity: Some(0), right_identity: None }
}

/// The identity of every sector.
fn whole(sectors: &Sectors) -> EnlargedOperators<()> {
    let block = |q: usize| {
        let (rows, columns) = (sectors.dimension(q), sectors.dimension(q));
        let piece = Piece { first_row: 0, first_column: 0, rows, columns, coefficient: 1.0, matrix: None };
        Some(OperatorBlock { row: q, column: q, pieces: vec![piece] })
    };
    let blocks = vec![(0..sectors.len()).map(block).collect()];
    EnlargedOperators { blocks, sums: (), forming: RecordStage::default() }
}
