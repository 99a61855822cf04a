//! Complex orbitals: matrices against second quantisation, energies of turned molecules, densities, and files.

use super::data;
use super::oracle::act;
use super::random::Random;
use eigenforge::ci::{
    self, CiHamiltonian, CiProblem, FileIntegrals, Integrals, OneBody, OrbitalWindow, Space, SpinTwoBody, Storage,
    SymmetryKeys, TwoBody, matrix_element, natural_orbitals, pair, spins,
};
use eigenforge::runtime::Device;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::solvers::Solver;
use eigenforge::runtime::testing::{kernel_devices, on_ranks};
use ndarray::{Array1, Array2, Axis};
use num_complex::Complex64;
use std::collections::HashMap;

type ComplexIntegrals = Integrals<Complex64>;

fn one(integrals: &ComplexIntegrals, p: usize, q: usize) -> Complex64 {
    integrals.one[p * integrals.orbitals + q]
}

fn two(integrals: &ComplexIntegrals, p: usize, q: usize, r: usize, s: usize) -> Complex64 {
    let n = integrals.orbitals;
    integrals.two[pair(p * n + q, r * n + s)]
}

/// Complex integrals from h_pq and (pq|rs), made Hermitian.
fn from_values(
    like: &Integrals,
    one: impl Fn(usize, usize) -> Complex64,
    two: impl Fn(usize, usize, usize, usize) -> Complex64,
) -> ComplexIntegrals {
    let n = like.orbitals;
    let Integrals { electrons, two_sz, core, .. } = *like;
    let mut integrals = ComplexIntegrals { electrons, two_sz, core, ..Integrals::zeros(n) };
    for (p, q) in (0..n).flat_map(|p| (0..n).map(move |q| (p, q))) {
        integrals.one[p * n + q] = 0.5 * (one(p, q) + one(q, p).conj());
        for (r, s) in (0..n).flat_map(|r| (0..n).map(move |s| (r, s))) {
            let all = two(p, q, r, s) + two(r, s, p, q) + (two(q, p, s, r) + two(s, r, q, p)).conj();
            integrals.two[pair(p * n + q, r * n + s)] = 0.25 * all;
        }
    }
    integrals
}

fn random_integrals(random: &mut Random, n: usize, up: usize, down: usize) -> ComplexIntegrals {
    let like = random.integrals(n, up, down);
    let mut numbers = || (0..n.pow(4)).map(|_| Complex64::new(random.number(), random.number())).collect::<Vec<_>>();
    let (h, v) = (numbers(), numbers());
    from_values(&like, |p, q| h[p * n + q], |p, q, r, s| v[((p * n + q) * n + r) * n + s])
}

/// A random unitary matrix of n rows, by Gram and Schmidt.
fn unitary(random: &mut Random, n: usize) -> Vec<Vec<Complex64>> {
    let mut rows: Vec<Vec<Complex64>> = Vec::new();
    while rows.len() < n {
        let mut row: Vec<_> = (0..n).map(|_| Complex64::new(random.number(), random.number())).collect();
        for _ in 0..2 {
            for other in &rows {
                let overlap: Complex64 = other.iter().zip(&row).map(|(a, b)| a.conj() * b).sum();
                row.iter_mut().zip(other).for_each(|(b, a)| *b -= overlap * a);
            }
        }
        let norm = row.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        rows.push(row.into_iter().map(|value| value / norm).collect());
    }
    rows
}

