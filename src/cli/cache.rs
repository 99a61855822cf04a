//! `eigenforge cache list|verify|clear`: the folder of compiled kernels.

use super::Outcome;
use super::arguments::{CacheArguments, CacheVerb};
use super::error::CommandError;
use super::output::{bytes, print, span};
use eigenforge_runtime::jit::{Cache, Settings};
use std::fmt::Write;

/// Runs the verb. A damaged entry does no harm (it is never used), but `verify` then ends with exit code 1.
pub(super) fn run(arguments: &CacheArguments) -> Result<Outcome, CommandError> {
    let cache = Cache::open(&Settings::from_env()?);
    let Some(folder) = cache.root().map(ToOwned::to_owned) else {
        print("the kernel cache is off\n")?;
        return Ok(Outcome::Done);
    };
    let failed = |source| CommandError::Cache { folder: folder.clone(), source };
    let (text, outcome) = match &arguments.verb {
        CacheVerb::List { json } => {
            let entries = cache.list().map_err(failed)?;
            if *json {
                let text = serde_json::to_string_pretty(&entries).map_err(crate::report::ReportError::from)?;
                print(&(text + "\n"))?;
                return Ok(Outcome::Done);
            }
            let mut text = String::new();
            for entry in &entries {
                let failed = if entry.failed { "  FAILED TO COMPILE" } else { "" };
                let unused = span(entry.unused.as_secs_f64());
                let _ = writeln!(
                    text,
                    "{}  {:<48} {:<7} nvrtc {:<5} {:>10}  used {unused} ago{failed}",
                    &entry.key[..entry.key.len().min(16)],
                    entry.name,
                    entry.arch.to_string(),
                    entry.nvrtc,
                    bytes(entry.bytes)
                );
            }
            let total = entries.iter().map(|entry| entry.bytes).sum();
            let _ = writeln!(text, "{} entries, {} in {}", entries.len(), bytes(total), folder.display());
            (text, Outcome::Done)
        }
        CacheVerb::Verify => {
            let verdicts = cache.verify().map_err(failed)?;
            let faults = verdicts.iter().filter_map(|verdict| Some((&verdict.folder, verdict.fault.as_ref()?)));
            let mut text: String = faults.map(|(folder, fault)| format!("{}: {fault}\n", folder.display())).collect();
            let bad = verdicts.iter().filter(|verdict| verdict.fault.is_some()).count();
            let _ = writeln!(text, "{} entries checked, {bad} faulty, in {}", verdicts.len(), folder.display());
            (text, if bad == 0 { Outcome::Done } else { Outcome::Fault })
        }
        CacheVerb::Clear => {
            let (entries, freed) = cache.clear().map_err(failed)?;
            (format!("{entries} entries removed, {} freed in {}\n", bytes(freed), folder.display()), Outcome::Done)
        }
    };
    print(&text)?;
    Ok(outcome)
}
