//! All coupling coefficients W⁰ of a transformation on a device.
//!
//! In: a plan; exact small tables come from the CPU (seeds, branching tables, projections, Clebsch–Gordan coefficients).
//! Out: every matrix W⁰, in device memory, in the order that [`super::DeviceTransform`] reads; the same numbers as
//! [`eigenforge_su3::Coupler::square_tables`] up to rounding.

use super::super::plan::{Plan, tensor_labels};
use super::super::tables::Tables;
use super::DeviceTransformError;
use super::layout::{irreps, w0_of_tables};
use eigenforge_runtime::{Arguments, Device, HostTable, Kernel, NamedTables, TableList, Vector};
use eigenforge_su3::{Branching, Coupler, Extremal, Irrep, product};
use eigenforge_templates::launch::Element;
use eigenforge_templates::su3::{CoefficientsPlan, TripleClass};
use eigenforge_templates::{ScalarType, Warp};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Threads of a block.
const THREADS: usize = 128;
/// Shared memory of a triple, in numbers, by class; larger triples have a class of their own.
const CLASSES: [usize; 4] = [768, 2048, 5120, usize::MAX];
/// No such row, no such K.
const NONE: u16 = u16::MAX;

/// The coefficients' kernels with their tables.
pub struct DeviceCoefficients {
    device: Device,
    plan: CoefficientsPlan,
    kernel: Kernel,
    tables: NamedTables,
}

impl DeviceCoefficients {
    /// Computes the exact tables on the CPU, compiles the kernels, copies the tables.
    ///
    /// # Errors
    /// Not enough device memory, with the numbers; a device that compiles or runs no kernels.
    pub fn new(plan: &Plan, coupler: &Coupler, device: &Device) -> Result<Self, DeviceTransformError> {
        DeviceCoefficients::of_layout(&CoefficientsLayout::new(plan, coupler), device)
    }

    pub(super) fn of_layout(layout: &CoefficientsLayout, device: &Device) -> Result<Self, DeviceTransformError> {
        let CoefficientsLayout { plan, tables } = layout;
        let plan = CoefficientsPlan { warp: device.warp(), ..plan.clone() };
        device.check_memory(&format!("{} coefficients W0 of N_max = {}", plan.w0, plan.n_max), 8 * plan.w0)?;
        let kernel = device.compile(&plan.text()?)?;
        let tables = NamedTables::uploaded(device, tables.iter().map(|(name, table)| (*name, table.into())))?;
        Ok(DeviceCoefficients { device: device.clone(), plan, kernel, tables })
    }

    /// The plan of the kernels without a device, to inspect their text.
    pub fn plan_of(plan: &Plan, coupler: &Coupler) -> CoefficientsPlan {
        CoefficientsLayout::new(plan, coupler).plan
    }

    /// The plan.
    pub fn plan(&self) -> &CoefficientsPlan {
        &self.plan
    }

    /// A vector for the coefficients.
    ///
    /// # Errors
    /// The device fails.
    pub fn room(&self) -> Result<Vector<f64>, DeviceTransformError> {
        Ok(self.device.zeros(self.plan.w0 as usize)?)
    }

    /// Computes the coefficients.
    ///
    /// # Errors
    /// The device fails.
    pub fn compute(&self, w0: &mut Vector<f64>) -> Result<(), DeviceTransformError> {
        for class in &self.plan.classes {
            let launch = self.plan.launch(class)?;
            let arguments = Arguments::new().write("w0", w0).tables(&self.tables);
            let arguments = arguments.u32("first_triple", class.first as u32).u32("most_values", class.values as u32);
            self.kernel.launch(&launch, arguments)?;
        }
        Ok(())
    }

    /// max |Wᵀ W x − x| over all matrices, for a fixed x without structure, |x| ≤ 1.
    ///
    /// # Errors
    /// The device fails.
    pub fn defect(&self, w0: &Vector<f64>) -> Result<f64, DeviceTransformError> {
        Ok(largest(&self.defects(w0)?))
    }

