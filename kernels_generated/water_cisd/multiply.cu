// ci: y = A x, a sparse matrix of 141 rows with 3077 non-zeros
//
//   y[r] = sum over the non-zeros of row r of A[r, c] x[c], part after part:
//   0: ELLPACK of 12 elements a row, 2 lanes x 1 a row, 16-bit columns, x[0..133] in shared memory
//   1: CSR, 16 lanes x 1 a row, 16-bit columns
// least work: 6154.0 flop, 37284.0 bytes
// specialised: rows, parts, lanes and loads of each, windows of x in shared memory, 1 vector(s) at once

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
constexpr i64 ROWS = 141;
constexpr int VECTORS = 1;
constexpr int THREADS = 1024;
constexpr int BLOCK_ROWS = 32;          // at most; block b owns rows block_start[b] .. block_start[b + 1]

extern "C" __global__ void __launch_bounds__(THREADS, 1)
multiply(const value_t* __restrict__ x, value_t* __restrict__ y_0, double* __restrict__ partials, i64 with_x_dot_y,
         const u32* __restrict__ block_start, const double* __restrict__ values_0, const u16* __restrict__ columns_0,
         const double* __restrict__ values_1, const u16* __restrict__ columns_1, const u32* __restrict__ start_1)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    value_t* const window = (value_t*)shared_bytes;                          // x from a part's first column on
    sum_t* const sums = (sum_t*)(shared_bytes + 1072);       // sums[v * BLOCK_ROWS + row of the block]
    __shared__ double scratch[VECTORS * (THREADS / WARP)];
    const i64 first_row = block_start[blockIdx.x];
    const int count = (int)(block_start[blockIdx.x + 1] - first_row);
    const int lane_of_warp = threadIdx.x % WARP;
    {   // part 0: ELLPACK of 12 elements a row, 2 lanes x 1 a row, 16-bit columns, x[0..133] in shared memory
        constexpr int LANES = 2, SLICE_ROWS = 16;
        for (int i = threadIdx.x; i < 133; i += THREADS) window[i] = x[0ll + i];
        __syncthreads();
        const int rounds_end = (count + SLICE_ROWS - 1) / SLICE_ROWS * SLICE_ROWS;  // whole warps stay together
        constexpr int STRIDE = WARP;
        for (int slot = threadIdx.x / LANES; slot < rounds_end; slot += THREADS / LANES) {
            const int row = slot;
            const bool inside = slot < count;
            const i64 slice = (first_row + slot) / SLICE_ROWS;
            sum_t sum_0 = 0.0;
            // 6 pack(s) are on their way before the first is used
            int step = 0;
            constexpr int end = 6;
#pragma unroll 1
            for (; step + 5 < end; step += 6) {
                const i64 k = (slice * 6 + step) * WARP + lane_of_warp;
                const u16 column_0 = __ldcs((const u16*)columns_0 + k);
                const double value_0 = __ldcs((const double*)values_0 + k);
                const u16 column_1 = __ldcs((const u16*)columns_0 + k + 1 * STRIDE);
                const double value_1 = __ldcs((const double*)values_0 + k + 1 * STRIDE);
                const u16 column_2 = __ldcs((const u16*)columns_0 + k + 2 * STRIDE);
                const double value_2 = __ldcs((const double*)values_0 + k + 2 * STRIDE);
                const u16 column_3 = __ldcs((const u16*)columns_0 + k + 3 * STRIDE);
                const double value_3 = __ldcs((const double*)values_0 + k + 3 * STRIDE);
                const u16 column_4 = __ldcs((const u16*)columns_0 + k + 4 * STRIDE);
                const double value_4 = __ldcs((const double*)values_0 + k + 4 * STRIDE);
                const u16 column_5 = __ldcs((const u16*)columns_0 + k + 5 * STRIDE);
                const double value_5 = __ldcs((const double*)values_0 + k + 5 * STRIDE);
                sum_0 += (sum_t)value_0 * (sum_t)window[(u32)column_0];
                sum_0 += (sum_t)value_1 * (sum_t)window[(u32)column_1];
                sum_0 += (sum_t)value_2 * (sum_t)window[(u32)column_2];
                sum_0 += (sum_t)value_3 * (sum_t)window[(u32)column_3];
                sum_0 += (sum_t)value_4 * (sum_t)window[(u32)column_4];
                sum_0 += (sum_t)value_5 * (sum_t)window[(u32)column_5];
            }
            for (int offset = LANES / 2; offset >= 1; offset >>= 1) {
                sum_0 += __shfl_xor_sync(ALL_LANES, sum_0, offset);
            }
            if (inside && threadIdx.x % LANES < 1) {
                sum_t& sum_of_row_0 = sums[row];
                sum_of_row_0 = sum_0;
            }
        }
        __syncthreads();
    }
    {   // part 1: CSR, 16 lanes x 1 a row, 16-bit columns
        constexpr int LANES = 16, SLICE_ROWS = 2;
        const int rounds_end = (count + SLICE_ROWS - 1) / SLICE_ROWS * SLICE_ROWS;  // whole warps stay together
        constexpr int STRIDE = LANES;
        int slot = threadIdx.x / LANES;
        u32 begin = slot < count ? start_1[first_row + slot] : 0;
        u32 end = slot < count ? start_1[first_row + slot + 1] : 0;
        for (int next; slot < rounds_end; slot = next) {
            next = slot + THREADS / LANES;                              // its start is on its way while this row is summed
            const u32 next_begin = next < count ? start_1[first_row + next] : 0;
            const u32 next_end = next < count ? start_1[first_row + next + 1] : 0;
            const int row = slot;
            const bool inside = slot < count;
            sum_t sum_0 = 0.0;
            // 8 pack(s) are on their way before the first is used
            u32 k = begin + threadIdx.x % LANES;
#pragma unroll 1
            for (; k + 7 * STRIDE < end; k += 8 * STRIDE) {
                const u16 column_0 = __ldcs((const u16*)columns_1 + k);
                const double value_0 = __ldcs((const double*)values_1 + k);
                const u16 column_1 = __ldcs((const u16*)columns_1 + k + 1 * STRIDE);
                const double value_1 = __ldcs((const double*)values_1 + k + 1 * STRIDE);
                const u16 column_2 = __ldcs((const u16*)columns_1 + k + 2 * STRIDE);
                const double value_2 = __ldcs((const double*)values_1 + k + 2 * STRIDE);
                const u16 column_3 = __ldcs((const u16*)columns_1 + k + 3 * STRIDE);
                const double value_3 = __ldcs((const double*)values_1 + k + 3 * STRIDE);
                const u16 column_4 = __ldcs((const u16*)columns_1 + k + 4 * STRIDE);
                const double value_4 = __ldcs((const double*)values_1 + k + 4 * STRIDE);
                const u16 column_5 = __ldcs((const u16*)columns_1 + k + 5 * STRIDE);
                const double value_5 = __ldcs((const double*)values_1 + k + 5 * STRIDE);
                const u16 column_6 = __ldcs((const u16*)columns_1 + k + 6 * STRIDE);
                const double value_6 = __ldcs((const double*)values_1 + k + 6 * STRIDE);
                const u16 column_7 = __ldcs((const u16*)columns_1 + k + 7 * STRIDE);
                const double value_7 = __ldcs((const double*)values_1 + k + 7 * STRIDE);
                sum_0 += (sum_t)value_0 * (sum_t)x[(u32)column_0];
                sum_0 += (sum_t)value_1 * (sum_t)x[(u32)column_1];
                sum_0 += (sum_t)value_2 * (sum_t)x[(u32)column_2];
                sum_0 += (sum_t)value_3 * (sum_t)x[(u32)column_3];
                sum_0 += (sum_t)value_4 * (sum_t)x[(u32)column_4];
                sum_0 += (sum_t)value_5 * (sum_t)x[(u32)column_5];
                sum_0 += (sum_t)value_6 * (sum_t)x[(u32)column_6];
                sum_0 += (sum_t)value_7 * (sum_t)x[(u32)column_7];
            }
            if (k < end) {
                u16 column_0 = {};
                double value_0 = {};
                if (k < end) {
                    column_0 = __ldcs((const u16*)columns_1 + k);
                    value_0 = __ldcs((const double*)values_1 + k);
                }
                u16 column_1 = {};
                double value_1 = {};
                if (k + 1 * STRIDE < end) {
                    column_1 = __ldcs((const u16*)columns_1 + k + 1 * STRIDE);
                    value_1 = __ldcs((const double*)values_1 + k + 1 * STRIDE);
                }
                u16 column_2 = {};
                double value_2 = {};
                if (k + 2 * STRIDE < end) {
                    column_2 = __ldcs((const u16*)columns_1 + k + 2 * STRIDE);
                    value_2 = __ldcs((const double*)values_1 + k + 2 * STRIDE);
                }
                u16 column_3 = {};
                double value_3 = {};
                if (k + 3 * STRIDE < end) {
                    column_3 = __ldcs((const u16*)columns_1 + k + 3 * STRIDE);
                    value_3 = __ldcs((const double*)values_1 + k + 3 * STRIDE);
                }
                u16 column_4 = {};
                double value_4 = {};
                if (k + 4 * STRIDE < end) {
                    column_4 = __ldcs((const u16*)columns_1 + k + 4 * STRIDE);
                    value_4 = __ldcs((const double*)values_1 + k + 4 * STRIDE);
                }
                u16 column_5 = {};
                double value_5 = {};
                if (k + 5 * STRIDE < end) {
                    column_5 = __ldcs((const u16*)columns_1 + k + 5 * STRIDE);
                    value_5 = __ldcs((const double*)values_1 + k + 5 * STRIDE);
                }
                u16 column_6 = {};
                double value_6 = {};
                if (k + 6 * STRIDE < end) {
                    column_6 = __ldcs((const u16*)columns_1 + k + 6 * STRIDE);
                    value_6 = __ldcs((const double*)values_1 + k + 6 * STRIDE);
                }
                u16 column_7 = {};
                double value_7 = {};
                if (k + 7 * STRIDE < end) {
                    column_7 = __ldcs((const u16*)columns_1 + k + 7 * STRIDE);
                    value_7 = __ldcs((const double*)values_1 + k + 7 * STRIDE);
                }
                if (k < end) {
                sum_0 += (sum_t)value_0 * (sum_t)x[(u32)column_0];
                }
                if (k + 1 * STRIDE < end) {
                sum_0 += (sum_t)value_1 * (sum_t)x[(u32)column_1];
                }
                if (k + 2 * STRIDE < end) {
                sum_0 += (sum_t)value_2 * (sum_t)x[(u32)column_2];
                }
                if (k + 3 * STRIDE < end) {
                sum_0 += (sum_t)value_3 * (sum_t)x[(u32)column_3];
                }
                if (k + 4 * STRIDE < end) {
                sum_0 += (sum_t)value_4 * (sum_t)x[(u32)column_4];
                }
                if (k + 5 * STRIDE < end) {
                sum_0 += (sum_t)value_5 * (sum_t)x[(u32)column_5];
                }
                if (k + 6 * STRIDE < end) {
                sum_0 += (sum_t)value_6 * (sum_t)x[(u32)column_6];
                }
                if (k + 7 * STRIDE < end) {
                sum_0 += (sum_t)value_7 * (sum_t)x[(u32)column_7];
                }
            }
            for (int offset = LANES / 2; offset >= 1; offset >>= 1) {
                sum_0 += __shfl_xor_sync(ALL_LANES, sum_0, offset);
            }
            if (inside && threadIdx.x % LANES < 1) {
                sum_t& sum_of_row_0 = sums[row];
                sum_of_row_0 += sum_0;
            }
            begin = next_begin;
            end = next_end;
        }
        __syncthreads();
    }
    if (with_x_dot_y == 0) {
        for (int row = threadIdx.x; row < count; row += THREADS) {
            y_0[first_row + row] = (value_t)sums[row];
        }
        return;
    }
    double dot_0 = 0.0;
    for (int row = threadIdx.x; row < count; row += THREADS) {
        const sum_t sum_0 = sums[row];
        y_0[first_row + row] = (value_t)sum_0;
        dot_0 += (double)x[first_row + row] * sum_0;
    }
    // The warps' shares side by side, then a warp a vector.
    dot_0 = warp_sum(dot_0);
    if (lane_of_warp == 0) scratch[threadIdx.x / WARP] = dot_0;
    __syncthreads();
    for (int v = threadIdx.x / WARP; v < VECTORS; v += THREADS / WARP) {
        const double dot = warp_sum(lane_share(scratch + v * (THREADS / WARP), THREADS / WARP));
        if (lane_of_warp == 0) partials[v * gridDim.x + blockIdx.x] = dot;
    }
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
