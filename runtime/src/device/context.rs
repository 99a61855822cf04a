//! A card's primary context and its stream, through the driver API, which is loaded at run time.
//!
//! Kernels use one stream, so they run in the order in which they were queued; only while a caller's stream is
//! [borrowed](Context::borrow_stream) a thread queues its work there. Nothing panics without a driver: its presence is checked before the
//! first call.

use super::capacity::Memory;
use super::staging::Staging;
use super::team::Team;
use crate::error::{DeviceError, Result};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

/// The driver's error with the call that returned it.
pub(super) fn driver(call: impl Into<String>) -> impl FnOnce(DriverError) -> DeviceError {
    |error| {
        let text = |s: Result<&std::ffi::CStr, DriverError>| match s {
            Ok(s) => s.to_string_lossy().into_owned(),
            Err(_) => format!("error {}", error.0 as u32),
        };
        DeviceError::Driver { call: call.into(), name: text(error.error_name()), message: text(error.error_string()) }
    }
}

/// The primary context and the stream; closed when the last user drops it.
pub struct Context {
    device: sys::CUdevice,
    /// The card's name and number, `NVIDIA H200 (cuda:0)`.
    name: String,
    context: sys::CUcontext,
    own_stream: sys::CUstream,
    /// Pinned memory for short copies; allocated on first use.
    staging: Mutex<Option<Staging>>,
    /// The other cards, where several work as one device; this is the first.
    team: Option<Team>,
    /// Cards that see the memory that is mapped from now on, where this one works on a problem with others.
    peers: Mutex<Vec<sys::CUdevice>>,
}

// SAFETY: driver handles may be used from any thread once the context is made current there, which `enter` does.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Context {}

thread_local! {
    /// The context whose work this thread queues on a stream of a caller, and that stream.
    static BORROWED: Cell<Option<(*const Context, sys::CUstream)>> = const { Cell::new(None) };
}

/// Gives a borrowed stream back when it is dropped.
struct BorrowedStream(Option<(*const Context, sys::CUstream)>);

impl Drop for BorrowedStream {
    fn drop(&mut self) {
        BORROWED.set(self.0);
    }
}

/// Number of cards visible to the driver; 0 without a driver.
pub(super) fn cards() -> usize {
    // SAFETY: only looks for the library.
    if !unsafe { sys::is_culib_present() } || result::init().is_err() {
        return 0;
    }
    result::device::get_count().map_or(0, |count| count as usize)
}

