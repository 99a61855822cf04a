//! The queue of evictable buffers, oldest first.
//!
//! A sweep that turns around needs the newest first, so the oldest are the best to evict.

use super::locked;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, TryLockError, Weak};

/// Places of buffers that their owners hold.
pub(super) struct EvictionQueue<P> {
    queue: Mutex<VecDeque<Weak<Mutex<P>>>>,
}

impl<P> Default for EvictionQueue<P> {
    fn default() -> EvictionQueue<P> {
        EvictionQueue { queue: Mutex::default() }
    }
}

impl<P> EvictionQueue<P> {
    /// Appends a buffer. It stays in the queue until the returned handle is dropped.
    pub(super) fn push(&self, place: P) -> Arc<Mutex<P>> {
        let place = Arc::new(Mutex::new(place));
        let mut queue = locked(&self.queue);
        queue.retain(|place| place.strong_count() > 0);
        queue.push_back(Arc::downgrade(&place));
        place
    }

    /// The first result that `work` gives for a place, in order. Places in use are skipped.
    pub(super) fn first<R>(&self, mut work: impl FnMut(&mut P) -> Option<R>) -> Option<R> {
        let queue = locked(&self.queue);
        queue.iter().filter_map(Weak::upgrade).find_map(|place| match place.try_lock() {
            Ok(mut place) => work(&mut place),
            Err(TryLockError::Poisoned(place)) => work(&mut place.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }

    /// Begins to evict the oldest until at most `limit` bytes are left that `here` counts, or nothing evictable is. `begin`
    /// returns the bytes that will be freed.
    pub(super) fn evict_down_to<E>(
        &self,
        limit: u64,
        here: impl FnMut(&P) -> u64,
        mut begin: impl FnMut(&mut P) -> Option<Result<u64, E>>,
    ) -> Result<(), E> {
        let (over, mut begun) = (self.sum(here).saturating_sub(limit), 0);
        while begun < over
            && let Some(bytes) = self.first(&mut begin)
        {
            begun += bytes?;
        }
        Ok(())
    }

    /// The sum of `of` over all places.
    pub(super) fn sum(&self, mut of: impl FnMut(&P) -> u64) -> u64 {
        let mut sum = 0;
        let none: Option<()> = self.first(|place| {
            sum += of(place);
            None
        });
        debug_assert!(none.is_none());
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_was_left_goes_first_and_what_came_back_is_forgotten() {
        let resting = EvictionQueue::default();
        let mut left: Vec<_> = (1..=4u64).map(|k| resting.push(k)).collect();
        assert_eq!(resting.sum(|k| *k), 10);
        let busy = left[0].clone();
        let used = busy.lock().unwrap();
        assert_eq!(resting.first(|k| (*k < 4).then_some(*k)), Some(2), "the first is being used");
        drop(used);
        assert_eq!(resting.first(|k| (*k > 1).then(|| std::mem::take(k))), Some(2));
        drop(busy);
        left.drain(..2);
        assert_eq!((resting.first(|k| Some(*k)), resting.sum(|k| *k)), (Some(3), 7));
        drop(left);
        assert_eq!(resting.first(|k| Some(*k)), None);
    }
}
