// dmrg: Davidson's method for the lowest eigenpair (Davidson 1975; Nemes et al. 2014, Algorithm 3), nothing of which
// leaves the card but three numbers an iteration.
//
// V and W = H V are column-major with room for 20 vectors of length n, `stride` apart. V may begin with `below`
// orthonormal vectors F that the search stays orthogonal to; W has none of them. With P = 1 - F F^T what is found are the lowest
// pairs of P H P, and as P V = V its small matrix is V^T H V itself. An iteration for pair `target`, the lowest or one above, is
//     projected       the new row of G = [F V]^T W, then in the last block the eigenpairs of V^T W: values, y
//     corrected       r = W y - value V y - F (F^T W) y, t = r / (value - D), and of the same sweep |r|^2, |t|^2, s = [F V]^T t
//     orthogonalised  t <- t - [F V] s, |t|^2, s = [F V]^T t anew
//     appended        the next column of V: t, less [F V] s where much was taken away (Daniel, Gragg, Kaufman, Stewart 1976), / |t|
// Sums are added in an order that depends on n alone: the same run gives the same bits. Kernels that hold a row of V and as
// many sums take as many registers as they like: held to two blocks a multiprocessor they spill.

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

typedef double value_t;  // number type of the vectors
typedef double sum_t;  // of their products and of the small matrix
constexpr int WIDTH = 20, THREADS = 256, WARPS = THREADS / WARP;

// Places in `small`: G by columns (entry of a column of W and one of [F V], counted alike), s, the eigenvectors of V^T W, WIDTH apart,
// in the order of their eigenvalues.
constexpr int MATRIX = 0, OVERLAPS = WIDTH * WIDTH, VECTORS = OVERLAPS + WIDTH;
// Places in `numbers`: |r|^2, whether nothing was left of t, |t|^2 before and after V was taken out, the eigenvalues, ascending.
constexpr int RESIDUAL = 0, EXHAUSTED = 1, BEFORE = 2, AFTER = 3, VALUES = 4;

// Elements of D this near to the eigenvalue are held off.
constexpr double HELD = 0.1;

// Sums of COUNT values over the lanes of a warp, in a fixed order: at each step a lane gives half of its values to a
// partner and keeps the others, so that all cost some COUNT exchanges and not five each.
template <int COUNT>
__device__ __forceinline__ void warp_sums(double (&value)[COUNT], double* to)
{
    const int lane = threadIdx.x % WARP;
    int held = COUNT, begin = 0, end = COUNT, alike = WARP - 1; // lanes that differ in the bits `alike` end with the same sums
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset >>= 1) {
        if (held == 1) {
            value[0] += __shfl_xor_sync(ALL_LANES, value[0], offset);
            continue;
        }
        const int half = (held + 1) / 2;
        const bool high = (lane & offset) != 0;
#pragma unroll
        for (int j = 0; j < (COUNT + 1) / 2; j++) {
            if (j < half) {
                const double upper = j + half < held ? value[j + half] : 0.0;
                const double kept = high ? upper : value[j], given = high ? value[j] : upper;
                value[j] = kept + __shfl_xor_sync(ALL_LANES, given, offset);
            }
        }
        end = high ? end : min(end, begin + half);
        begin = high ? begin + half : begin;
        held = half;
        alike = offset - 1;
    }
    if ((lane & alike) != 0) return;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        if (j < held && begin + j < end) to[begin + j] = value[j];
    }
}

// The sums of value[0 .. count) over all threads of the launch: by warp, by block, and the last block to come, which alone
// returns true, has those of all blocks in `totals`. `arrived` is 0 before and after. Where `count` is COUNT (EXACT) a warp's sums are
// made at once; the order of additions, and so each bit, is the same.
template <int COUNT, bool EXACT>
__device__ __forceinline__ bool launch_sums(sum_t (&value)[COUNT], int count, sum_t* scratch, sum_t* totals, sum_t* partials, u32* arrived)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (EXACT) {
        warp_sums(value, scratch + warp * COUNT);
    } else {
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            if (j < count) {
                const sum_t sum = warp_sum(value[j]);
                if (lane == 0) scratch[warp * COUNT + j] = sum;
            }
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += THREADS) {
        sum_t sum = 0.0;
        for (int w = 0; w < WARPS; w++) sum += scratch[w * COUNT + j];
        partials[j * (i64)gridDim.x + blockIdx.x] = sum;
    }
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return false;
    for (int j = warp; j < count; j += WARPS) {
        sum_t sum = 0.0;
        for (int block = lane; block < (int)gridDim.x; block += WARP) sum += partials[j * (i64)gridDim.x + block];
        sum = warp_sum(sum);
        if (lane == 0) totals[j] = sum;
    }
    __syncthreads();
    return true;
}

