//! The lean Davidson with V, W, the vector and the small problem on a device, by generated kernels.
//!
//! Vectors to stay orthogonal to are the first columns of V, without products. After the launches of the product an
//! iteration is four launches (five at a restart) in one wait: only the eigenvalues, ‖r‖² and whether a correction remained
//! return to the host.

use super::chain::{ChainSweeps, TextChoice};
use super::{Basis, DavidsonLimits, DavidsonResult, Iteration, Next, search};
use crate::device::{Arguments, Buffer, Device, Kernel, Vector};
use crate::error::{BackendError, DeviceError};
use crate::records::card::{FAMILY, RecordsMultiply};
use crate::residency::{Pool, PoolBuffer};
use crate::trace;
use eigenforge_templates::eigen::{DavidsonNumbers, DavidsonPlan, Extent};
use std::sync::Arc;

pub(crate) mod over_cards;
mod product_clock;
mod together;

pub use product_clock::CardWork;
use product_clock::ProductClock;

/// Smallest basis: the two vectors of a restart, and one to continue.
const NARROWEST: usize = 4;
/// Vectors to stay orthogonal to are skipped if their norm², or that of the part outside the earlier ones, is below this.
const NEXT_TO_NOTHING: f64 = 1e-20;
/// Ritz vectors that a restart of a search for one state keeps.
const KEPT: usize = 2;
/// Fraction of the remaining memory that V and W may take together.
const SHARE: f64 = 0.5;

/// The most vectors to which a search can stay orthogonal.
pub(crate) fn most_below() -> usize {
    DavidsonPlan::new(FAMILY).width - NARROWEST
}

/// The compiled kernels and their memory.
pub(crate) struct DeviceDavidson {
    device: Device,
    pool: Arc<Pool>,
    kernel: Kernel,
    plan: DavidsonPlan,
    small: Vector<f64>,
    numbers: Vector<f64>,
    partials: Vector<f64>,
    arrived: Buffer<u32>,
    /// Planned number of basis vectors, and elements of V and of W in the largest solve: memory of that length is kept for
    /// reuse.
    planned: Option<(usize, usize)>,
    /// The chain's own text.
    chain: Option<ChainSweeps>,
    /// Seconds of products.
    clock: ProductClock,
}

impl DeviceDavidson {
    pub(crate) fn new(device: &Device, pool: &Arc<Pool>) -> Result<DeviceDavidson, DeviceError> {
        let plan = DavidsonPlan { warp: device.warp(), ..DavidsonPlan::new(FAMILY) };
        Ok(DeviceDavidson {
            device: device.clone(),
            kernel: device.compile(&plan.text()?)?,
            small: device.zeros(plan.small())?,
            numbers: device.zeros(plan.numbers())?,
            partials: device.zeros(plan.partials())?,
            arrived: device.buffer(&[0u32])?,
            pool: pool.clone(),
            plan,
            planned: None,
            chain: None,
            clock: ProductClock::new(device),
        })
    }

    /// Sets the number of basis vectors, and the bytes of V and W in the largest solve. They are allocated now, while
    /// memory is most free.
    pub(crate) fn apply_plan(&mut self, width: usize, bytes: u64) -> Result<(), DeviceError> {
        let elements = (bytes / 16) as usize;
        self.planned = Some((width.min(self.plan.width), elements));
        self.pool.park([self.pool.take(elements)?, self.pool.take(elements)?]);
        Ok(())
    }

    /// The sectors are settled, with vectors of at most `elements` elements: begins the chain's own text where the choice is one.
    pub(crate) fn specialise(&mut self, choice: TextChoice, elements: usize) -> Result<(), DeviceError> {
        // On a simulated device nothing is gained, so it is made only if it is asked for.
        let is_worth_it = choice == TextChoice::Chain || self.device.is_cuda();
        if !choice.is_own(elements) || !is_worth_it {
            return Ok(());
        }
        if self.chain.as_ref().is_none_or(|chain| !chain.is_for(elements)) {
            self.chain = Some(ChainSweeps::begin(&self.device, &self.plan, choice, elements)?);
        }
        Ok(())
    }

