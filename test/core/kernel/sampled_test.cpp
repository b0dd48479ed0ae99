#include "caught.hpp"
#include "kernel_data.hpp"

#include "core/kernel/attention.hpp"
#include "core/kernel/sums_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace btml::kernel {
namespace {

using namespace btml::test;

struct Problem {
    Rows keys, values, queries;
    double bandwidth;
    Quantity quantity = Quantity::sum;
    Kernel kernel{};
};

Estimates estimate(const Problem& problem, Method method, double epsilon, uint64_t seed, int threads = 2) {
    QuietContext context(threads);
    Options options = exact_options(problem.bandwidth, problem.kernel);
    options.method = method;
    options.epsilon = epsilon;
    options.seed = seed;
    KernelSums sums(keys_of(problem.keys, problem.values, context), problem.quantity, options, context);
    Estimates estimates = sums.evaluate(points_of(problem.queries, context));
    // The context ends here: copies in memory of their own.
    static QuietContext forever;
    Estimates copy{estimates.columns, Buffer<double>(forever.memory(), "copy", estimates.values.size()),
                   Buffer<double>(forever.memory(), "copy", estimates.std_errors.size()), estimates.report};
    std::copy(estimates.values.begin(), estimates.values.end(), copy.values.begin());
    std::copy(estimates.std_errors.begin(), estimates.std_errors.end(), copy.std_errors.begin());
    return copy;
}

double norm(const Buffer<double>& x) {
    double sum = 0;
    for (const double y : x) sum += y * y;
    return std::sqrt(sum);
}

double distance(const Buffer<double>& a, const Buffer<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
}

// What epsilon is relative to.
double unit_of(const Problem& problem, const Estimates& exact) {
    if (problem.quantity != Quantity::sum) return norm(exact.values);
    double sum = 0;
    for (const auto& row : problem.values) sum += row[0] * row[0];
    return std::sqrt(sum);
}

struct Runs {
    int count = 0, over = 0;        // runs whose error was beyond epsilon
    double worst = 0;               // error over epsilon
    double squares = 0, stated = 0; // of errors, and the estimates of those
    double evaluated = 0;
};

Runs run(const Problem& problem, double epsilon, int count, uint64_t first_seed = 100) {
    const Estimates exact = estimate(problem, Method::exact, epsilon, 0);
    const double unit = unit_of(problem, exact);
    Runs runs;
    for (int i = 0; i < count; i++) {
        const Estimates sampled = estimate(problem, Method::sampled, epsilon, first_seed + static_cast<uint64_t>(i));
        const double error = distance(sampled.values, exact.values) / unit;
        runs.count++;
        runs.over += error > epsilon;
        runs.worst = std::max(runs.worst, error / epsilon);
        runs.squares += error * error;
        runs.stated += sampled.report.relative_error * sampled.report.relative_error;
        runs.evaluated += sampled.report.evaluated / count;
    }
    return runs;
}

Rows heavy_tailed(size_t rows, uint64_t seed) {
    Normals normal(seed);
    Rows values;
    for (size_t i = 0; i < rows; i++) values.push_back({(normal.unit() < 0.5 ? -1 : 1) * std::exp(1.5 * normal())});
    return values;
}

Problem blobs(Rows values, size_t dimensions = 8, double bandwidth = 1) {
    const Rows points = blob_rows(values.size(), dimensions, 20, 10, 1, 7);
    return {points, std::move(values), points, bandwidth};
}

constexpr size_t rows = 4000;

// The first 1,000 queries: as many runs of them tell as much of the error as all would, in half of the time.
Problem of_some_queries(Problem problem) {
    problem.queries.resize(1000);
    return problem;
}

// In at least 99 of 100 runs the error is within epsilon, whatever the weights.
TEST(KernelSampled, ErrorIsWithinEpsilon) {
    int over = 0, count = 0;
    for (const Rows& values : {constant_values(rows), normal_rows(rows, 1, 1, 3), heavy_tailed(rows, 4)})
        for (const double epsilon : {0.3, 0.1}) {
            const Runs runs = run(of_some_queries(blobs(values)), epsilon, 20);
            over += runs.over;
            count += runs.count;
            EXPECT_LT(runs.worst, 1.1);
        }
    EXPECT_EQ(count, 120);
    EXPECT_LE(over, 1);
}

TEST(KernelSampled, ErrorIsWithinEpsilonWithEveryKernel) {
    int over = 0;
    for (const Kernel kernel : all_kernels) {
        Problem problem = blobs(heavy_tailed(rows, 4), 6, facts_of(kernel).is_compact ? 4 : 1);
        problem.kernel = kernel;
        const Runs sums = run(problem, 0.2, 10);
        EXPECT_LT(sums.evaluated, 0.95) << facts_of(kernel).name;
        problem.values = constant_values(rows);
        problem.quantity = Quantity::density;
        const Runs densities = run(problem, 0.2, 10);
        EXPECT_LT(densities.worst, 1.1) << facts_of(kernel).name;
        over += sums.over + densities.over;
    }
    EXPECT_LE(over, 1); // of 100
}

// Where next to none of a query's neighbours are in the sample, its own variance is next to nothing.
TEST(KernelSampled, StandardErrorsHoldWhereTheSampleIsThin) {
    constexpr size_t keys = 20000, queries = 5000;
    Rows points;
    for (size_t i = 1; i <= keys; i++)
        points.push_back({static_cast<double>(i * 7919 % 100003) / 100003 * 24,
                          static_cast<double>(i * 104729 % 99991) / 99991 * 20});
    const Problem problem{points, constant_values(keys), Rows(points.begin(), points.begin() + queries), 0.44,
                          Quantity::density};
    const Estimates exact = estimate(problem, Method::exact, 0.3, 0);
    size_t within = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        const Estimates sampled = estimate(problem, Method::sampled, 0.3, seed);
        for (size_t i = 0; i < queries; i++)
            within += std::abs(sampled.values[i] - exact.values[i]) <= 2 * sampled.std_errors[i];
    }
    EXPECT_GT(within, 0.9 * 3 * queries);
}

