//! Eigenvectors of many symmetric matrices on a device at once.
//!
//! In: symmetric matrices inside one buffer. Out: their eigenvectors in place, eigenvalues on the host. Matrices of up to
//! [`EigenpairsPlan::most`] rows go through the generated launches together; longer ones through those of a [second
//! plan](EigenpairsPlan::long), compiled when first needed; still longer ones go to the library, whose launches one such
//! matrix fills. Eigenvalues are accurate to the rounding of the largest of their matrix. What matters of a long positive matrix
//! may have fewer columns: [`PivotedCholesky`].

use crate::device::{Arguments, Buffer, Device, Eigensolver, Kernel, SymmetricMatrix, Vector};
use crate::error::DeviceError;
use crate::records::card::{FAMILY, Tables};
use crate::residency::{Pool, PoolBuffer, locked};
use eigenforge_templates::eigen::{
    CardLimits, EigenpairsLaunches, EigenpairsPlan, PivotedCholeskyLaunch, PivotedCholeskyPlan, PositiveMatrix,
    SymmetricRows, resident_rows,
};
use eigenforge_templates::{KernelText, TextError};
use std::sync::{Arc, Mutex};

/// Rows that a block keeps without a card, and its shared memory.
const SIMULATED_ROWS: usize = 64;
const SIMULATED_BYTES: usize = 227 << 10;
/// Initial number of matrices with counters.
const LEAST_MATRICES: usize = 256;

/// The kernels and the library.
pub(super) struct Decomposer {
    device: Device,
    few: Generated,
    /// The plan for longer matrices, compiled on demand.
    long: EigenpairsPlan,
    long_kernel: Mutex<Option<Kernel>>,
    /// The plan for factors, compiled on demand.
    cholesky: PivotedCholeskyPlan,
    cholesky_kernel: Mutex<Option<Kernel>>,
    card: CardLimits,
    eigensolver: Eigensolver,
    tables: Tables,
    /// Per matrix, the number of blocks that have finished a column; zero between calls.
    arrived: Mutex<Buffer<u32>>,
}

/// A plan and its kernels.
struct Generated {
    kernel: Kernel,
    plan: EigenpairsPlan,
}

/// The result for one matrix.
pub struct MatrixSpectrum {
    /// Eigenvalues, descending.
    pub values: Vec<f64>,
    /// Whether its vectors are nevertheless in ascending order.
    pub ascending: bool,
}

/// Factors of positive matrices A = L Lᵀ + R by Cholesky's method with pivots.
pub struct PivotedCholesky {
    /// The factors, each stored by rows.
    pub data: PoolBuffer,
    /// The place of each.
    pub factors: Vec<CholeskyFactor>,
}

/// One factor, as columns: a matrix of `columns` × rows of A is Lᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CholeskyFactor {
    /// Its first element.
    pub offset: usize,
    /// Elements from one row of L to the next: the most columns that it could have.
    pub stride: usize,
    /// Columns of L.
    pub columns: usize,
    /// The largest diagonal element of R.
    pub rest: f64,
}

/// Elements of symmetric matrices with these numbers of rows, including the workspace of their decomposition.
pub fn workspace(rows: impl Iterator<Item = usize>) -> usize {
    rows.map(|rows| rows * rows + EigenpairsPlan::work(rows)).sum()
}

