//! A full-CI product of either kind.

use super::{FullCiPlan, SlabPlan};
use crate::launch::{Launch, LaunchError};
use crate::text::{Cost, KernelText, TextError};
use std::fmt;

/// How σ = H C of full CI is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FullCiProduct {
    /// With the fields of a whole class of β strings in shared memory.
    Fields(Box<FullCiPlan>),
    /// Slab by slab.
    Slabs(Box<SlabPlan>),
}

impl FullCiProduct {
    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        match self {
            FullCiProduct::Fields(plan) => plan.text(),
            FullCiProduct::Slabs(plan) => plan.text(),
        }
    }

    /// The launches of one product, in order.
    ///
    /// # Errors
    /// CUDA allows no such launch.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        match self {
            FullCiProduct::Fields(plan) => plan.launches(),
            FullCiProduct::Slabs(plan) => Ok(plan.launches()?.all()),
        }
    }

    /// Bytes of all tables and scratch memory.
    pub fn table_bytes(&self) -> u64 {
        match self {
            FullCiProduct::Fields(plan) => plan.table_bytes(),
            FullCiProduct::Slabs(plan) => plan.table_bytes(),
        }
    }

    /// Multiplications and additions; C read once and σ written once.
    pub fn cost(&self) -> Cost {
        match self {
            FullCiProduct::Fields(plan) => plan.cost(),
            FullCiProduct::Slabs(plan) => plan.cost(),
        }
    }
}

impl fmt::Display for FullCiProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FullCiProduct::Fields(plan) => plan.fmt(f),
            FullCiProduct::Slabs(plan) => plan.fmt(f),
        }
    }
}
