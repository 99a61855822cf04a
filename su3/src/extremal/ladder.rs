//! The three recursions among canonical coefficients, from lowering operators acting on the product's highest-weight state.
//!
//! In: labels, coefficients of a row of constant p2 + q2. Out: the next row. With R(p) = p (λ+1−p)(μ+1+p),
//! S(q) = q (μ+1−q)(λ+μ+2−q) of the irrep named by the index, t = 2Λ; J. Herko et al., arXiv:2505.08993: [`descend`] is their
//! A.19 (a common factor ½ a step left out), [`stretch`] eq. 43, [`fill`] A.22.

use super::{Triple, couples, support};

/// R and S of an irrep.
#[derive(Clone, Copy)]
struct Lowering {
    lambda: i64,
    mu: i64,
}

impl Lowering {
    fn r(self, p: i64) -> f64 {
        (p * (self.lambda + 1 - p) * (self.mu + 1 + p)) as f64
    }

    fn s(self, q: i64) -> f64 {
        (q * (self.mu + 1 - q) * (self.lambda + self.mu + 2 - q)) as f64
    }

    fn t(self, p: i64, q: i64) -> i64 {
        self.mu + p - q
    }
}

/// Both irreps' operators of a triple.
fn lowerings(triple: Triple) -> (Lowering, Lowering) {
    (Lowering { lambda: triple.l1, mu: triple.m1 }, Lowering { lambda: triple.l2, mu: triple.m2 })
}

/// √(product / divisor); negative products do not occur where the triangle closes.
fn root(product: i64, scale: f64, divisor: f64) -> f64 {
    (product as f64 * scale / divisor).max(0.0).sqrt()
}

/// From the seed row, (λ1 μ1) in its highest-weight state, down to the row of (λ2 μ2)'s highest-weight state. Out: Y at
/// [p1 (μ1+1) + q1] on that row, zero elsewhere; scaled to a largest magnitude of one.
pub(super) fn descend(triple: Triple, seed: &[(i64, f64)]) -> Vec<f64> {
    let (sum, last) = (triple.sum(), triple.l2 + triple.m2);
    let mut row = vec![0.0; triple.states()];
    for (p2, x) in seed {
        row[triple.position(triple.l1, triple.m1, *p2, 1)] = *x;
    }
    let mut rows_sum = triple.l1 + triple.m1;
    while sum - rows_sum < last {
        rows_sum -= 1;
        let mut largest = 0.0f64;
        for p1 in 0.max(rows_sum - triple.m1)..=triple.l1.min(rows_sum) {
            let q1 = rows_sum - p1;
            for p2 in support(triple, sum, p1, q1) {
                let w = descended(triple, &row, [p1, q1], [p2, sum - rows_sum - p2]);
                largest = largest.max(w.abs());
                row[triple.position(p1, q1, p2, 1)] = w;
            }
        }
        scale_row(triple, &mut row, rows_sum, largest);
    }
    let mut y = vec![0.0; ((triple.l1 + 1) * (triple.m1 + 1)) as usize];
    for p1 in 0.max(rows_sum - triple.m1)..=triple.l1.min(rows_sum) {
        let q1 = rows_sum - p1;
        y[(p1 * (triple.m1 + 1) + q1) as usize] = row[triple.position(p1, q1, triple.l2, 1)];
    }
    y
}

/// Divides the row p1 + q1 = `rows_sum` by its largest entry, so that long recursions stay in range.
fn scale_row(triple: Triple, row: &mut [f64], rows_sum: i64, largest: f64) {
    if largest == 0.0 {
        return;
    }
    for p1 in 0.max(rows_sum - triple.m1)..=triple.l1.min(rows_sum) {
        let at = triple.position(p1, rows_sum - p1, 0, 1);
        row[at..][..triple.l2 as usize + 1].iter_mut().for_each(|w| *w /= largest);
    }
}

/// One coefficient from the row above: by the lowering that changed q1 where there is one, else by that of p1.
fn descended(triple: Triple, row: &[f64], [p1, q1]: [i64; 2], [p2, q2]: [i64; 2]) -> f64 {
    let (one, two) = lowerings(triple);
    let l3 = triple.l3;
    let t2 = two.t(p2, q2);
    let by_q1 = q1 < triple.m1;
    let [a, b] = if by_q1 { [p1, q1 + 1] } else { [p1 + 1, q1] };
    let t1 = one.t(a, b);
    let source = |p2: i64, q2: i64| {
        let inside = (0..=triple.l2).contains(&p2) && (0..=triple.m2).contains(&q2) && couples(t1, two.t(p2, q2), l3);
        if inside { row[triple.position(a, b, p2, 1)] } else { 0.0 }
    };
    let (raised_q, raised_p) = (source(p2, q2 - 1), source(p2 - 1, q2));
    let divisor = if by_q1 { (t1 + 1) as f64 * one.s(q1 + 1) } else { (t1 + 1) as f64 * one.r(p1 + 1) };
    let front = if by_q1 { t1 + 2 } else { t1 };
    let s_term = |product: i64| root(front * product, two.s(q2), divisor * ((t2 + 1) * (t2 + 2)) as f64);
    let r_term =
        |product: i64| if t2 > 0 { root(front * product, two.r(p2), divisor * ((t2 + 1) * t2) as f64) } else { 0.0 };
    let straight = (t2 + l3 - t1 + 1) * (l3 + t1 - t2 + 1);
    if by_q1 {
        -s_term(straight) * raised_q + r_term((t1 + t2 - l3 + 1) * (t1 + t2 + l3 + 3)) * raised_p
    } else {
        -s_term((t1 + t2 - l3 + 1) * (t1 + t2 + l3 + 3)) * raised_q - r_term(straight) * raised_p
    }
}

