//! The processes of an `mpirun`, as a transformation finds itself among them.
//!
//! In: the environment. Out: the team with this process's number, or none if it was started alone. A build without MPI that
//! is started several times over refuses, because each process would write the same file.

use super::error::TransformError;

#[cfg(feature = "mpi")]
pub use super::mpi::Processes;
#[cfg(not(feature = "mpi"))]
pub use without::Processes;

/// The number of processes as launchers of Open MPI, MPICH and MVAPICH tell it.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

impl Processes {
    /// Joins the team, if there is one.
    ///
    /// # Errors
    /// Several processes of a build without MPI.
    pub fn join() -> Result<Option<Processes>, TransformError> {
        let size = SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(1);
        if size < 2 {
            return Ok(None);
        }
        enter(size).map(Some)
    }
}

#[cfg(feature = "mpi")]
fn enter(size: usize) -> Result<Processes, TransformError> {
    Processes::start().ok_or(TransformError::WithoutMpi { size })
}

#[cfg(not(feature = "mpi"))]
fn enter(size: usize) -> Result<Processes, TransformError> {
    Err(TransformError::WithoutMpi { size })
}

/// Stands for a team where there can be none.
#[cfg(not(feature = "mpi"))]
mod without {
    use super::super::team::{Master, Report, TeamError, Worker};

    /// Has no values.
    pub enum Processes {}

    impl Processes {
        /// This process's rank.
        pub fn rank(&self) -> usize {
            match *self {}
        }
    }

    impl Master for Processes {
        fn workers(&self) -> usize {
            match *self {}
        }

        fn receive(&mut self) -> Result<(usize, Report), TeamError> {
            match *self {}
        }

        fn send(&mut self, _: usize, _: Option<&[usize]>) -> Result<(), TeamError> {
            match *self {}
        }
    }

    impl Worker for Processes {
        fn report(&mut self, _: Report) -> Result<(), TeamError> {
            match *self {}
        }

        fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError> {
            match *self {}
        }
    }
}
