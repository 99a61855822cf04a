//! The left part of Hψ in few vectors: exact rows and random ones, grown site by site.
//!
//! In: the rows at a cut, R_p A_b Φ_p for each operator b of the cut, the table of the next site, its kept states. Out: the same with
//! the site, R_p ⊗ 1 before A_b Φ_{p+1}, whose rows `residual` reads; and from these the rows of the next cut. Of a cut's operators
//! the one whose right part is the identity is left out: it keeps the states behind the cut.

use crate::block::blocks::{Enlarged, PairedSector, Sectors, Side};
use crate::block::bond::Frame;
use crate::block::start::Random;
use crate::block::state::{Isometry, KeptBlock};
use crate::chain::Chain;
use crate::chain::bundles::{BundleList, BundleLists};
use crate::chain::charges::Charges;
use crate::chain::operator_sum::Entry;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{AssembledPart, Assembly, AssemblyTerm, Operand, OperandSpace, Record, RecordStage};
use faer::Mat;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Independent groups of random rows.
pub(super) const GROUPS: usize = 8;

/// How many rows stand for the left part of Hψ.
#[derive(Clone, Copy)]
pub(crate) struct RowLimits {
    /// Exact rows at a cut, at most.
    pub(super) exact: usize,
    /// Random rows of a group at a cut, about: shared by the sectors like the kept states, at least one each.
    pub(super) random: usize,
    /// Of the signs.
    pub(super) seed: u64,
}

impl RowLimits {
    /// A standard error of some hundredths of the variance, for a thirtieth of the operations of H² (cylinders of six spins or four
    /// electrons around, 4,096 and 8,192 states).
    pub(crate) const FEW: RowLimits = RowLimits { exact: 256, random: 32, seed: 1 };
}

/// Runs stages and counts their operations.
pub(super) struct Counted<'e, E> {
    pub(super) engine: &'e E,
    pub(super) flops: &'e Cell<f64>,
}

impl<E: Engine> Counted<'_, E> {
    pub(super) fn run(&self, stage: &RecordStage, operands: Operands<'_, E::Buffer>) -> Result<E::Buffer, DmrgError> {
        self.flops.set(self.flops.get() + stage.flops());
        Ok(self.engine.run(stage, operands)?)
    }
}

/// V_p of a sector: rows are states of the enlarged right block, columns the states at the cut before it.
#[derive(Clone, Copy)]
pub(super) struct KetBlock {
    /// The sector of the enlarged block.
    pub(super) enlarged: usize,
    /// The sector of the states at the cut.
    pub(super) states: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    offset: usize,
    stride: usize,
    /// Whether its transpose is stored.
    transposed: bool,
}

impl KetBlock {
    /// The matrix, from row `first` on.
    pub(super) fn matrix(&self, first: usize) -> Operand {
        let offset = self.offset + first * if self.transposed { self.stride } else { 1 };
        Operand { space: OperandSpace::Left, offset, stride: self.stride, transposed: self.transposed }
    }

    /// Its transpose, from column `first` on.
    pub(super) fn transpose(&self, first: usize) -> Operand {
        let matrix = self.matrix(first);
        Operand { transposed: !matrix.transposed, ..matrix }
    }
}

/// ψ of the first bond as V of site 1: the states at the cut before it are those of site 0.
pub(super) fn of_wave(frame: &Frame) -> Vec<KetBlock> {
    let block = |(index, s): (usize, &PairedSector)| KetBlock {
        enlarged: s.right,
        states: index,
        rows: s.columns,
        columns: s.rows,
        offset: s.offset,
        stride: s.rows,
        transposed: true,
    };
    frame.layout.sectors.iter().enumerate().map(block).collect()
}

/// V of a site behind the first bond: its kept states.
pub(super) fn of_kept<B>(kept: &Isometry<B>) -> Vec<KetBlock> {
    let block = |v: &KeptBlock| KetBlock {
        enlarged: v.enlarged_sector,
        states: v.kept_sector,
        rows: v.rows,
        columns: v.columns,
        offset: v.offset,
        stride: v.rows,
        transposed: false,
    };
    kept.blocks.iter().map(block).collect()
}

/// Adds rounding to a matrix of weights, which ψ normalised makes at most about 1: states of no weight at all make a matrix on which
/// eigensolvers may not converge.
fn weights_with_rounding(gram: &mut [f64], (first, size): (usize, usize), random: &mut Random) {
    for (i, j) in (0..size).flat_map(|j| (0..=j).map(move |i| (i, j))) {
        let rounding = f64::EPSILON * random.number();
        gram[first + i + j * size] += rounding;
        if i != j {
            gram[first + j + i * size] += rounding;
        }
    }
}

