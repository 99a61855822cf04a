//! Texts against the operators that they stand for, and the errors of texts that stand for none.

use super::read::{Names, ParameterValue, ReadError, read_observable};
use super::{Average, Averages, Observable, Shape, evaluate};
use crate::lattice::Lattice;
use crate::operator::{Charge, Operator, OperatorError, SiteKind, Spin, build};

fn names(lattice: &Lattice, kind: SiteKind) -> Names<'_> {
    let sites = lattice.sites().len();
    let list = ParameterValue::List(vec![4.0, 5.0, 6.0, 7.0]);
    let rows = ParameterValue::Rows((0..4).map(|i| (0..4).map(|j| f64::from(4 * i + j)).collect()).collect());
    let parameters = vec![("t".into(), ParameterValue::One(1.5)), ("u".into(), list), ("w".into(), rows)];
    Names::new(vec![kind; sites], Some(lattice), parameters)
}

fn electrons(text: &str) -> Result<Observable, ReadError> {
    read_observable("O", text, &names(&Lattice::chain(4), SiteKind::Electrons))
}

#[test]
fn texts_are_the_operators_that_they_name() {
    let (up, down) = (Spin::Up, Spin::Down);
    let hop = |i, j| build::cdag(i, up) * build::c(j, up);
    let chain = Lattice::chain(4).bonds().to_vec();
    let sum = |of: &dyn Fn(usize, usize) -> Operator| chain.iter().map(|bond| of(bond.i, bond.j)).sum::<Operator>();
    let cases: Vec<(&str, Operator)> = vec![
        ("sum(<i, j> in bonds; cdag(i, Up) * c(j, Up))", sum(&hop)),
        ("sum!(<i, j> in lattice.bonds(); cdag(i, Up) * c(j, Up) + h.c.)", sum(&|i, j| hop(i, j) + hop(j, i))),
        ("sum(<i, j> in bonds; cdag(i, Up) * c(j, Up)) + h.c.", sum(&|i, j| hop(i, j) + hop(j, i))),
        ("(sum(<a, b> in bonds; cdag(a, Up) * c(b, Up)) - h.c.) / 2.0", sum(&|i, j| (hop(i, j) - hop(j, i)) / 2.0)),
        ("-t * 2 * n(0, Down)", -3.0 * build::n(0, down)),
        (
            "sum(i in sites; u[i] * n(i, Up) * n(i, Down))",
            (0..4).map(|i| (4.0 + i as f64) * (build::n(i, up) * build::n(i, down))).sum(),
        ),
        (
            "sum(i in 0..4, s in [Up, Down]; (PI * i).cos() * n(i, s))",
            (0..4).map(|i| (-1.0f64).powi(i as i32) * build::n_total(i)).sum(),
        ),
        (
            "sum(i in sites, j in sites if i < j; n(i) * n(j))",
            (0..4).flat_map(|i| (i + 1..4).map(move |j| build::n_total(i) * build::n_total(j))).sum(),
        ),
        (
            "0.5 * sum(i in [0, 2]; sz(i)) * sum(i in [1, 3]; sz(i))",
            0.5 * ((build::electron_sz(0) + build::electron_sz(2)) * (build::electron_sz(1) + build::electron_sz(3))),
        ),
        ("sdots(0, 3)", build::electron_sdots(0, 3)),
        (
            "sum(<i, j> in lattice.bonds_at(2); (if i == 0 { 2.0 } else { 1.0 }) * n(i) * n(j))",
            2.0 * (build::n_total(0) * build::n_total(2)) + build::n_total(1) * build::n_total(3),
        ),
        ("1.0", build::scalar(1.0)),
        ("-2.0 * t^2 * n(0)", -4.5 * build::n_total(0)),
        ("t * u[1] ** 2 * n(0)", 37.5 * build::n_total(0)),
        ("t + sz(0)^2", build::scalar(1.5) + build::electron_sz(0) * build::electron_sz(0)),
        ("2^3^2 * n(0) - (-1)^3 * n(1)", 512.0 * build::n_total(0) + build::n_total(1)),
        ("n(2^1)", build::n_total(2)),
        ("(n(0, Up) + n(1, Down))^3", {
            let sum = build::n(0, up) + build::n(1, down);
            sum.clone() * sum.clone() * sum
        }),
        ("sz(0)^0", build::scalar(1.0)),
        ("sqrt(4) * n(0) + exp(0) * n(1) + max(1, 2.5) * n(2) + abs(-3) * n(3)", {
            [2.0, 1.0, 2.5, 3.0].iter().enumerate().map(|(site, value)| *value * build::n_total(site)).sum()
        }),
        (
            "sum(i in sites, j in sites if abs(i - j) == 3; w[i][j] * n(i) * n(j))",
            15.0 * (build::n_total(0) * build::n_total(3)),
        ),
        ("sum(<i, j, _, _, b> in bonds; u[b] * n(i) * n(j))", {
            (0..3).map(|i| (4.0 + i as f64) * (build::n_total(i) * build::n_total(i + 1))).sum()
        }),
        ("sum(<i, j> in [[0, 2], [1, 3]]; cdag(i, Up) * c(j, Up))", hop(0, 2) + hop(1, 3)),
        ("sum(<i, j, p> in [(0, 2, 0.5)]; p * cdag(i, Up) * c(j, Up))", 0.5 * hop(0, 2)),
        ("prod(k in 1..4; 1 - 2 * n(k, Up))", {
            (1..4).map(|k| build::scalar(1.0) - 2.0 * build::n(k, up)).fold(build::scalar(1.0), |all, one| all * one)
        }),
        ("prod(k in 0..2; cdag(k, Up)) * c(3, Up) * c(2, Up)", -1.0 * (hop(0, 3) * hop(1, 2))),
        ("prod(k in 2..2; n(k))", build::scalar(1.0)),
        ("prod(k in sites if k > 4; n(k))", build::scalar(1.0)),
        ("sum(i in 0..2; n(i) * sum(j in 2..4; n(j)))", {
            (build::n_total(0) + build::n_total(1)) * (build::n_total(2) + build::n_total(3))
        }),
        ("sum(i in sites; sz(i))^2", {
            let whole: Operator = (0..4).map(build::electron_sz).sum();
            whole.clone() * whole
        }),
        ("chirality(0, 1, 2)", build::electron_chirality(0, 1, 2)),
        ("exp(I * PI / 2) * n(0) - I * n(0)", build::scalar(0.0)),
    ];
    for (text, expected) in cases {
        let found = electrons(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found.shape, Shape::Whole, "{text}");
        let (found, expected) = (found.operators[0].reduced(), expected.reduced());
        let difference = found.clone() - expected.clone();
        let largest = difference.terms().fold(0.0f64, |most, (_, c)| most.max(c.abs()));
        assert!(largest < 1e-14, "{text}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn free_indices_make_one_value_per_site_or_pair() {
    let sites = electrons("n(i, Up) * n(i, Down)").unwrap();
    assert_eq!((sites.shape, sites.operators.len()), (Shape::Sites, 4));
    assert_eq!(sites.operators[2], build::n(2, Spin::Up) * build::n(2, Spin::Down));
    let pairs = electrons("cdag(i, Up) * c(j, Up)").unwrap();
    assert_eq!((pairs.shape, pairs.operators.len()), (Shape::Pairs, 16));
    assert_eq!(pairs.operators[4 + 3], build::cdag(1, Spin::Up) * build::c(3, Spin::Up));
    let around = electrons("sum(j in lattice.neighbors(i); n(j))").unwrap();
    assert_eq!(around.shape, Shape::Sites);
    assert_eq!(around.operators[1], build::n_total(0) + build::n_total(2));
}

/// A condition behind the text: NaN where it fails, null in JSON, and no error of what is not there.
#[test]
fn places_are_left_out_by_a_condition() {
    let near = electrons("n(i) * n(i + 1) if i + 1 < 4").unwrap();
    assert_eq!((near.shape, &near.left_out[..]), (Shape::Sites, &[3][..]));
    assert_eq!(near.operators[2], build::n_total(2) * build::n_total(3));
    assert_eq!(serde_json::to_string(&near.average(vec![1.0; 4])).unwrap(), "[1.0,1.0,1.0,null]");
    let pairs = electrons("(cdag(i, Up) * c(j, Up) + h.c.) if i < j").unwrap();
    assert_eq!((pairs.shape, pairs.left_out.len()), (Shape::Pairs, 10));
    assert_eq!(electrons("cdag(i, Up) * c(j, Up) + h.c. if i < j").unwrap().left_out, pairs.left_out);
    assert!(electrons("(if i == 0 { 1.0 } else { 2.0 }) * n(i)").unwrap().left_out.is_empty());
    for (text, expected) in [
        ("n(i) if i > 9", "leaves out every place"),
        ("n(0) if 1 < 2", "on free sites"),
        ("n(i) if n(i)", "function `n`"),
        ("n(i) if i", "expected a condition"),
    ] {
        let error = electrons(text).unwrap_err();
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
}

/// Also where the first site has nothing to sum over.
#[test]
fn shapes_follow_the_names_of_a_text_and_not_its_values() {
    for (text, shape) in [
        ("sum(k in 0..i; n(k) * n(j))", Shape::Pairs),
        ("sum(k in sites if k < i; n(k))", Shape::Sites),
        ("(if 1 < 0 { 1.0 * i } else { 2.0 }) * n(0)", Shape::Sites),
        ("sum(<a, b> in lattice.bonds_at(3); n(i))", Shape::Sites),
        ("sum(i in sites, j in sites; n(i) * n(j))", Shape::Whole),
    ] {
        assert_eq!(electrons(text).unwrap_or_else(|error| panic!("{text}: {error}")).shape, shape, "{text}");
    }
}

/// In a time that does not double with each addend, and without running out of stack.
#[test]
fn long_texts_are_read_or_refused() {
    let long = |addends: usize| format!("({}) * n(0)", vec!["0.5"; addends].join(" + "));
    let found = electrons(&long(400)).unwrap();
    assert_eq!(found.operators[0].coefficient(&[build::n(0, Spin::Up).terms().next().unwrap().0].concat()), 200.0);
    let chains = ["-", "!", "&", "1 + ", "2 / ", "2^", "|x| ", "(1.0)."].map(|part| part.repeat(2_000) + "n(0)");
    let brackets = format!("{}n(0){}", "(".repeat(500), ")".repeat(500));
    let methods = "1.0".to_string() + &".abs()".repeat(500) + " * n(0)";
    let indices = "t".to_string() + &"[0]".repeat(2_000) + " * n(0)";
    for text in chains.into_iter().chain([long(20_000), long(500), brackets, methods, indices]) {
        let error = electrons(&text).unwrap_err();
        assert!(error.message.contains("at most"), "{error}");
    }
}

#[test]
fn moments_and_flavours_have_their_own_words() {
    let lattice = Lattice::chain(4);
    let spins = names(&lattice, SiteKind::Moments { two_s: 2 });
    let found = read_observable("O", "sz(i) * sz(i)", &spins).unwrap();
    assert_eq!(found.operators[3], build::sz(3) * build::sz(3));
    // (2 Sx)^24 is 1 for spin 1/2, and S²ˣ for spin 1 by its matrix; as words in S+ and S- it would have coefficients of 10^18.
    let halves = names(&lattice, SiteKind::Moments { two_s: 1 });
    for text in
        ["(2 * sx(0))^24", "prod(k in 0..24; 2 * sx(0))", "(2 * sx(0))^40", "1.0.abs().abs().abs().abs().abs().abs()"]
    {
        let found = read_observable("O", text, &halves).unwrap();
        assert_eq!(found.operators[0].clone().reduced(), build::scalar(1.0), "{text}");
    }
    let found = read_observable("O", "(sdots(0, 1) - 1/4.0)^16", &halves).unwrap();
    let expected = build::scalar(0.25) - build::sdots(0, 1);
    let far = (found.operators[0].clone() - expected)
        .reduced()
        .terms()
        .fold(0.0f64, |most, (_, value)| most.max(value.abs()));
    assert!(far < 1e-12, "{far:e}");
    let flavours = names(&lattice, SiteKind::Flavours(3));
    let found = read_observable("O", "sum(f in 0..3; cdag(i, Flavour(f)) * c(j, Flavour(f)))", &flavours).unwrap();
    assert_eq!((found.shape, found.operators[1].len()), (Shape::Pairs, 3));
    assert_eq!(read_observable("O", "n(0)", &flavours).unwrap().operators[0].len(), 3);
}

#[test]
fn errors_say_what_to_write_and_where() {
    let lattice = Lattice::chain(4);
    let (fermions, moments) = (names(&lattice, SiteKind::Electrons), names(&lattice, SiteKind::Moments { two_s: 1 }));
    let flavours = names(&lattice, SiteKind::Flavours(3));
    let weighted = Lattice::ladder([2, 2]).weights(&[1.0, 0.5]);
    let weights = names(&weighted, SiteKind::Electrons);
    let molecule = Names::new(vec![SiteKind::Electrons; 4], None, Vec::new());
    let cases = [
        (&fermions, "", "found nothing", ""),
        (&fermions, "n(0, Up", "without its other half", ""),
        (&fermions, "n(0, Upp)", "did you mean `Up`", "Upp"),
        (&fermions, "n(4)", "a site from 0 to 3, found 4", "4"),
        (&fermions, "sum(k in sites; n(l))", "unknown name `l`", "l"),
        (&fermions, "q * n(0)", "the model's parameters are t, u", "q"),
        (&fermions, "u * n(0)", "a list of 4 that differ", "u"),
        (&fermions, "u[7] * n(0)", "an index from 0 to 3, found 7", "7"),
        (&fermions, "n(j)", "the first free index", "j"),
        (&fermions, "cdga(0, Up) * c(1, Up)", "did you mean `cdag`", "cdga"),
        (&fermions, "sum(i in sites; n(i)).sqrt()", "operator inside other Rust", "sum(i in sites; n(i)).sqrt()"),
        (&fermions, "t.powi(0.5) * n(0)", "an integer exponent", "0.5"),
        (&fermions, "(0 - 1) % 3 * n(0)", "another sign in other languages", "(0 - 1)"),
        (&fermions, "(1.5 as f32) * n(0)", "`as f32`", "1.5 as f32"),
        (&fermions, "(0 - 1) as usize * n(0)", "that usize has", ""),
        (&fermions, "sqrt(0 - t) * n(0)", "`sqrt(-1.5)`, which is NaN", ""),
        (&fermions, "1e200^2 * n(0)", "inf", ""),
        (&fermions, "w[0] * n(0)", "a list of 4 that differ", ""),
        (&fermions, "w * n(0)", "write which one, as in `w[i][j]`", "w"),
        (&fermions, "w[4][0] * n(0)", "an index from 0 to 3, found 4", "4"),
        (&fermions, "sum(t in sites; n(t))", "`t` is a parameter", "t"),
        (&fermions, "sum(<i, j> in [[0, 9]]; n(i) * n(j))", "pairs of sites from 0 to 3", "[[0, 9]]"),
        (&fermions, "sum(a in 0..10000, b in 0..10000; n(0))", "at most 8388608 combinations", "0..10000"),
        (&fermions, "sum(a in 0..3000, b in 0..3000; n(i) * n(j))", "all sums and free sites of a text together", ""),
        (&fermions, "2 n(0)", "write `2 * n`", ""),
        (&fermions, "log(t) * n(0)", "`ln(x)`", ""),
        (&fermions, "n(0) / 0.0", "other than 0", "0.0"),
        (&fermions, "3 / (1 / (t - 1.5)) * n(0)", "other than 0 to divide by", ""),
        (&fermions, "max(0.0 / (t - 1.5), 0.5) * n(0)", "other than 0 to divide by", ""),
        (&fermions, "(if exp(1000) < 1 { 1 } else { 2 }) * n(0)", "`exp(1000)`, which is inf", ""),
        (&fermions, "min(1e200 * 1e200, 1) * n(0)", "which is inf", ""),
        (&fermions, "u[0][1] * n(0)", "is a list of 4 numbers, found a second", "1"),
        (&fermions, "w[0][1][2] * n(0)", "a list in front of an index", "w[0][1]"),
        (&fermions, "t[0][1][2] * n(0)", "a list in front of an index", "t[0][1]"),
        (
            &fermions,
            "sum(<a, b> in lattice.bonds_at(7); n(a) * n(b))",
            "a shell that these 4 sites have, from 1 for nearest neighbours, found 7",
            "7",
        ),
        (&fermions, "sum(k in sites if k > 0 and k < 3; n(k))", "expected `&&`, found `and`", "and"),
        (&fermions, "mod(5, 3) * n(0)", "expected `a % b`, found `mod`", "mod"),
        (&fermions, "n(0) # density", "a comment stands outside", "#"),
        (&fermions, "n(0) \u{2212} n(1)", "U+2212 has no meaning here: write `-`", ""),
        (&fermions, "n(0)\u{b2}", "write `^2`", ""),
        (&fermions, "n(0)\u{200b}", "U+200B has no meaning here", ""),
        (&fermions, "((((n(0)^64)^64)^64)^64)^64", "at most 16384 factors", ""),
        (&fermions, "exp((1+I)*(1+I)*(1+I)*(1+I)*(1+I)*(1+I)) * n(0)", "at most 4 products of complex numbers", ""),
        (&fermions, "(1 / 2) * n(0)", "divides integers", ""),
        (&fermions, "c(0, Up)", "odd number of fermion operators", "c(0, Up)"),
        (&fermions, "n(0, Flavour(1))", "these sites carry electrons", "1"),
        (&fermions, "1e400 * n(0)", "a finite number", "1e400"),
        (&fermions, "x.foo() * n(0)", "unknown name `x`", "x"),
        (&fermions, "PI.foo() * n(0)", "one of the methods", "foo"),
        (&moments, "n(0)", "expected operators of local moments", "n(0)"),
        (&flavours, "sdots(0, 1)", "expected operators of fermions of flavours", "sdots(0, 1)"),
        (&flavours, "n(0, Flavour(3))", "a flavour from 0 to 2, found 3", "3"),
        (&weights, "sum(<i, j> in bonds; n(i) * n(j))", "ignores the weights", "bonds"),
        (&fermions, "sum(i in sites; n(i) * sum(i in sites; n(i)))", "already an index", "i"),
        (&fermions, "sum(k in -9223372036854775807..5; n(k))", "at most 1048576 indices", ""),
        (&fermions, "sum(k in 0..=9223372036854775807; n(k))", "at most 1048576 indices", ""),
        (&fermions, "(9223372036854775807 + 1) * n(0)", "no integer result", ""),
        (&fermions, "[][0] * n(0)", "of an empty one", "0"),
        (&molecule, "sum(<i, j> in bonds; n(i) * n(j))", "no lattice here", "bonds"),
    ];
    for (names, text, expected, place) in cases {
        let error = read_observable("O", text, names).expect_err(text);
        assert!(error.message.contains(expected), "{text}\n found: {}\n expected: {expected}", error.message);
        assert!(
            place.is_empty() || &text[error.at.clone()] == place,
            "{text}: {:?} at {:?}",
            error,
            &text[error.at.clone()]
        );
    }
}

#[test]
fn products_that_change_a_fixed_number_are_left_out_and_conjugates_are_computed_once() {
    let hop = |i, j| build::cdag(i, Spin::Up) * build::c(j, Spin::Up);
    let observables = [
        Observable::scalar("hop", hop(0, 1) + 2.0 * hop(1, 0)),
        Observable::scalar("flip", build::electron_sp(0)),
        Observable::scalar("one", build::scalar(3.0)),
    ];
    let average = |products: &[crate::operator::Product]| -> Result<Vec<f64>, OperatorError> {
        assert_eq!(products.len(), 2, "{products:?}");
        Ok(products.iter().map(|product| if product.is_empty() { 1.0 } else { 0.25 }).collect())
    };
    let found = evaluate(&observables, &[SiteKind::Electrons; 2], &[Charge::Up, Charge::Down], false, average).unwrap();
    assert_eq!([found.scalar("hop"), found.scalar("flip"), found.scalar("one")], [Some(0.75), Some(0.0), Some(3.0)]);
}

#[test]
fn operators_that_the_sites_do_not_have_are_refused() {
    let average =
        |_: &[crate::operator::Product]| -> Result<Vec<f64>, OperatorError> { unreachable!("refused before") };
    for operator in [build::sz(0), build::n_total(5), f64::NAN * build::n_total(0)] {
        let observables = [Observable::scalar("O", operator)];
        evaluate(&observables, &[SiteKind::Electrons; 2], &[], false, average).unwrap_err();
    }
}

#[test]
fn averages_come_back_from_json() {
    let averages: Averages = [
        ("a".to_string(), Average::Whole(0.5)),
        ("b".to_string(), Average::Sites(vec![1.0, f64::NAN].into())),
        ("c".to_string(), Average::Pairs(ndarray::array![[1.0, 2.0], [3.0, 4.0]])),
    ]
    .into_iter()
    .collect();
    let text = serde_json::to_string(&averages).unwrap();
    assert_eq!(text, "{\"a\":0.5,\"b\":[1.0,null],\"c\":[[1.0,2.0],[3.0,4.0]]}");
    let back: Averages = serde_json::from_str(&text).unwrap();
    assert_eq!((back.scalar("a"), back.pairs("c")), (Some(0.5), averages.pairs("c")));
    assert!(back.sites("b").unwrap()[1].is_nan());
}
