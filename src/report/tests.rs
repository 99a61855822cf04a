//! Reports go out and come back; nothing half-written; warnings say what they must.

use super::*;
use crate::basis::Sector;
use crate::lattice::Lattice;
use crate::observable::Average;
use eigenforge_runtime::solvers::{SpectrumPart, StartUsed};
use expect_test::expect;

fn report() -> Outcome {
    let level =
        |energy, multiplicity, returned, complete| LevelRecord { energy, multiplicity, returned, complete, spin: None };
    let levels = vec![level(-4.0, 1, 1, true), level(-2.5, 3, 2, true)];
    let averages = [("n_up", 0.5), ("n_dn", 0.25), ("double_occupancy", 0.1)];
    let averages = averages.map(|(name, value)| (name.to_string(), Average::Sites(vec![value; 4].into())));
    Outcome {
        schema: SCHEMA,
        model: ModelRecord { name: "hubbard".into(), file: "ring.toml".into(), text: "[model]\n".into() },
        energies: vec![-4.0, -2.5, -2.5],
        observables: LevelAverages { averaged_over: 1, averages: averages.into_iter().collect() },
        state_observables: vec![],
        stop: Stop::Converged,
        solver: Method::Lobpcg,
        solver_reason: Some("a preconditioner was requested".into()),
        device: "cpu (2 threads)".into(),
        kernels: vec![KernelRecord { name: "multiply".into(), key: "abc".into(), cached: true, overridden: false }],
        seconds: Seconds { setup: 0.1, compile: 0.0, solve: 1.0, certify: 0.2, observables: 0.1, total: 1.4 },
        versions: [("eigenforge".to_string(), "0.1.0".to_string())].into(),
        seed: 1,
        tolerance: 1e-9,
        norm: 10.0,
        warnings: vec![],
        memory: MemoryRecord {
            items: vec![MemoryItem { name: "6 vectors".into(), bytes: 59_232 }],
            planned_bytes: 59_232,
            available_bytes: 1 << 30,
        },
        cost: CostRecord { flops: 1e4, bytes: 2e4, ..CostRecord::default() },
        family: FamilyRecord::Lattice(Box::new(LatticeRecord {
            symmetry: None,
            lattice: ClusterRecord::new(&Lattice::chain(4).periodic()),
            structure_factor: None,
            sector: Sector::Fermions { up: 2, down: 1 },
            dimension: 1234,
            degeneracy: 1,
            multiply: None,
            spectrum: Spectrum {
                which: SpectrumPart::Lowest,
                level_statistics: None,
                residuals: vec![1e-9, 2e-9, 3e-9],
                uncertainties: vec![1e-14, 3e-11, 3e-9],
                rounding: 1e-13,
                constant: 0.0,
                energies_without_constant: vec![-4.0, -2.5, -2.5],
                multiplicities: Spectrum::multiplicities_of(&levels),
                levels,
                iterations: 12,
                advice: None,
                multiplies: 40,
                start: StartUsed::Guess,
                history: (0..12)
                    .map(|iteration| HistoryPoint {
                        iteration,
                        energy: -4.0 + 10f64.powi(-2 * iteration as i32),
                        residual: 10f64.powi(-(iteration as i32)),
                    })
                    .collect(),
            },
            entanglement: Vec::new(),
            shape: None,
        })),
    }
}

fn lattice(report: &mut Outcome) -> &mut LatticeRecord {
    match &mut report.family {
        FamilyRecord::Lattice(record) => record,
        _ => unreachable!("made above"),
    }
}

fn spectrum(report: &mut Outcome) -> &mut Spectrum {
    &mut lattice(report).spectrum
}

#[test]
fn a_report_comes_back_as_it_went() {
    let report = report().with_warnings();
    assert_eq!(Outcome::from_json(&report.to_json().unwrap()).unwrap(), report);
    let mut spins = report;
    lattice(&mut spins).sector = Sector::Spins { two_sz: -2 };
    assert_eq!(Outcome::from_json(&spins.to_json().unwrap()).unwrap(), spins);
}

#[test]
fn the_json_has_the_promised_fields() {
    let value: serde_json::Value = serde_json::from_str(&report().to_json().unwrap()).unwrap();
    for field in [
        "model",
        "dimension",
        "energies",
        "residuals",
        "multiplicities",
        "observables",
        "iterations",
        "stop",
        "device",
        "kernels",
        "seconds",
        "sector",
        "levels",
        "solver",
        "versions",
        "seed",
        "start",
        "tolerance",
        "warnings",
        "memory",
        "cost",
    ] {
        assert!(value.get(field).is_some(), "{field}");
    }
    assert_eq!(value["family"], "lattice");
    for field in ["averaged_over", "n_up", "n_dn", "double_occupancy"] {
        assert!(value["observables"].get(field).is_some(), "observables.{field}");
    }
    assert_eq!(value["multiplicities"], serde_json::json!([1, 3, 3]));
    assert_eq!(value["sector"], serde_json::json!({"up": 2, "down": 1}));
}