/// In place of eigenvectors, where an eigensolver does not converge: the states with the largest diagonal elements, descending. Any
/// orthonormal rows are right, and these are good.
fn largest_elements(gram: &[f64], (first, size): (usize, usize)) -> (Vec<f64>, Vec<f64>) {
    let element = |i: usize| gram.get(first + i * (size + 1)).copied().unwrap_or(0.0);
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|a, b| element(*b).total_cmp(&element(*a)));
    let mut vectors = vec![0.0; size * size];
    order.iter().enumerate().for_each(|(column, i)| vectors[i + column * size] = 1.0);
    (order.into_iter().map(element).collect(), vectors)
}

/// The rows at a cut by charge of the left part: in each sector the exact ones, then those of each group.
pub(super) struct Rows {
    pub(super) sectors: Sectors,
    /// Exact rows of each sector.
    pub(super) exact: Vec<usize>,
    /// Random rows of each sector in each group.
    pub(super) random: Vec<usize>,
}

/// The blocks of the operators of a group of the cut from states behind it to rows, side by side: elements (row, operator, column).
#[derive(Clone, Copy)]
pub(super) struct LeftBlock {
    pub(super) group: usize,
    /// Operators of the group.
    pub(super) count: usize,
    /// Sector of the rows.
    pub(super) row: usize,
    /// Sector of the states behind the cut.
    pub(super) states: usize,
    /// Rows.
    pub(super) height: usize,
    pub(super) columns: usize,
    pub(super) offset: usize,
}

impl LeftBlock {
    /// Beside each other, from row `first` on, as input.
    pub(super) fn abreast(&self, first: usize, transposed: bool) -> Operand {
        Operand { space: OperandSpace::Input, offset: self.offset + first, stride: self.height, transposed }
    }

    /// One below the other, as input.
    pub(super) fn stacked(&self) -> Operand {
        let stride = self.height * self.count;
        Operand { space: OperandSpace::Input, offset: self.offset, stride, transposed: false }
    }

    /// Elements.
    fn length(&self) -> usize {
        self.height * self.count * self.columns
    }
}

/// Hψ at a cut.
pub(super) struct LeftRows<B> {
    rows: Rows,
    blocks: Vec<LeftBlock>,
    data: B,
}

/// Hψ at a cut, its rows those of the cut before and the states of the site between.
pub(super) struct GrownRows<B> {
    /// The rows of the cut before.
    pub(super) before: Rows,
    /// These, with the site.
    pub(super) enlarged: Enlarged,
    pub(super) blocks: Vec<LeftBlock>,
    pub(super) data: B,
}

impl<B> LeftRows<B> {
    /// Behind the first site; the states there are those of the first site, with ψ as V.
    ///
    /// # Errors
    /// An error of the engine.
    pub(super) fn of_the_first_site<E: Engine<Buffer = B>>(
        engine: &E,
        chain: &Chain,
        frame: &Frame,
    ) -> Result<LeftRows<B>, DmrgError> {
        let (left, layout, bundles) = (&frame.left, &frame.layout, chain.bundles(1));
        let mut blocks: BTreeMap<(usize, usize, usize), Mat<f64>> = BTreeMap::new();
        for entry in chain.sum.sites[0].iter().filter(|entry| !ends(chain, 1, entry.to)) {
            for (to, from, value) in elements(chain, 0, entry.operator) {
                let (Some((row, i)), Some((of, j))) = (left.place(0, to), left.place(0, from)) else { continue };
                let Some(states) = layout.of_left(of) else { continue };
                let (height, columns) = (left.sectors.dimension(row), left.sectors.dimension(of));
                let (group, k) = bundles.places[entry.to];
                let count = bundles.groups[group].len();
                let block = blocks.entry((group, row, states)).or_insert_with(|| Mat::zeros(height * count, columns));
                block[(i + k * height, j)] += entry.coefficient * value;
            }
        }
        let (mut list, mut data) = (Vec::new(), Vec::new());
        for ((group, row, states), block) in blocks {
            let count = bundles.groups[group].len();
            let (height, columns) = (block.nrows() / count, block.ncols());
            list.push(LeftBlock { group, count, row, states, height, columns, offset: data.len() });
            (0..columns).for_each(|j| data.extend(block.col(j).iter()));
        }
        let exact = (0..left.sectors.len()).map(|q| left.sectors.dimension(q)).collect();
        let rows = Rows { sectors: left.sectors.clone(), exact, random: vec![0; left.sectors.len()] };
        Ok(LeftRows { rows, blocks: list, data: engine.upload(data)? })
    }

