//! The launches of a multiply with the arguments that `Hamiltonian` passes on CUDA, and the comparison with the dense
//! matrix: y and x·y, NaN before, bit for bit the same under all schedules.

use super::SCHEDULES;
use eigenforge::exact::{Model, Prepared};
use eigenforge::runtime::Scalar;
use eigenforge::runtime::simulate::{Argument, Schedule, SimulateError, Simulated, Simulator};
use eigenforge_templates::exact::IndexWord;
use ndarray::Array2;

pub fn bytes<T: Scalar>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    T::write_bytes(values, &mut out);
    out
}

pub fn wide(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    values.into_iter().flat_map(u64::to_ne_bytes).collect()
}

pub fn narrow(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_ne_bytes).collect()
}

fn words(word: IndexWord, values: Vec<u64>) -> Vec<u8> {
    let values = if values.is_empty() { vec![0] } else { values };
    let bytes = word.bytes();
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(bytes)).collect()
}

fn states(values: &[u64]) -> Vec<u8> {
    narrow(values.iter().map(|word| *word as u32))
}

/// The tables of the diagonal function, in the order of its parameters.
pub fn diagonal_tables(prepared: &Prepared) -> Vec<Vec<u8>> {
    match prepared {
        Prepared::Kronecker { up, down, .. } => vec![states(&up.states), states(&down.states)],
        Prepared::General { tables, .. } => vec![
            wide(tables.parts.iter().map(|part| part.start)),
            wide(tables.parts.iter().map(|part| part.high)),
            wide(tables.parts.iter().map(|part| part.first_low)),
            wide(tables.low_states.iter().copied()),
        ],
    }
}

/// y = H x and x·y as bytes.
pub fn multiply(
    simulated: &Simulated,
    prepared: &Prepared,
    x: &[u8],
    schedule: Schedule,
) -> Result<(Vec<u8>, f64), SimulateError> {
    let run = |entry: &str, blocks: u64, threads: u32, shared: u64, arguments: &mut [Argument<'_>]| {
        simulated.launch(entry, [blocks as u32, 1, 1], [threads, 1, 1], shared as u32, arguments, schedule)
    };
    let mut y = vec![0; x.len()];
    let diagonal = diagonal_tables(prepared);
    let mut partials;
    match prepared {
        Prepared::Kronecker { plan, up, down } => {
            partials = vec![0; 8 * plan.partials() as usize];
            let (start, neighbours) = up.packed_slices();
            let (start, neighbours) = (narrow(start), words(plan.up.word, neighbours));
            let mut arguments = [
                Argument::In(x),
                Argument::Out(&mut y),
                Argument::Out(&mut partials),
                Argument::In(&start),
                Argument::In(&neighbours),
                Argument::In(&diagonal[0]),
                Argument::In(&diagonal[1]),
            ];
            run("multiply_up", plan.up_blocks(), plan.up_threads, plan.up_shared(), &mut arguments)?;
            if plan.has_down() {
                let (start, neighbours) = down.packed_rows(plan.down_columns as usize);
                let (start, neighbours) = (narrow(start), words(plan.down.word, neighbours));
                let mut arguments = [
                    Argument::In(x),
                    Argument::InOut(&mut y),
                    Argument::Out(&mut partials),
                    Argument::In(&start),
                    Argument::In(&neighbours),
                ];
                let (threads, shared) = (plan.down_rows * plan.down_lanes, plan.down_shared());
                run("multiply_down", plan.down_blocks(), threads, shared, &mut arguments)?;
            }
        }
        Prepared::General { plan, tables } => {
            partials = vec![0; 8 * plan.blocks as usize];
            let terms: Vec<_> = plan.groups.iter().flat_map(|group| &group.terms).collect();
            let mut start = vec![0u32];
            plan.groups.iter().for_each(|group| start.push(start[start.len() - 1] + group.terms.len() as u32));
            let amplitudes: Vec<f64> = terms.iter().map(|term| term.amplitude).collect();
            let mut lists = diagonal;
            lists.push(wide(tables.high_offset.iter().copied()));
            lists.push(narrow(tables.low_index.iter().copied()));
            if !plan.unrolled {
                lists.push(wide(plan.groups.iter().map(|group| group.flip)));
                lists.push(narrow(start));
                lists.push(wide(terms.iter().map(|term| term.care)));
                lists.push(wide(terms.iter().map(|term| term.pattern)));
                lists.push(wide(terms.iter().map(|term| term.sign)));
                lists.push(bytes(&amplitudes));
            }
            let mut arguments = vec![Argument::In(x), Argument::Out(&mut y), Argument::Out(&mut partials)];
            arguments.extend(lists.iter().map(|list| Argument::In(list)));
            run("multiply", u64::from(plan.blocks), plan.threads, 0, &mut arguments)?;
        }
    }
    let mut dot = vec![0; 8];
    let count = partials.len() as i64 / 8;
    let mut arguments = [Argument::In(&partials), Argument::I64(count), Argument::Out(&mut dot)];
    run("multiply_finish", 1, 1024, 0, &mut arguments)?;
    Ok((y, f64::read_bytes(&dot)[0]))
}

pub fn start<T: Scalar>(n: usize, salt: usize) -> Vec<T> {
    let value = |i: usize| ((i * 7919 + salt * 104729 + 13) % 2003) as f64 / 1001.5 - 1.0;
    (0..n).map(|i| T::from_f64(value(i))).collect()
}

/// Builds the text of a plan and compares the multiply with the dense matrix.
pub fn check<T: Scalar>(simulator: &Simulator, model: &Model, prepared: &Prepared, dense: &Array2<f64>) {
    let text = prepared.text().unwrap();
    let simulated = simulator.build(&text).unwrap_or_else(|error| panic!("{error}"));
    let n = dense.nrows();
    let x: Vec<T> = start(n, 0);
    let runs = SCHEDULES.map(|schedule| {
        multiply(&simulated, prepared, &bytes(&x), schedule)
            .unwrap_or_else(|error| panic!("{schedule:?}: {error}\n{}", prepared.plan_text()))
    });
    for run in &runs {
        assert!(run.0 == runs[0].0, "{}: y differs between schedules", model.name());
        assert_eq!(run.1.to_bits(), runs[0].1.to_bits(), "{}: x.y differs between schedules", model.name());
    }
    let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    let y: Vec<f64> = T::read_bytes(&runs[0].0).iter().map(|y| y.to_f64()).collect();
    let exact: Vec<f64> = dense.rows().into_iter().map(|row| row.iter().zip(&x).map(|(h, x)| h * x).sum()).collect();
    let scale = exact.iter().fold(1e-3f64, |scale, value| scale.max(value.abs()));
    // One rounding of y in its type (two where a second launch adds to it), and sums of some tens of terms in double.
    let tolerance = 4.0 * T::EPSILON * scale + 1e-14 * scale;
    for (row, (y, exact)) in y.iter().zip(&exact).enumerate() {
        assert!((y - exact).abs() <= tolerance, "{} row {row}: {y}, expected {exact}", model.name());
    }
    let dot: f64 = exact.iter().zip(&x).map(|(a, b)| a * b).sum();
    let found = runs[0].1;
    assert!((found - dot).abs() <= tolerance * n as f64, "{}: x.y = {found}, expected {dot}", model.name());
}
