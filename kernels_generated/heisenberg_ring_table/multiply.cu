// y = H x between the representatives of a symmetry sector, from a table of partners that is made once and kept
//
//   y[r] = D(r) x[r] + 1 / sqrt(S(r)) sum over slots of value(slot) sqrt(S(r')) x[r']
//
// r' is the partner of a slot, the least word of the orbit that a flip leads to, S the number of elements of the group that leave a
// word as it is (A. W. Sandvik, AIP Conf. Proc. 1297, 135 (2010), section 4.1).
// States are their own conjugates under half of the elements; rows that those reach multiply the conjugate of an amplitude.
// model: built-in xxz:1  sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
// model: built-in xxz:2  sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
// least work of a row: 76.0 flop, 36.0 bytes, and its slots
// specialised: the 64 elements of the group, 16 flip masks with their conditions, slots with codes of their values

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

// Whether an element that leaves a word as it is multiplies it by 1.
__device__ bool keeps(u32 element, word_t word, const double* __restrict__ characters)
{
    double factor = characters[element];
    // An antiunitary element fixes the direction of an amplitude.
    if (characters[128 + element] < 0.0) return true;
    return factor > 0.5 && fabs(characters[64 + element]) < 1e-6;
}

// Whether the orbit of a representative has a state: all elements that leave the word as it is multiply it by 1.
__device__ bool has_state(word_t word, const double* __restrict__ characters)
{
    word_t w2 = word;
    for (u32 a2 = 0; a2 < 2; ++a2, w2 = act_2(w2)) {
        word_t w1 = w2;
        for (u32 a1 = 0; a1 < 2; ++a1, w1 = act_1(w1)) {
            word_t w0 = w1;
#pragma unroll
            for (u32 a0 = 0; a0 < 16; ++a0, w0 = act_0(w0)) {
                if (w0 == word && !keeps(a0 + 16 * (a1 + 2 * (a2)), word, characters)) return false;
            }
        }
    }
    return true;
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
                     const u64* __restrict__ part_first_low, const u64* __restrict__ low_states,
                     const double* __restrict__ characters)
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
            if (stabiliser == 1 || stabiliser > 1 && has_state(word, characters)) bits |= 1u << (rank - first);
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

// States are their own conjugates. One that no antiunitary element leaves as it is has a real and an imaginary part: the imaginary parts
// follow the real ones, in the order of their states. Another is a line: its amplitude is a real number, which stands with the real
// parts, times a direction. `imaginary_place` has the place of a state's imaginary part behind the real ones, of a line LINE and the
// number of its direction.
constexpr u32 LINE = ~(~0u >> 1);

extern "C" __global__ void __launch_bounds__(THREADS)
number_parts(i64 states, const u32* __restrict__ representatives, const u32* __restrict__ line_words,
             const u32* __restrict__ line_directions, i64 lines, u32* __restrict__ imaginary_place,
             u32* __restrict__ paired_state, u32* __restrict__ line_state)
{
    for (i64 row = (i64)blockIdx.x * THREADS + threadIdx.x; row < states; row += (i64)gridDim.x * THREADS) {
        const word_t word = representatives[row];
        i64 first = 0, end = lines; // lines before the state
        while (first < end) {
            const i64 middle = (first + end) / 2;
            if (line_words[middle] < word) first = middle + 1; else end = middle;
        }
        if (first < lines && line_words[first] == word) {
            imaginary_place[row] = LINE | line_directions[first];
            line_state[first] = (u32)row;
        } else {
            imaginary_place[row] = (u32)(row - first);
            paired_state[row - first] = (u32)row;
        }
    }
}

// The amplitude of a state.
struct Amplitude {
    double re, im;
};

__device__ __forceinline__ Amplitude amplitude_at(const value_t* __restrict__ x, i64 place,
                                                  i64 states, const u32* __restrict__ imaginary_place,
                                              const double* __restrict__ directions)
{
    const double re = (double)x[place];
    const u32 other = imaginary_place[place];
    if ((other & LINE) != 0) {
        const i64 direction = 2 * (i64)(other & ~LINE);
        return Amplitude{re * directions[direction], re * directions[direction + 1]};
    }
    return Amplitude{re, (double)x[states + other]};
}

