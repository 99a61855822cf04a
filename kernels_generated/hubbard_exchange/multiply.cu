// hubbard_chain_6_3up_3dn_symmetric: y = H x on pairs of 20 strings
//
//   H = (A (x) 1) + (1 (x) A) + D, the same for both spins, and X^T = P X with P = -1
//   H X = W + P W^T + D X,   W = X A
//
// X[a][b] is the amplitude of the up string a with the down string b. Of X only pairs {a, b} are kept: row a holds b = a, a + 1, ... to
// half way around the 20 strings, without b = a, which vanishes.
// Elements belong to normalised states: sqrt(2) X[a][b].
// model: built-in hubbard:1  sum!(b in 0..t.len(), s in [Up, Down]; -t[b] * weight[b] * (cdag(from[b], s) * c(to[b], s) + h.c.))
// model: built-in hubbard:2  sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
// A card has a run of rows, and works on a panel of them at a time:
//   multiply_hops  makes the whole rows S of the next panel from the pairs (S = sqrt(2) X), and W = S A of this one
//   multiply_add   adds W to the panel's own rows of y, and P W^T of every card's panel to the rows that the card has
// least work: 3830.0 flop, 8636.0 bytes
// specialised: numbers of strings, parity, diagonal, rows of a panel, cards

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

// 1 when an odd number of bits is set.
__device__ __forceinline__ u32 parity(u64 bits) { return (u32)__popcll(bits) & 1u; }

// value, or -value where the top bit of `sign` is set: one operation on the high word.
__device__ __forceinline__ double negated_by_top_bit(double value, u32 sign)
{
    return __hiloint2double(__double2hiint(value) ^ (int)(sign & 0x80000000u), __double2loint(value));
}

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // in which a row is summed
constexpr i64 N = 20;  // 3 electrons of each spin on 6 sites
constexpr i64 FIRST = 1;  // the least distance of a pair
constexpr double P = -1;
constexpr int SITES = 6;
constexpr double ROOT = 1.4142135623730951;

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

// The diagonal of H, computed wherever it is needed and never stored.
__device__ __forceinline__ double diagonal_of(u64 state)
{
    double value = 0.0;
    value += 4.0 * __popcll(state & (state >> 6) & 0x3full);
    return value;
}

// The pair {a, a + d} is kept in row a where FIRST <= d < distances(a); of strings half way around from each other in the row of the first.
__device__ __forceinline__ i64 distances(i64 a)
{
    return N % 2 == 1 || a < N / 2 ? N / 2 + 1 : N / 2;
}
__device__ __forceinline__ i64 place_of(i64 a, i64 d)
{
    const i64 short_rows = N % 2 == 0 && a > N / 2 ? a - N / 2 : 0;  // before row a
    return a * (N / 2 + 1 - FIRST) - short_rows + d - FIRST;
}
// How far b is ahead of a.
__device__ __forceinline__ i64 distance(i64 a, i64 b)
{
    return b >= a ? b - a : b - a + N;
}
__device__ __forceinline__ bool in_row(i64 a, i64 d)
{
    return FIRST <= d && d < distances(a);
}

// Cards, each with a run of rows, of which a panel is ROWS.
constexpr i64 SHARES = 1;
constexpr i64 ROWS = 32, ROW_TILES = ROWS / WARP, COLUMN_TILES = (N + WARP - 1) / WARP;
constexpr i64 STAGED = 1280, ACROSS = 640;  // each card's elements of both
constexpr u32 FETCHING = 1;  // blocks that make the next panel
static_assert((i64)(u32)(N * SHARES) == N * SHARES, "rows and cards are divided as unsigned int");
__device__ __forceinline__ i64 first_of(i64 card)
{
    return (u32)N * (u32)card / (u32)SHARES;
}
__device__ __forceinline__ i64 card_of(i64 row)
{
    return SHARES == 1 ? 0 : (((u32)row + 1) * (u32)SHARES - 1) / (u32)N;
}
__device__ __forceinline__ i64 panel_of(i64 row)
{
    return (u32)(row - first_of(card_of(row))) / (u32)ROWS;
}
// Rows of a card's panel; none past its last.
__device__ __forceinline__ i64 panel_first(i64 card, i64 panel)
{
    const i64 first = first_of(card) + panel * ROWS, end = first_of(card + 1);
    return first < end ? first : end;
}
__device__ __forceinline__ i64 panel_end(i64 card, i64 panel)
{
    return panel_first(card, panel + 1);
}
// Where S of this card's panel is in `staged`: S[t][b] at b ROWS + t. W is so in `across`.
__device__ __forceinline__ i64 staged_at(i64 panel)
{
    return CARD * STAGED + (panel & 1) * ROWS * N;
}

