#include "pg/source/training_join.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/source.hpp"
#include "pg/values/feature_type.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

using relational::ColumnRef;
using relational::DatasetPlan;

namespace {

// Returns whether the target is read as a category.
bool is_label_target(const Source& source, int column, const TrainingRequest& request) {
    const Source::Column& found = source.columns()[column];
    const Oid type = found.type;
    if (request.takes_labels) {
        if (type == BOOLOID) return false;
        if (pg_call([=] { return is_categorical(type); })) return true;
    }
    if (request.takes_labels)
        require_number(found, "target", "Targets are numbers, or labels: boolean, text and enum columns.",
                       format(", or labels: \"%s\"::text", found.name.c_str()));
    else
        require_number(found, "target", "Targets are numbers.");
    return false;
}

// Returns how a feature's arrays are read; nothing reads what is no array. Error wrong_type for what is no feature.
ArrayRule check_feature_type(const Source::Column& column, bool categorical) {
    const Oid type = column.type;
    if (categorical) {
        require_category(column, "feature");
        return {};
    }
    if (column.number != NumberKind::none) return {};
    const ArrayRule array = pg_call([=] { return array_rule(type, CurrentMemoryContext); });
    if (array.reads()) return array;
    if (OidIsValid(array.distrusted_cast))
        throw Error(ErrorCode::wrong_type, format("feature \"%s\" is of type %s", column.name.c_str(), type_name(type)),
                    detail_of_distrust(array), hint_of_distrust(array, column.name));
    const Oid collation = column.collation;
    const CategoryFault fault = pg_call([=] { return category_fault(type, collation); });
    const char* const or_else = fault == CategoryFault::none        ? ", name it in categorical"
                                : fault == CategoryFault::of_equals ? ", make a text of it"
                                                                    : "";
    throw Error(ErrorCode::wrong_type, format("feature \"%s\" is of type %s", column.name.c_str(), type_name(type)),
                "Features are numbers, dates, times and intervals, arrays of numbers, or categories: text, enum and "
                "boolean columns, and those named in categorical.",
                cast_hint(column.name, type) + or_else + ", or leave it out: exclude => '{" + column.name + "}'.");
}

void check_not_reserved(const Source& source, const Roles& roles, int feature) {
    if (const char* const role = roles.of(feature))
        throw Error(ErrorCode::invalid_argument, format("column \"%s\" cannot be both the %s and a feature",
                                                        source.columns()[feature].name.c_str(), role));
}

std::vector<int> excluded_columns(const Source& source, const TrainingRequest& request) {
    std::vector<int> excluded;
    for (const std::string& name : request.exclude) {
        const int column = source.column(name);
        if (std::find(excluded.begin(), excluded.end(), column) != excluded.end())
            throw Error(ErrorCode::duplicate_column, format("exclude names column \"%s\" twice", name.c_str()));
        excluded.push_back(column);
    }
    return excluded;
}

std::vector<int> chosen_features(const Source& source, const Roles& roles, const TrainingRequest& request) {
    std::vector<int> features;
    const std::vector<int> excluded = excluded_columns(source, request);
    const auto is_excluded = [&](int column) {
        return std::find(excluded.begin(), excluded.end(), column) != excluded.end();
    };
    if (request.features) {
        for (const std::string& name : *request.features) {
            const int column = source.column(name);
            check_not_reserved(source, roles, column);
            if (is_excluded(column))
                throw Error(ErrorCode::invalid_argument,
                            format("column \"%s\" is both in features and in exclude", name.c_str()));
            if (std::find(features.begin(), features.end(), column) != features.end())
                throw Error(ErrorCode::duplicate_column, format("features names column \"%s\" twice", name.c_str()));
            features.push_back(column);
        }
        // Ties between features go to the first in the source's order, however they are listed.
        std::sort(features.begin(), features.end());
    } else {
        source.require_distinct_names();
        for (int i = 0; i < static_cast<int>(source.columns().size()); i++)
            if (!roles.of(i) && !is_excluded(i)) features.push_back(i);
    }
    if (features.empty())
        throw Error(ErrorCode::invalid_argument, "there are no features to train on", "",
                    "Let the source output columns besides target, holdout and weight.");
    return features;
}

// A column that the source has for each row of the target's table.
int column_beside_target(const Source& source, const TrainingRequest& request, int target, const std::string& name,
                         const char* role) {
    const int column = source.column(name);
    if (source.columns()[column].table != source.columns()[target].table)
        throw Error(
            ErrorCode::not_supported,
            format("%s \"%s\" and target \"%s\" are of different tables", role, name.c_str(), request.target.c_str()),
            format("The %s must come from the base relation that the target comes from.", role),
            "Join the two tables in a sub-query that ends in OFFSET 0, which makes them one base relation.");
    return column;
}

// Reals by their values, since their text may be rounded.
ReadAs query_reading(const Source::Column& column) {
    switch (column.number) {
    case NumberKind::float4:
    case NumberKind::float8:
    case NumberKind::numeric:
        return ReadAs::number;
    default:
        return ReadAs::category;
    }
}

int query_column(const Source& source, const TrainingRequest& request, int target) {
    const int column = column_beside_target(source, request, target, *request.query, "query");
    const Source::Column& found = source.columns()[column];
    if (query_reading(found) == ReadAs::category) require_category(found, "query");
    return column;
}

int number_beside_target(const Source& source, const TrainingRequest& request, int target, const std::string& name,
                         const char* role) {
    require_number(source.columns()[source.column(name)], role);
    return column_beside_target(source, request, target, name, role);
}

void require_order(const Source::Column& column) {
    switch (column.number) {
    case NumberKind::date:
    case NumberKind::timestamp:
    case NumberKind::timestamptz:
        return;
    default:
        if (is_plain_number(column.number)) return;
        throw Error(ErrorCode::wrong_type,
                    format("order_by \"%s\" is of type %s", column.name.c_str(), type_name(column.type)),
                    "Rows are ordered by numbers, dates and timestamps.", cast_hint(column.name, column.type) + ".");
    }
}

void check_different(const Source& source, const Roles& roles) {
    const std::pair<const char*, std::optional<int>> parts[] = {
        {"target", roles.target},     {"holdout", roles.holdout},  {"weight", roles.weight},
        {"offset", roles.offset},     {"query", roles.query},      {"fold", roles.fold},
        {"order_by", roles.order_by}, {"group_by", roles.group_by}};
    for (const auto& [part, column] : parts)
        for (const auto& [other, other_column] : parts)
            if (&part < &other && column && column == other_column)
                throw Error(ErrorCode::invalid_argument, format("column \"%s\" cannot be both the %s and the %s",
                                                                source.columns()[*column].name.c_str(), part, other));
}

// Returns the feature's place among the features. Error invalid_argument, with what the list is called.
size_t place_of_feature(const Source& source, const Roles& roles, const std::string& name, const char* list) {
    const int column = source.column(name);
    const auto found = std::find(roles.features.begin(), roles.features.end(), column);
    if (found == roles.features.end())
        throw Error(ErrorCode::invalid_argument, format("%s column \"%s\" is not a feature", list, name.c_str()));
    return static_cast<size_t>(found - roles.features.begin());
}

void assign_categories(const Source& source, const TrainingRequest& request, Roles& roles) {
    std::vector<bool>& categorical = roles.categorical;
    categorical.assign(roles.features.size(), false);
    for (const std::string& name : request.categorical)
        categorical[place_of_feature(source, roles, name, "categorical")] = true;
    for (size_t i = 0; i < roles.features.size(); i++) {
        const Source::Column& column = source.columns()[roles.features[i]];
        const Oid type = column.type;
        categorical[i] = categorical[i] || pg_call([=] { return is_categorical(type); });
        roles.arrays.push_back(check_feature_type(column, categorical[i]));
    }
}

void assign_directions(const Source& source, const TrainingRequest& request, Roles& roles) {
    roles.directions.assign(roles.features.size(), 0);
    const auto assign = [&](const std::vector<std::string>& names, const char* list, int direction) {
        for (const std::string& name : names) {
            const size_t place = place_of_feature(source, roles, name, list);
            if (roles.categorical[place])
                throw Error(ErrorCode::wrong_type,
                            format("%s column \"%s\" is categorical, not a number", list, name.c_str()));
            if (roles.directions[place] != 0)
                throw Error(ErrorCode::invalid_argument,
                            roles.directions[place] == direction
                                ? format("%s names column \"%s\" twice", list, name.c_str())
                                : format("column \"%s\" is both in increasing and in decreasing", name.c_str()));
            roles.directions[place] = direction;
        }
    };
    assign(request.increasing, "increasing", 1);
    assign(request.decreasing, "decreasing", -1);
}

std::vector<ColumnRequest> column_requests(const Source& source, const Roles& roles) {
    std::vector<ColumnRequest> requests{{roles.target, roles.target_is_label ? ReadAs::category : ReadAs::number}};
    for (const std::optional<int> column : {roles.weight, roles.holdout, roles.offset})
        if (column) requests.push_back({*column, ReadAs::number});
    if (roles.query) requests.push_back({*roles.query, query_reading(source.columns()[*roles.query])});
    if (roles.divider()) requests.push_back({*roles.divider(), roles.order_by ? ReadAs::number : ReadAs::category});
    for (size_t i = 0; i < roles.features.size(); i++) {
        const ArrayRule& array = roles.arrays[i];
        requests.push_back({roles.features[i],
                            roles.categorical[i] ? ReadAs::category
                            : array.reads()      ? ReadAs::vector
                                                 : ReadAs::number,
                            nullptr, 0, array});
    }
    return requests;
}

// Adds the elements that a vector has.
void add_elements(const ArrayRule& array, const std::vector<ColumnRef>& elements, int direction, DatasetPlan& plan) {
    const std::string type = array_type_name(array);
    for (const ColumnRef& place : elements) {
        const auto element = static_cast<uint32_t>(&place - elements.data()) + 1;
        plan.features.push_back({place, type, direction, element});
    }
}

DatasetPlan dataset_plan(const Source& source, const Roles& roles, const LoadedSource& loaded) {
    size_t next = 0;
    const auto place = [&] { return loaded.places[next++]; };
    const auto feature = [&](int column, int direction) {
        return relational::FeatureRef{place(), stored_type_name(source.columns()[column].type), direction};
    };
    DatasetPlan plan{};
    plan.target = place();
    if (roles.weight) plan.weight = place();
    if (roles.holdout) plan.holdout = place();
    if (roles.offset) plan.offset = feature(*roles.offset, 0);
    if (roles.query) plan.query = place();
    if (roles.divider()) plan.divider = feature(*roles.divider(), 0);
    for (size_t i = 0; i < roles.features.size(); i++) {
        if (roles.arrays[i].reads())
            add_elements(roles.arrays[i], loaded.elements[next++], roles.directions[i], plan);
        else
            plan.features.push_back(feature(roles.features[i], roles.directions[i]));
    }
    return plan;
}

// Error invalid_argument for a vector whose length no row tells.
void require_lengths(const Source& source, const std::vector<ColumnRequest>& requests, const LoadedSource& loaded) {
    for (size_t r = 0; r < requests.size(); r++)
        if (requests[r].as == ReadAs::vector && loaded.elements[r].empty())
            refuse_unknown_length(source.columns()[requests[r].output].name);
}

std::vector<std::string_view> feature_names(const relational::Join& join, const DatasetPlan& plan) {
    std::vector<std::string_view> names;
    for (const relational::FeatureRef& feature : plan.features) names.push_back(column_at(join, feature.place).name);
    return names;
}

// Rows without a target are not part of the training set; returns how many rows of the join that were.
uint64_t skip_null_targets(relational::Join& join, const ColumnRef& target, RunContext& context) {
    const relational::DataColumn& column = column_at(join, target);
    const auto has_target = [&](relational::RowId row) { return column.has_value(row); };
    bool all_have = true;
    context.for_each(join.tables()[target.table].rows, 1,
                     [&](uint64_t row) { all_have = all_have && has_target(row); });
    if (all_have) return 0; // as most often: the join need not be counted
    const WideCount before = join.wide_count(context);
    join.filter(target.table, has_target, context);
    return static_cast<uint64_t>(std::min<WideCount>(before - join.wide_count(context), UINT64_MAX));
}

// Where PostgreSQL joins tables in one query, its rows do not tell which of them are one row of the target's table.
void check_unit(const TrainingRequest& request, int target) {
    if (request.unit == Unit::join) return;
    const Source& source = request.source;
    const int table = source.columns()[target].table;
    const auto* const relation = items<const SourceRelation>(source.analysis().relations)[table];
    if (!relation->reason) return;
    throw Error(
        ErrorCode::not_supported, "unit => 'target' needs the target's table by itself",
        format("It is read as part of %s: %s.", relation->name, relation->reason),
        "Leave out unit if its rows are one each, or give a weight: 1.0 / count(*) OVER (PARTITION BY …) by the "
        "target's key.");
}

std::string times(double number) {
    return format(number < 1000 ? "%.4g" : "%.0f", number);
}

} // namespace

