#include "core/metrics/ranked_rows.hpp"

#include "caught.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace btml::metrics {
namespace {

using test::Caught;
using test::caught;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Example {
    double relevance, score, weight = 1;
};

double uniform(uint64_t seed, uint64_t stream, uint64_t i) {
    return static_cast<double>(random_bits(seed, stream, i) >> 11) * 0x1p-53;
}

// Few seeds have no equal scores, some have only one class, and some weights are 0.
std::vector<Example> random_examples(uint64_t seed, bool weighted) {
    std::vector<Example> examples(1 + seed % 40);
    const double scores = seed % 3 == 0 ? 1e9 : 2 + static_cast<double>(seed % 10);
    for (size_t i = 0; i < examples.size(); i++) {
        examples[i].relevance = uniform(seed, 0, i) < 0.4;
        examples[i].score = std::floor(scores * uniform(seed, 1, i)) - 1;
        if (examples[i].score == 0 && i % 2 == 0) examples[i].score = -0.0;
        if (examples[i].score == 1) examples[i].score = infinity;
        if (weighted) examples[i].weight = i % 7 == 3 ? 0 : 2 * uniform(seed, 2, i);
    }
    return examples;
}

// Over all pairs.
std::optional<double> plain_auc(const std::vector<Example>& examples) {
    double pairs = 0, right = 0;
    for (const Example& a : examples)
        for (const Example& b : examples) {
            if (a.relevance <= b.relevance) continue;
            pairs += a.weight * b.weight;
            right += a.weight * b.weight * (a.score > b.score ? 1 : a.score == b.score ? 0.5 : 0);
        }
    return pairs > 0 ? std::optional(right / pairs) : std::nullopt;
}

// Precision at each row's score, over the positive rows.
std::optional<double> plain_average_precision(const std::vector<Example>& examples) {
    double positives = 0, sum = 0;
    for (const Example& a : examples) {
        if (a.relevance == 0) continue;
        double chosen = 0, right = 0;
        for (const Example& b : examples) {
            if (b.score < a.score) continue;
            chosen += b.weight;
            right += b.weight * b.relevance;
        }
        positives += a.weight;
        if (a.weight > 0) sum += a.weight * right / chosen;
    }
    return positives > 0 ? std::optional(sum / positives) : std::nullopt;
}

double discounted(const std::vector<double>& gains, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < std::min(k, gains.size()); i++) sum += gains[i] / std::log2(static_cast<double>(i) + 2);
    return sum;
}

// Equal scores: the mean over all their orders, of which each gain has each rank equally often.
std::optional<double> plain_ndcg(std::vector<Example> examples, size_t k) {
    std::sort(examples.begin(), examples.end(), [](const Example& a, const Example& b) { return a.score > b.score; });
    std::vector<double> gains, best;
    for (const Example& a : examples) {
        double sum = 0, count = 0;
        for (const Example& b : examples)
            if (b.score == a.score) sum += std::pow(2, b.relevance) - 1, count++;
        gains.push_back(sum / count);
        best.push_back(std::pow(2, a.relevance) - 1);
    }
    std::sort(best.rbegin(), best.rend());
    return best[0] > 0 ? std::optional(discounted(gains, k) / discounted(best, k)) : std::nullopt;
}

class Ranked {
  public:
    Ranked() : rows(quiet.memory()) {}
    void add(const Example& example, bool weighted) {
        weighted ? rows.add(example.relevance, example.score, example.weight)
                 : rows.add(example.relevance, example.score);
    }
    std::vector<std::byte> flat() const {
        std::vector<std::byte> bytes(rows.flat_size());
        rows.flatten(bytes.data());
        return bytes;
    }
    QuietContext quiet;
    RankedRows rows;
};

void expect_near(std::optional<double> value, std::optional<double> expected, uint64_t seed) {
    ASSERT_EQ(value.has_value(), expected.has_value()) << seed;
    EXPECT_NEAR(value.value_or(0), expected.value_or(0), 1e-13) << seed;
}

