//! Several processes, or threads that stand for them, that work on one problem: each is a rank with memory of its own.
//!
//! All ranks run the same program. A vector is cut into one contiguous share per rank (`shares`); what concerns one element
//! is done by the rank that has it, and sums are added up over the ranks in rank order, so the same number of ranks gives the
//! same bits. A rank talks to others only in [`Ranks`]' methods, which every rank calls in the same order.
//!
//! ```text
//! Collectives (two primitives: words of all ranks, bytes from each rank to each)
//!   by MPI (crate eigenforge, feature mpi) | by threads of this process (tests)
//! Ranks (sums, exchanges in messages below 2^31 bytes, the fault of one rank told to all)
//!   → Device of a rank → Vector, Program → solvers
//! ```
//!
//! Each step begins with a block of words from every rank: what it is about to do, and its sums. So a rank that failed is heard
//! at the next step of the others ([`Ranks::fail`]), and ranks that went different ways, which would wait for each other for
//! ever or mix up their numbers, end with an error. A rank that is killed is the launcher's business: `mpirun` ends the others.
//!
//! Numbers travel in the machine's order of bytes: all ranks must agree on it.

mod fault;
mod shares;
#[cfg(test)]
mod tests;
mod threads;

pub use shares::{equal, nearest};
pub use threads::by_threads;

use crate::error::{DeviceError, Result};
use crate::scalar::Pod;
use fault::Fault;
use std::sync::OnceLock;

/// Words that every rank gives to all others in one step.
pub const WORDS: usize = 64;
/// Words before the sums: what the rank does, the step's name, a number that must be the same, how many bytes follow.
const HEAD: usize = 4;
/// Sums of one step.
const SUMS: usize = WORDS - HEAD;
/// Most bytes of a message: counts of MPI have 31 bits.
const MESSAGE: usize = 1 << 30;

/// What carries words and bytes between ranks. Every rank calls the same methods in the same order.
pub trait Collectives: Send + Sync {
    /// This rank's number, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Number of ranks that share this machine's memory and cores, this one included.
    fn on_this_machine(&self) -> usize;

    /// This rank's number among those, from 0.
    fn number_here(&self) -> usize;

    /// The blocks of all ranks, in rank order.
    ///
    /// # Errors
    /// A rank is gone.
    fn words(&self, own: &[u64; WORDS]) -> Result<Vec<[u64; WORDS]>>;

    /// Sends `send[k]` to rank k and fills `receive[k]` from it, for all k at once, this rank's own included. Both ends know the
    /// lengths; an empty message is none.
    ///
    /// # Errors
    /// A rank is gone.
    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<()>;
}

/// This rank among all.
pub struct Ranks {
    by: Box<dyn Collectives>,
    message: usize,
    /// Set once a rank has failed: from then on nothing is sent.
    ended: OnceLock<Fault>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.count())
    }
}

impl Ranks {
    /// This rank, by what carries its messages.
    pub fn new(by: Box<dyn Collectives>) -> Ranks {
        Ranks { by, message: MESSAGE, ended: OnceLock::new() }
    }

    /// The same with messages of at most so many bytes.
    #[must_use]
    pub fn with_messages_of(self, bytes: usize) -> Ranks {
        Ranks { message: bytes.clamp(1, MESSAGE), ..self }
    }

    /// This rank's number, from 0. Rank 0 prints and writes files.
    pub fn rank(&self) -> usize {
        self.by.rank()
    }

    /// Number of ranks.
    pub fn count(&self) -> usize {
        self.by.ranks()
    }

    /// Number of ranks on this machine, this one included.
    pub fn on_this_machine(&self) -> usize {
        self.by.on_this_machine()
    }

    /// This rank's number among those on this machine, from 0.
    pub fn number_here(&self) -> usize {
        self.by.number_here()
    }

    /// Whether it is rank 0.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// One step: what all ranks give. `check` must be the same on all.
    fn step(&self, what: &str, check: u64, bytes: usize, values: &[f64]) -> Result<Vec<[u64; WORDS]>> {
        self.go_on()?;
        let mut own = [0; WORDS];
        (own[1], own[2], own[3]) = (hash(what), check, bytes as u64);
        own[HEAD..].iter_mut().zip(values).for_each(|(word, value)| *word = value.to_bits());
        let all = self.by.words(&own)?;
        self.hear(&all, "")?;
        let apart = (0..all.len()).find(|rank| all[*rank][1..3] != all[0][1..3]);
        match apart {
            None => Ok(all),
            Some(rank) => {
                let fault = Fault::Apart { rank, what: what.into() };
                Err(self.ended.get_or_init(|| fault).error())
            }
        }
    }

