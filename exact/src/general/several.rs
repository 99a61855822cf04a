//! Several vectors multiplied at once by columns in shared memory: which plans there are.
//!
//! In: the plan for one vector. Out: those for 2, 3, … vectors, with the same lists or with those of a smaller low part, whichever is
//! predicted to be quicker.

use super::GeneralMultiply;
use crate::structure::sizes_of;
use eigenforge_product::{Multiply, SeveralPlans};
use eigenforge_templates::exact::{LONGEST_STAGED, MOST_VECTORS};
use std::sync::Arc;

/// All up to `most` vectors, whatever is predicted.
pub(super) fn plans(one: &GeneralMultiply, most: u32) -> SeveralPlans {
    let plan = |vectors: u32| {
        let (multiply, milliseconds) = quickest(one, vectors)?;
        Some((Arc::new(multiply) as Arc<dyn Multiply>, milliseconds))
    };
    let plans = (2..=most.min(MOST_VECTORS)).map(plan).collect();
    SeveralPlans { one: one.plan.predicted_milliseconds(), plans }
}

/// The quicker of two plans for several vectors: with the lists of one vector, or those of a smaller low part, of which the columns of
/// all vectors take the room of one.
fn quickest(one: &GeneralMultiply, vectors: u32) -> Option<(GeneralMultiply, f64)> {
    let smaller = LONGEST_STAGED / u64::from(vectors);
    let both = [u64::MAX, smaller].into_iter().filter_map(|rows| with_rows(one, vectors, rows));
    both.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The plan with columns of `rows` rows at most, and its predicted milliseconds; `None` where a smaller cut than the plan's own is none.
fn with_rows(one: &GeneralMultiply, vectors: u32, rows: u64) -> Option<(GeneralMultiply, f64)> {
    let lists = one.lists.as_ref()?;
    let smaller = match rows {
        u64::MAX => lists.clone(),
        rows => Arc::new(lists.cut_to_rows(&one.plan.groups, rows, one.plan.warp)?),
    };
    let plan = one.plan.for_vectors(vectors, sizes_of(&smaller.tables), &smaller.sizes)?;
    let milliseconds = plan.predicted_milliseconds()?;
    Some((GeneralMultiply { plan, lists: Some(smaller), ..one.clone() }, milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InSector, Model, MultiplyPlan, samples};
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::operator::{Charge, Operator, SiteKind, Spin, build};
    use eigenforge_product::ProductKernels;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::{Checks, Device, LinearOperator, Vector, testing};
    use eigenforge_templates::ScalarType;

    fn planned(model: &Model) -> MultiplyPlan {
        model.working().multiply_without_constant(ScalarType::F64).unwrap()
    }

    fn heisenberg(lattice: &Lattice) -> MultiplyPlan {
        planned(&samples::xxz(lattice, 1.0, 1.0, 0))
    }

    /// t–J with t = 1, J = 0.4, nine electrons of each spin.
    fn tj(lattice: &Lattice) -> MultiplyPlan {
        let density = |site| build::n(site, Spin::Up) + build::n(site, Spin::Down);
        let bond = |(i, j): (usize, usize)| {
            let hops = [Spin::Up, Spin::Down].map(|s| {
                let hop = build::cdag(i, s) * build::c(j, s);
                hop.clone() + hop.adjoint()
            });
            let exchange = build::electron_sdots(i, j) - 0.25 * density(i) * density(j);
            hops.into_iter().sum::<Operator>() * -1.0 + exchange * 0.4
        };
        let operator: Operator = lattice.bonds().iter().map(|pair| bond((pair.i, pair.j))).sum();
        let operator = operator.on_kinds(&vec![SiteKind::Tj; lattice.sites().len()]);
        planned(&operator.charges(&[(Charge::Up, 9), (Charge::Down, 9)]).unwrap())
    }

    /// Short columns and long lists are shared, columns that fill a block are not, and small sectors have no other texts.
    #[test]
    fn the_plan_says_where_several_vectors_pay() {
        let chosen = |multiply: &MultiplyPlan| {
            let plans = multiply.0.several();
            (1..=8).map(|vectors| plans.division(vectors).groups).collect::<Vec<_>>()
        };
        let tj = tj(&Lattice::square([5, 4]).open());
        let ring = heisenberg(&Lattice::chain(28).open());
        let small = heisenberg(&Lattice::chain(20).open());
        let kagome = heisenberg(&Lattice::kagome([5, 2]).open());
        let triangular = heisenberg(&Lattice::triangular([6, 5]).open());
        assert_eq!(chosen(&ring)[..5], [vec![1], vec![2], vec![2, 1], vec![2, 2], vec![2, 2, 1]]);
        assert_eq!(chosen(&tj)[1..3], [vec![2], vec![2, 1]]);
        assert_eq!(chosen(&triangular)[7], [2; 4]);
        let several = triangular.0.several();
        let two = several.plans().last().expect("two vectors at once");
        let GeneralMultiply { plan, .. } = two.as_any().downcast_ref().unwrap();
        let predicted = plan.predicted.unwrap();
        assert!(plan.vectors == 2 && predicted.together < 0.97 * predicted.apart, "{predicted:?}");
        assert_eq!(chosen(&kagome)[7], [1; 8]);
        assert_eq!(chosen(&small)[3], [1, 1, 1, 1]);
    }

    /// Columns of a smaller low part than one vector has.
    #[test]
    fn another_cut_gives_the_same_products() {
        let Some(device) = testing::simulated(Schedule::Reverse, Checks::Every) else { return };
        let model = samples::xxz(&Lattice::chain(14).open(), 1.0, 0.7, 0);
        let one = model.multiply(ScalarType::F64).unwrap();
        let n = one.dimension();
        let (cut, _) = with_rows(one.way().unwrap(), 2, 20).expect("columns of seven sites have 35 rows");
        let kernels = ProductKernels::compiled(&cut, &cut.plan.text().unwrap(), &device).unwrap();
        let x: Vec<Vector<f64>> = (0..2).map(|seed| device.random(n, seed).unwrap()).collect();
        let mut y: Vec<Vector<f64>> = (0..2).map(|_| device.upload(&vec![f64::NAN; n]).unwrap()).collect();
        let mut dots = device.buffer(&[f64::NAN; 8]).unwrap();
        kernels.start(&[&x[0], &x[1]], &mut y, Some(3), &mut dots).unwrap();
        let (host, dots) = (
            model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), &Device::cpu()).unwrap(),
            dots.download().unwrap(),
        );
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
