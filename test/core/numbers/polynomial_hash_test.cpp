#include "core/numbers/polynomial_hash.hpp"

#include "core/relational/queries/sketch_hash.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace btml {
namespace {

using relational::hash_bytes;
using relational::SketchHash;

constexpr uint64_t prime = PolynomialHash<2>::prime;

uint64_t multiply(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % prime);
}

// Points at the edges of the reduction modulo 2^61 − 1.
const std::vector<uint64_t> points = {0,         1,         2,          prime - 1,      prime,
                                      prime + 1, 2 * prime, UINT64_MAX, UINT64_MAX - 7, 123456789012345678};

TEST(PolynomialHash, IsThePolynomialOfItsCoefficients) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        const PolynomialHash<3> hash(seed, 5);
        for (uint64_t x : points) {
            uint64_t expected = 0, power = 1;
            for (uint64_t i = 0; i <= 3; i++) {
                expected = (expected + multiply(random_bits(seed, 5, i) % prime, power)) % prime;
                power = multiply(power, x % prime);
            }
            EXPECT_EQ(hash(x), expected) << x;
            EXPECT_LT(hash(x), prime);
        }
    }
}

TEST(PolynomialHash, SeedsAndStreamsAreDifferentFunctions) {
    std::set<uint64_t> values;
    for (uint64_t seed = 0; seed < 30; seed++)
        for (uint64_t stream = 0; stream < 30; stream++) values.insert(PolynomialHash<2>(seed, stream)(17));
    EXPECT_EQ(values.size(), 900U);
}

// Three points, each in one of two halves, and four signs: all combinations equally often over the seeds.
TEST(SketchHash, BucketsAreIndependentByThreesAndSignsByFours) {
    constexpr int seeds = 32'000;
    std::map<int, int> buckets, signs;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        const SketchHash hash(seed, 3);
        int halves = 0, negatives = 0;
        for (uint64_t x = 0; x < 3; x++) halves = 2 * halves + static_cast<int>(hash.bucket(x, 10) / 5);
        for (uint64_t x = 0; x < 4; x++) negatives = 2 * negatives + (hash.is_negative(x) ? 1 : 0);
        buckets[halves]++;
        signs[negatives]++;
    }
    ASSERT_EQ(buckets.size(), 8U);
    ASSERT_EQ(signs.size(), 16U);
    // Five standard deviations.
    for (const auto& [halves, count] : buckets) EXPECT_NEAR(count, seeds / 8, 5 * 60) << halves;
    for (const auto& [negatives, count] : signs) EXPECT_NEAR(count, seeds / 16, 5 * 44) << negatives;
}

TEST(SketchHash, BucketsCoverTheSketch) {
    for (uint32_t size : {1U, 2U, 7U, 2147483647U}) {
        const SketchHash hash(1, 0);
        std::set<uint32_t> seen;
        for (uint64_t x = 0; x < 200; x++) {
            const uint32_t bucket = hash.bucket(x, size);
            ASSERT_LT(bucket, size);
            seen.insert(bucket);
        }
        EXPECT_EQ(seen.size(), std::min<size_t>(size, 200));
    }
}

// Test vectors of FNV-1a's authors.
TEST(SketchHash, BytesAreHashedByFnv1a) {
    EXPECT_EQ(hash_bytes(""), 0xcbf29ce484222325ULL);
    EXPECT_EQ(hash_bytes("a"), 0xaf63dc4c8601ec8cULL);
    EXPECT_EQ(hash_bytes("foobar"), 0x85944171f73967e8ULL);
    EXPECT_NE(hash_bytes("\xff"), hash_bytes("\x7f"));
}

} // namespace
} // namespace btml
