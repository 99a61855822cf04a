//! Arrays that another library keeps in the memory of a card, used where they are, and the order of its stream and the device's.
//!
//! In: addresses and a stream of the driver, as CuPy or PyTorch give them. Out: [`Vector`]s at these addresses, and work that begins after what
//! the stream has so far and before what it gets later. Nothing waits on the host, and nothing is allocated a call.

use super::context::driver;
use super::cuda::Cuda;
use super::streams::Event;
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// A card as a caller with streams of its own uses it.
pub struct CallerStream {
    device: Device,
    cuda: Arc<Cuda>,
    /// Recorded on the caller's stream before the work, and on the device's stream after it.
    around: Mutex<[Event; 2]>,
}

/// Where the numbers of an array are: the first one's address, how many there are, and from one to the next how many numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayPlace {
    /// Address of the first number.
    pub address: u64,
    /// Numbers.
    pub count: usize,
    /// Numbers of the same size from one to the next.
    pub step: usize,
}

impl CallerStream {
    /// Of one card.
    ///
    /// # Errors
    /// Cores, several cards, or a rank's share of one.
    pub fn new(device: &Device) -> Result<CallerStream> {
        let Device::Cuda(cuda) = device else {
            let (expected, found) = ("a card".into(), device.name());
            return Err(DeviceError::WrongDevice { what: "arrays in the memory of a card".into(), expected, found });
        };
        device.check_alone("arrays in the memory of a card")?;
        if device.ranks().is_some() {
            let instead = "its vectors are cut into shares".into();
            return Err(DeviceError::NotOverRanks { what: "an array of another library".into(), instead });
        }
        let around = Mutex::new([Event::new(cuda)?, Event::new(cuda)?]);
        Ok(CallerStream { device: device.clone(), cuda: cuda.clone(), around })
    }

    /// The driver's handle of the device's own stream.
    pub fn own_stream(&self) -> u64 {
        self.cuda.context().stream as u64
    }

    /// Queues work of the device between what a stream has so far and what it gets later.
    ///
    /// # Safety
    /// `stream` is the driver's handle of a stream of this card that lives: 0 or 1 for the default one, 2 for that of the thread.
    ///
    /// # Errors
    /// Those of the work; the driver's.
    pub unsafe fn order<R>(&self, stream: u64, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let (own, stream) = (self.cuda.context().stream, stream as sys::CUstream);
        // An event is recorded and waited for by one call at a time.
        let around = self.around.lock().unwrap_or_else(PoisonError::into_inner);
        let [before, after] = &*around;
        before.record(stream)?;
        before.hold(&self.cuda, own)?;
        let result = work();
        // Also after an error: some of the work may be queued.
        after.record(own)?;
        after.hold(&self.cuda, stream)?;
        result
    }

    /// Refuses an address that is not in the memory of this card.
    ///
    /// # Errors
    /// Memory of the host, of another card, or of nothing.
    pub fn check(&self, address: u64) -> Result<()> {
        let (mut ordinal, own) = (-1i32, self.cuda.ordinals()[0]);
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        self.cuda.context().enter()?;
        // SAFETY: the attribute is a C int; the driver looks the address up and does not read from it.
        let found = unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast::<c_void>(), attribute, address) };
        if found.result().is_ok() && ordinal == own as i32 {
            return Ok(());
        }
        let found = if ordinal < 0 { "memory of the host".into() } else { format!("memory of cuda:{ordinal}") };
        let expected = format!("memory of cuda:{own}");
        Err(DeviceError::WrongDevice { what: "an array of another library".into(), expected, found })
    }

    /// The numbers as a vector, where they are.
    ///
    /// # Safety
    /// They are in the memory of this card, as [`CallerStream::check`] finds, one beside the other, until what is queued on the device's
    /// stream while the vector lives is done; nothing else writes them meanwhile, and where the vector is written, nothing reads them.
    pub unsafe fn vector<T: Scalar>(&self, address: u64, len: usize) -> Vector<T> {
        Vector::lent(&self.device, &self.cuda, address, len)
    }

    /// Copies numbers to elements of a vector of this device, from one on and a step apart.
    ///
    /// # Safety
    /// As of [`CallerStream::vector`].
    ///
    /// # Errors
    /// The vector is too short; the driver's.
    pub unsafe fn gather<T: Scalar>(
        &self,
        from: ArrayPlace,
        to: &mut Vector<T>,
        (first, step): (usize, usize),
    ) -> Result<()> {
        let own = self.own_place(to, (first, step), from.count)?;
        self.copy::<T>(from, own)
    }

    /// Copies elements of a vector of this device, from one on and a step apart, to numbers of an array.
    ///
    /// # Safety
    /// As of [`CallerStream::vector`].
    ///
    /// # Errors
    /// The vector is too short; the driver's.
    pub unsafe fn scatter<T: Scalar>(
        &self,
        from: &Vector<T>,
        (first, step): (usize, usize),
        to: ArrayPlace,
    ) -> Result<()> {
        let own = self.own_place(from, (first, step), to.count)?;
        self.copy::<T>(own, to)
    }

    fn own_place<T: Scalar>(
        &self,
        vector: &Vector<T>,
        (first, step): (usize, usize),
        count: usize,
    ) -> Result<ArrayPlace> {
        let needed = if count == 0 { 0 } else { first + (count - 1) * step + 1 };
        match vector.address() {
            Some(address) if needed <= vector.len() && vector.device().is_same(&self.device) => {
                Ok(ArrayPlace { address: address + (first * size_of::<T>()) as u64, count, step })
            }
            _ => Err(DeviceError::Arguments {
                what: "copying an array of another library".into(),
                expected: format!("a vector of {} with {needed} elements", self.device.name()),
                found: format!("{vector:?}"),
            }),
        }
    }

    /// Queues a copy: rows of one number, a step apart.
    fn copy<T: Scalar>(&self, from: ArrayPlace, to: ArrayPlace) -> Result<()> {
        if from.count == 0 {
            return Ok(());
        }
        let bytes = size_of::<T>();
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        let (width, height) = if (from.step, to.step) == (1, 1) { (from.count, 1) } else { (1, from.count) };
        let pitch = |step: usize| if height == 1 { width * bytes } else { step * bytes };
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: device,
            srcHost: std::ptr::null(),
            srcDevice: from.address,
            srcArray: std::ptr::null_mut(),
            srcPitch: pitch(from.step),
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: device,
            dstHost: std::ptr::null_mut(),
            dstDevice: to.address,
            dstArray: std::ptr::null_mut(),
            dstPitch: pitch(to.step),
            WidthInBytes: width * bytes,
            Height: height,
        };
        self.cuda.context().enter()?;
        // SAFETY: callers vouch for the array, and the vector has as many numbers, as compared.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.cuda.context().stream) }
            .result()
            .map_err(driver("cuMemcpy2DAsync"))
    }
}
