//! Several cards that work as one device, simulated and, where there are two, real ones: vectors spread over them, launches shared
//! out, tables of which each card has a copy, and what only the first card does.

use eigenforge_runtime::testing::teams;
use eigenforge_runtime::{Arguments, Bind, Buffer, Device, DeviceError, Vector};
use eigenforge_templates::launch::{Access, Element, Launch, Parameter};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{KernelText, ScalarType, Warp};

/// Lengths with odd shares, shares of no element, and on cards with parts on several pages.
fn lengths(device: &Device) -> Vec<usize> {
    let mut lengths = vec![1, 2, 3, 5, 64, 257, 1_023];
    if device.is_cuda() {
        lengths.extend([262_144 * 2, 262_144 * 2 + 1, 3_000_001, 40_000_003]);
    }
    lengths
}

fn numbers(len: usize, seed: u64) -> Vec<f64> {
    Device::cpu().random::<f64>(len, seed).unwrap().download().unwrap()
}

#[test]
fn a_vector_program_does_every_element_once_and_sums_all() {
    let program = VectorProgram::parse(
        "program step\nvectors x : inout\nvectors y : in\nvectors z : out\nscalars a\nz = x - a * y\nx = x + a * y\nsum dot = x * y\nsum square = z * z",
    )
    .unwrap();
    for device in teams(&[2, 3]) {
        for len in lengths(&device) {
            let (x, y) = (numbers(len, 1), numbers(len, 2));
            let run = |device: &Device| {
                let compiled = device.program(&program, ScalarType::F64, &[]).unwrap();
                let (mut x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
                let mut z: Vector<f64> = device.upload(&vec![f64::NAN; len]).unwrap();
                let mut sums = Vec::new();
                // Twice: the counter of finished blocks is 0 again.
                for _ in 0..2 {
                    sums = compiled.run(&mut [Bind::Out(&mut x), Bind::In(&y), Bind::Out(&mut z)], &[0.75]).unwrap();
                }
                (x.download().unwrap(), z.download().unwrap(), sums)
            };
            let (here, there, again) = (run(&device), run(&Device::cpu()), run(&device));
            assert_eq!(here, again, "{len}: other bits");
            let scale = len as f64;
            let close = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-15 * scale.max(16.0);
            assert!(here.0.iter().zip(&there.0).all(|(a, b)| close(*a, *b, 1.0)), "x of {len} on {}", device.name());
            assert!(here.1.iter().zip(&there.1).all(|(a, b)| close(*a, *b, 1.0)), "z of {len} on {}", device.name());
            for (a, b) in here.2.iter().zip(&there.2) {
                assert!(close(*a, *b, 8.0 * scale), "{len}: {a} and {b} on {}", device.name());
            }
        }
    }
}

#[test]
fn copies_cross_the_cards_borders() {
    for device in teams(&[2]) {
        for len in lengths(&device) {
            let values = numbers(len, 3);
            let mut vector = device.upload(&values).unwrap();
            assert_eq!(vector.duplicate().unwrap().download().unwrap(), values);
            let (first, count) = (len / 3, len.div_ceil(2).min(len - len / 3));
            let part = numbers(count, 4);
            vector.write_part(first, &part).unwrap();
            let mut expected = values.clone();
            expected[first..first + count].copy_from_slice(&part);
            let mut read = vec![f64::NAN; count];
            vector.read_part(first, &mut read).unwrap();
            assert_eq!(read, part);
            let mut shorter: Vector<f64> = device.zeros(len.div_ceil(2)).unwrap();
            shorter.copy_first(&vector, len / 2).unwrap();
            let zero = (len % 2 == 1).then_some(0.0);
            assert_eq!(shorter.download().unwrap(), [&expected[..len / 2], zero.as_slice()].concat());
            assert_eq!(vector.download_first(len / 2 + 1).unwrap(), expected[..len / 2 + 1]);
            assert_eq!(vector.download().unwrap(), expected);
            assert!(device.zeros::<f64>(len).unwrap().download().unwrap().iter().all(|zero| *zero == 0.0));
        }
    }
}

/// `y_i = table[i % 7] x_i`, with the block's number into `blocks`, and `counts` of what was done.
const TEXT: &str = r#"
extern "C" __global__ void __launch_bounds__(64)
scaled(const double* table, const double* x, double* y, double* blocks, u32* counts)
{
    const int i = (int)(blockIdx.x * 64 + threadIdx.x);
    if (i < N) y[i] = table[i % 7] * x[i];
    if (threadIdx.x == 0) {
        blocks[blockIdx.x] = (double)blockIdx.x + 0.5;
        atomicAdd(counts, 1u);
    }
}

// Behind it on the first card alone, and into a table that `scaled` reads.
extern "C" __global__ void __launch_bounds__(64)
summed(const double* blocks, double* table)
{
    if (threadIdx.x != 0) return;
    double sum = 0.0;
    for (int b = 0; b < BLOCKS; b++) sum += blocks[b];
    for (int k = 0; k < 7; k++) table[k] = sum + k;
}
"#;

/// The name has cards run it.
#[test]
fn memcheck_tables_are_those_that_were_written_last() -> Result<(), DeviceError> {
    for device in teams(&[2, 3]) {
        let n = if device.is_cuda() { 1_000_003 } else { 1_003usize };
        let blocks = n.div_ceil(64);
        let head = format!("{}constexpr int N = {n}, BLOCKS = {blocks};\n", Warp::default().prelude());
        let entries = vec!["scaled".into(), "summed".into()];
        let text = KernelText { name: "several_cards".into(), text: head + TEXT, plan: format!("({n})"), entries };
        let kernel = device.compile(&text)?;
        let scaled = Launch::new(
            "scaled",
            blocks as u64,
            64,
            0,
            vec![
                Parameter::table("table", Element::F64, 7),
                Parameter::memory("x", Element::F64, Access::In, n as u64),
                Parameter::memory("y", Element::F64, Access::Out, n as u64),
                Parameter::memory("blocks", Element::F64, Access::Out, blocks as u64),
                Parameter::memory("counts", Element::U32, Access::InOut, 1),
            ],
        )?;
        let summed = Launch::new(
            "summed",
            1,
            64,
            0,
            vec![
                Parameter::memory("blocks", Element::F64, Access::In, blocks as u64),
                Parameter::memory("table", Element::F64, Access::Out, 7),
            ],
        )?;
        let values = numbers(n, 5);
        let x = device.upload(&values)?;
        let mut y: Vector<f64> = device.zeros(n)?;
        let mut counted: Buffer<u32> = device.buffer(&[0])?;
        let mut numbered: Buffer<f64> = device.buffer(&vec![0.0; blocks])?;
        let mut table: Buffer<f64> = device.buffer(&[1.0; 7])?;
        let scale =
            |table: &Buffer<f64>, y: &mut Vector<f64>, numbered: &mut Buffer<f64>, counted: &mut Buffer<u32>| {
                let arguments = Arguments::new().read("table", table).read("x", &x).write("y", y);
                kernel.launch(&scaled, arguments.write("blocks", numbered).write("counts", counted))
            };
        let check = |table: [f64; 7], y: &Vector<f64>| {
            let found = y.download().unwrap();
            let right = found.iter().enumerate().all(|(i, y)| *y == table[i % 7] * values[i]);
            assert!(right, "table {table:?} on {}", device.name());
        };
        scale(&table, &mut y, &mut numbered, &mut counted)?;
        check([1.0; 7], &y);
        // The host writes it: copies on other cards are old.
        table.write(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
        scale(&table, &mut y, &mut numbered, &mut counted)?;
        check([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &y);
        // A kernel writes it, on the first card, from what all cards wrote.
        kernel.launch(&summed, Arguments::new().read("blocks", &numbered).write("table", &mut table))?;
        scale(&table, &mut y, &mut numbered, &mut counted)?;
        let sum = (0..blocks).map(|b| b as f64 + 0.5).sum::<f64>();
        check(std::array::from_fn(|k| sum + k as f64), &y);
        assert_eq!(counted.download()?, [3 * blocks as u32], "each block ran once on {}", device.name());
    }
    Ok(())
}

#[test]
fn what_takes_one_card_says_so() {
    for device in teams(&[2]) {
        let said = device.check_alone("DMRG").unwrap_err().to_string();
        assert!(said.starts_with("DMRG takes one card, and ") && said.contains("cuda:0"), "{said}");
        assert!(device.cards_at_work() > 1);
    }
    assert!(Device::cpu().check_alone("DMRG").is_ok());
}
