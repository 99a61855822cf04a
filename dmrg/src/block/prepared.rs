//! Converts vectors over the configurations of a sector into the state of a sweep.
//!
//! In: configurations, with one amplitude per vector. Out: the states kept of every site and, for each vector, ψ at the
//! first bond, as after a sweep to the left. Starting at the right end, each site joins the block behind it: the
//! eigenvectors of Σ_v ρ_v of the right part with the largest weights are kept (as for White's density matrices), and the
//! amplitudes are expressed in them. A product state is a single configuration.

use super::blocks::{Sectors, Side};
use super::bond::Frame;
use super::state::Isometry;
use super::truncate::{TruncationLimits, choose};
use super::whole_sector::WholeSector;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::error::DmrgError;
use eigenforge_runtime::dense::{View, eigen, multiply_add};
use faer::Mat;

/// Weights of a density matrix below this fraction of the total are rounding errors.
const ROUNDING: f64 = 1e-15;

/// The start state of a sweep, with ψ at the first bond.
pub(crate) struct Prepared {
    /// The states kept of each site; `None` for the first two.
    pub kept: Vec<Option<Isometry>>,
    /// ψ of each vector.
    pub waves: Vec<Vec<f64>>,
}

/// The left parts of configurations, with amplitudes in the states kept of the right part.
struct Rows {
    /// (code of the first sites, their charges, first amplitude), in ascending order.
    list: Vec<(u128, Charges, usize)>,
    /// Amplitudes of each vector.
    amplitudes: Vec<Vec<f64>>,
}

impl Prepared {
    /// Keeps at most `most` states of a block.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn new(
        chain: &Chain,
        sector: &WholeSector,
        vectors: &[&[f64]],
        most: usize,
    ) -> Result<Prepared, DmrgError> {
        let charges = |code: u128| {
            let states = (0..chain.sites).map(|p| chain.site(p).charges()[sector.state(code, p)]);
            states.fold(Charges::default(), |sum, own| sum + own)
        };
        let list = sector.codes.iter().enumerate().map(|(k, code)| (*code, charges(*code), k)).collect();
        let mut rows = Rows { list, amplitudes: vectors.iter().map(|vector| vector.to_vec()).collect() };
        let (mut behind, mut kept) = (Sectors::end(), (0..chain.sites).map(|_| None).collect::<Vec<_>>());
        for p in (2..chain.sites).rev() {
            let isometry = rows.add_site(chain, sector.bits(), p, &behind, most)?;
            behind = isometry.kept.clone();
            kept[p] = Some(isometry);
        }
        let waves = rows.waves(chain, sector.bits(), &behind);
        Ok(Prepared { kept, waves })
    }
}

impl Rows {
    /// Moves site `p` from the left parts into the block behind it.
    fn add_site(
        &mut self,
        chain: &Chain,
        bits: u32,
        p: usize,
        behind: &Sectors,
        most: usize,
    ) -> Result<Isometry, DmrgError> {
        let enlarged = chain.enlarge(Side::Right, behind, p + 1);
        // For each left part without the site: its sector of the enlarged block, and its column there.
        let mut columns = vec![0; enlarged.sectors.len()];
        let mut list: Vec<(u128, Charges, usize, usize)> = Vec::new();
        let mut copies = Vec::new();
        for (code, charges, first) in &self.list {
            let state = *code as usize & ((1 << bits) - 1);
            let left = *charges - chain.site(p).charges()[state];
            let places = behind.find(chain.total - *charges).map(|block| (block, enlarged.place(block, state)));
            let Some((block, Some((q, row)))) = places else { continue };
            if list.last().is_none_or(|last| last.0 != code >> bits) {
                list.push((code >> bits, left, q, columns[q]));
                columns[q] += 1;
            }
            let column = columns[q] - 1;
            copies.push((q, row, column, *first, behind.dimension(block)));
        }
        let matrices = |amplitudes: &Vec<f64>| {
            let empty = |q: usize| vec![0.0; enlarged.sectors.dimension(q) * columns[q]];
            let mut matrices: Vec<Vec<f64>> = (0..columns.len()).map(empty).collect();
            for (q, row, column, first, count) in &copies {
                let to = row + column * enlarged.sectors.dimension(*q);
                matrices[*q][to..to + count].copy_from_slice(&amplitudes[*first..first + count]);
            }
            matrices
        };
        let matrices: Vec<Vec<Vec<f64>>> = self.amplitudes.iter().map(matrices).collect();
        let kept = kept_states(&enlarged.sectors, &matrices, &columns, most)?;
        let mut next = Rows { list: Vec::new(), amplitudes: vec![Vec::new(); matrices.len()] };
        for (code, left, q, column) in list {
            let Some(u) = kept.block(q) else { continue };
            next.list.push((code, left, next.amplitudes[0].len()));
            for (own, amplitudes) in matrices.iter().zip(&mut next.amplitudes) {
                let from = &own[q][column * u.rows..][..u.rows];
                let onto = |k: usize| -> f64 {
                    kept.data[u.offset + k * u.rows..][..u.rows].iter().zip(from).map(|(u, x)| u * x).sum()
                };
                amplitudes.extend((0..u.columns).map(onto));
            }
        }
        *self = next;
        Ok(kept)
    }

