//! Exact diagonalisation on several cards as one device: the multiply and the levels are those of the CPU, for every kernel that a
//! Hamiltonian can take.

use super::ours::Solver;
use eigenforge::exact::{KroneckerMultiply, Model, MultiplyPlan, PairRows, SectorRows, Solution, Solve, StringRows};
use eigenforge::input::ModelFile;
use eigenforge::runtime::testing::teams;
use eigenforge::runtime::{Device, LinearOperator, Scalar, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{DownShape, PairsShape, Staging};

fn model(text: &str) -> Model {
    ModelFile::parse("several.toml", text).unwrap().to_model().unwrap()
}

/// One of each kernel: the Kronecker sum by tiles, the general multiply state by state, by columns, and complex; a stored matrix.
/// The first two are large enough for pages on several cards.
fn models(cards: bool) -> Vec<Model> {
    let hubbard = if cards { "size = 12\n[sector]\nup = 6\ndown = 6" } else { "size = 6\n[sector]\nup = 3\ndown = 2" };
    let ring = if cards { "size = 24\n[sector]\ntwo_sz = 0" } else { "size = 10\n[sector]\ntwo_sz = 0" };
    let small =
        if cards { "size = [3, 3]\n[sector]\nup = 4\ndown = 5" } else { "size = [2, 2]\n[sector]\nup = 2\ndown = 1" };
    let hop = "sum(<i, j> in bonds; -1.0 * ((0.8 + 0.6 * I) * cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))";
    let texts = [
        format!("[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\n{hubbard}\n"),
        format!("[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\n{ring}\n"),
        format!(
            "[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) \
             + h.c.)) + sum(<i, j> in bonds; 0.6 * sdots(i, j)) + sum(i in sites; (0.3 + 0.1 * i) * n(i, Up))\"\n[lattice]\n\
             kind = \"square\"\n{small}\n"
        ),
        format!(
            "[model]\nname = \"terms\"\nsite = \"spinless\"\nH = \"{hop}\"\n[lattice]\nkind = \"triangular\"\nsize = [3, 3]\n[sector]\n\
             particles = 4\n"
        ),
    ];
    texts.iter().map(|text| model(text)).collect()
}

fn check_multiply<T: Scalar>(model: &Model, device: &Device, tolerance: f64) {
    check_shape::<T>(model, device, tolerance, MultiplyPlan::clone);
}

/// Of a plan that was changed.
fn check_shape<T: Scalar>(
    model: &Model,
    device: &Device,
    tolerance: f64,
    change: impl Fn(&MultiplyPlan) -> MultiplyPlan,
) {
    let n = super::ours::dimension(model);
    let x = Device::cpu().random::<T>(n, 11).unwrap().download().unwrap();
    let run = |device: &Device| {
        let multiply = change(&model.multiply(T::TYPE).unwrap());
        let hamiltonian = model.hamiltonian(multiply, device).unwrap();
        let x = device.upload(&x).unwrap();
        let mut y: Vector<T> = device.upload(&vec![T::from_f64(f64::NAN); n]).unwrap();
        let dot = hamiltonian.apply(&x, &mut y).unwrap();
        let twice = hamiltonian.apply(&x, &mut y).unwrap();
        assert_eq!(dot.to_bits(), twice.to_bits(), "{} on {}", model.name(), device.name());
        (y.download().unwrap(), dot)
    };
    let ((here, dot), (there, expected)) = (run(device), run(&Device::cpu()));
    let scale = there.iter().map(|y| y.to_f64().abs()).fold(1.0, f64::max);
    let worst = here
        .iter()
        .zip(&there)
        .map(|(a, b)| (a.to_f64() - b.to_f64()).abs())
        .fold(0.0, |a: f64, b| if b.is_nan() { f64::NAN } else { a.max(b) });
    assert!(worst <= tolerance * scale, "{} on {}: off by {worst:e}", model.name(), device.name());
    assert!((dot - expected).abs() <= 64.0 * tolerance * expected.abs().max(n as f64), "{dot} and {expected}");
}

#[test]
fn every_multiply_is_that_of_the_cpu() {
    for device in teams(&[2, 3]) {
        for model in models(device.is_cuda()) {
            check_multiply::<f64>(&model, &device, 1e-13);
            // Texts of either number type are shared out alike: on two simulated cards alone.
            if device.is_cuda() || device.cards_at_work() == 2 {
                check_multiply::<f32>(&model, &device, 1e-5);
            }
        }
    }
}

/// States by the charge of their high part: cards take the columns that begin in their part of the vector, some of them short.
#[test]
fn columns_of_one_charge_side_by_side() {
    let ring = |sites: u32| {
        model(&format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n[sector]\ntwo_sz = 0\n"
        ))
    };
    for device in teams(&[3]) {
        let model = ring(if device.is_cuda() { 24 } else { 18 });
        assert_ne!(model.working().identity(), model.identity());
        check_multiply::<f64>(model.working(), &device, 1e-13);
    }
    // Of a vector's quarter each card receives less than one and a half; by their words the cards in the middle would receive two.
    let received = ring(24).received(ScalarType::F64, 4).unwrap().unwrap();
    let quarter = 8 * 2_704_156 / 4;
    assert!(
        received.bytes.iter().all(|bytes| *bytes < quarter * 5 / 4 && *bytes > quarter / 4),
        "{:?}",
        received.bytes
    );
}

