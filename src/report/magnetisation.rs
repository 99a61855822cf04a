//! The magnetisation against the field, from the energies of the sectors of 2Sz.
//!
//! In: the lowest energy E(2Sz) of each sector. Out: the steps of Sz in the lowest state of H − h Sz, h ≥ 0. These are the corners of the lower
//! convex hull of E against Sz: between neighbours m < m' of it the state changes at h = (E(m') − E(m)) / (m' − m).

use super::{ParameterSweepRecord, SweptOutcome};
use eigenforge_runtime::solvers::SpectrumPart;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The key of 2Sz.
const TWO_SZ: &str = "sector.two_sz";

/// The magnetisation against the field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Magnetisation {
    /// The values of 2Sz that the lowest state has, ascending.
    pub steps: Vec<MagnetisationStep>,
}

/// Fields with one magnetisation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MagnetisationStep {
    /// 2Sz of the lowest state of H − h Sz.
    pub two_sz: i64,
    /// The lowest energy of H in that sector.
    pub energy: f64,
    /// The lowest field h.
    pub from: f64,
    /// The highest; `null` of the last.
    pub to: Option<f64>,
}

impl ParameterSweepRecord {
    /// The magnetisation; `None` unless the sectors of several 2Sz ≥ 0 were solved and nothing but charges and symmetries changes.
    pub fn magnetisation(&self) -> Option<Magnetisation> {
        let of_sectors = |key: &String| key.starts_with("symmetry.") || key == TWO_SZ;
        if self.part() != SpectrumPart::Lowest
            || !self.keys.iter().any(|key| key == TWO_SZ)
            || !self.keys.iter().all(of_sectors)
            || !self.converged()
        {
            return None;
        }
        let two_sz = |point: &SweptOutcome| point.values.get(TWO_SZ).and_then(Value::as_i64);
        let mut lowest: BTreeMap<i64, f64> = BTreeMap::new();
        for point in &self.points {
            let energy = point.energies.first().copied().filter(|energy| energy.is_finite())?;
            let known = lowest.entry(two_sz(point)?).or_insert(energy);
            *known = known.min(energy);
        }
        lowest.retain(|two_sz, _| *two_sz >= 0);
        let mut hull: Vec<(i64, f64)> = Vec::new();
        let field = |a: (i64, f64), b: (i64, f64)| 2.0 * (b.1 - a.1) / (b.0 - a.0) as f64;
        for corner in lowest {
            while let [.., before, last] = hull[..]
                && field(last, corner) <= field(before, last)
            {
                hull.pop();
            }
            // Of h ≥ 0 only.
            while let [last] = hull[..]
                && field(last, corner) < 0.0
            {
                hull.pop();
            }
            hull.push(corner);
        }
        if hull.len() < 2 {
            return None;
        }
        let fields: Vec<f64> = hull.windows(2).map(|pair| field(pair[0], pair[1])).collect();
        let step = |(number, (two_sz, energy)): (usize, (i64, f64))| MagnetisationStep {
            two_sz,
            energy,
            from: if number == 0 { 0.0 } else { fields[number - 1] },
            to: fields.get(number).copied(),
        };
        Some(Magnetisation { steps: hull.into_iter().enumerate().map(step).collect() })
    }
}
