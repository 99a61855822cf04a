//! Runs compiled code over host vectors: blocks of fixed size in parallel, each in chunks that fit the first-level cache.
//!
//! Block and chunk sizes do not depend on the number of threads and partial sums are added in block order, so a repeated
//! run gives the same bits on any number of threads.

use super::Bind;
use super::compile::{Code, Loop, One, Operand, Two, Uniform};
use super::loops;
use crate::device::ElementFunction;
use crate::scalar::Scalar;
use eigenforge_templates::vector_program::Comparison;
use rayon::prelude::*;
use std::ops::Range;

/// Elements of a chunk: 4 KiB per register.
const CHUNK: usize = 512;
/// Elements of a block, a thread's unit of work.
const BLOCK: usize = 64 * CHUNK;

enum Part<'a, T> {
    Read(&'a [T]),
    Write(&'a mut [T]),
}

impl<T> Part<'_, T> {
    fn read(&self) -> &[T] {
        match self {
            Part::Read(values) => values,
            Part::Write(values) => values,
        }
    }
}

/// Runs over the elements that are `here` and returns their sums. The caller has checked lengths and accesses.
pub(super) fn run<T: Scalar>(
    code: &Code,
    functions: &[ElementFunction],
    vectors: &mut [Bind<'_, T>],
    scalars: &[f64],
    here: Range<usize>,
) -> Vec<f64> {
    let n = here.len();
    let uniforms = uniforms(code, scalars);
    let mut blocks: Vec<Vec<Part<'_, T>>> = (0..n.div_ceil(BLOCK)).map(|_| Vec::with_capacity(vectors.len())).collect();
    for bind in vectors {
        match bind {
            Bind::In(vector) => {
                let parts = vector.local().unwrap_or_default().chunks(BLOCK).map(Part::Read);
                blocks.iter_mut().zip(parts).for_each(|(block, part)| block.push(part));
            }
            Bind::Out(vector) => {
                let parts = vector.local_mut().unwrap_or_default().chunks_mut(BLOCK).map(Part::Write);
                blocks.iter_mut().zip(parts).for_each(|(block, part)| block.push(part));
            }
        }
    }
    let one = |(index, mut block): (usize, Vec<Part<'_, T>>)| {
        run_block(code, functions, &mut block, &uniforms, here.start + index * BLOCK, BLOCK.min(n - index * BLOCK))
    };
    let partials: Vec<Vec<f64>> = if blocks.len() == 1 {
        blocks.into_iter().enumerate().map(one).collect()
    } else {
        blocks.into_par_iter().enumerate().map(one).collect()
    };
    let mut sums = vec![0.0; code.sums];
    for partial in partials {
        sums.iter_mut().zip(partial).for_each(|(sum, part)| *sum += part);
    }
    sums
}

fn run_block<T: Scalar>(
    code: &Code,
    functions: &[ElementFunction],
    vectors: &mut [Part<'_, T>],
    uniforms: &[f64],
    start: usize,
    len: usize,
) -> Vec<f64> {
    let mut registers: Vec<Vec<f64>> = vec![vec![0.0; CHUNK]; code.registers];
    let mut sums = vec![0.0; code.sums];
    for from in (0..len).step_by(CHUNK) {
        let to = len.min(from + CHUNK);
        let mut chunk: Vec<Part<'_, T>> = vectors
            .iter_mut()
            .map(|part| match part {
                Part::Read(values) => Part::Read(&values[from..to]),
                Part::Write(values) => Part::Write(&mut values[from..to]),
            })
            .collect();
        for each in &code.loops {
            run_loop(each, functions, &mut chunk, uniforms, &mut registers, &mut sums, start + from, to - from);
        }
    }
    sums
}

/// A value as used by the inner loops.
enum Value<'a> {
    Chunk(&'a [f64]),
    Uniform(f64),
}

#[allow(clippy::too_many_arguments)]
fn run_loop<T: Scalar>(
    each: &Loop,
    functions: &[ElementFunction],
    vectors: &mut [Part<'_, T>],
    uniforms: &[f64],
    registers: &mut [Vec<f64>],
    sums: &mut [f64],
    start: usize,
    len: usize,
) {
    if let Loop::Store { vector, a } = each {
        // A vector is stored from a register or a number, never from another vector.
        let Part::Write(values) = &mut vectors[*vector] else { return };
        match a {
            Operand::Uniform(u) => values.fill(T::from_f64(uniforms[*u])),
            Operand::Register(r) => T::store(&registers[*r][..len], values),
            Operand::Vector(_) => {}
        }
        return;
    }
    // The written register is taken out, so that it cannot be read at the same time.
    let target = match each {
        Loop::Load { to, .. }
        | Loop::Evaluate { to, .. }
        | Loop::One { to, .. }
        | Loop::Two { to, .. }
        | Loop::Linear { to, .. }
        | Loop::Axpy { to, .. }
        | Loop::Fma { to, .. }
        | Loop::Select { to, .. } => Some(*to),
        Loop::Dot { .. } | Loop::Add { .. } | Loop::Store { .. } => None,
    };
    let mut taken = target.map(|to| std::mem::take(&mut registers[to])).unwrap_or_default();
    {
        let to: &mut [f64] = taken.get_mut(..len).unwrap_or_default();
        let value = |operand: &Operand| match operand {
            Operand::Uniform(u) => Value::Uniform(uniforms[*u]),
            Operand::Register(r) => Value::Chunk(&registers[*r][..len]),
            Operand::Vector(v) => Value::Chunk(T::as_f64(vectors[*v].read()).unwrap_or_default()),
        };
        let chunk = |operand: &Operand| match value(operand) {
            Value::Chunk(chunk) => chunk,
            Value::Uniform(_) => &[],
        };
        match each {
            Loop::Load { vector, .. } => {
                to.iter_mut().zip(vectors[*vector].read()).for_each(|(to, v)| *to = v.to_f64());
            }
            Loop::Evaluate { function, .. } => (functions[*function].host)(start, to),
            Loop::One { operation, a, .. } => match (operation, chunk(a)) {
                (One::Negate, a) => loops::negate(to, a),
                (One::Sqrt, a) => loops::sqrt(to, a),
                (One::Abs, a) => loops::abs(to, a),
                (One::Round, _) => match value(a) {
                    Value::Chunk(a) => loops::round(to, a),
                    Value::Uniform(u) => to.fill(f64::from(u as f32)),
                },
                (One::Copy, a) => to.copy_from_slice(a),
            },
            Loop::Two { operation, a, b, .. } => run_two(*operation, to, value(a), value(b)),
            Loop::Linear { u, x, v, y, .. } => loops::linear(to, uniforms[*u], chunk(x), uniforms[*v], chunk(y)),
            Loop::Axpy { u, x, y, .. } => loops::axpy(to, uniforms[*u], chunk(x), chunk(y)),
            Loop::Fma { a, b, c, .. } => {
                let (a, b, c) = (value(a), value(b), value(c));
                for (i, to) in to.iter_mut().enumerate() {
                    *to = a.element(i).mul_add(b.element(i), c.element(i));
                }
            }
            Loop::Select { comparison, left, right, then, otherwise, .. } => {
                let [left, right, then, otherwise] = [value(left), value(right), value(then), value(otherwise)];
                for (i, to) in to.iter_mut().enumerate() {
                    let holds = compare(*comparison, left.element(i), right.element(i));
                    *to = if holds { then.element(i) } else { otherwise.element(i) };
                }
            }
            Loop::Dot { sum, a, b } => sums[*sum] += loops::dot(chunk(a), chunk(b)),
            Loop::Add { sum, a } => {
                sums[*sum] += match value(a) {
                    Value::Chunk(a) => loops::total(a),
                    Value::Uniform(u) => u * len as f64,
                }
            }
            Loop::Store { .. } => {}
        }
    }
    if let Some(to) = target {
        registers[to] = taken;
    }
}

impl Value<'_> {
    fn element(&self, i: usize) -> f64 {
        match self {
            Value::Chunk(chunk) => chunk[i],
            Value::Uniform(u) => *u,
        }
    }
}

fn run_two(operation: Two, to: &mut [f64], a: Value<'_>, b: Value<'_>) {
    use Value::{Chunk, Uniform as Same};
    match (operation, a, b) {
        (Two::Add, Chunk(a), Chunk(b)) => loops::add(to, a, b),
        (Two::Add, Same(a), Chunk(b)) => loops::add_left(to, a, b),
        (Two::Add, Chunk(a), Same(b)) => loops::add_right(to, a, b),
        (Two::Subtract, Chunk(a), Chunk(b)) => loops::subtract(to, a, b),
        (Two::Subtract, Same(a), Chunk(b)) => loops::subtract_left(to, a, b),
        (Two::Subtract, Chunk(a), Same(b)) => loops::subtract_right(to, a, b),
        (Two::Multiply, Chunk(a), Chunk(b)) => loops::multiply(to, a, b),
        (Two::Multiply, Same(a), Chunk(b)) => loops::multiply_left(to, a, b),
        (Two::Multiply, Chunk(a), Same(b)) => loops::multiply_right(to, a, b),
        (Two::Divide, Chunk(a), Chunk(b)) => loops::divide(to, a, b),
        (Two::Divide, Same(a), Chunk(b)) => loops::divide_left(to, a, b),
        (Two::Divide, Chunk(a), Same(b)) => loops::divide_right(to, a, b),
        (Two::Min, Chunk(a), Chunk(b)) => loops::min(to, a, b),
        (Two::Min, Same(a), Chunk(b)) => loops::min_left(to, a, b),
        (Two::Min, Chunk(a), Same(b)) => loops::min_right(to, a, b),
        (Two::Max, Chunk(a), Chunk(b)) => loops::max(to, a, b),
        (Two::Max, Same(a), Chunk(b)) => loops::max_left(to, a, b),
        (Two::Max, Chunk(a), Same(b)) => loops::max_right(to, a, b),
        (operation, Same(a), Same(b)) => to.fill(two(operation, a, b)),
    }
}

fn two(operation: Two, a: f64, b: f64) -> f64 {
    match operation {
        Two::Add => a + b,
        Two::Subtract => a - b,
        Two::Multiply => a * b,
        Two::Divide => a / b,
        Two::Min => a.min(b),
        Two::Max => a.max(b),
    }
}

fn one(operation: One, a: f64) -> f64 {
    match operation {
        One::Negate => -a,
        One::Sqrt => a.sqrt(),
        One::Abs => a.abs(),
        One::Round => f64::from(a as f32),
        One::Copy => a,
    }
}

fn compare(comparison: Comparison, left: f64, right: f64) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::LessEqual => left <= right,
    }
}

/// Values that depend on scalars only; each entry uses earlier ones.
fn uniforms(code: &Code, scalars: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::with_capacity(code.uniforms.len());
    for uniform in &code.uniforms {
        values.push(match uniform {
            Uniform::Number(value) => *value,
            Uniform::Scalar(index) => scalars[*index],
            Uniform::One(operation, a) => one(*operation, values[*a]),
            Uniform::Two(operation, a, b) => two(*operation, values[*a], values[*b]),
            Uniform::Fma(a, b, c) => values[*a].mul_add(values[*b], values[*c]),
            Uniform::Select(comparison, l, r, t, o) => {
                if compare(*comparison, values[*l], values[*r]) {
                    values[*t]
                } else {
                    values[*o]
                }
            }
        });
    }
    values
}
