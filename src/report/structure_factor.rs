//! The static structure factor of spins, and its picture.
//!
//! In: ⟨S_i·S_j⟩ (else ⟨Sᶻ_i Sᶻ_j⟩) of all pairs of sites, where they were measured, and the positions of the sites. Out:
//!
//! S(q) = 1/N Σ_ij e^(−iq·(r_i − r_j)) ⟨S_i·S_j⟩
//!
//! at the wave vectors of the cluster: those of its periods, and along an open direction those that it would have if it were periodic.

use super::plot::{Axis, Series, Style, chart, picture};
use super::{ClusterRecord, MomentumRecord, ReportError};
use crate::lattice::LatticeKind;
use crate::observable::Averages;
use ndarray::ArrayView2;
use plotters::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The most products of a site, a site and a wave vector: a second.
const MOST_WORK: usize = 1 << 28;

/// The structure factor of spins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructureFactor {
    /// The pair average that it is of: "sdots" or "szsz".
    pub observable: String,
    /// Its values.
    pub values: Vec<StructureFactorValue>,
}

/// The structure factor at a wave vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructureFactorValue {
    /// q.
    #[serde(flatten)]
    pub momentum: MomentumRecord,
    /// S(q).
    pub value: f64,
}

impl StructureFactor {
    /// The structure factor; `None` without pair averages of spins, without positions, and of very large clusters.
    pub fn new(averages: &Averages, cluster: &ClusterRecord) -> Option<StructureFactor> {
        let (name, pairs) = ["sdots", "szsz"].into_iter().find_map(|name| Some((name, averages.pairs(name)?)))?;
        let (sites, vectors) = (cluster.positions.len(), cluster.wave_vectors());
        let work = sites.saturating_mul(sites).saturating_mul(vectors.len());
        if vectors.is_empty() || pairs.dim() != (sites, sites) || work > MOST_WORK {
            return None;
        }
        let value = |momentum: MomentumRecord| {
            let value = sum(pairs, &cluster.positions, momentum.cartesian);
            StructureFactorValue { momentum, value }
        };
        Some(StructureFactor { observable: name.into(), values: vectors.into_iter().map(value).collect() })
    }

