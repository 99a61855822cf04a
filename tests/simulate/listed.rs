//! Listed states and their stored matrix, as of more than 64 bits: every format's kernels against the dense matrix.

use super::{devices, multiply::check};
use eigenforge::exact::{Model, Prepared};
use eigenforge::operator::{Charge, Operator, SiteKind, Symmetry, build};
use eigenforge::runtime::Device;
use eigenforge_templates::ScalarType;

fn compare(model: &Model) {
    let dense = model.dense().unwrap();
    let prepared = Prepared::whole(model, ScalarType::F64).unwrap();
    assert!(matches!(prepared, Prepared::Stored(_)));
    check::<f64>(&[Device::cpu()], model, &prepared, &dense);
    check::<f64>(&devices(), model, &prepared, &dense);
    let single = Prepared::whole(model, ScalarType::F32).unwrap();
    check::<f32>(&[Device::cpu()], model, &single, &dense);
    check::<f32>(&devices(), model, &single, &dense);
}

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// Bosons and spins on 40 sites of three bits in all for each pair, some states forbidden; complex with `flux`.
fn mixed(flux: f64) -> Operator {
    let kinds: Vec<SiteKind> = (0..40)
        .map(|site| if site % 2 == 0 { SiteKind::Bosons { most: 6 } } else { SiteKind::Moments { two_s: 1 } })
        .collect();
    let turn = build::scalar(flux.cos()) + flux.sin() * build::imaginary_unit();
    let mut h = Operator::zero().on_kinds(&kinds);
    for site in (0..40).step_by(2) {
        let next = (site + 2) % 40;
        h = h + plus_adjoint(turn.clone() * build::bdag(site) * build::b(next));
        h = h - 0.7 * plus_adjoint(build::sp(site + 1) * build::sm(next + 1));
        h = h + 0.3 * (build::bdag(site) * build::b(site) * build::sz(site + 1));
        h = h + 0.05 * site as f64 * (build::bdag(site) * build::bdag(site) * build::b(site) * build::b(site));
    }
    h.forbid(&[(0, 1), (1, 1)])
}

#[test]
fn words_of_many_bits_multiply_by_a_stored_matrix() {
    for (flux, bosons, ups) in [(0.0, 1, 1), (0.4, 1, 0), (0.0, 2, 0)] {
        let charges = [(Charge::Bosons, bosons), (Charge::TwoSz, 2 * ups - 20)];
        let model = mixed(flux).charges(&charges).unwrap();
        assert_eq!(model.basis().word().bits(), 80 + u32::from(flux != 0.0));
        compare(&model);
    }
}

#[test]
fn short_words_in_a_list_multiply_as_from_tables() {
    let mut h = Operator::zero();
    for i in 0..6 {
        let j = (i + 1) % 6;
        h = h + build::sdots(i, j) + 0.2 * i as f64 * build::sz(i);
    }
    let model = h.on_sites(6).two_sz(0).unwrap();
    let listed = model.with_listed_states().unwrap();
    assert_eq!(model.dense().unwrap(), listed.dense().unwrap());
    compare(&listed);
}

/// A real and a complex symmetry sector: every format's kernels on the simulator, and the CPU's.
#[test]
fn symmetry_sectors_multiply_by_a_stored_matrix() {
    let ring = eigenforge::lattice::Lattice::chain(10).periodic();
    let bonds = ring.bonds().iter().map(|bond| build::sdots(bond.i, bond.j));
    let model = bonds.sum::<Operator>().on_lattice(&ring).two_sz(0).unwrap();
    for k in [5, 2] {
        let sector = model.symmetry(&Symmetry::new().k(&[k]).spin_inversion(-1)).unwrap();
        assert_eq!(sector.is_complex(), k == 2);
        compare(&sector);
    }
}
