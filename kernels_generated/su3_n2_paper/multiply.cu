// su3_paper_n2: strengths of SU(3) x SU(2) tensors by one sum over all labels, N_max = 2
//
//   Oberhuber, Dytrych, Launey, Langr, Draayer (2021), Algorithm 4: a block takes one tensor (lf mf) (li mi) (l0 m0) of four
//   shells, a thread one matrix element after another; 3 channel(s) of 2760 numbers
//   C += (-1)^{Sf+Si+S0+J+1} sqrt(2 S0+1) (2J+1) {Lf Li S0; Si Sf J} A_f A_i u  sum_{kappa_f kappa_i} W^f W^i W0
// As printed, but for the signs and factors of eq. 7, which are those of ordinary matrix elements, and for the sum over
// blocks of elements, which the published program leaves to the host: here a block takes all elements of four shells.

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
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

typedef double value_t;  // number type of the interactions
typedef double sum_t;  // in which a result is summed
constexpr i64 NUMBERS = 2760;                // of a channel
constexpr int L_COUNT = 5;                     // L = 0 ... na + nb
constexpr int J_COUNT = 6;                     // J = 0 ... na + nb + 1
constexpr int K_COUNT = 3;                     // k of (na + nb - 2k, k)
constexpr int RESULTS = 4;           // kappa0 rho0 of a tensor, at most
constexpr int THREADS = 128;
__constant__ int spin_f[6] = {0, 0, 1, 1, 1, 1};
__constant__ int spin_i[6] = {0, 1, 0, 1, 1, 1};
__constant__ int spin_0[6] = {0, 1, 1, 0, 1, 2};
__constant__ int spin_place[6] = {0, 0, 1, 1, 2, 0};
__constant__ int spins_of[3] = {2, 3, 1};
// (-1)^{Sf+Si+S0+J+1} sqrt(2 S0 + 1) {Lf Li S0; Si Sf J} at [((spins L_COUNT + Lf) 5 + Li - Lf + 2) 3 + J - Lf + 1]
__device__ const double spin_factor[450] = {
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.5773502691896256, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    -0.4472135954999579, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.3779644730092271, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    -0.3333333333333333, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    -0.9999999999999997, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896255, 0.0, 0.0,
    -0.5773502691896257, 0.0, 0.0, 0.5773502691896255, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    -0.44721359549995787, 0.0, 0.0, 0.44721359549995787, 0.0, 0.0, -0.447213595499958, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.37796447300922725, 0.0, 0.0, -0.3779644730092271, 0.0, 0.0, 0.3779644730092272, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.33333333333333326, 0.0, 0.0, 0.3333333333333333, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896255, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, -0.9999999999999997, 0.0, -0.0, -0.0, -0.5773502691896255, -0.0, -0.0, 0.0, -0.44721359549995776,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896255, -0.0, 0.0, 0.0, 0.44721359549995776, 0.0, 0.0, -0.0,
    0.37796447300922725, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.447213595499958, 0.0, -0.0, -0.0, -0.3779644730092271,
    -0.0, -0.0, 0.0, -0.3333333333333333, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.37796447300922725, -0.0, 0.0, 0.0,
    0.33333333333333326, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.5773502691896257, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.3333333333333332,
    -0.3333333333333333, -0.3333333333333332, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.2581988897471611, 0.2581988897471611, 0.2581988897471612, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, -0.21821789023599242, -0.2182178902359923, -0.21821789023599233, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.19245008972987526, 0.1924500897298753, 0.19245008972987526, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896257, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896257, 0.0, -0.5773502691896257, -0.28867513459481287,
    0.2886751345948128, 0.0, -0.2886751345948128, -0.3872983346207416, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    -0.2886751345948128, -0.38729833462074154, -0.0, 0.38729833462074154, 0.12909944487358055,
    -0.2581988897471611, -0.0, 0.25819888974716115, 0.3086066999241838, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.2581988897471611, 0.3086066999241838, 0.0, -0.3086066999241838, -0.07715167498104594, 0.2314550249431379,
    0.0, -0.23145502494313783, -0.263523138347365, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.23145502494313785,
    -0.263523138347365, -0.0, 0.263523138347365, 0.05270462766947299, -0.21081851067789195, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5773502691896256, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, -0.7453559924999297, 0.3726779962499649, -0.07453559924999298, -0.0,
    -0.49999999999999994, 0.2236067977499789, -0.0, 0.0, -0.447213595499958, 0.5773502691896257, -0.0, 0.0,
    -0.49999999999999994, 0.22360679774997894, 0.0, 0.3415650255319866, -0.3415650255319866,
    0.09759000729485336, 0.0, 0.36514837167011077, -0.2182178902359924, 0.0, -0.0, 0.3779644730092272,
    -0.447213595499958, 0.0, -0.0, 0.3651483716701107, -0.2182178902359924, -0.0, -0.23904572186687878,
    0.29880715233359834, -0.09960238411119945, -0.0, -0.29880715233359845, 0.2041241452319315, 0.0, 0.0, 0.0,
    0.3779644730092273, -0.0, 0.0, -0.2988071523335984, 0.2041241452319315, 0.0, 0.19072404509044316,
    -0.2670136631266204, 0.09709587750058925, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};

