// dmrg: all eigenvectors of many symmetric matrices at once, the small and the large in the same launches.
//
// A = H_0 H_1 ... T ... H_1 H_0 with T tridiagonal and H_j = 1 - tau_j v_j v_j^T (Householder 1958; Golub, Van Loan, 8.3.1);
// T is halved until one row is left and put together again by divide and conquer (Cuppen 1981; Gu, Eisenstat 1995). In order:
//     reduced       the first columns of every matrix with more than `resident` rows: many blocks a matrix, which wait for each other
//     tridiagonal   the other columns, in the shared memory of one block; T comes apart
//     merged        two halves: D + rho z z^T, its eigenvalues, its eigenvectors in terms of those of the halves (a block a merge)
//     updated       those in terms of the matrix's rows: products, a block a tile; small merges have done it themselves
//     transformed   the reflections onto the eigenvectors, which take the matrix's place by descending eigenvalue (two a warp)
// Eigenvalues are good to the rounding of the largest of their matrix, vectors are orthogonal to rounding.
//
// The table begins with 4 words a matrix: its first element (column-major, both triangles), its rows, the first elements of
// its work and of its eigenvalues. Tasks of later launches follow and are found by the launch's `first`.

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

typedef double value_t;  // number type of the matrices and vectors
typedef double sum_t;  // of products of their elements
constexpr int MOST = 1024, DIRECT = 16;
constexpr int MATRIX_WORDS = 4, MERGE_WORDS = 5;
constexpr int TILE_ROWS = 64, TILE_COLUMNS = 32, SLAB = 16;
// Rows of a vector that a thread of `reduced` has.
constexpr int ROUNDS = MOST / 256;
// Resident rows that a lane has.
constexpr int CHUNKS = 160 / WARP;

// Off-diagonal elements below this part of the matrix are rounding.
constexpr double ROUNDING = 8.0 * 1.1102230246251565e-16;
// Squares near the least number there is have no digits; what they stand for is nothing.
constexpr double NOTHING = 1e-280;
// Columns from one look at what is left to the next.
constexpr int CHECKED = 8;
// Reflections that a block fetches at a time.
constexpr int BATCH = 8;

// A matrix and its work: Q of this and of the next size (block diagonal), eigenvectors of merges (the same blocks), the
// reflections by columns, then vectors.
struct Matrix {
    int n;
    i64 first, first_value;
    value_t *q, *s, *v, *d, *e, *tau, *source, *held, *upper, *lower, *counts, *product, *squares, *norm, *ended;
};

__device__ __forceinline__ Matrix matrix_of(const u64* __restrict__ table, i64 index, value_t* work)
{
    const u64* words = table + index * MATRIX_WORDS;
    Matrix m;
    const i64 n = (i64)words[1];
    m.n = (int)n;
    m.first = (i64)words[0];
    m.first_value = (i64)words[3];
    value_t* at = work + words[2];
    m.q = at; // two, one behind the other
    m.s = at + 2 * n * n;
    m.v = at + 3 * n * n;
    at += 4 * n * n;
    m.d = at;
    m.e = at + n;
    m.tau = at + 2 * n;
    m.source = at + 3 * n;
    m.held = at + 4 * n;
    m.upper = at + 5 * n;
    m.lower = at + 6 * n;
    m.counts = at + 7 * n; // three of a merge, at three times its first row
    m.product = at + 10 * n; // two: of even and of odd columns
    m.squares = at + 12 * n;
    m.norm = at + 13 * n;
    m.ended = at + 14 * n; // columns that have a reflection
    return m;
}

// The sum over the threads of a block; every thread gets it, and `shares` (MOST_WARPS doubles) may be used again.
__device__ __forceinline__ sum_t sum_for_all(sum_t value, sum_t* shares)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    value = warp_sum(value);
    if (lane == 0) shares[warp] = value;
    __syncthreads();
    value = warp_sum(lane_share(shares, warps));
    __syncthreads();
    return value;
}

// The reflection that takes x[1 .. count) to (beta, 0, 0, ...): v in its place, v_1 = 1. All threads get tau and beta.
__device__ __forceinline__ void reflection(value_t* x, int count, sum_t* shares, double& tau, double& beta)
{
    sum_t square = 0.0;
    for (int i = 2 + threadIdx.x; i < count; i += blockDim.x) square += x[i] * x[i];
    square = sum_for_all(square, shares);
    const double alpha = x[1];
    tau = 0.0;
    beta = alpha;
    double scale = 0.0;
    if (square > NOTHING) {
        const double norm = sqrt(alpha * alpha + square);
        beta = alpha > 0.0 ? -norm : norm;
        tau = (beta - alpha) / beta;
        scale = 1.0 / (alpha - beta);
    }
    __syncthreads();
    for (int i = 1 + threadIdx.x; i < count; i += blockDim.x) x[i] = i == 1 ? 1.0 : x[i] * scale;
    __syncthreads();
}

