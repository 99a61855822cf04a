//! A team of MPI processes: rank 0 is the master, the others are workers. Requires the feature `mpi`.
//!
//! A report is a message of bytes (RON: its kind, shares of the summary) and, for each finished group, one message of
//! 8-byte numbers per channel; an order lists the groups of a portion, and an empty list ends the worker.

use super::summary::Share;
use super::team::{Master, Report, TeamError, Worker};
use super::work::FinishedGroup;
use eigenforge_core::processes::World;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use serde::{Deserialize, Serialize};

/// The processes of an `mpirun`.
pub struct Processes {
    world: SimpleCommunicator,
    /// Ends MPI last.
    _of: World,
}

/// The message before the numbers.
#[derive(Serialize, Deserialize)]
enum Head {
    Ready,
    Finished(Vec<HeadOfGroup>),
    Failed(String),
}

#[derive(Serialize, Deserialize)]
struct HeadOfGroup {
    group: usize,
    defect: f64,
    shares: Vec<Share>,
}

impl Processes {
    /// All processes.
    pub fn new(world: World) -> Processes {
        Processes { world: world.communicator(), _of: world }
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    /// Number of processes.
    pub(super) fn size(&self) -> usize {
        self.world.size() as usize
    }
}

fn connection(error: impl ToString) -> TeamError {
    TeamError::Connection(error.to_string())
}

impl Master for Processes {
    fn workers(&self) -> usize {
        self.size() - 1
    }

    fn receive(&mut self) -> Result<(usize, Report), TeamError> {
        let (bytes, status) = self.world.any_process().receive_vec::<u8>();
        let rank = status.source_rank();
        let head: Head = ron::de::from_bytes(&bytes).map_err(connection)?;
        let report = match head {
            Head::Ready => Report::Ready,
            Head::Failed(reason) => Report::Failed(reason),
            Head::Finished(groups) => {
                let from = self.world.process_at_rank(rank);
                let of = |HeadOfGroup { group, defect, shares }| {
                    let vectors = shares.iter().map(|_| from.receive_vec::<f64>().0).collect();
                    FinishedGroup { group, vectors, defect, shares }
                };
                Report::Finished(groups.into_iter().map(of).collect())
            }
        };
        Ok((rank as usize, report))
    }

    fn send(&mut self, worker: usize, portion: Option<&[usize]>) -> Result<(), TeamError> {
        let order: Vec<u64> = portion.unwrap_or_default().iter().map(|group| *group as u64).collect();
        self.world.process_at_rank(worker as i32).send(&order[..]);
        Ok(())
    }
}

impl Worker for Processes {
    fn report(&mut self, report: Report) -> Result<(), TeamError> {
        let (head, vectors) = match report {
            Report::Ready => (Head::Ready, Vec::new()),
            Report::Failed(reason) => (Head::Failed(reason), Vec::new()),
            Report::Finished(finished) => {
                let mut all = Vec::new();
                let of = |FinishedGroup { group, vectors, defect, shares }| {
                    all.extend(vectors);
                    HeadOfGroup { group, defect, shares }
                };
                (Head::Finished(finished.into_iter().map(of).collect()), all)
            }
        };
        let master = self.world.process_at_rank(0);
        master.send(ron::to_string(&head).map_err(connection)?.as_bytes());
        vectors.iter().for_each(|vector| master.send(&vector[..]));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError> {
        let (order, _) = self.world.process_at_rank(0).receive_vec::<u64>();
        Ok((!order.is_empty()).then(|| order.into_iter().map(|group| group as usize).collect()))
    }
}
