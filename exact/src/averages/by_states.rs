//! Averages state by state: for sectors in which a low word has no row of its own, since patterns across the cut are forbidden.

use eigenforge_core::basis::LinTables;
use eigenforge_core::operator::{OperatorError, Product, SiteLayout, Transition};
use eigenforge_runtime::Scalar;
use rayon::prelude::*;

/// States a task works on, so that the number of threads changes no bit.
const STATES: u64 = 1 << 14;

/// The averages over orthonormal vectors on the host.
pub(super) fn averages<T: Scalar>(
    layout: &SiteLayout,
    tables: &LinTables,
    multiplet: &[&[T]],
    products: &[Product],
) -> Result<Vec<f64>, OperatorError> {
    let share = 1.0 / multiplet.len().max(1) as f64;
    let of_product = |product: &Product| -> f64 {
        let transitions: Vec<Transition> =
            layout.transitions(product, 1.0).into_iter().map(Transition::narrow).collect();
        let tasks = tables.dimension().div_ceil(STATES);
        let of_task = |task: u64| -> f64 {
            let states = task * STATES..tables.dimension().min((task + 1) * STATES);
            states.map(|index| of_state(tables, &transitions, multiplet, index)).sum()
        };
        (0..tasks).map(of_task).sum::<f64>() * share
    };
    Ok(products.par_iter().map(of_product).collect())
}

/// Σ v_s v_s′ over what one state s reaches, in all vectors.
fn of_state<T: Scalar>(tables: &LinTables, transitions: &[Transition], multiplet: &[&[T]], index: u64) -> f64 {
    let state = tables.state(index);
    let mut sum = 0.0;
    for Transition { care, pattern, flip, sign, amplitude } in transitions {
        if state & care != *pattern {
            continue;
        }
        let odd = (state & sign).count_ones() % 2 == 1;
        let reached = tables.index(state ^ flip) as usize;
        let products = multiplet.iter().map(|v| v[index as usize].to_f64() * v[reached].to_f64());
        sum += if odd { -amplitude } else { *amplitude } * products.sum::<f64>();
    }
    sum
}
