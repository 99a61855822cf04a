//! The Gram matrix of a state with electrons taken out of it, which is a density matrix.
//!
//! In: a space, which electrons leave (none, one or two of each spin), pairs of vectors. Out: for the labels x, y of
//! what leaves G_xy = Σ_K ⟨K|A_x|bra⟩ ⟨K|A_y|ket⟩, A_x = a_rβ a_pα, a_pα a_qα, … Determinants K with electrons missing
//! are no part of the space: they are those that its own determinants leave behind, so the sum is exact in a truncated
//! space too, where a product of two excitations by way of the space's own determinants would not be.
//!
//! For each α string that remains the rows that it came from are listed with the β strings that remain of them, and
//! sorted by these; each group is one K. Work: Σ_K (rows that lead to K)², as much as H has elements. Full spaces take dense
//! [panels](super::panels) in place of sorted lists.
//!
//! The α remainders are cut into chunks that depend on their number alone, and the chunks' matrices are added in order:
//! the same bits for any number of threads.

use super::DensityError;
use super::panels::{Panels, Room};
use super::removal::{Addition, Removal};
use crate::space::Space;
use eigenforge_runtime::Device;
use rayon::prelude::*;

/// Chunks that the α remainders are dealt into: more than most hosts have threads.
const CHUNKS: usize = 64;

/// A pair of vectors and what its product counts.
pub(super) struct Product<'a> {
    pub bra: &'a [f64],
    pub ket: &'a [f64],
    pub weight: f64,
}

/// A row that leads to a determinant with electrons missing.
#[derive(Clone, Copy)]
struct Origin {
    /// β string that remains (upper 32 bits), label of what left (lower).
    key: u64,
    /// Row, and in the lowest bit whether the sign is −1.
    row: u64,
}

impl Origin {
    fn remainder(&self) -> u64 {
        self.key >> 32
    }

    fn amplitude(&self, vector: &[f64]) -> f64 {
        let value = vector[(self.row >> 1) as usize];
        if self.row & 1 == 1 { -value } else { value }
    }
}

