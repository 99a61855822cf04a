//! kernels_generated/: the text of each reference problem, held up to date. `UPDATE_EXPECT=1 cargo test` writes it anew.
//!
//! A folder with a model.toml is a problem; beside it stand ir.txt, and the plan (.ron) and text (.cu) of its multiply.
//! The fused LOBPCG update is the same for every problem and stands once, beside the folders.

use super::gallery::root;
use eigenforge::exact::Stage;
use eigenforge::input::ModelFile;
use std::path::Path;

/// (file name, expected content) of one problem.
fn expected(folder: &Path) -> Vec<(String, String)> {
    let model = ModelFile::read(&folder.join("model.toml")).unwrap().to_model().unwrap();
    let multiply = format!("{}_multiply", model.name());
    let text = |stage, kernel| model.inspect_kernel(stage, "sm_90", Some(kernel)).unwrap();
    vec![
        ("ir.txt".into(), model.inspect(Stage::Ir, "sm_90").unwrap()),
        ("multiply.ron".into(), text(Stage::Plan, &multiply)),
        ("multiply.cu".into(), text(Stage::Cuda, &multiply)),
        ("../lobpcg_update.ron".into(), text(Stage::Plan, "lobpcg_update")),
        ("../lobpcg_update.cu".into(), text(Stage::Cuda, "lobpcg_update")),
    ]
}

#[test]
fn the_gallery_of_generated_kernels_is_up_to_date() {
    let bless = std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1");
    let mut problems = 0;
    for entry in std::fs::read_dir(root().join("kernels_generated")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("model.toml").exists() {
            continue;
        }
        problems += 1;
        for (name, content) in expected(&folder) {
            let path = folder.join(name);
            if bless {
                std::fs::write(&path, &content).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == content, "{} is out of date: read the change, then UPDATE_EXPECT=1", path.display());
        }
    }
    assert!(problems >= 4, "only {problems} problems in kernels_generated");
}
