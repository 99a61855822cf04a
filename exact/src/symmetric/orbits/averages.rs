//! Averages of products in the states of a symmetry sector.
//!
//! In: a sector, orthonormal vectors, products. Out: one average per product. A state with U_g |ψ⟩ = χ(g) |ψ⟩ has
//! ⟨U_g O U_g⁻¹⟩ = ⟨O⟩, so an average is that of the mean of all images of O, which the group leaves as it is; and products that are
//! images of each other have one average, which is computed once. On a device the sector's own kernels take them.

use super::super::{Contributions, MeanTerms, Moves, Moving, SymmetricSector, moving};
use super::SectorRows;
use super::exchanges::{exchange, exchanges};
use super::tables::{flip_tables, sector_tables, words};
use crate::PrepareError;
use crate::structure::by_flip;
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{DiagonalTerm, Operator, OperatorError, Product, SiteKind};
use eigenforge_runtime::{Arguments, Device, DeviceError, NamedTables, Scalar, Vector, trace};
use eigenforge_templates::exact::{AT_ONCE, DigitFactor, FlipGroup, FlipTables};
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
    let layout = sector.layout();
    let terms: Vec<(f64, Product)> =
        mean.iter().map(|(product, coefficient)| (*coefficient, product.clone())).collect();
    let operator = Operator::recorded(&terms, 1, layout.kinds().len(), Vec::new()).on_kinds(layout.kinds());
    (layout.diagonal_terms(&operator), moving(operator.terms(), layout))
}

/// The averages over orthonormal vectors on the host; of complex ones real parts of averages.
///
/// # Errors
/// No room for the list of states.
pub(crate) fn averages<T: Scalar>(
    sector: &SymmetricSector,
    kinds: &[SiteKind],
    basis: &Basis,
    multiplet: &[&[T]],
    products: &[Product],
) -> Result<Vec<f64>, OperatorError> {
    sector.check_list()?;
    sector.orbits.prepare();
    let classes = classes(sector, kinds, products);
    let wanted: Vec<&Product> = classes.iter().map(|class| &products[class.number]).collect();
    let exchanged = exchanges(sector, kinds, multiplet, &wanted)?;
    let value = |class: &Class| match (&exchanged, exchange(&products[class.number])) {
        (Some(averages), Some(pair)) => averages[pair],
        _ => average(sector, basis, multiplet, &parts(sector, &class.mean)),
    };
    Ok(spread(products, &classes, &classes.iter().map(value).collect::<Vec<f64>>()))
}

