//! H of a symmetry sector by strings: its plan for devices, with the tables.

use super::super::SymmetricSector;
use super::{HostStrings, Strings};
use crate::exact::stored::StoredHamiltonian;
use crate::exact::structure::{ListedTerms, diagonal};
use crate::operator::{DiagonalTerm, OperatorError, Spin};
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::StringsPlan;
use eigenforge_templates::{ScalarType, Warp};
use std::sync::Arc;

/// The multiply of electrons in a symmetry sector by strings of each spin.
#[derive(Clone)]
pub struct StringRows {
    plan: Arc<StringsPlan>,
    host: HostStrings,
    sector: Arc<SymmetricSector>,
}

impl StringRows {
    /// H with a multiple of 1 added; `None` where words are not by species, or terms move both spins.
    pub(in crate::exact) fn new(
        name: &str,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<StringRows> {
        let sector = terms.symmetric.clone()?;
        let strings = sector.strings()?.clone();
        let on_diagonal: Vec<DiagonalTerm> = terms.diagonal.iter().map(|term| term.clone().narrow()).collect();
        let mut diagonal = diagonal(&on_diagonal, &sector.word);
        diagonal.constant += shift;
        let Strings { sites, states, index_bits, .. } = *strings;
        let low = sector.layout().low_species();
        let plan = StringsPlan {
            name: name.into(),
            scalar,
            warp: Warp::default(),
            sites,
            outer: if low == Some(Spin::Up) { "down" } else { "up" }.into(),
            elements: strings.actions.elements() as u64,
            rows: strings.rows.len() as u64,
            strings: strings.numbers.len() as u64,
            index_bits,
            hops: strings.hops.len() as u64,
            inner_words: strings.inner.sliced(Warp::default()),
            inner_factors: strings.inner.factors.len() as u64,
            classes: strings.classes.len() as u64,
            class_strings: strings.classes.iter().map(|class| class.strings.len() as u64).sum(),
            class_factors: strings.class_factors.len() as u64,
            states,
            words: sector.plain(),
            moves: strings.moves(),
            complex: sector.complex,
            diagonal: diagonal.clone(),
            sources,
        };
        let host = HostStrings { strings, diagonal };
        Some(StringRows { plan: Arc::new(plan), host, sector })
    }

    /// The first place of what a block of the kernel makes; of the block behind the last the end.
    pub(in crate::exact) fn place_of_block(&self, block: u64, threads: u64) -> u64 {
        let (strings, pieces) = (self.strings(), self.plan.strings.div_ceil(threads).max(1));
        let start = |row: u64| strings.rows.get(row as usize).map_or(self.plan.states, |row| u64::from(row.start));
        let (row, piece) = (block / pieces, block % pieces);
        (start(row) + piece * threads).min(start(row + 1))
    }

    /// H as a stored matrix after all, of states in the same order.
    ///
    /// # Errors
    /// No room for it.
    pub fn stored(&self) -> Result<StoredHamiltonian, OperatorError> {
        self.sector.check_matrix()?;
        let (plan, complex) = (&self.plan, self.plan.complex);
        let elements = (plan.moves + plan.states) * if complex { 4 } else { 1 };
        let row = |row: u64, elements: &mut Vec<(u32, f64)>| self.host.row(row, complex, elements);
        StoredHamiltonian::of_rows(&plan.name, plan.scalar, [plan.dimension(), elements], row)
    }

    /// A vector in the order of the basis of [`Model::working`](crate::exact::Model::working).
    pub fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        self.strings().in_basis_order(vector)
    }

    /// The plan.
    pub fn plan(&self) -> &StringsPlan {
        &self.plan
    }

    /// The same for a device with warps of this width.
    pub(in crate::exact) fn set_warp(&mut self, warp: Warp) {
        if self.plan.warp != warp {
            let inner_words = self.strings().inner.sliced(warp);
            let plan = Arc::make_mut(&mut self.plan);
            (plan.warp, plan.inner_words) = (warp, inner_words);
        }
    }

    /// The multiply on the host.
    pub(in crate::exact) fn host(&self) -> &HostStrings {
        &self.host
    }

    /// The tables.
    pub(super) fn strings(&self) -> &Strings {
        &self.host.strings
    }

    /// A bound of the norm of the moving part.
    pub(in crate::exact) fn moves_bound(&self) -> f64 {
        self.strings().norm_bound()
    }
}
