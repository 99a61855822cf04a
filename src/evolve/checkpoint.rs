//! What must be the same where an evolution goes on from a checkpoint, beside model and sector.

use crate::input::{EvolveSpec, ModelFile};
use crate::observable::Observable;
use crate::problem::run::{operators_setting, setting};

/// By name, in the words of the file; another text of the same name is another observable, and another file of the same path another start.
pub(super) fn checkpoint_settings(
    file: &ModelFile,
    spec: &EvolveSpec,
    observables: &[Observable],
) -> Vec<(String, String)> {
    let text = |span: &std::ops::Range<usize>| file.text.get(span.clone()).unwrap_or_default().to_string();
    let drives = file.driven.iter().flat_map(|driven| &driven.drives);
    let drives: Vec<String> = drives.map(|drive| format!("{} = {:?}", drive.key, drive.function.to_string())).collect();
    let record: Vec<&str> = spec.record.iter().map(|(name, _)| name.as_str()).collect();
    vec![
        ("start".into(), text(&spec.start_span)),
        ("start file".into(), spec.start.file_hash()),
        operators_setting("observables' operators", observables.iter().flat_map(|own| &own.operators)),
        ("times".into(), times_text(&spec.times)),
        setting("tolerance", spec.tolerance),
        setting("record", record),
        setting("entropy", &spec.entropy),
        setting("imaginary", spec.imaginary),
        setting("vector_potential", spec.vector_potential),
        ("H(t)".into(), drives.join(", ")),
    ]
}

/// Times in few words where they are equally spaced.
fn times_text(times: &[f64]) -> String {
    let (count, last) = (times.len(), times[times.len() - 1]);
    let is_even = times
        .iter()
        .enumerate()
        .all(|(k, time)| (time * (count - 1) as f64 - last * k as f64).abs() <= 1e-12 * last * count as f64);
    if is_even { format!("{count} from 0 to {last}") } else { format!("{times:?}") }
}
