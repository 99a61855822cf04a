//! The picture of an interaction's SU(3) content: where Σ C² sits in (λ0 μ0).
//!
//! In: a [`Summary`]. Out: SVG text, a panel a channel; the area of a circle is the irrep's share of the norm, irreps below 1e-6
//! of it are dots. Fonts are the viewer's.

use super::ReportError;
use super::picture_style::{BLUE, integer_label};
use crate::su3::{ChannelSummary, Summary};
use plotters::prelude::*;

/// Width and height of a panel.
const PANEL: u32 = 420;
/// Pixels of a panel beside its axes' range.
const EDGE: u32 = 80;
/// Radius of a circle that had all of the norm, in steps of λ0: a tenth of the norm reaches to the neighbours.
const FULL: f64 = 3.0;
/// Below this share an irrep is a dot.
const FAINT: f64 = 1e-6;

impl Summary {
    /// The picture.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn norm_svg(&self) -> Result<String, ReportError> {
        let mut text = String::new();
        draw(&mut text, self).map_err(|error| ReportError::Picture(error.to_string()))?;
        Ok(text)
    }
}

fn draw(text: &mut String, summary: &Summary) -> Result<(), Box<dyn std::error::Error>> {
    let panels = summary.channels.len().max(1);
    let root = SVGBackend::with_string(text, (PANEL * panels as u32, PANEL)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, channel) in root.split_evenly((1, panels)).iter().zip(&summary.channels) {
        panel(area, channel, summary.n_max)?;
    }
    root.present()?;
    Ok(())
}

fn panel(
    area: &DrawingArea<SVGBackend, plotters::coord::Shift>,
    channel: &ChannelSummary,
    n_max: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let irreps = || channel.norm_by_irrep.iter().filter(|irrep| irrep.norm > 0.0);
    let end = f64::from(irreps().map(|irrep| irrep.lambda.max(irrep.mu)).max().unwrap_or(0)) + 1.0;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(format!("{}, N_max = {n_max}: norm by (λ0 μ0)", channel.channel.word()), ("sans-serif", 16))
        .x_label_area_size(36)
        .y_label_area_size(40)
        .build_cartesian_2d(-1.0..end, -1.0..end)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("λ0")
        .y_desc("μ0")
        .x_label_formatter(&|x| integer_label(*x))
        .y_label_formatter(&|y| integer_label(*y))
        .label_style(("sans-serif", 13))
        .draw()?;
    let step = f64::from(PANEL - EDGE) / (end + 1.0);
    chart.draw_series(irreps().map(|irrep| {
        let share = irrep.norm / channel.norm_of_strengths;
        let at = (f64::from(irrep.lambda), f64::from(irrep.mu));
        if share < FAINT {
            return Circle::new(at, 1, BLACK.mix(0.35).filled());
        }
        Circle::new(at, (FULL * step * share.sqrt()).round().max(2.0) as i32, BLUE.mix(0.6).filled())
    }))?;
    Ok(())
}
