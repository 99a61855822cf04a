//! Storage of evicted buffers: in host memory up to a limit, on disk beyond it.
//!
//! ```text
//! put: room left?  yes → memory                      take: in memory → at once
//!                  no  → a thread writes it → disk         on disk → read, or waited for after a `fetch`
//! ```
//!
//! A thread writes and reads, reads first, while the run continues, which announces a step or two ahead what it will
//! need ([`SpilledBuffer::fetch`]). One buffer at a time is written to disk; the next `put` waits for it. Until then a
//! buffer counts as held in memory, even if its writing has ended, so that counts do not depend on the speed of the disk.

use super::scratch::{Scratch, Written};
use super::{Ledger, locked};
use crate::error::BackendError;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A buffer of numbers in any kind of memory.
pub(super) trait NumberBuffer: Send + 'static {
    /// The numbers.
    fn values(&self) -> &[f64];
    /// The numbers, mutable.
    fn values_mut(&mut self) -> &mut [f64];
    /// How many.
    fn len(&self) -> usize {
        self.values().len()
    }
}

impl NumberBuffer for Vec<f64> {
    fn values(&self) -> &[f64] {
        self
    }
    fn values_mut(&mut self) -> &mut [f64] {
        self
    }
}

type Make<N> = Box<dyn Fn(usize) -> Result<N, BackendError> + Send + Sync>;

/// The storage of evicted buffers.
pub(super) struct SpillStore<N: NumberBuffer> {
    /// Bytes in memory, including buffers being written or read.
    memory: Arc<Ledger>,
    limit: u64,
    make: Make<N>,
    shared: Arc<Shared<N>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pending: Mutex<Option<Arc<Piece<N>>>>,
}

/// Data shared between the store and its thread.
struct Shared<N> {
    scratch: Scratch,
    jobs: Mutex<Jobs<N>>,
    more: Condvar,
}

struct Jobs<N> {
    reads: VecDeque<(Arc<Piece<N>>, Written, N)>,
    writes: VecDeque<(Arc<Piece<N>>, N)>,
    done: bool,
}

struct Piece<N> {
    state: Mutex<State<N>>,
    changed: Condvar,
    len: usize,
}

struct State<N> {
    place: Place<N>,
    /// Whether its bytes are counted as memory.
    counted: bool,
    /// Whether to keep it in memory after it is written.
    wanted: bool,
}

enum Place<N> {
    Memory(N),
    Writing,
    Disk(Written),
    Reading,
    Failed(&'static str, io::Error),
    Gone,
}

/// A buffer in a store; removed when dropped.
pub(super) struct SpilledBuffer<N: NumberBuffer> {
    piece: Arc<Piece<N>>,
    store: Arc<SpillStore<N>>,
}

impl<N> Piece<N> {
    fn bytes(&self) -> u64 {
        8 * self.len as u64
    }

    /// Waits while the thread uses it.
    fn settled(&self) -> MutexGuard<'_, State<N>> {
        let busy = |state: &mut State<N>| matches!(state.place, Place::Writing | Place::Reading);
        self.changed.wait_while(locked(&self.state), busy).unwrap_or_else(PoisonError::into_inner)
    }

    fn becomes(&self, place: Place<N>) {
        locked(&self.state).place = place;
        self.changed.notify_all();
    }
}

impl<N: NumberBuffer> Shared<N> {
    /// The thread's loop.
    fn work(&self) {
        loop {
            let mut jobs = locked(&self.jobs);
            while !jobs.done && jobs.reads.is_empty() && jobs.writes.is_empty() {
                jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
            if jobs.done {
                return;
            }
            if let Some((piece, written, room)) = jobs.reads.pop_front() {
                drop(jobs);
                piece.becomes(self.read(written, room));
            } else if let Some((piece, numbers)) = jobs.writes.pop_front() {
                drop(jobs);
                let written = self.scratch.write(numbers.values());
                let mut state = locked(&piece.state);
                state.place = match written {
                    Ok(written) if state.wanted => {
                        self.scratch.forget(written);
                        Place::Memory(numbers)
                    }
                    Ok(written) => Place::Disk(written),
                    Err(error) => Place::Failed("written", error),
                };
                drop(state);
                piece.changed.notify_all();
            }
        }
    }

    fn read(&self, written: Written, mut room: N) -> Place<N> {
        match self.scratch.read(written, room.values_mut()) {
            Ok(()) => {
                self.scratch.forget(written);
                Place::Memory(room)
            }
            Err(error) => Place::Failed("read back", error),
        }
    }
}

impl<N: NumberBuffer> SpillStore<N> {
    /// A store of at most `limit` bytes of memory, counted in `memory`, and a scratch folder for the rest. `make`
    /// allocates buffers to read into.
    pub(super) fn new(
        memory: Arc<Ledger>,
        limit: u64,
        scratch: PathBuf,
        make: impl Fn(usize) -> Result<N, BackendError> + Send + Sync + 'static,
    ) -> Arc<SpillStore<N>> {
        SpillStore::start(memory, limit, Scratch::new(scratch), Box::new(make))
    }

