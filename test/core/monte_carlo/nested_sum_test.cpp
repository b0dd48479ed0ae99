#include "core/monte_carlo/nested_sum.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::monte_carlo {
namespace {

// A number as the total of a sum.
struct Number {
    double value = 0;

    void clear() { value = 0; }
    void add(const Number& other, double factor) { value += factor * other.value; }
};

constexpr size_t points = 60;

double point(size_t i) {
    return random_unit(4, 2, i);
}
double nearness(size_t i, size_t j) {
    return std::exp(-3 * std::abs(point(i) - point(j)));
}

// All others, in one stratum, of which a few are drawn.
void others(int effort, std::vector<Stratum>& strata) {
    strata.push_back({0, points, size_t{8} << effort});
}

// (1/n) Σ_i (Σ_{j ≠ i} exp(−3|x_i − x_j|))² + x_i.
struct ToyScore {
    struct Constants {
        size_t i;
    };
    using Total = Number;

    Constants constants(size_t i) const { return {i}; }
    void index_set(Constants&, int effort, std::vector<Stratum>& strata) const { others(effort, strata); }
    void add_term(const Constants& c, size_t j, double factor, Number& total) const {
        if (j != c.i) total.value += factor * nearness(c.i, j);
    }
    double term(const Constants& c, const Number& total) const { return total.value * total.value + point(c.i); }
};

double exact_toy() {
    double score = 0;
    for (size_t i = 0; i < points; i++) {
        double sum = 0;
        for (size_t j = 0; j < points; j++)
            if (j != i) sum += nearness(i, j);
        score += (sum * sum + point(i)) / points;
    }
    return score;
}

template <class Score>
Draw draw_term(const Score& score, size_t index, int effort, uint64_t seed, Workspace<Score>& work) {
    sample_term(score, index, effort, seed, work);
    return term_of(score, work);
}

OuterStrata one_stratum(size_t rows, MemoryBudget& budget) {
    OuterStrata strata(budget);
    for (size_t i = 0; i < rows; i++) strata.rows.push_back(static_cast<uint32_t>(i));
    strata.borders.push_back(rows);
    return strata;
}

TEST(NestedSum, HasNoBias) {
    ToyScore score;
    Workspace<ToyScore> work;
    const double exact = exact_toy();
    double sum = 0, squares = 0, noise = 0;
    constexpr int repetitions = 300;
    for (uint64_t seed = 0; seed < repetitions; seed++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < points; i++) {
            const Draw draw = draw_term(score, i, 0, seed, work);
            mean += draw.value / points;
            variance += draw.noise / points / points;
        }
        sum += mean / repetitions;
        squares += (mean - exact) * (mean - exact) / repetitions;
        noise += variance / repetitions;
    }
    EXPECT_NEAR(sum, exact, 4 * std::sqrt(squares / repetitions));
    // Without the correction, the square of a noisy sum is too large by its variance: by several times that error.
    EXPECT_LT(std::abs(sum - exact), 0.01 * exact);
    EXPECT_NEAR(noise / squares, 1, 0.25); // what the draws say of their own error
}

TEST(NestedSum, ExactWhereEffortTakesAllTerms) {
    ToyScore score;
    Workspace<ToyScore> work;
    double mean = 0;
    for (size_t i = 0; i < points; i++) {
        const Draw draw = draw_term(score, i, 4, 1, work);
        EXPECT_NEAR(draw.noise, 0, 1e-18);
        EXPECT_EQ(work.terms, points);
        mean += draw.value / points;
    }
    EXPECT_NEAR(mean / exact_toy(), 1, 1e-12);
}

