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
