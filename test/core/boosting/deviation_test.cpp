#include "boosting_data.hpp"

#include "caught.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"

#include <numbers>

namespace btml::boosting::test {
namespace {

using btml::test::caught;

double normal(Random& random) {
    return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
}

double true_deviation(double x) {
    return x < 1 ? 0.5 : 3;
}

// One table; the targets' mean follows the second feature, their deviation the first.
PlainData wide_and_narrow(size_t rows, uint64_t seed, bool holdout) {
    Random random(seed);
    PlainData data;
    data.rows = rows;
    data.tables = {{rows, {}}};
    data.columns = {{"x", false, 0, {}, {}}, {"m", false, 0, {}, {}}};
    if (holdout) data.holdout_table = 0;
    for (size_t i = 0; i < rows; i++) {
        const double x = 2 * random.unit(), m = 4 * random.unit();
        data.columns[0].numbers.push_back(x);
        data.columns[1].numbers.push_back(m);
        data.target.push_back(3 * m + true_deviation(x) * normal(random));
        if (holdout) data.holdout.push_back(random.chance(0.3));
    }
    return data;
}

Options learned() {
    Options options;
    options.trees = 40;
    options.max_leaves = 8;
    options.learn_deviation = true;
    return options;
}

// Predicts deviations as an own model would.
class Deviations {
  public:
    explicit Deviations(const Model& model) : factor_(model.deviation->factor), predict_(as_model(model), context_) {}
    double operator()(const std::vector<double>& features) {
        return factor_ * std::exp(predict_.scores(features)[0] / 2);
    }

  private:
    static Model as_model(const Model& model) {
        Model own;
        own.features = model.features;
        own.bases = {model.deviation->base};
        own.trees = model.deviation->trees;
        own.options.objective = ObjectiveNumber::squared;
        return own;
    }

    QuietContext context_;
    double factor_;
    Predictor predict_;
};

double mean_square(const std::vector<double>& z) {
    double sum = 0;
    for (const double each : z) sum += each * each;
    return sum / static_cast<double>(z.size());
}

TEST(Deviation, IsLearned) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        for (const bool holdout : {false, true}) {
            SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
            const Model model = fit_plain(wide_and_narrow(1800, seed, holdout), learned());
            ASSERT_TRUE(model.deviation);
            EXPECT_EQ(model.calibration->method,
                      holdout ? uncertainty::Method::split_conformal : uncertainty::Method::out_of_fold);
            EXPECT_EQ(model.calibration->rows, holdout ? model.holdout_rows : 1800u);
            EXPECT_NEAR(mean_square(model.calibration->kept), 1, 1e-9);
            Deviations deviation(model);
            // Of new rows, the errors over the deviations are alike where these are small and where they are large.
            QuietContext context;
            Predictor predict(model, context);
            Random random(seed + 50);
            double deviations[2];
            for (const int wide : {0, 1}) {
                double squares = 0, sum = 0;
                static constexpr int rows = 1000;
                for (int i = 0; i < rows; i++) {
                    const double x = wide + random.unit(), m = 4 * random.unit();
                    const double y = 3 * m + true_deviation(x) * normal(random), found = deviation({x, m});
                    const double z = (y - predict(std::vector{x, m})) / found;
                    squares += z * z / rows;
                    sum += found / rows;
                }
                EXPECT_TRUE(squares > 0.5 && squares < 1.6) << squares << " where deviations are " << sum;
                deviations[wide] = sum;
            }
            EXPECT_GT(deviations[1], 2.5 * deviations[0]);
        }
    }
}

// Of a deviation that is the same everywhere, trees hardly tell more than a constant.
TEST(Deviation, NothingIsMadeOfNoise) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        PlainData data = wide_and_narrow(1500, seed, true);
        Random random(seed + 99);
        for (size_t i = 0; i < data.rows; i++) data.target[i] = data.columns[1].numbers[i] + normal(random);
        Deviations deviation(fit_plain(data, learned()));
        for (int i = 0; i < 50; i++) EXPECT_NEAR(deviation({2 * random.unit(), 4 * random.unit()}), 1, 0.45) << seed;
    }
}

