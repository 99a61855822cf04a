//! The memory of the other cards of a machine: which one has room for a buffer that leaves its card, and how it gets there and back.
//!
//! In: the cards of a device, the first of which computes with the buffers, and how many bytes each other one may hold. Out: a vector on
//! the card with the most room left, of equal ones the first, so that the same run takes the same places.
//!
//! What the cards need for their own work is not counted here: limits leave room for it ([`MemoryLimits::with_other_cards`]). A card
//! whose memory another program took holds what it has and gets no more. Only copies touch this memory, in the order of the first card's
//! work, so that the cards do not wait for each other.

use super::{MemoryLimits, bytes, locked};
use crate::device::{Arena, Device, PeerCopies, Vector};
use crate::error::DeviceError;
use std::cmp::Reverse;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes reserved at a time.
const STEP: u64 = 256 << 20;

/// The other cards, as memory for buffers of one.
pub(super) struct Neighbours {
    home: Device,
    copies: PeerCopies,
    cards: Vec<Neighbour>,
    peak: AtomicU64,
    /// Cards see each other's memory as long as their device is open.
    _whole: Device,
}

/// One of them.
struct Neighbour {
    card: Device,
    arena: Arena,
    /// Bytes that stay free beside it when it reserves more.
    spare: u64,
    /// Why it reserves no more.
    refused: Mutex<Option<String>>,
}

impl Neighbours {
    /// The cards beside the first, with the bytes that each may hold; one without a limit holds nothing.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn new(whole: &Device, cards: &[Device], limits: &[u64]) -> Result<Neighbours, DeviceError> {
        let others = cards[1..].iter().zip(limits).filter(|(_, limit)| **limit > 0);
        Ok(Neighbours {
            home: cards[0].clone(),
            copies: PeerCopies::new(&cards[0])?,
            cards: others.map(|(card, limit)| Neighbour::new(card, *limit)).collect::<Result<_, _>>()?,
            peak: AtomicU64::new(0),
            _whole: whole.clone(),
        })
    }

    /// A vector of `len` numbers on another card, if one has room.
    pub(super) fn take(&self, len: usize) -> Option<Vector<f64>> {
        let mut by_room: Vec<&Neighbour> = self.cards.iter().collect();
        by_room.sort_by_key(|card| Reverse(card.arena.limit().saturating_sub(card.arena.used())));
        let found = by_room.into_iter().find_map(|card| card.take(len));
        self.peak.fetch_max(self.used(), Ordering::Relaxed);
        found
    }

    /// The copies from the card to the others and back.
    pub(super) fn copies(&self) -> &PeerCopies {
        &self.copies
    }

    /// The numbers of a vector on another card, or of a copy under way.
    ///
    /// # Errors
    /// The device fails.
    pub(super) fn read(&self, vector: &Vector<f64>, len: usize) -> Result<Vec<f64>, DeviceError> {
        // The work of the card waits for its copies, that of the other card does not.
        self.home.synchronize()?;
        vector.download_first(len)
    }

    /// Bytes that they may hold.
    pub(super) fn limit(&self) -> u64 {
        self.cards.iter().map(|card| card.arena.limit()).sum()
    }

    /// Bytes of buffers on the other cards.
    pub(super) fn used(&self) -> u64 {
        self.cards.iter().map(|card| card.arena.used()).sum()
    }

    /// The most that they have held together.
    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// A sentence for each card that could not hold what it should.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.cards.iter().filter_map(|card| locked(&card.refused).clone()).collect()
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        // Copies into the memory that is given back now are done; a failed device has released it.
        let _ = self.home.synchronize();
    }
}

impl Neighbour {
    fn new(card: &Device, limit: u64) -> Result<Neighbour, DeviceError> {
        let (arena, refused) = (Arena::new(card, limit)?, Mutex::default());
        Ok(Neighbour { card: card.clone(), arena, spare: MemoryLimits::reserve(card), refused })
    }

    /// A vector on this card, if it has room.
    fn take(&self, len: usize) -> Option<Vector<f64>> {
        let mut refused = locked(&self.refused);
        match self.vector(len, refused.is_none()) {
            Ok(found) => found,
            Err(error) => {
                let name = self.card.name();
                let said = format!("{name} takes no more buffers of the first card, which go elsewhere: {error}");
                tracing::warn!("{said}");
                *refused = Some(said);
                None
            }
        }
    }

