// Counter-based random numbers: a value is a pure function of (seed, stream, counter), so it does not depend on the
// order of evaluation or on the number of threads.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace btml {

// A bijection of 64 bits with full avalanche: the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
constexpr uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

constexpr uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t counter) {
    return mix64(mix64(mix64(seed) ^ stream) ^ counter);
}

// Uniform on [0, 1).
constexpr double random_unit(uint64_t seed, uint64_t stream, uint64_t counter) {
    return static_cast<double>(random_bits(seed, stream, counter) >> 11) * 0x1.0p-53;
}

// Standard normal numbers: two independent ones for each pair of counters (Box, Muller: A Note on the Generation of
// Random Normal Deviates, 1958), of which number `counter` takes the first if it is even.
inline double random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
    const double radius = std::sqrt(-2 * std::log1p(-random_unit(seed, stream, counter | 1)));
    const double angle = 2 * std::numbers::pi * random_unit(seed, stream, counter & ~uint64_t{1});
    return radius * (counter % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

// The numbers of one stream, one after another.
class RandomStream {
  public:
    RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

    double unit() { return random_unit(seed_, stream_, next_++); }
    // A number from 0 to count − 1, for counts up to 2^32.
    size_t below(size_t count) {
        return static_cast<size_t>((random_bits(seed_, stream_, next_++) >> 32) * static_cast<uint64_t>(count) >> 32);
    }

  private:
    uint64_t seed_, stream_, next_ = 0;
};

} // namespace btml
