//! Davidson's method with V, W and the small problem on the device, by generated kernels.
//!
//! In: the records of H, its diagonal, ψ. Out: ψ replaced by the eigenvector. The same steps as on the
//! [host](crate::dmrg::davidson); an iteration is the two launches of the product and four more, and what comes back is
//! λ, ‖r‖² and whether a correction was left. The correction of an iteration that turns out to be the last is made in
//! vain: that is cheaper than to wait before it.

use super::super::davidson::{Found, Limits};
use super::super::device::{DeviceBuffers, Products};
use super::super::records::Space;
use super::super::superblock::Superblock;
use super::{Held, Pool};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, Vector};
use eigenforge_templates::eigen::{DavidsonPlan, Extent, SMALL_NUMBERS};
use std::sync::Arc;

/// Least vectors of a basis: the two of a restart, and one to go on with.
const NARROWEST: usize = 4;
/// Part of what is left of the memory that V and W may take together.
const SHARE: f64 = 0.5;

/// The compiled kernels and their memory.
pub(super) struct Davidson {
    pool: Arc<Pool>,
    kernel: Kernel,
    plan: DavidsonPlan,
    small: Vector<f64>,
    numbers: Vector<f64>,
    partials: Vector<f64>,
    arrived: Buffer<u32>,
    /// Basis vectors by the memory plan, if there is one.
    planned: Option<usize>,
    /// Bytes of V and W at the fullest bond of the plan.
    planned_bytes: u64,
    /// V and W; let go of between runs.
    vectors: Option<[Held; 2]>,
}

impl Davidson {
    pub(super) fn new(device: &Device, pool: &Arc<Pool>) -> Result<Davidson, DeviceError> {
        let plan = DavidsonPlan::new("dmrg");
        Ok(Davidson {
            kernel: device.compile(&plan.text()?)?,
            small: device.zeros(plan.small())?,
            numbers: device.zeros(SMALL_NUMBERS)?,
            partials: device.zeros(plan.partials())?,
            arrived: device.buffer(&[0u32])?,
            pool: pool.clone(),
            plan,
            planned: None,
            planned_bytes: 0,
            vectors: None,
        })
    }

    /// Takes so many basis vectors from now on.
    pub(super) fn hold_to(&mut self, width: usize, bytes: u64) {
        self.planned = Some(width.min(self.plan.width));
        self.planned_bytes = bytes;
    }

    /// By how many bytes V and W are shorter than they will be by the plan.
    pub(super) fn to_come(&self) -> u64 {
        let here = self.vectors.iter().flatten().map(|held| 8 * held.vector().len() as u64).sum();
        self.planned_bytes.saturating_sub(here)
    }

    /// Lets go of V and W.
    pub(super) fn release(&mut self) {
        self.vectors = None;
    }

    /// x · y.
    pub(super) fn inner(&mut self, x: &Held, y: &Held) -> Result<f64, DeviceError> {
        let n = x.len().min(y.len());
        if n == 0 {
            return Ok(0.0);
        }
        let launch = self.plan.launch("inner", Extent { n, stride: n, width: 1 })?;
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

    /// Basis vectors that fit beside what is there, `stride` elements each; shorter ones of a bond before are let go.
    fn width(&mut self, n: usize, stride: usize) -> usize {
        let most = self.planned.unwrap_or(self.plan.width).min(n).max(1);
        if self.vectors.as_ref().is_some_and(|[v, _]| v.vector().len() >= most * stride) {
            return most;
        }
        self.vectors = None;
        if self.planned.is_some() {
            return most;
        }
        let free = SHARE * self.pool.limit().saturating_sub(self.pool.held()) as f64;
        let fits = (free / (16.0 * stride as f64)) as usize;
        fits.clamp(NARROWEST.min(most), most)
    }

    /// Replaces ψ by the lowest eigenvector of the superblock.
    pub(super) fn solve(
        &mut self,
        products: &Products,
        superblock: &Superblock,
        buffers: DeviceBuffers<'_>,
        diagonal: &Held,
        wave: &mut Held,
        limits: Limits,
    ) -> Result<Found, DeviceError> {
        let n = wave.len();
        let stride = n.next_multiple_of(32);
        let most = self.width(n, stride);
        let [mut v, mut w] = match self.vectors.take() {
            Some(held) => held,
            None => [self.pool.take_exactly(most * stride)?, self.pool.take_exactly(most * stride)?],
        };
        let (first, second) = (products.prepare(&superblock.first)?, products.prepare(&superblock.second)?);
        let mut between = self.pool.take(superblock.first.length)?;
        let mut found = Found { value: f64::NAN, residual: f64::INFINITY, products: 0 };
        let at = |width| Extent { n, stride, width };
        let mut width = 0;
        self.orthogonalise(at(0), &v, wave)?;
        self.append(at(0), &mut v, wave)?;
        loop {
            let input = buffers.with_from(Space::Input, v.vector(), width * stride);
            if superblock.first.length > 0 {
                products.run(&first, &input, between.vector_mut())?;
            }
            let input = input.with(Space::Between, between.vector());
            products.run_into(&second, &input, w.vector_mut(), width * stride)?;
            (found.products, width) = (found.products + 1, width + 1);
            self.project(at(width), &v, &w)?;
            self.correct(at(width), &v, &w, diagonal, wave)?;
            let mut ritz = width;
            let room = width < n && found.products < limits.products;
            if room {
                if width >= most {
                    self.restart(at(width), &mut v, &mut w)?;
                    width = 2;
                    ritz = 2;
                }
                self.orthogonalise(at(width), &v, wave)?;
                self.append(at(width), &mut v, wave)?;
            }
            let numbers = self.numbers.download()?;
            (found.value, found.residual) = (numbers[0], numbers[2].sqrt());
            let nothing_left = numbers[3] != 0.0;
            let settled = found.residual <= limits.tolerance || !found.residual.is_finite();
            if settled || !room || nothing_left {
                self.combine(at(ritz), &v, wave)?;
                self.vectors = Some([v, w]);
                return Ok(found);
            }
        }
    }

    fn project(&mut self, extent: Extent, v: &Held, w: &Held) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .read("products", w.vector())
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("projected", extent)?, ended(arguments, extent))
    }

    fn correct(
        &mut self,
        extent: Extent,
        v: &Held,
        w: &Held,
        diagonal: &Held,
        correction: &mut Held,
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
        self.kernel.launch(&self.plan.launch("corrected", extent)?, ended(arguments, extent))
    }

    fn restart(&mut self, extent: Extent, v: &mut Held, w: &mut Held) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .write("products", w.vector_mut())
            .write("small", &mut self.small)
            .read("numbers", &self.numbers)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("restarted", extent)?, ended(arguments, extent))
    }

    fn orthogonalise(&mut self, extent: Extent, v: &Held, correction: &mut Held) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .read("basis", v.vector())
            .write("correction", correction.vector_mut())
            .write("small", &mut self.small)
            .write("numbers", &mut self.numbers)
            .write("partials", &mut self.partials)
            .write("arrived", &mut self.arrived);
        self.kernel.launch(&self.plan.launch("orthogonalised", extent)?, ended(arguments, extent))
    }

    fn append(&mut self, extent: Extent, v: &mut Held, correction: &Held) -> Result<(), DeviceError> {
        let arguments = Arguments::new()
            .write("basis", v.vector_mut())
            .read("correction", correction.vector())
            .read("small", &self.small)
            .write("numbers", &mut self.numbers);
        self.kernel.launch(&self.plan.launch("appended", extent)?, ended(arguments, extent))
    }

    fn combine(&mut self, extent: Extent, v: &Held, vector: &mut Held) -> Result<(), DeviceError> {
        let arguments =
            Arguments::new().read("basis", v.vector()).write("vector", vector.vector_mut()).read("small", &self.small);
        self.kernel.launch(&self.plan.launch("combined", extent)?, ended(arguments, extent))
    }
}

