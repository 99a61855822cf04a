//! H of a symmetry sector by rows that are made as they are multiplied: its plan for devices, and the multiply on the host.

use super::torus::Torus;
use super::{SymmetricSector, Transition};
use crate::basis::{Basis, LinTables};
use crate::exact::stored::StoredHamiltonian;
use crate::exact::structure::{ListedTerms, by_flip, diagonal, sizes_of};
use crate::operator::{DiagonalTerm, OperatorError, SiteLayout};
use eigenforge_runtime::{Device, Scalar};
use eigenforge_templates::exact::{SymmetryPlan, TableSizes};
use eigenforge_templates::{ScalarType, Warp};
use num_complex::Complex64;
use rayon::prelude::*;
use std::sync::Arc;

/// Rows a task works on, so that the number of threads changes no bit.
const ROWS: usize = 1 << 10;

/// The multiply of a symmetry sector without a stored matrix.
#[derive(Clone)]
pub struct SectorRows {
    plan: Arc<SymmetryPlan>,
    host: HostRows,
}

impl SectorRows {
    /// Rows of H with a multiple of 1 added; `None` where no kernel makes them: words of more than 64 bits, states that are left out,
    /// groups that are not solvable, very long operators.
    pub(in crate::exact) fn new(
        name: &str,
        basis: &Basis,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<SectorRows> {
        let sector = terms.symmetric.clone()?;
        let (walk, layout, bits) = (sector.walk()?, sector.layout(), sector.layout().bits());
        let moves = |imaginary: bool| {
            let own = sector.moves.iter().filter(|(_, times_i)| *times_i == imaginary);
            let own: Vec<Transition> = own.map(|(transition, _)| transition.narrow()).collect();
            by_flip(&own)
        };
        let (groups, imaginary) = (moves(false), moves(true));
        if !SymmetryPlan::is_short(&walk.steps, &groups, &imaginary) {
            return None;
        }
        let on_diagonal: Vec<DiagonalTerm> = terms.diagonal.iter().map(|term| term.clone().narrow()).collect();
        let mut diagonal = diagonal(&on_diagonal, &sector.word);
        diagonal.constant += shift;
        let tables = sector.orbits.plain().own_tables()?;
        let TableSizes { low_bits, parts, low_states, high_parts } = sizes_of(tables);
        let plan = SymmetryPlan {
            name: name.into(),
            scalar,
            warp: Warp::default(),
            bits,
            low_bits,
            parts,
            low_states,
            high_parts,
            words: tables.dimension(),
            ranks: ranks(layout, tables, bits, walk.mixes),
            states: sector.orbits.states(),
            complex: sector.complex,
            extremes: [0, u64::MAX >> (u64::BITS - bits)].iter().any(|word| tables.checked_index(*word).is_some()),
            characters: sector.group.characters().iter().any(|character| (character - 1.0).norm() > 1e-12),
            fermions: layout.digits().iter().any(|digit| digit.mode.is_some()),
            steps: walk.steps.clone(),
            torus: walk.torus.as_ref().map(|torus| torus.rows.clone()),
            diagonal,
            groups,
            imaginary,
            sources,
        };
        let host = HostRows { sector, basis: basis.clone(), diagonal: terms.diagonal.clone(), shift };
        Some(SectorRows { plan: Arc::new(plan), host })
    }

    /// H as a stored matrix after all.
    ///
    /// # Errors
    /// No room for it.
    pub(in crate::exact) fn stored(&self) -> Result<StoredHamiltonian, OperatorError> {
        let HostRows { sector, basis, diagonal, shift } = &self.host;
        let terms = ListedTerms { diagonal: diagonal.clone(), moves: Vec::new(), symmetric: Some(sector.clone()) };
        StoredHamiltonian::new(&self.plan.name, basis, &terms, self.plan.scalar, *shift)
    }

    /// The plan.
    pub fn plan(&self) -> &SymmetryPlan {
        &self.plan
    }

    /// The same for a device with warps of this width.
    pub(in crate::exact) fn set_warp(&mut self, warp: Warp) {
        if self.plan.warp != warp {
            Arc::make_mut(&mut self.plan).warp = warp;
        }
    }

    /// The rows on the host.
    pub(in crate::exact) fn host(&self) -> &HostRows {
        &self.host
    }

    /// The ranks of the sector without symmetry.
    pub(super) fn tables(&self) -> &LinTables {
        let tables = self.host.sector.orbits.plain().own_tables();
        tables.unwrap_or_else(|| unreachable!("the plan is made of them"))
    }

    /// The tables of the rows of a torus.
    pub(super) fn torus(&self) -> Option<&Torus> {
        self.host.sector.walk()?.torus.as_ref()
    }

    /// The number in the group of each element of the plan's walk.
    fn order(&self) -> &[usize] {
        self.host.sector.walk().map_or(&[], |walk| &walk.order)
    }

    /// Whether this device makes the rows, or a matrix is stored instead: on CPU cores, which are slower without, where it fits.
    pub(in crate::exact) fn are_made_on(&self, device: &Device) -> bool {
        let sector = &self.host.sector;
        device.runs_kernels() || !sector.may_store() || sector.check_matrix().is_err()
    }

    /// The characters of the walk's elements, and of complex vectors their imaginary parts after them.
    pub(super) fn characters(&self) -> Vec<f64> {
        let all = self.host.sector.group.characters();
        let part =
            |of: fn(&Complex64) -> f64| self.order().iter().map(|number| of(&all[*number])).collect::<Vec<f64>>();
        let imaginary = if self.plan.complex { part(|character| character.im) } else { Vec::new() };
        [part(|character| character.re), imaginary].concat()
    }

    /// Of each element of the walk and each bit, the bits that change the sign together with it: those that the element takes from behind
    /// to before it, and itself if it does so alone.
    pub(super) fn later(&self) -> Vec<u64> {
        let (bits, actions) = (self.plan.bits as usize, self.host.sector.orbits.actions());
        let mut table = vec![0; bits * self.order().len()];
        for (number, own) in self.order().iter().zip(table.chunks_exact_mut(bits)) {
            for (bit, later) in actions.inverted(*number) {
                own[bit.trailing_zeros() as usize] = *later as u64;
            }
        }
        table
    }
}

/// How many words of the sector may be representatives: where all bits can be moved to the highest and no state has all bits set, the
/// least word of an orbit has a zero there.
fn ranks(layout: &SiteLayout, tables: &LinTables, bits: u32, mixes: bool) -> u64 {
    let all = u64::MAX >> (u64::BITS - bits);
    let has_zero = layout.digits().iter().all(|digit| digit.top == 1) && tables.checked_index(all).is_none();
    if !mixes || !has_zero || tables.low_bits >= bits {
        return tables.dimension();
    }
    let top = bits - 1 - tables.low_bits;
    let first = tables.parts.iter().find(|part| part.high >> top & 1 == 1);
    first.map_or(tables.dimension(), |part| part.start)
}

/// The multiply on the host.
#[derive(Clone)]
pub(in crate::exact) struct HostRows {
    sector: Arc<SymmetricSector>,
    basis: Basis,
    diagonal: Vec<DiagonalTerm<u128>>,
    shift: f64,
}

impl HostRows {
    /// The sector.
    pub(in crate::exact) fn sector(&self) -> &SymmetricSector {
        &self.sector
    }