// Pair `i` of round `round` when each of `players` (even) meets each other once in players - 1 rounds.
__device__ __forceinline__ void meeting(int round, int i, int players, int& p, int& q)
{
    const int a = i == 0 ? players - 1 : (round + i) % (players - 1);
    const int b = i == 0 ? round : (round - i + players - 1) % (players - 1);
    p = min(a, b);
    q = max(a, b);
}

// The eigenpairs of the k x k symmetric matrix in `small` behind the entries of F, by Jacobi's rotations (Golub,
// Van Loan, 8.5), all of a round at once; by one block. It starts from the eigenvectors of the matrix before, which had a row
// and a column less: what is left to turn is the new row.
__device__ void eigenpairs(sum_t* small, sum_t* numbers, int k, int below)
{
    __shared__ sum_t a[WIDTH][WIDTH + 1], v[WIDTH][WIDTH + 1], product[WIDTH][WIDTH + 1], cosine[WIDTH / 2], sine[WIDTH / 2], tiny;
    __shared__ int turned;
    const int players = k + (k & 1), pairs = players / 2;
    for (int e = threadIdx.x; e < players * players; e += THREADS) {
        const int i = e / players, j = e % players;
        a[i][j] = i < k && j < k ? small[MATRIX + below + max(i, j) + WIDTH * (below + min(i, j))] : 0.0;
        v[i][j] = i < k - 1 && j < k - 1 ? small[VECTORS + j * WIDTH + i] : i == j ? 1.0 : 0.0;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < players * players; e += THREADS) {
        sum_t sum = 0.0;
        for (int l = 0; l < k; l++) sum += a[e / players][l] * v[l][e % players];
        product[e / players][e % players] = sum;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < players * players; e += THREADS) {
        sum_t sum = 0.0;
        for (int l = 0; l < k; l++) sum += v[l][e / players] * product[l][e % players];
        a[e / players][e % players] = sum;
    }
    __syncthreads();
    if (threadIdx.x < WARP) {
        double square = 0.0;
        for (int e = threadIdx.x; e < k * k; e += WARP) square += a[e / k][e % k] * a[e / k][e % k];
        square = warp_sum(square);
        if (threadIdx.x == 0) tiny = 2e-16 * sqrt(square);
    }
    __syncthreads();
    for (int sweep = 0; sweep < 40 && players > 1; sweep++) {
        if (threadIdx.x == 0) turned = 0;
        __syncthreads();
        for (int round = 0; round < players - 1; round++) {
            if (threadIdx.x < pairs) {
                int p, q;
                meeting(round, threadIdx.x, players, p, q);
                double c = 1.0, s = 0.0;
                if (fabs(a[p][q]) > tiny) {
                    const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                    const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(1.0 + theta * theta));
                    c = 1.0 / sqrt(1.0 + t * t);
                    s = t * c;
                    atomicMax(&turned, 1);
                }
                cosine[threadIdx.x] = c;
                sine[threadIdx.x] = s;
            }
            __syncthreads();
            for (int e = threadIdx.x; e < pairs * pairs; e += THREADS) {
                const int i = e / pairs, j = e % pairs;
                int p, q, r, t;
                meeting(round, i, players, p, q);
                meeting(round, j, players, r, t);
                const sum_t pr = cosine[i] * a[p][r] - sine[i] * a[q][r], pt = cosine[i] * a[p][t] - sine[i] * a[q][t];
                const sum_t qr = sine[i] * a[p][r] + cosine[i] * a[q][r], qt = sine[i] * a[p][t] + cosine[i] * a[q][t];
                a[p][r] = cosine[j] * pr - sine[j] * pt;
                a[p][t] = sine[j] * pr + cosine[j] * pt;
                a[q][r] = cosine[j] * qr - sine[j] * qt;
                a[q][t] = sine[j] * qr + cosine[j] * qt;
            }
            for (int e = threadIdx.x; e < players * pairs; e += THREADS) {
                const int row = e / pairs, i = e % pairs;
                int p, q;
                meeting(round, i, players, p, q);
                const sum_t vp = v[row][p], vq = v[row][q];
                v[row][p] = cosine[i] * vp - sine[i] * vq;
                v[row][q] = sine[i] * vp + cosine[i] * vq;
            }
            __syncthreads();
        }
        const bool settled = turned == 0;
        __syncthreads();
        if (settled) break;
    }
    // The place of a pair is the number of those below it, which are told apart also where a value is no number.
    for (int e = threadIdx.x; e < k * k; e += THREADS) {
        const int i = e / k, j = e % k;
        int place = 0;
        for (int other = 0; other < k; other++)
            place += other < j ? !(a[other][other] > a[j][j]) : other > j && a[other][other] < a[j][j];
        small[VECTORS + place * WIDTH + i] = v[i][j];
        if (i == 0) numbers[VALUES + place] = a[j][j];
    }
    if (threadIdx.x == 0) numbers[EXHAUSTED] = 0.0;
}

