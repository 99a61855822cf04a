// su3_coefficients_n2: all coupling coefficients W0 of N_max = 2, 809 numbers of 129 triples of irreps
//
//   <(l1 m1)k1 L1; (l2 m2)k2 L2 || (l3 m3)k3 L3>_rho, L3 = 0, 1, 2, phases of Draayer and Akiyama (1973). A block takes a triple:
//   1. canonical coefficients of its extremal state: from a seed down, up and over all rows (J. Herko et al., arXiv:2505.08993,
//      A.19, 43, A.22), Gram-Schmidt over rho, signs
//   2. w(k1 L1 k2 L2 K3 rho) = sum_M1 <L1 M1 L2 K3-M1|L3 K3> sum (-1)^(t1+t2-t3)/2 W_rho <t1/2 M1/2 t2/2 (K3-M1)/2|t3/2 K3/2> u1 u2
//   3. orthonormal over k3
// Seeds, u, projections and Clebsch-Gordan coefficients are tables: their sums are exact, in integers, on the host.

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

typedef double value_t;  // number type of the coefficients
typedef double sum_t;  // of their products
constexpr int L_COUNT = 5;                     // L = 0 ... na + nb
constexpr int REACH = L_COUNT;                            // of Clebsch-Gordan tables: labels below it
constexpr int IRREPS = 9;                  // of bras; as many of kets follow
constexpr int THREADS = 128;
constexpr int PAIRS = 1;           // (k1 L1, k2 L2) that a thread sums
constexpr int MOST_PAIRS = PAIRS * THREADS;
constexpr int SPIN_TABLE = REACH * REACH * REACH;         // numbers of one (t3, K3)
constexpr int ORBITAL_TABLE = 2 * SPIN_TABLE;             // numbers of one (L3, K3)

// (l1 m1) (l2 m2) (l3 m3), or their conjugates, so that (l3 m3) is in its highest-weight state.
struct Triple {
    int l1, m1, l2, m2, l3, m3;
};

__device__ __forceinline__ bool couples(int a, int b, int c) { return abs(a - b) <= c && c <= a + b; }
__device__ __forceinline__ int sum_of(const Triple& t) { return (2 * (t.l1 + t.l2 + t.m3) + t.m1 + t.m2 + t.l3) / 3; }
__device__ __forceinline__ double r_of(int l, int m, int p) { return (double)(p * (l + 1 - p) * (m + 1 + p)); }
__device__ __forceinline__ double s_of(int l, int m, int q) { return (double)(q * (m + 1 - q) * (l + m + 2 - q)); }
__device__ __forceinline__ double root(int product, double scale, double divisor)
{
    const double square = product * scale / divisor;
    return square > 0.0 ? sqrt(square) : 0.0;
}

// Whether (p1, q1) goes with (p2, q2), q2 = rest - p2.
__device__ __forceinline__ bool supported(const Triple& t, int p1, int q1, int p2, int rest)
{
    const int q2 = rest - p2;
    return p2 >= 0 && p2 <= t.l2 && q2 >= 0 && q2 <= t.m2 && couples(t.m1 + p1 - q1, t.m2 + p2 - q2, t.l3);
}

// A.19: a coefficient from the row above, by the lowering that changed q1 where there is one, else by that of p1.
__device__ sum_t descended(const Triple& t, const value_t* row, int p1, int q1, int p2, int q2)
{
    const int t2 = t.m2 + p2 - q2;
    const bool by_q1 = q1 < t.m1;
    const int a = by_q1 ? p1 : p1 + 1, b = by_q1 ? q1 + 1 : q1, t1 = t.m1 + a - b;
    const value_t* const above = row + (a * (t.m1 + 1) + b) * (t.l2 + 1);
    const sum_t raised_q = q2 >= 1 && couples(t1, t2 + 1, t.l3) ? above[p2] : 0.0;
    const sum_t raised_p = p2 >= 1 && couples(t1, t2 - 1, t.l3) ? above[p2 - 1] : 0.0;
    const double divisor = (t1 + 1) * (by_q1 ? s_of(t.l1, t.m1, q1 + 1) : r_of(t.l1, t.m1, p1 + 1));
    const int front = by_q1 ? t1 + 2 : t1;
    const int straight = (t2 + t.l3 - t1 + 1) * (t.l3 + t1 - t2 + 1), crossed = (t1 + t2 - t.l3 + 1) * (t1 + t2 + t.l3 + 3);
    const double by_s = root(front * (by_q1 ? straight : crossed), s_of(t.l2, t.m2, q2), divisor * ((t2 + 1) * (t2 + 2)));
    const double by_r = t2 > 0 ? root(front * (by_q1 ? crossed : straight), r_of(t.l2, t.m2, p2), divisor * ((t2 + 1) * t2)) : 0.0;
    return by_q1 ? by_r * raised_p - by_s * raised_q : -by_s * raised_q - by_r * raised_p;
}

