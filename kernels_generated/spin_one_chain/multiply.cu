// xxz_chain_8_2sz_0: y = H x, matrix-free, on 1107 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// model: built-in xxz:3  sum!(i in lattice.sites(); field[i] * sz(i) + single_ion[i] * sz(i) * sz(i))
// least work: 197046.0 flop, 17712.0 bytes
// specialised: dimension, cut of the state word, 32 flip masks: what they ask of a column, and the rest

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

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 DIMENSION = 1107;
constexpr int LOW_BITS = 8;
constexpr int THREADS = 32;

// A sector in Lin's two tables (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): the states with one high part follow each
// other, and part_start, part_high and part_first_low describe them; low_states lists low parts by charge.
__device__ __forceinline__ u64 state_of(i64 row,
                                        const u64* __restrict__ part_start, const u64* __restrict__ part_high,
                                        const u64* __restrict__ part_first_low, const u64* __restrict__ low_states)
{
    int first = 0, last = 81;  // the part that holds the row: part_start[first] <= row < part_start[last]
    while (last - first > 1) {
        const int middle = (first + last) / 2;
        if ((i64)part_start[middle] <= row) first = middle; else last = middle;
    }
    return low_states[part_first_low[first] + (row - (i64)part_start[first])] | part_high[first] << 8;
}

// built-in xxz:2
//   sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
namespace sum_0 {
__constant__ double jz[8] = { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 };
__constant__ double weight[8] = { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 };
__constant__ int from[8] = { 0, 7, 1, 2, 3, 4, 5, 6 };
__constant__ int to[8] = { 1, 0, 2, 3, 4, 5, 6, 7 };
#define sz(i) ((double)((state >> ((i) * 2)) & 3u) - 1.0)  // level - S
__device__ __forceinline__ double value(u64 state)
{
    double sum = 0.0;
    for (int k = 0; k < 8; ++k) {
        const int b = k;
#line 2 "built-in xxz"
        sum += jz[b] * weight[b] * sz(from[b]) * sz(to[b]);
#line 86 "kernel.cu"
    }
    return sum;
}
#undef sz
}  // namespace sum_0

// built-in xxz:3
//   sum!(i in lattice.sites(); field[i] * sz(i) + single_ion[i] * sz(i) * sz(i))
namespace sum_1 {
__constant__ double field[8] = { 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
__constant__ double single_ion[8] = { 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7 };
#define sz(i) ((double)((state >> ((i) * 2)) & 3u) - 1.0)  // level - S
__device__ __forceinline__ double value(u64 state)
{
    double sum = 0.0;
    for (int k = 0; k < 8; ++k) {
        const int i = k;
#line 3 "built-in xxz"
        sum += field[i] * sz(i) + single_ion[i] * sz(i) * sz(i);
#line 106 "kernel.cu"
    }
    return sum;
}
#undef sz
}  // namespace sum_1

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += sum_0::value(state);
    value += sum_1::value(state);
    return value;
}

constexpr int PARTS = 81;  // columns
constexpr int ROWS = 1;  // states that a thread sums at a time

