//! docs/dependencies.md: the crates that its tables name, and those that the workspace's Cargo.toml lists, are the same.

use super::gallery::root;
use std::collections::BTreeSet;

#[test]
fn every_dependency_has_a_row() {
    let manifest: toml::Value = toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    let used = manifest["workspace"]["dependencies"].as_table().unwrap().keys();
    let used: BTreeSet<String> = used.filter(|name| !name.starts_with("eigenforge")).cloned().collect();
    assert!(used.len() > 30, "{used:?}");

    let page = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let named: BTreeSet<String> =
        cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`').to_string())).collect();
    assert_eq!(used, named, "Cargo.toml on the left, docs/dependencies.md on the right");
}