/// From Y for (l2−1, ·) to Y for (l2, ·): `y` at [p1 (μ1+1) + q1] on one row; the new row has p1 + q1 one less.
pub(super) fn stretch(triple: Triple, y: &[f64], l2: i64) -> Vec<f64> {
    let (one, _) = lowerings(triple);
    let (l1, m1, l3) = (triple.l1, triple.m1, triple.l3);
    let old = |p: i64, q: i64| if p <= l1 && q <= m1 { y[(p * (m1 + 1) + q) as usize] } else { 0.0 };
    let mut new = vec![0.0; y.len()];
    let mut largest = 0.0f64;
    for (p, q) in (0..=l1).flat_map(|p| (0..=m1).map(move |q| (p, q))) {
        let t = one.t(p, q);
        if !couples(t, l2, l3) || (old(p + 1, q) == 0.0 && old(p, q + 1) == 0.0) {
            continue;
        }
        let first = root((l2 + l3 - t) * (l3 + t - l2 + 2), one.r(p + 1), ((t + 1) * (t + 2)) as f64) * old(p + 1, q);
        let second = if t > 0 {
            root((t + l2 - l3) * (t + l2 + l3 + 2), one.s(q + 1), (t * (t + 1)) as f64) * old(p, q + 1)
        } else {
            0.0
        };
        let w = second - first;
        largest = largest.max(w.abs());
        new[(p * (m1 + 1) + q) as usize] = w;
    }
    if largest > 0.0 {
        new.iter_mut().for_each(|w| *w /= largest);
    }
    new
}

/// From the row of (λ2 μ2)'s highest-weight state to all rows, every ρ at once.
pub(super) fn fill(triple: Triple, values: &mut [f64], rho_max: usize) {
    let sum = triple.sum();
    let first = sum - triple.l2 - triple.m2 + 1;
    for rows_sum in first.max(0)..=(triple.l1 + triple.m1).min(sum) {
        for p1 in 0.max(rows_sum - triple.m1)..=triple.l1.min(rows_sum) {
            let q1 = rows_sum - p1;
            for p2 in support(triple, sum, p1, q1) {
                let Some(Raised { p2: source, from_p1, from_q1 }) = raised(triple, [p1, q1], [p2, sum - rows_sum - p2])
                else {
                    continue;
                };
                let target = triple.position(p1, q1, p2, rho_max);
                for rho in 0..rho_max {
                    let mut w = 0.0;
                    if from_p1 != 0.0 {
                        w += from_p1 * values[triple.position(p1 - 1, q1, source, rho_max) + rho];
                    }
                    if from_q1 != 0.0 {
                        w += from_q1 * values[triple.position(p1, q1 - 1, source, rho_max) + rho];
                    }
                    values[target + rho] = w;
                }
            }
        }
    }
}

/// Where a coefficient comes from in [`fill`]: (p1−1, q1; p2) and (p1, q1−1; p2) with these factors.
struct Raised {
    p2: i64,
    from_p1: f64,
    from_q1: f64,
}

/// By the step that changed q2 where there is one, else by that of p2; `None` where neither exists.
fn raised(triple: Triple, [p1, q1]: [i64; 2], [p2, q2]: [i64; 2]) -> Option<Raised> {
    let (one, two) = lowerings(triple);
    let (l3, t1, t2) = (triple.l3, one.t(p1, q1), two.t(p2, q2));
    let by_q2 = q2 < triple.m2 && t2 > 0;
    let source = if by_q2 { p2 } else { p2 + 1 };
    if source > triple.l2 {
        return None;
    }
    let (divisor, inner_p, inner_q, sign) = if by_q2 {
        let inner_p = (t1 + t2 - l3) * (t1 + t2 + l3 + 2);
        let inner_q = (t2 + l3 - t1) * (l3 + t1 - t2 + 2);
        (t2 as f64 * two.s(q2 + 1), inner_p, inner_q, -1.0)
    } else {
        let inner_p = (t2 + l3 - t1 + 2) * (l3 + t1 - t2);
        let inner_q = (t1 + t2 - l3 + 2) * (t1 + t2 + l3 + 4);
        ((t2 + 2) as f64 * two.r(p2 + 1), inner_p, inner_q, 1.0)
    };
    let divisor = 4.0 * (t1 + 1) as f64 * divisor;
    let from = |exists: bool, inner: i64, scale: f64, t: i64| {
        if exists { root((t2 + 1) * inner, scale, divisor * t as f64) } else { 0.0 }
    };
    let from_p1 = -from(p1 > 0 && t1 > 0, inner_p, one.r(p1), t1);
    let from_q1 = sign * from(q1 > 0, inner_q, one.s(q1), t1 + 2);
    Some(Raised { p2: source, from_p1, from_q1 })
}