/// The tables of the kernel `operator_average` for many operators.
#[derive(Default)]
struct Tables {
    flips: Vec<FlipGroup>,
    masks: Vec<u64>,
    patterns: Vec<u64>,
    factors: Vec<f64>,
    ranges: Vec<[(&'static str, i64); 6]>,
}

/// A product of functions of digits as a sum over their values: bits, their values, the product.
fn by_values(factors: &[DigitFactor], coefficient: f64) -> Vec<(u64, u64, f64)> {
    factors.iter().fold(vec![(0, 0, coefficient)], |terms, factor| {
        let (bits, values) = factor.values();
        let with = |(mask, pattern, product): &(u64, u64, f64)| {
            let each = values.iter().map(|(value, of)| (mask | bits, pattern | value, product * of));
            each.collect::<Vec<_>>()
        };
        terms.iter().flat_map(with).collect()
    })
}

impl Tables {
    /// Adds an operator; real vectors have no average of terms times i.
    fn add(&mut self, (diagonal, moves): (Vec<DiagonalTerm<u128>>, Moving), complex: bool) {
        let (first_diagonal, first_flip) = (self.masks.len() as i64, self.flips.len() as i64);
        let (mut signs, mut bits) = (Vec::new(), Vec::new());
        for term in diagonal {
            match term.narrow() {
                DiagonalTerm::Parity { mask, coefficient } => signs.push((mask, 0, coefficient)),
                DiagonalTerm::Word { mask, coefficient } => bits.push((mask, mask, coefficient)),
                DiagonalTerm::Digits { factors, coefficient } => bits.extend(by_values(&factors, coefficient)),
                DiagonalTerm::Occupied { .. } | DiagonalTerm::Levels { .. } => unreachable!("sites have digits"),
            }
        }
        let end_signs = first_diagonal + signs.len() as i64;
        for (mask, pattern, factor) in signs.into_iter().chain(bits) {
            self.masks.push(mask);
            self.patterns.push(pattern);
            self.factors.push(factor);
        }
        let groups = |imaginary: bool| {
            let own = moves.iter().filter(|(_, times_i)| *times_i == imaginary);
            by_flip(&own.map(|(transition, _)| transition.narrow()).collect::<Vec<_>>())
        };
        self.flips.extend(groups(false));
        let end_real = self.flips.len() as i64;
        if complex {
            self.flips.extend(groups(true));
        }
        self.ranges.push([
            ("first_flip", first_flip),
            ("end_real", end_real),
            ("end_flip", self.flips.len() as i64),
            ("first_diagonal", first_diagonal),
            ("end_signs", end_signs),
            ("end_diagonal", self.masks.len() as i64),
        ]);
    }
}

/// The averages over orthonormal vectors where they are, on a device whose kernels make the rows.
///
/// # Errors
/// Memory for the tables of the sector; a text that does not compile.
pub(crate) fn averages_on_device<T: Scalar>(
    rows: &SectorRows,
    kinds: &[SiteKind],
    multiplet: &[&Vector<T>],
    device: &Device,
    products: &[Product],
) -> Result<Vec<f64>, PrepareError> {
    let _taking = trace::span("observables", "averages in a symmetry sector");
    let (plan, sector) = (rows.plan(), rows.sector());
    let classes = classes(sector, kinds, products);
    let mut tables = Tables::default();
    classes.iter().for_each(|class| tables.add(parts(sector, &class.mean), plan.complex));
    let kernel = device.compile(&plan.text()?)?;
    let flips = FlipTables::new(&tables.flips);
    let sizes = [flips.flip.len(), flips.care.len(), tables.masks.len()].map(|len| len as u64);
    let mut named = sector_tables(rows, &kernel, device)?;
    named.extend(NamedTables::uploaded(device, flip_tables(plan, &flips))?);
    named.upload(device, "diagonal_mask", words(plan, &tables.masks))?;
    named.upload(device, "diagonal_pattern", words(plan, &tables.patterns))?;
    named.upload(device, "diagonal_factor", &tables.factors)?;
    let mut partials = device.buffer(&vec![0.0; plan.partials() as usize])?;
    let mut dots = device.buffer(&[0.0; AT_ONCE])?;
    let [launch, finish] = plan.average(sizes).map_err(DeviceError::from)?;
    let share = 1.0 / multiplet.len().max(1) as f64;
    let mut found = Vec::with_capacity(classes.len());
    for numbers in &tables.ranges {
        let mut sum = 0.0;
        for x in multiplet {
            let vectors = Arguments::new().read("x", *x).write("partials", &mut partials);
            let arguments = numbers.iter().fold(vectors, |all, (name, number)| all.i64(name, *number));
            kernel.launch(&launch, arguments.tables(&named))?;
            let count = partials.len() as i64;
            let arguments = Arguments::new().read("partials", &partials).i64("count", count).i64("place", 0);
            kernel.launch(&finish, arguments.write("x_dot_y", &mut dots))?;
            sum += dots.download()?[0];
        }
        found.push(share * sum);
    }
    Ok(spread(products, &classes, &found))
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
    let (diagonal, moves) = (&parts.0, Moves::new(parts.1.clone()));
    let states = sector.states();
    let of_state = |state: usize| {
        let mut found = Contributions::default();
        sector.reach(basis, (diagonal, &moves), state, &mut found);
        let of_vector = |vector: &&[T]| {
            let own = sector.orbits().amplitude(vector, state);
            let each = found.0.iter().map(|(to, conjugates, value)| {
                let there = sector.orbits().amplitude(vector, *to as usize);
                (if *conjugates { there } else { there.conj() } * value * own).re
            });
            each.sum::<f64>()
        };
        multiplet.iter().map(of_vector).sum::<f64>()
    };
    let of_task = |task: usize| (task * STATES..states.min((task + 1) * STATES)).map(of_state).sum::<f64>();
    let sums: Vec<f64> = (0..states.div_ceil(STATES)).into_par_iter().map(of_task).collect();
    sums.iter().sum::<f64>() / multiplet.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InSector, Model};
    use crate::symmetric::conjugated::Conjugated;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::operator::{Charge, Factor, Symmetry, build};

    fn heisenberg(lattice: &Lattice, two_s: u32) -> Operator {
        let bonds = lattice.bonds().iter().map(|bond| build::sdots(bond.i, bond.j));
        let kinds = vec![SiteKind::Moments { two_s }; lattice.sites().len()];
        bonds.sum::<Operator>().on_kinds(&kinds).on_lattice(lattice)
    }

    /// Every pair by one look-up a moment, and each by itself.
    fn agrees(name: &str, model: &Model) {
        let (Some(sector), kinds) = (model.symmetric(), model.site_kinds()) else { panic!("{name}: no sector") };
        let length = model.dimension() as usize;
        let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 504.0 - 1.0;
        let vectors = [0, length].map(|from| (0..length).map(|k| number(from + k)).collect::<Vec<f64>>());
        let multiplet: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        let pairs = (0..kinds.len()).flat_map(|i| (0..i).map(move |j| vec![Factor::Lower(j), Factor::Raise(i)]));
        let products: Vec<Product> =
            pairs.chain((1..kinds.len()).map(|j| vec![Factor::Raise(0), Factor::Lower(j)])).collect();
        let found = averages(sector, &kinds, model.basis(), &multiplet, &products).unwrap();
        let all: Vec<&Product> = products.iter().collect();
        assert!(exchanges(sector, &kinds, &multiplet, &all).unwrap().is_some(), "{name}");
        let classes = classes(sector, &kinds, &products);
        let each = |class: &Class| average(sector, model.basis(), &multiplet, &parts(sector, &class.mean));
        let expected = spread(&products, &classes, &classes.iter().map(each).collect::<Vec<f64>>());
        let largest = expected.iter().fold(1e-3f64, |largest, value| largest.max(value.abs()));
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let product = &products[place];
            assert!((found - expected).abs() < 1e-12 * largest, "{name}: {product:?} {found} {expected}");
        }
    }

