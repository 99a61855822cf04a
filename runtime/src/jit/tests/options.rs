//! What the settings change in the compiler's options: seen in what it makes, and in the key under which it is kept.

use super::{axpy, settings, text};
use crate::jit::{Arch, Jit};
use std::path::Path;

/// y = a x + y, where the compiler may contract.
const PLAIN: &str =
    "extern \"C\" __global__ void axpy(double* y, const double* x, double a) { y[0] = a * x[0] + y[0]; }";

fn jits(cache: &Path) -> Option<[Jit; 2]> {
    let mut off = settings(cache);
    off.fmad = false;
    Some([Jit::for_tests(&settings(cache))?, Jit::for_tests(&off)?])
}

#[test]
fn contraction_can_be_turned_off() {
    let folder = tempfile::tempdir().unwrap();
    let Some([on, off]) = jits(folder.path()) else { return };
    let kernel = text("plain", PLAIN);
    let (with, without) = (on.ptx(&kernel, Arch(90)).unwrap(), off.ptx(&kernel, Arch(90)).unwrap());
    assert!(with.contains("fma.rn.f64") && !with.contains("mul.f64"), "{with}");
    assert!(!without.contains("fma.rn.f64") && without.contains("mul.rn.f64"), "{without}");
}

#[test]
fn contraction_is_part_of_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let Some([on, off]) = jits(folder.path()) else { return };
    let [with, without] = [&on, &off].map(|jit| jit.compile(&axpy(), Arch(90)).unwrap());
    assert_ne!(with.key, without.key);
    assert!(!without.cached, "the other's cubin was taken");
    let options =
        |folder: Option<std::path::PathBuf>| std::fs::read_to_string(folder.unwrap().join("options.txt")).unwrap();
    assert!(options(with.folder).contains("--fmad=true") && options(without.folder).contains("--fmad=false"));
}
