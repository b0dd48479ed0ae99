// Quantiles of weighted numbers that are found by passes over the rows, in no memory of their own.
#pragma once

#include "core/base/threads.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace btml::boosting {

// Maps doubles to integers in the same order, and back.
inline int64_t ordered_bits(double x) {
    const auto bits = std::bit_cast<int64_t>(x + 0.0); // −0 is 0
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
}
inline double from_ordered_bits(int64_t bits) {
    return std::bit_cast<double>(bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits);
}

// Returns the least key with Σ weight of keys up to it ≥ alpha · Σ weight, as percentile_disc does.
// for_each_key(visit) calls visit(key, weight, worker) for every row, whole numbers both; it is called once for every
// 11 bits of keys. Some row must have positive weight.
template <class ForEachKey>
int64_t weighted_quantile(double alpha, int workers, const ForEachKey& for_each_key) {
    constexpr int digit_bits = 11, digits = 6;
    constexpr uint64_t sign = uint64_t{1} << 63;
    struct Counts : std::array<int64_t, size_t{1} << digit_bits> {
        Counts& operator+=(const Counts& other) {
            for (size_t i = 0; i < size(); i++) (*this)[i] += other[i];
            return *this;
        }
    };
    uint64_t known = 0; // the digits that were found
    int64_t wanted = 0; // of the weight of keys that have them
    for (int digit = digits; digit-- > 0;) {
        const int shift = digit * digit_bits;
        const uint64_t above = digit + 1 == digits ? 0 : ~uint64_t{0} << (shift + digit_bits);
        WorkerSums<Counts> by_worker(workers);
        for_each_key([&](int64_t key, int64_t weight, int worker) {
            const uint64_t bits = static_cast<uint64_t>(key) ^ sign;
            if ((bits & above) == known) by_worker[worker][bits >> shift & (Counts().size() - 1)] += weight;
        });
        const Counts counts = by_worker.total();
        if (digit + 1 == digits) {
            int64_t total = 0;
            for (const int64_t count : counts) total += count;
            wanted = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(alpha * static_cast<double>(total))), 1, total);
        }
        uint64_t next = 0;
        for (; counts[next] < wanted; next++) wanted -= counts[next];
        known |= next << shift;
    }
    return static_cast<int64_t>(known ^ sign);
}

} // namespace btml::boosting
