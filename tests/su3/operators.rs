//! Operators whose tensors are known beforehand, built without any SU(3) coefficient.

use super::random::random;
use eigenforge::su3::{JjState, Label, OscillatorSpace, Plan, ShellPair, Tables, forward};
use eigenforge_su3::{Irrep, Symbols, multiplicity, wigner_9j};
use std::collections::HashMap;

const N_MAX: u32 = 3;

/// Elements of every state pair by a formula.
fn elements(plan: &Plan, value: impl Fn([ShellPair; 2], [JjState; 2], u32) -> f64) -> Vec<f64> {
    let mut u = vec![0.0; plan.length];
    for group in &plan.groups {
        for (at, quadruple) in group.quadruples.iter().enumerate() {
            let pairs = [group.bras[at / group.kets.len()], group.kets[at % group.kets.len()]];
            for block in &quadruple.blocks {
                let [left, right] = pairs.map(|pair| pair.jj_states(block.j));
                let start = group.start + quadruple.offset + block.offset;
                for (r, bra) in left.iter().enumerate() {
                    for (c, ket) in right.iter().enumerate() {
                        u[start + r * block.columns + c] = value(pairs, [*bra, *ket], block.j);
                    }
                }
            }
        }
    }
    u
}

/// Elements of an operator that is diagonal in S, from ⟨(la lb)L S J|V|(lc ld)L' S J⟩ with L' = L.
fn from_ls(plan: &Plan, value: impl Fn([ShellPair; 2], [u32; 4], [u32; 3]) -> f64) -> Vec<f64> {
    let recoupling = |state: JjState, [l, s, j]: [u32; 3]| {
        let JjState { la, two_ja, lb, two_jb } = state;
        let two_j = [2 * la, 2 * lb, 2 * l, 1, 1, 2 * s, two_ja, two_jb, 2 * j].map(i64::from);
        let hats = (2 * l + 1) * (2 * s + 1) * (two_ja + 1) * (two_jb + 1);
        f64::from(hats).sqrt() * wigner_9j(two_j).unwrap().to_f64()
    };
    elements(plan, |pairs, [bra, ket], j| {
        let mut sum = 0.0;
        for s in [0, 1] {
            for l in j.abs_diff(s)..=j + s {
                let orbital = [bra.la, bra.lb, ket.la, ket.lb];
                let closes = bra.la.abs_diff(bra.lb) <= l
                    && l <= bra.la + bra.lb
                    && ket.la.abs_diff(ket.lb) <= l
                    && l <= ket.la + ket.lb;
                let v = if closes { value(pairs, orbital, [l, s, j]) } else { 0.0 };
                if v != 0.0 {
                    sum += recoupling(bra, [l, s, j]) * v * recoupling(ket, [l, s, j]);
                }
            }
        }
        sum
    })
}

/// Σ C² where the labels are as expected, and elsewhere.
fn norms(plan: &Plan, c: &[f64], expected: impl Fn(&Label) -> bool) -> [f64; 2] {
    let mut norms = [0.0; 2];
    plan.for_each_strength(|place, label| norms[usize::from(!expected(&label))] += c[place] * c[place]);
    norms
}

fn assert_pure(plan: &Plan, tables: &Tables, u: &[f64], irrep: Irrep, s0: u32) {
    let c = forward(plan, tables, u);
    let [inside, outside] = norms(plan, &c, |label| label.irreps[2] == irrep && label.spins[2] == s0);
    assert!(inside > 1.0 && outside < 1e-26 * inside, "{irrep} S0 = {s0}: {inside:e} inside, {outside:e} outside");
}

fn space() -> (Plan, Tables) {
    let plan = Plan::new(OscillatorSpace { n_max: N_MAX });
    let tables = Tables::new(&plan).unwrap();
    (plan, tables)
}

const SCALAR: Irrep = Irrep::new(0, 0);

#[test]
fn the_identity_is_a_scalar_of_distinguishable_and_of_identical_nucleons() {
    let (plan, tables) = space();
    let same = |a: bool| if a { 1.0 } else { 0.0 };
    let identity = elements(&plan, |[bra, ket], [left, right], _| same(bra == ket && left == right));
    assert_pure(&plan, &tables, &identity, SCALAR, 0);
    // δac δbd − (−1)^{ja+jb−J} δad δbc
    let antisymmetric = elements(&plan, |[bra, ket], [left, right], j| {
        let swapped = JjState { la: right.lb, two_ja: right.two_jb, lb: right.la, two_jb: right.two_ja };
        let exchange = same(bra == ShellPair { a: ket.b, b: ket.a } && left == swapped);
        let phase = if ((left.two_ja + left.two_jb) / 2 + j) % 2 == 0 { 1.0 } else { -1.0 };
        same(bra == ket && left == right) - phase * exchange
    });
    assert_pure(&plan, &tables, &antisymmetric, SCALAR, 0);
}