/// G for `alpha` electrons of one spin and `beta` of the other, row-major; label of both = α label × β labels + β
/// label. Bras equal kets where `symmetric` says so.
pub(super) fn gram(
    space: &Space,
    [alpha, beta]: [usize; 2],
    products: &[Product<'_>],
    symmetric: bool,
) -> Result<Vec<f64>, DensityError> {
    gram_by(space, [alpha, beta], (products, symmetric), |right| Panels::new(space, right))
}

fn gram_by(
    space: &Space,
    [alpha, beta]: [usize; 2],
    (products, symmetric): (&[Product<'_>], bool),
    panels: impl Fn(&Removal) -> Option<Panels>,
) -> Result<Vec<f64>, DensityError> {
    let left = Removal::new(space.orbitals(), space.alpha(), alpha)?;
    let right = Removal::new(space.orbitals(), space.beta(), beta)?;
    let (labels, remainders, panels) = (left.labels * right.labels, left.remainders, panels(&right));
    let pass = Pass { space, left: left.reversed(), right, panels, labels, products, symmetric };
    pass.matrix(remainders)
}

/// Tasks of so many bytes each that run at once beside what all of them share.
fn at_once(what: &str, shared: u64, task: u64) -> Result<usize, DensityError> {
    let host = Device::cpu();
    host.check_memory(what, shared + task)?;
    let room = (host.memory().free - shared) / task.max(1);
    Ok((rayon::current_num_threads() as u64).min(room / 2).max(1) as usize)
}

/// What all tasks share.
struct Pass<'a> {
    space: &'a Space,
    left: Addition,
    right: Removal,
    /// Where they pay.
    panels: Option<Panels>,
    labels: usize,
    products: &'a [Product<'a>],
    symmetric: bool,
}

impl Pass<'_> {
    /// The shares of all α remainders.
    fn matrix(&self, remainders: usize) -> Result<Vec<f64>, DensityError> {
        let labels = self.labels;
        let (at_once, chunks) = (self.tasks(remainders)?, CHUNKS.min(remainders));
        let mut sum = vec![0.0; labels * labels];
        for first in (0..chunks).step_by(at_once) {
            let wave = first..(first + at_once).min(chunks);
            let parts: Vec<Vec<f64>> = wave.into_par_iter().map(|chunk| self.part(chunk, chunks, remainders)).collect();
            sum.par_chunks_mut(labels.max(1)).enumerate().for_each(|(row, sums)| {
                for part in &parts {
                    let part = &part[row * labels..(row + 1) * labels];
                    sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
                }
            });
        }
        if self.symmetric {
            (0..labels).for_each(|x| (0..x).for_each(|y| sum[x * labels + y] = sum[y * labels + x]));
        }
        Ok(sum)
    }

    /// The share of every `chunks`-th remainder, from `chunk` on.
    fn part(&self, chunk: usize, chunks: usize, remainders: usize) -> Vec<f64> {
        let mut part = vec![0.0; self.labels * self.labels];
        if let Some(panels) = &self.panels {
            let mut room = Room::default();
            for steps in (chunk..remainders).step_by(chunks).map(|remainder| self.left.strings(remainder)) {
                for product in self.products {
                    panels.add(self.space, steps, (product, self.symmetric), &mut room, &mut part);
                }
            }
            return part;
        }
        let (mut origins, mut values) = (Vec::new(), Vec::new());
        for remainder in (chunk..remainders).step_by(chunks) {
            self.origins(remainder, &mut origins);
            for product in self.products {
                for group in origins.chunk_by(|one, other| one.remainder() == other.remainder()) {
                    self.add(group, product, &mut values, &mut part);
                }
            }
        }
        part
    }

    /// As many chunks at once as there are threads and as memory has room for their matrices and lists.
    fn tasks(&self, remainders: usize) -> Result<usize, DensityError> {
        let matrix = (self.labels * self.labels * size_of::<f64>()) as u64;
        let what = || format!("a density matrix of {} x {0} pairs of orbitals", self.labels);
        if let Some(panels) = &self.panels {
            let [places, room] = panels.bytes(&self.left, remainders);
            return at_once(&what(), matrix + places, matrix + room);
        }
        let rows = |alpha: u32| {
            let mut rows = 0u64;
            self.space.rows_of(alpha, |_, _| rows += 1);
            rows * self.right.ways as u64
        };
        let rows: Vec<u64> = (0..self.space.alpha().words().len() as u32).into_par_iter().map(rows).collect();
        let origins =
            |remainder| self.left.strings(remainder).iter().map(|step| rows[step.string as usize]).sum::<u64>();
        let longest = (0..remainders).into_par_iter().map(origins).max().unwrap_or(0);
        // A growing list is copied into one of twice the size.
        let task = matrix + 3 * longest * size_of::<Origin>() as u64;
        at_once(&what(), matrix, task)
    }

    /// The rows that an α remainder is of, with each of their β remainders; sorted by these.
    fn origins(&self, remainder: usize, origins: &mut Vec<Origin>) {
        origins.clear();
        for up in self.left.strings(remainder) {
            self.space.rows_of(up.string, |beta, row| {
                origins.extend(self.right.remainders(beta).iter().map(|down| {
                    let label = usize::from(up.label) * self.right.labels + usize::from(down.label);
                    let key = u64::from(down.string) << 32 | label as u64;
                    Origin { key, row: row << 1 | u64::from(up.odd != down.odd) }
                }));
            });
        }
        origins.sort_unstable_by_key(|origin| origin.key);
    }

    /// The products of one determinant with electrons missing; the upper triangle only where bra and ket are the same.
    fn add(&self, group: &[Origin], product: &Product<'_>, values: &mut Vec<(usize, f64)>, part: &mut [f64]) {
        values.clear();
        values.extend(group.iter().map(|origin| (origin.key as u32 as usize, origin.amplitude(product.ket))));
        for (first, origin) in group.iter().enumerate() {
            let bra = product.weight * origin.amplitude(product.bra);
            let row = origin.key as u32 as usize * self.labels;
            let row = &mut part[row..row + self.labels];
            for (label, ket) in &values[if self.symmetric { first } else { 0 }..] {
                row[*label] += bra * ket;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in (−1, 1) without a pattern.
    fn numbers(count: u64, seed: f64) -> Vec<f64> {
        (0..count).map(|k| (seed + 1.7 * k as f64 + 0.3 * (k * k % 97) as f64).sin()).collect()
    }

    #[test]
    fn panels_and_sorted_lists_give_the_same() {
        let irreps = [1, 2, 3, 1, 4, 2];
        let spaces = [
            Space::full(6, 3, 3),
            Space::full(5, 4, 1),
            Space::full(4, 0, 2),
            Space::full(2, 1, 1),
            Space::full(6, 3, 2).and_then(|space| space.in_irrep(&irreps, 2)),
            Space::excitations(6, 3, 3, 2),
        ];
        for space in spaces.map(Result::unwrap) {
            let vectors = [1.0, 2.0, 3.0].map(|seed| numbers(space.len(), seed));
            let pairs = [(0, 0, 0.7), (1, 1, 0.3), (0, 2, -0.4)];
            let products = pairs.map(|(bra, ket, weight)| Product { bra: &vectors[bra], ket: &vectors[ket], weight });
            for electrons in [[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]] {
                for (products, symmetric) in [(&products[..2], true), (&products[..], false)] {
                    let both = [true, false].map(|dense| {
                        let panels = |right: &Removal| dense.then(|| Panels::of_any(&space, right));
                        gram_by(&space, electrons, (products, symmetric), panels).unwrap()
                    });
                    assert_eq!(both[0].len(), both[1].len());
                    for (panel, list) in both[0].iter().zip(&both[1]) {
                        assert!((panel - list).abs() < 1e-12 * space.len() as f64, "{electrons:?}: {panel} {list}");
                    }
                }
            }
        }
    }
}
