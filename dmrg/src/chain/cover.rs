//! Minimum vertex cover of a bipartite graph (Kőnig 1931): the fewest vertices that touch every edge.
//!
//! In: for each left vertex the right vertices it is joined to. Out: which vertices are taken. A maximum matching is
//! grown by augmenting paths; with Z the vertices reached from unmatched left ones along alternating paths, the cover is
//! (left outside Z) ∪ (right inside Z).

/// The vertices that are taken.
#[derive(Debug, PartialEq)]
pub(crate) struct Cover {
    /// One per left vertex.
    pub left: Vec<bool>,
    /// One per right vertex.
    pub right: Vec<bool>,
}

/// The cover of a graph with `right` right vertices.
pub(crate) fn minimum_cover(edges: &[Vec<usize>], right: usize) -> Cover {
    let mut matching = Matching { of_left: vec![None; edges.len()], of_right: vec![None; right] };
    for vertex in 0..edges.len() {
        matching.augment(vertex, edges);
    }
    let (mut reached_left, mut reached_right) = (vec![false; edges.len()], vec![false; right]);
    let mut pending: Vec<usize> = (0..edges.len()).filter(|vertex| matching.of_left[*vertex].is_none()).collect();
    while let Some(vertex) = pending.pop() {
        if std::mem::replace(&mut reached_left[vertex], true) {
            continue;
        }
        for &joined in &edges[vertex] {
            if !std::mem::replace(&mut reached_right[joined], true) {
                pending.extend(matching.of_right[joined]);
            }
        }
    }
    Cover { left: reached_left.iter().map(|reached| !reached).collect(), right: reached_right }
}

struct Matching {
    of_left: Vec<Option<usize>>,
    of_right: Vec<Option<usize>>,
}

impl Matching {
    /// Breadth-first search for an augmenting path from an unmatched left vertex; flips it.
    fn augment(&mut self, start: usize, edges: &[Vec<usize>]) {
        let mut came_from = vec![None; self.of_right.len()];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for &joined in &edges[vertex] {
                if came_from[joined].is_some() {
                    continue;
                }
                came_from[joined] = Some(vertex);
                match self.of_right[joined] {
                    Some(next) => queue.push_back(next),
                    None => return self.flip(joined, &came_from),
                }
            }
        }
    }

    fn flip(&mut self, end: usize, came_from: &[Option<usize>]) {
        let mut free = Some(end);
        while let Some(right) = free {
            let Some(left) = came_from[right] else { return };
            free = self.of_left[left].replace(right);
            self.of_right[right] = Some(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::seeded::element;

    /// The smallest cover by trying all subsets.
    fn smallest(edges: &[Vec<usize>], right: usize) -> usize {
        let covers = |set: u32| {
            edges
                .iter()
                .enumerate()
                .all(|(l, joined)| joined.iter().all(|r| set >> l & 1 == 1 || set >> (edges.len() + r) & 1 == 1))
        };
        (0u32..1 << (edges.len() + right)).filter(|set| covers(*set)).map(u32::count_ones).min().unwrap() as usize
    }

    #[test]
    fn it_covers_every_edge_with_as_few_vertices_as_exhaustive_search_finds() {
        for seed in 0..60u64 {
            let (left, right) = (1 + seed as usize % 6, 1 + seed as usize / 7 % 6);
            let density = 0.1 + 0.1 * (seed % 9) as f64;
            let joined = |l: usize| {
                let there = |r: &usize| element(seed, (l * right + r) as u64) < 2.0 * density - 1.0;
                (0..right).filter(there).collect::<Vec<_>>()
            };
            let edges: Vec<Vec<usize>> = (0..left).map(joined).collect();
            let cover = minimum_cover(&edges, right);
            for (l, joined) in edges.iter().enumerate() {
                assert!(joined.iter().all(|r| cover.left[l] || cover.right[*r]), "seed {seed}");
            }
            let taken = cover.left.iter().chain(&cover.right).filter(|taken| **taken).count();
            assert_eq!(taken, smallest(&edges, right), "seed {seed}: {edges:?}");
        }
    }
}
