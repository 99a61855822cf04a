//! The processes of an `mpirun` as a transformation finds itself among them: process 0 leads, the others are its workers. Also
//! what they tell each other.

use super::work::FinishedGroup;
use eigenforge_core::processes::World;
use serde::{Deserialize, Serialize};

/// The processes of an `mpirun`.
pub struct Processes(pub(super) World);

/// What a process tells another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A worker is ready.
    Ready,
    /// A worker has finished the groups of its portion.
    Finished(Vec<FinishedGroup>),
    /// Why a worker failed.
    Failed(String),
    /// The leader gives out a portion; an empty one ends the worker.
    Portion(Vec<usize>),
}

/// Why a team did not finish.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A worker failed.
    #[error("worker {worker}: {reason}")]
    Worker {
        /// Its number.
        worker: usize,
        /// Its message.
        reason: String,
    },
    /// The connection.
    #[error("the connection between the processes failed: {0}")]
    Connection(String),
}

/// The connection between a leader and its workers. Its errors are those of the connection.
pub(crate) trait Connection {
    /// Number of workers.
    fn workers(&self) -> usize;

    /// Sends to a process; the leader is 0.
    fn send(&mut self, to: usize, message: Message) -> Result<(), TeamError>;

    /// The next message and its sender: for the leader from any worker, for a worker from the leader.
    fn receive(&mut self) -> Result<(usize, Message), TeamError>;
}

impl Processes {
    /// All processes.
    pub fn new(world: World) -> Processes {
        Processes(world)
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }
}

/// A build without MPI has no processes.
#[cfg(not(feature = "mpi"))]
impl Connection for Processes {
    fn workers(&self) -> usize {
        match self.0 {}
    }

    fn send(&mut self, _: usize, _: Message) -> Result<(), TeamError> {
        match self.0 {}
    }

    fn receive(&mut self) -> Result<(usize, Message), TeamError> {
        match self.0 {}
    }
}
