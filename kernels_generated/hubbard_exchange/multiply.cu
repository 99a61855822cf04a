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
// A card has a run of rows, and works on a panel of them at a time. Each launch has three of them at work:
//   of the next one   whole rows S are made from the pairs (S = sqrt(2) X)
//   of this one       W = S A
//   of the last one   W is added to the panel's own rows of y, and P W^T of every card's panel to the rows that the card has
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
constexpr i64 OWN_TILES = (N / 2 + WARP + WARP - 1) / WARP;  // of pairs in WARP rows
constexpr i64 TASKS = 20;  // of hops, of a tile of rows
constexpr i64 PART = 1280;  // a card's elements of `staged` and of `across`, each of which has two panels
constexpr int WARPS = 8;  // of a block
// Blocks that work on W, and those that make rows and add, which wait for memory and for other cards. They are mixed evenly.
constexpr u32 HOP_BLOCKS = 3, SERVERS = 1;
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
// Where S of this card's panel is in `staged`: S[t][b] at b ROWS + t. W of a card's panel is so in `across`.
__device__ __forceinline__ i64 staged_at(i64 panel)
{
    return CARD * PART + (panel & 1) * ROWS * N;
}
__device__ __forceinline__ i64 across_at(i64 card, i64 panel)
{
    return card * PART + (panel & 1) * ROWS * N;
}

// A tile goes by lines, EACH for a warp. All loads of a tile, and of some rows, are under way before the first is used. What a launch uses
// once (__ldcs, __stcs) leaves L2 to S.
constexpr int EACH = (WARP + WARPS - 1) / WARPS, ROWS_AT_ONCE = 4;
typedef value_t Tile[WARP][WARP + 1];

