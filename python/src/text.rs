//! Keys of Python as the text of a model file, and back.

use crate::errors::input_error;
use pyo3::prelude::*;
use toml::{Table, Value};

/// TOML of a JSON object: its objects become sections, lists of objects sections that repeat, and what is in them stays in a line.
#[pyfunction]
pub(crate) fn toml_of_json(json: &str) -> PyResult<String> {
    let table: Table = serde_json::from_str(json).map_err(|error| input_error(&error.to_string(), ""))?;
    let mut text = String::new();
    let is_section = |value: &Value| {
        let is_list = value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_table));
        value.is_table() || is_list
    };
    for (key, value) in table.iter().filter(|(_, value)| !is_section(value)) {
        text += &line(key, value);
    }
    for (key, value) in table.iter().filter(|(_, value)| is_section(value)) {
        let (brackets, sections) = match value {
            Value::Array(list) => (["[[", "]]"], list.iter().collect()),
            one => (["[", "]"], vec![one]),
        };
        for section in sections {
            let name = name(key);
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}{name}{}\n", brackets[0], brackets[1]);
            text.extend(section.as_table().into_iter().flatten().map(|(key, value)| line(key, value)));
        }
    }
    Ok(text)
}

/// JSON of TOML; dates become their text.
#[pyfunction]
pub(crate) fn json_of_toml(text: &str) -> PyResult<String> {
    let table: Table = toml::from_str(text).map_err(|error| input_error(&error.to_string(), ""))?;
    serde_json::to_string(&table).map_err(|error| input_error(&error.to_string(), ""))
}

fn line(key: &str, value: &Value) -> String {
    format!("{} = {}\n", name(key), in_line(value))
}

/// A key, in quotes where it needs them.
fn name(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    if plain { key.into() } else { Value::String(key.into()).to_string() }
}

fn in_line(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let entries: Vec<String> =
                table.iter().map(|(key, value)| format!("{} = {}", name(key), in_line(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(in_line).collect::<Vec<_>>().join(", ")),
        scalar => scalar.to_string(),
    }
}
