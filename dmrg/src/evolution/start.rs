//! States at time 0 as kept states of a chain.
//!
//! In: the state of each site by number, or a matrix-product state of the chain's sites. Out: the kept states of sites 2 … and ψ of the first
//! bond, of the chain as it is or with the auxiliary site of complex ψ, whose imaginary part is zero.

use crate::block::blocks::{Sectors, Side};
use crate::block::bond::Frame;
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::error::DmrgError;
use crate::matrix_product::{MatrixProductState, SiteTensor};
use eigenforge_core::basis::Sector;
use faer::Mat;

/// Sectors of a bond, and the sector and place of each of its states.
type BondStates = (Sectors, Vec<(usize, usize)>);

/// The kept states of sites 2 …, and ψ of the first bond.
pub(crate) type FirstBond = (Vec<Option<Isometry>>, Vec<f64>);

impl Chain {
    /// The product of these states, one per position.
    ///
    /// # Errors
    /// A state that a site does not have; charges that are not those of the sector.
    pub(crate) fn product_state(&self, states: &[usize]) -> Result<FirstBond, DmrgError> {
        let auxiliary = self.sites - self.order.len();
        let (expected, found) = (self.order.len(), states.len());
        if expected != found {
            return Err(DmrgError::Start {
                expected: format!("a state for each of the {expected} sites"),
                found: format!("{found} states"),
            });
        }
        let mut sum = Charges::default();
        for (position, state) in states.iter().enumerate() {
            let site = self.site(position + auxiliary);
            let Some(own) = site.charges().get(*state) else {
                let (expected, found) = (site.dimension() - 1, self.order[position]);
                return Err(DmrgError::Start {
                    expected: format!("a state from 0 to {expected} at site {found}"),
                    found: format!("state {state}"),
                });
            };
            sum = sum + *own;
        }
        if sum != self.total {
            let shown = |charges: Charges| self.charges_text(charges);
            return Err(DmrgError::Start {
                expected: format!("a state with {}", shown(self.total)),
                found: format!("one with {}", shown(sum)),
            });
        }
        let state = |p: usize| if p < auxiliary { 0 } else { states[p - auxiliary] };
        let (mut behind, mut kept) = (Sectors::end(), (0..self.sites).map(|_| None).collect::<Vec<_>>());
        for p in (2..self.sites).rev() {
            let enlarged = self.enlarge(Side::Right, &behind, p + 1);
            let Some((sector, row)) = enlarged.place(0, state(p)) else { return Err(self.outside()) };
            let matrix = |q: usize| {
                let rows = enlarged.sectors.dimension(q);
                (q == sector).then(|| Mat::from_fn(rows, 1, |i, _| if i == row { 1.0 } else { 0.0 }))
            };
            let isometry =
                Isometry::new(&enlarged.sectors, &(0..enlarged.sectors.len()).map(matrix).collect::<Vec<_>>());
            behind = isometry.kept.clone();
            kept[p] = Some(isometry);
        }
        let frame = Frame::new(self, 0, &Sectors::end(), &behind);
        let mut wave = vec![0.0; frame.layout.length];
        let places = frame.left.place(0, state(0)).zip(frame.right.place(0, state(1)));
        let place = places.and_then(|((sector, row), (_, column))| {
            let pair = &frame.layout.sectors[frame.layout.of_left(sector)?];
            Some(pair.offset + row + column * pair.rows)
        });
        let place = place.ok_or_else(|| self.outside())?;
        wave[place] = 1.0;
        Ok((kept, wave))
    }

    fn outside(&self) -> DmrgError {
        DmrgError::Start { expected: "a state of the sector".into(), found: "one outside".into() }
    }

    /// Charges with their values, in words.
    fn charges_text(&self, charges: Charges) -> String {
        let numbers = self.numbers.iter().zip(charges.0).map(|((charge, _), value)| (*charge, i64::from(value)));
        let sector = Sector::Charges(numbers.collect()).to_string();
        self.irreps.as_ref().map_or_else(|| sector.clone(), |_| format!("{sector}, irrep {}", charges.1))
    }