    /// Sentences for the report.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.chain.as_ref().map_or(Vec::new(), |chain| chain.warnings().to_vec())
    }

    /// What this card did of the products.
    pub(crate) fn work(&self) -> CardWork {
        self.clock.work().clone()
    }

    /// So many bytes came from another card.
    pub(crate) fn received(&mut self, bytes: u64) {
        self.clock.received(bytes);
    }

    /// Elements from one column to the next: those of the chain's own text where it is ready and memory is as planned, otherwise as few as
    /// possible.
    fn stride(&mut self, n: usize, below: usize) -> usize {
        let least = n.next_multiple_of(32);
        let Some(chain) = &mut self.chain else { return least };
        chain.refresh();
        let Some(stride) = chain.stride().filter(|stride| *stride >= least) else { return least };
        let fits = self.planned.is_some_and(|(width, elements)| width.max(below + NARROWEST) * stride <= elements);
        if fits { stride } else { least }
    }

    /// x · y.
    pub(crate) fn inner(&mut self, x: &PoolBuffer, y: &PoolBuffer) -> Result<f64, DeviceError> {
        let n = x.len().min(y.len());
        if n == 0 {
            return Ok(0.0);
        }
        let launch = self.plan.launch("inner", Extent { n, stride: n, width: 1, below: 0 })?;
        let arguments = Arguments::new()
            .read("x", x.vector())
            .read("y", y.vector())
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived)
            .i64("n", n as i64);
        self.kernel.launch(&launch, arguments)?;
        Ok(self.numbers.download()?[0])
    }

    /// Basis columns of `stride` elements each, `below` of them for lower states, that fit into free memory; shorter
    /// memory of an earlier solve is released.
    fn columns(&mut self, n: usize, stride: usize, below: usize) -> usize {
        let most = self.plan.width.min(n).max(1);
        if self.pool.parked() >= most * stride {
            return most;
        }
        let narrowest = (below + NARROWEST).min(most);
        if let Some((planned, _)) = self.planned {
            return planned.clamp(narrowest, most);
        }
        let fits = (SHARE * self.pool.available() as f64 / (16.0 * stride as f64)) as usize;
        fits.clamp(narrowest, most)
    }

    /// Replaces `vector` by the lowest eigenvector among the vectors orthogonal to `against`.
    pub(crate) fn solve(
        &mut self,
        multiply: &mut RecordsMultiply<'_>,
        diagonal: &PoolBuffer,
        vector: &mut PoolBuffer,
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        let place = self.place(vector.len(), against.len());
        let (mut v, w) = self.memory(place)?;
        let empty = place.empty();
        let below = self.place_below(empty, &mut v, against)?;
        self.begin_column(Extent { width: below, ..empty }, &mut v, vector)?;
        let most = place.columns.saturating_sub(below);
        let Place { n, stride, .. } = place;
        let mut basis = DeviceBasis { kernels: self, multiply, diagonal, vector, v, w, n, stride, below, most };
        let found = search(&mut basis, limits)?;
        let DeviceBasis { v, w, .. } = basis;
        self.pool.park([v, w]);
        Ok(found)
    }

    /// Length, distance and number of the columns of a solve that stays orthogonal to `below` vectors.
    fn place(&mut self, n: usize, below: usize) -> Place {
        let stride = self.stride(n, below);
        Place { n, stride, columns: self.columns(n, stride, below) }
    }

    /// V and W for so many columns.
    fn memory(&self, Place { stride, columns, .. }: Place) -> Result<(PoolBuffer, PoolBuffer), DeviceError> {
        // V and W of the previous solve, if they are long enough and still parked.
        if let Some([v, w]) = self.pool.unpark().filter(|[v, _]| v.len() >= columns * stride) {
            return Ok((v, w));
        }
        let elements = self.planned.map_or(0, |(_, elements)| elements).max(columns * stride);
        Ok((self.pool.take(elements)?, self.pool.take(elements)?))
    }

    /// Makes vectors the first, orthonormal columns of the basis; returns how many were independent.
    fn place_below(
        &mut self,
        empty: Extent,
        v: &mut PoolBuffer,
        vectors: &[&PoolBuffer],
    ) -> Result<usize, DeviceError> {
        let mut placed = 0;
        for vector in vectors {
            placed += usize::from(self.place_one(Extent { width: placed, ..empty }, v, &mut vector.duplicate()?)?);
        }
        Ok(placed)
    }

    /// Makes a vector a column behind the others; `false` if next to nothing of it is outside them, and it is none.
    fn place_one(&mut self, extent: Extent, v: &mut PoolBuffer, vector: &mut PoolBuffer) -> Result<bool, DeviceError> {
        self.begin_column(extent, v, vector)?;
        let DavidsonNumbers { is_exhausted, squares: (before, after), .. } = self.read_numbers()?;
        Ok(!is_exhausted && after > NEXT_TO_NOTHING.max(NEXT_TO_NOTHING * before))
    }

    /// Waits for the device.
    fn read_numbers(&self) -> Result<DavidsonNumbers, DeviceError> {
        Ok(self.plan.read_numbers(&self.numbers.download()?))
    }

    /// Orthonormalises a vector with unknown overlaps twice and appends it to the basis.
    fn begin_column(&mut self, extent: Extent, v: &mut PoolBuffer, vector: &mut PoolBuffer) -> Result<(), DeviceError> {
        let vector = vector.vector_mut();
        // Its norm, with overlaps initialised to zero.
        self.orthogonalise(Extent { width: 0, ..extent }, v, vector)?;
        if extent.width > 0 {
            self.orthogonalise(extent, v, vector)?;
            self.orthogonalise(extent, v, vector)?;
        }
        self.append(extent, v, vector)
    }

    fn project(&mut self, extent: Extent, v: &PoolBuffer, w: &PoolBuffer) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .read("products", w.vector())
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        launch((&self.kernel, &self.plan, self.chain.as_mut()), ("projected", None), extent, arguments)
    }

    fn correct(
        &mut self,
        extent: Extent,
        v: &PoolBuffer,
        w: &PoolBuffer,
        (diagonal, target): (&Vector<f64>, usize),
        correction: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .read("products", w.vector())
            .read("diagonal", diagonal)
            .write("correction", correction)
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        launch(
            (&self.kernel, &self.plan, self.chain.as_mut()),
            ("corrected", Some(("target", target))),
            extent,
            arguments,
        )
    }

    fn restart(
        &mut self,
        extent: Extent,
        v: &mut PoolBuffer,
        w: &mut PoolBuffer,
        kept: usize,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .write("products", w.vector_mut())
            .write("small", &mut self.small)
            .read("numbers", &self.numbers)
            .write("arrived", &mut self.arrived);
        launch((&self.kernel, &self.plan, self.chain.as_mut()), ("restarted", Some(("kept", kept))), extent, arguments)
    }

    fn orthogonalise(
        &mut self,
        extent: Extent,
        v: &PoolBuffer,
        correction: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .write("correction", correction)
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        launch((&self.kernel, &self.plan, self.chain.as_mut()), ("orthogonalised", None), extent, arguments)
    }

    fn append(&mut self, extent: Extent, v: &mut PoolBuffer, correction: &Vector<f64>) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .read("correction", correction)
            .read("small", &self.small)
            .write("numbers", &mut self.numbers);
        launch((&self.kernel, &self.plan, self.chain.as_mut()), ("appended", None), extent, arguments)
    }

    fn combine(
        &mut self,
        extent: Extent,
        v: &PoolBuffer,
        vector: &mut Vector<f64>,
        target: usize,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new().read("basis", v.vector()).write("vector", vector).read("small", &self.small);
        launch(
            (&self.kernel, &self.plan, self.chain.as_mut()),
            ("combined", Some(("target", target))),
            extent,
            arguments,
        )
    }
}

