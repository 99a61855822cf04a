//! σ = H C, group by group: diagonal, α strings alone, β strings alone, both.
//!
//! A task is a group of α strings and writes only their rows of σ. x·σ is summed row by row, then over rows.

use super::super::vector_number::{LANES, VectorNumber};
use super::Tables;
use super::alpha::{BATCH, Group, Lane};
use super::lanes::{self, Factor, Line};
use rayon::prelude::*;

/// Minimum elements of H per task: waking another thread takes some 20 µs.
const TASK: f64 = 100_000.0;

/// Memory of a task.
struct Workspace<T: VectorNumber> {
    packed: Vec<Line<T>>,
    onlookers: Vec<Line<T>>,
}

impl<T: VectorNumber> Workspace<T> {
    fn new() -> Workspace<T> {
        Workspace { packed: Vec::new(), onlookers: Vec::new() }
    }
}

impl<T: VectorNumber> Tables<T> {
    /// The rows of y = H x that are made, one after the other; returns their part of x·y.
    pub(super) fn multiply(&self, x: &[f64], y: &mut [f64]) -> f64 {
        let mut rows = y;
        let mut of_group: Vec<Vec<&mut [f64]>> = self.alpha.groups.iter().map(|_| Vec::new()).collect();
        let mut owner = vec![None; self.alpha.len()];
        for (number, group) in self.alpha.groups.iter().enumerate() {
            group.members.iter().for_each(|rank| owner[*rank as usize] = Some(number));
        }
        // Rows in the order of y; the members of a group ascend, and so do its rows.
        for (rank, owner) in owner.into_iter().enumerate().take(self.alpha.own.end).skip(self.alpha.own.start) {
            let width = T::PARTS * self.beta.class(self.alpha.class(rank)).len();
            let (row, rest) = std::mem::take(&mut rows).split_at_mut(width);
            rows = rest;
            if let Some(owner) = owner {
                of_group[owner].push(row);
            }
        }
        let each = (TASK * self.alpha.groups.len() as f64 / self.elements()).ceil().max(1.0) as usize;
        let groups = self.alpha.groups.par_iter().zip(of_group).with_min_len(each);
        let dots: Vec<Vec<f64>> = groups
            .map_init(Workspace::new, |workspace, (group, mut rows)| {
                self.group(x, group, &mut rows, workspace);
                let row = |(rank, row): (&u32, &&mut [f64])| {
                    lanes::dot(&x[T::PARTS * self.alpha.row_start(*rank as usize)..][..row.len()], row)
                };
                group.members.iter().zip(&rows).map(row).collect()
            })
            .collect();
        let mut of_row = vec![0.0; self.alpha.len()];
        for (group, dots) in self.alpha.groups.iter().zip(dots) {
            group.members.iter().zip(dots).for_each(|(rank, dot)| of_row[*rank as usize] = dot);
        }
        of_row.iter().sum()
    }

    fn group(&self, x: &[f64], group: &Group, rows: &mut [&mut [f64]], workspace: &mut Workspace<T>) {
        for (rank, row) in group.members.iter().zip(&mut *rows) {
            let start = self.alpha.row_start(*rank as usize);
            self.diagonal_parts(start, row);
            row.iter_mut().zip(&x[T::PARTS * start..]).for_each(|(row, x)| *row *= x);
        }
        self.alpha_alone(x, group, rows);
        self.beta_alone(x, group, rows, workspace);
        for batch in &group.batches {
            let lanes = group.lanes(batch);
            let width = self.beta.class(batch.class).len();
            let felt = (batch.irrep == 0).then(|| self.beta.felt(batch.pair, group.class));
            let coulomb = self.coulomb(batch.pair);
            let (first, irrep) = (self.beta.class(group.class).start, batch.irrep);
            let packed = &mut workspace.packed;
            macro_rules! multiply {
                ($lines:literal) => {{
                    let factor: Factor<'_, T, $lines> = Factor::Both { irrep, coulomb, felt };
                    lanes::multiply(&self.beta, first, &factor, pack(x, lanes, width, packed), lanes, rows)
                }};
            }
            match lanes.len().div_ceil(LANES) {
                1 => multiply!(1),
                2 => multiply!(2),
                3 => multiply!(3),
                _ => multiply!(4),
            }
        }
    }

