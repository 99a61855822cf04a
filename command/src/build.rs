//! `eigenforge build MODEL.toml --arch sm_80,sm_90`: fills the kernel cache, for this machine or one without a compiler.

use super::VerbEnd;
use super::arguments::BuildArguments;
use super::error::CommandError;
use super::output::{SCHEMA, print, print_json};
use super::{overrides, refuse};
use eigenforge::input::InputFile;
use eigenforge::inspection;
use eigenforge::problem::files_of_run;
use eigenforge_runtime::jit::{Arch, Chosen, Jit, JitError};
use eigenforge_runtime::say;
use std::time::Instant;

/// Runs the verb.
pub(super) fn run(arguments: &BuildArguments) -> Result<VerbEnd, CommandError> {
    let input = InputFile::read_evolving(&arguments.model)?;
    refuse::edits_of_a_sweep(&input, &[("--override", arguments.overrides.is_some())])?;
    let archs = arguments.arch.iter().map(|name| name.parse()).collect::<Result<Vec<Arch>, JitError>>()?;
    let overrides = overrides::read(arguments.overrides.as_deref())?;
    let files = files_of_run(&*inspection::open(&input)?, &overrides)?;
    let chosen = files.iter().map(|file| overrides.apply(&file.text).map_err(JitError::from));
    let chosen = chosen.collect::<Result<Vec<Chosen<'_>>, JitError>>()?;
    overrides.unused().iter().for_each(|line| say!("warning: {line}"));
    let jit = Jit::new()?;
    let mut compiled = Vec::new();
    for arch in &archs {
        for file in &chosen {
            let start = Instant::now();
            let cubin = file.compile(&jit, *arch)?;
            let how = if cubin.cached { "cached".into() } else { format!("{:.2} s", start.elapsed().as_secs_f64()) };
            let spills = |told| cubin.resources.iter().any(|kernel| kernel.spills() == told);
            let spills = match () {
                _ if spills(Some(true)) => ", SPILLS",
                _ if spills(None) => ", may spill",
                _ => "",
            };
            let registers = cubin.resources.iter().map(|kernel| kernel.registers).max().unwrap_or(0);
            let edited = if file.edited.is_some() { ", overridden" } else { "" };
            if arguments.json {
                compiled.push(serde_json::json!({
                    "name": cubin.name,
                    "arch": arch.to_string(),
                    "cached": cubin.cached,
                    "seconds": start.elapsed().as_secs_f64(),
                    "registers": registers,
                    "spills": cubin.resources.iter().map(|kernel| kernel.spills()).fold(Some(false), either),
                    "overridden": file.edited.is_some(),
                    "warning": cubin.note,
                }));
                continue;
            }
            print(&format!("{arch:<7} {:<48} {how:>8}  {registers:>3} registers{spills}{edited}\n", cubin.name));
            if let Some(note) = &cubin.note {
                say!("warning: {note}");
            }
        }
    }
    if arguments.json {
        let (folder, why) = (jit.cache().root(), jit.cache().fault());
        print_json(&serde_json::json!({ "schema": SCHEMA, "files": compiled, "folder": folder, "why": why }))?;
        return Ok(VerbEnd::Done);
    }
    let nowhere = || jit.cache().fault().map_or("nowhere: the cache is off".into(), |why| format!("nowhere: {why}"));
    let cache = jit.cache().root().map_or_else(nowhere, |root| root.display().to_string());
    print(&format!("{} kernel files for {} architectures, kept in {cache}\n", files.len(), archs.len()));
    Ok(VerbEnd::Done)
}

/// Whether one of two kernels spills; `None` if that is unknown.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    if one == Some(true) || other == Some(true) { Some(true) } else { one.zip(other).map(|_| false) }
}