// Waits until all blocks of a matrix have come `times` times. They are resident together: the launch says so.
__device__ __forceinline__ void meet(u32* arrived, u32 blocks, u32 times)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile u32*)arrived < blocks * times) {}
        __threadfence();
    }
    __syncthreads();
}

// Blocks of matrix blockIdx.x / parts share its columns and wait for each other after every one.
extern "C" __global__ void __launch_bounds__(256, 4)
reduced(value_t* __restrict__ matrices, const u64* __restrict__ table, value_t* __restrict__ work,
        u32* __restrict__ arrived, i64 resident, i64 parts)
{
    extern __shared__ value_t shared[];
    __shared__ sum_t shares[MOST_WARPS], first;
    const Matrix m = matrix_of(table, blockIdx.x / parts, work);
    const int n = m.n, part = (int)(blockIdx.x % parts), end = n - (int)resident;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    value_t* matrix = matrices + m.first;
    // What column j still has to take: A - v w^T - w v^T with v of reflection j - 1, w = tau (p - (tau / 2) (v.p) v), p = A v.
    value_t *v = shared, *w = v + n, *x = w + n;
    double tau = 0.0, largest = 0.0;
    int j = 0;
    for (; j < end; j++) {
        const int count = n - j;
        // What other blocks have written in this launch must not come from this multiprocessor's cache.
        const volatile value_t* own = matrix + j + (i64)j * n;
        const volatile value_t* product = m.product + ((j - 1) & 1) * n + j;
        const volatile value_t* squares = m.squares + j;
        const bool checked = j > 0 && j % CHECKED == 0;
        sum_t of_p[ROUNDS], of_x[ROUNDS], vp = 0.0, rest = 0.0;
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = threadIdx.x + r * blockDim.x;
            of_p[r] = j > 0 && i < count ? product[i] : 0.0;
            of_x[r] = i < count ? own[i] : 0.0;
            rest += checked && i < count ? squares[i] : 0.0;
        }
        // The reflection before is in x, a row further.
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = threadIdx.x + r * blockDim.x;
            if (j > 0 && i < count) vp += x[1 + i] * of_p[r];
        }
        if (checked) {
            rest = sum_for_all(rest, shares);
            if (rest <= ROUNDING * ROUNDING * largest * largest) break;
        }
        if (threadIdx.x == 0) first = of_p[0];
        vp = sum_for_all(vp, shares);
        const sum_t half = 0.5 * tau * vp, v0 = j > 0 ? x[1] : 0.0, w0 = tau * (first - half * v0);
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = threadIdx.x + r * blockDim.x;
            if (i >= count) continue;
            v[i] = j > 0 ? x[1 + i] : 0.0;
            w[i] = tau * (of_p[r] - half * v[i]);
            of_x[r] -= v[i] * w0 + w[i] * v0;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = threadIdx.x + r * blockDim.x;
            if (i < count) x[i] = of_x[r];
        }
        __syncthreads();
        const double diagonal = x[0];
        double beta;
        reflection(x, count, shares, tau, beta);
        largest = fmax(largest, fmax(fabs(diagonal), fabs(beta)));
        if (part == 0) {
            for (int i = 1 + threadIdx.x; i < count; i += blockDim.x) m.v[j + i + (i64)j * n] = x[i];
            if (threadIdx.x == 0) {
                m.d[j] = diagonal;
                m.e[j] = beta;
                m.tau[j] = tau;
            }
        }
        // A warp keeps its columns: c + j is the same from step to step.
        const int all = (int)parts * warps, mine = part * warps + warp;
        for (int c = 1 + (mine + all - (j + 1) % all) % all; c < count; c += all) {
            value_t* column = matrix + j + (i64)(j + c) * n;
            const sum_t vc = v[c], wc = w[c];
            sum_t sum = 0.0, square = 0.0;
#pragma unroll 8
            for (int i = 1 + lane; i < count; i += WARP) {
                const sum_t y = column[i] - v[i] * wc - w[i] * vc;
                column[i] = y;
                sum += y * x[i];
                square += y * y;
            }
            sum = warp_sum(sum);
            if (lane == 0) m.product[(j & 1) * n + j + c] = sum;
            if ((j + 1) % CHECKED == 0) {
                square = warp_sum(square);
                if (lane == 0) m.squares[j + c] = square;
            }
        }
        if (j + 1 < end) meet(arrived + blockIdx.x / parts, (u32)parts, (u32)(j + 1));
    }
    if (part == 0 && threadIdx.x == 0) {
        *m.ended = j;
        *m.norm = largest;
    }
}