    /// ψ of each vector at the first bond.
    fn waves(&self, chain: &Chain, bits: u32, behind: &Sectors) -> Vec<Vec<f64>> {
        let frame = Frame::new(chain, 0, &Sectors::end(), behind);
        let mut waves = vec![vec![0.0; frame.layout.length]; self.amplitudes.len()];
        for (code, charges, first) in &self.list {
            let (left, right) = ((code >> bits) as usize, *code as usize & ((1 << bits) - 1));
            let Some(block) = behind.find(chain.total - *charges) else { continue };
            let places = (frame.left.place(0, left), frame.right.place(block, right));
            let (Some((sector, row)), Some((_, column))) = places else { continue };
            let Some(index) = frame.layout.of_left(sector) else { continue };
            let pair = &frame.layout.sectors[index];
            for (wave, amplitudes) in waves.iter_mut().zip(&self.amplitudes) {
                for k in 0..behind.dimension(block) {
                    wave[pair.offset + row + (column + k) * pair.rows] = amplitudes[first + k];
                }
            }
        }
        waves
    }
}

/// The eigenvectors with the largest weights of Σ_v M_v M_vᵀ, sector by sector.
fn kept_states(
    sectors: &Sectors,
    matrices: &[Vec<Vec<f64>>],
    columns: &[usize],
    most: usize,
) -> Result<Isometry, DmrgError> {
    let density = |q: usize| {
        let d = sectors.dimension(q);
        let mut density = vec![0.0; d * d];
        for own in matrices {
            let m = View::new(&own[q], d, columns[q]);
            if columns[q] > 0 {
                multiply_add(&mut density, d, d, d, 1.0, m, m.transpose());
            }
        }
        eigen(View::new(&density, d, d))
    };
    let solved = (0..sectors.len()).map(density).collect::<Result<Vec<_>, _>>()?;
    let all: f64 = solved.iter().flat_map(|(values, _)| values).sum();
    let weights = |(values, _): &(Vec<f64>, Mat<f64>)| -> Vec<f64> {
        values.iter().rev().map(|w| if *w > ROUNDING * all { *w } else { 0.0 }).collect()
    };
    let weights: Vec<Vec<f64>> = solved.iter().map(weights).collect();
    let limits = TruncationLimits { most, least: 1, discarded: 0.0, factored: None };
    let counts = choose(&weights.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
    let keep = |q: usize| {
        let (d, vectors) = (sectors.dimension(q), &solved[q].1);
        (counts[q] > 0).then(|| Mat::from_fn(d, counts[q], |i, j| vectors[(i, d - 1 - j)]))
    };
    Ok(Isometry::new(sectors, &(0..sectors.len()).map(keep).collect::<Vec<_>>()))
}
