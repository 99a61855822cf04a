
// For texts that serve real and complex vectors alike. value_t is the number type of the vectors, sum_t that in which products
// of their elements are added up: double for double and float, c64 for c64 and c32. (sum_t)x[i] and (value_t)sum convert,
// value_t{} and sum_t{} are zero.
__device__ __forceinline__ double conj_of(double a) { return a; }
__device__ __forceinline__ double real_of(double a) { return a; }
__device__ __forceinline__ double imag_of(double) { return 0.0; }
__device__ __forceinline__ double square_of(double a) { return a * a; }                                // |a|^2
__device__ __forceinline__ double conj_product(double a, double b) { return a * b; }                  // conj(a) b
__device__ __forceinline__ void add_product(double& sum, double a, double b) { sum += a * b; }        // sum += a b
__device__ __forceinline__ void add_conj_product(double& sum, double a, double b) { sum += a * b; }   // sum += conj(a) b