// Whole rows of X from the pairs, times sqrt(2): those of a row itself lie one after the other, those of other rows t after t. Of an
// element one of both stands in x, and all loads of a tile are under way before the first is used.
template <int WARPS>
__device__ __forceinline__ void make_panel(const value_t* __restrict__ x, value_t* __restrict__ staged, i64 panel)
{
    __shared__ value_t tile[WARP][WARP + 1];
    const i64 first = panel_first(CARD, panel), end = panel_end(CARD, panel);
    constexpr int EACH = (WARP + WARPS - 1) / WARPS;  // lines of a tile for each warp
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value_t* const to = staged + staged_at(panel);
    for (i64 k = blockIdx.x; k < ROW_TILES * COLUMN_TILES; k += FETCHING) {
        const i64 row_0 = first + k / COLUMN_TILES * WARP, column_0 = k % COLUMN_TILES * WARP;
        if (row_0 >= end) break;
        value_t own[EACH], others[EACH];
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int line = warp + i * WARPS;
            own[i] = others[i] = 0;
            const i64 a = row_0 + line, b = column_0 + lane;
            if (line < WARP && a < end && b < N) {
                const i64 d = distance(a, b);
                if (in_row(a, d)) own[i] = d == 0 ? (value_t)(ROOT * (double)x[place_of(a, d)]) : x[place_of(a, d)];
            }
            const i64 row = row_0 + lane, column = column_0 + line;
            if (line < WARP && row < end && column < N && !in_row(row, distance(row, column))) {
                const i64 back = distance(column, row);
                if (back != 0) others[i] = (value_t)P * x[place_of(column, back)];
            }
        }
        __syncthreads();  // the tile before is read
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            if (warp + i * WARPS < WARP) tile[lane][warp + i * WARPS] = own[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int c = warp + i * WARPS;
            const i64 b = column_0 + c;
            if (c < WARP && b < N) to[b * ROWS + (row_0 - first) + lane] = tile[c][lane] + others[i];
        }
    }
}

constexpr int HOP_WARPS = 8;

// Works on a panel and makes the next; with panel -1 makes the first. A warp takes WARP rows and a column.
extern "C" __global__ void __launch_bounds__(WARP * HOP_WARPS)
multiply_hops(const value_t* __restrict__ x, value_t* __restrict__ staged, value_t* __restrict__ across,
              const u32* __restrict__ hop_start, const u32* __restrict__ hop_column,
              const double* __restrict__ hop_value, int panel)
{
    if (!OF_THIS_CARD(CARD, CARDS) || CARD >= SHARES) return;  // every card has a panel of its own
    if (blockIdx.x < FETCHING) {
        make_panel<HOP_WARPS>(x, staged, panel + 1);
        return;
    }
    const i64 warp = (i64)(blockIdx.x - FETCHING) * HOP_WARPS + threadIdx.x / WARP;
    const i64 tile = warp / N, b = warp % N, lane = threadIdx.x % WARP;
    if (panel < 0 || tile * WARP >= panel_end(CARD, panel) - panel_first(CARD, panel)) return;
    const value_t* const from = staged + staged_at(panel) + tile * WARP + lane;
    sum_t sum = 0.0;
    const u32 end = hop_start[b + 1];
#pragma unroll 4
    for (u32 k = hop_start[b]; k < end; ++k) sum += hop_value[k] * (sum_t)from[(i64)hop_column[k] * ROWS];
    across[CARD * ACROSS + b * ROWS + tile * WARP + lane] = (value_t)sum;
}

