//! The picture of an interaction's SU(3) content: where Σ C² sits in (λ0 μ0).
//!
//! In: a [`Summary`]. Out: SVG text, a panel a channel; the area of a circle is the irrep's share of the norm, as a key says,
//! irreps below 1e-6 of it are dots. Fonts are the viewer's.

use super::ReportError;
use super::picture_style::{BLUE, integer_label};
use super::plot::Area;
use crate::su3::{ChannelSummary, IrrepNorm, Summary};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of a panel.
const PANEL: u32 = 420;
/// Height of the key below it.
const KEY: u32 = 44;
/// Pixels of a panel beside its axes' range.
const EDGE: u32 = 90;
/// Radius of the largest circle in steps of λ0: it ends before the circles of its neighbours could begin.
const LARGEST: f64 = 0.45;
/// Below this share, in per cent, an irrep is a dot.
const FAINT: f64 = 1e-4;
/// The shares that the key may show, in per cent.
const ROUND_SHARES: [f64; 6] = [100.0, 10.0, 1.0, 0.1, 0.01, 0.001];
/// The least radius of a circle, in pixels, and the most of one in the key.
const LEAST: f64 = 2.0;
const MOST_IN_KEY: f64 = 18.0;

/// The picture.
///
/// # Errors
/// An error of the drawing library.
pub(super) fn norm_svg(summary: &Summary) -> Result<String, ReportError> {
    let mut text = String::new();
    draw(&mut text, summary).map_err(|error| ReportError::Picture(error.to_string()))?;
    Ok(text)
}

/// The radius of a share's circle in pixels, by that of the whole norm.
fn radius(whole: f64, share: f64) -> f64 {
    (whole * share.sqrt()).max(LEAST)
}

fn draw(text: &mut String, summary: &Summary) -> Result<(), Box<dyn std::error::Error>> {
    let panels = summary.channels.len().max(1);
    let root = SVGBackend::with_string(text, (PANEL * panels as u32, PANEL + KEY)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, channel) in root.split_evenly((1, panels)).iter().zip(&summary.channels) {
        let (above, below) = area.split_vertically(PANEL);
        let whole = panel(&above, channel, summary.n_max)?;
        key(&below, whole)?;
    }
    root.present()?;
    Ok(())
}

/// The circles; returns the radius that one of the whole norm would have.
fn panel(area: &Area<'_>, channel: &ChannelSummary, n_max: u32) -> Result<f64, Box<dyn std::error::Error>> {
    let mut irreps: Vec<_> = channel.norm_by_irrep.iter().filter(|irrep| irrep.norm > 0.0).collect();
    // Small ones are drawn on large ones.
    irreps.sort_by(|a, b| b.norm.total_cmp(&a.norm));
    let share = |irrep: &IrrepNorm| irrep.norm / channel.norm_of_strengths;
    let end = f64::from(irreps.iter().map(|irrep| irrep.lambda.max(irrep.mu)).max().unwrap_or(0)) + 0.5;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(format!("{}, N_max = {n_max}: norm by (λ0 μ0)", channel.channel.word()), ("sans-serif", 16))
        .x_label_area_size(36)
        .y_label_area_size(40)
        .build_cartesian_2d(-0.5..end, -0.5..end)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("λ0")
        .y_desc("μ0")
        .x_label_formatter(&|x| integer_label(*x))
        .y_label_formatter(&|y| integer_label(*y))
        .label_style(("sans-serif", 13))
        .draw()?;
    let step = f64::from(PANEL - EDGE) / (end + 0.5);
    let whole = LARGEST * step / irreps.first().map_or(1.0, |irrep| share(irrep)).sqrt();
    chart.draw_series(irreps.iter().map(|irrep| {
        let at = (f64::from(irrep.lambda), f64::from(irrep.mu));
        if 100.0 * share(irrep) < FAINT {
            return Circle::new(at, 1, BLACK.mix(0.35).filled());
        }
        Circle::new(at, radius(whole, share(irrep)).round() as i32, BLUE.mix(0.6).filled())
    }))?;
    Ok(whole)
}

/// What areas mean: a circle for each round share that has room, and the dot.
fn key(area: &Area<'_>, whole: f64) -> Result<(), Box<dyn std::error::Error>> {
    let style = ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let middle = KEY as i32 / 2;
    area.draw(&Text::new("area: share of Σ C²", (14, middle), style.clone()))?;
    let is_shown = |percent: &f64| (LEAST..=MOST_IN_KEY).contains(&(whole * (percent / 100.0).sqrt()));
    let mut x = 150;
    for percent in ROUND_SHARES.into_iter().filter(is_shown).take(2) {
        let size = radius(whole, percent / 100.0).round() as i32;
        area.draw(&Circle::new((x + size, middle), size, BLUE.mix(0.6).filled()))?;
        area.draw(&Text::new(format!("{percent} %"), (x + 2 * size + 5, middle), style.clone()))?;
        x += 2 * size + 55;
    }
    area.draw(&Circle::new((x, middle), 1, BLACK.mix(0.35).filled()))?;
    area.draw(&Text::new(format!("below {FAINT} %"), (x + 6, middle), style))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::su3::Channel;

    /// The radii of circles, in the order in which they are drawn.
    fn radii(svg: &str) -> Vec<f64> {
        svg.split(" r=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
    }

    #[test]
    fn circles_stay_between_grid_points_and_the_key_says_what_they_are() {
        let irrep = |lambda, mu, norm| IrrepNorm { lambda, mu, norm };
        let channel = ChannelSummary {
            channel: Channel::Pn,
            norm_of_elements: 1.0,
            norm_of_strengths: 100.0,
            norm_by_s0: [100.0, 0.0, 0.0],
            norm_by_irrep: vec![irrep(0, 0, 98.0), irrep(2, 0, 1.9), irrep(0, 4, 0.1)],
            largest: vec![],
        };
        let summary = Summary { n_max: 2, elements: 1, w0: 1, defect: 0.0, left_out: 0, channels: vec![channel] };
        let svg = norm_svg(&summary).unwrap();
        let found = radii(&svg);
        // Five grid points a side.
        let step = f64::from(PANEL - EDGE) / 5.0;
        assert!(found[0] <= 0.5 * step && found[1] < found[0] && found[2] >= LEAST, "{found:?}");
        for part in ["area: share of Σ C²", "1 %", "below 0.0001 %"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("\n-1\n") && !svg.contains("−1"));
    }
}
