//! Several vectors multiplied at once by columns in shared memory: which plans there are, and their kernels on a device.
//!
//! In: the plan for one vector. Out: those for 2, 3, … vectors, with the same lists or with those of a smaller low part, whichever is
//! predicted to be quicker, and how a number of vectors is divided among all of them.

use super::error::PrepareError;
use super::prepared::Prepared;
use super::structure::sizes_of;
use super::tables::tables;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, Kernel, NamedTables, Scalar, Vector};
use eigenforge_templates::Launch;
use eigenforge_templates::exact::{LONGEST_STAGED, MOST_VECTORS, VectorDivision};
use std::sync::{Arc, Mutex, PoisonError};

/// Names of the parameters that are vectors.
const X: [&str; MOST_VECTORS as usize] = ["x_0", "x_1"];
const Y: [&str; MOST_VECTORS as usize] = ["y_0", "y_1"];

/// Fewer numbers than this take no text of several vectors: a multiply takes less than 0.1 ms then, and NVRTC a second.
const LEAST_NUMBERS: u64 = 1 << 22;

/// The plans for several vectors at once.
#[derive(Default)]
pub(super) struct SeveralPlans {
    /// Predicted milliseconds of one vector.
    one: Option<f64>,
    /// Those of 2, 3, … vectors; `None` where it is quicker to divide them.
    plans: Vec<Option<(Prepared, f64)>>,
}

impl SeveralPlans {
    /// Those that are predicted to be quicker than any division into smaller numbers, where a multiply takes long enough for it to
    /// matter.
    pub(super) fn predicted(prepared: &Prepared) -> SeveralPlans {
        if (prepared.dimension() as u64) < LEAST_NUMBERS {
            return SeveralPlans::default();
        }
        let mut found = SeveralPlans::all(prepared, MOST_VECTORS);
        for vectors in 2..=found.plans.len() as u32 + 1 {
            if found.division(vectors).groups != [vectors] {
                found.plans[vectors as usize - 2] = None;
            }
        }
        found
    }

    /// All up to `most` vectors, whatever is predicted.
    pub(super) fn all(prepared: &Prepared, most: u32) -> SeveralPlans {
        let Prepared::General { plan, .. } = prepared else { return SeveralPlans::default() };
        let plans = (2..=most.min(MOST_VECTORS)).map(|vectors| quickest(prepared, vectors)).collect();
        SeveralPlans { one: plan.predicted_milliseconds(), plans }
    }

    /// The same with times for which as many vectors as possible are multiplied at once.
    pub(super) fn forced(prepared: &Prepared, most: u32) -> SeveralPlans {
        let SeveralPlans { plans, .. } = SeveralPlans::all(prepared, most);
        let plans = plans.into_iter().map(|plan| plan.map(|(prepared, _)| (prepared, 1.0)));
        SeveralPlans { one: Some(1.0), plans: plans.collect() }
    }

    /// The plans that there are.
    pub(super) fn plans(&self) -> impl Iterator<Item = &Prepared> {
        self.plans.iter().flatten().map(|(prepared, _)| prepared)
    }

    /// How `vectors` vectors are divided.
    pub(super) fn division(&self, vectors: u32) -> VectorDivision {
        VectorDivision::new(vectors, |count| match count {
            0 => None,
            1 => self.one,
            _ => self.plans.get(count as usize - 2)?.as_ref().map(|(_, milliseconds)| *milliseconds),
        })
    }
}