impl Decomposer {
    pub(super) fn new(device: &Device, eigensolver: Eigensolver) -> Result<Decomposer, DeviceError> {
        let [plan, long] = [EigenpairsPlan::new(FAMILY), EigenpairsPlan::long(FAMILY)]
            .map(|plan| EigenpairsPlan { warp: device.warp(), ..plan });
        let card = match device {
            Device::Cuda(cuda) => {
                let shared_bytes = cuda.shared_bytes_per_block()? as usize;
                let multiprocessors = cuda.multiprocessors() as usize;
                CardLimits { resident: resident_rows(shared_bytes), shared_bytes, multiprocessors }
            }
            Device::Cpu(_) | Device::Sim(_) => {
                CardLimits { resident: SIMULATED_ROWS, shared_bytes: SIMULATED_BYTES, multiprocessors: 0 }
            }
        };
        let arrived = Mutex::new(device.buffer(&[0; LEAST_MATRICES])?);
        let few = Generated { kernel: device.compile(&plan.text()?)?, plan };
        let tables = Tables::new(device);
        let cholesky = PivotedCholeskyPlan { warp: device.warp(), ..PivotedCholeskyPlan::new(FAMILY) };
        let (device, long_kernel, cholesky_kernel) = (device.clone(), Mutex::default(), Mutex::default());
        Ok(Decomposer { device, few, long, long_kernel, cholesky, cholesky_kernel, card, eigensolver, tables, arrived })
    }

    /// Replaces symmetric matrices, given by first element and rows, by their eigenvectors.
    pub(super) fn decompose(
        &self,
        pool: &Arc<Pool>,
        matrices: &mut Vector<f64>,
        list: &[(usize, usize)],
    ) -> Result<Vec<MatrixSpectrum>, DeviceError> {
        let mut at = 0;
        let place = |(_, rows): &(usize, usize)| {
            at += rows;
            at - rows
        };
        let firsts: Vec<usize> = list.iter().map(place).collect();
        let mut values = pool.take(at)?;
        let Decomposer { few, long, card, .. } = self;
        let generated = |rows: usize| few.plan.takes(rows, *card) || long.takes(rows, *card);
        let (mut short, mut longer, mut many) = (Vec::new(), Vec::new(), Vec::new());
        for ((first, rows), values) in list.iter().copied().zip(firsts.iter().copied()) {
            match rows {
                _ if few.plan.takes(rows, *card) => short.push(SymmetricRows { first, rows, values }),
                _ if generated(rows) => longer.push(SymmetricRows { first, rows, values }),
                size => many.push(SymmetricMatrix { first, size, values }),
            }
        }
        self.generated(pool, few, &short, matrices, &mut values)?;
        if !longer.is_empty() {
            self.generated(pool, &self.long()?, &longer, matrices, &mut values)?;
        }
        if !many.is_empty() {
            self.eigensolver.solve(&many, matrices, values.vector_mut())?;
        }
        let values = values.download()?;
        let spectrum = |((_, rows), first): (&(usize, usize), &usize)| {
            let (mut values, ascending) = (values[*first..][..*rows].to_vec(), !generated(*rows));
            if ascending {
                values.reverse();
            }
            match values.iter().all(|value| value.is_finite()) {
                true => Ok(MatrixSpectrum { values, ascending }),
                false => Err(not_finite(*rows)),
            }
        };
        list.iter().zip(&firsts).map(spectrum).collect()
    }

    /// Whether a matrix of this many rows can have a factor of up to this many columns.
    pub(super) fn factorises(&self, rows: usize, most: usize) -> bool {
        self.cholesky.takes(rows, most, self.card.shared_bytes)
    }

