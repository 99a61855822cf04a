//! The multiply in all its shapes: staging, columns a block, packing widths, amplitudes, diagonals; unrolled and tables.

use super::{devices, multiply::check};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{GeneralMultiply, InSector, KroneckerMultiply, Model, MultiplyPlan, share_kernels};
use eigenforge::input::ModelFile;
use eigenforge::lattice::Lattice;
use eigenforge::operator::{Operator, Spin, build};
use eigenforge::runtime::Device;
use eigenforge_templates::exact::{
    Amplitudes, CoefficientArguments, CollectedCoefficients, ColumnLists, DownShape, GeneralPlan, GeneralStrategy,
    IndexWord, KroneckerPlan, Staging,
};
use eigenforge_templates::{KernelText, ScalarType};

fn hop(i: usize, j: usize, spin: Spin, t: f64) -> Operator {
    let forward = build::cdag(i, spin) * build::c(j, spin);
    -t * (forward.clone() + forward.adjoint())
}

/// A Hubbard ring or chain with hopping t(i) for both spins, U everywhere.
pub fn hubbard(sites: usize, ring: bool, up: usize, down: usize, t: impl Fn(usize) -> f64) -> Model {
    let bonds = if ring { sites } else { sites - 1 };
    let bond = |i: usize| hop(i, (i + 1) % sites, Spin::Up, t(i)) + hop(i, (i + 1) % sites, Spin::Down, t(i));
    let u = |i| 4.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down));
    let h = (0..bonds).map(bond).sum::<Operator>() + (0..sites).map(u).sum::<Operator>();
    h.on_sites(sites).sector(Up(up), Down(down)).unwrap()
}

/// The last of the devices, if there is one: for the text of a number type whose text in the other has run under every schedule.
pub fn one_of(devices: &[Device]) -> &[Device] {
    &devices[devices.len().saturating_sub(1)..]
}

/// Both number types; `change` forces a shape on the plan.
fn kronecker(model: &Model, change: impl Fn(&mut KroneckerPlan)) {
    let devices = devices();
    let dense = model.dense().unwrap();
    for scalar in [ScalarType::F64, ScalarType::F32] {
        let shaped = model.multiply(scalar).unwrap().changed(|way: &mut KroneckerMultiply| change(&mut way.plan));
        let prepared = shaped.unwrap_or_else(|| panic!("{} does not split", model.name()));
        match scalar {
            ScalarType::F64 => check::<f64>(&devices, model, &prepared, &dense),
            ScalarType::F32 => check::<f32>(one_of(&devices), model, &prepared, &dense),
        }
    }
}

fn general(model: &Model, change: impl Fn(&mut GeneralPlan)) {
    let devices = devices();
    let dense = model.dense().unwrap();
    for scalar in [ScalarType::F64, ScalarType::F32] {
        let shaped = model.multiply(scalar).unwrap().changed(|way: &mut GeneralMultiply| change(&mut way.plan));
        let prepared = shaped.unwrap_or_else(|| panic!("{} splits", model.name()));
        match scalar {
            ScalarType::F64 => check::<f64>(&devices, model, &prepared, &dense),
            ScalarType::F32 => check::<f32>(one_of(&devices), model, &prepared, &dense),
        }
    }
}

#[test]
fn several_columns_a_block_in_shared_memory() {
    // 20 x 15 states: 15 columns a block at most.
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    kronecker(&model, |plan| {
        assert!(plan.shape.staging == Staging::Shared && plan.shape.up_columns > 1);
        assert!(matches!(plan.up.amplitudes, Amplitudes::One(_) | Amplitudes::Signed(_)));
    });
    // A number of columns that does not divide them, and one column a block of fewer threads than rows.
    kronecker(&model, |plan| (plan.shape.up_columns, plan.shape.up_threads) = (4, 64));
    kronecker(&model, |plan| (plan.shape.up_columns, plan.shape.up_threads) = (1, 32));
}

#[test]
fn columns_in_global_memory() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    kronecker(&model, |plan| plan.shape.staging = Staging::Global);
    kronecker(&model, |plan| {
        (plan.shape.staging, plan.shape.up_columns, plan.shape.up_threads) = (Staging::Global, 2, 32)
    });
}

