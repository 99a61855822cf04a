// The names of CUDA that generated text uses, for a C++17 compiler on a CPU. In: the unmodified kernel text, included
// after this file. Out: calls of the engine (engine.hpp), which runs the threads of a block as fibers.
//
// No standard header is included: kernels may have names such as `random` that those headers take.
// `__shared__` is thread-local storage, because that is the one storage class that C++ takes both after `extern` and
// alone inside a function; the engine finds the arrays by their symbols, poisons them for each block and guards them.
//
// EIGENFORGE_WARP is the width of a warp, defined before this file is included.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __shared__ thread_local __attribute__((aligned(4096)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define EIGENFORGE_HERE int line = __builtin_LINE(), const char* file = __builtin_FILE()
#define EIGENFORGE_INLINE inline __attribute__((always_inline))
#define EIGENFORGE_UNWATCHED __attribute__((noinline, no_sanitize("thread")))

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
struct int2 { int x, y; };
struct uint2 { unsigned x, y; };
struct float2 { float x, y; } __attribute__((aligned(8)));
struct float4 { float x, y, z, w; } __attribute__((aligned(16)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct uint4 { unsigned x, y, z, w; } __attribute__((aligned(16)));
struct double2 { double x, y; } __attribute__((aligned(16)));
struct longlong2 { long long x, y; } __attribute__((aligned(16)));
struct ulonglong2 { unsigned long long x, y; } __attribute__((aligned(16)));
EIGENFORGE_INLINE float2 make_float2(float x, float y) { return {x, y}; }
EIGENFORGE_INLINE float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
EIGENFORGE_INLINE double2 make_double2(double x, double y) { return {x, y}; }
EIGENFORGE_INLINE ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
extern const int warpSize = EIGENFORGE_WARP;
// Waits for all threads of the block.
void eigenforge_barrier(int line, const char* file);
// Waits for the lanes in `mask`. kind 0: __syncwarp, 1: ballot of `bits`, 2: shuffle of `bits` from lane `source`.
unsigned long long eigenforge_warp(int kind, unsigned mask, unsigned long long bits, int source, int line, const char* file);
// Says that the next access is atomic.
void eigenforge_atomic(void* at, unsigned long bytes, int line, const char* file);
// What this thread did, and knows of, comes before what it does next, for every thread of the device.
void eigenforge_fence();
}

EIGENFORGE_INLINE void __syncthreads(EIGENFORGE_HERE) { eigenforge_barrier(line, file); }
EIGENFORGE_INLINE void __syncwarp(unsigned mask = 0xffffffffu >> (32 - EIGENFORGE_WARP), EIGENFORGE_HERE) { eigenforge_warp(0, mask, 0, 0, line, file); }
EIGENFORGE_INLINE void __threadfence() { eigenforge_fence(); }
EIGENFORGE_INLINE void __threadfence_block() {}
EIGENFORGE_INLINE unsigned __ballot_sync(unsigned mask, int predicate, EIGENFORGE_HERE)
{
    return (unsigned)eigenforge_warp(1, mask, predicate != 0, 0, line, file);
}
EIGENFORGE_INLINE int __any_sync(unsigned mask, int predicate, EIGENFORGE_HERE) { return __ballot_sync(mask, predicate, line, file) != 0; }
EIGENFORGE_INLINE int __all_sync(unsigned mask, int predicate, EIGENFORGE_HERE) { return __ballot_sync(mask, predicate, line, file) == mask; }

namespace eigenforge {
EIGENFORGE_INLINE int lane() { return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % EIGENFORGE_WARP); }
template <class T> EIGENFORGE_INLINE T shuffle(unsigned mask, T value, int source, int line, const char* file)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a warp shuffle takes 4 or 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = eigenforge_warp(2, mask, bits, source, line, file);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
}  // namespace eigenforge

