//! What must hold for any labels: orthogonality, symmetries, sum rules. Labels are random; nothing is compared with a table.

use eigenforge_su3::{Block, Coupler, Irrep, Symbols, clebsch_gordan, product, wigner_3j, wigner_6j, wigner_9j};
use proptest::prelude::*;
use std::sync::LazyLock;

static COUPLER: LazyLock<Coupler> = LazyLock::new(Coupler::new);

fn irrep(largest: u32) -> impl Strategy<Value = Irrep> {
    (0..=largest, 0..=largest).prop_map(|(lambda, mu)| Irrep::new(lambda, mu))
}

/// Two irreps and one of their product.
fn triple(largest: u32) -> impl Strategy<Value = [Irrep; 3]> {
    (irrep(largest), irrep(largest), any::<prop::sample::Index>()).prop_map(|(first, second, index)| {
        let product = product(first, second);
        [first, second, product[index.index(product.len())].0]
    })
}

fn phase(power: u32) -> f64 {
    if power.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// λ + μ
fn sum(irrep: Irrep) -> u32 {
    irrep.lambda + irrep.mu
}

fn all_of([first, second, third]: [Irrep; 3]) -> Block {
    COUPLER.block(first, second, third, 0..=third.l_max()).unwrap()
}

/// Every label of a block: [κ1, L1], [κ2, L2], [κ3, L3], ρ.
fn labels(block: &Block) -> Vec<([[u32; 2]; 3], u32)> {
    let mut labels = Vec::new();
    for of_l3 in &block.by_l3 {
        for row in &of_l3.rows {
            for kappa3 in 1..=of_l3.kappa_max {
                let states = [[row.kappa1, row.l1], [row.kappa2, row.l2], [kappa3, of_l3.l3]];
                labels.extend((1..=block.rho_max).map(|rho| (states, rho)));
            }
        }
    }
    labels
}

fn value(block: &Block, [a, b, c]: [[u32; 2]; 3], rho: u32) -> f64 {
    block.value(a, b, c, rho).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Σ_{(λ3μ3)κ3ρ} and Σ_{κ1L1κ2L2}: the table of one L3 is square and orthogonal, every element of Wᵀ W and W Wᵀ.
    #[test]
    fn tables_of_a_product_are_orthogonal(first in irrep(5), second in irrep(5), l3 in 0u32..8) {
        let table = COUPLER.square_tables(first, second, l3..=l3).remove(0);
        let n = table.rows.len();
        prop_assert_eq!(table.columns.len(), n);
        prop_assert_eq!(table.values.len(), n * n);
        for i in 0..n {
            for j in 0..=i {
                let by_column: f64 = (0..n).map(|k| table.values[i * n + k] * table.values[j * n + k]).sum();
                let by_row: f64 = (0..n).map(|k| table.values[k * n + i] * table.values[k * n + j]).sum();
                let unit = if i == j { 1.0 } else { 0.0 };
                prop_assert!((by_column - unit).abs() < 1e-13 && (by_row - unit).abs() < 1e-13);
            }
        }
        prop_assert!(table.defect < 1e-13);
    }

    /// ⟨2; 1 ‖ 3⟩ = (−1)^{φ+L1+L2−L3} ⟨1; 2 ‖ 3⟩, φ = Σ(λ+μ) with the third negative, where ρ_max = 1.
    #[test]
    fn exchange(triple in triple(5)) {
        let [first, second, third] = triple;
        let block = all_of(triple);
        if block.rho_max == 1 {
            let exchanged = all_of([second, first, third]);
            for ([a, b, c], rho) in labels(&block) {
                let sign = phase(sum(first) + sum(second) + sum(third) + a[1] + b[1] + c[1]);
                let difference = value(&exchanged, [b, a, c], rho) - sign * value(&block, [a, b, c], rho);
                prop_assert!(difference.abs() < 1e-13, "{:?}", [a, b, c]);
            }
        }
    }

    /// ⟨1; 2 ‖ 3⟩_ρ = (−1)^{λ1+μ1+λ3+μ3+L1+L2+L3} √(dim3 (2L1+1) / [dim1 (2L3+1)]) ⟨3; 2̄ ‖ 1⟩_ρ, λ2 ≠ μ2.
    #[test]
    fn first_and_third_change_places(triple in triple(5)) {
        let [first, second, third] = triple;
        if second.lambda != second.mu {
            let (block, other) = (all_of(triple), all_of([third, second.conjugate(), first]));
            let ratio = third.dimension() as f64 / first.dimension() as f64;
            for ([a, b, c], rho) in labels(&block) {
                let sign = phase(sum(first) + sum(third) + a[1] + b[1] + c[1]);
                let size = (ratio * f64::from(2 * a[1] + 1) / f64::from(2 * c[1] + 1)).sqrt();
                let difference = value(&block, [a, b, c], rho) - sign * size * value(&other, [c, b, a], rho);
                prop_assert!(difference.abs() < 1e-12, "{:?}", [a, b, c]);
            }
        }
    }

    /// Conjugating all three: (−1)^{Σ(λ+μ)+ρ_max−ρ}, no irrep its own conjugate.
    #[test]
    fn conjugation(triple in triple(6)) {
        if triple.iter().all(|x| x.lambda != x.mu) {
            let (block, other) = (all_of(triple), all_of(triple.map(Irrep::conjugate)));
            for (states, rho) in labels(&block) {
                let sign = phase(triple.into_iter().map(sum).sum::<u32>() + block.rho_max - rho);
                let difference = value(&block, states, rho) - sign * value(&other, states, rho);
                prop_assert!(difference.abs() < 1e-13, "{:?}", states);
            }
        }
    }

    /// The quick symbols against the exact ones.
    #[test]
    fn quick_symbols_are_the_exact_ones(j in prop::array::uniform9(0i64..24), m in prop::array::uniform2(0i64..24)) {
        let symbols = Symbols::new();
        let [a, b, c, d, e, f, ..] = j;
        let exact = wigner_6j([a, b, c, d, e, f]).unwrap().to_f64();
        prop_assert!((symbols.six_j([a, b, c, d, e, f]).unwrap() - exact).abs() <= 4e-15 * exact.abs());
        let exact = wigner_9j(j).unwrap().to_f64();
        prop_assert!((symbols.nine_j(j).unwrap() - exact).abs() <= 1e-15);
        let m1 = 2 * (m[0] % (a + 1)) - a;
        let m2 = 2 * (m[1] % (b + 1)) - b;
        if (m1 + m2).abs() <= c && (a + b + c) % 2 == 0 {
            let exact = clebsch_gordan([a, b, c], [m1, m2, m1 + m2]).unwrap().to_f64();
            let quick = symbols.clebsch_gordan([a, b, c], [m1, m2, m1 + m2]).unwrap();
            prop_assert!((quick - exact).abs() <= 4e-15 * exact.abs());
        }
    }

    /// Σ_{m1 m2} (2j3+1) (j1 j2 j3; m1 m2 m3)² = 1 for every m3, and a 3j changes by (−1)^{j1+j2+j3} with two columns.
    #[test]
    fn three_j_sum_rule(j1 in 0i64..16, j2 in 0i64..16, step in 0i64..16) {
        let j3 = (j1 - j2).abs() + 2 * (step % (j1.min(j2) + 1));
        let m3 = j3 - 2 * (step % (j3 + 1));
        let mut sum = 0.0;
        for m1 in (-j1..=j1).step_by(2).filter(|m1| (m1 + m3).abs() <= j2) {
            let symbol = wigner_3j([j1, j2, j3], [m1, -m1 - m3, m3]).unwrap();
            let swapped = wigner_3j([j2, j1, j3], [-m1 - m3, m1, m3]).unwrap();
            let expected = if (j1 + j2 + j3) / 2 % 2 == 0 { symbol.clone() } else { symbol.clone().negated() };
            prop_assert_eq!(swapped, expected);
            sum += symbol.to_f64().powi(2);
        }
        prop_assert!((sum * (j3 + 1) as f64 - 1.0).abs() < 1e-14);
    }
}

/// Where floating point alone has no digit left: labels of thirty and more, integers beyond 128 bits, ρ_max up to 13. Of each
/// product the irrep that occurs most often.
#[test]
fn large_irreps_stay_orthogonal() {
    for [first, second] in
        [[(30, 12), (6, 4)], [(10, 33), (4, 4)], [(20, 20), (5, 1)], [(40, 3), (10, 0)], [(16, 14), (12, 13)]]
            .map(|pair| pair.map(|(lambda, mu)| Irrep::new(lambda, mu)))
    {
        let (third, rho_max) = product(first, second).into_iter().max_by_key(|(_, rho_max)| *rho_max).unwrap();
        let block = COUPLER.block(first, second, third, 0..=4).unwrap();
        println!("{first} x {second} -> {third}, rho_max = {rho_max}: defect {:.1e}", block.defect);
        assert!(!block.by_l3.is_empty() && block.by_l3.iter().all(|of_l3| !of_l3.values.is_empty()));
        assert!(block.defect < 1e-12, "{first} x {second} -> {third}: {:e}", block.defect);
    }
}

#[test]
fn many_triples_at_once_are_the_same_as_one_by_one() {
    let triples: Vec<[Irrep; 3]> = product(Irrep::new(4, 2), Irrep::new(2, 3))
        .into_iter()
        .map(|(third, _)| [Irrep::new(4, 2), Irrep::new(2, 3), third])
        .collect();
    let blocks = Coupler::new().blocks(&triples, 0..=2).unwrap();
    assert_eq!(blocks.len(), triples.len());
    for (triple, block) in triples.into_iter().zip(blocks) {
        let [first, second, third] = triple;
        let alone = COUPLER.block(first, second, third, 0..=2).unwrap();
        assert_eq!(block.irreps, triple);
        for (a, b) in block.by_l3.iter().zip(&alone.by_l3) {
            assert_eq!((a.l3, &a.rows, &a.values), (b.l3, &b.rows, &b.values));
        }
    }
    let outside = [Irrep::new(1, 0), Irrep::new(1, 0), Irrep::new(3, 0)];
    assert!(Coupler::new().blocks(&[outside], 0..=2).is_err());
}

/// Edmonds (1957), eq. 6.4.14: a 9j with a zero is a 6j.
#[test]
fn a_nine_j_with_a_zero_is_a_six_j() {
    for [a, b, e, c, d, f] in [[2, 3, 3, 4, 5, 6], [6, 5, 5, 9, 10, 6], [14, 8, 14, 5, 15, 3]] {
        // {a b e; c d e; f f 0} = (−1)^{b+c+e+f} / √((2e+1)(2f+1)) {a b e; d c f}
        let nine = wigner_9j([a, b, e, c, d, e, f, f, 0]).unwrap().to_f64();
        let sign = if (b + c + e + f) / 2 % 2 == 0 { 1.0 } else { -1.0 };
        let six = wigner_6j([a, b, e, d, c, f]).unwrap().to_f64();
        let expected = sign * six / f64::sqrt(((e + 1) * (f + 1)) as f64);
        assert!((nine - expected).abs() < 1e-16, "{nine} {expected}");
    }
}
