//! One N_max: what is measured, and the table.
//!
//! Milliseconds unless a name says seconds. The floor is every element read and every strength written once, and W⁰ read, at the
//! bandwidth of a large copy in the same run.

use super::{Su3Arguments, Su3BenchError, difference, median, seeded};
use eigenforge::su3::{
    DeviceCoefficients, DevicePaper, DeviceTransform, OscillatorSpace, Plan, Tables, coefficients_on_cpu, forward,
    published_sum,
};
use eigenforge::words::grouped;
use eigenforge_runtime::{Device, Vector};
use eigenforge_su3::Coupler;
use std::io::Write;
use std::time::Instant;

/// Largest difference of a sum of this many terms in another order.
const TOLERANCE: f64 = 1e-13;

/// Everything of one N_max.
pub(super) struct Row {
    n_max: u32,
    numbers: usize,
    plan_seconds: f64,
    tables_seconds: f64,
    w0: usize,
    /// Kernels compiled or found, tables copied.
    ready_seconds: f64,
    cpu: f64,
    /// The published sum on the CPU, where there is no device beside it.
    paper_on_cpu: Option<f64>,
    on_device: Option<OnDevice>,
    coefficients: Option<Coefficients>,
}

/// All W⁰ on the device.
struct Coefficients {
    /// What the CPU computes for them, kernels and tables to the device.
    prepare_seconds: f64,
    milliseconds: f64,
    /// From the CPU's, largest.
    difference: f64,
    /// From orthogonality, measured on the device.
    defect: f64,
}

struct OnDevice {
    floor: f64,
    forward: f64,
    inverse: f64,
    /// Copy in, transform, copy out; from and to fixed host memory.
    with_copies: f64,
    difference: f64,
    paper: Option<f64>,
}

impl Row {
    /// Measures.
    pub fn measure(n_max: u32, arguments: &Su3Arguments, device: &Device) -> Result<Row, Su3BenchError> {
        let channels = arguments.channels as usize;
        let seconds = |start: Instant| start.elapsed().as_secs_f64();
        let start = Instant::now();
        let plan = Plan::new(OscillatorSpace { n_max });
        let plan_seconds = seconds(start);
        let start = Instant::now();
        let tables = Tables::new(&plan)?;
        let tables_seconds = seconds(start);
        let elements = seeded::vector(channels * plan.length, seeded::SEED_X);
        let once = || elements.chunks_exact(plan.length).flat_map(|u| forward(&plan, &tables, u)).collect::<Vec<f64>>();
        let start = Instant::now();
        let expected = once();
        let mut times = vec![1e3 * seconds(start)];
        // Beside a device the CPU's time is that of one run.
        let repeats = if device.runs_kernels() { 1 } else { arguments.repeats };
        times.extend((1..repeats).map(|_| {
            let start = Instant::now();
            std::hint::black_box(once());
            1e3 * seconds(start)
        }));
        let cpu = median(&times);
        let mut row = Row {
            n_max,
            numbers: elements.len(),
            plan_seconds,
            tables_seconds,
            w0: tables.w0,
            ready_seconds: 0.0,
            cpu,
            paper_on_cpu: None,
            on_device: None,
            coefficients: None,
        };
        if device.runs_kernels() {
            let start = Instant::now();
            let ours = DeviceTransform::new(&plan, &tables, channels, device)?;
            device.synchronize()?;
            row.ready_seconds = seconds(start);
            let mut found = row.on_device(&ours, &elements, &expected, arguments.repeats as usize)?;
            drop(ours);
            row.coefficients = Some(row.coefficients(&plan, &tables, device, arguments.repeats as usize)?);
            if n_max <= arguments.paper {
                found.paper = Some(row.paper(&plan, &tables, [&elements, &expected], device)?);
            }
            row.on_device = Some(found);
        } else if n_max <= arguments.paper {
            let start = Instant::now();
            let sums = elements.chunks_exact(plan.length).flat_map(|u| published_sum(&plan, &tables, u).0);
            let found: Vec<f64> = sums.collect();
            row.paper_on_cpu = Some(1e3 * seconds(start));
            row.compare("the published sum", &found, &expected)?;
        }
        Ok(row)
    }

