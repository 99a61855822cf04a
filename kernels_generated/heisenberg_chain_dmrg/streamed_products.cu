// dmrg: C = sum over records of c A B, c A and c 1, for all output blocks of a stage in one launch; operands stream
//
//   a block of threads takes tile after tile of the output, at most 128 x 128; for each it adds up all products that
//   touch it, 32 terms of the sum (a slab) at a time, then copies and diagonals, and writes it once:
//   no two blocks write one place, and the order of every sum is fixed
//   one thread has the slabs brought to shared memory by the tensor memory accelerator, up to 3 ahead, across products
//   and tiles; eight warps multiply, each as soon as a slab is there
//   matrices are column-major, none is transposed: those that are meant so were copied; what lies outside of a product's
//   part counts as zero
// specialised: stages, tensor-core operations of 16 x 8 x 8 (sm_90a; elsewhere all threads bring one slab at a time)

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

// 1 when an odd number of bits is set.
__device__ __forceinline__ u32 parity(u64 bits) { return (u32)__popcll(bits) & 1u; }

typedef double value_t;  // number type of the matrices
typedef double sum_t;  // in which products are summed
constexpr int THREADS = 384;                      // eight warps that multiply, four of which one loads
constexpr int MULTIPLIERS = 256;
constexpr int SIDE = 128;                         // most rows and columns of a tile
constexpr int SLAB = 32;                          // terms of the sum that are staged at once
constexpr int STEP = 8;                           // terms of the sum of one tensor-core operation
constexpr int STAGES = 3;                         // slabs in shared memory
constexpr int LINES = 32;                         // of a panel
constexpr int PANEL = LINES * 16 * 8;             // bytes of lines of 16: 16 rows of A by terms, 16 terms of B by columns
constexpr int HALF = SIDE / LINES * PANEL;           // bytes of 16 terms of B
constexpr int OPERAND = SIDE / 16 * PANEL;        // bytes of A, or of B, of a slab
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
    int terms;                       // of the sum; none: a tile without products
    u32 last;                        // whether the tile's products end here
    double coefficient;
};

// A panel has lines of eight pairs of neighbours; pair p of line l lies at place p ^ (l & 7), as the accelerator puts it.
// Lane 4 g + t of a warp reads rows r(g), r(g) + 1 of A, columns r(g), r(g) + 1 of B, and terms 2 t, 2 t + 1 of eight: so
// lanes that are served together meet in no bank.
__device__ __forceinline__ int row_of(int g) { return 2 * (g ^ ((g & 1) << 1)); }

// Where a lane reads in a panel, in bytes.
struct Lane {
    int a[2], b[2];                  // terms 2 t, 2 t + 1 of A; columns r, r + 1 of B

    __device__ __forceinline__ Lane()
    {
        const int g = (int)threadIdx.x % WARP / 4, t = (int)threadIdx.x % 4;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int term = 2 * t + h, column = row_of(g) + h;
            a[h] = 128 * term + 16 * (row_of(g) / 2 ^ term);
            b[h] = 128 * column + 16 * (t ^ (column & 7));
        }
    }

    // Rows r, r + 1 of terms k, k + 1 with k = 8 step + 2 t, from 16 rows.
    __device__ __forceinline__ void read_a(value_t (&four)[4], const u8* rows, int step) const
    {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const double2 two = *(const double2*)(rows + 1024 * step + a[h]);
            four[2 * h] = two.x;
            four[2 * h + 1] = two.y;
        }
    }

    // Terms k, k + 1 of columns r, r + 1, from 16 columns.
    __device__ __forceinline__ void read_b(value_t (&four)[2][2], const u8* columns, int step) const
    {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const double2 two = *(const double2*)(columns + HALF * (step / 2) + (b[h] ^ 64 * (step % 2)));
            four[h][0] = two.x;
            four[h][1] = two.y;
        }
    }
};