Roles assign_roles(const TrainingRequest& request) {
    const Source& source = request.source;
    Roles roles{};
    const int target = roles.target = source.column(request.target);
    roles.target_is_label = is_label_target(source, target, request);
    if (request.holdout) {
        roles.holdout = source.column(*request.holdout);
        require_boolean(source.columns()[*roles.holdout], "holdout");
    }
    if (request.weight) roles.weight = number_beside_target(source, request, target, *request.weight, "weight");
    if (request.offset) roles.offset = number_beside_target(source, request, target, *request.offset, "offset");
    if (roles.target_is_label) require_category(source.columns()[target], "target");
    if (request.query) roles.query = query_column(source, request, target);
    if (request.fold) {
        roles.fold = source.column(*request.fold);
        require_category(source.columns()[*roles.fold], "fold");
    }
    check_unit(request, target);
    if (request.order_by) {
        roles.order_by = source.column(*request.order_by);
        require_order(source.columns()[*roles.order_by]);
    }
    if (request.group_by) {
        roles.group_by = source.column(*request.group_by);
        require_category(source.columns()[*roles.group_by], "group_by");
    }
    check_different(source, roles);
    roles.features = chosen_features(source, roles, request);
    assign_categories(source, request, roles);
    assign_directions(source, request, roles);
    return roles;
}