// Of queries in parts, each with its share of what is allowed to all.
TEST(KernelSampled, PartsAreWithinEpsilonTogether) {
    const Problem problem = blobs(constant_values(rows));
    const Estimates exact = estimate(problem, Method::exact, 0.1, 0);
    const double allowed = 0.3 * unit_of(problem, exact);
    QuietContext context;
    Options options = exact_options(problem.bandwidth);
    options.method = Method::sampled;
    options.epsilon = 0.3;
    int over = 0;
    double evaluated = 0, at_once = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        options.seed = seed;
        KernelSums sums(keys_of(problem.keys, problem.values, context), Quantity::sum, options, context);
        double squares = 0;
        for (size_t first = 0; first < rows; first += rows / 4) {
            const auto begin = problem.queries.begin() + static_cast<std::ptrdiff_t>(first);
            const Rows part(begin, begin + rows / 4);
            const Estimates estimates = sums.evaluate(points_of(part, context), rows);
            for (size_t i = 0; i < part.size(); i++)
                squares += std::pow(estimates.values[i] - exact.values[first + i], 2);
            evaluated += estimates.report.evaluated / 4;
        }
        over += std::sqrt(squares) > allowed;
        at_once += sums.evaluate(points_of(problem.queries, context)).report.evaluated;
    }
    EXPECT_EQ(over, 0);
    EXPECT_LT(evaluated, 1.6 * at_once); // not as if each part were all
}

// Pairs that are near each other and far from all else, few of them in one leaf: what a sample is most likely to miss.
TEST(KernelSampled, ErrorIsWithinEpsilonWhereHeavyPairsAreHidden) {
    Rows points = normal_rows(rows, 16, 5, 1);
    Normals normal(2);
    for (size_t i = 0; i + 1 < rows; i += 10)
        for (size_t k = 0; k < 16; k++) points[i][k] = points[i + 1][k] + 0.1 * normal();
    const Runs runs = run(of_some_queries({points, constant_values(rows), points, 1}), 0.2, 40);
    EXPECT_LE(runs.over, 1);
    points = blob_rows(rows, 16, rows / 10, 10, 0.5, 1);
    const Runs small_blobs = run(of_some_queries({points, constant_values(rows), points, 1}), 0.2, 40);
    EXPECT_LE(small_blobs.over, 1);
}

TEST(KernelSampled, DensitiesAndMeansAreWithinEpsilon) {
    Problem density = blobs(constant_values(rows), 6, 1.5);
    density.quantity = Quantity::density;
    const Runs densities = run(of_some_queries(density), 0.1, 30);
    EXPECT_LE(densities.over, 1);
    EXPECT_LT(densities.evaluated, 0.9);
    Problem mean = blobs(constant_values(rows), 6, 2);
    mean.quantity = Quantity::mean;
    Normals normal(3);
    for (size_t i = 0; i < rows; i++) {
        const double target = std::sin(mean.keys[i][0]) + 0.5 * normal();
        mean.values[i] = {1, target, 3 * target - mean.keys[i][1]};
    }
    const Runs means = run(of_some_queries(mean), 0.1, 30);
    EXPECT_LE(means.over, 1);
    EXPECT_LT(means.evaluated, 0.9);
}

