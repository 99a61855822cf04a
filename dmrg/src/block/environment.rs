//! The operators of a block of sites in the kept basis: one flat buffer, with a table of blocks for every operator of the
//! cut, sector by sector.

use super::blocks::Sectors;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Backend;
use serde::{Deserialize, Serialize};

/// A dense block in the buffer of an environment, column-major.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenseBlock {
    /// The sector it maps to.
    pub row: usize,
    /// The sector it maps from.
    pub column: usize,
    /// Its first element.
    pub offset: usize,
    /// Elements from one column to the next.
    pub stride: usize,
}

/// An operator of a block of sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BlockOperator {
    /// The identity.
    Identity,
    /// Dense blocks; missing blocks are zero.
    Dense(Vec<DenseBlock>),
    /// A multiple of the transpose of another operator, which is not itself a transpose.
    Transposed {
        /// Number of the other operator.
        of: usize,
        /// The factor.
        factor: f64,
    },
}

/// A block of sites: its states by charge, and its part of every operator of the cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment<B = Vec<f64>> {
    /// States.
    pub sectors: Sectors,
    /// One per operator of the cut.
    pub operators: Vec<BlockOperator>,
    /// All dense blocks.
    pub data: B,
}

impl Environment {
    /// The empty block at the end of the chain.
    pub fn end() -> Environment {
        Environment { sectors: Sectors::end(), operators: vec![BlockOperator::Identity], data: Vec::new() }
    }

    /// Bytes of its blocks.
    pub fn bytes(&self) -> u64 {
        8 * self.data.len() as u64
    }
}

impl<B> Environment<B> {
    /// The empty block in an engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn end_on<E: Backend<Buffer = B>>(engine: &E) -> Result<Environment<B>, DmrgError> {
        Ok(Environment::end().carried(|data| engine.upload(data))?)
    }

    /// Moves its numbers to another buffer type.
    ///
    /// # Errors
    /// Errors of `carry`.
    pub fn carried<C, X>(self, carry: impl FnOnce(B) -> Result<C, X>) -> Result<Environment<C>, X> {
        Ok(Environment { sectors: self.sectors, operators: self.operators, data: carry(self.data)? })
    }
}
