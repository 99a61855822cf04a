//! The ways to multiply by H of a molecule, a line each. A new way is a folder with a [`Way`] and a
//! [`Multiply`](eigenforge_product::Multiply), and its line here.

use super::csf::{CsfDirectWay, CsfWay};
use super::direct::{CoresWay, FieldsWay, SlabsWay};
use super::estimate::ProductKind;
use super::on_the_fly::{ElementTableWay, ExcitationsWay, RowByRowWay};
use super::stored::StoredWay;
use super::way::{Request, Way};
use eigenforge_product::{Fit, PlannedWay};

/// Of each kind the first that is for a space is taken, after the stored matrix; with the name of that of the functions made of determinants.
const OF_DETERMINANTS: [(&dyn Way, &str); 6] = [
    (&CoresWay, "functions by groups of strings on the cores"), // full CI by the cores of the host
    (&FieldsWay, "functions by strings, by fields"),            // full CI on a card, with the fields of all β strings
    (&SlabsWay, "functions by strings, by slabs of fields"),    // full CI on a card, by slabs of β strings
    (&RowByRowWay, "functions by rows on the cores"),           // any other space, row by row on the cores
    (&ExcitationsWay, "functions by rows"), // a space up to a level of excitation, row by row on a card
    (&ElementTableWay, "functions by a table of elements"), // the same, with elements that one card makes once and keeps
];

/// The same ways of configuration state functions, which are multiplied as determinants.
static OF_FUNCTIONS: [CsfDirectWay; OF_DETERMINANTS.len()] = [
    functions_by(OF_DETERMINANTS[0]),
    functions_by(OF_DETERMINANTS[1]),
    functions_by(OF_DETERMINANTS[2]),
    functions_by(OF_DETERMINANTS[3]),
    functions_by(OF_DETERMINANTS[4]),
    functions_by(OF_DETERMINANTS[5]),
];

const fn functions_by((determinants, name): (&'static dyn Way, &'static str)) -> CsfDirectWay {
    CsfDirectWay { determinants, name }
}

/// The ways that there are, at most one of each kind, the stored matrix first; and the others for such spaces, with why not.
pub(super) fn ways(request: &Request<'_>) -> (Vec<&'static dyn Way>, Vec<PlannedWay>) {
    let (mut taken, mut others): (Vec<&dyn Way>, _) = (Vec::new(), Vec::new());
    for way in of_basis(request) {
        match way.fit(request) {
            Fit::Takes if taken.iter().all(|first| first.kind() != way.kind()) => taken.push(way),
            Fit::Takes | Fit::Foreign => {}
            Fit::Refuses(why) | Fit::Declines(why) => others.push(PlannedWay::refused(way.name(), why)),
        }
    }
    (taken, others)
}

/// Those for determinants, or those for configuration state functions.
fn of_basis(request: &Request<'_>) -> impl Iterator<Item = &'static dyn Way> {
    let is_of_csfs = request.csfs.is_some();
    let stored: &dyn Way = if is_of_csfs { &CsfWay } else { &StoredWay };
    let determinants = OF_DETERMINANTS.into_iter().map(|(way, _)| way).filter(move |_| !is_of_csfs);
    let functions = OF_FUNCTIONS.iter().map(|way| way as &dyn Way).filter(move |_| is_of_csfs);
    std::iter::once(stored).chain(determinants).chain(functions)
}

/// Why there is no way of a kind, if one says so.
pub(super) fn refusal(kind: ProductKind, request: &Request<'_>) -> Option<String> {
    let why = |way: &dyn Way| if let Fit::Refuses(why) = way.fit(request) { Some(why) } else { None };
    of_basis(request).filter(|way| way.kind() == kind).find_map(why)
}

/// The way of a kind.
pub(super) fn way(kind: ProductKind, request: &Request<'_>) -> Option<&'static dyn Way> {
    ways(request).0.into_iter().find(|way| way.kind() == kind)
}

#[cfg(test)]
mod tests;
