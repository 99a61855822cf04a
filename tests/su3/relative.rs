//! Interactions of relative motion, and two-body elements in H2 files. `jisp16_Nmax20_hw20.0_rel.dat` is of the spncci repository (MIT), JISP16 at ħω = 20 MeV
//! `jisp16_Nmax02_h2v15099.dat` of the shell repository (MIT)
//! (A. M. Shirokov et al., Phys. Lett. B 644 (2007) 33).

use super::transform::data;
use eigenforge::su3::plan::Plan;
use eigenforge::su3::space::Space;
use eigenforge::su3::{Channel, elements, h2, relative};

/// Against the two-body elements that an independent program made of the same file (tests/data/su3, as in `transform`).
#[test]
fn jisp16_from_relative_motion() {
    let plan = Plan::new(Space { n_max: 2 });
    let interaction = relative::read(&data("jisp16_Nmax20_hw20.0_rel.dat")).unwrap();
    assert!(interaction.reaches(&plan) && !interaction.reaches(&Plan::new(Space { n_max: 19 })));
    let made = interaction.elements(&plan).unwrap();
    assert_eq!(made.vectors.iter().map(|(channel, _)| *channel).collect::<Vec<_>>(), Channel::ALL);
    let expected = elements::read(&data("jisp16_hw20_N2_V.csv"), &plan).unwrap();
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
        (format!("{head}0 0 0 0 0 1 6 0 0 0 1 1.5\n"), "N = 6, J = 0 is beyond the header's Nmax = 4, Jmax = 2"),
        (format!("{head}0 0 0 0 0 0 0 0 0 0 0 1.5\n"), "0 0 0 0 0 is no antisymmetric state"),
        (format!("{head}0 0 0 0 0 1 0 0 1 1 1 1.5\n"), "the same S, J, T on both sides"),
        (
            format!("{head}0 0 0 0 0 1 2 0 0 0 1 1.5\n0 2 0 0 0 1 0 0 0 0 1 2.5\n"),
            "line 6: the element N' L' N L S J = 2 0 0 0 0 0",
        ),
        (head.to_string(), "no row"),
    ] {
        std::fs::write(&path, file).unwrap();
        let error = relative::read(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{said} is not in {error}");
    }
}

/// The same interaction as the shell project's codes bring it to two-body elements, in single precision.
#[test]
fn jisp16_from_an_h2_file() {
    let plan = Plan::new(Space { n_max: 0 });
    let read = h2::read(&data("jisp16_Nmax02_h2v15099.dat"), &plan).unwrap();
    let made = relative::read(&data("jisp16_Nmax20_hw20.0_rel.dat")).unwrap().elements(&plan).unwrap();
    assert!(read.left_out > 0, "its orbits of two quanta are beyond N_max = 0");
    for ((channel, u), (other, v)) in read.vectors.iter().zip(&made.vectors) {
        assert_eq!(channel, other);
        let largest = v.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
        assert!(largest > 5.0 && worst < 3e-6, "{}: {worst:e} of {largest}", channel.word());
    }
}

#[test]
fn faults_of_an_h2_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h2.dat");
    let good = std::fs::read_to_string(data("jisp16_Nmax02_h2v15099.dat")).unwrap();
    let plan = |n_max| Plan::new(Space { n_max });
    for (file, n_max, said) in [
        (good.replacen("15099", "15200", 1), 0, "line 1: expected H2 version 15099, found 15200"),
        (good.replacen("0 0 0\n", "0 0 1\n", 1), 0, "expected a scalar"),
        (good.replacen("-9.5364666e+00", "nan", 1), 0, "line 20: expected `i1 i2 i3 i4 2J 2J' type value`"),
        (
            good.replacen("   1   1   0   0 11", "   1   1   1   1 11", 1),
            0,
            "line 20: expected 2J = 2J', even; found 1 1",
        ),
        (good.replacen("   1   1   0   0 11", "   1   9   0   0 11", 1), 0, "expected orbitals from 1 to 6, found 9"),
        (good.replacen("32 32 110", "32 31 110", 1), 0, "the header has [32, 31, 110]"),
        (good.clone() + "1 1 1 1 0 0 11 1.0\n", 0, "expected the end after 174 elements"),
        (good.replacen("32 32 110", "32 33 110", 1), 0, "found the end of the file"),
        (
            good.replacen("32 32 110", "31 33 110", 1),
            0,
            "the header has [31, 33, 110] elements of pp, nn, pn; found [32, 32, 110]",
        ),
        (good.replacen("   2   0   1   1   1 ", "   2   0   1   5   1 ", 1), 0, "is no orbital"),
        (good.clone(), 2, "its largest na + nb is 2, N_max = 2 needs 4"),
    ] {
        std::fs::write(&path, &file).unwrap();
        assert!(h2::recognised(&path));
        let error = h2::read(&path, &plan(n_max)).unwrap_err().to_string();
        assert!(error.contains(said), "{said} is not in {error}");
    }
    std::fs::write(&path, [4, 0, 0, 0, 251, 58, 0, 0]).unwrap();
    assert!(h2::recognised(&path) && h2::read(&path, &plan(0)).unwrap_err().to_string().contains("binary H2 file"));
    assert!(!h2::recognised(&data("jisp16_hw20_N2_V.csv")));
}
