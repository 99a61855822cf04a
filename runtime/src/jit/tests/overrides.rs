//! Edited texts in the place of generated ones: which run, which are refused and with what words. Only the last test needs
//! a compiler.

use super::{axpy, jit};
use crate::jit::{Arch, JitError, OverrideError, Overrides, dumped_plan};
use eigenforge_templates::KernelText;
use std::fs;
use std::path::Path;

/// Writes a text and its plan as `inspect --dump` does.
fn dump(folder: &Path, generated: &KernelText) {
    fs::write(folder.join(format!("{}.cu", generated.name)), &generated.text).unwrap();
    fs::write(folder.join(format!("{}.ron", generated.name)), dumped_plan(generated)).unwrap();
}

/// A folder with the dump of `axpy`, one word of its text exchanged.
fn edited(from: &str, to: &str) -> tempfile::TempDir {
    let (folder, generated) = (tempfile::tempdir().unwrap(), axpy());
    dump(folder.path(), &generated);
    assert!(generated.text.contains(from), "{from}");
    fs::write(folder.path().join("axpy.cu"), generated.text.replacen(from, to, 1)).unwrap();
    folder
}

/// What is said of the edited file when this text is about to be compiled.
fn refusal(folder: &Path, generated: &KernelText) -> String {
    Overrides::read(folder).unwrap().apply(generated).unwrap_err().to_string()
}

#[test]
fn an_edited_text_takes_the_place_of_the_generated_one_of_its_name() {
    let folder = edited("fma(a, x[i], y[i])", "y[i] + a * x[i]");
    let overrides = Overrides::read(folder.path()).unwrap();
    let generated = axpy();
    let chosen = overrides.apply(&generated).unwrap();
    assert!(chosen.text.text.contains("y[i] + a * x[i]") && !chosen.text.text.contains("fma("));
    assert_eq!((&chosen.text.name, &chosen.text.plan), (&generated.name, &generated.plan));
    assert_eq!(chosen.edited.as_deref(), Some(folder.path().join("axpy.cu").as_path()));
    let other = KernelText { name: "dot".into(), ..generated.clone() };
    let chosen = overrides.apply(&other).unwrap();
    assert_eq!((&*chosen.text, chosen.edited), (&other, None));
    assert_eq!(overrides.unused(), Vec::<String>::new());
}

#[test]
fn a_dump_that_nobody_edited_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let generated = axpy();
    dump(folder.path(), &generated);
    let overrides = Overrides::read(folder.path()).unwrap();
    assert_eq!(overrides.apply(&generated).unwrap().edited, None);
    // Nor does it for another problem, whose text is another one.
    let later = KernelText { plan: "(threads: 512)".into(), text: generated.text.replace("256", "512"), ..generated };
    let chosen = overrides.apply(&later).unwrap();
    assert_eq!((&*chosen.text, chosen.edited), (&later, None));
    assert!(Overrides::default().apply(&later).unwrap().edited.is_none());
}

#[test]
fn an_edit_made_for_another_problem_or_version_never_runs() {
    let folder = edited("fma(a, x[i], y[i])", "y[i] + a * x[i]");
    let other_sector = KernelText { plan: "(threads: 512)".into(), ..axpy() };
    let message = refusal(folder.path(), &other_sector);
    assert!(message.contains("axpy.cu: it was made from the text of another problem or version"), "{message}");
    assert!(
        message.contains("line 1 of the plan is `(threads: 512)` for this run, and `(threads: 256)` in its .ron"),
        "{message}"
    );
    assert!(message.contains("--dump NEW_DIR"), "{message}");
    let longer = KernelText { plan: "(threads: 256)\n(more: 1)".into(), ..axpy() };
    assert!(refusal(folder.path(), &longer).contains("this run's plan has 2 lines, the one in its .ron 1"));
    // The same plan, but another text: a vector program with the diagonal of another model.
    let other_diagonal = KernelText { text: axpy().text + "// another diagonal\n", ..axpy() };
    let message = refusal(folder.path(), &other_diagonal);
    assert!(message.contains("the plan is the same, but this run's generated text is another one"), "{message}");
    let ron = folder.path().join("axpy.ron");
    let older = fs::read_to_string(&ron).unwrap().replace(env!("CARGO_PKG_VERSION"), "0.0.7");
    fs::write(&ron, older).unwrap();
    let message = refusal(folder.path(), &other_diagonal);
    assert!(message.contains("it was dumped by eigenforge 0.0.7, and this is"), "{message}");
    // An older version that generated the very same text does no harm.
    assert!(Overrides::read(folder.path()).unwrap().apply(&axpy()).unwrap().edited.is_some());
}

