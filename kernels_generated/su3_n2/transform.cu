// su3_transform_n2: two-body matrix elements <-> strengths of SU(3) x SU(2) tensors, N_max = 2
//
//   u(na la ja, nb lb jb, nc lc jc, nd ld jd; J)  ->  C((lf mf) (li mi) (l0 m0) kappa0 rho0, Sf Si S0), 3 channel(s) of 2760 numbers
//   jj_to_irreps   Y = sum_J (2J+1) [6j] A u A^T,  Z = W^f Y (W^i)^T      a block: four shells and one Lf
//   couple         C = W0 Z                                               a block: a tile of one (lf mf) (li mi) S0
//   and back: couple_back, irreps_to_ls, ls_to_jj, the transposes. Every factor is an orthogonal matrix.
// least work: 478884.0 flop, 138952.0 bytes
// specialised: numbers of labels, spin factors, tiles; offsets and ranges of kappa, rho, L by pair of shells are constant in this text

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

typedef double value_t;  // number type of the interactions
typedef double sum_t;  // in which a result is summed
constexpr i64 NUMBERS = 2760;                // of a channel
constexpr int L_COUNT = 5;                     // L = 0 ... na + nb
constexpr int J_COUNT = 6;                     // J = 0 ... na + nb + 1
constexpr int QUANTA_MAX = 4;               // of na + nb; a pair (0, QUANTA_MAX) is left out
constexpr int QUANTA_COUNT = QUANTA_MAX + 1;
constexpr int WIDEST = 29;                  // columns of a slab: (Li, spins, orbital pair) beside one Lf
constexpr int SLAB_THREADS = 256;           // of a block, at most
constexpr int JJ_THREADS = 128;
constexpr int STEP = 16;                           // rows of Z that a tile of `couple` takes at once

// Sf, Si, S0, and the place of (Sf, Si) among those with the same S0
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

// ranges of the labels, by pair of shells and L
// (la, lb) that couple to L, at [pair L_COUNT + L]
__device__ const u16 order[65] = {
    1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 2, 1, 1, 0, 1,
    1, 2, 1, 1, 1, 0, 1, 0, 0, 0, 2, 1, 1, 0, 2, 1, 3, 1, 1, 0, 1, 0, 1, 0, 1, 1, 2, 1, 1};
// the first of them among all, at [pair L_COUNT + L]
__device__ const u32 first_state[65] = {
    0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 9, 10, 10, 10, 10, 12, 13,
    14, 14, 15, 16, 18, 19, 20, 21, 21, 22, 22, 22, 22, 24, 25, 26, 26, 28, 29, 32, 33, 34, 34, 35, 35, 36, 36,
    37, 38, 40, 41};
// first number of W^f and of W^i, at [pair L_COUNT + L]
__device__ const u32 matrix[65] = {
    0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 9, 10, 10, 10, 10, 14, 15,
    16, 16, 17, 18, 22, 23, 24, 25, 25, 26, 26, 26, 26, 30, 31, 32, 32, 36, 37, 46, 47, 48, 48, 49, 49, 50, 50,
    51, 52, 56, 57};
// na of each pair
__device__ const u16 shell[13] = {
    0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3};
// na + nb of each pair
__device__ const u16 quanta[13] = {
    0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 3, 4};
// jj states, at [pair J_COUNT + J]
__device__ const u16 jj_count[78] = {
    1, 1, 0, 0, 0, 0, 1, 2, 1, 0, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 2, 1, 0, 1, 2, 1, 0, 0, 0, 2, 4, 3, 1, 0, 0,
    2, 5, 5, 3, 1, 0, 2, 5, 6, 5, 3, 1, 1, 2, 2, 1, 0, 0, 2, 5, 5, 3, 1, 0, 3, 7, 8, 6, 3, 1, 1, 2, 2, 2, 1, 0,
    2, 5, 6, 5, 3, 1};
// 256 k + kappa - 1 of each row of W^f, (lf mf) = (na + nb - 2k, k)
__device__ const u16 bra_label[42] = {
    0, 0, 0, 0, 0, 0, 0, 0, 256, 0, 256, 0, 256, 0, 0, 256, 256, 0, 256, 0, 0, 0, 256, 0, 256, 0, 512, 0, 256,
    512, 256, 0, 256, 0, 0, 0, 0, 256, 256, 0, 256, 0};
