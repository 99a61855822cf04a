//! The published sum over all labels at once on a device: Algorithm 4 of Oberhuber et al. (2021), generated.
//!
//! Same input and output as [`super::DeviceTransform`], for comparison with it.

use super::super::plan::{Plan, tensor_labels};
use super::super::tables::Tables;
use super::DeviceTransformError;
use super::layout::{Blocks, Quadruples, irreps, spin_factors, w0_of_tables};
use super::pair_tables::ByPair;
use eigenforge_runtime::{Arguments, Device, HostTable, Kernel, NamedTables, TableList, Vector};
use eigenforge_templates::launch::Element;
use eigenforge_templates::su3::{PaperPlan, TableCounts};
use eigenforge_templates::{ScalarType, Warp};

/// Threads of a block.
const THREADS: u32 = 128;

/// The sum, ready to run.
pub struct DevicePaper {
    plan: PaperPlan,
    kernel: Kernel,
    tables: NamedTables,
}

impl DevicePaper {
    /// Compiles the kernel and copies the tables.
    ///
    /// # Errors
    /// See [`super::DeviceTransform::new`].
    pub fn new(plan: &Plan, tables: &Tables, channels: usize, device: &Device) -> Result<Self, DeviceTransformError> {
        let (plan, tables) = lay_out(plan, tables, channels as u32);
        let plan = PaperPlan { warp: device.warp(), ..plan };
        let numbers = plan.numbers * u64::from(plan.channels);
        device.check_memory(&format!("{channels} channels of N_max = {}", plan.n_max), 16 * numbers)?;
        let kernel = device.compile(&plan.text()?)?;
        Ok(DevicePaper { plan, kernel, tables: NamedTables::uploaded(device, tables)? })
    }

    /// The plan of a sum without a device, to inspect its text.
    pub fn plan_of(plan: &Plan, tables: &Tables, channels: usize) -> PaperPlan {
        lay_out(plan, tables, channels as u32).0
    }

    /// Strengths of all channels from their elements.
    ///
    /// # Errors
    /// The device fails.
    pub fn forward(&self, elements: &Vector<f64>, strengths: &mut Vector<f64>) -> Result<(), DeviceTransformError> {
        let launch = self.plan.launch()?;
        let vectors = Arguments::new().read("u", elements).write("c", strengths);
        Ok(self.kernel.launch(&launch, vectors.tables(&self.tables))?)
    }
}

fn lay_out(plan: &Plan, tables: &Tables, channels: u32) -> (PaperPlan, TableList<'static>) {
    let pairs = ByPair::new(plan, tables);
    let quadruples = Quadruples::new(plan, &pairs);
    let blocks = Blocks::new(plan);
    let (irrep_count, irrep_first, states_below) = irreps(plan);
    let tensors = Tensors::new(plan);
    let counts = TableCounts {
        pairs: pairs.pairs.len() as u64,
        irreps: irrep_count,
        states: pairs.bra_label.len() as u64,
        matrices: pairs.w_f.len() as u64,
        jj_states: pairs.back_o.len() as u64 / 4,
        quadruples: quadruples.bra.len() as u64,
        products: blocks.start.len() as u64 / 3,
        w0: blocks.w0,
        ..TableCounts::default()
    };
    let paper = PaperPlan {
        name: format!("su3_paper_n{}", plan.n_max),
        scalar: ScalarType::F64,
        warp: Warp::default(),
        n_max: plan.n_max,
        channels,
        numbers: plan.length as u64,
        most_results: tensors.rows.iter().copied().max().unwrap_or(1).into(),
        threads: THREADS,
        tensors: tensors.product.len() as u64,
        tasks: tensors.task_tensor.len() as u64,
        counts,
        spin_factors: spin_factors(plan, tables),
    };
    let k_count = paper.k_count() as usize;
    let lengths = plan.groups.iter().flat_map(|group| &group.quadruples).map(|quadruple| quadruple.length as u32);
    let mut numbers = vec![
        ("quadruple_length", HostTable::U32(lengths.collect())),
        ("order", HostTable::of_u32(Element::U16, pairs.order.clone())),
        ("matrix", HostTable::of_u32(Element::U32, pairs.matrix.clone())),
        ("quanta", HostTable::U16(pairs.pairs.iter().map(|pair| pair.quanta() as u16).collect())),
        ("jj_count", HostTable::of_u32(Element::U16, pairs.jj_count.clone())),
        ("bra_row", first_rows(&pairs, &pairs.bra_label, k_count).into()),
        ("ket_row", first_rows(&pairs, &pairs.ket_label, k_count).into()),
        ("states_below", HostTable::of_u32(Element::U16, states_below)),
        ("irrep_first", HostTable::of_u32(Element::U16, irrep_first)),
        ("task_tensor", tensors.task_tensor.into()),
        ("task_quadruple", tensors.task_quadruple.into()),
        ("task_pair", tensors.task_pair.into()),
        ("tensor_product", tensors.product.into()),
        ("tensor_k", tensors.k.into()),
        ("tensor_first", tensors.first.into()),
        ("tensor_rows", tensors.rows.into()),
    ];
    numbers.extend(pairs.into_tables());
    numbers.extend(quadruples.into_tables());
    numbers.extend(blocks.into_tables());
    numbers.push(("w0", w0_of_tables(plan, tables).into()));
    (paper, numbers)
}

