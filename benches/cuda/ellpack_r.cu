// ELLPACK-R, one thread per row (Mahmoud, Hoffmann, Reza 2018, Algorithm 3): as ELLPACK, with the length of each row.
extern "C" __global__ void __launch_bounds__(THREADS)
ellpack_r(const u32* __restrict__ columns, const double* __restrict__ values, const u32* __restrict__ row_length,
          const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS) return;
    const u32 length = row_length[row];
    double sum = 0.0;
    for (u32 k = 0; k < length; ++k) sum += values[(i64)k * PITCH + row] * x[columns[(i64)k * PITCH + row]];
    y[row] = sum;
}
