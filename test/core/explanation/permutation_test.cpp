#include "caught.hpp"
#include "core/explanation/feature_effects.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::explanation::test {
namespace {

using boosting::HeldOutRow;
using boosting::HoldoutMetric;
using btml::test::caught;

constexpr size_t features = 3; // the second of which nobody looks at
constexpr size_t rows = 4000;

constexpr FeatureGroup each[] = {{0, 1, "first"}, {1, 1, "second"}, {2, 1, "third"}};

std::vector<double> random_points() {
    std::vector<double> points;
    for (size_t i = 0; i < rows * features; i++) points.push_back(random_unit(1, 2, i));
    return points;
}

double prediction_of(std::span<const double> point) {
    return point[0] + 0.25 * point[2];
}

std::vector<SampleMean> importance(const std::vector<double>& points, HoldoutMetric metric, int repeats, uint64_t seed,
                                   const PointScorer& score) {
    QuietContext quiet;
    return permutation_importance({points, features, each, metric, 0.5, repeats, seed}, score, quiet);
}

TEST(PermutationImportance, IsWhatIndependentValuesCost) {
    const std::vector<double> points = random_points();
    const PointScorer score = [&](std::span<const double> point, size_t row) {
        return HeldOutRow{prediction_of(std::span(points).subspan(row * features, features)), prediction_of(point), 1,
                          true};
    };
    const std::vector<SampleMean> found = importance(points, HoldoutMetric::rmse, 20, 7, score);
    // The difference of two independent uniform numbers has the variance 1/6.
    EXPECT_NEAR(found[0].mean(), std::sqrt(1 / 6.0), 0.01);
    EXPECT_EQ(found[1].mean(), 0);
    EXPECT_EQ(found[1].std_error(), 0);
    EXPECT_NEAR(found[2].mean(), 0.25 * std::sqrt(1 / 6.0), 0.0025);
    EXPECT_GT(found[0].std_error().value(), 0);
    EXPECT_LT(found[0].std_error().value(), 0.002);
    EXPECT_EQ(importance(points, HoldoutMetric::rmse, 20, 7, score)[0].mean(), found[0].mean());
    EXPECT_NE(importance(points, HoldoutMetric::rmse, 20, 8, score)[0].mean(), found[0].mean());
    EXPECT_FALSE(importance(points, HoldoutMetric::rmse, 1, 7, score)[0].std_error());
}

// A metric of which more is better has a positive importance, too; a feature that misleads has a negative one.
TEST(PermutationImportance, HasTheSignOfWorse) {
    const std::vector<double> points = random_points();
    for (const bool misleads : {false, true}) {
        const PointScorer score = [&](std::span<const double> point, size_t row) {
            const bool target = points[row * features] > 0.5, predicted = (point[0] > 0.5) != misleads;
            return HeldOutRow{target ? 1.0 : 0.0, predicted ? 0.9 : 0.1, 1, target == predicted};
        };
        for (const HoldoutMetric metric : {HoldoutMetric::accuracy, HoldoutMetric::auc})
            EXPECT_NEAR(importance(points, metric, 5, 1, score)[0].mean(), misleads ? -0.5 : 0.5, 0.05);
        EXPECT_EQ(importance(points, HoldoutMetric::log_loss, 5, 1, score)[0].mean() > 0, !misleads);
    }
}

// Beyond what the metric does, before and after.
TEST(PermutationImportance, PollsWhileItPermutes) {
    const std::vector<double> points(1'000'000);
    const PointScorer score = [](std::span<const double>, size_t) { return HeldOutRow{0, 0, 1, true}; };
    btml::test::ImpatientContext metric, context;
    boosting::metric_of(HoldoutMetric::accuracy, std::vector<HeldOutRow>(points.size(), {0, 0, 1, true}), 0.5, metric);
    permutation_importance({points, 1, std::span(each).first(1), HoldoutMetric::accuracy, 0.5, 1, 1}, score, context);
    EXPECT_GT(context.polls, 2 * metric.polls + (4 * points.size() >> 18));
}

// The values of a group stay those of one row.
TEST(PermutationImportance, GroupsChangePlacesTogether) {
    std::vector<double> points = random_points();
    for (size_t row = 0; row < rows; row++) points[row * features + 1] = points[row * features];
    const PointScorer score = [&](std::span<const double> point, size_t row) {
        EXPECT_EQ(point[0], point[1]);
        const double target = points[row * features] - points[row * features + 1];
        return HeldOutRow{target, point[0] - point[1], 1, true};
    };
    QuietContext quiet;
    const FeatureGroup groups[] = {{0, 2, "both"}, {2, 1, "third"}};
    for (const SampleMean& found :
         permutation_importance({points, features, groups, HoldoutMetric::rmse, 0.5, 2, 1}, score, quiet))
        EXPECT_EQ(found.mean(), 0);
}

TEST(PermutationImportance, NeedsBothLabelsForRanks) {
    const PointScorer score = [](std::span<const double>, size_t) { return HeldOutRow{1, 0.5, 1, true}; };
    const auto error = caught([&] { importance(random_points(), HoldoutMetric::auc, 1, 1, score); });
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.message, "metric 'auc' is not defined for the rows");
}

TEST(PermutationImportance, OneRowHasNoOtherValues) {
    const std::vector<double> points = {1, 2, 3};
    const PointScorer score = [](std::span<const double> point, size_t) { return HeldOutRow{1, point[0], 1, true}; };
    for (const SampleMean& found : importance(points, HoldoutMetric::mae, 3, 1, score)) {
        EXPECT_EQ(found.mean(), 0);
        EXPECT_EQ(found.std_error(), 0);
    }
}

} // namespace
} // namespace btml::explanation::test
