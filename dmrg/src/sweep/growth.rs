//! The infinite-lattice algorithm (White 1992; Nemes et al. 2014, Algorithm 1): both blocks grow by one site in every
//! step, until the chain has its full length.
//!
//! In: a chain that repeats ([`repetition`](crate::chain::repetition)). Out: a record per step, and the state of the whole chain
//! with ψ at its middle bond, from which finite sweeps may continue. A step solves the shortened chain in the sector
//! closest to its share of the charges, keeps the best states of both blocks from one ψ, and starts the next step from
//! McCulloch's [prediction](crate::block::predict), or from a random vector as the paper does.

use super::sweep_record::SweepRecord;
use crate::block::blocks::{Enlarged, Side};
use crate::block::bond::{Frame, TwoSiteBond, carried_over};
use crate::block::environment::Environment;
use crate::block::predict::{Overlap, PredictionStep};
use crate::block::start::Random;
use crate::block::state::Isometry;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::chain::repetition::Repetition;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::options::{Options, StartVectors};
use crate::sweep::{BondRecord, Phases};
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::TwoStages;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A step of growth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrowthRecord {
    /// Sites of the chain.
    pub sites: usize,
    /// Its energy.
    pub energy: f64,
    /// Half of what the last two sites added; converges to the energy per site of the infinite chain.
    pub energy_per_site: Option<f64>,
    /// Most states kept of a block.
    pub kept: usize,
    /// The larger of the two dropped weights.
    pub discarded: f64,
    /// ‖Hψ − Eψ‖.
    pub residual: f64,
    /// Elements of ψ.
    pub dimension: usize,
    /// Products with H.
    pub products: usize,
    /// Operations of them.
    pub flops: f64,
    /// Whether the start was predicted.
    pub predicted: bool,
    /// Wall-clock time.
    pub seconds: f64,
    /// Of it, of the solve.
    #[serde(default)]
    pub solve_seconds: f64,
    /// Of it, of both truncations.
    #[serde(default)]
    pub truncation_seconds: f64,
}

/// A step with what it was solved from, while that is still there.
pub struct GrowthStep<'a, B> {
    /// What it came to.
    pub record: &'a GrowthRecord,
    /// Two blocks and two sites, and ψ over them.
    pub frame: &'a Frame,
    /// H of the step.
    pub product: &'a TwoStages,
    /// The matrices that its records read.
    pub operands: Operands<'a, B>,
    /// ψ.
    pub wave: &'a B,
}

impl GrowthRecord {
    /// The step as a bond, for progress reports.
    pub(crate) fn bond(&self) -> BondRecord {
        BondRecord {
            bond: self.sites / 2 - 1,
            energy: self.energy,
            average: None,
            residual: self.residual,
            dimension: self.dimension,
            kept: self.kept,
            discarded: self.discarded,
            before: None,
            lost: None,
            products: self.products,
            flops: self.flops / self.products.max(1) as f64,
            seconds: Phases { solve: self.seconds, ..Phases::default() },
        }
    }

    /// The step as a sweep, for progress reports.
    pub(crate) fn sweep(&self) -> SweepRecord {
        let GrowthRecord { energy, kept, discarded, residual, dimension, products, flops, seconds, .. } = *self;
        let states = kept;
        let (noise, kept_energy, average, lost) = (0.0, None, None, None);
        let phases = self.bond().seconds;
        SweepRecord {
            states,
            kept,
            noise,
            energy,
            kept_energy,
            average,
            discarded,
            lost,
            residual,
            dimension,
            products,
            flops,
            seconds,
            phases,
        }
    }
}

/// The chain at its full length.
pub struct Grown {
    /// The steps.
    pub records: Vec<GrowthRecord>,
    /// The states kept of each site, in the sectors of the whole chain.
    pub kept: Vec<Option<Isometry>>,
    /// ψ.
    pub wave: Vec<f64>,
    /// The bond of ψ.
    pub bond: usize,
}

/// A block, and for each of its sites the kept states and the enlarged sectors they belong to.
struct Growing<B> {
    side: Side,
    block: Environment<B>,
    kept: Vec<Isometry<B>>,
}