// A block a matrix. Its columns have eight lanes each, two columns at a time; what takes a row a lane every warp computes for
// itself, so that the block waits twice a column. It ends where the rows that are left are rounding: a density matrix has often
// no more than half as many eigenvalues above that as rows.
extern "C" __global__ void __launch_bounds__(640)
tridiagonal(value_t* __restrict__ matrices, const u64* __restrict__ table, value_t* __restrict__ work,
            u32* __restrict__ arrived, i64 resident)
{
    extern __shared__ value_t shared[];
    __shared__ sum_t shares[MOST_WARPS];
    const Matrix m = matrix_of(table, blockIdx.x, work);
    // Columns 8 modulo 16 doubles apart: two groups of lanes meet no bank twice.
    const int n = m.n, begin = max(0, n - (int)resident), count = n - begin, stride = (count + 7) / 16 * 16 + 8;
    const bool over = begin > 0 && *m.ended < begin;
    const int group = threadIdx.x >> 3, groups = blockDim.x >> 3, part = threadIdx.x & 7;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    value_t *a = shared, *v = a + count * stride, *x = v + count, *w = x + count, *product = w + count, *squares = product + count;
    if (threadIdx.x == 0) arrived[blockIdx.x] = 0u;
    sum_t vp = 0.0;
    for (int i = threadIdx.x; i < count && begin > 0 && !over; i += blockDim.x) {
        v[i] = m.v[begin + i + (i64)(begin - 1) * n];
        product[i] = m.product[((begin - 1) & 1) * n + begin + i];
        vp += v[i] * product[i];
    }
    vp = sum_for_all(vp, shares);
    const double before = begin > 0 && !over ? m.tau[begin - 1] : 0.0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        v[i] = before != 0.0 ? v[i] : 0.0;
        w[i] = before != 0.0 ? before * (product[i] - 0.5 * before * vp * v[i]) : 0.0;
    }
    for (int e = threadIdx.x; e < count * count && !over; e += blockDim.x) {
        const int i = e % count, c = e / count;
        a[i + c * stride] = matrices[m.first + begin + i + (i64)(begin + c) * n];
    }
    __syncthreads();
    // v and w are those of the reflection before; they are taken in by the sweep over the columns that multiplies by the next.
    // Reflections are (head, x_2, x_3, ...), not scaled.
    double tau = 0.0, head = v[0], largest = begin > 0 ? *m.norm : 0.0, of_v[CHUNKS];
    int j = 0;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) of_v[c] = lane + WARP * c < count ? v[lane + WARP * c] : 0.0;
    for (; j < count - 1 && !over; j++) {
        sum_t half = 0.0, of_w[CHUNKS];
        if (j > 0 && j % CHECKED == 0) {
            sum_t rest = 0.0;
            for (int i = j + lane; i < count; i += WARP) rest += squares[i];
            if (warp_sum(rest) <= ROUNDING * ROUNDING * largest * largest) break;
        }
        if (j > 0) {
            sum_t vp = lane == 0 ? head * product[j] : 0.0;
#pragma unroll
            for (int c = 0; c < CHUNKS; c++) {
                const int i = lane + WARP * c;
                of_w[c] = i > j && i < count ? product[i] : 0.0;
                vp += of_v[c] * of_w[c];
            }
            half = 0.5 * tau * warp_sum(vp);
        }
        const sum_t vj = head, wj = j > 0 ? tau * (product[j] - half * head) : w[0];
        sum_t square = 0.0;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            const int i = lane + WARP * c;
            if (i <= j || i >= count) continue;
            const sum_t vi = of_v[c], wi = j > 0 ? tau * (of_w[c] - half * vi) : w[i];
            const sum_t xi = a[i + j * stride] - vi * wj - wi * vj;
            of_v[c] = xi;
            if (i > j + 1) square += xi * xi;
            if (c % warps == warp) {
                x[i] = xi;
                if (j > 0) w[i] = wi;
                if (i > j + 1) m.v[begin + i + (i64)(begin + j) * n] = xi;
            }
        }
        const sum_t v1 = v[j + 1], w1 = j > 0 ? tau * (product[j + 1] - half * v1) : w[1];
        const double alpha = a[j + 1 + j * stride] - v1 * wj - w1 * vj, diagonal = a[j + j * stride] - 2.0 * vj * wj;
        square = warp_sum(square);
        double beta = alpha;
        head = 1.0;
        tau = 0.0;
        if (square > NOTHING) {
            const double norm = sqrt(alpha * alpha + square);
            beta = alpha > 0.0 ? -norm : norm;
            head = alpha - beta;
            tau = -1.0 / (beta * head);
        }
        // The next sum takes row j + 1 from `head`.