    /// The same for each product of irreps and S0, in the order of the plan.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn defects(&self, w0: &Vector<f64>) -> Result<Vec<f64>, DeviceTransformError> {
        let launch = self.plan.defect_launch()?;
        let mut defects: Vector<f64> = self.device.zeros(3 * self.plan.products as usize)?;
        let vectors = Arguments::new().read("w0", w0).write("defect", &mut defects);
        self.kernel.launch(&launch, vectors.tables(&self.tables))?;
        Ok(defects.download()?)
    }
}

/// The maximum, keeping NaN, which f64::max would drop.
pub(super) fn largest(defects: &[f64]) -> f64 {
    defects.iter().fold(0.0, |most, x| if *x > most || x.is_nan() { *x } else { most })
}

/// The same numbers from the CPU's computation, in the same order.
pub fn coefficients_on_cpu(plan: &Plan, tables: &Tables) -> Vec<f64> {
    w0_of_tables(plan, tables)
}

/// One triple of irreps, before its seeds.
struct Triple {
    product: u32,
    irreps: [Irrep; 3],
    rho_max: u32,
    first: [u16; 3],
    rows: [u16; 3],
}

impl Triple {
    /// Numbers of its canonical coefficients, and of the workspace.
    fn shared(&self, columns: usize) -> [usize; 2] {
        let [f, i, third] = self.irreps;
        let (one, two) = if third.lambda < third.mu { (f, i) } else { (f.conjugate(), i.conjugate()) };
        let states = ((one.lambda + 1) * (one.mu + 1)) as usize;
        let ladder = states * (two.lambda as usize + 1);
        [ladder * self.rho_max as usize, (ladder + 2 * (one.lambda as usize + 2)).max(states * columns)]
    }
}

/// Tables of all products.
#[derive(Default)]
struct Products {
    triples: Vec<Triple>,
    bra: Vec<u16>,
    ket: Vec<u16>,
    block_rows: Vec<u32>,
    w0_start: Vec<u64>,
    row_start: Vec<u32>,
    w0: u64,
    most_pairs: usize,
}

/// The plan of the kernels, and every table that it refers to.
pub(super) struct CoefficientsLayout {
    pub plan: CoefficientsPlan,
    tables: TableList<'static>,
}

impl CoefficientsLayout {
    /// Computes the exact small tables on all cores.
    pub(super) fn new(plan: &Plan, coupler: &Coupler) -> CoefficientsLayout {
        let (plan, tables) = lay_out(plan, coupler);
        CoefficientsLayout { plan, tables }
    }
}