// 256 k + kappa - 1 of each row of W^i, (li mi) = (k, nc + nd - 2k)
__device__ const u16 ket_label[42] = {
    0, 0, 0, 0, 0, 0, 0, 0, 256, 0, 0, 256, 256, 0, 0, 256, 0, 256, 256, 0, 0, 0, 0, 256, 256, 0, 0, 512, 256,
    0, 256, 512, 256, 0, 0, 0, 0, 256, 0, 256, 256, 0};
// (kappa, L') with L' < L of an irrep, at [irrep (L_COUNT + 1) + L]
__device__ const u16 states_below[54] = {
    0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 2, 2, 2, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 2, 2, 0, 0, 1, 2, 2, 2,
    0, 1, 1, 2, 2, 3, 0, 0, 1, 2, 3, 3, 0, 1, 1, 2, 2, 2};
// first irrep of each na + nb
__device__ const u16 irrep_first[5] = {
    0, 1, 2, 4, 6};
// first product of (na + nb, nc + nd)
__device__ const u32 group_first[25] = {
    0, 0, 1, 0, 3, 0, 6, 0, 7, 0, 9, 0, 11, 0, 15, 0, 21, 0, 23, 0, 27, 0, 30, 0, 36};

// Sf or Si, for loops that are written out
__device__ __forceinline__ constexpr bool spin_first(int spins, bool of_bra) { return of_bra ? spins >= 2 : spins == 1 || spins >= 3; }

__device__ __forceinline__ double factor_of(int spins, int lf, int li, int j)
{
    return spin_factor[((spins * L_COUNT + lf) * 5 + li - lf + 2) * 3 + j - lf + 1];
}

// Four shells and one Lf: what is beside it, [near = Li - Lf + 2][spins].
struct Slab {
    int bra, ket;           // pairs of shells
    int lf, rows;           // Lf, and its orbital pairs (la, lb)
    int width;              // columns
    int orbitals;           // orbital pairs (lc, ld) of all Li
    int near[5];            // and of Li = Lf - 2 ... Lf + 2
    i64 quadruple;
};

// Where Z of (Lf, row of W^f; Li, row of W^i; spins) stands among all strengths.
__device__ __forceinline__ i64 place_of(const Slab& slab, int row_f, int li, int row_i, int spins,
                                        const u64* __restrict__ block_start, const u32* __restrict__ row_start)
{
    const int s0 = spin_0[spins];
    const int quanta_f = quanta[slab.bra], quanta_i = quanta[slab.ket];
    // (lf mf) = (quanta_f - 2 kf, kf), (li mi) = (ki, quanta_i - 2 ki)
    const int label_f = bra_label[first_state[slab.bra * L_COUNT + slab.lf] + row_f];
    const int label_i = ket_label[first_state[slab.ket * L_COUNT + li] + row_i];
    const int kf = label_f >> 8, kappa_f = label_f & 255, ki = label_i >> 8, kappa_i = label_i & 255;
    const i64 block = ((i64)group_first[quanta_f * QUANTA_COUNT + quanta_i] + kf * (quanta_i / 2 + 1) + ki) * 3 + s0;
    // kappa_i and L of (li mi) that couple with Lf to S0
    const u16* const below = states_below + (irrep_first[quanta_i] + ki) * (L_COUNT + 1);
    const int low = abs(slab.lf - s0), high = min(slab.lf + s0 + 1, L_COUNT);
    const i64 row = (i64)row_start[block * L_COUNT + slab.lf] + kappa_f * (below[high] - below[low]) + below[li] - below[low] + kappa_i;
    // pairs of shells that contain the irreps
    const int least_f = max(kf, quanta_f == QUANTA_MAX ? 1 : 0), least_i = max(ki, quanta_i == QUANTA_MAX ? 1 : 0);
    const int bras = quanta_f - 2 * least_f + 1, kets = quanta_i - 2 * least_i + 1;
    const int pair = (shell[slab.bra] - least_f) * kets + shell[slab.ket] - least_i;
    return (i64)block_start[block] + row * (bras * kets * spins_of[s0]) + pair * spins_of[s0] + spin_place[spins];
}

