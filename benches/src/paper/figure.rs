//! A measured figure of a paper, drawn anew: series of numbers over common points. The paper has no numbers for it, only a drawing.
//!
//! In: points and series. Out: text by `Display`, JSON by `Serialize`, SVG by [`PaperFigure::picture`].

use super::picture::{Drawing, Line};
use super::published::Paper;
use super::table::{shown, write_columns};
use eigenforge::report::ReportError;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::fmt;

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// One per point; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// A series of its numbers.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Series {
        Series { name: name.into(), values }
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperFigure {
    /// Its paper.
    pub paper: Paper,
    /// Its number there.
    pub number: u32,
    /// What it shows.
    pub caption: String,
    /// What the points are.
    pub x: &'static str,
    /// What the numbers are, with their unit.
    pub y: &'static str,
    /// Digits after the point in the text.
    pub digits: usize,
    /// Names of the points; numbers where they are.
    pub points: Vec<String>,
    /// The lines.
    pub series: Vec<Series>,
    /// Where they were measured; `None` for counts that need no device.
    pub device: Option<String>,
    /// The scale, what was compared, what differs from the paper's set-up.
    pub notes: Vec<String>,
}

impl PaperFigure {
    /// The picture. Points that are not numbers stand one beside the other.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn picture(&self) -> Result<String, ReportError> {
        let numbers: Option<Vec<f64>> = self.points.iter().map(|point| point.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.iter().all(|x| *x > 0.0));
        let at = |k: usize| numbers.as_ref().map_or((k + 1) as f64, |numbers| numbers[k]);
        let line = |series: &Series| Line {
            name: series.name.clone(),
            points: series.values.iter().enumerate().filter_map(|(k, value)| Some((at(k), (*value)?))).collect(),
            ours: true,
        };
        let names = match numbers {
            Some(_) => String::new(),
            None => format!(": {}", self.points.join(", ")),
        };
        let place = self.device.as_deref().map_or(String::new(), |device| format!("; here: {device}"));
        let drawing = Drawing {
            caption: format!("Figure {}: {}{place}", self.number, self.caption),
            x: format!("{}{names}", self.x),
            y: self.y.into(),
            lines: self.series.iter().map(line).filter(|line| !line.points.is_empty()).collect(),
        };
        drawing.svg()
    }
}

impl fmt::Display for PaperFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Figure {} of {}: {} [{}]", self.number, self.paper.title(), self.caption, self.y)?;
        if let Some(device) = &self.device {
            writeln!(f, "here: {device}")?;
        }
        let mut lines = vec![vec![self.x.to_string()]];
        lines[0].extend(self.series.iter().map(|series| series.name.clone()));
        for (k, point) in self.points.iter().enumerate() {
            let cell = |series: &Series| series.values.get(k).copied().flatten();
            let cells = self.series.iter().map(|series| cell(series).map_or(String::new(), |v| shown(v, self.digits)));
            lines.push(std::iter::once(point.clone()).chain(cells).collect());
        }
        write_columns(f, &lines)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "* {note}"))
    }
}

impl Serialize for PaperFigure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("PaperFigure", 9)?;
        object.serialize_field("paper", self.paper.title())?;
        object.serialize_field("figure", &self.number)?;
        object.serialize_field("caption", &self.caption)?;
        object.serialize_field("device", &self.device)?;
        object.serialize_field("x", self.x)?;
        object.serialize_field("y", self.y)?;
        object.serialize_field("points", &self.points)?;
        object.serialize_field("series", &self.series)?;
        object.serialize_field("notes", &self.notes)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: &[&str]) -> PaperFigure {
        PaperFigure {
            paper: Paper::Dmrg,
            number: 9,
            caption: "speeds".into(),
            x: "vectors",
            y: "GB/s",
            digits: 1,
            points: points.iter().map(|point| point.to_string()).collect(),
            series: vec![
                Series::new("ours", vec![Some(10.0), Some(2345.25)]),
                Series::new("theirs", vec![None, Some(7.0)]),
            ],
            device: Some("a card".into()),
            notes: vec!["scaled".into()],
        }
    }

    #[test]
    fn text_json_and_picture_have_the_same_numbers() {
        for points in [["4", "8"], ["H x", "the rest"]] {
            let figure = figure(&points);
            let text = figure.to_string();
            assert!(text.starts_with("Figure 9 of Nemes") && text.contains("[GB/s]\nhere: a card\n"), "{text}");
            assert!(text.contains("2345.2 |") && text.contains(" 7 |") && text.ends_with("* scaled\n"), "{text}");
            let json = serde_json::to_value(&figure).unwrap();
            assert_eq!(json["series"][1]["values"], serde_json::json!([null, 7.0]));
            assert_eq!(json["points"][1], points[1]);
            let svg = figure.picture().unwrap();
            assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
            assert_eq!(svg.contains("H x, the rest"), points[0] == "H x", "{svg}");
        }
    }
}
