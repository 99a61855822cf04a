//! The additive charges that label every block: any set of U(1) charges conserved by the model.
//!
//! In: an operator, and the charges that a run fixes with their values ([`QuantumNumbers`]): (N↑, N↓) of electrons, N of
//! each flavour, 2Sᶻ of local moments, or fewer, such as the number of electrons alone. Out: the charges of the whole
//! chain, after checking that the operator conserves them and the lattice can hold them. A conserved U(1) charge is a sum
//! over sites, so a block of sites has charges too, the charges of two blocks add up, and an operator is a set of dense
//! blocks from one charge to another. [`conserved`] lists the charges that an operator conserves.

use super::site::Site;
use crate::basis::Sector;
use crate::operator::{Charge, Content, Operator, OperatorError, Spin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Add, Sub};

/// Number of charges in a label; charges that a run does not fix are zero.
pub const COUNT: usize = Spin::MOST_FLAVOURS;

/// A label: the values of the fixed charges, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Charges(pub [i32; COUNT]);

impl Add for Charges {
    type Output = Charges;
    fn add(self, other: Charges) -> Charges {
        Charges(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Sub for Charges {
    type Output = Charges;
    fn sub(self, other: Charges) -> Charges {
        Charges(std::array::from_fn(|k| self.0[k] - other.0[k]))
    }
}

/// The charges that a run fixes, each with its value for the whole chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantumNumbers(pub Vec<(Charge, i64)>);

impl QuantumNumbers {
    /// Fixes the number of fermions of each flavour.
    pub fn flavours(numbers: &[usize]) -> QuantumNumbers {
        QuantumNumbers((0..).zip(numbers).map(|(flavour, number)| (Charge::Flavour(flavour), *number as i64)).collect())
    }

    /// The label of the whole chain.
    pub fn total(&self) -> Charges {
        Charges(std::array::from_fn(|k| self.0.get(k).map_or(0, |(_, value)| *value as i32)))
    }

    /// The charges without their values.
    pub fn charges(&self) -> Vec<Charge> {
        self.0.iter().map(|(charge, _)| *charge).collect()
    }
}

impl From<Sector> for QuantumNumbers {
    fn from(sector: Sector) -> QuantumNumbers {
        QuantumNumbers(match sector {
            Sector::Fermions { up, down } => vec![(Charge::Up, up as i64), (Charge::Down, down as i64)],
            Sector::Spins { two_sz } => vec![(Charge::TwoSz, two_sz)],
        })
    }
}

impl std::fmt::Display for QuantumNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no fixed charge");
        }
        for (place, (charge, value)) in self.0.iter().enumerate() {
            f.write_str(if place > 0 { ", " } else { "" })?;
            match charge {
                Charge::Up => write!(f, "{value} up"),
                Charge::Down => write!(f, "{value} down"),
                Charge::Flavour(number) => write!(f, "{value} of flavour {number}"),
                Charge::Particles => write!(f, "{value} fermions"),
                Charge::Polarisation => write!(f, "N_up - N_down = {value}"),
                Charge::TwoSz => write!(f, "2Sz = {value}"),
            }?;
        }
        Ok(())
    }
}

