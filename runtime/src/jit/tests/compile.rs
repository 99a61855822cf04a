//! Real compilation for sm_80, sm_90 and sm_100, with and without a working cache, and the errors on the way.

use super::{axpy, jit, settings, text};
use crate::jit::{Arch, CacheFolder, Disassembler, Doctor, Jit, JitError, disassembly};
use std::path::{Path, PathBuf};

const ARCHS: [Arch; 3] = [Arch(80), Arch(90), Arch(100)];

#[test]
fn a_kernel_compiles_for_every_architecture_and_is_cached() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let kernel = axpy();
    for arch in ARCHS {
        let first = jit.compile(&kernel, arch).unwrap();
        assert!(first.image.starts_with(b"\x7fELF"), "{arch}");
        assert!(!first.cached && first.note.is_none() && first.folder.is_some());
        let names: Vec<&str> = first.resources.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["axpy", "block_sums"]);
        for resources in &first.resources {
            assert!(
                (8..64).contains(&resources.registers) && resources.spills() == Some(false),
                "{arch}: {resources:?}"
            );
        }
        assert_eq!(first.resources[1].shared, 64, "eight doubles");
        let target = arch.target(jit.nvrtc().version());
        assert!(first.log.contains(&format!("for 'sm_{target}'")), "{}", first.log);
        let second = jit.compile(&kernel, arch).unwrap();
        assert!(second.cached);
        assert_eq!((&second.image, &second.log, &second.key), (&first.image, &first.log, &first.key));
        assert_eq!((&second.resources, &second.folder), (&first.resources, &first.folder));
    }
    assert_eq!(jit.cache().list().unwrap().len(), ARCHS.len());
    assert!(jit.cache().verify().unwrap().iter().all(|verdict| verdict.fault.is_none()));
}

#[test]
fn a_cubin_depends_on_nothing_but_its_key() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (Some(first), Some(second)) = (jit(one.path()), jit(two.path())) else { return };
    let cubin = first.compile(&axpy(), Arch(90)).unwrap();
    assert_eq!(cubin.image, second.compile(&axpy(), Arch(90)).unwrap().image);
    let here = std::env::current_dir().unwrap();
    let here = here.to_string_lossy();
    assert!(here.len() > 4);
    let found = cubin.image.windows(here.len()).any(|window| window == here.as_bytes());
    assert!(!found, "the current folder is in the cubin");
}

#[test]
fn machine_code_and_ptx_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let settings = settings(folder.path());
    for arch in ARCHS {
        let ptx = jit.ptx(&axpy(), arch).unwrap();
        assert!(ptx.contains(&format!(".target sm_{}", arch.0)) && ptx.contains(".entry axpy"), "{ptx}");
        let cubin = jit.compile(&axpy(), arch).unwrap();
        match Disassembler::find(&settings) {
            Ok(disassembler) => {
                let all = disassembler.sass(&cubin.image, None).unwrap();
                assert!(all.contains(".text.axpy") && all.contains("File \"kernel.cu\", line"), "{all}");
                let one = disassembler.sass(&cubin.image, Some("block_sums")).unwrap();
                assert!(one.contains("SHFL.BFLY") && one.contains("EXIT") && !one.contains(".text.axpy"), "{one}");
                let missing = disassembler.sass(&cubin.image, Some("dot")).unwrap_err().to_string();
                assert!(missing.contains("\"dot\"") && missing.contains("axpy"), "{missing}");
                let fault = disassembler.sass(b"no cubin", None).unwrap_err();
                assert!(matches!(fault, JitError::Tool { .. }), "{fault}");
            }
            Err(fault) => println!("skipped: {fault}"),
        }
        match disassembly::resource_usage(&settings, &cubin.image) {
            Ok(usage) => {
                let registers = cubin.resources[0].registers;
                assert!(usage.contains("Function axpy") && usage.contains(&format!("REG:{registers} ")), "{usage}");
            }
            Err(fault) => println!("skipped: {fault}"),
        }
    }
}

#[test]
fn a_text_that_does_not_compile_is_explained_kept_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let body = "extern \"C\" __global__ void k(double* x)\n{\n    x[0] = nope;\n}\n";
    let kernel = text("broken", body);
    let failure = |jit: &Jit| match jit.compile(&kernel, Arch(90)) {
        Err(JitError::Compile(failure)) => failure,
        other => panic!("{other:?}"),
    };
    let first = failure(&jit);
    let message = first.to_string();
    for part in
        ["identifier \"nope\" is undefined", "  >     3 |     x[0] = nope;", "--gpu-architecture=sm_90", "nvcc --cubin"]
    {
        assert!(message.contains(part), "{part} is not in\n{message}");
    }
    assert_eq!((first.cached, first.diagnostics[0].column), (false, Some(12)));
    let kept = first.folder.clone().unwrap();
    assert_eq!(std::fs::read_to_string(kept.join("kernel.cu")).unwrap(), body);
    let second = failure(&jit);
    assert!(second.cached && second.to_string().contains("remembered"));
    assert_eq!(second.diagnostics, first.diagnostics);
    let mut retrying = settings(folder.path());
    retrying.retry_failed = true;
    assert!(!failure(&Jit::with_settings(&retrying).unwrap()).cached);
    assert!(matches!(jit.ptx(&kernel, Arch(90)), Err(JitError::Compile(_))));
}

