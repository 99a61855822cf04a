//! Stages of operation records in one launch, in simulation and, with EIGENFORGE_TEST_DEVICE=cuda, on a card: against the
//! CPU's records, over poisoned outputs, twice with the same bits.

use eigenforge_runtime::records::card::{DeviceBuffers, Loads, Products};
use eigenforge_runtime::records::{self, Action, Buffers, Operand, OperandSpace, Record, RecordGroup, RecordStage};
use eigenforge_runtime::seeded;
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::{card, simulated};
use eigenforge_runtime::{Checks, Device};
use eigenforge_templates::dmrg::GroupedProductsPlan;

/// Small numbers in a fixed order.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// From 0 to `most`.
    fn to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }

    fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }
}

fn devices(schedule: Schedule) -> Vec<Device> {
    card().or_else(|| simulated(schedule, Checks::Every)).into_iter().collect()
}

const SPACES: [OperandSpace; 6] = [
    OperandSpace::Left,
    OperandSpace::LeftSum,
    OperandSpace::Right,
    OperandSpace::RightSum,
    OperandSpace::Input,
    OperandSpace::Between,
];
/// Elements of each buffer.
const LENGTH: usize = 120_000;

/// A stored matrix of at least these rows and columns somewhere in a random buffer.
fn operand(random: &mut Random, rows: usize, columns: usize) -> Operand {
    let transposed = random.coin();
    let (rows, columns) = if transposed { (columns, rows) } else { (rows, columns) };
    let stride = rows + random.to(3);
    let offset = random.to(LENGTH - stride * columns - 1);
    Operand { space: SPACES[random.to(5)], offset, stride, transposed }
}

fn record(random: &mut Random, rows: usize, columns: usize, most: usize) -> Record {
    // Whole blocks, and parts.
    let whole = random.coin();
    let (row, column) = if whole { (0, 0) } else { (random.to(rows - 1), random.to(columns - 1)) };
    let part =
        if whole { (rows, columns) } else { (1 + random.to(rows - row - 1), 1 + random.to(columns - column - 1)) };
    let action = match random.to(5) {
        0 => Action::Copy { a: operand(random, part.0, part.1) },
        1 => Action::Diagonal,
        _ => {
            let inner = 1 + random.to(most - 1);
            Action::Product { a: operand(random, part.0, inner), b: operand(random, inner, part.1), inner }
        }
    };
    // A diagonal is square.
    let square = part.0.min(part.1);
    let (rows_of, columns_of) = if matches!(action, Action::Diagonal) { (square, square) } else { part };
    let coefficient = if random.coin() { 1.0 } else { random.to(8) as f64 / 4.0 - 1.0 };
    Record { action, coefficient, first: row + column * rows, stride: rows, rows: rows_of, columns: columns_of }
}

/// Groups of up to `most` rows and columns with gaps between them, one of them without records, and one without elements before the
/// last.
fn stage(random: &mut Random, groups: usize, most: usize) -> RecordStage {
    let mut stage = RecordStage::default();
    for number in 0..groups {
        stage.length += random.to(3) * random.to(70);
        let (rows, columns) = (1 + random.to(most - 1), 1 + random.to(most - 1));
        let count = if number == 1 { 0 } else { 1 + random.to(6) };
        if number + 1 == groups {
            let nothing = Record { rows: 0, columns: 0, ..record(random, 1, 1, most) };
            stage.groups.push(RecordGroup { offset: stage.length, length: 0, records: vec![nothing] });
        }
        let records = (0..count).map(|_| record(random, rows, columns, most)).collect();
        stage.groups.push(RecordGroup { offset: stage.length, length: rows * columns, records });
        stage.length += rows * columns;
    }
    stage.length += 11;
    stage
}

/// Runs a stage over NaN on the device and compares it with the CPU's.
#[track_caller]
fn compare(products: &Products, stage: &RecordStage) {
    let device = products.device();
    let data: Vec<Vec<f64>> = (0..6).map(|seed| seeded::vector(LENGTH, seed)).collect();
    let (mut on_host, mut on_device) = (Buffers::default(), DeviceBuffers::default());
    // Spaces of the device begin anywhere in a longer vector, between numbers that nobody may use.
    let first = |space: usize| 5 * space;
    let shifted = |space: usize| [&vec![f64::NAN; first(space)][..], &data[space], &[f64::NAN]].concat();
    let vectors: Vec<_> = (0..6).map(|space| device.upload(&shifted(space)).unwrap()).collect();
    for (k, space) in SPACES.into_iter().enumerate() {
        on_host = on_host.set(space, &data[k]);
        on_device = on_device.with_from(space, &vectors[k], first(k));
    }
    let mut expected = vec![f64::NAN; stage.length];
    records::run(stage, on_host, &mut expected);
    let prepared = products.prepare(stage).unwrap();
    let mut output = device.upload(&vec![f64::NAN; stage.length]).unwrap();
    products.run(&prepared, &on_device, &mut output).unwrap();
    let found = output.download().unwrap();
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-11, "{at}: {found} is not {expected}");
    }
    // The same bits into the middle of a longer vector, and nothing beside them.
    let mut longer = device.upload(&vec![-7.5; stage.length + 20]).unwrap();
    products.run_into(&prepared, &on_device, &mut longer, 9).unwrap();
    let longer = longer.download().unwrap();
    assert!(longer[9..].iter().zip(&found).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(longer[..9].iter().chain(&longer[9 + stage.length..]).all(|number| *number == -7.5));
}

