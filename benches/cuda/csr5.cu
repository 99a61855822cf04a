// CSR5 (Liu, Vinter 2015): tiles of 32 lanes with SIGMA consecutive non-zeros each, stored lane by lane for every step. A bit per
// non-zero says whether it begins a row; y_offset counts the rows begun in lanes before, seg_offset the lanes after without any.
//
// tile_row: the row of the tile's first non-zero, STARTS if that non-zero begins its row, HOLES if empty rows lie between the
// tile's rows; empty_offset then holds each of its rows less the first, from empty_start[tile] on.
constexpr u32 STARTS = 0x40000000u, HOLES = 0x80000000u, ROW = 0x3fffffffu;

extern "C" __global__ void __launch_bounds__(THREADS)
csr5_clear(double* __restrict__ y)
{
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row < ROWS) y[row] = 0.0;
}

// A warp a tile. A row that began in an earlier tile goes to the calibrator, the others to y.
extern "C" __global__ void __launch_bounds__(THREADS)
csr5_tiles(const u32* __restrict__ tile_row, const u32* __restrict__ descriptor, const u32* __restrict__ empty_start,
           const u32* __restrict__ empty_offset, const u32* __restrict__ columns, const double* __restrict__ values,
           const double* __restrict__ x, double* __restrict__ calibrator, double* __restrict__ y)
{
    const u32 tile = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (tile >= TILES) return;                                          // whole warps
    const u32 word = descriptor[(i64)tile * WORDS * 32 + lane];
    const u32 seg_offset = word & 31u, y_offset = (word >> 5) & ((1u << Y_BITS) - 1u);
    const u32 flags = WORDS == 1 ? word >> (Y_BITS + 5) : descriptor[((i64)tile * WORDS + WORDS - 1) * 32 + lane];
    const u32 head = tile_row[tile], first_empty = head & HOLES ? empty_start[tile] : 0;
    const auto store = [&](u32 segment, double sum) {
        if (segment == 0 && !(head & STARTS)) calibrator[tile] = sum;
        else y[(head & ROW) + (head & HOLES ? empty_offset[first_empty + segment] : segment)] = sum;
    };
    if (lane == 0 && (head & STARTS)) calibrator[tile] = 0.0;

    u32 begun = y_offset;
    double sum = 0.0, before = 0.0;                                     // before: of the row that an earlier lane began
    bool seen = false;
#pragma unroll
    for (u32 step = 0; step < SIGMA; ++step) {
        if (flags >> step & 1u) {
            if (seen) store(begun - 1, sum);
            else before = sum;
            seen = true;
            sum = 0.0;
            ++begun;
        }
        const i64 at = ((i64)tile * SIGMA + step) * 32 + lane;
        sum += values[at] * x[columns[at]];
    }
    if (!seen) before = sum;

    // The fast segmented sum of the paper: differences of a prefix sum over the lanes after this one.
    double after = __shfl_down_sync(0xffffffffu, before, 1);
    if (lane == 31) after = 0.0;
    double prefix = after;
    for (u32 by = 1; by < 32; by *= 2) {
        const double add = __shfl_up_sync(0xffffffffu, prefix, by);
        if (lane >= by) prefix += add;
    }
    const double end = __shfl_sync(0xffffffffu, prefix, lane + seg_offset);
    if (seen) store(begun - 1, sum + (end - prefix + after));
}

// Adds what tiles found of rows that began in earlier ones, those of one row in order.
extern "C" __global__ void __launch_bounds__(THREADS)
csr5_calibrate(const u32* __restrict__ tile_row, const double* __restrict__ calibrator, double* __restrict__ y)
{
    u32 tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= TILES) return;
    const u32 row = tile_row[tile] & ROW;
    if (tile > 0 && (tile_row[tile - 1] & ROW) == row) return;
    double sum = 0.0;
    for (; tile < TILES && (tile_row[tile] & ROW) == row; ++tile) sum += calibrator[tile];
    y[row] += sum;
}

// The non-zeros after the last whole tile, one warp per row.
extern "C" __global__ void __launch_bounds__(THREADS)
csr5_tail(const u32* __restrict__ row_start, const u32* __restrict__ columns, const double* __restrict__ values,
          const double* __restrict__ x, double* __restrict__ y)
{
    const u32 row = TAIL_ROW + (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= ROWS) return;
    const u32 begin = row_start[row] > TAIL ? row_start[row] : TAIL;
    double sum = 0.0;
    for (u32 k = begin + lane; k < row_start[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = row_start[row] < TAIL ? y[row] + sum : sum;
}
