//! The momenta of a spectrum, in the order in which they are drawn.
//!
//! In: a cluster, what `q` asks for. Out: momenta. A path leads from Γ by the points of high symmetry back to Γ, of a chain to π; it has the
//! momenta of the cluster that lie on it.

use crate::input::{InputProblem, ModelFile, SpectrumSpec, WantedMomenta, Wrong};
use crate::lattice::LatticeKind;
use crate::report::{ClusterRecord, MomentumRecord};

/// A momentum with the part of the path before it.
pub(super) type OnPath = (f64, MomentumRecord);

/// The points of a path, in parts of a turn along a1 and a2.
fn corners(kind: LatticeKind) -> &'static [[f64; 2]] {
    const HALF: f64 = 0.5;
    const THIRD: f64 = 1.0 / 3.0;
    match kind {
        LatticeKind::Chain | LatticeKind::Ladder | LatticeKind::Edges => &[[0.0, 0.0], [HALF, 0.0]],
        LatticeKind::Square => &[[0.0, 0.0], [HALF, 0.0], [HALF, HALF], [0.0, 0.0]],
        LatticeKind::Triangular => &[[0.0, 0.0], [HALF, 0.0], [THIRD, THIRD], [0.0, 0.0]],
        LatticeKind::Honeycomb | LatticeKind::Kagome => &[[0.0, 0.0], [HALF, HALF], [2.0 * THIRD, THIRD], [0.0, 0.0]],
    }
}

/// What is nothing beside a reciprocal vector.
const NEAR: f64 = 1e-9;

/// The momenta that a file asks for; `in_sectors` where only those of the cluster's translations lead to sectors.
///
/// # Errors
/// A momentum that the cluster has not; a lattice without momenta.
pub(super) fn momenta(file: &ModelFile, spec: &SpectrumSpec, in_sectors: bool) -> Result<Vec<OnPath>, InputProblem> {
    let cluster = ClusterRecord::new(&file.lattice);
    let known = if in_sectors { cluster.momenta.clone() } else { cluster.wave_vectors() };
    let refused = |expected: String, found: String| InputProblem {
        what: Wrong::OutOfRange { key: "q".into(), expected, found },
        span: spec.q_span.clone(),
    };
    let known: Vec<MomentumRecord> = known.into_iter().map(|q| shortest(&cluster, q)).collect();
    if known.is_empty() {
        let found = "a list of edges, whose sites have no positions".into();
        return Err(refused("left out, with an operator of no momentum: a text without `phase(i)`".into(), found));
    }
    Ok(match &spec.q {
        WantedMomenta::All => known.into_iter().enumerate().map(|(place, q)| (place as f64, q)).collect(),
        WantedMomenta::Path => along(&cluster, corners(file.lattice.kind()), &known),
        WantedMomenta::List(list) => {
            let find = |(place, k): (usize, &Vec<i64>)| match known.iter().find(|q| q.k == *k) {
                Some(q) => Ok((place as f64, q.clone())),
                None => {
                    let last = known.last().map_or(Vec::new(), |q| q.k.clone());
                    Err(refused(format!("momenta from {:?} to {last:?}", known[0].k), format!("{k:?}")))
                }
            };
            list.iter().enumerate().map(find).collect::<Result<_, _>>()?
        }
    })
}

/// The same momentum in the first zone.
fn shortest(cluster: &ClusterRecord, q: MomentumRecord) -> MomentumRecord {
    let mut least = q.cartesian;
    for (x, y) in (-2..=1).flat_map(|x| (-2..=1).map(move |y| (x, y))) {
        let there = cluster.cartesian([q.fraction[0] + f64::from(x), q.fraction[1] + f64::from(y)]);
        if there[0].hypot(there[1]) < least[0].hypot(least[1]) - NEAR {
            least = there;
        }
    }
    MomentumRecord { cartesian: least, ..q }
}

/// The momenta on the lines between corners.
fn along(cluster: &ClusterRecord, corners: &[[f64; 2]], known: &[MomentumRecord]) -> Vec<OnPath> {
    let mut found: Vec<OnPath> = Vec::new();
    let mut before = 0.0;
    for line in corners.windows(2) {
        let [from, to] = [line[0], line[1]].map(|corner| cluster.cartesian(corner));
        let step = [to[0] - from[0], to[1] - from[1]];
        let length = step[0].hypot(step[1]);
        let mut on_line: Vec<OnPath> = Vec::new();
        for q in known {
            for (x, y) in (-2..=2).flat_map(|x| (-2..=2).map(move |y| (x, y))) {
                let at = cluster.cartesian([q.fraction[0] + f64::from(x), q.fraction[1] + f64::from(y)]);
                let apart = [at[0] - from[0], at[1] - from[1]];
                let part = (apart[0] * step[0] + apart[1] * step[1]) / (length * length);
                let aside = (apart[0] * step[1] - apart[1] * step[0]).abs() / length;
                if aside < NEAR && (-NEAR..=1.0 + NEAR).contains(&part) {
                    on_line.push((before + part * length, MomentumRecord { cartesian: at, ..q.clone() }));
                }
            }
        }
        on_line.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Along an open or short direction every multiple of a reciprocal vector is the same momentum.
        on_line.dedup_by(|a, b| (a.0 - b.0).abs() < NEAR);
        // A corner belongs to both of its lines.
        let known_corner = |(at, _): &OnPath| found.last().is_some_and(|last| (last.0 - at).abs() < NEAR);
        let skip = usize::from(on_line.first().is_some_and(known_corner));
        found.extend(on_line.into_iter().skip(skip));
        before += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Lattice;

    #[test]
    fn paths_lead_from_point_to_point() {
        let path = |lattice: Lattice| {
            let cluster = ClusterRecord::new(&lattice);
            along(&cluster, corners(lattice.kind()), &cluster.momenta).into_iter().map(|(_, q)| q.k).collect::<Vec<_>>()
        };
        assert_eq!(path(Lattice::chain(6).periodic()), [[0], [1], [2], [3]]);
        let square = path(Lattice::square([4, 4]).periodic());
        assert_eq!(square, [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 1], [0, 0]]);
        let triangular = path(Lattice::triangular([6, 6]).periodic());
        assert_eq!(triangular.first(), Some(&vec![0, 0]));
        assert!(triangular.contains(&vec![3, 0]) && triangular.contains(&vec![2, 2]), "{triangular:?}");
        assert_eq!(triangular.last(), Some(&vec![0, 0]));
    }
}
