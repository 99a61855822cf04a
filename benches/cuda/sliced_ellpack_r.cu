// Sliced ELLPACK-R, one thread per row (Mahmoud, Hoffmann, Reza 2018, Algorithm 5): as sliced ELLPACK, with the length of each row.
extern "C" __global__ void __launch_bounds__(THREADS)
sliced_ellpack_r(const u32* __restrict__ slice_start, const u32* __restrict__ columns, const double* __restrict__ values,
                 const u32* __restrict__ row_length, const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS) return;
    const u32 first = slice_start[row / SLICE] + row % SLICE, length = row_length[row];
    double sum = 0.0;
    for (u32 k = 0; k < length; ++k) sum += values[first + k * SLICE] * x[columns[first + k * SLICE]];
    y[row] = sum;
}
