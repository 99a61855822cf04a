//! Reduced coupling coefficients ⟨(λ1μ1)κ1L1; (λ2μ2)κ2L2 ‖ (λ3μ3)κ3L3⟩_ρ, a whole triple of irreps at a time.
//!
//! In: three irreps and a range of L3. Out: every coefficient, with the defect of their orthonormality. With W of
//! [`crate::Extremal`] and u of [`crate::Branching`], E the extremal state that (λ3 μ3) is projected from,
//!
//! ```text
//! w(κ1L1 κ2L2 K3 ρ) = d^{Λ3}_{K3/2,M_Λ3}(π/2) Σ_{M1} ⟨L1 M1 L2 K3−M1|L3 K3⟩ Σ_{ε1Λ1 ε2Λ2} (−1)^{Λ1+Λ2−Λ3} W_ρ
//!                     · ⟨Λ1 M1/2 Λ2 (K3−M1)/2|Λ3 K3/2⟩ u1(ε1Λ1; κ1L1 M1) u2(ε2Λ2; κ2L2 K3−M1)
//! ⟨…‖…κ3L3⟩_ρ = Σ_{j ≤ κ3} O_{κ3 j} w(κ1L1 κ2L2 K3_j ρ)
//! ```
//! Draayer and Akiyama (1973), eq. 31, with their sum over M_Λ done analytically. For each (K3, M1, ρ) the inner sum is
//! u1ᵀ G u2 with G sparse: two small matrix products for all κ1L1, κ2L2 and all L3.

mod block;
mod square;
mod tables;

pub use block::{Block, BlockOfL3, Row};
pub use square::{Column, SquareTable};
pub use tables::Coupler;
