//! Averages of normal-ordered products in the states of a multiplet.
//!
//! In: a model, the vectors of a multiplet on the host or on their device, the products. Out: one number per product, the mean
//! over the vectors. A vector is a matrix ([`halves`]). Diagonal products of one or two sites come from sums of v² along its rows
//! and columns ([`PairSums`]), all of them at once; any other product is a sum of products of short lists of pairs of columns
//! and of pairs of rows ([`moves`]), so that no state is ranked. On the CPU ([`host`]) and in generated kernels
//! ([`device`]); on a device the vector stays where it is.
//!
//! Work: two flops for each product, of which two sites have at most D/4 (spin 1/2, fermions); all pairs of a ring of N
//! sites are some N/8 multiplies with its H.

mod by_list;
mod by_states;
mod device;
mod halves;
mod host;
mod moves;
mod tables;
#[cfg(test)]
mod tests;

pub(super) use device::generated;

use super::model::Model;
use super::symmetric;
use eigenforge_core::basis::LinTables;
use eigenforge_core::operator::{Factor, OperatorError, Product, SiteLayout, Spin, Word};
use eigenforge_product::PrepareError;
use eigenforge_runtime::{Device, Scalar, Vector};
use halves::Halves;
use moves::{MoveTables, Moved, batches, sorted};
use ndarray::Array2;
use rayon::prelude::*;
use tables::DeviceTables;

/// Sums of v².
struct Weights {
    /// Σ v² a_i(l) b_j(h), with a_0 = b_0 = 1 and levels of the sites from 1 on.
    moments: Array2<f64>,
    /// Σ v² of each low word, over the columns of its class.
    rows: Vec<f64>,
    /// Σ v² of each column.
    columns: Vec<f64>,
}

impl Weights {
    fn new(halves: &Halves) -> Weights {
        let [low, high] = halves.sites;
        Weights {
            moments: Array2::zeros((low + 1, high + 1)),
            rows: vec![0.0; halves.lows.len()],
            columns: vec![0.0; halves.columns.len()],
        }
    }
}

/// Averages over the vectors of a multiplet from which diagonal products of one or two sites follow.
struct PairSums {
    /// ⟨a_i b_j⟩: i = 0 and j = 0 stand for 1, the others for the levels of the low and of the high sites.
    cross: Array2<f64>,
    /// ⟨a_i a_i'⟩ of low sites.
    low: Array2<f64>,
    /// ⟨b_j b_j'⟩ of high sites.
    high: Array2<f64>,
}

impl PairSums {
    fn new(halves: &Halves) -> PairSums {
        let [low, high] = halves.sites;
        PairSums {
            cross: Array2::zeros((low + 1, high + 1)),
            low: Array2::zeros((low, low)),
            high: Array2::zeros((high, high)),
        }
    }

    fn add_weights(&mut self, halves: &Halves, weights: &Weights, share: f64) {
        self.cross.scaled_add(share, &weights.moments);
        let columns: Vec<u64> = halves.columns.iter().map(|column| column.word).collect();
        add_moments(&mut self.low, halves, &halves.lows, &weights.rows, share);
        add_moments(&mut self.high, halves, &columns, &weights.columns, share);
    }

    /// ⟨n n'⟩ of electrons: low sites are those of the up electrons, high sites those of the down electrons.
    fn of_electrons(&self, up: &[usize], down: &[usize]) -> f64 {
        match (up, down) {
            ([], []) => self.cross[[0, 0]],
            ([i], []) => self.low[[*i, *i]],
            ([i, j], []) => self.low[[*i, *j]],
            ([], [i]) => self.high[[*i, *i]],
            ([], [i, j]) => self.high[[*i, *j]],
            ([i], [j]) => self.cross[[i + 1, j + 1]],
            _ => unreachable!("products of more sites are moves"),
        }
    }

