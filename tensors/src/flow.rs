//! A pipeline of four threads: one reads the next piece, one works, one waits for work that was only begun, one writes finished pieces.
//!
//! In: the bytes of each piece while it is in progress, the limit for all of them, and the functions. Out: every piece
//! read, processed and written in order, or the first error. A piece is read only when it fits beside those in progress,
//! so with little memory the four take turns; the numbers are the same either way.

use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

/// Statistics of a run: what overlaps, except `beginning` and `elapsed`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Flow {
    /// Pieces that were processed and written.
    pub pieces: usize,
    /// Seconds of `begin`.
    pub beginning: f64,
    /// Seconds of reading, without waiting for memory.
    pub reading: f64,
    /// Seconds of tables, W⁰ among them; of the worker.
    pub tables: f64,
    /// Seconds of the transformation; of the worker.
    pub transform: f64,
    /// Seconds of writing, without waiting for work.
    pub writing: f64,
    /// Seconds by the clock until the last piece; of the worker.
    pub elapsed: f64,
}

impl Flow {
    /// Several that ran side by side: sums, and of the seconds by the clock the most.
    pub(crate) fn of_all<'f>(flows: impl Iterator<Item = &'f Flow>) -> Flow {
        flows.fold(Flow::default(), |all, flow| Flow {
            pieces: all.pieces + flow.pieces,
            beginning: all.beginning.max(flow.beginning),
            reading: all.reading + flow.reading,
            tables: all.tables + flow.tables,
            transform: all.transform + flow.transform,
            writing: all.writing + flow.writing,
            elapsed: all.elapsed.max(flow.elapsed),
        })
    }
}

/// What is done with a piece, each step on a thread of its own.
pub(crate) struct Steps<Read, Finish, Write> {
    /// Reads it.
    pub read: Read,
    /// Waits for what `work` has begun.
    pub finish: Finish,
    /// Writes what came out.
    pub write: Write,
}