// The sweeps over V, as functions of the most columns of [F V] that they hold (MOST) and of whether there are exactly that many (EXACT):
// then nothing is asked of a column, and with few columns a thread reads AHEAD elements of each before it adds the first.
template <int MOST, bool EXACT>
constexpr int AHEAD = !EXACT || MOST > 6 ? 1 : MOST > 3 ? 12 / MOST : 4;

// Element i of columns 0 .. columns - 1 of `basis`; 0 of the others, and of all where i is no element.
template <int MOST, bool EXACT>
__device__ __forceinline__ void read_row(const value_t* basis, i64 stride, i64 i, i64 n, int columns, sum_t (&v)[MOST])
{
    const bool is_element = AHEAD<MOST, EXACT> == 1 || i < n;
#pragma unroll
    for (int j = 0; j < MOST; j++) v[j] = is_element && (EXACT || j < columns) ? basis[j * stride + i] : 0.0;
}

// The new row of G = [F V]^T W, and in the last block the eigenpairs of V^T W.
template <int MOST, bool EXACT>
__device__ __forceinline__ void projected_by(
    const value_t* __restrict__ basis, const value_t* __restrict__ products, sum_t* small, sum_t* numbers, sum_t* partials, u32* arrived,
    i64 n, i64 stride, int width, int below)
{
    constexpr int STEPS = AHEAD<MOST, EXACT>;
    __shared__ sum_t scratch[WARPS * MOST], totals[MOST];
    sum_t sum[MOST];
#pragma unroll
    for (int j = 0; j < MOST; j++) sum[j] = 0.0;
    const int columns = EXACT ? MOST : below + width;
    const value_t* w = products + (width - 1) * stride;
    const i64 step = gridDim.x * (i64)THREADS;
    for (i64 first = blockIdx.x * (i64)THREADS + threadIdx.x; first < n; first += STEPS * step) {
        sum_t v[STEPS][MOST], here[STEPS];
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const i64 i = first + s * step;
            here[s] = STEPS == 1 || i < n ? w[i] : 0.0;
            read_row<MOST, EXACT>(basis, stride, i, n, columns, v[s]);
        }
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (EXACT || j < columns) sum[j] += v[s][j] * here[s];
        }
    }
    if (!launch_sums<MOST, EXACT>(sum, columns, scratch, totals, partials, arrived)) return;
    for (int j = threadIdx.x; j < columns; j += THREADS) small[MATRIX + columns - 1 + WIDTH * j] = totals[j];
    __syncthreads();
    eigenpairs(small, numbers, width, below);
}