// Where the loads are: a term of a product of a tile.
struct Cursor {
    const Tile* tiles;
    const Record* records;
    const u32* touching;
    u32 tile, end;                   // this one, and behind the last of this block
    u32 product, products_end;       // the next one of the tile
    u32 shape, a_map, b_map;
    int rows, columns;               // of the tile
    int row, column;                 // of the tile in the product's part
    int map_row;                     // of the tile in A's map
    int term, inner;
    double coefficient;

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
        rows = (int)own.rows;
        columns = (int)own.columns;
        if (product < products_end) open_product();
    }

    // Goes to the next product of the tile.
    __device__ __forceinline__ void open_product()
    {
        const Tile& own = tiles[tile];
        const Record& opened = records[touching[product]];
        ++product;
        term = 0;
        inner = (int)opened.inner;
        coefficient = opened.coefficient;
        a_map = opened.a_map;
        b_map = opened.b_map;
        row = (int)(own.first_row - opened.first_row);
        column = (int)(own.first_column - opened.first_column);
        map_row = row + (int)(opened.flags >> 12 & 1u);
    }

    // Terms of the slab it stands on.
    __device__ __forceinline__ int terms() const { return min(SLAB, inner - term); }
    __device__ __forceinline__ bool last() const { return term + terms() >= inner && product >= products_end; }

    // Says what the slab is that it stands on.
    __device__ __forceinline__ void describe(Slab& slab) const
    {
        slab.tile = tile == end ? NOTHING : tile;
        slab.shape = shape;
        slab.terms = terms();
        slab.last = last();
        slab.coefficient = coefficient;
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

#if defined(__CUDA_ARCH__)
// Barriers in shared memory: a phase ends when so many arrivals and all bytes promised are there.
__device__ __forceinline__ u32 shared_address(const void* place) { return (u32)__cvta_generic_to_shared(place); }
__device__ __forceinline__ void barrier_begin(u64* barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u64* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void barrier_promise(u64* barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(u64* barrier, u32 phase)
{
    const u32 address = shared_address(barrier);
    u32 done = 0;
    while (!done) {
        asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(address), "r"(phase)
                     : "memory");
    }
}
// The warps that load leave their registers to those that multiply: four times WARP x 24 and eight times WARP x 240 of 65,536.
__device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }
__device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
// Has the accelerator see the map as it was last written.
__device__ __forceinline__ void acquire(const u64* map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}
// Has a panel brought: 16 elements of LINES lines of a matrix from (first, line) on, zeros where it ends. `first` must be even.
__device__ __forceinline__ void bring(u8* panel, const u64* map, int first, int line, u64* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(panel)),
                 "l"(map), "r"(first), "r"(line), "r"(shared_address(barrier))
                 : "memory");
}
#endif

// The slabs on their way: `full` when one is there, `empty` when all eight warps have read it.
struct Ring {
    u8* staged;                      // staged[stage][A, B][panel]
    Slab* slabs;                     // slabs[stage]
    u64 *full, *empty;
    int stage;
    u32 phase;
#if !defined(__CUDA_ARCH__)
    Cursor cursor;
    const value_t* const* spaces;
#endif

    __device__ __forceinline__ const Slab& slab() const { return slabs[stage]; }
    __device__ __forceinline__ const u8* data() const { return staged + stage * 2 * OPERAND; }

#if defined(__CUDA_ARCH__)
    // Waits for the slab of this stage.
    __device__ __forceinline__ void enter() { barrier_wait(full + stage, phase); }
    // Gives it back: the warp has read it.
    __device__ __forceinline__ void leave()
    {
        __syncwarp();
        if (threadIdx.x % WARP == 0) barrier_arrive(empty + stage);
        next();
    }
    __device__ __forceinline__ void next()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1u;
        }
    }

    // Has all slabs of the block's tiles brought; by one thread.
    __device__ __forceinline__ void bring_all(Cursor& cursor, const u64* maps)
    {
        for (;; cursor.advance()) {
            barrier_wait(empty + stage, phase ^ 1u);
            cursor.describe(slabs[stage]);
            if (cursor.tile == cursor.end) {
                barrier_arrive(full + stage);
                return;
            }
            const int terms = cursor.terms();
            const int a_panels = (cursor.rows + 15) / 16, b_panels = (cursor.columns + LINES - 1) / LINES, halves = terms > SLAB / 2 ? 2 : 1;
            if (terms > 0) {
                const u64* const a_map = maps + 16 * (i64)cursor.a_map;
                const u64* const b_map = maps + 16 * (i64)cursor.b_map;
                if (cursor.term == 0) {
                    acquire(a_map);
                    acquire(b_map);
                }
                u8* const a = staged + stage * 2 * OPERAND;
                barrier_promise(full + stage, PANEL * (a_panels + halves * b_panels));
                for (int p = 0; p < a_panels; ++p) bring(a + PANEL * p, a_map, cursor.map_row + 16 * p, cursor.term, full + stage);
                for (int h = 0; h < halves; ++h) {
                    u8* const b = a + OPERAND + HALF * h;
                    for (int p = 0; p < b_panels; ++p) bring(b + PANEL * p, b_map, cursor.term + 16 * h, cursor.column + LINES * p, full + stage);
                }
            } else {
                barrier_arrive(full + stage);
            }
            next();
        }
    }
