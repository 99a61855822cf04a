//! `eigenforge doctor`: what is on this machine, and what to do about what is missing.

use super::VerbEnd;
use super::arguments::DoctorArguments;
use super::error::CommandError;
use super::output::{bytes, print};
use eigenforge_runtime::Device;
use eigenforge_runtime::jit::{Doctor, Settings};
use std::fmt::Write;

/// Runs the verb. A machine without a GPU is well; only what conflicts is a fault.
pub(super) fn run(arguments: &DoctorArguments) -> Result<VerbEnd, CommandError> {
    let found = Doctor::examine(&Settings::from_env()?);
    let text = if arguments.json {
        serde_json::to_string_pretty(&found).map_err(eigenforge::report::ReportError::from)? + "\n"
    } else {
        table(&found)
    };
    print(&text)?;
    Ok(if found.conflicts.is_empty() { VerbEnd::Done } else { VerbEnd::Fault })
}

/// The sentence without the list of places that were searched; `--json` has them.
fn without_search(reason: &str) -> &str {
    reason.lines().next().unwrap_or(reason)
}

fn table(found: &Doctor) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        // Writing to a String cannot fail. Later lines of a long text stay in their column.
        let _ = writeln!(out, "{name:<12} {}", text.replace('\n', "\n             "));
    };
    row("eigenforge", env!("CARGO_PKG_VERSION").into());
    let cpu = Device::cpu();
    row("cpu", format!("{}, {} free of {}", cpu.name(), bytes(cpu.memory().free), bytes(cpu.memory().total)));
    match &found.nvrtc {
        Ok(nvrtc) => {
            let archs: Vec<String> = nvrtc.archs.iter().map(ToString::to_string).collect();
            let (major, minor) = nvrtc.version;
            row("nvrtc", format!("{major}.{minor} ({}), {}\n{}", nvrtc.origin, nvrtc.path.display(), archs.join(" ")));
        }
        Err(reason) => row("nvrtc", format!("MISSING: {}", without_search(reason))),
    }
    for (name, tool) in [("nvdisasm", &found.nvdisasm), ("cuobjdump", &found.cuobjdump)] {
        let text = tool
            .as_ref()
            .map_or_else(|reason| format!("missing: {}", without_search(reason)), |path| path.display().to_string());
        row(name, text);
    }
    let cache = &found.cache;
    let folder = cache.folder.as_ref().map_or("off".into(), |folder| folder.display().to_string());
    row("cache", format!("{folder}: {} entries, {} of {}", cache.entries, bytes(cache.bytes), bytes(cache.limit)));
    for second in &cache.readonly {
        row("", format!("behind it, read only: {}", second.display()));
    }
    if let Some(fault) = &cache.fault {
        row("", format!("NOT USED: {fault}; kernels are compiled anew in each run"));
    }
    match &found.driver {
        Ok(driver) => {
            row("driver", format!("CUDA {}.{}", driver.cuda.0, driver.cuda.1));
            for (number, card) in driver.devices.iter().enumerate() {
                row(&format!("cuda:{number}"), format!("{}, {}, {}", card.name, card.arch, bytes(card.memory)));
            }
            if let Some(fault) = &driver.fault {
                row("", fault.clone());
            }
        }
        Err(reason) => row("driver", format!("{reason}\nwithout one, `--device cpu` is used")),
    }
    for conflict in &found.conflicts {
        row("CONFLICT", conflict.clone());
    }
    out
}
