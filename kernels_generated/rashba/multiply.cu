// terms_square_3x2_3_fermions: y = H x, matrix-free, on 440 states
//
//   y[r] = D(s) x[r] + sum over flip masks f of a_f(s) x[rank(s ^ f)],   s = state of row r
//
// H is real and symmetric, so the amplitude from s to s ^ f serves for both directions.
// model: complex: H = A + iB as (A, -B; B, A), so x holds all real parts and after them all imaginary parts
// least work: 71280.0 flop, 7040.0 bytes
// specialised: dimension, cut of the state word, every mask and amplitude (28 flip masks, written out)

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

// 1 when an odd number of bits is set.
__device__ __forceinline__ u32 parity(u64 bits) { return (u32)__popcll(bits) & 1u; }

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 DIMENSION = 440;
constexpr int LOW_BITS = 6;
constexpr int THREADS = 256;

// A sector in Lin's two tables (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): the states with one high part follow each
// other, and part_start, part_high and part_first_low describe them; low_states lists low parts by charge.
__device__ __forceinline__ u64 state_of(i64 row,
                                        const u64* __restrict__ part_start, const u64* __restrict__ part_high,
                                        const u64* __restrict__ part_first_low, const u64* __restrict__ low_states)
{
    int first = 0, last = 84;  // the part that holds the row: part_start[first] <= row < part_start[last]
    while (last - first > 1) {
        const int middle = (first + last) / 2;
        if ((i64)part_start[middle] <= row) first = middle; else last = middle;
    }
    return low_states[part_first_low[first] + (row - (i64)part_start[first])] | part_high[first] << 6;
}

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += 0.31 * __popcll(state & 0x3ull);
    value += -0.24 * __popcll(state & 0xcull);
    value += 0.12 * __popcll(state & 0x30ull);
    value += -0.43 * __popcll(state & 0xc0ull);
    value += 0.27 * __popcll(state & 0x300ull);
    value += 0.05 * __popcll(state & 0xc00ull);
    value += 2.1 * __popcll(state & (state >> 1) & 0x1ull);
    value += 2.8 * __popcll(state & (state >> 1) & 0x4ull);
    value += 1.9 * __popcll(state & (state >> 1) & 0x10ull);
    value += 3.2 * __popcll(state & (state >> 1) & 0x40ull);
    value += 2.5 * __popcll(state & (state >> 1) & 0x100ull);
    value += 2.3 * __popcll(state & (state >> 1) & 0x400ull);
    return value;
}

constexpr u64 LOW_MASK = 0x3full;

