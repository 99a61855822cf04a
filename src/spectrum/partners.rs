//! The other sectors that have states of a level by symmetry.
//!
//! In: a file in its sector, the total spin of the level where H conserves it. Out: models of the sectors. They are found from the file's
//! by what leaves H as it is: rotations of all spins, which lead to every 2Sz of the total spin; the inversion of all spins; the conjugation of a
//! real H, which takes k to −k; both at once, where neither does; the lattice's rotations and mirrors. Degeneracies without such a reason
//! are not looked for.

use crate::Error;
use crate::basis::Sector;
use crate::exact::Model;
use crate::lattice::Momenta;
use crate::operator::{Charge, Operator, SiteKind, Symmetry};
use crate::problem::LatticeProblem;
use std::collections::BTreeSet;

/// The spins of a level where H conserves the total spin: the largest 2S of its states, and 2Sz of the sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spins {
    pub(super) two_s: i64,
    pub(super) two_sz: i64,
}

/// Charges, and the momentum if there is one.
type Place = (Vec<(Charge, i64)>, Option<Vec<i64>>);

/// The sectors, beside the file's. What is not looked for stands in the warnings.
pub(super) fn partners(
    problem: &LatticeProblem,
    momentum: Option<Vec<i64>>,
    spins: Option<Spins>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Model>, Error> {
    let (file, model) = (&problem.file, &problem.model);
    let own = (model.sector().charge_values(), momentum);
    let places = reached(problem, &own, spins);
    let symmetry = file.symmetry.as_ref();
    let has_parity = symmetry.is_some_and(|symmetry| *symmetry != with_momentum(symmetry, symmetry.momentum()));
    let mut found = Vec::new();
    let mut left_out = 0;
    for (charges, k) in places.into_iter().filter(|place| *place != own) {
        // Parities and irreps may be others there.
        if symmetry.is_some() && has_parity && (charges != own.0 || !symmetry.is_some_and(Symmetry::is_of_translations))
        {
            left_out += 1;
            continue;
        }
        let plain = Model::new(file.operator(), Sector::Charges(charges))?.with_storage(file.solve.storage())?;
        let sector = match (symmetry, k) {
            (Some(symmetry), Some(k)) => plain.symmetry(&symmetry.clone().k(&k))?,
            (Some(symmetry), None) => plain.symmetry(symmetry)?,
            (None, _) => plain,
        };
        found.push(sector.named(model.name()));
    }
    if left_out > 0 {
        let sectors = if left_out == 1 { "one more sector".into() } else { format!("{left_out} more sectors") };
        warnings.push(format!(
            "the level has states in {sectors}, which are not averaged over: leave all but `k` out of [symmetry], or take average = \"sector\""
        ));
    }
    Ok(found)
}

/// The symmetry of a momentum alone, with the storage of another.
fn with_momentum(symmetry: &Symmetry, k: Option<&[i64]>) -> Symmetry {
    let plain = Symmetry::new().storage(symmetry.wanted_storage());
    k.map_or_else(|| plain.clone(), |k| plain.clone().k(k))
}

/// All places that symmetries lead to, the first among them.
fn reached(problem: &LatticeProblem, own: &Place, spins: Option<Spins>) -> BTreeSet<Place> {
    let operator = problem.file.operator().reduced();
    let (kinds, momenta) = (problem.model.site_kinds(), Momenta::new(&problem.file.lattice));
    let turns: Vec<[[i64; 2]; 2]> = match (&own.1, Symmetry::new().point_group_of(&operator, &own.0)) {
        (Some(_), Ok(group)) => group.operations().map(|operation| operation.steps).collect(),
        _ => Vec::new(),
    };
    let mut found = BTreeSet::from([own.clone()]);
    if let Some(Spins { two_s, two_sz }) = spins {
        let steps = (-two_s..=two_s).step_by(2).map(|there| (there - two_sz) / 2);
        found.extend(steps.filter_map(|steps| Some((raised(&kinds, &own.0, steps)?, own.1.clone()))));
    }
    let mut open: Vec<Place> = found.iter().cloned().collect();
    while let Some((charges, k)) = open.pop() {
        let negative = k.as_ref().map(|k| momenta.negative(k));
        let mut next: Vec<Place> = Vec::new();
        if spins.is_none() {
            next.extend(Symmetry::inverted_charges(&operator, &charges).map(|there| (there, k.clone())));
            next.extend(Symmetry::time_reversed_charges(&operator, &charges).map(|there| (there, negative.clone())));
        }
        if !operator.is_complex() {
            next.push((charges.clone(), negative));
        }
        let turned = k.iter().flat_map(|k| turns.iter().filter_map(|steps| momenta.turned(k, *steps)));
        next.extend(turned.map(|k| (charges.clone(), Some(k))));
        for place in next {
            if found.insert(place.clone()) {
                open.push(place);
            }
        }
    }
    found
}

/// The charges after so many S⁺; `None` where they do not tell 2Sz, or some sites change them otherwise than others.
fn raised(kinds: &[SiteKind], charges: &[(Charge, i64)], steps: i64) -> Option<Vec<(Charge, i64)>> {
    let raising: Vec<Operator> =
        kinds.iter().enumerate().filter_map(|(site, kind)| kind.operator("S+", site)).collect();
    let changes = |(charge, value): &(Charge, i64)| -> Option<(Charge, i64)> {
        let mut each = raising.iter().flat_map(Operator::terms).map(|(product, _)| charge.change_on(product, kinds));
        let first = each.next()?;
        each.all(|change| change == first).then(|| (*charge, charge.folded(value + steps * first)))
    };
    let moved: Vec<(Charge, i64)> = charges.iter().map(changes).collect::<Option<_>>()?;
    (steps == 0 || moved != *charges).then_some(moved)
}