    fn vector(&self, len: usize, grows: bool) -> Result<Option<Vector<f64>>, DeviceError> {
        let free = self.arena.take(len, false)?;
        let more = bytes(len).min(self.arena.limit().saturating_sub(self.arena.reserved()));
        if free.is_some() || !grows || more == 0 {
            return Ok(free);
        }
        self.card.check_memory("room for another card's buffers", more.saturating_add(self.spare))?;
        match self.arena.reserve_for(len, STEP, self.arena.limit())? {
            true => self.arena.take(len, false),
            false => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Evict, Pool, PoolBuffer};
    use super::*;
    use crate::testing::teams;
    use std::sync::Arc;

    const LEN: usize = 1 << 17;
    const MIB: u64 = 1 << 20;

    fn numbers(k: usize) -> Vec<f64> {
        (0..LEN).map(|i| (i * 7 + k) as f64).collect()
    }

    /// Three cards or more.
    fn three() -> impl Iterator<Item = Device> {
        teams(&[3]).into_iter().filter(|team| team.cards_at_work() > 2)
    }

    /// A pool of 4 MiB on the first card, beside others that may hold so many MiB.
    fn pool(team: &Device, room: &[u64], host: u64) -> Arc<Pool> {
        let other_cards = room.iter().map(|mib| mib * MIB).collect();
        let limits = MemoryLimits { memory: 4 * MIB, host, scratch: std::env::temp_dir(), other_cards };
        Pool::of_cards(team, &team.members().unwrap(), limits).unwrap()
    }

    /// Eight buffers of 1 MiB, marked evictable one after the other.
    fn filled(pool: &Arc<Pool>) -> Vec<PoolBuffer> {
        let evictable = |k| {
            let mut buffer = pool.upload(&numbers(k)).unwrap();
            buffer.mark_evictable().unwrap();
            buffer
        };
        (0..8).map(evictable).collect()
    }

    /// Every buffer can be copied wherever it is, and comes back with the same bits.
    fn come_back(pool: &Pool, mut held: Vec<PoolBuffer>) {
        assert!(held.iter().enumerate().all(|(k, buffer)| buffer.copy().unwrap() == numbers(k)));
        for k in (0..8).rev() {
            if k > 1 {
                held[k - 2].prefetch(2).unwrap();
                held[k - 1].prefetch(1).unwrap();
            }
            held[k].ensure_resident().unwrap();
            assert_eq!(held[k].download().unwrap(), numbers(k), "buffer {k}");
            held[k].mark_evictable().unwrap();
        }
        assert!(held.iter().enumerate().all(|(k, buffer)| buffer.copy().unwrap() == numbers(k)));
        drop(held);
        assert_eq!((pool.used(), pool.evicted_bytes()), (0, 0));
    }

    fn each(pool: &Pool) -> Vec<u64> {
        pool.neighbours.cards.iter().map(|card| card.arena.used() / MIB).collect()
    }

    /// The name has cards run it.
    #[test]
    fn memcheck_buffers_go_to_the_card_with_most_room_and_come_back() {
        for team in three() {
            let pool = pool(&team, &[6, 8], 64 * MIB);
            let held = filled(&pool);
            let usage = pool.usage();
            assert_eq!((usage.other_cards, usage.host, usage.disk), (4 * MIB, 0, 0), "{usage:?}");
            // Room before each: 6 and 8, 6 and 7, 6 and 6, 5 and 6.
            assert_eq!((each(&pool), pool.evicted_bytes()), (vec![1, 3], 4 * MIB));
            pool.evict_all().unwrap();
            assert_eq!((each(&pool), pool.used()), (vec![3, 5], 0));
            come_back(&pool, held);
            let usage = pool.usage();
            assert!(usage.other_cards == 8 * MIB && usage.host == 0 && pool.warnings().is_empty(), "{usage:?}");
        }
    }

    /// Limits are kept to; what exceeds them goes to host memory, and then to disk.
    #[test]
    fn what_no_card_has_room_for_goes_to_the_host() {
        for team in three() {
            for (room, host) in [([2, 4], 64 * MIB), ([2, 4], 0), ([0, 0], 64 * MIB)] {
                let pool = pool(&team, &room, host);
                let held = filled(&pool);
                pool.evict_all().unwrap();
                let (usage, on_cards) = (pool.usage(), MIB * room.iter().sum::<u64>());
                // The last buffer that was written to disk may still count as held in host memory (spill.rs).
                let twice = if host == 0 { MIB } else { 0 };
                assert!((8 * MIB..=8 * MIB + twice).contains(&pool.evicted_bytes()), "{usage:?}");
                assert_eq!(usage.other_cards, on_cards, "{usage:?}");
                assert!(usage.host > 0 && (usage.disk > 0) == (host == 0), "{usage:?}");
                come_back(&pool, held);
                assert_eq!(pool.usage().other_cards, on_cards);
            }
        }
    }

    /// A card that has less memory than it should, because another program took it, is named; nothing is lost.
    #[test]
    fn a_card_that_cannot_hold_what_it_should_is_passed_over() {
        for team in three() {
            let mut pool = pool(&team, &[8, 2], 64 * MIB);
            // As if nothing were free there.
            Arc::get_mut(&mut pool).unwrap().neighbours.cards[0].spare = u64::MAX;
            let held = filled(&pool);
            pool.evict_all().unwrap();
            assert_eq!((each(&pool), pool.usage().host), (vec![0, 2], 6 * MIB));
            let said = pool.warnings();
            assert!(said.len() == 1 && said[0].contains("takes no more buffers"), "{said:?}");
            come_back(&pool, held);
        }
    }
}
