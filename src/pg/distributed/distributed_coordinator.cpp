#include "pg/distributed/distributed_coordinator.hpp"

#include "pg/bridge/function_rights.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/subtransaction.hpp"
#include "pg/distributed/distributed_transport.hpp"
#include "pg/source/partitions.hpp"
#include "pg/source/row_address.hpp"
#include "pg/values/feature_type.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

#include <algorithm>
#include <map>
#include <set>

extern "C" {
#include "utils/builtins.h"
#include "utils/json.h"
}

namespace btml::pg {

using namespace boosting;

namespace {

// A source as it stands within another query.
std::string inner_query(const Source& source) {
    return std::string("(\n") + source.analysis().text + "\n)";
}

// Returns a text as a literal of JSON, which has no collation: with one postgres_fdw would not ship it. May ereport.
const char* json_literal(const char* text) {
    StringInfoData json;
    initStringInfo(&json);
    escape_json(&json, text);
    return quote_literal_cstr(json.data);
}

// The column, or an element of its arrays, as a float8, as it would be read here. value: its expression.
std::string number_expression(const Source::Column& column, NumberKind kind, const std::string& value) {
    if (kind == NumberKind::float8) return value;
    if (kind == NumberKind::boolean) return value + "::pg_catalog.int4::pg_catalog.float8";
    if (kind == NumberKind::numeric)
        return format("btml_internal.number(%s, %s::pg_catalog.json)", value.c_str(),
                      pg_call([&] { return json_literal(column.name.c_str()); }));
    if (is_plain_number(kind)) return value + "::pg_catalog.float8";
    return "btml_internal.number(" + value + ")";
}

std::string text_expression(const Source::Column& column) {
    const Oid type = column.type;
    const bool is_shipped =
        type == TEXTOID || type == VARCHAROID || type == BPCHAROID || pg_call([=] { return type_is_enum(type); });
    if (!is_shipped)
        throw Error(
            ErrorCode::not_supported,
            format("categories of type %s, in column \"%s\", cannot be shipped", type_name(type), column.name.c_str()),
            "", "Categories can be shipped as text, character varying, character, boolean and enums.");
    return "s." + quoted_name(column.name) + "::pg_catalog.text";
}

std::string array(const std::vector<std::string>& elements, const char* type) {
    std::string list;
    for (const std::string& element : elements) list += (list.empty() ? "" : ", ") + element;
    return "ARRAY[" + list + "]::pg_catalog." + type + "[]";
}

// The backends that hold rows, as they are reached by a transport.
class ServerPeers : public Coordinator {
  public:
    ServerPeers(const FitToken& token, FitTransport& transport, RunContext& context)
        : Coordinator(transport.backends()), token_(token), transport_(transport), context_(context) {}

    uint64_t rounds() const { return round_; }

  private:
    // Gives back what PostgreSQL allocates; after an error it all goes with the call.
    std::vector<Bytes> exchange(const Bytes& message) override {
        const MemoryContext memory =
            pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml round", ALLOCSET_DEFAULT_SIZES); });
        const MemoryContext before = MemoryContextSwitchTo(memory);
        std::vector<Bytes> answers = transport_.exchange(token_, round_++, message, context_);
        MemoryContextSwitchTo(before);
        pg_call([=] { MemoryContextDelete(memory); });
        return answers;
    }

    const FitToken token_;
    FitTransport& transport_;
    RunContext& context_;
    uint64_t round_ = 0;
};

[[noreturn]] void refuse_unit(const std::string& detail) {
    throw Error(ErrorCode::not_supported,
                "servers cannot tell which rows of the join repeat a row of the target's table", detail,
                "Train on one machine, strategy => 'enumerate', or leave out unit => 'target'.");
}

// What the servers read: the source, with the columns that a fit takes.
class ShippedSource {
  public:
    // Errors: those of assign_roles; not_supported naming what cannot be shipped.
    ShippedSource(const TrainingRequest& request, RunContext& context)
        : source_(request.source), roles_(assign_roles(request)) {
        std::vector<CitusTable> tables = citus_tables(source_.analysis().query, context);
        is_of_citus_ = has_distributed_table(tables);
        transport_ = is_of_citus_ ? shard_transport(std::move(tables)) : partition_transport();
        for (const std::optional<int>& place :
             {std::optional(roles_.target), roles_.weight, roles_.holdout, roles_.offset})
            if (place) add(column(*place), place == roles_.target && roles_.target_is_label);
        for (size_t i = 0; i < roles_.features.size(); i++) {
            const Source::Column& from = column(roles_.features[i]);
            if (roles_.arrays[i].reads())
                add_elements(roles_.features[i], roles_.arrays[i], context);
            else
                add(from, roles_.categorical[i] && from.type != BOOLOID);
        }
        add_address(request.unit);
        transport_->check(load({}), context);
    }

