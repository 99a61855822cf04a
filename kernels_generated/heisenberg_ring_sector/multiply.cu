// y = H x between the representatives of a symmetry sector, matrix-free
//
//   y[r] = D(r) x[r] + sum over flip masks f of conj(a_f(r)) sigma chi(g) sqrt(S(r') / S(r)) x[r'],   U_g |r ^ f> = sigma |r'>
//
// r' is the least word of the orbit, S the number of elements of the group that leave a word as it is
// (A. W. Sandvik, AIP Conf. Proc. 1297, 135 (2010), section 4.1).
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work of a row: 38.0 flop, 20.0 bytes
// specialised: the 64 elements of the group, 16 flip masks with their conditions

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

typedef double value_t;  // number type of the vectors
typedef u32 word_t;  // a state word
constexpr int LOW_BITS = 8;
constexpr int BITS = 16;
constexpr word_t WORD_MASK = 0xffffu;
constexpr int THREADS = 256;

__device__ __forceinline__ u32 bits_of(word_t word) { return __popc(word); }
__device__ __forceinline__ u32 lowest(word_t word) { return __ffs(word) - 1; }

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 4.0;
    value += -0.5 * __popcll((state ^ (state >> 1)) & 0x7fffull);
    value += -0.5 * __popcll((state ^ (state >> 15)) & 0x1ull);
    return value;
}
constexpr u64 LOW_MASK = 0xffull;

__device__ __forceinline__ i64 rank_of(u64 state, const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    return (i64)(high_offset[state >> LOW_BITS] + low_index[state & LOW_MASK]);
}

// The group, by elements whose powers are multiplied.
__device__ __forceinline__ word_t act_0(word_t w)
{
    w = (w & 0x7fffu) << 1
      | (w & 0x8000u) >> 15;
    return w;
}
__device__ __forceinline__ word_t act_1(word_t w)
{
    w = 0xffffu - w;
    return w;
}
__device__ __forceinline__ word_t act_2(word_t w)
{
    w = __brev(w);
    w = (w & 0xffff0000u) >> 16;
    return w;
}

// The least image of a word, and an element of the group that leads to it.
struct Least {
    word_t word;
    u32 element;
};

__device__ __forceinline__ void consider(word_t image, u32 element, Least& best)
{
    if (image < best.word) {
        best.word = image;
        best.element = element;
    }
}

// How many elements leave a word as it is.
__device__ u32 stabiliser_of(word_t word)
{
    u32 count = 0;
    word_t w2 = word;
    for (u32 a2 = 0; a2 < 2; ++a2, w2 = act_2(w2)) {
        word_t w1 = w2;
        for (u32 a1 = 0; a1 < 2; ++a1, w1 = act_1(w1)) {
            word_t w0 = w1;
#pragma unroll
            for (u32 a0 = 0; a0 < 16; ++a0, w0 = act_0(w0)) {
                count += w0 == word;
            }
        }
    }
    return count;
}

__device__ __forceinline__ word_t turned(word_t word, int by) // upwards, 0 <= by < BITS
{
    return (word << by | word >> (BITS - by)) & WORD_MASK;
}

__device__ __forceinline__ word_t turned_back(word_t word, int by) { return turned(word, by == 0 ? 0 : BITS - by); }

__device__ __forceinline__ int leading_zeros(word_t word)
{
    return __clz((int)word) - (int)(8 * sizeof(word_t) - BITS);
}

// The lowest bits of runs of `length` set bits, at least one, on a ring.
__device__ __forceinline__ word_t runs_of(word_t bits, int length)
{
    int known = 1;
#pragma unroll
    for (int half = 1; 2 * half < BITS; half *= 2) {
        if (2 * half > length) break;
        bits &= turned_back(bits, half);
        known = 2 * half;
    }
    return bits & turned_back(bits, length - known);
}

// Bits behind a run that are compared for all runs at once.
constexpr int COMPARED = 3;

