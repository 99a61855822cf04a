//! A generated text that NVRTC refuses: the message names the term of the model, or the template, and says whose line it is.
//!
//! Each test breaks the text of a real model in one place and compiles it with the real compiler; without NVRTC they
//! fail, unless `EIGENFORGE_TEST_WITHOUT=nvrtc` leaves them out.

use eigenforge::exact::{KroneckerMultiply, Lobpcg, Model};
use eigenforge::prelude::*;
use eigenforge_runtime::jit::{Arch, Blame, CacheFolder, CompileFailure, Jit, JitError, Settings};
use eigenforge_templates::exact::KroneckerPlan;
use eigenforge_templates::{KernelText, ScalarType};
use expect_test::expect;

/// Hubbard model with a repulsion of its own on each site, up to a ceiling.
#[gpu_operator]
fn hubbard(lattice: &Lattice, t: f64, u: &[f64], ceiling: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(i in lattice.sites(); (if u[i] < 90.0 { u[i] } else { ceiling }) * n(i, Up) * n(i, Down))
}

/// Nine repulsions that all differ: more than are written as popcounts, so the text has the user's own expression.
fn model(ceiling: f64) -> Model {
    let u: Vec<f64> = (0..9).map(|site| 4.0 + 0.25 * f64::from(site)).collect();
    hubbard(&Lattice::chain(9).open(), 1.0, &u, ceiling).sector(Up(2), Down(2)).unwrap().named("ring")
}

fn plan(model: &Model) -> KroneckerPlan {
    let multiply = model.multiply_without_constant(ScalarType::F64).unwrap();
    let plan = multiply.way::<KroneckerMultiply>().expect("the model is a Kronecker sum").plan.clone();
    assert!(!plan.diagonal.expressions.is_empty(), "its diagonal is in the user's words");
    plan
}

/// The failure of a text and its message, with what depends on the machine taken out.
fn refused(text: &KernelText) -> Option<(Box<CompileFailure>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { cache: CacheFolder::At(folder.path().into()), ..Settings::from_env().unwrap() };
    let jit = Jit::for_tests(&settings)?;
    let failure = match jit.compile(text, Arch(90)) {
        Err(JitError::Compile(failure)) => failure,
        other => panic!("{other:?}"),
    };
    let message = failure.to_string();
    let kept = message.find("\noptions: ").unwrap();
    for line in ["\nsource:    ", "\nreproduce: nvcc --cubin "] {
        assert!(message[kept..].contains(line), "{message}");
    }
    let message = message[..kept].replace(&format!("NVRTC {}", failure.nvrtc), "NVRTC X");
    // Newer compilers say this too.
    let message = message.replace("  note: the final comparison was 1024 < 32\n", "");
    Some((failure, message))
}

fn broken(text: KernelText, from: &str, to: &str) -> KernelText {
    assert!(text.text.contains(from), "{from} is not in the text");
    KernelText { text: text.text.replacen(from, to, 1), ..text }
}

