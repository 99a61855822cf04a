//! The processes of an `mpirun`, as a transformation finds itself among them: one master, the others workers.

#[cfg(feature = "mpi")]
pub use super::mpi::Processes;
#[cfg(not(feature = "mpi"))]
pub use without::Processes;

/// Stands for a team where there can be none.
#[cfg(not(feature = "mpi"))]
mod without {
    use super::super::team::{Master, Report, TeamError, Worker};
    use eigenforge_core::processes::World;

    /// Has no values.
    pub struct Processes(World);

    impl Processes {
        /// All processes.
        pub fn new(world: World) -> Processes {
            Processes(world)
        }

        /// This process's rank.
        pub fn rank(&self) -> usize {
            match self.0 {}
        }
    }

    impl Master for Processes {
        fn workers(&self) -> usize {
            match self.0 {}
        }

        fn receive(&mut self) -> Result<(usize, Report), TeamError> {
            match self.0 {}
        }

        fn send(&mut self, _: usize, _: Option<&[usize]>) -> Result<(), TeamError> {
            match self.0 {}
        }
    }

    impl Worker for Processes {
        fn report(&mut self, _: Report) -> Result<(), TeamError> {
            match self.0 {}
        }

        fn next(&mut self) -> Result<Option<Vec<usize>>, TeamError> {
            match self.0 {}
        }
    }
}
