//! The workers within one process: its cores together, or its cards. They do what a run alone does, and each process of a team.

use super::cards::Card;
use super::error::TransformError;
use super::flow::Flow;
use super::shares::{LARGEST_PIECE, UNDER_WAY, pieces};
use super::team::{Keep, Member, Pending, Team, Worker};
use super::work::Job;
use eigenforge_runtime::Device;

/// All cores of this process.
struct Cores<'c, 'j> {
    job: &'c mut Job<'j>,
    /// Seconds of W⁰ and of the transformation.
    seconds: [f64; 2],
}

impl<'w> Worker<'w> for Cores<'_, '_> {
    fn begin(&mut self) -> Result<(), TransformError> {
        Ok(())
    }

    fn start(&mut self, _: usize, groups: &[usize], inputs: Vec<Vec<Vec<f64>>>) -> Result<Pending<'w>, TransformError> {
        let finished = self.job.work(groups, &inputs, &mut self.seconds);
        Ok(Box::new(move || Ok(finished)))
    }

    fn end(&mut self) -> Result<[f64; 2], TransformError> {
        Ok(self.seconds)
    }
}

/// Does pieces on all cores, of which so many bytes may be in memory at a time.
///
/// # Errors
/// Those of the source and of the team's `keep`.
pub(crate) fn by_cores(
    team: &Team<'_>,
    job: &mut Job<'_>,
    pieces: Vec<Vec<usize>>,
    room: u64,
) -> Result<Flow, TransformError> {
    let mut cores = Cores { job, seconds: [0.0; 2] };
    let done = team.work(vec![Member { label: "cores".into(), portions: pieces, room, worker: &mut cores }])?;
    Ok(Flow::of_all(done.iter()))
}

/// Has every card do its share; what each did.
///
/// # Errors
/// The first card's that failed, with its name where there are several.
pub(crate) fn by_cards<'w>(team: &Team<'_>, cards: &mut [Card<'w>]) -> Result<Vec<Flow>, TransformError> {
    team.work(cards.iter_mut().map(Card::member).collect())
}

/// Does groups on one device, in `room` bytes of host memory.
///
/// # Errors
/// Those of the source and of `keep`; not enough device memory, with the numbers; a device that compiles or runs no kernels.
pub(crate) fn on_device(
    job: &mut Job<'_>,
    groups: &[usize],
    device: &Device,
    room: u64,
    keep: &mut Keep<'_>,
) -> Result<(), TransformError> {
    let team = Team::new(job, None, keep);
    if device.runs_kernels() {
        let shares = [groups.to_vec()];
        let card = Card::new(job, (groups, &shares), room, None, device, device.name())?;
        return by_cards(&team, &mut [card]).map(drop);
    }
    let pieces = pieces(job.plan, groups, job.source.channels().len(), LARGEST_PIECE.min(room / UNDER_WAY));
    by_cores(&team, job, pieces, room.min(UNDER_WAY * LARGEST_PIECE)).map(drop)
}
