//! Pinned host memory through which numbers go to a device and come back.
//!
//! In: vectors of any length on the host, and their places on the device. Out: the same numbers there, or here. They go in slots of
//! equal size, several under way at a time: while one is copied by the device, the host fills or empties the next.

use eigenforge_runtime::{Device, DeviceError, LanePart, Passage, Pinned};
use rayon::prelude::*;
use std::collections::VecDeque;

/// Numbers of a slot, 16 MiB: 0.3 ms of a link of 55 GB/s.
const SLOT: usize = 2 << 20;
/// Slots of one direction.
const SLOTS: usize = 3;
/// Numbers that a thread copies at a time.
const COPY: usize = 1 << 16;

/// Slots of a device. They are made when they are first needed.
pub(crate) struct Slots {
    device: Device,
    /// Numbers of each.
    size: usize,
    free: Vec<Pinned>,
    made: usize,
    /// Slots that are copied to the device, the oldest first.
    sent: VecDeque<Passage>,
}

/// A part of one vector in a slot.
struct Run {
    /// Which vector.
    vector: usize,
    /// Its first number in the vector.
    start: usize,
    /// Where it is.
    part: LanePart,
}

impl Slots {
    pub(crate) fn new(device: &Device) -> Slots {
        Slots::of_size(device, SLOT)
    }

    fn of_size(device: &Device, size: usize) -> Slots {
        Slots { device: device.clone(), size, free: Vec::new(), made: 0, sent: VecDeque::new() }
    }

    /// A slot that is not in use; waits for the oldest that was sent if there is none.
    fn take(&mut self) -> Result<Pinned, DeviceError> {
        match (self.free.pop(), self.made < SLOTS) {
            (Some(slot), _) => Ok(slot),
            (None, true) => {
                self.made += 1;
                self.device.pinned(self.size)
            }
            (None, false) => match self.sent.pop_front() {
                Some(oldest) => oldest.finish(),
                None => unreachable!("every slot is free, sent, or with the caller"),
            },
        }
    }

    /// Copies vectors, each with its first place on the device. `send` starts the copy of a slot; the last may still be under way at
    /// the end.
    ///
    /// # Errors
    /// Those of `send`; no memory for a slot.
    pub(super) fn send(
        &mut self,
        from: &[(usize, &[f64])],
        send: impl Fn(Pinned, &[LanePart]) -> Result<Passage, DeviceError>,
    ) -> Result<(), DeviceError> {
        let places: Vec<[usize; 2]> = from.iter().map(|(first, values)| [*first, values.len()]).collect();
        for runs in batches(&places, self.size) {
            let mut slot = self.take()?;
            let mut rest = &mut slot[..];
            let mut copies = Vec::with_capacity(runs.len());
            for run in &runs {
                let (to, behind) = rest.split_at_mut(run.part.1.len());
                copies.push((to, &from[run.vector].1[run.start..][..run.part.1.len()]));
                rest = behind;
            }
            copies.into_par_iter().for_each(|(to, from)| copy(to, from));
            let parts: Vec<LanePart> = runs.into_iter().map(|run| run.part).collect();
            self.sent.push_back(send(slot, &parts)?);
        }
        Ok(())
    }

