// xxz_triangular_3x4_2sz_0: y = H x, matrix-free, on 924 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work: 147840.0 flop, 14784.0 bytes
// specialised: dimension, cut of the state word, lists of elements by columns (36 flip masks), amplitudes, 2 columns in shared memory, 34 blocks of 64 threads

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

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 DIMENSION = 924;
constexpr int LOW_BITS = 6;
constexpr int THREADS = 64;

constexpr int PARTS = 64;  // columns: the states with one high part follow each other
constexpr int TASKS = 34;  // a block takes up to TAKEN columns with the same low parts at a time
constexpr int TAKEN = 2;
constexpr int COLUMNS = 2;  // in shared memory
constexpr int STRIDE = 36;  // elements of a column in shared memory, the 16 zeros after its states included
constexpr u32 NO_COLUMN = 0xffffffffu;
constexpr u32 ON_THE_WAY = 4;  // elements of whole columns that a thread loads at a time
constexpr i64 LOW_STATES = 64;  // rows of a factor, those of all classes one after the other
constexpr u16 NO_ROW = 0x7fff;  // where a factor gives zero

// What couples both parts of a word in the diagonal; the rest is in the tables low_diagonal and high_diagonal.
// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += -0.5 * __popcll((state ^ (state >> 1)) & 0x20ull);
    value += -0.5 * __popcll((state ^ (state >> 3)) & 0x38ull);
    value += -0.5 * __popcll((state ^ (state >> 4)) & 0x18ull);
    value += -0.5 * __popcll((state ^ (state >> 8)) & 0x6ull);
    value += -0.5 * __popcll((state ^ (state >> 9)) & 0x7ull);
    value += -0.5 * __popcll((state ^ (state >> 11)) & 0x1ull);
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
    const u64 row = (u64)((i64)DIMENSION * card / CARDS);
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
            const u32 taken = task_columns[c];
            const u32 part = taken == NO_COLUMN ? first : taken;
            const value_t* const own = x + part_start[part];
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
                        sum_t& sum = sums[c];
                        const sum_t value = (sum_t)columns[c * STRIDE + word];
                        sum += value;
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
                const sum_t x_row = (sum_t)columns[c * STRIDE + row];
                const double diagonal = of_low + high_diagonal[part] + diagonal_of(low | part_high[part] << LOW_BITS);
                sum_t total = diagonal * x_row + 0.5 * sums[c];
                {   // whole columns
                    sum_t sum = 0.0;
                    const u32 end = whole_start[part + 1];
                    // ON_THE_WAY loads leave together, and none alone behind them: each would wait for the one before.
                    for (u32 first_of = whole_start[part]; first_of < end; first_of += ON_THE_WAY) {
                        sum_t values[ON_THE_WAY] = {};
#pragma unroll
                        for (u32 k = 0; k < ON_THE_WAY; ++k) {
                            if (first_of + k >= end) continue;
                            const u16 word = whole_words[first_of + k];
                            values[k] = (sum_t)x[word + row];
                        }
#pragma unroll
                        for (u32 k = 0; k < ON_THE_WAY; ++k) {
                            const sum_t value = values[k];
                            sum += value;
                        }
                    }
                    total += 0.5 * sum;
                }
                {   // terms across: a column, and in it the row that the term's low half makes of this one
                    sum_t sum = 0.0;
                    const u32 end = cross_start[part + 1];
#pragma unroll 4
                    for (u32 k = cross_start[part]; k < end; ++k) {
                        const u16 word = cross_words[k];
                        const u16 to = factor_row[(i64)cross_factor[k] * LOW_STATES + place];
                        const u32 partner = to;
                        if (partner == NO_ROW) continue;
                        const sum_t value = (sum_t)x[word + partner];
                        sum += value;
                    }
                    total += 0.5 * sum;
                }
                y[start + row] = (value_t)total;
                x_dot_y += x_row * total;
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
