//! The kept states of a block as matrices: what makes up a matrix product state.
//!
//! U of a sector takes the kept states (columns) to the states of the enlarged block (rows) and has orthonormal columns.
//! All sectors lie in one flat buffer.

use super::blocks::Sectors;
use super::charges::Charges;
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

    /// The same with its numbers elsewhere.
    ///
    /// # Errors
    /// Those of `carry`.
    pub fn carried<C, X>(self, carry: impl FnOnce(B) -> Result<C, X>) -> Result<Isometry<C>, X> {
        let Isometry { kept, blocks, of_enlarged, data } = self;
        Ok(Isometry { kept, blocks, of_enlarged, data: carry(data)? })
    }
}

impl Isometry {
    /// From one matrix a sector of the enlarged block; `None` or no columns keep nothing.
    pub fn new(enlarged: &Sectors, matrices: &[Option<Mat<f64>>]) -> Isometry {
        let columns = |sector: usize| matrices[sector].as_ref().map_or(0, Mat::ncols);
        let kept: BTreeMap<Charges, usize> =
            (0..enlarged.len()).map(|sector| (enlarged.charges(sector), columns(sector))).collect();
        let kept = Sectors::from_map(kept);
        let (mut blocks, mut data, mut of_enlarged) = (Vec::new(), Vec::new(), vec![None; enlarged.len()]);
        for (sector, matrix) in matrices.iter().enumerate() {
            let (Some(matrix), Some(kept_sector)) = (matrix, kept.find(enlarged.charges(sector))) else { continue };
            of_enlarged[sector] = Some(blocks.len());
            let (rows, columns) = (matrix.nrows(), matrix.ncols());
            blocks.push(KeptBlock { enlarged_sector: sector, kept_sector, rows, columns, offset: data.len() });
            (0..columns).for_each(|j| data.extend(matrix.col(j).iter()));
        }
        Isometry { kept, blocks, of_enlarged, data }
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
