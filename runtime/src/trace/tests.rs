//! Spans and recordings. One test, because there is one recording at a time in a process, and other tests of this crate
//! may run beside it: only spans of this thread and of its own category are looked at.

use super::*;

fn own_events(trace: &Trace) -> Vec<&Event> {
    trace.events.iter().filter(|event| event.category == "trace test").collect()
}

#[test]
fn spans_are_recorded_while_a_recording_runs_and_nest() {
    drop(span("trace test", "before"));
    let recording = Recording::start().unwrap();
    assert_eq!(Recording::start().unwrap_err(), AlreadyRecording);
    {
        let mut outer = span("trace test", "outer");
        assert!(outer.is_recorded());
        outer.note("file", "multiply");
        outer.note("cached", true);
        {
            let mut inner = span("trace test", "inner");
            inner.note("iteration", 7usize);
            inner.note("energy", -1.5);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::thread::spawn(|| drop(span("trace test", "elsewhere"))).join().unwrap();
        unrecorded(|| assert!(!span("trace test", "of another solve").is_recorded()));
    }
    let unfinished = span("trace test", "unfinished");
    note("no timers".into());
    note("no timers".into());
    let (number, age) = now().unwrap();
    let device = Event {
        track: Track::Device("GPU 0".into()),
        category: "trace test",
        name: "multiply".into(),
        start: 0.0,
        seconds: age,
        arguments: vec![],
    };
    hand_in(number, vec![device.clone()]);
    hand_in(number + 1, vec![device]);
    let trace = recording.finish();
    drop(unfinished);

    let events = own_events(&trace);
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["inner", "elsewhere", "outer", "multiply"], "in the order in which they ended");
    let (inner, elsewhere, outer) = (events[0], events[1], events[2]);
    assert_eq!(inner.arguments, [("iteration", Value::Count(7)), ("energy", Value::Number(-1.5))]);
    assert_eq!(outer.arguments, [("file", Value::Text("multiply".into())), ("cached", Value::Flag(true))]);
    assert!(inner.start >= outer.start && inner.seconds >= 2e-3);
    assert!(inner.start + inner.seconds <= outer.start + outer.seconds + 1e-9);
    assert!(inner.track == outer.track && inner.track != elsewhere.track);
    assert_eq!((trace.notes, trace.dropped), (vec!["no timers".to_string()], 0));

    assert!(!span("trace test", "after").is_recorded() && now().is_none());
    drop(Recording::start().unwrap());
    let again = Recording::start().unwrap();
    drop(span("trace test", "again"));
    assert_eq!(own_events(&again.finish()).len(), 1, "nothing of an earlier recording is left");
}
