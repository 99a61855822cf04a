// ci: sigma = H C of configuration interaction, rows of H from a table, those without room made anew
//
//   341 determinants (alpha string, beta string) of 5 + 5 electrons in 7 orbitals;
//   21 alpha and 21 beta strings, 3 slots (level, irrep) of beta strings
//   sigma(I, K) = sum over J, L of H(I K, J L) C(J, L): one or two moves of I, of K, or one of each
// least work: 23922.0 flop, 153080.0 bytes
// specialised: electrons, slots, irreps, 1 lanes over the moves of a beta string

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

// value, or -value where the top bit of `sign` is set: one operation on the high word.
__device__ __forceinline__ double negated_by_top_bit(double value, u32 sign)
{
    return __hiloint2double(__double2hiint(value) ^ (int)(sign & 0x80000000u), __double2loint(value));
}

typedef double value_t;                                   // number type of the vectors
typedef double sum_t;                                     // in which a row is summed
constexpr i64 ROWS = 341;                      // determinants
constexpr int ORBITALS = 7;
constexpr int PAIRS = 28;                    // of orbitals
constexpr int UP = 5;                          // alpha electrons
constexpr int DOWN = 5;                      // beta electrons
constexpr int SLOTS = 3;                    // of beta strings: level and irrep
constexpr int IRREPS = 4;                  // of pairs of orbitals
constexpr int LANES = 1;                    // over the moves of a beta string
constexpr int GROUPS = WARP / LANES;                       // of lanes: moves of an alpha string at once
constexpr int THREADS = 256;
constexpr i64 WARPS = (i64)43 * (THREADS / WARP);
constexpr u64 NONE = ~0ull;                               // first_row of what is not in the space

// (pair|r r) of all electrons of the other spin.
template <int ELECTRONS>
__device__ __forceinline__ double felt_by(const double* __restrict__ repulsion, int pair, const u16* orbitals)
{
    double sum = 0.0;
    for (int r = 0; r < ELECTRONS; ++r) sum += repulsion[(i64)pair * ORBITALS + orbitals[r]];
    return sum;
}

