//! The reader on good files; bad ones are the gallery in tests/input.

use super::*;
use crate::lattice::LatticeKind;
use eigenforge_runtime::solvers::{Preconditioner, Solver, SpectrumPart, Start};

fn parse(text: &str) -> ModelFile {
    ModelFile::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}: {error:#?}"))
}

#[test]
fn the_file_of_the_issue_reads_as_written() {
    let file = parse(
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"square\"\nsize = [4, 4]\n\
         boundary = [\"open\", \"open\"]\n[sector]\nup = 7\ndown = 7\n[solve]\nsolver = \"lobpcg\"\nstates = 1\n\
         tolerance = 1e-10\n",
    );
    assert_eq!(file.dimension(), Some(130_873_600));
    assert_eq!(file.lattice, Lattice::square([4, 4]).open());
    assert_eq!(file.sector, Sector::Fermions { up: 7, down: 7 });
    assert_eq!(file.solve, SolveSpec { solver: Some(Solver::Lobpcg), ..SolveSpec::default() });
    assert_eq!(
        file.model,
        ModelSpec::Hubbard { t: vec![1.0; 24], u: vec![4.0; 16], potential: vec![0.0; 16], mu: 0.0, v: vec![0.0; 24] }
    );
    assert_eq!(
        file.to_string(),
        "model    hubbard: H = -t Σ_<ij>σ w_ij (c†_iσ c_jσ + h.c.) + U Σ_i n_i↑ n_i↓\n         t = 1, U = 4\n\
         lattice  square 4 x 4, open x open: 16 sites, 24 bonds; site = x + 4 y\n\
         sector   7 up, 7 down: dimension 130,873,600\n\
         solve    solver lobpcg, 1 state, tolerance 1e-10 on |Hx - λx| / |H|, at most 2000 iterations, preconditioner none, \
         seed 1, multiplets certified"
    );
}

#[test]
fn every_key_of_the_xxz_model_and_of_solve_is_read() {
    let file = parse(
        "[model]\nname = \"xxz\"\nspin = 1.5\njxy = [1.0, 2]\njz = -0.5\nfield = [0.1, 0.2, 0.3]\nsingle_ion = 0.7\n\
         [lattice]\nsites = 3\nedges = [[2, 1], [0, 2, -0.5]]\n[sector]\ntwo_sz = -3\n\
         [solve]\nsolver = \"lanczos\"\nstates = 3\ntolerance = 1e-10\nmax_iterations = 77\nseed = 5\nstart = \"random\"\nguard = 2\n\
         preconditioner = \"jacobi\"\ncertify = false\n[output]\nfolder = \"run\"\nvectors = true\n",
    );
    assert_eq!(
        file.model,
        ModelSpec::Xxz {
            two_s: 3,
            jxy: vec![1.0, 2.0],
            jz: vec![-0.5; 2],
            field: vec![0.1, 0.2, 0.3],
            single_ion: vec![0.7; 3]
        }
    );
    let ModelSpec::Xxz { jxy, .. } = &file.model else { unreachable!() };
    assert_eq!(ModelSpec::weighted(jxy, &file.lattice), [1.0, -1.0], "bonds keep the order of the list");
    assert_eq!(file.sector, Sector::Spins { two_sz: -3 });
    let expected = SolveSpec {
        solver: Some(Solver::Lanczos),
        states: 3,
        all: false,
        part: SpectrumPart::Lowest,
        tolerance: 1e-10,
        max_iterations: 77,
        seed: 5,
        start: Start::Random,
        guard: Some(2),
        preconditioner: Preconditioner::Jacobi,
        precision: eigenforge_templates::ScalarType::F64,
        certify: false,
        storage: None,
    };
    assert_eq!(file.solve, expected);
    assert_eq!(file.output, OutputSpec { folder: Some("run".into()), vectors: true });
}

#[test]
fn one_boundary_word_stands_for_all_directions() {
    let lattice = |lines: &str| {
        parse(&format!("[model]\nname = \"hubbard\"\nt = 1\nu = 4\n[lattice]\n{lines}\n[sector]\nup = 1\ndown = 1\n"))
            .lattice
    };
    assert_eq!(lattice("kind = \"square\"\nsize = [3, 4]"), Lattice::square([3, 4]).open());
    assert_eq!(
        lattice("kind = \"square\"\nsize = [3, 4]\nboundary = \"periodic\""),
        Lattice::square([3, 4]).periodic()
    );
    assert_eq!(lattice("kind = \"chain\"\nsize = 6\nboundary = [\"periodic\"]"), Lattice::chain(6).periodic());
    assert_eq!(
        lattice("kind = \"ladder\"\nsize = [4, 2]\nboundary = \"periodic\""),
        Lattice::ladder([4, 2]).periodic()
    );
    assert_eq!(
        lattice(
            "kind = \"square\"\nsize = [2, 4]\nboundary = \"periodic\"\ndouble_bonds = true\nweights = [1, 2]\nfurther = [0.3]"
        ),
        Lattice::square([2, 4]).periodic().double_bonds().weights(&[1.0, 2.0]).further(&[0.3])
    );
}

