//! From jj to LS coupling, and from J to the rank S0 of a tensor's spin.
//!
//! In: a pair of shells. Out: for each J the orthogonal matrix between its jj and its LS states,
//!
//! ```text
//! A(la lb L S; ja jb J) = L̂ Ŝ ĵa ĵb {la lb L; ½ ½ S; ja jb J},    x̂ = √(2x+1)
//! ```
//! and the factors that take ⟨(la lb)Lf Sf; J|V|(lc ld)Li Si; J⟩ to rank S0: the ket's A has its nucleons exchanged and the
//! phase (−1)^{Li+jc+jd} in the expansion (Oberhuber et al. 2021, eq. 7, corrected for ordinary matrix elements: 2J+1 in place
//! of its root), which together with (−1)^{Sf+S0+nc+nd} is the sign below:
//!
//! ```text
//! Y_{Sf Si S0}(Lf, Li) = Σ_J (−1)^{Sf+Si+S0+J+1} Ŝ0 (2J+1) {Lf Li S0; Si Sf J} X^J(Lf Sf, Li Si),   X = A V Aᵀ
//! ```

use super::plan::SPINS;
use super::space::ShellPair;
use eigenforge_su3::{LabelError, Symbols};

/// jj ↔ LS of one pair of shells and one J.
#[derive(Debug, Clone)]
pub(super) struct Recoupling {
    /// LS states by S, then L; within one (la, lb) ascending.
    pub groups: Vec<LsGroup>,
    /// For each LS state: positions of jj states and A, for the jj states of its (la, lb).
    pub terms: Vec<Vec<(u32, f64)>>,
}

/// The LS states of one S and L.
#[derive(Debug, Clone, Copy)]
pub(super) struct LsGroup {
    /// S.
    pub s: u32,
    /// L.
    pub l: u32,
    /// First state.
    pub start: usize,
    /// Number of states: pairs (la, lb) that couple to L.
    pub length: usize,
}

impl Recoupling {
    /// The matrix of J.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn new(symbols: &Symbols, pair: ShellPair, j: u32) -> Result<Recoupling, LabelError> {
        let states = pair.jj_states(j);
        let (mut groups, mut terms) = (Vec::new(), Vec::new());
        for s in [0, 1] {
            for l in j.abs_diff(s)..=j + s {
                let orbital = pair.orbital_pairs(l);
                // For J = 0, S = 1 only L = 1 is possible: |J−S| … J+S contains just that.
                if orbital.is_empty() {
                    continue;
                }
                groups.push(LsGroup { s, l, start: terms.len(), length: orbital.len() });
                for (la, lb) in orbital {
                    let mut of_state = Vec::with_capacity(4);
                    for (position, state) in states.iter().enumerate().filter(|(_, x)| (x.la, x.lb) == (la, lb)) {
                        let [two_ja, two_jb] = [state.two_ja, state.two_jb].map(i64::from);
                        let [a, b, l, s, j] = [la, lb, l, s, j].map(|label| 2 * i64::from(label));
                        let symbol = symbols.nine_j([a, b, l, 1, 1, s, two_ja, two_jb, j])?;
                        let hats = ((l + 1) * (s + 1) * (two_ja + 1) * (two_jb + 1)) as f64;
                        of_state.push((position as u32, hats.sqrt() * symbol));
                    }
                    terms.push(of_state);
                }
            }
        }
        Ok(Recoupling { groups, terms })
    }
}

/// (−1)^{Sf+Si+S0+J+1} Ŝ0 {Lf Li S0; Si Sf J} for all labels up to a largest L.
#[derive(Debug)]
pub(super) struct SpinFactors {
    values: Vec<f64>,
    l_max: u32,
}

impl SpinFactors {
    /// Lf, Li ≤ `l_max`.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn new(symbols: &Symbols, l_max: u32) -> Result<SpinFactors, LabelError> {
        let mut factors = SpinFactors { values: Vec::new(), l_max };
        factors.values = vec![0.0; factors.index(SPINS.len(), 0, 0, 0)];
        for (spin, [sf, si, s0]) in SPINS.into_iter().enumerate() {
            for lf in 0..=l_max {
                for li in lf.saturating_sub(s0)..=(lf + s0).min(l_max) {
                    for j in lf.abs_diff(sf)..=lf + sf {
                        let two_j = [lf, li, s0, si, sf, j].map(|label| 2 * i64::from(label));
                        let sign = if (sf + si + s0 + j) % 2 == 1 { 1.0 } else { -1.0 };
                        let at = factors.index(spin, lf, li, j);
                        factors.values[at] = sign * f64::from(2 * s0 + 1).sqrt() * symbols.six_j(two_j)?;
                    }
                }
            }
        }
        Ok(factors)
    }

    /// The factor of [`SPINS`]\[spin\]; zero if a triangle condition fails.
    pub(super) fn get(&self, spin: usize, lf: u32, li: u32, j: u32) -> f64 {
        self.values[self.index(spin, lf, li, j)]
    }

    fn index(&self, spin: usize, lf: u32, li: u32, j: u32) -> usize {
        let n = self.l_max as usize + 1;
        // |Lf − Li| ≤ 2 and |Lf − J| ≤ 1
        let (near_l, near_j) = ((li + 2).wrapping_sub(lf) as usize, (j + 1).wrapping_sub(lf) as usize);
        ((spin * n + lf as usize) * 5 + near_l) * 3 + near_j
    }
}
