//! The additive charges that label every block: any set of U(1) charges conserved by the model.
//!
//! In: an operator, and the charges that a run fixes with their values ([`Sector`]): (N↑, N↓) of electrons, N of
//! each flavour, 2Sᶻ of local moments, numbers of bosons, or fewer, such as the number of electrons alone. Out: the charges of the whole
//! chain, after checking that the operator conserves them and the lattice can hold them. A conserved U(1) charge is a sum
//! over sites, so a block of sites has charges too, the charges of two blocks add up, and an operator is a set of dense
//! blocks from one charge to another. [`conserved`] lists the charges that an operator conserves.

use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Charge, Content, Operator, OperatorError, SiteKind, Spin};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// Number of charges in a label; charges that a run does not fix are zero.
pub(crate) const COUNT: usize = Spin::MOST_FLAVOURS;

/// A label: the values of the fixed charges, in their order, and the [irrep](super::irreps) of the particles, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Charges(
    pub [i32; COUNT],
    // Absent from checkpoints of chains without irreps.
    #[serde(default, skip_serializing_if = "is_symmetric")] pub u8,
);

fn is_symmetric(irrep: &u8) -> bool {
    *irrep == 0
}

impl Add for Charges {
    type Output = Charges;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "irreps multiply by the exclusive or of their numbers")]
    fn add(self, other: Charges) -> Charges {
        Charges(std::array::from_fn(|k| self.0[k] + other.0[k]), self.1 ^ other.1)
    }
}

impl Sub for Charges {
    type Output = Charges;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "irreps multiply by the exclusive or of their numbers")]
    fn sub(self, other: Charges) -> Charges {
        Charges(std::array::from_fn(|k| self.0[k] - other.0[k]), self.1 ^ other.1)
    }
}

impl Charges {
    /// The label of the whole chain, without an irrep.
    pub(crate) fn total(numbers: &[(Charge, i64)]) -> Charges {
        Charges(std::array::from_fn(|k| numbers.get(k).map_or(0, |(_, value)| *value as i32)), 0)
    }
}

/// The charges of a sector by the names of the operator's sites: 2Sᶻ of electrons is N↑ − N↓.
pub(crate) fn chain_sector(sector: &Sector, operator: &Operator) -> Sector {
    let mut numbers = sector.charge_values();
    if operator.content() == Content::Fermions {
        let moments = numbers.iter_mut().filter(|(charge, _)| *charge == Charge::TwoSz);
        moments.for_each(|(charge, _)| *charge = Charge::Polarisation);
    }
    Sector::Charges(numbers)
}

/// The independent U(1) charges, among those of the language, that every term of an operator conserves.
pub fn conserved_charges(operator: &Operator) -> Vec<Charge> {
    let operator = operator.reduced();
    if operator.content() == Content::Mixed {
        return conserved_on_kinds(&operator);
    }
    let keeps = |charge: &Charge| operator.terms().all(|(product, _)| charge.change(product) == 0);
    let flavours = (0..operator.flavours() as u8).map(Charge::Flavour);
    let single: Vec<Charge> = match operator.content() {
        Content::Fermions => vec![Charge::Up, Charge::Down],
        Content::Flavours => flavours.collect(),
        Content::Spins => vec![Charge::TwoSz],
        Content::Nothing | Content::Mixed => Vec::new(),
    };
    let found: Vec<Charge> = single.iter().copied().filter(keeps).collect();
    // Sums of charges that are broken one by one; with one of two kept, nothing is left in their sum.
    let sums: &[Charge] = match operator.content() {
        Content::Fermions if found.is_empty() => &[Charge::Particles, Charge::Polarisation],
        Content::Flavours if found.len() + 1 < single.len() => &[Charge::Particles],
        _ => &[],
    };
    found.iter().chain(sums.iter().filter(|charge| keeps(charge))).copied().collect()
}

/// The same on declared sites: each charge that the ones before it do not add up to.
fn conserved_on_kinds(operator: &Operator) -> Vec<Charge> {
    let kinds = operator.kinds_or_implied();
    // The value of a charge in every state of every kind of site; Gauss's steps find what is independent.
    let values = |charge: Charge| -> Vec<f64> {
        // Charges of the language are the same on each site.
        let of = |kind: &SiteKind| kind.states().map(|state| kind.charge(charge, 0, state) as f64).collect::<Vec<_>>();
        kinds.iter().flat_map(of).collect()
    };
    let (mut found, mut rows): (Vec<Charge>, Vec<(usize, Vec<f64>)>) = (Vec::new(), Vec::new());
    for charge in operator.conserved_on(&kinds).into_iter().filter(|charge| *charge != Charge::Parity) {
        let mut row = values(charge);
        for (pivot, known) in &rows {
            let factor = row[*pivot] / known[*pivot];
            row.iter_mut().zip(known).for_each(|(x, y)| *x -= factor * y);
        }
        if let Some(pivot) = row.iter().position(|x| x.abs() > 1e-9) {
            rows.push((pivot, row));
            found.push(charge);
        }
    }
    found
}

