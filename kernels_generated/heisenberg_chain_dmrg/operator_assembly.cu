// dmrg: operators of a block and a site from those of the block
//
//   K matrices of one shape stand side by side as elements (row, k, column); each is a sum of matrices of the source and of the identity
//   a block of threads fills one rectangle of rows and columns of all K
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
constexpr int THREADS = 128;
constexpr u32 IDENTITY = ~(u32)0;  // in place of the number of a source matrix

// A rectangle of the output.
struct Part {
    u64 to;                 // first element
    u32 rows, columns;
    u32 height, count;      // rows of the whole matrices, and how many there are
    u32 first_term, terms;
};

// Source matrices of the part's shape, and which of them each matrix adds up.
struct Term {
    u64 from;               // first element
    u32 count, list;        // how many there are; first number of the list
};

// A source matrix.
struct Entry {
    u64 number;
    double coefficient;
};

extern "C" __global__ void __launch_bounds__(THREADS)
operator_assembly(const value_t* __restrict__ source, value_t* __restrict__ output, const u64* __restrict__ table,
                  i64 terms_first, i64 starts_first, i64 entries_first)
{
    const Part part = ((const Part*)table)[blockIdx.x];
    const Term* const terms = (const Term*)(table + terms_first) + part.first_term;
    const u32* const starts = (const u32*)(table + starts_first);
    const Entry* const entries = (const Entry*)(table + entries_first);
    const u32 column_elements = part.rows * part.count;
    const u64 elements = (u64)column_elements * part.columns;
    for (u64 at = threadIdx.x; at < elements; at += THREADS) {
        const u32 column = (u32)(at / column_elements), within = (u32)(at % column_elements);
        const u32 k = within / part.rows, row = within % part.rows;
        value_t sum = 0.0;
        for (u32 t = 0; t < part.terms; ++t) {
            const Term term = terms[t];
            const value_t* const from = source + term.from + row + (u64)part.rows * term.count * column;
            const u32 end = starts[term.list + k + 1];
            for (u32 e = starts[term.list + k]; e < end; ++e) {
                const Entry entry = entries[e];
                if ((u32)entry.number == IDENTITY) {
                    if (row == column) sum += (value_t)entry.coefficient;
                } else {
                    sum += (value_t)entry.coefficient * from[(u64)part.rows * entry.number];
                }
            }
        }
        output[part.to + row + (u64)part.height * (k + (u64)part.count * column)] = sum;
    }
}