#[test]
fn independent_problems_are_shown_together_in_the_order_of_the_text() {
    let text = "[model]\nname = \"hubbard\"\nt = nan\nu = 4\nw = 1\n[lattice]\nkind = \"square\"\nsize = [2, 2]\n[sector]\nup = 9\ndown = 1\n";
    let Err(InputError::Invalid { problems, .. }) = ModelFile::parse("test.toml", text) else { panic!("accepted") };
    let found: Vec<&str> = problems.iter().map(|problem| &text[problem.span.clone()]).collect();
    assert_eq!(found, ["nan", "w", "9"]);
}

#[test]
fn a_file_that_is_missing_or_is_not_text_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    assert!(matches!(ModelFile::read(&path), Err(InputError::Read { .. })));
    std::fs::write(&path, b"[model]\n\xff").unwrap();
    assert!(matches!(ModelFile::read(&path), Err(InputError::NotText { valid: 8, .. })));
}

/// A file with these lines about its lattice.
fn on_lattice(lines: &str) -> String {
    format!("[model]\nname = \"hubbard\"\nt = 1\nu = 4\n[lattice]\n{lines}\n[sector]\nup = 1\ndown = 1\n")
}

#[test]
fn a_size_of_two_rows_is_a_tilted_cluster() {
    let file = |lines: &str| parse(&on_lattice(lines));
    let square = Lattice::tilted(LatticeKind::Square, [[4, -2], [2, 2]]);
    for boundary in ["", "boundary = \"periodic\"", "boundary = [\"periodic\", \"periodic\"]"] {
        assert_eq!(file(&format!("kind = \"square\"\nsize = [[4, -2], [2, 2]]\n{boundary}")).lattice, square);
    }
    assert_eq!(file("kind = \"square\"\nsize = [[4, -2], [2, 2]]").problem_name(), "hubbard_square_4_m2_2_2_1up_1dn");
    assert_eq!(
        file("kind = \"kagome\"\nsize = [\n  [4, -2],\n  [2, 2],\n]\nweights = [1, 1, 2]\nfurther = [0.1]").lattice,
        Lattice::tilted(LatticeKind::Kagome, [[4, -2], [2, 2]]).weights(&[1.0, 1.0, 2.0]).further(&[0.1])
    );
}

#[test]
fn what_is_wrong_with_a_tilted_cluster_is_said_at_its_place() {
    for (lines, place, said) in [
        (
            "kind = \"square\"\nsize = [[4, -2]]",
            "[[4, -2]]",
            "two rows of two whole numbers, such as [[4, -2], [2, 2]]",
        ),
        ("kind = \"square\"\nsize = [[4, -2], [2]]", "[2]", "`size[1]` should be two whole numbers, such as [4, -2]"),
        ("kind = \"square\"\nsize = [[4, -2], 2]", "2", "`size[1]` should be two whole numbers, such as [4, -2]"),
        ("kind = \"square\"\nsize = [[4, 0.5], [2, 2]]", "0.5", "`size[0][1]` should be a whole number"),
        ("kind = \"square\"\nsize = [[4, -2], [2, 99999999999999999999]]", "99999999999999999999", "a whole number"),
        ("kind = \"square\"\nsize = [[2, 4], [1, 2]]", "[[2, 4], [1, 2]]", "are parallel"),
        ("kind = \"square\"\nsize = [[1, 2], [0, 2]]", "[[1, 2], [0, 2]]", "has the period [1, 0], one cell"),
        ("kind = \"chain\"\nsize = [[4, -2], [2, 2]]", "[[4, -2], [2, 2]]", "a chain lattice has no tilted clusters"),
        ("kind = \"ladder\"\nsize = [[4, -2], [2, 2]]", "[[4, -2], [2, 2]]", "a ladder lattice has no tilted clusters"),
        ("kind = \"kagome\"\nsize = [[9, 0], [0, 9]]", "[[9, 0], [0, 9]]", "243"),
        (
            "kind = \"kagome\"\nsize = [[9223372036854775807, 0], [0, -9223372036854775808]]",
            "[[9223372036854775807, 0], [0, -9223372036854775808]]",
            "sites",
        ),
        ("kind = \"square\"\nsize = [[2, 2], [2, -2]]\nboundary = \"open\"", "\"open\"", "is a torus"),
        (
            "kind = \"square\"\nsize = [[2, 2], [2, -2]]\nboundary = [\"periodic\", \"open\"]",
            "[\"periodic\", \"open\"]",
            "found boundary [Periodic, Open]",
        ),
    ] {
        let text = on_lattice(lines);
        let Err(InputError::Invalid { problems, .. }) = ModelFile::parse("test.toml", &text) else {
            panic!("{lines} was accepted")
        };
        let found: Vec<(&str, String)> =
            problems.iter().map(|problem| (&text[problem.span.clone()], problem.to_string())).collect();
        assert!(found.len() == 1 && found[0].0 == place && found[0].1.contains(said), "{lines}: {found:?}");
    }
}
