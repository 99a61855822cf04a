
// Complex numbers as pairs (real part, imaginary part), which is how files and Python's complex128 and complex64 store them.
// Sums are c64; c32 only stores. Neither has constructors, so that both may lie in shared memory: c64{re, im}, and {} for zero.
struct c32;
struct alignas(16) c64 {
    double re, im;
    __device__ __forceinline__ c64& operator+=(const c64& a) { re += a.re; im += a.im; return *this; }
    __device__ __forceinline__ c64& operator-=(const c64& a) { re -= a.re; im -= a.im; return *this; }
    __device__ __forceinline__ c64& operator*=(double a) { re *= a; im *= a; return *this; }
    __device__ __forceinline__ explicit operator c32() const;
};
struct alignas(8) c32 {
    float re, im;
    __device__ __forceinline__ operator c64() const { return c64{re, im}; }
};
__device__ __forceinline__ c64::operator c32() const { return c32{(float)re, (float)im}; }

__device__ __forceinline__ c64 operator-(const c64& a) { return c64{-a.re, -a.im}; }
__device__ __forceinline__ c64 operator+(c64 a, const c64& b) { return a += b; }
__device__ __forceinline__ c64 operator-(c64 a, const c64& b) { return a -= b; }
__device__ __forceinline__ c64 operator*(c64 a, double b) { return a *= b; }
__device__ __forceinline__ c64 operator*(double a, c64 b) { return b *= a; }
__device__ __forceinline__ c64 operator/(const c64& a, double b) { return c64{a.re / b, a.im / b}; }
__device__ __forceinline__ c64 operator*(const c64& a, const c64& b)
{
    return c64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ bool operator==(const c64& a, const c64& b) { return a.re == b.re && a.im == b.im; }
__device__ __forceinline__ bool operator!=(const c64& a, const c64& b) { return !(a == b); }

__device__ __forceinline__ c64 conj_of(const c64& a) { return c64{a.re, -a.im}; }
__device__ __forceinline__ double real_of(const c64& a) { return a.re; }
__device__ __forceinline__ double imag_of(const c64& a) { return a.im; }
__device__ __forceinline__ double square_of(const c64& a) { return a.re * a.re + a.im * a.im; }
__device__ __forceinline__ c64 conj_product(const c64& a, const c64& b)
{
    return c64{a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
// Four multiplications with addition, where a product and a sum would take six operations.
__device__ __forceinline__ void add_product(c64& sum, const c64& a, const c64& b)
{
    sum.re = sum.re + a.re * b.re - a.im * b.im;
    sum.im = sum.im + a.re * b.im + a.im * b.re;
}
__device__ __forceinline__ void add_conj_product(c64& sum, const c64& a, const c64& b)
{
    sum.re = sum.re + a.re * b.re + a.im * b.im;
    sum.im = sum.im + a.re * b.im - a.im * b.re;
}
__device__ __forceinline__ void add_product(c64& sum, double a, const c64& b)
{
    sum.re += a * b.re;
    sum.im += a * b.im;
}

// value, or -value where the top bit of `sign` is set.
__device__ __forceinline__ c64 negated_by_top_bit(const c64& value, u32 sign)
{
    return c64{negated_by_top_bit(value.re, sign), negated_by_top_bit(value.im, sign)};
}

// Sums over a warp and a block, as those of doubles.
__device__ __forceinline__ c64 warp_sum(const c64& value) { return c64{warp_sum(value.re), warp_sum(value.im)}; }

template <int THREADS>
__device__ __forceinline__ c64 block_sum(const c64& value, c64* scratch)
{
    double* const parts = (double*)scratch;
    const double re = block_sum<THREADS>(value.re, parts);
    return c64{re, block_sum<THREADS>(value.im, parts)};
}
