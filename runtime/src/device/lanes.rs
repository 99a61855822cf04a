//! Numbers that go to a device and come back while its kernels work on others: three lanes side by side, and the seconds of each.
//!
//! In: parts of vectors, pinned host memory, launches. Out: the copies and the kernels, each on a stream of its own; the seconds and
//! bytes of each lane ([`LaneTimes`]), and while a trace is recorded a track for each. Kernels wait for what was sent before them, a
//! fetch waits for the kernels that it names, and nothing else waits: who sends to a part that is still worked on waits for that
//! first. In simulation everything is done at once, in the order of the calls.

use super::context::driver;
use super::cuda::Cuda;
use super::streams::{Event, Stream};
use super::{Device, Pinned, Vector};
use crate::error::{DeviceError, Result};
use crate::trace::{self, Track};
use cudarc::driver::{result, sys};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The lanes of a device.
pub struct Lanes(Arc<Shared>);

/// What went through the lanes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneTimes {
    /// Seconds of copies to the device.
    pub to_device: f64,
    /// Seconds of kernels.
    pub kernels: f64,
    /// Seconds of copies to the host.
    pub to_host: f64,
    /// Bytes to the device.
    pub bytes_to_device: u64,
    /// Bytes to the host.
    pub bytes_to_host: u64,
}

/// A part of a vector, and where it is in host memory: its first element, the range there.
pub type LanePart = (usize, Range<usize>);

/// Copies that may still be running. The host memory is given back after they end.
#[must_use = "the host memory is there after `finish`"]
pub struct Passage {
    interval: Interval,
    pinned: Option<Pinned>,
}

/// Kernels that may still be running.
#[must_use = "they have ended after `finish`"]
pub struct Launched(Interval);

struct Shared {
    device: Device,
    /// What tracks call the device.
    name: String,
    cuda: Option<OnCard>,
    times: Mutex<LaneTimes>,
}

/// The streams of copies; kernels have the device's own.
struct OnCard {
    cuda: Arc<Cuda>,
    to_device: Stream,
    to_host: Stream,
    /// Of a recording that runs: its number, the seconds at which the event passed, the event.
    anchor: Option<(u64, f64, Event)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Lane {
    ToDevice,
    Kernels,
    ToHost,
}

/// Work of a lane from its beginning to its end.
struct Interval {
    shared: Arc<Shared>,
    lane: Lane,
    bytes: u64,
    when: When,
}

enum When {
    /// On a card, between two events.
    Card(Event, Event),
    /// On the host, and over: its seconds, and when it began in the recording that ran.
    Host(f64, Option<(u64, f64)>),
}

impl OnCard {
    fn new(cuda: &Arc<Cuda>) -> Result<OnCard> {
        let (to_device, to_host) = (Stream::new(cuda)?, Stream::new(cuda)?);
        // What was queued before, such as zeros in new vectors, is done before the first copy.
        cuda.synchronize()?;
        let anchor = match trace::now() {
            None => None,
            Some(_) => {
                let event = Event::timed(cuda, cuda.context().stream())?;
                event.wait()?;
                trace::now().map(|(recording, seconds)| (recording, seconds, event))
            }
        };
        Ok(OnCard { cuda: cuda.clone(), to_device, to_host, anchor })
    }

    /// Queues copies between two events. After an error none is under way.
    fn between(&self, stream: &Stream, copies: impl FnOnce(sys::CUstream) -> Result<()>) -> Result<When> {
        let start = Event::timed(&self.cuda, stream.raw())?;
        let queued = copies(stream.raw()).and_then(|()| Event::timed(&self.cuda, stream.raw()));
        if queued.is_err() {
            // SAFETY: the stream lives; the host memory of copies that were queued is kept until here.
            let _ = unsafe { result::stream::synchronize(stream.raw()) };
        }
        Ok(When::Card(start, queued?))
    }
}

impl Lanes {
    /// For a device of one card; `name` is what tracks call it. Work queued before is waited for.
    ///
    /// # Errors
    /// Several cards; the driver refuses.
    pub fn new(device: &Device, name: &str) -> Result<Lanes> {
        device.check_alone("numbers that go to a card and come back beside its kernels")?;
        let cuda = match device {
            Device::Cuda(cuda) => Some(OnCard::new(cuda)?),
            Device::Cpu(_) | Device::Sim(_) => None,
        };
        Ok(Lanes(Arc::new(Shared { device: device.clone(), name: name.into(), cuda, times: Mutex::default() })))
    }