// Writes the sum of a row.
__device__ __forceinline__ void put_amplitude(value_t* __restrict__ y, i64 row, double re, double im,
                                              i64 states, const u32* __restrict__ imaginary_place,
                                              const double* __restrict__ directions)
{
    const u32 other = imaginary_place[row];
    if ((other & LINE) != 0) {
        const i64 direction = 2 * (i64)(other & ~LINE);
        y[row] = (value_t)(re * directions[direction] + im * directions[direction + 1]);
        return;
    }
    y[row] = (value_t)re;
    y[states + other] = (value_t)im;
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
    return (own >> bit & 1u) != 0 ? (i64)place : -1;
}

// How many elements leave the representative at a place as it is: one, or where its bit is set as many as are counted.
__device__ __forceinline__ u32 stabiliser_at(i64 place, word_t word, const u32* __restrict__ has_stabiliser)
{
    return (has_stabiliser[place / WORD_BITS] >> place % WORD_BITS & 1u) != 0 ? stabiliser_of(word) : 1;
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
// The table. Rows stand by slices, one for each lane of a warp; a slice has as many slots a row as its longest row, those of one
// number beside each other. A slot has the place of the partner in its lowest `index_bits` bits,
// above them the code of its value, and
// the top bit where more elements than the identity leave the partner as it is. A slot of no partner is NONE; one that was never written,
// with all bits set, would be a place behind the last.
constexpr u32 NONE = ~1u, SHORT_ORBIT = ~(~0u >> 1);
constexpr int AHEAD = 8;  // slots of a row that are on their way at a time
constexpr int SLICES = THREADS / WARP;  // of a block

// How many slots the rows of each slice have, the sum of these of each block, and of each state the class of its orbit: which of the
// numbers of elements, `orbit_orders`, leave it as it is.
extern "C" __global__ void __launch_bounds__(THREADS)
count_partners(i64 states, const u32* __restrict__ representatives, const u32* __restrict__ has_stabiliser,
               const u32* __restrict__ orbit_orders, i64 orders, u32* __restrict__ slice_slots,
               u32* __restrict__ slot_totals, u8* __restrict__ orbit_class)
{
    __shared__ u32 longest[SLICES];
    const i64 row = (i64)blockIdx.x * THREADS + threadIdx.x;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 slots = 0;
    if (row < states) {
        const word_t state = representatives[row];
        {
            u32 active = 0;
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
            slots += __popc(active);
        }
        const u32 own = stabiliser_at(row, state, has_stabiliser);
        i64 orbit = 0;
        while (orbit + 1 < orders && orbit_orders[orbit] != own) ++orbit;
        orbit_class[row] = (u8)orbit;
    }
    for (int offset = WARP / 2; offset > 0; offset >>= 1) slots = max(slots, __shfl_xor_sync(ALL_LANES, slots, offset));
    if (lane == 0) longest[warp] = slots;
    if (lane == 0 && row < states) slice_slots[row / WARP] = slots;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 total = 0;
        for (int slice = 0; slice < SLICES; ++slice) total += longest[slice];
        slot_totals[blockIdx.x] = total;
    }
}

// The slot of the element between a row and the row that a word is of; NONE if the orbit of the word has no state.
__device__ __forceinline__ u32 slot_of(word_t moved, int hint, bool times_i,
                                       u32& code, u32 index_bits, const u32* __restrict__ has_stabiliser,
                                       const u8* __restrict__ character_class, i64 character_classes, const u8* __restrict__ code_of,
                                       const u32* __restrict__ bitmap,
                                       const u64* __restrict__ high_offset, const u32* __restrict__ low_index, const double* __restrict__ characters)
{
    const Least least = least_of(moved, hint);
    const i64 place = place_of(least.word, bitmap, high_offset, low_index);
    if (place < 0) return NONE;
    u32 slot = (u32)place;
    if ((has_stabiliser[place / WORD_BITS] >> place % WORD_BITS & 1u) != 0) slot |= SHORT_ORBIT;
    u32 kind = 0;
    kind = 2 * kind + (times_i ? 1 : 0);
    kind = kind * (u32)character_classes + character_class[least.element];
    code = code_of[kind];
    slot |= code << index_bits;
    return slot;
}