// The terms beyond the low part: care, pattern, sign and flip of the high part, the same of the low part, amplitude.
// A term acts where (word & care) == pattern in both parts, by amplitude (-1)^(set bits of word & sign).
// The first 24 leave the low part alone.
constexpr int TERMS = 40;
constexpr int WHOLE = 24;
__device__ const u64 term_high[TERMS][4] = {
    {0xfull, 0x4ull, 0x0ull, 0x5ull}, {0xfull, 0x1ull, 0x0ull, 0x5ull}, {0xfull, 0x5ull, 0x0ull, 0x7ull},
    {0xfull, 0x2ull, 0x0ull, 0x7ull}, {0xfull, 0x8ull, 0x0ull, 0xdull}, {0xfull, 0x5ull, 0x0ull, 0xdull},
    {0xfull, 0x9ull, 0x0ull, 0xfull}, {0xfull, 0x6ull, 0x0ull, 0xfull}, {0x3cull, 0x10ull, 0x0ull, 0x14ull},
    {0x3cull, 0x4ull, 0x0ull, 0x14ull}, {0x3cull, 0x14ull, 0x0ull, 0x1cull}, {0x3cull, 0x8ull, 0x0ull, 0x1cull},
    {0x3cull, 0x20ull, 0x0ull, 0x34ull}, {0x3cull, 0x14ull, 0x0ull, 0x34ull}, {0x3cull, 0x24ull, 0x0ull, 0x3cull},
    {0x3cull, 0x18ull, 0x0ull, 0x3cull}, {0xf0ull, 0x40ull, 0x0ull, 0x50ull}, {0xf0ull, 0x10ull, 0x0ull, 0x50ull},
    {0xf0ull, 0x50ull, 0x0ull, 0x70ull}, {0xf0ull, 0x20ull, 0x0ull, 0x70ull}, {0xf0ull, 0x80ull, 0x0ull, 0xd0ull},
    {0xf0ull, 0x50ull, 0x0ull, 0xd0ull}, {0xf0ull, 0x90ull, 0x0ull, 0xf0ull}, {0xf0ull, 0x60ull, 0x0ull, 0xf0ull},
    {0x3ull, 0x1ull, 0x0ull, 0x1ull}, {0x3ull, 0x0ull, 0x0ull, 0x1ull}, {0x3ull, 0x1ull, 0x0ull, 0x1ull},
    {0x3ull, 0x0ull, 0x0ull, 0x1ull}, {0x3ull, 0x2ull, 0x0ull, 0x3ull}, {0x3ull, 0x1ull, 0x0ull, 0x3ull},
    {0x3ull, 0x2ull, 0x0ull, 0x3ull}, {0x3ull, 0x1ull, 0x0ull, 0x3ull}, {0xc0ull, 0x40ull, 0x0ull, 0x40ull},
    {0xc0ull, 0x0ull, 0x0ull, 0x40ull}, {0xc0ull, 0x40ull, 0x0ull, 0x40ull}, {0xc0ull, 0x0ull, 0x0ull, 0x40ull},
    {0xc0ull, 0x80ull, 0x0ull, 0xc0ull}, {0xc0ull, 0x40ull, 0x0ull, 0xc0ull}, {0xc0ull, 0x80ull, 0x0ull, 0xc0ull},
    {0xc0ull, 0x40ull, 0x0ull, 0xc0ull},
};
__device__ const u32 term_low[TERMS][4] = {
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u}, {0x0u, 0x0u, 0x0u, 0x0u},
    {0xc0u, 0x0u, 0x0u, 0x40u}, {0xc0u, 0x40u, 0x0u, 0x40u}, {0xc0u, 0x40u, 0x0u, 0xc0u},
    {0xc0u, 0x80u, 0x0u, 0xc0u}, {0xc0u, 0x0u, 0x0u, 0x40u}, {0xc0u, 0x40u, 0x0u, 0x40u},
    {0xc0u, 0x40u, 0x0u, 0xc0u}, {0xc0u, 0x80u, 0x0u, 0xc0u}, {0x3u, 0x0u, 0x0u, 0x1u}, {0x3u, 0x1u, 0x0u, 0x1u},
    {0x3u, 0x1u, 0x0u, 0x3u}, {0x3u, 0x2u, 0x0u, 0x3u}, {0x3u, 0x0u, 0x0u, 0x1u}, {0x3u, 0x1u, 0x0u, 0x1u},
    {0x3u, 0x1u, 0x0u, 0x3u}, {0x3u, 0x2u, 0x0u, 0x3u},
};
__device__ const double term_amplitude[TERMS] = {
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
    1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002, 1.0000000000000002,
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
            for (int k = 0; k < ROWS; ++k) {  // flips 0x5u
                double amplitude = 0.0;
                if ((low[k] & 0xfu) == 0x4u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xfu) == 0x1u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x5u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x7u
                double amplitude = 0.0;
                if ((low[k] & 0xfu) == 0x5u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xfu) == 0x2u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x7u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0xdu
                double amplitude = 0.0;
                if ((low[k] & 0xfu) == 0x8u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xfu) == 0x5u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0xdu];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0xfu
                double amplitude = 0.0;
                if ((low[k] & 0xfu) == 0x9u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xfu) == 0x6u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0xfu];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x14u
                double amplitude = 0.0;
                if ((low[k] & 0x3cu) == 0x10u) amplitude += 1.0000000000000002;
                if ((low[k] & 0x3cu) == 0x4u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x14u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x1cu
                double amplitude = 0.0;
                if ((low[k] & 0x3cu) == 0x14u) amplitude += 1.0000000000000002;
                if ((low[k] & 0x3cu) == 0x8u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x1cu];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x34u
                double amplitude = 0.0;
                if ((low[k] & 0x3cu) == 0x20u) amplitude += 1.0000000000000002;
                if ((low[k] & 0x3cu) == 0x14u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x34u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x3cu
                double amplitude = 0.0;
                if ((low[k] & 0x3cu) == 0x24u) amplitude += 1.0000000000000002;
                if ((low[k] & 0x3cu) == 0x18u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x3cu];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x50u
                double amplitude = 0.0;
                if ((low[k] & 0xf0u) == 0x40u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xf0u) == 0x10u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x50u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0x70u
                double amplitude = 0.0;
                if ((low[k] & 0xf0u) == 0x50u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xf0u) == 0x20u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0x70u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0xd0u
                double amplitude = 0.0;
                if ((low[k] & 0xf0u) == 0x80u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xf0u) == 0x50u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0xd0u];
                if (amplitude != 0.0) sum[k] += amplitude * (sum_t)own[from];
            }
#pragma unroll
            for (int k = 0; k < ROWS; ++k) {  // flips 0xf0u
                double amplitude = 0.0;
                if ((low[k] & 0xf0u) == 0x90u) amplitude += 1.0000000000000002;
                if ((low[k] & 0xf0u) == 0x60u) amplitude += 1.0000000000000002;
                const u32 from = low_index[low[k] ^ 0xf0u];
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