    /// ⟨Sᶻ Sᶻ'⟩ of moments of spin `s`: Sᶻ is the level less S, and the low sites come first.
    fn of_moments(&self, sites: &[usize], s: f64) -> f64 {
        let (norm, cut) = (self.cross[[0, 0]], self.low.nrows());
        let level = |i: usize| if i < cut { self.cross[[i + 1, 0]] } else { self.cross[[0, i - cut + 1]] };
        let both = |i: usize, j: usize| match (i < cut, j < cut) {
            (true, true) => self.low[[i, j]],
            (false, false) => self.high[[i - cut, j - cut]],
            (true, false) => self.cross[[i + 1, j - cut + 1]],
            (false, true) => self.cross[[j + 1, i - cut + 1]],
        };
        match sites {
            [] => norm,
            [i] => level(*i) - s * norm,
            [i, j] => both(*i, *j) - s * (level(*i) + level(*j)) + s * s * norm,
            _ => unreachable!("products of more sites are moves"),
        }
    }
}

/// How each product is computed.
#[derive(Debug)]
struct Wanted {
    /// Number of the product, and the sites of its n↑, of its n↓ or its Sᶻ.
    weighted: Vec<(usize, [Vec<usize>; 2])>,
    /// The other products.
    moved: Vec<Moved>,
    /// How many products there are.
    products: usize,
}

impl Wanted {
    fn new(halves: &Halves, products: &[Product]) -> Wanted {
        let mut wanted = Wanted { weighted: Vec::new(), moved: Vec::new(), products: products.len() };
        for (number, product) in products.iter().enumerate() {
            match diagonal_sites(product) {
                _ if halves.layout.is_some() => wanted.moved.extend(Moved::all(halves, number, product)),
                Some(sites) if sites[0].len() + sites[1].len() <= 2 => wanted.weighted.push((number, sites)),
                _ => wanted.moved.extend(Moved::all(halves, number, product)),
            }
        }
        wanted.moved = sorted(wanted.moved);
        wanted
    }

    /// All averages from the sums of v² and from those of the moves.
    fn values(&self, halves: &Halves, sums: &PairSums, moved: Vec<(usize, f64)>) -> Vec<f64> {
        let mut values = vec![0.0; self.products];
        for (number, [up, down]) in &self.weighted {
            values[*number] = match halves.fermions {
                true => sums.of_electrons(up, down),
                false => sums.of_moments(down, 0.5 * f64::from(halves.two_s)),
            };
        }
        moved.into_iter().for_each(|(number, value)| values[number] += value);
        values
    }
}

/// The sites of n↑, and those of n↓ or Sᶻ, of a product of nothing else.
fn diagonal_sites(product: &[Factor]) -> Option<[Vec<usize>; 2]> {
    let mut sites = [Vec::new(), Vec::new()];
    for factor in product {
        match *factor {
            Factor::Create(spin, site) => {
                product.contains(&Factor::Annihilate(spin, site)).then_some(())?;
                sites[usize::from(spin != Spin::Up)].push(site);
            }
            Factor::Annihilate(spin, site) => product.contains(&Factor::Create(spin, site)).then_some(())?,
            Factor::Sz(site) => sites[1].push(site),
            _ => return None,
        }
    }
    Some(sites)
}

/// Words whose moments are added up at a time, so that the number of threads changes no bit.
const WORDS_AT_ONCE: usize = 1024;

/// Adds share · Σ weight level_i(word) level_j(word).
fn add_moments(moments: &mut Array2<f64>, halves: &Halves, words: &[u64], weights: &[f64], share: f64) {
    let sites = moments.nrows();
    let of_part = |(words, weights): (&[u64], &[f64])| {
        let (mut sums, mut levels) = (vec![0.0; sites * sites], vec![0.0; sites]);
        for (word, weight) in words.iter().zip(weights) {
            levels.iter_mut().enumerate().for_each(|(site, level)| *level = f64::from(halves.level(*word, site)));
            for (row, level) in sums.chunks_exact_mut(sites.max(1)).zip(&levels).filter(|(_, level)| **level != 0.0) {
                row.iter_mut().zip(&levels).for_each(|(sum, other)| *sum += weight * level * other);
            }
        }
        sums
    };
    let parts = words.par_chunks(WORDS_AT_ONCE).zip(weights.par_chunks(WORDS_AT_ONCE));
    let found: Vec<Vec<f64>> = parts.map(of_part).collect();
    for part in &found {
        moments.iter_mut().zip(part).for_each(|(sum, of_part)| *sum += share * of_part);
    }
}

/// The tables of a sector in which a low word has no row of its own.
fn without_rows(model: &Model) -> Result<Option<(&SiteLayout, LinTables)>, OperatorError> {
    match model.basis().word() {
        Word::Sites(layout) => {
            let tables = model.basis().lin_tables()?;
            Ok(tables.shared_lows.then_some((layout, tables)))
        }
        _ => Ok(None),
    }
}