void refuse_unknown_length(const std::string& column) {
    throw Error(ErrorCode::invalid_argument, format("column \"%s\" is NULL in all rows", column.c_str()),
                "The length of its arrays is not known.", "Leave it out: exclude => '{" + column + "}'.");
}

void require_distinct_features(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    if (found == names.end()) return;
    throw Error(ErrorCode::duplicate_column, format("two features are called \"%s\"", std::string(*found).c_str()),
                "One is a column of the source, the other an element of its arrays.",
                "Give the column another name, or leave it out: exclude => '{…}'.");
}

static void check_one_divider(const TrainingRequest& request) {
    const auto refuse = [](const char* one, const char* other) {
        throw Error(ErrorCode::invalid_argument, format("%s and %s are not valid together", one, other), "",
                    "Name a column in one of them.");
    };
    if (request.fold && request.order_by) refuse("fold", "order_by");
    if (request.fold && request.group_by) refuse("fold", "group_by");
    if (request.order_by && request.group_by) refuse("order_by", "group_by");
}

// The source, with args that belong to the call's other sources as well.
static GivenSource training_source(const FitArguments& arguments) {
    const NamedArguments& call = arguments.call();
    std::vector<std::string> sources = {call.string("source")};
    if (call.has("queries")) sources.push_back(call.string("queries"));
    if (const std::optional<std::string> exemplars = arguments.source("exemplar_source")) sources.push_back(*exemplars);
    return {sources[0], source_args(call, sources)};
}