    const Roles& roles() const { return roles_; }
    const Source::Column& column(int place) const { return source_.columns()[place]; }
    FitTransport& transport() const { return *transport_; }
    bool is_of_citus() const { return is_of_citus_; }
    // The target's table in a join of several, where it is known which of its rows each row comes from; or InvalidOid.
    Oid addressed_table() const { return addressed_table_; }
    // The features that the column's arrays are; one where all are NULL.
    const std::vector<Feature>& elements_of(int place) const { return elements_.at(place); }
    // Error invalid_argument where there is such a column.
    void require_lengths() const {
        if (without_length_) refuse_unknown_length(*without_length_);
    }
    const SourceRelation* target_relation() const {
        return items<const SourceRelation>(source_.analysis().relations)[column(roles_.target).table];
    }

    // The query that has servers hold their rows.
    LoadQuery load(const Bytes& command) const {
        std::string arguments = bytea_literal(command) + ", " + array(numbers_, "float8");
        if (!texts_.empty()) arguments += ", " + array(texts_, "text");
        LoadQuery load{query("btml_internal.hold_rows(" + arguments + ")", ""), {}};
        if (OidIsValid(addressed_table_)) load.addressed = roles_.target;
        return load;
    }

    // The target's values, but for NULLs; of more than max_labels, a few more than that.
    template <class Value, class Read>
    std::set<Value> targets(const Read& read, RunContext& context) const {
        std::set<Value> found;
        // Grouped, since postgres_fdw does not ship DISTINCT.
        const std::string end = " GROUP BY 1 LIMIT " + std::to_string(max_labels + 2);
        transport_->read(query(roles_.target_is_label ? texts_[0] : numbers_[0], end), context, [&](Datum value) {
            found.insert(read(value));
            return found.size() <= max_labels;
        });
        return found;
    }

  private:
    void add(const Source::Column& from, bool is_text) {
        if (is_text)
            texts_.push_back(text_expression(from));
        else
            numbers_.push_back(number_expression(from, from.number, "s." + quoted_name(from.name)));
    }
    // Error not_supported for what is no array, but has a cast to one.
    void add_elements(int place, const ArrayRule& rule, RunContext& context) {
        const Source::Column& from = column(place);
        if (rule.cast)
            throw Error(ErrorCode::not_supported,
                        format("values of type %s, in column \"%s\", cannot be shipped", type_name(from.type),
                               from.name.c_str()),
                        "", format("Let the source output them as arrays: \"%s\"::real[].", from.name.c_str()));
        const std::string name = "s." + quoted_name(from.name);
        std::vector<Feature>& elements = elements_[place];
        const size_t length = find_length(from, name, context);
        if (length == 0) without_length_ = from.name;
        for (uint32_t i = 1; i <= std::max<size_t>(length, 1); i++) {
            elements.push_back({element_name(from.name, i), array_type_name(rule), false, {}, i});
            numbers_.push_back(number_expression(from, rule.element, name + "[" + std::to_string(i) + "]"));
        }
    }
    // Asks the servers how long the column's arrays are; 0 where all are NULL. Errors as of check_vector.
    size_t find_length(const Source::Column& from, const std::string& name, RunContext& context) const {
        const ArrayRule rule = pg_call([] { return array_rule(INT4ARRAYOID, CurrentMemoryContext); });
        NumberColumn column{from.name.c_str()};
        std::vector<double> shape;
        size_t length = 0;
        const auto take = [&](Datum value) {
            read_numbers(rule, value, shape, column);
            if (is_null(shape[0])) return true;
            const auto elements = static_cast<size_t>(shape[0]);
            const bool is_empty = elements == 0;
            check_vector(
                {elements, is_empty ? 0 : static_cast<int>(shape[1]), is_empty ? 1 : static_cast<int>(shape[2])},
                length, false, column);
            length = elements;
            return true;
        };
        transport_->read(query("ARRAY[pg_catalog.cardinality(" + name + "), pg_catalog.array_ndims(" + name +
                                   "), pg_catalog.array_lower(" + name + ", 1)]",
                               " GROUP BY 1"),
                         context, take);
        return length;
    }
    // The last of the numbers is the address of the target's row, for which a NULL stands in.
    void add_address(Unit unit) {
        if (list_length(source_.analysis().relations) == 1 || target_relation()->reason) return;
        const std::string address = "btml_internal.number(NULL::pg_catalog.tid)";
        addressed_table_ = put_row_address(parsed_query(query(address, "")), roles_.target);
        if (OidIsValid(addressed_table_))
            numbers_.push_back(address);
        else if (unit == Unit::target)
            refuse_unit("The target does not come from rows of one table.");
    }
    std::string query(const std::string& output, const std::string& end) const {
        return "SELECT " + output + " FROM " + inner_query(source_) + " AS s" + end;
    }