/// The columns of a solve: their length, the elements from one to the next, and how many V and W have room for.
#[derive(Clone, Copy)]
struct Place {
    n: usize,
    stride: usize,
    columns: usize,
}

impl Place {
    /// Without a column.
    fn empty(self) -> Extent {
        Extent { n: self.n, stride: self.stride, width: 0, below: 0 }
    }
}

/// One solve.
struct DeviceBasis<'a, 'm> {
    kernels: &'a mut DeviceDavidson,
    multiply: &'a mut RecordsMultiply<'m>,
    diagonal: &'a PoolBuffer,
    /// The start vector, then each correction, then the eigenvector.
    vector: &'a mut PoolBuffer,
    v: PoolBuffer,
    w: PoolBuffer,
    n: usize,
    stride: usize,
    /// Columns of V for the vectors to stay orthogonal to.
    below: usize,
    most: usize,
}

impl DeviceBasis<'_, '_> {
    /// The columns of the search, behind those below.
    fn search_columns(&self, width: usize) -> Extent {
        Extent { n: self.n, stride: self.stride, width, below: self.below }
    }

    /// All columns.
    fn all(&self, width: usize) -> Extent {
        Extent { n: self.n, stride: self.stride, width: self.below + width, below: 0 }
    }
}

impl Basis for DeviceBasis<'_, '_> {
    fn complete(&self) -> usize {
        self.n.saturating_sub(self.below)
    }