#[test]
fn ptxas_refusals_and_broken_promises_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let body = "extern \"C\" __global__ void w(double* y)\n{\n    __shared__ double s[40000];\n    s[threadIdx.x] = y[0];\n    \
                __syncthreads();\n    y[1] = s[3];\n}\n";
    let message = jit.compile(&text("wide", body), Arch(90)).unwrap_err().to_string();
    assert!(message.contains("w declares 320000 bytes of shared memory"), "{message}");
    let mut kernel = axpy();
    kernel.entries.push("dot".into());
    for round in 0..2 {
        let message = jit.compile(&kernel, Arch(90)).unwrap_err().to_string();
        assert!(message.contains("no kernel named dot: it has axpy, block_sums"), "round {round}: {message}");
    }
    let message = jit.compile(&text("zero", "int a;\0int b;"), Arch(90)).unwrap_err().to_string();
    assert!(message.contains("zero byte at offset 6"), "{message}");
}

#[test]
fn a_cache_that_cannot_be_written_costs_the_cache_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "a regular file").unwrap();
    let Some(jit) = jit(&file) else { return };
    for _ in 0..2 {
        let cubin = jit.compile(&axpy(), Arch(90)).unwrap();
        assert!(cubin.image.starts_with(b"\x7fELF") && !cubin.cached && cubin.folder.is_none());
        let note = cubin.note.expect("a note for the report");
        assert!(note.contains("cannot be written") && note.contains("EIGENFORGE_CACHE"), "{note}");
    }
    let broken = text("broken_elsewhere", "extern \"C\" __global__ void k() { nope; }");
    match jit.compile(&broken, Arch(90)) {
        Err(JitError::Compile(failure)) => {
            let kept = failure.folder.unwrap();
            assert_eq!(std::fs::read_to_string(kept.join("kernel.cu")).unwrap(), broken.text);
            std::fs::remove_dir_all(kept).unwrap();
        }
        other => panic!("{other:?}"),
    }
    let mut homeless = settings(folder.path());
    homeless.cache = CacheFolder::Homeless;
    let cubin = Jit::with_settings(&homeless).unwrap().compile(&axpy(), Arch(90)).unwrap();
    assert!(cubin.note.unwrap().contains("EIGENFORGE_CACHE"));
    homeless.cache = CacheFolder::Off;
    let cubin = Jit::with_settings(&homeless).unwrap().compile(&axpy(), Arch(90)).unwrap();
    assert_eq!((cubin.note, cubin.folder), (None, None), "off is the user's wish");
}

#[test]
fn a_damaged_cubin_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let first = jit.compile(&axpy(), Arch(90)).unwrap();
    let file = first.folder.as_ref().unwrap().join("kernel.cubin");
    let mut bytes = first.image.clone();
    bytes[1000] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let second = jit.compile(&axpy(), Arch(90)).unwrap();
    assert!(!second.cached && second.image == first.image);
    assert!(jit.compile(&axpy(), Arch(90)).unwrap().cached);
}

#[test]
fn an_architecture_or_driver_that_does_not_fit_is_refused_with_versions() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let (major, minor) = jit.nvrtc().version();
    for arch in [Arch(37), Arch(990)] {
        let message = jit.compile(&axpy(), arch).unwrap_err().to_string();
        for part in [&arch.to_string(), &format!("NVRTC {major}.{minor}"), "sm_80", "CUDA", "EIGENFORGE_NVRTC"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
    let major = major as i32;
    assert!(jit.check_driver(1000 * major).is_ok(), "an older minor version runs cubins of its major version");
    assert!(jit.check_driver(1000 * (major + 1)).is_ok());
    let message = jit.check_driver(1000 * (major - 1) + 40).unwrap_err().to_string();
    assert!(message.contains(&format!("CUDA {}.4", major - 1)) && message.contains("too new"), "{message}");
}

#[test]
fn no_nvrtc_and_no_tools_say_where_they_were_sought_and_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut bare = settings(folder.path());
    let site = folder.path().join("site");
    std::fs::create_dir_all(site.join("nvidia/cu13/lib")).unwrap();
    bare.nvrtc = None;
    bare.toolkits = vec![];
    bare.library_path = vec![];
    bare.program_path = vec![];
    bare.ask_loader = false;
    bare.sites = vec![PathBuf::from("/no/site"), site.clone()];
    // A file of the right name that is no library is passed over, and the reason given.
    std::fs::write(site.join("nvidia/cu13/lib/libnvrtc.so.13"), "torn download").unwrap();
    let message = Jit::with_settings(&bare).unwrap_err().to_string();
    for part in
        ["cargo xtask setup", "pip install nvidia-cuda-nvrtc", "EIGENFORGE_NVRTC", "/no/site", "cannot be loaded"]
    {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let message = Disassembler::find(&bare).unwrap_err().to_string();
    assert!(message.contains("nvdisasm") && message.contains("EIGENFORGE_NVDISASM"), "{message}");
    let doctor = Doctor::examine(&bare);
    assert!(doctor.nvrtc.is_err() && doctor.cuobjdump.is_err() && doctor.conflicts.is_empty());
    assert_eq!((doctor.cache.fault, doctor.cache.entries), (None, 0));
}

#[test]
fn a_named_nvrtc_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no library").unwrap();
    let cases =
        [(Path::new("/no/such/file"), "no such file"), (folder.path(), "no libnvrtc"), (&file, "cannot be loaded")];
    for (path, reason) in cases {
        let mut named = settings(folder.path());
        named.nvrtc = Some(path.to_path_buf());
        let message = Jit::with_settings(&named).unwrap_err().to_string();
        assert!(message.contains("EIGENFORGE_NVRTC") && message.contains(reason), "{message}");
    }
}