// A.22: a coefficient from the row before.
__device__ sum_t filled(const Triple& t, const value_t* values, int p1, int q1, int p2, int q2, int rho_max, int rho)
{
    const int t1 = t.m1 + p1 - q1, t2 = t.m2 + p2 - q2, l3 = t.l3;
    const bool by_q2 = q2 < t.m2 && t2 > 0;
    const int source = by_q2 ? p2 : p2 + 1;
    if (source > t.l2) return 0.0;
    const double divisor = 4.0 * (t1 + 1) * (by_q2 ? t2 * s_of(t.l2, t.m2, q2 + 1) : (t2 + 2) * r_of(t.l2, t.m2, p2 + 1));
    sum_t sum = 0.0;
    if (p1 > 0 && t1 > 0) {
        const int inner = by_q2 ? (t1 + t2 - l3) * (t1 + t2 + l3 + 2) : (t2 + l3 - t1 + 2) * (l3 + t1 - t2);
        sum -= root((t2 + 1) * inner, r_of(t.l1, t.m1, p1), divisor * t1) * values[(((p1 - 1) * (t.m1 + 1) + q1) * (t.l2 + 1) + source) * rho_max + rho];
    }
    if (q1 > 0) {
        const int inner = by_q2 ? (t2 + l3 - t1) * (l3 + t1 - t2 + 2) : (t1 + t2 - l3 + 2) * (t1 + t2 + l3 + 4);
        const sum_t w = root((t2 + 1) * inner, s_of(t.l1, t.m1, q1), divisor * (t1 + 2))
                         * values[((p1 * (t.m1 + 1) + q1 - 1) * (t.l2 + 1) + source) * rho_max + rho];
        sum += by_q2 ? -w : w;
    }
    return sum;
}

