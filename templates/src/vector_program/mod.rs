//! Fused vector programs: several vector updates and inner products as one pass over memory.
//!
//! A solver states what happens to element i of its vectors; the statements run in order for every i, and each `sum` is
//! added over i. The same program gives one CUDA kernel ([`VectorProgram::text`]) and, in the runtime, a sequence of
//! loops over cache-sized chunks. The fused kernels of Yamada, Machida and Imamura (2020), Figures 4 and 6, are two such
//! programs.
//!
//! ```text
//! program lobpcg_update
//! vectors x ax p ap w : inout      # in, out or inout; the order is the order of arguments
//! vectors aw : in
//! scalars alpha beta gamma mu      # f64, given at each run
//! functions diagonal               # functions of the index, bound when compiled
//! p = alpha * w + gamma * p        # a vector: later statements see the new value
//! let r = ax - mu * x              # a name for this element only
//! w = r / max(abs(diagonal - mu), 0.1)
//! sum rr = r * r                   # over all elements, in f64, in a fixed order
//! ```
//!
//! Expressions: `+ - * /`, unary `-`, parentheses, numbers, `sqrt abs min max fma`, and `select(a < b, then, otherwise)`
//! with `<` or `<=`. All arithmetic is in f64; an assignment rounds to the vectors' type.

mod cuda;
mod language;
mod parser;
mod tokens;

pub use crate::launch::Access;
pub use cuda::{RANDOM_START, THREADS};
pub use language::{Binary, Comparison, Expression, Function, Statement, VectorDeclaration, VectorProgram};
pub use tokens::ProgramError;