fn lay_out(plan: &Plan, coupler: &Coupler) -> (CoefficientsPlan, TableList<'static>) {
    let (irrep_count, irrep_first, states_below) = irreps(plan);
    let l_count = plan.n_max as usize + 3;
    let below = |irrep: usize| &states_below[irrep * (l_count + 1)..][..l_count + 1];
    let mut products = Products::default();
    for group in &plan.groups {
        for product in &group.products {
            let one = irrep_first[group.bra_quanta as usize] + product.bra[1];
            let two = irrep_first[group.ket_quanta as usize] + product.ket[0];
            products.add(
                product.bra_irrep(),
                product.ket_irrep(),
                [one, two],
                [below(one as usize), below(two as usize)],
            );
        }
    }
    let columns = |product: u32| below(usize::from(products.ket[product as usize]))[l_count] as usize;
    let shared: Vec<[usize; 2]> =
        products.triples.iter().map(|triple| triple.shared(columns(triple.product))).collect();
    let class_of = |at: &usize| CLASSES.iter().position(|most| shared[*at][0] + shared[*at][1] <= *most);
    let mut order: Vec<usize> = (0..products.triples.len()).collect();
    // the longest first in each class: they take the same time as many short ones
    order.sort_by_key(|at| (class_of(at), std::cmp::Reverse(shared[*at][0])));
    let mut classes: Vec<TripleClass> = Vec::new();
    for (first, of_class) in order.chunk_by(|a, b| class_of(a) == class_of(b)).scan(0, |first, of_class| {
        let start = *first;
        *first += of_class.len();
        Some((start, of_class))
    }) {
        let most = |which: usize| of_class.iter().map(|at| shared[*at][which]).max().unwrap_or(0) as u64;
        classes.push(TripleClass {
            first: first as u64,
            triples: of_class.len() as u64,
            values: most(0),
            rows: most(1),
        });
    }
    let triples: Vec<&Triple> = order.iter().map(|at| &products.triples[*at]).collect();
    let thirds = Thirds::new(&triples, coupler);
    let seeds = Seeds::new(&triples);
    let branchings = Branchings::new(plan, coupler, l_count);
    let spins = Spins::new(&triples, coupler, l_count as i64);
    let coefficients = CoefficientsPlan {
        name: format!("su3_coefficients_n{}", plan.n_max),
        scalar: ScalarType::F64,
        warp: Warp::default(),
        n_max: plan.n_max,
        w0: products.w0,
        triples: triples.len() as u64,
        irreps: irrep_count,
        products: products.bra.len() as u64,
        threads: THREADS as u32,
        pairs_a_thread: products.most_pairs.div_ceil(THREADS) as u32,
        thirds: thirds.position.len() as u64,
        seeds: [seeds.eta.len() as u64, seeds.values.len() as u64],
        branchings: [branchings.rows.len() as u64, branchings.values.len() as u64],
        spins: [(spins.tables.len() / l_count.pow(3)) as u64, spins.number.len() as u64],
        most_rows: products.block_rows.iter().copied().max().unwrap_or(0).into(),
        classes,
    };
    let flat =
        |of: &dyn Fn(&Triple) -> [u16; 3]| HostTable::U16(triples.iter().flat_map(|triple| of(triple)).collect());
    let mut tables = vec![
        ("triple_product", HostTable::U32(triples.iter().map(|triple| triple.product).collect())),
        ("triple_third", HostTable::U16(triples.iter().map(|triple| thirds.position[&triple.irreps[2]]).collect())),
        ("triple_rho", HostTable::U16(triples.iter().map(|triple| triple.rho_max as u16).collect())),
        ("triple_first", flat(&|triple| triple.first)),
        ("triple_rows", flat(&|triple| triple.rows)),
        ("states_below", HostTable::of_u32(Element::U16, states_below)),
        ("orbital_table", orbital_tables(coupler, l_count as i64).into()),
    ];
    tables.extend(thirds.into_tables());
    tables.extend(seeds.into_tables());
    tables.extend(branchings.into_tables());
    tables.extend(spins.into_tables());
    tables.extend(products.into_tables());
    (coefficients, tables)
}

impl Products {
    fn add(&mut self, f: Irrep, i: Irrep, [one, two]: [u32; 2], [below_1, below_2]: [&[u32]; 2]) {
        let number = self.bra.len() as u32;
        self.bra.push(one as u16);
        self.ket.push(two as u16);
        let l_count = below_1.len() - 1;
        // columns of the second irrep with Lf − s … Lf + s
        let partners = |lf: usize, s: usize| below_2[(lf + s + 1).min(l_count)] - below_2[lf.abs_diff(s).min(l_count)];
        let near = |lf: usize| below_2[(lf + 3).min(l_count)] - below_2[lf.saturating_sub(2)];
        let states = |lf: usize| below_1[lf + 1] - below_1[lf];
        self.most_pairs = self.most_pairs.max((0..l_count).map(|lf| (states(lf) * near(lf)) as usize).sum());
        let labels = [0, 1, 2].map(|s0| tensor_labels(f, i, s0));
        for s0 in 0..3 {
            let mut rows = 0;
            for lf in 0..l_count {
                self.row_start.push(rows);
                rows += states(lf) * partners(lf, s0);
            }
            self.block_rows.push(rows);
            self.w0_start.push(self.w0);
            self.w0 += u64::from(rows) * u64::from(rows);
        }
        for (third, rho_max) in product(f, i) {
            let first = labels.each_ref().map(|labels| labels.partition_point(|label| label.0 < third) as u16);
            let rows = labels.each_ref().map(|labels| labels.iter().filter(|label| label.0 == third).count() as u16);
            if rows != [0; 3] {
                self.triples.push(Triple { product: number, irreps: [f, i, third], rho_max, first, rows });
            }
        }
    }

