//! Ranks as threads of one process: for tests, and to see on one machine what several processes would do.

use super::{Collectives, Ranks, WORDS};
use crate::error::{DeviceError, Result};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// One rank's ends of the channels.
struct Thread {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

/// So many ranks, each for a thread of its own. A thread that ends is a rank that is gone.
pub fn by_threads(count: usize) -> Vec<Ranks> {
    let mut to: Vec<Vec<Sender<Vec<u8>>>> = (0..count).map(|_| Vec::new()).collect();
    let mut from: Vec<Vec<Mutex<Receiver<Vec<u8>>>>> = (0..count).map(|_| Vec::new()).collect();
    for sender in &mut to {
        for receiver in &mut from {
            let (one, other) = channel();
            sender.push(one);
            receiver.push(Mutex::new(other));
        }
    }
    let ranks = to.into_iter().zip(from).enumerate();
    ranks.map(|(rank, (to, from))| Ranks::new(Box::new(Thread { rank, to, from }))).collect()
}

impl Collectives for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn on_this_machine(&self) -> usize {
        self.ranks()
    }

    fn number_here(&self) -> usize {
        self.rank
    }

    fn words(&self, own: &[u64; WORDS]) -> Result<Vec<[u64; WORDS]>> {
        let send = vec![super::bytes_of(own); self.ranks()];
        let mut all = vec![[0; WORDS]; self.ranks()];
        let mut receive: Vec<&mut [u8]> = all.iter_mut().map(|words| super::bytes_of_mut(words)).collect();
        self.exchange(&send, &mut receive)?;
        Ok(all)
    }

    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<()> {
        for (rank, (to, bytes)) in self.to.iter().zip(send).enumerate() {
            if !bytes.is_empty() {
                to.send(bytes.to_vec()).map_err(|_| DeviceError::RankGone { rank })?;
            }
        }
        for (rank, (from, bytes)) in self.from.iter().zip(receive).enumerate() {
            if !bytes.is_empty() {
                let from = from.lock().unwrap_or_else(PoisonError::into_inner);
                let found = from.recv().map_err(|_| DeviceError::RankGone { rank })?;
                bytes.copy_from_slice(&found);
            }
        }
        Ok(())
    }
}
