//! `cargo xtask gpu-test-binaries`: the workspace's test programs and the command, built in release, stripped and
//! packed by gzip, in `gpu/bin`.
//!
//! `gpu/bin/run-list` has one line per test program, `NAME FILE`. On the machine with the GPU `EIGENFORGE_ROOT` names the
//! checkout, since the path compiled into the programs is that of this machine.

use crate::Project;
use crate::programs::{Built, build};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Test programs that need Rust or a C++ compiler where they run.
const LEFT_OUT: [&str; 3] = ["xtask", "gallery_of_errors", "simulate"];
/// Packages that know no device.
const WITHOUT_DEVICE: [&str; 3] = ["templates", "su3", "grammar"];
/// What may travel to the other machine.
const LIMIT: u64 = 63 << 20;

/// Builds, strips and copies; an error when the whole is too large to travel.
pub fn test_binaries(project: &Project) -> Result<(), String> {
    let folder = project.root.join("gpu").join("bin");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let named = |built: Vec<Built>, wanted: fn(&Built) -> bool, name: fn(&Built) -> String| {
        built.into_iter().filter(wanted).map(|built| (name(&built), built.file)).collect::<Vec<_>>()
    };
    let tests = build(project, &["test", "--workspace", "--release", "--no-run"], &[])?;
    let tests = named(tests, travels, Built::name);
    let command =
        build(project, &["build", "--release", "--package", "eigenforge-command", "--bin", "eigenforge"], &[])?;
    let command = named(command, |built| built.kind == "bin", |built| built.target.clone());

    let (mut list, mut total) = (String::new(), 0);
    println!("\n{:<36} {:>9}", "program", "MiB");
    for (name, file) in tests.iter().chain(&command) {
        let bytes = put(file, &folder.join(name))?;
        println!("{name:<36} {:>9.1}", bytes as f64 / (1 << 20) as f64);
        total += bytes;
    }
    println!("{:<36} {:>9.1}", "all", total as f64 / (1 << 20) as f64);
    for (name, _) in &tests {
        list.push_str(&format!("{name} gpu/bin/{name}\n"));
    }
    fs::write(folder.join("run-list"), list).map_err(|e| format!("gpu/bin/run-list: {e}"))?;
    if total > LIMIT {
        return Err(format!(
            "gpu/bin has {total} bytes, more than the {LIMIT} that may travel: use fewer test programs"
        ));
    }
    println!("\non the machine with the GPU, in the checkout's root: gpu/test.sh, gpu/bench.sh");
    Ok(())
}

/// Whether a test program is of use on the other machine.
fn travels(built: &Built) -> bool {
    built.is_test
        && ["lib", "test"].contains(&built.kind.as_str())
        && !LEFT_OUT.contains(&built.target.as_str())
        && !WITHOUT_DEVICE.contains(&built.package.as_str())
}

/// Copies a program, strips the copy where there is a `strip`, and packs it. Gives the packed size.
fn put(file: &Path, target: &Path) -> Result<u64, String> {
    fs::copy(file, target).map_err(|e| format!("{} to {}: {e}", file.display(), target.display()))?;
    match Command::new("strip").arg(target).status() {
        Ok(status) if status.success() => {}
        _ => println!("{} is not stripped: no `strip` here", target.display()),
    }
    let packed = Command::new("gzip").arg("--force").arg(target).status().map_err(|e| format!("gzip: {e}"))?;
    if !packed.success() {
        return Err(format!("gzip could not pack {}", target.display()));
    }
    Ok(fs::metadata(target.with_file_name(format!("{}.gz", name_of(target)))).map_err(|e| e.to_string())?.len())
}

fn name_of(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
