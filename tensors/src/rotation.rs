//! Two-body elements of operators of relative motion: the rotation from relative coordinates to pairs of shells.
//!
//! In: an isoscalar operator of two nucleons, perhaps one of two protons beside it. Out: u of all channels in the layout of a plan,
//!
//! ```text
//! u = M_N V_rel M_N'ᵀ,   M of `brackets`;   pn: T from L + S + T odd;   pp, nn: twice the part of T = 1
//! ```
//! V_rel conserves the centre of mass, S and J, so each of its rows has few elements; the second product is computed only
//! between states that the exchange of the nucleons does not relate, and for T = 0 and 1 separately: an eighth of the
//! full work.

use super::brackets::{Brackets, RelativeState};
use super::channel::Channel;
use super::csv::TableError;
use super::matrices::multiply_by_transpose;
use super::plan::{Group, Plan};
use super::relative::Relative;
use super::source::TensorSource;
use super::space::{JjState, ShellPair};
use super::table_cache::TableCache;
use eigenforge_su3::{Coupler, LabelError};
use rayon::prelude::*;
use std::collections::HashMap;

/// Two-body elements of an interaction of relative motion, one group at a time.
///
/// Exactly symmetric: elements related by exchange of a and b, of c and d, or of bra and ket are copied, not computed.
#[derive(Debug)]
pub(super) struct RotatedElements {
    relative: Relative,
    /// What two protons have beside it.
    protons: Option<Relative>,
    /// By quanta, then by J.
    bases: Vec<Vec<Basis>>,
}

/// jj states of given quanta and J in relative motion, with isospin 0 and 1 separate.
#[derive(Debug)]
struct Basis {
    /// By T: relative states with L + S + T odd.
    states: [Vec<RelativeState>; 2],
    /// By T, at [row][relative state].
    matrices: [Vec<f64>; 2],
    /// Number of distinct jj states: those with (na la ja) before or at (nb lb jb).
    rows: usize,
    /// Every state of every pair of shells: its row, and its sign for each T.
    places: Vec<Vec<(usize, [f64; 2])>>,
}

impl RotatedElements {
    /// Prepares the rotations of a plan.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn new(relative: Relative, plan: &Plan, cache: &TableCache) -> Result<RotatedElements, LabelError> {
        let coupler = Coupler::new();
        let quanta: Vec<u32> = (0..=plan.space().quanta_max()).collect();
        let bases = quanta.par_iter().map(|n| Basis::of_quanta(&coupler, cache, plan, *n)).collect::<Result<_, _>>()?;
        Ok(RotatedElements { relative, protons: None, bases })
    }

    /// The same with an operator of two protons added.
    pub(super) fn with_protons(self, protons: Option<Relative>) -> RotatedElements {
        RotatedElements { protons, ..self }
    }

    /// By J, then by T: M V Mᵀ between rows of the lower quanta and columns of the higher.
    fn by_isospin(&self, operator: &Relative, group: &Group) -> Vec<[Vec<f64>; 2]> {
        let [bra, ket] = [group.bra_quanta, group.ket_quanta].map(|n| &self.bases[n as usize]);
        let lower = group.bra_quanta > group.ket_quanta;
        let of = |(bra, ket)| if lower { rotated(operator, ket, bra) } else { rotated(operator, bra, ket) };
        bra.par_iter().zip(ket).map(of).collect()
    }
}

/// M V Mᵀ between rows, by T; of equal quanta the upper triangle twice.
fn rotated(operator: &Relative, bra: &Basis, ket: &Basis) -> [Vec<f64>; 2] {
    [0, 1].map(|t| {
        let (n, m) = (bra.states[t].len(), ket.states[t].len());
        let mut half = vec![0.0; bra.rows * m];
        for (k, right) in ket.states[t].iter().enumerate() {
            for (i, left) in bra.states[t].iter().enumerate() {
                let same = left.centre == right.centre && (left.s, left.j) == (right.s, right.j);
                let v = if same { operator.value(left, right) } else { 0.0 };
                if v != 0.0 {
                    (0..bra.rows).for_each(|row| half[row * m + k] += bra.matrices[t][row * n + i] * v);
                }
            }
        }
        let mut whole = vec![0.0; bra.rows * ket.rows];
        multiply_by_transpose(&half, &ket.matrices[t], &mut whole, [bra.rows, m, ket.rows]);
        if std::ptr::eq(bra, ket) {
            for row in 1..bra.rows {
                (0..row).for_each(|column| whole[row * bra.rows + column] = whole[column * bra.rows + row]);
            }
        }
        whole
    })
}

impl TensorSource for RotatedElements {
    fn channels(&self) -> Vec<Channel> {
        Channel::ALL.to_vec()
    }

    fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError> {
        let [mut pn, mut pp, mut nn] = [0; 3].map(|_| vec![0.0; group.length]);
        let [bra, ket] = [group.bra_quanta, group.ket_quanta].map(|n| &self.bases[n as usize]);
        let both = self.by_isospin(&self.relative, group);
        let protons = self.protons.as_ref().map(|protons| self.by_isospin(protons, group));
        for (at, quadruple) in group.quadruples.iter().enumerate() {
            let (b, k) = (at / group.kets.len(), at % group.kets.len());
            for block in &quadruple.blocks {
                let j = block.j as usize;
                let start = quadruple.offset + block.offset;
                let [isoscalar, isovector] = &both[j];
                let mut place = start;
                for (row, left) in &bra[j].places[b] {
                    for (column, right) in &ket[j].places[k] {
                        let from = if group.bra_quanta > group.ket_quanta {
                            column * bra[j].rows + row
                        } else {
                            row * ket[j].rows + column
                        };
                        let isospin = [0, 1].map(|t| left[t] * right[t]);
                        let [zero, one] = [isospin[0] * isoscalar[from], isospin[1] * isovector[from]];
                        let charge = protons.as_ref().map_or(0.0, |protons| isospin[1] * protons[j][1][from]);
                        pn[place] = zero + one;
                        pp[place] = 2.0 * (one + charge);
                        nn[place] = 2.0 * one;
                        place += 1;
                    }
                }
            }
        }
        Ok(vec![pn, pp, nn])
    }

    fn resident(&self) -> u64 {
        let numbers = self.bases.iter().flatten().flat_map(|basis| &basis.matrices).map(Vec::len).sum::<usize>();
        8 * numbers as u64
    }

    fn describe(&self) -> &'static str {
        "transformed from relative coordinates group by group"
    }
}

impl Basis {
    /// By J.
    fn of_quanta(coupler: &Coupler, cache: &TableCache, plan: &Plan, quanta: u32) -> Result<Vec<Basis>, LabelError> {
        let brackets = Brackets::new(coupler, cache, quanta);
        let pairs: Vec<ShellPair> = plan.space().pairs_of(quanta).collect();
        (0..=quanta + 1).into_par_iter().map(|total| Basis::new(coupler, &brackets, &pairs, total)).collect()
    }

    fn new(coupler: &Coupler, brackets: &Brackets, pairs: &[ShellPair], total: u32) -> Result<Basis, LabelError> {
        let once: Vec<ShellPair> = pairs.iter().copied().filter(|pair| pair.a <= pair.b).collect();
        let states = brackets.relative_states(total);
        let matrix = brackets.to_relative(coupler, &once, total, &states)?;
        let t_of = |state: &RelativeState| usize::from((state.l + state.s).is_multiple_of(2));
        let mut basis = Basis { states: [vec![], vec![]], matrices: [vec![], vec![]], rows: 0, places: vec![] };
        states.iter().for_each(|state| basis.states[t_of(state)].push(*state));
        let mut rows: HashMap<(ShellPair, JjState), usize> = HashMap::new();
        let all = once.iter().flat_map(|pair| pair.jj_states(total).into_iter().map(|state| (*pair, state)));
        for ((pair, state), row) in all.zip(matrix.chunks_exact(states.len().max(1))) {
            let exchanged = (pair.exchanged(), state.exchanged());
            if (pair, state) > exchanged {
                continue;
            }
            rows.insert((pair, state), basis.rows);
            basis.rows += 1;
            for t in [0, 1] {
                // Two nucleons in one orbital have J + T odd.
                let forbidden = (pair, state) == exchanged && exchange_sign(state, total, t) < 0.0;
                let of_t = states.iter().zip(row).filter(|(state, _)| t_of(state) == t);
                basis.matrices[t].extend(of_t.map(|(_, m)| if forbidden { 0.0 } else { *m }));
            }
        }
        for pair in pairs {
            let place = |state: JjState| match rows.get(&(*pair, state)) {
                Some(row) => (*row, [1.0; 2]),
                None => {
                    let row = rows[&(pair.exchanged(), state.exchanged())];
                    (row, [0, 1].map(|t| exchange_sign(state, total, t)))
                }
            };
            basis.places.push(pair.jj_states(total).into_iter().map(place).collect());
        }
        Ok(basis)
    }
}

/// |b a; J T⟩ = −(−1)^{ja+jb−J} |a b; J T⟩ for T = 1, with the other sign for T = 0.
fn exchange_sign(state: JjState, j: u32, t: usize) -> f64 {
    let even = ((state.two_ja + state.two_jb) / 2 + j).is_multiple_of(2);
    if even == (t == 1) { -1.0 } else { 1.0 }
}
