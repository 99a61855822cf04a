//! How a compile error reads: logs as NVRTC 13 writes them, and the message made of them.

use crate::jit::Arch;
use crate::jit::diagnostics::{CompileFailure, parse};
use std::path::PathBuf;

const TEXT: &str = "\
typedef long long i64;
extern \"C\" __global__ void update(double* x, i64 n)
{
    const i64 i = threadIdx.x;
    if (i < n) x[i] = alpha * x[i];
    double unused = 3;
}
";

const LOG: &str = "\
kernel.cu(5): error: identifier \"alpha\" is undefined
      if (i < n) x[i] = alpha * x[i];
                        ^

kernel.cu(6): warning #177-D: variable \"unused\" was declared but never referenced
      double unused = 3;
             ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

1 error detected in the compilation of \"kernel.cu\".
";

fn failure(text: &str, log: &str) -> CompileFailure {
    CompileFailure {
        kernel: "lobpcg_update".into(),
        arch: Arch(90),
        nvrtc: "13.0".into(),
        options: vec!["--fmad=true".into(), "--gpu-architecture=sm_90".into()],
        text: text.into(),
        edited: None,
        log: log.into(),
        diagnostics: parse(log, text),
        folder: Ok(PathBuf::from("/cache/0123-lobpcg_update-sm_90")),
        cached: false,
    }
}

#[test]
fn an_error_shows_its_lines_options_source_and_reproducer() {
    let expected = "\
the CUDA text of lobpcg_update did not compile for sm_90, with 1 error (NVRTC 13.0)

error: identifier \"alpha\" is undefined
  in the generated text: kernel.cu:5
        2 | extern \"C\" __global__ void update(double* x, i64 n)
        3 | {
        4 |     const i64 i = threadIdx.x;
  >     5 |     if (i < n) x[i] = alpha * x[i];
          |                       ^
        6 |     double unused = 3;
        7 | }

options:   --fmad=true --gpu-architecture=sm_90
source:    /cache/0123-lobpcg_update-sm_90/kernel.cu
reproduce: nvcc --cubin --fmad=true --gpu-architecture=sm_90 -o /dev/null '/cache/0123-lobpcg_update-sm_90/kernel.cu'
";
    assert_eq!(failure(TEXT, LOG).to_string(), expected);
}

#[test]
fn a_line_directive_leads_to_the_model_and_to_the_generated_line() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.rs");
    std::fs::write(&model, "fn hubbard() {\n    sum!(i; u[i] * nope(i))\n}\n").unwrap();
    let file = model.display().to_string();
    // Two generated lines come from line 2 of the model; the compiler's echo tells which one is meant.
    let text = format!(
        "__device__ double a(int i) {{\n#line 2 \"{file}\"\nreturn 1.0;\n#line 2 \"{file}\"\nreturn u[i] * nope(i);\n\
         #line 6 \"kernel.cu\"\n}}\n"
    );
    let log = format!(
        "{file}(2): error: identifier \"nope\" is undefined\n  return u[i] * nope(i);\n                ^\n          \
         detected during instantiation of \"T a(T)\" at line 9\n\nkernel.cu(6): error: expected a \";\"\n\n"
    );
    let failure = failure(&text, &log);
    let found = &failure.diagnostics;
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].file.as_str(), found[0].line, found[0].generated), (file.as_str(), 2, Some(5)));
    assert_eq!(found[0].column, Some(15));
    assert_eq!(found[0].notes, ["detected during instantiation of \"T a(T)\" at line 9"]);
    assert_eq!((found[1].file.as_str(), found[1].line, found[1].generated), ("kernel.cu", 6, Some(7)));
    let message = failure.to_string();
    assert!(message.contains(&format!("in the model: {file}:2")), "{message}");
    assert!(message.contains("  >     2 |     sum!(i; u[i] * nope(i))"), "{message}");
    assert!(message.contains("in the generated text: kernel.cu:5\n"), "{message}");
    assert!(message.contains("  >     5 | return u[i] * nope(i);"), "{message}");
}

