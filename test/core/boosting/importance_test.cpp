#include "boosting_data.hpp"
#include "core/boosting/explanations/importance.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::boosting::test {
namespace {

struct Explained {
    Model model;
    std::vector<double> points, sizes; // of `rows` rows: by row and feature
    size_t rows;
};

Explained explained_rows(size_t rows, uint64_t seed) {
    DataShape shape;
    shape.rows = 400;
    const PlainData data = btml::boosting::test::random_data(shape, seed);
    Options options;
    options.trees = 5;
    Explained explained{fit_plain(data, options), {}, {}, rows};
    QuietContext quiet;
    Explainer explainer(explained.model, quiet);
    const size_t features = explainer.features();
    std::vector<double> found(features + 1);
    for (size_t row = 0; row < rows; row++) {
        const std::vector<double> point = data.features_of(row);
        explained.points.insert(explained.points.end(), point.begin(), point.end());
        explainer.contributions(point, found);
        for (size_t f = 0; f < features; f++) explained.sizes.push_back(std::abs(found[f]));
    }
    return explained;
}

std::vector<ContributionSize> sizes_of(const Explained& explained, WideCount of_rows) {
    QuietContext quiet;
    Explainer explainer(explained.model, quiet);
    return contribution_sizes(explainer, grouped(explained.model.features, true), explained.points, of_rows, quiet);
}

TEST(ContributionSizes, AreMeansWithTheirStandardErrors) {
    for (uint64_t seed = 0; seed < 10; seed++) {
        const Explained explained = explained_rows(50, seed);
        const size_t features = explained.model.features.size();
        const std::vector<ContributionSize> all = sizes_of(explained, 50), part = sizes_of(explained, 200);
        for (size_t f = 0; f < features; f++) {
            double mean = 0, squares = 0;
            for (size_t row = 0; row < 50; row++) mean += explained.sizes[row * features + f] / 50;
            for (size_t row = 0; row < 50; row++) squares += std::pow(explained.sizes[row * features + f] - mean, 2);
            EXPECT_NEAR(all[f].mean, mean, 1e-12);
            EXPECT_EQ(all[f].mean, part[f].mean);
            EXPECT_EQ(all[f].std_error, 0);
            EXPECT_NEAR(part[f].std_error.value(), std::sqrt(squares / 49 / 50 * (1 - 50.0 / 200)), 1e-12);
        }
    }
}

// What the features of a group add is summed up before its magnitude is taken.
TEST(ContributionSizes, OfGroupsAreOfTheirSums) {
    QuietContext quiet;
    const Explained explained = explained_rows(50, 3);
    Explainer explainer(explained.model, quiet);
    const size_t features = explainer.features();
    std::vector<double> found(features + 1);
    double mean = 0;
    for (size_t row = 0; row < explained.rows; row++) {
        explainer.contributions(std::span(explained.points).subspan(row * features, features), found);
        mean += std::abs(found[0] + found[1]) / static_cast<double>(explained.rows);
    }
    const FeatureGroup groups[] = {{0, 2, "both"}};
    EXPECT_NEAR(contribution_sizes(explainer, groups, explained.points, 50, quiet)[0].mean, mean, 1e-12);
}

TEST(ContributionSizes, OneRowSaysNothingOfOthers) {
    const Explained explained = explained_rows(1, 3);
    EXPECT_EQ(sizes_of(explained, 1)[0].std_error, 0);
    EXPECT_FALSE(sizes_of(explained, WideCount{1} << 100)[0].std_error);
}

// In at least 90 of 100 samples the mean is within two standard errors.
TEST(ContributionSizes, StandardErrorsCover) {
    const Explained all = explained_rows(400, 7);
    const std::vector<ContributionSize> truth = sizes_of(all, 400);
    const size_t features = all.model.features.size();
    Random random(7);
    int covered = 0;
    for (int trial = 0; trial < 100; trial++) {
        std::vector<size_t> order(400);
        std::iota(order.begin(), order.end(), size_t{0});
        Explained sample{all.model, {}, {}, 60};
        for (size_t i = 0; i < 60; i++) {
            std::swap(order[i], order[i + random.below(400 - i)]);
            const double* const point = all.points.data() + order[i] * features;
            sample.points.insert(sample.points.end(), point, point + features);
        }
        const ContributionSize found = sizes_of(sample, 400)[0];
        covered += std::abs(found.mean - truth[0].mean) <= 2 * found.std_error.value();
    }
    EXPECT_GE(covered, 90);
}

} // namespace
} // namespace btml::boosting::test
