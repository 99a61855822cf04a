//! Talmi–Moshinsky brackets of two equal masses from SU(3) coefficients, and jj-coupled states in relative coordinates.
//!
//! In: the quanta N of two nucleons. Out: ⟨(nR lR)(nr lr); L|(n1 l1)(n2 l2); L⟩ with R = (r1 + r2)/√2, r = (r1 − r2)/√2, n the
//! total quanta and radial functions positive at infinity,
//!
//! ```text
//! (−1)^{n2} Σ_{f, κ} d^{λf/2}_{(nR−nr)/2, (n1−n2)/2}(π/2) ⟨(nR 0)lR; (nr 0)lr ‖ f κ L⟩ ⟨(n1 0)l1; (n2 0)l2 ‖ f κ L⟩,  f = (N−2k, k)
//! ```
//! since the rotation of (r1, r2) into (R, r) acts in an SU(2) that commutes with SU(3), on |(n1 0)(n2 0) f⟩ as on a spin λf/2
//! with projection (n1 − n2)/2. From them the orthogonal matrix between |(n1 l1 j1)(n2 l2 j2); J⟩ and |nR lR, (nr lr S)j; J⟩:
//! L and S by 9j, then (−1)^{lR+lr+S+J} L̂ ĵ {lR lr L; S J j}.

use super::recoupling::Recoupling;
use super::space::{ShellPair, momenta};
use super::table_cache::TableCache;
use super::tables::{OrbitalTable, orbital_tables};
use eigenforge_su3::{Coupler, LabelError, SquareTable};

/// |nR lR, (nr lr S) j; J⟩ without J.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RelativeState {
    /// Quanta and angular momentum of the centre of mass.
    pub centre: [u32; 2],
    /// Quanta of relative motion.
    pub n: u32,
    /// Its angular momentum.
    pub l: u32,
    /// Spin.
    pub s: u32,
    /// Coupling of l and S.
    pub j: u32,
}

/// Brackets of all states with N quanta.
#[derive(Debug)]
pub(super) struct Brackets {
    quanta: u32,
    /// By n1, then by L: ⟨(n1 0)l1; (N−n1 0)l2 ‖ f κ L⟩.
    tables: Vec<Vec<OrbitalTable>>,
    /// d^{(N−2k)/2}_{m m'}(π/2) at [k][j+m'][j+m].
    rotations: Vec<Vec<Vec<f64>>>,
}

impl Brackets {
    pub(super) fn new(coupler: &Coupler, cache: &TableCache, quanta: u32) -> Brackets {
        let squares = orbital_tables(coupler, cache, quanta);
        // For each pair W^f by L, then W^i.
        let of_pairs = squares.chunks_exact(2 * (quanta as usize + 1)).map(|tables| &tables[..tables.len() / 2]);
        let ordered = |squares: &[SquareTable]| {
            squares.iter().map(|table| OrbitalTable::new(table, |row| (row.l1, row.l2))).collect()
        };
        let tables = of_pairs.map(ordered).collect();
        let rotations = (0..=quanta / 2).map(|k| quarter_turn((quanta - 2 * k) as usize)).collect();
        Brackets { quanta, tables, rotations }
    }

    /// The bracket matrix of L: rows the pairs (l1, l2) of (n1, N−n1), columns (lR, lr) of (nR, N−nR).
    fn matrix(&self, n1: u32, centre: u32, l: u32) -> Vec<f64> {
        let [one, two] = [n1, centre].map(|a| &self.tables[a as usize][l as usize]);
        let mut brackets = vec![0.0; one.order * two.order];
        let n2 = self.quanta - n1;
        for (irrep, row) in &one.first {
            let Some(column) = two.first_of(*irrep) else { continue };
            let rotation = self.rotations[irrep.mu as usize][(n1 - irrep.mu) as usize][(centre - irrep.mu) as usize];
            let factor = if n2.is_multiple_of(2) { rotation } else { -rotation };
            for kappa in 0..irrep.kappa_max(l) as usize {
                let left = &one.values[(row + kappa) * one.order..][..one.order];
                let right = &two.values[(column + kappa) * two.order..][..two.order];
                for (sums, left) in brackets.chunks_exact_mut(two.order).zip(left) {
                    sums.iter_mut().zip(right).for_each(|(sum, right)| *sum += factor * left * right);
                }
            }
        }
        brackets
    }

    /// The states of relative motion with total J.
    pub(super) fn relative_states(&self, total: u32) -> Vec<RelativeState> {
        let mut states = Vec::new();
        for nr in 0..=self.quanta {
            let centre = self.quanta - nr;
            for (lr, l) in momenta(centre).flat_map(|lr| momenta(nr).map(move |l| (lr, l))) {
                for s in [0, 1] {
                    let couples = |j: &u32| lr.abs_diff(*j) <= total && total <= lr + j;
                    let j = (l.abs_diff(s)..=l + s).filter(couples);
                    states.extend(j.map(|j| RelativeState { centre: [centre, lr], n: nr, l, s, j }));
                }
            }
        }
        states
    }