    /// The numbers of places on the device, first and length, a vector for each. `fetch` starts the copy into a slot.
    ///
    /// # Errors
    /// Those of `fetch`; no memory for a slot.
    pub(super) fn fetch(
        &mut self,
        places: &[[usize; 2]],
        fetch: impl Fn(Pinned, &[LanePart]) -> Result<Passage, DeviceError>,
    ) -> Result<Vec<Vec<f64>>, DeviceError> {
        let mut found: Vec<Vec<f64>> = places.iter().map(|[_, length]| vec![0.0; *length]).collect();
        let mut under_way: VecDeque<(Passage, Vec<Run>)> = VecDeque::new();
        let mut end = |slots: &mut Slots, (passage, runs): (Passage, Vec<Run>)| -> Result<(), DeviceError> {
            let slot = passage.finish()?;
            let vectors = runs.first().map_or(0..0, |first| first.vector..first.vector + runs.len());
            let copies = found[vectors].par_iter_mut().zip(&runs);
            copies.for_each(|(to, run)| copy(&mut to[run.start..][..run.part.1.len()], &slot[run.part.1.clone()]));
            slots.free.push(slot);
            Ok(())
        };
        for runs in batches(places, self.size) {
            if under_way.len() == SLOTS
                && let Some(oldest) = under_way.pop_front()
            {
                end(self, oldest)?;
            }
            let slot = self.take()?;
            let parts: Vec<LanePart> = runs.iter().map(|run| run.part.clone()).collect();
            under_way.push_back((fetch(slot, &parts)?, runs));
        }
        under_way.into_iter().try_for_each(|oldest| end(self, oldest))?;
        Ok(found)
    }

    /// Waits for what was sent.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn settle(&mut self) -> Result<(), DeviceError> {
        while let Some(oldest) = self.sent.pop_front() {
            self.free.push(oldest.finish()?);
        }
        Ok(())
    }
}

/// Cuts vectors, given by their places on the device, into batches that fill a slot each. The runs of a batch are of consecutive
/// vectors, one of each.
fn batches(places: &[[usize; 2]], size: usize) -> Vec<Vec<Run>> {
    let (mut batches, mut batch, mut filled) = (Vec::new(), Vec::new(), 0);
    for (vector, [first, length]) in places.iter().enumerate() {
        let mut start = 0;
        loop {
            let here = (length - start).min(size - filled);
            batch.push(Run { vector, start, part: (first + start, filled..filled + here) });
            (start, filled) = (start + here, filled + here);
            if filled == size {
                batches.push(std::mem::take(&mut batch));
                filled = 0;
            }
            if start == *length {
                break;
            }
        }
    }
    if filled > 0 {
        batches.push(batch);
    }
    batches
}

/// Copies on all cores.
fn copy(to: &mut [f64], from: &[f64]) {
    to.par_chunks_mut(COPY).zip(from.par_chunks(COPY)).for_each(|(to, from)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::Lanes;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::kernel_devices;

    /// Vectors shorter and longer than a slot, empty ones too, come back whole, whatever the size of a slot.
    #[test]
    fn vectors_go_and_come_back_by_slots() {
        let lengths = [3, 0, 40, 1, 1, 0, 17, 25, 0];
        let vectors: Vec<Vec<f64>> = lengths
            .iter()
            .enumerate()
            .map(|(of, length)| (0..*length).map(|k| (100 * of + k) as f64).collect())
            .collect();
        for device in kernel_devices(Schedule::Forward) {
            for size in [1, 7, 8, 87, 1000] {
                let lanes = Lanes::new(&device, "card").unwrap();
                let mut slots = Slots::of_size(&device, size);
                let on_device = std::sync::Mutex::new(device.zeros::<f64>(200).unwrap());
                device.synchronize().unwrap();
                // With gaps, from the end.
                let mut end = 200;
                let places: Vec<[usize; 2]> = lengths
                    .map(|length| {
                        end -= length + 5;
                        [end, length]
                    })
                    .into();
                let from: Vec<(usize, &[f64])> =
                    places.iter().zip(&vectors).map(|([first, _], values)| (*first, &values[..])).collect();
                slots.send(&from, |slot, parts| lanes.send(slot, &mut on_device.lock().unwrap(), parts)).unwrap();
                let launched = lanes.kernels::<DeviceError>(|| Ok(())).unwrap();
                let fetch = |slot, parts: &[LanePart]| lanes.fetch(&launched, &on_device.lock().unwrap(), slot, parts);
                assert_eq!(slots.fetch(&places, fetch).unwrap(), vectors, "slots of {size}");
                slots.settle().unwrap();
                assert_eq!(lanes.times().bytes_to_device, 87 * 8);
            }
        }
    }
}