#[test]
fn other_kinds_of_errors_are_located() {
    let log = "\
kernel.cu(3): catastrophic error: cannot open source file \"foo.h\"
  #include \"foo.h\"
                  ^

kernel.cu(2): error: static assertion failed with \"size of int\"
  static_assert(sizeof(int)==3, \"size of int\");
  ^
kernel.cu(2): note #3453-D: the final comparison was 4 == 3
  static_assert(sizeof(int)==3, \"size of int\");
                           ^

C:\\models\\m.rs(7): error: this is (not): simple
1 catastrophic error detected in the compilation of \"kernel.cu\".
Compilation terminated.
";
    let found = parse(log, "a\nstatic_assert(sizeof(int)==3, \"size of int\");\n#include \"foo.h\"\n");
    let summary: Vec<_> = found.iter().map(|d| (d.line, d.column, d.message.as_str())).collect();
    assert_eq!(
        summary[..2],
        [
            (3, Some(17), "cannot open source file \"foo.h\""),
            (2, Some(1), "static assertion failed with \"size of int\"")
        ]
    );
    assert_eq!(found[1].notes, ["note: the final comparison was 4 == 3"]);
    assert_eq!((found[2].file.as_str(), found[2].line, found[2].generated), ("C:\\models\\m.rs", 7, None));
}

#[test]
fn many_errors_are_counted_and_the_first_are_shown() {
    let log: String = (1..=6).map(|line| format!("kernel.cu({line}): error: number {line}\n\n")).collect();
    let message = failure(TEXT, &log).to_string();
    assert!(message.contains("with 6 errors") && message.contains("number 3") && message.contains("… and 3 more"));
    assert!(!message.contains("number 4"), "{message}");
}

#[test]
fn an_error_without_a_place_shows_the_log_and_a_reason_when_one_can_be_told() {
    let mut refused = failure(TEXT, "ptxas fatal   : Unknown option 'q'\n");
    refused.folder = Err("disk full".into());
    refused.cached = true;
    let message = refused.to_string();
    assert!(message.contains("without a located error") && message.contains("  ptxas fatal   : Unknown option 'q'"));
    assert!(message.contains("source:    not kept: disk full") && !message.contains("reproduce:"), "{message}");
    assert!(message.contains("EIGENFORGE_RETRY_FAILED=1"), "{message}");
    let log = "ptxas info    : Compiling entry function 'w' for 'sm_90'\n\
               ptxas info    : Used 12 registers, used 1 barriers, 320000 bytes smem\n";
    let message = failure(TEXT, log).to_string();
    assert!(message.contains("w declares 320000 bytes of shared memory"), "{message}");
    assert!(message.contains("at most 49152"), "{message}");
}

#[test]
fn a_place_outside_the_text_is_survived() {
    for log in
        ["kernel.cu(0): error: x", "kernel.cu(999): error: x\n  y\n", "kernel.cu(99999999999999999999): error: x"]
    {
        let message = failure(TEXT, log).to_string();
        assert!(message.contains("did not compile"), "{log}: {message}");
    }
    assert!(failure("", "kernel.cu(1): error: x").to_string().contains("error: x"));
}

/// A C++ template of the prelude that the user's expression uses wrongly: the user's line is at fault, not the prelude's.
#[test]
fn an_expression_that_misuses_the_prelude_is_at_fault() {
    let text = "template <int N> int f() { return N / 0; }\n// m.rs:7\n//   sum!(i; f(i))\nnamespace sum_0 {\n\
                #line 7 \"m.rs\"\nsum += f<1>();\n#line 7 \"kernel.cu\"\n}  // namespace sum_0\nint g = f<2>();\n";
    let log = |place: &str| {
        format!(
            "kernel.cu(1): error: division by zero\n  template <int N> int f() {{ return N / 0; }}\n\
             detected during instantiation of \"int f<N>() [with N=1]\" at line {place}\n\n"
        )
    };
    let user = failure(text, &log("7 of m.rs"));
    let used = user.diagnostics[0].used.as_ref().unwrap();
    assert_eq!((used.file.as_str(), used.line, used.generated), ("m.rs", 7, Some(6)));
    let message = user.to_string();
    assert!(message.contains("used in the generated text: kernel.cu:6"), "{message}");
    assert!(message.contains("model term: m.rs:7  sum!(i; f(i))"), "{message}");
    assert!(message.contains("at fault:   this expression of the model."), "{message}");
    let message = failure(text, &log("8 of kernel.cu")).to_string();
    assert!(!message.contains("at fault"), "no template made this text, so nobody is named: {message}");
}

#[test]
fn a_term_is_found_by_its_place_where_no_translation_stands_around() {
    let text = "// model: m.rs:3  sum!(i; u * n(i))\n#line 3 \"m.rs\"\nnope;\n";
    let message = failure(text, "m.rs(3): error: identifier \"nope\" is undefined\n  nope;\n  ^\n\n").to_string();
    assert!(message.contains("model term: m.rs:3  sum!(i; u * n(i))"), "{message}");
}

#[test]
fn several_errors_of_one_cause_name_it_once() {
    let mut edited = failure(TEXT, "kernel.cu(5): error: a\n\nkernel.cu(5): error: b\n\nkernel.cu(6): error: c\n\n");
    edited.edited = Some(PathBuf::from("dir/update.cu"));
    let message = edited.to_string();
    assert_eq!(message.matches("at fault:   the edited file, dir/update.cu:5.").count(), 1, "{message}");
    assert_eq!(message.matches("at fault:   the edited file, dir/update.cu:6.").count(), 1, "{message}");
    assert!(message.contains("lobpcg_update (edited: dir/update.cu) did not compile"), "{message}");
}