// 1. Canonical coefficients of the highest-weight state, values[((p1 (m1+1) + q1) (l2+1) + p2) rho_max + rho].
__device__ void extremal(const Triple& t, int rho_max, value_t* values, value_t* row, sum_t* scratch, u32 first_seed,
                         const u16* __restrict__ seed_eta, const u16* __restrict__ seed_first, const u16* __restrict__ seed_count,
                         const u32* __restrict__ seed_start, const double* __restrict__ seed_value)
{
    const int states_1 = (t.l1 + 1) * (t.m1 + 1), sum = sum_of(t);
    for (int k = threadIdx.x; k < states_1 * (t.l2 + 1) * rho_max; k += THREADS) values[k] = 0.0;
    for (int rho = 0; rho < rho_max; ++rho) {
        const u32 seed = first_seed + rho;
        const int eta = seed_eta[seed];
        const Triple low = {t.l1, t.m1, t.l2 - eta, t.m2 - eta, t.l3, t.m3};
        const int low_sum = sum_of(low), last = low.l2 + low.m2;
        __syncthreads();
        for (int k = threadIdx.x; k < states_1 * (low.l2 + 1); k += THREADS) row[k] = 0.0;
        __syncthreads();
        for (int k = threadIdx.x; k < seed_count[seed]; k += THREADS)
            row[(states_1 - 1) * (low.l2 + 1) + seed_first[seed] + k] = seed_value[seed_start[seed] + k];
        __syncthreads();
        int rows_sum = t.l1 + t.m1;
        while (low_sum - rows_sum < last) {
            --rows_sum;
            const int p1_first = max(0, rows_sum - t.m1), count = min(t.l1, rows_sum) - p1_first + 1;
            for (int k = threadIdx.x; k < count * (low.l2 + 1); k += THREADS) {
                const int p1 = p1_first + k / (low.l2 + 1), q1 = rows_sum - p1, p2 = k % (low.l2 + 1), rest = low_sum - rows_sum;
                if (supported(low, p1, q1, p2, rest)) row[(p1 * (t.m1 + 1) + q1) * (low.l2 + 1) + p2] = descended(low, row, p1, q1, p2, rest - p2);
            }
            __syncthreads();
        }
        // the row where (l2 m2) is in its highest-weight state, eta steps up: y[p1], two rows in turn
        value_t* y = row + states_1 * (t.l2 + 1);
        value_t* next = y + t.l1 + 2;
        for (int p1 = threadIdx.x; p1 <= t.l1 + 1; p1 += THREADS) {
            const int q1 = rows_sum - p1;
            const bool there = p1 <= t.l1 && q1 >= 0 && q1 <= t.m1;
            y[p1] = there ? row[(p1 * (t.m1 + 1) + q1) * (low.l2 + 1) + low.l2] : 0.0;
            next[p1] = 0.0;
        }
        __syncthreads();
        for (int l2 = low.l2 + 1; l2 <= t.l2; ++l2) {
            --rows_sum;
            for (int p1 = threadIdx.x; p1 <= t.l1 + 1; p1 += THREADS) {
                const int q1 = rows_sum - p1, t1 = t.m1 + p1 - q1;
                sum_t w = 0.0;
                if (p1 <= t.l1 && q1 >= 0 && q1 <= t.m1 && couples(t1, l2, t.l3)) {
                    if (p1 < t.l1) w -= root((l2 + t.l3 - t1) * (t.l3 + t1 - l2 + 2), r_of(t.l1, t.m1, p1 + 1), (t1 + 1) * (t1 + 2)) * y[p1 + 1];
                    if (t1 > 0 && q1 < t.m1) w += root((t1 + l2 - t.l3) * (t1 + l2 + t.l3 + 2), s_of(t.l1, t.m1, q1 + 1), t1 * (t1 + 1)) * y[p1];
                }
                next[p1] = w;
            }
            __syncthreads();
            value_t* const before = y;
            y = next, next = before;
        }
        for (int p1 = threadIdx.x; p1 <= t.l1; p1 += THREADS) {
            const int q1 = rows_sum - p1;
            if (q1 >= 0 && q1 <= t.m1) values[((p1 * (t.m1 + 1) + q1) * (t.l2 + 1) + t.l2) * rho_max + rho] = y[p1];
        }
        __syncthreads();
    }
    for (int rows_sum = max(sum - t.l2 - t.m2 + 1, 0); rows_sum <= min(t.l1 + t.m1, sum); ++rows_sum) {
        const int p1_first = max(0, rows_sum - t.m1), count = min(t.l1, rows_sum) - p1_first + 1;
        for (int k = threadIdx.x; k < count * (t.l2 + 1) * rho_max; k += THREADS) {
            const int rho = k % rho_max, p2 = k / rho_max % (t.l2 + 1), p1 = p1_first + k / rho_max / (t.l2 + 1), q1 = rows_sum - p1, rest = sum - rows_sum;
            if (supported(t, p1, q1, p2, rest))
                values[((p1 * (t.m1 + 1) + q1) * (t.l2 + 1) + p2) * rho_max + rho] = filled(t, values, p1, q1, p2, rest - p2, rho_max, rho);
        }
        __syncthreads();
    }
    // Gram-Schmidt in the order of rho, twice
    const int all = states_1 * (t.l2 + 1);
    sum_t* const shared = scratch + THREADS / WARP;
    for (int rho = 0; rho < rho_max; ++rho)
        for (int twice = 0; twice < 2; ++twice)
            for (int earlier = 0; earlier <= rho; ++earlier) {
                sum_t part = 0.0;
                for (int k = threadIdx.x; k < all; k += THREADS) part += values[k * rho_max + rho] * values[k * rho_max + earlier];
                part = block_sum<THREADS>(part, scratch);
                if (threadIdx.x == 0) shared[0] = part;
                __syncthreads();
                const double overlap = shared[0], scale = 1.0 / sqrt(overlap);
                for (int k = threadIdx.x; k < all; k += THREADS) {
                    if (earlier < rho) values[k * rho_max + rho] -= overlap * values[k * rho_max + earlier];
                    else values[k * rho_max + rho] *= scale;
                }
                __syncthreads();
            }
    // the sign at (l1 m1)'s highest weight and the largest t2
    const int rest = sum - t.l1 - t.m1;
    int p2 = min(t.l2, rest);
    while (p2 >= 0 && !supported(t, t.l1, t.m1, p2, rest)) --p2;
    const int t2 = t.m2 + 2 * p2 - rest, phase = t.l1 + t.l2 - t.l3 + t.m1 + t.m2 - t.m3;
    for (int rho = 0; rho < rho_max; ++rho) {
        const bool odd = ((phase + rho_max - rho - 1 + (t.l1 + t2 - t.l3) / 2) & 1) != 0;
        const bool turn = values[(((states_1 - 1) * (t.l2 + 1)) + p2) * rho_max + rho] * (odd ? -1.0 : 1.0) <= 0.0;
        __syncthreads();
        for (int k = threadIdx.x; turn && k < all; k += THREADS) values[k * rho_max + rho] = -values[k * rho_max + rho];
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
coefficients(value_t* __restrict__ w0, u32 first_triple, u32 most_values, const u32* __restrict__ triple_product,
             const u16* __restrict__ triple_third, const u16* __restrict__ triple_rho,
             const u16* __restrict__ triple_first, const u16* __restrict__ triple_rows,
             const u32* __restrict__ triple_seed, const u16* __restrict__ product_bra,
             const u16* __restrict__ product_ket, const u16* __restrict__ label, const u16* __restrict__ third_label,
             const u16* __restrict__ third_k, const double* __restrict__ third_turn, const u16* __restrict__ seed_eta,
             const u16* __restrict__ seed_first, const u16* __restrict__ seed_count, const u32* __restrict__ seed_start,
             const double* __restrict__ seed_value, const u32* __restrict__ branch_row_start,
             const u16* __restrict__ branch_row, const u32* __restrict__ branch_start,
             const double* __restrict__ branch_value, const u16* __restrict__ states_below,
             const u16* __restrict__ spin_number, const double* __restrict__ spin_table,
             const double* __restrict__ orbital_table, const u64* __restrict__ w0_start,
             const u32* __restrict__ block_rows, const u32* __restrict__ row_start)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    __shared__ sum_t scratch[THREADS / WARP + 1];
    __shared__ u16 pair_1[MOST_PAIRS], pair_2[MOST_PAIRS];
    __shared__ int pair_count;
    value_t* const values = (value_t*)shared_bytes;
    value_t* const row = values + most_values;       // rows of the ladder, then u2 W of one (rho, K3, M1): product[state 1 * columns 2 + column 2]
    const i64 number = (i64)first_triple + blockIdx.x;
    const i64 product_of = triple_product[number];
    const int one = product_bra[product_of], two = IRREPS + product_ket[product_of];
    const int lambda_1 = label[2 * one], mu_1 = label[2 * one + 1], lambda_2 = label[2 * two], mu_2 = label[2 * two + 1];
    const int third = triple_third[number], lambda_3 = third_label[2 * third], mu_3 = third_label[2 * third + 1];
    const bool highest = lambda_3 < mu_3;
    const Triple t = highest ? Triple{lambda_1, mu_1, lambda_2, mu_2, lambda_3, mu_3} : Triple{mu_1, lambda_1, mu_2, lambda_2, mu_3, lambda_3};
    const int rho_max = triple_rho[number];
    // (k1 L1, k2 L2) with |L1 - L2| <= 2, in the order of the first
    const u16* const below_1 = states_below + one * (L_COUNT + 1);
    const u16* const below_2 = states_below + (two - IRREPS) * (L_COUNT + 1);
    const int columns_1 = below_1[L_COUNT], columns_2 = below_2[L_COUNT];
    for (int column = threadIdx.x; column < columns_1; column += THREADS) {
        int first = 0, l1 = 0;
        for (int other = 0; other <= column; ++other) {
            while (below_1[l1 + 1] <= other) ++l1;
            if (other < column) first += below_2[min(l1 + 3, L_COUNT)] - below_2[max(l1 - 2, 0)];
        }
        const int from = below_2[min(max(l1 - 2, 0), L_COUNT)], to = below_2[min(l1 + 3, L_COUNT)];
        for (int other = from; other < to; ++other) {
            pair_1[first + other - from] = (u16)column;
            pair_2[first + other - from] = (u16)other;
        }
        if (column == columns_1 - 1) pair_count = first + to - from;
    }
    extremal(t, rho_max, values, row, scratch, triple_seed[number], seed_eta, seed_first, seed_count, seed_start, seed_value);
    __syncthreads();
    int l_1[PAIRS], l_2[PAIRS];
#pragma unroll
    for (int own = 0; own < PAIRS; ++own) {
        const int pair = own * THREADS + threadIdx.x;
        l_1[own] = l_2[own] = 0;
        if (pair >= pair_count) continue;
        while (below_1[l_1[own] + 1] <= pair_1[pair]) ++l_1[own];
        while (below_2[l_2[own] + 1] <= pair_2[pair]) ++l_2[own];
    }
    const int sum = sum_of(t), states_1 = (t.l1 + 1) * (t.m1 + 1), reach_1 = lambda_1 + mu_1, reach_2 = lambda_2 + mu_2;
    const int phase = t.l1 + t.l2 - t.l3 + t.m1 + t.m2 - t.m3;
    const u16* const k_of = third_k + third * 3;            // lowest K3 of L3 = 0, 1, 2; 65535 where there is none
    for (int rho = 0; rho < rho_max; ++rho) {
        sum_t raw[PAIRS][4] = {};                          // L3 = 0; L3 = 1; L3 = 2 with its K3 of both kappa3
        const bool turned = !highest && ((phase + rho_max - 1 - rho) & 1) != 0;
        for (int k3 = t.l3 & 1; k3 <= 2; k3 += 2) {
            // of which L3 is it a K3?
            const bool second = k3 == k_of[2] + 2 && triple_rows[number * 3 + 2] > rho_max;
            if (k3 != k_of[0] && k3 != k_of[1] && k3 != k_of[2] && !second) continue;
            const double* const spins = spin_table + (i64)spin_number[t.l3 * 3 + k3] * SPIN_TABLE;
            for (int m1 = k3 == 0 ? 0 : max(-reach_1, k3 - reach_2); m1 <= min(reach_1, k3 + reach_2); ++m1) {
                const int m2 = k3 - m1;
                // u2 W: at most l2 + 1 multiplets of the second irrep go with one of the first
                __syncthreads();
                const u16* const rows_2 = branch_row + branch_row_start[two] + abs(m2) * (lambda_2 + 1) * (mu_2 + 1);
                const double* const u_2 = branch_value + branch_start[two * L_COUNT + abs(m2)];
                for (int k = threadIdx.x; k < states_1 * columns_2; k += THREADS) {
                    const int state = k / columns_2, column = k % columns_2, p1 = state / (t.m1 + 1), q1 = state % (t.m1 + 1);
                    const int t1 = t.m1 + p1 - q1, rest = sum - p1 - q1;
                    sum_t part = 0.0;
                    if (t1 >= abs(m1) && ((t1 + m1) & 1) == 0) {
                        const int own_p1 = highest ? p1 : t.m1 - q1;
                        const bool odd_1 = m1 < 0 && ((reach_1 + own_p1) & 1) != 0;
                        for (int p2 = max(0, rest - t.m2); p2 <= min(t.l2, rest); ++p2) {
                            const int q2 = rest - p2, t2 = t.m2 + p2 - q2;
                            if (!couples(t1, t2, t.l3) || t2 < abs(m2)) continue;
                            const int own_p2 = highest ? p2 : t.m2 - q2, own_q2 = highest ? q2 : t.l2 - p2;
                            const int at = rows_2[own_p2 * (mu_2 + 1) + own_q2];
                            if (at == 0xffff) continue;
                            const bool odd = odd_1 != (m2 < 0 && ((reach_2 + own_p2) & 1) != 0) != (highest && (((t1 + t2 - t.l3) / 2) & 1) != 0) != turned;
                            const sum_t w = values[(state * (t.l2 + 1) + p2) * rho_max + rho] * spins[(t1 * REACH + (m1 + t1) / 2) * REACH + t2];
                            part += (odd ? -w : w) * u_2[at * columns_2 + column];
                        }
                    }
                    row[k] = part;
                }
                __syncthreads();
                const u16* const rows_1 = branch_row + branch_row_start[one] + abs(m1) * (lambda_1 + 1) * (mu_1 + 1);
                const double* const u_1 = branch_value + branch_start[one * L_COUNT + abs(m1)];
                const double weight = k3 == 0 && m1 > 0 ? 2.0 : 1.0;     // the term of -M1 equals that of M1
#pragma unroll
                for (int own = 0; own < PAIRS; ++own) {
                    const int pair = own * THREADS + threadIdx.x, l1 = l_1[own], l2 = l_2[own];
                    if (pair >= pair_count || l1 < abs(m1) || l2 < abs(m2)) continue;
                    const int column_1 = pair_1[pair], column_2 = pair_2[pair];
                    sum_t part = 0.0;
                    for (int state = 0; state < states_1; ++state) {
                        const int p1 = state / (t.m1 + 1), q1 = state % (t.m1 + 1);
                        const int own_state = highest ? state : (t.m1 - q1) * (mu_1 + 1) + t.l1 - p1;
                        const int at = rows_1[own_state];
                        if (at != 0xffff) part += u_1[at * columns_1 + column_1] * row[state * columns_2 + column_2];
                    }
                    const bool odd = (m1 < 0 && (l1 & 1)) != (m2 < 0 && (l2 & 1));
                    part *= odd ? -weight : weight;
                    const double* const orbital = orbital_table + (l1 * 2 * REACH + m1 + l1) * REACH + l2;
                    if (k3 == k_of[0]) raw[own][0] += orbital[0] * part;
                    if (k3 == k_of[1]) raw[own][1] += orbital[(1 + k3) * ORBITAL_TABLE] * part;
                    if (k3 == k_of[2]) raw[own][2] += orbital[(3 + k3) * ORBITAL_TABLE] * part;
                    if (second) raw[own][3] += orbital[(3 + k3) * ORBITAL_TABLE] * part;
                }
            }
        }
        // orthonormal over k3; rows of L3 are pairs with |L1 - L2| <= L3 <= L1 + L2
#pragma unroll
        for (int own = 0; own < PAIRS; ++own) {
            const int pair = own * THREADS + threadIdx.x;
            if (pair >= pair_count) continue;
            const int l1 = l_1[own], l2 = l_2[own];
#pragma unroll
            for (int l3 = 0; l3 < 3; ++l3) {
                const int kappas = triple_rows[number * 3 + l3] / rho_max;
                if (kappas == 0 || !couples(l1, l2, l3)) continue;
                const i64 block = product_of * 3 + l3, order = block_rows[block];
                const int low = abs(l1 - l3), high = min(l1 + l3 + 1, L_COUNT);
                const i64 place = (i64)row_start[block * L_COUNT + l1] + (pair_1[pair] - below_1[l1]) * (below_2[high] - below_2[low])
                                  + pair_2[pair] - below_2[low];
                value_t* const out = w0 + w0_start[block] + (i64)triple_first[number * 3 + l3] * order + place;
                const double* const turn = third_turn + (third * 3 + l3) * 3;
                const sum_t lower = raw[own][l3];
                out[rho * order] = turn[0] * lower;
                if (kappas > 1) out[(rho_max + rho) * order] = turn[1] * lower + turn[2] * raw[own][3];
            }
        }
    }
}

// max |W^T W x - x| of one product and L3, x from a linear congruence: are irreps orthogonal to each other?
extern "C" __global__ void __launch_bounds__(THREADS, 8)
defects(const value_t* __restrict__ w0, double* __restrict__ defect, const u64* __restrict__ w0_start,
        const u32* __restrict__ block_rows)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    const int order = (int)block_rows[blockIdx.x];
    value_t* const x = (value_t*)shared_bytes;
    value_t* const coupled = x + order;
    const value_t* const w = w0 + w0_start[blockIdx.x];
    for (int k = threadIdx.x; k < order; k += THREADS) {
        u64 state = 0x9e3779b97f4a7c15ull * (u64)(k + 1);
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        x[k] = (double)(state >> 11) / 4503599627370496.0 - 1.0;
    }
    __syncthreads();
    for (int column = threadIdx.x / WARP; column < order; column += THREADS / WARP) {
        sum_t sum = 0.0;
        for (int k = threadIdx.x % WARP; k < order; k += WARP) sum += w[(i64)column * order + k] * x[k];
        sum = warp_sum(sum);
        if (threadIdx.x % WARP == 0) coupled[column] = sum;
    }
    __syncthreads();
    __shared__ double worst[THREADS];
    worst[threadIdx.x] = 0.0;
    for (int k = threadIdx.x; k < order; k += THREADS) {
        sum_t sum = -x[k];
        for (int column = 0; column < order; ++column) sum += w[(i64)column * order + k] * coupled[column];
        const double size = sum < 0.0 ? -sum : sum;
        if (!(size <= worst[threadIdx.x])) worst[threadIdx.x] = size;      // a NaN stays
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double most = 0.0;
        for (int k = 0; k < THREADS; ++k)
            if (!(worst[k] <= most)) most = worst[k];
        defect[blockIdx.x] = most;
    }
}
