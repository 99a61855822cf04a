//! Several cards that work as one device.
//!
//! The first card leads: its context and stream stand for the device, and all that one card does alone runs there. A launch that
//! writes a vector spread over the cards ([`super::striped`]) is shared out: every card starts its own text with the same grid
//! and takes its share. All cards see all memory (peer access), so texts are those of one card. Work is ordered as on one stream:
//! a launch waits on each card for everything before it on all of them, by events and without the host.

use super::context::{Context, driver};
use crate::error::{DeviceError, Result};
use cudarc::driver::{result, sys};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The cards beside the first.
pub(super) struct Team {
    others: Vec<Arc<Context>>,
    /// Recorded in the leader's stream before the others start.
    ready: Event,
    /// Whether the others have work for which the leader's stream has not been told to wait; their events after it.
    state: Mutex<(bool, Vec<Event>)>,
}

struct Event(sys::CUevent);

// SAFETY: an event may be used from any thread with a context current.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Event {}

impl Event {
    /// In the current context.
    fn new() -> Result<Event> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map(Event).map_err(driver("cuEventCreate"))
    }

    fn record(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: event and stream live, and belong to one context.
        unsafe { result::event::record(self.0, stream) }.map_err(driver("cuEventRecord"))
    }

    /// Has the work queued on `stream` from here on wait for the event.
    fn hold(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: event and stream live; they may be of different cards.
        unsafe { result::stream::wait_event(stream, self.0, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
            .map_err(driver("cuStreamWaitEvent"))
    }
}

impl Team {
    /// Lets every card see the memory of every other.
    pub(super) fn new(leader: &Context, others: Vec<Arc<Context>>) -> Result<Team> {
        let all: Vec<&Context> = [leader].into_iter().chain(others.iter().map(|other| &**other)).collect();
        for from in &all {
            for to in all.iter().filter(|to| to.device() != from.device()) {
                from.see_memory_of(to)?;
            }
        }
        leader.enter()?;
        let ready = Event::new()?;
        let mut done = Vec::with_capacity(others.len());
        for other in &others {
            other.enter()?;
            done.push(Event::new()?);
        }
        Ok(Team { others, ready, state: Mutex::new((false, done)) })
    }

    /// Number of cards, the leader included.
    pub(super) fn cards(&self) -> usize {
        1 + self.others.len()
    }

    /// The card beside the leader of this number, from 1.
    pub(super) fn other(&self, card: usize) -> &Arc<Context> {
        &self.others[card - 1]
    }

    fn state(&self) -> MutexGuard<'_, (bool, Vec<Event>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the leader's stream wait for what the others were given. The leader's context must be current.
    pub(super) fn join(&self, leader: sys::CUstream) -> Result<()> {
        let (working, done) = &mut *self.state();
        if std::mem::take(working) {
            done.iter().try_for_each(|event| event.hold(leader))?;
        }
        Ok(())
    }

    /// Queues `work` on every card, behind everything queued on any of them; the card's number and context are passed, and its
    /// context is current. The leader comes last. `work` may not enter the leader's context, which is held meanwhile.
    pub(super) fn start(&self, leader: &Context, mut work: impl FnMut(usize, &Context) -> Result<()>) -> Result<()> {
        leader.enter_alone()?;
        let (working, done) = &mut *self.state();
        if std::mem::take(working) {
            done.iter().try_for_each(|event| event.hold(leader.stream()))?;
        }
        self.ready.record(leader.stream())?;
        for (card, (other, done)) in self.others.iter().zip(&*done).enumerate() {
            other.enter()?;
            self.ready.hold(other.stream())?;
            let started = work(1 + card, other);
            done.record(other.stream())?;
            *working = true;
            started?;
        }
        leader.enter_alone()?;
        work(0, leader)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let (_, done) = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (other, event) in self.others.iter().zip(done) {
            if other.enter().is_ok() {
                // SAFETY: nobody else holds it; the driver lets what is queued finish.
                let _ = unsafe { result::event::destroy(event.0) };
            }
        }
        // The leader's context is still there: the team is a part of it.
        // SAFETY: as above.
        let _ = unsafe { result::event::destroy(self.ready.0) };
    }
}

impl Context {
    /// Lets kernels of this card read and write the memory of another.
    fn see_memory_of(&self, other: &Context) -> Result<()> {
        let mut can = 0;
        // SAFETY: both devices are there, and the place outlives the call.
        unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.device(), other.device()) }
            .result()
            .map_err(driver("cuDeviceCanAccessPeer"))?;
        // Blocks of several cards count at one place, which takes atomic operations over the link.
        let (mut atomic, of) = (0, sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
        // SAFETY: as above.
        unsafe { sys::cuDeviceGetP2PAttribute(&mut atomic, of, self.device(), other.device()) }
            .result()
            .map_err(driver("cuDeviceGetP2PAttribute"))?;
        if can == 0 || atomic == 0 {
            return Err(DeviceError::NoPeers { card: self.name().into(), other: other.name().into() });
        }
        self.enter_alone()?;
        // SAFETY: this context is current, and the other's lives.
        match unsafe { sys::cuCtxEnablePeerAccess(other.raw(), 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => result.result().map_err(driver("cuCtxEnablePeerAccess")),
        }
    }
}