/// Checks that the operator is Hermitian and conserves the charges, and that its sites can hold them.
///
/// # Errors
/// The term and the charge it changes; a charge of another kind of site; values without a state.
pub(crate) fn check(operator: &Operator, sector: &Sector) -> Result<(), OperatorError> {
    let (numbers, charges) = (sector.charge_values(), sector.charges());
    operator.refuse_projections("DMRG")?;
    if let Some(charge) = charges.iter().copied().find(|charge| matches!(charge, Charge::OfSites(_))) {
        return Err(OperatorError::SiteSumInDmrg { charge });
    }
    operator.check(&charges)?;
    if operator.content() == Content::Mixed {
        return check_range(operator, sector);
    }
    for charge in &charges {
        check_kind(operator, *charge)?;
    }
    let sites = operator.sites();
    let empty = |reason: String| Err(OperatorError::EmptySector { sector: sector.to_string(), sites, reason });
    for (charge, value) in &numbers {
        let sites = sites as i64;
        let flavours = operator.flavours().max(2) as i64;
        let (least, most) = match charge {
            Charge::Up | Charge::Down | Charge::Flavour(_) => (0, sites),
            Charge::Particles => (0, flavours * sites),
            Charge::Polarisation => (-sites, sites),
            Charge::TwoSz => (-sites * i64::from(operator.two_s()), sites * i64::from(operator.two_s())),
            Charge::Bosons | Charge::Parity | Charge::OfSites(_) => continue,
        };
        if (least..=most).contains(value) {
            continue;
        }
        return empty(match charge {
            Charge::Up => format!("{value} up electrons need at least {value} sites"),
            Charge::Down => format!("{value} down electrons need at least {value} sites"),
            Charge::Flavour(number) => {
                format!("{value} fermions of flavour {number} need at least {value} sites, at most one per site")
            }
            Charge::TwoSz => format!("2Sz must lie between {least} and {most}"),
            other => format!("{other} must lie between {least} and {most}"),
        });
    }
    if let [(Charge::TwoSz, two_sz)] = numbers[..] {
        let most = sites as i64 * i64::from(operator.two_s());
        if (two_sz + most) % 2 != 0 {
            let parity = if most % 2 == 0 { "even" } else { "odd" };
            return empty(format!("{sites} moments of 2S = {} have {parity} 2Sz", operator.two_s()));
        }
    }
    Ok(())
}

/// Checks that declared sites can hold the charges.
fn check_range(operator: &Operator, sector: &Sector) -> Result<(), OperatorError> {
    let kinds = operator.kinds_or_implied();
    for (charge, value) in sector.charge_values() {
        if charge == Charge::Parity {
            return Err(OperatorError::ParityInDmrg);
        }
        let ends = |kind: &SiteKind| {
            let values = || kind.states().map(|state| kind.charge(charge, 0, state));
            (values().min().unwrap_or(0), values().max().unwrap_or(0))
        };
        let (least, most) = kinds.iter().map(ends).fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        if !(least..=most).contains(&value) {
            let reason = format!("{charge}{} must lie between {least} and {most}", twice(charge));
            return Err(OperatorError::EmptySector { sector: sector.to_string(), sites: kinds.len(), reason });
        }
    }
    Ok(())
}

/// What is left to say of a charge whose number is twice what its name says.
fn twice(charge: Charge) -> &'static str {
    if charge == Charge::TwoSz { ", times 2," } else { "" }
}

/// Whether the sites of the operator have this kind of charge.
fn check_kind(operator: &Operator, charge: Charge) -> Result<(), OperatorError> {
    let (expected, fits): (_, &[Content]) = match charge {
        Charge::Up | Charge::Down | Charge::Polarisation => ("electrons", &[Content::Fermions]),
        Charge::Flavour(_) => ("fermions of flavours", &[Content::Flavours]),
        Charge::Particles => ("fermions", &[Content::Fermions, Content::Flavours]),
        Charge::TwoSz => ("local moments", &[Content::Spins]),
        Charge::Bosons | Charge::Parity | Charge::OfSites(_) => ("sites of declared kinds", &[]),
    };
    let content = operator.content();
    if content == Content::Nothing || fits.contains(&content) {
        return Ok(());
    }
    let advice = match content {
        Content::Spins => "use `two_sz` in place of numbers of fermions",
        Content::Flavours => "use a number of fermions for each flavour",
        _ => "use numbers of up and down electrons",
    };
    Err(OperatorError::WrongSector { found: operator.content_name(), expected, advice })
}
