//! Kernels start in one place of the workspace, behind the comparison with plan and text.

use super::gallery::root;
use std::path::{Path, PathBuf};

/// Ways in which a kernel could be started through the driver.
const STARTS: [&str; 4] = ["launch_kernel(", "launch_builder(", "launch_cooperative_kernel(", "sys::cuLaunch"];

/// The Rust files below a folder but tests; of `benches`, the vendor's libraries start kernels of their own.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") && !path.ends_with("benches/src/vendor") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn kernels_start_in_one_place() {
    let mut files = Vec::new();
    [
        "src",
        "core/src",
        "product/src",
        "exact/src",
        "ci/src",
        "dmrg/src",
        "tensors/src",
        "benches/src",
        "command/src",
        "runtime/src",
        "templates/src",
    ]
    .iter()
    .for_each(|folder| sources(&root().join(folder), &mut files));
    assert!(files.len() > 80, "only {} files were looked at", files.len());
    let mut places = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| STARTS.iter().any(|start| line.contains(start)));
        places.extend(lines.map(|(number, _)| (file.strip_prefix(root()).unwrap().to_path_buf(), number + 1)));
    }
    // Two ways in one `unsafe`: blocks by themselves, and blocks that wait for each other.
    let [(first, from), (second, to)] = &places[..] else { panic!("{places:?}") };
    assert!(first == second && first.ends_with("runtime/src/device/module.rs") && to - from < 5, "{places:?}");
}