    fn start(memory: Arc<Ledger>, limit: u64, scratch: Scratch, make: Make<N>) -> Arc<SpillStore<N>> {
        let jobs = Mutex::new(Jobs { reads: VecDeque::new(), writes: VecDeque::new(), done: false });
        let shared = Arc::new(Shared { scratch, jobs, more: Condvar::new() });
        let (thread, pending) = (Mutex::default(), Mutex::default());
        Arc::new(SpillStore { memory, limit, make, shared, thread, pending })
    }

    /// Counters of host memory and of disk.
    pub(super) fn ledgers(&self) -> (&Ledger, &Ledger) {
        (&self.memory, &self.shared.scratch.ledger)
    }

    /// The memory limit in bytes.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Stores a buffer. It goes to disk if the limit would be exceeded.
    ///
    /// # Errors
    /// Errors of the previous write.
    pub(super) fn put(self: &Arc<Self>, numbers: N) -> Result<SpilledBuffer<N>, BackendError> {
        self.settle()?;
        let len = numbers.len();
        let bytes = 8 * len as u64;
        let fits = self.memory.used() + bytes <= self.limit();
        self.memory.take(bytes);
        let stored = |place| {
            let state = Mutex::new(State { place, counted: true, wanted: false });
            SpilledBuffer { piece: Arc::new(Piece { state, changed: Condvar::new(), len }), store: self.clone() }
        };
        if fits {
            return Ok(stored(Place::Memory(numbers)));
        }
        let stored = stored(Place::Writing);
        *locked(&self.pending) = Some(stored.piece.clone());
        locked(&self.shared.jobs).writes.push_back((stored.piece.clone(), numbers));
        self.wake()?;
        Ok(stored)
    }

    /// Waits for the write in progress; its bytes no longer count as memory.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn settle(&self) -> Result<(), BackendError> {
        let Some(piece) = locked(&self.pending).take() else { return Ok(()) };
        let mut state = piece.settled();
        if matches!(state.place, Place::Failed(..)) {
            return Err(self.fault(&mut state.place));
        }
        if matches!(state.place, Place::Disk(_)) && std::mem::take(&mut state.counted) {
            self.memory.give_back(piece.bytes());
        }
        Ok(())
    }

    /// The error of a failed buffer.
    fn fault(&self, place: &mut Place<N>) -> BackendError {
        let gone = || io::Error::other("the piece is not there any more");
        let (what, error) = match std::mem::replace(place, Place::Gone) {
            Place::Failed(what, error) => (what, error),
            _ => ("read back", gone()),
        };
        self.shared.scratch.fault(what, error)
    }

    /// Wakes the thread; starts it at the first call.
    fn wake(&self) -> Result<(), BackendError> {
        let mut thread = locked(&self.thread);
        if thread.is_none() {
            let shared = self.shared.clone();
            let begun = std::thread::Builder::new().name("scratch".into()).spawn(move || shared.work());
            *thread = Some(begun.map_err(|error| self.shared.scratch.fault("written", error))?);
        }
        self.shared.more.notify_one();
        Ok(())
    }
}

