// What a card does in a second: gathers from L2, additions to words all over L2, multiplications and additions.
// Measured by `eigenforge doctor --measure`; every kernel leaves sums, so that nothing of it is left out by the compiler.

typedef long long i64;
typedef unsigned long long u64;

// Each thread gathers `rounds` elements, each of a sector of 32 bytes somewhere in x, all of which fits L2. There are n sectors, a
// power of two.
extern "C" __global__ void __launch_bounds__(1024) gather_all(
    const double* __restrict__ x, double* __restrict__ sums, i64 n, i64 rounds)
{
    u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * 0x9e3779b97f4a7c15ull;
    double sum = 0.0;
#pragma unroll 8
    for (i64 round = 0; round < rounds; round++) {
        place = place * 6364136223846793005ull + 1442695040888963407ull;      // Knuth's MMIX generator
        sum += x[4 * ((i64)(place >> 32) & (n - 1))];
    }
    sums[(i64)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Each thread adds 1 to `rounds` counts, all over the table. n is a power of two.
extern "C" __global__ void __launch_bounds__(1024) add_all(u64* __restrict__ counts, i64 n, i64 rounds)
{
    u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * 0x9e3779b97f4a7c15ull;
    for (i64 round = 0; round < rounds; round++) {
        place = place * 6364136223846793005ull + 1442695040888963407ull;
        atomicAdd(counts + ((i64)(place >> 32) & (n - 1)), 1ull);
    }
}

// Each thread multiplies and adds 8 * `rounds` times, in eight chains that do not wait for each other.
extern "C" __global__ void __launch_bounds__(1024) multiply_and_add(
    double* __restrict__ sums, i64 rounds, double factor, double shift)
{
    double chain[8];
#pragma unroll
    for (int j = 0; j < 8; j++) chain[j] = j + threadIdx.x;
    for (i64 round = 0; round < rounds; round++) {
#pragma unroll
        for (int j = 0; j < 8; j++) chain[j] = fma(chain[j], factor, shift);
    }
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < 8; j++) sum += chain[j];
    sums[(i64)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
