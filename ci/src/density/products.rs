//! Averages of normal-ordered products in configuration-interaction vectors.
//!
//! In: vectors of a space, products of as many creators as annihilators of each spin. Out: their averages over the vectors. A product that
//! takes out one or two electrons is an element of the Gram matrix of what remains: with A_x = a_rβ a_pα, or a_p a_q with p < q,
//! ⟨A_x† A_y⟩ is ⟨c†_p↑ c†_r↓ c_s↓ c_q↑⟩, or ⟨c†_p c†_q c_s c_r⟩, which is normal order. Products of more electrons are refused.

use super::gram::gram;
use super::removal::pair_label;
use super::{DensityError, average, rows};
use crate::space::Space;
use eigenforge_core::operator::{Factor, Product, Spin, product_text};
use ndarray::ArrayRef2;
use std::collections::BTreeMap;

/// The averages of products over vectors of a space, one in each row.
///
/// # Errors
/// Products of more than two electrons; vectors of another space.
pub fn products(space: &Space, vectors: &ArrayRef2<f64>, products: &[Product]) -> Result<Vec<f64>, DensityError> {
    let vectors = vectors.as_standard_layout();
    let states = average(space, &rows(&vectors))?;
    let mut values = vec![1.0; products.len()];
    // By electrons of each spin that leave, since one matrix has all products of its kind.
    let mut kinds: BTreeMap<[usize; 2], Vec<(usize, [usize; 2])>> = BTreeMap::new();
    for (number, product) in products.iter().enumerate() {
        let [leaving, returning] = [false, true].map(|creators| orbitals(product, creators));
        let electrons = leaving.each_ref().map(Vec::len);
        if electrons.iter().sum::<usize>() > 2 {
            return Err(DensityError::TooManyElectrons { term: product_text(product) });
        }
        let labels = [label(&returning, space.orbitals()), label(&leaving, space.orbitals())];
        kinds.entry(electrons).or_default().push((number, labels));
    }
    for (electrons, wanted) in kinds.into_iter().filter(|(electrons, _)| *electrons != [0, 0]) {
        let matrix = gram(space, electrons, &states, true)?;
        let labels = matrix.len().isqrt();
        wanted.into_iter().for_each(|(number, [x, y])| values[number] = matrix[x * labels + y]);
    }
    Ok(values)
}

/// The orbitals of creators or annihilators, those of each spin ascending.
fn orbitals(product: &[Factor], creators: bool) -> [Vec<usize>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for factor in product {
        match *factor {
            Factor::Create(spin, orbital) if creators => found[usize::from(spin != Spin::Up)].push(orbital),
            Factor::Annihilate(spin, orbital) if !creators => found[usize::from(spin != Spin::Up)].push(orbital),
            _ => {}
        }
    }
    found.iter_mut().for_each(|orbitals| orbitals.sort_unstable());
    found
}

/// The label of electrons that leave, as [`gram`] counts them.
fn label([up, down]: &[Vec<usize>; 2], orbitals: usize) -> usize {
    let of = |list: &[usize]| match *list {
        [] => 0,
        [q] => q,
        [q, s, ..] => pair_label(q, s),
    };
    match down.len() {
        1 => of(up) * orbitals + of(down),
        _ => of(up) + of(down),
    }
}
