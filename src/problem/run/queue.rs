//! A queue of tasks that do not depend on each other.
//!
//! In: workers, tasks in the order in which they are begun. Out: each result when it is there. Each worker has a thread and takes the
//! next task when it has ended one; the results come to the thread that asked. A single worker works on that thread itself.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Has the workers do all tasks of `order`. `each` sees every result with the number of its task; from its first break on no task is
/// begun, and the results of those that were are still passed to it.
///
/// # Panics
/// If a task does.
pub(super) fn run<W: Sync, R: Send>(
    workers: &[W],
    order: &[usize],
    work: impl Fn(&W, usize) -> R + Sync,
    mut each: impl FnMut(usize, R) -> ControlFlow<()>,
) {
    if let [alone] = workers {
        let _ = order.iter().try_for_each(|number| each(*number, work(alone, *number)));
        return;
    }
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for worker in workers {
            let (sender, next, stopped, work) = (sender.clone(), &next, &stopped, &work);
            scope.spawn(move || {
                while !stopped.load(Ordering::Relaxed)
                    && let Some(number) = order.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    // The receiver lives as long as the scope.
                    let _ = sender.send((*number, work(worker, *number)));
                }
            });
        }
        drop(sender);
        for (number, result) in results {
            if each(number, result).is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::Duration;

    /// Delays that differ from task to task and have no order.
    fn delay(number: usize) {
        std::thread::sleep(Duration::from_micros((number as u64).wrapping_mul(0x9E37_79B9) % 3000));
    }

    #[test]
    fn every_task_is_done_once_whatever_the_order_of_their_ends() {
        let order: Vec<usize> = (0..40).rev().collect();
        for workers in 1..6 {
            let (begun, mut ended) = (Mutex::new(Vec::new()), BTreeSet::new());
            let work = |_: &usize, number: usize| {
                begun.lock().unwrap().push(number);
                delay(number);
                number * number
            };
            let workers: Vec<usize> = (0..workers).collect();
            run(&workers, &order, work, |number, square| {
                assert!(square == number * number && ended.insert(number));
                ControlFlow::Continue(())
            });
            assert_eq!(ended.len(), order.len());
            let begun = begun.into_inner().unwrap();
            assert!(begun.iter().all(|number| ended.contains(number)) && begun.len() == order.len());
            assert!(workers.len() > 1 || begun == order, "alone it is a loop");
        }
    }

    #[test]
    fn after_a_break_those_at_work_end_and_none_is_begun() {
        let order: Vec<usize> = (0..1000).collect();
        for workers in [1, 3] {
            let (begun, mut ended) = (AtomicUsize::new(0), 0);
            let work = |_: &(), number: usize| {
                begun.fetch_add(1, Ordering::Relaxed);
                delay(number);
                number
            };
            run(&vec![(); workers], &order, work, |number, _| {
                ended += 1;
                if number >= 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(begun.into_inner(), ended, "what was begun is told");
            assert!(ended < 100, "{ended}");
        }
    }
}
