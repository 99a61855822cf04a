//! A [`team`](super::team) of MPI processes: rank 0 is the master, the others work. With the feature `mpi`.
//!
//! A report is a message of bytes (RON: what it is, shares of the summary) and, for a group that is done, one of 8-byte numbers a
//! channel; an order is one integer, −1 to go home.

use super::summary::Share;
use super::team::{Master, Report, TeamError, Worker};
use super::work::Finished;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use serde::{Deserialize, Serialize};

/// The processes of an `mpirun`.
pub struct Processes {
    world: SimpleCommunicator,
    _universe: Universe,
}

/// What goes before the numbers.
#[derive(Serialize, Deserialize)]
enum Head {
    Ready,
    Finished { group: usize, defect: f64, shares: Vec<Share> },
    Failed(String),
}

impl Processes {
    /// Joins them; `None` if MPI cannot be started, or was before.
    pub fn join() -> Option<Processes> {
        let universe = mpi::initialize()?;
        Some(Processes { world: universe.world(), _universe: universe })
    }

    /// This process's number.
    pub fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    /// How many there are.
    pub fn size(&self) -> usize {
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
            Head::Finished { group, defect, shares } => {
                let from = self.world.process_at_rank(rank);
                let vectors = shares.iter().map(|_| from.receive_vec::<f64>().0).collect();
                Report::Finished(Box::new(Finished { group, vectors, defect, shares }))
            }
        };
        Ok((rank as usize, report))
    }

    fn send(&mut self, worker: usize, group: Option<usize>) -> Result<(), TeamError> {
        self.world.process_at_rank(worker as i32).send(&group.map_or(-1i64, |group| group as i64));
        Ok(())
    }
}

impl Worker for Processes {
    fn report(&mut self, report: Report) -> Result<(), TeamError> {
        let (head, vectors) = match report {
            Report::Ready => (Head::Ready, Vec::new()),
            Report::Failed(reason) => (Head::Failed(reason), Vec::new()),
            Report::Finished(finished) => {
                let Finished { group, vectors, defect, shares } = *finished;
                (Head::Finished { group, defect, shares }, vectors)
            }
        };
        let master = self.world.process_at_rank(0);
        master.send(ron::to_string(&head).map_err(connection)?.as_bytes());
        vectors.iter().for_each(|vector| master.send(&vector[..]));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<usize>, TeamError> {
        let (group, _) = self.world.process_at_rank(0).receive::<i64>();
        Ok(usize::try_from(group).ok())
    }
}
