//! sweep.svg of a sweep of curves: a panel for each quantity.
//!
//! In: the curves of each point. Out: where one number changes and has many values, a map over it, of quantities that are nowhere negative;
//! otherwise a line for each point, of many points some that are evenly chosen.

use super::curve_sweep::{CurveSweepRecord, SweptCurve};
use super::plot::{Area, Axis, MapColumn, Series, Style, chart, map, picture};
use super::{CurveReport, ReportError};
use crate::input::short;
use std::path::Path;

/// Width and height of a panel.
const PANEL: (u32, u32) = (800, 400);
/// Panels at most.
const MOST_PANELS: usize = 6;
/// Lines of a panel at most: the key has room for so many, and more is a map.
const MOST_LINES: usize = 12;

/// A curve of each point.
struct Panel<'a> {
    name: String,
    curves: Vec<PointCurve<'a>>,
}

/// The curve of a point: the value of the key, its label, places and heights.
type PointCurve<'a> = (f64, &'a str, Vec<(f64, f64)>);

impl<R: CurveReport> CurveSweepRecord<R> {
    /// The picture; `None` where no point has a curve.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub(super) fn svg(&self) -> Result<Option<String>, ReportError> {
        let panels = self.panels();
        if panels.is_empty() {
            return Ok(None);
        }
        let heading = self.points.first().and_then(|point| point.report.table().into_iter().next());
        let abscissa = match heading.as_ref().map(|(name, _)| &name[..]) {
            Some("omega") => "ω",
            Some("temperature") => "T",
            _ => "t",
        };
        let key = self.number_key();
        let name = Path::new(&self.file).file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let keys: Vec<&str> = self.keys.iter().map(|key| short(key)).collect();
        let title = format!("{name}: {} over {}", self.verb, keys.join(", "));
        picture((PANEL.0, PANEL.1 * panels.len() as u32), |area| {
            for (number, (area, panel)) in area.split_evenly((panels.len(), 1)).iter().zip(&panels).enumerate() {
                let title = if number == 0 { &title[..] } else { "" };
                let drawn = match &key {
                    Some(key) if panel.is_mapped() => panel.draw_map(area, title, [key, abscissa]),
                    _ => panel.draw_lines(area, title, abscissa),
                };
                drawn.map_err(|error| error.to_string())?;
            }
            Ok(())
        })
        .map(Some)
    }

    /// The one key that changes, if all of its values are numbers.
    fn number_key(&self) -> Option<String> {
        let [key] = &self.keys[..] else { return None };
        self.points.iter().all(|point| point.number_of(key).is_some()).then(|| short(key).to_string())
    }

    fn panels(&self) -> Vec<Panel<'_>> {
        let mut panels: Vec<Panel<'_>> = Vec::new();
        let mut ordered: Vec<&SweptCurve<R>> = self.points.iter().collect();
        let key = self.keys.first().filter(|_| self.number_key().is_some());
        let value = |point: &SweptCurve<R>| key.and_then(|key| point.number_of(key)).unwrap_or(0.0);
        ordered.sort_by(|a, b| value(a).total_cmp(&value(b)));
        for point in ordered {
            let Some((_, x)) = point.report.table().into_iter().next() else { continue };
            for (name, values) in point.report.drawn() {
                let points = x.iter().copied().zip(values).filter(|(_, y)| y.is_finite()).collect();
                let curve = (value(point), &point.label[..], points);
                match panels.iter_mut().find(|panel| panel.name == name) {
                    Some(panel) => panel.curves.push(curve),
                    None => panels.push(Panel { name, curves: vec![curve] }),
                }
            }
        }
        panels.truncate(MOST_PANELS);
        panels
    }
}

impl<R> SweptCurve<R> {
    fn number_of(&self, key: &str) -> Option<f64> {
        self.values.get(key)?.as_f64()
    }
}

