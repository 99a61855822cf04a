//! Charges with a number for each site: the momentum of a ring whose sites are plane waves, and 2m of a shell of angular momentum.
//!
//! In: the same H by sites and by momenta. Out: the spectra of both in each sector, which are equal; what a sector of such a charge refuses.

use eigenforge::dmrg::{Chain, DmrgError};
use eigenforge::exact::{Dense, InSector, Model};
use eigenforge::lattice::Lattice;
use eigenforge::operator::build::{c, cdag, n};
use eigenforge::operator::{Charge, Operator, OperatorError, SiteKind, SiteSum, Spin, Symmetry};
use eigenforge_runtime::Device;
use num_complex::Complex64;
use std::f64::consts::TAU;

const LENGTH: usize = 6;
const MODE: Spin = Spin::Flavour(0);

fn spectrum(model: &Model) -> Vec<f64> {
    Dense::new(model).states(model.states() as usize).run(&Device::cpu()).unwrap().energies().to_vec()
}

/// −Σ (c†_j c_{j+1} + h.c.) + 1.7 Σ n_j n_{j+1} of spinless fermions on a ring.
fn by_sites() -> Operator {
    let bond = |j: usize| {
        let next = (j + 1) % LENGTH;
        let hop = cdag(j, MODE) * c(next, MODE);
        -1.0 * (hop.clone() + hop.adjoint()) + 1.7 * n(j, MODE) * n(next, MODE)
    };
    (0..LENGTH).map(bond).sum::<Operator>().on_kinds(&[SiteKind::Flavours(1); LENGTH])
}

/// The same with a†_k = Σ_j e^{2πikj/L} c†_j/√L: −2 cos k n_k + (1.7/L) Σ cos q a†_{p+q} a†_{k−q} a_k a_p.
fn by_momenta() -> Operator {
    let angle = |k: usize| (TAU * k as f64 / LENGTH as f64).cos();
    let mut sum: Operator = (0..LENGTH).map(|k| -2.0 * angle(k) * n(k, MODE)).sum();
    for (p, k, q) in (0..LENGTH.pow(3)).map(|at| (at / LENGTH / LENGTH, at / LENGTH % LENGTH, at % LENGTH)) {
        let [to, other] = [(p + q) % LENGTH, (k + LENGTH - q) % LENGTH];
        let product = cdag(to, MODE) * cdag(other, MODE) * c(k, MODE) * c(p, MODE);
        sum.add_terms(product, 1.7 / LENGTH as f64 * angle(q));
    }
    sum.on_kinds(&[SiteKind::Flavours(1); LENGTH])
}

#[test]
fn momentum_is_a_charge_of_plane_waves() {
    let momentum = Charge::OfSites(SiteSum::new("momentum", &[0, 1, 2, 3, 4, 5], Some(6)));
    let on_ring = by_sites().on_lattice(&Lattice::chain(LENGTH).periodic());
    let ring = on_ring.charges(&[(Charge::Particles, 3)]).unwrap();
    let mut states = 0;
    for k in 0..LENGTH as i64 {
        let sector = by_momenta().charges(&[(Charge::Particles, 3), (momentum, k)]).unwrap();
        let expected = spectrum(&ring.symmetry(&Symmetry::new().k(&[k])).unwrap());
        let found = spectrum(&sector);
        assert_eq!(found.len(), expected.len(), "k = {k}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "k = {k}: {found} and {expected}");
        }
        states += found.len();
    }
    assert_eq!(states, 20);
}

#[test]
fn what_such_a_charge_cannot_be_beside_is_refused() {
    let charge = |modulo| Charge::OfSites(SiteSum::new("q", &[0, 1, 2, 3, 4, 5], modulo));
    let broken = by_sites().charges(&[(charge(None), 3)]).unwrap_err();
    assert!(matches!(broken, OperatorError::NotConserved { change: 1 | -1, .. }), "{broken}");
    assert!(broken.to_string().contains("changes the charge \"q\" by"), "{broken}");
    let model = by_momenta().charges(&[(Charge::Particles, 3), (charge(Some(6)), 0)]).unwrap();
    assert_eq!(model.sector().to_string(), "3 fermions, q = 0 modulo 6");
    let mirror = Symmetry::new().generator(&[0, 5, 4, 3, 2, 1], Complex64::ONE);
    let refused = model.symmetry(&mirror).unwrap_err().to_string();
    assert!(refused.contains("a number for each site: leave one of both out"), "{refused}");
    let chain = Chain::new(&by_momenta(), model.sector().clone(), None).err().unwrap();
    assert!(matches!(chain, DmrgError::Operator(OperatorError::SiteSumInDmrg { .. })), "{chain}");
}
