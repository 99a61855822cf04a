// xxz_triangular_3x4_2sz_0: y = H x, matrix-free, on 924 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work: 147840.0 flop, 14784.0 bytes
// specialised: dimension, cut of the state word, every mask and amplitude (36 flip masks, written out)

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
constexpr i64 DIMENSION = 924;
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

constexpr u64 LOW_MASK = 0x3full;

__device__ __forceinline__ i64 rank_of(u64 state, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    return (i64)(high_offset[state >> LOW_BITS] + low_index[state & LOW_MASK]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)  // 1,024 threads a multiprocessor: 64 registers
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u64* __restrict__ part_start, const u64* __restrict__ part_high, const u64* __restrict__ part_first_low,
         const u64* __restrict__ low_states, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    __shared__ double scratch[THREADS / 32];
    double x_dot_y = 0.0;
    for (i64 row = (i64)blockIdx.x * THREADS + threadIdx.x; row < DIMENSION; row += (i64)gridDim.x * THREADS) {
        const u64 state = state_of(row, part_start, part_high, part_first_low, low_states);
        const sum_t x_row = (sum_t)x[row];
        sum_t sum = diagonal_of(state) * x_row;
        {   // flips 0x3ull
            double amplitude = 0.0;
            if ((state & 0x3ull) == 0x2ull) amplitude += 0.5;
            if ((state & 0x3ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x3ull, high_offset, low_index)];
        }
        {   // flips 0x5ull
            double amplitude = 0.0;
            if ((state & 0x5ull) == 0x4ull) amplitude += 0.5;
            if ((state & 0x5ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x5ull, high_offset, low_index)];
        }
        {   // flips 0x6ull
            double amplitude = 0.0;
            if ((state & 0x6ull) == 0x4ull) amplitude += 0.5;
            if ((state & 0x6ull) == 0x2ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x6ull, high_offset, low_index)];
        }
        {   // flips 0x9ull
            double amplitude = 0.0;
            if ((state & 0x9ull) == 0x8ull) amplitude += 0.5;
            if ((state & 0x9ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x9ull, high_offset, low_index)];
        }
        {   // flips 0xcull
            double amplitude = 0.0;
            if ((state & 0xcull) == 0x8ull) amplitude += 0.5;
            if ((state & 0xcull) == 0x4ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xcull, high_offset, low_index)];
        }
        {   // flips 0x11ull
            double amplitude = 0.0;
            if ((state & 0x11ull) == 0x10ull) amplitude += 0.5;
            if ((state & 0x11ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x11ull, high_offset, low_index)];
        }
        {   // flips 0x12ull
            double amplitude = 0.0;
            if ((state & 0x12ull) == 0x10ull) amplitude += 0.5;
            if ((state & 0x12ull) == 0x2ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x12ull, high_offset, low_index)];
        }
        {   // flips 0x18ull
            double amplitude = 0.0;
            if ((state & 0x18ull) == 0x10ull) amplitude += 0.5;
            if ((state & 0x18ull) == 0x8ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x18ull, high_offset, low_index)];
        }
        {   // flips 0x22ull
            double amplitude = 0.0;
            if ((state & 0x22ull) == 0x20ull) amplitude += 0.5;
            if ((state & 0x22ull) == 0x2ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x22ull, high_offset, low_index)];
        }
        {   // flips 0x24ull
            double amplitude = 0.0;
            if ((state & 0x24ull) == 0x20ull) amplitude += 0.5;
            if ((state & 0x24ull) == 0x4ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x24ull, high_offset, low_index)];
        }
        {   // flips 0x28ull
            double amplitude = 0.0;
            if ((state & 0x28ull) == 0x20ull) amplitude += 0.5;
            if ((state & 0x28ull) == 0x8ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x28ull, high_offset, low_index)];
        }
        {   // flips 0x30ull
            double amplitude = 0.0;
            if ((state & 0x30ull) == 0x20ull) amplitude += 0.5;
            if ((state & 0x30ull) == 0x10ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x30ull, high_offset, low_index)];
        }
        {   // flips 0x48ull
            double amplitude = 0.0;
            if ((state & 0x48ull) == 0x40ull) amplitude += 0.5;
            if ((state & 0x48ull) == 0x8ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x48ull, high_offset, low_index)];
        }
        {   // flips 0x60ull
            double amplitude = 0.0;
            if ((state & 0x60ull) == 0x40ull) amplitude += 0.5;
            if ((state & 0x60ull) == 0x20ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x60ull, high_offset, low_index)];
        }
        {   // flips 0x88ull
            double amplitude = 0.0;
            if ((state & 0x88ull) == 0x80ull) amplitude += 0.5;
            if ((state & 0x88ull) == 0x8ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x88ull, high_offset, low_index)];
        }
        {   // flips 0x90ull
            double amplitude = 0.0;
            if ((state & 0x90ull) == 0x80ull) amplitude += 0.5;
            if ((state & 0x90ull) == 0x10ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x90ull, high_offset, low_index)];
        }
        {   // flips 0xc0ull
            double amplitude = 0.0;
            if ((state & 0xc0ull) == 0x80ull) amplitude += 0.5;
            if ((state & 0xc0ull) == 0x40ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xc0ull, high_offset, low_index)];
        }
        {   // flips 0x110ull
            double amplitude = 0.0;
            if ((state & 0x110ull) == 0x100ull) amplitude += 0.5;
            if ((state & 0x110ull) == 0x10ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x110ull, high_offset, low_index)];
        }
        {   // flips 0x120ull
            double amplitude = 0.0;
            if ((state & 0x120ull) == 0x100ull) amplitude += 0.5;
            if ((state & 0x120ull) == 0x20ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x120ull, high_offset, low_index)];
        }
        {   // flips 0x140ull
            double amplitude = 0.0;
            if ((state & 0x140ull) == 0x100ull) amplitude += 0.5;
            if ((state & 0x140ull) == 0x40ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x140ull, high_offset, low_index)];
        }
        {   // flips 0x180ull
            double amplitude = 0.0;
            if ((state & 0x180ull) == 0x100ull) amplitude += 0.5;
            if ((state & 0x180ull) == 0x80ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x180ull, high_offset, low_index)];
        }
        {   // flips 0x201ull
            double amplitude = 0.0;
            if ((state & 0x201ull) == 0x200ull) amplitude += 0.5;
            if ((state & 0x201ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x201ull, high_offset, low_index)];
        }
        {   // flips 0x202ull
            double amplitude = 0.0;
            if ((state & 0x202ull) == 0x200ull) amplitude += 0.5;
            if ((state & 0x202ull) == 0x2ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x202ull, high_offset, low_index)];
        }
        {   // flips 0x240ull
            double amplitude = 0.0;
            if ((state & 0x240ull) == 0x200ull) amplitude += 0.5;
            if ((state & 0x240ull) == 0x40ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x240ull, high_offset, low_index)];
        }
        {   // flips 0x300ull
            double amplitude = 0.0;
            if ((state & 0x300ull) == 0x200ull) amplitude += 0.5;
            if ((state & 0x300ull) == 0x100ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x300ull, high_offset, low_index)];
        }
        {   // flips 0x402ull
            double amplitude = 0.0;
            if ((state & 0x402ull) == 0x400ull) amplitude += 0.5;
            if ((state & 0x402ull) == 0x2ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x402ull, high_offset, low_index)];
        }
        {   // flips 0x404ull
            double amplitude = 0.0;
            if ((state & 0x404ull) == 0x400ull) amplitude += 0.5;
            if ((state & 0x404ull) == 0x4ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x404ull, high_offset, low_index)];
        }
        {   // flips 0x440ull
            double amplitude = 0.0;
            if ((state & 0x440ull) == 0x400ull) amplitude += 0.5;
            if ((state & 0x440ull) == 0x40ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x440ull, high_offset, low_index)];
        }
        {   // flips 0x480ull
            double amplitude = 0.0;
            if ((state & 0x480ull) == 0x400ull) amplitude += 0.5;
            if ((state & 0x480ull) == 0x80ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x480ull, high_offset, low_index)];
        }
        {   // flips 0x600ull
            double amplitude = 0.0;
            if ((state & 0x600ull) == 0x400ull) amplitude += 0.5;
            if ((state & 0x600ull) == 0x200ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x600ull, high_offset, low_index)];
        }
        {   // flips 0x801ull
            double amplitude = 0.0;
            if ((state & 0x801ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0x801ull) == 0x1ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x801ull, high_offset, low_index)];
        }
        {   // flips 0x804ull
            double amplitude = 0.0;
            if ((state & 0x804ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0x804ull) == 0x4ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x804ull, high_offset, low_index)];
        }
        {   // flips 0x880ull
            double amplitude = 0.0;
            if ((state & 0x880ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0x880ull) == 0x80ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x880ull, high_offset, low_index)];
        }
        {   // flips 0x900ull
            double amplitude = 0.0;
            if ((state & 0x900ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0x900ull) == 0x100ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x900ull, high_offset, low_index)];
        }
        {   // flips 0xa00ull
            double amplitude = 0.0;
            if ((state & 0xa00ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0xa00ull) == 0x200ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xa00ull, high_offset, low_index)];
        }
        {   // flips 0xc00ull
            double amplitude = 0.0;
            if ((state & 0xc00ull) == 0x800ull) amplitude += 0.5;
            if ((state & 0xc00ull) == 0x400ull) amplitude += 0.5;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xc00ull, high_offset, low_index)];
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