// A warp takes every WARPS-th row; rows beside each other share their alpha string, and so most of what they read.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(const double* __restrict__ diagonal, const value_t* __restrict__ x, value_t* __restrict__ y,
         double* __restrict__ partials, i64 kept, const u64* __restrict__ row_start, const u32* __restrict__ row_length,
         const double* __restrict__ elements, const u32* __restrict__ columns, const u32* __restrict__ row_alpha,
         const u32* __restrict__ row_beta, const u64* __restrict__ first_row, const u16* __restrict__ beta_slot,
         const u32* __restrict__ beta_place, const double* __restrict__ alpha_energy,
         const double* __restrict__ beta_energy, const u16* __restrict__ alpha_orbital,
         const u16* __restrict__ beta_orbital, const u64* __restrict__ alpha_single_start,
         const u32* __restrict__ alpha_single, const u16* __restrict__ alpha_pair, const double* __restrict__ alpha_own,
         const u64* __restrict__ alpha_double_start, const u32* __restrict__ alpha_double,
         const double* __restrict__ alpha_value, const u64* __restrict__ run_start, const u16* __restrict__ run_slot,
         const u64* __restrict__ run_first, const u32* __restrict__ single_place, const u16* __restrict__ beta_pair,
         const double* __restrict__ beta_own, const u64* __restrict__ beta_double_start,
         const u32* __restrict__ beta_double, const double* __restrict__ beta_value, const u16* __restrict__ pair_irrep,
         const double* __restrict__ coulomb, const double* __restrict__ repulsion)
{
    __shared__ double scratch[THREADS / WARP];
    const int lane = threadIdx.x % WARP, group = lane / LANES;
    double dot = 0.0;
    for (i64 row = (i64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; row < ROWS; row += WARPS) {
        sum_t sum = lane == 0 ? diagonal[row] * x[row] : 0.0;
        if (row < kept) {
            const u64 end = row_start[row] + row_length[row];
#pragma unroll 4
            for (u64 k = row_start[row] + lane; k < end; k += WARP) sum += elements[k] * x[columns[k]];
        } else {
        const u32 alpha = row_alpha[row], beta = row_beta[row];
        const int slot = beta_slot[beta];
        const u32 place = beta_place[beta];                              // among the beta strings of its slot
        const u64* const own_first = first_row + (i64)alpha * SLOTS;
        const u16 *const of_alpha = alpha_orbital + (i64)alpha * UP, *const of_beta = beta_orbital + (i64)beta * DOWN;

        // alpha moves, the beta electrons looking on
        for (u64 k = alpha_single_start[alpha] + lane; k < alpha_single_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_single[k] * SLOTS + slot];
            if (first == NONE) continue;
            const u32 word = alpha_pair[k];
            const double felt = felt_by<DOWN>(repulsion, word & 0x7fffu, of_beta);
            sum += (alpha_own[k] + negated_by_top_bit(felt, word << 16)) * x[first + place];
        }
        for (u64 k = alpha_double_start[alpha] + lane; k < alpha_double_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_double[k] * SLOTS + slot];
            if (first != NONE) sum += alpha_value[k] * x[first + place];
        }
        // beta moves, the alpha electrons looking on
        for (u64 run = run_start[(i64)beta * IRREPS]; run < run_start[(i64)(beta + 1) * IRREPS]; ++run) {
            const u64 first = own_first[run_slot[run]];
            if (first == NONE) continue;
            for (u64 m = run_first[run] + lane; m < run_first[run + 1]; m += WARP) {
                const u32 word = beta_pair[m];
                const double felt = felt_by<UP>(repulsion, word & 0x7fffu, of_alpha);
                sum += (beta_own[m] + negated_by_top_bit(felt, word << 16)) * x[first + single_place[m]];
            }
        }
        for (u64 k = beta_double_start[beta] + lane; k < beta_double_start[beta + 1]; k += WARP) {
            const u32 other = beta_double[k];
            const u64 first = own_first[beta_slot[other]];
            if (first != NONE) sum += beta_value[k] * x[first + beta_place[other]];
        }
        // a move of each: GROUPS alpha moves at once, LANES lanes over the beta moves of the same irrep
        for (u64 k = alpha_single_start[alpha] + group; k < alpha_single_start[alpha + 1]; k += GROUPS) {
            const u32 word = alpha_pair[k];
            const int pair = (int)(word & 0x7fffu);
            const u64* const firsts = first_row + (i64)alpha_single[k] * SLOTS;
            // coulomb[other][pair]: the lanes of a warp have one other at a time, so they read one row.
            const double* const felt = coulomb + pair;
            const i64 list = (i64)beta * IRREPS + pair_irrep[pair];
            const u64 end = run_start[list + 1];
            sum_t of_move = 0.0;
            for (u64 run = run_start[list]; run < end; ++run) {
                const u64 first = firsts[run_slot[run]];
                if (first == NONE) continue;
                const value_t* const from = x + first;
                const u64 last = run_first[run + 1];
#pragma unroll 2
                for (u64 m = run_first[run] + lane % LANES; m < last; m += LANES) {
                    const u32 other = beta_pair[m];
                    const double other_felt = felt[(i64)(other & 0x7fffu) * PAIRS];
                    of_move += negated_by_top_bit(other_felt, other << 16) * from[single_place[m]];
                }
            }
            sum += negated_by_top_bit(of_move, word << 16);
        }

        }
        sum = warp_sum(sum);
        if (lane == 0) {
            y[row] = sum;
            dot += x[row] * sum;
        }
    }
    dot = block_sum<THREADS>(dot, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = dot;
}

// x . y from its partial sums, in a fixed order: block b adds the sums of vector b into place + b.
extern "C" __global__ void __launch_bounds__(1024)
multiply_finish(const double* __restrict__ partials, i64 count, i64 place, double* __restrict__ x_dot_y)
{
    __shared__ double scratch[MOST_WARPS];
    double sum = 0.0;
    for (i64 k = threadIdx.x; k < count; k += 1024) sum += partials[blockIdx.x * count + k];
    sum = block_sum<1024>(sum, scratch);
    if (threadIdx.x == 0) x_dot_y[place + blockIdx.x] = sum;
}

