//! Distances and neighbour shells.
//!
//! In: two sites, or the number of a shell. Out: the shortest distance around periodic directions (minimum image), or the
//! bonds of that shell. Shell n is the n-th distance of the *infinite* lattice (square: 1, √2, 2, √5, …; chain: 1, 2, 3),
//! so that a small cluster never renames its second neighbours. An explicit edge list has no geometry: its distance is the
//! number of edges on the shortest path.

use super::build::Pairs;
use super::cell::{primitive_vectors, unit_cell};
use super::torus::{cartesian, dot};
use super::{Bond, Lattice, LatticeKind, MOST_SHELLS};
use std::collections::VecDeque;
use std::f64::consts::PI;

pub(super) const SAME: f64 = 1e-9;

impl Lattice {
    /// Shortest distance between two sites, around periodic directions too, in units of the nearest-neighbour distance;
    /// of an explicit edge list the number of edges on the shortest path (infinite if there is none).
    ///
    /// # Panics
    /// If a site is not in [`Lattice::sites`], as an index into a slice would.
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.sites && j < self.sites, "sites {i} and {j} of a lattice of {} sites", self.sites);
        if self.spec.kind == LatticeKind::Edges {
            return self.steps_from(i)[j].map_or(f64::INFINITY, |steps| steps as f64);
        }
        self.shortest(self.between(i, j))
    }

    /// The shortest vector from site i to site j, around periodic directions too, in units of the nearest-neighbour distance; `None`
    /// where two ways around are as short, and of an explicit edge list, which has no geometry.
    ///
    /// # Panics
    /// If a site is not in [`Lattice::sites`], as an index into a slice would.
    pub fn displacement(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        assert!(i < self.sites && j < self.sites, "sites {i} and {j} of a lattice of {} sites", self.sites);
        if self.spec.kind == LatticeKind::Edges {
            return None;
        }
        let images = self.images(self.between(i, j));
        let shortest = images.iter().copied().min_by(|a, b| length(*a).total_cmp(&length(*b)))?;
        let apart = |image: &[f64; 2]| length([0, 1].map(|axis| image[axis] - shortest[axis])) > SAME;
        let is_only = images.iter().filter(|image| apart(image)).all(|image| length(*image) > length(shortest) + SAME);
        is_only.then_some(shortest)
    }

    /// From one site to another on the infinite lattice.
    fn between(&self, i: usize, j: usize) -> [f64; 2] {
        let cell = unit_cell(self.spec.kind);
        let basis = &cell.basis;
        let [(from, start), (to, end)] = [i, j].map(|site| self.spec.place(site, basis.len()));
        let between = cartesian([0, 1].map(|d| end[d] as i64 - start[d] as i64), cell.vectors);
        [0, 1].map(|axis| between[axis] + basis[to][axis] - basis[from][axis])
    }

    /// The bonds between n-th neighbours (`shell` 1 = nearest, 2 = next-nearest, …), each pair once, in the order of
    /// [`Lattice::bonds`], of weight 1 (with [`Lattice::double_bonds`]: the number of ways around the torus). Beyond the
    /// first shell `kind` counts the directions by angle from the x axis, 0 ≤ angle < π, and bonds point along it. Shell 0
    /// is empty.
    ///
    /// For t' or J2: `lattice.bonds_at(2)`.
    pub fn bonds_at(&self, shell: usize) -> Vec<Bond> {
        match shell {
            0 => vec![],
            1 => self.nearest.clone(),
            _ if self.spec.kind == LatticeKind::Edges => self.pairs_at_steps(shell),
            _ if shell > self.most_shells() => vec![],
            _ => shells(self.spec.kind, shell).pop().map_or_else(Vec::new, |shell| self.bonds_of(&shell)),
        }
    }

    /// At least as many shells as two sites of the lattice can be apart: one per vector to a cell that is no further away than the
    /// lattice is long, from each site of a cell to each.
    fn most_shells(&self) -> usize {
        let [lx, ly] = self.spec.lengths();
        let reach = 2 * lx.saturating_add(ly).saturating_add(self.spec.twist) + 1;
        let bases = unit_cell(self.spec.kind).basis.len();
        let cells = if self.spec.kind == LatticeKind::Chain { reach } else { reach.saturating_mul(reach) };
        cells.saturating_mul(bases * bases).min(MOST_SHELLS)
    }

    /// Numbers of the sites that share a bond with `site`, ascending.
    pub fn neighbors(&self, site: usize) -> Vec<usize> {
        let mut out: Vec<usize> = self
            .bonds
            .iter()
            .filter_map(|bond| match site {
                _ if bond.i == site => Some(bond.j),
                _ if bond.j == site => Some(bond.i),
                _ => None,
            })
            .collect();
        out.sort_unstable();
        out
    }

    /// The bonds of a shell, cell by cell.
    pub(super) fn bonds_of(&self, shell: &Shell) -> Vec<Bond> {
        let [lx, ly] = self.spec.lengths();
        let bases = unit_cell(self.spec.kind).basis.len();
        let mut found = Pairs::default();
        for v in shell.vectors.iter().filter(|v| self.starts(shell, v) > 0) {
            for (x, y) in (0..ly).flat_map(|y| (0..lx).map(move |x| (x, y))) {
                let Some([x2, y2]) = self.spec.step([x, y], v.step) else { continue };
                found.add(self.spec.site(v.from, bases, x, y), self.spec.site(v.to, bases, x2, y2), v.kind);
            }
        }
        found.bonds(self.spec.double_bonds)
    }

    /// The number of cells from which a vector of a shell makes a bond: none if another way around is shorter.
    pub(super) fn starts(&self, shell: &Shell, v: &ShellVector) -> usize {
        let (lengths, periodic) = (self.spec.lengths(), self.spec.periodic());
        let along = |d: usize| match periodic[d] {
            true => lengths[d],
            false => lengths[d].saturating_sub(v.step[d].unsigned_abs() as usize),
        };
        let cells = along(0) * along(1);
        if cells > 0 && self.shortest(v.vector) > shell.radius - SAME { cells } else { 0 }
    }

    fn pairs_at_steps(&self, shell: usize) -> Vec<Bond> {
        (0..self.sites)
            .flat_map(|i| {
                let steps = self.steps_from(i);
                (i + 1..self.sites).filter(move |j| steps[*j] == Some(shell)).map(move |j| (i, j))
            })
            .map(|(i, j)| Bond { i, j, weight: 1.0, kind: 0 })
            .collect()
    }

    /// Edges on the shortest path from `start` to each site.
    fn steps_from(&self, start: usize) -> Vec<Option<usize>> {
        let mut neighbors = vec![vec![]; self.sites];
        for bond in &self.nearest {
            neighbors[bond.i].push(bond.j);
            neighbors[bond.j].push(bond.i);
        }
        let mut steps = vec![None; self.sites];
        steps[start] = Some(0);
        let mut queue = VecDeque::from([(start, 0)]);
        while let Some((site, distance)) = queue.pop_front() {
            for &next in &neighbors[site] {
                if steps[next].is_none() {
                    steps[next] = Some(distance + 1);
                    queue.push_back((next, distance + 1));
                }
            }
        }
        steps
    }

    /// Length of the shortest of a vector's periodic images.
    fn shortest(&self, vector: [f64; 2]) -> f64 {
        self.images(vector).into_iter().map(length).fold(f64::INFINITY, f64::min)
    }

    /// A vector's periodic images of which one is the shortest: the nearest one along each of the two shortest periods, and those around it.
    fn images(&self, vector: [f64; 2]) -> [[f64; 2]; 9] {
        let vectors = primitive_vectors(self.spec.kind);
        let [short, long] = self.spec.shortest_periods().map(|period| cartesian(period, vectors));
        let minus = |a: [f64; 2], times: f64, b: [f64; 2]| [a[0] - times * b[0], a[1] - times * b[1]];
        // The period of an open direction is zero.
        let along = |a, b| if dot(b, b) > 0.0 { dot(a, b) / dot(b, b) } else { 0.0 };
        let across = minus(long, along(long, short), short);
        let near = minus(vector, along(vector, across).round(), long);
        let near = minus(near, along(near, short).round(), short);
        std::array::from_fn(|image| {
            let [n, m] = [image / 3, image % 3].map(|step| step as f64 - 1.0);
            minus(minus(near, n, short), m, long)
        })
    }
}

