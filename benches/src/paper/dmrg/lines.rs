//! The matrix-vector operations of Davidson's method by themselves: Vᵀw (lines 3 and 12 of Algorithm 3) and V y (lines 5 and
//! 13), for a basis of a few long vectors.
//!
//! In: how long, how many vectors, a device. Out: seconds of one operation by the programs below; the sums of all are compared first.
//! In a run the four lines are one generated kernel; here each is a launch of its own, so that they can be told apart.
//!
//! | program | Vᵀw | V y |
//! |---|---|---|
//! | eigenforge | a vector program unrolled for its width ([`Belts`]) | a vector program of the width |
//! | Algorithm 4 | the paper's kernel, belts of 4 to 32, sums in shared memory or by shuffles (`benches/cuda/gemv_trans.cu`) | |
//! | cuBLAS | `dgemv` | `dgemv` |

use super::super::{PaperError, Setup};
use super::steps::Step;
use crate::dmrg::DmrgBenchError;
use crate::dmrg::belt::{Belt, Shape};
use crate::dmrg::belts::{BELT, Belts};
use crate::{median, seeded, vendor};
use eigenforge_runtime::solvers::lean::WIDTH;
use eigenforge_runtime::{Arguments, Bind, Device, DeviceError, Kernel, Program, Vector};
use eigenforge_templates::launch::{Access, Element, Parameter};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{KernelText, Launch, ScalarType, Warp};

/// Threads of a block of Algorithm 4.
const THREADS: u32 = 128;
/// Blocks: enough for every multiprocessor of a card several times.
const BLOCKS: u32 = 1_056;

/// Algorithm 4 for one shape.
pub(super) struct Algorithm4 {
    text: KernelText,
    launches: [Launch; 2],
    length: usize,
    width: usize,
    /// Sums that blocks save.
    saved: usize,
}

impl Algorithm4 {
    /// For `width` vectors of `length`, `belt` of them in one pass; by shuffles or through shared memory alone.
    pub(super) fn new(length: usize, width: usize, belt: usize, shuffle: bool) -> Result<Algorithm4, DeviceError> {
        let blocks = BLOCKS.min(length.div_ceil(THREADS as usize) as u32).max(1);
        let constants = [
            ("LENGTH", length as u64),
            ("WIDTH", width as u64),
            ("BELT", belt as u64),
            ("SHUFFLE", u64::from(shuffle)),
            ("THREADS", u64::from(THREADS)),
            ("BLOCKS", u64::from(blocks)),
        ];
        let declared: String =
            constants.iter().map(|(name, value)| format!("constexpr u32 {name} = {value};\n")).collect();
        let source = include_str!("../../../cuda/gemv_trans.cu");
        let text = KernelText {
            name: "baseline_gemv_trans".into(),
            text: format!("{}\n{declared}\n{source}", Warp::NVIDIA.prelude()),
            plan: format!("(gemv_trans: {length} x {width}, belts of {belt}, shuffle: {shuffle})"),
            entries: vec!["gemv_trans".into(), "gemv_trans_sum".into()],
        };
        let saved = u64::from(blocks) * width as u64;
        let memory = |name, access, length| Parameter::memory(name, Element::F64, access, length);
        let multiply = vec![
            memory("mtx", Access::In, (length * width) as u64),
            memory("vec", Access::In, length as u64),
            memory("saved", Access::Out, saved),
        ];
        let sum = vec![memory("saved", Access::In, saved), memory("sums", Access::Out, width as u64)];
        let launches = [
            Launch::new("gemv_trans", u64::from(blocks), THREADS, 0, multiply)?,
            Launch::new("gemv_trans_sum", width as u64, THREADS, 0, sum)?,
        ];
        Ok(Algorithm4 { text, launches, length, width, saved: saved as usize })
    }

    /// On a device that runs kernels.
    pub(super) fn load(self, device: &Device) -> Result<LoadedAlgorithm4, DeviceError> {
        let kernel = device.compile(&self.text)?;
        self.launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let saved = device.zeros(self.saved)?;
        let sums = device.upload(&vec![f64::NAN; self.width])?;
        Ok(LoadedAlgorithm4 { kernel, of: self, saved, sums })
    }
}

/// Algorithm 4 on a device.
pub(super) struct LoadedAlgorithm4 {
    kernel: Kernel,
    of: Algorithm4,
    saved: Vector<f64>,
    sums: Vector<f64>,
}