    /// A matrix-product state of the sites of this chain.
    ///
    /// # Errors
    /// What is different of its chain, its sector or its tensors.
    pub(crate) fn written_state(&self, state: &MatrixProductState) -> Result<FirstBond, DmrgError> {
        let auxiliary = self.sites - self.order.len();
        let refused = |expected: String, found: String| Err(DmrgError::Start { expected, found });
        let own = |position: usize| -> Vec<Vec<i32>> {
            self.site(position + auxiliary).charges().iter().map(|charges| self.listed(*charges)).collect()
        };
        if self.gauge.is_some() {
            return refused("left out where H is complex".into(), "a written state, whose tensors are real".into());
        }
        if state.tensors.len() != self.order.len() {
            return refused(
                format!("a chain of {} sites", self.order.len()),
                format!("one of {}", state.tensors.len()),
            );
        }
        let order: Vec<usize> = state.tensors.iter().map(|tensor| tensor.site).collect();
        if order != self.order {
            return refused(
                format!("sites in the order {:?}", self.order),
                format!("{order:?}: give [dmrg] that `order`"),
            );
        }
        for (position, tensor) in state.tensors.iter().enumerate() {
            if tensor.charges != own(position) {
                let names: Vec<String> = self.numbers.iter().map(|(charge, _)| charge.to_string()).collect();
                return refused(
                    format!(
                        "charges {:?} ({}) of the states of site {}",
                        own(position),
                        names.join(", "),
                        self.order[position]
                    ),
                    format!("{:?}", tensor.charges),
                );
            }
        }
        let whole = state.bonds.last().and_then(|bond| bond.first()).cloned().unwrap_or_default();
        if whole != self.listed(self.total) || state.bonds.len() != self.order.len() + 1 {
            return refused(
                format!("a state with {}", self.charges_text(self.total)),
                format!("one with charges {whole:?}"),
            );
        }
        // Each bond by what is to its right: sectors, and for each of its states the sector and the place there.
        let mut bonds = Vec::new();
        for (bond, list) in state.bonds.iter().enumerate() {
            let Some(found) = self.bond_states(list) else {
                return refused("bonds with charges of the sector".into(), format!("others at bond {bond}"));
            };
            bonds.push(found);
        }
        let mut kept: Vec<Option<Isometry>> = (0..self.sites).map(|_| None).collect();
        let mut isometries = Vec::new();
        let first_imaginary = match (auxiliary, state.imaginary.len(), state.tensors.first()) {
            (_, 0, _) => None,
            (0, ..) => return refused("a real state".into(), "a complex one".into()),
            (_, count, Some(tensor)) if count == tensor.values.len() => {
                Some(self.site_matrices((0, tensor, &state.imaginary), &bonds)?)
            }
            _ => return refused("as many imaginary as real values".into(), "another count at position 0".into()),
        };
        let empty = Vec::new();
        for (position, tensor) in state.tensors.iter().enumerate() {
            let matrices = self.site_matrices((position, tensor, &tensor.values), &bonds)?;
            let of_both = first_imaginary.as_ref().filter(|_| position == 0).unwrap_or(&empty);
            let is_orthonormal = matrices.iter().enumerate().all(|(q, matrix)| {
                let Some(matrix) = matrix else { return true };
                let mut square = matrix.transpose() * matrix;
                if let Some(Some(imaginary)) = of_both.get(q) {
                    square += imaginary.transpose() * imaginary;
                }
                let element = |(i, j): (usize, usize)| (square[(i, j)] - f64::from(u8::from(i == j))).abs() < CANONICAL;
                (0..square.nrows()).all(|i| (0..square.ncols()).all(|j| element((i, j))))
            });
            if !is_orthonormal {
                return refused(
                    "right-canonical tensors, Σ_sr B[l, s, r] B[l', s, r] = δ".into(),
                    format!("others at position {position}"),
                );
            }
            let enlarged = self.enlarge(Side::Right, &bonds[position + 1].0, position + auxiliary + 1);
            isometries.push(Isometry::new(&enlarged.sectors, &matrices));
        }
        let mut isometries: std::collections::VecDeque<_> = isometries.into();
        // ψ of the first bond: of a complex chain the auxiliary site and site 0, else sites 0 and 1.
        let second = if auxiliary == 0 { isometries.remove(1) } else { None };
        let Some(first) = isometries.pop_front() else { return Err(self.outside()) };
        for (p, isometry) in isometries.into_iter().enumerate() {
            kept[p + 2] = Some(isometry);
        }
        let behind = kept.get(2).and_then(Option::as_ref).map_or_else(Sectors::end, |isometry| isometry.kept.clone());
        let frame = Frame::new(self, 0, &Sectors::end(), &behind);
        let mut wave = vec![0.0; frame.layout.length];
        match second {
            // The rows of site 0's only column are those of the enlarged right block; those of the auxiliary site are Re ψ and Im ψ.
            None => {
                for pair in &frame.layout.sectors {
                    let Some(block) = first.block(pair.right) else { continue };
                    let imaginary = first_imaginary.as_ref().and_then(|matrices| matrices[pair.right].as_ref());
                    for column in 0..pair.columns {
                        let place = pair.offset + column * pair.rows;
                        wave[place] = first.data[block.offset + column];
                        if let Some(imaginary) = imaginary {
                            wave[place + 1] = imaginary[(column, 0)];
                        }
                    }
                }
            }
            Some(second) => {
                // Rows (s, k) of site 0, k a state kept of site 1.
                let enlarged = self.enlarge(Side::Right, &second.kept, 1);
                let Some(sector) = enlarged.sectors.find(self.total) else { return Err(self.outside()) };
                let Some(top) = first.block(sector) else { return Err(self.outside()) };
                for part in &enlarged.parts[sector] {
                    let Some((q, row)) = frame.left.place(0, part.state) else { continue };
                    let Some(pair) = frame.layout.of_left(q).map(|index| &frame.layout.sectors[index]) else {
                        continue;
                    };
                    let Some(own) = second.block(pair.right).filter(|own| own.kept_sector == part.block) else {
                        continue;
                    };
                    for k in 0..part.dimension {
                        let factor = first.data[top.offset + part.first + k];
                        for column in 0..pair.columns {
                            wave[pair.offset + row + column * pair.rows] +=
                                factor * second.data[own.offset + column + k * own.rows];
                        }
                    }
                }
            }
        }
        Ok((kept, wave))
    }

