// Merge-based CSR (Merrill, Garland 2016): the list of row ends and the list of non-zeros are merged, and every thread takes ITEMS
// steps of the merge, so that work is even whatever the row lengths. A row end precedes the non-zeros at and after it.
constexpr u32 TILE = THREADS * ITEMS;
constexpr i64 STEPS = (i64)ROWS + NON_ZEROS;

// Row ends among the first `diagonal` steps of the merge of `ends[0..rows]` and the non-zeros 0..non_zeros.
__device__ __forceinline__ u32 ends_before(i64 diagonal, const u32* ends, u32 rows, u32 non_zeros)
{
    u32 low = diagonal > non_zeros ? (u32)(diagonal - non_zeros) : 0, high = diagonal < rows ? (u32)diagonal : rows;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if ((i64)ends[middle] <= diagonal - middle - 1) low = middle + 1; else high = middle;
    }
    return low;
}

// The first row of each tile.
extern "C" __global__ void __launch_bounds__(THREADS)
merge_search(const u32* __restrict__ row_start, u32* __restrict__ tile_row)
{
    const u32 tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile > TILES) return;
    const i64 diagonal = (i64)tile * TILE < STEPS ? (i64)tile * TILE : STEPS;
    tile_row[tile] = ends_before(diagonal, row_start + 1, ROWS, NON_ZEROS);
}

// Sums of the rows that end in a tile; what is left over of the tile's last row is its carry.
extern "C" __global__ void __launch_bounds__(THREADS)
merge_multiply(const u32* __restrict__ row_start, const u32* __restrict__ columns, const double* __restrict__ values,
               const u32* __restrict__ tile_row, const double* __restrict__ x, double* __restrict__ y,
               u32* __restrict__ carry_row, double* __restrict__ carry_value)
{
    __shared__ u32 ends[TILE + 1], row_of[THREADS];
    __shared__ double products[TILE], carry[THREADS];
    const u32 tile = blockIdx.x, thread = threadIdx.x;
    const i64 first = (i64)tile * TILE, last = first + TILE < STEPS ? first + TILE : STEPS;
    const u32 row_0 = tile_row[tile], rows = tile_row[tile + 1] - row_0;
    const u32 from = (u32)(first - row_0), non_zeros = (u32)(last - first) - rows;
    for (u32 k = thread; k < rows; k += THREADS) ends[k] = row_start[row_0 + k + 1] - from;
    if (thread == 0) ends[rows] = 0xffffffffu;                          // this row ends in a later tile
    for (u32 k = thread; k < non_zeros; k += THREADS) products[k] = values[from + k] * x[columns[from + k]];
    __syncthreads();

    const u32 steps = rows + non_zeros, begin = thread * ITEMS < steps ? thread * ITEMS : steps;
    u32 row = ends_before(begin, ends, rows, non_zeros), next = begin - row, first_row = 0;
    double sum = 0.0, first_sum = 0.0;
    bool finished = false;
    for (u32 step = begin; step < begin + ITEMS && step < steps; ++step) {
        if (next < ends[row]) {
            sum += products[next++];
            continue;
        }
        if (finished) {
            y[row_0 + row] = sum;
        } else {                                                        // it may have begun in threads before this one
            finished = true;
            first_row = row;
            first_sum = sum;
        }
        sum = 0.0;
        ++row;
    }

    // Leftovers of threads with the same row are added up to each thread.
    row_of[thread] = row;
    carry[thread] = sum;
    __syncthreads();
    for (u32 by = 1; by < THREADS; by *= 2) {
        const double before = thread >= by && row_of[thread - by] == row ? carry[thread - by] : 0.0;
        __syncthreads();
        carry[thread] += before;
        __syncthreads();
    }
    if (finished) y[row_0 + first_row] = first_sum + (thread > 0 ? carry[thread - 1] : 0.0);
    if (thread == THREADS - 1) {
        carry_row[tile] = row_0 + row;
        carry_value[tile] = carry[thread];
    }
}

// Adds the carries of the tiles to the rows they belong to, those of one row in order.
extern "C" __global__ void __launch_bounds__(THREADS)
merge_carry(const u32* __restrict__ carry_row, const double* __restrict__ carry_value, double* __restrict__ y)
{
    u32 tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= TILES) return;
    const u32 row = carry_row[tile];
    if (row >= ROWS || (tile > 0 && carry_row[tile - 1] == row)) return;
    double sum = 0.0;
    for (; tile < TILES && carry_row[tile] == row; ++tile) sum += carry_value[tile];
    y[row] += sum;
}