    /// The factors of positive matrices, given by first element, rows and most columns of the factor: up to a rest with no diagonal
    /// element above `least`, or rounding.
    pub(super) fn factorise(
        &self,
        pool: &Arc<Pool>,
        matrices: &Vector<f64>,
        list: &[(usize, usize, usize)],
        least: f64,
    ) -> Result<PivotedCholesky, DeviceError> {
        let (mut length, mut places) = (0, Vec::with_capacity(list.len()));
        for &(first, rows, most) in list {
            let stride = PivotedCholeskyPlan::stride(most);
            places.push(PositiveMatrix { first, rows, factor: length, stride });
            length += rows * stride;
        }
        let (mut data, mut columns) = (pool.take(length)?, Vec::with_capacity(list.len()));
        let kernel = self.compiled(&self.cholesky_kernel, || self.cholesky.text())?;
        let multiprocessors = self.card.multiprocessors;
        for places in places.chunks(self.cholesky.together(multiprocessors)) {
            let PivotedCholeskyLaunch { table, work, launch, first } =
                self.cholesky.launch(places, multiprocessors, matrices.len(), length)?;
            let (table, mut work) = (self.tables.upload(&table)?, pool.take(work)?);
            let mut found = pool.take(2 * places.len())?;
            let mut arrived = locked(&self.arrived);
            self.count_for(&mut arrived, 2 * places.len())?;
            let arguments = Arguments::new().read("matrices", matrices).read("table", &*table);
            let arguments = arguments.write("factors", data.vector_mut()).write("candidates", work.vector_mut());
            let arguments = arguments.write("found", found.vector_mut()).write("arrived", &mut *arrived);
            kernel.launch(&launch, arguments.i64("first", first).f64("least", least))?;
            columns.extend(found.download()?.as_chunks::<2>().0.iter().copied());
        }
        let factor = |(place, [columns, rest]): (&PositiveMatrix, [f64; 2])| match rest.is_finite() {
            true => Ok(CholeskyFactor { offset: place.factor, stride: place.stride, columns: columns as usize, rest }),
            false => Err(not_finite(place.rows)),
        };
        let factors = places.iter().zip(columns).map(factor).collect::<Result<_, _>>()?;
        Ok(PivotedCholesky { data, factors })
    }

    /// A kernel that is compiled when it is first needed.
    fn compiled(
        &self,
        held: &Mutex<Option<Kernel>>,
        text: impl FnOnce() -> Result<KernelText, TextError>,
    ) -> Result<Kernel, DeviceError> {
        let mut held = locked(held);
        Ok(match &*held {
            Some(kernel) => kernel.clone(),
            None => held.insert(self.device.compile(&text()?)?).clone(),
        })
    }

    /// The plan of long matrices, compiled.
    fn long(&self) -> Result<Generated, DeviceError> {
        let kernel = self.compiled(&self.long_kernel, || self.long.text())?;
        Ok(Generated { kernel, plan: self.long.clone() })
    }

    /// Makes room for this many counters, which are zero.
    fn count_for(&self, arrived: &mut Buffer<u32>, counters: usize) -> Result<(), DeviceError> {
        if arrived.len() < counters {
            *arrived = self.device.buffer(&vec![0; counters.next_power_of_two()])?;
        }
        Ok(())
    }

    /// Queues the generated launches.
    fn generated(
        &self,
        pool: &Arc<Pool>,
        by: &Generated,
        list: &[SymmetricRows],
        matrices: &mut Vector<f64>,
        values: &mut PoolBuffer,
    ) -> Result<(), DeviceError> {
        if list.is_empty() {
            return Ok(());
        }
        let EigenpairsLaunches { table, work, steps } =
            by.plan.launches(list, self.card, matrices.len(), values.len())?;
        let mut work = pool.take(work)?;
        let table = self.tables.upload(&table)?;
        let mut arrived = locked(&self.arrived);
        self.count_for(&mut arrived, list.len())?;
        for step in &steps {
            let mut arguments = Arguments::new();
            if step.launch.entry != "merged" && step.launch.entry != "updated" {
                arguments = arguments.write("matrices", &mut *matrices);
            }
            arguments = arguments.read("table", &*table).write("work", work.vector_mut());
            if step.launch.entry == "reduced" || step.launch.entry == "tridiagonal" {
                arguments = arguments.write("arrived", &mut *arrived);
            }
            if step.launch.entry == "transformed" {
                arguments = arguments.write("values", values.vector_mut());
            }
            let arguments = step.numbers.iter().fold(arguments, |all, (name, number)| all.i64(name, *number));
            by.kernel.launch(&step.launch, arguments)?;
        }
        Ok(())
    }
}

