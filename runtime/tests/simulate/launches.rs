//! Launches that are refused, and the host compiler: absent, refusing, and the programs it left in the folder.

use super::{bytes, kernel, simulator};
use eigenforge_runtime::simulate::{Argument, FaultClass, Schedule, SimulateError, Simulator};
use std::path::PathBuf;

const COPY: &str = "extern \"C\" __global__ void copy(const double* x, double* y, i64 n)\n{\n    \
    const i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i];\n}\n";

#[test]
fn an_absent_compiler_is_a_clear_error() {
    let error = Simulator::from_compilers(&[PathBuf::from("no-such-compiler")], None).unwrap_err();
    assert!(matches!(error, SimulateError::NoCompiler { .. }));
    let text = error.to_string();
    assert!(text.contains("no-such-compiler") && text.contains("install g++ or clang++"), "{text}");
}

#[test]
fn text_that_does_not_compile_shows_the_compiler_s_words() {
    let Some(simulator) = simulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let compilers = ["c++", "g++", "clang++"].map(PathBuf::from);
    let Ok(simulator_here) = Simulator::from_compilers(&compilers, Some(folder.path())) else { return };
    let text = kernel("broken", &COPY.replace("x[i];", "z[i];"), &["copy"]);
    let SimulateError::Compile { log, folder, .. } = simulator_here.build(&text).unwrap_err() else { panic!() };
    assert!(log.contains("kernel.cu") && log.contains("'z'"), "{log}");
    assert!(folder.join("kernel.cu").exists());
    drop(simulator);
}

#[test]
fn programs_are_kept_and_found_again() {
    let Some(_) = simulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let compilers = ["c++", "g++", "clang++"].map(PathBuf::from);
    let Ok(simulator) = Simulator::from_compilers(&compilers, Some(folder.path())) else { return };
    let first = simulator.build(&kernel("copy", COPY, &["copy"])).unwrap();
    let made = std::fs::metadata(first.folder().join("watched")).unwrap().modified().unwrap();
    let again = simulator.build(&kernel("copy", COPY, &["copy"])).unwrap();
    assert_eq!(first.folder(), again.folder());
    assert_eq!(std::fs::metadata(again.folder().join("watched")).unwrap().modified().unwrap(), made);
    let changed = simulator.build(&kernel("copy", &COPY.replace("x[i];", "2.0 * x[i];"), &["copy"])).unwrap();
    assert_ne!(first.folder(), changed.folder());
    assert_eq!(std::fs::read_to_string(first.folder().join("kernel.cu")).unwrap(), kernel("", COPY, &[]).text);
}

fn three<'a>(x: &'a [u8], y: &'a mut [u8]) -> [Argument<'a>; 3] {
    [Argument::In(x), Argument::Out(y), Argument::I64(3)]
}

#[test]
fn wrong_launches_are_refused() {
    let Some(simulator) = simulator() else { return };
    let simulated = simulator.build(&kernel("copy", COPY, &["copy"])).unwrap();
    let x = bytes(&[1.0, 2.0, 3.0]);
    let mut y = vec![7; 24];
    let launch = |entry: &str, threads: u32, shared: u32, arguments: &mut [Argument<'_>]| {
        simulated.launch(entry, [1, 1, 1], [threads, 1, 1], shared, arguments, Schedule::Forward)
    };
    let fault = |error: SimulateError| match error {
        SimulateError::Fault(fault) => (fault.class, fault.message),
        other => panic!("{other}"),
    };
    let (class, message) = fault(launch("coppy", 32, 0, &mut three(&x, &mut y)).unwrap_err());
    assert!(class == FaultClass::Arguments && message.contains("'coppy'"), "{message}");
    let (class, message) = fault(launch("copy", 32, 0, &mut [Argument::In(&x)]).unwrap_err());
    assert!(class == FaultClass::Arguments && message.contains("takes 3 arguments and got 1"), "{message}");
    let mut wrong = [Argument::In(&x), Argument::Out(&mut y), Argument::I32(3)];
    let (class, message) = fault(launch("copy", 32, 0, &mut wrong).unwrap_err());
    assert!(class == FaultClass::Arguments && message.contains("takes a 'l' as argument 2 and got a 'i'"), "{message}");
    for (threads, shared) in [(0, 0), (1025, 0), (32, 1 << 20)] {
        let error = launch("copy", threads, shared, &mut three(&x, &mut y)).unwrap_err();
        assert!(matches!(error, SimulateError::Launch { .. }), "{error}");
    }
    assert_eq!(y, vec![7; 24], "a refused launch leaves the buffers alone");
    launch("copy", 32, 0, &mut three(&x, &mut y)).unwrap();
    assert_eq!(y, x);
}
