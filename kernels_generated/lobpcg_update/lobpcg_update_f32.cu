// lobpcg_update: a fused vector program, 11 passes over memory in one sweep.
// Vectors hold float; all arithmetic is in double. 4 elements a 16-byte load, 256 threads a block.
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

// Sum over the 32 lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Sum over a block of THREADS threads (a multiple of 32, at most 1024), in a fixed order; thread 0 gets it.
// `scratch` holds THREADS / 32 doubles and may be used again after the call.
template <int THREADS>
__device__ __forceinline__ double block_sum(double value, double* scratch)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = 0.0;
    if (warp == 0) value = warp_sum(lane < THREADS / 32 ? scratch[lane] : 0.0);
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

typedef float T;

// 16 bytes of a vector.
struct __align__(16) Pack {
    T at[4];
};

// The program for element i.
__device__ __forceinline__ void lobpcg_update_element(
    i64 i,
    double& x, double& ax, double& p, double& ap, double& w, double aw,
    double alpha, double beta, double gamma, double theta,
    double& ww, double& wx, double& wp, double& xx, double& xp, double& pp, double& xax, double& xap, double& pap, double& wax, double& wap)
{
    p = (float)(alpha * w + gamma * p);
    ap = (float)(alpha * aw + gamma * ap);
    x = (float)(beta * x + p);
    ax = (float)(beta * ax + ap);
    w = (float)(ax - theta * x);
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

extern "C" __global__ void __launch_bounds__(256) lobpcg_update(
    T* __restrict__ x_vector,
    T* __restrict__ ax_vector,
    T* __restrict__ p_vector,
    T* __restrict__ ap_vector,
    T* __restrict__ w_vector,
    const T* __restrict__ aw_vector,
    double alpha,
    double beta,
    double gamma,
    double theta,
    double* __restrict__ partials,
    i64 n)
{
    double ww = 0.0;
    double wx = 0.0;
    double wp = 0.0;
    double xx = 0.0;
    double xp = 0.0;
    double pp = 0.0;
    double xax = 0.0;
    double xap = 0.0;
    double pap = 0.0;
    double wax = 0.0;
    double wap = 0.0;
    const i64 packs = n / 4, stride = (i64)gridDim.x * 256, first = (i64)blockIdx.x * 256 + threadIdx.x;
    for (i64 pack = first; pack < packs; pack += stride) {
        Pack x_pack = reinterpret_cast<const Pack*>(x_vector)[pack];
        Pack ax_pack = reinterpret_cast<const Pack*>(ax_vector)[pack];
        Pack p_pack = reinterpret_cast<const Pack*>(p_vector)[pack];
        Pack ap_pack = reinterpret_cast<const Pack*>(ap_vector)[pack];
        Pack w_pack = reinterpret_cast<const Pack*>(w_vector)[pack];
        Pack aw_pack = reinterpret_cast<const Pack*>(aw_vector)[pack];
#pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const i64 i = pack * 4 + lane;
            double x = x_pack.at[lane];
            double ax = ax_pack.at[lane];
            double p = p_pack.at[lane];
            double ap = ap_pack.at[lane];
            double w = w_pack.at[lane];
            double aw = aw_pack.at[lane];
            lobpcg_update_element(i, x, ax, p, ap, w, aw, alpha, beta, gamma, theta, ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap);
            x_pack.at[lane] = (T)x;
            ax_pack.at[lane] = (T)ax;
            p_pack.at[lane] = (T)p;
            ap_pack.at[lane] = (T)ap;
            w_pack.at[lane] = (T)w;
        }
        reinterpret_cast<Pack*>(x_vector)[pack] = x_pack;
        reinterpret_cast<Pack*>(ax_vector)[pack] = ax_pack;
        reinterpret_cast<Pack*>(p_vector)[pack] = p_pack;
        reinterpret_cast<Pack*>(ap_vector)[pack] = ap_pack;
        reinterpret_cast<Pack*>(w_vector)[pack] = w_pack;
    }
    // The last n % 4 elements.
    const i64 i = packs * 4 + first;
    if (i < n) {
        double x = x_vector[i];
        double ax = ax_vector[i];
        double p = p_vector[i];
        double ap = ap_vector[i];
        double w = w_vector[i];
        double aw = aw_vector[i];
        lobpcg_update_element(i, x, ax, p, ap, w, aw, alpha, beta, gamma, theta, ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap);
        x_vector[i] = (T)x;
        ax_vector[i] = (T)ax;
        p_vector[i] = (T)p;
        ap_vector[i] = (T)ap;
        w_vector[i] = (T)w;
    }

    __shared__ double scratch[256 / 32];
    double total;
    total = block_sum<256>(ww, scratch);
    if (threadIdx.x == 0) partials[0 * (i64)gridDim.x + blockIdx.x] = total; // ww
    total = block_sum<256>(wx, scratch);
    if (threadIdx.x == 0) partials[1 * (i64)gridDim.x + blockIdx.x] = total; // wx
    total = block_sum<256>(wp, scratch);
    if (threadIdx.x == 0) partials[2 * (i64)gridDim.x + blockIdx.x] = total; // wp
    total = block_sum<256>(xx, scratch);
    if (threadIdx.x == 0) partials[3 * (i64)gridDim.x + blockIdx.x] = total; // xx
    total = block_sum<256>(xp, scratch);
    if (threadIdx.x == 0) partials[4 * (i64)gridDim.x + blockIdx.x] = total; // xp
    total = block_sum<256>(pp, scratch);
    if (threadIdx.x == 0) partials[5 * (i64)gridDim.x + blockIdx.x] = total; // pp
    total = block_sum<256>(xax, scratch);
    if (threadIdx.x == 0) partials[6 * (i64)gridDim.x + blockIdx.x] = total; // xax
    total = block_sum<256>(xap, scratch);
    if (threadIdx.x == 0) partials[7 * (i64)gridDim.x + blockIdx.x] = total; // xap
    total = block_sum<256>(pap, scratch);
    if (threadIdx.x == 0) partials[8 * (i64)gridDim.x + blockIdx.x] = total; // pap
    total = block_sum<256>(wax, scratch);
    if (threadIdx.x == 0) partials[9 * (i64)gridDim.x + blockIdx.x] = total; // wax
    total = block_sum<256>(wap, scratch);
    if (threadIdx.x == 0) partials[10 * (i64)gridDim.x + blockIdx.x] = total; // wap
}

// The second stage: block s adds the partial sums of sum s in a fixed order.
extern "C" __global__ void __launch_bounds__(256) lobpcg_update_finish(
    const double* __restrict__ partials, int blocks, double* __restrict__ sums)
{
    __shared__ double scratch[256 / 32];
    double total = 0.0;
    for (int block = threadIdx.x; block < blocks; block += 256) total += partials[blockIdx.x * (i64)blocks + block];
    total = block_sum<256>(total, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
