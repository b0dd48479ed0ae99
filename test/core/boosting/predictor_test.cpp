#include "boosting_data.hpp"
#include "core/boosting/trees/boosting_predictor.hpp"
#include "walking.hpp"

#include <gtest/gtest.h>

namespace btml::boosting::test {
namespace {

double odd_value(const Feature& feature, Random& random) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    if (random.chance(0.15)) return null_number;
    if (feature.categorical) return std::floor(12 * random.unit()) - 2; // unknown ones as well
    if (random.chance(0.2)) {
        const double odd[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0, 1e308};
        return odd[random.below(6)];
    }
    return random.chance(0.5) ? std::floor(14 * random.unit()) - 7 : 14 * random.unit() - 7;
}

TEST(Predictor, InfiniteScoresHaveProbabilities) {
    constexpr double huge = 1.7e308;
    Model model;
    model.features = {{"x", "integer", false, {}}};
    model.labels = {"a", "b", "c"};
    model.options.objective = ObjectiveNumber::multiclass;
    model.bases = {huge, huge, -huge};
    for (const double value : {huge, huge, -huge}) {
        model.trees.emplace_back(1);
        model.trees.back()[0].value = value;
    }
    QuietContext quiet;
    Predictor predict(model, quiet);
    const std::span<const double> found = predict.probabilities(std::vector<double>{1});
    EXPECT_EQ(std::vector<double>(found.begin(), found.end()), (std::vector<double>{0.5, 0.5, 0}));
}

// Up to 32 leaves, up to 64, and more are three ways to predict.
TEST(Predictor, EqualsWalking) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        DataShape shape;
        shape.rows = 600;
        shape.features = 6;
        shape.odd_numbers = seed % 2;
        shape.distinct = seed % 4 ? 12 : 0;
        Options options;
        options.trees = 1 + static_cast<int>(seed % 40);
        options.max_leaves = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 64 : 90;
        options.min_leaf_rows = 1;
        const Model model = fit_plain(random_data(shape, seed), options);
        QuietContext quiet;
        Predictor predict(model, quiet);
        Random random(seed);
        for (int i = 0; i < 500; i++) {
            std::vector<double> x;
            for (const Feature& feature : model.features) x.push_back(odd_value(feature, random));
            EXPECT_EQ(predict(x), predict_by_walking(model, x));
            std::vector<int32_t> leaves(predict.trees());
            predict.leaves(x, leaves);
            double sum = model.bases[0];
            for (size_t t = 0; t < leaves.size(); t++) {
                const Node& leaf = model.trees[t][static_cast<size_t>(leaves[t])];
                EXPECT_TRUE(leaf.is_leaf());
                sum += leaf.value;
            }
            EXPECT_EQ(sum, predict_by_walking(model, x));
        }
    }
}

// Floats are rounded after every tree, means taken last, and zeros may be missing.
TEST(Predictor, ImportedModelsEqualWalking) {
    size_t others = 0;
    for (uint64_t seed = 0; seed < 24; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Options options;
        options.trees = 1 + static_cast<int>(seed);
        options.max_leaves = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 64 : 90;
        options.min_leaf_rows = 1;
        Model model = fit_plain(random_data({}, seed), options);
        const Model ours = model;
        model.imported = Import{"", ""};
        model.imported->single_precision = seed % 2;
        model.imported->averages = seed % 4 > 1;
        if (seed % 5 > 2) model.imported->zero_is_missing.assign(model.features.size(), 1);
        QuietContext quiet;
        Predictor predict(model, quiet);
        Random random(seed);
        for (int i = 0; i < 200; i++) {
            std::vector<double> x;
            for (const Feature& feature : model.features) x.push_back(odd_value(feature, random));
            const double score = scores_by_walking(model, x)[0];
            EXPECT_EQ(predict.scores(x)[0], score);
            EXPECT_TRUE(!model.imported->single_precision || model.imported->averages ||
                        score == static_cast<double>(static_cast<float>(score)));
            others += score != scores_by_walking(ours, x)[0];
        }
    }
    EXPECT_GT(others, 1000u);
}

