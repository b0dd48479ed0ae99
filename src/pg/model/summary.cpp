// btml.summary and btml.describe: what a model is.
#include "pg/bridge/backend_context.hpp"
#include "pg/model/model_value.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

namespace {

// Says more of a feature.
void add_facts(JsonWriter& json, const boosting::Model& model, size_t feature) {
    if (model.offset == static_cast<int32_t>(feature)) json.add_json("offset", "true");
    if (!model.directions.empty() && model.directions[feature] != 0)
        json.add("direction", model.directions[feature] > 0 ? "increasing" : "decreasing");
}

void add_facts(JsonWriter&, const gp::Model&, size_t) {}

void add_facts(JsonWriter& json, const linear::Model& model, size_t feature) {
    const Feature& of = model.features[feature];
    if (model.has_offset() && feature + 1 == model.features.size()) json.add_json("offset", "true");
    if (of.categorical && !of.categories.empty()) json.add("reference", of.categories[model.references[feature]]);
    if (model.missing[feature] > 0) json.add("missing", model.missing[feature]);
}

template <class Model>
void add_features(JsonWriter& json, const Model& model) {
    json.begin_array("features");
    for (size_t i = 0; i < model.features.size(); i++) {
        const Feature& feature = model.features[i];
        json.begin_object();
        json.add("name", feature.name);
        json.add("type", feature.type);
        if (feature.categorical) {
            json.begin_array("categories");
            for (const std::string& category : feature.categories) json.add_item(category);
            json.end_array();
        }
        add_facts(json, model, i);
        json.end_object();
    }
    json.end_array();
}

void add_metrics(JsonWriter& json, const boosting::Model& model) {
    json.begin_object("metrics");
    json.add("trees", model.trees.size());
    // The log goes on behind the trees that early stopping kept.
    if (!model.trees.empty() && model.log.size() >= model.iterations()) {
        const boosting::LogEntry& last = model.log[model.iterations() - 1];
        json.add("train_loss", last.train_loss);
        if (last.holdout_loss) json.add("holdout_loss", *last.holdout_loss);
        if (last.holdout_metric) json.add("holdout_metric", *last.holdout_metric);
    }
    if (model.baseline) {
        json.add("baseline_loss", model.baseline->train_loss);
        if (model.baseline->holdout_loss) json.add("baseline_holdout_loss", *model.baseline->holdout_loss);
        if (model.baseline->holdout_metric) json.add("baseline_holdout_metric", *model.baseline->holdout_metric);
    }
    if (model.sketch) {
        json.add("sketch_size", model.sketch->size);
        json.add("sketches", model.sketch->sketches);
        if (model.sketch->error) json.add("sketch_error", *model.sketch->error);
    }
    json.end_object();
}

// Options that an imported model was not trained with are not shown.
void add_params(JsonWriter& json, const boosting::Model& model) {
    json.begin_object("params");
    if (model.imported)
        json.add("objective", boosting::name_of(model.options.objective));
    else
        add_options(json, boosting::options_table, model.options);
    json.end_object();
    if (!model.imported) return;
    json.begin_object("import");
    json.add("library", model.imported->library);
    json.add("objective", model.imported->objective);
    json.end_object();
}

void add_params(JsonWriter& json, const gp::Model& model) {
    json.begin_object("params");
    add_options(json, gp::options_table, model.options);
    json.end_object();
}

void add_params(JsonWriter& json, const linear::Model& model) {
    json.begin_object("params");
    add_options(json, linear::options_table, model.options);
    json.end_object();
}

// Length scales are in the units of the features.
void add_smooth_kernel(JsonWriter& json, const gp::SparseModel& sparse, const std::vector<Feature>& features) {
    json.add("kernel", gp::name_of(sparse.kernel().kind));
    json.add("exemplars", sparse.inducing_points());
    json.begin_object("length_scales");
    const std::vector<size_t> of = sparse.coordinates().features_of_coordinates();
    for (size_t c = 0; c < sparse.coordinates().numbers(); c++)
        json.add(features[of[c]].name.c_str(),
                 sparse.coordinates().deviation(of[c]) / sparse.kernel().inverse_lengths[c]);
    json.end_object();
}

// Updates change the rows of the gp, but not those that the trees are of.
void add_mean(JsonWriter& json, const gp::Model& model) {
    json.add("mean", gp::name_of(model.mean ? gp::Mean::boosted : gp::Mean::zero));
    if (!model.mean) return;
    const boosting::Model& trees = model.mean->trees();
    json.begin_object("trees");
    json.add("of_mean", trees.trees.size());
    json.add("of_deviation", trees.deviation->trees.size());
    json.add("rows", trees.rows);
    json.add("variance_ratio", model.mean->variance_ratio());
    json.end_object();
}

void add_varying_noise(JsonWriter& json, const gp::VaryingNoise& noise) {
    json.begin_object("varying_noise"); // factors of `noise` at training rows
    json.add("least", noise.least);
    json.add("greatest", noise.greatest);
    json.end_object();
}

void add_metrics(JsonWriter& json, const gp::Model& model) {
    json.begin_object("metrics");
    const auto* const sum = std::get_if<gp::SumModel>(&model.posterior);
    if (const auto likelihood = model.log_likelihood()) json.add("log_likelihood", *likelihood);
    json.add("noise", model.noise);
    if (model.varying_noise) add_varying_noise(json, *model.varying_noise);
    json.add("signal", gp::signal(model));
    if (const auto* const sparse = std::get_if<gp::SparseModel>(&model.posterior))
        add_smooth_kernel(json, *sparse, model.features);
    else
        json.add("combine", gp::name_of(model.combine()));
    add_mean(json, model);
    if (const gp::Encoding* const encoding = model.encoding())
        json.add("encoding", encoding->places() == gp::NumberPlaces::ranks ? "rank" : "linear");
    json.begin_array("members");
    for (const gp::Member& member : model.members()) {
        json.begin_object();
        json.add("weight", member.weight);
        json.add("levels", member.order.size());
        json.add("strings", member.trie.strings());
        json.end_object();
    }
    if (sum)
        for (const gp::SumModel::Member& member : sum->members()) {
            json.begin_object();
            json.add("levels", member.order.size());
            json.end_object();
        }
    json.end_array();
    if (sum) {
        json.add("calibration", sum->calibration());
        json.add("residual", sum->residuals().targets);
        json.add("residual_of_samples", sum->residuals().samples);
    }
    json.add("evaluations", model.evaluations);
    if (model.leave_one_out) {
        json.begin_object("leave_one_out");
        json.add("rows", model.leave_one_out->rows);
        json.add("mean_nll", model.leave_one_out->mean_nll);
        json.add("rmse", model.leave_one_out->rmse);
        if (model.leave_one_out->coverage_90) json.add("coverage_90", *model.leave_one_out->coverage_90);
        if (model.leave_one_out->mean_nll_student_t)
            json.add("mean_nll_student_t", *model.leave_one_out->mean_nll_student_t);
        json.end_object();
    }
    if (model.holdout_nll) json.add("holdout_nll", *model.holdout_nll);
    if (model.holdout_rmse) json.add("holdout_rmse", *model.holdout_rmse);
    json.end_object();
}

// Least squares have R², other families the part of the null deviance that the features explain.
const char* name_of_explained(const linear::Model& model) {
    return model.options.family == linear::Family::gaussian ? "r_squared" : "deviance_explained";
}

void add_metrics(JsonWriter& json, const linear::Model& model) {
    const linear::Statistics& found = model.statistics;
    const auto add = [&](const char* name, const std::optional<double>& value) {
        if (value) json.add(name, *value);
    };
    json.begin_object("metrics");
    add(name_of_explained(model), found.r_squared);
    add("adjusted_r_squared", found.adjusted_r_squared);
    json.add("deviance", found.deviance);
    json.add("null_deviance", found.null_deviance);
    add("dispersion", found.dispersion);
    add("log_likelihood", found.log_likelihood);
    add("aic", found.aic);
    json.add("degrees_of_freedom", found.degrees_of_freedom);
    if (found.clusters > 0) json.add("groups", found.clusters);
    json.add("iterations", found.iterations);
    add("holdout_deviance", found.holdout_deviance);
    json.end_object();
}

void add_calibration(JsonWriter& json, const std::optional<uncertainty::Calibration>& calibration) {
    if (!calibration) return;
    json.begin_object("calibration");
    json.add("method", uncertainty::name_of(calibration->method));
    json.add("rows", calibration->rows);
    if (calibration->updates > 0) json.add("updates_since", calibration->updates);
    json.begin_object("student_t");
    json.add("scale", calibration->student.scale);
    json.add("df", calibration->student.df);
    json.end_object();
    if (!calibration->variance.is_identity()) {
        json.begin_object("variance");
        json.add("factor", calibration->variance.factor);
        json.add("floor", calibration->variance.floor);
        json.end_object();
    }
    json.end_object();
}

void begin(JsonWriter& json, const boosting::Model& model) {
    json.add("kind", "boosted_trees");
    if (model.sample) {
        json.add_json("join_rows", decimal(model.sample->join_rows));
        json.add("sample_rows", model.sample->sample_rows);
    }
    if (model.scores() == 1) {
        json.add("base", model.bases[0]);
    } else {
        json.begin_array("base");
        for (const double base : model.bases) json.add_item(base);
        json.end_array();
    }
    if (model.labels.empty()) return;
    json.begin_array("labels");
    for (const std::string& label : model.labels) json.add_item(label);
    json.end_array();
    if (model.label_weights.empty()) return;
    json.begin_object("class_weights");
    for (size_t i = 0; i < model.labels.size(); i++) json.add(model.labels[i], model.label_weights[i]);
    json.end_object();
}

void begin(JsonWriter& json, const gp::Model& model) {
    json.add("kind", "gaussian_process");
    json.add("base", model.centre);
    json.add("scale", model.scale);
}

void begin(JsonWriter& json, const linear::Model& model) {
    json.add("kind", "linear_model");
    json.add("base", linear::base_of(model));
    if (model.labels.empty()) return;
    json.begin_array("labels");
    for (const std::string& label : model.labels) json.add_item(label);
    json.end_array();
}

template <class Model>
Datum summary_json(const Model& model, const std::vector<Timing>& timings, RunContext& context) {
    JsonWriter json(context);
    json.begin_object();
    begin(json, model);
    json.add("format", model_format);
    json.add("target", model.target);
    add_features(json, model);
    add_params(json, model);
    json.add("rows", model.rows);
    json.add("holdout_rows", model.holdout_rows);
    json.add("rows_skipped", model.rows_skipped);
    add_metrics(json, model);
    if constexpr (requires { model.calibration; }) add_calibration(json, model.calibration);
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

// Returns the mean loss of held-out rows where there are some, or else that of training rows.
std::string describe_loss(const boosting::Model& model) {
    if (model.trees.empty() || model.log.size() < model.iterations()) return "";
    const boosting::LogEntry& last = model.log[model.iterations() - 1];
    const bool held_out = last.holdout_loss.has_value();
    std::string text =
        format(", %s loss %.4g", held_out ? "held-out" : "training", last.holdout_loss.value_or(last.train_loss));
    if (!model.baseline) return text;
    const std::optional<double> baseline = held_out ? model.baseline->holdout_loss : model.baseline->train_loss;
    return baseline ? text + format(" (a constant has %.4g)", *baseline) : text;
}

std::string describe(const boosting::Model& model) {
    size_t leaves = 1;
    for (const boosting::Tree& tree : model.trees) leaves = std::max(leaves, (tree.size() + 1) / 2);
    const std::string labels = model.scores() > 1 ? format(" x %zu labels", model.scores()) : "";
    const std::string objective =
        model.imported ? model.imported->objective : boosting::name_of(model.options.objective);
    const std::string text =
        format("boosted trees: %zu%s x %zu leaves, %zu features -> %s (%s), ", model.iterations(), labels.c_str(),
               leaves, model.features.size() - (model.offset ? 1 : 0), model.target.c_str(), objective.c_str());
    if (model.imported) return text + "from " + model.imported->library;
    return text + format("%" PRIu64 " rows", model.rows) + describe_loss(model);
}

std::string describe(const gp::Model& model) {
    const auto* const sum = std::get_if<gp::SumModel>(&model.posterior);
    const auto* const sparse = std::get_if<gp::SparseModel>(&model.posterior);
    const size_t members = sum ? sum->members().size() : model.members().size();
    const std::string kind =
        sparse ? format("%s of %zu exemplars", gp::name_of(sparse->kernel().kind), sparse->inducing_points())
               : format("%s of %zu members", gp::name_of(model.combine()), members);
    const std::string trees = model.mean ? format(" over %zu trees", model.mean->trees().trees.size()) : "";
    std::string text = format("Gaussian process: %s%s, %zu features -> %s, %" PRIu64 " rows", kind.c_str(),
                              trees.c_str(), model.features.size(), model.target.c_str(), model.rows);
    if (model.holdout_nll)
        text += format(", held-out negative log likelihood %.4g", *model.holdout_nll);
    else if (model.leave_one_out)
        text += format(", negative log likelihood %.4g leaving rows out", model.leave_one_out->mean_nll);
    return text;
}

std::string describe(const linear::Model& model) {
    const auto kept = std::count_if(model.columns.begin(), model.columns.end(), [](const linear::Column& column) {
        return column.state == linear::ColumnState::kept;
    });
    std::string text = format("linear model: %s, %zu features, %zu coefficients -> %s, %" PRIu64 " rows",
                              linear::name_of(model.options.family), model.features.size() - model.has_offset(),
                              static_cast<size_t>(kept) + 1, model.target.c_str(), model.rows);
    if (model.statistics.r_squared)
        text +=
            format(", %s %.4g", model.options.family == linear::Family::gaussian ? "R squared" : "deviance explained",
                   *model.statistics.r_squared);
    return text;
}

} // namespace

// btml.describe(model) → text
BTML_FUNCTION(btml_describe) {
    BackendContext context;
    const StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    return text_datum(std::visit([](const auto& model) { return describe(model); }, stored.model));
}

// btml.summary(model) → jsonb
BTML_FUNCTION(btml_summary) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context;
    const StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    return std::visit([&](const auto& model) { return summary_json(model, stored.timings, context); }, stored.model);
}

} // namespace btml::pg
