//! ⟨S⁺_i S⁻_j⟩ of all pairs of moments in a state of a symmetry sector.
//!
//! In: a sector, orthonormal vectors. Out: the matrix of averages. S⁻_j |ψ⟩ is a state of the sector of the next lower Sᶻ, with the same eigenvalue
//! for every j under the elements H of the group that leave Sᶻ as it is. With φ_j(t) = ⟨t| S⁻_j |ψ⟩ on the representatives t of the orbits of H,
//!
//! ⟨S⁺_i S⁻_j⟩ = 1/|H| Σ_h N(h i, h j),   N(i, j) = Σ_t |H| / |S_t| Re φ_i(t)* φ_j(t),
//!
//! so a representative takes one look-up for each moment, where S⁺_i S⁻_j takes one for each pair.

use super::super::SymmetricSector;
use eigenforge_core::basis::{Basis, Orbits, Sector};
use eigenforge_core::operator::{
    Carrier, Charge, Factor, GroupElement, OperatorError, Product, SiteKind, SymmetryGroup,
};
use eigenforge_runtime::{Device, Scalar};
use ndarray::Array2;
use num_complex::Complex64;
use rayon::prelude::*;

/// Representatives a task works on, so that the number of threads changes no bit.
const STATES: usize = 1 << 10;
/// Bytes of a representative in the list.
const LISTED: u64 = 20;
/// Averages of different pairs from which the list pays.
const MANY: usize = 3;

/// The pair (i, j) of a product S⁺_i S⁻_j of two sites.
pub(super) fn exchange(product: &[Factor]) -> Option<[usize; 2]> {
    match *product {
        [Factor::Raise(i), Factor::Lower(j)] | [Factor::Lower(j), Factor::Raise(i)] if i != j => Some([i, j]),
        _ => None,
    }
}

/// The charges of a sector after S⁻.
fn lowered(charges: &[(Charge, i64)]) -> Vec<(Charge, i64)> {
    let of = |(charge, value): &(Charge, i64)| match charge {
        Charge::TwoSz => (*charge, value - 2),
        Charge::Parity => (*charge, charge.folded(value + 1)),
        _ => (*charge, *value),
    };
    charges.iter().map(of).collect()
}

/// Where the level of a moment stands in a word.
struct Moment {
    shift: u32,
    mask: u128,
    top: u32,
}

impl Moment {
    fn level(&self, word: u128) -> u32 {
        (word >> self.shift & self.mask) as u32
    }
}

/// The averages, if all sites are moments and so many pairs are wanted that their list pays and has room.
///
/// # Errors
/// A sector that cannot be listed.
pub(super) fn exchanges<T: Scalar>(
    sector: &SymmetricSector,
    kinds: &[SiteKind],
    multiplet: &[&[T]],
    wanted: &[&Product],
) -> Result<Option<Array2<f64>>, OperatorError> {
    let (layout, orbits) = (sector.layout(), sector.orbits());
    let are_moments = kinds.iter().all(|kind| kind.carrier() == Carrier::Spin) && layout.forbidden().is_empty();
    let pairs = wanted.iter().filter(|product| exchange(product).is_some()).count();
    let Sector::Charges(charges) = orbits.plain().sector() else { return Ok(None) };
    if !are_moments || pairs < MANY {
        return Ok(None);
    }
    let keeps = |element: &&GroupElement| !element.conjugates && kinds.iter().all(|kind| !element.inverts_level(*kind));
    let kept: Vec<GroupElement> = sector.group().elements.iter().filter(keeps).cloned().collect();
    let target = match Basis::on_sites(layout.clone().into(), lowered(charges)) {
        // Nothing has less Sᶻ.
        Err(OperatorError::EmptySector { .. }) => return Ok(Some(Array2::zeros((kinds.len(), kinds.len())))),
        target => target?,
    };
    let needed = (target.dimension() / kept.len() as u64).saturating_mul(LISTED);
    if needed > Device::cpu().memory().free / 2 {
        return Ok(None);
    }
    let group = SymmetryGroup::of_elements(kept);
    let lower = Orbits::new(&group, (layout, &lowered(charges)), target, None);
    let moment = |site: usize| layout.digits().iter().find(|digit| digit.site == site);
    let moments: Vec<Moment> = (0..kinds.len())
        .filter_map(moment)
        .map(|digit| Moment { shift: digit.shift, mask: (1 << digit.width) - 1, top: digit.top })
        .collect();
    let order = sector.group().elements.len() as f64;
    let stabilisers = orbits.stabilisers();
    // φ_j(t), without the share of the orbit's amplitude that all words of it have.
    let of_vector = |vector: &[T], word: u128, phi: &mut [Complex64]| {
        for (moment, phi) in moments.iter().zip(phi) {
            let level = moment.level(word);
            *phi = Complex64::ZERO;
            if level == moment.top {
                continue;
            }
            let reached = orbits.actions().reached(word + (1 << moment.shift));
            let Some(place) = orbits.index(reached.word) else { continue };
            let own = orbits.amplitude(vector, place as usize);
            let own = if reached.conjugates { own.conj() } else { own };
            let share = f64::from(stabilisers[place as usize]) / order;
            let element = f64::from((level + 1) * (moment.top - level));
            *phi = reached.factor.conj() * own * (share * element).sqrt();
        }
    };
    let sites = kinds.len();
    let (words, sizes) = (lower.words(), lower.stabilisers());
    let of_task = |task: usize| {
        let (mut sums, mut phi) = (vec![0.0; sites * sites], vec![Complex64::ZERO; sites]);
        for state in task * STATES..words.len().min((task + 1) * STATES) {
            let weight = group.elements.len() as f64 / f64::from(sizes[state]);
            for vector in multiplet {
                of_vector(vector, words[state], &mut phi);
                for (row, left) in sums.chunks_exact_mut(sites).zip(&phi).filter(|(_, left)| **left != Complex64::ZERO)
                {
                    let products = phi.iter().map(|right| weight * (left.re * right.re + left.im * right.im));
                    row.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                }
            }
        }
        sums
    };
    let found: Vec<Vec<f64>> = (0..words.len().div_ceil(STATES)).into_par_iter().map(of_task).collect();
    let mut sums = Array2::<f64>::zeros((sites, sites));
    for part in &found {
        sums.iter_mut().zip(part).for_each(|(sum, of_part)| *sum += of_part);
    }
    let share = 1.0 / (group.elements.len() * multiplet.len().max(1)) as f64;
    let mean = |(i, j): (usize, usize)| {
        let images = group.elements.iter().map(|element| [i, j].map(|site| usize::from(element.place[site])));
        share * images.map(|image| sums[image]).sum::<f64>()
    };
    Ok(Some(Array2::from_shape_fn((sites, sites), mean)))
}
