//! What cannot be run is refused with the term, the site and the charge.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, Options, conserved_charges, run};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::{Charge, Factor, Operator, Spin};

fn heisenberg(sites: usize) -> Operator {
    let lattice = Lattice::chain(sites).open();
    let bonds = sites - 1;
    xxz(&lattice, &vec![1.0; bonds], &vec![1.0; bonds], &vec![0.0; sites], &vec![0.0; sites])
}

fn why(operator: &Operator, sector: Sector, order: Option<Vec<usize>>) -> String {
    Chain::new(operator, sector, order).err().expect("accepted").to_string()
}

#[test]
fn sectors_that_the_sites_cannot_hold() {
    let odd = why(&heisenberg(5), Sector::Spins { two_sz: 0 }, None);
    assert!(odd.contains("2Sz = 0") && odd.contains("have odd 2Sz"), "{odd}");
    let much = why(&heisenberg(6), Sector::Spins { two_sz: 8 }, None);
    assert!(much.contains("between -6 and 6"), "{much}");
    let lattice = Lattice::chain(4).open();
    let model = hubbard(&lattice, &[1.0; 3], &[4.0; 4], &[0.0; 4], 0.0, &[0.0; 3]);
    let full = why(&model, Sector::Fermions { up: 5, down: 1 }, None);
    assert!(full.contains("5 up electrons need at least 5 sites"), "{full}");
    // Electrons may have a total spin and any number.
    Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap();
}

#[test]
fn a_charge_that_a_term_changes() {
    let pairing = Operator::product(&[Factor::Create(Spin::Up, 1), Factor::Create(Spin::Down, 2)]);
    let operator = pairing.clone()
        + pairing.adjoint()
        + Operator::product(&[Factor::Create(Spin::Up, 3), Factor::Annihilate(Spin::Up, 3)]);
    let said = why(&operator, Sector::Fermions { up: 1, down: 1 }, None);
    assert!(said.contains("c†_1↑ c†_2↓, at site 1, 2, changes the number of up electrons by 1"), "{said}");
    // The charges that it does conserve are found, and it can be solved with them.
    let hermitian = pairing.clone() + pairing.adjoint();
    assert_eq!(conserved_charges(&hermitian), [Charge::Polarisation]);
    let chain = Chain::new(&hermitian, Sector::Charges(vec![(Charge::Polarisation, 0)]), None).unwrap();
    let found = run(&chain, &Options::default(), None, |_| {}).unwrap();
    assert!((found.energy + 1.0).abs() < 1e-12, "(|0> ± |pair>)/√2: -1, not {}", found.energy);
}

#[test]
fn short_chains_wrong_orders_and_no_states() {
    assert!(why(&heisenberg(2), Sector::Spins { two_sz: 0 }, None).contains("at least 3"));
    let order = why(&heisenberg(4), Sector::Spins { two_sz: 0 }, Some(vec![0, 1, 2, 2]));
    assert!(order.contains("found 2 twice"), "{order}");
    let chain = Chain::new(&heisenberg(4), Sector::Spins { two_sz: 0 }, None).unwrap();
    let said = run(&chain, &Options { states: vec![0], ..Options::default() }, None, |_| {}).unwrap_err().to_string();
    assert!(said.starts_with("states should be"), "{said}");
}

/// The ends of what a sector can be: one state, or nearly.
#[test]
fn sectors_of_a_single_state_and_chains_of_three_sites_work() {
    let all_up = Chain::new(&heisenberg(6), Sector::Spins { two_sz: 6 }, None).unwrap();
    let found = run(&all_up, &Options::default(), None, |_| {}).unwrap();
    assert!((found.energy - 1.25).abs() < 1e-12, "five bonds of 1/4: {}", found.energy);
    let three = Chain::new(&heisenberg(3), Sector::Spins { two_sz: 1 }, None).unwrap();
    let found = run(&three, &Options::default(), None, |_| {}).unwrap();
    assert!((found.energy + 1.0).abs() < 1e-12, "three spins: -1, not {}", found.energy);
}

/// Fermions and local moments in one operator.
#[test]
fn fermions_and_local_moments_in_one_operator() {
    let number = Operator::product(&[Factor::Create(Spin::Up, 1), Factor::Annihilate(Spin::Up, 1)]);
    let moment = Operator::product(&[Factor::Sz(3)]);
    let said = why(&(number.clone() + moment.clone()), Sector::Fermions { up: 1, down: 1 }, None);
    assert!(said.contains("c†_1↑ c_1↑") && said.contains("Sᶻ_3 at site 3"), "{said}");
}

/// The header of an older version, which had no seal, and of a newer one.
#[test]
fn the_checkpoint_of_another_version() {
    #[derive(serde::Serialize)]
    #[serde(rename = "Header")]
    struct Newer {
        colour: &'static str,
        schema: u32,
    }
    let folder = tempfile::tempdir().unwrap();
    let chain = Chain::new(&heisenberg(8), Sector::Spins { two_sz: 0 }, None).unwrap();
    let at = |resume| Checkpoint { folder: folder.path().into(), resume };
    run(&chain, &Options { sweeps: 1, ..Options::default() }, Some(&at(false)), |_| {}).unwrap();
    let newer = eigenforge_runtime::sealed::seal_compactly(&Newer { colour: "red", schema: 9 }).unwrap();
    let older = "(schema:3,version:\"0.0.1\",progress_of_old:())".to_string();
    for (header, schema) in [(older, "schema 3"), (newer, "schema 9")] {
        for state in std::fs::read_dir(folder.path()).unwrap() {
            std::fs::write(state.unwrap().path().join("header.ron"), &header).unwrap();
        }
        for resume in [false, true] {
            let refused = run(&chain, &Options::default(), Some(&at(resume)), |_| {}).unwrap_err();
            assert!(matches!(&refused, DmrgError::OtherCheckpoint { what, .. } if what == "version"), "{refused}");
            assert!(refused.to_string().contains(&format!("its version is {schema}")), "{refused}");
        }
    }
}
