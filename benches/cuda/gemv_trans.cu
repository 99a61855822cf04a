// The kernel gemv_trans of Nemes, Barcza, Nagy, Legeza, Szolgay (2014), Algorithm 4: V^T w of WIDTH columns with LENGTH elements each,
// BELT of them in one pass over w. The sums of a block's threads meet in shared memory, or by SHUFFLE within a warp first; each
// block saves its own, and gemv_trans_sum adds them up.
extern "C" __global__ void __launch_bounds__(THREADS)
gemv_trans(const double* __restrict__ mtx, const double* __restrict__ vec, double* __restrict__ saved)
{
    __shared__ double shared[BELT][SHUFFLE ? THREADS / 32 : THREADS];
    for (u32 belt = 0; belt < WIDTH; belt += BELT) {
        double reg[BELT];
        #pragma unroll
        for (u32 j = 0; j < BELT; ++j) reg[j] = 0.0;
        for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < LENGTH; i += (i64)THREADS * gridDim.x) {
            const double priv = vec[i];
            #pragma unroll
            for (u32 j = 0; j < BELT; ++j)
                if (belt + j < WIDTH) reg[j] += mtx[i + (i64)(belt + j) * LENGTH] * priv;
        }
        if (SHUFFLE) {
            #pragma unroll
            for (u32 j = 0; j < BELT; ++j) {
                for (u32 step = 16; step > 0; step /= 2) reg[j] += __shfl_down_sync(0xffffffffu, reg[j], step);
                if (threadIdx.x % 32 == 0) shared[j][threadIdx.x / 32] = reg[j];
            }
            __syncthreads();
            for (u32 j = threadIdx.x; j < BELT; j += THREADS)
                for (u32 warp = 1; warp < THREADS / 32; ++warp) shared[j][0] += shared[j][warp];
        } else {
            #pragma unroll
            for (u32 j = 0; j < BELT; ++j) shared[j][threadIdx.x] = reg[j];
            __syncthreads();
            for (u32 step = THREADS / 2; step > 0; step /= 2) {
                if (threadIdx.x < step)
                    for (u32 j = 0; j < BELT; ++j) shared[j][threadIdx.x] += shared[j][threadIdx.x + step];
                __syncthreads();
            }
        }
        __syncthreads();
        for (u32 j = threadIdx.x; j < BELT; j += THREADS)
            if (belt + j < WIDTH) saved[blockIdx.x * WIDTH + belt + j] = shared[j][0];
        __syncthreads();
    }
}

// One block a column.
extern "C" __global__ void __launch_bounds__(THREADS)
gemv_trans_sum(const double* __restrict__ saved, double* __restrict__ sums)
{
    __shared__ double shared[THREADS];
    double own = 0.0;
    for (u32 block = threadIdx.x; block < BLOCKS; block += THREADS) own += saved[block * WIDTH + blockIdx.x];
    shared[threadIdx.x] = own;
    __syncthreads();
    for (u32 step = THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}