// <I K|H|I K> = E(I) + E(K) + sum over p in I, r in K of (pp|rr). A thread a row.
extern "C" __global__ void __launch_bounds__(THREADS)
diagonal_of_all(double* __restrict__ diagonal_out, const u32* __restrict__ row_alpha, const u32* __restrict__ row_beta,
                const u64* __restrict__ first_row, const u16* __restrict__ beta_slot,
                const u32* __restrict__ beta_place, const double* __restrict__ alpha_energy,
                const double* __restrict__ beta_energy, const u16* __restrict__ alpha_orbital,
                const u16* __restrict__ beta_orbital, const u64* __restrict__ alpha_single_start,
                const u32* __restrict__ alpha_single, const u16* __restrict__ alpha_pair,
                const double* __restrict__ alpha_own, const u64* __restrict__ alpha_double_start,
                const u32* __restrict__ alpha_double, const double* __restrict__ alpha_value,
                const u64* __restrict__ run_start, const u16* __restrict__ run_slot, const u64* __restrict__ run_first,
                const u32* __restrict__ single_place, const u16* __restrict__ beta_pair,
                const double* __restrict__ beta_own, const u64* __restrict__ beta_double_start,
                const u32* __restrict__ beta_double, const double* __restrict__ beta_value,
                const u16* __restrict__ pair_irrep, const double* __restrict__ coulomb,
                const double* __restrict__ repulsion)
{
    for (i64 row = (i64)blockIdx.x * THREADS + threadIdx.x; row < ROWS; row += WARPS * WARP) {
        const u32 alpha = row_alpha[row], beta = row_beta[row];
        double energy = alpha_energy[alpha] + beta_energy[beta];
        for (int p = 0; p < UP; ++p) {
            const int orbital = alpha_orbital[(i64)alpha * UP + p];
            energy += felt_by<DOWN>(repulsion, orbital * (orbital + 1) / 2 + orbital, beta_orbital + (i64)beta * DOWN);
        }
        diagonal_out[row] = energy;
    }
}