// Of pair `target`: r = W y - value V y - F (F^T W) y, t = r / (value - D), |r|^2, |t|^2 and s = [F V]^T t.
template <int MOST, bool EXACT>
__device__ __forceinline__ void corrected_by(
    const value_t* __restrict__ basis, const value_t* __restrict__ products, const value_t* __restrict__ diagonal,
    value_t* __restrict__ correction, sum_t* small, sum_t* numbers, sum_t* partials, u32* arrived, i64 n, i64 stride, int width, int below,
    int target)
{
    constexpr int STEPS = AHEAD<MOST, EXACT>;
    __shared__ sum_t scratch[WARPS * (MOST + 2)], totals[MOST + 2], y[MOST], taken[MOST];
    const int columns = EXACT ? MOST : below + width;
    const double value = numbers[VALUES + target];
    for (int j = threadIdx.x; j < MOST; j += THREADS) y[j] = j < width ? small[VECTORS + target * WIDTH + j] : 0.0;
    __syncthreads();
    // What is taken from W y: value y of V, (F^T W) y of F.
    for (int j = threadIdx.x; j < MOST; j += THREADS) {
        sum_t of = j < below || j >= columns ? 0.0 : value * y[j - below];
        if (j < below)
            for (int i = 0; i < width; i++) of += small[MATRIX + below + i + WIDTH * j] * y[i];
        taken[j] = of;
    }
    __syncthreads();
    sum_t sum[MOST + 2];
#pragma unroll
    for (int j = 0; j < MOST + 2; j++) sum[j] = 0.0;
    const i64 step = gridDim.x * (i64)THREADS;
    for (i64 first = blockIdx.x * (i64)THREADS + threadIdx.x; first < n; first += STEPS * step) {
        sum_t v[STEPS][MOST], x[STEPS], of_diagonal[STEPS];
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const i64 i = first + s * step;
            const bool is_element = STEPS == 1 || i < n;
            read_row<MOST, EXACT>(basis, stride, i, n, columns, v[s]);
            of_diagonal[s] = is_element ? diagonal[i] : 0.0;
            sum_t hx = 0.0;
            if (EXACT) {
#pragma unroll
                for (int j = 0; j < MOST; j++)
                    if (j < width && is_element) hx += y[j] * products[j * stride + i];
            } else {
                // Not as a whole: with the loads of V beside it registers would spill.
#pragma unroll 10
                for (int j = 0; j < width; j++) hx += y[j] * products[j * stride + i];
            }
            x[s] = hx;
        }
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const i64 i = first + s * step;
            if (STEPS > 1 && i >= n) break;
            const sum_t hx = x[s];
            sum_t part = 0.0;
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (EXACT || j < columns) part += taken[j] * v[s][j];
            const sum_t r = hx - part, gap = value - of_diagonal[s];
            const sum_t t = r / (fabs(gap) < HELD ? (gap < 0.0 ? -HELD : HELD) : gap);
            correction[i] = t;
            sum[0] += r * r;
            sum[1] += t * t;
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (EXACT || j < columns) sum[2 + j] += v[s][j] * t;
        }
    }
    if (!launch_sums<MOST + 2, EXACT>(sum, columns + 2, scratch, totals, partials, arrived)) return;
    for (int j = threadIdx.x; j < columns; j += THREADS) small[OVERLAPS + j] = totals[2 + j];
    if (threadIdx.x == 0) {
        numbers[RESIDUAL] = totals[0];
        numbers[BEFORE] = totals[1];
    }
}

