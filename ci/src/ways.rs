//! The ways to multiply by H of a molecule, a line each. A new way is a folder with a [`Way`] and a
//! [`Multiply`](eigenforge_product::Multiply), and its line here.

use super::direct::{CoresWay, FieldsWay, SlabsWay};
use super::estimate::ProductKind;
use super::on_the_fly::{ExcitationsWay, RowByRowWay};
use super::stored::StoredWay;
use super::way::{Request, Way};

/// Of each kind the first that is for a space is taken.
const WAYS: [&dyn Way; 6] = [
    &StoredWay,      // a stored matrix
    &CoresWay,       // full CI by the cores of the host
    &FieldsWay,      // full CI on a card, with the fields of all β strings
    &SlabsWay,       // full CI on a card, by slabs of β strings
    &RowByRowWay,    // any other space, row by row on the cores
    &ExcitationsWay, // a space up to a level of excitation, row by row on a card
];

/// The ways that there are, at most one of each kind, the stored matrix first.
pub(super) fn ways(request: &Request<'_>) -> impl Iterator<Item = &'static dyn Way> {
    let kinds = [ProductKind::Stored, ProductKind::Direct];
    kinds.into_iter().filter_map(|kind| way(kind, request))
}

/// The way of a kind.
pub(super) fn way(kind: ProductKind, request: &Request<'_>) -> Option<&'static dyn Way> {
    WAYS.into_iter().find(|way| way.kind() == kind && way.is_for(request))
}