impl LoadedAlgorithm4 {
    /// Queues Vᵀw; `v` has the vectors one after the other.
    pub(super) fn queue(&mut self, v: &Vector<f64>, w: &Vector<f64>) -> Result<(), DeviceError> {
        let LoadedAlgorithm4 { kernel, of, saved, sums } = self;
        let [multiply, sum] = &of.launches;
        kernel.launch(multiply, Arguments::new().read("mtx", v).read("vec", w).write("saved", saved))?;
        kernel.launch(sum, Arguments::new().read("saved", saved).write("sums", sums))
    }

    /// Median seconds of Vᵀw over a pool larger than the caches, and the sums of its first set.
    fn time(&mut self, device: &Device, repeats: usize) -> Result<(f64, Vec<f64>), DeviceError> {
        let Algorithm4 { length, width, .. } = self.of;
        let (sets, each) = (Shape { length, width }.sets(), width + 1);
        let of_set = |set: usize| -> Result<(Vector<f64>, Vector<f64>), DeviceError> {
            let vector = |k: usize| seeded::vector(length, (set * each + k) as u64);
            let v: Vec<f64> = (0..width).flat_map(vector).collect();
            Ok((device.upload(&v)?, device.upload(&vector(width))?))
        };
        let pool = (0..sets).map(of_set).collect::<Result<Vec<_>, _>>()?;
        self.queue(&pool[0].0, &pool[0].1)?;
        let found = self.sums.download()?;
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let (done, milliseconds) = device.time(|| pool.iter().try_for_each(|(v, w)| self.queue(v, w)))?;
            done?;
            times.push(1e-3 * milliseconds / sets as f64);
        }
        Ok((median(&times), found))
    }
}

/// One program's time of an operation.
pub(super) struct Timed {
    pub name: String,
    pub seconds: f64,
}

/// Vᵀw by every program of a device. Widths beyond a belt are several belts of ours.
///
/// # Errors
/// A device that fails, sums that differ.
pub(super) fn transposed(
    length: usize,
    width: usize,
    belts: &[(usize, bool)],
    device: &Device,
    ordinal: usize,
    repeats: usize,
) -> Result<Vec<Timed>, PaperError> {
    let shape = Shape { length, width };
    let ours = Belt::time(shape, device, ordinal, repeats).map_err(bench)?;
    let mut list = vec![Timed { name: "eigenforge".into(), seconds: ours.seconds() }];
    if let Some(seconds) = ours.vendor_seconds() {
        list.push(Timed { name: "cuBLAS dgemv".into(), seconds });
    }
    if !device.runs_kernels() {
        return Ok(list);
    }
    for &(belt, shuffle) in belts {
        let mut baseline = Algorithm4::new(length, width, belt, shuffle)?.load(device)?;
        let (seconds, found) = baseline.time(device, repeats)?;
        let name = format!("Algorithm 4, belts of {belt}{}", if shuffle { ", shuffle" } else { "" });
        same_sums(&name, ours.sums(), &found, 1e-13 * length as f64)?;
        list.push(Timed { name, seconds });
    }
    Ok(list)
}

fn same_sums(what: &str, expected: &[f64], found: &[f64], most: f64) -> Result<(), PaperError> {
    for (row, (&expected, &found)) in expected.iter().zip(found).enumerate() {
        let close = (expected - found).abs() <= most;
        if !close {
            return Err(PaperError::Disagree { what: what.into(), row, found, expected });
        }
    }
    Ok(())
}

fn bench(error: DmrgBenchError) -> PaperError {
    match error {
        DmrgBenchError::Device(error) => error.into(),
        other => PaperError::Run { what: "the inner products".into(), said: other.to_string() },
    }
}

/// x = V y as a vector program; at most [`BELT`] vectors, the others by further launches that add.
struct Combination {
    first: Program,
    further: Vec<Program>,
    width: usize,
}

