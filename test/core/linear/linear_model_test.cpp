#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"

#include <algorithm>

namespace btml::linear::test {
namespace {

using btml::test::caught;

Model some_model(uint64_t seed) {
    QuietContext context;
    Options options = options_of(all_families[seed % 4]);
    if (seed % 3 == 1) options.penalty = 0.1;
    if (seed % 3 == 2) options.std_error = StdError::robust;
    PlainRows rows = random_rows(150, seed, options.family);
    if (options.family == Family::binomial) rows.labels = {"no", "yes"};
    Model model = fit_rows(rows, options, context).model;
    model.target = "y";
    model.strategy = "enumerate";
    model.rows_skipped = 3;
    return model;
}

std::vector<double> random_point(const Model& model, Random& random) {
    std::vector<double> point;
    for (const Feature& feature : model.features)
        point.push_back(random.chance(0.2)    ? null_number
                        : feature.categorical ? static_cast<double>(random.below(feature.categories.size() + 2)) - 1
                                              : 1000 * random.normal());
    return point;
}

TEST(LinearModel, RoundTrip) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const Model model = some_model(seed);
        const std::string bytes = bytes_of(model);
        const Model copy = model_of(bytes, context);
        EXPECT_EQ(bytes_of(copy), bytes);
        EXPECT_EQ(copy.target, "y");
        EXPECT_EQ(copy.rows_skipped, 3u);
        EXPECT_EQ(copy.options.family, model.options.family);
        EXPECT_EQ(copy.labels, model.labels);
        Predictor original(model), decoded(copy);
        Random random(seed);
        for (int i = 0; i < 20; i++) {
            const std::vector<double> point = random_point(model, random);
            EXPECT_EQ(original(point), decoded(point));
        }
    }
}

// Bytes that decode can be used, and are the bytes of the model.
TEST(LinearModel, CorruptBytesAreRefused) {
    Random random(4);
    size_t accepted = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const std::string bytes = bytes_of(some_model(seed));
        for (int i = 0; i < 4000; i++) {
            QuietContext context(1, uint64_t{1} << 26);
            std::string changed = bytes;
            const size_t at = random.below(bytes.size());
            if (i % 10 == 0)
                changed.resize(at);
            else
                changed[at] = static_cast<char>(random.below(256));
            const auto found = caught([&] {
                const Model model = model_of(changed, context);
                Predictor predictor(model);
                const std::vector<double> point = random_point(model, random);
                predictor(point);
                if (predictor.has_errors()) predictor.standard_error(point);
                coefficients(model, {});
                EXPECT_EQ(bytes_of(model), changed);
                accepted++;
            });
            EXPECT_EQ(found.thrown ? found.code : ErrorCode::corrupt_model, ErrorCode::corrupt_model) << found.message;
        }
    }
    EXPECT_GT(accepted, 100u);
}

TEST(LinearModel, ContributionsAddUp) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        const Model model = some_model(seed);
        Predictor predictor(model);
        Random random(seed);
        std::vector<double> adds(model.features.size());
        for (int i = 0; i < 50; i++) {
            const std::vector<double> point = random_point(model, random);
            predictor.contributions(point, adds);
            double sum = predictor.base();
            for (const double each : adds) sum += each;
            EXPECT_EQ(sum, predictor.score(point));
            // The same by the coefficients, from the intercept on.
            double by_coefficients = model.intercept, size = std::fabs(model.intercept);
            for (const Column& column : model.columns) {
                const double value = point[column.feature];
                const double of_column = column.kind == ColumnKind::missing    ? is_null(value)
                                         : column.kind == ColumnKind::category ? value == column.category
                                         : is_null(value)                      ? column.mean
                                                                               : value;
                by_coefficients += column.estimate * of_column;
                size += std::fabs(column.estimate * of_column);
            }
            EXPECT_NEAR(sum, by_coefficients, 1e-12 * size);
        }
    }
}

// A code that is none is a category that no training row had, which counts as that of reference.
TEST(LinearModel, CodesAreWholeNumbers) {
    const Model model = some_model(0);
    Predictor predictor(model);
    size_t categorical = 0;
    for (size_t f = 0; f < model.features.size(); f++) {
        if (!model.features[f].categorical) continue;
        categorical++;
        std::vector<double> point(model.features.size(), 0), adds(point.size()), of_unseen(point.size());
        point[f] = -1;
        predictor.contributions(point, of_unseen);
        for (size_t code = 0; code < model.features[f].categories.size(); code++) {
            point[f] = static_cast<double>(code) + 0.5;
            predictor.contributions(point, adds);
            EXPECT_EQ(adds[f], of_unseen[f]);
        }
    }
    EXPECT_GT(categorical, 0u);
}

// The probability of either label keeps its digits where it is all but 0.
TEST(LinearModel, ProbabilitiesOfBothLabels) {
    Model model;
    model.options.family = Family::binomial;
    model.features = {{"x", "double precision", false, {}}};
    model.columns = {{0, ColumnKind::number, 0, ColumnState::kept, 0, 1, 1, 0}};
    Predictor predictor(model);
    for (const double score : {-800.0, -175.0, -1.0, 0.0, 1.0, 175.0, 800.0}) {
        const auto [first, second] = predictor.probabilities(std::vector<double>{score});
        EXPECT_EQ(first, predictor(std::vector<double>{-score}));
        EXPECT_EQ(second, predictor(std::vector<double>{score}));
        EXPECT_GT(first, 0);
        EXPECT_NEAR(first + second, 1, 1e-15);
    }
}

