// ELLPACK, one thread per row (Mahmoud, Hoffmann, Reza 2018, Algorithm 2): element k of all rows, then k + 1; a row ends at column NONE.
extern "C" __global__ void __launch_bounds__(THREADS)
ellpack(const u32* __restrict__ columns, const double* __restrict__ values, const double* __restrict__ x,
        double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= ROWS) return;
    double sum = 0.0;
    for (u32 k = 0; k < WIDTH; ++k) {
        const u32 column = columns[(i64)k * PITCH + row];
        if (column == NONE) break;
        sum += values[(i64)k * PITCH + row] * x[column];
    }
    y[row] = sum;
}
