// hubbard_chain_8_3up_0dn: y = H x on 56 x 1 states
//
//   H = D + (1_dn (x) A_up) + (A_dn (x) 1_up)      Yamada, Machida, Imamura (2020), eq. 2 and 3
//
// x is the matrix V[up][dn], the up index fastest: x[up + 56 * dn].
// model: built-in hubbard:1  sum!(b in 0..t.len(), s in [Up, Down]; -t[b] * weight[b] * (cdag(from[b], s) * c(to[b], s) + h.c.))
// model: built-in hubbard:2  sum!(b in 0..v.len(); v[b] * n(from[b]) * n(to[b]))
// least work: 644.0 flop, 896.0 bytes
// specialised: numbers of states, diagonal, amplitudes, packing of neighbours (index in the low 7 bits), tile shapes

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
constexpr i64 N_UP = 56;  // 3 up electrons on 8 sites
constexpr i64 N_DN = 1;  // 0 down electrons
constexpr int UP_THREADS = 64;
constexpr int UP_COLUMNS = 1;   // columns of V that share a block of the up kernel
constexpr int SLICES = (int)((N_UP + WARP - 1) / WARP);    // WARP rows that a warp works on together

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u32 up, u32 dn)
{
    double value = 0.0;
    value += 2.0 * __popc(up & (up >> 1) & 0x7fu);
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
    double x_dot_y = 0.0;
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
                const sum_t value = (sum_t)from[(int)(word & 0x7f)];
                sum += value;
            }
        }
        sum *= -1.0;
        const int row = slice * WARP + lane;
        if (row < N_UP) {
            const sum_t x_row = (sum_t)from[row];
            sum += diagonal_of(up_states[row], dn_states[column]) * x_row;
            y[column * N_UP + row] = (value_t)sum;
            x_dot_y += x_row * sum;
        }
    }
    __shared__ double scratch[UP_THREADS / WARP];
    const double total = block_sum<UP_THREADS>(x_dot_y, scratch);
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
