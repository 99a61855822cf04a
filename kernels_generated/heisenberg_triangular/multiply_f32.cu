// xxz_triangular_3x4_2sz_0: y = H x, matrix-free, on 924 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work: 147840.0 flop, 7392.0 bytes
// specialised: dimension, cut of the state word, 36 flip masks: what they ask of a column, and the rest

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Sum over the 32 lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Sum over a block of THREADS threads (a multiple of 32, at most 1024), in a fixed order; thread 0 gets it.
// `scratch` holds THREADS / 32 doubles and may be used again after the call.
template <int THREADS>
__device__ __forceinline__ double block_sum(double value, double* scratch)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = 0.0;
    if (warp == 0) value = warp_sum(lane < THREADS / 32 ? scratch[lane] : 0.0);
    __syncthreads();
    return value;
}

// 1 when an odd number of bits is set.
__device__ __forceinline__ u32 parity(u64 bits) { return (u32)__popcll(bits) & 1u; }

// value, or -value where the top bit of `sign` is set: one operation on the high word.
__device__ __forceinline__ double negated_by_top_bit(double value, u32 sign)
{
    return __hiloint2double(__double2hiint(value) ^ (int)(sign & 0x80000000u), __double2loint(value));
}

typedef float value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 DIMENSION = 924;
constexpr int LOW_BITS = 6;
constexpr int THREADS = 32;

// A sector in Lin's two tables (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): the states with one high part follow each
// other, and part_start, part_high and part_first_low describe them; low_states lists low parts by charge.
__device__ __forceinline__ u64 state_of(i64 row,
                                        const u64* __restrict__ part_start, const u64* __restrict__ part_high,
                                        const u64* __restrict__ part_first_low, const u64* __restrict__ low_states)
{
    int first = 0, last = 64;  // the part that holds the row: part_start[first] <= row < part_start[last]
    while (last - first > 1) {
        const int middle = (first + last) / 2;
        if ((i64)part_start[middle] <= row) first = middle; else last = middle;
    }
    return low_states[part_first_low[first] + (row - (i64)part_start[first])] | part_high[first] << 6;
}

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 9.0;
    value += -0.5 * __popcll((state ^ (state >> 1)) & 0x7ffull);
    value += -0.5 * __popcll((state ^ (state >> 2)) & 0x249ull);
    value += -0.5 * __popcll((state ^ (state >> 3)) & 0x1ffull);
    value += -0.5 * __popcll((state ^ (state >> 4)) & 0xdbull);
    value += -0.5 * __popcll((state ^ (state >> 8)) & 0x6ull);
    value += -0.5 * __popcll((state ^ (state >> 9)) & 0x7ull);
    value += -0.5 * __popcll((state ^ (state >> 11)) & 0x1ull);
    return value;
}

constexpr int PARTS = 64;  // columns
constexpr int ROWS = 1;  // states that a thread sums at a time

