// xxz_6sites_2sz_0: y = H x, matrix-free, on 580 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work: 330020.0 flop, 9280.0 bytes
// specialised: dimension, cut of the state word, 60 flip masks run over tables (too many to write out)

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
constexpr i64 DIMENSION = 580;
constexpr int LOW_BITS = 6;
constexpr int THREADS = 256;

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

// built-in xxz:2
//   sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
namespace sum_0 {
__constant__ double jz[15] = { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 };
__constant__ double weight[15] = { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.3, 0.3, 0.3 };
__constant__ int from[15] = { 0, 0, 0, 0, 5, 5, 5, 5, 1, 1, 4, 4, 0, 1, 2 };
__constant__ int to[15] = { 1, 2, 3, 4, 1, 2, 3, 4, 2, 3, 2, 3, 5, 4, 3 };
#define sz(i) ((double)((state >> ((i) * 2)) & 3u) - 1.5)  // level - S
__device__ __forceinline__ double value(u64 state)
{
    double sum = 0.0;
#pragma unroll 8
    for (int k = 0; k < 15; ++k) {
        const int b = k;
#line 2 "built-in xxz"
        sum += jz[b] * weight[b] * sz(from[b]) * sz(to[b]);
#line 86 "kernel.cu"
    }
    return sum;
}
#undef sz
}  // namespace sum_0

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += sum_0::value(state);
    return value;
}

constexpr u64 LOW_MASK = 0x3full;

__device__ __forceinline__ i64 rank_of(u64 state, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    return (i64)(high_offset[state >> LOW_BITS] + low_index[state & LOW_MASK]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)  // 1,024 threads a multiprocessor: 64 registers
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u64* __restrict__ part_start, const u64* __restrict__ part_high, const u64* __restrict__ part_first_low,
         const u64* __restrict__ low_states, const u64* __restrict__ high_offset, const u32* __restrict__ low_index,
         const u64* __restrict__ group_flip, const u32* __restrict__ group_start, const u64* __restrict__ term_care,
         const u64* __restrict__ term_pattern, const u64* __restrict__ term_sign,
         const double* __restrict__ term_amplitude)
{
    __shared__ double scratch[THREADS / 32];
    double x_dot_y = 0.0;
    for (i64 row = (i64)blockIdx.x * THREADS + threadIdx.x; row < DIMENSION; row += (i64)gridDim.x * THREADS) {
        const u64 state = state_of(row, part_start, part_high, part_first_low, low_states);
        const sum_t x_row = (sum_t)x[row];
        sum_t sum = diagonal_of(state) * x_row;
        for (int g = 0; g < 60; ++g) {    // terms of group g: group_start[g] .. group_start[g + 1]
            double amplitude = 0.0;
            for (u32 k = group_start[g]; k < group_start[g + 1]; ++k) {
                if ((state & term_care[k]) == term_pattern[k])
                    amplitude += parity(state & term_sign[k]) ? -term_amplitude[k] : term_amplitude[k];
            }
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ group_flip[g], high_offset, low_index)];
        }
        y[row] = (value_t)sum;
        x_dot_y += x_row * sum;
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