/// The layout of states that are listed; `None` where they have tables.
fn listed_layout(model: &Model) -> Option<&SiteLayout> {
    match model.basis().word() {
        Word::Sites(layout) if model.basis().is_listed() => Some(layout),
        _ => None,
    }
}

/// What the host makes before sums over a vector can be taken on a device.
#[derive(Debug)]
pub(super) struct Prepared {
    halves: Halves,
    wanted: Wanted,
    /// The first tables of moves, if they are made already.
    first: Option<DeviceTables>,
}

impl Prepared {
    /// Everything, the first tables included: what can be made while a device looks for the states. `None` where averages are
    /// computed on the host.
    ///
    /// # Errors
    /// A sector without tables.
    pub(super) fn new(model: &Model, products: &[Product]) -> Result<Option<Prepared>, OperatorError> {
        let prepared = Prepared::without_tables(model, products)?;
        Ok(prepared.map(|prepared| {
            let first = batches(&prepared.halves, &prepared.wanted.moved).first().copied();
            let first = first.map(|part| DeviceTables::new(&prepared.halves, part));
            Prepared { first, ..prepared }
        }))
    }

    fn without_tables(model: &Model, products: &[Product]) -> Result<Option<Prepared>, OperatorError> {
        if listed_layout(model).is_some() || without_rows(model)?.is_some() {
            return Ok(None);
        }
        let halves = Halves::new(model.basis())?;
        let wanted = Wanted::new(&halves, products);
        Ok(Some(Prepared { halves, wanted, first: None }))
    }
}

/// The averages over orthonormal vectors where they are, on a device that runs kernels; `prepared` is what was made before.
///
/// # Errors
/// A text that does not compile; memory for the tables (some 64 MB at most for a large sector, twice that on the host).
pub(super) fn on_device<T: Scalar>(
    model: &Model,
    multiplet: &[&Vector<T>],
    device: &Device,
    products: &[Product],
    prepared: Option<&Prepared>,
) -> Result<Vec<f64>, PrepareError> {
    if let Some(prepared) = prepared {
        return device::on_device(model, multiplet, device, prepared);
    }
    if let Some(rows) = model.rows_on(T::TYPE, device) {
        return symmetric::averages_on_device(&rows, &model.site_kinds(), multiplet, device, products);
    }
    match Prepared::without_tables(model, products)? {
        Some(prepared) => device::on_device(model, multiplet, device, &prepared),
        None => {
            let vectors = multiplet.iter().map(|vector| vector.download()).collect::<Result<Vec<Vec<T>>, _>>()?;
            let vectors: Vec<&[T]> = vectors.iter().map(Vec::as_slice).collect();
            Ok(on_host(model, &vectors, products)?)
        }
    }
}

/// The averages over orthonormal vectors on the host.
pub(super) fn on_host<T: Scalar>(
    model: &Model,
    multiplet: &[&[T]],
    products: &[Product],
) -> Result<Vec<f64>, OperatorError> {
    if let Some(sector) = model.symmetric() {
        let kinds = model.site_kinds();
        return symmetric::averages(sector, &kinds, model.basis(), multiplet, products);
    }
    if let Some(layout) = listed_layout(model) {
        return Ok(by_list::averages(layout, model.basis(), multiplet, products));
    }
    if let Some((layout, tables)) = without_rows(model)? {
        return by_states::averages(layout, &tables, multiplet, products);
    }
    let halves = Halves::new(model.basis())?;
    let wanted = Wanted::new(&halves, products);
    let (mut sums, share) = (PairSums::new(&halves), 1.0 / multiplet.len().max(1) as f64);
    if !wanted.weighted.is_empty() {
        multiplet.iter().for_each(|vector| sums.add_weights(&halves, &host::weights(&halves, vector), share));
    }
    let mut moved = Vec::new();
    for part in batches(&halves, &wanted.moved) {
        let tables = MoveTables::new(&halves, part);
        for vector in multiplet {
            let found = host::transitions(&halves, &tables, vector);
            moved.extend(part.iter().zip(found).map(|(product, sum)| (product.number, share * product.factor * sum)));
        }
    }
    Ok(wanted.values(&halves, &sums, moved))
}
