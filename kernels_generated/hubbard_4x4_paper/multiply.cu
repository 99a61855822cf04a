// hubbard_square_4x4_7up_7dn: y = H x on 11440 x 11440 states
//
//   H = D + (1_dn (x) A_up) + (A_dn (x) 1_up)      Yamada, Machida, Imamura (2020), eq. 2 and 3
//
// x is the matrix V[up][dn], the up index fastest: x[up + 11440 * dn].
// model: built-in hubbard:1  sum!(b in 0..t.len(), s in [Up, Down]; -t[b] * weight[b] * (cdag(from[b], s) * c(to[b], s) + h.c.))
// model: built-in hubbard:2  sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
// least work: 7119523840.0 flop, 5234944000.0 bytes
// specialised: numbers of states, diagonal, amplitudes, packing of neighbours (index in the low 14 bits, sign in the top bit), tile shapes
// contents: diagonal_of; the kernels multiply_up, multiply_down, multiply_finish; the runs that multiply_down calls, written out

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

// Most warps of a block.
constexpr int MOST_WARPS = 1024 / WARP;

// Sum over the lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = WARP / 2; offset > 0; offset >>= 1) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// The lane's share of the sums of `warps` warps: of one where a block has no more warps than a warp has lanes.
__device__ __forceinline__ double lane_share(const double* sums, int warps)
{
    const int lane = threadIdx.x % WARP;
    double value = lane < warps ? sums[lane] : 0.0;
    for (int warp = lane + WARP; warp < warps && MOST_WARPS > WARP; warp += WARP) value += sums[warp];
    return value;
}

// Sum over a block of THREADS threads (whole warps, at most 1024), in a fixed order; thread 0 gets it.
// `scratch` holds THREADS / WARP doubles and may be used again after the call.
template <int THREADS>
__device__ __forceinline__ double block_sum(double value, double* scratch)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = 0.0;
    if (warp == 0) value = warp_sum(lane_share(scratch, THREADS / WARP));
    __syncthreads();
    return value;
}

// value, or -value where the top bit of `sign` is set: one operation on the high word.
__device__ __forceinline__ double negated_by_top_bit(double value, u32 sign)
{
    return __hiloint2double(__double2hiint(value) ^ (int)(sign & 0x80000000u), __double2loint(value));
}

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 N_UP = 11440;  // 7 up electrons on 16 sites
constexpr i64 N_DN = 11440;  // 7 down electrons
constexpr int UP_THREADS = 1024;
constexpr int UP_COLUMNS = 1;   // columns of V that share a block of the up kernel
constexpr int SLICES = (int)((N_UP + WARP - 1) / WARP);    // WARP rows that a warp works on together

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u32 up, u32 dn)
{
    double value = 0.0;
    value += 4.0 * __popc(up & dn & 0xffffu);
    return value;
}

// y = D x + A_up x. A_up in slices of WARP rows: slice s holds slice_start[s] .. slice_start[s + 1] groups of four
// neighbours a row, lanes side by side. A row of fewer neighbours is padded with indices from N_UP on, which hold zeros;
// in each slot the neighbours of 16 rows lie in different banks of shared memory, and so does the zero.
extern "C" __global__ void __launch_bounds__(UP_THREADS)
multiply_up(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
            const u32* __restrict__ slice_start, const u16* __restrict__ neighbours, const u32* __restrict__ up_states,
            const u32* __restrict__ dn_states)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    constexpr int COLUMN = (int)N_UP + 16;          // elements of a column with its zeros
    value_t* const columns = (value_t*)shared_bytes;     // UP_COLUMNS columns
    const i64 first_column = (i64)blockIdx.x * UP_COLUMNS;
    const int lane = threadIdx.x % WARP;
    for (int row = threadIdx.x; row < (int)N_UP; row += UP_THREADS) columns[row] = x[first_column * N_UP + row];
    if (threadIdx.x < 16) columns[N_UP + threadIdx.x] = (value_t)0;
    __syncthreads();
    const i64 column = first_column;
    const value_t* const from = columns;
    for (int slice = threadIdx.x / WARP; slice < SLICES; slice += UP_THREADS / WARP) {
        sum_t sum = 0.0;
        const u32 end = slice_start[slice + 1];
        for (u32 group = slice_start[slice]; group < end; ++group) {
            const u16* const four = neighbours + ((i64)group * WARP + lane) * 4;
            __align__(16) u16 words[4];
            *(u64*)words = *(const u64*)four;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const u16 word = words[k];
                const sum_t value = (sum_t)from[(int)(word & 0x3fff)];
                sum += negated_by_top_bit(value, (u32)word << 16);
            }
        }
        sum *= -1.0;
        const int row = slice * WARP + lane;
        if (row < N_UP) {
            const sum_t x_row = (sum_t)from[row];
            sum += diagonal_of(up_states[row], dn_states[column]) * x_row;
            y[column * N_UP + row] = (value_t)sum;
        }
    }
}

// y += A_dn x, and x . y of the whole product, by runs. A down state is (high | low), the low part being sites 0 .. 7.
// States ascend, so the low states beside one high state stand together: a run of columns, all runs of one number of low
// electrons alike. A warp takes WARP rows and one task: a run, or some columns of it, each summed up in a register. Blocks in
// launch order walk all tasks of one tile of rows before the next, WARP rows x 11440 columns, which stay in L2.
// The steps of run r are run_steps[r] .. run_steps[r + 1].
//   1. Terms among low sites act within a run and are written out, a line for each column read.
//   2. All other terms are steps of the run: a coefficient times one case of the low part, read from another run.

constexpr int DOWN_WARPS = 8;
constexpr i64 ROW_TILES = 358, TASKS = 627;

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

// The runs are written out below; each returns its share of x . y.
typedef double Run(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient);
__device__ __forceinline__ Run run_0_0, run_1_0, run_2_0, run_2_14, run_3_0, run_3_18, run_3_37, run_4_0, run_4_23, run_4_46, run_5_0,
    run_5_18, run_5_37, run_6_0, run_6_14, run_7_0;