    fn most(&self) -> usize {
        self.most
    }

    fn multiply(&mut self, column: usize) -> Result<(), BackendError> {
        let (from, to) = ((self.below + column) * self.stride, column * self.stride);
        let _product = self.kernels.device.span("dmrg", "product with H");
        self.kernels.clock.begin(self.multiply.flops())?;
        self.multiply.run(&self.v, from, &mut self.w, to)?;
        Ok(self.kernels.clock.end()?)
    }

    fn iterate(&mut self, width: usize, next: Next, _: DavidsonLimits) -> Result<Iteration, BackendError> {
        let (own, mut all) = (self.search_columns(width), self.all(width));
        let DeviceBasis { kernels, v, w, diagonal, vector, .. } = self;
        let (diagonal, vector) = (diagonal.vector(), vector.vector_mut());
        let vectors = kernels.device.span("dmrg", "vectors of Davidson");
        kernels.project(own, v, w)?;
        kernels.correct(own, v, w, (diagonal, 0), vector)?;
        if next == Next::Restart {
            kernels.restart(own, v, w, KEPT)?;
            all.width = own.below + KEPT;
        }
        if next != Next::Nothing {
            kernels.orthogonalise(all, v, vector)?;
            kernels.append(all, v, vector)?;
        }
        drop(vectors);
        let _waiting = trace::span("dmrg", "wait for the device");
        let DavidsonNumbers { residual_squared, is_exhausted, mut values, .. } = kernels.read_numbers()?;
        kernels.clock.read()?;
        values.truncate(width);
        Ok(Iteration { values, residual: residual_squared.sqrt(), exhausted: is_exhausted })
    }

    fn finish(&mut self, width: usize) -> Result<(), BackendError> {
        let own = self.search_columns(width);
        Ok(self.kernels.combine(own, &self.v, self.vector.vector_mut(), 0)?)
    }
}

/// Launches a kernel, given by its name and its last number: that of the chain's own text, if there is one for these columns.
fn launch<'a>(
    (kernel, plan, chain): (&Kernel, &DavidsonPlan, Option<&mut ChainSweeps>),
    (entry, last): (&str, Option<(&'static str, usize)>),
    extent: Extent,
    arguments: Arguments<'a>,
) -> Result<(), DeviceError> {
    let Extent { n, stride, width, below } = extent;
    let below = (!matches!(entry, "orthogonalised" | "appended")).then_some(("below", below));
    let behind = |arguments: Arguments<'a>| {
        let numbers = below.into_iter().chain(last);
        numbers.fold(arguments, |arguments, (name, number)| arguments.i32(name, number as i32))
    };
    let arguments = arguments.i64("n", n as i64);
    if let Some(own) = chain.and_then(|chain| chain.launch(entry, extent)) {
        let (kernel, launch) = own?;
        return kernel.launch(&launch, behind(arguments));
    }
    let arguments = arguments.i64("stride", stride as i64).i32("width", width as i32);
    kernel.launch(&plan.launch(entry, extent)?, behind(arguments))
}

#[cfg(test)]
pub(super) mod tests;
