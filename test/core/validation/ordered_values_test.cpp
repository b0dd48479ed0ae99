// Parts of ordered values against their definition, on random data.
#include "core/base/run_context.hpp"
#include "core/numbers/rng.hpp"
#include "core/validation/ordered_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace btml::validation {
namespace {

// Tries every value for each part.
std::vector<double> plain_parts(const std::map<double, uint64_t>& rows, const std::vector<double>& shares) {
    std::vector<double> values, before, parts;
    double all = 0;
    for (const auto& [value, count] : rows) {
        values.push_back(value);
        before.push_back(all);
        all += static_cast<double>(count);
    }
    size_t next = 1;
    for (size_t i = 0; i < shares.size(); i++) {
        size_t best = next;
        for (size_t value = next; value + shares.size() - i <= values.size(); value++)
            if (std::abs(before[value] - shares[i] * all) <= std::abs(before[best] - shares[i] * all)) best = value;
        parts.push_back(values[best]);
        next = best + 1;
    }
    return parts;
}

TEST(OrderedValues, MakePartsNearestToTheirShares) {
    size_t tried = 0, uneven = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        QuietContext context;
        RandomStream random(seed, 1);
        const size_t rows = 1 + random.below(60), distinct = 1 + random.below(30), parts = 1 + random.below(8);
        Buffer<double> values(context.memory(), "a test", rows);
        Buffer<uint64_t> counts(context.memory(), "a test", rows);
        std::map<double, uint64_t> expected;
        for (size_t row = 0; row < rows; row++) {
            values[row] =
                std::ldexp(static_cast<double>(random.below(distinct)) - 10, static_cast<int>(seed % 60) - 30);
            counts[row] = random.below(seed % 2 ? 2 : 40);
            if (counts[row] > 0) expected[values[row]] += counts[row];
        }
        const OrderedValues ordered(values, counts, context);
        ASSERT_EQ(ordered.size(), expected.size());
        if (expected.size() <= parts) continue;
        std::vector<double> shares;
        for (size_t part = 1; part <= parts; part++)
            shares.push_back(static_cast<double>(part) / static_cast<double>(parts + 1));
        const std::vector<double> found = ordered.parts(shares);
        EXPECT_EQ(found, plain_parts(expected, shares)) << seed;
        EXPECT_GT(found[0], expected.begin()->first);
        for (size_t part = 1; part < parts; part++) EXPECT_GT(found[part], found[part - 1]);
        tried++;
        uneven += expected.size() < 2 * parts;
    }
    EXPECT_GT(tried, 1000u);
    EXPECT_GT(uneven, 100u);
}

} // namespace
} // namespace btml::validation