/// Simulated fibers are slow: there a tile of 64 rows or columns, and a little more.
fn most(device: &Device) -> usize {
    if device.is_cuda() { 300 } else { 75 }
}

#[test]
fn random_stages_as_the_cpu_has_them() {
    for device in devices(Schedule::Random { seed: 3 }) {
        for loads in [Loads::Carried, Loads::Streamed] {
            let products = Products::new(&device).unwrap().always(loads).unwrap();
            let rounds = if device.is_cuda() { 60 } else { 2 };
            for seed in 0..rounds {
                let mut random = Random(100 + seed);
                compare(&products, &stage(&mut random, 6, most(&device)));
            }
        }
    }
}

#[test]
fn sizes_at_the_edges_of_tiles_with_every_transposition() {
    for device in devices(Schedule::Reverse) {
        let products = Products::new(&device).unwrap();
        let sizes: &[(usize, usize, usize)] = if device.is_cuda() {
            &[
                (1, 1, 1),
                (16, 64, 16),
                (17, 33, 15),
                (128, 128, 128),
                (129, 127, 17),
                (300, 257, 300),
                (65, 1, 64),
                (1, 200, 33),
            ]
        } else {
            &[(1, 1, 1), (16, 64, 16), (17, 33, 15), (65, 1, 18), (1, 70, 33), (129, 17, 17)]
        };
        for &(rows, columns, inner) in sizes {
            let mut stage = RecordStage::default();
            for (a_transposed, b_transposed) in [(false, false), (false, true), (true, false), (true, true)] {
                let operand = |space, rows: usize, columns: usize, transposed: bool| Operand {
                    space,
                    offset: 3,
                    stride: if transposed { columns } else { rows } + 1,
                    transposed,
                };
                let a = operand(OperandSpace::Left, rows, inner, a_transposed);
                let b = operand(OperandSpace::Input, inner, columns, b_transposed);
                let action = Action::Product { a, b, inner };
                let record = Record { action, coefficient: -0.5, first: 0, stride: rows, rows, columns };
                stage.groups.push(RecordGroup {
                    offset: stage.length,
                    length: rows * columns,
                    records: vec![record; 2],
                });
                stage.length += rows * columns;
            }
            for loads in [Loads::Carried, Loads::Streamed] {
                compare(&products.clone().always(loads).unwrap(), &stage);
            }
        }
    }
}

#[test]
fn every_plan_gives_the_product() {
    for device in devices(Schedule::Forward) {
        for (slab, step) in [(16, 4), (32, 8)] {
            let plan = GroupedProductsPlan { slab, step, ..GroupedProductsPlan::new("dmrg") };
            let products = Products::with_plan(&device, plan).unwrap();
            compare(&products, &stage(&mut Random(u64::from(slab + step)), 3, most(&device) / 2));
        }
    }
}

/// The name has compute-sanitizer run it.
#[test]
fn a_stage_of_a_few_blocks_under_memcheck() {
    for device in devices(Schedule::Forward) {
        for loads in [Loads::Carried, Loads::Streamed] {
            let products = Products::new(&device).unwrap().always(loads).unwrap();
            compare(&products, &stage(&mut Random(5), 5, 70));
            compare(&products, &RecordStage { groups: vec![], length: 300 });
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let Some(device) = devices(Schedule::Forward).into_iter().next() else { return };
    let products = Products::new(&device).unwrap();
    let a = Operand { space: OperandSpace::Left, offset: 0, stride: 4, transposed: false };
    let record =
        |rows, stride| Record { action: Action::Copy { a }, coefficient: 1.0, first: 2, stride, rows, columns: 3 };
    let stage = |records| RecordStage { groups: vec![RecordGroup { offset: 0, length: 16, records }], length: 16 };
    let refused = |stage: RecordStage| products.prepare(&stage).map(drop).unwrap_err().to_string();
    let message = refused(stage(vec![record(2, 4), record(3, 4)]));
    assert!(message.contains("record 1 of group 0") && message.contains("3 x 3 from element 2"), "{message}");
    let message = refused(stage(vec![record(2, 4), record(2, 8)]));
    assert!(message.contains("record 1 of group 0") && message.contains("8 a column"), "{message}");
    let mut outside = stage(vec![]);
    outside.length = 15;
    assert!(refused(outside).contains("group 0"));
    let prepared = products.prepare(&stage(vec![record(2, 4)])).unwrap();
    let (short, mut output) = (device.zeros::<f64>(9).unwrap(), device.zeros::<f64>(16).unwrap());
    let buffers = DeviceBuffers::default().set(OperandSpace::Left, &short);
    let message = products.run(&prepared, &buffers, &mut output).unwrap_err().to_string();
    assert!(message.contains("the vector left") && message.contains("at least 10"), "{message}");
    let plan = GroupedProductsPlan { slab: 24, ..GroupedProductsPlan::new("dmrg") };
    assert!(Products::with_plan(&device, plan).map(drop).unwrap_err().to_string().contains("slab = 24"));
}
