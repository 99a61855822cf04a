//! Correlations of every pair of sites, read off while ψ is carried along the chain.
//!
//! In: ψ around each site in turn. Out: ⟨Sᶻ_i Sᶻ_j⟩ and ⟨S_i·S_j⟩ of moments and electrons, of fermions ⟨n_i n_j⟩ and the
//! one-particle density matrix ⟨c†_iσ c_jσ⟩ of each mode σ. A block holds one operator for each of its sites and each kind
//! of pair; around site p those of sites 0 … p − 1 meet the partner at p. S·S needs only Sᶻ Sᶻ and S⁺ S⁻, since
//! ⟨S⁺_i S⁻_j⟩ = ⟨S⁻_i S⁺_j⟩ in a real state. S⁺ = c†↑ c↓ of an electron moves no parity; c†_i … c_j has the parity
//! P = (−1)^n at every site between (Jordan, Wigner 1928), and c† P at site i.

use super::backend::Operands;
use super::blocks::{Sectors, Side};
use super::bond::Frame;
use super::chain::Chain;
use super::charges::Charges;
use super::engine::Engine;
use super::enlarged::{EnlargedOperators, Enlarging, OperatorBlock, Piece};
use super::environment::Environment;
use super::error::DmrgError;
use super::measure::expectation;
use super::operator_sum::{Entry, OperatorCut};
use super::records::{OperandSpace, RecordStage};
use super::site::{Matrix, Site, SiteKind};
use super::state::Isometry;
use super::superblock::Superblock;
use super::terms::{LocalOperators, OperatorId};
use crate::operator::Factor;
use serde::Serialize;

/// One matrix a quantity, `[i][j]` by position in the chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Correlations {
    /// ⟨Sᶻ_i Sᶻ_j⟩ of moments and electrons.
    pub szsz: Option<Vec<Vec<f64>>>,
    /// ⟨S_i·S_j⟩ of moments and electrons.
    pub sdots: Option<Vec<Vec<f64>>>,
    /// ⟨n_i n_j⟩ of fermions.
    pub nn: Option<Vec<Vec<f64>>>,
    /// ⟨c†_iσ c_jσ⟩ of fermions, one matrix a mode: ↑ and ↓, or flavour by flavour.
    pub cdag_c: Option<Vec<Vec<Vec<f64>>>>,
}

/// An operator of one site and the factor over the interned one.
type Local = (OperatorId, f64);

/// What a pair measures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    SzSz,
    Flips,
    Density,
    Hop,
}

/// The operators of a pair of sites, and what lies between them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    quantity: Quantity,
    earlier: Local,
    between: Local,
    later: Local,
}

/// The same as matrices, with the diagonal of their product at one site.
struct Matrices {
    quantity: Quantity,
    earlier: Matrix,
    between: Matrix,
    later: Matrix,
    square: Vec<f64>,
}

/// Collects correlations site by site.
pub struct Correlator<B> {
    operators: LocalOperators,
    kinds: Vec<Pair>,
    /// Of each kind: the square at one site, for each of its states.
    squares: Vec<Vec<f64>>,
    left: Environment<B>,
    /// `[kind][i][j]`.
    values: Vec<Vec<Vec<f64>>>,
}

/// Sᶻ Sᶻ, S⁺ S⁻, n n and c† c, as far as the site has them.
fn pairs(site: &Site) -> Option<Vec<Matrices>> {
    let of = |factor: Factor| site.matrix(factor);
    let one = Matrix::identity(site.dimension());
    let diagonal = |matrix: &Matrix| (0..matrix.dimension).map(|k| matrix.at(k, k)).collect::<Vec<f64>>();
    let plain = |quantity, earlier: Matrix, later: Matrix, square| Matrices {
        quantity,
        earlier,
        between: one.clone(),
        later,
        square,
    };
    let mut found = Vec::new();
    let mut spins = |z: Matrix, raise: Matrix, lower: Matrix| {
        let half = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect::<Vec<f64>>();
        let flips = half(diagonal(&raise.times(&lower)), diagonal(&lower.times(&raise)));
        found.push(plain(Quantity::SzSz, z.clone(), z.clone(), diagonal(&z.times(&z))));
        found.push(plain(Quantity::Flips, raise, lower, flips));
    };
    let modes = site.kind.modes().into_iter();
    let ladders: Option<Vec<(Matrix, Matrix)>> =
        modes.map(|mode| Some((of(Factor::Create(mode, 0))?, of(Factor::Annihilate(mode, 0))?))).collect();
    let ladders = ladders?;
    let numbers: Vec<Matrix> = ladders.iter().map(|(create, annihilate)| create.times(annihilate)).collect();
    match site.kind {
        SiteKind::Moment { .. } => spins(of(Factor::Sz(0))?, of(Factor::Raise(0))?, of(Factor::Lower(0))?),
        SiteKind::Electrons => {
            let [(up, up_gone), (down, down_gone)] = &ladders[..] else { return None };
            spins(sum(&numbers, &[0.5, -0.5]), up.times(down_gone), down.times(up_gone));
        }
        SiteKind::Flavours(_) => {}
    }
    if !numbers.is_empty() {
        let n = sum(&numbers, &vec![1.0; numbers.len()]);
        found.push(plain(Quantity::Density, n.clone(), n.clone(), diagonal(&n.times(&n))));
    }
    for ((create, annihilate), number) in ladders.into_iter().zip(&numbers) {
        let (earlier, between) = (create.times(&site.parity()), site.parity());
        found.push(Matrices { quantity: Quantity::Hop, earlier, between, later: annihilate, square: diagonal(number) });
    }
    Some(found)
}

