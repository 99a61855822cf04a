// CSR, one thread per row (Bell, Garland 2009: "scalar").
extern "C" __global__ void __launch_bounds__(THREADS)
csr_scalar(const u32* __restrict__ row_start, const u32* __restrict__ columns, const double* __restrict__ values,
           const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS) return;
    double sum = 0.0;
    for (u32 k = row_start[row]; k < row_start[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
