//! A symmetry sector of electrons on words by species, in which it is multiplied by strings, or on pairs of them (`super::super::pairs`).
//!
//! In: a sector in the order of sites, which users see. Out: the same sector on words with the strings of one spin above those of the
//! other, and the way back for vectors; none where neither multiply is for it: another kind of site, a group that exchanges the
//! spins and has other elements, terms that move electrons of both, tables that are larger than some vectors, a matrix that is to be stored.

use super::super::{SymmetricSector, moving, pairs};
use super::by_halves;
use crate::model::Model;
use eigenforge_core::basis::count;
use eigenforge_core::operator::{Charge, SiteKind, SiteLayout, Spin};
use eigenforge_runtime::Scalar;
use num_complex::Complex64;
use rayon::prelude::*;

/// Most strings of a spin.
const MOST_STRINGS: u64 = 1 << 27;
/// Bytes that tables may take in any sector, and in large ones beside each state.
const SMALL_TABLES: u64 = 1 << 28;
const BYTES_OF_A_STATE: u64 = 16;

/// A model of a symmetry sector in the order of strings.
#[derive(Debug)]
pub(crate) struct ByStrings {
    /// The model that is solved.
    pub(crate) model: Model,
    /// The same without the symmetry, where states are pairs of strings.
    whole: Option<Model>,
}

/// The spin whose strings stand in the rows' lists: that with more of them; `None` where the sector is not for strings.
fn low_species(user: &Model, sector: &SymmetricSector, charges: &[(Charge, i64)]) -> Option<Spin> {
    let layout = sector.layout();
    let sites = layout.kinds().len();
    let alone = layout.kinds().iter().all(|kind| *kind == SiteKind::Electrons);
    let exchanged = sector.group.elements.iter().any(|element| element.electrons);
    let number = |charge: Charge| charges.iter().find(|(own, _)| *own == charge).map(|(_, number)| *number as usize);
    let [up, down] = [number(Charge::Up)?, number(Charge::Down)?].map(|number| count(sites, number));
    let as_pairs = pairs::are_for(&sector.group, user.operator(), layout, charges, sector.storage);
    let fits = alone
        && (!exchanged || as_pairs)
        && charges.len() == 2
        && layout.forbidden().is_empty()
        && layout.bits() <= u64::BITS;
    let images = (sector.group.elements.len() + sites + 2) as u64;
    let bytes = up.max(down).saturating_mul(4 * images);
    let room = SMALL_TABLES + BYTES_OF_A_STATE * sector.orbits.states();
    (fits && up.max(down) <= MOST_STRINGS && bytes <= room).then_some(if up > down { Spin::Up } else { Spin::Down })
}

impl ByStrings {
    pub(crate) fn new(user: &Model) -> Option<ByStrings> {
        let fits = |sector: &&SymmetricSector| sector.makes_rows() && !sector.asks_for_table();
        let sector = user.symmetric().filter(fits).filter(|sector| !sector.group.conjugates())?;
        let charges = user.sector().charge_values();
        let layout = SiteLayout::new(sector.layout().kinds()).by_species(low_species(user, sector, &charges)?);
        by_halves(&moving(user.operator().terms(), &layout), layout.kinds().len() as u32)?;
        let model = user.in_sector(sector.group.clone(), layout, sector.storage, false).ok()?;
        let on_pairs = pairs::is_exchange(&sector.group);
        if on_pairs && model.symmetric().and_then(SymmetricSector::pairs).is_none() {
            return None;
        }
        // Its states without the exchange, in which averages are taken.
        let whole = if on_pairs { Some(user.without_symmetry().ok()?) } else { None };
        Some(ByStrings { model, whole })
    }

    /// The model of whose states averages are taken.
    pub(crate) fn averaged(&self) -> &Model {
        self.whole.as_ref().unwrap_or(&self.model)
    }

    /// A vector that is multiplied by strings, or on pairs of them, as one of [`ByStrings::averaged`]; `None` where it is in that order.
    pub(crate) fn to_average<T: Scalar>(&self, vector: &[T]) -> Option<Vec<T>> {
        if let Some(pairs) = self.model.symmetric().and_then(SymmetricSector::pairs) {
            return Some(pairs.without_symmetry(vector));
        }
        let strings = self.model.symmetric().and_then(SymmetricSector::strings)?;
        Some(strings.in_basis_order(vector))
    }

    /// A vector of the model in the order of the user's states.
    pub(crate) fn vector<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<T> {
        if let Some(pairs) = self.model.symmetric().and_then(SymmetricSector::pairs) {
            let state_of = |word| pairs.state_of(word as u64).map(|(place, factor)| (place, factor.into()));
            return self.moved(user, vector, state_of);
        }
        let Some(strings) = self.model.symmetric().and_then(SymmetricSector::strings) else {
            // Multiplied in another way, and not by strings: states are found in their list.
            return self.by_list(user, vector);
        };
        self.moved(user, vector, |word| strings.state_of(word as u64))
    }

    fn by_list<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<T> {
        let Some(sector) = self.model.symmetric() else { unreachable!("made of one") };
        sector.orbits.prepare();
        let state_of = |word: u128| {
            let reached = sector.orbits.actions().reached(word);
            let place = sector.orbits.index(reached.word)? as usize;
            Some((place, reached.factor.conj()))
        };
        self.moved(user, vector, state_of)
    }

    /// Each of the user's elements by the place of its state here and its factor.
    fn moved<T: Scalar>(
        &self,
        user: &Model,
        vector: &[T],
        state_of: impl Fn(u128) -> Option<(usize, Complex64)> + Sync,
    ) -> Vec<T> {
        let (Some(own), Some(there)) = (user.symmetric(), self.model.symmetric()) else {
            unreachable!("both are symmetry sectors")
        };
        own.orbits.prepare();
        let states = own.states();
        let element = |state: usize| {
            let word = there.layout().word(&own.layout().configuration(own.orbits.words()[state]));
            // Both orders have the same orbits.
            let Some((place, factor)) = state_of(word) else { return Complex64::new(f64::NAN, f64::NAN) };
            let im = vector.get(place + states).map_or(0.0, |im| im.to_f64());
            factor * Complex64::new(vector[place].to_f64(), im)
        };
        let elements: Vec<Complex64> = (0..states).into_par_iter().map(element).collect();
        let re = elements.iter().map(|element| T::from_f64(element.re));
        match vector.len() == states {
            true => re.collect(),
            false => re.chain(elements.iter().map(|element| T::from_f64(element.im))).collect(),
        }
    }
}