// The images of a word by rotations, and by those of its mirror image, that begin with its longest runs of zeros: no other is the
// least. Of several, the bits behind the run tell which.
__device__ __forceinline__ void consider_runs(word_t word, word_t starts, int length, u32 element, Least& best)
{
    const word_t zeros = ~word & WORD_MASK;
    word_t first = starts;
#pragma unroll
    for (int behind = 2; behind < 2 + COMPARED; ++behind) {
        const word_t less = first & turned(zeros, behind % BITS);
        first = less != 0 ? less : first;
    }
    for (; first != 0; first &= first - 1) {
        int by = BITS - length - (int)lowest(first);
        by += by < 0 ? BITS : 0;
        consider(turned(word, by), element + by, best);
    }
    const word_t mirrored = __brev(word) >> (8 * sizeof(word_t) - BITS);
    const word_t above = turned_back(zeros, length);
    first = starts;
#pragma unroll
    for (int behind = 1; behind < 1 + COMPARED; ++behind) {
        const word_t less = first & turned_back(above, behind % BITS);
        first = less != 0 ? less : first;
    }
    for (; first != 0; first &= first - 1) {
        const int by = (int)lowest(first), power = by - 0;
        consider(turned(mirrored, by), element + 32 + power + (power < 0 ? BITS : 0), best);
    }
}

// `hint` is a length that the longest run is likely to have.
__device__ __forceinline__ Least least_of(word_t word, int hint)
{
    Least best = {WORD_MASK, 0};
    int length = hint;
    word_t starts = runs_of(~word & WORD_MASK, length);
    word_t others = runs_of(word, length); // runs of zeros of the inverted word
    if (starts == 0 && others == 0) {
        starts = ~word & WORD_MASK;
        others = word;
        length = 1;
    }
    for (;; ++length) {
        const word_t longer = starts & turned_back(starts, 1);
        const word_t longer_others = others & turned_back(others, 1);
        if (longer == 0 && longer_others == 0) break;
        others = longer_others;
        starts = longer;
    }
    if (starts != 0) consider_runs(word, starts, length, 0, best);
    if (others != 0) consider_runs(~word & WORD_MASK, others, length, 16, best);
    return best;
}

// A representative begins with its longest run of zeros.
__device__ __forceinline__ int hint_of(word_t word)
{
    return max(leading_zeros(word), 1);
}

// How many elements leave a word as it is; 0 if one makes it less.
__device__ __forceinline__ u32 stabiliser_if_least(word_t word)
{
    {
        const int length = leading_zeros(word);
        if (length == 0 || runs_of(~word & WORD_MASK, length + 1) != 0) return 0;
        if (runs_of(word, length + 1) != 0) return 0;
    }
    return least_of(word, hint_of(word)).word == word ? stabiliser_of(word) : 0;
}

// The words without symmetry in Lin's two tables (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): those with one high part follow each
// other. The part that holds a rank, and the word of a rank in a part.
__device__ __forceinline__ i64 part_of(i64 rank, i64 parts, const u64* __restrict__ part_start)
{
    i64 first = 0, last = parts;
    while (last - first > 1) {
        const i64 middle = (first + last) / 2;
        if ((i64)part_start[middle] <= rank) first = middle; else last = middle;
    }
    return first;
}

__device__ __forceinline__ word_t word_of(i64 rank, i64 part,
                                          const u64* __restrict__ part_start, const u64* __restrict__ part_high,
                                       const u64* __restrict__ part_first_low, const u64* __restrict__ low_states)
{
    return (word_t)(low_states[part_first_low[part] + (rank - (i64)part_start[part])] | part_high[part] << LOW_BITS);
}

// The bitmap: units of UNIT_WORDS words with a bit of each rank, and before them the number of representatives before the unit.
constexpr int UNIT_WORDS = 3, UNIT = UNIT_WORDS + 1, WORD_BITS = 8 * sizeof(u32);
typedef u32 unit_t;