    /// Starts copying from host memory; kernels launched later wait for it.
    ///
    /// # Errors
    /// Parts beyond the vector or the host memory; a vector of another device; the driver refuses.
    pub fn send(&self, from: Pinned, to: &mut Vector<f64>, parts: &[LanePart]) -> Result<Passage> {
        self.check(to, &from, parts)?;
        let begun = Begun::now();
        let when = match (&self.0.cuda, to.address()) {
            (Some(card), Some(address)) => {
                let when = card.between(&card.to_device, |stream| {
                    parts.iter().filter(|(_, range)| !range.is_empty()).try_for_each(|(first, range)| {
                        let to = address + 8 * *first as u64;
                        // SAFETY: both ranges were compared above; the passage keeps the host memory until the copy has ended, and
                        // memory of a card is freed after what is under way there.
                        unsafe { result::memcpy_htod_async(to, &from[range.clone()], stream) }
                            .map_err(driver("cuMemcpyHtoDAsync"))
                    })
                })?;
                if let When::Card(_, end) = &when
                    && let Err(error) = end.hold(&card.cuda, card.cuda.context().stream())
                {
                    end.wait()?;
                    return Err(error);
                }
                when
            }
            _ => {
                parts.iter().try_for_each(|(first, range)| to.write_part(*first, &from[range.clone()]))?;
                begun.ended()
            }
        };
        Ok(Passage { interval: self.interval(Lane::ToDevice, bytes_of(parts), when), pinned: Some(from) })
    }

