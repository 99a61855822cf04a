use super::random::{Random, fermion_operator, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;

#[test]
#[ignore]
fn scan() {
    let quiet = |states: usize| Options {
        states: vec![states, states],
        noise: Some(vec![]),
        tolerance: 1e-9,
        sweeps: 12,
        ..Options::default()
    };
    let show = |name: &str, operator: &Operator, sector: Sector, order: Option<Vec<usize>>| {
        let chain = Chain::new(operator, sector, order).unwrap();
        for seed in 1..6 {
            let found = run(&chain, &Options { seed, ..quiet(200) }, None, |_| {}).unwrap();
            let noisy = run(&chain, &Options { seed, states: vec![200], ..Options::default() }, None, |_| {}).unwrap();
            println!(
                "{name} seed {seed}: {:.10} var {:?} disc {:.1e} | noisy {:.10} var {:?} w {:?}",
                found.energy,
                found.variance,
                found.sweeps.last().unwrap().discarded,
                noisy.energy,
                noisy.variance,
                found.warnings.iter().map(|w| &w[..20]).collect::<Vec<_>>()
            );
        }
    };
    for s in 1..4 {
        show(
            &format!("fermions {s}"),
            &fermion_operator(&mut Random::new(s), 6, 8),
            Sector::Fermions { up: 3, down: 3 },
            None,
        );
        show(&format!("spins {s}"), &spin_operator(&mut Random::new(s), 10, 1, 9), Sector::Spins { two_sz: 0 }, None);
    }
    let lattice = Lattice::from_edges(12, &(0..6).map(|i| (i, 11 - i, 1.0)).collect::<Vec<_>>()).unwrap();
    show(
        "far pairs",
        &hubbard(&lattice, &[1.0; 6], &[4.0; 12], &[0.0; 12], 0.0, &[0.0; 6]),
        Sector::Fermions { up: 6, down: 6 },
        None,
    );
    let lattice = Lattice::from_edges(16, &(0..8).map(|i| (i, i + 8, 1.0)).collect::<Vec<_>>()).unwrap();
    show("far spins", &xxz(&lattice, &[1.0; 8], &[1.0; 8], &[0.0; 16], &[0.0; 16]), Sector::Spins { two_sz: 0 }, None);
    let lattice = Lattice::ladder([6, 2]).open();
    let b = lattice.bonds().len();
    show(
        "ladder",
        &hubbard(&lattice, &vec![1.0; b], &[8.0; 12], &[0.0; 12], 0.0, &vec![0.0; b]),
        Sector::Fermions { up: 5, down: 5 },
        None,
    );
}
