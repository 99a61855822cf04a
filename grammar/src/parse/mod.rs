//! Tokens → a description of the definition: the attribute's promises, the function, each `sum!` with its domains and
//! its expression as a tree of sums and products of operators. Nothing is generated or judged here beyond the grammar.

mod attribute;
mod complex;
mod domain;
mod expression;
mod factor;
mod function;
mod marks;
mod number;
mod scope;
mod sum;

pub use attribute::{Charge, Promises, parse_promises};
pub use domain::{Domain, Loop, last_name};
pub use expression::{
    Factor, Node, Reduction, SpinArgument, Term, each_factor, parse_condition, parse_expression, unwrap_parens,
};
pub use function::{Definition, combine, each_nested, function, parse_definition};
pub use scope::{Kind, Role, Scope};
pub use sum::{Sum, is_sum, parse_sum};