impl Combination {
    fn new(width: usize, device: &Device) -> Result<Combination, PaperError> {
        let names =
            |letter: char, count: usize| -> Vec<String> { (0..count).map(|k| format!("{letter}{k}")).collect() };
        let program = |count: usize, adds: bool| -> Result<Program, PaperError> {
            let (v, y) = (names('v', count), names('y', count));
            let terms: Vec<String> = v.iter().zip(&y).map(|(v, y)| format!("{y} * {v}")).collect();
            let (kind, before) = if adds { ("inout", "x + ") } else { ("out", "") };
            let source = format!(
                "program combination\nvectors x : {kind}\nvectors {} : in\nscalars {}\nx = {before}{}\n",
                v.join(" "),
                y.join(" "),
                terms.join(" + ")
            );
            Ok(device.program(&VectorProgram::parse(&source)?, ScalarType::F64, &[])?)
        };
        let first = program(width.min(BELT), false)?;
        let rest = (BELT..width).step_by(BELT).map(|from| program((width - from).min(BELT), true));
        Ok(Combination { first, further: rest.collect::<Result<_, _>>()?, width })
    }

    fn queue(&self, v: &[Vector<f64>], y: &[f64], x: &mut Vector<f64>) -> Result<(), DeviceError> {
        let mut parts = v[..self.width].chunks(BELT).zip(y.chunks(BELT));
        for program in std::iter::once(&self.first).chain(&self.further) {
            let Some((v, y)) = parts.next() else { break };
            let mut binds: Vec<Bind<'_, f64>> = std::iter::once(Bind::Out(&mut *x)).collect();
            binds.extend(v.iter().map(Bind::In));
            program.queue(&mut binds, y)?;
        }
        Ok(())
    }
}

/// x = V y by every program of a device.
///
/// # Errors
/// A device that fails, vectors that differ.
pub(super) fn combined(
    length: usize,
    width: usize,
    device: &Device,
    ordinal: usize,
    repeats: usize,
) -> Result<Vec<Timed>, PaperError> {
    let shape = Shape { length, width };
    let (sets, each) = (shape.sets(), width + 1);
    let vector = |k: usize| device.upload(&seeded::vector(length, k as u64));
    let mut pool = (0..sets)
        .map(|set| (0..each).map(|k| vector(set * each + k)).collect::<Result<Vec<_>, _>>())
        .collect::<Result<Vec<_>, _>>()?;
    let y = seeded::vector(width, 7);
    let program = Combination::new(width, device)?;
    let mut run = |set: &mut Vec<Vector<f64>>| match set.split_last_mut() {
        Some((x, v)) => program.queue(v, &y, x),
        None => Ok(()),
    };
    pool.iter_mut().try_for_each(&mut run)?;
    let found = pool[0][width].download()?;
    for (at, &value) in found.iter().enumerate().step_by((length / 97).max(1)) {
        let expected: f64 = (0..width).map(|k| y[k] * seeded::element(k as u64, at as u64)).sum();
        let what = "V y";
        let apart = (value - expected).abs();
        if apart.is_nan() || apart > 1e-13 * width as f64 {
            return Err(PaperError::Disagree { what: what.into(), row: at, found: value, expected });
        }
    }
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let (done, milliseconds) = device.time(|| pool.iter_mut().try_for_each(&mut run))?;
        done?;
        times.push(1e-3 * milliseconds / sets as f64);
    }
    drop(pool);
    let mut list = vec![Timed { name: "eigenforge".into(), seconds: median(&times) }];
    if device.is_cuda() {
        let theirs = vendor::combination(shape, &y, ordinal, repeats)
            .map_err(|error| PaperError::Run { what: "dgemv of cuBLAS".into(), said: error.to_string() })?;
        same_sums("cuBLAS dgemv", &found, &theirs.vector, 1e-13 * width as f64)?;
        list.push(Timed { name: "cuBLAS dgemv".into(), seconds: 1e-3 * theirs.milliseconds });
    }
    Ok(list)
}

/// Iterations of each width in a search of so many products: from one vector to `WIDTH`, then from two on again.
fn widths(products: usize, dimension: usize) -> Vec<usize> {
    let most = WIDTH.min(dimension);
    let (mut counts, mut width) = (vec![0; most + 1], 0);
    for _ in 0..products {
        width = if width >= most { 2.min(most) } else { width + 1 };
        counts[width] += 1;
    }
    counts
}