TEST(RankedRows, AgreeWithTheirDefinitions) {
    for (uint64_t seed = 0; seed < 1'000; seed++)
        for (const bool weighted : {false, true}) {
            Ranked ranked;
            const std::vector<Example> examples = random_examples(seed, weighted);
            for (const Example& example : examples) ranked.add(example, weighted);
            expect_near(ranked.rows.auc(ranked.quiet), plain_auc(examples), seed);
            expect_near(ranked.rows.average_precision(ranked.quiet), plain_average_precision(examples), seed);
        }
}

// Products of two weights need not be within the range of doubles.
TEST(RankedRows, AucDoesNotDependOnTheUnitOfWeights) {
    for (const double unit : {1e-250, 1e-150, 1.0, 1e150, 1e250}) {
        Ranked ranked;
        for (Example example : {Example{1, 3, 2}, Example{0, 2, 1}, Example{1, 1, 1}, Example{0, 1, 4}})
            ranked.rows.add(example.relevance, example.score, example.weight * unit);
        EXPECT_NEAR(*ranked.rows.auc(ranked.quiet), 12.0 / 15, 1e-15) << unit;
    }
}

TEST(RankedRows, NdcgAgreesWithItsDefinition) {
    for (uint64_t seed = 0; seed < 1'000; seed++) {
        Ranked ranked;
        std::vector<Example> examples = random_examples(seed, false);
        for (size_t i = 0; i < examples.size(); i++) {
            examples[i].relevance *= std::floor(5 * uniform(seed, 3, i)) + (seed % 2 == 0 ? 0 : uniform(seed, 4, i));
            const int k = 1 + static_cast<int>(seed % 50);
            ranked.rows.set_k(k);
            ranked.add(examples[i], false);
        }
        expect_near(ranked.rows.ndcg(ranked.quiet), plain_ndcg(examples, 1 + seed % 50), seed);
    }
}

TEST(RankedRows, OrderSplitsAndBytesDoNotMatter) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        const bool weighted = seed % 2 == 0;
        const std::vector<Example> examples = random_examples(seed, weighted);
        std::vector<size_t> order(examples.size());
        std::iota(order.begin(), order.end(), 0);
        Ranked one, all;
        std::vector<Ranked> parts(1 + seed % 4);
        for (const size_t i : order) one.add(examples[i], weighted);
        (void)one.rows.auc(one.quiet); // which sorts them
        for (size_t i = order.size() - 1; i > 0; i--) std::swap(order[i], order[random_bits(seed, 50, i) % (i + 1)]);
        for (const size_t i : order) parts[random_bits(seed, 51, i) % parts.size()].add(examples[i], weighted);
        for (const Ranked& part : parts)
            all.rows.append(RankedRows::parse(part.flat(), all.quiet.memory(), all.quiet), all.quiet);
        EXPECT_EQ(all.rows.rows(), examples.size());
        EXPECT_EQ(all.rows.auc(all.quiet), one.rows.auc(one.quiet)) << seed; // to the last bit
        EXPECT_EQ(all.rows.average_precision(all.quiet), one.rows.average_precision(one.quiet)) << seed;
        EXPECT_EQ(all.rows.ndcg(all.quiet), one.rows.ndcg(one.quiet)) << seed;
    }
}

TEST(RankedRows, PerfectAndOppositeRanks) {
    Ranked perfect, opposite;
    for (int i = 0; i < 50'000; i++) {
        perfect.rows.add(i % 3 == 0, i % 3 == 0 ? 1 + i : -i);
        opposite.rows.add(i % 3 == 0, i % 3 == 0 ? -1 - i : i);
    }
    EXPECT_EQ(perfect.rows.auc(perfect.quiet), 1);
    EXPECT_EQ(perfect.rows.average_precision(perfect.quiet), 1);
    EXPECT_EQ(perfect.rows.ndcg(perfect.quiet), 1);
    EXPECT_EQ(opposite.rows.auc(opposite.quiet), 0);
}

