//! Pictures: a line for each column of numbers over the rows of a table or the points of a figure, the paper's thin with open
//! circles, ours thick with full ones.
//!
//! In: [`PaperTable`], or any [`Drawing`]. Out: SVG text. The numbers are drawn on a logarithmic scale: decades lie between the
//! paper's card and ours.

use super::published::number;
use super::table::PaperTable;
use eigenforge::report::{BLUE, RED, ReportError, draw_key, stroke};
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 520);
const COLOURS: [RGBColor; 6] = [BLUE, RED, RGBColor(90, 150, 60), RGBColor(230, 150, 0), MAGENTA, BLACK];

/// A line as it is drawn.
pub(super) struct Line {
    /// For the key.
    pub name: String,
    /// Place along x, and value, of each point.
    pub points: Vec<(f64, f64)>,
    /// Whether it was measured here.
    pub ours: bool,
}

/// What is drawn.
pub(super) struct Drawing {
    pub caption: String,
    pub x: String,
    pub y: String,
    pub lines: Vec<Line>,
}

impl Drawing {
    /// As SVG. The horizontal axis is logarithmic too where its points span more than a factor of thirty.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub(super) fn svg(&self) -> Result<String, ReportError> {
        let mut text = String::new();
        draw(&mut text, self).map_err(|error| ReportError::Picture(error.to_string()))?;
        Ok(text)
    }
}

impl PaperTable {
    /// The picture; a row that is an average is left out.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn picture(&self) -> Result<String, ReportError> {
        let published = &self.published;
        let figure = published.figure.map_or(String::new(), |figure| format!("Figure {figure}: "));
        let place = self.device.as_deref().unwrap_or("the paper's numbers");
        let unit = published.columns.iter().map(|column| column.1).find(|unit| !unit.is_empty()).unwrap_or("");
        let drawing = Drawing {
            caption: format!("{figure}{}; here: {place}", published.caption),
            x: published.row_header.into(),
            y: unit.into(),
            lines: self.lines(),
        };
        drawing.svg()
    }

    /// A line for each column that has numbers.
    fn lines(&self) -> Vec<Line> {
        let rows: Vec<_> =
            self.published.rows().into_iter().enumerate().filter(|(_, row)| row.0 != "Average").collect();
        let mut lines = vec![];
        for (k, (name, _)) in self.published.columns.iter().enumerate() {
            let points = rows.iter().filter_map(|(at, (_, cells))| Some(((at + 1) as f64, number(cells[k])?)));
            lines.push(Line { name: format!("{name}, paper"), points: points.collect(), ours: false });
        }
        for column in &self.measured {
            let points = rows.iter().filter_map(|(at, _)| Some(((at + 1) as f64, *column.cells.get(*at)?.as_ref()?)));
            lines.push(Line { name: format!("{}, here", column.name), points: points.collect(), ours: true });
        }
        lines.retain(|line: &Line| !line.points.is_empty());
        lines
    }
}

/// Least and greatest.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
}

fn draw(text: &mut String, drawing: &Drawing) -> Result<(), Box<dyn std::error::Error>> {
    let points = || drawing.lines.iter().flat_map(|line| &line.points);
    let (low, high) = ends(points().map(|point| point.1).filter(|value| *value > 0.0));
    let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
    let upward = 10f64.powf(low.log10().floor())..10f64.powf((high * 1.01).log10().ceil());
    let (first, last) = ends(points().map(|point| point.0));
    let (first, last) = if last > 0.0 { (first, last) } else { (1.0, 1.0) };
    let is_wide = last > 30.0 * first;
    let place = |x: f64| if is_wide { x.log10() } else { x };
    let margin = if is_wide { 0.1 } else { 0.5f64.max(0.03 * (last - first)) };

    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .caption(&drawing.caption, ("sans-serif", 15))
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(place(first) - margin..place(last) + margin, upward.log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(&drawing.x)
        .y_desc(&drawing.y)
        .x_labels(10)
        .x_label_formatter(&|x| if is_wide { format!("{:.3e}", 10f64.powf(*x)) } else { format!("{x}") })
        .y_label_formatter(&|y| format!("{y}"))
        .label_style(("sans-serif", 14))
        .draw()?;
    for (k, Line { name, points, ours }) in drawing.lines.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        let style = colour.stroke_width(if *ours { 2 } else { 1 });
        let points = || points.iter().map(|(x, value)| (place(*x), *value));
        chart.draw_series(LineSeries::new(points(), style))?.label(name).legend(move |(x, y)| stroke((x, y), style));
        let fill = if *ours { colour.filled() } else { colour.stroke_width(1) };
        chart.draw_series(points().map(|point| Circle::new(point, 3, fill)))?;
    }
    draw_key(&mut chart)?;
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::published::{Paper, tables};
    use super::super::table::{MeasuredColumn, PaperTable};

    /// Ten matrices, three columns of the paper and one of ours with eight numbers.
    #[test]
    fn every_number_is_a_point() {
        let mut table = PaperTable::published(tables(Paper::Ci)[8].clone());
        assert_eq!(table.picture().unwrap().matches("<circle").count(), 30);
        let cells = (0..11).map(|k| (k < 8).then_some(0.01 * f64::from(k + 1))).collect();
        table.measured.push(MeasuredColumn::new("ours", "ms", 3, cells));
        let svg = table.picture().unwrap();
        assert_eq!(svg.matches("<circle").count(), 38, "{svg}");
        assert!(svg.contains("CSR5, paper") && svg.contains("ours, here") && svg.contains("Figure 6"), "{svg}");
    }
}
