//! A molecule by several ranks, each with the rows of its share: products, diagonals, bounds and states are those of one process.
//!
//! Ranks are threads; `tests/cli_and_input` starts real processes.

use super::data;
use super::operators;
use super::random::Random;
use eigenforge::ci::{self, CiHamiltonian, CiProblem, Hamiltonian, Integrals, ProductKind, Space, Storage, THRESHOLD};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::solvers::{Solver, StopReason};
use eigenforge::runtime::testing::{card_or_simulated, on_ranks};
use eigenforge::runtime::{Device, LinearOperator};
use eigenforge::sparse::FormatName;
use eigenforge_templates::ci::{FieldShape, FullCiShape, SlabShape};

/// What a product is compared with.
struct Exact {
    x: Vec<f64>,
    y: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Exact {
    fn new(integrals: &Integrals, space: &Space) -> Exact {
        let matrix = CiHamiltonian::new(integrals, space, THRESHOLD).unwrap().matrix().unwrap();
        let x = Random(72).vector(space.len());
        let of_row = |row: usize| -> f64 {
            let (columns, values) = matrix.row(row);
            columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum()
        };
        let y = (0..matrix.rows()).map(of_row).collect();
        let diagonal = (0..matrix.rows()).map(|row| matrix.element(row, row as u32)).collect();
        Exact { x, y, diagonal }
    }
}

/// σ, x·σ and the diagonal as each rank has them, and the bound of the norm.
type Found = (Vec<f64>, f64, Vec<f64>, f64);

fn found(operator: &dyn LinearOperator<f64>, x: &[f64]) -> Found {
    let device = operator.device();
    let (x, mut y) = (device.upload(x).unwrap(), device.upload(&vec![f64::NAN; x.len()]).unwrap());
    let dot = operator.apply(&x, &mut y).unwrap();
    let first = y.download().unwrap();
    // Over other contents, and without x·y: the same bits.
    let mut again = device.upload(&vec![1e300; x.len()]).unwrap();
    operator.multiply(&x, &mut again).unwrap();
    assert!(again.download().unwrap().iter().zip(&first).all(|(a, b)| a.to_bits() == b.to_bits()), "other bits");
    (first, dot, operators::diagonal(operator), operator.norm_bound())
}

#[track_caller]
fn compare(
    integrals: &Integrals,
    space: &Space,
    way: ProductKind,
    shape: Option<FullCiShape>,
    device: &Device,
    ranks: usize,
) {
    let exact = Exact::new(integrals, space);
    let what = format!("{way:?}, {} determinants, {shape:?}, {ranks} ranks on {}", space.len(), device.name());
    let all = on_ranks(device, ranks, |device| found(&*operator(integrals, space, way, shape, device), &exact.x));
    let scale = exact.y.iter().fold(integrals.unit(), |scale, y| scale.max(y.abs()));
    let close = |found: &[f64], exact: &[f64]| {
        found.len() == exact.len() && found.iter().zip(exact).all(|(a, b)| (a - b).abs() <= 1e-12 * scale)
    };
    for (y, dot, diagonal, bound) in &all {
        assert!(close(y, &exact.y), "{what}: {y:?} {:?}", exact.y);
        assert!(close(diagonal, &exact.diagonal), "{what}: {diagonal:?} {:?}", exact.diagonal);
        let wanted: f64 = exact.x.iter().zip(&exact.y).map(|(x, y)| x * y).sum();
        assert!((dot - wanted).abs() <= 1e-12 * scale * exact.x.len() as f64, "{what}: {dot} {wanted}");
        assert_eq!((y, dot.to_bits(), bound.to_bits()), (&all[0].0, all[0].1.to_bits(), all[0].3.to_bits()), "{what}");
    }
    // A card of one process takes no list of determinants, whose rows ranks make by their cores.
    let is_list = !space.is_complete() && ci::row_by_row(integrals, space, None, device).is_err();
    // One code makes all rows and a share of them.
    if shape.is_none() && (way == ProductKind::Stored || !is_list) {
        let (y, _, diagonal, bound) = found(&*operator(integrals, space, way, None, device), &exact.x);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
        let by_other = device.runs_kernels() && (way == ProductKind::Stored || space.alpha().words().len() < ranks);
        if !by_other {
            assert_eq!(bits(&all[0].0), bits(&y), "{what}: the bits of one process");
            assert_eq!(bits(&all[0].2), bits(&diagonal), "{what}: the diagonal of one process");
            assert_eq!(all[0].3.to_bits(), bound.to_bits(), "{what}: the bound of one process");
        }
    }
}

/// H by a way, on a device or on that of a rank.
fn operator(
    integrals: &Integrals,
    space: &Space,
    way: ProductKind,
    shape: Option<FullCiShape>,
    device: &Device,
) -> Box<dyn LinearOperator<f64>> {
    match (way, space.is_complete()) {
        (ProductKind::Stored, _) => {
            Box::new(Hamiltonian::new(ci::stored(integrals, space, device).unwrap(), "ci", device).unwrap())
        }
        (ProductKind::Direct, true) => Box::new(operators::full_ci(integrals, space, shape, device)),
        (ProductKind::Direct, false) => Box::new(operators::row_by_row(integrals, space, None, device)),
        (ProductKind::Table, _) => panic!("ranks keep no table"),
    }
}

/// Every kind of space: full, of one irrep, up to a level, a list.
fn spaces(random: &mut Random) -> Vec<(Integrals, Space)> {
    let mut all = Vec::new();
    for (orbitals, up, down) in [(5, 2, 2), (6, 3, 2), (5, 0, 2), (4, 4, 1), (5, 1, 0)] {
        let integrals = random.integrals_with_irreps(orbitals, up, down);
        let full = Space::full(orbitals, up, down).unwrap();
        let irrep = full.clone().in_irrep(&integrals.irreps, 3).ok();
        let few = Space::excitations(orbitals, up, down, 2).ok();
        let list: Vec<_> = (0..full.len()).filter(|row| row % 3 != 1).map(|row| full.determinant(row)).collect();
        let list = Space::from_determinants(orbitals, &list).ok();
        let of_all = [Some(full), irrep, few, list].into_iter().flatten();
        all.extend(of_all.map(|space| (integrals.clone(), space)));
    }
    all
}

#[test]
fn every_product_on_cores_is_that_of_one_process() {
    for (integrals, space) in &spaces(&mut Random(41)) {
        for ranks in [1, 2, 3, 7] {
            for way in [ProductKind::Direct, ProductKind::Stored] {
                compare(integrals, space, way, None, &Device::cpu(), ranks);
            }
        }
    }
}

fn slabs(both_warps: u32, panel: u32) -> FullCiShape {
    FullCiShape::Slabs(SlabShape { both_warps, stages: 2, alone_across: 1, panel, piece: 1536 })
}

#[test]
fn every_product_on_cards_is_that_of_one_process() {
    let Some(device) = card_or_simulated(Schedule::Reverse) else { return };
    for (number, (integrals, space)) in spaces(&mut Random(42)).iter().enumerate() {
        let ranks = 2 + number % 2;
        compare(integrals, space, ProductKind::Direct, None, &device, ranks);
        if number % 4 == 0 {
            compare(integrals, space, ProductKind::Stored, None, &device, ranks);
        }
        if space.is_complete() {
            compare(integrals, space, ProductKind::Direct, Some(slabs(1, 32)), &device, ranks);
        }
    }
    let mut random = Random(43);
    let (integrals, space) = (random.integrals_with_irreps(7, 3, 4), Space::full(7, 3, 4).unwrap());
    let fields = FullCiShape::Fields(FieldShape { pair_tile: 5, columns: 3, chunk: 64, threads: 32, resident: 1 });
    for (shape, ranks) in [(slabs(2, 64), 3), (slabs(3, 96), 1), (fields, 4)] {
        compare(&integrals, &space, ProductKind::Direct, Some(shape), &device, ranks);
    }
}

/// x in two pieces, of 1,716 columns by 1,536 at most: on a card, for the simulation takes no product of that size.
#[test]
fn several_pieces_of_x() {
    let Some(device) = card_or_simulated(Schedule::Forward).filter(Device::is_cuda) else { return };
    let (integrals, space) = (Random(46).integrals(13, 1, 6), Space::full(13, 1, 6).unwrap());
    compare(&integrals, &space, ProductKind::Direct, Some(slabs(3, 96)), &device, 2);
}

/// Nothing, tiny and huge integrals.
#[test]
fn tiny_huge_and_no_integrals() {
    let card = card_or_simulated(Schedule::Forward);
    for scale in [0.0, 2f64.powi(-600), 2f64.powi(600)] {
        let mut integrals = Random(44).integrals(5, 2, 2);
        integrals.one.iter_mut().chain(&mut integrals.two).for_each(|value| *value *= scale);
        let space = Space::full(5, 2, 2).unwrap();
        for way in [ProductKind::Direct, ProductKind::Stored] {
            compare(&integrals, &space, way, None, &Device::cpu(), 3);
        }
        if let Some(device) = &card {
            compare(&integrals, &space, ProductKind::Direct, None, device, 2);
            compare(&integrals, &space, ProductKind::Direct, Some(slabs(1, 32)), device, 2);
        }
    }
}

/// States, their vectors and their levels, by every solver.
#[test]
fn states_are_those_of_one_process() {
    let integrals = data::integrals("H2O_sto3g_0.96");
    let (up, down) = integrals.spins();
    let space = Space::excitations(integrals.orbitals, up, down, 2).unwrap();
    for (solver, states, storage) in [
        (Solver::Davidson, 3, Storage::Auto),
        (Solver::Lanczos, 1, Storage::Direct),
        (Solver::Olsen, 1, Storage::Stored),
        (Solver::Dense, 2, Storage::Auto),
    ] {
        let solve = CiProblem::new(&integrals, &space).storage(storage).solve().solver(solver).states(states);
        let alone = solve.run(&Device::cpu()).unwrap();
        let vectors = alone.vectors().unwrap();
        let all = on_ranks(&Device::cpu(), 3, |device| {
            let found = solve.run(device).unwrap();
            let converged = matches!(found.stop(), StopReason::Converged | StopReason::Dense);
            (found.energies().to_vec(), found.vectors().unwrap(), found.eigenpairs().levels.clone(), converged)
        });
        for (rank, (energies, own, levels, converged)) in all.iter().enumerate() {
            assert!(*converged, "{solver:?}");
            assert!(
                energies.iter().zip(alone.energies()).all(|(a, b)| (a - b).abs() < 1e-9),
                "{solver:?} {energies:?}"
            );
            assert_eq!(levels.len(), alone.eigenpairs().levels.len());
            if rank > 0 && solver != Solver::Dense {
                assert_eq!(own.ncols(), 0, "rank 0 has whole vectors");
                continue;
            }
            let overlap = own.row(0).dot(&vectors.row(0));
            assert!((overlap.abs() - 1.0).abs() < 1e-7, "{solver:?}: {overlap}");
        }
    }
}

#[test]
fn what_ranks_do_not_do_is_refused() {
    let (integrals, space) = (Random(45).integrals(4, 2, 2), Space::full(4, 2, 2).unwrap());
    let format = CiProblem::new(&integrals, &space).storage(Storage::Stored).format(Some(FormatName::Panels)).solve();
    let errors = on_ranks(&Device::cpu(), 2, |device| format.run(device).map(drop).unwrap_err().to_string());
    assert!(errors.iter().all(|error| error.contains("format = \"panels\"")), "{errors:?}");
}