/// The integrals of orbitals φ'_p = Σ_a u[p][a] φ_a.
fn turned(integrals: &Integrals, u: &[Vec<Complex64>]) -> ComplexIntegrals {
    let n = integrals.orbitals;
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|p| (0..n).map(move |q| (p, q))).collect();
    // Half of a transformation: (pq|rs) of new p and q.
    let half = |values: &dyn Fn(usize, usize) -> Complex64, p: usize, q: usize| -> Complex64 {
        pairs.iter().map(|(a, b)| u[p][*a].conj() * u[q][*b] * values(*a, *b)).sum()
    };
    let mut halves = vec![Complex64::ZERO; n.pow(4)];
    for (left, (p, q)) in pairs.iter().enumerate() {
        for (right, (r, s)) in pairs.iter().enumerate() {
            halves[left * n * n + right] = half(&|a, b| integrals.two(a, b, *r, *s).into(), *p, *q);
        }
    }
    let whole = |p: usize, q: usize, r: usize, s: usize| half(&|c, d| halves[(p * n + q) * n * n + c * n + d], r, s);
    from_values(integrals, |p, q| half(&|a, b| integrals.one(a, b).into(), p, q), whole)
}

/// ⟨J|H|I⟩ of all J for one I, from operators on Fock space.
fn column(integrals: &ComplexIntegrals, (up, down): (u128, u128)) -> HashMap<(u128, u128), Complex64> {
    let n = integrals.orbitals;
    let state = up as u64 | (down as u64) << n;
    let mut column = HashMap::new();
    let mut add = |state: u64, value: Complex64| {
        let words = (u128::from(state & ((1 << n) - 1)), u128::from(state >> n));
        *column.entry(words).or_insert(Complex64::ZERO) += value;
    };
    let pairs = || (0..n).flat_map(|p| (0..n).map(move |q| (p, q)));
    for (spin, (p, q)) in [0, n].into_iter().flat_map(|spin| pairs().map(move |pq| (spin, pq))) {
        if let Some((state, sign)) = act(state, &[(false, q + spin), (true, p + spin)]) {
            add(state, sign * one(integrals, p, q));
        }
        for (other, (r, s)) in [0, n].into_iter().flat_map(|other| pairs().map(move |rs| (other, rs))) {
            let operators = [(false, q + spin), (false, s + other), (true, r + other), (true, p + spin)];
            if let Some((state, sign)) = act(state, &operators) {
                add(state, 0.5 * sign * two(integrals, p, q, r, s));
            }
        }
    }
    column
}

#[test]
fn every_element_is_that_of_second_quantisation() {
    let mut random = Random(5303);
    for (n, up, down) in [(1, 1, 0), (2, 1, 1), (3, 2, 1), (4, 2, 2), (4, 1, 3), (5, 3, 2)] {
        let integrals = random_integrals(&mut random, n, up, down);
        let full = Space::full(n, up, down).unwrap();
        let list: Vec<_> = (0..full.len()).step_by(2).map(|row| full.determinant(row)).collect();
        let spaces = [full, Space::excitations(n, up, down, 2).unwrap(), Space::from_determinants(n, &list).unwrap()];
        for space in spaces {
            let matrix = ci::matrix(&integrals, &space, 1e-12).unwrap();
            matrix.check_hermitian(1e-12).unwrap();
            let hamiltonian = CiHamiltonian::new(&integrals, &space, 1e-12).unwrap();
            for at in 0..space.len() {
                let own = space.determinant(at);
                let mut found: HashMap<u64, Complex64> = HashMap::new();
                hamiltonian.for_each(at, |column, value| {
                    found.insert(column, value);
                });
                for (other, value) in column(&integrals, own) {
                    // The column is ⟨other|H|own⟩, and the row ⟨own|H|other⟩.
                    let expected = value.conj();
                    assert!((matrix_element(&integrals, own, other) - expected).norm() < 1e-12);
                    let Some(place) = space.row(other.0, other.1) else { continue };
                    let element = found.remove(&place).unwrap_or(Complex64::ZERO);
                    assert!((element - expected).norm() < 1e-12, "{n} {up} {down}: {element} {expected}");
                }
                assert!(found.is_empty(), "{found:?}");
            }
        }
    }
}

