// SQL functions of boosted trees: btml.boost_fit, btml.tree_fit, and what looks into a model.
#include "core/boosting/booster.hpp"
#include "core/boosting/from_join.hpp"
#include "core/boosting/to_sql.hpp"
#include "core/relational/join_rows.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"
#include "pg/fit_options.hpp"
#include "pg/model.hpp"

extern "C" {
#include "access/transam.h"
}

namespace btml::pg {

using namespace boosting;

namespace {

std::string type_name(Oid type) {
    return pg_call([=] { return format_type_be(type); });
}

// The name kept in a model: it does not depend on search_path.
std::string stored_type_name(Oid type) {
    return pg_call([=] { return type < FirstNormalObjectId ? format_type_be(type) : format_type_be_qualified(type); });
}

// Output columns of a source by the part they play in training.
struct Roles {
    int target;
    std::optional<int> holdout, weight;
    std::vector<int> features;
    std::vector<bool> categorical; // of features
};

bool is_number_target(Oid type) {
    switch (pg_call([=] { return number_kind(type); })) {
    case NumberKind::int2:
    case NumberKind::int4:
    case NumberKind::int8:
    case NumberKind::float4:
    case NumberKind::float8:
    case NumberKind::numeric:
        return true;
    default:
        return false;
    }
}

void check_number(const Source& source, int column, const char* role, const char* detail) {
    const Source::Column& found = source.columns()[static_cast<size_t>(column)];
    if (!is_number_target(found.type))
        throw Error(
            ErrorCode::wrong_type,
            format("%s \"%s\" is of type %s, not a number", role, found.name.c_str(), type_name(found.type).c_str()),
            detail, cast_hint(found.name, found.type) + ".");
}

void check_feature_type(const Source::Column& column, bool categorical) {
    const Oid type = column.type;
    if (categorical || pg_call([=] { return number_kind(type); }) != NumberKind::none) return;
    throw Error(ErrorCode::wrong_type,
                format("feature \"%s\" is of type %s", column.name.c_str(), type_name(type).c_str()),
                "Features are numbers, dates, times and intervals, or categories: text, enum and boolean columns, and "
                "those named in categorical.",
                cast_hint(column.name, type) + ", name it in categorical, or leave it out of features.");
}

void check_not_reserved(const Source& source, const Roles& roles, int feature) {
    const char* const role = feature == roles.target    ? "target"
                             : feature == roles.holdout ? "holdout"
                             : feature == roles.weight  ? "weight"
                                                        : nullptr;
    if (role)
        throw Error(ErrorCode::invalid_argument,
                    format("column \"%s\" cannot be both the %s and a feature",
                           source.columns()[static_cast<size_t>(feature)].name.c_str(), role));
}

std::vector<int> chosen_features(const Source& source, const Roles& roles, const FitRequest& request) {
    std::vector<int> features;
    if (request.features) {
        for (const std::string& name : *request.features) {
            const int column = source.column(name);
            check_not_reserved(source, roles, column);
            if (std::find(features.begin(), features.end(), column) != features.end())
                throw Error(ErrorCode::duplicate_column, format("features names column \"%s\" twice", name.c_str()));
            features.push_back(column);
        }
        // Ties between features go to the first in the source's order, however they are listed.
        std::sort(features.begin(), features.end());
    } else {
        source.require_distinct_names();
        for (int i = 0; i < static_cast<int>(source.columns().size()); i++)
            if (i != roles.target && i != roles.holdout && i != roles.weight) features.push_back(i);
    }
    if (features.empty())
        throw Error(ErrorCode::invalid_argument, "there are no features to train on", "",
                    "Let the source output columns besides target, holdout and weight.");
    return features;
}

Roles assign_roles(const Source& source, const FitRequest& request) {
    Roles roles{source.column(request.target), {}, {}, {}, {}};
    check_number(source, roles.target, "target", "Targets are numbers so far: squared loss is the only loss.");
    if (request.holdout) {
        roles.holdout = source.column(*request.holdout);
        const Oid type = source.columns()[static_cast<size_t>(*roles.holdout)].type;
        if (type != BOOLOID)
            throw Error(
                ErrorCode::wrong_type,
                format("holdout \"%s\" is of type %s, not boolean", request.holdout->c_str(), type_name(type).c_str()),
                "", format("Cast it, as in \"%s\"::boolean.", request.holdout->c_str()));
    }
    if (request.weight) {
        roles.weight = source.column(*request.weight);
        check_number(source, *roles.weight, "weight", "");
        if (source.columns()[static_cast<size_t>(*roles.weight)].table !=
            source.columns()[static_cast<size_t>(roles.target)].table)
            throw Error(ErrorCode::not_supported,
                        format("weight \"%s\" and target \"%s\" are of different tables", request.weight->c_str(),
                               request.target.c_str()),
                        "The weight must come from the base relation that the target comes from.");
    }
    if (roles.holdout == roles.target || roles.weight == roles.target ||
        (roles.weight && roles.weight == roles.holdout))
        throw Error(ErrorCode::invalid_argument, "target, holdout and weight must be different columns");
    roles.features = chosen_features(source, roles, request);
    std::vector<int> forced;
    for (const std::string& name : request.categorical) {
        forced.push_back(source.column(name));
        if (std::find(roles.features.begin(), roles.features.end(), forced.back()) == roles.features.end())
            throw Error(ErrorCode::invalid_argument,
                        format("categorical column \"%s\" is not a feature", name.c_str()));
    }
    for (int feature : roles.features) {
        const Source::Column& column = source.columns()[static_cast<size_t>(feature)];
        const Oid type = column.type;
        roles.categorical.push_back(std::find(forced.begin(), forced.end(), feature) != forced.end() ||
                                    pg_call([=] { return is_categorical(type); }));
        check_feature_type(column, roles.categorical.back());
    }
    return roles;
}

std::vector<ColumnRequest> column_requests(const Roles& roles) {
    std::vector<ColumnRequest> requests{{roles.target, ReadAs::number}};
    if (roles.weight) requests.push_back({*roles.weight, ReadAs::number});
    if (roles.holdout) requests.push_back({*roles.holdout, ReadAs::number});
    for (size_t i = 0; i < roles.features.size(); i++)
        requests.push_back({roles.features[i], roles.categorical[i] ? ReadAs::category : ReadAs::number});
    return requests;
}

DatasetPlan dataset_plan(const Source& source, const Roles& roles, const std::vector<ColumnPlace>& places) {
    size_t next = 0;
    const auto place = [&] {
        const ColumnPlace& at = places[next++];
        return ColumnRef{at.table, at.column};
    };
    DatasetPlan plan{place(), {}, {}, {}};
    if (roles.weight) plan.weight = place();
    if (roles.holdout) plan.holdout = place();
    for (int feature : roles.features)
        plan.features.push_back({place(), stored_type_name(source.columns()[static_cast<size_t>(feature)].type)});
    return plan;
}

// Rows without a target are not part of the training set; returns how many rows of the join that were.
uint64_t skip_null_targets(relational::Join& join, const ColumnRef& target, RunContext& context) {
    const auto has_target = [&](relational::RowId row) {
        return !is_null(
            join.tables()[static_cast<size_t>(target.table)].columns[static_cast<size_t>(target.column)].numbers[row]);
    };
    const uint64_t before = join.count(context);
    join.filter(target.table, has_target, context);
    return before - join.count(context);
}

// Above a minute of sketching the way out is named before it starts.
void warn_of_long_sketches(const relational::Join& join, const Options& options, RunContext& context) {
    constexpr double long_seconds = 60;
    const double seconds = sketching_seconds(join, options, context);
    if (seconds <= long_seconds) return;
    const char* const hint = options.sketch_size > 0
                                 ? "Cancel and give a smaller sketch_size; the time is proportional to it."
                                 : "Cancel and give a sketch_size; the time is proportional to it.";
    pg_call([=] {
        ereport(NOTICE, (errmsg("sketches of the residuals over this join will take about %.0f minutes",
                                std::ceil(seconds / 60)),
                         errhint("%s", hint)));
    });
}

// For those who asked to verify.
void report_sketch_error(const Model& model) {
    if (!model.options.verify) return;
    std::string text = "no sum of squared residuals was estimated: they were all exact";
    if (model.sketch) {
        text = format("the largest relative error of the sum of squared residuals at the root of a tree is %.3f",
                      model.sketch->error.value_or(0));
        if (model.options.sketch_size == 0)
            text += format("; promised is %.3g with probability %.3g for each tree", model.options.epsilon,
                           1 - model.options.delta);
    }
    const char* const message = text.c_str();
    pg_call([=] { ereport(INFO, (errmsg("%s", message))); });
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

FitResult fit_over_source(const FitRequest& request, RunContext& context) {
    const auto start = std::chrono::steady_clock::now();
    const Source source(request.source);
    const Roles roles = assign_roles(source, request);
    LoadedSource loaded = source.read(column_requests(roles), context);
    const DatasetPlan plan = dataset_plan(source, roles, loaded.places);
    const double reading = seconds_since(start);

    const auto join_start = std::chrono::steady_clock::now();
    relational::Join join(std::move(loaded.tables), std::move(loaded.left_joins), context);
    const uint64_t skipped = skip_null_targets(join, plan.target, context);
    if (join.count(context) == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to train on",
                    skipped == 0 ? "It is empty."
                                 : format("The target is NULL in all of its %llu rows.",
                                          static_cast<unsigned long long>(skipped)));
    const StrategyChoice choice = choose_strategy(join, request.options, request.strategy, context);
    double joining = 0;
    const auto fit_join = [&] {
        if (choice.strategy == Strategy::factorize) {
            warn_of_long_sketches(join, request.options, context);
            const relational::GroupedJoin grouped(join, context);
            Dataset dataset = make_dataset(std::move(join), grouped, plan, context);
            joining = seconds_since(join_start);
            return fit_factorised(std::move(dataset), grouped, request.options, context);
        }
        relational::JoinRows rows = relational::enumerate(join, context);
        Dataset dataset = make_dataset(std::move(join), std::move(rows), plan);
        joining = seconds_since(join_start);
        return fit(std::move(dataset), request.options, context);
    };
    FitResult result = fit_join();
    result.model.target = request.target;
    result.model.rows_skipped = skipped;
    result.model.strategy = choice.strategy == Strategy::factorize ? "factorize" : "enumerate";
    result.model.strategy_reason = choice.reason;
    report_sketch_error(result.model);
    result.timings.insert(result.timings.begin(), {{"reading tables", reading}, {"joining tables", joining}});
    return result;
}

} // namespace

// btml.boost_fit(source, target, trees, learning_rate, …) → model
BTML_FUNCTION(btml_boost_fit) {
    const FitRequest request = read_boost_request(Arguments(fcinfo));
    BackendContext context("boost_fit", request.verbose);
    return model_datum(fit_over_source(request, context));
}

// btml.tree_fit(source, target, max_leaves, …) → model
BTML_FUNCTION(btml_tree_fit) {
    const FitRequest request = read_tree_request(Arguments(fcinfo));
    BackendContext context("tree_fit", request.verbose);
    return model_datum(fit_over_source(request, context));
}

// btml.feature_importance(model) → table(feature text, gain float8, splits bigint), most important first
BTML_FUNCTION(btml_feature_importance) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    const Model model = read_model(PG_GETARG_DATUM(0)).model;
    const std::vector<Importance> importance = feature_importance(model);
    std::vector<size_t> order(importance.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return importance[a].gain > importance[b].gain; });
    for (size_t i : order) {
        rows.add_text(model.features[i].name);
        rows.add_number(importance[i].gain);
        rows.add_bigint(importance[i].splits);
        rows.finish_row();
    }
    return rows.done();
}