    /// Runs `launch`, which queues kernels behind what was sent.
    ///
    /// # Errors
    /// The errors of `launch`; the driver refuses.
    pub fn kernels<E: From<DeviceError>>(
        &self,
        launch: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Launched, E> {
        let begun = Begun::now();
        let when = match &self.0.cuda {
            Some(card) => {
                let start = Event::timed(&card.cuda, card.cuda.context().stream())?;
                launch()?;
                When::Card(start, Event::timed(&card.cuda, card.cuda.context().stream())?)
            }
            None => {
                launch()?;
                begun.ended()
            }
        };
        Ok(Launched(self.interval(Lane::Kernels, 0, when)))
    }

    /// Starts copying to host memory once some kernels have ended.
    ///
    /// # Errors
    /// As of [`Lanes::send`].
    pub fn fetch(&self, after: &Launched, from: &Vector<f64>, mut to: Pinned, parts: &[LanePart]) -> Result<Passage> {
        self.check(from, &to, parts)?;
        let begun = Begun::now();
        let when = match (&self.0.cuda, from.address(), &after.0.when) {
            (Some(card), Some(address), When::Card(_, kernels)) => {
                kernels.hold(&card.cuda, card.to_host.raw())?;
                card.between(&card.to_host, |stream| {
                    parts.iter().filter(|(_, range)| !range.is_empty()).try_for_each(|(first, range)| {
                        let from = address + 8 * *first as u64;
                        // SAFETY: as in `send`.
                        unsafe { result::memcpy_dtoh_async(&mut to[range.clone()], from, stream) }
                            .map_err(driver("cuMemcpyDtoHAsync"))
                    })
                })?
            }
            _ => {
                parts.iter().try_for_each(|(first, range)| from.read_part(*first, &mut to[range.clone()]))?;
                begun.ended()
            }
        };
        Ok(Passage { interval: self.interval(Lane::ToHost, bytes_of(parts), when), pinned: Some(to) })
    }

    /// What has ended so far, by lane.
    pub fn times(&self) -> LaneTimes {
        *self.0.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interval(&self, lane: Lane, bytes: u64, when: When) -> Interval {
        Interval { shared: self.0.clone(), lane, bytes, when }
    }

    fn check(&self, vector: &Vector<f64>, pinned: &Pinned, parts: &[LanePart]) -> Result<()> {
        if !vector.device().is_same(&self.0.device) {
            let (expected, found) = (self.0.device.name(), vector.device().name());
            return Err(DeviceError::WrongDevice { what: "a copy beside kernels".into(), expected, found });
        }
        let fits = |(first, range): &LanePart| {
            range.start <= range.end && range.end <= pinned.len() && first + range.len() <= vector.len()
        };
        match parts.iter().find(|part| !fits(part)) {
            None => Ok(()),
            Some((first, range)) => Err(DeviceError::Arguments {
                what: "a part of a vector to be copied".into(),
                expected: format!("{} elements there, {} in host memory", vector.len(), pinned.len()),
                found: format!("{} from {first} on, {range:?} in host memory", range.len()),
            }),
        }
    }
}

fn bytes_of(parts: &[LanePart]) -> u64 {
    parts.iter().map(|(_, range)| 8 * range.len() as u64).sum()
}

/// When work on the host began.
struct Begun(Instant, Option<(u64, f64)>);

impl Begun {
    fn now() -> Begun {
        Begun(Instant::now(), trace::now())
    }

    fn ended(self) -> When {
        When::Host(self.0.elapsed().as_secs_f64(), self.1)
    }
}

impl Passage {
    /// Waits, and gives back the host memory with the numbers in it.
    ///
    /// # Errors
    /// The device failed.
    pub fn finish(mut self) -> Result<Pinned> {
        self.interval.finish()?;
        self.pinned.take().ok_or_else(|| DeviceError::Arguments {
            what: "a copy".into(),
            expected: "one that is under way".into(),
            found: "one that has ended".into(),
        })
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        // Copies that cannot be waited for may still use the host memory.
        if self.pinned.is_some() && self.interval.wait().is_err() {
            std::mem::forget(self.pinned.take());
        }
    }
}

impl Launched {
    /// Waits for the kernels.
    ///
    /// # Errors
    /// The device failed.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

impl Interval {
    fn wait(&self) -> Result<()> {
        match &self.when {
            When::Card(_, end) => end.wait(),
            When::Host(..) => Ok(()),
        }
    }

    /// Waits, and takes note of its time.
    fn finish(&self) -> Result<()> {
        self.wait()?;
        let (seconds, began) = match &self.when {
            When::Host(seconds, began) => (*seconds, *began),
            When::Card(start, end) => {
                let anchor = self.shared.cuda.as_ref().and_then(|card| card.anchor.as_ref());
                let began = anchor.map(|(recording, anchored, event)| {
                    start.seconds_since(event).map(|after| (*recording, anchored + after))
                });
                (end.seconds_since(start)?, began.transpose()?)
            }
        };
        let mut times = self.shared.times.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, suffix) = match self.lane {
            Lane::ToDevice => {
                times.to_device += seconds;
                times.bytes_to_device += self.bytes;
                ("copy to the card", ": to it")
            }
            Lane::Kernels => {
                times.kernels += seconds;
                ("kernels", "")
            }
            Lane::ToHost => {
                times.to_host += seconds;
                times.bytes_to_host += self.bytes;
                ("copy to the host", ": from it")
            }
        };
        drop(times);
        if let Some((recording, start)) = began {
            let track = Track::Device(format!("GPU: {}{suffix}", self.shared.name));
            let arguments = if self.bytes > 0 { vec![("bytes", self.bytes.into())] } else { Vec::new() };
            let event = trace::Event { track, category: "solve", name: name.into(), start, seconds, arguments };
            trace::hand_in(recording, vec![event]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Schedule;

    /// The name has a card run it.
    #[test]
    fn memcheck_numbers_come_back_as_they_were_sent() {
        let Some(device) = crate::testing::card_or_simulated(Schedule::Forward) else { return };
        let lanes = Lanes::new(&device, "card").unwrap();
        let mut vector = device.zeros::<f64>(100_000).unwrap();
        let values = |seed: usize| (0..30_000).map(|k| (k * 7 + seed) as f64).collect::<Vec<f64>>();
        let mut under_way = Vec::new();
        for seed in 0..3 {
            let mut pinned = device.pinned(30_000).unwrap();
            pinned.copy_from_slice(&values(seed));
            // Two parts that change places.
            let parts = [(30_000 * seed + 10_000, 0..20_000), (30_000 * seed, 20_000..30_000)];
            under_way.push(lanes.send(pinned, &mut vector, &parts).unwrap());
        }
        let launched = lanes.kernels::<DeviceError>(|| Ok(())).unwrap();
        for (seed, sent) in under_way.into_iter().enumerate() {
            let mut pinned = sent.finish().unwrap();
            pinned.fill(f64::NAN);
            let parts = [(30_000 * seed, 0..0), (30_000 * seed, 0..30_000)];
            let back = lanes.fetch(&launched, &vector, pinned, &parts).unwrap().finish().unwrap();
            let expected = [&values(seed)[20_000..], &values(seed)[..20_000]].concat();
            assert!(back[..] == expected[..]);
        }
        launched.finish().unwrap();
        let times = lanes.times();
        assert_eq!((times.bytes_to_device, times.bytes_to_host), (720_000, 720_000));
        assert!(times.to_device > 0.0 && times.to_host > 0.0 && times.kernels >= 0.0, "{times:?}");
        let refused = lanes.send(device.pinned(5).unwrap(), &mut vector, &[(99_999, 0..2)]).map(drop);
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("100000 elements") && said.contains("2 from 99999 on"), "{said}");
    }
}
