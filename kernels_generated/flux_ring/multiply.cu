// terms_chain_12_2Sz_0: y = H x, matrix-free, on 1848 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// x holds the real parts and HALF elements on the imaginary ones; a_f(s) is complex, and since H is Hermitian its conjugate
// serves for the other direction.
// model: complex: H = A + iB as (A, -B; B, A), so x holds all real parts and after them all imaginary parts
// least work: 277200.0 flop, 29568.0 bytes
// specialised: dimension, cut of the state word, lists of elements by columns (24 flip masks), amplitudes, 2 columns in shared memory, 64 blocks of 64 threads

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
constexpr i64 DIMENSION = 1848;
constexpr int LOW_BITS = 6;
constexpr int THREADS = 64;

constexpr int PARTS = 128;  // columns: the states with one high part follow each other
constexpr i64 HALF = DIMENSION / 2;  // x and y: all real parts, then all imaginary ones
constexpr int TASKS = 64;  // a block takes both parts of up to TAKEN columns with the same low parts at a time
constexpr int TAKEN = 1;
constexpr int COLUMNS = 2;  // in shared memory
constexpr int STRIDE = 36;  // elements of a column in shared memory, the 16 zeros after its states included
constexpr u32 NO_COLUMN = 0xffffffffu;
constexpr i64 LOW_STATES = 64;  // rows of a factor, those of all classes one after the other
constexpr u16 NO_ROW = 0x7fff;  // where a factor gives zero

// What couples both parts of a word in the diagonal; the rest is in the tables low_diagonal and high_diagonal.
// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += -0.75 * __popcll((state ^ (state >> 1)) & 0x20ull);
    value += -0.75 * __popcll((state ^ (state >> 11)) & 0x1ull);
    return value;
}

__device__ __forceinline__ int rows_of(u32 part, const u64* __restrict__ part_start)
{
    return (int)((part + 1 < PARTS ? part_start[part + 1] : (u64)DIMENSION) - part_start[part]);
}

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
#if CARDS > 1
// The first task of a card: it takes the columns that begin in its part of the vector, some of which are much shorter than others.
__device__ int task_bound(int card, const u32* __restrict__ task_column, const u64* __restrict__ part_start)
{
    const u64 row = (u64)((i64)HALF * card / CARDS);
    int first = 0, end = TASKS;
    while (first < end) {
        const int middle = (first + end) / 2;
        if (part_start[task_column[(i64)middle * TAKEN]] < row) first = middle + 1; else end = middle;
    }
    return first;
}
#else
#define task_bound(card, task_column, part_start) ((card) * TASKS)
#endif

