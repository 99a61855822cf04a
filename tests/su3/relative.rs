//! Interactions of relative motion. `jisp16_Nmax20_hw20.0_rel.dat` is of the spncci repository (MIT), JISP16 at ħω = 20 MeV (A. M.
//! Shirokov et al., Phys. Lett. B 644 (2007) 33).

use super::transform::{data, read};
use eigenforge::su3::{Channel, Direction, OscillatorSpace, Plan, Relative};

/// Against the two-body elements that an independent program made of the same file (tests/data/su3, as in `transform`).
#[test]
fn jisp16_from_relative_motion() {
    let plan = Plan::new(OscillatorSpace { n_max: 2 });
    let interaction = Relative::read(&data("jisp16_Nmax20_hw20.0_rel.dat")).unwrap();
    assert!(interaction.reaches(&plan) && !interaction.reaches(&Plan::new(OscillatorSpace { n_max: 19 })));
    let made = interaction.elements(&plan).unwrap();
    assert_eq!(made.vectors.iter().map(|(channel, _)| *channel).collect::<Vec<_>>(), Channel::ALL);
    let expected = read(&data("jisp16_hw20_N2_V.csv"), &plan, Direction::Forward).unwrap();
    for ((channel, u), (_, v)) in made.vectors.iter().zip(&expected.vectors) {
        let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-12, "{}: {worst:e}", channel.word());
    }
    assert_eq!(made.vectors[1].1, made.vectors[2].1, "isoscalar: pp = nn");
}

#[test]
fn faults_of_a_relative_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rel.dat");
    let head = "# RELATIVE LSJT\n1\n0 0 0 0 0\n4 2\n";
    for (file, said) in [
        ("1\n0 0 0 1 0\n4 2\n".to_string(), "only isoscalar"),
        ("2\n".to_string(), "line 1: expected version 1, found 2"),
        ("1\n0 0 0 0 0\n4\n".to_string(), "line 3: expected `Nmax Jmax`"),
        (format!("{head}0 0 0 0 0 1 0 0 0 0 1 nan\n"), "line 5: expected `T0 N' L' S' J' T' N L S J T value`"),
        (format!("{head}0 0 0 0 0 1 6 0 0 0 1 1.5\n"), "N = 6, J = 0 exceeds the header's Nmax = 4, Jmax = 2"),
        (format!("{head}0 0 0 0 0 0 0 0 0 0 0 1.5\n"), "0 0 0 0 0 is not an antisymmetric two-nucleon state"),
        (format!("{head}0 0 0 0 0 1 0 0 1 1 1 1.5\n"), "the same S, J, T on both sides"),
        (
            format!("{head}0 0 0 0 0 1 2 0 0 0 1 1.5\n0 2 0 0 0 1 0 0 0 0 1 2.5\n"),
            "line 6: the element N' L' N L S J = 2 0 0 0 0 0",
        ),
        (head.to_string(), "expected rows after the header, found none"),
        (format!("{head}0 0 0 0 0 1 0 0 0 0 1 1.5\n"), "missing, first N' L' N L S J = 0 0 2 0 0 0"),
    ] {
        std::fs::write(&path, file).unwrap();
        let error = Relative::read(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{said} is not in {error}");
    }
}