/// Σ_i a†_i(1) a_i(2) + h.c., the part of the quanta of relative motion that couples two nucleons, commutes with SU(3). It moves
/// a quantum, so it feels the radial phases: ⟨n+1 l+1‖a†‖n l⟩ = √((l+1)(n+l+3)), ⟨n+1 l−1‖a†‖n l⟩ = −√(l (n−l+2)), the latter
/// for radial functions positive at infinity (Moshinsky and Smirnov, The Harmonic Oscillator in Modern Physics, 1996).
#[test]
fn moving_a_quantum_is_a_scalar_in_these_radial_phases_only() {
    let (plan, tables) = space();
    let symbols = Symbols::new();
    let hopping = |phase: f64| {
        let creation = move |[n, l]: [u32; 2], [to_n, to_l]: [u32; 2]| -> f64 {
            if to_n != n + 1 {
                0.0
            } else if to_l == l + 1 {
                f64::from((l + 1) * (n + l + 3)).sqrt()
            } else if to_l + 1 == l {
                -phase * f64::from(l * (n - l + 2)).sqrt()
            } else {
                0.0
            }
        };
        // ⟨l'‖a‖l⟩ = (−1)^{l'−l} ⟨l‖a†‖l'⟩, and l' − l is odd.
        let annihilation = move |from: [u32; 2], to: [u32; 2]| -creation(to, from);
        let symbols = &symbols;
        from_ls(&plan, move |[bra, ket], [la, lb, lc, ld], [l, _, _]| {
            let [a, b, c, d] = [[bra.a, la], [bra.b, lb], [ket.a, lc], [ket.b, ld]];
            let product = creation(c, a) * annihilation(d, b) + annihilation(c, a) * creation(d, b);
            if product == 0.0 {
                return 0.0;
            }
            let sign = if (lb + lc + l) % 2 == 0 { 1.0 } else { -1.0 };
            sign * product * symbols.six_j([la, lb, l, ld, lc, 1].map(|x| 2 * i64::from(x))).unwrap()
        })
    };
    assert_pure(&plan, &tables, &hopping(1.0), SCALAR, 0);
    let c = forward(&plan, &tables, &hopping(-1.0));
    let [inside, outside] = norms(&plan, &c, |label| label.irreps[2] == SCALAR);
    assert!(outside > 0.3 * inside, "the other phase must show: {inside} {outside}");
}

/// L is a generator of SU(3), so L·S = [J(J+1) − L(L+1) − S(S+1)]/2 is (1 1) with S0 = 1; S·S is (0 0) with S0 = 0.
#[test]
fn spin_and_orbit() {
    let (plan, tables) = space();
    let square = |x: u32| f64::from(x * (x + 1));
    let diagonal = |pairs: [ShellPair; 2], [la, lb, lc, ld]: [u32; 4]| pairs[0] == pairs[1] && [la, lb] == [lc, ld];
    let spin_orbit =
        from_ls(
            &plan,
            |pairs, orbital, [l, s, j]| {
                if diagonal(pairs, orbital) { (square(j) - square(l) - square(s)) / 2.0 } else { 0.0 }
            },
        );
    assert_pure(&plan, &tables, &spin_orbit, Irrep::new(1, 1), 1);
    let spins = from_ls(&plan, |pairs, orbital, [_, s, _]| if diagonal(pairs, orbital) { square(s) } else { 0.0 });
    assert_pure(&plan, &tables, &spins, SCALAR, 0);
}

