// hubbard_chain_8_4up_4dn: y = H x on 70 x 70 states
//
//   H = D + (1_dn (x) A_up) + (A_dn (x) 1_up)      Yamada, Machida, Imamura (2020), eq. 2 and 3
//
// x is the matrix V[up][dn], the up index fastest: x[up + 70 * dn].
// model: built-in hubbard:1  sum!(b in 0..t.len(), s in [Up, Down]; -t[b] * weight[b] * (cdag(from[b], s) * c(to[b], s) + h.c.))
// model: built-in hubbard:2  sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
// model: built-in hubbard:3  sum!(i in lattice.sites(); (potential[i] - mu) * n(i))
// least work: 334600.0 flop, 196000.0 bytes
// specialised: numbers of states, diagonal, amplitudes, packing of neighbours (index in the low 7 bits, sign in the top bit), tile shapes

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
constexpr i64 N_UP = 70;  // 4 up electrons on 8 sites
constexpr i64 N_DN = 70;  // 4 down electrons
constexpr int UP_THREADS = 992;
constexpr int UP_COLUMNS = 14;   // columns of V that share a block of the up kernel
constexpr int SLICES = (int)((N_UP + WARP - 1) / WARP);    // WARP rows that a warp works on together

// built-in hubbard:2
//   sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
namespace sum_0 {
__constant__ double u[8] = { 4.0, 3.5, 4.2, 3.9, 4.4, 3.7, 4.1, 3.8 };
#define n_up(i) ((double)((up >> (i)) & 1u))
#define n_dn(i) ((double)((dn >> (i)) & 1u))
#define n(i, spin) ((spin) == 0 ? n_up(i) : n_dn(i))
#define n_total(i) (n_up(i) + n_dn(i))
#define sz(i) (0.5 * (n_up(i) - n_dn(i)))
__device__ __forceinline__ double value(u32 up, u32 dn)
{
    double sum = 0.0;
    for (int k = 0; k < 8; ++k) {
        const int i = k;
#line 2 "built-in hubbard"
        sum += u[i] * n_up(i) * n_dn(i);
#line 88 "kernel.cu"
    }
    return sum;
}
#undef n_up
#undef n_dn
#undef n
#undef n_total
#undef sz
}  // namespace sum_0

