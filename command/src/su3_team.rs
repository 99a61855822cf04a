//! The processes of an `mpirun`, as `su3 transform` finds itself among them.
//!
//! In: the environment. Out: the team with this process's number, or none when it was started alone. A build without MPI that is
//! started several times over says so, since each of them would write the same file.

use super::error::CommandError;

#[cfg(feature = "mpi")]
pub(super) use eigenforge::su3::mpi::Processes;
#[cfg(not(feature = "mpi"))]
pub(super) use without::Processes;

/// What launchers of Open MPI, MPICH and MVAPICH tell a process.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Joins the team, if there is one.
pub(super) fn join() -> Result<Option<Processes>, CommandError> {
    let size = SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(1);
    if size < 2 {
        return Ok(None);
    }
    enter(size).map(Some)
}

#[cfg(feature = "mpi")]
fn enter(size: usize) -> Result<Processes, CommandError> {
    Processes::join().ok_or(CommandError::WithoutMpi { size })
}

#[cfg(not(feature = "mpi"))]
fn enter(size: usize) -> Result<Processes, CommandError> {
    Err(CommandError::WithoutMpi { size })
}

/// Stands for a team where there can be none.
#[cfg(not(feature = "mpi"))]
mod without {
    use eigenforge::su3::team::{Master, Report, TeamError, Worker};

    /// Has no values.
    pub(in super::super) enum Processes {}

    impl Processes {
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