// The largest sum of |H| along a row among those of each block: a bound of the norm (Gershgorin 1931).
extern "C" __global__ void __launch_bounds__(THREADS)
largest_row_sums(const double* __restrict__ diagonal, double* __restrict__ largest, const u32* __restrict__ row_alpha,
                 const u32* __restrict__ row_beta, const u64* __restrict__ first_row, const u16* __restrict__ beta_slot,
                 const u32* __restrict__ beta_place, const double* __restrict__ alpha_energy,
                 const double* __restrict__ beta_energy, const u16* __restrict__ alpha_orbital,
                 const u16* __restrict__ beta_orbital, const u64* __restrict__ alpha_single_start,
                 const u32* __restrict__ alpha_single, const u16* __restrict__ alpha_pair,
                 const double* __restrict__ alpha_own, const u64* __restrict__ alpha_double_start,
                 const u32* __restrict__ alpha_double, const double* __restrict__ alpha_value,
                 const u64* __restrict__ run_start, const u16* __restrict__ run_slot, const u64* __restrict__ run_first,
                 const u32* __restrict__ single_place, const u16* __restrict__ beta_pair,
                 const double* __restrict__ beta_own, const u64* __restrict__ beta_double_start,
                 const u32* __restrict__ beta_double, const double* __restrict__ beta_value,
                 const u16* __restrict__ pair_irrep, const double* __restrict__ coulomb,
                 const double* __restrict__ repulsion)
{
    __shared__ double of_warp[THREADS / WARP];
    const int lane = threadIdx.x % WARP, group = lane / LANES;
    double most = 0.0;
    for (i64 row = (i64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; row < ROWS; row += WARPS) {
        const u32 alpha = row_alpha[row], beta = row_beta[row];
        const int slot = beta_slot[beta];
        const u32 place = beta_place[beta];                              // among the beta strings of its slot
        const u64* const own_first = first_row + (i64)alpha * SLOTS;
        const u16 *const of_alpha = alpha_orbital + (i64)alpha * UP, *const of_beta = beta_orbital + (i64)beta * DOWN;

        sum_t sum = lane == 0 ? fabs(diagonal[row]) : 0.0;
        // alpha moves, the beta electrons looking on
        for (u64 k = alpha_single_start[alpha] + lane; k < alpha_single_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_single[k] * SLOTS + slot];
            if (first == NONE) continue;
            const u32 word = alpha_pair[k];
            const double felt = felt_by<DOWN>(repulsion, word & 0x7fffu, of_beta);
            sum += fabs((alpha_own[k] + negated_by_top_bit(felt, word << 16)));
        }
        for (u64 k = alpha_double_start[alpha] + lane; k < alpha_double_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_double[k] * SLOTS + slot];
            if (first != NONE) sum += fabs(alpha_value[k]);
        }
        // beta moves, the alpha electrons looking on
        for (u64 run = run_start[(i64)beta * IRREPS]; run < run_start[(i64)(beta + 1) * IRREPS]; ++run) {
            const u64 first = own_first[run_slot[run]];
            if (first == NONE) continue;
            for (u64 m = run_first[run] + lane; m < run_first[run + 1]; m += WARP) {
                const u32 word = beta_pair[m];
                const double felt = felt_by<UP>(repulsion, word & 0x7fffu, of_alpha);
                sum += fabs((beta_own[m] + negated_by_top_bit(felt, word << 16)));
            }
        }
        for (u64 k = beta_double_start[beta] + lane; k < beta_double_start[beta + 1]; k += WARP) {
            const u32 other = beta_double[k];
            const u64 first = own_first[beta_slot[other]];
            if (first != NONE) sum += fabs(beta_value[k]);
        }
        // a move of each: GROUPS alpha moves at once, LANES lanes over the beta moves of the same irrep
        for (u64 k = alpha_single_start[alpha] + group; k < alpha_single_start[alpha + 1]; k += GROUPS) {
            const u32 word = alpha_pair[k];
            const int pair = (int)(word & 0x7fffu);
            const u64* const firsts = first_row + (i64)alpha_single[k] * SLOTS;
            // coulomb[other][pair]: the lanes of a warp have one other at a time, so they read one row.
            const double* const felt = coulomb + pair;
            const i64 list = (i64)beta * IRREPS + pair_irrep[pair];
            const u64 end = run_start[list + 1];
            sum_t of_move = 0.0;
            for (u64 run = run_start[list]; run < end; ++run) {
                const u64 first = firsts[run_slot[run]];
                if (first == NONE) continue;
                const u64 last = run_first[run + 1];
#pragma unroll 2
                for (u64 m = run_first[run] + lane % LANES; m < last; m += LANES) {
                    const u32 other = beta_pair[m];
                    const double other_felt = felt[(i64)(other & 0x7fffu) * PAIRS];
                    of_move += fabs(other_felt);
                }
            }
            sum += of_move;
        }

        most = fmax(most, warp_sum(sum));
    }
    if (lane == 0) of_warp[threadIdx.x / WARP] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < THREADS / WARP; ++warp) most = fmax(most, of_warp[warp]);
        largest[blockIdx.x] = most;
    }
}

