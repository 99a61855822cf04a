//! The manifests: docs/dependencies.md has a row for every crate that the workspace's Cargo.toml lists, and every member has what a
//! registry asks for.

use super::gallery::root;
use std::collections::BTreeSet;

fn manifest(folder: &str) -> toml::Value {
    toml::from_str(&std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap()).unwrap()
}

#[test]
fn every_dependency_has_a_row() {
    let workspace = manifest("");
    let used = workspace["workspace"]["dependencies"].as_table().unwrap().keys();
    let used: BTreeSet<String> = used.filter(|name| !name.starts_with("eigenforge")).cloned().collect();
    assert!(used.len() > 30, "{used:?}");

    let page = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let named: BTreeSet<String> =
        cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`').to_string())).collect();
    assert_eq!(used, named, "Cargo.toml on the left, docs/dependencies.md on the right");
}

#[test]
fn every_member_is_ready_for_a_registry_or_says_that_it_is_not_published() {
    let workspace = manifest("");
    let members = workspace["workspace"]["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    for member in members.chain([""]) {
        let manifest = manifest(member);
        let package = manifest["package"].as_table().unwrap();
        if package.get("publish").is_some_and(|publish| publish.as_bool() == Some(false)) {
            continue;
        }
        for key in ["description", "license", "repository", "readme", "keywords", "categories", "include"] {
            assert!(package.contains_key(key), "{member}/Cargo.toml has no {key}");
        }
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(root().join(member).join(file).exists(), "{member}/{file} is not there");
        }
    }
}