/// Seconds of Vᵀw and of V y over all iterations of a run, each operation by itself, by every program; two of each are in an
/// iteration.
///
/// # Errors
/// A device that fails.
pub(super) fn replay(steps: &[Step], setup: &Setup) -> Result<Vec<(String, [f64; 2])>, PaperError> {
    let longest = steps.iter().map(|step| step.dimension).max().unwrap_or(0);
    let numbers = seeded::vector(longest + WIDTH + 1, 11);
    let mut list = vec![("CPU".to_string(), replay_on(steps, &numbers, &Device::cpu(), 1)?)];
    if setup.device.runs_kernels() {
        list.push(("device".into(), replay_on(steps, &numbers, &setup.device, 3)?));
    }
    if setup.device.is_cuda() {
        let mut sums = [0.0; 2];
        for step in steps {
            let counts = widths(step.products, step.dimension);
            let times = vendor::matrix_vector(&numbers, step.dimension, counts.len() - 1, setup.ordinal, 3)
                .map_err(|error| PaperError::Run { what: "dgemv of cuBLAS".into(), said: error.to_string() })?;
            add(&mut sums, &counts, &times);
        }
        list.push(("cuBLAS dgemv".into(), sums));
    }
    Ok(list)
}

/// Adds up times of the widths 1, 2, ….
fn add(sums: &mut [f64; 2], counts: &[usize], times: &[[f64; 2]]) {
    for (count, time) in counts[1..].iter().zip(times) {
        sums.iter_mut().zip(time).for_each(|(sum, time)| *sum += *count as f64 * time);
    }
}

fn replay_on(steps: &[Step], numbers: &[f64], device: &Device, repeats: usize) -> Result<[f64; 2], PaperError> {
    let belts = Belts::new(device);
    let combinations = (1..=WIDTH).map(|width| Combination::new(width, device)).collect::<Result<Vec<_>, _>>()?;
    let y = seeded::vector(WIDTH, 7);
    let mut sums = [0.0; 2];
    for step in steps {
        let n = step.dimension;
        let counts = widths(step.products, n);
        let vector = |k: usize| device.upload(&numbers[k..k + n]);
        let v = (0..counts.len() - 1).map(vector).collect::<Result<Vec<_>, _>>()?;
        let mut w = vector(counts.len() - 1)?;
        let mut times = Vec::with_capacity(counts.len() - 1);
        for width in 1..counts.len() {
            let first: Vec<&Vector<f64>> = v[..width].iter().collect();
            let transposed = time(device, repeats, || belts.queue(&first, &w))?;
            let plain = time(device, repeats, || combinations[width - 1].queue(&v, &y[..width], &mut w))?;
            times.push([transposed, plain]);
        }
        add(&mut sums, &counts, &times);
    }
    Ok(sums)
}

/// Median seconds, after one run that is not counted.
fn time(device: &Device, repeats: usize, mut run: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    run()?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let (done, milliseconds) = device.time(&mut run)?;
        done?;
        times.push(1e-3 * milliseconds);
    }
    Ok(median(&times))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every belt and both sums, widths that belts do not divide, vectors shorter than a block.
    #[test]
    fn algorithm_4_gives_the_inner_products() {
        let device = Device::parse("sim").unwrap();
        for (length, width, belt, shuffle) in
            [(1000, 5, 4, false), (1000, 5, 4, true), (77, 9, 8, false), (513, 16, 16, true), (300, 33, 32, true)]
        {
            let v = seeded::vector(length * width, 3);
            let w = seeded::vector(length, 4);
            let mut program = Algorithm4::new(length, width, belt, shuffle).unwrap().load(&device).unwrap();
            program.queue(&device.upload(&v).unwrap(), &device.upload(&w).unwrap()).unwrap();
            for (k, found) in program.sums.download().unwrap().into_iter().enumerate() {
                let expected: f64 = v[k * length..][..length].iter().zip(&w).map(|(v, w)| v * w).sum();
                assert!((found - expected).abs() < 1e-12, "{length} x {width}, {belt}, {shuffle}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_basis_of_twenty_vectors_goes_on_with_two() {
        assert_eq!(widths(3, 100), [&[0, 1, 1, 1][..], &[0; 17]].concat());
        let counts = widths(41, 1_000);
        assert_eq!((counts[1], counts[2], counts[3], counts[20], counts.iter().sum::<usize>()), (1, 3, 3, 2, 41));
        assert_eq!(widths(4, 2), [0, 1, 3]);
    }

    #[test]
    fn combinations_of_more_vectors_than_a_belt_holds_add_up() {
        for width in [1, 20, BELT + 3] {
            let times = combined(500, width, &Device::cpu(), 0, 1).unwrap();
            assert!(times.len() == 1 && times[0].seconds > 0.0);
        }
    }
}
