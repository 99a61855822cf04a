//! JSON that people can read too: a list of numbers in a line, a row of a matrix in a line, a small object in a line.
//!
//! In: a value that serialises. Out: the text, indented by two spaces where an object or a list is broken into lines.

use super::ReportError;
use serde::Serialize;

/// The longest object that stays in a line.
const LINE: usize = 120;

/// The text of a value.
pub(crate) fn text<T: Serialize>(value: &T) -> Result<String, ReportError> {
    let compact = serde_json::to_string(value)?;
    let mut out = String::with_capacity(2 * compact.len());
    write(&compact, 0, &mut out);
    Ok(out)
}

/// Writes compact JSON of one value in lines.
fn write(value: &str, depth: usize, out: &mut String) {
    let is_list = value.starts_with('[');
    let items = items(value);
    let is_plain = |item: &&str| !item.starts_with(['[', '{']);
    if items.is_empty() || (is_list && items.iter().all(is_plain)) || (!is_list && value.len() <= LINE) {
        in_line(value, out);
        return;
    }
    out.push_str(&value[..1]);
    for (number, item) in items.iter().enumerate() {
        out.push_str(if number == 0 { "\n" } else { ",\n" });
        (0..=depth).for_each(|_| out.push_str("  "));
        let value = if is_list { 0 } else { string_end(item) + 1 };
        if value > 0 {
            out.push_str(&item[..value]);
            out.push(' ');
        }
        write(&item[value..], depth + 1, out);
    }
    out.push('\n');
    (0..depth).for_each(|_| out.push_str("  "));
    out.push_str(&value[value.len() - 1..]);
}

/// Writes compact JSON with a blank behind each comma and colon.
fn in_line(value: &str, out: &mut String) {
    let mut at = 0;
    while at < value.len() {
        let end = if value.as_bytes()[at] == b'"' { at + string_end(&value[at..]) } else { at + 1 };
        // Between strings all is ASCII.
        out.push_str(&value[at..end]);
        if [",", ":"].contains(&&value[at..end]) {
            out.push(' ');
        }
        at = end;
    }
}

/// The length of the string that a text begins with, its quotes included.
fn string_end(text: &str) -> usize {
    let (mut escaped, mut end) = (false, text.len());
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => {
                end = place + 1;
                break;
            }
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    end
}

/// The elements of a list, the pairs of an object; none of anything else.
fn items(value: &str) -> Vec<&str> {
    if !value.starts_with(['[', '{']) || value.len() == 2 {
        return Vec::new();
    }
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), 1, 1, 0);
    while at < value.len() - 1 {
        match value.as_bytes()[at] {
            b'"' => at += string_end(&value[at..]) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(&value[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found.push(&value[start..value.len() - 1]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn lists_and_small_objects_stay_in_a_line() {
        let bonds: Vec<Value> = (0..3).map(|i| json!({"i": i, "j": i + 1})).collect();
        let long = "a, [b] {\"c\": \\ Σ}".repeat(12);
        let value =
            json!({"a": [1, 2.5, null], "b": bonds, "c": {"text": long, "d": []}, "e": [[1, 2], [3, 4]], "f": {}});
        let found = text(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), value);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines[1], "  \"a\": [1, 2.5, null],");
        assert_eq!(lines[3], "    {\"i\": 0, \"j\": 1},");
        assert!(lines.contains(&"    [1, 2],") && lines.contains(&"    \"d\": [],"), "{found}");
    }
}