namespace {

void add_split(ResultRows& rows, const Model& model, const Node& node) {
    const Feature& feature = model.features[static_cast<size_t>(node.feature)];
    rows.add_text(feature.name);
    if (feature.categorical) {
        rows.add_null();
        std::vector<std::string> labels;
        for (uint32_t code : node.categories) labels.push_back(feature.categories[code]);
        rows.add(text_array_datum(labels));
    } else {
        rows.add_number(node.threshold);
        rows.add_null();
    }
    rows.add_boolean(node.null_left);
    rows.add_integer(node.left);
    rows.add_integer(node.right);
    rows.add_null();
}

} // namespace

// btml.trees(model) → table(tree, node, parent, depth, feature, threshold, categories, null_left, left_child,
// right_child, value, rows, gain)
BTML_FUNCTION(btml_trees) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    const Model model = read_model(PG_GETARG_DATUM(0)).model;
    for (size_t t = 0; t < model.trees.size(); t++) {
        std::vector<int> depth(model.trees[t].size(), 0);
        for (size_t n = 0; n < model.trees[t].size(); n++) {
            const Node& node = model.trees[t][n];
            if (node.parent >= 0) depth[n] = depth[static_cast<size_t>(node.parent)] + 1;
            rows.add_integer(static_cast<int>(t));
            rows.add_integer(static_cast<int>(n));
            node.parent >= 0 ? rows.add_integer(node.parent) : rows.add_null();
            rows.add_integer(depth[n]);
            if (node.is_leaf()) {
                for (int i = 0; i < 6; i++) rows.add_null();
                rows.add_number(node.value);
            } else
                add_split(rows, model, node);
            rows.add_number(node.rows);
            node.is_leaf() ? rows.add_null() : rows.add_number(node.gain);
            rows.finish_row();
        }
    }
    return rows.done();
}

// btml.training_log(model) → table(iteration int, train_loss float8, holdout_loss float8)
BTML_FUNCTION(btml_training_log) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    const Model model = read_model(PG_GETARG_DATUM(0)).model;
    for (size_t i = 0; i < model.log.size(); i++) {
        rows.add_integer(static_cast<int>(i) + 1);
        rows.add_number(model.log[i].train_loss);
        model.log[i].holdout_loss ? rows.add_number(*model.log[i].holdout_loss) : rows.add_null();
        rows.finish_row();
    }
    return rows.done();
}

// btml.to_sql(model) → text
BTML_FUNCTION(btml_to_sql) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    return text_datum(to_sql(read_model(PG_GETARG_DATUM(0)).model));
}

} // namespace btml::pg
