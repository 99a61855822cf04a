//! Copies of whole vectors between a card and the others of its machine, beside the kernels.
//!
//! In: a vector of the card, and one of the same length on another card, of which one has the numbers. Out: the same numbers in both after
//! [`PeerCopy::finish`]. A copy begins when all work queued on the card before is done; work queued later does not wait for it. Each
//! direction has a stream of its own; the card's own copy engines move the numbers, since it sees the memory of the others
//! ([`Device::members`]). In simulation a copy is done at once.
//!
//! The other card's own work is not ordered with these copies: it must not touch vectors that are copied this way.

use super::context::driver;
use super::streams::{Event, Stream};
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use cudarc::driver::result;

/// The streams of a card for such copies.
pub(crate) struct PeerCopies {
    home: Device,
    /// From the card to others, and back.
    streams: Option<[Stream; 2]>,
}

/// A copy that may still be running. It owns both ends until then.
pub(crate) struct PeerCopy {
    /// The vector of the card, and that of the other one.
    ends: Option<[Vector<f64>; 2]>,
    /// Whether the numbers come from the card.
    leaves: bool,
    done: Option<Event>,
}

impl PeerCopies {
    /// For vectors of this card.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn new(home: &Device) -> Result<PeerCopies> {
        let streams = match home {
            Device::Cuda(cuda) => Some([Stream::new(cuda)?, Stream::new(cuda)?]),
            Device::Cpu(_) | Device::Sim(_) => None,
        };
        Ok(PeerCopies { home: home.clone(), streams })
    }

    /// Starts copying a vector of the card to one of another card.
    ///
    /// # Errors
    /// Vectors of two lengths, or of other devices; the driver refuses.
    pub(crate) fn send(&self, here: Vector<f64>, there: Vector<f64>) -> Result<PeerCopy> {
        self.begin([here, there], true)
    }

    /// Starts copying a vector of another card to one of the card.
    ///
    /// # Errors
    /// See [`PeerCopies::send`].
    pub(crate) fn bring(&self, there: Vector<f64>, here: Vector<f64>) -> Result<PeerCopy> {
        self.begin([here, there], false)
    }

    fn begin(&self, mut ends: [Vector<f64>; 2], leaves: bool) -> Result<PeerCopy> {
        let [here, there] = &mut ends;
        let what = || "a copy between cards".into();
        if !here.device().is_same(&self.home) || there.device().is_same(&self.home) {
            let found = format!("vectors of {} and {}", here.device().name(), there.device().name());
            let expected = format!("one of {} and one of another card", self.home.name());
            return Err(DeviceError::WrongDevice { what: what(), expected, found });
        }
        if here.len() != there.len() {
            let (expected, found) = (format!("{} elements", here.len()), there.len().to_string());
            return Err(DeviceError::Arguments { what: what(), expected, found });
        }
        let (from, to) = if leaves { (here, there) } else { (there, here) };
        let (Some([out, back]), Some(source), Some(target)) = (&self.streams, from.address(), to.address()) else {
            let mut values = vec![0.0; from.len()];
            from.read_part(0, &mut values)?;
            to.write(&values)?;
            return Ok(PeerCopy { ends: Some(ends), leaves, done: None });
        };
        let bytes = 8 * from.len();
        let done = if leaves { out } else { back }.queue(|stream| {
            // SAFETY: both vectors have as many bytes, as just compared, and are kept until the copy is done or waited for by their later use.
            unsafe { result::memcpy_dtod_async(target, source, bytes, stream) }.map_err(driver("cuMemcpyDtoDAsync"))
        })?;
        Ok(PeerCopy { ends: Some(ends), leaves, done: Some(done) })
    }
}

impl PeerCopy {
    /// The vector that has the numbers, whether the copy is done or not.
    pub(crate) fn source(&self) -> &Vector<f64> {
        match (&self.ends, self.leaves) {
            (Some([here, _]), true) => here,
            (Some([_, there]), false) => there,
            (None, _) => unreachable!("only the last use takes them"),
        }
    }

    /// Waits, and returns the card's vector and the other one.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn finish(mut self) -> Result<[Vector<f64>; 2]> {
        self.wait()?;
        Ok(self.taken())
    }

    /// Gives back the card's vector, whose memory the card's later work may use: it waits for the copy, the host does not. Returns the
    /// other vector.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn depart(mut self) -> Result<Vector<f64>> {
        if let (Some(done), Some([here, _])) = (&self.done, &self.ends)
            && let Device::Cuda(cuda) = here.device()
        {
            done.hold(cuda, cuda.context().stream())?;
        }
        let [_, there] = self.taken();
        Ok(there)
    }

    fn taken(&mut self) -> [Vector<f64>; 2] {
        self.done = None;
        self.ends.take().unwrap_or_else(|| unreachable!("only the last use takes them"))
    }

    fn wait(&self) -> Result<()> {
        self.done.as_ref().map_or(Ok(()), Event::wait)
    }
}

impl Drop for PeerCopy {
    fn drop(&mut self) {
        // Memory may be reused only when the copy is done; a failed device has released it.
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::teams;

    /// The name has cards run it.
    #[test]
    fn memcheck_numbers_go_to_another_card_and_come_back() {
        for team in teams(&[2]) {
            let cards = team.members().unwrap();
            let copies = PeerCopies::new(&cards[0]).unwrap();
            let mut under_way = Vec::new();
            for k in 0..6usize {
                let numbers: Vec<f64> = (0..50_000 + k).map(|i| (i * (k + 1)) as f64).collect();
                let (here, there) = (cards[0].upload(&numbers).unwrap(), cards[1].zeros(numbers.len()).unwrap());
                // Zeros of the other card are ordered with its own work alone.
                cards[1].synchronize().unwrap();
                under_way.push((copies.send(here, there).unwrap(), numbers));
            }
            for (copy, numbers) in under_way {
                assert_eq!(copy.source().download().unwrap(), numbers);
                let [mut here, there] = copy.finish().unwrap();
                here.write(&vec![f64::NAN; numbers.len()]).unwrap();
                let [here, there] = copies.bring(there, here).unwrap().finish().unwrap();
                assert_eq!(here.download().unwrap(), numbers);
                // Its memory has another use at once.
                let there = copies.send(here, there).unwrap().depart().unwrap();
                let here = cards[0].upload(&vec![-1.0; numbers.len()]).unwrap();
                assert_eq!(copies.bring(there, here).unwrap().finish().unwrap()[0].download().unwrap(), numbers);
            }
            let own = |card: usize, len: usize| cards[card].zeros(len).unwrap();
            let said = copies.send(own(0, 5), own(1, 6)).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains("5 elements"), "{said}");
            assert!(copies.send(own(0, 5), own(0, 5)).is_err() && copies.bring(own(0, 5), own(1, 5)).is_err());
        }
    }
}