/// Symmetry sectors whose rows are made as they are multiplied: a ring with real and with complex characters, a torus with its point group,
/// a word of 64 bits with fermion signs. The list of representatives, which the cards share out too, is that of the CPU. The first on
/// cards is large enough for pages on each.
#[test]
fn symmetry_sectors_without_a_matrix() {
    let ring = |sites: u32, symmetry: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n[sector]\ntwo_sz = 0\n\
             [symmetry]\n{symmetry}\n"
        )
    };
    let hubbard = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n[sector]\nup = 3\ndown = 2\n\
                   [symmetry]\nk = 1\nstorage = \"direct\"\n";
    let square = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"square\"\nsize = [4, 3]\nboundary = \"periodic\"\n[sector]\ntwo_sz = 0\n\
                  [symmetry]\nk = [0, 0]\nirrep = \"A1\"\nstorage = \"direct\"\n";
    for device in teams(&[2, 3]) {
        let (real, complex) = if device.is_cuda() {
            (ring(28, "k = 0\nstorage = \"direct\""), ring(26, "k = 3\nstorage = \"direct\""))
        } else {
            (ring(12, "k = 0\nstorage = \"direct\""), ring(12, "k = 1\nstorage = \"direct\""))
        };
        for text in [&real[..], &complex, hubbard, square] {
            let model = model(text);
            let is_made = model.multiply(ScalarType::F64).map(|prepared| prepared.way::<SectorRows>().is_some());
            assert!(is_made.unwrap(), "{text}");
            check_multiply::<f64>(&model, &device, 1e-13);
        }
        check_multiply::<f32>(&model(&real), &device, 1e-5);
    }
}

/// Sectors of electrons by strings: rows that are cut and rows that are not, real and complex.
#[test]
fn symmetry_sectors_by_strings() {
    for device in teams(&[3]) {
        let (sites, electrons) = if device.is_cuda() { (14, 7) } else { (6, 3) };
        for k in [0, 1] {
            let model = model(&format!(
                "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n\
                 [sector]\nup = {electrons}\ndown = {electrons}\n[symmetry]\nk = {k}\nstorage = \"direct\"\n"
            ));
            let working = model.working();
            assert!(working.multiply(ScalarType::F64).unwrap().way::<StringRows>().is_some());
            check_multiply::<f64>(working, &device, 1e-13);
        }
    }
}

fn of_exchange(sites: usize, electrons: usize, sign: i32) -> String {
    format!(
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n[sector]\nup = {electrons}\n\
         down = {electrons}\nexchange = {sign}\n[symmetry]\nstorage = \"direct\"\n"
    )
}