    #[test]
    fn exchanges_of_all_pairs_are_those_of_each() {
        let ring = Lattice::chain(10).periodic();
        let square = Lattice::square([4, 2]).periodic();
        let point = |k: &[i64]| Symmetry::new().k(k);
        for (name, lattice, two_s, two_sz, symmetry) in [
            ("k = 0", &ring, 1, 0, point(&[0])),
            ("k = 3", &ring, 1, 0, point(&[3])),
            ("k = 5 in a field", &ring, 1, 4, point(&[5])),
            ("all up but one", &ring, 1, 8, point(&[2])),
            ("all down", &ring, 1, -10, point(&[0])),
            ("parities", &ring, 1, 0, point(&[0]).reflection(1).spin_inversion(-1)),
            ("square", &square, 1, 0, point(&[1, 0])),
            ("spin 1", &Lattice::chain(6).periodic(), 2, 0, point(&[2])),
            ("spin 3/2", &Lattice::chain(4).periodic(), 3, 0, point(&[0]).spin_inversion(1)),
        ] {
            let model = heisenberg(lattice, two_s).charges(&[(Charge::TwoSz, two_sz)]).unwrap();
            let Ok(model) = model.symmetry(&symmetry) else { continue };
            agrees(name, &model);
            if let Some(conjugated) = Conjugated::new(&model) {
                agrees(&format!("{name}, conjugated"), &conjugated.model);
            }
        }
        // Sᶻ is not conserved: two charges, and none.
        let field: Operator = (0..8).map(build::sx).sum();
        let ring = Lattice::chain(8).periodic();
        let tilted = || heisenberg(&ring, 1) + 0.3 * field.clone();
        let pairing: Operator = (0..8).map(|i| build::sp(i) * build::sp((i + 1) % 8)).sum();
        let parity = heisenberg(&ring, 1) + 0.4 * (pairing.clone() + pairing.adjoint());
        agrees("no charge", &tilted().charges(&[]).unwrap().symmetry(&Symmetry::new().k(&[1])).unwrap());
        let odd = parity.charges(&[(Charge::Parity, -1)]).unwrap();
        agrees("parity", &odd.symmetry(&Symmetry::new().k(&[0])).unwrap());
    }
}
