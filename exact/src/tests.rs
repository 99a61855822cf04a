//! Oracle tests of the multiply: dense matrix = CPU = CUDA (when EIGENFORGE_TEST_DEVICE=cuda), on random operators.

use super::{InSector, Model, Solve, samples};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::{MatrixStorage, Operator, Spin, Symmetry, build};
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::testing::host_and_card as devices;
use eigenforge_runtime::{Device, LinearOperator, Scalar, Vector};
use eigenforge_templates::ScalarType;
use proptest::prelude::*;

/// Largest |y − H x| over |H x| for a random x and a poisoned y.
fn error_of<T: Scalar>(model: &Model, device: &Device, seed: u64) -> f64 {
    let dense = model.dense().unwrap();
    let n = dense.nrows();
    let hamiltonian = model.hamiltonian(model.multiply(T::TYPE).unwrap(), device).unwrap();
    let x: Vector<T> = device.random(n, seed).unwrap();
    let mut y: Vector<T> = device.upload(&vec![T::from_f64(f64::NAN); n]).unwrap();
    let dot = hamiltonian.apply(&x, &mut y).unwrap();
    let x: Vec<f64> = x.download().unwrap().iter().map(|x| x.to_f64()).collect();
    let y: Vec<f64> = y.download().unwrap().iter().map(|y| y.to_f64()).collect();
    let exact: Vec<f64> = dense.rows().into_iter().map(|row| row.iter().zip(&x).map(|(h, x)| h * x).sum()).collect();
    let exact_dot: f64 = exact.iter().zip(&x).map(|(a, b)| a * b).sum();
    let scale = exact.iter().fold(1e-3f64, |scale, value| scale.max(value.abs()));
    let diagonal = LinearOperator::<T>::diagonal(&hamiltonian).unwrap();
    if !device.runs_kernels() {
        let mut values = vec![f64::NAN; n];
        (diagonal.host)(0, &mut values);
        for (k, value) in values.iter().enumerate() {
            assert!((value - dense[[k, k]]).abs() < 1e-12 * scale, "diagonal {k}: {value} {}", dense[[k, k]]);
        }
    }
    let worst =
        exact.iter().zip(&y).map(|(a, b)| (a - b).abs()).fold(0.0, |w: f64, e| if e.is_nan() { e } else { w.max(e) });
    (worst / scale).max((dot - exact_dot).abs() / (scale * n as f64))
}

/// The matrix and the table of the same rows on the cores, unless it has more values than codes.
fn check_stored(model: &Model) {
    for storage in [MatrixStorage::Stored, MatrixStorage::Table] {
        let model = model.clone().with_storage(storage).unwrap();
        let made = model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), &Device::cpu());
        match made.err() {
            None => assert!(error_of::<f64>(&model, &Device::cpu(), 9) < 1e-13, "{} {storage:?}", model.name()),
            Some(error) => assert!(storage == MatrixStorage::Table && error.to_string().contains("values"), "{error}"),
        }
    }
}

fn check(model: &Model) {
    check_stored(model);
    for device in devices() {
        let error = error_of::<f64>(model, &device, 7);
        assert!(error < 1e-13, "{} on {}: error {error:e}", model.name(), device.name());
        let error = error_of::<f32>(model, &device, 8);
        assert!(error < 1e-5, "{} in f32 on {}: error {error:e}", model.name(), device.name());
    }
}

