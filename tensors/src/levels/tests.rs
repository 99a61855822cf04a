//! Levels from tensors against the interaction diagonalised in the basis of relative motion, which makes no tensor.

use crate::hamiltonian::Hamiltonian;
use crate::interaction::InteractionInput;
use crate::levels::{LevelRequest, NuclearLevels};
use crate::relative::Relative;
use crate::work::Direction;
use crate::{Channel, Su3Spec};
use eigenforge_runtime::solvers::symmetric_eigen;
use std::path::{Path, PathBuf};

fn jisp16() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat")
}

fn spec(interaction: PathBuf, n_max: u32, hamiltonian: Option<Hamiltonian>) -> Su3Spec {
    Su3Spec {
        interaction: InteractionInput::File(interaction),
        n_max,
        output: PathBuf::new(),
        format: None,
        direction: Direction::Forward,
        memory: None,
        hamiltonian,
    }
}

/// (energy, J, parity, T) of all states with N ≤ `quanta`: T_rel + V in |(N L S) J⟩.
fn by_relative_motion(quanta: u32, hw: f64) -> Vec<(f64, u32, i32, u32)> {
    let interaction = Relative::read(&jisp16()).unwrap();
    let mut found = Vec::new();
    for (j, s, odd) in (0..=quanta + 1).flat_map(|j| [(j, 0, 0), (j, 0, 1), (j, 1, 0), (j, 1, 1)]) {
        let shells = (odd..=quanta).step_by(2);
        let all = shells.flat_map(|n| (n % 2..=n).step_by(2).map(move |l| [n, l]));
        let states: Vec<[u32; 2]> = all.filter(|[_, l]| l.abs_diff(s) <= j && j <= l + s).collect();
        let kinetic = |[n, l]: [u32; 2], [n2, l2]: [u32; 2]| match n.abs_diff(n2) {
            _ if l != l2 => 0.0,
            0 => hw / 2.0 * (f64::from(n) + 1.5),
            2 => {
                let radial = f64::from((n.max(n2) - l) / 2);
                -hw / 2.0 * (radial * (radial + f64::from(l) + 0.5)).sqrt()
            }
            _ => 0.0,
        };
        let element = |bra, ket| kinetic(bra, ket) + interaction.element(bra, ket, s, j).unwrap_or(0.0);
        let matrix: Vec<f64> = states.iter().flat_map(|bra| states.iter().map(|ket| element(*bra, *ket))).collect();
        let (values, _) = symmetric_eigen(states.len(), &matrix).unwrap();
        let isospin = if (odd + s) % 2 == 0 { 1 } else { 0 };
        found.extend(values.into_iter().map(|e| (e, j, if odd == 1 { -1 } else { 1 }, isospin)));
    }
    found
}

fn sorted(mut levels: Vec<(f64, u32, i32, u32)>) -> Vec<(f64, u32, i32, u32)> {
    levels.sort_by(|a, b| (a.1, a.2, a.3).cmp(&(b.1, b.2, b.3)).then(a.0.total_cmp(&b.0)));
    levels
}

fn named(found: &NuclearLevels) -> Vec<(f64, u32, i32, u32)> {
    sorted(found.levels.iter().map(|x| (x.energy, x.j, x.parity, x.isospin.unwrap())).collect())
}

const ALL: LevelRequest = LevelRequest { channel: Channel::Pn, count: usize::MAX, centre_quanta: 0 };

/// JISP16 at ħω = 20 MeV: every level of two nucleons, by J, parity and T.
#[test]
fn levels_of_tensors_are_those_of_relative_motion() {
    for n_max in 2..=4 {
        let found = spec(jisp16(), n_max, Some(Hamiltonian::new(20.0))).levels(&ALL).unwrap();
        let expected = sorted(by_relative_motion(n_max + 1, 20.0));
        assert_eq!(named(&found).len(), expected.len(), "N_max = {n_max}");
        for (found, expected) in named(&found).into_iter().zip(expected) {
            assert_eq!((found.1, found.2, found.3), (expected.1, expected.2, expected.3));
            assert!((found.0 - expected.0).abs() < 1e-9, "N_max = {n_max}: {found:?} {expected:?}");
        }
        println!("{found}");
    }
}
