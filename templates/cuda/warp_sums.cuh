// Sums of COUNT values over the lanes of a warp, in a fixed order: at each step a lane gives half of its values to a
// partner and keeps the others, so that all cost some COUNT exchanges and not five each.
template <int COUNT>
__device__ __forceinline__ void warp_sums(double (&value)[COUNT], double* to)
{
    const int lane = threadIdx.x % WARP;
    int held = COUNT, begin = 0, end = COUNT, alike = WARP - 1; // lanes that differ in the bits `alike` end with the same sums
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset >>= 1) {
        if (held == 1) {
            value[0] += __shfl_xor_sync(ALL_LANES, value[0], offset);
            continue;
        }
        const int half = (held + 1) / 2;
        const bool high = (lane & offset) != 0;
#pragma unroll
        for (int j = 0; j < (COUNT + 1) / 2; j++) {
            if (j < half) {
                const double upper = j + half < held ? value[j + half] : 0.0;
                const double kept = high ? upper : value[j], given = high ? value[j] : upper;
                value[j] = kept + __shfl_xor_sync(ALL_LANES, given, offset);
            }
        }
        end = high ? end : min(end, begin + half);
        begin = high ? begin + half : begin;
        held = half;
        alike = offset - 1;
    }
    if ((lane & alike) != 0) return;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        if (j < held && begin + j < end) to[begin + j] = value[j];
    }
}