impl<N: NumberBuffer> Drop for SpillStore<N> {
    fn drop(&mut self) {
        locked(&self.shared.jobs).done = true;
        self.shared.more.notify_all();
        if let Some(thread) = locked(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl<N: NumberBuffer> SpilledBuffer<N> {
    /// Numbers in it.
    pub(super) fn len(&self) -> usize {
        self.piece.len
    }

    /// Starts reading it if it is on disk, because it will be needed soon.
    ///
    /// # Errors
    /// Not enough memory.
    pub(super) fn fetch(&self) -> Result<(), BackendError> {
        let mut state = locked(&self.piece.state);
        let written = match state.place {
            Place::Disk(written) => written,
            Place::Writing => {
                state.wanted = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if !state.counted {
            state.counted = true;
            self.store.memory.take(self.piece.bytes());
        }
        let room = (self.store.make)(self.piece.len)?;
        state.place = Place::Reading;
        drop(state);
        locked(&self.store.shared.jobs).reads.push_back((self.piece.clone(), written, room));
        self.store.wake()
    }

    /// Takes the buffer out of the store, waiting for it; its bytes are no longer counted here.
    ///
    /// # Errors
    /// The file is truncated or changed, or the disk is full.
    pub(super) fn take(self) -> Result<N, BackendError> {
        self.fetch()?;
        let mut state = self.piece.settled();
        match std::mem::replace(&mut state.place, Place::Gone) {
            Place::Memory(numbers) => {
                self.uncount(&mut state);
                Ok(numbers)
            }
            other => {
                state.place = other;
                Err(self.store.fault(&mut state.place))
            }
        }
    }

    /// A copy; the buffer stays in the store.
    ///
    /// # Errors
    /// See [`SpilledBuffer::take`].
    pub(super) fn copy(&self) -> Result<Vec<f64>, BackendError> {
        let mut state = self.piece.settled();
        match &mut state.place {
            Place::Memory(numbers) => Ok(numbers.values().to_vec()),
            Place::Disk(written) => {
                let mut values = vec![0.0; self.piece.len];
                let scratch = &self.store.shared.scratch;
                scratch.read(*written, &mut values).map_err(|error| scratch.fault("read back", error))?;
                Ok(values)
            }
            place => Err(self.store.fault(place)),
        }
    }

    fn uncount(&self, state: &mut State<N>) {
        if std::mem::take(&mut state.counted) {
            self.store.memory.give_back(self.piece.bytes());
        }
    }
}

impl<N: NumberBuffer> Drop for SpilledBuffer<N> {
    fn drop(&mut self) {
        let mut state = self.piece.settled();
        if let Place::Disk(written) = std::mem::replace(&mut state.place, Place::Gone) {
            self.store.shared.scratch.forget(written);
        }
        self.uncount(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;
    use std::fs::OpenOptions;

    fn store(limit: u64, folder: &std::path::Path) -> Arc<SpillStore<Vec<f64>>> {
        SpillStore::new(Arc::default(), limit, folder.into(), |len| Ok(vec![f64::NAN; len]))
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn a_stack_comes_back_to_the_last_bit_from_wherever_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(8 * 2500, folder.path());
        let numbers: Vec<Vec<f64>> = (0..20).map(|k| vector(300 + 40 * k, k as u64)).collect();
        let mut stack: Vec<SpilledBuffer<Vec<f64>>> = numbers.iter().map(|x| store.put(x.clone()).unwrap()).collect();
        let (memory, disk) = store.ledgers();
        let longest = 8 * numbers[19].len() as u64;
        assert!(disk.used() > 0 && memory.peak() <= store.limit() + longest, "one piece at a time is on its way");
        for k in (0..20).rev() {
            // As in a sweep along a chain: a buffer is fetched two steps before it is needed.
            stack.iter().rev().nth(2).iter().for_each(|soon| soon.fetch().unwrap());
            assert_eq!(bits(&stack[k].copy().unwrap()), bits(&numbers[k]));
            assert_eq!(bits(&stack.pop().unwrap().take().unwrap()), bits(&numbers[k]));
        }
        assert_eq!((memory.used(), disk.used()), (0, 0));
        assert!(disk.peak() > 8 * 5000);
    }

    #[test]
    fn pieces_that_nobody_takes_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(0, folder.path());
        drop((0..5).map(|k| store.put(vector(1000, k)).unwrap()).collect::<Vec<_>>());
        assert_eq!((store.ledgers().0.used(), store.ledgers().1.used()), (0, 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_of_the_next_piece_and_of_whoever_wants_the_first() {
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let make: Make<Vec<f64>> = Box::new(|len| Ok(vec![0.0; len]));
        let store = SpillStore::start(Arc::default(), 0, Scratch::from_file(full, "/there".into()), make);
        let first = store.put(vec![1.0; 100]).unwrap();
        let refused = first.take().unwrap_err().to_string();
        assert!(refused.contains("/there"), "{refused}");
        let kept = store.put(vec![1.0; 100]).unwrap();
        assert!(matches!(store.put(vec![2.0; 100]), Err(BackendError::Scratch { what: "written", .. })));
        drop(kept);
    }
}
