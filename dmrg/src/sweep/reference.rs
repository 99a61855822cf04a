//! States to which a search stays orthogonal, so that it finds the next one above them.
//!
//! In: a converged search (its state becomes a [`ReferenceState`]), and the blocks of another one. Out: the
//! reference as a vector φ over the other's superblock, φ[(l, s), (s', r)] = Σ L[l, a] V_p[(s, k), a] V_{p+1}[(s', b), k]
//! R[r, b]. A reference is a right-canonical matrix product with one isometry per site; L and R are the overlaps of its
//! kept states with those of the search ([`CutOverlap`]s), updated along with the blocks. Minimising with x ⊥ φ at every
//! bond minimises over the states orthogonal to the reference (McCulloch 2007, section 3.5).

use crate::block::blocks::{Enlarged, Sectors, Side};
use crate::block::bond::Frame;
use crate::block::state::{Isometry, KeptBlock};
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Operand, OperandSpace, Record, RecordGroup, RecordStage};
use faer::Mat;

/// A state of a chain as one isometry per site, right-canonical.
pub(crate) struct ReferenceState<B> {
    tensors: Vec<Isometry<B>>,
}

/// Overlaps ⟨own|other⟩ at a cut between the kept states of a search and of a reference.
pub(crate) struct CutOverlap<B> {
    blocks: Vec<CutOverlapBlock>,
    data: B,
}

/// The overlap of two sectors.
#[derive(Clone, Copy)]
struct CutOverlapBlock {
    own: usize,
    other: usize,
    offset: usize,
    rows: usize,
}

/// A reference and its overlaps with a search at every cut.
pub(crate) struct ReferenceOverlaps<B> {
    reference: ReferenceState<B>,
    left: Vec<Option<CutOverlap<B>>>,
    right: Vec<Option<CutOverlap<B>>>,
}

/// A matrix as stored.
fn stored(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

/// The transpose of a stored matrix.
fn transposed(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: true }
}

impl<B> ReferenceState<B> {
    /// The state of a search with ψ at the first bond, in `frame`, and the states kept of each site; `turned` for iψ of a complex
    /// chain, whose first site is the auxiliary one.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn new<E: Engine<Buffer = B>>(
        engine: &E,
        chain: &Chain,
        frame: &Frame,
        (wave, kept): (&B, &[Option<Isometry<B>>]),
        turned: bool,
    ) -> Result<ReferenceState<B>, DmrgError> {
        let everything = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };
        let truncated = engine.truncate(frame.wave(wave), Side::Right, everything)?;
        let enlarged = chain.enlarge(Side::Right, &truncated.kept.kept, 1);
        let centre = engine.download(&truncated.centre.data)?;
        // The first site holds the rest of ψ: one state, rows (state of the site, state kept of the rest).
        let mut first = Mat::zeros(enlarged.sectors.dimension(0), 1);
        for part in &enlarged.parts[0] {
            let found =
                frame.left.place(0, part.state).and_then(|(sector, row)| Some((frame.layout.of_left(sector)?, row)));
            let Some((index, row)) = found else { continue };
            let own = truncated.kept.block(frame.layout.sectors[index].right);
            let (Some(block), Some(own)) = (truncated.centre.blocks[index], own) else { continue };
            if own.kept_sector == part.block {
                let value = |k: usize| centre[block.offset + row + k * block.rows];
                (0..part.dimension).for_each(|k| first[(part.first + k, 0)] = value(k));
            }
        }
        if turned {
            // J: (x, y) → (−y, x)
            let half = first.nrows() / 2;
            first =
                Mat::from_fn(2 * half, 1, |k, _| if k < half { -first[(half + k, 0)] } else { first[(k - half, 0)] });
        }
        let first = Isometry::new(&enlarged.sectors, &[Some(first)]).carried(|data| engine.upload(data))?;
        let mut tensors = vec![first, truncated.kept];
        for kept in kept.iter().skip(2).flatten() {
            let copy = engine.download(&kept.data)?.into_owned();
            tensors.push(kept.tables().carried(|_| engine.upload(copy))?);
        }
        Ok(ReferenceState { tensors })
    }

    /// One for each site.
    pub(crate) fn tensors(&self) -> &[Isometry<B>] {
        &self.tensors
    }

    /// The states behind site `p`, enlarged by the site.
    fn enlarged(&self, chain: &Chain, p: usize) -> Enlarged {
        let end = Sectors::end();
        let behind = self.tensors.get(p + 1).map_or(&end, |isometry| &isometry.kept);
        chain.enlarge(Side::Right, behind, p + 1)
    }

    /// The block of site `p`'s isometry that keeps a sector.
    fn keeping(&self, p: usize, sector: usize) -> Option<&KeptBlock> {
        self.tensors[p].blocks.iter().find(|block| block.kept_sector == sector)
    }
}

