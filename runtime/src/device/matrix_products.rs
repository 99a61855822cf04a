//! Lists of products and sums of matrices in device memory by cuBLAS, on one stream or several.
//!
//! In: calls C = α A B + β C and C = α A + β C of column-major matrices inside vectors, ordered within each output block.
//! Out: the blocks. Calls of one block follow each other on one stream, so that no two write to one place at once; each
//! stream has its own handle and workspace, so that a repeated run gives the same bits. A matrix may also be in host
//! memory: it is copied to the card before each call that reads it.

use super::card_memory::DeviceMemory;
use super::context::{Context, driver};
use super::cuda::Cuda;
use super::{Device, Pinned, Vector};
use crate::error::{DeviceError, Result};
use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::driver::{result, sys};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A matrix inside one of a run's sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixPlace {
    /// Number of the source.
    pub source: usize,
    /// Its first element.
    pub first: usize,
    /// Elements from one column to the next.
    pub stride: usize,
    /// Whether the transpose is meant.
    pub transposed: bool,
}

/// One call: C = α A B + β C, or without B, C = α A + β C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixCall {
    /// A.
    pub a: MatrixPlace,
    /// B.
    pub b: Option<MatrixPlace>,
    /// Rows and columns of C, terms of the sum (0 without B).
    pub size: [usize; 3],
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// First element of C, relative to the output's start.
    pub first: usize,
    /// Elements from one column of C to the next.
    pub stride: usize,
}