#else
    // Element (i, k) of A (row i of the tile) or B (column i); k counts from the slab's first term.
    __device__ __forceinline__ value_t element(const Record& record, bool of_a, int i, int k) const
    {
        const int at = i + (of_a ? cursor.row : cursor.column), most = (int)(of_a ? record.rows : record.columns);
        const int term = k + cursor.term;
        if (at < 0 || at >= most || term >= cursor.inner) return 0.0;
        const u32 flags = record.flags;
        const bool by_term = of_a ? flags >> 2 & 1u : ~flags >> 3 & 1u;
        const i64 stride = (i64)(of_a ? record.a_stride : record.b_stride);
        const value_t* const from = spaces[(of_a ? flags >> 4 : flags >> 8) & 15u] + (of_a ? record.a_offset : record.b_offset);
        return from[by_term ? term + at * stride : at + term * stride];
    }
    // Brings the next slab, by all threads.
    __device__ __forceinline__ void enter()
    {
        __syncthreads();
        if (threadIdx.x == 0) cursor.describe(slabs[0]);
        if (cursor.tile != cursor.end && cursor.terms() > 0) {
            const Record& record = cursor.records[cursor.touching[cursor.product - 1]];
            for (int e = (int)threadIdx.x; e < 2 * SIDE * SLAB; e += THREADS) {
                const bool of_a = e < SIDE * SLAB;
                const int i = e % SIDE, k = e / SIDE % SLAB;
                const int line = of_a ? k : i % LINES, within = of_a ? i % 16 : k % 16;
                u8* const panel = staged + (of_a ? i / 16 * PANEL : OPERAND + k / 16 * HALF + i / LINES * PANEL);
                *(value_t*)(panel + 128 * line + 16 * (within / 2 ^ (line & 7)) + 8 * (within % 2)) = element(record, of_a, i, k);
            }
        }
        cursor.advance();
        __syncthreads();
    }
    __device__ __forceinline__ void leave() {}
#endif
};

// Multiplies a slab: a tile of 16 WARPS DOWN rows and 16 (8 / WARPS) PAIRS columns, dealt out to warps by 16. What comes next
// is read while this is multiplied.
template <int WARPS, int DOWN, int PAIRS>
__device__ __forceinline__ void multiply(sum_t (&sum)[2][8][4], const u8* from, const Slab& slab, const Lane& lane)
{
    const int warp = (int)threadIdx.x / WARP;
    const u8* const own_a = from + PANEL * (warp % WARPS);
    const u8* const own_b = from + OPERAND + PANEL / 2 * (warp / WARPS);
    const int terms = slab.terms;
    const double coefficient = slab.coefficient;
    value_t a[2][DOWN][4], b[2][2][2];
    const auto read_a = [&](int step) {
#pragma unroll
        for (int d = 0; d < DOWN; ++d) {
            lane.read_a(a[step % 2][d], own_a + PANEL * WARPS * d, step);
#pragma unroll
            for (int i = 0; i < 4; ++i) a[step % 2][d][i] *= coefficient;
        }
    };
    read_a(0);
    lane.read_b(b[0], own_b, 0);
#pragma unroll
    for (int step = 0; step < SLAB / STEP; ++step) {
        if (step == SLAB / STEP / 2 && terms <= SLAB / 2) break;
#pragma unroll
        for (int j = 0; j < PAIRS; ++j) {
            const int now = (step * PAIRS + j) % 2;
            if (j + 1 < PAIRS) {
                lane.read_b(b[now ^ 1], own_b + PANEL / 2 * (8 / WARPS) * (j + 1), step);
            } else if (step + 1 < SLAB / STEP) {
                read_a(step + 1);
                lane.read_b(b[now ^ 1], own_b, step + 1);
            }
#pragma unroll
            for (int d = 0; d < DOWN; ++d) {
                multiply_add(sum[d][2 * j], a[step % 2][d], b[now][0]);
                multiply_add(sum[d][2 * j + 1], a[step % 2][d], b[now][1]);
            }
        }
    }
}

