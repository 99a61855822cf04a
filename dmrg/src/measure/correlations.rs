//! Averages of products of two one-site operators, read off while ψ is carried along the chain.
//!
//! In: ψ around each site in turn, the kinds of pairs and their places. Out: ⟨A_p B_q⟩ of each. A block holds one operator for
//! each of its sites and each distinct (A, what lies between); around site q those of the sites before it meet the partner B at
//! q. Two fermion operators have the parity P = (−1)^n at every site between (Jordan, Wigner 1928), and A = c† P.

use super::observed::{ObservedPlan, PairKind, PairValues};
use crate::block::blocks::{Sectors, Side};
use crate::block::bond::Frame;
use crate::block::enlarged::{EnlargedOperators, Enlarging, OperatorBlock, Piece};
use crate::block::environment::Environment;
use crate::block::state::Isometry;
use crate::block::superblock::superblock;
use crate::chain::charges::Charges;
use crate::chain::form::SuperblockForm;
use crate::chain::operator_sum::{Entry, OperatorCut};
use crate::chain::terms::OperatorId;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::OperandSpace;
use std::collections::BTreeMap;

/// The first position of a pair, the operator there, and whether every site between has its parity.
type BegunPair = (usize, OperatorId, bool);

/// Collects the averages of pairs site by site.
pub(crate) struct Correlator<'p, B> {
    plan: &'p ObservedPlan<'p>,
    /// The last position at which each (first position, earlier, between) meets a partner.
    last: BTreeMap<BegunPair, usize>,
    /// Those that the block carries, as its operators 1, 2, …
    carried: Vec<BegunPair>,
    /// The pairs that end at each position: kind, first position.
    ends: BTreeMap<usize, Vec<(usize, usize)>>,
    left: Environment<B>,
    values: PairValues,
}

impl<'p, B> Correlator<'p, B> {
    /// For the pairs of a plan; `None` if it has none.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn new<E: Engine<Buffer = B>>(
        plan: &'p ObservedPlan<'p>,
        engine: &E,
    ) -> Result<Option<Self>, DmrgError> {
        if plan.wanted.is_empty() {
            return Ok(None);
        }
        let (mut last, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for (kind, [first, place]) in &plan.wanted {
            let PairKind { earlier, parity_between, .. } = plan.kinds[*kind];
            let last = last.entry((*first, earlier, parity_between)).or_insert(*place);
            *last = (*last).max(*place);
            ends.entry(*place).or_insert_with(Vec::new).push((*kind, *first));
        }
        let left = Environment::end_on(engine)?;
        Ok(Some(Correlator { plan, last, carried: Vec::new(), ends, left, values: PairValues::new() }))
    }

    /// Operators of the cut behind site `p`: the identity, then one for each begun pair that still meets a partner.
    fn carried_past(&self, p: usize) -> (Vec<Entry>, Vec<BegunPair>) {
        let entry = |from, to, operator: OperatorId| Entry { from, to, coefficient: 1.0, operator };
        let (mut entries, mut carried) = (vec![entry(0, 0, 0)], Vec::new());
        for (k, begun) in self.carried.iter().enumerate().filter(|(_, begun)| self.last[*begun] > p) {
            carried.push(*begun);
            entries.push(entry(k + 1, carried.len(), if begun.2 { self.plan.parities[p] } else { 0 }));
        }
        for begun in self.last.range((p, 0, false)..(p + 1, 0, false)).map(|(begun, _)| *begun) {
            carried.push(begun);
            entries.push(entry(0, carried.len(), begun.1));
        }
        (entries, carried)
    }

    /// Operators of a table on the enlarged block.
    fn enlarged<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        frame: &Frame,
        table: &[Entry],
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        let mut of_left = vec![1; frame.left.sectors.len()];
        frame.layout.sectors.iter().for_each(|sector| of_left[sector.left] = sector.columns);
        let width = 1 + table.iter().map(|entry| entry.to).max().unwrap_or(0);
        let (operators, enlarged, cut) = (&self.plan.operators, &frame.left, &neutral(width));
        let (side, form) = (Side::Left, SuperblockForm::Planned);
        let left = Enlarging { side, block: &self.left, table, operators, enlarged, cut, form, together: None };
        left.operators(engine, &of_left)
    }

    /// Measures the pairs that end at site `p`, with ψ around it. Returns the operators of the enlarged block.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn around_site<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        frame: &Frame,
        wave: &B,
        p: usize,
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        let whole = identities(&frame.right.sectors);
        let operands = Operands::default().set(OperandSpace::Left, &self.left.data);
        let mut values = Vec::new();
        for (kind, first) in self.ends.get(&p).into_iter().flatten() {
            let PairKind { earlier, parity_between, later } = self.plan.kinds[*kind];
            let begun = self.carried.iter().position(|begun| *begun == (*first, earlier, parity_between));
            let from = 1 + begun.unwrap_or_else(|| unreachable!("carried until its last partner"));
            let ends = Entry { from, to: 0, coefficient: 1.0, operator: later };
            let pairs = self.enlarged(engine, frame, &[ends])?;
            let superblock = superblock(&pairs, &whole, &frame.layout);
            let value = engine.expectation(&superblock, operands.set(OperandSpace::LeftSum, &pairs.sums), wave)?;
            values.push(((*kind, [*first, p]), value));
        }
        let (table, carried) = self.carried_past(p);
        let operators = self.enlarged(engine, frame, &table)?;
        self.values.extend(values);
        self.carried = carried;
        Ok(operators)
    }

    /// Carries the operators of an enlarged block over to the kept states.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn carry<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        operators: &EnlargedOperators<B>,
        kept: &Isometry<B>,
    ) -> Result<(), DmrgError> {
        let operands =
            Operands::default().set(OperandSpace::Left, &self.left.data).set(OperandSpace::LeftSum, &operators.sums);
        self.left = Environment::project(engine, operators, operands, kept, Some(0))?;
        Ok(())
    }

    /// The averages.
    pub(crate) fn finish(self) -> PairValues {
        self.values
    }
}

/// A cut of so many operators; how they change the charges follows from their blocks.
pub(super) fn neutral(width: usize) -> OperatorCut {
    OperatorCut { changes: vec![Charges::default(); width], left_identity: Some(0), right_identity: None }
}

/// The identity of every sector.
fn identities(sectors: &Sectors) -> EnlargedOperators<()> {
    let block = |q: usize| {
        let (rows, columns) = (sectors.dimension(q), sectors.dimension(q));
        let piece = Piece { first_row: 0, first_column: 0, rows, columns, coefficient: 1.0, matrix: None };
        Some(OperatorBlock { row: q, column: q, pieces: vec![piece] })
    };
    let blocks = vec![(0..sectors.len()).map(block).collect()];
    EnlargedOperators::one_by_one(blocks, (), 0)
}