#[test]
fn signs_and_tables_of_amplitudes() {
    let signed = hubbard(5, true, 2, 2, |_| 1.0);
    kronecker(&signed, |plan| assert!(matches!(plan.up.amplitudes, Amplitudes::Signed(_))));
    let table = hubbard(6, true, 2, 3, |i| 0.7 + 0.1 * i as f64);
    kronecker(&table, |plan| assert!(matches!(plan.up.amplitudes, Amplitudes::Table(_))));
    kronecker(&table, |plan| plan.shape.staging = Staging::Global);
}

#[test]
fn neighbours_of_every_width() {
    let model = hubbard(5, true, 2, 3, |i| 1.0 + i as f64);
    for word in [IndexWord::U16, IndexWord::U32, IndexWord::U64] {
        kronecker(&model, |plan| (plan.up.word, plan.down.word) = (word, word));
    }
}

#[test]
fn sectors_without_hops_and_of_one_state() {
    for (up, down) in [(2, 0), (0, 2), (4, 4), (0, 0), (4, 1)] {
        kronecker(&hubbard(4, false, up, down, |_| 1.0), |plan| assert_eq!(plan.has_down(), down == 1 || down == 2));
    }
}

#[test]
fn tiles_of_the_down_kernel() {
    // 70 up states in tiles of 64, 32 and 16 rows; runs of columns that do not divide 28, and one of all columns.
    let model = hubbard(8, false, 4, 2, |_| 1.0);
    kronecker(&model, |plan| plan.shape.down = DownShape::Tile { rows: 64, lanes: 3, columns: 5 });
    kronecker(&model, |plan| plan.shape.down = DownShape::Tile { rows: 32, lanes: 1, columns: 1 });
    kronecker(&model, |plan| plan.shape.down = DownShape::Tile { rows: 16, lanes: 4, columns: 28 });
    // The neighbours in tables of amplitudes and in wide words.
    let model = hubbard(7, true, 3, 2, |i| 1.0 + i as f64);
    kronecker(&model, |plan| {
        plan.shape.down = DownShape::Tile { rows: 16, lanes: 2, columns: 6 };
        plan.down.word = IndexWord::U64;
    });
}

fn runs(low_sites: u32, outputs: u32, warps: u32) -> DownShape {
    DownShape::Runs { low_sites, outputs, warps }
}

#[test]
fn runs_of_the_down_kernel() {
    // 56 up states: one tile of rows and most of another. Cuts through the middle and at both ends; whole runs, parts of
    // them, one column at a time; a number of warps that does not divide the tasks.
    let model = hubbard(8, true, 3, 4, |i| 1.0 + 0.1 * (i * i) as f64);
    kronecker(&model, |plan| plan.shape.down = runs(4, 24, 8));
    kronecker(&model, |plan| plan.shape.down = runs(5, 4, 3));
    let signed = hubbard(6, true, 3, 2, |_| 1.0);
    kronecker(&signed, |plan| plan.shape.down = runs(1, 1, 1));
    kronecker(&signed, |plan| plan.shape.down = runs(5, 2, 4));
    // One electron, and all sites full but one: kinds that hold one state.
    kronecker(&hubbard(6, false, 2, 1, |_| 0.5), |plan| plan.shape.down = runs(3, 24, 2));
    kronecker(&hubbard(6, false, 2, 5, |_| 0.5), |plan| plan.shape.down = runs(3, 24, 2));
    kronecker(&hubbard(4, false, 4, 4, |_| 0.5), |plan| plan.shape.down = runs(2, 24, 2));
}

