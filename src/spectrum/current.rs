//! The current of H along a direction, and the dimers of its bonds.
//!
//! In: H, a lattice, a direction e. Out: operators. Where a term h of H carries charge by the vector d, H(A) has h e^(iA d·e). The current is
//! J = −∂H/∂A = −i Σ (d·e) h, and K = −∂²H/∂A² = Σ (d·e)² h, the kinetic energy of hops of length 1 (D. J. Scalapino, S. R. White and S. Zhang,
//! Phys. Rev. B 47, 7995 (1993)). The charge is that of fermions, without those of bosons, without both that of Sz.

use crate::operator::{Factor, Operator, Product, SiteKind, product_text};
use eigenforge_core::lattice::Lattice;
use num_complex::Complex64;
use std::collections::BTreeMap;

/// Lengths below this are none.
const NEAR: f64 = 1e-9;

/// J and K of a direction.
pub(super) struct Current {
    /// J.
    pub operator: Operator,
    /// K.
    pub kinetic: Operator,
}

/// What carries the current.
#[derive(Clone, Copy)]
enum Carrier {
    Fermions,
    Bosons,
    Spins,
}

impl Carrier {
    fn of_operator(operator: &Operator) -> Carrier {
        let any =
            |is: fn(Factor) -> bool| operator.terms().any(|(product, _)| product.iter().any(|factor| is(*factor)));
        match () {
            () if any(Factor::is_fermion) => Carrier::Fermions,
            () if any(Factor::is_boson) => Carrier::Bosons,
            () => Carrier::Spins,
        }
    }

    /// By how much a factor changes the charge of its site.
    fn change(self, factor: Factor) -> i64 {
        match (self, factor) {
            (Carrier::Fermions, Factor::Create(..))
            | (Carrier::Bosons, Factor::CreateBoson(_))
            | (Carrier::Spins, Factor::Raise(_)) => 1,
            (Carrier::Fermions, Factor::Annihilate(..))
            | (Carrier::Bosons, Factor::AnnihilateBoson(_))
            | (Carrier::Spins, Factor::Lower(_)) => -1,
            _ => 0,
        }
    }

    /// The vector by which a product carries charge.
    fn carried(self, product: &[Factor], lattice: &Lattice) -> Result<[f64; 2], String> {
        let mut changes: BTreeMap<usize, i64> = BTreeMap::new();
        for factor in product.iter().filter(|factor| self.change(**factor) != 0) {
            *changes.entry(factor.site()).or_default() += self.change(*factor);
        }
        changes.retain(|_, change| *change != 0);
        if changes.values().sum::<i64>() != 0 {
            return Err(format!("H does not conserve the charge: {} changes it", product_text(product)));
        }
        let Some((&first, _)) = changes.first_key_value() else { return Ok([0.0; 2]) };
        changes.into_iter().try_fold([0.0; 2], |[x, y], (site, change)| {
            let [dx, dy] = lattice.displacement(first, site).ok_or_else(|| {
                let why = "the sites have no positions, or two ways around the cluster are as short";
                format!("how far {} carries charge is not defined: {why}", product_text(product))
            })?;
            Ok([x + change as f64 * dx, y + change as f64 * dy])
        })
    }
}

/// The current of H along a direction of length 1.
///
/// # Errors
/// Terms that change the charge, or carry it by a vector that is not defined; H without terms that carry charge along the direction.
pub(super) fn current(hamiltonian: &Operator, lattice: &Lattice, direction: [f64; 2]) -> Result<Current, String> {
    let kinds = hamiltonian.kinds_or_implied();
    let reduced = hamiltonian.clone().on_kinds(&kinds).reduced();
    let carrier = Carrier::of_operator(&reduced);
    let [mut first, mut second]: [Vec<(f64, Product)>; 2] = Default::default();
    for (product, coefficient) in reduced.terms() {
        let carried = carrier.carried(product, lattice)?;
        let length = carried[0] * direction[0] + carried[1] * direction[1];
        if length.abs() > NEAR {
            first.push((-length * coefficient, product.to_vec()));
            second.push((length * length * coefficient, product.to_vec()));
        }
    }
    if first.is_empty() {
        return Err(format!("no term of H carries charge along {direction:?}"));
    }
    let operator =
        |terms: &[(f64, Product)]| Operator::recorded(terms, reduced.two_s(), kinds.len(), Vec::new()).on_kinds(&kinds);
    Ok(Current { operator: operator(&first).times_i(), kinetic: operator(&second) })
}

/// Σ phase_i S_i·S_j over the bonds from i to j between nearest neighbours along a direction.
///
/// # Errors
/// Sites without spins; a lattice without such bonds.
pub(super) fn dimers(
    lattice: &Lattice,
    kinds: &[SiteKind],
    phases: &[Complex64],
    direction: [f64; 2],
) -> Result<Operator, String> {
    let (mut sum, mut others) = (Operator::zero(), Vec::new());
    for bond in lattice.bonds_at(1) {
        let Some(vector) = lattice.displacement(bond.i, bond.j) else {
            let why = "the sites have no positions, or two ways around the cluster are as short";
            return Err(format!("the direction of the bond from {} to {} is not defined: {why}", bond.i, bond.j));
        };
        let along = vector[0] * direction[0] + vector[1] * direction[1];
        let across = vector[0] * direction[1] - vector[1] * direction[0];
        if across.abs() > NEAR {
            let text = format!("[{:.4}, {:.4}]", vector[0], vector[1]);
            if !others.contains(&text) {
                others.push(text);
            }
            continue;
        }
        let (start, end) = if along > 0.0 { (bond.i, bond.j) } else { (bond.j, bond.i) };
        let dimer = spins(kinds, [start, end]).ok_or_else(|| format!("sites {start} and {end} have no spins"))?;
        sum = sum + phases[start].re * dimer.clone() + phases[start].im * dimer.times_i();
    }
    if sum.is_empty() {
        let known =
            if others.is_empty() { String::new() } else { format!("; bonds point along {}", others.join(", ")) };
        return Err(format!("no bond points along {direction:?}{known}"));
    }
    Ok(sum)
}

/// S_i·S_j.
fn spins(kinds: &[SiteKind], sites: [usize; 2]) -> Option<Operator> {
    let [of_i, of_j] = sites.map(|site| ["S+", "S-", "Sz"].map(|name| kinds[site].operator(name, site)));
    let ([Some(raise_i), Some(lower_i), Some(z_i)], [Some(raise_j), Some(lower_j), Some(z_j)]) = (of_i, of_j) else {
        return None;
    };
    Some(0.5 * (raise_i * lower_j) + 0.5 * (lower_i * raise_j) + z_i * z_j)
}