    fn into_tables(self) -> [(&'static str, HostTable<'static>); 5] {
        [
            ("product_bra", self.bra.into()),
            ("product_ket", self.ket.into()),
            ("w0_start", self.w0_start.into()),
            ("block_rows", self.block_rows.into()),
            ("row_start", self.row_start.into()),
        ]
    }
}

/// Every (λ3 μ3): labels, lowest K3 and orthonormalisation for L3 = 0, 1, 2.
struct Thirds {
    position: BTreeMap<Irrep, u16>,
    k: Vec<u16>,
    turn: Vec<f64>,
}

impl Thirds {
    fn new(triples: &[&Triple], coupler: &Coupler) -> Thirds {
        let mut position: BTreeMap<Irrep, u16> = triples.iter().map(|triple| (triple.irreps[2], 0)).collect();
        position.values_mut().zip(0..).for_each(|(at, number)| *at = number);
        let (mut k, mut turn) = (Vec::new(), Vec::new());
        for third in position.keys() {
            for l3 in 0..3 {
                let projected = coupler.projected(*third, l3);
                k.push(projected.first().map_or(NONE, |(k, _)| *k as u16));
                let mut three = projected.iter().flat_map(|(_, turn)| turn.iter().copied());
                turn.extend((0..3).map(|_| three.next().unwrap_or(0.0)));
            }
        }
        Thirds { position, k, turn }
    }

    fn into_tables(self) -> [(&'static str, HostTable<'static>); 3] {
        let labels = self.position.keys().flat_map(|third| [third.lambda as u16, third.mu as u16]).collect();
        [("third_label", HostTable::U16(labels)), ("third_k", self.k.into()), ("third_turn", self.turn.into())]
    }
}

/// Seeds of every ρ of every triple.
#[derive(Default)]
struct Seeds {
    of_triple: Vec<u32>,
    eta: Vec<u16>,
    first: Vec<u16>,
    count: Vec<u16>,
    start: Vec<u32>,
    values: Vec<f64>,
}

impl Seeds {
    fn new(triples: &[&Triple]) -> Seeds {
        let found: Vec<_> = triples.par_iter().map(|triple| Extremal::seeds(triple.irreps)).collect();
        let mut seeds = Seeds::default();
        for of_triple in found {
            seeds.of_triple.push(seeds.eta.len() as u32);
            for seed in of_triple {
                seeds.eta.push(seed.eta as u16);
                seeds.first.push(seed.first as u16);
                seeds.count.push(seed.values.len() as u16);
                seeds.start.push(seeds.values.len() as u32);
                seeds.values.extend(seed.values);
            }
        }
        seeds
    }

    fn into_tables(self) -> [(&'static str, HostTable<'static>); 6] {
        [
            ("triple_seed", self.of_triple.into()),
            ("seed_eta", self.eta.into()),
            ("seed_first", self.first.into()),
            ("seed_count", self.count.into()),
            ("seed_start", self.start.into()),
            ("seed_value", self.values.into()),
        ]
    }
}

/// u of all irreps of bras, then of kets.
#[derive(Default)]
struct Branchings {
    labels: Vec<u16>,
    row_start: Vec<u32>,
    rows: Vec<u16>,
    start: Vec<u32>,
    values: Vec<f64>,
}

impl Branchings {
    fn new(plan: &Plan, coupler: &Coupler, l_count: usize) -> Branchings {
        let two_bosons = |quanta: u32| (0..=quanta / 2).map(move |k| Irrep::new(quanta - 2 * k, k));
        let bras: Vec<Irrep> = (0..=plan.space().quanta_max()).flat_map(two_bosons).collect();
        let all: Vec<Irrep> = bras.iter().copied().chain(bras.iter().map(|irrep| irrep.conjugate())).collect();
        let tables: Vec<_> = all.par_iter().map(|irrep| coupler.branching(*irrep)).collect();
        let mut branchings = Branchings::default();
        tables.iter().zip(&all).for_each(|(table, irrep)| branchings.add(*irrep, table, l_count));
        branchings
    }