    /// Adds up the values of all ranks, place by place and in rank order: all ranks get the same bits. `check` must be the same
    /// on all ranks, such as a hash of what was computed with.
    ///
    /// # Errors
    /// A rank failed, is gone, or is at another step.
    pub fn add_up(&self, what: &str, check: u64, values: &mut [f64]) -> Result<()> {
        for values in values.chunks_mut(SUMS) {
            let all = self.step(what, check, 0, values)?;
            for (place, value) in values.iter_mut().enumerate() {
                *value = all.iter().map(|words| f64::from_bits(words[HEAD + place])).sum();
            }
        }
        Ok(())
    }

    /// Checks that all ranks have the same text.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn check_same(&self, what: &str, text: &str) -> Result<()> {
        self.step(what, hash(text), 0, &[]).map(drop)
    }

    /// The numbers of all ranks, in rank order.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn all_of(&self, what: &str, value: f64) -> Result<Vec<f64>> {
        Ok(self.step(what, 0, 0, &[value])?.iter().map(|words| f64::from_bits(words[HEAD])).collect())
    }

    /// The largest number of all ranks.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn largest(&self, what: &str, value: f64) -> Result<f64> {
        Ok(self.all_of(what, value)?.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Whether any rank says so.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn any(&self, what: &str, own: bool) -> Result<bool> {
        Ok(self.largest(what, f64::from(u8::from(own)))? > 0.0)
    }

    /// Waits for all ranks, at the end of a run that went well here.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn finish(&self) -> Result<()> {
        self.step("the end of the run", 0, 0, &[]).map(drop)
    }

    /// The bytes of all ranks on rank 0, in rank order; on the others nothing.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn to_first(&self, what: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let lengths = self.step(what, 0, bytes.len(), &[])?;
        let mut found: Vec<Vec<u8>> =
            lengths.iter().map(|words| vec![0; if self.is_first() { words[3] as usize } else { 0 }]).collect();
        let mut send: Vec<&[u8]> = vec![&[]; self.count()];
        send[0] = bytes;
        let mut receive: Vec<&mut [u8]> = found.iter_mut().map(Vec::as_mut_slice).collect();
        self.pieces(&send, &mut receive)?;
        if !self.is_first() {
            found.clear();
        }
        Ok(found)
    }

    /// Rank 0's bytes, on every rank.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`].
    pub fn from_first(&self, what: &str, bytes: &[u8]) -> Result<Vec<u8>> {
        let own = if self.is_first() { bytes } else { &[] };
        let length = self.step(what, 0, own.len(), &[])?[0][3] as usize;
        let mut found = vec![0; length];
        let send = vec![own; self.count()];
        let mut receive: Vec<&mut [u8]> = (0..self.count()).map(|_| <&mut [u8]>::default()).collect();
        receive[0] = &mut found;
        self.pieces(&send, &mut receive)?;
        Ok(found)
    }

    /// Sends `send[k]` to rank k and fills `receive[k]` from it, for all k. Both ends know the lengths.
    ///
    /// # Errors
    /// As of [`Ranks::add_up`]; another number of lists than ranks.
    pub fn exchange<U: Pod>(&self, what: &str, send: &[&[U]], receive: &mut [&mut [U]]) -> Result<()> {
        if send.len() != self.count() || receive.len() != self.count() {
            let (expected, found) = (self.count().to_string(), format!("{} and {}", send.len(), receive.len()));
            return Err(DeviceError::Arguments {
                what: format!("{what}: messages to and from ranks"),
                expected,
                found,
            });
        }
        self.step(what, 0, 0, &[])?;
        let send: Vec<&[u8]> = send.iter().map(|values| bytes_of(values)).collect();
        let mut receive: Vec<&mut [u8]> = receive.iter_mut().map(|values| bytes_of_mut(values)).collect();
        self.pieces(&send, &mut receive)
    }

    /// The exchange, in rounds of messages that are short enough.
    fn pieces(&self, send: &[&[u8]], receive: &mut [&mut [u8]]) -> Result<()> {
        let longest = send.iter().map(|bytes| bytes.len()).chain(receive.iter().map(|bytes| bytes.len())).max();
        for round in 0..longest.unwrap_or(0).div_ceil(self.message) {
            let send: Vec<&[u8]> = send.iter().map(|bytes| &bytes[piece(bytes.len(), self.message, round)]).collect();
            let mut receive: Vec<&mut [u8]> = receive
                .iter_mut()
                .map(|bytes| {
                    let piece = piece(bytes.len(), self.message, round);
                    &mut bytes[piece]
                })
                .collect();
            self.by.exchange(&send, &mut receive)?;
        }
        Ok(())
    }
}

/// The bytes of one round, of a message that is sent in pieces.
fn piece(length: usize, message: usize, round: usize) -> std::ops::Range<usize> {
    let first = round.saturating_mul(message).min(length);
    first..first.saturating_add(message).min(length)
}

/// FNV-1a, to tell steps apart.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn bytes_of<U: Pod>(values: &[U]) -> &[u8] {
    // SAFETY: plain data without padding, as `Pod` promises; the bytes live as long as the values.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bytes_of_mut<U: Pod>(values: &mut [U]) -> &mut [u8] {
    // SAFETY: as above, and every pattern of bits is a value.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
