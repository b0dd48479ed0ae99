#include "boosting_data.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"

namespace btml::boosting::test {
namespace {

constexpr ObjectiveNumber objectives[] = {ObjectiveNumber::squared, ObjectiveNumber::absolute,
                                          ObjectiveNumber::quantile, ObjectiveNumber::poisson};

DataShape shape_of(uint64_t seed) {
    DataShape shape;
    shape.rows = 40 + 60 * (seed % 7);
    shape.holdout = true;
    shape.weights = seed % 3 == 1;
    shape.odd_numbers = seed % 4 == 2;
    shape.fact_ids = seed % 5 == 3;
    shape.distinct = seed % 2 ? 0 : 12;
    return shape;
}

Options options_of(uint64_t seed) {
    Options options;
    options.objective = objectives[seed % std::size(objectives)];
    options.trees = 1 + static_cast<int>(seed % 20);
    options.max_leaves = 2 + static_cast<int>(seed % 9);
    options.min_leaf_rows = 3;
    options.max_bins = seed % 2 ? 255 : 7;
    return options;
}

// What the predictor is off for each held-out row of positive weight, ascending.
std::vector<double> held_out_errors(const PlainData& data, const Model& model) {
    QuietContext context;
    Predictor predict(model, context);
    std::vector<double> errors;
    for (size_t row = 0; row < data.rows; row++) {
        if (!data.held_out(row) || data.weight_of(row) == 0) continue;
        std::vector<double> features = data.features_of(row);
        if (!data.offset.empty()) features.push_back(data.offset_of(row));
        errors.push_back(data.target_of(row) - predict(features));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
}

bool is_near(double a, double b) {
    return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(a));
}

TEST(CalibrationRows, AreWhatPredictionsOfHeldOutRowsAreOff) {
    int calibrated = 0;
    for (uint64_t seed = 0; seed < 80; seed++) {
        SCOPED_TRACE(seed);
        PlainData data = random_data(shape_of(seed), seed);
        if (seed % 3 == 2)
            for (size_t i = 0; i < data.target.size(); i++) data.offset.push_back(static_cast<double>(i % 7) / 9);
        const Model model = fit_plain(data, options_of(seed), 1 + static_cast<int>(seed % 3));
        const std::vector<double> errors = held_out_errors(data, model);
        ASSERT_EQ(model.calibration.has_value(), !errors.empty());
        if (errors.empty()) continue;
        calibrated++;
        EXPECT_EQ(model.calibration->rows, errors.size());
        EXPECT_EQ(model.calibration->method, uncertainty::Method::split_conformal);
        for (size_t i = 0; i < errors.size(); i++)
            ASSERT_TRUE(is_near(model.calibration->kept[i], errors[i])) << errors[i];
    }
    EXPECT_GT(calibrated, 60);
}

// Every second row of the target's table, wherever it lies, and what is left of them for the choice.
TEST(CalibrationRows, HalfOfThemChooseTheNumberOfTrees) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED_TRACE(seed);
        DataShape shape = shape_of(seed);
        shape.fact_ids = shape.weights = false;
        const PlainData data = random_data(shape, seed);
        const std::vector<double> all = held_out_errors(data, fit_plain(data, options_of(seed)));
        if (all.empty()) continue;
        Options options = options_of(seed);
        options.trees = 60;
        options.early_stopping = 3;
        const Model model = fit_plain(data, options);
        EXPECT_EQ(model.holdout_rows, all.size());
        ASSERT_EQ(model.calibration.has_value(), all.size() > 1);
        if (all.size() == 1) continue;
        EXPECT_EQ(model.calibration->rows, all.size() / 2);
        std::vector<double> errors = held_out_errors(data, model);
        double squares = 0, squares_of_half = 0;
        for (const double z : model.calibration->kept) {
            const auto found =
                std::find_if(errors.begin(), errors.end(), [&](double error) { return is_near(z, error); });
            ASSERT_TRUE(found != errors.end()) << z;
            errors.erase(found);
            squares_of_half += z * z;
        }
        if (options.objective == ObjectiveNumber::squared) {
            for (const double error : errors) squares += error * error;
            const double loss = *model.log[model.trees.size() - 1].holdout_loss;
            EXPECT_NEAR(loss, squares / static_cast<double>(errors.size()), 1e-9 * loss);
        }
        const PlainData reordered = reorder(data, random_order(data.rows, seed + 1));
        EXPECT_TRUE(bytes_of(model) == bytes_of(fit_plain(reordered, options, 3)));
    }
}

// Rows of the join that come from one row of the target's table are on one side.
TEST(CalibrationRows, KeepWhatComesFromOneTargetTogether) {
    int calibrated = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        SCOPED_TRACE(seed);
        DataShape shape = shape_of(seed);
        shape.fact_ids = true;
        shape.weights = false;
        const PlainData data = random_data(shape, seed);
        Options options = options_of(seed);
        options.early_stopping = 4;
        Model model;
        try {
            model = fit_plain(data, options);
        } catch (const Error& error) {
            EXPECT_EQ(error.message(), "early_stopping needs held-out rows");
            continue;
        }
        std::vector<size_t> rows_of_target(data.target.size(), 0);
        for (size_t row = 0; row < data.rows; row++)
            if (data.held_out(row)) rows_of_target[data.row_of(0, row)]++;
        // Whether a sum of some of the numbers is that of the calibration, by which sums can be reached.
        std::vector<uint8_t> reached(data.rows + 1, 0);
        reached[0] = 1;
        for (const size_t rows : rows_of_target)
            for (size_t sum = data.rows; rows > 0 && sum >= rows; sum--) reached[sum] |= reached[sum - rows];
        EXPECT_TRUE(reached[model.calibration ? model.calibration->rows : 0]);
        calibrated += model.calibration.has_value();
    }
    EXPECT_GT(calibrated, 5);
}

TEST(CalibrationRows, ThereAreNoneForLabels) {
    PlainData data = random_data(shape_of(1), 1);
    data.labels = 2;
    for (double& y : data.target) y = y > 101;
    Options options = options_of(1);
    options.objective = ObjectiveNumber::binary;
    EXPECT_FALSE(fit_plain(data, options).calibration);
}

} // namespace
} // namespace btml::boosting::test