extern "C" __global__ void __launch_bounds__(384)
mark_representatives(u32* __restrict__ bitmap, u32* __restrict__ totals, i64 ranks, i64 units, i64 parts,
                     const u64* __restrict__ part_start, const u64* __restrict__ part_high,
                     const u64* __restrict__ part_first_low, const u64* __restrict__ low_states)
{
    __shared__ double scratch[384 / WARP];
    const i64 place = (i64)blockIdx.x * 384 + threadIdx.x, first = place * WORD_BITS;
    u32 bits = 0;
    if (place < units * UNIT_WORDS) {
        const i64 end = min(first + WORD_BITS, ranks);
        i64 part = first < end ? part_of(first, parts, part_start) : 0;
        for (i64 rank = first; rank < end; ++rank) {
            while (part + 1 < parts && (i64)part_start[part + 1] <= rank) ++part;
            const word_t word = word_of(rank, part, part_start, part_high, part_first_low, low_states);
            const u32 stabiliser = stabiliser_if_least(word);
            if (stabiliser > 0) bits |= 1u << (rank - first);
        }
        bitmap[place / UNIT_WORDS * UNIT + 1 + place % UNIT_WORDS] = bits;
    }
    const double total = block_sum<384>((double)__popc(bits), scratch);
    if (threadIdx.x == 0) totals[blockIdx.x] = (u32)total;
}

extern "C" __global__ void __launch_bounds__(128)
number_representatives(u32* __restrict__ bitmap, u32* __restrict__ representatives, u32* __restrict__ has_stabiliser,
                       const u32* __restrict__ starts, i64 units, i64 parts, const u64* __restrict__ part_start,
                       const u64* __restrict__ part_high, const u64* __restrict__ part_first_low,
                       const u64* __restrict__ low_states)
{
    __shared__ u32 sums[2][128];
    const i64 unit = (i64)blockIdx.x * 128 + threadIdx.x;
    u32 own = 0;
    for (int k = 1; k < UNIT && unit < units; ++k) own += __popc(bitmap[unit * UNIT + k]);
    int from = 0;
    sums[from][threadIdx.x] = own;
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) { // sums over this thread and those before it
        const u32 before = (int)threadIdx.x >= step ? sums[from][threadIdx.x - step] : 0;
        sums[1 - from][threadIdx.x] = sums[from][threadIdx.x] + before;
        from = 1 - from;
        __syncthreads();
    }
    if (unit >= units) return;
    u32 place = starts[blockIdx.x] + sums[from][threadIdx.x] - own;
    bitmap[unit * UNIT] = place;
    for (int k = 1; k < UNIT; ++k) {
        for (u32 bits = bitmap[unit * UNIT + k]; bits != 0; bits &= bits - 1) {
            const i64 rank = (unit * UNIT_WORDS + k - 1) * WORD_BITS + __ffs((int)bits) - 1;
            const word_t word = word_of(rank, part_of(rank, parts, part_start), part_start, part_high, part_first_low, low_states);
            if (stabiliser_of(word) > 1) atomicOr(has_stabiliser + place / WORD_BITS, 1u << place % WORD_BITS);
            representatives[place++] = word;
        }
    }
}

// The place of a representative; negative if its orbit has no state.
__device__ __forceinline__ i64 place_of(word_t word, const u32* __restrict__ bitmap,
                                        const u64* __restrict__ high_offset, const u32* __restrict__ low_index)
{
    const u64 rank = (u64)rank_of(word, high_offset, low_index);
    const unit_t at = (unit_t)(rank / WORD_BITS), unit = at / UNIT_WORDS;
    const u32 k = (u32)(at - unit * UNIT_WORDS), bit = (u32)(rank % WORD_BITS);
    const uint4 all = *(const uint4*)(bitmap + (i64)unit * UNIT);
    const u32 own = k == 0 ? all.y : k == 1 ? all.z : all.w;
    const u32 before = (k > 0 ? __popc(all.y) : 0) + (k > 1 ? __popc(all.z) : 0);
    const u32 place = all.x + before + __popc(own & ((1u << bit) - 1u));
    return place;
}