#[test]
fn a_cut_multiplet_is_said_with_the_number_that_would_not_cut_it() {
    let warnings = report().with_warnings().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("has 3 states in this sector and `states` cuts it after 2"), "{}", warnings[0]);
    assert!(warnings[0].contains("states = 4 "), "{}", warnings[0]);
}

#[test]
fn numbers_that_are_not_finite_never_reach_the_json() {
    let mut bad = report();
    bad.energies[2] = f64::NAN;
    spectrum(&mut bad).residuals[2] = f64::INFINITY;
    spectrum(&mut bad).history[3].residual = f64::NAN;
    bad.observables.averages.insert("szsz", Average::Pairs(ndarray::array![[0.0, f64::INFINITY], [0.0, 0.0]]));
    let bad = bad.with_warnings();
    let text = bad.to_json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap(); // JSON has no NaN: it would be refused here
    assert_eq!(value["residuals"], serde_json::json!([1e-9, 2e-9, null]));
    let mut back = Outcome::from_json(&text).unwrap();
    assert!(back.energies[2].is_nan() && spectrum(&mut back).residuals[2].is_nan());
    assert!(spectrum(&mut back).history[3].residual.is_nan());
    assert_eq!(back.observables.averages.get("szsz"), None);
    let warnings = back.warnings.join("\n");
    for part in ["state 2 did NOT converge", "energy of state 2 is not a finite number", "szsz is not finite"] {
        assert!(warnings.contains(part), "{part} in {warnings}");
    }
    assert!(!back.converged());
    assert!(back.summary().contains("NOT CONVERGED"));
    bad.convergence_svg().unwrap();
}