#pragma unroll
        for (int c = 0; c < CHUNKS; c++)
            if (lane + WARP * c <= j + 1) of_v[c] = 0.0;
        largest = fmax(largest, fmax(fabs(diagonal), fabs(beta)));
        if (threadIdx.x == 0) {
            m.d[begin + j] = diagonal;
            m.e[begin + j] = beta;
            m.tau[begin + j] = tau;
            m.v[begin + j + 1 + (i64)(begin + j) * n] = head;
        }
        __syncthreads();
        for (int first = j + 1; first < count; first += 2 * groups) {
            const int c = first + group, other = c + groups;
            sum_t sum = 0.0, other_sum = 0.0, square = 0.0;
            if (other < count) {
                const sum_t vc = v[c], wc = w[c], vo = v[other], wo = w[other];
                value_t *column = a + c * stride, *next = a + other * stride;
                for (int i = j + 1 + part; i < count; i += 8) {
                    const sum_t vi = v[i], wi = w[i], xi = i == j + 1 ? head : x[i];
                    const sum_t y = column[i] - vi * wc - wi * vc, z = next[i] - vi * wo - wi * vo;
                    column[i] = y;
                    next[i] = z;
                    sum += y * xi;
                    other_sum += z * xi;
                    square += y * y + z * z;
                }
            } else if (c < count) {
                const sum_t vc = v[c], wc = w[c];
                value_t* column = a + c * stride;
                for (int i = j + 1 + part; i < count; i += 8) {
                    const sum_t y = column[i] - v[i] * wc - w[i] * vc;
                    column[i] = y;
                    sum += y * (i == j + 1 ? head : x[i]);
                    square += y * y;
                }
            }
            for (int offset = 4; offset > 0; offset >>= 1) {
                sum += __shfl_xor_sync(ALL_LANES, sum, offset);
                other_sum += __shfl_xor_sync(ALL_LANES, other_sum, offset);
            }
            if (part == 0 && c < count) product[c] = sum;
            if (part == 0 && other < count) product[other] = other_sum;
            if ((j + 1) % CHECKED == 0) {
                for (int offset = 4; offset > 0; offset >>= 1) square += __shfl_xor_sync(ALL_LANES, square, offset);
                if (part == 0 && c < count) squares[c] = square;
                if (part == 0 && other < count) squares[other] = 0.0;
            }
        }
        __syncthreads();
        value_t* const swap = v;
        v = x;
        x = swap;
    }
    // The last reflection is none. What is left of a matrix that ended before is nothing.
    const bool whole = j == count - 1 && !over;
    const int ended = over ? (int)*m.ended : begin + j;
    if (whole && threadIdx.x == 0) m.d[n - 1] = a[(count - 1) * (stride + 1)] - (count == 1 ? 2.0 * v[0] * w[0] : 0.0);
    for (int i = ended + threadIdx.x; i < n && !whole; i += blockDim.x) m.d[i] = m.e[i] = m.tau[i] = 0.0;
    __syncthreads();
    if (threadIdx.x == 0) *m.ended = ended;

    // T comes apart at every off-diagonal element: |e| (1, sign) (1, sign)^T is left for the merge.
    double norm = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const double beside = (i > 0 ? fabs(m.e[i - 1]) : 0.0) + (i + 1 < n ? fabs(m.e[i]) : 0.0), d = m.d[i];
        norm = fmax(norm, fabs(d) + beside);
        m.d[i] = d - beside;
        m.q[i * (i64)(n + 1)] = m.q[(i64)n * n + i * (i64)(n + 1)] = 1.0;
    }
    for (int offset = WARP / 2; offset > 0; offset >>= 1) norm = fmax(norm, __shfl_xor_sync(ALL_LANES, norm, offset));
    if (threadIdx.x % WARP == 0) shares[threadIdx.x / WARP] = norm;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < (int)(blockDim.x / WARP); warp++) norm = fmax(norm, shares[warp]);
        *m.norm = norm;
    }
}

// The order of doubles as integers, in which even what is no number has a place.
__device__ __forceinline__ i64 ordered(double x)
{
    const i64 bits = __double_as_longlong(x);
    return bits < 0 ? bits ^ 0x7fffffffffffffffll : bits;
}

// Sums and products over the eight lanes of a group, whose bits in the warp are `lanes`.
__device__ __forceinline__ sum_t group_sum(sum_t x, u32 lanes)
{
    for (int offset = 4; offset > 0; offset >>= 1) x += __shfl_xor_sync(lanes, x, offset);
    return x;
}
__device__ __forceinline__ double group_product(double x, u32 lanes)
{
    for (int offset = 4; offset > 0; offset >>= 1) x *= __shfl_xor_sync(lanes, x, offset);
    return x;
}

