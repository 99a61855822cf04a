// The published kernel of the hybrid format (Mahmoud, Hoffmann, Reza 2018, Algorithm 7), with the paper's names. The first BOUNDARY
// non-zeros of a row are ELLPACK, row by row; the others are CSR. LANES threads a row: 32 as printed, 16 in blocks of 16.
extern "C" __global__ void __launch_bounds__(THREADS)
algorithm_7(const double* __restrict__ NonZerosEntries, const u32* __restrict__ ELLPACK_Column,
            const double* __restrict__ Value, const u32* __restrict__ CSR_Column, const u32* __restrict__ StartArr,
            const u32* __restrict__ EndArr, const u32* __restrict__ AllNonZerosCount, const double* __restrict__ x,
            double* __restrict__ y)
{
    constexpr u32 MASK = LANES == 32 ? 0xffffffffu : (1u << LANES) - 1u;
    __shared__ double ShMem1[THREADS], ShMem2[THREADS];
    const u32 Thread_id = blockDim.x * blockIdx.x + threadIdx.x;
    const u32 Warp_id = Thread_id / LANES, Th_Wa_Id = Thread_id % LANES, here = threadIdx.x;
    ShMem1[here] = 0.0;
    ShMem2[here] = 0.0;
    if (Warp_id >= ROWS) return;                                        // all lanes of a row together
    for (u32 k = Th_Wa_Id; k < BOUNDARY; k += LANES) {
        const i64 at = (i64)Warp_id * BOUNDARY + k;
        ShMem1[here] += NonZerosEntries[at] * x[ELLPACK_Column[at]];
    }
    __syncwarp(MASK);
    for (u32 step = LANES / 2; step > 0; step /= 2) {
        if (Th_Wa_Id < step) ShMem1[here] += ShMem1[here + step];
        __syncwarp(MASK);
    }
    if (AllNonZerosCount[Warp_id] > BOUNDARY) {
        for (u32 k = StartArr[Warp_id] + Th_Wa_Id; k < EndArr[Warp_id]; k += LANES)
            ShMem2[here] += Value[k] * x[CSR_Column[k]];
        __syncwarp(MASK);
        for (u32 step = LANES / 2; step > 0; step /= 2) {
            if (Th_Wa_Id < step) ShMem2[here] += ShMem2[here + step];
            __syncwarp(MASK);
        }
    }
    if (Th_Wa_Id == 0) y[Warp_id] = ShMem1[here] + ShMem2[here];
}