TEST(KernelSampled, AttentionIsWithinEpsilon) {
    const Rows keys = normal_rows(rows, 16, 0.7, 1), values = normal_rows(rows, 4, 1, 2),
               queries = normal_rows(rows, 16, 0.7, 3);
    QuietContext context(2);
    Options options;
    options.method = Method::exact;
    Attention exactly(keys_of(keys, values, context), options, context);
    const Estimates exact = exactly.evaluate(points_of(queries, context));
    options.method = Method::sampled;
    options.epsilon = 0.5;
    int over = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        options.seed = seed;
        Attention attention(keys_of(keys, values, context), options, context);
        const Estimates sampled = attention.evaluate(points_of(queries, context));
        over += distance(sampled.values, exact.values) > 0.5 * norm(exact.values);
        EXPECT_EQ(sampled.report.method, Method::sampled);
    }
    EXPECT_EQ(over, 0);
}

// Attention of tokens to themselves: each one's own pair is much of its row or nearly all of it, and the coordinate
// that makes norms equal takes queries away from their own keys. A sample that lacks the pair doesn't know.
TEST(KernelSampled, SelfAttentionIsWithinEpsilon) {
    int over = 0, count = 0;
    for (const double sd : {0.8, 0.9, 1.0, 1.1}) {
        const Rows keys = normal_rows(600, 100, sd, 1), values = normal_rows(600, 1, 1, 2);
        QuietContext context(2);
        Options options;
        options.method = Method::exact;
        const Estimates exact =
            Attention(keys_of(keys, values, context), options, context).evaluate(points_of(keys, context));
        const double of_values = std::sqrt(600.0);
        options.method = Method::sampled;
        options.epsilon = std::min(1.0, 0.1 * of_values / norm(exact.values));
        for (uint64_t seed = 0; seed < 25; seed++, count++) {
            options.seed = seed;
            const Estimates sampled =
                Attention(keys_of(keys, values, context), options, context).evaluate(points_of(keys, context));
            over += distance(sampled.values, exact.values) > 0.1 * of_values;
        }
    }
    EXPECT_EQ(count, 100);
    EXPECT_LE(over, 1);
}

// Queries so near each other that one sample moves all of their results alike: the error is that of one number.
TEST(KernelSampled, ErrorIsWithinEpsilonWhereItIsOneForAllQueries) {
    Problem density{normal_rows(rows, 2, 1, 1), constant_values(rows), normal_rows(500, 2, 0.1, 3), 1,
                    Quantity::density};
    const Runs runs = run(density, 0.05, 100);
    EXPECT_LE(runs.over, 1);
    EXPECT_GT(runs.worst, 0.5);
}

// Of clustered data, over random seeds: a row's error is within two of its standard errors nine times of ten.
TEST(KernelSampled, StandardErrorsOfRowsAreThose) {
    for (const Quantity quantity : {Quantity::sum, Quantity::density, Quantity::mean}) {
        const bool sum = quantity == Quantity::sum;
        Problem problem{blob_rows(rows, 3, 200, 10, sum ? 1 : 0.5, 7), {}, {}, 1, quantity};
        problem.queries = problem.keys;
        for (const auto& key : problem.keys) {
            problem.values.push_back({1});
            if (quantity == Quantity::mean) problem.values.back().push_back(2 + std::sin(key[0]) + std::cos(key[1]));
        }
        const Estimates exact = estimate(problem, Method::exact, 1, 0);
        double within = 0, evaluated = 0;
        constexpr int seeds = 20;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            const Estimates sampled = estimate(problem, Method::sampled, sum ? 0.5 : 0.1, seed);
            evaluated += sampled.report.evaluated / seeds;
            for (size_t i = 0; i < rows; i++)
                within += std::abs(sampled.values[i] - exact.values[i]) <=
                          2 * sampled.std_errors[i] + 2e-5 * std::abs(exact.values[i]);
        }
        EXPECT_LT(evaluated, 0.9) << static_cast<int>(quantity);
        EXPECT_GE(within, 0.9 * seeds * rows) << static_cast<int>(quantity);
    }
}