/// More vectors than are started at once, by a launch for each, which has the bits of one alone, or where there is a text for it for
/// `at_once`, to rounding.
fn check_block(model: &Model, at_once: u32) {
    for device in devices() {
        let n = model.dimension() as usize;
        let hamiltonian = model.hamiltonian(model.multiply(<f64 as Scalar>::TYPE).unwrap(), &device).unwrap();
        let hamiltonian = hamiltonian.with_vectors_at_once(at_once);
        let longest = if at_once > 1 && device.runs_kernels() { at_once } else { 1 };
        assert_eq!(hamiltonian.vectors_at_once(11)[0], longest, "{}", device.name());
        let x: Vec<Vector<f64>> = (0..11).map(|seed| device.random(n, seed).unwrap()).collect();
        let poisoned = || device.upload(&vec![f64::NAN; n]).unwrap();
        let mut y: Vec<Vector<f64>> = (0..11).map(|_| poisoned()).collect();
        let dots = hamiltonian.apply_block(&x.iter().collect::<Vec<_>>(), &mut y).unwrap();
        assert_eq!(dots.len(), 11);
        for ((x, y), dot) in x.iter().zip(&y).zip(dots) {
            let mut alone = poisoned();
            let expected = hamiltonian.apply(x, &mut alone).unwrap();
            // The text of several vectors is another one: a card's compiler joins other products and sums, and blocks add x·y in another
            // order.
            let rounding = if at_once > 1 { 1e-13 } else { 0.0 };
            assert!((dot - expected).abs() <= rounding * n as f64, "{dot} and {expected} on {}", device.name());
            for (a, b) in y.download().unwrap().iter().zip(&alone.download().unwrap()) {
                assert!((a - b).abs() <= rounding || a.to_bits() == b.to_bits(), "{a} and {b} on {}", device.name());
            }
        }
    }
}

fn hop(i: usize, j: usize, spin: Spin, t: f64) -> Operator {
    let forward = build::cdag(i, spin) * build::c(j, spin);
    -t * (forward.clone() + forward.adjoint())
}

#[test]
fn memcheck_blocks_are_products_of_each_vector() {
    let ring = |spin| (0..5).map(|i| hop(i, (i + 1) % 5, spin, 1.0)).sum::<Operator>();
    check_block(&(ring(Spin::Up) + ring(Spin::Down)).sector(Up(2), Down(3)).unwrap(), 1);
    let chain = |sites: usize| (1..sites).map(|i| build::sdots(i - 1, i)).sum::<Operator>().two_sz(0).unwrap();
    check_block(&chain(6), 1);
    check_block(&chain(12), 2);
}

#[test]
fn memcheck_a_split_fermion_model_with_unequal_couplings() {
    let sites = 6;
    let mut h = Operator::zero();
    for i in 0..sites {
        for spin in [Spin::Up, Spin::Down] {
            h = h + hop(i, (i + 1) % sites, spin, 0.7 + 0.1 * i as f64) + hop(i, (i + 2) % sites, spin, -0.3);
            h = h + (0.05 * i as f64) * build::n(i, spin);
        }
        h = h + (1.0 + i as f64) * (build::n(i, Spin::Up) * build::n(i, Spin::Down));
        h = h + 0.3 * (build::n_total(i) * build::n_total((i + 1) % sites));
    }
    for (up, down) in [(3, 3), (2, 4), (0, 3), (6, 1), (1, 0), (0, 0), (6, 6)] {
        let model = h.clone().on_sites(sites).sector(Up(up), Down(down)).unwrap();
        assert!(model.is_kronecker());
        check(&model);
    }
}

/// A chain with unequal hops, in sectors whose up states fill tiles of the CPU's multiply, or not quite.
fn chain(sites: usize, up: usize, down: usize) -> Model {
    let mut h = Operator::zero();
    for i in 0..sites {
        for spin in [Spin::Up, Spin::Down] {
            h = h + hop(i, (i + 1) % sites, spin, 1.0 + 0.1 * i as f64);
        }
        h = h + 4.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down));
    }
    h.on_sites(sites).sector(Up(up), Down(down)).unwrap()
}

/// 70, 56, 8 and 1 states: more than a tile of 64 rows, fewer, one group of eight columns, and less than any.
/// Three vectors are too many for this machine's memory, two are not.
#[test]
fn what_does_not_fit_is_refused_with_a_solver_that_does() {
    let device = Device::cpu();
    let free = device.memory().free;
    let strings = |sites: usize, n: usize| (0..n).fold(1u64, |count, k| count * (sites - k) as u64 / (k as u64 + 1));
    let sizes = (12..26).flat_map(|sites| (2..11).flat_map(move |up| (1..=up).map(move |down| (sites, up, down))));
    let between = |(sites, up, down): &(usize, usize, usize)| {
        let states = strings(*sites, *up) * strings(*sites, *down);
        (17 * states..23 * states).contains(&free)
    };
    let (sites, up, down) = sizes.filter(between).min().unwrap();
    let model = chain(sites, up, down);
    let refused = |states| {
        let solve = Solve::new(&model, Solver::Lanczos).states(states);
        solve.run(&device).unwrap_err().to_string()
    };
    let one = refused(1);
    assert!(one.contains("Olsen, for a diagonal that varies, fits: choose it with `solver`"), "{one}");
    let two = refused(2);
    assert!(two.contains("a sector of about"), "{two}");
}

