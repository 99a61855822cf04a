//! The factorised transformation: orthogonal, invertible, and equal to an independent one on a real interaction.

use super::random::random;
use eigenforge::su3::{
    ByChannel, Direction, InteractionError, OscillatorSpace, Plan, TableCache, Tables, forward, inverse,
    open_interaction, published_sum,
};
use std::path::Path;

/// 2J + 1 of every element.
pub fn weights(plan: &Plan) -> Vec<f64> {
    let mut weights = vec![0.0; plan.length];
    for group in &plan.groups {
        for quadruple in &group.quadruples {
            for block in &quadruple.blocks {
                let start = group.start + quadruple.offset + block.offset;
                weights[start..][..block.rows * block.columns].fill(f64::from(2 * block.j + 1));
            }
        }
    }
    weights
}

pub fn data(name: &str) -> std::path::PathBuf {
    let root = std::env::var_os("EIGENFORGE_ROOT").unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    Path::new(&root).join("tests/data/su3").join(name)
}

/// All numbers of a file: elements to be transformed forward, or strengths.
pub fn read(path: &Path, plan: &Plan, direction: Direction) -> Result<ByChannel, InteractionError> {
    let source = open_interaction(path, plan, direction, &TableCache::off())?;
    Ok(ByChannel::of_source(plan, &*source)?)
}

/// Σ C² = Σ (2J+1) u², and the transpose takes C back to u: random elements, a shell more each time.
#[test]
fn the_map_is_orthogonal_and_its_transpose_the_inverse() {
    for n_max in [0, 1, 3, 4] {
        let plan = Plan::new(OscillatorSpace { n_max });
        let tables = Tables::new(&plan).unwrap();
        assert!(tables.defect < 1e-14, "N_max {n_max}: {:e}", tables.defect);
        let u = random(7 + u64::from(n_max), plan.length);
        let c = forward(&plan, &tables, &u);
        let input: f64 = u.iter().zip(weights(&plan)).map(|(u, weight)| weight * u * u).sum();
        let output: f64 = c.iter().map(|c| c * c).sum();
        assert!((output / input - 1.0).abs() < 1e-13, "N_max {n_max}: {input} {output}");
        let back = inverse(&plan, &tables, &c);
        let worst = back.iter().zip(&u).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-13, "N_max {n_max}: {worst:e}");
    }
}

/// The published sum over all labels at once gives the same strengths as the chain of products: random elements.
#[test]
fn the_papers_sum_and_the_chain_of_products_agree() {
    for n_max in [1, 3] {
        let plan = Plan::new(OscillatorSpace { n_max });
        let tables = Tables::new(&plan).unwrap();
        let u = random(23, plan.length);
        let (chain, (sum, terms)) = (forward(&plan, &tables, &u), published_sum(&plan, &tables, &u));
        assert!(terms > plan.length as u64, "{terms}");
        let worst = chain.iter().zip(&sum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-12, "N_max {n_max}: {worst:e}");
    }
}

/// JISP16 at ħω = 20 MeV, N_max = 2, in and out: tests/data/su3, made by an independent program that sums Oberhuber et al.
/// (2021), eq. 7 (corrected), term by term in Python, and checked there in m-scheme.
#[test]
fn jisp16_end_to_end() {
    let plan = Plan::new(OscillatorSpace { n_max: 2 });
    let tables = Tables::new(&plan).unwrap();
    let input = read(&data("jisp16_hw20_N2_V.csv"), &plan, Direction::Forward).unwrap();
    let expected = read(&data("jisp16_hw20_N2_C.csv"), &plan, Direction::Inverse).unwrap();
    assert_eq!((input.vectors.len(), input.left_out), (2, 0));
    for ((channel, u), (_, c)) in input.vectors.iter().zip(&expected.vectors) {
        let found = forward(&plan, &tables, u);
        let largest = c.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
        assert!(largest > 10.0);
        let worst = found.iter().zip(c).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-13 * largest, "{}: {worst:e} of {largest}", channel.word());
        let back = inverse(&plan, &tables, c);
        let worst = back.iter().zip(u).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-13 * largest, "{}: {worst:e} of {largest}", channel.word());
    }
}