/// Real molecules in orbitals turned by a random unitary matrix: the energies and spins of the real ones, on every device and with every
/// solver; natural occupations, and energies of densities.
#[test]
fn turned_orbitals_leave_energies_as_they_are() {
    let mut random = Random(77);
    for id in ["H4_square_sto3g_1.2", "CH2_triplet_sto3g_1.08"] {
        let real = Integrals { irreps: Vec::new(), ..data::integrals(id) };
        let (up, down) = real.spins();
        let n = real.orbitals;
        let complex = turned(&real, &unitary(&mut random, n));
        let space = Space::full(n, up, down).unwrap();
        let states = 3;
        let expected = CiProblem::new(&real, &space).solve().states(states).run(&Device::cpu()).unwrap();
        let frame = Integrals { electrons: real.electrons, two_sz: real.two_sz, core: real.core, ..Integrals::zero(n) };
        let devices = std::iter::once(Device::cpu()).chain(kernel_devices(Schedule::Forward).into_iter().take(1));
        for device in devices {
            let runs: &[(Solver, Storage)] = match device.runs_kernels() {
                true => &[(Solver::Davidson, Storage::Stored), (Solver::Davidson, Storage::Direct)],
                false => &[
                    (Solver::Dense, Storage::Stored),
                    (Solver::Davidson, Storage::Stored),
                    (Solver::Davidson, Storage::Direct),
                    (Solver::Lanczos, Storage::Direct),
                    (Solver::Lobpcg, Storage::Auto),
                ],
            };
            if device.runs_kernels() && space.len() > 100 {
                continue;
            }
            for (solver, storage) in runs {
                let problem = CiProblem::new(&frame, &space).complex(Some(&complex)).storage(*storage);
                let solution = problem.solve().solver(*solver).states(states).run(&device).unwrap();
                let what = format!("{id}, {solver:?}, {storage:?} on {}", device.name());
                for (found, expected) in solution.energies().iter().zip(expected.energies()) {
                    assert!((found - expected).abs() < 1e-9, "{what}: {found}, {expected}");
                }
                for (found, expected) in solution.levels().iter().zip(expected.levels()) {
                    assert_eq!(found.multiplicity, expected.multiplicity, "{what}");
                }
                let lowest = solution.level_states::<Complex64>(0).unwrap();
                let squares = spins(&space, &lowest).unwrap();
                let own = spins(&space, &expected.level_states::<f64>(0).unwrap()).unwrap();
                assert!((squares[0].square - own[0].square).abs() < 1e-6, "{what}: {squares:?}, {own:?}");
                let one = OneBody::new(&space, &lowest).unwrap();
                let energy = TwoBody::new(&space, &lowest).unwrap().energy(&one, &complex).unwrap();
                assert!((energy - expected.energies()[0]).abs() < 1e-8, "{what}: {energy}");
                let by_spin = SpinTwoBody::new(&space, &lowest).unwrap().energy(&one, &complex).unwrap();
                assert!((by_spin - energy).abs() < 1e-10, "{what}: {by_spin}");
                let natural = natural_orbitals(&one, &[]).unwrap();
                let real_one = OneBody::new(&space, &expected.level_states::<f64>(0).unwrap()).unwrap();
                let usual = natural_orbitals(&real_one, &[]).unwrap();
                let close = natural.occupations.iter().zip(&usual.occupations).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(close, "{what}: {}, {}", natural.occupations, usual.occupations);
                for (occupation, orbital) in natural.occupations.iter().zip(natural.orbitals.axis_iter(Axis(0))) {
                    let image = one.total().dot(&orbital);
                    let rest = image.iter().zip(orbital).map(|(a, b)| (a - b * *occupation).norm_sqr()).sum::<f64>();
                    assert!(rest.sqrt() < 1e-9, "{what}: {rest}");
                }
            }
        }
    }
}

