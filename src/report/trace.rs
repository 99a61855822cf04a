//! Where the time went, as a file that Perfetto and chrome://tracing open.
//!
//! In: a [`Trace`]. Out: Chrome's trace events: complete events (`ph` "X") with `ts` and `dur` in microseconds, one track a
//! thread of this process and one per device, named by metadata events (`ph` "M"). What the trace lacks stands in
//! `otherData`.
//!
//! Reference: "Trace Event Format", Google, 2016.

use super::{ReportError, publish};
use eigenforge_runtime::trace::{Event, Trace, Track, Value};
use serde_json::{Map, Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Numbers of devices' tracks, after those of any threads.
const FIRST_DEVICE: usize = 10_000;

/// The file's content.
pub fn chrome_trace(trace: &Trace) -> Json {
    let process = std::process::id();
    let mut tracks: Vec<&Track> = Vec::new();
    for event in &trace.events {
        if !tracks.contains(&&event.track) {
            tracks.push(&event.track);
        }
    }
    let number = |track: &Track| match track {
        Track::Thread(number) => *number as usize,
        Track::Device(_) => FIRST_DEVICE + tracks.iter().position(|known| *known == track).unwrap_or(0),
    };
    let metadata =
        |name: &str, tid: usize, args: Json| json!({"ph": "M", "name": name, "pid": process, "tid": tid, "args": args});
    let mut events = vec![metadata("process_name", 0, json!({"name": "eigenforge"}))];
    for track in &tracks {
        let name = match track {
            Track::Thread(1) => "host".to_string(),
            Track::Thread(number) => format!("host, thread {number}"),
            Track::Device(name) => name.clone(),
        };
        events.push(metadata("thread_name", number(track), json!({"name": name})));
        events.push(metadata("thread_sort_index", number(track), json!({"sort_index": number(track)})));
    }
    let complete = |event: &Event| {
        json!({
            "ph": "X",
            "name": event.name,
            "cat": event.category,
            "ts": 1e6 * event.start,
            "dur": 1e6 * event.seconds,
            "pid": process,
            "tid": number(&event.track),
            "args": event.arguments.iter().map(|(name, value)| (name.to_string(), argument(value))).collect::<Map<_, _>>(),
        })
    };
    events.extend(trace.events.iter().map(complete));
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "version": format!("eigenforge {}", env!("CARGO_PKG_VERSION")),
            "notes": trace.notes,
            "dropped": trace.dropped,
        },
    })
}

/// A number that is not finite has no place in JSON and becomes null.
fn argument(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Number(number) => json!(number),
        Value::Count(count) => json!(count),
        Value::Flag(flag) => json!(flag),
    }
}

/// Writes the file, beside and renamed.
///
/// # Errors
/// An error of the file system.
pub fn write_trace(path: &Path, trace: &Trace) -> Result<PathBuf, ReportError> {
    let text = serde_json::to_string(&chrome_trace(trace))?;
    publish(path, |file| {
        file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { file: path.into(), source })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_are_named_and_times_are_microseconds() {
        let event = |track: Track, name: &str, start: f64| Event {
            track,
            category: "solver",
            name: name.into(),
            start,
            seconds: 0.25,
            arguments: vec![("residual", Value::Number(f64::NAN)), ("cached", Value::Flag(true))],
        };
        let gpu = Track::Device("GPU: H200".into());
        let events = vec![event(Track::Thread(1), "multiply", 1.5), event(gpu, "multiply", 1.75)];
        let trace = Trace { events, dropped: 3, notes: vec!["note".into()] };
        let json = chrome_trace(&trace);
        let all = json["traceEvents"].as_array().unwrap();
        let complete: Vec<&Json> = all.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!((complete[0]["ts"].as_f64(), complete[0]["dur"].as_f64()), (Some(1.5e6), Some(2.5e5)));
        assert!(complete[0]["args"]["residual"].is_null() && complete[0]["args"]["cached"] == true);
        let named = |name: &str| all.iter().find(|event| event["args"]["name"] == name).unwrap()["tid"].clone();
        assert_eq!((named("host"), named("GPU: H200")), (complete[0]["tid"].clone(), complete[1]["tid"].clone()));
        assert_ne!(named("host"), named("GPU: H200"));
        assert_eq!((&json["otherData"]["dropped"], &json["otherData"]["notes"][0]), (&json!(3), &json!("note")));
    }
}
