//! The additive charges that label every block: (N↑, N↓) of electrons, 2Sᶻ of local moments.
//!
//! In: an operator and a sector. Out: the charges of the whole chain, once the operator is known to conserve them and
//! the lattice to hold them. A conserved U(1) charge is a sum over sites, so a block of sites has charges too, those of
//! two blocks add up, and an operator is a set of dense blocks from one charge to another.

use super::site::Site;
use crate::basis::Sector;
use crate::operator::{Charge, Content, Operator, OperatorError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Add, Sub};

/// How many charges a label holds: electrons use both, moments the first.
pub const COUNT: usize = 2;

/// A label: (N↑, N↓), or (2Sᶻ, 0).
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

impl Charges {
    /// The charges of a sector.
    pub fn of(sector: Sector) -> Charges {
        match sector {
            Sector::Fermions { up, down } => Charges([up as i32, down as i32]),
            Sector::Spins { two_sz } => Charges([two_sz as i32, 0]),
        }
    }
}

/// Checks that the operator is Hermitian, conserves the charges of the sector, and that its sites can hold them.
///
/// # Errors
/// The term and the charge it changes; a sector of the other kind; a sector without a state.
pub fn check(operator: &Operator, sector: Sector) -> Result<(), OperatorError> {
    let conserved: &[Charge] = match sector {
        Sector::Fermions { .. } => &[Charge::Up, Charge::Down],
        Sector::Spins { .. } => &[Charge::TwoSz],
    };
    operator.check(conserved)?;
    let found = operator.content_name();
    match (sector, operator.content()) {
        (Sector::Fermions { .. }, Content::Spins) => {
            let advice = "use `two_sz` in place of numbers of electrons";
            return Err(OperatorError::WrongSector { found, expected: "fermions", advice });
        }
        (Sector::Spins { .. }, Content::Fermions) => {
            let advice = "use numbers of up and down electrons in place of `two_sz`";
            return Err(OperatorError::WrongSector { found, expected: "local moments", advice });
        }
        _ => {}
    }
    let sites = operator.sites();
    let empty = |reason: String| Err(OperatorError::EmptySector { sector: sector.to_string(), sites, reason });
    match sector {
        Sector::Fermions { up, down } => {
            for (number, name) in [(up, "up"), (down, "down")] {
                if number > sites {
                    return empty(format!("{number} {name} electrons need at least {number} sites"));
                }
            }
        }
        Sector::Spins { two_sz } => {
            let most = sites as i64 * i64::from(operator.two_s());
            if two_sz.abs() > most {
                return empty(format!("2Sz lies between -{most} and {most}"));
            }
            if (two_sz + most) % 2 != 0 {
                let parity = if most % 2 == 0 { "even" } else { "odd" };
                return empty(format!("{sites} moments of 2S = {} have {parity} 2Sz", operator.two_s()));
            }
        }
    }
    Ok(())
}

/// For every cut of the chain the charges that its left part can have in the sector, and how many states of the whole
/// chain have them there (as a fraction of the sector): what infinite temperature would give.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// `cuts[p]`: charge of sites 0 … p−1 → fraction; p from 0 to N.
    cuts: Vec<BTreeMap<Charges, f64>>,
}

impl Reachable {
    /// Counts configurations from both ends.
    pub fn new(site: &Site, sites: usize, total: Charges) -> Reachable {
        // Fractions of all configurations: numbers of states overflow, and small fractions may vanish only where a
        // charge is as good as never reached.
        let weight = 1.0 / site.dimension() as f64;
        let grow = |from: &BTreeMap<Charges, f64>, sign: i32| {
            let mut grown = BTreeMap::new();
            for (charges, fraction) in from {
                for state in site.charges() {
                    let step = if sign > 0 { *charges + *state } else { *charges - *state };
                    *grown.entry(step).or_insert(0.0) += weight * fraction;
                }
            }
            grown
        };
        let mut left = vec![BTreeMap::from([(Charges::default(), 1.0)])];
        let mut right = vec![BTreeMap::from([(total, 1.0)])];
        for p in 0..sites {
            left.push(grow(&left[p], 1));
            right.push(grow(&right[p], -1));
        }
        let cut = |p: usize| {
            let (left, right) = (&left[p], &right[sites - p]);
            let both: BTreeMap<Charges, f64> = left.iter().filter_map(|(q, a)| Some((*q, a * right.get(q)?))).collect();
            let sum: f64 = both.values().sum();
            both.into_iter().map(|(q, f)| (q, if sum > 0.0 { f / sum } else { 0.0 })).collect()
        };
        Reachable { cuts: (0..=sites).map(cut).collect() }
    }

    /// Whether the part left of cut `p` may have these charges.
    pub fn allows(&self, p: usize, left: Charges) -> bool {
        self.cuts[p].contains_key(&left)
    }

    /// Charges and fractions at cut `p`.
    pub fn at(&self, p: usize) -> &BTreeMap<Charges, f64> {
        &self.cuts[p]
    }
}