/// Grows a chain to its full length.
///
/// # Errors
/// A chain that does not repeat; a number that is not finite; errors of the engine.
pub fn grow<E: Engine>(
    engine: &mut E,
    chain: &Chain,
    options: &Options,
    mut tell: impl FnMut(&GrowthRecord),
) -> Result<Grown, DmrgError> {
    grow_observed(engine, chain, options, |step| {
        tell(step.record);
        Ok(())
    })
}

/// [`grow`] with a look at each step, whose time is none of the step's.
///
/// # Errors
/// Those of [`grow`], and what `observe` returns.
pub fn grow_observed<E: Engine>(
    engine: &mut E,
    chain: &Chain,
    options: &Options,
    mut observe: impl FnMut(&GrowthStep<'_, E::Buffer>) -> Result<(), DmrgError>,
) -> Result<Grown, DmrgError> {
    let (left, right) = Repetition::find(&chain.sum, &chain.local, chain.sum.range)?.blocks;
    let limits = options.growth_limits();
    let mut random = Random::new(options.seed);
    let whole = chain.shortened(left, chain.sites - left);
    let mut left = Growing::exact(engine, &whole, Side::Left, left)?;
    let mut right = Growing::exact(engine, &whole, Side::Right, right)?;
    let (mut records, mut next_wave, mut before): (Vec<GrowthRecord>, _, Option<Overlap<E::Buffer>>) =
        (Vec::new(), None, None);
    loop {
        let begun = Instant::now();
        let (p, r) = (left.kept.len(), right.kept.len());
        let short = chain.shortened(p + 1, r + 1);
        let bond = TwoSiteBond::new(engine, &short, &short.sum, p, &left.block, &right.block)?;
        let length = bond.frame.layout.length;
        let predicted = next_wave.take();
        let is_predicted = predicted.is_some();
        let mut wave = match predicted {
            Some(wave) => wave,
            None => engine.upload((0..length).map(|_| random.number()).collect())?,
        };
        let superblock = bond.superblock();
        let operands = bond.operands(&left.block, &right.block);
        let diagonal = engine.diagonal(&bond, &left.block, &right.block)?;
        let solving = Instant::now();
        let found = engine.solve(
            &superblock,
            operands,
            &diagonal,
            &mut wave,
            chain.units.limits(options.growth_davidson()),
            &[],
        )?;
        let solve_seconds = solving.elapsed().as_secs_f64();
        // The constants of a shorter chain are part of what a site adds.
        let energy = found.value + short.units.beyond(&chain.units);
        if !energy.is_finite() {
            return Err(short.not_finite([p, p + 1]));
        }
        let mut record = GrowthRecord {
            sites: short.sites,
            energy,
            energy_per_site: records.last().map(|last| 0.5 * (energy - last.energy)),
            residual: found.residual,
            dimension: length,
            products: found.products,
            flops: found.products as f64 * superblock.flops(),
            predicted: is_predicted,
            solve_seconds,
            ..GrowthRecord::default()
        };
        if short.sites == chain.sites {
            record.kept = left.block.sectors.total().max(right.block.sectors.total());
            record.seconds = begun.elapsed().as_secs_f64();
            let (frame, product) = (&bond.frame, &superblock);
            observe(&GrowthStep { record: &record, frame, product, operands, wave: &wave })?;
            records.push(record);
            let wave = engine.download(&wave)?.into_owned();
            return whole_chain(engine, chain, left, right, records, wave);
        }
        let truncating = Instant::now();
        let psi = bond.frame.wave(&wave);
        let (of_left, of_right) =
            (engine.truncate(psi, Side::Left, limits)?, engine.truncate(psi, Side::Right, limits)?);
        record.truncation_seconds = truncating.elapsed().as_secs_f64();
        record.kept = of_left.kept.kept.total().max(of_right.kept.kept.total());
        record.discarded = of_left.discarded.max(of_right.discarded);
        let step = PredictionStep { frame: &bond.frame, left: &of_left, right: &of_right };
        let (grown_left, grown_right) = (
            Environment::project(
                engine,
                &bond.left_operators,
                operands,
                &of_left.kept,
                Chain::identity(&short.sum, Side::Left, p),
            )?,
            Environment::project(
                engine,
                &bond.right_operators,
                operands,
                &of_right.kept,
                Chain::identity(&short.sum, Side::Right, p + 2),
            )?,
        );
        if options.start == StartVectors::Carried {
            let longer = chain.shortened(p + 2, r + 2);
            let frame = Frame::new(&longer, p + 1, &grown_left.sectors, &grown_right.sectors);
            if let Some(before) = &before {
                let wave = step.wave(engine, before, &frame)?;
                // The overlap is zero if the sectors of the three lengths are not evenly spaced.
                next_wave = (engine.dot(&wave, &wave)? > 1e-6).then_some(wave);
            }
            before = Some(step.overlap(engine)?);
        }
        record.seconds = begun.elapsed().as_secs_f64();
        let (frame, product) = (&bond.frame, &superblock);
        observe(&GrowthStep { record: &record, frame, product, operands, wave: &wave })?;
        records.push(record);
        left.kept.push(of_left.kept);
        right.kept.push(of_right.kept);
        (left.block, right.block) = (grown_left, grown_right);
    }
}

impl<B> Growing<B> {
    /// A block of a few sites at an end of the chain with all of its states.
    fn exact<E: Engine<Buffer = B>>(
        engine: &E,
        chain: &Chain,
        side: Side,
        sites: usize,
    ) -> Result<Growing<B>, DmrgError> {
        let mut growing = Growing { side, block: Environment::end_on(engine)?, kept: Vec::new() };
        for _ in 0..sites {
            let (cut, enlarged) = growing.enlarged(chain);
            let all = |q: usize| {
                let n = enlarged.sectors.dimension(q);
                Some(Mat::identity(n, n))
            };
            let matrices: Vec<_> = (0..enlarged.sectors.len()).map(all).collect();
            let kept = Isometry::new(&enlarged.sectors, &matrices).carried(|data| engine.upload(data))?;
            growing.block = carried_over(engine, chain, &chain.sum, side, cut, &growing.block, &enlarged, &kept)?;
            growing.kept.push(kept);
        }
        Ok(growing)
    }

    /// The cut where the block of `chain` ends, and the block with the next site.
    fn enlarged(&self, chain: &Chain) -> (usize, Enlarged) {
        let cut = match self.side {
            Side::Left => self.kept.len(),
            Side::Right => chain.sites - self.kept.len(),
        };
        (cut, chain.enlarge(self.side, &self.block.sectors, cut))
    }
}

/// The kept states in the sectors of the whole chain, which may include sectors that growth had excluded.
fn whole_chain<E: Engine>(
    engine: &E,
    chain: &Chain,
    left: Growing<E::Buffer>,
    right: Growing<E::Buffer>,
    records: Vec<GrowthRecord>,
    wave: Vec<f64>,
) -> Result<Grown, DmrgError> {
    let mut kept: Vec<Option<Isometry>> = (0..chain.sites).map(|_| None).collect();
    let bond = left.kept.len();
    for growing in [left, right] {
        let (mut all, mut own) = (crate::block::blocks::Sectors::end(), crate::block::blocks::Sectors::end());
        for (place, isometry) in growing.kept.into_iter().enumerate() {
            let (site, cut) = match growing.side {
                Side::Left => (place, place),
                Side::Right => (chain.sites - 1 - place, chain.sites - place),
            };
            let every = Enlarged::new(&all, chain.site(site).charges(), |_| true);
            let enlarged = chain.enlarge(growing.side, &own, cut);
            let isometry = isometry.carried(|data| engine.download(&data).map(std::borrow::Cow::into_owned))?;
            all = isometry.kept.clone();
            let isometry = isometry.between(&every.sectors, &enlarged.sectors);
            own = isometry.kept.clone();
            kept[site] = Some(isometry);
        }
    }
    Ok(Grown { records, kept, wave, bond })
}

impl Options {
    /// The limits during growth: the most states of any sweep.
    fn growth_limits(&self) -> TruncationLimits {
        let most = self.states.iter().copied().max().unwrap_or(1);
        TruncationLimits { most, least: self.least.min(most), discarded: self.discarded, factored: None }
    }
}
