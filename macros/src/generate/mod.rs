//! Description → code, file by file as in `parse/`: the Rust that enumerates the terms (`domain`, `expression`, `sum`,
//! `function`) and, from the same tree, the CUDA text of coefficients and diagonal expressions (`cuda`, `functions`).

pub mod cuda;
pub mod domain;
pub mod expression;
pub mod function;
pub mod functions;
pub mod sum;
pub mod text;

#[cfg(test)]
mod tests;
