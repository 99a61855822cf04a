//! The kept states of a block as matrices: the tensors of a matrix product state.
//!
//! U of a sector takes the kept states (columns) to the states of the enlarged block (rows) and has orthonormal columns.
//! All sectors lie in one flat buffer.

use super::blocks::Sectors;
use crate::chain::charges::Charges;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Backend;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The matrix of one sector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptBlock {
    /// The sector of the enlarged block.
    pub enlarged_sector: usize,
    /// The sector of the kept states.
    pub kept_sector: usize,
    /// States of the enlarged sector.
    pub rows: usize,
    /// Kept states.
    pub columns: usize,
    /// First element, column-major.
    pub offset: usize,
}

/// The kept states of an enlarged block.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Isometry<B = Vec<f64>> {
    /// Kept states by charge.
    pub kept: Sectors,
    /// Sectors that keep anything.
    pub blocks: Vec<KeptBlock>,
    of_enlarged: Vec<Option<usize>>,
    /// All matrices.
    pub data: B,
}

impl<B> Isometry<B> {
    /// The matrix of an enlarged sector.
    pub fn block(&self, enlarged_sector: usize) -> Option<&KeptBlock> {
        self.of_enlarged[enlarged_sector].map(|index| &self.blocks[index])
    }

    /// The same without its numbers.
    pub fn tables(&self) -> Isometry {
        let (kept, blocks, of_enlarged) = (self.kept.clone(), self.blocks.clone(), self.of_enlarged.clone());
        Isometry { kept, blocks, of_enlarged, data: Vec::new() }
    }

    /// The same on the host.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn downloaded<E: Backend<Buffer = B>>(&self, engine: &E) -> Result<Isometry, DmrgError> {
        let data = engine.download(&self.data)?.into_owned();
        Ok(Isometry { data, ..self.tables() })
    }

    /// Moves its numbers to another buffer type.
    ///
    /// # Errors
    /// Errors of `carry`.
    pub fn carried<C, X>(self, carry: impl FnOnce(B) -> Result<C, X>) -> Result<Isometry<C>, X> {
        let Isometry { kept, blocks, of_enlarged, data } = self;
        Ok(Isometry { kept, blocks, of_enlarged, data: carry(data)? })
    }
}

impl Isometry<()> {
    /// The layout of an enlarged block's matrices when `columns` of each sector are kept.
    pub(crate) fn tables_of(enlarged: &Sectors, columns: &[usize]) -> Isometry<()> {
        let kept: BTreeMap<Charges, usize> =
            columns.iter().enumerate().map(|(sector, count)| (enlarged.charges(sector), *count)).collect();
        let kept = Sectors::from_map(kept);
        let (mut blocks, mut of_enlarged, mut offset) = (Vec::new(), vec![None; enlarged.len()], 0);
        for (sector, &columns) in columns.iter().enumerate().filter(|(_, columns)| **columns > 0) {
            let Some(kept_sector) = kept.find(enlarged.charges(sector)) else { continue };
            of_enlarged[sector] = Some(blocks.len());
            let rows = enlarged.dimension(sector);
            blocks.push(KeptBlock { enlarged_sector: sector, kept_sector, rows, columns, offset });
            offset += rows * columns;
        }
        Isometry { kept, blocks, of_enlarged, data: () }
    }
}

impl Isometry {
    /// From one matrix per sector of the enlarged block; `None` or no columns keeps nothing.
    pub fn new(enlarged: &Sectors, matrices: &[Option<Mat<f64>>]) -> Isometry {
        let columns = |sector: usize| matrices[sector].as_ref().map_or(0, Mat::ncols);
        let counts: Vec<usize> = (0..enlarged.len()).map(columns).collect();
        let Isometry { kept, blocks, of_enlarged, data: () } = Isometry::tables_of(enlarged, &counts);
        let mut data = Vec::new();
        for matrix in matrices.iter().flatten() {
            (0..matrix.ncols()).for_each(|j| data.extend(matrix.col(j).iter()));
        }
        Isometry { kept, blocks, of_enlarged, data }
    }

    /// The same for an enlarged block that has only some of the sectors, with all states of each.
    pub fn between(&self, own: &Sectors, other: &Sectors) -> Isometry {
        let matrix = |q: usize| {
            let block = self.block(own.find(other.charges(q))?)?;
            Some(Mat::from_fn(block.rows, block.columns, |i, j| self.data[block.offset + i + j * block.rows]))
        };
        let matrices: Vec<Option<Mat<f64>>> = (0..other.len()).map(matrix).collect();
        Isometry::new(other, &matrices)
    }

    /// Whether it belongs to an enlarged block with these sectors.
    pub fn fits(&self, enlarged: &Sectors) -> bool {
        let fits = |block: &KeptBlock| {
            let q = block.enlarged_sector;
            q < enlarged.len()
                && enlarged.dimension(q) == block.rows
                && block.offset + block.rows * block.columns <= self.data.len()
                && self.kept.find(enlarged.charges(q)) == Some(block.kept_sector)
        };
        self.of_enlarged.len() == enlarged.len() && self.blocks.iter().all(fits)
    }
}