    /// At [jj state][relative state] for the jj states of the given pairs with N quanta, pair by pair.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn to_relative(
        &self,
        coupler: &Coupler,
        pairs: &[ShellPair],
        total: u32,
        states: &[RelativeState],
    ) -> Result<Vec<f64>, LabelError> {
        let mut rows = Vec::new();
        for pair in pairs {
            let recoupling = Recoupling::new(coupler.symbols(), *pair, total)?;
            let first = rows.len();
            rows.resize(first + pair.jj_states(total).len() * states.len(), 0.0);
            for group in &recoupling.groups {
                let ls = self.ls_to_relative(coupler, pair.a, [group.l, group.s, total], states)?;
                for (state, from) in ls.chunks_exact(states.len().max(1)).enumerate() {
                    for (jj, a) in &recoupling.terms[group.start + state] {
                        let target = &mut rows[first + *jj as usize * states.len()..][..states.len()];
                        target.iter_mut().zip(from).for_each(|(sum, b)| *sum += a * b);
                    }
                }
            }
        }
        Ok(rows)
    }

    /// At [(l1 l2)][relative state], of one n1, L and S.
    fn ls_to_relative(
        &self,
        coupler: &Coupler,
        n1: u32,
        [l, s, total]: [u32; 3],
        states: &[RelativeState],
    ) -> Result<Vec<f64>, LabelError> {
        let order = self.tables[n1 as usize][l as usize].order;
        let mut rows = vec![0.0; order * states.len()];
        let mut brackets = (u32::MAX, Vec::new(), Vec::new());
        for (at, state) in states.iter().enumerate().filter(|(_, state)| state.s == s) {
            let [centre, lr] = state.centre;
            if lr.abs_diff(state.l) > l || l > lr + state.l {
                continue;
            }
            if brackets.0 != centre {
                let pair = ShellPair { a: centre, b: self.quanta - centre };
                brackets = (centre, self.matrix(n1, centre, l), pair.orbital_pairs(l));
            }
            let Ok(column) = brackets.2.binary_search(&(lr, state.l)) else { continue };
            let width = brackets.2.len();
            let two_j = [lr, state.l, l, s, total, state.j].map(|x| 2 * i64::from(x));
            let sign = if (lr + state.l + s + total) % 2 == 0 { 1.0 } else { -1.0 };
            let hats = f64::from((2 * l + 1) * (2 * state.j + 1)).sqrt();
            let factor = sign * hats * coupler.symbols().six_j(two_j)?;
            for row in 0..order {
                rows[row * states.len() + at] = factor * brackets.1[row * width + column];
            }
        }
        Ok(rows)
    }
}

/// d^j_{m m'}(π/2) at [j+m'][j+m] for n = 2j: 2^{−j} √((j+m)!(j−m)! / [(j+m')!(j−m')!]) [x^{j+m}] (1+x)^{j+m'} (1−x)^{j−m'}.
fn quarter_turn(n: usize) -> Vec<Vec<f64>> {
    // C(n, k) as f64: exact up to n = 56, beyond any N_max served here.
    let choose = |k: usize| (0..k).fold(1.0, |c, i| (c * (n - i) as f64 / (i + 1) as f64).round());
    let column = |up: usize| {
        // (1+x)^up (1−x)^(n−up), integers
        let mut polynomial = vec![0.0; n + 1];
        polynomial[0] = 1.0;
        for factor in 0..n {
            let x = if factor < up { 1.0 } else { -1.0 };
            (1..=n).rev().for_each(|power| polynomial[power] += x * polynomial[power - 1]);
        }
        // (j+m)!(j−m)! / [(j+m')!(j−m')!] = C(n, j+m') / C(n, j+m)
        let scale = |m: usize| (choose(up) / choose(m)).sqrt() * 0.5f64.powf(n as f64 / 2.0);
        polynomial.iter().enumerate().map(|(m, coefficient)| coefficient * scale(m)).collect()
    };
    (0..=n).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J. Talmi (1952) and M. Moshinsky (1959): ⟨(1 1)(0 0); 1|(1 1)(0 0); 1⟩ = 1/√2 for R = (r1+r2)/√2; two quanta in s and d.
    #[test]
    fn the_lowest_brackets() {
        let brackets = Brackets::new(&Coupler::new(), &TableCache::off(), 1);
        let half = 0.5f64.sqrt();
        // r1 = (R + r)/√2, r2 = (R − r)/√2
        for (n1, centre, expected) in [(1, 1, half), (1, 0, half), (0, 1, half), (0, 0, -half)] {
            let found = brackets.matrix(n1, centre, 1);
            assert!((found[0] - expected).abs() < 1e-15, "{n1} {centre}: {found:?}");
        }
    }

    #[test]
    fn jj_to_relative_is_orthogonal() {
        let coupler = Coupler::new();
        for quanta in [0u32, 1, 4, 5] {
            let brackets = Brackets::new(&coupler, &TableCache::off(), quanta);
            let pairs: Vec<ShellPair> = (0..=quanta).map(|a| ShellPair { a, b: quanta - a }).collect();
            for total in 0..=quanta + 1 {
                let states = brackets.relative_states(total);
                let matrix = brackets.to_relative(&coupler, &pairs, total, &states).unwrap();
                let n = states.len();
                assert_eq!(matrix.len(), n * n, "as many jj states as relative ones");
                for (i, a) in matrix.chunks_exact(n).enumerate() {
                    for (j, b) in matrix.chunks_exact(n).enumerate() {
                        let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                        let unit = if i == j { 1.0 } else { 0.0 };
                        assert!((product - unit).abs() < 1e-13, "N = {quanta}, J = {total}");
                    }
                }
            }
        }
    }
}