TEST(NestedSum, SamplerStopsWithinTheErrorAskedFor) {
    QuietContext context(2);
    ThreadTeam team(context);
    const ToyScore score;
    const OuterStrata strata = one_stratum(points, context.memory());
    const double exact = exact_toy();
    int misses = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        SamplingOptions options;
        options.epsilon = 0.02;
        options.min_samples = 20;
        options.seed = seed;
        MeanSampler<ToyScore> sampler(score, strata, options, team);
        ASSERT_TRUE(sampler.run());
        if (std::abs(sampler.result().mean - exact) > options.epsilon * exact) misses++;
    }
    MeanSampler<ToyScore> impatient(score, strata, {.epsilon = 1e-9}, team);
    EXPECT_FALSE(impatient.run(1'000));
    EXPECT_LE(misses, 5); // 40 × 0.05 = 2 expected; more than 5 with probability 0.014
}

// Numerator and denominator of a ratio near 1: with samples in common, or each with its own.
template <int part>
struct Ratio {
    struct Constants {};
    using Total = Number;

    void index_set(Constants&, int effort, std::vector<Stratum>& strata) const { others(effort, strata); }
    void add_term(const Constants&, size_t i, double factor, Number& total) const {
        total.value += factor * std::exp(2 * point(i)) * (part == 0 ? 1 + 0.05 * std::sin(30 * point(i)) : 1);
    }
};
struct Both {
    struct Constants {};
    struct Total {
        Number first, second;

        void clear() { first.clear(), second.clear(); }
        void add(const Total& other, double factor) {
            first.add(other.first, factor), second.add(other.second, factor);
        }
    };

    void index_set(Constants&, int effort, std::vector<Stratum>& strata) const { others(effort, strata); }
    void add_term(const Constants&, size_t i, double factor, Total& total) const {
        Ratio<0>().add_term({}, i, factor, total.first);
        Ratio<1>().add_term({}, i, factor, total.second);
    }
};
template <class Sum>
struct RatioOf : Sum {
    typename Sum::Constants constants(size_t) const { return {}; }
    double term(const typename Sum::Constants&, const typename Sum::Total& total) const {
        return total.first.value / total.second.value;
    }
};

template <class Score>
double mean_noise(const Score& score) {
    Workspace<Score> work;
    double noise = 0;
    for (uint64_t seed = 0; seed < 200; seed++) noise += draw_term(score, 0, 0, seed, work).noise;
    return noise;
}

// Makes one sum of two base sums, over the disjoint union of their index sets, so that each has samples of its own:
// where a covariance of the two would not help.
template <class First, class Second>
class Independent {
  public:
    struct Constants {
        typename First::Constants first;
        typename Second::Constants second;
    };
    struct Total {
        typename First::Total first;
        typename Second::Total second;

        void clear() { first.clear(), second.clear(); }
        void add(const Total& other, double factor) {
            first.add(other.first, factor), second.add(other.second, factor);
        }
    };

    Independent(First first, Second second) : first_(std::move(first)), second_(std::move(second)) {}

    void index_set(Constants& c, int effort, std::vector<Stratum>& strata) const {
        first_.index_set(c.first, effort, strata);
        const size_t firsts = strata.size();
        second_.index_set(c.second, effort, strata);
        for (size_t s = firsts; s < strata.size(); s++) strata[s].begin += offset, strata[s].end += offset;
    }
    void add_term(const Constants& c, size_t index, double factor, Total& total) const {
        if (index < offset)
            first_.add_term(c.first, index, factor, total.first);
        else
            second_.add_term(c.second, index - offset, factor, total.second);
    }

  private:
    static constexpr size_t offset = size_t{1} << 48;

    First first_;
    Second second_;
};

TEST(NestedSum, CorrelatedSamplesLowerTheVarianceOfARatio) {
    const RatioOf<Both> correlated;
    const RatioOf<Independent<Ratio<0>, Ratio<1>>> independent{{{}, {}}};
    EXPECT_LT(5 * mean_noise(correlated), mean_noise(independent));
}

// Weights of which few draws meet one, so that a half of a sample may have none; the nearest is in every widened one.
struct SparseScore {
    struct Constants {
        bool widened = false;
    };
    using Total = Number;

    void index_set(Constants& at, int effort, std::vector<Stratum>& strata) const {
        if (at.widened) strata.push_back({0, 1, 1});
        strata.push_back({at.widened ? 1U : 0U, 64, static_cast<size_t>(8 + effort)});
    }
    void add_term(const Constants&, size_t i, double factor, Number& total) const {
        if (i % 6 == 0) total.value += factor;
    }
    Constants constants(size_t) const { return {}; }
    double term(const Constants&, const Number& total) const { return 1 / total.value; }
    bool defined(const Number& total) const { return total.value > 0; }
    bool settled(const Replicates<Number>& totals) const { return totals.first.value == totals.second.value; }
    void widen(Constants& at) const { at.widened = true; }
};

TEST(NestedSum, EverySampleThatSettlesHasAValue) {
    Workspace<SparseScore> work;
    for (uint64_t seed = 0; seed < 1'000; seed++) {
        const Draw draw = draw_term(SparseScore{}, 0, 0, seed, work);
        EXPECT_TRUE(std::isfinite(draw.value) && std::isfinite(draw.noise)) << seed;
    }
}

TEST(StratifiedMean, NormalQuantiles) {
    EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
    EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
    EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-12);
}

SamplingOptions wanting(double epsilon, uint64_t min_samples) {
    SamplingOptions options;
    options.epsilon = epsilon;
    options.min_samples = min_samples;
    return options;
}

// Two values a and b by turns: mean (a + b)/2, standard deviation about |a − b|/2.
void fill(StratifiedMean& mean, size_t stratum, uint64_t draws, double a, double b) {
    for (uint64_t i = 0; i < draws; i++) mean.add(stratum, {i % 2 ? b : a, 0});
}