impl Context {
    pub(super) fn open(ordinal: usize) -> Result<Context> {
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::NoDriver);
        }
        result::init().map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => DeviceError::NoDevice { ordinal, count: 0 },
            _ => driver("cuInit")(error),
        })?;
        let count = result::device::get_count().map_err(driver("cuDeviceGetCount"))? as usize;
        if ordinal >= count {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        let device = result::device::get(ordinal as i32).map_err(driver("cuDeviceGet"))?;
        // SAFETY: `device` came from the driver just now; the context is released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(driver("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: the context was retained above and is current on this thread from here on.
        unsafe { result::ctx::set_current(context) }.map_err(driver("cuCtxSetCurrent"))?;
        let own_stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let model = result::device::get_name(device).map_err(driver("cuDeviceGetName"))?;
        let name = format!("{model} (cuda:{ordinal})");
        Ok(Context {
            device,
            name,
            context,
            own_stream,
            staging: Mutex::default(),
            team: None,
            peers: Mutex::default(),
        })
    }

    /// The first of several cards that work as one device, with the others.
    pub(super) fn open_team(ordinals: &[usize]) -> Result<Context> {
        let (first, others) = ordinals.split_first().expect("a team has cards");
        let mut leader = Context::open(*first)?;
        if others.is_empty() {
            return Ok(leader);
        }
        let others = others.iter().map(|other| Context::open(*other).map(Arc::new)).collect::<Result<Vec<_>>>()?;
        if let Some(other) = others.iter().find(|other| other.model() != leader.model()) {
            return Err(DeviceError::UnlikeCards { card: leader.name.clone(), other: other.name().into() });
        }
        let numbers: Vec<String> = ordinals.iter().map(|ordinal| format!("cuda:{ordinal}")).collect();
        let name = format!("{} x {} ({})", ordinals.len(), leader.model(), numbers.join(", "));
        leader.team = Some(Team::new(&leader, others)?);
        leader.name = name;
        Ok(leader)
    }

    /// The other cards, where several work as one device.
    pub(super) fn team(&self) -> Option<&Team> {
        self.team.as_ref()
    }

    /// Cards that work as this device.
    pub(super) fn cards(&self) -> usize {
        self.team.as_ref().map_or(1, Team::cards)
    }

    /// The card of this number among them, from 0.
    pub(super) fn card(&self, card: usize) -> &Context {
        match (&self.team, card) {
            (Some(team), 1..) => team.other(card),
            _ => self,
        }
    }

    /// The stream on which this thread queues the work of the card: the card's own, or a borrowed one.
    pub(super) fn stream(&self) -> sys::CUstream {
        BORROWED.get().filter(|(context, _)| std::ptr::eq(*context, self)).map_or(self.own_stream, |(_, stream)| stream)
    }

    /// The card's own stream.
    pub(super) fn own_stream(&self) -> sys::CUstream {
        self.own_stream
    }

    /// Does work of this thread whose kernels and copies are queued on a stream of a caller in place of the card's own.
    ///
    /// # Safety
    /// The stream is one of this card and lives until the work has returned.
    pub(super) unsafe fn borrow_stream<R>(&self, stream: sys::CUstream, work: impl FnOnce() -> R) -> R {
        let _before = BorrowedStream(BORROWED.replace(Some((self, stream))));
        work()
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> sys::CUcontext {
        self.context
    }

    /// The card's name and number.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The card's name as the driver has it, `NVIDIA H200`.
    pub(super) fn model(&self) -> &str {
        let model = self.name.rsplit_once(" (").map_or(&*self.name, |(model, _)| model);
        self.team.as_ref().and_then(|team| model.strip_prefix(&format!("{} x ", team.cards()))).unwrap_or(model)
    }

    /// Free and total memory now; of several cards what vectors spread over them evenly find.
    pub(super) fn memory(&self) -> Memory {
        let cards = self.cards();
        let each = (0..cards).map(|card| self.card(card).own_memory());
        let least = each.reduce(|a, b| Memory { free: a.free.min(b.free), total: a.total.min(b.total) });
        let Memory { free, total } = least.unwrap_or(Memory { free: 0, total: 0 });
        // The context of this device is to be current, whichever was asked last.
        let _ = self.enter();
        Memory { free: free * cards as u64, total: total * cards as u64 }
    }

    /// Free and total memory of this card alone.
    pub(super) fn own_memory(&self) -> Memory {
        let sizes = self.enter_alone().and_then(|()| result::mem_get_info().map_err(driver("cuMemGetInfo")));
        let (free, total) = sizes.unwrap_or((0, 0));
        Memory { free: free as u64, total: total as u64 }
    }

    /// From now on memory that is mapped for this card is mapped for these as well, which see each other's memory.
    pub(super) fn open_to(&self, cards: impl IntoIterator<Item = sys::CUdevice>) {
        let others = cards.into_iter().filter(|card| *card != self.device).collect();
        *self.peers.lock().unwrap_or_else(PoisonError::into_inner) = others;
    }

    /// The cards for which memory is mapped, this one first.
    pub(super) fn users(&self) -> Vec<sys::CUdevice> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(self.device).chain(peers.iter().copied()).collect()
    }

    /// The card of this context.
    pub(super) fn device(&self) -> sys::CUdevice {
        self.device
    }

    /// Makes the context current on this thread; every use of the driver starts here. What is queued on the stream from here on
    /// waits for the other cards of the device.
    pub(super) fn enter(&self) -> Result<()> {
        self.enter_alone()?;
        self.team.as_ref().map_or(Ok(()), |team| team.join(self.stream()))
    }

    /// The same for work that needs to wait for no other card.
    pub(super) fn enter_alone(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.context) }.map_err(driver("cuCtxSetCurrent"))
    }

    pub(super) fn attribute(&self, attribute: CUdevice_attribute) -> Result<u32> {
        // SAFETY: `device` is valid.
        let value = unsafe { result::device::get_attribute(self.device, attribute) };
        value.map(|v| v as u32).map_err(driver("cuDeviceGetAttribute"))
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.stream()) }.map_err(driver("cuStreamSynchronize"))
    }

    /// Runs `work` with the pinned memory, allocating it first if needed. The context must be current.
    pub(super) fn staged<R>(&self, work: impl FnOnce(&mut Staging) -> Result<R>) -> Result<R> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *staging {
            Some(staging) => work(staging),
            none => work(none.insert(Staging::new()?)),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The others finish first, and give back their contexts.
        let entered = self.enter();
        if entered.is_ok() {
            // SAFETY: the stream lives.
            let _ = unsafe { result::stream::synchronize(self.own_stream) };
        }
        self.team = None;
        if entered.and_then(|()| self.enter_alone()).is_ok() {
            // SAFETY: nobody else holds the stream or this reference to the primary context any more.
            unsafe {
                let _ = result::stream::synchronize(self.own_stream);
                if let Some(staging) = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner) {
                    staging.release();
                }
                let _ = result::stream::destroy(self.own_stream);
                let _ = result::primary_ctx::release(self.device);
            }
        }
    }
}
