// btml.summary: what a model is.
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/json.hpp"
#include "pg/model.hpp"

namespace btml::pg {

namespace {

void add_features(JsonWriter& json, const std::vector<Feature>& features) {
    json.begin_array("features");
    for (const Feature& feature : features) {
        json.begin_object();
        json.add("name", feature.name);
        json.add("type", feature.type);
        if (feature.categorical) {
            json.begin_array("categories");
            for (const std::string& category : feature.categories) json.add_item(category);
            json.end_array();
        }
        json.end_object();
    }
    json.end_array();
}

void add_options(JsonWriter& json, const boosting::Options& options) {
    json.begin_object("params");
    json.add("trees", options.trees);
    json.add("learning_rate", options.learning_rate);
    json.add("max_leaves", options.max_leaves);
    json.add("max_depth", options.max_depth);
    json.add("min_leaf_rows", options.min_leaf_rows);
    json.add("l2", options.l2);
    json.add("min_gain", options.min_gain);
    json.add("min_category_rows", options.min_category_rows);
    json.add("max_split_categories", options.max_split_categories);
    json.add("max_bins", options.max_bins);
    json.add("early_stopping", options.early_stopping);
    json.add("row_fraction", options.row_fraction);
    json.add("feature_fraction", options.feature_fraction);
    json.add("criterion", options.criterion == boosting::Criterion::variance ? "variance" : "mse_sum");
    json.add("residuals", options.sketch_residuals ? "sketch" : "exact");
    if (options.sketch_residuals) {
        if (options.sketch_size > 0) {
            json.add("sketch_size", options.sketch_size);
        } else {
            json.add("epsilon", options.epsilon);
            json.add("delta", options.delta);
        }
    }
    json.add("seed", options.seed);
    json.end_object();
}

void add_metrics(JsonWriter& json, const boosting::Model& model) {
    json.begin_object("metrics");
    json.add("trees", model.trees.size());
    // The log goes on behind the trees that early stopping kept.
    if (!model.trees.empty() && model.log.size() >= model.trees.size()) {
        const boosting::LogEntry& last = model.log[model.trees.size() - 1];
        json.add("train_loss", last.train_loss);
        if (last.holdout_loss) json.add("holdout_loss", *last.holdout_loss);
    }
    if (model.sketch) {
        json.add("sketch_size", model.sketch->size);
        json.add("sketches", model.sketch->sketches);
        if (model.sketch->error) json.add("sketch_error", *model.sketch->error);
    }
    json.end_object();
}

void add_options(JsonWriter& json, const gp::Options& options) {
    json.begin_object("params");
    if (options.bits > 0) json.add("bits", options.bits);
    if (options.members > 0) json.add("members", options.members);
    json.add("combine", gp::name_of(options.combine));
    json.add("search", gp::name_of(options.search));
    if (options.evaluations > 0) json.add("evaluations", options.evaluations);
    if (options.noise) json.add("noise", *options.noise);
    if (options.signal) json.add("signal", *options.signal);
    json.add("outside", gp::name_of(options.outside));
    json.add("seed", options.seed);
    json.end_object();
}

void add_metrics(JsonWriter& json, const gp::Model& model) {
    json.begin_object("metrics");
    if (model.log_likelihood) json.add("log_likelihood", *model.log_likelihood);
    json.add("noise", model.noise);
    json.add("signal", gp::signal(model));
    json.add("combine", gp::name_of(model.combine));
    json.begin_array("members");
    for (const gp::Member& member : model.members) {
        json.begin_object();
        json.add("weight", member.weight);
        json.add("levels", member.order.size());
        json.add("strings", member.trie.strings());
        json.end_object();
    }
    if (model.sum)
        for (const gp::SumModel::Member& member : model.sum->members()) {
            json.begin_object();
            json.add("levels", member.order.size());
            json.end_object();
        }
    json.end_array();
    if (model.sum) {
        json.add("calibration", model.sum->calibration());
        json.add("residual", model.sum->residuals().targets);
        json.add("residual_of_samples", model.sum->residuals().samples);
    }
    if (model.combine == gp::Combine::boosted) json.add("variance_factor", model.variance_factor);
    json.add("evaluations", model.evaluations);
    if (model.leave_one_out) {
        json.begin_object("leave_one_out");
        json.add("rows", model.leave_one_out->rows);
        json.add("mean_nll", model.leave_one_out->mean_nll);
        json.add("rmse", model.leave_one_out->rmse);
        if (model.leave_one_out->coverage_90) json.add("coverage_90", *model.leave_one_out->coverage_90);
        json.end_object();
    }
    if (model.holdout_nll) json.add("holdout_nll", *model.holdout_nll);
    if (model.holdout_rmse) json.add("holdout_rmse", *model.holdout_rmse);
    json.end_object();
}

void begin(JsonWriter& json, const boosting::Model& model) {
    json.add("kind", "boosted_trees");
    json.add("format", static_cast<int>(model_format));
    json.add("target", model.target);
    json.add("base", model.base);
}

void begin(JsonWriter& json, const gp::Model& model) {
    json.add("kind", "gaussian_process");
    json.add("format", static_cast<int>(model_format));
    json.add("target", model.target);
    json.add("base", model.centre);
    json.add("scale", model.scale);
}

template <class Model>
Datum summary_json(const Model& model, const std::vector<Timing>& timings, RunContext& context) {
    JsonWriter json(context);
    json.begin_object();
    begin(json, model);
    add_features(json, model.features);
    add_options(json, model.options);
    json.add("rows", model.rows);
    json.add("holdout_rows", model.holdout_rows);
    json.add("rows_skipped", model.rows_skipped);
    add_metrics(json, model);
    json.add("strategy", model.strategy);
    json.add("strategy_reason", model.strategy_reason);
    if (!timings.empty()) {
        json.begin_object("seconds");
        for (const Timing& timing : timings) json.add(timing.phase, timing.seconds);
        json.end_object();
    }
    json.end_object();
    return json.datum();
}

} // namespace

// btml.summary(model) → jsonb
BTML_FUNCTION(btml_summary) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context;
    const StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    return std::visit([&](const auto& model) { return summary_json(model, stored.timings, context); }, stored.model);
}

} // namespace btml::pg