/// A source of matrices.
#[derive(Clone, Copy)]
pub enum MatrixOperand<'a> {
    /// Not read by any call.
    Nothing,
    /// In device memory, from this element on.
    Device(&'a Vector<f64>, usize),
    /// In host memory.
    Host(&'a Pinned),
}

/// Number of the stream, and the calls of one output block.
pub type MatrixBlock = (usize, Vec<MatrixCall>);

/// A stream with a cuBLAS handle, and memory for a call's two matrices from host memory.
struct Lane {
    handle: blas_sys::cublasHandle_t,
    stream: sys::CUstream,
    done: sys::CUevent,
    staging: [Option<DeviceMemory>; 2],
}

// SAFETY: the handles may be used from any thread with the context current, by one at a time.
unsafe impl Send for Lane {}

/// Streams of a card with cuBLAS on each.
pub struct MatrixProducts {
    device: Device,
    cuda: Arc<Cuda>,
    lanes: Mutex<Vec<Lane>>,
}

fn refused(call: &'static str) -> impl Fn(blas::CublasError) -> DeviceError {
    move |error| DeviceError::Library { library: "cuBLAS", call, message: format!("{error:?}") }
}

fn wrong(what: &str, expected: String, found: String) -> DeviceError {
    DeviceError::Arguments { what: what.into(), expected, found }
}

/// Converts a number to cuBLAS's integer type.
fn int(number: usize) -> Result<i32> {
    i32::try_from(number).map_err(|_| wrong("a size of a matrix", "below 2^31".into(), number.to_string()))
}

impl MatrixPlace {
    /// Elements from the first to the last of a `rows` × `columns` matrix.
    fn extent(&self, rows: usize, columns: usize) -> usize {
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        if rows * columns == 0 { 0 } else { (columns - 1) * self.stride + rows }
    }

    fn operation(&self) -> blas_sys::cublasOperation_t {
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        if self.transposed { CUBLAS_OP_T } else { CUBLAS_OP_N }
    }
}

impl MatrixCall {
    /// Extent of each matrix that is read.
    pub fn extents(&self) -> [usize; 2] {
        let [m, n, k] = self.size;
        match &self.b {
            Some(b) => [self.a.extent(m, k), b.extent(k, n)],
            None => [self.a.extent(m, n), 0],
        }
    }
}

impl Lane {
    fn new() -> Result<Lane> {
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let done =
            result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(driver("cuEventCreate"))?;
        let handle = blas::create_handle().map_err(refused("cublasCreate"))?;
        // SAFETY: handle and stream were made just now.
        unsafe { blas::set_stream(handle, stream.cast()) }.map_err(refused("cublasSetStream"))?;
        Ok(Lane { handle, stream, done, staging: [None, None] })
    }

    /// Allocates memory for a matrix that comes from host memory.
    fn make_room(&mut self, cuda: &Arc<Cuda>, extents: [usize; 2]) -> Result<()> {
        for (staging, extent) in self.staging.iter_mut().zip(extents) {
            if staging.as_ref().is_none_or(|memory| memory.bytes() < 8 * extent) {
                *staging = None;
                *staging = Some(DeviceMemory::allocate(cuda.context(), 8 * extent)?);
            }
        }
        Ok(())
    }

    /// The address of a matrix, after queuing a copy on this stream if it is in host memory.
    fn address(&self, which: usize, place: &MatrixPlace, extent: usize, source: MatrixOperand<'_>) -> Result<u64> {
        match source {
            MatrixOperand::Nothing => Ok(0),
            MatrixOperand::Device(vector, first) => {
                Ok(vector.address().unwrap_or(0) + 8 * (first + place.first) as u64)
            }
            MatrixOperand::Host(values) => {
                let to = self.staging[which].as_ref().map_or(0, DeviceMemory::address);
                // SAFETY: the range was compared with the source, the room was made for the longest; whoever queues waits
                // for the copy before the borrow of the source ends.
                unsafe { result::memcpy_htod_async(to, &values[place.first..][..extent], self.stream) }
                    .map_err(driver("cuMemcpyHtoDAsync"))?;
                Ok(to)
            }
        }
    }

    /// Queues a call; `output` is the address that the call's first element is relative to.
    fn queue(&self, call: &MatrixCall, sources: &[MatrixOperand<'_>], output: u64) -> Result<()> {
        let [extent_a, extent_b] = call.extents();
        let a = self.address(0, &call.a, extent_a, sources[call.a.source])? as *const f64;
        let c = (output + 8 * call.first as u64) as *mut f64;
        let (m, n, k) = (int(call.size[0])?, int(call.size[1])?, int(call.size[2])?);
        let (lda, ldc, alpha, beta) = (int(call.a.stride)?, int(call.stride)?, call.alpha, call.beta);
        let plain = blas_sys::cublasOperation_t::CUBLAS_OP_N;
        let Some(place) = &call.b else {
            // SAFETY: both matrices lie inside their vectors, as was compared; C may be source and target; the scalars are
            // read before the call returns (pointer mode host, the default).
            return unsafe {
                let operation = call.a.operation();
                blas_sys::cublasDgeam(self.handle, operation, plain, m, n, &alpha, a, lda, &beta, c, ldc, c, ldc)
            }
            .result()
            .map_err(refused("cublasDgeam"));
        };
        let b = self.address(1, place, extent_b, sources[place.source])? as *const f64;
        let (ldb, of_a, of_b) = (int(place.stride)?, call.a.operation(), place.operation());
        // SAFETY: as above.
        unsafe { blas_sys::cublasDgemm_v2(self.handle, of_a, of_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc) }
            .result()
            .map_err(refused("cublasDgemm"))
    }

    fn close(&self) {
        // SAFETY: nobody else holds them; the driver lets what is queued finish.
        unsafe {
            let _ = blas::destroy_handle(self.handle);
            let _ = result::event::destroy(self.done);
            let _ = result::stream::destroy(self.stream);
        }
    }
}

impl MatrixProducts {
    /// Uses this many streams of a card.
    ///
    /// # Errors
    /// The device is not a card; the machine has no cuBLAS.
    pub fn new(device: &Device, streams: usize) -> Result<MatrixProducts> {
        let Device::Cuda(cuda) = device else {
            let (what, expected, found) = ("products of matrices by cuBLAS".into(), "a card".into(), device.name());
            return Err(DeviceError::WrongDevice { what, expected, found });
        };
        // SAFETY: only looks for the library.
        if !unsafe { blas_sys::is_culib_present() } {
            return Err(DeviceError::Library {
                library: "cuBLAS",
                call: "loading it",
                message: "libcublas was not found; install the CUDA toolkit, or add the folder that holds it to \
                          LD_LIBRARY_PATH"
                    .into(),
            });
        }
        cuda.context().enter()?;
        let lanes = (0..streams.max(1)).map(|_| Lane::new()).collect::<Result<Vec<_>>>()?;
        Ok(MatrixProducts { device: device.clone(), cuda: cuda.clone(), lanes: Mutex::new(lanes) })
    }

    /// Number of streams.
    pub fn streams(&self) -> usize {
        self.lanes().len()
    }

    fn lanes(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the blocks; first zeroes `clear` elements of `output` from `first` on.
    ///
    /// Starts after everything queued on the device before, and later work waits for it. Waits if a source is in host
    /// memory.
    ///
    /// # Errors
    /// A matrix outside its vector; vectors of another device; a stream number out of range; the device fails.
    pub fn run(
        &self,
        blocks: &[MatrixBlock],
        sources: &[MatrixOperand<'_>],
        output: &mut Vector<f64>,
        first: usize,
        clear: usize,
    ) -> Result<()> {
        let mut lanes = self.lanes();
        let from_host = self.check(blocks, sources, output, first, clear, lanes.len())?;
        let context = self.cuda.context();
        context.enter()?;
        if let Some(extents) = from_host {
            lanes.iter_mut().try_for_each(|lane| lane.make_room(&self.cuda, extents))?;
        }
        let address = output.address().unwrap_or(0) + 8 * first as u64;
        if clear > 0 {
            // SAFETY: the range is inside the vector, as was compared, and borrowed to be written.
            unsafe { result::memset_d8_async(address, 0, 8 * clear, context.stream()) }
                .map_err(driver("cuMemsetD8Async"))?;
        }
        wait(context, &lanes, &waits_before(lanes.len()))?;
        let queued = blocks.iter().try_for_each(|(stream, calls)| {
            calls
                .iter()
                .filter(|call| call.size[0] * call.size[1] > 0)
                .try_for_each(|call| lanes[*stream].queue(call, sources, address))
        });
        let joined = wait(context, &lanes, &waits_after(lanes.len()));
        // Wait even after an error: the caller may drop the sources once this returns.
        let waited = if from_host.is_some() || queued.is_err() { self.device.synchronize() } else { Ok(()) };
        queued.and(joined).and(waited)
    }

    /// Checks every matrix against its source; returns the longest extent of each operand in host memory, if any.
    fn check(
        &self,
        blocks: &[MatrixBlock],
        sources: &[MatrixOperand<'_>],
        output: &Vector<f64>,
        first: usize,
        clear: usize,
        streams: usize,
    ) -> Result<Option<[usize; 2]>> {
        let own = |vector: &Vector<f64>| match vector.device().is_same(&self.device) {
            true => Ok(()),
            false => Err(DeviceError::WrongDevice {
                what: "a vector of a product of matrices".into(),
                expected: self.device.name(),
                found: vector.device().name(),
            }),
        };
        own(output)?;
        let holds = |what: &str, length: usize, end: usize| match end <= length {
            true => Ok(()),
            false => Err(wrong(what, format!("at least {end} elements"), length.to_string())),
        };
        holds("the output of products of matrices", output.len(), first + clear)?;
        let mut longest: Option<[usize; 2]> = None;
        for (stream, calls) in blocks {
            if *stream >= streams {
                return Err(wrong("the stream of a block", format!("below {streams}"), stream.to_string()));
            }
            for call in calls {
                let c = MatrixPlace { source: 0, first: call.first, stride: call.stride, transposed: false };
                let end = first + c.first + c.extent(call.size[0], call.size[1]);
                holds("the output of products of matrices", output.len(), end)?;
                let places = [Some(call.a), call.b];
                for (which, (place, extent)) in places.iter().zip(call.extents()).enumerate() {
                    let Some(place) = place else { continue };
                    match sources.get(place.source) {
                        Some(MatrixOperand::Device(vector, start)) => {
                            own(vector)?;
                            holds("a source of products of matrices", vector.len(), start + place.first + extent)?;
                        }
                        Some(MatrixOperand::Host(values)) => {
                            holds("a source of products of matrices", values.len(), place.first + extent)?;
                            let all = longest.get_or_insert([0, 0]);
                            all[which] = all[which].max(extent);
                        }
                        Some(MatrixOperand::Nothing) | None => {
                            let found = format!("none at {}", place.source);
                            return Err(wrong("a source of products of matrices", "a vector".into(), found));
                        }
                    }
                }
            }
        }
        Ok(longest)
    }
}

/// An in-order queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// The device's stream, on which everything else runs.
    Device,
    /// A stream of the products.
    Lane(usize),
}

/// Later work on `later` starts after everything now queued on `earlier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    later: Queue,
    earlier: Queue,
}

/// Before the products: the device's stream has written the sources and cleared the output.
fn waits_before(lanes: usize) -> Vec<Wait> {
    (0..lanes).map(|lane| Wait { later: Queue::Lane(lane), earlier: Queue::Device }).collect()
}

/// After the products: the device's stream reads the output, whose blocks the lanes wrote.
fn waits_after(lanes: usize) -> Vec<Wait> {
    (0..lanes).map(|lane| Wait { later: Queue::Device, earlier: Queue::Lane(lane) }).collect()
}

/// Queues waits, each with the event of its lane.
fn wait(context: &Context, lanes: &[Lane], waits: &[Wait]) -> Result<()> {
    let stream = |queue: Queue| match queue {
        Queue::Device => context.stream(),
        Queue::Lane(lane) => lanes[lane].stream,
    };
    for Wait { later, earlier } in waits.iter().copied() {
        let ((Queue::Lane(lane), _) | (_, Queue::Lane(lane))) = (later, earlier) else { continue };
        let done = lanes[lane].done;
        // SAFETY: events and streams live as long as the lanes, the device's stream as long as the context.
        unsafe {
            result::event::record(done, stream(earlier)).map_err(driver("cuEventRecord"))?;
            result::stream::wait_event(stream(later), done, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
                .map_err(driver("cuStreamWaitEvent"))?;
        }
    }
    Ok(())
}

impl Drop for MatrixProducts {
    fn drop(&mut self) {
        if self.cuda.context().enter().is_ok() {
            self.lanes().iter().for_each(Lane::close);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Element (row, column) of a place.
    fn element(data: &[f64], place: MatrixPlace, row: usize, column: usize) -> f64 {
        let (row, column) = if place.transposed { (column, row) } else { (row, column) };
        data[place.first + row + column * place.stride]
    }

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut next = seed;
        let mut number = || {
            next = next.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (next >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        (0..count).map(|_| number()).collect()
    }

    /// Whether everything read was written before, considering only the order of each queue and the waits: sources are
    /// written by the device's stream before the products, and the output is read by later work on the device's stream.
    fn every_read_is_after_its_write(lanes: usize, before: &[Wait], after: &[Wait]) -> bool {
        let place = |queue: Queue| if let Queue::Lane(lane) = queue { lane + 1 } else { 0 };
        // For each queue, the writes that are complete when its next operation starts: bit 0 the sources, bit k + 1 lane
        // k's blocks.
        let mut over = vec![0u64; lanes + 1];
        let pass = |over: &mut [u64], waits: &[Wait]| {
            waits.iter().for_each(|wait| over[place(wait.later)] |= over[place(wait.earlier)]);
        };
        over[0] |= 1;
        pass(&mut over, before);
        let sources = over[1..].iter().all(|writes| writes & 1 == 1);
        (1..=lanes).for_each(|lane| over[lane] |= 1 << lane);
        pass(&mut over, after);
        sources && over[0] == (1 << (lanes + 1)) - 1
    }

    #[test]
    fn every_stream_is_waited_for_and_waits() {
        for lanes in 1..6 {
            let (before, after) = (waits_before(lanes), waits_after(lanes));
            assert!(every_read_is_after_its_write(lanes, &before, &after), "{lanes} streams");
            // Every wait is needed, so the check detects a missing one.
            for missing in 0..lanes {
                let without = |waits: &[Wait]| [&waits[..missing], &waits[missing + 1..]].concat();
                assert!(!every_read_is_after_its_write(lanes, &without(&before), &after), "{lanes} streams, {missing}");
                assert!(!every_read_is_after_its_write(lanes, &before, &without(&after)), "{lanes} streams, {missing}");
            }
        }
    }

    #[test]
    fn the_cpu_and_the_simulator_have_no_cublas_and_say_so() {
        let said = MatrixProducts::new(&Device::cpu(), 4).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("cuBLAS") && said.contains("expected it on a card"), "{said}");
    }

    /// On a card: products, transposes and sums from device and host memory, two blocks on each of three streams.
    #[test]
    fn products_and_sums_as_loops_give_them() {
        let Some(device) = crate::testing::card_or_skip() else { return };
        let (a, b) = (random(4000, 1), random(5000, 2));
        let (on_card, offset) = (device.upload(&[&[f64::NAN; 17][..], &a].concat()).unwrap(), 17);
        let mut in_host = device.pinned(b.len()).unwrap();
        in_host.copy_from_slice(&b);
        let place = |source, first, stride, transposed| MatrixPlace { source, first, stride, transposed };
        let block = |k: usize| {
            let (m, n, inner) = (7 + k, 9, 5 + k);
            let product = MatrixCall {
                a: place(0, 3 * k, 31, false),
                b: Some(place(1, 11, 20 + k, k % 2 == 1)),
                size: [m, n, inner],
                alpha: 0.5,
                beta: 0.0,
                first: 200 * k,
                stride: m,
            };
            let sum =
                MatrixCall { a: place(1, k, 40, k.is_multiple_of(2)), b: None, alpha: -2.0, beta: 1.0, ..product };
            (k % 3, vec![product, sum])
        };
        let blocks: Vec<MatrixBlock> = (0..6).map(block).collect();
        let mut expected = vec![0.0; 1200];
        let data = [&a, &b];
        for call in blocks.iter().flat_map(|(_, calls)| calls) {
            let [m, n, inner] = call.size;
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let value = match call.b {
                    Some(right) => (0..inner)
                        .map(|l| element(data[call.a.source], call.a, i, l) * element(data[right.source], right, l, j))
                        .sum::<f64>(),
                    None => element(data[call.a.source], call.a, i, j),
                };
                let c = &mut expected[call.first + i + j * call.stride];
                *c = call.alpha * value + if call.beta == 0.0 { 0.0 } else { call.beta * *c };
            }
        }
        let products = MatrixProducts::new(&device, 3).unwrap();
        let mut output = device.upload(&vec![f64::NAN; 1300]).unwrap();
        let sources = [MatrixOperand::Device(&on_card, offset), MatrixOperand::Host(&in_host)];
        products.run(&blocks, &sources, &mut output, 50, 1200).unwrap();
        let found = output.download().unwrap();
        assert!(found[..50].iter().chain(&found[1250..]).all(|x| x.is_nan()), "only the output is written");
        for (k, (found, expected)) in found[50..].iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-13, "element {k}: {found} is not {expected}");
        }
        let far = MatrixCall { first: 1290, ..blocks[0].1[0] };
        let said = products.run(&[(0, vec![far])], &sources, &mut output, 0, 0).unwrap_err().to_string();
        assert!(said.contains("at least"), "{said}");
    }
}
