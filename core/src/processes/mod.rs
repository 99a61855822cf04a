//! The processes of an `mpirun`.
//!
//! In: the environment. Out: [`World`], in which this process has a number, or none if it was started alone. SU(3) deals its groups
//! out to them (tensors); exact diagonalisation makes them [ranks](eigenforge_runtime::ranks). A build without MPI
//! that is started several times over refuses, because each process would do the same and write the same files.

#[cfg(all(feature = "mpi", target_os = "linux"))]
mod connections;
#[cfg(feature = "mpi")]
mod mpi;
mod threads;

#[cfg(feature = "mpi")]
pub use mpi::World;
pub use threads::share_cores;
#[cfg(not(feature = "mpi"))]
pub use without::World;

/// The number of processes as launchers of Open MPI, MPICH and MVAPICH tell it.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Several processes that cannot talk to each other.
#[derive(Debug, thiserror::Error)]
#[error(
    "{size} processes were started together, but this eigenforge was built without MPI: build it with --features mpi, or \
     start one process"
)]
pub struct WithoutMpi {
    /// How many.
    pub size: usize,
}

impl World {
    /// Joins the others, if there are any. Once for each process.
    ///
    /// # Errors
    /// Several processes of a build without MPI; MPI does not start.
    pub fn join() -> Result<Option<World>, WithoutMpi> {
        let size = SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(1);
        if size < 2 {
            return Ok(None);
        }
        World::start().map(Some).ok_or(WithoutMpi { size })
    }
}

/// Stands for processes where there can be only one.
#[cfg(not(feature = "mpi"))]
mod without {
    use eigenforge_runtime::ranks::Ranks;

    /// Has no values.
    pub enum World {}

    impl World {
        pub(super) fn start() -> Option<World> {
            None
        }

        /// This process's rank.
        pub fn rank(&self) -> usize {
            match *self {}
        }

        /// This process among all, for exact diagonalisation.
        pub fn ranks(&self) -> Ranks {
            match *self {}
        }
    }
}