/// First row of each k in each matrix; 65,535 where there is none.
fn first_rows(pairs: &ByPair, labels: &[u32], k_count: usize) -> Vec<u16> {
    let mut rows = vec![u16::MAX; pairs.order.len() * k_count];
    for (matrix, (order, first)) in pairs.order.iter().zip(&pairs.first_state).enumerate() {
        for row in 0..*order {
            let label = labels[(first + row) as usize];
            if label.is_multiple_of(256) {
                rows[matrix * k_count + (label / 256) as usize] = row as u16;
            }
        }
    }
    rows
}

/// Tensors of each product, and their quadruples.
#[derive(Default)]
struct Tensors {
    product: Vec<u32>,
    /// k of (λf μf) and of (λi μi).
    k: Vec<u16>,
    /// First row and number of rows by S0.
    first: Vec<u16>,
    rows: Vec<u16>,
    task_tensor: Vec<u32>,
    task_quadruple: Vec<u32>,
    task_pair: Vec<u16>,
}

impl Tensors {
    fn new(plan: &Plan) -> Tensors {
        let mut all = Tensors::default();
        let (mut products, mut quadruples) = (0, 0);
        for group in &plan.groups {
            for product in &group.products {
                let [f, i] = [product.bra_irrep(), product.ket_irrep()];
                let labels = [0, 1, 2].map(|s0| tensor_labels(f, i, s0));
                for (irrep, _) in eigenforge_su3::product(f, i) {
                    // Of no scalar: no L0 = 0, 1, 2.
                    if labels.iter().flatten().all(|label| label.0 != irrep) {
                        continue;
                    }
                    let tensor = all.product.len() as u32;
                    all.product.push(products);
                    all.k.extend([f.mu as u16, i.lambda as u16]);
                    for labels in &labels {
                        all.first.push(labels.partition_point(|label| label.0 < irrep) as u16);
                        all.rows.push(labels.iter().filter(|label| label.0 == irrep).count() as u16);
                    }
                    for (b, bra) in product.bras.iter().enumerate() {
                        for (k, ket) in product.kets.iter().enumerate() {
                            all.task_tensor.push(tensor);
                            all.task_quadruple.push(quadruples + (bra * group.kets.len() + ket) as u32);
                            all.task_pair.push((b * product.kets.len() + k) as u16);
                        }
                    }
                }
                products += 1;
            }
            quadruples += group.quadruples.len() as u32;
        }
        all
    }
}
