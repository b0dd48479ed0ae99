#include "boosting_data.hpp"
#include "caught.hpp"

#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/metrics/metric_sums.hpp"
#include "core/metrics/ranked_rows.hpp"

namespace btml::boosting::test {
namespace {

using btml::test::caught;

struct Case {
    ObjectiveNumber objective;
    HoldoutMetric metric;
};

PlainData held_out_data(ObjectiveNumber objective, uint64_t seed) {
    DataShape shape;
    shape.rows = 300;
    shape.holdout = true;
    shape.weights = seed % 2;
    PlainData data = random_data(shape, seed);
    const bool is_binary = objective == ObjectiveNumber::binary, has_labels = objective == ObjectiveNumber::multiclass;
    if (is_binary || has_labels) data.labels = is_binary ? 2 : 3;
    for (double& y : data.target) {
        const double x = std::clamp((y - 100) / 2, 0.0, 3.0);
        y = is_binary ? x > 1 : has_labels ? std::min(2.0, std::floor(x)) : x;
    }
    return data;
}

double metric_of(const PlainData& data, const Model& model, HoldoutMetric metric) {
    QuietContext context;
    metrics::MetricSums sums(context.memory());
    metrics::RankedRows ranks(context.memory());
    Predictor predictor(model, context);
    for (size_t row = 0; row < data.rows; row++) {
        if (!data.held_out(row) || data.weight_of(row) == 0) continue;
        const std::vector<double> x = data.features_of(row);
        const double y = data.target_of(row), weight = data.weight_of(row);
        if (metric == HoldoutMetric::auc || metric == HoldoutMetric::average_precision) {
            ranks.add(y, predictor(x), weight);
            continue;
        }
        double numbers[3] = {y, predictor(x), model.options.alpha.value_or(0)};
        if (model.labels.size() > 1) {
            const auto p = predictor.probabilities(x);
            if (model.labels.size() > 2) numbers[0] = 1, numbers[1] = p[static_cast<size_t>(y)];
            if (metric == HoldoutMetric::accuracy)
                numbers[0] = numbers[1] = std::max_element(p.begin(), p.end()) - p.begin() == static_cast<int>(y);
        }
        sums.add(*metrics::find_metric(holdout_metric_names[static_cast<size_t>(metric)]), numbers, &weight);
    }
    if (metric == HoldoutMetric::auc) return *ranks.auc(context);
    return metric == HoldoutMetric::average_precision ? *ranks.average_precision(context) : *sums.result();
}

TEST(HoldoutMetric, IsThatOfPredictions) {
    const Case cases[] = {
        {ObjectiveNumber::squared, HoldoutMetric::rmse},
        {ObjectiveNumber::squared, HoldoutMetric::mae},
        {ObjectiveNumber::absolute, HoldoutMetric::mae},
        {ObjectiveNumber::quantile, HoldoutMetric::pinball},
        {ObjectiveNumber::poisson, HoldoutMetric::poisson_deviance},
        {ObjectiveNumber::tweedie, HoldoutMetric::rmse},
        {ObjectiveNumber::binary, HoldoutMetric::log_loss},
        {ObjectiveNumber::binary, HoldoutMetric::brier},
        {ObjectiveNumber::binary, HoldoutMetric::accuracy},
        {ObjectiveNumber::binary, HoldoutMetric::auc},
        {ObjectiveNumber::binary, HoldoutMetric::average_precision},
        {ObjectiveNumber::multiclass, HoldoutMetric::log_loss},
        {ObjectiveNumber::multiclass, HoldoutMetric::accuracy},
    };
    for (const Case& c : cases)
        for (uint64_t seed = 0; seed < 6; seed++) {
            SCOPED_TRACE(format("%s, %s, seed %d", name_of(c.objective),
                                holdout_metric_names[static_cast<size_t>(c.metric)], static_cast<int>(seed)));
            const PlainData data = held_out_data(c.objective, seed);
            Options options;
            options.objective = c.objective;
            options.metric = c.metric;
            options.trees = 7;
            Model model = fit_plain(data, options);
            EXPECT_NEAR(*model.log.back().holdout_metric, metric_of(data, model, c.metric), 1e-7);
            model.trees.clear();
            EXPECT_NEAR(*model.baseline->holdout_metric, metric_of(data, model, c.metric), 1e-7);
        }
}

// A metric of which more is better stops as one of which less is.
TEST(HoldoutMetric, StopsTraining) {
    for (const HoldoutMetric metric : {HoldoutMetric::auc, HoldoutMetric::log_loss}) {
        const PlainData data = held_out_data(ObjectiveNumber::binary, 4);
        Options options;
        options.objective = ObjectiveNumber::binary;
        options.metric = metric;
        options.trees = 200;
        options.learning_rate = 0.5;
        options.min_leaf_rows = 2;
        options.early_stopping = 5;
        const Model model = fit_plain(data, options);
        ASSERT_LT(model.log.size(), 200u);
        EXPECT_EQ(model.log.size(), model.trees.size() + 5);
        const double kept = *model.log[model.trees.size() - 1].holdout_metric;
        for (const LogEntry& entry : model.log) {
            if (metric == HoldoutMetric::auc) {
                EXPECT_LE(*entry.holdout_metric, kept);
            } else {
                EXPECT_GE(*entry.holdout_metric, kept);
            }
        }
    }
}

TEST(HoldoutMetric, MustFitAndBeDefined) {
    Options options;
    options.metric = HoldoutMetric::auc;
    PlainData data = held_out_data(ObjectiveNumber::squared, 1);
    EXPECT_EQ(caught([&] { fit_plain(data, options); }).message, "metric 'auc' is not for objective 'squared'");
    EXPECT_EQ(caught([&] { fit_plain(data, options); }).hint, "Valid are \"rmse\", \"mae\".");
    data = held_out_data(ObjectiveNumber::binary, 1);
    options.objective = ObjectiveNumber::binary;
    for (size_t row = 0; row < data.rows; row++)
        if (data.held_out(row)) data.target[data.row_of(data.target_table, row)] = 0;
    EXPECT_EQ(caught([&] { fit_plain(data, options); }).message, "metric 'auc' is not defined for the rows held out");
    data.holdout_table = -1;
    EXPECT_EQ(caught([&] { fit_plain(data, options); }).message, "metric needs held-out rows");
}

} // namespace
} // namespace btml::boosting::test