// A source outside of the segment of `width` lanes is the lane itself.
template <class T> EIGENFORGE_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = EIGENFORGE_WARP, EIGENFORGE_HERE)
{
    const int segment = eigenforge::lane() & ~(width - 1);
    return eigenforge::shuffle(mask, value, segment + (source & (width - 1)), line, file);
}
template <class T> EIGENFORGE_INLINE T __shfl_xor_sync(unsigned mask, T value, int bits, int width = EIGENFORGE_WARP, EIGENFORGE_HERE)
{
    const int lane = eigenforge::lane(), source = lane ^ bits;
    return eigenforge::shuffle(mask, value, source < (lane & ~(width - 1)) + width ? source : lane, line, file);
}
template <class T> EIGENFORGE_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = EIGENFORGE_WARP, EIGENFORGE_HERE)
{
    const int lane = eigenforge::lane(), source = lane + (int)by;
    return eigenforge::shuffle(mask, value, source < (lane & ~(width - 1)) + width ? source : lane, line, file);
}
template <class T> EIGENFORGE_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = EIGENFORGE_WARP, EIGENFORGE_HERE)
{
    const int lane = eigenforge::lane(), source = lane - (int)by;
    return eigenforge::shuffle(mask, value, source >= (lane & ~(width - 1)) ? source : lane, line, file);
}

EIGENFORGE_INLINE int __popc(unsigned bits) { return __builtin_popcount(bits); }
EIGENFORGE_INLINE int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
EIGENFORGE_INLINE unsigned long long __brevll(unsigned long long bits)
{
    unsigned long long reversed = 0;
    for (int k = 0; k < 64; ++k) reversed |= (bits >> k & 1) << (63 - k);
    return reversed;
}
EIGENFORGE_INLINE unsigned __brev(unsigned bits) { return (unsigned)(__brevll(bits) >> 32); }
EIGENFORGE_INLINE int __ffs(int bits) { return __builtin_ffs(bits); }
EIGENFORGE_INLINE int __ffsll(long long bits) { return __builtin_ffsll(bits); }
EIGENFORGE_INLINE int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz((unsigned)bits); }
EIGENFORGE_INLINE int __clzll(long long bits) { return bits == 0 ? 64 : __builtin_clzll((unsigned long long)bits); }
EIGENFORGE_INLINE long long __double_as_longlong(double x)
{
    long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
EIGENFORGE_INLINE double __longlong_as_double(long long bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
// To the nearest, ties to even, as the host rounds.
EIGENFORGE_INLINE long long __double2ll_rn(double x) { return __builtin_llrint(x); }
EIGENFORGE_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
EIGENFORGE_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
EIGENFORGE_INLINE double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
template <class T> EIGENFORGE_INLINE T __ldg(const T* at) { return *at; }
template <class T> EIGENFORGE_INLINE T __ldcs(const T* at) { return *at; }
template <class T> EIGENFORGE_INLINE void __stcs(T* at, T value) { *at = value; }

// Fibers take turns at barriers and warp operations only, so a plain read and write is atomic.
template <class T> EIGENFORGE_UNWATCHED T atomicAdd(T* at, T value, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(T), line, file);
    const T old = *at;
    *at = old + value;
    return old;
}
template <class T> EIGENFORGE_UNWATCHED T atomicMax(T* at, T value, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(T), line, file);
    const T old = *at;
    *at = old < value ? value : old;
    return old;
}
template <class T> EIGENFORGE_UNWATCHED T atomicOr(T* at, T value, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(T), line, file);
    const T old = *at;
    *at = old | value;
    return old;
}
template <class T> EIGENFORGE_UNWATCHED T atomicMin(T* at, T value, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(T), line, file);
    const T old = *at;
    *at = value < old ? value : old;
    return old;
}
EIGENFORGE_UNWATCHED inline unsigned atomicInc(unsigned* at, unsigned most, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(unsigned), line, file);
    const unsigned old = *at;
    *at = old >= most ? 0 : old + 1;
    return old;
}
template <class T> EIGENFORGE_UNWATCHED T atomicCAS(T* at, T expected, T value, EIGENFORGE_HERE)
{
    eigenforge_atomic(at, sizeof(T), line, file);
    const T old = *at;
    if (old == expected) *at = value;
    return old;
}

