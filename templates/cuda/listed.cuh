// The value of index i in an ascending list, or 0.
__device__ __forceinline__ double listed_element(i64 i, const u64* __restrict__ index, const double* __restrict__ value, int count)
{
    int first = 0, end = count;
    while (first < end) {
        const int middle = (first + end) / 2;
        if ((i64)index[middle] < i) first = middle + 1; else end = middle;
    }
    return first < count && (i64)index[first] == i ? value[first] : 0.0;
}
