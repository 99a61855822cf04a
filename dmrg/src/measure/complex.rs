//! The weights of the cuts of a complex chain.
//!
//! In: ψ = x + iy as the real state (x, y) of a chain with the auxiliary site at its left end, around one site after the other. Out: the
//! eigenvalues of the density matrix of the complex ψ at each cut.
//!
//! With the real state as a matrix D, rows (auxiliary site, left part), columns the right part, and D = U S Vᵀ, the density matrix of
//! the right part is
//!
//! ```text
//! ρ = (x + iy)† (x + iy) = Dᵀ D − i Dᵀ J D = V (S² − i S K S) Vᵀ,    K = Uᵀ J U = −Kᵀ
//! ```
//!
//! so the weights of the cut are the eigenvalues of S² − i S K S, not the squares of S, which are those of Re ρ. J acts on the auxiliary
//! site; K is J in the kept states of the left block, carried from cut to cut like any operator. The Hermitian matrix A + iB is
//! diagonalised as the real [[A, −B], [B, A]], whose eigenvalues come in pairs.

use super::correlations::neutral;
use crate::block::blocks::Side;
use crate::block::bond::Frame;
use crate::block::enlarged::Enlarging;
use crate::block::environment::{BlockOperator, Environment};
use crate::block::state::Isometry;
use crate::block::truncate::{ROUNDING, Truncated};
use crate::chain::charges::Charges;
use crate::chain::form::SuperblockForm;
use crate::chain::operator_sum::Entry;
use crate::chain::site::Site;
use crate::chain::terms::LocalOperators;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_core::operator::Factor;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::dense::{View, eigen};
use eigenforge_runtime::records::OperandSpace;

/// The identity and J on the sites left of a cut.
pub(super) struct PhaseBlock<B> {
    left: Environment<B>,
    operators: LocalOperators,
    turn: usize,
}

impl<B> PhaseBlock<B> {
    /// At the left end.
    ///
    /// # Errors
    /// An error of the engine.
    pub(super) fn new<E: Engine<Buffer = B>>(engine: &E) -> Result<PhaseBlock<B>, DmrgError> {
        let (site, mut operators) = (Site::of_phases(), LocalOperators::of_dimension(2));
        let matrix = site.matrix(Factor::ImaginaryUnit).unwrap_or_else(|| unreachable!("it has J"));
        let (turn, _) = operators.intern(matrix, || "J".into(), site.charges());
        Ok(PhaseBlock { left: Environment::end_on(engine)?, operators, turn })
    }

    /// Adds site `p`, of which these states are kept.
    ///
    /// # Errors
    /// An error of the engine.
    pub(super) fn carry<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        frame: &Frame,
        p: usize,
        kept: &Isometry<B>,
    ) -> Result<(), DmrgError> {
        let entry = |from, to, operator| Entry { from, to, coefficient: 1.0, operator };
        let turned = if p == 0 { entry(0, 1, self.turn) } else { entry(1, 1, 0) };
        let mut of_left = vec![1; frame.left.sectors.len()];
        frame.layout.sectors.iter().for_each(|sector| of_left[sector.left] = sector.columns);
        let enlarging = Enlarging {
            side: Side::Left,
            block: &self.left,
            table: &[entry(0, 0, 0), turned],
            operators: &self.operators,
            enlarged: &frame.left,
            cut: &neutral(2),
            form: SuperblockForm::Planned,
            together: None,
        };
        let operators = enlarging.operators(engine, &of_left)?;
        let operands =
            Operands::default().set(OperandSpace::Left, &self.left.data).set(OperandSpace::LeftSum, &operators.sums);
        self.left = Environment::project(engine, &operators, operands, kept, Some(0))?;
        Ok(())
    }

    /// The weights of the complex state at the cut behind the last site, with the charges of the left part; `truncated` is the
    /// decomposition of ψ there.
    ///
    /// # Errors
    /// An error of the engine, or numbers that are not finite.
    pub(super) fn weights<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        frame: &Frame,
        truncated: &Truncated<B>,
    ) -> Result<Vec<(f64, Charges)>, DmrgError> {
        let turned = engine.download(&self.left.data)?;
        let mut weights = Vec::new();
        for block in &truncated.kept.blocks {
            let charges = frame.left.sectors.charges(block.enlarged_sector);
            let squares = &truncated.spectrum[block.enlarged_sector];
            let size = |k: usize| squares.get(k).map_or(0.0, |weight| weight.max(0.0).sqrt());
            let n = block.columns;
            let mut whole = vec![0.0; 4 * n * n];
            let mut place = |row: usize, column: usize, value: f64| whole[row + 2 * n * column] = value;
            for k in 0..n {
                let square = size(k).powi(2);
                place(k, k, square);
                place(n + k, n + k, square);
            }
            // J has no charge: it takes each sector to itself.
            let of_sector = match &self.left.operators[1] {
                BlockOperator::Dense(list) => list.iter().find(|dense| dense.column == block.kept_sector),
                _ => None,
            };
            for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let element = of_sector.map_or(0.0, |dense| turned[dense.offset + row + dense.stride * column]);
                let value = size(row) * element * size(column);
                place(row, n + column, value);
                place(n + row, column, -value);
            }
            let (values, _) = eigen(View::new(&whole, 2 * n, 2 * n))?;
            weights.extend(values.into_iter().step_by(2).map(|weight| (weight, charges)));
        }
        let largest = weights.iter().fold(0.0f64, |largest, (weight, _)| largest.max(*weight));
        weights.retain(|(weight, _)| *weight > ROUNDING * largest);
        Ok(weights)
    }
}
