// Averages over a state v on 4 low and 4 high sites of 2 bits: what all pairs of sites need
//
//   v is a matrix: a column for each high word h, a row for each low word l that completes the charge of h.
//
//   row_moments      sum over (h, l) of v(h, l)^2 a_i(l) b_j(h): a_i and b_j are the levels of low site i and high site j
//                    (Sz + S), and 1 for i = 0 and j = 0
//   column_weights   sum over l of v(h, l)^2, for each h
//   transition_sums  sum over h -> h', l -> l' of amplitude v(h, l) v(h', l'): every product that moves something is one
//                    move of the low word and one of the high word, either of which may be none; a term is the part with
//                    one amplitude of the high word, by which its sum is still to be multiplied
//
// specialised: numbers of sites and bits a site, and that two columns fit shared memory; the sector and its lists are arguments,
// so one text serves all such sectors. Sums are in a fixed order.

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Lanes of a warp, and the mask of all of them.
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu >> (32 - WARP);

// Sum over the lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = WARP / 2; offset > 0; offset >>= 1) value += __shfl_xor_sync(ALL_LANES, value, offset);
    return value;
}

typedef double value_t;  // number type of the vector
typedef double sum_t;  // of products of its elements
constexpr int LOW_SITES = 4;
constexpr int HIGH_SITES = 4;
constexpr int THREADS = 128;
constexpr u32 SUM_THREADS = 512;  // of transition_sums
constexpr u32 WARPS = SUM_THREADS / WARP;
constexpr u32 MOST_TERMS = 128;  // of a block there

// The level of a site in a word, from 0 to 2S.
__device__ __forceinline__ double level_of(u64 word, int site)
{
    return (double)(u32)(word >> (site * 2) & 0x3ull);
}

// A block takes some rows of one class and some of the class's columns, a thread a row. low_words are the rows' words,
// row_weights the sum of v^2 of each row over the block's columns.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
row_moments(const value_t* __restrict__ x, double* __restrict__ moments, double* __restrict__ row_weights,
            const u64* __restrict__ task_low, const u64* __restrict__ task_row, const u64* __restrict__ task_rows,
            const u64* __restrict__ task_column, const u64* __restrict__ task_columns,
            const u64* __restrict__ task_weights, const u64* __restrict__ column_start,
            const u64* __restrict__ column_word, const u64* __restrict__ low_words)
{
    __shared__ double values[THREADS];
    __shared__ u64 words[THREADS];
    const int task = blockIdx.x;
    const u64 rows = task_rows[task], last_column = task_column[task] + task_columns[task];
    double total[HIGH_SITES + 1];  // thread i: moments with low site i - 1
    for (int j = 0; j <= HIGH_SITES; ++j) total[j] = 0.0;
    for (u64 first = 0; first < rows; first += THREADS) {
        const u64 row = first + threadIdx.x;
        double sum[HIGH_SITES + 1];  // of v^2, and of v^2 times the level of each high site
        for (int j = 0; j <= HIGH_SITES; ++j) sum[j] = 0.0;
        words[threadIdx.x] = 0;
        if (row < rows) {
            words[threadIdx.x] = low_words[task_low[task] + row];
            const value_t* const from = x + (task_row[task] + row);
#pragma unroll 4
            for (u64 column = task_column[task]; column < last_column; ++column) {
                const double v = (double)from[column_start[column]], weight = v * v;
                const u64 word = column_word[column];
                sum[0] += weight;
                for (int j = 0; j < HIGH_SITES; ++j) {
                    sum[j + 1] += weight * level_of(word, j);
                }
            }
            row_weights[task_weights[task] + row] = sum[0];
        }
#pragma unroll
        for (int j = 0; j <= HIGH_SITES; ++j) {
            values[threadIdx.x] = sum[j];
            __syncthreads();
            if (threadIdx.x <= LOW_SITES) {
                for (int k = 0; k < THREADS; ++k)
                    total[j] += threadIdx.x == 0 ? values[k] : values[k] * level_of(words[k], (int)threadIdx.x - 1);
            }
            __syncthreads();
        }
    }
    if (threadIdx.x <= LOW_SITES) {
        double* const own = moments + ((i64)task * (LOW_SITES + 1) + threadIdx.x) * (HIGH_SITES + 1);
        for (int j = 0; j <= HIGH_SITES; ++j) own[j] = total[j];
    }
}