#[test]
fn memcheck_tiles_and_groups_that_are_not_full() {
    for (up, down) in [(4, 1), (4, 2), (1, 4), (3, 1), (4, 0), (0, 4)] {
        check(&chain(8, up, down));
    }
}

/// Neither y nor x·y knows how many threads there were.
#[test]
fn the_cpus_bits_are_the_same_on_any_number_of_threads() {
    let model = chain(10, 5, 4);
    let bits = |threads: usize| -> (Vec<u64>, u64) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let device = Device::cpu();
            let hamiltonian =
                model.hamiltonian(model.multiply(eigenforge_templates::ScalarType::F64).unwrap(), &device).unwrap();
            let x: Vector<f64> = device.random(252 * 210, 3).unwrap();
            let mut y: Vector<f64> = device.zeros(x.len()).unwrap();
            let dot = hamiltonian.apply(&x, &mut y).unwrap();
            (y.download().unwrap().iter().map(|y| y.to_bits()).collect(), dot.to_bits())
        })
    };
    let one = bits(1);
    assert!([2, 3, 7].iter().all(|threads| bits(*threads) == one));
}

#[test]
fn memcheck_a_fermion_model_that_does_not_split() {
    let sites = 5;
    let mut h = Operator::zero();
    for i in 0..sites {
        let j = (i + 1) % sites;
        h = h + hop(i, j, Spin::Up, 1.0) + hop(i, j, Spin::Down, 1.0) + 0.4 * build::electron_sdots(i, j);
        // Pair hopping and a three-body density.
        let pair =
            build::cdag(i, Spin::Up) * build::cdag(i, Spin::Down) * build::c(j, Spin::Down) * build::c(j, Spin::Up);
        h = h + 0.2 * (pair.clone() + pair.adjoint());
        h = h + 0.6 * (build::n(i, Spin::Up) * build::n(i, Spin::Down) * build::n(j, Spin::Up));
    }
    let model = h.sector(Up(2), Down(3)).unwrap();
    assert!(!model.is_kronecker());
    check(&model);
}

#[test]
fn memcheck_spins_of_every_length() {
    for (two_s, sites, two_sz) in [(1, 9, 1), (1, 1, -1), (2, 5, 2), (3, 4, 0), (4, 4, -2)] {
        let mut h = Operator::zero();
        for i in 0..sites {
            let j = (i + 1) % sites;
            if i != j {
                h = h + (0.8 + 0.1 * i as f64) * build::sdots(i, j) + 0.2 * (build::sz(i) * build::sz(j));
            }
            h = h + 0.3 * (i as f64) * build::sz(i) + 0.15 * (build::sz(i) * build::sz(i));
        }
        if sites > 3 {
            let three = build::sz(0) * build::sp(1) * build::sm(2);
            h = h + 0.1 * (three.clone() + three.adjoint()) + 0.2 * (build::sz(0) * build::sz(1) * build::sz(2));
            let square = build::sdots(0, 1) * build::sdots(0, 1);
            h = h + 0.25 * square;
        }
        check(&h.spin(two_s).on_sites(sites).two_sz(two_sz).unwrap());
    }
}

/// More groups than are counted: on CUDA the diagonal is the user's own expression.
#[test]
fn memcheck_spins_in_a_disordered_field() {
    for (two_s, sites, two_sz) in [(1, 10, 2), (2, 5, -2)] {
        let lattice = eigenforge_core::lattice::Lattice::chain(sites);
        let field: Vec<f64> = (0..sites).map(|site| 0.3 + 0.017 * (site * site) as f64).collect();
        let single_ion: Vec<f64> = field.iter().map(|h| 0.5 - h).collect();
        let h =
            eigenforge_core::models::xxz(&lattice, &vec![0.9; sites - 1], &vec![1.1; sites - 1], &field, &single_ion);
        check(&h.spin(two_s).two_sz(two_sz).unwrap());
    }
}

