//! One table: the paper's columns, then ours, over the paper's rows.
//!
//! In: a [`PublishedTable`], our columns with one number per row of the paper's. Out: text by `Display`, JSON by `Serialize`.

use super::published::{PublishedTable, number};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::fmt;

/// A column that was measured or computed here.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredColumn {
    /// What it is.
    pub name: String,
    /// Unit of its numbers; empty for counts and ratios.
    pub unit: &'static str,
    /// One per row of the paper's table; `None` where there is none.
    pub cells: Vec<Option<f64>>,
    /// Digits after the point in the text.
    pub digits: usize,
}

impl MeasuredColumn {
    /// A column of its numbers.
    pub fn new(name: impl Into<String>, unit: &'static str, digits: usize, cells: Vec<Option<f64>>) -> MeasuredColumn {
        MeasuredColumn { name: name.into(), unit, cells, digits }
    }
}

/// A table of a paper with ours beside it.
#[derive(Clone, Debug)]
pub struct PaperTable {
    /// The paper's.
    pub published: PublishedTable,
    /// Ours; empty if only the paper's numbers are printed.
    pub measured: Vec<MeasuredColumn>,
    /// Where ours were measured; `None` for counts that need no device.
    pub device: Option<String>,
    /// What is said of the numbers: the scale, what was compared, what differs from the paper's set-up.
    pub notes: Vec<String>,
}

impl PaperTable {
    /// Without columns of ours.
    pub fn published(published: PublishedTable) -> PaperTable {
        PaperTable { published, measured: vec![], device: None, notes: vec![] }
    }
}

/// A number for the text: whole numbers in groups of three, very large ones with an exponent.
pub(super) fn shown(value: f64, digits: usize) -> String {
    match value {
        _ if value.abs() >= 1e9 => format!("{value:.3e}"),
        _ if value >= 0.0 && value.fract() == 0.0 => eigenforge::words::grouped(value as u128),
        _ => format!("{value:.digits$}"),
    }
}

/// Lines of cells, the first one the head, in columns.
pub(super) fn write_columns(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let widths: Vec<usize> =
        (0..lines[0].len()).map(|k| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0)).collect();
    for (k, line) in lines.iter().enumerate() {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            if at == 0 { write!(f, "| {cell:<width$} |")? } else { write!(f, " {cell:>width$} |")? }
        }
        writeln!(f)?;
        if k == 0 {
            let dashes = |(at, width): (usize, &usize)| {
                let dashes = "-".repeat(width + 1);
                if at == 0 { format!("|{dashes}-|") } else { format!("{dashes}:|") }
            };
            writeln!(f, "{}", widths.iter().enumerate().map(dashes).collect::<String>())?;
        }
    }
    Ok(())
}

fn headed(name: &str, unit: &str, by: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
    format!("{name}{unit}, {by}")
}

impl fmt::Display for PaperTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishedTable { paper, number, caption, place, row_header, .. } = self.published;
        writeln!(f, "Table {number} of {}, {place}: {caption}", paper.title())?;
        if let Some(device) = &self.device {
            writeln!(f, "here: {device}")?;
        }
        let mut lines: Vec<Vec<String>> = vec![vec![row_header.to_string()]];
        lines[0].extend(self.published.columns.iter().map(|(name, unit)| headed(name, unit, "paper")));
        lines[0].extend(self.measured.iter().map(|column| headed(&column.name, column.unit, "here")));
        for (k, (name, cells)) in self.published.rows().into_iter().enumerate() {
            let mut line = vec![name.to_string()];
            line.extend(cells.into_iter().map(str::to_string));
            line.extend(self.measured.iter().map(|column| {
                let cell = column.cells.get(k).copied().flatten();
                cell.map_or(String::new(), |value| shown(value, column.digits))
            }));
            lines.push(line);
        }
        write_columns(f, &lines)?;
        for note in &self.notes {
            writeln!(f, "* {note}")?;
        }
        for unknown in self.published.unknown {
            writeln!(f, "* not in the paper: {unknown}")?;
        }
        for remark in self.published.remarks {
            writeln!(f, "* of the paper's numbers: {remark}")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct JsonColumn<'a> {
    name: &'a str,
    unit: &'a str,
    /// `paper` or `here`.
    from: &'static str,
    cells: Vec<JsonCell<'a>>,
}

/// A number where the cell is one.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonCell<'a> {
    Number(f64),
    Text(&'a str),
    Nothing(()),
}

impl Serialize for PaperTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.published.rows();
        let mut columns: Vec<JsonColumn<'_>> = vec![];
        for (k, (name, unit)) in self.published.columns.iter().enumerate() {
            let cell = |(_, cells): &(&'static str, Vec<&'static str>)| match (cells[k], number(cells[k])) {
                (_, Some(number)) => JsonCell::Number(number),
                ("", None) => JsonCell::Nothing(()),
                (text, None) => JsonCell::Text(text),
            };
            columns.push(JsonColumn { name, unit, from: "paper", cells: rows.iter().map(cell).collect() });
        }
        for MeasuredColumn { name, unit, cells, .. } in &self.measured {
            let cells = cells.iter().map(|cell| cell.map_or(JsonCell::Nothing(()), JsonCell::Number)).collect();
            columns.push(JsonColumn { name, unit, from: "here", cells });
        }
        let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
        let mut object = serializer.serialize_struct("PaperTable", 9)?;
        object.serialize_field("paper", self.published.paper.title())?;
        object.serialize_field("table", &self.published.number)?;
        object.serialize_field("caption", self.published.caption)?;
        object.serialize_field("device", &self.device)?;
        object.serialize_field("rows", &names)?;
        object.serialize_field("columns", &columns)?;
        object.serialize_field("notes", &self.notes)?;
        object.serialize_field("not_in_the_paper", self.published.unknown)?;
        object.serialize_field("remarks", self.published.remarks)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::published::{Paper, tables};
    use super::*;

    #[test]
    fn our_columns_stand_beside_the_papers() {
        let published = tables(Paper::Su3)[1].clone();
        let cells = vec![Some(1.25), None, Some(3.0), Some(1234.5)];
        let table = PaperTable {
            published,
            measured: vec![MeasuredColumn::new("CPU", "s", 1, cells)],
            device: Some("a card".into()),
            notes: vec!["scaled".into()],
        };
        let text = table.to_string();
        assert!(text.contains("| CPU only [s], paper |") && text.contains("| CPU [s], here |"), "{text}");
        assert!(text.contains("| 8 ") && text.contains("41.65 |") && text.contains(" 1.2 |"), "{text}");
        assert!(text.contains("here: a card\n") && text.contains("* scaled\n"), "{text}");
        assert!(text.contains(" 3 |") && text.contains(" 1234.5 |"), "{text}");
        assert_eq!((shown(1.22e14, 2), shown(21_463_040.0, 0)), ("1.220e14".into(), "21,463,040".into()));
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!((&json["rows"][2], &json["columns"][3]["cells"][1]), (&"12".into(), &serde_json::Value::Null));
        assert_eq!(json["columns"][3]["cells"][3], 1234.5);
    }
}
