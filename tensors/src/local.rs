//! The cores of a process as one worker, and groups done within a process by its cores or by one card.

use super::cards::Card;
use super::error::TransformError;
use super::shares::{LARGEST_PIECE, UNDER_WAY, pieces};
use super::team::{Keep, Member, Pending, Team, Worker};
use super::work::Job;
use eigenforge_runtime::Device;

/// All cores of this process, as one worker.
pub(crate) struct Cores<'c, 'j> {
    job: &'c mut Job<'j>,
    /// Seconds of W⁰ and of the transformation.
    seconds: [f64; 2],
}

impl<'c, 'j> Cores<'c, 'j> {
    pub(crate) fn new(job: &'c mut Job<'j>) -> Cores<'c, 'j> {
        Cores { job, seconds: [0.0; 2] }
    }

    /// As a worker of a team that does these pieces, of which so many bytes may be in memory at a time.
    pub(crate) fn member(&mut self, pieces: Vec<Vec<usize>>, room: u64) -> Member<'_, '_> {
        Member { label: "cores".into(), portions: pieces, room, worker: self }
    }
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
    let (plan, source) = (job.plan, job.source);
    let team = Team::new(plan, source, None, keep);
    if device.runs_kernels() {
        let shares = [groups.to_vec()];
        let mut card = Card::new(job, (groups, &shares), room, None, device, device.name())?;
        return team.work(vec![card.member()]).map(drop);
    }
    let pieces = pieces(plan, groups, source.channels().len(), LARGEST_PIECE.min(room / UNDER_WAY));
    let mut cores = Cores::new(job);
    team.work(vec![cores.member(pieces, room.min(UNDER_WAY * LARGEST_PIECE))]).map(drop)
}