/// Terms that are no plain hops: each crosses the cut in another way, and some act in the low part only where a high site
/// is occupied.
#[test]
fn runs_with_terms_of_four_operators() {
    let mut h = Operator::zero();
    for spin in [Spin::Up, Spin::Down] {
        for i in 0..6 {
            let assisted = build::n((i + 3) % 6, spin) * build::cdag(i, spin) * build::c((i + 1) % 6, spin);
            let pair = build::cdag(i, spin)
                * build::cdag((i + 2) % 6, spin)
                * build::c((i + 3) % 6, spin)
                * build::c((i + 4) % 6, spin);
            let term = (0.3 + 0.1 * i as f64) * assisted + (0.2 - 0.07 * i as f64) * pair;
            h = h + hop(i, (i + 2) % 6, spin, 0.9) + term.clone() + term.adjoint();
        }
    }
    let model = h.on_sites(6).sector(Up(2), Down(3)).unwrap();
    for low_sites in 2..5 {
        kronecker(&model, |plan| plan.shape.down = runs(low_sites, 3, 2));
    }
}

/// What the rule and the tuner choose from, on a problem that is large enough for runs.
#[test]
fn every_candidate_is_right() {
    let model = hubbard(8, true, 4, 2, |_| 1.0);
    let dense = model.dense().unwrap();
    let prepared = model.multiply(ScalarType::F64).unwrap();
    let plan = &prepared.way::<KroneckerMultiply>().expect("it splits").plan;
    assert!(matches!(plan.shape.down, DownShape::Tile { .. }), "{} up states are few", plan.up.states);
    let shapes = plan.candidates();
    assert!(shapes.len() >= 6, "{shapes:?}");
    let devices = devices();
    for shape in shapes {
        let prepared = prepared.changed(|way: &mut KroneckerMultiply| way.plan.shape = shape).unwrap();
        check::<f64>(&devices[..devices.len().min(1)], &model, &prepared, &dense);
    }
}

pub fn spins(two_s: u32, sites: usize, two_sz: i64) -> Model {
    let mut h = Operator::zero();
    for i in 0..sites {
        h = h + (0.8 + 0.1 * i as f64) * build::sdots(i, (i + 1) % sites) + 0.3 * (i as f64) * build::sz(i);
        h = h + 0.15 * (build::sz(i) * build::sz(i));
    }
    let three = build::sz(0) * build::sp(1) * build::sm(2);
    h = h + 0.1 * (three.clone() + three.adjoint()) + 0.2 * (build::sz(0) * build::sz(1) * build::sz(2));
    h.spin(two_s).on_sites(sites).two_sz(two_sz).unwrap()
}

/// By columns, whatever their length, with one to four states a thread; state by state, with terms written out and in a table.
fn by_every_strategy(model: &Model) {
    let staged = [1, 2, 3].map(|columns| GeneralStrategy::Staged { columns });
    for strategy in staged.into_iter().chain([GeneralStrategy::States, GeneralStrategy::Table]) {
        general(model, |plan| {
            let fits = |lists: &ColumnLists, columns: u32| columns.is_multiple_of(lists.together());
            match (strategy, &plan.lists) {
                (GeneralStrategy::Staged { columns }, Some(lists)) if !fits(lists, columns) => {}
                // Columns of a few states have no lists.
                (GeneralStrategy::Staged { .. }, None) => {}
                _ => *plan = plan.with_strategy(strategy),
            }
        });
    }
}

#[test]
fn spins_by_columns_and_by_states() {
    for (two_s, sites, two_sz) in [(1, 11, 1), (2, 6, 0), (3, 4, 2)] {
        let model = spins(two_s, sites, two_sz);
        by_every_strategy(&model);
    }
}

/// More groups than are counted: the diagonal is the user's own expression, and the counts' constant is none of it.
#[test]
fn spins_in_a_disordered_field_keep_the_user_s_expression() {
    for (two_s, sites, two_sz) in [(1, 12, 2), (2, 5, -2)] {
        let lattice = Lattice::chain(sites);
        let bonds = lattice.bonds().len();
        let field: Vec<f64> = (0..sites).map(|site| 0.3 + 0.017 * (site * site) as f64).collect();
        let single_ion: Vec<f64> = field.iter().map(|h| 0.5 - h).collect();
        let h = eigenforge::models::xxz(&lattice, &vec![0.9; bonds], &vec![1.1; bonds], &field, &single_ion);
        let model = h.spin(two_s).two_sz(two_sz).unwrap();
        general(&model, |plan| assert!(!plan.diagonal.expressions.is_empty()));
    }
}

