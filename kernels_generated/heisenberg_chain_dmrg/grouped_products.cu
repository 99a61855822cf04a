// dmrg: C = sum over records of c A B, c A and c 1, for all output blocks of a stage in one launch
//
//   a block of threads takes tile after tile of the output, at most 128 x 128; for each it adds up all products that
//   touch it, 16 terms of the sum (a slab) at a time, then copies and diagonals, and writes it once:
//   no two blocks write one place, and the order of every sum is fixed
//   the next slab is on its way through registers while one is multiplied, across products and tiles
//   matrices are column-major; A, B may be meant transposed; what lies outside of a product's part counts as zero
// specialised: slab, stages, tensor-core operations of 16 x 8 x 8 (sm_90; 8 x 8 x 4 on sm_80, shuffles before)

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

typedef double value_t;  // number type of the matrices
typedef double sum_t;  // in which products are summed
constexpr int THREADS = 256;                      // eight warps
constexpr int SIDE = 128;                         // most rows and columns of a tile
constexpr int SLAB = 16;                          // terms of the sum that are staged at once
constexpr int CARRIED = 8;                         // numbers of an operand that a thread carries to shared memory
constexpr int STEP = 8;                           // terms of the sum of one tensor-core operation
constexpr int OPERAND = SLAB * SIDE;              // numbers of A, or of B, of a slab
constexpr u32 NOTHING = 0xffffffffu;              // no tile is left

// c A B (kind 0), c A (1) or c 1 (2), on a part of an output block.
struct Record {
    u32 flags;                       // kind; bit 2, 3: A, B transposed; bits 4 to 7, 8 to 11: their buffers; bit 12: A's map
                                     // begins a row before A
    u32 inner;                       // terms of the sum
    u32 first_row, first_column;     // of the part
    u32 rows, columns;               // of the part
    u32 a_stride, b_stride;          // elements from a column to the next
    u64 a_offset, b_offset;          // first elements
    double coefficient;
    u32 a_map, b_map;                // numbers of their tensor maps, where operands stream
};

// A part of an output block.
struct Tile {
    u32 shape, stride;               // how warps share it (see `multiply`); elements from a column of the block to the next
    u32 first_row, first_column;
    u32 rows, columns;
    u64 offset, length;              // of the block in the output
    u32 products, copies, end, unused;        // its records in the list: products, then copies and diagonals
    u32 rows_held, columns_held;     // by its fragments
};

// c += a b, 16 x STEP times STEP x 8. Lane 4 g + t holds a(g + 8 h, t + 4 i) in a[2 i + h], b(t + 4 i, g) in b[i] and
// c(g + 8 h, 2 t + u) in c[2 h + u]. The width of these warps is the instruction's: mma.sync is one of 32 lanes.
__device__ __forceinline__ void multiply_add(sum_t (&c)[4], const value_t (&a)[STEP / 2], const value_t (&b)[STEP / 4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#pragma unroll
    for (int i = 0; i < STEP / 4; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
                : "d"(a[2 * i + h]), "d"(b[i]));
        }
    }
#else
    const int lane = threadIdx.x % WARP;
    for (int i = 0; i < STEP / 4; ++i) {
        for (int k = 0; k < 4; ++k) {
            const value_t b_0 = __shfl_sync(ALL_LANES, b[i], 4 * (2 * (lane % 4)) + k);
            const value_t b_1 = __shfl_sync(ALL_LANES, b[i], 4 * (2 * (lane % 4) + 1) + k);
            for (int h = 0; h < 2; ++h) {
                const value_t a_k = __shfl_sync(ALL_LANES, a[2 * i + h], lane / 4 * 4 + k);
                c[2 * h] += a_k * b_0;
                c[2 * h + 1] += a_k * b_1;
            }
        }
    }
#endif
}

// What is in a stage.
struct Slab {
    u32 tile;                        // NOTHING: the block is done
    u32 shape;
    int terms;                       // of the sum
    int last;                        // whether the tile's products end here
    double coefficient;
};

// Place of (term k, row or column i) in a staged operand. Turned so that neither rows, nor terms, nor the 4 terms x 8 rows
// of a fragment meet in a bank.
__device__ __forceinline__ int turned(int k) { return 4 * (k & 3) + ((k >> 2) & 3); }
__device__ __forceinline__ int place(int k, int i) { return k * SIDE + (i ^ turned(k)); }

