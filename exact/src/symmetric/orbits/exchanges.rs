//! ⟨S⁺_i S⁻_j⟩ of all pairs of moments in a state of a symmetry sector.
//!
//! In: a sector, orthonormal vectors. Out: the matrix of averages. S⁻_j |ψ⟩ is a state of the sector of the next lower Sᶻ, with the same eigenvalue
//! for every j under the elements H of the group that leave Sᶻ as it is. With φ_j(t) = ⟨t| S⁻_j |ψ⟩ on the representatives t of the orbits of H,
//!
//! ⟨S⁺_i S⁻_j⟩ = 1/|H| Σ_h N(h i, h j),   N(i, j) = Σ_t |H| / |S_t| Re φ_i(t)* φ_j(t),
//!
//! so a representative takes one look-up for each moment, where S⁺_i S⁻_j takes one for each pair.

use super::super::SymmetricSector;
use eigenforge_core::basis::{Basis, FlipImages, Orbits, Sector};
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
    /// The number of the flip from its lowest level to the next; those from others follow.
    first_flip: usize,
}

impl Moment {
    /// What raising its level by one flips.
    fn flip(&self, level: u32) -> u128 {
        u128::from(level ^ (level + 1)) << self.shift
    }
}

/// A word that S⁻ of a moment takes to another: ψ of it is the amplitude of a state, or its conjugate, times a factor.
struct Raised {
    moment: usize,
    place: usize,
    conjugates: bool,
    factor: Complex64,
}

/// The sector of the next lower Sᶻ, as S⁻ of each moment reaches it.
struct Lowering<'a> {
    sector: &'a SymmetricSector,
    moments: Vec<Moment>,
    /// H.
    group: SymmetryGroup,
    /// The orbits of H there; none where nothing has less Sᶻ.
    lower: Option<Orbits>,
    /// What S⁺ of each moment flips, from each of its levels.
    flips: Option<FlipImages>,
}

