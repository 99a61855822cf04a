//! What pictures of data have in common: axes with ticks at round numbers, marks of several shapes and colours, a key beside the frame.
//!
//! In: series of points with names. Out: a chart drawn into an area of an SVG; its fonts are the viewer's. Colours are those of M. Okabe and K. Ito
//! (2008), which colour-blind readers can tell apart; shapes differ too, so that a black and white copy can be read.

use super::picture_style::Fault;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Part of an SVG.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A chart with ticks of our own.
type Coordinates = Cartesian2d<Ticked, Ticked>;

/// Width and height of a picture of one chart.
pub(crate) const SIZE: (u32, u32) = (800, 480);

/// Width of the key.
const KEY: i32 = 170;

/// Height of a line of the key, and the most lines that fit.
const KEY_LINE: i32 = 22;
const MOST_KEYS: usize = 17;

const FONT: (&str, i32) = ("sans-serif", 15);

const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 140, 200),
    RGBColor(180, 130, 0),
    RGBColor(60, 60, 60),
];

/// Shapes of marks, as polygons around the origin; the first is a circle.
const SHAPES: [&[(i32, i32)]; 5] = [
    &[],
    &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
    &[(0, -6), (6, 5), (-6, 5)],
    &[(0, -6), (6, 0), (0, 6), (-6, 0)],
    &[(0, 6), (6, -5), (-6, -5)],
];

/// The colour of a series by its number.
pub(super) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Marks alone.
    Marks,
    /// Marks joined by lines.
    Joined,
    /// A line without marks.
    Line,
    /// A thin grey line behind the marks of others, without a line in the key.
    Guide,
}

/// Points with a name.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Its line in the key; none if empty.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub style: Style,
}

/// One direction of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    pub label: String,
    /// Ticks with texts of their own; empty for round numbers.
    pub ticks: Vec<(f64, String)>,
    /// What must be in the range beside the points.
    pub includes: Vec<f64>,
    /// What the quantity cannot be below: there the range begins, without a margin.
    pub least: Option<f64>,
}

impl Axis {
    pub(crate) fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// An axis of decimal logarithms from one number to another; `None` where they are not above 0, or less than a power of ten apart.
    pub(crate) fn powers(label: &str, first: f64, last: f64) -> Option<Axis> {
        if !(first > 0.0 && last > 10.0 * first) {
            return None;
        }
        let powers = (first.log10().floor() as i32)..=(last.log10().ceil() as i32);
        let ticks = powers.flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
        let inside =
            ticks.map(|(digit, power)| f64::from(digit) * 10f64.powi(power)).filter(|t| (first..=last).contains(t));
        let inside: Vec<f64> = inside.collect();
        // Over many powers their beginnings alone.
        let sparse = inside.len() > 10;
        let kept = inside.into_iter().filter(|t| !sparse || (t.log10() - t.log10().round()).abs() < 1e-9);
        let ticks = kept.map(|t| (t.log10(), format!("{}", (t * 1e9).round() / 1e9))).collect();
        Some(Axis { ticks, ..Axis::new(label) })
    }

    /// The range of these values with a margin, the ticks in it, and their texts.
    fn ranged(&self, values: impl Iterator<Item = f64>) -> Ticked {
        let all = values.chain(self.includes.iter().copied()).chain(self.ticks.iter().map(|tick| tick.0));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in all.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let size = low.abs().max(high.abs());
        // Differences of rounding are no range.
        if high - low <= 1e-11 * size || high == low {
            let half = if size > 0.0 { 0.05 * size } else { 0.5 };
            (low, high) = (low - half, high + half);
        }
        let margin = 0.05 * (high - low);
        let range = self.least.map_or(low - margin, |least| least.max(low - margin))..high + margin;
        let (ticks, texts) = match self.ticks.is_empty() {
            true => round_ticks(&range),
            false => self.ticks.iter().cloned().unzip(),
        };
        Ticked { range, ticks, texts }
    }
}

/// A range with its ticks.
struct Ticked {
    range: Range<f64>,
    ticks: Vec<f64>,
    texts: Vec<String>,
}

impl Ranged for Ticked {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Ticked {
    fn format_ext(&self, value: &f64) -> String {
        let place = self.ticks.iter().position(|tick| tick == value);
        place.map_or(String::new(), |place| self.texts[place].clone())
    }
}

/// Five to ten round numbers in a range, with as many digits as tell them apart.
fn round_ticks(range: &Range<f64>) -> (Vec<f64>, Vec<String>) {
    let rough = (range.end - range.start) / 8.0;
    let power = rough.log10().floor() as i32;
    let decade = 10f64.powi(power);
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|times| times * decade).into_iter().find(|step| *step >= rough).unwrap_or(decade);
    let first = (range.start / step).ceil() as i64;
    let ticks: Vec<f64> =
        (first..).map(|number| number as f64 * step).take_while(|tick| *tick <= range.end).take(20).collect();
    let largest = ticks.iter().map(|tick| tick.abs()).fold(step, f64::max);
    let step_power = (step.log10() + 1e-9).floor() as i32;
    let texts = ticks.iter().map(|tick| tick_text(*tick, step, step_power, largest)).collect();
    (ticks, texts)
}

