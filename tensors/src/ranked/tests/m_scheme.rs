//! Each strength stands for the tensor that its labels define, summed over magnetic quantum numbers.

use super::super::elements::places;
use super::super::strengths::RankedLabel;
use super::Operator;
use crate::space::{JjState, ShellPair, momenta};
use eigenforge_su3::{Coupler, Irrep, Symbols, wigner_3j};

/// l, m, 2s.
type MState = (u32, i64, i64);

/// One quadruple in m-scheme, where a tensor is the sum over magnetic quantum numbers that its definition says.
struct InMScheme {
    symbols: Symbols,
    coupler: Coupler,
}

impl InMScheme {
    /// ⟨j1 m1 j2 m2|j m⟩ of doubled numbers.
    fn clebsch(&self, two_j: [u32; 3], two_m: [i64; 3]) -> f64 {
        let two_j = two_j.map(i64::from);
        let is_state = two_j.iter().zip(two_m).all(|(j, m)| m.abs() <= *j);
        if is_state { self.symbols.clebsch_gordan(two_j, two_m).unwrap() } else { 0.0 }
    }

    fn states(n: u32) -> Vec<MState> {
        let of_l = |l: u32| (-i64::from(l)..=i64::from(l)).flat_map(move |m| [-1, 1].map(|two_s| (l, m, two_s)));
        momenta(n).flat_map(of_l).collect()
    }

    /// |(la ½)ja (lb ½)jb; J M⟩ over the m-states of a pair.
    fn jj(&self, pair: ShellPair, state: JjState, j: u32, m: i64) -> Vec<f64> {
        let one = |(l, m, s): MState, (of_l, two_j): (u32, u32)| {
            if l == of_l { self.clebsch([2 * l, 1, two_j], [2 * m, s, 2 * m + s]) } else { 0.0 }
        };
        self.over_pairs(pair, |a, b| {
            let [two_a, two_b] = [2 * a.1 + a.2, 2 * b.1 + b.2];
            let [one, other] = [one(a, (state.la, state.two_ja)), one(b, (state.lb, state.two_jb))];
            match two_a + two_b == 2 * m && one * other != 0.0 {
                true => one * other * self.clebsch([state.two_ja, state.two_jb, 2 * j], [two_a, two_b, 2 * m]),
                false => 0.0,
            }
        })
    }

    fn over_pairs(&self, pair: ShellPair, value: impl Fn(MState, MState) -> f64) -> Vec<f64> {
        let (left, right) = (InMScheme::states(pair.a), InMScheme::states(pair.b));
        left.iter().flat_map(|a| right.iter().map(|b| value(*a, *b))).collect()
    }

    /// [a†(na 0) × a†(nb 0)]^{f κ L ML, S MS}|0⟩.
    fn creators(&self, pair: ShellPair, f: Irrep, [kappa, l]: [u32; 2], s: u32, [ml, ms]: [i64; 2]) -> Vec<f64> {
        let block = self.coupler.block(Irrep::new(pair.a, 0), Irrep::new(pair.b, 0), f, l..=l).unwrap();
        self.over_pairs(pair, |a, b| {
            let orbital = self.clebsch([2 * a.0, 2 * b.0, 2 * l], [2 * a.1, 2 * b.1, 2 * ml]);
            let spin = self.clebsch([1, 1, 2 * s], [a.2, b.2, 2 * ms]);
            if orbital * spin == 0.0 {
                0.0
            } else {
                orbital * spin * block.value([1, a.0], [1, b.0], [kappa, l], 1).unwrap()
            }
        })
    }

    /// ⟨0|[ã(0 nd) × ã(0 nc)]^{i κ L ML, S MS} a†_c a†_d|0⟩ with ã_{n l m s} = (−1)^{n+l−m+½−s} a_{n l −m −s}.
    fn annihilators(&self, pair: ShellPair, i: Irrep, [kappa, l]: [u32; 2], s: u32, [ml, ms]: [i64; 2]) -> Vec<f64> {
        let block = self.coupler.block(Irrep::new(0, pair.b), Irrep::new(0, pair.a), i, l..=l).unwrap();
        self.over_pairs(pair, |c, d| {
            // The m-state c is annihilated by ã of −m and −s.
            let orbital = self.clebsch([2 * d.0, 2 * c.0, 2 * l], [-2 * d.1, -2 * c.1, 2 * ml]);
            let spin = self.clebsch([1, 1, 2 * s], [-d.2, -c.2, 2 * ms]);
            if orbital * spin == 0.0 {
                return 0.0;
            }
            let phase = |(_, m, two_s): MState| if (m + (1 + two_s) / 2).rem_euclid(2) == 0 { 1.0 } else { -1.0 };
            phase(c) * phase(d) * orbital * spin * block.value([1, d.0], [1, c.0], [kappa, l], 1).unwrap()
        })
    }