// Eigenvalue k of D + rho z z^T, d ascending and apart, as d[origin] + shift: the zero of 1/rho + sum z_i^2 / (d_i - x) between
// d_k and d_(k+1), or above all, by rational functions through the poles on both sides (Li 1993, "the middle way") inside a
// bracket. By eight lanes.
__device__ __forceinline__ void eigenvalue(const double* d, const double* z, int count, int k, double rho, u32 lanes, int& origin, double& shift)
{
    const int lane = threadIdx.x & 7;
    const bool highest = k == count - 1;
    origin = k;
    if (count == 1) {
        shift = rho * z[0] * z[0];
        return;
    }
    const int pole = highest ? k - 1 : k; // the sums: up to it, and behind it
    const double gap = highest ? rho : d[k + 1] - d[k];
    double low = 0.0, high = gap;
    shift = 0.5 * gap;
    for (int step = 0; step < 80; step++) {
        double below = 0.0, above = 0.0, below_slope = 0.0, above_slope = 0.0;
        for (int i = lane; i < count; i += 8) {
            const double difference = 1.0 / ((d[i] - d[origin]) - shift), part = z[i] * difference, term = z[i] * part;
            if (i <= pole) {
                below += term;
                below_slope += part * part;
            } else {
                above += term;
                above_slope += part * part;
            }
        }
        below = group_sum(below, lanes);
        above = group_sum(above, lanes);
        below_slope = group_sum(below_slope, lanes);
        above_slope = group_sum(above_slope, lanes);
        const double value = 1.0 / rho + below + above;
        if (fabs(value) <= ROUNDING * (1.0 / rho + fabs(below) + fabs(above))) break;
        if (value < 0.0) low = shift;
        else high = shift;
        // The first value, halfway, says which pole is nearer.
        if (step == 0 && value < 0.0 && !highest) {
            origin = k + 1;
            shift -= gap;
            low = shift;
            high = 0.0;
        }
        const double first = (d[pole] - d[origin]) - shift, second = (d[pole + 1] - d[origin]) - shift;
        const double slope = below_slope + above_slope;
        double c = value - first * below_slope - second * above_slope;
        const double a = (first + second) * value - first * second * slope, b = first * second * value;
        const double root = sqrt(fabs(a * a - 4.0 * b * c));
        double change;
        if (highest) {
            c = fabs(c);
            change = a >= 0.0 ? (a + root) / (2.0 * c) : 2.0 * b / (a - root);
        } else {
            change = a <= 0.0 ? (a - root) / (2.0 * c) : 2.0 * b / (a + root);
        }
        if (!(value * change < 0.0)) change = -value / slope;
        double next = shift + change;
        if (!(next > low && next < high) || step > 40) next = 0.5 * (low + high);
        if (next == shift || !(next > low && next < high)) break;
        shift = next;
    }
}

