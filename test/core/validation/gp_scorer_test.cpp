// Scores of Gaussian processes on folds against fits of the other rows by themselves.
#include "boosting/boosting_data.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/validation/gp_scorer.hpp"

namespace btml::validation {
namespace {

using boosting::test::DataShape;
using boosting::test::PlainData;
using boosting::test::to_dataset;

struct Scores {
    double rmse, mae, mean_nll;
};

// Drops the categories that the rows do not have, as if they alone were read.
PlainData alone(PlainData data, std::vector<std::vector<double>>& codes) {
    for (auto& column : data.columns) {
        std::vector<double>& code_of = codes.emplace_back(column.categories, -1);
        for (uint32_t code = 0, next = 0; code < column.categories; code++)
            if (std::find(column.codes.begin(), column.codes.end(), code) != column.codes.end())
                code_of[code] = static_cast<double>(next++);
        for (uint32_t& code : column.codes)
            if (code != FeatureColumn::null_code) code = static_cast<uint32_t>(code_of[code]);
        column.categories =
            static_cast<uint32_t>(std::count_if(code_of.begin(), code_of.end(), [](double c) { return c >= 0; }));
    }
    return data;
}

Scores plain_scores(const PlainData& data, const std::vector<uint16_t>& folds, size_t fold,
                    const gp::Options& options) {
    std::vector<size_t> train;
    for (size_t row = 0; row < data.rows; row++)
        if (folds[row] != fold && folds[row] != Folds::withheld) train.push_back(row);
    std::vector<std::vector<double>> codes;
    QuietContext context;
    gp::FitResult fitted = gp::fit(to_dataset(alone(reorder(data, train), codes), context), options, context);
    gp::Predictor predictor(fitted.model);
    double squares = 0, absolute = 0, nll = 0, weights = 0;
    for (size_t row = 0; row < data.rows; row++) {
        if (folds[row] != fold) continue;
        std::vector<double> point = data.features_of(row);
        for (size_t f = 0; f < point.size(); f++)
            if (data.columns[f].categorical && !is_null(point[f])) point[f] = codes[f][static_cast<size_t>(point[f])];
        const auto score = predictor.score(point, data.target_of(row));
        const double weight = data.weight_of(row), error = score.mean - data.target_of(row);
        squares += weight * error * error;
        absolute += weight * std::abs(error);
        nll -= weight * score.log_density;
        weights += weight;
    }
    return {std::sqrt(squares / weights), absolute / weights, nll / weights};
}

TEST(GpScorer, ScoresAreThoseOfFitsOfTheOtherRows) {
    for (uint64_t seed = 0; seed < 12; seed++) {
        DataShape shape;
        shape.rows = 120;
        shape.features = 3;
        shape.weights = seed % 2;
        shape.fact_ids = seed % 3 == 0;
        const PlainData data = boosting::test::random_data(shape, seed);
        gp::Options options;
        options.members = 1;
        options.evaluations = 30;
        options.combine = gp::Combine::mixture;
        QuietContext context(1 + static_cast<int>(seed % 2));
        Folds folds{{"a", "b", "c"}, {1, 1, 1}, 0, 0, Buffer<uint16_t>(context.memory(), "folds", data.rows)};
        std::vector<uint16_t> of_row;
        for (size_t row = 0; row < data.rows; row++) {
            of_row.push_back(row % 10 == 9   ? Folds::always
                             : row % 10 == 8 ? Folds::withheld
                                             : static_cast<uint16_t>(row % 3));
            folds.of_row[row] = of_row.back();
        }
        for (const GpMetric metric : {GpMetric::rmse, GpMetric::mae, GpMetric::mean_nll}) {
            GpScorer scorer(to_dataset(data, context), folds, {options}, metric, context);
            const std::vector<Curve> curves = scorer.curves(0, 0, 3, 1, "");
            for (size_t fold = 0; fold < 3; fold++) {
                const Scores plain = plain_scores(data, of_row, fold, options);
                const double expected = metric == GpMetric::rmse  ? plain.rmse
                                        : metric == GpMetric::mae ? plain.mae
                                                                  : plain.mean_nll;
                ASSERT_EQ(curves[fold].values.size(), 1u);
                EXPECT_NEAR(curves[fold].values[0], expected, 1e-12 * std::abs(expected)) << seed;
            }
            EXPECT_NEAR(
                scorer.withheld_score(0, 1),
                [&] {
                    const Scores plain = plain_scores(data, of_row, Folds::withheld, options);
                    return metric == GpMetric::rmse ? plain.rmse : metric == GpMetric::mae ? plain.mae : plain.mean_nll;
                }(),
                1e-9);
        }
    }
}

TEST(WorkerContext, SharesTheMemoryAndNamesTheLimit) {
    QuietContext outer(1, 1000 * 1024);
    const Reservation before(outer.memory(), "a dataset", 600 * 1024);
    std::atomic<bool> stop{false};
    WorkerContext fold(&outer, stop, outer.memory(), 1, "fold 1 of 2");
    EXPECT_EQ(fold.memory().left(), outer.memory().left());
    const Reservation own(fold.memory(), "a model", 300 * 1024);
    EXPECT_EQ(fold.memory().left(), 100u * 1024);
    try {
        fold.memory().acquire(200 * 1024, "another");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "memory required is 1100 kB, btml.memory_limit is 1000 kB");
    }
}

} // namespace
} // namespace btml::validation
