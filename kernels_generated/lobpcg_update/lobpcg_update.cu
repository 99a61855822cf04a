// lobpcg_update: a fused vector program, 11 passes over memory in one sweep.
// Vectors hold double; all arithmetic is in double. 2 elements a 16-byte load, 256 threads a block.
// Sums are added in an order that depends on the length alone: the same run gives the same bits.
//
//     program lobpcg_update
//     vectors x ax p ap w : inout
//     vectors aw : in
//     scalars alpha beta gamma theta
//     p  = alpha * w  + gamma * p
//     ap = alpha * aw + gamma * ap
//     x  = beta * x  + p
//     ax = beta * ax + ap
//     w  = ax - theta * x
//     sum ww = w * w
//     sum wx = w * x
//     sum wp = w * p
//     sum xx = x * x
//     sum xp = x * p
//     sum pp = p * p
//     sum xax = x * ax
//     sum xap = x * ap
//     sum pap = p * ap
//     sum wax = w * ax
//     sum wap = w * ap

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

// Sum over the lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = WARP / 2; offset > 0; offset >>= 1) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

// What a card does of a launch: all of it, or where CARDS cards work as one device the share of CARD, a run of the items.
#ifndef CARDS
#define CARDS 1
#define CARD 0
#endif
#define SHARE_FIRST(count) ((i64)(count) * CARD / CARDS)
#define SHARE_END(count) ((i64)(count) * (CARD + 1) / CARDS)
#define OF_THIS_CARD(item, count) (SHARE_FIRST(count) <= (i64)(item) && (i64)(item) < SHARE_END(count))
#define SHARE_BLOCK (blockIdx.x - (u32)SHARE_FIRST(gridDim.x))
#define SHARE_BLOCKS (u32)(SHARE_END(gridDim.x) - SHARE_FIRST(gridDim.x))

typedef double value_t;
typedef double sum_t;

// 16 bytes of a vector.
struct __align__(16) Pack {
    value_t at[2];
};

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

// Sums of COUNT values over all threads of the launch: by warp, by block, and the last block to come adds those of all
// blocks. `arrived` is 0 before and after.
template <int COUNT>
__device__ __forceinline__ void launch_sums(double (&value)[COUNT], double* scratch, double* partials, u32* arrived, double* totals)
{
    constexpr int WARPS = 256 / WARP;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    warp_sums(value, scratch + warp * COUNT);
    __syncthreads();
    for (int s = threadIdx.x; s < COUNT; s += 256) {
        double sum = 0.0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) sum += scratch[w * COUNT + s];
        partials[s * (i64)gridDim.x + blockIdx.x] = sum;
    }
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    for (int s = warp; s < COUNT; s += WARPS) {
        double sum = 0.0;
#pragma unroll 8
        for (int block = lane; block < (int)gridDim.x; block += WARP) sum += partials[s * (i64)gridDim.x + block];
        sum = warp_sum(sum);
        if (lane == 0) totals[s] = sum;
    }
}

// The program for element i.
__device__ __forceinline__ void lobpcg_update_element(
    i64 i,
    sum_t& x, sum_t& ax, sum_t& p, sum_t& ap, sum_t& w, sum_t aw,
    double alpha, double beta, double gamma, double theta,
    sum_t& ww, sum_t& wx, sum_t& wp, sum_t& xx, sum_t& xp, sum_t& pp, sum_t& xax, sum_t& xap, sum_t& pap, sum_t& wax, sum_t& wap)
{
    p = alpha * w + gamma * p;
    ap = alpha * aw + gamma * ap;
    x = beta * x + p;
    ax = beta * ax + ap;
    w = ax - theta * x;
    ww += w * w;
    wx += w * x;
    wp += w * p;
    xx += x * x;
    xp += x * p;
    pp += p * p;
    xax += x * ax;
    xap += x * ap;
    pap += p * ap;
    wax += w * ax;
    wap += w * ap;
}

extern "C" __global__ void __launch_bounds__(256)
lobpcg_update(value_t* __restrict__ x_vector, value_t* __restrict__ ax_vector, value_t* __restrict__ p_vector,
              value_t* __restrict__ ap_vector, value_t* __restrict__ w_vector, const value_t* __restrict__ aw_vector,
              double alpha, double beta, double gamma, double theta, double* __restrict__ partials,
              u32* __restrict__ arrived, double* __restrict__ totals, i64 n)
{
    sum_t ww = 0.0;
    sum_t wx = 0.0;
    sum_t wp = 0.0;
    sum_t xx = 0.0;
    sum_t xp = 0.0;
    sum_t pp = 0.0;
    sum_t xax = 0.0;
    sum_t xap = 0.0;
    sum_t pap = 0.0;
    sum_t wax = 0.0;
    sum_t wap = 0.0;
    const i64 packs = n / 2, stride = (i64)SHARE_BLOCKS * 256, first = (i64)SHARE_BLOCK * 256 + threadIdx.x;
    for (i64 pack = SHARE_FIRST(packs) + first; pack < SHARE_END(packs); pack += stride) {
        Pack x_pack = reinterpret_cast<const Pack*>(x_vector)[pack];
        Pack ax_pack = reinterpret_cast<const Pack*>(ax_vector)[pack];
        Pack p_pack = reinterpret_cast<const Pack*>(p_vector)[pack];
        Pack ap_pack = reinterpret_cast<const Pack*>(ap_vector)[pack];
        Pack w_pack = reinterpret_cast<const Pack*>(w_vector)[pack];
        Pack aw_pack = reinterpret_cast<const Pack*>(aw_vector)[pack];
#pragma unroll
        for (int lane = 0; lane < 2; lane++) {
            const i64 i = pack * 2 + lane;
            sum_t x = x_pack.at[lane];
            sum_t ax = ax_pack.at[lane];
            sum_t p = p_pack.at[lane];
            sum_t ap = ap_pack.at[lane];
            sum_t w = w_pack.at[lane];
            sum_t aw = aw_pack.at[lane];
            lobpcg_update_element(i, x, ax, p, ap, w, aw, alpha, beta, gamma, theta, ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap);
            x_pack.at[lane] = (value_t)x;
            ax_pack.at[lane] = (value_t)ax;
            p_pack.at[lane] = (value_t)p;
            ap_pack.at[lane] = (value_t)ap;
            w_pack.at[lane] = (value_t)w;
        }
        reinterpret_cast<Pack*>(x_vector)[pack] = x_pack;
        reinterpret_cast<Pack*>(ax_vector)[pack] = ax_pack;
        reinterpret_cast<Pack*>(p_vector)[pack] = p_pack;
        reinterpret_cast<Pack*>(ap_vector)[pack] = ap_pack;
        reinterpret_cast<Pack*>(w_vector)[pack] = w_pack;
    }
    // The last n % 2 elements are the last card's.
    const i64 i = packs * 2 + first;
    if (CARD == CARDS - 1 && i < n) {
        sum_t x = x_vector[i];
        sum_t ax = ax_vector[i];
        sum_t p = p_vector[i];
        sum_t ap = ap_vector[i];
        sum_t w = w_vector[i];
        sum_t aw = aw_vector[i];
        lobpcg_update_element(i, x, ax, p, ap, w, aw, alpha, beta, gamma, theta, ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap);
        x_vector[i] = (value_t)x;
        ax_vector[i] = (value_t)ax;
        p_vector[i] = (value_t)p;
        ap_vector[i] = (value_t)ap;
        w_vector[i] = (value_t)w;
    }

    __shared__ double scratch[11 * 256 / WARP];
    sum_t values[] = {ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap};
    launch_sums(values, scratch, partials, arrived, totals);
}