// Over many seeds the mean of the estimates nears the exact sums as 1/√seeds: no part is missing or counted twice.
TEST(KernelSampled, IsUnbiased) {
    for (const Rows& values : {constant_values(2000), heavy_tailed(2000, 4)}) {
        const Problem problem = blobs(values);
        const Estimates exact = estimate(problem, Method::exact, 1, 0);
        std::vector<double> mean(values.size(), 0.0);
        double variance = 0;
        constexpr int seeds = 60;
        for (int seed = 0; seed < seeds; seed++) {
            const Estimates sampled = estimate(problem, Method::sampled, 0.4, static_cast<uint64_t>(seed));
            for (size_t i = 0; i < values.size(); i++) mean[i] += sampled.values[i] / seeds;
            variance += std::pow(distance(sampled.values, exact.values), 2) / seeds;
        }
        double bias = 0;
        for (size_t i = 0; i < values.size(); i++) bias += (mean[i] - exact.values[i]) * (mean[i] - exact.values[i]);
        EXPECT_GT(variance, 0);
        EXPECT_LT(bias, 1.5 * variance / seeds);
        EXPECT_GT(bias, 0.3 * variance / seeds);
    }
}

TEST(KernelSampled, StandardErrorsAreThose) {
    const Problem problem = blobs(normal_rows(rows, 1, 1, 3));
    const Runs runs = run(problem, 0.2, 25);
    EXPECT_LT(runs.evaluated, 0.9);
    EXPECT_GT(runs.stated, 0.7 * runs.squares);
    EXPECT_LT(runs.stated, 1.4 * runs.squares);
    const Estimates exact = estimate(problem, Method::exact, 1, 0),
                    sampled = estimate(problem, Method::sampled, 0.2, 1);
    int beyond = 0; // two standard errors
    for (size_t i = 0; i < rows; i++)
        beyond += std::abs(sampled.values[i] - exact.values[i]) > 2 * sampled.std_errors[i] + 1e-6;
    EXPECT_LT(beyond, static_cast<int>(0.15 * rows));
}

TEST(KernelSampled, ResultsDoNotDependOnThreadsOrOrder) {
    Problem problem = blobs(heavy_tailed(rows, 4));
    const Estimates once = estimate(problem, Method::sampled, 0.2, 5, 1),
                    again = estimate(problem, Method::sampled, 0.2, 5, 4);
    EXPECT_TRUE(std::equal(once.values.begin(), once.values.end(), again.values.begin()));
    EXPECT_TRUE(std::equal(once.std_errors.begin(), once.std_errors.end(), again.std_errors.begin()));
    for (Rows* reversed : {&problem.keys, &problem.values, &problem.queries})
        std::reverse(reversed->begin(), reversed->end());
    const Estimates other = estimate(problem, Method::sampled, 0.2, 5);
    for (size_t i = 0; i < rows; i++) EXPECT_EQ(once.values[i], other.values[rows - 1 - i]);
    EXPECT_NE(0, distance(once.values, estimate(problem, Method::sampled, 0.2, 6).values));
}

TEST(KernelSampled, AutomaticChooses) {
    const Problem few = blobs(constant_values(500));
    EXPECT_EQ(estimate(few, Method::automatic, 0.1, 0).report.method, Method::exact);
    EXPECT_EQ(estimate(few, Method::automatic, 0.1, 0).report.reason, "there are few pairs");
    EXPECT_EQ(estimate(few, Method::exact, 0.1, 0).report.reason, "exact sums were asked for");
    Problem clustered;
    clustered.keys = clustered.queries = blob_rows(20000, 16, 50, 30, 1, 1);
    clustered.values = constant_values(20000);
    clustered.bandwidth = 1;
    const Report sampled = estimate(clustered, Method::automatic, 0.2, 0).report;
    EXPECT_EQ(sampled.method, Method::sampled);
    EXPECT_LT(sampled.evaluated, 0.5);
    EXPECT_LE(sampled.relative_error, 0.2);
    Problem dense = clustered;
    dense.bandwidth = 30; // every pair counts, and the error is to be a 1e-5 of the sums
    const Report exact = estimate(dense, Method::automatic, 0.1, 0).report;
    EXPECT_EQ(exact.method, Method::exact);
    EXPECT_EQ(exact.relative_error, 0);
    EXPECT_EQ(exact.evaluated, 1);
}

TEST(KernelSampled, SmallProblemsToo) {
    for (const size_t count : {1, 2, 31, 257, 600}) {
        const Problem problem = blobs(normal_rows(count, 1, 1, 3));
        const Estimates exact = estimate(problem, Method::exact, 1, 0),
                        sampled = estimate(problem, Method::sampled, 0.1, 0);
        EXPECT_LE(distance(sampled.values, exact.values), 0.1 * unit_of(problem, exact)) << count;
    }
}