// t <- t - [F V] s, |t|^2 and s = [F V]^T t anew. `width` counts F and V together here and in `appended`; with none of them s is 0.
template <int MOST, bool EXACT>
__device__ __forceinline__ void orthogonalised_by(
    const value_t* __restrict__ basis, value_t* __restrict__ correction, sum_t* small, sum_t* numbers, sum_t* partials, u32* arrived,
    i64 n, i64 stride, int width)
{
    constexpr int STEPS = AHEAD<MOST, EXACT>;
    __shared__ sum_t scratch[WARPS * (MOST + 1)], totals[MOST + 1], s[MOST];
    for (int j = threadIdx.x; j < MOST; j += THREADS) s[j] = j < width ? small[OVERLAPS + j] : 0.0;
    __syncthreads();
    sum_t sum[MOST + 1];
#pragma unroll
    for (int j = 0; j < MOST + 1; j++) sum[j] = 0.0;
    const i64 step = gridDim.x * (i64)THREADS;
    for (i64 first = blockIdx.x * (i64)THREADS + threadIdx.x; first < n; first += STEPS * step) {
        sum_t v[STEPS][MOST], left[STEPS];
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            const i64 i = first + k * step;
            left[k] = STEPS == 1 || i < n ? correction[i] : 0.0;
            read_row<MOST, EXACT>(basis, stride, i, n, width, v[k]);
        }
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            const i64 i = first + k * step;
            if (STEPS > 1 && i >= n) break;
            sum_t t = left[k];
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (EXACT || j < width) t -= s[j] * v[k][j];
            correction[i] = t;
            sum[0] += t * t;
#pragma unroll
            for (int j = 0; j < MOST; j++)
                if (EXACT || j < width) sum[1 + j] += v[k][j] * t;
        }
    }
    if (!launch_sums<MOST + 1, EXACT>(sum, width + 1, scratch, totals, partials, arrived)) return;
    // Of a later kernel of more columns the others are 0.
    for (int j = threadIdx.x; j < WIDTH; j += THREADS) small[OVERLAPS + j] = j < width ? totals[1 + j] : 0.0;
    if (threadIdx.x == 0) {
        numbers[AFTER] = totals[0];
        if (width == 0) numbers[BEFORE] = totals[0];
    }
}

// x = V y of pair `target`.
template <int MOST, bool EXACT>
__device__ __forceinline__ void combined_by(
    const value_t* __restrict__ basis, value_t* __restrict__ vector, const sum_t* small, i64 n, i64 stride, int width, int below,
    int target)
{
    __shared__ sum_t y[MOST];
    for (int j = threadIdx.x; j < MOST; j += THREADS) y[j] = j < width ? small[VECTORS + target * WIDTH + j] : 0.0;
    __syncthreads();
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        sum_t x = 0.0;
        if (EXACT) {
#pragma unroll
            for (int j = 0; j < MOST; j++) x += y[j] * basis[(below + j) * stride + i];
        } else {
            for (int j = 0; j < width; j++) x += y[j] * basis[(below + j) * stride + i];
        }
        vector[i] = x;
    }
}

extern "C" __global__ void __launch_bounds__(256, 2)
projected(const value_t* __restrict__ basis, const value_t* __restrict__ products, double* __restrict__ small,
          double* __restrict__ numbers, double* __restrict__ partials, u32* __restrict__ arrived, i64 n, i64 stride,
          int width, int below)
{
    projected_by<WIDTH, false>(basis, products, small, numbers, partials, arrived, n, stride, width, below);
}

extern "C" __global__ void __launch_bounds__(256, 1)
corrected(const value_t* __restrict__ basis, const value_t* __restrict__ products, const value_t* __restrict__ diagonal,
          value_t* __restrict__ correction, double* __restrict__ small, double* __restrict__ numbers,
          double* __restrict__ partials, u32* __restrict__ arrived, i64 n, i64 stride, int width, int below, int target)
{
    corrected_by<WIDTH, false>(basis, products, diagonal, correction, small, numbers, partials, arrived, n, stride, width, below, target);
}

// Element i of the first `kept` combinations y of columns, in place of the columns.
__device__ __forceinline__ void recombine(value_t* columns, const sum_t* y, i64 stride, i64 i, int width, int kept)
{
    sum_t v[WIDTH];
    read_row<WIDTH, false>(columns, stride, i, i + 1, width, v);
    for (int k = 0; k < kept; k++) {
        sum_t sum = 0.0;
#pragma unroll
        for (int j = 0; j < WIDTH; j++)
            if (j < width) sum += y[k * WIDTH + j] * v[j];
        columns[k * stride + i] = sum;
    }
}

