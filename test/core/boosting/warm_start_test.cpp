#include "boosting_reference.hpp"
#include "caught.hpp"
#include "random_fit.hpp"
#include "walking.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"

namespace btml::boosting::test {
namespace {

using btml::test::caught;

Options with_trees(Options options, int trees) {
    options.trees = trees;
    return options;
}

// n trees and m that continue from them, against n + m at once; any number of threads goes on with them.
void expect_same_bytes(const PlainData& data, Options options, int first, int more) {
    options.trees = first + more;
    const Model start = fit_plain(data, with_trees(options, first));
    EXPECT_TRUE(bytes_of(fit_plain(data, options)) == bytes_of(fit_plain(data, options, 1 + more % 3, start)));
}

class WarmStartOfEveryObjective : public testing::TestWithParam<ObjectiveNumber> {};

TEST_P(WarmStartOfEveryObjective, ContinuesAsIfItHadNotStopped) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Fit fit(seed, GetParam());
        if (seed % 4 == 2) fit.options.row_fraction = 0.6;
        if (seed % 3 == 2) fit.options.feature_fraction = 0.5;
        expect_same_bytes(fit.data, fit.options, 1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 4));
    }
}

// Rows that the trees have not seen: other numbers, other targets, a third of the rows.
PlainData other_rows(const PlainData& data, uint64_t seed) {
    std::vector<size_t> order = random_order(data.rows, seed);
    order.resize(std::max<size_t>(30, order.size() / 3));
    PlainData other = reorder(data, order);
    Random random(seed);
    for (PlainColumn& column : other.columns)
        for (double& x : column.numbers) x += random.unit() - 0.5;
    return other;
}

TEST_P(WarmStartOfEveryObjective, GoesOnOverOtherRows) {
    int compared = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, GetParam());
        const PlainData data = other_rows(fit.data, seed);
        const Model start = fit_plain(fit.data, with_trees(fit.options, 3));
        Model model;
        const auto refused = caught([&] { model = fit_plain(data, with_trees(fit.options, 5), 1, start); });
        if (!refused.message.empty()) continue; // a sample without one of the labels, or without rows to train on
        compared++;
        EXPECT_EQ(model.bases, start.bases);
        ASSERT_EQ(model.iterations(), 5u);
        std::vector<size_t> training;
        for (size_t row = 0; row < data.rows; row++)
            if (!data.held_out(row) && data.weight_of(row) > 0) training.push_back(row);
        PlainLoss loss(fit.options, data, training);
        std::vector<std::vector<double>> bases(data.rows, model.bases);
        loss.derivatives(bases, 0); // of huber, the first delta
        double sum = 0, total = 0;
        for (const size_t row : training) {
            const double weight = data.weight_of(row) * loss.label_weight(row);
            sum += weight * loss.loss(row, scores_by_walking(model, data.features_of(row)));
            total += weight;
        }
        EXPECT_NEAR(model.log.back().train_loss, sum / total, 1e-5 * std::max(1.0, std::fabs(sum / total)));
        Model trees = start;
        trees.trees.assign(model.trees.begin(), model.trees.begin() + static_cast<std::ptrdiff_t>(start.trees.size()));
        for (size_t row = 0; row < data.rows; row++)
            EXPECT_EQ(scores_by_walking(start, data.features_of(row)), scores_by_walking(trees, data.features_of(row)));
    }
    EXPECT_GT(compared, 40);
}

INSTANTIATE_TEST_SUITE_P(Boosting, WarmStartOfEveryObjective, testing::ValuesIn(newton_or_renewed),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(WarmStart, ContinuesSquaredLossUnderEveryOption) {
    for (uint64_t seed = 0; seed < 120; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, ObjectiveNumber::squared);
        Options options = fit.options;
        options.row_fraction = seed % 4 == 2 ? 0.6 : 1;
        if (seed % 3 == 2) options.feature_fraction = 0.5;
        if (seed % 5 == 1) options.criterion = Criterion::mse_sum;
        if (seed % 7 == 1) options.max_bins = 4;
        expect_same_bytes(fit.data, options, 1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 4));
    }
}

// Residuals far smaller than what the trees add would not fit the grid of their sums.
TEST(WarmStart, RefusesTreesOutOfProportion) {
    Fit fit(0, ObjectiveNumber::squared);
    for (double& y : fit.data.target) y = std::ldexp(y - 100, 80);
    const Model start = fit_plain(fit.data, with_trees(fit.options, 2));
    for (double& y : fit.data.target) y = start.bases[0];
    fit.data.target[0] = std::nextafter(start.bases[0], 0);
    const auto refused = caught([&] { fit_plain(fit.data, with_trees(fit.options, 3), 1, start); });
    EXPECT_EQ(refused.code, ErrorCode::out_of_range);
}

} // namespace
} // namespace btml::boosting::test