    /// T^{J0}_{M0} of some labels between m-states of the bra and of the ket, row-major.
    fn tensor(&self, label: &RankedLabel, j0: u32, m0: i64) -> Vec<f64> {
        let ([bra, ket], [f, i, zero], [sf, si, s0], l0) = (label.pairs, label.irreps, label.spins, label.l0);
        let block = self.coupler.block(f, i, zero, l0..=l0).unwrap();
        let range = |j: u32| -i64::from(j)..=i64::from(j);
        let mut t = Vec::new();
        for (lf, li) in
            (0..=f.l_max()).flat_map(|lf| (lf.abs_diff(l0)..=(lf + l0).min(i.l_max())).map(move |li| (lf, li)))
        {
            let kappas = (1..=f.kappa_max(lf)).flat_map(|kf| (1..=i.kappa_max(li)).map(move |ki| [kf, ki]));
            for [kf, ki] in kappas {
                let w0 = block.value([kf, lf], [ki, li], [label.kappa, l0], label.rho).unwrap();
                for (mlf, msf) in range(lf).flat_map(|ml| range(sf).map(move |ms| (ml, ms))) {
                    let left = self.creators(bra, f, [kf, lf], sf, [mlf, msf]);
                    for msi in range(si) {
                        let (ms, mli) = (msf + msi, m0 - mlf - msf - msi);
                        let ml = mlf + mli;
                        if mli.unsigned_abs() > u64::from(li)
                            || ms.unsigned_abs() > u64::from(s0)
                            || ml.unsigned_abs() > u64::from(l0)
                        {
                            continue;
                        }
                        let factor = w0
                            * self.clebsch([2 * lf, 2 * li, 2 * l0], [2 * mlf, 2 * mli, 2 * ml])
                            * self.clebsch([2 * sf, 2 * si, 2 * s0], [2 * msf, 2 * msi, 2 * ms])
                            * self.clebsch([2 * l0, 2 * s0, 2 * j0], [2 * ml, 2 * ms, 2 * m0]);
                        let right = self.annihilators(ket, i, [ki, li], si, [mli, msi]);
                        t.resize(left.len() * right.len(), 0.0);
                        let pairs = left.iter().flat_map(|x| right.iter().map(move |y| x * y));
                        t.iter_mut().zip(pairs).for_each(|(sum, xy)| *sum += factor * xy);
                    }
                }
            }
        }
        t
    }
}

/// Each strength stands for the tensor that its labels define: reduced elements of single tensors by the inverse and, summed over magnetic
/// quantum numbers, by ⟨J'M'|T^{J0}_{M0}|J M⟩ = (−1)^{J'−M'} (J' J0 J; −M' M0 M) ⟨J'‖T^{J0}‖J⟩ (Edmonds, eq. 5.4.1).
#[test]
fn strengths_are_those_of_the_tensors_in_m_scheme() {
    let scheme = InMScheme { symbols: Symbols::new(), coupler: Coupler::new() };
    for (j0, parity, quanta) in [(1, 0, [1, 1]), (2, 1, [1, 2]), (3, 0, [2, 2])] {
        let operator = Operator::new(0, j0, parity);
        let labels = operator.strength_labels();
        let chosen = (0..labels.len()).filter(|at| labels[*at].pairs.map(|pair| pair.quanta()) == quanta).step_by(11);
        let (mut compared, mut largest) = (0, 0.0f64);
        for at in chosen {
            let mut c = vec![0.0; labels.len()];
            c[at] = 1.0;
            let x = operator.transform(&c, true);
            let (label, m0) = (labels[at], 1);
            let t = scheme.tensor(&label, j0, m0);
            for group in operator.plan.groups.iter().filter(|group| group.quanta == quanta) {
                for (place, pairs, sides, [j_bra, j]) in places(group).filter(|(_, pairs, ..)| *pairs == label.pairs) {
                    let m_bra = i64::from(j_bra.min(j + 1));
                    let m = m_bra - m0;
                    if m.unsigned_abs() > u64::from(j) {
                        continue;
                    }
                    let left = scheme.jj(pairs[0], sides[0], j_bra, m_bra);
                    let right = scheme.jj(pairs[1], sides[1], j, m);
                    let rows = left.iter().zip(t.chunks_exact(right.len()));
                    let direct: f64 =
                        rows.map(|(x, row)| x * row.iter().zip(&right).map(|(t, y)| t * y).sum::<f64>()).sum();
                    let two_j = [j_bra, j0, j].map(|j| 2 * i64::from(j));
                    let three = wigner_3j(two_j, [-2 * m_bra, 2 * m0, 2 * m]).unwrap().to_f64();
                    let sign = if (i64::from(j_bra) - m_bra) % 2 == 0 { 1.0 } else { -1.0 };
                    let expected = sign * three * x[group.start + place];
                    assert!(
                        (direct - expected).abs() < 1e-12,
                        "J0 = {j0}, {label}, J = {j_bra} {j}: {direct} {expected}"
                    );
                    largest = largest.max(direct.abs());
                    compared += 1;
                }
            }
        }
        assert!(compared > 60 && largest > 0.1, "J0 = {j0}: {compared} {largest}");
    }
}
