// matrix: y = A x, a sparse matrix of 60 rows with 526 non-zeros
//
//   y[r] = sum over the non-zeros of row r of A[r, c] x[c], part after part:
//   0: CSR, 32 lanes x 1 a row, 16-bit columns
// numbers: quaternion, a + b i + c j + d k, i j = k; the parts of each stand side by side in x, y and values
// least work: 16832.0 flop, 21968.0 bytes
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
constexpr i64 ROWS = 60;
constexpr int VECTORS = 1;
constexpr int THREADS = 1024;
constexpr int BLOCK_ROWS = 32;          // at most; block b owns rows block_start[b] .. block_start[b + 1]
typedef double2 pair;                 // two parts of a number
constexpr int WIDTH = 4, PAIRS = WIDTH / 2;   // real parts of a row of x: of 1 vector(s), filled up with zeros to a power of two

// A quaternion number, a + b i + c j + d k, i j = k, as in x, y and the values; rows are summed in double precision.
struct alignas(16) number { double a, b, c, d; };
constexpr int NUMBER_PAIRS = 2;       // of real parts
template <typename P>
__device__ __forceinline__ number number_at(const P* from)
{
    const P first = from[0], second = from[1];
    return number{first.x, first.y, second.x, second.y};
}

// sum += a x with the matrix element on the left: sixteen multiplications with addition.
__device__ __forceinline__ void add_product(number& sum, const number& a, const number& x)
{
    sum.a += a.a * x.a;
    sum.b += a.a * x.b;
    sum.c += a.a * x.c;
    sum.d += a.a * x.d;
    sum.a -= a.b * x.b;
    sum.b += a.b * x.a;
    sum.c -= a.b * x.d;
    sum.d += a.b * x.c;
    sum.a -= a.c * x.c;
    sum.b += a.c * x.d;
    sum.c += a.c * x.a;
    sum.d -= a.c * x.b;
    sum.a -= a.d * x.d;
    sum.b -= a.d * x.c;
    sum.c += a.d * x.b;
    sum.d += a.d * x.a;
}
__device__ __forceinline__ void add(number& sum, const number& other)
{
    sum.a += other.a;
    sum.b += other.b;
    sum.c += other.c;
    sum.d += other.d;
}
// The number of the lane whose place differs by one bit.
__device__ __forceinline__ number across(const number& value, int offset)
{
    number moved;
    moved.a = __shfl_xor_sync(ALL_LANES, value.a, offset);
    moved.b = __shfl_xor_sync(ALL_LANES, value.b, offset);
    moved.c = __shfl_xor_sync(ALL_LANES, value.c, offset);
    moved.d = __shfl_xor_sync(ALL_LANES, value.d, offset);
    return moved;
}
// The real part of conj(x) y.
__device__ __forceinline__ double dot_of(const number& x, const number& y)
{
    return x.a * y.a + x.b * y.b + x.c * y.c + x.d * y.d;
}
__device__ __forceinline__ void store(pair* to, const number& value)
{
    to[0] = {(value_t)value.a, (value_t)value.b};
    to[1] = {(value_t)value.c, (value_t)value.d};
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
multiply(const value_t* __restrict__ x, value_t* __restrict__ y_0, double* __restrict__ partials, i64 with_x_dot_y,
         const u32* __restrict__ block_start, const double* __restrict__ values_0, const u16* __restrict__ columns_0,
         const u32* __restrict__ start_0)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    number* const sums = (number*)(shared_bytes);       // sums[v * BLOCK_ROWS + row of the block]
    __shared__ double scratch[VECTORS * (THREADS / WARP)];
    const i64 first_row = block_start[blockIdx.x];
    const int count = (int)(block_start[blockIdx.x + 1] - first_row);
    const int lane_of_warp = threadIdx.x % WARP;
    {   // part 0: CSR, 32 lanes x 1 a row, 16-bit columns
        constexpr int LANES = 32, SLICE_ROWS = 1;
        const int rounds_end = (count + SLICE_ROWS - 1) / SLICE_ROWS * SLICE_ROWS;  // whole warps stay together
        constexpr int STRIDE = LANES;
        int slot = threadIdx.x / LANES;
        u32 begin = slot < count ? start_0[first_row + slot] : 0;
        u32 end = slot < count ? start_0[first_row + slot + 1] : 0;
        for (int next; slot < rounds_end; slot = next) {
            next = slot + THREADS / LANES;                              // its start is on its way while this row is summed
            const u32 next_begin = next < count ? start_0[first_row + next] : 0;
            const u32 next_end = next < count ? start_0[first_row + next + 1] : 0;
            const int row = slot;
            const bool inside = slot < count;
            number sum_0 = {};
            // 2 pack(s) are on their way before the first is used
            u32 k = begin + threadIdx.x % LANES;
#pragma unroll 1
            for (; k + 1 * STRIDE < end; k += 2 * STRIDE) {
                const u16 column_0 = __ldcs((const u16*)columns_0 + k);
                const double2 value_0a = __ldcs((const double2*)values_0 + k);
                const double2 value_0b = __ldcs((const double2*)values_0 + 526ll + k);
                const u16 column_1 = __ldcs((const u16*)columns_0 + k + 1 * STRIDE);
                const double2 value_1a = __ldcs((const double2*)values_0 + k + 1 * STRIDE);
                const double2 value_1b = __ldcs((const double2*)values_0 + 526ll + k + 1 * STRIDE);
                {
                    const number a = number{value_0a.x, value_0a.y, value_0b.x, value_0b.y};
                    const pair* const x_here = (const pair*)(x + (i64)((u32)column_0) * WIDTH);
                    add_product(sum_0, a, number_at(x_here));
                }
                {
                    const number a = number{value_1a.x, value_1a.y, value_1b.x, value_1b.y};
                    const pair* const x_here = (const pair*)(x + (i64)((u32)column_1) * WIDTH);
                    add_product(sum_0, a, number_at(x_here));
                }
            }
            if (k < end) {
                u16 column_0 = {};
                double2 value_0a = {};
                double2 value_0b = {};
                if (k < end) {
                    column_0 = __ldcs((const u16*)columns_0 + k);
                    value_0a = __ldcs((const double2*)values_0 + k);
                    value_0b = __ldcs((const double2*)values_0 + 526ll + k);
                }
                u16 column_1 = {};
                double2 value_1a = {};
                double2 value_1b = {};
                if (k + 1 * STRIDE < end) {
                    column_1 = __ldcs((const u16*)columns_0 + k + 1 * STRIDE);
                    value_1a = __ldcs((const double2*)values_0 + k + 1 * STRIDE);
                    value_1b = __ldcs((const double2*)values_0 + 526ll + k + 1 * STRIDE);
                }
                if (k < end) {
                {
                    const number a = number{value_0a.x, value_0a.y, value_0b.x, value_0b.y};
                    const pair* const x_here = (const pair*)(x + (i64)((u32)column_0) * WIDTH);
                    add_product(sum_0, a, number_at(x_here));
                }
                }
                if (k + 1 * STRIDE < end) {
                {
                    const number a = number{value_1a.x, value_1a.y, value_1b.x, value_1b.y};
                    const pair* const x_here = (const pair*)(x + (i64)((u32)column_1) * WIDTH);
                    add_product(sum_0, a, number_at(x_here));
                }
                }
            }
            for (int offset = LANES / 2; offset >= 1; offset >>= 1) {
                add(sum_0, across(sum_0, offset));
            }
            if (inside && threadIdx.x % LANES < 1) {
                number& sum_of_row_0 = sums[row];
                sum_of_row_0 = sum_0;
            }
            begin = next_begin;
            end = next_end;
        }
        __syncthreads();
    }
    if (with_x_dot_y == 0) {
#pragma unroll 1
        for (int row = threadIdx.x; row < count; row += THREADS) {
            store((pair*)y_0 + (first_row + row) * NUMBER_PAIRS, sums[row]);
        }
        return;
    }
    double dot_0 = 0.0;
#pragma unroll 1                    // unrolled, the registers of a row of numbers are spilled
    for (int row = threadIdx.x; row < count; row += THREADS) {
        const number sum_0 = sums[row];
        store((pair*)y_0 + (first_row + row) * NUMBER_PAIRS, sum_0);
        const pair* const x_of_row_0 = (const pair*)x + (first_row + row) * PAIRS;
        dot_0 += dot_of(number_at(x_of_row_0), sum_0);
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
