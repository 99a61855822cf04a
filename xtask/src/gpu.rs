//! `cargo xtask gpu-test-binaries`: the workspace's test programs and the command, built in release, stripped and
//! packed by gzip, in `gpu/bin`.
//!
//! `gpu/bin/run-list` has a line a test program, `NAME FILE`. On the machine with the GPU `EIGENFORGE_ROOT` names the
//! checkout, since the path compiled into the programs is that of this machine.

use crate::Project;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Test programs that need Rust where they run.
const LEFT_OUT: [&str; 2] = ["xtask", "gallery_of_errors"];
/// Packages that know no device.
const WITHOUT_DEVICE: [&str; 2] = ["templates", "su3"];
/// What may travel to the other machine.
const LIMIT: u64 = 63 << 20;

/// A program that Cargo built.
struct Built {
    /// Folder of its package unless it is the root, name of the target, and `lib` or `test`.
    name: String,
    /// The file.
    file: PathBuf,
}

/// Builds, strips and copies; an error when the whole is too large to travel.
pub fn test_binaries(project: &Project) -> Result<(), String> {
    let folder = project.root.join("gpu").join("bin");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let tests = build(project, &["test", "--workspace", "--release", "--no-run"], true)?;
    let command = build(project, &["build", "--release", "--package", "eigenforge", "--bin", "eigenforge"], false)?;

    let (mut list, mut total) = (String::new(), 0);
    println!("\n{:<36} {:>9}", "program", "MiB");
    for built in tests.iter().chain(&command) {
        let bytes = put(&built.file, &folder.join(&built.name))?;
        println!("{:<36} {:>9.1}", built.name, bytes as f64 / (1 << 20) as f64);
        total += bytes;
    }
    println!("{:<36} {:>9.1}", "all", total as f64 / (1 << 20) as f64);
    for built in &tests {
        list.push_str(&format!("{} gpu/bin/{}\n", built.name, built.name));
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

/// Runs Cargo and reads from its JSON lines which programs it built; test programs, or others.
fn build(project: &Project, arguments: &[&str], tests: bool) -> Result<Vec<Built>, String> {
    let mut command = project.cargo(arguments);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("cargo cannot be started: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo {} failed", arguments.join(" ")));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut built: Vec<Built> = lines.lines().filter_map(|line| artifact(line, &project.root, tests)).collect();
    built.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(built)
}

/// A program in one of Cargo's lines: `{"reason":"compiler-artifact",…"manifest_path":"/path/Cargo.toml","target":{"kind":["lib"],…"name":"x",…},
/// "profile":{…"test":true},…"executable":"/path"}`.
fn artifact(line: &str, root: &Path, tests: bool) -> Option<Built> {
    let manifest = PathBuf::from(text_after(line, "\"manifest_path\":\"")?.replace("\\\\", "\\"));
    let package = manifest.parent()?.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    let target = line.split_once("\"target\":{")?.1;
    let profile = line.split_once("\"profile\":{")?.1.split('}').next()?;
    let kind = text_after(target, "\"kind\":[\"")?;
    let name = text_after(target, "\"name\":\"")?.replace('-', "_");
    let file = text_after(line, "\"executable\":\"")?;
    let wanted = match tests {
        true => {
            ["lib", "test"].contains(&kind)
                && !LEFT_OUT.contains(&name.as_str())
                && !WITHOUT_DEVICE.contains(&package.as_str())
        }
        false => kind == "bin",
    };
    if !wanted || profile.contains("\"test\":true") != tests {
        return None;
    }
    let name = match (tests, package.as_str()) {
        (false, _) => name,
        (true, "") => format!("{name}-{kind}"),
        // Two packages may have tests of one name.
        (true, package) => format!("{package}.{name}-{kind}"),
    };
    Some(Built { name, file: PathBuf::from(file.replace("\\\\", "\\")) })
}

fn text_after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split('"').next()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_lines_are_read() {
        let line = |package: &str, kind: &str, test: bool, name: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"p","manifest_path":"/project/{package}Cargo.toml","target":{{"kind":["{kind}"],"crate_types":["lib"],"name":"{name}","src_path":"/s.rs"}},"profile":{{"opt_level":"3","test":{test}}},"filenames":[],"executable":"/t/{name}-1","fresh":true}}"#
            )
        };
        let artifact = |line: &str, tests| artifact(line, Path::new("/project"), tests);
        let built = artifact(&line("runtime/", "lib", true, "eigenforge-runtime"), true).unwrap();
        assert_eq!(
            (built.name.as_str(), built.file.as_path()),
            ("runtime.eigenforge_runtime-lib", Path::new("/t/eigenforge-runtime-1"))
        );
        let names =
            ["", "runtime/"].map(|package| artifact(&line(package, "test", true, "simulate"), true).unwrap().name);
        assert_eq!(names, ["simulate-test", "runtime.simulate-test"]);
        assert!(artifact(&line("templates/", "test", true, "every_branch"), true).is_none());
        assert!(artifact(&line("su3/", "test", true, "properties"), true).is_none());
        assert!(artifact(&line("", "bin", false, "eigenforge"), true).is_none());
        assert_eq!(artifact(&line("", "bin", false, "eigenforge"), false).unwrap().name, "eigenforge");
        for (kind, name) in
            [("lib", "xtask"), ("test", "gallery_of_errors"), ("bin", "eigenforge"), ("proc-macro", "m")]
        {
            assert!(artifact(&line("", kind, true, name), true).is_none(), "{kind} {name}");
        }
        let library = r#"{"manifest_path":"/project/Cargo.toml","target":{"kind":["lib"],"name":"x"},"profile":{"test":true},"executable":null}"#;
        assert!(artifact(library, true).is_none());
        assert!(artifact(r#"{"reason":"build-finished","success":true}"#, true).is_none());
    }
}
