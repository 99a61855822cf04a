use super::blocks::Side;
use super::chain::Chain;
use super::sweep::{SweepPlan, Sweeper};
use super::{davidson, truncate};
use crate::basis::Sector;
use crate::lattice::Lattice;
use crate::models::{hubbard, xxz};

fn run(chain: &Chain, states: usize, sweeps: usize) -> f64 {
    let mut sweeper = Sweeper::random(chain, 16, 1);
    let mut energy = 0.0;
    for sweep in 0..sweeps {
        let noise = [1e-4, 1e-5, 0.0][sweep.min(2)];
        let plan = SweepPlan {
            limits: truncate::Limits { most: states, least: 1, discarded: 0.0 },
            noise,
            davidson: davidson::Limits { tolerance: 1e-7, products: 30 },
        };
        let start = std::time::Instant::now();
        let (mut products, mut flops, mut discarded, mut kept) = (0, 0.0, 0.0f64, 0);
        energy = 0.0;
        for (p, grows) in Sweeper::path(chain.sites) {
            let record = sweeper.step(p, grows, &plan).unwrap();
            energy = record.energy.min(energy);
            products += record.products;
            flops += record.flops * record.products as f64;
            discarded = discarded.max(record.discarded);
            kept = kept.max(record.kept);
        }
        let s = start.elapsed().as_secs_f64();
        println!("{sweep} {energy:.12} {discarded:.1e} {kept} {products} {s:.3} s, {:.2} GFLOP/s", flops / s / 1e9);
    }
    let _ = Side::Left;
    energy
}

#[test]
fn heisenberg_16() {
    let lattice = Lattice::chain(16).open();
    let model = xxz(&lattice, &[1.0; 15], &[1.0; 15], &[0.0; 16], &[0.0; 16]);
    let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap();
    assert_eq!(chain.sum.width(), 5);
    assert!((run(&chain, 64, 4) + 6.911737145575103).abs() < 1e-9);
}

#[test]
fn hubbard_8() {
    let lattice = Lattice::chain(8).open();
    let model = hubbard(&lattice, &[1.0; 7], &[4.0; 8], &[0.0; 8], 0.0, &[0.0; 7]);
    let chain = Chain::new(&model, Sector::Fermions { up: 4, down: 4 }, None).unwrap();
    assert_eq!(chain.sum.width(), 6);
    assert!((run(&chain, 128, 4) + 4.235806999129672).abs() < 1e-9);
}

#[test]
fn speed() {
    let n = 100;
    let lattice = Lattice::chain(n).open();
    let model = xxz(&lattice, &vec![1.0; n - 1], &vec![1.0; n - 1], &vec![0.0; n], &vec![0.0; n]);
    let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap();
    run(&chain, 128, 6);
    let n = 40;
    let lattice = Lattice::chain(n).open();
    let model = hubbard(&lattice, &vec![1.0; n - 1], &vec![8.0; n], &vec![0.0; n], 0.0, &vec![0.0; n - 1]);
    let chain = Chain::new(&model, Sector::Fermions { up: 20, down: 20 }, None).unwrap();
    run(&chain, 128, 6);
}
