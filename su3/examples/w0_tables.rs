//! Times all coefficients ⟨f; i ‖ 0⟩ that the SU(3) tensors of a two-body interaction need: f in (na 0) × (nb 0) and i in
//! (0 nd) × (0 nc) with na, nb ≤ N_max + 1 and na + nb ≤ N_max + 2, all (λ0 μ0), L0 = 0, 1, 2.
//!
//! ```text
//! cargo run --release -p eigenforge-su3 --example w0_tables -- 14        # all cores
//! RAYON_NUM_THREADS=1 cargo run --release -p eigenforge-su3 --example w0_tables -- 14
//! ```

use eigenforge_su3::{Coupler, Irrep};
use rayon::prelude::*;
use std::time::Instant;

fn main() {
    let n_max: u32 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(8);
    // f of N = na + nb quanta is (N − 2k, k); na, nb ≤ N_max + 1 leaves out the pair (0, N_max + 2), but none of its irreps.
    let two_bosons = |quanta: u32| (0..=quanta / 2).map(move |k| Irrep::new(quanta - 2 * k, k));
    let all: Vec<Irrep> = (0..=n_max + 2).flat_map(two_bosons).collect();
    // Parity is conserved: λf and μi are of the same.
    let pairs: Vec<[Irrep; 2]> = all
        .iter()
        .flat_map(|f| all.iter().map(move |i| [*f, i.conjugate()]))
        .filter(|[f, i]| (f.lambda + i.mu) % 2 == 0)
        .collect();
    let coupler = Coupler::new();
    let started = Instant::now();
    let (numbers, triples, defect) = pairs
        .par_iter()
        .map(|[f, i]| {
            let tables = coupler.square_tables(*f, *i, 0..=2);
            let mut irreps: Vec<Irrep> = tables.iter().flat_map(|t| t.columns.iter().map(|c| c.irrep)).collect();
            irreps.sort_unstable();
            irreps.dedup();
            let numbers: usize = tables.iter().map(|table| table.values.len()).sum();
            (numbers, irreps.len(), tables.iter().map(|t| t.defect).fold(0.0, f64::max))
        })
        .reduce(|| (0, 0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)));
    let seconds = started.elapsed().as_secs_f64();
    println!("N_max {n_max}: {} pairs, {triples} triples, {numbers} coefficients in {seconds:.3} s", pairs.len());
    println!("largest defect {defect:.2e}, {} threads", rayon::current_num_threads());
}
