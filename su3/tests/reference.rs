//! The tables of `data/`, row by row.
//!
//! * `wigner6j9j.csv`: exact squares from SymPy, which agree with WIGXJPF.
//! * `su3_reference.csv`, `su3_canonical.csv`, `su3_branching.csv`: Draayer–Akiyama coefficients in 400-bit arithmetic,
//!   which agree with ndsu3lib 1.0 (quad build) to its rounding, 6e-14.

use eigenforge_su3::{Branching, Coupler, Extremal, Irrep, wigner_6j, wigner_9j};
use std::collections::HashMap;

/// Lines of a table by column name, empty cells as they are.
fn table(text: &'static str) -> Vec<HashMap<&'static str, &'static str>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| header.iter().copied().zip(line.split(',')).collect()).collect()
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(row: &HashMap<&str, &str>, column: &str) -> T {
    row[column].parse().unwrap()
}

fn irrep(row: &HashMap<&str, &str>, index: &str) -> Irrep {
    Irrep::new(number(row, &format!("lambda{index}")), number(row, &format!("mu{index}")))
}

/// Distance in units in the last place.
fn ulps(a: f64, b: f64) -> u64 {
    (a.to_bits() as i64).abs_diff(b.to_bits() as i64)
}

#[test]
fn six_j_and_nine_j_symbols_are_exact() {
    let rows = table(include_str!("data/wigner6j9j.csv"));
    assert_eq!(rows.len(), 500);
    for row in rows {
        let two_j: Vec<i64> = (1..=9).map_while(|i| row[format!("twoj{i}").as_str()].parse().ok()).collect();
        let symbol = match row["type"] {
            "6j" => wigner_6j(two_j.clone().try_into().unwrap()),
            _ => wigner_9j(two_j.clone().try_into().unwrap()),
        }
        .unwrap();
        let (numerator, denominator) = symbol.square();
        let found = [symbol.sign().to_string(), numerator.to_string(), denominator.to_string()];
        assert_eq!(found, [row["sign"], row["sq_num"], row["sq_den"]], "{two_j:?}");
        // 22 digits are printed, so the nearest double is known.
        assert!(ulps(symbol.to_f64(), number(&row, "value")) == 0, "{two_j:?}: {}", symbol.to_f64());
    }
}

#[test]
fn canonical_coefficients_of_both_extremal_states() {
    let rows = table(include_str!("data/su3_canonical.csv"));
    let mut worst = 0.0f64;
    for row in rows {
        let [first, second, third] = ["1", "2", "3"].map(|i| irrep(&row, i));
        let state = |irrep: Irrep, index: &str| {
            let epsilon: i64 = number(&row, &format!("eps{index}"));
            let two_lambda: i64 = number(&row, &format!("twoLam{index}"));
            let sum = (2 * i64::from(irrep.lambda) + i64::from(irrep.mu) - epsilon) / 3;
            let difference = two_lambda - i64::from(irrep.mu);
            [((sum + difference) / 2) as u32, ((sum - difference) / 2) as u32]
        };
        let extremal = Extremal::new(first, second, third, row["E"] == "H");
        let value = extremal.value(state(first, "1"), state(second, "2"), number(&row, "rho"));
        worst = worst.max((value - number::<f64>(&row, "value")).abs());
    }
    println!("canonical: worst {worst:e}");
    assert!(worst < 1e-14, "{worst:e}");
}

#[test]
fn branching_coefficients() {
    let mut tables: HashMap<Irrep, Branching> = HashMap::new();
    let mut worst = 0.0f64;
    for row in table(include_str!("data/su3_branching.csv")) {
        let irrep = irrep(&row, "");
        let table = tables.entry(irrep).or_insert_with(|| Branching::new(irrep));
        let sum = (2 * irrep.lambda as i32 + irrep.mu as i32 - number::<i32>(&row, "eps")) / 3;
        let difference = number::<i32>(&row, "twoLam") - irrep.mu as i32;
        let state = [(sum + difference) / 2, (sum - difference) / 2].map(|p| p as u32);
        let value = table.value(state, number(&row, "kappa"), number(&row, "L"), number(&row, "M"));
        let error = (value - number::<f64>(&row, "u")).abs();
        assert!(error < 1e-14, "{row:?}: {value}");
        worst = worst.max(error);
    }
    println!("branching: worst {worst:e}");
}

#[test]
fn every_reduced_coefficient_to_one_part_in_1e14() {
    let coupler = Coupler::new();
    let (mut worst, mut defect) = (0.0f64, 0.0f64);
    let rows = table(include_str!("data/su3_reference.csv"));
    assert_eq!(rows.len(), 3014);
    for row in rows {
        let [first, second, third] = ["1", "2", "3"].map(|i| irrep(&row, i));
        let state = |i: &str| [number(&row, &format!("kappa{i}")), number(&row, &format!("L{i}"))];
        let [a, b, c] = ["1", "2", "3"].map(state);
        let block = coupler.block(first, second, third, c[1]..=c[1]).unwrap();
        let value = block.value(a, b, c, number(&row, "rho")).unwrap();
        let error = (value - number::<f64>(&row, "value")).abs();
        assert!(error < 1e-14, "{row:?}: {value}");
        worst = worst.max(error);
        defect = defect.max(block.defect);
    }
    println!("coupling: worst {worst:e}, largest defect {defect:e}");
    assert!(defect < 1e-13, "{defect:e}");
}
