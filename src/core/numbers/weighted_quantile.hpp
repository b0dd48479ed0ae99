// Quantiles of weighted numbers that are found by passes over the rows, in little memory.
#pragma once

#include "core/base/threads.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace btml {

// Maps doubles to integers in the same order, and back.
inline int64_t ordered_bits(double x) {
    const auto bits = std::bit_cast<int64_t>(x + 0.0); // −0 is 0
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
}
inline double from_ordered_bits(int64_t bits) {
    return std::bit_cast<double>(bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits);
}

// Counts the weight of keys by 11 bits of them.
struct DigitCounts : std::array<int64_t, 2048> {
    static constexpr int bits = 11;

    DigitCounts& operator+=(const DigitCounts& other) {
        for (size_t i = 0; i < size(); i++) (*this)[i] += other[i];
        return *this;
    }
};

struct WeightedKey {
    uint64_t key;
    int64_t weight;
};

// Keys of one digit, by worker, until they are too many.
struct FewKeys : std::vector<WeightedKey> {
    static constexpr size_t most = 32768;

    FewKeys& operator+=(const FewKeys& other) {
        insert(end(), other.begin(), other.end());
        return *this;
    }
};

// Returns the least key with Σ weight of keys up to it ≥ wanted.
inline uint64_t quantile_of(FewKeys keys, int64_t wanted) {
    std::sort(keys.begin(), keys.end(), [](const WeightedKey& a, const WeightedKey& b) { return a.key < b.key; });
    size_t i = 0;
    for (; i < keys.size() && keys[i].weight < wanted; i++) wanted -= keys[i].weight;
    if (i == keys.size()) refuse_message(); // processes disagree
    return keys[i].key;
}

// Returns the least key with Σ weight of keys up to it ≥ alpha · Σ weight, as percentile_disc does. Keys are below
// 2^key_bits in magnitude, key_bits ≤ 63. for_each_key(visit) calls visit(key, weight, worker) for every row, whole
// numbers both: once or twice for keys that are spread out, and at most once for every 11 bits. Some row must have
// positive weight.
template <class ForEachKey>
int64_t weighted_quantile(double alpha, int key_bits, size_t workers, Peers* peers, const ForEachKey& for_each_key) {
    const uint64_t zero = uint64_t{1} << key_bits; // keys are shifted by it, so that they are not negative
    const auto shifted = [=](int64_t key) { return static_cast<uint64_t>(key) + zero; };
    // What a double rounds of a total does not decide a tie.
    const auto wanted_of = [=](int64_t total) {
        const auto all = static_cast<double>(total);
        return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(alpha * all - all * 0x1p-52)), 1, total);
    };
    uint64_t known = 0; // the digits that were found
    int64_t wanted = 0; // of the weight of keys that have them
    for (int shift = std::max(0, key_bits + 1 - DigitCounts::bits), above = 64;;) {
        const uint64_t mask = above >= 64 ? 0 : ~uint64_t{0} << above;
        TeamSums<DigitCounts> counts_by_worker(workers, peers);
        for_each_key([&](int64_t key, int64_t weight, int worker) {
            const uint64_t bits = shifted(key);
            const bool counts = (bits & mask) == known;
            counts_by_worker[worker][bits >> shift & (DigitCounts().size() - 1)] += counts ? weight : 0;
        });
        const DigitCounts counts = counts_by_worker.total();
        if (above >= 64) {
            int64_t total = 0;
            for (const int64_t count : counts) total += count;
            wanted = wanted_of(total);
        }
        uint64_t digit = 0;
        for (; digit < counts.size() && counts[digit] < wanted; digit++) wanted -= counts[digit];
        if (digit == counts.size()) refuse_message();
        known |= digit << shift;
        if (shift == 0) return static_cast<int64_t>(known - zero);
        above = shift;
        shift = std::max(0, shift - DigitCounts::bits);
        if (counts[digit] > static_cast<int64_t>(FewKeys::most)) continue; // weights are at least 1
        TeamSums<FewKeys> keys(workers, peers);
        for_each_key([&](int64_t key, int64_t weight, int worker) {
            if (shifted(key) >> above << above == known) keys[worker].push_back({shifted(key), weight});
        });
        return static_cast<int64_t>(quantile_of(keys.total(), wanted) - zero);
    }
}

template <class ForEachKey>
int64_t weighted_quantile(double alpha, int key_bits, const ThreadTeam& team, const ForEachKey& for_each_key) {
    return weighted_quantile(alpha, key_bits, static_cast<size_t>(team.size()), team.peers(), for_each_key);
}

} // namespace btml