/// The quicker of two plans for several vectors: with the lists of one vector, or those of a smaller low part, of which the columns of
/// all vectors take the room of one.
fn quickest(prepared: &Prepared, vectors: u32) -> Option<(Prepared, f64)> {
    let smaller = LONGEST_STAGED / u64::from(vectors);
    let both = [u64::MAX, smaller].into_iter().filter_map(|rows| of_rows(prepared, vectors, rows));
    both.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The plan with columns of `rows` rows at most, and its predicted milliseconds; `None` where a smaller cut than the plan's own is none.
fn of_rows(prepared: &Prepared, vectors: u32, rows: u64) -> Option<(Prepared, f64)> {
    let Prepared::General { plan, tables, lists: Some(lists) } = prepared else { return None };
    let smaller = match rows {
        u64::MAX => lists.clone(),
        rows => Arc::new(lists.cut_to_rows(&plan.groups, rows, plan.warp)?),
    };
    let plan = plan.for_vectors(vectors, sizes_of(&smaller.tables), &smaller.sizes)?;
    let milliseconds = plan.predicted_milliseconds()?;
    let (plan, tables, lists) = (Box::new(plan), tables.clone(), Some(smaller));
    Some((Prepared::General { plan, tables, lists }, milliseconds))
}

/// The kernels of several vectors at once, each made when it is first needed.
pub(super) struct SeveralKernels {
    device: Device,
    plans: SeveralPlans,
    compiled: Vec<Mutex<Option<Compiled>>>,
}

/// The kernels of one number of vectors.
struct Compiled {
    kernel: Kernel,
    launches: Vec<Launch>,
    tables: NamedTables,
    partials: Buffer<f64>,
    /// Partial sums of each vector.
    count: i64,
}

impl SeveralKernels {
    pub(super) fn new(plans: SeveralPlans, device: &Device) -> SeveralKernels {
        let compiled = plans.plans.iter().map(|_| Mutex::new(None)).collect();
        SeveralKernels { device: device.clone(), plans, compiled }
    }

    /// How `vectors` vectors are divided.
    pub(super) fn division(&self, vectors: usize) -> Vec<u32> {
        self.plans.division(vectors as u32).groups
    }

    /// Starts y_j = H x_j of as many vectors as one of the plans has, with x_j·y_j into the places of `dots` from `place` on.
    pub(super) fn launch<T: Scalar>(
        &self,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
        place: Option<usize>,
        dots: &mut Buffer<f64>,
    ) -> Result<(), DeviceError> {
        let number = x.len() - 2;
        let mut guard = self.compiled[number].lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = match guard.take() {
            Some(compiled) => guard.insert(compiled),
            None => guard.insert(self.compile(number)?),
        };
        let Compiled { kernel, launches, tables, partials, count } = compiled;
        let summed = |launch: &&Launch| place.is_some() || launch.entry != "multiply_finish";
        for launch in launches.iter().filter(summed) {
            let vectors = x.iter().zip(X).fold(Arguments::new(), |vectors, (x, name)| vectors.read(name, *x));
            let vectors = y.iter_mut().zip(Y).fold(vectors, |vectors, (y, name)| vectors.write(name, y));
            let vectors = vectors.write("partials", &mut *partials).write("x_dot_y", &mut *dots).tables(tables);
            let vectors = vectors.i64("count", *count).i64("place", place.unwrap_or(0) as i64);
            kernel.launch(launch, vectors.needed(launch))?;
        }
        Ok(())
    }

    fn compile(&self, number: usize) -> Result<Compiled, DeviceError> {
        let Some((prepared, _)) = &self.plans.plans[number] else {
            unreachable!("vectors are divided among plans that there are")
        };
        Compiled::new(prepared, &self.device).map_err(|error| match error {
            PrepareError::Device(error) => error,
            other => DeviceError::Arguments {
                what: format!("the multiply of {} vectors", number + 2),
                expected: "a text".into(),
                found: other.to_string(),
            },
        })
    }
}

impl Compiled {
    fn new(prepared: &Prepared, device: &Device) -> Result<Compiled, PrepareError> {
        let Prepared::General { plan, .. } = prepared else { unreachable!("no other multiply takes several vectors") };
        let kernel = device.compile(&prepared.text()?)?;
        let (tables, words) = tables(prepared, &kernel, device)?;
        let launches = prepared.launches(words).map_err(DeviceError::from)?;
        launches.iter().try_for_each(|launch| kernel.check(launch))?;
        let partials = device.buffer(&vec![0.0; plan.partials() as usize])?;
        let count = i64::from(plan.shape.blocks);
        Ok(Compiled { kernel, launches, tables, partials, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Hamiltonian;
    use crate::input::ModelFile;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::{Checks, LinearOperator, testing};
    use eigenforge_templates::ScalarType;

    fn planned(model: &str) -> Prepared {
        let model = ModelFile::parse("several.toml", model).unwrap().to_model().unwrap();
        Prepared::new(model.working(), ScalarType::F64).unwrap()
    }

    fn heisenberg(lattice: &str) -> Prepared {
        planned(&format!("[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\n{lattice}\n[sector]\ntwo_sz = 0\n"))
    }

    /// Short columns and long lists are shared, columns that fill a block are not, and small sectors have no other texts.
    #[test]
    fn the_plan_says_where_several_vectors_pay() {
        let chosen = |prepared: &Prepared| {
            let plans = SeveralPlans::predicted(prepared);
            (1..=8).map(|vectors| plans.division(vectors).groups).collect::<Vec<_>>()
        };
        let tj = planned(
            "[model]\nname = \"terms\"\nsite = \"tj\"\nH = \"sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) \
             + sum(<i, j> in bonds; 0.4 * (sdots(i, j) - 0.25 * n(i) * n(j)))\"\n[lattice]\nkind = \"square\"\nsize = [5, 4]\n\
             [sector]\nup = 9\ndown = 9\n",
        );
        let ring = heisenberg("kind = \"chain\"\nsize = 28");
        let small = heisenberg("kind = \"chain\"\nsize = 20");
        let kagome = heisenberg("kind = \"kagome\"\nsize = [5, 2]");
        let triangular = heisenberg("kind = \"triangular\"\nsize = [6, 5]");
        assert_eq!(chosen(&ring)[..5], [vec![1], vec![2], vec![2, 1], vec![2, 2], vec![2, 2, 1]]);
        assert_eq!(chosen(&tj)[1..3], [vec![2], vec![2, 1]]);
        assert_eq!(chosen(&triangular)[7], [2; 4]);
        let Some(Prepared::General { plan, .. }) = SeveralPlans::predicted(&triangular).plans().last().cloned() else {
            panic!("two vectors at once")
        };
        let predicted = plan.predicted.unwrap();
        assert!(plan.vectors == 2 && predicted.together < 0.97 * predicted.apart, "{predicted:?}");
        assert_eq!(chosen(&kagome)[7], [1; 8]);
        assert_eq!(chosen(&small)[3], [1, 1, 1, 1]);
    }

    /// Columns of a smaller low part than one vector has.
    #[test]
    fn another_cut_gives_the_same_products() {
        let Some(device) = testing::simulated(Schedule::Reverse, Checks::Every) else { return };
        let file = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = 14\n[sector]\ntwo_sz = 0\n";
        let model = ModelFile::parse("chain.toml", file).unwrap().to_model().unwrap();
        let one = Prepared::whole(&model, ScalarType::F64).unwrap();
        let n = one.dimension();
        let (cut, milliseconds) = of_rows(&one, 2, 20).expect("columns of seven sites have 35 rows");
        let plans = SeveralPlans { one: Some(2.0 * milliseconds), plans: vec![Some((cut, milliseconds))] };
        let kernels = SeveralKernels::new(plans, &device);
        let x: Vec<Vector<f64>> = (0..2).map(|seed| device.random(n, seed).unwrap()).collect();
        let mut y: Vec<Vector<f64>> = (0..2).map(|_| device.upload(&vec![f64::NAN; n]).unwrap()).collect();
        let mut dots = device.buffer(&[f64::NAN; 8]).unwrap();
        kernels.launch(&[&x[0], &x[1]], &mut y, Some(3), &mut dots).unwrap();
        let (host, dots) =
            (Hamiltonian::new(&model, ScalarType::F64, &Device::cpu()).unwrap(), dots.download().unwrap());
        for (k, (x, y)) in x.iter().zip(&y).enumerate() {
            let x = Device::cpu().upload(&x.download().unwrap()).unwrap();
            let mut exact: Vector<f64> = Device::cpu().zeros(n).unwrap();
            let dot = host.apply(&x, &mut exact).unwrap();
            let (y, exact) = (y.download().unwrap(), exact.download().unwrap());
            assert!(y.iter().zip(&exact).all(|(y, exact)| (y - exact).abs() < 1e-13));
            assert!((dots[3 + k] - dot).abs() < 1e-11, "{dots:?}");
        }
    }
}