TrainingRequest read_training_request(const FitArguments& arguments) {
    const auto columns = [&](const char* name) { return arguments.columns(name).value_or(std::vector<std::string>()); };
    const GivenSource given = training_source(arguments);
    TrainingRequest request{Source(given),
                            given.args,
                            arguments.call().column("target"),
                            arguments.columns("features"),
                            columns("categorical"),
                            arguments.column("holdout"),
                            arguments.column("weight"),
                            arguments.boolean("verbose"),
                            arguments.column("offset"),
                            arguments.column("query"),
                            columns("increasing"),
                            columns("decreasing"),
                            columns("exclude"),
                            arguments.column("fold"),
                            arguments.column("order_by"),
                            arguments.column("group_by")};
    check_one_divider(request);
    return request;
}

void set_holdout_fraction(TrainingRequest& request, std::optional<double> fraction, int64_t seed) {
    if (fraction && request.holdout)
        throw Error(ErrorCode::invalid_argument, "holdout and holdout_fraction are not valid together", "",
                    "Give one of them.");
    if (!fraction && (request.order_by || request.group_by))
        throw Error(ErrorCode::invalid_argument,
                    format("%s needs a holdout_fraction", request.order_by ? "order_by" : "group_by"),
                    "It says which rows are held out.", "Give holdout_fraction => 0.2 with it.");
    if (fraction) request.held = {*fraction, static_cast<uint64_t>(seed), request.division()};
}