TEST(KernelSampled, FewQueriesOrFewKeys) {
    Problem few_queries = blobs(constant_values(rows));
    few_queries.queries.resize(3);
    Problem few_keys = blobs(constant_values(rows));
    few_keys.keys.resize(5);
    few_keys.values.resize(5);
    for (const Problem& problem : {few_queries, few_keys}) {
        const Estimates exact = estimate(problem, Method::exact, 1, 0),
                        sampled = estimate(problem, Method::sampled, 0.1, 0);
        EXPECT_LE(distance(sampled.values, exact.values), 0.1 * unit_of(problem, exact));
    }
}

// Sees how much memory is held at most, as often as it is polled.
class WatchingContext : public QuietContext {
  public:
    explicit WatchingContext(uint64_t limit) : QuietContext(2, limit) {}
    bool keep_going() override {
        polls++;
        most = std::max(most, memory().used());
        return true;
    }
    void progress(const char*, uint64_t, uint64_t) override { keep_going(); }
    uint64_t most = 0;
    int polls = 0;
};

// What the estimates ask for suffices and is not much more than what is held; less is refused before any work.
TEST(KernelSampled, MemoryIsEstimated) {
    const Problem problem = blobs(heavy_tailed(rows, 4));
    for (const Method method : {Method::exact, Method::sampled}) {
        const auto evaluate = [&](WatchingContext& context) {
            Options options = exact_options(1);
            options.method = method;
            Keys keys = keys_of(problem.keys, problem.values, context);
            const Points queries = points_of(problem.queries, context);
            KernelSums(std::move(keys), Quantity::sum, options, context).evaluate(queries);
        };
        const uint64_t given = 8 * rows * (8 + 1 + 8);
        const SumSizes sizes{rows, rows, 8, 2, false, 2}; // signs differ: magnitudes are a column of their own
        const uint64_t prepared = 2 * given + bytes_to_prepare(sizes),
                       summed = method == Method::exact ? bytes_to_sum_exactly(sizes) : bytes_to_sample(sizes);
        WatchingContext enough(prepared + summed);
        evaluate(enough);
        EXPECT_LT(prepared + summed, 3 * enough.most);
        WatchingContext nothing(given + given / 10); // what is given, and little more
        const Caught refused = caught([&] { evaluate(nothing); });
        EXPECT_EQ(refused.code, ErrorCode::memory_limit);
        EXPECT_EQ(refused.detail, "The memory was to hold the keys of kernel sums.");
        EXPECT_EQ(nothing.polls, 0);
    }
}

TEST(KernelSampled, NoMemoryIsQuadratic) {
    for (const auto bytes : {bytes_to_prepare, bytes_to_sum_exactly, bytes_to_sample}) {
        const double once = static_cast<double>(bytes({500'000, 500'000, 16, 1, false, 2})),
                     twice = static_cast<double>(bytes({1'000'000, 1'000'000, 16, 1, false, 2}));
        EXPECT_LT(once, 500e6);
        EXPECT_LT(twice, 2.1 * once);
    }
}

// Where a sample does not fit, exact sums do.
TEST(KernelSampled, AutomaticTakesExactSumsWhereASampleDoesNotFit) {
    const Problem problem{blob_rows(12000, 4, 20, 10, 1, 7), constant_values(12000), blob_rows(12000, 4, 20, 10, 1, 7),
                          1};
    QuietContext context(2, 2'900'000);
    Options options = exact_options(1);
    options.method = Method::automatic;
    Keys keys = keys_of(problem.keys, problem.values, context);
    KernelSums sums(std::move(keys), Quantity::sum, options, context);
    EXPECT_EQ(sums.evaluate(points_of(problem.queries, context)).report.reason, "a sample would not fit in memory");
}

TEST(KernelSampled, IsCancelled) {
    const Problem problem = blobs(constant_values(rows));
    for (const uint64_t polls : {20, 60, 100}) {
        ImpatientContext context(polls);
        Options options = exact_options(1);
        options.method = Method::sampled;
        options.epsilon = 0.01;
        EXPECT_THROW(
            {
                KernelSums sums(keys_of(problem.keys, problem.values, context), Quantity::sum, options, context);
                for (;;) sums.evaluate(points_of(problem.queries, context));
            },
            Cancelled);
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

} // namespace
} // namespace btml::kernel
