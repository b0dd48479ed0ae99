// The sums that decide a split, exact integers: adding and subtracting them is associative, so histograms come out the
// same in any order of rows and on any number of threads.
#pragma once

#include <bit>
#include <cstdint>

namespace btml::boosting {

// Signed and unsigned 128-bit integers; __extension__ keeps -Wpedantic quiet about them.
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

inline int bit_width(uint128 x) {
    const auto high = static_cast<uint64_t>(x >> 64);
    return high ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(x));
}

struct alignas(16) Stats {
    int64_t sum = 0;   // of weight · residual, in units of the residual grid
    int64_t count = 0; // of weights, in units of the weight grid (rows, when there are no weights)

    Stats& operator+=(Stats other) {
        sum += other.sum;
        count += other.count;
        return *this;
    }
    Stats& operator-=(Stats other) {
        sum -= other.sum;
        count -= other.count;
        return *this;
    }
    friend Stats operator+(Stats a, Stats b) { return a += b; }
    friend Stats operator-(Stats a, Stats b) { return a -= b; }
};

} // namespace btml::boosting
