//! Averages of products in the states of a symmetry sector.
//!
//! In: a sector, orthonormal vectors, products. Out: one average per product. A state with U_g |ψ⟩ = χ(g) |ψ⟩ has
//! ⟨U_g O U_g⁻¹⟩ = ⟨O⟩, so an average is that of the mean of all images of O, which the group leaves as it is; and products that are
//! images of each other have one average, which is computed once. On a device the sector's own kernels take them.

use super::{Contributions, MeanTerms, Moving, SectorRows, SymmetricSector, SymmetricTables, moving};
use crate::basis::Basis;
use crate::exact::PrepareError;
use crate::exact::structure::by_flip;
use crate::operator::{DiagonalTerm, Operator, Product, SiteKind, Word};
use eigenforge_runtime::{Arguments, Device, DeviceError, Scalar, Vector, trace};
use eigenforge_templates::exact::{AT_ONCE, MaskedTerm};
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::HashMap;

/// States a task works on, so that the number of threads changes no bit.
const STATES: usize = 1 << 10;

/// A product whose average is taken, the others that have it up to a factor, and the mean of all images.
struct Class {
    number: usize,
    images: Vec<(usize, f64)>,
    mean: MeanTerms,
}

/// The products by the averages that are equal.
fn classes(sector: &SymmetricSector, kinds: &[SiteKind], products: &[Product]) -> Vec<Class> {
    let numbers: HashMap<&Product, usize> = products.iter().enumerate().map(|(k, product)| (product, k)).collect();
    let (mut known, mut classes) = (vec![false; products.len()], Vec::new());
    let share = 1.0 / sector.group().elements.len() as f64;
    for number in 0..products.len() {
        if known[number] {
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
        known[number] = true;
        images.iter().for_each(|(place, _)| known[*place] = true);
        classes.push(Class { number, images, mean });
    }
    classes
}

/// The averages of all products from those of the classes.
fn spread(products: &[Product], classes: &[Class], found: &[f64]) -> Vec<f64> {
    // A product that occurs twice has the value of the first.
    let mut values = vec![f64::NAN; products.len()];
    for (class, value) in classes.iter().zip(found) {
        class.images.iter().for_each(|(place, factor)| values[*place] = value / factor);
        values[class.number] = *value;
    }
    values
}

/// The diagonal and the moving terms of a mean.
fn parts(sector: &SymmetricSector, mean: &MeanTerms) -> (Vec<DiagonalTerm<u128>>, Moving) {
    let Word::Sites(layout) = &sector.word else { unreachable!("made so") };
    let terms: Vec<(f64, Product)> =
        mean.iter().map(|(product, coefficient)| (*coefficient, product.clone())).collect();
    let operator = Operator::recorded(&terms, 1, layout.kinds().len(), Vec::new()).on_kinds(layout.kinds());
    (layout.diagonal_terms(&operator), moving(operator.terms(), layout))
}

/// The averages over orthonormal vectors on the host; of complex ones real parts of averages.
pub(in crate::exact) fn averages<T: Scalar>(
    sector: &SymmetricSector,
    kinds: &[SiteKind],
    basis: &Basis,
    multiplet: &[&[T]],
    products: &[Product],
) -> Vec<f64> {
    let classes = classes(sector, kinds, products);
    sector.orbits.prepare();
    let value = |class: &Class| average(sector, basis, multiplet, &parts(sector, &class.mean));
    spread(products, &classes, &classes.iter().map(value).collect::<Vec<f64>>())
}

/// The tables of the kernel `average` for many operators.
#[derive(Default)]
struct Tables {
    flips: Vec<u64>,
    start: Vec<u32>,
    terms: Vec<MaskedTerm>,
    masks: Vec<u64>,
    factors: Vec<f64>,
    /// Of each operator: first_flip, end_flip, first_diagonal, end_signs, end_diagonal.
    ranges: Vec<[i64; 5]>,
}

impl Tables {
    /// Adds an operator; `None` where its diagonal has other functions of digits than bits, or coefficients that are not real.
    fn add(&mut self, (diagonal, moves): (Vec<DiagonalTerm<u128>>, Moving)) -> Option<()> {
        let first = self.masks.len() as i64;
        let (mut signs, mut bits) = (Vec::new(), Vec::new());
        for term in diagonal {
            match term.narrow() {
                DiagonalTerm::Parity { mask, coefficient } => signs.push((mask, coefficient)),
                DiagonalTerm::Word { mask, coefficient } => bits.push((mask, coefficient)),
                _ => return None,
            }
        }
        let end_signs = first + signs.len() as i64;
        for (mask, coefficient) in signs.into_iter().chain(bits) {
            self.masks.push(mask);
            self.factors.push(coefficient);
        }
        let real = moves.iter().map(|(transition, times_i)| (!times_i).then_some(transition.narrow()));
        let groups = by_flip(&real.collect::<Option<Vec<_>>>()?);
        let first_flip = self.flips.len() as i64;
        for group in groups {
            self.flips.push(group.flip);
            self.start.push(self.terms.len() as u32);
            self.terms.extend(group.terms);
        }
        self.ranges.push([first_flip, self.flips.len() as i64, first, end_signs, self.masks.len() as i64]);
        Some(())
    }
}

/// The averages over orthonormal vectors where they are, on a device whose kernels make the rows; `None` where they do not, or
/// operators need more than bits.
///
/// # Errors
/// Memory for the tables of the sector; a text that does not compile.
pub(in crate::exact) fn averages_on_device<T: Scalar>(
    rows: &SectorRows,
    kinds: &[SiteKind],
    multiplet: &[&Vector<T>],
    device: &Device,
    products: &[Product],
) -> Result<Option<Vec<f64>>, PrepareError> {
    let sector = rows.host().sector();
    let classes = classes(sector, kinds, products);
    let mut tables = Tables::default();
    if classes.iter().any(|class| tables.add(parts(sector, &class.mean)).is_none()) {
        return Ok(None);
    }
    tables.start.push(tables.terms.len() as u32);
    let _taking = trace::span("observables", "averages in a symmetry sector");
    let plan = rows.plan();
    let kernel = device.compile(&plan.text()?)?;
    let own = SymmetricTables::new(rows, &kernel, device)?;
    let column = |of: fn(&MaskedTerm) -> u64| tables.terms.iter().map(of).collect::<Vec<u64>>();
    let words = |values: &[u64]| super::tables::words(plan, values, device);
    let (masks, start) = (words(&tables.flips)?, device.buffer(&tables.start)?);
    let [care, pattern, sign] =
        [column(|term| term.care), column(|term| term.pattern), column(|term| term.sign)].map(|values| words(&values));
    let (care, pattern, sign) = (care?, pattern?, sign?);
    let amplitude = device.buffer(&tables.terms.iter().map(|term| term.amplitude).collect::<Vec<f64>>())?;
    let (diagonal_mask, diagonal_factor) = (words(&tables.masks)?, device.buffer(&tables.factors)?);
    let mut partials = device.buffer(&vec![0.0; plan.partials() as usize])?;
    let mut dots = device.buffer(&[0.0; AT_ONCE])?;
    let sizes = [tables.flips.len(), tables.terms.len(), tables.masks.len()].map(|len| len as u64);
    let [launch, finish] = plan.average(sizes).map_err(DeviceError::from)?;
    let share = 1.0 / multiplet.len().max(1) as f64;
    let mut found = Vec::with_capacity(classes.len());
    for [first_flip, end_flip, first_diagonal, end_signs, end_diagonal] in &tables.ranges {
        let mut sum = 0.0;
        for x in multiplet {
            let arguments = own.pass_ranks(Arguments::new().read("x", *x).write("partials", &mut partials));
            let arguments = arguments
                .read("flip_masks", &*masks)
                .read("flip_start", &start)
                .read("term_care", &*care)
                .read("term_pattern", &*pattern)
                .read("term_sign", &*sign)
                .read("term_amplitude", &amplitude)
                .read("diagonal_mask", &*diagonal_mask)
                .read("diagonal_factor", &diagonal_factor)
                .i64("first_flip", *first_flip)
                .i64("end_flip", *end_flip)
                .i64("first_diagonal", *first_diagonal)
                .i64("end_signs", *end_signs)
                .i64("end_diagonal", *end_diagonal);
            kernel.launch(&launch, arguments)?;
            let count = partials.len() as i64;
            let arguments = Arguments::new().read("partials", &partials).i64("count", count).i64("place", 0);
            kernel.launch(&finish, arguments.write("x_dot_y", &mut dots))?;
            sum += dots.download()?[0];
        }
        found.push(share * sum);
    }
    Ok(Some(spread(products, &classes, &found)))
}

/// The average of an operator that the group leaves as it is.
fn average<T: Scalar>(
    sector: &SymmetricSector,
    basis: &Basis,
    multiplet: &[&[T]],
    parts: &(Vec<DiagonalTerm<u128>>, Moving),
) -> f64 {
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