// Adds a copy c A or a diagonal c 1 to the sums of a tile; `row`, `column` are the lane's first, then its panels'.
__device__ __forceinline__ void add(sum_t (&sum)[2][8][4], const Tile& tile, const Record& record, const value_t* const* spaces,
                                    int row, int row_step, int column, int column_step, int turn)
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
                const int r = row + d * row_step + q / 2, c = column + j / 2 * column_step + j % 2 + q % 2 * turn;
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
streamed_products(const value_t* __restrict__ left, const value_t* __restrict__ left_sum,
                  const value_t* __restrict__ right, const value_t* __restrict__ right_sum,
                  const value_t* __restrict__ input, const value_t* __restrict__ between, i64 left_first,
                  i64 left_sum_first, i64 right_first, i64 right_sum_first, i64 input_first, i64 between_first,
                  value_t* __restrict__ output, i64 output_first, const u64* __restrict__ table, i64 records_first,
                  i64 touching_first, i64 starts_first, const u64* __restrict__ maps)
{
    extern __shared__ __align__(1024) u8 staged[];
    __shared__ Slab slabs[STAGES];
    __shared__ u64 full[STAGES], empty[STAGES];
    __shared__ const value_t* spaces[6];
    if (threadIdx.x == 0) {
        spaces[0] = left + left_first;
        spaces[1] = left_sum + left_sum_first;
        spaces[2] = right + right_first;
        spaces[3] = right_sum + right_sum_first;
        spaces[4] = input + input_first;
        spaces[5] = between + between_first;
    }
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const u32* const starts = (const u32*)(table + starts_first);
    Cursor cursor;
    cursor.tiles = (const Tile*)table;
    cursor.records = (const Record*)(table + records_first);
    cursor.touching = (const u32*)(table + touching_first);
    cursor.tile = starts[blockIdx.x];
    cursor.end = starts[blockIdx.x + 1];
    cursor.coefficient = 1.0;
    cursor.shape = cursor.a_map = cursor.b_map = 0;
    cursor.product = cursor.products_end = 0;
    cursor.rows = cursor.columns = cursor.row = cursor.column = cursor.map_row = 0;
    cursor.open_tile();
    const Tile* const tiles = cursor.tiles;
    const Record* const records = cursor.records;
    const u32* const touching = cursor.touching;
#if defined(__CUDA_ARCH__)
    Ring ring = {staged, slabs, full, empty, 0, 0u};
    if (threadIdx.x == 0) {
        for (int k = 0; k < STAGES; ++k) {
            barrier_begin(full + k, 1);
            barrier_begin(empty + k, 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= MULTIPLIERS) {
        give_registers();
        if (threadIdx.x == MULTIPLIERS) ring.bring_all(cursor, maps);
        return;
    }
    take_registers();
#else
    Ring ring = {staged, slabs, full, empty, 0, 0u, cursor, spaces};
    while (threadIdx.x >= MULTIPLIERS) {
        ring.enter();
        if (ring.slab().tile == NOTHING) return;
    }
#endif
    const Lane own;
    sum_t sum[2][8][4] = {};
    for (;;) {
        ring.enter();
        const Slab slab = ring.slab();
        if (slab.tile == NOTHING) return;
        if (slab.terms > 0) {
            switch (slab.shape) {
            case 1: multiply<4, 2, 1>(sum, ring.data(), slab, own); break;   // 128 x 32
            case 3: multiply<4, 2, 2>(sum, ring.data(), slab, own); break;   // 128 x 64
            case 5: multiply<4, 2, 3>(sum, ring.data(), slab, own); break;   // 128 x 96
            case 7: multiply<4, 2, 4>(sum, ring.data(), slab, own); break;   // 128 x 128
            case 9: multiply<4, 1, 1>(sum, ring.data(), slab, own); break;   // 64 x 32
            case 11: multiply<4, 1, 2>(sum, ring.data(), slab, own); break;   // 64 x 64
            case 13: multiply<4, 1, 3>(sum, ring.data(), slab, own); break;   // 64 x 96
            case 15: multiply<4, 1, 4>(sum, ring.data(), slab, own); break;   // 64 x 128
            case 17: multiply<2, 1, 1>(sum, ring.data(), slab, own); break;   // 32 x 64
            case 19: multiply<2, 1, 2>(sum, ring.data(), slab, own); break;   // 32 x 128
            case 21: multiply<1, 1, 1>(sum, ring.data(), slab, own); break;   // 16 x 128
            }
        }
        ring.leave();
        if (!slab.last) continue;
        const Tile& tile = tiles[slab.tile];
        const int warps = slab.shape < 16u ? 4 : slab.shape < 20u ? 2 : 1;
        const int row = 16 * (warp % warps) + row_of(lane / 4), row_step = 16 * warps;
        const int column = 16 * (warp / warps) + row_of(2 * (lane % 4)), column_step = 128 / warps;
        const int turn = row_of(2 * (lane % 4) + 1) - row_of(2 * (lane % 4));
        for (u32 entry = tile.copies; entry < tile.end; ++entry) {
            add(sum, tile, records[touching[entry]], spaces, row, row_step, column, column_step, turn);
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
                    const int r = row + d * row_step + q / 2, c = column + j / 2 * column_step + j % 2 + q % 2 * turn;
                    const i64 at = corner + r + c * stride;
                    if (r < rows && c < columns && at < length) out[at] = sum[d][j][q];
                    sum[d][j][q] = 0.0;
                }
            }
        }
    }
}
