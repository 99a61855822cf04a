//! The CUDA text of a vector program, as a person reads it; and its plan's round trip.

use eigenforge_templates::launch::{Element, Number, Parameter};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{ElementFunctionText, ScalarType};
use expect_test::expect;

const PROGRAM: &str = "program jacobi_step
vectors x : inout
vectors ax : in
vectors w : out
scalars theta
functions diagonal
let r = ax - theta * x   # the residual
w = -r / max(abs(diagonal - theta), 0.1)
x = x - (w - r) * (1e-3 - -x)
sum rr = r * r";

fn diagonal() -> ElementFunctionText {
    ElementFunctionText {
        name: "diagonal".into(),
        source: "__device__ __forceinline__ value_t diagonal(i64 i, const u32* __restrict__ states, double u)\n{\n    return u * __popc(states[i]);\n}".into(),
        parameters: vec![Parameter::table("states", Element::U32, 100), Parameter::number("u", Number::F64)],
    }
}

#[test]
fn the_text_reads_like_the_program() {
    let program = VectorProgram::parse(PROGRAM).unwrap();
    let text = program.text(ScalarType::F64, &[diagonal()]).unwrap();
    assert_eq!(text.entries, ["jacobi_step"]);
    expect![[r#"
        // jacobi_step: a fused vector program, 4 passes over memory in one sweep.
        // Vectors hold double; all arithmetic is in double. 2 elements a 16-byte load, 256 threads a block.
        // Sums are added in an order that depends on the length alone: the same run gives the same bits.
        //
        //     program jacobi_step
        //     vectors x : inout
        //     vectors ax : in
        //     vectors w : out
        //     scalars theta
        //     functions diagonal
        //     let r = ax - theta * x   # the residual
        //     w = -r / max(abs(diagonal - theta), 0.1)
        //     x = x - (w - r) * (1e-3 - -x)
        //     sum rr = r * r

        (prelude)

        // What a card does of a launch: all of it, or where CARDS cards work as one device the share of CARD, a run of the items.
        #ifndef CARDS
        #define CARDS 1
        #define CARD 0
        #endif
        #define SHARE_FIRST(count) ((i64)(count) * CARD / CARDS)
        #define SHARE_END(count) ((i64)(count) * (CARD + 1) / CARDS)
        #define OF_THIS_CARD(item, count) (SHARE_FIRST(count) <= (i64)(item) && (i64)(item) < SHARE_END(count))
        #define SHARE_BLOCK (blockIdx.x - (u32)SHARE_FIRST(gridDim.x))
        #define SHARE_BLOCKS (u32)(SHARE_END(gridDim.x) - SHARE_FIRST(gridDim.x))

        typedef double value_t;
        typedef double sum_t;

        // 16 bytes of a vector.
        struct __align__(16) Pack {
            value_t at[2];
        };

        __device__ __forceinline__ value_t diagonal(i64 i, const u32* __restrict__ states, double u)
        {
            return u * __popc(states[i]);
        }

        // Sums of COUNT values over the lanes of a warp, in a fixed order: at each step a lane gives half of its values to a
        // partner and keeps the others, so that all cost some COUNT exchanges and not five each.
        template <int COUNT>
        __device__ __forceinline__ void warp_sums(double (&value)[COUNT], double* to)
        {
            const int lane = threadIdx.x % WARP;
            int held = COUNT, begin = 0, end = COUNT, alike = WARP - 1; // lanes that differ in the bits `alike` end with the same sums
        #pragma unroll
            for (int offset = WARP / 2; offset > 0; offset >>= 1) {
                if (held == 1) {
                    value[0] += __shfl_xor_sync(ALL_LANES, value[0], offset);
                    continue;
                }
                const int half = (held + 1) / 2;
                const bool high = (lane & offset) != 0;
        #pragma unroll
                for (int j = 0; j < (COUNT + 1) / 2; j++) {
                    if (j < half) {
                        const double upper = j + half < held ? value[j + half] : 0.0;
                        const double kept = high ? upper : value[j], given = high ? value[j] : upper;
                        value[j] = kept + __shfl_xor_sync(ALL_LANES, given, offset);
                    }
                }
                end = high ? end : min(end, begin + half);
                begin = high ? begin + half : begin;
                held = half;
                alike = offset - 1;
            }
            if ((lane & alike) != 0) return;
        #pragma unroll
            for (int j = 0; j < COUNT; j++) {
                if (j < held && begin + j < end) to[begin + j] = value[j];
            }
        }

        // Sums of COUNT values over all threads of the launch: by warp, by block, and the last block to come adds those of all
        // blocks. `arrived` is 0 before and after.
        template <int COUNT>
        __device__ __forceinline__ void launch_sums(double (&value)[COUNT], double* scratch, double* partials, u32* arrived, double* totals)
        {
            constexpr int WARPS = 256 / WARP;
            const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
            warp_sums(value, scratch + warp * COUNT);
            __syncthreads();
            for (int s = threadIdx.x; s < COUNT; s += 256) {
                double sum = 0.0;
        #pragma unroll
                for (int w = 0; w < WARPS; w++) sum += scratch[w * COUNT + s];
                partials[s * (i64)gridDim.x + blockIdx.x] = sum;
            }
            __shared__ bool last;
            __syncthreads();
            if (threadIdx.x == 0) {
                __threadfence();
                last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
                __threadfence();
            }
            __syncthreads();
            if (!last) return;
            for (int s = warp; s < COUNT; s += WARPS) {
                double sum = 0.0;
        #pragma unroll 8
                for (int block = lane; block < (int)gridDim.x; block += WARP) sum += partials[s * (i64)gridDim.x + block];
                sum = warp_sum(sum);
                if (lane == 0) totals[s] = sum;
            }
        }

        // The program for element i.
        __device__ __forceinline__ void jacobi_step_element(
            i64 i,
            sum_t& x, sum_t ax, sum_t& w,
            double theta,
            sum_t diagonal,
            sum_t& rr)
        {
            const sum_t r = ax - theta * x;
            w = (-r) / fmax(fabs(diagonal - theta), 0.1);
            x = x - (w - r) * (0.001 - (-x));
            rr += r * r;
        }

        extern "C" __global__ void __launch_bounds__(256, 2)
        jacobi_step(value_t* __restrict__ x_vector, const value_t* __restrict__ ax_vector, value_t* __restrict__ w_vector,
                    double theta, const u32* __restrict__ diagonal_states, double diagonal_u, i64 first_element,
                    double* __restrict__ partials, u32* __restrict__ arrived, double* __restrict__ totals, i64 n)
        {
            sum_t rr = 0.0;
            const i64 packs = n / 2, stride = (i64)SHARE_BLOCKS * 256, first = (i64)SHARE_BLOCK * 256 + threadIdx.x;
            for (i64 pack = SHARE_FIRST(packs) + first; pack < SHARE_END(packs); pack += stride) {
                Pack x_pack = reinterpret_cast<const Pack*>(x_vector)[pack];
                Pack ax_pack = reinterpret_cast<const Pack*>(ax_vector)[pack];
                Pack w_pack;
        #pragma unroll
                for (int lane = 0; lane < 2; lane++) {
                    const i64 i = pack * 2 + lane;
                    sum_t x = x_pack.at[lane];
                    sum_t ax = ax_pack.at[lane];
                    sum_t w = 0.0;
                    jacobi_step_element(i, x, ax, w, theta, diagonal(first_element + i, diagonal_states, diagonal_u), rr);
                    x_pack.at[lane] = (value_t)x;
                    w_pack.at[lane] = (value_t)w;
                }
                reinterpret_cast<Pack*>(x_vector)[pack] = x_pack;
                reinterpret_cast<Pack*>(w_vector)[pack] = w_pack;
            }
            // The last n % 2 elements are the last card's.
            const i64 i = packs * 2 + first;
            if (CARD == CARDS - 1 && i < n) {
                sum_t x = x_vector[i];
                sum_t ax = ax_vector[i];
                sum_t w = 0.0;
                jacobi_step_element(i, x, ax, w, theta, diagonal(first_element + i, diagonal_states, diagonal_u), rr);
                x_vector[i] = (value_t)x;
                w_vector[i] = (value_t)w;
            }

            __shared__ double scratch[1 * 256 / WARP];
            sum_t values[] = {rr};
            launch_sums(values, scratch, partials, arrived, totals);
        }
    "#]].assert_eq(&without_prelude(&text.text));
}

/// A text with one line in place of what it has of the prelude, the sums over a warp among it and no bit tricks.
fn without_prelude(text: &str) -> String {
    let (head, rest) = text.split_once("// eigenforge prelude").unwrap();
    let (prelude, body) = rest.split_once("// What a card does of a launch").unwrap();
    assert!(prelude.contains("double warp_sum(double value)") && !prelude.contains("parity"), "{prelude}");
    format!("{head}(prelude)\n\n// What a card does of a launch{body}")
}

#[test]
fn the_plan_goes_to_ron_and_back() {
    let program = VectorProgram::parse(PROGRAM).unwrap();
    let text = program.text(ScalarType::F32, &[diagonal()]).unwrap();
    assert_eq!(ron::from_str::<VectorProgram>(&text.plan).unwrap(), program);
}

#[test]
fn cost_counts_passes_and_operations() {
    let program = VectorProgram::parse(
        "program p\nvectors x : inout\nvectors y : in\nscalars a\nx = a * x + y\nsum s = fma(x, y, 1)\n",
    )
    .unwrap();
    let cost = program.cost(1000, ScalarType::F64);
    assert_eq!((cost.bytes, cost.flops), (24_000.0, 5_000.0));
    assert_eq!(program.cost(1000, ScalarType::F32).bytes, 12_000.0);
}

#[test]
fn a_function_under_another_name_is_wrapped() {
    let renamed = diagonal().named("d");
    assert!(renamed.source.contains("value_t diagonal(i64 i,"), "{}", renamed.source);
    assert!(
        renamed.source.contains(
            "value_t d(i64 i, const u32* __restrict__ states, double u)\n{\n    return diagonal(i, states, u);"
        )
    );
}

/// What a compiler calls the lines after a `#line` into the user's file must be what they are in the text.
#[test]
fn lines_go_on_by_their_own_numbers_after_a_user_s_line() {
    let mut function = diagonal();
    function.source = "#line 7 \"model.rs\"\n// the user's\n#line RESUME\n".to_owned() + &function.source;
    let text = VectorProgram::parse(PROGRAM).unwrap().text(ScalarType::F64, &[function]).unwrap().text;
    let (at, directive) = text.lines().enumerate().find(|(_, line)| line.ends_with("\"kernel.cu\"")).unwrap();
    assert_eq!(directive, format!("#line {} \"kernel.cu\"", at + 2));
    assert!(at > without_prelude(&text).lines().position(|line| line == "(prelude)").unwrap());
}
