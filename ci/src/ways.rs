//! The ways to multiply by H of a molecule, a line each. A new way is a folder with a [`Way`] and a
//! [`Multiply`](eigenforge_product::Multiply), and its line here.

use super::csf::CsfWay;
use super::direct::{CoresWay, FieldsWay, SlabsWay};
use super::estimate::ProductKind;
use super::on_the_fly::{ElementTableWay, ExcitationsWay, RowByRowWay};
use super::stored::StoredWay;
use super::way::{Request, Way};
use eigenforge_product::{Fit, PlannedWay};

/// Of each kind the first that is for a space is taken.
const WAYS: [&dyn Way; 8] = [
    &CsfWay,          // a stored matrix of configuration state functions
    &StoredWay,       // a stored matrix
    &CoresWay,        // full CI by the cores of the host
    &FieldsWay,       // full CI on a card, with the fields of all β strings
    &SlabsWay,        // full CI on a card, by slabs of β strings
    &RowByRowWay,     // any other space, row by row on the cores
    &ExcitationsWay,  // a space up to a level of excitation, row by row on a card
    &ElementTableWay, // the same, with elements that one card makes once and keeps
];

/// The ways that there are, at most one of each kind, the stored matrix first; and the others for such spaces, with why not.
pub(super) fn ways(request: &Request<'_>) -> (Vec<&'static dyn Way>, Vec<PlannedWay>) {
    let (mut taken, mut others): (Vec<&dyn Way>, _) = (Vec::new(), Vec::new());
    for way in WAYS.into_iter().filter(|way| way.is_for_csfs() == request.csfs.is_some()) {
        if request.complex.is_some() && way.kind() != ProductKind::Stored {
            others.push(PlannedWay::refused(way.name(), "over complex orbitals the matrix is stored".into()));
            continue;
        }
        match way.fit(request) {
            Fit::Takes if taken.iter().all(|first| first.kind() != way.kind()) => taken.push(way),
            Fit::Takes | Fit::Foreign => {}
            Fit::Refuses(why) => others.push(PlannedWay::refused(way.name(), why)),
        }
    }
    (taken, others)
}

/// Why there is no way of a kind, if one says so.
pub(super) fn refusal(kind: ProductKind, request: &Request<'_>) -> Option<String> {
    let why = |way: &dyn Way| if let Fit::Refuses(why) = way.fit(request) { Some(why) } else { None };
    WAYS.into_iter().filter(|way| way.kind() == kind).find_map(why)
}

/// The way of a kind.
pub(super) fn way(kind: ProductKind, request: &Request<'_>) -> Option<&'static dyn Way> {
    ways(request).0.into_iter().find(|way| way.kind() == kind)
}