#[test]
fn without_its_plan_an_edit_is_refused() {
    let folder = edited("fma(a, x[i], y[i])", "y[i] + a * x[i]");
    let ron = folder.path().join("axpy.ron");
    fs::write(&ron, axpy().plan).unwrap();
    let message = refusal(folder.path(), &axpy());
    assert!(message.contains("the first line of axpy.ron beside it is not as it was dumped"), "{message}");
    fs::remove_file(&ron).unwrap();
    let message = refusal(folder.path(), &axpy());
    assert!(message.contains("axpy.ron beside it cannot be read") && message.contains("Dump again"), "{message}");
}

#[test]
fn other_arguments_are_refused_with_both_lists() {
    for (from, to, found) in [
        (
            "const double* __restrict__ x, double a",
            "double* __restrict__ x, double a",
            "axpy(double* y, double* x, double a, i64 n)",
        ),
        ("double a, long long n", "double a, int n", "axpy(double* y, const double* x, double a, int n)"),
        ("double a, long long n", "long long n, double a", "axpy(double* y, const double* x, i64 n, double a)"),
        (
            "double a, long long n",
            "double a, long long n, long long m",
            "axpy(double* y, const double* x, double a, i64 n, i64 m)",
        ),
        ("\nblock_sums(", "\nsums_of_blocks(", "sums_of_blocks(double* sums, const double* y, i64 n)"),
        ("extern \"C\" __global__ void __launch_bounds__(256)\nblock", "static __device__ void\nblock", "axpy("),
        ("\nextern \"C\"", "\nextern \"C\" __global__ void more(int i) {}\nextern \"C\"", "more(int i)"),
    ] {
        let folder = edited(from, to);
        let message = refusal(folder.path(), &axpy());
        assert!(message.contains("axpy.cu: its kernels are not those that will be launched"), "{message}");
        let (expected, shown) = message.split_once("\n  found:\n").unwrap();
        assert!(expected.contains("    axpy(double* y, const double* x, double a, i64 n)"), "{message}");
        assert!(expected.contains("    block_sums(double* sums, const double* y, i64 n)"), "{message}");
        assert!(shown.contains(found), "{found} is not in {shown}");
    }
    // Names of parameters, comments and layout are the editor's.
    let folder = edited("double a, long long n)\n", "double factor, /* elements */ i64 length)\n");
    assert!(Overrides::read(folder.path()).unwrap().apply(&axpy()).is_ok());
}

#[test]
fn a_file_that_stands_in_for_nothing_is_told_with_the_names_there_are() {
    let folder = edited("fma(a, x[i], y[i])", "y[i] + a * x[i]");
    fs::write(folder.path().join("axpi.cu"), "int typo;").unwrap();
    dump(folder.path(), &KernelText { name: "unedited".into(), ..axpy() });
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let overrides = Overrides::read(folder.path()).unwrap();
    overrides.apply(&axpy()).unwrap();
    overrides.apply(&KernelText { name: "dot".into(), ..axpy() }).unwrap();
    let told = overrides.unused();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("axpi.cu had no effect") && told[0].contains("(there were: axpy, dot)"), "{told:?}");
}