// The terms beyond the low part: care, pattern, sign and flip of the high part, the same of the low part, amplitude.
// A term acts where (word & care) == pattern in both parts, by amplitude (-1)^(set bits of word & sign).
// The first 24 leave the low part alone.
constexpr int TERMS = 48;
constexpr int WHOLE = 24;
__device__ const u64 term_high[TERMS][4] = {
    {0x3ull, 0x2ull, 0x0ull, 0x3ull}, {0x3ull, 0x1ull, 0x0ull, 0x3ull}, {0x5ull, 0x4ull, 0x0ull, 0x5ull},
    {0x5ull, 0x1ull, 0x0ull, 0x5ull}, {0x6ull, 0x4ull, 0x0ull, 0x6ull}, {0x6ull, 0x2ull, 0x0ull, 0x6ull},
    {0x9ull, 0x8ull, 0x0ull, 0x9ull}, {0x9ull, 0x1ull, 0x0ull, 0x9ull}, {0xcull, 0x8ull, 0x0ull, 0xcull},
    {0xcull, 0x4ull, 0x0ull, 0xcull}, {0x11ull, 0x10ull, 0x0ull, 0x11ull}, {0x11ull, 0x1ull, 0x0ull, 0x11ull},
    {0x12ull, 0x10ull, 0x0ull, 0x12ull}, {0x12ull, 0x2ull, 0x0ull, 0x12ull}, {0x18ull, 0x10ull, 0x0ull, 0x18ull},
    {0x18ull, 0x8ull, 0x0ull, 0x18ull}, {0x22ull, 0x20ull, 0x0ull, 0x22ull}, {0x22ull, 0x2ull, 0x0ull, 0x22ull},
    {0x24ull, 0x20ull, 0x0ull, 0x24ull}, {0x24ull, 0x4ull, 0x0ull, 0x24ull}, {0x28ull, 0x20ull, 0x0ull, 0x28ull},
    {0x28ull, 0x8ull, 0x0ull, 0x28ull}, {0x30ull, 0x20ull, 0x0ull, 0x30ull}, {0x30ull, 0x10ull, 0x0ull, 0x30ull},
    {0x1ull, 0x1ull, 0x0ull, 0x1ull}, {0x1ull, 0x0ull, 0x0ull, 0x1ull}, {0x1ull, 0x1ull, 0x0ull, 0x1ull},
    {0x1ull, 0x0ull, 0x0ull, 0x1ull}, {0x2ull, 0x2ull, 0x0ull, 0x2ull}, {0x2ull, 0x0ull, 0x0ull, 0x2ull},
    {0x2ull, 0x2ull, 0x0ull, 0x2ull}, {0x2ull, 0x0ull, 0x0ull, 0x2ull}, {0x4ull, 0x4ull, 0x0ull, 0x4ull},
    {0x4ull, 0x0ull, 0x0ull, 0x4ull}, {0x4ull, 0x4ull, 0x0ull, 0x4ull}, {0x4ull, 0x0ull, 0x0ull, 0x4ull},
    {0x8ull, 0x8ull, 0x0ull, 0x8ull}, {0x8ull, 0x0ull, 0x0ull, 0x8ull}, {0x8ull, 0x8ull, 0x0ull, 0x8ull},
    {0x8ull, 0x0ull, 0x0ull, 0x8ull}, {0x10ull, 0x10ull, 0x0ull, 0x10ull}, {0x10ull, 0x0ull, 0x0ull, 0x10ull},
    {0x10ull, 0x10ull, 0x0ull, 0x10ull}, {0x10ull, 0x0ull, 0x0ull, 0x10ull}, {0x20ull, 0x20ull, 0x0ull, 0x20ull},
    {0x20ull, 0x0ull, 0x0ull, 0x20ull}, {0x20ull, 0x20ull, 0x0ull, 0x20ull}, {0x20ull, 0x0ull, 0x0ull, 0x20ull},
};
__device__ const u32 term_low[TERMS][4] = {
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x8u, 0x0u, 0x0u, 0x8u}, {0x8u, 0x8u, 0x0u, 0x8u}, {0x20u, 0x0u, 0x0u, 0x20u}, {0x20u, 0x20u, 0x0u, 0x20u},
    {0x8u, 0x0u, 0x0u, 0x8u}, {0x8u, 0x8u, 0x0u, 0x8u}, {0x10u, 0x0u, 0x0u, 0x10u}, {0x10u, 0x10u, 0x0u, 0x10u},
    {0x10u, 0x0u, 0x0u, 0x10u}, {0x10u, 0x10u, 0x0u, 0x10u}, {0x20u, 0x0u, 0x0u, 0x20u},
    {0x20u, 0x20u, 0x0u, 0x20u}, {0x1u, 0x0u, 0x0u, 0x1u}, {0x1u, 0x1u, 0x0u, 0x1u}, {0x2u, 0x0u, 0x0u, 0x2u},
    {0x2u, 0x2u, 0x0u, 0x2u}, {0x2u, 0x0u, 0x0u, 0x2u}, {0x2u, 0x2u, 0x0u, 0x2u}, {0x4u, 0x0u, 0x0u, 0x4u},
    {0x4u, 0x4u, 0x0u, 0x4u}, {0x1u, 0x0u, 0x0u, 0x1u}, {0x1u, 0x1u, 0x0u, 0x1u}, {0x4u, 0x0u, 0x0u, 0x4u},
    {0x4u, 0x4u, 0x0u, 0x4u},
};
__device__ const double term_amplitude[TERMS] = {
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    0.5, 0.5, 0.5, 0.5,
};

// A term that acts on a column: what it asks of the low part, and the column that it comes from.
struct ColumnTerm {
    u32 care, pattern, sign, flip;
    double amplitude;
    u64 from;
};