    /// With site `p`, whose V is `ket` in the buffer `v`, rows in the sectors of `given`.
    ///
    /// # Errors
    /// An error of the engine.
    pub(super) fn grown<E: Engine<Buffer = B>>(
        self,
        counted: &Counted<'_, E>,
        chain: &Chain,
        p: usize,
        (ket, v): (&[KetBlock], &B),
        given: &Enlarged,
    ) -> Result<GrownRows<B>, DmrgError> {
        // z = A_b Φ Vᵀ for each state of the site.
        let mut first = RecordStage::default();
        let mut moved: BTreeMap<Place, LeftBlock> = BTreeMap::new();
        for block in &self.blocks {
            let Some(k) = ket.iter().find(|k| k.states == block.states) else { continue };
            for part in &given.parts[k.enlarged] {
                let (rows, columns) = (block.height * block.count, part.dimension);
                let record = Record::product(block.stacked(), k.transpose(part.first), k.columns, [rows, columns]);
                let offset = first.push(rows * columns, vec![record]);
                let z = LeftBlock { states: part.block, columns, offset, ..*block };
                moved.insert((z.group, part.state, z.row, z.states), z);
            }
        }
        let operands = Operands::default().set(OperandSpace::Input, &self.data).set(OperandSpace::Left, v);
        let z = counted.run(&first, operands)?;
        let enlarged = chain.enlarge(Side::Left, &self.rows.sectors, p);
        let (assembly, blocks) = assembled(chain, p, &moved, &enlarged);
        let data = counted.engine.assemble(&assembly, &z)?;
        Ok(GrownRows { before: self.rows, enlarged, blocks, data })
    }
}

/// Where z stands: group, state of the site, sector of the rows, sector of the states behind.
type Place = (usize, usize, usize, usize);

/// Plans the operators behind site `p` with rows of the cut before and the site, from z.
fn assembled(
    chain: &Chain,
    p: usize,
    moved: &BTreeMap<Place, LeftBlock>,
    enlarged: &Enlarged,
) -> (Assembly, Vec<LeftBlock>) {
    let (before, bundles) = (chain.bundles(p), chain.bundles(p + 1));
    let dimension = chain.site(p).dimension();
    let table: Vec<Entry> = chain.sum.sites[p].iter().filter(|entry| !ends(chain, p + 1, entry.to)).copied().collect();
    let ends_of = |entry: &Entry| (entry.from, entry.to);
    let operators = (table.as_slice(), &chain.sum.operators);
    let lists = BundleLists::new(ends_of, operators, dimension, [bundles, before], |_| false);
    // For each group before and state from: the groups behind, states to, and lists.
    let mut by_source = BTreeMap::<_, Vec<_>>::new();
    for (group, of_states) in lists.of_group.iter().enumerate() {
        for (states, of_sources) in of_states.iter().enumerate() {
            for BundleList { group: source, first } in of_sources {
                let Some(source) = source else { continue };
                by_source.entry((*source, states % dimension)).or_default().push((group, states / dimension, *first));
            }
        }
    }
    // The terms of each block, by the state of the site that its rows have.
    let mut found = BTreeMap::<_, (usize, BTreeMap<usize, Vec<AssemblyTerm>>)>::new();
    for ((source, from, row_before, states), z) in moved {
        for (group, to, list) in by_source.get(&(*source, *from)).into_iter().flatten() {
            let Some((row, _)) = enlarged.place(*row_before, *to) else { continue };
            let (columns, terms) = found.entry((*group, row, *states)).or_insert((z.columns, BTreeMap::new()));
            debug_assert_eq!(*columns, z.columns, "states of one sector");
            let term = AssemblyTerm { first: z.offset, count: z.count, list: *list };
            terms.entry(*to).or_default().push(term);
        }
    }
    let mut assembly = Assembly { lists: lists.shared, ..Assembly::default() };
    let mut blocks = Vec::with_capacity(found.len());
    for ((group, row, states), (columns, by_state)) in found {
        let (height, count) = (enlarged.sectors.dimension(row), bundles.groups[group].len());
        let block = LeftBlock { group, count, row, states, height, columns, offset: assembly.length };
        assembly.blocks.push((assembly.parts.len(), block.offset));
        for part in &enlarged.parts[row] {
            let begun = assembly.terms.len();
            assembly.terms.extend(by_state.get(&part.state).into_iter().flatten());
            assembly.parts.push(AssembledPart {
                first: block.offset + part.first,
                rows: part.dimension,
                columns,
                height,
                count,
                terms: (begun, assembly.terms.len() - begun),
            });
        }
        assembly.length += block.length();
        blocks.push(block);
    }
    (assembly, blocks)
}

