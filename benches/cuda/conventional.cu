// The multiply y = H x of Yamada, Machida, Imamura (2020), section 2: V holds x as N_UP x N_DOWN by columns, element (i, j) at
// i + N_UP j, V_r the same by rows. Blocks of TILE x TILE threads, as many along each axis.
//
// In the first block of Figure 1 (a) as printed, the indices of the second part do not address the tile of the first; here thread
// (ix, iy) adds up element (i_0 + iy, j_0 + ix), so that neighbours read neighbouring elements of V_r.
constexpr u32 BLOCKS_UP = (N_UP + TILE - 1) / TILE;

#define PLACE                                                                                        \
    const u32 ix = threadIdx.x % TILE, iy = threadIdx.x / TILE;                                      \
    const u32 i_0 = blockIdx.x % BLOCKS_UP * TILE, j_0 = blockIdx.x / BLOCKS_UP * TILE;              \
    const bool inside = i_0 + ix < N_UP && j_0 + iy < N_DOWN;                                        \
    const i64 at = i_0 + ix + (i64)N_UP * (j_0 + iy);

// D * V.
extern "C" __global__ void __launch_bounds__(THREADS)
product(const double* __restrict__ diagonal, const double* __restrict__ x, double* __restrict__ y)
{
    const i64 at = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (at < (i64)N_UP * N_DOWN) y[at] = diagonal[at] * x[at];
}

// V_r from V.
extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const double* __restrict__ x, double* __restrict__ by_rows)
{
    __shared__ double tile[TILE][TILE + 1];
    PLACE
    if (inside) tile[iy][ix] = x[at];
    __syncthreads();
    if (i_0 + iy < N_UP && j_0 + ix < N_DOWN) by_rows[(i64)N_DOWN * (i_0 + iy) + j_0 + ix] = tile[ix][iy];
}

// V_new += A_up V, Figure 1 (a).
extern "C" __global__ void __launch_bounds__(THREADS)
conventional_up(const u32* __restrict__ up_start, const u32* __restrict__ up_column, const double* __restrict__ up_value,
                const double* __restrict__ by_rows, double* __restrict__ y)
{
    __shared__ double tile[TILE][TILE + 1];
    PLACE
    if (inside) tile[iy][ix] = y[at];
    __syncthreads();
    const u32 i = i_0 + iy, j = j_0 + ix;
    if (i < N_UP && j < N_DOWN)
        for (u32 k = up_start[i]; k < up_start[i + 1]; ++k)
            tile[ix][iy] += up_value[k] * by_rows[(i64)N_DOWN * up_column[k] + j];
    __syncthreads();
    if (inside) y[at] = tile[iy][ix];
}

// V_new += V A_dn^T, Figure 1 (b).
extern "C" __global__ void __launch_bounds__(THREADS)
conventional_down(const u32* __restrict__ down_start, const u32* __restrict__ down_column,
                  const double* __restrict__ down_value, const double* __restrict__ x, double* __restrict__ y)
{
    PLACE
    if (!inside) return;
    const u32 j = j_0 + iy;
    for (u32 k = down_start[j]; k < down_start[j + 1]; ++k)
        y[at] += down_value[k] * x[i_0 + ix + (i64)N_UP * down_column[k]];
}

// The rows first .. first + TILE of a matrix into shared memory, Figure 2; returns the number of the block's first non-zero.
__device__ __forceinline__ u32 store_rows(u32 first, u32 rows, const u32* start, const u32* column, const double* value,
                                          u32* columns, double* values)
{
    const u32 last = first + TILE < rows ? first + TILE : rows, base = start[first];
    for (u32 k = base + threadIdx.x; k < start[last]; k += THREADS) {
        columns[k - base] = column[k];
        values[k - base] = value[k];
    }
    __syncthreads();
    return base;
}

// The tuned A_up V: the block's rows of A_up in shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
tuned_up(const u32* __restrict__ up_start, const u32* __restrict__ up_column, const double* __restrict__ up_value,
         const double* __restrict__ by_rows, double* __restrict__ y)
{
    __shared__ double tile[TILE][TILE + 1], values[ENTRIES];
    __shared__ u32 columns[ENTRIES];
    PLACE
    if (inside) tile[iy][ix] = y[at];
    const u32 base = store_rows(i_0, N_UP, up_start, up_column, up_value, columns, values);
    const u32 i = i_0 + iy, j = j_0 + ix;
    if (i < N_UP && j < N_DOWN) {
        double sum = 0.0;
        for (u32 k = up_start[i] - base; k < up_start[i + 1] - base; ++k) sum += values[k] * by_rows[(i64)N_DOWN * columns[k] + j];
        tile[ix][iy] += sum;
    }
    __syncthreads();
    if (inside) y[at] = tile[iy][ix];
}

// The tuned D * V + V A_dn^T: the block's rows of A_dn in shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
tuned_down(const double* __restrict__ diagonal, const u32* __restrict__ down_start, const u32* __restrict__ down_column,
           const double* __restrict__ down_value, const double* __restrict__ x, double* __restrict__ y)
{
    __shared__ double values[ENTRIES];
    __shared__ u32 columns[ENTRIES];
    PLACE
    const u32 base = store_rows(j_0, N_DOWN, down_start, down_column, down_value, columns, values);
    if (!inside) return;
    const u32 j = j_0 + iy;
    double sum = diagonal[at] * x[at];
    for (u32 k = down_start[j] - base; k < down_start[j + 1] - base; ++k) sum += values[k] * x[i_0 + ix + (i64)N_UP * columns[k]];
    y[at] = sum;
}