impl Panel<'_> {
    /// Whether it has too many curves for lines, on one list of places, none of them below zero and some above.
    fn is_mapped(&self) -> bool {
        let place = |curve: &PointCurve<'_>| curve.2.iter().map(|(x, _)| x.to_bits()).collect::<Vec<_>>();
        let values = || self.curves.iter().flat_map(|(_, _, points)| points).map(|(_, y)| *y);
        let is_even = self.curves.first().is_some_and(|(_, _, points)| {
            let steps: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            steps.iter().all(|step| (step - steps[0]).abs() <= 1e-6 * steps[0].abs()) && steps.len() > 1
        });
        self.curves.len() > MOST_LINES
            && self.curves.windows(2).all(|pair| place(&pair[0]) == place(&pair[1]) && pair[0].0 < pair[1].0)
            && is_even
            && values().all(|value| value >= 0.0)
            && values().any(|value| value > 0.0)
    }

    /// Colours over the key and what the curves are functions of.
    fn draw_map<'a>(
        &self,
        area: &Area<'a>,
        title: &str,
        [key, abscissa]: [&str; 2],
    ) -> Result<(), Box<dyn std::error::Error + 'a>> {
        let at: Vec<f64> = self.curves.iter().map(|(value, ..)| *value).collect();
        let heights: Vec<Vec<f64>> =
            self.curves.iter().map(|(.., points)| points.iter().map(|(_, y)| *y).collect()).collect();
        let last = at.len() - 1;
        let between = |place: usize| 0.5 * (at[place] + at[place + 1]);
        let column = |place: usize| -> MapColumn<'_> {
            let from = if place > 0 { between(place - 1) } else { at[0] - (between(0) - at[0]) };
            let to = if place < last { between(place) } else { at[last] + (at[last] - between(last - 1)) };
            ([from, to], &heights[place][..])
        };
        let columns: Vec<MapColumn<'_>> = (0..at.len()).map(column).collect();
        let points = &self.curves[0].2;
        // A point is in the middle of its row.
        let half = 0.5 * (points[1].0 - points[0].0);
        let rows = [points[0].0 - half, points[points.len() - 1].0 + half];
        let largest = heights.iter().flatten().copied().fold(0.0, f64::max);
        let own = format!("darkest {} = {largest:.3}", self.name);
        let title = if title.is_empty() { own } else { format!("{title}; {own}") };
        map(area, &title, [&Axis::new(key), &Axis::new(abscissa)], rows, &columns)
    }

    /// A line for each point, of many points some, the first and the last among them.
    fn draw_lines<'a>(
        &self,
        area: &Area<'a>,
        title: &str,
        abscissa: &str,
    ) -> Result<(), Box<dyn std::error::Error + 'a>> {
        let count = self.curves.len();
        let kept = count.min(MOST_LINES);
        let places = (0..kept).map(|line| if kept > 1 { line * (count - 1) / (kept - 1) } else { 0 });
        let all = || self.curves.iter().flat_map(|(.., points)| points.iter().map(|(x, _)| *x));
        let (first, last) = all().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        let powers = (abscissa == "T").then(|| Axis::powers(abscissa, first, last)).flatten();
        let x = |x: f64| if powers.is_some() { x.log10() } else { x };
        let line = |place: usize| {
            let (_, label, points) = &self.curves[place];
            let points = points.iter().map(|(at, y)| (x(*at), *y)).collect();
            Series { name: label.to_string(), points, style: Style::Line }
        };
        let series: Vec<Series> = places.map(line).collect();
        let axis = powers.clone().unwrap_or_else(|| Axis::new(abscissa));
        chart(area, title, [&axis, &Axis::new(&self.name[..])], &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(count: usize, height: impl Fn(usize, f64) -> f64) -> Panel<'static> {
        let curve = |k: usize| {
            let points = (0..5).map(|i| (0.5 * f64::from(i), height(k, 0.5 * f64::from(i)))).collect();
            (k as f64, "u = 1", points)
        };
        Panel { name: "S".into(), curves: (0..count).map(curve).collect() }
    }

    #[test]
    fn many_curves_that_are_nowhere_negative_are_a_map() {
        assert!(panel(20, |k, x| x + k as f64).is_mapped());
        assert!(!panel(3, |_, x| x).is_mapped(), "a line each");
        assert!(!panel(20, |_, x| x - 1.0).is_mapped(), "a map has no negative values");
        assert!(!panel(20, |_, _| 0.0).is_mapped());
        let mut twice = panel(20, |_, x| x);
        twice.curves[3].0 = 2.0;
        assert!(!twice.is_mapped(), "two curves at one place");
        let svg = |panel: &Panel<'_>| {
            picture(PANEL, |area| {
                let drawn = match panel.is_mapped() {
                    true => panel.draw_map(area, "title", ["u", "ω"]),
                    false => panel.draw_lines(area, "title", "ω"),
                };
                Ok(drawn.map_err(|error| error.to_string())?)
            })
        };
        let (mapped, lines) = (svg(&panel(20, |k, x| x + k as f64)).unwrap(), svg(&panel(20, |_, x| x - 1.0)).unwrap());
        assert!(mapped.contains("darkest S = 21.000") && mapped.matches("<rect").count() > 50, "{mapped}");
        assert_eq!(lines.matches("u = 1").count(), MOST_LINES, "{lines}");
    }
}