// Whole rows of X from the pairs, times sqrt(2): those of a row itself lie one after the other, those of other rows t after t. Of an
// element one of both stands in x.
__device__ __forceinline__ void make_panel(
    const value_t* __restrict__ x, value_t* __restrict__ staged, i64 panel, u32 server, Tile& tile)
{
    const i64 first = panel_first(CARD, panel), end = panel_end(CARD, panel);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value_t* const to = staged + staged_at(panel);
    for (i64 k = server; k < ROW_TILES * COLUMN_TILES; k += SERVERS) {
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
                if (in_row(a, d)) own[i] = d == 0 ? (value_t)(ROOT * (double)x[place_of(a, d)]) : __ldcs(x + place_of(a, d));
            }
            const i64 row = row_0 + lane, column = column_0 + line;
            if (line < WARP && row < end && column < N && !in_row(row, distance(row, column))) {
                const i64 back = distance(column, row);
                if (back != 0) others[i] = (value_t)P * __ldcs(x + place_of(column, back));
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

// Adds a panel's W to y; returns what it adds to x . y. A pair {a, b} gets W[a][b] when the panel with a is added and P W[b][a] when that with
// b is: the first writes, the second adds, and where both are in one panel it is done at once, in the row that has the pair.
__device__ __forceinline__ double add_panel(const value_t* __restrict__ x, value_t* __restrict__ y, const value_t* across,
    const u32* __restrict__ string_word, i64 panel, u32 server, Tile& tile)
{
    const i64 first = panel_first(CARD, panel), end = panel_end(CARD, panel);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const value_t* const own = across + across_at(CARD, panel);
    double x_dot_y = 0.0;
    // W of the panel's own rows: WARP of them, and the columns from the first row's number on, around to half way from the last.
    for (i64 k = server; k < ROW_TILES * OWN_TILES; k += SERVERS) {
        const i64 row_0 = first + k / OWN_TILES * WARP, ahead = k % OWN_TILES * WARP;
        if (row_0 >= end) break;
        value_t w[EACH], given[EACH], had[EACH], across_from[EACH];
        i64 at[EACH];
        const i64 column = row_0 + ahead + lane, b = column < N ? column : column - N, other = panel_of(b);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int line = warp + i * WARPS;
            const i64 c = row_0 + ahead + line, place = (c < N ? c : c - N) * ROWS + (row_0 - first) + lane;
            w[i] = line < WARP && row_0 + lane < end && c < 2 * N ? __ldcs(own + place) : 0;
            const i64 a = row_0 + line, d = ahead + lane - line;
            at[i] = line < WARP && a < end && in_row(a, d) ? place_of(a, d) : -1;
            given[i] = had[i] = across_from[i] = 0;
            if (at[i] < 0) continue;
            given[i] = __ldcs(x + at[i]);
            if (other < panel) had[i] = __ldcs(y + at[i]);
            if (other == panel) {
                const i64 card = card_of(b);
                across_from[i] = across[across_at(card, panel) + a * ROWS + (b - panel_first(card, panel))];
            }
        }
        __syncthreads();  // the tile before is read
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            if (warp + i * WARPS < WARP) tile[warp + i * WARPS][lane] = w[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            if (at[i] < 0) continue;
            const int line = warp + i * WARPS;
            const i64 a = row_0 + line;
            sum_t sum = (sum_t)tile[lane][line] + P * (sum_t)across_from[i];
            if (a == b) sum /= ROOT;
            const sum_t value = (sum_t)given[i];
            sum += diagonal_of((u64)string_word[a] << SITES | string_word[b]) * value;
            x_dot_y += value * sum;
            __stcs(y + at[i], (value_t)((sum_t)had[i] + sum));
        }
    }
    // P W^T of every card's panel, to the other rows of this card: a warp takes WARP rows of a panel, and some rows.
    const i64 rows_0 = first_of(CARD), rows = first_of(CARD + 1) - rows_0, parts = SHARES * ROW_TILES;
    constexpr i64 STRIDE = (i64)SERVERS * WARPS;
    for (i64 k_0 = (i64)server * WARPS + warp; k_0 < rows * parts; k_0 += ROWS_AT_ONCE * STRIDE) {
        value_t w[ROWS_AT_ONCE], given[ROWS_AT_ONCE], had[ROWS_AT_ONCE];
        i64 at[ROWS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < ROWS_AT_ONCE; ++i) {
            const i64 k = k_0 + i * STRIDE, b = rows_0 + k / parts, part = k % parts;
            const i64 card = (CARD + part / ROW_TILES) % SHARES, t = part % ROW_TILES * WARP + lane;  // each begins with its own panel
            const i64 a = panel_first(card, panel) + t, d = distance(b, a);
            const bool adds = k < rows * parts && !(first <= b && b < end) && a < panel_end(card, panel) && in_row(b, d);
            at[i] = adds ? place_of(b, d) : -1;
            w[i] = given[i] = had[i] = 0;
            if (!adds) continue;
            w[i] = __ldcs(across + across_at(card, panel) + b * ROWS + t);
            given[i] = __ldcs(x + at[i]);
            if (panel_of(b) < panel) had[i] = __ldcs(y + at[i]);
        }
#pragma unroll
        for (int i = 0; i < ROWS_AT_ONCE; ++i) {
            if (at[i] < 0) continue;
            const sum_t sum = P * (sum_t)w[i];
            x_dot_y += (sum_t)given[i] * sum;
            __stcs(y + at[i], (value_t)((sum_t)had[i] + sum));
        }
    }
    return x_dot_y;
}

// With panel -1 makes the first; the launch after the last panel adds it.
extern "C" __global__ void __launch_bounds__(WARP * WARPS)
multiply_panels(const value_t* __restrict__ x, value_t* __restrict__ y, double* __restrict__ partials,
                value_t* __restrict__ staged, value_t* __restrict__ across, const u32* __restrict__ string_word,
                const u32* __restrict__ hop_start, const u32* __restrict__ hop_column,
                const double* __restrict__ hop_value, int panel)
{
    if (!OF_THIS_CARD(CARD, CARDS) || CARD >= SHARES) return;  // every card has panels of its own
    __shared__ Tile tile;
    __shared__ double scratch[WARPS];
    const u32 server = (u32)((u64)blockIdx.x * SERVERS / (HOP_BLOCKS + SERVERS));
    if ((u32)((u64)(blockIdx.x + 1) * SERVERS / (HOP_BLOCKS + SERVERS)) != server) {
        make_panel(x, staged, panel + 1, server, tile);
        if (panel < 1) return;
        const double total = block_sum<WARP * WARPS>(add_panel(x, y, across, string_word, panel - 1, server, tile), scratch);
        double* const partial = partials + CARD * SERVERS + server;
        if (threadIdx.x == 0) *partial = panel == 1 ? total : *partial + total;
        return;
    }
    const i64 warp = (i64)(blockIdx.x - server) * WARPS + threadIdx.x / WARP, tile_of_rows = warp / TASKS;
    if (panel < 0 || tile_of_rows * WARP >= panel_end(CARD, panel) - panel_first(CARD, panel)) return;
    const value_t* const rows = staged + staged_at(panel) + tile_of_rows * WARP;
    value_t* const sums = across + across_at(CARD, panel) + tile_of_rows * WARP;
    const u32 task = (u32)(warp % TASKS);
    const i64 lane = threadIdx.x % WARP;
    sum_t sum = 0.0;
    const u32 end = hop_start[task + 1];
#pragma unroll 4
    for (u32 k = hop_start[task]; k < end; ++k) sum += hop_value[k] * (sum_t)rows[(i64)hop_column[k] * ROWS + lane];
    sums[(i64)task * ROWS + lane] = (value_t)sum;
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