/// Ranks by their cores and by the simulated card, stored and direct, full and up to a level: the energies and vectors of one process.
#[test]
fn ranks_share_complex_orbitals() {
    let mut random = Random(31);
    let integrals = random_integrals(&mut random, 4, 2, 2);
    let frame = Integrals { electrons: 4, two_sz: 0, core: integrals.core, ..Integrals::zero(4) };
    for space in [Space::full(4, 2, 2).unwrap(), Space::excitations(4, 2, 2, 2).unwrap()] {
        let problem = |storage| CiProblem::new(&frame, &space).complex(Some(&integrals)).storage(storage);
        let expected = problem(Storage::Stored).solve().solver(Solver::Dense).states(2).run(&Device::cpu()).unwrap();
        let devices = std::iter::once(Device::cpu()).chain(kernel_devices(Schedule::Forward).into_iter().take(1));
        for (device, storage) in
            devices.flat_map(|device| [(device.clone(), Storage::Stored), (device, Storage::Direct)])
        {
            if device.runs_kernels() && (storage == Storage::Stored || space.is_complete()) {
                continue;
            }
            let all = on_ranks(&device, 3, |device| {
                let solution = problem(storage).solve().states(2).run(device).unwrap();
                let lowest = solution.level_states::<Complex64>(0).unwrap();
                (solution.energies().to_vec(), (lowest.ncols() > 0).then(|| spins(&space, &lowest).unwrap()[0].square))
            });
            for (rank, (energies, spin)) in all.iter().enumerate() {
                let close = energies.iter().zip(expected.energies()).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(close, "{storage:?}, rank {rank}: {energies:?}");
                assert_eq!(spin.is_some(), rank == 0);
            }
        }
    }
}

/// γ_pq = ⟨a†_p a_q⟩ and Γ of random complex vectors against operators on Fock space: which factor is conjugated.
#[test]
fn densities_conjugate_the_bra() {
    let mut random = Random(9);
    let (n, up, down) = (3, 2, 1);
    let space = Space::full(n, up, down).unwrap();
    let vector: Vec<_> = (0..space.len()).map(|_| Complex64::new(random.number(), random.number())).collect();
    let norm: f64 = vector.iter().map(Complex64::norm_sqr).sum();
    let amplitude: HashMap<u64, Complex64> = (0..space.len())
        .map(|row| (space.determinant(row), vector[row as usize]))
        .map(|((up, down), value)| (up as u64 | (down as u64) << n, value))
        .collect();
    let average = |operators: &[(bool, usize)]| -> Complex64 {
        let terms = amplitude.iter().filter_map(|(state, value)| {
            let (image, sign) = act(*state, operators)?;
            Some(amplitude.get(&image)?.conj() * *value * sign)
        });
        terms.sum::<Complex64>() / norm
    };
    let states = Array2::from_shape_vec((1, vector.len()), vector.clone()).unwrap();
    let (one, two) = (OneBody::new(&space, &states).unwrap(), SpinTwoBody::new(&space, &states).unwrap());
    let sum = TwoBody::new(&space, &states).unwrap();
    // Between two states: the first with its rows turned about is the other.
    let other: Vec<_> = vector.iter().rev().map(|value| value * Complex64::new(0.6, 0.8)).collect();
    let (bra, ket) = (Array1::from(vector.clone()), Array1::from(other.clone()));
    let transition = OneBody::transition(&space, &bra, &ket).unwrap();
    let between = |operators: &[(bool, usize)]| -> Complex64 {
        let terms = (0..space.len()).filter_map(|row| {
            let (up, down) = space.determinant(row);
            let (image, sign) = act(up as u64 | (down as u64) << n, operators)?;
            Some(amplitude.get(&image)?.conj() * other[row as usize] * sign)
        });
        terms.sum::<Complex64>() / norm
    };
    assert!((transition.overlap - between(&[])).norm() < 1e-13);
    for (p, q) in (0..n).flat_map(|p| (0..n).map(move |q| (p, q))) {
        for (matrix, spin) in [(&transition.alpha, 0), (&transition.beta, n)] {
            let expected = between(&[(false, q + spin), (true, p + spin)]);
            assert!((matrix[[p, q]] - expected).norm() < 1e-13, "{p} {q}: {} {expected}", matrix[[p, q]]);
        }
    }
    let mut largest = 0.0f64;
    for (p, q) in (0..n).flat_map(|p| (0..n).map(move |q| (p, q))) {
        for (matrix, spin) in [(&one.alpha, 0), (&one.beta, n)] {
            let expected = average(&[(false, q + spin), (true, p + spin)]);
            assert!((matrix[[p, q]] - expected).norm() < 1e-13, "{p} {q}: {} {expected}", matrix[[p, q]]);
            largest = largest.max(expected.im.abs());
        }
        for (r, s) in (0..n).flat_map(|r| (0..n).map(move |s| (r, s))) {
            let of = |a: usize, b: usize| average(&[(false, q + a), (false, s + b), (true, r + b), (true, p + a)]);
            let at = [p, q, r, s];
            assert!((two.alpha[at] - of(0, 0)).norm() < 1e-13 && (two.beta[at] - of(n, n)).norm() < 1e-13);
            assert!((two.mixed[at] - of(0, n)).norm() < 1e-13);
            let all = of(0, 0) + of(n, n) + of(0, n) + of(n, 0);
            assert!((sum.values[at] - all).norm() < 1e-13, "{at:?}");
        }
    }
    assert!(largest > 0.01, "the vector is complex");
}

