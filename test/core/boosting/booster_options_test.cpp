#include "boosting_data.hpp"
#include "caught.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"

namespace btml::boosting::test {
namespace {

using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

PlainData some_data(bool holdout = false, size_t rows = 300) {
    DataShape shape;
    shape.rows = rows;
    shape.holdout = holdout;
    return random_data(shape, 3);
}

Caught fit_caught(const PlainData& data, const Options& options) {
    return caught([&] { fit_plain(data, options); });
}

TEST(BoosterOptions, NonsenseIsRefused) {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    struct Case {
        const char* name;
        void (*set)(Options&, double);
        std::vector<double> values;
        const char* valid;
    };
    const Case cases[] = {
        {"trees", [](Options& o, double x) { o.trees = static_cast<int>(x); }, {0, -1, 1000001}, "1 to 1000000"},
        {"learning_rate",
         [](Options& o, double x) { o.learning_rate = x; },
         {0, -1, 2, nan, infinity},
         "greater than 0 and at most 1"},
        {"max_leaves",
         [](Options& o, double x) { o.max_leaves = static_cast<int>(x); },
         {-1, 1},
         "0 (no limit), and 2 and more"},
        {"max_depth",
         [](Options& o, double x) { o.max_depth = static_cast<int>(x); },
         {-1},
         "0 (no limit), and 1 and more"},
        {"min_leaf_rows",
         [](Options& o, double x) { o.min_leaf_rows = x; },
         {-1, nan, infinity},
         "finite numbers from 0"},
        {"l2", [](Options& o, double x) { o.l2 = x; }, {-1, nan, infinity}, "finite numbers from 0"},
        {"min_gain", [](Options& o, double x) { o.min_gain = x; }, {-1, nan, infinity}, "finite numbers from 0"},
        {"min_category_rows",
         [](Options& o, double x) { o.min_category_rows = x; },
         {-1, nan, infinity},
         "finite numbers from 0"},
        {"max_split_categories",
         [](Options& o, double x) { o.max_split_categories = static_cast<int>(x); },
         {-1},
         "0 (no limit), and 1 and more"},
        {"max_bins",
         [](Options& o, double x) { o.max_bins = static_cast<int>(x); },
         {-1, 1, 65536},
         "0 (no limit), and 2 to 65535"},
        {"early_stopping",
         [](Options& o, double x) { o.early_stopping = static_cast<int>(x); },
         {-1},
         "0 (never), and 1 and more"},
        {"row_fraction",
         [](Options& o, double x) { o.row_fraction = x; },
         {0, -1, 1.5, nan},
         "greater than 0 and at most 1"},
        {"feature_fraction",
         [](Options& o, double x) { o.feature_fraction = x; },
         {0, -1, 1.5, nan},
         "greater than 0 and at most 1"},
        {"sample_rows",
         [](Options& o, double x) { o.sample_rows = static_cast<int64_t>(x); },
         {-1, 4294967295.0},
         "NULL, and 1 to 4294967294"},
        {"sketch_size",
         [](Options& o, double x) { o.sketch_size = static_cast<int>(x); },
         {-1},
         "NULL, and 1 and more"},
        {"epsilon", [](Options& o, double x) { o.epsilon = x; }, {0, 1, -1, nan}, "greater than 0 and less than 1"},
        {"delta", [](Options& o, double x) { o.delta = x; }, {0, 1, -1, nan}, "greater than 0 and less than 1"},
    };
    const PlainData data = some_data();
    for (const Case& c : cases)
        for (const double value : c.values) {
            Options options;
            c.set(options, value);
            const Caught error = fit_caught(data, options);
            EXPECT_EQ(error.code, ErrorCode::invalid_argument);
            EXPECT_EQ(error.message, format("invalid value for option \"%s\": %s", c.name, shortest(value).c_str()));
            EXPECT_EQ(error.hint, format("Valid values are %s.", c.valid));
        }
}

TEST(BoosterOptions, ImpossibleDataIsRefused) {
    Options options;
    PlainData data = some_data();
    data.columns.clear();
    EXPECT_EQ(fit_caught(data, options).message, "there are no features to learn from");

    data = some_data(true);
    std::fill(data.holdout.begin(), data.holdout.end(), 1);
    Caught error = fit_caught(data, options);
    EXPECT_EQ(error.message, "there are no rows to train on");
    EXPECT_EQ(error.detail, "Of 300 rows, 300 are held out and 0 have weight 0.");

    data = some_data();
    data.weight.assign(data.target.size(), 0);
    EXPECT_EQ(fit_caught(data, options).detail, "Of 300 rows, 0 are held out and 300 have weight 0.");
    data.weight[3] = -2;
    EXPECT_EQ(fit_caught(data, options).message, "weight -2 is out of range");
    EXPECT_EQ(fit_caught(data, options).code, ErrorCode::out_of_range);

    data = some_data();
    data.target[7] = -1e150;
    EXPECT_EQ(fit_caught(data, options).message, "target value of magnitude 1e+150 is out of range");
    EXPECT_EQ(fit_caught(data, options).code, ErrorCode::out_of_range);
    data.target[7] = std::nan("");
    EXPECT_EQ(fit_caught(data, options).code, ErrorCode::out_of_range);

    options.early_stopping = 5;
    EXPECT_EQ(fit_caught(some_data(), options).message, "early_stopping needs held-out rows");
    data = some_data(true);
    std::fill(data.holdout.begin(), data.holdout.end(), 0);
    EXPECT_EQ(fit_caught(data, options).message, "early_stopping needs held-out rows");
}

TEST(BoosterOptions, NoRowsAtAll) {
    PlainData data = some_data();
    data.rows = 0;
    for (PlainTable& table : data.tables) table = {};
    for (PlainColumn& column : data.columns) {
        column.numbers.clear();
        column.codes.clear();
    }
    data.target.clear();
    EXPECT_EQ(fit_caught(data, {}).message, "there are no rows to train on");
}

TEST(BoosterOptions, LargestTargetsFit) {
    PlainData data = some_data();
    for (double& y : data.target) y = (y - 102) * 1e149 / 4;
    const Model model = fit_plain(data, {});
    EXPECT_TRUE(std::isfinite(model.log.back().train_loss));
    EXPECT_LT(model.log.back().train_loss, model.log.front().train_loss);
    EXPECT_GT(model.trees[0].size(), 1u);
}

TEST(BoosterOptions, ConstantTargetGivesTheConstant) {
    for (const double y : {0.0, 0.1, -1e100}) {
        PlainData data = some_data();
        std::fill(data.target.begin(), data.target.end(), y);
        const Model model = fit_plain(data, {});
        EXPECT_EQ(model.bases[0], y);
        ASSERT_EQ(model.trees.size(), 100u);
        for (const Tree& tree : model.trees) {
            ASSERT_EQ(tree.size(), 1u);
            EXPECT_EQ(tree[0].value, 0);
        }
        EXPECT_EQ(model.log.back().train_loss, 0);
        EXPECT_EQ(model.log.size(), 100u);
    }
}

TEST(BoosterOptions, ConstantFeaturesAndOneRow) {
    PlainData data = some_data();
    for (PlainColumn& column : data.columns) {
        std::fill(column.numbers.begin(), column.numbers.end(), 4);
        std::fill(column.codes.begin(), column.codes.end(), 0);
    }
    EXPECT_EQ(fit_plain(data, {}).trees[5].size(), 1u);
    Options options;
    options.min_leaf_rows = 0;
    const Model one = fit_plain(some_data(false, 1), options);
    EXPECT_EQ(one.trees[0].size(), 1u);
    EXPECT_EQ(one.rows, 1u);
}

TEST(BoosterOptions, EarlyStoppingKeepsTheBestTrees) {
    const PlainData data = some_data(true);
    Options options;
    options.min_leaf_rows = 1;
    options.learning_rate = 0.7;
    const Model all = fit_plain(data, options);
    options.early_stopping = 3;
    const Model stopped = fit_plain(data, options);
    size_t best = 0; // by half of the rows that are held out
    for (size_t t = 0; t < stopped.log.size(); t++)
        if (*stopped.log[t].holdout_loss < *stopped.log[best].holdout_loss) best = t;
    EXPECT_LT(best, 90u);
    EXPECT_EQ(stopped.trees.size(), best + 1);
    EXPECT_EQ(stopped.log.size(), best + 4);
    for (size_t t = 0; t < stopped.trees.size(); t++) EXPECT_EQ(stopped.trees[t].size(), all.trees[t].size());
}

TEST(BoosterOptions, RowFractionSamplesRowsOfTheTargetsTable) {
    Options options;
    options.trees = 30;
    options.row_fraction = 0.5;
    options.seed = 5;
    const PlainData data = some_data(false, 2000);
    const Model model = fit_plain(data, options);
    for (size_t t = 0; t < model.trees.size(); t++) {
        double expected = 0;
        for (size_t row = 0; row < data.rows; row++) expected += random_unit(5, t, row) < 0.5;
        EXPECT_EQ(model.trees[t][0].rows, expected);
    }
    EXPECT_LT(model.log.back().train_loss, 0.5 * model.log.front().train_loss);
    // The loss is that of all training rows, sampled or not.
    QuietContext quiet;
    Predictor predict(model, quiet);
    double loss = 0;
    for (size_t row = 0; row < data.rows; row++)
        loss += std::pow(data.target_of(row) - predict(data.features_of(row)), 2) / 2000;
    EXPECT_NEAR(loss, model.log.back().train_loss, 1e-10);
    options.row_fraction = 1e-9;
    EXPECT_EQ(fit_plain(data, options).trees[0].size(), 1u);
}

TEST(BoosterOptions, FeatureFractionLimitsTheFeaturesOfATree) {
    Options options;
    options.feature_fraction = 0.4; // 2 of 5
    options.min_leaf_rows = 1;
    const Model model = fit_plain(some_data(), options);
    std::vector<int> trees_with(5, 0);
    for (const Tree& tree : model.trees) {
        std::vector<bool> used(5, false);
        for (const Node& node : tree)
            if (!node.is_leaf()) used[static_cast<size_t>(node.feature)] = true;
        EXPECT_LE(std::count(used.begin(), used.end(), true), 2);
        for (size_t f = 0; f < 5; f++) trees_with[f] += used[f];
    }
    for (const int trees : trees_with) EXPECT_GT(trees, 10);
}

TEST(BoosterOptions, ForeignNamesStandForChoices) {
    size_t names = 0;
    for (const Option<Options>& option : options_table)
        for (const OtherNames& foreign : option.foreign_names) {
            EXPECT_LT(option.index_of(foreign.ours), option.choices.size()) << foreign.ours;
            for (const char* const name : foreign.names) {
                names++;
                EXPECT_EQ(option.meant_by(name), foreign.ours);
                EXPECT_EQ(option.index_of(name), option.choices.size()) << name;
            }
        }
    EXPECT_GT(names, 50u);
}

TEST(BoosterOptions, MemoryIsRefusedBeforeTheWork) {
    const PlainData data = some_data(false, 20000);
    for (uint64_t limit = 100 << 10;; limit += limit / 4) {
        QuietContext context(2, limit);
        const Caught error = caught([&] { fit(to_dataset(data, context), {}, context); });
        EXPECT_EQ(context.memory().used(), 0u);
        if (!error.thrown) {
            EXPECT_LT(limit, uint64_t{16} << 20);
            break;
        }
        EXPECT_EQ(error.code, ErrorCode::memory_limit);
        EXPECT_TRUE(error.message.starts_with("memory required is ")) << error.message;
    }
}

TEST(BoosterOptions, CancelFreesEverything) {
    const PlainData data = some_data(true, 30000);
    Options options;
    options.trees = 3;
    for (const int bins : {255, 0}) {
        options.max_bins = bins;
        bool finished = false;
        int cancelled = 0;
        for (uint64_t polls = 0; !finished; polls += 1 + polls / 8) {
            ImpatientContext context(polls);
            try {
                fit(to_dataset(data, context), options, context);
                finished = true;
            } catch (const Cancelled&) {
                cancelled++;
            }
            EXPECT_EQ(context.memory().used(), 0u);
        }
        EXPECT_GT(cancelled, 10);
    }
}

TEST(BoosterOptions, MaxDepthAndLeaves) {
    const PlainData data = some_data(false, 3000);
    Options options;
    options.trees = 2;
    options.max_leaves = 0;
    options.max_depth = 3;
    options.min_leaf_rows = 1;
    for (const Tree& tree : fit_plain(data, options).trees) {
        std::vector<int> depth(tree.size(), 0);
        for (size_t i = 1; i < tree.size(); i++) {
            depth[i] = depth[static_cast<size_t>(tree[i].parent)] + 1;
            EXPECT_GE(depth[i], depth[i - 1]); // level by level
            EXPECT_LE(depth[i], 3);
        }
        EXPECT_GT(tree.size(), 8u);
    }
    options = {};
    options.max_leaves = 7;
    for (const Tree& tree : fit_plain(data, options).trees) EXPECT_EQ(tree.size(), 13u);
}

} // namespace
} // namespace btml::boosting::test