TEST(RankedRows, ErrorsNameTheArgument) {
    Ranked ranked;
    EXPECT_EQ(ranked.rows.auc(ranked.quiet), std::nullopt);
    const auto refusal = [&](double relevance, double score) {
        const Caught error = caught([&] { ranked.rows.add(relevance, score); });
        EXPECT_EQ(error.code, ErrorCode::out_of_range);
        return error.message;
    };
    EXPECT_EQ(refusal(1, std::nan("")), "argument \"score\" must be a number, not NaN");
    EXPECT_EQ(refusal(-1, 1), "argument \"relevance\" must be from 0 to 31, not -1");
    EXPECT_EQ(refusal(31.5, 1), "argument \"relevance\" must be from 0 to 31, not 31.5");
    EXPECT_EQ(refusal(std::nan(""), 1), "argument \"relevance\" must be from 0 to 31, not NaN");
    for (const double weight : {-1.0, infinity, std::nan("")})
        EXPECT_EQ(caught([&] { ranked.rows.add(1, 1, weight); }).message,
                  "argument \"weight\" must be finite and not negative, not " + shortest(weight));
    EXPECT_EQ(caught([&] { ranked.rows.set_k(0); }).message, "argument \"k\" must be at least 1, not 0");
    ranked.rows.set_k(3);
    ranked.rows.add(1, 1);
    ranked.rows.set_k(3);
    const Caught other = caught([&] { ranked.rows.set_k(4); });
    EXPECT_EQ(other.code, ErrorCode::invalid_argument);
    EXPECT_EQ(other.message, "k must be the same in every row of an aggregate");
    EXPECT_EQ(other.detail, "One row has 3, another 4.");
    EXPECT_EQ(caught([&] { ranked.rows.add(1, 1, 1); }).message, "either all rows have weights or none has");
    Ranked weighted;
    weighted.rows.add(1, 1, 2);
    EXPECT_TRUE(caught([&] { weighted.rows.append(ranked.rows, weighted.quiet); }).thrown);
}

TEST(RankedRows, CountTheirMemory) {
    QuietContext small(1, 100'000);
    RankedRows rows(small.memory());
    EXPECT_EQ(caught([&] {
                  for (int i = 0; i < 10'000; i++) rows.add(i % 2, i);
              }).code,
              ErrorCode::memory_limit);
    EXPECT_GE(16 * rows.rows(), 40'000U); // growth doubles
}

TEST(RankedRows, CanBeCancelled) {
    Ranked ranked;
    for (int i = 0; i < 300'000; i++) ranked.rows.add(i % 2, static_cast<double>(random_bits(1, 2, i)));
    const std::optional<double> value = ranked.rows.auc(ranked.quiet);
    Ranked again;
    for (int i = 0; i < 300'000; i++) again.rows.add(i % 2, static_cast<double>(random_bits(1, 2, i)));
    test::ImpatientContext impatient(3);
    EXPECT_THROW(again.rows.auc(impatient), Cancelled);
    EXPECT_TRUE(value.has_value());
}

TEST(RankedRows, HostileBytesAreRefused) {
    QuietContext quiet;
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        Ranked ranked;
        for (const Example& example : random_examples(seed, seed % 2 == 0)) ranked.add(example, seed % 2 == 0);
        std::vector<std::byte> bytes = ranked.flat();
        if (seed % 3 == 0)
            bytes.resize(random_bits(seed, 60, 0) % bytes.size());
        else
            bytes[random_bits(seed, 61, 0) % std::min<size_t>(bytes.size(), 40)] ^=
                static_cast<std::byte>(1 + random_bits(seed, 62, 0) % 255);
        const Caught error = caught([&] {
            RankedRows rows = RankedRows::parse(bytes, quiet.memory(), quiet);
            rows.append(RankedRows::parse(bytes, quiet.memory(), quiet), quiet);
            (void)rows.auc(quiet), (void)rows.average_precision(quiet), (void)rows.ndcg(quiet);
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model || error.code == ErrorCode::out_of_range)
            << error.message;
        EXPECT_TRUE(seed % 3 != 0 || error.code == ErrorCode::corrupt_model);
    }
}

} // namespace
} // namespace btml::metrics
