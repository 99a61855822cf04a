//! Pictures of a DMRG run: energy.svg and entropy.svg.
//!
//! In: a [`ChainRecord`] and the lowest energy. Out: SVG text, its fonts the viewer's. energy.svg: how far each sweep is above the lowest energy and
//! what it discards, logarithmic, and beside it the energies against the discarded weight with the line to no weight, where
//! several weights were discarded. entropy.svg: the entropy of every cut.

use super::picture_style::{BLUE, RED, draw_key, integer_label, stroke};
use super::plot::{Axis, Series, Style, chart};
use super::{ChainRecord, ReportError};
use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (1000, 440);

type Fault = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl ChainRecord {
    /// Energy and discarded weight by sweep, and the extrapolation where there are two weights to extrapolate from; `unit` is that of
    /// energies as labels have it, " / J".
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn energy_svg(&self, model: &str, unit: &str, lowest: f64) -> Result<String, ReportError> {
        let points = self.energies_by_weight();
        picture(|root| {
            if !has_two_weights(&points) {
                return self.draw_sweeps(root, model, unit, lowest);
            }
            let (left, right) = root.split_horizontally(SIZE.0 as i32 * 11 / 20);
            self.draw_sweeps(&left, model, unit, lowest)?;
            self.draw_extrapolation(&right, unit, &points)
        })
    }

    /// Entropy by cut.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn entropy_svg(&self, model: &str) -> Result<String, ReportError> {
        picture(|root| self.draw_entropy(root, model))
    }

    fn draw_sweeps(&self, area: &Area<'_>, model: &str, unit: &str, lowest: f64) -> Result<(), Fault> {
        // A state without truncation can lie below the best sweep by its rounding: what is shown is above the lowest of all.
        let lowest = self.search.sweeps.iter().map(|sweep| sweep.energy).fold(lowest, f64::min);
        let points = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            let all = (0..self.search.sweeps.len()).map(|sweep| (sweep as f64, value(sweep)));
            all.filter(|(_, value)| value.is_finite() && *value > 1e-18).collect()
        };
        let above = points(&|sweep| self.search.sweeps[sweep].energy - lowest);
        let discarded = points(&|sweep| self.search.sweeps[sweep].discarded);
        let values = || above.iter().chain(&discarded).map(|point| point.1);
        let low = values().fold(f64::INFINITY, f64::min).clamp(1e-18, 1e-2);
        let high = values().fold(0.0, f64::max).max(10.0 * low);
        // Whole decades, so that the axis labels are powers of ten.
        let range = 10f64.powf(low.log10().floor())..10f64.powf(high.log10().ceil());
        let end = self.search.sweeps.len().saturating_sub(1).max(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .caption(format!("{model}: sweeps, lowest energy {lowest:.8}"), ("sans-serif", 20))
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..end, range.log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("sweep")
            .y_desc(format!("above the lowest energy{unit}; discarded weight"))
            .x_label_formatter(&|x| integer_label(*x))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .label_style(("sans-serif", 14))
            .draw()?;
        for (points, colour, name) in [(above, BLUE, "energy above the lowest"), (discarded, RED, "discarded weight")] {
            // The lowest sweep has no place on the axis; a line across it would show one.
            for run in points.chunk_by(|before, after| after.0 - before.0 == 1.0) {
                chart.draw_series(LineSeries::new(run.to_vec(), colour.stroke_width(2)).point_size(3))?;
            }
            chart
                .draw_series(LineSeries::new(std::iter::empty(), colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| stroke((x, y), colour.stroke_width(2)));
        }
        draw_key(&mut chart)?;
        Ok(())
    }

    /// (discarded weight, energy) of the last sweep without noise of each number of states, as the extrapolation takes them.
    fn energies_by_weight(&self) -> Vec<(f64, f64)> {
        let last = self.search.sweeps.iter().rev().filter(|sweep| sweep.noise == 0.0);
        let mut seen = Vec::new();
        last.filter(|sweep| {
            !seen.contains(&sweep.states) && {
                seen.push(sweep.states);
                true
            }
        })
        .map(|sweep| (sweep.discarded, sweep.energy))
        .collect()
    }

    fn draw_extrapolation(&self, area: &Area<'_>, unit: &str, points: &[(f64, f64)]) -> Result<(), Fault> {
        let line = self.search.extrapolated.map(|found| (0.0, found.energy));
        let least = points.iter().copied().chain(line).map(|point| point.1).fold(f64::INFINITY, f64::min);
        // Differences are what is seen; the full energy is in the caption. Those below the rounding of the energy are none.
        let rounding = 4.0 * f64::EPSILON * least.abs();
        let shown = |(weight, energy): (f64, f64)| {
            let above = energy - least;
            (weight, if above.abs() <= rounding { 0.0 } else { above })
        };
        let mut series = vec![Series {
            name: String::new(),
            points: points.iter().copied().map(shown).collect(),
            style: Style::Marks,
        }];
        let farthest = points.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some(found), Some(farthest)) = (self.search.extrapolated, farthest) {
            let (_, middle) = shown((0.0, found.energy));
            let line = [(0.0, middle - found.error), (0.0, middle + found.error), (0.0, middle), shown(farthest)];
            series.push(Series { name: String::new(), points: line.to_vec(), style: Style::Line });
        }
        let mut weight = Axis::new("discarded weight");
        (weight.includes, weight.least) = (vec![0.0], Some(0.0));
        let mut energy = Axis::new(format!("above the lowest energy{unit}"));
        energy.includes = vec![0.0];
        chart(area, &format!("lowest {least:.10}"), [&weight, &energy], &series).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn draw_entropy(&self, area: &Area<'_>, model: &str) -> Result<(), Fault> {
        let points: Vec<(f64, f64)> = self.search.cuts.iter().map(|cut| (cut.left_sites as f64, cut.entropy)).collect();
        let high = points.iter().map(|point| point.1).fold(0.0, f64::max).max(1e-3) * 1.1;
        let end = self.order.len().max(2) as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .caption(format!("{model}: entropy of each cut"), ("sans-serif", 20))
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..end, 0.0..high)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("sites to the left of the cut")
            .y_desc("-Σ w ln w")
            .x_label_formatter(&|x| integer_label(*x))
            .label_style(("sans-serif", 14))
            .draw()?;
        chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)).point_size(2))?;
        Ok(())
    }
}

/// Whether weights differ by more than the rounding of their sum, which is 1.
fn has_two_weights(points: &[(f64, f64)]) -> bool {
    let weights = || points.iter().map(|point| point.0);
    weights().fold(0.0, f64::max) - weights().fold(1.0, f64::min) > f64::EPSILON
}

fn picture(draw: impl FnOnce(&Area<'_>) -> Result<(), Fault>) -> Result<String, ReportError> {
    let mut text = String::new();
    let drawn = || -> Result<(), Fault> {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        draw(&root)?;
        root.present()?;
        Ok(())
    };
    drawn().map_err(|error| ReportError::Picture(error.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_weight_is_nothing_to_extrapolate_from() {
        assert!(
            !has_two_weights(&[])
                && !has_two_weights(&[(0.0, -1.0)])
                && !has_two_weights(&[(1e-7, -1.0), (1e-7, -1.1)])
        );
        assert!(has_two_weights(&[(0.0, -1.1), (1e-9, -1.0)]));
    }
}