    /// The same with the list of states.
    pub(in crate::exact) fn listed(&self) -> HostRows {
        self.sector.orbits.prepare();
        self.clone()
    }

    /// y = H x; returns xᵀy.
    pub(in crate::exact) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let states = self.sector.states();
        let (x_re, x_im) = x.split_at(states);
        let (y_re, y_im) = y.split_at_mut(states);
        // H is Hermitian: a row is the conjugate of a column.
        let row = |state: usize| {
            let column = self.sector.column(&self.basis, &self.diagonal, self.shift, state);
            column.into_iter().map(|(to, value)| (to as usize, value.conj()))
        };
        let dots: Vec<f64> = if x_im.is_empty() {
            let task = |(k, y): (usize, &mut [T])| {
                let of_row = |(place, y): (usize, &mut T)| {
                    let state = k * ROWS + place;
                    let sum: f64 = row(state).map(|(to, value)| value.re * x_re[to].to_f64()).sum();
                    *y = T::from_f64(sum);
                    sum * x_re[state].to_f64()
                };
                y.iter_mut().enumerate().map(of_row).sum()
            };
            y_re.par_chunks_mut(ROWS).enumerate().map(task).collect()
        } else {
            let at = |state: usize| Complex64::new(x_re[state].to_f64(), x_im[state].to_f64());
            let task = |(k, (re, im)): (usize, (&mut [T], &mut [T]))| {
                let of_row = |(place, (re, im)): (usize, (&mut T, &mut T))| {
                    let state = k * ROWS + place;
                    let sum: Complex64 = row(state).map(|(to, value)| value * at(to)).sum();
                    (*re, *im) = (T::from_f64(sum.re), T::from_f64(sum.im));
                    (sum * at(state).conj()).re
                };
                re.iter_mut().zip(im).enumerate().map(of_row).sum()
            };
            y_re.par_chunks_mut(ROWS).zip(y_im.par_chunks_mut(ROWS)).enumerate().map(task).collect()
        };
        dots.iter().sum()
    }

    /// The elements of y from `first` on, of a whole x; returns their part of xᵀy.
    pub(in crate::exact) fn apply_part<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let states = self.sector.states();
        let (x_re, x_im) = x.split_at(states);
        let task = |(k, y): (usize, &mut [T])| -> f64 {
            let of_row = |(place, y): (usize, &mut T)| {
                let index = first + k * ROWS + place;
                let column = self.sector.column(&self.basis, &self.diagonal, self.shift, index % states);
                let column = column.into_iter().map(|(to, value)| (to as usize, value.conj()));
                let element = |(to, value): (usize, Complex64)| {
                    let re = x_re[to].to_f64();
                    match (index < states, x_im.get(to).map_or(0.0, |x| x.to_f64())) {
                        (true, im) => value.re * re - value.im * im,
                        (false, im) => value.re * im + value.im * re,
                    }
                };
                let sum: f64 = column.map(element).sum();
                *y = T::from_f64(sum);
                sum * x[index].to_f64()
            };
            y.iter_mut().enumerate().map(of_row).sum()
        };
        y.par_chunks_mut(ROWS).enumerate().map(task).collect::<Vec<f64>>().iter().sum()
    }

    /// The diagonal element of an index.
    pub(in crate::exact) fn diagonal(&self, index: usize) -> f64 {
        let word = self.basis.state((index % self.sector.states()) as u64);
        self.shift + self.diagonal.iter().map(|term| term.value(word, &self.sector.word)).sum::<f64>()
    }
}
