//! S₊ on vectors over all determinants.
//!
//! In: vectors of a complete space, an α string a row and a β string a column. Out: ⟨k|S₋S₊|l⟩ = ⟨S₊k|S₊l⟩ of pairs of them. S₊ = Σ_p a†_pα a_pβ
//! leads to strings of one α electron more and one β electron less:
//!
//! (S₊ψ)(α', β') = ± Σ_(p in α', not in β') (−1)^(n_p(α') + n_p(β')) ψ(α' − p, β' + p),
//!
//! where n_p counts electrons in orbitals below p; the common sign drops out of the products. A row of S₊ψ is made at a time, of whole rows of ψ: a
//! list for each p says which β' of it come from which β.

use super::orbital_number::OrbitalNumber;
use super::space::Space;
use super::strings::{Occupation, combinations, occupied};
use rayon::prelude::*;

/// Rows of S₊ψ per task; fixed, so that sums do not depend on the number of threads.
const ROWS: usize = 16;

/// An element of a row of S₊ψ, an element of a row of ψ, and whether the sign changes.
struct Move {
    to: u32,
    from: u32,
    odd: bool,
}

fn is_odd_below(word: Occupation, orbital: usize) -> bool {
    (word & ((1 << orbital) - 1)).count_ones() % 2 == 1
}

/// Whether all determinants are in the space, in rows of one α string each.
pub(super) fn is_grid(space: &Space) -> bool {
    space.is_complete() && space.irrep().is_none()
}

/// ⟨k|S₋S₊|l⟩ of pairs (k, l) of vectors of a [grid](is_grid).
pub(super) fn products<T: OrbitalNumber>(space: &Space, vectors: &[&[T]], pairs: &[(usize, usize)]) -> Vec<T> {
    let (orbitals, alpha, beta) = (space.orbitals(), space.alpha(), space.beta());
    let zeros = vec![T::default(); pairs.len()];
    if alpha.electrons() == orbitals || beta.electrons() == 0 {
        return zeros;
    }
    let lowered: Vec<Occupation> = combinations(orbitals, beta.electrons() - 1).collect();
    let raised: Vec<Occupation> = combinations(orbitals, alpha.electrons() + 1).collect();
    let moves = |p: usize| -> Vec<Move> {
        let without = lowered.iter().enumerate().filter(|(_, word)| *word >> p & 1 == 0);
        let step = |(to, word): (usize, &Occupation)| {
            let from = beta.rank(word | 1 << p)?;
            Some(Move { to: to as u32, from, odd: is_odd_below(*word, p) })
        };
        without.filter_map(step).collect()
    };
    let moves: Vec<Vec<Move>> = (0..orbitals).into_par_iter().map(moves).collect();
    let columns = beta.words().len();
    let of_rows = |words: &[Occupation]| {
        let (mut sums, mut images) = (zeros.clone(), vec![vec![T::default(); lowered.len()]; vectors.len()]);
        for word in words {
            for (image, vector) in images.iter_mut().zip(vectors) {
                image.fill(T::default());
                for p in occupied(*word) {
                    let Some(row) = alpha.rank(word ^ (1 << p)) else { continue };
                    let row = &vector[row as usize * columns..][..columns];
                    let odd = is_odd_below(*word, p);
                    for step in &moves[p] {
                        let value = row[step.from as usize];
                        image[step.to as usize] += if step.odd == odd { value } else { -value };
                    }
                }
            }
            for (sum, (k, l)) in sums.iter_mut().zip(pairs) {
                let products = images[*k].iter().zip(&images[*l]).map(|(bra, ket)| bra.conjugate() * *ket);
                *sum += products.sum::<T>();
            }
        }
        sums
    };
    let parts: Vec<Vec<T>> = raised.par_chunks(ROWS).map(of_rows).collect();
    (0..pairs.len()).map(|pair| parts.iter().map(|part| part[pair]).sum()).collect()
}
