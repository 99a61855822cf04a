//! `eigenforge cache list|verify|clear`: the folder of compiled kernels, and in it that of SU(3) coefficients.

use super::VerbEnd;
use super::arguments::{CacheArguments, CacheVerb};
use super::error::CommandError;
use super::output::{SCHEMA, bytes, print, print_json};
use eigenforge::su3::{TableCache, TableFile};
use eigenforge::words::span;
use eigenforge_runtime::jit::{Cache, CacheEntry, Settings};
use eigenforge_runtime::say;
use std::fmt::Write;
use std::path::Path;

/// Runs the verb. A damaged entry does no harm (it is never used), but `verify` then ends with exit code 1.
pub(super) fn run(arguments: &CacheArguments) -> Result<VerbEnd, CommandError> {
    let settings = Settings::from_env()?;
    let (cache, coefficients) = (Cache::open(&settings), TableCache::open(&settings));
    let Some(folder) = cache.root().map(ToOwned::to_owned) else {
        let outcome = if cache.fault().is_some() { VerbEnd::Fault } else { VerbEnd::Done };
        match &arguments.verb {
            CacheVerb::List { json: true } => print_json(&[(); 0])?,
            CacheVerb::Verify { json: true } | CacheVerb::Clear { json: true } => {
                print_json(&serde_json::json!({ "schema": SCHEMA, "folder": null, "why": cache.fault() }))?;
            }
            _ => print(&format!(
                "the kernel cache is off{}\n",
                cache.fault().map_or(String::new(), |why| format!(": {why}"))
            )),
        }
        return Ok(outcome);
    };
    let failed = |source| CommandError::Cache { folder: folder.clone(), source };
    let (text, outcome) = match &arguments.verb {
        CacheVerb::List { json } => {
            let entries = cache.list().map_err(failed)?;
            let tables = coefficients.list().map_err(failed)?;
            if *json {
                let all: Vec<Listed> =
                    entries.iter().map(Listed::Kernel).chain(tables.iter().map(Listed::Coefficients)).collect();
                print_json(&all)?;
                return Ok(VerbEnd::Done);
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
            if let Some(last) = tables.iter().map(|table| table.unused).min() {
                let total = tables.iter().map(|table| table.bytes).sum();
                let unused = span(last.as_secs_f64());
                let _ = writeln!(
                    text,
                    "{} tables of SU(3) coefficients, {}, used {unused} ago (named by --json)",
                    tables.len(),
                    bytes(total)
                );
            }
            (text, VerbEnd::Done)
        }
        CacheVerb::Verify { json } => {
            let verdicts = cache.verify().map_err(failed)?;
            let tables = coefficients.verify().map_err(failed)?;
            let kernels =
                verdicts.iter().filter_map(|verdict| Some((&verdict.folder, verdict.fault.as_ref()?.to_string())));
            let of_tables = tables.iter().filter_map(|(path, fault)| Some((path, fault.as_ref()?.to_string())));
            let faults: Vec<_> = kernels.chain(of_tables).map(|(path, fault)| DamagedEntry { path, fault }).collect();
            let (checked, bad) = (verdicts.len() + tables.len(), faults.len());
            let mut text: String =
                faults.iter().map(|DamagedEntry { path, fault }| format!("{}: {fault}\n", path.display())).collect();
            let _ = writeln!(text, "{checked} entries checked, {bad} faulty, in {}", folder.display());
            if *json {
                let object =
                    serde_json::json!({ "schema": SCHEMA, "folder": folder, "checked": checked, "damaged": faults });
                text = serde_json::to_string_pretty(&object).map_err(eigenforge::report::ReportError::from)? + "\n";
            }
            if bad > 0 {
                say!(
                    "error: {bad} of {checked} entries are damaged; none of them is used, and each is replaced when it is needed"
                );
            }
            (text, if bad == 0 { VerbEnd::Done } else { VerbEnd::Fault })
        }
        CacheVerb::Clear { json } => {
            let (kernels, freed) = cache.clear().map_err(failed)?;
            let (tables, freed_too) = coefficients.clear().map_err(failed)?;
            let (entries, freed) = (kernels + tables, freed + freed_too);
            if *json {
                print_json(
                    &serde_json::json!({ "schema": SCHEMA, "folder": folder, "removed": entries, "bytes": freed }),
                )?;
                return Ok(VerbEnd::Done);
            }
            (format!("{entries} entries removed, {} freed in {}\n", bytes(freed), folder.display()), VerbEnd::Done)
        }
    };
    print(&text);
    Ok(outcome)
}

/// A damaged entry in JSON.
#[derive(serde::Serialize)]
struct DamagedEntry<'a> {
    path: &'a Path,
    fault: String,
}

/// An element of the list in JSON.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    Kernel(&'a CacheEntry),
    Coefficients(&'a TableFile),
}
