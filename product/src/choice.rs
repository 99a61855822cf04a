//! A choice among ways, as data: what each would take, which was taken, and why.

use eigenforge_core::words::{size, span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One of several ways that were compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWay {
    /// Its name.
    pub name: String,
    /// Bytes that it takes; `None` if they were not compared.
    pub bytes: Option<u64>,
    /// Predicted seconds; `None` where nothing predicts them.
    pub seconds: Option<f64>,
    /// Why it was not taken; `None` of the one that was, and where bytes and seconds say it.
    #[serde(default)]
    pub refused: Option<String>,
}

impl PlannedWay {
    /// A way whose bytes or seconds are compared.
    pub fn new(name: impl Into<String>, bytes: Option<u64>, seconds: f64) -> PlannedWay {
        PlannedWay { name: name.into(), bytes, seconds: Some(seconds), refused: None }
    }

    /// A way that is not possible, with the reason.
    pub fn refused(name: impl Into<String>, why: String) -> PlannedWay {
        PlannedWay { name: name.into(), bytes: None, seconds: None, refused: Some(why) }
    }
}

/// A choice among ways, and its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedChoice {
    /// What is chosen.
    pub of: String,
    /// All ways.
    pub ways: Vec<PlannedWay>,
    /// The name of the chosen one; `None` if the run chooses on its device.
    pub chosen: Option<String>,
    /// Why.
    pub why: String,
}

impl PlannedChoice {
    /// The same where a device took another way than was planned.
    #[must_use]
    pub fn with_taken(mut self, way: &str, device: &str) -> PlannedChoice {
        if self.chosen.as_deref() == Some(way) {
            return self;
        }
        let planned = self.chosen.replace(way.into());
        for other in &mut self.ways {
            match Some(&other.name) {
                name if name == planned.as_ref() => other.refused = Some(format!("not on {device}")),
                name if name == self.chosen.as_ref() => other.refused = None,
                _ => {}
            }
        }
        self.why = format!("on {device}");
        self
    }
}

/// A line each: what is chosen, the ways with bytes and seconds as far as they are known, why the others were not taken.
impl fmt::Display for PlannedChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.of)?;
        let width = self.ways.iter().map(|way| way.name.chars().count()).max().unwrap_or(0);
        for way in &self.ways {
            let bytes = way.bytes.map_or(String::new(), size);
            let milliseconds = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
            let seconds = |seconds: f64| if seconds < 1.0 { milliseconds(seconds) } else { span(seconds) };
            let seconds = way.seconds.map_or(String::new(), seconds);
            let is_taken = Some(&way.name) == self.chosen.as_ref();
            let why = if is_taken { Some(&self.why) } else { way.refused.as_ref() };
            let mark = if is_taken { "*" } else { " " };
            writeln!(f, " {mark}{:width$} {bytes:>11} {seconds:>12}  {}", way.name, why.map_or("", String::as_str))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> PlannedChoice {
        let refused = |why: &str| Some(why.to_string());
        PlannedChoice {
            of: "how it is done".into(),
            ways: vec![
                PlannedWay { refused: refused("too wide"), ..PlannedWay::new("a", None, 0.0) },
                PlannedWay::new("b", Some(1 << 20), 0.002),
                PlannedWay {
                    refused: refused("takes 2.0 times as long as b"),
                    ..PlannedWay::new("c", Some(1024), 0.004)
                },
            ],
            chosen: Some("b".into()),
            why: "the first".into(),
        }
    }

    #[test]
    fn a_device_may_take_another_way() {
        assert_eq!(choice().with_taken("b", "a card"), choice());
        let other = choice().with_taken("c", "the CPU");
        assert_eq!((other.chosen.as_deref(), other.why.as_str()), (Some("c"), "on the CPU"));
        let refused: Vec<Option<&str>> = other.ways.iter().map(|way| way.refused.as_deref()).collect();
        assert_eq!(refused, [Some("too wide"), Some("not on the CPU"), None]);
        let text = choice().to_string();
        let marked: Vec<&str> = text.lines().filter(|line| line.starts_with(" *")).collect();
        assert!(
            matches!(marked[..], [line] if line.contains("1.0 MiB") && line.ends_with("2.000 ms  the first")),
            "{text}"
        );
    }
}
