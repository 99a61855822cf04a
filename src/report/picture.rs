//! convergence.svg: residual norm and energy above the lowest against the iteration, logarithmic.
//!
//! In: the history of a diagonalisation. Out: SVG text; its fonts are the viewer's, so nothing is needed to draw it.

use super::picture_style::{BLUE, RED, draw_key, integer_label, stroke};
use super::{HistoryPoint, Outcome, ReportError};
use eigenforge_runtime::solvers::SpectrumPart;
use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 480);

impl Outcome {
    /// The picture; the error of an iteration is its lowest energy minus the final one.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn convergence_svg(&self) -> Result<String, ReportError> {
        let last = self.energies.first().copied().unwrap_or(f64::NAN);
        let history: &[HistoryPoint] = self.spectrum().map_or(&[], |spectrum| &spectrum.history);
        let residuals = positive(history, |point| point.residual);
        let errors = positive(history, |point| (point.energy - last).abs());
        let mut text = String::new();
        draw(&mut text, (self, history), &residuals, &errors)
            .map_err(|error| ReportError::Picture(error.to_string()))?;
        Ok(text)
    }
}

/// The points that have a logarithm.
fn positive(history: &[HistoryPoint], value: impl Fn(&HistoryPoint) -> f64) -> Vec<(f64, f64)> {
    history
        .iter()
        .map(|point| (point.iteration as f64, value(point)))
        .filter(|(_, value)| value.is_finite() && *value > 0.0)
        .collect()
}

fn draw(
    text: &mut String,
    (report, history): (&Outcome, &[HistoryPoint]),
    residuals: &[(f64, f64)],
    errors: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    // Nothing is drawn at 0, where the norm is 0.
    let limit = Some(report.tolerance * report.norm).filter(|limit| *limit > 0.0);
    let values = residuals.iter().chain(errors).map(|point| point.1).chain(limit);
    let high = values.clone().fold(0.0, f64::max);
    let high = if high > 0.0 { high } else { 1.0 };
    let low = values.fold(high, f64::min).max(1e-18 * high);
    let high = high.max(10.0 * low);
    // Whole decades, so that the axis labels are powers of ten.
    let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
    let apart = match report.spectrum().map(|spectrum| spectrum.which) {
        Some(SpectrumPart::Highest) => "energy below the highest",
        _ => "energy above the lowest",
    };
    let end = history.iter().map(|point| point.iteration).max().unwrap_or(0).max(1) as f64;

    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("{} by {}: dimension {}", report.model.name, report.solver, report.dimension());
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .caption(title, ("sans-serif", 20))
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..end, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("iteration")
        .y_desc(format!("residual norm, {apart}{}", report.energy_unit()))
        .x_label_formatter(&|x| integer_label(*x))
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .label_style(("sans-serif", 14))
        .draw()?;
    chart
        .draw_series(LineSeries::new(residuals.iter().copied(), BLUE.stroke_width(2)))?
        .label("residual |Hx - λx|")
        .legend(move |(x, y)| stroke((x, y), BLUE.stroke_width(2)));
    chart
        .draw_series(LineSeries::new(errors.iter().copied(), RED.stroke_width(2)))?
        .label(apart)
        .legend(move |(x, y)| stroke((x, y), RED.stroke_width(2)));
    let tolerance = limit.into_iter().flat_map(|limit| [(0.0, limit), (end, limit)]);
    chart
        .draw_series(LineSeries::new(tolerance, BLACK.mix(0.5).stroke_width(1)))?
        .label("tolerance")
        .legend(|(x, y)| stroke((x, y), BLACK.mix(0.5).stroke_width(1)));
    draw_key(&mut chart)?;
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}