/// Σ factor · matrix.
fn sum(matrices: &[Matrix], factors: &[f64]) -> Matrix {
    let dimension = matrices[0].dimension;
    let element = |k: usize| matrices.iter().zip(factors).map(|(matrix, factor)| factor * matrix.values[k]).sum();
    Matrix { dimension, values: (0..dimension * dimension).map(element).collect() }
}

impl<B> Correlator<B> {
    /// For the sites of a chain.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new<E: Engine<Buffer = B>>(chain: &Chain, engine: &E) -> Result<Option<Correlator<B>>, DmrgError> {
        let site = &chain.site;
        let Some(pairs) = pairs(site) else { return Ok(None) };
        let mut operators = LocalOperators::new(site);
        let (mut kinds, mut squares) = (Vec::new(), Vec::new());
        for Matrices { quantity, earlier, between, later, square } in pairs {
            let mut local = |matrix: Matrix| operators.intern(matrix, || "pair".into(), site.charges());
            kinds.push(Pair { quantity, earlier: local(earlier), between: local(between), later: local(later) });
            squares.push(square);
        }
        let zero = vec![vec![0.0; chain.sites]; chain.sites];
        let (values, left) = (vec![zero; kinds.len()], Environment::end_on(engine)?);
        Ok(Some(Correlator { operators, squares, values, kinds, left }))
    }

    /// Operators of the cut behind site `p`: the identity, then one a kind for each site up to `p`.
    fn carried(&self, p: usize) -> (Vec<Entry>, OperatorCut) {
        let kinds = self.kinds.len();
        let entry = |from, to, (operator, coefficient): Local| Entry { from, to, coefficient, operator };
        let through = (0..p * kinds).map(|k| entry(k + 1, k + 1, self.kinds[k % kinds].between));
        let begun = (0..kinds).map(|kind| entry(0, 1 + p * kinds + kind, self.kinds[kind].earlier));
        let nothing = std::iter::once(entry(0, 0, (0, 1.0)));
        (nothing.chain(through).chain(begun).collect(), neutral(1 + (p + 1) * kinds))
    }

    /// Takes up the populations of the states of the site at position `i`.
    pub fn site(&mut self, i: usize, probability: &[f64]) {
        for (values, square) in self.values.iter_mut().zip(&self.squares) {
            values[i][i] = square.iter().zip(probability).map(|(x, p)| x * p).sum();
        }
    }

    /// Takes up ψ around site `p`: pairs of a site before it with itself. Returns the operators of the enlarged block.
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
            let (operators, enlarged) = (&self.operators, &frame.left);
            let left = Enlarging { side: Side::Left, block: &self.left, table, operators, enlarged, cut };
            left.operators(engine, &of_left)
        };
        let whole = whole(&frame.right.sectors);
        let operands = Operands::default().with(OperandSpace::Left, &self.left.data);
        for (i, (kind, pair)) in (0..p).flat_map(|i| self.kinds.iter().enumerate().map(move |pair| (i, pair))) {
            let (operator, coefficient) = pair.later;
            let ends = Entry { from: 1 + i * self.kinds.len() + kind, to: 0, coefficient, operator };
            let pairs = enlarged(&[ends], &neutral(1))?;
            let superblock = Superblock::new(&pairs, &whole, &frame.layout);
            let value = expectation(engine, &superblock, operands.with(OperandSpace::LeftSum, &pairs.sums), wave)?;
            (self.values[kind][i][p], self.values[kind][p][i]) = (value, value);
        }
        let (table, cut) = self.carried(p);
        enlarged(&table, &cut)
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

    /// The matrices.
    pub fn finish(self) -> Correlations {
        let mut found = Correlations::default();
        for (pair, values) in self.kinds.iter().zip(self.values) {
            match pair.quantity {
                Quantity::SzSz => found.szsz = Some(values),
                Quantity::Flips => found.sdots = found.szsz.as_ref().map(|szsz| added(szsz, &values)),
                Quantity::Density => found.nn = Some(values),
                Quantity::Hop => found.cdag_c.get_or_insert_default().push(values),
            }
        }
        found
    }
}

fn added(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
    a.iter().zip(b).map(row).collect()
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
