#include "core/kernel/query_sums.hpp"

#include "caught.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace btml::kernel {
namespace {

using test::Caught;
using test::caught;

struct Key {
    std::vector<double> x;
    double weight;
};

// Keys and queries near each other, of weights of many magnitudes and both signs.
struct RandomSums {
    explicit RandomSums(uint64_t seed) : random(seed, 1) {
        dimensions = 1 + random.below(5);
        kernel = pairwise::Kernel{static_cast<uint8_t>(seed % pairwise::kernel_names.size())};
        bandwidth = 0.05 + 2 * random.unit();
        queries.resize(dimensions * (1 + random.below(70)));
        for (double& x : queries) x = random.unit();
        keys.resize(1 + random.below(40));
        for (Key& key : keys) {
            for (size_t k = 0; k < dimensions; k++) key.x.push_back(random.unit());
            key.weight = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(200)) - 100);
        }
    }
    QuerySet set() const { return {queries, bandwidth, kernel}; }
    QuerySums sums(size_t first, size_t last) {
        QuerySums sums(context.memory());
        for (size_t i = first; i < last; i++) sums.add(keys[i].x, keys[i].weight, set());
        return sums;
    }
    std::vector<std::byte> flat(const QuerySums& sums) const {
        std::vector<std::byte> bytes(sums.flat_size());
        sums.flatten(bytes.data());
        return bytes;
    }

    QuietContext context;
    RandomStream random;
    size_t dimensions;
    pairwise::Kernel kernel;
    double bandwidth;
    std::vector<double> queries;
    std::vector<Key> keys;
};

TEST(QuerySums, AddUpTheKernelOfEveryPair) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        RandomSums made(seed);
        const pairwise::KernelFacts& kernel = pairwise::facts_of(made.kernel);
        const std::vector<double> values = made.sums(0, made.keys.size()).values();
        ASSERT_EQ(values.size(), made.queries.size() / made.dimensions);
        for (size_t q = 0; q < values.size(); q++) {
            double sum = 0, magnitude = 0;
            for (const Key& key : made.keys) {
                std::vector<double> a, b; // in bandwidths times unit(), as value() takes them
                for (size_t k = 0; k < made.dimensions; k++) {
                    a.push_back(made.queries[q * made.dimensions + k] / made.bandwidth * kernel.unit());
                    b.push_back(key.x[k] / made.bandwidth * kernel.unit());
                }
                const double value = key.weight * kernel.value(kernel.sum(a.data(), b.data(), made.dimensions));
                sum += value;
                magnitude += std::abs(key.weight);
            }
            EXPECT_NEAR(values[q], sum, 1e-11 * magnitude) << kernel.name << " seed " << seed;
        }
    }
}

TEST(QuerySums, AreTheSameBitsInAnyOrderAndAnyParts) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        RandomSums made(seed + 1000);
        const std::vector<std::byte> expected = made.flat(made.sums(0, made.keys.size()));
        for (size_t i = made.keys.size(); i > 1; i--) std::swap(made.keys[i - 1], made.keys[made.random.below(i)]);
        const size_t middle = made.random.below(made.keys.size() + 1);
        QuerySums sums = made.sums(middle, made.keys.size());
        const std::vector<std::byte> other = made.flat(made.sums(0, middle));
        sums.append(QuerySums::parse(other, made.context.memory(), made.context));
        EXPECT_EQ(made.flat(sums), expected);
    }
}

TEST(QuerySums, RefuseWhatDoesNotFit) {
    RandomSums made(5);
    QuerySums sums = made.sums(0, 1);
    const Key& key = made.keys[0];
    const auto add = [&](std::vector<double> x, double weight, const QuerySet& set) {
        return [&, x, weight, set] { sums.add(x, weight, set); };
    };
    std::vector<double> longer = key.x, infinite = key.x, changed = made.queries;
    longer.push_back(1);
    infinite[0] = HUGE_VAL;
    changed[0]++;
    const std::vector<std::byte> before = made.flat(sums);
    EXPECT_EQ(caught(add(longer, 1, made.set())).code, ErrorCode::invalid_argument);
    EXPECT_EQ(caught(add(infinite, 1, made.set())).code, ErrorCode::out_of_range);
    EXPECT_EQ(caught(add(key.x, std::nan(""), made.set())).code, ErrorCode::out_of_range);
    EXPECT_EQ(caught(add(key.x, 1, {changed, made.bandwidth, made.kernel})).code, ErrorCode::invalid_argument);
    EXPECT_EQ(caught(add(key.x, 1, {made.queries, 2 * made.bandwidth, made.kernel})).code, ErrorCode::invalid_argument);
    EXPECT_EQ(made.flat(sums), before);
}

// Every byte of a state changed: it is refused, or stands for another state.
TEST(QuerySums, ParseAnyBytes) {
    RandomSums made(9);
    const std::vector<std::byte> bytes = made.flat(made.sums(0, made.keys.size()));
    int refused = 0;
    for (size_t place = 0; place < bytes.size(); place++) {
        std::vector<std::byte> other = bytes;
        other[place] ^= std::byte{0xff};
        try {
            EXPECT_EQ(made.flat(QuerySums::parse(other, made.context.memory(), made.context)), other);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::corrupt_model);
            refused++;
        }
        other.resize(place);
        if (place == 0) continue; // no bytes are no rows
        EXPECT_THROW(QuerySums::parse(other, made.context.memory(), made.context), Error);
    }
    EXPECT_GT(refused, 0);
}

} // namespace
} // namespace btml::kernel