// A block a merge: matrix, first row, rows of the first half and of the second, the Q that is written (0 or 1).
extern "C" __global__ void __launch_bounds__(512, 1)
merged(const u64* __restrict__ table, value_t* __restrict__ work, i64 first)
{
    extern __shared__ double shared[];
    __shared__ int kept, gone, turns;
    const u64* task = table + first + (i64)blockIdx.x * MERGE_WORDS;
    const Matrix m = matrix_of(table, (i64)task[0], work);
    const int n = m.n, begin = (int)task[1], n1 = (int)task[2], length = n1 + (int)task[3], to = (int)task[4];
    const int threads = blockDim.x, t = threadIdx.x;
    double *d = shared, *z = d + length, *sorted_d = z + length, *sorted_z = sorted_d + length;
    double *cosine = sorted_z + length, *sine = cosine + length, *shift = sine + length;
    int *order = (int*)(shift + length), *stay = order + length, *leave = stay + length, *held = leave + length;
    int *one = held + length, *other = one + length, *origin = other + length;
    value_t* q = m.q + (1 - to) * (i64)n * n + begin + (i64)begin * n;

    // u = (last row of the first half, first row of the second) / sqrt 2, so that |z| = 1.
    const double beta = m.e[begin + n1 - 1], rho = 2.0 * fabs(beta), tolerance = ROUNDING * *m.norm;
    for (int i = t; i < length; i += threads) {
        d[i] = m.d[begin + i];
        const double end = i < n1 ? q[n1 - 1 + (i64)i * n] : beta < 0.0 ? -q[n1 + (i64)i * n] : q[n1 + (i64)i * n];
        z[i] = 0.7071067811865476 * end;
    }
    __syncthreads();
    for (int i = t; i < length; i += threads) {
        const i64 own = ordered(d[i]);
        int place = 0;
        for (int j = 0; j < length; j++) {
            const i64 their = ordered(d[j]);
            place += their < own || (their == own && j < i);
        }
        order[place] = i;
        held[i] = i < n1 ? 1 : 2; // has rows of the first half, of the second
        sorted_d[place] = d[i];
        sorted_z[place] = z[i];
    }
    __syncthreads();

    // Eigenvalues that stay: z_i = 0 but for rounding, or two alike that a rotation makes so (Dongarra, Sorensen 1987).
    if (t == 0) {
        int last = -1;
        kept = gone = turns = 0;
        for (int i = 0; i < length; i++) {
            const double zi = sorted_z[i];
            if (rho * fabs(zi) <= tolerance) {
                leave[gone++] = i;
                continue;
            }
            if (last >= 0) {
                const double zl = sorted_z[last], square = zl * zl + zi * zi, dl = sorted_d[last], di = sorted_d[i];
                if (fabs((di - dl) * zl * zi) <= tolerance * square) {
                    const double root = sqrt(square), c = zi / root, s = zl / root;
                    one[turns] = order[last] | held[order[last]] << 16;
                    other[turns] = order[i] | held[order[i]] << 16;
                    held[order[last]] = held[order[i]] = held[order[last]] | held[order[i]];
                    cosine[turns] = c;
                    sine[turns++] = s;
                    sorted_z[i] = root;
                    sorted_d[last] = c * c * dl + s * s * di;
                    sorted_d[i] = s * s * dl + c * c * di;
                    leave[gone++] = last;
                } else {
                    stay[kept++] = last;
                }
            }
            last = i;
        }
        if (last >= 0) stay[kept++] = last;
    }
    __syncthreads();
    const int count = kept;
    for (int k = t; k < length; k += threads) {
        const int from = k < count ? stay[k] : leave[k - count];
        d[k] = sorted_d[from];
        z[k] = k < count ? sorted_z[from] : 0.0;
        m.source[begin + k] = order[from];
        m.held[begin + k] = held[order[from]];
    }
    for (int row = t; row < length; row += threads) {
        const int half = row < n1 ? 1 : 2;
        for (int turn = 0; turn < turns; turn++) {
            const int a = one[turn], b = other[turn];
            if (((a | b) >> 16 & half) == 0) continue;
            double *x = q + row + (i64)(a & 0xffff) * n, *y = q + row + (i64)(b & 0xffff) * n;
            const double xr = a >> 16 & half ? *x : 0.0, yr = b >> 16 & half ? *y : 0.0;
            *x = cosine[turn] * xr - sine[turn] * yr;
            *y = sine[turn] * xr + cosine[turn] * yr;
        }
    }
    __syncthreads();

    const int lane = t & 7;
    const u32 lanes = 0xffu << (t & (WARP - 8));
    for (int k = t >> 3; k < count; k += threads >> 3) {
        int own_origin;
        double own_shift;
        eigenvalue(d, z, count, k, rho, lanes, own_origin, own_shift);
        if (lane == 0) {
            origin[k] = own_origin;
            shift[k] = own_shift;
        }
    }
    __syncthreads();
    // The z whose eigenvalues these are exactly (Gu, Eisenstat 1994): vectors made of it are orthogonal.
    double* exact = sorted_z;
    for (int i = t >> 3; i < count; i += threads >> 3) {
        double product = 1.0;
        for (int k = lane; k < count; k += 8) {
            const double distance = (d[origin[k]] - d[i]) + shift[k];
            product *= k == i ? distance : distance / (d[k] - d[i]);
        }
        product = sqrt(fabs(group_product(product, lanes)));
        if (lane == 0) exact[i] = z[i] < 0.0 ? -product : product;
    }
    __syncthreads();
    for (int k = t >> 3; k < count; k += threads >> 3) {
        double square = 0.0;
        value_t* vector = m.s + begin + (i64)(begin + k) * n;
        for (int i = lane; i < count; i += 8) {
            const double part = exact[i] / ((d[i] - d[origin[k]]) - shift[k]);
            vector[i] = part;
            square += part * part;
        }
        const double scale = 1.0 / sqrt(group_sum(square, lanes));
        for (int i = lane; i < count; i += 8) vector[i] = count == 1 ? 1.0 : scale * vector[i];
    }
    for (int k = t; k < length; k += threads) m.d[begin + k] = k < count ? d[origin[k]] + shift[k] : d[k];
    // Which of the vectors that take part have rows of a half.
    if (t < 2 * WARP) {
        const int half = t < WARP ? 1 : 2, bit = t & (WARP - 1);
        value_t* list = half == 1 ? m.upper : m.lower;
        int found = 0;
        for (int base = 0; base < count; base += WARP) {
            const bool has = base + bit < count && (held[order[stay[min(base + bit, count - 1)]]] & half) != 0;
            const u32 all = __ballot_sync(ALL_LANES, has);
            if (has) list[begin + found + __popc(all & ((1u << bit) - 1u))] = base + bit;
            found += __popc(all);
        }
        if (bit == 0) m.counts[3 * begin + half] = found;
        if (t == 0) m.counts[3 * begin] = count;
    }
    if (length > DIRECT) return;
    __syncthreads();
    value_t* out = m.q + to * (i64)n * n + begin + (i64)begin * n;
    for (int e = t; e < length * length; e += threads) {
        const int row = e % length, column = e / length, half = row < n1 ? 1 : 2;
        sum_t sum = 0.0;
        if (column >= count) {
            const int from = order[leave[column - count]];
            sum = held[from] & half ? q[row + (i64)from * n] : 0.0;
        }
        for (int i = 0; i < count && column < count; i++) {
            const int from = order[stay[i]];
            if (held[from] & half) sum += q[row + (i64)from * n] * m.s[begin + i + (i64)(begin + column) * n];
        }
        out[row + (i64)column * n] = sum;
    }
}

