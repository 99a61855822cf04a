//! H of a symmetry sector by strings: its plan for devices, with the tables.

use super::{HostStrings, Strings};
use crate::basis::Basis;
use crate::exact::stored::StoredHamiltonian;
use crate::exact::structure::{ListedTerms, diagonal};
use crate::operator::{DiagonalTerm, OperatorError, Spin};
use eigenforge_runtime::Device;
use eigenforge_templates::exact::StringsPlan;
use eigenforge_templates::{ScalarType, Warp};
use std::sync::Arc;

/// The multiply of electrons in a symmetry sector by strings of each spin.
#[derive(Clone)]
pub struct StringRows {
    plan: Arc<StringsPlan>,
    host: HostStrings,
    basis: Basis,
    terms: ListedTerms,
    shift: f64,
}

impl StringRows {
    /// H with a multiple of 1 added; `None` where words are not by species, or terms move both spins.
    pub(in crate::exact) fn new(
        name: &str,
        basis: &Basis,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<StringRows> {
        let sector = terms.symmetric.as_ref()?;
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
            strings: strings.words.len() as u64,
            index_bits,
            hops: strings.hops.len() as u64,
            inner_words: strings.inner.sliced(Warp::default()),
            inner_factors: strings.inner.factors.len() as u64,
            classes: strings.classes.len() as u64,
            class_strings: strings.classes.iter().map(|class| class.strings.len() as u64).sum(),
            class_factors: strings.class_factors.len() as u64,
            states,
            moves: strings.moves(),
            complex: sector.complex,
            diagonal: diagonal.clone(),
            sources,
        };
        let host = HostStrings { strings, diagonal };
        Some(StringRows { plan: Arc::new(plan), host, basis: basis.clone(), terms: terms.clone(), shift })
    }

    /// H as a stored matrix after all.
    ///
    /// # Errors
    /// No room for it.
    pub(in crate::exact) fn stored(&self) -> Result<StoredHamiltonian, OperatorError> {
        StoredHamiltonian::new(&self.plan.name, &self.basis, &self.terms, self.plan.scalar, self.shift)
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

    /// Whether this device multiplies by strings, or a matrix is stored instead: on several cards.
    pub(in crate::exact) fn run_on(&self, device: &Device) -> bool {
        let may_store = self.terms.symmetric.as_ref().is_none_or(|sector| sector.may_store());
        !may_store || !device.runs_kernels() || device.cards_at_work() == 1
    }
}
