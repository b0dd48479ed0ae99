#include "boosting_reference.hpp"

namespace btml::boosting::test {
namespace {

DataShape shape_of(uint64_t seed) {
    DataShape shape;
    shape.rows = 20 + 15 * (seed % 9);
    shape.dimensions = static_cast<int>(seed % 4);
    shape.features = 1 + static_cast<int>(seed % 6);
    shape.distinct = seed % 5 == 0 ? 0 : 3 + seed % 11;
    shape.nulls = seed % 3 == 0 ? 0 : 0.15;
    shape.odd_numbers = seed % 4 == 1;
    shape.weights = seed % 7 == 2;
    shape.holdout = seed % 3 == 1;
    shape.fact_ids = seed % 8 == 3;
    return shape;
}

Options options_of(uint64_t seed) {
    Options options;
    options.trees = 1 + static_cast<int>(seed % 5);
    options.learning_rate = seed % 2 ? 0.3 : 1;
    options.max_leaves = static_cast<int>(seed % 6) == 1 ? 2 : static_cast<int>(seed % 6) * 3;
    options.max_depth = seed % 11 == 5 ? 3 : 0;
    options.min_leaf_rows = static_cast<double>(1 + seed % 7) - (seed % 2 ? 0.5 : 0);
    options.l2 = seed % 5 == 4 ? 1.5 : 0;
    options.min_gain = seed % 13 == 6 ? 5 : 1e-6; // above what rounding in the reference feigns
    options.min_category_rows = seed % 4 == 1 ? 4 : seed % 4 == 2 ? 12.5 : 0;
    options.max_split_categories = static_cast<int>(seed % 3);
    options.max_bins = seed % 2 ? 0 : 255;
    return options;
}

TEST(Booster, EqualsPlainBoosting) {
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        PlainData data = random_data(shape_of(seed), seed);
        for (double& w : data.weight) w *= seed % 2 ? 0.375 : 1;
        Options options = options_of(seed);
        options.criterion = seed % 10 == 9 ? Criterion::mse_sum : Criterion::variance;
        const Model model = fit_plain(data, options);
        expect_same_trees(model, reference_fit(data, options, all_thresholds(data)));
        if (HasFailure()) return;
    }
}

// So many that sums of residuals are packed.
TEST(Booster, ManyRowsEqualPlainBoosting) {
    for (uint64_t seed = 0; seed < 2; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape;
        shape.rows = 70000;
        shape.features = 4;
        shape.distinct = 7;
        shape.holdout = seed == 1;
        const PlainData data = random_data(shape, seed);
        Options options;
        options.trees = 2;
        options.max_leaves = 5;
        options.row_fraction = seed == 1 ? 0.99 : 1;
        const Model model = fit_plain(data, options);
        const std::string bytes = bytes_of(model);
        EXPECT_EQ(bytes, bytes_of(fit_plain(data, options, 3)));
        EXPECT_EQ(bytes, bytes_of(fit_plain(materialise(data), options)));
        if (seed == 0) expect_same_trees(model, reference_fit(data, options, all_thresholds(data)));
    }
}

TEST(Booster, LayoutOrderAndThreadsChangeNoBit) {
    for (uint64_t seed = 0; seed < 150; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const PlainData data = random_data(shape_of(seed), seed);
        Options options = options_of(seed);
        options.criterion = seed % 4 == 3 ? Criterion::mse_sum : Criterion::variance;
        options.max_bins = static_cast<int>(seed % 3) * 3;
        options.feature_fraction = seed % 5 == 1 ? 0.6 : 1;
        const std::string bytes = bytes_of(fit_plain(data, options));
        const PlainData flat = materialise(data);
        EXPECT_EQ(bytes, bytes_of(fit_plain(flat, options)));
        EXPECT_EQ(bytes, bytes_of(fit_plain(reorder(flat, random_order(flat.rows, seed)), options)));
        EXPECT_EQ(bytes, bytes_of(fit_plain(data, options, 3)));
        if (HasFailure()) return;
    }
}

// Big enough for threads to share the work and for tables to be summed up first.
TEST(Booster, LargeDataLayoutAndThreadsChangeNoBit) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape;
        shape.rows = 70000;
        shape.features = 6;
        shape.distinct = 0;
        shape.holdout = seed % 2;
        shape.weights = seed == 3;
        const PlainData data = random_data(shape, seed);
        Options options;
        options.trees = 3;
        options.max_bins = seed < 4 ? 255 : seed == 4 ? 1000 : 0;
        options.row_fraction = seed == 2 ? 0.5 : 1;
        options.criterion = seed == 5 ? Criterion::mse_sum : Criterion::variance;
        const std::string bytes = bytes_of(fit_plain(data, options));
        EXPECT_EQ(bytes, bytes_of(fit_plain(data, options, 2)));
        EXPECT_EQ(bytes, bytes_of(fit_plain(data, options, 5)));
        EXPECT_EQ(bytes, bytes_of(fit_plain(materialise(data), options, 2)));
    }
}