#[test]
fn a_named_nvrtc_is_taken_as_file_and_as_folder() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let file = jit.nvrtc().path().to_path_buf();
    for path in [file.clone(), file.parent().unwrap().to_path_buf()] {
        let mut named = settings(folder.path());
        named.nvrtc = Some(path);
        let found = Jit::with_settings(&named).unwrap();
        assert_eq!(found.nvrtc().version(), jit.nvrtc().version());
    }
}

#[test]
fn threads_compile_at_once_and_each_has_its_own_log() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = jit(folder.path()) else { return };
    let alone = jit.compile(&axpy(), Arch(90)).unwrap();
    let compile = &|thread: usize| {
        let mut kernel = axpy();
        let own = format!("axpy{thread}");
        kernel.text = kernel.text.replace("axpy(", &format!("{own}("));
        kernel.entries[0] = own.clone();
        let cubin = jit.compile(&kernel, Arch(90)).unwrap();
        assert!(!cubin.cached && cubin.log.contains(&format!("'{own}'")), "{}", cubin.log);
        assert_eq!(cubin.log.matches("Compiling entry function").count(), 2, "{}", cubin.log);
        let mut uncached = settings(folder.path());
        uncached.cache = CacheFolder::Off;
        let same = Jit::with_settings(&uncached).unwrap().compile(&axpy(), Arch(90)).unwrap();
        assert_eq!((&same.image, same.log.lines().count()), (&alone.image, alone.log.lines().count()));
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || compile(thread));
        }
    });
}

/// NVRTC finds what it made before in a cache of the driver's, and would give it without ptxas's lines.
#[test]
fn the_log_is_whole_however_often_a_text_was_compiled() {
    let compiled = || {
        let folder = tempfile::tempdir().unwrap();
        jit(folder.path()).map(|jit| jit.compile(&axpy(), Arch(90)).unwrap())
    };
    let (Some(first), Some(second)) = (compiled(), compiled()) else { return };
    assert!(!first.cached && !second.cached);
    for cubin in [&first, &second] {
        assert_eq!(cubin.log.matches("Compiling entry function").count(), 2, "{}", cubin.log);
    }
    assert_eq!((first.image, first.resources), (second.image, second.resources));
}

/// On a machine with a GPU (`EIGENFORGE_TEST_DEVICE=cuda`): what was compiled here loads, runs, and is right.
#[test]
fn memcheck_what_is_compiled_runs_on_the_gpu() {
    use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
    if crate::testing::card_or_skip().is_some() {
        let folder = tempfile::tempdir().unwrap();
        let jit = Jit::with_settings(&settings(folder.path())).unwrap();
        jit.check_driver(crate::jit::driver_version().unwrap()).unwrap();
        let context = CudaContext::new(0).unwrap();
        let (major, minor) = context.compute_capability().unwrap();
        let cubin = jit.compile(&axpy(), Arch::from_capability(major as u32, minor as u32)).unwrap();
        let module = context.load_module(cudarc::nvrtc::Ptx::from_binary(cubin.image)).unwrap();
        let stream = context.default_stream();
        let n = 1000usize;
        let x = stream.clone_htod(&(0..n).map(|i| i as f64).collect::<Vec<_>>()).unwrap();
        let mut y = stream.clone_htod(&vec![1.0f64; n]).unwrap();
        let function = module.load_function("axpy").unwrap();
        let shape = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments are those of `axpy`, and both arrays have n elements.
        unsafe { stream.launch_builder(&function).arg(&mut y).arg(&x).arg(&2.0f64).arg(&(n as i64)).launch(shape) }
            .unwrap();
        let y = stream.clone_dtoh(&y).unwrap();
        assert!(y.iter().enumerate().all(|(i, &y)| y == 2.0 * i as f64 + 1.0));
    }
}