// The slots of the rows of a block, flips of the highest bits first: rows that follow each other have these bits in common, so that the
// slots of one number lead the lanes of a warp to partners beside each other. Slices begin `slot_starts` slots behind the first. Of the
// slice behind the last the end.
extern "C" __global__ void __launch_bounds__(THREADS)
fill_partners(i64 states, const u32* __restrict__ representatives, const u32* __restrict__ has_stabiliser,
              const u32* __restrict__ bitmap, const u64* __restrict__ high_offset, const u32* __restrict__ low_index,
              const double* __restrict__ characters, const u32* __restrict__ flip_masks,
              const u8* __restrict__ character_class, i64 character_classes, const u8* __restrict__ code_of,
              u32 index_bits, const u32* __restrict__ slice_slots, const u32* __restrict__ slot_starts,
              u32* __restrict__ slice_start, u32* __restrict__ partners)
{
    __shared__ word_t masks[16];
    for (int k = threadIdx.x; k < 16; k += THREADS) masks[k] = flip_masks[k];
    __syncthreads();
    const i64 row = (i64)blockIdx.x * THREADS + threadIdx.x;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const i64 slice = (i64)blockIdx.x * SLICES + warp, slices = (states + WARP - 1) / WARP;
    if (slice >= slices) return;
    u32 start = slot_starts[blockIdx.x];
    for (i64 before = slice - warp; before < slice; ++before) start += slice_slots[before];
    const u32 slots = slice_slots[slice];
    if (lane == 0) {
        slice_start[slice] = start;
        if (slice + 1 == slices || (warp + 1 == SLICES && blockIdx.x + 1 == gridDim.x)) slice_start[slice + 1] = start + slots;
    }
    const i64 at = (i64)start * WARP + lane;
    u32 filled = 0;
    if (row < states) {
        const word_t state = representatives[row];
        const int hint = hint_of(state);
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
                const int highest = WORD_BITS - 1 - __clz((int)active), flip = 0 + highest;
                active &= ~(1u << highest);
                u32 code = 0;
                const u32 slot = slot_of(state ^ masks[flip], hint,
                                         flip >= 16, code, index_bits,
                                         has_stabiliser, character_class, character_classes, code_of,
                                         bitmap, high_offset, low_index, characters);
                if (slot == NONE) continue;
                const i64 place = at + (i64)filled * WARP;
                partners[place] = slot;
                ++filled;
            }
        }
    }
    for (; filled < slots; ++filled) {
        partners[at + (i64)filled * WARP] = NONE;
    }
}

// Both parts of an element of x, which a slot reads at once.
struct __align__(2 * sizeof(value_t)) Parts {
    value_t re, im;
};

// The parts of the elements of x beside each other.
extern "C" __global__ void __launch_bounds__(THREADS)
pair_parts(const value_t* __restrict__ x, value_t* __restrict__ staged, i64 states,
           const u32* __restrict__ imaginary_place, const double* __restrict__ directions)
{
    Parts* paired = reinterpret_cast<Parts*>(staged);
    const i64 first = SHARE_FIRST(states) + (i64)SHARE_BLOCK * THREADS, behind = SHARE_END(states);
    for (i64 row = first + threadIdx.x; row < behind; row += (i64)SHARE_BLOCKS * THREADS) {
        const Amplitude own = amplitude_at(x, row, states, imaginary_place, directions);
        const Parts parts = {(value_t)own.re, (value_t)own.im};
        paired[row] = parts;
    }
}