/// From basis site `from` of a cell to basis site `to` of the cell `step` further, at an angle in [0, π).
#[derive(Debug, Clone)]
pub(super) struct ShellVector {
    from: usize,
    to: usize,
    step: [i64; 2],
    vector: [f64; 2],
    /// Number of its angle in the shell.
    kind: usize,
}

/// The n-th neighbours on the infinite lattice.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    pub radius: f64,
    /// Angles of its directions, ascending in [0, π).
    pub angles: Vec<f64>,
    /// Half of the vectors; the others point back.
    pub vectors: Vec<ShellVector>,
}

/// The first shells of the infinite lattice, `count` of them, the nearest neighbours first.
pub(super) fn shells(kind: LatticeKind, count: usize) -> Vec<Shell> {
    let a = length(unit_cell(kind).vectors[0]);
    // A cell that is r + 1 rows away is at least (r + 1) a sin 60° off, its sites by one length less.
    let complete = |reach: i64| (reach + 1) as f64 * a * 0.866 - 1.0;
    let mut reach = 2 + count.isqrt() as i64;
    loop {
        let mut vectors = vectors_within(kind, reach);
        vectors.retain(|v| length(v.vector) < complete(reach));
        vectors.sort_by(|v, w| length(v.vector).total_cmp(&length(w.vector)));
        let shells: Vec<&[ShellVector]> =
            chunks(&vectors, |first, next| length(next.vector) - length(first.vector) < SAME);
        if shells.len() >= count {
            return shells[..count].iter().map(|vectors| Shell::new(vectors)).collect();
        }
        reach *= 2;
    }
}

