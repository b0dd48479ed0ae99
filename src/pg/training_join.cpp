#include "pg/training_join.hpp"

#include "pg/bridge/feature_type.hpp"
#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"

namespace btml::pg {

using relational::ColumnRef;
using relational::DatasetPlan;

namespace {

// Output columns of a source by the part they play in training.
struct Roles {
    int target;
    std::optional<int> holdout, weight;
    std::vector<int> features;
    std::vector<bool> categorical; // of features
};

void check_number(const Source& source, int column, const char* role, const char* detail) {
    const Source::Column& found = source.columns()[column];
    const Oid type = found.type;
    if (!is_plain_number(pg_call([=] { return number_kind(type); })))
        throw Error(ErrorCode::wrong_type,
                    format("%s \"%s\" is of type %s, not a number", role, found.name.c_str(), type_name(found.type)),
                    detail, cast_hint(found.name, found.type) + ".");
}

void check_feature_type(const Source::Column& column, bool categorical) {
    const Oid type = column.type;
    if (categorical || pg_call([=] { return number_kind(type); }) != NumberKind::none) return;
    throw Error(ErrorCode::wrong_type, format("feature \"%s\" is of type %s", column.name.c_str(), type_name(type)),
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
        throw Error(ErrorCode::invalid_argument, format("column \"%s\" cannot be both the %s and a feature",
                                                        source.columns()[feature].name.c_str(), role));
}

std::vector<int> chosen_features(const Source& source, const Roles& roles, const TrainingRequest& request) {
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

Roles assign_roles(const Source& source, const TrainingRequest& request) {
    Roles roles{source.column(request.target), {}, {}, {}, {}};
    check_number(source, roles.target, "target", "Targets are numbers so far.");
    if (request.holdout) {
        roles.holdout = source.column(*request.holdout);
        const Oid type = source.columns()[*roles.holdout].type;
        if (type != BOOLOID)
            throw Error(ErrorCode::wrong_type,
                        format("holdout \"%s\" is of type %s, not boolean", request.holdout->c_str(), type_name(type)),
                        "",
                        format("Compare it with a value that holds rows out: \"%s\" = …", request.holdout->c_str()));
    }
    if (request.weight) {
        roles.weight = source.column(*request.weight);
        check_number(source, *roles.weight, "weight", "");
        if (source.columns()[*roles.weight].table != source.columns()[roles.target].table)
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
        const Source::Column& column = source.columns()[feature];
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
        plan.features.push_back({place(), stored_type_name(source.columns()[feature].type)});
    return plan;
}

// Rows without a target are not part of the training set; returns how many rows of the join that were.
uint64_t skip_null_targets(relational::Join& join, const ColumnRef& target, RunContext& context) {
    const auto has_target = [&](relational::RowId row) {
        return !is_null(join.tables()[target.table].columns[target.column].numbers[row]);
    };
    const WideCount before = join.wide_count(context);
    join.filter(target.table, has_target, context);
    return static_cast<uint64_t>(std::min<WideCount>(before - join.wide_count(context), UINT64_MAX));
}

} // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TrainingRequest read_training_request(const NamedArguments& arguments) {
    return {arguments.string("source"),
            arguments.column("target"),
            arguments.optional_columns("features"),
            arguments.optional_columns("categorical").value_or(std::vector<std::string>()),
            arguments.optional_column("holdout"),
            arguments.optional_column("weight"),
            arguments.boolean("verbose")};
}

TrainingJoin read_training_join(const TrainingRequest& request, RunContext& context, RowContents contents) {
    const auto start = std::chrono::steady_clock::now();
    const Source source(request.source);
    const Roles roles = assign_roles(source, request);
    LoadedSource loaded = source.read(column_requests(roles), context, contents);
    DatasetPlan plan = dataset_plan(source, roles, loaded.places);
    const double reading = seconds_since(start);

    const auto join_start = std::chrono::steady_clock::now();
    relational::Join join(std::move(loaded.tables), std::move(loaded.left_joins), context);
    const uint64_t skipped = skip_null_targets(join, plan.target, context);
    if (join.wide_count(context) == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to train on",
                    skipped == 0 ? "It is empty."
                                 : format("The target is NULL in all of its %" PRIu64 " rows.", skipped));
    return {std::move(join), std::move(plan), skipped, reading, seconds_since(join_start)};
}

} // namespace btml::pg
