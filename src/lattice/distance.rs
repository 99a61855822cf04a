//! Distances and neighbour shells.
//!
//! In: two sites, or the number of a shell. Out: the shortest distance around periodic directions (minimum image), or the
//! bonds of that shell. Shell n is the n-th distance of the *infinite* lattice (square: 1, √2, 2, √5, …; chain: 1, 2, 3),
//! so that a small cluster never renames its second neighbours. An explicit edge list has no geometry: its distance is the
//! number of edges on the shortest path.

use super::cell::unit_cell;
use super::{Bond, Lattice, LatticeKind};
use std::collections::VecDeque;
use std::f64::consts::PI;

const SAME: f64 = 1e-9;

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
        self.images(i, j).into_iter().map(length).fold(f64::INFINITY, f64::min)
    }

    /// The bonds between n-th neighbours (`shell` 1 = nearest, 2 = next-nearest, …), each pair once, sorted by (i, j), of
    /// weight 1 (with [`Lattice::double_bonds`]: the number of ways around the torus). `kind` counts the directions of
    /// the shell by angle from the x axis. Shell 0 is empty.
    ///
    /// For t' or J2: `lattice.bonds_at(2)`.
    pub fn bonds_at(&self, shell: usize) -> Vec<Bond> {
        match shell {
            0 => vec![],
            1 => self.nearest.clone(),
            _ if self.spec.kind == LatticeKind::Edges => self.pairs_at_steps(shell),
            _ => self.pairs_at_distance(shell),
        }
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

    /// Number of kinds (directions) in a shell beyond the first.
    pub(super) fn shell_kinds(&self, shell: usize) -> usize {
        if self.spec.kind == LatticeKind::Edges { 1 } else { self.shell(shell).1.len() }
    }

    fn pairs_at_distance(&self, shell: usize) -> Vec<Bond> {
        let (radius, angles) = self.shell(shell);
        let mut bonds = vec![];
        for i in 0..self.sites {
            for j in i + 1..self.sites {
                let images = self.images(i, j);
                if (images.iter().copied().map(length).fold(f64::INFINITY, f64::min) - radius).abs() > SAME {
                    continue;
                }
                let at_radius = images.into_iter().filter(|image| (length(*image) - radius).abs() < SAME);
                let kinds: Vec<usize> = at_radius.filter_map(|image| position(&angles, angle(image))).collect();
                let weight = if self.spec.double_bonds { kinds.len() as f64 } else { 1.0 };
                bonds.push(Bond { i, j, weight, kind: kinds.into_iter().min().unwrap_or(0) });
            }
        }
        bonds
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

    /// Vectors from i to j and its periodic images; all that can be shortest are among them.
    fn images(&self, i: usize, j: usize) -> Vec<[f64; 2]> {
        let [a1, a2] = unit_cell(self.spec.kind).vectors;
        let (lengths, periodic) = (self.spec.lengths(), self.spec.periodic());
        // On a skewed torus that is much longer one way, several turns the short way may be needed.
        let turns = |d: usize| match (periodic[d], periodic[1 - d]) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 1 + lengths[1 - d].div_ceil(lengths[d]) as i64,
        };
        let (turns_1, turns_2) = (turns(0), turns(1));
        let (dx, dy) = (self.xs[j] - self.xs[i], self.ys[j] - self.ys[i]);
        let (l1, l2) = (lengths[0] as f64, lengths[1] as f64);
        let mut out = Vec::with_capacity(((2 * turns_1 + 1) * (2 * turns_2 + 1)) as usize);
        for n1 in -turns_1..=turns_1 {
            for n2 in -turns_2..=turns_2 {
                let (t1, t2) = (n1 as f64 * l1, n2 as f64 * l2);
                out.push([dx + t1 * a1[0] + t2 * a2[0], dy + t1 * a1[1] + t2 * a2[1]]);
            }
        }
        out
    }

    /// Distance of shell n of the infinite lattice and the angles of its directions, ascending in [0, π).
    fn shell(&self, shell: usize) -> (f64, Vec<f64>) {
        let cell = unit_cell(self.spec.kind);
        // n steps along a1 already give n distances, so no cell farther than 2 n + 2 can hold the n-th (angles are 60° or
        // more).
        let reach = 2 * shell as i64 + 2;
        let reach_2 = if self.spec.kind == LatticeKind::Chain { 0 } else { reach };
        let [a1, a2] = cell.vectors;
        let mut vectors = vec![];
        for (n1, n2) in (-reach..=reach).flat_map(|n1| (-reach_2..=reach_2).map(move |n2| (n1 as f64, n2 as f64))) {
            for from in &cell.basis {
                for to in &cell.basis {
                    let vector = [0, 1].map(|d| n1 * a1[d] + n2 * a2[d] + to[d] - from[d]);
                    if length(vector) > SAME {
                        vectors.push(vector);
                    }
                }
            }
        }
        let mut radii: Vec<f64> = vectors.iter().copied().map(length).collect();
        radii.sort_by(f64::total_cmp);
        radii.dedup_by(|next, kept| *next - *kept < SAME);
        let radius = radii[shell - 1];
        let mut angles: Vec<f64> =
            vectors.into_iter().filter(|vector| (length(*vector) - radius).abs() < SAME).map(angle).collect();
        angles.sort_by(f64::total_cmp);
        angles.dedup_by(|next, kept| *next - *kept < SAME);
        (radius, angles)
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

fn position(angles: &[f64], angle: f64) -> Option<usize> {
    angles.iter().position(|known| (known - angle).abs() < SAME)
}