// The C library's functions in double, and CUDA's overloads in float.
#define EIGENFORGE_ONE(name) \
    extern "C" double name(double) noexcept; \
    EIGENFORGE_INLINE float name(float x) { return __builtin_##name##f(x); }
#define EIGENFORGE_TWO(name) \
    extern "C" double name(double, double) noexcept; \
    EIGENFORGE_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); }
EIGENFORGE_ONE(sqrt) EIGENFORGE_ONE(fabs) EIGENFORGE_ONE(exp) EIGENFORGE_ONE(exp2) EIGENFORGE_ONE(log) EIGENFORGE_ONE(log2)
EIGENFORGE_ONE(log10) EIGENFORGE_ONE(log1p) EIGENFORGE_ONE(expm1) EIGENFORGE_ONE(sin) EIGENFORGE_ONE(cos) EIGENFORGE_ONE(tan)
EIGENFORGE_ONE(asin) EIGENFORGE_ONE(acos) EIGENFORGE_ONE(atan) EIGENFORGE_ONE(sinh) EIGENFORGE_ONE(cosh) EIGENFORGE_ONE(tanh)
EIGENFORGE_ONE(asinh) EIGENFORGE_ONE(acosh) EIGENFORGE_ONE(atanh) EIGENFORGE_ONE(floor) EIGENFORGE_ONE(ceil)
EIGENFORGE_ONE(trunc) EIGENFORGE_ONE(round) EIGENFORGE_ONE(rint) EIGENFORGE_ONE(cbrt)
EIGENFORGE_TWO(pow) EIGENFORGE_TWO(fmin) EIGENFORGE_TWO(fmax) EIGENFORGE_TWO(atan2) EIGENFORGE_TWO(hypot)
EIGENFORGE_TWO(fmod) EIGENFORGE_TWO(copysign)
extern "C" double fma(double, double, double) noexcept;
extern "C" int abs(int) noexcept;
EIGENFORGE_INLINE long abs(long x) { return x < 0 ? -x : x; }
EIGENFORGE_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
EIGENFORGE_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
EIGENFORGE_INLINE double abs(double x) { return fabs(x); }
EIGENFORGE_INLINE float abs(float x) { return fabs(x); }
EIGENFORGE_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class T> EIGENFORGE_INLINE T min(T a, T b) { return b < a ? b : a; }
template <class T> EIGENFORGE_INLINE T max(T a, T b) { return a < b ? b : a; }

// One entry of the kernel file, as the engine calls it.
namespace eigenforge {
template <class P> constexpr char kind_of = 0;
template <class P> constexpr char kind_of<P*> = 'p';
template <> inline constexpr char kind_of<long long> = 'l';
template <> inline constexpr char kind_of<unsigned long long> = 'L';
template <> inline constexpr char kind_of<int> = 'i';
template <> inline constexpr char kind_of<unsigned> = 'I';
template <> inline constexpr char kind_of<double> = 'd';
template <> inline constexpr char kind_of<float> = 'f';

struct Entry {
    const char* name;
    void (*run)(void**);
    const char* kinds;  // one letter a parameter
};
template <int... I> struct Indices {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> { using Type = Indices<I...>; };

template <auto F> struct Call;
template <class... P, void (*F)(P...)> struct Call<F> {
    static constexpr char kinds[] = {kind_of<P>..., 0};
    template <int... I> __attribute__((no_sanitize("thread"))) static void pass(void** a, Indices<I...>) { F(*(P*)a[I]...); }
    __attribute__((no_sanitize("thread"))) static void run(void** a) { pass(a, typename Count<(int)sizeof...(P)>::Type()); }
};
}  // namespace eigenforge
