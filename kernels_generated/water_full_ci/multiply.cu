// ci: sigma = H C of full configuration interaction, straight from the integrals
//
//   21 alpha strings of 5 electrons in 7 orbitals, 441 determinants (alpha string, beta string)
//   sigma(I, K) = sum_J H_aa(I, J) C(J, K) + sum_L H_bb(K, L) C(I, L) + sum_kl <K|E_kl|L> F_kl(L),
//        F_kl(L) = sum_J sum_pq (kl|pq) <I|E_pq|J> C(J, L),   pairs kl and pq of one irrep, E_pp among them
// least work: 99708.0 flop, 7056.0 bytes
// specialised: strings, classes, groups of pairs, tiles

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
constexpr i64 ROWS = 441;                      // determinants
constexpr u32 ALPHA_STRINGS = 21;
constexpr int UP = 5;                          // alpha electrons
constexpr int IRREPS = 4;                  // of pairs of orbitals
constexpr int GROUPS = 4;                       // of pairs: their fields are held at once
constexpr int PAIR_TILE = 8;            // fields that a thread sums at once
constexpr int COLUMNS = 1;                // beta strings that a thread sums at once
constexpr int CHUNK = 64;                    // alpha moves staged at once
constexpr int LARGEST_GROUP = 16;            // pairs, filled up to tiles
constexpr int THREADS = 64;
constexpr i64 PAIR_COLUMNS = 40;           // of the integrals: pairs in the order of groups, filled up to tiles
constexpr i64 SLICES = 1;                       // of WARP beta strings
constexpr i64 FIELD = 336;                         // elements of the field; a zero stands after them
__constant__ int class_width[1] = {21};     // beta strings of each class
__constant__ int class_slice[1] = {0};     // its first slice
__constant__ int group_irrep[GROUPS] = {0, 1, 2, 3};
__constant__ int group_first[GROUPS + 1] = {0, 16, 24, 32, 40};   // first column of the integrals