/// A tick with the digits of the step; very large and very small ones by a power of ten.
fn tick_text(tick: f64, step: f64, step_power: i32, largest: f64) -> String {
    let size = largest.log10().floor() as i32;
    if tick.abs() < 0.5 * step {
        return "0".into();
    }
    if (-3..6).contains(&size) && step_power >= -12 {
        return format!("{tick:.*}", (-step_power).max(0) as usize).replace('-', "−");
    }
    let digits = (size - step_power).clamp(0, 15) as usize;
    format!("{:.digits$}e{size}", tick / 10f64.powi(size)).replace('-', "−")
}

/// A picture of some size.
pub(crate) fn picture(
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<String, super::ReportError> {
    let mut text = String::new();
    let drawn = || -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        draw(&root)?;
        root.present()?;
        Ok(())
    };
    drawn().map_err(|error| super::ReportError::Picture(error.to_string()))?;
    Ok(text)
}

/// Columns of a map: where each begins and ends, and its values from below.
pub(crate) type MapColumn<'a> = ([f64; 2], &'a [f64]);

/// Cells of a column that are drawn: more would be less than a pixel each.
const MOST_CELLS: usize = 240;

/// Draws values over a plane, white where there is nothing, dark where they are largest; `y` is the range of the columns' values.
pub(crate) fn map<'a>(
    area: &Area<'a>,
    title: &str,
    [x, y]: [&Axis; 2],
    rows: [f64; 2],
    columns: &[MapColumn<'_>],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let largest = columns.iter().flat_map(|(_, values)| values.iter()).copied().fold(0.0, f64::max);
    let (x_axis, y_axis) = (x.ranged(columns.iter().flat_map(|(place, _)| *place)), y.ranged(rows.into_iter()));
    let mut chart = built(area, title, [x, y], [x_axis, y_axis])?;
    for ([from, to], values) in columns {
        let cells = values.len().clamp(1, MOST_CELLS);
        let height = (rows[1] - rows[0]) / cells as f64;
        chart.draw_series((0..cells).filter_map(|cell| {
            let own = &values[cell * values.len() / cells..((cell + 1) * values.len() / cells).max(1)];
            // A peak that is narrower than a cell is seen.
            let part = (own.iter().copied().fold(0.0, f64::max) / largest.max(f64::MIN_POSITIVE)).sqrt();
            let low = rows[0] + cell as f64 * height;
            (part > 0.01).then(|| Rectangle::new([(*from, low), (*to, low + height)], shade(part).filled()))
        }))?;
    }
    Ok(())
}

/// White, blue, nearly black, from 0 to 1.
fn shade(part: f64) -> RGBColor {
    let between = |from: f64, to: f64, part: f64| (from + (to - from) * part).round() as u8;
    match part {
        low if low < 0.5 => {
            RGBColor(between(255.0, 60.0, 2.0 * low), between(255.0, 130.0, 2.0 * low), 255 - (110.0 * low) as u8)
        }
        high => {
            let rest = 2.0 * (high - 0.5);
            RGBColor(between(60.0, 20.0, rest), between(130.0, 10.0, rest), between(200.0, 60.0, rest))
        }
    }
}

/// Draws a chart of series, with a key beside it where they have names.
pub(crate) fn chart<'a>(
    area: &Area<'a>,
    title: &str,
    [x, y]: [&Axis; 2],
    series: &[Series],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let named = series.iter().any(|series| !series.name.is_empty());
    let width = area.dim_in_pixel().0 as i32;
    let (frame, key) = area.split_horizontally(if named { width - KEY } else { width });
    let values = |of: fn(&(f64, f64)) -> f64| series.iter().flat_map(|series| &series.points).map(of);
    let axes = [x.ranged(values(|point| point.0)), y.ranged(values(|point| point.1))];
    let mut chart = built(&frame, title, [x, y], axes)?;
    let behind = series.iter().enumerate().filter(|(_, series)| series.style == Style::Guide);
    let before = series.iter().enumerate().filter(|(_, series)| series.style != Style::Guide);
    let mut number = 0;
    for (_, series) in behind {
        chart.draw_series(LineSeries::new(series.points.iter().copied(), BLACK.mix(0.3).stroke_width(1)))?;
    }
    for (_, series) in before {
        draw_series(&mut chart, series, number)?;
        number += 1;
    }
    if named { draw_key(&key, series) } else { Ok(()) }
}

