//! Correlations of every pair of sites, read off while ψ is carried along the chain.
//!
//! In: ψ at each bond in turn. Out: ⟨Sᶻ_i Sᶻ_j⟩, ⟨S_i·S_j⟩ and, of electrons, ⟨n_i n_j⟩. A block holds one operator for
//! each of its sites and each kind of pair; at the bond (p, p + 1) those of sites 0 … p meet the partner at p + 1. S·S
//! needs only Sᶻ Sᶻ and S⁺ S⁻, since ⟨S⁺_i S⁻_j⟩ = ⟨S⁻_i S⁺_j⟩ in a real state. S⁺ = c†↑ c↓ of an electron moves no
//! parity, so there are no signs on the way.

use super::blocks::Side;
use super::bond::Frame;
use super::chain::Chain;
use super::charges::Charges;
use super::engine::{Engine, Operands};
use super::enlarged::{EnlargedOperators, Enlarging};
use super::environment::{BlockOperator, Environment};
use super::error::DmrgError;
use super::measure::expectation;
use super::operator_sum::{Cut, Entry};
use super::records::Space;
use super::site::{Matrix, Site};
use super::state::Isometry;
use super::superblock::Superblock;
use super::terms::{LocalOperators, OperatorId};
use crate::operator::{Factor, Spin};
use serde::Serialize;

/// One matrix a quantity, `[i][j]` by position in the chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlations {
    /// ⟨Sᶻ_i Sᶻ_j⟩.
    pub szsz: Vec<Vec<f64>>,
    /// ⟨S_i·S_j⟩.
    pub sdots: Vec<Vec<f64>>,
    /// ⟨n_i n_j⟩ of electrons.
    pub nn: Option<Vec<Vec<f64>>>,
}

/// An operator of one site and the factor over the interned one.
type Local = (OperatorId, f64);

/// Collects correlations bond by bond.
pub struct Correlator<B> {
    operators: LocalOperators,
    /// (operator of the earlier site, of the later one): Sᶻ Sᶻ, S⁺ S⁻, n n.
    kinds: Vec<(Local, Local)>,
    /// The diagonal of the square: Sᶻ Sᶻ, S·S, n n of each state of the site.
    squares: Vec<Vec<f64>>,
    left: Environment<B>,
    /// `[kind][i][j]`.
    values: Vec<Vec<Vec<f64>>>,
}

/// Sᶻ, S⁺, S⁻ and, of electrons, n.
fn matrices(site: &Site) -> Option<(Vec<Matrix>, Option<Matrix>)> {
    let of = |factor: Factor| site.matrix(factor);
    match site {
        Site::Moment { .. } => Some((vec![of(Factor::Sz(0))?, of(Factor::Raise(0))?, of(Factor::Lower(0))?], None)),
        Site::Electron => {
            let up = (of(Factor::Create(Spin::Up, 0))?, of(Factor::Annihilate(Spin::Up, 0))?);
            let down = (of(Factor::Create(Spin::Down, 0))?, of(Factor::Annihilate(Spin::Down, 0))?);
            let (n_up, n_down) = (up.0.times(&up.1), down.0.times(&down.1));
            let combined = |sign: f64, scale: f64| Matrix {
                dimension: n_up.dimension,
                values: n_up.values.iter().zip(&n_down.values).map(|(a, b)| scale * (a + sign * b)).collect(),
            };
            let spin = vec![combined(-1.0, 0.5), up.0.times(&down.1), down.0.times(&up.1)];
            Some((spin, Some(combined(1.0, 1.0))))
        }
    }
}