/// |i − 3| of a 64-bit difference, in the user's words.
#[eigenforge::gpu_operator(conserves(Sz))]
fn graded_field(lattice: &Lattice, h: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); 0.5 * (sp(i) * sm(j) + h.c.))
        + sum!(<i, j> in lattice.bonds(); sz(i) * sz(j))
        + sum!(i in lattice.sites(); h * (i as i64 - 3).abs() as f64 * sz(i))
}

#[test]
fn absolute_values_of_integers_are_those_of_rust() {
    let model = graded_field(&Lattice::chain(13), 0.7).two_sz(9).unwrap();
    general(&model, |plan| {
        let text = format!("{:?}", plan.diagonal.expressions);
        assert!(text.contains("abs("), "{text}");
    });
}

#[test]
fn fermions_that_do_not_split() {
    let sites = 5;
    let mut h = Operator::zero();
    for i in 0..sites {
        let j = (i + 1) % sites;
        h = h + hop(i, j, Spin::Up, 1.0) + hop(i, j, Spin::Down, 1.0) + 0.4 * build::electron_sdots(i, j);
        let pair =
            build::cdag(i, Spin::Up) * build::cdag(i, Spin::Down) * build::c(j, Spin::Down) * build::c(j, Spin::Up);
        h = h + 0.2 * (pair.clone() + pair.adjoint());
        h = h + 0.6 * (build::n(i, Spin::Up) * build::n(i, Spin::Down) * build::n(j, Spin::Up));
    }
    let model = h.sector(Up(2), Down(3)).unwrap();
    by_every_strategy(&model);
}

/// Imaginary elements within the low part, within the high part and across, with and without signs of fermions.
#[test]
fn complex_models_by_every_strategy() {
    let spins = "site = \"spin 1/2\"\nH = \"sum(<i, j> in bonds; 0.5 * ((0.8 + 0.6 * I) * sp(i) * sm(j) + h.c.) + sz(i) * sz(j)) \
                 + sum(<i, j> in bonds; 0.45 * (sy(i) * sz(j) - sz(i) * sy(j))) + sum(i in sites; 0.2 * sx(i) + 0.1 * i * sz(i))\"";
    let fermions = "site = \"spinless\"\nH = \"sum(<i, j> in bonds; -1.0 * ((0.8 + 0.6 * I) * cdag(i) * c(j) + h.c.) \
                    + 0.3 * ((0.5 - 0.2 * I) * cdag(i) * cdag(j) + h.c.)) + sum(i in sites; 0.1 * i * n(i))\"\n[sector]\nparity = 1";
    for model in [spins, fermions] {
        let (model, sector) = model.split_once("\n[sector]").unwrap_or((model, ""));
        let sector = if sector.is_empty() { String::new() } else { format!("[sector]{sector}\n") };
        let text = format!("[model]\nname = \"terms\"\n{model}\n[lattice]\nkind = \"chain\"\nsize = 8\n{sector}");
        let model = ModelFile::parse("complex.toml", &text).unwrap().to_model().unwrap();
        assert!(model.is_complex());
        general(&model, |plan| {
            let lists = plan.lists.as_ref().expect("columns of eight states and more");
            assert!(lists.complex && lists.low.words > 0 && lists.cross.words > 0);
        });
        by_every_strategy(&model);
    }
}

/// Blocks that walk several rows each.
#[test]
fn fewer_blocks_than_rows() {
    let model = spins(1, 11, 1);
    general(&model, |plan| plan.shape.blocks = 1);
    general(&model, |plan| (plan.shape.threads, plan.shape.blocks) = (32, 3));
}

