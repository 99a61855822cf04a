//! The lean Davidson with V, W, the vector and the small problem on a device, by generated kernels.
//!
//! Vectors to stay orthogonal to are the first columns of V, without products. After the launches of the product an
//! iteration is four launches (five at a restart) in one wait: only λ, ‖r‖² and whether a correction remained return to the
//! host.

use super::{Basis, DavidsonLimits, DavidsonResult, Iteration, Next, search};
use crate::device::{Arguments, Buffer, Device, Kernel, Vector};
use crate::error::{BackendError, DeviceError};
use crate::records::card::{FAMILY, Multiply};
use crate::residency::{Pool, PoolBuffer};
use crate::trace;
use eigenforge_templates::eigen::{DavidsonPlan, Extent, SMALL_NUMBERS};
use std::sync::Arc;

/// Smallest basis: the two vectors of a restart, and one to continue.
const NARROWEST: usize = 4;
/// Vectors to stay orthogonal to are skipped if their norm², or that of the part outside the earlier ones, is below this.
const NEXT_TO_NOTHING: f64 = 1e-20;
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
}

impl DeviceDavidson {
    pub(crate) fn new(device: &Device, pool: &Arc<Pool>) -> Result<DeviceDavidson, DeviceError> {
        let plan = DavidsonPlan { warp: device.warp(), ..DavidsonPlan::new(FAMILY) };
        Ok(DeviceDavidson {
            device: device.clone(),
            kernel: device.compile(&plan.text()?)?,
            small: device.zeros(plan.small())?,
            numbers: device.zeros(SMALL_NUMBERS)?,
            partials: device.zeros(plan.partials())?,
            arrived: device.buffer(&[0u32])?,
            pool: pool.clone(),
            plan,
            planned: None,
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
        multiply: &mut Multiply<'_>,
        diagonal: &PoolBuffer,
        vector: &mut PoolBuffer,
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<DavidsonResult, BackendError> {
        let n = vector.len();
        let stride = n.next_multiple_of(32);
        let columns = self.columns(n, stride, against.len());
        // V and W of the previous solve, if they are long enough and still parked.
        let [mut v, w] = match self.pool.unpark().filter(|[v, _]| v.len() >= columns * stride) {
            Some(held) => held,
            None => {
                let elements = self.planned.map_or(0, |(_, elements)| elements).max(columns * stride);
                [self.pool.take(elements)?, self.pool.take(elements)?]
            }
        };
        let empty = Extent { n, stride, width: 0, below: 0 };
        let below = self.place_below(empty, &mut v, against)?;
        self.begin_column(Extent { width: below, ..empty }, &mut v, vector)?;
        let most = columns.saturating_sub(below);
        let mut basis = DeviceBasis { kernels: self, multiply, diagonal, vector, v, w, n, stride, below, most };
        let found = search(&mut basis, limits)?;
        let DeviceBasis { v, w, .. } = basis;
        self.pool.park([v, w]);
        Ok(found)
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
            self.begin_column(Extent { width: placed, ..empty }, v, &mut vector.duplicate()?)?;
            let numbers = self.numbers.download()?;
            let (nothing_left, before, after) = (numbers[3] != 0.0, numbers[4], numbers[5]);
            if !nothing_left && after > NEXT_TO_NOTHING.max(NEXT_TO_NOTHING * before) {
                placed += 1;
            }
        }
        Ok(placed)
    }

    /// Orthonormalises a vector with unknown overlaps twice and appends it to the basis.
    fn begin_column(&mut self, extent: Extent, v: &mut PoolBuffer, vector: &mut PoolBuffer) -> Result<(), DeviceError> {
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
        self.kernel.launch(&self.plan.launch("projected", extent)?, behind(arguments, extent))
    }

    fn correct(
        &mut self,
        extent: Extent,
        v: &PoolBuffer,
        w: &PoolBuffer,
        diagonal: &PoolBuffer,
        correction: &mut PoolBuffer,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .read("products", w.vector())
            .read("diagonal", diagonal.vector())
            .write("correction", correction.vector_mut())
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("corrected", extent)?, behind(arguments, extent))
    }

    fn restart(&mut self, extent: Extent, v: &mut PoolBuffer, w: &mut PoolBuffer) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .write("products", w.vector_mut())
            .write("small", &mut self.small)
            .read("numbers", &self.numbers)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("restarted", extent)?, behind(arguments, extent))
    }

    fn orthogonalise(
        &mut self,
        extent: Extent,
        v: &PoolBuffer,
        correction: &mut PoolBuffer,
    ) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .write("correction", correction.vector_mut())
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("orthogonalised", extent)?, ended(arguments, extent))
    }

    fn append(&mut self, extent: Extent, v: &mut PoolBuffer, correction: &PoolBuffer) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .read("correction", correction.vector())
            .read("small", &self.small)
            .write("numbers", &mut self.numbers);
        self.kernel.launch(&self.plan.launch("appended", extent)?, ended(arguments, extent))
    }

    fn combine(&mut self, extent: Extent, v: &PoolBuffer, vector: &mut PoolBuffer) -> Result<(), DeviceError> {
        let arguments =
            Arguments::new().read("basis", v.vector()).write("vector", vector.vector_mut()).read("small", &self.small);
        self.kernel.launch(&self.plan.launch("combined", extent)?, behind(arguments, extent))
    }
}