// built-in hubbard:3
//   sum!(i in lattice.sites(); (potential[i] - mu) * n(i))
namespace sum_1 {
__constant__ double potential[8] = { 0.31, -0.47, 0.05, 0.42, -0.18, -0.39, 0.27, 0.11 };
constexpr double mu = 0.0;
#define n_up(i) ((double)((up >> (i)) & 1u))
#define n_dn(i) ((double)((dn >> (i)) & 1u))
#define n(i, spin) ((spin) == 0 ? n_up(i) : n_dn(i))
#define n_total(i) (n_up(i) + n_dn(i))
#define sz(i) (0.5 * (n_up(i) - n_dn(i)))
__device__ __forceinline__ double value(u32 up, u32 dn)
{
    double sum = 0.0;
    for (int k = 0; k < 8; ++k) {
        const int i = k;
#line 3 "built-in hubbard"
        sum += (potential[i] - mu) * n_total(i);
#line 116 "kernel.cu"
    }
    return sum;
}
#undef n_up
#undef n_dn
#undef n
#undef n_total
#undef sz
}  // namespace sum_1

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u32 up, u32 dn)
{
    double value = 0.0;
    value += sum_0::value(up, dn);
    value += sum_1::value(up, dn);
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
    for (int k = threadIdx.x; k < UP_COLUMNS * COLUMN; k += UP_THREADS) {
        const int c = k / COLUMN, row = k % COLUMN;
        columns[k] = row < N_UP && first_column + c < N_DN ? x[(first_column + c) * N_UP + row] : (value_t)0;
    }
    __syncthreads();
    for (int task = threadIdx.x / WARP; task < UP_COLUMNS * SLICES; task += UP_THREADS / WARP) {
        const int c = task / SLICES, slice = task % SLICES;
        const i64 column = first_column + c;
        if (column >= N_DN) break;
        const value_t* const from = columns + c * COLUMN;
        sum_t sum = 0.0;
        const u32 end = slice_start[slice + 1];
        for (u32 group = slice_start[slice]; group < end; ++group) {
            const u16* const four = neighbours + ((i64)group * WARP + lane) * 4;
            __align__(16) u16 words[4];
            *(u64*)words = *(const u64*)four;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const u16 word = words[k];
                const sum_t value = (sum_t)from[(int)(word & 0x7f)];
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

// y += A_dn x, and x . y of the whole product. A block holds a tile of V: DOWN_ROWS rows of DOWN_COLUMNS neighbouring
// columns. Hops within its columns are served from there, the others from L2: blocks in launch order walk all columns
// of one tile of rows before the next, 16 rows x 70 columns. The neighbours of column c stand, in
// groups of four, at down_start[2 c] .. down_start[2 c + 1] (within the block's columns, counted from its first; padded with a
// column of zeros) and from there to down_start[2 c + 2] (the others; padded with N_DN).
constexpr int DOWN_ROWS = 16, DOWN_LANES = 64, DOWN_COLUMNS = 70;
constexpr i64 DOWN_GROUPS = 1;      // runs of columns, for each of 5 tiles of rows
constexpr int DOWN_THREADS = DOWN_ROWS * DOWN_LANES;

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

extern "C" __global__ void __launch_bounds__(DOWN_THREADS)
multiply_down(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
              const u32* __restrict__ down_start, const u16* __restrict__ down_neighbours)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    value_t* const tile = (value_t*)shared_bytes;        // tile[column * DOWN_ROWS + row], and a column of zeros
    __shared__ double scratch[DOWN_THREADS / WARP];
    const int row = threadIdx.x % DOWN_ROWS, lane = threadIdx.x / DOWN_ROWS;
    if (!OF_THIS_CARD(blockIdx.x % DOWN_GROUPS, DOWN_GROUPS)) return;        // the columns that multiply_up has there
    const i64 up = (i64)(blockIdx.x / DOWN_GROUPS) * DOWN_ROWS + row;
    const i64 first = (i64)(blockIdx.x % DOWN_GROUPS) * DOWN_COLUMNS;
    const int count = (int)(first + DOWN_COLUMNS < N_DN ? DOWN_COLUMNS : N_DN - first);
    const bool inside = up < N_UP;
    const value_t* const from = x + up;
    for (int c = lane; c < count; c += DOWN_LANES)
        tile[c * DOWN_ROWS + row] = inside ? x[(first + c) * N_UP + up] : (value_t)0;
    if (lane == 0) tile[DOWN_COLUMNS * DOWN_ROWS + row] = (value_t)0;
    __syncthreads();
    double x_dot_y = 0.0;
    for (int c = lane; c < count && inside; c += DOWN_LANES) {
        const u32 begin = down_start[2 * (first + c)], middle = down_start[2 * (first + c) + 1], end = down_start[2 * (first + c) + 2];
        const i64 i = (first + c) * N_UP + up;
        const sum_t y_before = (sum_t)y[i];
        sum_t sum = 0.0;
        for (u32 group = middle; group < end; ++group) {
            const u16* const four = down_neighbours + (i64)group * 4;
            __align__(16) u16 words[4];
            *(u64*)words = *(const u64*)four;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const u16 word = words[k];
                const u32 index = word & 0x7f;
                const sum_t value = index < (u32)N_DN ? (sum_t)from[(i64)index * N_UP] : 0.0;
                sum += negated_by_top_bit(value, (u32)word << 16);
            }
        }
        for (u32 group = begin; group < middle; ++group) {
            const u16* const four = down_neighbours + (i64)group * 4;
            __align__(16) u16 words[4];
            *(u64*)words = *(const u64*)four;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const u16 word = words[k];
                const sum_t value = (sum_t)tile[(int)(word & 0x7f) * DOWN_ROWS + row];
                sum += negated_by_top_bit(value, (u32)word << 16);
            }
        }
        sum *= -1.0;
        sum += y_before;
        y[i] = (value_t)sum;
        x_dot_y += (sum_t)tile[c * DOWN_ROWS + row] * sum;
    }
    const double total = block_sum<DOWN_THREADS>(x_dot_y, scratch);
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