    /// Σ_J H_αα(I, J) C(J, K): a run of columns stays in the cache while all rows of the group use it.
    fn alpha_alone(&self, x: &[f64], group: &Group, rows: &mut [&mut [f64]]) {
        let same: Vec<&[(usize, T)]> = group.members.iter().map(|rank| self.alpha.same_spin(*rank as usize)).collect();
        let done = lanes::alpha_rows::<T, 64>(x, &same, 0, rows);
        let done = lanes::alpha_rows::<T, 8>(x, &same, done, rows);
        lanes::alpha_rows::<T, 1>(x, &same, done, rows);
    }

    /// Σ_L [H_ββ(K, L) + Σ_{p in I} ± (pp|rs)] C(I, L).
    fn beta_alone(&self, x: &[f64], group: &Group, rows: &mut [&mut [f64]], workspace: &mut Workspace<T>) {
        const LINES: usize = BATCH / LANES;
        let class = self.beta.class(group.class);
        for (first, members) in (0..).step_by(BATCH).zip(group.members.chunks(BATCH)) {
            let lane = |(row, rank): (u32, &u32)| {
                let source = self.alpha.row_start(*rank as usize);
                Lane { row, source, sign: 1.0 }
            };
            let lanes: Vec<Lane> = (first..).zip(members).map(lane).collect();
            workspace.onlookers.clear();
            workspace.onlookers.resize(2 * self.pairs * LINES, Line(T::ZEROS));
            let onlookers = workspace.onlookers.as_chunks_mut::<LINES>().0;
            for (k, rank) in members.iter().enumerate() {
                for density in self.alpha.densities(*rank as usize) {
                    let (line, lane) = (k / LANES, k % LANES);
                    let values = self.coulomb(*density as usize);
                    onlookers.iter_mut().zip(values).for_each(|(to, value)| value.add_to_lane(&mut to[line].0, lane));
                }
            }
            let packed = pack::<T, LINES>(x, &lanes, class.len(), &mut workspace.packed);
            lanes::multiply(&self.beta, class.start, &Factor::Beta { onlookers }, packed, &lanes, rows);
        }
    }

    /// [`Tables::diagonal`] of each real part of the elements from `start` on.
    fn diagonal_parts(&self, start: usize, out: &mut [f64]) {
        let elements = out.len() / T::PARTS;
        self.diagonal(start, &mut out[..elements]);
        if T::PARTS > 1 {
            // From the end on, since parts of later elements lie behind all earlier ones.
            for element in (0..elements).rev() {
                let value = out[element];
                out[T::PARTS * element..][..T::PARTS].fill(value);
            }
        }
    }

    /// E(I) + E(K) + Σ_{p in I, r in K} (pp|rr) of the elements from `start` on.
    pub(super) fn diagonal(&self, start: usize, out: &mut [f64]) {
        let (mut at, end) = (start, start + out.len());
        let mut rest = out;
        while at < end {
            let rank = self.alpha.rank_at(at);
            let class = self.alpha.class(rank);
            let first = at - self.alpha.row_start(rank);
            let count = (self.alpha.row_start(rank + 1) - at).min(end - at);
            let (row, others) = std::mem::take(&mut rest).split_at_mut(count);
            let energies = &self.beta.energy[self.beta.class(class)][first..];
            let energy = self.alpha.energy[rank];
            row.iter_mut().zip(energies).for_each(|(row, beta)| *row = energy + beta);
            for density in self.alpha.densities(rank) {
                let felt = &self.beta.felt(*density as usize, class)[first..];
                row.iter_mut().zip(felt).for_each(|(row, felt)| *row += felt.real());
            }
            (at, rest) = (at + count, others);
        }
    }
}

/// Rows of the lanes side by side, M lines each.
fn pack<'a, T: VectorNumber, const M: usize>(
    x: &[f64],
    lanes: &[Lane],
    width: usize,
    out: &'a mut Vec<Line<T>>,
) -> &'a [[Line<T>; M]] {
    if out.len() < width * M {
        out.resize(width * M, Line(T::ZEROS));
    }
    let out = &mut out.as_chunks_mut::<M>().0[..width];
    for (m, lanes) in lanes.chunks(LANES).enumerate() {
        lanes::pack(x, lanes, m, out);
    }
    out
}
