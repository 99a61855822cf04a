//! A whole copy of a vector on every card of a device, for a kernel that reads elements of other cards many times.
//!
//! A card does not cache what it reads from another, so a kernel that needs a distant element more than once or twice is quicker from a
//! copy. The copies are made beside the kernels, by a stream of each card, and waited for where they are used.

use super::card_memory::DeviceMemory;
use super::context::{Context, driver};
use super::cuda::Cuda;
use super::mapping::granularity;
use super::memory::{Contents, OnDevice};
use super::place::MemoryPlace;
use super::{Device, Memory, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use cudarc::driver::{result, sys};
use eigenforge_templates::ScalarType;
use eigenforge_templates::launch::Element;
use std::sync::Arc;

/// Part of a card's memory that a copy may take, as a divisor.
const PART: u64 = 3;

/// Copies of one vector, one on each card.
pub struct Everywhere {
    cards: Vec<OnCard>,
    len: usize,
    scalar: ScalarType,
    cuda: Arc<Cuda>,
}

/// A card's copy, and the stream that makes it.
struct OnCard {
    copy: DeviceMemory,
    stream: sys::CUstream,
    /// After everything that the card was given before the copies, and after them.
    events: [sys::CUevent; 2],
}

// SAFETY: streams and events may be used from any thread with their context current.
unsafe impl Send for OnCard {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for OnCard {}

impl OnCard {
    fn new(context: &Arc<Context>, bytes: usize) -> Result<OnCard> {
        let copy = DeviceMemory::allocate(context, bytes)?;
        context.enter()?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let event =
            || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(driver("cuEventCreate"));
        Ok(OnCard { copy, stream, events: [event()?, event()?] })
    }
}

/// Has a stream wait for an event.
fn hold(stream: sys::CUstream, event: sys::CUevent) -> Result<()> {
    // SAFETY: both live, and their context is current.
    unsafe { result::stream::wait_event(stream, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
        .map_err(driver("cuStreamWaitEvent"))
}

fn record(event: sys::CUevent, stream: sys::CUstream) -> Result<()> {
    // SAFETY: both live, and their context is current.
    unsafe { result::event::record(event, stream) }.map_err(driver("cuEventRecord"))
}

impl Everywhere {
    /// Bytes of copies of a vector of so many on all cards together; `None` on one card or none, for vectors too short to be spread, and
    /// where a copy would take more than a third of a card's memory, or is not free.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn bytes_for(device: &Device, bytes: u64) -> Result<Option<u64>> {
        let Device::Cuda(cuda) = device else { return Ok(None) };
        let context = cuda.context();
        let Some(team) = context.team() else { return Ok(None) };
        // A vector that is not spread is read by one card alone.
        if bytes.div_ceil(granularity(context)? as u64) < team.cards() as u64 {
            return Ok(None);
        }
        let roomy = |card: usize| {
            let Memory { free, total } = context.card(card).own_memory();
            free >= bytes && total / PART >= bytes
        };
        Ok((0..team.cards()).all(roomy).then(|| bytes.saturating_mul(team.cards() as u64)))
    }

    /// Room for copies of vectors of `len` elements; `None` where [`Everywhere::bytes_for`] has none.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(device: &Device, len: usize, scalar: ScalarType) -> Result<Option<Everywhere>> {
        let (Device::Cuda(cuda), bytes) = (device, len * scalar.bytes()) else { return Ok(None) };
        if Everywhere::bytes_for(device, bytes as u64)?.is_none() {
            return Ok(None);
        }
        let context = cuda.context();
        let Some(team) = context.team() else { return Ok(None) };
        let all = (0..team.cards()).map(|card| if card == 0 { context } else { team.other(card) });
        let cards = all.map(|card| OnCard::new(card, bytes)).collect::<Result<_>>()?;
        Ok(Some(Everywhere { cards, len, scalar, cuda: cuda.clone() }))
    }

    /// Begins to copy a vector to every card, behind what was queued so far and, but for a card's own part, beside what is queued next, which
    /// may not write it.
    ///
    /// # Errors
    /// A vector of another length or device; the driver refuses.
    pub fn begin<T: Scalar>(&mut self, from: &Vector<T>) -> Result<()> {
        let own = matches!(from.device(), Device::Cuda(cuda) if Arc::ptr_eq(cuda, &self.cuda));
        let (Some(address), true, true) = (from.address(), own, from.len() == self.len && T::TYPE == self.scalar)
        else {
            return Err(DeviceError::Arguments {
                what: "a vector for every card".into(),
                expected: format!("{} elements {} on {}", self.len, self.scalar.cuda(), self.cuda.name()),
                found: format!("{} {} on {}", from.len(), T::TYPE.cuda(), from.device().name()),
            });
        };
        let runs = from.runs();
        self.with_each(|number, card, context| {
            let [before, after] = card.events;
            record(before, context.stream())?;
            hold(card.stream, before)?;
            // Each begins with its own part and goes on with the next card's, so that no two copy from one card at a time.
            for (turn, run) in runs.iter().cycle().skip(number).take(runs.len()).enumerate() {
                // Its own part beside those of the others, before what is queued next.
                let stream = if turn == 0 { context.stream() } else { card.stream };
                let [to, from] = [card.copy.address(), address].map(|address| address + run.start as u64);
                // SAFETY: both ranges are as long, and no card writes the vector before the copies are done: `finish` has it wait.
                unsafe { result::memcpy_dtod_async(to, from, run.len(), stream) }
                    .map_err(driver("cuMemcpyDtoDAsync"))?;
            }
            record(after, card.stream)
        })
    }

    /// What is queued from here on waits for the copies.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn finish(&mut self) -> Result<()> {
        self.with_each(|_, card, context| hold(context.stream(), card.events[1]))
    }

    fn with_each(&self, mut work: impl FnMut(usize, &OnCard, &Context) -> Result<()>) -> Result<()> {
        let context = self.cuda.context();
        let team = context.team().expect("it is made for several cards");
        team.start(context, |card, context| work(card, &self.cards[card], context))
    }
}

impl Drop for Everywhere {
    fn drop(&mut self) {
        let context = self.cuda.context();
        for (number, card) in self.cards.iter().enumerate() {
            if context.card(number).enter().is_ok() {
                // SAFETY: nobody else holds them; the driver lets what is queued finish.
                unsafe {
                    let _ = result::stream::synchronize(card.stream);
                    let _ = card.events.map(|event| result::event::destroy(event));
                    let _ = result::stream::destroy(card.stream);
                }
            }
        }
    }
}

impl Contents for Everywhere {
    fn place(&self) -> MemoryPlace {
        MemoryPlace::Card(self.cuda.context().clone())
    }
    fn address(&self) -> Option<u64> {
        Some(self.cards[0].copy.address())
    }
    fn is_spread(&self) -> bool {
        false
    }
    fn address_on(&self, card: usize) -> Result<u64> {
        Ok(self.cards[card].copy.address())
    }
    fn address_to_write(&self) -> u64 {
        unreachable!("no launch writes copies: they are passed to be read alone")
    }
    fn append_to(&self, _: usize, _: &mut Vec<u8>) {}
    fn copy_from_bytes(&mut self, _: &[u8]) {}
}

impl OnDevice for Everywhere {
    fn element(&self) -> Option<Element> {
        Some(self.scalar.element())
    }
    fn elements(&self) -> usize {
        self.len
    }
}
