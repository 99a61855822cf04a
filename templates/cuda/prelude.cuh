// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = ${ warp };
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

// Most warps of a block.
constexpr int MOST_WARPS = 1024 / WARP;

// Sum over the lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = WARP / 2; offset > 0; offset >>= 1) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// The lane's share of the sums of `warps` warps: of one where a block has no more warps than a warp has lanes.
__device__ __forceinline__ double lane_share(const double* sums, int warps)
{
    const int lane = threadIdx.x % WARP;
    double value = lane < warps ? sums[lane] : 0.0;
    for (int warp = lane + WARP; warp < warps && MOST_WARPS > WARP; warp += WARP) value += sums[warp];
    return value;
}

// Sum over a block of THREADS threads (whole warps, at most 1024), in a fixed order; thread 0 gets it.
// `scratch` holds THREADS / WARP doubles and may be used again after the call.
template <int THREADS>
__device__ __forceinline__ double block_sum(double value, double* scratch)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = 0.0;
    if (warp == 0) value = warp_sum(lane_share(scratch, THREADS / WARP));
    __syncthreads();
    return value;
}

// 1 when an odd number of bits is set.
__device__ __forceinline__ u32 parity(u64 bits) { return (u32)__popcll(bits) & 1u; }

// value, or -value where the top bit of `sign` is set: one operation on the high word.
__device__ __forceinline__ double negated_by_top_bit(double value, u32 sign)
{
    return __hiloint2double(__double2hiint(value) ^ (int)(sign & 0x80000000u), __double2loint(value));
}