fn ended(arguments: Arguments<'_>, extent: Extent) -> Arguments<'_> {
    arguments.i64("n", extent.n as i64).i64("stride", extent.stride as i64).i32("width", extent.width as i32)
}

#[cfg(test)]
mod tests {
    use super::super::super::dense::{View, eigen};
    use super::super::super::records::{Action, Group, Operand, Record, Stage};
    use super::super::{Limits as MemoryLimits, test_device};
    use super::*;
    use crate::bench::seeded::vector;

    /// A random symmetric matrix with a diagonal that grows, as one record.
    fn problem(n: usize, seed: u64) -> (Vec<f64>, Superblock) {
        let random = vector(n * n, seed);
        let element = |k: usize| {
            let (i, j) = (k % n, k / n);
            0.5 * (random[i + j * n] + random[j + i * n]) + if i == j { 0.3 * i as f64 } else { 0.0 }
        };
        let operand = |space, stride| Operand { space, offset: 0, stride, transposed: false };
        let action = Action::Product { a: operand(Space::Left, n), b: operand(Space::Input, n), inner: n };
        let record = Record { action, coefficient: 1.0, first: 0, stride: n, rows: n, columns: 1 };
        let group = Group { offset: 0, length: n, records: vec![record] };
        let superblock = Superblock { first: Stage::default(), second: Stage { groups: vec![group], length: n } };
        ((0..n * n).map(element).collect(), superblock)
    }

    fn solve(n: usize, seed: u64, width: usize, limits: Limits) -> (Found, Vec<f64>, Vec<f64>) {
        let device = test_device();
        let (a, superblock) = problem(n, seed);
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let mut davidson = Davidson::new(&device, &pool).unwrap();
        let plan = DavidsonPlan { width, ..DavidsonPlan::new("test") };
        (davidson.kernel, davidson.small) =
            (device.compile(&plan.text().unwrap()).unwrap(), device.zeros(plan.small()).unwrap());
        davidson.plan = plan;
        let products = Products::new(&device).unwrap();
        let matrix = pool.upload(&a).unwrap();
        let diagonal = pool.upload(&(0..n).map(|i| a[i * (n + 1)]).collect::<Vec<_>>()).unwrap();
        let mut x = pool.upload(&vector(n, 9)).unwrap();
        let buffers = DeviceBuffers::default().with(Space::Left, matrix.vector());
        let found = davidson.solve(&products, &superblock, buffers, &diagonal, &mut x, limits).unwrap();
        (found, x.download().unwrap(), a)
    }

    #[test]
    fn the_lowest_pair_of_random_matrices_also_across_restarts() {
        for (n, seed, width) in [(1, 1, 20), (2, 2, 20), (7, 3, 20), (60, 4, 6)] {
            let (found, x, a) = solve(n, seed, width, Limits { tolerance: 1e-8, products: 200 });
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

    #[test]
    fn it_stops_at_its_number_of_products_and_says_how_far_it_came() {
        let (found, ..) = solve(40, 6, 20, Limits { tolerance: 1e-12, products: 5 });
        assert_eq!(found.products, 5);
        assert!(found.residual > 1e-12);
    }

    #[test]
    fn inner_products_of_a_part_of_the_memory() {
        let device = test_device();
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let mut davidson = Davidson::new(&device, &pool).unwrap();
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