TEST(StratifiedMean, NeymanAllocationWithFloors) {
    StratifiedMean mean({1'000'000, 1'000'000, 1'000'000, 12}, wanting(0.002, 60'000));
    const std::vector<uint64_t> first = mean.plan();
    EXPECT_EQ(first[3], 12U); // small strata are exhausted
    EXPECT_NEAR(static_cast<double>(first[0]), 20'000, 2);
    fill(mean, 0, 20'000, 0, 20);
    fill(mean, 1, 20'000, 9, 11);
    fill(mean, 2, 20'000, 10, 10);
    fill(mean, 3, 12, 1, 2);
    const std::vector<uint64_t> second = mean.plan();
    EXPECT_GT(second[0], 40'000U);
    EXPECT_EQ(second[1], 20'000U); // never fewer than there are
    EXPECT_EQ(second[2], 20'000U);
    EXPECT_EQ(second[3], 12U);
}

// Samples strata of ones, in which one value in `period` is larger by `large`, until the rule stops.
StratifiedMean sample_skewed(size_t size, size_t period, double large, const SamplingOptions& options, uint64_t seed) {
    constexpr size_t strata = 64;
    StratifiedMean mean(std::vector<uint64_t>(strata, size), options);
    std::vector<std::vector<double>> values(strata, std::vector<double>(size, 1.0));
    RandomStream random(seed, 3);
    for (auto& stratum : values) {
        for (size_t i = 0; i < size; i += period) stratum[i] += large;
        for (size_t i = size; i-- > 1;) std::swap(stratum[i], stratum[random.below(i + 1)]);
    }
    std::vector<uint64_t> drawn(strata, 0);
    do {
        const std::vector<uint64_t> wanted = mean.plan();
        for (size_t s = 0; s < strata; s++)
            for (; drawn[s] < wanted[s]; drawn[s]++) mean.add(s, {values[s][drawn[s]], 0});
    } while (!mean.precise_enough() && !mean.exhausted());
    return mean;
}

// One value in 30 is large, so that every other stratum meets none in its first draws.
TEST(StratifiedMean, FewDrawsOfSkewedStrataLeaveNoBias) {
    constexpr double truth = 1 + 30 / 30.0;
    constexpr int repetitions = 400;
    double bias = 0;
    int covered = 0;
    for (uint64_t seed = 0; seed < repetitions; seed++) {
        const StratifiedMean mean = sample_skewed(150, 30, 30, wanting(0.1, 1'000), seed);
        bias += (mean.mean() - truth) / repetitions;
        if (std::abs(mean.mean() - truth) <= 1.96 * mean.standard_error()) covered++;
    }
    EXPECT_LT(std::abs(bias), 0.03 * truth); // 0.2 where the strata's own variances allocate draws
    EXPECT_GE(covered, 0.85 * repetitions);  // 0.005 there
}

// One value in a stratum is most of its variance, and a good part of the strata must be drawn to the last.
TEST(StratifiedMean, StrataWithOneLargeValueLeaveNoBias) {
    constexpr size_t size = 120;
    constexpr double truth = 1 + 40.0 / size;
    constexpr int repetitions = 400;
    double bias = 0;
    int precise = 0;
    for (uint64_t seed = 0; seed < repetitions; seed++) {
        const StratifiedMean mean = sample_skewed(size, size, 40, wanting(0.04, 1'000), seed);
        bias += (mean.mean() - truth) / repetitions;
        if (std::abs(mean.mean() - truth) <= 0.04 * truth) precise++;
    }
    EXPECT_LT(std::abs(bias), 0.02 * truth); // 0.06 where draws of a stratum decide how many more it gets
    EXPECT_GE(precise, 0.75 * repetitions);
}

TEST(StratifiedMean, StoppingRuleFinitePopulationAndNoise) {
    StratifiedMean mean({1'000}, wanting(0.1, 10));
    fill(mean, 0, 100, 5, 15);
    // s = 5.025, fpc 0.9: se = 0.4767; z·se·(1 + ε) = 1.0278 > ε·10.
    EXPECT_NEAR(mean.standard_error(), 5.0252 * std::sqrt(0.9 / 100), 1e-4);
    EXPECT_FALSE(mean.precise_enough());
    // m with z²·s²·(1/m − 1/1000)·(1 + ε)² = (ε·10)² is 105, the next that is tried 110.
    EXPECT_GE(mean.needed(), 105U);
    EXPECT_LE(mean.needed(), 112U);
    EXPECT_EQ(StratifiedMean({1'000}, wanting(1e-9, 10)).needed(), 10U); // without draws nothing is known
    fill(mean, 0, 20, 5, 15);
    EXPECT_TRUE(mean.precise_enough());
    EXPECT_FALSE(mean.exhausted());
    fill(mean, 0, 880, 5, 15);
    EXPECT_TRUE(mean.exhausted());
    EXPECT_EQ(mean.standard_error(), 0);
    // Noise remains when all are drawn.
    StratifiedMean noisy({4}, wanting(0.1, 1));
    for (int i = 0; i < 4; i++) noisy.add(0, {1, 0.04});
    EXPECT_DOUBLE_EQ(noisy.standard_error(), 0.1);
    EXPECT_DOUBLE_EQ(noisy.noise_variance(), 0.01);
}

TEST(StratifiedMean, AnAbsoluteErrorAlsoSuffices) {
    SamplingOptions options = wanting(0.1, 10);
    options.tolerance = 1;
    StratifiedMean mean({1'000'000}, options);
    fill(mean, 0, 200, -5, 5);
    EXPECT_TRUE(mean.precise_enough());
}

} // namespace
} // namespace btml::monte_carlo