impl Lowering<'_> {
    /// Of a sector of moments; `None` where its orbits have no room.
    fn new<'a>(
        sector: &'a SymmetricSector,
        kinds: &[SiteKind],
        charges: &[(Charge, i64)],
    ) -> Result<Option<Lowering<'a>>, OperatorError> {
        let layout = sector.layout();
        let keeps =
            |element: &&GroupElement| !element.conjugates && kinds.iter().all(|kind| !element.inverts_level(*kind));
        let kept: Vec<GroupElement> = sector.group().elements.iter().filter(keeps).cloned().collect();
        let group = SymmetryGroup::of_elements(kept);
        let plain = match Basis::on_sites(layout.clone().into(), lowered(charges)) {
            Err(OperatorError::EmptySector { .. }) => None,
            plain => Some(plain?),
        };
        let states = plain.as_ref().map_or(0, Basis::dimension) / group.elements.len() as u64;
        if states.saturating_mul(LISTED) > Device::cpu().memory().free / 2 {
            return Ok(None);
        }
        let lower = plain.map(|plain| Orbits::new(&group, (layout, &lowered(charges)), plain, None));
        let digits = (0..kinds.len()).filter_map(|site| layout.digits().iter().find(|digit| digit.site == site));
        let mut flips = Vec::new();
        let mut moments: Vec<Moment> = Vec::new();
        for digit in digits {
            let (mask, first_flip) = ((1 << digit.width) - 1, flips.len());
            let moment = Moment { shift: digit.shift, mask, top: digit.top, first_flip };
            flips.extend((0..digit.top).map(|level| moment.flip(level)));
            moments.push(moment);
        }
        let flips = sector.orbits().actions().flip_images(&flips);
        Ok(Some(Lowering { sector, moments, group, lower, flips }))
    }

    /// The words that S⁻ takes to a word.
    fn raised(&self, word: u128, found: &mut Vec<Raised>) {
        let orbits = self.sector.orbits();
        let order = self.sector.group().elements.len() as f64;
        found.clear();
        let actions = orbits.actions();
        let images = self.flips.as_ref().map(|flips| (flips, actions.word_images(word)));
        for (number, moment) in self.moments.iter().enumerate() {
            let level = (word >> moment.shift & moment.mask) as u32;
            if level == moment.top {
                continue;
            }
            let there = word ^ moment.flip(level);
            let reached = match &images {
                Some((flips, own)) => actions.reached_by(own, flips, moment.first_flip + level as usize, there),
                None => actions.reached(there),
            };
            let Some(place) = orbits.index(reached.word) else { continue };
            // All words of an orbit have the same share of its amplitude.
            let share = f64::from(orbits.stabilisers()[place as usize]) / order;
            let element = f64::from((level + 1) * (moment.top - level));
            let factor = reached.factor.conj() * (share * element).sqrt();
            found.push(Raised { moment: number, place: place as usize, conjugates: reached.conjugates, factor });
        }
    }

    /// N of all vectors.
    fn sums<T: Scalar>(&self, multiplet: &[&[T]]) -> Array2<f64> {
        let sites = self.moments.len();
        let mut sums = Array2::<f64>::zeros((sites, sites));
        let Some(lower) = &self.lower else { return sums };
        let (orbits, words, sizes) = (self.sector.orbits(), lower.words(), lower.stabilisers());
        let of_task = |task: usize| {
            let (mut sums, mut raised, mut phi) = (vec![0.0; sites * sites], Vec::new(), Vec::new());
            for state in task * STATES..words.len().min((task + 1) * STATES) {
                self.raised(words[state], &mut raised);
                let weight = self.group.elements.len() as f64 / f64::from(sizes[state]);
                for vector in multiplet {
                    let of_word = |word: &Raised| {
                        let own = orbits.amplitude(vector, word.place);
                        (word.moment, word.factor * if word.conjugates { own.conj() } else { own })
                    };
                    phi.clear();
                    phi.extend(raised.iter().map(of_word));
                    for (i, left) in &phi {
                        let row = &mut sums[i * sites..][..sites];
                        phi.iter().for_each(|(j, right)| row[*j] += weight * (left.re * right.re + left.im * right.im));
                    }
                }
            }
            sums
        };
        let found: Vec<Vec<f64>> = (0..words.len().div_ceil(STATES)).into_par_iter().map(of_task).collect();
        for part in &found {
            sums.iter_mut().zip(part).for_each(|(sum, of_part)| *sum += of_part);
        }
        sums
    }

    /// The averages over the vectors.
    fn means<T: Scalar>(&self, multiplet: &[&[T]]) -> Array2<f64> {
        let (sums, elements) = (self.sums(multiplet), &self.group.elements);
        let share = 1.0 / (elements.len() * multiplet.len().max(1)) as f64;
        let mean = |(i, j): (usize, usize)| {
            let images = elements.iter().map(|element| [i, j].map(|site| usize::from(element.place[site])));
            share * images.map(|image| sums[image]).sum::<f64>()
        };
        Array2::from_shape_fn(sums.dim(), mean)
    }
}

/// The averages, if all sites are moments and so many pairs are wanted that the list of lower states pays, and has room.
///
/// # Errors
/// A sector that cannot be listed.
pub(super) fn exchanges<T: Scalar>(
    sector: &SymmetricSector,
    kinds: &[SiteKind],
    multiplet: &[&[T]],
    wanted: &[&Product],
) -> Result<Option<Array2<f64>>, OperatorError> {
    let are_moments = kinds.iter().all(|kind| kind.carrier() == Carrier::Spin);
    let pairs = wanted.iter().filter(|product| exchange(product).is_some()).count();
    let Sector::Charges(charges) = sector.orbits().plain().sector() else { return Ok(None) };
    if !are_moments || pairs < MANY || !sector.layout().forbidden().is_empty() {
        return Ok(None);
    }
    Ok(Lowering::new(sector, kinds, charges)?.map(|lowering| lowering.means(multiplet)))
}
