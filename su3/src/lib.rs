//! Coupling coefficients of SU(3) ⊃ SO(3), and exact Wigner 3j, 6j and 9j symbols.
//!
//! # What the coefficients are
//!
//! An irrep of SU(3) is named (λ μ). The three-dimensional harmonic oscillator's states with n quanta are (n 0); two
//! nucleons in shells na and nb are in (na 0) × (nb 0) = Σ (na + nb − 2k, k). Physics wants states of good orbital angular
//! momentum in an irrep, |(λ μ) κ L M⟩, where κ = 1, …, κ_max tells repeated L apart. Coupling two irreps to a third,
//!
//! ```text
//! |(λ3μ3) κ3 L3 M3⟩_ρ = Σ_{κ1L1 κ2L2} ⟨(λ1μ1) κ1L1; (λ2μ2) κ2L2 ‖ (λ3μ3) κ3L3⟩_ρ Σ_{M1M2} ⟨L1M1 L2M2|L3M3⟩ |(λ1μ1)κ1L1M1⟩ |(λ2μ2)κ2L2M2⟩
//! ```
//! where ρ = 1, …, ρ_max tells repeated (λ3 μ3) apart, takes the double-barred coefficients, which do not depend on M. They
//! are real, and for given (λ1μ1), (λ2μ2), L3 they are a square orthogonal matrix from κ1L1κ2L2 to (λ3μ3)κ3ρ.
//!
//! ```
//! use eigenforge_su3::{Coupler, Irrep, multiplicity};
//! # fn main() -> Result<(), eigenforge_su3::LabelError> {
//! let [first, second, third] = [Irrep::new(3, 1), Irrep::new(2, 1), Irrep::new(4, 1)];
//! assert_eq!(multiplicity(first, second, third), 2);
//!
//! let coupler = Coupler::new(); // keeps the tables that irreps share
//! let block = coupler.block(first, second, third, 0..=5)?; // every coefficient with L3 from 0 to 5
//! let value = block.value([1, 3], [1, 3], [1, 2], 1)?; // κ1 L1, κ2 L2, κ3 L3, ρ
//! assert_eq!(format!("{value:.15}"), "-0.197278784766429"); // 400-bit arithmetic: −0.19727878476642874667
//! assert!(block.defect < 1e-14); // measured: |Bᵀ B − 1|
//! # Ok(()) }
//! ```
//!
//! # Conventions
//!
//! Those of J. P. Draayer and Y. Akiyama, J. Math. Phys. 14 (1973) 1904, as in their Fortran library and in ndsu3lib
//! (J. Herko et al., arXiv:2505.08993): κ counts Elliott's K from the lowest, orthonormalised in this order; states of good L
//! are projected from the highest-weight state if λ < μ, else from the lowest-weight one; ρ follows the flag of products with
//! (λ2−η, μ2−η), the largest η first; signs are fixed on the canonical coefficients of highest weight ([`Extremal`]).
//! Angular momenta of SU(2) symbols come doubled, 2j.
//!
//! # How they are computed
//!
//! | module | in → out | arithmetic |
//! |---|---|---|
//! | `irrep` | labels → dimensions, κ_max, ρ_max, products | integers |
//! | `branching` | (λ μ) → u(εΛ; κL M), the canonical parts of \|κLM⟩ | integers under one root: nothing cancels |
//! | `extremal` | a triple → canonical coefficients of its extremal state | f64 recursions, Gram–Schmidt twice |
//! | `coupling` | both → all coefficients of a triple, or of a product | f64 matrix products |
//! | `wigner` | labels → 3j, 6j, 9j, Clebsch–Gordan | exact: ±√(n/d), see [`SignedRoot`] |
//!
//! The overlaps of `branching` are the place where floating point loses all digits for λ + μ beyond 20 or so. Every block
//! carries its measured defect of orthonormality: 2 · 10⁻¹⁵ at most for everything that a two-body interaction of
//! N_max = 14 needs. There is no global state and no largest label; a [`Coupler`] may be shared among threads, and
//! [`Coupler::blocks`] uses all of them. One core computes the 12,780,101 coefficients of 71,205 triples that N_max = 14
//! needs in 2.2 s (`cargo run --release -p eigenforge-su3 --example w0_tables -- 14`).

#![warn(missing_docs, unreachable_pub)]

mod branching;
mod coupling;
mod error;
mod exact;
mod extremal;
mod irrep;
mod wigner;

pub use branching::Branching;
pub use coupling::{Block, BlockOfL3, Column, Coupler, Row, SquareTable};
pub use error::LabelError;
pub use exact::SignedRoot;
pub use extremal::{Extremal, Seed};
pub use irrep::{Irrep, multiplicity, product};
pub use wigner::{Symbols, clebsch_gordan, wigner_3j, wigner_6j, wigner_9j};