TEST(Booster, IntegerWeightsEqualRepeatedRows) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape = shape_of(seed);
        shape.weights = true;
        const PlainData data = materialise(random_data(shape, seed));
        std::vector<size_t> order;
        for (size_t row = 0; row < data.rows; row++)
            for (int copy = 0; copy < data.weight[row]; copy++) order.push_back(row);
        PlainData repeated = reorder(data, order);
        repeated.weight.clear();
        Options options = options_of(seed);
        options.max_bins = seed % 2 ? 5 : 0;
        Model weighted = fit_plain(data, options), plain = fit_plain(repeated, options);
        weighted.rows = plain.rows;
        weighted.holdout_rows = plain.holdout_rows;
        // The holdout loss is a sum of rounded terms, here one for all copies.
        for (size_t t = 0; t < plain.log.size(); t++)
            if (plain.log[t].holdout_loss) {
                EXPECT_NEAR(*plain.log[t].holdout_loss, *weighted.log[t].holdout_loss, 1e-12);
                weighted.log[t].holdout_loss = plain.log[t].holdout_loss;
            }
        EXPECT_EQ(bytes_of(uncalibrated(weighted)), bytes_of(uncalibrated(plain)));
    }
}

TEST(Booster, UnitOfWeightsAndTargetsDoesNotMatter) {
    DataShape shape;
    shape.rows = 300;
    shape.weights = true;
    const PlainData data = random_data(shape, 5);
    Options options;
    options.trees = 5;
    options.min_leaf_rows = 0;
    const Model model = fit_plain(data, options);
    for (const double unit : {0x1p-400, 0x1p-30, 0x1p30, 0x1p400}) {
        PlainData scaled = data;
        for (double& w : scaled.weight) w *= unit;
        for (double& y : scaled.target) y *= unit;
        const Model other = fit_plain(scaled, options);
        ASSERT_EQ(other.trees.size(), model.trees.size());
        for (size_t t = 0; t < model.trees.size(); t++) {
            ASSERT_EQ(other.trees[t].size(), model.trees[t].size());
            for (size_t i = 0; i < model.trees[t].size(); i++) {
                EXPECT_EQ(other.trees[t][i].threshold, model.trees[t][i].threshold);
                EXPECT_NEAR(other.trees[t][i].value / unit, model.trees[t][i].value, 1e-9);
            }
        }
    }
}

TEST(Booster, LeavesOfEqualGainAreSplitInTheirOrder) {
    PlainData data;
    data.rows = 40;
    data.tables = {{40, {}}};
    data.columns = {{"x", false, 0, {}, {}, 0}};
    for (int i = 0; i < 40; i++) {
        data.columns[0].numbers.push_back(i % 4);
        data.target.push_back(i % 4 + (i % 4 < 2 ? 0 : 10));
    }
    Options options;
    options.trees = 1;
    options.max_leaves = 3;
    options.min_leaf_rows = 1;
    const Tree tree = fit_plain(data, options).trees[0];
    ASSERT_EQ(tree.size(), 5u);
    EXPECT_EQ(tree[0].threshold, 1.5);
    EXPECT_EQ(tree[1].threshold, 0.5);
    EXPECT_TRUE(tree[2].is_leaf());
}