extern "C" __global__ void __launch_bounds__(THREADS)
tensor_strengths(const value_t* __restrict__ u, value_t* __restrict__ c, const u32* __restrict__ task_tensor,
                 const u32* __restrict__ task_quadruple, const u16* __restrict__ task_pair,
                 const u32* __restrict__ tensor_product, const u16* __restrict__ tensor_k,
                 const u16* __restrict__ tensor_first, const u16* __restrict__ tensor_rows,
                 const u16* __restrict__ quadruple_bra, const u16* __restrict__ quadruple_ket,
                 const u64* __restrict__ quadruple_start, const u32* __restrict__ quadruple_length,
                 const u32* __restrict__ j_offset, const u16* __restrict__ order, const u32* __restrict__ matrix,
                 const u16* __restrict__ quanta, const u16* __restrict__ jj_count, const u32* __restrict__ jj_first,
                 const u16* __restrict__ back_o, const double* __restrict__ back_a, const u16* __restrict__ bra_row,
                 const u16* __restrict__ ket_row, const u16* __restrict__ states_below,
                 const u16* __restrict__ irrep_first, const double* __restrict__ w_f, const double* __restrict__ w_i,
                 const u64* __restrict__ block_start, const u32* __restrict__ block_rows,
                 const u32* __restrict__ block_columns, const u32* __restrict__ row_start,
                 const u64* __restrict__ w0_start, const double* __restrict__ w0)
{
    __shared__ sum_t scratch[THREADS / WARP];
    const i64 tensor = task_tensor[blockIdx.x], quadruple = task_quadruple[blockIdx.x];
    const int bra = quadruple_bra[quadruple], ket = quadruple_ket[quadruple];
    const int kf = tensor_k[tensor * 2], ki = tensor_k[tensor * 2 + 1];
    const value_t* const elements = u + blockIdx.y * NUMBERS + (i64)quadruple_start[quadruple];
    const u32* const j_start = j_offset + quadruple * J_COUNT;
    const u16* const below = states_below + (irrep_first[quanta[ket]] + ki) * (L_COUNT + 1);
    const u16* const below_f = states_below + (irrep_first[quanta[bra]] + kf) * (L_COUNT + 1);
    for (int spins = 0; spins < 6; ++spins) {                                       // line 12
        const int sf = spin_f[spins], si = spin_i[spins], s0 = spin_0[spins];
        const i64 block = (i64)tensor_product[tensor] * 3 + s0;
        const int results = tensor_rows[tensor * 3 + s0];
        if (results == 0) continue;
        const i64 order_of = block_rows[block], columns = block_columns[block];
        const double* const w = w0 + w0_start[block] + (i64)tensor_first[tensor * 3 + s0] * order_of;
        sum_t sums[RESULTS] = {};
        int j = 0;
        for (u32 element = threadIdx.x; element < quadruple_length[quadruple]; element += THREADS) {
            while (j + 1 < J_COUNT && (jj_count[bra * J_COUNT + j] * jj_count[ket * J_COUNT + j] == 0
                                       || element >= j_start[j] + (u32)jj_count[bra * J_COUNT + j] * jj_count[ket * J_COUNT + j])) ++j;
            const int width = jj_count[ket * J_COUNT + j], place = (int)(element - j_start[j]);
            const sum_t value = elements[element];
            const i64 state_f = ((i64)jj_first[bra * J_COUNT + j] + place / width) * 4, state_i = ((i64)jj_first[ket * J_COUNT + j] + place % width) * 4;
            for (int lf = max(j - sf, 0); lf <= j + sf; ++lf) {                     // line 15
                const int at_f = sf == 0 ? 0 : lf - j + 2;
                const double a_f = back_a[state_f + at_f];
                if (a_f == 0.0 || lf >= L_COUNT) continue;
                const int row_f = bra_row[(bra * L_COUNT + lf) * K_COUNT + kf], order_f = order[bra * L_COUNT + lf];
                if (row_f == 0xffff) continue;
                const double* const w_f_of = w_f + matrix[bra * L_COUNT + lf] + row_f * order_f + back_o[state_f + at_f];
                const int low = abs(lf - s0), high = min(lf + s0 + 1, L_COUNT);
                for (int li = max(max(j - si, low), 0); li <= min(j + si, lf + s0); ++li) {      // line 19
                    const int at_i = si == 0 ? 0 : li - j + 2;
                    const double a_i = back_a[state_i + at_i];
                    if (a_i == 0.0 || li >= L_COUNT) continue;
                    const int row_i = ket_row[(ket * L_COUNT + li) * K_COUNT + ki], order_i = order[ket * L_COUNT + li];
                    if (row_i == 0xffff) continue;
                    const double* const w_i_of = w_i + matrix[ket * L_COUNT + li] + row_i * order_i + back_o[state_i + at_i];
                    const double factor = (2 * j + 1) * spin_factor[((spins * L_COUNT + lf) * 5 + li - lf + 2) * 3 + j - lf + 1] * a_f * a_i * value;
                    const int kappa_f_max = below_f[lf + 1] - below_f[lf], kappa_i_max = below[li + 1] - below[li];
                    const i64 first = (i64)row_start[block * L_COUNT + lf] + below[li] - below[low];
                    for (int kappa_f = 0; kappa_f < kappa_f_max; ++kappa_f)          // line 25
                        for (int kappa_i = 0; kappa_i < kappa_i_max; ++kappa_i) {
                            const double weight = factor * w_f_of[kappa_f * order_f] * w_i_of[kappa_i * order_i];
                            const double* const of_row = w + first + (i64)kappa_f * (below[high] - below[low]) + kappa_i;
#pragma unroll
                            for (int x = 0; x < RESULTS; ++x)                        // lines 23, 24
                                if (x < results) sums[x] += weight * of_row[x * order_of];
                        }
                }
            }
        }
        // lines 31 to 33
        value_t* const out = c + blockIdx.y * NUMBERS + (i64)block_start[block] + (i64)tensor_first[tensor * 3 + s0] * columns
                            + (i64)task_pair[blockIdx.x] * spins_of[s0] + spin_place[spins];
#pragma unroll
        for (int x = 0; x < RESULTS; ++x) {
            if (x >= results) break;
            const sum_t sum = block_sum<THREADS>(sums[x], scratch);
            if (threadIdx.x == 0) out[x * columns] = sum;
        }
    }
}
