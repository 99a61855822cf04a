// Uniform in [-1, 1): splitmix64 (Steele, Lea, Flood 2014) of the index, its start moved by the seed; top 53 bits.
__device__ __forceinline__ value_t random_start(i64 i, u64 seed)
{
    u64 z = (seed ^ 0x5851f42d4c957f2dull) * 0x2545f4914f6cdd1dull + ((u64)i + 1ull) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (value_t)((double)(z >> 11) * (1.0 / 4503599627370496.0) - 1.0);
}
