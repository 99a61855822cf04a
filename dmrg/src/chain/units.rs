//! The units in which a chain is solved: H = constant + Σ_k μ_k Q_k + scale · (the operator sum).
//!
//! In: an operator and the charges Q_k that a run fixes. Out: the part that is constant in the sector, removed (a
//! multiple of the identity; a potential −μN or a field h Sᶻ common to all sites), and a power of two that brings the
//! largest term of the rest into [1, 2). Where diagonal terms (penalties, a large U) are more than [`MOST_DIAGONAL`] times as large as
//! all that moves, it brings that multiple of the largest moving term into [1, 2): what such terms forbid is not seen by the state.
//! Dividing by a power of two changes no digit, so a model in joules runs through
//! the same numbers as one in units of t, and every threshold of a sweep (Davidson's residuals, changes of the energy,
//! variances) is relative to H. Energies are converted back by [`Units::energy`] for reports.
//!
//! [`Units::least`] is the smallest coupling. An energy is wanted to a part of it ([`Units::resolution`]), however large the others are, as
//! far as their rounding allows ([`Units::rounding`]).

use super::charges::Charges;
use super::terms::{Term, Terms};
use eigenforge_core::operator::{Charge, Operator, Product, SiteKind};
use eigenforge_runtime::solvers::lean::{DavidsonLimits, Precision};

/// Diagonal terms set the units up to this many times the largest moving term.
const MOST_DIAGONAL: f64 = 100.0;
/// Terms below this part of the largest are rounding.
const NOTHING: f64 = 1e-15;
/// The norm counts in a tolerance up to this many times the smallest coupling.
const MOST_NORM: f64 = 1000.0;
/// Rounding of an energy, and of a residual, in parts of the norm.
const ROUNDING: f64 = 1e-15;
/// The least distance of levels that a solve expects, in smallest couplings.
const LEAST_GAP: f64 = 20.0;
/// The error of an eigenvalue that is good to a tenth of what the tolerance of a run asks for, in squares of the residual norm that goes with it,
/// a tenth of the root of the tolerance.
const PART_OF_TOLERANCE: f64 = 10.0;
/// Where the least distance is below this part of the units, a solve may take more products, by this factor.
const MUCH_SMALLER: f64 = 0.05;
const MORE_PRODUCTS: usize = 4;

/// The conversion between the solved numbers and energies.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// A power of two.
    pub scale: f64,
    /// The multiple of the identity.
    pub constant: f64,
    /// μ_k of each charge that is fixed, in their order.
    pub shared: Vec<f64>,
    /// An upper bound of the norm of the operator sum, in units of `scale`: Σ |coefficient| Π ‖one-site operator‖.
    pub norm: f64,
    /// The largest of these terms; 0 if there are none.
    pub largest: f64,
    /// The smallest of them that is not rounding of the largest; 0 if there are none.
    pub least: f64,
    /// The energy of the constants in the sector.
    offset: f64,
}

impl Units {
    /// The size of H to which a tolerance is relative, in units of `scale`: the norm, but no more than some hundred times the smallest
    /// coupling.
    pub(crate) fn resolution(&self) -> f64 {
        let resolution = self.norm.min(MOST_NORM * self.least);
        if resolution > 0.0 { resolution } else { 1.0 }
    }

    /// The rounding of an eigenvalue of the operator sum, in units of `scale`.
    pub(crate) fn rounding(&self) -> f64 {
        ROUNDING * self.norm
    }

    /// The distance of levels that is assumed where none was seen.
    pub(crate) fn gap(&self) -> f64 {
        if self.least > 0.0 { (LEAST_GAP * self.least).min(1.0) } else { 1.0 }
    }

    /// The limits of a solve that would end at this residual norm if it were for the [resolution](Units::resolution) alone: it ends at what
    /// is enough for the norm of H, as soon as the eigenvalue is good to a tenth of the tolerance. Levels may be as close as the smallest
    /// coupling, and where that is small more products are worth their time.
    pub(crate) fn limits(&self, limits: DavidsonLimits) -> DavidsonLimits {
        let (rounding, gap) = (self.rounding(), self.gap());
        let products = if gap < MUCH_SMALLER { MORE_PRODUCTS * limits.products } else { limits.products };
        let error = (PART_OF_TOLERANCE * limits.tolerance * limits.tolerance).max(0.1 * rounding);
        let tolerance = limits.tolerance * (self.norm / self.resolution()).sqrt().max(1.0);
        DavidsonLimits { tolerance, products, precision: Some(Precision { error, gap, rounding }) }
    }