TrainingJoin read_training_join(const TrainingRequest& request, RunContext& context, RowContents contents,
                                RowContents contents_of_labels) {
    const Source& source = request.source;
    const Roles roles = assign_roles(request);
    const std::vector<ColumnRequest> requests = column_requests(source, roles);
    const Oid target_type = source.columns()[roles.target].type;
    const Oid fold_type = roles.fold ? source.columns()[*roles.fold].type : InvalidOid;
    if (request.held && !roles.divider() && !roles.query) { // which goes by them
        contents = std::max(contents, RowContents::read);
        contents_of_labels = std::max(contents_of_labels, RowContents::read);
    }
    const bool has_labels = target_type == BOOLOID || requests.front().as == ReadAs::category;
    LoadedSource loaded = source.read(requests, context, has_labels ? contents_of_labels : contents);
    DatasetPlan plan = dataset_plan(source, roles, loaded);
    std::optional<Stopwatch> watch(loaded.timings.back().seconds);
    const uint64_t skipped = skip_null_targets(loaded.join, plan.target, context);
    const WideCount rows = loaded.join.wide_count(context);
    if (rows == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to train on",
                    skipped == 0 ? "It is empty."
                                 : format("The target is NULL in all of its %" PRIu64 " rows.", skipped));
    require_lengths(source, requests, loaded);
    require_distinct_features(feature_names(loaded.join, plan));
    std::string repeats;
    const relational::Table& of_target = loaded.join.tables()[plan.target.table];
    if (rows > of_target.rows) {
        const Buffer<double> by_row = repeats_of_rows(loaded.join, plan.target.table, context);
        if (request.unit == Unit::target)
            share_weights(loaded.join, plan, by_row, context);
        else
            repeats = describe_repeats(of_target.name, static_cast<double>(rows), static_cast<double>(of_target.rows),
                                       *std::max_element(by_row.begin(), by_row.end()));
    }
    watch.reset();
    return {std::move(loaded.join), std::move(plan),          target_type, fold_type, skipped,
            std::move(repeats),     std::move(loaded.timings)};
}

std::string describe_repeats(const std::string& table, double join_rows, double table_rows, double most) {
    return "the join has each row of " + table + " " + times(join_rows / table_rows) + " times on average, " +
           times(most) + " times at most";
}

void notice_repeats(const std::string& repeats, const char* hint) {
    if (!repeats.empty()) notice(repeats, "What is fitted are the join's rows.", hint);
}

void hold_out(TrainingJoin& training, const TrainingRequest& request, RunContext& context) {
    if (!request.held) return;
    const Stopwatch watch(training.timings.back().seconds);
    validation::hold_out(training.join, training.plan, *request.held, context);
}

} // namespace btml::pg
