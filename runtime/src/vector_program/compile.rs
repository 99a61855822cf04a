//! Program → three-address code over chunks, for the CPU.
//!
//! Every value has its own register (a chunk of f64); a register is reused after its value's last use, so that the whole
//! set stays in the first-level cache. Expressions of scalars only are computed once per run. `u·x + v·y`, `u·x + y` and
//! `sum x·y` are single loops; products and sums are rounded separately (no contraction), so the bits do not depend on
//! the processor.

use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::*;
use std::collections::HashMap;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operand {
    /// One number for all elements, by its index in the table of uniforms.
    Uniform(usize),
    /// The chunk of a vector as it was before the program.
    Vector(usize),
    /// A register.
    Register(usize),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum One {
    Negate,
    Sqrt,
    Abs,
    /// To single precision and back.
    Round,
    Copy,
}

/// One loop over a chunk. `to` is a register that no operand uses.
#[derive(Clone, Debug)]
pub(super) enum Loop {
    /// Converts a vector's chunk.
    Load {
        to: usize,
        vector: usize,
    },
    /// Evaluates an element function.
    Evaluate {
        to: usize,
        function: usize,
    },
    One {
        operation: One,
        to: usize,
        a: Operand,
    },
    Two {
        operation: Two,
        to: usize,
        a: Operand,
        b: Operand,
    },
    /// u·x + v·y with uniforms u, v.
    Linear {
        to: usize,
        u: usize,
        x: Operand,
        v: usize,
        y: Operand,
    },
    /// u·x + y with uniform u.
    Axpy {
        to: usize,
        u: usize,
        x: Operand,
        y: Operand,
    },
    Fma {
        to: usize,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Select {
        to: usize,
        comparison: Comparison,
        left: Operand,
        right: Operand,
        then: Operand,
        otherwise: Operand,
    },
    /// sum += a·b
    Dot {
        sum: usize,
        a: Operand,
        b: Operand,
    },
    /// sum += a
    Add {
        sum: usize,
        a: Operand,
    },
    /// Writes a vector's chunk.
    Store {
        vector: usize,
        a: Operand,
    },
}

/// How a uniform is computed at the start of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Uniform {
    Number(f64),
    Scalar(usize),
    One(One, usize),
    Two(Two, usize, usize),
    Fma(usize, usize, usize),
    Select(Comparison, usize, usize, usize, usize),
}

/// A program ready to run on the CPU.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) loops: Vec<Loop>,
    pub(super) uniforms: Vec<Uniform>,
    pub(super) registers: usize,
    pub(super) sums: usize,
}

impl Code {
    pub(super) fn new(program: &VectorProgram, scalar: ScalarType) -> Code {
        let mut builder = Builder { names: HashMap::new(), loops: Vec::new(), uniforms: Vec::new(), values: 0 };
        for index in 0..program.scalars.len() {
            let at = builder.uniform(Uniform::Scalar(index));
            builder.names.insert(program.scalars[index].clone(), at);
        }
        for (vector, declared) in program.vectors.iter().enumerate() {
            if declared.access == Access::Out {
                continue;
            }
            let value = match scalar {
                ScalarType::F64 => Operand::Vector(vector),
                ScalarType::F32 => builder.emit(|to| Loop::Load { to, vector }),
            };
            builder.names.insert(declared.name.clone(), value);
        }
        for (function, name) in program.functions.iter().enumerate() {
            let value = builder.emit(|to| Loop::Evaluate { to, function });
            builder.names.insert(name.clone(), value);
        }
        let mut sums = 0;
        for statement in &program.statements {
            match statement {
                Statement::Let { name, value } => {
                    let value = builder.value(value);
                    builder.names.insert(name.clone(), value);
                }
                Statement::Assign { vector, value } => {
                    let mut value = builder.value(value);
                    // In its own register: the chunk it comes from may be overwritten before it is stored.
                    let operation = if scalar == ScalarType::F32 { One::Round } else { One::Copy };
                    if operation == One::Round || matches!(value, Operand::Vector(_)) {
                        value = builder.emit(|to| Loop::One { operation, to, a: value });
                    }
                    builder.names.insert(vector.clone(), value);
                }
                Statement::Sum { value, .. } => {
                    builder.sum(sums, value);
                    sums += 1;
                }
            }
        }
        for (vector, declared) in program.vectors.iter().enumerate() {
            if let (true, Some(a)) = (declared.access != Access::In, builder.names.get(&declared.name)) {
                let a = *a;
                builder.loops.push(Loop::Store { vector, a });
            }
        }
        let (loops, registers) = assign_registers(builder.loops, builder.values);
        Code { loops, uniforms: builder.uniforms, registers, sums }
    }
}

