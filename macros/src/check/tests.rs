//! Verdicts of the checks on whole definitions.

use crate::expand::gpu_operator;

/// The errors of a definition, one after the other; empty when it is accepted.
fn errors(attribute: &str, source: &str) -> String {
    let expanded = gpu_operator(attribute.parse().unwrap(), source.parse().unwrap()).to_string();
    let mut messages = String::new();
    for piece in expanded.split("compile_error !").skip(1) {
        messages.push_str(piece.split(" }").next().unwrap_or(piece));
        messages.push('\n');
    }
    messages
}

fn in_function(sums: &str) -> String {
    format!(
        "fn f(lattice: &Lattice, t: f64, u: &[f64], v: f64, a: usize, b: usize, integrals: &Integrals) -> Operator {{ {sums} }}"
    )
}

fn accepted(attribute: &str, sums: &str) {
    assert_eq!(errors(attribute, &in_function(sums)), "", "{sums}");
}

fn refused(attribute: &str, sums: &str, expected: &[&str]) {
    let found = errors(attribute, &in_function(sums));
    for text in expected {
        assert!(found.contains(text), "{sums}\nfound: {found}\nexpected: {text}");
    }
    assert!(!found.is_empty(), "{sums} was accepted");
}

#[test]
fn hermitian_sums_are_accepted() {
    for sums in [
        "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))",
        "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; cdag(i, s) * c(j, s) + cdag(j, s) * c(i, s))",
        "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; cdag(i, s) * c(j, s) - c(i, s) * cdag(j, s))",
        "sum!(i in lattice.sites(), j in lattice.sites(), s in [Up, Down]; t * cdag(i, s) * c(j, s))",
        "sum!(i in lattice.sites(), j in lattice.sites() if i != j, s in [Up, Down]; t * cdag(i, s) * c(j, s))",
        "sum!(i in lattice.sites(), j in lattice.neighbors(i), s in [Up, Down]; t * cdag(i, s) * c(j, s))",
        "sum!(i in lattice.sites(), j in lattice.sites() if lattice.distance(i, j) < 2.0; t * cdag(i, Up) * c(j, Up))",
        "sum!(i in lattice.sites(); sx(i))",
        "sum!(<i, j> in lattice.bonds(); sx(i) * sx(j) + sdots(i, j) + 0.5 * (sp(i) * sm(j) + h.c.))",
        "sum!(<i, j> in lattice.bonds(); sdots(i, j) - 0.25 * n(i) * n(j))",
        "sum!(<i, j> in lattice.bonds(); t * sp(i) * sm(j) + t * cdag(j, Up) * c(j, Down) * cdag(i, Down) * c(i, Up))",
        "sum!(i in lattice.sites(), s in [Up, Down], p in [Up, Down]; cdag(i, s) * c(i, p))",
        "sum!(i in lattice.sites(), s in [Up, Down], p in [Up, Down] if s == p; cdag(i, s) * c(i, p))",
        // (pq|rs) = (qp|sr): both indices of each electron change places.
        "sum!(p in 0..n, q in 0..n, r in 0..n, t in 0..n, s in [Up, Down], u in [Up, Down]; 0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s)) + integrals.core",
        // The conjugate stands in another sum.
        "sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up)) + sum!(<i, j> in lattice.bonds(); cdag(j, Up) * c(i, Up))",
        // An index may be shifted: i → i + 1.
        "sum!(i in 1..9; cdag(i, Up) * c(i + 1, Up) + cdag(i, Up) * c(i - 1, Up))",
        // Undecidable from the text, therefore not refused.
        "sum!(i in lattice.sites(); cdag(i, Up) * c((i + 1) % 4, Up) + cdag(i, Up) * c((i + 3) % 4, Up))",
        "sum!(i in lattice.sites(); cdag(i, Up) * c(partner[i], Up))",
        "let forward = sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up)); forward.clone() + forward.adjoint()",
        "sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up)) + backward(lattice)",
        "let mut h = Operator::zero(); for list in [x, y] { h = h + sum!(<i, j> in list; cdag(i, Up) * c(j, Up)); } h",
        "let mut h = Operator::zero(); for (p, q) in list { h = h + sum!(s in [Up, Down]; cdag(p, s) * c(q, s)); } h",
    ] {
        accepted("", sums);
    }
    accepted("non_hermitian", "sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up))");
}

