//! Processes that talk by MPI. Requires the feature `mpi`.
//!
//! Numbers go from host memory to host memory, one rank's messages to each other rank in turn, in messages that
//! [`Ranks`](eigenforge_runtime::ranks::Ranks) keeps below 2³¹ bytes.

#[cfg(target_os = "linux")]
use super::connections;
use eigenforge_runtime::Result;
use eigenforge_runtime::ranks::{Collectives, Ranks, WORDS};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The processes of an `mpirun`. MPI ends with the last clone.
#[derive(Clone)]
pub struct World {
    universe: Arc<Universe>,
}

/// The communicator, for one thread at a time.
struct Shared(SimpleCommunicator);

// SAFETY: MPI was started for calls of any thread, one at a time, and a lock keeps them apart.
unsafe impl Send for Shared {}

/// All processes, as ranks.
struct ByMpi {
    world: Mutex<Shared>,
    rank: usize,
    ranks: usize,
    here: usize,
    number_here: usize,
    /// Ends MPI after the communicator's last use.
    _universe: Arc<Universe>,
}

impl World {
    /// Starts MPI; `None` if it cannot be started, or was started before.
    pub(super) fn start() -> Option<World> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Serialized)?;
        #[cfg(target_os = "linux")]
        connections::watch();
        Some(World { universe: Arc::new(universe) })
    }

    /// The communicator of all processes.
    pub fn communicator(&self) -> SimpleCommunicator {
        self.universe.world()
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.communicator().rank() as usize
    }

    /// This process among all, for exact diagonalisation. Every process asks.
    pub fn ranks(&self) -> Ranks {
        let world = self.communicator();
        let machine = world.split_shared(world.rank());
        let (here, number_here) = (machine.size() as usize, machine.rank() as usize);
        let (rank, ranks) = (world.rank() as usize, world.size() as usize);
        Ranks::new(Box::new(ByMpi {
            world: Mutex::new(Shared(world)),
            rank,
            ranks,
            here,
            number_here,
            _universe: self.universe.clone(),
        }))
    }
}

impl ByMpi {
    fn world(&self) -> MutexGuard<'_, Shared> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ByMpi {
    /// A process that panics takes no further part, and the end of MPI would wait for the others, who wait for it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.world().0.abort(101);
        }
    }
}

impl Collectives for ByMpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn on_this_machine(&self) -> usize {
        self.here
    }

    fn number_here(&self) -> usize {
        self.number_here
    }

    fn words(&self, own: &[u64; WORDS]) -> Result<Vec<[u64; WORDS]>> {
        let mut all = vec![[0; WORDS]; self.ranks];
        self.world().0.all_gather_into(&own[..], all.as_flattened_mut());
        Ok(all)
    }

    /// Distance by distance: to the rank so many after this one, from the rank so many before.
    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<()> {
        let world = self.world();
        receive[self.rank].copy_from_slice(send[self.rank]);
        for distance in 1..self.ranks {
            let (to, from) = ((self.rank + distance) % self.ranks, (self.rank + self.ranks - distance) % self.ranks);
            mpi::request::scope(|scope| {
                let sending =
                    (!send[to].is_empty()).then(|| world.0.process_at_rank(to as i32).immediate_send(scope, send[to]));
                if !receive[from].is_empty() {
                    world.0.process_at_rank(from as i32).receive_into(&mut *receive[from]);
                }
                sending.map(mpi::request::Request::wait);
            });
        }
        Ok(())
    }
}