// A u A^T of one LS state of the bra and one of the ket: at most four jj states make each.
__device__ __forceinline__ sum_t jj_to_ls(const value_t* __restrict__ u, int columns, const u16* __restrict__ jj_f, const double* __restrict__ a_f,
                                           const u16* __restrict__ jj_i, const double* __restrict__ a_i)
{
    const u64 four_f = *(const u64*)jj_f, four_i = *(const u64*)jj_i;       // four numbers of 16 bits each
    sum_t sum = 0.0;
#pragma unroll
    for (int f = 0; f < 4; ++f) {
        const value_t* const row = u + (int)(four_f >> (16 * f) & 0xffff) * columns;
        sum_t part = 0.0;
#pragma unroll
        for (int i = 0; i < 4; ++i) part += a_i[i] * row[(int)(four_i >> (16 * i) & 0xffff)];
        sum += a_f[f] * part;
    }
    return sum;
}

// Fills `slab` and `kind`, [near * 6 + spins] of each column; every thread of a block calls it.
__device__ __forceinline__ void open_slab(Slab& slab, u16* kind, int* begin, i64 number,
                                          const u32* __restrict__ slab_quadruple, const u16* __restrict__ slab_l,
                                          const u16* __restrict__ quadruple_bra, const u16* __restrict__ quadruple_ket,
                                          const u16* __restrict__ column_of, const u16* __restrict__ width_of)
{
    const i64 quadruple = slab_quadruple[number];
    const int bra = quadruple_bra[quadruple], ket = quadruple_ket[quadruple], lf = slab_l[number];
    if (threadIdx.x == 0) {
        slab.bra = bra, slab.ket = ket, slab.lf = lf;
        slab.rows = order[bra * L_COUNT + lf];
        slab.width = width_of[ket * L_COUNT + lf];
        slab.quadruple = quadruple;
        slab.orbitals = 0;
        for (int near = 0; near < 5; ++near) {
            const int li = lf + near - 2;
            slab.near[near] = li < 0 || li >= L_COUNT ? 0 : order[ket * L_COUNT + li];
            slab.orbitals += slab.near[near];
        }
    }
    for (int which = threadIdx.x; which < 30; which += blockDim.x) {
        const int start = column_of[(ket * L_COUNT + lf) * 30 + which];
        begin[which] = start;
        if (start == 0xffff) continue;
        const int columns = order[ket * L_COUNT + lf + which / 6 - 2];
        for (int column = 0; column < columns; ++column) kind[start + column] = (u16)which;
    }
    __syncthreads();
}

// The end of the matrices from column `from` on that fit into `half` numbers a product, at least one.
__device__ __forceinline__ int chunk_end(const Slab& slab, const u16* kind, const int* begin, int from, int half)
{
    int to = from;
    while (to < slab.width) {
        int end = to;
        while (end < slab.width && kind[end] == kind[to]) ++end;
        if (to > from && (end - from) * slab.rows > half) break;
        to = end;
    }
    return to;
}

