//! A random state to start from: right blocks whose sectors are filled as at infinite temperature.
//!
//! In: the chain, a number of states, a seed. Out: kept states and operators of every right block; the wave function of
//! the first bond is then random too. At each cut a sector gets its share of the chain's states, so charges are spread as
//! evenly as the sector allows, and random orthonormal states of the enlarged block.

use super::blocks::{Sectors, Side};
use super::bond::carried_over;
use super::environment::Environment;
use super::state::Isometry;
use crate::chain::Chain;
use crate::error::DmrgError;
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::dense::{View, orthonormal};

/// splitmix64 (Steele, Lea, Flood 2014), uniform in [−1, 1).
pub(crate) struct Random(u64);

impl Random {
    /// With a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 * 2f64.powi(-52) - 1.0
    }
}

/// A right block: the states kept of its enlarged block, and its operators.
pub(crate) struct RightBlock {
    /// The states of site p and the block behind it.
    pub kept: Isometry,
    /// The block of sites p … N−1.
    pub block: Environment,
}

/// The right blocks that begin at sites N−1 … 2, in that order.
///
/// # Errors
/// An error of the backend that computes the blocks.
pub(crate) fn random_blocks(chain: &Chain, states: usize, random: &mut Random) -> Result<Vec<RightBlock>, DmrgError> {
    let mut blocks: Vec<RightBlock> = Vec::new();
    let end = Environment::end();
    for p in (2..chain.sites).rev() {
        let behind = blocks.last().map_or(&end, |last| &last.block);
        let enlarged = chain.enlarge(Side::Right, &behind.sectors, p + 1);
        let counts = shares(chain, &enlarged.sectors, p, states);
        let matrices: Vec<_> = (0..enlarged.sectors.len())
            .map(|q| {
                let (rows, columns) = (enlarged.sectors.dimension(q), counts[q]);
                let data: Vec<f64> = (0..rows * columns).map(|_| random.number()).collect();
                (columns > 0).then(|| orthonormal(View::new(&data, rows, columns)))
            })
            .collect();
        let kept = Isometry::new(&enlarged.sectors, &matrices);
        let block =
            carried_over(&HostBackend::default(), chain, &chain.sum, Side::Right, p + 1, behind, &enlarged, &kept)?;
        blocks.push(RightBlock { kept, block });
    }
    Ok(blocks)
}

/// The number of states of each sector of the block that begins at site p.
fn shares(chain: &Chain, sectors: &Sectors, p: usize, states: usize) -> Vec<usize> {
    let fractions = chain.reachable.cut(p);
    let fraction = |q: usize| fractions.get(&(chain.total - sectors.charges(q))).copied().unwrap_or(0.0);
    let likeliest = (0..sectors.len()).map(fraction).fold(0.0, f64::max);
    (0..sectors.len())
        .map(|q| {
            let share = (fraction(q) * states as f64).round() as usize;
            // The likeliest sector is never empty, so the chain is connected however few states there are.
            let share = if fraction(q) == likeliest { share.max(1) } else { share };
            share.min(sectors.dimension(q))
        })
        .collect()
}