    const Source& source_;
    const Roles roles_;
    std::map<int, std::vector<Feature>> elements_; // of the columns of arrays
    std::optional<std::string> without_length_;    // one of these columns, all of whose arrays are NULL
    std::vector<std::string> numbers_, texts_;     // expressions over the source, in the order of HeldFit::add
    Oid addressed_table_ = InvalidOid;
    std::unique_ptr<FitTransport> transport_;
    bool is_of_citus_;
};

[[noreturn]] void refuse_no_rows(const std::string& detail) {
    throw Error(ErrorCode::invalid_argument, "source has no rows to train on", detail);
}

std::vector<std::string> in_order_of_type(std::vector<std::string> labels, Oid type, RunContext& context) {
    relational::DataColumn column{"target", relational::DataColumn::Kind::category,
                                  Buffer<double>(context.memory(), "target"),
                                  Buffer<uint32_t>(context.memory(), "target"), std::move(labels)};
    sort_categories(column, type, context);
    return std::move(column.categories);
}

// Finds labels as the rows of one server would give them.
Labels labels_of_all(const ShippedSource& source, const BoostRequest& request, TargetKind kind, Options& options,
                     RunContext& context) {
    Buffer<double> values(context.memory(), "target");
    std::vector<std::string> names;
    if (kind == TargetKind::boolean) {
        values.push_back(0);
        values.push_back(1);
    } else if (kind == TargetKind::label) {
        const auto text = [](Datum value) { return std::string(bytes_of(value, TEXTOID)); };
        const std::set<std::string> found = source.targets<std::string>(text, context);
        names = in_order_of_type({found.begin(), found.end()}, source.column(source.roles().target).type, context);
        for (size_t code = 0; code < names.size(); code++) values.push_back(static_cast<double>(code));
    } else if (takes_labels(options)) {
        const auto number = [](Datum value) { return to_number(value, NumberKind::float8, nullptr); };
        for (const double value : source.targets<double>(number, context)) values.push_back(value);
    }
    if (values.empty() && (kind == TargetKind::label || takes_labels(options)))
        refuse_no_rows("It is empty, or its target is NULL in all of its rows.");
    return find_labels({request.target.c_str(), kind, values, std::move(names)}, request.labels, options, context);
}

// The token and what the columns are.
FitPlan plan_of_columns(const ShippedSource& source) {
    const Roles& roles = source.roles();
    FitPlan plan{};
    fill_with_random_bytes(plan.token.data(), plan.token.size());
    plan.target_kind = roles.target_is_label                         ? TargetKind::label
                       : source.column(roles.target).type == BOOLOID ? TargetKind::boolean
                                                                     : TargetKind::number;
    plan.target = format("target \"%s\"", source.column(roles.target).name.c_str());
    if (roles.weight) plan.weight = format("weight \"%s\"", source.column(*roles.weight).name.c_str());
    plan.has_holdout = roles.holdout.has_value();
    plan.has_addresses = OidIsValid(source.addressed_table());
    Model& model = plan.model;
    bool has_direction = false;
    const auto add_feature = [&](Feature feature, int direction) {
        model.features.push_back(std::move(feature));
        model.directions.push_back(static_cast<int8_t>(direction));
        has_direction = has_direction || direction != 0;
    };
    for (size_t i = 0; i < roles.features.size(); i++) {
        const Source::Column& from = source.column(roles.features[i]);
        if (!roles.arrays[i].reads())
            add_feature({from.name, stored_type_name(from.type), roles.categorical[i], {}}, roles.directions[i]);
        else
            for (const Feature& element : source.elements_of(roles.features[i]))
                add_feature(element, roles.directions[i]);
    }
    std::vector<std::string_view> names;
    for (const Feature& feature : model.features) names.emplace_back(feature.name);
    require_distinct_features(std::move(names));
    if (roles.offset) {
        const Source::Column& from = source.column(*roles.offset);
        model.offset = static_cast<int32_t>(model.features.size());
        add_feature({from.name, stored_type_name(from.type), false, {}}, 0);
    }
    if (!has_direction) model.directions.clear();
    return plan;
}

FitPlan describe_fit(const ShippedSource& source, const BoostRequest& request, Options& options, RunContext& context) {
    FitPlan plan = plan_of_columns(source);
    Labels labels = labels_of_all(source, request, plan.target_kind, options, context);
    for (const Labels::Notice& told : labels.notices) notice(told.message, "", told.hint);
    options.validate();
    Model& model = plan.model;
    model.labels = std::move(labels.names);
    model.label_weights = std::move(labels.weights);
    model.options = completed(options, model.labels.size());
    // A model that is read must have as many as its objective has scores.
    if (has_scores_by_label(model.link())) model.bases.assign(model.labels.size(), 0);
    return plan;
}

Dataset empty_dataset(const FitPlan& plan, RunContext& context) {
    const Model& model = plan.model;
    Dataset dataset(context.memory(), 0);
    dataset.holdout_table = plan.has_holdout ? 0 : -1;
    dataset.labels = model.labels;
    dataset.label_weights = model.label_weights;
    dataset.add_table(0);
    for (size_t f = 0; f < model.features.size(); f++) {
        FeatureColumn column(context.memory(), model.features[f].without_categories(), 0,
                             model.directions.empty() ? 0 : model.directions[f]);
        if (model.offset == static_cast<int32_t>(f))
            dataset.offset = std::move(column);
        else
            dataset.features.push_back(std::move(column));
    }
    return dataset;
}

// Training over servers takes less time than to fetch as many rows first.
constexpr double min_rows_to_distribute = 5e6;

// How many rows of other servers' partitions the planner expects that a source would have to fetch.
double foreign_rows(const Source& source) {
    double rows = 0;
    for (const SourceRelation* const relation : items<const SourceRelation>(source.analysis().relations))
        if (foreign_tables(relation->query).are_partitions) rows += expected_rows(relation->query);
    return rows;
}

double count_of(const std::string& sql, RunContext& context) {
    int64_t count = 0;
    const auto take = [&](const Datum* values, const bool*) {
        count = DatumGetInt64(values[0]);
        return true;
    };
    run_over_shards(sql, context, take);
    return static_cast<double>(count);
}

// How many rows the source's distributed tables have, each of them once.
double distributed_rows(const std::vector<CitusTable>& tables, RunContext& context) {
    std::set<Oid> counted;
    double rows = 0;
    for (const CitusTable& table : tables)
        if (!table.key.empty() && counted.insert(table.table).second)
            rows += count_of("SELECT pg_catalog.count(*) FROM " + qualified(table.table), context);
    return rows;
}

double joined_rows(const Source& source, RunContext& context) {
    return count_of("SELECT pg_catalog.count(*) FROM " + inner_query(source) + " AS s", context);
}

// May ereport.
bool may_lead() {
    for (const char* const function :
         {"btml_internal.hold_rows(bytea,float8[])", "btml_internal.hold_rows(bytea,float8[],text[])",
          "btml_internal.exchange_messages(bytea)"})
        if (!may_execute(DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum(function)))))
            return false;
    return true;
}