// How many elements each row has beside the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS)
count_elements(u32* __restrict__ row_length, const u32* __restrict__ row_alpha, const u32* __restrict__ row_beta,
               const u64* __restrict__ first_row, const u16* __restrict__ beta_slot, const u32* __restrict__ beta_place,
               const double* __restrict__ alpha_energy, const double* __restrict__ beta_energy,
               const u16* __restrict__ alpha_orbital, const u16* __restrict__ beta_orbital,
               const u64* __restrict__ alpha_single_start, const u32* __restrict__ alpha_single,
               const u16* __restrict__ alpha_pair, const double* __restrict__ alpha_own,
               const u64* __restrict__ alpha_double_start, const u32* __restrict__ alpha_double,
               const double* __restrict__ alpha_value, const u64* __restrict__ run_start,
               const u16* __restrict__ run_slot, const u64* __restrict__ run_first,
               const u32* __restrict__ single_place, const u16* __restrict__ beta_pair,
               const double* __restrict__ beta_own, const u64* __restrict__ beta_double_start,
               const u32* __restrict__ beta_double, const double* __restrict__ beta_value,
               const u16* __restrict__ pair_irrep, const double* __restrict__ coulomb,
               const double* __restrict__ repulsion)
{
    const int lane = threadIdx.x % WARP, group = lane / LANES;
    for (i64 row = (i64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; row < ROWS; row += WARPS) {
        const u32 alpha = row_alpha[row], beta = row_beta[row];
        const int slot = beta_slot[beta];
        const u32 place = beta_place[beta];                              // among the beta strings of its slot
        const u64* const own_first = first_row + (i64)alpha * SLOTS;
        const u16 *const of_alpha = alpha_orbital + (i64)alpha * UP, *const of_beta = beta_orbital + (i64)beta * DOWN;

        u32 count = 0;
        // alpha moves, the beta electrons looking on
        for (u64 k = alpha_single_start[alpha] + lane; k < alpha_single_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_single[k] * SLOTS + slot];
            if (first == NONE) continue;
            const u32 word = alpha_pair[k];
            const double felt = felt_by<DOWN>(repulsion, word & 0x7fffu, of_beta);
            count += (alpha_own[k] + negated_by_top_bit(felt, word << 16)) != 0.0;
        }
        for (u64 k = alpha_double_start[alpha] + lane; k < alpha_double_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_double[k] * SLOTS + slot];
            if (first != NONE) count += alpha_value[k] != 0.0;
        }
        // beta moves, the alpha electrons looking on
        for (u64 run = run_start[(i64)beta * IRREPS]; run < run_start[(i64)(beta + 1) * IRREPS]; ++run) {
            const u64 first = own_first[run_slot[run]];
            if (first == NONE) continue;
            for (u64 m = run_first[run] + lane; m < run_first[run + 1]; m += WARP) {
                const u32 word = beta_pair[m];
                const double felt = felt_by<UP>(repulsion, word & 0x7fffu, of_alpha);
                count += (beta_own[m] + negated_by_top_bit(felt, word << 16)) != 0.0;
            }
        }
        for (u64 k = beta_double_start[beta] + lane; k < beta_double_start[beta + 1]; k += WARP) {
            const u32 other = beta_double[k];
            const u64 first = own_first[beta_slot[other]];
            if (first != NONE) count += beta_value[k] != 0.0;
        }
        // a move of each: GROUPS alpha moves at once, LANES lanes over the beta moves of the same irrep
        for (u64 k = alpha_single_start[alpha] + group; k < alpha_single_start[alpha + 1]; k += GROUPS) {
            const u32 word = alpha_pair[k];
            const int pair = (int)(word & 0x7fffu);
            const u64* const firsts = first_row + (i64)alpha_single[k] * SLOTS;
            // coulomb[other][pair]: the lanes of a warp have one other at a time, so they read one row.
            const double* const felt = coulomb + pair;
            const i64 list = (i64)beta * IRREPS + pair_irrep[pair];
            const u64 end = run_start[list + 1];
            for (u64 run = run_start[list]; run < end; ++run) {
                const u64 first = firsts[run_slot[run]];
                if (first == NONE) continue;
                const u64 last = run_first[run + 1];
#pragma unroll 2
                for (u64 m = run_first[run] + lane % LANES; m < last; m += LANES) {
                    const u32 other = beta_pair[m];
                    const double other_felt = felt[(i64)(other & 0x7fffu) * PAIRS];
                    count += negated_by_top_bit(other_felt, (other ^ word) << 16) != 0.0;
                }
            }
        }

        const double all = warp_sum((double)count);
        if (lane == 0) row_length[row] = (u32)all;
    }
}