#[test]
fn memcheck_a_long_operator_runs_over_tables() {
    let sites = 12;
    let mut h = Operator::zero();
    for i in 0..sites {
        for j in 0..i {
            h = h + (1.0 / (i - j) as f64) * build::sdots(i, j);
            for k in 0..j {
                let ring = build::sp(i) * build::sm(j) * build::sz(k);
                h = h + 0.01 * (ring.clone() + ring.adjoint());
            }
        }
    }
    check(&h.two_sz(0).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_products_of_four_factors(
        factors in prop::collection::vec((0usize..4, 0usize..5, any::<bool>(), -2.0f64..2.0), 4..24),
        up in 0usize..=5, down in 0usize..=5,
    ) {
        // c† c† c c with random sites and spins, symmetrised; kept where it conserves both numbers.
        let mut h = Operator::zero();
        for quad in factors.chunks_exact(4) {
            let spin = |b: bool| if b { Spin::Up } else { Spin::Down };
            let [a, b, c, d] = [quad[0], quad[1], quad[2], quad[3]];
            let (s, t) = (spin(a.2), spin(b.2));
            let product = build::cdag(a.1, s) * build::c(c.1, s) * build::cdag(b.1, t) * build::c(d.1, t);
            h = h + a.3 * (product.clone() + product.adjoint());
        }
        let model = h.on_sites(5).sector(Up(up), Down(down)).unwrap();
        for device in devices() {
            prop_assert!(error_of::<f64>(&model, &device, 3) < 1e-13);
        }
    }
}

/// Normal ordering must not change what an operator does: the matrix of a product is the product of the matrices.
#[test]
fn normal_ordering_keeps_the_matrix() {
    let both = |a: &Operator, b: &Operator| {
        let matrix = |o: Operator| o.on_sites(4).sector(Up(2), Down(2)).unwrap().dense().unwrap();
        let (a, b, ab) = (matrix(a.clone()), matrix(b.clone()), matrix(a.clone() * b.clone() + b.clone() * a.clone()));
        let difference = &ab - &(a.dot(&b) + b.dot(&a));
        assert!(difference.iter().all(|d| d.abs() < 1e-13));
    };
    let a = hop(0, 3, Spin::Up, 1.0) + hop(1, 2, Spin::Down, 0.5) + build::n(1, Spin::Up) * build::n(3, Spin::Down);
    let b = hop(0, 2, Spin::Up, 0.3) + hop(0, 1, Spin::Down, 0.7) + build::electron_sdots(1, 2);
    both(&a, &b);
    let spin = |two_s| {
        let matrix = |o: Operator| o.on_sites(3).spin(two_s).two_sz(i64::from(two_s % 2)).unwrap().dense().unwrap();
        let (a, b) = (build::sdots(0, 1) + build::sz(2), build::sdots(1, 2) + build::sz(0) * build::sz(1));
        let difference = matrix(a.clone() * b.clone() + b.clone() * a.clone())
            - (matrix(a.clone()).dot(&matrix(b.clone())) + matrix(b).dot(&matrix(a)));
        assert!(difference.iter().all(|d| d.abs() < 1e-12), "2S = {two_s}");
    };
    [1, 2, 3].into_iter().for_each(spin);
}

#[test]
fn wrong_operators_are_refused() {
    let one_way = build::cdag(0, Spin::Up) * build::c(1, Spin::Up);
    assert!(one_way.clone().sector(Up(1), Down(1)).unwrap_err().to_string().contains("h.c."));
    let pairing = build::cdag(0, Spin::Up) * build::cdag(1, Spin::Down);
    let error = (pairing.clone() + pairing.adjoint()).sector(Up(1), Down(1)).unwrap_err();
    assert!(error.to_string().contains("changes the number of"), "{error}");
    let error = (f64::NAN * build::n(0, Spin::Up)).sector(Up(1), Down(0)).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    assert!(build::n(0, Spin::Up).sector(Up(2), Down(0)).unwrap_err().to_string().contains("at least 2 sites"));
    assert!(build::sz(0).sector(Up(1), Down(0)).unwrap_err().to_string().contains("two_sz"));
    assert!(build::sdots(0, 1).two_sz(1).unwrap_err().to_string().contains("even 2Sz"));
    assert!(build::n(5, Spin::Up).on_sites(4).sector(Up(1), Down(0)).unwrap_err().to_string().contains("site 5"));
}

/// Every kind of generated multiply compiles for every architecture, without spills; in single precision for one of them, each in turn.
#[test]
fn generated_multiplies_compile() {
    use eigenforge_runtime::jit::{Arch, Jit, Settings};
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::from_env().unwrap();
    settings.cache = eigenforge_runtime::jit::CacheFolder::At(folder.path().into());
    let Some(jit) = Jit::for_tests(&settings) else { return };
    let hubbard = |sites: usize, up, down, ring: bool| {
        let bond = |i: usize| hop(i, (i + 1) % sites, Spin::Up, 1.0) + hop(i, (i + 1) % sites, Spin::Down, 1.0);
        let bonds = if ring { sites } else { sites - 1 };
        let u = |i| 4.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down));
        let h = (0..bonds).map(bond).sum::<Operator>() + (0..sites).map(u).sum::<Operator>();
        h.sector(Up(up), Down(down)).unwrap()
    };
    let unequal = |sites: usize| {
        let h: Operator = (1..sites).map(|i| hop(i - 1, i, Spin::Up, i as f64) + hop(i - 1, i, Spin::Down, 1.0)).sum();
        (h + build::electron_sz(0)).sector(Up(2), Down(2)).unwrap()
    };
    let chain = |two_s, sites| {
        let h: Operator = (1..sites).map(|i| build::sdots(i - 1, i)).sum();
        h.spin(two_s).two_sz(0).unwrap()
    };
    let exchange: Operator = (0..4).map(|i| build::electron_sdots(i, (i + 1) % 5)).sum();
    let long: Operator = (0..20).flat_map(|i| (0..i).map(move |j| (1.0 + j as f64) * build::sdots(i, j))).sum();
    let models = [
        hubbard(4, 2, 2, true),
        hubbard(12, 6, 6, true),
        hubbard(18, 9, 9, false), // a column longer than shared memory
        hubbard(32, 2, 1, true),
        hubbard(4, 0, 0, false),
        unequal(8),
        chain(1, 10),
        chain(2, 6),
        exchange.sector(Up(2), Down(2)).unwrap(),
        long.two_sz(0).unwrap(),
    ];
    let every = [80, 90, 100];
    for (model, one) in models.iter().zip(every.chunks(1).cycle()) {
        for (scalar, archs) in
            [(eigenforge_templates::ScalarType::F64, &every[..]), (eigenforge_templates::ScalarType::F32, one)]
        {
            let text = model.multiply_without_constant(scalar).unwrap().text().unwrap();
            for arch in archs.iter().copied() {
                let cubin = jit.compile(&text, Arch(arch)).unwrap_or_else(|error| panic!("{error}"));
                // For sm_100 NVRTC 13.0 spills 20 bytes in one shape, where 13.5 spills none.
                for kernel in cubin.resources.iter().filter(|_| arch <= 90) {
                    assert_eq!(kernel.spills(), Some(false), "{} {arch}: {kernel:?}", model.name());
                }
            }
        }
    }
}