// Where other servers compute the aggregates, PostgreSQL does not ask for this.
void check_may_lead() {
    pg_call([] {
        if (!may_lead())
            ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("the right to lead a fit is not granted"),
                            errhint("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA btml_internal gives it.")));
    });
}

// Says what keeps work() from being done over servers, empty where nothing does; what it did then is undone.
template <class Work>
std::string obstacle_to(const Work& work, std::initializer_list<int> codes) {
    try {
        return in_subtransaction([&] {
            work();
            return std::string();
        });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_supported) throw;
        return error.message();
    } catch (const PgError& error) {
        if (std::find(codes.begin(), codes.end(), error.data->sqlerrcode) == codes.end()) throw;
        return error.data->message;
    }
}

// What a model would be without that is fitted over servers.
void check_calibration(const BoostRequest& request, const Options& options) {
    if (request.holdout && objective_of(options.objective).has_interval())
        throw Error(ErrorCode::not_supported, "held-out rows calibrate where they are fetched");
}

// Has servers hold their rows.
void hold(const ShippedSource& source, const FitPlan& plan, RunContext& context) {
    source.transport().hold(source.load(encode(plan, context)), plan.token, context);
    if (source.transport().backends() == 0) refuse_no_rows("It is empty.");
}

// What the servers say first. Error invalid_argument where there are no rows.
HeldCounts held_by_all(const FitPlan& plan, ServerPeers& peers) {
    HeldCounts all{};
    for (size_t other = 0; other < peers.others(); other++) {
        HeldCounts counts;
        from_bytes(peers.answer_of(other), counts);
        all += counts;
    }
    if (plan.shares_weights()) peers.tell(to_bytes(all));
    if (all.rows == 0) refuse_no_rows(format("The target is NULL in all of its %" PRIu64 " rows.", all.skipped));
    return all;
}