fn not_finite(rows: usize) -> DeviceError {
    DeviceError::Library {
        library: "eigenforge",
        call: "eigenvectors of symmetric matrices",
        message: format!("a matrix of {rows} x {rows} has no decomposition: is it finite?"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_device;
    use super::*;
    use crate::dense::{View, eigen};
    use crate::residency::MemoryLimits;
    use crate::seeded::vector;
    use crate::simulate::Schedule;
    use crate::testing::simulated_with_warps_of;

    /// A Aᵀ with columns of A that fall by 10^(−decades / n) each.
    fn graded(n: usize, decades: f64, seed: u64) -> Vec<f64> {
        let mut a = vector(n * n, seed);
        a.iter_mut().enumerate().for_each(|(e, x)| *x *= 10f64.powf(-decades * (e / n) as f64 / n as f64));
        product(&a, &a, n)
    }

    /// A Bᵀ.
    fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        let element = |e: usize| (0..n).map(|k| a[e % n + k * n] * b[e / n + k * n]).sum();
        (0..n * n).map(element).collect()
    }

    /// Matrices of one size: random, graded over 16 decades, over 40, of rank 2, with eigenvalues 1 and 1/2 many times each, of
    /// tiny size, diagonal, zero.
    fn cases(n: usize, seed: u64) -> Vec<(&'static str, Vec<f64>)> {
        let random = vector(n * n, seed);
        let symmetric: Vec<f64> = (0..n * n).map(|e| random[e] + random[e / n + e % n * n]).collect();
        let rank = |e: usize| random[e % n] * random[e / n] + random[n * n - 1 - e % n] * random[n * n - 1 - e / n];
        // 1 − v vᵀ / (v·v) / 2.
        let square: f64 = random[..n].iter().map(|x| x * x).sum();
        let unit = |e: usize| if e % n == e / n { 1.0 } else { 0.0 };
        let reflected = |e: usize| unit(e) - 0.5 * random[e % n] * random[e / n] / square;
        let density = graded(n, 8.0, seed + 1);
        vec![
            ("random", symmetric),
            ("graded", density.clone()),
            ("steep", graded(n, 20.0, seed + 2)),
            ("rank 2", (0..n * n).map(rank).collect()),
            ("degenerate", (0..n * n).map(reflected).collect()),
            ("tiny", density.iter().map(|x| 1e-40 * x).collect()),
            ("diagonal", (0..n * n).map(|e| unit(e) * (e % 3) as f64).collect()),
            ("zero", vec![0.0; n * n]),
        ]
    }

    /// Largest errors of a decomposition, relative to the largest eigenvalue: of eigenvalues against faer's, of A x − λ
    /// x, and of orthogonality.
    fn errors(a: &[f64], n: usize, values: &[f64], vectors: &[f64]) -> [f64; 3] {
        // faer's eigenvalues of matrices of size 1e-40 are accurate only to 1e-9.
        let scale = a.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let unit: Vec<f64> = a.iter().map(|x| x / scale).collect();
        let (mut expected, _) = eigen(View::new(&unit, n, n)).unwrap();
        expected.reverse();
        expected.iter_mut().for_each(|x| *x *= scale);
        let largest = expected.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let mut found = [0.0f64; 3];
        let mut note = |kind: usize, error: f64| found[kind] = if error <= found[kind] { found[kind] } else { error };
        for k in 0..n {
            let x = &vectors[k * n..][..n];
            note(0, (values[k] - expected[k]).abs() / largest);
            for i in 0..n {
                let ax: f64 = (0..n).map(|j| a[i + j * n] * x[j]).sum();
                note(1, (ax - values[k] * x[i]).abs() / largest);
            }
            for l in 0..=k {
                let overlap: f64 = x.iter().zip(&vectors[l * n..][..n]).map(|(a, b)| a * b).sum();
                note(2, (overlap - if l == k { 1.0 } else { 0.0 }).abs());
            }
        }
        found
    }

    /// A decomposer, and the memory of its matrices.
    struct Case {
        decomposer: Decomposer,
        pool: Arc<Pool>,
    }

    fn case(device: &Device) -> Case {
        let eigensolver = Eigensolver::new(device).unwrap();
        let pool = Pool::new(device, MemoryLimits::tiny(1 << 30)).unwrap();
        Case { decomposer: Decomposer::new(device, eigensolver).unwrap(), pool }
    }

    fn check(Case { decomposer, pool }: &Case, sizes: &[usize], seed: u64) {
        let (mut data, mut list, mut all) = (vec![f64::NAN; 5], Vec::new(), Vec::new());
        for (k, n) in sizes.iter().enumerate() {
            for (name, matrix) in cases(*n, seed + 10 * k as u64) {
                list.push((data.len(), *n));
                data.extend(&matrix);
                data.push(f64::NAN);
                all.push((name, matrix));
            }
        }
        let mut matrices = pool.upload(&data).unwrap();
        let found = decomposer.decompose(pool, matrices.vector_mut(), &list).unwrap();
        let vectors = matrices.download().unwrap();
        for (((name, matrix), (first, n)), spectrum) in all.iter().zip(&list).zip(&found) {
            assert!(!spectrum.ascending && spectrum.values.is_sorted_by(|a, b| a >= b), "{name} {n}");
            let [values, residuals, overlaps] = errors(matrix, *n, &spectrum.values, &vectors[*first..][..n * n]);
            let most = 2e-15 * (*n as f64).sqrt().max(4.0);
            assert!(values <= most && residuals <= most, "{name} {n}: eigenvalues {values:e}, residuals {residuals:e}");
            assert!(overlaps <= most, "{name} {n}: overlaps {overlaps:e}");
            assert!(vectors[first + n * n].is_nan(), "{name} {n}: written behind its end");
        }
        assert!(vectors[..5].iter().all(|x| x.is_nan()));
    }

    /// Every path through the launches: columns one by one and in shared memory, merges that multiply their vectors and
    /// merges that leave it to tiles.
    #[test]
    fn memcheck_eigenvectors_of_matrices_of_every_shape_in_the_same_launches() {
        let Some(device) = test_device() else { return };
        let mut case = case(&device);
        case.decomposer.card.resident = 16;
        check(&case, &[1, 2, 3, 8, 17, 30], 1);
    }

    #[test]
    fn eigenvectors_by_warps_of_another_width() {
        let Some(device) = simulated_with_warps_of(16, Schedule::Forward) else { return };
        let mut case = case(&device);
        case.decomposer.card.resident = 16;
        check(&case, &[3, 17, 30], 500);
    }

    #[test]
    fn a_block_keeps_a_whole_matrix() {
        let Some(device) = test_device() else { return };
        let case = case(&device);
        check(&case, &[5, 41, 70], 100);
    }

    /// Sizes that only a card computes in reasonable time; elsewhere smaller ones.
    #[test]
    fn long_matrices_in_columns_and_tiles() {
        let Some(device) = test_device() else { return };
        let mut case = case(&device);
        let card = matches!(device, Device::Cuda(_));
        check(&case, if card { &[161, 300, 517] } else { &[75] }, 200);
        case.decomposer.card.resident = 40;
        check(&case, if card { &[129, 400] } else { &[44] }, 300);
    }

    /// The plan of long matrices: in the simulator those that another plan would take, on a card one that is long, of which few
    /// weights are above rounding as in a fixed m, and one with all of them.
    #[test]
    fn long_matrices_by_their_own_plan() {
        let Some(device) = test_device() else { return };
        let mut case = case(&device);
        if !matches!(device, Device::Cuda(_)) {
            case.decomposer.few.plan.most = 8;
            check(&case, &[9, 20], 400);
            return;
        }
        let n = 1030;
        let random = vector(60 * n, 7);
        let low = |e: usize| {
            (0..60).map(|k| 0.5f64.powi(k as i32) * random[e % n + k * n] * random[e / n + k * n]).sum::<f64>()
        };
        let all = vector(n * n, 8);
        let full = |e: usize| all[e] + all[e / n + e % n * n];
        let data: Vec<f64> = (0..n * n).map(low).chain((0..n * n).map(full)).collect();
        let mut matrices = case.pool.upload(&data).unwrap();
        let found = case.decomposer.decompose(&case.pool, matrices.vector_mut(), &[(0, n), (n * n, n)]).unwrap();
        let vectors = matrices.download().unwrap();
        for (k, MatrixSpectrum { values, .. }) in found.iter().enumerate() {
            let part = k * n * n..(k + 1) * n * n;
            for error in errors(&data[part.clone()], n, values, &vectors[part]) {
                assert!(error < 2e-15 * (n as f64).sqrt(), "matrix {k}: {error:e}");
            }
        }
    }

    /// What L Lᵀ leaves of A: as much as is said, no diagonal element above the limit where the columns suffice, and nothing that a positive
    /// matrix could not have.
    #[test]
    fn memcheck_factors_of_positive_matrices() {
        let Some(device) = test_device() else { return };
        let case = case(&device);
        let sizes = if matches!(device, Device::Cuda(_)) { vec![1, 7, 64, 200, 333] } else { vec![1, 2, 7, 40] };
        for (least, part) in [(1e-6, 1.0), (0.0, 1.0), (1e-30, 0.5)] {
            let (mut data, mut list, mut all) = (vec![f64::NAN; 3], Vec::new(), Vec::new());
            for (k, n) in sizes.iter().copied().enumerate() {
                let rank = |e: usize| if e % n == e / n && e % n < n / 2 { 0.25 } else { 0.0 };
                let diagonal: Vec<f64> = (0..n * n).map(rank).collect();
                for matrix in
                    [graded(n, 6.0, 30 + k as u64), graded(n, 20.0, 50 + k as u64), diagonal, vec![0.0; n * n]]
                {
                    list.push((data.len(), n, ((part * n as f64) as usize).max(1)));
                    data.extend(&matrix);
                    all.push(matrix);
                }
            }
            let matrices = case.pool.upload(&data).unwrap();
            let found = case.decomposer.factorise(&case.pool, matrices.vector(), &list, least).unwrap();
            let factors = found.data.download().unwrap();
            for ((matrix, (_, n, most)), factor) in all.iter().zip(&list).zip(&found.factors) {
                let n = *n;
                let row = |i: usize| &factors[factor.offset + i * factor.stride..][..factor.columns];
                let left =
                    |i: usize, j: usize| matrix[i + j * n] - row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>();
                let largest = (0..n).fold(0.0f64, |most, i| most.max(matrix[i * (n + 1)]));
                let rest = (0..n).fold(0.0f64, |most, i| most.max(left(i, i)));
                let rounding = 1e-15 * (n as f64).max(10.0) * largest;
                assert!(factor.columns <= PivotedCholeskyPlan::stride(*most).min(n), "{n}: {factor:?}");
                assert!((rest - factor.rest).abs() <= rounding, "{n}: {rest:e} is left, {:e} is said", factor.rest);
                if factor.columns < PivotedCholeskyPlan::stride(*most) {
                    assert!(rest <= least.max(rounding), "{n}: {rest:e} is left of {largest:e}");
                }
                // |R_ij|² ≤ R_ii R_jj of what is positive.
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    assert!(left(i, j).abs() <= rest.max(0.0) + rounding, "{n}: {i}, {j}: {:e}", left(i, j));
                }
            }
        }
        let poisoned = case.pool.upload(&[f64::NAN; 36]).unwrap();
        let refused =
            case.decomposer.factorise(&case.pool, poisoned.vector(), &[(0, 6, 6)], 1e-9).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("6 x 6"), "{refused}");
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let Some(device) = test_device() else { return };
        let case = case(&device);
        let mut matrices = case.pool.upload(&[f64::NAN; 36]).unwrap();
        let refused = case
            .decomposer
            .decompose(&case.pool, matrices.vector_mut(), &[(0, 6)])
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(refused.contains("6 x 6") && refused.contains("finite"), "{refused}");
    }
}
