#include "pg/source/boosting_source.hpp"

#include "core/boosting/factorised/sketched_squares.hpp"
#include "core/relational/join/join_rows.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

#include <numeric>

extern "C" {
#include "catalog/pg_enum.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace btml::pg {

using boosting::draw_training_sample;
using boosting::Findings;
using boosting::LabelRequest;
using boosting::Labels;
using boosting::LabelWeight;
using boosting::needs_rows;
using boosting::objective_of;
using boosting::Options;
using boosting::SampleReport;
using boosting::sketches_squares;
using boosting::Strategy;
using boosting::StrategyChoice;
using boosting::TrainingSample;
using boosting::valid_label_weights;
using boosting::Workload;

namespace {

[[noreturn]] void only_with_sketch(const char* option) {
    throw Error(ErrorCode::invalid_argument, format("%s needs residuals => 'sketch'", option),
                "With exact residuals there is no sketch.");
}

LabelRequest read_label_request(const FitArguments& arguments) {
    LabelRequest request;
    request.positive = arguments.text("positive");
    if (const std::optional<std::string> weights = arguments.json("class_weights", valid_class_weights))
        request.weights = read_label_weights(*weights);
    return request;
}

// Positions of an enum's labels in its order.
std::vector<double> enum_positions(Oid type, const std::vector<std::string>& labels, RunContext& context) {
    std::vector<double> order;
    for (const std::string& label : labels) {
        context.worked(100);
        const char* const name = label.c_str();
        order.push_back(pg_call([=] {
            const HeapTuple row = SearchSysCache2(ENUMTYPOIDNAME, ObjectIdGetDatum(type), CStringGetDatum(name));
            if (!HeapTupleIsValid(row)) elog(ERROR, "enum %u has no label \"%s\"", type, name);
            const float position = reinterpret_cast<Form_pg_enum>(GETSTRUCT(row))->enumsortorder;
            ReleaseSysCache(row);
            return position;
        }));
    }
    return order;
}

// Says whether the order of the type is another than that of texts.
bool has_own_order(Oid type) {
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);
    return OidIsValid(entry->cmp_proc) && type != TEXTOID && type != VARCHAROID && type != BPCHAROID && type != NAMEOID;
}

// Returns the numbers below `count` in this order.
template <class Less>
std::vector<uint32_t> sorted_numbers(size_t count, const Less& less, uint64_t work, RunContext& context) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context.worked(work);
        return less(a, b);
    });
    return order;
}

// Numbers of values, which are given as text, in the order of their type.
std::vector<uint32_t> order_of_values(Oid type, const std::vector<std::string>& texts, RunContext& context) {
    std::vector<Datum> values(texts.size());
    context.in_blocks(texts.size(), 100, [&](uint64_t begin, uint64_t end) {
        const std::string* const text = texts.data();
        Datum* const value = values.data();
        pg_call([=] {
            Oid function, parameter;
            getTypeInputInfo(type, &function, &parameter);
            FmgrInfo input;
            fmgr_info(function, &input);
            for (uint64_t i = begin; i < end; i++)
                value[i] = InputFunctionCall(&input, const_cast<char*>(text[i].c_str()), parameter, -1);
        });
    });
    TypeCacheEntry* const entry = pg_call([=] { return lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO); });
    const auto is_less = [&](uint32_t a, uint32_t b) {
        const Datum x = values[a], y = values[b];
        return pg_call(
            [=] { return DatumGetInt32(FunctionCall2Coll(&entry->cmp_proc_finfo, entry->typcollation, x, y)) < 0; });
    };
    return sorted_numbers(values.size(), is_less, 20, context);
}

// Makes numbers of labels' codes.
void make_numbers(relational::DataColumn& column, RunContext& context) {
    column.numbers.resize(column.codes.size());
    context.for_each(column.codes.size(), 1, [&](uint64_t row) { column.numbers[row] = column.codes[row]; });
    column.codes = Buffer<uint32_t>(context.memory(), "columns of the source");
    column.kind = relational::DataColumn::Kind::number;
}

// Says how to have the same model again, where the number of rows was not asked for.
void notice_sample(const TrainingSample& sample, const StrategyChoice& choice, const Options& options) {
    const std::string rows = std::to_string(sample.report.sample_rows);
    const bool automatic = options.strategy == Strategy::automatic;
    if (!automatic && !sample.limited) return;
    notice("trained on a sample of " + rows + " of the join's " + decimal(sample.report.join_rows) + " rows",
           automatic ? "The " + choice.reason + "." : "A larger sample does not fit into btml.memory_limit.",
           "strategy => 'sample', sample_rows => " + rows + " repeats it with any limit.");
}

// A column as an element of an array literal in SQL.
std::string array_element(const std::string& name) {
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (std::all_of(name.begin(), name.end(), is_plain)) return name;
    std::string element = "\"";
    for (const char c : name) {
        if (c == '"' || c == '\\') element += '\\';
        if (c == '\'') element += '\'';
        element += c;
    }
    return element + '"';
}

std::string exclude_them(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + array_element(name);
    return "exclude => '{" + list + "}'";
}

std::string called(const std::vector<std::string>& names) {
    return (names.size() == 1 ? "feature " : "features ") + quoted_list(names);
}

} // namespace

