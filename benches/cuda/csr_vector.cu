// CSR, one warp per row (Bell, Garland 2009: "vector").
extern "C" __global__ void __launch_bounds__(THREADS)
csr_vector(const u32* __restrict__ row_start, const u32* __restrict__ columns, const double* __restrict__ values,
           const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= ROWS) return;                                            // whole warps
    double sum = 0.0;
    for (u32 k = row_start[row] + lane; k < row_start[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}