struct Builder {
    names: HashMap<String, Operand>,
    loops: Vec<Loop>,
    uniforms: Vec<Uniform>,
    values: usize,
}

impl Builder {
    fn uniform(&mut self, uniform: Uniform) -> Operand {
        if let Some(at) = self.uniforms.iter().position(|u| *u == uniform) {
            return Operand::Uniform(at);
        }
        self.uniforms.push(uniform);
        Operand::Uniform(self.uniforms.len() - 1)
    }

    fn emit(&mut self, make: impl FnOnce(usize) -> Loop) -> Operand {
        let to = self.values;
        self.values += 1;
        self.loops.push(make(to));
        Operand::Register(to)
    }

    fn value(&mut self, expression: &Expression) -> Operand {
        match expression {
            Expression::Number(value) => self.uniform(Uniform::Number(*value)),
            // The parser has checked every name.
            Expression::Name(name) => self.names.get(name).copied().unwrap_or(Operand::Uniform(0)),
            Expression::Negate(a) => {
                let a = self.value(a);
                self.one(One::Negate, a)
            }
            Expression::Binary(operation, a, b) => self.binary(*operation, a, b),
            Expression::Call(function, arguments) => {
                let values: Vec<Operand> = arguments.iter().map(|a| self.value(a)).collect();
                match (function, values.as_slice()) {
                    (Function::Sqrt, [a]) => self.one(One::Sqrt, *a),
                    (Function::Abs, [a]) => self.one(One::Abs, *a),
                    (Function::Min, [a, b]) => self.two(Two::Min, *a, *b),
                    (Function::Max, [a, b]) => self.two(Two::Max, *a, *b),
                    (Function::Fma, [Operand::Uniform(a), Operand::Uniform(b), Operand::Uniform(c)]) => {
                        self.uniform(Uniform::Fma(*a, *b, *c))
                    }
                    (Function::Fma, [a, b, c]) => self.emit(|to| Loop::Fma { to, a: *a, b: *b, c: *c }),
                    // The parser has checked the number of arguments.
                    _ => Operand::Uniform(0),
                }
            }
            Expression::Select { comparison, left, right, then, otherwise } => {
                let [left, right, then, otherwise] = [left, right, then, otherwise].map(|e| self.value(e));
                let comparison = *comparison;
                if let [Operand::Uniform(l), Operand::Uniform(r), Operand::Uniform(t), Operand::Uniform(o)] =
                    [left, right, then, otherwise]
                {
                    return self.uniform(Uniform::Select(comparison, l, r, t, o));
                }
                self.emit(|to| Loop::Select { to, comparison, left, right, then, otherwise })
            }
        }
    }

    fn one(&mut self, operation: One, a: Operand) -> Operand {
        match a {
            Operand::Uniform(a) => self.uniform(Uniform::One(operation, a)),
            _ => self.emit(|to| Loop::One { operation, to, a }),
        }
    }

    fn two(&mut self, operation: Two, a: Operand, b: Operand) -> Operand {
        match (a, b) {
            (Operand::Uniform(a), Operand::Uniform(b)) => self.uniform(Uniform::Two(operation, a, b)),
            _ => self.emit(|to| Loop::Two { operation, to, a, b }),
        }
    }

    /// Sums of scaled vectors become one loop; a minus sign moves into the scale, which changes no bit.
    fn binary(&mut self, operation: Binary, a: &Expression, b: &Expression) -> Operand {
        if matches!(operation, Binary::Add | Binary::Subtract) {
            let left = self.scaled(a);
            let right = self.scaled(b);
            let minus = operation == Binary::Subtract;
            return match (left, right) {
                ((Some(u), x), (Some(v), y)) => {
                    let v = if minus { self.negated(v) } else { v };
                    self.emit(|to| Loop::Linear { to, u, x, v, y })
                }
                ((Some(u), x), (None, y)) if !minus && !matches!(y, Operand::Uniform(_)) => {
                    self.emit(|to| Loop::Axpy { to, u, x, y })
                }
                ((None, y), (Some(u), x)) if !matches!(y, Operand::Uniform(_)) => {
                    let u = if minus { self.negated(u) } else { u };
                    self.emit(|to| Loop::Axpy { to, u, x, y })
                }
                (left, right) => {
                    let (a, b) = (self.product(left), self.product(right));
                    self.two(if minus { Two::Subtract } else { Two::Add }, a, b)
                }
            };
        }
        let (a, b) = (self.value(a), self.value(b));
        self.two(if operation == Binary::Multiply { Two::Multiply } else { Two::Divide }, a, b)
    }