// NaN and infinity go through a coefficient but one of 0.
TEST(LinearModel, NumbersThatAreNotFinite) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    Model model;
    model.options.family = Family::gaussian;
    model.features = {{"x", "double precision", false, {}}, {"none", "double precision", false, {}}};
    model.centre = 5;
    model.columns = {{0, ColumnKind::number, 0, ColumnState::kept, 1, 1, 2, 0},
                     {1, ColumnKind::number, 0, ColumnState::kept, 1, 1, 0, 0}};
    model.statistics.dispersion = 1;
    model.statistics.degrees_of_freedom = 10;
    model.covariance = {0.1, 0.01, 0.1, 0.01, 0.02, 0.1};
    Predictor predictor(model);
    EXPECT_TRUE(predictor.takes_number(0));
    EXPECT_FALSE(predictor.takes_number(1));
    for (const double odd : {infinity, -infinity, nan}) EXPECT_EQ(predictor(std::vector<double>{2, odd}), 7);
    EXPECT_EQ(predictor(std::vector<double>{-infinity, 0}), -infinity);
    EXPECT_TRUE(std::isnan(predictor(std::vector<double>{nan, 0})));
    for (const bool of_mean : {false, true}) {
        const auto interval = [&](double x) {
            const std::vector<double> point{x, 0};
            return of_mean ? predictor.mean_interval(point, 0.9) : predictor.observation_interval(point, 0.9);
        };
        EXPECT_EQ(interval(infinity).lower, -infinity);
        EXPECT_EQ(interval(-infinity).upper, infinity);
        EXPECT_TRUE(std::isnan(interval(nan).lower) && std::isnan(interval(nan).upper));
        EXPECT_LT(interval(3).upper - interval(3).lower, 10);
    }
}

// What features add is 0 on the average of the training rows.
TEST(LinearModel, ContributionsAreCentred) {
    QuietContext context;
    PlainRows rows = random_rows(200, 9, Family::gaussian);
    rows.held_out.clear();
    const Model model = fit_rows(rows, options_of(Family::gaussian), context).model;
    Predictor predictor(model);
    std::vector<double> adds(rows.features.size()), sums(rows.features.size());
    for (size_t i = 0; i < rows.size(); i++) {
        predictor.contributions(rows.features_of(i), adds);
        for (size_t f = 0; f < adds.size(); f++) sums[f] += rows.weight[i] * adds[f];
    }
    for (const double sum : sums) EXPECT_NEAR(sum, 0, 1e-9);
}

// Intervals of 90 % hold nine of ten new observations and means.
TEST(LinearModel, IntervalsHoldWhatTheyPromise) {
    QuietContext context;
    size_t observations = 0, means = 0, all = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Random random(seed);
        PlainRows rows;
        rows.features = {{"x", {}}};
        const auto mean_at = [](double x) { return 2 + 3 * x; };
        for (int i = 0; i < 12; i++) {
            rows.features[0].values.push_back(random.normal());
            rows.target.push_back(mean_at(rows.features[0].values.back()) + random.normal());
        }
        const Model model = fit_rows(rows, {}, context).model;
        Predictor predictor(model);
        for (int i = 0; i < 5; i++, all++) {
            const double x = random.normal(), y = mean_at(x) + random.normal();
            const Predictor::Interval of_mean = predictor.mean_interval(std::vector<double>{x}, 0.9),
                                      of_observation = predictor.observation_interval(std::vector<double>{x}, 0.9);
            means += of_mean.lower <= mean_at(x) && mean_at(x) <= of_mean.upper;
            observations += of_observation.lower <= y && y <= of_observation.upper;
        }
    }
    EXPECT_NEAR(static_cast<double>(means) / static_cast<double>(all), 0.9, 0.03);
    EXPECT_NEAR(static_cast<double>(observations) / static_cast<double>(all), 0.9, 0.03);
}

// On the scale of the target, intervals of means are those of the score.
TEST(LinearModel, IntervalsOfOtherFamilies) {
    QuietContext context;
    const PlainRows rows = formula_rows(Family::binomial, false);
    const Model model = fit_rows(rows, options_of(Family::binomial), context).model;
    Predictor predictor(model);
    for (size_t i = 0; i < rows.size(); i++) {
        const std::vector<double> point = rows.features_of(i);
        const Predictor::Interval found = predictor.mean_interval(point, 0.95);
        const double half = 1.959963984540054 * predictor.standard_error(point), at = predictor.score(point);
        EXPECT_NEAR(found.lower, 1 / (1 + std::exp(half - at)), 1e-12);
        EXPECT_NEAR(found.upper, 1 / (1 + std::exp(-half - at)), 1e-12);
        EXPECT_LT(found.lower, predictor(point));
        EXPECT_GT(found.upper, predictor(point));
        EXPECT_GT(predictor.mean_interval(point, 0.5).lower, found.lower);
    }
}

// Many columns leave no covariance in the model, and their standard errors stay.
TEST(LinearModel, CovariancesAreBounded) {
    QuietContext context(2);
    PlainRows rows;
    Random random(3);
    for (size_t f = 0; f < Model::max_covariance_columns; f++) rows.features.push_back({format("x%03zu", f), {}});
    for (size_t i = 0; i < 700; i++) {
        for (PlainFeature& feature : rows.features) feature.values.push_back(random.normal());
        rows.target.push_back(random.normal());
    }
    const Model model = fit_rows(rows, {}, context).model;
    EXPECT_TRUE(model.covariance.empty());
    EXPECT_GT(*coefficients(model, {})[5].std_error, 0);
    rows.features.pop_back();
    EXPECT_FALSE(fit_rows(rows, {}, context).model.covariance.empty());
}

} // namespace
} // namespace btml::linear::test