// Multiplies half of a slab, from term BEGIN on: a tile of 16 WARPS DOWN rows and 8 (8 / WARPS) ACROSS columns, fragments dealt out to warps in turn.
template <int BEGIN, int WARPS, int DOWN, int ACROSS>
__device__ __forceinline__ void multiply(sum_t (&sum)[2][8][4], const value_t* a, const value_t* b, int terms, double coefficient)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
    const int down = warp % WARPS, across = warp / WARPS;
    const value_t* const own_a = a + t * SIDE + 16 * down;
    const value_t* const own_b = b + t * SIDE + 16 * (across / 2);
#pragma unroll
    for (int k = BEGIN; k < BEGIN + SLAB / 2; k += STEP) {
        if (k >= terms) break;
        value_t x[DOWN][STEP / 2];
#pragma unroll
        for (int i = 0; i < STEP / 4; ++i) {
            const int turn = 4 * t + (k / 4 + i) % 4;
#pragma unroll
            for (int d = 0; d < DOWN; ++d) {
                x[d][2 * i] = own_a[(k + 4 * i) * SIDE + 16 * WARPS * d + (g ^ turn)];
                x[d][2 * i + 1] = own_a[(k + 4 * i) * SIDE + 16 * WARPS * d + ((g + 8) ^ turn)];
            }
        }
        if (coefficient != 1.0) {
#pragma unroll
            for (int d = 0; d < DOWN; ++d) {
#pragma unroll
                for (int i = 0; i < STEP / 2; ++i) x[d][i] *= coefficient;
            }
        }
#pragma unroll
        for (int j = 0; j < ACROSS; ++j) {
            value_t y[STEP / 4];
#pragma unroll
            for (int i = 0; i < STEP / 4; ++i) {
                const int turn = 4 * t + (k / 4 + i) % 4;
                y[i] = own_b[(k + 4 * i) * SIDE + 64 / WARPS * j + ((8 * (across % 2) + g) ^ turn)];
            }
#pragma unroll
            for (int d = 0; d < DOWN; ++d) multiply_add(sum[d][j], x[d], y);
        }
    }
}

// One operand of a product as a tile sees it: element (i, k) with i the tile's row of A or column of B.
struct Operand {
    const value_t* first;             // (0, 0); may lie outside of the matrix
    int across, along;               // elements from an i, a k, to the next
    int low, high;                   // the i that the product has
};

// The part of an operand's slab that a thread carries: neighbours in memory go to neighbouring threads.
struct Share {
    bool by_term;                    // whether terms lie side by side in memory, else rows (columns)
    int shift;                       // of the operand's rows (columns), rounded up to a power of two
    int count;                       // numbers a thread, at most CARRIED

    __device__ __forceinline__ Share(const Operand& of, int held)
    {
        by_term = of.along == 1;
        shift = held <= 16 ? 4 : held <= 32 ? 5 : held <= 64 ? 6 : 7;
        count = (SLAB << shift) / THREADS;
    }
    // The j-th number's row (column) and term.
    __device__ __forceinline__ int i(int j) const
    {
        return by_term ? (int)threadIdx.x / SLAB + j * (THREADS / SLAB) : (int)threadIdx.x & ((1 << shift) - 1);
    }
    __device__ __forceinline__ int k(int j) const
    {
        return by_term ? (int)threadIdx.x % SLAB : ((int)threadIdx.x >> shift) + j * (THREADS >> shift);
    }
};

// Reads a share of the slab from term `first` on.
__device__ __forceinline__ void fetch(value_t (&carried)[CARRIED], const Operand& from, const Share& share, int first, int inner)
{
    const value_t* at = from.first + (i64)share.i(0) * from.across + (i64)(first + share.k(0)) * from.along;
    const i64 step = share.by_term ? (i64)(THREADS / SLAB) * from.across : (i64)(THREADS >> share.shift) * from.along;
    // One of the two changes from number to number.
    const int low = share.by_term ? from.low : 0, high = share.by_term ? from.high : inner - first;
    const int from_0 = share.by_term ? share.i(0) : share.k(0), by = share.by_term ? THREADS / SLAB : THREADS >> share.shift;
    const bool inside = share.by_term ? first + share.k(0) < inner : share.i(0) >= from.low && share.i(0) < from.high;
#pragma unroll
    for (int j = 0; j < CARRIED; ++j) {
        const int moving = from_0 + j * by;
        carried[j] = 0.0;
        if (inside && j < share.count && moving >= low && moving < high) carried[j] = __ldg(at + j * step);
    }
}