/// Models in one text, each with its own numbers as arguments; `change` forces a shape on the plans.
fn shared(models: &[Model], change: impl Fn(MultiplyPlan) -> MultiplyPlan) -> KernelText {
    let devices = devices();
    let prepared: Vec<MultiplyPlan> =
        models.iter().map(|model| change(model.multiply(ScalarType::F64).unwrap())).collect();
    let collected = |prepared: &MultiplyPlan| -> CollectedCoefficients {
        let split = prepared.way().map(|KroneckerMultiply { plan, .. }| plan.collect_coefficients().unwrap());
        let general = || prepared.way().map(|GeneralMultiply { plan, .. }| plan.collect_coefficients().unwrap());
        split.or_else(general).expect("it has coefficients")
    };
    let collected: Vec<CollectedCoefficients> = prepared.iter().map(collected).collect();
    let arguments = CoefficientArguments::new(&collected).expect("texts that differ in coefficients only");
    let sharing = |prepared: &MultiplyPlan| -> MultiplyPlan {
        let split = prepared.changed(|way: &mut KroneckerMultiply| way.plan = way.plan.sharing(&arguments).unwrap());
        let general = || prepared.changed(|way: &mut GeneralMultiply| way.plan = way.plan.sharing(&arguments).unwrap());
        split.or_else(general).expect("it has coefficients")
    };
    let text = sharing(&prepared[0]).text().unwrap();
    assert!(["coefficients[", "(coefficients +"].iter().any(|form| text.text.contains(form)), "{}", text.text);
    for (model, prepared) in models.iter().zip(&prepared) {
        let prepared = sharing(prepared);
        assert_eq!(prepared.text().unwrap().text, text.text);
        check::<f64>(&devices, model, &prepared, &model.dense().unwrap());
    }
    text
}

fn shape(prepared: &MultiplyPlan, down: DownShape) -> MultiplyPlan {
    prepared.changed(|way: &mut KroneckerMultiply| way.plan.shape.down = down).expect("it splits")
}

/// Uniform and disordered hopping, each with a factor of its own: amplitudes as a factor, as a sign, in tables.
#[test]
fn models_that_differ_in_coefficients_share_a_text_in_every_shape() {
    let scaled = |t: fn(usize) -> f64| [1.0, -1.5].map(|factor| hubbard(6, true, 3, 2, move |i| factor * t(i)));
    for models in [scaled(|_| 1.0), scaled(|i| 1.0 + 0.1 * (i * i) as f64)] {
        let text = shared(&models, |prepared| prepared);
        assert!(text.text.contains("value += 4.0 *"), "U is the same and stays a number: {}", text.text);
        shared(&models, |prepared| shape(&prepared, DownShape::Tile { rows: 16, lanes: 2, columns: 6 }));
        shared(&models, |prepared| shape(&prepared, runs(3, 24, 2)));
    }
    // A plan whose shape changes after it shared a text has numbers, and the same results.
    let models = scaled(|_| 1.0);
    let mut changed = models.clone();
    assert_eq!(share_kernels::<f64>(&mut changed).unwrap(), 1);
    let prepared = changed[1].multiply(ScalarType::F64).unwrap();
    assert!(prepared.text().unwrap().text.contains("coefficients["));
    let prepared = shape(&prepared, runs(2, 24, 2));
    assert!(!prepared.text().unwrap().text.contains("coefficients["));
    check::<f64>(&devices(), &changed[1], &prepared, &models[1].dense().unwrap());
}

/// Diagonals in counts, in products of many factors, in powers of Sz; amplitudes of flips, written out.
#[test]
fn general_models_share_a_text() {
    let ring = |two_s: u32, j: f64, d: f64| {
        let pair = |i: usize| {
            let flip = build::sp(i) * build::sm((i + 1) % 5);
            0.5 * j * (flip.clone() + flip.adjoint())
        };
        let square = |i: usize| (d + j * i as f64) * (build::sz(i) * build::sz(i) * build::sz((i + 1) % 5));
        let h = (0..5).map(pair).sum::<Operator>() + (0..5).map(square).sum::<Operator>();
        h.spin(two_s).on_sites(5).two_sz(if two_s == 1 { 1 } else { 0 }).unwrap()
    };
    for two_s in [1, 2] {
        shared(&[ring(two_s, 1.0, 0.3), ring(two_s, -0.7, 0.3), ring(two_s, 2.0, 0.1)], |prepared| prepared);
    }
}
