//! Levels from tensors against the interaction diagonalised in the basis of relative motion, which makes no tensor.

use crate::hamiltonian::NuclearTerms;
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

fn spec(interaction: PathBuf, n_max: u32, hamiltonian: Option<NuclearTerms>) -> Su3Spec {
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

/// (energy, J, parity, T) of all states with N ≤ `quanta`: T_rel + V in |(N L S) J⟩, with e²/r between two protons if `charge`.
fn by_relative_motion(quanta: u32, hw: f64, charge: bool) -> Vec<(f64, u32, i32, u32)> {
    let interaction = Relative::read(&jisp16()).unwrap();
    let coulomb = NuclearTerms { coulomb: true, ..NuclearTerms::new(hw) }.repulsion(quanta);
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
        let repulsion = |bra, ket| if charge { coulomb.element(bra, ket, s, j).unwrap() } else { 0.0 };
        let nuclear = |bra, ket| interaction.element(bra, ket, s, j).unwrap_or(0.0);
        let element = |bra, ket| kinetic(bra, ket) + nuclear(bra, ket) + repulsion(bra, ket);
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

/// JISP16 at ħω = 20 MeV: every level of two nucleons, by J, parity and T; two protons with their charge.
#[test]
fn levels_of_tensors_are_those_of_relative_motion() {
    let terms = NuclearTerms { coulomb: true, ..NuclearTerms::new(20.0) };
    for (n_max, channel) in [(2, Channel::Pn), (3, Channel::Nn), (4, Channel::Pp), (8, Channel::Pn)] {
        let found = spec(jisp16(), n_max, Some(terms)).levels(&LevelRequest { channel, ..ALL }).unwrap();
        let mut expected = sorted(by_relative_motion(n_max + 1, 20.0, channel == Channel::Pp));
        expected.retain(|(.., isospin)| channel == Channel::Pn || *isospin == 1);
        assert_eq!(named(&found).len(), expected.len(), "N_max = {n_max}");
        for (found, expected) in named(&found).into_iter().zip(expected) {
            assert_eq!((found.1, found.2, found.3), (expected.1, expected.2, expected.3));
            assert!((found.0 - expected.0).abs() < 1e-9, "N_max = {n_max}: {found:?} {expected:?}");
        }
        assert!(found.asymmetry < 1e-14 && found.isospin_mixing < 1e-14);
    }
}

/// β N_cm goes into the tensors by Talmi–Moshinsky brackets, and N_cm is measured by its closed form in SU(3): each level with centre-of-mass
/// quanta has β for each of them, these are whole numbers, and motion of the centre of mass adds nothing else.
#[test]
fn quanta_of_the_centre_of_mass_cost_what_the_lawson_term_says() {
    let wanted = LevelRequest { centre_quanta: 9, ..ALL };
    let plain = spec(jisp16(), 3, Some(NuclearTerms::new(20.0))).levels(&wanted).unwrap();
    let lawson = NuclearTerms { lawson: 7.25, ..NuclearTerms::new(20.0) };
    let shifted = spec(jisp16(), 3, Some(lawson)).levels(&wanted).unwrap();
    let place = |energy: f64| (energy * 1e7).round() as i64;
    let unshifted = |found: &NuclearLevels, beta: f64| {
        let of = |x: &super::NuclearLevel| {
            let quanta = x.centre_quanta.round();
            assert!((x.centre_quanta - quanta).abs() < 1e-9, "{x:?}");
            (quanta as i64, x.j, x.parity, x.isospin, place(x.energy - beta * quanta))
        };
        let mut all: Vec<_> = found.levels.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let (a, b) = (unshifted(&plain, 0.0), unshifted(&shifted, 7.25));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a.0, a.1, a.2, a.3) == (b.0, b.1, b.2, b.3) && a.4.abs_diff(b.4) < 2, "{a:?} {b:?}");
    }
    // The deuteron with its centre of mass in each of its states: in the space of N_max = 3 with up to four quanta.
    let intrinsic: Vec<i64> = by_relative_motion(2, 20.0, false).into_iter().map(|level| place(level.0)).collect();
    let two_quanta = a.iter().filter(|level| level.0 == 2);
    assert!(two_quanta.clone().count() > 20);
    for level in two_quanta {
        assert!(intrinsic.iter().any(|energy| energy.abs_diff(level.4) < 2), "{level:?}");
    }
}

/// A nucleus of A nucleons has 2/A of T_rel and of the oscillator potential from each pair.
#[test]
fn terms_of_more_nucleons() {
    let interaction = |text: &str, folder: &Path| {
        let path = folder.join("force.toml");
        std::fs::write(&path, text).unwrap();
        path
    };
    let folder = tempfile::tempdir().unwrap();
    let nothing = interaction("[force]\nhw = 10.0\ncentral = [{ strength = 0.0, range = 1.0 }]\n", folder.path());
    // H of relative motion is 2/A (T + V), an oscillator: 2/A ħω (N + 3/2).
    let oscillator = NuclearTerms { oscillator: 1.0, nucleons: 4, ..NuclearTerms::new(10.0) };
    let found = spec(nothing.clone(), 2, Some(oscillator)).levels(&ALL).unwrap();
    for level in &found.levels {
        let quanta = level.energy / 5.0 - 1.5;
        assert!((quanta - quanta.round()).abs() < 1e-10 && quanta > -0.5 && quanta < 3.5, "{level:?}");
    }
    // β/(A − 1) of a quantum of the centre of mass of a pair, less β (A − 2)/(A (A − 1)) of one of relative motion.
    let centre = NuclearTerms { kinetic: false, lawson: 12.0, nucleons: 4, ..NuclearTerms::new(10.0) };
    let found = spec(nothing, 2, Some(centre)).levels(&LevelRequest { centre_quanta: 9, ..ALL }).unwrap();
    for level in &found.levels {
        let quanta = (4.0 * level.centre_quanta - level.energy) / 2.0;
        assert!((quanta - quanta.round()).abs() < 1e-9 && quanta > -0.5 && quanta < 3.5, "{level:?}");
    }
}

#[test]
fn what_a_hamiltonian_lacks_is_named() {
    let error = |spec: Su3Spec, channel| spec.levels(&LevelRequest { channel, ..ALL }).unwrap_err().to_string();
    let alone = error(spec(jisp16(), 2, None), Channel::Pn);
    assert!(alone.contains("need the kinetic energy") && alone.contains("--hw"), "{alone}");
    let wrong = error(spec(jisp16(), 2, Some(NuclearTerms::new(-20.0))), Channel::Pn);
    assert!(wrong.contains("hw: expected a positive number, found -20"), "{wrong}");
    let folder = tempfile::tempdir().unwrap();
    let force = folder.path().join("force.toml");
    std::fs::write(&force, "[force]\nhw = 15.0\nminnesota = {}\n").unwrap();
    let other = error(spec(force, 2, Some(NuclearTerms::new(20.0))), Channel::Pn);
    assert!(other.contains("hw = 15 MeV") && other.contains("hw = 20 MeV"), "{other}");
    let strengths = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/su3/jisp16_hw20_N2_C.csv");
    let of_strengths = Su3Spec { direction: Direction::Inverse, ..spec(strengths, 2, None) };
    let absent = error(of_strengths, Channel::Nn);
    assert!(absent.contains("no channel nn: expected one of pn, pp"), "{absent}");
    let small = Su3Spec { memory: Some(1000), ..spec(jisp16(), 2, Some(NuclearTerms::new(20.0))) };
    assert!(error(small, Channel::Pn).contains("N_max = 2 needs"));
}