#[test]
fn a_folder_that_holds_no_kernel_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let message = Overrides::read(folder.path().join("missing")).unwrap_err().to_string();
    assert!(message.contains("missing: ") && message.contains("--dump DIR"), "{message}");
    fs::write(folder.path().join("kernel.txt"), "").unwrap();
    fs::write(folder.path().join(".axpy.cu"), "an editor's backup").unwrap();
    let fault = Overrides::read(folder.path()).unwrap_err();
    assert!(
        matches!(fault, OverrideError::Empty { .. }) && fault.to_string().contains("it has no .cu file"),
        "{fault}"
    );
    fs::write(folder.path().join("axpy.cu"), [0xff, 0xfe, 0x00]).unwrap();
    let message = Overrides::read(folder.path()).unwrap_err().to_string();
    assert!(message.contains("axpy.cu") && message.contains("UTF-8"), "{message}");
}

#[test]
fn a_device_without_generated_text_refuses_an_override() {
    use crate::{Device, DeviceError};
    let folder = edited("fma(a, x[i], y[i])", "y[i] + a * x[i]");
    let cpu = Device::cpu();
    let fault = cpu.set_overrides(Overrides::read(folder.path()).unwrap()).unwrap_err();
    assert!(matches!(fault, DeviceError::Jit(JitError::Override(OverrideError::NoText { .. }))), "{fault}");
    assert!(
        fault.to_string().contains("does not run generated kernels") && fault.to_string().contains("--device cuda"),
        "{fault}"
    );
    assert!(cpu.set_overrides(Overrides::default()).is_ok() && cpu.unused_overrides().is_empty());
}

#[test]
fn an_edited_text_has_a_key_of_its_own_and_its_errors_name_its_file() {
    let cache = tempfile::tempdir().unwrap();
    let Some(jit) = jit(cache.path()) else { return };
    let generated = axpy();
    let plain = Overrides::default().apply(&generated).unwrap().compile(&jit, Arch(90)).unwrap();
    let folder = edited("fma(a, x[i], y[i])", "y[i] + 2.0 * a * x[i]");
    let overrides = Overrides::read(folder.path()).unwrap();
    let cubin = overrides.apply(&generated).unwrap().compile(&jit, Arch(90)).unwrap();
    assert!(cubin.key != plain.key && cubin.image != plain.image && !cubin.cached);
    assert!(overrides.apply(&generated).unwrap().compile(&jit, Arch(90)).unwrap().cached);
    assert!(overrides.apply(&generated).unwrap().ptx(&jit, Arch(90)).unwrap().contains(".entry axpy"));

    let folder = edited("fma(a, x[i], y[i])", "fma(a, x[i], z[i])");
    let overrides = Overrides::read(folder.path()).unwrap();
    let file = folder.path().join("axpy.cu").display().to_string();
    for round in 0..2 {
        let message = overrides.apply(&generated).unwrap().compile(&jit, Arch(90)).unwrap_err().to_string();
        assert!(message.contains(&format!("the CUDA text of axpy (edited: {file})")), "round {round}: {message}");
        assert!(message.contains(&format!("in the edited text: {file}:5\n")), "round {round}: {message}");
        assert!(message.contains(&format!("at fault:   the edited file, {file}:5")), "round {round}: {message}");
        assert_eq!(message.contains("remembered"), round == 1, "{message}");
    }
    let folder = edited(
        "extern \"C\" __global__ void __launch_bounds__(256)\nblock",
        "#if 0\nextern \"C\" __global__ void\nblock",
    );
    let text = fs::read_to_string(folder.path().join("axpy.cu")).unwrap();
    fs::write(folder.path().join("axpy.cu"), text + "#endif\n").unwrap();
    let message = Overrides::read(folder.path())
        .unwrap()
        .apply(&generated)
        .unwrap()
        .compile(&jit, Arch(90))
        .unwrap_err()
        .to_string();
    assert!(message.contains("no kernel named block_sums") && message.contains("axpy.cu leaves it out"), "{message}");
}