#[test]
fn the_user_s_expression_is_named_with_its_term() {
    let mut plan = plan(&model(5.0));
    plan.diagonal.expressions[0].cuda = "u[i] * nope(i)".into();
    let Some((failure, message)) = refused(&plan.text().unwrap()) else { return };
    expect![[r#"
        the CUDA text of ring_multiply did not compile for sm_90, with 1 error (NVRTC X)

        error: identifier "nope" is undefined
          in the model: tests/gpu_operator/blame.rs:17
               14 | #[gpu_operator]
               15 | fn hubbard(lattice: &Lattice, t: f64, u: &[f64], ceiling: f64) -> Operator {
               16 |     sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
          >    17 |         + sum!(i in lattice.sites(); (if u[i] < 90.0 { u[i] } else { ceiling }) * n(i, Up) * n(i, Down))
               18 | }
               19 | 
               20 | /// Nine repulsions that all differ: more than are written as popcounts, so the text has the user's own expression.
          in the generated text: kernel.cu:81
               78 |     for (int k = 0; k < 9; ++k) {
               79 |         const int i = k;
               80 | #line 17 "tests/gpu_operator/blame.rs"
          >    81 |         sum += u[i] * nope(i);
                  |                       ^
               82 | #line 83 "kernel.cu"
               83 |     }
               84 |     return sum;
          model term: tests/gpu_operator/blame.rs:17  sum!(i in lattice.sites(); (if u[i] < 90.0 { u[i] } else { ceiling }) * n(i, Up) * n(i, Down))
          at fault:   this expression of the model. It must make sense in CUDA as it does in Rust, made of indices, parameters and numbers;
                      else compute its value before the sum, into a slice with one value a site
    "#]].assert_eq(&message);
    let blame = failure.blame(&failure.diagnostics[0]);
    assert!(matches!(&blame, Some(Blame::Expression(term)) if term.line == 17), "{blame:?}");
}

#[test]
fn a_parameter_that_has_no_cuda_value_is_named() {
    // The ceiling is never reached, so that the operator is finite and the model sound.
    let Some((_, message)) = refused(&plan(&model(f64::INFINITY)).text().unwrap()) else { return };
    expect![[r#"
        the CUDA text of ring_multiply did not compile for sm_90, with 1 error (NVRTC X)

        error: identifier "inf" is undefined
          in the generated text: kernel.cu:68
               65 | //   sum!(i in lattice.sites(); (if u[i] < 90.0 { u[i] } else { ceiling }) * n(i, Up) * n(i, Down))
               66 | namespace sum_0 {
               67 | __constant__ double u[9] = { 4.0, 4.25, 4.5, 4.75, 5.0, 5.25, 5.5, 5.75, 6.0 };
          >    68 | constexpr double ceiling = inf;
                  |                            ^
               69 | #define n_up(i) ((double)((up >> (i)) & 1u))
               70 | #define n_dn(i) ((double)((dn >> (i)) & 1u))
               71 | #define n(i, spin) ((spin) == 0 ? n_up(i) : n_dn(i))
          model term: tests/gpu_operator/blame.rs:17  sum!(i in lattice.sites(); (if u[i] < 90.0 { u[i] } else { ceiling }) * n(i, Up) * n(i, Down))
          at fault:   the parameter `ceiling` of the model. It stands in CUDA under its own name and with its values, which must be finite numbers
    "#]].assert_eq(&message);
}

#[test]
fn a_fault_of_a_template_is_not_the_model_s() {
    let text = broken(plan(&model(5.0)).text().unwrap(), "constexpr int SLICES", "constexpr int SLICE");
    let Some((_, message)) = refused(&text) else { return };
    // The line named is the template's own; which one that is changes with every edit of the template.
    let template = include_str!("../../templates/cuda/exact/kronecker.cu.jinja");
    let line = 1 + template.lines().position(|line| line.contains("task < UP_COLUMNS * SLICES")).unwrap();
    let message = message.replace(&format!("kronecker.cu.jinja:{line};"), "kronecker.cu.jinja:ITS LINE;");
    expect![[r#"
        the CUDA text of ring_multiply did not compile for sm_90, with 1 error (NVRTC X)

        error: identifier "SLICES" is undefined
          in the generated text: kernel.cu:119
              116 |         columns[k] = row < N_UP && first_column + c < N_DN ? x[(first_column + c) * N_UP + row] : (value_t)0;
              117 |     }
              118 |     __syncthreads();
          >   119 |     for (int task = threadIdx.x / WARP; task < UP_COLUMNS * SLICES; task += UP_THREADS / WARP) {
                  |                                                             ^
              120 |         const int c = task / SLICES, slice = task % SLICES;
              121 |         const i64 column = first_column + c;
              122 |         if (column >= N_DN) break;
          at fault:   eigenforge's template, templates/cuda/exact/kronecker.cu.jinja:ITS LINE; not the model.
                      A report with this message is welcome: https://github.com/eigenforge/eigenforge/issues
    "#]]
    .assert_eq(&message);
}

#[test]
fn a_fault_of_the_prelude_shows_the_line_that_uses_it_too() {
    let text =
        broken(plan(&model(5.0)).text().unwrap(), "    value = 0.0;\n", "    static_assert(THREADS < 32, \"x\");\n");
    let Some((_, message)) = refused(&text) else { return };
    expect![[r#"
        the CUDA text of ring_multiply did not compile for sm_90, with 1 error (NVRTC X)

        error: static assertion failed with "x"
          in the generated text: kernel.cu:50
               47 |     value = warp_sum(value);
               48 |     if (lane == 0) scratch[warp] = value;
               49 |     __syncthreads();
          >    50 |     static_assert(THREADS < 32, "x");
                  |     ^
               51 |     if (warp == 0) value = warp_sum(lane_share(scratch, THREADS / WARP));
               52 |     __syncthreads();
               53 |     return value;
          detected during instantiation of "double block_sum<THREADS>(double, double *) [with THREADS=1024]" at line 219 of kernel.cu
          used in the generated text: kernel.cu:219
              216 |         y[i] = (value_t)sum;
              217 |         x_dot_y += (sum_t)tile[c * DOWN_ROWS + row] * sum;
              218 |     }
          >   219 |     const double total = block_sum<DOWN_THREADS>(x_dot_y, scratch);
              220 |     if (threadIdx.x == 0) partials[blockIdx.x] = total;
              221 | }
              222 | 
          at fault:   eigenforge's prelude, below templates/cuda/prelude.cuh:39, as used by templates/cuda/exact/kronecker_tiles.cu.jinja:60 (kernel.cu:219); not the model.
                      A report with this message is welcome: https://github.com/eigenforge/eigenforge/issues
    "#]].assert_eq(&message);
}

#[test]
fn a_diagonal_inside_a_vector_program_is_traced_too() {
    let model = model(5.0);
    let jacobi = eigenforge::runtime::solvers::Preconditioner::Jacobi;
    let solve = Lobpcg::new(&model).preconditioner(jacobi);
    let files = eigenforge::exact::ModelProblem::generated(&solve).unwrap();
    let file = files.into_iter().find(|file| file.text.name == "lobpcg_update_jacobi").unwrap();
    let text = broken(file.text, "sum += (u[i] < 90.0", "sum += nope * (u[i] < 90.0");
    let Some((failure, message)) = refused(&text) else { return };
    assert!(message.contains("model term: tests/gpu_operator/blame.rs:17  sum!(i in lattice.sites();"), "{message}");
    assert!(message.contains("at fault:   this expression of the model."), "{message}");
    let shown = failure.diagnostics[0].generated.unwrap();
    assert!(text.text.lines().nth(shown - 1).unwrap().contains("nope"), "{message}");
}