    /// The energy of an eigenvalue of the operator sum.
    pub fn energy(&self, level: f64) -> f64 {
        self.offset + self.scale * level
    }

    /// The constants minus those of `other`, in units of `scale`.
    pub(crate) fn beyond(&self, other: &Units) -> f64 {
        (self.offset - other.offset) / self.scale
    }

    /// The rounding of the constants in an energy, in the units of the model.
    pub(crate) fn rounding_of_constants(&self) -> f64 {
        2.0 * f64::EPSILON * self.offset.abs()
    }

    /// The square of an energy, such as a variance.
    pub fn square(&self, variance: f64) -> f64 {
        self.scale * variance * self.scale
    }

    /// The units of a part of the chain with these charges.
    pub(crate) fn of_part(&self, part: f64, total: Charges) -> Units {
        Units { constant: self.constant * part, ..self.clone() }.shifted(total)
    }

    /// The units in a sector.
    fn shifted(mut self, total: Charges) -> Units {
        let shared = self.shared.iter().zip(total.0).map(|(mu, charge)| mu * f64::from(charge)).sum::<f64>();
        self.offset = self.constant + shared;
        self
    }
}

/// Removes the constants of a sector from an operator; returns the rest and μ_k of each charge.
pub(crate) fn without_shared(operator: &Operator, kinds: &[SiteKind], charges: &[Charge]) -> (Operator, Vec<f64>) {
    let sites = operator.sites();
    let (mut rest, mut shared) = (operator.clone().on_sites(sites), Vec::new());
    for charge in charges {
        let carriers = carriers(kinds, *charge);
        let mu = common(carriers.iter().map(|(product, weight)| rest.coefficient(product) / weight).collect());
        if mu != 0.0 {
            for (product, weight) in &carriers {
                rest = rest - Operator::product(product) * (mu * weight);
            }
        }
        shared.push(mu);
    }
    (rest, shared)
}

/// The one-site operators, with weights, whose sum is a charge, up to a constant.
fn carriers(kinds: &[SiteKind], charge: Charge) -> Vec<(Product, f64)> {
    let of = |(site, kind): (usize, &SiteKind)| -> Vec<(Product, f64)> {
        let weight = |state: u64| (kind.charge(charge, site, state) - kind.charge(charge, site, 0)) as f64;
        kind.charge_carriers(site).into_iter().map(|(product, state)| (product, weight(state))).collect()
    };
    kinds.iter().enumerate().flat_map(of).filter(|(_, weight)| *weight != 0.0).collect()
}

/// The common part of coefficients: their median, if subtracting it leaves less than half of the largest.
fn common(mut coefficients: Vec<f64>) -> f64 {
    coefficients.sort_by(f64::total_cmp);
    let Some(median) = coefficients.get(coefficients.len() / 2).copied() else { return 0.0 };
    let largest = |of: &dyn Fn(f64) -> f64| coefficients.iter().fold(0.0f64, |most, x| most.max(of(*x).abs()));
    if largest(&|x| x - median) < 0.5 * largest(&|x| x) { median } else { 0.0 }
}

/// Brings the largest term that the units count into [1, 2) and takes their constant; `total` are the charges of the chain.
pub(crate) fn normalise(terms: &mut Terms, shared: Vec<f64>, total: Charges) -> Units {
    let scale = scale(terms);
    terms.list.iter_mut().for_each(|term| term.coefficient /= scale);
    let sizes: Vec<f64> = terms.list.iter().map(|term| terms.operators.size(term)).collect();
    let (norm, largest) = (sizes.iter().sum::<f64>(), sizes.iter().copied().fold(0.0, f64::max));
    let least = sizes.iter().copied().filter(|size| *size > NOTHING * largest).fold(largest, f64::min);
    let constant = std::mem::take(&mut terms.constant);
    Units { scale, constant, shared, norm, largest, least, offset: 0.0 }.shifted(total)
}

/// A power of two: the largest term, or [`MOST_DIAGONAL`] times the largest that moves.
fn scale(terms: &Terms) -> f64 {
    let largest_of =
        |list: &mut dyn Iterator<Item = &Term>| list.map(|term| terms.operators.size(term)).fold(0.0, f64::max);
    let largest = largest_of(&mut terms.list.iter());
    let moving = largest_of(&mut terms.list.iter().filter(|term| terms.operators.moves(term)));
    let unit = if moving > NOTHING * largest { largest.min(MOST_DIAGONAL * moving) } else { largest };
    // At the limits of f64's exponent, 2^±1000 is close enough.
    let exponent = if unit > 0.0 { unit.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
    exponent.exp2()
}