void sort_categories(relational::DataColumn& column, Oid type, RunContext& context) {
    if (pg_call([=] { return type_is_enum(type); })) {
        const std::vector<double> position = enum_positions(type, column.categories, context);
        const auto is_before = [&](uint32_t a, uint32_t b) { return position[a] < position[b]; };
        renumber_categories(column, sorted_numbers(position.size(), is_before, 1, context), context);
    } else if (pg_call([=] { return has_own_order(type); })) {
        renumber_categories(column, order_of_values(type, column.categories, context), context);
    }
}

void notice_findings(const Findings& findings, const std::string& target) {
    const auto one = [](const std::vector<std::string>& names) { return names.size() == 1; };
    if (findings.constant_target)
        notice("target \"" + target + "\" is " + shortest(*findings.constant_target) + " in all rows to train on", "",
               "There is nothing to learn from them.");
    if (const auto& names = findings.explaining; !names.empty())
        notice(called(names) + (one(names) ? " alone explains" : " each explain") + " target \"" + target + "\"" +
                   (one(names) ? "" : " alone"),
               "",
               std::string("If predictions are made before that is known, leave ") + (one(names) ? "it" : "them") +
                   " out: " + exclude_them(names) + ".");
    if (const auto& names = findings.identifying; !names.empty())
        notice(called(names) + (one(names) ? " has" : " have") + " another value in every row", "",
               "What only tells rows apart is better left out: " + exclude_them(names) + ".");
    if (const auto& names = findings.nearly_identifying; !names.empty())
        notice(called(names) + (one(names) ? " has" : " have") + " nearly as many values as there are rows", "",
               "What hardly any two rows share is better left out: " + exclude_them(names) + ".");
    if (const auto& names = findings.constant; !names.empty())
        notice(called(names) + (one(names) ? " has" : " have") + " one value in all rows to train on");
}

std::vector<LabelWeight> read_label_weights(const std::string& json) {
    std::vector<LabelWeight> weights;
    for (const JsonOption& member : json_options(json, "class_weights", valid_class_weights)) {
        if (!member.number)
            throw Error(ErrorCode::invalid_argument,
                        format("class_weights has no number for the label \"%s\"", member.name.c_str()), "",
                        valid_label_weights);
        weights.push_back({member.name, *member.number});
    }
    return weights;
}

BoostRequest read_boost_request(const FitArguments& arguments, const Options& defaults) {
    BoostRequest request{read_training_request(arguments), defaults, read_label_request(arguments), {}};
    request.takes_labels = true;
    const NamedArguments& call = arguments.call();
    if (call.has("start") && !call.is_null("start")) request.start = call.datum("start");
    arguments.read(boosting::options_table, request.options);
    const Options& options = request.options;
    request.unit = options.unit;
    const bool ranks = objective_of(options.objective).ranks;
    if (ranks && !request.query)
        throw Error(ErrorCode::invalid_argument, "objective => 'rank' needs a query", "",
                    "Name the column whose equal values make the rows that are ranked together.");
    if (request.query && !ranks)
        throw Error(ErrorCode::invalid_argument,
                    format("query is not valid with objective => '%s'", name_of(options.objective)), "",
                    "It is for objective => 'rank'.");
    if (options.sketch_size > 0 && !options.sketch_residuals) only_with_sketch("sketch_size");
    if (options.verify && !options.sketch_residuals) only_with_sketch("verify");
    return request;
}

std::vector<std::string> take_labels(relational::DataColumn& column, Oid type, RunContext& context) {
    relational::drop_unused_categories(column, context);
    sort_categories(column, type, context);
    make_numbers(column, context);
    return std::move(column.categories);
}

void read_target(TrainingJoin& training, const BoostRequest& request, Options& options, RunContext& context) {
    relational::DatasetPlan& plan = training.plan;
    relational::DataColumn& column = column_at(training.join, plan.target);
    const Oid type = training.target_type;
    TargetKind kind = type == BOOLOID ? TargetKind::boolean : TargetKind::number;
    std::vector<std::string> names;
    if (column.kind == relational::DataColumn::Kind::category) {
        kind = TargetKind::label;
        names = take_labels(column, type, context);
    }
    Labels labels =
        find_labels({request.target.c_str(), kind, column.numbers, std::move(names)}, request.labels, options, context);
    for (const Labels::Notice& told : labels.notices) notice(told.message, "", told.hint);
    plan.labels = std::move(labels.names);
    plan.label_weights = std::move(labels.weights);
    options.validate();
}

RowContents contents_for(const Options& options, bool has_labels) {
    const bool may_sample = options.strategy == Strategy::sample ||
                            (options.strategy == Strategy::automatic && (has_labels || needs_rows(options)));
    const bool may_sketch = sketches_squares(options) && options.strategy != Strategy::enumerate;
    return may_sketch ? RowContents::distinct : may_sample ? RowContents::read : RowContents::unread;
}

Workload workload_of(const TrainingJoin& training, int known_trees) {
    return {training.plan.features.size(), training.plan.labels.size(), known_trees};
}

std::pair<relational::JoinRows, std::optional<SampleReport>> hold_rows(TrainingJoin& training, StrategyChoice& choice,
                                                                       const Options& options, RunContext& context) {
    relational::Join& join = training.join;
    if (choice.strategy == Strategy::sample) {
        if (auto sample = draw_training_sample(join, training.plan, options, context)) {
            notice_sample(*sample, choice, options);
            keep_rows_of(join, sample->rows, context);
            return {std::move(sample->rows), sample->report};
        }
        Options all = options;
        all.strategy = Strategy::enumerate;
        all.sample_rows = 0;
        choice = choose_strategy(join, workload_of(training), all, context);
    }
    return {relational::enumerate(join, context), std::nullopt};
}

} // namespace btml::pg