    fn on_device(
        &self,
        ours: &DeviceTransform,
        elements: &[f64],
        expected: &[f64],
        repeats: usize,
    ) -> Result<OnDevice, Su3BenchError> {
        let device = ours.device();
        let (mut numbers, mut work) = (device.upload(elements)?, device.zeros(elements.len())?);
        let copied = self.median_of(repeats, device, || Ok(work.copy_from(&numbers)?))?;
        let floor = copied * ours.cost().bytes / (16 * elements.len()) as f64;
        ours.forward(&mut numbers, &mut work)?;
        let mut host = device.pinned(elements.len())?;
        numbers.read_part(0, &mut host)?;
        let forward_difference = self.compare("strengths", &host, expected)?;
        ours.inverse(&mut numbers, &mut work)?;
        numbers.read_part(0, &mut host)?;
        let difference = forward_difference.max(self.compare("elements and back", &host, elements)?);
        let forward = self.median_of(repeats, device, || Ok(ours.forward(&mut numbers, &mut work)?))?;
        let inverse = self.median_of(repeats, device, || Ok(ours.inverse(&mut numbers, &mut work)?))?;
        let mut output = device.pinned(elements.len())?;
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let start = Instant::now();
            numbers.write_part(0, &host)?;
            ours.forward(&mut numbers, &mut work)?;
            numbers.read_part(0, &mut output)?;
            times.push(1e3 * start.elapsed().as_secs_f64());
        }
        self.compare("strengths with copies", &output, expected)?;
        Ok(OnDevice { floor, forward, inverse, with_copies: median(&times), difference, paper: None })
    }

    fn coefficients(
        &self,
        plan: &Plan,
        tables: &Tables,
        device: &Device,
        repeats: usize,
    ) -> Result<Coefficients, Su3BenchError> {
        let start = Instant::now();
        let ours = DeviceCoefficients::new(plan, &Coupler::new(), device)?;
        device.synchronize()?;
        let prepare_seconds = start.elapsed().as_secs_f64();
        let mut w0 = ours.room()?;
        let milliseconds = self.median_of(repeats, device, || Ok(ours.compute(&mut w0)?))?;
        let (found, expected) = (w0.download()?, coefficients_on_cpu(plan, tables));
        let difference = self.compare("coefficients W0", &found, &expected)?;
        Ok(Coefficients { prepare_seconds, milliseconds, difference, defect: ours.defect(&w0)? })
    }

    fn median_of(
        &self,
        repeats: usize,
        device: &Device,
        mut work: impl FnMut() -> Result<(), Su3BenchError>,
    ) -> Result<f64, Su3BenchError> {
        work()?;
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let (done, milliseconds) = device.time(&mut work)?;
            done?;
            times.push(milliseconds);
        }
        Ok(median(&times))
    }

    /// The published sum, once: it is no matter of milliseconds.
    fn paper(
        &self,
        plan: &Plan,
        tables: &Tables,
        [elements, expected]: [&[f64]; 2],
        device: &Device,
    ) -> Result<f64, Su3BenchError> {
        let paper = DevicePaper::new(plan, tables, elements.len() / plan.length, device)?;
        let (elements, mut strengths): (_, Vector<f64>) = (device.upload(elements)?, device.zeros(elements.len())?);
        let (done, milliseconds) = device.time(|| paper.forward(&elements, &mut strengths))?;
        done?;
        self.compare("the published sum", &strengths.download()?, expected)?;
        Ok(milliseconds)
    }

    fn compare(&self, what: &'static str, found: &[f64], expected: &[f64]) -> Result<f64, Su3BenchError> {
        let difference = difference(found, expected);
        let close = difference <= TOLERANCE * f64::from(self.n_max.max(1));
        if close { Ok(difference) } else { Err(Su3BenchError::Disagree { n_max: self.n_max, what, difference }) }
    }
}

/// The tables.
pub(super) fn write(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\n| N_max | numbers | forward, ms | floor | times it | back, ms | with copies, ms | CPU, ms | published sum, ms | \
         times ours | difference |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for row in rows {
        write!(out, "| {} | {} |", row.n_max, grouped(row.numbers as u128))?;
        match &row.on_device {
            Some(found) => {
                let over = found.forward / found.floor;
                write!(out, " {:.3} | {:.3} | {over:.1} |", found.forward, found.floor)?;
                write!(out, " {:.3} | {:.2} | {:.0} |", found.inverse, found.with_copies, row.cpu)?;
                match found.paper {
                    Some(paper) => write!(out, " {paper:.0} | {:.0} |", paper / found.forward)?,
                    None => write!(out, " - | - |")?,
                }
                writeln!(out, " {:.1e} |", found.difference)?;
            }
            None => {
                write!(out, " - | - | - | - | - | {:.2} |", row.cpu)?;
                match row.paper_on_cpu {
                    Some(paper) => writeln!(out, " {paper:.0} | {:.0} | - |", paper / row.cpu)?,
                    None => writeln!(out, " - | - | - |")?,
                }
            }
        }
    }
    writeln!(
        out,
        "\n| N_max | plan, s | tables on the CPU, s | kernels and tables to the device, s | numbers W0 | made by the device, ms | \
         what it needs from the CPU, s | difference | defect |\n|---|---|---|---|---|---|---|---|---|"
    )?;
    for row in rows {
        let [plan, tables, ready] = [row.plan_seconds, row.tables_seconds, row.ready_seconds];
        write!(out, "| {} | {plan:.3} | {tables:.3} | {ready:.3} | {} |", row.n_max, grouped(row.w0 as u128))?;
        match &row.coefficients {
            Some(Coefficients { prepare_seconds, milliseconds, difference, defect }) => {
                writeln!(out, " {milliseconds:.2} | {prepare_seconds:.3} | {difference:.1e} | {defect:.1e} |")?;
            }
            None => writeln!(out, " - | - | - | - |")?,
        }
    }
    Ok(())
}