    /// One matrix per sector of the enlarged right block of a position, from values of its tensor.
    fn site_matrices(
        &self,
        (position, tensor, values): (usize, &SiteTensor, &[f64]),
        bonds: &[BondStates],
    ) -> Result<Vec<Option<Mat<f64>>>, DmrgError> {
        let auxiliary = self.sites - self.order.len();
        let ((own, lefts), (behind, rights)) = (&bonds[position], &bonds[position + 1]);
        let enlarged = self.enlarge(Side::Right, behind, position + auxiliary + 1);
        let columns = |q: usize| own.find(enlarged.sectors.charges(q)).map_or(0, |sector| own.dimension(sector));
        let mut matrices: Vec<Option<Mat<f64>>> = (0..enlarged.sectors.len())
            .map(|q| (columns(q) > 0).then(|| Mat::zeros(enlarged.sectors.dimension(q), columns(q))))
            .collect();
        for block in &tensor.blocks {
            for (i, left) in block.left.clone().enumerate() {
                for (j, right) in block.right.clone().enumerate() {
                    let value = values[block.first + i * block.right.len() + j];
                    let ((left_sector, column), (sector, place)) = (lefts[left], rights[right]);
                    let target = enlarged
                        .place(sector, block.state)
                        .filter(|(q, _)| enlarged.sectors.charges(*q) == own.charges(left_sector));
                    match target.and_then(|(q, row)| Some((matrices[q].as_mut()?, row))) {
                        Some((matrix, row)) => matrix[(row + place, column)] = value,
                        None if value == 0.0 => {}
                        None => {
                            return Err(DmrgError::Start {
                                expected: "tensors that conserve the charges".into(),
                                found: format!("one that does not at position {position}"),
                            });
                        }
                    }
                }
            }
        }
        Ok(matrices)
    }

    /// The sectors of what is to the right of a bond, and the sector and place of each state.
    fn bond_states(&self, list: &[Vec<i32>]) -> Option<BondStates> {
        let mut counts = std::collections::BTreeMap::<Charges, usize>::new();
        let mut found = Vec::new();
        for charges in list {
            let right = self.total - self.unlisted(charges)?;
            let count = counts.entry(right).or_default();
            found.push((right, *count));
            *count += 1;
        }
        let sectors = Sectors::from_map(counts);
        let places = found.into_iter().map(|(charges, place)| Some((sectors.find(charges)?, place)));
        let places = places.collect::<Option<Vec<_>>>()?;
        Some((sectors, places))
    }
}

/// Tensors of a file are orthonormal to this.
const CANONICAL: f64 = 1e-9;