// y = (diagonal + terms within the low part + whole columns + terms across) x
extern "C" __global__ void __launch_bounds__(THREADS, 16)
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u32* __restrict__ task_column, const u64* __restrict__ part_start, const u64* __restrict__ part_high,
         const u64* __restrict__ part_first_low, const u64* __restrict__ low_states,
         const double* __restrict__ low_diagonal, const double* __restrict__ high_diagonal,
         const u32* __restrict__ part_slice, const u32* __restrict__ low_slice_start,
         const u16* __restrict__ low_neighbours, const u32* __restrict__ whole_start,
         const u16* __restrict__ whole_words, const u32* __restrict__ cross_start, const u16* __restrict__ cross_words,
         const u32* __restrict__ cross_factor, const u16* __restrict__ factor_row)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    value_t* const columns = (value_t*)shared_bytes;
    __shared__ double scratch[THREADS / WARP];
    const int lane = threadIdx.x % WARP;
    double x_dot_y = 0.0;
    const int last = task_bound(CARD + 1, task_column, part_start);
    for (int task = task_bound(CARD, task_column, part_start) + (int)SHARE_BLOCK; task < last; task += (int)SHARE_BLOCKS) {
        const u32* const task_columns = task_column + (i64)task * TAKEN;
        const u32 first = task_columns[0];
        const int rows = rows_of(first, part_start);
        __syncthreads();
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const u32 taken = task_columns[c / 2];
            const u32 part = taken == NO_COLUMN ? first : taken;
            const value_t* const own = x + part_start[part] + c % 2 * HALF;
#pragma unroll 4
            for (int row = threadIdx.x; row < rows; row += THREADS) columns[c * STRIDE + row] = own[row];
            if (threadIdx.x < 16) columns[c * STRIDE + rows + threadIdx.x] = (value_t)0;
        }
        __syncthreads();
        for (int slice = threadIdx.x / WARP; slice * WARP < rows; slice += THREADS / WARP) {
            const int row = slice * WARP + lane;
            sum_t sums[COLUMNS] = {};
            // WARP rows side by side, groups of four neighbours; a row with fewer reads zeros, each from a bank of its own.
            const u32 low_slot = part_slice[first] + slice;
            const u32 low_last = low_slice_start[low_slot + 1];
            for (u32 group = low_slice_start[low_slot]; group < low_last; ++group) {
                const u16* const four = low_neighbours + ((i64)group * WARP + lane) * 4;
                __align__(16) u16 words[4];
                *(u64*)words = *(const u64*)four;
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const u16 word = words[k];
#pragma unroll
                    for (int c = 0; c < TAKEN; ++c) {
                        sum_t& sum_re = sums[2 * c];
                        sum_t& sum_im = sums[2 * c + 1];
                        const sum_t re = (sum_t)columns[2 * c * STRIDE + (word & 0x3f)];
                        const sum_t im = (sum_t)columns[(2 * c + 1) * STRIDE + (word & 0x3f)];
                        const double a_re = 0.4;
                        const double a_im = negated_by_top_bit(0.3, (u32)word << 17);
                        sum_re += a_re * re - a_im * im;
                        sum_im += a_re * im + a_im * re;
                    }
                }
            }
            if (row >= rows) continue;
            const i64 place = (i64)part_first_low[first] + row;
            const double of_low = low_diagonal[place];
            const u64 low = low_states[place];
#pragma unroll
            for (int c = 0; c < TAKEN; ++c) {
                const u32 part = task_columns[c];
                if (part == NO_COLUMN) break;
                const u64 start = part_start[part];
                const sum_t x_re = (sum_t)columns[2 * c * STRIDE + row];
                const sum_t x_im = (sum_t)columns[(2 * c + 1) * STRIDE + row];
                const double diagonal = of_low + high_diagonal[part] + diagonal_of(low | part_high[part] << LOW_BITS);
                sum_t total_re = diagonal * x_re + sums[2 * c];
                sum_t total_im = diagonal * x_im + sums[2 * c + 1];
                {   // whole columns
                    sum_t sum_re = 0.0, sum_im = 0.0;
                    const u32 end = whole_start[part + 1];
#pragma unroll 4
                    for (u32 k = whole_start[part]; k < end; ++k) {
                        const u16 word = whole_words[k];
                        const i64 at = (word & 0x7ff) + row;
                        const sum_t re = (sum_t)x[at];
                        const sum_t im = (sum_t)x[at + HALF];
                        const double a_re = 0.4;
                        const double a_im = negated_by_top_bit(0.3, (u32)word << 17);
                        sum_re += a_re * re - a_im * im;
                        sum_im += a_re * im + a_im * re;
                    }
                    total_re += sum_re;
                    total_im += sum_im;
                }
                {   // terms across: a column, and in it the row that the term's low half makes of this one
                    sum_t sum_re = 0.0, sum_im = 0.0;
                    const u32 end = cross_start[part + 1];
#pragma unroll 4
                    for (u32 k = cross_start[part]; k < end; ++k) {
                        const u16 word = cross_words[k];
                        const u16 to = factor_row[(i64)cross_factor[k] * LOW_STATES + place];
                        const u32 partner = to;
                        if (partner == NO_ROW) continue;
                        const i64 at = (word & 0x7ff) + partner;
                        const sum_t re = (sum_t)x[at];
                        const sum_t im = (sum_t)x[at + HALF];
                        const double a_re = 0.4;
                        const double a_im = negated_by_top_bit(0.3, (u32)word << 17);
                        sum_re += a_re * re - a_im * im;
                        sum_im += a_re * im + a_im * re;
                    }
                    total_re += sum_re;
                    total_im += sum_im;
                }
                y[start + row] = (value_t)total_re;
                y[start + row + HALF] = (value_t)total_im;
                x_dot_y += x_re * total_re + x_im * total_im;
            }
        }
    }
    const double total = block_sum<THREADS>(x_dot_y, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
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