// More candidates than one piece of work holds, against sums over sorted rows.
TEST(Booster, ExactThresholdsOfManyValues) {
    for (const int threads : {1, 3}) {
        Random random(static_cast<uint64_t>(threads));
        PlainData data;
        data.rows = 200000;
        data.tables = {{data.rows, {}}};
        data.columns = {{"x", false, 0, {}, {}, 0}};
        std::vector<std::pair<double, double>> sorted;
        double mean = 0;
        for (size_t i = 0; i < data.rows; i++) {
            const double x = random.unit(), y = random.unit() + std::sin(3 * x);
            data.columns[0].numbers.push_back(x);
            data.target.push_back(y);
            sorted.emplace_back(x, y);
            mean += y / static_cast<double>(data.rows);
        }
        std::sort(sorted.begin(), sorted.end());
        double best = 0, threshold = 0, sum = 0, n = 0;
        const auto rows = static_cast<double>(data.rows);
        for (size_t i = 0; i + 1 < sorted.size(); i++) {
            sum += sorted[i].second - mean;
            n++;
            const double gain = sum * sum / n + sum * sum / (rows - n);
            if (gain <= best) continue;
            best = gain;
            threshold = midpoint(sorted[i].first, sorted[i + 1].first);
        }
        Options options;
        options.trees = 1;
        options.max_leaves = 2;
        options.max_bins = 0;
        const Node root = fit_plain(data, options, threads).trees[0][0];
        EXPECT_EQ(root.threshold, threshold);
        EXPECT_NEAR(root.gain, best, 1e-6 * best);
    }
}

// Every subset of few categories, tried.
TEST(Booster, FindsTheBestSubsetOfCategories) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        PlainData data;
        data.rows = 60;
        data.tables = {{60, {}}};
        PlainColumn column{"c", true, 0, {}, {}, 7};
        for (size_t i = 0; i < data.rows; i++) {
            column.codes.push_back(random.chance(0.1) ? FeatureColumn::null_code
                                                      : static_cast<uint32_t>(random.below(7)));
            data.target.push_back(random.unit() + 0.2 * (column.codes.back() % 3));
        }
        data.columns = {column};
        Options options;
        options.trees = 1;
        options.max_leaves = 2;
        options.min_leaf_rows = 1;
        const Model model = fit_plain(data, options);
        double best = 0, mean = 0;
        for (const double y : data.target) mean += y / 60;
        for (uint32_t subset = 0; subset < 256; subset++) { // bit 7: NULL
            double s = 0, n = 0;
            for (size_t i = 0; i < data.rows; i++)
                if (subset >> std::min(column.codes[i], 7u) & 1) {
                    s += data.target[i] - mean;
                    n++;
                }
            if (n > 0 && n < 60) best = std::max(best, s * s / n + s * s / (60 - n));
        }
        EXPECT_NEAR(model.trees[0][0].gain, best, 1e-9);
    }
}

TEST(Booster, QuantileBinsGiveTheSplitsOfTheirThresholds) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape = shape_of(seed);
        shape.distinct = 0;
        const PlainData data = random_data(shape, seed);
        Options options = options_of(seed);
        options.max_bins = 2 + static_cast<int>(seed % 9);
        QuietContext context;
        ThreadTeam team(context);
        Dataset dataset = to_dataset(data, context);
        const TrainingRows training(dataset, team, context);
        const BinnedData bins = bin_features(dataset, training, options.max_bins, team, context);
        std::vector<std::vector<double>> thresholds;
        for (const FeatureBins& feature : bins.features)
            thresholds.emplace_back(feature.thresholds.begin(), feature.thresholds.end());
        expect_same_trees(fit_plain(data, options), reference_fit(data, options, thresholds));
        if (HasFailure()) return;
    }
}

} // namespace
} // namespace btml::boosting::test
