//! Programs that Cargo built, read from its JSON lines.

use crate::Project;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A program that Cargo built.
pub struct Built {
    /// Folder of its package in the workspace; empty for the root.
    pub package: String,
    /// `lib`, `bin`, `test`, …
    pub kind: String,
    /// Its target, with underscores.
    pub target: String,
    /// Whether the test harness is in it.
    pub is_test: bool,
    /// The file.
    pub file: PathBuf,
}

impl Built {
    /// Folder of its package unless it is the root, name of the target, and its kind: unique in the workspace.
    pub fn name(&self) -> String {
        match self.package.as_str() {
            "" => format!("{}-{}", self.target, self.kind),
            package => format!("{package}.{}-{}", self.target, self.kind),
        }
    }
}

/// Runs Cargo with the arguments and gives the programs that it built, by name.
pub fn build(
    project: &Project,
    arguments: &[&str],
    environment: &[(&str, std::ffi::OsString)],
) -> Result<Vec<Built>, String> {
    let mut command = project.cargo(arguments);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("cargo cannot be started: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo {} failed", arguments.join(" ")));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut built: Vec<Built> = lines.lines().filter_map(|line| artifact(line, &project.root)).collect();
    built.sort_by_key(Built::name);
    Ok(built)
}

/// A program in one of Cargo's lines: `{"reason":"compiler-artifact",…"manifest_path":"/path/Cargo.toml","target":{"kind":["lib"],…"name":"x",…},
/// "profile":{…"test":true},…"executable":"/path"}`.
fn artifact(line: &str, root: &Path) -> Option<Built> {
    let manifest = PathBuf::from(text_after(line, "\"manifest_path\":\"")?.replace("\\\\", "\\"));
    let package = manifest.parent()?.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    let target = line.split_once("\"target\":{")?.1;
    let profile = line.split_once("\"profile\":{")?.1.split('}').next()?;
    Some(Built {
        package,
        kind: text_after(target, "\"kind\":[\"")?.into(),
        target: text_after(target, "\"name\":\"")?.replace('-', "_"),
        is_test: profile.contains("\"test\":true"),
        file: PathBuf::from(text_after(line, "\"executable\":\"")?.replace("\\\\", "\\")),
    })
}

fn text_after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split('"').next()
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
        let artifact = |line: &str| artifact(line, Path::new("/project"));
        let built = artifact(&line("runtime/", "lib", true, "eigenforge-runtime")).unwrap();
        assert_eq!(
            (built.name().as_str(), built.file.as_path(), built.is_test),
            ("runtime.eigenforge_runtime-lib", Path::new("/t/eigenforge-runtime-1"), true)
        );
        let names = ["", "runtime/"].map(|package| artifact(&line(package, "test", true, "simulate")).unwrap().name());
        assert_eq!(names, ["simulate-test", "runtime.simulate-test"]);
        let command = artifact(&line("command/", "bin", false, "eigenforge")).unwrap();
        assert!(!command.is_test && command.target == "eigenforge");
        let library = r#"{"manifest_path":"/project/Cargo.toml","target":{"kind":["lib"],"name":"x"},"profile":{"test":true},"executable":null}"#;
        assert!(artifact(library).is_none());
        assert!(artifact(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
