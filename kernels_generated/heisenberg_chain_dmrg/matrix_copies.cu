// dmrg: copies of matrices with even strides, turned where they are meant transposed, for the tensor memory accelerator
//
//   a block of threads copies one part of a matrix: whole columns where it is not turned, 32 columns where it is
//   specialised: nothing

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

typedef double value_t;  // number type of the matrices
constexpr int THREADS = 256;

// A part of a matrix, as it is meant.
struct Part {
    u32 flags;                       // bits 0 to 3: its buffer; bit 4: it is stored transposed
    u32 rows, columns;
    u32 from_stride, to_stride;      // elements from a stored column to the next
    u32 before;                      // rows of zeros that go before it
    u64 from, to;                    // first elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
matrix_copies(const value_t* __restrict__ left, const value_t* __restrict__ left_sum, const value_t* __restrict__ right,
              const value_t* __restrict__ right_sum, const value_t* __restrict__ input,
              const value_t* __restrict__ between, i64 left_first, i64 left_sum_first, i64 right_first,
              i64 right_sum_first, i64 input_first, i64 between_first, value_t* __restrict__ output,
              const u64* __restrict__ table)
{
    __shared__ value_t square[32][33];
    const Part part = ((const Part*)table)[blockIdx.x];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int rows = (int)part.rows, columns = (int)part.columns, before = (int)part.before;
    const i64 from_stride = (i64)part.from_stride, to_stride = (i64)part.to_stride;
    const value_t* from = nullptr;
    switch (part.flags & 15u) {
    case 0: from = left + left_first; break;
    case 1: from = left_sum + left_sum_first; break;
    case 2: from = right + right_first; break;
    case 3: from = right_sum + right_sum_first; break;
    case 4: from = input + input_first; break;
    default: from = between + between_first;
    }
    from += part.from;
    value_t* const to = output + part.to;
    for (int c = (int)threadIdx.x; c < columns && before > 0; c += THREADS) {
        for (int r = 0; r < before; ++r) to[r + c * to_stride] = 0.0;
    }
    if (!(part.flags & 16u)) {
        for (int c = warp; c < columns; c += THREADS / 32) {
            for (int r = lane; r < rows; r += 4 * 32) {
                value_t some[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    some[k] = 0.0;
                    if (r + 32 * k < rows) some[k] = from[r + 32 * k + c * from_stride];
                }
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    if (r + 32 * k < rows) to[before + r + 32 * k + c * to_stride] = some[k];
                }
            }
        }
        return;
    }
    for (int first = 0; first < rows; first += 32) {
        for (int r = warp; r < 32; r += THREADS / 32) {
            if (first + r < rows && lane < columns) square[r][lane] = from[lane + (first + r) * from_stride];
        }
        __syncthreads();
        for (int c = warp; c < columns; c += THREADS / 32) {
            if (first + lane < rows) to[before + first + lane + c * to_stride] = square[lane][c];
        }
        __syncthreads();
    }
}