/// Sectors of the exchange of spins on pairs of strings, with their levels.
#[test]
fn sectors_on_pairs_of_strings() {
    for device in teams(&[2]) {
        // Several panels of a card, the last of them not whole.
        let (sites, electrons) = if device.is_cuda() { (14, 7) } else { (6, 3) };
        let panels = if device.is_cuda() { [(13, 6), (14, 6)] } else { [(9, 4), (10, 3)] };
        for (case, (sites, electrons)) in panels.into_iter().enumerate() {
            let sign = if case == 0 { 1 } else { -1 };
            let runs = (case == 0).then_some(DownShape::Runs { low_sites: 4, outputs: 9, warps: 4 });
            let model = model(&of_exchange(sites, electrons, sign));
            check_shape::<f64>(model.working(), &device, 1e-13, |prepared| {
                let shaped =
                    prepared.changed(|rows: &mut PairRows| *rows = rows.with_shape(PairsShape { rows: 32, runs }));
                shaped.unwrap_or_else(|| panic!("{}", prepared.shape()))
            });
        }
        for (sign, solver) in [(1, Solver::Lanczos), (-1, Solver::Lobpcg)] {
            let model = model(&of_exchange(sites, electrons, sign));
            let working = model.working();
            assert!(working.multiply(ScalarType::F64).unwrap().way::<PairRows>().is_some());
            if !device.is_cuda() {
                // A simulated solve of some hundred launches takes minutes.
                continue;
            }
            check_multiply::<f64>(working, &device, 1e-13);
            let solve = |device: &Device| Solve::new(&model, solver).tolerance(1e-9).run(device).unwrap();
            let (here, there) = (solve(&device), solve(&Device::cpu()));
            assert!((here.energy() - there.energy()).abs() < 1e-9, "{} and {}", here.energy(), there.energy());
            let (here, there) = (here.observables().unwrap(), there.observables().unwrap());
            for (a, b) in here.pairs("sdots").unwrap().iter().zip(there.pairs("sdots").unwrap()) {
                assert!((a - b).abs() < 1e-6, "{a} and {b}");
            }
        }
    }
}

/// The down hops by runs, where cards exchange rows of V: more cards than tiles of rows, several chunks of one tile, a last tile that is
/// not whole, columns in shared memory and not.
#[test]
fn rows_that_cards_exchange() {
    for device in teams(&[3]) {
        let sizes = if device.is_cuda() { [(12, 6, 6), (14, 7, 6)] } else { [(8, 4, 3), (6, 3, 2)] };
        for (case, (sites, up, down)) in sizes.into_iter().enumerate() {
            let model = model(&format!(
                "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n[sector]\nup = {up}\n\
                 down = {down}\n"
            ));
            let staging = if case == 1 { Staging::Global } else { Staging::Shared };
            let change = |multiply: &MultiplyPlan| {
                let changed = multiply.changed(|KroneckerMultiply { plan, .. }: &mut KroneckerMultiply| {
                    plan.shape.staging = staging;
                    if staging == Staging::Global {
                        plan.shape.up_columns = 4;
                    }
                    plan.shape.down = DownShape::Runs { low_sites: 4, outputs: 24, warps: 4 };
                });
                changed.expect("it splits")
            };
            check_shape::<f64>(&model, &device, 1e-13, change);
            if case == 0 {
                check_shape::<f32>(&model, &device, 1e-5, change);
            }
        }
    }
}

#[test]
fn levels_are_those_of_the_cpu() {
    for device in teams(&[2]) {
        for (model, own) in
            models(device.is_cuda()).iter().zip([Solver::Lobpcg, Solver::Lanczos, Solver::Davidson, Solver::Lanczos])
        {
            // A simulated launch takes some ten milliseconds: there one state by one solver each.
            let (solvers, states) = match device.is_cuda() {
                true => (&[Solver::Lobpcg, Solver::Lanczos, Solver::Davidson][..], 2),
                false => (&[own][..], 1),
            };
            for solver in solvers {
                let solve =
                    |device: &Device| Solve::new(model, *solver).states(states).tolerance(1e-9).run(device).unwrap();
                let (here, there) = (solve(&device), solve(&Device::cpu()));
                for (a, b) in here.energies().iter().zip(there.energies()) {
                    assert!((a - b).abs() < 1e-9, "{} by {solver:?} on {}: {a} and {b}", model.name(), device.name());
                }
                let multiplicities = |solution: &Solution<'_>| {
                    solution.levels().iter().map(|level| level.multiplicity).collect::<Vec<_>>()
                };
                assert_eq!(multiplicities(&here), multiplicities(&there), "{} by {solver:?}", model.name());
                assert!(here.residuals().iter().all(|residual| *residual < 1e-6), "{:?}", here.residuals());
            }
        }
    }
}