// Writes it to shared memory.
__device__ __forceinline__ void put(value_t* to, const value_t (&carried)[CARRIED], const Share& share)
{
#pragma unroll
    for (int j = 0; j < CARRIED; ++j) {
        if (j < share.count) to[place(share.k(j), share.i(j))] = carried[j];
    }
}

// Where the loads are: a term of a product of a tile. The same in all threads.
struct Cursor {
    const Tile* tiles;
    const Record* records;
    const u32* touching;
    const value_t* const* spaces;
    u32 tile, end;                   // this one, and behind the last of this block
    u32 product, products_end;       // the next one of the tile
    u32 shape;
    int rows_held, columns_held;
    int term, inner;
    double coefficient;
    Operand a, b;

    // Goes to the first product of the tile.
    __device__ __forceinline__ void open_tile()
    {
        term = 0;
        inner = 0;
        if (tile == end) return;
        const Tile& own = tiles[tile];
        shape = own.shape;
        product = own.products;
        products_end = own.copies;
        rows_held = (int)own.rows_held;
        columns_held = (int)own.columns_held;
        if (product < products_end) open_product();
    }

    // Goes to the next product of the tile.
    __device__ __forceinline__ void open_product()
    {
        const Tile& own = tiles[tile];
        const Record& record = records[touching[product]];
        ++product;
        term = 0;
        inner = (int)record.inner;
        coefficient = record.coefficient;
        const u32 flags = record.flags;
        const int row = (int)(own.first_row - record.first_row), column = (int)(own.first_column - record.first_column);
        const int a_stride = (int)record.a_stride, b_stride = (int)record.b_stride;
        a.across = flags & 4u ? a_stride : 1;
        a.along = flags & 4u ? 1 : a_stride;
        b.across = flags & 8u ? 1 : b_stride;
        b.along = flags & 8u ? b_stride : 1;
        a.first = spaces[flags >> 4 & 15u] + ((i64)record.a_offset + (i64)row * a.across);
        b.first = spaces[flags >> 8 & 15u] + ((i64)record.b_offset + (i64)column * b.across);
        a.low = max(0, -row);
        b.low = max(0, -column);
        a.high = min((int)own.rows, (int)record.rows - row);
        b.high = min((int)own.columns, (int)record.columns - column);
    }

    // Terms of the slab it stands on.
    __device__ __forceinline__ int terms() const { return min(SLAB, inner - term); }
    __device__ __forceinline__ bool last() const { return term + terms() >= inner && product >= products_end; }

    // Says what the slab is that it stands on.
    __device__ __forceinline__ void describe(Slab& slab) const
    {
        if (threadIdx.x != 0) return;
        if (tile == end) {
            slab = {NOTHING, 0, 0, 0, 0.0};
        } else {
            slab = {tile, shape, terms(), last(), coefficient};
        }
    }

    // Goes to the next slab.
    __device__ __forceinline__ void advance()
    {
        if (tile == end) return;
        if (last()) {
            ++tile;
            open_tile();
            return;
        }
        term += terms();
        if (term >= inner) open_product();
    }
};