extern "C" __global__ void __launch_bounds__(WARP * DOWN_WARPS, 2)
multiply_down(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
              const u32* __restrict__ task_part, const u32* __restrict__ task_run, const u32* __restrict__ run_column,
              const u32* __restrict__ run_steps, const u32* __restrict__ step_column, const u32* __restrict__ step_case,
              const double* __restrict__ step_coefficient)
{
    const i64 warp = (i64)blockIdx.x * DOWN_WARPS + threadIdx.x / WARP;
    if (warp >= ROW_TILES * TASKS || !OF_THIS_CARD(warp % TASKS, TASKS)) return;
    const i64 row = warp / TASKS * WARP + threadIdx.x % WARP;
    const bool inside = row < N_UP;
    const i64 up = inside ? row : N_UP - 1;        // lanes past the last row read along with it
    const u32 task = (u32)(warp % TASKS), run = task_run[task];
    const u32 column = run_column[run], step = run_steps[run], end = run_steps[run + 1];
    double x_dot_y = 0.0;
    switch (task_part[task]) {
    case 0: x_dot_y = run_0_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 1: x_dot_y = run_1_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 2: x_dot_y = run_2_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 3: x_dot_y = run_2_14(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 4: x_dot_y = run_3_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 5: x_dot_y = run_3_18(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 6: x_dot_y = run_3_37(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 7: x_dot_y = run_4_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 8: x_dot_y = run_4_23(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 9: x_dot_y = run_4_46(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 10: x_dot_y = run_5_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 11: x_dot_y = run_5_18(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 12: x_dot_y = run_5_37(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 13: x_dot_y = run_6_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 14: x_dot_y = run_6_14(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    case 15: x_dot_y = run_7_0(x, y, up, inside, column, step, end, step_column, step_case, step_coefficient); break;
    }
    x_dot_y = warp_sum(x_dot_y);
    if (threadIdx.x % WARP == 0) partials[warp] = x_dot_y;
}

// x . y from its partial sums, in a fixed order: block b adds the sums of vector b into place + b.
extern "C" __global__ void __launch_bounds__(1024)
multiply_finish(const double* __restrict__ partials, i64 count, i64 place, double* __restrict__ x_dot_y)
{
    __shared__ double scratch[MOST_WARPS];
    double sum = 0.0;
    for (i64 k = threadIdx.x; k < count; k += 1024) sum += partials[blockIdx.x * count + k];
    sum = block_sum<1024>(sum, scratch);
    if (threadIdx.x == 0) x_dot_y[place + blockIdx.x] = sum;
}

// Loads a number that was loaded before; the compiler would keep the earlier one in a register, of which there are too few.
__device__ __forceinline__ sum_t load_again(const value_t* address)
{
#ifdef __CUDACC__
    value_t value;
    asm("ld.global.f64 %0, [%1];" : "=d"(value) : "l"(address));
    return (sum_t)value;
#else
    return (sum_t)*address;
#endif
}

// 0 low electrons, one column
__device__ __forceinline__ double run_0_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[1] = {inside ? (sum_t)out[0] : 0.0};
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
            sum[0] += c * (sum_t)from[0];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[4 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[5 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[6 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[7 * N_UP];
            break;
        }
    }
    const double x_dot_y = load_again(own) * sum[0];
    if (inside) out[0] = (value_t)sum[0];
    return inside ? x_dot_y : 0.0;
}

// 1 low electron, all 8 columns
__device__ __forceinline__ double run_1_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[8];
#pragma unroll
    for (int l = 0; l < 8; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[4] -= value;  // 00000001
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[2] -= value; sum[5] -= value;  // 00000010
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[3] -= value; sum[6] -= value;  // 00000100
    value = (sum_t)own[3 * N_UP]; sum[2] -= value; sum[7] -= value;  // 00001000
    value = (sum_t)own[4 * N_UP]; sum[0] -= value; sum[5] -= value;  // 00010000
    value = (sum_t)own[5 * N_UP]; sum[1] -= value; sum[4] -= value; sum[6] -= value;  // 00100000
    value = (sum_t)own[6 * N_UP]; sum[2] -= value; sum[5] -= value; sum[7] -= value;  // 01000000
    value = (sum_t)own[7 * N_UP]; sum[3] -= value; sum[6] -= value;  // 10000000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 8; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[6 * N_UP]; sum[1] += c * (sum_t)from[7 * N_UP];
            sum[2] += c * (sum_t)from[8 * N_UP]; sum[3] += c * (sum_t)from[9 * N_UP];
            sum[5] -= c * (sum_t)from[14 * N_UP]; sum[6] -= c * (sum_t)from[19 * N_UP];
            sum[7] -= c * (sum_t)from[25 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[4] += c * (sum_t)from[0];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[10 * N_UP]; sum[1] += c * (sum_t)from[11 * N_UP];
            sum[2] += c * (sum_t)from[12 * N_UP]; sum[3] += c * (sum_t)from[13 * N_UP];
            sum[4] += c * (sum_t)from[14 * N_UP]; sum[6] -= c * (sum_t)from[20 * N_UP];
            sum[7] -= c * (sum_t)from[26 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[5] += c * (sum_t)from[0];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[15 * N_UP]; sum[1] += c * (sum_t)from[16 * N_UP];
            sum[2] += c * (sum_t)from[17 * N_UP]; sum[3] += c * (sum_t)from[18 * N_UP];
            sum[4] += c * (sum_t)from[19 * N_UP]; sum[5] += c * (sum_t)from[20 * N_UP];
            sum[7] -= c * (sum_t)from[27 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[6] += c * (sum_t)from[0];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[21 * N_UP]; sum[1] += c * (sum_t)from[22 * N_UP];
            sum[2] += c * (sum_t)from[23 * N_UP]; sum[3] += c * (sum_t)from[24 * N_UP];
            sum[4] += c * (sum_t)from[25 * N_UP]; sum[5] += c * (sum_t)from[26 * N_UP];
            sum[6] += c * (sum_t)from[27 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[7] += c * (sum_t)from[0];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 8; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 2 low electrons, columns 0 .. 13 of 28
__device__ __forceinline__ double run_2_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[14];
#pragma unroll
    for (int l = 0; l < 14; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[7] += value; sum[10] -= value;  // 00000011
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[2] -= value; sum[3] -= value; sum[8] += value;  // 00000101
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[4] -= value; sum[12] += value;  // 00000110
    value = (sum_t)own[3 * N_UP]; sum[1] -= value; sum[4] -= value; sum[9] += value;  // 00001001
    value = (sum_t)own[4 * N_UP]; sum[2] -= value; sum[3] -= value; sum[5] -= value; sum[13] += value;  // 00001010
    value = (sum_t)own[5 * N_UP]; sum[4] -= value;  // 00001100
    value = (sum_t)own[6 * N_UP]; sum[7] -= value; sum[10] -= value;  // 00010001
    value = (sum_t)own[7 * N_UP]; sum[0] += value; sum[6] -= value; sum[8] -= value; sum[11] -= value;  // 00010010
    value = (sum_t)own[8 * N_UP]; sum[1] += value; sum[7] -= value; sum[9] -= value; sum[12] -= value;  // 00010100
    value = (sum_t)own[9 * N_UP]; sum[3] += value; sum[8] -= value; sum[13] -= value;  // 00011000
    value = (sum_t)own[10 * N_UP]; sum[0] -= value; sum[6] -= value; sum[11] -= value;  // 00100001
    value = (sum_t)own[11 * N_UP]; sum[7] -= value; sum[10] -= value; sum[12] -= value;  // 00100010
    value = (sum_t)own[12 * N_UP]; sum[2] += value; sum[8] -= value; sum[11] -= value; sum[13] -= value;  // 00100100
    value = (sum_t)own[13 * N_UP]; sum[4] += value; sum[9] -= value; sum[12] -= value;  // 00101000
    value = (sum_t)own[14 * N_UP]; sum[7] += value; sum[10] -= value;  // 00110000
    value = (sum_t)own[15 * N_UP]; sum[1] -= value; sum[10] -= value;  // 01000001
    value = (sum_t)own[16 * N_UP]; sum[2] -= value; sum[11] -= value;  // 01000010
    value = (sum_t)own[17 * N_UP]; sum[12] -= value;  // 01000100
    value = (sum_t)own[18 * N_UP]; sum[5] += value; sum[13] -= value;  // 01001000
    value = (sum_t)own[19 * N_UP]; sum[8] += value;  // 01010000
    value = (sum_t)own[20 * N_UP]; sum[12] += value;  // 01100000
    value = (sum_t)own[21 * N_UP]; sum[3] -= value;  // 10000001
    value = (sum_t)own[22 * N_UP]; sum[4] -= value;  // 10000010
    value = (sum_t)own[23 * N_UP]; sum[5] -= value;  // 10000100
    value = (sum_t)own[25 * N_UP]; sum[9] += value;  // 10010000
    value = (sum_t)own[26 * N_UP]; sum[13] += value;  // 10100000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 14; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[4 * N_UP]; sum[1] += c * (sum_t)from[5 * N_UP];
            sum[2] += c * (sum_t)from[6 * N_UP]; sum[3] += c * (sum_t)from[7 * N_UP];
            sum[4] += c * (sum_t)from[8 * N_UP]; sum[5] += c * (sum_t)from[9 * N_UP];
            sum[10] -= c * (sum_t)from[16 * N_UP]; sum[11] -= c * (sum_t)from[17 * N_UP];
            sum[12] -= c * (sum_t)from[18 * N_UP]; sum[13] -= c * (sum_t)from[19 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[6] += c * (sum_t)from[0]; sum[7] += c * (sum_t)from[N_UP]; sum[8] += c * (sum_t)from[2 * N_UP];
            sum[9] += c * (sum_t)from[3 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[10 * N_UP]; sum[1] += c * (sum_t)from[11 * N_UP];
            sum[2] += c * (sum_t)from[12 * N_UP]; sum[3] += c * (sum_t)from[13 * N_UP];
            sum[4] += c * (sum_t)from[14 * N_UP]; sum[5] += c * (sum_t)from[15 * N_UP];
            sum[6] += c * (sum_t)from[16 * N_UP]; sum[7] += c * (sum_t)from[17 * N_UP];
            sum[8] += c * (sum_t)from[18 * N_UP]; sum[9] += c * (sum_t)from[19 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[10] += c * (sum_t)from[0]; sum[11] += c * (sum_t)from[N_UP];
            sum[12] += c * (sum_t)from[2 * N_UP]; sum[13] += c * (sum_t)from[3 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[20 * N_UP]; sum[1] += c * (sum_t)from[21 * N_UP];
            sum[2] += c * (sum_t)from[22 * N_UP]; sum[3] += c * (sum_t)from[23 * N_UP];
            sum[4] += c * (sum_t)from[24 * N_UP]; sum[5] += c * (sum_t)from[25 * N_UP];
            sum[6] += c * (sum_t)from[26 * N_UP]; sum[7] += c * (sum_t)from[27 * N_UP];
            sum[8] += c * (sum_t)from[28 * N_UP]; sum[9] += c * (sum_t)from[29 * N_UP];
            sum[10] += c * (sum_t)from[30 * N_UP]; sum[11] += c * (sum_t)from[31 * N_UP];
            sum[12] += c * (sum_t)from[32 * N_UP]; sum[13] += c * (sum_t)from[33 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[35 * N_UP]; sum[1] += c * (sum_t)from[36 * N_UP];
            sum[2] += c * (sum_t)from[37 * N_UP]; sum[3] += c * (sum_t)from[38 * N_UP];
            sum[4] += c * (sum_t)from[39 * N_UP]; sum[5] += c * (sum_t)from[40 * N_UP];
            sum[6] += c * (sum_t)from[41 * N_UP]; sum[7] += c * (sum_t)from[42 * N_UP];
            sum[8] += c * (sum_t)from[43 * N_UP]; sum[9] += c * (sum_t)from[44 * N_UP];
            sum[10] += c * (sum_t)from[45 * N_UP]; sum[11] += c * (sum_t)from[46 * N_UP];
            sum[12] += c * (sum_t)from[47 * N_UP]; sum[13] += c * (sum_t)from[48 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 14; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 2 low electrons, columns 14 .. 27 of 28
__device__ __forceinline__ double run_2_14(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 14) * N_UP + up;
    sum_t sum[14];
#pragma unroll
    for (int l = 0; l < 14; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[N_UP]; sum[1] -= value;  // 00000101
    value = (sum_t)own[2 * N_UP]; sum[2] -= value;  // 00000110
    value = (sum_t)own[3 * N_UP]; sum[7] -= value;  // 00001001
    value = (sum_t)own[4 * N_UP]; sum[8] -= value;  // 00001010
    value = (sum_t)own[5 * N_UP]; sum[4] += value; sum[9] -= value;  // 00001100
    value = (sum_t)own[7 * N_UP]; sum[0] += value;  // 00010010
    value = (sum_t)own[8 * N_UP]; sum[5] += value;  // 00010100
    value = (sum_t)own[9 * N_UP]; sum[11] += value;  // 00011000
    value = (sum_t)own[10 * N_UP]; sum[0] -= value; sum[1] -= value;  // 00100001
    value = (sum_t)own[11 * N_UP]; sum[2] -= value;  // 00100010
    value = (sum_t)own[12 * N_UP]; sum[3] -= value; sum[6] += value;  // 00100100
    value = (sum_t)own[13 * N_UP]; sum[4] -= value; sum[12] += value;  // 00101000
    value = (sum_t)own[14 * N_UP]; sum[5] -= value;  // 00110000
    value = (sum_t)own[15 * N_UP]; sum[2] -= value; sum[5] -= value; sum[7] -= value;  // 01000001
    value = (sum_t)own[16 * N_UP]; sum[1] -= value; sum[3] -= value; sum[6] -= value; sum[8] -= value;  // 01000010
    value = (sum_t)own[17 * N_UP]; sum[2] -= value; sum[4] -= value; sum[9] -= value;  // 01000100
    value = (sum_t)own[18 * N_UP]; sum[3] -= value; sum[10] -= value; sum[13] += value;  // 01001000
    value = (sum_t)own[19 * N_UP]; sum[0] -= value; sum[1] -= value; sum[6] -= value; sum[11] -= value;  // 01010000
    value = (sum_t)own[20 * N_UP]; sum[2] -= value; sum[5] -= value; sum[12] -= value;  // 01100000
    value = (sum_t)own[21 * N_UP]; sum[1] -= value; sum[8] -= value; sum[11] -= value;  // 10000001
    value = (sum_t)own[22 * N_UP]; sum[2] -= value; sum[7] -= value; sum[9] -= value; sum[12] -= value;  // 10000010
    value = (sum_t)own[23 * N_UP]; sum[3] -= value; sum[8] -= value; sum[10] -= value; sum[13] -= value;  // 10000100
    value = (sum_t)own[24 * N_UP]; sum[4] -= value; sum[9] -= value;  // 10001000
    value = (sum_t)own[25 * N_UP]; sum[5] -= value; sum[7] -= value; sum[12] -= value;  // 10010000
    value = (sum_t)own[26 * N_UP]; sum[6] -= value; sum[8] -= value; sum[11] -= value; sum[13] -= value;  // 10100000
    value = (sum_t)own[27 * N_UP]; sum[4] += value; sum[9] -= value; sum[12] -= value;  // 11000000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 14; ++l) sum[l] += c * (sum_t)from[(l + 14) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[1] -= c * (sum_t)from[26 * N_UP]; sum[2] -= c * (sum_t)from[27 * N_UP];
            sum[3] -= c * (sum_t)from[28 * N_UP]; sum[4] -= c * (sum_t)from[29 * N_UP];
            sum[6] += c * (sum_t)from[34 * N_UP]; sum[7] -= c * (sum_t)from[41 * N_UP];
            sum[8] -= c * (sum_t)from[42 * N_UP]; sum[9] -= c * (sum_t)from[43 * N_UP];
            sum[10] -= c * (sum_t)from[44 * N_UP]; sum[12] += c * (sum_t)from[49 * N_UP];
            sum[13] += c * (sum_t)from[54 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] -= c * (sum_t)from[5 * N_UP]; sum[5] -= c * (sum_t)from[6 * N_UP];
            sum[11] -= c * (sum_t)from[7 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[1] -= c * (sum_t)from[30 * N_UP]; sum[2] -= c * (sum_t)from[31 * N_UP];
            sum[3] -= c * (sum_t)from[32 * N_UP]; sum[4] -= c * (sum_t)from[33 * N_UP];
            sum[5] -= c * (sum_t)from[34 * N_UP]; sum[7] -= c * (sum_t)from[45 * N_UP];
            sum[8] -= c * (sum_t)from[46 * N_UP]; sum[9] -= c * (sum_t)from[47 * N_UP];
            sum[10] -= c * (sum_t)from[48 * N_UP]; sum[11] -= c * (sum_t)from[49 * N_UP];
            sum[13] += c * (sum_t)from[55 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] += c * (sum_t)from[4 * N_UP]; sum[6] -= c * (sum_t)from[6 * N_UP];
            sum[12] -= c * (sum_t)from[7 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[34 * N_UP]; sum[7] -= c * (sum_t)from[50 * N_UP];
            sum[8] -= c * (sum_t)from[51 * N_UP]; sum[9] -= c * (sum_t)from[52 * N_UP];
            sum[10] -= c * (sum_t)from[53 * N_UP]; sum[11] -= c * (sum_t)from[54 * N_UP];
            sum[12] -= c * (sum_t)from[55 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[1] += c * (sum_t)from[0]; sum[2] += c * (sum_t)from[N_UP]; sum[3] += c * (sum_t)from[2 * N_UP];
            sum[4] += c * (sum_t)from[3 * N_UP]; sum[5] += c * (sum_t)from[4 * N_UP];
            sum[6] += c * (sum_t)from[5 * N_UP]; sum[13] -= c * (sum_t)from[7 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[49 * N_UP]; sum[1] += c * (sum_t)from[50 * N_UP];
            sum[2] += c * (sum_t)from[51 * N_UP]; sum[3] += c * (sum_t)from[52 * N_UP];
            sum[4] += c * (sum_t)from[53 * N_UP]; sum[5] += c * (sum_t)from[54 * N_UP];
            sum[6] += c * (sum_t)from[55 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[7] += c * (sum_t)from[0]; sum[8] += c * (sum_t)from[N_UP]; sum[9] += c * (sum_t)from[2 * N_UP];
            sum[10] += c * (sum_t)from[3 * N_UP]; sum[11] += c * (sum_t)from[4 * N_UP];
            sum[12] += c * (sum_t)from[5 * N_UP]; sum[13] += c * (sum_t)from[6 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 14; ++l) {
        x_dot_y += load_again(own + (l + 14) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 3 low electrons, columns 0 .. 17 of 56
__device__ __forceinline__ double run_3_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[18];
#pragma unroll
    for (int l = 0; l < 18; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[6] -= value; sum[11] += value;  // 00000111
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[2] -= value; sum[8] -= value; sum[13] += value;  // 00001011
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[3] -= value; sum[9] -= value;  // 00001101
    value = (sum_t)own[3 * N_UP]; sum[2] -= value; sum[15] -= value;  // 00001110
    value = (sum_t)own[4 * N_UP]; sum[5] -= value; sum[10] -= value; sum[16] += value;  // 00010011
    value = (sum_t)own[5 * N_UP]; sum[4] -= value; sum[6] -= value; sum[7] -= value; sum[11] -= value;  // 00010101
    value = (sum_t)own[6 * N_UP]; sum[0] -= value; sum[5] -= value; sum[8] -= value; sum[12] -= value;  // 00010110
    value = (sum_t)own[7 * N_UP]; sum[5] -= value; sum[8] -= value; sum[13] -= value;  // 00011001
    value = (sum_t)own[8 * N_UP]; sum[1] -= value; sum[6] -= value; sum[7] -= value; sum[9] -= value;
    sum[14] -= value;  // 00011010
    value = (sum_t)own[9 * N_UP]; sum[2] -= value; sum[8] -= value; sum[15] -= value;  // 00011100
    value = (sum_t)own[10 * N_UP]; sum[4] -= value; sum[11] -= value; sum[17] += value;  // 00100011
    value = (sum_t)own[11 * N_UP]; sum[0] += value; sum[5] -= value; sum[10] -= value; sum[12] -= value;
    sum[13] -= value;  // 00100101
    value = (sum_t)own[12 * N_UP]; sum[6] -= value; sum[11] -= value; sum[14] -= value;  // 00100110
    value = (sum_t)own[13 * N_UP]; sum[1] += value; sum[7] -= value; sum[11] -= value; sum[14] -= value;  // 00101001
    value = (sum_t)own[14 * N_UP]; sum[8] -= value; sum[12] -= value; sum[13] -= value; sum[15] -= value;  // 00101010
    value = (sum_t)own[15 * N_UP]; sum[3] -= value; sum[9] -= value; sum[14] -= value;  // 00101100
    value = (sum_t)own[16 * N_UP]; sum[4] += value; sum[17] -= value;  // 00110001
    value = (sum_t)own[17 * N_UP]; sum[10] += value; sum[16] -= value;  // 00110010
    value = (sum_t)own[18 * N_UP]; sum[6] -= value; sum[11] += value; sum[17] -= value;  // 00110100
    value = (sum_t)own[19 * N_UP]; sum[8] -= value; sum[13] += value;  // 00111000
    value = (sum_t)own[20 * N_UP]; sum[0] -= value; sum[10] -= value;  // 01000011
    value = (sum_t)own[21 * N_UP]; sum[11] -= value;  // 01000101
    value = (sum_t)own[22 * N_UP]; sum[12] -= value;  // 01000110
    value = (sum_t)own[23 * N_UP]; sum[2] += value; sum[13] -= value;  // 01001001
    value = (sum_t)own[24 * N_UP]; sum[3] += value; sum[14] -= value;  // 01001010
    value = (sum_t)own[25 * N_UP]; sum[15] -= value;  // 01001100
    value = (sum_t)own[26 * N_UP]; sum[5] += value; sum[16] -= value;  // 01010001
    value = (sum_t)own[27 * N_UP]; sum[6] += value; sum[17] -= value;  // 01010010
    value = (sum_t)own[29 * N_UP]; sum[9] -= value;  // 01011000
    value = (sum_t)own[30 * N_UP]; sum[11] += value;  // 01100001
    value = (sum_t)own[31 * N_UP]; sum[12] += value;  // 01100010
    value = (sum_t)own[33 * N_UP]; sum[15] -= value;  // 01101000
    value = (sum_t)own[35 * N_UP]; sum[1] -= value;  // 10000011
    value = (sum_t)own[36 * N_UP]; sum[2] -= value;  // 10000101
    value = (sum_t)own[37 * N_UP]; sum[3] -= value;  // 10000110
    value = (sum_t)own[41 * N_UP]; sum[7] += value;  // 10010001
    value = (sum_t)own[42 * N_UP]; sum[8] += value;  // 10010010
    value = (sum_t)own[43 * N_UP]; sum[9] += value;  // 10010100
    value = (sum_t)own[45 * N_UP]; sum[13] += value;  // 10100001
    value = (sum_t)own[46 * N_UP]; sum[14] += value;  // 10100010
    value = (sum_t)own[47 * N_UP]; sum[15] += value;  // 10100100
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 18; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[N_UP]; sum[1] += c * (sum_t)from[2 * N_UP];
            sum[2] += c * (sum_t)from[3 * N_UP]; sum[3] += c * (sum_t)from[4 * N_UP];
            sum[10] -= c * (sum_t)from[9 * N_UP]; sum[11] -= c * (sum_t)from[10 * N_UP];
            sum[12] -= c * (sum_t)from[11 * N_UP]; sum[13] -= c * (sum_t)from[12 * N_UP];
            sum[14] -= c * (sum_t)from[13 * N_UP]; sum[15] -= c * (sum_t)from[14 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[4] += c * (sum_t)from[0]; sum[5] += c * (sum_t)from[N_UP]; sum[6] += c * (sum_t)from[2 * N_UP];
            sum[7] += c * (sum_t)from[3 * N_UP]; sum[8] += c * (sum_t)from[4 * N_UP];
            sum[9] += c * (sum_t)from[5 * N_UP]; sum[16] -= c * (sum_t)from[10 * N_UP];
            sum[17] -= c * (sum_t)from[11 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[5 * N_UP]; sum[1] += c * (sum_t)from[6 * N_UP];
            sum[2] += c * (sum_t)from[7 * N_UP]; sum[3] += c * (sum_t)from[8 * N_UP];
            sum[4] += c * (sum_t)from[9 * N_UP]; sum[5] += c * (sum_t)from[10 * N_UP];
            sum[6] += c * (sum_t)from[11 * N_UP]; sum[7] += c * (sum_t)from[12 * N_UP];
            sum[8] += c * (sum_t)from[13 * N_UP]; sum[9] += c * (sum_t)from[14 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[10] += c * (sum_t)from[0]; sum[11] += c * (sum_t)from[N_UP];
            sum[12] += c * (sum_t)from[2 * N_UP]; sum[13] += c * (sum_t)from[3 * N_UP];
            sum[14] += c * (sum_t)from[4 * N_UP]; sum[15] += c * (sum_t)from[5 * N_UP];
            sum[16] += c * (sum_t)from[6 * N_UP]; sum[17] += c * (sum_t)from[7 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[15 * N_UP]; sum[1] += c * (sum_t)from[16 * N_UP];
            sum[2] += c * (sum_t)from[17 * N_UP]; sum[3] += c * (sum_t)from[18 * N_UP];
            sum[4] += c * (sum_t)from[19 * N_UP]; sum[5] += c * (sum_t)from[20 * N_UP];
            sum[6] += c * (sum_t)from[21 * N_UP]; sum[7] += c * (sum_t)from[22 * N_UP];
            sum[8] += c * (sum_t)from[23 * N_UP]; sum[9] += c * (sum_t)from[24 * N_UP];
            sum[10] += c * (sum_t)from[25 * N_UP]; sum[11] += c * (sum_t)from[26 * N_UP];
            sum[12] += c * (sum_t)from[27 * N_UP]; sum[13] += c * (sum_t)from[28 * N_UP];
            sum[14] += c * (sum_t)from[29 * N_UP]; sum[15] += c * (sum_t)from[30 * N_UP];
            sum[16] += c * (sum_t)from[31 * N_UP]; sum[17] += c * (sum_t)from[32 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[35 * N_UP]; sum[1] += c * (sum_t)from[36 * N_UP];
            sum[2] += c * (sum_t)from[37 * N_UP]; sum[3] += c * (sum_t)from[38 * N_UP];
            sum[4] += c * (sum_t)from[39 * N_UP]; sum[5] += c * (sum_t)from[40 * N_UP];
            sum[6] += c * (sum_t)from[41 * N_UP]; sum[7] += c * (sum_t)from[42 * N_UP];
            sum[8] += c * (sum_t)from[43 * N_UP]; sum[9] += c * (sum_t)from[44 * N_UP];
            sum[10] += c * (sum_t)from[45 * N_UP]; sum[11] += c * (sum_t)from[46 * N_UP];
            sum[12] += c * (sum_t)from[47 * N_UP]; sum[13] += c * (sum_t)from[48 * N_UP];
            sum[14] += c * (sum_t)from[49 * N_UP]; sum[15] += c * (sum_t)from[50 * N_UP];
            sum[16] += c * (sum_t)from[51 * N_UP]; sum[17] += c * (sum_t)from[52 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 18; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 3 low electrons, columns 18 .. 36 of 56
__device__ __forceinline__ double run_3_18(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 18) * N_UP + up;
    sum_t sum[19];
#pragma unroll
    for (int l = 0; l < 19; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[2] -= value;  // 00000111
    value = (sum_t)own[N_UP]; sum[17] -= value;  // 00001011
    value = (sum_t)own[2 * N_UP]; sum[5] += value; sum[18] -= value;  // 00001101
    value = (sum_t)own[3 * N_UP]; sum[6] += value;  // 00001110
    value = (sum_t)own[5 * N_UP]; sum[8] += value;  // 00010101
    value = (sum_t)own[6 * N_UP]; sum[0] -= value; sum[9] += value;  // 00010110
    value = (sum_t)own[8 * N_UP]; sum[1] -= value;  // 00011010
    value = (sum_t)own[9 * N_UP]; sum[11] -= value;  // 00011100
    value = (sum_t)own[10 * N_UP]; sum[2] -= value;  // 00100011
    value = (sum_t)own[11 * N_UP]; sum[0] += value; sum[3] -= value; sum[12] += value;  // 00100101
    value = (sum_t)own[12 * N_UP]; sum[4] -= value; sum[13] += value;  // 00100110
    value = (sum_t)own[13 * N_UP]; sum[1] += value; sum[5] -= value;  // 00101001
    value = (sum_t)own[14 * N_UP]; sum[6] -= value;  // 00101010
    value = (sum_t)own[15 * N_UP]; sum[7] -= value; sum[15] -= value;  // 00101100
    value = (sum_t)own[16 * N_UP]; sum[8] -= value;  // 00110001
    value = (sum_t)own[17 * N_UP]; sum[0] -= value; sum[9] -= value;  // 00110010
    value = (sum_t)own[18 * N_UP]; sum[1] -= value; sum[10] -= value; sum[16] -= value;  // 00110100
    value = (sum_t)own[19 * N_UP]; sum[0] -= value; sum[11] -= value;  // 00111000
    value = (sum_t)own[20 * N_UP]; sum[3] -= value; sum[9] += value; sum[12] -= value; sum[17] -= value;  // 01000011
    value = (sum_t)own[21 * N_UP]; sum[2] -= value; sum[4] -= value; sum[5] -= value; sum[10] += value;
    sum[18] -= value;  // 01000101
    value = (sum_t)own[22 * N_UP]; sum[3] -= value; sum[6] -= value; sum[14] += value;  // 01000110
    value = (sum_t)own[23 * N_UP]; sum[3] -= value; sum[6] -= value; sum[11] += value;  // 01001001
    value = (sum_t)own[24 * N_UP]; sum[4] -= value; sum[5] -= value; sum[7] -= value; sum[15] += value;  // 01001010
    value = (sum_t)own[25 * N_UP]; sum[6] -= value;  // 01001100
    value = (sum_t)own[26 * N_UP]; sum[9] -= value; sum[12] -= value;  // 01010001
    value = (sum_t)own[27 * N_UP]; sum[2] += value; sum[8] -= value; sum[10] -= value; sum[13] -= value;
    sum[16] += value;  // 01010010
    value = (sum_t)own[28 * N_UP]; sum[0] -= value; sum[3] += value; sum[9] -= value; sum[11] -= value;
    sum[14] -= value;  // 01010100
    value = (sum_t)own[29 * N_UP]; sum[1] -= value; sum[5] += value; sum[10] -= value; sum[15] -= value;  // 01011000
    value = (sum_t)own[30 * N_UP]; sum[2] -= value; sum[8] -= value; sum[13] -= value; sum[16] -= value;  // 01100001
    value = (sum_t)own[31 * N_UP]; sum[9] -= value; sum[12] -= value; sum[14] -= value;  // 01100010
    value = (sum_t)own[32 * N_UP]; sum[4] += value; sum[10] -= value; sum[13] -= value; sum[15] -= value;  // 01100100
    value = (sum_t)own[33 * N_UP]; sum[6] += value; sum[11] -= value; sum[14] -= value;  // 01101000
    value = (sum_t)own[34 * N_UP]; sum[0] -= value; sum[9] += value; sum[12] -= value;  // 01110000
    value = (sum_t)own[35 * N_UP]; sum[2] -= value; sum[18] -= value;  // 10000011
    value = (sum_t)own[36 * N_UP]; sum[3] -= value; sum[17] -= value;  // 10000101
    value = (sum_t)own[37 * N_UP]; sum[4] -= value; sum[18] -= value;  // 10000110
    value = (sum_t)own[38 * N_UP]; sum[5] -= value; sum[18] -= value;  // 10001001
    value = (sum_t)own[39 * N_UP]; sum[6] -= value;  // 10001010
    value = (sum_t)own[40 * N_UP]; sum[7] -= value;  // 10001100
    value = (sum_t)own[41 * N_UP]; sum[8] -= value;  // 10010001
    value = (sum_t)own[42 * N_UP]; sum[9] -= value; sum[17] += value;  // 10010010
    value = (sum_t)own[43 * N_UP]; sum[10] -= value; sum[18] += value;  // 10010100
    value = (sum_t)own[44 * N_UP]; sum[11] -= value;  // 10011000
    value = (sum_t)own[45 * N_UP]; sum[12] -= value; sum[17] -= value;  // 10100001
    value = (sum_t)own[46 * N_UP]; sum[13] -= value;  // 10100010
    value = (sum_t)own[47 * N_UP]; sum[14] -= value;  // 10100100
    value = (sum_t)own[48 * N_UP]; sum[15] -= value;  // 10101000
    value = (sum_t)own[49 * N_UP]; sum[1] -= value; sum[16] -= value;  // 10110000
    value = (sum_t)own[50 * N_UP]; sum[5] += value; sum[18] -= value;  // 11000001
    value = (sum_t)own[51 * N_UP]; sum[6] += value;  // 11000010
    value = (sum_t)own[52 * N_UP]; sum[7] += value;  // 11000100
    value = (sum_t)own[54 * N_UP]; sum[11] -= value;  // 11010000
    value = (sum_t)own[55 * N_UP]; sum[15] -= value;  // 11100000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 19; ++l) sum[l] += c * (sum_t)from[(l + 18) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[2] -= c * (sum_t)from[19 * N_UP]; sum[3] -= c * (sum_t)from[20 * N_UP];
            sum[4] -= c * (sum_t)from[21 * N_UP]; sum[5] -= c * (sum_t)from[22 * N_UP];
            sum[6] -= c * (sum_t)from[23 * N_UP]; sum[7] -= c * (sum_t)from[24 * N_UP];
            sum[12] += c * (sum_t)from[31 * N_UP]; sum[13] += c * (sum_t)from[32 * N_UP];
            sum[14] += c * (sum_t)from[33 * N_UP]; sum[15] += c * (sum_t)from[34 * N_UP];
            sum[17] -= c * (sum_t)from[39 * N_UP]; sum[18] -= c * (sum_t)from[40 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] -= c * (sum_t)from[12 * N_UP]; sum[1] -= c * (sum_t)from[13 * N_UP];
            sum[8] -= c * (sum_t)from[15 * N_UP]; sum[9] -= c * (sum_t)from[16 * N_UP];
            sum[10] -= c * (sum_t)from[17 * N_UP]; sum[11] -= c * (sum_t)from[18 * N_UP];
            sum[16] += c * (sum_t)from[20 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[2] -= c * (sum_t)from[25 * N_UP]; sum[3] -= c * (sum_t)from[26 * N_UP];
            sum[4] -= c * (sum_t)from[27 * N_UP]; sum[5] -= c * (sum_t)from[28 * N_UP];
            sum[6] -= c * (sum_t)from[29 * N_UP]; sum[7] -= c * (sum_t)from[30 * N_UP];
            sum[8] -= c * (sum_t)from[31 * N_UP]; sum[9] -= c * (sum_t)from[32 * N_UP];
            sum[10] -= c * (sum_t)from[33 * N_UP]; sum[11] -= c * (sum_t)from[34 * N_UP];
            sum[17] -= c * (sum_t)from[45 * N_UP]; sum[18] -= c * (sum_t)from[46 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] += c * (sum_t)from[8 * N_UP]; sum[1] += c * (sum_t)from[9 * N_UP];
            sum[12] -= c * (sum_t)from[15 * N_UP]; sum[13] -= c * (sum_t)from[16 * N_UP];
            sum[14] -= c * (sum_t)from[17 * N_UP]; sum[15] -= c * (sum_t)from[18 * N_UP];
            sum[16] -= c * (sum_t)from[19 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[33 * N_UP]; sum[1] += c * (sum_t)from[34 * N_UP];
            sum[17] -= c * (sum_t)from[55 * N_UP]; sum[18] -= c * (sum_t)from[56 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[2] += c * (sum_t)from[0]; sum[3] += c * (sum_t)from[N_UP]; sum[4] += c * (sum_t)from[2 * N_UP];
            sum[5] += c * (sum_t)from[3 * N_UP]; sum[6] += c * (sum_t)from[4 * N_UP];
            sum[7] += c * (sum_t)from[5 * N_UP]; sum[8] += c * (sum_t)from[6 * N_UP];
            sum[9] += c * (sum_t)from[7 * N_UP]; sum[10] += c * (sum_t)from[8 * N_UP];
            sum[11] += c * (sum_t)from[9 * N_UP]; sum[12] += c * (sum_t)from[10 * N_UP];
            sum[13] += c * (sum_t)from[11 * N_UP]; sum[14] += c * (sum_t)from[12 * N_UP];
            sum[15] += c * (sum_t)from[13 * N_UP]; sum[16] += c * (sum_t)from[14 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[53 * N_UP]; sum[1] += c * (sum_t)from[54 * N_UP];
            sum[2] += c * (sum_t)from[55 * N_UP]; sum[3] += c * (sum_t)from[56 * N_UP];
            sum[4] += c * (sum_t)from[57 * N_UP]; sum[5] += c * (sum_t)from[58 * N_UP];
            sum[6] += c * (sum_t)from[59 * N_UP]; sum[7] += c * (sum_t)from[60 * N_UP];
            sum[8] += c * (sum_t)from[61 * N_UP]; sum[9] += c * (sum_t)from[62 * N_UP];
            sum[10] += c * (sum_t)from[63 * N_UP]; sum[11] += c * (sum_t)from[64 * N_UP];
            sum[12] += c * (sum_t)from[65 * N_UP]; sum[13] += c * (sum_t)from[66 * N_UP];
            sum[14] += c * (sum_t)from[67 * N_UP]; sum[15] += c * (sum_t)from[68 * N_UP];
            sum[16] += c * (sum_t)from[69 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[17] += c * (sum_t)from[0]; sum[18] += c * (sum_t)from[N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 19; ++l) {
        x_dot_y += load_again(own + (l + 18) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 3 low electrons, columns 37 .. 55 of 56
__device__ __forceinline__ double run_3_37(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 37) * N_UP + up;
    sum_t sum[19];
#pragma unroll
    for (int l = 0; l < 19; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[3 * N_UP]; sum[0] -= value;  // 00001110
    value = (sum_t)own[7 * N_UP]; sum[4] += value;  // 00011001
    value = (sum_t)own[8 * N_UP]; sum[5] += value;  // 00011010
    value = (sum_t)own[9 * N_UP]; sum[6] += value;  // 00011100
    value = (sum_t)own[13 * N_UP]; sum[8] += value;  // 00101001
    value = (sum_t)own[14 * N_UP]; sum[9] += value;  // 00101010
    value = (sum_t)own[15 * N_UP]; sum[10] += value;  // 00101100
    value = (sum_t)own[19 * N_UP]; sum[12] -= value;  // 00111000
    value = (sum_t)own[22 * N_UP]; sum[0] -= value;  // 01000110
    value = (sum_t)own[23 * N_UP]; sum[1] -= value; sum[13] += value;  // 01001001
    value = (sum_t)own[24 * N_UP]; sum[2] -= value; sum[14] += value;  // 01001010
    value = (sum_t)own[25 * N_UP]; sum[3] -= value; sum[15] += value;  // 01001100
    value = (sum_t)own[26 * N_UP]; sum[4] -= value;  // 01010001
    value = (sum_t)own[27 * N_UP]; sum[5] -= value;  // 01010010
    value = (sum_t)own[28 * N_UP]; sum[6] -= value;  // 01010100
    value = (sum_t)own[29 * N_UP]; sum[7] -= value; sum[17] -= value;  // 01011000
    value = (sum_t)own[30 * N_UP]; sum[8] -= value;  // 01100001
    value = (sum_t)own[31 * N_UP]; sum[9] -= value;  // 01100010
    value = (sum_t)own[32 * N_UP]; sum[10] -= value;  // 01100100
    value = (sum_t)own[33 * N_UP]; sum[11] -= value; sum[18] -= value;  // 01101000
    value = (sum_t)own[34 * N_UP]; sum[12] -= value;  // 01110000
    value = (sum_t)own[35 * N_UP]; sum[5] += value; sum[8] -= value;  // 10000011
    value = (sum_t)own[36 * N_UP]; sum[0] -= value; sum[1] -= value; sum[6] += value; sum[13] -= value;  // 10000101
    value = (sum_t)own[37 * N_UP]; sum[2] -= value; sum[10] += value; sum[14] -= value;  // 10000110
    value = (sum_t)own[38 * N_UP]; sum[2] -= value; sum[7] += value;  // 10001001
    value = (sum_t)own[39 * N_UP]; sum[0] -= value; sum[1] -= value; sum[3] -= value; sum[11] += value;  // 10001010
    value = (sum_t)own[40 * N_UP]; sum[2] -= value; sum[16] += value;  // 10001100
    value = (sum_t)own[41 * N_UP]; sum[5] -= value; sum[8] -= value;  // 10010001
    value = (sum_t)own[42 * N_UP]; sum[4] -= value; sum[6] -= value; sum[9] -= value; sum[12] += value;  // 10010010
    value = (sum_t)own[43 * N_UP]; sum[5] -= value; sum[7] -= value; sum[10] -= value; sum[17] += value;  // 10010100
    value = (sum_t)own[44 * N_UP]; sum[1] += value; sum[6] -= value; sum[11] -= value;  // 10011000
    value = (sum_t)own[45 * N_UP]; sum[4] -= value; sum[9] -= value; sum[12] -= value; sum[13] -= value;  // 10100001
    value = (sum_t)own[46 * N_UP]; sum[5] -= value; sum[8] -= value; sum[10] -= value; sum[14] -= value;  // 10100010
    value = (sum_t)own[47 * N_UP]; sum[0] += value; sum[6] -= value; sum[9] -= value; sum[11] -= value;
    sum[15] -= value; sum[18] += value;  // 10100100
    value = (sum_t)own[48 * N_UP]; sum[2] += value; sum[7] -= value; sum[10] -= value; sum[16] -= value;  // 10101000
    value = (sum_t)own[49 * N_UP]; sum[5] += value; sum[8] -= value; sum[17] -= value;  // 10110000
    value = (sum_t)own[50 * N_UP]; sum[8] -= value; sum[14] -= value; sum[17] -= value;  // 11000001
    value = (sum_t)own[51 * N_UP]; sum[0] -= value; sum[9] -= value; sum[13] -= value; sum[15] -= value;
    sum[18] -= value;  // 11000010
    value = (sum_t)own[52 * N_UP]; sum[10] -= value; sum[14] -= value; sum[16] -= value;  // 11000100
    value = (sum_t)own[53 * N_UP]; sum[3] += value; sum[11] -= value; sum[15] -= value;  // 11001000
    value = (sum_t)own[54 * N_UP]; sum[6] += value; sum[12] -= value; sum[13] -= value; sum[18] -= value;  // 11010000
    value = (sum_t)own[55 * N_UP]; sum[10] += value; sum[14] -= value; sum[17] -= value;  // 11100000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 19; ++l) sum[l] += c * (sum_t)from[(l + 37) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] -= c * (sum_t)from[41 * N_UP]; sum[1] -= c * (sum_t)from[42 * N_UP];
            sum[2] -= c * (sum_t)from[43 * N_UP]; sum[3] -= c * (sum_t)from[44 * N_UP];
            sum[8] += c * (sum_t)from[51 * N_UP]; sum[9] += c * (sum_t)from[52 * N_UP];
            sum[10] += c * (sum_t)from[53 * N_UP]; sum[11] += c * (sum_t)from[54 * N_UP];
            sum[13] += c * (sum_t)from[61 * N_UP]; sum[14] += c * (sum_t)from[62 * N_UP];
            sum[15] += c * (sum_t)from[63 * N_UP]; sum[16] += c * (sum_t)from[64 * N_UP];
            sum[18] -= c * (sum_t)from[69 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[4] -= c * (sum_t)from[21 * N_UP]; sum[5] -= c * (sum_t)from[22 * N_UP];
            sum[6] -= c * (sum_t)from[23 * N_UP]; sum[7] -= c * (sum_t)from[24 * N_UP];
            sum[12] += c * (sum_t)from[26 * N_UP]; sum[17] += c * (sum_t)from[27 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] -= c * (sum_t)from[47 * N_UP]; sum[1] -= c * (sum_t)from[48 * N_UP];
            sum[2] -= c * (sum_t)from[49 * N_UP]; sum[3] -= c * (sum_t)from[50 * N_UP];
            sum[4] -= c * (sum_t)from[51 * N_UP]; sum[5] -= c * (sum_t)from[52 * N_UP];
            sum[6] -= c * (sum_t)from[53 * N_UP]; sum[7] -= c * (sum_t)from[54 * N_UP];
            sum[13] += c * (sum_t)from[65 * N_UP]; sum[14] += c * (sum_t)from[66 * N_UP];
            sum[15] += c * (sum_t)from[67 * N_UP]; sum[16] += c * (sum_t)from[68 * N_UP];
            sum[17] += c * (sum_t)from[69 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[8] -= c * (sum_t)from[21 * N_UP]; sum[9] -= c * (sum_t)from[22 * N_UP];
            sum[10] -= c * (sum_t)from[23 * N_UP]; sum[11] -= c * (sum_t)from[24 * N_UP];
            sum[12] -= c * (sum_t)from[25 * N_UP]; sum[18] += c * (sum_t)from[27 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] -= c * (sum_t)from[57 * N_UP]; sum[1] -= c * (sum_t)from[58 * N_UP];
            sum[2] -= c * (sum_t)from[59 * N_UP]; sum[3] -= c * (sum_t)from[60 * N_UP];
            sum[4] -= c * (sum_t)from[61 * N_UP]; sum[5] -= c * (sum_t)from[62 * N_UP];
            sum[6] -= c * (sum_t)from[63 * N_UP]; sum[7] -= c * (sum_t)from[64 * N_UP];
            sum[8] -= c * (sum_t)from[65 * N_UP]; sum[9] -= c * (sum_t)from[66 * N_UP];
            sum[10] -= c * (sum_t)from[67 * N_UP]; sum[11] -= c * (sum_t)from[68 * N_UP];
            sum[12] -= c * (sum_t)from[69 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[13] -= c * (sum_t)from[21 * N_UP]; sum[14] -= c * (sum_t)from[22 * N_UP];
            sum[15] -= c * (sum_t)from[23 * N_UP]; sum[16] -= c * (sum_t)from[24 * N_UP];
            sum[17] -= c * (sum_t)from[25 * N_UP]; sum[18] -= c * (sum_t)from[26 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[0] += c * (sum_t)from[2 * N_UP]; sum[1] += c * (sum_t)from[3 * N_UP];
            sum[2] += c * (sum_t)from[4 * N_UP]; sum[3] += c * (sum_t)from[5 * N_UP];
            sum[4] += c * (sum_t)from[6 * N_UP]; sum[5] += c * (sum_t)from[7 * N_UP];
            sum[6] += c * (sum_t)from[8 * N_UP]; sum[7] += c * (sum_t)from[9 * N_UP];
            sum[8] += c * (sum_t)from[10 * N_UP]; sum[9] += c * (sum_t)from[11 * N_UP];
            sum[10] += c * (sum_t)from[12 * N_UP]; sum[11] += c * (sum_t)from[13 * N_UP];
            sum[12] += c * (sum_t)from[14 * N_UP]; sum[13] += c * (sum_t)from[15 * N_UP];
            sum[14] += c * (sum_t)from[16 * N_UP]; sum[15] += c * (sum_t)from[17 * N_UP];
            sum[16] += c * (sum_t)from[18 * N_UP]; sum[17] += c * (sum_t)from[19 * N_UP];
            sum[18] += c * (sum_t)from[20 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 19; ++l) {
        x_dot_y += load_again(own + (l + 37) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 4 low electrons, columns 0 .. 22 of 70
__device__ __forceinline__ double run_4_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[23];
#pragma unroll
    for (int l = 0; l < 23; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[4] += value; sum[7] -= value; sum[16] += value;  // 00001111
    value = (sum_t)own[N_UP]; sum[2] -= value; sum[5] -= value; sum[10] -= value; sum[19] += value;  // 00010111
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[3] -= value; sum[6] -= value; sum[12] -= value;  // 00011011
    value = (sum_t)own[3 * N_UP]; sum[2] -= value; sum[4] -= value; sum[7] -= value; sum[22] -= value;  // 00011101
    value = (sum_t)own[4 * N_UP]; sum[0] += value; sum[3] -= value; sum[8] -= value; sum[14] += value;  // 00011110
    value = (sum_t)own[5 * N_UP]; sum[1] -= value; sum[6] -= value; sum[11] -= value; sum[15] -= value;  // 00100111
    value = (sum_t)own[6 * N_UP]; sum[2] -= value; sum[5] -= value; sum[7] -= value; sum[13] -= value;
    sum[16] -= value;  // 00101011
    value = (sum_t)own[7 * N_UP]; sum[0] -= value; sum[3] -= value; sum[6] -= value; sum[8] -= value;
    sum[14] -= value; sum[17] -= value;  // 00101101
    value = (sum_t)own[8 * N_UP]; sum[4] -= value; sum[7] -= value; sum[18] -= value;  // 00101110
    value = (sum_t)own[9 * N_UP]; sum[10] -= value; sum[19] -= value;  // 00110011
    value = (sum_t)own[10 * N_UP]; sum[1] -= value; sum[9] -= value; sum[11] -= value; sum[12] -= value;
    sum[20] -= value;  // 00110101
    value = (sum_t)own[11 * N_UP]; sum[5] -= value; sum[10] -= value; sum[13] -= value; sum[21] -= value;  // 00110110
    value = (sum_t)own[12 * N_UP]; sum[2] -= value; sum[10] -= value; sum[13] -= value; sum[22] -= value;  // 00111001
    value = (sum_t)own[13 * N_UP]; sum[6] -= value; sum[11] -= value; sum[12] -= value; sum[14] -= value;  // 00111010
    value = (sum_t)own[14 * N_UP]; sum[4] += value; sum[7] -= value; sum[13] -= value;  // 00111100
    value = (sum_t)own[15 * N_UP]; sum[5] -= value; sum[16] -= value; sum[21] -= value;  // 01000111
    value = (sum_t)own[16 * N_UP]; sum[0] += value; sum[6] -= value; sum[15] -= value; sum[17] -= value;  // 01001011
    value = (sum_t)own[17 * N_UP]; sum[7] -= value; sum[16] -= value; sum[18] -= value;  // 01001101
    value = (sum_t)own[18 * N_UP]; sum[8] -= value; sum[17] -= value;  // 01001110
    value = (sum_t)own[19 * N_UP]; sum[1] += value; sum[9] -= value; sum[20] -= value;  // 01010011
    value = (sum_t)own[20 * N_UP]; sum[10] -= value; sum[19] -= value; sum[21] -= value; sum[22] -= value;  // 01010101
    value = (sum_t)own[21 * N_UP]; sum[11] -= value; sum[15] -= value; sum[20] -= value;  // 01010110
    value = (sum_t)own[22 * N_UP]; sum[3] -= value; sum[12] -= value; sum[20] -= value;  // 01011001
    value = (sum_t)own[23 * N_UP]; sum[4] -= value; sum[13] -= value; sum[16] -= value; sum[21] -= value;
    sum[22] -= value;  // 01011010
    value = (sum_t)own[24 * N_UP]; sum[14] -= value; sum[17] -= value;  // 01011100
    value = (sum_t)own[25 * N_UP]; sum[5] += value; sum[19] -= value;  // 01100011
    value = (sum_t)own[26 * N_UP]; sum[15] += value; sum[20] -= value;  // 01100101
    value = (sum_t)own[27 * N_UP]; sum[21] -= value;  // 01100110
    value = (sum_t)own[28 * N_UP]; sum[7] -= value; sum[16] += value; sum[22] -= value;  // 01101001
    value = (sum_t)own[29 * N_UP]; sum[8] -= value;  // 01101010
    value = (sum_t)own[30 * N_UP]; sum[18] -= value;  // 01101100
    value = (sum_t)own[31 * N_UP]; sum[10] -= value; sum[19] += value;  // 01110001
    value = (sum_t)own[32 * N_UP]; sum[11] -= value;  // 01110010
    value = (sum_t)own[33 * N_UP]; sum[21] -= value;  // 01110100
    value = (sum_t)own[34 * N_UP]; sum[14] += value;  // 01111000
    value = (sum_t)own[35 * N_UP]; sum[0] -= value; sum[15] -= value;  // 10000111
    value = (sum_t)own[36 * N_UP]; sum[16] -= value;  // 10001011
    value = (sum_t)own[37 * N_UP]; sum[17] -= value;  // 10001101
    value = (sum_t)own[38 * N_UP]; sum[18] -= value;  // 10001110
    value = (sum_t)own[39 * N_UP]; sum[2] += value; sum[19] -= value;  // 10010011
    value = (sum_t)own[40 * N_UP]; sum[3] += value; sum[20] -= value;  // 10010101
    value = (sum_t)own[41 * N_UP]; sum[4] += value; sum[21] -= value;  // 10010110
    value = (sum_t)own[42 * N_UP]; sum[22] -= value;  // 10011001
    value = (sum_t)own[45 * N_UP]; sum[6] += value;  // 10100011
    value = (sum_t)own[46 * N_UP]; sum[7] += value;  // 10100101
    value = (sum_t)own[47 * N_UP]; sum[8] += value;  // 10100110
    value = (sum_t)own[51 * N_UP]; sum[12] -= value;  // 10110001
    value = (sum_t)own[52 * N_UP]; sum[13] -= value;  // 10110010
    value = (sum_t)own[53 * N_UP]; sum[14] -= value;  // 10110100
    value = (sum_t)own[55 * N_UP]; sum[16] += value;  // 11000011
    value = (sum_t)own[56 * N_UP]; sum[17] += value;  // 11000101
    value = (sum_t)own[57 * N_UP]; sum[18] += value;  // 11000110
    value = (sum_t)own[61 * N_UP]; sum[22] -= value;  // 11010001
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 23; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[0]; sum[5] -= c * (sum_t)from[2 * N_UP];
            sum[6] -= c * (sum_t)from[3 * N_UP]; sum[7] -= c * (sum_t)from[4 * N_UP];
            sum[8] -= c * (sum_t)from[5 * N_UP]; sum[15] -= c * (sum_t)from[7 * N_UP];
            sum[16] -= c * (sum_t)from[8 * N_UP]; sum[17] -= c * (sum_t)from[9 * N_UP];
            sum[18] -= c * (sum_t)from[10 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[1] += c * (sum_t)from[0]; sum[2] += c * (sum_t)from[N_UP]; sum[3] += c * (sum_t)from[2 * N_UP];
            sum[4] += c * (sum_t)from[3 * N_UP]; sum[9] -= c * (sum_t)from[10 * N_UP];
            sum[10] -= c * (sum_t)from[11 * N_UP]; sum[11] -= c * (sum_t)from[12 * N_UP];
            sum[12] -= c * (sum_t)from[13 * N_UP]; sum[13] -= c * (sum_t)from[14 * N_UP];
            sum[14] -= c * (sum_t)from[15 * N_UP]; sum[19] -= c * (sum_t)from[20 * N_UP];
            sum[20] -= c * (sum_t)from[21 * N_UP]; sum[21] -= c * (sum_t)from[22 * N_UP];
            sum[22] -= c * (sum_t)from[23 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[N_UP]; sum[1] += c * (sum_t)from[2 * N_UP];
            sum[2] += c * (sum_t)from[3 * N_UP]; sum[3] += c * (sum_t)from[4 * N_UP];
            sum[4] += c * (sum_t)from[5 * N_UP]; sum[15] -= c * (sum_t)from[11 * N_UP];
            sum[16] -= c * (sum_t)from[12 * N_UP]; sum[17] -= c * (sum_t)from[13 * N_UP];
            sum[18] -= c * (sum_t)from[14 * N_UP]; sum[19] -= c * (sum_t)from[15 * N_UP];
            sum[20] -= c * (sum_t)from[16 * N_UP]; sum[21] -= c * (sum_t)from[17 * N_UP];
            sum[22] -= c * (sum_t)from[18 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[5] += c * (sum_t)from[0]; sum[6] += c * (sum_t)from[N_UP]; sum[7] += c * (sum_t)from[2 * N_UP];
            sum[8] += c * (sum_t)from[3 * N_UP]; sum[9] += c * (sum_t)from[4 * N_UP];
            sum[10] += c * (sum_t)from[5 * N_UP]; sum[11] += c * (sum_t)from[6 * N_UP];
            sum[12] += c * (sum_t)from[7 * N_UP]; sum[13] += c * (sum_t)from[8 * N_UP];
            sum[14] += c * (sum_t)from[9 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[6 * N_UP]; sum[1] += c * (sum_t)from[7 * N_UP];
            sum[2] += c * (sum_t)from[8 * N_UP]; sum[3] += c * (sum_t)from[9 * N_UP];
            sum[4] += c * (sum_t)from[10 * N_UP]; sum[5] += c * (sum_t)from[11 * N_UP];
            sum[6] += c * (sum_t)from[12 * N_UP]; sum[7] += c * (sum_t)from[13 * N_UP];
            sum[8] += c * (sum_t)from[14 * N_UP]; sum[9] += c * (sum_t)from[15 * N_UP];
            sum[10] += c * (sum_t)from[16 * N_UP]; sum[11] += c * (sum_t)from[17 * N_UP];
            sum[12] += c * (sum_t)from[18 * N_UP]; sum[13] += c * (sum_t)from[19 * N_UP];
            sum[14] += c * (sum_t)from[20 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[15] += c * (sum_t)from[0]; sum[16] += c * (sum_t)from[N_UP];
            sum[17] += c * (sum_t)from[2 * N_UP]; sum[18] += c * (sum_t)from[3 * N_UP];
            sum[19] += c * (sum_t)from[4 * N_UP]; sum[20] += c * (sum_t)from[5 * N_UP];
            sum[21] += c * (sum_t)from[6 * N_UP]; sum[22] += c * (sum_t)from[7 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[21 * N_UP]; sum[1] += c * (sum_t)from[22 * N_UP];
            sum[2] += c * (sum_t)from[23 * N_UP]; sum[3] += c * (sum_t)from[24 * N_UP];
            sum[4] += c * (sum_t)from[25 * N_UP]; sum[5] += c * (sum_t)from[26 * N_UP];
            sum[6] += c * (sum_t)from[27 * N_UP]; sum[7] += c * (sum_t)from[28 * N_UP];
            sum[8] += c * (sum_t)from[29 * N_UP]; sum[9] += c * (sum_t)from[30 * N_UP];
            sum[10] += c * (sum_t)from[31 * N_UP]; sum[11] += c * (sum_t)from[32 * N_UP];
            sum[12] += c * (sum_t)from[33 * N_UP]; sum[13] += c * (sum_t)from[34 * N_UP];
            sum[14] += c * (sum_t)from[35 * N_UP]; sum[15] += c * (sum_t)from[36 * N_UP];
            sum[16] += c * (sum_t)from[37 * N_UP]; sum[17] += c * (sum_t)from[38 * N_UP];
            sum[18] += c * (sum_t)from[39 * N_UP]; sum[19] += c * (sum_t)from[40 * N_UP];
            sum[20] += c * (sum_t)from[41 * N_UP]; sum[21] += c * (sum_t)from[42 * N_UP];
            sum[22] += c * (sum_t)from[43 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 23; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 4 low electrons, columns 23 .. 45 of 70
__device__ __forceinline__ double run_4_23(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 23) * N_UP + up;
    sum_t sum[23];
#pragma unroll
    for (int l = 0; l < 23; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[12] -= value;  // 00001111
    value = (sum_t)own[2 * N_UP]; sum[16] += value;  // 00011011
    value = (sum_t)own[3 * N_UP]; sum[17] += value;  // 00011101
    value = (sum_t)own[4 * N_UP]; sum[0] -= value; sum[18] += value;  // 00011110
    value = (sum_t)own[5 * N_UP]; sum[2] += value;  // 00100111
    value = (sum_t)own[6 * N_UP]; sum[22] += value;  // 00101011
    value = (sum_t)own[7 * N_UP]; sum[5] -= value;  // 00101101
    value = (sum_t)own[8 * N_UP]; sum[6] -= value;  // 00101110
    value = (sum_t)own[10 * N_UP]; sum[8] -= value;  // 00110101
    value = (sum_t)own[11 * N_UP]; sum[9] -= value;  // 00110110
    value = (sum_t)own[13 * N_UP]; sum[0] -= value;  // 00111010
    value = (sum_t)own[14 * N_UP]; sum[1] -= value; sum[11] += value;  // 00111100
    value = (sum_t)own[15 * N_UP]; sum[3] += value; sum[12] -= value;  // 01000111
    value = (sum_t)own[16 * N_UP]; sum[0] -= value; sum[5] += value; sum[13] -= value;  // 01001011
    value = (sum_t)own[17 * N_UP]; sum[1] -= value; sum[14] -= value;  // 01001101
    value = (sum_t)own[18 * N_UP]; sum[7] -= value; sum[15] -= value;  // 01001110
    value = (sum_t)own[19 * N_UP]; sum[2] -= value; sum[8] += value; sum[16] -= value;  // 01010011
    value = (sum_t)own[20 * N_UP]; sum[3] -= value; sum[17] -= value;  // 01010101
    value = (sum_t)own[21 * N_UP]; sum[0] -= value; sum[4] -= value; sum[10] -= value; sum[18] -= value;  // 01010110
    value = (sum_t)own[22 * N_UP]; sum[0] -= value; sum[5] -= value; sum[19] -= value;  // 01011001
    value = (sum_t)own[23 * N_UP]; sum[1] -= value; sum[6] -= value; sum[11] -= value; sum[20] -= value;  // 01011010
    value = (sum_t)own[24 * N_UP]; sum[0] -= value; sum[7] -= value; sum[21] -= value;  // 01011100
    value = (sum_t)own[25 * N_UP]; sum[3] -= value; sum[9] += value; sum[22] -= value;  // 01100011
    value = (sum_t)own[26 * N_UP]; sum[2] -= value; sum[4] -= value; sum[5] -= value; sum[10] += value;  // 01100101
    value = (sum_t)own[27 * N_UP]; sum[3] -= value; sum[6] -= value;  // 01100110
    value = (sum_t)own[28 * N_UP]; sum[3] -= value; sum[6] -= value; sum[11] += value;  // 01101001
    value = (sum_t)own[29 * N_UP]; sum[0] -= value; sum[4] -= value; sum[5] -= value; sum[7] -= value;  // 01101010
    value = (sum_t)own[30 * N_UP]; sum[1] -= value; sum[6] -= value;  // 01101100
    value = (sum_t)own[31 * N_UP]; sum[9] -= value;  // 01110001
    value = (sum_t)own[32 * N_UP]; sum[2] += value; sum[8] -= value; sum[10] -= value;  // 01110010
    value = (sum_t)own[33 * N_UP]; sum[3] += value; sum[9] -= value; sum[11] -= value;  // 01110100
    value = (sum_t)own[34 * N_UP]; sum[0] -= value; sum[5] += value; sum[10] -= value;  // 01111000
    value = (sum_t)own[35 * N_UP]; sum[13] -= value; sum[18] -= value;  // 10000111
    value = (sum_t)own[36 * N_UP]; sum[12] -= value; sum[14] -= value; sum[20] -= value;  // 10001011
    value = (sum_t)own[37 * N_UP]; sum[13] -= value; sum[15] -= value; sum[21] -= value;  // 10001101
    value = (sum_t)own[38 * N_UP]; sum[14] -= value;  // 10001110
    value = (sum_t)own[39 * N_UP]; sum[17] -= value; sum[22] -= value;  // 10010011
    value = (sum_t)own[40 * N_UP]; sum[16] -= value; sum[18] -= value; sum[19] -= value;  // 10010101
    value = (sum_t)own[41 * N_UP]; sum[12] -= value; sum[17] -= value; sum[20] -= value;  // 10010110
    value = (sum_t)own[42 * N_UP]; sum[17] -= value; sum[20] -= value;  // 10011001
    value = (sum_t)own[43 * N_UP]; sum[0] -= value; sum[13] -= value; sum[18] -= value; sum[19] -= value;
    sum[21] -= value;  // 10011010
    value = (sum_t)own[44 * N_UP]; sum[1] -= value; sum[14] -= value; sum[20] -= value;  // 10011100
    value = (sum_t)own[45 * N_UP]; sum[2] -= value; sum[16] -= value;  // 10100011
    value = (sum_t)own[46 * N_UP]; sum[3] -= value; sum[12] += value; sum[17] -= value; sum[22] -= value;  // 10100101
    value = (sum_t)own[47 * N_UP]; sum[4] -= value; sum[18] -= value;  // 10100110
    value = (sum_t)own[48 * N_UP]; sum[5] -= value; sum[13] += value; sum[19] -= value;  // 10101001
    value = (sum_t)own[49 * N_UP]; sum[6] -= value; sum[20] -= value;  // 10101010
    value = (sum_t)own[50 * N_UP]; sum[7] -= value; sum[15] -= value; sum[21] -= value;  // 10101100
    value = (sum_t)own[51 * N_UP]; sum[8] -= value; sum[16] += value;  // 10110001
    value = (sum_t)own[52 * N_UP]; sum[9] -= value; sum[22] += value;  // 10110010
    value = (sum_t)own[53 * N_UP]; sum[10] -= value; sum[18] -= value;  // 10110100
    value = (sum_t)own[54 * N_UP]; sum[11] -= value; sum[20] -= value;  // 10111000
    value = (sum_t)own[55 * N_UP]; sum[12] -= value; sum[22] -= value;  // 11000011
    value = (sum_t)own[58 * N_UP]; sum[14] += value;  // 11001001
    value = (sum_t)own[59 * N_UP]; sum[15] += value;  // 11001010
    value = (sum_t)own[61 * N_UP]; sum[17] += value;  // 11010001
    value = (sum_t)own[62 * N_UP]; sum[0] -= value; sum[18] += value;  // 11010010
    value = (sum_t)own[63 * N_UP]; sum[1] -= value;  // 11010100
    value = (sum_t)own[64 * N_UP]; sum[21] -= value;  // 11011000
    value = (sum_t)own[65 * N_UP]; sum[5] -= value;  // 11100001
    value = (sum_t)own[66 * N_UP]; sum[6] -= value;  // 11100010
    value = (sum_t)own[67 * N_UP]; sum[7] -= value;  // 11100100
    value = (sum_t)own[69 * N_UP]; sum[11] += value;  // 11110000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 23; ++l) sum[l] += c * (sum_t)from[(l + 23) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[2] += c * (sum_t)from[15 * N_UP]; sum[3] += c * (sum_t)from[16 * N_UP];
            sum[4] += c * (sum_t)from[17 * N_UP]; sum[5] += c * (sum_t)from[18 * N_UP];
            sum[6] += c * (sum_t)from[19 * N_UP]; sum[7] += c * (sum_t)from[20 * N_UP];
            sum[12] -= c * (sum_t)from[22 * N_UP]; sum[13] -= c * (sum_t)from[23 * N_UP];
            sum[14] -= c * (sum_t)from[24 * N_UP]; sum[15] -= c * (sum_t)from[25 * N_UP];
            sum[22] += c * (sum_t)from[30 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] -= c * (sum_t)from[24 * N_UP]; sum[1] -= c * (sum_t)from[25 * N_UP];
            sum[8] += c * (sum_t)from[30 * N_UP]; sum[9] += c * (sum_t)from[31 * N_UP];
            sum[10] += c * (sum_t)from[32 * N_UP]; sum[11] += c * (sum_t)from[33 * N_UP];
            sum[16] -= c * (sum_t)from[35 * N_UP]; sum[17] -= c * (sum_t)from[36 * N_UP];
            sum[18] -= c * (sum_t)from[37 * N_UP]; sum[19] -= c * (sum_t)from[38 * N_UP];
            sum[20] -= c * (sum_t)from[39 * N_UP]; sum[21] -= c * (sum_t)from[40 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] -= c * (sum_t)from[19 * N_UP]; sum[1] -= c * (sum_t)from[20 * N_UP];
            sum[12] -= c * (sum_t)from[26 * N_UP]; sum[13] -= c * (sum_t)from[27 * N_UP];
            sum[14] -= c * (sum_t)from[28 * N_UP]; sum[15] -= c * (sum_t)from[29 * N_UP];
            sum[16] -= c * (sum_t)from[30 * N_UP]; sum[17] -= c * (sum_t)from[31 * N_UP];
            sum[18] -= c * (sum_t)from[32 * N_UP]; sum[19] -= c * (sum_t)from[33 * N_UP];
            sum[20] -= c * (sum_t)from[34 * N_UP]; sum[21] -= c * (sum_t)from[35 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[2] -= c * (sum_t)from[20 * N_UP]; sum[3] -= c * (sum_t)from[21 * N_UP];
            sum[4] -= c * (sum_t)from[22 * N_UP]; sum[5] -= c * (sum_t)from[23 * N_UP];
            sum[6] -= c * (sum_t)from[24 * N_UP]; sum[7] -= c * (sum_t)from[25 * N_UP];
            sum[8] -= c * (sum_t)from[26 * N_UP]; sum[9] -= c * (sum_t)from[27 * N_UP];
            sum[10] -= c * (sum_t)from[28 * N_UP]; sum[11] -= c * (sum_t)from[29 * N_UP];
            sum[22] -= c * (sum_t)from[35 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[12] -= c * (sum_t)from[36 * N_UP]; sum[13] -= c * (sum_t)from[37 * N_UP];
            sum[14] -= c * (sum_t)from[38 * N_UP]; sum[15] -= c * (sum_t)from[39 * N_UP];
            sum[16] -= c * (sum_t)from[40 * N_UP]; sum[17] -= c * (sum_t)from[41 * N_UP];
            sum[18] -= c * (sum_t)from[42 * N_UP]; sum[19] -= c * (sum_t)from[43 * N_UP];
            sum[20] -= c * (sum_t)from[44 * N_UP]; sum[21] -= c * (sum_t)from[45 * N_UP];
            sum[22] -= c * (sum_t)from[46 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[0] += c * (sum_t)from[8 * N_UP]; sum[1] += c * (sum_t)from[9 * N_UP];
            sum[2] += c * (sum_t)from[10 * N_UP]; sum[3] += c * (sum_t)from[11 * N_UP];
            sum[4] += c * (sum_t)from[12 * N_UP]; sum[5] += c * (sum_t)from[13 * N_UP];
            sum[6] += c * (sum_t)from[14 * N_UP]; sum[7] += c * (sum_t)from[15 * N_UP];
            sum[8] += c * (sum_t)from[16 * N_UP]; sum[9] += c * (sum_t)from[17 * N_UP];
            sum[10] += c * (sum_t)from[18 * N_UP]; sum[11] += c * (sum_t)from[19 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[44 * N_UP]; sum[1] += c * (sum_t)from[45 * N_UP];
            sum[2] += c * (sum_t)from[46 * N_UP]; sum[3] += c * (sum_t)from[47 * N_UP];
            sum[4] += c * (sum_t)from[48 * N_UP]; sum[5] += c * (sum_t)from[49 * N_UP];
            sum[6] += c * (sum_t)from[50 * N_UP]; sum[7] += c * (sum_t)from[51 * N_UP];
            sum[8] += c * (sum_t)from[52 * N_UP]; sum[9] += c * (sum_t)from[53 * N_UP];
            sum[10] += c * (sum_t)from[54 * N_UP]; sum[11] += c * (sum_t)from[55 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[12] += c * (sum_t)from[0]; sum[13] += c * (sum_t)from[N_UP];
            sum[14] += c * (sum_t)from[2 * N_UP]; sum[15] += c * (sum_t)from[3 * N_UP];
            sum[16] += c * (sum_t)from[4 * N_UP]; sum[17] += c * (sum_t)from[5 * N_UP];
            sum[18] += c * (sum_t)from[6 * N_UP]; sum[19] += c * (sum_t)from[7 * N_UP];
            sum[20] += c * (sum_t)from[8 * N_UP]; sum[21] += c * (sum_t)from[9 * N_UP];
            sum[22] += c * (sum_t)from[10 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 23; ++l) {
        x_dot_y += load_again(own + (l + 23) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 4 low electrons, columns 46 .. 69 of 70
__device__ __forceinline__ double run_4_46(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 46) * N_UP + up;
    sum_t sum[24];
#pragma unroll
    for (int l = 0; l < 24; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[7 * N_UP]; sum[0] += value;  // 00101101
    value = (sum_t)own[8 * N_UP]; sum[1] += value;  // 00101110
    value = (sum_t)own[12 * N_UP]; sum[5] -= value;  // 00111001
    value = (sum_t)own[13 * N_UP]; sum[6] -= value;  // 00111010
    value = (sum_t)own[14 * N_UP]; sum[7] -= value;  // 00111100
    value = (sum_t)own[16 * N_UP]; sum[9] += value;  // 01001011
    value = (sum_t)own[17 * N_UP]; sum[10] += value;  // 01001101
    value = (sum_t)own[18 * N_UP]; sum[11] += value;  // 01001110
    value = (sum_t)own[22 * N_UP]; sum[15] -= value;  // 01011001
    value = (sum_t)own[23 * N_UP]; sum[16] -= value;  // 01011010
    value = (sum_t)own[24 * N_UP]; sum[17] -= value;  // 01011100
    value = (sum_t)own[26 * N_UP]; sum[0] -= value;  // 01100101
    value = (sum_t)own[27 * N_UP]; sum[1] -= value;  // 01100110
    value = (sum_t)own[28 * N_UP]; sum[2] -= value; sum[19] -= value;  // 01101001
    value = (sum_t)own[29 * N_UP]; sum[3] -= value; sum[20] -= value;  // 01101010
    value = (sum_t)own[30 * N_UP]; sum[4] -= value; sum[21] -= value;  // 01101100
    value = (sum_t)own[31 * N_UP]; sum[5] -= value;  // 01110001
    value = (sum_t)own[32 * N_UP]; sum[6] -= value;  // 01110010
    value = (sum_t)own[33 * N_UP]; sum[7] -= value;  // 01110100
    value = (sum_t)own[34 * N_UP]; sum[8] -= value; sum[23] += value;  // 01111000
    value = (sum_t)own[35 * N_UP]; sum[0] += value; sum[9] -= value;  // 10000111
    value = (sum_t)own[36 * N_UP]; sum[2] += value;  // 10001011
    value = (sum_t)own[37 * N_UP]; sum[12] += value;  // 10001101
    value = (sum_t)own[38 * N_UP]; sum[4] -= value; sum[13] += value;  // 10001110
    value = (sum_t)own[39 * N_UP]; sum[5] += value;  // 10010011
    value = (sum_t)own[40 * N_UP]; sum[0] -= value; sum[15] += value;  // 10010101
    value = (sum_t)own[41 * N_UP]; sum[1] -= value; sum[7] -= value; sum[16] += value;  // 10010110
    value = (sum_t)own[42 * N_UP]; sum[2] -= value;  // 10011001
    value = (sum_t)own[43 * N_UP]; sum[3] -= value; sum[8] -= value;  // 10011010
    value = (sum_t)own[44 * N_UP]; sum[4] -= value; sum[18] -= value;  // 10011100
    value = (sum_t)own[45 * N_UP]; sum[0] -= value; sum[6] += value; sum[9] -= value;  // 10100011
    value = (sum_t)own[46 * N_UP]; sum[1] -= value; sum[2] -= value; sum[7] += value; sum[10] -= value;
    sum[19] += value;  // 10100101
    value = (sum_t)own[47 * N_UP]; sum[0] -= value; sum[3] -= value; sum[11] -= value; sum[20] += value;  // 10100110
    value = (sum_t)own[48 * N_UP]; sum[0] -= value; sum[3] -= value; sum[8] += value; sum[12] -= value;  // 10101001
    value = (sum_t)own[49 * N_UP]; sum[1] -= value; sum[2] -= value; sum[4] -= value; sum[13] -= value;  // 10101010
    value = (sum_t)own[50 * N_UP]; sum[3] -= value; sum[14] -= value; sum[22] -= value;  // 10101100
    value = (sum_t)own[51 * N_UP]; sum[6] -= value; sum[15] -= value;  // 10110001
    value = (sum_t)own[52 * N_UP]; sum[5] -= value; sum[7] -= value; sum[16] -= value;  // 10110010
    value = (sum_t)own[53 * N_UP]; sum[0] += value; sum[6] -= value; sum[8] -= value; sum[17] -= value;
    sum[23] -= value;  // 10110100
    value = (sum_t)own[54 * N_UP]; sum[2] += value; sum[7] -= value; sum[18] -= value;  // 10111000
    value = (sum_t)own[55 * N_UP]; sum[10] -= value; sum[16] += value; sum[19] -= value;  // 11000011
    value = (sum_t)own[56 * N_UP]; sum[0] -= value; sum[9] -= value; sum[11] -= value; sum[12] -= value;
    sum[17] += value;  // 11000101
    value = (sum_t)own[57 * N_UP]; sum[1] -= value; sum[10] -= value; sum[13] -= value; sum[21] += value;  // 11000110
    value = (sum_t)own[58 * N_UP]; sum[2] -= value; sum[10] -= value; sum[13] -= value; sum[18] += value;  // 11001001
    value = (sum_t)own[59 * N_UP]; sum[3] -= value; sum[11] -= value; sum[12] -= value; sum[14] -= value;
    sum[22] += value;  // 11001010
    value = (sum_t)own[60 * N_UP]; sum[4] -= value; sum[13] -= value;  // 11001100
    value = (sum_t)own[61 * N_UP]; sum[5] -= value; sum[16] -= value; sum[19] -= value;  // 11010001
    value = (sum_t)own[62 * N_UP]; sum[6] -= value; sum[9] += value; sum[15] -= value; sum[17] -= value;
    sum[20] -= value; sum[23] += value;  // 11010010
    value = (sum_t)own[63 * N_UP]; sum[7] -= value; sum[10] += value; sum[16] -= value; sum[18] -= value;
    sum[21] -= value;  // 11010100
    value = (sum_t)own[64 * N_UP]; sum[8] -= value; sum[12] += value; sum[17] -= value; sum[22] -= value;  // 11011000
    value = (sum_t)own[65 * N_UP]; sum[0] += value; sum[9] -= value; sum[15] -= value; sum[20] -= value;
    sum[23] -= value;  // 11100001
    value = (sum_t)own[66 * N_UP]; sum[1] += value; sum[16] -= value; sum[19] -= value; sum[21] -= value;  // 11100010
    value = (sum_t)own[67 * N_UP]; sum[11] += value; sum[17] -= value; sum[20] -= value; sum[22] -= value;  // 11100100
    value = (sum_t)own[68 * N_UP]; sum[4] -= value; sum[13] += value; sum[18] -= value; sum[21] -= value;  // 11101000
    value = (sum_t)own[69 * N_UP]; sum[7] -= value; sum[16] += value; sum[19] -= value;  // 11110000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 24; ++l) sum[l] += c * (sum_t)from[(l + 46) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[31 * N_UP]; sum[1] += c * (sum_t)from[32 * N_UP];
            sum[2] += c * (sum_t)from[33 * N_UP]; sum[3] += c * (sum_t)from[34 * N_UP];
            sum[4] += c * (sum_t)from[35 * N_UP]; sum[9] += c * (sum_t)from[40 * N_UP];
            sum[10] += c * (sum_t)from[41 * N_UP]; sum[11] += c * (sum_t)from[42 * N_UP];
            sum[12] += c * (sum_t)from[43 * N_UP]; sum[13] += c * (sum_t)from[44 * N_UP];
            sum[14] += c * (sum_t)from[45 * N_UP]; sum[19] -= c * (sum_t)from[52 * N_UP];
            sum[20] -= c * (sum_t)from[53 * N_UP]; sum[21] -= c * (sum_t)from[54 * N_UP];
            sum[22] -= c * (sum_t)from[55 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[5] += c * (sum_t)from[45 * N_UP]; sum[6] += c * (sum_t)from[46 * N_UP];
            sum[7] += c * (sum_t)from[47 * N_UP]; sum[8] += c * (sum_t)from[48 * N_UP];
            sum[15] += c * (sum_t)from[50 * N_UP]; sum[16] += c * (sum_t)from[51 * N_UP];
            sum[17] += c * (sum_t)from[52 * N_UP]; sum[18] += c * (sum_t)from[53 * N_UP];
            sum[23] -= c * (sum_t)from[55 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[9] += c * (sum_t)from[46 * N_UP]; sum[10] += c * (sum_t)from[47 * N_UP];
            sum[11] += c * (sum_t)from[48 * N_UP]; sum[12] += c * (sum_t)from[49 * N_UP];
            sum[13] += c * (sum_t)from[50 * N_UP]; sum[14] += c * (sum_t)from[51 * N_UP];
            sum[15] += c * (sum_t)from[52 * N_UP]; sum[16] += c * (sum_t)from[53 * N_UP];
            sum[17] += c * (sum_t)from[54 * N_UP]; sum[18] += c * (sum_t)from[55 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] -= c * (sum_t)from[36 * N_UP]; sum[1] -= c * (sum_t)from[37 * N_UP];
            sum[2] -= c * (sum_t)from[38 * N_UP]; sum[3] -= c * (sum_t)from[39 * N_UP];
            sum[4] -= c * (sum_t)from[40 * N_UP]; sum[5] -= c * (sum_t)from[41 * N_UP];
            sum[6] -= c * (sum_t)from[42 * N_UP]; sum[7] -= c * (sum_t)from[43 * N_UP];
            sum[8] -= c * (sum_t)from[44 * N_UP]; sum[19] += c * (sum_t)from[50 * N_UP];
            sum[20] += c * (sum_t)from[51 * N_UP]; sum[21] += c * (sum_t)from[52 * N_UP];
            sum[22] += c * (sum_t)from[53 * N_UP]; sum[23] += c * (sum_t)from[54 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] -= c * (sum_t)from[47 * N_UP]; sum[1] -= c * (sum_t)from[48 * N_UP];
            sum[2] -= c * (sum_t)from[49 * N_UP]; sum[3] -= c * (sum_t)from[50 * N_UP];
            sum[4] -= c * (sum_t)from[51 * N_UP]; sum[5] -= c * (sum_t)from[52 * N_UP];
            sum[6] -= c * (sum_t)from[53 * N_UP]; sum[7] -= c * (sum_t)from[54 * N_UP];
            sum[8] -= c * (sum_t)from[55 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[9] -= c * (sum_t)from[35 * N_UP]; sum[10] -= c * (sum_t)from[36 * N_UP];
            sum[11] -= c * (sum_t)from[37 * N_UP]; sum[12] -= c * (sum_t)from[38 * N_UP];
            sum[13] -= c * (sum_t)from[39 * N_UP]; sum[14] -= c * (sum_t)from[40 * N_UP];
            sum[15] -= c * (sum_t)from[41 * N_UP]; sum[16] -= c * (sum_t)from[42 * N_UP];
            sum[17] -= c * (sum_t)from[43 * N_UP]; sum[18] -= c * (sum_t)from[44 * N_UP];
            sum[19] -= c * (sum_t)from[45 * N_UP]; sum[20] -= c * (sum_t)from[46 * N_UP];
            sum[21] -= c * (sum_t)from[47 * N_UP]; sum[22] -= c * (sum_t)from[48 * N_UP];
            sum[23] -= c * (sum_t)from[49 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[0] += c * (sum_t)from[11 * N_UP]; sum[1] += c * (sum_t)from[12 * N_UP];
            sum[2] += c * (sum_t)from[13 * N_UP]; sum[3] += c * (sum_t)from[14 * N_UP];
            sum[4] += c * (sum_t)from[15 * N_UP]; sum[5] += c * (sum_t)from[16 * N_UP];
            sum[6] += c * (sum_t)from[17 * N_UP]; sum[7] += c * (sum_t)from[18 * N_UP];
            sum[8] += c * (sum_t)from[19 * N_UP]; sum[9] += c * (sum_t)from[20 * N_UP];
            sum[10] += c * (sum_t)from[21 * N_UP]; sum[11] += c * (sum_t)from[22 * N_UP];
            sum[12] += c * (sum_t)from[23 * N_UP]; sum[13] += c * (sum_t)from[24 * N_UP];
            sum[14] += c * (sum_t)from[25 * N_UP]; sum[15] += c * (sum_t)from[26 * N_UP];
            sum[16] += c * (sum_t)from[27 * N_UP]; sum[17] += c * (sum_t)from[28 * N_UP];
            sum[18] += c * (sum_t)from[29 * N_UP]; sum[19] += c * (sum_t)from[30 * N_UP];
            sum[20] += c * (sum_t)from[31 * N_UP]; sum[21] += c * (sum_t)from[32 * N_UP];
            sum[22] += c * (sum_t)from[33 * N_UP]; sum[23] += c * (sum_t)from[34 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 24; ++l) {
        x_dot_y += load_again(own + (l + 46) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 5 low electrons, columns 0 .. 17 of 56
__device__ __forceinline__ double run_5_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[18];
#pragma unroll
    for (int l = 0; l < 18; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[4] += value; sum[8] -= value;  // 00011111
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[5] += value; sum[6] -= value; sum[12] -= value;  // 00101111
    value = (sum_t)own[2 * N_UP]; sum[3] -= value; sum[7] -= value; sum[15] -= value;  // 00110111
    value = (sum_t)own[3 * N_UP]; sum[2] -= value; sum[4] -= value; sum[8] -= value;  // 00111011
    value = (sum_t)own[4 * N_UP]; sum[0] += value; sum[3] -= value; sum[5] -= value; sum[9] -= value;  // 00111101
    value = (sum_t)own[5 * N_UP]; sum[1] += value; sum[4] -= value; sum[10] -= value;  // 00111110
    value = (sum_t)own[6 * N_UP]; sum[1] -= value; sum[10] += value; sum[13] -= value;  // 01001111
    value = (sum_t)own[7 * N_UP]; sum[2] -= value; sum[8] -= value; sum[11] -= value; sum[16] -= value;  // 01010111
    value = (sum_t)own[8 * N_UP]; sum[0] -= value; sum[3] -= value; sum[7] -= value; sum[9] -= value;
    sum[12] -= value;  // 01011011
    value = (sum_t)own[9 * N_UP]; sum[4] -= value; sum[8] -= value; sum[10] -= value; sum[13] -= value;  // 01011101
    value = (sum_t)own[10 * N_UP]; sum[5] -= value; sum[6] += value; sum[9] -= value; sum[14] -= value;  // 01011110
    value = (sum_t)own[11 * N_UP]; sum[7] -= value; sum[12] -= value; sum[17] -= value;  // 01100111
    value = (sum_t)own[12 * N_UP]; sum[1] -= value; sum[8] -= value; sum[11] -= value; sum[13] -= value;  // 01101011
    value = (sum_t)own[13 * N_UP]; sum[6] -= value; sum[9] -= value; sum[12] -= value; sum[14] -= value;  // 01101101
    value = (sum_t)own[14 * N_UP]; sum[10] -= value; sum[13] -= value;  // 01101110
    value = (sum_t)own[15 * N_UP]; sum[2] -= value; sum[16] -= value;  // 01110011
    value = (sum_t)own[16 * N_UP]; sum[7] -= value; sum[15] -= value; sum[17] -= value;  // 01110101
    value = (sum_t)own[17 * N_UP]; sum[11] -= value; sum[16] -= value;  // 01110110
    value = (sum_t)own[18 * N_UP]; sum[4] += value; sum[8] -= value; sum[16] -= value;  // 01111001
    value = (sum_t)own[19 * N_UP]; sum[5] += value; sum[12] -= value; sum[17] -= value;  // 01111010
    value = (sum_t)own[20 * N_UP]; sum[10] += value; sum[13] -= value;  // 01111100
    value = (sum_t)own[21 * N_UP]; sum[6] -= value;  // 10001111
    value = (sum_t)own[22 * N_UP]; sum[0] += value; sum[7] -= value;  // 10010111
    value = (sum_t)own[23 * N_UP]; sum[8] -= value;  // 10011011
    value = (sum_t)own[24 * N_UP]; sum[9] -= value;  // 10011101
    value = (sum_t)own[25 * N_UP]; sum[10] -= value;  // 10011110
    value = (sum_t)own[26 * N_UP]; sum[1] += value; sum[11] -= value;  // 10100111
    value = (sum_t)own[27 * N_UP]; sum[12] -= value;  // 10101011
    value = (sum_t)own[28 * N_UP]; sum[13] -= value;  // 10101101
    value = (sum_t)own[29 * N_UP]; sum[14] -= value;  // 10101110
    value = (sum_t)own[30 * N_UP]; sum[3] -= value; sum[15] -= value;  // 10110011
    value = (sum_t)own[31 * N_UP]; sum[4] -= value; sum[16] -= value;  // 10110101
    value = (sum_t)own[32 * N_UP]; sum[5] -= value; sum[17] -= value;  // 10110110
    value = (sum_t)own[36 * N_UP]; sum[6] += value;  // 11000111
    value = (sum_t)own[40 * N_UP]; sum[8] -= value;  // 11010011
    value = (sum_t)own[41 * N_UP]; sum[9] -= value;  // 11010101
    value = (sum_t)own[42 * N_UP]; sum[10] -= value;  // 11010110
    value = (sum_t)own[46 * N_UP]; sum[12] -= value;  // 11100011
    value = (sum_t)own[47 * N_UP]; sum[13] -= value;  // 11100101
    value = (sum_t)own[48 * N_UP]; sum[14] -= value;  // 11100110
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 18; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[1] -= c * (sum_t)from[0]; sum[6] -= c * (sum_t)from[N_UP]; sum[11] += c * (sum_t)from[3 * N_UP];
            sum[12] += c * (sum_t)from[4 * N_UP]; sum[13] += c * (sum_t)from[5 * N_UP];
            sum[14] += c * (sum_t)from[6 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] += c * (sum_t)from[0]; sum[2] -= c * (sum_t)from[5 * N_UP];
            sum[3] -= c * (sum_t)from[6 * N_UP]; sum[4] -= c * (sum_t)from[7 * N_UP];
            sum[5] -= c * (sum_t)from[8 * N_UP]; sum[7] -= c * (sum_t)from[15 * N_UP];
            sum[8] -= c * (sum_t)from[16 * N_UP]; sum[9] -= c * (sum_t)from[17 * N_UP];
            sum[10] -= c * (sum_t)from[18 * N_UP]; sum[15] += c * (sum_t)from[25 * N_UP];
            sum[16] += c * (sum_t)from[26 * N_UP]; sum[17] += c * (sum_t)from[27 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[0]; sum[6] -= c * (sum_t)from[2 * N_UP];
            sum[7] -= c * (sum_t)from[3 * N_UP]; sum[8] -= c * (sum_t)from[4 * N_UP];
            sum[9] -= c * (sum_t)from[5 * N_UP]; sum[10] -= c * (sum_t)from[6 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[1] += c * (sum_t)from[0]; sum[2] += c * (sum_t)from[N_UP]; sum[3] += c * (sum_t)from[2 * N_UP];
            sum[4] += c * (sum_t)from[3 * N_UP]; sum[5] += c * (sum_t)from[4 * N_UP];
            sum[11] -= c * (sum_t)from[15 * N_UP]; sum[12] -= c * (sum_t)from[16 * N_UP];
            sum[13] -= c * (sum_t)from[17 * N_UP]; sum[14] -= c * (sum_t)from[18 * N_UP];
            sum[15] -= c * (sum_t)from[19 * N_UP]; sum[16] -= c * (sum_t)from[20 * N_UP];
            sum[17] -= c * (sum_t)from[21 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[N_UP]; sum[1] += c * (sum_t)from[2 * N_UP];
            sum[2] += c * (sum_t)from[3 * N_UP]; sum[3] += c * (sum_t)from[4 * N_UP];
            sum[4] += c * (sum_t)from[5 * N_UP]; sum[5] += c * (sum_t)from[6 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[6] += c * (sum_t)from[0]; sum[7] += c * (sum_t)from[N_UP]; sum[8] += c * (sum_t)from[2 * N_UP];
            sum[9] += c * (sum_t)from[3 * N_UP]; sum[10] += c * (sum_t)from[4 * N_UP];
            sum[11] += c * (sum_t)from[5 * N_UP]; sum[12] += c * (sum_t)from[6 * N_UP];
            sum[13] += c * (sum_t)from[7 * N_UP]; sum[14] += c * (sum_t)from[8 * N_UP];
            sum[15] += c * (sum_t)from[9 * N_UP]; sum[16] += c * (sum_t)from[10 * N_UP];
            sum[17] += c * (sum_t)from[11 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[7 * N_UP]; sum[1] += c * (sum_t)from[8 * N_UP];
            sum[2] += c * (sum_t)from[9 * N_UP]; sum[3] += c * (sum_t)from[10 * N_UP];
            sum[4] += c * (sum_t)from[11 * N_UP]; sum[5] += c * (sum_t)from[12 * N_UP];
            sum[6] += c * (sum_t)from[13 * N_UP]; sum[7] += c * (sum_t)from[14 * N_UP];
            sum[8] += c * (sum_t)from[15 * N_UP]; sum[9] += c * (sum_t)from[16 * N_UP];
            sum[10] += c * (sum_t)from[17 * N_UP]; sum[11] += c * (sum_t)from[18 * N_UP];
            sum[12] += c * (sum_t)from[19 * N_UP]; sum[13] += c * (sum_t)from[20 * N_UP];
            sum[14] += c * (sum_t)from[21 * N_UP]; sum[15] += c * (sum_t)from[22 * N_UP];
            sum[16] += c * (sum_t)from[23 * N_UP]; sum[17] += c * (sum_t)from[24 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 18; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 5 low electrons, columns 18 .. 36 of 56
__device__ __forceinline__ double run_5_18(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 18) * N_UP + up;
    sum_t sum[19];
#pragma unroll
    for (int l = 0; l < 19; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[4] += value;  // 00011111
    value = (sum_t)own[N_UP]; sum[8] += value;  // 00101111
    value = (sum_t)own[3 * N_UP]; sum[12] -= value;  // 00111011
    value = (sum_t)own[4 * N_UP]; sum[0] += value; sum[13] -= value;  // 00111101
    value = (sum_t)own[5 * N_UP]; sum[1] += value; sum[14] -= value;  // 00111110
    value = (sum_t)own[6 * N_UP]; sum[3] -= value; sum[18] += value;  // 01001111
    value = (sum_t)own[7 * N_UP]; sum[4] -= value;  // 01010111
    value = (sum_t)own[8 * N_UP]; sum[0] -= value; sum[5] -= value;  // 01011011
    value = (sum_t)own[9 * N_UP]; sum[6] -= value;  // 01011101
    value = (sum_t)own[10 * N_UP]; sum[2] += value; sum[7] -= value;  // 01011110
    value = (sum_t)own[11 * N_UP]; sum[8] -= value;  // 01100111
    value = (sum_t)own[12 * N_UP]; sum[1] -= value; sum[9] -= value;  // 01101011
    value = (sum_t)own[13 * N_UP]; sum[2] -= value; sum[10] -= value;  // 01101101
    value = (sum_t)own[14 * N_UP]; sum[11] -= value;  // 01101110
    value = (sum_t)own[15 * N_UP]; sum[12] -= value;  // 01110011
    value = (sum_t)own[16 * N_UP]; sum[0] -= value; sum[13] -= value;  // 01110101
    value = (sum_t)own[17 * N_UP]; sum[1] -= value; sum[14] -= value;  // 01110110
    value = (sum_t)own[18 * N_UP]; sum[1] -= value; sum[15] -= value;  // 01111001
    value = (sum_t)own[19 * N_UP]; sum[0] -= value; sum[2] -= value; sum[16] -= value;  // 01111010
    value = (sum_t)own[20 * N_UP]; sum[1] -= value; sum[17] -= value;  // 01111100
    value = (sum_t)own[21 * N_UP]; sum[7] += value; sum[10] -= value;  // 10001111
    value = (sum_t)own[22 * N_UP]; sum[5] -= value; sum[8] -= value; sum[13] -= value;  // 10010111
    value = (sum_t)own[23 * N_UP]; sum[4] -= value; sum[6] -= value; sum[9] -= value; sum[15] -= value;  // 10011011
    value = (sum_t)own[24 * N_UP]; sum[5] -= value; sum[7] -= value; sum[10] -= value;  // 10011101
    value = (sum_t)own[25 * N_UP]; sum[3] += value; sum[6] -= value; sum[11] -= value; sum[17] += value;  // 10011110
    value = (sum_t)own[26 * N_UP]; sum[4] -= value; sum[9] -= value; sum[14] -= value; sum[18] -= value;  // 10100111
    value = (sum_t)own[27 * N_UP]; sum[5] -= value; sum[8] -= value; sum[10] -= value; sum[16] -= value;  // 10101011
    value = (sum_t)own[28 * N_UP]; sum[3] -= value; sum[6] -= value; sum[9] -= value; sum[11] -= value;
    sum[17] -= value;  // 10101101
    value = (sum_t)own[29 * N_UP]; sum[7] -= value; sum[10] -= value;  // 10101110
    value = (sum_t)own[30 * N_UP]; sum[13] -= value;  // 10110011
    value = (sum_t)own[31 * N_UP]; sum[4] -= value; sum[12] -= value; sum[14] -= value; sum[15] -= value;  // 10110101
    value = (sum_t)own[32 * N_UP]; sum[8] -= value; sum[13] -= value; sum[16] -= value;  // 10110110
    value = (sum_t)own[33 * N_UP]; sum[0] -= value; sum[5] -= value; sum[13] -= value; sum[16] -= value;  // 10111001
    value = (sum_t)own[34 * N_UP]; sum[1] -= value; sum[9] -= value; sum[14] -= value; sum[15] -= value;
    sum[17] -= value;  // 10111010
    value = (sum_t)own[35 * N_UP]; sum[2] -= value; sum[7] += value; sum[10] -= value; sum[16] -= value;  // 10111100
    value = (sum_t)own[36 * N_UP]; sum[8] -= value;  // 11000111
    value = (sum_t)own[37 * N_UP]; sum[3] += value; sum[9] -= value; sum[18] -= value;  // 11001011
    value = (sum_t)own[38 * N_UP]; sum[10] -= value;  // 11001101
    value = (sum_t)own[39 * N_UP]; sum[11] -= value;  // 11001110
    value = (sum_t)own[40 * N_UP]; sum[4] += value; sum[12] -= value;  // 11010011
    value = (sum_t)own[41 * N_UP]; sum[13] -= value;  // 11010101
    value = (sum_t)own[42 * N_UP]; sum[14] -= value; sum[18] -= value;  // 11010110
    value = (sum_t)own[43 * N_UP]; sum[6] -= value; sum[15] -= value;  // 11011001
    value = (sum_t)own[44 * N_UP]; sum[7] -= value; sum[16] -= value;  // 11011010
    value = (sum_t)own[45 * N_UP]; sum[17] -= value;  // 11011100
    value = (sum_t)own[46 * N_UP]; sum[8] += value;  // 11100011
    value = (sum_t)own[47 * N_UP]; sum[18] += value;  // 11100101
    value = (sum_t)own[49 * N_UP]; sum[10] -= value;  // 11101001
    value = (sum_t)own[50 * N_UP]; sum[11] -= value;  // 11101010
    value = (sum_t)own[52 * N_UP]; sum[0] += value; sum[13] -= value;  // 11110001
    value = (sum_t)own[53 * N_UP]; sum[1] += value; sum[14] -= value;  // 11110010
    value = (sum_t)own[54 * N_UP]; sum[2] += value;  // 11110100
    value = (sum_t)own[55 * N_UP]; sum[17] += value;  // 11111000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 19; ++l) sum[l] += c * (sum_t)from[(l + 18) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[3] -= c * (sum_t)from[7 * N_UP]; sum[8] += c * (sum_t)from[9 * N_UP];
            sum[9] += c * (sum_t)from[10 * N_UP]; sum[10] += c * (sum_t)from[11 * N_UP];
            sum[11] += c * (sum_t)from[12 * N_UP]; sum[18] += c * (sum_t)from[14 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] += c * (sum_t)from[28 * N_UP]; sum[1] += c * (sum_t)from[29 * N_UP];
            sum[2] += c * (sum_t)from[30 * N_UP]; sum[4] -= c * (sum_t)from[35 * N_UP];
            sum[5] -= c * (sum_t)from[36 * N_UP]; sum[6] -= c * (sum_t)from[37 * N_UP];
            sum[7] -= c * (sum_t)from[38 * N_UP]; sum[12] += c * (sum_t)from[45 * N_UP];
            sum[13] += c * (sum_t)from[46 * N_UP]; sum[14] += c * (sum_t)from[47 * N_UP];
            sum[15] += c * (sum_t)from[48 * N_UP]; sum[16] += c * (sum_t)from[49 * N_UP];
            sum[17] += c * (sum_t)from[50 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[3] -= c * (sum_t)from[8 * N_UP]; sum[4] -= c * (sum_t)from[9 * N_UP];
            sum[5] -= c * (sum_t)from[10 * N_UP]; sum[6] -= c * (sum_t)from[11 * N_UP];
            sum[7] -= c * (sum_t)from[12 * N_UP]; sum[18] += c * (sum_t)from[18 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] -= c * (sum_t)from[22 * N_UP]; sum[1] -= c * (sum_t)from[23 * N_UP];
            sum[2] -= c * (sum_t)from[24 * N_UP]; sum[8] -= c * (sum_t)from[35 * N_UP];
            sum[9] -= c * (sum_t)from[36 * N_UP]; sum[10] -= c * (sum_t)from[37 * N_UP];
            sum[11] -= c * (sum_t)from[38 * N_UP]; sum[12] -= c * (sum_t)from[39 * N_UP];
            sum[13] -= c * (sum_t)from[40 * N_UP]; sum[14] -= c * (sum_t)from[41 * N_UP];
            sum[15] -= c * (sum_t)from[42 * N_UP]; sum[16] -= c * (sum_t)from[43 * N_UP];
            sum[17] -= c * (sum_t)from[44 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[3] -= c * (sum_t)from[13 * N_UP]; sum[4] -= c * (sum_t)from[14 * N_UP];
            sum[5] -= c * (sum_t)from[15 * N_UP]; sum[6] -= c * (sum_t)from[16 * N_UP];
            sum[7] -= c * (sum_t)from[17 * N_UP]; sum[8] -= c * (sum_t)from[18 * N_UP];
            sum[9] -= c * (sum_t)from[19 * N_UP]; sum[10] -= c * (sum_t)from[20 * N_UP];
            sum[11] -= c * (sum_t)from[21 * N_UP]; sum[12] -= c * (sum_t)from[22 * N_UP];
            sum[13] -= c * (sum_t)from[23 * N_UP]; sum[14] -= c * (sum_t)from[24 * N_UP];
            sum[15] -= c * (sum_t)from[25 * N_UP]; sum[16] -= c * (sum_t)from[26 * N_UP];
            sum[17] -= c * (sum_t)from[27 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[0] += c * (sum_t)from[12 * N_UP]; sum[1] += c * (sum_t)from[13 * N_UP];
            sum[2] += c * (sum_t)from[14 * N_UP]; sum[18] -= c * (sum_t)from[35 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[25 * N_UP]; sum[1] += c * (sum_t)from[26 * N_UP];
            sum[2] += c * (sum_t)from[27 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[3] += c * (sum_t)from[0]; sum[4] += c * (sum_t)from[N_UP]; sum[5] += c * (sum_t)from[2 * N_UP];
            sum[6] += c * (sum_t)from[3 * N_UP]; sum[7] += c * (sum_t)from[4 * N_UP];
            sum[8] += c * (sum_t)from[5 * N_UP]; sum[9] += c * (sum_t)from[6 * N_UP];
            sum[10] += c * (sum_t)from[7 * N_UP]; sum[11] += c * (sum_t)from[8 * N_UP];
            sum[12] += c * (sum_t)from[9 * N_UP]; sum[13] += c * (sum_t)from[10 * N_UP];
            sum[14] += c * (sum_t)from[11 * N_UP]; sum[15] += c * (sum_t)from[12 * N_UP];
            sum[16] += c * (sum_t)from[13 * N_UP]; sum[17] += c * (sum_t)from[14 * N_UP];
            sum[18] += c * (sum_t)from[15 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 19; ++l) {
        x_dot_y += load_again(own + (l + 18) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 5 low electrons, columns 37 .. 55 of 56
__device__ __forceinline__ double run_5_37(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 37) * N_UP + up;
    sum_t sum[19];
#pragma unroll
    for (int l = 0; l < 19; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[8 * N_UP]; sum[3] -= value;  // 01011011
    value = (sum_t)own[9 * N_UP]; sum[4] -= value;  // 01011101
    value = (sum_t)own[10 * N_UP]; sum[5] -= value;  // 01011110
    value = (sum_t)own[12 * N_UP]; sum[9] -= value;  // 01101011
    value = (sum_t)own[13 * N_UP]; sum[10] -= value;  // 01101101
    value = (sum_t)own[14 * N_UP]; sum[11] -= value;  // 01101110
    value = (sum_t)own[18 * N_UP]; sum[15] += value;  // 01111001
    value = (sum_t)own[19 * N_UP]; sum[16] += value;  // 01111010
    value = (sum_t)own[20 * N_UP]; sum[17] += value;  // 01111100
    value = (sum_t)own[21 * N_UP]; sum[0] += value;  // 10001111
    value = (sum_t)own[22 * N_UP]; sum[3] += value;  // 10010111
    value = (sum_t)own[24 * N_UP]; sum[6] -= value;  // 10011101
    value = (sum_t)own[25 * N_UP]; sum[7] -= value;  // 10011110
    value = (sum_t)own[26 * N_UP]; sum[9] += value;  // 10100111
    value = (sum_t)own[27 * N_UP]; sum[0] -= value;  // 10101011
    value = (sum_t)own[28 * N_UP]; sum[1] -= value; sum[12] -= value;  // 10101101
    value = (sum_t)own[29 * N_UP]; sum[2] -= value; sum[13] -= value;  // 10101110
    value = (sum_t)own[30 * N_UP]; sum[3] -= value;  // 10110011
    value = (sum_t)own[31 * N_UP]; sum[4] -= value; sum[15] -= value;  // 10110101
    value = (sum_t)own[32 * N_UP]; sum[5] -= value; sum[16] -= value;  // 10110110
    value = (sum_t)own[33 * N_UP]; sum[6] -= value;  // 10111001
    value = (sum_t)own[34 * N_UP]; sum[7] -= value;  // 10111010
    value = (sum_t)own[35 * N_UP]; sum[8] -= value; sum[18] += value;  // 10111100
    value = (sum_t)own[36 * N_UP]; sum[0] -= value; sum[5] -= value; sum[10] += value;  // 11000111
    value = (sum_t)own[37 * N_UP]; sum[1] -= value; sum[7] -= value; sum[12] += value;  // 11001011
    value = (sum_t)own[38 * N_UP]; sum[0] -= value; sum[2] -= value; sum[8] -= value;  // 11001101
    value = (sum_t)own[39 * N_UP]; sum[1] -= value; sum[14] -= value;  // 11001110
    value = (sum_t)own[40 * N_UP]; sum[4] -= value; sum[9] -= value; sum[15] += value;  // 11010011
    value = (sum_t)own[41 * N_UP]; sum[3] -= value; sum[5] -= value; sum[6] -= value; sum[10] -= value;  // 11010101
    value = (sum_t)own[42 * N_UP]; sum[4] -= value; sum[7] -= value; sum[11] -= value; sum[17] -= value;  // 11010110
    value = (sum_t)own[43 * N_UP]; sum[4] -= value; sum[7] -= value; sum[12] -= value;  // 11011001
    value = (sum_t)own[44 * N_UP]; sum[0] -= value; sum[5] -= value; sum[6] -= value; sum[8] -= value;
    sum[13] -= value; sum[18] -= value;  // 11011010
    value = (sum_t)own[45 * N_UP]; sum[1] -= value; sum[7] -= value; sum[14] -= value;  // 11011100
    value = (sum_t)own[46 * N_UP]; sum[3] -= value; sum[10] -= value; sum[16] += value;  // 11100011
    value = (sum_t)own[47 * N_UP]; sum[4] -= value; sum[9] -= value; sum[11] -= value; sum[12] -= value;
    sum[17] += value;  // 11100101
    value = (sum_t)own[48 * N_UP]; sum[5] -= value; sum[10] -= value; sum[13] -= value;  // 11100110
    value = (sum_t)own[49 * N_UP]; sum[0] += value; sum[6] -= value; sum[10] -= value; sum[13] -= value;
    sum[18] += value;  // 11101001
    value = (sum_t)own[50 * N_UP]; sum[7] -= value; sum[11] -= value; sum[12] -= value; sum[14] -= value;  // 11101010
    value = (sum_t)own[51 * N_UP]; sum[2] -= value; sum[8] -= value; sum[13] -= value;  // 11101100
    value = (sum_t)own[52 * N_UP]; sum[3] += value; sum[16] -= value;  // 11110001
    value = (sum_t)own[53 * N_UP]; sum[9] += value; sum[15] -= value; sum[17] -= value;  // 11110010
    value = (sum_t)own[54 * N_UP]; sum[5] -= value; sum[10] += value; sum[16] -= value; sum[18] -= value;  // 11110100
    value = (sum_t)own[55 * N_UP]; sum[7] -= value; sum[12] += value; sum[17] -= value;  // 11111000
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 19; ++l) sum[l] += c * (sum_t)from[(l + 37) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[0] += c * (sum_t)from[15 * N_UP]; sum[1] += c * (sum_t)from[16 * N_UP];
            sum[2] += c * (sum_t)from[17 * N_UP]; sum[9] -= c * (sum_t)from[22 * N_UP];
            sum[10] -= c * (sum_t)from[23 * N_UP]; sum[11] -= c * (sum_t)from[24 * N_UP];
            sum[12] -= c * (sum_t)from[25 * N_UP]; sum[13] -= c * (sum_t)from[26 * N_UP];
            sum[14] -= c * (sum_t)from[27 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[3] += c * (sum_t)from[55 * N_UP]; sum[4] += c * (sum_t)from[56 * N_UP];
            sum[5] += c * (sum_t)from[57 * N_UP]; sum[6] += c * (sum_t)from[58 * N_UP];
            sum[7] += c * (sum_t)from[59 * N_UP]; sum[8] += c * (sum_t)from[60 * N_UP];
            sum[15] -= c * (sum_t)from[65 * N_UP]; sum[16] -= c * (sum_t)from[66 * N_UP];
            sum[17] -= c * (sum_t)from[67 * N_UP]; sum[18] -= c * (sum_t)from[68 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[19 * N_UP]; sum[1] += c * (sum_t)from[20 * N_UP];
            sum[2] += c * (sum_t)from[21 * N_UP]; sum[3] += c * (sum_t)from[22 * N_UP];
            sum[4] += c * (sum_t)from[23 * N_UP]; sum[5] += c * (sum_t)from[24 * N_UP];
            sum[6] += c * (sum_t)from[25 * N_UP]; sum[7] += c * (sum_t)from[26 * N_UP];
            sum[8] += c * (sum_t)from[27 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[9] += c * (sum_t)from[55 * N_UP]; sum[10] += c * (sum_t)from[56 * N_UP];
            sum[11] += c * (sum_t)from[57 * N_UP]; sum[12] += c * (sum_t)from[58 * N_UP];
            sum[13] += c * (sum_t)from[59 * N_UP]; sum[14] += c * (sum_t)from[60 * N_UP];
            sum[15] += c * (sum_t)from[61 * N_UP]; sum[16] += c * (sum_t)from[62 * N_UP];
            sum[17] += c * (sum_t)from[63 * N_UP]; sum[18] += c * (sum_t)from[64 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[0] -= c * (sum_t)from[36 * N_UP]; sum[1] -= c * (sum_t)from[37 * N_UP];
            sum[2] -= c * (sum_t)from[38 * N_UP]; sum[3] -= c * (sum_t)from[39 * N_UP];
            sum[4] -= c * (sum_t)from[40 * N_UP]; sum[5] -= c * (sum_t)from[41 * N_UP];
            sum[6] -= c * (sum_t)from[42 * N_UP]; sum[7] -= c * (sum_t)from[43 * N_UP];
            sum[8] -= c * (sum_t)from[44 * N_UP]; sum[9] -= c * (sum_t)from[45 * N_UP];
            sum[10] -= c * (sum_t)from[46 * N_UP]; sum[11] -= c * (sum_t)from[47 * N_UP];
            sum[12] -= c * (sum_t)from[48 * N_UP]; sum[13] -= c * (sum_t)from[49 * N_UP];
            sum[14] -= c * (sum_t)from[50 * N_UP]; sum[15] -= c * (sum_t)from[51 * N_UP];
            sum[16] -= c * (sum_t)from[52 * N_UP]; sum[17] -= c * (sum_t)from[53 * N_UP];
            sum[18] -= c * (sum_t)from[54 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[0] += c * (sum_t)from[16 * N_UP]; sum[1] += c * (sum_t)from[17 * N_UP];
            sum[2] += c * (sum_t)from[18 * N_UP]; sum[3] += c * (sum_t)from[19 * N_UP];
            sum[4] += c * (sum_t)from[20 * N_UP]; sum[5] += c * (sum_t)from[21 * N_UP];
            sum[6] += c * (sum_t)from[22 * N_UP]; sum[7] += c * (sum_t)from[23 * N_UP];
            sum[8] += c * (sum_t)from[24 * N_UP]; sum[9] += c * (sum_t)from[25 * N_UP];
            sum[10] += c * (sum_t)from[26 * N_UP]; sum[11] += c * (sum_t)from[27 * N_UP];
            sum[12] += c * (sum_t)from[28 * N_UP]; sum[13] += c * (sum_t)from[29 * N_UP];
            sum[14] += c * (sum_t)from[30 * N_UP]; sum[15] += c * (sum_t)from[31 * N_UP];
            sum[16] += c * (sum_t)from[32 * N_UP]; sum[17] += c * (sum_t)from[33 * N_UP];
            sum[18] += c * (sum_t)from[34 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 19; ++l) {
        x_dot_y += load_again(own + (l + 37) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 6 low electrons, columns 0 .. 13 of 28
__device__ __forceinline__ double run_6_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[14];
#pragma unroll
    for (int l = 0; l < 14; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[4] += value; sum[9] -= value;  // 00111111
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[2] -= value; sum[5] += value; sum[7] -= value;  // 01011111
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[6] += value; sum[8] -= value;  // 01101111
    value = (sum_t)own[3 * N_UP]; sum[4] -= value; sum[9] -= value;  // 01110111
    value = (sum_t)own[4 * N_UP]; sum[0] += value; sum[3] -= value; sum[5] -= value; sum[10] -= value;  // 01111011
    value = (sum_t)own[5 * N_UP]; sum[1] += value; sum[4] -= value; sum[6] -= value; sum[11] -= value;  // 01111101
    value = (sum_t)own[6 * N_UP]; sum[2] += value; sum[5] -= value; sum[12] -= value;  // 01111110
    value = (sum_t)own[7 * N_UP]; sum[1] -= value; sum[8] -= value; sum[11] += value;  // 10011111
    value = (sum_t)own[8 * N_UP]; sum[2] -= value; sum[7] -= value; sum[12] += value; sum[13] -= value;  // 10101111
    value = (sum_t)own[9 * N_UP]; sum[0] -= value; sum[3] -= value; sum[10] -= value;  // 10110111
    value = (sum_t)own[10 * N_UP]; sum[4] -= value; sum[9] -= value; sum[11] -= value;  // 10111011
    value = (sum_t)own[11 * N_UP]; sum[5] -= value; sum[7] += value; sum[10] -= value; sum[12] -= value;  // 10111101
    value = (sum_t)own[12 * N_UP]; sum[6] -= value; sum[8] += value; sum[11] -= value;  // 10111110
    value = (sum_t)own[13 * N_UP]; sum[8] -= value;  // 11001111
    value = (sum_t)own[14 * N_UP]; sum[1] -= value; sum[9] -= value;  // 11010111
    value = (sum_t)own[15 * N_UP]; sum[7] -= value; sum[10] -= value;  // 11011011
    value = (sum_t)own[16 * N_UP]; sum[11] -= value;  // 11011101
    value = (sum_t)own[17 * N_UP]; sum[12] -= value; sum[13] += value;  // 11011110
    value = (sum_t)own[18 * N_UP]; sum[2] -= value;  // 11100111
    value = (sum_t)own[19 * N_UP]; sum[8] -= value;  // 11101011
    value = (sum_t)own[20 * N_UP]; sum[13] -= value;  // 11101101
    value = (sum_t)own[22 * N_UP]; sum[4] += value; sum[9] -= value;  // 11110011
    value = (sum_t)own[23 * N_UP]; sum[5] += value;  // 11110101
    value = (sum_t)own[24 * N_UP]; sum[6] += value;  // 11110110
    value = (sum_t)own[25 * N_UP]; sum[11] += value;  // 11111001
    value = (sum_t)own[26 * N_UP]; sum[12] += value;  // 11111010
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 14; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[2] += c * (sum_t)from[0]; sum[8] += c * (sum_t)from[N_UP]; sum[13] += c * (sum_t)from[2 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] -= c * (sum_t)from[N_UP]; sum[1] -= c * (sum_t)from[6 * N_UP];
            sum[3] += c * (sum_t)from[11 * N_UP]; sum[4] += c * (sum_t)from[12 * N_UP];
            sum[5] += c * (sum_t)from[13 * N_UP]; sum[6] += c * (sum_t)from[14 * N_UP];
            sum[7] -= c * (sum_t)from[21 * N_UP]; sum[9] += c * (sum_t)from[26 * N_UP];
            sum[10] += c * (sum_t)from[27 * N_UP]; sum[11] += c * (sum_t)from[28 * N_UP];
            sum[12] += c * (sum_t)from[29 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[1] -= c * (sum_t)from[0]; sum[7] -= c * (sum_t)from[N_UP]; sum[13] += c * (sum_t)from[3 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] += c * (sum_t)from[0]; sum[2] -= c * (sum_t)from[6 * N_UP];
            sum[3] -= c * (sum_t)from[7 * N_UP]; sum[4] -= c * (sum_t)from[8 * N_UP];
            sum[5] -= c * (sum_t)from[9 * N_UP]; sum[6] -= c * (sum_t)from[10 * N_UP];
            sum[8] -= c * (sum_t)from[21 * N_UP]; sum[9] -= c * (sum_t)from[22 * N_UP];
            sum[10] -= c * (sum_t)from[23 * N_UP]; sum[11] -= c * (sum_t)from[24 * N_UP];
            sum[12] -= c * (sum_t)from[25 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[0] += c * (sum_t)from[0]; sum[7] -= c * (sum_t)from[2 * N_UP];
            sum[8] -= c * (sum_t)from[3 * N_UP]; sum[9] -= c * (sum_t)from[4 * N_UP];
            sum[10] -= c * (sum_t)from[5 * N_UP]; sum[11] -= c * (sum_t)from[6 * N_UP];
            sum[12] -= c * (sum_t)from[7 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[1] += c * (sum_t)from[0]; sum[2] += c * (sum_t)from[N_UP]; sum[3] += c * (sum_t)from[2 * N_UP];
            sum[4] += c * (sum_t)from[3 * N_UP]; sum[5] += c * (sum_t)from[4 * N_UP];
            sum[6] += c * (sum_t)from[5 * N_UP]; sum[13] -= c * (sum_t)from[21 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[N_UP]; sum[1] += c * (sum_t)from[2 * N_UP];
            sum[2] += c * (sum_t)from[3 * N_UP]; sum[3] += c * (sum_t)from[4 * N_UP];
            sum[4] += c * (sum_t)from[5 * N_UP]; sum[5] += c * (sum_t)from[6 * N_UP];
            sum[6] += c * (sum_t)from[7 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[7] += c * (sum_t)from[0]; sum[8] += c * (sum_t)from[N_UP]; sum[9] += c * (sum_t)from[2 * N_UP];
            sum[10] += c * (sum_t)from[3 * N_UP]; sum[11] += c * (sum_t)from[4 * N_UP];
            sum[12] += c * (sum_t)from[5 * N_UP]; sum[13] += c * (sum_t)from[6 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 14; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 6 low electrons, columns 14 .. 27 of 28
__device__ __forceinline__ double run_6_14(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)(column + 14) * N_UP + up;
    sum_t sum[14];
#pragma unroll
    for (int l = 0; l < 14; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[N_UP]; sum[0] -= value;  // 01011111
    value = (sum_t)own[2 * N_UP]; sum[4] -= value;  // 01101111
    value = (sum_t)own[4 * N_UP]; sum[8] += value;  // 01111011
    value = (sum_t)own[5 * N_UP]; sum[9] += value;  // 01111101
    value = (sum_t)own[6 * N_UP]; sum[10] += value;  // 01111110
    value = (sum_t)own[7 * N_UP]; sum[1] -= value;  // 10011111
    value = (sum_t)own[8 * N_UP]; sum[5] -= value;  // 10101111
    value = (sum_t)own[9 * N_UP]; sum[0] -= value; sum[8] -= value;  // 10110111
    value = (sum_t)own[10 * N_UP]; sum[1] -= value;  // 10111011
    value = (sum_t)own[11 * N_UP]; sum[2] -= value; sum[11] += value;  // 10111101
    value = (sum_t)own[12 * N_UP]; sum[3] -= value; sum[12] += value;  // 10111110
    value = (sum_t)own[13 * N_UP]; sum[3] += value; sum[6] -= value;  // 11001111
    value = (sum_t)own[14 * N_UP]; sum[1] -= value; sum[4] -= value; sum[9] -= value;  // 11010111
    value = (sum_t)own[15 * N_UP]; sum[0] -= value; sum[2] -= value; sum[5] -= value; sum[11] -= value;  // 11011011
    value = (sum_t)own[16 * N_UP]; sum[1] -= value; sum[3] -= value; sum[6] -= value;  // 11011101
    value = (sum_t)own[17 * N_UP]; sum[2] -= value; sum[7] -= value; sum[13] += value;  // 11011110
    value = (sum_t)own[18 * N_UP]; sum[0] -= value; sum[5] -= value; sum[10] -= value;  // 11100111
    value = (sum_t)own[19 * N_UP]; sum[1] -= value; sum[4] -= value; sum[6] -= value; sum[12] -= value;  // 11101011
    value = (sum_t)own[20 * N_UP]; sum[2] -= value; sum[5] -= value; sum[7] -= value; sum[13] -= value;  // 11101101
    value = (sum_t)own[21 * N_UP]; sum[3] -= value; sum[6] -= value;  // 11101110
    value = (sum_t)own[22 * N_UP]; sum[9] -= value;  // 11110011
    value = (sum_t)own[23 * N_UP]; sum[0] -= value; sum[8] -= value; sum[10] -= value; sum[11] -= value;  // 11110101
    value = (sum_t)own[24 * N_UP]; sum[4] -= value; sum[9] -= value; sum[12] -= value;  // 11110110
    value = (sum_t)own[25 * N_UP]; sum[1] -= value; sum[9] -= value; sum[12] -= value;  // 11111001
    value = (sum_t)own[26 * N_UP]; sum[5] -= value; sum[10] -= value; sum[11] -= value; sum[13] -= value;  // 11111010
    value = (sum_t)own[27 * N_UP]; sum[3] += value; sum[6] -= value; sum[12] -= value;  // 11111100
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 14; ++l) sum[l] += c * (sum_t)from[(l + 14) * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[4] -= c * (sum_t)from[4 * N_UP]; sum[5] -= c * (sum_t)from[5 * N_UP];
            sum[6] -= c * (sum_t)from[6 * N_UP]; sum[7] -= c * (sum_t)from[7 * N_UP];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] += c * (sum_t)from[36 * N_UP]; sum[1] += c * (sum_t)from[37 * N_UP];
            sum[2] += c * (sum_t)from[38 * N_UP]; sum[3] += c * (sum_t)from[39 * N_UP];
            sum[8] -= c * (sum_t)from[46 * N_UP]; sum[9] -= c * (sum_t)from[47 * N_UP];
            sum[10] -= c * (sum_t)from[48 * N_UP]; sum[11] -= c * (sum_t)from[49 * N_UP];
            sum[12] -= c * (sum_t)from[50 * N_UP]; sum[13] -= c * (sum_t)from[51 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[0] += c * (sum_t)from[4 * N_UP]; sum[1] += c * (sum_t)from[5 * N_UP];
            sum[2] += c * (sum_t)from[6 * N_UP]; sum[3] += c * (sum_t)from[7 * N_UP];
            break;
        case 4:  // an electron arrives at site 5
            sum[4] += c * (sum_t)from[36 * N_UP]; sum[5] += c * (sum_t)from[37 * N_UP];
            sum[6] += c * (sum_t)from[38 * N_UP]; sum[7] += c * (sum_t)from[39 * N_UP];
            sum[8] += c * (sum_t)from[40 * N_UP]; sum[9] += c * (sum_t)from[41 * N_UP];
            sum[10] += c * (sum_t)from[42 * N_UP]; sum[11] += c * (sum_t)from[43 * N_UP];
            sum[12] += c * (sum_t)from[44 * N_UP]; sum[13] += c * (sum_t)from[45 * N_UP];
            break;
        case 6:  // an electron arrives at site 6
            sum[0] -= c * (sum_t)from[22 * N_UP]; sum[1] -= c * (sum_t)from[23 * N_UP];
            sum[2] -= c * (sum_t)from[24 * N_UP]; sum[3] -= c * (sum_t)from[25 * N_UP];
            sum[4] -= c * (sum_t)from[26 * N_UP]; sum[5] -= c * (sum_t)from[27 * N_UP];
            sum[6] -= c * (sum_t)from[28 * N_UP]; sum[7] -= c * (sum_t)from[29 * N_UP];
            sum[8] -= c * (sum_t)from[30 * N_UP]; sum[9] -= c * (sum_t)from[31 * N_UP];
            sum[10] -= c * (sum_t)from[32 * N_UP]; sum[11] -= c * (sum_t)from[33 * N_UP];
            sum[12] -= c * (sum_t)from[34 * N_UP]; sum[13] -= c * (sum_t)from[35 * N_UP];
            break;
        case 8:  // an electron arrives at site 7
            sum[0] += c * (sum_t)from[7 * N_UP]; sum[1] += c * (sum_t)from[8 * N_UP];
            sum[2] += c * (sum_t)from[9 * N_UP]; sum[3] += c * (sum_t)from[10 * N_UP];
            sum[4] += c * (sum_t)from[11 * N_UP]; sum[5] += c * (sum_t)from[12 * N_UP];
            sum[6] += c * (sum_t)from[13 * N_UP]; sum[7] += c * (sum_t)from[14 * N_UP];
            sum[8] += c * (sum_t)from[15 * N_UP]; sum[9] += c * (sum_t)from[16 * N_UP];
            sum[10] += c * (sum_t)from[17 * N_UP]; sum[11] += c * (sum_t)from[18 * N_UP];
            sum[12] += c * (sum_t)from[19 * N_UP]; sum[13] += c * (sum_t)from[20 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 14; ++l) {
        x_dot_y += load_again(own + (l + 14) * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}

// 7 low electrons, all 8 columns
__device__ __forceinline__ double run_7_0(
    const value_t* __restrict__ x, value_t* __restrict__ y, i64 up, bool inside, u32 column, u32 step, u32 end,
    const u32* __restrict__ step_column, const u32* __restrict__ step_case, const double* __restrict__ step_coefficient)
{
    const value_t* const own = x + (i64)column * N_UP + up;
    value_t* const out = y + (i64)column * N_UP + up;
    sum_t sum[8];
#pragma unroll
    for (int l = 0; l < 8; ++l) sum[l] = inside ? (sum_t)out[l * N_UP] : 0.0;
    sum_t value;
    value = (sum_t)own[0]; sum[1] -= value; sum[4] += value;  // 01111111
    value = (sum_t)own[N_UP]; sum[0] -= value; sum[2] -= value; sum[5] += value;  // 10111111
    value = (sum_t)own[2 * N_UP]; sum[1] -= value; sum[3] -= value; sum[6] += value;  // 11011111
    value = (sum_t)own[3 * N_UP]; sum[2] -= value; sum[7] += value;  // 11101111
    value = (sum_t)own[4 * N_UP]; sum[0] += value; sum[5] -= value;  // 11110111
    value = (sum_t)own[5 * N_UP]; sum[1] += value; sum[4] -= value; sum[6] -= value;  // 11111011
    value = (sum_t)own[6 * N_UP]; sum[2] += value; sum[5] -= value; sum[7] -= value;  // 11111101
    value = (sum_t)own[7 * N_UP]; sum[3] += value; sum[6] -= value;  // 11111110
    for (; step < end; ++step) {
        const double c = step_coefficient[step];
        const value_t* const from = x + (i64)step_column[step] * N_UP + up;
        switch (step_case[step]) {
        case 0:  // the same low state
#pragma unroll
            for (int l = 0; l < 8; ++l) sum[l] += c * (sum_t)from[l * N_UP];
            break;
        case 1:  // one leaves site 4
            sum[3] -= c * (sum_t)from[0];
            break;
        case 2:  // an electron arrives at site 4
            sum[0] += c * (sum_t)from[2 * N_UP]; sum[1] += c * (sum_t)from[8 * N_UP];
            sum[2] += c * (sum_t)from[13 * N_UP]; sum[4] -= c * (sum_t)from[18 * N_UP];
            sum[5] -= c * (sum_t)from[19 * N_UP]; sum[6] -= c * (sum_t)from[20 * N_UP];
            sum[7] -= c * (sum_t)from[21 * N_UP];
            break;
        case 3:  // one leaves site 5
            sum[2] += c * (sum_t)from[0];
            break;
        case 4:  // an electron arrives at site 5
            sum[0] -= c * (sum_t)from[N_UP]; sum[1] -= c * (sum_t)from[7 * N_UP];
            sum[3] += c * (sum_t)from[13 * N_UP]; sum[4] += c * (sum_t)from[14 * N_UP];
            sum[5] += c * (sum_t)from[15 * N_UP]; sum[6] += c * (sum_t)from[16 * N_UP];
            sum[7] += c * (sum_t)from[17 * N_UP];
            break;
        case 5:  // one leaves site 6
            sum[1] -= c * (sum_t)from[0];
            break;
        case 6:  // an electron arrives at site 6
            sum[0] += c * (sum_t)from[0]; sum[2] -= c * (sum_t)from[7 * N_UP];
            sum[3] -= c * (sum_t)from[8 * N_UP]; sum[4] -= c * (sum_t)from[9 * N_UP];
            sum[5] -= c * (sum_t)from[10 * N_UP]; sum[6] -= c * (sum_t)from[11 * N_UP];
            sum[7] -= c * (sum_t)from[12 * N_UP];
            break;
        case 7:  // one leaves site 7
            sum[0] += c * (sum_t)from[0];
            break;
        case 8:  // an electron arrives at site 7
            sum[1] += c * (sum_t)from[0]; sum[2] += c * (sum_t)from[N_UP]; sum[3] += c * (sum_t)from[2 * N_UP];
            sum[4] += c * (sum_t)from[3 * N_UP]; sum[5] += c * (sum_t)from[4 * N_UP];
            sum[6] += c * (sum_t)from[5 * N_UP]; sum[7] += c * (sum_t)from[6 * N_UP];
            break;
        }
    }
    double x_dot_y = 0.0;
#pragma unroll
    for (int l = 0; l < 8; ++l) {
        x_dot_y += load_again(own + l * N_UP) * sum[l];
        if (inside) out[l * N_UP] = (value_t)sum[l];
    }
    return inside ? x_dot_y : 0.0;
}
