//! Operators of rank J0: the map is orthogonal, is the scalar one for J0 = 0, is that of the tensors in m-scheme, and takes known
//! operators to the tensors that they are.

mod m_scheme;

use super::elements::places;
use super::layout::{Rank, RankedPlan};
use super::strengths::{RankedLabel, for_each};
use super::transform::RankedTables;
use super::{elements, strengths, transformed};
use crate::space::{JjState, OscillatorSpace, ShellPair};
use crate::{ByChannel, Channel, Direction, Plan, TableCache, Tables, forward, open_interaction};
use eigenforge_runtime::seeded;
use eigenforge_su3::{Irrep, wigner_3j, wigner_6j};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/su3").join(name)
}

struct Operator {
    plan: RankedPlan,
    tables: RankedTables,
}

impl Operator {
    fn new(n_max: u32, j0: u32, parity: u32) -> Operator {
        let plan = RankedPlan::new(OscillatorSpace { n_max }, Rank { j0, parity });
        let tables = RankedTables::new(&plan, TableCache::off()).unwrap();
        Operator { plan, tables }
    }

    fn transform(&self, numbers: &[f64], backwards: bool) -> Vec<f64> {
        let input = ByChannel { vectors: vec![(Channel::Pn, numbers.to_vec())], left_out: 0 };
        let (mut output, _, defect) = transformed(&self.plan, &self.tables, &input, backwards);
        assert!(defect < 1e-13, "{defect:e}");
        output.vectors.remove(0).1
    }

    /// Elements by a formula.
    fn elements(&self, value: impl Fn([ShellPair; 2], [JjState; 2], [u32; 2]) -> f64) -> Vec<f64> {
        let groups = self.plan.groups.iter();
        groups.flat_map(|group| places(group).map(|(_, pairs, sides, j)| value(pairs, sides, j))).collect()
    }

    /// Σ C² where the labels are as expected, and elsewhere.
    fn norms(&self, c: &[f64], expected: impl Fn(&RankedLabel) -> bool) -> [f64; 2] {
        let mut norms = [0.0; 2];
        for group in &self.plan.groups {
            for_each(&self.plan, group, |at, label| {
                norms[usize::from(!expected(&label))] += c[group.start + at].powi(2)
            });
        }
        norms
    }