// A block takes the rows of one alpha string. A thread owns the same columns of y in every phase.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
         const u64* __restrict__ row_start, const u16* __restrict__ alpha_class, const u64* __restrict__ move_start,
         const u32* __restrict__ move_target, const u16* __restrict__ move_pair,
         const u64* __restrict__ alpha_same_start, const u32* __restrict__ alpha_same_target,
         const double* __restrict__ alpha_same_value, const double* __restrict__ integrals,
         const u32* __restrict__ link_start, const u16* __restrict__ links, const u32* __restrict__ beta_same_start,
         const u16* __restrict__ beta_same_place, const double* __restrict__ beta_same_value)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    double* const coefficients = (double*)shared_bytes;                 // coefficients[(tile * CHUNK + move) * PAIR_TILE + pair]
    i64* const sources = (i64*)(coefficients + CHUNK * LARGEST_GROUP);  // first element of the row that a move reads
    double* const field = (double*)(sources + CHUNK);                   // field[pair * width + column]
    __shared__ double scratch[THREADS / WARP];
    const int lane = threadIdx.x % WARP;
    double dot = 0.0;
    if (threadIdx.x == 0) field[FIELD] = 0.0;                           // where links lead that fill up a slice
    for (u32 string = blockIdx.x; string < ALPHA_STRINGS; string += gridDim.x) {
        const int own_class = alpha_class[string], width = class_width[own_class];
        const i64 row = (i64)row_start[string];
        // 1. alpha electrons alone: whole rows
        const u64 same_begin = alpha_same_start[string], same_end = alpha_same_start[string + 1];
        for (u64 first = same_begin; first < same_end; first += CHUNK) {
            const int count = (int)(same_end - first < (u64)CHUNK ? same_end - first : (u64)CHUNK);
            __syncthreads();
            for (int k = threadIdx.x; k < count; k += THREADS) {
                coefficients[k] = alpha_same_value[first + k];
                sources[k] = (i64)row_start[alpha_same_target[first + k]];
            }
            __syncthreads();
            for (int base = threadIdx.x; base < width; base += THREADS * COLUMNS) {
                const int column_0 = min(base, width - 1);
                sum_t sum_0 = 0.0;
#pragma unroll 4
                for (int k = 0; k < count; ++k) {
                    const double value = coefficients[k];
                    const value_t* const from = x + sources[k];
                    sum_0 += value * from[column_0];
                }
                if (base < width) y[row + column_0] = first == same_begin ? sum_0 : y[row + column_0] + sum_0;
            }
        }
        // 2. beta electrons alone: row I is gathered from the field
        for (int column = threadIdx.x; column < width; column += THREADS) field[column] = x[row + column];
        __syncthreads();
        for (int column = threadIdx.x; column < width; column += THREADS) {
            const i64 slice = class_slice[own_class] + column / WARP;
            const u32 end = beta_same_start[slice + 1];
            sum_t sum = 0.0;
#pragma unroll 4
            for (u32 step = beta_same_start[slice]; step < end; ++step) {
                const i64 at = (i64)step * WARP + lane;
                sum += beta_same_value[at] * field[beta_same_place[at]];
            }
            y[row + column] += sum;
        }
        for (int group = 0; group < GROUPS; ++group) {
            const int irrep = group_irrep[group];
            const int across = width;
            const u64 begin = move_start[(i64)string * IRREPS + irrep];
            const int listed = (int)(move_start[(i64)string * IRREPS + irrep + 1] - begin);
            // The densities come last and are one move, to string I itself.
            const int moves = irrep == 0 && UP > 0 ? listed - UP + 1 : listed;
            if (moves == 0 || across == 0) continue;
            // 3. the field of each pair, a dense product: moves chunk by chunk, threads over tiles and columns
            const int tiles = (group_first[group + 1] - group_first[group]) / PAIR_TILE;
            const int pairs = tiles * PAIR_TILE;
            const int span = ((across + COLUMNS - 1) / COLUMNS + WARP - 1) / WARP * WARP;     // a warp stays within one tile
            for (int first = 0; first < moves; first += CHUNK) {
                const int count = min(CHUNK, moves - first);
                __syncthreads();
                for (int k = threadIdx.x; k < count * pairs; k += THREADS) {
                    const int which = k / pairs, pair = k % pairs;
                    const u64 move = begin + first + which;
                    const double* const column = integrals + group_first[group] + pair;
                    double value = 0.0;
                    if (irrep == 0 && UP > 0 && first + which == moves - 1) {
                        for (int p = 0; p < UP; ++p) value += column[(i64)move_pair[move + p] * PAIR_COLUMNS];
                    } else {
                        const u32 word = move_pair[move];
                        value = negated_by_top_bit(column[(i64)(word & 0x7fffu) * PAIR_COLUMNS], word << 16);
                    }
                    coefficients[((pair / PAIR_TILE) * CHUNK + which) * PAIR_TILE + pair % PAIR_TILE] = value;
                    if (pair == 0) sources[which] = (i64)row_start[move_target[move]];
                }
                __syncthreads();
                for (int item = threadIdx.x; item < tiles * span; item += THREADS) {
                    const int tile = item / span, base = item % span;
                    const double* const of_tile = coefficients + tile * CHUNK * PAIR_TILE;
                    double* const out = field + (i64)tile * PAIR_TILE * across;
                    const int column_0 = min(base, across - 1);
                    sum_t sum_0_0 = 0.0, sum_0_1 = 0.0, sum_0_2 = 0.0, sum_0_3 = 0.0, sum_0_4 = 0.0,
                          sum_0_5 = 0.0, sum_0_6 = 0.0, sum_0_7 = 0.0;
                    if (first > 0) {
                        if (base < across) {
                            sum_0_0 = out[column_0];
                            sum_0_1 = out[(i64)across + column_0];
                            sum_0_2 = out[2 * (i64)across + column_0];
                            sum_0_3 = out[3 * (i64)across + column_0];
                            sum_0_4 = out[4 * (i64)across + column_0];
                            sum_0_5 = out[5 * (i64)across + column_0];
                            sum_0_6 = out[6 * (i64)across + column_0];
                            sum_0_7 = out[7 * (i64)across + column_0];
                        }
                    }
                    // Written out: as loops over arrays the sums of eight pairs and two columns no longer fit in 64 registers.
#pragma unroll 4
                    for (int k = 0; k < count; ++k) {
                        const value_t* const from = x + sources[k];
                        const sum_t x_0 = from[column_0];
                        const double* const of_move = of_tile + k * PAIR_TILE;
                        sum_0_0 += of_move[0] * x_0;
                        sum_0_1 += of_move[1] * x_0;
                        sum_0_2 += of_move[2] * x_0;
                        sum_0_3 += of_move[3] * x_0;
                        sum_0_4 += of_move[4] * x_0;
                        sum_0_5 += of_move[5] * x_0;
                        sum_0_6 += of_move[6] * x_0;
                        sum_0_7 += of_move[7] * x_0;
                    }
                    if (base < across) {
                        out[column_0] = sum_0_0;
                        out[(i64)across + column_0] = sum_0_1;
                        out[2 * (i64)across + column_0] = sum_0_2;
                        out[3 * (i64)across + column_0] = sum_0_3;
                        out[4 * (i64)across + column_0] = sum_0_4;
                        out[5 * (i64)across + column_0] = sum_0_5;
                        out[6 * (i64)across + column_0] = sum_0_6;
                        out[7 * (i64)across + column_0] = sum_0_7;
                    }
                }
            }
            __syncthreads();
            // 4. each beta string gathers what its links lead to
            for (int column = threadIdx.x; column < width; column += THREADS) {
                const i64 slice = group * SLICES + class_slice[own_class] + column / WARP;
                const u32 end = link_start[slice + 1];
                sum_t sum = 0.0;
#pragma unroll 4
                for (u32 step = link_start[slice]; step < end; ++step) {
                    const u32 link = links[(i64)step * WARP + lane];
                    sum += negated_by_top_bit(field[link & 0x7fffu], link << 16);
                }
                y[row + column] += sum;
            }
        }
        for (int column = threadIdx.x; column < width; column += THREADS) dot += x[row + column] * y[row + column];
        __syncthreads();
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
