//! The units in which a chain is solved: H = constant + Σ_k μ_k Q_k + scale · (the operator sum).
//!
//! In: an operator and the charges Q_k that a run fixes. Out: the part that is constant in the sector, removed (a
//! multiple of the identity; a potential −μN or a field h Sᶻ common to all sites), and a power of two that brings the
//! largest term of the rest into [1, 2). Dividing by a power of two changes no digit, so a model in joules runs through
//! the same numbers as one in units of t, and every threshold of a sweep (Davidson's residuals, changes of the energy,
//! variances) is relative to H. Energies are converted back by [`Units::energy`] for reports.

use super::charges::{Charges, QuantumNumbers};
use super::terms::Terms;
use crate::operator::{Charge, Factor, Operator, Product, SiteKind, Spin};

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
    /// The largest of these terms, in [1, 2); 0 if there are none.
    pub largest: f64,
    /// The energy of the constants in the sector.
    offset: f64,
}

impl Units {
    /// The energy of an eigenvalue of the operator sum.
    pub fn energy(&self, level: f64) -> f64 {
        self.offset + self.scale * level
    }

    /// The constants minus those of `other`, in units of `scale`.
    pub(crate) fn beyond(&self, other: &Units) -> f64 {
        (self.offset - other.offset) / self.scale
    }

    /// The square of an energy, such as a variance.
    pub fn square(&self, variance: f64) -> f64 {
        self.scale * variance * self.scale
    }

    /// The units of a part of the chain with these charges.
    pub(crate) fn of_part(&self, part: f64, total: Charges) -> Units {
        Units { constant: self.constant * part, ..self.clone() }.at(total)
    }

    /// The units in a sector.
    fn at(mut self, total: Charges) -> Units {
        let shared = self.shared.iter().zip(total.0).map(|(mu, charge)| mu * f64::from(charge)).sum::<f64>();
        self.offset = self.constant + shared;
        self
    }
}

/// Removes the constants of a sector from an operator; returns the rest and μ_k of each charge.
pub(crate) fn without_shared(
    operator: &Operator,
    kinds: &[SiteKind],
    numbers: &QuantumNumbers,
) -> (Operator, Vec<f64>) {
    let sites = operator.sites();
    let (mut rest, mut shared) = (operator.clone().on_sites(sites), Vec::new());
    for charge in numbers.charges() {
        let carriers = carriers(kinds, charge);
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
        let weight = |state: u64| (kind.charge(charge, state) - kind.charge(charge, 0)) as f64;
        match kind {
            SiteKind::Moments { .. } | SiteKind::Qubits => vec![(vec![Factor::Sz(site)], weight(1))],
            SiteKind::Bosons { .. } => {
                vec![(vec![Factor::CreateBoson(site), Factor::AnnihilateBoson(site)], weight(1))]
            }
            kind => {
                let number = |mode: Spin| vec![Factor::Create(mode, site), Factor::Annihilate(mode, site)];
                kind.modes().into_iter().enumerate().map(|(bit, mode)| (number(mode), weight(1 << bit))).collect()
            }
        }
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

/// Brings the largest term into [1, 2) and takes their constant; `total` are the charges of the chain.
pub(crate) fn normalise(terms: &mut Terms, shared: Vec<f64>, total: Charges) -> Units {
    let size = |terms: &Terms| {
        let sizes = terms.list.iter().map(|term| terms.operators.size(term));
        sizes.fold((0.0f64, 0.0f64), |(sum, most), size| (sum + size, most.max(size)))
    };
    let largest = size(terms).1;
    // At the limits of f64's exponent, 2^±1000 is close enough.
    let exponent = if largest > 0.0 { largest.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
    let scale = exponent.exp2();
    terms.list.iter_mut().for_each(|term| term.coefficient /= scale);
    let (norm, largest) = size(terms);
    let constant = std::mem::take(&mut terms.constant);
    Units { scale, constant, shared, norm, largest, offset: 0.0 }.at(total)
}