// Lists the terms first .. last - 1 that act on the column of `high`, in their order, by one warp; returns how many.
__device__ __forceinline__ int list_terms(int first, int last, u64 high, const double* __restrict__ amplitudes,
                                          const u64* __restrict__ high_offset, ColumnTerm* list)
{
    const int lane = threadIdx.x & 31;
    int count = 0;
    for (int next = first; next < last; next += 32) {
        const int t = next + lane;
        const bool acts = t < last && (high & term_high[t][0]) == term_high[t][1];
        const u32 all = __ballot_sync(0xffffffffu, acts);
        if (acts) {
            const double amplitude = parity(high & term_high[t][2]) ? -amplitudes[t] : amplitudes[t];
            const u32* const low = term_low[t];
            list[count + __popc(all & ((1u << lane) - 1u))] = {low[0], low[1], low[2], low[3], amplitude,
                                                               high_offset[high ^ term_high[t][3]]};
        }
        count += __popc(all);
    }
    return count;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)  // 1024 threads a multiprocessor: 64 registers
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u64* __restrict__ part_start, const u64* __restrict__ part_high, const u64* __restrict__ part_first_low,
         const u64* __restrict__ low_states, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    __shared__ double scratch[THREADS / 32];
    __shared__ ColumnTerm list[TERMS];  // whole columns from 0, the others from WHOLE
    __shared__ int counts[2];
    double x_dot_y = 0.0;
    for (int part = blockIdx.x; part < PARTS; part += gridDim.x) {
        const u64 start = part_start[part], high = part_high[part];
        const u64* const lows = low_states + part_first_low[part];
        const int rows = (int)((part + 1 < PARTS ? part_start[part + 1] : (u64)DIMENSION) - start);
        const value_t* const own = x + start;
        __syncthreads();
        if (threadIdx.x < 32) {
            const double* const amplitudes = term_amplitude;
            const int whole = list_terms(0, WHOLE, high, amplitudes, high_offset, list);
            const int both = list_terms(WHOLE, TERMS, high, amplitudes, high_offset, list + WHOLE);
            if (threadIdx.x == 0) { counts[0] = whole; counts[1] = both; }
        }
        __syncthreads();
        const int whole = counts[0], both = WHOLE + counts[1];
        for (int first = threadIdx.x; first < rows; first += ROWS * THREADS) {
            int row[ROWS];  // the last rows of a thread may be its first once more
            u32 low[ROWS];
            sum_t x_row[ROWS], sum[ROWS];
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {
                row[k] = first + k * THREADS < rows ? first + k * THREADS : first;
                low[k] = (u32)lows[row[k]];
                x_row[k] = (sum_t)own[row[k]];
                sum[k] = diagonal_of((u64)low[k] | high << LOW_BITS) * x_row[k];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x3u
                double amplitude = 0.0;
                if ((low[k] & 0x3u) == 0x2u) amplitude += 0.5;
                if ((low[k] & 0x3u) == 0x1u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x3u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x5u
                double amplitude = 0.0;
                if ((low[k] & 0x5u) == 0x4u) amplitude += 0.5;
                if ((low[k] & 0x5u) == 0x1u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x5u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x6u
                double amplitude = 0.0;
                if ((low[k] & 0x6u) == 0x4u) amplitude += 0.5;
                if ((low[k] & 0x6u) == 0x2u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x6u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x9u
                double amplitude = 0.0;
                if ((low[k] & 0x9u) == 0x8u) amplitude += 0.5;
                if ((low[k] & 0x9u) == 0x1u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x9u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0xcu
                double amplitude = 0.0;
                if ((low[k] & 0xcu) == 0x8u) amplitude += 0.5;
                if ((low[k] & 0xcu) == 0x4u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0xcu];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x11u
                double amplitude = 0.0;
                if ((low[k] & 0x11u) == 0x10u) amplitude += 0.5;
                if ((low[k] & 0x11u) == 0x1u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x11u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x12u
                double amplitude = 0.0;
                if ((low[k] & 0x12u) == 0x10u) amplitude += 0.5;
                if ((low[k] & 0x12u) == 0x2u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x12u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x18u
                double amplitude = 0.0;
                if ((low[k] & 0x18u) == 0x10u) amplitude += 0.5;
                if ((low[k] & 0x18u) == 0x8u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x18u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x22u
                double amplitude = 0.0;
                if ((low[k] & 0x22u) == 0x20u) amplitude += 0.5;
                if ((low[k] & 0x22u) == 0x2u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x22u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x24u
                double amplitude = 0.0;
                if ((low[k] & 0x24u) == 0x20u) amplitude += 0.5;
                if ((low[k] & 0x24u) == 0x4u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x24u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x28u
                double amplitude = 0.0;
                if ((low[k] & 0x28u) == 0x20u) amplitude += 0.5;
                if ((low[k] & 0x28u) == 0x8u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x28u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x30u
                double amplitude = 0.0;
                if ((low[k] & 0x30u) == 0x20u) amplitude += 0.5;
                if ((low[k] & 0x30u) == 0x10u) amplitude += 0.5;
                const u32 from = low_index[low[k] ^ 0x30u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
            for (int t = 0; t < whole; ++t) {
                const double amplitude = list[t].amplitude;
                const value_t* const from = x + list[t].from;
#pragma unroll
                for (int k = 0; k < ROWS; ++k) sum[k] += amplitude * (sum_t)from[row[k]];
            }
            for (int t = WHOLE; t < both; ++t) {
                const ColumnTerm term = list[t];
#pragma unroll
                for (int k = 0; k < ROWS; ++k) {
                    const u32 from = low_index[low[k] ^ term.flip];
                    const double amplitude = parity(low[k] & term.sign) ? -term.amplitude : term.amplitude;
                    if ((low[k] & term.care) == term.pattern) sum[k] += amplitude * (sum_t)x[term.from + from];
                }
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {
                if (first + k * THREADS < rows) {
                    y[start + row[k]] = (value_t)sum[k];
                    x_dot_y += x_row[k] * sum[k];
                }
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
    __shared__ double scratch[32];
    double sum = 0.0;
    for (i64 k = threadIdx.x; k < count; k += 1024) sum += partials[blockIdx.x * count + k];
    sum = block_sum<1024>(sum, scratch);
    if (threadIdx.x == 0) x_dot_y[place + blockIdx.x] = sum;
}