/// Antisymmetric elements have C(nb na …) = (−1)^{μf+Sf} C(na nb …), symmetric ones C(cd; ab; ī, f̄, 0̄; Si Sf S0) = (−1)^{S0} C
/// where ρ_max = 1 and no irrep is its own conjugate; else κ0 and ρ0 are mixed. Random elements.
#[test]
fn exchange_and_hermitian_symmetry() {
    let (plan, tables) = space();
    let numbers = random(11, plan.length);
    let place = places(&plan);
    let swapped = |pair: ShellPair, state: JjState| {
        (
            ShellPair { a: pair.b, b: pair.a },
            JjState { la: state.lb, two_ja: state.two_jb, lb: state.la, two_jb: state.two_ja },
        )
    };
    let phase = |state: JjState, j: u32| {
        if ((state.two_ja + state.two_jb) / 2 + j).is_multiple_of(2) { -1.0 } else { 1.0 }
    };
    let u = elements(&plan, |[bra, ket], [left, right], j| {
        let mut sum = 0.0;
        for ((x, xs), (y, ys)) in [((bra, left), (ket, right)), ((ket, right), (bra, left))] {
            for (x, xs, sx) in [(x, xs, 1.0), {
                let (a, b) = swapped(x, xs);
                (a, b, phase(xs, j))
            }] {
                for (y, ys, sy) in [(y, ys, 1.0), {
                    let (a, b) = swapped(y, ys);
                    (a, b, phase(ys, j))
                }] {
                    sum += sx * sy * numbers[place[&(x, xs, y, ys, j)]];
                }
            }
        }
        sum
    });
    let c = forward(&plan, &tables, &u);
    let mut by_label = HashMap::new();
    plan.for_each_strength(|at, label| {
        by_label.insert(label.to_string(), c[at]);
    });
    let mut checked = [0; 2];
    plan.for_each_strength(|at, label| {
        let [bra, ket] = label.pairs;
        let [f, i, zero] = label.irreps;
        let [sf, si, s0] = label.spins;
        let exchanged = Label { pairs: [ShellPair { a: bra.b, b: bra.a }, ket], ..label };
        let sign = if (f.mu + sf) % 2 == 0 { 1.0 } else { -1.0 };
        assert!((by_label[&exchanged.to_string()] - sign * c[at]).abs() < 1e-12, "{label}");
        checked[0] += 1;
        if [f, i, zero].iter().all(|x| x.lambda != x.mu) && multiplicity(f, i, zero) == 1 {
            let irreps = [i.conjugate(), f.conjugate(), zero.conjugate()];
            let adjoint = Label { pairs: [ket, bra], irreps, spins: [si, sf, s0], ..label };
            let sign = if s0 % 2 == 0 { 1.0 } else { -1.0 };
            assert!((by_label[&adjoint.to_string()] - sign * c[at]).abs() < 1e-12, "{label}");
            checked[1] += 1;
        }
    });
    assert!(checked[0] == plan.length && checked[1] > 1000, "{checked:?}");
    assert_the_adjoint_mixes_kappa_and_rho_alone(&plan, &c);
}

/// In general C of the adjoint labels is an orthogonal matrix between κ0 and ρ0 times C: products of the vectors (κ0, ρ0) of two
/// quadruples with the same irreps and spins are kept.
fn assert_the_adjoint_mixes_kappa_and_rho_alone(plan: &Plan, c: &[f64]) {
    type ByQuadruple = HashMap<[ShellPair; 2], Vec<f64>>;
    let mut vectors: HashMap<([Irrep; 3], [u32; 3]), ByQuadruple> = HashMap::new();
    plan.for_each_strength(|at, label| {
        vectors.entry((label.irreps, label.spins)).or_default().entry(label.pairs).or_default().push(c[at]);
    });
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut mixed = 0;
    for (([f, i, zero], [sf, si, s0]), by_pairs) in &vectors {
        let adjoint = ([i.conjugate(), f.conjugate(), zero.conjugate()], [*si, *sf, *s0]);
        let others = &vectors[&adjoint];
        for ([bra, ket], x) in by_pairs {
            for ([bra2, ket2], y) in by_pairs {
                let [x_adjoint, y_adjoint] = [&others[&[*ket, *bra]], &others[&[*ket2, *bra2]]];
                assert!((dot(x, y) - dot(x_adjoint, y_adjoint)).abs() < 1e-11, "{f} {i} {zero}: {bra:?} {ket:?}");
                mixed += usize::from(multiplicity(*f, *i, *zero) > 1);
            }
        }
    }
    assert!(mixed > 1000, "{mixed} with more than one ρ0");
}

type Labels = (ShellPair, JjState, ShellPair, JjState, u32);

fn places(plan: &Plan) -> HashMap<Labels, usize> {
    let mut places = HashMap::new();
    for group in &plan.groups {
        for (at, quadruple) in group.quadruples.iter().enumerate() {
            let [bra, ket] = [group.bras[at / group.kets.len()], group.kets[at % group.kets.len()]];
            for block in &quadruple.blocks {
                for (r, left) in bra.jj_states(block.j).into_iter().enumerate() {
                    for (c, right) in ket.jj_states(block.j).into_iter().enumerate() {
                        let place = group.start + quadruple.offset + block.offset + r * block.columns + c;
                        places.insert((bra, left, ket, right, block.j), place);
                    }
                }
            }
        }
    }
    places
}