// How many elements leave the representative at a place as it is: one, or where its bit is set as many as are counted.
__device__ __forceinline__ u32 stabiliser_at(i64 place, word_t word, const u32* __restrict__ has_stabiliser)
{
    return (has_stabiliser[place / WORD_BITS] >> place % WORD_BITS & 1u) != 0 ? stabiliser_of(word) : 1;
}

// Adds <r| term |r'> x[r'] to a row: the term takes r to the word `moved`.
__device__ __forceinline__ void add_reached(word_t moved, int hint, u32 own, double amplitude,
                                            const value_t* __restrict__ x,
                                            const u32* __restrict__ has_stabiliser, const u32* __restrict__ bitmap,
                                            const u64* __restrict__ high_offset, const u32* __restrict__ low_index,
                                            double& sum)
{
    const Least least = least_of(moved, hint);
    const i64 place = place_of(least.word, bitmap, high_offset, low_index);
    const u32 reached = stabiliser_at(place, least.word, has_stabiliser);
    if (reached != own) amplitude *= sqrt((double)reached / (double)own);
    sum += amplitude * (double)x[place];
}

// The amplitude of the terms of a flip.
__device__ __forceinline__ double amplitude_of(word_t state, u32 first, u32 end, const word_t* __restrict__ term_care,
                                               const word_t* __restrict__ term_pattern, const word_t* __restrict__ term_sign,
                                               const double* __restrict__ term_amplitude)
{
    double amplitude = 0.0;
    for (u32 k = first; k < end; ++k) {
        if ((state & term_care[k]) == term_pattern[k])
            amplitude += (bits_of(state & term_sign[k]) & 1) != 0 ? -term_amplitude[k] : term_amplitude[k];
    }
    return amplitude;
}

