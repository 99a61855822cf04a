//! An edited text that runs in the place of the generated one, on every device that runs generated text.

use crate::test_devices;
use eigenforge_runtime::jit::{Overrides, dumped_plan};
use eigenforge_runtime::{Bind, Device};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;

/// x ← 2 x, under a name that no other test uses: all handles of a card share its overrides.
fn program(name: &str) -> VectorProgram {
    VectorProgram::parse(&format!("program {name}\nvectors x : inout\nx = 2.0 * x")).unwrap()
}

fn doubled(device: &Device, name: &str) -> Vec<f64> {
    let mut x = device.upload(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    device.program(&program(name), ScalarType::F64, &[]).unwrap().run(&mut [Bind::Out(&mut x)], &[]).unwrap();
    x.download().unwrap()
}

#[test]
fn an_edited_kernel_runs_in_place_of_the_generated_one_and_is_recorded_memcheck() {
    let folder = tempfile::tempdir().unwrap();
    let edited = folder.path().join("doubled_by_hand.cu");
    let generated = program("doubled_by_hand").text(ScalarType::F64, &[]).unwrap();
    assert!(generated.text.contains("x = 2.0 * x;"), "{}", generated.text);
    std::fs::write(&edited, generated.text.replace("x = 2.0 * x;", "x = 3.0 * x;")).unwrap();
    std::fs::write(folder.path().join("doubled_by_hand.ron"), dumped_plan(&generated)).unwrap();
    let overrides = || Overrides::read(folder.path()).unwrap();
    for device in test_devices() {
        if let Device::Cpu(_) = device {
            assert!(device.set_overrides(overrides()).is_err(), "the CPU does not run generated kernels");
            assert_eq!(doubled(&device, "doubled_by_hand"), [2.0, 4.0, 6.0, 8.0, 10.0]);
            continue;
        }
        assert_eq!(doubled(&device, "doubled_by_hand"), [2.0, 4.0, 6.0, 8.0, 10.0]);
        device.set_overrides(overrides()).unwrap();
        assert_eq!(device.unused_overrides().len(), 1);
        assert_eq!(doubled(&device, "doubled_by_hand"), [3.0, 6.0, 9.0, 12.0, 15.0]);
        assert!(device.unused_overrides().is_empty());
        assert_eq!(doubled(&device, "doubled_as_generated"), [2.0, 4.0, 6.0, 8.0, 10.0]);
        let records = device.kernels_used();
        let files: Vec<_> = records.iter().filter(|record| record.name == "doubled_by_hand").collect();
        assert_eq!(files.iter().map(|record| record.overridden.as_ref()).collect::<Vec<_>>(), [None, Some(&edited)]);
        assert_ne!(files[0].key, files[1].key);
        device.set_overrides(Overrides::default()).unwrap();
        assert_eq!(doubled(&device, "doubled_by_hand"), [2.0, 4.0, 6.0, 8.0, 10.0]);
    }
}