/// Frozen and deleted orbitals: the energies of the whole space of those determinants.
#[test]
fn windows_of_complex_orbitals() {
    let mut random = Random(12);
    let integrals = random_integrals(&mut random, 5, 3, 2);
    let window = OrbitalWindow::listed(5, &[2, 3, 5], (3, 2)).unwrap();
    let own = integrals.in_window(&window);
    assert_eq!(window.core.len(), 1);
    let space = Space::full(3, 2, 1).unwrap();
    let place = |word: u128| window.active.iter().enumerate().map(|(k, p)| (word >> k & 1) << p).sum::<u128>() | 1;
    for (i, j) in (0..space.len()).flat_map(|i| (0..space.len()).map(move |j| (i, j))) {
        let [row, other] = [i, j].map(|at| space.determinant(at));
        let [whole, whole_other] = [row, other].map(|(up, down)| (place(up), place(down)));
        let core = if i == j { own.core - integrals.core } else { 0.0 };
        let expected = matrix_element(&integrals, whole, whole_other);
        let found = matrix_element(&own, row, other) + core;
        assert!((found - expected).norm() < 1e-12, "{i} {j}: {found} {expected}");
    }
}

fn read(text: &str) -> Result<FileIntegrals, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    FileIntegrals::read(file.path(), SymmetryKeys::default()).map(|found| found.0).map_err(|error| error.to_string())
}

/// Lines of a file of these integrals.
pub fn text(integrals: &ComplexIntegrals) -> String {
    let n = integrals.orbitals;
    let mut out = format!("&FCI NORB={n},NELEC={},MS2={}\n&END\n", integrals.electrons, integrals.two_sz);
    let pairs = || (0..n).flat_map(|p| (0..n).map(move |q| (p, q)));
    for (p, q) in pairs() {
        for (r, s) in pairs().filter(|(r, s)| r * n + s <= p * n + q) {
            let value = two(integrals, p, q, r, s);
            out += &format!("({:e},{:e}) {} {} {} {}\n", value.re, value.im, p + 1, q + 1, r + 1, s + 1);
        }
    }
    for (p, q) in pairs().filter(|(p, q)| q <= p) {
        let value = one(integrals, p, q);
        out += &format!(" ( {:e} , {:e} ) {} {} 0 0\n", value.re, value.im, p + 1, q + 1);
    }
    out + &format!("({:e},0.0) 0 0 0 0\n", integrals.core)
}

