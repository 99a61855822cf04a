//! Tokens → a description of the definition: the attribute's promises, the function, each `sum!` with its domains and
//! its expression as a tree of sums and products of operators. Nothing is generated or judged here beyond the grammar.

pub mod attribute;
pub mod domain;
pub mod expression;
pub mod function;
pub mod scope;
pub mod sum;

pub use attribute::{Charge, Promises};
pub use domain::{Domain, Loop};
pub use expression::{Factor, Node, SpinArgument};
pub use scope::{Kind, Role, Scope};
pub use sum::Sum;