// Adds a copy c A or a diagonal c 1 to the sums of a tile.
__device__ __forceinline__ void add(sum_t (&sum)[2][8][4], const Tile& tile, const Record& record, const value_t* const* spaces,
                                    int row, int row_step, int column, int column_step)
{
    const u32 flags = record.flags;
    const bool diagonal = (flags & 3u) == 2u;
    const int stride = (int)record.a_stride, rows = (int)record.rows, columns = (int)record.columns;
    const int across = flags & 4u ? stride : 1, along = flags & 4u ? 1 : stride;
    const value_t* const from = spaces[flags >> 4 & 15u] + record.a_offset;
    const double coefficient = record.coefficient;
    row += (int)(tile.first_row - record.first_row);
    column += (int)(tile.first_column - record.first_column);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int d = 0; d < 2; ++d) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const int r = row + d * row_step + 8 * (q / 2), c = column + j * column_step + q % 2;
                if (r < 0 || c < 0 || r >= rows || c >= columns) continue;
                if (diagonal) {
                    if (r == c) sum[d][j][q] += coefficient;
                } else {
                    sum[d][j][q] += coefficient * from[(i64)r * across + (i64)c * along];
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
grouped_products(const value_t* __restrict__ left, const value_t* __restrict__ left_sum,
                 const value_t* __restrict__ right, const value_t* __restrict__ right_sum,
                 const value_t* __restrict__ input, const value_t* __restrict__ between, i64 left_first,
                 i64 left_sum_first, i64 right_first, i64 right_sum_first, i64 input_first, i64 between_first,
                 value_t* __restrict__ output, i64 output_first, const u64* __restrict__ table, i64 records_first,
                 i64 touching_first, i64 starts_first)
{
    extern __shared__ __align__(16) value_t staged[];                    // staged[stage][A, B][place]
    __shared__ Slab slabs[2];
    __shared__ const value_t* spaces[6];
    if (threadIdx.x == 0) {
        spaces[0] = left + left_first;
        spaces[1] = left_sum + left_sum_first;
        spaces[2] = right + right_first;
        spaces[3] = right_sum + right_sum_first;
        spaces[4] = input + input_first;
        spaces[5] = between + between_first;
    }
    __syncthreads();
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u32* const starts = (const u32*)(table + starts_first);
    Cursor cursor;
    cursor.tiles = (const Tile*)table;
    cursor.records = (const Record*)(table + records_first);
    cursor.touching = (const u32*)(table + touching_first);
    cursor.spaces = spaces;
    cursor.tile = starts[blockIdx.x];
    cursor.end = starts[blockIdx.x + 1];
    cursor.coefficient = 1.0;
    cursor.shape = 0;
    cursor.product = cursor.products_end = 0;
    cursor.rows_held = cursor.columns_held = 16;
    cursor.a = cursor.b = {nullptr, 0, 0, 0, 0};
    cursor.open_tile();
    cursor.describe(slabs[0]);
    value_t carried[CARRIED];
    if (cursor.terms() > 0) {
        const Share of_a(cursor.a, cursor.rows_held), of_b(cursor.b, cursor.columns_held);
        fetch(carried, cursor.a, of_a, 0, cursor.inner);
        put(staged, carried, of_a);
        fetch(carried, cursor.b, of_b, 0, cursor.inner);
        put(staged + OPERAND, carried, of_b);
    }
    cursor.advance();
    sum_t sum[2][8][4] = {};
    for (int stage = 0;; stage ^= 1) {
        __syncthreads();
        if (slabs[stage].tile == NOTHING) break; // of such a slab nothing else is set
        const Slab slab = slabs[stage];
        cursor.describe(slabs[stage ^ 1]);
        const value_t* const a = staged + stage * 2 * OPERAND;
        const value_t* const b = a + OPERAND;
        value_t* const next = staged + (stage ^ 1) * 2 * OPERAND;
        const bool more = cursor.tile != cursor.end && cursor.terms() > 0;
        const Share of_a(cursor.a, cursor.rows_held), of_b(cursor.b, cursor.columns_held);
        if (more) fetch(carried, cursor.a, of_a, cursor.term, cursor.inner);
        switch (slab.shape) {
        case 0: multiply<0, 4, 2, 1>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 16
        case 1: multiply<0, 4, 2, 2>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 32
        case 2: multiply<0, 4, 2, 3>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 48
        case 3: multiply<0, 4, 2, 4>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 64
        case 4: multiply<0, 4, 2, 5>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 80
        case 5: multiply<0, 4, 2, 6>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 96
        case 6: multiply<0, 4, 2, 7>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 112
        case 7: multiply<0, 4, 2, 8>(sum, a, b, slab.terms, slab.coefficient); break;   // 128 x 128
        case 8: multiply<0, 4, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 16
        case 9: multiply<0, 4, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 32
        case 10: multiply<0, 4, 1, 3>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 48
        case 11: multiply<0, 4, 1, 4>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 64
        case 12: multiply<0, 4, 1, 5>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 80
        case 13: multiply<0, 4, 1, 6>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 96
        case 14: multiply<0, 4, 1, 7>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 112
        case 15: multiply<0, 4, 1, 8>(sum, a, b, slab.terms, slab.coefficient); break;   // 64 x 128
        case 16: multiply<0, 2, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;   // 32 x 32
        case 17: multiply<0, 2, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;   // 32 x 64
        case 18: multiply<0, 2, 1, 3>(sum, a, b, slab.terms, slab.coefficient); break;   // 32 x 96
        case 19: multiply<0, 2, 1, 4>(sum, a, b, slab.terms, slab.coefficient); break;   // 32 x 128
        case 20: multiply<0, 1, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;   // 16 x 64
        case 21: multiply<0, 1, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;   // 16 x 128
        }
        if (more) {
            put(next, carried, of_a);
            fetch(carried, cursor.b, of_b, cursor.term, cursor.inner);
        }
        switch (slab.shape) {
        case 0: multiply<SLAB / 2, 4, 2, 1>(sum, a, b, slab.terms, slab.coefficient); break;
        case 1: multiply<SLAB / 2, 4, 2, 2>(sum, a, b, slab.terms, slab.coefficient); break;
        case 2: multiply<SLAB / 2, 4, 2, 3>(sum, a, b, slab.terms, slab.coefficient); break;
        case 3: multiply<SLAB / 2, 4, 2, 4>(sum, a, b, slab.terms, slab.coefficient); break;
        case 4: multiply<SLAB / 2, 4, 2, 5>(sum, a, b, slab.terms, slab.coefficient); break;
        case 5: multiply<SLAB / 2, 4, 2, 6>(sum, a, b, slab.terms, slab.coefficient); break;
        case 6: multiply<SLAB / 2, 4, 2, 7>(sum, a, b, slab.terms, slab.coefficient); break;
        case 7: multiply<SLAB / 2, 4, 2, 8>(sum, a, b, slab.terms, slab.coefficient); break;
        case 8: multiply<SLAB / 2, 4, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;
        case 9: multiply<SLAB / 2, 4, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;
        case 10: multiply<SLAB / 2, 4, 1, 3>(sum, a, b, slab.terms, slab.coefficient); break;
        case 11: multiply<SLAB / 2, 4, 1, 4>(sum, a, b, slab.terms, slab.coefficient); break;
        case 12: multiply<SLAB / 2, 4, 1, 5>(sum, a, b, slab.terms, slab.coefficient); break;
        case 13: multiply<SLAB / 2, 4, 1, 6>(sum, a, b, slab.terms, slab.coefficient); break;
        case 14: multiply<SLAB / 2, 4, 1, 7>(sum, a, b, slab.terms, slab.coefficient); break;
        case 15: multiply<SLAB / 2, 4, 1, 8>(sum, a, b, slab.terms, slab.coefficient); break;
        case 16: multiply<SLAB / 2, 2, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;
        case 17: multiply<SLAB / 2, 2, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;
        case 18: multiply<SLAB / 2, 2, 1, 3>(sum, a, b, slab.terms, slab.coefficient); break;
        case 19: multiply<SLAB / 2, 2, 1, 4>(sum, a, b, slab.terms, slab.coefficient); break;
        case 20: multiply<SLAB / 2, 1, 1, 1>(sum, a, b, slab.terms, slab.coefficient); break;
        case 21: multiply<SLAB / 2, 1, 1, 2>(sum, a, b, slab.terms, slab.coefficient); break;
        }
        if (more) put(next + OPERAND, carried, of_b);
        cursor.advance();
        if (slab.last) {
            const Tile& tile = cursor.tiles[slab.tile];
            const int warps = slab.shape < 16u ? 4 : slab.shape < 20u ? 2 : 1;
            const int row = 16 * (warp % warps) + lane / 4, row_step = 16 * warps;
            const int column = 8 * (warp / warps) + 2 * (lane % 4), column_step = 64 / warps;
            for (u32 entry = tile.copies; entry < tile.end; ++entry) {
                add(sum, tile, cursor.records[cursor.touching[entry]], spaces, row, row_step, column, column_step);
            }
            const i64 corner = (i64)tile.first_row + (i64)tile.first_column * tile.stride;
            value_t* const out = output + output_first + (i64)tile.offset;
            const int rows = (int)tile.rows, columns = (int)tile.columns;
            const i64 stride = (i64)tile.stride, length = (i64)tile.length;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
#pragma unroll
                for (int d = 0; d < 2; ++d) {
#pragma unroll
                    for (int q = 0; q < 4; ++q) {
                        const int r = row + d * row_step + 8 * (q / 2), c = column + j * column_step + q % 2;
                        const i64 at = corner + r + c * stride;
                        if (r < rows && c < columns && at < length) out[at] = sum[d][j][q];
                        sum[d][j][q] = 0.0;
                    }
                }
            }
        }
    }
}