/// Whether an operator of a cut has the identity as its right part.
fn ends(chain: &Chain, cut: usize, operator: usize) -> bool {
    chain.sum.cuts[cut].right_identity == Some(operator)
}

/// The elements of an operator of a site; the identity has one number for sites of all dimensions.
fn elements(chain: &Chain, site: usize, operator: usize) -> Vec<(usize, usize, f64)> {
    match operator {
        0 => (0..chain.site(site).dimension()).map(|state| (state, state, 1.0)).collect(),
        operator => chain.sum.operators.get(operator).matrix.nonzeros(),
    }
}

impl<B> GrownRows<B> {
    /// Whether no row is random.
    pub(super) fn is_exact(&self) -> bool {
        self.before.random.iter().all(|random| *random == 0)
    }

    /// The exact rows of a sector: (first row, number, first among the exact ones) of each part.
    fn exact_parts(&self, q: usize) -> Vec<(usize, usize, usize)> {
        let mut at = 0;
        let parts = self.enlarged.parts[q].iter().map(|part| (part.first, self.before.exact[part.block]));
        parts
            .map(|(first, exact)| {
                at += exact;
                (first, exact, at - exact)
            })
            .collect()
    }

    /// The rows of cut `p`, behind which are the states `behind`.
    ///
    /// # Errors
    /// An error of the engine.
    pub(super) fn compressed<E: Engine<Buffer = B>>(
        self,
        counted: &Counted<'_, E>,
        chain: &Chain,
        p: usize,
        behind: &Sectors,
        limits: RowLimits,
        random: &mut Random,
    ) -> Result<LeftRows<B>, DmrgError> {
        let kept = self.exact_rows(counted, chain, p, limits.exact, random)?;
        let share = |charges: Charges| {
            let states = behind.find(chain.total - charges).map_or(0, |c| behind.dimension(c));
            (limits.random * states).div_ceil(behind.total().max(1)).max(1)
        };
        let (mut bras, mut data) = (Vec::new(), Vec::new());
        let (mut dimensions, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for (q, kept) in kept.iter().enumerate() {
            let bra = self.bra(q, kept, share(self.enlarged.sectors.charges(q)), random);
            let (rows, exact) = (bra.nrows(), kept.ncols());
            dimensions.insert(self.enlarged.sectors.charges(q), bra.ncols());
            counts.insert(self.enlarged.sectors.charges(q), (exact, (bra.ncols() - exact) / GROUPS));
            bras.push((data.len(), rows, bra.ncols()));
            (0..bra.ncols()).for_each(|j| data.extend(bra.col(j).iter()));
        }
        let sectors = Sectors::from_map(dimensions);
        let (exact, random) = (0..sectors.len()).map(|q| counts[&sectors.charges(q)]).unzip();
        let (mut stage, mut blocks) = (RecordStage::default(), Vec::new());
        for block in &self.blocks {
            let Some(row) = sectors.find(self.enlarged.sectors.charges(block.row)) else { continue };
            let (offset, inner, height) = bras[block.row];
            let bra = Operand { space: OperandSpace::Left, offset, stride: inner, transposed: true };
            let columns = block.count * block.columns;
            let record = Record::product(bra, block.abreast(0, false), inner, [height, columns]);
            let offset = stage.push(height * columns, vec![record]);
            blocks.push(LeftBlock { row, height, offset, ..*block });
        }
        let bras = counted.engine.upload(data)?;
        let operands = Operands::default().set(OperandSpace::Input, &self.data).set(OperandSpace::Left, &bras);
        let data = counted.run(&stage, operands)?;
        Ok(LeftRows { rows: Rows { sectors, exact, random }, blocks, data })
    }

    /// K of each sector as combinations of its exact rows: those with the largest weight in ψ, or in all A_b Φ where every term
    /// has begun; all of them if they are few.
    fn exact_rows<E: Engine<Buffer = B>>(
        &self,
        counted: &Counted<'_, E>,
        chain: &Chain,
        p: usize,
        most: usize,
        random: &mut Random,
    ) -> Result<Vec<Mat<f64>>, DmrgError> {
        let sizes: Vec<usize> = (0..self.enlarged.sectors.len())
            .map(|q| self.exact_parts(q).iter().map(|(_, exact, _)| exact).sum())
            .collect();
        if sizes.iter().sum::<usize>() <= most {
            return Ok(sizes.into_iter().map(|size| Mat::identity(size, size)).collect());
        }
        let mut stage = RecordStage::default();
        let list: Vec<(usize, usize)> = sizes.iter().map(|size| (stage.push(size * size, Vec::new()), *size)).collect();
        // The identity is alone in its group.
        let bundles = chain.bundles(p);
        let identity = chain.sum.cuts[p].left_identity.map(|one| bundles.places[one].0);
        let chosen = |block: &&LeftBlock| identity.is_none_or(|one| one == block.group);
        for block in self.blocks.iter().filter(chosen) {
            let parts = self.exact_parts(block.row);
            for (first, rows, at) in parts.iter().filter(|(_, rows, _)| *rows > 0) {
                for (other, columns, beside) in parts.iter().filter(|(_, columns, _)| *columns > 0) {
                    let (a, b) = (block.abreast(*first, false), block.abreast(*other, true));
                    let record = Record::product(a, b, block.count * block.columns, [*rows, *columns]);
                    let stride = sizes[block.row];
                    stage.groups[block.row].records.push(Record { first: at + beside * stride, stride, ..record });
                }
            }
        }
        let gram = counted.run(&stage, Operands::default().set(OperandSpace::Input, &self.data))?;
        let mut gram = counted.engine.download(&gram)?.into_owned();
        if !gram.is_empty() {
            list.iter().for_each(|(first, size)| weights_with_rounding(&mut gram, (*first, *size), random));
        }
        let by_elements = list.iter().map(|place| largest_elements(&gram, *place)).collect();
        let pairs = counted.engine.eigenpairs(counted.engine.upload(gram)?, &list).unwrap_or(by_elements);
        let mut all: Vec<(f64, usize)> =
            pairs.iter().enumerate().flat_map(|(q, (values, _))| values.iter().map(move |value| (*value, q))).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut counts = vec![0; sizes.len()];
        all.iter().take(most).for_each(|(_, q)| counts[*q] += 1);
        let chosen = |q: usize| {
            let (size, vectors) = (sizes[q], &pairs[q].1);
            Mat::from_fn(size, counts[q], |i, j| vectors[i + j * size])
        };
        Ok((0..sizes.len()).map(chosen).collect())
    }

    /// R of a sector, as columns: K, then of each group at most `most` random combinations of what is outside of K and of its random
    /// rows.
    fn bra(&self, q: usize, kept: &Mat<f64>, most: usize, random: &mut Random) -> Mat<f64> {
        let (size, exact) = (kept.nrows(), kept.ncols());
        let before: usize = self.enlarged.parts[q].iter().map(|part| self.before.random[part.block]).sum();
        let count = most.min(size - exact + before);
        let mut bra = Mat::zeros(self.enlarged.sectors.dimension(q), exact + GROUPS * count);
        let exact_parts = self.exact_parts(q);
        let put = |bra: &mut Mat<f64>, from: &Mat<f64>, column: usize| {
            for (first, rows, at) in &exact_parts {
                for (i, j) in (0..*rows).flat_map(|i| (0..from.ncols()).map(move |j| (i, j))) {
                    bra[(first + i, column + j)] = from[(at + i, j)];
                }
            }
        };
        put(&mut bra, kept, 0);
        let mut sign = || (1.0 / count as f64).sqrt().copysign(random.number());
        for group in 0..GROUPS {
            let column = exact + group * count;
            if size > exact {
                let signs = Mat::from_fn(size, count, |_, _| sign());
                let outside = &signs - kept * (kept.transpose() * &signs);
                put(&mut bra, &outside, column);
            }
            for part in &self.enlarged.parts[q] {
                let (own, of_group) = (self.before.exact[part.block], self.before.random[part.block]);
                let first = part.first + own + group * of_group;
                for (i, j) in (0..of_group).flat_map(|i| (0..count).map(move |j| (i, j))) {
                    bra[(first + i, column + j)] = sign();
                }
            }
        }
        bra
    }
}