#[test]
fn the_summary_reads_as_a_table() {
    let mut report = report();
    spectrum(&mut report).residuals[2] = 1e-5;
    spectrum(&mut report).levels[1].complete = false;
    expect![[r#"
        hubbard on chain 4, periodic: 4 sites, 4 bonds; site = x
        sector 2 up, 1 down, dimension 1,234

          state            energy     residual   multiplicity
              0     -4.0000000000      1.00e-9              1
              1     -2.5000000000      2.00e-9   >=         3
              2       -2.50000000      1.00e-5   >=         3   NOT CONVERGED

        average of a site over the 1 state of the lowest level: <n> 0.750000, <n_up n_dn> 0.100000
        converged by lobpcg on cpu (2 threads): 12 iterations, 40 multiplies
        tolerance 1.0e-9 of the norm of H, which is 1.00e1 at most: residuals up to 1.00e-8
        solver "auto" chose lobpcg: a preconditioner was requested
        1.40 s: setup 0.10, compile 0.00, solve 1.00, certify 0.20, observables 0.10
        warning: the level at -2.5000000000 has at least 3 states in this sector: how many was not certified; averages run over those, and depend on the start
        warning: state 2 did NOT converge: its residual 1.00e-5 is above 1.00e-8, the tolerance 1.0e-9 times the norm of H (stopped: converged); raise max_iterations, or loosen the tolerance
    "#]]
    .assert_eq(&report.with_warnings().summary());
}

/// The digits that a large constant costs the energies are said beside the table.
#[test]
fn a_large_constant_hides_no_digits() {
    let mut report = report();
    spectrum(&mut report).constant = -1.6e8;
    report.energies.iter_mut().for_each(|energy| *energy -= 1.6e8);
    spectrum(&mut report).energies_without_constant[0] = -4.000_000_012_3;
    spectrum(&mut report).uncertainties = vec![1e-13; 3];
    let summary = report.summary();
    assert!(summary.contains("  -160000004.0000000  "), "{summary}");
    let line = "all states share the constant -160000000.0; without it the energies are -4.0000000123, -2.5000000000, ";
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn a_run_of_edited_kernels_is_recognised_at_once() {
    let mut report = report();
    let edited = KernelRecord { name: "lobpcg_update".into(), overridden: true, ..report.kernels[0].clone() };
    report.kernels.push(edited);
    let summary = report.summary();
    let mut lines = summary.lines();
    assert_eq!(
        lines.next(),
        Some("OVERRIDDEN: edited kernels ran in place of generated ones, and these are their numbers")
    );
    assert_eq!(lines.next(), Some("            lobpcg_update"));
    let value: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    assert_eq!(value["kernels"][0]["overridden"], false);
    assert_eq!(value["kernels"][1]["overridden"], true);
}

#[test]
fn the_picture_has_both_curves_axes_and_labels() {
    let mut report = report();
    report.model.text = "[model]\nt = 1.0\n".into();
    let svg = report.convergence_svg().unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.matches("<polyline").count() >= 3);
    let labels = "residual norm, energy above the lowest / t";
    for text in ["iteration", "residual |Hx - λx|", labels, "1e-8", "hubbard by lobpcg"] {
        assert!(svg.contains(text), "{text}");
    }
    let mut empty = Outcome { energies: vec![], ..report };
    spectrum(&mut empty).history.clear();
    empty.convergence_svg().unwrap();
}

#[test]
fn files_are_written_whole_and_replace_older_ones() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs/first");
    let mut other = report();
    spectrum(&mut other).iterations = 99;
    for report in [report(), other] {
        let files = report.write(&out).unwrap();
        assert_eq!(files, [out.join("report.json"), out.join("convergence.svg")]);
        assert_eq!(Outcome::from_json(&std::fs::read_to_string(&files[0]).unwrap()).unwrap(), report);
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 2, "no temporary file is left");
    // A report without a picture leaves none of an earlier one; what another program wrote stays.
    let mut plain = report();
    spectrum(&mut plain).history.clear();
    std::fs::write(out.join("own.svg"), "").unwrap();
    assert_eq!(plain.write(&out).unwrap(), [out.join("report.json")]);
    assert!(!out.join("convergence.svg").exists() && out.join("own.svg").exists());
    let fresh = folder.path().join("fresh");
    std::fs::create_dir(&fresh).unwrap();
    std::fs::write(fresh.join("convergence.svg"), "of another").unwrap();
    plain.write(&fresh).unwrap();
    assert!(fresh.join("convergence.svg").exists(), "no report of ours was there");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    std::fs::write(&path, "old").unwrap();
    let failed = publish(&path, |file| {
        use std::io::Write;
        file.write_all(b"half").unwrap();
        Err(ReportError::Picture("pulled the plug".into()))
    });
    assert!(failed.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let blocked = report().write(&path.join("below_a_file")).unwrap_err();
    assert!(matches!(blocked, ReportError::Folder { .. }), "{blocked}");
}

#[test]
fn vectors_come_back_from_the_npz() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = ndarray::array![[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.6, 0.0, 0.8, 0.0, 0.0]];
    let (up, down) = (vec![1u64, 2, 4], vec![1u64, 2]);
    let file = StateVectors {
        energies: vec![-1.0, 0.5],
        vectors: VectorRows::Real(vectors),
        states: BasisStates::Product { up: up.clone(), down: down.clone() },
    };
    let path = file.clone().write(folder.path()).unwrap();
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let energies: ndarray::Array1<f64> = npz.by_name("energies").unwrap();
    let rows: ndarray::Array2<f64> = npz.by_name("vectors").unwrap();
    let back: ndarray::Array1<u64> = npz.by_name("up_states").unwrap();
    assert_eq!(energies.to_vec(), [-1.0, 0.5]);
    assert_eq!((rows.shape(), rows[[1, 3]]), (&[2, 6][..], 0.8));
    assert_eq!(back.to_vec(), up);
    assert_eq!(npz.by_name::<ndarray::OwnedRepr<u64>, ndarray::Ix1>("down_states").unwrap().to_vec(), down);

    let short = StateVectors { states: BasisStates::List(vec![1, 2, 4, 8, 16]), ..file };
    assert!(matches!(short.write(folder.path()), Err(ReportError::Shape { found: 6, expected: 5, .. })));
}

#[test]
fn observables_of_any_size_keep_their_digits() {
    let printed = |values: [f64; 2]| {
        let mut outcome = report();
        outcome.state_observables =
            values.map(|value| [("m".to_string(), Average::Whole(value))].into_iter().collect()).to_vec();
        outcome.summary().lines().find_map(|line| line.strip_prefix("<m> ").map(str::to_string)).unwrap()
    };
    assert_eq!(printed([0.25, -1e-15]), "0.2500000000, 0.0000000000");
    assert_eq!(printed([-3e-16, 1e-17]), "0.0000000000, 0.0000000000");
    assert_eq!(printed([0.25e-12, -0.5e-12]), "2.5000000000e-13, -5.0000000000e-13");
    assert_eq!(printed([0.25e12, 0.5e12]), "2.5000000000e11, 5.0000000000e11");
}