// Rows from the table: of several cards each takes a run of them. Blocks that are at work at a time have rows that follow each other, whose
// partners are few enough for L2.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(const value_t* __restrict__ x, const value_t* __restrict__ staged, value_t* __restrict__ y,
         double* __restrict__ partials, i64 kept, i64 states, const u32* __restrict__ imaginary_place,
         const double* __restrict__ directions, const u32* __restrict__ representatives,
         const u8* __restrict__ orbit_class, const double* __restrict__ orbit_roots,
         const u32* __restrict__ slice_start, u32 index_bits, i64 run, const u32* __restrict__ partners,
         const double* __restrict__ slot_values, i64 values)
{
    __shared__ double scratch[THREADS / WARP];
    __shared__ double value_re[256];
    for (int k = threadIdx.x; k < values; k += THREADS) value_re[k] = slot_values[k];
    __shared__ double value_im[256];
    for (int k = threadIdx.x; k < values; k += THREADS) value_im[k] = slot_values[k + values];
    __shared__ double value_turn[256]; // what the imaginary part is multiplied by first: -1 for a conjugate
    for (int k = threadIdx.x; k < values; k += THREADS) value_turn[k] = slot_values[k + 2 * values];
    __syncthreads();
    const Parts* paired = reinterpret_cast<const Parts*>(staged);
    const u32 index_mask = (1u << index_bits) - 1u;
    const i64 first_block = 0, behind = (kept + THREADS - 1) / THREADS;
    const int lane = threadIdx.x % WARP;
    double x_dot_y = 0.0;
    for (i64 k = 0; k < run; ++k) {
        const i64 block = first_block + SHARE_BLOCK * run + k, row = block * THREADS + threadIdx.x;
        if (block >= behind || row >= kept) break;
        const i64 slice = row / WARP;
        const u32 start = slice_start[slice];
        const int slots = (int)(slice_start[slice + 1] - start);
        const u32* at = partners + (i64)start * WARP + lane;
        double sum = 0.0, sum_im = 0.0;
        u32 next[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            next[j] = j < slots ? __ldcs(at + (i64)j * WARP) : NONE;
        }
        for (int first = 0; first < slots; first += AHEAD) {
            u32 slot[AHEAD];
            double part[AHEAD], part_im[AHEAD];
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) {
                slot[j] = next[j];
                const i64 place = slot[j] & index_mask;
                Parts parts = {0, 0};
                if (slot[j] != NONE) parts = paired[place];
                part[j] = (double)parts.re;
                part_im[j] = (double)parts.im;
            }
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) {
                const int later_slot = first + AHEAD + j;
                next[j] = later_slot < slots ? __ldcs(at + (i64)later_slot * WARP) : NONE;
            }
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) {
                if ((slot[j] & SHORT_ORBIT) != 0 && slot[j] != NONE) {
                    const double root = orbit_roots[orbit_class[slot[j] & index_mask]];
                    part[j] *= root;
                    part_im[j] *= root;
                }
                const u32 own = slot[j] != NONE ? (slot[j] & ~SHORT_ORBIT) >> index_bits : 0;
                part_im[j] *= value_turn[own];
                sum += value_re[own] * part[j] - value_im[own] * part_im[j];
                sum_im += value_re[own] * part_im[j] + value_im[own] * part[j];
            }
        }
        const u32 orbit = orbit_class[row];
        const double factor = orbit == 0 ? 1.0 : 1.0 / orbit_roots[orbit];
        const double diagonal = diagonal_of(representatives[row]);
        const Amplitude x_row = amplitude_at(x, row, states, imaginary_place, directions);
        const double y_row = diagonal * x_row.re + factor * sum, y_row_im = diagonal * x_row.im + factor * sum_im;
        put_amplitude(y, row, y_row, y_row_im, states, imaginary_place, directions);
        x_dot_y += x_row.re * y_row + x_row.im * y_row_im;
    }
    const double total = block_sum<THREADS>(x_dot_y, scratch);
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