/// Runs of elements that belong to the first of their run.
fn chunks<T>(mut rest: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<&[T]> {
    let mut runs = vec![];
    while let Some(first) = rest.first() {
        let (run, others) = rest.split_at(rest.iter().take_while(|next| same(first, next)).count().max(1));
        runs.push(run);
        rest = others;
    }
    runs
}

/// The vectors at angles in [0, π) to cells at most `reach` rows away.
fn vectors_within(kind: LatticeKind, reach: i64) -> Vec<ShellVector> {
    let cell = unit_cell(kind);
    let [a1, a2] = cell.vectors;
    let reach_2 = if kind == LatticeKind::Chain { 0 } else { reach };
    let mut vectors = vec![];
    for (n1, n2) in (-reach..=reach).flat_map(|n1| (-reach_2..=reach_2).map(move |n2| (n1, n2))) {
        for (from, start) in cell.basis.iter().enumerate() {
            for (to, end) in cell.basis.iter().enumerate() {
                let vector = [0, 1].map(|d| n1 as f64 * a1[d] + n2 as f64 * a2[d] + end[d] - start[d]);
                let [x, y] = vector;
                if y > SAME || (y.abs() <= SAME && x > SAME) {
                    vectors.push(ShellVector { from, to, step: [n1, n2], vector, kind: 0 });
                }
            }
        }
    }
    vectors
}

impl Shell {
    fn new(vectors: &[ShellVector]) -> Shell {
        let mut angles: Vec<f64> = vectors.iter().map(|v| angle(v.vector)).collect();
        angles.sort_by(f64::total_cmp);
        angles.dedup_by(|next, kept| *next - *kept < SAME);
        let numbered = |v: &ShellVector| ShellVector { kind: position(&angles, angle(v.vector)), ..v.clone() };
        let mut vectors: Vec<ShellVector> = vectors.iter().map(numbered).collect();
        vectors.sort_by_key(|v| (v.kind, v.from));
        Shell { radius: length(vectors[0].vector), angles, vectors }
    }
}

fn length([x, y]: [f64; 2]) -> f64 {
    x.hypot(y)
}

/// Angle of an undirected line in [0, π).
fn angle([x, y]: [f64; 2]) -> f64 {
    let angle = y.atan2(x).rem_euclid(PI);
    if PI - angle < SAME { 0.0 } else { angle }
}

fn position(angles: &[f64], angle: f64) -> usize {
    angles.iter().position(|known| (known - angle).abs() < SAME).unwrap_or(0)
}