// A warp a column.
extern "C" __global__ void __launch_bounds__(THREADS)
column_weights(const value_t* __restrict__ x, double* __restrict__ weights, i64 columns,
               const u64* __restrict__ column_start, const u64* __restrict__ column_rows)
{
    const i64 column = (i64)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    double weight = 0.0;
    if (column < columns) {
        const value_t* const from = x + column_start[column];
#pragma unroll 4
        for (u64 row = threadIdx.x % WARP; row < column_rows[column]; row += WARP) weight += (double)from[row] * (double)from[row];
    }
    weight = warp_sum(weight);
    if (column < columns && threadIdx.x % WARP == 0) weights[column] = weight;
}

// A block takes some pairs of columns (h | h' << 32) and all terms that are sums over them. A term's sum over a pair is that over the
// pairs of rows (l | l' << 16) that its low move has for the class of h, one list for each amplitude.
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
transition_sums(const value_t* __restrict__ x, double* __restrict__ sums, i64 classes,
                const u64* __restrict__ column_start, const u32* __restrict__ column_class, i64 most_rows,
                const u64* __restrict__ column_rows, const u32* __restrict__ task_first,
                const u32* __restrict__ task_last, const u32* __restrict__ task_term,
                const u32* __restrict__ task_terms, const u32* __restrict__ task_sums, const u32* __restrict__ term_low,
                const u64* __restrict__ column_pairs, const u32* __restrict__ low_lists,
                const u32* __restrict__ row_lists, const double* __restrict__ row_amplitude,
                const u32* __restrict__ row_pairs)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    value_t* const left = (value_t*)shared_bytes;
    value_t* const right = left + most_rows;
    __shared__ sum_t partial[MOST_TERMS > WARPS ? MOST_TERMS : WARPS];  // of each slice of each term
    const u32 task = blockIdx.x, terms = task_terms[task], last = task_last[task];
    const u32 slices = terms < WARPS ? WARPS / terms : 1;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u32 s = threadIdx.x; s < terms * slices; s += SUM_THREADS) partial[s] = 0.0;
    __syncthreads();
    if (terms == 1) {
        // A pair for each warp, which reads the columns where they are.
        for (u32 k = task_first[task] + warp; k < last; k += WARPS) {
            const u32 h = (u32)column_pairs[k], reached = (u32)(column_pairs[k] >> 32);
            const value_t* const from = x + column_start[h];
            const value_t* const to = x + column_start[reached];
            const i64 cell = term_low[task_term[task]] * classes + column_class[h];
            sum_t sum = 0.0;
            for (u32 list = low_lists[cell]; list < low_lists[cell + 1]; ++list) {
                sum_t products = 0.0;
                const u32 end = row_lists[list + 1];
#pragma unroll 4
                for (u32 e = row_lists[list] + lane; e < end; e += WARP) {
                    const u32 rows = row_pairs[e];
                    products += (sum_t)from[rows & 0xffffu] * (sum_t)to[rows >> 16];
                }
                sum += row_amplitude[list] * products;
            }
            sum = warp_sum(sum);
            if (lane == 0) partial[warp] += sum;
        }
    } else {
        for (u32 k = task_first[task]; k < last; ++k) {
            const u32 h = (u32)column_pairs[k], reached = (u32)(column_pairs[k] >> 32);
            // Every term finds both columns in shared memory.
            for (u32 row = threadIdx.x; row < column_rows[h]; row += SUM_THREADS) left[row] = x[column_start[h] + row];
            if (h != reached)
                for (u32 row = threadIdx.x; row < column_rows[reached]; row += SUM_THREADS)
                    right[row] = x[column_start[reached] + row];
            __syncthreads();
            const value_t* const from = left;
            const value_t* const to = h == reached ? left : right;
            // A warp takes a term at a time, or a slice of its rows where there are fewer terms than warps.
            for (u32 s = warp; s < terms * slices; s += WARPS) {
                const i64 cell = term_low[task_term[task] + s / slices] * classes + column_class[h];
                sum_t sum = 0.0;
                for (u32 list = low_lists[cell]; list < low_lists[cell + 1]; ++list) {
                    sum_t products = 0.0;
                    const u32 end = row_lists[list + 1];
    #pragma unroll 4
                    for (u32 e = row_lists[list] + s % slices * WARP + lane; e < end; e += slices * WARP) {
                        const u32 rows = row_pairs[e];
                        products += (sum_t)from[rows & 0xffffu] * (sum_t)to[rows >> 16];
                    }
                    sum += row_amplitude[list] * products;
                }
                sum = warp_sum(sum);
                if (lane == 0) partial[s] += sum;
            }
            __syncthreads();
        }
    }
    __syncthreads();
    for (u32 term = threadIdx.x; term < terms; term += SUM_THREADS) {
        sum_t sum = 0.0;
        for (u32 slice = 0; slice < slices; ++slice) sum += partial[term * slices + slice];
        sums[task_sums[task] + term] = sum;
    }
}