// Rows take longer the further down the list they stand, so cards that share out the blocks take turns at them.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials, i64 states,
         const u32* __restrict__ representatives, const u32* __restrict__ has_stabiliser,
         const u32* __restrict__ bitmap, const u64* __restrict__ high_offset, const u32* __restrict__ low_index,
         const u32* __restrict__ flip_masks)
{
    __shared__ double scratch[THREADS / WARP];
    __shared__ word_t masks[16];
    for (int k = threadIdx.x; k < 16; k += THREADS) masks[k] = flip_masks[k];
    __syncthreads();
    double x_dot_y = 0.0;
    const i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS;
    for (i64 row = first; row < states; row += stride) {
        const word_t state = representatives[row];
        const int hint = hint_of(state);
        const u32 own = stabiliser_at(row, state, has_stabiliser);
        const double diagonal = diagonal_of(state);
        const double x_row = (double)x[row];
        double sum = diagonal * x_row;
        {
            u32 active = 0; // flips that act on the state, from number 0 on
            if ((state & 0x3u) == 0x2u || (state & 0x3u) == 0x1u) active |= 1u << 0;
            if ((state & 0x6u) == 0x4u || (state & 0x6u) == 0x2u) active |= 1u << 1;
            if ((state & 0xcu) == 0x8u || (state & 0xcu) == 0x4u) active |= 1u << 2;
            if ((state & 0x18u) == 0x10u || (state & 0x18u) == 0x8u) active |= 1u << 3;
            if ((state & 0x30u) == 0x20u || (state & 0x30u) == 0x10u) active |= 1u << 4;
            if ((state & 0x60u) == 0x40u || (state & 0x60u) == 0x20u) active |= 1u << 5;
            if ((state & 0xc0u) == 0x80u || (state & 0xc0u) == 0x40u) active |= 1u << 6;
            if ((state & 0x180u) == 0x100u || (state & 0x180u) == 0x80u) active |= 1u << 7;
            if ((state & 0x300u) == 0x200u || (state & 0x300u) == 0x100u) active |= 1u << 8;
            if ((state & 0x600u) == 0x400u || (state & 0x600u) == 0x200u) active |= 1u << 9;
            if ((state & 0xc00u) == 0x800u || (state & 0xc00u) == 0x400u) active |= 1u << 10;
            if ((state & 0x1800u) == 0x1000u || (state & 0x1800u) == 0x800u) active |= 1u << 11;
            if ((state & 0x3000u) == 0x2000u || (state & 0x3000u) == 0x1000u) active |= 1u << 12;
            if ((state & 0x6000u) == 0x4000u || (state & 0x6000u) == 0x2000u) active |= 1u << 13;
            if ((state & 0x8001u) == 0x8000u || (state & 0x8001u) == 0x1u) active |= 1u << 14;
            if ((state & 0xc000u) == 0x8000u || (state & 0xc000u) == 0x4000u) active |= 1u << 15;
            while (active != 0) {
                const int flip = 0 + __ffs((int)active) - 1;
                active &= active - 1;
                const double amplitude = 0.5;
                add_reached(state ^ masks[flip], hint, own, amplitude,
                            x, has_stabiliser, bitmap, high_offset, low_index,
                            sum);
            }
        }
        y[row] = (value_t)sum;
        x_dot_y += x_row * sum;
    }
    const double total = block_sum<THREADS>(x_dot_y, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

// x . (O x) of an operator O that the group leaves as it is. Its diagonal is a sum of products of signs of bits, up to diagonal
// `end_signs`, and of bits that have given values; its flips and their terms are a part of tables, those from `end_real` on times i.
extern "C" __global__ void __launch_bounds__(THREADS)
operator_average(const value_t* __restrict__ x, double* __restrict__ partials, i64 states,
                 const u32* __restrict__ representatives, const u32* __restrict__ has_stabiliser,
                 const u32* __restrict__ bitmap, const u64* __restrict__ high_offset, const u32* __restrict__ low_index,
                 const u32* __restrict__ flip_masks, const u32* __restrict__ flip_start,
                 const u32* __restrict__ term_care, const u32* __restrict__ term_pattern,
                 const u32* __restrict__ term_sign, const double* __restrict__ term_amplitude,
                 const u32* __restrict__ diagonal_mask, const u32* __restrict__ diagonal_pattern,
                 const double* __restrict__ diagonal_factor, i64 first_flip, i64 end_real, i64 end_flip,
                 i64 first_diagonal, i64 end_signs, i64 end_diagonal)
{
    __shared__ double scratch[THREADS / WARP];
    double total = 0.0;
    const i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS;
    for (i64 row = first; row < states; row += stride) {
        const word_t state = representatives[row];
        const int hint = hint_of(state);
        const u32 own = stabiliser_at(row, state, has_stabiliser);
        double diagonal = 0.0;
        for (i64 k = first_diagonal; k < end_signs; ++k)
            diagonal += (bits_of(~state & diagonal_mask[k]) & 1) != 0 ? -diagonal_factor[k] : diagonal_factor[k];
        for (i64 k = end_signs; k < end_diagonal; ++k)
            if ((state & diagonal_mask[k]) == diagonal_pattern[k]) diagonal += diagonal_factor[k];
        const double x_row = (double)x[row];
        double sum = diagonal * x_row;
        for (i64 chunk = first_flip; chunk < end_flip; chunk += WORD_BITS) {
            u32 active = 0;
            for (i64 flip = chunk; flip < min(chunk + WORD_BITS, end_flip); ++flip) {
                bool acts = false;
                for (u32 k = flip_start[flip]; k < flip_start[flip + 1]; ++k) acts |= (state & term_care[k]) == term_pattern[k];
                active |= (u32)acts << (flip - chunk);
            }
            while (active != 0) {
                const i64 flip = chunk + __ffs((int)active) - 1;
                active &= active - 1;
                const double amplitude =
                    amplitude_of(state, flip_start[flip], flip_start[flip + 1], term_care, term_pattern, term_sign, term_amplitude);
                add_reached(state ^ flip_masks[flip], hint, own, amplitude,
                            x, has_stabiliser, bitmap, high_offset, low_index,
                            sum);
            }
        }
        total += x_row * sum;
    }
    total = block_sum<THREADS>(total, scratch);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
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
