// dmrg: copies of matrices with even strides, turned where they are meant transposed, for the tensor memory accelerator
//
//   a block of threads copies one part of a matrix: whole columns where it is not turned, SIDE columns where it is
//   specialised: nothing

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
constexpr int THREADS = 256;
constexpr int SIDE = 32;     // of the squares that are turned; as many threads go along a column

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
    __shared__ value_t square[SIDE][SIDE + 1];
    const Part part = ((const Part*)table)[blockIdx.x];
    const int along = (int)threadIdx.x % SIDE, across = (int)threadIdx.x / SIDE;
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
        for (int c = across; c < columns; c += THREADS / SIDE) {
            for (int r = along; r < rows; r += 4 * SIDE) {
                value_t some[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    some[k] = 0.0;
                    if (r + SIDE * k < rows) some[k] = from[r + SIDE * k + c * from_stride];
                }
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    if (r + SIDE * k < rows) to[before + r + SIDE * k + c * to_stride] = some[k];
                }
            }
        }
        return;
    }
    for (int first = 0; first < rows; first += SIDE) {
        for (int r = across; r < SIDE; r += THREADS / SIDE) {
            if (first + r < rows && along < columns) square[r][along] = from[along + (first + r) * from_stride];
        }
        __syncthreads();
        for (int c = across; c < columns; c += THREADS / SIDE) {
            if (first + along < rows) to[before + first + along + c * to_stride] = square[along][c];
        }
        __syncthreads();
    }
}