extern "C" __global__ void __launch_bounds__(SLAB_THREADS)
jj_to_irreps(const value_t* __restrict__ u, value_t* __restrict__ z, u32 first_slab, int half,
             const u32* __restrict__ slab_quadruple, const u16* __restrict__ slab_l,
             const u16* __restrict__ quadruple_bra, const u16* __restrict__ quadruple_ket,
             const u64* __restrict__ quadruple_start, const u32* __restrict__ j_offset,
             const u16* __restrict__ column_of, const u16* __restrict__ width_of, const u16* __restrict__ term_jj,
             const double* __restrict__ term_a, const double* __restrict__ w_f,
             const double* __restrict__ w_i_transposed, const u64* __restrict__ block_start,
             const u32* __restrict__ row_start)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    __shared__ Slab slab;
    __shared__ u16 kind[WIDEST];
    __shared__ int begin[30];
    open_slab(slab, kind, begin, (i64)first_slab + blockIdx.x,
              slab_quadruple, slab_l, quadruple_bra, quadruple_ket, column_of, width_of);
    const int bra = slab.bra, ket = slab.ket, lf = slab.lf, rows = slab.rows, width = slab.width;
    value_t* const y = (value_t*)shared_bytes;            // y[orbital pair of Lf * width + column]
    value_t* const product = y + rows * width;           // W^f Y of some columns
    // 1. jj -> LS -> S0
    const value_t* const elements = u + blockIdx.y * NUMBERS + (i64)quadruple_start[slab.quadruple];
    const u32* const j_start = j_offset + slab.quadruple * J_COUNT;
    for (int item = threadIdx.x; item < rows * slab.orbitals; item += blockDim.x) {
        const int o_f = item / slab.orbitals;
        int o_i = item % slab.orbitals, near = 0;
        while (o_i >= slab.near[near]) o_i -= slab.near[near++];
        const int li = lf + near - 2;
        // 16 numbers a state: S = 0, J = L; S = 1, J = L - 1, L, L + 1; four terms each
        const i64 state_f = ((i64)first_state[bra * L_COUNT + lf] + o_f) * 16, state_i = ((i64)first_state[ket * L_COUNT + li] + o_i) * 16;
        value_t* const target = y + o_f * width + o_i;
        const int* const start = begin + near * 6;
        if (near == 2) {
            const sum_t x = jj_to_ls(elements + j_start[lf], jj_count[ket * J_COUNT + lf],
                                      term_jj + state_f, term_a + state_f, term_jj + state_i, term_a + state_i);
            target[start[0]] = (2 * lf + 1) * factor_of(0, lf, li, lf) * x;
        }
        if (start[1] != 0xffff) {
            const i64 at = state_i + 4 * (2 + lf - li);
            const sum_t x = jj_to_ls(elements + j_start[lf], jj_count[ket * J_COUNT + lf], term_jj + state_f, term_a + state_f, term_jj + at, term_a + at);
            target[start[1]] = (2 * lf + 1) * factor_of(1, lf, li, lf) * x;
        }
        if (start[2] != 0xffff) {
            const i64 at = state_f + 4 * (2 + li - lf);
            const sum_t x = jj_to_ls(elements + j_start[li], jj_count[ket * J_COUNT + li], term_jj + at, term_a + at, term_jj + state_i, term_a + state_i);
            target[start[2]] = (2 * li + 1) * factor_of(2, lf, li, li) * x;
        }
        sum_t sum_0 = 0.0, sum_1 = 0.0, sum_2 = 0.0;
        for (int j = max(max(lf, li) - 1, 0); j <= min(lf, li) + 1; ++j) {
            if (jj_count[bra * J_COUNT + j] == 0 || jj_count[ket * J_COUNT + j] == 0) continue;
            const i64 at_f = state_f + 4 * (2 + j - lf), at_i = state_i + 4 * (2 + j - li);
            const sum_t x = (2 * j + 1) * jj_to_ls(elements + j_start[j], jj_count[ket * J_COUNT + j],
                                                    term_jj + at_f, term_a + at_f, term_jj + at_i, term_a + at_i);
            sum_0 += factor_of(3, lf, li, j) * x;
            sum_1 += factor_of(4, lf, li, j) * x;
            sum_2 += factor_of(5, lf, li, j) * x;
        }
        if (start[3] != 0xffff) target[start[3]] = sum_0;
        if (start[4] != 0xffff) target[start[4]] = sum_1;
        if (start[5] != 0xffff) target[start[5]] = sum_2;
    }
    __syncthreads();
    // 2. orbital pairs -> irreps, as many columns at once as there is room for
    const double* const matrix_f = w_f + matrix[bra * L_COUNT + lf];
    for (int from = 0, to; from < width; from = to) {
        to = chunk_end(slab, kind, begin, from, half);
        const int columns = to - from;
        for (int item = threadIdx.x; item < rows * columns; item += blockDim.x) {
            const double* const w = matrix_f + item / columns * rows;
            const value_t* const source = y + from + item % columns;
            sum_t sum = 0.0;
            for (int o = 0; o < rows; ++o) sum += w[o] * source[o * width];
            product[item] = sum;
        }
        __syncthreads();
        for (int item = threadIdx.x; item < rows * columns; item += blockDim.x) {
            const int column = from + item % columns, which = kind[column], li = lf + which / 6 - 2;
            const int row_i = column - begin[which], states = order[ket * L_COUNT + li];
            const double* const w = w_i_transposed + matrix[ket * L_COUNT + li] + row_i;
            const value_t* const source = product + item / columns * columns + begin[which] - from;
            sum_t sum = 0.0;
            for (int o = 0; o < states; ++o) sum += source[o] * w[o * states];
            const i64 place = place_of(slab, item / columns, li, row_i, which % 6,
                                       block_start, row_start);
            z[blockIdx.y * NUMBERS + place] = sum;
        }
        __syncthreads();
    }
}