    fn strength_labels(&self) -> Vec<RankedLabel> {
        let mut labels = Vec::new();
        self.plan.groups.iter().for_each(|group| for_each(&self.plan, group, |_, label| labels.push(label)));
        labels
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Σ C² = Σ X²/(2J0+1), as many strengths as elements, and the transpose takes C back to X: random elements.
#[test]
fn the_map_is_orthogonal_and_its_transpose_the_inverse() {
    for (n_max, j0, parity) in
        [(0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (1, 2, 1), (1, 3, 0), (2, 3, 1), (0, 5, 1), (0, 6, 0)]
    {
        let operator = Operator::new(n_max, j0, parity);
        let length = operator.plan.length;
        let [counted, _] = operator.plan.rank.count(operator.plan.space);
        assert!(length > 0 && counted == length as u64 && operator.strength_labels().len() == length);
        let x = seeded::vector(length, u64::from(7 * n_max + j0));
        let c = operator.transform(&x, false);
        let [input, output] = [&x, &c].map(|numbers| numbers.iter().map(|x| x * x).sum::<f64>());
        let ratio = output * f64::from(2 * j0 + 1) / input;
        assert!((ratio - 1.0).abs() < 1e-13, "N_max {n_max}, J0 = {j0}, parity {parity}: {ratio}");
        let worst = largest_difference(&operator.transform(&c, true), &x);
        assert!(worst < 1e-13, "N_max {n_max}, J0 = {j0}, parity {parity}: {worst:e}");
    }
}

/// A scalar has X = √(2J+1) u, and its strengths are those of the scalar transformation: JISP16, N_max = 2.
#[test]
fn rank_zero_is_the_scalar_transformation() {
    let scalar = Plan::new(OscillatorSpace { n_max: 2 });
    let source =
        open_interaction(&data("jisp16_hw20_N2_V.csv"), &scalar, Direction::Forward, &TableCache::off()).unwrap();
    let input = ByChannel::of_source(&scalar, &*source).unwrap();
    let tables = Tables::new(&scalar).unwrap();
    let operator = Operator::new(2, 0, 0);
    assert_eq!(operator.plan.length, scalar.length);
    for (_, u) in &input.vectors {
        let expected = forward(&scalar, &tables, u);
        let hats = operator.elements(|_, _, [j, _]| f64::from(2 * j + 1).sqrt());
        let x: Vec<f64> = u.iter().zip(hats).map(|(u, hat)| hat * u).collect();
        let found = operator.transform(&x, false);
        // The same numbers and the same labels, whose orders differ.
        let mut by_label = HashMap::new();
        for (label, value) in operator.strength_labels().iter().zip(&found) {
            by_label.insert((label.pairs, label.irreps, label.spins, label.kappa, label.rho), *value);
        }
        let largest = expected.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
        let mut compared = 0;
        scalar.for_each_strength(|place, label| {
            let found = by_label[&(label.pairs, label.irreps, label.spins, label.kappa, label.rho)];
            assert!((found - expected[place]).abs() < 1e-13 * largest, "{label}: {found} {}", expected[place]);
            compared += 1;
        });
        assert!(compared == scalar.length && largest > 10.0);
    }
}

/// ⟨a‖Σ_i t(i)‖c⟩ of two distinguishable nucleons from the elements of one (Edmonds, eq. 7.1.7 and 7.1.8): `one` is ⟨n' l' 2j'‖t‖n l 2j⟩.
fn of_two(
    k: u32,
    [bra, ket]: [ShellPair; 2],
    [left, right]: [JjState; 2],
    [j_bra, j_ket]: [u32; 2],
    one: &impl Fn([u32; 3], [u32; 3]) -> f64,
) -> f64 {
    let [a, b] = [[bra.a, left.la, left.two_ja], [bra.b, left.lb, left.two_jb]];
    let [c, d] = [[ket.a, right.la, right.two_ja], [ket.b, right.lb, right.two_jb]];
    let hats = f64::from((2 * j_bra + 1) * (2 * j_ket + 1)).sqrt();
    let six = |two_j: [u32; 6]| wigner_6j(two_j.map(i64::from)).unwrap().to_f64();
    let sign = |two: u32| if (two / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut sum = 0.0;
    if b == d && one(a, c) != 0.0 {
        sum += sign(a[2] + b[2] + 2 * j_ket + 2 * k)
            * hats
            * six([a[2], 2 * j_bra, b[2], 2 * j_ket, c[2], 2 * k])
            * one(a, c);
    }
    if a == c && one(b, d) != 0.0 {
        sum += sign(c[2] + d[2] + 2 * j_bra + 2 * k)
            * hats
            * six([b[2], 2 * j_bra, a[2], 2 * j_ket, d[2], 2 * k])
            * one(b, d);
    }
    sum
}

/// The same of identical nucleons: X(ab, cd) − (−1)^{jc+jd−J} X(ab, dc).
fn of_two_identical(
    k: u32,
    pairs: [ShellPair; 2],
    [left, right]: [JjState; 2],
    j: [u32; 2],
    one: &impl Fn([u32; 3], [u32; 3]) -> f64,
) -> f64 {
    let sign = if ((right.two_ja + right.two_jb) / 2 + j[1]).is_multiple_of(2) { 1.0 } else { -1.0 };
    let exchanged = of_two(k, [pairs[0], pairs[1].exchanged()], [left, right.exchanged()], j, one);
    of_two(k, pairs, [left, right], j, one) - sign * exchanged
}

/// ⟨l' ½ j'‖t‖l ½ j⟩ of an operator that does not act on the spin, from ⟨l'‖t‖l⟩ (Edmonds, eq. 7.1.7).
fn with_spin(k: u32, [l_bra, two_j_bra]: [u32; 2], [l, two_j]: [u32; 2], orbital: f64) -> f64 {
    let six = wigner_6j([2 * l_bra, two_j_bra, 1, two_j, 2 * l, 2 * k].map(i64::from)).unwrap().to_f64();
    let sign = if ((2 * l_bra + 1 + two_j) / 2 + k).is_multiple_of(2) { 1.0 } else { -1.0 };
    sign * f64::from((two_j_bra + 1) * (two_j + 1)).sqrt() * six * orbital
}

/// r² Y2 of one nucleon in units of ħ/mω, radial functions positive at infinity, where all ⟨n' l'|r²|n l⟩ are.
fn quadrupole([n_bra, l_bra, j_bra]: [u32; 3], [n, l, j]: [u32; 3]) -> f64 {
    // Both ways: the one with fewer quanta, or with less l in one shell, first.
    let [[n1, l1], [n2, l2]] =
        if [n_bra, l_bra] <= [n, l] { [[n_bra, l_bra], [n, l]] } else { [[n, l], [n_bra, l_bra]] };
    let radial = match (n2 - n1, i64::from(l2) - i64::from(l1)) {
        (0, 0) => f64::from(n1) + 1.5,
        (0, 2) => f64::from((n1 - l1) * (n1 + l1 + 3)).sqrt(),
        (2, 0) => f64::from((n1 - l1 + 2) * (n1 + l1 + 3)).sqrt() / 2.0,
        (2, 2) => f64::from((n1 + l1 + 3) * (n1 + l1 + 5)).sqrt() / 2.0,
        (2, -2) => f64::from((n1 - l1 + 2) * (n1 - l1 + 4)).sqrt() / 2.0,
        _ => return 0.0,
    };
    let three = wigner_3j([l_bra, 2, l].map(|l| 2 * i64::from(l)), [0; 3]).unwrap().to_f64();
    let sign = if l_bra % 2 == 0 { 1.0 } else { -1.0 };
    let harmonic = f64::from((2 * l_bra + 1) * (2 * l + 1) * 5).sqrt() / (4.0 * std::f64::consts::PI).sqrt();
    with_spin(2, [l_bra, j_bra], [l, j], sign * harmonic * three * radial)
}

/// L of one nucleon.
fn orbital_momentum([n_bra, l_bra, j_bra]: [u32; 3], [n, l, j]: [u32; 3]) -> f64 {
    let orbital = if [n_bra, l_bra] == [n, l] { f64::from(l * (l + 1) * (2 * l + 1)).sqrt() } else { 0.0 };
    with_spin(1, [l_bra, j_bra], [l, j], orbital)
}

/// S of one nucleon: J − L.
fn spin(bra: [u32; 3], ket: [u32; 3]) -> f64 {
    let total = f64::from(ket[2] * (ket[2] + 2) * (ket[2] + 1)).sqrt() / 2.0;
    (if bra == ket { total } else { 0.0 }) - orbital_momentum(bra, ket)
}

/// ⟨n' l' 2j'‖t‖n l 2j⟩.
type OneBody<'a> = &'a dyn Fn([u32; 3], [u32; 3]) -> f64;

/// L and the part of r² Y2 within a shell are generators, tensors (1 1) with L0 = 1 and 2; r² Y2 to two quanta more is (2 0), to two less
/// (0 2); S is (0 0) with S0 = 1. Of distinguishable and of identical nucleons.
#[test]
fn generators_are_pure_tensors() {
    let operators: [(u32, OneBody, [u32; 2]); 3] =
        [(2, &quadrupole, [0, 2]), (1, &orbital_momentum, [0, 1]), (1, &spin, [1, 0])];
    for (k, one, [s0, l0]) in operators {
        let operator = Operator::new(2, k, 0);
        let pn = operator.elements(|pairs, sides, j| of_two(k, pairs, sides, j, &one));
        let pp = operator.elements(|pairs, sides, j| of_two_identical(k, pairs, sides, j, &one));
        for (channel, x) in [("pn", &pn), ("pp", &pp)] {
            let c = operator.transform(x, false);
            let [inside, outside] = operator.norms(&c, |label| {
                let [bra, ket] = label.pairs.map(|pair| pair.quanta());
                let irrep = match (s0, bra.cmp(&ket)) {
                    (1, _) => Irrep::new(0, 0),
                    (_, std::cmp::Ordering::Equal) => Irrep::new(1, 1),
                    (_, std::cmp::Ordering::Greater) => Irrep::new(2, 0),
                    (_, std::cmp::Ordering::Less) => Irrep::new(0, 2),
                };
                label.irreps[2] == irrep && label.spins[2] == s0 && label.l0 == l0
            });
            assert!(
                inside > 1.0 && outside < 1e-26 * inside,
                "{channel} J0 = {k}: {inside:e} inside, {outside:e} outside"
            );
            let worst = largest_difference(&operator.transform(&c, true), x);
            assert!(worst < 1e-12, "{channel} J0 = {k}: {worst:e}");
        }
    }
}

/// The other sign of ⟨l'|r²|l⟩ between the l of a shell, as of radial functions positive at the origin, is seen.
#[test]
fn a_wrong_radial_phase_shows() {
    let operator = Operator::new(1, 2, 0);
    let phase = |[n, l, _]: [u32; 3]| if ((n - l) / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
    let at_origin = |bra: [u32; 3], ket: [u32; 3]| phase(bra) * phase(ket) * quadrupole(bra, ket);
    let x = operator.elements(|pairs, sides, j| of_two(2, pairs, sides, j, &at_origin));
    let in_shell =
        |label: &RankedLabel| label.pairs[0].quanta() != label.pairs[1].quanta() || label.irreps[2] == Irrep::new(1, 1);
    let [_, outside] = operator.norms(&operator.transform(&x, false), in_shell);
    assert!(outside > 0.1, "{outside}");
}

/// Antisymmetric elements have C(nb na …) = (−1)^{μf+Sf} C(na nb …) and C(… nd nc …) = (−1)^{λi+Si} C(… nc nd …), for any rank.
#[test]
fn identical_nucleons_have_exchange_symmetry() {
    for (j0, parity) in [(1, 1), (2, 0), (3, 1)] {
        let operator = Operator::new(1, j0, parity);
        let all =
            operator.plan.groups.iter().flat_map(|group| places(group).map(|(_, pairs, sides, j)| (pairs, sides, j)));
        let any: HashMap<_, f64> = all.zip(seeded::vector(operator.plan.length, 5)).collect();
        let sign =
            |state: JjState, j: u32| if ((state.two_ja + state.two_jb) / 2 + j).is_multiple_of(2) { -1.0 } else { 1.0 };
        let antisymmetric = operator.elements(|[bra, ket], [left, right], [j, k]| {
            let bras = [(bra, left, 1.0), (bra.exchanged(), left.exchanged(), sign(left, j))];
            let kets = [(ket, right, 1.0), (ket.exchanged(), right.exchanged(), sign(right, k))];
            let of = |(bra, left, s): (_, _, f64)| {
                kets.iter().map(|(ket, right, t)| s * t * any[&([bra, *ket], [left, *right], [j, k])]).sum::<f64>()
            };
            bras.map(of).iter().sum()
        });
        let c = operator.transform(&antisymmetric, false);
        let key = |label: &RankedLabel| (label.pairs, label.irreps, label.spins, label.kappa, label.l0, label.rho);
        let labels = operator.strength_labels();
        let by_label: HashMap<_, f64> = labels.iter().map(key).zip(c).collect();
        let (mut moved, mut largest) = (0, 0.0f64);
        for label in &labels {
            let (value, [bra, ket], [f, i, _], [sf, si, _]) =
                (by_label[&key(label)], label.pairs, label.irreps, label.spins);
            for (pairs, odd) in [([bra.exchanged(), ket], f.mu + sf), ([bra, ket.exchanged()], i.lambda + si)] {
                let other = by_label[&key(&RankedLabel { pairs, ..*label })];
                let expected = if odd.is_multiple_of(2) { value } else { -value };
                assert!((other - expected).abs() < 1e-13, "J0 = {j0}, {label}: {value} {other}");
                moved += usize::from(pairs != label.pairs);
            }
            largest = largest.max(value.abs());
        }
        assert!(moved > 100 && largest > 0.1);
    }
}

/// Tables of elements and of strengths are read as they were written; the file of the example is r² Y2.
#[test]
fn tables_come_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let operator = Operator::new(0, 2, 0);
    let x = operator.elements(|pairs, sides, j| of_two(2, pairs, sides, j, &quadrupole));
    let like = operator.elements(|pairs, sides, j| of_two_identical(2, pairs, sides, j, &quadrupole));
    let input =
        ByChannel { vectors: vec![(Channel::Pn, x), (Channel::Pp, like.clone()), (Channel::Nn, like)], left_out: 0 };
    let path = folder.path().join("x.csv");
    elements::write(&mut std::fs::File::create(&path).unwrap(), &operator.plan, &input).unwrap();
    assert_eq!(elements::read(&path, &operator.plan).unwrap(), input);
    expect_test::expect_file![data("quadrupole_N0.csv")].assert_eq(&std::fs::read_to_string(&path).unwrap());
    let (c, ..) = transformed(&operator.plan, &operator.tables, &input, false);
    strengths::write(&mut std::fs::File::create(&path).unwrap(), &operator.plan, &c).unwrap();
    assert_eq!(strengths::read(&path, &operator.plan).unwrap(), c);
}
