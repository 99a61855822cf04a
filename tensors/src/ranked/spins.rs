//! From (J', J) to the ranks (L0, S0) of a tensor.
//!
//! In: reduced elements X(J' J) = ⟨(la lb)Lf Sf; J'‖O^{J0}‖(lc ld)Li Si; J⟩ (A. R. Edmonds, Angular Momentum in Quantum Mechanics,
//! eq. 5.4.1). Out: the coefficients of [[a†a†]^{Lf Sf} × [ã_d ã_c]^{Li Si}]^{L0 S0; J0},
//!
//! ```text
//! Y_{L0 S0}(Lf Sf, Li Si) = (−1)^{Si+Li+1} / Ĵ0 · Σ_{J'J} Ĵ' Ĵ L̂0 Ŝ0 {Lf Sf J'; Li Si J; L0 S0 J0} X(J' J),    x̂ = √(2x+1)
//! ```
//! For J0 = 0 the 9j symbol is the 6j symbol of [`crate::recoupling`], with X = Ĵ u.

use super::layout::{Rank, TensorRank};
use eigenforge_su3::{LabelError, Symbols};

/// (−1)^{Si+Li+1} Ĵ' Ĵ L̂0 Ŝ0 {…} for all labels up to a largest L: a row of an orthogonal matrix.
#[derive(Debug)]
pub(super) struct RankFactors {
    values: Vec<f64>,
    l_count: usize,
}

impl RankFactors {
    /// Lf, Li ≤ `l_max`.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn new(
        symbols: &Symbols,
        rank: Rank,
        tensors: &[TensorRank],
        l_max: u32,
    ) -> Result<RankFactors, LabelError> {
        let l_count = l_max as usize + 1;
        let couplings = tensors.last().map_or(0, |last| last.first + last.spins().len());
        let mut factors = RankFactors { values: vec![0.0; couplings * l_count * l_count * 9], l_count };
        for tensor in tensors {
            for (at, [sf, si]) in tensor.spins().enumerate() {
                let couples = |lf: u32, li: u32| lf.abs_diff(li) <= tensor.l0 && tensor.l0 <= lf + li;
                let pairs = (0..=l_max).flat_map(|lf| (0..=l_max).map(move |li| (lf, li)));
                for (lf, li) in pairs.filter(|(lf, li)| couples(*lf, *li)) {
                    for (jf, ji) in
                        (lf.abs_diff(sf)..=lf + sf).flat_map(|f| (li.abs_diff(si)..=li + si).map(move |i| (f, i)))
                    {
                        if !rank.allows([jf, ji]) {
                            continue;
                        }
                        let two_j = [lf, sf, jf, li, si, ji, tensor.l0, tensor.s0, rank.j0].map(|j| 2 * i64::from(j));
                        let hats: f64 = [jf, ji, tensor.l0, tensor.s0].map(|j| f64::from(2 * j + 1)).iter().product();
                        let sign = if (si + li) % 2 == 1 { 1.0 } else { -1.0 };
                        let place = factors.index(tensor.first + at, [lf, li], [jf, ji]);
                        factors.values[place] = sign * hats.sqrt() * symbols.nine_j(two_j)?;
                    }
                }
            }
        }
        Ok(factors)
    }

    /// The factor of a coupling (Sf, Si, S0, L0); |Lf − J'|, |Li − J| ≤ 1.
    pub(super) fn get(&self, coupling: usize, l: [u32; 2], j: [u32; 2]) -> f64 {
        self.values[self.index(coupling, l, j)]
    }

    fn index(&self, coupling: usize, [lf, li]: [u32; 2], [jf, ji]: [u32; 2]) -> usize {
        let near = |j: u32, l: u32| (j + 1 - l) as usize;
        let orbital = (coupling * self.l_count + lf as usize) * self.l_count + li as usize;
        (orbital * 3 + near(jf, lf)) * 3 + near(ji, li)
    }
}