// Says, where it is so, that rows of the target's table are repeated. Error not_supported where that must be known and
// is not.
std::string repeats_of_target(const ShippedSource& source, const HeldCounts& all, Unit unit, RunContext& context) {
    const uint64_t most = std::max(all.most_repeats, all.unmatched);
    if (most <= 1) return "";
    const std::string obstacle = source.transport().obstacle_to_addresses(source.addressed_table(), context);
    if (unit == Unit::target && !obstacle.empty()) refuse_unit(obstacle);
    if (unit == Unit::target || !obstacle.empty()) return "";
    const uint64_t target_rows = all.target_rows + (all.unmatched > 0);
    return describe_repeats(source.target_relation()->name, static_cast<double>(all.rows),
                            static_cast<double>(target_rows), static_cast<double>(most));
}

FitResult fit_shipped(const ShippedSource& source, const BoostRequest& request, Options options,
                      std::optional<Model> start, RunContext& context) {
    FitPlan plan = describe_fit(source, request, options, context);
    plan.has_start = start.has_value();
    hold(source, plan, context);
    FitTransport& transport = source.transport();
    ServerPeers peers(plan.token, transport, context);
    if (start) peers.tell(encode(*start, context));
    const HeldCounts all = held_by_all(plan, peers);
    source.require_lengths();
    const std::string repeats = repeats_of_target(source, all, request.unit, context);
    FitResult result =
        fit_distributed(empty_dataset(plan, context), plan.model.options, peers, context, std::move(start));
    notice_repeats(repeats, one_row_each_or_unit);
    result.model.target = request.target;
    result.model.rows_skipped = all.skipped;
    result.model.strategy = name_of(Strategy::distributed);
    result.model.strategy_reason =
        format("the rows of %s stay in %zu backend%s of servers, asked %" PRIu64 " times",
               transport.describe_parts().c_str(), peers.others(), peers.others() == 1 ? "" : "s", peers.rounds());
    return result;
}

} // namespace

FitResult fit_over_servers(const BoostRequest& request, Options options, std::optional<Model> start,
                           RunContext& context) {
    check_distributed(options);
    check_may_lead();
    const ShippedSource source(request, context);
    const auto fit = [&] { return fit_shipped(source, request, options, start, context); };
    return source.is_of_citus() ? in_subtransaction(fit) : fit();
}

std::optional<FitResult> fit_over_servers_if_it_pays(const BoostRequest& request, const Options& options,
                                                     const std::optional<Model>& start, RunContext& context) {
    const Source& source = request.source;
    const auto pays = [&](double rows) {
        const double bytes = rows * sizeof(double) * static_cast<double>(source.columns().size());
        return rows > min_rows_to_distribute || bytes > static_cast<double>(context.memory().left());
    };
    const std::vector<CitusTable> tables = citus_tables(source.analysis().query, context);
    double rows = foreign_rows(source);
    // Who may not count all rows may still read some of them.
    const auto count = [&] { rows += distributed_rows(tables, context); };
    if (has_distributed_table(tables)) obstacle_to(count, {ERRCODE_INSUFFICIENT_PRIVILEGE});
    if (!pays(rows)) return std::nullopt;
    const auto check = [&] {
        check_distributed(options);
        check_calibration(request, options);
        check_may_lead();
        const ShippedSource shipped(request, context);
    };
    std::optional<FitResult> result;
    const auto fit_there = [&] {
        // Conditions leave fewer rows. A join with many more rows than its tables is for strategies that do not list
        // them.
        const double joined =
            has_distributed_table(tables) ? joined_rows(source, context) : expected_rows(source.analysis().query);
        if (pays(joined) && joined <= 2 * rows) result = fit_over_servers(request, options, start, context);
    };
    // Citus has the code of internal errors for some of what it does not support.
    std::string obstacle =
        obstacle_to(check, {ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_INTERNAL_ERROR});
    if (obstacle.empty())
        obstacle = obstacle_to(fit_there,
                               {ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_OUT_OF_MEMORY});
    if (!obstacle.empty()) notice(format("about %.0f rows of other servers are fetched: %s", rows, obstacle.c_str()));
    return result;
}

} // namespace btml::pg