TEST(Predictor, TheFirstTreesAreAModelOfTheirOwn) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Options options;
        options.trees = 23;
        options.max_leaves = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 64 : 90;
        options.min_leaf_rows = 1;
        Model model = fit_plain(random_data({}, seed), options);
        QuietContext quiet;
        Predictor predict(model, quiet);
        Random random(seed);
        for (; !model.trees.empty(); model.trees.pop_back()) {
            for (int i = 0; i < 20; i++) {
                std::vector<double> x;
                for (const Feature& feature : model.features) x.push_back(odd_value(feature, random));
                EXPECT_EQ(predict.scores(x, model.iterations())[0], scores_by_walking(model, x)[0]);
            }
        }
        EXPECT_EQ(predict.scores(std::vector<double>(model.features.size(), 0.0), 0)[0], model.bases[0]);
    }
}

TEST(Predictor, AnOffsetIsAddedAndMustBeThere) {
    Model model;
    model.bases[0] = 1;
    model.features = {{"x", "double precision", false, {}}, {"exposure", "double precision", false, {}}};
    model.offset = 1;
    QuietContext quiet;
    Predictor predict(model, quiet);
    EXPECT_EQ(predict(std::vector{null_number, 2.5}), 3.5);
    for (const double bad : {null_number, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL})
        EXPECT_THROW(predict(std::vector{0.0, bad}), Error);
}

TEST(Predictor, ThresholdsAreExact) {
    Model model;
    model.features = {{"x", "double precision", false, {}}};
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double threshold : {-infinity, -1.5, -0.0, 2.0, infinity, nan}) {
        Node node, left, right;
        node.left = 1;
        node.right = 2;
        node.feature = 0;
        node.threshold = threshold;
        left.value = 1;
        right.value = 100;
        model.trees.push_back({node, left, right});
    }
    QuietContext quiet;
    Predictor predict(model, quiet);
    const auto at = [&](double x) {
        EXPECT_EQ(predict(std::vector{x}), predict_by_walking(model, std::vector{x}));
        return predict(std::vector{x});
    };
    EXPECT_EQ(at(-infinity), 105); // right of −∞, left of the five others
    EXPECT_EQ(at(-1.5), 204);
    EXPECT_EQ(at(0), 303);
    EXPECT_EQ(at(-0.0), 303);
    EXPECT_EQ(at(2), 402);
    EXPECT_EQ(at(infinity), 501);
    EXPECT_EQ(at(nan), 600);
    EXPECT_EQ(at(null_number), 600);
}

TEST(Predictor, WithoutTreesThereIsTheBase) {
    Model model;
    model.bases[0] = 3.5;
    QuietContext quiet;
    EXPECT_EQ(Predictor(model, quiet)({}), 3.5);
}

// What training did to the residuals is what prediction adds up.
TEST(Predictor, AgreesWithTheTrainingLoss) {
    DataShape shape;
    shape.rows = 500;
    shape.holdout = true;
    const PlainData data = random_data(shape, 9);
    Options options;
    options.trees = 30;
    const Model model = fit_plain(data, options);
    QuietContext quiet;
    Predictor predict(model, quiet);
    double train = 0, holdout = 0;
    for (size_t row = 0; row < data.rows; row++) {
        const double r = data.target_of(row) - predict(data.features_of(row));
        (data.held_out(row) ? holdout : train) += r * r;
    }
    EXPECT_NEAR(train / static_cast<double>(model.rows), model.log.back().train_loss, 1e-10);
    EXPECT_NEAR(holdout / static_cast<double>(model.holdout_rows), *model.log.back().holdout_loss, 1e-10);
}

} // namespace
} // namespace btml::boosting::test