    fn add(&mut self, irrep: Irrep, table: &Branching, l_count: usize) {
        self.labels.extend([irrep.lambda as u16, irrep.mu as u16]);
        self.row_start.push(self.rows.len() as u32);
        for m in 0..l_count as u32 {
            self.start.push(self.values.len() as u32);
            if m <= irrep.l_max() {
                let (rows, values) = table.rows(m);
                self.rows.extend(rows.iter().map(|row| u16::try_from(*row).unwrap_or(NONE)));
                self.values.extend(values);
            }
        }
    }

    fn into_tables(self) -> [(&'static str, HostTable<'static>); 5] {
        [
            ("label", self.labels.into()),
            ("branch_row_start", self.row_start.into()),
            ("branch_row", self.rows.into()),
            ("branch_start", self.start.into()),
            ("branch_value", self.values.into()),
        ]
    }
}

/// ⟨Λ1 M1/2 Λ2 (K3−M1)/2|Λ3 K3/2⟩ by (2Λ3, K3), at [(2Λ1 · reach + (M1 + 2Λ1) / 2) reach + 2Λ2].
struct Spins {
    number: Vec<u16>,
    tables: Vec<f64>,
}

impl Spins {
    fn new(triples: &[&Triple], coupler: &Coupler, reach: i64) -> Spins {
        let two_lambda3 = |triple: &&Triple| triple.irreps[2].lambda.min(triple.irreps[2].mu);
        let mut needed: Vec<u32> = triples.iter().map(two_lambda3).collect();
        needed.sort_unstable();
        needed.dedup();
        let keys: Vec<(i64, i64)> = needed
            .iter()
            .flat_map(|t| [0, 1, 2].map(|k| (i64::from(*t), k)))
            .filter(|(t, k)| k <= t && (t + k) % 2 == 0)
            .collect();
        let most = needed.last().copied().unwrap_or(0) as usize;
        let mut number = vec![0; 3 * (most + 1)];
        keys.iter().zip(0..).for_each(|((t, k), at)| number[(3 * t + k) as usize] = at);
        let tables = keys.par_iter().flat_map_iter(|(t3, k3)| spin_table(coupler, *t3, *k3, reach)).collect();
        Spins { number, tables }
    }

    fn into_tables(self) -> [(&'static str, HostTable<'static>); 2] {
        [("spin_number", self.number.into()), ("spin_table", self.tables.into())]
    }
}

fn spin_table(coupler: &Coupler, t3: i64, k3: i64, reach: i64) -> Vec<f64> {
    let mut table = vec![0.0; reach.pow(3) as usize];
    for (t1, t2) in (0..reach).flat_map(|t1| (0..reach).map(move |t2| (t1, t2))) {
        if (t1 + t2 + t3) % 2 != 0 || (t1 - t2).abs() > t3 || t3 > t1 + t2 {
            continue;
        }
        for m1 in (-t1..=t1).step_by(2).filter(|m1| (k3 - m1).abs() <= t2) {
            let value = coupler.symbols().clebsch_gordan([t1, t2, t3], [m1, k3 - m1, k3]);
            table[((t1 * reach + (m1 + t1) / 2) * reach + t2) as usize] = value.unwrap_or_default();
        }
    }
    table
}

/// ⟨L1 M1 L2 K3−M1|L3 K3⟩ of (L3, K3) = 00, 10, 11, 20, 21, 22, at [(L1 · 2 reach + M1 + L1) reach + L2].
fn orbital_tables(coupler: &Coupler, reach: i64) -> Vec<f64> {
    let of = |(l3, k3): (i64, i64)| {
        let mut table = vec![0.0; 2 * reach.pow(3) as usize];
        for (l1, l2) in (0..reach).flat_map(|l1| (0..reach).map(move |l2| (l1, l2))) {
            if (l1 - l2).abs() > l3 || l3 > l1 + l2 {
                continue;
            }
            for m1 in (-l1..=l1).filter(|m1| (k3 - m1).abs() <= l2) {
                let value = coupler.symbols().clebsch_gordan([2 * l1, 2 * l2, 2 * l3], [2 * m1, 2 * (k3 - m1), 2 * k3]);
                table[((l1 * 2 * reach + m1 + l1) * reach + l2) as usize] = value.unwrap_or_default();
            }
        }
        table
    };
    [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)].into_iter().flat_map(of).collect()
}