/// One solve.
struct DeviceBasis<'a, 'm> {
    kernels: &'a mut DeviceDavidson,
    multiply: &'a mut Multiply<'m>,
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
    fn own(&self, width: usize) -> Extent {
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
        Ok(self.multiply.run(&self.v, from, &mut self.w, to)?)
    }

    fn iterate(&mut self, width: usize, next: Next, _: DavidsonLimits) -> Result<Iteration, BackendError> {
        let (own, mut all) = (self.own(width), self.all(width));
        let DeviceBasis { kernels, v, w, diagonal, vector, .. } = self;
        let vectors = kernels.device.span("dmrg", "vectors of Davidson");
        kernels.project(own, v, w)?;
        kernels.correct(own, v, w, diagonal, vector)?;
        if next == Next::Restart {
            kernels.restart(own, v, w)?;
            all.width = own.below + 2;
        }
        if next != Next::Nothing {
            kernels.orthogonalise(all, v, vector)?;
            kernels.append(all, v, vector)?;
        }
        drop(vectors);
        let _waiting = trace::span("dmrg", "wait for the device");
        let numbers = kernels.numbers.download()?;
        Ok(Iteration { value: numbers[0], residual: numbers[2].sqrt(), exhausted: numbers[3] != 0.0 })
    }

    fn finish(&mut self, width: usize) -> Result<(), BackendError> {
        let own = self.own(width);
        Ok(self.kernels.combine(own, &self.v, self.vector)?)
    }
}