// An element into the table; those that are zero are not in it.
__device__ __forceinline__ u64 put(double* elements, u32* columns, u64 at, double value, u64 column)
{
    if (value == 0.0) return at;
    elements[at] = value;
    columns[at] = (u32)column;
    return at + 1;
}

// The table of the rows that there is room for. The elements of a lane stand beside each other.
extern "C" __global__ void __launch_bounds__(THREADS)
fill_elements(i64 kept, const u64* __restrict__ row_start, double* __restrict__ elements, u32* __restrict__ columns,
              const u32* __restrict__ row_alpha, const u32* __restrict__ row_beta, const u64* __restrict__ first_row,
              const u16* __restrict__ beta_slot, const u32* __restrict__ beta_place,
              const double* __restrict__ alpha_energy, const double* __restrict__ beta_energy,
              const u16* __restrict__ alpha_orbital, const u16* __restrict__ beta_orbital,
              const u64* __restrict__ alpha_single_start, const u32* __restrict__ alpha_single,
              const u16* __restrict__ alpha_pair, const double* __restrict__ alpha_own,
              const u64* __restrict__ alpha_double_start, const u32* __restrict__ alpha_double,
              const double* __restrict__ alpha_value, const u64* __restrict__ run_start,
              const u16* __restrict__ run_slot, const u64* __restrict__ run_first, const u32* __restrict__ single_place,
              const u16* __restrict__ beta_pair, const double* __restrict__ beta_own,
              const u64* __restrict__ beta_double_start, const u32* __restrict__ beta_double,
              const double* __restrict__ beta_value, const u16* __restrict__ pair_irrep,
              const double* __restrict__ coulomb, const double* __restrict__ repulsion)
{
    const int lane = threadIdx.x % WARP, group = lane / LANES;
    for (i64 row = (i64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; row < kept; row += WARPS) {
        const u32 alpha = row_alpha[row], beta = row_beta[row];
        const int slot = beta_slot[beta];
        const u32 place = beta_place[beta];                              // among the beta strings of its slot
        const u64* const own_first = first_row + (i64)alpha * SLOTS;
        const u16 *const of_alpha = alpha_orbital + (i64)alpha * UP, *const of_beta = beta_orbital + (i64)beta * DOWN;

        u32 count = 0;
        // alpha moves, the beta electrons looking on
        for (u64 k = alpha_single_start[alpha] + lane; k < alpha_single_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_single[k] * SLOTS + slot];
            if (first == NONE) continue;
            const u32 word = alpha_pair[k];
            const double felt = felt_by<DOWN>(repulsion, word & 0x7fffu, of_beta);
            count += (alpha_own[k] + negated_by_top_bit(felt, word << 16)) != 0.0;
        }
        for (u64 k = alpha_double_start[alpha] + lane; k < alpha_double_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_double[k] * SLOTS + slot];
            if (first != NONE) count += alpha_value[k] != 0.0;
        }
        // beta moves, the alpha electrons looking on
        for (u64 run = run_start[(i64)beta * IRREPS]; run < run_start[(i64)(beta + 1) * IRREPS]; ++run) {
            const u64 first = own_first[run_slot[run]];
            if (first == NONE) continue;
            for (u64 m = run_first[run] + lane; m < run_first[run + 1]; m += WARP) {
                const u32 word = beta_pair[m];
                const double felt = felt_by<UP>(repulsion, word & 0x7fffu, of_alpha);
                count += (beta_own[m] + negated_by_top_bit(felt, word << 16)) != 0.0;
            }
        }
        for (u64 k = beta_double_start[beta] + lane; k < beta_double_start[beta + 1]; k += WARP) {
            const u32 other = beta_double[k];
            const u64 first = own_first[beta_slot[other]];
            if (first != NONE) count += beta_value[k] != 0.0;
        }
        // a move of each: GROUPS alpha moves at once, LANES lanes over the beta moves of the same irrep
        for (u64 k = alpha_single_start[alpha] + group; k < alpha_single_start[alpha + 1]; k += GROUPS) {
            const u32 word = alpha_pair[k];
            const int pair = (int)(word & 0x7fffu);
            const u64* const firsts = first_row + (i64)alpha_single[k] * SLOTS;
            // coulomb[other][pair]: the lanes of a warp have one other at a time, so they read one row.
            const double* const felt = coulomb + pair;
            const i64 list = (i64)beta * IRREPS + pair_irrep[pair];
            const u64 end = run_start[list + 1];
            for (u64 run = run_start[list]; run < end; ++run) {
                const u64 first = firsts[run_slot[run]];
                if (first == NONE) continue;
                const u64 last = run_first[run + 1];
#pragma unroll 2
                for (u64 m = run_first[run] + lane % LANES; m < last; m += LANES) {
                    const u32 other = beta_pair[m];
                    const double other_felt = felt[(i64)(other & 0x7fffu) * PAIRS];
                    count += negated_by_top_bit(other_felt, (other ^ word) << 16) != 0.0;
                }
            }
        }

        u32 until = count;
        for (int by = 1; by < WARP; by <<= 1) {
            const u32 before = __shfl_up_sync(ALL_LANES, until, by);
            if (lane >= by) until += before;
        }
        u64 at = row_start[row] + (until - count);
        // alpha moves, the beta electrons looking on
        for (u64 k = alpha_single_start[alpha] + lane; k < alpha_single_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_single[k] * SLOTS + slot];
            if (first == NONE) continue;
            const u32 word = alpha_pair[k];
            const double felt = felt_by<DOWN>(repulsion, word & 0x7fffu, of_beta);
            at = put(elements, columns, at, (alpha_own[k] + negated_by_top_bit(felt, word << 16)), first + place);
        }
        for (u64 k = alpha_double_start[alpha] + lane; k < alpha_double_start[alpha + 1]; k += WARP) {
            const u64 first = first_row[(i64)alpha_double[k] * SLOTS + slot];
            if (first != NONE) at = put(elements, columns, at, alpha_value[k], first + place);
        }
        // beta moves, the alpha electrons looking on
        for (u64 run = run_start[(i64)beta * IRREPS]; run < run_start[(i64)(beta + 1) * IRREPS]; ++run) {
            const u64 first = own_first[run_slot[run]];
            if (first == NONE) continue;
            for (u64 m = run_first[run] + lane; m < run_first[run + 1]; m += WARP) {
                const u32 word = beta_pair[m];
                const double felt = felt_by<UP>(repulsion, word & 0x7fffu, of_alpha);
                at = put(elements, columns, at, (beta_own[m] + negated_by_top_bit(felt, word << 16)), first + single_place[m]);
            }
        }
        for (u64 k = beta_double_start[beta] + lane; k < beta_double_start[beta + 1]; k += WARP) {
            const u32 other = beta_double[k];
            const u64 first = own_first[beta_slot[other]];
            if (first != NONE) at = put(elements, columns, at, beta_value[k], first + beta_place[other]);
        }
        // a move of each: GROUPS alpha moves at once, LANES lanes over the beta moves of the same irrep
        for (u64 k = alpha_single_start[alpha] + group; k < alpha_single_start[alpha + 1]; k += GROUPS) {
            const u32 word = alpha_pair[k];
            const int pair = (int)(word & 0x7fffu);
            const u64* const firsts = first_row + (i64)alpha_single[k] * SLOTS;
            // coulomb[other][pair]: the lanes of a warp have one other at a time, so they read one row.
            const double* const felt = coulomb + pair;
            const i64 list = (i64)beta * IRREPS + pair_irrep[pair];
            const u64 end = run_start[list + 1];
            for (u64 run = run_start[list]; run < end; ++run) {
                const u64 first = firsts[run_slot[run]];
                if (first == NONE) continue;
                const u64 last = run_first[run + 1];
#pragma unroll 2
                for (u64 m = run_first[run] + lane % LANES; m < last; m += LANES) {
                    const u32 other = beta_pair[m];
                    const double other_felt = felt[(i64)(other & 0x7fffu) * PAIRS];
                    at = put(elements, columns, at, negated_by_top_bit(other_felt, (other ^ word) << 16), first + single_place[m]);
                }
            }
        }

    }
}