/// Squares of residuals must be numbers: below and above, every search refuses with its reason, and the whole spectrum is right.
#[test]
fn couplings_whose_squares_vanish_are_refused() {
    let chain = |j: f64| (1..10).map(|i| j * build::sdots(i - 1, i)).sum::<Operator>().two_sz(0).unwrap();
    let energy = -4.258035207282883;
    let solvers = [super::Lanczos::new, super::Lobpcg::new, super::Davidson::new];
    for j in [1e-200, 1e-140, 1e-80, 1e80, 1e140] {
        let model = chain(j);
        for new in solvers {
            let error = new(&model).run(&Device::cpu()).unwrap_err().to_string();
            assert!(error.contains("another unit"), "{j}: {error}");
        }
        assert!(super::Lanczos::new(&chain(1e-30)).run_in::<f32>(&Device::cpu()).is_err());
    }
    for j in [1e-70, 1e-40, 1e-20, 1.0, 1e20, 1e40, 1e70] {
        for new in solvers {
            let found = new(&chain(j)).run(&Device::cpu()).unwrap().energy();
            assert!((found / j - energy).abs() < 1e-11, "{j}: {found}");
        }
    }
    let too_large =
        (1..10).map(|i| 1e200 * build::sdots(i - 1, i)).sum::<Operator>().two_sz(0).unwrap_err().to_string();
    assert!(too_large.contains("another unit"), "{too_large}");
    let whole = super::Dense::new(&chain(1e-200)).run(&Device::cpu()).unwrap().energy();
    assert!((whole / 1e-200 - energy).abs() < 1e-9, "{whole}");
}