/// Processes pieces 0, 1, …: the `steps` on threads of their own, `work` on this one. `begin` runs first on this
/// thread, while pieces are already being read; its result is passed to `work`. After each piece `stop` is asked whether
/// to end; finished pieces are written even then, and after an error.
///
/// # Errors
/// Errors of `begin` or `work`, else of `finish`, else of `write`, else of `read`.
pub(crate) fn through<I: Send, P: Send, O: Send, E: Send, W>(
    bytes: &[u64],
    limit: u64,
    steps: Steps<
        impl Fn(usize) -> Result<I, E> + Send,
        impl FnMut(usize, P) -> Result<O, E> + Send,
        impl FnMut(usize, O) -> Result<(), E> + Send,
    >,
    begin: impl FnOnce() -> Result<W, E>,
    mut work: impl FnMut(&mut W, usize, I) -> Result<P, E>,
    stop: impl Fn() -> bool,
) -> Result<Flow, E> {
    let Steps { read, mut finish, mut write } = steps;
    let room = Room::new(limit);
    let (to_work, inputs) = channel();
    let (to_finish, begun) = channel();
    let (to_write, outputs) = channel();
    std::thread::scope(|scope| {
        let room = &room;
        let reader = scope.spawn(move || {
            let mut seconds = 0.0;
            for (at, needed) in bytes.iter().enumerate() {
                if !room.take(*needed) {
                    break;
                }
                let started = Instant::now();
                let input = read(at)?;
                seconds += started.elapsed().as_secs_f64();
                if to_work.send((at, input)).is_err() {
                    break;
                }
            }
            Ok(seconds)
        });
        let finisher = scope.spawn(move || {
            let _closing = Closing(room);
            for (at, begun) in begun {
                if to_write.send((at, finish(at, begun)?)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let writer = scope.spawn(move || {
            let _closing = Closing(room);
            let mut seconds = 0.0;
            for (at, output) in outputs {
                let started = Instant::now();
                write(at, output)?;
                seconds += started.elapsed().as_secs_f64();
                room.give(bytes[at]);
            }
            Ok(seconds)
        });
        let mut flow = Flow::default();
        // Both ends of the channels are dropped here, so that the threads end.
        let worked = (|| {
            let _closing = Closing(room);
            let (inputs, to_finish) = (inputs, to_finish);
            let started = Instant::now();
            let mut worker = begin()?;
            flow.beginning = started.elapsed().as_secs_f64();
            for (at, input) in inputs {
                let begun = work(&mut worker, at, input)?;
                if to_finish.send((at, begun)).is_err() {
                    break;
                }
                flow.pieces += 1;
                if stop() {
                    break;
                }
            }
            Ok(())
        })();
        let (reading, finished, writing) = (ended(reader), ended(finisher), ended(writer));
        worked?;
        finished?;
        (flow.writing, flow.reading) = (writing?, reading?);
        Ok(flow)
    })
}

/// What a thread gave.
fn ended<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Memory budget of pieces in progress.
struct Room {
    limit: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    taken: u64,
    closed: bool,
}

impl Room {
    fn new(limit: u64) -> Room {
        Room { limit, state: Mutex::new(State { taken: 0, closed: false }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for memory; false if the run is ending. A piece larger than the limit runs alone.
    fn take(&self, bytes: u64) -> bool {
        let full = |state: &mut State| !state.closed && state.taken > 0 && state.taken + bytes > self.limit;
        let mut state = self.changed.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        state.taken += bytes;
        !state.closed
    }

    fn give(&self, bytes: u64) {
        self.state().taken -= bytes;
        self.changed.notify_all();
    }
}

/// Ends the waiting for memory, however its thread ends.
struct Closing<'a>(&'a Room);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    /// Bytes under way never exceed the limit; every piece is written once and in its turn, whatever the limit.
    #[test]
    fn pieces_keep_the_limit_and_their_turns() {
        let bytes = [3, 5, 2, 4, 4, 1, 5];
        for limit in [1, 5, 9, 100] {
            let (under_way, most) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut written = Vec::new();
            let read = |at: usize| {
                most.fetch_max(under_way.fetch_add(bytes[at], SeqCst) + bytes[at], SeqCst);
                Ok::<usize, String>(10 * at)
            };
            let work = |_: &mut (), at: usize, input: usize| Ok(input + at);
            let write = |at: usize, output: usize| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                written.push(output);
                under_way.fetch_sub(bytes[at], SeqCst);
                Ok(())
            };
            let finish = |at: usize, begun: usize| Ok(begun + 100 * at);
            let flow = through(&bytes, limit, Steps { read, finish, write }, || Ok(()), work, || false).unwrap();
            assert_eq!((flow.pieces, written), (7, (0..7).map(|at| 111 * at).collect()));
            assert!(most.load(SeqCst) <= limit.max(5), "{limit}: {most:?}");
            // With enough memory, the next piece is read before the last is written.
            assert!(limit < 100 || most.load(SeqCst) > 5, "{most:?}");
        }
    }

    /// Each thread's error is returned and ends the others; earlier finished pieces are written.
    #[test]
    fn errors_of_every_thread_surface() {
        for (place, limit) in
            ["read", "begin", "work", "finish", "write"].into_iter().flat_map(|place| [(place, 1), (place, 1000)])
        {
            let fails = |here: &str, at: usize| match here == place && at == 3 {
                true => Err(format!("{here} {at}")),
                false => Ok(()),
            };
            let mut written = 0;
            let write = |at: usize, ()| {
                fails("write", at)?;
                written += 1;
                Ok(())
            };
            let read = |at| fails("read", at);
            let finish = |at, ()| fails("finish", at);
            let work = |(): &mut (), at, ()| fails("work", at);
            let ended = through(&[7; 50], limit, Steps { read, finish, write }, || fails("begin", 3), work, || false);
            let whole = if place == "begin" { 0 } else { 3 };
            assert_eq!((ended, written), (Err(format!("{place} 3")), whole));
        }
    }

    /// A stop takes effect after the current piece, which is written.
    #[test]
    fn a_stop_loses_no_piece() {
        let (done, mut written) = (AtomicU64::new(0), 0);
        let work = |(): &mut (), _, ()| {
            done.fetch_add(1, SeqCst);
            Ok::<(), String>(())
        };
        let write = |_, ()| {
            written += 1;
            Ok(())
        };
        let steps = Steps { read: |_| Ok(()), finish: |_, ()| Ok(()), write };
        let flow = through(&[1; 9], 3, steps, || Ok(()), work, || done.load(SeqCst) == 4).unwrap();
        assert_eq!((flow.pieces, written), (4, 4));
    }
}