// A block a tile of a merge: the merge's place among all, the tile.
extern "C" __global__ void __launch_bounds__(256)
updated(const u64* __restrict__ table, value_t* __restrict__ work, i64 merges, i64 first)
{
    __shared__ value_t of_q[SLAB][TILE_ROWS], of_s[SLAB][TILE_COLUMNS];
    const u64* tile = table + first + 2 * (i64)blockIdx.x;
    const u64* task = table + merges + (i64)tile[0] * MERGE_WORDS;
    const Matrix m = matrix_of(table, (i64)task[0], work);
    const int n = m.n, begin = (int)task[1], n1 = (int)task[2], length = n1 + (int)task[3], to = (int)task[4];
    const int upper = (n1 + TILE_ROWS - 1) / TILE_ROWS, lower = (length - n1 + TILE_ROWS - 1) / TILE_ROWS;
    const int place = (int)tile[1] % (upper + lower), half = place < upper ? 1 : 2;
    const int first_row = half == 1 ? place * TILE_ROWS : n1 + (place - upper) * TILE_ROWS, end = half == 1 ? n1 : length;
    const int first_column = (int)tile[1] / (upper + lower) * TILE_COLUMNS;
    const int count = (int)m.counts[3 * begin], among = (int)m.counts[3 * begin + half];
    const value_t* list = (half == 1 ? m.upper : m.lower) + begin;
    const value_t* q = m.q + (1 - to) * (i64)n * n + begin + (i64)begin * n;
    const value_t* s = m.s + begin + (i64)begin * n;
    value_t* out = m.q + to * (i64)n * n + begin + (i64)begin * n;

    // A thread has two rows and four columns.
    constexpr int HALF_ROWS = TILE_ROWS / 2;
    const int row = threadIdx.x % HALF_ROWS, column = 4 * (threadIdx.x / HALF_ROWS);
    sum_t sum[2][4] = {};
    for (int base = 0; base < among && first_column < count; base += SLAB) {
        __syncthreads();
        for (int e = threadIdx.x; e < SLAB * TILE_ROWS; e += blockDim.x) {
            const int l = e / TILE_ROWS, r = first_row + e % TILE_ROWS;
            const bool real = base + l < among && r < end;
            of_q[l][e % TILE_ROWS] = real ? q[r + (i64)m.source[begin + (int)list[base + l]] * n] : 0.0;
        }
        for (int e = threadIdx.x; e < SLAB * TILE_COLUMNS; e += blockDim.x) {
            const int l = e % SLAB, c = first_column + e / SLAB;
            of_s[l][e / SLAB] = base + l < among && c < count ? s[(int)list[base + l] + (i64)c * n] : 0.0;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < SLAB; l++) {
            const sum_t q0 = of_q[l][row], q1 = of_q[l][row + HALF_ROWS];
#pragma unroll
            for (int c = 0; c < 4; c++) {
                sum[0][c] += q0 * of_s[l][column + c];
                sum[1][c] += q1 * of_s[l][column + c];
            }
        }
    }
    for (int c = 0; c < 4; c++) {
        const int k = first_column + column + c;
        if (k >= length) break;
        for (int r = 0; r < 2; r++) {
            const int i = first_row + row + HALF_ROWS * r;
            if (i >= end) continue;
            double value = sum[r][c];
            // Vectors that take no part go over as they are.
            if (k >= count) value = (int)m.held[begin + k] & half ? q[i + (i64)m.source[begin + k] * n] : 0.0;
            out[i + (i64)k * n] = value;
        }
    }
}

