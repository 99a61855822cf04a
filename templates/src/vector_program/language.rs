//! The program as data: the parser's output, and the source of the CUDA text and the CPU loops.

use crate::launch::Access;
use crate::{Cost, ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// A vector argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorDeclaration {
    /// Its name in the program.
    pub name: String,
    /// How it is used.
    pub access: Access,
}

/// A binary operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binary {
    /// a + b
    Add,
    /// a - b
    Subtract,
    /// a * b
    Multiply,
    /// a / b
    Divide,
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Function {
    /// Square root of one number.
    Sqrt,
    /// Absolute value of one number.
    Abs,
    /// The smaller of two numbers.
    Min,
    /// The larger of two numbers.
    Max,
    /// a·b + c with one rounding.
    Fma,
}

impl Function {
    /// All functions with their names and numbers of arguments.
    pub const ALL: [(Function, &'static str, usize); 5] = [
        (Function::Sqrt, "sqrt", 1),
        (Function::Abs, "abs", 1),
        (Function::Min, "min", 2),
        (Function::Max, "max", 2),
        (Function::Fma, "fma", 3),
    ];
}

/// A comparison inside `select`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// a < b
    Less,
    /// a <= b
    LessEqual,
}

/// An f64 value of one element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expression {
    /// A constant.
    Number(f64),
    /// A vector's element, a scalar, an element function or a `let`.
    Name(String),
    /// -a
    Negate(Box<Expression>),
    /// a ∘ b
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// f(a, …)
    Call(Function, Vec<Expression>),
    /// `then` if the comparison of `left` and `right` holds, otherwise `otherwise`.
    Select {
        /// The comparison.
        comparison: Comparison,
        /// Its left side.
        left: Box<Expression>,
        /// Its right side.
        right: Box<Expression>,
        /// The value if it holds.
        then: Box<Expression>,
        /// The value otherwise (also if a side is not a number).
        otherwise: Box<Expression>,
    },
}

impl Expression {
    /// Calls `visit` for this expression and everything inside it, inner ones first.
    pub fn visit(&self, visit: &mut impl FnMut(&Expression)) {
        match self {
            Expression::Number(_) | Expression::Name(_) => {}
            Expression::Negate(a) => a.visit(visit),
            Expression::Binary(_, a, b) => {
                a.visit(visit);
                b.visit(visit);
            }
            Expression::Call(_, arguments) => arguments.iter().for_each(|a| a.visit(visit)),
            Expression::Select { left, right, then, otherwise, .. } => {
                for part in [left, right, then, otherwise] {
                    part.visit(visit);
                }
            }
        }
        visit(self);
    }

    /// Arithmetic operations in it.
    pub fn flops(&self) -> f64 {
        let mut count = 0.0;
        self.visit(&mut |e| match e {
            Expression::Number(_) | Expression::Name(_) => {}
            Expression::Call(Function::Fma, _) => count += 2.0,
            _ => count += 1.0,
        });
        count
    }
}

/// One line of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Statement {
    /// `vector = value`
    Assign {
        /// The vector.
        vector: String,
        /// Its new element.
        value: Expression,
    },
    /// `let name = value`
    Let {
        /// The new name.
        name: String,
        /// Its value.
        value: Expression,
    },
    /// `sum name = value`
    Sum {
        /// The sum's name.
        name: String,
        /// What is added.
        value: Expression,
    },
}

impl Statement {
    /// The expression on the right.
    pub fn value(&self) -> &Expression {
        match self {
            Statement::Assign { value, .. } | Statement::Let { value, .. } | Statement::Sum { value, .. } => value,
        }
    }
}

/// A checked program. Made by [`VectorProgram::parse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorProgram {
    /// Its name; also the kernel's.
    pub name: String,
    /// Vector arguments in order.
    pub vectors: Vec<VectorDeclaration>,
    /// Run-time coefficients in order.
    pub scalars: Vec<String>,
    /// Element functions in order.
    pub functions: Vec<String>,
    /// The statements for each element, in order.
    pub statements: Vec<Statement>,
    /// Names of the sums in order.
    pub sums: Vec<String>,
    /// The width of a warp of its text.
    pub warp: Warp,
    /// The text it was parsed from, for the head of the generated file.
    pub source: String,
}

impl VectorProgram {
    /// Reads and writes of whole vectors: the passes over memory that no kernel can avoid.
    pub fn passes(&self) -> usize {
        self.vectors.iter().map(|v| if v.access == Access::InOut { 2 } else { 1 }).sum()
    }

    /// The minimal work of one run over vectors of length `n`.
    pub fn cost(&self, n: usize, scalar: ScalarType) -> Cost {
        let of = |s: &Statement| s.value().flops() + if matches!(s, Statement::Sum { .. }) { 1.0 } else { 0.0 };
        let flops: f64 = self.statements.iter().map(of).sum();
        Cost { flops: flops * n as f64, bytes: (self.passes() * scalar.bytes()) as f64 * n as f64 }
    }
}