// V becomes its lowest `kept` Ritz vectors, in place, behind F; W, s and F^T W follow, and V^T W is diagonal.
extern "C" __global__ void __launch_bounds__(256, 1)
restarted(value_t* __restrict__ basis, value_t* __restrict__ products, double* __restrict__ small,
          const double* __restrict__ numbers, u32* __restrict__ arrived, i64 n, i64 stride, int width, int below,
          int kept)
{
    __shared__ sum_t y[WIDTH * WIDTH];
    for (int e = threadIdx.x; e < kept * WIDTH; e += THREADS) y[e] = e % WIDTH < width ? small[VECTORS + e] : 0.0;
    __syncthreads();
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        recombine(basis + below * stride, y, stride, i, width, kept);
        recombine(products, y, stride, i, width, kept);
    }
    // The last block to come changes what all have read.
    __shared__ bool last;
    __shared__ sum_t next[WIDTH * WIDTH];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    // Rows of F^T W, and s as one more.
    const int rows = below + 1;
    for (int e = threadIdx.x; e < rows * kept; e += THREADS) {
        const sum_t* of = small + (e / kept < below ? MATRIX + below + WIDTH * (e / kept) : OVERLAPS + below);
        sum_t sum = 0.0;
        for (int j = 0; j < width; j++) sum += y[e % kept * WIDTH + j] * of[j];
        next[e] = sum;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < rows * kept; e += THREADS)
        small[(e / kept < below ? MATRIX + below + WIDTH * (e / kept) : OVERLAPS + below) + e % kept] = next[e];
    for (int e = threadIdx.x; e < kept * kept; e += THREADS) {
        const int i = e % kept, j = e / kept;
        small[MATRIX + below + i + WIDTH * (below + j)] = i == j ? numbers[VALUES + i] : 0.0;
        small[VECTORS + j * WIDTH + i] = i == j ? 1.0 : 0.0;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
orthogonalised(const value_t* __restrict__ basis, value_t* __restrict__ correction, double* __restrict__ small,
               double* __restrict__ numbers, double* __restrict__ partials, u32* __restrict__ arrived, i64 n,
               i64 stride, int width)
{
    orthogonalised_by<WIDTH, false>(basis, correction, small, numbers, partials, arrived, n, stride, width);
}

extern "C" __global__ void __launch_bounds__(256)
appended(value_t* __restrict__ basis, const value_t* __restrict__ correction, const double* __restrict__ small,
         double* __restrict__ numbers, i64 n, i64 stride, int width)
{
    __shared__ sum_t s[WIDTH];
    const double before = numbers[BEFORE], after = numbers[AFTER];
    const bool again = after <= 0.49 * before;
    for (int j = threadIdx.x; j < WIDTH; j += THREADS) s[j] = again && j < width ? small[OVERLAPS + j] : 0.0;
    __syncthreads();
    double square = after;
    for (int j = 0; j < width; j++) square -= s[j] * s[j];
    const double norm = sqrt(fmax(square, 0.0)), scale = 1.0 / norm;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) {
        sum_t t = correction[i];
        if (again)
            for (int j = 0; j < width; j++) t -= s[j] * basis[j * stride + i];
        basis[width * stride + i] = t * scale;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) numbers[EXHAUSTED] = norm > 1e-13 * sqrt(before) ? 0.0 : 1.0;
}

extern "C" __global__ void __launch_bounds__(256)
combined(const value_t* __restrict__ basis, value_t* __restrict__ vector, const double* __restrict__ small, i64 n,
         i64 stride, int width, int below, int target)
{
    combined_by<WIDTH, false>(basis, vector, small, n, stride, width, below, target);
}

// x . y into numbers[0].
extern "C" __global__ void __launch_bounds__(256)
inner(const value_t* __restrict__ x, const value_t* __restrict__ y, double* __restrict__ numbers,
      double* __restrict__ partials, u32* __restrict__ arrived, i64 n)
{
    __shared__ sum_t scratch[WARPS], totals[1];
    sum_t sum[1] = {0.0};
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += gridDim.x * (i64)THREADS) sum[0] += x[i] * y[i];
    if (launch_sums<1, true>(sum, 1, scratch, totals, partials, arrived) && threadIdx.x == 0) numbers[0] = totals[0];
}
