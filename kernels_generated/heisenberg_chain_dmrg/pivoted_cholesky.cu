// dmrg: what matters of many positive matrices at once: A = L L^T + R by Cholesky's method with pivots, ended where the largest
// diagonal element of R is at most `least` (Higham 1990; Harbrecht, Peters, Schneider 2012).
//
// Column j of L is row p of A, less what the columns before have of it: (A_ip - sum_(l < j) L_il L_pl) / sqrt(R_pp), where p is the row
// with the largest R_pp (of equal ones the first). Many blocks share a matrix, each has some of its rows; they wait for each other once
// a column. L is stored by rows, so that a sum over l is read as it lies, by a warp; a warp has ROWS rows at a time, for which it reads
// row p once.
//
// The table has 6 words a matrix: its first element (column-major, both triangles), its rows, the first element of L, elements from a
// row of L to the next, the first element of its work, its blocks. Behind them, found by `first`, 4 words a block: matrix, part, first row, rows.
// Into `found` go two numbers a matrix: columns of L, and the largest diagonal element that is left.

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

typedef double value_t;  // number type of the matrices
typedef double sum_t;  // of products of their elements
constexpr int THREADS = 256, WARPS = THREADS / WARP, ROWS = 4;
constexpr int MATRIX_WORDS = 6, TASK_WORDS = 4;
// A row that is a pivot already has less than nothing left.
constexpr double TAKEN = -1.0;
// What stands for what is no number; it ends the matrix, and what is left of it is infinite.
constexpr double NO_NUMBER = 1e300;

// Waits until all blocks of a matrix have come `times` times. They are resident together: the launch says so.
__device__ __forceinline__ void meet(u32* arrived, u32 blocks, u32 times)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile u32*)arrived < blocks * times) {}
        __threadfence();
    }
    __syncthreads();
}

// The larger of two numbers, of equal ones that of the lower row; over the lanes of a warp.
__device__ __forceinline__ void largest_of_warp(double& value, double& row)
{
    for (int offset = WARP / 2; offset > 0; offset >>= 1) {
        const double other = __shfl_xor_sync(ALL_LANES, value, offset), at = __shfl_xor_sync(ALL_LANES, row, offset);
        if (other > value || (other == value && at < row)) {
            value = other;
            row = at;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
pivoted_cholesky(const value_t* __restrict__ matrices, const u64* __restrict__ table, value_t* __restrict__ factors,
                 double* __restrict__ candidates, double* __restrict__ found, u32* __restrict__ arrived, i64 first,
                 double least)
{
    extern __shared__ double shared[];
    __shared__ double values[MOST_WARPS], places[MOST_WARPS];
    const u64* task = table + first + (i64)blockIdx.x * TASK_WORDS;
    const i64 index = (i64)task[0];
    const int part = (int)task[1], begin = (int)task[2], count = (int)task[3];
    const u64* words = table + index * MATRIX_WORDS;
    const int n = (int)words[1], stride = (int)words[3], parts = (int)words[5];
    const value_t* matrix = matrices + words[0];
    value_t* factor = factors + words[2];
    double* work = candidates + words[4]; // of even and of odd columns: what is left at most, where; a pair a block
    u32* own = arrived + 2 * index;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    double *left = shared, *pivot = shared + count;

    for (int r = threadIdx.x; r < count; r += THREADS) {
        const double diagonal = matrix[(begin + r) * (i64)(n + 1)];
        left[r] = diagonal < NO_NUMBER ? diagonal : NO_NUMBER;
    }
    __syncthreads();
    double most = 0.0, value = TAKEN;
    int j = 0;
    for (;; j++) {
        // What is left at most, of this block and then of all.
        double row = 0.0;
        value = TAKEN;
        for (int r = threadIdx.x; r < count; r += THREADS) {
            if (left[r] > value) {
                value = left[r];
                row = begin + r;
            }
        }
        largest_of_warp(value, row);
        if (lane == 0) {
            values[warp] = value;
            places[warp] = row;
        }
        __syncthreads();
        double* pairs = work + (j & 1) * 2 * parts;
        if (warp == 0) {
            value = TAKEN;
            for (int w = lane; w < WARPS; w += WARP) {
                if (values[w] > value || (values[w] == value && places[w] < row)) {
                    value = values[w];
                    row = places[w];
                }
            }
            largest_of_warp(value, row);
            if (lane == 0) {
                pairs[2 * part] = value;
                pairs[2 * part + 1] = row;
            }
        }
        if (parts > 1) meet(own, (u32)parts, (u32)(j + 1));
        else __syncthreads();
        const volatile double* seen = pairs;
        value = TAKEN;
        row = 0.0;
        for (int other = lane; other < parts; other += WARP) {
            const double their = seen[2 * other], at = seen[2 * other + 1];
            if (their > value || (their == value && at < row)) {
                value = their;
                row = at;
            }
        }
        largest_of_warp(value, row);
        most = fmax(most, value);
        if (!(value > least && value > 0.000000000000001 * most && value < NO_NUMBER) || j == stride) break;

        const int p = (int)row;
        const double root = sqrt(value), scale = 1.0 / root;
        // Other blocks have written it in this launch.
        const volatile value_t* of_pivot = factor + p * (i64)stride;
        for (int l = threadIdx.x; l < j; l += THREADS) pivot[l] = of_pivot[l];
        __syncthreads();
        for (int base = warp; base < count; base += WARPS * ROWS) {
            sum_t sums[ROWS] = {};
            const value_t* row_of_base = factor + (begin + base) * (i64)stride;
#pragma unroll 4
            for (int l = lane; l < j; l += WARP) {
                const double of_p = pivot[l];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    if (base + WARPS * r < count) sums[r] += row_of_base[WARPS * r * (i64)stride + l] * of_p;
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) sums[r] = warp_sum(sums[r]);
            // A lane a row.
            sum_t sum = 0.0;
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum = lane == r ? sums[r] : sum;
            const int r = base + WARPS * lane, i = begin + r;
            if (lane < ROWS && r < count) {
                const bool taken = left[r] < 0.0;
                const double element = i == p ? root : taken ? 0.0 : (matrix[i + (i64)p * n] - sum) * scale;
                factor[i * (i64)stride + j] = element;
                if (i == p) left[r] = TAKEN;
                else if (!taken) left[r] = fmax(left[r] - element * element, 0.0);
            }
        }
        __syncthreads();
    }
    if (part == 0 && threadIdx.x == 0) {
        found[2 * index] = j;
        found[2 * index + 1] = value < NO_NUMBER ? fmax(value, 0.0) : value * NO_NUMBER;
    }
    // The last block to leave makes the counters ready for the next launch.
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(own + 1, 1u) == (u32)parts - 1) own[0] = own[1] = 0u;
    }
}