#[test]
fn files_of_complex_orbitals() {
    let mut random = Random(4);
    let integrals = random_integrals(&mut random, 3, 2, 1);
    let FileIntegrals::Complex(found) = read(&text(&integrals)).unwrap() else { panic!("complex") };
    assert_eq!(found, integrals);
    // Without imaginary parts: real orbitals, where both (pq|rs) and (pq|sr) are given and equal.
    let real = random.integrals(3, 2, 1);
    let plain = from_values(&real, |p, q| real.one(p, q).into(), |p, q, r, s| real.two(p, q, r, s).into());
    let FileIntegrals::Real { integrals: found, from_complex: true } = read(&text(&plain)).unwrap() else {
        panic!("real")
    };
    assert!(found.two.iter().zip(&real.two).all(|(a, b)| (a - b).abs() < 1e-15));
    let head = "&FCI NORB=2,NELEC=2,MS2=0\n&END\n";
    let refused = |text: &str, words: &[&str]| {
        let said = read(&format!("{head}{text}")).unwrap_err();
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
    };
    refused("(0.5,0.1) 1 1 2 2\n(0,0) 0 0 0 0\n", &["line 3", "(1 1|2 2)", "not Hermitian"]);
    refused("(0.5,0.1) 2 1 1 2\n(0,0) 0 0 0 0\n", &["line 3", "(2 1|1 2)", "not Hermitian"]);
    refused("(0.5,0.1) 1 1 0 0\n(0,0) 0 0 0 0\n", &["line 3", "h(1, 1)", "not Hermitian"]);
    refused("(0.5,0.1) 2 1 0 0\n(0.5,0.1) 1 2 0 0\n", &["lines 3 and 4", "h(1, 2)"]);
    refused("(0.5,0.1) 2 1 1 1\n(0.5,0.1) 1 1 1 2\n", &["lines 3 and 4", "(1 1|1 2)"]);
    refused("(0.5,0.1) 2 1 1 1\n(0,0.5) 0 0 0 0\n", &["line 4", "core energy", "imaginary"]);
    refused("0.5 1 1 1 1\n(0.5,0.1) 2 1 1 1\n", &["line 4", "begins with a real value", "ICOMPLEX"]);
    refused("(0.5 0.1) 1 1 1 1\n", &["line 3", "expected `(re,im) i j k l`"]);
    refused("(0.5,0.1 1 1 1 1\n", &["line 3", "expected `(re,im) i j k l`"]);
    refused("(0.5,0.1,0.2) 1 1 1 1\n", &["line 3", "expected `(re,im) i j k l`"]);
    refused("(0.5,x) 2 1 1 1\n", &["line 3", "`x` is not a number"]);
    refused("(0.5,nan) 2 1 1 1\n", &["line 3", "not finite"]);
    refused("(0.5,0.1) 2 1 1\n", &["line 3", "fields"]);
    refused("(0.5,0) 2 1 2 1\n(0.7,0) 1 1 1 1\n(0,0) 0 0 0 0\n", &["only one is given", "(2 1|2 1)"]);
    // Real (ij|kl) beside hops with a phase may be meant eightfold too.
    refused(
        "(0.5,0) 2 1 2 1\n(0.7,0) 1 1 1 1\n(0.2,0.1) 2 1 0 0\n(0,0) 0 0 0 0\n",
        &["only one is given", "write both with their values"],
    );
    // Conjugates fit, and plain numbers may follow.
    let ok = "(0.5,0.1) 2 1 1 1\n(0.5,-0.1) 1 2 1 1\n(0.5,0.1) 1 1 2 1\n0.25 1 1 1 1\n(0.3,0) 2 1 1 2\n0 0 0 0 0\n";
    let FileIntegrals::Complex(found) = read(&format!("{head}{ok}")).unwrap() else { panic!("complex") };
    assert_eq!(two(&found, 0, 0, 0, 1), Complex64::new(0.5, -0.1));
    assert_eq!((two(&found, 0, 1, 1, 0), two(&found, 0, 1, 0, 1)), (Complex64::new(0.3, 0.0), Complex64::ZERO));
    // Real numbers of fourfold symmetry stay complex: both exchanges of some pair are given, and differ.
    let fourfold = "(0.5,0) 2 1 2 1\n(0.2,0) 2 1 1 2\n(0,0) 0 0 0 0\n";
    assert!(matches!(read(&format!("{head}{fourfold}")).unwrap(), FileIntegrals::Complex(_)));
    assert!(
        Integrals::read_from(format!("{head}{ok}").as_bytes()).unwrap_err().to_string().contains("complex orbitals")
    );
}