TEST(Deviation, CalibrationIsOfPredictionsOverDeviations) {
    int compared = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        SCOPED_TRACE(seed);
        DataShape shape;
        shape.rows = 60 + 40 * (seed % 5);
        shape.holdout = true;
        shape.weights = seed % 3 == 1;
        shape.odd_numbers = seed % 4 == 2;
        shape.fact_ids = seed % 5 == 3;
        PlainData data = random_data(shape, seed);
        if (seed % 3 == 2)
            for (size_t i = 0; i < data.target.size(); i++) data.offset.push_back(static_cast<double>(i % 7) / 9);
        Options options = learned();
        options.objective = seed % 2 ? ObjectiveNumber::squared : ObjectiveNumber::poisson;
        options.min_leaf_rows = 3;
        options.trees = 10;
        Model model;
        try {
            model = fit_plain(data, options, 1 + static_cast<int>(seed % 3));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
            continue;
        }
        QuietContext context;
        Predictor predict(model, context);
        Deviations deviation(model);
        std::vector<double> expected;
        for (size_t row = 0; row < data.rows; row++) {
            if (!data.held_out(row) || data.weight_of(row) == 0) continue;
            std::vector<double> features = data.features_of(row);
            if (!data.offset.empty()) features.push_back(data.offset_of(row));
            expected.push_back((data.target_of(row) - predict(features)) / deviation(features));
        }
        if (expected.empty()) {
            EXPECT_EQ(model.calibration->method, uncertainty::Method::out_of_fold);
            continue;
        }
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(model.calibration->rows, expected.size());
        for (size_t i = 0; i < expected.size(); i++)
            ASSERT_NEAR(model.calibration->kept[i], expected[i], 1e-9 * (1 + std::fabs(expected[i])));
        EXPECT_TRUE(bytes_of(model) == bytes_of(fit_plain(data, options, 2)));
        compared++;
    }
    EXPECT_GT(compared, 15);
}

TEST(Deviation, OrderOfRowsAndThreadsDoNotMatter) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        const PlainData data = wide_and_narrow(700, seed, seed % 2);
        Options options = learned();
        if (seed % 2) options.early_stopping = 3;
        const std::string bytes = bytes_of(fit_plain(data, options));
        EXPECT_TRUE(bytes == bytes_of(fit_plain(reorder(data, random_order(data.rows, seed)), options, 3)));
    }
}

// A promise about predictions is none about deviations.
TEST(Deviation, MayFallWherePredictionsMustGrow) {
    PlainData data = wide_and_narrow(2000, 3, true);
    for (double& x : data.columns[0].numbers) x = 2 - x;
    data.columns[0].direction = 1;
    Deviations deviation(fit_plain(data, learned()));
    EXPECT_GT(deviation({0.3, 2}), 2 * deviation({1.7, 2}));
}

TEST(Deviation, TargetsThatAreMetExactly) {
    PlainData data = wide_and_narrow(400, 1, true);
    for (double& y : data.target) y = 5;
    const Model model = fit_plain(data, learned());
    EXPECT_EQ(model.calibration->quantile(0.9), 0);
    Deviations deviation(model);
    EXPECT_LT(deviation({1, 1}), 1e-100);
    // Most are, some are off.
    Random random(4);
    for (double& y : data.target) y = random.chance(0.1) ? 6 : 5;
    const Model tied = fit_plain(data, learned());
    EXPECT_NEAR(mean_square(tied.calibration->kept), 1, 1e-9);
}

TEST(Deviation, RoundTripAndSizes) {
    const Model model = fit_plain(wide_and_narrow(300, 1, true), learned());
    const std::string bytes = bytes_of(model);
    QuietContext context;
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
    EXPECT_TRUE(bytes_of(decode(reader)) == bytes);
    Model without = model;
    without.calibration.reset();
    const std::string bad = bytes_of(without);
    Reader other(std::as_bytes(std::span(bad.data(), bad.size())));
    EXPECT_EQ(caught([&] { decode(other); }).detail, "It has a deviation without a calibration.");
}

TEST(Deviation, Errors) {
    const auto message = [](const PlainData& data, const Options& options) {
        return caught([&] { fit_plain(data, options); }).message;
    };
    PlainData one = wide_and_narrow(3, 1, true);
    one.holdout = {0, 1, 1};
    EXPECT_EQ(message(one, learned()), "what is learned out of 2 folds needs 2 rows of the target's table to train on");
    Options options = learned();
    options.strategy = Strategy::factorize;
    EXPECT_EQ(message(one, options), "deviation => 'learned' is not valid with strategy => 'factorize'");
    options.strategy = Strategy::distributed;
    EXPECT_EQ(message(one, options), "deviation => 'learned' is not valid with strategy => 'distributed'");
    options = learned();
    options.objective = ObjectiveNumber::binary;
    EXPECT_EQ(message(one, options), "deviation => 'learned' is not valid with objective => 'binary'");
}

// One row of a count may be enough for trees, but not for those of both halves.
TEST(Deviation, SaysWhichRowsAreTooFew) {
    PlainData data = wide_and_narrow(60, 1, false);
    for (double& y : data.target) y = 0;
    data.target[7] = 1;
    Options options = learned();
    options.objective = ObjectiveNumber::poisson;
    const auto error = caught([&] { fit_plain(data, options); });
    EXPECT_EQ(error.message,
              "the deviation cannot be learned: of half of the rows, the target is 0 in all rows to train on");
    options.learn_deviation = false;
    EXPECT_FALSE(caught([&] { fit_plain(data, options); }).thrown);
}

} // namespace
} // namespace btml::boosting::test