__device__ __forceinline__ i64 rank_of(u64 state, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    return (i64)(high_offset[state >> LOW_BITS] + low_index[state & LOW_MASK]);
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

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)  // 1,024 threads a multiprocessor: 64 registers
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u64* __restrict__ part_start, const u64* __restrict__ part_high, const u64* __restrict__ part_first_low,
         const u64* __restrict__ low_states, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    __shared__ double scratch[THREADS / WARP];
    double x_dot_y = 0.0;
    const i64 own = (i64)SHARE_BLOCK * THREADS + threadIdx.x, stride = (i64)SHARE_BLOCKS * THREADS;
    for (i64 row = SHARE_FIRST(DIMENSION) + own; row < SHARE_END(DIMENSION); row += stride) {
        const u64 state = state_of(row, part_start, part_high, part_first_low, low_states);
        const sum_t x_row = (sum_t)x[row];
        sum_t sum = diagonal_of(state) * x_row;
        {   // flips 0x5ull
            double amplitude = 0.0;
            if ((state & 0x5ull) == 0x4ull) amplitude += -1.0;
            if ((state & 0x5ull) == 0x1ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x5ull, high_offset, low_index)];
        }
        {   // flips 0x6ull
            double amplitude = 0.0;
            if ((state & 0x6ull) == 0x2ull) amplitude += parity(state & 0x550ull) ? 0.35 : -0.35;
            if ((state & 0x6ull) == 0x4ull) amplitude += parity(state & 0x550ull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x6ull, high_offset, low_index)];
        }
        {   // flips 0x9ull
            double amplitude = 0.0;
            if ((state & 0x9ull) == 0x8ull) amplitude += parity(state & 0x556ull) ? -0.35 : 0.35;
            if ((state & 0x9ull) == 0x1ull) amplitude += parity(state & 0x556ull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x9ull, high_offset, low_index)];
        }
        {   // flips 0xaull
            double amplitude = 0.0;
            if ((state & 0xaull) == 0x8ull) amplitude += -1.0;
            if ((state & 0xaull) == 0x2ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xaull, high_offset, low_index)];
        }
        {   // flips 0x14ull
            double amplitude = 0.0;
            if ((state & 0x14ull) == 0x10ull) amplitude += -1.0;
            if ((state & 0x14ull) == 0x4ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x14ull, high_offset, low_index)];
        }
        {   // flips 0x18ull
            double amplitude = 0.0;
            if ((state & 0x18ull) == 0x8ull) amplitude += parity(state & 0x542ull) ? 0.35 : -0.35;
            if ((state & 0x18ull) == 0x10ull) amplitude += parity(state & 0x542ull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x18ull, high_offset, low_index)];
        }
        {   // flips 0x24ull
            double amplitude = 0.0;
            if ((state & 0x24ull) == 0x20ull) amplitude += parity(state & 0x55aull) ? -0.35 : 0.35;
            if ((state & 0x24ull) == 0x4ull) amplitude += parity(state & 0x55aull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x24ull, high_offset, low_index)];
        }
        {   // flips 0x28ull
            double amplitude = 0.0;
            if ((state & 0x28ull) == 0x20ull) amplitude += -1.0;
            if ((state & 0x28ull) == 0x8ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x28ull, high_offset, low_index)];
        }
        {   // flips 0x41ull
            double amplitude = 0.0;
            if ((state & 0x41ull) == 0x40ull) amplitude += parity(state & 0x14ull) ? 1.0 : -1.0;
            if ((state & 0x41ull) == 0x1ull) amplitude += parity(state & 0x14ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x41ull, high_offset, low_index)];
        }
        {   // flips 0x82ull
            double amplitude = 0.0;
            if ((state & 0x82ull) == 0x80ull) amplitude += parity(state & 0x28ull) ? 1.0 : -1.0;
            if ((state & 0x82ull) == 0x2ull) amplitude += parity(state & 0x28ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x82ull, high_offset, low_index)];
        }
        {   // flips 0x104ull
            double amplitude = 0.0;
            if ((state & 0x104ull) == 0x100ull) amplitude += parity(state & 0x50ull) ? 1.0 : -1.0;
            if ((state & 0x104ull) == 0x4ull) amplitude += parity(state & 0x50ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x104ull, high_offset, low_index)];
        }
        {   // flips 0x140ull
            double amplitude = 0.0;
            if ((state & 0x140ull) == 0x100ull) amplitude += -1.0;
            if ((state & 0x140ull) == 0x40ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x140ull, high_offset, low_index)];
        }
        {   // flips 0x180ull
            double amplitude = 0.0;
            if ((state & 0x180ull) == 0x80ull) amplitude += parity(state & 0x42aull) ? 0.35 : -0.35;
            if ((state & 0x180ull) == 0x100ull) amplitude += parity(state & 0x42aull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x180ull, high_offset, low_index)];
        }
        {   // flips 0x208ull
            double amplitude = 0.0;
            if ((state & 0x208ull) == 0x200ull) amplitude += parity(state & 0xa0ull) ? 1.0 : -1.0;
            if ((state & 0x208ull) == 0x8ull) amplitude += parity(state & 0xa0ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x208ull, high_offset, low_index)];
        }
        {   // flips 0x240ull
            double amplitude = 0.0;
            if ((state & 0x240ull) == 0x200ull) amplitude += parity(state & 0x5aaull) ? -0.35 : 0.35;
            if ((state & 0x240ull) == 0x40ull) amplitude += parity(state & 0x5aaull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x240ull, high_offset, low_index)];
        }
        {   // flips 0x280ull
            double amplitude = 0.0;
            if ((state & 0x280ull) == 0x200ull) amplitude += -1.0;
            if ((state & 0x280ull) == 0x80ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x280ull, high_offset, low_index)];
        }
        {   // flips 0x410ull
            double amplitude = 0.0;
            if ((state & 0x410ull) == 0x400ull) amplitude += parity(state & 0x140ull) ? 1.0 : -1.0;
            if ((state & 0x410ull) == 0x10ull) amplitude += parity(state & 0x140ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x410ull, high_offset, low_index)];
        }
        {   // flips 0x500ull
            double amplitude = 0.0;
            if ((state & 0x500ull) == 0x400ull) amplitude += -1.0;
            if ((state & 0x500ull) == 0x100ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x500ull, high_offset, low_index)];
        }
        {   // flips 0x600ull
            double amplitude = 0.0;
            if ((state & 0x600ull) == 0x200ull) amplitude += parity(state & 0xaaull) ? 0.35 : -0.35;
            if ((state & 0x600ull) == 0x400ull) amplitude += parity(state & 0xaaull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x600ull, high_offset, low_index)];
        }
        {   // flips 0x820ull
            double amplitude = 0.0;
            if ((state & 0x820ull) == 0x800ull) amplitude += parity(state & 0x280ull) ? 1.0 : -1.0;
            if ((state & 0x820ull) == 0x20ull) amplitude += parity(state & 0x280ull) ? 1.0 : -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x820ull, high_offset, low_index)];
        }
        {   // flips 0x900ull
            double amplitude = 0.0;
            if ((state & 0x900ull) == 0x800ull) amplitude += parity(state & 0x6aaull) ? -0.35 : 0.35;
            if ((state & 0x900ull) == 0x100ull) amplitude += parity(state & 0x6aaull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x900ull, high_offset, low_index)];
        }
        {   // flips 0xa00ull
            double amplitude = 0.0;
            if ((state & 0xa00ull) == 0x800ull) amplitude += -1.0;
            if ((state & 0xa00ull) == 0x200ull) amplitude += -1.0;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0xa00ull, high_offset, low_index)];
        }
        {   // flips 0x1042ull
            double amplitude = 0.0;
            if ((state & 0x1042ull) == 0x2ull) amplitude += parity(state & 0x500ull) ? 0.35 : -0.35;
            if ((state & 0x1042ull) == 0x1002ull) amplitude += parity(state & 0x500ull) ? -0.35 : 0.35;
            if ((state & 0x1042ull) == 0x40ull) amplitude += parity(state & 0x500ull) ? -0.35 : 0.35;
            if ((state & 0x1042ull) == 0x1040ull) amplitude += parity(state & 0x500ull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1042ull, high_offset, low_index)];
        }
        {   // flips 0x1081ull
            double amplitude = 0.0;
            if ((state & 0x1081ull) == 0x80ull) amplitude += parity(state & 0x57eull) ? -0.35 : 0.35;
            if ((state & 0x1081ull) == 0x1080ull) amplitude += parity(state & 0x57eull) ? 0.35 : -0.35;
            if ((state & 0x1081ull) == 0x1ull) amplitude += parity(state & 0x57eull) ? 0.35 : -0.35;
            if ((state & 0x1081ull) == 0x1001ull) amplitude += parity(state & 0x57eull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1081ull, high_offset, low_index)];
        }
        {   // flips 0x1108ull
            double amplitude = 0.0;
            if ((state & 0x1108ull) == 0x8ull) amplitude += parity(state & 0x402ull) ? 0.35 : -0.35;
            if ((state & 0x1108ull) == 0x1008ull) amplitude += parity(state & 0x402ull) ? -0.35 : 0.35;
            if ((state & 0x1108ull) == 0x100ull) amplitude += parity(state & 0x402ull) ? -0.35 : 0.35;
            if ((state & 0x1108ull) == 0x1100ull) amplitude += parity(state & 0x402ull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1108ull, high_offset, low_index)];
        }
        {   // flips 0x1204ull
            double amplitude = 0.0;
            if ((state & 0x1204ull) == 0x200ull) amplitude += parity(state & 0x5faull) ? -0.35 : 0.35;
            if ((state & 0x1204ull) == 0x1200ull) amplitude += parity(state & 0x5faull) ? 0.35 : -0.35;
            if ((state & 0x1204ull) == 0x4ull) amplitude += parity(state & 0x5faull) ? 0.35 : -0.35;
            if ((state & 0x1204ull) == 0x1004ull) amplitude += parity(state & 0x5faull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1204ull, high_offset, low_index)];
        }
        {   // flips 0x1420ull
            double amplitude = 0.0;
            if ((state & 0x1420ull) == 0x20ull) amplitude += parity(state & 0xaull) ? 0.35 : -0.35;
            if ((state & 0x1420ull) == 0x1020ull) amplitude += parity(state & 0xaull) ? -0.35 : 0.35;
            if ((state & 0x1420ull) == 0x400ull) amplitude += parity(state & 0xaull) ? -0.35 : 0.35;
            if ((state & 0x1420ull) == 0x1400ull) amplitude += parity(state & 0xaull) ? 0.35 : -0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1420ull, high_offset, low_index)];
        }
        {   // flips 0x1810ull
            double amplitude = 0.0;
            if ((state & 0x1810ull) == 0x800ull) amplitude += parity(state & 0x7eaull) ? -0.35 : 0.35;
            if ((state & 0x1810ull) == 0x1800ull) amplitude += parity(state & 0x7eaull) ? 0.35 : -0.35;
            if ((state & 0x1810ull) == 0x10ull) amplitude += parity(state & 0x7eaull) ? 0.35 : -0.35;
            if ((state & 0x1810ull) == 0x1010ull) amplitude += parity(state & 0x7eaull) ? -0.35 : 0.35;
            if (amplitude != 0.0) sum += amplitude * (sum_t)x[rank_of(state ^ 0x1810ull, high_offset, low_index)];
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
    __shared__ double scratch[MOST_WARPS];
    double sum = 0.0;
    for (i64 k = threadIdx.x; k < count; k += 1024) sum += partials[blockIdx.x * count + k];
    sum = block_sum<1024>(sum, scratch);
    if (threadIdx.x == 0) x_dot_y[place + blockIdx.x] = sum;
}
