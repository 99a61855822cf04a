//! Several states from one basis, against dense diagonalisation: on the host and on a device, there also with a chain's own text.

use super::device::tests::{Own, solve_together};
use super::host::{orthonormalised, remove};
use super::{DavidsonLimits, DavidsonResult, HostDavidson, WIDTH};
use crate::backend::test_device;
use crate::dense::long_vectors::dot;
use crate::dense::{View, eigen};
use crate::seeded::vector;

/// What solves: replaces starts by the lowest eigenvectors of a matrix of `n` rows.
type Solver = dyn Fn(usize, &[f64], &mut [Vec<f64>], DavidsonLimits, &[&[f64]]) -> Option<Vec<DavidsonResult>>;

fn multiply(n: usize, a: &[f64]) -> impl FnMut(&[f64], &mut [f64]) {
    move |x: &[f64], y: &mut [f64]| {
        for (i, y) in y.iter_mut().enumerate() {
            *y = (0..n).map(|j| a[i + j * n] * x[j]).sum();
        }
    }
}

fn diagonal(n: usize, a: &[f64]) -> Vec<f64> {
    (0..n).map(|i| a[i * (n + 1)]).collect()
}

fn on_host(
    n: usize,
    a: &[f64],
    starts: &mut [Vec<f64>],
    limits: DavidsonLimits,
    against: &[&[f64]],
) -> Option<Vec<DavidsonResult>> {
    let mut x: Vec<&mut [f64]> = starts.iter_mut().map(Vec::as_mut_slice).collect();
    HostDavidson::default().solve_together(multiply(n, a), &diagonal(n, a), &mut x, limits, against).unwrap()
}

/// The host, and the device if there is one; on a card also with a chain's own text, which a simulated one takes a minute to compile.
fn solvers() -> Vec<(&'static str, Box<Solver>)> {
    let mut list: Vec<(&'static str, Box<Solver>)> = vec![("host", Box::new(on_host))];
    let Some(device) = test_device() else { return list };
    let mut texts = vec![("device", Own::None)];
    texts.extend(device.is_cuda().then_some(("a chain's own text", Own::Chain(200))));
    for (name, own) in texts {
        let solve: Box<Solver> =
            Box::new(move |n, a, starts, limits, against| solve_together((n, a), starts, limits, against, own));
        list.push((name, solve));
    }
    list
}

/// A random symmetric matrix with a diagonal that grows; every level `copies` times.
fn matrix(rows: usize, copies: usize, seed: u64) -> (usize, Vec<f64>) {
    let (n, random) = (rows * copies, vector(rows * rows, seed));
    let element = |k: usize| {
        let (i, j) = (k % n, k / n);
        if i / rows != j / rows {
            return 0.0;
        }
        let (i, j) = (i % rows, j % rows);
        0.5 * (random[i + j * rows] + random[j + i * rows]) + if i == j { 0.3 * i as f64 } else { 0.0 }
    };
    (n, (0..n * n).map(element).collect())
}

/// Solves from these starts; checks values, residuals and orthonormality against dense diagonalisation; returns the products.
fn check(
    (name, solve): (&str, &Solver),
    (n, a): (usize, &[f64]),
    mut starts: Vec<Vec<f64>>,
    against: &[&[f64]],
    expected: &[f64],
) -> usize {
    let limits = DavidsonLimits::new(1e-9, 300);
    let found = solve(n, a, &mut starts, limits, against).expect("the basis has room");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found.value - expected).abs() < 1e-11, "{name}, state {k}: {found:?} is not {expected}");
        assert!(found.residual < 1e-9, "{name}, state {k}: {found:?}");
        let mut y = vec![0.0; n];
        multiply(n, a)(&starts[k], &mut y);
        remove(&orthonormalised(against), &mut y);
        let r: f64 = y.iter().zip(&starts[k]).map(|(y, x)| (y - found.value * x).powi(2)).sum();
        assert!(r.sqrt() < 2e-9, "{name}, state {k}: {}", r.sqrt());
        for (l, other) in starts[..=k].iter().enumerate() {
            let overlap = dot(&starts[k], other) - if k == l { 1.0 } else { 0.0 };
            assert!(overlap.abs() < 1e-9, "{name}, states {k} and {l}: {overlap}");
        }
    }
    found.iter().map(|found| found.products).sum()
}

#[test]
fn the_lowest_states_of_random_matrices_also_across_restarts() {
    for (name, solve) in solvers() {
        for (rows, states, seed) in [(4, 2, 1), (40, 3, 2), (120, 6, 4)] {
            let (n, a) = matrix(rows, 1, seed);
            let (values, _) = eigen(View::new(&a, n, n)).unwrap();
            let starts = (0..states as u64).map(|k| vector(n, 90 + k)).collect();
            let products = check((name, &solve), (n, &a), starts, &[], &values);
            assert!(rows < 100 || products > WIDTH, "{name} is meant to restart: {products}");
        }
    }
}

