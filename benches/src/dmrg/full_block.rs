//! Blocks that keep all their states, and the list of records that the paper counts for them.
//!
//! In: a chain of 2n + 2 sites. Out: the bond in its middle between two blocks of n sites, nothing truncated, and H x there
//! in the chain's [form](eigenforge::dmrg::SuperblockForm): planned by structure, or the paper's LR form (Nemes et al. 2014,
//! equations 9 to 11), where every operator of an enlarged block but the identity is one dense matrix, (A X) Bᵀ is two
//! products, and that a coupling's operators are identity ⊗ site operator goes unnoticed. A Heisenberg chain of 26 sites then
//! has 68 records in 14 sectors, a Hubbard chain of 14 has 576 products in 64, six of them by zeros of 1 × 1 that are left
//! out here.

use eigenforge::dmrg::{
    BlockOperator, Chain, DenseBlock, DmrgError, EnlargedOperators, Environment, Frame, OperatorBlock, Sectors, Side,
    superblock,
};
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::records::{Buffers, OperandSpace, RecordStage, TwoStages, run};

/// The bond in the middle of a chain, between blocks that keep all their states.
pub struct FullBond<'a> {
    chain: &'a Chain,
    cut: usize,
    /// How ψ lies over the bond.
    pub frame: Frame,
    left: Environment,
    right: Environment,
}

/// H x of a bond, with the matrices that its records read.
pub struct Projection {
    /// The records.
    pub superblock: TwoStages,
    /// Matrices of `Left`, `LeftSum`, `Right` and `RightSum`.
    pub operators: [Vec<f64>; 4],
}

impl Projection {
    /// The spaces of `operators`, in order.
    pub const SPACES: [OperandSpace; 4] =
        [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum];

    /// Operators as the CPU's records read them.
    pub fn buffers(&self) -> Buffers<'_> {
        Self::SPACES.into_iter().zip(&self.operators).fold(Buffers::default(), |b, (space, data)| b.set(space, data))
    }
}

impl<'a> FullBond<'a> {
    /// Grows both blocks site by site.
    ///
    /// # Errors
    /// An error of the CPU's engine.
    pub fn new(chain: &'a Chain) -> Result<FullBond<'a>, DmrgError> {
        let cut = (chain.sites - 2) / 2;
        let left = grown(chain, Side::Left, cut)?;
        let right = grown(chain, Side::Right, chain.sites - cut - 2)?;
        let frame = Frame::new(chain, cut, &left.sectors, &right.sectors);
        Ok(FullBond { chain, cut, frame, left, right })
    }

    /// H x in the chain's form.
    ///
    /// # Errors
    /// An error of the CPU's engine.
    pub fn projection(self) -> Result<Projection, DmrgError> {
        let (left, right) = self.enlarged()?;
        let superblock = superblock(&left, &right, &self.frame.layout);
        Ok(Projection { superblock, operators: [self.left.data, left.sums, self.right.data, right.sums] })
    }

    fn enlarged(&self) -> Result<(EnlargedOperators, EnlargedOperators), DmrgError> {
        let (chain, frame, engine) = (self.chain, &self.frame, HostBackend::default());
        let (mut of_left, mut of_right) = (vec![1; frame.left.sectors.len()], vec![1; frame.right.sectors.len()]);
        for sector in &frame.layout.sectors {
            (of_left[sector.left], of_right[sector.right]) = (sector.columns, sector.rows);
        }
        let (sum, p) = (&chain.sum, self.cut);
        let left = chain.operators(&engine, sum, Side::Left, p, &self.left, &frame.left, &of_left)?;
        let right = chain.operators(&engine, sum, Side::Right, p + 2, &self.right, &frame.right, &of_right)?;
        Ok((left, right))
    }
}

/// The block of `sites` sites at one end, all states kept.
fn grown(chain: &Chain, side: Side, sites: usize) -> Result<Environment, DmrgError> {
    let mut block = Environment::end();
    for k in 0..sites {
        let p = match side {
            Side::Left => k,
            Side::Right => chain.sites - k,
        };
        let enlarged = chain.enlarge(side, &block.sectors, p);
        let widths = vec![1; enlarged.sectors.len()];
        let operators = chain.operators(&HostBackend::default(), &chain.sum, side, p, &block, &enlarged, &widths)?;
        let identity = Chain::identity(&chain.sum, side, p);
        // Side by side they are dense, and stay where they are.
        let operators = match operators.groups.iter().any(|group| group.len() > 1) {
            true => operators,
            false => dense(side, &operators, &enlarged.sectors, &block.data, identity),
        };
        block = environment(operators, enlarged.sectors, identity);
    }
    Ok(block)
}

fn environment(operators: EnlargedOperators, sectors: Sectors, identity: Option<usize>) -> Environment {
    let whole = |block: &OperatorBlock| {
        let matrix = block.pieces.first().and_then(|piece| piece.matrix)?;
        let (row, column) = (block.row, block.column);
        Some(DenseBlock { row, column, offset: matrix.offset, stride: matrix.stride })
    };
    let operator = |b: usize| {
        if identity == Some(b) {
            return BlockOperator::Identity;
        }
        let blocks = (0..sectors.len()).filter_map(|sector| operators.block(b, sector));
        BlockOperator::Dense(blocks.filter_map(|block| whole(&block)).collect())
    };
    let list = (0..operators.blocks.len()).map(operator).collect();
    Environment { sectors, operators: list, data: operators.sums }
}

/// The same operators with each block but the identity's one dense matrix; `data` is the buffer of the block's own.
fn dense(
    side: Side,
    operators: &EnlargedOperators,
    sectors: &Sectors,
    data: &[f64],
    identity: Option<usize>,
) -> EnlargedOperators {
    let (own, space) = side.spaces();
    let (mut blocks, mut forming) = (operators.blocks.clone(), RecordStage::default());
    for (_, list) in blocks.iter_mut().enumerate().filter(|(b, _)| identity != Some(*b)) {
        for block in list.iter_mut().flatten() {
            block.sum(sectors, space, &mut forming);
        }
    }
    let mut sums = vec![0.0; forming.length];
    run(&forming, Buffers::default().set(own, data).set(space, &operators.sums), &mut sums);
    EnlargedOperators::one_by_one(blocks, sums, forming.groups.len())
}