/// The independent U(1) charges, among those of the language, that every term of an operator conserves.
pub fn conserved(operator: &Operator) -> Vec<Charge> {
    let operator = operator.reduced();
    let keeps = |charge: &Charge| operator.terms().all(|(product, _)| charge.change(product) == 0);
    let flavours = (0..operator.flavours() as u8).map(Charge::Flavour);
    let single: Vec<Charge> = match operator.content() {
        Content::Fermions => vec![Charge::Up, Charge::Down],
        Content::Flavours => flavours.collect(),
        Content::Spins => vec![Charge::TwoSz],
        Content::Nothing => Vec::new(),
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

/// Checks that the operator is Hermitian and conserves the charges, and that its sites can hold them.
///
/// # Errors
/// The term and the charge it changes; a charge of another kind of site; values without a state.
pub fn check(operator: &Operator, numbers: &QuantumNumbers) -> Result<(), OperatorError> {
    let charges = numbers.charges();
    operator.check(&charges)?;
    for charge in &charges {
        check_kind(operator, *charge)?;
    }
    let sites = operator.sites();
    let empty = |reason: String| Err(OperatorError::EmptySector { sector: numbers.to_string(), sites, reason });
    for (charge, value) in &numbers.0 {
        let sites = sites as i64;
        let flavours = operator.flavours().max(2) as i64;
        let (least, most) = match charge {
            Charge::Up | Charge::Down | Charge::Flavour(_) => (0, sites),
            Charge::Particles => (0, flavours * sites),
            Charge::Polarisation => (-sites, sites),
            Charge::TwoSz => (-sites * i64::from(operator.two_s()), sites * i64::from(operator.two_s())),
        };
        if (least..=most).contains(value) {
            continue;
        }
        return empty(match charge {
            Charge::Up => format!("{value} up electrons need at least {value} sites"),
            Charge::Down => format!("{value} down electrons need at least {value} sites"),
            Charge::Flavour(number) => {
                format!("{value} fermions of flavour {number} need at least {value} sites, one a site at most")
            }
            Charge::TwoSz => format!("2Sz lies between {least} and {most}"),
            other => format!("{other} lies between {least} and {most}"),
        });
    }
    if let [(Charge::TwoSz, two_sz)] = numbers.0[..] {
        let most = sites as i64 * i64::from(operator.two_s());
        if (two_sz + most) % 2 != 0 {
            let parity = if most % 2 == 0 { "even" } else { "odd" };
            return empty(format!("{sites} moments of 2S = {} have {parity} 2Sz", operator.two_s()));
        }
    }
    Ok(())
}

/// Whether the sites of the operator have this kind of charge.
fn check_kind(operator: &Operator, charge: Charge) -> Result<(), OperatorError> {
    let (expected, fits): (_, &[Content]) = match charge {
        Charge::Up | Charge::Down | Charge::Polarisation => ("electrons", &[Content::Fermions]),
        Charge::Flavour(_) => ("fermions of flavours", &[Content::Flavours]),
        Charge::Particles => ("fermions", &[Content::Fermions, Content::Flavours]),
        Charge::TwoSz => ("local moments", &[Content::Spins]),
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

/// For every cut, the charges that the left part can have in the sector, and how many states of the whole chain have them
/// (as a fraction of the sector): the distribution at infinite temperature.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// `cuts[p]`: charge of sites 0 … p−1 → fraction; p from 0 to N.
    cuts: Vec<BTreeMap<Charges, f64>>,
    everything: bool,
    /// The fraction of all configurations that lies in the sector.
    fraction: f64,
}

impl Reachable {
    /// Counts configurations from both ends.
    pub fn new(site: &Site, sites: usize, total: Charges) -> Reachable {
        // Fractions of all configurations: numbers of states overflow, and small fractions may vanish only where a
        // charge is as good as never reached.
        let weight = 1.0 / site.dimension() as f64;
        let extreme = |pick: fn(i32, i32) -> i32| -> Charges {
            let all = site.charges().iter().copied();
            let both = |a: Charges, b: Charges| Charges(std::array::from_fn(|k| pick(a.0[k], b.0[k])));
            all.reduce(both).unwrap_or_default()
        };
        let (least, most) = (extreme(i32::min), extreme(i32::max));
        // The charges that this many sites can hold: beyond them the rest of the chain cannot reach the total.
        let holds = |sites: usize, charges: Charges| {
            let n = sites as i32;
            (0..COUNT).all(|k| (n * least.0[k]..=n * most.0[k]).contains(&charges.0[k]))
        };
        let grow = |from: &BTreeMap<Charges, f64>, sign: i32, p: usize| {
            let mut grown = BTreeMap::new();
            for (charges, fraction) in from {
                for state in site.charges() {
                    let step = if sign > 0 { *charges + *state } else { *charges - *state };
                    if holds(p, step) && holds(sites - p, total - step) {
                        *grown.entry(step).or_insert(0.0) += weight * fraction;
                    }
                }
            }
            grown
        };
        let mut left = vec![BTreeMap::from([(Charges::default(), 1.0)])];
        let mut right = vec![BTreeMap::from([(total, 1.0)])];
        for p in 0..sites {
            left.push(grow(&left[p], 1, p + 1));
            right.push(grow(&right[p], -1, sites - 1 - p));
        }
        let cut = |p: usize| {
            let (left, right) = (&left[p], &right[sites - p]);
            let both: BTreeMap<Charges, f64> = left.iter().filter_map(|(q, a)| Some((*q, a * right.get(q)?))).collect();
            let sum: f64 = both.values().sum();
            both.into_iter().map(|(q, f)| (q, if sum > 0.0 { f / sum } else { 0.0 })).collect()
        };
        let fraction = left[sites].get(&total).copied().unwrap_or(0.0);
        Reachable { cuts: (0..=sites).map(cut).collect(), everything: false, fraction }
    }

    /// Upper bound on the labels of all cuts together, from what the left part and the rest can hold of each charge.
    pub fn labels(site: &Site, sites: usize, total: Charges) -> u128 {
        let range = |k: usize| -> (i128, i128, i128) {
            let all: Vec<i128> = site.charges().iter().map(|charges| charges.0[k].into()).collect();
            let (least, most) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
            // 2Sz changes in steps of 2: the charges of a block are spaced like those of a site.
            let step = all.iter().map(|charge| charge - least).filter(|apart| *apart > 0).min().unwrap_or(1);
            (least, most, step)
        };
        let ranges: Vec<(i128, i128, i128)> = (0..COUNT).map(range).collect();
        let at = |p: usize| -> u128 {
            let (left, right) = (p as i128, (sites - p) as i128);
            let number = |(k, (least, most, step)): (usize, &(i128, i128, i128))| {
                let total = i128::from(total.0[k]);
                let low = (left * least).max(total - right * most);
                let high = (left * most).min(total - right * least);
                if high < low { 0 } else { ((high - low) / step + 1) as u128 }
            };
            ranges.iter().enumerate().map(number).fold(1u128, u128::saturating_mul)
        };
        (0..=sites).map(at).fold(0, u128::saturating_add)
    }

    /// No limit at any cut: for blocks of chains that still grow.
    pub fn everything() -> Reachable {
        Reachable { cuts: Vec::new(), everything: true, fraction: 1.0 }
    }

    /// Number of states of the chain in its sector; approximate beyond 2⁵³.
    pub fn dimension(&self, site: &Site, sites: usize) -> f64 {
        (self.fraction * (site.dimension() as f64).powi(sites as i32)).round()
    }

    /// Whether the part left of cut `p` may have these charges.
    pub fn allows(&self, p: usize, left: Charges) -> bool {
        self.everything || self.cuts[p].contains_key(&left)
    }

    /// Charges and fractions at cut `p`.
    pub fn at(&self, p: usize) -> &BTreeMap<Charges, f64> {
        &self.cuts[p]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::build;

    /// The count equals the length of the list where charges fill their ranges, and is never below it.
    #[test]
    fn labels_are_counted_before_they_are_listed() {
        for two_sz in [0, 2, -4] {
            let ring = (0..8).map(|i| build::sdots(i, (i + 1) % 8)).sum::<Operator>();
            let numbers = QuantumNumbers::from(Sector::Spins { two_sz });
            let (site, total) = (Site::of(&ring.reduced(), &numbers.charges()), numbers.total());
            let listed: usize = (0..=8).map(|p| Reachable::new(&site, 8, total).at(p).len()).sum();
            assert_eq!(Reachable::labels(&site, 8, total), listed as u128);
            assert!(Reachable::labels(&site, 1 << 20, Charges::default()) > 1 << 30);
        }
    }
}