    /// S(q) along the wave vectors of a chain, of the legs of a ladder, or between points of high symmetry, beside a map of all.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn svg(&self, model: &str, cluster: &ClusterRecord) -> Result<String, ReportError> {
        let title = format!("{model}: structure factor");
        let name = if self.observable == "sdots" { "S(q)" } else { "Szz(q)" };
        let value = Axis { includes: vec![0.0], ..Axis::new(name) };
        let lines = self.lines(cluster);
        if cluster.size.len() < 2 || matches!(cluster.kind, Some(LatticeKind::Chain | LatticeKind::Ladder)) {
            let axis = Axis::new("q / π");
            return picture((800, 480), |area| {
                Ok(chart(area, &title, [&axis, &value], &lines).map_err(|error| error.to_string())?)
            });
        }
        let (axis, path) = self.path(cluster);
        picture((1000, 480), |area| {
            let (left, right) = area.split_horizontally(500);
            self.map(&left, &title).map_err(|error| error.to_string())?;
            chart(&right, "", [&axis, &value], std::slice::from_ref(&path)).map_err(|error| error.to_string())?;
            Ok(())
        })
    }

    /// S(q) along the first direction, a line for each component along the second.
    fn lines(&self, cluster: &ClusterRecord) -> Vec<Series> {
        let mut lines: Vec<(f64, Vec<(f64, f64)>)> = Vec::new();
        for StructureFactorValue { momentum, value } in &self.values {
            let across = momentum.fraction[1];
            let at = (2.0 * momentum.fraction[0], *value);
            match lines.iter_mut().find(|(known, _)| (known - across).abs() < 1e-9) {
                Some((_, points)) => points.push(at),
                None => lines.push((across, vec![at])),
            }
        }
        let named = lines.len() > 1;
        let series = |(across, mut points): (f64, Vec<(f64, f64)>)| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            // S(2π) is S(0), where all sites have one position in their cell.
            if let (Some(first), true) = (points.first().copied(), cluster.size.len() < 2 || named) {
                points.push((2.0, first.1));
            }
            let name = if named { format!("q_y = {} π", 2.0 * across) } else { String::new() };
            Series { name, points, style: Style::Joined }
        };
        lines.into_iter().map(series).collect()
    }

    /// S(q) between points of high symmetry.
    fn path(&self, cluster: &ClusterRecord) -> (Axis, Series) {
        let third = 1.0 / 3.0;
        let corners: [(&str, [f64; 2]); 4] = match cluster.kind {
            Some(LatticeKind::Triangular) => {
                [("Γ", [0.0, 0.0]), ("M", [0.5, 0.0]), ("K", [third, third]), ("Γ", [0.0, 0.0])]
            }
            Some(LatticeKind::Honeycomb | LatticeKind::Kagome) => {
                [("Γ", [0.0, 0.0]), ("M", [0.5, 0.5]), ("K", [third, 2.0 * third]), ("Γ", [0.0, 0.0])]
            }
            _ => [("Γ", [0.0, 0.0]), ("X", [0.5, 0.0]), ("M", [0.5, 0.5]), ("Γ", [0.0, 0.0])],
        };
        let cartesian = |fraction: [f64; 2]| cluster.cartesian(fraction);
        let length = |a: [f64; 2], b: [f64; 2]| {
            let (a, b) = (cartesian(a), cartesian(b));
            (a[0] - b[0]).hypot(a[1] - b[1])
        };
        let (mut axis, mut points, mut start) = (Axis::new("q"), Vec::new(), 0.0);
        axis.ticks.push((0.0, corners[0].0.into()));
        for pair in corners.windows(2) {
            let (from, to) = (pair[0].1, pair[1].1);
            let whole = length(from, to);
            for StructureFactorValue { momentum, value } in &self.values {
                let images = (-1..=1).flat_map(|x| (-1..=1).map(move |y| [f64::from(x), f64::from(y)]));
                for image in images.map(|image| [0, 1].map(|d| momentum.fraction[d] + image[d])) {
                    let (before, behind) = (length(from, image), length(image, to));
                    if before + behind - whole < 1e-9 {
                        points.push((start + before, *value));
                    }
                }
            }
            start += whole;
            axis.ticks.push((start, pair[1].0.into()));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9);
        (axis, Series { name: String::new(), points, style: Style::Joined })
    }

    /// All wave vectors around Γ, the area of a circle being S(q).
    fn map<'a>(&self, area: &super::plot::Area<'a>, title: &str) -> Result<(), Box<dyn std::error::Error + 'a>> {
        const LARGEST: f64 = 18.0;
        let most = self.values.iter().map(|found| found.value).fold(0.0, f64::max);
        let nearest = |momentum: &MomentumRecord| {
            let moved = (-2..=1).flat_map(|x| (-2..=1).map(move |y| [f64::from(x), f64::from(y)]));
            let [b1, b2] = self.reciprocal();
            let at = moved.map(|[x, y]| [0, 1].map(|axis| momentum.cartesian[axis] + x * b1[axis] + y * b2[axis]));
            at.min_by(|a, b| {
                // Of equally near ones that on the right, then the upper one.
                let key = |q: &[f64; 2]| (q[0].hypot(q[1]) * 1e6).round();
                key(a).total_cmp(&key(b)).then(b[0].total_cmp(&a[0])).then(b[1].total_cmp(&a[1]))
            })
            .unwrap_or(momentum.cartesian)
            .map(|part| part / PI)
        };
        let points: Vec<([f64; 2], f64)> =
            self.values.iter().map(|found| (nearest(&found.momentum), found.value)).collect();
        let reach = points.iter().flat_map(|(at, _)| at).fold(0.0f64, |most, part| most.max(part.abs())) * 1.2;
        let reach = reach.max(0.1);
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .caption(title, ("sans-serif", 17))
            .x_label_area_size(48)
            .y_label_area_size(64)
            .build_cartesian_2d(-reach..reach, -reach..reach)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc("q_x / π")
            .y_desc("q_y / π")
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&|x| format!("{x:.1}").replace('-', "−"))
            .y_label_formatter(&|y| format!("{y:.1}").replace('-', "−"))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .draw()?;
        chart.draw_series(points.into_iter().map(|([x, y], value)| {
            let radius = (LARGEST * (value.max(0.0) / most.max(1e-300)).sqrt()).round().max(1.0) as i32;
            Circle::new((x, y), radius, super::plot::colour(0).mix(0.7).filled())
        }))?;
        Ok(())
    }

    /// Reciprocal vectors, from two wave vectors whose fractions are known; unit vectors where there are none.
    fn reciprocal(&self) -> [[f64; 2]; 2] {
        let of = |direction: usize| {
            let alone =
                self.values.iter().map(|found| &found.momentum).find(|momentum| {
                    momentum.fraction[direction] > 0.0 && momentum.fraction[1 - direction].abs() < 1e-12
                });
            alone.map_or([0.0, 0.0], |momentum| momentum.cartesian.map(|part| part / momentum.fraction[direction]))
        };
        [of(0), of(1)]
    }
}