/// A frame with its title, ticks and labels.
fn built<'a>(
    frame: &Area<'a>,
    title: &str,
    [x, y]: [&Axis; 2],
    [x_axis, y_axis]: [Ticked; 2],
) -> Result<ChartContext<'a, SVGBackend<'a>, Coordinates>, Box<dyn std::error::Error + 'a>> {
    let widest = y_axis.texts.iter().map(|text| text.chars().count()).max().unwrap_or(1) as u32;
    let mut builder = ChartBuilder::on(frame);
    builder.margin(16).x_label_area_size(48).y_label_area_size(34 + 9 * widest);
    if !title.is_empty() {
        builder.caption(title, ("sans-serif", 17));
    }
    let mut chart = builder.build_cartesian_2d(x_axis, y_axis)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.08))
        .x_desc(&x.label)
        .y_desc(&y.label)
        .label_style(FONT)
        .axis_desc_style(("sans-serif", 17))
        .draw()?;
    Ok(chart)
}

fn draw_series<'a>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Coordinates>,
    series: &Series,
    number: usize,
) -> Result<(), Fault<'a>> {
    let colour = colour(number);
    if matches!(series.style, Style::Line | Style::Joined) {
        chart.draw_series(LineSeries::new(series.points.iter().copied(), colour.stroke_width(2)))?;
    }
    if series.style != Style::Line {
        let marks = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        match SHAPES[number % SHAPES.len()] {
            [] => {
                chart.draw_series(marks.map(|at| EmptyElement::at(*at) + Circle::new((0, 0), 5, colour.filled())))?;
            }
            shape => {
                let polygon = |at: &(f64, f64)| EmptyElement::at(*at) + Polygon::new(shape.to_vec(), colour.filled());
                chart.draw_series(marks.map(polygon))?;
            }
        }
    }
    Ok(())
}

/// The names of the series under each other.
fn draw_key<'a>(area: &Area<'a>, series: &[Series]) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let drawn = series.iter().filter(|series| series.style != Style::Guide).enumerate();
    let named: Vec<(usize, &Series)> = drawn.filter(|(_, series)| !series.name.is_empty()).collect();
    let style = FONT.into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (line, (number, series)) in named.iter().take(MOST_KEYS).enumerate() {
        let at = (12, 40 + line as i32 * KEY_LINE);
        let colour = colour(*number);
        if matches!(series.style, Style::Line | Style::Joined) {
            area.draw(&PathElement::new([(at.0 - 10, at.1), (at.0 + 10, at.1)], colour.stroke_width(2)))?;
        }
        if series.style != Style::Line {
            match SHAPES[number % SHAPES.len()] {
                [] => area.draw(&Circle::new(at, 5, colour.filled()))?,
                shape => {
                    let shape: Vec<_> = shape.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
                    area.draw(&Polygon::new(shape, colour.filled()))?;
                }
            }
        }
        area.draw(&Text::new(series.name.clone(), (at.0 + 16, at.1), style.clone()))?;
    }
    if named.len() > MOST_KEYS {
        let at = (12, 40 + MOST_KEYS as i32 * KEY_LINE);
        area.draw(&Text::new(format!("{} more", named.len() - MOST_KEYS), at, style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_that_differ() {
        for (low, high) in [
            (0.0, 2.0),
            (-4.2, -1.1),
            (-160_000.1, -160_000.0),
            (1e-12, 3e-12),
            (0.0, 1e7),
            (-9.60524, -9.60521),
            (0.0, 0.3),
            (-2.0e-28, 1.0e-12),
        ] {
            let (ticks, texts) = round_ticks(&(low..high));
            assert!((4..=11).contains(&ticks.len()), "{low} to {high}: {texts:?}");
            let mut different = texts.clone();
            different.dedup();
            assert_eq!(different, texts, "{low} to {high}");
            assert!(texts.iter().all(|text| text.chars().count() <= 14), "{texts:?}");
        }
        assert_eq!(round_ticks(&(0.0..2.0)).1, ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(round_ticks(&(-9.60524..-9.60521)).1[0], "−9.605240");
    }

    #[test]
    fn a_range_ends_at_what_cannot_be_less() {
        let axis = Axis { includes: vec![0.0], least: Some(0.0), ..Axis::default() };
        let found = axis.ranged([1e-9, 4e-6].into_iter());
        assert!(found.range.start == 0.0 && found.range.end > 4e-6, "{:?}", found.range);
    }

    #[test]
    fn a_chart_has_its_labels_marks_and_key() {
        let series = |name: &str, style| Series { name: name.into(), points: vec![(0.0, 1.0), (2.0, -1.0)], style };
        let all = [series("S = 0", Style::Marks), series("S = 1", Style::Joined), series("", Style::Guide)];
        let axes = [Axis::new("S(S + 1)"), Axis::new("E / J")];
        let svg =
            picture(SIZE, |area| Ok(chart(area, "a tower", [&axes[0], &axes[1]], &all).map_err(|e| e.to_string())?));
        let svg = svg.unwrap();
        for part in ["S(S + 1)", "E / J", "S = 0", "S = 1", "a tower", "<circle", "<polygon"] {
            assert!(svg.contains(part), "{part}");
        }
        let nothing = [Series { name: String::new(), points: vec![], style: Style::Marks }];
        assert!(
            picture(SIZE, |area| Ok(chart(area, "", [&axes[0], &axes[1]], &nothing).map_err(|e| e.to_string())?))
                .is_ok()
        );
    }
}