impl<B> Correlator<B> {
    /// For the sites of a chain.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new<E: Engine<Buffer = B>>(chain: &Chain, engine: &E) -> Result<Option<Correlator<B>>, DmrgError> {
        let site = &chain.site;
        let Some((spin, density)) = matrices(site) else { return Ok(None) };
        let mut operators = LocalOperators::new(site);
        let mut local = |matrix: &Matrix, name: &str| operators.intern(matrix.clone(), || name.into(), site.charges());
        let (sz, raise, lower) = (local(&spin[0], "Sᶻ"), local(&spin[1], "S⁺"), local(&spin[2], "S⁻"));
        let n = density.as_ref().map(|density| local(density, "n"));
        let diagonal = |matrix: &Matrix| (0..matrix.dimension).map(|k| matrix.at(k, k)).collect::<Vec<f64>>();
        let half = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect::<Vec<f64>>();
        let zz = diagonal(&spin[0].times(&spin[0]));
        let flips = half(diagonal(&spin[1].times(&spin[2])), diagonal(&spin[2].times(&spin[1])));
        let squares = [Some(zz), Some(flips), density.map(|n| diagonal(&n.times(&n)))];
        let kinds: Vec<(Local, Local)> =
            [Some((sz, sz)), Some((raise, lower)), n.map(|n| (n, n))].into_iter().flatten().collect();
        let zero = vec![vec![0.0; chain.sites]; chain.sites];
        Ok(Some(Correlator {
            operators,
            squares: squares.into_iter().flatten().collect(),
            values: vec![zero; kinds.len()],
            kinds,
            left: Environment::end_on(engine)?,
        }))
    }

    /// Operators of the cut behind site `p`: the identity, then one a kind for each site up to `p`.
    fn carried(&self, p: usize) -> (Vec<Entry>, Cut) {
        let kinds = self.kinds.len();
        let through = (0..=p * kinds).map(|k| Entry { from: k, to: k, coefficient: 1.0, operator: 0 });
        let begun = self.kinds.iter().enumerate().map(|(kind, ((operator, coefficient), _))| Entry {
            from: 0,
            to: 1 + p * kinds + kind,
            coefficient: *coefficient,
            operator: *operator,
        });
        (through.chain(begun).collect(), neutral(1 + (p + 1) * kinds))
    }

    /// Takes up the populations of the states of the site at position `i`.
    pub fn site(&mut self, i: usize, probability: &[f64]) {
        for (values, square) in self.values.iter_mut().zip(&self.squares) {
            values[i][i] = square.iter().zip(probability).map(|(x, p)| x * p).sum();
        }
    }

    /// Takes up ψ at bond `p`: pairs of a site up to `p` with site p + 1. Returns the operators of the enlarged block.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn bond<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        frame: &Frame,
        wave: &B,
        right: &Environment<B>,
        p: usize,
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        let (table, cut) = self.carried(p);
        let (operators, enlarged) = (&self.operators, &frame.left);
        let left = Enlarging { side: Side::Left, block: &self.left, table: &table, operators, enlarged, cut: &cut };
        let (mut of_left, mut of_right) = (vec![1; frame.left.sectors.len()], vec![1; frame.right.sectors.len()]);
        for sector in &frame.layout.sectors {
            (of_left[sector.left], of_right[sector.right]) = (sector.columns, sector.rows);
        }
        let mut left = left.operators(engine, &of_left)?;
        let end = |(kind, (_, (operator, coefficient))): (usize, &(Local, Local))| Entry {
            from: kind,
            to: 0,
            coefficient: *coefficient,
            operator: *operator,
        };
        let table: Vec<Entry> = self.kinds.iter().enumerate().map(end).collect();
        let block = bare(right, engine.upload(Vec::new())?);
        let (cut, enlarged) = (neutral(self.kinds.len()), &frame.right);
        let right = Enlarging { side: Side::Right, block: &block, table: &table, operators, enlarged, cut: &cut };
        let mut right = right.operators(engine, &of_right)?;
        let operands = Operands::default().with(Space::Left, &self.left.data).with(Space::LeftSum, &left.sums);
        let only = |blocks: &mut Vec<_>| EnlargedOperators {
            blocks: vec![std::mem::take(blocks)],
            sums: (),
            forming: Default::default(),
        };
        for i in 0..=p {
            for kind in 0..self.kinds.len() {
                let place = 1 + i * self.kinds.len() + kind;
                let (a, b) = (only(&mut left.blocks[place]), only(&mut right.blocks[kind]));
                let value = expectation(engine, &Superblock::new(&a, &b, &frame.layout), operands, wave)?;
                (self.values[kind][i][p + 1], self.values[kind][p + 1][i]) = (value, value);
                (left.blocks[place], right.blocks[kind]) = (first(a), first(b));
            }
        }
        Ok(left)
    }

    /// Carries the operators of a bond over to the kept states.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn carry<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        operators: &EnlargedOperators<B>,
        kept: &Isometry<B>,
    ) -> Result<(), DmrgError> {
        let operands = Operands::default().with(Space::Left, &self.left.data).with(Space::LeftSum, &operators.sums);
        self.left = Environment::project(engine, operators, operands, kept, Some(0))?;
        Ok(())
    }

    /// The matrices.
    pub fn finish(mut self) -> Correlations {
        let nn = (self.kinds.len() > 2).then(|| self.values.swap_remove(2));
        let (szsz, flips) = (self.values.swap_remove(0), self.values.swap_remove(0));
        let sum = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let sdots = szsz.iter().zip(&flips).map(sum).collect();
        Correlations { szsz, sdots, nn }
    }
}

fn first(operators: EnlargedOperators<()>) -> Vec<Option<super::enlarged::OperatorBlock>> {
    operators.blocks.into_iter().next().unwrap_or_default()
}

/// A cut of so many operators; how they change the charges follows from their blocks.
fn neutral(width: usize) -> Cut {
    Cut { changes: vec![Charges::default(); width], left_identity: Some(0), right_identity: None }
}

/// The block with the identity as its only operator.
fn bare<B>(block: &Environment<B>, data: B) -> Environment<B> {
    Environment { sectors: block.sectors.clone(), operators: vec![BlockOperator::Identity], data }
}