// A tile of ROWS x COLUMNS of C = W0 Z, or of Z = W0^T C where BACK. A thread sums DEEP x WIDE of its numbers.
template <int ROWS, int COLUMNS, int DEEP, int WIDE, bool BACK>
__device__ __forceinline__ void multiply_tile(const double* __restrict__ w, const value_t* __restrict__ in, value_t* __restrict__ out,
                                              int order_of, int columns, int first_row, int first_column)
{
    constexpr int ACROSS = COLUMNS / WIDE, THREADS = ROWS / DEEP * ACROSS;
    __shared__ double w_tile[STEP][ROWS + 1];
    __shared__ value_t in_tile[STEP][COLUMNS];
    const int row = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS;
    sum_t sum[DEEP][WIDE] = {};
    for (int from = 0; from < order_of; from += STEP) {
        for (int k = threadIdx.x; k < ROWS * STEP; k += THREADS) {
            const int r = BACK ? k % ROWS : k / STEP, s = BACK ? k / ROWS : k % STEP;
            const bool inside = first_row + r < order_of && from + s < order_of;
            const i64 at = BACK ? (i64)(from + s) * order_of + first_row + r : (i64)(first_row + r) * order_of + from + s;
            w_tile[s][r] = inside ? w[at] : 0.0;
        }
        for (int k = threadIdx.x; k < COLUMNS * STEP; k += THREADS) {
            const int s = k / COLUMNS, c = k % COLUMNS;
            const bool inside = from + s < order_of && first_column + c < columns;
            in_tile[s][c] = inside ? in[(i64)(from + s) * columns + first_column + c] : 0.0;
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < STEP; ++s) {
            sum_t left[DEEP], right[WIDE];
#pragma unroll
            for (int d = 0; d < DEEP; ++d) left[d] = w_tile[s][row + d * (ROWS / DEEP)];
#pragma unroll
            for (int v = 0; v < WIDE; ++v) right[v] = in_tile[s][column + v * ACROSS];
#pragma unroll
            for (int d = 0; d < DEEP; ++d)
#pragma unroll
                for (int v = 0; v < WIDE; ++v) sum[d][v] += left[d] * right[v];
        }
        __syncthreads();
    }
#pragma unroll
    for (int d = 0; d < DEEP; ++d)
#pragma unroll
        for (int v = 0; v < WIDE; ++v) {
            const int r = first_row + row + d * (ROWS / DEEP), c = first_column + column + v * ACROSS;
            if (r < order_of && c < columns) out[(i64)r * columns + c] = sum[d][v];
        }
}

extern "C" __global__ void __launch_bounds__(64)
couple_16(const value_t* __restrict__ in, value_t* __restrict__ out, u32 first_tile, const u32* __restrict__ tile_block,
          const u16* __restrict__ tile_row, const u16* __restrict__ tile_column, const double* __restrict__ w0,
          const u64* __restrict__ w0_start, const u64* __restrict__ block_start, const u32* __restrict__ block_rows,
          const u32* __restrict__ block_columns)
{
    const i64 tile = (i64)first_tile + blockIdx.x, block = tile_block[tile];
    const i64 start = blockIdx.y * NUMBERS + (i64)block_start[block];
    multiply_tile<16, 16, 2, 2, false>(
        w0 + w0_start[block], in + start, out + start, (int)block_rows[block], (int)block_columns[block],
        (int)tile_row[tile] * 16, (int)tile_column[tile] * 16);
}