#[test]
fn each_engine_says_what_it_sends() {
    let chain = |sites| Lattice::chain(sites).open();
    // Down hops by tiles take copies, those by runs rows.
    let plain = samples::hubbard(&chain(6), 4.0, 3, 2);
    let (vector, said) = (8 * plain.dimension(), plain.received(ScalarType::F64, 4).unwrap().unwrap());
    assert_eq!(said.bytes, [vector * 3 / 4; 4]);
    let large = samples::hubbard(&chain(12), 4.0, 6, 6);
    let (vector, said) = (8 * large.dimension(), large.received(ScalarType::F64, 4).unwrap().unwrap());
    assert_eq!(said.bytes, [2 * vector * 3 / 16; 4]);
    assert!(said.to_string().contains("rows of x for the down hops"), "{said}");
    assert_eq!(plain.received(ScalarType::F64, 1).unwrap().unwrap().bytes, [0]);
    let still = samples::hubbard(&chain(6), 4.0, 3, 0);
    assert_eq!(still.received(ScalarType::F64, 2).unwrap().unwrap().bytes, [0, 0]);
    let ring = samples::hubbard(&Lattice::chain(6).periodic(), 4.0, 3, 2);
    let sector = |storage| ring.symmetry(&Symmetry::new().k(&[1]).storage(storage)).unwrap();
    let rows = sector(MatrixStorage::Direct);
    let copies = rows.received(ScalarType::F64, 2).unwrap().unwrap();
    assert_eq!(copies.bytes, [4 * rows.working().dimension(); 2]);
    let stored = sector(MatrixStorage::Stored);
    assert_eq!(stored.received(ScalarType::F64, 2).unwrap(), None);
    if let Some(halo) = stored.received_with_matrix(ScalarType::F64, 2).unwrap() {
        assert!(halo.bytes.iter().sum::<u64>() > 0 && halo.to_string().contains("of x"), "{halo}");
    }
}

/// All energies without vectors are those with them: real and complex H, in a symmetry sector too, in the same levels.
#[test]
fn energies_alone_are_those_of_states_with_vectors() {
    let ring = samples::hubbard(&Lattice::chain(6).periodic(), 4.0, 3, 2);
    let complex = ring.symmetry(&Symmetry::new().k(&[1])).unwrap();
    assert!(complex.is_complex() && !ring.is_complex());
    for model in [&ring, &complex] {
        let solve = super::Dense::new(model).states(model.states() as usize);
        let (whole, alone) =
            (solve.run(&Device::cpu()).unwrap(), solve.clone().values_above(Some(0)).run(&Device::cpu()).unwrap());
        assert!(alone.eigenpairs().vectors.is_empty() && alone.multiply_seconds().is_none());
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-11;
        assert!(whole.energies().len() as u64 == model.states() && whole.energies().len() == alone.energies().len());
        assert!(whole.energies().iter().zip(alone.energies()).all(near));
        let sizes = |levels: &[eigenforge_runtime::solvers::Level]| {
            levels.iter().map(|level| (level.multiplicity, level.returned)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(whole.levels()), sizes(alone.levels()));
        assert_eq!(alone.residuals().len(), alone.energies().len());
    }
}