impl<B> CutOverlap<B> {
    fn end<E: Engine<Buffer = B>>(engine: &E) -> Result<CutOverlap<B>, DmrgError> {
        let blocks = vec![CutOverlapBlock { own: 0, other: 0, offset: 0, rows: 1 }];
        Ok(CutOverlap { blocks, data: engine.upload(vec![1.0])? })
    }

    fn with_own(&self, own: usize) -> Option<CutOverlapBlock> {
        self.blocks.iter().copied().find(|block| block.own == own)
    }
}

impl<B> ReferenceOverlaps<B> {
    /// For a search with ψ at bond `p`, whose kept states are in the engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn new<E: Engine<Buffer = B>>(
        engine: &E,
        chain: &Chain,
        reference: ReferenceState<B>,
        kept: &[Option<Isometry<B>>],
        p: usize,
    ) -> Result<ReferenceOverlaps<B>, DmrgError> {
        let none = || (0..=chain.sites).map(|_| None).collect::<Vec<_>>();
        let mut companion = ReferenceOverlaps { reference, left: none(), right: none() };
        companion.left[0] = Some(CutOverlap::end(engine)?);
        companion.right[chain.sites] = Some(CutOverlap::end(engine)?);
        let sides: [(Side, Vec<usize>); 2] =
            [(Side::Left, (0..p).collect()), (Side::Right, (p + 2..chain.sites).rev().collect())];
        for (side, sites) in sides {
            let mut behind = Sectors::end();
            for site in sites {
                let Some(own) = &kept[site] else { continue };
                let enlarged = chain.enlarge(side, &behind, if side == Side::Left { site } else { site + 1 });
                companion.carry(engine, chain, side, site, own, &enlarged)?;
                behind = own.kept.clone();
            }
        }
        Ok(companion)
    }

    /// Returns the reference, dropping the overlaps.
    pub(crate) fn into_reference(self) -> ReferenceState<B> {
        self.reference
    }

    /// Adds site `p` to the overlap on a side; `own` are the states kept of it, and `enlarged` the basis they are in.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn carry<E: Engine<Buffer = B>>(
        &mut self,
        engine: &E,
        chain: &Chain,
        side: Side,
        p: usize,
        own: &Isometry<B>,
        enlarged: &Enlarged,
    ) -> Result<(), DmrgError> {
        let (from, to) = if side == Side::Left { (&self.left[p], p + 1) } else { (&self.right[p + 1], p) };
        let Some(from) = from else { return Ok(()) };
        let other = self.reference.enlarged(chain, p);
        let (mut first, mut second, mut blocks) = (RecordStage::default(), RecordStage::default(), Vec::new());
        for block in &own.blocks {
            let mut target = None;
            for part in &enlarged.parts[block.enlarged_sector] {
                let Some(contact) = from.with_own(part.block) else { continue };
                let found = match side {
                    Side::Left => self.leftwards(p, contact, part.state, &other),
                    Side::Right => {
                        let charges = enlarged.sectors.charges(block.enlarged_sector);
                        self.rightwards(p, contact, part.state, charges, &other)
                    }
                };
                let Some((tensor, sector, inner, columns)) = found else { continue };
                let contacted = stored(OperandSpace::Left, contact.offset, contact.rows);
                let between = first.push(
                    contact.rows * columns,
                    vec![Record::product(contacted, tensor, inner, [contact.rows, columns])],
                );
                let a = transposed(OperandSpace::Input, block.offset + part.first, block.rows);
                let b = stored(OperandSpace::Between, between, contact.rows);
                let record = Record::product(a, b, part.dimension, [block.columns, columns]);
                let group = *target.get_or_insert_with(|| {
                    let offset = second.push(block.columns * columns, Vec::new());
                    blocks.push(CutOverlapBlock { own: block.kept_sector, other: sector, offset, rows: block.columns });
                    second.groups.len() - 1
                });
                second.groups[group].records.push(record);
            }
        }
        let operands = Operands::default()
            .set(OperandSpace::Left, &from.data)
            .set(OperandSpace::Right, &self.reference.tensors[p].data)
            .set(OperandSpace::Input, &own.data);
        let between = engine.run(&first, operands)?;
        let data = engine.run(&second, operands.set(OperandSpace::Between, &between))?;
        let place = if side == Side::Left { &mut self.left[to] } else { &mut self.right[to] };
        *place = Some(CutOverlap { blocks, data });
        Ok(())
    }

    /// V_p[(s, k), a]ᵀ for the a of an overlap: the matrix, the sector of k, the number of states a and k.
    fn leftwards(
        &self,
        p: usize,
        contact: CutOverlapBlock,
        state: usize,
        other: &Enlarged,
    ) -> Option<(Operand, usize, usize, usize)> {
        let v = self.reference.keeping(p, contact.other)?;
        let part = other.parts[v.enlarged_sector].iter().find(|part| part.state == state)?;
        let matrix = transposed(OperandSpace::Right, v.offset + part.first, v.rows);
        Some((matrix, part.block, v.columns, part.dimension))
    }

    /// V_p[(s, b), a] for the b of an overlap, in the sector of these charges.
    fn rightwards(
        &self,
        p: usize,
        contact: CutOverlapBlock,
        state: usize,
        charges: crate::chain::charges::Charges,
        other: &Enlarged,
    ) -> Option<(Operand, usize, usize, usize)> {
        let sector = other.sectors.find(charges)?;
        let v = self.reference.tensors[p].block(sector)?;
        let part = other.parts[sector].iter().find(|part| part.state == state && part.block == contact.other)?;
        let matrix = stored(OperandSpace::Right, v.offset + part.first, v.rows);
        Some((matrix, v.kept_sector, part.dimension, v.columns))
    }

    /// φ in the layout of bond `p`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn vector<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        chain: &Chain,
        p: usize,
        frame: &Frame,
    ) -> Result<B, DmrgError> {
        let there = "contacts beside the bond of ψ are kept up to date";
        let (left, right) = (self.left[p].as_ref().expect(there), self.right[p + 2].as_ref().expect(there));
        let (here, next) = (self.reference.enlarged(chain, p), self.reference.enlarged(chain, p + 1));
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        second.length = frame.layout.length;
        for pair in &frame.layout.sectors {
            // (part, sector of k, its states, offset between): L V_p, and R V_{p+1}.
            let mut of_left = Vec::new();
            for part in &frame.left.parts[pair.left] {
                let Some(contact) = left.with_own(part.block) else { continue };
                let Some((v, k, inner, columns)) = self.leftwards(p, contact, part.state, &here) else { continue };
                let a = stored(OperandSpace::Left, contact.offset, contact.rows);
                let v = Operand { space: OperandSpace::LeftSum, ..v };
                let record = Record::product(a, v, inner, [contact.rows, columns]);
                of_left.push((part, k, columns, first.push(contact.rows * columns, vec![record])));
            }
            let mut of_right = Vec::new();
            for part in &frame.right.parts[pair.right] {
                let Some(contact) = right.with_own(part.block) else { continue };
                let charges = frame.right.sectors.charges(pair.right);
                let found = self.rightwards(p + 1, contact, part.state, charges, &next);
                let Some((v, k, inner, columns)) = found else { continue };
                let a = stored(OperandSpace::Right, contact.offset, contact.rows);
                let v = Operand { space: OperandSpace::RightSum, ..v };
                let record = Record::product(a, v, inner, [contact.rows, columns]);
                of_right.push((part, k, first.push(contact.rows * columns, vec![record])));
            }
            let mut records = Vec::new();
            for (own, k, inner, a) in &of_left {
                for (behind, _, b) in of_right.iter().filter(|(_, other, _)| other == k) {
                    let x = stored(OperandSpace::Between, *a, own.dimension);
                    let y = transposed(OperandSpace::Between, *b, behind.dimension);
                    let record = Record::product(x, y, *inner, [own.dimension, behind.dimension]);
                    records.push(Record { first: own.first + behind.first * pair.rows, stride: pair.rows, ..record });
                }
            }
            second.groups.push(RecordGroup { offset: pair.offset, length: pair.rows * pair.columns, records });
        }
        let operands = Operands::default()
            .set(OperandSpace::Left, &left.data)
            .set(OperandSpace::Right, &right.data)
            .set(OperandSpace::LeftSum, &self.reference.tensors[p].data)
            .set(OperandSpace::RightSum, &self.reference.tensors[p + 1].data);
        let between = engine.run(&first, operands)?;
        Ok(engine.run(&second, operands.set(OperandSpace::Between, &between))?)
    }

    /// φ in the layout of site `p` alone, which the block on `with` contains: L V_p on the left and R to its right, or L
    /// and R V_p.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn vector_of_site<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        chain: &Chain,
        p: usize,
        with: Side,
        frame: &Frame,
    ) -> Result<B, DmrgError> {
        let there = "contacts beside the site of ψ are kept up to date";
        let (left, right) = (self.left[p].as_ref().expect(there), self.right[p + 1].as_ref().expect(there));
        let here = self.reference.enlarged(chain, p);
        let (near, far) = if with == Side::Left { (left, right) } else { (right, left) };
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        second.length = frame.layout.length;
        for pair in &frame.layout.sectors {
            let (parts, others, charges) = match with {
                Side::Left => (&frame.left.parts[pair.left], &frame.right.parts[pair.right], None),
                Side::Right => {
                    let charges = frame.right.sectors.charges(pair.right);
                    (&frame.right.parts[pair.right], &frame.left.parts[pair.left], Some(charges))
                }
            };
            let mut records = Vec::new();
            for part in parts {
                let Some(contact) = near.with_own(part.block) else { continue };
                let found = match charges {
                    None => self.leftwards(p, contact, part.state, &here),
                    Some(charges) => self.rightwards(p, contact, part.state, charges, &here),
                };
                let Some((v, sector, inner, columns)) = found else { continue };
                let a = stored(OperandSpace::Left, contact.offset, contact.rows);
                let made =
                    first.push(contact.rows * columns, vec![Record::product(a, v, inner, [contact.rows, columns])]);
                for other in others {
                    let Some(beyond) = far.with_own(other.block).filter(|beyond| beyond.other == sector) else {
                        continue;
                    };
                    let (rows, width) = (contact.rows, beyond.rows);
                    let record = match with {
                        Side::Left => {
                            let x = stored(OperandSpace::Between, made, rows);
                            Record::product(
                                x,
                                transposed(OperandSpace::LeftSum, beyond.offset, width),
                                columns,
                                [rows, width],
                            )
                        }
                        Side::Right => {
                            let x = stored(OperandSpace::LeftSum, beyond.offset, width);
                            Record::product(x, transposed(OperandSpace::Between, made, rows), columns, [width, rows])
                        }
                    };
                    let at = match with {
                        Side::Left => part.first + other.first * pair.rows,
                        Side::Right => other.first + part.first * pair.rows,
                    };
                    records.push(Record { first: at, stride: pair.rows, ..record });
                }
            }
            second.groups.push(RecordGroup { offset: pair.offset, length: pair.rows * pair.columns, records });
        }
        let operands = Operands::default()
            .set(OperandSpace::Left, &near.data)
            .set(OperandSpace::LeftSum, &far.data)
            .set(OperandSpace::Right, &self.reference.tensors[p].data);
        let between = engine.run(&first, operands)?;
        Ok(engine.run(&second, operands.set(OperandSpace::Between, &between))?)
    }
}