#[test]
fn missing_conjugates_are_refused() {
    let bond = "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * cdag(i, s) * c(j, s))";
    refused("", bond, &["missing Hermitian conjugate", "`cdag(j, s) * c(i, s)`"]);
    for sums in [
        "sum!(i in lattice.sites(), j in lattice.sites() if i < j; t * cdag(i, Up) * c(j, Up))",
        "sum!(i in lattice.sites(), j in 0..i; t * cdag(i, Up) * c(j, Up))",
        "sum!(i in 0..9, s in [Up, Down]; t * cdag(i, s) * c(i + 1, s))",
        "sum!(i in lattice.sites(); sp(i))",
        "sum!(<i, j> in lattice.bonds(); sp(i) * sm(j))",
        // The core energy is a number, no operator that could lend a conjugate.
        "sum!(p in 0..9, q in 0..p, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s)) + integrals.core",
        "sum!(s in [Up, Down]; cdag(0, s) * c(1, s))",
        "sum!(s in [Up, Down]; cdag(a, s) * c(b, s))",
        "sum!(i in lattice.sites(); cdag(i, Up) * cdag(i, Down))",
        // Another sum with its own conjugate does not lend it.
        "sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up) + h.c.) + sum!(<i, j> in lattice.bonds_at(2); cdag(i, Up) * c(j, Up))",
        "let k = (0..3).map(|k| sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up))).sum::<Operator>(); k",
        "let k = vec![sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up))]; k[0].clone()",
    ] {
        refused("", sums, &["missing Hermitian conjugate"]);
    }
}

#[test]
fn odd_products_are_refused() {
    refused("", "sum!(i in lattice.sites(); cdag(i, Up) + h.c.)", &["unbalanced fermion parity", "found 1"]);
    refused("", "sum!(<i, j> in lattice.bonds(); cdag(i, Up) * n(j, Down) * c(j, Up) * c(i, Up) + h.c.)", &["found 3"]);
    let once = errors("", &in_function("sum!(i in lattice.sites(); c(i, Up) + h.c.)"));
    assert_eq!(once.matches("unbalanced").count(), 1, "{once}");
}

#[test]
fn charges_are_checked_for_every_spin() {
    let hop = "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; cdag(i, s) * c(j, s) + h.c.)";
    for charges in ["Up, Down", "N", "Sz", "N, Sz"] {
        accepted(&format!("conserves({charges})"), hop);
    }
    let mix = "sum!(i in lattice.sites(), s in [Up, Down], p in [Up, Down]; cdag(i, s) * c(i, p))";
    accepted("conserves(N)", mix);
    refused(
        "conserves(Up, Down)",
        mix,
        &["up electrons by +1 and the number of down electrons by -1 at s = Up, p = Down"],
    );
    refused("conserves(Sz)", mix, &["2 Sz by +2"]);
    accepted(
        "conserves(Up, Down)",
        "sum!(i in lattice.sites(), s in [Up, Down], p in [Up, Down] if s == p; cdag(i, s) * c(i, p))",
    );
    accepted(
        "conserves(Up, Down)",
        "sum!(i in lattice.sites(), s in [Up, Down], p in [Up, Down]; (if s == p { t } else { 0.0 }) * cdag(i, s) * c(i, p))",
    );
    refused("conserves(N)", "sum!(i in lattice.sites(); cdag(i, Up) * cdag(i, Down) + h.c.)", &["electrons by +2"]);
    accepted("conserves(Up, Down)", "sum!(<i, j> in lattice.bonds(); sdots(i, j) + n(i) * n(j))");
    refused("conserves(Up, Down)", "sum!(i in lattice.sites(); sp(i) + sm(i) + n(i))", &["up electrons by +1"]);
    refused("conserves(Sz)", "sum!(i in lattice.sites(); sx(i))", &["2 Sz by +2"]);
    refused("conserves(N)", "sum!(i in lattice.sites(); sz(i))", &["write `conserves(Sz)`"]);
    // The S+S+ parts of Sx Sx + Sy Sy cancel.
    accepted(
        "conserves(Sz)",
        "sum!(<i, j> in lattice.bonds(); sx(i) * sx(j) - 0.25 * (sp(i) - sm(i)) * (sp(j) - sm(j)))",
    );
}

#[test]
fn the_item_must_be_a_function_that_returns_an_operator() {
    assert!(errors("", "struct Model;").contains("found another item"));
    assert!(errors("", "fn f() -> f64 { 1.0 }").contains("found one that returns `f64`"));
    assert!(errors("", "fn f() { }").contains("returns nothing"));
    assert!(errors("", "fn f() -> Operator { }").contains("the body is empty"));
    assert_eq!(errors("", "fn f() -> Result<Operator, E> { Ok(sum!(i in 0..4; sz(i))) }"), "");
}

#[test]
fn every_fault_is_reported_in_one_go() {
    let found = errors("", &in_function("sum!(i in 0..4; cdga(i, Up)) + sum!(i in 0..4; n(i, Upp)) + sum!(i in 0..4)"));
    assert_eq!(found.lines().count(), 3, "{found}");
}
