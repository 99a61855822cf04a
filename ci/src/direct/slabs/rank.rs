//! What a rank of several adds to a product by slabs: pieces of C that other ranks have, and x·y of all.

use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Bind, CardLinks, Device, DeviceError, Program, Scalar, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::ops::Range;
use std::sync::Arc;

/// The part of one rank.
pub(super) struct RankPart {
    ranks: Arc<Ranks>,
    /// From card to card; without, messages go by way of the host.
    links: Option<Arc<CardLinks>>,
    /// Where a piece of all rows is cut by rank.
    bounds: Vec<usize>,
    dot: Program,
}

impl RankPart {
    /// On a device whose vectors are cut between α strings at `strings`, with pieces of so many columns.
    pub(super) fn new(
        ranks: &Arc<Ranks>,
        device: &Device,
        strings: &[usize],
        piece: u32,
    ) -> Result<RankPart, DeviceError> {
        let text = "program x_dot_y\nvectors x y : in\nsum xy = x * y\n";
        let program = VectorProgram::parse(text).unwrap_or_else(|error| unreachable!("the program parses: {error}"));
        let bounds = strings.iter().map(|string| string * piece as usize).collect();
        let (links, dot) = (device.card_links().cloned(), device.program(&program, ScalarType::F64, &[])?);
        Ok(RankPart { ranks: ranks.clone(), links, bounds, dot })
    }

    /// Whether it is the first.
    pub(super) fn is_first(&self) -> bool {
        self.ranks.is_first()
    }

    /// Brings every rank the rows of the others in a piece that has its own.
    pub(super) fn all_gather(&self, piece: &mut Vector<f64>) -> Result<(), DeviceError> {
        if let Some(links) = &self.links {
            return links.gather_parts(piece, &self.bounds);
        }
        let me = self.ranks.rank();
        let mut received: Vec<Vec<f64>> = self.bounds.windows(2).map(|pair| vec![0.0; pair[1] - pair[0]]).collect();
        let mut own = std::mem::take(&mut received[me]);
        piece.read_part(self.bounds[me], &mut own)?;
        let send: Vec<&[f64]> = (0..self.ranks.count()).map(|rank| if rank == me { &[] } else { &own[..] }).collect();
        let mut receive: Vec<&mut [f64]> = received.iter_mut().map(Vec::as_mut_slice).collect();
        self.ranks.exchange("a piece of x", &send, &mut receive)?;
        let parts: Vec<(usize, &[f64])> =
            self.bounds.iter().zip(&received).map(|(first, values)| (*first, values.as_slice())).collect();
        piece.write_parts(&parts)
    }

    /// x·y of all ranks.
    pub(super) fn dot<T: Scalar>(&self, x: &Vector<T>, y: &Vector<T>) -> Result<f64, DeviceError> {
        Ok(self.dot.run(&mut [Bind::In(x), Bind::In(y)], &[])?[0])
    }
}

/// The α strings of each of so many ranks begin at these: what the kernels' shares are.
pub(super) fn cuts(strings: usize, ranks: usize) -> Vec<usize> {
    (0..=ranks).map(|rank| eigenforge_product::ranks::part_range(strings, rank, ranks).start).collect()
}

/// The first elements of vectors of each rank, with their end, and this rank's own.
pub(super) fn element_cuts(cuts: &[usize], row_start: &[u64], rows: u64) -> Vec<usize> {
    cuts.iter().map(|string| row_start.get(*string).copied().unwrap_or(rows) as usize).collect()
}

/// Starts of rows as a rank's own vectors have them; those of other ranks' rows are read by nothing.
pub(super) fn own_row_start(row_start: &[u64], own: &Range<usize>) -> Vec<u64> {
    row_start.iter().map(|start| start.wrapping_sub(own.start as u64)).collect()
}
