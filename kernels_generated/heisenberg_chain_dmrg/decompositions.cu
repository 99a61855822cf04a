// dmrg: singular value decompositions of small matrices, one a block, by one-sided Jacobi rotations (Hestenes 1958;
// Demmel, Veselic 1992: small singular values keep their relative accuracy).
//
// A job is 7 words: first element of the matrix (column-major), rows, columns, which side is wanted (0 left, 1 right),
// first elements of its work, of its vectors and of its values. The work is the matrix with its longer side along columns,
// then the rotations; the vectors of the wanted side are sorted by descending singular value, the values are squares.

// eigenforge prelude: integer names, warp and block sums, bit tricks. No CUDA headers, so that NVRTC needs some 60 ms.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Sum over the 32 lanes of a warp, in a fixed order; every lane gets it.
__device__ __forceinline__ double warp_sum(double value)
{
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Sum over a block of THREADS threads (a multiple of 32, at most 1024), in a fixed order; thread 0 gets it.
// `scratch` holds THREADS / 32 doubles and may be used again after the call.
template <int THREADS>
__device__ __forceinline__ double block_sum(double value, double* scratch)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = 0.0;
    if (warp == 0) value = warp_sum(lane < THREADS / 32 ? scratch[lane] : 0.0);
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

constexpr int THREADS = 1024, WARPS = THREADS / 32, MOST = 64;

// Pair `i` of round `round` when each of `players` (even) meets each other once in players - 1 rounds.
__device__ __forceinline__ void meeting(int round, int i, int players, int& p, int& q)
{
    const int a = i == 0 ? players - 1 : (round + i) % (players - 1);
    const int b = i == 0 ? round : (round - i + players - 1) % (players - 1);
    p = min(a, b);
    q = max(a, b);
}

extern "C" __global__ void __launch_bounds__(1024) decomposed(
    const double* __restrict__ matrices,
    const u64* __restrict__ jobs,
    double* __restrict__ work,
    double* __restrict__ vectors,
    double* __restrict__ values)
{
    __shared__ double square[MOST];
    __shared__ int turned;
    const u64* job = jobs + (i64)blockIdx.x * 7;
    const double* matrix = matrices + job[0];
    const int rows = (int)job[1], columns = (int)job[2];
    const bool right = job[3] != 0, tall = rows >= columns;
    const int length = tall ? rows : columns, count = tall ? columns : rows;
    double* a = work + job[4];
    double* rotation = a + (i64)length * count;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // The longer side's vectors are the columns over their lengths, the shorter side's the rotations.
    const bool along = tall != right;

    for (i64 e = threadIdx.x; e < (i64)rows * columns; e += THREADS) {
        const int row = (int)(e % rows), column = (int)(e / rows);
        a[tall ? e : column + (i64)row * columns] = matrix[e];
    }
    for (int e = threadIdx.x; e < count * count && !along; e += THREADS) rotation[e] = e / count == e % count ? 1.0 : 0.0;
    __syncthreads();

    const int players = count + (count & 1);
    for (int sweep = 0; sweep < 40 && players > 1; sweep++) {
        if (threadIdx.x == 0) turned = 0;
        __syncthreads();
        for (int round = 0; round < players - 1; round++) {
            for (int i = warp; i < players / 2; i += WARPS) {
                int p, q;
                meeting(round, i, players, p, q);
                if (q >= count) continue; // the same for a whole warp
                double* x = a + (i64)p * length;
                double* y = a + (i64)q * length;
                double xx = 0.0, yy = 0.0, xy = 0.0;
                for (int k = lane; k < length; k += 32) {
                    xx += x[k] * x[k];
                    yy += y[k] * y[k];
                    xy += x[k] * y[k];
                }
                xx = warp_sum(xx);
                yy = warp_sum(yy);
                xy = warp_sum(xy);
                // A pair is orthogonal where |x.y| <= 1e-15 |x| |y|; products of squares may underflow, then it is as good as nothing.
                if (!(xy * xy > 1e-30 * (xx * yy))) continue;
                if (lane == 0) atomicMax(&turned, 1);
                // t = 2 xy / (d + sign(d) sqrt(d^2 + 4 xy^2)), d = yy - xx.
                const double d = yy - xx, root = sqrt(d * d + 4.0 * xy * xy);
                const double t = 2.0 * xy / (d + (d < 0.0 ? -root : root)), c = rsqrt(1.0 + t * t), s = t * c;
                for (int k = lane; k < length; k += 32) {
                    const double xk = x[k], yk = y[k];
                    x[k] = c * xk - s * yk;
                    y[k] = s * xk + c * yk;
                }
                double* u = rotation + p * count;
                double* v = rotation + q * count;
                for (int k = lane; k < count && !along; k += 32) {
                    const double uk = u[k], vk = v[k];
                    u[k] = c * uk - s * vk;
                    v[k] = s * uk + c * vk;
                }
            }
            __syncthreads();
        }
        const bool settled = turned == 0;
        __syncthreads();
        if (settled) break;
    }

    for (int p = warp; p < count; p += WARPS) {
        double sum = 0.0;
        for (int k = lane; k < length; k += 32) sum += a[(i64)p * length + k] * a[(i64)p * length + k];
        sum = warp_sum(sum);
        if (lane == 0) square[p] = sum;
    }
    __syncthreads();
    const int height = along ? length : count;
    for (int p = warp; p < count; p += WARPS) {
        int place = 0;
        for (int q = 0; q < count; q++) place += square[q] > square[p] || (square[q] == square[p] && q < p);
        const double scale = along && square[p] > 0.0 ? 1.0 / sqrt(square[p]) : 1.0;
        const double* from = along ? a + (i64)p * length : rotation + p * count;
        double* to = vectors + job[5] + (i64)place * height;
        for (int k = lane; k < height; k += 32) to[k] = scale * from[k];
        if (lane == 0) values[job[6] + place] = square[p];
    }
}
