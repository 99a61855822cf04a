//! Averages of products in the states of a symmetry sector.
//!
//! In: a sector, orthonormal vectors, products. Out: one average per product. A state with U_g |ψ⟩ = χ(g) |ψ⟩ has
//! ⟨U_g O U_g⁻¹⟩ = ⟨O⟩, so an average is that of the mean of all images of O, which the group leaves as it is; and products that are
//! images of each other have one average, which is computed once.

use super::{Contributions, MeanTerms, Moving, SymmetricSector, moving};
use crate::basis::Basis;
use crate::operator::{DiagonalTerm, Operator, Product, SiteKind, Word};
use eigenforge_runtime::Scalar;
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::HashMap;

/// States a task works on, so that the number of threads changes no bit.
const STATES: usize = 1 << 10;

/// The averages over orthonormal vectors on the host; of complex ones real parts of averages.
pub(in crate::exact) fn averages<T: Scalar>(
    sector: &SymmetricSector,
    kinds: &[SiteKind],
    basis: &Basis,
    multiplet: &[&[T]],
    products: &[Product],
) -> Vec<f64> {
    let numbers: HashMap<&Product, usize> = products.iter().enumerate().map(|(k, product)| (product, k)).collect();
    let mut values: Vec<Option<f64>> = vec![None; products.len()];
    let share = 1.0 / sector.group().elements.len() as f64;
    for number in 0..products.len() {
        if values[number].is_some() {
            continue;
        }
        let (mut mean, mut images) = (MeanTerms::new(), Vec::new());
        for element in &sector.group().elements {
            let image = element.image(kinds, &products[number]);
            if let (1, Some((product, factor))) = (image.len(), image.first_key_value()) {
                images.extend(numbers.get(product).map(|place| (*place, *factor)));
            }
            for (product, coefficient) in image {
                *mean.entry(product).or_insert(0.0) += share * coefficient;
            }
        }
        let value = average(sector, basis, multiplet, mean);
        images.iter().for_each(|(place, factor)| values[*place] = Some(value / factor));
        values[number] = Some(value);
    }
    // A product that occurs twice has the value of the first.
    values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// The average of an operator that the group leaves as it is.
fn average<T: Scalar>(sector: &SymmetricSector, basis: &Basis, multiplet: &[&[T]], mean: MeanTerms) -> f64 {
    let Word::Sites(layout) = &sector.word else { unreachable!("made so") };
    let terms: Vec<(f64, Product)> = mean.into_iter().map(|(product, coefficient)| (coefficient, product)).collect();
    let operator = Operator::recorded(&terms, 1, layout.kinds().len(), Vec::new()).on_kinds(layout.kinds());
    let parts: (Vec<DiagonalTerm<u128>>, Moving) = (layout.diagonal_terms(&operator), moving(operator.terms(), layout));
    if parts.0.is_empty() && parts.1.is_empty() {
        return 0.0;
    }
    let states = sector.states();
    let element = |vector: &[T], state: usize| {
        let im = vector.get(state + states).map_or(0.0, |im| im.to_f64());
        Complex64::new(vector[state].to_f64(), im)
    };
    let of_state = |state: usize| {
        let mut found = Contributions::default();
        sector.reach(basis, (&parts.0, &parts.1), state, &mut found);
        let of_vector = |vector: &&[T]| {
            let own = element(vector, state);
            let each = found.0.iter().map(|(to, value)| (element(vector, *to as usize).conj() * value * own).re);
            each.sum::<f64>()
        };
        multiplet.iter().map(of_vector).sum::<f64>()
    };
    let of_task = |task: usize| (task * STATES..states.min((task + 1) * STATES)).map(of_state).sum::<f64>();
    let sums: Vec<f64> = (0..states.div_ceil(STATES)).into_par_iter().map(of_task).collect();
    sums.iter().sum::<f64>() / multiplet.len().max(1) as f64
}