fn ended(arguments: Arguments<'_>, extent: Extent) -> Arguments<'_> {
    arguments.i64("n", extent.n as i64).i64("stride", extent.stride as i64).i32("width", extent.width as i32)
}

/// The arguments of kernels that also need the number of columns below.
fn behind(arguments: Arguments<'_>, extent: Extent) -> Arguments<'_> {
    ended(arguments, extent).i32("below", extent.below as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::test_device;
    use crate::dense::{View, eigen};
    use crate::records::card::{DeviceBuffers, Multiplier, Products};
    use crate::records::{
        Action, CpuShare, Operand, OperandSpace, Record, RecordGroup, RecordStage, Strategy, TwoStages,
    };
    use crate::residency::MemoryLimits;
    use crate::seeded::vector;

    /// A random symmetric matrix with a diagonal that grows, as one record.
    fn problem(n: usize, seed: u64) -> (Vec<f64>, TwoStages) {
        let random = vector(n * n, seed);
        let element = |k: usize| {
            let (i, j) = (k % n, k / n);
            0.5 * (random[i + j * n] + random[j + i * n]) + if i == j { 0.3 * i as f64 } else { 0.0 }
        };
        let operand = |space, stride| Operand { space, offset: 0, stride, transposed: false };
        let action =
            Action::Product { a: operand(OperandSpace::Left, n), b: operand(OperandSpace::Input, n), inner: n };
        let record = Record { action, coefficient: 1.0, first: 0, stride: n, rows: n, columns: 1 };
        let group = RecordGroup { offset: 0, length: n, records: vec![record] };
        let product =
            TwoStages { first: RecordStage::default(), second: RecordStage { groups: vec![group], length: n } };
        ((0..n * n).map(element).collect(), product)
    }

    fn solve(n: usize, seed: u64, width: usize, limits: DavidsonLimits) -> (DavidsonResult, Vec<f64>, Vec<f64>) {
        solve_against(n, seed, width, limits, |_| Vec::new())
    }

    /// Orthogonal to what `against` makes of the matrix; the basis is poisoned.
    fn solve_against(
        n: usize,
        seed: u64,
        width: usize,
        limits: DavidsonLimits,
        against: impl Fn(&[f64]) -> Vec<Vec<f64>>,
    ) -> (DavidsonResult, Vec<f64>, Vec<f64>) {
        let device = test_device().expect("tests ask before");
        let (a, product) = problem(n, seed);
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let mut davidson = DeviceDavidson::new(&device, &pool).unwrap();
        let plan = DavidsonPlan { width, warp: device.warp(), ..DavidsonPlan::new("test") };
        (davidson.kernel, davidson.small) =
            (device.compile(&plan.text().unwrap()).unwrap(), device.zeros(plan.small()).unwrap());
        davidson.plan = plan;
        let products = Products::new(&device).unwrap();
        let matrix = pool.upload(&a).unwrap();
        let diagonal = pool.upload(&(0..n).map(|i| a[i * (n + 1)]).collect::<Vec<_>>()).unwrap();
        let mut x = pool.upload(&vector(n, 9)).unwrap();
        let buffers = DeviceBuffers::default().with(OperandSpace::Left, matrix.vector());
        let multiplier = Multiplier::new(&device, &products, Strategy::Planned, CpuShare::default()).unwrap();
        let mut multiply = multiplier.prepare(&product, buffers, &pool).unwrap();
        let against: Vec<PoolBuffer> = against(&a).iter().map(|vector| pool.upload(vector).unwrap()).collect();
        let poison = vec![f64::NAN; width * n.next_multiple_of(32)];
        pool.park([pool.upload(&poison).unwrap(), pool.upload(&poison).unwrap()]);
        let found =
            davidson.solve(&mut multiply, &diagonal, &mut x, limits, &against.iter().collect::<Vec<_>>()).unwrap();
        (found, x.download().unwrap(), a)
    }

    #[test]
    fn the_lowest_pair_of_random_matrices_also_across_restarts() {
        if test_device().is_none() {
            return;
        }
        for (n, seed, width) in [(1, 1, 20), (2, 2, 20), (7, 3, 20), (60, 4, 6)] {
            let (found, x, a) = solve(n, seed, width, DavidsonLimits { tolerance: 1e-8, products: 200 });
            let (values, _) = eigen(View::whole(&a, n, n)).unwrap();
            assert!((found.value - values[0]).abs() < 1e-12 * n as f64, "n = {n}: {found:?}, {}", values[0]);
            let norm: f64 = x.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-12, "n = {n}: {norm}");
            let residual = (0..n).map(|i| (0..n).map(|j| a[i + j * n] * x[j]).sum::<f64>() - found.value * x[i]);
            let residual = residual.map(|r| r * r).sum::<f64>().sqrt();
            assert!(residual < 2e-8, "n = {n}: {residual}");
            assert!(n < 50 || found.products > width, "the largest case is meant to restart: {found:?}");
        }
    }

    /// References that are neither orthogonal nor normalised, one of them twice and one next to nothing; narrow bases restart.
    #[test]
    fn the_lowest_pair_orthogonal_to_given_vectors() {
        if test_device().is_none() {
            return;
        }
        for (n, seed, width, below) in [(3, 11, 20, 1), (9, 12, 20, 4), (50, 13, 20, 3), (50, 14, 8, 2)] {
            let references = |a: &[f64]| {
                let (_, vectors) = eigen(View::whole(a, n, n)).unwrap();
                let column = |k: usize| (0..n).map(|i| vectors[(i, k)]).collect::<Vec<f64>>();
                let mut list: Vec<Vec<f64>> = (0..below)
                    .map(|k| column(k).iter().zip(column(0)).map(|(x, y)| 0.3 * x + 0.4 * y).collect())
                    .collect();
                list.push(column(0).iter().map(|x| -2.0 * x).collect());
                list.push(vector(n, 77).iter().map(|x| 1e-13 * x).collect());
                list
            };
            let limits = DavidsonLimits { tolerance: 1e-8, products: 200 };
            let (found, x, a) = solve_against(n, seed, width, limits, references);
            let (values, vectors) = eigen(View::whole(&a, n, n)).unwrap();
            let error = (found.value - values[below]).abs();
            assert!(error < 1e-12 * n as f64, "n = {n}: {found:?} is not {}", values[below]);
            for k in 0..below {
                let overlap: f64 = (0..n).map(|i| vectors[(i, k)] * x[i]).sum();
                assert!(overlap.abs() < 1e-9, "n = {n}: {overlap} of state {k}");
            }
            let norm: f64 = x.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-12, "n = {n}: {norm}");
            assert!(width > 8 || found.products > width, "the narrow basis is meant to restart: {found:?}");
        }
    }

    #[test]
    fn it_stops_at_its_number_of_products_and_says_how_far_it_came() {
        if test_device().is_none() {
            return;
        }
        let (found, ..) = solve(40, 6, 20, DavidsonLimits { tolerance: 1e-12, products: 5 });
        assert_eq!(found.products, 5);
        assert!(found.residual > 1e-12);
    }

    #[test]
    fn inner_products_of_a_part_of_the_memory() {
        let Some(device) = test_device() else { return };
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let mut davidson = DeviceDavidson::new(&device, &pool).unwrap();
        for n in [1, 255, 3000] {
            let (x, y) = (vector(n, 1), vector(n, 2));
            let expected: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let (mut held, y) = (pool.upload(&vec![f64::NAN; n + 64]).unwrap(), pool.upload(&y).unwrap());
            held.vector_mut().write_first(&x).unwrap();
            let found = davidson.inner(&held, &y).unwrap();
            assert!((found - expected).abs() < 1e-12 * n as f64, "{n}: {found} is not {expected}");
        }
    }
}