constexpr int ADD_WARPS = 8;
constexpr u32 ADD_BLOCKS = 1;

// Adds a panel's W to y. A pair {a, b} gets W[a][b] when the panel with a is at work and P W[b][a] when that with b is: the first writes, the
// second adds, and where both are at work it is done at once, in the row that has the pair.
extern "C" __global__ void __launch_bounds__(WARP * ADD_WARPS)
multiply_add(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
             const value_t* __restrict__ across, const u32* __restrict__ string_word, int panel)
{
    if (!OF_THIS_CARD(CARD, CARDS) || CARD >= SHARES) return;  // every card has rows of its own
    __shared__ value_t tile[WARP][WARP + 1];
    __shared__ double scratch[ADD_WARPS];
    const i64 first = panel_first(CARD, panel), end = panel_end(CARD, panel);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const value_t* const own = across + CARD * ACROSS;
    double x_dot_y = 0.0;
    // W of the panel's own rows.
    for (i64 k = blockIdx.x; k < ROW_TILES * COLUMN_TILES; k += ADD_BLOCKS) {
        const i64 row_0 = first + k / COLUMN_TILES * WARP, column_0 = k % COLUMN_TILES * WARP;
        if (row_0 >= end) break;
        __syncthreads();  // the tile before is read
        for (int c = warp; c < WARP; c += ADD_WARPS) {
            const i64 b = column_0 + c;
            if (b < N && row_0 + lane < end) tile[c][lane] = own[b * ROWS + (row_0 - first) + lane];
        }
        __syncthreads();
        for (int r = warp; r < WARP; r += ADD_WARPS) {
            const i64 a = row_0 + r, b = column_0 + lane;
            if (a >= end || b >= N) continue;
            const i64 d = distance(a, b);
            if (!in_row(a, d)) continue;
            const i64 at = place_of(a, d), other = panel_of(b);
            sum_t sum = (sum_t)tile[lane][r];
            if (other == panel) {
                const i64 card = card_of(b);
                sum += P * (sum_t)across[card * ACROSS + a * ROWS + (b - panel_first(card, panel))];
            }
            if (d == 0) sum /= ROOT;
            const sum_t value = (sum_t)x[at];
            sum += diagonal_of((u64)string_word[a] << SITES | string_word[b]) * value;
            x_dot_y += value * sum;
            y[at] = (value_t)(other < panel ? (sum_t)y[at] + sum : sum);
        }
    }
    // P W^T of every card's panel, to the other rows of this card: a warp takes a row and WARP rows of a panel.
    const i64 rows_0 = first_of(CARD), rows = first_of(CARD + 1) - rows_0;
    for (i64 k = (i64)blockIdx.x * ADD_WARPS + warp; k < rows * SHARES * ROW_TILES; k += (i64)ADD_BLOCKS * ADD_WARPS) {
        const i64 b = rows_0 + k / (SHARES * ROW_TILES), part = k % (SHARES * ROW_TILES);
        const i64 card = (CARD + part / ROW_TILES) % SHARES, t = part % ROW_TILES * WARP + lane;  // each begins with its own panel
        const i64 a = panel_first(card, panel) + t, d = distance(b, a);
        if ((first <= b && b < end) || a >= panel_end(card, panel) || !in_row(b, d)) continue;
        const i64 at = place_of(b, d);
        const sum_t sum = P * (sum_t)across[card * ACROSS + b * ROWS + t];
        x_dot_y += (sum_t)x[at] * sum;
        y[at] = (value_t)(panel_of(b) < panel ? (sum_t)y[at] + sum : sum);
    }
    const double total = block_sum<WARP * ADD_WARPS>(x_dot_y, scratch);
    double* const partial = partials + CARD * ADD_BLOCKS + blockIdx.x;
    if (threadIdx.x == 0) *partial = panel == 0 ? total : *partial + total;
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