/// Three copies of every level: as many members as are asked for, whichever mixtures. A start vector in one copy, the same again, and
/// nothing at all.
#[test]
fn members_of_a_multiplet_from_dependent_starts() {
    let (n, a) = matrix(30, 3, 5);
    let (values, _) = eigen(View::new(&a, n, n)).unwrap();
    assert!((values[0] - values[2]).abs() < 1e-12);
    let one: Vec<f64> = (0..n).map(|i| if i < 30 { 1.0 } else { 0.0 }).collect();
    for (name, solve) in solvers() {
        check((name, &solve), (n, &a), vec![one.clone(), one.clone(), vec![0.0; n]], &[], &values);
        let starts = (0..5).map(|k| vector(n, 60 + k)).collect();
        check((name, &solve), (n, &a), starts, &[], &values);
    }
}

/// Starts in the wrong order, exact for a state that is not asked for: roots cross.
#[test]
fn roots_that_cross() {
    let (n, a) = matrix(60, 1, 6);
    let (values, vectors) = eigen(View::new(&a, n, n)).unwrap();
    let column = |k: usize| (0..n).map(|i| vectors[(i, k)] + 1e-4 * vector(n, 33)[i]).collect::<Vec<f64>>();
    let lowest = column(0);
    let exact = |k: usize, factor: f64| (0..n).map(|i| factor * vectors[(i, k)]).collect::<Vec<f64>>();
    let (zero, one) = (exact(0, 1.0), exact(1, 2.0));
    for (name, solve) in solvers() {
        check((name, &solve), (n, &a), vec![column(5), column(1), column(0)], &[], &values);
        check((name, &solve), (n, &a), vec![lowest.clone(), column(4)], &[&zero, &one, &zero], &values[2..]);
    }
}

/// What the states learn from each other: fewer products than one search after the other, from the same starts.
#[test]
fn fewer_products_than_one_search_after_the_other() {
    let (n, a) = matrix(120, 1, 7);
    let (values, _) = eigen(View::new(&a, n, n)).unwrap();
    let limits = DavidsonLimits::new(1e-9, 300);
    let starts: Vec<Vec<f64>> = (0..3).map(|k| vector(n, 40 + k)).collect();
    let (mut done, mut apart): (Vec<Vec<f64>>, usize) = (Vec::new(), 0);
    for mut x in starts.clone() {
        let below: Vec<&[f64]> = done.iter().map(Vec::as_slice).collect();
        let solved = HostDavidson::default().solve(multiply(n, &a), &diagonal(n, &a), &mut x, limits, &below).unwrap();
        apart += solved.products;
        done.push(x);
    }
    for (name, solve) in solvers() {
        let together = check((name, &solve), (n, &a), starts.clone(), &[], &values);
        println!("{name}: {together} products together, {apart} one after the other");
        assert!(together < apart, "{name}: {together} and {apart}");
    }
}

#[test]
fn a_basis_without_room_leaves_the_states_to_a_search_each() {
    let (n, a) = matrix(5, 1, 8);
    let limits = DavidsonLimits::new(1e-9, 30);
    for (name, solve) in solvers() {
        for states in [1, 6, 7] {
            let mut starts: Vec<Vec<f64>> = (0..states).map(|k| vector(n, k)).collect();
            let before = starts.clone();
            let found = solve(n, &a, &mut starts, limits, &[]);
            assert!(found.is_none() && starts == before, "{name}, {states} states of {n}: {found:?}");
        }
    }
}

/// The limit is per state, and what was found by then is told; numbers that are not finite end a search.
#[test]
fn it_stops_at_its_number_of_products_and_at_what_is_no_number() {
    let (n, a) = matrix(150, 1, 9);
    for (name, solve) in solvers() {
        let mut starts: Vec<Vec<f64>> = (0..3).map(|k| vector(n, 20 + k)).collect();
        let limits = DavidsonLimits::new(1e-12, 4);
        let found = solve(n, &a, &mut starts, limits, &[]).unwrap();
        let products: usize = found.iter().map(|found| found.products).sum();
        assert!((10..=12).contains(&products), "{name}: {products} products");
        assert!(found.iter().any(|found| found.residual > 1e-12), "{name}: {found:?}");
        let lengths = starts.iter().map(|x| dot(x, x).sqrt());
        assert!(lengths.into_iter().all(|length| (length - 1.0).abs() < 1e-12), "{name}");
    }
    let mut broken = a.clone();
    broken[7 * n + 7] = f64::NAN;
    for (name, solve) in solvers().into_iter().filter(|(name, _)| *name != "host") {
        let mut starts: Vec<Vec<f64>> = (0..3).map(|k| vector(n, 20 + k)).collect();
        let found = solve(n, &broken, &mut starts, DavidsonLimits::new(1e-9, 50), &[]).unwrap();
        assert!(found[0].value.is_nan() || found[0].residual.is_nan(), "{name}: {found:?}");
    }
}