    /// `uniform · chunk` split, or any other value as it is.
    fn scaled(&mut self, expression: &Expression) -> (Option<usize>, Operand) {
        if let Expression::Binary(Binary::Multiply, a, b) = expression {
            let (a, b) = (self.value(a), self.value(b));
            return match (a, b) {
                (Operand::Uniform(_), Operand::Uniform(_)) => (None, self.two(Two::Multiply, a, b)),
                (Operand::Uniform(u), x) | (x, Operand::Uniform(u)) => (Some(u), x),
                _ => (None, self.two(Two::Multiply, a, b)),
            };
        }
        (None, self.value(expression))
    }

    fn product(&mut self, (scale, value): (Option<usize>, Operand)) -> Operand {
        match scale {
            Some(u) => self.two(Two::Multiply, Operand::Uniform(u), value),
            None => value,
        }
    }

    fn negated(&mut self, u: usize) -> usize {
        match self.uniform(Uniform::One(One::Negate, u)) {
            Operand::Uniform(at) => at,
            _ => u,
        }
    }

    fn sum(&mut self, sum: usize, value: &Expression) {
        if let Expression::Binary(Binary::Multiply, a, b) = value {
            let (a, b) = (self.value(a), self.value(b));
            match (a, b) {
                (Operand::Uniform(_), _) | (_, Operand::Uniform(_)) => {
                    let a = self.two(Two::Multiply, a, b);
                    self.loops.push(Loop::Add { sum, a });
                }
                _ => self.loops.push(Loop::Dot { sum, a, b }),
            }
            return;
        }
        let a = self.value(value);
        self.loops.push(Loop::Add { sum, a });
    }
}

impl Loop {
    /// The register it writes.
    fn to(&mut self) -> Option<&mut usize> {
        match self {
            Loop::Load { to, .. }
            | Loop::Evaluate { to, .. }
            | Loop::One { to, .. }
            | Loop::Two { to, .. }
            | Loop::Linear { to, .. }
            | Loop::Axpy { to, .. }
            | Loop::Fma { to, .. }
            | Loop::Select { to, .. } => Some(to),
            Loop::Dot { .. } | Loop::Add { .. } | Loop::Store { .. } => None,
        }
    }

    /// The operands it reads.
    fn operands(&mut self) -> Vec<&mut Operand> {
        match self {
            Loop::Load { .. } | Loop::Evaluate { .. } => vec![],
            Loop::One { a, .. } | Loop::Add { a, .. } | Loop::Store { a, .. } => vec![a],
            Loop::Two { a, b, .. } | Loop::Dot { a, b, .. } => vec![a, b],
            Loop::Linear { x, y, .. } | Loop::Axpy { x, y, .. } => vec![x, y],
            Loop::Fma { a, b, c, .. } => vec![a, b, c],
            Loop::Select { left, right, then, otherwise, .. } => vec![left, right, then, otherwise],
        }
    }
}

/// Linear scan: values → few registers. A value's register is free after the loop of its last use, never during it.
fn assign_registers(mut loops: Vec<Loop>, values: usize) -> (Vec<Loop>, usize) {
    let mut last_use = vec![usize::MAX; values];
    for (at, each) in loops.iter_mut().enumerate() {
        if let Some(to) = each.to() {
            last_use[*to] = at;
        }
        for operand in each.operands() {
            if let Operand::Register(value) = operand {
                last_use[*value] = at;
            }
        }
    }
    let (mut place, mut free, mut count) = (vec![0; values], Vec::new(), 0);
    for (at, each) in loops.iter_mut().enumerate() {
        let mut ends = Vec::new();
        for operand in each.operands() {
            if let Operand::Register(value) = operand {
                if last_use[*value] == at && !ends.contains(&place[*value]) {
                    ends.push(place[*value]);
                }
                *value = place[*value];
            }
        }
        if let Some(to) = each.to() {
            let register = free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
            if last_use[*to] == at {
                ends.push(register);
            }
            place[*to] = register;
            *to = register;
        }
        free.append(&mut ends);
    }
    (loops, count)
}