/// Σ_ij e^(−iq·(r_i − r_j)) C_ij / N of a symmetric C.
fn sum(pairs: ArrayView2<'_, f64>, positions: &[[f64; 2]], q: [f64; 2]) -> f64 {
    let angles: Vec<f64> = positions.iter().map(|r| q[0] * r[0] + q[1] * r[1]).collect();
    let (sines, cosines): (Vec<f64>, Vec<f64>) = angles.iter().map(|angle| angle.sin_cos()).unzip();
    let mut total = 0.0;
    for (i, row) in pairs.rows().into_iter().enumerate() {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (j, value) in row.iter().enumerate() {
            real += value * cosines[j];
            imaginary += value * sines[j];
        }
        total += cosines[i] * real + sines[i] * imaginary;
    }
    total / positions.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Lattice;
    use crate::observable::Average;
    use ndarray::Array2;

    /// Of the Néel state, ⟨S_i·S_j⟩ = ±1/4 of different sites and 3/4 of one, S(π) = N/4 + 1/2 and S(q) = 1/2 elsewhere.
    #[test]
    fn a_neel_state_has_its_weight_at_pi() {
        for lattice in [Lattice::chain(8).periodic(), Lattice::square([4, 4]).periodic(), Lattice::ladder([6, 2])] {
            let cluster = ClusterRecord::new(&lattice);
            let n = cluster.sites;
            let sign = |site: usize| {
                let [x, y] = cluster.positions[site];
                if (x + y).round() as i64 % 2 == 0 { 1.0 } else { -1.0 }
            };
            let pairs = Array2::from_shape_fn((n, n), |(i, j)| if i == j { 0.75 } else { 0.25 * sign(i) * sign(j) });
            let averages: Averages = [("sdots".to_string(), Average::Pairs(pairs))].into_iter().collect();
            let found = StructureFactor::new(&averages, &cluster).unwrap();
            assert_eq!(found.values.len(), n, "{lattice}");
            for StructureFactorValue { momentum, value } in &found.values {
                let second = cluster.size.len() == 1 || momentum.fraction[1] == 0.5;
                let expected = if momentum.fraction[0] == 0.5 && second { 0.25 * n as f64 + 0.5 } else { 0.5 };
                assert!((value - expected).abs() < 1e-12, "{lattice}: {momentum:?} {value}");
            }
            assert!(found.svg("xxz", &cluster).unwrap().contains("S(q)"));
        }
    }
}
