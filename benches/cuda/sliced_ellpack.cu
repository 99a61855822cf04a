// Sliced ELLPACK, one thread per row (Mahmoud, Hoffmann, Reza 2018, Algorithm 4): ELLPACK of SLICE rows at a time, each slice as wide
// as its longest row; a row ends at column NONE.
extern "C" __global__ void __launch_bounds__(THREADS)
sliced_ellpack(const u32* __restrict__ slice_start, const u32* __restrict__ columns, const double* __restrict__ values,
               const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS) return;
    const u32 slice = row / SLICE;
    double sum = 0.0;
    for (u32 k = slice_start[slice] + row % SLICE; k < slice_start[slice + 1]; k += SLICE) {
        if (columns[k] == NONE) break;
        sum += values[k] * x[columns[k]];
    }
    y[row] = sum;
}
