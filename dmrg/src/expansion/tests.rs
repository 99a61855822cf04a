use crate::chain::Chain;
use crate::options::{Options, UpdateChoice};
use crate::sweep::sweeper::Sweeper;
use eigenforge_core::basis::Sector;
use eigenforge_core::lattice::{Boundary, Lattice};
use eigenforge_core::models::{hubbard, xxz};
use eigenforge_core::operator::Operator;
use eigenforge_runtime::backend::HostBackend;

fn heisenberg(lattice: &Lattice) -> Operator {
    let (bonds, sites) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
    xxz(lattice, &bonds, &bonds, &sites, &sites)
}

fn spins(sites: usize) -> Chain {
    Chain::new(&heisenberg(&Lattice::chain(sites).open()), Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn electrons(sites: usize, u: f64) -> Chain {
    let lattice = Lattice::chain(sites).open();
    let none = vec![0.0; sites];
    let operator = hubbard(&lattice, &vec![1.0; sites - 1], &vec![u; sites], &none, 0.0, &vec![0.0; sites - 1]);
    Chain::new(&operator, Sector::Fermions { up: sites / 2, down: sites / 2 }, None).unwrap()
}

/// Sweeps without noise from a product state; the energy of each.
fn swept(chain: &Chain, update: UpdateChoice, states: usize, sweeps: usize) -> Vec<f64> {
    let options = Options { states: vec![states; 2], noise: Some(Vec::new()), update, ..Options::default() };
    let mut sweeper = Sweeper::random(HostBackend::default(), chain, 1, 3).unwrap();
    (0..sweeps)
        .map(|sweep| {
            let plan = options.plan(sweep);
            for (p, grows) in Sweeper::<HostBackend>::path(chain.sites) {
                sweeper.update(p, grows, &plan).unwrap();
            }
            sweeper.finish(options.davidson(9)).unwrap().energy
        })
        .collect()
}

/// From one state at every cut the charges of the others are found without noise: 8 sites have all of their 16 states there.
#[test]
fn a_product_state_grows_to_the_exact_one_without_noise() {
    let chain = spins(8);
    let energies = swept(&chain, UpdateChoice::Expanding, 16, 6);
    let expected = swept(&chain, UpdateChoice::TwoSite, 16, 6);
    assert!(energies[0] > energies[5] + 1e-6, "a start that is far away: {energies:?}");
    assert!((energies[5] - expected[5]).abs() < 1e-11, "{energies:?} {expected:?}");
    let exact = crate::run::run(&chain, &Options { states: vec![16], ..Options::default() }, None, |_| {}).unwrap();
    let exact = exact.check.as_ref().unwrap().energies[0];
    assert!((chain.units.energy(energies[5]) - exact).abs() < 1e-10, "{energies:?}");
}

#[test]
#[ignore = "measures"]
fn measured() {
    let cases: Vec<(&str, Chain, usize)> = match std::env::var("CASE").as_deref() {
        Ok("heis100") => vec![("heisenberg 100", spins(100), 128)],
        Ok("hub40") => vec![("hubbard 40", electrons(40, 4.0), 256)],
        Ok("cyl") => {
            let lattice = Lattice::square([4, 8]).boundary([Boundary::Periodic, Boundary::Open]);
            vec![("cylinder 4x8", Chain::new(&heisenberg(&lattice), Sector::Spins { two_sz: 0 }, None).unwrap(), 512)]
        }
        _ => vec![("heisenberg 32", spins(32), 32), ("hubbard 16", electrons(16, 4.0), 64)],
    };
    for (name, chain, states) in cases {
        for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
            let states = std::env::var("M").ok().and_then(|m| m.parse().ok()).unwrap_or(states);
            let options = Options { states: vec![states], update, check: false, ..Options::default() };
            let found = crate::run::run(&chain, &options, None, |_| {}).unwrap();
            println!("{name} m {states} {}: energy {:.10} variance {:.2e}", update.name(), found.energy, found.variance.unwrap_or(f64::NAN));
            for sweep in &found.sweeps {
                let p = sweep.phases;
                println!(
                    "  m {:>4} noise {:.0e} E {:.10} cut {:.10} disc {:.2e} lost {:.1e} prod {:>5} {:.3} s: plan {:.3} solve {:.3} trunc {:.3} carry {:.3}",
                    sweep.kept, sweep.noise, sweep.energy, sweep.kept_energy.unwrap_or(f64::NAN), sweep.discarded,
                    sweep.lost.unwrap_or(f64::NAN), sweep.products, sweep.seconds, p.plan, p.solve, p.truncate, p.carry
                );
            }
            for warning in &found.warnings {
                println!("  warning: {warning}");
            }
        }
    }
}