// The reflections onto column `k` of Q, and with TWO onto `other` too (the same at an odd end), by a warp with PER elements
// of each a lane. The block fetches BATCH reflections at a time: one by one they would be waited for.
template <int PER, bool TWO>
__device__ __forceinline__ void transform(const Matrix& m, int k, int other, value_t* matrix, value_t* values, value_t* batch, double* taus, bool real)
{
    const int n = m.n, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    sum_t x[PER], y[TWO ? PER : 1];
#pragma unroll
    for (int c = 0; c < PER; c++) {
        const int i = lane + WARP * c;
        x[c] = i < n ? m.q[i + (i64)k * n] : 0.0;
        if (TWO) y[c] = i < n ? m.q[i + (i64)other * n] : 0.0;
    }
    for (int last = (int)*m.ended - 1; last >= 0; last -= BATCH) {
        const int count = min(BATCH, last + 1);
        __syncthreads();
        for (int r = warp; r < count; r += warps) {
            const int j = last - r;
#pragma unroll 8
            for (int i = lane; i < WARP * PER; i += WARP) batch[r * WARP * PER + i] = i > j && i < n ? m.v[i + (i64)j * n] : 0.0;
            if (lane == 0) taus[r] = m.tau[j];
        }
        __syncthreads();
        for (int r = 0; r < count; r++) {
            const value_t* v = batch + r * WARP * PER + lane;
            sum_t sum = 0.0, other_sum = 0.0;
#pragma unroll
            for (int c = 0; c < PER; c++) {
                const sum_t vi = v[WARP * c];
                sum += vi * x[c];
                if (TWO) other_sum += vi * y[c];
                if (PER > 16 && c % 8 == 7) __syncwarp(); // no more loads at a time than there are registers for
            }
            for (int offset = WARP / 2; offset > 0; offset >>= 1) {
                sum += __shfl_xor_sync(ALL_LANES, sum, offset);
                if (TWO) other_sum += __shfl_xor_sync(ALL_LANES, other_sum, offset);
            }
            sum *= taus[r];
            other_sum *= taus[r];
            // Read again: kept in registers they would push others out.
            const volatile value_t* again = v;
#pragma unroll
            for (int c = 0; c < PER; c++) {
                const sum_t vi = again[WARP * c];
                x[c] -= sum * vi;
                if (TWO) y[c] -= other_sum * vi;
                if (PER > 16 && c % 8 == 7) __syncwarp();
            }
        }
    }
    const i64 own = ordered(m.d[k]), second = ordered(m.d[other]);
    int place = 0, other_place = 0;
    for (int i = lane; i < n; i += WARP) {
        const i64 their = ordered(m.d[i]);
        place += their > own || (their == own && i < k);
        other_place += their > second || (their == second && i < other);
    }
    for (int offset = WARP / 2; offset > 0; offset >>= 1) {
        place += __shfl_xor_sync(ALL_LANES, place, offset);
        other_place += __shfl_xor_sync(ALL_LANES, other_place, offset);
    }
#pragma unroll
    for (int c = 0; c < PER; c++) {
        const int i = lane + WARP * c;
        if (real && i < n) matrix[i + (i64)place * n] = x[c];
        if (TWO && real && i < n && other != k) matrix[i + (i64)other_place * n] = y[c];
    }
    if (real && lane == 0) values[place] = m.d[k];
    if (TWO && real && lane == 0) values[other_place] = m.d[other];
}

// A block a few vectors: matrix, the first of them; two a warp, of long ones one after the other. Warps behind the last fetch
// for the others.
extern "C" __global__ void __launch_bounds__(256, 2)
transformed(value_t* __restrict__ matrices, const u64* __restrict__ table, value_t* __restrict__ work,
            value_t* __restrict__ values, i64 first)
{
    extern __shared__ value_t shared[];
    __shared__ double taus[BATCH];
    const u64* task = table + first + 2 * (i64)blockIdx.x;
    const Matrix m = matrix_of(table, (i64)task[0], work);
    const int k = (int)task[1] + 2 * (int)(threadIdx.x / WARP), mine = min(k, m.n - 1), other = min(k + 1, m.n - 1);
    value_t *matrix = matrices + m.first, *own = values + m.first_value;
    if (m.n <= 64) transform<64 / WARP, true>(m, mine, other, matrix, own, shared, taus, k < m.n);
    else if (m.n <= 128) transform<128 / WARP, true>(m, mine, other, matrix, own, shared, taus, k < m.n);
    else if (m.n <= 256) transform<256 / WARP, true>(m, mine, other, matrix, own, shared, taus, k < m.n);
    else if (m.n <= 512) transform<512 / WARP, true>(m, mine, other, matrix, own, shared, taus, k < m.n);
    else {
#pragma unroll 1
        for (int turn = 0; turn < 2; turn++) {
            const int one = turn == 0 ? mine : other;
            transform<MOST / WARP, false>(m, one, one, matrix, own, shared, taus, k < m.n);
        }
    }
}
